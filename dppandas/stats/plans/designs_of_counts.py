"""Plans for tests of shares and of tables, which are released as noisy counts."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...dataclasses import dataclass
from ...privacy.accuracy import binomial_tests
from ...privacy.accuracy.combined import variance_of
from ...privacy.accuracy.margins import sum_width
from ...privacy.accuracy.nearly_normal import NearlyNormal
from ...privacy.mechanisms.noise import DiscreteLaplace
from ..simulated_tables import Fit, Independence
from .designs import Design, Seen, in_groups
from .draws import Draws, Errors, Floats, added

#: Of more rows the law of the exact test's pivot is nearly normal.
EXACTLY = 10**4
#: Noise that is none, for an exact test.
NIL = DiscreteLaplace(Fraction(1, 64))
#: Expected counts that noise makes smaller count as this many.
LEAST = 1e-3


class Shares(NamedTuple):
    """The noisy counts of a group in many releases: of a part and of the rest."""

    part: Floats
    rest: Floats

    @property
    def rows(self) -> Floats:
        return np.maximum(self.part + self.rest, 1.0)

    @property
    def share(self) -> Floats:
        return np.asarray(np.clip(self.part / self.rows, 0, 1))


@dataclass(frozen=True)
class Truths(Design):
    """Truth values, of which a share that is guessed is True."""

    p: float = 0.5

    def assumed(self) -> str:
        return f"A share of {self.p:g} without the effect; means of True and False."

    def largest(self) -> float:
        if self.alternative == "two-sided":
            return max(self.p, 1 - self.p)
        return 1 - self.p if self.alternative == "greater" else self.p

    def group(self, rows: int, share: float, draws: Draws) -> Shares:
        """The counts of a group of rows. A share out of reach is as near as can be."""
        noise = draws.noise(2)
        part = draws.simulation.generator.binomial(rows, min(max(share, 0.0), 1.0), draws.size)
        return Shares(part + noise[0], rows - part + noise[1])

    def _shifted(self, effect: float) -> float:
        """The share with the effect: to the side that has room for it, where both would do."""
        found = self.p + effect
        is_out = self.alternative == "two-sided" and not 0 <= found <= 1
        return self.p - effect if is_out else found


def _normal(risk: float) -> float:
    return -NormalDist().inv_cdf(risk / 2)


@dataclass(frozen=True)
class TwoShares(Truths):
    """Whether the shares of two groups of one release differ."""

    ratio: float = 1.0

    test: ClassVar[str] = "proportions_ztest"
    effect_is: ClassVar[str] = "an effect is the first share less the second, which is p"

    def sizes(self, rows: int) -> tuple[int, ...]:
        return in_groups(rows, self.ratio)

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        sizes = self.sizes(rows)
        one = self.group(sizes[0], self._shifted(effect), draws)
        other = self.group(sizes[1], self.p, draws)
        pooled = np.clip((one.part + other.part) / (one.rows + other.rows), 0, 1)
        shares = pooled, pooled
        null = added([_error(*each, draws) for each in zip(shares, (one, other), strict=True)])
        own = added([_error(each.share, each, draws) for each in (one, other)])
        rejects = null.is_beyond(one.share - other.share, self.alternative, self.alpha)
        return Seen(rejects, own.widths(self.alpha))


@dataclass(frozen=True)
class OneShare(Truths):
    """Whether a share is another than one that is given."""

    test: ClassVar[str] = "proportions_ztest"
    effect_is: ClassVar[str] = "an effect is the share less p"

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        found = self.group(rows, self._shifted(effect), draws)
        error = _error(found.share, found, draws)
        rejects = error.is_beyond(found.share - self.p, self.alternative, self.alpha)
        return Seen(rejects, error.widths(self.alpha))


def _error(share: Floats, found: Shares, draws: Draws) -> Errors:
    """That of a released share."""
    rows, usual = found.rows, float(np.median(share))
    noise = draws.variance() * ((1 - share) ** 2 + share**2) / rows**2
    whole = float(np.median(rows))
    weights = ((weight / whole, 1) for weight in (1 - usual, usual))
    typical = NearlyNormal.of_noise(draws.loss.law(), weights)
    return Errors(share * (1 - share) / rows, noise, math.inf, typical)


@dataclass(frozen=True)
class Binomial(Truths):
    """Whether a share is another than one that is given, by a test that is exact for every number
    of rows that there may be."""

    test: ClassVar[str] = "binomtest"
    effect_is: ClassVar[str] = "an effect is the share less p"

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        found = self.group(rows, self._shifted(effect), draws)
        distance = (1 - self.p) * found.part - self.p * found.rest
        if self.alternative != "greater":
            distance = -distance if self.alternative == "less" else np.abs(distance)
        # one number of rows is looked at; of others the limit follows its deviation
        spread, of_noise = self.p * (1 - self.p), draws.variance()
        of_noise *= (1 - self.p) ** 2 + self.p**2
        risk = self.alpha * (1 - binomial_tests.OF_UNITS)
        hidden = sum_width(draws.loss.law(), self.alpha - risk, 2)
        most = np.maximum(found.rows + hidden, 1)
        deviations = np.sqrt(most * spread + of_noise)
        if rows <= EXACTLY:
            known = math.sqrt((rows + hidden) * spread + of_noise)
            law = draws.loss.law() if of_noise else NIL
            limits = self._limit(rows, law) / known * deviations
        else:
            limits = deviations * _normal(risk if self.alternative == "two-sided" else 2 * risk)
        own = _error(found.share, Shares(found.part, most - found.part), draws)
        return Seen(distance > limits, own.widths(risk) * most / found.rows)

    def _limit(self, rows: int, law: Any) -> float:
        """Beyond which distance the test rejects, where so many rows are seen."""
        p = 1 - self.p if self.alternative == "less" else self.p
        side = "two-sided" if self.alternative == "two-sided" else "greater"
        low, high = math.floor(rows * p), rows + 4 * math.ceil(math.sqrt(variance_of(law))) + 4
        known = {low: 1.0, high: LEAST * self.alpha}
        while high - low > 1:
            middle = (low + high) // 2
            known[middle] = binomial_tests.of_share(middle, rows - middle, law, p, side)
            low, high = (low, middle) if known[middle] <= self.alpha else (middle, high)
        # between both, as where another number of rows is seen
        part = math.log(known[low] / self.alpha) / math.log(known[low] / known[high])
        return low + part - p * rows


@dataclass(frozen=True)
class Table(Design):
    """Whether counts by cells are as expected, by squares over the expected count and the variance
    of the noise, whose critical value is that of simulated releases where nothing differs."""

    #: The shares of cells under the null hypothesis; or of rows and columns.
    margins: tuple[tuple[float, ...], ...] = ((0.5, 0.5), (0.5, 0.5))

    effect_is: ClassVar[str] = "an effect is Cohen's w, √Σ(p - p₀)²/p₀"
    has_sides: ClassVar[bool] = False

    @property
    def test(self) -> str:  # type: ignore[override]
        """One margin is that of a histogram."""
        return "chisquare" if len(self.margins) == 1 else "chi2_contingency"

    def assumed(self) -> str:
        said = " by ".join(str(len(each)) for each in self.margins)
        are_even = all(max(each) - min(each) < 1e-9 for each in self.margins)
        shares = "equal shares" if are_even else "the shares given"
        return f"Counts of {said} cells of {shares} without the effect, from one release."

    @property
    def null(self) -> Floats:
        """The cells' shares under the null hypothesis."""
        found = np.ones(1)
        for each in self.margins:
            found = np.multiply.outer(found, np.array(each))
        return np.asarray(found[0])

    def _direction(self) -> Floats:
        """What an effect of 1 adds to the cells, as a part of each: opposed in neighbours."""
        found = np.ones(1)
        for each in self.margins:
            shares = np.array(each)
            scores = np.where(np.arange(len(shares)) % 2, -1.0, 1.0)
            scores = scores - shares @ scores
            found = np.multiply.outer(found, scores / math.sqrt(shares @ scores**2))
        return np.asarray(found[0])

    def largest(self) -> float:
        return float(-1 / self._direction().min())

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        null = self._statistic(rows, 0.0, Draws(draws.loss, draws.size))
        return Seen(self._statistic(rows, effect, draws) > np.quantile(null, 1 - self.alpha))

    def _statistic(self, rows: int, effect: float, draws: Draws) -> Floats:
        shares = self.null * np.maximum(1 + effect * self._direction(), 0)
        noise = draws.noise(shares.size).T
        each = shares.ravel() / shares.sum()
        counts = draws.simulation.generator.multinomial(rows, each, draws.size)
        variances = np.full(shares.shape, draws.variance())
        is_fit = len(self.margins) == 1
        test = Fit(variances, self.null) if is_fit else Independence(variances)
        return test.statistic((counts + noise).reshape(draws.size, *shares.shape))
