"""Plans for tests of shares and of tables, which are released as noisy counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, NamedTuple

import numpy as np

from ...privacy.accuracy.margins import sum_width
from .designs import Design, Seen, in_groups
from .draws import Draws, Floats, is_beyond

#: The part of the level that an exact test keeps for how many rows there are.
ASIDE = 0.02
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
        part = draws.generator.binomial(rows, min(max(share, 0.0), 1.0), draws.size)
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
        noise = draws.variance()
        null = _error(pooled, one.rows, noise) + _error(pooled, other.rows, noise)
        own = _error(one.share, one.rows, noise) + _error(other.share, other.rows, noise)
        distance = (one.share - other.share) / np.sqrt(np.maximum(null, 1e-30))
        wide = _normal(self.alpha) * np.sqrt(own)
        return Seen(is_beyond(distance, self.alternative, _normal, self.alpha), wide)


@dataclass(frozen=True)
class OneShare(Truths):
    """Whether a share is another than one that is given."""

    test: ClassVar[str] = "proportions_ztest"
    effect_is: ClassVar[str] = "an effect is the share less p"

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        found = self.group(rows, self._shifted(effect), draws)
        error = _error(found.share, found.rows, draws.variance())
        distance = (found.share - self.p) / np.sqrt(np.maximum(error, 1e-30))
        wide = _normal(self.alpha) * np.sqrt(error)
        return Seen(is_beyond(distance, self.alternative, _normal, self.alpha), wide)


def _error(share: Floats, rows: Floats, noise: float) -> Floats:
    """The variance of a released share's error."""
    sampled = share * (1 - share) / rows
    return np.asarray(sampled + noise * ((1 - share) ** 2 + share**2) / rows**2)


@dataclass(frozen=True)
class Binomial(Truths):
    """Whether a share is another than one that is given, by a test that is exact for every number
    of rows that there may be: for the most of them, which count nearly always."""

    test: ClassVar[str] = "binomtest"
    effect_is: ClassVar[str] = "an effect is the share less p"

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        noise, aside = draws.noise(2), self.alpha * ASIDE
        hidden = sum_width(draws.loss.law(), aside, 2)
        found = self.group(rows, self._shifted(effect), draws)
        most = np.maximum(found.rows + hidden, 1)
        risk = self.alpha - aside
        two_sided = 2 * risk if self.alternative != "two-sided" else risk
        distance = (1 - self.p) * found.part - self.p * found.rest
        # the law for so many rows, which many draws share up to its deviation
        count = draws.generator.binomial(rows + hidden, self.p, draws.size) + noise[0]
        null = count - self.p * (rows + hidden) - self.p * noise.sum(axis=0)
        limit = np.quantile(np.abs(null), 1 - two_sided, method="higher")
        spread = self.p * (1 - self.p)
        of_noise = draws.variance() * ((1 - self.p) ** 2 + self.p**2)
        root = np.sqrt((most * spread + of_noise) / ((rows + hidden) * spread + of_noise))
        own = _error(found.share, most, draws.variance())
        limits = limit * root
        sign = np.abs(distance) if self.alternative == "two-sided" else distance
        sign = -distance if self.alternative == "less" else sign
        return Seen(sign > limits, _normal(risk) * np.sqrt(own) * most / found.rows)


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
        counts = draws.generator.multinomial(rows, shares.ravel() / shares.sum(), draws.size)
        seen = (counts + noise).reshape(draws.size, *shares.shape)
        whole = np.maximum(seen.sum(axis=tuple(range(1, seen.ndim)), keepdims=True), LEAST)
        expected = whole * self.null
        if len(self.margins) == 2:
            rows, columns = (
                np.maximum(seen.sum(axis=side, keepdims=True), LEAST) for side in (1, 2)
            )
            expected = rows * columns / whole
        scale = np.maximum(expected, LEAST) + draws.variance()
        return np.asarray(((seen - expected) ** 2 / scale).reshape(draws.size, -1).sum(axis=1))
