"""pandas in memory: chunks in blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..rows.accumulators import Accumulator
from ..rows.expressions import Expression, samples
from ..rows.facts.units import Unit
from ..rows.values import hashing
from ..rows.values.forms import Vector
from . import parallel, truncation
from . import per_unit as aggregates
from .base import Kernel
from .readers import Columns, ComputedColumns

#: Rows of a block: enough for numpy, few enough for the cache (measured: 2^17 or 2^18).
BLOCK = 2**17


@dataclass
class Block:
    """Some consecutive rows. Columns are read when a kernel asks for them, and not before."""

    table: RowTable
    where: slice
    rows: int
    branch: int = 0
    #: What expressions said of these rows, that are asked more than once.
    memo: dict[Any, Any] = field(default_factory=dict)

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        codes = self.table.codes
        return None if codes is None else codes[self.where]

    def column(self, name: Any) -> Vector:
        return self.table[name].take(self.where)

    def hashed(self, names: Sequence[Any], salt: bytes) -> hashing.Hashes:
        columns = ((name, self.column(name)) for name in names)
        return hashing.of_rows(columns, self.rows, self.table.key + salt, equal=True)

    @property
    def hashes(self) -> hashing.Hashes:
        """A keyed hash of all that each row holds: the same for equal ones."""
        if "hashes" not in self.memo:
            columns = ((name, self.column(name)) for name in self.table.names)
            self.memo["hashes"] = hashing.of_rows(columns, self.rows, self.table.key, equal=True)
        found: hashing.Hashes = self.memo["hashes"]
        return found

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        return self.table.plain(names, self.where)


class RowTable:
    """Some rows of columns in memory, in an order of their own, read a slice at a time."""

    def __init__(
        self,
        columns: Columns | ComputedColumns,
        key: bytes,
        picked: npt.NDArray[np.intp] | None = None,
        codes: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self._columns = columns
        self.key = key
        self.picked = picked  # None: all rows, in their order
        self.codes = codes  # of the units of all rows
        self._taken = lru_cache(maxsize=None)(self._take)

    @property
    def names(self) -> tuple[Any, ...]:
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._columns.rows if self.picked is None else len(self.picked)

    def __getitem__(self, name: Any) -> Vector:
        return self._columns[name] if self.picked is None else self._taken(name)

    def _take(self, name: Any) -> Vector:
        return self._columns[name].take(self.picked)  # type: ignore[arg-type]

    def plain(self, names: Sequence[Any], rows: slice) -> pd.DataFrame:
        """Rows as they were given, for a caller's own function."""
        return self._columns.plain(names, rows if self.picked is None else self.picked[rows])

    def block(self, first: int, last: int) -> Block:
        return Block(self, slice(first, last), last - first)


class PandasEngine:
    """A DataFrame, its rows bounded to the unit's max_rows before anything is asked of them."""

    def __init__(
        self,
        rows: pd.DataFrame | Columns | ComputedColumns,
        unit: Unit,
        key: bytes,
        block: int = BLOCK,
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
        """The same, those of one unit side by side."""
        if self._by_unit is None:
            kept = self._rows()
            codes = np.arange(len(kept))
            if self.unit.column is not None:
                codes = truncation.unit_codes(kept.block(0, len(kept)), self.unit)
            order = np.argsort(codes, kind="stable")
            picked = order if kept.picked is None else kept.picked[order]
            self._by_unit = RowTable(self.read, self.key, picked, codes[order])
        return self._by_unit

    def accumulate_rows(
        self,
        kernel: Kernel,
        empty: Callable[[], Accumulator],
        label: str,
        whole_units: bool = False,
    ) -> Any:
        table = self._rows_by_unit() if whole_units else self._rows()
        edges = [*range(0, len(table), self.block), len(table)]
        if table.codes is not None:
            edges = _between_units(edges, table.codes)
        if len(edges) <= 5:
            return self._part(table, kernel, empty, edges, lambda share: None).result()
        parts = parallel.workers()
        cuts = [(len(edges) - 1) * i // parts for i in range(parts + 1)]
        tasks = [
            partial(self._part, table, kernel, empty, edges[a : b + 1]) for a, b in pairwise(cuts)
        ]
        first, *others = parallel.run(tasks, label)
        for other in others:
            first.join(other)
        return first.result()

    def per_unit(
        self,
        where: Expression | None,
        branches: int,
        asked: Mapping[Any, tuple[Expression | None, str]],
    ) -> PerUnitEngine:
        return PerUnitEngine(self, where, branches, asked)

    def _part(
        self,
        table: RowTable,
        kernel: Kernel,
        empty: Callable[[], Accumulator],
        edges: Sequence[int],
        tell: Callable[[float], None],
    ) -> Accumulator:
        total = empty()
        with np.errstate(all="ignore"):
            for done, (first, last) in enumerate(pairwise(edges), 1):
                total.add(kernel(table.block(first, last)), last - first)
                tell(done / (len(edges) - 1))
        return total


def _between_units(edges: Sequence[int], codes: npt.NDArray[np.intp]) -> list[int]:
    """Each edge moved up to the end of the unit that it would cut."""
    return sorted({int(np.searchsorted(codes, codes[e - 1], "right")) if e else 0 for e in edges})


class PerUnitEngine:
    """One row a unit, made from all its rows by aggregates: 1-stable, however many they were."""

    def __init__(
        self,
        base: PandasEngine | PerUnitEngine,
        where: Expression | None,
        branches: int,
        asked: Mapping[Any, tuple[Expression | None, str]],
    ) -> None:
        self.unit: Unit = Unit(base.unit.column, 1)
        self.columns: tuple[Any, ...] = (base.unit.column, *asked)
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
            self._made = PandasEngine(columns, self.unit, self._key(base.key), base.block)
        return self._made

    def _key(self, key: bytes) -> bytes:
        """Another for what was sampled before, so that a sample of a sample is another choice."""
        times = samples(self._where)
        return bytes.fromhex(hashing.digest(f"{times} samples", key)) if times else key

    def per_unit(
        self,
        where: Expression | None,
        branches: int,
        asked: Mapping[Any, tuple[Expression | None, str]],
    ) -> PerUnitEngine:
        return PerUnitEngine(self, where, branches, asked)

    def accumulate_rows(
        self,
        kernel: Kernel,
        empty: Callable[[], Accumulator],
        label: str,
        whole_units: bool = False,
    ) -> Any:
        return self.made().accumulate_rows(kernel, empty, label, whole_units)
