"""Quantiles of bounded numbers, in which each row counts by a weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..dataclasses import dataclass, replace
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.quantiles import ExponentialQuantiles
from ..privacy.mechanisms.ranks import Ranks, RanksByCell
from ..rows.expressions import EVERY, Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.bounds import Grid
from ..rows.values.vectors import Mask
from .base import Partial, RowPass
from .error_model import RowLimit
from .moments.sums import TRUTHS, on_grid
from .quantile_windows import Integers
from .quantiles import Pass, Quantiles, QuantilesErrors


class WeightedQuantilesErrors(QuantilesErrors):
    of: WeightedQuantiles

    weighs_rows: ClassVar[bool] = True

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (self.of.weight_grid.step,)

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        """Errors in weights: how much the rows may weigh that lie between the answer and an exact
        quantile."""
        step = self.of.weight_grid.step
        return [steps * step for steps in super().errors_among(law, confidence, rows)]


@dataclass(frozen=True)
class WeightedQuantiles(Quantiles):
    """For each cell and column, grid points near weighted quantiles of values clipped to bounds.

    The loss of a point is that of `Quantiles` for as many rows as the weight has steps: a row of
    weight u ≤ W moves it by at most u times as much (proof: docs/proofs/weighted_quantiles.md).
    """

    weight: Expression = EVERY
    weight_grid: Grid = TRUTHS

    proof: ClassVar[str] = "weighted_quantiles"
    error_model: ClassVar = WeightedQuantilesErrors
    reading: ClassVar[int] = 1
    needs: ClassVar = {"operands": kinds.NUMBERS, "weight": kinds.NUMBERS}

    @property
    def heaviest(self) -> int:
        """The steps of the largest weight; where all weights are 0, a row counts as if it had 1."""
        return max(1, self.weight_grid.high)

    @property
    def linf(self) -> int:
        return super().linf * self.heaviest

    def expressions(self) -> tuple[Expression, ...]:
        return (*super().expressions(), self.weight)

    def figures(self) -> tuple[str, ...]:
        return ()

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        tops, cells = tuple(grid.high for grid in self.grids), len(self.cells)
        said = asked, sensitivity, self.quantiles, tops, cells
        return replace(ExponentialQuantiles.calibrate(*said), heaviest=self.heaviest)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """How much the values of each cell and column weigh."""
        out = np.zeros((len(self.cells), len(self.operands)), dtype=np.int64)
        for column in range(len(self.operands)):
            points, weights = WeighedValues(self, column).kernel(chunk, keep)
            np.add.at(out[:, column], points >> 31, weights)
        return out.reshape(-1)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        """The values of each column and cell, each with all that its rows weigh."""
        empty = partial(WeightAccumulator, len(self.cells))
        columns = range(len(self.operands))
        return [row_pass(WeighedValues(self, each).over_branches, empty) for each in columns]


@dataclass(frozen=True)
class WeighedValues(Pass):
    """All rows of some weight: in one line their cells and points, in the other their weights."""

    statistic: WeightedQuantiles

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Integers:
        statistic, column = self.statistic, self.column
        grid, codes = statistic.grids[column], statistic.cells.codes(chunk, keep)
        points, there = on_grid(statistic.operands[column], grid, chunk, keep)
        weights, _ = on_grid(statistic.weight, statistic.weight_grid, chunk, there)
        counted = weights > 0  # what is missing or not kept weighs 0
        if codes is None:
            return np.stack([points[counted], weights[counted]]).astype(np.int64)
        counted &= codes < len(statistic.cells)
        found = np.stack([points[counted], weights[counted]]).astype(np.int64)
        found[0] |= codes[counted].astype(np.int64) << 31
        return found

    combined = staticmethod(partial(np.concatenate, axis=1))


class WeightAccumulator:
    """Collects the lines of `WeighedValues`, in any order."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._pieces = [np.zeros((2, 0), dtype=np.int64)]

    def add(self, partial: Integers, rows: int) -> None:
        """Add the values of some rows."""
        self._pieces.append(partial)

    def join(self, other: WeightAccumulator) -> None:
        """Add the values of another accumulator."""
        self._pieces.extend(other._pieces)

    def result(self) -> RanksByCell:
        """For each cell the points that occur, and how much each weighs. No 2^33 rows fit memory,
        and a row has up to 2^30 steps: nothing overflows."""
        points, weights = np.concatenate(self._pieces, axis=1)
        order = np.argsort(points, kind="stable")
        known, first = np.unique(points[order], return_index=True)
        sums = np.add.reduceat(weights[order], first) if len(known) else weights
        edges = np.searchsorted(known, np.arange(self._cells + 1, dtype=np.int64) << 31)
        return RanksByCell(known & (2**31 - 1), sums, edges)
