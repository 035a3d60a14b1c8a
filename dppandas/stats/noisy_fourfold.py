"""Fisher's test of a 2 × 2 table of noisy counts.

Given its margins, the first count X of a table is hypergeometric under the null hypothesis. What is
seen of it are noisy counts; with the shares r and c of the first row and column their sum with the
weights (1-r)(1-c), -(1-r)c, -r(1-c) and rc has the law of X - E[X] and of the noise with these
weights. The margins are those that were seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Probabilities that differ by less, relatively, are equal; and so are numbers.
NEAR = 1e-9
#: How many deviations of X are looked at, and how many numbers besides: the rest is below 1e-100.
REACH, MORE = 40, 60
#: Noise of a smaller deviation is none; and by at least how much probabilities are smoothed.
NONE, SMOOTH = 1e-6, 0.5
#: How often a distance is doubled, and how often it is halved.
DOUBLED, HALVED = 200, 60


@dataclass(frozen=True)
class Hypergeometric:
    """How many of the first row lie in the first column, if they are drawn from all at random."""

    whole: int
    rows: int
    columns: int

    @property
    def mean(self) -> float:
        return self.rows * self.columns / self.whole if self.whole else 0.0

    @cached_property
    def values(self) -> npt.NDArray[np.int64]:
        """All that have a probability worth telling."""
        whole, rows, columns = self.whole, self.rows, self.columns
        low, high = max(0, rows + columns - whole), min(rows, columns)
        left = self.mean * (1 - rows / whole) * (1 - columns / whole) if whole else 0.0
        reach = math.ceil(REACH * math.sqrt(max(left, 0.0))) + MORE
        middle = (rows + 1) * (columns + 1) // (whole + 2)
        return np.arange(max(low, middle - reach), min(high, middle + reach) + 1)

    @cached_property
    def logarithms(self) -> Floats:
        """Of their probabilities, each from the one before."""
        x = self.values[:-1].astype(np.float64)
        up = (self.rows - x) * (self.columns - x)
        down = (x + 1) * (self.whole - self.rows - self.columns + x + 1)
        found = np.concatenate([[0.0], np.cumsum(np.log(up / down))])
        found -= found.max()
        return np.asarray(found - math.log(np.exp(found).sum()))

    @cached_property
    def probabilities(self) -> Floats:
        return np.asarray(np.exp(self.logarithms))

    def at_least(self, bounds: Floats) -> Floats:
        """P[X ≥ bound] of each."""
        above = np.append(np.cumsum(self.probabilities[::-1])[::-1], 0.0)
        first = np.ceil(bounds - NEAR) - self.values[0]
        return np.asarray(above[np.clip(first, 0, len(self.values)).astype(np.intp)])

    def at_most(self, bounds: Floats) -> Floats:
        """P[X ≤ bound] of each."""
        below = np.insert(np.cumsum(self.probabilities), 0, 0.0)
        last = np.floor(bounds + NEAR) - self.values[0] + 1
        return np.asarray(below[np.clip(last, 0, len(self.values)).astype(np.intp)])


@dataclass(frozen=True)
class Fourfold:
    """A 2 × 2 table of noisy counts, and the variances of their noises."""

    seen: Floats
    variances: Floats

    @cached_property
    def law(self) -> Hypergeometric:
        """Of the first count, given the margins seen: whole numbers of units."""
        whole = max(round(float(self.seen.sum())), 0)
        row, column = float(self.seen[0].sum()), float(self.seen[:, 0].sum())
        return Hypergeometric(whole, *(min(max(round(each), 0), whole) for each in (row, column)))

    @cached_property
    def weights(self) -> Floats:
        """Of the counts in the sum that is tested."""
        law = self.law
        r, c = (each / law.whole if law.whole else 0.5 for each in (law.rows, law.columns))
        return np.outer([1 - r, -r], [1 - c, -c])

    @property
    def first(self) -> float:
        """What is seen of the first count, given the margins."""
        return self.law.mean + float((self.weights * self.seen).sum())

    @property
    def spread(self) -> float:
        """The deviation of the noise in it."""
        return math.sqrt(float((self.weights**2 * self.variances).sum()))

    @property
    def odds_ratio(self) -> float:
        """That of the counts seen, cut at 0."""
        (a, b), (c, d) = np.maximum(self.seen, 0.0).tolist()
        if not (a + b and c + d and a + c and b + d):
            return math.nan
        return a * d / (b * c) if b and c else math.inf

    def pvalue(self, noise: Callable[[], Floats], alternative: str) -> float:
        """The probability of a table that is at least as far from the null hypothesis.

        noise : gives draws of the noise of all counts, a row for each. That of the units isn't
            drawn: its exact probability is averaged over them.
        """
        low, high = self._ends(alternative)
        if self.spread <= NONE:
            return float(min(1.0, self._beyond(np.zeros(1), low, high).item()))
        moved = noise() @ self.weights.reshape(-1)
        beyond = float(self._beyond(moved, low, high).sum())
        # the table seen is one of them, without which a p-value could be 0
        return min(1.0, (beyond + 1) / (len(moved) + 1))

    def _beyond(self, moved: Floats, low: float, high: float) -> Floats:
        """The probability that the first count and a noise are outside of ]low, high[."""
        if low >= high:
            return np.ones_like(moved)
        up = self.law.at_least(high - moved) if math.isfinite(high) else 0.0
        down = self.law.at_most(low - moved) if math.isfinite(low) else 0.0
        return np.asarray(up + down)

    def _ends(self, alternative: str) -> tuple[float, float]:
        """Beyond which numbers are as far from the null hypothesis as the one seen."""
        if alternative == "greater":
            return -math.inf, self.first
        if alternative == "less":
            return self.first, math.inf
        return self._as_improbable()

    def _as_improbable(self) -> tuple[float, float]:
        """Those on both sides that are no more probable than the one seen."""
        density = self._density()
        middle = float(self.law.values[np.argmax(self.law.logarithms)])
        least = density(self.first) + NEAR
        if least >= density(middle):
            return middle, middle
        sign = -1 if self.first > middle else 1
        other = middle + sign * _distance(lambda far: density(middle + sign * far) > least)
        return min(self.first, other), max(self.first, other)

    def _density(self) -> Callable[[float], float]:
        """The logarithm of how probable a number is: X and the noise, as if that were normal. Only
        which of two is larger matters."""
        values, logarithms = self.law.values.astype(np.float64), self.law.logarithms
        if self.spread <= NONE:
            return lambda y: _at(values, logarithms, round(y))
        scale = max(self.spread, SMOOTH)

        def smoothed(y: float) -> float:
            each = logarithms - ((y - values) / scale) ** 2 / 2
            return float(each.max() + math.log(np.exp(each - each.max()).sum()))

        return smoothed


def _at(values: Floats, logarithms: Floats, value: int) -> float:
    place = value - int(values[0])
    return float(logarithms[place]) if 0 <= place < len(values) else -math.inf


def _distance(is_nearer: Callable[[float], bool]) -> float:
    """The least distance that isn't nearer."""
    near, far = 0.0, 1.0
    for _ in range(DOUBLED):
        if not is_nearer(far):
            break
        near, far = far, 2 * far
    for _ in range(HALVED):
        half = (near + far) / 2
        near, far = (half, far) if is_nearer(half) else (near, half)
    return far
