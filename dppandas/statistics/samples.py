"""What numbers of an answer say of the population that the rows are a sample of.

Units are drawn at random, independently of each other, and each has one row. Then a share of rows
estimates a chance, and a mean of clipped values their mean in the population. An interval for it
has to cover two errors: that of the noise, and that of the sample (docs/proofs/populations.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ..dataclasses import dataclass
from ..privacy import accuracy
from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.accuracy.nearly_normal import NearlyNormal
from ..rows.facts.bounds import Bounds
from .layout import Interval

if TYPE_CHECKING:
    from ..privacy.accuracy.ratios import Terms

#: The ways to an interval, by what is shown.
EXACT, T, LARGEST, FEW = "exact", "t", "t, largest variance", "t, too few"
BERNSTEIN, CHERNOFF = "Bernstein", "Chernoff"
#: With fewer rows, times their variance in terms of the bounds, t's intervals hold too seldom at
#: 95 %; and by which power of the normal quantile more are needed where less risk is allowed.
ENOUGH, AT_RISK, POWER = 20, 0.05, 4
#: The part of the risk that t has: the rest is for what is estimated beside it. And how many
#: deviations of its noise are added to a variance; for a test, whose power counts, fewer.
OF_T, ADDED, ADDED_IN_TESTS = 0.9, 2.26, 0.5
#: Above which part of the sample's variance the noise is looked at where the ends are; how often an
#: end is looked for, and how near.
NOISY, STEPS, NEAR = 0.01, 30, 1e-3
#: The risk that fewer rows than this many were read.
SURELY = 1e-9
#: The parts of a risk for the number of rows, the noise of a mean and that of a variance.
OF_ROWS, OF_NOISE = 0.02, 0.2


class How(NamedTuple):
    """How an interval for the population is asked for."""

    method: str | None = None  # "t", "bernstein", or None for the best known
    size: int | None = None  # how many units the population has
    is_alone: bool = True  # whether one number is asked about, and not several of one population
    added: float = ADDED  # how many deviations of its noise are added to a variance
    at: float | None = None  # where the noise of a number is looked at, if not at the estimate


class Estimate(NamedTuple):
    """An interval, and how it was found."""

    low: float
    high: float
    way: str


class Moments(NamedTuple):
    """A number that errs nearly normally but for its noise, and the law of its error."""

    value: float
    error: NearlyNormal
    rows: float  # how many there are, times their variance in terms of the bounds
    cells: frozenset[Any] = frozenset()
    is_largest: bool = False  # whether the variance is the largest that the mean allows
    part: float = 1.0  # of a risk that an interval may have: less at one look of several

    def width(self, risk: float) -> float:
        """Half of that of an interval, by Student's t and the law of the noise."""
        return self.error.half_width(OF_T * self.part * risk)

    def is_beyond(self, risk: float) -> bool:
        """Whether such an interval leaves out 0."""
        return self.error.is_beyond(abs(self.value), OF_T * self.part * risk)


@dataclass(frozen=True)
class Sample(ABC):
    """A number of an answer, as an estimate of one of the population."""

    cells: frozenset[int]  # those that its units lie in: numbers of others have other units

    #: Whether its intervals are proven for draws without replacement, too.
    takes_size: ClassVar[bool] = True

    @abstractmethod
    def estimate(self, risk: float, how: How) -> Estimate:
        """An interval, which fails with at most this risk."""

    def moments(self, how: How) -> Moments | None:
        """Its nearly normal error; None if it isn't."""
        return None

    def fewest(self) -> int:
        """How many units there are at least, as far as the release tells."""
        return 0


@dataclass(frozen=True)
class SampleShare(Sample):
    """The share of some units in some more, from noisy counts of them and of the others."""

    part: int
    rest: int
    law: Any
    terms: Terms
    row: int = 1  # what a unit adds to a count

    def estimate(self, risk: float, how: How) -> Estimate:
        if how.method == "t":
            return _by_t(self, risk, how, (0.0, 1.0))
        low, high, is_exact = accuracy.samples.share(
            self.part, self.rest, self.law, risk, self.terms, how.size, self.row
        )
        return Estimate(low, high, EXACT if is_exact else CHERNOFF)

    def fewest(self) -> int:
        found, _ = accuracy.samples.units(
            self.part + self.rest, self.law, SURELY, sum(self.terms), self.row
        )
        return found

    def moments(self, how: How) -> Moments | None:
        rows = (self.part + self.rest) / self.row
        if rows <= 1:
            return None
        share = min(max(self.part / self.row / rows, 0.0), 1.0)
        noise = self.noise(share)
        spread = min(share * (1 - share) + how.added * noise.deviation, 0.25)
        sampled = spread / (rows - 1) * _left(rows, how)
        known, noise = rows * share * (1 - share), noise if how.at is None else self.noise(how.at)
        error = noise.with_sample(sampled, rows - 1)
        return Moments(share, error, known, self.cells, part=part_of(self.law))

    def noise(self, share: float) -> NearlyNormal:
        """What noise adds to this share."""
        whole = self.part + self.rest
        weights = ((1 - share) / whole, self.terms.part), (share / whole, self.terms.rest)
        return NearlyNormal.of_noise(self.law, weights)


@dataclass(frozen=True)
class SampleCount(Sample):
    """How many units of a population of known size are of a kind."""

    share: SampleShare

    def estimate(self, risk: float, how: How) -> Estimate:
        low, high, way = self.share.estimate(risk, how)
        size = how.size or 0
        return Estimate(low * size, high * size, way)

    def fewest(self) -> int:
        return self.share.fewest()

    def moments(self, how: How) -> Moments | None:
        size = how.size or 0
        at = how.at and how.at / size if size else None
        found = self.share.moments(how._replace(at=at))
        return found and found._replace(value=found.value * size, error=found.error.times(size))


@dataclass(frozen=True)
class SampleMean(Sample):
    """The mean of clipped values, from the two sums of a mean; or from the three of a variance, see
    `SampleMeanOfThree`."""

    sums: tuple[int, ...]
    row: int  # what a value adds to all sums together
    bounds: Bounds
    law: Any

    @cached_property
    def rows(self) -> float:
        return sum(self.sums) / self.row

    def fewest(self) -> int:
        found, _ = accuracy.samples.units(
            sum(self.sums), self.law, SURELY, len(self.sums), self.row
        )
        return found

    @cached_property
    def share(self) -> float:
        """The mean's place between the bounds."""
        weights = self._weights(0.0)
        sums = [max(each, 0) for each in self.sums]
        whole = sum(sums)
        above = sum(weight * each for weight, each in zip(weights, sums, strict=True))
        return above / whole if whole else 0.5

    def _weights(self, p: float) -> tuple[float, ...]:
        """Those of the sums in the combination that is 0 for a mean of p: how far each lies from
        it."""
        return -p, 1 - p

    @property
    def _width(self) -> float:
        return self.bounds.upper - self.bounds.lower

    def _noise(self, weights: Sequence[float]) -> NearlyNormal:
        """That of noises with weights, as part of all rows' sums."""
        whole = self.rows * self.row
        return NearlyNormal.of_noise(self.law, ((weight / whole, 1) for weight in weights))

    #: Whether the variance is the largest that the mean allows, as none was released.
    is_largest: ClassVar[bool] = True

    def _spread(self) -> float:
        """An estimate of the variance, in terms of the bounds."""
        return self.share * (1 - self.share)

    def _most_spread(self, added: float) -> float:
        """The variance with so many deviations of its noise."""
        p = self.share
        return min(p * (1 - p) + added * self._noise((1 - p, p)).deviation, 0.25)

    def moments(self, how: How) -> Moments | None:
        rows, p = self.rows, self.share
        if rows <= 1 or not self._width:
            return None
        sampled = self._most_spread(how.added) / (rows - 1) * _left(rows, how)
        value, known = self.bounds.lower + p * self._width, rows * self._spread()
        if how.at is not None:
            p = min(max((how.at - self.bounds.lower) / self._width, 0.0), 1.0)
        error = self._noise(self._weights(p)).with_sample(sampled, rows - 1).times(self._width)
        part = part_of(self.law)
        return Moments(value, error, known, self.cells, self.is_largest, part)

    def estimate(self, risk: float, how: How) -> Estimate:
        ends = self.bounds.lower, self.bounds.upper
        if not self._width:
            return Estimate(*ends, EXACT)
        if how.method == "bernstein":
            low, high = (ends[0] + float(each) * self._width for each in self._bernstein(risk))
            return Estimate(low, high, BERNSTEIN)
        return _by_t(self, risk, how, ends)

    def _bernstein(self, risk: float) -> Interval:
        """By Maurer and Pontil's bound, and by the noise of the mean, of the variance and of the
        number of rows."""
        (low,), (high,), rows, spread = self._by_noise(risk)
        if rows < 2:
            return 0.0, 1.0
        logarithm = math.log(4 / (risk * (1 - OF_ROWS - 2 * OF_NOISE)))
        wide = math.sqrt(2 * spread * logarithm / rows) + 7 * logarithm / (3 * (rows - 1))
        return max(0.0, low - wide), min(1.0, high + wide)

    def _by_noise(self, risk: float) -> tuple[Any, Any, int, float]:
        """What noise hides: the ends of the mean, the fewest rows, and the largest variance."""
        up, down = self.sums[1], self.sums[0]
        low, high = accuracy.ratios.shares([up], [down], self.law, risk * 2 * OF_NOISE)
        wide = accuracy.margins.sum_width(self.law, risk * OF_ROWS, 2)
        rows = max(math.ceil((up + down - wide) / self.row), 0)
        ends = float(low[0]), float(high[0])
        middle = min(max(0.5, ends[0]), ends[1])
        spread = middle * (1 - middle) * (rows / (rows - 1) if rows > 1 else 1.0)
        return low, high, rows, spread


def _left(rows: float, how: How) -> float:
    """The part of the variance that is left where rows are drawn from so many, and not again. All
    of it for several numbers: what one sample has of a population another one lacks, so that their
    errors may be opposed (Neyman, 1923)."""
    if how.size is None or not how.is_alone:
        return 1.0
    return max(0.0, 1 - max(rows - 1, 0.0) / how.size)


def part_of(law: Any) -> float:
    """The part of a risk that an interval by a law may have: all of it, but at one look of several
    what that look has."""
    return float(law.risk(1.0)) if isinstance(law, CombinedNoise) else 1.0


def _by_t(number: Sample, risk: float, how: How, ends: Interval) -> Estimate:
    found = number.moments(how)
    if found is None:
        return Estimate(*ends, FEW)
    low, high, way = by_t(found, risk)
    if found.error.noise > NOISY * found.error.sampled:
        low, high = (_inverted(number, risk, how, ends, *each) for each in ((low, -1), (high, 1)))
    return Estimate(max(low, ends[0]), min(high, ends[1]), way)


def _inverted(
    number: Sample, risk: float, how: How, ends: Interval, end: float, sign: int
) -> float:
    """An end that is as far from the estimate as noise may be if it were the number. How far grows
    with the distance, and less fast, so that each step is beyond the one before."""
    for _ in range(STEPS):
        found = number.moments(how._replace(at=min(max(end, ends[0]), ends[1])))
        if found is None:
            return end
        last, end = end, found.value + sign * found.width(risk)
        if abs(end - last) <= NEAR * abs(end - found.value):
            break
    return end


def by_t(found: Moments, risk: float) -> Estimate:
    """A number's interval, by Student's t and the law of its noise."""
    wide = found.width(risk)
    way = FEW if found.rows < enough(risk) else LARGEST if found.is_largest else T
    return Estimate(found.value - wide, found.value + wide, way)


def enough(risk: float) -> float:
    """How many rows, times their variance, t needs: its error grows far out in the tails."""
    normal = NormalDist()
    ratio = normal.inv_cdf(risk / 2) / normal.inv_cdf(AT_RISK / 2)
    return ENOUGH * max(ratio, 1.0) ** POWER


@dataclass(frozen=True)
class SampleQuantile(Sample):
    """A quantile whose interval was asked for."""

    takes_size: ClassVar[bool] = False

    ends: Callable[[float], Interval]

    def estimate(self, risk: float, how: How) -> Estimate:
        return Estimate(*self.ends(risk), EXACT)
