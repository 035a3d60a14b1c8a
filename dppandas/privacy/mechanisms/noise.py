"""Additive noise for integers: the discrete Laplace and the discrete Gaussian mechanism."""

from __future__ import annotations

import math
import operator
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError
from ..accounting import conversions, gaussian
from ..accounting.enclosures import DIGITS, Enclosure
from ..accounting.losses import Delta, Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from ..sampling import samplers
from .base import Mechanism, Sensitivity


class AdditiveNoise(RecordPart, ABC):
    """Independent noise of one law on each integer."""

    @abstractmethod
    def _noise(self, size: int) -> npt.NDArray[Any]:
        """`size` independent draws."""

    def release(self, integers: Sequence[int]) -> list[int]:
        """The integers, each with its own noise."""
        return list(map(operator.add, integers, self._noise(len(integers)).tolist()))

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size


@dataclass(frozen=True)
class DiscreteLaplace(AdditiveNoise):
    """Adds independent integers Z, P[Z = z] = (1-a)/(1+a) a^|z|, a = exp(-1/scale), to each entry.

    *Guarantee*: pure ε = sensitivity / scale for a vector of integers of that ℓ1 sensitivity
    (Ghosh, Roughgarden and Sundararajan, STOC 2009; proof: docs/proofs/discrete_laplace.md).

    >>> DiscreteLaplace.calibrate(1, Fraction(1, 10)).half_width(0.95)
    30
    """

    scale: Fraction

    name = "discrete Laplace"
    word = "laplace"

    @classmethod
    def calibrate(cls, sensitivity: int, epsilon: Fraction) -> Self:
        """The least noise for an ℓ1 sensitivity. A sensitivity of 0 gets no noise."""
        return cls(Fraction(sensitivity * epsilon.denominator, epsilon.numerator))

    def loss(self, sensitivity: int) -> Fraction:
        """The exact ε of one release; integers that can't differ cost nothing."""
        if not sensitivity:
            return Fraction(0)
        return Fraction(sensitivity * self.scale.denominator, self.scale.numerator)

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε; or where ρ is counted, the tight ρ of this noise, which for fine integers is bounded
        by that of coarser ones (docs/proofs/discrete_laplace.md)."""
        epsilon = self.loss(sensitivity.l1)
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(epsilon))
        if sensitivity.l1 > conversions.FINE:
            return Loss(rho=Rho(conversions.rho_of_fine_laplace(epsilon)))
        return Loss(rho=Rho(conversions.rho_of_laplace(sensitivity.l1, self.scale)))

    def _noise(self, size: int) -> npt.NDArray[Any]:
        if not self.scale:
            return np.zeros(size, dtype=np.int64)
        return samplers.discrete_laplace_vector(self.scale, size)

    @lru_cache(maxsize=256)  # noqa: B019 - of a frozen law, which holds nothing but its scale
    def half_width(self, confidence: float, entries: int = 1) -> int:
        """The least w with P[all of `entries` noises within ±w] ≥ confidence.

        P[|Z| > w] = 2 a^(w+1) / (1+a), and the noises are independent.
        """
        if not self.scale:
            return 0
        rate = 1 / float(self.scale)
        beta = -math.expm1(math.log(confidence) / entries)
        log_tail = math.log(2) - math.log1p(math.exp(-rate))

        def enough(w: int) -> bool:
            return log_tail - rate * (w + 1) <= math.log(beta)

        w = max(0, math.ceil((log_tail - math.log(beta)) / rate - 1))
        step = max(1, w >> 45)  # floats of this size have no finer steps
        while w > 0 and enough(w - step):
            w -= step
        while not enough(w):
            w += step
        return w

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        """A w with P[the sum of `terms` noises is beyond ±w] ≤ risk, by Chernoff's bound."""
        if not self.scale:
            return 0
        return chernoff(self.log_moment, 1 / float(self.scale), terms, risk) - 1

    def log_moment(self, t: float) -> float:
        """ln E[exp(tZ)] = 2 ln(1-a) - ln(1-a e^t) - ln(1-a e^-t) for 0 < t < 1/scale."""
        rate = 1 / float(self.scale)
        near, far = (math.log(-math.expm1(exponent - rate)) for exponent in (t, -t))
        return 2 * math.log(-math.expm1(-rate)) - near - far


def chernoff(log_moment: Callable[[float], float], fastest: float, terms: int, risk: float) -> int:
    """An m with P[|sum of `terms` noises| ≥ m] ≤ risk.

    Every t below ``fastest`` gives a bound: P[|sum| ≥ m] ≤ 2 exp(terms · ln E[exp(tZ)] - tm).
    """

    @cache
    def bound(power: int) -> float:
        t = fastest * (1 - 0.5**8) * 0.93**power
        return (terms * log_moment(t) + math.log(2 / risk)) / t

    near = min(range(0, 240, 8), key=bound)  # they fall to the least, and rise from there
    best = min(map(bound, range(max(0, near - 7), near + 8)))
    return math.ceil(best * (1 + 2.0**-30))


@dataclass(frozen=True)
class DiscreteGaussian(AdditiveNoise):
    """Adds independent integers Z, P[Z = z] ∝ exp(-z²/(2σ²)), to each entry.

    *Guarantee*: ρ-zCDP with ρ = s/(2σ²) for a vector of integers whose squared ℓ2 sensitivity is
    s (Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020,
    Theorem 14; proof: docs/proofs/discrete_gaussian.md).

    >>> DiscreteGaussian.calibrate(1, Fraction(1, 200)).half_width(0.95)
    20
    """

    sigma2: Fraction
    epsilon: Fraction = Fraction(0)  # at which its δ is stated, where (ε, δ) is counted
    alone: bool = False  # whether neighbours differ in a single number

    name = "discrete Gaussian"
    word = "gaussian"

    @classmethod
    def calibrate(cls, sensitivity2: Fraction | int, rho: Fraction) -> DiscreteGaussian:
        """The least noise for a squared ℓ2 sensitivity. A sensitivity of 0 gets no noise."""
        return cls(gaussian.gaussian_sigma2(rho, sensitivity2))

    @property
    def scale(self) -> Fraction:
        """σ to float precision, for display: nothing is computed from it."""
        return Fraction(math.sqrt(self.sigma2))

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ρ; or ε with the δ that is proven for it."""
        if measure is Measure.ZCDP:
            return Loss(rho=Rho(self.rho(sensitivity.l2_squared)))
        if not self.sigma2:
            return Loss()
        noise = self.sigma2, sensitivity.l2_squared, self.epsilon, self.alone
        return Loss(Epsilon(self.epsilon), Delta(gaussian.delta_of_gaussian(*noise)))

    def rho(self, sensitivity2: Fraction | int) -> Fraction:
        """The exact ρ of one release; integers that can't differ cost nothing."""
        return gaussian.gaussian_rho(self.sigma2, sensitivity2)

    def _noise(self, size: int) -> npt.NDArray[Any]:
        if not self.sigma2:
            return np.zeros(size, dtype=np.int64)
        return samplers.discrete_gaussian_vector(self.sigma2, size)

    def half_width(self, confidence: float, entries: int = 1) -> int:
        """The least w for which P[all of `entries` noises within ±w] ≥ confidence is proven.

        P[|Z| > w] = 2 P[Z ≥ w+1], enclosed by decimals, and the noises are independent.
        """
        return _gaussian_half_width(self.sigma2, confidence, entries) if self.sigma2 else 0

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        """A w with P[the sum of `terms` noises is beyond ±w] ≤ risk, by Chernoff's bound.

        E[exp(tZ)] ≤ exp(t²σ²/2), so that P[|sum| ≥ m] ≤ 2 exp(-m²/(2σ² · terms)).
        """
        least = math.sqrt(self.sigma2 * 2 * terms) * math.sqrt(math.log(2 / risk))
        return max(0, math.ceil(least * (1 + 2.0**-30)) - 1)

    def log_moment(self, t: float) -> float:
        """At least ln E[exp(tZ)]: t²σ²/2 (Canonne, Kamath and Steinke, NeurIPS 2020)."""
        return t * t * float(self.sigma2) / 2


@lru_cache(maxsize=4096)
def _gaussian_half_width(sigma2: Fraction, confidence: float, entries: int) -> int:
    digits = conversions.LARGE_DIGITS if sigma2 > gaussian.SUMMED else DIGITS
    log = Enclosure.of(Fraction(confidence), digits).ln() / entries
    beta = (-log.exp() + 1).low

    def enough(w: int) -> bool:
        return (gaussian.discrete_gaussian_tail(sigma2, w + 1, digits) * 2).high <= beta

    # Start where the normal law has this tail: at w + 1/2.
    guess = -statistics.NormalDist().inv_cdf(max(float(beta), 1e-300) / 2) * math.sqrt(sigma2)
    return conversions.least_near(max(0, round(guess - 0.5)), enough)


@dataclass(frozen=True)
class Within:
    """Noises that certainly lie within ± most, to ask what follows from that."""

    most: int

    def half_width(self, confidence: float, entries: int = 1) -> int:
        return self.most

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        return terms * self.most


def additive(asked: LossRequest, sensitivity: Sensitivity, alone: bool) -> Mechanism:
    """The least noise of the kind asked for; ``alone`` where the answer is a single number."""
    if asked.noise == "laplace":
        if asked.epsilon is None:
            raise QueryError(
                "rho= is for Gaussian noise. Leave mechanism= out, or give epsilon= for Laplace "
                "noise, which is charged its own ρ."
            )
        return DiscreteLaplace.calibrate(sensitivity.l1, asked.epsilon)
    if asked.rho is not None:
        return DiscreteGaussian.calibrate(sensitivity.l2_squared, asked.rho)
    epsilon, l2_squared = asked.epsilon or Epsilon(0), sensitivity.l2_squared
    sigma2 = gaussian.gaussian_sigma2_for(epsilon, asked.delta, l2_squared, alone)
    return DiscreteGaussian(sigma2, epsilon, alone)
