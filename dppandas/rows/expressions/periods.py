"""The period of the calendar that a time lies in, one time at a time."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..facts import kinds
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.forms import clock
from ..values.vectors import Vector
from .base import Chunk, Expression, inner
from .elapsed import clocks
from .times import DAY


@dataclass(frozen=True)
class Calendar:
    """A public division of time, by the clock on the wall of a zone (None: times without one).

    kind : D, W, MS, ME, QS, QE, YS, YE, or "tick" for equal parts of a day.
    anchor : the weekday that ends a week, or a month that starts (ends) a quarter or year.
    """

    kind: str
    frequency: str
    anchor: int = 0
    seconds: int = DAY
    zone: Any = None
    by_clock: bool = False  # of times with a zone, too, what the clock on their wall shows

    def label(self, time: datetime.datetime) -> pd.Timestamp:
        """pandas' name for the period of a time without a zone: its start, or its last day for
        those that pandas calls by their end."""
        if self.kind == "tick":
            passed = time.hour * 3600 + time.minute * 60 + time.second
            start = pd.Timestamp(time.year, time.month, time.day)
            return start + pd.Timedelta(seconds=passed // self.seconds * self.seconds)
        return pd.Timestamp(self._day(datetime.date(time.year, time.month, time.day)))

    def _day(self, day: datetime.date) -> datetime.date:
        if self.kind == "D":
            return day
        if self.kind == "W":
            return day + datetime.timedelta((self.anchor - day.weekday()) % 7)
        length = {"M": 1, "Q": 3, "Y": 12}[self.kind[0]]
        months = day.year * 12 + day.month - 1
        if self.kind[1] == "S":
            return _month(months - (day.month - self.anchor) % length)
        months += (self.anchor - day.month) % length
        year, month = divmod(months, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return datetime.date(year, month + 1, last)

    def placed(self, label: pd.Timestamp) -> pd.Timestamp:
        """A label on the wall of the zone as an instant; what the clock skips is moved forward,
        and of what it repeats the first is meant."""
        if self.zone is None:
            return label
        placed: pd.Timestamp = label.tz_localize(
            self.zone, ambiguous=True, nonexistent="shift_forward"
        )
        return placed


def _month(months: int) -> datetime.date:
    return datetime.date(months // 12, months % 12 + 1, 1)


@dataclass(frozen=True)
class Period(Expression):
    """The period that a time lies in, by its label. A function of one time and public facts: where
    pandas would start to count at the first row, nothing is asked of any row here."""

    operand: Expression
    division: Calendar

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        local, none = self._clock(self.operand.vector(chunk))
        is_part = self.division.kind == "tick"
        step = self.division.seconds if is_part else DAY
        starts = np.where(none, 0, local // 10**6 // step * step)
        found, codes = np.unique(starts.astype("M8[s]"), return_inverse=True)
        labels = [self._label(start) for start in found.tolist()]
        return vectors.coded(labels, np.where(none, -1, codes.reshape(-1)))

    def _clock(self, operand: Vector) -> tuple[vectors.Integers, vectors.Mask]:
        """What the clock on the wall shows at each time, in microseconds, and which are none."""
        if self.division.by_clock:
            local, _, none = clocks(operand)
            return local, none
        zone = self.division.zone
        micros, _, none = vectors.instants(operand, zoned=zone is not None)
        return (micros, none) if zone is None else clock(micros, none, zone)

    def _label(self, start: Any) -> Any:
        try:
            time = datetime.datetime(*start.timetuple()[:6])
            return self.division.placed(self.division.label(time))
        except Exception:  # no time, or one in no year that pandas knows
            return None

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TIME if self.division.zone is None else kinds.ZONED

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield (
            self.operand,
            kinds.TIMES if self.division.by_clock else frozenset({self._kind(schema)}),
        )

    def __str__(self) -> str:
        return f"{inner(self.operand)} by {self.division.frequency}"
