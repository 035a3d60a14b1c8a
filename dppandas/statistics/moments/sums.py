"""Sums of clipped values on a grid, and what other statistics by column share with them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np

from ...dataclasses import dataclass, found_once, replace
from ...privacy.accuracy.ratios import PAIR
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.facts.steps import StepGrid
from ...rows.values.vectors import Mask, as_numbers
from ..base import Floats, Form, Partial, Statistic, sum_by
from ..error_model import ErrorModel
from ..layout import Codes, Interval
from ..methods import EVERYWHERE, FRAME, Method
from ..samples import Sample, SampleMean, SampleShare

T = TypeVar("T")

#: The grid of truth values, which need no finer steps.
TRUTHS = Grid(0.0, 1.0, 0, 1)
#: The bounds of shares.
SHARES = Bounds(0.0, 1.0)


class ByColumnErrors(ErrorModel):
    of: ByColumn

    measured_in: ClassVar = ("column",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return tuple(grid.step for grid in self.of.grids)


class ByColumn(Statistic, registered=False):
    """Integers for each cell and column, in one part or several, with a grid for each column."""

    operands: tuple[Expression, ...]
    error_model: ClassVar = ByColumnErrors
    parts: ClassVar[int] = 1

    needs: ClassVar = {"operands": kinds.NUMBERS}

    @property
    @abstractmethod
    def grids(self) -> tuple[Grid, ...]:
        """The grid of each column."""

    @found_once
    def size(self) -> int:
        return self.parts * len(self.cells) * len(self.operands)

    @property
    def l1(self) -> int:
        return sum(grid.reach for grid in self.grids)

    @property
    def linf(self) -> int:
        return max(grid.reach for grid in self.grids)


class SumErrors(ByColumnErrors):
    of: Sum

    noise_in_columns: ClassVar[bool] = True

    def error(self, half_width: int) -> float | None:
        return max(self.errors_by_column(half_width))

    def errors_by_column(self, half_width: int) -> list[float]:
        return [half_width * grid.step for grid in self.of.grids]

    def row_adds(self) -> list[float]:
        return [min(grid.reach, self.of.linf) * grid.step for grid in self.of.grids]

    def possible(self, entry: int) -> Interval | None:
        """On one side of 0 if all values are."""
        grid = self.of._grid(entry)
        return sum_possible(grid.low, grid.high)

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("rows",) if self.of.is_count(schema) else self.measured_in


def sum_possible(low: float, high: float) -> Interval | None:
    """What a sum of numbers between two bounds can be; None if it can be anything."""
    return (0, math.inf) if low >= 0 else (-math.inf, 0) if high <= 0 else None


@dataclass(frozen=True)
class Sum(ByColumn):
    """For each cell and column, the sum of values clipped to bounds.

    In steps of a column's grid a row adds rint(clip(x)/step), at most max(|rint(L/step)|,
    |rint(U/step)|) in size: ℓ1 is their sum over the columns, ℓ∞ the largest of them
    (proof: docs/proofs/sums.md).
    """

    operands: tuple[Expression, ...] = ()
    grids: tuple[Grid, ...] = ()

    methods: ClassVar[tuple[Method, ...]] = (
        Method("sum", EVERYWHERE, (sum, np.sum, np.nansum)),
        Method("idxmax", FRAME),
    )
    takes_limits: ClassVar = True
    proof: ClassVar[str] = "sums"
    error_model: ClassVar = SumErrors
    selectable: ClassVar[bool] = True

    @property
    def monotone(self) -> bool:
        return all(grid.low >= 0 for grid in self.grids)

    def ranges(self) -> list[int]:
        """How far apart what a row adds to a sum may be, or nothing, for each column."""
        return [max(grid.high, 0) - min(grid.low, 0) for grid in self.grids]

    def linf_of_change(self, rows: int) -> int:
        return min(super().linf_of_change(rows), max(self.ranges()) * self._in_one(rows))

    def l1_of_change(self, rows: int) -> int:
        one_by_one = len(self.cells) * sum(self.ranges()) * self._in_one(rows)
        return min(super().l1_of_change(rows), one_by_one)

    def _in_one(self, rows: int) -> int:
        """How many rows of a unit a cell counts, at most."""
        return self.cells.most(rows).in_one if self.cells.limited else rows

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        codes, pairs = self.cells.codes(chunk, keep), zip(self.operands, self.grids, strict=True)
        sums = [sum_on_grid(*pair, chunk, keep, codes, len(self.cells))[0] for pair in pairs]
        return np.stack(sums, axis=1).reshape(-1)

    def comparable(self) -> Sum:
        """All sums on the coarsest of their grids."""
        step = max(grid.step for grid in self.grids)
        bounds = (Bounds(grid.low * grid.step, grid.high * grid.step) for grid in self.grids)
        return replace(self, grids=tuple(Grid.centred(bound, step) for bound in bounds))

    def _grid(self, entry: int) -> Grid:
        return self.grids[entry % len(self.grids)]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [value * self._grid(i).step for i, value in enumerate(noisy)]

    def forms(self, integers: int) -> Sequence[Form | None]:
        return [Form({i: Fraction(self._grid(i).step)}) for i in range(integers)]

    def is_count(self, schema: Schema) -> bool:
        """A sum of truth values is a count, unless they are clipped to less than 1."""
        ones = all(grid.reach * grid.step == 1 for grid in self.grids)
        return ones and _are_truths(self.operands, schema)


def _are_truths(operands: Sequence[Expression], schema: Schema) -> bool:
    return all(each.is_truth or each.kind(schema) == kinds.TRUTH for each in operands)


@dataclass(frozen=True)
class Clipped(ByColumn, registered=False):
    """For each cell and column, parts that a clipped value is split into. None is negative, and
    together they are T, whatever the value is: ℓ1 is T a column."""

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()

    #: What its sums say of a population's mean.
    mean_sample: ClassVar[type[SampleMean]] = SampleMean

    @found_once
    def grids(self) -> tuple[Grid, ...]:
        return tuple(bounds.grid for bounds in self.bounds)

    def _sample_of(self, place: int, sums: tuple[int, ...], law: Any, schema: Schema) -> Sample:
        """What the sums of a column in a cell, of which the last are those at the upper bound, say
        of its mean in the population; of truth values it is a share."""
        cell, column = divmod(place, len(self.operands))
        row, bounds = self.grids[column].high or 1, self.bounds[column]
        if bounds == SHARES and _are_truths([self.operands[column]], schema):
            return SampleShare(frozenset([cell]), sums[-1], sums[0], law, PAIR, row)
        return self.mean_sample(frozenset([cell]), sums, row, bounds, law)


def on_grid(
    operand: Expression, grid: Grid | StepGrid, chunk: Chunk, keep: Mask | None
) -> tuple[Floats, Mask | None]:
    """The grid integers of a chunk's values, 0 where one is missing or its row not kept; and where
    one is there, None for everywhere."""
    integers = grid.integers(as_numbers(operand.vector(chunk)))
    if keep is not None:
        integers[~keep] = 0.0
    return _filled(integers, keep) if np.isnan(integers.sum()) else (integers, keep)


def sum_on_grid(
    operand: Expression,
    grid: Grid,
    chunk: Chunk,
    keep: Mask | None,
    codes: Codes | None,
    cells: int,
) -> tuple[Partial, Floats, Mask | None]:
    """The sums of the integers of `on_grid` in each cell, in one pass if no value is missing there;
    the integers; and where one is there, None for everywhere in the cells."""
    integers = grid.integers(as_numbers(operand.vector(chunk)))
    keep = keep if codes is None else None  # rows that aren't kept have the code of no cell
    if keep is not None:
        integers[~keep] = 0.0
    sums = sum_by(codes, integers, cells)
    if np.isnan(sums).any():
        integers, keep = _filled(integers, keep)
        sums = sum_by(codes, integers, cells)
    return sums.astype(np.int64), integers, keep


def _filled(integers: Floats, keep: Mask | None) -> tuple[Floats, Mask]:
    """0 in place of NaN, which means a missing value, for the grid has none."""
    missing = np.isnan(integers)
    integers[missing] = 0.0
    return integers, ~missing if keep is None else keep & ~missing
