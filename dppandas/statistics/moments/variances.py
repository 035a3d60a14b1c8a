"""Variances and standard deviations, and both with the mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...rows.expressions import Chunk
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Partial, count_by, sum_by
from ..layout import LISTED, Interval, spread
from .means import _around, _half_up, _mean, box
from .sums import Clipped, T, on_grid


@dataclass(frozen=True)
class Variance(Clipped):
    """For each cell and column, the variance of values clipped to bounds, by three sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds B2 = rint(t²/T), B0 = rint((T-t)²/T) and
    B1 = T - B0 - B2, which are not negative and add up to T: ℓ1 is T a column, as for a mean, and
    the variance is (U-L)²·(B0·B2 - B1²/4)/(B0+B1+B2)² (proof: docs/proofs/variances.md).
    """

    ddof: int = 1
    root: bool = False  # the standard deviation

    parts: ClassVar[int] = 3
    not_asked: ClassVar = ("layout", "ddof", "root")

    def says(self, entry: int) -> str:
        return "spread"

    def units(self, schema: Schema) -> tuple[str, ...]:
        return self.measured_in if self.root else ("square",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A row adds T in all, and T differs slightly by column."""
        return (max(1 / (grid.high or 1) for grid in self.grids),)

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf

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

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        answers = []
        for sums, bounds, grid in self._sums(noisy):
            b, _ = box(sums, 0)
            total = sum(b)
            # Where all sums are 0 nothing is known: take the middle of what is possible.
            share = _spread(*b) if total else Fraction(1, 8)
            answers.append(self._shown(share, Fraction(total, grid.high or 1), bounds, grid))
        return answers

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        intervals = []
        for sums, bounds, grid in self._sums(noisy):
            ends = box(sums, half_width)
            counts = reversed([Fraction(sum(end), grid.high or 1) for end in ends])
            pairs = zip(_spreads(*ends), counts, strict=True)
            low, high = (self._shown(share, count, bounds, grid) for share, count in pairs)
            intervals.append((low, high))
        return _around(Variance.estimate(self, noisy), intervals)

    def _shown(self, share: Fraction, values: Fraction, bounds: Bounds, grid: Grid) -> float:
        """A share of (U-L)² as the variance or deviation of `values` values, on the grid."""
        width = Fraction(bounds.upper) - Fraction(bounds.lower)
        variance = max(share, Fraction(0)) * width**2
        if self.ddof:  # pandas gives NaN below ddof + 1 values; here their number is private
            count = max(values, Fraction(self.ddof + 1))
            variance *= count / (count - self.ddof)
        step = Fraction(grid.step) / 2**10  # finer than the grid: squares of deviations are small
        if self.root:
            return float(step * math.isqrt(math.floor(variance / step**2)))
        step *= _power_of_two(width)
        return float(round(variance / step) * step)

    def evenly(self, rows: float) -> list[int]:
        """The means of (1-u)², 2u(1-u) and u² are a third, if u is spread evenly over [0, 1]."""
        third = [round(Fraction(rows) * grid.high / 3) for grid in self.grids]
        return third * (3 * len(self.cells))

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """An upper bound for n values; None for a deviation, where it depends on the deviation."""
        if self.root:
            return None
        widths = zip(self.bounds, self.grids, strict=True)
        return [(b.upper - b.lower) ** 2 * half_width / (g.high or 1) for b, g in widths]


@dataclass(frozen=True)
class Moments(Variance):
    """For each cell and column, the number of values, their mean and their standard deviation.

    All three follow from the sums of a variance, at no further cost (proof:
    docs/proofs/variances.md). Each cell has three rows in the answer.
    """

    figures: ClassVar = ("count", "mean", "std")

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        counts, means = [], []
        for sums, bounds, grid in self._sums(noisy):
            (b0, b1, b2), _ = box(sums, 0)
            counts.append(float(max(round(Fraction(sum(sums), grid.high)), 0)))
            means.append(_mean(2 * b2 + b1, 2 * b0 + b1, bounds))
        return self._by_cell(counts, means, super().estimate(noisy))

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        counts: list[Interval] = []
        means: list[Interval] = []
        for sums, bounds, grid in self._sums(noisy):
            low, high = box(sums, half_width)
            ends = Fraction(sum(low), grid.high), Fraction(sum(high), grid.high)
            counts.append((float(math.ceil(ends[0])), float(math.floor(ends[1]))))
            # Mass lies at 0, ½ and 1. Mass at ½ draws the mean towards ½.
            least = [_mean(2 * low[2] + b, 2 * high[0] + b, bounds) for b in (low[1], high[1])]
            most = [_mean(2 * high[2] + b, 2 * low[0] + b, bounds) for b in (low[1], high[1])]
            known = sum(high) > 0
            means.append((min(least), max(most)) if known else (bounds.lower, bounds.upper))
        found = self._by_cell(counts, means, super().intervals(noisy, half_width))
        return _around(self.estimate(noisy), found)

    def says(self, entry: int) -> str:
        return ("number", "value", "spread")[entry // len(self.operands) % 3]

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        intervals, columns = self.intervals_at(noisy, law, confidence), len(self.operands)
        return [high for i, (_, high) in enumerate(intervals) if i // columns % 3 == 0]

    def units(self, schema: Schema) -> tuple[str, ...]:
        return "rows", "column"

    def unit(self, entry: int, schema: Schema) -> str:
        return "rows" if self.says(entry) == "number" else "column"

    def possible(self, entry: int) -> Interval | None:
        bounds = self.bounds[entry % len(self.bounds)]
        return (bounds.lower, bounds.upper) if self.says(entry) == "value" else (0, math.inf)

    def in_words(self, errors: Sequence[float]) -> str:
        """The errors of count, mean and deviation for each column."""
        names = self.asked_columns
        pairs = list(zip(errors, self.typed_errors(errors), strict=True))
        width, said = len(names), []
        for column in range(width):
            three = (spread(pairs[column + row * width :: 3 * width]) for row in range(3))
            words = zip(self.figures, three, strict=True)
            said.append(", ".join(f"{word} {each}" for word, each in words if each))
        if width == 1:
            return said[0]
        more = f"; … ({width} columns)" if width > LISTED else ""
        pairs_of = zip(names[:LISTED], said[:LISTED], strict=True)
        return "; ".join(f"{name}: {each}" for name, each in pairs_of) + more

    def _by_cell(self, *three: Sequence[T]) -> list[T]:
        """The numbers of the answer in order: cell by cell, one row for each of the three."""
        columns = len(self.operands)
        starts = range(0, len(three[0]), columns)
        return [x for start in starts for each in three for x in each[start : start + columns]]


def _power_of_two(width: Fraction) -> Fraction:
    """The least power of two above a width; 1 for no width."""
    return Fraction(2) ** math.frexp(float(width))[1] if width else Fraction(1)


def _spread(b0: int, b1: int, b2: int) -> Fraction:
    """The variance as a share of (U-L)², 0 to 1/4."""
    total = b0 + b1 + b2
    return Fraction(4 * b0 * b2 - b1 * b1, 4 * total * total)


def _spreads(low: Sequence[int], high: Sequence[int]) -> tuple[Fraction, Fraction]:
    """The least and the most of `_spread` over a box, clipped to what a variance can be.

    It falls in b1. In b0 alone it first rises and then falls, with its top at b1 + b2 + b1²/(2·b2),
    and likewise in b2. So it is least at a corner, and most at a corner or at the top of an edge;
    or it is 1/4 inside, where b1 can be 0 and b0 can equal b2.
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
            tops.append((min(max(top, Fraction(low[side])), Fraction(high[side])), Fraction(fixed)))
    if not b1 and max(low[0], low[2], 1) <= min(high[0], high[2]):
        return max(least, Fraction(0)), Fraction(1, 4)
    most = max(
        ((a * c - Fraction(b1 * b1, 4)) / (a + b1 + c) ** 2 for a, c in tops if a + b1 + c),
        default=Fraction(1, 4),
    )
    most = min(max(most, Fraction(0)), Fraction(1, 4))
    return min(max(least, Fraction(0)), most), most
