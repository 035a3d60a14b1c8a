"""Counts of privacy units, and of the rows that truncation drops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import InternalError
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import EVERY, Chunk, Expression
from ...rows.facts import kinds
from ...rows.values.vectors import Mask, as_numbers
from ..base import ONE, Form, Partial, Statistic, with_kept
from ..error_model import ErrorModel
from ..layout import Interval
from ..methods import FRAME, Method
from .counts import Count, CountErrors, share_intervals, shares


class DistinctErrors(CountErrors):
    of: Distinct

    measured_in: ClassVar = ("units",)


@dataclass(frozen=True)
class Distinct(Count):
    """For each cell, how many units have a row in it.

    A unit adds at most 1 to a cell, however many rows it has there: ℓ∞ is 1, and ℓ1 the number of
    cells that its rows can reach (proof: docs/proofs/units.md).
    """

    takes_limits: ClassVar = True
    proof: ClassVar[str] = "units"
    error_model: ClassVar = DistinctErrors

    whole_units: ClassVar[bool] = True

    def l1_sensitivity(self, rows: int) -> int:
        return min(self.cells.most(rows).reached, len(self.cells))

    def linf_sensitivity(self, rows: int) -> int:
        return 1

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        return self._counted([(chunk, keep)])

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Partial:
        return self._counted(with_kept(branches, where, self.cells))

    def _counted(self, branches: Iterable[tuple[Chunk, Mask | None]]) -> Partial:
        """Counts each pair of unit and cell once, over all branches."""
        cells, pairs = len(self.cells), []
        for chunk, keep in branches:
            units = units_of(chunk)
            codes = self.cells.codes(chunk)
            inside = units >= 0 if keep is None else keep & (units >= 0)
            if codes is None:
                codes = np.zeros(chunk.rows, dtype=np.intp)
            else:
                inside &= codes < cells
            pairs.append(units[inside] * cells + codes[inside])
        found = np.unique(np.concatenate(pairs))
        return np.bincount(found % cells, minlength=cells).astype(np.int64)


def units_of(chunk: Chunk) -> npt.NDArray[np.int64]:
    """The unit of each row, -1 for none."""
    if chunk.units is None:
        raise InternalError("units are counted in a chunk that doesn't know its rows' units.")
    return chunk.units


class TruncationErrors(ErrorModel):
    of: Truncation

    measured_in: ClassVar = ("share",)

    def possible(self, entry: int) -> Interval | None:
        return 0, 1

    def evenly(self, rows: float) -> list[int]:
        return [math.ceil(rows / 2)] * 2

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return share_intervals(noisy, 2, Within(half_width), 0.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return share_intervals(noisy, 2, law, confidence)


@dataclass(frozen=True)
class Truncation(Statistic):
    """How many rows truncation to max_rows keeps, and how many it drops: for a table of units.

    A unit's rows are counted up to a public number, and each adds 1 to one of two integers: ℓ1 is
    that number (proof: docs/proofs/units.md).
    """

    rows: Expression = EVERY
    max_rows: int = 1
    counted: int = 1

    methods: ClassVar = (Method("truncation_shares", FRAME),)
    proof: ClassVar[str] = "units"
    error_model: ClassVar = TruncationErrors
    needs: ClassVar = {"rows": kinds.NUMBERS}

    size = 2

    @property
    def l1(self) -> int:
        return self.counted

    @property
    def linf(self) -> int:
        return max(self.max_rows, self.counted - self.max_rows)

    def expressions(self) -> tuple[Expression, ...]:
        return (self.rows,)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        rows = np.nan_to_num(np.clip(np.rint(as_numbers(self.rows.vector(chunk))), 0, self.counted))
        if keep is not None:
            rows = np.where(keep, rows, 0)
        kept = np.minimum(rows, self.max_rows)
        return np.array([kept.sum(), (rows - kept).sum()]).astype(np.int64)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return shares(noisy, 2)

    def forms(self, integers: int) -> Sequence[Form | None]:
        return [Form({i: ONE}, {0: ONE, 1: ONE}) for i in range(integers)]
