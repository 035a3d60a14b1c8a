"""One row per unit, aggregated from that unit's rows alone, whatever their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..rows.expressions import Expression, samples
from ..rows.facts import kinds
from ..rows.facts.kinds import Kind
from ..rows.facts.units import Unit
from ..rows.values import hashing, vectors
from ..rows.values.equality import key
from ..rows.values.families import MISSING, order
from ..rows.values.forms import Levels, Numbers, Vector, joined
from .base import Need, PerUnitColumns
from .readers import ComputedColumns

Floats = npt.NDArray[np.float64]
Starts = npt.NDArray[np.intp]


def _median(numbers: Floats, starts: Starts, sizes: Starts) -> Floats:
    low, high = numbers[starts + (sizes - 1) // 2], numbers[starts + sizes // 2]
    return np.asarray(np.where(low == high, low, low / 2 + high / 2))  # low + high may overflow


def _number(numbers: Floats, starts: Starts, sizes: Starts) -> Floats:
    return sizes.astype(np.float64)


@dataclass(frozen=True)
class Aggregate:
    """How a unit's rows become one value.

    takes : the kinds of values that it is for.
    on_numbers : from numbers sorted within each unit, where each unit starts, and how many numbers
        it has. None where it chooses one of the unit's values as it is, or counts its rows.
    of_none : what pandas gives for no values at all.
    is_between : whether it lies between the values, and so within their bounds.
    """

    takes: frozenset[Kind] = kinds.ANY
    on_numbers: Callable[[Floats, Starts, Starts], Floats] | None = None
    of_none: float = math.nan
    is_between: bool = False
    chooses: bool = False
    is_truth: bool = False


AGGREGATES = {
    "sum": Aggregate(
        kinds.NUMBERS, lambda numbers, starts, sizes: np.add.reduceat(numbers, starts), of_none=0.0
    ),
    "mean": Aggregate(
        kinds.NUMBERS, lambda numbers, starts, sizes: np.add.reduceat(numbers, starts) / sizes,
        is_between=True,
    ),
    "median": Aggregate(kinds.NUMBERS, _median, is_between=True),
    "min": Aggregate(chooses=True),
    "max": Aggregate(chooses=True),
    "first": Aggregate(chooses=True),  # of the row with the least hash
    "count": Aggregate(kinds.ANY, _number, of_none=0.0),
    "nunique": Aggregate(kinds.LABELS, _number, of_none=0.0),
    "any": Aggregate(
        kinds.TRUTHS, lambda numbers, starts, sizes: np.maximum.reduceat(numbers, starts),
        of_none=0.0, is_truth=True,
    ),
    "all": Aggregate(
        kinds.TRUTHS, lambda numbers, starts, sizes: np.minimum.reduceat(numbers, starts),
        of_none=1.0, is_truth=True,
    ),
    "size": Aggregate(),
}  # fmt: skip


def needed(engine: Any, where: Expression | None, asked: PerUnitColumns) -> Need:
    """What `per_unit` reads; values are chosen by hashes of whole rows."""
    expressions = [where, *(expression for expression, _ in asked.values())]
    read = {engine.unit.column}.union(*(e.columns() for e in expressions if e is not None))
    chooses = any(AGGREGATES[how].chooses for _, how in asked.values())
    if chooses:
        read.update(engine.columns)
    return Need(frozenset(read), whole_units=True, keyed=chooses or bool(samples(where)))


def key_after(where: Expression | None, key: bytes) -> bytes:
    """The key of a table per unit: a sample of a sample chooses again."""
    times = samples(where)
    return bytes.fromhex(hashing.digest(f"{times} samples", key)) if times else key


def per_unit(
    block: Any, unit: Unit, where: Expression | None, branches: int, asked: PerUnitColumns
) -> ComputedColumns:
    """The name and the aggregates of each unit that has a row."""
    views = [replace(block, branch=branch) for branch in range(branches)]
    codes = vectors.codes_of(block.column(unit.column))
    kept = [codes >= 0 if where is None else (codes >= 0) & where.truth(v) for v in views]
    units = np.concatenate([codes[keep] for keep in kept])
    size = int(codes.max(initial=-1)) + 1  # of all units, even those without a kept row
    present = np.flatnonzero(np.bincount(units, minlength=size))
    found: dict[Any, Vector] = {unit.column: _names(block, unit, codes, size).take(present)}
    for name, (expression, how) in asked.items():
        if expression is None or how == "size":
            sizes = np.bincount(units, minlength=size).astype(np.float64)
            found[name] = Numbers(sizes[present])
        elif AGGREGATES[how].chooses:
            parts = [expression.vector(v).take(k) for v, k in zip(views, kept, strict=True)]
            hashes = np.concatenate([block.hashes[keep] for keep in kept])
            found[name] = _chosen(how, joined(parts), hashes, units, present)
        else:
            numbers = _values(expression, how, views, kept)
            found[name] = Numbers(_aggregate(units, numbers, how, size)[present])
    return ComputedColumns(found, len(present))


def _names(block: Any, unit: Unit, codes: Starts, size: int) -> Vector:
    """A name for each unit: of equal values, the one of least hash, whatever their order."""
    column: Vector = block.column(unit.column)
    hashes = hashing.of_elements(column, b"names")
    by = np.lexsort((hashes, codes))
    first = np.searchsorted(codes[by], np.arange(size))
    return column.take(by[first])


def _chosen(
    how: str, whole: Vector, hashes: hashing.Hashes, units: Starts, present: Starts
) -> Vector:
    """The chosen element of each unit; missing if all its elements are missing or opaque."""
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
    """The rank of each element in the order of cells: numbers, texts, times, then others."""
    if isinstance(v, Numbers):
        return np.unique(v.values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return v.coded().by_level("ranks", _level_ranks, -1)


def _level_ranks(levels: Levels) -> npt.NDArray[np.int64]:
    # cells that are equal but not identical, such as 1 and True, need an order, too
    keys = [(order(key(cell) or MISSING), order(cell)) for cell in levels.cells]
    places = {each: i for i, each in enumerate(sorted(set(keys)))}
    return np.array([places[each] for each in keys], dtype=np.int64)


def _values(expression: Expression, how: str, views: list[Any], kept: list[Any]) -> Floats:
    """The numbers of all kept rows; NaN where there is none."""
    parts = [expression.vector(v).take(k) for v, k in zip(views, kept, strict=True)]
    if how == "nunique":
        names = vectors.codes_of(joined(parts))
        return np.where(names < 0, np.nan, names)
    if how in ("any", "all", "count"):
        null = np.concatenate([part.null() for part in parts])
        if how == "count":
            return np.where(null, np.nan, 1.0)
        truths = [expression.truth(v)[k] for v, k in zip(views, kept, strict=True)]
        return np.where(null, np.nan, np.concatenate(truths))
    return np.concatenate([vectors.as_numbers(part) for part in parts]) + 0.0


def _aggregate(units: Starts, numbers: Floats, how: str, size: int) -> Floats:
    """Missing numbers are skipped; a unit with no others gets what pandas gives."""
    missing = np.isnan(numbers)
    units, numbers = units[~missing], numbers[~missing]
    aggregate = AGGREGATES[how]
    out = np.full(size, aggregate.of_none)
    order = np.lexsort((numbers, units))  # so that sums don't depend on the order of rows
    units, numbers = units[order], numbers[order]
    if how == "nunique":
        distinct = np.r_[True, (units[1:] != units[:-1]) | (numbers[1:] != numbers[:-1])]
        units, numbers = units[distinct[: len(units)]], numbers[distinct[: len(units)]]
    if not len(units) or aggregate.on_numbers is None:
        return out
    starts = np.flatnonzero(np.r_[True, units[1:] != units[:-1]])
    sizes = np.diff(np.r_[starts, len(units)])
    out[units[starts]] = aggregate.on_numbers(numbers, starts, sizes)
    return out
