"""Public ranges of times and durations, and the rulers that make numbers of them and back.

A statistic of times is one of numbers: how many public ticks each lies after the lower bound. Its
answer is told in times again, by the same ruler, rounded to whole ticks; what it says of distances
(errors, deviations) is told in durations. So all that is proven of numbers holds: the ruler is a
public fact, and laid along each row by itself.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, quoted
from ..values import canonical, time_of
from ..values.forms import tzinfo
from ..values.objects import value_of

#: Types of public times and durations.
TIMES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)

_SECOND = 10**9
#: A tick is one of these, in nanoseconds: ns, us, ms, s, min, h, day.
TICKS = (1, 10**3, 10**6, _SECOND, 60 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND)
#: The least of them of which a span has no more: steps of the grid are then no wider than a tick.
MOST_TICKS = 2**30
#: In nanoseconds: a span is no wider, and answers lie no further away.
FURTHEST = 2**62 * 1000


@dataclass(frozen=True)
class Span:
    """The first and last of a public range, in nanoseconds since 1970, or of length.

    family : "time" (without a zone), "zoned", "duration"; or "clock", for texts: what the clock on
        the wall shows, of times in any zone and of those without.
    """

    family: str
    lower: int
    upper: int
    zone: str | None = None

    @classmethod
    def parse(cls, value: Any, column: str) -> Span | None:
        """A span from a pair of times or durations, None where neither end is one."""
        ends = _pair(value)
        if ends is None:
            return None
        cells = [_end(end) for end in ends]
        if all(cell is None for cell in cells):
            return None
        hint = (
            f"bounds of {column!r} must be two times or two durations, the lower first and both in "
            "one zone or in none, such as ('2020-01-01', '2020-12-31'), (pd.Timedelta(0), "
            f"pd.Timedelta('7D')); not {quoted(value)}."
        )
        families, exact, zones = zip(*(cell or ("", 0, None) for cell in cells), strict=True)
        if len({*families}) > 1 or len({*zones}) > 1 or exact[0] > exact[1]:
            raise QueryError(hint)
        if exact[1] - exact[0] > FURTHEST or max(map(abs, exact)) > FURTHEST:
            raise QueryError(f"bounds {quoted(value)} of {column!r} are too far apart or away.")
        return cls(families[0], exact[0], exact[1], zones[0])

    @property
    def is_time(self) -> bool:
        """Whether it is of times, and not of durations."""
        return self.family != "duration"

    @property
    def ends(self) -> tuple[Any, Any]:
        """As Timestamps or Timedeltas."""
        return self.value(self.lower), self.value(self.upper)

    def value(self, nanos: int) -> Any:
        """A Timestamp of these, in their zone; or a Timedelta."""
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


def tick_of(spans: Sequence[Span]) -> int:
    """The tick for several spans: the finest that any of them needs."""
    width = min(span.upper - span.lower or abs(span.upper) for span in spans)
    return next((tick for tick in TICKS if width <= tick * MOST_TICKS), TICKS[-1])


@dataclass(frozen=True)
class Ruler:
    """Ticks of so many nanoseconds along a span: from its lower end, of durations from 0."""

    span: Span
    tick: int

    @property
    def origin(self) -> int:
        return self.span.lower if self.span.is_time else 0

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers that the ends of the span are."""
        low, high = (end - self.origin for end in (self.span.lower, self.span.upper))
        return low / self.tick, high / self.tick

    @property
    def unit(self) -> str:
        """Of arrays of answers."""
        return "ns" if self.tick == 1 else "us"

    def place(self, number: float, rounded: Callable[[Fraction], int] = round) -> Any:
        """The time (of durations: the duration) that a number is, in whole ticks."""
        nanos = self.origin + _ticks(number, rounded) * self.tick
        low, high = (self.span.lower, self.span.upper) if self.span.is_time else _ALL
        return self.span.value(min(max(nanos, low), high))

    def length(self, number: float, rounded: Callable[[Fraction], int] = round) -> Any:
        """How long so many ticks are."""
        nanos = _ticks(number, rounded) * self.tick
        return value_of(("duration", min(max(nanos, _ALL[0]), _ALL[1])))

    def array(self, values: Sequence[Any], of_lengths: bool) -> Any:
        """Values that `place` or `length` gave, in one unit whatever they are."""
        is_time = self.span.is_time and not of_lengths
        exact = [canonical(value)[1] for value in values]
        nanos = [each[0] if isinstance(each, tuple) else each for each in exact]
        counts = np.array([n if self.unit == "ns" else n // 1000 for n in nanos], dtype=np.int64)
        if not is_time:
            return pd.TimedeltaIndex(counts.view(f"m8[{self.unit}]"))
        times = pd.DatetimeIndex(counts.view(f"M8[{self.unit}]"))
        if self.span.zone is None:
            return times
        return times.tz_localize("UTC").tz_convert(tzinfo(self.span.zone))


_ALL = (-FURTHEST, FURTHEST)


def _ticks(number: float, rounded: Callable[[Fraction], int]) -> int:
    if math.isinf(number) or number != number:
        return FURTHEST if number > 0 else -FURTHEST
    return rounded(Fraction(number))
