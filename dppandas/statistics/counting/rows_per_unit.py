"""How many rows units have, in a histogram, and the limit on rows that it suggests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import add, sub
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass, replace
from ...errors import QueryError, quoted
from ...privacy.accounting.measures import LossRequest
from ...privacy.accuracy.weighted_tails import half_width
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import EVERY, Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask, as_numbers
from ..base import Partial, Statistic
from ..error_model import ErrorModel
from ..layout import Interval, around, format_error
from ..methods import FRAME, Method
from .counts import SHARE_STEP, rounded

#: Limits below 10, and those of each power of ten from there, as tenths of it.
_FIRST, _EACH = (1, 2, 3, 4, 5, 6, 8), (10, 15, 20, 30, 50, 70)

#: How surely the noise of all tails lies within the margin of a suggestion.
SURE = 0.95

Counts = Sequence[Any]


def limits_up_to(counted: int) -> tuple[int, ...]:
    """The public limits that are told apart: near to each other in proportion, up to a number."""
    powers = (10**p for p in range(len(str(counted))))
    larger = (power * tenth for power in powers for tenth in _EACH)
    return (*(limit for limit in (*_FIRST, *larger) if limit < counted), counted)


def parse_keep(keep: object) -> Fraction | None:
    """A share of units strictly between 0 and 1, as it is written; or None."""
    if keep is None:
        return None
    is_number = isinstance(keep, int | float | np.floating) and not isinstance(keep, bool)
    if not is_number or not 0 < keep < 1:  # type: ignore[operator]
        raise QueryError(
            f"keep={quoted(keep)} must be a share of units between 0 and 1, such as 0.95; or None, "
            "which shows what each limit would drop."
        )
    return Fraction(repr(float(keep)))  # type: ignore[arg-type]


class RowsPerUnitErrors(ErrorModel):
    of: RowsPerUnit

    measured_in: ClassVar = ("rows", "share")
    tells_of_none: ClassVar = False

    def __init__(self, statistic: RowsPerUnit) -> None:
        super().__init__(statistic)
        shares = ("units_cut", "rows_dropped")
        self.figures = shares if statistic.keep is None else ("max_rows", *shares)

    def unit(self, entry: int, schema: Schema) -> str:
        return self.measured_in[self.of.keep is None or entry > 0]

    def possible(self, entry: int) -> Interval | None:
        return (0, 1) if self.of.keep is None or entry else (1, math.inf)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return self.intervals_at(noisy, Within(half_width), 0.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """All hold simultaneously, and for every limit: so those of a limit that the answer chose
        hold, too. With them the least limit that keeps so many units lies in its interval."""
        low, high = self._counts_between(noisy, law, confidence)
        each = [self._of_limit(place, low, high) for place in range(len(self.of.limits))]
        keep, values = self.of.keep, self.of.estimate(noisy)
        if keep is None:
            return around(values, [interval for pair in each for interval in pair])
        limits, cut = self.of.limits, 1 - keep
        sure = [k for k, (units, _) in zip(limits, each, strict=True) if units[1] <= cut]
        possible = [k for k, (units, _) in zip(limits, each, strict=True) if units[0] <= cut]
        ends = min(possible, default=limits[-1]), min(sure, default=math.inf)
        place = self.of.chosen(noisy)
        if place is None:
            return [ends, (0.0, 1.0), (0.0, 1.0)]
        return around(values, [ends, *each[place]])

    def _counts_between(
        self, noisy: Sequence[Any], law: Any, confidence: float
    ) -> tuple[list[Any], list[Any]]:
        """The fewest and the most units in each bin or above it, which never rise."""
        bins, sums = len(noisy), tails(noisy)
        risk = (1 - confidence) / bins
        wide = [math.ceil(half_width(law, risk, bins - i)) for i in range(bins)]
        high = accumulate(map(add, sums, wide), min)
        low = [*accumulate(map(sub, sums[::-1], wide[::-1]), max)][::-1]
        return [max(end, 0) for end in low], [max(end, 0) for end in high]

    def _of_limit(self, place: int, low: Counts, high: Counts) -> tuple[Interval, Interval]:
        """Which share of units a limit cuts, and which share of rows it drops, if so many units at
        least and at most lie in each bin or above it."""
        first, last = self.of.rows_between
        few = self.of.dropped(place, low, high, above=first, below=last)
        many = self.of.dropped(place, high, low, above=last, below=first)
        units = quotient(low[place + 1], high[0], 0), quotient(high[place + 1], low[0], 1)
        rows = quotient(few[0], sum(few), 0), quotient(many[0], sum(many), 1)
        return _outwards(*units), _outwards(*rows)

    def expected_at(self, law: Any, confidence: float) -> str:
        """The noise of the number of units above a limit; and how many units a suggestion needs."""
        wide = math.ceil(self.of.noise_of_tails(law, confidence))
        if self.of.keep is None:
            return f"± {format_error(wide)} units above each limit"
        return f"needs about {math.ceil(self.of.margin_at(law) / (1 - self.of.keep)):,} units"


@dataclass(frozen=True)
class RowsPerUnit(Statistic):
    """How many units have how many rows, in public bins of which the last is open: for a table of
    units.

    A unit lies in one bin: ℓ1 is 1 (proof: docs/proofs/units.md). Suggested is the least limit that
    keeps the share ``keep`` of units whole, as far as the noise lets one see; without it the answer
    says of each limit which share of units it cuts and of rows it drops.
    """

    rows: Expression = EVERY
    limits: tuple[int, ...] = (1,)
    keep: Fraction | None = None
    #: So many units at most may noise alone put above a limit, but for a chance of 5 %.
    margin: int = 0

    methods: ClassVar = (Method("suggest_max_rows", FRAME),)
    proof: ClassVar[str] = "units"
    error_model: ClassVar = RowsPerUnitErrors
    not_asked: ClassVar = ("layout", "keep", "margin")
    needs: ClassVar = {"rows": kinds.NUMBERS}

    l1 = 1

    @property
    def size(self) -> int:
        return len(self.limits) + 1

    def expressions(self) -> tuple[Expression, ...]:
        return (self.rows,)

    def adapted_to(self, asked: LossRequest, rows: int) -> RowsPerUnit:
        law: Any = self.mechanism(asked, self.sensitivity(rows))
        return replace(self, margin=self.margin_at(law))

    def margin_at(self, law: Any) -> int:
        """The margin of a suggestion by this noise."""
        return math.ceil(self.noise_of_tails(law, SURE))

    def noise_of_tails(self, law: Any, confidence: float) -> float:
        """A bound on the noise of each number of units above a limit, and of all units; with this
        confidence all hold."""
        return half_width(law, (1 - confidence) / self.size, self.size)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        rows = as_numbers(self.rows.vector(chunk))
        there = ~np.isnan(rows) if keep is None else keep & ~np.isnan(rows)
        bins = np.searchsorted(np.array(self.limits, dtype=np.float64), rows[there])
        return np.bincount(bins, minlength=self.size).astype(np.int64)

    @property
    def rows_between(self) -> tuple[list[int], list[int]]:
        """The fewest and the most rows of a unit in each bin; beyond the last limit none count."""
        last = [*self.limits, self.limits[-1]]
        return [1, *(limit + 1 for limit in self.limits[:-1]), self.limits[-1]], last

    def chosen(self, noisy: Sequence[int]) -> int | None:
        """The place of the limit that is suggested; None where noise hides whether one will do, or
        where none of them does."""
        if self.keep is None:
            return None
        sums = smoothed(noisy)
        allowed = (1 - self.keep) * sums[0]
        if not sums[0] or self.margin > allowed:
            return None
        return next((i for i, above in enumerate(sums[1:]) if above <= allowed), None)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        if self.keep is None:
            return [x for place in range(len(self.limits)) for x in self.shares_of(noisy, place)]
        place = self.chosen(noisy)
        if place is None:
            return [math.nan] * 3
        return [float(self.limits[place]), *self.shares_of(noisy, place)]

    def shares_of(self, noisy: Sequence[int], place: int) -> list[float]:
        """Which share of units a limit cuts, and which share of rows it drops, if those of a bin
        have as many rows as its middle."""
        sums = smoothed(noisy)
        middle = [Fraction(a + b, 2) for a, b in zip(*self.rows_between, strict=True)]
        part, rest = self.dropped(place, sums, sums, above=middle, below=middle)
        pairs = (sums[place + 1], sums[0]), (part, part + rest)
        return [rounded(own / whole) if whole else math.nan for own, whole in pairs]

    def dropped(
        self, place: int, many: Counts, few: Counts, *, above: Counts, below: Counts
    ) -> tuple[Any, Any]:
        """How many rows a limit drops and keeps, given the numbers of units in each bin or above it
        for either, and the rows of a unit in each bin above and below the limit. Each rises with
        each number of units."""
        limit = self.limits[place]
        steps = [b - a for a, b in pairwise([limit, *above[place + 1 :]])]
        gone = sum(n * more for n, more in zip(many[place + 1 :], steps, strict=True))
        grown = [b - a for a, b in pairwise([0, *below[: place + 1], limit])]
        return gone, sum(n * more for n, more in zip(few[: place + 2], grown, strict=True))


def tails(noisy: Sequence[Any]) -> list[Any]:
    """The sums of each number and all after it."""
    return [*accumulate(noisy[::-1])][::-1]


def smoothed(noisy: Sequence[Any]) -> list[Fraction]:
    """The tails as numbers that never rise and are never negative: halfway between the smallest
    before and the largest after each. If all are off by at most w, so are these."""
    sums = tails(noisy)
    before, after = accumulate(sums, min), [*accumulate(sums[::-1], max)][::-1]
    return [max(Fraction(a + b) / 2, Fraction(0)) for a, b in zip(before, after, strict=True)]


def quotient(part: Any, whole: Any, nothing: int) -> Fraction:
    """A share of a whole, at most 1; of nothing what is said."""
    return min(Fraction(part) / Fraction(whole), Fraction(1)) if whole else Fraction(nothing)


def _outwards(low: Fraction, high: Fraction) -> Interval:
    """The ends on the public grid of shares."""
    first, last = math.floor(low / SHARE_STEP), math.ceil(high / SHARE_STEP)
    return float(first * SHARE_STEP), float(last * SHARE_STEP)
