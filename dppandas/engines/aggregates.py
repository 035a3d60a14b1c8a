"""One row for each unit, made from that unit's rows alone, in whatever order they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .. import vectors
from ..domain import Unit
from ..rows import Expression
from . import contents

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


def per_unit(
    block: Any,
    unit: Unit,
    where: Expression | None,
    branches: int,
    asked: Mapping[Any, tuple[Expression | None, str]],
) -> pd.DataFrame:
    """The aggregates of each unit that has a row, under its name."""
    views = [replace(block, branch=branch) for branch in range(branches)]
    codes = contents.unit_codes(block, unit)
    kept = [codes >= 0 if where is None else (codes >= 0) & where.truth(v) for v in views]
    units = np.concatenate([codes[keep] for keep in kept])
    size = int(codes.max(initial=-1)) + 1  # of all units, also those without a row kept
    present = np.bincount(units, minlength=size) > 0
    # as objects: pandas would look at all names together for a type that holds them
    people = pd.Series(_names(block, unit, codes, size)[present], dtype=object)
    found: dict[Any, Any] = {unit.column: people}
    for name, (expression, how) in asked.items():
        if expression is None or how == "size":
            found[name] = np.bincount(units, minlength=size)[present].astype(np.float64)
            continue
        parts = [_values(expression, how, v)[k] for v, k in zip(views, kept, strict=True)]
        numbers = np.concatenate(parts)
        if how == "nunique":
            names = contents.codes_of(vectors.Vector(numbers))
            numbers = np.where(names < 0, np.nan, names)
        found[name] = _aggregate(units, numbers, how, size)[present]
    return pd.DataFrame(found)


def _names(block: Any, unit: Unit, codes: Starts, size: int) -> npt.NDArray[Any]:
    """A name for each unit: of equal ones any."""
    names = np.empty(size, dtype=object)
    known = codes >= 0
    names[codes[known]] = block.column(unit.column).objects()[known]
    return names


def _values(expression: Expression, how: str, view: Any) -> npt.NDArray[Any]:
    vector = expression.vector(view)
    if how in ("any", "all"):
        return np.where(vectors.is_null(vector), np.nan, expression.truth(view))
    if how == "count":
        return np.where(vectors.is_null(vector), np.nan, 1.0)
    if how == "nunique":
        return vector.objects()
    return vectors.as_numbers(vector) + 0.0


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
