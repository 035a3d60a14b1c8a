"""Intervals side by side on one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...release.answers.figures import Figures
from ...rows.facts.keys import is_missing
from ..labels import text_of
from .rounding import short

#: Units of numbers for which 0 means none, so that the axis begins there.
COUNTED = ("rows", "units", "keys", "share")
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
        """The low end, the value and the high end of an interval, in percent."""
        each = figures.lows[i], figures.values[i], figures.highs[i]
        low, value, high = (min(100.0, max(0.0, self.share(_number(x)))) for x in each)
        return low, value, high


def axis_of(figures: Figures) -> Axis | None:
    """One axis for all intervals; None if they aren't of one unit, or one has no end."""
    if not figures.values or len({*figures.units}) != 1 or figures.units[0] in _NO_AXIS:
        return None
    named = [*figures.lows, *figures.values, *figures.highs]
    if any(map(is_missing, named)):
        return None
    pairs = sorted(((_number(x), x) for x in named), key=lambda pair: pair[0])
    (low, first), (high, last) = pairs[0], pairs[-1]
    if figures.units[0] in COUNTED and low > 0:
        low, first = 0.0, 0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    return Axis(low, high, (_text(first), _text(last)))


def _number(value: Any) -> float:
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return float(value.value)
    return float(value)


def _text(value: Any) -> str:
    """An end of the axis."""
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return text_of(value.round("s") if isinstance(value, pd.Timedelta) else value.floor("D"))
    return f"-{short(-value)}" if value < 0 else short(value)
