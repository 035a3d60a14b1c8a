"""Public steps: numbers or durations of which all values of a column are whole multiples.

Quantiles are then chosen among these multiples alone, which makes them more accurate. A step is
exact: the float 0.1 means the decimal that it prints as, one tenth. Which multiple is nearest is
decided in whole numbers, and what is released is the float64 nearest to it (ADR 59).
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Collection, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ..figures import format_fact
from ..values import canonical
from . import kinds
from .bounds import Bounds, Floats, Ticks
from .keys import by_column
from .kinds import Schema

#: The most steps between two bounds, as of other grids.
MOST_STEPS = 2**30
#: The most steps between 0 and a bound: up to here all multiples are nearest to different floats.
FURTHEST = 2**52
#: The least step: below it floats are multiples of a number that may be larger.
SMALLEST = Fraction(2) ** -1022
#: The limits of a step, as of bounds, and of the digits that say it.
LARGEST, MOST_DIGITS = 2.0**900, 10**400
#: In a zone, times are counted in UTC. All zones differ from it by multiples of this.
_OF_ZONES = 15 * 60 * 10**9

#: The step of each column that has one.
Steps = Mapping[Any, "Step"]


@dataclass(frozen=True)
class Step:
    """All values are whole multiples of this number or, of times and durations, of this many
    nanoseconds (times are counted from 1970 on, by the clock of their bounds)."""

    size: Fraction
    of_times: bool = False

    @classmethod
    def parse(cls, value: object, said: str) -> Step:
        """A positive number, exactly as it prints, or a duration.

        said : the argument that gives it, for errors.
        """
        duration = _nanoseconds(value)
        size = _exact(value) if duration is None else Fraction(duration)
        if size <= 0 or size > LARGEST or max(size.as_integer_ratio()) > MOST_DIGITS:
            raise QueryError(
                f"{said}={quoted(value)} must be a positive number such as 1 or 0.05, read as it "
                "prints (write Fraction(1, 3) for a third), or for times and durations a "
                "pd.Timedelta."
            )
        return cls(size, duration is not None)

    def within(self, bounds: Bounds, said: str) -> Fraction:
        """The step in the unit of bounds. Raises `QueryError` if it makes no grid between them."""
        if self.of_times != isinstance(bounds, Ticks):
            wanted = "a number" if self.of_times else "a duration, such as pd.Timedelta('15min')"
            raise QueryError(
                f"{said}={format_fact(self)} must be {wanted}, as the bounds are "
                f"{format_fact(bounds)}."
            )
        size = self.size
        if isinstance(bounds, Ticks):
            size /= bounds.ruler.tick
            if bounds.ruler.span.family == "zoned" and _OF_ZONES % self.size:
                raise QueryError(
                    f"{said}={format_fact(self)} must divide 15 minutes for times in a zone, "
                    "because days there begin at other times than in UTC, and don't all last 24 "
                    "hours."
                )
        if reason := StepGrid.lacks(bounds, size):
            raise QueryError(
                f"{said}={format_fact(self)} makes no grid between the bounds "
                f"{format_fact(bounds)}: {reason}."
            )
        return size

    def divides(self, end: float) -> bool:
        """Whether a number is a multiple, or infinite."""
        return math.isinf(end) or (Fraction(end) / self.size).denominator == 1

    def __str__(self) -> str:
        if self.of_times:
            return str(pd.Timedelta(int(self.size), "ns"))
        whole, digits = self.size, 0
        while whole.denominator > 1 and digits < 20:
            whole, digits = whole * 10, digits + 1
        if whole.denominator > 1:
            return str(self.size)
        return f"{Decimal(whole.numerator).scaleb(-digits).normalize():f}"


def _nanoseconds(value: object) -> int | None:
    """A duration; None for what isn't one. Months and years have no fixed length."""
    if isinstance(value, pd.tseries.offsets.BaseOffset):
        with suppress(Exception):  # months
            value = pd.Timedelta(value)  # type: ignore[arg-type]
    if not isinstance(value, datetime.timedelta | np.timedelta64):
        return None
    family, exact = canonical(value)
    return exact if family == "duration" else None


def _exact(value: object) -> Fraction:
    """A number as it prints; 0 for what isn't one."""
    if isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool | np.bool_):
        with suppress(ValueError, OverflowError):  # inf and nan
            return Fraction(value) if isinstance(value, Fraction | int) else Fraction(str(value))
    return Fraction(0)


def parse(steps: object, columns: Collection[Any], schema: Schema) -> dict[Any, Step]:
    """Declared steps: a dict of column to step, of columns that may have one."""
    given = by_column(steps, columns, "steps=", "{'age': 1, 'price': 0.05}")
    found = {name: Step.parse(step, f"steps= of {quoted(name)}") for name, step in given.items()}
    for name, step in found.items():
        kind = schema.get(name, kinds.UNKNOWN)
        wanted = kinds.TIMES | {kinds.DURATION} if step.of_times else kinds.NUMBERS
        if not kinds.is_in(kind, wanted):
            what = "durations" if step.of_times else "numbers"
            raise QueryError(
                f"steps= of {quoted(name)} is for {'times and ' * step.of_times}{what}, but the "
                f"column is of kind {kind}."
            )
    return found


@dataclass(frozen=True)
class StepGrid:
    """Multiples of a step as integers: ``first + t·step`` is the integer t, 0 ≤ t ≤ high. The
    lowest and the highest multiple between two bounds are its ends."""

    first: Fraction
    step: Fraction
    high: int

    low = 0

    @classmethod
    def within(cls, bounds: Bounds, step: Fraction) -> StepGrid:
        """The multiples whose nearest floats lie within bounds. Times count ticks from their lower
        bound on, and multiples from 1970 on."""
        start = Fraction(0)
        if isinstance(bounds, Ticks):
            start = Fraction(bounds.ruler.origin, bounds.ruler.tick)
        lowest = math.ceil((Fraction(bounds.lower) + start) / step)
        highest = math.floor((Fraction(bounds.upper) + start) / step)
        # 1/10 lies below the float 0.1, which is nearest to it, and is within bounds from 0.1 on
        lowest -= float((lowest - 1) * step - start) >= bounds.lower
        highest += float((highest + 1) * step - start) <= bounds.upper
        return cls(lowest * step - start, step, highest - lowest)

    @classmethod
    def lacks(cls, bounds: Bounds, step: Fraction) -> str:
        """Why the multiples between bounds can't be told apart; "" if they can."""
        grid = cls.within(bounds, step)
        if grid.high < (0 if bounds.lower == bounds.upper else 1):
            few = "no multiple of it lies" if grid.high < 0 else "only one multiple of it lies"
            return f"{few} there. Give a smaller step, or wider bounds"
        if grid.high > MOST_STEPS:
            return "they may lie at most 2^30 steps apart. Give a larger step, or narrower bounds"
        if grid._reach > FURTHEST or step < SMALLEST:
            return "floats there lie further apart. Give a larger step"
        if isinstance(bounds, Ticks) and {grid.first.denominator, step.denominator} != {1}:
            tick = pd.Timedelta(bounds.ruler.tick, "ns")
            return (
                f"times there are counted in ticks of {tick} from the lower bound on. Give a step "
                "of whole ticks, and a lower bound at one of its multiples"
            )
        return ""

    @property
    def _last(self) -> Fraction:
        return self.first + self.high * self.step

    @property
    def _reach(self) -> Fraction:
        """How many steps the grid lies from 0 at most."""
        return max(abs(self.first), abs(self._last)) / self.step

    @property
    def anchor(self) -> Fraction:
        """A number from which all numbers of the grid lie whole steps away."""
        return self.first

    @cached_property
    def _doubt(self) -> float:
        """How much floats may err about a number of steps, many times over."""
        return float(self._reach + 2) * 2.0**-49

    def integers(self, values: Floats) -> Floats:
        """The integers of the nearest multiples, of two the even one; NaN stays NaN, ±inf clips.
        Where floats can't tell which is nearer, whole numbers do."""
        first, size = float(self.first), float(self.step)
        near = np.clip(values, first - size, float(self._last) + size)
        steps = (near - first) / size
        found: Floats = np.rint(steps)
        unsure = np.flatnonzero(np.abs(np.abs(steps - found) - 0.5) <= self._doubt)
        if len(unsure):
            each, places = np.unique(near[unsure], return_inverse=True)
            exact = [round((Fraction(x) - self.first) / self.step) for x in each.tolist()]
            found[unsure] = np.array(exact, dtype=np.float64)[places]
        return np.clip(found, 0, self.high, out=found)

    def numbers(self, points: npt.NDArray[np.int64]) -> Floats:
        """The float64 nearest to each multiple."""
        each, places = np.unique(points, return_inverse=True)
        nearest = [float(self.first + t * self.step) for t in each.tolist()]
        return np.array(nearest, dtype=np.float64)[places]
