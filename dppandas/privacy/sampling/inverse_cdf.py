"""Discrete Laplace noise by look-ups in tables of its inverse distribution function.

A table holds floor(t 2^64) for each exact cut t, proven by an interval around it. 64 random bits u
stand for a real number in [u, u+1) 2^-64. It is on one side of t unless u equals that floor; only
then more bits of both decide.
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

from ..accounting.enclosures import Interval, contexts, exp_interval
from .entropy import BASE, SYSTEM, WORD, Bits, Integers

#: Intervals around cuts between 0 and 1, by whole numbers of 2^-bits, the narrower the more bits.
Cuts = Callable[[int], list[tuple[int, int]]]

#: A guide by this many leading bits leaves few words to search for (measured: 5 times as fast).
LEADING = 12


class InverseCdf:
    """Draws k with probability cut[k] - cut[k-1], from exact cuts 0 < cut[1] < … < 1."""

    def __init__(self, cuts: Cuts, word: int = WORD) -> None:
        self._cuts = cuts
        self._word = word
        self.floors = np.array(proven_floors(cuts, word), dtype=np.uint64)
        self._rest = word - min(LEADING, word // 2)
        self._guide = self._by_leading_bits()

    def _by_leading_bits(self) -> Integers:
        """The outcome by the leading bits of a word; -1 where a floor has the same leading bits."""
        leading = (self.floors >> np.uint64(self._rest)).astype(np.int64)
        parts = np.diff(leading, prepend=0, append=2 ** (self._word - self._rest))
        guide = np.repeat(np.arange(len(parts)), parts)
        guide[leading] = -1
        return guide

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
            floors = proven_floors(self._cuts, length)
            if prefix not in floors:
                return bisect_right(floors, prefix)


#: How many more bits an interval around a cut has at first than are asked for. Cuts of fine digits
#: lose 42 of them.
GUARD = 96


def proven_floors(cuts: Cuts, length: int) -> list[int]:
    """floor(cut 2^length) for each cut, proven by an interval around it."""
    more = GUARD
    while True:
        around = cuts(length + more)
        floors = [low >> more for low, _ in around]
        if floors == [high >> more for _, high in around]:
            return floors
        more += length + more


def around_one(interval: Callable[[int], Interval]) -> Cuts:
    """The cut that lies within decimals of so many digits."""

    def cuts(bits: int) -> list[tuple[int, int]]:
        digits = bits * 3 // 10 + 9
        down, up = contexts(digits)
        (low, high), unit = interval(digits), Decimal(2**bits)
        return [(math.floor(down.multiply(low, unit)), math.ceil(up.multiply(high, unit)))]

    return cuts


@lru_cache(maxsize=8)
def _exp_around(rate: Fraction, bits: int) -> tuple[int, int]:
    """Whole numbers of 2^-bits around exp(-rate)."""
    ((low, high),) = around_one(lambda digits: exp_interval(rate, digits))(bits)
    return low, high


def _ratio(part: tuple[int, int], whole: tuple[int, int], bits: int) -> tuple[int, int]:
    """Around part / whole, both given by intervals."""
    return (part[0] << bits) // whole[1], -((-part[1] << bits) // whole[0])


def _digit_cuts(rate: Fraction, base: int, closed: bool) -> Cuts:
    """Cuts of a geometric variable of ratio r = exp(-rate) on 0, …, base-1.

    If closed, it is the lowest digit of a larger number: P[digit < k] = (1 - r^k) / (1 - r^base).
    Else it is the number itself: P[number < k] = 1 - r^k, with a last cut for "base or more".
    """

    def cuts(bits: int) -> list[tuple[int, int]]:
        r, r_high = _exp_around(rate, bits)
        step = r_high - r + 1  # a power is off by less than this more than the one before it
        one, powers = 2**bits, accumulate(repeat(r, base), lambda power, r: power * r >> bits)
        below = [(one - power - k * step, one - power) for k, power in enumerate(powers, 1)]
        if not closed:
            return below
        by_low, by_high = _ratio((one, one), below.pop(), bits)
        return [(lo * by_low >> bits, -(-hi * by_high >> bits)) for lo, hi in below]

    return cuts


def _sign_cuts(rate: Fraction) -> Cuts:
    """Cuts between zero, positive and negative: (1-a)/(1+a), and then halfway to 1: 1/(1+a)."""

    def cuts(bits: int) -> list[tuple[int, int]]:
        low, high = _exp_around(rate, bits)
        one = 2**bits
        whole = one + low, one + high
        return [_ratio((one - high, one - low), whole, bits), _ratio((one, one), whole, bits)]

    return cuts


class LaplaceTables:
    """The tables that draw discrete Laplace variables of one scale."""

    def __init__(self, scale: Fraction, base: int = BASE, word: int = WORD) -> None:
        rate = 1 / scale
        self._base = base
        self._sign = InverseCdf(_sign_cuts(rate), word)
        self._digits: list[InverseCdf] = []
        while rate * base < 4:  # else "or more" in the open table is too frequent
            self._digits.append(InverseCdf(_digit_cuts(rate, base, closed=True), word))
            rate *= base
        # Cuts far beyond 1 - e^-64 would take thousands of bits to tell from 1.
        self._open = min(base, max(2, math.ceil(64 / rate)))
        self._top = InverseCdf(_digit_cuts(rate, self._open, closed=False), word)

    def words(self, n: int) -> int:
        """How many words n draws take, but for a few more at times."""
        return n * (2 + len(self._digits))

    def draw(self, n: int, bits: Bits = SYSTEM) -> npt.NDArray[Any]:
        sign = self._sign.draw(n, bits)
        magnitude = self._geometric(n, bits) + 1
        return np.where(sign == 0, 0, np.where(sign == 1, magnitude, -magnitude))

    def _geometric(self, n: int, bits: Bits) -> npt.NDArray[Any]:
        """P[G = k] = (1-a) a^k, from independent digits and the rest above them."""
        value: npt.NDArray[Any] = self._top.draw(n, bits)
        open_ended = np.flatnonzero(value == self._open)
        while open_ended.size:  # memoryless: so much or more is so much plus another
            more = self._top.draw(open_ended.size, bits)
            value[open_ended] += more
            open_ended = open_ended[more == self._open]
        if value.max(initial=0) >= 2**62 // self._base ** len(self._digits):
            value = value.astype(object)  # one in e^8000 draws at the largest scale
        for digit in reversed(self._digits):
            value = value * self._base + digit.draw(n, bits)
        return value


@lru_cache(maxsize=64)
def laplace_tables(scale: Fraction) -> LaplaceTables:
    """The tables of a scale, kept because they take about .2 ms a digit."""
    return LaplaceTables(scale)
