"""Bounds of numbers, and the fixed-point grid that values are rounded to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, quoted
from .keys import SOURCE_ATTR
from .spans import Ruler

#: One exponent serves all: 2^30 steps keep squares in int64 and sums of a block exact in float64.
GRID_BITS = 30


@dataclass(frozen=True)
class Bounds:
    """The interval into which values are clipped; finite, lower ≤ upper."""

    lower: float
    upper: float

    @cached_property
    def grid(self) -> Grid:
        """Steps above the lower bound: for means, variances and quantiles."""
        return Grid.anchored(self)

    @classmethod
    def parse(cls, value: object, column: str) -> Bounds:
        """Bounds from a (lower, upper) pair of numbers."""
        hint = f"bounds of {column!r} must be two finite numbers, lower first, such as (0, 60)"
        if isinstance(value, Bounds):
            return value
        if cls.is_named(value):
            value = (value["lower"], value["upper"])  # type: ignore[index]
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
            raise QueryError(f"{hint}; not {quoted(value)}.")
        try:
            if len(value) != 2 or any(isinstance(v, str | bytes | bool | np.bool_) for v in value):
                raise TypeError
            lower, upper = (float(v) for v in value)
        except (TypeError, ValueError, OverflowError):
            raise QueryError(f"{hint}; not {quoted(value)}.") from None
        if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
            raise QueryError(f"{hint}; not {quoted(value)}.")
        if not math.isfinite(upper - lower) or max(abs(lower), abs(upper)) > 2.0**900:
            raise QueryError(f"bounds {quoted(value)} of {column!r} are too far apart.")
        return cls(lower + 0.0, upper + 0.0)  # + 0.0: one zero, not two

    @staticmethod
    def is_named(value: object) -> bool:
        """Whether these are two numbers called lower and upper, as `suggest_bounds` tells them."""
        if isinstance(value, pd.Series):
            found = value.index.tolist()
            is_suggested = found in (["lower", "upper"], ["lower", "upper", "clipped"])
            return is_suggested and SOURCE_ATTR not in value.attrs
        if not isinstance(value, Mapping) or set(value) != {"lower", "upper"}:
            return False
        return not any(isinstance(end, Sequence | Mapping | pd.Series) for end in value.values())

    def __str__(self) -> str:
        return f"({self.lower:g}, {self.upper:g})"


@dataclass(frozen=True)
class Ticks(Bounds):
    """Bounds of times or durations, in ticks of their ruler."""

    ruler: Ruler

    @classmethod
    def along(cls, ruler: Ruler) -> Ticks:
        return cls(*ruler.ends, ruler)

    def __str__(self) -> str:
        return str(self.ruler.span)


@dataclass(frozen=True)
class Grid:
    """Numbers as integers: the number ``origin + t·step`` is the integer t, low ≤ t ≤ high.

    The step is a public power of two. Clipping and rounding onto the grid is a function of one
    row alone, so it changes no stability, and sums of its integers are exact in any order.
    """

    origin: float
    step: float
    low: int
    high: int

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
        """The most that one row can add, in steps."""
        return max(abs(self.low), abs(self.high))

    def integers(self, values: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
        """Round float64 values onto the grid, in place; NaN stays NaN, ±inf clips."""
        if self.origin:
            np.subtract(values, self.origin, out=out)
            values = out
        np.multiply(values, 1.0 / self.step, out=out)
        np.rint(out, out=out)
        np.clip(out, self.low, self.high, out=out)

    def number(self, value: Fraction) -> float:
        """A rational number rounded to a multiple of the step."""
        step = Fraction(self.step)
        return float(round(value / step) * step)


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
        raise QueryError(f"bounds {bounds} are too narrow to compute with.")
    return step


def _nearest(value: float) -> int:
    return int(np.rint(value))
