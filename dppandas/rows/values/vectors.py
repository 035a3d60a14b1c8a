"""Elementwise functions on one column of one chunk.

Every function depends on one element at a time and never raises on data: what can't be compared is
unequal, what can't be read as a number is missing. A cell decides what it means
(`values.canonical`), not the dtype that pandas chose for its column: a dtype depends on all rows.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import comparisons, equality, forms, lookups, objects, reading
from .cells import canonical, nearest
from .families import MISSING, Cell
from .forms import Array, Coded, Durations, Instants, Levels, Numbers, Truths, Vector

COMPARE, FLIPPED = comparisons.COMPARE, comparisons.FLIPPED
compare_scalar, compare_vectors = comparisons.with_scalar, comparisons.vectors
prepared, Labels = lookups.prepared, lookups.Labels
Mask = forms.Mask
Integers = forms.Integers
coded, constant, distinct = forms.of_levels, forms.constant, equality.distinct
texts = forms.of_texts

#: Types of public numbers. Not np.number, for complex numbers have no order.
NUMBERS = (
    bool, int, float, np.bool_, np.integer, np.floating, decimal.Decimal, fractions.Fraction
)  # fmt: skip

Moments = tuple[Integers, Integers, Mask]

#: Levels of numbers that are written out rather than numbered with others.
FEW = 100


def vector(values: npt.NDArray[Any]) -> Vector:
    """The form of a plain numpy array: of truth values, numbers, or any objects."""
    return forms.of_array(values) if values.dtype.kind in "biuf" else reading.objects(values)


def is_null(v: Vector) -> Mask:
    """Which elements are missing."""
    return v.null()


def timestamp(scalar: Any) -> Any:
    """The time that a public value is, or that a public text such as "2020-01-31" reads as."""
    if isinstance(scalar, str):
        return equality.time_of(scalar)
    if not isinstance(scalar, datetime.date | np.datetime64):
        return None
    cell = canonical(scalar)
    return None if cell == MISSING else objects.value_of(cell)


# --- numbers --------------------------------------------------------------------------------------


def as_numbers(v: Vector) -> npt.NDArray[np.float64]:
    """Elements as float64; NaN if missing, or not readable as a number."""
    if isinstance(v, Numbers | Truths):
        return v.floats()
    if isinstance(v, Coded):
        return v.by_level("number", _numbers, np.nan)
    return np.full(len(v), np.nan)


def _numbers(levels: Levels) -> npt.NDArray[np.float64]:
    texts = levels.texts
    found = map(as_number, levels.cells) if texts is None else map(_parsed, texts)
    return np.fromiter(found, dtype=np.float64, count=len(levels))


def as_number(cell: Cell) -> float:
    """A cell as float64: a number, a truth value, or a text that reads as one; else NaN."""
    family, exact = cell
    if family == "text":
        return _parsed(exact)
    return nearest(exact) if family in ("number", "truth") else np.nan


def _parsed(text: str) -> float:
    try:
        return float(text.strip().replace("_", "!"))  # Python would read "1_0" as 10
    except ValueError:
        return np.nan


# --- from elements to elements --------------------------------------------------------------------


def choose(keep: Mask, yes: Vector, no: Vector) -> Vector:
    """Elements of ``yes`` where a mask holds, else of ``no``, exactly as they were."""
    if _is_gone(no):
        return yes.without(~keep)
    if _is_gone(yes):
        return no.without(keep)
    yes, no = _beside(yes, no), _beside(no, yes)
    if isinstance(yes, Truths) and isinstance(no, Truths):
        return Truths(np.where(keep, yes.values, no.values), _either(keep, yes, no))
    if isinstance(yes, Numbers) and isinstance(no, Numbers) and _alike(yes, no):
        return Numbers(np.where(keep, yes.values, no.values), _either(keep, yes, no))
    one, other = yes.coded(), no.coded()
    levels = Levels([*one.levels.cells, *other.levels.cells])
    there = np.where(other.codes < 0, -1, other.codes + len(one.levels))
    return Coded(np.where(keep, one.codes, there), levels)


def _is_gone(v: Vector) -> bool:
    """Whether nothing of it is there, by its levels: the constant that is missing has one."""
    return isinstance(v, Coded) and len(v.levels) < 2 and {*v.levels.cells} <= {MISSING}


def _beside(v: Vector, other: Vector) -> Vector:
    """A few constant numbers beside numbers in their form, if it holds them exactly."""
    if not isinstance(v, Coded) or not isinstance(other, Numbers) or len(v.levels) > FEW:
        return v
    exact = [number for family, number in v.levels.cells if family == "number"]
    are_whole = all(type(number) is int and -(2**53) <= number <= 2**53 for number in exact)
    if len(exact) < len(v.levels) or not (are_whole or all(type(n) is float for n in exact)):
        return v
    table = np.array([*exact, 0], dtype=other.values.dtype if are_whole else np.float64)
    missing = v.codes < 0
    return Numbers(table.take(v.codes), missing if missing.any() else None)


def _alike(yes: Numbers, no: Numbers) -> bool:
    """Whether one array holds both exactly."""
    if yes.is_whole == no.is_whole:
        return True
    whole = yes.values if yes.is_whole else no.values
    return not len(whole) or bool(whole.min() >= -(2**53) and whole.max() <= 2**53)


def _either(keep: Mask, yes: Numbers | Truths, no: Numbers | Truths) -> Mask | None:
    if yes.missing is None and no.missing is None:
        return None  # NaN says it
    missing = np.where(keep, yes.null(), no.null())
    return missing if missing.any() else None


def each(v: Vector, function: Callable[[Any], Any], key: Any) -> Vector:
    """A function of each element as an object; missing for missing elements, and where it fails.
    ``key`` names the function, which is computed once for equal elements."""
    return by_cell(v, lambda cell: _computed(function, cell), ("each", key))


def _computed(function: Callable[[Any], Any], cell: Cell) -> Cell:
    value = objects.value_of(cell)
    return MISSING if value is None else canonical(function(value))


def by_cell(v: Vector, function: Callable[[Cell], Cell], key: Any) -> Coded:
    """A function from cell to cell, of all elements that are not missing."""
    held = v.coded()
    made = held.levels.made(key, lambda levels: _levels(levels, function))
    return Coded(made[0].take(held.codes), made[1])


def _levels(levels: Levels, function: Callable[[Cell], Cell]) -> tuple[Array, Levels]:
    """The new code of each level (and one more, for missing elements), and the new levels."""

    def one(cell: Cell) -> Cell:
        try:
            return function(cell)
        except Exception:
            return MISSING

    made = forms.of_cells(map(one, levels.cells))
    return np.append(made.codes, -1), made.levels


def as_objects(v: Vector) -> npt.NDArray[Any]:
    """The elements as plain objects; missing ones are None."""
    held = v.coded()
    table = np.empty(len(held.levels) + 1, dtype=object)
    for i, cell in enumerate(held.levels.cells):
        table[i] = objects.value_of(cell)
    return table.take(held.codes)


# --- times ----------------------------------------------------------------------------------------


_PAIR = np.dtype([("micros", np.int64), ("nanos", np.int64)])


def moments(v: Vector, family: str) -> Moments:
    """Microseconds, the nanoseconds beyond, and which elements are not of a family: "time" (counted
    since 1970 by their own clock), "zoned" (in UTC), or "duration"."""
    if isinstance(v, Instants | Durations) and v.family == family:
        return v.micros, v.beyond, v.null()
    if not isinstance(v, Coded):
        zeros = np.zeros(len(v), dtype=np.int64)
        return zeros, zeros, np.ones(len(v), dtype=bool)

    def pair(cell: Cell) -> tuple[int, int]:
        if cell[0] != family:
            return 0, -1
        nanos: int = cell[1][0] if family == "zoned" else cell[1]
        return divmod(nanos, 1000)

    def pairs(levels: Levels) -> Array:
        return np.array(list(map(pair, levels.cells)), dtype=_PAIR)

    found = v.by_level(("moments", family), pairs, np.array((0, -1), dtype=_PAIR))
    none = found["nanos"] < 0
    return found["micros"], np.where(none, 0, found["nanos"]), none


def times_from(micros: Integers, nanos: Integers, missing: Mask, zone: str | None) -> Vector:
    """Instants: by their own clock without a zone, else in UTC and of that zone."""
    return Instants(micros, nanos if nanos.any() else None, missing, zone)


def durations_from(micros: Integers, nanos: Integers, missing: Mask) -> Vector:
    """Lengths of time."""
    return Durations(micros, nanos if nanos.any() else None, missing)


def codes_of(v: Vector) -> npt.NDArray[np.intp]:
    """A number per element, the same for equal elements; -1 for what equals nothing."""
    if isinstance(v, Numbers):
        codes = forms.numbered(v.values)[0]
    elif isinstance(v, Truths):
        codes = v.values.astype(np.intp)
    elif isinstance(v, Instants | Durations) and v.nanos is None:
        codes = forms.numbered(v.micros)[0]
    else:
        return v.coded().by_level("places", _places, -1)
    null = v.null()
    return np.where(null, -1, codes) if null.any() else codes


def _places(levels: Levels) -> npt.NDArray[np.intp]:
    if levels.texts is not None:  # each of which equals the same text alone
        numbers = dict(zip(dict.fromkeys(levels.texts), range(len(levels)), strict=False))
        return np.fromiter(map(numbers.__getitem__, levels.texts), np.intp, len(levels))
    places: dict[Any, int] = {None: -1}
    keys = map(equality.key, levels.cells)
    found = (places.setdefault(key, len(places) - 1) for key in keys)
    return np.fromiter(found, dtype=np.intp, count=len(levels))
