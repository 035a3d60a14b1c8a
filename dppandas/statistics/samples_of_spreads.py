"""What three sums say of a population: those of a variance, which tell of a mean, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..dataclasses import dataclass
from ..privacy.accuracy.three_sums import ThreeSums
from ..rows.facts.bounds import Bounds
from .samples import BERNSTEIN, OF_NOISE, OF_ROWS, Estimate, How, Sample, SampleMean


@dataclass(frozen=True)
class SampleMeanOfThree(SampleMean):
    """The mean of clipped values, from the three sums of a variance."""

    is_largest: ClassVar[bool] = False

    def _weights(self, p: float) -> tuple[float, ...]:
        return -p, 0.5 - p, 1 - p

    def _spread(self) -> float:
        low, middle, high = (max(each, 0) for each in self.sums)
        whole = low + middle + high
        return max(low * high - middle**2 / 4, 0) / whole**2 if whole else 0.25

    def _most_spread(self, added: float) -> float:
        p, s = self.share, self._spread()
        weights = p * p - s, p * p - p - s, (1 - p) ** 2 - s
        return min(s + added * self._noise(weights).deviation, super()._most_spread(added))

    def _by_noise(self, risk: float) -> tuple[Any, Any, int, float]:
        sums = _three(self.sums, self.row, self.law)
        low, high = sums.means(risk * OF_NOISE)
        rows = math.ceil(float(sums.rows(risk * OF_ROWS)[0][0]))
        return low, high, rows, float(sums.variances(risk * OF_NOISE, 1)[1][0])


@dataclass(frozen=True)
class SampleSpread(Sample):
    """The variance of clipped values, or their deviation."""

    takes_size: ClassVar[bool] = False

    sums: tuple[int, ...]
    row: int
    bounds: Bounds
    law: Any
    is_root: bool

    def estimate(self, risk: float, how: How) -> Estimate:
        """The sample's deviation by the noise, and the population's by the sample's (Maurer and
        Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009,
        Theorem 10)."""
        sums = _three(self.sums, self.row, self.law)
        least, most = sums.variances(risk * OF_NOISE, 1)
        rows = math.ceil(float(sums.rows(risk * OF_ROWS)[0][0]))
        logarithm = math.log(2 / (risk * (1 - OF_ROWS - OF_NOISE)))
        wide = math.sqrt(2 * logarithm / (rows - 1)) if rows > 1 else 1.0
        # a number between 0 and 1 deviates by at most a half
        ends = (
            max(0.0, math.sqrt(float(least[0])) - wide),
            min(0.5, math.sqrt(float(most[0])) + wide),
        )
        width = self.bounds.upper - self.bounds.lower
        low, high = (end * width if self.is_root else (end * width) ** 2 for end in ends)
        return Estimate(low, high, BERNSTEIN)


def _three(sums: Sequence[int], row: int, law: Any) -> ThreeSums:
    low, middle, high = ([each] for each in sums)
    return ThreeSums((low, middle, high), [row], law)
