"""Groups by the periods of a public range: `pandas.Grouper`, without a look at the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pandas as pd

from ..dataclasses import dataclass, replace
from ..errors import MissingArgument, QueryError, quoted
from ..release.pickles import register_families
from ..rows.expressions import DAY, Calendar, Expression, Period
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Span
from ..rows.query_string import lookup
from ..rows.values.plain import index_of_times
from ..rows.values.vectors import timestamp
from ..statistics import Cells
from .operators import ColumnOperators
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
#: The shortest period of each kind, in days.
_SHORTEST = {"D": 1, "W": 7, "M": 28, "Q": 90, "Y": 365}


@dataclass(frozen=True)
class Periods(Keys):
    """The labels of consecutive periods."""

    frequency: str = ""

    def index(self, names: Any) -> pd.Index:
        plain = index_of_times(self.labels, names[0])
        try:
            return pd.DatetimeIndex(plain, freq=self.frequency)
        except Exception:  # a skipped midnight leaves uneven steps; pytz raises errors of its own
            return plain


def is_grouper(by: object) -> bool:
    return isinstance(by, pd.Grouper)


def grouped(
    table: PrivateTable, by: list[Any], keys: object, ranges: object
) -> tuple[list[Any], Cells]:
    """The names and cells of a groupby with at least one Grouper."""
    names = [_name_of(each) for each in by]
    are_periods = list(map(_has_periods, by))
    named = list(zip(by, names, are_periods, strict=True))
    labels = _given("keys", keys, [name for _, name, is_period in named if not is_period])
    ends = _given("range", ranges, [name for _, name, is_period in named if is_period])
    cells: Cells | None = None
    for each, name, is_period in named:
        if is_period:
            more = _cells(table, each, name, ends.get(name))
        elif isinstance(each, ColumnOperators):
            more = table._cells_by([(name, each._expression)], labels.get(name))
        else:
            more = table._cells([name], labels.get(name))
        if cells is not None and cells.keys is not None and more.keys is not None:
            more = replace(cells, by=cells.by + more.by, keys=cells.keys.then(more.keys))
        cells = more
    return names, cells or Cells()


def _has_periods(by: object) -> bool:
    return isinstance(by, pd.Grouper) and by.freq is not None


def _given(argument: str, given: object, names: list[Any]) -> Mapping[Any, Any]:
    """What a call gives for some columns, by name. For a single one the name may be left out."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        if len(names) == 1:
            return {names[0]: given}
        kind = "Grouper with a freq" if argument == "range" else "column that has labels"
        raise QueryError(
            f"{argument}={quoted(given)}: there is {'more than one' if names else 'no'} {kind} "
            "here. Give range=(start, end) for periods and keys=[…] for labels; for several, by "
            f'name: {argument}={{"name": …}}.'
        )
    extra = [name for name in given if name not in names]
    if extra:
        raise QueryError(
            f"{argument}= names {quoted(extra[0])}, which takes none. Give range=(start, end) for "
            "periods, and keys=[…] for labels."
        )
    return given


def _name_of(by: Any) -> Any:
    """The name of a level: that of a column, or the key of a Grouper."""
    return _key_of(by) if is_grouper(by) else by.name if isinstance(by, ColumnOperators) else by


def _key_of(grouper: Any) -> Any:
    if grouper.key is None or grouper.level is not None:
        raise QueryError('a Grouper needs the name of a column: pd.Grouper(key="when").')
    return grouper.key


def _cells(table: PrivateTable, grouper: Any, name: Any, ends: object) -> Cells:
    operand = lookup(name, table._columns)
    division = _division(grouper)
    ends = _known_ends(table, operand) if ends is None else ends
    lists = "" if ends is not None else table._table.list_for_tuple(operand)
    start, end = _ends(name, ends, lists)
    by_clock = start.tz is None and all(isinstance(each, str) for each in cast(Any, ends))
    division = replace(division, zone=start.tz, by_clock=by_clock)
    if division.kind == "tick" and start.tz is not None and str(start.tz) != "UTC":
        raise QueryError(
            f"hours, minutes and seconds are grouped in UTC or without a zone, because a clock in "
            f"{start.tz} can show an hour twice. Give start and end in UTC."
        )
    first, last = (division.label(time.tz_localize(None)) for time in (start, end))
    days = _SHORTEST.get(division.kind[0], 1) * division.seconds / DAY
    if (last - first).days / days > MOST_PERIODS:
        raise QueryError(
            f"range= of {name!r} would make more than {MOST_PERIODS:,} periods. Give a shorter "
            "range, or a longer freq."
        )
    labels = tuple(map(division.placed, pd.date_range(first, last, freq=division.frequency)))
    return Cells((Period(operand, division),), Periods(labels, frequency=division.frequency))


def _known_ends(table: PrivateTable, operand: Expression) -> tuple[Any, ...] | None:
    """The declared bounds of a column of times."""
    declared = table._table.declared(operand)
    if not isinstance(declared, Span) or not declared.is_time:
        return None
    return tuple(map(str, declared.ends)) if declared.family == "clock" else declared.ends


def _ends(name: Any, ends: object, lists: str) -> tuple[pd.Timestamp, pd.Timestamp]:
    """The first and last time of the public range. Texts without a zone mean local time, both for
    times with a zone and for times without."""
    example = f'range= of {name!r} must be (start, end), such as ("2020-01-01", "2020-12-31")'
    if ends is None:
        raise MissingArgument(f"{example}. Which periods have rows is private.{lists}")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise QueryError(f"{example}, not {quoted(ends)}.")
    start, end = map(timestamp, ends)
    if start is None or end is None or str(start.tz) != str(end.tz) or start > end:
        raise QueryError(f"{example}, in order and in one zone or none, not {quoted(ends)}.")
    return start, end


def _division(grouper: Any) -> Calendar:
    """The calendar that a Grouper means, if it doesn't depend on the rows."""
    usual = pd.Grouper(key=grouper.key, freq=grouper.freq)
    for option in ("closed", "label", "origin", "offset", "convention", "sort", "dropna"):
        given = getattr(grouper, option, None)
        if given != getattr(usual, option, None):
            raise QueryError(
                f"{option}={quoted(given)} of a Grouper isn't supported. Leave it out: groups are "
                "periods of the calendar, named as pandas names them by default."
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
    several = ""
    if _OFFSETS.get(kind, ("",))[0].startswith("Y") and offset.n > 1:
        key, n = quoted(grouper.key or "when"), offset.n
        several = (
            f" For {n} years each: frame.assign(since=frame[{key}].dt.year // {n} * {n})"
            f".groupby('since', keys=range({2000 // n * n}, {2000 // n * n + 3 * n}, {n}))."
        )
    raise QueryError(
        f"freq={offset.freqstr!r} isn't supported: pandas reads from the first row where such "
        "periods start, or they don't consist of whole days. Use D, W, MS, ME, QS, QE, YS, YE, or "
        f"hours, minutes or seconds that divide a day.{several}"
    )


register_families(Periods)
