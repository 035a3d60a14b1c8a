"""Plans for the test of a correlation, which is released as masses over pairs of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from .designs import Seen
from .designs_of_means import TINY, Numbers
from .draws import FINE, Draws, Floats, chi2_from

#: The nodes that a value between 0 and 1 is split over (`Covariance`).
NODES = np.array([0.0, 0.5, 1.0])


@dataclass(frozen=True)
class Pairs(Numbers):
    """Whether two columns are correlated: by the released correlation, whose critical value is that
    of simulated releases of columns that aren't."""

    test: ClassVar[str] = "pearsonr"
    effect_is: ClassVar[str] = "an effect is a correlation"

    def largest(self) -> float:
        return 0.999

    def assumed(self) -> str:
        return (
            f"Both columns between {self.lower:g} and {self.upper:g}, with a mean of {self.mean:g} "
            f"and a standard deviation of {self.sd:g}; one release of their correlation."
        )

    def seen(self, rows: int, effect: float, draws: Draws) -> Seen:
        null, _ = self._statistic(rows, 0.0, Draws(draws.loss, draws.size))
        found, r = self._statistic(rows, effect, draws)
        # the interval is wider: noise and sample have each their part of it
        normal = -NormalDist().inv_cdf(self.alpha / 2)
        wide = np.full(1, normal * float(np.std(r)))
        if self.alternative == "two-sided":
            return Seen(np.abs(found) > np.quantile(np.abs(null), 1 - self.alpha), wide)
        sign = 1 if self.alternative == "greater" else -1
        return Seen(sign * found > np.quantile(sign * null, 1 - self.alpha), wide)

    def _statistic(self, rows: int, r: float, draws: Draws) -> tuple[Floats, Floats]:
        """Student's t of the covariance, with the variance of its noise beside that of the sample;
        and the correlation."""
        counted, means, variances, both = self._moments(rows, r, draws)
        product = variances.prod(axis=0)
        squares = ((NODES[:, None, None] - np.clip(means, 0, 1)) ** 2).sum(axis=0)
        noise = draws.variance(FINE) * squares.prod(axis=0) / counted**2
        sampled = np.maximum(product - both**2, 0) / np.maximum(counted - 2, 1)
        found = both / np.sqrt(np.maximum(sampled + noise, TINY))
        root = np.sqrt(np.maximum(product, TINY))
        return found, np.asarray(np.clip(both / root, -1, 1))

    def _moments(self, rows: int, r: float, draws: Draws) -> tuple[Floats, ...]:
        """How many rows, which means, variances and covariance are released of normal columns: by
        Bartlett's decomposition, with the noise of nine sums."""
        z = draws.generator.standard_normal((5, draws.size))
        noise = draws.noise(9, FINE).reshape(3, 3, draws.size)
        p, s, freedom = self.between(self.mean), self.sd / self.width, max(rows - 1, 1)
        other = math.sqrt(1 - r * r)
        at = p + s / math.sqrt(rows) * np.array([z[0], r * z[0] + other * z[1]])
        one, two = np.sqrt(chi2_from(z[2], freedom)), np.sqrt(chi2_from(z[3], freedom - 1))
        slope = r * one + other * z[4]
        squares = s * s * np.array([one**2, slope**2 + (other * two) ** 2]) + rows * at**2
        product = s * s * one * slope + rows * at[0] * at[1]
        counted = np.maximum(rows + noise.sum(axis=(0, 1)), 3.0)
        by_node = np.array([noise.sum(axis=1), noise.sum(axis=0)])
        means = (rows * at + np.einsum("j,ijk->ik", NODES, by_node)) / counted
        variances = np.clip((squares + by_node[:, 2]) / counted - means**2, 0, 0.25)
        both = (product + np.einsum("i,j,ijk->k", NODES, NODES, noise)) / counted
        return counted, means, variances, both - means.prod(axis=0)
