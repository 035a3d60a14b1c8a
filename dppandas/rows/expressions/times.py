"""The members of `.dt`, on one time at a time. What isn't a time is missing."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.forms import Numbers, Truths, Vector
from .base import Chunk, Domain, Needs, Unary
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
#: Members of durations, from microseconds and the nanoseconds beyond. As in pandas, only the days
#: of a negative duration are negative.
DURATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "days": lambda micros, nanos: micros // (DAY * _SECOND),
    "seconds": lambda micros, nanos: micros // _SECOND % DAY,
    "microseconds": lambda micros, nanos: micros % _SECOND,
    "nanoseconds": lambda micros, nanos: nanos,
    "total_seconds": lambda micros, nanos: micros / 1e6 + nanos / 1e9,
}


@dataclass(frozen=True)
class TimePart(Unary):
    """A member of `.dt`, of a time or of a duration."""

    part: str
    frequency: str = ""  # of floor, ceil and round

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.is_truth:
            found = vectors.each(operand, self._of, ("time", self.part, ""))
            return Truths(vectors.compare_scalar("==", found, True))
        if self.part in DURATIONS:
            micros, nanos, none = vectors.moments(operand, "duration")
            return Numbers(np.where(none, np.nan, DURATIONS[self.part](micros, nanos)))
        return vectors.each(operand, self._of, ("time", self.part, self.frequency))

    def _of(self, value: Any) -> Any:
        is_length = isinstance(value, datetime.timedelta)
        if not isinstance(value, datetime.datetime) and not (is_length and self.frequency):
            return None
        value = _fine(pd.Timedelta(value) if is_length else pd.Timestamp(value))
        if self.part == "date":
            return value.normalize().tz_localize(None)
        if self.part in ISO:
            return value.isocalendar()[ISO.index(self.part)]
        found = getattr(value, _NEWER.get(self.part, self.part))
        if self.frequency:
            return found(self.frequency)
        return found() if callable(found) else found

    def declared(self, domain: Domain) -> Declaration | None:
        """The values that a member can have, whatever the data."""
        if self.is_truth:
            return Keys((False, True))
        values: Any = _RANGES.get(self.part) or _NAMES.get(self.part)
        return Keys(tuple(values)) if values else None

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
        """Flags of missing times were missing at first."""
        return 2 if self.is_truth else 1

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


@dataclass(frozen=True)
class InPeriod(Unary):
    """The pandas Period that a time lies in, by its local clock."""

    frequency: str

    takes = kinds.TIMES

    def vector(self, chunk: Chunk) -> Vector:
        return vectors.each(self.operand.vector(chunk), self._of, ("period of", self.frequency))

    def _of(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            return None
        return pd.Timestamp(value).tz_localize(None).to_period(self.frequency)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.periods(self.frequency)

    def __str__(self) -> str:
        return f"{self.operand.inner}.dt.to_period({self.frequency!r})"
