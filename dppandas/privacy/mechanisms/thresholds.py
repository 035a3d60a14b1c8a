"""Which labels that nobody declared may be told, under a δ.

That a label occurs at all may be known from one person's rows. So it is told only where that
person's rows alone would bring it over the threshold with a probability of at most δ. All bounds
here are decided by decimals with proven error, never by floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...errors import MissingArgument, QueryError
from ..accounting.enclosures import Interval, contexts, exp_interval
from ..accounting.losses import Delta, Loss
from ..accounting.measures import LossRequest, Measure
from .base import Sensitivity
from .conditional import ThresholdedNoise
from .noise import DiscreteLaplace

#: What is exact of a label: its parts, one for each column, and integers; by the label's name, in
#: an order that follows from the labels: never in that of the rows.
Found = Mapping[str, tuple[tuple[Any, ...], tuple[int, ...]]]
#: What is told of a label.
Told = tuple[tuple[Any, ...], tuple[int, ...]]


def loss_asked(
    asked: LossRequest, what: str = "keys that nobody declared", found: str = "are found"
) -> tuple[Fraction, Delta]:
    """The ε and δ of a release that finds labels, or tests a value."""
    if asked.epsilon is None or asked.noise != "laplace":
        raise QueryError(
            f"{what} {found} by Laplace noise: give epsilon= and delta=, "
            "without rho= or mechanism=."
        )
    if not asked.delta:
        raise MissingArgument(f"delta= is needed for {what}: delta=1e-6.")
    return asked.epsilon, asked.delta


# --- counts above a threshold ---------------------------------------------------------------------


@dataclass(frozen=True)
class Threshold:
    """Adds discrete Laplace noise to the count of each label that occurs, and tells label and
    noisy count where the latter is at least `least`.

    *Guarantee*: (ε, δ) with ε = rows / scale for a unit of so many rows, and the δ for which
    `least` was chosen (docs/proofs/thresholds.md).

    >>> Threshold.calibrate(1, Fraction(1), Delta("1e-5")).least
    13
    """

    scale: Fraction
    least: int
    delta: Delta

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> Threshold:
        """The least noise and threshold for a unit of so many rows."""
        scale = rows / epsilon
        return cls(scale, least_threshold(rows, scale, delta), delta)

    @property
    def name(self) -> str:
        """With the threshold, which is public."""
        return f"discrete Laplace, told from {self.least}"

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each count's noise."""
        return DiscreteLaplace(self.scale)

    @property
    def passed(self) -> ThresholdedNoise:
        """The law of a noisy count that is told."""
        return ThresholdedNoise(self.scale, self.least)

    def release(self, exact: Found) -> list[Any]:
        """Labels and noisy counts from the threshold on, in the order given."""
        return [(exact[name][0], (count,)) for name, count in self.passing(exact)]

    def passing(self, exact: Found) -> list[tuple[str, int]]:
        """Names and noisy counts of the labels told."""
        noisy = self.noise.release([integers[0] for _, integers in exact.values()])
        pairs = zip(exact, noisy, strict=True)
        return [(name, count) for name, count in pairs if count >= self.least]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The loss of the noise, and all of δ."""
        loss = self.noise.cost(measure, sensitivity)
        return Loss(loss.epsilon, self.delta, loss.rho)

    def dummy_output(self, size: int) -> list[Any]:
        return []


@dataclass(frozen=True)
class KeyedNoise:
    """A threshold on the counts of labels, then noise on more integers of the labels told.

    *Guarantee*: that of the threshold, and that of the noise: for whichever labels are told, the
    integers are those of declared keys (adaptive composition; docs/proofs/thresholds.md).
    """

    keys: Threshold
    values: DiscreteLaplace
    sensitivities: tuple[Sensitivity, Sensitivity]

    @property
    def name(self) -> str:
        return f"{self.keys.name}, then discrete Laplace"

    @property
    def scale(self) -> Fraction:
        """Of the noise of the integers."""
        return self.values.scale

    def release(self, exact: Found) -> list[Any]:
        """Labels, noisy counts and noisy integers."""
        told = self.keys.passing(exact)
        flat = self.values.release([x for name, _ in told for x in exact[name][1][1:]])
        size = len(flat) // len(told) if told else 0
        return [
            (exact[name][0], (count, *flat[i * size : (i + 1) * size]))
            for i, (name, count) in enumerate(told)
        ]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """Both losses together, in one charge."""
        keys, values = self.sensitivities
        return self.keys.cost(measure, keys) + self.values.cost(measure, values)

    def dummy_output(self, size: int) -> list[Any]:
        return []


@lru_cache(maxsize=256)
def least_threshold(rows: int, scale: Fraction, delta: Fraction) -> int:
    """The least T for which no unit of so many rows brings labels of its own over T with a
    probability above δ, however it spreads its rows: exact.

    The chance that a label with n rows stays below T is 1 - a^(T-n)/(1+a), whose negative
    logarithm is convex in n. So the worst split is all rows on one label, or each on its own.
    """
    if not 0 < delta < Fraction(1, 4):
        raise QueryError(f"delta={delta} must lie between 0 and 1/4.")
    low, step = rows, 1  # at T = rows a label of so many rows passes with probability 1/(1+a)
    while not _keeps(low + step, rows, scale, delta):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _keeps(middle, rows, scale, delta) else (middle, high)
    return high


def _keeps(threshold: int, rows: int, scale: Fraction, delta: Fraction) -> bool:
    """Whether both worst splits stay within δ. As e to a rational power is transcendental no
    probability equals δ, and enough digits decide."""
    splits = {(1, rows), (rows, 1)}
    return all(_stays_below(threshold - n, labels, scale, delta) for labels, n in splits)


def _stays_below(tail: int, labels: int, scale: Fraction, delta: Fraction) -> bool:
    """Whether 1 - (1 - P[Z ≥ tail])^labels ≤ δ, for tail ≥ 1: by logarithms of both sides."""
    digits = 40 + len(str(labels)) + len(str(delta.denominator))
    while True:
        down, up = contexts(digits)
        low, high = exp_interval(tail / scale, digits)
        a_low, a_high = exp_interval(1 / scale, digits)
        one = Decimal(1)
        p = (
            down.divide(low, up.add(one, a_high)),
            up.divide(high, down.add(one, a_low)),
        )
        stay = (
            down.multiply(labels, _ln(down.subtract(one, p[1]), digits)[0]),
            up.multiply(labels, _ln(up.subtract(one, p[0]), digits)[1]),
        )
        need = 1 - delta
        bound = (
            _ln(down.divide(need.numerator, need.denominator), digits)[0],
            _ln(up.divide(need.numerator, need.denominator), digits)[1],
        )
        if stay[0] >= bound[1]:
            return True
        if stay[1] < bound[0]:
            return False
        digits *= 2


def _ln(x: Decimal, digits: int) -> Interval:
    """Around ln x; `decimal` rounds ln correctly, so a neighbour encloses it."""
    down, up = contexts(digits)
    return down.next_minus(down.ln(x)), up.next_plus(up.ln(x))


# --- a value that is far from changing ------------------------------------------------------------


@dataclass(frozen=True)
class ProposeTestRelease:
    """Adds discrete Laplace noise to a value's distance, and tells the value where the sum is at
    least `least`: the exact value, or nothing.

    The distance moves by at most `rows` with a unit, and is at most rows - 1 where the unit changes
    the value.

    *Guarantee*: (ε, δ) with ε = rows / scale, and the δ for which `least` was chosen (Dwork and
    Lei, STOC 2009; docs/proofs/propose_test_release.md).

    >>> ProposeTestRelease.calibrate(1, Fraction(1), Delta("1e-5")).least
    12
    """

    scale: Fraction
    least: int
    delta: Delta

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> ProposeTestRelease:
        """The least noise and threshold T for a unit of so many rows: P[Z ≥ T - (rows-1)] ≤ δ.

        For one row `least_threshold` is 1 more than the least t with P[Z ≥ t] ≤ δ.
        """
        scale = rows / epsilon
        return cls(scale, least_threshold(1, scale, delta) - 1 + rows - 1, delta)

    @property
    def name(self) -> str:
        """With the threshold, which is public."""
        return f"propose-test-release, told from {self.least}"

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of the distance's noise."""
        return DiscreteLaplace(self.scale)

    def release(self, exact: tuple[Any, int]) -> list[Any]:
        """The value alone, or nothing."""
        value, distance = exact
        (noisy,) = self.noise.release([distance])
        return [value] if noisy >= self.least else []

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The loss of the noise, and all of δ."""
        loss = self.noise.cost(measure, sensitivity)
        return Loss(loss.epsilon, self.delta, loss.rho)

    def dummy_output(self, size: int) -> list[Any]:
        return []

    def released_from(self, confidence: float) -> int:
        """From which distance on the value is told with this probability, or more.

        P[Z ≥ -w] = 1 - P[|Z| > w] / 2.
        """
        return self.least + (self.noise.half_width(2 * confidence - 1) if confidence > 0.5 else 0)
