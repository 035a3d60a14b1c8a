"""Where rows come from.

Only `accumulate_rows` reads rows for an answer; `per_unit` describes another table, which is made
when it is first read. The result doesn't depend on the size or order of the chunks, so one privacy
argument covers them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..dataclasses import dataclass, replace
from ..rows.accumulators import Accumulator
from ..rows.expressions import Chunk, Expression, OwnRows

#: Makes an accumulator without anything in it.
Empty = Callable[[], Accumulator]


@dataclass(frozen=True)
class UnitTable:
    """A table to be made, with one row for each unit, or for each of its groups.

    rows : the rows that are aggregated. by : the names of their groups' labels. asked : by new
        column what is aggregated (None for rows), and how. max_rows : how many rows of a unit are
        used: other groups are dropped by a hash.
    """

    rows: OwnRows
    by: tuple[Any, ...]
    asked: Mapping[Any, tuple[Expression | None, str]]
    max_rows: int = 1

    @property
    def labels(self) -> tuple[Any, ...]:
        """The columns that tell rows apart: which rows of a unit are kept is decided by these."""
        return (self.rows.unit, *self.by)

    @property
    def columns(self) -> tuple[Any, ...]:
        return (*self.labels, *self.asked)


@dataclass(frozen=True)
class Need:
    """What a query reads, known from public facts before it is charged.

    columns : all that may be read. whole_units : whether all rows of a unit must come together, in
    one chunk that knows their units. keyed : whether rows are hashed with the key of the source.
    plain : whether a function that the caller wrote sees the rows. histories : whether values
    follow from all rows of a unit: then all columns are read, for ties are decided by whole rows.
    """

    columns: frozenset[Any]
    whole_units: bool = False
    keyed: bool = False
    plain: bool = False
    histories: bool = False


@dataclass(frozen=True)
class Kernel:
    """What is computed from each chunk: a partial answer, such as integers to be added.

    A value without a closure, so that it can be pickled and work where the rows are.

    over_branches : from what a chunk's rows become, and the filter. empty : what accumulates the
        partial answers. need : all that it may ask of a chunk.
    """

    over_branches: Callable[[Sequence[Chunk], Expression | None], Any]
    empty: Empty
    need: Need
    where: Expression | None = None
    branches: int = 1

    def __call__(self, chunk: Chunk) -> Any:
        others = [replace(chunk, branch=i) for i in range(1, self.branches)]  # type: ignore[type-var]
        return self.over_branches([chunk, *others], self.where)


class ReadError(Exception):
    """Rows that can't be read any more. Its message names files, and quotes no data."""


class Engine(Protocol):
    """One protected table."""

    columns: tuple[Any, ...]

    def check(self, needs: Sequence[Need]) -> None:
        """Raise `ReadError` if it is plain without reading rows that these can't be had."""

    def accumulate_rows(self, kernel: Kernel, label: str) -> Any:
        """The kernel's partial answers over all rows, accumulated; at most 2^22 rows at once."""

    def per_unit(self, table: UnitTable) -> Engine:
        """A table that is aggregated from all rows of each unit."""
