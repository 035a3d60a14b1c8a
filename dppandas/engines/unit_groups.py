"""Rows of units in groups: one value for each group, or one for each row, from that unit's alone.

Nothing here depends on the order of rows, on other units, or on dtypes that rows decide. Rows that
tie are ordered by a keyed hash of what they hold; if they hold the same, they are interchangeable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass, replace
from ..rows.expressions import AGGREGATES, Expression, OwnRows
from ..rows.values import hashing, orders, vectors
from ..rows.values.equality import key
from ..rows.values.families import MISSING, order
from ..rows.values.forms import (
    Coded,
    Durations,
    Instants,
    Levels,
    Numbers,
    Truths,
    Vector,
    joined,
    numbered,
)
from . import exact_sums
from .blocks import Block

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass
class UnitGroups:
    """The groups of a table's rows, all of which are in one block.

    A row that becomes several, one in each branch, has as many places here: place
    ``branch * rows + row``.
    """

    block: Block
    rows: OwnRows

    @cached_property
    def views(self) -> list[Block]:
        return [replace(self.block, branch=branch) for branch in range(self.rows.branches)]

    def vector(self, expression: Expression) -> Vector:
        """The values of an expression at all places."""
        return joined([expression.vector(view) for view in self.views])

    @cached_property
    def units(self) -> Codes:
        """The unit at each place, as a number; -1 for none."""
        codes = vectors.codes_of(self.block.column(self.rows.unit))
        return np.tile(codes, self.rows.branches) if self.rows.branches > 1 else codes

    @cached_property
    def codes(self) -> Codes:
        """The group at each place, as a number; -1 for none."""
        codes = self.units
        for by in self.rows.by:
            labels = vectors.codes_of(self.vector(by))
            most = int(labels.max(initial=0)) + 1
            pairs = np.where((codes < 0) | (labels < 0), -1, codes * most + labels)
            codes = _renumbered(pairs)
        return codes

    @cached_property
    def number(self) -> int:
        """How many groups there are, even those without a row that passes the filter."""
        return int(self.codes.max(initial=-1)) + 1

    @cached_property
    def kept(self) -> Codes:
        """The places of the rows that pass the filter and are in a group."""
        there, where = self.codes >= 0, self.rows.where
        if where is not None:
            there &= np.concatenate([where.truth(view) for view in self.views])
        return np.flatnonzero(there)

    @cached_property
    def groups(self) -> Codes:
        """The group of each row that counts."""
        return self.codes if len(self.kept) == len(self.codes) else self.codes[self.kept]

    def counting(self, expression: Expression) -> Vector:
        """The values of an expression in the rows that count."""
        whole = self.vector(expression)
        return whole if len(self.kept) == len(self.codes) else whole.take(self.kept)

    @cached_property
    def counts(self) -> Codes:
        """How many rows each group has."""
        return np.bincount(self.groups, minlength=self.number)

    @cached_property
    def present(self) -> Codes:
        """The groups that have a row."""
        return np.flatnonzero(self.counts)

    @cached_property
    def ordered(self) -> Codes:
        """The places of the rows that count, group by group, in the order of each."""
        arrays: list[npt.NDArray[Any]] = []
        for by, falls in zip(self.rows.order, self.rows.falling, strict=True):
            arrays += _sort_arrays(self.counting(by), falls)
        rows = orders.in_groups(self.groups, arrays)
        ties = orders.runs(rows, [self.groups, *arrays])
        decides = (partial(self._hashes, equal=True), partial(self._hashes, equal=False))
        return self.kept[orders.without_ties(rows, ties, [*decides, self._source_places])]

    def _hashes(self, at: Codes, equal: bool) -> hashing.Hashes:
        """Keyed hashes of some whole rows that count: equal for equal rows, or for identical."""
        table, rows, back = self.block.table, self.kept[at] % self.block.rows, None
        if self.rows.branches > 1:
            rows, back = np.unique(rows, return_inverse=True)
        columns = ((name, table.column(name).take(rows)) for name in table.names)
        found = hashing.of_rows(columns, len(rows), table.key, equal)
        return found if back is None else found[back.reshape(-1)]

    def _source_places(self, at: Codes) -> Codes:
        """Where rows that count are in the source, each with its branches in their order."""
        branches, rows = np.divmod(self.kept[at], self.block.rows)
        return rows * self.rows.branches + branches

    def labels(self) -> list[Vector]:
        """The unit and the other labels of each group that has a row."""
        units = self.units[: self.block.rows]
        number = int(units.max(initial=-1)) + 1
        names = _names(self.block.column(self.rows.unit), units, np.arange(number))
        groups, unit_of = self.groups, np.zeros(self.number, dtype=np.intp)
        unit_of[groups] = self.units[self.kept]
        found = [names.take(unit_of[self.present])]
        for by in self.rows.by:
            found.append(_names(self.counting(by), groups, self.present))
        return found

    # --- one value for each group -----------------------------------------------------------------

    def aggregate(self, how: str, expression: Expression | None) -> Vector:
        """One value for each group: what pandas gives, from all its rows that pass the filter."""
        if expression is None or how == "size":
            return Numbers(self.counts.astype(np.float64))
        if AGGREGATES[how].chooses:
            return self._chosen(how, expression)
        numbers = _values(self.counting(expression), how)
        return Numbers(_aggregate(self.groups, numbers, how, self.number))

    def _chosen(self, how: str, expression: Expression) -> Vector:
        """The chosen element of each group; missing if all its elements are missing or opaque."""
        is_ordered = how in ("first", "last") and bool(self.rows.order)
        places = self.ordered if is_ordered else self.kept
        whole = self.vector(expression).take(places) if is_ordered else self.counting(expression)
        there = np.flatnonzero(_is_there(whole))
        groups = self.codes[places[there]]
        if how == "first" and is_ordered:
            there, groups = there[::-1], groups[::-1]
        elif not is_ordered:
            if how == "first":  # the row with the least hash
                hashes = self.block.hashes[places[there] % self.block.rows]
                is_least = _is_extreme(groups, hashes, self.number, largest=False)
                there, groups = there[is_least], groups[is_least]
            ranks = _ranks(whole.take(there))
            is_it = _is_extreme(groups, ranks, self.number, largest=how == "max")
            there, groups = there[is_it], groups[is_it]
        chosen = np.full(self.number, -1, dtype=np.intp)
        chosen[groups] = there  # the last of each group is written last
        if not len(whole):
            return Numbers(np.full(self.number, np.nan))
        return whole.take(np.maximum(chosen, 0)).without(chosen < 0)

    # --- one value for each row -------------------------------------------------------------------

    def broadcast(self, values: Vector) -> Vector:
        """The value of its group at each place; missing where the group has no row."""
        if not self.number:
            return Numbers(np.full(len(self.codes), np.nan))
        if len(self.present) < self.number:
            values = values.without(self.counts == 0)
        none = self.codes < 0
        if not none.any():
            return values.take(self.codes)
        return values.take(np.maximum(self.codes, 0)).without(none)

    @cached_property
    def starts(self) -> Codes:
        """Where groups begin among the ordered places."""
        return orders.starts(self.codes[self.ordered])

    @cached_property
    def sizes(self) -> Codes:
        return orders.sizes(self.starts, len(self.ordered))

    def _spread(self, values: Codes) -> Codes:
        """A number of each group, at each of its ordered places."""
        return np.repeat(values, self.sizes)

    @cached_property
    def _rank(self) -> Codes:
        """The position of each ordered place in its group."""
        return orders.places(self.codes[self.ordered])

    def _at_places(self, ordered: Floats) -> Vector:
        """Numbers of the ordered places, at all places."""
        found = np.full(len(self.codes), np.nan)
        found[self.ordered] = ordered
        return Numbers(found)

    def _picked(self, whole: Vector, source: Codes) -> Vector:
        """For each ordered place the element at another ordered place, -1 for none."""
        at = np.full(len(self.codes), -1, dtype=np.intp)
        at[self.ordered] = np.where(source < 0, -1, self.ordered[source]) if len(source) else source
        return whole.take(np.maximum(at, 0)).without(at < 0)

    def row_by_row(self, how: str, expression: Expression | None, **options: Any) -> Vector:
        """A value at each place, missing where the row doesn't count."""
        if expression is None:
            return self._at_places(self._counted(**options))
        whole = self.vector(expression)
        return _ROW_BY_ROW[how](self, whole, **options)

    def _counted(self, ascending: bool = True) -> Floats:
        numbers = self._rank if ascending else self._spread(self.sizes) - 1 - self._rank
        return numbers.astype(np.float64)

    def _shifted(self, whole: Vector, periods: int = 1) -> Vector:
        at = np.arange(len(self.ordered)) - periods
        rank = self._rank - periods
        return self._picked(
            whole, np.where((rank < 0) | (rank >= self._spread(self.sizes)), -1, at)
        )

    def _filled(self, whole: Vector, backward: bool, limit: int | None = None) -> Vector:
        """The nearest value before, or after, of the same group."""
        there = ~whole.take(self.ordered).null()
        at = np.arange(len(self.ordered))
        if backward:
            last = np.minimum.accumulate(np.where(there, at, len(at))[::-1])[::-1]
            near = last < self._spread(self.starts + self.sizes)
        else:
            last = np.maximum.accumulate(np.where(there, at, -1))
            near = last >= self._spread(self.starts)
        if limit is not None:
            near &= np.abs(at - last) <= limit
        return self._picked(whole, np.where(near, last, -1))

    def _extremes(self, whole: Vector, largest: bool) -> Vector:
        """The largest or smallest value so far; missing where the value is, as in pandas."""
        ordered = whole.take(self.ordered)
        there = _is_there(ordered)
        ranks = np.full(len(self.ordered), -1, dtype=np.int64)
        _, found = np.unique(_ranks_of_values(ordered.take(there)), return_inverse=True)
        ranks[there] = found.reshape(-1)
        most = int(ranks.max(initial=0)) + 1
        ranks = np.where(there & (not largest), most - 1 - ranks, ranks)
        base = self._spread(np.arange(len(self.starts)) * (most + 1))
        highest = np.maximum.accumulate(base + ranks + 1) - base - 1
        # the first place that has this rank in the group
        is_new = there & (highest == ranks) & (orders.places(highest + base) == 0)
        at = np.maximum.accumulate(np.where(is_new, np.arange(len(base)), -1))
        return self._picked(whole, np.where(there, at, -1))

    def _summed(self, whole: Vector) -> Vector:
        """Sums so far, each group from its own numbers alone: of floats even the last digit."""
        numbers = vectors.as_numbers(whole.take(self.ordered)) + 0.0
        missing = np.isnan(numbers)
        sums = cumulated(np.where(missing, 0.0, numbers), self.starts, self.sizes)
        return self._at_places(np.where(missing, np.nan, sums))

    def _ranked(
        self, whole: Vector, method: str = "average", ascending: bool = True,
        na_option: str = "keep", pct: bool = False,
    ) -> Vector:  # fmt: skip
        """The rank of each value in its group, as pandas has it."""
        places = self.ordered if self.rows.order else self.kept
        values = whole.take(places)
        there = _is_there(values)
        at = np.arange(len(places)) if na_option != "keep" else np.flatnonzero(there)
        ranks = _ranks_of_values(values)
        arrays = [np.where(there, ranks if ascending else _reversed(ranks), 0)[at]]
        if na_option != "keep":  # those that are missing together, before the others or after them
            arrays.insert(0, there[at] if na_option == "top" else ~there[at])
        groups = self.codes[places[at]]
        if method == "first":  # where values tie, the order of the rows stays
            arrays.append(at)
        by = orders.in_groups(groups, arrays)
        run = orders.runs(by, [groups, *arrays[: 1 + (na_option != "keep")]])
        found = np.full(len(self.codes), np.nan)
        found[places[at[by]]] = _ranks_of_sorted(groups[by], run, method, pct)
        return Numbers(found)


_ROW_BY_ROW: dict[str, Callable[..., Vector]] = {
    "shift": UnitGroups._shifted,
    "ffill": partial(UnitGroups._filled, backward=False),
    "bfill": partial(UnitGroups._filled, backward=True),
    "cumsum": UnitGroups._summed,
    "cummax": partial(UnitGroups._extremes, largest=True),
    "cummin": partial(UnitGroups._extremes, largest=False),
    "rank": UnitGroups._ranked,
}


def _names(column: Vector, codes: Codes, wanted: Codes) -> Vector:
    """For each code that is wanted one of its elements: of equal ones, the one of least hash."""
    by = np.lexsort((hashing.of_elements(column, b"names"), codes))
    return column.take(by[np.searchsorted(codes[by], wanted)])


def _renumbered(pairs: Codes) -> Codes:
    """Numbers from 0 for those that aren't negative."""
    there = pairs >= 0
    found = np.full(len(pairs), -1, dtype=np.intp)
    found[there] = numbered(pairs[there])[0]
    return found


def _is_there(v: Vector) -> Mask:
    """Which elements equal something."""
    return vectors.codes_of(v) >= 0 if isinstance(v, Coded) else ~v.null()


def _sort_arrays(v: Vector, falls: bool) -> list[npt.NDArray[Any]]:
    """Arrays that sort elements, the first of which counts most; missing ones are last."""
    if isinstance(v, Instants | Durations):
        arrays: list[npt.NDArray[Any]] = [v.micros] if v.nanos is None else [v.micros, v.nanos]
    else:
        arrays = [_ranks_of_values(v)]
    if falls:
        arrays = list(map(_reversed, arrays))
    null = ~_is_there(v)
    if not null.any():
        return arrays
    return [null, *(np.where(null, 0, array) for array in arrays)]


def _reversed(ranks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers that sort the other way; that of -2^63 has no negative."""
    return ~ranks if ranks.dtype.kind == "i" else -ranks


def _plain(v: Vector) -> npt.NDArray[Any] | None:
    """Numbers that sort elements, and are equal where these are, if the form has them."""
    if isinstance(v, Numbers):
        return v.values + 0  # no -0.0
    if isinstance(v, Truths):
        return v.values.astype(np.int64)
    if isinstance(v, Instants | Durations):  # of one zone: equal ones are identical
        return v.micros if v.nanos is None else _ranks_of_counts(v.micros, v.nanos)
    return None


def _ranks_of_counts(micros: npt.NDArray[Any], beyond: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Ranks of microseconds, and of nanoseconds beyond them."""
    by = np.lexsort((beyond, micros))
    found = np.empty(len(by), dtype=np.int64)
    found[by] = orders.runs(by, [micros, beyond])
    return found


def _ranks(v: Vector) -> npt.NDArray[Any]:
    """Numbers that sort elements as cells: numbers, texts, times, then others."""
    plain = _plain(v)
    return v.coded().by_level("ranks", _level_ranks, -1) if plain is None else plain


def _ranks_of_values(v: Vector) -> npt.NDArray[Any]:
    """As `_ranks`, but equal cells rank alike."""
    plain = _plain(v)
    return v.coded().by_level("value ranks", _value_ranks, -1) if plain is None else plain


def _is_extreme(groups: Codes, ranks: npt.NDArray[Any], size: int, largest: bool) -> Mask:
    """Which elements are the largest, or smallest, of their group. None of them is NaN."""
    real = ranks.dtype.kind == "f"
    ends = (-np.inf, np.inf) if real else (np.iinfo(ranks.dtype).min, np.iinfo(ranks.dtype).max)
    best = np.full(size, ends[0] if largest else ends[1], dtype=ranks.dtype)
    (np.maximum if largest else np.minimum).at(best, groups, ranks)
    return np.asarray(best[groups] == ranks)


def _value_ranks(levels: Levels) -> npt.NDArray[np.int64]:
    keys = [order(key(cell) or MISSING) for cell in levels.cells]
    places = {each: i for i, each in enumerate(sorted(set(keys)))}
    return np.array([places[each] for each in keys], dtype=np.int64)


def _level_ranks(levels: Levels) -> npt.NDArray[np.int64]:
    # cells that are equal but not identical, such as 1 and True, need an order, too
    keys = [(order(key(cell) or MISSING), order(cell)) for cell in levels.cells]
    places = {each: i for i, each in enumerate(sorted(set(keys)))}
    return np.array([places[each] for each in keys], dtype=np.int64)


def _values(v: Vector, how: str) -> Floats:
    """The numbers that are aggregated; NaN where there is none."""
    if how == "nunique":
        names = vectors.codes_of(v)
        return np.where(names < 0, np.nan, names)
    if how in ("any", "all", "count"):
        null = v.null()
        if how == "count":
            return np.where(null, np.nan, 1.0)
        return np.where(null, np.nan, vectors.compare_scalar("==", v, True))
    return vectors.as_numbers(v) + 0.0


def _median(numbers: Floats, starts: Codes, sizes: Codes) -> Floats:
    low, high = numbers[starts + (sizes - 1) // 2], numbers[starts + sizes // 2]
    return np.asarray(np.where(low == high, low, low / 2 + high / 2))  # low + high may overflow


def _aggregate(groups: Codes, numbers: Floats, how: str, size: int) -> Floats:
    """Missing numbers are skipped; a group with no others gets what pandas gives. No figure depends
    on the order of the numbers."""
    missing = np.isnan(numbers)
    if missing.any():
        groups, numbers = groups[~missing], numbers[~missing]
    if how == "nunique":
        names = numbers.astype(np.intp)
        by = orders.by_codes(names)
        by = by[orders.by_codes(groups[by])]
        groups = groups[by[orders.starts(orders.runs(by, [groups, names]))]]
    counts = np.bincount(groups, minlength=size)
    if how in ("count", "nunique"):
        return counts.astype(np.float64)
    if how == "median":
        by = orders.in_groups(groups, [numbers])
        found = np.full(size, np.nan)
        first = np.cumsum(counts) - counts
        found[counts > 0] = _median(numbers[by], first[counts > 0], counts[counts > 0])
        return found
    total = exact_sums.sums(groups, numbers, size)
    if how == "mean":
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
    if how == "any":
        return (total > 0).astype(np.float64)
    return (total == counts).astype(np.float64) if how == "all" else total


#: Groups up to this size are added up side by side, larger ones each by itself.
_SIDE_BY_SIDE = 256


def cumulated(numbers: Floats, starts: Codes, sizes: Codes) -> Floats:
    """Sums so far in each group, one number after the other, so that no group's sum is rounded
    with another's."""
    out = np.array(numbers)
    for group in np.flatnonzero(sizes > _SIDE_BY_SIDE).tolist():
        part = slice(starts[group], starts[group] + sizes[group])
        out[part] = np.cumsum(numbers[part])
    small = np.flatnonzero(sizes <= _SIDE_BY_SIDE)
    small = small[np.argsort(-sizes[small], kind="stable")]
    at, left = starts[small], sizes[small]
    for step in range(1, int(left.max(initial=0))):
        longer = int(np.searchsorted(-left, -step))  # the groups with more than so many numbers
        here = at[:longer] + step
        out[here] += out[here - 1]
    return out


def _ranks_of_sorted(groups: Codes, runs: Codes, method: str, pct: bool) -> Floats:
    """The ranks of values that are sorted in groups, as pandas counts them; equal ones of a group
    are one run."""
    begins = [orders.starts(each) for each in (groups, runs)]
    in_groups, in_runs = (orders.sizes(each, len(groups)) for each in begins)
    first, place = orders.places(groups) + 1.0, orders.places(runs)
    low = first - place
    high = low + np.repeat(in_runs, in_runs) - 1
    new = np.cumsum(place == 0)
    dense = new - np.repeat(new[begins[0]], in_groups) + 1.0
    found = {"average": (low + high) / 2, "min": low, "max": high, "first": first,
             "dense": dense}[method]  # fmt: skip
    if not pct:
        return np.asarray(found)
    most = (dense if method == "dense" else first)[begins[0] + in_groups - 1]
    return np.asarray(found / np.repeat(most, in_groups))
