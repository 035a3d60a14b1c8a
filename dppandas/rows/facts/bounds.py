"""Bounds of numbers, and the fixed-point grid to which values are rounded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, found_once
from ...errors import QueryError, quoted
from ..figures import format_fact, short
from .keys import SOURCE_ATTR
from .spans import Ruler

Floats = npt.NDArray[np.float64]

#: With 2^30 steps, squares fit int64, and sums over a block are exact in float64.
GRID_BITS = 30
#: No end lies further from zero.
MOST_BOUND = 2.0**900


@dataclass(frozen=True)
class Bounds:
    """The finite interval to which values are clipped."""

    lower: float
    upper: float

    @found_once
    def grid(self) -> Grid:
        """Steps above the lower bound: for means, variances and quantiles."""
        return Grid.anchored(self)

    @classmethod
    def parse(cls, value: object, column: str) -> Bounds:
        """Bounds from a (lower, upper) pair of numbers."""
        if isinstance(value, Bounds):
            return value
        if cls.is_named(value):
            value = (value["lower"], value["upper"])  # type: ignore[index]
        try:
            ends = tuple(value) if isinstance(value, Sequence | np.ndarray) else ()
            lower, upper = (float(end) for end in ends)
            odd = [end for end in (value, *ends) if isinstance(end, str | bytes | bool | np.bool_)]
            if odd or not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise QueryError(
                f"bounds of {column!r} must be two finite numbers, the lower first, not "
                f"{quoted(value)}. Write (0, 60), for example."
            ) from None
        if max(-lower, upper) > MOST_BOUND:
            raise QueryError(f"bounds {quoted(value)} of {column!r} are too far apart.")
        return cls(lower + 0.0, upper + 0.0)  # turns -0.0 into 0.0

    @staticmethod
    def is_named(value: object) -> bool:
        """Whether these are two numbers labelled lower and upper, as from `suggest_bounds`."""
        if isinstance(value, pd.Series):
            found = value.index.tolist()
            is_suggested = found in (["lower", "upper"], ["lower", "upper", "clipped"])
            return is_suggested and SOURCE_ATTR not in value.attrs
        if not isinstance(value, Mapping) or set(value) != {"lower", "upper"}:
            return False
        return not any(isinstance(end, Sequence | Mapping | pd.Series) for end in value.values())

    def __str__(self) -> str:
        return f"({short(self.lower)}, {short(self.upper)})"


@dataclass(frozen=True)
class Ticks(Bounds):
    """Bounds of times or durations, in ticks of a ruler."""

    ruler: Ruler

    @classmethod
    def along(cls, ruler: Ruler) -> Ticks:
        return cls(*ruler.ends, ruler)

    def __str__(self) -> str:
        return str(self.ruler.span)


@dataclass(frozen=True)
class Grid:
    """Numbers as integers: ``origin + t·step`` is the integer t, with low ≤ t ≤ high.

    The step is a public power of two. Clipping and rounding depend on one row alone, so stability
    doesn't change, and sums of the integers are exact in any order.
    """

    origin: float
    step: float
    low: int
    high: int

    #: Released numbers are this and whole steps more.
    anchor: ClassVar[Fraction] = Fraction(0)

    @classmethod
    def anchored(cls, bounds: Bounds) -> Grid:
        """For means and moments: integers 0, …, T count steps above the lower bound."""
        step = _step(bounds.upper - bounds.lower, bounds)
        return cls(bounds.lower, step, 0, _nearest((bounds.upper - bounds.lower) / step))

    @classmethod
    def centred(cls, bounds: Bounds, step: float | None = None) -> Grid:
        """For sums: integers count steps above zero."""
        step = step or sum_step(bounds)
        return cls(0.0, step, _nearest(bounds.lower / step), _nearest(bounds.upper / step))

    @property
    def reach(self) -> int:
        """The most that one row can add to a sum, in steps."""
        return max(abs(self.low), abs(self.high))

    def integers(self, values: Floats) -> Floats:
        """Float64 values rounded onto the grid; NaN stays NaN, ±inf clips."""
        out: Floats = np.empty_like(values)
        if self.origin:
            np.subtract(values, self.origin, out=out)
            values = out
        np.multiply(values, 1.0 / self.step, out=out)
        np.rint(out, out=out)
        np.clip(out, self.low, self.high, out=out)
        return out

    def below(self, numerator: int, denominator: int) -> float:
        """The largest multiple of the step that is no larger than a rational number."""
        by, of = self.step.as_integer_ratio()
        return numerator * of // (denominator * by) * by / of

    def number(self, numerator: int, denominator: int) -> float:
        """A rational number rounded to a multiple of the step, halves to even ones."""
        by, of = self.step.as_integer_ratio()
        steps, left = divmod(numerator * of, denominator * by)
        steps += 2 * left + steps % 2 > denominator * by
        return steps * by / of


def finite(lower: float, upper: float) -> Bounds | None:
    """Bounds, if both ends are finite, in order, and not too far apart (`Bounds.parse`)."""
    low, high = float(lower), float(upper)
    if not (low <= high and max(-low, high) <= MOST_BOUND):
        return None
    return Bounds(low + 0.0, high + 0.0)


def covering(ranges: Sequence[Bounds | None]) -> Bounds | None:
    """The range that covers several ranges, if all are known."""
    known = [each for each in ranges if each is not None]
    if len(known) < len(ranges):
        return None
    return Bounds(min(b.lower for b in known), max(b.upper for b in known))


def sum_step(bounds: Bounds) -> float:
    return _step(max(abs(bounds.lower), abs(bounds.upper)), bounds)


def _step(width: float, bounds: Bounds) -> float:
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if width == 0:
        return math.ulp(largest) if largest else 1.0
    mantissa, exponent = math.frexp(width)  # width = mantissa · 2^exponent, ½ ≤ mantissa < 1
    exponent -= mantissa == 0.5
    step = max(math.ldexp(1.0, exponent - GRID_BITS), math.ulp(largest))
    if step < 2.0**-1000:
        raise QueryError(f"bounds {format_fact(bounds)} are too narrow to compute with.")
    return step


def _nearest(value: float) -> int:
    return int(np.rint(value))
