"""Parts of times, one at a time: what `.dt` offers. What is no time is missing."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .. import kinds, vectors
from ..domain import Declaration, Keys
from ..kinds import Kind, Schema
from ..vectors import Vector
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
#: What a duration has.
DURATIONS = ("days", "seconds", "microseconds", "nanoseconds", "total_seconds")

PARTS = (*_RANGES, *_FLAGS, *_OTHERS)
METHODS = (*_NAMES, "normalize", "total_seconds")


def _fine(value: Any) -> Any:
    """In microseconds, where that loses nothing: a column's unit must not say what overflows."""
    nanoseconds = value.nanoseconds if isinstance(value, pd.Timedelta) else value.nanosecond
    return value if nanoseconds else value.as_unit("us")


@dataclass(frozen=True)
class TimePart(Expression):
    """A part of a time or of a duration."""

    operand: Expression
    part: str
    frequency: str = ""  # of floor, ceil and round

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        return vectors.each(operand, self._of, ("time", self.part, self.frequency))

    def _of(self, value: Any) -> Any:
        if isinstance(value, datetime.timedelta):
            if self.part not in DURATIONS and not self.frequency:
                return None
            return self._found(_fine(pd.Timedelta(value)))
        if not isinstance(value, datetime.datetime) or self.part in DURATIONS:
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
