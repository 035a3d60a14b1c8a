"""Intervals for shares of a population, from noisy counts of a sample of it.

Of n units that were drawn at random X are of a kind, which is binomial; or hypergeometric, if they
were drawn from N units without replacement. The counts of X and of the n - X others are released
with noise. For the population's share p the combination (1-p)·(X + Z₊) - p·(n - X + Z₋) has the law
of X - n·p + (1-p)·Z₊ - p·Z₋. Which p make so large a value too improbable, for all n that are
possible, is excluded (proof: docs/proofs/populations.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...dataclasses import dataclass, replace
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from . import searches
from .combined import variance
from .margins import sum_width
from .ratios import PAIR, Points, Terms, shares
from .weighted_tails import ABOVE, Floats, Truths

Range = tuple[float, float]


class Ends(NamedTuple):
    """Those of an interval, and whether the exact law gives them; else Chernoff's bound does."""

    low: float
    high: float
    is_exact: bool = True


#: The share of the risk for how many units there are, and for the range that is searched.
ASIDE = 0.02
#: The share of the risk for numbers of the kind that are too rare to be looked at.
RARE = 1e-6
#: How many points the law of a sum of noises has at most, and those of the combination in a
#: standard deviation.
POINTS, FINE = 128, 64
#: How narrow a piece is, as a share of the range, that isn't cut any more.
NARROW = 2.0**-9
#: More numbers of units than this aren't looked at; and of how many a bound is told at once.
MOST, BLOCK = 2**12, 12
#: The same of finite populations, where each is looked at by itself; and of how many units at all.
FEWER, LARGEST = 64, 2**30
#: Of how many numbers of units binomial ranks are found at most.
TRIED = 128
#: Which multiples of the rate at which Chernoff's bound of a normal number is best are tried.
RATES = (0.7, 0.85, 1.0, 1.2, 1.5)
#: Numbers below this power of 2 have their factorials in a table.
LARGE = 20
#: More than rounding adds to a probability, or takes off a place in a table.
ADDED, ROUNDED = 1e-11, 1e-9


@lru_cache(maxsize=4096)
def share(
    part: int, rest: int, law: Any, risk: float, terms: Terms = PAIR, size: int | None = None,
    row: int = 1,
) -> Ends:  # fmt: skip
    """The ends of an interval for the population's share, given the noisy counts of a part and the
    rest of a sample, to which each unit adds ``row``. It fails with at most this risk. size : how
    many units the population has."""
    if not terms.rest:
        return Ends(1.0, 1.0)
    fewest, most = units(part + rest, law, ASIDE * risk, sum(terms), row, size)
    if not fewest:  # of no units nothing follows
        return Ends(0.0, 1.0)
    tried = MOST if size is None else FEWER
    if not is_plain(law) or most - fewest >= tried or most > LARGEST:
        ends = apart(part, rest, law, risk * (1 - ASIDE), terms, fewest, size)
        return Ends(*ends, is_exact=False)
    outer = apart(part, rest, law, risk * ASIDE, terms, fewest, size)
    pivot = Pivot(part, rest, (fewest, most), law, terms, size, row, risk * (1 - 2 * ASIDE))
    return Ends(*_searched(pivot.excludes, outer, hidden=(most - fewest) / (2 * fewest)))


def units(
    counted: int, law: Any, risk: float, terms: int, row: int = 1, size: int | None = None
) -> tuple[int, int]:
    """The fewest and the most units that there may be, given their noisy count."""
    wide = sum_width(law, risk, terms)
    fewest, most = max(-((wide - counted) // row), 0), max((counted + wide) // row, 0)
    return (fewest, most) if size is None else (min(fewest, size), min(most, size))


def is_plain(law: Any) -> bool:
    return isinstance(law, DiscreteLaplace | DiscreteGaussian)


def _searched(excludes: Callable[..., Truths], outer: Range, hidden: float) -> Range:
    low, high = outer
    width = high - low
    if not width:
        return outer

    def in_shares(_: Any, start: Floats, end: Floats) -> Truths:
        return excludes(low + start * width, low + end * width)

    least = np.array([min(hidden / width, 1.0)])
    first, last = searches.ends(in_shares, np.zeros(1), np.ones(1), least, 2, narrow=NARROW)
    ends = low + float(first[0]) * width, low + float(last[0]) * width
    return max(0.0, math.nextafter(ends[0], -1)), min(1.0, math.nextafter(ends[1], 2))


def apart(
    part: int, rest: int, law: Any, risk: float, terms: Terms, fewest: int, size: int | None
) -> Range:
    """The sample's share by the noise, and the population's by the sample's, each with half of the
    risk: by Chernoff's bound, which holds for draws without replacement, too (Hoeffding, JASA 1963,
    Theorems 1 and 4)."""
    low, high = (float(end[0]) for end in shares([part], [rest], law, risk / 2, terms))
    allowed = math.log(4 / risk) / fewest
    ends = _far(low, 0.0, allowed), _far(high, 1.0, allowed)
    if size == fewest:  # all of the population
        return low, high
    return ends


def _far(share: float, to: float, allowed: float) -> float:
    """The nearest number towards an end with more than the allowed divergence from a share."""
    near, far = share, to
    for _ in range(60):
        middle = (near + far) / 2
        near, far = (near, middle) if _divergence(share, middle) > allowed else (middle, far)
    return far


def _divergence(x: float, p: float) -> float:
    """Kullback and Leibler's, of truth values with these shares."""
    parts = ((x, p), (1 - x, 1 - p))
    if any(own and not other for own, other in parts):
        return math.inf
    return sum(own * math.log(own / other) for own, other in parts if own)


@dataclass(frozen=True, eq=False)
class Pivot:
    """Whether the combination is too large for a share, however many units there are."""

    part: int
    rest: int
    units: tuple[int, int]
    law: Any
    terms: Terms
    size: int | None
    row: int
    risk: float

    @cached_property
    def noises(self) -> tuple[Points, Points]:
        """Those in the counts, in units."""
        found = (Points.of(self.law, n, self.risk, POINTS) for n in self.terms)
        part, rest = (
            replace(each, values=each.values / self.row, off=each.off / self.row) for each in found
        )
        return part, rest

    @cached_property
    def allowed(self) -> float:
        excess = math.exp(sum(points.excess for points in self.noises))
        return (self.risk * (1 - 8 * RARE) - ADDED) / (ABOVE * excess)

    def excludes(self, low: Floats, high: Floats) -> Truths:
        flat = zip(low.reshape(-1).tolist(), high.reshape(-1).tolist(), strict=True)
        return np.array([self.is_excluded(*each) for each in flat], dtype=bool).reshape(low.shape)

    def is_excluded(self, low: float, high: float) -> bool:
        """Whether all shares of a piece are."""
        seen = [((1 - p) * self.part - p * self.rest) / self.row for p in (low, high)]
        if min(seen) <= 0 <= max(seen):
            return False
        least = min(map(abs, seen))
        if self._roughly(low, high, least) <= self.allowed:
            return True
        tail = self._tail((low + high) / 2, (high - low) / 2)
        middle = sum(self.units) // 2
        if self._both(middle, low, high, least, tail, tail) > self.allowed:
            return False
        return self._most(low, high, least, tail) <= self.allowed

    def both(self, p: float, least: float) -> float:
        """P[|pivot| ≥ least] at a share, for all numbers of units."""
        tail, more = self._tail(p, 0.0), self._more
        above, below = tail.moved(more, p, p), tail.moved(more, 1 - p, 1 - p)
        return max(self._both(n, p, p, least, above, below) for n in self._starts)

    def above(self, p: float, least: float) -> float:
        """P[pivot ≥ least] at a share, for all numbers of units."""
        tail = self._tail(p, 0.0).moved(self._more, p, p)
        return max(
            self._beyond(n, p, tail, lambda x, n=n: least + n * p - x)  # type: ignore[misc]
            for n in self._starts
        )

    @property
    def _starts(self) -> range:
        """The fewest units of each block."""
        first, last = self.units
        return range(first, last + 1, self._more + 1)

    def _roughly(self, low: float, high: float, least: float) -> float:
        """A bound of the same by Chernoff's, which is largest for the most units."""
        weights, units = (1 - low, high), self.units[1]
        spread = units * max(low * (1 - low), high * (1 - high), 1 / units)
        noise = sum(n * w * w for n, w in zip(self.terms, weights, strict=True))
        rate = least / (spread + variance(self.law) * noise / self.row**2)
        above = min(self._chernoff(rate * by, low, high, weights, units, least) for by in RATES)
        below = min(self._chernoff(rate * by, 1 - high, 1 - low, weights, units, least)
                    for by in RATES)  # fmt: skip
        return above + below

    def _chernoff(
        self, rate: float, low: float, high: float, weights: Sequence[float], units: int,
        least: float,
    ) -> float:  # fmt: skip
        largest = max(weights)
        if isinstance(self.law, DiscreteLaplace) and self.law.scale:
            rate = min(rate, 0.9 * self.row / (float(self.law.scale) * largest))
        rate = min(rate, 30.0)
        moments = units * (math.log1p(high * math.expm1(rate)) - rate * low)
        for n, weight in zip(self.terms, weights, strict=True):
            moments += n * self.law.log_moment(rate * weight / self.row)
        return math.exp(min(moments - rate * least, 0.0))

    def _tail(self, p: float, off: float) -> _Above:
        """Bounds of the law of (1-p)·Z₊ - p·Z₋, for all p that are this near."""
        part, rest = self.noises
        values = np.add.outer((1 - p) * part.values, -p * rest.values).reshape(-1)
        chances = np.multiply.outer(part.chances, rest.chances).reshape(-1)
        moved = (1 - p) * part.off + p * rest.off
        moved += off * sum(float(x.values[-1]) + x.off for x in (part, rest))
        spread = math.sqrt(float((values * values * chances).sum()) + self.units[1] * p * (1 - p))
        return _Above.of(values + moved, chances, max(spread / FINE, 2.0**-20))

    def _most(self, low: float, high: float, least: float, tail: _Above) -> float:
        """A bound of the probability of a value of ``least`` in size, for all numbers of units."""
        (first, last), more = self.units, self._more
        above = tail.moved(more, high, low)
        below = tail.moved(more, 1 - low, 1 - high)
        found = 0.0
        for start in sorted(self._starts, key=lambda n: abs(2 * n - first - last)):
            found = max(found, self._both(start, low, high, least, above, below))
            if found > self.allowed:
                break
        return found

    def _both(
        self, units: int, low: float, high: float, least: float, above: _Above, below: _Above
    ) -> float:
        """The probability that noise makes a value of ``least`` in size of what the sample has."""
        one = self._beyond(units, high, above, lambda x: least + units * low - x)
        return one + self._beyond(units, low, below, lambda x: least + x - units * high)

    @cached_property
    def _more(self) -> int:
        """Of how many more units than the fewest of a block a bound is told at once. Kinds of more
        units are independent of those of the others, unless these were taken out."""
        several = self.units[1] - self.units[0]
        return 0 if self.size is not None else min(BLOCK, math.isqrt(several))

    def _beyond(self, units: int, p: float, tail: _Above, needed: Callable[[Any], Floats]) -> float:
        """The probability that noise is at least what it needs to be."""
        x = usual(units, p, self.risk)
        return float(self._chances(x, units, p) @ tail.at(needed(x)))

    def _chances(self, x: Any, units: int, p: float) -> Floats:
        """No less than the probability of each number of the kind."""
        if self.size is None:
            return binomial(x, units, p)
        of_kind = round(p * self.size)
        left = of_kind - x, self.size - of_kind - units + x
        is_possible = (left[0] >= 0) & (left[1] >= 0)
        logarithms = -sum(_log_factorials(np.maximum(each, 0)) for each in (x, units - x, *left))
        return _normed(np.where(is_possible, logarithms, -np.inf))


def usual(units: int, p: float, risk: float) -> Any:
    """All numbers of successes but for those that are rare for this risk, by Bernstein's
    inequality, which also holds for draws without replacement."""
    logarithm = -math.log(risk * RARE / 2)
    third = logarithm / 3
    reach = math.ceil(third + math.sqrt(third**2 + 2 * logarithm * units * p * (1 - p))) + 1
    first, last = math.floor(units * p) - reach, math.ceil(units * p) + reach
    return np.arange(max(0, first), min(units, last) + 1)


def binomial(x: Any, units: int, p: float) -> Floats:
    """No less than the probability of each number of successes, of those that aren't rare."""
    if p <= 0 or p >= 1:
        return np.asarray(x == (units if p >= 1 else 0), dtype=np.float64)
    logarithms = x * math.log(p) + (units - x) * math.log1p(-p)
    return _normed(logarithms - _log_factorials(x) - _log_factorials(units - x))


def _normed(logarithms: Floats) -> Floats:
    """Probabilities from logarithms of multiples; no less than they are, where some are missing."""
    chances = np.exp(logarithms - logarithms.max())
    return np.asarray(chances / chances.sum())


@lru_cache(maxsize=4)
def _table(power: int) -> Floats:
    """The logarithms of factorials of numbers below 2^power."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2**power)))])


def _log_factorials(numbers: Any) -> Floats:
    """From a table, and by Stirling's series beyond it."""
    power = int(np.max(numbers, initial=0)).bit_length()
    if power <= LARGE:
        found: Floats = _table(max(power, 14))[numbers]
        return found
    n = np.maximum(numbers, 1).astype(np.float64) + 1.0
    inverse = 1 / n
    series = (n - 0.5) * np.log(n) - n + 0.5 * math.log(2 * math.pi)
    series += inverse * (1 / 12 - inverse**2 * (1 / 360 - inverse**2 / 1260))
    small = np.minimum(numbers, 2**14 - 1)
    return np.asarray(np.where(numbers < 2**14, _table(14)[small], series))


@dataclass(frozen=True, eq=False)
class _Above:
    """No less than the probabilities that a number is at least as large as others are."""

    above: Floats  # of the multiples of the step
    first: int
    step: float

    @classmethod
    def of(cls, values: Floats, chances: Floats, step: float) -> _Above:
        places = np.ceil(values / step).astype(np.int64)
        first = int(places.min())
        counted = np.bincount(places - first, weights=chances)
        return cls(np.append(np.cumsum(counted[::-1])[::-1].clip(0, 1), 0.0), first, step)

    def moved(self, more: int, high: float, low: float) -> _Above:
        """Bounds for the same number with j·low less, and a binomial number more of j successes of
        chance ``high``, for all j up to ``more``."""
        if not more:
            return self
        first = self.first - math.ceil(more * low / self.step) - 1
        last = self.first + len(self.above) + math.ceil(more / self.step) + 1
        # what is added isn't a multiple of the step: a number needn't reach the next one
        least = (np.arange(first, last + 1) - 1) * self.step
        found = self.at(least)
        for j in range(1, more + 1):
            y = np.arange(j + 1)
            each = self.at(least[:, None] + j * low - y[None, :]) @ binomial(y, j, high)
            found = np.maximum(found, each)
        return _Above(found, first, self.step)

    def at(self, least: Any) -> Floats:
        places = np.ceil(least / self.step - ROUNDED) - self.first
        found: Floats = self.above[places.clip(0, len(self.above) - 1).astype(np.int64)]
        return found


def binomial_distances(share: Fraction, fewest: int, most: int, risk: float) -> tuple[int, int]:
    """How far below and above n·share ranks lie, times its denominator, that enclose a binomial
    number but for half of the risk each, for all n that are possible. The number is at least the
    lower rank, and less than the upper one; the first is told less 1."""
    a, b, step = share.numerator, share.denominator, -(-(most - fewest + 1) // TRIED)
    low = high = 0
    for first in range(fewest, most + 1, step):
        last = min(first + step - 1, most)
        low = max(low, a * last - b * (_ranks(first, share, risk)[0] - 1))
        high = max(high, b * _ranks(last, share, risk)[1] - a * first)
    return low, high


@lru_cache(maxsize=4096)
def _ranks(units: int, share: Fraction, risk: float) -> tuple[int, int]:
    """The largest rank below which, and the least from which on, a binomial number is with at most
    half of the risk each."""
    p = float(share)
    x = usual(units, p, risk)
    chances, allowed = binomial(x, units, p), risk / 2 * (1 - 2 * RARE) - ADDED
    below, above = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
    low = int(np.count_nonzero(below <= allowed))
    high = len(x) - int(np.count_nonzero(above <= allowed))
    return int(x[0]) + low, int(x[0]) + high
