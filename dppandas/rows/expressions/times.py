"""The members of `.dt`, on one time at a time. What isn't a time is missing."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset
from pandas.tseries.offsets import Day

from ...dataclasses import dataclass
from ..facts import kinds, time_keys
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..facts.spans import Span
from ..values import vectors
from ..values.forms import Instants, Integers, Mask, Numbers, Truths, Vector, wall
from .base import Chunk, Domain, Expression, Needs, Unary
from .formats import DAYS, MONTHS

#: pandas 3 warns of the older names, but only once it meets a time: that depends on the data.
_NEWER = {
    "dayofweek": "day_of_week", "weekday": "day_of_week", "dayofyear": "day_of_year",
    "daysinmonth": "days_in_month",
}  # fmt: skip
_RANGES = {
    "month": range(1, 13), "day": range(1, 32), "hour": range(24), "minute": range(60),
    "second": range(60), "quarter": range(1, 5), "day_of_week": range(7),
    "day_of_year": range(1, 367), "days_in_month": range(28, 32),
    "isocalendar_week": range(1, 54), "isocalendar_day": range(1, 8),
}  # fmt: skip
_RANGES |= {old: _RANGES[new] for old, new in _NEWER.items()}
_NAMES = {"day_name": DAYS, "month_name": MONTHS}
_FLAGS = (
    "is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end", "is_year_start",
    "is_year_end", "is_leap_year",
)  # fmt: skip
_OTHERS = ("year", "microsecond", "nanosecond", "isocalendar_year")
_YEARS = ("year", "isocalendar_year")
_ROUNDED = ("normalize", "date", "floor", "ceil", "round")
#: In the order of `datetime.isocalendar`.
ISO = ("isocalendar_year", "isocalendar_week", "isocalendar_day")
DAY = 86_400

PARTS = (*_RANGES, *_FLAGS, *_OTHERS)


def _fine(value: Any) -> Any:
    """In microseconds, if that loses nothing: what overflows must not depend on a column's unit."""
    nanoseconds = value.nanoseconds if isinstance(value, pd.Timedelta) else value.nanosecond
    return value if nanoseconds else value.as_unit("us")


_SECOND = 10**6
_DAY = DAY * _SECOND
#: Members of durations, from microseconds and the nanoseconds beyond. As in pandas, only the days
#: of a negative duration are negative.
DURATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "days": lambda micros, nanos: micros // _DAY,
    "seconds": lambda micros, nanos: micros // _SECOND % DAY,
    "microseconds": lambda micros, nanos: micros % _SECOND,
    "nanoseconds": lambda micros, nanos: nanos,
    "total_seconds": lambda micros, nanos: micros / 1e6 + nanos / 1e9,
}


#: Microseconds since 1970 in which nanoseconds fit, by any clock.
_FAMILIAR = 9 * 10**15


#: Longer steps than any that people round to might overflow.
_MOST_STEP = 10**15


def _familiar(operand: Vector) -> tuple[Integers, Integers, Mask] | None:
    """What the local clock shows, the nanoseconds beyond, and what is missing: of times of a few
    centuries, where pandas and Python agree what day it is. None for others."""
    if not isinstance(operand, Instants):
        return None
    local, none = wall(operand)
    local = np.where(none, 0, local)
    is_familiar = not len(local) or (local.min() > -_FAMILIAR and local.max() < _FAMILIAR)
    return (local, operand.beyond, none) if is_familiar else None


@lru_cache(maxsize=256)
def _microseconds(frequency: str) -> int | None:
    """A frequency as whole microseconds; None if it isn't."""
    try:
        offset: Any = to_offset(frequency)
        length = pd.Timedelta(days=offset.n) if isinstance(offset, Day) else pd.Timedelta(offset)
        micros, nanos = divmod(length.value, 1000)
    except Exception:  # it is no length of time
        return None
    return micros if not nanos and 0 < micros <= _MOST_STEP else None


def _date(local: Integers) -> tuple[Integers, Integers, Integers]:
    """Days since 1970, months since 1970, and the day of the month from 1."""
    days = local // _DAY
    months = days.astype("M8[D]").astype("M8[M]")
    return days, months.view(np.int64), days - _first(months.view(np.int64)) + 1


def _first(months: Integers) -> Integers:
    """The first day of a month, both since 1970."""
    return months.astype("M8[M]").astype("M8[D]").view(np.int64)


def _weekday(days: Integers) -> Integers:
    return (days + 3) % 7  # from Monday, which is 0; 1970 began on a Thursday


def _iso_year(days: Integers) -> tuple[Integers, Integers]:
    """The year that a week belongs to, since 1970, and the days since it began: those of the
    week's Thursday."""
    thursday = days - _weekday(days) + 3
    years = thursday.astype("M8[D]").astype("M8[Y]").view(np.int64)
    return years, thursday - _first(12 * years)


def _of_date(
    part: Callable[[Integers, Integers, Integers], Any],
) -> Callable[[Integers, Integers], Any]:
    return lambda local, beyond: part(*_date(local))


def _of_day(part: Callable[[Integers], Any]) -> Callable[[Integers, Integers], Any]:
    return lambda local, beyond: part(local // _DAY)


def _of_clock(unit: int, most: int) -> Callable[[Integers, Integers], Any]:
    return lambda local, beyond: local // unit % most


def _at_edge(length: int, is_end: bool) -> Callable[[Integers, Integers], Any]:
    """Whether a day is the first or the last of a period of some months."""

    def edge(days: Integers, months: Integers, day: Integers) -> Any:
        start = months // length * length
        return days == (_first(start + length) - 1 if is_end else _first(start))

    return _of_date(edge)


def _is_leap(days: Integers, months: Integers, day: Integers) -> Any:
    return _first(months // 12 * 12 + 12) - _first(months // 12 * 12) == 366


#: Members of times, from what a local clock shows in microseconds, and the nanoseconds beyond.
_COUNTED: dict[str, Callable[[Integers, Integers], Any]] = {
    "year": _of_date(lambda days, months, day: months // 12 + 1970),
    "month": _of_date(lambda days, months, day: months % 12 + 1),
    "quarter": _of_date(lambda days, months, day: months % 12 // 3 + 1),
    "day": _of_date(lambda days, months, day: day),
    "day_of_year": _of_date(lambda days, months, day: days - _first(months // 12 * 12) + 1),
    "days_in_month": _of_date(lambda days, months, day: _first(months + 1) - _first(months)),
    "day_of_week": _of_day(_weekday),
    "hour": _of_clock(3600 * _SECOND, 24),
    "minute": _of_clock(60 * _SECOND, 60),
    "second": _of_clock(_SECOND, 60),
    "microsecond": _of_clock(1, _SECOND),
    "nanosecond": lambda local, beyond: beyond,
    "isocalendar_year": _of_day(lambda days: _iso_year(days)[0] + 1970),
    "isocalendar_week": _of_day(lambda days: _iso_year(days)[1] // 7 + 1),
    "isocalendar_day": _of_day(lambda days: _weekday(days) + 1),
    "day_name": _of_day(_weekday),
    "month_name": _of_date(lambda days, months, day: months % 12),
    "is_leap_year": _of_date(_is_leap),
    **{f"is_{name}_{end}": _at_edge(length, end == "end")
       for name, length in (("month", 1), ("quarter", 3), ("year", 12))
       for end in ("start", "end")},
}  # fmt: skip


@dataclass(frozen=True)
class TimePart(Unary):
    """A member of `.dt`, of a time or of a duration."""

    part: str
    frequency: str = ""  # of floor, ceil and round

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.part in DURATIONS:
            micros, nanos, none = vectors.moments(operand, "duration")
            return Numbers(np.where(none, np.nan, DURATIONS[self.part](micros, nanos)))
        step = self._step
        if step is None and _NEWER.get(self.part, self.part) not in _COUNTED:
            return self._one_by_one(operand)
        clock = _familiar(operand)
        if clock is None:
            return self._one_by_one(operand)
        if step is None:
            return self._counted(*clock)
        zone = operand.zone  # type: ignore[attr-defined]
        if self.part != "date" and zone not in (None, "UTC"):  # clocks skip and repeat times
            return self._one_by_one(operand)
        return self._rounded(step, *clock, zone)

    def _one_by_one(self, operand: Vector) -> Vector:
        found = vectors.each(operand, self._of, ("time", self.part, self.frequency))
        return Truths(vectors.compare_scalar("==", found, True)) if self.is_truth else found

    def _counted(self, local: Integers, beyond: Integers, none: Mask) -> Vector:
        part = _NEWER.get(self.part, self.part)
        missing = none if none.any() else None
        found = _COUNTED[part](local, beyond)
        if self.is_truth:
            return Truths(found & ~none)
        if part in _NAMES:
            return vectors.coded(_NAMES[part], np.where(none, -1, found))
        return Numbers(found, missing)

    @property
    def _step(self) -> int | None:
        """The microseconds between the times that it rounds to; None if there are none."""
        if self.part in ("date", "normalize"):
            return _DAY
        return _microseconds(self.frequency) if self.frequency else None

    def _rounded(
        self, step: int, local: Integers, beyond: Integers, none: Mask, zone: str | None
    ) -> Vector:
        start = local // step * step
        if self.part in ("ceil", "round"):
            rest, more = local - start, beyond > 0
            twice = 2 * rest - step
            goes_on = (rest > 0) | more
            if self.part == "round":  # halves to even
                nanos = np.where(np.abs(twice) <= 1, 1000 * twice + 2 * beyond, twice)
                goes_on = (nanos > 0) | ((nanos == 0) & (start // step % 2 == 1))
            start = np.where(goes_on, start + step, start)
        missing = none if none.any() else None
        return Instants(
            np.where(none, 0, start), None, missing, None if self.part == "date" else zone
        )

    def _of(self, value: Any) -> Any:
        is_length = isinstance(value, datetime.timedelta)
        if not isinstance(value, datetime.datetime) and not (is_length and self.frequency):
            return None
        value = _fine(pd.Timedelta(value) if is_length else pd.Timestamp(value))
        if self.part == "date":
            return value.tz_localize(None).normalize()
        if self.part in ISO:
            return value.isocalendar()[ISO.index(self.part)]
        found = getattr(value, _NEWER.get(self.part, self.part))
        if self.frequency:
            return found(self.frequency)
        return found() if callable(found) else found

    def _declared(self, domain: Domain) -> Declaration | None:
        """The values that a member can have, whatever the data."""
        if self.is_truth:
            return Keys((False, True))
        values: Any = _RANGES.get(self.part) or _NAMES.get(self.part)
        if values:
            return Keys(tuple(values))
        ends = clocks_of(self.operand, domain) if self.part in _YEARS else None
        return None if ends is None else time_keys.numbered(*map(self._of, ends))

    def known_keys(self, domain: Domain, schema: Schema) -> Keys | None:
        step, zone = self._step, zone_of(self.operand)
        ends = None if step is None else clocks_of(self.operand, domain)
        if step is None or ends is None:
            return super().known_keys(domain, schema)
        declared, kind = self.operand.declared(domain), self.operand.kind(schema)
        if self.part == "date":
            known = time_keys.multiples(ends, self._of, step, None)
            return known and Keys(tuple(time.date() for time in known.labels))
        if not time_keys.are_told(declared, kind, zone):
            return None
        return time_keys.multiples(ends, self._of, step, zone)

    def _kind(self, schema: Schema) -> Kind:
        if self.part in _NAMES:
            return kinds.TEXT
        if self.is_truth:
            return kinds.TRUTH
        if self.part == "date":
            return kinds.TIME
        return self.operand.kind(schema) if self.part in _ROUNDED else kinds.NUMBER

    @property
    def is_truth(self) -> bool:
        """As in pandas, a missing time isn't the start of a month, nor anything else."""
        return self.part in _FLAGS

    @property
    def reading(self) -> int:
        """At first, flags of missing times were missing, and dates whose midnight a clock shows
        twice or never."""
        return 2 if self.is_truth or self.part == "date" else 1

    def needs(self, schema: Schema) -> Needs:
        durations = frozenset({kinds.DURATION})
        times = kinds.TIMES | durations if self.frequency else kinds.TIMES
        yield self.operand, durations if self.part in DURATIONS else times

    def __str__(self) -> str:
        frequency = f"({self.frequency!r})" if self.frequency else ""
        return f"{self.operand.inner}.dt.{self.part}{frequency}"


@dataclass(frozen=True)
class InZone(Unary):
    """A zoned time in another zone, or in UTC without a zone (None)."""

    zone: str | None

    takes = frozenset({kinds.ZONED})

    def vector(self, chunk: Chunk) -> Vector:
        moments = vectors.moments(self.operand.vector(chunk), "zoned")
        return vectors.times_from(*moments, self.zone)

    def _declared(self, domain: Domain) -> Declaration | None:
        """The same instants, by another clock."""
        span = self.operand.declared(domain)
        if not isinstance(span, Span) or span.family != "zoned":
            return None
        return Span("time" if self.zone is None else "zoned", span.lower, span.upper, self.zone)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TIME if self.zone is None else kinds.ZONED

    def __str__(self) -> str:
        return f"{self.operand.inner}.dt.tz_convert({self.zone!r})"


@dataclass(frozen=True)
class Localized(Unary):
    """A time without a zone by the clock of a zone; missing if that clock shows it never or twice.
    For None, what the clock of a zoned time shows."""

    canonical_name: ClassVar[str] = "Localized"

    zone: str | None

    def _declared(self, domain: Domain) -> Declaration | None:
        """By a clock that skips and repeats no time, or by one without a zone."""
        span = self.operand.declared(domain)
        if not isinstance(span, Span) or not span.is_time or self.zone not in (None, "UTC"):
            return None
        if self.zone is not None:
            is_local = span.family in ("time", "clock")
            return Span("zoned", span.lower, span.upper, "UTC") if is_local else None
        return None if span.family == "zoned" else span

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, kinds.TIMES if self.zone is None else frozenset({kinds.TIME})

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.zone == "UTC":
            return vectors.times_from(*vectors.moments(operand, "time"), "UTC")
        return vectors.each(operand, self._of, ("localized", self.zone))

    def _of(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            return None
        time = _fine(pd.Timestamp(value))
        if self.zone is None:
            return time.tz_localize(None)
        if time.tz is not None:
            return None
        return time.tz_localize(self.zone, ambiguous="NaT", nonexistent="NaT")

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TIME if self.zone is None else kinds.ZONED

    def __str__(self) -> str:
        return f"{self.operand.inner}.dt.tz_localize({self.zone!r})"


def zone_of(times: Expression) -> str | None:
    """The zone of times, if it is known of all rows."""
    return times.zone if isinstance(times, InZone | Localized) else None


def clocks_of(times: Expression, domain: Domain) -> time_keys.Ends | None:
    return time_keys.clocks_of(times.declared(domain), zone_of(times) is not None)
