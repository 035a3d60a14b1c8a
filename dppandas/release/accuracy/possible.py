"""Puts figures of several releases into a possible order: min ≤ quantiles ≤ max, the mean between
them, no deviation that is too wide for them, and no count below 0.

This is post-processing of released numbers by public bounds. First the figures move that lose
nothing by it: a min that moves down, or a max that moves up, stays within its error, because no
more values lie between it and the exact one than before (docs/proofs/order.md). Only if the bounds
stop that, a mean moves within its interval, or a deviation is cut, and its interval is widened to
include it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from ...dataclasses import dataclass, field
from ...rows.facts.bounds import Bounds
from ...statistics.layout import Interval
from ..answers.making import with_figures
from ..answers.records import Record
from . import expected

Rounding = Callable[[Fraction], int]
#: A release, and the position of one of its numbers.
Place = tuple[Any, int]


@dataclass
class Figures:
    """The released figures of one column in one cell, by name."""

    bounds: Bounds | None = None
    places: dict[str, Place] = field(default_factory=dict)
    quantiles: list[Place] = field(default_factory=list)


def in_order(
    records: Mapping[Any, Record], columns: Mapping[Any, Sequence[Any]]
) -> dict[Any, Record]:
    """The records of some releases, with numbers that are possible together, column by column and
    cell by cell. ``columns``: the columns of each release, by its name."""
    numbers = {name: record._values() for name, record in records.items()}
    rows: dict[Place, float] = {}
    intervals: dict[Any, Sequence[Interval]] = {}  # of a release, once they are needed
    for figures in _gathered(records, columns).values():
        _FigureOrder(figures, records, numbers, intervals).order()
        if "count" in figures.places:
            released = _at(numbers, figures.places["count"])
            rows.update(dict.fromkeys(figures.quantiles, released))
    return {
        name: with_figures(record, numbers[name], _rows(rows, name, len(numbers[name])))
        for name, record in records.items()
    }


def _rows(rows: Mapping[Place, float], name: Any, size: int) -> list[float] | None:
    known = [rows.get((name, i)) for i in range(size)]
    return None if None in known else [float(each or 0) for each in known]


def _at(numbers: Mapping[Any, Sequence[float]], place: Place) -> float:
    name, entry = place
    return numbers[name][entry]


def _gathered(
    records: Mapping[Any, Record], columns: Mapping[Any, Sequence[Any]]
) -> dict[tuple[Any, int], Figures]:
    """The figures of each column and cell."""
    found: dict[tuple[Any, int], Figures] = {}
    for name, record in records.items():
        statistic: Any = record._statistic
        # numbers lie in this order
        rows = product(range(len(statistic.cells)), statistic.figures(), enumerate(columns[name]))
        for entry, (cell, what, (position, column)) in enumerate(rows):
            figures = found.setdefault((column, cell), Figures())
            figures.places[what] = place = (name, entry)
            if what.startswith("quantile"):
                figures.quantiles.append(place)
            if hasattr(statistic, "bounds"):
                figures.bounds = statistic.bounds[position]
    return found


class _FigureOrder:
    """Moves the figures of one column in one cell."""

    def __init__(
        self,
        figures: Figures,
        records: Mapping[Any, Record],
        numbers: dict[Any, list[float]],
        known: dict[Any, Sequence[Interval]],
    ) -> None:
        self._figures, self._records, self._numbers = figures, records, numbers
        self._known = known

    def _get(self, what: str) -> float | None:
        place = self._figures.places.get(what)
        return None if place is None else _at(self._numbers, place)

    def _set(self, what: str, value: float, outward: Rounding = round) -> None:
        """Set a figure, on the public grid of its numbers and within the bounds of values."""
        if what not in self._figures.places:
            return
        name, entry = self._figures.places[what]
        statistic: Any = self._records[name]._statistic
        grid = statistic.grids[entry % len(statistic.operands)]
        step, anchor = Fraction(grid.step), grid.anchor
        is_spread = what in ("std", "var")
        if is_spread:
            step, anchor = step / 2**20, Fraction(0)
        there = float(outward((Fraction(value) - anchor) / step) * step + anchor)
        bounds = self._figures.bounds
        if bounds is not None and not is_spread:
            there = min(max(there, bounds.lower), bounds.upper)
        self._numbers[name][entry] = there

    def _interval(self, what: str) -> tuple[float, float]:
        name, entry = self._figures.places[what]
        if name not in self._known:
            self._known[name] = self._records[name]._intervals(expected.CONFIDENCE)
        return self._known[name][entry]

    def order(self) -> None:
        """Apply the order that the module's docstring describes."""
        if (self._get("count") or 0) < 0:
            name, entry = self._figures.places["count"]
            self._numbers[name][entry] = 0
        if self._figures.bounds is not None:
            self._hold(self._figures.bounds)
            self._spread(self._figures.bounds)

    def _hold(self, bounds: Bounds) -> None:
        """Move the ends so that the mean and all quantiles lie between them."""
        inner = [_at(self._numbers, place) for place in self._figures.quantiles]
        mean = self._get("mean")
        if mean is not None:
            if not bounds.lower <= mean <= bounds.upper:  # by less than a step
                self._set("mean", mean)
            inner.append(self._get("mean") or 0.0)
        self._reach(min(inner, default=bounds.upper), max(inner, default=bounds.lower))

    def _spread(self, bounds: Bounds) -> None:
        """Make room for the deviation between the ends, or cut it."""
        mean, width = self._get("mean"), self._width()
        if width is None:
            return
        if width > self._widest(bounds.lower, bounds.upper, mean):
            mean = self._drawn_in(bounds, mean, width)
        low, high = self._ends(bounds)
        if width > self._widest(low, high, mean):
            self._reach(*spread_ends(bounds, low, high, mean, (width / self._factor()) ** 2))
            low, high = self._ends(bounds)
        self._narrow(min(width, self._widest(low, high, mean)), width)

    def _width(self) -> float | None:
        """The deviation, released as std or as var."""
        std, var = self._get("std"), self._get("var")
        return std if std is not None else None if var is None else math.sqrt(var)

    def _factor(self) -> float:
        """√(n/(n - ddof)): how much wider the deviation of n values may be than that of many. If n
        is unknown, it is the fewest values that have a deviation."""
        place = self._figures.places.get("std") or self._figures.places["var"]
        ddof = self._records[place[0]]._statistic.ddof  # type: ignore[attr-defined]
        rows = max(self._get("count") or 0, ddof + 1)
        return math.sqrt(rows / (rows - ddof))

    def _widest(self, low: float, high: float, mean: float | None) -> float:
        """The widest deviation of values between two ends, for a given mean (Bhatia and Davis,
        2000) or for any mean (Popoviciu, 1935)."""
        if mean is None:
            return self._factor() * (high - low) / 2
        return self._factor() * math.sqrt(max(0.0, high - mean) * max(0.0, mean - low))

    def _ends(self, bounds: Bounds) -> tuple[float, float]:
        """The released min and max; a bound for one that wasn't released."""
        low, high = self._get("quantile min"), self._get("quantile max")
        return bounds.lower if low is None else low, bounds.upper if high is None else high

    def _reach(self, low: float, high: float) -> None:
        """Move the min down to ``low``, and the max up to ``high``, on their grid."""
        for what, value, outward, better in (
            ("quantile min", low, math.floor, min), ("quantile max", high, math.ceil, max),
        ):  # fmt: skip
            now = self._get(what)
            if now is not None and better(now, value) != now:
                self._set(what, value, outward)

    def _drawn_in(self, bounds: Bounds, mean: float | None, width: float) -> float | None:
        """Move a mean that is too near a bound for the deviation, within its interval."""
        if mean is None:
            return None
        half = (bounds.upper - bounds.lower) / 2
        middle = bounds.lower + half
        room = math.sqrt(max(0.0, half**2 - (width / self._factor()) ** 2))
        low, high = self._interval("mean")
        near = min(max(mean, middle - room), middle + room)
        self._set("mean", min(max(near, low), high))
        moved = self._get("mean") or 0.0
        self._reach(moved, moved)
        return moved

    def _narrow(self, width: float, before: float) -> None:
        """Cut the deviation, and set the variance to match."""
        both = {"std", "var"} <= self._figures.places.keys()
        if width < before:
            self._set("std", width, math.floor)
        if width < before or both:
            self._set("var", width**2, math.floor)


def spread_ends(
    bounds: Bounds, low: float, high: float, mean: float | None, product: float
) -> tuple[float, float]:
    """Ends moved outwards as little as possible, but not beyond the bounds, until the product of
    their distances to the mean is large enough. Without a mean, their middle counts instead."""
    if mean is None:
        missing = max(0.0, 2 * math.sqrt(product) - (high - low))
        low = max(bounds.lower, low - missing / 2)
        high = min(bounds.upper, max(high, low + 2 * math.sqrt(product)))
        return min(low, max(bounds.lower, high - 2 * math.sqrt(product))), high
    most_below, most_above = mean - bounds.lower, bounds.upper - mean
    below, above = mean - low, high - mean
    if below * above >= product:
        return low, high
    if most_below * most_above <= product:
        return bounds.lower, bounds.upper
    below = min(most_below, max(below, product / max(above, math.sqrt(product))))
    above = min(most_above, max(above, product / below))
    below = min(most_below, max(below, product / above))
    return mean - below, mean + above
