"""The current session: its ledger, and the sources that it holds."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload
from weakref import WeakValueDictionary

from ..dataclasses import dataclass, field, replace
from ..engines.base import Engine
from ..errors import LineageError, QueryError, SessionError, SourceError, hide_internals, quoted
from ..ledger import canonical
from ..ledger.cells import load_extension, show_beside
from ..ledger.ledger import Ledger
from ..ledger.storage.store import Store
from ..privacy.accounting.losses import Epsilon, Loss
from ..privacy.accounting.measures import Measure, PrivacyBudget
from ..rows.facts.declared import DeclaredFacts
from ..rows.facts.kinds import Kind
from ..rows.sentences import in_lines
from .answers.earlier import KEPT, Answered, advice
from .context import Slot, here, noting_refusals, within
from .query import UNNAMED, Query, Source

if TYPE_CHECKING:
    from ..ledger.storage.sqlite import SqliteStore

#: How many different queries are remembered, to show what another of them would cost.
REMEMBERED = 12


@dataclass(frozen=True)
class ProtectedSource:
    """A protected source of a session, with its data and its identity."""

    source: Source
    engine: Engine
    terms: dict[str, object]
    fingerprint: str = field(repr=False)
    ledger: str = ""  # a name that only its ledger has
    facts: DeclaredFacts = field(
        default_factory=DeclaredFacts, repr=False
    )  # the facts that its frames declare
    kinds: dict[Any, Kind] = field(default_factory=dict)  # all declared kinds


class Session:
    """A budget that caps the sum over all sources, and the sources protected under it."""

    def __init__(
        self,
        terms: PrivacyBudget | None,
        strict: bool = False,
        experimental: bool = False,
        store: Store | None = None,
        replays: bool = True,
    ) -> None:
        self.ledger = Ledger(terms, store)
        self.strict = strict
        self.experimental = experimental
        self._replays = replays
        self._sources: dict[str, ProtectedSource] = {}
        self._owned: dict[str, Source] = {}  # those of them that have a unit column
        #: The latest different queries of this kernel, by name, the latest first.
        self._asked: dict[str, Query] = {}
        self._answered: deque[Answered] = deque(maxlen=KEPT)
        #: The last answers by several labels. They hold no rows.
        self._unstackable: deque[Any] = deque(maxlen=64)
        #: The tests that were made of answers, and which one each was.
        self._tests: dict[tuple[object, ...], int] = {}
        #: What was said to be assumed, by source and column.
        self._said: set[tuple[str, Any, str]] = set()

    @property
    def _is_untouched(self) -> bool:
        """Whether its ledger is in memory and has no limit, charge, source or permission."""
        ledger, has_any = self.ledger, self._sources or self.strict or self.experimental
        return ledger.budget is None and not (has_any or ledger._store.identity or ledger._count())

    def _remember(self, query: Query) -> None:
        """Keep a query, so that a view can show what another one would cost. Only public facts are
        kept, and nothing that a caller's function may hold."""
        name = query.name
        known = self._asked.get(name)
        if known is not None and known.asked == query.asked and next(iter(self._asked)) == name:
            return
        if known is None:
            try:
                canonical.text((query.where, query.statistic))
            except canonical.NoCanonicalText:
                return
        else:
            query = replace(known, asked=query.asked)
        others = [each for each in self._asked.items() if each[0] != name]
        # in one step, because other threads may be reading it
        self._asked = dict([(name, query), *others][:REMEMBERED])

    def _advice(self, asked: Query | None = None) -> tuple[str, ...]:
        """What earlier answers are still good for, when a question is too dear."""
        charged, left = self.ledger._charges(last=KEPT), self.ledger._left or Loss()
        return advice(list(self._answered), charged, left, asked)

    @property
    def budget(self) -> Epsilon | None:
        """The limit on what all answers may cost: see `Ledger.budget`."""
        return self.ledger.budget

    @property
    def _terms(self) -> PrivacyBudget:
        """The promise: the measure of losses, and their limit."""
        return self.ledger._terms

    @property
    def epsilon(self) -> Epsilon | None:
        """The ε of the whole budget, or the ε that follows from its ρ; None without a budget."""
        return self._terms.epsilon

    @property
    def spent(self) -> Epsilon:
        """What the answers so far cost: see `Ledger.spent`."""
        return self.ledger.spent

    @property
    def remaining(self) -> Epsilon | None:
        """What the next question may cost: what is left of the budget, see `Ledger.remaining`.

        After a refused call of `session` that is nothing. Then it raises what a question raises,
        `SessionError`, which says why and how to go on.
        """
        if self._refusal:
            raise SessionError(self._refusal)
        return self.ledger.remaining

    @property
    def _refusal(self) -> str:
        """Why nothing is released in it now; "" if it may be."""
        slot = here().slot
        return slot.refusal if slot.session is self else ""

    def _hold(self, mine: ProtectedSource) -> ProtectedSource:
        """Keep a source, unless one of its name is kept; returns the one that is."""
        source = mine.source
        if source.unit.column is not None:  # first, so that no interrupt can leave it out
            self._owned[source.name] = source
        return self._sources.setdefault(source.name, mine)

    def _protected(self, source: Source) -> ProtectedSource | None:
        """The source as it is protected here, or None."""
        held = self._sources.get(source.name)
        return held if held is not None and held.source.id == source.id else None

    def _admit(self, query: Query, row_level_declared: bool) -> str:
        """The name of the ledger that a query is charged to, or "" for a source without a name.

        Refuses sources of an ended session, rows whose owners are unknown, and statistics that
        aren't proven unless this session allows those."""
        source, held = query.source, self._protected(query.source)
        if self.strict and not source.verified:
            raise LineageError(
                "this session is strict, and the lineage here is asserted: what pandas did to this "
                "frame can't be checked. Use the private frame that dp.protect returned, and its "
                "own methods."
            )
        if source.name != UNNAMED and held is None:
            raise SourceError(
                f"source {source.name!r} was protected in a session that has ended. Protect it "
                "again with dp.protect."
            )
        if source.name == UNNAMED and not row_level_declared and source.unit.column is None:
            self._refuse_nobodys_rows()
        unproven = query.statistic.experimental
        if unproven and not self.experimental:
            raise QueryError(
                f"{query.what} is experimental: {unproven} If you can accept that, allow it in "
                "this session: dp.session(experimental=True)."
            )
        return "" if held is None else held.ledger

    def _refuse_nobodys_rows(self, call: str = "dp.private(df") -> None:
        """Refuse rows without a token or unit, in a session that holds a source with a unit."""
        if owned := list(self._owned.values()):
            names = ", ".join(f"{s.name!r} (unit {s.unit.column!r})" for s in owned)
            unit = f"unit={owned[0].unit.column!r}, max_rows={owned[0].unit.max_rows}"
            raise LineageError(
                f"this session protects {names}, and these rows may come from there. Use the "
                f"frame of dp.protect, or say whose rows these are: {call}, {unit}), or if each "
                f'is one person {call}, unit="row").'
            )

    def __repr__(self) -> str:
        return "\n".join(filter(None, [in_lines(self._refusal), repr(self.ledger)]))

    def _repr_html_(self) -> str:
        refusal = f"<p>{escape(self._refusal)}</p>" if self._refusal else ""
        return refusal + self.ledger._repr_html_()


@dataclass(frozen=True)
class SourceIdentity:
    """What a token still identifies after the session of its source has ended."""

    source: Source
    fingerprint: str = field(repr=False)
    columns: tuple[Any, ...] = ()


#: Every source that this process protected, by token.
identities: dict[str, SourceIdentity] = {}

#: Tables made from sources, by the source's id and how they were made, while they are in use.
made_tables: WeakValueDictionary[tuple[str, str], Engine] = WeakValueDictionary()

_lock = threading.RLock()


@hide_internals
@noting_refusals
def session(
    epsilon: object = None,
    *,
    delta: object = None,
    rho: object = None,
    delta_releases: object = None,
    accounting: object = None,
    strict: bool | None = None,
    experimental: bool | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Session:
    """Start a session with a budget, or get the running one.

    epsilon : the limit on Σε over all releases from all sources: a positive number or string,
        kept as the exact decimal that it prints. Without it, the running session is returned; if
        there is none, one without limit is started.
    delta : with epsilon, the limit on Σδ, for releases that need a δ (Gaussian noise,
        undeclared keys): approximate differential privacy, by basic composition.
    rho : instead of epsilon, the limit on Σρ of zero-concentrated differential privacy, in which
        many small releases cost less. ``delta`` is then the δ at which the whole budget is stated
        as an ε (`Session.epsilon`), and ``delta_releases`` is what thresholds may spend besides.
        The promise is (ε, the sum of both).
    accounting : "zcdp" with epsilon and delta sets the largest ρ that implies this ε; "basic" is
        the default.
    strict : True refuses releases of asserted lineage. Then only private frames from `dp.protect`
        answer, and those made from them by their own methods. Later calls can't change it.
    experimental : True allows answers whose guarantee isn't fully proven, such as those with
        floating-point noise. Without it, a refusal says what isn't proven. Later calls can switch
        it on and off: ``dp.session(experimental=True)``.
    store : a file on a local disk that keeps the ledger. It outlives the kernel, and several
        kernels may share it. A new file needs a budget; an existing one has its own, and another
        budget is refused. Answers are stored, and returned again at no cost, after a restart too.
        Without a store the ledger is in memory.

    If you call it again with the same budget, as when a cell is run again, it returns the running
    session and resets nothing. A budget given to a session without one counts earlier releases.
    Another budget raises `SessionError`: call `dp.reset()` first. After a refusal nothing is
    released, not even in the running session, until a call with a budget or a store succeeds (the
    running session's own will do) or `dp.reset()` is called; `remaining` says so, too.

    In IPython and notebooks it also does what ``%load_ext dppandas`` does: answers are shown with
    their errors, and ``%dp`` shows the ledger. ``%unload_ext dppandas`` undoes that for good.

    *Guarantee*: the sum of the losses of all answers never exceeds the budget, so everything
    released in the session together is epsilon-differentially private (sequential composition:
    Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Theorem 3.16); or
    (ε, δ); or ρ-zCDP, with δ_releases (Bun and Steinke, TCC 2016; docs/proofs/accounting.md).

    >>> import dppandas as dp
    >>> dp.reset()
    >>> dp.session(epsilon=2).remaining
    2
    """
    slot = here().slot
    if slot.is_over:
        raise SessionError("this context belonged to an audit that has ended.")
    for name, flag in (("strict", strict), ("experimental", experimental)):
        if flag is not None and not isinstance(flag, bool):
            raise SessionError(f"{name}={quoted(flag)} must be True or False.")
    terms = PrivacyBudget.parse(epsilon, delta, rho, delta_releases, accounting)
    # One line, or an interrupt could leave the lock behind: see `store`.
    with _lock: opened = _started(slot, terms, strict, experimental, store)  # noqa: E701  # fmt: skip
    show_errors()
    return opened


def _file(path: str | os.PathLike[str], terms: PrivacyBudget | None) -> SqliteStore:
    from ..ledger.storage.sqlite import SqliteStore

    return SqliteStore(path, terms)


def _started(
    slot: Slot,
    terms: PrivacyBudget | None,
    strict: bool | None,
    experimental: bool | None,
    store: str | os.PathLike[str] | None,
) -> Session:
    running: Session | None = slot.session
    if running is not None and store is not None and running._is_untouched:
        running.ledger._close()  # it is empty: looking at the ledger may have started it
        running = slot.session = None
    if running is None:
        file = None if store is None else _file(store, terms)
        opened = slot.session = Session(
            file.terms if file else terms, bool(strict), bool(experimental), store=file
        )
        return opened
    if store is not None and not running.ledger._store.is_at(store):
        raise SessionError(
            "a session is running that keeps its ledger elsewhere. End it with dp.reset() before "
            f"you use another ledger. To go on with it, call {running._terms.call}."
        )
    if strict is not None and strict != running.strict:
        raise SessionError(
            f"a session with strict={running.strict} is running. Go on with {running._terms.call}, "
            "or end it for good with dp.reset()."
        )
    if terms is not None and running.budget is None:
        running.ledger._limit(terms)
    elif terms is not None and running._terms != terms:
        raise SessionError(
            f"a session with a budget of {running._terms} is running, not {terms}. Go on with "
            f"{running._terms.call}. Or end it for good with dp.reset(), and start the other "
            "one: what the first one released stays released, and the losses add up."
        )
    if experimental is not None:
        running.experimental = experimental
    return running


def show_errors() -> None:
    """Load the extension where IPython runs, so that answers are shown with their errors. An audit
    leaves nothing behind, so it doesn't."""
    if not is_scratch():
        load_extension()


def releasing() -> Session:
    """The session that a release is charged to. After `session` refused, there is none."""
    slot = here().slot
    found: Session = slot.session or session()
    if slot.refused:
        raise SessionError(slot.refusal)
    return found


def current() -> Session:
    """The running session. If there is none, one without limit is started."""
    found: Session = here().slot.session or session()
    return found


def running() -> Session | None:
    """The running session, if there is one; none is started."""
    found: Session | None = here().slot.session
    return found


@overload
def ledger(side: Literal[False] = False) -> Ledger: ...
@overload
def ledger(side: Literal[True]) -> None: ...
@hide_internals
def ledger(side: bool = False) -> Ledger | None:
    """The ledger of the running session: `.budget`, `.spent`, `.remaining`, `.to_frame()`.

    side : True shows it live in a panel beside the notebook, and returns None. That needs
        JupyterLab and ``pip install "dppandas[side]"``, where JupyterLab runs, too.

    Raises `QueryError` if there is no such panel.

    >>> import dppandas as dp
    >>> dp.reset()
    >>> dp.ledger().budget is None
    True
    """
    if not isinstance(side, bool):
        raise QueryError(f"side={quoted(side)} must be True or False.")
    if side:
        show_beside(current().ledger)
        return None
    return current().ledger


@hide_internals
def reset() -> None:
    """End the running session for good.

    Nothing is refunded: what was released can't be taken back, and the losses of two sessions on
    the same people add up. Records of earlier results stay readable, but private frames of the
    ended session no longer answer. A store keeps its charges and answers; without one, they are
    lost. After a refused call of `session`, releases go on without limit until you start another.
    """
    with _lock: _end(here().slot)  # noqa: E701  # fmt: skip


def _end(slot: Slot) -> None:
    ended, slot.session, slot.refused = slot.session, None, ""
    if ended is None:
        return
    ended.ledger._close()
    if slot.is_scratch:
        for held in ended._sources.values():
            identities.pop(held.source.id, None)
    ended._sources.clear()
    ended._owned.clear()


@contextmanager
def scratch() -> Iterator[Session]:
    """A temporary session for this context only. For dppandas.audit only.

    Other threads, and threads that start meanwhile, keep the common session. Otherwise their
    releases would be charged to a ledger that nobody reads. Sources protected here are forgotten,
    however the block ends. Experimental statistics are allowed.
    """
    terms = PrivacyBudget(Measure.APPROXIMATE)
    slot = Slot(Session(terms, experimental=True, replays=False), is_scratch=True)
    try:
        with within(slot=slot):
            yield session()
    finally:
        with _lock: _end(slot)  # noqa: E701  # fmt: skip
        slot.is_over = True


def is_scratch() -> bool:
    """Whether the session is a temporary one, which must leave nothing behind."""
    return here().slot.is_scratch
