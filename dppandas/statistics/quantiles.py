"""Quantiles of bounded numbers, and how their ranks are read in few passes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.quantiles import ExponentialQuantiles
from ..privacy.mechanisms.ranks import Ranks, RanksByCell, Reach, losses
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.steps import StepGrid
from ..rows.values.vectors import Mask, as_numbers
from .base import Partial, RowPass, Statistic, with_kept
from .error_model import ErrorModel, RowLimit, at
from .layout import Codes, Interval, format_error
from .methods import AGG, COLUMN, FRAME, GROUPS, PIVOT, Method
from .quantile_windows import (
    KEPT,
    AllRows,
    Found,
    Integers,
    NearRows,
    Search,
    by_cell,
    sorted_points,
)

HALF = Fraction(1, 2)

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
        return f"± {format_error(self.error_before(law, confidence, None))} ranks"

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        said = f"± {format_error(self.error_before(law, confidence, rows))} ranks"
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
    proof: ClassVar[str] = "quantiles"
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
        if self._alone is None:
            one, other = one.whole, other.whole
        values = np.union1d(one.values, other.values)
        if self._alone is None:
            return int(sum(abs(one.count(v) - other.count(v)) for v in values.tolist()))
        near = {0, *(values - 1).tolist(), *values.tolist(), *(values + 1).tolist()}
        points = sorted(point for point in near if point >= 0)  # between them losses are the same
        both = (losses(each, self._alone, points) for each in (one, other))
        return max((abs(a - b) for a, b in zip(*both, strict=True)), default=0)

    # reading

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        """The ranks of each column and cell; for a mechanism, those that decide its choices."""
        columns = range(len(self.operands))
        reaches = [None if mechanism is None else mechanism.reach(column) for column in columns]
        return [
            self._all(row_pass, column) if reach is None else self._near(row_pass, column, reach)
            for column, reach in enumerate(reaches)
        ]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """How many values each cell and column has."""
        cells = len(self.cells)
        each = (PlacedRows(self, column) for column in range(len(self.operands)))
        whole = [
            np.bincount(rows.kernel(chunk, keep) >> rows.width, minlength=cells) for rows in each
        ]
        return np.stack(whole, axis=1).reshape(-1).astype(np.int64, copy=False)

    def _all(self, row_pass: RowPass, column: int) -> RanksByCell:
        rows = PlacedRows(self, column)
        points = row_pass(rows.over_branches, AllRows)
        return by_cell(points, len(self.cells), rows.width)

    def _near(self, row_pass: RowPass, column: int, reach: Reach) -> RanksByCell:
        """The ranks that decide choices, by a pass that keeps the rows which are probably near
        their targets, and another one where it missed some or there are too many."""
        rows = PlacedRows(self, column)
        search = Search(len(self.cells), self.grids[column].high, reach)
        if search.is_vain:
            return self._all(row_pass, column)
        if search.shift == 0:  # bins are points
            every = search.within(np.ones(search.bins, dtype=np.bool_), KEPT + 1)
            return by_cell(row_pass(rows.over_branches, every), search.cells, search.width)
        found: Found = row_pass(rows.over_branches, partial(NearRows, search))
        if found.counts is None and len(found.rows) <= search.few:
            return by_cell(sorted_points(found.rows), search.cells, search.width)
        counts = search.count(found.rows) if found.counts is None else found.counts
        near = search.near(counts)
        empty = search.within(near, int(counts[near].sum()))
        if (near & ~found.kept).any():
            points = row_pass(rows.over_branches, empty)
        else:
            kept = empty()
            kept.add(found.rows, len(found.rows))
            points = kept.result()
        return search.ranks(points, counts, near, cache(partial(self._all, row_pass, column)))

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
class PlacedRows(Pass):
    """Each row as one integer: its cell, and then its point in `width` bits."""

    @property
    def width(self) -> int:
        return self.statistic.grids[self.column].high.bit_length()

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        codes, points = self.points(chunk, keep)
        if codes is not None:
            points |= codes.astype(np.int64) << self.width
        return points

    combined = staticmethod(np.concatenate)
