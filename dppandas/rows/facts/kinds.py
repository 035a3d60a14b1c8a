"""Kinds of values: what a column holds, as a public fact.

A kind is declared (`kinds=`), or follows from the column's dtype, which the caller asserts. Kinds
describe columns, and refuse queries that could only answer about nothing; a declared kind also
converts each cell. What a cell means depends on the cell alone, not on the kind of its column.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, quoted
from ..values import time_of
from .keys import by_column, did_you_mean, is_missing

Kind = str
#: The kind of each column of a table, by name.
Schema = Mapping[Any, Kind]

NUMBER, TRUTH, TEXT, TIME, ZONED = "number", "truth", "text", "time", "zoned time"
DURATION, LIST, UNKNOWN = "duration", "list", "unknown"
#: The kinds that can be declared.
KINDS: tuple[Kind, ...] = (NUMBER, TRUTH, TEXT, TIME, ZONED, DURATION, LIST, UNKNOWN)
#: The kind of `.dt.to_period`, with its frequency: "period[M]".
PERIOD = "period"
#: Kinds that only a dtype has: no cell of another column converts to them.
INTERVAL, COMPLEX = "interval", "complex"
#: Kinds that questions were once allowed to use for anything. What was answered then replays, and
#: `checks.assumptions` says what may be asked anew.
UNSURE = frozenset({UNKNOWN, INTERVAL, COMPLEX})

ANY = frozenset(KINDS) | {PERIOD, INTERVAL, COMPLEX}
#: Kinds to compute with; True is 1.
NUMBERS = frozenset({NUMBER, TRUTH})
TRUTHS = frozenset({TRUTH})
TEXTS = frozenset({TEXT})
TIMES = frozenset({TIME, ZONED})
#: Kinds that can be labels: lists and complex numbers can't.
LABELS = ANY - {LIST, COMPLEX}
#: Kinds whose values have an order here.
ORDERED = LABELS - {INTERVAL}

#: How to get a column of a kind.
_ADVICE: dict[Kind, str] = {
    NUMBER: '.astype(float), where "1,200" stands .str.replace(",", "").astype(float)',
    TRUTH: "a comparison, such as column == value",
    PERIOD: ".dt.to_period(…)",
    TEXT: ".astype(str)",
    TIME: '.astype("datetime64[ns]")',
    ZONED: "a column with a zone",
    DURATION: "a difference of times",
    LIST: ".str.split(…)",
    UNKNOWN: "values of that kind",
}
_BETWEEN_KINDS: dict[tuple[Kind, Kind], str] = {
    (TIME, NUMBER): "a part of it, such as .dt.year",
    (ZONED, NUMBER): "a part of it, such as .dt.year",
    (DURATION, NUMBER): "its .dt.total_seconds()",
    (LIST, NUMBER): "its length .str.len(), or explode",
    (NUMBER, TRUTH): "a comparison, such as == 1",
    (LIST, TEXT): "an element of it, such as .str[0], or explode",
}

# --- what has which kind --------------------------------------------------------------------------

_BY_LETTER = {
    "b": TRUTH, "i": NUMBER, "u": NUMBER, "f": NUMBER, "M": TIME, "m": DURATION, "U": TEXT,
    "c": COMPLEX,
}  # fmt: skip


def of_dtype(dtype: Any) -> Kind:
    """The kind of a dtype. Objects are always unknown."""
    if isinstance(dtype, np.dtype):
        return _BY_LETTER.get(dtype.kind, UNKNOWN)
    if isinstance(dtype, pd.CategoricalDtype):
        return UNKNOWN if dtype.categories is None else of_dtype(dtype.categories.dtype)
    if isinstance(dtype, pd.SparseDtype):
        return of_dtype(dtype.subtype)
    if isinstance(dtype, pd.ArrowDtype):
        return of_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return TEXT
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ZONED
    if isinstance(dtype, pd.PeriodDtype):
        return periods(dtype.freq.freqstr)
    if isinstance(dtype, pd.IntervalDtype):
        return INTERVAL
    return _BY_LETTER.get(getattr(dtype, "kind", "O"), UNKNOWN)


#: Types of Arrow by their tests in `pyarrow.types`.
_ARROW = {
    "boolean": TRUTH, "integer": NUMBER, "floating": NUMBER, "decimal": NUMBER, "string": TEXT,
    "large_string": TEXT, "date": TIME, "duration": DURATION, "list": LIST, "large_list": LIST,
    "fixed_size_list": LIST, "string_view": TEXT, "list_view": LIST, "large_list_view": LIST,
}  # fmt: skip


def of_arrow(dtype: Any) -> Kind:
    """The kind of a type of Arrow."""
    from pyarrow import types

    if types.is_timestamp(dtype):
        return TIME if dtype.tz is None else ZONED
    if types.is_dictionary(dtype) or types.is_run_end_encoded(dtype):
        return of_arrow(dtype.value_type)
    if name := getattr(dtype, "extension_name", ""):
        if name == "pandas.period":
            return periods(dtype.freq)
        if name == "pandas.interval":
            return INTERVAL
        is_stored = name != "arrow.uuid" and not name.startswith("pandas.")
        return of_arrow(dtype.storage_type) if is_stored else UNKNOWN
    tests = ((getattr(types, f"is_{name}", None), kind) for name, kind in _ARROW.items())
    found = (kind for test, kind in tests if test is not None and test(dtype))
    return next(found, UNKNOWN)


def of_columns(df: pd.DataFrame) -> dict[Any, Kind]:
    """The kinds of a frame's columns, by their dtypes."""
    return dict(zip(df.columns, map(of_dtype, df.dtypes.tolist()), strict=True))


_BY_TYPE: dict[Kind, Any] = {
    TRUTH: bool | np.bool_, NUMBER: numbers.Real | Decimal, TEXT: str,
    TIME: datetime.date | np.datetime64, DURATION: datetime.timedelta | np.timedelta64,
    LIST: list | tuple, INTERVAL: pd.Interval, COMPLEX: complex | np.complexfloating,
}  # fmt: skip
#: Of Python's own types, which are looked up at once.
_EXACTLY: dict[type, Kind] = {bool: TRUTH, int: NUMBER, float: NUMBER, str: TEXT}


def of_value(value: Any) -> Kind:
    """The kind of a public plain value."""
    if type(value) in _EXACTLY:
        return _EXACTLY[type(value)]
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return ZONED
    if isinstance(value, pd.Period):
        return periods(value.freqstr)
    return next((kind for kind, of in _BY_TYPE.items() if isinstance(value, of)), UNKNOWN)


def periods(frequency: str) -> Kind:
    """The kind of periods of a frequency; periods of different frequencies are never equal."""
    return f"{PERIOD}[{frequency}]"


def frequency(kind: Kind) -> str:
    """The frequency of a kind of periods, "" for other kinds."""
    return kind.removeprefix(f"{PERIOD}[").removesuffix("]") if kind.startswith(PERIOD) else ""


def joined(kinds: Iterable[Kind]) -> Kind:
    """The kind of a value that is one of several; unknown if they differ."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    return NUMBER if found and found <= NUMBERS else UNKNOWN


# --- what goes with what --------------------------------------------------------------------------


def is_in(kind: Kind, wanted: Collection[Kind]) -> bool:
    """Whether values of a kind may be of a wanted one; those that nobody is sure of always may."""
    return kind in UNSURE or kind in wanted or (PERIOD in wanted and bool(frequency(kind)))


def can_equal(one: Kind, other: Kind, unsure: Collection[Kind] = UNSURE) -> bool:
    """Whether values of two kinds may be equal, or in order; those of ``unsure`` kinds may."""
    return one in unsure or other in unsure or one == other or {one, other} <= NUMBERS


def can_hold(kind: Kind, value: Any, unsure: Collection[Kind] = UNSURE) -> bool:
    """Whether a plain value may equal one of a kind. Compared with times, a text that reads as a
    time means that time; without a zone, it means the local clock of any."""
    if kind in unsure or is_missing(value):
        return True
    meant = of_value(value)
    if kind not in TIMES or meant != TEXT:
        return can_equal(kind, meant, unsure)
    time = time_of(value)
    return time is not None and (kind == ZONED or of_value(time) == kind)


def advice(kind: Kind, wanted: Kind) -> str:
    """How to turn a column of one kind into one of another."""
    if frequency(kind):
        return "Use the time, or a part of it, such as .dt.month"
    return f"Use {_BETWEEN_KINDS.get((kind, wanted), _ADVICE[wanted])}"


# --- what is declared -----------------------------------------------------------------------------


def undeclared(schema: Schema, declared: Collection[Any]) -> dict[Any, Any]:
    """The columns of unknown kind that nobody declared, each with its name in the source. A column
    declared "unknown" is not among them: its owner wants each cell read by itself."""
    return {name: name for name, kind in schema.items() if kind == UNKNOWN and name not in declared}


def parse(kinds: object, columns: Collection[Any]) -> dict[Any, Kind]:
    """Declared kinds: a dict of column to kind."""
    given = by_column(kinds, columns, "kinds=", "{'when': 'time', 'price': 'number'}")
    return {name: _kind(name, kind) for name, kind in given.items()}


def _kind(name: Any, kind: object) -> Kind:
    if isinstance(kind, str) and kind in KINDS:
        return str(kind)
    named = kind.__name__ if isinstance(kind, type) else str(kind)
    hint = did_you_mean(_ALIASES.get(named, named), KINDS)
    raise QueryError(
        f"{quoted(kind)} of {quoted(name)} isn't a kind.{hint} The kinds are {', '.join(KINDS)}."
    )


#: The kinds of well-known dtypes.
_ALIASES: dict[str, Kind] = {
    **dict.fromkeys(("int", "int64", "Int64", "float", "float64"), NUMBER),
    **dict.fromkeys(("bool", "boolean"), TRUTH),
    **dict.fromkeys(("str", "string", "category"), TEXT),
    **dict.fromkeys(("datetime", "date", "datetime64[ns]"), TIME),
    **dict.fromkeys(("timedelta", "timedelta64[ns]"), DURATION),
    "object": UNKNOWN,
}  # fmt: skip
