"""How many distinct values there are, where nobody declared which there can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass
from ...errors import InternalError
from ...rows.accumulators import SumAccumulator
from ...rows.expressions import EVERY, Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Schema
from ...rows.values import labels, vectors
from ...rows.values.vectors import Mask
from ..base import ONE, Form, Partial, RowPass, Statistic, count_by, with_kept
from ..error_model import ErrorModel
from ..layout import Interval
from ..methods import AGG, COLUMN, GROUPS, Method
from .counts import clamped
from .label_accumulators import Entry, LabelAccumulator, NumberedLabels, combined


class DistinctValuesErrors(ErrorModel):
    of: DistinctValues

    measured_in: ClassVar = ("values",)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        w = half_width
        return [(max(0, value - w), max(0, value + w)) for value in noisy]

    def error(self, half_width: int) -> float | None:
        return half_width

    def possible(self, entry: int) -> Interval | None:
        return 0, math.inf


@dataclass(frozen=True)
class DistinctValues(Statistic):
    """For each cell, how many distinct values its rows have. Equal values are one, whatever their
    types; missing ones count as one more only with ``dropna=False``.

    m rows of a unit have at most m values that nobody else has, in all cells together, and take
    none away (proof: docs/proofs/presence.md).
    """

    value: Expression = EVERY
    dropna: bool = True

    methods: ClassVar = (Method("nunique", COLUMN | GROUPS | AGG),)
    proof: ClassVar[str] = "presence"
    error_model: ClassVar = DistinctValuesErrors
    needs: ClassVar = {"value": kinds.LABELS}
    selectable: ClassVar[bool] = True

    #: A row has one value, in one cell.
    l1 = 1

    @property
    def size(self) -> int:
        return len(self.cells)

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, self.value)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        """Counts each value once for each cell, when the values of all rows are known."""
        counts, missing = row_pass(self.over_branches, partial(_ValuesAccumulator, self.size))
        if self.dropna:
            return list(counts)
        return [n + (gone > 0) for n, gone in zip(counts, missing, strict=True)]

    def over_branches(
        self, branches: Sequence[Chunk], where: Expression | None
    ) -> tuple[list[NumberedLabels], Partial]:
        each = [self._of(chunk, keep) for chunk, keep in with_kept(branches, where)]
        missing: Partial = np.stack([gone for _, gone in each]).sum(axis=0)
        return [found for found, _ in each if len(found)], missing

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        raise InternalError("distinct values are read by `over_branches`.")

    def _of(self, chunk: Chunk, keep: Mask | None) -> tuple[NumberedLabels, Partial]:
        """The values of each cell of a chunk, and how many rows of each cell have none."""
        vector, size = self.value.vector(chunk), self.size
        numbers, counted, decode = labels.coded_values(vector)
        columns, decodes = [numbers], [decode]
        codes = self.cells.codes(chunk, keep)
        if codes is not None:
            counted = counted & (codes < size)
            cells, _, of_cells = labels.coded(vectors.vector(codes.astype(np.int64)))
            columns, decodes = [cells, numbers], [of_cells, decode]
        elif keep is not None:
            counted = counted & keep
        missing = np.zeros(size, dtype=np.int64)
        if not self.dropna:
            gone = vectors.is_null(vector)
            gone = gone & keep if codes is None and keep is not None else gone
            missing = count_by(codes, gone, chunk.rows, size)
        _, distinct = combined([column[counted] for column in columns])
        no_counts = np.zeros((len(distinct), 0), dtype=np.int64)  # that a value occurs is enough
        return NumberedLabels(tuple(decodes), distinct, no_counts), missing

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return clamped(noisy)

    def forms(self, integers: int) -> Sequence[Form | None]:
        return [Form({i: ONE}) for i in range(integers)]

    def is_count(self, schema: Schema) -> bool:
        return True


class _ValuesAccumulator:
    """Adds up what chunks have: their values, each of which counts once, and rows without one."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._values = LabelAccumulator()
        self._missing = SumAccumulator(cells)

    def add(self, partial: tuple[list[NumberedLabels], Partial], rows: int) -> None:
        """Add the values of some rows."""
        values, missing = partial
        self._values.add(values, rows)
        self._missing.add(missing, rows)

    def join(self, other: _ValuesAccumulator) -> None:
        """Add the values of another accumulator."""
        self._values.join(other._values)
        self._missing.join(other._missing)

    def result(self) -> tuple[list[int], list[int]]:
        """How many distinct values each cell has, and how many rows without one."""
        return _in_each_cell(self._values.result(), self._cells), self._missing.result()


def _in_each_cell(values: Mapping[str, Entry], cells: int) -> list[int]:
    """How many distinct values each cell has; the cell comes first in them if there are several."""
    if cells == 1:
        return [len(values)]
    if isinstance(values, NumberedLabels):
        of_values = values.numbers[:, 0]
    else:
        of_values = np.array([cell for (cell, _), _ in values.values()], dtype=np.int64)
    return [int(number) for number in np.bincount(of_values, minlength=cells)]
