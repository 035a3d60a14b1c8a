"""Tails of a sum of two binomials, and the interval that inverts them.

If m of n respondents hold a key, Bin(m, p) + Bin(n-m, q) say yes to it. Rounding errors are
covered: a tail that decides is enlarged by more than it can be off.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .designs import Rate

Floats = npt.NDArray[np.float64]

#: Hoeffding: a value outside ± √(N ln(2/TINY)/2) has probability TINY at most.
TINY = 1e-30
REACH = math.log(2 / TINY) / 2


def _pmf(n: int, p: float, odds: float) -> tuple[int, Floats]:
    """The probabilities of Bin(n, p) from a first value on, except for tails of TINY at most.

    Products of ratios away from the mode, normalised to add up to 1: each step is off by a few
    units in the last place, and nothing cancels.
    """
    width = math.sqrt(n * REACH) + 1
    low, high = max(0, math.floor(n * p - width)), min(n, math.ceil(n * p + width))
    mode = min(max(math.floor((n + 1) * p), low), high)
    up = np.arange(mode, high, dtype=np.float64)
    down = np.arange(mode, low, -1, dtype=np.float64)
    rising = np.cumprod((n - up) / (up + 1) * odds)
    falling = np.cumprod(down / (n - down + 1) / odds)
    weights = np.concatenate([falling[::-1], [1.0], rising])
    return low, weights / weights.sum()


@lru_cache(maxsize=4096)
def at_most(n: int, m: int, c: int, rate: Rate) -> float:
    """P[Bin(m, p) + Bin(n-m, q) ≤ c], or slightly more."""
    return _tail(n, m, c, rate, upper=False)


@lru_cache(maxsize=4096)
def at_least(n: int, m: int, c: int, rate: Rate) -> float:
    """P[Bin(m, p) + Bin(n-m, q) ≥ c], or slightly more."""
    return _tail(n, m, c, rate, upper=True)


def _tail(n: int, m: int, c: int, rate: Rate, upper: bool) -> float:
    """One tail at c, enlarged by its rounding error. Each probability is off by less than (n+2)
    2^-47 of itself: 2^-53 times the five roundings of a step, of the sums and of the odds. So is
    their sum; and four tails of TINY were left out.
    """
    first, x = _pmf(m, rate.p, rate.p_odds)
    other, y = _pmf(n - m, rate.q, rate.q_odds)
    if upper:  # from each value on
        sums = np.concatenate([np.cumsum(y[::-1])[::-1], [0.0]])
    else:  # before each value
        sums = np.concatenate([[0.0], np.cumsum(y)])
    values = c - (first + np.arange(len(x))) - other + (not upper)
    inside = float(x @ sums[np.clip(values, 0, len(y))])
    return min(1.0, inside * (1 + (n + 2) * 2.0**-45) + 8 * TINY)


@lru_cache(maxsize=4096)
def held(n: int, c: int, rate: Rate, risk: float) -> tuple[int, int]:
    """Bounds on m, given c yeses: all m for which both tails at c exceed risk/2.

    For a fixed m, the lower tail at c is at most risk/2 with probability at most risk/2, and so is
    the upper tail. Both tails are monotone in m, so these m are an interval
    (docs/proofs/randomized_response.md).
    """
    low = _first(lambda m: at_least(n, m, c, rate) > risk / 2, n)
    high = n - _first(lambda m: at_most(n, n - m, c, rate) > risk / 2, n)
    return min(low, high), max(low, high)


def _first(holds: Callable[[int], bool], n: int) -> int:
    """The least of 0, …, n at which a monotone condition holds; n is assumed to meet it."""
    return bisect_left(range(n), True, key=holds)
