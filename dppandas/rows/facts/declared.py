"""What was declared of one table: more can be, but nothing that contradicts it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, NoReturn

from ...errors import SourceError
from .domain import Declaration
from .keys import Keys

#: Columns of a table, and what is declared of each.
Declared = Iterable[tuple[Any, Declaration]]


class Facts:
    """All that was ever declared of a table, by whichever frame: each frame knows some of it.

    Facts are the caller's assertions about one table, so two that differ can't both hold, whatever
    the order they are said in; and a frame's own never change, so that what it was asked keeps its
    key when a cell is run again.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Declaration] = {}
        self._lock = threading.Lock()

    @property
    def known(self) -> dict[Any, Declaration]:
        """By column, in the order in which they were declared first."""
        return dict(self._known)

    def add(self, declared: Declared, source: str) -> None:
        """Note facts about a source of that name: all of them, or none where one contradicts
        another, which raises `SourceError`."""
        # One line, or an interrupt could leave the lock behind: see `store`.
        with self._lock: self._known = self._with(declared, source)  # noqa: E701  # fmt: skip

    def _with(self, declared: Declared, source: str) -> dict[Any, Declaration]:
        known = self.known
        for column, fact in declared:
            before = known.setdefault(column, fact)
            if repr(before) != repr(fact):  # equal keys may be of other types, 1 or True
                _refuse(column, before, fact, source)
        return known


def _refuse(column: Any, before: Declaration, fact: Declaration, source: str) -> NoReturn:
    then, now = _told(before), _told(fact)
    if then == now:
        now = "others" if isinstance(fact, Keys) else repr(fact)
    raise SourceError(
        f"source {source!r} was declared before with other terms (domain of {column!r} was {then}, "
        f"is {now}), and both can't hold. Keep to the first; or give bounds= or keys= in the call, "
        "where they may differ each time; or end the session with dp.reset()."
    )


def _told(fact: Declaration) -> str:
    """Not the labels themselves, which may have been read from a column."""
    if isinstance(fact, Keys):
        return "1 key" if len(fact) == 1 else f"{len(fact)} keys"
    return str(fact)
