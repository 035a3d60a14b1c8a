"""Fisher's test of a 2 × 2 table of noisy counts.

Given its sums, the first count of a table is hypergeometric under the null hypothesis. Where there
is no noise, p-values are exact. Else tables are drawn with the sums that were seen, and noise of
the law of the releases; a p-value is the part of them that deviate at least as far as the table
seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..findings.simulation import Generator
from .simulated_tables import Independence

Floats = npt.NDArray[np.float64]

#: Probabilities that differ by less, relatively, are equal; and so are numbers.
NEAR = 1e-9
#: How many deviations of X are looked at, and how many numbers besides: the rest is below 1e-100.
REACH, MORE = 40, 60
#: Noise of a smaller variance is none.
NONE = 1e-12
#: From so many units on sums are drawn as well: numpy's hypergeometric numbers end there.
MANY = 10**9


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
        """Of the first count, given the sums that were seen: whole numbers of units."""
        whole = max(round(float(self.seen.sum())), 0)
        row, column = float(self.seen[0].sum()), float(self.seen[:, 0].sum())
        return Hypergeometric(whole, *(min(max(round(each), 0), whole) for each in (row, column)))

    @property
    def odds_ratio(self) -> float:
        """That of the counts seen, cut at 0."""
        (a, b), (c, d) = np.maximum(self.seen, 0.0).tolist()
        if not (a + b and c + d and a + c and b + d):
            return math.nan
        return a * d / (b * c) if b and c else math.inf

    def pvalue(
        self, noise: Callable[[int], Floats], generator: Generator, size: int,
        alternative: str,
    ) -> float:  # fmt: skip
        """The probability of a table that is at least as far from the null hypothesis.

        noise : gives so many draws of the noise of all counts, a row for each.
        size : how many tables are drawn, if there is any noise.
        """
        if float(self.variances.max()) <= NONE:
            return self._exact(alternative)
        tables = (self._units(generator, size) + noise(size)).reshape(size, 2, 2)
        drawn, seen = self._deviations(tables), float(self._deviations(self.seen[None])[0])
        far = NEAR * max(1.0, abs(seen))
        if alternative == "greater":
            extreme = drawn >= seen - far
        elif alternative == "less":
            extreme = drawn <= seen + far
        else:
            extreme = np.abs(drawn) >= abs(seen) - far
        return float((1 + np.count_nonzero(extreme)) / (size + 1))  # the one seen is one of them

    def _exact(self, alternative: str) -> float:
        law, first = self.law, np.array([np.rint(self.seen[0, 0])])
        if alternative == "greater":
            return float(law.at_least(first)[0])
        if alternative == "less":
            return float(law.at_most(first)[0])
        place = int(first[0]) - int(law.values[0])
        own = law.logarithms[place] if 0 <= place < len(law.values) else -math.inf
        return min(1.0, float(law.probabilities[law.logarithms <= own + NEAR].sum()))

    def _units(self, generator: Generator, size: int) -> npt.NDArray[np.int64]:
        """Tables of units alone, row by row."""
        whole, rows, columns = self.law.whole, self.law.rows, self.law.columns
        if whole >= MANY:
            r, c = rows / whole, columns / whole
            return generator.multinomial(whole, np.outer([r, 1 - r], [c, 1 - c]).reshape(-1), size)
        first = generator.hypergeometric(columns, whole - columns, rows, size)
        cells = [first, rows - first, columns - first, whole - rows - columns + first]
        return np.stack(cells, axis=1)

    def _deviations(self, tables: Floats) -> Floats:
        """The root of χ², with the sign of the first residual: each table's own sums are taken."""
        null = Independence(self.variances)
        first = null.residuals(tables, null.shares(tables))[:, 0, 0]
        return np.asarray(np.sign(first) * np.sqrt(null.statistic(tables)))
