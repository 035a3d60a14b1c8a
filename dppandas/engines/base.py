"""Where rows come from.

Only `accumulate_rows` reads rows for an answer; `per_unit` describes another table, which is made
when it is first read. The result doesn't depend on the size or order of the chunks, so one privacy
argument covers them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..rows.accumulators import Accumulator
from ..rows.expressions import Chunk, Expression

#: From the rows of one chunk to a partial answer, such as integers to be added over chunks.
Kernel = Callable[[Chunk], Any]

#: Makes an accumulator without anything in it.
Empty = Callable[[], Accumulator]

#: How a unit's rows are aggregated to one value.
AGGREGATES = (
    "sum", "mean", "median", "min", "max", "first", "count", "nunique", "any", "all", "size",
)  # fmt: skip

#: By new column: what is aggregated (None for rows), and how.
PerUnitColumns = Mapping[Any, tuple[Expression | None, str]]


class Engine(Protocol):
    """One protected table."""

    columns: tuple[Any, ...]

    def accumulate_rows(
        self, kernel: Kernel, empty: Empty, label: str, whole_units: bool = False
    ) -> Any:
        """The kernel's partial answers over all rows, accumulated; a chunk has at most 2^22 rows.
        With ``whole_units``, all rows of a unit come in one chunk, which knows their units."""

    def per_unit(self, where: Expression | None, branches: int, asked: PerUnitColumns) -> Engine:
        """A table with one row per unit, aggregated from all its rows."""
