"""Where rows come from, and how the integers of their chunks are added up.

An engine has one method that reads rows for an answer. Its result is the same integers whatever
the size and order of the chunks, so that the privacy argument is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..rows import Chunk, Expression

#: From the rows of one chunk to integers that are added over chunks.
Kernel = Callable[[Chunk], npt.NDArray[np.int64]]

#: A row adds at most 2^30 to an entry, and comes in at most 2^10 branches: so many rows can't
#: overflow an int64.
ROWS_PER_FOLD = 2**22
MOST_BRANCHES = 2**10

#: What makes one value from a unit's rows.
AGGREGATES = (
    "sum", "mean", "median", "min", "max", "count", "nunique", "any", "all", "size",
)  # fmt: skip


class Engine(Protocol):
    """One protected table."""

    columns: tuple[Any, ...]

    def integers(
        self, kernel: Kernel, size: int, label: str, whole_units: bool = False
    ) -> list[int]:
        """The kernel's integers added over all rows, at most 2^22 in a chunk. With ``whole_units``
        all rows of a unit come in one chunk, which tells whose they are."""
        ...

    def per_unit(
        self,
        where: Expression | None,
        branches: int,
        asked: Mapping[Any, tuple[Expression | None, str]],
    ) -> Engine:
        """A table of one row a unit, made from all its rows by aggregates."""
        ...


class Total:
    """Adds int64 partials without wrapping around, whatever their number."""

    def __init__(self, size: int) -> None:
        self._exact = [0] * size
        self._partial = np.zeros(size, dtype=np.int64)
        self._rows = 0

    def add(self, partial: npt.NDArray[np.int64], rows: int) -> None:
        """Add the partial of some rows, none of which adds more than 2^40 to an entry."""
        if self._rows + rows > ROWS_PER_FOLD:
            self._fold()
        self._partial += partial
        self._rows += rows

    def _fold(self) -> None:
        self._exact = self._with(self._partial)
        self._partial = np.zeros_like(self._partial)
        self._rows = 0

    def _with(self, partial: npt.NDArray[np.int64]) -> list[int]:
        return [exact + more for exact, more in zip(self._exact, partial.tolist(), strict=True)]

    def result(self) -> list[int]:
        return self._with(self._partial)


def combined(totals: Sequence[list[int]]) -> list[int]:
    """The sum of totals, in Python's integers."""
    return [sum(parts) for parts in zip(*totals, strict=True)]
