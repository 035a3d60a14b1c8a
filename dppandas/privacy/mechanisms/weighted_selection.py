"""Weighted selection: which undeclared labels may be released, where a unit can have several."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from ...dataclasses import dataclass
from ...errors import QueryError
from ..accounting import gaussian
from ..accounting.conversions import LARGE_DIGITS, least_near
from ..accounting.enclosures import SHORT, Enclosure, normal_tail, pi, rounded
from ..accounting.losses import Delta, Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from .base import Mechanism, Sensitivity
from .noise import DiscreteGaussian
from .partition_selection import PartitionSelection
from .thresholds import Found, Threshold, loss_asked

#: The weight of a unit that has one label, in steps of the grid.
WHOLE = 2**30


def weight(labels: int) -> int:
    """⌊2^30/√t⌋, what a unit of t labels adds to each: its vector has a length of at most 2^30."""
    return math.isqrt(WHOLE**2 // labels)


@dataclass(frozen=True)
class WeightedSelection(RecordPart):
    """Adds discrete Gaussian noise to the weight of each label that occurs, and releases the label
    where the sum is at least `least`, without the sum.

    A unit adds `weight(t)` to each of its t labels, at most `labels`.

    *Guarantee*: (ε, δ), or ρ with all of δ for the threshold. The whole δ serves twice: for the
    noise, and for labels that only one unit has (docs/proofs/weighted_selection.md).

    >>> WeightedSelection.calibrate(10, Fraction(1), Delta("1e-6")).half
    71
    >>> PartitionSelection.calibrate(10, Fraction(1), Delta("1e-6")).released_from(0.5)
    132
    """

    sigma2: Fraction
    least: int
    labels: int
    delta: Delta
    epsilon: Fraction = Fraction(0)  # where (ε, δ) is counted

    name, word, threshold = "weighted Gaussian selection", "", None

    @classmethod
    def calibrate(cls, labels: int, epsilon: Fraction, delta: Delta) -> WeightedSelection:
        """The least noise that is proven for (ε, δ), and its threshold."""
        sigma2 = _sigma2_for(labels, epsilon, delta)
        return cls(sigma2, least_weight(labels, sigma2, delta), labels, delta, epsilon)

    @classmethod
    def for_rho(cls, labels: int, rho: Fraction, delta: Delta) -> WeightedSelection:
        """The least noise for ρ, and its threshold."""
        sigma2 = gaussian.gaussian_sigma2(rho, WHOLE**2)
        return cls(sigma2, least_weight(labels, sigma2, delta), labels, delta)

    @property
    def noise(self) -> DiscreteGaussian:
        """The law of the noise."""
        return DiscreteGaussian(self.sigma2)

    @property
    def scale(self) -> Fraction:
        """σ, where a unit of one label weighs 1; for display."""
        return self.noise.scale / WHOLE

    def release(self, exact: Found) -> list[Any]:
        """The released labels, in the order given."""
        told = self.passing(exact)
        return [(label, (1,)) for label in exact.labels([place for place, _ in told])]

    def passing(self, exact: Found) -> list[tuple[int, int]]:
        """Places of the released labels, each with a 1: how heavy they are isn't released."""
        noisy = self.noise.release(exact.integers[:, 0].tolist())
        return [(place, 1) for place, total in enumerate(noisy) if total >= self.least]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε or ρ, and δ."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.epsilon), self.delta)
        return Loss(rho=Rho(self.noise.rho(WHOLE**2)), delta=self.delta)

    def dummy_output(self, size: int) -> list[Any]:
        return []

    def released_from(self, confidence: float) -> int:
        """The least number of units at which a label is proven to be released with this
        probability, if each has as many labels as it can: fewer weigh more."""
        each, enough = weight(self.labels), Fraction(confidence)

        def passes(units: int) -> bool:
            beyond = self.least - units * each
            found = gaussian.discrete_gaussian_tail(self.sigma2, beyond, LARGE_DIGITS)
            return Fraction(found.low) >= enough

        guess = self.least + NormalDist().inv_cdf(confidence) * math.sqrt(self.sigma2)
        return least_near(math.ceil(guess / each), passes)

    @property
    def half(self) -> int:
        """The least number of units at which such a label is released at least as often as not:
        the noise is symmetric."""
        return -(-self.least // weight(self.labels))


@lru_cache(maxsize=256)
def _sigma2_for(labels: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """A σ², in steps of the grid, at which (ε, δ) is proven for a unit of at most so many labels.

    That of the continuous Gaussian for a slightly smaller ε and δ, which pay for discrete noise;
    and no less than is needed for δ to be convex in the squared shift, so that one δ serves for
    the noise and for the threshold (docs/proofs/weighted_selection.md).
    """
    first = gaussian.analytic_sigma2(epsilon, delta, 1)  # the corrections at it bound those after
    less = epsilon - Fraction(math.isqrt(labels) + 1, 2 * WHOLE) / first
    fewer = delta * (1 - Fraction(labels, 24 * WHOLE**2) / first)
    square = Enclosure.of(less * less + 1, LARGE_DIGITS).sqrt()
    convex = rounded(((square + 1) / (2 * less * less)).high, SHORT, up=True)
    return max(first, gaussian.analytic_sigma2(less, fewer, 1), convex) * WHOLE**2


@lru_cache(maxsize=256)
def least_weight(labels: int, sigma2: Fraction, delta: Fraction) -> int:
    """The least threshold T that is proven: for all t up to ``labels``, t labels that only one unit
    has reach it with probabilities that sum to at most δ.

    t = 1 or all labels is the worst, if T is more than twice the weight of one label. The tail of
    the discrete Gaussian is at most exp(1/(24σ²)) times that of the rounded continuous one.
    """
    if not 0 < delta < Fraction(1, 4):
        raise QueryError(f"delta={delta} must lie between 0 and 1/4. Write delta=1e-6.")
    sigma = Enclosure.of(sigma2, LARGE_DIGITS).sqrt()
    factor = Enclosure.of(1 / (24 * sigma2), LARGE_DIGITS).exp() / (pi(LARGE_DIGITS) * 2).sqrt()
    heaviest = [(t, Enclosure.of(t, LARGE_DIGITS).sqrt()) for t in {1, labels}]

    def keeps(least: int) -> bool:
        for t, root in heaviest:
            away = (-(Enclosure.of(WHOLE, LARGE_DIGITS) / root) + least - Fraction(1, 2)) / sigma
            if Fraction((normal_tail(away) * factor * t).high) > delta:
                return False
        return True

    normal = NormalDist(0, math.sqrt(sigma2))
    guess = max(WHOLE / t**0.5 - normal.inv_cdf(float(delta) / t) for t, _ in heaviest)
    return max(2 * WHOLE + 1, least_near(round(guess), keeps))


# --- which selection is used: by public facts -----------------------------------------------------


def can_select(asked: LossRequest) -> bool:
    """Whether labels can be selected at this loss; if not, `mechanism` says what is missing."""
    named = asked.rho is not None or (asked.epsilon is not None and asked.noise == "laplace")
    return named and bool(asked.delta)


def alone(asked: LossRequest, labels: int) -> WeightedSelection:
    """A selection of labels alone, for units of at most so many. An ε where ρ is counted costs the
    ρ of `PartitionSelection`."""
    if asked.rho is not None:
        return WeightedSelection.for_rho(labels, asked.rho, asked.delta)
    epsilon, delta = loss_asked(asked)
    by_units = PartitionSelection.calibrate(labels, epsilon, delta)
    return _charged_as(by_units, asked.measure, labels, epsilon, delta)


def is_better_alone(asked: LossRequest, labels: int) -> bool:
    """Whether labels need fewer units so, where each unit has as many labels as it can. For a ρ
    there is no other way. Where (ε, δ) is counted, nothing beats the curve of one label a unit."""
    if asked.rho is not None:
        return True
    if labels == 1 and asked.measure is not Measure.ZCDP:
        return False
    by_units = PartitionSelection.calibrate(labels, *loss_asked(asked))
    return alone(asked, labels).half < by_units.released_from(0.5)


def of_keys(asked: LossRequest, labels: int) -> WeightedSelection:
    """A selection of labels whose rows are asked about besides, with half of the loss. An ε where ρ
    is counted costs the ρ of a threshold on their counts."""
    if asked.rho is not None:
        return WeightedSelection.for_rho(labels, asked.rho / 2, asked.delta)
    epsilon, delta = loss_asked(asked)
    by_rows = Threshold.calibrate(labels, epsilon / 2, delta)
    return _charged_as(by_rows, asked.measure, labels, epsilon / 2, delta)


def is_better_of_keys(asked: LossRequest, labels: int) -> bool:
    """Whether labels need fewer units so than with a threshold on counts of rows, where each row of
    a unit has another label. Who names Laplace noise gets the threshold."""
    if asked.rho is not None:
        return True
    epsilon, delta = loss_asked(asked)
    by_rows = Threshold.calibrate(labels, epsilon / 2, delta)
    return asked.named != by_rows.word and of_keys(asked, labels).half < by_rows.least


def _charged_as(
    other: Mechanism, measure: Measure, labels: int, epsilon: Fraction, delta: Delta
) -> WeightedSelection:
    """A weighted selection that is charged what another mechanism with this ε and δ is."""
    if measure is not Measure.ZCDP:
        return WeightedSelection.calibrate(labels, epsilon, delta)
    moved = Sensitivity(labels, labels * labels, labels, monotone=True)
    return WeightedSelection.for_rho(labels, other.cost(measure, moved).rho, delta)
