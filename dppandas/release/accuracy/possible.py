"""Figures of several releases in an order that is possible: min ≤ quantiles ≤ max, the mean between
them, no deviation that is too wide for them, and no count below 0.

Post-processing of released numbers by public bounds. What moves first is what may move for
nothing: a smallest value moved down, or a largest moved up, stays within its error, for no more
values lie between it and the exact one than before (docs/proofs/order.md). Only where the
bounds stop that, a mean is moved within its interval, or a deviation is cut, and its interval
widened to hold it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ...rows.facts.bounds import Bounds
from ...statistics import Count, Mean, Moments, Quantiles, Statistic, Variance
from ...statistics.layout import Interval
from ..answers.records import Record, with_figures
from . import expected

Rounding = Callable[[Fraction], int]
#: Which number of which release.
Place = tuple[Any, int]
#: A released number: what it is called, the column asked, the cell, and its place.
Found = tuple[str, Any, int, Place]


@dataclass
class Figures:
    """What was released of one column in one cell, by what it is."""

    bounds: Bounds | None = None
    places: dict[str, Place] = field(default_factory=dict)
    quantiles: list[Place] = field(default_factory=list)


def in_order(
    records: Mapping[Any, Record], columns: Mapping[Any, Sequence[Any]]
) -> dict[Any, Record]:
    """The records of some releases, with numbers that are possible together, column by column and
    cell by cell. ``columns``: those that each was asked of, by the name of the release."""
    numbers = {name: record._values() for name, record in records.items()}
    rows: dict[Place, float] = {}
    intervals: dict[Any, list[Interval]] = {}  # of releases, where they are asked for
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
    found: dict[tuple[Any, int], Figures] = {}
    for name, record in records.items():
        for what, column, cell, place in _found(name, record._statistic, columns[name]):
            figures = found.setdefault((column, cell), Figures())
            if what.startswith("quantile"):
                figures.quantiles.append(place)
            figures.places[what] = place
            if not isinstance(record._statistic, Count):
                bounds: Sequence[Bounds] = record._statistic.bounds  # type: ignore[attr-defined]
                figures.bounds = bounds[list(columns[name]).index(column)]
    return found


def _found(name: Any, statistic: Statistic, columns: Sequence[Any]) -> Iterator[Found]:
    """All numbers of a release that have to do with the order of others."""
    called = _called(statistic)
    for entry in range(len(columns) * len(called) * len(statistic.cells)):
        row, column = divmod(entry, len(columns))
        cell, what = divmod(row, len(called) or 1)
        yield called[what], columns[column], cell, (name, entry)


def _called(statistic: Statistic) -> list[str]:
    """What the numbers of a column in a cell are, one after another."""
    if type(statistic) is Moments:
        return ["count", "mean", "std"]
    if type(statistic) is Variance:
        return ["std" if statistic.root else "var"]
    if type(statistic) is Mean:
        return ["mean"]
    if type(statistic) is Count and not statistic.share_of:
        return ["count"]
    if isinstance(statistic, Quantiles) and not statistic.experimental:
        return [_END.get(share, f"quantile {share}") for share in statistic.quantiles]
    return []


_END = {Fraction(0): "quantile min", Fraction(1): "quantile max"}


class _FigureOrder:
    """Moves the figures of one column in one cell."""

    def __init__(
        self,
        figures: Figures,
        records: Mapping[Any, Record],
        numbers: dict[Any, list[float]],
        known: dict[Any, list[Interval]],
    ) -> None:
        self._figures, self._records, self._numbers = figures, records, numbers
        self._known = known

    def _get(self, what: str) -> float | None:
        place = self._figures.places.get(what)
        return None if place is None else _at(self._numbers, place)

    def _set(self, what: str, value: float, outward: Rounding = round) -> None:
        """On the public grid of such numbers, and within the bounds of values."""
        if what not in self._figures.places:
            return
        name, entry = self._figures.places[what]
        statistic: Any = self._records[name]._statistic
        step = Fraction(statistic.grids[entry % len(statistic.operands)].step)
        is_spread = what in ("std", "var")
        if is_spread:
            step /= 2**20
        there = float(outward(Fraction(value) / step) * step)
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
        """The mean and all quantiles between the ends, as these are between the bounds."""
        inner = [_at(self._numbers, place) for place in self._figures.quantiles]
        mean = self._get("mean")
        if mean is not None:
            if not bounds.lower <= mean <= bounds.upper:  # by a part of a step
                self._set("mean", mean)
            inner.append(self._get("mean") or 0.0)
        self._reach(min(inner, default=bounds.upper), max(inner, default=bounds.lower))

    def _spread(self, bounds: Bounds) -> None:
        """No deviation that is too wide for the ends and the mean."""
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
        """The deviation, whatever it was asked as."""
        std, var = self._get("std"), self._get("var")
        return std if std is not None else None if var is None else math.sqrt(var)

    def _factor(self) -> float:
        """√(n/(n - ddof)): how much wider a deviation of n values may be than that of many; of as
        few as it can be taken of, where nobody knows how many there are."""
        place = self._figures.places.get("std") or self._figures.places["var"]
        ddof = self._records[place[0]]._statistic.ddof  # type: ignore[attr-defined]
        rows = max(self._get("count") or 0, ddof + 1)
        return math.sqrt(rows / (rows - ddof))

    def _widest(self, low: float, high: float, mean: float | None) -> float:
        """The widest deviation of values between two ends, with this mean (Bhatia and Davis, 2000),
        or with any (Popoviciu, 1935)."""
        if mean is None:
            return self._factor() * (high - low) / 2
        return self._factor() * math.sqrt(max(0.0, high - mean) * max(0.0, mean - low))

    def _ends(self, bounds: Bounds) -> tuple[float, float]:
        """The smallest and largest value as told; the bounds where none is."""
        low, high = self._get("quantile min"), self._get("quantile max")
        return bounds.lower if low is None else low, bounds.upper if high is None else high

    def _reach(self, low: float, high: float) -> None:
        """Move the smallest value down to one, and the largest up to the other, on their grid."""
        for what, value, outward, better in (
            ("quantile min", low, math.floor, min), ("quantile max", high, math.ceil, max),
        ):  # fmt: skip
            now = self._get(what)
            if now is not None and better(now, value) != now:
                self._set(what, value, outward)

    def _drawn_in(self, bounds: Bounds, mean: float | None, width: float) -> float | None:
        """A mean too near to a bound for a deviation, moved away from it within its interval."""
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
        """Cut the deviation, and tell the variance that goes with it."""
        both = {"std", "var"} <= self._figures.places.keys()
        if width < before:
            self._set("std", width, math.floor)
        if width < before or both:
            self._set("var", width**2, math.floor)


def spread_ends(
    bounds: Bounds, low: float, high: float, mean: float | None, product: float
) -> tuple[float, float]:
    """Ends further out, as little as makes the product of their distances to the mean so large, or
    to their middle where none is known; at most the bounds."""
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
