"""What plans are simulated with: the noise of a release that isn't made yet, and its quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...findings.simulation import Simulation
from ...privacy.accuracy import student
from ...privacy.accuracy.combined import variance_of
from ...privacy.accuracy.nearly_normal import NearlyNormal, independent
from ...privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: How often a plan is simulated: its power is good to ± 0.01.
DRAWS = 20_000
#: What a row of a mean adds to its sums: as many steps as its grid has, about.
FINE = 2**30
#: What keeps a division by a variance of 0; and for how many parts of noise a quantile is computed.
TINY, PARTS = 1e-30, 33


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


@dataclass(frozen=True)
class Errors:
    """The errors of a number in many releases, each of which is a `NearlyNormal`."""

    sampled: Floats  # variances of the sample's
    noise: Floats  # and of the noise's
    freedom: Any  # with which the first are known
    typical: NearlyNormal  # the noise of one release, as whose all have their shape

    @property
    def variance(self) -> Floats:
        return np.asarray(self.sampled + self.noise)

    def widths(self, risk: float) -> Floats:
        """What each exceeds, in size, with this risk: between some parts of noise."""
        wider = critical(risk, self.freedom) / -NormalDist().inv_cdf(risk / 2)
        whole = np.maximum(self.noise + self.sampled * wider**2, TINY)
        part = self.noise / whole
        parts = np.linspace(float(part.min()), float(part.max()), PARTS)
        unit = self.typical.times(1 / self.typical.deviation if self.typical.deviation else 0.0)
        of_parts = [
            unit.times(math.sqrt(each)).with_sample(1 - each, math.inf).half_width(risk)
            for each in parts.tolist()
        ]
        return np.asarray(np.interp(part, parts, of_parts) * np.sqrt(whole))

    def is_beyond(self, off: Floats, alternative: str, alpha: float) -> Truths:
        """Whether a number is too far off."""
        if alternative == "two-sided":
            return np.asarray(np.abs(off) > self.widths(alpha))
        sign = 1 if alternative == "greater" else -1
        return np.asarray(sign * off > self.widths(2 * alpha))


def added(errors: Sequence[Errors]) -> Errors:
    """Those of a sum of numbers of different units, as `independent` adds them up."""
    sampled = np.sum([each.sampled for each in errors], axis=0)
    lost = np.sum([each.sampled**2 / each.freedom for each in errors], axis=0)
    return Errors(
        sampled, np.sum([each.noise for each in errors], axis=0),
        sampled**2 / np.maximum(lost, TINY**3), independent([each.typical for each in errors]),
    )  # fmt: skip


def critical(risk: float, freedom: Any) -> Floats:
    """Student's quantile with this risk on both sides, for each number of degrees of freedom."""
    inverse, found = _table(risk)
    return np.asarray(np.interp(1 / np.maximum(freedom, 1.0), inverse, found))


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
