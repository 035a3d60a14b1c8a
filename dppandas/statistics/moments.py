"""Sums and means of bounded numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..domain import Bounds, Grid
from ..rows import Chunk, Expression
from ..vectors import Mask, as_numbers
from .base import Codes, Interval, Partial, Statistic, count_by, masked, short, sum_by


@dataclass(frozen=True)
class Sum(Statistic):
    """For each cell and column, the sum of values clipped to bounds.

    In steps of a column's grid a row adds rint(clip(x)/step), at most max(|rint(L/step)|,
    |rint(U/step)|) in size: ℓ1 is their sum over the columns, ℓ∞ the largest of them
    (proof: docs/proofs/sums.md).
    """

    operands: tuple[Expression, ...] = ()
    grids: tuple[Grid, ...] = ()

    @property
    def size(self) -> int:
        return len(self.cells) * len(self.operands)

    @property
    def l1(self) -> int:
        return sum(grid.reach for grid in self.grids)

    @property
    def linf(self) -> int:
        return max(grid.reach for grid in self.grids)

    @property
    def monotone(self) -> bool:
        return all(grid.low >= 0 for grid in self.grids)

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.operands)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells = len(self.cells)
        codes = masked(self.cells.codes(chunk), keep, cells)
        out = np.empty((cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            out[:, column] = _sum_and_count(operand, grid, chunk, codes, keep, cells)[0]
        return out.reshape(-1)

    def comparable(self) -> Sum:
        """All sums on the coarsest of their grids."""
        step = max(grid.step for grid in self.grids)
        bounds = (Bounds(grid.low * grid.step, grid.high * grid.step) for grid in self.grids)
        return replace(self, grids=tuple(Grid.centred(bound, step) for bound in bounds))

    def _grid(self, entry: int) -> Grid:
        return self.grids[entry % len(self.grids)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [value * self._grid(i).step for i, value in enumerate(noisy)]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        steps = (self._grid(i).step for i in range(len(noisy)))
        pairs = zip(noisy, steps, strict=True)
        return [((v - half_width) * step, (v + half_width) * step) for v, step in pairs]

    def error(self, half_width: int) -> float | None:
        return half_width * max(grid.step for grid in self.grids)


@dataclass(frozen=True)
class Mean(Statistic):
    """For each cell and column, the mean of values clipped to bounds, by two sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds t to one sum and T-t to the other: ℓ1
    is exactly T a column, however the value changes, and the mean is L + (U-L)·S₊/(S₊+S₋). No
    part of the loss is spent on a count of its own (Kulesza, Suresh and Wang, "Mean estimation in
    the add-remove model of differential privacy", ICML 2024; proof: docs/proofs/means.md).
    """

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()

    @property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(Grid.anchored(bounds) for bounds in self.bounds)

    @property
    def size(self) -> int:
        return 2 * len(self.cells) * len(self.operands)

    @property
    def l1(self) -> int:
        return sum(grid.high for grid in self.grids)

    @property
    def linf(self) -> int:
        return max(grid.high for grid in self.grids)

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.operands)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells = len(self.cells)
        codes = masked(self.cells.codes(chunk), keep, cells)
        out = np.empty((2, cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            above, count = _sum_and_count(operand, grid, chunk, codes, keep, cells)
            out[0, :, column] = above
            out[1, :, column] = count * grid.high - above
        return out.reshape(-1)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[int, int, Bounds, Grid]]:
        half = len(noisy) // 2
        grids = self.grids
        return [
            (noisy[i], noisy[half + i], self.bounds[i % len(grids)], grids[i % len(grids)])
            for i in range(half)
        ]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [
            _mean(max(above, 0), max(below, 0), bounds, grid)
            for above, below, bounds, grid in self._sums(noisy)
        ]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The extremes of S₊/(S₊+S₋) over the box, sums below 0 taken as 0."""
        intervals = []
        for above, below, bounds, grid in self._sums(noisy):
            a, b = (max(above + s * half_width, 0) for s in (-1, 1))
            c, d = (max(below + s * half_width, 0) for s in (-1, 1))
            low = _mean(a, d, bounds, grid) if a + d else bounds.lower
            high = _mean(b, c, bounds, grid) if b + c else bounds.upper
            intervals.append((low, high))
        return intervals

    def expected(self, half_width: int) -> str:
        """To first order for n values: noise w in a sum of n·T moves the mean by width·w/(nT)."""
        widths = zip(self.bounds, self.grids, strict=True)
        per_value = [(b.upper - b.lower) * half_width / (g.high or 1) for b, g in widths]
        return f"≈ {short(max(per_value))}/n"


def _mean(above: int, below: int, bounds: Bounds, grid: Grid) -> float:
    """L + (U-L)·above/(above+below) on the grid; the middle where nothing is known."""
    share = Fraction(above, above + below) if above + below else Fraction(1, 2)
    width = Fraction(bounds.upper) - Fraction(bounds.lower)
    return grid.number(Fraction(bounds.lower) + width * share)


def _sum_and_count(
    operand: Expression,
    grid: Grid,
    chunk: Chunk,
    codes: Codes | None,
    keep: Mask | None,
    cells: int,
) -> tuple[Partial, Partial]:
    """For each cell the sum of grid integers and the number of values that have one."""
    values = as_numbers(operand.vector(chunk))
    integers: npt.NDArray[np.float64] = np.empty_like(values)
    grid.integers(values, out=integers)
    mask = keep if codes is None else None
    if mask is not None:
        integers[~mask] = 0.0
    if np.isnan(integers.sum()):  # NaN only where a value is missing: the grid has none
        missing = np.isnan(integers)
        integers[missing] = 0.0
        mask = ~missing if mask is None else mask & ~missing
    return sum_by(codes, integers, cells), count_by(codes, mask, chunk.rows, cells)
