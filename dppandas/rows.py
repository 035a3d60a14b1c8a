"""The closed vocabulary of row-wise expressions.

A tree of frozen nodes over the columns of a source. Each is evaluated elementwise on one chunk by
`vectors`, never by pandas' eval, and its value in a row depends on that row alone: so filters and
columns built from it keep the stability of the rows they start from. This vocabulary is an
allow-list: what has no node can't be said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from . import vectors
from .domain import Bounds, Declaration, Keys
from .errors import QueryError, shown
from .vectors import Mask, Vector


class Chunk(Protocol):
    """Some rows of a source."""

    rows: int

    def column(self, name: Any) -> Vector: ...


class Expression:
    """A row-wise expression: one value a row."""

    def vector(self, chunk: Chunk) -> Vector:
        raise NotImplementedError

    def truth(self, chunk: Chunk) -> Mask:
        """Which rows hold True (or a number that equals it)."""
        return vectors.compare_scalar("==", self.vector(chunk), True)

    def children(self) -> Iterator[Expression]:
        for each in fields(self):  # type: ignore[arg-type]
            value = getattr(self, each.name)
            if isinstance(value, Expression):
                yield value

    def columns(self) -> frozenset[Any]:
        """The source columns that this reads."""
        return frozenset().union(*(child.columns() for child in self.children()))

    @property
    def is_truth(self) -> bool:
        """Whether every value is True or False."""
        return isinstance(self, Truth)


class Truth(Expression):
    """An expression whose values are True and False, and never missing."""

    def vector(self, chunk: Chunk) -> Vector:
        return Vector(self.truth(chunk))


@dataclass(frozen=True)
class Column(Expression):
    """A column of the source."""

    name: Any

    def vector(self, chunk: Chunk) -> Vector:
        return chunk.column(self.name)

    def columns(self) -> frozenset[Any]:
        return frozenset([self.name])

    def __str__(self) -> str:
        name = str(self.name)
        return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Literal(Expression):
    """A plain value that the caller wrote down: the same in each row."""

    value: Any

    def vector(self, chunk: Chunk) -> Vector:
        if isinstance(self.value, vectors.NUMBERS):
            return Vector(np.full(chunk.rows, self.value))
        return Vector(np.array([self.value], dtype=object).repeat(chunk.rows))

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Every(Truth):
    """True in each row."""

    def truth(self, chunk: Chunk) -> Mask:
        return np.ones(chunk.rows, dtype=bool)

    def __str__(self) -> str:
        return "every row"


EVERY = Every()


@dataclass(frozen=True)
class Compare(Truth):
    """left operation right, with one of == != < <= > >=."""

    operation: str
    left: Expression
    right: Expression

    def truth(self, chunk: Chunk) -> Mask:
        if isinstance(self.right, Literal):
            return vectors.compare_scalar(self.operation, self.left.vector(chunk), self.right.value)
        if isinstance(self.left, Literal):
            flipped = vectors.FLIPPED[self.operation]
            return vectors.compare_scalar(flipped, self.right.vector(chunk), self.left.value)
        left, right = self.left.vector(chunk), self.right.vector(chunk)
        return vectors.compare_vectors(self.operation, left, right)

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.operation} {_inner(self.right)}"


@dataclass(frozen=True)
class And(Truth):
    left: Expression
    right: Expression

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) & self.right.truth(chunk)

    def __str__(self) -> str:
        return f"{_inner(self.left)} and {_inner(self.right)}"


@dataclass(frozen=True)
class Or(Truth):
    left: Expression
    right: Expression

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) | self.right.truth(chunk)

    def __str__(self) -> str:
        return f"{_inner(self.left)} or {_inner(self.right)}"


@dataclass(frozen=True)
class Not(Truth):
    operand: Expression

    def truth(self, chunk: Chunk) -> Mask:
        return ~self.operand.truth(chunk)

    def __str__(self) -> str:
        return f"not {_inner(self.operand)}"


@dataclass(frozen=True)
class IsMissing(Truth):
    """Missing: None, NaN, NA or NaT."""

    operand: Expression

    def truth(self, chunk: Chunk) -> Mask:
        return vectors.is_null(self.operand.vector(chunk))

    def __str__(self) -> str:
        return f"{_inner(self.operand)}.isna()"


@dataclass(frozen=True)
class IsIn(Truth):
    """Equal to one of some plain values."""

    operand: Expression
    labels: tuple[Any, ...]

    def truth(self, chunk: Chunk) -> Mask:
        labels = tuple(dict.fromkeys(self.labels))
        return vectors.prepared(labels).codes(self.operand.vector(chunk)) < len(labels)

    def __str__(self) -> str:
        return f"{_inner(self.operand)} in [{', '.join(map(repr, self.labels))}]"


@dataclass(frozen=True)
class Arithmetic(Expression):
    """left operation right, in float64: no wrap-around, and missing where either side is.

    There is one zero: dividing by an integer 0, by 0.0 or by -0.0 gives the same.
    """

    operation: str
    left: Expression
    right: Expression

    def vector(self, chunk: Chunk) -> Vector:
        a = vectors.as_numbers(self.left.vector(chunk)) + 0.0
        b = vectors.as_numbers(self.right.vector(chunk)) + 0.0
        with np.errstate(all="ignore"):
            return Vector(ARITHMETIC[self.operation](a, b))

    def __str__(self) -> str:
        return f"{_inner(self.left)} {self.operation} {_inner(self.right)}"


ARITHMETIC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
}


@dataclass(frozen=True)
class Negative(Expression):
    operand: Expression

    def vector(self, chunk: Chunk) -> Vector:
        return Vector(-vectors.as_numbers(self.operand.vector(chunk)))

    def __str__(self) -> str:
        return f"-{_inner(self.operand)}"


def _inner(expression: Expression) -> str:
    leaf = isinstance(expression, Column | Literal | IsMissing)
    return str(expression) if leaf else f"({expression})"


def both(left: Expression | None, right: Expression) -> Expression:
    """The rows of a filter that another keeps too."""
    return right if left is None else And(left, right)


def between(operand: Expression, low: Expression, high: Expression, inclusive: str) -> Expression:
    """pandas' between: inclusive is "both", "neither", "left" or "right"."""
    above = ">=" if inclusive in ("both", "left") else ">"
    below = "<=" if inclusive in ("both", "right") else "<"
    return And(Compare(above, operand, low), Compare(below, operand, high))


def family(declared: Declaration | None) -> str:
    """What a declared domain says that values are: "number", "text", or "" where it can't say."""
    if isinstance(declared, Bounds):
        return "number"
    if declared is None:
        return ""
    families = {_family(label) for label in declared.labels}
    return families.pop() if len(families) == 1 else ""


def _family(value: Any) -> str:
    if isinstance(value, vectors.NUMBERS):
        return "number"
    return "text" if isinstance(value, str) else ""


def agree(expression: Expression, declared: str, values: Iterable[Any]) -> None:
    """Refuse plain values that can't equal what was declared: they would count nothing."""
    for value in values:
        if declared and _family(value) and _family(value) != declared:
            raise QueryError(
                f"{expression} is declared as {declared}, and {shown(value)} is not: they are "
                "never equal. Nothing was computed or charged."
            )


def check(expression: Expression, domain: Mapping[Any, Declaration], truth: bool = False) -> None:
    """Refuse what a declared domain shows to be a slip: text beside numbers, a number as a mask."""
    said = {
        child: family(domain.get(child.name))
        for child in [expression, *expression.children()]
        if isinstance(child, Column)
    }
    if truth and isinstance(expression, Column):
        declared = domain.get(expression.name)
        values = declared.labels if isinstance(declared, Keys) else ()
        is_range = isinstance(declared, Bounds) and declared not in (Bounds(0, 1), Bounds(1, 1))
        if is_range or any(value not in (0, 1) for value in values):
            raise QueryError(f"{expression} is declared as no truth value: compare it.")
    if isinstance(expression, Compare):
        literals = [c.value for c in expression.children() if isinstance(c, Literal)]
        for column, declared_family in said.items():
            agree(column, declared_family, literals)
    elif isinstance(expression, IsIn):
        for column, declared_family in said.items():
            agree(column, declared_family, expression.labels)
    elif isinstance(expression, Arithmetic | Negative) and "text" in said.values():
        raise QueryError(f"{expression}: text has no arithmetic. Nothing was computed or charged.")
    for child in expression.children():
        check(child, domain, truth=isinstance(expression, And | Or | Not))
