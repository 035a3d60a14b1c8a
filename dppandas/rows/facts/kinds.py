"""Kinds of values: what a column holds, as a public fact.

A kind is declared (`kinds=`), or it is that of the column's dtype, which is the caller's assertion.
It refuses what could answer about nothing, and describes; a declared one also converts, cell by
cell. What a cell means follows from the cell alone, whatever the kind of its column.
"""

from __future__ import annotations

import datetime
import difflib
import numbers
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from ...errors import QueryError, UnknownColumn, quoted
from .keys import is_missing, some_names

Kind = str
#: The kind of each column of a table, by name.
Schema = Mapping[Any, Kind]

NUMBER, TRUTH, TEXT, TIME, ZONED = "number", "truth", "text", "time", "zoned time"
DURATION, LIST, UNKNOWN = "duration", "list", "unknown"
#: What can be declared.
KINDS: tuple[Kind, ...] = (NUMBER, TRUTH, TEXT, TIME, ZONED, DURATION, LIST, UNKNOWN)
#: What `.dt.to_period` makes, each with its frequency: "period[M]".
PERIOD = "period"

ANY = frozenset(KINDS) | {PERIOD}
#: What can be computed with; True is 1.
NUMBERS = frozenset({NUMBER, TRUTH})
TRUTHS = frozenset({TRUTH})
TEXTS = frozenset({TEXT})
TIMES = frozenset({TIME, ZONED})
#: What can be a label: lists are none.
LABELS = ANY - {LIST}

#: What makes a column one of some kinds.
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

_BY_LETTER = {"b": TRUTH, "i": NUMBER, "u": NUMBER, "f": NUMBER, "M": TIME, "m": DURATION}
_BY_LETTER |= {"U": TEXT}


def of_dtype(dtype: Any) -> Kind:
    """The kind of a dtype. Objects are unknown in every pandas, whatever they are."""
    if isinstance(dtype, pd.CategoricalDtype):
        return UNKNOWN if dtype.categories is None else of_dtype(dtype.categories.dtype)
    if isinstance(dtype, pd.SparseDtype):
        return of_dtype(dtype.subtype)
    if isinstance(dtype, pd.ArrowDtype):
        return _of_arrow(dtype.pyarrow_dtype)
    if isinstance(dtype, pd.StringDtype):
        return TEXT
    if isinstance(dtype, pd.DatetimeTZDtype):
        return ZONED
    return _BY_LETTER.get(getattr(dtype, "kind", "O"), UNKNOWN)


def _of_arrow(dtype: Any) -> Kind:
    import pyarrow.types as is_a

    if is_a.is_timestamp(dtype):
        return TIME if dtype.tz is None else ZONED
    if is_a.is_dictionary(dtype):
        return _of_arrow(dtype.value_type)
    for kind, tests in (
        (TRUTH, (is_a.is_boolean,)),
        (NUMBER, (is_a.is_integer, is_a.is_floating, is_a.is_decimal)),
        (TEXT, (is_a.is_string, is_a.is_large_string)),
        (TIME, (is_a.is_date,)),
        (DURATION, (is_a.is_duration,)),
        (LIST, (is_a.is_list, is_a.is_large_list, is_a.is_fixed_size_list)),
    ):
        if any(test(dtype) for test in tests):
            return kind
    return UNKNOWN


def of_columns(df: pd.DataFrame) -> dict[Any, Kind]:
    """The kinds of a frame's columns, by their dtypes."""
    return {name: of_dtype(dtype) for name, dtype in zip(df.columns, df.dtypes, strict=True)}


def of_value(value: Any) -> Kind:
    """The kind of a public plain value."""
    if isinstance(value, bool | np.bool_):
        return TRUTH
    if isinstance(value, numbers.Real | Decimal):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, datetime.datetime):
        return TIME if value.tzinfo is None else ZONED
    if isinstance(value, datetime.date | np.datetime64):
        return TIME
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return DURATION
    if isinstance(value, pd.Period):
        return periods(value.freqstr)
    return LIST if isinstance(value, list | tuple) else UNKNOWN


def periods(frequency: str) -> Kind:
    """The kind of periods of a frequency; those of another are never equal."""
    return f"{PERIOD}[{frequency}]"


def frequency(kind: Kind) -> str:
    """The frequency of a kind of periods; "" of every other kind."""
    return kind.removeprefix(f"{PERIOD}[").removesuffix("]") if kind.startswith(PERIOD) else ""


def joined(kinds: Iterable[Kind]) -> Kind:
    """The kind of what is one of several: unknown where these differ."""
    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    return NUMBER if found and found <= NUMBERS else UNKNOWN


# --- what goes with what --------------------------------------------------------------------------


def is_in(kind: Kind, wanted: Collection[Kind]) -> bool:
    """Whether values of a kind may be what is wanted: of an unknown one they always may."""
    return kind == UNKNOWN or kind in wanted or (PERIOD in wanted and bool(frequency(kind)))


def can_equal(one: Kind, other: Kind) -> bool:
    """Whether values of two kinds may be equal, or in order."""
    return UNKNOWN in (one, other) or one == other or {one, other} <= NUMBERS


def can_hold(kind: Kind, value: Any) -> bool:
    """Whether a plain value may equal one of a kind. A text that reads as a time means that time
    to times; without a zone it means what the clock on their wall shows."""
    if kind == UNKNOWN or is_missing(value):
        return True
    meant = of_value(value)
    if kind not in TIMES or meant != TEXT:
        return can_equal(kind, meant)
    meant = _of_time(value)
    return meant == kind or (kind == ZONED and meant == TIME)


def _of_time(text: str) -> Kind:
    """The kind of the time that a text says; text if it says none."""
    if text in ("now", "today"):
        return TEXT
    try:
        time: Any = pd.Timestamp(text)
    except (ValueError, OverflowError):
        return TEXT
    return TEXT if is_missing(time) else of_value(time)


def target(wanted: Collection[Kind]) -> Kind:
    """The first of some kinds, as they are listed."""
    return next((kind for kind in KINDS if kind in wanted), UNKNOWN)


def advice(kind: Kind, wanted: Kind) -> str:
    """What makes of a column of one kind one of another."""
    if frequency(kind):
        return "Use the time, or a part of it, such as .dt.month"
    return f"Use {_BETWEEN_KINDS.get((kind, wanted), _ADVICE[wanted])}"


# --- what is declared -----------------------------------------------------------------------------


def parse(kinds: object, columns: Collection[Any]) -> dict[Any, Kind]:
    """Declared kinds: a dict of column to kind."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise QueryError(
            "kinds= must be a dict such as {'when': 'time', 'price': 'number'}, not "
            f"{quoted(kinds)}."
        )
    return {_column(name, columns): _kind(name, kind) for name, kind in kinds.items()}


def _column(name: Any, columns: Collection[Any]) -> Any:
    if name in columns:
        return name
    raise UnknownColumn(
        f"kinds= names {quoted(name)}, which is no column.{_near(name, map(str, columns))} The "
        f"columns: {some_names(columns)}."
    )


def _kind(name: Any, kind: object) -> Kind:
    if isinstance(kind, str) and kind in KINDS:
        return str(kind)
    named = kind.__name__ if isinstance(kind, type) else str(kind)
    raise QueryError(
        f"{quoted(kind)} of {quoted(name)} is no kind.{_near(_ALIASES.get(named, named), KINDS)} "
        f"Kinds are {', '.join(KINDS)}."
    )


#: What people call kinds who know dtypes.
_ALIASES: dict[str, Kind] = {
    **dict.fromkeys(("int", "int64", "Int64", "float", "float64"), NUMBER),
    **dict.fromkeys(("bool", "boolean"), TRUTH),
    **dict.fromkeys(("str", "string", "category"), TEXT),
    **dict.fromkeys(("datetime", "date", "datetime64[ns]"), TIME),
    **dict.fromkeys(("timedelta", "timedelta64[ns]"), DURATION),
    "object": UNKNOWN,
}  # fmt: skip


def _near(name: object, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
