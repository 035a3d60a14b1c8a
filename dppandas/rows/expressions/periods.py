"""The calendar period that a time lies in, for one time at a time."""

from __future__ import annotations

import calendar
import datetime
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ..facts import kinds, time_keys
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.forms import Codes, Instants, Vector, clock, numbered
from .base import Chunk, Domain, Needs, Unary
from .elapsed import clocks
from .times import DAY, clocks_of

_EPOCH = pd.Timestamp(1970, 1, 1)
#: How many starts a period's label is from the start of a time in it, at most; a day more where a
#: clock may skip midnight.
_FAR = {"D": 2, "W": 8, "M": 32, "Q": 94, "Y": 368, "t": 1}
#: Between how many starts the labels of periods are found in advance.
MOST_STARTS = 2**17


def _has_zone(label: Any) -> bool | None:
    """Whether a label that is a time has one; None for others."""
    return label.tz is not None if isinstance(label, pd.Timestamp) else None


@dataclass(frozen=True)
class Calendar:
    """A public division of time, by the local clock of a zone (None: of times without one).

    kind : D, W, MS, ME, QS, QE, YS, YE, or "tick" for equal intervals of a day.
    anchor : the weekday that ends a week, or a month that starts (ends) a quarter or year.
    """

    kind: str
    frequency: str
    anchor: int = 0
    seconds: int = DAY
    zone: Any = None
    by_clock: bool = False  # times with and without a zone alike, by the local clock

    def label(self, time: datetime.datetime) -> pd.Timestamp:
        """pandas' name for the period of a time without a zone: its start, or its last day if
        pandas names it by its end."""
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
            months -= (day.month - self.anchor) % length
            return datetime.date(months // 12, months % 12 + 1, 1)
        months += (self.anchor - day.month) % length
        year, month = months // 12, months % 12 + 1
        return datetime.date(year, month, calendar.monthrange(year, month)[1])

    def placed(self, label: pd.Timestamp) -> pd.Timestamp:
        """A label of the zone's local clock as an instant. What the clock skips is moved forward;
        of what it repeats, the first is meant."""
        if self.zone is None:
            return label
        return label.tz_localize(self.zone, ambiguous=True, nonexistent="shift_forward")


@dataclass(frozen=True)
class Period(Unary):
    """The label of the period that a time lies in, by that time and public facts alone: pandas
    would start to count at the first row."""

    division: Calendar

    def vector(self, chunk: Chunk) -> Vector:
        local, none = self._clock(self.operand.vector(chunk))
        starts = local // (10**6 * self._step)
        starts[none] = 0
        codes, found = numbered(starts)
        labels = map(self._label, (found * self._step).astype("M8[s]").tolist())
        return vectors.coded(list(labels), np.where(none, -1, codes))

    def places_among(self, keys: Keys, chunk: Chunk) -> Codes | None:
        """By arithmetic, where a table of all starts near the labels isn't too long."""
        table = self._known("_table", keys, self._places_by_start)
        if table is None:
            return None
        first, places = table
        local, none = self._clock(self.operand.vector(chunk))
        starts = local // (10**6 * self._step)
        starts -= first
        if none.any():
            starts[none] = -1
        beyond = np.uint64(len(places) - 1)  # below 0 is beyond, too
        found: Codes = places[np.minimum(starts.view(np.uint64), beyond).view(np.int64)]
        return found

    @property
    def _step(self) -> int:
        """Starts are multiples of so many seconds."""
        return self.division.seconds if self.division.kind == "tick" else DAY

    def _places_by_start(self, keys: Keys) -> tuple[int, Codes] | None:
        """The first start whose period may be a label, in steps since 1970, and the position of the
        label for each start from there on, at the end for all others; None for too many of them."""
        if {_has_zone(label) for label in keys.labels} not in ({False}, {True}):
            return None
        far, step = _FAR.get(self.division.kind[0], 1), self._step
        clocks = [label.tz_localize(None) for label in (min(keys.labels), max(keys.labels))]
        first, last = ((each - _EPOCH) // pd.Timedelta(seconds=step) for each in clocks)
        if last - first > MOST_STARTS:
            return None
        starts = np.arange(first - far, last + far + 1, dtype=np.int64) * step
        if self.division.kind in ("tick", "D") and self.division.zone is None:
            labels: Vector = Instants(starts * 10**6, None, None)
        else:
            named = list(map(self._label, starts.astype("M8[s]").tolist()))
            labels = vectors.coded(named, np.arange(len(named)))
        found = vectors.prepared(keys.labels).codes(labels)
        return int(first - far), np.append(found, len(keys)).astype(np.intp)

    def _clock(self, operand: Vector) -> tuple[vectors.Integers, vectors.Mask]:
        """What the local clock shows at each time, in microseconds, and which elements are none."""
        if self.division.by_clock:
            local, _, none = clocks(operand)
            return local, none
        zone = self.division.zone
        micros, _, none = vectors.moments(operand, "time" if zone is None else "zoned")
        return (micros, none) if zone is None else clock(micros, none, zone)

    def _label(self, start: Any) -> Any:
        try:
            time = datetime.datetime(*start.timetuple()[:6])
            return self.division.placed(self.division.label(time))
        except Exception:  # no time, or a year that pandas doesn't know
            return None

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TIME if self.division.zone is None else kinds.ZONED

    def needs(self, schema: Schema) -> Needs:
        own = frozenset({self._kind(schema)})
        yield self.operand, kinds.TIMES if self.division.by_clock else own

    def __str__(self) -> str:
        return f"{self.operand.inner} by {self.division.frequency}"


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

    def known_keys(self, domain: Domain, schema: Schema) -> Keys | None:
        ends = clocks_of(self.operand, domain)
        return None if ends is None else time_keys.periods(ends, self.frequency)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.periods(self.frequency)

    def __str__(self) -> str:
        return f"{self.operand.inner}.dt.to_period({self.frequency!r})"
