"""Labels that are found in the data: one for all values that are equal, whatever their types.

The label of a value depends on what the value equals and on nothing else. Were it one of the
values themselves, an answer would tell which of them came first, or that somebody wrote 1.0 for 1.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, cast
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pandas as pd

from .budget import format_exact
from .domain import is_missing, plain
from .hashing import name_of
from .vectors import NUMBERS, Vector, encodes, factorized

Codes = npt.NDArray[np.intp]
#: A text that tells labels apart, and the label itself.
Named = tuple[str, Any]

#: Numbers of more bits are no labels: they can't even be printed.
MOST_BITS = 1100

_MICRO = datetime.timedelta(microseconds=1)
_FIRST = datetime.datetime(1, 1, 1)
_EPOCH = (datetime.datetime(1970, 1, 1) - _FIRST) // _MICRO
_PLAIN = {str, int, type(None), type(pd.NA), type(pd.NaT)}


def named(value: Any) -> Named | None:
    """The label of a value and its name; None for what is missing or is not known by its value.

    Whole numbers are int (and True is 1), others float where they are one, else Decimal or
    Fraction; times are Timestamp, zoned ones in UTC; durations Timedelta; text is str.

    >>> named(1.0) == named(True) == ("n1/1", 1)
    True
    """
    try:
        label = _label(plain(value))
        name = None if label is None else name_of(label)
        return None if name is None else (name, label)
    except Exception:
        return None


def _label(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, NUMBERS):
        return _number(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, datetime.datetime):
        return _time(value)
    if isinstance(value, datetime.date):
        return datetime.date(value.year, value.month, value.day)
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return datetime.time(value.hour, value.minute, value.second, value.microsecond)
    if isinstance(value, UUID):
        return UUID(int=value.int)
    if isinstance(value, pd.Period):
        return value
    if isinstance(value, pd.Interval):
        ends = _label(plain(value.left)), _label(plain(value.right))
        return pd.Interval(*ends, closed=value.closed)
    if isinstance(value, tuple):
        parts = tuple(_label(plain(part)) for part in value)
        return None if any(part is None for part in parts) else parts
    return None


def _number(value: Any) -> Any:
    if isinstance(value, decimal.Decimal) and abs(value.adjusted()) > MOST_BITS:
        return float(value) if value.is_infinite() else None
    if isinstance(value, np.floating):  # a long double, which `plain` leaves alone
        exact = float(value) if np.isinf(value) else Fraction(*value.as_integer_ratio())
    else:
        exact = float(value) if value in (np.inf, -np.inf) else Fraction(value)
    if isinstance(exact, float):
        return exact
    if max(abs(exact.numerator), exact.denominator).bit_length() > MOST_BITS:
        return None
    whole = exact.numerator if exact.denominator == 1 else None
    if whole is not None and -(2**63) <= whole < 2**64:
        return whole
    near = float(exact)  # what overflows has no label
    if Fraction(near) == exact:
        return near
    if whole is not None:
        return whole
    text = format_exact(exact)
    return exact if "/" in text else decimal.Decimal(text)


def _time(value: datetime.datetime) -> pd.Timestamp:
    clock = datetime.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second
    )
    offset, rest = value.utcoffset(), getattr(value, "nanosecond", 0)
    since = (clock - _FIRST) // _MICRO + value.microsecond
    since -= 0 if offset is None else offset // _MICRO
    if rest:
        time = pd.Timestamp((since - _EPOCH) * 1000 + rest, unit="ns")
    else:
        time = pd.Timestamp(_FIRST + datetime.timedelta(microseconds=since))
    return time if offset is None else time.tz_localize("UTC")


def _duration(value: datetime.timedelta) -> Any:
    micros = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
    exact = micros * 1000 + getattr(value, "nanoseconds", 0)
    if abs(exact) < 2**63:
        return pd.Timedelta(exact, "ns")
    return datetime.timedelta(microseconds=micros)


def rank(label: Any) -> tuple[Any, ...]:
    """The order of labels: numbers by size, then text, then the rest by kind and as it prints."""
    if isinstance(label, NUMBERS):
        is_float = isinstance(label, float) and label in (np.inf, -np.inf)
        return 0, label if is_float else Fraction(cast(Any, label)), ""
    kind = "" if isinstance(label, str) else type(label).__name__
    return 1, kind, str(label)


def coded(v: Vector) -> tuple[Codes, Sequence[Named]]:
    """A number for the label of each element, -1 for none, and the labels by number.

    Numbers and their order mean nothing beyond one chunk.
    """
    if v.codes is not None:
        levels, labels = v.memo.get("label codes"), v.memo.get("labels")
        if levels is None or labels is None:
            found, names = coded(Vector(v.values, v.missing))
            levels, labels = np.append(found, -1), _objects(names)
            v.memo.update({"label codes": levels, "labels": labels})
        return levels.take(v.codes), list(labels)
    codes, values = _distinct(v)
    numbers: dict[str, int] = {}
    known: list[Named] = []
    table = np.full(len(values) + 1, -1, dtype=np.intp)
    for i, value in enumerate(values):
        label = named(value)
        if label is not None:
            table[i] = numbers.setdefault(label[0], len(numbers))
            if len(numbers) > len(known):
                known.append(label)
    return table.take(codes), known


def _distinct(v: Vector) -> tuple[Codes, Sequence[Any]]:
    """A code for each element, -1 for none, and what has a code: equal values may have several."""
    if v.is_number or v.kind in "Mm":
        codes, found = pd.factorize(v.values)
        if v.missing is not None:
            codes = np.where(v.missing, -1, codes)
        return codes, list(Vector(found).objects())
    if not isinstance(v.values, np.ndarray):
        codes, found = factorized(v.values)
        return codes, list(found)
    values = v.objects()
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("string", "integer") and set(map(type, values)) <= _PLAIN and encodes(values):
        codes, found = pd.factorize(values)
        return codes, list(found)
    # pandas' hash table compares elements with each other, in ways that depend on the others
    return np.arange(len(values)), list(values)


def _objects(values: Iterable[Any]) -> npt.NDArray[Any]:
    listed = list(values)
    array = np.empty(len(listed), dtype=object)
    for i, value in enumerate(listed):
        array[i] = value
    return array
