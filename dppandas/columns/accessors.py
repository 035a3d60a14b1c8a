"""What ``.str`` and ``.dt`` of a private column offer: row by row, and nothing else."""

from __future__ import annotations

import datetime
import re
import warnings
from typing import Any, Generic, Protocol, Self, TypeVar

import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..release.private import Private
from ..rows.expressions import Expression, InPeriod, InZone, TextMap, TextTest, TimePart, TimeText
from ..rows.expressions.formats import DIRECTIVES, LONGEST, unknown
from ..rows.expressions.text import MAPS, TESTS
from ..rows.expressions.times import DURATIONS, PARTS
from . import refusals


class _Column(Protocol):
    """What these ask of a private column: its expression, and a column like it of another one."""

    @property
    def _expression(self) -> Expression: ...

    def _new(self, expression: Expression) -> Self: ...


C = TypeVar("C", bound=_Column)


class _Accessor(Private, Generic[C]):
    """A way to look at a private column."""

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


def _whole(value: Any, name: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise QueryError(f"{name}={quoted(value)} must be a whole number.")


def _width(value: Any) -> int:
    size = _whole(value, "width")
    if size is None or size > 1000:
        raise QueryError(f"width={quoted(value)} must be a whole number of at most 1,000.")
    return size


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise QueryError(f"{name}={quoted(value)} must be a text.")
    return value


def _pattern(value: Any) -> str:
    try:
        re.compile(_text(value, "pat"))
    except re.error as error:
        raise QueryError(f"pat={quoted(value)} is no regular expression: {error}.") from None
    return str(value)


_PLAIN_TESTS = tuple(name for name in TESTS if name.startswith("is"))
_PLAIN_MAPS = ("lower", "upper", "title", "capitalize", "swapcase", "casefold", "len")


class TextMethods(_Accessor[C]):
    """``.str``: what is no text is missing, and passes no test. *Stability*: 1, row by row.

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
        raise refusals.refuse("private texts", name, ", ".join(dict.fromkeys([*MAPS, *TESTS])))

    def _plain(self, name: str, kind: type[TextMap] | type[TextTest]) -> Any:
        """A method that takes no arguments."""

        def method() -> C:
            return self._new(kind(self._operand, name))

        method.__name__ = name
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
        position = _whole(i, "i")
        if position is None:
            raise QueryError("i= must be a whole number.")
        return self._new(TextMap(self._operand, "get", (position,)))

    @hide_internals
    def slice(self, start: Any = None, stop: Any = None, step: Any = None) -> C:
        """A part of each text."""
        if step == 0:
            raise QueryError("step= can't be 0.")
        ends = (_whole(start, "start"), _whole(stop, "stop"), _whole(step, "step"))
        return self._new(TextMap(self._operand, "slice", ends))

    @hide_internals
    def strip(self, to_strip: str | None = None) -> C:
        """Without spaces (or other characters) at both ends."""
        return self._stripped("strip", to_strip)

    @hide_internals
    def lstrip(self, to_strip: str | None = None) -> C:
        """Without spaces (or other characters) at the start."""
        return self._stripped("lstrip", to_strip)

    @hide_internals
    def rstrip(self, to_strip: str | None = None) -> C:
        """Without spaces (or other characters) at the end."""
        return self._stripped("rstrip", to_strip)

    def _stripped(self, method: str, to_strip: str | None) -> C:
        characters = None if to_strip is None else _text(to_strip, "to_strip")
        return self._new(TextMap(self._operand, method, (characters,)))

    @hide_internals
    def removeprefix(self, prefix: str) -> C:
        """Without a start."""
        return self._new(TextMap(self._operand, "removeprefix", (_text(prefix, "prefix"),)))

    @hide_internals
    def removesuffix(self, suffix: str) -> C:
        """Without an end."""
        return self._new(TextMap(self._operand, "removesuffix", (_text(suffix, "suffix"),)))

    @hide_internals
    def zfill(self, width: int) -> C:
        """With zeros in front, up to a width of at most 1,000."""
        return self._new(TextMap(self._operand, "zfill", (_width(width),)))

    @hide_internals
    def center(self, width: int, fillchar: str = " ") -> C:
        """Filled up at both ends, to a width of at most 1,000."""
        return self._filled("center", width, fillchar)

    @hide_internals
    def ljust(self, width: int, fillchar: str = " ") -> C:
        """Filled up at the end, to a width of at most 1,000."""
        return self._filled("ljust", width, fillchar)

    @hide_internals
    def rjust(self, width: int, fillchar: str = " ") -> C:
        """Filled up at the start, to a width of at most 1,000."""
        return self._filled("rjust", width, fillchar)

    def _filled(self, method: str, width: int, fillchar: str) -> C:
        if len(_text(fillchar, "fillchar")) != 1:
            raise QueryError(f"fillchar={quoted(fillchar)} must be one character.")
        return self._new(TextMap(self._operand, method, (_width(width), fillchar)))

    @hide_internals
    def find(self, sub: str) -> C:
        """Where another text begins in it, -1 for nowhere."""
        return self._new(TextMap(self._operand, "find", (_text(sub, "sub"),)))

    @hide_internals
    def count(self, pat: str) -> C:
        """How often a regular expression matches."""
        return self._new(TextMap(self._operand, "count", (_pattern(pat),)))

    @hide_internals
    def replace(self, pat: str, repl: str, *, regex: bool = False) -> C:
        """With one text in the place of another (of a regular expression's matches)."""
        pattern = _pattern(pat) if regex else _text(pat, "pat")
        by = _text(repl, "repl")
        try:
            re.compile(f"{pattern}|" if regex else "").sub(by if regex else "", "")
        except (re.error, IndexError) as error:
            raise QueryError(f"repl={quoted(repl)} does not fit pat=: {error}.") from None
        return self._new(TextMap(self._operand, "replace", (pattern, by, bool(regex))))

    @hide_internals
    def extract(self, pat: str) -> C:
        """The first group of a regular expression's first match; missing where there is none."""
        if re.compile(_pattern(pat)).groups != 1:
            raise QueryError("pat= must have one group, such as r'(\\d+)'.")
        return self._new(TextMap(self._operand, "extract", (pat,)))

    @hide_internals
    def split(self, pat: str | None = None, n: int = -1, *, regex: bool | None = None) -> C:
        """Lists of parts, for explode or ``.str[0]``; never columns, whose number is data.

        As in pandas, pat is a regular expression if it is longer than one character.
        """
        separator = None if pat is None else _text(pat, "pat") or None
        is_regex = len(separator or "") > 1 if regex is None else bool(regex)
        if separator is not None and is_regex:
            _pattern(separator)
        most = _whole(n, "n") or -1
        return self._new(TextMap(self._operand, "split", (separator, most, is_regex)))

    @hide_internals
    def startswith(self, pat: str | tuple[str, ...]) -> C:
        """A mask: which texts start so."""
        return self._new(TextTest(self._operand, "startswith", (_texts(pat),)))

    @hide_internals
    def endswith(self, pat: str | tuple[str, ...]) -> C:
        """A mask: which texts end so."""
        return self._new(TextTest(self._operand, "endswith", (_texts(pat),)))

    @hide_internals
    def contains(self, pat: str, case: bool = True, *, regex: bool = True) -> C:
        """A mask: in which texts a regular expression (or a text) is found."""
        pattern = _pattern(pat) if regex else _text(pat, "pat")
        return self._new(TextTest(self._operand, "contains", (pattern, not case, bool(regex))))

    @hide_internals
    def match(self, pat: str, case: bool = True) -> C:
        """A mask: which texts start with a regular expression."""
        return self._new(TextTest(self._operand, "match", (_pattern(pat), not case, True)))

    @hide_internals
    def fullmatch(self, pat: str, case: bool = True) -> C:
        """A mask: which texts a regular expression matches as a whole."""
        return self._new(TextTest(self._operand, "fullmatch", (_pattern(pat), not case, True)))


def _texts(pat: Any) -> str | tuple[str, ...]:
    if isinstance(pat, tuple):
        return tuple(_text(each, "pat") for each in pat)
    return _text(pat, "pat")


#: What times have beside their parts.
_OF_TIMES = (
    "day_name", "month_name", "normalize", "date", "floor", "ceil", "round", "tz_convert",
    "strftime", "to_period",
)  # fmt: skip


def _zone(tz: Any) -> str:
    """The name of a time zone, which every machine understands alike."""
    if isinstance(tz, str | datetime.tzinfo):
        try:
            named = str(pd.Timestamp(2020, 1, 1, tz=str(tz)).tz)
            if named == str(tz) and not named.startswith(("tzlocal", "dateutil")):
                return named
        except Exception:  # each library of zones has errors of its own
            pass
    raise QueryError(
        f"tz={quoted(tz)} is no name of a time zone, such as 'UTC' or 'Europe/Berlin'."
    )


class TimeMethods(_Accessor[C]):
    """``.dt``: what is no time (or duration) is missing. *Stability*: 1, row by row.

    The values of month, hour, day_name() and the like are known, so that they need no keys.

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
        offered = [*PARTS, *DURATIONS, *_OF_TIMES]
        raise refusals.refuse("private times", name, ", ".join(offered))

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
        """The length of a duration."""
        return self._new(TimePart(self._operand, "total_seconds"))

    @hide_internals
    def normalize(self) -> C:
        """Midnight of the day."""
        return self._new(TimePart(self._operand, "normalize"))

    @property
    @hide_internals
    def date(self) -> C:
        """The day, as a time at midnight without a zone."""
        return self._new(TimePart(self._operand, "date"))

    @hide_internals
    def floor(self, freq: str) -> C:
        """Rounded down to a fixed frequency such as "h"."""
        return self._rounded("floor", freq)

    @hide_internals
    def ceil(self, freq: str) -> C:
        """Rounded up to a fixed frequency such as "h"."""
        return self._rounded("ceil", freq)

    @hide_internals
    def round(self, freq: str) -> C:
        """Rounded to a fixed frequency such as "h"."""
        return self._rounded("round", freq)

    @hide_internals
    def tz_convert(self, tz: Any) -> C:
        """Zoned times by the clocks of another zone, such as "Europe/Berlin"; None: in UTC and
        without a zone. Times without one are missing."""
        return self._new(InZone(self._operand, None if tz is None else _zone(tz)))

    @hide_internals
    def strftime(self, date_format: str) -> C:
        """As text, such as "%Y-%m-%d": the same on every machine, with English names. What the
        locale decides (%c, %x, %X) is refused, and so is what not every system knows."""
        form = _text(date_format, "date_format")
        strange = unknown(form)
        if strange or len(form) > LONGEST:
            what = f"{strange[0]} is not" if strange else f"a format this long is not: {LONGEST}"
            raise QueryError(
                f"date_format={quoted(form)}: {what} the same on every machine. Give a text of "
                f"{', '.join('%' + letter for letter in DIRECTIVES)}."
            )
        return self._new(TimeText(self._operand, form))

    @hide_internals
    def to_period(self, freq: str) -> C:
        """The period that a time lies in, by the clock on its wall: for freq="M" its month. Keys
        are periods, such as ``pd.period_range("2020-01", "2020-12", freq="M")``."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what pandas warns of it would warn of at each time
                period = pd.Timestamp(2020, 1, 1).to_period(_text(freq, "freq"))
        except (ValueError, AttributeError, KeyError, Warning) as error:
            raise QueryError(
                f"freq={quoted(freq)} is no frequency of periods, such as 'M', 'Q' or 'D': {error}."
            ) from None
        return self._new(InPeriod(self._operand, period.freqstr))

    def _rounded(self, how: str, freq: str) -> C:
        try:
            named: str = pd.tseries.frequencies.to_offset(_text(freq, "freq")).freqstr
            pd.Timestamp(2020, 1, 1).round(named)
        except ValueError as error:
            raise QueryError(f"freq={quoted(freq)} is no fixed frequency: {error}.") from None
        return self._new(TimePart(self._operand, how, named))
