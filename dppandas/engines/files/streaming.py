"""The engine for files larger than memory: threads take the next piece, and read it in batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from ...rows.accumulators import Accumulator
from ...rows.facts.units import Unit
from ...rows.values.forms import joined
from .. import parallel, rehearsal, truncation
from .. import per_unit as aggregates
from ..base import Engine, Kernel, Need, UnitTable
from ..blocks import BLOCK, RowTable, add_blocks, reuse_memory
from ..histories import UnitHistories
from ..pandas import PerUnitEngine, by_unit
from ..readers import ArrowColumns, ComputedColumns, TableColumns
from . import private_files, pruning, spilled
from .parquet import ParquetFiles, Piece

T = TypeVar("T")

_WAY = (
    "Write the files with another type, or leave the column out: "
    "pyarrow.dataset.dataset(path).replace_schema(…) of the other columns."
)


def _tell_after(tell: parallel.Tell, before: int, rows: int) -> None:
    tell(before + rows)


class StreamingEngine:
    """Files, their rows truncated to the unit's max_rows before any other use."""

    def __init__(
        self, files: ParquetFiles, unit: Unit, key: bytes, block: int = BLOCK, prune: bool = False
    ) -> None:
        self.files = files
        self.columns: tuple[Any, ...] = files.names
        self.unit = unit
        self.key = key
        self.block = block
        self.prune = prune
        self._kept: spilled.KeptRows | None = None
        self._lock = Lock()
        self._rehearsed: set[Need] = set()

    def check(self, needs: Sequence[Need]) -> None:
        self.files.check()
        has_units = self.unit.column is not None
        if has_units and (
            self._kept is None or any(need.whole_units or need.histories for need in needs)
        ):
            private_files.check_room()
        for need in {*needs} - self._rehearsed:
            types = {n: self.files.types[n] for n in self.columns if has_units or n in need.columns}
            rehearsal.rehearse(self._try, need, types, "Arrow", _WAY)
            self._rehearsed.add(need)

    def _try(self, need: Need, columns: Collection[Any]) -> None:
        """Do what is needed with no rows of some columns, and the unit."""
        nothing = StreamingEngine(
            self.files.without_rows({*columns, self.unit.column}), self.unit, self.key
        )
        nothing.accumulate_rows(rehearsal.kernel(need), "types")
        if need.plain:
            for found in nothing._columns(nothing.files.pieces[0], [*need.columns]):
                rehearsal.show(found, need, self.unit)

    def made(self) -> StreamingEngine:
        return self

    def accumulate_rows(self, kernel: Kernel, label: str) -> Any:
        reuse_memory()
        if kernel.need.histories:
            return self._accumulate_histories(kernel)
        if kernel.need.whole_units and self.unit.column is not None:
            return self._accumulate_units(kernel)
        kept = self.kept()
        pieces = self.files.pieces
        if self.prune:
            pieces = pruning.possible(self.files, pieces, kernel.where)
        work = parallel.Shared(pieces)

        def one(tell: parallel.Tell) -> Accumulator:
            total, before = kernel.empty(), 0
            for piece in work:
                for table in self.tables(piece, kernel.need.columns, kept, kernel.need.whole_units):
                    edges = table.edges(self.block)
                    add_blocks(total, table, kernel, edges, partial(_tell_after, tell, before))
                    before += table.columns.rows
            return total

        # which pieces a filter leaves is private: of these only the time is told
        rows = 0 if self.prune else self.files.rows
        return parallel.joined(self.run(one, len(pieces), rows))

    def run(self, task: Callable[[parallel.Tell], T], pieces: int, rows: int = 0) -> list[T]:
        """Run a task in as many threads as there are cores, or pieces."""
        return parallel.run([task] * max(1, min(parallel.workers(), pieces)), rows)

    def tables(
        self,
        piece: Piece,
        names: Collection[Any],
        kept: spilled.KeptRows | None = None,
        whole_units: bool = False,
    ) -> Iterator[RowTable]:
        """Some columns of a piece, of the rows that are kept."""
        at = piece.first
        for columns in self._columns(piece, [name for name in self.columns if name in names]):
            picked = None if kept is None else kept.among(at, columns.rows)
            codes = np.arange(at, at + columns.rows) if whole_units else None
            yield RowTable(columns, self.key, picked, codes)
            at += columns.rows

    def _columns(self, piece: Piece, names: Sequence[str]) -> Iterator[TableColumns]:
        if names:
            yield from map(ArrowColumns, self.files.batches(piece, names, self.block))
        else:  # the footer knows how many rows there are
            self.files.files[piece.file].check()
            for first in range(0, piece.rows, self.block):
                yield ComputedColumns({}, min(self.block, piece.rows - first))

    def kept(self) -> spilled.KeptRows | None:
        """The rows that count, found once; None for all."""
        if self.unit.column is None:
            return None
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._kept_once()  # noqa: E701  # fmt: skip

    def _kept_once(self) -> spilled.KeptRows:
        if self._kept is None:
            self._kept = spilled.kept_rows(self)
        return self._kept

    def _accumulate_units(self, kernel: Kernel) -> Any:
        kept = self.kept()

        def one(bucket: RowTable, tell: parallel.Tell) -> Accumulator:
            table = by_unit(bucket, self.unit)
            edges = table.edges(self.block)
            return add_blocks(kernel.empty(), table, kernel, edges, tell)

        totals = spilled.by_unit(self, kernel.need.columns, kept, one)
        return parallel.joined(totals or [kernel.empty()])

    def _accumulate_histories(self, kernel: Kernel) -> Any:
        """All rows of units are brought together; which of them are kept is found there."""

        def one(bucket: RowTable, tell: parallel.Tell) -> Accumulator:
            with np.errstate(all="ignore"):
                kept = truncation.kept_rows(bucket.columns, self.unit, self.key)
            histories = UnitHistories(bucket.columns, self.key)
            table = RowTable(bucket.columns, self.key, np.flatnonzero(kept), histories=histories)
            table = by_unit(table, self.unit) if kernel.need.whole_units else table
            edges = table.edges(self.block)
            return add_blocks(kernel.empty(), table, kernel, edges, tell)

        totals = spilled.by_unit(self, self.columns, None, one)
        return parallel.joined(totals or [kernel.empty()])

    def per_unit(self, table: UnitTable) -> Engine:
        return PerUnitEngine(self, table)

    def aggregated(self, table: UnitTable) -> TableColumns:
        """The columns of a table that is made of all rows of units."""
        need = aggregates.needed(self, table)

        def one(bucket: RowTable, tell: parallel.Tell) -> ComputedColumns:
            histories = UnitHistories(bucket.columns, self.key)
            rows = RowTable(bucket.columns, self.key, histories=histories)
            with np.errstate(all="ignore"):
                return aggregates.per_unit(rows.block(0, len(rows), need), table)

        found = spilled.by_unit(self, need.columns, None, one)
        if not found:
            empty = RowTable(ArrowColumns(self.files.schema.empty_table()), self.key)
            found = [one(empty, lambda _: None)]
        columns = {name: joined([part[name] for part in found]) for name in table.columns}
        return ComputedColumns(columns, sum(part.rows for part in found))
