"""Intervals side by side on one axis."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import pandas as pd

from ...dataclasses import dataclass, replace
from ...release.answers.figures import Figures
from ...rows.facts.keys import is_missing
from ...rows.figures import format_error
from ..labels import text_of

#: Units of numbers for which 0 means none: the axis begins there, if intervals have two thirds of
#: it then.
COUNTED, _NEAR = ("rows", "units", "keys", "values", "share"), 0.5
#: Units that intervals aren't measured in.
_NO_AXIS = ("", "ranks", "utility")


@dataclass(frozen=True)
class Axis:
    """The numbers from one end of the strip to the other."""

    low: float
    high: float
    ends: tuple[str, str]

    def share(self, number: float) -> float:
        """Where a number lies on the axis, in percent."""
        return 100 * (number - self.low) / (self.high - self.low)

    def place(self, figures: Figures, i: int) -> tuple[float, float, float]:
        """The low end, the value and the high end of an interval, in percent. A value that lies
        beyond its interval, such as a count below 0, is at the end of it."""
        each = figures.lows[i], figures.values[i], figures.highs[i]
        low, value, high = (min(100.0, max(0.0, self.share(_number(x)))) for x in each)
        return low, min(high, max(low, value)), high


@dataclass(frozen=True)
class Strips:
    """The intervals of a column on one axis."""

    axis: Axis
    figures: Figures
    population: Figures | None = None

    @classmethod
    def of(cls, figures: Figures, population: Figures | None) -> Strips | None:
        """With those for the population if they all have ends."""
        if population is not None and any(population.ways):
            axis = axis_of(widened(figures, population))
            if axis is not None:
                return cls(axis, figures, population)
        axis = axis_of(figures)
        return None if axis is None else cls(axis, figures)

    def place(self, i: int) -> tuple[tuple[float, float, float] | None, tuple[float, float] | None]:
        """Where an interval lies, and where that for the population ends, in percent."""
        place, outer = self.axis.place(self.figures, i), self.population
        if outer is None or not outer.ways[i]:
            return place, None
        low, _, high = self.axis.place(outer, i)
        return place, (low, high)


def widened(figures: Figures, population: Figures) -> Figures:
    """With the ends that reach further: for an axis that has room for both intervals."""
    both = zip(
        figures.lows, figures.highs, population.lows, population.highs, population.ways, strict=True
    )
    ends = [
        (min(low, start), max(high, end)) if way else (low, high)
        for low, high, start, end, way in both
    ]
    return replace(figures, lows=[low for low, _ in ends], highs=[high for _, high in ends])


def axis_of(figures: Figures) -> Axis | None:
    """One axis for all intervals; None if they aren't of one unit, or one has no end."""
    if not figures.values or len({*figures.units}) != 1 or figures.units[0] in _NO_AXIS:
        return None
    if any(map(is_missing, [*figures.lows, *figures.values, *figures.highs])):
        return None
    low, high = min(map(_number, figures.lows)), max(map(_number, figures.highs))
    if figures.units[0] in COUNTED and 0 < low <= _NEAR * (high - low):
        low = 0.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    first = figures.values[0]
    if isinstance(first, pd.Timestamp | pd.Timedelta):
        return Axis(low, high, (_time(low, first), _time(high, first)))
    step = Decimal(1).scaleb(math.floor(math.log10(high - low)) - 1)
    if low.is_integer() and high.is_integer():
        step = max(step, Decimal(1))
    left = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) * step
    right = (Decimal(high) / step).to_integral_value(ROUND_CEILING) * step
    return Axis(float(left), float(right), (_text(left, step), _text(right, step)))


def _text(end: Decimal, step: Decimal) -> str:
    digits = max(0, -int(step.as_tuple().exponent))
    return f"{end:,.{digits}f}"


def _time(nanos: float, like: Any) -> str:
    """An end of an axis of times or durations."""
    if isinstance(like, pd.Timedelta):
        length = pd.Timedelta(abs(int(nanos)))
        return f"{'-' if nanos < 0 else ''}{format_error(length) if length else 0}"
    return text_of(pd.Timestamp(int(nanos), tz=like.tz).normalize())


def _number(value: Any) -> float:
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return float(value.value)
    return float(value)
