"""Arithmetic on numbers, in float64; what can't be read as a number is missing.

Times and durations are computed by `elapsed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, field
from ..facts import kinds, spans
from ..facts.bounds import Bounds, finite
from ..facts.domain import Declaration
from ..facts.keys import Keys, some_names
from ..facts.kinds import Kind, Schema
from ..facts.steps import Step, Steps
from ..figures import short
from ..values import vectors
from ..values.forms import Numbers, Vector
from . import elapsed
from .base import Chunk, Domain, Expression, Infix, Labelled, Literal, Needs, Remembered, Unary

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Arithmetic(Infix):
    """``left operation right``, which never wraps around, and is missing if either side is.

    There is one zero: dividing by an integer 0, by 0.0 or by -0.0 gives the same.
    """

    operation: str
    left: Expression
    right: Expression

    def vector(self, chunk: Chunk) -> Vector:
        left, right = self.left.vector(chunk), self.right.vector(chunk)
        a, b = (_operand(side, of) for side, of in ((left, self.left), (right, self.right)))
        if a.ndim == b.ndim == 0:
            a = np.full(chunk.rows, a)
        with np.errstate(all="ignore"):
            numbers = Numbers(self._computed(a, b))
        if elapsed.may_hold_times(left) or elapsed.may_hold_times(right):
            return elapsed.computed(self.operation, left, right, numbers)
        return numbers

    def _computed(self, a: Floats, b: Floats) -> Floats:
        """As pandas does: numpy rounds a power by a scalar, such as a square, in its own way."""
        if self.operation == "**" and isinstance(self.right, Literal) and b.size:
            return a ** float(b.flat[0])
        return np.asarray(ARITHMETIC[self.operation](a, b))

    def _declared(self, domain: Domain) -> Declaration | None:
        """By interval arithmetic: rounding to the nearest float64 keeps order."""
        a, b = self.left.bounds(domain), self.right.bounds(domain)
        if a is None or b is None:
            times = (elapsed.span_of(each.declared(domain)) for each in (self.left, self.right))
            return spans.combine(self.operation, *times)
        if self.operation in ("/", "//") and b.lower <= 0 <= b.upper:
            return None
        if self.operation == "%":
            return finite(0.0, b.upper) if b.lower > 0 else None
        if self.operation == "**":
            is_even = b.lower == b.upper and b.lower in (2, 4, 6)
            if a.lower < 0 and not is_even:
                return None
            if a.lower < 0 < a.upper:
                with np.errstate(all="ignore"):
                    return finite(0.0, (np.array([_largest(a)]) ** b.upper).item())
        ends = np.array([*itertools.product((a.lower, a.upper), (b.lower, b.upper))])
        with np.errstate(all="ignore"):  # as rows are: an older numpy rounds one power otherwise
            corners = self._computed(ends[:, 0], ends[:, 1]).tolist()
        return finite(min(corners), max(corners))

    def known_keys(self, domain: Domain, schema: Schema) -> Keys | None:
        """What becomes of declared numbers beside a plain one, in order. What is then no number, or
        infinite, is no label."""
        is_left = isinstance(self.right, Literal)
        side, plain = (self.left, self.right) if is_left else (self.right, self.left)
        known = side.known_keys(domain, schema)
        if known is None or not isinstance(plain, Literal) or self.operation == "**":
            return None  # a power's last bit may depend on an element's place in its array
        given = (*known.labels, plain.value)
        if isinstance(plain.value, bool) or not all(isinstance(x, vectors.NUMBERS) for x in given):
            return None
        labels = _operand(vectors.coded(known.labels, np.arange(len(known))), side)
        number = _operand(vectors.constant(plain.value, 1), plain)
        with np.errstate(all="ignore"):
            made = self._computed(*((labels, number) if is_left else (number, labels)))
        found = (np.unique(made[np.isfinite(made)]) + 0.0).tolist()
        is_whole = self.operation != "/" and all(isinstance(x, int) for x in given)
        return Keys(tuple(map(int, found) if is_whole else found)) if found else None

    def _kind(self, schema: Schema) -> Kind:
        return elapsed.kind_of(self.operation, self.left.kind(schema), self.right.kind(schema))

    def needs(self, schema: Schema) -> Needs:
        left, right = self.left.kind(schema), self.right.kind(schema)
        yield self.left, elapsed.wanted(self.operation, right, is_left=True)
        yield self.right, elapsed.wanted(self.operation, left, is_left=False)


def _operand(side: Vector, of: Expression) -> Floats:
    """An operand in float64: a plain value once, not for each row."""
    if isinstance(of, Literal) and len(side):
        return np.asarray(vectors.as_numbers(side.take(slice(0, 1)))[0] + 0.0)
    return np.asarray(vectors.as_numbers(side) + 0.0)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide,
    "%": np.mod, "**": np.power,
}  # fmt: skip


@dataclass(frozen=True)
class Negative(Unary):
    """Minus a number, or minus a duration."""

    is_atom = False
    takes = elapsed.SIGNED

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        numbers = Numbers(-vectors.as_numbers(operand))
        return elapsed.changed(operand, elapsed.negated, numbers)

    def _declared(self, domain: Domain) -> Declaration | None:
        b = self.operand.bounds(domain)
        return None if b is None else finite(-b.upper, -b.lower)

    def _kind(self, schema: Schema) -> Kind:
        return elapsed.signed(self.operand.kind(schema))

    def __str__(self) -> str:
        return f"-{self.operand.inner}"


@dataclass(frozen=True)
class Function(Remembered):
    """A function of one number, named as in numpy or pandas. "absolute" and "positive" take
    durations, too."""

    name: str
    operand: Expression
    places: int = 0  # of round

    def _made(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        numbers = vectors.as_numbers(operand) + 0.0
        with np.errstate(all="ignore"):
            if self.name == "round":
                return Numbers(np.round(numbers, self.places))
            found = Numbers(np.asarray(FUNCTIONS[self.name](numbers), dtype=np.float64))
        change = _OF_DURATIONS.get(self.name)
        return found if change is None else elapsed.changed(operand, change, found)

    def _declared(self, domain: Domain) -> Declaration | None:
        b = self.operand.bounds(domain)
        if b is None:
            return _RANGES.get(self.name)
        if self.name == "absolute":
            inside = b.lower <= 0 <= b.upper
            return Bounds(0.0 if inside else min(map(abs, (b.lower, b.upper))), _largest(b))
        if self.name in _TURNING:
            return _RANGES.get(self.name)
        with np.errstate(all="ignore"):
            ends = np.array([b.lower, b.upper])
            rounded = np.round(ends, self.places) if self.name == "round" else None
            low, high = (FUNCTIONS[self.name](ends) if rounded is None else rounded).tolist()
        return finite(low, high)  # all other functions increase

    def _kind(self, schema: Schema) -> Kind:
        of_signed = self.name in _OF_DURATIONS
        return elapsed.signed(self.operand.kind(schema)) if of_signed else kinds.NUMBER

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, elapsed.SIGNED if self.name in _OF_DURATIONS else kinds.NUMBERS

    def __str__(self) -> str:
        more = f", {self.places}" if self.places else ""
        return f"{self.name}({self.operand}{more})"


def _largest(b: Bounds) -> float:
    return max(abs(b.lower), abs(b.upper))


def _one_by_one(name: str, low: float, high: float, pole: float) -> Callable[[Floats], Floats]:
    """From `math`: the last bit of numpy's may depend on an element's place in its array.

    low, high : numbers from one to the other, and NaN, are taken without errors.
    pole : where the function falls to -inf, if it does.
    """
    function: Callable[[float], float] = getattr(math, _OWN_NAMES.get(name, name))

    def one(x: float) -> float:
        try:
            return function(x)
        except ValueError:  # outside the domain, or at its end
            is_end = abs(x) == 1 if name == "arctanh" else x == pole
            return math.copysign(math.inf, x - 0.5) if is_end else math.nan
        except OverflowError:
            return math.copysign(math.inf, x) if name == "sinh" else math.inf

    def all_of(numbers: Floats) -> Floats:
        outside = np.flatnonzero((numbers < low) | (numbers > high))
        inside = numbers
        if len(outside):
            inside = numbers.copy()
            inside[outside] = np.nan
        found = np.fromiter(map(function, inside.tolist()), np.float64, len(numbers))
        found[outside] = [one(x) for x in numbers[outside].tolist()]
        return found

    return all_of


#: numpy's names of functions that `math` names otherwise.
_OWN_NAMES = {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
#: Functions that don't increase everywhere.
_TURNING = ("sin", "cos", "tan", "cosh", "arccos")
#: The ranges of functions whatever they are of.
_RANGES = {
    **dict.fromkeys(("sin", "cos", "tanh", "sign"), Bounds(-1.0, 1.0)),
    **dict.fromkeys(("arcsin", "arctan"), Bounds(-math.pi / 2, math.pi / 2)),
    "arccos": Bounds(0.0, math.pi),
}

_OF_DURATIONS: dict[str, Callable[[vectors.Moments], vectors.Moments]] = {
    "absolute": elapsed.without_sign, "positive": lambda length: length,
}  # fmt: skip
_INF, _NAN = math.inf, math.nan
_TINY, _HUGE = math.ulp(0.0), math.nextafter(math.inf, 0.0)
_UNDER_ONE = math.nextafter(1.0, 0.0)
#: Functions of `math`: from where to where they take every number, and where they fall to -inf.
_OF_MATH = {
    **dict.fromkeys(("sin", "cos", "tan"), (-_HUGE, _HUGE, _NAN)),
    **dict.fromkeys(("tanh", "arctan", "arcsinh", "cbrt"), (-_INF, _INF, _NAN)),
    **dict.fromkeys(("arcsin", "arccos"), (-1.0, 1.0, _NAN)),
    **dict.fromkeys(("exp", "expm1", "exp2"), (-_INF, 700.0, _NAN)),
    **dict.fromkeys(("sinh", "cosh"), (-700.0, 700.0, _NAN)),
    **dict.fromkeys(("log", "log2", "log10"), (_TINY, _INF, 0.0)),
    "log1p": (-_UNDER_ONE, _INF, -1.0),
    "arctanh": (-_UNDER_ONE, _UNDER_ONE, _NAN),
    "arccosh": (1.0, _INF, _NAN),
}  # fmt: skip

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "absolute": np.absolute, "positive": np.positive, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "rint": np.rint, "sqrt": np.sqrt,
    **{name: _one_by_one(name, *ends) for name, ends in _OF_MATH.items()},
    "round": np.rint, "sign": np.sign,
    "degrees": lambda numbers: numbers * (180.0 / math.pi),
    "radians": lambda numbers: numbers * (math.pi / 180.0),
}  # fmt: skip


@dataclass(frozen=True)
class OfTwo(Remembered):
    """A function of two numbers, named as in numpy; missing if either is."""

    canonical_name: ClassVar[str] = "OfTwo"

    name: str
    left: Expression
    right: Expression

    takes = kinds.NUMBERS
    makes = kinds.NUMBER

    def _made(self, chunk: Chunk) -> Vector:
        a, b = (vectors.as_numbers(side.vector(chunk)) + 0.0 for side in (self.left, self.right))
        with np.errstate(all="ignore"):
            return Numbers(PAIRS[self.name](a, b))

    def _declared(self, domain: Domain) -> Declaration | None:
        if self.name == "arctan2":
            return Bounds(-math.pi, math.pi)
        a, b = self.left.bounds(domain), self.right.bounds(domain)
        if a is None or b is None:
            return None
        return finite(0.0, math.nextafter(math.hypot(_largest(a), _largest(b)), math.inf))

    def __str__(self) -> str:
        return f"{self.name}({self.left}, {self.right})"


def _hypot(a: Floats, b: Floats) -> Floats:
    """numpy's own, which takes one pair after the other; missing if either number is."""
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.hypot(a, b))


def _arctan2(a: Floats, b: Floats) -> Floats:
    """One by one, as in `FUNCTIONS`."""
    return np.fromiter(map(math.atan2, a.tolist(), b.tolist()), np.float64, len(a))


PAIRS: dict[str, Callable[[Floats, Floats], Floats]] = {"hypot": _hypot, "arctan2": _arctan2}


@dataclass(frozen=True)
class Clip(Unary, Remembered):
    """A number clipped to bounds; missing ones stay missing."""

    lower: float
    upper: float

    takes = kinds.NUMBERS
    makes = kinds.NUMBER

    def _made(self, chunk: Chunk) -> Vector:
        numbers = vectors.as_numbers(self.operand.vector(chunk))
        return Numbers(np.clip(numbers, self.lower, self.upper))

    def _declared(self, domain: Domain) -> Declaration | None:
        known = self.operand.bounds(domain) or Bounds(-math.inf, math.inf)
        ends = (min(max(end, self.lower), self.upper) for end in (known.lower, known.upper))
        return finite(*ends)

    def _stepped(self, steps: Steps) -> Step | None:
        known = self.operand.step(steps)
        is_kept = known is not None and all(map(known.divides, (self.lower, self.upper)))
        return known if is_kept else None

    def __str__(self) -> str:
        return f"clip({self.operand}, {short(self.lower)}, {short(self.upper)})"


@dataclass(frozen=True)
class Outside(Unary, Labelled):
    """Whether a number lies below bounds, inside them, or above."""

    within: Bounds

    takes = kinds.NUMBERS
    labels = ("below", "inside", "above")

    def vector(self, chunk: Chunk) -> Vector:
        numbers = vectors.as_numbers(self.operand.vector(chunk))
        codes = 1 + (numbers > self.within.upper).astype(np.intp) - (numbers < self.within.lower)
        codes[np.isnan(numbers)] = -1
        return vectors.coded(self.labels, codes)

    def __str__(self) -> str:
        return f"where {self.operand.inner} lies of {self.within}"


@dataclass(frozen=True)
class Cut(Unary, Labelled):
    """The public interval that a number lies in; missing if it lies in none."""

    edges: tuple[float, ...]
    labels: tuple[Any, ...]
    right: bool = True
    include_lowest: bool = False
    include_highest: bool = False
    ordered: bool = field(default=False, compare=False)  # how answers are laid out
    not_asked: ClassVar[tuple[str, ...]] = ("ordered",)

    takes = kinds.NUMBERS

    def _declared(self, domain: Domain) -> Declaration | None:
        """The labels, in the order of their intervals."""
        return Keys(self.labels, ordered=frozenset([0]) if self.ordered else frozenset())

    @property
    def has_order(self) -> bool:
        return self.ordered

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

    def __str__(self) -> str:
        return f"cut({self.operand}, [{some_names(map(short, self.edges), 8)}])"
