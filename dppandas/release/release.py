"""The one door. A release is one query: charged once, answered once, noised once.

Arguments were checked before a `Query` could be made. Here the mechanism is calibrated, its exact
loss is compared with what was asked, the ledger commits the charge, and only then rows are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..engines.base import Engine
from ..errors import InternalError, ReleaseFailed, StoreError, WorkerProcessError
from ..ledger.ledger import current_cell, kernel
from ..ledger.storage.leases import Claim, Taken
from ..ledger.storage.store import Entry, StoredRelease
from ..privacy.accounting.losses import Loss
from ..privacy.mechanisms.base import Mechanism
from ..rows.accumulators import Accumulator
from ..rows.expressions import Chunk
from ..statistics.base import BranchKernel
from .accuracy import expected, units
from .blocks import preview
from .context import here
from .query import Query
from .records import Record, record_of
from .session import Session, releasing

#: What queries cost together, by query.
Prices = Callable[[Sequence[tuple[Query, Mechanism]]], list[Loss]]
#: Asked of each new charge, and of no replay: it raises where that may not be made.
Allowed = Callable[[Loss], None]


def release(
    query: Query,
    engine: Engine,
    row_level_declared: bool = False,
    *,
    allowed: Allowed | None = None,
) -> Record:
    """The record of the answer to a query, charged to the running session's ledger."""
    (record,) = release_all([(query, engine, row_level_declared)], allowed=allowed)
    return record


def release_all(
    asked: Sequence[tuple[Query, Engine, bool]],
    prices: Prices | None = None,
    allowed: Allowed | None = None,
) -> list[Record]:
    """The same for several queries: all of them are charged, or none; in a preview none. ``prices``
    says what those that must be paid for cost, where that is less than each by itself. ``allowed``
    may refuse what they cost, but nothing that was answered before."""
    running = releasing()
    prepared = [_prepared(running, *each) for each in asked]
    for each in prepared:
        running._remember(each.query)
    planned = preview.running()
    if planned is not None:
        before = _found(running, prepared)
        priced = _priced(prices, prepared, before)
        _check(allowed, priced, before)
        return [_planned(planned, running, each) for each in priced]
    return [_record(running, *each) for each in _answered_all(running, prepared, prices, allowed)]


def _planned(plan: preview.Preview, running: Session, each: _Prepared) -> Record:
    name = running._ledger_of(each.query.source)
    return plan._add(running.ledger, each.query, each.mechanism, each.draft, name)


def _found(running: Session, prepared: Sequence[_Prepared]) -> list[StoredRelease | None]:
    """What was answered before: that is read, and nothing written."""
    return [running.ledger._stored(each.draft.key, each.query.asked.draw) for each in prepared]


def _answered_all(
    running: Session,
    prepared: Sequence[_Prepared],
    prices: Prices | None,
    allowed: Allowed | None,
) -> list[tuple[_Prepared, StoredRelease | None, bool]]:
    """Each with its answer, and whether that was bought now; equal queries share one.

    Nothing is held while somebody else is waited for, so that none waits for another in a circle.
    """
    while True:
        before = _found(running, prepared)
        priced = _priced(prices, prepared, before)
        _check(allowed, priced, before)
        first = _first_of_each(prepared, before)
        try:
            bought = _bought(running, [priced[i] for i in first.values()]) if first else []
        except Taken as taken:
            _wait(running, taken.key, taken.draw)
            continue
        now = dict(zip(first, bought, strict=True))
        return [
            (each, answer or now.get(name), answer is None and first[name] == i)
            for i, (name, each, answer) in enumerate(
                zip(_names(priced), priced, before, strict=True)
            )
        ]


def _check(
    allowed: Allowed | None, priced: Sequence[_Prepared], before: Sequence[StoredRelease | None]
) -> None:
    if allowed is not None:
        for each, answer in zip(priced, before, strict=True):
            if answer is None:
                allowed(each.draft.loss)


def _wait(running: Session, key: str, draw: int) -> None:
    """Until nobody is answering a query any more. An interrupt ends it, and leaves nothing."""
    pause = 0.001
    while running.ledger._is_taken(key, draw):
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _record(
    running: Session, each: _Prepared, answer: StoredRelease | None, is_new: bool
) -> Record:
    if answer is None:
        answer, is_new = _successor(running, each), False
    if not is_new:
        running.ledger._replayed(answer)
    ledger = running._ledger_of(each.query.source)
    return record_of(each.query, each.mechanism, answer, ledger)


def _successor(running: Session, each: _Prepared) -> StoredRelease:
    """The answer of who has overtaken this process."""
    key, draw = each.draft.key, each.query.asked.draw
    _wait(running, key, draw)
    answer = running.ledger._stored(key, draw)
    if answer is None:
        raise ReleaseFailed(
            f"'{each.query}' was charged and not answered: another process took it over, for it "
            "held this one for dead, and has not answered either. Its charge stays. Ask again."
        )
    return answer


def _priced(
    prices: Prices | None, prepared: Sequence[_Prepared], before: Sequence[StoredRelease | None]
) -> list[_Prepared]:
    """What must be paid for, at other prices; equal queries are paid for once."""
    first = _first_of_each(prepared, before)
    if prices is None or not first:
        return list(prepared)
    losses = prices([(prepared[i].query, prepared[i].mechanism) for i in first.values()])
    at = dict(zip(first, losses, strict=True))
    pairs = zip(_names(prepared), prepared, strict=True)
    return [each.at(at[name]) if name in at else each for name, each in pairs]


def _first_of_each(
    prepared: Sequence[_Prepared], before: Sequence[StoredRelease | None]
) -> dict[object, int]:
    """Where those stand that must be paid for: of equal ones the first."""
    places: dict[object, int] = {}
    for i, (name, answer) in enumerate(zip(_names(prepared), before, strict=True)):
        if answer is None:
            places.setdefault(name, i)
    return places


def _names(prepared: Sequence[_Prepared]) -> list[object]:
    """What equal queries share that one draw answers; each other one has a name of its own."""
    asked = [(each.draft.key, each.query.asked.draw) for each in prepared]
    return [(key, draw) if key and draw else i for i, (key, draw) in enumerate(asked)]


def _bought(running: Session, prepared: Sequence[_Prepared]) -> list[StoredRelease | None]:
    """The answers to what is charged now; None to what another process has overtaken."""
    with Claim([each.query.asked.draw for each in prepared]) as claim:
        process = os.getpid()
        entries = running.ledger._charge(*(each.draft for each in prepared), claim=claim)
        return [_drawn(running, each, entries[i:], process) for i, each in enumerate(prepared)]


def _drawn(
    running: Session, each: _Prepared, entries: Sequence[Entry], process: int
) -> StoredRelease | None:
    """The answer to the first of some charges, kept before anybody sees it."""
    noisy = _noisy(each.query, each.mechanism, each.engine, process)
    _refuse_fork(process)  # before it notes anything
    if noisy is None:
        for left in entries:
            running.ledger._settle(left, "failed", leased=True)
        # Raised here and not where it failed, so that no traceback holds a frame with rows.
        raise ReleaseFailed(
            f"reading the data for '{each.query}' failed. Its charge of {entries[0].loss} stays. "
            f"The cause is not shown, for it could quote data.{each.query.statistic.on_failure}"
        )
    is_real = here().watch is None
    before = entries[0].error
    error = (
        expected.answered_error(each.query.statistic, each.mechanism, noisy, before)
        if is_real
        else ""
    )
    draw, problem = _kept(running, entries[0], noisy if is_real else None, error)
    if problem:
        raise ReleaseFailed(
            f"'{each.query}' was charged {entries[0].loss} and not answered, for an answer that is "
            f"not kept may not be shown: another could be drawn beside it. {problem}"
        )
    return None if draw is None else StoredRelease(entries[0], noisy, draw)


def _refuse_fork(process: int) -> None:
    """A function of the caller may fork while rows are read. The charge pays for one draw, and that
    is made by the process that was charged."""
    if os.getpid() != process:
        raise WorkerProcessError(
            "this process was forked while a release was being computed, which the process that it "
            "was forked from goes on with. Nothing was released here. Let a function that reads "
            "rows start no process that returns from it."
        )


def _kept(
    running: Session, entry: Entry, noisy: Sequence[Any] | None, error: str
) -> tuple[int | None, str]:
    status = "recorded" if noisy is None else "released"
    try:
        return running.ledger._settle(entry, status, noisy, leased=True, released_error=error), ""
    except StoreError as error:
        return None, error.reason


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
    running._admit(query.source, row_level_declared)
    running._admit_experimental(query.what, query.statistic.experimental)
    mechanism = query.mechanism()
    loss = query.loss(mechanism)
    if not query.asked.allows(loss):
        raise InternalError(f"the mechanism would cost {loss}, more than {query.asked} asked.")
    charged = query.asked.charged(loss)
    before = expected.in_words(query.statistic, mechanism)
    key = query.key if running._replays else ""
    scale = units.scale_in_words(query.statistic, mechanism)
    entry = _draft(query, charged, mechanism.name, scale, before, key)
    return _Prepared(query, engine, mechanism, entry)


def _draft(query: Query, loss: Loss, mechanism: str, scale: str, error: str, key: str) -> Entry:
    """An entry that has not been charged yet."""
    source = query.source
    return Entry(
        0, time.time(), source.name, source.lineage, str(query), loss, mechanism, scale, error,
        current_cell(), version=source.version, unit=str(source.unit), path=query.path, key=key,
        kernel=kernel(),
    )  # fmt: skip


def _noisy(
    query: Query, mechanism: Mechanism, engine: Engine, process: int
) -> Sequence[int] | None:
    """What is released; None where that failed."""
    try:
        return _answered(query, mechanism, engine, process)
    except (KeyboardInterrupt, SystemExit) as stop:
        stopped = type(stop)
    except BaseException:
        return None
    raise stopped  # anew, for the traceback of the first holds frames with rows or exact integers


def _answered(query: Query, mechanism: Mechanism, engine: Engine, process: int) -> Sequence[int]:
    statistic, where = query.statistic, query.where

    def row_pass(branch_kernel: BranchKernel, empty: Callable[[], Accumulator]) -> Any:
        def kernel(chunk: Chunk) -> Any:
            branches = [replace(chunk, branch=i) for i in range(query.branches)]  # type: ignore[type-var]
            return branch_kernel(branches, where)

        return engine.accumulate_rows(kernel, empty, query.what, statistic.whole_units)

    exact = statistic.exact(row_pass, mechanism)
    _refuse_fork(process)
    watch = here().watch
    return mechanism.release(exact) if watch is None else watch(query, mechanism, exact)
