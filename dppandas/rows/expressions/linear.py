"""Several numbers of a row in one value: a weighted sum, a figure of them, or the label of the
extreme one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..facts import kinds
from ..facts.bounds import Bounds, finite
from ..facts.domain import Declaration
from ..facts.keys import Keys, some_names
from ..facts.kinds import Schema
from ..figures import short
from ..values import vectors
from ..values.forms import Numbers, Vector
from .base import Chunk, Domain, Expression, Labelled, Needs, Remembered

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Dot(Remembered):
    """A constant plus a weighted sum, added from left to right; missing if any number is.

    Not a matrix product: its order of addition may depend on an element's place.
    """

    operands: tuple[Expression, ...]
    weights: tuple[float, ...]
    constant: float = 0.0

    takes = kinds.NUMBERS
    makes = kinds.NUMBER

    def _made(self, chunk: Chunk) -> Vector:
        total = np.full(chunk.rows, self.constant)
        with np.errstate(all="ignore"):
            for weight, operand in zip(self.weights, self.operands, strict=True):
                total = total + weight * (vectors.as_numbers(operand.vector(chunk)) + 0.0)
        return Numbers(total)

    def _declared(self, domain: Domain) -> Declaration | None:
        """By interval arithmetic in the same order: rounding to the nearest keeps order."""
        low = high = self.constant
        for weight, operand in zip(self.weights, self.operands, strict=True):
            bounds = operand.bounds(domain)
            if bounds is None:
                return None
            ends = (weight * bounds.lower, weight * bounds.upper)
            low, high = low + min(ends), high + max(ends)
        return finite(low, high)

    def __str__(self) -> str:
        terms = [f"{short(w)} {o}" for w, o in zip(self.weights[:8], self.operands, strict=False)]
        terms += ["…"] if len(self.weights) > 8 else []
        terms += [short(self.constant)] if self.constant else []
        return f"dot({' + '.join(terms)})"


@dataclass(frozen=True)
class Extreme(Labelled):
    """The label of the least (or largest) of several numbers, the first if several are equal.
    Missing numbers are skipped; if all are missing, so is the label."""

    operands: tuple[Expression, ...]
    labels: tuple[Any, ...]
    largest: bool

    takes = kinds.NUMBERS

    def vector(self, chunk: Chunk) -> Vector:
        codes = np.full(chunk.rows, -1, dtype=np.intp)
        best = np.full(chunk.rows, -math.inf)
        for i, operand in enumerate(self.operands):
            numbers = vectors.as_numbers(operand.vector(chunk))
            numbers = numbers if self.largest else -numbers
            better = (numbers > best) | ((codes < 0) & ~np.isnan(numbers))
            codes[better] = i
            best[better] = numbers[better]
        return vectors.coded(self.labels, codes)

    def __str__(self) -> str:
        what = "largest" if self.largest else "least"
        return f"{what} of ({some_names(self.labels, 8)})"


# --- figures of several numbers -------------------------------------------------------------------


@dataclass(frozen=True)
class Across(Remembered):
    """A figure of several numbers of a row: sum, mean, min, max, median, var, std, or the count of
    those that are there. Missing ones are skipped, or else make the figure missing."""

    canonical_name: ClassVar[str] = "Across"

    how: str
    operands: tuple[Expression, ...]
    skipna: bool = True
    ddof: int = 0  # of var and std

    makes = kinds.NUMBER

    def needs(self, schema: Schema) -> Needs:
        wanted = kinds.ANY if self.how == "count" else kinds.NUMBERS
        return ((operand, wanted) for operand in self.operands)

    def _made(self, chunk: Chunk) -> Vector:
        found = [operand.vector(chunk) for operand in self.operands]
        if self.how == "count":
            there = [~each.null() for each in found]
            return Numbers(np.asarray(np.sum(there, axis=0, dtype=np.int64)))
        with np.errstate(all="ignore"):
            numbers = [vectors.as_numbers(each) + 0.0 for each in found]
            figure = FIGURES[self.how](numbers, self.skipna)
            if self.how not in ("var", "std"):
                return Numbers(figure)
            variance = _variance(numbers, figure, self.ddof, self.skipna)
            return Numbers(np.sqrt(variance) if self.how == "std" else variance)

    def _declared(self, domain: Domain) -> Declaration | None:
        if self.how == "count":
            return Keys(tuple(range(len(self.operands) + 1)))
        known = [operand.bounds(domain) for operand in self.operands]
        if self.how in ("var", "std") or any(each is None for each in known):
            return None
        low, high = zip(*((b.lower, b.upper) for b in known if b is not None), strict=True)
        return _REACH[self.how](low, high, self.skipna)

    def __str__(self) -> str:
        more = "" if self.skipna else ", skipna=False"
        return f"{self.how} of ({some_names(self.operands, 8)}{more})"


def _there(numbers: list[Floats]) -> Floats:
    """How many numbers of each row aren't missing."""
    there = [~np.isnan(each) for each in numbers]
    return np.asarray(np.sum(there, axis=0, dtype=np.float64))


def _sum(numbers: list[Floats], skipna: bool) -> Floats:
    """Added from left to right: an order of numpy's own may depend on the place."""
    total = np.zeros(len(numbers[0]))
    for each in numbers:
        total += np.where(np.isnan(each), 0.0, each) if skipna else each
    return total


def _mean(numbers: list[Floats], skipna: bool) -> Floats:
    return _sum(numbers, skipna) / (_there(numbers) if skipna else len(numbers))


def _folded(skips: Any, holds: Any) -> Callable[[list[Floats], bool], Floats]:
    def fold(numbers: list[Floats], skipna: bool) -> Floats:
        best = numbers[0]
        for each in numbers[1:]:
            best = (skips if skipna else holds)(best, each)
        return best

    return fold


def _median(numbers: list[Floats], skipna: bool) -> Floats:
    ordered = np.sort(np.stack(numbers), axis=0)  # missing ones come last
    there = _there(numbers).astype(np.intp)
    if not skipna:
        there = np.where(there == len(numbers), there, 0)
    rows = np.arange(ordered.shape[1])
    low, high = ordered[np.maximum(there - 1, 0) // 2, rows], ordered[there // 2, rows]
    middle = np.where(there % 2 == 1, low, (low + high) / 2)
    return np.where(there == 0, np.nan, middle)


def _variance(numbers: list[Floats], mean: Floats, ddof: int, skipna: bool) -> Floats:
    squares = _sum([(mean - each) ** 2 for each in numbers], skipna)
    freedom = (_there(numbers) if skipna else float(len(numbers))) - ddof
    return np.where(freedom > 0, squares / freedom, np.nan)


FIGURES: dict[str, Callable[[list[Floats], bool], Floats]] = {
    "sum": _sum, "mean": _mean, "min": _folded(np.fmin, np.minimum),
    "max": _folded(np.fmax, np.maximum), "median": _median, "var": _mean, "std": _mean,
}  # fmt: skip

Ends = tuple[float, ...]


def _sum_reach(low: Ends, high: Ends, skipna: bool) -> Bounds | None:
    """Added in the same order, because rounding to the nearest keeps order."""
    least = most = 0.0
    for a, b in zip(low, high, strict=True):
        least += min(a, 0.0) if skipna else a
        most += max(b, 0.0) if skipna else b
    return finite(least, most)


def _mean_reach(low: Ends, high: Ends, skipna: bool) -> Bounds | None:
    """Means of the largest end, as often as it may be there: rounding may lift them beyond it."""
    least, most, means = min(low), max(high), list[tuple[float, float]]()
    total = [0.0, 0.0]
    for there in range(1, len(low) + 1):
        total = [total[0] + least, total[1] + most]
        means.append((total[0] / there, total[1] / there))
    lows, highs = zip(*(means if skipna else means[-1:]), strict=True)
    return finite(min(lows), max(highs))


_REACH: dict[str, Callable[[Ends, Ends, bool], Bounds | None]] = {
    "sum": _sum_reach,
    "mean": _mean_reach,
    "min": lambda low, high, skipna: finite(min(low), max(high) if skipna else min(high)),
    "max": lambda low, high, skipna: finite(min(low) if skipna else max(low), max(high)),
    "median": lambda low, high, skipna: finite(min(low), max(high)),
}
