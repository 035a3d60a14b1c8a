"""The engine for DataFrames in memory, which reads blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..rows.accumulators import Accumulator
from ..rows.expressions import Expression, samples
from ..rows.facts.units import Unit
from ..rows.values import hashing, vectors
from ..rows.values.forms import Vector
from . import parallel, truncation
from . import per_unit as aggregates
from .base import Empty, Engine, Kernel, PerUnitColumns
from .readers import Columns, TableColumns

#: Rows per block. Fewer fit the cache better, but then threads spend their time on waiting for each
#: other: between two of numpy's functions only one of them runs (2^18 measured best on two cores).
BLOCK = 2**18
#: Bytes: more than the arrays of a block.
LARGE = 2**24


@dataclass
class Block:
    """Some consecutive rows. A column is read when a kernel asks for it, and not before."""

    table: RowTable
    where: slice
    rows: int
    branch: int = 0
    #: Values of expressions on these rows that are asked for more than once.
    memo: dict[Any, Any] = field(default_factory=dict)

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        codes = self.table.codes
        return None if codes is None else codes[self.where]

    def column(self, name: Any) -> Vector:
        return self.table.column(name).take(self.where)

    def hashed(self, names: Sequence[Any], salt: bytes) -> hashing.Hashes:
        columns = ((name, self.column(name)) for name in names)
        return hashing.of_rows(columns, self.rows, self.table.key + salt, equal=True)

    @property
    def hashes(self) -> hashing.Hashes:
        """A keyed hash of each whole row, the same for equal rows; computed once for all branches,
        which share the memo."""
        if "hashes" not in self.memo:
            self.memo["hashes"] = self.hashed(self.table.names, b"")
        found: hashing.Hashes = self.memo["hashes"]
        return found

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        return self.table.plain(names, self.where)


@dataclass(eq=False, repr=False)
class RowTable:
    """Some rows of columns in memory, in any order, read a slice at a time."""

    columns: TableColumns
    key: bytes
    picked: npt.NDArray[np.intp] | None = None  # None: all rows, in their order
    #: Of the units of these rows, in their order.
    codes: npt.NDArray[np.intp] | None = None

    def __post_init__(self) -> None:
        columns, picked = self.columns, self.picked
        self.names = tuple(columns)
        #: Straight to the columns; picked elements are gathered once.
        self.column: Callable[[Any], Vector] = columns.__getitem__
        if picked is not None:
            self.column = lru_cache(maxsize=None)(lambda name: columns[name].take(picked))

    def __len__(self) -> int:
        return self.columns.rows if self.picked is None else len(self.picked)

    def plain(self, names: Sequence[Any], rows: slice) -> pd.DataFrame:
        """Rows as they were given, for a function that the caller wrote."""
        return self.columns.plain(names, rows if self.picked is None else self.picked[rows])

    def block(self, first: int, last: int) -> Block:
        return Block(self, slice(first, last), last - first)


class PandasEngine:
    """A DataFrame, its rows truncated to the unit's max_rows before any other use."""

    def __init__(
        self, rows: pd.DataFrame | TableColumns, unit: Unit, key: bytes, block: int = BLOCK
    ) -> None:
        self.read = Columns(rows) if isinstance(rows, pd.DataFrame) else rows
        self.columns: tuple[Any, ...] = tuple(self.read)
        self.unit = unit
        self.key = key
        self.block = block
        self._kept: RowTable | None = None
        self._by_unit: RowTable | None = None

    def made(self) -> PandasEngine:
        return self

    def _rows(self) -> RowTable:
        """The rows that count, truncated once."""
        if self._kept is None:
            picked = None
            if self.unit.column is not None:
                with np.errstate(all="ignore"):
                    kept = truncation.kept_rows(self.read, self.unit, self.key)
                picked = None if kept.all() else np.flatnonzero(kept)
            self._kept = RowTable(self.read, self.key, picked)
        return self._kept

    def _rows_by_unit(self) -> RowTable:
        """The rows that count, with those of a unit side by side."""
        if self._by_unit is None:
            kept = self._rows()
            codes = np.arange(len(kept))
            if self.unit.column is not None:
                codes = vectors.codes_of(kept.column(self.unit.column))
            order = np.argsort(codes, kind="stable")
            picked = order if kept.picked is None else kept.picked[order]
            self._by_unit = RowTable(self.read, self.key, picked, codes[order])
        return self._by_unit

    def accumulate_rows(
        self, kernel: Kernel, empty: Empty, label: str, whole_units: bool = False
    ) -> Any:
        _reuse_memory()
        engine = self.made()
        table = engine._rows_by_unit() if whole_units else engine._rows()
        rows = len(table)
        edges = [*range(0, rows, engine.block), rows]
        if table.codes is not None:
            edges = _between_units(edges, table.codes)
        # Up to two blocks are read in this thread: starting others would take longer.
        if len(edges) <= 3:
            return _accumulated(table, kernel, empty, edges, lambda share: None).result()
        workers = parallel.workers()
        cuts = [(len(edges) - 1) * i // workers for i in range(workers + 1)]
        tasks = [
            partial(_accumulated, table, kernel, empty, edges[a : b + 1]) for a, b in pairwise(cuts)
        ]
        first, *others = parallel.run(tasks, label)
        for other in others:
            first.join(other)
        return first.result()

    def per_unit(self, where: Expression | None, branches: int, asked: PerUnitColumns) -> Engine:
        return PerUnitEngine(self, where, branches, asked)


@cache
def _reuse_memory() -> None:
    """Let each block's arrays lie where the last one's lay, from now on.

    glibc returns free memory to the system if it is more than twice the largest array freed so far
    (M_TRIM_THRESHOLD in mallopt(3)), which for the small arrays of a block is in each block. To get
    it back, zeroed page by page, took longer than to count ten thousand keys. So free a large one.
    """
    np.empty(LARGE, dtype=np.uint8)


def _accumulated(
    table: RowTable, kernel: Kernel, empty: Empty, edges: Sequence[int], tell: parallel.Tell
) -> Accumulator:
    total = empty()
    with np.errstate(all="ignore"):
        for done, (first, last) in enumerate(pairwise(edges), 1):
            total.add(kernel(table.block(first, last)), last - first)
            tell(done / (len(edges) - 1))
    return total


def _between_units(edges: Sequence[int], codes: npt.NDArray[np.intp]) -> list[int]:
    """The edges, each moved up to the end of the unit that it would cut."""
    return sorted({int(np.searchsorted(codes, codes[e - 1], "right")) if e else 0 for e in edges})


class PerUnitEngine(PandasEngine):
    """One row per unit, aggregated from all its rows: 1-stable, however many they were."""

    def __init__(
        self, base: PandasEngine, where: Expression | None, branches: int, asked: PerUnitColumns
    ) -> None:
        self.unit = Unit(base.unit.column, 1)
        self.columns = (base.unit.column, *asked)
        self._base = base
        self._where = where
        self._branches = branches
        self._asked = dict(asked)
        self._lock = Lock()
        self._made: PandasEngine | None = None

    def made(self) -> PandasEngine:
        """The table, made when it is first read: after a charge."""
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._made_once()  # noqa: E701  # fmt: skip

    def _made_once(self) -> PandasEngine:
        if self._made is None:
            base = self._base.made()
            table = RowTable(base.read, base.key)
            with np.errstate(all="ignore"):
                columns = aggregates.per_unit(
                    table.block(0, len(table)), self.unit, self._where, self._branches, self._asked
                )
            key = base.key
            if times := samples(self._where):  # a sample of a sample chooses again
                key = bytes.fromhex(hashing.digest(f"{times} samples", key))
            self._made = PandasEngine(columns, self.unit, key, base.block)
        return self._made
