"""Truth values: comparisons and tests, and the logic that combines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclasses import dataclass
from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Schema
from ..figures import short
from ..values import vectors
from ..values.forms import Mask, Truths, Vector
from .base import Chunk, Domain, Expression, Infix, Literal, Meets, Needs, Truth, Unary


@dataclass(frozen=True)
class Every(Truth):
    """True in every row."""

    is_atom = False
    keeps_all = True

    def truth(self, chunk: Chunk) -> Mask:
        return np.ones(chunk.rows, dtype=bool)

    def __str__(self) -> str:
        return "every row"


EVERY = Every()


@dataclass(frozen=True)
class Compare(Infix, Truth):
    """``left operation right``, with one of ``== != < <= > >=``."""

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

    def needs(self, schema: Schema) -> Needs:
        wanted = kinds.ORDERED if self.orders else kinds.ANY
        return ((side, wanted) for side in self.children())

    @property
    def orders(self) -> bool:
        """Whether it asks which side is larger."""
        return self.operation not in ("==", "!=")

    def meets(self) -> Meets:
        for one, other in ((self.left, self.right), (self.right, self.left)):
            if isinstance(other, Literal):
                yield one, (other.value,)


@dataclass(frozen=True)
class And(Infix, Truth):
    """True where both are."""

    left: Expression
    right: Expression

    operation = "and"
    commutes = True

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) & self.right.truth(chunk)


@dataclass(frozen=True)
class Or(Infix, Truth):
    """True where one is, or both."""

    left: Expression
    right: Expression

    operation = "or"
    commutes = True

    def truth(self, chunk: Chunk) -> Mask:
        return self.left.truth(chunk) | self.right.truth(chunk)


@dataclass(frozen=True)
class Not(Unary, Truth):
    """True where it isn't."""

    is_atom = False

    def truth(self, chunk: Chunk) -> Mask:
        return ~self.operand.truth(chunk)

    def __str__(self) -> str:
        return f"not {self.operand.inner}"


@dataclass(frozen=True)
class Opposite(Unary):
    """False for True and for 1, True for any other value, as `Not`; missing where the value is."""

    makes = kinds.TRUTH
    is_atom = False

    def vector(self, chunk: Chunk) -> Vector:
        return Truths(~self.operand.truth(chunk), self.operand.vector(chunk).null())

    def _declared(self, domain: Domain) -> Declaration | None:
        return Keys((False, True))

    def __str__(self) -> str:
        return f"not {self.operand.inner}"


def negated(truth: Expression) -> Expression:
    """``not truth``; of a column of truth values, some of which may be missing, as pandas'
    nullable ones have it."""
    return Not(truth) if truth.is_truth else Opposite(truth)


@dataclass(frozen=True)
class IsMissing(Unary, Truth):
    """Whether a value is missing: None, NaN, NA or NaT."""

    def truth(self, chunk: Chunk) -> Mask:
        return self.operand.vector(chunk).null()

    def __str__(self) -> str:
        return f"{self.operand.inner}.isna()"


@dataclass(frozen=True)
class IsIn(Unary, Truth):
    """Whether a value equals one of some plain values."""

    labels: tuple[Any, ...]

    is_atom = False

    def truth(self, chunk: Chunk) -> Mask:
        codes = vectors.prepared(self.labels).codes(self.operand.vector(chunk))
        return np.asarray(codes < len(self.labels), dtype=bool)

    def meets(self) -> Meets:
        yield self.operand, self.labels

    def __str__(self) -> str:
        return f"{self.operand.inner} in [{', '.join(map(repr, self.labels))}]"


@dataclass(frozen=True)
class Sampled(Truth):
    """Whether a unit (or a whole row) is in a sample, chosen by a keyed hash of its name."""

    share: float
    names: tuple[Any, ...]
    times: int = 0  # of earlier samples: a sample of a sample chooses anew

    def truth(self, chunk: Chunk) -> Mask:
        hashes = chunk.hashed(self.names, b"sample %d" % self.times)
        return np.asarray((hashes >> np.uint64(11)).astype(np.float64) < self.share * 2.0**53)

    def columns(self) -> frozenset[Any]:
        return frozenset(self.names)

    def samples(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"sample({short(self.share)})"


def samples(expression: Expression | None) -> int:
    """How many samples an expression takes."""
    return 0 if expression is None else expression.samples()


def both(left: Expression | None, right: Expression) -> Expression:
    """The rows that pass both filters."""
    return right if left is None else And(left, right)
