"""What one time means: instants, with a zone or without, spans, and times of day."""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from .families import MISSING, MOST_MICROS, Cell, own

_FIRST = datetime.date(1970, 1, 1).toordinal()
#: Of every unit that datetime64 counts in, as a fraction of nanoseconds.
UNITS: dict[str, Fraction] = {
    "W": Fraction(7 * 86_400 * 10**9), "D": Fraction(86_400 * 10**9),
    "h": Fraction(3_600 * 10**9), "m": Fraction(60 * 10**9), "s": Fraction(10**9),
    "ms": Fraction(10**6), "us": Fraction(1000), "ns": Fraction(1), "ps": Fraction(1, 1000),
    "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9),
}  # fmt: skip


def instant(nanos: int | Fraction, zone: str | None) -> Cell:
    """The meaning of an instant, by its nanoseconds since 1970: of its own clock without a zone."""
    if nanos.denominator != 1 or not -MOST_MICROS <= nanos // 1000 <= MOST_MICROS:
        return MISSING
    return ("time", int(nanos)) if zone is None else ("zoned", (int(nanos), zone))


def duration(nanos: int | Fraction) -> Cell:
    """The meaning of a span of time."""
    if nanos.denominator != 1 or not -MOST_MICROS <= nanos // 1000 <= MOST_MICROS:
        return MISSING
    return "duration", int(nanos)


def _of(kind: type, *names: str) -> Callable[[Any], tuple[int, ...]]:
    """What reads some attributes by a type's own descriptors."""
    read = [own(kind, name) for name in names]
    return lambda cell: tuple(get(cell) for get in read)


_DAY = _of(datetime.date, "year", "month", "day")
_CLOCK = _of(datetime.datetime, "hour", "minute", "second", "microsecond")
_OF_DAY = _of(datetime.time, "hour", "minute", "second", "microsecond")
_ZONE, _ZONE_OF_DAY = own(datetime.datetime, "tzinfo"), own(datetime.time, "tzinfo")
_SPAN = _of(datetime.timedelta, "days", "seconds", "microseconds")


def _date(cell: datetime.date, room: object) -> Cell:
    return instant(_days(*_DAY(cell)) * 86_400 * 10**9, None)


def _days(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - _FIRST


def _micros_of(hour: int, minute: int, second: int, micro: int) -> int:
    """Since midnight."""
    return ((hour * 60 + minute) * 60 + second) * 10**6 + micro


def _datetime(cell: datetime.datetime, room: object) -> Cell:
    wall = _days(*_DAY(cell)) * 86_400 * 10**6 + _micros_of(*_CLOCK(cell))
    zone = _ZONE(cell)
    if zone is None:
        return instant(wall * 1000, None)
    offset = _offset_micros(datetime.datetime.utcoffset(cell))
    if offset is None:
        return instant(wall * 1000, None)
    return instant((wall - offset) * 1000, zone_name(zone, offset))


def _offset_micros(offset: datetime.timedelta | None) -> int | None:
    """An offset from UTC in microseconds."""
    if offset is None:
        return None
    days, seconds, micros = _SPAN(offset)
    return (days * 86_400 + seconds) * 10**6 + micros


def zone_name(zone: datetime.tzinfo | None, offset: int = 0) -> str:
    """A zone by its name, where it has one that anybody knows; else the offset that it has now."""
    name = None
    if type(zone) is zoneinfo.ZoneInfo:
        name = zone.key
    elif type(zone).__module__.partition(".")[0] == "pytz":
        name = getattr(zone, "zone", None)
    if isinstance(name, str) and name not in _UTC and _is_known(str.__str__(name)):
        return str.__str__(name)
    if offset == 0:
        return "UTC"
    minutes, rest = divmod(abs(offset), 60 * 10**6)
    seconds = f":{rest / 10**6:g}" if rest else ""
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}{seconds}"


@lru_cache(maxsize=1024)
def _is_known(name: str) -> bool:
    """Whether a name is that of a zone: one from a file may have any."""
    try:
        zoneinfo.ZoneInfo(name)
    except Exception:
        return False
    return True


def zone_of(zone: datetime.tzinfo) -> str | None:
    """The name of a zone for all times; None for one that has neither a name nor one offset."""
    name = zone_name(zone, 1)
    if name[0] not in "+-":
        return name
    try:
        offset = _offset_micros(zone.utcoffset(None))
    except Exception:
        return None
    return None if offset is None else zone_name(zone, offset)


_UTC = ("UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "Universal", "Etc/Universal")


def _timestamp(cell: pd.Timestamp, room: object) -> Cell:
    nanos = _counted(_ASM8_OF_TIME(cell))
    zone = _ZONE(cell)
    if nanos is None or zone is None:
        return MISSING if nanos is None else instant(nanos, None)
    offset = _offset_micros(_OFFSET_OF_TIME(cell)) or 0
    return instant(nanos, zone_name(zone, offset))


_OFFSET_OF_TIME = pd.Timestamp.utcoffset
_ASM8_OF_TIME = own(pd.Timestamp, "asm8")
_COUNT, _UNIT = own(pd.Timedelta, "_value"), own(pd.Timedelta, "unit")


def _counted(stamp: Any) -> int | Fraction | None:
    """The nanoseconds of a datetime64 or timedelta64 whose unit is a fixed time."""
    if np.isnat(stamp):
        return None
    unit, step = np.datetime_data(stamp.dtype)
    if unit not in UNITS:
        return None
    return int(stamp.view("i8")) * step * UNITS[unit]


def _datetime64(cell: np.datetime64, room: object) -> Cell:
    stamp: Any = np.asarray(cell)[()]
    if np.datetime_data(stamp.dtype)[0] in ("Y", "M") and not np.isnat(stamp):
        months = int(stamp.astype("M8[M]").view("i8"))
        if not -(2**23) < months < 2**23:
            return MISSING
        stamp = stamp.astype("M8[D]")
    nanos = _counted(stamp)
    return MISSING if nanos is None else instant(nanos, None)


def _timedelta64(cell: np.timedelta64, room: object) -> Cell:
    nanos = _counted(np.asarray(cell)[()])
    return MISSING if nanos is None else duration(nanos)


def _pandas_timedelta(cell: pd.Timedelta, room: object) -> Cell:
    return duration(int(_COUNT(cell)) * UNITS[str(_UNIT(cell))])


def _timedelta(cell: datetime.timedelta, room: object) -> Cell:
    days, seconds, micros = _SPAN(cell)
    return duration(((days * 86_400 + seconds) * 10**6 + micros) * 1000)


def _clock(cell: datetime.time, room: object) -> Cell:
    offset = None
    if _ZONE_OF_DAY(cell) is not None:
        offset = _offset_micros(datetime.time.utcoffset(cell))
    return "clock", (_micros_of(*_OF_DAY(cell)), offset)


#: What reads each type; what else a cell lies in doesn't matter to it.
READERS: dict[type, Callable[[Any, object], Cell]] = {
    pd.Timestamp: _timestamp,
    datetime.datetime: _datetime,
    datetime.date: _date,
    np.datetime64: _datetime64,
    pd.Timedelta: _pandas_timedelta,
    datetime.timedelta: _timedelta,
    np.timedelta64: _timedelta64,
    datetime.time: _clock,
}
