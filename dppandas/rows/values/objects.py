"""From a cell back to a plain object, to hand to a function of one element."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from .families import Cell
from .forms import tzinfo


def value_of(cell: Cell) -> Any:
    """The plain object for a cell: int, float or Fraction; str; Timestamp; Timedelta; a tuple for a
    list; and so on. None if it is missing or opaque.

    >>> value_of(("time", 1_577_836_800_000_000_000))
    Timestamp('2020-01-01 00:00:00')
    """
    try:
        return _OBJECTS[cell[0]](cell[1])
    except Exception:  # such as a time that its zone would move beyond the last one
        return None


def timestamp(nanos: int) -> pd.Timestamp:
    """In microseconds if that loses nothing, since what overflows depends on pandas' unit."""
    whole, rest = divmod(nanos, 1000)
    return pd.Timestamp(nanos, unit="ns") if rest else pd.Timestamp(np.datetime64(whole, "us"))


def _duration(nanos: int) -> Any:
    if -(2**63) < nanos < 2**63:
        span = pd.Timedelta(nanos, unit="ns")
        return span if nanos % 1000 else span.as_unit("us")
    return pd.Timedelta(datetime.timedelta(microseconds=nanos // 1000))


def _clock(exact: tuple[int, int | None]) -> datetime.time:
    passed, offset = exact
    rest, micro = divmod(passed, 10**6)
    zone = None if offset is None else datetime.timezone(datetime.timedelta(microseconds=offset))
    return datetime.time(rest // 3600, rest // 60 % 60, rest % 60, micro, zone)


def _period(exact: tuple[str, int]) -> pd.Period | None:
    """None for frequencies of which pandas warns: the warning would show that one is present."""
    freq, ordinal = exact
    return None if freq.startswith(("B", "C")) else pd.Period(ordinal=ordinal, freq=freq)


_OBJECTS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("truth", "number", "text", "bytes"), lambda exact: exact),
    **dict.fromkeys(("list", "set", "mapping"), lambda exact: tuple(map(value_of, exact))),
    "time": timestamp,
    "zoned": lambda exact: timestamp(exact[0]).tz_localize("UTC").tz_convert(tzinfo(exact[1])),
    "duration": _duration,
    "clock": _clock,
    "uuid": lambda exact: UUID(int=exact),
    "period": _period,
    "interval": lambda exact: pd.Interval(value_of(exact[1]), value_of(exact[2]), exact[0]),
    "complex": lambda exact: complex(*exact),
}
