"""Times as text, by a `strftime` that writes the same on every machine.

Python's asks the C library, which differs by locale, by system, and for years before 1000. So each
portable directive is written here, with English names of days and months; directives that follow
the locale are refused.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import pandas as pd

from ...dataclasses import dataclass
from ..facts import kinds
from ..values import vectors
from ..values.forms import Vector
from .base import Chunk, Unary

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

#: Of a format, in characters.
LONGEST = 1000
_DIRECTIVE = re.compile("%(.?)", re.DOTALL)


def _offset(time: datetime.datetime) -> str:
    offset = time.utcoffset()
    if offset is None:
        return ""
    seconds = round(abs(offset).total_seconds())
    said = f"{'-' if offset.days < 0 else '+'}{seconds // 3600:02}{seconds // 60 % 60:02}"
    return said + (f"{seconds % 60:02}" if seconds % 60 else "")


def _week(time: datetime.datetime, first: int) -> int:
    """The week of the year; week 1 starts on the year's first Sunday (6) or Monday (0)."""
    day_of_year, day_of_week = time.timetuple().tm_yday, (time.weekday() - first) % 7
    return (day_of_year + 6 - day_of_week) // 7


DIRECTIVES: dict[str, Callable[[Any], str]] = {
    "a": lambda t: DAYS[t.weekday()][:3],
    "A": lambda t: DAYS[t.weekday()],
    "b": lambda t: MONTHS[t.month - 1][:3],
    "B": lambda t: MONTHS[t.month - 1],
    "d": lambda t: f"{t.day:02}",
    "f": lambda t: f"{t.microsecond:06}",
    "G": lambda t: f"{t.isocalendar()[0]:04}",
    "H": lambda t: f"{t.hour:02}",
    "I": lambda t: f"{(t.hour - 1) % 12 + 1:02}",
    "j": lambda t: f"{t.timetuple().tm_yday:03}",
    "m": lambda t: f"{t.month:02}",
    "M": lambda t: f"{t.minute:02}",
    "p": lambda t: "AM" if t.hour < 12 else "PM",
    "S": lambda t: f"{t.second:02}",
    "u": lambda t: str(t.isoweekday()),
    "U": lambda t: f"{_week(t, 6):02}",
    "V": lambda t: f"{t.isocalendar()[1]:02}",
    "w": lambda t: str(t.isoweekday() % 7),
    "W": lambda t: f"{_week(t, 0):02}",
    "y": lambda t: f"{t.year % 100:02}",
    "Y": lambda t: f"{t.year:04}",
    "z": _offset,
    "Z": lambda t: t.tzname() or "",
    "%": lambda t: "%",
}


def unknown(form: str) -> list[str]:
    """The directives of a format that have no function here."""
    return [f"%{letter}" for letter in _DIRECTIVE.findall(form) if letter not in DIRECTIVES]


@dataclass(frozen=True)
class TimeText(Unary):
    """A time as text in a public format, by the local clock of its zone."""

    form: str

    takes = kinds.TIMES
    makes = kinds.TEXT

    def vector(self, chunk: Chunk) -> Vector:
        return vectors.each(self.operand.vector(chunk), self._of, ("text of", self.form))

    def _of(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            return None
        time = pd.Timestamp(value)
        if not 1 <= time.year <= 9999:  # beyond Python's calendar
            return None
        return _DIRECTIVE.sub(lambda match: DIRECTIVES[match[1]](time), self.form)

    def __str__(self) -> str:
        return f"{self.operand.inner}.dt.strftime({self.form!r})"
