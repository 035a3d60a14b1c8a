"""Variances, standard deviations and standard errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass, found_once
from ...privacy.accuracy.three_sums import ThreeSums
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import Chunk
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Partial, count_by, sum_by
from ..layout import Interval, around
from ..methods import EVERYWHERE, Method
from ..samples import Sample
from ..samples_of_spreads import SampleMeanOfThree, SampleSpread
from .means import _half_up
from .sums import ByColumnErrors, Clipped, sum_on_grid


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

    def half_width(self, law: Any, confidence: float) -> int:
        """Of the noises of one variance no more than one counts: it is worst at a bound."""
        found: int = law.half_width(confidence, self.of.size // 3)
        return found

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return self._intervals(noisy, Within(half_width), 1.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self._intervals(noisy, law, 3 * (1 - confidence) / len(noisy))

    def _intervals(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        """What the sums show with this risk for each number."""
        return around(self.of.estimate(noisy), self.spreads(noisy, law, risk))

    def spreads(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        """`_intervals` before they are widened to hold the answer: on the grid, rounded
        outwards."""
        of, sums = self.of, self.of.three_sums(noisy, law)
        low, high = (sums.variances_of_means if of.of_mean else sums.variances)(risk, of.ddof)
        rows = zip(low.tolist(), high.tolist(), itertools.cycle(of._steps), strict=False)
        return [
            (of._shown(least, step, math.floor), of._shown(most, step, math.ceil))
            for least, most, step in rows
        ]

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
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "variances"
    error_model: ClassVar[type[ByColumnErrors]] = VarianceErrors
    mean_sample: ClassVar = SampleMeanOfThree
    parts: ClassVar[int] = 3
    not_asked: ClassVar[tuple[str, ...]] = ("layout", "ddof", "root", "of_mean")

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
            t, steps, there = sum_on_grid(operand, grid, chunk, keep, codes, cells)
            if not grid.high:
                continue
            # As (T-t)²/T is T - 2t + t²/T, B0 is T - 2t + B2, and B1 is 2(t - B2).
            squares = steps.astype(np.int64)
            squares *= squares
            b2 = sum_by(codes, _half_up(squares, grid.high), cells)
            count = count_by(codes, there, chunk.rows, cells)
            out[:, :, column] = count * grid.high - 2 * t + b2, 2 * (t - b2), b2
        return out.reshape(-1)

    def three_sums(self, noisy: Sequence[int], law: Any) -> ThreeSums:
        """The sums of each number, with their noise."""
        third = len(noisy) // 3
        three = noisy[:third], noisy[third : 2 * third], noisy[2 * third :]
        columns = len(self.grids)
        return ThreeSums(three, [self.grids[i % columns].high for i in range(third)], law)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[tuple[int, int, int], Bounds, Grid]]:
        third, pairs = len(noisy) // 3, itertools.cycle(zip(self.bounds, self.grids, strict=True))
        three = zip(noisy[:third], noisy[third : 2 * third], noisy[2 * third :], strict=True)
        return [(sums, bounds, grid) for sums, (bounds, grid) in zip(three, pairs, strict=False)]

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        each = enumerate(self._sums(noisy))
        return [self._spread_of(place, sums, law) for place, (sums, _, _) in each]

    def _spread_of(self, place: int, sums: tuple[int, ...], law: Any) -> Sample | None:
        """What three sums say of the population's spread: nothing of standard errors."""
        if self.of_mean or self.ddof != 1:
            return None
        cell, column = divmod(place, len(self.operands))
        of = frozenset([cell]), sums, self.grids[column].high or 1, self.bounds[column], law
        return SampleSpread(*of, is_root=self.root)

    @found_once
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

    def _shown(
        self, share: float, step: tuple[Fraction, int], whole: Callable[[float], int]
    ) -> float:
        """A share of (U-L)², or its root, on the grid."""
        value = share * float(step[0])
        return math.ldexp(whole(math.sqrt(value) if self.root else value), step[1])

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


def _half_even(numerator: int, denominator: int) -> int:
    """The nearest whole number to a fraction, or of two the even one."""
    steps, left = divmod(numerator, denominator)
    return steps + (2 * left > denominator or (2 * left == denominator and steps % 2 == 1))
