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

from .. import hashing, progress
from ..domain import Unit
from ..rows import Expression, samples
from ..totals import Gathering
from ..vectors import Vector
from . import Kernel, aggregates, contents
from .readers import Reader, reader

#: Rows of a block: enough for numpy, few enough for the cache (measured: 2^17 or 2^18).
BLOCK = 2**17


@dataclass
class Block:
    """Some consecutive rows. Columns are read when a kernel asks for them, and not before."""

    frame: pd.DataFrame
    readers: Callable[[Any], Reader]
    where: slice
    rows: int
    key: bytes
    codes: npt.NDArray[np.intp] | None = None  # of the units of all rows
    branch: int = 0
    #: What expressions said of these rows, that are asked more than once.
    memo: dict[Any, Any] = field(default_factory=dict)

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        return None if self.codes is None else self.codes[self.where]

    def column(self, name: Any) -> Vector:
        return self.readers(name)(self.where)

    def hashed(self, names: Sequence[Any], salt: bytes) -> hashing.Hashes:
        columns = ((name, self.column(name)) for name in names)
        return hashing.of_rows(columns, self.rows, self.key + salt)

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        all_names = list(self.frame.columns)
        return self.frame.iloc[self.where, [all_names.index(name) for name in names]]


class Table:
    """Rows in memory, read a slice at a time."""

    def __init__(
        self, frame: pd.DataFrame, key: bytes, codes: npt.NDArray[np.intp] | None = None
    ) -> None:
        self._frame = frame
        self.key = key
        self.codes = codes
        self._readers = lru_cache(maxsize=None)(self._reader)

    def __len__(self) -> int:
        return len(self._frame)

    def _reader(self, name: Any) -> Reader:
        position = list(self._frame.columns).index(name)
        return reader(self._frame.iloc[:, position])

    def block(self, first: int, last: int) -> Block:
        rows = slice(first, last)
        return Block(self._frame, self._readers, rows, last - first, self.key, self.codes)


class PandasEngine:
    """A DataFrame, its rows bounded to the unit's max_rows before anything is asked of them."""

    def __init__(self, frame: pd.DataFrame, unit: Unit, key: bytes, block: int = BLOCK) -> None:
        self.columns: tuple[Any, ...] = tuple(frame.columns)
        self.frame = frame
        self.unit = unit
        self.key = key
        self.block = block
        self._kept: Table | None = None
        self._by_unit: Table | None = None

    def made(self) -> PandasEngine:
        return self

    def _rows(self) -> Table:
        """The rows that count, truncated once."""
        if self._kept is None:
            kept = self.frame
            if self.unit.column is not None:
                with np.errstate(all="ignore"):
                    kept = kept[contents.kept_rows(kept, self.unit, self.key)]
            self._kept = Table(kept, self.key)
        return self._kept

    def _rows_by_unit(self) -> Table:
        """The same, those of one unit side by side."""
        if self._by_unit is None:
            kept = self._rows()._frame
            codes = np.arange(len(kept))
            if self.unit.column is not None:
                codes = contents.unit_codes(Table(kept, b"").block(0, len(kept)), self.unit)
            order = np.argsort(codes, kind="stable")
            self._by_unit = Table(kept.iloc[order], self.key, codes[order])
        return self._by_unit

    def gather(
        self,
        kernel: Kernel,
        empty: Callable[[], Gathering],
        label: str,
        whole_units: bool = False,
    ) -> Any:
        table = self._rows_by_unit() if whole_units else self._rows()
        edges = [*range(0, len(table), self.block), len(table)]
        if table.codes is not None:
            edges = _between_units(edges, table.codes)
        if len(edges) <= 5:
            return self._part(table, kernel, empty, edges, lambda share: None).result()
        parts = progress.workers()
        cuts = [(len(edges) - 1) * i // parts for i in range(parts + 1)]
        tasks = [
            partial(self._part, table, kernel, empty, edges[a : b + 1]) for a, b in pairwise(cuts)
        ]
        first, *others = progress.run(tasks, label)
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
        table: Table,
        kernel: Kernel,
        empty: Callable[[], Gathering],
        edges: Sequence[int],
        tell: Callable[[float], None],
    ) -> Gathering:
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
            table = Table(base.frame, base.key)
            with np.errstate(all="ignore"):
                frame = aggregates.per_unit(
                    table.block(0, len(table)), self.unit, self._where, self._branches, self._asked
                )
            self._made = PandasEngine(frame, self.unit, self._key(base.key), base.block)
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

    def gather(
        self,
        kernel: Kernel,
        empty: Callable[[], Gathering],
        label: str,
        whole_units: bool = False,
    ) -> Any:
        return self.made().gather(kernel, empty, label, whole_units)
