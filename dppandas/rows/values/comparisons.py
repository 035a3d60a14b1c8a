"""Exact comparisons of each element with a public value, or with another column's element.

Numbers compare with numbers (True is 1), text with text, times with times. Times without a zone
never compare with zoned ones; but a public text without a zone means the local clock of any. Across
families, and for missing elements, ``==`` and order are False and ``!=`` is True.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import forms
from .cells import canonical, nearest
from .equality import key, time_of
from .families import Cell
from .forms import Coded, Durations, Instants, Levels, Mask, Numbers, Truths, Vector

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_TRUE = key(canonical(True))
#: Families with an order; the others have only equality.
_ORDERED = ("number", "text", "time", "zoned", "duration")


def cells(operation: str, a: Cell, b: Cell) -> bool:
    """Compare two cells: the definition."""
    one, other = key(a), key(b)
    unequal = operation == "!="
    if one is None or other is None or one[0] != other[0]:
        return unequal
    if one[0] in _ORDERED:
        return bool(COMPARE[operation](one[1], other[1]))
    if one[0] == "period" and one[1][0] == other[1][0]:  # of one frequency
        return bool(COMPARE[operation](one[1][1], other[1][1]))
    return (one == other) != unequal if operation in ("==", "!=") else False


def _cell_with_text(operation: str, a: Cell, text: Cell, time: Cell) -> bool:
    """Compare with a public text that reads as a time."""
    if a[0] == "time" and time[0] == "time":
        return bool(COMPARE[operation](a[1], time[1]))
    if a[0] == "zoned":
        local = forms.wall_nanos(a) if time[0] == "time" else a[1][0]
        exact = time[1] if time[0] == "time" else time[1][0]
        return operation == "!=" if local is None else bool(COMPARE[operation](local, exact))
    return cells(operation, a, text)


def with_scalar(operation: str, v: Vector, scalar: Any) -> Mask:
    """Compare each element with one public value."""
    cell = canonical(scalar)
    time = None if cell[0] != "text" else time_of(cell[1])
    read = None if time is None else canonical(time)
    if isinstance(v, Truths) and operation == "==" and key(cell) == _TRUE:
        return v.values if v.missing is None else v.values & ~v.missing
    v = _without_truths(v)
    if isinstance(v, Coded):
        return v.by_level(
            ("compare", operation, cell),
            lambda levels: _levels(operation, levels, cell, read),
            operation == "!=",
        )
    if isinstance(v, Numbers):
        wanted = key(cell)
        found = _absent(operation, v)
        if wanted is not None and wanted[0] == "number":
            with np.errstate(all="ignore"):
                found = _number(operation, v.values, wanted[1])
        if v.missing is None:  # to numpy, too, NaN is unequal to all
            return found
    else:
        found = _moments(operation, v, cell if read is None else read, read is not None)
    return np.where(v.null(), operation == "!=", found)


def _without_truths(v: Vector) -> Vector:
    return Numbers(v.values.astype(np.int64), v.missing) if isinstance(v, Truths) else v


def _absent(operation: str, v: Vector) -> Mask:
    return np.full(len(v), operation == "!=")


def _levels(operation: str, levels: Levels, cell: Cell, read: Cell | None) -> Mask:
    if levels.texts is not None and cell[0] == "text":
        compare, text = COMPARE[operation], cell[1]
        found: Any = (compare(each, text) for each in levels.texts)
    elif read is not None:
        found = (_cell_with_text(operation, each, cell, read) for each in levels.cells)
    else:
        found = (cells(operation, each, cell) for each in levels.cells)
    return np.fromiter(found, dtype=bool, count=len(levels))


def _number(operation: str, values: npt.NDArray[Any], exact: Any) -> Mask:
    """Rounding to float64 keeps order, so only ties need an exact comparison."""
    compare = COMPARE[operation]
    if values.dtype.kind == "i" and type(exact) is int:
        if -(2**63) <= exact < 2**63:
            return np.asarray(compare(values, np.int64(exact)), dtype=bool)
        return np.full(len(values), bool(compare(0, exact)))
    near = nearest(exact)
    floats = values.astype(np.float64, copy=False)
    found = np.asarray(compare(floats, near), dtype=bool)
    if near != exact or (values.dtype.kind == "i" and abs(near) >= 2.0**53):
        ties = np.flatnonzero(floats == near)
        found[ties] = [bool(compare(value, exact)) for value in values[ties].tolist()]
    return found


def _moments(operation: str, v: Vector, cell: Cell, is_text: bool) -> Mask:
    """Times and durations; ``is_text`` if the cell was read from a public text."""
    if isinstance(v, Instants | Durations) and v.family == cell[0]:
        exact = cell[1][0] if cell[0] == "zoned" else cell[1]
        return _pairs(operation, v.micros, v.nanos, exact)
    if isinstance(v, Instants) and cell[0] == "time" and is_text:
        local, none = forms.wall(v)
        return np.where(none, operation == "!=", _pairs(operation, local, v.nanos, cell[1]))
    return _absent(operation, v)


def _pairs(operation: str, micros: Any, nanos: Any, exact: int) -> Mask:
    return lexical(operation, micros, 0 if nanos is None else nanos, *divmod(exact, 1000))


def lexical(operation: str, a: Any, a_rest: Any, b: Any, b_rest: Any) -> Mask:
    """Compare pairs by their first members, and by the second where these are equal."""
    equal = (a == b) & (a_rest == b_rest)
    if operation in ("==", "!="):
        return np.asarray(equal if operation == "==" else ~equal, dtype=bool)
    compare = COMPARE[operation[0]]
    before = compare(a, b) | ((a == b) & compare(a_rest, b_rest))
    return np.asarray(before | equal if operation in ("<=", ">=") else before, dtype=bool)


def vectors(operation: str, a: Vector, b: Vector) -> Mask:
    """Compare two columns element by element."""
    a, b = _without_truths(a), _without_truths(b)
    if isinstance(a, Numbers) and isinstance(b, Numbers):
        with np.errstate(all="ignore"):
            found = _numbers(operation, a.values, b.values)
        if a.missing is None and b.missing is None:  # to numpy, too, NaN is unequal to all
            return found
    elif isinstance(a, Instants | Durations) and isinstance(b, Instants | Durations):
        if a.family != b.family:
            return _absent(operation, a)
        found = lexical(operation, a.micros, a.beyond, b.micros, b.beyond)
    else:
        found = _by_pair(operation, a.coded(), b.coded())
    return np.where(a.null() | b.null(), operation == "!=", found)


def _numbers(operation: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Mask:
    """numpy compares integers with floats in float64, which can't hold 2^53 + 1."""
    compare = COMPARE[operation]
    found = np.asarray(compare(a, b), dtype=bool)
    if a.dtype.kind != b.dtype.kind:
        whole = b if a.dtype.kind == "f" else a
        large = np.flatnonzero(np.abs(whole.astype(np.float64)) >= 2.0**53)
        pairs = zip(a[large].tolist(), b[large].tolist(), strict=True)
        found[large] = [bool(compare(x, y)) for x, y in pairs]
    return found


def _by_pair(operation: str, a: Coded, b: Coded) -> Mask:
    """Each pair of levels is compared once."""
    width = len(b.levels) + 1
    pairs, at = np.unique((a.codes + 1) * width + b.codes + 1, return_inverse=True)
    found = np.zeros(len(pairs), dtype=bool)
    for i, pair in enumerate(pairs.tolist()):
        one, other = divmod(pair, width)
        if one and other:
            found[i] = cells(operation, a.levels.cells[one - 1], b.levels.cells[other - 1])
    return np.asarray(found[at.reshape(-1)])
