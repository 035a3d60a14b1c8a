"""Labels that are found in the data: one for all values that are equal, whatever their types.

The label of a value depends on what the value equals and on nothing else. Were it one of the
values themselves, an answer would tell which of them came first, or that somebody wrote 1.0 for 1.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from . import equality, objects
from .cells import canonical
from .families import Cell, order
from .forms import Levels, Vector

Codes = npt.NDArray[np.intp]
#: A text that tells labels apart, and the label itself.
Named = tuple[str, Any]

#: Numbers of more bits are no labels: they can't even be printed.
MOST_BITS = 1100

#: Families whose values are no labels.
_NO_LABELS = ("set", "mapping", "complex", "missing", "opaque")


def named(value: Any) -> Named | None:
    """The label of a value and its name; None for what is missing or is not known by its value.

    Whole numbers are int (and True is 1), others float where they are one, else Decimal or
    Fraction; times are Timestamp, zoned ones in UTC; durations Timedelta; text is str.

    >>> named(1.0) == named(True) == ("n1/1", 1)
    True
    """
    return _named(canonical(value))


def _named(cell: Cell) -> Named | None:
    key = equality.key(cell)
    try:
        label = None if key is None else _label(key)
        return None if label is None or key is None else (equality.name(key), label)
    except Exception:  # an end of an interval that is none
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
    if family == "zoned":
        return _printable(objects.value_of(("zoned", (exact, "UTC"))))
    if family == "time":
        return _printable(objects.value_of(key))
    if family == "clock" and exact[1] is not None:
        return None
    return objects.value_of(key)


def _printable(time: Any) -> Any:
    """A time of a year that Python can print; None for others."""
    return time if time is not None and datetime.MINYEAR <= time.year <= datetime.MAXYEAR else None


def _number(exact: Any) -> Any:
    if isinstance(exact, float):
        return exact
    if max(abs(exact.numerator), exact.denominator).bit_length() > MOST_BITS:
        return None
    if isinstance(exact, int):
        if -(2**63) <= exact < 2**64:
            return exact
        near = float(exact)  # what overflows has no label
        return near if near == exact else exact
    return _decimal(exact) or exact


def _decimal(exact: Fraction) -> decimal.Decimal | None:
    """The decimal that a fraction is exactly, if there is one."""
    with decimal.localcontext(decimal.Context(MOST_BITS + 10, traps=[decimal.Inexact])):
        try:
            return (decimal.Decimal(exact.numerator) / exact.denominator).normalize()
        except decimal.Inexact:
            return None


def rank(label: Any) -> tuple[Any, ...]:
    """The order of labels: numbers by size, then text, then times, then the rest by family."""
    cell = canonical(label)
    return order(equality.key(cell) or cell)


def coded(v: Vector) -> tuple[Codes, Sequence[Named]]:
    """A number for the label of each element, -1 for none, and the labels by number.

    Numbers and their order mean nothing beyond one chunk.
    """
    held = v.coded()
    found, labels = held.levels.named(_of_levels)
    return found.take(held.codes), labels


def _of_levels(levels: Levels) -> tuple[Codes, Sequence[Named]]:
    numbers: dict[str, int] = {}
    known: list[Named] = []
    table = np.full(len(levels) + 1, -1, dtype=np.intp)
    for i, cell in enumerate(levels.cells):
        label = _named(cell)
        if label is not None:
            table[i] = numbers.setdefault(label[0], len(numbers))
            if len(numbers) > len(known):
                known.append(label)
    return table, known
