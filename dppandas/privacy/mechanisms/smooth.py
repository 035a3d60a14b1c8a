"""Noise scaled to the smooth sensitivity of the data, for quantiles and trimmed means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from ..sampling import samplers
from .base import Sensitivity
from .ranks import Ranks

#: γ = ε/PARTS is the rate at which smooth sensitivity may fall with distance.
PARTS = 5
#: Beyond this many changed rows, wider bounds are used that take less time.
NEAR = 1024
#: exp(-x) is 0 in floats for larger x, so tables further away add nothing.
FARTHEST = 746

Integers = npt.NDArray[np.int64]

#: What widths are worth that can be reached in so many steps: no less for larger widths.
Worth = Callable[[Integers, Integers], npt.NDArray[Any]]


class Target(Protocol):
    """A number that gets noise by its smooth sensitivity."""

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """The value in grid steps, which may have a fraction, and its smooth sensitivity for units
        of `rows` rows. The grid ends at top."""


@dataclass(frozen=True)
class PolyPlace(RecordPart):
    """Adds noise of density ∝ (1 + |z|/s)^-4 to one number, where s is 5/ε times its smooth
    sensitivity.

    *Guarantee*: pure ε for real numbers. Experimental: nothing is proven about floats
    (docs/proofs/smooth.md).
    """

    epsilon: Fraction
    rows: int  # of a unit
    target: Target
    top: int  # the largest grid integer

    name, word = "smooth sensitivity (experimental)", ""
    scale_unit = "times the smooth sensitivity, which is private"

    @classmethod
    def calibrate(cls, asked: LossRequest, rows: int, target: Target, top: int) -> PolyPlace:
        epsilon = asked.laplace_epsilon("smooth sensitivity has its own noise and a pure ε")
        return cls(epsilon, rows, target, top)

    @property
    def scale(self) -> Fraction:
        """The width of the noise as a multiple of the smooth sensitivity, which is private."""
        return PARTS / self.epsilon

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε; or where ρ is counted, the ρ of any mechanism of this pure ε."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.epsilon))
        return Loss(rho=Rho(conversions.rho_of_pure(self.epsilon)))

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """The grid integer nearest to the noisy number."""
        value, smooth = self.smooth(exact[0][0])
        noisy = value + smooth * float(self.scale) * noise()
        return [round(min(max(noisy, 0.0), float(self.top)))]

    def smooth(self, ranks: Ranks) -> tuple[float, float]:
        """The exact number and its smooth sensitivity."""
        return self.target.smooth(ranks, self.rows, self.top, float(self.epsilon / PARTS))


@dataclass(frozen=True)
class AtRank(RecordPart):
    """The value of rank m = max(1, ⌈qn⌉)."""

    share: Fraction

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """The value, and max over j of e^(-γj) B_j."""
        return self.at(ranks, top), float(
            self.most(ranks, rows, top, lambda wide, steps: wide * np.exp(steps * -gamma))
        )

    def at(self, ranks: Ranks, top: int) -> int:
        """The value."""
        return int(_at(ranks, top, np.array([self._rank(ranks)]))[0])

    def _rank(self, ranks: Ranks) -> int:
        return max(1, math.ceil(self.share * int(ranks.below[-1])))

    def most(self, ranks: Ranks, rows: int, top: int, worth: Worth) -> Any:
        """The most that B_j is worth in j steps, or 0 if that is more.

        B_j is the widest X[v] - X[u] with s = v - u ≤ k(j+1) and s + D ≤ k(j+2). Removing the rows
        between leaves a gap, and D is how many more rows must change until the target is on its
        other side. From some j on, X[m+k(j+2)] - X[m-k(j+2)] is used.
        """
        n, m = int(ranks.below[-1]), self._rank(ranks)
        last = max(m, n - m + 1) // rows  # from here on it is U - L
        steps = NEAR // rows + np.arange(last + 1, dtype=np.int64)
        reach = (steps + 2) * rows
        wide = _at(ranks, top, m + reach) - _at(ranks, top, m - reach)
        return max(worth(wide, steps).max(), self._near(ranks, rows, m, top, worth))

    def _near(self, ranks: Ranks, rows: int, m: int, top: int, worth: Worth) -> Any:
        """The maximum over smaller j. Among equal values, u is the last rank and v the first."""
        most = NEAR // rows
        ends = (most + 1) * rows
        lows, highs = np.append(0, ranks.values), np.append(ranks.values, top)
        before, after = ranks.below, ranks.below + 1  # ranks 0 and n + 1 are L and U
        lows, before = _between(lows, before, m - ends, m + ends)
        highs, after = _between(highs, after, m - ends, m + ends)
        best = 0
        for low, u in zip(lows.tolist(), before.tolist(), strict=True):
            first, stop = np.searchsorted(after, [u, u + most * rows], side="right").tolist()
            v = after[first:stop]
            away = self._away(u, int(ranks.below[-1]) + 1 - v)
            # the least j + 1 with s ≤ k(j+1) and s + D ≤ k(j+2)
            units = np.maximum(-((u - v) // rows), -((u - v - away) // rows) - 1)
            within = units <= most
            found = worth(highs[first:stop][within] - low, units[within] - 1)
            best = max(best, found.max(initial=0))
        return best

    def _away(self, a: int, b: Integers) -> Integers:
        """D, for a rows below a gap and b above: how many must change until the target is on its
        other side. It is below if a ≥ 1 and (1 - q)a ≥ qb."""
        p, whole = self.share.numerator, self.share.denominator
        step = max(p, whole - p)
        above = b.astype(np.int64 if whole < 2**16 else object)
        excess = (whole - p) * a - p * above
        if a:
            below = np.minimum(excess // step + 1, a)
            away = np.where(excess >= 0, below, -(excess // step))
        else:  # at least one row must be added
            away = 1 + np.maximum(-((excess + whole - p) // step), 0)
        found: Integers = away.astype(np.int64)
        return found


def _between(values: Integers, places: Integers, low: int, high: int) -> tuple[Integers, Integers]:
    kept = (places >= low) & (places <= high)
    return values[kept], places[kept]


@dataclass(frozen=True)
class Trimmed(RecordPart):
    """The mean without the m smallest and the m largest values; the middle of the bounds where no
    value is left."""

    trim: int

    def smooth(self, ranks: Ranks, rows: int, top: int, gamma: float) -> tuple[float, float]:
        """The mean, and max over j of e^(-γj) (A[kj] + … + A[kj+k-1]), where no sum exceeds U - L.

        A[i] = max over a ≤ i of W[a] / (n-2m+2a-i) while n-2m-i is 2 or more, then (U - L)/2. W[a]
        is the widest X[n-m+1+t] - X[m-a+t], 0 ≤ t ≤ a. From some i on, the larger
        (X[n-m+1+i] - X[m-i]) / (n-2m-i) is used.
        """
        n, m = int(ranks.below[-1]), self.trim
        left, most = n - 2 * m, min(rows * (top / 2), float(top))
        if left < 0:  # the answer stays the same until enough rows are added
            return top / 2, math.exp(-gamma * min(-left // rows, FARTHEST / gamma)) * most
        places = np.arange(self._reach(left, rows, gamma), dtype=np.int64)
        wide = _at(ranks, top, n - m + 1 + places) - _at(ranks, top, m - places)
        moves = np.where(left - places >= 2, wide / np.maximum(left - places, 2), top / 2)
        near = self._near(ranks, n, top)
        moves[: len(near)] = near[: len(moves)]
        whole = len(moves) // rows  # all later A are (U - L)/2
        sums = moves[: whole * rows].reshape(whole, rows).sum(axis=1)
        units = np.minimum(np.append(sums, most), top)
        falls = np.exp(np.arange(len(units)) * -gamma)
        return self._mean(ranks, n, top), float((units * falls).max())

    def _near(self, ranks: Ranks, n: int, top: int) -> npt.NDArray[np.float64]:
        """The first values of A, while n-2m-i is 2 or more."""
        m = self.trim
        left = n - 2 * m
        number = min(max(left - 1, 0), NEAR)
        places = np.arange(number, dtype=np.int64)
        highs, lows = _at(ranks, top, n - m + 1 + places), _at(ranks, top, m - places)
        widest, found = np.empty(number), np.empty(number)
        for i in range(number):
            widest[i] = (highs[: i + 1] - lows[i::-1]).max()
            found[i] = (widest[: i + 1] / (left + 2 * places[: i + 1] - i)).max()
        return found

    def _reach(self, left: int, rows: int, gamma: float) -> int:
        """How many values of A matter: later ones are (U - L)/2, or weigh 0."""
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
    """X at some ranks: the lower bound before the first, the upper bound after the last."""
    values = np.append(ranks.values, top)
    found = values[np.searchsorted(ranks.below[1:], places, side="left")]
    found = np.where(places < 1, 0, np.where(places > ranks.below[-1], top, found))
    return found.astype(np.int64)


def noise() -> float:
    """A number of density 3/2 (1 + |z|)^-4, that is P[|Z| > t] = (1 + t)^-3."""
    sign, share = samplers.signed_share()
    return float(sign * (share ** (-1 / (PARTS - 2)) - 1))
