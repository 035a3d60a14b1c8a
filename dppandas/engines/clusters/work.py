"""What travels to the rows, and what comes back: exact partial answers, which are private.

A worker gets a statistic, a filter and public facts, and the key of the source only where rows are
hashed. What it raises stays there: an error could quote data in its message and its traceback.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ...dataclasses import dataclass
from ...rows.accumulators import Accumulator
from ...rows.facts.units import Unit
from ...rows.values import hashing, vectors
from .. import per_unit as aggregates
from .. import truncation
from ..base import Kernel, Need, UnitTable
from ..blocks import BLOCK, RowTable, add_blocks
from ..histories import UnitHistories
from ..pandas import by_unit
from ..readers import TableColumns

T = TypeVar("T")


@dataclass(frozen=True)
class PerUnit:
    """A table that is made of all rows of units in the table before."""

    table: UnitTable
    need: Need

    @property
    def unit(self) -> Unit:
        return aggregates.unit_after(self.table)

    def __call__(self, rows: RowTable) -> RowTable:
        block = rows.block(0, len(rows), self.need)
        columns = aggregates.per_unit(block, self.table)
        return _all_rows(columns, aggregates.key_after(self.table, rows.key))


def _all_rows(columns: TableColumns, key: bytes) -> RowTable:
    return RowTable(columns, key, histories=UnitHistories(columns, key))


@dataclass(frozen=True)
class Partial:
    """What a kernel makes of some rows. `rows` and `hashes`, the sum of their hashes if these are
    asked for, show whether another scan met other rows."""

    total: Accumulator
    rows: int
    hashes: int | None

    def joined(self, other: Partial) -> Partial:
        self.total.join(other.total)
        hashes = None
        if self.hashes is not None and other.hashes is not None:
            hashes = (self.hashes + other.hashes) % 2**64
        return Partial(self.total, self.rows + other.rows, hashes)


#: Errors of machines. Others may come from the rows, so not even their names are told.
_OF_MACHINES = {
    "ImportError", "KilledWorker", "MemoryError", "ModuleNotFoundError", "PermissionError",
    "Py4JJavaError", "Py4JNetworkError", "TimeoutError",
}  # fmt: skip


@dataclass(frozen=True)
class Failed:
    """Work that raised, and what, if that may be told."""

    kind: str

    @classmethod
    def of(cls, error: Exception) -> Failed:
        name = type(error).__name__
        return cls(name if name in _OF_MACHINES else "")

    def __str__(self) -> str:
        return f": {self.kind}." if self.kind else ". The cause could quote data, and isn't shown."


@dataclass(frozen=True)
class Work:
    """What is done with the rows of a partition, which holds all rows of its units.

    unit : whose rows are truncated; without a column none are. key : of the source; b"" where no
        row is hashed. steps : what tables are made before. checked : whether row hashes are summed.
    """

    kernel: Kernel
    unit: Unit
    key: bytes
    steps: Sequence[PerUnit] = ()
    checked: bool = False
    block: int = BLOCK

    @property
    def whole(self) -> bool:
        """Whether a partition must be read as one table."""
        return self.unit.column is not None

    def __call__(self, tables: Iterable[TableColumns]) -> bytes:
        """The partial answer to some tables, pickled."""
        try:
            with np.errstate(all="ignore"):
                return pickle.dumps(self._partial(tables))
        except Exception as error:
            return pickle.dumps(Failed.of(error))

    def _partial(self, tables: Iterable[TableColumns]) -> Partial:
        total, rows, hashes = self.kernel.empty(), 0, 0
        for columns in tables:
            rows += columns.rows
            if self.checked:
                found = truncation.row_hashes(columns, self.key, equal=True)
                hashes = (hashes + int(found.sum(dtype=np.uint64))) % 2**64
            for table in self._made(columns):
                edges = table.edges(self.block)
                add_blocks(total, table, self.kernel, edges, lambda _: None)
        return Partial(total, rows, hashes if self.checked else None)

    def _made(self, columns: TableColumns) -> Iterator[RowTable]:
        """The rows that count."""
        table, unit, labels = _all_rows(columns, self.key), self.unit, None
        for step in self.steps:
            table, unit, labels = step(table), step.unit, step.table.labels
        # without labels, a table of units has one row for each
        if self.whole and (not self.steps or self.steps[-1].table.by):
            kept = truncation.kept_rows(table.columns, unit, table.key, labels)
            picked = None if kept.all() else np.flatnonzero(kept)
            table = RowTable(table.columns, table.key, picked, histories=table.histories)
        yield by_unit(table, unit) if self.kernel.need.whole_units else table


def joined(parts: Sequence[bytes]) -> bytes:
    """Several partial answers together, pickled."""
    try:
        found = [pickle.loads(part) for part in parts]
        failed = next((each for each in found if isinstance(each, Failed)), None)
        if failed is not None:
            return pickle.dumps(failed)
        first, *others = found
        for other in others:
            first = first.joined(other)
        return pickle.dumps(first)
    except Exception as error:
        return pickle.dumps(Failed.of(error))


def bucket(columns: TableColumns, unit: Any, number: int) -> Any:
    """For each row a number that is the same for all rows of its unit, -1 for rows without one.
    It needs no key: it says nothing that the unit beside it doesn't."""
    with np.errstate(all="ignore"):
        found = columns[unit]
        names = hashing.of_elements(found, b"together", equal=True)
        buckets = (names % np.uint64(number)).astype(np.int64)
        buckets[vectors.codes_of(found) < 0] = -1
        return buckets


#: What other libraries' logs say of an error may quote the cell that caused it.
_LOGS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "distributed.worker")


def _is_no_warning(record: logging.LogRecord) -> bool:
    return record.levelno < logging.WARNING


def unlogged(run: Callable[[], T]) -> T:
    """What a function returns that runs something with rows, whose errors aren't logged here. What
    another machine logs stays there."""

    def keeps(record: logging.LogRecord) -> bool:
        return _is_no_warning(record)

    loggers = list(map(logging.getLogger, _LOGS))
    for logger in loggers:
        logger.addFilter(keeps)
    try:
        return run()
    except BaseException:
        # Dask can't stop tasks that run: they may fail after this, and quote rows then.
        for logger in loggers:
            logger.addFilter(_is_no_warning)
        raise
    finally:
        for logger in loggers:
            logger.removeFilter(keeps)


def version() -> str:
    """The dppandas of this process: a worker's, or the caller's."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)
