"""Plans for tests of means, which are released with the sums of a variance."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...dataclasses import dataclass
from ...privacy.accuracy.combined import variance_of
from ...privacy.accuracy.nearly_normal import NearlyNormal
from ...rows.figures import format_ends, format_number
from ...statistics.samples import ADDED_IN_TESTS
from ..variance_analysis import OneWay
from .designs import Design, Seen, in_groups
from .draws import FINE, TINY, Draws, Errors, Floats, added, chi2_from


class Means(NamedTuple):
    """The means of a group in many releases, between 0 and 1, and their errors."""

    mean: Floats
    error: Errors


@dataclass(frozen=True)
class Numbers(Design):
    """Numbers between bounds, with a mean and a deviation that are guessed."""

    lower: float = -4.0
    upper: float = 4.0
    sd: float = 1.0
    mean: float = 0.0

    effect_is: ClassVar[str] = "an effect is a difference of means in standard deviations"

    @property
    def width(self) -> float:
        return self.upper - self.lower

    def between(self, mean: float) -> float:
        """A mean's place between the bounds."""
        return (mean - self.lower) / self.width

    def assumed(self) -> str:
        return (
            f"Values between {format_ends(self.lower, self.upper, ' and ')}, with a mean of "
            f"{format_number(self.mean)} and a standard deviation of {format_number(self.sd)}; "
            "means released with inference=True."
        )

    def sums(self, rows: int, mean: float, draws: Draws) -> Floats:
        """The three noisy sums of a group of rows, where the population's mean is this: those at
        the lower bound, between and at the upper one."""
        generator, spread = draws.simulation.generator, (self.sd / self.width) ** 2
        noise = draws.noise(3, FINE)
        at = self.between(mean) + math.sqrt(spread / rows) * generator.standard_normal(draws.size)
        square = spread / rows * chi2_from(generator.standard_normal(draws.size), rows - 1)
        square += at**2
        return np.asarray(rows * np.array([1 - 2 * at + square, 2 * (at - square), square]) + noise)

    def group(self, rows: int, mean: float, draws: Draws) -> Means:
        """The means of such a group."""
        return means_of(self.sums(rows, mean, draws), draws.loss.law(FINE), FINE)


@dataclass(frozen=True)
class OneMean(Numbers):
    """Whether a mean is another than one that is given."""

    test: ClassVar[str] = "ttest_1samp"
    effect_is: ClassVar[str] = "an effect is (mean - popmean)/sd"

    def largest(self) -> float:
        return min(self.upper - self.mean, self.mean - self.lower) / self.sd

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        found = self.group(rows, self.mean + effect * self.sd, draws)
        off, wide = found.mean - self.between(self.mean), found.error.widths(self.alpha)
        rejects = found.error.is_beyond(off, self.alternative, self.alpha)
        return Seen(rejects, wide * self.width)


@dataclass(frozen=True)
class TwoMeans(Numbers):
    """Whether the means of two groups of one release differ, by Welch's test."""

    ratio: float = 1.0

    test: ClassVar[str] = "ttest_ind"
    effect_is: ClassVar[str] = "an effect is (first mean - second mean)/sd"

    def sizes(self, rows: int) -> tuple[int, ...]:
        return in_groups(rows, self.ratio)

    def largest(self) -> float:
        return 2 * min(self.upper - self.mean, self.mean - self.lower) / self.sd

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        half = effect * self.sd / 2
        sizes, means = self.sizes(rows), (self.mean + half, self.mean - half)
        one, other = (self.group(*each, draws) for each in zip(sizes, means, strict=True))
        error = added([one.error, other.error])
        rejects = error.is_beyond(one.mean - other.mean, self.alternative, self.alpha)
        return Seen(rejects, error.widths(self.alpha) * self.width)


@dataclass(frozen=True)
class SeveralMeans(Numbers):
    """Whether the means of several groups of one release differ: by F, whose critical value is that
    of simulated releases of equal groups."""

    groups: int = 3

    test: ClassVar[str] = "f_oneway"
    effect_is: ClassVar[str] = "an effect is the deviation of the groups' means in those of values"
    has_sides: ClassVar[bool] = False

    @property
    def fewest(self) -> int:
        return 2 * self.groups

    def sizes(self, rows: int) -> tuple[int, ...]:
        each, more = divmod(rows, self.groups)
        return (each + 1,) * more + (each,) * (self.groups - more)

    def _scores(self) -> Floats:
        """The groups' means for an effect of 1: as far from each other as from the next."""
        found = np.linspace(-1, 1, self.groups)
        return np.asarray(found / found.std())

    def largest(self) -> float:
        room = min(self.upper - self.mean, self.mean - self.lower) / self.sd
        return float(room / self._scores().max())

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        null = self._statistic(rows, 0.0, Draws(draws.loss, draws.size))
        return Seen(self._statistic(rows, effect, draws) > np.quantile(null, 1 - self.alpha))

    def _statistic(self, rows: int, effect: float, draws: Draws) -> Floats:
        means = (self.mean + effect * self.sd * self._scores()).tolist()
        groups = zip(self.sizes(rows), means, strict=True)
        sums = np.stack([self.sums(*each, draws) for each in groups], axis=-1)
        test = OneWay(draws.loss.law(FINE), FINE, equal_var=True)
        return test.statistic(test.found(sums))


def means_of(sums: Floats, law: Any, row: int) -> Means:
    """What `SampleMeanOfThree.moments` finds in noisy sums of rows, whose noise has a law in parts
    of a row."""
    noise = variance_of(law) / row**2
    counted = np.maximum(sums.sum(axis=0), 2.0)  # of fewer no variance is known
    low, middle, high = kept = np.maximum(sums, 0)
    whole = np.maximum(kept.sum(axis=0), 1e-9)
    p, s = (middle / 2 + high) / whole, np.maximum(low * high - middle**2 / 4, 0) / whole**2

    def of(*weights: Floats) -> Floats:
        return np.asarray(noise * sum(weight**2 for weight in weights) / counted**2)

    most = np.minimum(p * (1 - p) + ADDED_IN_TESTS * np.sqrt(of(1 - p, p)), 0.25)
    own = s + ADDED_IN_TESTS * np.sqrt(of(p * p - s, p * p - p - s, (1 - p) ** 2 - s))
    sampled = np.maximum(np.minimum(own, most) / (counted - 1), TINY)
    usual, rows = float(np.median(p)), float(np.median(counted)) * row
    weights = ((weight / rows, 1) for weight in (usual, usual - 0.5, 1 - usual))
    typical = NearlyNormal.of_noise(law, weights)
    return Means(p, Errors(sampled, of(-p, 0.5 - p, 1 - p), counted - 1, typical))
