"""One row for each unit, made from that unit's rows alone, in whatever order they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..rows.expressions import Expression
from ..rows.facts.units import Unit
from ..rows.values import hashing, vectors
from ..rows.values.equality import key
from ..rows.values.families import MISSING, order
from ..rows.values.forms import Levels, Numbers, Vector, joined
from . import truncation
from .readers import ComputedColumns

Floats = npt.NDArray[np.float64]
Starts = npt.NDArray[np.intp]


def _reduced(function: Any) -> Callable[[Floats, Starts, Starts], Floats]:
    return lambda numbers, starts, sizes: np.asarray(function.reduceat(numbers, starts))


def _mean(numbers: Floats, starts: Starts, sizes: Starts) -> Floats:
    return np.asarray(np.add.reduceat(numbers, starts) / sizes)


def _median(numbers: Floats, starts: Starts, sizes: Starts) -> Floats:
    low, high = numbers[starts + (sizes - 1) // 2], numbers[starts + sizes // 2]
    # not (low + high) / 2, which may overflow
    return np.asarray(np.where(low == high, low, low / 2 + high / 2))


#: From numbers sorted within each unit, where units start and how many numbers they have.
ON_NUMBERS: dict[str, Callable[[Floats, Starts, Starts], Floats]] = {
    "sum": _reduced(np.add),
    "min": _reduced(np.minimum),
    "max": _reduced(np.maximum),
    "mean": _mean,
    "median": _median,
}

#: What pandas gives for no values at all.
_OF_NONE = {"sum": 0.0, "count": 0.0, "nunique": 0.0, "any": 0.0, "all": 1.0}

#: What is one of the unit's values, as it is: the least, the largest, that of the least row hash.
CHOSEN = ("min", "max", "first")


def per_unit(
    block: Any,
    unit: Unit,
    where: Expression | None,
    branches: int,
    asked: Mapping[Any, tuple[Expression | None, str]],
) -> ComputedColumns:
    """The aggregates of each unit that has a row, under its name."""
    views = [replace(block, branch=branch) for branch in range(branches)]
    codes = truncation.unit_codes(block, unit)
    kept = [codes >= 0 if where is None else (codes >= 0) & where.truth(v) for v in views]
    units = np.concatenate([codes[keep] for keep in kept])
    size = int(codes.max(initial=-1)) + 1  # of all units, also those without a row kept
    present = np.flatnonzero(np.bincount(units, minlength=size))
    found: dict[Any, Vector] = {unit.column: _names(block, unit, codes, size).take(present)}
    for name, (expression, how) in asked.items():
        if expression is None or how == "size":
            sizes = np.bincount(units, minlength=size).astype(np.float64)
            found[name] = Numbers(sizes[present])
        elif how in CHOSEN:
            parts = [expression.vector(v).take(k) for v, k in zip(views, kept, strict=True)]
            hashes = np.concatenate([block.hashes[keep] for keep in kept])
            found[name] = _chosen(how, joined(parts), hashes, units, present)
        else:
            numbers = _values(expression, how, views, kept)
            found[name] = Numbers(_aggregate(units, numbers, how, size)[present])
    return ComputedColumns(found, len(present))


def _names(block: Any, unit: Unit, codes: Starts, size: int) -> Vector:
    """A name for each unit: of equal ones that of the least hash, whatever their order."""
    column = block.column(unit.column)
    hashes = hashing.of_elements(column, b"names")
    by = np.lexsort((hashes, codes))
    first = np.searchsorted(codes[by], np.arange(size))
    named: Vector = column.take(by[first])
    return named


def _chosen(
    how: str, whole: Vector, hashes: hashing.Hashes, units: Starts, present: Starts
) -> Vector:
    """For each unit the element that is asked for; missing where it has none that is known."""
    there = np.flatnonzero(vectors.codes_of(whole) >= 0)
    ranks = _ranks(whole.take(there))
    if how == "max":
        ranks = -ranks
    first_by = hashes[there] if how == "first" else ranks
    there = there[np.lexsort((ranks, first_by, units[there]))]
    first = np.searchsorted(units[there], present)
    places = np.append(there, 0)[first]
    return whole.take(places).without(np.append(units[there], -1)[first] != present)


def _ranks(v: Vector) -> npt.NDArray[np.int64]:
    """The place of each element in the order of cells: numbers, texts, times, and the rest."""
    if isinstance(v, Numbers):
        return np.unique(v.values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return v.coded().by_level("ranks", _level_ranks, -1)


def _level_ranks(levels: Levels) -> npt.NDArray[np.int64]:
    # those that are equal and not identical, such as 1 and True, in an order of their own
    keys = [(order(key(cell) or MISSING), order(cell)) for cell in levels.cells]
    places = {each: i for i, each in enumerate(sorted(set(keys)))}
    return np.array([places[each] for each in keys], dtype=np.int64)


def _values(expression: Expression, how: str, views: list[Any], kept: list[Any]) -> Floats:
    """The numbers of all rows that count; NaN for those without."""
    parts = [expression.vector(v).take(k) for v, k in zip(views, kept, strict=True)]
    if how == "nunique":
        names = vectors.codes_of(joined(parts))
        return np.where(names < 0, np.nan, names)
    if how in ("any", "all"):
        truths = [expression.truth(v)[k] for v, k in zip(views, kept, strict=True)]
        null = np.concatenate([part.null() for part in parts])
        return np.where(null, np.nan, np.concatenate(truths))
    if how == "count":
        return np.where(np.concatenate([part.null() for part in parts]), np.nan, 1.0)
    return np.concatenate([vectors.as_numbers(part) for part in parts]) + 0.0


def _aggregate(units: Starts, numbers: Floats, how: str, size: int) -> Floats:
    """Missing numbers count for nothing; a unit without others gets what pandas gives it."""
    missing = np.isnan(numbers)
    units, numbers = units[~missing], numbers[~missing]
    out = np.full(size, _OF_NONE.get(how, np.nan))
    order = np.lexsort((numbers, units))  # sorted, so that a sum doesn't depend on the order
    units, numbers = units[order], numbers[order]
    if how == "nunique":
        distinct = np.r_[True, (units[1:] != units[:-1]) | (numbers[1:] != numbers[:-1])]
        units, numbers = units[distinct[: len(units)]], numbers[distinct[: len(units)]]
    if not len(units):
        return out
    starts = np.flatnonzero(np.r_[True, units[1:] != units[:-1]])
    sizes = np.diff(np.r_[starts, len(units)])
    if how in ("count", "nunique"):
        found = sizes.astype(np.float64)
    else:
        found = ON_NUMBERS[{"any": "max", "all": "min"}.get(how, how)](numbers, starts, sizes)
    out[units[starts]] = found
    return out
