"""What one time means: an instant with a zone or without, a duration, or a time of day."""

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
#: The nanoseconds in each unit of datetime64 that is a fixed time.
UNITS: dict[str, int | Fraction] = {
    "W": 7 * 86_400 * 10**9, "D": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9,
    "ms": 10**6, "us": 1000, "ns": 1, "ps": Fraction(1, 1000), "fs": Fraction(1, 10**6),
    "as": Fraction(1, 10**9),
}  # fmt: skip


def instant(nanos: int | Fraction | None, zone: str | None) -> Cell:
    """The cell of an instant, from nanoseconds since 1970: in UTC, or by its own clock."""
    if nanos is None or not _is_held(nanos):
        return MISSING
    return ("time", int(nanos)) if zone is None else ("zoned", (int(nanos), zone))


def duration(nanos: int | Fraction | None) -> Cell:
    """The cell of a duration."""
    return MISSING if nanos is None or not _is_held(nanos) else ("duration", int(nanos))


def _is_held(nanos: int | Fraction) -> bool:
    return nanos.denominator == 1 and -MOST_MICROS <= nanos // 1000 <= MOST_MICROS


def _of(kind: type, *names: str) -> Callable[[Any], tuple[int, ...]]:
    """Reads some attributes by a type's own descriptors."""
    read = [own(kind, name) for name in names]
    return lambda cell: tuple(get(cell) for get in read)


_DAY = _of(datetime.date, "year", "month", "day")
_CLOCK = _of(datetime.datetime, "hour", "minute", "second", "microsecond")
_OF_DAY = _of(datetime.time, "hour", "minute", "second", "microsecond")
_ZONE, _ZONE_OF_DAY = own(datetime.datetime, "tzinfo"), own(datetime.time, "tzinfo")
_SPAN = _of(datetime.timedelta, "days", "seconds", "microseconds")


def _days(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - _FIRST


def _micros_of(hour: int, minute: int, second: int, micro: int) -> int:
    """Microseconds since midnight."""
    return ((hour * 60 + minute) * 60 + second) * 10**6 + micro


def _datetime(cell: datetime.datetime, room: object) -> Cell:
    wall = _days(*_DAY(cell)) * 86_400 * 10**6 + _micros_of(*_CLOCK(cell))
    zone = _ZONE(cell)
    offset = None if zone is None else _micros(datetime.datetime.utcoffset(cell))
    if offset is None:
        return instant(wall * 1000, None)
    return instant((wall - offset) * 1000, zone_name(zone, offset))


def _micros(length: datetime.timedelta | None) -> int | None:
    if length is None:
        return None
    days, seconds, micros = _SPAN(length)
    return (days * 86_400 + seconds) * 10**6 + micros


def zone_name(zone: datetime.tzinfo | None, offset: int = 0) -> str:
    """The well-known name of a zone, or else its present offset in microseconds as ±hh:mm."""
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
    """Whether a zone has this name; a zone read from a file may claim any."""
    try:
        zoneinfo.ZoneInfo(name)
    except Exception:
        return False
    return True


def zone_of(zone: datetime.tzinfo) -> str | None:
    """A zone's name at all times; None if it has neither a name nor a fixed offset."""
    name = zone_name(zone, 1)
    if name[0] not in "+-":
        return name
    try:
        offset = _micros(zone.utcoffset(None))
    except Exception:
        return None
    return None if offset is None else zone_name(zone, offset)


_UTC = ("UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "Universal", "Etc/Universal")


def _timestamp(cell: pd.Timestamp, room: object) -> Cell:
    zone = _ZONE(cell)
    name = None if zone is None else zone_name(zone, _micros(pd.Timestamp.utcoffset(cell)) or 0)
    return instant(int(_COUNT_OF_TIME(cell)) * UNITS[str(_UNIT_OF_TIME(cell))], name)


_COUNT_OF_TIME, _UNIT_OF_TIME = own(pd.Timestamp, "_value"), own(pd.Timestamp, "unit")
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
    return instant(_counted(stamp), None)


def _clock(cell: datetime.time, room: object) -> Cell:
    is_zoned = _ZONE_OF_DAY(cell) is not None
    offset = _micros(datetime.time.utcoffset(cell)) if is_zoned else None
    return "clock", (_micros_of(*_OF_DAY(cell)), offset)


#: How each type is read; what holds the cell doesn't matter.
READERS: dict[type, Callable[[Any, object], Cell]] = {
    pd.Timestamp: _timestamp,
    datetime.datetime: _datetime,
    datetime.date: lambda cell, room: instant(_days(*_DAY(cell)) * 86_400 * 10**9, None),
    np.datetime64: _datetime64,
    pd.Timedelta: lambda cell, room: duration(int(_COUNT(cell)) * UNITS[str(_UNIT(cell))]),
    datetime.timedelta: lambda cell, room: duration((_micros(cell) or 0) * 1000),
    np.timedelta64: lambda cell, room: duration(_counted(np.asarray(cell)[()])),
    datetime.time: _clock,
}
