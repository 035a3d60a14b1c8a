"""Quantiles of bounded numbers, and how their ranks are read in few passes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.quantiles import ExponentialQuantiles
from ..privacy.mechanisms.ranks import Ranks, RanksByCell, losses
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.steps import StepGrid
from ..rows.values.vectors import Mask, as_numbers
from .base import Partial, RowPass, Statistic, with_kept
from .error_model import ErrorModel, RowLimit, at
from .layout import Codes, Interval, format_number
from .methods import AGG, COLUMN, FRAME, GROUPS, PIVOT, Method
from .quantile_windows import CountAccumulator, Integers, PointAccumulator, Window, sort_by_cell

HALF = Fraction(1, 2)
#: Bins of a histogram over a grid: enough to narrow it down, few enough for the cache.
BINS = 2**15
#: The bins of all histograms of a pass together.
ALL_BINS = 2**20
#: Up to this many values, sorting beats another counting pass.
FEW = 2**18

#: Where quantiles are offered: they aren't sums over the rows of each label.
DECLARED = COLUMN | FRAME | GROUPS | PIVOT


class QuantilesErrors(ErrorModel):
    of: Quantiles

    in_ranks: ClassVar[bool] = True
    takes_rows: ClassVar[bool] = True
    no_interval: ClassVar[str] = (
        "a quantile has no interval of values: how far apart values are is private. .error() tells "
        "how many ranks it may be off. Ask with interval=True for one, which spends a part of the "
        "loss on it."
    )

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The bounds: nothing narrower is public."""
        ends = [(bounds.lower, bounds.upper) for bounds in self.of.bounds]
        return ends * (len(noisy) // len(ends))

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """Errors in ranks: how many rows may lie between the answer and an exact quantile."""
        return self.errors_among(law, confidence, None)

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        ranks: list[float] = law.rank_errors(confidence, rows)
        return ranks

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        return float(max(self.errors_among(law, confidence, rows)))

    def expected_at(self, law: Any, confidence: float) -> str:
        return f"± {format_number(self.error_before(law, confidence, None))} ranks"

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        said = f"± {format_number(self.error_before(law, confidence, rows))} ranks"
        return said if said == self.expected_at(law, confidence) else f"{said} {at(rows)}"


@dataclass(frozen=True)
class Quantiles(Statistic):
    """For each cell and column, grid points near quantiles of values clipped to bounds.

    A row moves the loss of a point by at most max(a, b-a) for the quantile a/b, and only in its
    own cell: ℓ1 is their sum over the columns. Several quantiles are chosen one after the other,
    and ℓ1 counts the rows that differ (proof: docs/proofs/quantiles.md).
    """

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    quantiles: tuple[Fraction, ...] = ()
    #: The steps of coarser grids, in the units of bounds; None for a column without one. In pickles
    #: of older versions a power of two for all columns.
    step: tuple[Fraction | None, ...] | float | None = None

    methods: ClassVar[tuple[Method, ...]] = (
        Method("median", DECLARED | AGG, (np.median, np.nanmedian)),
        Method("min", DECLARED | AGG, (min, np.min, np.nanmin)),
        Method("max", DECLARED | AGG, (max, np.max, np.nanmax)),
        Method("quantile", DECLARED),
    )
    error_model: ClassVar = QuantilesErrors
    reading: ClassVar[int] = 2  # extremes aim at the outermost row
    needs: ClassVar = {"operands": kinds.NUMBERS}

    @property
    def grids(self) -> tuple[Grid | StepGrid, ...]:
        steps = self.step if isinstance(self.step, tuple) else (self.step,) * len(self.bounds)
        pairs = zip(self.bounds, steps, strict=True)
        return tuple(b.grid if s is None else StepGrid.within(b, Fraction(s)) for b, s in pairs)

    @property
    def size(self) -> int:
        return len(self.cells) * len(self.quantiles) * len(self.operands)

    @property
    def places(self) -> int:
        return len(self.cells) * len(self.operands)

    @property
    def _alone(self) -> Fraction | None:
        """The quantile, if there is only one."""
        return self.quantiles[0] if len(set(self.quantiles)) == 1 else None

    @property
    def linf(self) -> int:
        alone = self._alone
        return 1 if alone is None else max(alone.numerator, alone.denominator - alone.numerator)

    @property
    def l1(self) -> int:
        return self.linf * len(self.operands)

    monotone = False

    def figures(self) -> tuple[str, ...]:
        ends = {Fraction(0): "min", Fraction(1): "max"}
        return tuple(f"quantile {ends.get(share, str(share))}" for share in self.quantiles)

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        tops, cells = tuple(grid.high for grid in self.grids), len(self.cells)
        return ExponentialQuantiles.calibrate(asked, sensitivity, self.quantiles, tops, cells)

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """For one quantile the largest difference of losses; for several how many rows differ."""
        moves = [
            self._moved(a, b)
            for mine, others in zip(one, other, strict=True)
            for a, b in zip(mine, others, strict=True)
        ]
        return max(moves, default=0) if selecting else sum(moves)

    def _moved(self, one: Ranks, other: Ranks) -> int:
        values = np.union1d(one.values, other.values)
        if self._alone is None:
            return int(sum(abs(one.count(v) - other.count(v)) for v in values.tolist()))
        near = {0, *(values - 1).tolist(), *values.tolist(), *(values + 1).tolist()}
        points = sorted(point for point in near if point >= 0)  # between them losses are the same
        both = (losses(each, self._alone, points) for each in (one, other))
        return max((abs(a - b) for a, b in zip(*both, strict=True)), default=0)

    # reading

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        """The ranks of each column and cell; of a single quantile those alone whose loss its
        mechanism doesn't cap."""
        columns = range(len(self.operands))
        caps = [None if mechanism is None else mechanism.window(column) for column in columns]
        return [
            self._all(row_pass, column) if cap is None else self._near(row_pass, column, cap)
            for column, cap in enumerate(caps)
        ]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """How many values each cell and column has."""
        low = np.zeros(len(self.cells), dtype=np.int64)
        shifts = (low + grid.high.bit_length() for grid in self.grids)
        whole = [Histogram(self, column, low, shift, 1) for column, shift in enumerate(shifts)]
        return np.stack([each.kernel(chunk, keep) for each in whole], axis=1).reshape(-1)

    def _all(self, row_pass: RowPass, column: int) -> RanksByCell:
        low = np.zeros(len(self.cells), dtype=np.int64)
        return self._between(row_pass, column, low, low + self.grids[column].high)

    def _between(self, row_pass: RowPass, column: int, low: Integers, top: Integers) -> RanksByCell:
        """The ranks of the rows between low and top in each cell."""
        values = Values(self, column, low, top)
        return sort_by_cell(row_pass(values.over_branches, PointAccumulator), len(self.cells))

    def _near(self, row_pass: RowPass, column: int, cap: int) -> Sequence[Ranks]:
        """The ranks whose losses aren't all capped, from histograms over ever narrower windows with
        finer bins, until bins are points or hold few enough rows to sort."""
        cells, top = len(self.cells), self.grids[column].high
        bins = min(BINS, ALL_BINS // cells)
        if bins < 16 or self._alone is None:
            return self._all(row_pass, column)
        bits = max(0, (top + 1).bit_length() - (bins.bit_length() - 1))
        windows = [Window(0, top, bits) for _ in range(cells)]
        while True:
            low, shift = np.array([(w.low, w.shift) for w in windows], dtype=np.int64).T
            counted = Histogram(self, column, low, shift, bins)
            counts = row_pass(counted.over_branches, partial(CountAccumulator, cells * bins))
            for window, row in zip(windows, counts.reshape(cells, bins), strict=True):
                window.narrow(row, self._alone, cap)
            if all(window.shift == 0 for window in windows):
                return [window.ranks(*window.points(), cap) for window in windows]
            finer = max(window.finer(bins) for window in windows)
            if sum(window.inside for window in windows) <= FEW or finer > max(shift) - 3:
                break
            for window in windows:
                window.shift = window.finer(bins)
        low, high = np.array([(w.low, w.high) for w in windows], dtype=np.int64).T
        found = self._between(row_pass, column, low, high)
        return [w.ranks(r.values, r.counts, cap) for w, r in zip(windows, found, strict=True)]

    # answers

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        table = np.array(noisy, dtype=np.int64).reshape(-1, len(self.operands))
        columns = map(numbers, table.T, self.grids, self.bounds)
        found: list[float] = np.stack(list(columns), axis=1).reshape(-1).tolist()
        return found


def numbers(points: Integers, grid: Grid | StepGrid, bounds: Bounds) -> npt.NDArray[np.float64]:
    """The values of grid integers: origin + point · step, rounded half to even to a multiple of the
    step, and clipped to the bounds."""
    if isinstance(grid, StepGrid):
        return grid.numbers(points)
    steps = Fraction(grid.origin) / Fraction(grid.step)
    whole, rest = divmod(steps, 1)
    multiples = points + int(whole)
    multiples += (rest > HALF) | ((rest == HALF) & (multiples % 2 == 1))
    return np.clip(multiples * grid.step, bounds.lower, bounds.upper)


@dataclass(frozen=True)
class Pass:
    """One pass over one column, within a window for each cell."""

    statistic: Quantiles
    column: int

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Integers:
        """What a chunk adds, through all rows that its rows become."""
        parts = [self.kernel(*each) for each in with_kept(branches, where)]
        return parts[0] if len(parts) == 1 else self.combined(parts)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        raise NotImplementedError

    combined: ClassVar[Any]  # puts together what several branches add

    def points(self, chunk: Chunk, keep: Mask | None) -> tuple[Codes | None, Integers]:
        """The cell and grid integer of each row that has both."""
        statistic = self.statistic
        grid = statistic.grids[self.column]
        values = as_numbers(statistic.operands[self.column].vector(chunk))
        codes = statistic.cells.codes(chunk, keep)
        if codes is None and keep is not None:
            values = values[keep]
        integers = grid.integers(values)
        if np.isnan(integers.sum()):  # NaN only where a value is missing: the grid has none
            there = ~np.isnan(integers)
            integers = integers[there]
            codes = None if codes is None else codes[there]
        if codes is not None:
            inside = codes < len(statistic.cells)
            codes, integers = codes[inside], integers[inside]
        return codes, integers.astype(np.int64)


@dataclass(frozen=True)
class Histogram(Pass):
    """How many rows lie in each bin of 2^shift points, from low on."""

    low: Integers
    shift: Integers
    bins: int

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        codes, points = self.points(chunk, keep)
        if codes is None:
            low, shift = self.low[0], self.shift[0]
            if low:
                points -= low
            points >>= shift
            if low or self.bins << int(shift) <= self.statistic.grids[self.column].high:
                points = points[(points >= 0) & (points < self.bins)]
            return np.bincount(points, minlength=self.bins).astype(np.int64, copy=False)
        points -= self.low[codes]
        points >>= self.shift[codes]
        inside = (points >= 0) & (points < self.bins)
        codes, points = codes[inside], points[inside]
        points += codes * self.bins
        size = len(self.low) * self.bins
        return np.bincount(points, minlength=size).astype(np.int64, copy=False)

    combined = staticmethod(partial(np.sum, axis=0, dtype=np.int64))


@dataclass(frozen=True)
class Values(Pass):
    """The rows between low and high, each as one integer of its cell and its point."""

    low: Integers
    high: Integers

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        codes, points = self.points(chunk, keep)
        if codes is None:
            low, high = self.low[0], self.high[0]
            if low == 0 and high == self.statistic.grids[self.column].high:
                return points
            near = (points >= low) & (points <= high)
        else:
            near = (points >= self.low[codes]) & (points <= self.high[codes])
            points |= codes.astype(np.int64) << 31
        kept: Integers = points[near]
        return kept

    combined = staticmethod(np.concatenate)
