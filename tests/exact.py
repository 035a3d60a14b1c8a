"""Exact laws for the tests, from fractions alone, and what all decisions of a sampler add up to."""

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dppandas.privacy.sampling import samplers

Interval = tuple[Fraction, Fraction]


def exp_interval(gamma: Fraction, bits: int = 400) -> Interval:
    """Fractions around exp(-gamma), at most about 2^-bits apart; no float and no `decimal`.

    The alternating series of exp(-x), x ≤ 1, lies between its partial sums; then squarings.
    """
    halvings = max(0, math.ceil(math.log2(gamma))) if gamma > 1 else 0
    x, bits = gamma / 2**halvings, bits + 2 * halvings + 8
    term, total, previous, k = Fraction(1), Fraction(1), Fraction(2), 0
    while abs(total - previous) > Fraction(1, 2**bits):
        k += 1
        term = _rounded(term * x / k, bits + 16, up=False)
        previous, total = total, total + (-1) ** k * term
    slack = Fraction(k, 2 ** (bits + 16)) * 2  # each term was rounded down
    low = _rounded(max(min(previous, total) - slack, Fraction(0)), bits, up=False)
    high = _rounded(max(previous, total) + slack, bits, up=True)
    for _ in range(halvings):
        low, high = _rounded(low * low, bits, up=False), _rounded(high * high, bits, up=True)
    return low, high


def _rounded(x: Fraction, bits: int, up: bool) -> Fraction:
    scaled = x * 2**bits
    return Fraction(math.ceil(scaled) if up else math.floor(scaled), 2**bits)


def powers(base: Interval, n: int, bits: int = 400) -> list[Interval]:
    """base^0, …, base^n."""
    result = [(Fraction(1), Fraction(1))]
    for _ in range(n):
        low, high = result[-1][0] * base[0], result[-1][1] * base[1]
        result.append((_rounded(low, bits, up=False), _rounded(high, bits, up=True)))
    return result


@lru_cache
def exp(gamma: Fraction) -> Fraction:
    """exp(-gamma) to 2^-400."""
    return exp_interval(gamma)[0]


def laplace_pmf(scale: Fraction, z: int) -> Fraction:
    """P[Z = z] = (1-a)/(1+a) a^|z|, to 2^-390."""
    a = exp(1 / scale)
    return (1 - a) / (1 + a) * a ** abs(z)


class Undecided(Exception):
    """The sampler asks for a choice that the script does not hold."""

    def __init__(self, chances: Sequence[Fraction]) -> None:
        super().__init__(chances)
        self.chances = chances


class Script:
    """A source of bits that says what it is told, and what it is told alone."""

    def __init__(self, choices: Iterable[int] = (), word: int = 64) -> None:
        self.choices = list(choices)
        self.used = 0
        self._word = word

    def choose(self, chances: Sequence[Fraction]) -> int:
        """The next of the script's choices, each of which has its chance."""
        if self.used == len(self.choices):
            raise Undecided(chances)
        self.used += 1
        return self.choices[self.used - 1]

    def below(self, n: int) -> int:
        if n == 1:
            return 0
        return self.choose([Fraction(1, n)] * min(n, 2**12))  # no test enumerates longer words

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        return np.array([self.below(2**self._word) for _ in range(n)], dtype=np.uint64)


def law(sampler: Any, runs: int, word: int = 64) -> tuple[dict[Any, Fraction], Fraction]:
    """The probability of each outcome over the likeliest `runs` runs, and the mass undecided.

    Every choice of n is n branches with their chances, so P[outcome] lies between what is found
    and that plus the mass undecided: no statistics.
    """
    found: dict[Any, Fraction] = {}
    order = itertools.count()
    heap = [(-1.0, next(order), Fraction(1), list[int]())]
    while heap and runs:
        _, _, chance, choices = heapq.heappop(heap)
        runs -= 1
        try:
            outcome = sampler(Script(choices, word))
        except Undecided as more:
            for choice, share in enumerate(more.chances):
                part = chance * share
                heapq.heappush(heap, (-float(part), next(order), part, [*choices, choice]))
        else:
            found[outcome] = found.get(outcome, Fraction(0)) + chance
    return found, sum((chance for _, _, chance, _ in heap), Fraction(0))


def assert_brackets(found: dict[Any, Fraction], undecided: Fraction, exact: Any, over: Any) -> None:
    """What is found of each outcome, and that plus the mass undecided, bracket its probability."""
    for outcome in over:
        missing = float(exact(outcome) - found.get(outcome, Fraction(0)))
        assert -(2.0**-300) <= missing <= float(undecided) + 2.0**-300, outcome


def selection_law(gaps: Sequence[int], rate: Fraction) -> list[float]:
    """P[i is selected] by `sampling.permute_and_flip`, over all coins and all orders."""
    heads = [math.exp(-gap * rate) for gap in gaps]
    total = [0.0] * len(gaps)
    for coins in itertools.product(*((True, False) if gap else (True,) for gap in gaps)):
        weight = math.prod(p if coin else 1 - p for p, coin in zip(heads, coins, strict=True))
        words = [0 if coin else 2**64 - 1 for coin in coins]
        for order in range(sum(coins)):
            chosen = samplers.permute_and_flip(gaps, rate, Script([*words, order]))
            total[chosen] += weight / sum(coins)
    return total
