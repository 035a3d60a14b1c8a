"""Several releases of one query combined into one answer, and releases added to an answer."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, Unpack

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

T = TypeVar("T")


@typing.overload
def combine(*answers: Record) -> Any: ...
@typing.overload
def combine(*answers: T) -> T: ...
@hide_internals
def combine(*answers: Any) -> Any:
    """Combine releases of one query into one answer, which is more accurate than each and free.

    answers : two or more results, or their records, of the same query of the same version of a
        source that `dp.protect` named. Losses may differ, and the noise may be Laplace or Gaussian.
        Results that were combined before are welcome: each of their releases counts once.

    The noisy numbers are averaged, weighted by the inverse variances of their noise, and the answer
    is estimated from the averages, in the shape of the first result. So ratios and deviations gain
    as well. The error and the interval are those of the combined noise; at 95 % the interval is no
    wider than that of the most accurate release. Both hold only if the releases and their losses
    were fixed beforehand. If you pick the two largest of five answers, or stop when you like the
    mean, the interval misses far more often than stated. `Record.refine` with ``until=`` fixes
    releases and losses for you. ``dp.record(result)`` has the total loss, and ``.components``.

    Raises `QueryError` for a release that is given twice; for different versions, sources or
    ledgers; for asserted lineage, whose rows can't be known to be the same; and for answers that
    aren't numbers with noise: selected labels, quantiles, undeclared keys, tests.

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
    records = [a if isinstance(a, Record) else results.record_of_one(a) for a in answers]
    return results.released_value(_combined(records))


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
            "refine takes a loss of its own, and in a split each release takes a share: refine "
            "outside of the block."
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
    """A result, combined with the next draw of its query at a loss."""
    _check_fixed(before.components)
    query = replace(query, asked=asked)
    if asked.draw:
        key = query.key
        last = max((part.draw for part in before.components if part._query.key == key), default=0)
        query = replace(query, asked=replace(asked, draw=last + 1))
    return _combined([before, release(query, engine, type(before))])


def _check_goal(ways: Ways, until: object, looks: object) -> None:
    if until is None and ways.within is not None:
        raise QueryError(
            f"within={quoted(ways.within)} is for the first release of a query. To refine until an "
            "error is small enough, write refine(until=…)."
        )
    if until is None and looks is not None:
        raise QueryError("looks= goes with until=, as in refine(until=10, looks=3).")
    if until is not None and (ways.give_loss or ways.expected_rows is not None):
        raise QueryError(
            "until= finds the losses of all looks. Leave epsilon=, rho= and within= out, and "
            "expected_rows= too."
        )


def _combined(records: Sequence[Record]) -> Record:
    """The record of the combined answer."""
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
    """Refuse releases that aren't of the same integers with noise, or that are given twice."""
    parts = [part for each in records for part in each.components]
    for part in parts:
        same_rows.check_real(part)
        _check_noise(part)
    same_rows.check_same_rows(parts)
    for part in parts:
        same_rows.check_comparable(part, part._query.question)
        if part._query.question != parts[0]._query.question:
            raise QueryError(
                f"'{parts[0].query}' and '{part.query}' are not the same query: rows, statistic, "
                "keys and bounds must be equal. Ask one of them again with fresh=True."
            )
    same_rows.check_once(parts)


def _check_noise(part: Record) -> None:
    if isinstance(part._law, Selection):
        raise QueryError(
            f"'{part.query}' selected labels, so it has no numbers to average. Release the "
            "numbers, and combine those."
        )
    if not is_additive(part._law):
        raise QueryError(
            f"'{part.query}' was answered by {part.mechanism}, which is not noise added to "
            "numbers, so the error of an average isn't known. Ask again with a larger epsilon=."
        )


def _check_fixed(parts: Sequence[Record]) -> None:
    """Refuse releases whose number was decided by answers: it isn't a public fact."""
    for part in parts:
        if was_stopped(part):
            raise QueryError(
                f"'{part.query}' was refined until= an error, and its answers decided how many "
                "looks that took, so combined with others it has no known error. Go on with "
                ".refine(until=…, looks=…), which makes a new plan."
            )


# --- the query again ------------------------------------------------------------------------------


def _again(query: Query, ledger: str) -> tuple[Query, Engine]:
    """The query, on the source that the running session holds, and the engine that reads it."""
    source = query.source
    held = current()._sources.get(source.name)
    instead = "Or ask the query again with fresh=True, and dp.combine the two."
    if held is None or not held.source.verified:
        raise SourceError(
            f"the running session doesn't hold source {source.name!r}. Protect it with "
            f"dp.protect first. {instead}"
        )
    if held.source.version != source.version:
        raise SourceError(
            f"the running session holds version {held.source.version!r} of {source.name!r}, "
            f"and this is a release of version {source.version!r}: other data. Ask the query "
            "again, of this version."
        )
    if held.ledger != ledger:
        raise SourceError(
            f"this is a release of {source.name!r} in another ledger, which may have used other "
            "rows. To refine it in another kernel, keep the ledger in a store: "
            "dp.session(store=…)."
        )
    engine: Engine | None = held.engine
    if source.made:
        engine = made_tables.get((held.source.id, source.made))
    if engine is None:
        raise SourceError(
            f"the table of '{query}', made of {source.name!r} by per_unit, no longer exists. Make "
            f"it again, keep it in a variable, and refine then. {instead}"
        )
    return replace(query, source=replace(source, id=held.source.id)), engine
