"""Public ranges of times and durations, and the rulers that turn them into numbers and back.

A statistic of times is one of numbers: of public ticks after the lower bound. The same ruler turns
its answer back into times, rounded to whole ticks, and errors and deviations into durations. So
what is proven of numbers holds: the ruler is public, and measures each row by itself.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, replace
from ...errors import QueryError, quoted
from ..values import canonical, time_of
from ..values.forms import tzinfo
from ..values.objects import value_of

#: Types of public times and durations.
TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)

_SECOND = 10**9
#: Possible ticks in nanoseconds: ns, us, ms, s, min, h, day.
TICKS = (1, 10**3, 10**6, _SECOND, 60 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND)
#: Of a span: the finest tick that keeps to it is chosen, so grid steps are no wider than a tick.
MOST_TICKS = 2**30
#: The largest width of a span, and distance of an answer, in nanoseconds.
FURTHEST = 2**62 * 1000


@dataclass(frozen=True)
class Span:
    """The ends of a public range: nanoseconds since 1970, or lengths in nanoseconds.

    family : "time" (without a zone), "zoned", "duration"; or "clock" if the ends were texts: the
        local clock of times in any zone, or in none.
    """

    family: str
    lower: int
    upper: int
    zone: str | None = None

    @classmethod
    def parse(cls, value: Any, column: str) -> Span | None:
        """A span from a pair of times or durations; None if neither end is one."""
        ends = _pair(value)
        if ends is None:
            return None
        cells = [_end(end) for end in ends]
        if all(cell is None for cell in cells):
            return None
        families, exact, zones = zip(*(cell or ("", 0, None) for cell in cells), strict=True)
        if len({*families}) > 1 or len({*zones}) > 1 or exact[0] > exact[1]:
            raise QueryError(
                f"bounds of {column!r} must be two times or two durations, the lower first and "
                f"both in one zone or in none, not {quoted(value)}. Write ('2020-01-01', "
                "'2020-12-31') or (pd.Timedelta(0), pd.Timedelta('7D')), for example."
            )
        if exact[1] - exact[0] > FURTHEST or max(map(abs, exact)) > FURTHEST:
            raise QueryError(
                f"bounds {quoted(value)} of {column!r} are too far apart, or too far from 1970."
            )
        return cls(families[0], exact[0], exact[1], zones[0])

    @property
    def is_time(self) -> bool:
        """Whether it is a range of times, not of durations."""
        return self.family != "duration"

    @property
    def ends(self) -> tuple[Any, Any]:
        """Two Timestamps or Timedeltas."""
        return self.value(self.lower), self.value(self.upper)

    def value(self, nanos: int) -> Any:
        """A Timestamp in the span's zone, or a Timedelta."""
        if self.family == "zoned":
            return value_of(("zoned", (nanos, self.zone or "UTC")))
        return value_of(("time" if self.is_time else "duration", nanos))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.ends))})"


def _pair(value: Any) -> Sequence[Any] | None:
    if isinstance(value, Mapping):
        return (value["lower"], value["upper"]) if set(value) == {"lower", "upper"} else None
    is_listed = isinstance(value, list | tuple | pd.Index | np.ndarray) and len(value) == 2
    return value if is_listed else None


def _end(value: Any) -> tuple[str, int, str | None] | None:
    """The family, nanoseconds and zone of a public time or duration."""
    if not isinstance(value, (str, *TIMES)):
        return None
    read = time_of(value) if isinstance(value, str) else value
    family, exact = canonical(read)
    if family == "zoned":
        return family, exact[0], exact[1]
    if family not in ("time", "duration"):
        return None
    return "clock" if isinstance(value, str) else family, exact, None


def combine(operation: str, a: Span | None, b: Span | None) -> Span | None:
    """The range of a sum or difference of times and durations; None where it isn't known.

    Clock times stand for those of one zone: across a change of the clock a difference may be an
    hour beyond the range, and is clipped as other values are.
    """
    if a is None or b is None or operation not in ("+", "-"):
        return None
    local = {"time", "clock"}
    alike = a.family == b.family or {a.family, b.family} <= local
    if a.is_time and b.is_time and not (operation == "-" and alike):
        return None
    timed = a if a.is_time else b if b.is_time else None
    if operation == "-":
        if timed is b and not a.is_time:
            return None  # a duration has no time to be taken from it
        low, high = a.lower - b.upper, a.upper - b.lower
        timed = None if a.is_time and b.is_time else timed
    else:
        low, high = a.lower + b.lower, a.upper + b.upper
    if high - low > FURTHEST or max(-low, high, -high, low) > FURTHEST:
        return None
    return Span("duration", low, high) if timed is None else replace(timed, lower=low, upper=high)


def tick_of(spans: Sequence[Span]) -> int:
    """The tick for several spans: that of the narrowest one."""
    width = min(span.upper - span.lower or abs(span.upper) for span in spans)
    return next((tick for tick in TICKS if width <= tick * MOST_TICKS), TICKS[-1])


@dataclass(frozen=True)
class Ruler:
    """Ticks of ``tick`` nanoseconds, counted from a span's lower end, or from a duration of 0."""

    span: Span
    tick: int

    @property
    def origin(self) -> int:
        return self.span.lower if self.span.is_time else 0

    @property
    def ends(self) -> tuple[float, float]:
        """The span's ends in ticks."""
        low, high = self.span.lower - self.origin, self.span.upper - self.origin
        return low / self.tick, high / self.tick

    @property
    def unit(self) -> str:
        """pandas' unit for arrays of answers."""
        return "ns" if self.tick == 1 else "us"

    def place(self, number: float, rounded: Callable[[Fraction], int] = round) -> Any:
        """The time (or duration) at a number of ticks, rounded to whole ones."""
        if not self.span.is_time:
            return self.length(number, rounded)
        nanos = self.origin + _ticks(number, rounded) * self.tick
        return self.span.value(min(max(nanos, self.span.lower), self.span.upper))

    def length(self, number: float, rounded: Callable[[Fraction], int] = round) -> Any:
        """The duration of a number of ticks, rounded to whole ones."""
        nanos = _ticks(number, rounded) * self.tick
        return value_of(("duration", min(max(nanos, -FURTHEST), FURTHEST)))

    def array(self, values: Sequence[Any], of_lengths: bool) -> Any:
        """Values from `place` or `length`, in one unit whatever they are."""
        exact = [canonical(value)[1] for value in values]
        nanos = [each[0] if isinstance(each, tuple) else each for each in exact]
        counts = np.array([n if self.unit == "ns" else n // 1000 for n in nanos], dtype=np.int64)
        if of_lengths or not self.span.is_time:
            return pd.TimedeltaIndex(counts.view(f"m8[{self.unit}]"))
        times = pd.DatetimeIndex(counts.view(f"M8[{self.unit}]"))
        if self.span.zone is None:
            return times
        return times.tz_localize("UTC").tz_convert(tzinfo(self.span.zone))


def _ticks(number: float, rounded: Callable[[Fraction], int]) -> int:
    if math.isinf(number) or number != number:
        return FURTHEST if number > 0 else -FURTHEST
    return rounded(Fraction(number))
