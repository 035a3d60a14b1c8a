"""Who is answering which query right now, so that equal queries share one draw.

A charge for a query takes a lease of the query's key and draw number, in the same transaction.
Anyone else who asks the same waits until the lease ends: with an outcome, or when its holder is
gone. It never times out, because a scan may take long. docs/adr/0025-leases.md has the reasons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import SessionError


class Taken(Exception):
    """An equal query was answered in the meantime, or is being answered: look again.

    Nothing was charged, and no lease was taken.
    """

    def __init__(self, key: str, draw: int) -> None:
        super().__init__(key, draw)
        self.key, self.draw = key, draw


class Claim:
    """What is charged together and answered in one block. Its leases end with the block, however
    the block is left; none is taken before it begins, so an interrupt leaves none behind."""

    def __init__(self, draws: Sequence[int]) -> None:
        self.draws = tuple(draws)  # the draw of its query that each charge wants; 0 for the next
        self._thread = threading.get_ident()
        self._is_open = False
        self._ends: list[Callable[[], Any]] = []

    def __enter__(self) -> Claim:
        self._is_open = True
        return self

    def __exit__(self, *raised: object) -> None:
        self._is_open = False
        try:
            while self._ends:
                self._ends[-1]()
                self._ends.pop()
        finally:  # an interrupt may have come in between
            while self._ends:
                self._ends.pop()()

    def at_end(self, end: Callable[[], Any]) -> None:
        """Call this when the block has ended."""
        self._ends.append(end)

    def is_open(self) -> bool:
        """Whether its holder is still answering. `SessionError` in the holder's own thread, which
        would wait for itself."""
        if self._is_open and self._thread == threading.get_ident():
            raise SessionError(
                "this thread is already answering this query: what reads its rows asks it again."
            )
        return self._is_open
