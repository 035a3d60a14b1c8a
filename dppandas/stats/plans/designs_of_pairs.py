"""Plans for the test of a correlation, which is released as masses over pairs of nodes."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from ...dataclasses import dataclass
from ...rows.figures import format_ends, format_number
from ..correlation import Pair
from .designs import Seen
from .designs_of_means import Numbers
from .draws import FINE, TINY, Draws, Floats, chi2_from

#: The nodes that both values are split over (`Covariance`), and how the sums of 1, u, v, u², uv and
#: v² follow from the masses at them.
NODES = tuple(itertools.product((0.0, 0.5, 1.0), repeat=2))
DESIGN = tuple(
    tuple(of(u, v) for u, v in NODES)
    for of in (
        lambda u, v: 1.0, lambda u, v: u, lambda u, v: v, lambda u, v: float(u == 1),
        lambda u, v: u * v, lambda u, v: float(v == 1),
    )
)  # fmt: skip


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
            f"Both columns between {format_ends(self.lower, self.upper, ' and ')}, with a mean of "
            f"{format_number(self.mean)} and a standard deviation of {format_number(self.sd)}; "
            "one release of their correlation."
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
        """Student's t of `pearsonr`, and the correlation."""
        test = Pair(draws.loss.law(FINE), DESIGN, 1, FINE)
        noise = test.noise(draws.simulation, (draws.size,))
        found = test.figures(self._sums(rows, r, draws) + noise)
        root = np.sqrt(np.maximum(found.uu * found.vv, TINY))
        return test.statistic(found), np.clip(found.uv / root, -1, 1)

    def _sums(self, rows: int, r: float, draws: Draws) -> Floats:
        """The sums of 1, u, v, u², uv and v² of normal columns, by Bartlett's decomposition."""
        z = draws.simulation.generator.standard_normal((5, draws.size))
        p, s, freedom = self.between(self.mean), self.sd / self.width, max(rows - 1, 1)
        other = math.sqrt(1 - r * r)
        u, v = p + s / math.sqrt(rows) * np.array([z[0], r * z[0] + other * z[1]])
        one, two = np.sqrt(chi2_from(z[2], freedom)), np.sqrt(chi2_from(z[3], freedom - 1))
        slope = r * one + other * z[4]
        squares = one**2, one * slope, slope**2 + (other * two) ** 2
        means = np.ones(draws.size), u, v, u**2, u * v, v**2
        around = (0.0, 0.0, 0.0, *(s * s / rows * each for each in squares))
        pairs = zip(means, around, strict=True)
        return np.asarray(rows * np.stack([mean + each for mean, each in pairs], axis=-1))
