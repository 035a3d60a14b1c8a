"""pandas in memory: chunks in blocks that fit a processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from .. import progress
from ..domain import Unit
from ..vectors import Vector
from . import Kernel, Total, combined, contents
from .readers import Reader, reader

#: Rows of a block: enough for numpy, few enough for the cache (measured: 2^17 or 2^18).
BLOCK = 2**17


@dataclass
class Block:
    """Some consecutive rows. Columns are read when a kernel asks for them, and not before."""

    readers: Callable[[Any], Reader]
    where: slice
    rows: int

    def column(self, name: Any) -> Vector:
        return self.readers(name)(self.where)


class PandasEngine:
    """A DataFrame, its rows already bounded to the unit's max_rows."""

    def __init__(self, frame: pd.DataFrame, unit: Unit, key: bytes, block: int = BLOCK) -> None:
        self.columns: tuple[Any, ...] = tuple(frame.columns)
        self.frame = frame
        self._unit = unit
        self._key = key
        self._block = block
        self._kept: pd.DataFrame | None = None
        self._readers = lru_cache(maxsize=None)(self._reader)

    def _rows(self) -> pd.DataFrame:
        """The rows that count, truncated once."""
        if self._kept is None:
            kept = self.frame
            if self._unit.column is not None:
                with np.errstate(all="ignore"):
                    kept = kept[contents.kept_rows(kept, self._unit, self._key)]
            self._kept = kept
        return self._kept

    def _reader(self, name: Any) -> Reader:
        frame = self._rows()
        position = list(frame.columns).index(name)
        return reader(frame.iloc[:, position])

    def integers(self, kernel: Kernel, size: int, label: str) -> list[int]:
        rows = len(self._rows())
        if rows <= 4 * self._block:
            return self._part(kernel, size, 0, rows, lambda share: None)
        parts = progress.workers()
        edges = [rows * i // parts for i in range(parts + 1)]
        tasks = [partial(self._part, kernel, size, start, stop) for start, stop in pairwise(edges)]
        return combined(progress.run(tasks, label))

    def _part(
        self, kernel: Kernel, size: int, start: int, stop: int, tell: Callable[[float], None]
    ) -> list[int]:
        total = Total(size)
        with np.errstate(all="ignore"):
            for first in range(start, stop, self._block):
                last = min(first + self._block, stop)
                block = Block(self._readers, slice(first, last), last - first)
                total.add(kernel(block), last - first)
                tell((last - start) / (stop - start))
        return total.result()
