"""The one door. A release is one query: charged once, answered once, noised once.

Arguments were checked before a `Query` could be made. Here the mechanism is calibrated, its exact
loss is compared with what was asked, the ledger commits the charge, and only then rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from . import previews, results
from .budget import Loss
from .engines import Engine
from .errors import InternalError, ReleaseFailed
from .ledger import draft
from .mechanisms import Mechanism
from .query import Query
from .results import Record
from .rows import Chunk
from .session import Session, releasing
from .statistics.base import Over
from .store import Answer, Entry
from .totals import Gathering

#: What queries cost together, by query.
Prices = Callable[[Sequence[tuple[Query, Mechanism]]], list[Loss]]
Recorder = Callable[[Query, Mechanism, Any], Sequence[int]]

#: Set by dppandas.audit only, to look at sensitivities. It is handed the exact integers, and what
#: it returns stands in for the noisy ones: constants, so that no answer shows anything exact.
recorder: ContextVar[Recorder | None] = ContextVar("dppandas recorder", default=None)


def release(query: Query, engine: Engine, row_level_declared: bool = False) -> Record:
    """The record of the answer to a query, charged to the running session's ledger."""
    (record,) = release_all([(query, engine, row_level_declared)])
    return record


def release_all(
    asked: Sequence[tuple[Query, Engine, bool]], prices: Prices | None = None
) -> list[Record]:
    """The same for several queries: all of them are charged, or none; in a preview none. ``prices``
    says what those that must be paid for cost, where that is less than each by itself."""
    running = releasing()
    prepared = [_prepared(running, *each) for each in asked]
    for each in prepared:
        running.ledger.remember(each.query)
    before = [running.ledger.answer(p.draft.key, p.query.asked.draw) for p in prepared]
    if prices is not None:
        prepared = _at(prices, prepared, before)
    planned = previews.running()
    if planned is not None:
        return [_planned(planned, running, each) for each in prepared]
    to_pay = [p for p, answer in zip(prepared, before, strict=True) if answer is None]
    bought = iter(_bought(running, to_pay))
    records = []
    for each, answer in zip(prepared, before, strict=True):
        if answer is None:
            records.append(next(bought))
        else:
            running.ledger.replayed(answer)
            ledger = running.ledger_of(each.query.source)
            records.append(results.record_of(each.query, each.mechanism, answer, ledger))
    return records


def _planned(plan: previews.Preview, running: Session, each: _Prepared) -> Record:
    name = running.ledger_of(each.query.source)
    return plan.add(running.ledger, each.query, each.mechanism, each.draft, name)


def _at(
    prices: Prices, prepared: Sequence[_Prepared], before: Sequence[Answer | None]
) -> list[_Prepared]:
    """What was not answered before, at other prices."""
    to_pay = [p for p, answer in zip(prepared, before, strict=True) if answer is None]
    losses = iter(prices([(p.query, p.mechanism) for p in to_pay]) if to_pay else [])
    pairs = zip(prepared, before, strict=True)
    return [p.at(next(losses)) if answer is None else p for p, answer in pairs]


def _bought(running: Session, prepared: Sequence[_Prepared]) -> list[Record]:
    """The records of what is charged now."""
    if not prepared:
        return []
    entries = running.ledger.charge(*(each.draft for each in prepared))
    records: list[Record] = []
    for each, entry in zip(prepared, entries, strict=True):
        noisy = _noisy(each.query, each.mechanism, each.engine)
        if noisy is None:
            for left in entries[len(records) :]:
                running.ledger.settle(left, "failed")
            # Raised here and not where it failed, so that no traceback holds a frame with rows.
            raise ReleaseFailed(
                f"reading the data for '{each.query}' failed. Its charge of {entry.loss} stays. "
                f"The cause is not shown, for it could quote data.{each.query.statistic.on_failure}"
            )
        is_real = recorder.get() is None
        draw = running.ledger.settle(
            entry, "released" if is_real else "recorded", noisy if is_real else None
        )
        answer, ledger = Answer(entry, noisy, draw), running.ledger_of(each.query.source)
        records.append(results.record_of(each.query, each.mechanism, answer, ledger))
    return records


@dataclass(frozen=True)
class _Prepared:
    """A query whose loss is known, and may be charged."""

    query: Query
    engine: Engine
    mechanism: Mechanism
    draft: Entry

    def at(self, loss: Loss) -> _Prepared:
        """The same at another price: a share of what it costs together with others."""
        name = f"{self.draft.mechanism}, in a batch"
        return replace(self, draft=replace(self.draft, loss=loss, mechanism=name))


def _prepared(
    running: Session, query: Query, engine: Engine, row_level_declared: bool
) -> _Prepared:
    running.admit(query.source, row_level_declared)
    running.admit_experimental(query.what, query.statistic.experimental)
    mechanism = query.mechanism()
    loss = query.loss(mechanism)
    if not query.asked.allows(loss):
        raise InternalError(f"the mechanism would cost {loss}, more than {query.asked} asked.")
    charged = query.asked.charged(loss)
    expected = results.expected_error(query, mechanism)
    key = query.key if running.replays else ""
    scale = f"{float(mechanism.scale):.6g}"
    entry = draft(query, charged, mechanism.name, scale, expected, key)
    return _Prepared(query, engine, mechanism, entry)


def _noisy(query: Query, mechanism: Mechanism, engine: Engine) -> Sequence[int] | None:
    """What is released; None where that failed."""
    try:
        return _answered(query, mechanism, engine)
    except (KeyboardInterrupt, SystemExit) as stop:
        stopped = type(stop)
    except BaseException:
        return None
    raise stopped  # anew, for the traceback of the first holds frames with rows or exact integers


def _answered(query: Query, mechanism: Mechanism, engine: Engine) -> Sequence[int]:
    statistic, where = query.statistic, query.where

    def through(over: Over, empty: Callable[[], Gathering]) -> Any:
        def kernel(chunk: Chunk) -> Any:
            branches = [replace(chunk, branch=i) for i in range(query.branches)]  # type: ignore[type-var]
            return over(branches, where)

        return engine.gather(kernel, empty, query.what, statistic.whole_units)

    exact = statistic.exact(through, mechanism)
    watching = recorder.get()
    if watching is not None:
        return watching(query, mechanism, exact)
    return mechanism.release(exact)
