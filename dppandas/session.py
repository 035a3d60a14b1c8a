"""The current session: its ledger, and the sources that it holds."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from .budget import Epsilon, parse_budget
from .engines.pandas import PandasEngine
from .errors import LineageError, SessionError, SourceError
from .ledger import Ledger
from .query import UNNAMED, Source


@dataclass(frozen=True)
class Holding:
    """A protected source of a session, with its data and what identifies it."""

    source: Source
    engine: PandasEngine
    terms: dict[str, object]
    fingerprint: str = field(repr=False)


class Session:
    """A budget that caps the sum over all sources, and the sources protected under it."""

    def __init__(self, budget: Epsilon | None) -> None:
        self.ledger = Ledger(budget)
        self.holdings: dict[str, Holding] = {}

    @property
    def budget(self) -> Epsilon | None:
        return self.ledger.budget

    @property
    def spent(self) -> Epsilon:
        return self.ledger.spent

    @property
    def remaining(self) -> Epsilon | None:
        return self.ledger.remaining

    def holding(self, source_id: str) -> Holding | None:
        """The protected source of an id."""
        found = (h for h in self.holdings.values() if h.source.id == source_id)
        return next(found, None)

    def admit(
        self, source: Source, row_level_declared: bool, say: str = 'dp.private(df, unit="row")'
    ) -> None:
        """Refuse a source of an ended session, and rows that nobody can be told to own."""
        if source.name != UNNAMED and self.holding(source.id) is None:
            raise SourceError(
                f"source {source.name!r} was protected in a session that has ended. Protect it "
                "again with dp.protect. Nothing was computed or charged."
            )
        if source.name != UNNAMED or row_level_declared or source.unit.column is not None:
            return
        owned = [h.source for h in self.holdings.values() if h.source.unit.column is not None]
        if owned:
            names = ", ".join(f"{s.name!r} (unit {s.unit.column!r})" for s in owned)
            raise LineageError(
                f"this session protects {names}, and this frame doesn't say whether its rows come "
                "from there: merge, concat, explode and reading a file lose the token that pandas "
                "keeps in attrs. Work on the private frame that dp.protect returned; or, if each "
                f"row here really is one person, say so: {say}. Nothing was computed or charged."
            )

    def __repr__(self) -> str:
        return repr(self.ledger)

    def _repr_html_(self) -> str:
        return self.ledger._repr_html_()


@dataclass(frozen=True)
class Known:
    """What a token tells after the session of its source has ended."""

    source: Source
    fingerprint: str = field(repr=False)


#: Every source protected by this process, by token.
known_sources: dict[str, Known] = {}

_lock = threading.RLock()
_current: Session | None = None


def session(epsilon: object = None) -> Session:
    """Start a session with a budget, or get the running one.

    epsilon : the limit on Σε over all releases from all sources: a positive number or string,
        kept as the exact decimal it prints. Without it, the running session is returned, and one
        without limit is started where none runs.

    Called again with the same budget (a cell run again) it returns the running session and resets
    nothing. A budget given to a session that has none counts what was released before. Another
    budget raises `SessionError`: end the session with `dp.reset()` first.

    *Guarantee*: the sum of the losses of all answers never exceeds the budget, so everything
    released in the session together is epsilon-differentially private (sequential composition:
    Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Theorem 3.16).

    >>> import dppandas as dp
    >>> dp.reset()
    >>> dp.session(epsilon=2).remaining
    2
    """
    global _current
    with _lock:
        if epsilon is None:
            _current = _current or Session(None)
            return _current
        budget = parse_budget(epsilon)
        if _current is None:
            _current = Session(budget)
        elif _current.budget is None:
            _current.ledger.limit(budget)
        elif _current.budget != budget:
            raise SessionError(
                f"a session with a budget of ε = {_current.budget} is running, not {budget}. Go "
                "on with it, or end it for good with dp.reset(): what it released stays released."
            )
        return _current


def ledger() -> Ledger:
    """The ledger of the running session: `.budget`, `.spent`, `.remaining`, `.to_frame()`.

    >>> import dppandas as dp
    >>> dp.reset()
    >>> dp.ledger().budget is None
    True
    """
    return session().ledger


def reset() -> None:
    """End the running session for good.

    Nothing is refunded: what was released can't be taken back, and the losses of two sessions on
    the same people add up. Records of earlier results stay readable; private frames of the ended
    session answer no more.
    """
    global _current
    with _lock:
        if _current is not None:
            _current.ledger.close()
            _current.holdings.clear()
        _current = None
