"""Which labels times between public bounds can have, in order: years, days, periods.

The first label is that of the lower bound, and the last that of the upper one, by the local clock.
So a row outside of the bounds has a label only if a bound has the same one, as a time of the last
day has.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pandas as pd

from ..values.forms import tzinfo
from . import kinds
from .domain import Declaration
from .keys import MOST_IMPLIED, Keys
from .kinds import Kind
from .spans import Span

Ends = tuple[pd.Timestamp, pd.Timestamp]


def clocks_of(declared: Declaration | None, is_in_zone: bool) -> Ends | None:
    """What the local clock shows at both bounds; None if they are none of times, or if the zone of
    the clock isn't known.

    is_in_zone : whether the times are known to be in the zone of their bounds. A column isn't: its
        zone is that of its rows.
    """
    if not isinstance(declared, Span) or not declared.is_time:
        return None
    if declared.family == "zoned" and not is_in_zone:
        return None
    with suppress(Exception):  # bounds that pandas can't hold
        low, high = (pd.Timestamp(end).tz_localize(None) for end in declared.ends)
        return low, high
    return None


def numbered(first: int, last: int, label: Callable[[int], Any] = int) -> Keys | None:
    """Labels of consecutive numbers, if there aren't too many."""
    if not 0 <= last - first < MOST_IMPLIED:
        return None
    return Keys(tuple(map(label, range(first, last + 1))))


def periods(ends: Ends, frequency: str) -> Keys | None:
    """The periods from that of one time to that of another."""
    with suppress(Exception):  # a frequency that periods can't have
        low, high = (end.to_period(frequency) for end in ends)
        freq: Any = low.freq
        return numbered(low.ordinal, high.ordinal, lambda i: pd.Period(ordinal=i, freq=freq))
    return None


def multiples(
    ends: Ends, rounded: Callable[[pd.Timestamp], Any], step: int, zone: str | None
) -> Keys | None:
    """The times that lie so many microseconds of the local clock apart, from one rounded time to
    another. What the clock of a zone skips or repeats is missing in rows, and no label."""
    times: Any = None
    with suppress(Exception):  # times that pandas can't hold
        first, last = map(rounded, ends)
        known = numbered(0, (last - first) // timedelta(microseconds=step))
        if known is not None:
            times = [first + timedelta(microseconds=step * place) for place in known.labels]
        if times and zone is not None:
            local = pd.DatetimeIndex(times)
            placed = local.tz_localize(tzinfo(zone), ambiguous="NaT", nonexistent="NaT")
            times = placed.dropna().tolist()
    return Keys(tuple(times)) if times else None


def are_told(declared: Declaration | None, kind: Kind, zone: str | None) -> bool:
    """Whether times themselves can be written down as labels: bounds that are texts say nothing of
    a zone."""
    if isinstance(declared, Span) and declared.family == "clock":
        return kind == kinds.TIME
    return zone is not None or kind != kinds.ZONED
