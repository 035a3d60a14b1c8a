"""The only way to a release. A release is one query: charged once, answered once, noised once.

Making a `Query` has checked the arguments. Here the mechanism is calibrated, its exact loss is
compared with the loss asked for, the ledger commits the charge, and only then rows are read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..dataclasses import dataclass, replace
from ..engines.base import Engine, Kernel, Need, ReadError
from ..engines.progress import Scan
from ..errors import (
    BudgetExceeded,
    InternalError,
    ReleaseFailed,
    SourceError,
    StoreError,
    WorkerProcessError,
    warn_user,
)
from ..ledger.cells import current_cell
from ..ledger.ledger import Ledger, kernel
from ..ledger.stated_errors import StatedError
from ..ledger.storage.leases import Claim, Taken
from ..ledger.storage.store import Entry, FindError, Once, StoredRelease
from ..privacy.accounting.losses import Loss
from ..privacy.mechanisms.base import Mechanism
from ..privacy.sampling import entropy
from ..rows.accumulators import Accumulator
from ..statistics import Statistic
from ..statistics.base import BranchKernel
from ..statistics.error_model import CROWD
from .accuracy import expected, units
from .answers.making import record_of
from .answers.records import Record
from .assumed import refuse_unknown, say_assumed
from .context import here, program_of
from .query import Query
from .session import Session, releasing

if TYPE_CHECKING:
    from .blocks.preview import Preview

T = TypeVar("T")

#: The losses that some queries are charged if they are released together, one for each.
Prices = Callable[[Sequence[tuple[Query, Mechanism]]], list[Loss]]
#: Called with each new charge, but not for a replay; it raises if the charge isn't allowed.
Allowed = Callable[[Loss], None]
#: A query, the engine that reads its rows, whether each row was declared to be one unit, and which
#: kind of record its answer becomes.
Asked = tuple[Query, Engine, bool, type[Record]]


@dataclass(frozen=True)
class Plan:
    """A query with its exact loss and its mechanism. Nothing is charged yet."""

    query: Query
    engine: Engine
    kind: type[Record]
    mechanism: Mechanism
    scale: Any
    draft: Entry
    ledger: str  # a name of the ledger; "" for a source without a name
    shared: object  # equal for queries that share one draw

    def at(self, loss: Loss) -> Plan:
        """This plan at another loss: its share of a batch."""
        name = f"{self.draft.mechanism}, in a batch"
        return replace(self, draft=self.draft._replace(loss=loss, mechanism=name))

    def error_of(self, noisy: Sequence[Any]) -> FindError:
        """What finds the error of an answer. It holds no engine, and so no rows."""
        return partial(_error_of, self.query, self.mechanism, noisy, self.scale)

    def record(self, answer: StoredRelease) -> Record:
        """The record of an answer."""
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
    """The records of the answers to several queries.

    Either all are charged, or none; in a preview none is. ``prices`` computes the losses of queries
    that cost less together. ``allowed`` may refuse a new charge, but never a stored answer.

    Each query is planned, looked up, charged and answered, in this order. Equal queries share one
    draw.
    """
    running = releasing()
    ledger = running.ledger
    previewed: Preview | None = here().preview
    plans = [_planned(running, *each) for each in asked]
    for plan in plans:
        running._remember(plan.query)
    while True:
        stored = [ledger._stored(plan.draft.key, plan.query.asked.draw) for plan in plans]
        due: dict[object, Plan] = {}  # the plans to pay for: the first of equal ones
        for plan, answer in zip(plans, stored, strict=True):
            if answer is None:
                due.setdefault(plan.shared, plan)
        if prices is not None and due:
            losses = prices([(plan.query, plan.mechanism) for plan in due.values()])
            due = {plan.shared: plan.at(p) for plan, p in zip(due.values(), losses, strict=True)}
        refuse_unknown(plan.query for plan in due.values())
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
        except BudgetExceeded as refused:
            refused._earlier = running._advice(plans[0].query)
            raise
        except Taken as taken:  # this process holds nothing meanwhile, so there is no deadlock
            _wait(ledger, taken.key, taken.draw)
    unseen, records = dict(bought), []
    for plan, before in zip(plans, stored, strict=True):
        answer = before or bought[plan.shared] or _successor(ledger, plan)
        # Only the first of equal queries gets the draw paid for here. The others replay it, as do
        # queries that were stored before, or that another process answered.
        if before is not None or unseen.pop(plan.shared, None) is None:
            ledger._replayed(answer, plan.draft, plan.error_of(answer.noisy))
        if plan.draft.key:
            running._answered.append((answer.entry, plan.query, plan.mechanism))
        elif paid := ledger._reruns.paid(plan.draft):
            warn_user(paid)
        records.append(plan.record(answer))
    say_assumed(running, (plan.query for plan in due.values()))
    return records


def _planned(
    running: Session, query: Query, engine: Engine, row_level_declared: bool, kind: type[Record]
) -> Plan:
    """The plan of a query, from public facts alone."""
    source, statistic = query.source, query.statistic
    held = running._admit(query, row_level_declared)
    mechanism = query.mechanism()
    loss = query.loss(mechanism)
    if not query.asked.allows(loss):
        raise InternalError(f"the mechanism would cost {loss}, but only {query.asked} was asked.")
    scale = units.scale_of(statistic, mechanism)
    key, draw = query.key if running._replays else "", query.asked.draw
    context = here()
    draft = Entry(
        0, time.time(), source.name, source.lineage, query.what, query.asked.charged(loss),
        mechanism.name, "", "", current_cell(), version=source.version, unit=str(source.unit),
        path=query.path, key=key, kernel=kernel(), program=context.program, asker=context.asker,
        threshold=getattr(mechanism, "threshold", None),
        later=(_when_read(partial(_words_of, statistic, mechanism, scale), query, statistic.size),),
    )  # fmt: skip
    shared: object = (key, draw) if key and draw else object()
    return Plan(query, engine, kind, mechanism, scale, draft, held, shared)


def _words_of(statistic: Statistic, mechanism: Mechanism, scale: Any) -> dict[str, Any]:
    """What an entry says of the noise before the release."""
    return {"scale": units.in_words(scale), "error": expected.in_words(statistic, mechanism)}


def _bought(ledger: Ledger, due: Mapping[object, Plan]) -> dict[object, StoredRelease | None]:
    """Charge the plans and answer them; None for one that another process has taken over."""
    process, entries = os.getpid(), list[Entry]()
    request, program = entropy.identifier(), program_of("") if len(due) > 1 else None
    drafts = [
        plan.draft._replace(
            request=request, draw_id=entropy.identifier(), program=program or plan.draft.program
        )
        for plan in due.values()
    ]
    _check_engines(due.values())
    scan = Scan(ledger, [draft.draw_id for draft in drafts], _may_share(due.values()))
    try:
        with Claim([plan.query.asked.draw for plan in due.values()]) as claim, scan:
            try:
                entries = ledger._charge(*drafts, claim=claim)
                bought: dict[object, StoredRelease | None] = {}
                for i, (name, plan) in enumerate(due.items()):
                    scan.turn_to(i, plan.query.what)
                    bought[name] = _answered(ledger, plan, entries[i:], process)
                return bought
            except (KeyboardInterrupt, SystemExit):
                entries = entries or _charged(ledger, drafts)
                _note_interrupt(ledger, entries, process)
                raise
    except (KeyboardInterrupt, SystemExit) as stop:
        scan.end()  # if another interrupt kept it from ending
        if not entries:
            raise
        stopped = type(stop)
    # a new one: the first one's traceback holds rows or exact integers
    raise stopped(_left_by(ledger, list(due.values()), process))


def _may_share(plans: Collection[Plan]) -> bool:
    """Whether the person who waits may be told which share of the rows is read. Not where a process
    answers for others; and where rows are read several times, how often may be private."""
    (*others, plan) = plans
    reads_once = type(plan.query.statistic).read is Statistic.read
    return reads_once and not others and not here().asker


def _note_interrupt(ledger: Ledger, entries: Sequence[Entry], process: int) -> None:
    """Note what was charged and isn't answered: within the claim, so that nobody takes a lease over
    meanwhile."""
    for entry in entries if os.getpid() == process else ():
        with suppress(ReleaseFailed, StoreError, KeyboardInterrupt, SystemExit):
            ledger._settle(entry, "interrupted", leased=True)


def _charged(ledger: Ledger, drafts: Sequence[Entry]) -> list[Entry]:
    """The charges that an interrupt kept from being returned."""
    last: Sequence[Entry] = ()
    with suppress(StoreError):
        last = ledger._charges(len(drafts) + _MEANWHILE)
    drawn = {draft.draw_id for draft in drafts}
    return [entry for entry in last if entry.draw_id in drawn]


def _left_by(ledger: Ledger, plans: Sequence[Plan], process: int) -> str:
    """What an interrupt after the charge leaves: which of the answers were stored before it."""
    kept, charged = 0, sum((plan.draft.loss for plan in plans), Loss())
    with suppress(StoreError):
        for plan in plans if os.getpid() == process else ():
            kept += ledger._stored(plan.draft.key, plan.query.asked.draw) is not None
    if len(plans) > 1:
        return (
            f"{len(plans)} releases were charged {charged} in all, which stays. {kept} of them are "
            "answered and stored: asking these again is free. Asking the others again costs again."
        )
    what = f"'{plans[0].query}' was charged {charged}, which stays."
    if kept:
        return f"{what} Its answer is stored: asking again is free."
    return f"{what} No answer is stored: asking again costs again."


def _check_engines(plans: Iterable[Plan]) -> None:
    """Refuse rows of which it is plain before the charge that they can't be read."""
    reason = ""
    needs: dict[int, tuple[Engine, list[Need]]] = {}
    for plan in plans:
        needs.setdefault(id(plan.engine), (plan.engine, []))[1].append(plan.query.need)
    for engine, its in needs.values():
        try:
            engine.check(its)
        except ReadError as error:
            reason = str(error)
    if reason:
        raise SourceError(reason)


def _answered(
    ledger: Ledger, plan: Plan, entries: Sequence[Entry], process: int
) -> StoredRelease | None:
    """The answer to the first of some charges, stored before anybody sees it."""
    noisy, cause = None, _HIDDEN
    try:
        noisy = _drawn(plan, process)
    except (KeyboardInterrupt, SystemExit):
        raise  # `_bought` says what is left
    except ReadError as failed:
        cause = str(failed)
    except BaseException:
        pass
    _refuse_fork(process)  # before anything is stored
    statistic, entry = plan.query.statistic, entries[0]
    if noisy is None:
        for left in entries:
            ledger._settle(left, "failed", leased=True)
        # Raised here and not where it failed, so that no traceback holds a frame with rows.
        raise ReleaseFailed(
            f"reading the data for '{plan.query}' failed. Its charge of {entry.loss} stays. "
            f"{cause}{statistic.on_failure if cause is _HIDDEN else ''}"
        )
    status, kept, error = "recorded", None, None
    if here().watch is None:
        status, kept = "released", noisy
        error = _when_read(plan.error_of(noisy), plan.query, len(noisy))
    try:
        draw = ledger._settle(entry, status, kept, leased=True, released_error=error)
    except StoreError as problem:
        reason = problem.reason
    else:
        return None if draw is None else StoredRelease(entry, noisy, draw)
    raise ReleaseFailed(
        f"'{plan.query}' was charged {entry.loss} and not answered. An answer that can't be stored "
        f"isn't shown, because a second one could be drawn for the same charge. {reason}"
    )


def _error_of(
    query: Query, mechanism: Mechanism, noisy: Sequence[Any], scale: Any
) -> StatedError | None:
    """The error of an answer; None where it can't be stated, which must not cost the answer."""
    with suppress(Exception):
        return expected.answered_error(query, mechanism, noisy, scale)
    return None


def _when_read(find: Callable[[], T], query: Query, numbers: int) -> Once[T]:
    """Find the words of an entry when somebody reads it: once. Those of many numbers are found now,
    so that nothing else is kept of them, and those of a caller's function, which may hold rows."""
    once = Once(find)
    if numbers > CROWD or query.source.trusted:
        once()
    return once


#: How many charges other processes and threads may add between a charge and the look at it.
_MEANWHILE = 100
#: Said of an error whose words are unknown.
_HIDDEN = "The cause is not shown, because it could quote data."


def _drawn(plan: Plan, process: int) -> Sequence[int]:
    """The only function where exact integers meet the mechanism that hides them."""
    query, mechanism = plan.query, plan.mechanism
    exact = query.statistic.read(RowPass(plan.engine, query), mechanism)
    _refuse_fork(process)
    watch = here().watch
    return mechanism.release(exact) if watch is None else watch(query, mechanism, exact)


@dataclass(frozen=True)
class RowPass:
    """One pass over all rows, for a query."""

    engine: Engine
    query: Query

    def __call__(self, branch_kernel: BranchKernel, empty: Callable[[], Accumulator]) -> Any:
        """Apply a kernel to each chunk, with the rows that its rows become, and accumulate."""
        query = self.query
        kernel = Kernel(branch_kernel, empty, query.need, query.where, query.branches)
        return self.engine.accumulate_rows(kernel, str(query.what))


def _refuse_fork(process: int) -> None:
    """Refuse a forked process. A caller's function may fork while rows are read, but the charge
    pays for one draw, which the process that was charged makes."""
    if os.getpid() != process:
        raise WorkerProcessError(
            "this process was forked while a release was being computed, and only the process that "
            "it was forked from may go on with it. Functions that read rows must not start "
            "processes that return from them."
        )


def _wait(ledger: Ledger, key: str, draw: int) -> None:
    """Wait until nobody else is answering a query. An interrupt can end this at any time."""
    pause = 0.001
    while ledger._is_taken(key, draw):
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _successor(ledger: Ledger, plan: Plan) -> StoredRelease:
    """The answer of the process that took the query over."""
    key, draw = plan.draft.key, plan.query.asked.draw
    _wait(ledger, key, draw)
    answer = ledger._stored(key, draw)
    if answer is None:
        raise ReleaseFailed(
            f"'{plan.query}' was charged and not answered: another process believed this one dead, "
            "took the query over, and has not answered either. The charge stays. Ask again."
        )
    return answer
