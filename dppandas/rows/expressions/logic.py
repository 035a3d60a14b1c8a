"""Truth values: comparisons, and what combines them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..facts import kinds
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.vectors import Mask
from .base import Chunk, Expression, Literal, Truth, inner


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

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        wanted = kinds.ANY if self.operation in ("==", "!=") else kinds.LABELS  # lists: no order
        return ((side, wanted) for side in self.children())

    def meets(self) -> Iterator[tuple[Expression, Sequence[Any]]]:
        for one, other in ((self.left, self.right), (self.right, self.left)):
            if isinstance(other, Literal):
                yield one, (other.value,)

    def __str__(self) -> str:
        return f"{inner(self.left)} {self.operation} {inner(self.right)}"


@dataclass(frozen=True)
class And(Truth):
    left: Expression
    right: Expression

    commutes = True

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) & self.right.truth(chunk)

    def __str__(self) -> str:
        return f"{inner(self.left)} and {inner(self.right)}"


@dataclass(frozen=True)
class Or(Truth):
    left: Expression
    right: Expression

    commutes = True

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) | self.right.truth(chunk)

    def __str__(self) -> str:
        return f"{inner(self.left)} or {inner(self.right)}"


@dataclass(frozen=True)
class Not(Truth):
    operand: Expression

    def truth(self, chunk: Chunk) -> Mask:
        return ~self.operand.truth(chunk)

    def __str__(self) -> str:
        return f"not {inner(self.operand)}"


@dataclass(frozen=True)
class IsMissing(Truth):
    """Missing: None, NaN, NA or NaT."""

    operand: Expression
    is_atom = True

    def truth(self, chunk: Chunk) -> Mask:
        return vectors.is_null(self.operand.vector(chunk))

    def __str__(self) -> str:
        return f"{inner(self.operand)}.isna()"


@dataclass(frozen=True)
class IsIn(Truth):
    """Equal to one of some plain values."""

    operand: Expression
    labels: tuple[Any, ...]

    def truth(self, chunk: Chunk) -> Mask:
        codes = vectors.prepared(self.labels).codes(self.operand.vector(chunk))
        return np.asarray(codes < len(self.labels), dtype=bool)

    def meets(self) -> Iterator[tuple[Expression, Sequence[Any]]]:
        yield self.operand, self.labels

    def __str__(self) -> str:
        return f"{inner(self.operand)} in [{', '.join(map(repr, self.labels))}]"


@dataclass(frozen=True)
class Sampled(Truth):
    """In a share of all units, chosen by a keyed hash of their names (or of a whole row)."""

    share: float
    names: tuple[Any, ...]
    times: int = 0  # how often was sampled before, so that a sample of a sample is another

    is_atom = True

    def truth(self, chunk: Chunk) -> Mask:
        hashes = chunk.hashed(self.names, b"sample %d" % self.times)
        return np.asarray((hashes >> np.uint64(11)).astype(np.float64) < self.share * 2.0**53)

    def columns(self) -> frozenset[Any]:
        return frozenset(self.names)

    def __str__(self) -> str:
        return f"sample({self.share:g})"


def samples(expression: Expression | None) -> int:
    """How often an expression samples."""
    if expression is None:
        return 0
    return isinstance(expression, Sampled) + sum(map(samples, expression.children()))


def both(left: Expression | None, right: Expression) -> Expression:
    """The rows of a filter that another keeps too."""
    return right if left is None else And(left, right)


def between(operand: Expression, low: Expression, high: Expression, inclusive: str) -> Expression:
    """pandas' between: inclusive is "both", "neither", "left" or "right"."""
    above = ">=" if inclusive in ("both", "left") else ">"
    below = "<=" if inclusive in ("both", "right") else "<"
    return And(Compare(above, operand, low), Compare(below, operand, high))
