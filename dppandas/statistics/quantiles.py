"""Quantiles of bounded numbers, and how their ranks are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.quantiles import ExponentialQuantiles
from ..privacy.mechanisms.ranks import Ranks, losses
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Grid
from ..rows.values.vectors import Mask, as_numbers
from .base import Partial, RowPass, Statistic, masked
from .layout import Codes, Interval, format_number
from .quantile_windows import (
    ALL_BINS,
    BINS,
    HALF,
    CountAccumulator,
    Integers,
    PointAccumulator,
    Window,
    _sorted,
)

#: So many values are sorted rather than looked at once more.
FEW = 2**18


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
    step: float | None = None  # of a coarser grid

    reading: ClassVar[int] = 2  # extremes aim at the outermost row
    needs: ClassVar = {"operands": kinds.NUMBERS}
    in_ranks: ClassVar[bool] = True

    no_interval: ClassVar[str] = (
        "a quantile has no interval of values: how far apart values are is private. .error() tells "
        "how many ranks it may be off; for a bracket ask for several quantiles at once, such as "
        "quantile([0.45, 0.5, 0.55])."
    )

    @property
    def grids(self) -> tuple[Grid, ...]:
        if self.step is None:
            return tuple(bounds.grid for bounds in self.bounds)
        return tuple(
            Grid(b.lower, self.step, 0, int((b.upper - b.lower) / self.step)) for b in self.bounds
        )

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

    @property
    def monotone(self) -> bool:
        return False

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.operands)

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        tops = tuple(grid.high for grid in self.grids)
        return ExponentialQuantiles.calibrate(
            asked, sensitivity, self.quantiles, tops, len(self.cells)
        )

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """For one quantile how far losses are apart at most; for several how many rows differ."""
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
        pairs = zip(
            losses(one, self._alone, points), losses(other, self._alone, points), strict=True
        )
        return max((abs(a - b) for a, b in pairs), default=0)

    # reading

    def exact(self, row_pass: RowPass, mechanism: Any) -> list[Sequence[Ranks]]:
        """What the mechanism needs: of a single quantile only ranks whose loss is not capped."""
        caps = [mechanism.window(column) for column in range(len(self.operands))]
        return [
            self._all(row_pass, column) if cap is None else self._near(row_pass, column, cap)
            for column, cap in enumerate(caps)
        ]

    def read(self, row_pass: RowPass) -> list[Sequence[Ranks]]:
        """All ranks, for each column and cell."""
        return [self._all(row_pass, column) for column in range(len(self.operands))]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """How many values each cell and column has."""
        whole = [
            Histogram(self, column, *self._whole(column), 1) for column in range(len(self.operands))
        ]
        return np.stack([each.kernel(chunk, keep) for each in whole], axis=1).reshape(-1)

    def _whole(self, column: int) -> tuple[Integers, Integers]:
        """A window for each cell that holds all of the grid."""
        high = self.grids[column].high
        shift = np.full(len(self.cells), high.bit_length(), dtype=np.int64)
        return np.zeros(len(self.cells), dtype=np.int64), shift

    def _all(self, row_pass: RowPass, column: int) -> Sequence[Ranks]:
        low = np.zeros(len(self.cells), dtype=np.int64)
        high = np.full(len(self.cells), self.grids[column].high, dtype=np.int64)
        return _sorted(
            row_pass(Values(self, column, low, high).over_branches, PointAccumulator),
            len(self.cells),
        )

    def _near(self, row_pass: RowPass, column: int, cap: int) -> Sequence[Ranks]:
        """Histograms over ever fewer and finer bins, those whose losses are not all capped; until
        bins are points, or hold few enough rows to sort."""
        cells, top = len(self.cells), self.grids[column].high
        bins = min(BINS, ALL_BINS // cells)
        if bins < 16 or self._alone is None:
            return self._all(row_pass, column)
        bits = max(0, (top + 1).bit_length() - (bins.bit_length() - 1))
        windows = [Window(0, top, bits) for _ in range(cells)]
        while True:
            low, shift = (
                np.array([getattr(window, name) for window in windows], dtype=np.int64)
                for name in ("low", "shift")
            )
            counted = Histogram(self, column, low, shift, bins)
            counts = row_pass(
                counted.over_branches, lambda: CountAccumulator(cells * bins)
            ).reshape(cells, bins)
            for window, row in zip(windows, counts, strict=True):
                window.narrow(row, self._alone, cap)
            if all(window.shift == 0 for window in windows):
                return [window.ranks(*window.points(), cap) for window in windows]
            finer = max(window.finer(bins) for window in windows)
            if sum(window.inside for window in windows) <= FEW or finer > max(shift) - 3:
                break
            for window in windows:
                window.shift = window.finer(bins)
        ends = [
            np.array(e, dtype=np.int64)
            for e in zip(*((w.low, w.high) for w in windows), strict=True)
        ]
        found = _sorted(
            row_pass(Values(self, column, *ends).over_branches, PointAccumulator), cells
        )
        return [w.ranks(r.values, r.counts, cap) for w, r in zip(windows, found, strict=True)]

    # answers

    def _column(self, entry: int) -> int:
        return entry % len(self.operands)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        table = np.array(noisy, dtype=np.int64).reshape(-1, len(self.operands))
        columns = map(_numbers, table.T, self.grids, self.bounds)
        found: list[float] = np.stack(list(columns), axis=1).reshape(-1).tolist()
        return found

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The bounds: all that is known of values without more of the data."""
        return [
            (b.lower, b.upper) for b in (self.bounds[self._column(i)] for i in range(len(noisy)))
        ]

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """In ranks: so many rows may lie between the answer and an exact quantile."""
        return self.errors_among(law, confidence, None)

    def errors_among(
        self, law: Any, confidence: float, rows: Sequence[float] | float | None
    ) -> list[float]:
        """The same, if there are at most so many rows: in all, or for each cell and column."""
        ranks: list[float] = law.rank_errors(confidence, rows)
        return ranks

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        return float(max(law.rank_errors(confidence, rows)))

    def expected_at(self, law: Any, confidence: float) -> str:
        return f"± {format_number(max(law.rank_errors(confidence)))} ranks"


def _numbers(points: Integers, grid: Grid, bounds: Bounds) -> npt.NDArray[np.float64]:
    """What grid integers stand for: origin + point · step, rounded to a multiple of the step, half
    to even. Multiples of the step as far as the bounds are exact floats."""
    steps = Fraction(grid.origin) / Fraction(grid.step)
    whole, rest = divmod(steps, 1)
    multiples = points + int(whole)
    multiples += (rest > HALF) | ((rest == HALF) & (multiples % 2 == 1))
    return np.clip(multiples * grid.step, bounds.lower, bounds.upper)


@dataclass(frozen=True)
class Pass:
    """What is read of one column in one pass, within a window for each cell."""

    statistic: Quantiles
    column: int

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Integers:
        """Of all rows that the source rows of a chunk become."""
        kept = (None if where is None else where.truth(chunk) for chunk in branches)
        parts = [self.kernel(chunk, keep) for chunk, keep in zip(branches, kept, strict=True)]
        return parts[0] if len(parts) == 1 else self.combined(parts)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        raise NotImplementedError

    def combined(self, parts: Sequence[Integers]) -> Integers:
        raise NotImplementedError

    def points(self, chunk: Chunk, keep: Mask | None) -> tuple[Codes | None, Integers]:
        """The cell and grid integer of each row that has both."""
        statistic = self.statistic
        grid = statistic.grids[self.column]
        values = as_numbers(statistic.operands[self.column].vector(chunk))
        codes = masked(statistic.cells.codes(chunk), keep, len(statistic.cells))
        if codes is None and keep is not None:
            values = values[keep]
        integers: npt.NDArray[np.float64] = np.empty_like(values)
        grid.integers(values, out=integers)
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
        cells = len(self.low)
        if codes is None:
            low, shift = self.low[0], self.shift[0]
        else:
            low, shift = self.low[codes], self.shift[codes]
        if codes is not None or low:
            points -= low
        points >>= shift
        if codes is None:
            if low or self.bins << int(shift) <= self.statistic.grids[self.column].high:
                points = points[(points >= 0) & (points < self.bins)]
            return np.bincount(points, minlength=self.bins).astype(np.int64, copy=False)
        inside = (points >= 0) & (points < self.bins)
        flat = codes[inside] * self.bins + points[inside]
        return np.bincount(flat, minlength=cells * self.bins).astype(np.int64, copy=False)

    def combined(self, parts: Sequence[Integers]) -> Integers:
        total: Integers = np.sum(parts, axis=0, dtype=np.int64)
        return total


@dataclass(frozen=True)
class Values(Pass):
    """The rows between low and high, each as one integer that tells its cell and its point."""

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

    def combined(self, parts: Sequence[Integers]) -> Integers:
        return np.concatenate(parts)
