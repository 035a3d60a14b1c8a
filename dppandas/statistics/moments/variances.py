"""Variances, standard deviations and standard errors, and deviations with the mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ...privacy.accuracy.float_enclosures import FloatEnclosures
from ...rows.expressions import Chunk
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Floats, Partial, count_by, sum_by
from ..layout import Interval, around
from ..methods import EVERYWHERE, Method
from .means import _half_up, _mean, box
from .sums import ByColumnErrors, Clipped, T, on_grid

#: For ranges without an upper end.
INFINITY = np.array([math.inf])


class VarianceErrors(ByColumnErrors):
    of: Variance

    def units(self, schema: Schema) -> tuple[str, ...]:
        return self.measured_in if self.of.root else ("square",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A row adds T in all, and T differs slightly by column."""
        return (max(1 / (grid.high or 1) for grid in self.of.grids),)

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The extremes over the box of sums, in floats that are rounded outwards: where these round
        to other steps than the extremes themselves, an interval is a step wider."""
        third = len(noisy) // 3
        parts = [box(noisy[i * third : (i + 1) * third], half_width) for i in range(3)]
        low, high = (
            [FloatEnclosures.of(part[end]).reshape(-1, len(self.of.operands)) for part in parts]
            for end in (0, 1)
        )
        if self.of.of_mean:
            row = FloatEnclosures.of([grid.high or 1 for grid in self.of.grids])
            least, most = _spreads_of_mean(low, high, row, self.of.ddof)
            lower, upper = self._shown(least).low, self._shown(most).high
        else:
            least, most = _spreads(low, high)
            lower = self._shown(least, high[0] + high[1] + high[2]).low
            upper = self._shown(most, low[0] + low[1] + low[2]).high
        ends = lower.reshape(-1).tolist(), upper.reshape(-1).tolist()
        return around(Variance.estimate(self.of, noisy), list(zip(*ends, strict=True)))

    def _shown(self, share: Floats, whole: FloatEnclosures | None = None) -> FloatEnclosures:
        """Shares of (U-L)² on the grid, or their roots: as variances or deviations of ``whole`` / T
        values, if these are given."""
        found, exact = FloatEnclosures(share, share), FloatEnclosures.of
        if self.of.ddof and whole is not None:
            free = whole / exact([grid.high or 1 for grid in self.of.grids]) - exact([self.of.ddof])
            free = free.clip(exact([1]), FloatEnclosures(INFINITY, INFINITY))
            found = found * (exact([1]) + exact([self.of.ddof]) / free)
        found = found * exact([square for square, _ in self.of._steps])
        if self.of.root:
            found = found.sqrt()
        rounded = np.floor if self.of.root else np.rint
        low, high = (np.maximum(rounded(end), 0.0) + 0.0 for end in (found.low, found.high))
        powers = np.array([k for _, k in self.of._steps], dtype=np.intc)
        return FloatEnclosures(np.ldexp(low, powers), np.ldexp(high, powers))

    def evenly(self, rows: float) -> list[int]:
        """The means of (1-u)², 2u(1-u) and u² are a third, if u is spread evenly over [0, 1]."""
        third = [round(Fraction(rows) * grid.high / 3) for grid in self.of.grids]
        return third * (3 * len(self.of.cells))

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """An upper bound for n values; None for a deviation, where it depends on the deviation."""
        if self.of.root:
            return None
        widths = zip(self.of.bounds, self.of.grids, strict=True)
        return [(b.upper - b.lower) ** 2 * half_width / (g.high or 1) for b, g in widths]


@dataclass(frozen=True)
class Variance(Clipped):
    """For each cell and column, the variance of values clipped to bounds, by three sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds B2 = rint(t²/T), B0 = rint((T-t)²/T) and
    B1 = T - B0 - B2, which are not negative and add up to T: ℓ1 is T a column, as for a mean, and
    the variance is (U-L)²·(B0·B2 - B1²/4)/(B0+B1+B2)² (proof: docs/proofs/variances.md).
    """

    ddof: int = 1
    root: bool = False  # the standard deviation
    of_mean: bool = False  # that of the mean: its standard error

    methods: ClassVar = (
        Method("var", EVERYWHERE, (np.var, np.nanvar)),
        Method("std", EVERYWHERE, (np.std, np.nanstd)),
        Method("sem", EVERYWHERE, words=("standard error of the mean of", "standard error")),
    )
    error_model: ClassVar = VarianceErrors
    parts: ClassVar[int] = 3
    not_asked: ClassVar = ("layout", "ddof", "root", "of_mean")

    @property
    def method(self) -> str:
        """The method that asks for this estimate of its sums."""
        return "sem" if self.of_mean else "std" if self.root else "var"

    def figures(self) -> tuple[str, ...]:
        return (self.method,)

    def says(self, entry: int) -> str:
        return "spread"

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells, codes = len(self.cells), self.cells.codes(chunk, keep)
        out = np.zeros((3, cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            steps, there = on_grid(operand, grid, chunk, keep if codes is None else None)
            if not grid.high:
                continue
            # As (T-t)²/T is T - 2t + t²/T, B0 is T - 2t + B2, and B1 is 2(t - B2).
            squares = _half_up(steps.astype(np.int64) ** 2, grid.high)
            t, b2 = sum_by(codes, steps, cells), sum_by(codes, squares.astype(np.float64), cells)
            count = count_by(codes, there, chunk.rows, cells)
            out[:, :, column] = count * grid.high - 2 * t + b2, 2 * (t - b2), b2
        return out.reshape(-1)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[tuple[int, int, int], Bounds, Grid]]:
        third, pairs = len(noisy) // 3, itertools.cycle(zip(self.bounds, self.grids, strict=True))
        three = zip(noisy[:third], noisy[third : 2 * third], noisy[2 * third :], strict=True)
        return [(sums, bounds, grid) for sums, (bounds, grid) in zip(three, pairs, strict=False)]

    @cached_property
    def _steps(self) -> list[tuple[Fraction, int]]:
        """For each column (U-L)² in steps of 2^k, of which variances are multiples, or in squares
        of such steps for deviations; and k."""
        found = []
        for bounds, grid in zip(self.bounds, self.grids, strict=True):
            width = Fraction(bounds.upper) - Fraction(bounds.lower)
            k = math.frexp(grid.step)[1] - 11  # finer than the grid: squares are small
            if not self.root and width:
                k += math.frexp(float(width))[1]
            found.append((width**2 / Fraction(2) ** (2 * k if self.root else k), k))
        return found

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        answers = []
        pairs = zip(self._sums(noisy), itertools.cycle(self._steps), strict=False)
        for (sums, _, grid), (square, k) in pairs:
            b0, b1, b2 = (max(value, 0) for value in sums)
            whole, row = b0 + b1 + b2, grid.high or 1
            # Where all sums are 0 nothing is known: take the middle of what is possible.
            share, of = (max(4 * b0 * b2 - b1 * b1, 0), 4 * whole * whole) if whole else (1, 8)
            # pandas gives NaN below ddof + 1 values; here their number is private
            count = max(whole, (self.ddof + 1) * row)
            above = share * (row if self.of_mean else count) * square.numerator
            below = of * (count - self.ddof * row) * square.denominator
            steps = math.isqrt(above // below) if self.root else _half_even(above, below)
            answers.append(math.ldexp(steps, k))
        return answers


class MomentsErrors(VarianceErrors):
    of: Moments
    figures: ClassVar = ("count", "mean", "std")

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        counts: list[Interval] = []
        means: list[Interval] = []
        for sums, bounds, grid in self.of._sums(noisy):
            low, high = box(sums, half_width)
            ends = Fraction(sum(low), grid.high), Fraction(sum(high), grid.high)
            counts.append((float(math.ceil(ends[0])), float(math.floor(ends[1]))))
            # Mass lies at 0, ½ and 1. Mass at ½ draws the mean towards ½.
            least = [_mean(2 * low[2] + b, 2 * high[0] + b, bounds) for b in (low[1], high[1])]
            most = [_mean(2 * high[2] + b, 2 * low[0] + b, bounds) for b in (low[1], high[1])]
            known = sum(high) > 0
            means.append((min(least), max(most)) if known else (bounds.lower, bounds.upper))
        found = self.of._by_cell(counts, means, super().intervals(noisy, half_width))
        return around(self.of.estimate(noisy), found)

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        intervals, columns = self.intervals_at(noisy, law, confidence), len(self.of.operands)
        return [high for i, (_, high) in enumerate(intervals) if i // columns % 3 == 0]

    def units(self, schema: Schema) -> tuple[str, ...]:
        return "rows", "column"

    def unit(self, entry: int, schema: Schema) -> str:
        return "rows" if self.of.says(entry) == "number" else "column"

    def possible(self, entry: int) -> Interval | None:
        bounds = self.of.bounds[entry % len(self.of.bounds)]
        return (bounds.lower, bounds.upper) if self.of.says(entry) == "value" else (0, math.inf)


@dataclass(frozen=True)
class Moments(Variance):
    """For each cell and column, the number of values, their mean and their standard deviation.

    All three follow from the sums of a variance, at no further cost (proof:
    docs/proofs/variances.md). Each cell has three rows in the answer.
    """

    error_model: ClassVar = MomentsErrors

    def figures(self) -> tuple[str, ...]:
        return "count", "mean", "std"

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        counts, means = [], []
        for sums, bounds, grid in self._sums(noisy):
            (b0, b1, b2), _ = box(sums, 0)
            counts.append(float(max(round(Fraction(sum(sums), grid.high)), 0)))
            means.append(_mean(2 * b2 + b1, 2 * b0 + b1, bounds))
        return self._by_cell(counts, means, super().estimate(noisy))

    def says(self, entry: int) -> str:
        return ("number", "value", "spread")[entry // len(self.operands) % 3]

    def _by_cell(self, *three: Sequence[T]) -> list[T]:
        """The numbers of the answer in order: cell by cell, one row for each of the three."""
        columns = len(self.operands)
        starts = range(0, len(three[0]), columns)
        return [x for start in starts for each in three for x in each[start : start + columns]]


def _half_even(numerator: int, denominator: int) -> int:
    """The nearest whole number to a fraction, or of two the even one."""
    steps, left = divmod(numerator, denominator)
    return steps + (2 * left > denominator or (2 * left == denominator and steps % 2 == 1))


def _spread(b0: FloatEnclosures, b1: FloatEnclosures, b2: FloatEnclosures) -> FloatEnclosures:
    """The variance as a share of (U-L)², 0 to 1/4."""
    whole = b0 + b1 + b2
    half = b1 / (whole + whole)
    return b0 / whole * (b2 / whole) - half * half


def _spreads(
    low: Sequence[FloatEnclosures], high: Sequence[FloatEnclosures]
) -> tuple[Floats, Floats]:
    """No more than the least and no less than the most of `_spread` over boxes, clipped to what a
    variance can be.

    It falls in b1. In b0 alone it first rises and then falls, with its top at b1 + b2 + b1²/(2·b2),
    and likewise in b2. So it is least at a corner, and most at a corner or at the top of an edge;
    or it is 1/4 inside, where b1 can be 0 and b0 can equal b2.
    """
    b1 = low[1]
    corners = [(a, c) for a in (low[0], high[0]) for c in (low[2], high[2])]
    least, most = np.full_like(b1.low, math.inf), np.zeros_like(b1.low)
    for a, c in corners:
        there = a.high + c.high > 0  # elsewhere it is at most 0, or all is 0
        least = np.minimum(least, np.where(there, _spread(a, high[1], c).low, 0.0))
        most = np.maximum(most, np.where(there, _spread(a, b1, c).high, 0.0))
    for side, other in ((0, 2), (2, 0)):
        for fixed in (low[other], high[other]):
            top = b1 + fixed + b1 * (b1 / (fixed + fixed))
            found = _spread(top.clip(low[side], high[side]), b1, fixed)
            most = np.maximum(most, np.where(fixed.low > 0, found.high, 0.0))
    ends = np.maximum(low[0].low, low[2].low), np.minimum(high[0].high, high[2].high)
    is_any = (b1.low <= 0) & (np.maximum(ends[0], 1.0) <= ends[1])
    is_any |= (b1.low <= 0) & (high[0].high <= 0) & (high[2].high <= 0)  # perhaps nothing is there
    most = np.where(is_any, 0.25, np.clip(most, 0.0, 0.25))
    return np.clip(least, 0.0, most), most


def _spreads_of_mean(
    low: Sequence[FloatEnclosures], high: Sequence[FloatEnclosures], row: FloatEnclosures, ddof: int
) -> tuple[Floats, Floats]:
    """`_spreads` of `_spread` divided by the number of values less ddof, which is no less than 1.

    This falls in b1, too. In b0 alone, or in b2, it first rises and then falls: its top is that of
    `_spread` where there are so few values, else a root of a quadratic equation, or where there are
    ddof + 1 values. Inside, b0 and b2 are equal (proof: docs/proofs/variances.md).
    """
    exact, b1 = FloatEnclosures.of, low[1]
    infinite, freedom, few = FloatEnclosures(INFINITY, INFINITY), exact([ddof]), exact([ddof + 1])

    def value(b0: FloatEnclosures, b1: FloatEnclosures, b2: FloatEnclosures) -> FloatEnclosures:
        free = ((b0 + b1 + b2) / row - freedom).clip(exact([1]), infinite)
        return _spread(b0, b1, b2) / free

    most = np.zeros_like(b1.low)
    for side, other in ((0, 2), (2, 0)):
        for fixed in (low[other], high[other]):
            base = fixed * (b1 + fixed) + b1 * b1 / exact([4])
            linear, gone = exact([3]) * base + fixed * row * freedom, fixed * row * freedom * base
            root = (linear * linear - exact([16]) * gone).sqrt()
            plain = b1 + fixed + (b1 + fixed) + b1 * (b1 / (fixed + fixed))
            for whole in (plain, (linear + root) / (exact([4]) * fixed), few * row):
                top = (whole - b1 - fixed).clip(low[side], high[side])
                most = np.maximum(most, np.where(fixed.low > 0, value(top, b1, fixed).high, 0.0))
    first, last = low[0].clip(low[2], infinite), high[0].clip(exact([0]), high[2])
    root = (exact([4]) * b1 * b1 - exact([2]) * b1 * freedom * row).sqrt()
    for whole in (b1 + b1 + root, few * row):
        half = ((whole - b1) / exact([2])).clip(first, last)
        is_inside = (first.low <= last.high) & (half.low > 0)
        most = np.maximum(most, np.where(is_inside, value(half, b1, half).high, 0.0))
    # perhaps nothing is there
    is_any = (b1.low <= 0) & (high[0].high <= 0) & (high[2].high <= 0)
    most = np.where(is_any, 0.25, np.clip(most, 0.0, 0.25))
    least = np.full_like(b1.low, math.inf)
    for b0 in (low[0], high[0]):
        for b2 in (low[2], high[2]):
            found = value(b0, high[1], b2).low
            least = np.minimum(least, np.where(b0.high + b2.high > 0, found, 0.0))
    return np.clip(least, 0.0, most), most
