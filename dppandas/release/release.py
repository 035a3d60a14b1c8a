"""The one door. A release is one query: charged once, answered once, noised once.

Arguments were checked before a `Query` could be made. Here the mechanism is calibrated, its exact
loss is compared with what was asked, the ledger commits the charge, and only then rows are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..engines.base import Engine
from ..errors import InternalError, ReleaseFailed, StoreError, WorkerProcessError
from ..ledger.ledger import Ledger, current_cell, kernel
from ..ledger.storage.leases import Claim, Taken
from ..ledger.storage.store import Entry, StoredRelease
from ..privacy.accounting.losses import Loss
from ..privacy.mechanisms.base import Mechanism
from ..rows.accumulators import Accumulator
from ..rows.expressions import Chunk
from ..statistics.base import BranchKernel
from .accuracy import expected, units
from .answers.records import Record, record_of
from .blocks import preview
from .context import here
from .query import Query
from .session import Session, releasing

#: What queries cost together, by query.
Prices = Callable[[Sequence[tuple[Query, Mechanism]]], list[Loss]]
#: Asked of each new charge, and of no replay: it raises where that may not be made.
Allowed = Callable[[Loss], None]
#: A query, what reads its rows, whether each row was said to be one unit, and what kind of record
#: the answer becomes.
Asked = tuple[Query, Engine, bool, type[Record]]


@dataclass(frozen=True)
class Plan:
    """A query whose exact loss is known, and how it will be answered: nothing is charged yet."""

    query: Query
    engine: Engine
    kind: type[Record]
    mechanism: Mechanism
    scale: Any
    draft: Entry
    ledger: str  # a name of the ledger; "" where nobody named the source
    shared: object  # equal for queries that one draw answers

    def at(self, loss: Loss) -> Plan:
        """The same at another price: a share of what it costs together with others."""
        name = f"{self.draft.mechanism}, in a batch"
        return replace(self, draft=replace(self.draft, loss=loss, mechanism=name))

    def record(self, answer: StoredRelease) -> Record:
        """The record of an answer to it."""
        return record_of(
            self.kind, self.query, self.mechanism, self.scale, self.draft, answer, self.ledger
        )


def release(
    query: Query,
    engine: Engine,
    kind: type[Record],
    *,
    allowed: Allowed | None = None,
) -> Record:
    """The record of the answer to a query, charged to the running session's ledger."""
    return release_all([(query, engine, False, kind)], allowed=allowed)[0]


def release_all(
    asked: Sequence[Asked], prices: Prices | None = None, allowed: Allowed | None = None
) -> list[Record]:
    """The same for several queries: all of them are charged, or none; in a preview none. ``prices``
    says what those that must be paid for cost, where that is less than each by itself. ``allowed``
    may refuse what they cost, but nothing that was answered before.

    Each is planned, looked up, charged and answered, in this order. Equal queries share one draw.
    """
    running = releasing()
    ledger, previewed = running.ledger, preview.running()
    plans = [_planned(running, *each) for each in asked]
    for plan in plans:
        running._remember(plan.query)
    while True:
        stored = [ledger._stored(plan.draft.key, plan.query.asked.draw) for plan in plans]
        due: dict[object, Plan] = {}  # what must be paid for: of equal ones the first
        for plan, answer in zip(plans, stored, strict=True):
            if answer is None:
                due.setdefault(plan.shared, plan)
        if prices is not None and due:
            losses = prices([(plan.query, plan.mechanism) for plan in due.values()])
            due = {plan.shared: plan.at(p) for plan, p in zip(due.values(), losses, strict=True)}
        if allowed is not None:
            for plan in due.values():
                allowed(plan.draft.loss)
        if previewed is not None:
            costs = [due.get(plan.shared, plan).draft for plan in plans]
            return [
                previewed._add(ledger, plan.query, plan.mechanism, draft, plan.record)
                for plan, draft in zip(plans, costs, strict=True)
            ]
        try:
            bought = _bought(ledger, due) if due else {}
            break
        except Taken as taken:  # nothing is held meanwhile, so that nobody waits in a circle
            _wait(ledger, taken.key, taken.draw)
    unseen, records = dict(bought), []
    for plan, before in zip(plans, stored, strict=True):
        answer = before or bought[plan.shared] or _successor(ledger, plan)
        if before is not None or unseen.pop(plan.shared, None) is None:
            ledger._replayed(answer)
        records.append(plan.record(answer))
    return records


def _planned(
    running: Session, query: Query, engine: Engine, row_level_declared: bool, kind: type[Record]
) -> Plan:
    """How a query is answered and what that costs, by public facts alone."""
    source, statistic = query.source, query.statistic
    held = running._admit(query, row_level_declared)
    mechanism = query.mechanism()
    loss = query.loss(mechanism)
    if not query.asked.allows(loss):
        raise InternalError(f"the mechanism would cost {loss}, more than {query.asked} asked.")
    scale = units.scale_of(statistic, mechanism)
    key, draw = query.key if running._replays else "", query.asked.draw
    draft = Entry(
        0, time.time(), source.name, source.lineage, query.text, query.asked.charged(loss),
        mechanism.name, units.in_words(scale), expected.in_words(statistic, mechanism),
        current_cell(), version=source.version, unit=str(source.unit), path=query.path, key=key,
        kernel=kernel(),
    )  # fmt: skip
    shared: object = (key, draw) if key and draw else object()
    return Plan(query, engine, kind, mechanism, scale, draft, held, shared)


def _bought(ledger: Ledger, due: Mapping[object, Plan]) -> dict[object, StoredRelease | None]:
    """The answers to what is charged now; None to what another process has overtaken."""
    with Claim([plan.query.asked.draw for plan in due.values()]) as claim:
        process = os.getpid()
        entries = ledger._charge(*(plan.draft for plan in due.values()), claim=claim)
        return {
            name: _answered(ledger, plan, entries[i:], process)
            for i, (name, plan) in enumerate(due.items())
        }


def _answered(
    ledger: Ledger, plan: Plan, entries: Sequence[Entry], process: int
) -> StoredRelease | None:
    """The answer to the first of some charges, kept before anybody sees it."""
    noisy, stopped = None, None
    try:
        noisy = _drawn(plan, process)
    except (KeyboardInterrupt, SystemExit) as stop:
        stopped = type(stop)
    except BaseException:
        pass
    if stopped is not None:
        raise stopped  # anew: the traceback of the first holds frames with rows or exact integers
    _refuse_fork(process)  # before it notes anything
    statistic, entry = plan.query.statistic, entries[0]
    if noisy is None:
        for left in entries:
            ledger._settle(left, "failed", leased=True)
        # Raised here and not where it failed, so that no traceback holds a frame with rows.
        raise ReleaseFailed(
            f"reading the data for '{plan.query}' failed. Its charge of {entry.loss} stays. The "
            f"cause is not shown, for it could quote data.{statistic.on_failure}"
        )
    status, kept, error = "recorded", None, ""
    if here().watch is None:
        error = expected.answered_error(statistic, plan.mechanism, noisy, entry.error)
        status, kept = "released", noisy
    try:
        draw = ledger._settle(entry, status, kept, leased=True, released_error=error)
    except StoreError as problem:
        reason = problem.reason
    else:
        return None if draw is None else StoredRelease(entry, noisy, draw)
    raise ReleaseFailed(
        f"'{plan.query}' was charged {entry.loss} and not answered, for an answer that is not kept "
        f"may not be shown: another could be drawn beside it. {reason}"
    )


def _drawn(plan: Plan, process: int) -> Sequence[int]:
    """The only function where exact integers meet the mechanism that hides them."""
    query, mechanism = plan.query, plan.mechanism
    exact = query.statistic.read(RowPass(plan.engine, query), mechanism)
    _refuse_fork(process)
    watch = here().watch
    return mechanism.release(exact) if watch is None else watch(query, mechanism, exact)


@dataclass(frozen=True)
class RowPass:
    """What reads all rows once, for a query."""

    engine: Engine
    query: Query

    def __call__(self, branch_kernel: BranchKernel, empty: Callable[[], Accumulator]) -> Any:
        """What a function makes of the rows that those of each chunk become, put together."""
        where, branches = self.query.where, range(self.query.branches)

        def kernel(chunk: Chunk) -> Any:
            return branch_kernel([replace(chunk, branch=i) for i in branches], where)  # type: ignore[type-var]

        what, whole = self.query.what, self.query.statistic.whole_units
        return self.engine.accumulate_rows(kernel, empty, what, whole)


def _refuse_fork(process: int) -> None:
    """A function of the caller may fork while rows are read. The charge pays for one draw, and that
    is made by the process that was charged."""
    if os.getpid() != process:
        raise WorkerProcessError(
            "this process was forked while a release was being computed, and the process that it "
            "was forked from goes on with it. Functions that read rows must not start processes "
            "that return from them."
        )


def _wait(ledger: Ledger, key: str, draw: int) -> None:
    """Until nobody is answering a query any more. An interrupt ends it, and leaves nothing."""
    pause = 0.001
    while ledger._is_taken(key, draw):
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _successor(ledger: Ledger, plan: Plan) -> StoredRelease:
    """The answer of who has overtaken this process."""
    key, draw = plan.draft.key, plan.query.asked.draw
    _wait(ledger, key, draw)
    answer = ledger._stored(key, draw)
    if answer is None:
        raise ReleaseFailed(
            f"'{plan.query}' was charged and not answered: another process took it for dead, took "
            "it over, and has not answered either. Its charge stays. Ask again."
        )
    return answer
