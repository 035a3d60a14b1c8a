"""``.dt`` of private columns: its row-wise methods, and no others."""

from __future__ import annotations

import datetime
import warnings
from typing import Any, overload

import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..rows.expressions import ISO, InPeriod, InZone, Localized, TimePart, TimeText
from ..rows.expressions.formats import DIRECTIVES, LONGEST, unknown
from . import refusals
from .accessors import Accessor, C
from .rowwise import text


def _zone(tz: Any) -> str:
    """The name of a time zone, if it means the same on every machine."""
    if isinstance(tz, str | datetime.tzinfo):
        try:
            named = str(pd.Timestamp(2020, 1, 1, tz=str(tz)).tz)
            if named == str(tz) and not named.startswith(("tzlocal", "dateutil")):
                return named
        except Exception:  # each library of zones has errors of its own
            pass
    raise QueryError(f"tz={quoted(tz)} must name a time zone, such as 'UTC' or 'Europe/Berlin'.")


class _Part:
    """A part of times or of durations, under the name that it has in pandas."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, times: None, owner: type) -> _Part: ...
    @overload
    def __get__(self, times: TimeMethods[C], owner: type) -> C: ...
    @hide_internals
    def __get__(self, times: TimeMethods[C] | None, owner: type) -> Any:
        if times is None:
            return self
        return times._new(TimePart(times._operand, self._name))


class TimeMethods(Accessor[C]):
    """``.dt``: methods of times and durations. Other values become missing. *Stability*: 1, row by
    row.

    Parts of times are those of pandas: year, quarter, month, day, hour, minute, second,
    dayofweek, dayofyear, days_in_month, is_month_end, is_leap_year and the like; of durations
    days, seconds and the like. The possible values of quarter, month, hour, day_name() and others
    are known, so they need no keys.

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"when": pd.to_datetime(["2020-01-31"])}), unit="row")
    >>> p["when"].dt.quarter.value_counts()
    <unreleased value_counts of when (4 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
    """

    _kind, _known = "private times", refusals.TIMES

    year, quarter, month, day = _Part(), _Part(), _Part(), _Part()
    hour, minute, second, microsecond, nanosecond = _Part(), _Part(), _Part(), _Part(), _Part()
    day_of_week, dayofweek, weekday = _Part(), _Part(), _Part()
    day_of_year, dayofyear, days_in_month, daysinmonth = _Part(), _Part(), _Part(), _Part()
    is_month_start, is_quarter_start, is_year_start = _Part(), _Part(), _Part()
    is_month_end, is_quarter_end, is_year_end = _Part(), _Part(), _Part()
    is_leap_year = _Part()
    isocalendar_year, isocalendar_week, isocalendar_day = _Part(), _Part(), _Part()
    days, seconds, microseconds, nanoseconds = _Part(), _Part(), _Part(), _Part()  # of durations

    @hide_internals
    def day_name(self) -> C:
        """The English name of the day."""
        return self._new(TimePart(self._operand, "day_name"))

    @hide_internals
    def month_name(self) -> C:
        """The English name of the month."""
        return self._new(TimePart(self._operand, "month_name"))

    @hide_internals
    def total_seconds(self) -> C:
        """The length of a duration in seconds."""
        return self._new(TimePart(self._operand, "total_seconds"))

    @hide_internals
    def normalize(self) -> C:
        """Times set back to midnight of their day."""
        return self._new(TimePart(self._operand, "normalize"))

    @property
    @hide_internals
    def date(self) -> C:
        """The day, as midnight without a zone."""
        return self._new(TimePart(self._operand, "date"))

    @hide_internals
    def floor(self, freq: str) -> C:
        """Times rounded down to a fixed frequency such as "h"."""
        return self._rounded("floor", freq)

    @hide_internals
    def ceil(self, freq: str) -> C:
        """Times rounded up to a fixed frequency such as "h"."""
        return self._rounded("ceil", freq)

    @hide_internals
    def round(self, freq: str) -> C:
        """Times rounded to a fixed frequency such as "h"."""
        return self._rounded("round", freq)

    @hide_internals
    def tz_convert(self, tz: Any) -> C:
        """Zoned times in another zone, such as "Europe/Berlin"; None gives UTC without a zone.
        Times without a zone become missing."""
        return self._new(InZone(self._operand, None if tz is None else _zone(tz)))

    @hide_internals
    def tz_localize(self, tz: Any) -> C:
        """Times without a zone, read by the clock of a zone such as "Europe/Berlin"; None takes the
        zone away and keeps the clock. Zoned times become missing, and so do times that
        the clock shows never or twice, where pandas would raise an error."""
        return self._new(Localized(self._operand, None if tz is None else _zone(tz)))

    @hide_internals
    def isocalendar(self) -> Any:
        """A frame of year, week and day by the calendar of ISO 8601."""
        return self._column._several({
            part.removeprefix("isocalendar_"): TimePart(self._operand, part) for part in ISO
        })  # fmt: skip

    @hide_internals
    def strftime(self, date_format: str) -> C:
        """Times as text in a format such as "%Y-%m-%d", with English names on every machine.
        Directives that depend on the locale (%c, %x, %X) or that some systems lack are refused."""
        form = text(date_format, "date_format")
        strange = unknown(form)
        if strange or len(form) > LONGEST:
            what = f"it is longer than {LONGEST} characters"
            if strange:
                what = f"{strange[0]} doesn't mean the same on every machine"
            raise QueryError(
                f"date_format={quoted(form)} can't be used: {what}. Use only "
                f"{', '.join('%' + letter for letter in DIRECTIVES)}."
            )
        return self._new(TimeText(self._operand, form))

    @hide_internals
    def to_period(self, freq: str) -> C:
        """The period that a time lies in, by its local clock: for freq="M", its month. Keys are
        periods, such as ``pd.period_range("2020-01", "2020-12", freq="M")``."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # or pandas would warn again for each time
                period = pd.Timestamp(2020, 1, 1).to_period(text(freq, "freq"))
        except (ValueError, AttributeError, KeyError, Warning) as error:
            raise QueryError(
                f"freq={quoted(freq)} must be a frequency of periods, such as 'M' or 'D': {error}."
            ) from None
        return self._new(InPeriod(self._operand, period.freqstr))

    def _rounded(self, how: str, freq: str) -> C:
        try:
            named: str = pd.tseries.frequencies.to_offset(text(freq, "freq")).freqstr
            pd.Timestamp(2020, 1, 1).round(named)
        except ValueError as error:
            raise QueryError(f"freq={quoted(freq)} isn't a fixed frequency: {error}.") from None
        return self._new(TimePart(self._operand, how, named))
