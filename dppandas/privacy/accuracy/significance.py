"""What a noisy number of significant blocks is worth: p-values, and the level of the blocks.

Of m blocks T are significant at a level, and T + Z is released. If each block is significant with
at most this probability under the null hypothesis, independently of the others, then T is at most
binomial, and the tail of the binomial number with noise is a p-value (docs/proofs/blockwise.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from .combined import SLACK, CombinedNoise, SumTail, tails

Floats = npt.NDArray[np.float64]

#: The level at which a level for the blocks is best, and how surely it is to find something there.
LEVEL, POWER = 0.05, 0.8
#: The levels that are tried for blocks.
TRIED = tuple(i / 100 for i in range(2, 51))
#: The largest shift of a normal number that is looked for, in standard deviations, and how often
#: the range is halved.
FARTHEST, STEPS = 16.0, 24
#: The level where noise hides whatever blocks say.
ANY = 0.2
#: More than rounding adds to a probability, or takes from it.
ROUNDED = 1e-9
#: Below this chance that noise lets all blocks be found, more of them are needed.
ENOUGH = 0.5


def pvalue(noisy: Any, blocks: int, level: float, law: Any) -> float:
    """At least P[B + Z ≥ noisy], for B binomial of blocks and a level, and Z of the law."""
    found = float(_binomial(blocks, level) @ _tails(law, noisy, blocks))
    return min(1.0, found * (1 + ROUNDED))


def _binomial(number: int, chance: float) -> Floats:
    """The probability of each number of successes, to float precision."""
    successes = np.arange(number + 1)
    if chance <= 0 or chance >= 1:
        return np.asarray(successes == (number if chance >= 1 else 0), dtype=np.float64)
    logarithms = successes * math.log(chance) + (number - successes) * math.log1p(-chance)
    return np.asarray(np.exp(logarithms + _log_choices(number)))


@lru_cache(maxsize=64)
def _log_choices(number: int) -> Floats:
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number + 1)))])
    return np.asarray(factorials[-1] - factorials - factorials[::-1])


def _tails(law: Any, noisy: Any, blocks: int) -> Floats:
    """At least P[j + Z ≥ noisy], for each number j of blocks."""
    if not isinstance(law, CombinedNoise):
        first = math.ceil(noisy)
        return tails(law, range(first, first - blocks - 1, -1))
    parts = [(each, w) for each, w in zip(law.laws, law.weights, strict=True) if w]
    if len(parts) == 1:
        return _tails(parts[0][0], noisy, blocks)
    return _combined_tails(law, parts, Fraction(noisy), blocks)


def _combined_tails(law: CombinedNoise, parts: Any, noisy: Fraction, blocks: int) -> Floats:
    """The same for a weighted mean of noises, which is rounded as `CombinedNoise.join` does: halves
    to even numbers. Noise that has to be no more than 0 is likely, and counts as certain."""
    total = sum(law.weights)
    tail = SumTail(parts, math.sqrt(law.variance) * total, ROUNDED)
    edge = noisy - Fraction(1, 2) if law.whole else noisy
    needed = [total * (edge - j) for j in range(blocks + 1)]
    is_beyond = law.whole and noisy % 2 == 1  # a half below an odd number is rounded down
    firsts = [math.floor(x) + 1 if is_beyond else math.ceil(x) for x in needed]
    return np.array([min(1.0, tail.from_(x) * (1 + SLACK)) if x > 0 else 1.0 for x in firsts])


# --- the level of the blocks ----------------------------------------------------------------------


@lru_cache(maxsize=1024)
def best_level(blocks: int, law: Any) -> float:
    """The level for the blocks at which the smallest shift of a normal number is found with 80 %,
    by a test at 5 % of all blocks; of equal ones the smallest level.

    Each block has a number that is normal with a standard deviation of 1, and is tested for a mean
    of 0 against both sides. Where noise hides whatever blocks say, no level is better than another.
    """
    plan = _Plan(blocks, law)
    if plan.is_drowned:
        return ANY
    return min(TRIED, key=lambda level: (round(plan.smallest_shift(level), 4), level))


def is_hopeless(blocks: int, level: float, law: Any) -> bool:
    """Whether noise would rather hide it if all blocks were significant."""
    plan = _Plan(blocks, law)
    return plan.is_drowned or plan.above(plan.critical(level), 1.0) < ENOUGH


@dataclass(frozen=True)
class _Plan:
    """How likely noisy numbers are of some blocks, whose noise is one draw."""

    blocks: int
    law: Any

    @property
    def is_drowned(self) -> bool:
        """Whether noise alone reaches the number of blocks in more than 5 %."""
        return bool(self.law.half_width(1 - 2 * LEVEL) >= self.blocks)

    @cached_property
    def most(self) -> int:
        """A number that isn't reached in 95 %, even if all blocks are found."""
        return self.blocks + int(self.law.half_width(1 - 2 * LEVEL)) + 1

    @cached_property
    def tails(self) -> Floats:
        """P[Z ≥ x], for all x from the largest that may be needed down to the smallest."""
        return tails(self.law, range(self.most, -self.blocks - 1, -1))

    def above(self, noisy: int, chance: float) -> float:
        """P[B + Z ≥ noisy]."""
        first = self.most - noisy
        return float(_binomial(self.blocks, chance) @ self.tails[first : first + self.blocks + 1])

    def critical(self, level: float) -> int:
        """The least noisy number with a p-value of at most 5 %."""
        chances = _binomial(self.blocks, level)
        low, high = -1, self.most
        while high - low > 1:
            middle = (low + high) // 2
            first = self.most - middle
            beyond = float(chances @ self.tails[first : first + self.blocks + 1]) * (1 + ROUNDED)
            low, high = (low, middle) if beyond <= LEVEL else (middle, high)
        return high

    def smallest_shift(self, level: float) -> float:
        """The smallest shift that is found with 80 %."""
        least = self.critical(level)
        if self.above(least, 1.0) < POWER:
            return FARTHEST
        low, high = 0.0, FARTHEST
        for _ in range(STEPS):
            middle = (low + high) / 2
            is_found = self.above(least, _found(level, middle)) >= POWER
            low, high = (low, middle) if is_found else (middle, high)
        return high


def _found(level: float, shift: float) -> float:
    """How likely a two-sided test of a normal number finds a shift."""
    normal = NormalDist()
    far = -normal.inv_cdf(level / 2)
    return normal.cdf(shift - far) + normal.cdf(-shift - far)
