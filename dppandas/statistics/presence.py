"""How many of some declared keys occur at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..totals import Total
from .base import Interval, Read
from .counts import Count


@dataclass(frozen=True)
class Present(Count):
    """How many of K declared keys have a row: one integer.

    Adding a unit of m rows can bring at most min(m, K) keys that had no row, and takes none away
    (proof: docs/proofs/presence.md).
    """

    @property
    def size(self) -> int:
        return 1

    def moved(self, rows: int) -> int:
        return min(rows, len(self.cells))

    def moved_most(self, rows: int) -> int:
        return self.moved(rows)

    def read(self, through: Read) -> list[int]:
        """From how many rows each key has."""
        counts = through(self.over, lambda: Total(len(self.cells)))
        return [sum(count > 0 for count in counts)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [self._possible(noisy[0])]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        value = noisy[0]
        return [(self._possible(value - half_width), self._possible(value + half_width))]

    def _possible(self, value: int) -> int:
        return max(0, min(len(self.cells), value))
