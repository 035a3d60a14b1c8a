"""Means of bounded numbers, with and without weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, found_once
from ...privacy.accuracy.ratios import shares
from ...privacy.accuracy.weighted_tails import CONTINUOUS
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import EVERY, Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import ONE, ZERO, Floats, Form, Partial, Weights, count_by, sum_by
from ..layout import Interval, around
from ..methods import EVERYWHERE, Method
from ..samples import Sample
from .sums import SHARES, TRUTHS, ByColumnErrors, Clipped, _are_truths, on_grid, sum_on_grid


class MeanErrors(ByColumnErrors):
    of: Mean

    noise_in_columns: ClassVar[bool] = True

    def units(self, schema: Schema) -> tuple[str, ...]:
        is_share = all(bounds == SHARES for bounds in self.of.bounds)
        return (
            ("share",) if is_share and _are_truths(self.of.operands, schema) else self.measured_in
        )

    def half_width(self, law: Any, confidence: float) -> int:
        """Of a mean's two noises no more than one counts, at an end of the bounds. Noise that often
        is 0 may be so in that one, and count in the other."""
        is_fine = law.scale >= CONTINUOUS
        found: int = law.half_width(confidence, self.of.size // 2 if is_fine else self.of.size)
        return found

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return self._intervals(noisy, Within(half_width), 1.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self._intervals(noisy, law, 2 * (1 - confidence) / len(noisy))

    def _intervals(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        """The possible shares of S₊ in S₊ + S₋, each with this risk."""
        above, below, bounds = zip(*self.of._sums(noisy), strict=True)
        found = means_between(*shares(above, below, law, risk), bounds)
        return around(self.of.estimate(noisy), found)

    def evenly(self, rows: float) -> list[int]:
        half = [round(Fraction(rows) * grid.high / 2) for grid in self.of.grids]
        return half * (2 * len(self.of.cells))

    def ratios_by_column(self, half_width: int) -> list[float]:
        """Noise w in a sum of n·T, for n values, moves the mean by width·w/(nT)."""
        widths = zip(self.of.bounds, self.of.grids, strict=True)
        return [(b.upper - b.lower) * half_width / (g.high or 1) for b, g in widths]

    def possible(self, entry: int) -> Interval | None:
        bounds = self.of.bounds[entry % len(self.of.bounds)]
        return (bounds.lower, bounds.upper) if bounds.lower < bounds.upper else None


@dataclass(frozen=True)
class Mean(Clipped):
    """For each cell and column, the mean of values clipped to bounds, from two sums.

    With t = rint((clip(x)-L)/step) in 0, …, T, a row adds t to one sum and T-t to the other: ℓ1
    is exactly T a column, however the value changes, and the mean is L + (U-L)·S₊/(S₊+S₋). No
    part of the loss is spent on a count of its own (Kulesza, Suresh and Wang, "Mean estimation in
    the add-remove model of differential privacy", ICML 2024; proof: docs/proofs/means.md).
    If all values are truth values, T = 1 and the sums count True and False.
    """

    methods: ClassVar = (Method("mean", EVERYWHERE, (np.mean, np.nanmean)),)
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "means"
    error_model: ClassVar[type[ByColumnErrors]] = MeanErrors
    parts: ClassVar[int] = 2

    @found_once
    def grids(self) -> tuple[Grid, ...]:
        pairs = zip(self.operands, self.bounds, strict=True)
        if all(operand.is_truth and bounds == SHARES for operand, bounds in pairs):
            return (TRUTHS,) * len(self.bounds)
        return super().grids

    def figures(self) -> tuple[str, ...]:
        return ("mean",) if type(self) is Mean else ()

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells, codes = len(self.cells), self.cells.codes(chunk, keep)
        out = np.empty((2, cells, len(self.operands)), dtype=np.int64)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            above, _, there = sum_on_grid(operand, grid, chunk, keep, codes, cells)
            out[0, :, column] = above
            rows = self.cells.tally(chunk, keep) if there is None else None
            if rows is None:
                rows = count_by(codes, there, chunk.rows, cells)
            out[1, :, column] = rows * grid.high - above
        return out.reshape(-1)

    def _sums(self, noisy: Sequence[int]) -> list[tuple[int, int, Bounds]]:
        half, columns = len(noisy) // 2, len(self.bounds)
        return [(noisy[i], noisy[half + i], self.bounds[i % columns]) for i in range(half)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [_mean(max(up, 0), max(down, 0), bounds) for up, down, bounds in self._sums(noisy)]

    def forms(self, integers: int) -> Sequence[Form | None]:
        sums = self._sums(range(integers))
        return [mean_of({up: ONE}, {down: ONE}, bounds) for up, down, bounds in sums]

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        return [
            self._sample_of(place, (down, up), law, schema)
            for place, (up, down, _) in enumerate(self._sums(noisy))
        ]


class WeightedMeanErrors(MeanErrors):
    of: WeightedMean

    def evenly(self, rows: float) -> list[int]:
        half = round(Fraction(rows) / Fraction(self.of.weight_grid.step) / 2)
        return [half] * self.of.size

    def ratios_by_column(self, half_width: int) -> list[float]:
        """Noise w moves the mean by width·w/V, where V is the sum of weights in place of n."""
        return [(b.upper - b.lower) * half_width * self.of.weight_grid.step for b in self.of.bounds]

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """The noise is that of a weighted sum of values above their lower bound."""
        return tuple((b.upper - b.lower) * self.of.weight_grid.step for b in self.of.bounds)

    def expected(self, half_width: int) -> str:
        return super().expected(half_width).replace("/n", "/weight")


@dataclass(frozen=True)
class WeightedMean(Mean):
    """For each cell and column, the weighted mean of values clipped to bounds.

    A row of weight u steps, 0 ≤ u ≤ W, adds a = rint(u·t/T) to one sum and u - a to the other: ℓ1
    is at most W a column, and the mean is L + (U-L)·S₊/(S₊+S₋) (proof: docs/proofs/weights.md).
    """

    weight: Expression = EVERY
    weight_grid: Grid = TRUTHS
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "weights"
    error_model: ClassVar = WeightedMeanErrors

    needs: ClassVar = {"operands": kinds.NUMBERS, "weight": kinds.NUMBERS}

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        return ()  # its rows have different weights

    @property
    def l1(self) -> int:
        return self.weight_grid.high * sum(grid.high > 0 for grid in self.grids)

    @property
    def linf(self) -> int:
        return self.weight_grid.high if self.l1 else 0

    def expressions(self) -> tuple[Expression, ...]:
        return (*super().expressions(), self.weight)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        cells, codes = len(self.cells), self.cells.codes(chunk, keep)
        out = np.zeros((2, cells, len(self.operands)), dtype=np.int64)
        weights, weighed = on_grid(self.weight, self.weight_grid, chunk, keep)
        for column, (operand, grid) in enumerate(zip(self.operands, self.grids, strict=True)):
            steps, there = on_grid(operand, grid, chunk, weighed)
            if not grid.high:
                continue
            weight = (weights if there is None else np.where(there, weights, 0.0)).astype(np.int64)
            above = _half_up(weight * steps.astype(np.int64), grid.high)
            for side, part in enumerate((above, weight - above)):
                out[side, :, column] = sum_by(codes, part.astype(np.float64), cells)
        return out.reshape(-1)


def _half_up(numerator: npt.NDArray[np.int64], denominator: int) -> npt.NDArray[np.int64]:
    """A quotient rounded half up; in place."""
    numerator += denominator // 2
    numerator //= denominator
    return numerator


def means_between(low: Floats, high: Floats, bounds: Sequence[Bounds]) -> list[Interval]:
    """L + (U-L)·share for both ends of intervals of shares, rounded outwards on a grid."""
    found = []
    for least, most, each in zip(low.tolist(), high.tolist(), bounds, strict=True):
        (down, by), (up, of) = (_value_at(share, each) for share in (least, most))
        ends = each.grid.below(down, by), -each.grid.below(-up, of)
        found.append((max(ends[0], each.lower), min(ends[1], each.upper)))
    return found


def mean_of(above: Weights, below: Weights, bounds: Bounds) -> Form:
    """L + (U-L)·above/(above+below), which is (U·above + L·below)/(above+below)."""
    ends = Fraction(bounds.upper), Fraction(bounds.lower)
    places = {*above, *below}
    both = {i: (above.get(i, ZERO), below.get(i, ZERO)) for i in places}
    return Form(
        {i: ends[0] * up + ends[1] * down for i, (up, down) in both.items()},
        {i: up + down for i, (up, down) in both.items()},
    )


def _value_at(share: float, bounds: Bounds) -> tuple[int, int]:
    part, whole = share.as_integer_ratio()
    return _ratio(part, whole - part, bounds)


def _mean(above: int, below: int, bounds: Bounds) -> float:
    """L + (U-L)·above/(above+below) on a grid; the middle where both sums are 0."""
    if not above + below:
        above = below = 1
    return bounds.grid.number(*_ratio(above, below, bounds))


def _ratio(above: int, below: int, bounds: Bounds) -> tuple[int, int]:
    """L + (U-L)·above/(above+below), exactly."""
    (low, by), (high, of) = bounds.lower.as_integer_ratio(), bounds.upper.as_integer_ratio()
    return low * of * below + high * by * above, by * of * (above + below)
