"""Groups by periods of a public range: what pandas' Grouper means, without looking at any row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pandas as pd

from ..errors import MissingArgument, QueryError, quoted
from ..rows.expressions import DAY, Calendar, Period
from ..rows.facts.keys import Keys
from ..rows.query_string import lookup
from ..rows.values.vectors import timestamp
from ..statistics import Cells
from .private_rows import PrivateTable

MOST_PERIODS = 100_000
_OFFSETS: dict[type, tuple[str, str]] = {
    pd.offsets.Day: ("D", ""), pd.offsets.Week: ("W", "weekday"),
    pd.offsets.MonthBegin: ("MS", ""), pd.offsets.MonthEnd: ("ME", ""),
    pd.offsets.QuarterBegin: ("QS", "startingMonth"),
    pd.offsets.QuarterEnd: ("QE", "startingMonth"),
    pd.offsets.YearBegin: ("YS", "month"), pd.offsets.YearEnd: ("YE", "month"),
}  # fmt: skip
_TICKS = {pd.offsets.Hour: 3600, pd.offsets.Minute: 60, pd.offsets.Second: 1}
#: No period of a kind is shorter: so many days.
_SHORTEST = {"D": 1, "W": 7, "M": 28, "Q": 90, "Y": 365}


@dataclass(frozen=True)
class Periods(Keys):
    """The labels of consecutive periods."""

    frequency: str = ""

    def index(self, names: Any) -> pd.Index:
        plain = pd.DatetimeIndex(list(self.labels), name=names[0])
        try:
            return pd.DatetimeIndex(plain, freq=self.frequency)
        except Exception:  # a clock that skips a midnight leaves no even steps; pytz has own errors
            return plain


def is_grouper(by: object) -> bool:
    return isinstance(by, pd.Grouper)


def grouped(
    table: PrivateTable, by: list[Any], keys: object, ranges: object
) -> tuple[list[Any], Cells]:
    """The names and cells of a groupby some of whose keys are periods."""
    names = [_key_of(each) if is_grouper(each) else each for each in by]
    periods = [name for each, name in zip(by, names, strict=True) if _has_periods(each)]
    labels = _given("keys", keys, [name for name in names if name not in periods])
    ends = _given("range", ranges, periods)
    cells: Cells | None = None
    for each, name in zip(by, names, strict=True):
        if name in periods:
            more = _cells(table, each, name, ends.get(name))
        else:
            more = table._cells([name], labels.get(name))
        if cells is not None and cells.keys is not None and more.keys is not None:
            more = replace(cells, by=cells.by + more.by, keys=cells.keys.then(more.keys))
        cells = more
    return names, cells or Cells()


def _has_periods(by: object) -> bool:
    return isinstance(by, pd.Grouper) and by.freq is not None


def _given(argument: str, given: object, names: list[Any]) -> Mapping[Any, Any]:
    """What is declared of some columns, by name; of a single one without it."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(names) == 1:
            return {names[0]: given}
        kind = "Grouper with a freq" if argument == "range" else "column that has labels"
        raise QueryError(
            f"{argument}={quoted(given)}: there is {'no' if not names else 'more than one'} {kind} "
            "here. Periods take range=(start, end), labels keys=[…]; of several by name, as in "
            f'{argument}={{"name": …}}.'
        )
    extra = [name for name in given if name not in names]
    if extra:
        raise QueryError(
            f"{argument}= names {quoted(extra[0])}, which takes none: periods take range=(start, "
            "end), labels keys=[…]."
        )
    return given


def _key_of(grouper: Any) -> Any:
    if grouper.key is None or grouper.level is not None:
        raise QueryError('a Grouper needs the name of a column: pd.Grouper(key="when").')
    return grouper.key


def _cells(table: PrivateTable, grouper: Any, name: Any, ends: object) -> Cells:
    operand = lookup(name, table._columns)
    division = _division(grouper)
    start, end = _ends(name, ends)
    by_clock = start.tz is None and all(isinstance(each, str) for each in cast(Any, ends))
    division = replace(division, zone=start.tz, by_clock=by_clock)
    if division.kind == "tick" and start.tz is not None and str(start.tz) != "UTC":
        raise QueryError(
            f"parts of a day are counted in UTC or without a zone: in {start.tz} a clock may show "
            "an hour twice. Give start and end in UTC."
        )
    first, last = (division.label(time.tz_localize(None)) for time in (start, end))
    days = _SHORTEST.get(division.kind[0], 1) * division.seconds / DAY
    if (last - first).days / days > MOST_PERIODS:
        raise QueryError(f"that would be more than {MOST_PERIODS:,} periods.")
    labels = tuple(map(division.placed, pd.date_range(first, last, freq=division.frequency)))
    return Cells((Period(operand, division),), Periods(labels, 1, division.frequency))


def _ends(name: Any, ends: object) -> tuple[pd.Timestamp, pd.Timestamp]:
    """The public range of times: its first and last. Texts without a zone mean the clock on the
    wall, of times with a zone and of those without."""
    example = f'range= of {name!r} must be (start, end), such as ("2020-01-01", "2020-12-31")'
    if ends is None:
        raise MissingArgument(
            f"{example}: which periods have rows is private, and so are the first and last."
        )
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise QueryError(f"{example}; not {quoted(ends)}.")
    start, end = map(timestamp, ends)
    if start is None or end is None or str(start.tz) != str(end.tz) or start > end:
        raise QueryError(
            f"{example}, the earlier first and both in one zone or in none; not {quoted(ends)}."
        )
    return start, end


def _division(grouper: Any) -> Calendar:
    """The calendar that a Grouper means, if it is the same whatever the rows are."""
    usual = pd.Grouper(key=grouper.key, freq=grouper.freq)
    for option in ("closed", "label", "origin", "offset", "convention", "sort", "dropna"):
        given = getattr(grouper, option, None)
        if given != getattr(usual, option, None):
            raise QueryError(
                f"{option}={quoted(given)} of a Grouper is not answered: only periods of the "
                "calendar as pandas names them by default."
            )
    offset, kind = grouper.freq, type(grouper.freq)
    if kind in _TICKS:
        seconds = _TICKS[kind] * offset.n
        if seconds > 0 and DAY % seconds == 0:
            return Calendar("tick", offset.freqstr, seconds=seconds)
    elif kind in _OFFSETS and offset.n == 1:
        name, attribute = _OFFSETS[kind]
        anchor = getattr(offset, attribute) if attribute else 1
        if anchor is not None:
            return Calendar(name, offset.freqstr, anchor)
    raise QueryError(
        f"freq={offset.freqstr!r} is not answered: where such periods start, pandas reads from the "
        "first row, or they are no whole days. Take D, W, MS, ME, QS, QE, YS, YE, or hours, "
        "minutes or seconds that divide a day."
    )
