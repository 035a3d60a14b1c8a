"""The laws of noises, to look at: probabilities and tails of whole numbers of steps, as floats.

They are right to float precision, on either side. Intervals and losses, which must be proven, are
bounded elsewhere.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from ..mechanisms.smooth import PARTS, PolyPlace
from ..mechanisms.thresholds import KeyedNoise, Threshold
from .combined import SUMMED, variance

Floats = npt.NDArray[np.float64]

#: A discrete Gaussian has no probability in floats beyond so many standard deviations.
FARTHEST = 40
#: From this σ on, Σ exp(-z²/2σ²) over all whole z and ∫ exp(-z²/2σ²) dz are the same float.
SMOOTH = 3
#: How much a tail may be larger than asked for, so that the tail at a value leads to this value.
ROUNDED = 1 + 2.0**-40


class NoiseLaw(ABC):
    """The law of a noise that is symmetric around 0."""

    #: Whether it takes whole numbers alone.
    is_discrete: ClassVar[bool] = True
    variance: float

    @abstractmethod
    def log_density(self, at: Floats) -> Floats:
        """The logarithm of the probability of whole numbers, or of the density."""

    @abstractmethod
    def tail(self, at: Floats) -> Floats:
        """P[Z ≥ at], for numbers above 0."""

    @abstractmethod
    def reach(self, chance: float) -> float:
        """The least z ≥ 0 with P[Z > z] ≤ chance, for chances up to 1/2."""


class WholeLaw(NoiseLaw):
    """A noise of whole numbers."""

    def reach(self, chance: float) -> float:
        """By bisection, as tails fall."""
        if not chance:
            return math.inf
        low, high = -1, 1

        def is_enough(z: int) -> bool:
            return float(self.tail(np.array([z + 1.0]))[0]) <= chance * ROUNDED

        while not is_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle, high)
        return float(high)


class NoNoise(WholeLaw):
    """That of numbers which no row changes."""

    variance = 0.0

    def log_density(self, at: Floats) -> Floats:
        return np.where(at == 0, 0.0, -math.inf)

    def tail(self, at: Floats) -> Floats:
        return np.zeros(at.shape)


class LaplaceLaw(WholeLaw):
    """P[Z = z] = (1-a)/(1+a) a^|z| and, for z > 0, P[Z ≥ z] = a^z/(1+a), with a = exp(-1/scale)."""

    def __init__(self, law: DiscreteLaplace) -> None:
        self.rate, self.variance = 1 / float(law.scale), variance(law)

    def log_density(self, at: Floats) -> Floats:
        return np.asarray(math.log(math.tanh(self.rate / 2)) - self.rate * np.abs(at))

    def tail(self, at: Floats) -> Floats:
        return np.asarray(np.exp(-self.rate * at) / (1 + math.exp(-self.rate)))


class GaussianLaw(WholeLaw):
    """P[Z = z] = exp(-z²/2σ²)/W, where W is the sum of exp(-z²/2σ²) over all whole z."""

    def __init__(self, law: DiscreteGaussian) -> None:
        self.sigma, self.variance = math.sqrt(law.sigma2), variance(law)

    @cached_property
    def _log_whole(self) -> float:
        """ln W, where W is σ√(2π) (1 + 2 exp(-2π²σ²) + …) by Poisson's summation formula."""
        if self.sigma > SMOOTH:
            return math.log(self.sigma * math.sqrt(2 * math.pi))
        z = np.arange(1, SMOOTH * FARTHEST + 1)
        return math.log1p(2 * float(np.exp(-((z / self.sigma) ** 2) / 2).sum()))

    @cached_property
    def _tails(self) -> Floats:
        """P[Z ≥ z] for z = 0, 1, …, added up from the far end."""
        z = np.arange(math.ceil(FARTHEST * self.sigma) + 2, dtype=np.float64)
        return np.append(np.cumsum(np.exp(self.log_density(z))[::-1])[::-1], 0.0)

    def log_density(self, at: Floats) -> Floats:
        return np.asarray(-((at / self.sigma) ** 2) / 2 - self._log_whole)

    def tail(self, at: Floats) -> Floats:
        """The sum; where it is long its Euler-Maclaurin expansion at m - 1/2, which is the integral
        from there, and 1/24 and -7/5760 of the first and the third derivative."""
        if self.sigma <= SUMMED:
            return self._tails[np.minimum(at, len(self._tails) - 1).astype(np.int64)]
        x, step2 = np.minimum((at - 0.5) / self.sigma, FARTHEST), self.sigma**-2
        integral = [math.erfc(each / math.sqrt(2)) / 2 for each in x.ravel().tolist()]
        height = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        first, third = -x * height * step2, (3 * x - x**3) * height * step2**2
        return np.asarray(np.reshape(integral, x.shape) + first / 24 - third * 7 / 5760)


class PolynomialLaw(NoiseLaw):
    """The density 3/2 (1+|z|)^-4, with P[Z ≥ z] = (1+z)^-3 / 2 for z > 0; its variance, which is
    ∫ 3z² (1+z)^-4 dz from 0 on, is 1."""

    is_discrete = False
    variance = 1.0

    def log_density(self, at: Floats) -> Floats:
        return np.asarray(math.log((PARTS - 2) / 2) - (PARTS - 1) * np.log1p(np.abs(at)))

    def tail(self, at: Floats) -> Floats:
        return np.asarray((1 + at) ** (2.0 - PARTS) / 2)

    def reach(self, chance: float) -> float:
        return float((2 * chance) ** (-1 / (PARTS - 2)) - 1) if chance else math.inf


def noise_of(mechanism: Any) -> NoiseLaw | None:
    """The law of the noise that a mechanism adds to each number; None if it adds none."""
    if isinstance(mechanism, PolyPlace):
        return PolynomialLaw()
    law = mechanism
    if isinstance(mechanism, Threshold):
        law = mechanism.noise
    elif isinstance(mechanism, KeyedNoise):
        law = mechanism.values
    if not isinstance(law, DiscreteLaplace | DiscreteGaussian):
        return None
    if not law.scale:
        return NoNoise()
    return LaplaceLaw(law) if isinstance(law, DiscreteLaplace) else GaussianLaw(law)
