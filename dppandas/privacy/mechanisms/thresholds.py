"""Thresholds: which undeclared labels, and which tested values, may be released under a δ.

That a label occurs at all can be known from one person's rows. So a label is released only above a
threshold that one person's rows alone pass with a probability of at most δ. Decimals with a proven
error decide all bounds here, never floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import MissingArgument, QueryError
from ..accounting.conversions import least_from
from ..accounting.enclosures import Enclosure
from ..accounting.losses import Delta, Loss
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from .base import Mechanism, ReleaseThreshold, Sensitivity
from .conditional import ThresholdedNoise
from .noise import DiscreteGaussian, DiscreteLaplace


class Found(Protocol):
    """The exact integers of each label. The order follows from the labels, never from the rows."""

    @property
    def integers(self) -> npt.NDArray[Any]:
        """A line for each label."""

    def labels(self, places: Sequence[int]) -> Sequence[tuple[Any, ...]]:
        """The labels at some places, with one value for each column."""


#: A released label and its noisy integers.
Told = tuple[tuple[Any, ...], tuple[int, ...]]

KEYS = "keys from the data"


def loss_asked(
    asked: LossRequest, what: str = KEYS, found: str = "are found"
) -> tuple[Fraction, Delta]:
    """The ε and δ of a release that finds labels or tests a value."""
    epsilon = asked.laplace_epsilon(f"{what} {found} by Laplace noise", "epsilon= and delta=")
    if not asked.delta:
        raise missing_delta(what)
    return epsilon, asked.delta


def missing_delta(what: str = KEYS) -> MissingArgument:
    """What to say where a release needs a δ, and none was given."""
    return MissingArgument(f"delta= is needed for {what}, such as delta=1e-6.")


@dataclass(frozen=True)
class _NoisyThreshold:
    """Releases something where an integer plus discrete Laplace noise is at least `least`."""

    scale: Fraction
    least: int
    delta: Delta

    word = ""

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of the noise."""
        return DiscreteLaplace(self.scale)

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The loss of the noise, and all of δ."""
        loss = self.noise.cost(measure, sensitivity)
        return Loss(loss.epsilon, self.delta, loss.rho)

    def dummy_output(self, size: int) -> list[Any]:
        return []


# --- counts above a threshold ---------------------------------------------------------------------


class Threshold(_NoisyThreshold, RecordPart):
    """Adds discrete Laplace noise to the count of each label that occurs, and releases the label
    and its noisy count where the latter is at least `least`.

    *Guarantee*: (ε, δ) with ε = rows / scale for a unit of `rows` rows, and the δ for which
    `least` was chosen (docs/proofs/thresholds.md).

    >>> Threshold.calibrate(1, Fraction(1), Delta("1e-5")).least
    13
    """

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> Threshold:
        """The least noise and threshold for a unit of `rows` rows."""
        scale = rows / epsilon
        return cls(scale, least_threshold(rows, scale, delta), delta)

    word = "laplace"

    @property
    def name(self) -> str:
        return "discrete Laplace"

    @property
    def threshold(self) -> ReleaseThreshold:
        """From which noisy count on a label is released."""
        return ReleaseThreshold(self.least, "count")

    @property
    def passed(self) -> ThresholdedNoise:
        """The law of a noisy count that is released."""
        return ThresholdedNoise(self.scale, self.least)

    def release(self, exact: Found) -> list[Any]:
        """The labels whose noisy counts reach the threshold, and these, in the order given."""
        told = self.passing(exact)
        released = zip(exact.labels([place for place, _ in told]), told, strict=True)
        return [(label, (count,)) for label, (_, count) in released]

    def passing(self, exact: Found) -> list[tuple[int, int]]:
        """Places and noisy counts of the released labels."""
        noisy = self.noise.release(exact.integers[:, 0].tolist())
        return [(place, count) for place, count in enumerate(noisy) if count >= self.least]


class KeySelection(Mechanism, Protocol):
    """Decides which labels are released, by the first integer of each."""

    @property
    def threshold(self) -> ReleaseThreshold | None:
        """From which noisy count on a label is released, if counts decide."""

    def passing(self, exact: Found) -> list[tuple[int, int]]:
        """Places of the released labels, each with what is released of its first integer."""


@dataclass(frozen=True)
class KeyedNoise(RecordPart):
    """A selection of labels, then noise on more integers of the released labels.

    *Guarantee*: that of the selection plus that of the noise: given the released labels, the
    integers are those of declared keys (adaptive composition; docs/proofs/thresholds.md).
    """

    keys: KeySelection
    values: DiscreteLaplace | DiscreteGaussian
    sensitivities: tuple[Sensitivity, Sensitivity]

    @property
    def name(self) -> str:
        return f"{self.keys.name}, then {self.values.name}"

    @property
    def word(self) -> str:
        return self.keys.word

    @property
    def threshold(self) -> ReleaseThreshold | None:
        """From which noisy count on a label is released, if counts decide."""
        return self.keys.threshold

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the integers."""
        return self.values.scale

    def release(self, exact: Found) -> list[Any]:
        """Labels, noisy counts and noisy integers."""
        told = self.keys.passing(exact)
        places = [place for place, _ in told]
        own = exact.integers[places, 1:]
        flat, size = self.values.release(own.reshape(-1).tolist()), own.shape[1]
        released = zip(exact.labels(places), told, strict=True)
        return [
            (label, (count, *flat[i * size : (i + 1) * size]))
            for i, (label, (_, count)) in enumerate(released)
        ]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """Both losses together, in one charge."""
        keys, values = self.sensitivities
        return self.keys.cost(measure, keys) + self.values.cost(measure, values)

    def dummy_output(self, size: int) -> list[Any]:
        return []


@lru_cache(maxsize=256)
def least_threshold(rows: int, scale: Fraction, delta: Fraction) -> int:
    """The exact least T such that a unit of `rows` rows, however spread over labels that only it
    has, brings one of these to T with a probability of at most δ.

    The chance that a label with n rows stays below T is 1 - a^(T-n)/(1+a), whose negative
    logarithm is convex in n. So the worst split is all rows on one label, or each on its own.
    """
    if not 0 < delta < Fraction(1, 4):
        raise QueryError(f"delta={delta} must lie between 0 and 1/4. Write delta=1e-6.")

    def keeps(threshold: int) -> bool:
        splits = {(1, rows), (rows, 1)}
        return all(_stays_below(threshold - n, labels, scale, delta) for labels, n in splits)

    # at T = rows a label of `rows` rows passes with probability 1/(1+a), which is more than 1/2
    return least_from(rows, keeps)


def _stays_below(tail: int, labels: int, scale: Fraction, delta: Fraction) -> bool:
    """Whether 1 - (1 - P[Z ≥ tail])^labels ≤ δ, for tail ≥ 1: by logarithms of both sides. e to a
    rational power is transcendental, so both differ, and enough digits decide."""
    digits = 40 + len(str(labels)) + len(str(delta.denominator))
    while True:
        beyond = Enclosure.of(-tail / scale, digits).exp()
        p = beyond / (Enclosure.of(-1 / scale, digits).exp() + 1)
        stay, need = (-p + 1).ln() * labels, Enclosure.of(1 - delta, digits).ln()
        if stay.low >= need.high:
            return True
        if stay.high < need.low:
            return False
        digits *= 2


# --- a value that is far from changing ------------------------------------------------------------


class ProposeTestRelease(_NoisyThreshold, RecordPart):
    """Adds discrete Laplace noise to a value's distance, and releases the exact value where the sum
    is at least `least`; else nothing.

    A unit moves the distance by at most `rows`, and the distance is at most rows - 1 where the unit
    changes the value.

    *Guarantee*: (ε, δ) with ε = rows / scale, and the δ for which `least` was chosen (Dwork and
    Lei, STOC 2009; docs/proofs/propose_test_release.md).

    >>> ProposeTestRelease.calibrate(1, Fraction(1), Delta("1e-5")).least
    12
    """

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> ProposeTestRelease:
        """The least noise and threshold T for a unit of `rows` rows: P[Z ≥ T - (rows-1)] ≤ δ.

        For one row `least_threshold` is 1 more than the least t with P[Z ≥ t] ≤ δ.
        """
        scale = rows / epsilon
        return cls(scale, least_threshold(1, scale, delta) - 1 + rows - 1, delta)

    @property
    def name(self) -> str:
        return "propose-test-release"

    @property
    def threshold(self) -> ReleaseThreshold:
        """From which noisy distance on the value is released."""
        return ReleaseThreshold(self.least, "distance")

    def release(self, exact: tuple[Any, int]) -> list[Any]:
        """The value alone, or an empty list."""
        value, distance = exact
        (noisy,) = self.noise.release([distance])
        return [value] if noisy >= self.least else []

    def released_from(self, confidence: float) -> int:
        """A distance from which on the value is released with at least this probability.

        P[Z ≥ -w] = 1 - P[|Z| > w] / 2.
        """
        return self.least + (self.noise.half_width(2 * confidence - 1) if confidence > 0.5 else 0)
