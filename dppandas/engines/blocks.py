"""Blocks of rows, as kernels see them: columns in closed forms, of which a kernel reads some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass, field
from ..errors import InternalError
from ..rows.accumulators import Accumulator
from ..rows.expressions import History
from ..rows.values import hashing
from ..rows.values.forms import Vector
from .base import Kernel, Need
from .parallel import Tell
from .readers import TableColumns

#: Rows per block. Fewer fit the cache better, but then threads spend their time on waiting for each
#: other: between two of numpy's functions only one of them runs (2^18 measured best on two cores).
BLOCK = 2**18
#: Rows per block of a thread that is alone, and waits for nobody.
ALONE = 2**16
#: How many histories a table remembers, however many rows it has, and in how many bytes more.
MOST_HISTORIES, MOST_BYTES = 64, 2**31
#: Bytes: more than the arrays of a block.
LARGE = 2**24


class Histories(Protocol):
    """What rows know of their units."""

    def column(self, history: History) -> Vector:
        """A history of all rows."""


@dataclass
class Block:
    """Some consecutive rows. A column is read when a kernel asks for it, and not before."""

    table: RowTable
    where: slice
    rows: int
    #: What may be asked of it; None for all.
    need: Need | None
    branch: int = 0
    #: Values of expressions on these rows that are asked for more than once.
    memo: dict[Any, Any] = field(default_factory=dict)

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        codes = self.table.codes
        return None if codes is None else codes[self.where]

    def column(self, name: Any) -> Vector:
        self._announced([name])
        return self.table.column(name).take(self.where)

    def history(self, history: History) -> Vector:
        """What each row knows of its unit."""
        if self.need is not None and not self.need.histories:
            raise InternalError("a kernel reads a history and didn't announce it.")
        return self.table.history(history).take(self.where)

    def hashed(self, names: Sequence[Any], salt: bytes, equal: bool = True) -> hashing.Hashes:
        if self.need is not None and not self.need.keyed:
            raise InternalError("a kernel hashes rows and didn't announce it.")
        columns = ((name, self.column(name)) for name in names)
        return hashing.of_rows(columns, self.rows, self.table.key + salt, equal)

    @property
    def hashes(self) -> hashing.Hashes:
        """A keyed hash of each whole row, the same for equal rows; computed once for all branches,
        which share the memo."""
        if "hashes" not in self.memo:
            self.memo["hashes"] = self.hashed(self.table.names, b"")
        found: hashing.Hashes = self.memo["hashes"]
        return found

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        self._announced(names)
        return self.table.plain(names, self.where)

    def _announced(self, names: Iterable[Any]) -> None:
        """A kernel must say what it reads: other engines read nothing else."""
        if self.need is not None and not self.need.columns.issuperset(names):
            raise InternalError("a kernel reads a column that it didn't announce.")


def most_histories(rows: int) -> int:
    """How many histories of so many rows are remembered."""
    return max(MOST_HISTORIES, MOST_BYTES // (8 * rows + 1))


@dataclass(eq=False, repr=False)
class RowTable:
    """Some rows of columns in memory, in any order, read a slice at a time."""

    columns: TableColumns
    key: bytes
    picked: npt.NDArray[np.intp] | None = None  # None: all rows, in their order
    #: Of the units of these rows, in their order.
    codes: npt.NDArray[np.intp] | None = None
    #: What the rows of these columns know of their units.
    histories: Histories | None = None

    def __post_init__(self) -> None:
        columns, picked = self.columns, self.picked
        self.names = tuple(columns)
        #: Straight to the columns; picked elements are gathered once.
        self.column: Callable[[Any], Vector] = columns.__getitem__
        if picked is not None:
            self.column = lru_cache(maxsize=None)(lambda name: columns[name].take(picked))

    @cached_property
    def history(self) -> Callable[[History], Vector]:
        """What these rows know of their units, as many histories of it as are remembered."""
        return lru_cache(maxsize=most_histories(len(self)))(self._history)

    def _history(self, history: History) -> Vector:
        if self.histories is None:
            raise InternalError("a history needs all rows of units.")
        found = self.histories.column(history)
        return found if self.picked is None else found.take(self.picked)

    def __len__(self) -> int:
        return self.columns.rows if self.picked is None else len(self.picked)

    def plain(self, names: Sequence[Any], rows: slice) -> pd.DataFrame:
        """Rows as they were given, for a function that the caller wrote."""
        return self.columns.plain(names, rows if self.picked is None else self.picked[rows])

    def block(self, first: int, last: int, need: Need | None = None) -> Block:
        """Some rows, of which only what is needed may be read: all, if it isn't said."""
        return Block(self, slice(first, last), last - first, need)

    def edges(self, block: int) -> list[int]:
        """Where blocks of about so many rows begin and end; units stay whole."""
        edges = [*range(0, len(self), block), len(self)]
        codes = self.codes
        if codes is None:
            return edges
        # each moved up to the end of the unit that it would cut
        moved = (int(np.searchsorted(codes, codes[e - 1], "right")) for e in edges if e)
        return sorted({0, *moved})


def add_blocks(
    total: Accumulator, table: RowTable, kernel: Kernel, edges: Sequence[int], tell: Tell
) -> Accumulator:
    """Add what a kernel makes of each block between the edges to a total."""
    with np.errstate(all="ignore"):
        for first, last in pairwise(edges):
            block = table.block(first, last, kernel.need)
            total.add(kernel(block), block.rows)
            tell(last - edges[0])
    return total


@cache
def reuse_memory() -> None:
    """Let each block's arrays lie where the last one's lay, from now on.

    glibc returns free memory to the system if it is more than twice the largest array freed so far
    (M_TRIM_THRESHOLD in mallopt(3)), which for the small arrays of a block is in each block. To get
    it back, zeroed page by page, took longer than to count ten thousand keys. So free a large one.
    """
    np.empty(LARGE, dtype=np.uint8)
