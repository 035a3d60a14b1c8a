"""Where rows come from, and how the partials of their chunks are put together.

An engine has one method that reads rows for an answer. Its result is the same whatever the size
and order of the chunks, so that the privacy argument is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..rows.accumulators import Accumulator
from ..rows.expressions import Chunk, Expression

#: From the rows of one chunk to a partial answer, such as integers that are added over chunks.
Kernel = Callable[[Chunk], Any]

#: What makes one value from a unit's rows.
AGGREGATES = (
    "sum", "mean", "median", "min", "max", "first", "count", "nunique", "any", "all", "size",
)  # fmt: skip


class Engine(Protocol):
    """One protected table."""

    columns: tuple[Any, ...]

    def accumulate_rows(
        self,
        kernel: Kernel,
        empty: Callable[[], Accumulator],
        label: str,
        whole_units: bool = False,
    ) -> Any:
        """The kernel's partials over all rows, at most 2^22 in a chunk, put together. With
        ``whole_units`` all rows of a unit come in one chunk, which tells whose they are."""
        ...

    def per_unit(
        self,
        where: Expression | None,
        branches: int,
        asked: Mapping[Any, tuple[Expression | None, str]],
    ) -> Engine:
        """A table of one row a unit, made from all its rows by aggregates."""
        ...
