"""Sums and means of bounded numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from .. import kinds
from ..domain import Bounds, Grid
from ..kinds import Schema
from ..rows import EVERY, Chunk, Expression
from ..vectors import Mask, as_numbers
from .base import (
    LISTED,
    Codes,
    Interval,
    Partial,
    Statistic,
    count_by,
    masked,
    spread,
    sum_by,
)

T = TypeVar("T")

#: Of values that are True or False, which no finer step tells apart.
TRUTHS = Grid(0.0, 1.0, 0, 1)


@dataclass(frozen=True)
class Sum(Statistic):
    """For each cell and column, the sum of values clipped to bounds.

    In steps of a column's grid a row adds rint(clip(x)/step), at most max(|rint(L/step)|,
    |rint(U/step)|) in size: ℓ1 is their sum over the columns, ℓ∞ the largest of them
    (proof: docs/proofs/sums.md).
    """

    operands: tuple[Expression, ...] = ()
    grids: tuple[Grid, ...] = ()

    needs: ClassVar = {"operands": kinds.NUMBERS}
    selectable: ClassVar[bool] = True
    measured_in: ClassVar = ("column",)
    noise_in_columns: ClassVar[bool] = True

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
        return max(self.errors_by_column(half_width))

    def errors_by_column(self, half_width: int) -> list[float]:
        return [half_width * grid.step for grid in self.grids]

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return tuple(grid.step for grid in self.grids)

    def possible(self, entry: int) -> Interval | None:
        """On one side of 0 where all values are."""
        grid = self._grid(entry)
        return (0, math.inf) if grid.low >= 0 else (-math.inf, 0) if grid.high <= 0 else None

    def is_count(self, schema: Schema) -> bool:
        """Of what is True or False, unless clipped to less."""
        ones = all(grid.reach * grid.step == 1 for grid in self.grids)
        return ones and _are_truths(self.operands, schema)

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("rows",) if self.is_count(schema) else self.measured_in


def _are_truths(operands: Sequence[Expression], schema: Schema) -> bool:
    return all(each.is_truth or each.kind(schema) == kinds.TRUTH for each in operands)


@dataclass(frozen=True)
class Clipped(Statistic, registered=False):
    """For each cell and column, parts that a row's clipped value is split into: never negative,
    and T together, whatever the value is. So ℓ1 is T a column."""

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()

    needs: ClassVar = {"operands": kinds.NUMBERS}
    measured_in: ClassVar = ("column",)

    @property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(Grid.anchored(bounds) for bounds in self.bounds)

    @property
    def l1(self) -> int:
        return sum(grid.high for grid in self.grids)

    @property
    def linf(self) -> int:
        return max(grid.high for grid in self.grids)

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.operands)


@dataclass(frozen=True)
class Mean(Clipped):
    """For each cell and column, the mean of values clipped to bounds, by two sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds t to one sum and T-t to the other: ℓ1
    is exactly T a column, however the value changes, and the mean is L + (U-L)·S₊/(S₊+S₋). No
    part of the loss is spent on a count of its own (Kulesza, Suresh and Wang, "Mean estimation in
    the add-remove model of differential privacy", ICML 2024; proof: docs/proofs/means.md).
    Of nothing but truth values the sums are the counts of True and False, T = 1.
    """

    noise_in_columns: ClassVar[bool] = True

    def units(self, schema: Schema) -> tuple[str, ...]:
        is_share = all(bounds == Bounds(0, 1) for bounds in self.bounds)
        return ("share",) if is_share and _are_truths(self.operands, schema) else self.measured_in

    @property
    def grids(self) -> tuple[Grid, ...]:
        pairs = zip(self.operands, self.bounds, strict=True)
        if all(operand.is_truth and bounds == Bounds(0, 1) for operand, bounds in pairs):
            return (TRUTHS,) * len(self.bounds)
        return super().grids

    @property
    def size(self) -> int:
        return 2 * len(self.cells) * len(self.operands)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells = len(self.cells)
        codes = masked(self.cells.codes(chunk), keep, cells)
        out = np.empty((2, cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            above, count = _sum_and_count(operand, grid, chunk, codes, keep, cells)
            out[0, :, column] = above
            out[1, :, column] = count * grid.high - above
        return out.reshape(-1)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[int, int, Bounds]]:
        half, columns = len(noisy) // 2, len(self.bounds)
        return [(noisy[i], noisy[half + i], self.bounds[i % columns]) for i in range(half)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [
            _mean(max(above, 0), max(below, 0), bounds)
            for above, below, bounds in self._sums(noisy)
        ]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The extremes of S₊/(S₊+S₋) over the box, sums below 0 taken as 0."""
        intervals = []
        for above, below, bounds in self._sums(noisy):
            a, b = (max(above + s * half_width, 0) for s in (-1, 1))
            c, d = (max(below + s * half_width, 0) for s in (-1, 1))
            low = _mean(a, d, bounds) if a + d else bounds.lower
            high = _mean(b, c, bounds) if b + c else bounds.upper
            intervals.append((low, high))
        return intervals

    def per_row(self, half_width: int) -> float | None:
        return max(self.ratios_by_column(half_width))

    def ratios_by_column(self, half_width: int) -> list[float]:
        """For n values: noise w in a sum of n·T moves the mean by width·w/(nT)."""
        widths = zip(self.bounds, self.grids, strict=True)
        return [(b.upper - b.lower) * half_width / (g.high or 1) for b, g in widths]

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """Of the sum of what values have above the lower bound."""
        return tuple(grid.step for grid in self.grids)

    def possible(self, entry: int) -> Interval | None:
        bounds = self.bounds[entry % len(self.bounds)]
        return (bounds.lower, bounds.upper) if bounds.lower < bounds.upper else None


@dataclass(frozen=True)
class WeightedMean(Mean):
    """For each cell and column, the mean of values clipped to bounds, each counted by its weight.

    A row of weight u steps, 0 ≤ u ≤ W, adds a = rint(u·t/T) to one sum and u - a to the other: ℓ1
    is at most W a column, and the mean is L + (U-L)·S₊/(S₊+S₋) (proof: docs/proofs/weights.md).
    """

    weight: Expression = EVERY
    weight_grid: Grid = TRUTHS

    needs: ClassVar = {"operands": kinds.NUMBERS, "weight": kinds.NUMBERS}

    @property
    def l1(self) -> int:
        return self.weight_grid.high * sum(grid.high > 0 for grid in self.grids)

    @property
    def linf(self) -> int:
        return self.weight_grid.high if self.l1 else 0

    def expressions(self) -> tuple[Expression, ...]:
        return (*super().expressions(), self.weight)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells = len(self.cells)
        codes = masked(self.cells.codes(chunk), keep, cells)
        out = np.zeros((2, cells, len(self.operands)), dtype=np.int64)
        weights, weighed = on_grid(self.weight, self.weight_grid, chunk, keep)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            steps, there = on_grid(operand, grid, chunk, weighed)
            if not grid.high:
                continue
            weight = np.where(there, weights, 0.0).astype(np.int64)
            above = _half_up(weight * steps.astype(np.int64), grid.high)
            for side, part in enumerate((above, weight - above)):
                out[side, :, column] = sum_by(codes, part.astype(np.float64), cells)
        return out.reshape(-1)

    def ratios_by_column(self, half_width: int) -> list[float]:
        """For weights of V in all, in the place of n: noise w moves the mean by width·w/V."""
        return [(b.upper - b.lower) * half_width * self.weight_grid.step for b in self.bounds]

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """Of the sum of what values have above the lower bound, times their weights."""
        return tuple((b.upper - b.lower) * self.weight_grid.step for b in self.bounds)

    def expected(self, half_width: int) -> str:
        return super().expected(half_width).replace("/n", "/weight")


@dataclass(frozen=True)
class Variance(Clipped):
    """For each cell and column, the variance of values clipped to bounds, by three sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds B2 = rint(t²/T), B0 = rint((T-t)²/T) and
    B1 = T - B0 - B2, which are not negative and add up to T: ℓ1 is T a column, as for a mean, and
    the variance is (U-L)²·(B0·B2 - B1²/4)/(B0+B1+B2)² (proof: docs/proofs/variances.md).
    """

    ddof: int = 1
    root: bool = False  # the standard deviation

    not_asked: ClassVar = ("layout", "ddof", "root")

    @property
    def size(self) -> int:
        return 3 * len(self.cells) * len(self.operands)

    def says(self, entry: int) -> str:
        return "spread"

    def units(self, schema: Schema) -> tuple[str, ...]:
        return self.measured_in if self.root else ("square",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A row is shared out in T parts, which differ a little by column."""
        return (max(1 / (grid.high or 1) for grid in self.grids),)

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells = len(self.cells)
        codes = masked(self.cells.codes(chunk), keep, cells)
        out = np.zeros((3, cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            steps, there = on_grid(operand, grid, chunk, keep if codes is None else None)
            if not grid.high:
                continue
            t, whole = steps.astype(np.int64), grid.high
            parts = [_half_up((whole - t) ** 2, whole), t, _half_up(t**2, whole)]
            parts[1] = whole - parts[0] - parts[2]
            for i, part in enumerate(parts):
                part[~there] = 0
                out[i, :, column] = sum_by(codes, part.astype(np.float64), cells)
        return out.reshape(-1)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[tuple[int, int, int], Bounds, Grid]]:
        third, columns = len(noisy) // 3, len(self.operands)
        return [
            (
                (noisy[i], noisy[third + i], noisy[2 * third + i]),
                self.bounds[i % columns],
                self.grids[i % columns],
            )
            for i in range(third)
        ]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        answers = []
        for sums, bounds, grid in self._sums(noisy):
            b0, b1, b2 = (max(value, 0) for value in sums)
            total = b0 + b1 + b2
            # Nothing is known where there is nothing: the middle of what is possible.
            share = _spread(b0, b1, b2) if total else Fraction(1, 8)
            answers.append(self._shown(share, Fraction(total, grid.high or 1), bounds, grid))
        return answers

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        intervals = []
        for sums, bounds, grid in self._sums(noisy):
            low = [max(value - half_width, 0) for value in sums]
            high = [max(value + half_width, 0) for value in sums]
            least, most = _spreads(low, high)
            fewest, all_ = (Fraction(sum(ends), grid.high or 1) for ends in (low, high))
            intervals.append(
                (
                    self._shown(least, all_, bounds, grid),
                    self._shown(most, fewest, bounds, grid),
                )
            )
        return _around(Variance.estimate(self, noisy), intervals)

    def _shown(self, share: Fraction, values: Fraction, bounds: Bounds, grid: Grid) -> float:
        """A share of (U-L)² as a variance or deviation of so many values, on the grid."""
        width = Fraction(bounds.upper) - Fraction(bounds.lower)
        variance = max(share, Fraction(0)) * width**2
        if self.ddof:  # of fewer than ddof + 1 values pandas gives NaN; here how many is private
            count = max(values, Fraction(self.ddof + 1))
            variance *= count / (count - self.ddof)
        step = Fraction(grid.step) / 2**10  # finer than values, for a small part of their square
        if self.root:
            return float(step * math.isqrt(math.floor(variance / step**2)))
        step *= _power_of_two(width)
        return float(round(variance / step) * step)

    def per_row(self, half_width: int) -> float | None:
        known = self.ratios_by_column(half_width)
        return None if known is None else max(known)

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """For n values, at most; a deviation's depends on the deviation."""
        if self.root:
            return None
        widths = zip(self.bounds, self.grids, strict=True)
        return [(b.upper - b.lower) ** 2 * half_width / (g.high or 1) for b, g in widths]


@dataclass(frozen=True)
class Moments(Variance):
    """For each cell and column, the number of values, their mean and their standard deviation.

    All three are told by the sums of a variance, and cost no more than it alone (proof:
    docs/proofs/variances.md). Cell by cell there is a row for each of the three.
    """

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        counts, means = [], []
        for sums, bounds, grid in self._sums(noisy):
            b0, b1, b2 = (max(value, 0) for value in sums)
            counts.append(float(max(round(Fraction(sum(sums), grid.high)), 0)))
            means.append(_mean(2 * b2 + b1, 2 * b0 + b1, bounds))
        return self._by_cell(counts, means, super().estimate(noisy))

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        counts: list[Interval] = []
        means: list[Interval] = []
        for sums, bounds, grid in self._sums(noisy):
            low = [max(value - half_width, 0) for value in sums]
            high = [max(value + half_width, 0) for value in sums]
            ends = Fraction(sum(low), grid.high), Fraction(sum(high), grid.high)
            counts.append((float(math.ceil(ends[0])), float(math.floor(ends[1]))))
            # u lies at 0, ½ and 1: what lies at ½ draws the mean towards it
            least = [_mean(2 * low[2] + b, 2 * high[0] + b, bounds) for b in (low[1], high[1])]
            most = [_mean(2 * high[2] + b, 2 * low[0] + b, bounds) for b in (low[1], high[1])]
            known = sum(high) > 0
            means.append((min(least), max(most)) if known else (bounds.lower, bounds.upper))
        found = self._by_cell(counts, means, super().intervals(noisy, half_width))
        return _around(self.estimate(noisy), found)

    def says(self, entry: int) -> str:
        return ("number", "value", "spread")[entry // len(self.operands) % 3]

    def rows_at_most(
        self, noisy: Sequence[int], law: Any, confidence: float
    ) -> Sequence[float] | None:
        intervals, columns = self.intervals_at(noisy, law, confidence), len(self.operands)
        return [high for i, (_, high) in enumerate(intervals) if i // columns % 3 == 0]

    def units(self, schema: Schema) -> tuple[str, ...]:
        return "rows", "column"

    def possible(self, entry: int) -> Interval | None:
        bounds = self.bounds[entry % len(self.bounds)]
        return (bounds.lower, bounds.upper) if self.says(entry) == "value" else (0, math.inf)

    def in_words(self, errors: Sequence[float]) -> str:
        """Of each of the three, in each column."""
        names = self.asked_columns
        pairs = list(zip(errors, self.told_errors(errors), strict=True))
        width, said = len(names), []
        for column in range(width):
            three = (spread(pairs[column + row * width :: 3 * width]) for row in range(3))
            words = zip(("count", "mean", "std"), three, strict=True)
            said.append(", ".join(f"{word} {each}" for word, each in words if each))
        if width == 1:
            return said[0]
        more = f"; … ({width} columns)" if width > LISTED else ""
        pairs_of = zip(names[:LISTED], said[:LISTED], strict=True)
        return "; ".join(f"{name}: {each}" for name, each in pairs_of) + more

    def _by_cell(self, *three: Sequence[T]) -> list[T]:
        """The rows of the answer, of which a cell has three."""
        columns = len(self.operands)
        starts = range(0, len(three[0]), columns)
        return [x for start in starts for each in three for x in each[start : start + columns]]

    def per_row(self, half_width: int) -> float | None:
        return None


def _around(answers: Sequence[float], intervals: Sequence[Interval]) -> list[Interval]:
    """Intervals that hold their answers: of sums far below 0 an answer is cut off elsewhere."""
    pairs = zip(answers, intervals, strict=True)
    return [(min(low, answer), max(high, answer)) for answer, (low, high) in pairs]


def _half_up(numerator: npt.NDArray[np.int64], denominator: int) -> npt.NDArray[np.int64]:
    return (2 * numerator + denominator) // (2 * denominator)


def _power_of_two(width: Fraction) -> Fraction:
    """The least power of two that is no smaller."""
    return Fraction(2) ** math.frexp(float(width))[1] if width else Fraction(1)


def _spread(b0: int, b1: int, b2: int) -> Fraction:
    """The variance as a share of (U-L)², 0 to 1/4."""
    total = b0 + b1 + b2
    return Fraction(4 * b0 * b2 - b1 * b1, 4 * total * total)


def _spreads(low: Sequence[int], high: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The least and the most of `_spread` over a box, and within what a variance can be.

    It falls in b1. In b0 alone it first rises and then falls, with its top at b1 + b2 + b1²/(2·b2),
    and likewise in b2: so it is least at a corner, and most at a corner or at the top of an edge;
    or all over the inside where b1 is 0 and b0 can be b2.
    """
    if not sum(high):
        return Fraction(0), Fraction(1, 4)
    corners = [(a, high[1], c) for a in (low[0], high[0]) for c in (low[2], high[2])]
    least = min((_spread(*corner) for corner in corners if sum(corner)), default=Fraction(0))
    b1 = low[1]
    tops = [(Fraction(a), Fraction(c)) for a in (low[0], high[0]) for c in (low[2], high[2])]
    for side, other in ((0, 2), (2, 0)):
        for fixed in (low[other], high[other]):
            top = b1 + fixed + (Fraction(b1 * b1, 2 * fixed) if fixed else Fraction(0))
            at = min(max(top, Fraction(low[side])), Fraction(high[side]))
            edge = (at, Fraction(fixed))
            tops.append(edge if side == 0 else (edge[1], edge[0]))
    if not b1 and max(low[0], low[2], 1) <= min(high[0], high[2]):
        return max(least, Fraction(0)), Fraction(1, 4)
    most = max(
        ((a * c - Fraction(b1 * b1, 4)) / (a + b1 + c) ** 2 for a, c in tops if a + b1 + c),
        default=Fraction(1, 4),
    )
    most = min(max(most, Fraction(0)), Fraction(1, 4))
    return min(max(least, Fraction(0)), most), most


def _mean(above: int, below: int, bounds: Bounds) -> float:
    """L + (U-L)·above/(above+below) on a grid; the middle where nothing is known."""
    share = Fraction(above, above + below) if above + below else Fraction(1, 2)
    width = Fraction(bounds.upper) - Fraction(bounds.lower)
    return Grid.anchored(bounds).number(Fraction(bounds.lower) + width * share)


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


def on_grid(
    operand: Expression, grid: Grid, chunk: Chunk, keep: Mask | None
) -> tuple[npt.NDArray[np.float64], Mask]:
    """Grid integers of a chunk's values, 0 where there is none, and where there is one."""
    values = as_numbers(operand.vector(chunk))
    integers: npt.NDArray[np.float64] = np.empty_like(values)
    grid.integers(values, out=integers)
    there = ~np.isnan(integers)
    if keep is not None:
        there &= keep
    integers[~there] = 0.0
    return integers, there
