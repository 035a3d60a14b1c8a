"""The engine for tables in memory, which reads blocks that fit a processor's cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass
from ..rows.facts.units import Unit
from ..rows.values import orders, vectors
from . import parallel, rehearsal, truncation
from . import per_unit as aggregates
from .base import Engine, Kernel, Need, UnitTable
from .blocks import ALONE, BLOCK, RowTable, add_blocks, reuse_memory
from .histories import UnitHistories
from .readers import Columns, TableColumns

_WITHOUT = "Convert it before dp.protect, or select the columns that your function needs."


@dataclass
class _Seen:
    """Columns, and what was found out about their rows."""

    columns: TableColumns
    is_used: bool = False  # whether anything has looked at the rows
    histories: UnitHistories | None = None
    kept: RowTable | None = None
    by_unit: RowTable | None = None


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
        self.unit = unit
        self.key = key
        self.block = block
        self._labels = labels  # by whose hash rows are kept; None for whole rows
        self._look(Columns(rows) if isinstance(rows, pd.DataFrame) else rows)
        self.columns: tuple[Any, ...] = tuple(self._known.columns)

    def _look(self, rows: TableColumns) -> None:
        """Start with rows of which nothing is known."""
        self._known = _Seen(rows)

    @property
    def _seen(self) -> _Seen:
        """What is known of the rows, for all that looks at them."""
        known = self._known
        known.is_used = True
        return known

    @property
    def read(self) -> TableColumns:
        """The columns as they are read."""
        return self._seen.columns

    @property
    def histories(self) -> UnitHistories:
        """What rows know of their units, by the key that truncation has."""
        return self._histories_of(self._seen)

    def _histories_of(self, seen: _Seen) -> UnitHistories:
        if seen.histories is None:
            seen.histories = UnitHistories(seen.columns, self.key)
        return seen.histories

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
        return self._kept_of(self._seen)

    def _kept_of(self, seen: _Seen) -> RowTable:
        """Of what one look found: another release may look anew meanwhile."""
        if seen.kept is None:
            picked = None
            if self.unit.column is not None:
                with np.errstate(all="ignore"):
                    kept = truncation.kept_rows(seen.columns, self.unit, self.key, self._labels)
                picked = None if kept.all() else np.flatnonzero(kept)
            histories = self._histories_of(seen)
            seen.kept = RowTable(seen.columns, self.key, picked, histories=histories)
        return seen.kept

    def _rows_by_unit(self) -> RowTable:
        """The rows that count, with those of a unit side by side."""
        seen = self._seen
        if seen.by_unit is None:
            seen.by_unit = by_unit(self._kept_of(seen), self.unit)
        return seen.by_unit

    def accumulate_rows(self, kernel: Kernel, label: str) -> Any:
        reuse_memory()
        engine = self.made()
        table = engine._rows_by_unit() if kernel.need.whole_units else engine._rows()
        edges = table.edges(min(engine.block, ALONE))
        total, start = kernel.empty(), time.perf_counter()
        add_blocks(total, table, kernel, edges[:2], lambda _: None)
        if (time.perf_counter() - start) * (len(edges) - 2) <= parallel.WORTH:
            return add_blocks(total, table, kernel, edges[1:], lambda _: None).result()
        edges = [*edges[1 : -1 : max(1, engine.block // ALONE)], edges[-1]]
        workers = parallel.workers()
        cuts = [(len(edges) - 1) * i // workers for i in range(workers + 1)]
        tasks = [
            partial(add_blocks, kernel.empty(), table, kernel, edges[a : b + 1])
            for a, b in pairwise(cuts)
        ]
        return parallel.joined([total, *parallel.run(tasks, edges[-1] - edges[0])])

    def per_unit(self, table: UnitTable) -> Engine:
        return PerUnitEngine(self, table)

    def aggregated(self, table: UnitTable) -> TableColumns:
        """The columns of a table that is made of all rows of units."""
        seen = self._seen
        rows = RowTable(seen.columns, self.key, histories=self._histories_of(seen))
        with np.errstate(all="ignore"):
            block = rows.block(0, len(rows), aggregates.needed(self, table))
            return aggregates.per_unit(block, table)


class SharedEngine(PandasEngine):
    """A frame that its owner may write to, in place: each release looks at it anew. Rows that were
    kept of the units that it had would be more than max_rows of those that it has."""

    is_shared = True

    def __init__(self, rows: pd.DataFrame | Columns, unit: Unit, key: bytes) -> None:
        shared = Columns(rows) if isinstance(rows, pd.DataFrame) else rows
        super().__init__(shared, unit, key)
        self._anew = shared.anew

    def check(self, needs: Sequence[Need]) -> None:
        if self._known.is_used:
            self._look(self._anew())
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
        if self._made is None or self.is_shared:
            self._base.check([aggregates.needed(self._base, self._table)])
        if self.is_shared:  # after the base, so that nobody makes it of what the base saw before
            with self._lock: self._made = None  # noqa: E701  # fmt: skip

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
