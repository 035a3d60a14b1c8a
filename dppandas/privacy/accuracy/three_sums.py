"""Intervals for what three noisy sums show of values in [0, 1]: their number, their mean, their
variance and the square of their mean's standard error.

A value adds T in all to the sums at 0, ½ and 1. For the number of values n, their mean p and their
variance s, combinations of the exact sums are 0, with weights that depend on p, s and n alone. The
same combinations of the noisy sums are weighted sums of three noises (proof:
docs/proofs/variances.md). Where a combination depends on more than one parameter, the others take
all values of an interval of their own, which fails with a share of the risk.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...dataclasses import dataclass
from . import searches
from .searches import Places
from .weighted_tails import ABOVE, Floats, Truths, WeightedTail, bound, half_width, tail_of

Range = tuple[Floats, Floats]

#: The share of the risk for each parameter that a combination depends on beside its own.
ASIDE = 0.02
#: How narrow a piece is, as a share of the range, that isn't cut any more.
NARROW = 2.0**-12
#: More than rounding adds to differences of large numbers.
ROUNDED = 2.0**-47
#: Which shares of a bound on all noises are tried.
SHORTER = 0.8 ** np.arange(13)


@dataclass(frozen=True)
class ThreeSums:
    """Noisy sums at 0, ½ and 1 of some sets of values, in steps, and how many a value adds."""

    sums: tuple[Sequence[Any], Sequence[Any], Sequence[Any]]
    steps: Sequence[int]
    law: Any
    terms: int = 1  # the noises in each sum

    def tail(self, risk: float) -> WeightedTail:
        return tail_of(self.law, risk, (self.terms,) * 3)

    @cached_property
    def _each(self) -> tuple[Floats, Floats, Floats]:
        low, middle, high = (np.array(each, dtype=np.float64) for each in self.sums)
        return low, middle, high

    @cached_property
    def _whole(self) -> Floats:
        return self._each[0] + self._each[1] + self._each[2]

    @cached_property
    def _row(self) -> Floats:
        return np.maximum(np.array(self.steps, dtype=np.float64), 1.0)

    @cached_property
    def _off(self) -> Floats:
        """More than the error of any combination in floats."""
        low, middle, high = (np.abs(each) for each in self._each)
        return ROUNDED * (low + middle + high)

    def _reach(self, weights: Sequence[Floats], risk: float) -> Floats:
        """For each set a bound on the combination of noises with weights of at most these sizes."""
        tail, wide = self.tail(risk), half_width(self.law, risk / 3, self.terms) * ABOVE
        tried = (wide * sum(weights[1:], weights[0]))[..., None] * SHORTER
        is_enough = tail.is_beyond([each[..., None] for each in weights], tried)
        is_enough[..., 0] = True
        least: Floats = np.where(is_enough, tried, np.inf).min(axis=-1)
        return least

    def rows(self, risk: float) -> Range:
        """The number of values, at least 0."""
        wide = bound(self.law, risk, (1.0, 1.0, 1.0), self.terms) + self._off
        low, high = ((self._whole + sign * wide) / self._row for sign in (-1, 1))
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def means(self, risk: float) -> Range:
        """p, by Σ (u - p) = 0: with weights -p, ½ - p and 1 - p."""
        _, middle, high = self._each
        tail, whole, first = self.tail(risk), self._whole, middle / 2 + high

        def excludes(places: Places, low: Floats, high: Floats) -> Truths:
            ends = (first[places, None] - p * whole[places, None] for p in (low, high))
            weights = high, np.maximum(np.abs(0.5 - low), np.abs(0.5 - high)), 1 - low
            return tail.is_beyond(weights, self._least(places, *ends))

        is_known, one = whole > 0, np.ones(1)
        wide = self._reach((one, one / 2, one), risk) + self._off
        by = np.where(is_known, whole, 1.0)
        start, end = (np.clip((first + sign * wide) / by, 0.0, 1.0) for sign in (-1, 1))
        hidden = np.minimum(wide / by, 1.0)
        start, end = searches.ends(excludes, start, end, hidden, tail.pieces)
        return np.where(is_known, start, 0.0), np.where(is_known, end, 1.0)

    def _least(self, places: Places, low: Floats, high: Floats) -> Floats:
        """The least size of what lies between two ends."""
        least = np.minimum(np.abs(low), np.abs(high)) - self._off[places, None]
        return np.where((low < 0) != (high < 0), 0.0, least)

    def variances(self, risk: float, ddof: int) -> Range:
        """s over n - ddof, by Σ (u - p)² - s·(n - ddof) = 0."""
        return Spread(self, risk, ddof).range

    def variances_of_means(self, risk: float, ddof: int) -> Range:
        """v, which is s/n for a variance s over n - ddof, by Σ (u - p)² - v·n·(n - ddof) = 0, to
        which 2·v·n·(n - n) is added."""
        return SpreadOfMean(self, risk, ddof).range


@dataclass(frozen=True)
class Spread:
    """The search for a variance, over all p and n of their intervals."""

    of: ThreeSums
    risk: float
    ddof: int

    @cached_property
    def means(self) -> Range:
        return self.of.means(ASIDE * self.risk)

    @cached_property
    def rows(self) -> Range:
        """The number of values, if there are more than ddof."""
        low, high = self.of.rows(ASIDE * self.risk)
        return np.maximum(low, self.ddof + 1.0), np.maximum(high, self.ddof + 1.0)

    @cached_property
    def tail(self) -> WeightedTail:
        return self.of.tail(self.risk * (1 - 2 * ASIDE))

    @property
    def range(self) -> Range:
        """From 0 to the largest possible value where there may be too few values."""
        is_known = self._slopes[0] > 0
        by = np.where(is_known, self._slopes, 1.0)
        first = np.clip((self._squares[0] - self._wide) / by[1], 0.0, self.most)
        last = np.clip((self._squares[1] + self._wide) / by[0], 0.0, self.most)
        hidden, pieces = np.minimum(self._wide / by[0], self.most), self.tail.pieces
        low, high = searches.ends(self._excludes, first, last, hidden, pieces, self.most, NARROW)
        return np.where(is_known, low, 0.0), np.where(is_known, high, self.most)

    @cached_property
    def most(self) -> Floats:
        """The largest possible value."""
        return 0.25 * self.rows[0] / (self.rows[0] - self.ddof)

    @cached_property
    def _off(self) -> Floats:
        """What rounding adds: of each value's square to a step, and of floats."""
        return self.rows[1] / 2 + self.of._off

    @cached_property
    def _wide(self) -> Floats:
        """A bound on the combination of noises, for all possible weights."""
        share = self._taken_off(np.zeros_like(self.most), self.most, slice(None))
        return self.of._reach(_sizes(*self.means, *share), self.risk / 2) + self._off

    @cached_property
    def _slopes(self) -> Range:
        """What the combination falls by where the value rises by 1, at least and at most."""
        slope = self.of._whole - self.ddof * self.of._row
        return slope, slope

    def _taken_off(self, low: Floats, high: Floats, places: Any) -> Range:
        """What is taken off each weight."""
        return low, high

    @cached_property
    def _squares(self) -> Range:
        """The least and the most that Σ (u - p)² is in the noisy sums."""
        (p, q), whole, (_, middle, last) = self.means, self.of._whole, self.of._each
        centre = np.clip((middle / 2 + last) / np.where(whole > 0, whole, 1.0), p, q)
        found = [x * x * whole - x * (middle + 2 * last) + last for x in (p, q, centre)]
        return np.minimum.reduce(found), np.maximum.reduce(found)

    def _excludes(self, places: Places, low: Floats, high: Floats) -> Truths:
        """For all means and numbers of values of their intervals."""
        slopes = [end[places, None] for end in self._slopes]
        products = [value * slope for value in (low, high) for slope in slopes]
        falls = np.maximum.reduce(products), np.minimum.reduce(products)
        squares = (end[places, None] for end in self._squares)
        p, q = (end[places, None] for end in self.means)
        weights = _sizes(p, q, *self._taken_off(low, high, (places, None)))
        least = self.of._least(places, *map(np.subtract, squares, falls))
        least -= self._off[places, None] + ROUNDED * np.maximum(*np.abs(falls))
        return self.tail.is_beyond(weights, least)


@dataclass(frozen=True)
class SpreadOfMean(Spread):
    """The search for the variance of a mean."""

    @cached_property
    def most(self) -> Floats:
        return 0.25 / (self.rows[0] - self.ddof)

    @cached_property
    def _slopes(self) -> Range:
        """With the noisy n̂ the combination is Σ (u - p)² - v·(n̂² - (n - n̂)² - n·ddof)."""
        seen, row = self.of._whole / self.of._row, self.of._row
        (low, high), off = self.rows, [(end - seen) ** 2 for end in self.rows]
        near = np.where((low <= seen) & (seen <= high), 0.0, np.minimum(*off))
        return (
            (seen * seen - np.maximum(*off) - self.ddof * high) * row,
            (seen * seen - near - self.ddof * low) * row,
        )

    def _taken_off(self, low: Floats, high: Floats, places: Any) -> Range:
        return 2 * low * self.rows[0][places], 2 * high * self.rows[1][places]


def _sizes(p: Floats, q: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """The most that x² - y, x² - x - y and (1 - x)² - y are in size, for x from p to q and y from
    low to high."""
    middle = np.where((p <= 0.5) & (q >= 0.5), 0.25, np.maximum(p - p * p, q - q * q))
    return (
        np.maximum(np.abs(p * p - high), np.abs(q * q - low)),
        middle + high,
        np.maximum(np.abs((1 - q) ** 2 - high), np.abs((1 - p) ** 2 - low)),
    )
