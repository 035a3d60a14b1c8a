"""Noise that follows how much the rows at hand can change, by smooth sensitivity: quantiles and
trimmed means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from . import conversions, sampling
from .accounting import NOTHING, Asked, Measure
from .budget import Epsilon, Loss, Rho
from .errors import QueryError
from .mechanisms import Sensitivity
from .ranks import Ranks

#: γ is this part of ε: how fast the sensitivity may fall off with the distance.
PARTS = 5
#: e to the minus of more is 0 in floats: what lies further away adds nothing.
FARTHEST = 746

Integers = npt.NDArray[np.int64]


class Target(Protocol):
    """What noise is added to."""

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """Its value, as a grid integer that may have a fraction, and its smooth sensitivity where a
        unit has so many rows. The grid ends at top."""
        ...


@dataclass(frozen=True)
class PolyPlace:
    """Adds noise of density ∝ (1 + |z|/s)^-4 to one number, s = 5/ε of its smooth sensitivity.

    *Guarantee*: pure ε for real numbers. Experimental: nothing is proven of floats
    (docs/proofs/smooth.md).
    """

    epsilon: Fraction
    rows: int  # of a unit
    target: Target
    top: int  # the largest grid integer

    name = "smooth sensitivity (experimental)"

    @classmethod
    def calibrate(cls, asked: Asked, rows: int, target: Target, top: int) -> PolyPlace:
        if asked.epsilon is None or asked.noise != "laplace":
            raise QueryError(
                "smooth sensitivity has a noise of its own and a pure ε: give epsilon=, without "
                f"rho= or mechanism=. {NOTHING}"
            )
        return cls(asked.epsilon, rows, target, top)

    @property
    def scale(self) -> Fraction:
        """In smooth sensitivities, which are private."""
        return PARTS / self.epsilon

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε, or where ρ is counted that of any pure ε."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.epsilon))
        return Loss(rho=Rho(conversions.rho_of_pure(self.epsilon)))

    def blank(self, size: int) -> list[int]:
        return [0] * size

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """The grid integer nearest to the noisy number."""
        value, smooth = self.smooth(exact[0][0])
        noisy = value + smooth * float(self.scale) * noise()
        return [round(min(max(noisy, 0.0), float(self.top)))]

    def smooth(self, ranks: Ranks) -> tuple[float, float]:
        """What is exact: the number, and how wide its noise is."""
        return self.target.smooth(ranks, self.rows, self.top, float(self.epsilon / PARTS))


@dataclass(frozen=True)
class AtRank:
    """The value of rank m = max(1, ⌈qn⌉)."""

    share: Fraction

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """The value, and max over j of e^(-γj) (X[m+k(j+1)] - X[m-k(j+1)])."""
        n = int(ranks.below[-1])
        m = max(1, math.ceil(self.share * n))
        steps = np.arange(max(m, n - m + 1) // rows + 1, dtype=np.int64)  # then L and U
        reach = (steps + 1) * rows
        wide = _at(ranks, top, m + reach) - _at(ranks, top, m - reach)
        falls = np.exp(steps * -gamma)
        (value,) = _at(ranks, top, np.array([m])).tolist()
        return value, float((wide * falls).max())


@dataclass(frozen=True)
class Trimmed:
    """The mean without the m smallest and the m largest values; without any left, mid-bounds."""

    trim: int

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """The mean, and max over j of e^(-γj) (A[kj] + … + A[kj+k-1]), no sum above U - L.

        A[i] = (X[n-m+1+i] - X[m-i]) / (n-2m-i) while the divisor is 2 or more, then U - L.
        """
        n, m = int(ranks.below[-1]), self.trim
        left = n - 2 * m
        places = np.arange(self._reach(left, rows, gamma), dtype=np.int64)
        wide = _at(ranks, top, n - m + 1 + places) - _at(ranks, top, m - places)
        moves = np.where(left - places >= 2, wide / np.maximum(left - places, 2), top)
        firsts = np.arange(0, len(places), rows)  # if the last is cut short, U - L is in it
        units = np.minimum(np.add.reduceat(moves, firsts), top)
        falls = np.exp(np.arange(len(units)) * -gamma)
        return self._mean(ranks, n, top), float((units * falls).max())

    def _reach(self, left: int, rows: int, gamma: float) -> int:
        """How many A to look at: the last is U - L, or those beyond fell to 0."""
        return max(1, min(left, math.ceil(FARTHEST / gamma) * rows))

    def _mean(self, ranks: Ranks, n: int, top: int) -> float:
        left = n - 2 * self.trim
        if left < 1:
            return top / 2
        within = np.clip(ranks.below, self.trim, n - self.trim)
        counts, values = np.diff(within), ranks.values
        total = (int(counts @ (values >> 15)) << 15) + int(counts @ (values & 0x7FFF))
        return total / left


def _at(ranks: Ranks, top: int, places: Integers) -> Integers:
    """X at some ranks: the lower bound before the first, the upper one after the last."""
    values = np.append(ranks.values, top)
    found = values[np.searchsorted(ranks.below[1:], places, side="left")]
    found = np.where(places < 1, 0, np.where(places > ranks.below[-1], top, found))
    return found.astype(np.int64)


def noise() -> float:
    """Of density 3/2 (1 + |z|)^-4: P[|Z| > t] = (1 + t)^-3."""
    sign, share = sampling.signed_share()
    return float(sign * (share ** (-1 / (PARTS - 2)) - 1))
