"""Numbers from numbers, in float64: missing where an element can't be read as one.

Where cells are times and durations, arithmetic is that of `elapsed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..facts import kinds
from ..facts.bounds import Bounds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.vectors import Numbers, Vector
from . import elapsed
from .base import Chunk, Domain, Expression, Literal, finite, inner, remembered

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arithmetic(Expression):
    """left operation right: of numbers in float64, of times and durations as `elapsed` says. No
    wrap-around, and missing where either side is.

    There is one zero: dividing by an integer 0, by 0.0 or by -0.0 gives the same.
    """

    operation: str
    left: Expression
    right: Expression

    def vector(self, chunk: Chunk) -> Vector:
        left, right = self.left.vector(chunk), self.right.vector(chunk)
        a, b = (vectors.as_numbers(side) + 0.0 for side in (left, right))
        with np.errstate(all="ignore"):
            numbers = Numbers(self._computed(a, b))
        if elapsed.may_hold_times(left) or elapsed.may_hold_times(right):
            return elapsed.computed(self.operation, left, right, numbers)
        return numbers

    def _computed(self, a: Floats, b: Floats) -> Floats:
        """As pandas: numpy's ** has ways of its own to powers that are one number, as squares."""
        if self.operation == "**" and isinstance(self.right, Literal) and len(b):
            return a ** float(b[0])
        numbers: Floats = ARITHMETIC[self.operation](a, b)
        return numbers

    def declared(self, domain: Domain) -> Declaration | None:
        """Interval arithmetic: float64 rounds to the nearest, which keeps order."""
        a, b = self.left.bounds(domain), self.right.bounds(domain)
        if a is None or b is None:
            return None
        divides = self.operation in ("/", "//")
        if divides and b.lower <= 0 <= b.upper:
            return None
        if self.operation == "%":
            return finite(0.0, b.upper) if b.lower > 0 else None
        if self.operation == "**":
            is_even = b.lower == b.upper and b.lower in (2, 4, 6)
            if a.lower < 0 and not is_even:
                return None
            if a.lower < 0 < a.upper:
                with np.errstate(all="ignore"):
                    return finite(0.0, float(np.power(_largest(a), b.upper)))
        ends = itertools.product((a.lower, a.upper), (b.lower, b.upper))
        with np.errstate(all="ignore"):
            corners = [float(ARITHMETIC[self.operation](x, y)) for x, y in ends]
        return finite(min(corners), max(corners))

    def _kind(self, schema: Schema) -> Kind:
        return elapsed.kind_of(self.operation, self.left.kind(schema), self.right.kind(schema))

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        left, right = self.left.kind(schema), self.right.kind(schema)
        yield self.left, elapsed.wanted(self.operation, right, is_left=True)
        yield self.right, elapsed.wanted(self.operation, left, is_left=False)

    def __str__(self) -> str:
        return f"{inner(self.left)} {self.operation} {inner(self.right)}"


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
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
    """A number or a duration, the other way round."""

    operand: Expression

    takes = elapsed.SIGNED

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        numbers = Numbers(-vectors.as_numbers(operand))
        if not elapsed.may_hold_times(operand):
            return numbers
        return elapsed.together([elapsed.negated(operand)], numbers)

    def declared(self, domain: Domain) -> Declaration | None:
        b = self.operand.bounds(domain)
        return None if b is None else finite(-b.upper, -b.lower)

    def _kind(self, schema: Schema) -> Kind:
        return elapsed.signed(self.operand.kind(schema))

    def __str__(self) -> str:
        return f"-{inner(self.operand)}"


@dataclass(frozen=True)
class Function(Expression):
    """A function of one number, by the name that numpy or pandas gives it. Durations have a size,
    too: "absolute" and "positive"."""

    name: str
    operand: Expression
    places: int = 0  # of round

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        return remembered(chunk, self, lambda: self._made(chunk))

    def _made(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        numbers = vectors.as_numbers(operand) + 0.0
        with np.errstate(all="ignore"):
            if self.name == "round":
                return Numbers(np.round(numbers, self.places))
            found = Numbers(np.asarray(FUNCTIONS[self.name](numbers), dtype=np.float64))
        of_durations = _OF_DURATIONS.get(self.name)
        if of_durations is None or not elapsed.may_hold_times(operand):
            return found
        return elapsed.together([of_durations(operand)], found)

    def declared(self, domain: Domain) -> Declaration | None:
        b = self.operand.bounds(domain)
        if b is None:
            return None
        if self.name == "absolute":
            inside = b.lower <= 0 <= b.upper
            return Bounds(0.0 if inside else min(map(abs, (b.lower, b.upper))), _largest(b))
        with np.errstate(all="ignore"):
            ends = np.array([b.lower, b.upper])
            rounded = np.round(ends, self.places) if self.name == "round" else None
            low, high = (FUNCTIONS[self.name](ends) if rounded is None else rounded).tolist()
        return finite(low, high)  # all the others rise

    def _kind(self, schema: Schema) -> Kind:
        of_signed = self.name in _OF_DURATIONS
        return elapsed.signed(self.operand.kind(schema)) if of_signed else kinds.NUMBER

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.operand, elapsed.SIGNED if self.name in _OF_DURATIONS else kinds.NUMBERS

    def __str__(self) -> str:
        more = f", {self.places}" if self.places else ""
        return f"{self.name}({self.operand}{more})"


def _largest(b: Bounds) -> float:
    return max(abs(b.lower), abs(b.upper))


def _one_by_one(function: Callable[[float], float], pole: float) -> Callable[[Floats], Floats]:
    """Not numpy's, whose last bit may depend on an element's place in its array."""

    def one(x: float) -> float:
        try:
            return function(x)
        except ValueError:  # outside the domain; at its end
            return -math.inf if x == pole else math.nan
        except OverflowError:
            return math.inf

    return lambda numbers: np.fromiter(map(one, numbers.tolist()), np.float64, len(numbers))


_OF_DURATIONS = {"absolute": elapsed.without_sign, "positive": elapsed.same}

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "absolute": np.abs,
    "positive": np.positive,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": np.rint,
    "sqrt": np.sqrt,
    "exp": _one_by_one(math.exp, math.nan),
    "expm1": _one_by_one(math.expm1, math.nan),
    "log": _one_by_one(math.log, 0.0),
    "log2": _one_by_one(math.log2, 0.0),
    "log10": _one_by_one(math.log10, 0.0),
    "log1p": _one_by_one(math.log1p, -1.0),
    "tanh": _one_by_one(math.tanh, math.nan),
}


@dataclass(frozen=True)
class Clip(Expression):
    """A number no lower than one bound and no higher than another; missing ones stay missing."""

    operand: Expression
    lower: float
    upper: float

    is_atom = True
    takes = kinds.NUMBERS

    def vector(self, chunk: Chunk) -> Vector:
        return remembered(chunk, self, lambda: self._made(chunk))

    def _made(self, chunk: Chunk) -> Vector:
        numbers = vectors.as_numbers(self.operand.vector(chunk))
        return Numbers(np.clip(numbers, self.lower, self.upper))

    def declared(self, domain: Domain) -> Declaration | None:
        known = self.operand.bounds(domain) or Bounds(-math.inf, math.inf)
        ends = (min(max(end, self.lower), self.upper) for end in (known.lower, known.upper))
        return finite(*ends)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.NUMBER

    def __str__(self) -> str:
        return f"clip({self.operand}, {self.lower:g}, {self.upper:g})"


@dataclass(frozen=True)
class Outside(Expression):
    """Where a number lies: below bounds, inside them, or above."""

    operand: Expression
    within: Bounds

    is_atom = True
    takes = kinds.NUMBERS
    labels = ("below", "inside", "above")

    def vector(self, chunk: Chunk) -> Vector:
        numbers = vectors.as_numbers(self.operand.vector(chunk))
        codes = 1 + (numbers > self.within.upper).astype(np.intp) - (numbers < self.within.lower)
        codes[np.isnan(numbers)] = -1
        return vectors.coded(self.labels, codes)

    def declared(self, domain: Domain) -> Declaration | None:
        return Keys(self.labels)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TEXT

    def __str__(self) -> str:
        return f"where {inner(self.operand)} lies of {self.within}"


@dataclass(frozen=True)
class Cut(Expression):
    """Which of some public intervals a number lies in; missing in none."""

    operand: Expression
    edges: tuple[float, ...]
    labels: tuple[Any, ...]
    right: bool = True
    include_lowest: bool = False
    include_highest: bool = False

    is_atom = True
    takes = kinds.NUMBERS

    def vector(self, chunk: Chunk) -> Vector:
        numbers = vectors.as_numbers(self.operand.vector(chunk)) + 0.0
        side: Any = "left" if self.right else "right"
        codes = np.searchsorted(np.array(self.edges), numbers, side=side) - 1
        if self.include_lowest and self.right:
            codes[numbers == self.edges[0]] = 0
        if self.include_highest and not self.right:
            codes[numbers == self.edges[-1]] = len(self.labels) - 1
        codes[np.isnan(numbers) | (codes >= len(self.labels))] = -1
        return vectors.coded(self.labels, codes)

    def declared(self, domain: Domain) -> Declaration | None:
        return Keys(self.labels)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.joined(map(kinds.of_value, self.labels))

    def __str__(self) -> str:
        edges = ", ".join(f"{edge:g}" for edge in self.edges[:8])
        return f"cut({self.operand}, [{edges}{', …' if len(self.edges) > 8 else ''}])"
