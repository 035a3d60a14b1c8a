"""Who is answering which query at this moment, so that equal queries share one draw.

A charge for a query takes a lease of its key and the number of the draw, in the same transaction.
Whoever asks the same waits until the lease ends: by its outcome, or when who holds it is gone. It
never ends by time, for scans may be long. docs/adr/0025-leases.md has the reasons.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


class Taken(Exception):
    """An equal query has been answered in the meantime, or is being answered: look again.

    Nothing was charged, and no lease was taken.
    """

    def __init__(self, key: str, draw: int) -> None:
        super().__init__(key, draw)
        self.key, self.draw = key, draw


class Claim:
    """What is charged together, and answered in a block: all its leases end with the block, however
    it is left. None is taken before the block begins, so that an interrupt leaves none behind."""

    def __init__(self, draws: Sequence[int]) -> None:
        self.draws = tuple(draws)  # which draw of its query each charge is to be; 0 for the next
        self.thread = threading.get_ident()
        self.is_open = False
        self._ends: list[Callable[[], Any]] = []

    def __enter__(self) -> Claim:
        self.is_open = True
        return self

    def __exit__(self, *raised: object) -> None:
        self.is_open = False
        while self._ends:
            self._ends.pop()()

    def at_end(self, end: Callable[[], Any]) -> None:
        """Call this when the block has ended."""
        self._ends.append(end)

    @property
    def is_mine(self) -> bool:
        """Whether it is this thread that would have to wait for itself."""
        return self.thread == threading.get_ident()
