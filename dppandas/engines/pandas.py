"""The engine for tables in memory, which reads blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from ..rows.facts.units import Unit
from ..rows.values import orders, vectors
from . import parallel, rehearsal, truncation
from . import per_unit as aggregates
from .base import Engine, Kernel, Need, UnitTable
from .blocks import BLOCK, RowTable, add_blocks, reuse_memory
from .histories import UnitHistories
from .readers import Columns, TableColumns

_WITHOUT = "Convert it before dp.protect, or select the columns that your function needs."


class PandasEngine:
    """A table in memory, its rows truncated to the unit's max_rows before any other use."""

    #: Whether others may write to the table.
    is_shared = False

    def __init__(
        self,
        rows: pd.DataFrame | TableColumns,
        unit: Unit,
        key: bytes,
        block: int = BLOCK,
        labels: Sequence[Any] | None = None,
    ) -> None:
        self.read = Columns(rows) if isinstance(rows, pd.DataFrame) else rows
        self.columns: tuple[Any, ...] = tuple(self.read)
        self.unit = unit
        self.key = key
        self.block = block
        self._labels = labels  # by whose hash rows are kept; None for whole rows
        self._kept: RowTable | None = None
        self._by_unit: RowTable | None = None
        #: What rows know of their units, by the key that truncation has.
        self.histories = UnitHistories(self.read, self.key)

    def check(self, needs: Sequence[Need]) -> None:
        """Rows in memory can be read; but not each type can be shown to a function of a caller."""
        for need in needs:
            if need.plain:
                types = {name: self.read.type_of(name) for name in need.columns}
                rehearsal.rehearse(self._try, need, types, "pandas", _WITHOUT)

    def _try(self, need: Need, columns: object) -> None:
        rehearsal.show(self.read.of_nothing(), need, self.unit)

    def made(self) -> PandasEngine:
        return self

    def _rows(self) -> RowTable:
        """The rows that count, truncated once."""
        if self._kept is None:
            picked = None
            if self.unit.column is not None:
                with np.errstate(all="ignore"):
                    kept = truncation.kept_rows(self.read, self.unit, self.key, self._labels)
                picked = None if kept.all() else np.flatnonzero(kept)
            self._kept = RowTable(self.read, self.key, picked, histories=self.histories)
        return self._kept

    def _rows_by_unit(self) -> RowTable:
        """The rows that count, with those of a unit side by side."""
        if self._by_unit is None:
            self._by_unit = by_unit(self._rows(), self.unit)
        return self._by_unit

    def accumulate_rows(self, kernel: Kernel, label: str) -> Any:
        reuse_memory()
        engine = self.made()
        table = engine._rows_by_unit() if kernel.need.whole_units else engine._rows()
        edges = table.edges(engine.block)
        # Up to two blocks are read in this thread: starting others would take longer.
        if len(edges) <= 3:
            return add_blocks(kernel.empty(), table, kernel, edges, lambda _: None).result()
        workers = parallel.workers()
        cuts = [(len(edges) - 1) * i // workers for i in range(workers + 1)]
        tasks = [
            partial(add_blocks, kernel.empty(), table, kernel, edges[a : b + 1])
            for a, b in pairwise(cuts)
        ]
        return parallel.joined(parallel.run(tasks, label))

    def per_unit(self, table: UnitTable) -> Engine:
        return PerUnitEngine(self, table)

    def aggregated(self, table: UnitTable) -> TableColumns:
        """The columns of a table that is made of all rows of units."""
        rows = RowTable(self.read, self.key, histories=self.histories)
        with np.errstate(all="ignore"):
            block = rows.block(0, len(rows), aggregates.needed(self, table))
            return aggregates.per_unit(block, table)


class SharedEngine(PandasEngine):
    """A frame that its owner may write to, in place: each release looks at it anew. Rows that were
    kept of the units that it had would be more than max_rows of those that it has."""

    is_shared = True

    def __init__(self, rows: Columns, unit: Unit, key: bytes) -> None:
        super().__init__(rows, unit, key)
        self._shared = rows

    def check(self, needs: Sequence[Need]) -> None:
        self.__init__(self._shared.anew(), self.unit, self.key)  # type: ignore[misc]
        super().check(needs)


def by_unit(table: RowTable, unit: Unit) -> RowTable:
    """The same rows with those of a unit side by side. Without a unit column each is its own."""
    codes = np.arange(len(table))
    if unit.column is not None:
        codes = vectors.codes_of(table.column(unit.column))
    order = orders.by_codes(codes)
    picked = order if table.picked is None else table.picked[order]
    return RowTable(table.columns, table.key, picked, codes[order], table.histories)


class PerUnitEngine(PandasEngine):
    """Rows that are aggregated from all rows of each unit. As many are kept as the table says, so
    it is that stable, however many rows there were."""

    def __init__(self, base: Any, table: UnitTable) -> None:
        self.unit = aggregates.unit_after(table)
        self.columns = table.columns
        self.is_shared = isinstance(base, PandasEngine) and base.is_shared
        self._base = base
        self._table = table
        self._lock = Lock()
        self._made: PandasEngine | None = None

    def check(self, needs: Sequence[Need]) -> None:
        if self.is_shared:
            self._made = None
        if self._made is None:
            self._base.check([aggregates.needed(self._base, self._table)])

    def made(self) -> PandasEngine:
        """The table, made when it is first read: after a charge."""
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._made_once()  # noqa: E701  # fmt: skip

    def _made_once(self) -> PandasEngine:
        if self._made is None:
            base = self._base.made()
            columns = base.aggregated(self._table)
            key = aggregates.key_after(self._table, base.key)
            labels = self._table.labels
            self._made = PandasEngine(columns, self.unit, key, base.block, labels)
        return self._made

    def aggregated(self, table: UnitTable) -> TableColumns:
        return self.made().aggregated(table)
