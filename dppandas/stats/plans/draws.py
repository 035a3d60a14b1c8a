"""What plans are simulated with: the noise of a release that isn't made yet, and its quantiles."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...findings.simulation import Simulation
from ...privacy.accuracy import student
from ...privacy.accuracy.combined import variance_of
from ...privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: How often a plan is simulated: its power is good to ± 0.01.
DRAWS = 20_000
#: What a row of a mean adds to its sums: as many steps as its grid has, about.
FINE = 2**30


@dataclass(frozen=True)
class Loss:
    """What a release may cost: an ε, or a ρ for Gaussian noise. Neither is a release without noise,
    to compare with."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def __str__(self) -> str:
        return f"ε = {self.epsilon}" if self.rho is None else f"ρ = {self.rho}"

    def law(self, row: int = 1) -> Any:
        """The noise of integers to which a row adds ``row`` in all."""
        if self.rho is not None:
            return DiscreteGaussian.calibrate(row**2, self.rho)
        if self.epsilon is not None:
            return DiscreteLaplace.calibrate(row, self.epsilon)
        return DiscreteLaplace(Fraction(0))


@dataclass(frozen=True)
class Draws:
    """Numbers of many releases with one law. Equal plans have equal draws, and near ones nearly
    equal draws, so that a search among them isn't misled by chance."""

    loss: Loss
    size: int = DRAWS

    @cached_property
    def simulation(self) -> Simulation:
        """Draws from the same seed each time."""
        return Simulation((), "plan")

    def noise(self, sums: int, row: int = 1) -> Floats:
        """The noises of some sums, in rows: one line for each."""
        return self.simulation.noise(self.loss.law(row), (sums, self.size)) / row

    def variance(self, row: int = 1) -> float:
        """That of a noise, in rows."""
        return variance_of(self.loss.law(row)) / row**2


def critical(risk: float, freedom: Floats) -> Floats:
    """Student's quantile with this risk on both sides, for each number of degrees of freedom."""
    inverse, found = _table(risk)
    return np.interp(1 / np.maximum(freedom, 1.0), inverse, found)


@lru_cache(maxsize=64)
def _table(risk: float) -> tuple[Floats, Floats]:
    inverse = np.concatenate([[1e-9], np.geomspace(1e-4, 1, 250)])
    return inverse, np.array([student.quantile(risk, 1 / each) for each in inverse.tolist()])


def chi2_from(normal: Floats, freedom: int) -> Floats:
    """Draws of χ² from normal ones, which they follow smoothly for any degrees of freedom (Wilson
    and Hilferty, PNAS 1931)."""
    third = 2 / (9 * max(freedom, 1))
    root = 1 - third + math.sqrt(third) * normal
    return np.asarray(max(freedom, 1) * np.maximum(root, 0.0) ** 3)


def is_beyond(distance: Floats, alternative: str, quantile: Any, alpha: float) -> Truths:
    """Whether a number that is symmetric around 0 under the null hypothesis is too far from it.
    ``quantile(risk)`` is exceeded, in size, with this risk."""
    if alternative == "two-sided":
        return np.asarray(np.abs(distance) > quantile(alpha))
    sign = 1 if alternative == "greater" else -1
    return np.asarray(sign * distance > quantile(2 * alpha))
