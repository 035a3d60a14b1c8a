"""``.str`` and ``.dt`` of private columns: their row-wise methods, and no others."""

from __future__ import annotations

import datetime
import re
import warnings
from typing import Any, Generic, TypeVar

import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..release.private import Private
from ..rows.expressions import Expression, InPeriod, InZone, TextMap, TextTest, TimePart, TimeText
from ..rows.expressions.formats import DIRECTIVES, LONGEST, unknown
from ..rows.expressions.text import MAPS, TESTS
from ..rows.expressions.times import DURATIONS, PARTS
from . import refusals
from .operators import ColumnOperators

C = TypeVar("C", bound=ColumnOperators)


class _Accessor(Private, Generic[C]):
    """Row-wise methods of a private column, under a name of their own."""

    def __init__(self, column: C) -> None:
        self._column = column

    def _new(self, expression: Expression) -> C:
        return self._column._new(expression)

    @property
    def _operand(self) -> Expression:
        return self._column._expression

    @hide_internals
    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._column!r}>"


def _whole(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise QueryError(f"{name}={quoted(value)} must be a whole number.")


def _width(value: Any) -> int:
    if _whole(value, "width") > 1000:
        raise QueryError(f"width={quoted(value)} must be at most 1,000.")
    return int(value)


def _text(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise QueryError(f"{name}={quoted(value)} must be a string.")


def _pattern(value: Any) -> str:
    try:
        re.compile(_text(value, "pat"))
    except re.error as error:
        raise QueryError(f"pat={quoted(value)} isn't a regular expression: {error}.") from None
    return str(value)


_PLAIN_TESTS = tuple(name for name in TESTS if name.startswith("is"))
_PLAIN_MAPS = ("lower", "upper", "title", "capitalize", "swapcase", "casefold", "len")


class TextMethods(_Accessor[C]):
    """``.str``: methods of strings. Other values become missing, and pass no test. *Stability*: 1,
    row by row.

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"city": ["Rome ", "oslo"]}), unit="row")
    >>> p["city"].str.strip().str.lower().str.startswith("r")
    <private column city.str.strip(None).str.lower().str.startswith('r') of unnamed (asserted)>
    """

    @hide_internals
    def __getattr__(self, name: str) -> Any:
        if name in _PLAIN_TESTS:
            return self._plain(name, TextTest)
        if name in _PLAIN_MAPS:
            return self._plain(name, TextMap)
        if name.startswith("_"):
            raise AttributeError(name)
        offered = ", ".join(dict.fromkeys([*MAPS, *TESTS]))
        raise refusals.refuse("private strings", name, offered, known=refusals.TEXTS)

    def _plain(self, name: str, kind: type[TextMap] | type[TextTest]) -> Any:
        """A method without arguments."""

        def method() -> C:
            return self._new(kind(self._operand, name))

        method.__name__ = name  # errors name it
        return hide_internals(method)

    @hide_internals
    def __dir__(self) -> list[str]:
        return sorted({*MAPS, *TESTS})

    @hide_internals
    def __getitem__(self, key: Any) -> C:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.get(key)

    @hide_internals
    def get(self, i: int) -> C:
        """Character i, or element i of a list; missing where there is none."""
        return self._new(TextMap(self._operand, "get", (_whole(i, "i"),)))

    @hide_internals
    def slice(self, start: Any = None, stop: Any = None, step: Any = None) -> C:
        """Characters start to stop of each text."""
        if step == 0:
            raise QueryError("step=0 never moves on. Give another step, such as 1.")
        named = {"start": start, "stop": stop, "step": step}.items()
        ends = tuple(None if end is None else _whole(end, name) for name, end in named)
        return self._new(TextMap(self._operand, "slice", ends))

    @hide_internals
    def strip(self, to_strip: str | None = None) -> C:
        """Texts without spaces (or other characters) at both ends."""
        return self._stripped("strip", to_strip)

    @hide_internals
    def lstrip(self, to_strip: str | None = None) -> C:
        """Texts without spaces (or other characters) at the start."""
        return self._stripped("lstrip", to_strip)

    @hide_internals
    def rstrip(self, to_strip: str | None = None) -> C:
        """Texts without spaces (or other characters) at the end."""
        return self._stripped("rstrip", to_strip)

    def _stripped(self, method: str, to_strip: str | None) -> C:
        characters = None if to_strip is None else _text(to_strip, "to_strip")
        return self._new(TextMap(self._operand, method, (characters,)))

    @hide_internals
    def removeprefix(self, prefix: str) -> C:
        """Texts without a prefix."""
        return self._new(TextMap(self._operand, "removeprefix", (_text(prefix, "prefix"),)))

    @hide_internals
    def removesuffix(self, suffix: str) -> C:
        """Texts without a suffix."""
        return self._new(TextMap(self._operand, "removesuffix", (_text(suffix, "suffix"),)))

    @hide_internals
    def zfill(self, width: int) -> C:
        """Texts padded with zeros on the left, to a width of at most 1,000."""
        return self._new(TextMap(self._operand, "zfill", (_width(width),)))

    @hide_internals
    def center(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on both sides, to a width of at most 1,000."""
        return self._filled("center", width, fillchar)

    @hide_internals
    def ljust(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on the right, to a width of at most 1,000."""
        return self._filled("ljust", width, fillchar)

    @hide_internals
    def rjust(self, width: int, fillchar: str = " ") -> C:
        """Texts padded on the left, to a width of at most 1,000."""
        return self._filled("rjust", width, fillchar)

    def _filled(self, method: str, width: int, fillchar: str) -> C:
        if len(_text(fillchar, "fillchar")) != 1:
            raise QueryError(f"fillchar={quoted(fillchar)} must be one character.")
        return self._new(TextMap(self._operand, method, (_width(width), fillchar)))

    @hide_internals
    def find(self, sub: str) -> C:
        """Where another string first begins, or -1."""
        return self._new(TextMap(self._operand, "find", (_text(sub, "sub"),)))

    @hide_internals
    def count(self, pat: str) -> C:
        """How many times a regular expression matches."""
        return self._new(TextMap(self._operand, "count", (_pattern(pat),)))

    @hide_internals
    def replace(self, pat: str, repl: str, *, regex: bool = False) -> C:
        """One text replaced by another; with ``regex=True``, a regular expression's matches."""
        pattern = _pattern(pat) if regex else _text(pat, "pat")
        by = _text(repl, "repl")
        try:
            re.compile(f"{pattern}|" if regex else "").sub(by if regex else "", "")
        except (re.error, IndexError) as error:
            raise QueryError(f"repl={quoted(repl)} doesn't fit pat=: {error}.") from None
        return self._new(TextMap(self._operand, "replace", (pattern, by, bool(regex))))

    @hide_internals
    def extract(self, pat: str) -> C:
        """The group of a regular expression, at its first match; missing without a match."""
        if re.compile(_pattern(pat)).groups != 1:
            raise QueryError("pat= must have exactly one group, as in r'(\\d+)'.")
        return self._new(TextMap(self._operand, "extract", (pat,)))

    @hide_internals
    def split(self, pat: str | None = None, n: int = -1, *, regex: bool | None = None) -> C:
        """Texts split into lists, for explode or ``.str[0]``. Never into columns, because how
        many there would be is private.

        As in pandas, a pat of more than one character is a regular expression.
        """
        separator = None if pat is None else _text(pat, "pat") or None
        is_regex = len(separator or "") > 1 if regex is None else bool(regex)
        if separator is not None and is_regex:
            _pattern(separator)
        most = -1 if n is None else _whole(n, "n") or -1
        return self._new(TextMap(self._operand, "split", (separator, most, is_regex)))

    @hide_internals
    def startswith(self, pat: str | tuple[str, ...]) -> C:
        """A mask: which strings start with this."""
        return self._new(TextTest(self._operand, "startswith", (_texts(pat),)))

    @hide_internals
    def endswith(self, pat: str | tuple[str, ...]) -> C:
        """A mask: which strings end with this."""
        return self._new(TextTest(self._operand, "endswith", (_texts(pat),)))

    @hide_internals
    def contains(self, pat: str, case: bool = True, *, regex: bool = True) -> C:
        """A mask: which strings contain a regular expression (with ``regex=False``, a string)."""
        pattern = _pattern(pat) if regex else _text(pat, "pat")
        return self._new(TextTest(self._operand, "contains", (pattern, not case, bool(regex))))

    @hide_internals
    def match(self, pat: str, case: bool = True) -> C:
        """A mask: which strings start with a match of a regular expression."""
        return self._new(TextTest(self._operand, "match", (_pattern(pat), not case, True)))

    @hide_internals
    def fullmatch(self, pat: str, case: bool = True) -> C:
        """A mask: which strings match a regular expression as a whole."""
        return self._new(TextTest(self._operand, "fullmatch", (_pattern(pat), not case, True)))


def _texts(pat: Any) -> str | tuple[str, ...]:
    if isinstance(pat, tuple):
        return tuple(_text(each, "pat") for each in pat)
    return _text(pat, "pat")


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


class TimeMethods(_Accessor[C]):
    """``.dt``: methods of times and durations. Other values become missing. *Stability*: 1, row by
    row.

    The possible values of month, hour, day_name() and the like are known, so they need no keys.

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"when": pd.to_datetime(["2020-01-31"])}), unit="row")
    >>> p["when"].dt.quarter.value_counts()
    <unreleased value_counts of when (4 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
    """

    @hide_internals
    def __getattr__(self, name: str) -> Any:
        if name in PARTS or (name in DURATIONS and name != "total_seconds"):
            return self._new(TimePart(self._operand, name))
        if name.startswith("_"):
            raise AttributeError(name)
        methods = (each for each in vars(TimeMethods) if not each.startswith("_"))
        offered = dict.fromkeys([*PARTS, *DURATIONS, *methods])
        raise refusals.refuse("private times", name, ", ".join(offered), known=refusals.TIMES)

    @hide_internals
    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *PARTS, *DURATIONS})

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
        """Midnight of the day."""
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
    def strftime(self, date_format: str) -> C:
        """Times as text, such as "%Y-%m-%d", with English names on every machine. Refused are
        directives that depend on the locale (%c, %x, %X) or that some systems lack."""
        form = _text(date_format, "date_format")
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
                period = pd.Timestamp(2020, 1, 1).to_period(_text(freq, "freq"))
        except (ValueError, AttributeError, KeyError, Warning) as error:
            raise QueryError(
                f"freq={quoted(freq)} must be a frequency of periods, such as 'M' or 'D': {error}."
            ) from None
        return self._new(InPeriod(self._operand, period.freqstr))

    def _rounded(self, how: str, freq: str) -> C:
        try:
            named: str = pd.tseries.frequencies.to_offset(_text(freq, "freq")).freqstr
            pd.Timestamp(2020, 1, 1).round(named)
        except ValueError as error:
            raise QueryError(f"freq={quoted(freq)} isn't a fixed frequency: {error}.") from None
        return self._new(TimePart(self._operand, how, named))
