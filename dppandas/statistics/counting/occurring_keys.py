"""How many declared keys occur at all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from ...dataclasses import dataclass
from ...rows.accumulators import SumAccumulator
from ..base import RowPass
from ..layout import Interval
from .counts import Count, CountErrors


class OccurringKeysErrors(CountErrors):
    of: OccurringKeys

    measured_in: ClassVar = ("keys",)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        w = half_width
        return [(self.of._possible(value - w), self.of._possible(value + w)) for value in noisy]


@dataclass(frozen=True)
class OccurringKeys(Count):
    """How many of K declared keys have a row: one integer, or for groups one for each consecutive
    K cells.

    A unit of m rows can fill at most m empty cells, at most K of which count for one integer, and
    it empties none (proof: docs/proofs/presence.md).
    """

    canonical_name: ClassVar[str] = "Present"

    groups: int = 1
    proof: ClassVar[str] = "presence"
    error_model: ClassVar = OccurringKeysErrors

    @property
    def size(self) -> int:
        return self.groups

    @property
    def keys(self) -> int:
        """The number of keys in each group."""
        return len(self.cells) // self.groups

    def l1_sensitivity(self, rows: int) -> int:
        return min(rows, len(self.cells))

    def linf_sensitivity(self, rows: int) -> int:
        return min(rows, self.keys)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        """Counts the keys that have at least one row."""
        counts = row_pass(self.over_branches, partial(SumAccumulator, len(self.cells)))
        starts = range(0, len(counts), self.keys)
        return [sum(count > 0 for count in counts[i : i + self.keys]) for i in starts]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [self._possible(value) for value in noisy]

    def _possible(self, value: int) -> int:
        return max(0, min(self.keys, value))
