"""Discrete Laplace noise by look-ups in tables of its inverse distribution function.

A table holds floor(t 2^64) for each exact cut t, proven by an interval of decimals. 64 random bits
u stand for a real number in [u, u+1) 2^-64. It is on one side of t unless u equals that floor; only
then more bits, and more digits of t, decide.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from ..accounting.enclosures import Enclosure, Interval, contexts, exp_interval
from .entropy import BASE, SYSTEM, WORD, Bits, Integers

#: A guide by this many leading bits leaves few words to search for (measured: 5 times as fast).
LEADING = 12


class InverseCdf:
    """Draws k with probability cut[k] - cut[k-1], from exact cuts 0 < cut[1] < … < 1.

    ``cuts(digits)`` returns an interval around each cut, the narrower the more digits it may use.
    """

    def __init__(self, cuts: Callable[[int], list[Interval]], word: int = WORD) -> None:
        self._cuts = cuts
        self._word = word
        self.floors = np.array(_proven_floors(cuts, word), dtype=np.uint64)
        self._rest = word - min(LEADING, word // 2)
        self._guide = self._by_leading_bits()

    def _by_leading_bits(self) -> Integers:
        """The outcome by the leading bits of a word; -1 where a floor has the same leading bits."""
        low = np.arange(2 ** (self._word - self._rest), dtype=np.uint64) << np.uint64(self._rest)
        below = np.searchsorted(self.floors, low, side="left")
        within = np.searchsorted(self.floors, low + np.uint64(2**self._rest - 1), side="right")
        return np.where(below == within, below, -1).astype(np.int64)

    def draw(self, n: int, bits: Bits = SYSTEM) -> Integers:
        words = bits.words(n)
        index: Integers = self._guide[words >> np.uint64(self._rest)]
        near = np.flatnonzero(index < 0)
        index[near] = np.searchsorted(self.floors, words[near], side="right")
        # Words below every cut are compared with floors[-1], which they can't equal.
        for i in near[self.floors[index[near] - 1] == words[near]]:
            index[i] = self._decide(int(words[i]), bits)
        return index

    def _decide(self, prefix: int, bits: Bits) -> int:
        length = self._word
        while True:
            prefix = prefix << self._word | int(bits.words(1)[0])
            length += self._word
            floors = _proven_floors(self._cuts, length)
            if prefix not in floors:
                return bisect_right(floors, prefix)


def _proven_floors(cuts: Callable[[int], list[Interval]], length: int) -> list[int]:
    """floor(cut 2^length) for each cut, proven by an interval of decimals."""
    digits = length // 3 + 30
    while True:
        down, up = contexts(digits)
        unit = Decimal(2**length)
        around = cuts(digits)
        floors = [int(down.multiply(low, unit)) for low, _ in around]
        if floors == [int(up.multiply(high, unit)) for _, high in around]:
            return floors
        digits *= 2


def _digit_cuts(rate: Fraction, base: int, closed: bool) -> Callable[[int], list[Interval]]:
    """Cuts of a geometric variable of ratio r = exp(-rate) on 0, …, base-1.

    If closed, it is the lowest digit of a larger number: P[digit < k] = (1 - r^k) / (1 - r^base).
    Else it is the number itself: P[number < k] = 1 - r^k, with a last cut for "base or more".
    """

    def cuts(digits: int) -> list[Interval]:
        down, up = contexts(digits)
        low, high = (repeat(end, base) for end in exp_interval(rate, digits))
        powers = zip(accumulate(low, down.multiply), accumulate(high, up.multiply), strict=True)
        below = [(down.subtract(1, h), up.subtract(1, lo)) for lo, h in powers]
        if not closed:
            return below
        whole_low, whole_high = below.pop()
        return [(down.divide(lo, whole_high), up.divide(h, whole_low)) for lo, h in below]

    return cuts


def _sign_cuts(rate: Fraction) -> Callable[[int], list[Interval]]:
    """Cuts between zero, positive and negative: (1-a)/(1+a), and then halfway to 1: 1/(1+a)."""

    def cuts(digits: int) -> list[Interval]:
        a = Enclosure.of(-rate, digits).exp()
        return [((-a + 1) / (a + 1)).ends, (Enclosure.of(1, digits) / (a + 1)).ends]

    return cuts


class LaplaceTables:
    """The tables that draw discrete Laplace variables of one scale."""

    def __init__(self, scale: Fraction, base: int = BASE, word: int = WORD) -> None:
        rate = 1 / scale
        # Telling cuts beyond 1 - e^-64 from 1 would take thousands of digits.
        self._base = base = min(base, max(2, math.ceil(64 * scale)))
        self._sign = InverseCdf(_sign_cuts(rate), word)
        self._digits: list[InverseCdf] = []
        while rate * base < 4:  # else "base or more" in the open table is too frequent
            self._digits.append(InverseCdf(_digit_cuts(rate, base, closed=True), word))
            rate *= base
        self._top = InverseCdf(_digit_cuts(rate, base, closed=False), word)

    def draw(self, n: int, bits: Bits = SYSTEM) -> npt.NDArray[Any]:
        sign = self._sign.draw(n, bits)
        magnitude = self._geometric(n, bits) + 1
        return np.where(sign == 0, 0, np.where(sign == 1, magnitude, -magnitude))

    def _geometric(self, n: int, bits: Bits) -> npt.NDArray[Any]:
        """P[G = k] = (1-a) a^k, from independent digits and the rest above them."""
        value: npt.NDArray[Any] = self._top.draw(n, bits)
        open_ended = np.flatnonzero(value == self._base)
        while open_ended.size:  # memoryless: base or more is base plus another
            more = self._top.draw(open_ended.size, bits)
            value[open_ended] += more
            open_ended = open_ended[more == self._base]
        if value.max(initial=0) >= 2**62 // self._base ** len(self._digits):
            value = value.astype(object)  # one in e^8000 draws at the largest scale
        for digit in reversed(self._digits):
            value = value * self._base + digit.draw(n, bits)
        return value


@lru_cache(maxsize=64)
def laplace_tables(scale: Fraction) -> LaplaceTables:
    """The tables of a scale, cached because they take about a millisecond a digit."""
    return LaplaceTables(scale)
