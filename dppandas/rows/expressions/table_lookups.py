"""Elements of lists, and look-ups in public keys and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, field
from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import MISSING, Cell, vectors
from ..values.forms import Mask, Numbers, Vector
from ..values.lookups import Recent
from .base import Chunk, Domain, Expression, Literal, Meets, Truth, Unary, one_of
from .conditionals import LISTS, taken

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Element(Unary):
    """An element of a list, by position; a value that isn't a list is its own only element."""

    position: int

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        return vectors.by_cell(operand, self._of, ("element", self.position))

    def _of(self, cell: Cell) -> Cell:
        family, exact = cell
        if family not in LISTS:
            return cell if self.position == 0 else MISSING
        return exact[self.position] if self.position < len(exact) else MISSING

    def _kind(self, schema: Schema) -> Kind:
        operand = self.operand.kind(schema)
        return kinds.UNKNOWN if operand == kinds.LIST else operand

    def __str__(self) -> str:
        return f"{self.operand.inner}[{self.position}]"


@dataclass(frozen=True)
class HasElement(Unary, Truth):
    """Whether a list has an element at a position. An empty list has one, which is missing."""

    position: int

    def truth(self, chunk: Chunk) -> Mask:
        operand = self.operand.vector(chunk)
        found = vectors.by_cell(operand, self._of, ("has", self.position))
        return vectors.compare_scalar("==", found, True)

    def _of(self, cell: Cell) -> Cell:
        size = len(cell[1]) if cell[0] in LISTS else 1
        return "truth", self.position < max(1, size)

    def __str__(self) -> str:
        return f"{self.operand.inner} has [{self.position}]"


class _Tuples:
    """Finds declared tuples column by column, by the number of a prefix and the next label.

    Prefixes are renumbered at each column, so that many columns don't overflow. A table maps old
    numbers to new ones if few are possible, else a search. One number more stands for "outside".
    """

    def __init__(self, keys: Keys) -> None:
        self._steps: list[tuple[tuple[Any, ...], Codes, Codes | None]] = []
        number, before = np.zeros(len(keys), dtype=np.intp), 1
        for column in map(keys.column, range(keys.width)):
            levels = vectors.distinct(column)
            digits = vectors.prepared(levels).codes(vectors.coded(column, np.arange(len(keys))))
            number = number * len(levels) + digits
            prefixes, number = np.unique(number, return_inverse=True)
            self._steps.append((levels, prefixes, _table(prefixes, before, len(levels))))
            before = len(prefixes)
        self._at = np.append(np.argsort(number), len(keys))

    def codes(self, columns: Sequence[Vector]) -> Codes:
        number, before = np.zeros(1, dtype=np.intp), 1
        for column, (levels, prefixes, table) in zip(columns, self._steps, strict=True):
            digit = vectors.prepared(levels).codes(column)
            if table is not None:
                number = table.take(number * (len(levels) + 1) + digit)
            else:
                known = (number < before) & (digit < len(levels))
                wanted = number * len(levels) + digit
                slot = np.minimum(np.searchsorted(prefixes, wanted), len(prefixes) - 1)
                number = np.where(known & (prefixes[slot] == wanted), slot, len(prefixes))
            before = len(prefixes)
        return self._at.take(number)


def _table(prefixes: Codes, before: int, levels: int) -> Codes | None:
    """The new number at old number · (levels + 1) + label; either may be outside."""
    size = (before + 1) * (levels + 1)
    if size > max(2**16, 16 * len(prefixes)):
        return None
    table = np.full(size, len(prefixes), dtype=np.intp)
    table[prefixes // levels * (levels + 1) + prefixes % levels] = np.arange(len(prefixes))
    return table


_tuples = Recent(_Tuples)


def places(by: Sequence[Expression], keys: Keys, chunk: Chunk) -> Codes:
    """The position of each row's values among declared keys; len(keys) if they are none."""
    if keys.width == 1 and (found := by[0].places_among(keys, chunk)) is not None:
        return found
    columns = [expression.vector(chunk) for expression in by]
    if keys.width == 1:
        return vectors.prepared(keys.labels).codes(columns[0])
    return _tuples(keys).codes(columns)


@dataclass(frozen=True)
class _Found(Expression):
    """What is looked up among public keys."""

    by: tuple[Expression, ...]
    keys: Keys = field(repr=False)

    takes = kinds.LABELS

    def meets(self) -> Meets:
        return ((expression, self.keys.column(i)) for i, expression in enumerate(self.by))


@dataclass(frozen=True)
class InPart(_Found, Truth):
    """Whether a row lies in one piece of a partition by declared keys, and so in no other.

    A row's key is looked up among all keys, not compared with one: which key a value equals may
    depend on the others, as for 2**53 and 2**53 + 1 beside floats.
    """

    partition: str  # a name that includes the keys
    position: int

    is_atom = False
    not_asked = ("keys",)

    def truth(self, chunk: Chunk) -> Mask:
        return np.asarray(places(self.by, self.keys, chunk) == self.position)

    def __str__(self) -> str:
        columns = ", ".join(map(str, self.by))
        left = columns if self.keys.width == 1 else f"({columns})"
        return f"{left} == {self.keys.labels[self.position]!r}"


@dataclass(frozen=True)
class Place(_Found):
    """The number of the declared key that a row has, from 0; missing for rows that have none. With
    ``missing`` one number more stands for a missing label."""

    missing: bool = False

    makes = kinds.NUMBER
    is_atom = False

    def vector(self, chunk: Chunk) -> Vector:
        found = places(self.by, self.keys, chunk)
        numbers = np.where(found < len(self.keys), found, np.nan)
        if self.missing:
            numbers[vectors.is_null(self.by[0].vector(chunk))] = len(self.keys)
        return Numbers(numbers)

    def __str__(self) -> str:
        said = "1 key" if len(self.keys) == 1 else f"{len(self.keys)} keys"
        return f"{', '.join(map(str, self.by))} ({said})"


@dataclass(frozen=True)
class InTable(_Found, Truth):
    """Whether a public table has a row for these values."""

    table: str  # as in Lookup

    def truth(self, chunk: Chunk) -> Mask:
        return places(self.by, self.keys, chunk) < len(self.keys)

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.by))} in a public table"


@dataclass(frozen=True)
class Lookup(_Found):
    """A value of a public table, from the row for these values; missing if there is none."""

    column: Any
    values: tuple[Any, ...] = field(repr=False)
    table: str  # a digest that tells tables apart
    order: tuple[Any, ...] = field(default=(), compare=False, repr=False)  # of its labels
    not_asked: ClassVar[tuple[str, ...]] = ("order",)

    def vector(self, chunk: Chunk) -> Vector:
        return taken(self.values, places(self.by, self.keys, chunk))

    def _declared(self, domain: Domain) -> Declaration | None:
        """The values of a public table are public."""
        labels = vectors.distinct(value for value in self.values if value is not None)
        if self.order:
            return Keys(self.order, ordered=frozenset([0]))
        return Keys(labels) if labels else None

    @property
    def has_order(self) -> bool:
        return bool(self.order)

    def _kind(self, schema: Schema) -> Kind:
        return one_of(tuple(map(Literal, self.values)), schema)

    def __str__(self) -> str:
        return f"{self.column} of a public table by {', '.join(map(str, self.by))}"
