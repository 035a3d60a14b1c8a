"""The median slope of pairs of rows, by blocks of units.

Proof: docs/proofs/theil_sen.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, replace
from ...privacy.accounting.measures import LossRequest
from ...rows.expressions import EVERY, Expression
from ...rows.facts.bounds import Bounds
from ..base import RowPass
from ..error_model import RowLimit
from ..layout import Interval
from ..quantiles import HALF, Quantiles, QuantilesErrors
from .aggregates import MOST_BLOCKS, OfBlocks
from .block_tests import Shown

Floats = npt.NDArray[np.float64]

#: Steeper slopes, in terms of the bounds, count as this one.
STEEPEST = 1000.0
#: So many times what a median may be off by are blocks enough.
SURE = 3


class BlockSlopesErrors(QuantilesErrors):
    of: BlockSlopes

    no_interval: ClassVar[str] = (
        "a median of slopes has no interval: how far apart slopes are is private. .error() tells "
        "by how many blocks it may be off. models.OLS has intervals."
    )
    takes_rows: ClassVar[bool] = False

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return [(-STEEPEST, STEEPEST)]

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        """No more than there are blocks, which is public."""
        return super().errors_among(law, confidence, self.of.blocks_at(law))


@dataclass(frozen=True)
class BlockSlopes(OfBlocks, Quantiles):
    """The median of one slope for each block of units: that of the pairs of its rows.

    columns_shown : a feature and a target, which are clipped to [-1, 1].
    blocks : those that suit the loss, if a public number of ``units`` is given.

    A slope s is on the grid as s/(1 + |s|), which keeps the order and has bounds whatever the
    slope is. A block without two different features has none and doesn't count.
    """

    operands: tuple[Expression, ...] = (EVERY,)  # in place of a column
    bounds: tuple[Bounds, ...] = (Bounds(-1, 1),)
    quantiles: tuple[Fraction, ...] = (HALF,)
    columns_shown: tuple[Shown, ...] = ()
    blocks: int = 0
    units: int = 0
    by: tuple[Any, ...] = ()
    is_by_unit: bool = False
    branches: int = 1

    drops_missing: ClassVar[bool] = True
    methods: ClassVar = ()
    proof: ClassVar[str] = "theil_sen"
    error_model: ClassVar = BlockSlopesErrors
    reading: ClassVar[int] = 1

    def adapted_to(self, asked: LossRequest, rows: int) -> BlockSlopes:
        return replace(self, blocks=self.blocks_at(self.mechanism(asked, self.sensitivity(rows))))

    def blocks_at(self, law: Any) -> int:
        """How many blocks there are at a law: at the loss of another one they may be others."""
        return number_of_blocks(self.units, *law.rank_errors(0.95)) if self.units else self.blocks

    def points(self, row_pass: RowPass) -> list[int]:
        """One for each block that has a slope."""
        found = np.array([*self._directions(row_pass)], dtype=np.float64)
        return [int(point) for point in self.grid.integers(found).tolist()]

    def _directions(self, row_pass: RowPass) -> Iterator[float]:
        for feature, target in self.seen(row_pass):
            found = direction_of(np.clip(feature, -1.0, 1.0), np.clip(target, -1.0, 1.0))
            if found is not None:
                yield found

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        (found,) = super().estimate(noisy)
        most = STEEPEST / (1 + STEEPEST)
        within = min(max(found, -most), most)
        return [within / (1 - abs(within))]


def number_of_blocks(units: int, off: float) -> int:
    """How many blocks suit so many units, if a median may be off by so many blocks: as many as hold
    16 units each, or 3 if that takes no more than thrice what it may be off by. Large blocks have
    better slopes, and many of them make the median surer."""
    return min(max(units // 16, min(units // 3, round(SURE * off)), 2), MOST_BLOCKS)


def direction_of(x: Floats, y: Floats) -> float | None:
    """The median of s/(1 + |s|) for the slopes s of pairs: of m rows in the order of x, row i is
    paired with row i + ⌈m/2⌉. None if both are equal in x in all pairs. Rows of equal x stay in
    their order, that of hashes: an order by y would prefer some slopes."""
    half, order = len(x) // 2, np.argsort(x, kind="stable")
    low, high = order[:half], order[len(x) - half :]
    run, rise = x[high] - x[low], y[high] - y[low]
    there = run > 0
    if not there.any():
        return None
    return float(np.median(rise[there] / (run[there] + np.abs(rise[there]))))
