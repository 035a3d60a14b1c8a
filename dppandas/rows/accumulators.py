"""Accumulators of chunks' partial answers; the result doesn't depend on their size or order."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

#: This many rows can't overflow an int64: a row adds at most 2^30 in each of at most 2^10 branches.
ROWS_PER_FOLD = 2**22
MOST_BRANCHES = 2**10


class Accumulator(Protocol):
    """Combines partial answers."""

    def add(self, partial: Any, rows: int) -> None:
        """Add the partial answer of some rows."""

    def join(self, other: Any) -> None:
        """Add all that another accumulator of the same class holds."""

    def result(self) -> Any:
        """The combined answer."""


class SumAccumulator:
    """Adds int64 arrays of any number without wrapping around."""

    def __init__(self, size: int) -> None:
        self._exact: list[int] | None = None  # of the rows before those of the array
        self._partial = np.zeros(size, dtype=np.int64)
        self._rows = 0

    def add(self, partial: npt.NDArray[np.int64], rows: int) -> None:
        """Add the sums of some rows, none of which adds more than 2^40 to an entry."""
        if self._rows + rows > ROWS_PER_FOLD:
            self._exact = self.result()
            self._partial = np.zeros_like(self._partial)
            self._rows = 0
        self._partial += partial
        self._rows += rows

    def join(self, other: SumAccumulator) -> None:
        self.add(other._partial, other._rows)
        if other._exact is not None:
            self._exact = _added(other._exact, self._exact)

    def result(self) -> list[int]:
        """The sums, exact in Python's integers."""
        return _added(self._partial.tolist(), self._exact)


def _added(sums: list[int], others: list[int] | None) -> list[int]:
    return sums if others is None else [a + b for a, b in zip(sums, others, strict=True)]
