"""Sums of rows that are scaled down to a public norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError, is_one_of, quoted
from ...rows.expressions import Chunk
from ...rows.facts.bounds import Bounds, Grid, sum_step
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Partial, sum_by
from .sums import Sum, on_grid

Integers = npt.NDArray[np.int64]

#: A norm of fewer steps than this would be rounded too coarsely.
FEWEST_STEPS = 2**10


@dataclass(frozen=True)
class NormedSum(Sum):
    """For each cell and column, the sum of values of rows that are scaled to a norm.

    All columns are on one grid. A row's integers t are clipped to their bounds; where their norm N
    (Σ|t|, or √Σt² rounded up) exceeds C, each becomes ⌊|t|·C/N⌋ with the sign of t. So a row's
    norm is at most C, and ℓ1 is C or less (proof: docs/proofs/sums.md).
    """

    norm: int = 0
    order: int = 1  # ℓ1, or ℓ2

    methods: ClassVar = Sum.methods
    takes_limits: ClassVar = True

    @property
    def l1(self) -> int:
        most = len(self.operands) * self.norm**2
        return min(super().l1, self.norm if self.order == 1 else math.isqrt(most))

    @property
    def linf(self) -> int:
        return min(super().linf, self.norm)

    def l2_squared_sensitivity(self, rows: int) -> int:
        known = super().l2_squared_sensitivity(rows)
        if self.order == 1:
            return known
        return min(known, self.cells.most(rows).squares * self.norm**2)

    def is_count(self, schema: Schema) -> bool:
        """False: scaled rows don't count by ones."""
        return False

    def comparable(self) -> NormedSum:
        """This statistic itself: all columns are on one grid already."""
        return self

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells, codes = len(self.cells), self.cells.codes(chunk, keep)
        pairs = zip(self.operands, self.grids, strict=True)
        steps = [on_grid(operand, grid, chunk, keep)[0].astype(np.int32) for operand, grid in pairs]
        norms = self._norms(steps)
        over = np.flatnonzero(norms > self.norm)
        norms = norms[over]
        out = np.empty((cells, len(steps)), dtype=np.int64)
        for column, t in enumerate(steps):
            far = t[over].astype(np.int64)
            t[over] = np.sign(far) * (np.abs(far) * self.norm // norms)
            out[:, column] = sum_by(codes, t.astype(np.float64), cells)
        return out.reshape(-1)

    def _norms(self, steps: Sequence[npt.NDArray[np.int32]]) -> Integers:
        """The norm of each row; for ℓ2 rounded up to a whole number, or 0 if it is at most C."""
        sizes = np.zeros(len(steps[0]), dtype=np.int64)
        for t in steps:
            sizes += np.abs(t) if self.order == 1 else t.astype(np.int64) ** 2
        if self.order == 1:
            return sizes
        # The float square root may be too small by less than a step: adding two is always enough.
        above = np.sqrt(sizes.astype(np.float64)).astype(np.int64) + 2
        return np.where(sizes > self.norm**2, above, 0)


def grids_of_norm(bounds: Sequence[Bounds], norm: object) -> tuple[tuple[Grid, ...], int, int]:
    """One grid for all columns, the norm in its steps, and its order: of a norm given as c,
    ("l1", c) or ("l2", c)."""
    order, size = parsed_norm(norm)
    # So coarse that a row's integers add up to about 2^30, and their products fit an int64.
    wider = 2.0 ** math.ceil(math.log2(max(len(bounds), 1)))
    step = max((sum_step(each) for each in bounds if each.lower or each.upper), default=1.0) * wider
    grids = tuple(Grid.centred(each, step) for each in bounds)
    steps = math.floor(Fraction(size) / Fraction(step))
    most = sum(grid.reach for grid in grids)
    if steps < min(FEWEST_STEPS, most):
        raise QueryError(
            f"norm={quoted(norm)} is less than a millionth of what the bounds allow, too small to "
            "scale rows precisely. Give narrower bounds."
        )
    return grids, min(steps, most), order


def parsed_norm(norm: object) -> tuple[int, float]:
    """The order of a norm, 1 or 2, and its size."""
    name, size = "l1", norm
    if isinstance(norm, tuple | list) and len(norm) == 2:
        name, size = norm
    is_number = isinstance(size, int | float | np.integer | np.floating)
    good = is_number and not isinstance(size, bool) and is_one_of(name, ("l1", "l2"))
    if not good or not 0 < float(size) < math.inf:  # type: ignore[arg-type]
        raise QueryError(
            f"norm={quoted(norm)} must be a number above 0, the most that the absolute values of a "
            'row add up to; or ("l2", number) for the root of the sum of their squares.'
        )
    return (1 if name == "l1" else 2), float(size)  # type: ignore[arg-type]
