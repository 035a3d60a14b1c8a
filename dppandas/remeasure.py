"""Several releases of one query made one answer: what is known joined, and more of it bought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from . import figures, previews, results, sampling, splits
from .budget import Loss, More
from .engines import Engine
from .errors import QueryError, SourceError, quiet
from .joint import Joint, is_additive
from .mechanisms import Selection
from .query import Query
from .release import release
from .results import Record
from .session import made_tables, session

NOTHING = "Nothing was computed or charged."


@quiet
def combine(*answers: Any) -> Any:
    """Releases of one query made one answer, surer than each, for nothing.

    answers : two or more results (or their records) of the same query of the same version of a
        source that `dp.protect` named, at any losses and by Laplace or Gaussian noise; also results
        that were combined before, of which each release counts once.

    The noisy numbers are averaged by the inverse variances of their noises, and the answer is
    estimated anew, in the shape of the first: so ratios and deviations gain as well. Its error and
    interval are those of the joined noise, and at 95 % its half-width is no larger than that of the
    surest release. ``dp.record(result)`` has what all of them cost, and ``.parts``.

    Raises `QueryError` for one release given twice, for other versions, sources or ledgers, for
    asserted lineage, which can't be known to be the same rows, and for answers that are not numbers
    with noise: selected labels, quantiles, keys that nobody declared, tests.

    *Guarantee*: post-processing of released answers, which costs nothing (Dwork and Roth, "The
    Algorithmic Foundations of Differential Privacy", 2014, Proposition 2.1;
    docs/proofs/combining.md).

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.protect(pd.DataFrame({"a": range(100)}), name="combined")
    >>> one, other = p.count(epsilon=0.1), p.count(epsilon=0.2)
    >>> both = dp.combine(one, other)
    >>> one.error(), other.error(), both.error()
    (30, 15, 13)
    """
    return results.answer(_combined([_record(each) for each in answers]))


@quiet
def refine(result: Any, *, epsilon: object = None, **more: Unpack[More]) -> Any:
    """Another release of the query of a result, bought and combined with it.

    result : of a release, or of several that were combined; or its record. Numbers have
        ``.refine(epsilon=…)`` of their own.
    epsilon : what the new release costs, with ``rho=``, ``delta=`` and ``mechanism=`` as in the
        query itself.

    The release bought is the next one at this loss after those that the result is made of. So a
    notebook that is run again gets what it got, for nothing; and so does asking the same of the
    same result twice. Ask the refined result to go on, or say ``fresh=True``.

    Raises what `combine` raises, and `SourceError` where the running session doesn't hold the
    source, or a table made of it by ``per_unit`` is gone: then ask the query again with
    ``fresh=True``, and `combine`.

    *Guarantee*: differential privacy of the source's unit with the loss asked, as for the query
    itself; the rest is post-processing (docs/proofs/combining.md).

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.protect(pd.DataFrame({"a": range(100)}), name="refined")
    >>> n = p.count(epsilon=0.1)
    >>> surer = n.refine(epsilon=0.2)
    >>> surer.error(), dp.record(surer).epsilon, n.refine(epsilon=0.2) == surer
    (13, 0.3, True)
    """
    if splits.running() is not None:
        raise QueryError(
            f"in a split no release says a loss of its own, as refine does: refine outside. "
            f"{NOTHING}"
        )
    before = _record(result)
    _check([before])
    query, engine = _again(before._query, before.ledger)
    asked = session().terms.asked(epsilon, **more)
    query = replace(query, asked=asked)
    if asked.draw:
        key = query.key
        last = max((part.draw for part in before.parts if part._query.key == key), default=0)
        query = replace(query, asked=replace(asked, draw=last + 1))
    return results.answer(_combined([before, release(query, engine)]))


results.refine_by(refine)


def _record(answer: Any) -> Record:
    return answer if isinstance(answer, Record) else results.record(answer)


def _combined(records: Sequence[Record]) -> Record:
    """The record of what some records make together."""
    if len(records) < 2:
        raise QueryError(f"dp.combine takes two or more results. {NOTHING}")
    _check(records)
    first = records[0]
    parts = sorted((p for each in records for p in each.parts), key=lambda p: p.number)
    statistic = first.statistic
    laws = [part._law for part in parts]
    law = Joint.of(laws, statistic.layout.integer, statistic.size)  # type: ignore[arg-type]
    latest = parts[-1]
    return results.known(
        replace(
            first,
            id=sampling.identifier(),
            number=latest.number,
            mechanism=law.name,
            scale=figures.scale_of(statistic, law),
            loss=sum((part.loss for part in parts), Loss()),
            cell=latest.cell,
            time=latest.time,
            draw=0,
            _law=law,
            _noisy=law.join([part._noisy for part in parts]),
            _parts=tuple(parts),
            _shown=None,
            _rows=None,
            preview=any(part.preview for part in parts),
        )
    )


# --- what can be combined -------------------------------------------------------------------------


def _check(records: Sequence[Record]) -> None:
    """Refuse what is not of the same integers with noise, or not another release of them."""
    parts = [part for each in records for part in each.parts]
    for part in parts:
        _check_real(part)
        _check_noise(part)
        _check_known(part)
    for what, said in _MUST_AGREE:
        for part in parts[1:]:
            if what(part) != what(parts[0]):
                raise QueryError(f"{said(parts[0], part)} {NOTHING}")
    seen: set[tuple[int, float]] = set()
    for part in parts:
        release_ = part.number, part.time
        if release_ in seen and not part.preview:  # which has no number yet
            raise QueryError(
                f"release {part.number}, '{part.query}', is given twice, and what is known once "
                "isn't surer by counting it again. An equal query gives the same release again; "
                f"fresh=True draws another, as does .refine(epsilon=…). {NOTHING}"
            )
        seen.add(release_)


_MUST_AGREE: list[tuple[Callable[[Record], Any], Callable[[Record, Record], str]]] = [
    (
        lambda part: part.source,
        lambda a, b: f"'{a.query}' is of source {a.source!r}, and '{b.query}' of {b.source!r}.",
    ),
    (
        lambda part: part.version,
        lambda a, b: (
            f"these are releases of version {a.version!r} and of version {b.version!r} of "
            f"{a.source!r}: other data, whose numbers differ by more than noise."
        ),
    ),
    (
        lambda part: part.ledger,
        lambda a, b: (
            f"these releases of {a.source!r} are in two ledgers, which may use other rows: a "
            "session without store= has a ledger of its own."
        ),
    ),
    (
        lambda part: part._query.question,
        lambda a, b: (
            f"'{a.query}' and '{b.query}' are not the same query: rows, statistic, keys and "
            "bounds must be equal."
        ),
    ),
]


def _check_real(part: Record) -> None:
    if part.preview and previews.running() is None:
        raise QueryError(
            f"'{part.query}' was previewed and not answered: what a preview gives is made of "
            f"nothing. Ask it again, outside of dp.preview(). {NOTHING}"
        )


def _check_noise(part: Record) -> None:
    if isinstance(part._law, Selection):
        raise QueryError(
            f"'{part.query}' selected labels, and told no numbers that others could be averaged "
            f"with. Release the numbers, and combine those. {NOTHING}"
        )
    if not is_additive(part._law):
        raise QueryError(
            f"'{part.query}' was answered by {part.mechanism}, which is not noise added to "
            f"numbers: two such answers have no average of known error. {NOTHING}"
        )


def _check_known(part: Record) -> None:
    if part.lineage != "verified":
        raise QueryError(
            f"the lineage of '{part.query}' is {part.lineage}: that two releases are of the same "
            "rows can't be known. Ask the private frame that dp.protect returns, by its own "
            f"verbs. {NOTHING}"
        )
    if not part._query.question:
        raise QueryError(
            f"'{part.query}' holds a value that has no text of its own, so that no other query is "
            f"known to equal it. {NOTHING}"
        )


# --- the query again ------------------------------------------------------------------------------


def _again(query: Query, ledger: str) -> tuple[Query, Engine]:
    """The query on what the running session holds of its source, and the engine that reads it."""
    source = query.source
    holding = session().holdings.get(source.name)
    instead = f"Or ask the query again with fresh=True, and dp.combine the two. {NOTHING}"
    if holding is None or not holding.source.verified:
        raise SourceError(
            f"the running session doesn't hold source {source.name!r}: protect it with "
            f"dp.protect first. {instead}"
        )
    if holding.source.version != source.version:
        raise SourceError(
            f"the running session holds version {holding.source.version!r} of {source.name!r}, "
            f"and this is a release of version {source.version!r}: other data. {NOTHING}"
        )
    if holding.ledger != ledger:
        raise SourceError(
            f"this is a release of {source.name!r} in another ledger, by which other rows may have "
            f"been used. Releases of several kernels need a store: dp.session(store=…). {NOTHING}"
        )
    engine: Engine | None = holding.engine
    if source.made:
        engine = made_tables.get((holding.source.id, source.made))
    if engine is None:
        raise SourceError(
            f"the table of '{query}', made of {source.name!r} by per_unit, is held by nobody any "
            f"more: make it again, keep it in a variable, and refine then. {instead}"
        )
    return replace(query, source=replace(source, id=holding.source.id)), engine
