"""Parts of times, one at a time: what `.dt` offers. What is no time is missing."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.vectors import Numbers, Vector
from .base import Chunk, Domain, Expression, inner

_RANGES = {
    "month": range(1, 13),
    "day": range(1, 32),
    "hour": range(24),
    "minute": range(60),
    "second": range(60),
    "quarter": range(1, 5),
    "dayofweek": range(7),
    "day_of_week": range(7),
    "weekday": range(7),
    "dayofyear": range(1, 367),
    "day_of_year": range(1, 367),
    "days_in_month": range(28, 32),
    "daysinmonth": range(28, 32),
    "isocalendar_week": range(1, 54),
}
#: pandas 3 warns of the others, once it meets a time.
_NEWER = {
    "dayofweek": "day_of_week",
    "weekday": "day_of_week",
    "dayofyear": "day_of_year",
    "daysinmonth": "days_in_month",
}
_NAMES = {"day_name": calendar.day_name, "month_name": calendar.month_name[1:]}
_FLAGS = (
    "is_month_start", "is_month_end", "is_quarter_start", "is_quarter_end", "is_year_start",
    "is_year_end", "is_leap_year",
)  # fmt: skip
_OTHERS = ("year", "microsecond", "nanosecond")
_ROUNDED = ("normalize", "date", "floor", "ceil", "round")
DAY = 86_400
#: What a duration has.
DURATIONS = ("days", "seconds", "microseconds", "nanoseconds", "total_seconds")

PARTS = (*_RANGES, *_FLAGS, *_OTHERS)
METHODS = (*_NAMES, "normalize", "total_seconds")


def _fine(value: Any) -> Any:
    """In microseconds, where that loses nothing: a column's unit must not say what overflows."""
    nanoseconds = value.nanoseconds if isinstance(value, pd.Timedelta) else value.nanosecond
    return value if nanoseconds else value.as_unit("us")


def _length(part: str, micros: Any, nanos: Any) -> Any:
    """A part of durations, as pandas counts them: of negative ones only the days are negative."""
    if part == "total_seconds":
        return micros / 1e6 + nanos / 1e9
    if part == "nanoseconds":
        return nanos
    second = 10**6
    if part == "microseconds":
        return micros % second
    return micros // second % DAY if part == "seconds" else micros // (DAY * second)


@dataclass(frozen=True)
class TimePart(Expression):
    """A part of a time or of a duration."""

    operand: Expression
    part: str
    frequency: str = ""  # of floor, ceil and round

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.part in DURATIONS:
            micros, nanos, none = vectors.durations(operand)
            return Numbers(np.where(none, np.nan, _length(self.part, micros, nanos)))
        return vectors.each(operand, self._of, ("time", self.part, self.frequency))

    def _of(self, value: Any) -> Any:
        if isinstance(value, datetime.timedelta):
            return self._found(_fine(pd.Timedelta(value))) if self.frequency else None
        if not isinstance(value, datetime.datetime):
            return None
        time: Any = _fine(pd.Timestamp(value))
        if self.part == "date":
            return time.normalize().tz_localize(None)
        if self.part == "isocalendar_week":
            return time.week
        return self._found(time)

    def _found(self, value: Any) -> Any:
        found = getattr(value, _NEWER.get(self.part, self.part))
        if self.frequency:
            return found(self.frequency)
        return found() if callable(found) else found

    def declared(self, domain: Domain) -> Declaration | None:
        """The values that a part of a time can have are no secret."""
        if self.part in _FLAGS:
            return Keys((False, True))
        values: Any = _RANGES.get(self.part) or _NAMES.get(self.part)
        return Keys(tuple(values)) if values else None

    def _kind(self, schema: Schema) -> Kind:
        if self.part in _NAMES:
            return kinds.TEXT
        if self.part in _FLAGS:
            return kinds.TRUTH
        if self.part == "date":
            return kinds.TIME
        return self.operand.kind(schema) if self.part in _ROUNDED else kinds.NUMBER

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        if self.frequency:
            yield self.operand, kinds.TIMES | {kinds.DURATION}
        elif self.part in DURATIONS:
            yield self.operand, frozenset({kinds.DURATION})
        else:
            yield self.operand, kinds.TIMES

    def __str__(self) -> str:
        return f"{inner(self.operand)}.dt.{self.part}" + (
            f"({self.frequency!r})" if self.frequency else ""
        )


@dataclass(frozen=True)
class InZone(Expression):
    """A zoned time on the clocks of another zone; without a name of one, in UTC and without."""

    operand: Expression
    zone: str | None

    is_atom = True
    takes = frozenset({kinds.ZONED})

    def vector(self, chunk: Chunk) -> Vector:
        return vectors.times_from(
            *vectors.instants(self.operand.vector(chunk), zoned=True), self.zone
        )

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TIME if self.zone is None else kinds.ZONED

    def __str__(self) -> str:
        return f"{inner(self.operand)}.dt.tz_convert({self.zone!r})"


@dataclass(frozen=True)
class InPeriod(Expression):
    """The period of a frequency that a time lies in, by the clock on its wall."""

    operand: Expression
    frequency: str

    is_atom = True
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
        return f"{inner(self.operand)}.dt.to_period({self.frequency!r})"
