"""Totals of units by cells, where each unit's totals are scaled down together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, replace
from ...rows.expressions import Chunk, Expression
from ...rows.facts.bounds import Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Partial, sum_by, with_kept
from ..counting.distinct import units_of
from ..methods import Method
from .sums import Sum, SumErrors, on_grid

Integers = npt.NDArray[np.int64]


class UnitTotalsErrors(SumErrors):
    of: UnitTotals

    def row_adds(self) -> None:  # type: ignore[override]
        """Nothing that is known: a unit's rows are added up before they are clipped."""
        return


@dataclass(frozen=True)
class UnitTotals(Sum):
    """For each cell and column, the sum of the totals of units: for a table with a row for each
    unit and cell.

    A total becomes an integer t on the grid of its column. With N the sum of a unit's |t| over all
    cells and C the reach of the grid, each t of a unit with N > C becomes ⌊|t|·C/N⌋ with the sign
    of t: first roughly, in floats, then in whole numbers. So a unit moves the integers of a column
    by at most C in ℓ1, whatever rows it has (proof: docs/proofs/totals.md).
    """

    methods: ClassVar[
        tuple[Method, ...]
    ] = ()  # those of sums; keys that nobody declared aren't found by units
    proof: ClassVar[str] = "totals"
    error_model: ClassVar = UnitTotalsErrors
    whole_units: ClassVar[bool] = True

    def l1_sensitivity(self, rows: int) -> int:
        return self.l1

    def linf_sensitivity(self, rows: int) -> int:
        return self.linf

    def l2_squared_sensitivity(self, rows: int) -> int:
        return sum(grid.reach**2 for grid in self.grids)

    def ranges(self) -> list[int]:
        """Of totals, which are scaled: from -C to C."""
        return [2 * grid.reach for grid in self.grids]

    def _in_one(self, rows: int) -> int:
        """One total of a unit."""
        return 1

    def is_count(self, schema: Schema) -> bool:
        """False: totals that are scaled don't count by ones."""
        return False

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        return self._scaled([(chunk, keep)])

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Partial:
        return self._scaled(with_kept(branches, where))

    def _scaled(self, branches: Iterable[tuple[Chunk, Mask | None]]) -> Partial:
        """Sums of the scaled integers of units, whose rows are all here."""
        cells, units, codes = len(self.cells), [], []
        totals: list[list[Integers]] = [[] for _ in self.operands]
        for chunk, keep in branches:
            inside = units_of(chunk) >= 0 if keep is None else keep & (units_of(chunk) >= 0)
            found = self.cells.codes(chunk)
            if found is None:
                found = np.zeros(chunk.rows, dtype=np.intp)
            inside &= found < cells
            units.append(units_of(chunk)[inside])
            codes.append(found[inside])
            for own, operand, grid in zip(totals, self.operands, self.grids, strict=True):
                wide = on_grid(operand, _wide(grid), chunk, inside)[0]
                own.append(wide.astype(np.int64)[inside])
        names, places = np.unique(np.concatenate(units), return_inverse=True)
        where, columns = np.concatenate(codes), list(map(np.concatenate, totals))
        out = np.empty((cells, len(columns)), dtype=np.int64)
        for column, (steps, grid) in enumerate(zip(columns, self.grids, strict=True)):
            near = shrunk_to(steps, _sizes(steps, places, len(names)), grid.reach)
            scaled = scaled_to(near, _sizes(near, places, len(names)), grid.reach)
            out[:, column] = sum_by(where, scaled.astype(np.float64), cells)
        return out.reshape(-1)


#: The largest integer of a total before it is scaled.
_FURTHEST = 2**40


def _wide(grid: Grid) -> Grid:
    """A grid without the larger of its ends, which a unit's totals are scaled down to; if both are
    as large, without either."""
    low = -_FURTHEST if -grid.low == grid.reach else grid.low
    high = _FURTHEST if grid.high == grid.reach else grid.high
    return replace(grid, low=low, high=high)


def _sizes(steps: Integers, places: npt.NDArray[np.intp], units: int) -> Integers:
    """At each place, what its unit's integers add up to in size."""
    sizes = np.zeros(units, dtype=np.int64)
    np.add.at(sizes, places, np.abs(steps))
    return sizes[places]


def shrunk_to(steps: Integers, sizes: Integers, most: int) -> Integers:
    """Integers of vectors whose sizes are these, about as they are when scaled to a size of
    ``most``, and none larger than that, whatever the sizes are: each follows from itself and its
    vector's size."""
    over = sizes > most
    shrunk: Integers = steps.copy()
    share = np.abs(steps[over]) * (most / sizes[over])
    shrunk[over] = np.sign(steps[over]) * np.floor(share).astype(np.int64)
    return np.clip(shrunk, -most, most)


def scaled_to(steps: Integers, sizes: Integers, most: int) -> Integers:
    """Integers of vectors whose sizes are these, scaled towards 0 so that none is larger than
    ``most``: |steps| and most are at most 2^30, so that no product wraps around."""
    over = sizes > most
    far = steps[over]
    scaled: Integers = steps.copy()
    scaled[over] = np.sign(far) * (np.abs(far) * most // sizes[over])
    return scaled
