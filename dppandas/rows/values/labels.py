"""Labels found in the data: one for all values that are equal, whatever their types.

A label depends only on what the value equals. If it were one of the values, an answer would tell
which of them came first, or that somebody wrote 1.0 for 1.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from . import equality, objects
from .cells import canonical
from .families import Cell, order
from .forms import Codes, Levels, Vector

#: A text that tells labels apart, and the label itself.
Named = tuple[str, Any]

#: Numbers of more bits have no label: they can't even be printed.
MOST_BITS = 1100

#: Families whose values have no label.
_NO_LABELS = ("set", "mapping", "complex", "missing", "opaque")


def named(value: Any) -> Named | None:
    """The name and the label of a value; None if it is missing or not known by its value.

    Whole numbers are int (True is 1), others float if exact, else Decimal or Fraction; times are
    Timestamp, zoned ones in UTC; durations are Timedelta; text is str.

    >>> named(1.0) == named(True) == ("n1/1", 1)
    True
    """
    return _named(canonical(value))


def _named(cell: Cell) -> Named | None:
    key = equality.key(cell)
    try:
        label = None if key is None else _label(key)
        return None if label is None or key is None else (equality.name(key), label)
    except Exception:  # such as an interval whose ends have no order
        return None


def _label(key: Cell) -> Any:
    family, exact = key
    if family in _NO_LABELS:
        return None
    if family == "number":
        return _number(exact)
    if family == "list":
        parts = tuple(map(_label, exact))
        return None if any(part is None for part in parts) else parts
    if family == "clock" and exact[1] is not None:
        return None
    found = objects.value_of(("zoned", (exact, "UTC")) if family == "zoned" else key)
    if family in ("time", "zoned") and not datetime.MINYEAR <= found.year <= datetime.MAXYEAR:
        return None  # Python can't print it
    return found


def _number(exact: Any) -> Any:
    if isinstance(exact, float):
        return exact
    if max(abs(exact.numerator), exact.denominator).bit_length() > MOST_BITS:
        return None
    if isinstance(exact, int):
        if -(2**63) <= exact < 2**64:
            return exact
        near = float(exact)  # raises on overflow, so there is no label
        return near if near == exact else exact
    return _decimal(exact) or exact


def _decimal(exact: Fraction) -> decimal.Decimal | None:
    """The decimal that equals a fraction, if there is one."""
    with decimal.localcontext(decimal.Context(MOST_BITS + 10, traps=[decimal.Inexact])):
        try:
            return (decimal.Decimal(exact.numerator) / exact.denominator).normalize()
        except decimal.Inexact:
            return None


def rank(label: Any) -> tuple[Any, ...]:
    """The sort key of labels: numbers by size, then text, then times, then others by family."""
    cell = canonical(label)
    return order(equality.key(cell) or cell)


def coded(v: Vector) -> tuple[Codes, Sequence[Named]]:
    """The number of each element's label (-1 if it has none), and the labels by number.

    Numbers and their order mean nothing outside the chunk.
    """
    held = v.coded()
    found, labels = held.levels.made("labels", _of_levels)
    return found.take(held.codes), labels


def _of_levels(levels: Levels) -> tuple[Codes, Sequence[Named]]:
    numbers: dict[str, int] = {}
    known: dict[str, Any] = {}
    table = np.full(len(levels) + 1, -1, dtype=np.intp)
    for i, cell in enumerate(levels.cells):
        if (found := _named(cell)) is not None:
            name, label = found
            known[name] = label
            table[i] = numbers.setdefault(name, len(numbers))
    return table, list(known.items())
