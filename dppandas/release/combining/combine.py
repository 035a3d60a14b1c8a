"""Several releases of one query made one answer: what is known joined, and more of it bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from ...engines.base import Engine
from ...errors import QueryError, SourceError, hide_internals, quoted
from ...privacy.accounting.losses import ReleaseOptions
from ...privacy.accounting.measures import LossRequest
from ...privacy.accuracy.combined import CombinedNoise, is_additive
from ...privacy.mechanisms.selection import Selection
from ..answers import results
from ..answers.records import Record
from ..blocks import split
from ..query import Query
from ..release import release
from ..session import current, made_tables
from ..ways import Ways
from . import same_rows
from .looks import bought, joined, was_stopped


@hide_internals
def combine(*answers: Any) -> Any:
    """Releases of one query made one answer, surer than each, for nothing.

    answers : two or more results (or their records) of the same query of the same version of a
        source that `dp.protect` named, at any losses and by Laplace or Gaussian noise; also results
        that were combined before, of which each release counts once.

    The noisy numbers are averaged by the inverse variances of their noises, and the answer is
    estimated anew, in the shape of the first: so ratios and deviations gain as well. Its error and
    interval are those of the joined noise, and at 95 % its half-width is no larger than that of the
    surest release. Both hold if the releases and their losses were fixed beforehand: of five
    answers the two largest, or as many as it takes to like the mean, miss far more often than
    stated. `Record.refine` with ``until=`` fixes them. ``dp.record(result)`` has what all of them
    cost, and ``.components``.

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
    (30.0, 15.0, 13.0)
    """
    return results.released_value(_combined([_record(each) for each in answers]))


def refine(
    before: Record,
    *,
    epsilon: object = None,
    until: object = None,
    looks: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """Another release of the same query, combined with this one: see `Record.refine`."""
    if split.running() is not None:
        raise QueryError(
            "in a split no release says a loss of its own, as refine does: refine outside."
        )
    ways = Ways.read(epsilon, more)
    _check_goal(ways, until, looks)
    _check([before])
    query, engine = _again(before._query, before.ledger)
    if until is None:
        asked = ways.loss_request()
        return results.released_value(_once_more(before, query, engine, asked))
    return results.released_value(bought(before, query, engine, until, looks, ways))


def _once_more(before: Record, query: Query, engine: Engine, asked: LossRequest) -> Record:
    """What a result is made of, and the next draw at a loss."""
    _check_fixed(before.components)
    query = replace(query, asked=asked)
    if asked.draw:
        key = query.key
        last = max((part.draw for part in before.components if part._query.key == key), default=0)
        query = replace(query, asked=replace(asked, draw=last + 1))
    return _combined([before, release(query, engine, type(before))])


def _record(answer: Any) -> Record:
    return answer if isinstance(answer, Record) else results.record_of_one(answer)


def _check_goal(ways: Ways, until: object, looks: object) -> None:
    if until is None and ways.within is not None:
        raise QueryError(
            f"within={quoted(ways.within)}: to buy until an error suffices, write until=, which "
            "fixes its looks beforehand."
        )
    if until is None and looks is not None:
        raise QueryError("looks= goes with until=, as in refine(until=10, looks=3).")
    if until is not None and (ways.give_loss or ways.expected_rows is not None):
        raise QueryError(
            "until= finds the losses of all looks: leave epsilon=, rho= and within= out."
        )


def _combined(records: Sequence[Record]) -> Record:
    """The record of what some records make together."""
    if len(records) < 2:
        raise QueryError("dp.combine takes two or more results.")
    _check(records)
    parts = sorted((p for each in records for p in each.components), key=lambda p: p.number)
    _check_fixed(parts)
    statistic = records[0]._statistic
    laws = [part._law for part in parts]
    law = CombinedNoise.of(laws, statistic.layout.integer, statistic.size)  # type: ignore[arg-type]
    return joined(records[0], parts, law)


# --- what can be combined -------------------------------------------------------------------------


def _check(records: Sequence[Record]) -> None:
    """Refuse what is not of the same integers with noise, or not another release of them."""
    parts = [part for each in records for part in each.components]
    for part in parts:
        same_rows.check_real(part)
        _check_noise(part)
    same_rows.check_same_rows(parts)
    for part in parts:
        _check_known(part)
    same_rows.must_agree(_SAME_INTEGERS, parts)
    same_rows.check_once(parts)


_SAME_INTEGERS: list[same_rows.Alike] = [
    (
        lambda part: part._query.question,
        lambda a, b: (
            f"'{a.query}' and '{b.query}' are not the same query: rows, statistic, keys and "
            "bounds must be equal."
        ),
    ),
]


def _check_noise(part: Record) -> None:
    if isinstance(part._law, Selection):
        raise QueryError(
            f"'{part.query}' selected labels, and told no numbers that others could be averaged "
            "with. Release the numbers, and combine those."
        )
    if not is_additive(part._law):
        raise QueryError(
            f"'{part.query}' was answered by {part.mechanism}, which is not noise added to "
            "numbers: two such answers have no average of known error."
        )


def _check_fixed(parts: Sequence[Record]) -> None:
    """Refuse what answers have stopped: how many there are is no public fact."""
    for part in parts:
        if was_stopped(part):
            raise QueryError(
                f"'{part.query}' was refined until= an error, and its answers decided after how "
                "many looks that was: joined with others it has no known error. Go on by .refine("
                "until=…, looks=…), which plans anew."
            )


def _check_known(part: Record) -> None:
    if not part._query.question:
        raise QueryError(
            f"'{part.query}' holds a value that has no text of its own, so that no other query is "
            "known to equal it."
        )


# --- the query again ------------------------------------------------------------------------------


def _again(query: Query, ledger: str) -> tuple[Query, Engine]:
    """The query on what the running session holds of its source, and the engine that reads it."""
    source = query.source
    held = current()._sources.get(source.name)
    instead = "Or ask the query again with fresh=True, and dp.combine the two."
    if held is None or not held.source.verified:
        raise SourceError(
            f"the running session doesn't hold source {source.name!r}: protect it with "
            f"dp.protect first. {instead}"
        )
    if held.source.version != source.version:
        raise SourceError(
            f"the running session holds version {held.source.version!r} of {source.name!r}, "
            f"and this is a release of version {source.version!r}: other data."
        )
    if held.ledger != ledger:
        raise SourceError(
            f"this is a release of {source.name!r} in another ledger, by which other rows may have "
            "been used. Releases of several kernels need a store: dp.session(store=…)."
        )
    engine: Engine | None = held.engine
    if source.made:
        engine = made_tables.get((held.source.id, source.made))
    if engine is None:
        raise SourceError(
            f"the table of '{query}', made of {source.name!r} by per_unit, is held by nobody any "
            f"more: make it again, keep it in a variable, and refine then. {instead}"
        )
    return replace(query, source=replace(source, id=held.source.id)), engine
