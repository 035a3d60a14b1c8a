"""How the partials of chunks are put together: to the same whatever their size and order."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

#: A row adds at most 2^30 to an entry, and comes in at most 2^10 branches: so many rows can't
#: overflow an int64.
ROWS_PER_FOLD = 2**22
MOST_BRANCHES = 2**10


class Accumulator(Protocol):
    """Puts partials together."""

    def add(self, partial: Any, rows: int) -> None:
        """Add the partial of some rows."""
        ...

    def join(self, other: Any) -> None:
        """Add what another one of its kind has gathered."""
        ...

    def result(self) -> Any:
        """What all partials come to."""
        ...


class SumAccumulator:
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

    def join(self, other: SumAccumulator) -> None:
        """Add another total, in Python's integers."""
        self._fold()
        self._exact = [a + b for a, b in zip(self._exact, other.result(), strict=True)]

    def result(self) -> list[int]:
        """Exact, in Python's integers."""
        return self._with(self._partial)
