"""Labels found in the data: one for all values that are equal, whatever their types.

A label depends only on what the value equals. If it were one of the values, an answer would tell
which of them came first, or that somebody wrote 1.0 for 1.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from . import equality, objects
from .cells import canonical, number
from .families import Cell, order
from .forms import Codes, Integers, Levels, Mask, Numbers, Vector

#: A text that tells labels apart, and the label itself.
Named = tuple[str, Any]
_Naming = Callable[[Cell], Named | None]

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


def ranks(labels: Sequence[Any]) -> Sequence[Any]:
    """The sort keys of some labels. Whole numbers alone, and texts alone, are their own."""
    return labels if {*map(type, labels)} in ({int}, {str}) else list(map(rank, labels))


class Decode(Protocol):
    """What stands for the labels of a column: whole numbers, which mean the same wherever the same
    object decodes them. `lasting` says whether they do in other processes too."""

    lasting: bool

    def labels(self, numbers: Integers) -> list[Any]:
        """The labels themselves."""

    def names(self, numbers: Integers) -> list[str]:
        """Their names, as of `named`."""

    def ranks(self, numbers: Integers) -> npt.NDArray[Any]:
        """Numbers that sort as `rank` sorts the labels."""


class _Wholes:
    """Whole numbers themselves."""

    lasting = True

    def __reduce__(self) -> str:
        return "_WHOLES"

    def labels(self, numbers: Integers) -> list[Any]:
        return list(numbers.tolist())

    def names(self, numbers: Integers) -> list[str]:
        return [f"n{whole:x}/1" for whole in numbers.tolist()]

    def ranks(self, numbers: Integers) -> npt.NDArray[Any]:
        return numbers


class _Reals:
    """The bits of reals, each of which has a label."""

    lasting = True

    def __reduce__(self) -> str:
        return "_REALS"

    def labels(self, numbers: Integers) -> list[Any]:
        return list(map(_label, self._cells(numbers)))

    def names(self, numbers: Integers) -> list[str]:
        return list(map(equality.name, self._cells(numbers)))

    def ranks(self, numbers: Integers) -> npt.NDArray[Any]:
        return numbers.view(np.float64)

    def _cells(self, numbers: Integers) -> Iterable[Cell]:
        return map(number, self.ranks(numbers).tolist())


class Listed:
    """The positions of labels in a list."""

    lasting = False

    def __init__(self, labels: Sequence[Any], name: Callable[[int], str]) -> None:
        self._labels = labels
        self._name = name  # of the label at a position

    @classmethod
    def of(cls, labels: Sequence[Any]) -> Listed:
        """A list of labels, whose names are made of themselves."""
        return cls(labels, lambda at: cast(Named, named(labels[at]))[0])

    def labels(self, numbers: Integers) -> list[Any]:
        return list(map(self._labels.__getitem__, numbers.tolist()))

    def names(self, numbers: Integers) -> list[str]:
        return list(map(self._name, numbers.tolist()))

    def ranks(self, numbers: Integers) -> npt.NDArray[Any]:
        keys = ranks(self._labels)
        at = {key: place for place, key in enumerate(sorted(set(keys)))}
        return np.array([at[key] for key in keys], dtype=np.intp)[numbers]


_WHOLES, _REALS = _Wholes(), _Reals()


def coded(v: Vector) -> tuple[Integers, Mask, Decode]:
    """A whole number for the label of each element, which elements have a label, and what decodes
    the numbers. Equal labels have equal numbers; the order of numbers means nothing."""
    return _coded(v, "labels", _named)


def coded_values(v: Vector) -> tuple[Integers, Mask, Decode]:
    """The same for what each element equals: of all elements that equal anything, also of those
    that have no label. The labels of the numbers are names, which only distinguish."""
    return _coded(v, "values", _value)


def _coded(v: Vector, key: str, named: _Naming) -> tuple[Integers, Mask, Decode]:
    if isinstance(v, Numbers):
        if v.is_whole:
            return v.values, ~v.null(), _WHOLES
        return (v.values + 0.0).view(np.int64), ~v.null(), _REALS  # -0.0 becomes 0.0
    held = v.coded()
    found, decode = held.levels.made(key, lambda levels: _of_levels(levels, named))
    codes = found.take(held.codes)
    return codes, codes >= 0, decode


def _value(cell: Cell) -> Named | None:
    key = equality.key(cell)
    return None if key is None else (equality.name(key), equality.name(key))


def _of_levels(levels: Levels, named: _Naming) -> tuple[Codes, Decode]:
    texts = None if levels.texts is None else levels.texts.tolist()
    if texts is not None and len(set(texts)) == len(texts):
        table = np.append(np.arange(len(texts)), -1)
        return table, Listed(texts, lambda at: equality.name(("text", texts[at])))
    numbers: dict[str, int] = {}
    known: dict[str, Named] = {}
    table = np.full(len(levels) + 1, -1, dtype=np.intp)
    for i, cell in enumerate(levels.cells):
        if (found := named(cell)) is not None:
            known[found[0]] = found
            table[i] = numbers.setdefault(found[0], len(numbers))
    names = list(known)
    return table, Listed([label for _, label in known.values()], names.__getitem__)
