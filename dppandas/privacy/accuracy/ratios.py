"""Intervals for shares of noisy sums, by the law of all their noises together.

A part and the rest have the noisy sums P + X and R + Y. For the share u = P/(P + R), whatever P and
R are, (1-u)·(P + X) - u·(R + Y) is (1-u)·X - u·Y, whose law is known for each u. A u for which so
large a value has at most the probability ``risk`` is impossible (Fieller, "Some problems in
interval estimation", J. R. Stat. Soc. B 16, 1954; proof: docs/proofs/ratios.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within
from .combined import CombinedNoise

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: How often a range is cut into pieces at most. Pieces narrower than this share of it aren't cut.
ROUNDS, NARROW = 16, 2.0**-11
#: Noise of this scale or more is treated as continuous where the tail of a continuous sum is known,
#: and noise of more than the second scale as if it were on a coarser lattice.
CONTINUOUS, LATTICE = 32, 256
#: How many points the law of a sum has at most, at least, and times the number of shares.
POINTS, FEWEST, OF_ALL = 2**10, 2**6, 2**17
#: What may lie beyond a lattice, as a share of the risk; and the least risk that rounding spares.
BEYOND, LEAST_RISK = 1e-6, 1e-8
#: More than rounding adds to sums of probabilities, to the largest of a law (for each noise in a
#: sum), to products, and to differences of large numbers.
ADDED, TRANSFORMED, ABOVE, ROUNDED = 1e-13, 2.0**-46, 1 + 1e-8, 2.0**-48
#: Scales nearer to each other than this are moved apart.
APART = 1 + 1e-4


class Terms(NamedTuple):
    """How many noises are added up in the part, and in the rest."""

    part: int = 1
    rest: int = 1


PAIR = Terms()


class Tail(Protocol):
    """Bounds of the law of |(1-u)·X - u·Y|."""

    pieces: int  # into which a range is cut

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        """Whether a value of ``least`` or more has at most the risk for each u of a piece from
        ``low`` to ``high``. False is always right."""
        ...


def shares(
    parts: Sequence[Any], rests: Sequence[Any], law: Any, risk: float, terms: Terms = PAIR
) -> tuple[Floats, Floats]:
    """The ends of an interval for the share of each part in a part and its rest, given their noisy
    sums. Each interval fails with at most this risk."""
    part, rest = (np.array(sums, dtype=np.float64) for sums in (parts, rests))
    if not terms.rest:  # the whole of itself, if there is any
        return np.where(part > _half_width(law, terms.part, risk), 1.0, 0.0), np.ones(len(part))
    wide, count = max(_half_width(law, each, risk / 2) for each in terms), len(part)
    # |(1-u)·X - u·Y| is at most the larger of |X| and |Y|
    reach = wide * ABOVE + (np.abs(part) + np.abs(rest)) * ROUNDED
    is_known = part + rest > 0
    whole = np.where(is_known, part + rest, 1.0)
    first, last = (np.clip((part + sign * reach) / whole, 0.0, 1.0) for sign in (-1, 1))
    if wide:
        tail = _tail(law, risk, terms, min(POINTS, max(FEWEST, OF_ALL // max(count, 1))))
        found, is_seen = _outermost(
            tail, np.tile(part, 2), np.tile(rest, 2), np.append(first, last), np.append(last, first)
        )
        is_any, ends = is_seen[:count] & is_seen[count:], (found[:count], found[count:])
        # noise beyond all that it does with this risk: no share is possible, and any may be shown
        hidden, is_low = np.minimum(wide / whole, 1.0), part <= 0
        first = np.where(is_any, np.minimum(*ends), np.where(is_low, 0.0, 1.0 - hidden))
        last = np.where(is_any, np.maximum(*ends), np.where(is_low, hidden, 1.0))
    return np.where(is_known, first, 0.0), np.where(is_known, last, 1.0)


def _outermost(
    tail: Tail, part: Floats, rest: Floats, first: Floats, last: Floats
) -> tuple[Floats, Truths]:
    """For each share a number between ``first`` and its possible value nearest to there; and
    whether any between ``first`` and ``last`` may be possible."""
    at, piece, is_any = first.copy(), last - first, np.ones(len(first), dtype=bool)
    narrow, steps = np.abs(piece) * NARROW, np.arange(tail.pieces + 1) / tail.pieces
    allowed = (np.abs(part) + np.abs(rest)) * ROUNDED
    bottom, top = np.minimum(first, last), np.maximum(first, last)
    left = np.arange(len(first))
    for _ in range(ROUNDS):
        edges = at[left, None] + piece[left, None] * steps
        edges = np.clip(edges, bottom[left, None], top[left, None])
        seen = part[left, None] * (1 - edges) - rest[left, None] * edges
        sizes, is_below = np.abs(seen), seen < 0
        least = np.minimum(sizes[:, :-1], sizes[:, 1:]) - allowed[left, None]
        least[is_below[:, :-1] != is_below[:, 1:]] = 0.0
        pieces = edges[:, :-1], edges[:, 1:]
        kept = ~tail.is_beyond(np.minimum(*pieces), np.maximum(*pieces), least)
        is_any[left], place = kept.any(axis=1), kept.argmax(axis=1)
        place[~is_any[left]] = tail.pieces
        at[left] = edges[np.arange(len(left)), place]
        piece[left] *= np.where(is_any[left], 1 / tail.pieces, 4)
        is_open = np.where(is_any, np.abs(piece) > narrow, at != last)
        left = left[is_open[left]]
        if not len(left):
            break
    return at, is_any | (at != last)


def _half_width(law: Any, terms: int, risk: float) -> float:
    """A w with P[|sum of noises| > w] ≤ risk."""
    found = law.half_width(1 - risk) if terms == 1 else law.half_width_of_sum(risk, terms)
    return float(found)


@lru_cache(maxsize=64)
def _tail(law: Any, risk: float, terms: Terms, points: int) -> Tail:
    """Of the bounds for a law the tightest that is quick."""
    if isinstance(law, CombinedNoise) and sum(weight > 0 for weight in law.weights) == 1:
        heaviest = law.laws[law.weights.index(max(law.weights))]
        return _tail(heaviest, law.risk(risk), terms, points)
    is_laplace = isinstance(law, DiscreteLaplace)
    if is_laplace and terms == (1, 1) and law.scale >= CONTINUOUS:
        return LaplacePair(float(law.scale), risk)
    if isinstance(law, DiscreteGaussian) and law.sigma2 >= CONTINUOUS**2:
        return Normal(math.sqrt(law.sigma2), risk, terms)
    if isinstance(law, DiscreteLaplace | DiscreteGaussian) and risk >= LEAST_RISK:
        return Lattice(risk, *(Points.of(law, n, risk, points) for n in terms))
    if terms == (1, 1) and not isinstance(law, Within):
        return Weighted(law, risk)
    return Apart(*(_half_width(law, n, risk / 2) for n in terms))


@dataclass(frozen=True)
class LaplacePair:
    """Two discrete Laplace noises, by the tail of continuous ones: for scales α, β it is
    P[|αX - βY| > x] = (α²·exp(-x/α) - β²·exp(-x/β))/(α² - β²), which grows in α and in β."""

    scale: float
    risk: float
    pieces = 64

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        x = np.maximum(least / self.scale - (1 - low + high) / (2 * self.scale), 0.0)
        larger, smaller = np.maximum(1 - low, high), np.minimum(1 - low, high)
        larger, smaller = np.maximum(larger, smaller * APART), np.maximum(smaller, 1e-100)
        one, other = larger * larger, smaller * smaller
        with np.errstate(under="ignore", over="ignore"):
            tail = (one * np.exp(-x / larger) - other * np.exp(-x / smaller)) / (one - other)
        found: Truths = tail * math.exp(2 / (4 * self.scale)) * ABOVE <= self.risk
        return found


@dataclass(frozen=True)
class Normal:
    """Discrete Gaussian noises, by the tail of the normal law."""

    sigma: float
    risk: float
    terms: Terms
    pieces = 64

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        part, rest = self.terms
        left = self.risk * math.exp(-(part + rest) / (24 * self.sigma**2))
        if left < 1e-250:
            return np.zeros(least.shape, dtype=bool)
        z = -NormalDist().inv_cdf(left / 2) * ABOVE
        one, other = 1 - low, high
        deviation = self.sigma * np.sqrt(part * one**2 + rest * other**2)
        found: Truths = least > z * deviation + (part * one + rest * other) / 2
        return found


@dataclass(frozen=True)
class Weighted:
    """Two noises of any law that `half_widths_of_weighted` bounds."""

    law: Any
    risk: float
    pieces = 16

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        from .weighted_sums import half_widths_of_weighted  # few need it

        corners = np.stack([np.stack([1 - u, -u], axis=-1) for u in (low, high)], axis=-2)
        flat = corners.reshape(-1, 2, 2)
        found: Truths = least > half_widths_of_weighted(self.law, flat, 1, self.risk).reshape(
            least.shape
        )
        return found


@dataclass(frozen=True)
class Apart:
    """Sums of noises of any law, each of which is bounded by itself."""

    part: float
    rest: float
    pieces = 16

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        found: Truths = least > ((1 - low) * self.part + high * self.rest) * ABOVE
        return found


@dataclass(frozen=True, eq=False)
class Points:
    """The law of a sum of noises on equally distant points.

    A noise is one of the points, moved by at most ``off``. Their probabilities are no less than the
    law's, divided by exp(``excess``), except for what is beyond all of them.
    """

    values: Floats
    chances: Floats
    off: float
    excess: float

    @classmethod
    def of(cls, law: Any, terms: int, risk: float, points: int) -> Points:
        scale, step, off, excess = float(law.scale), 1.0, 0.0, 0.0
        if scale > LATTICE:  # continuous noise of this scale is a multiple of that of another
            step, off = scale / LATTICE, terms * (0.5 + scale / LATTICE / 2)
            excess = terms * (1 / (4 * scale) + 1 / (8 * LATTICE**2))
            law = DiscreteLaplace(Fraction(LATTICE))
        beyond = BEYOND * risk / terms
        reach = math.ceil(_half_width(law, terms, beyond)) + 1
        size = 2 * reach + 1
        one: Floats = _chances(law, np.arange(-reach, reach + 1))
        if terms > 1:  # what goes around lies beyond, and only adds to the others
            power = np.fft.rfft(np.fft.ifftshift(one)) ** terms
            one = np.fft.fftshift(np.fft.irfft(power, size)).clip(0.0)
            one += terms * TRANSFORMED * one.max()
        together = -(-size // points)
        if together > 1:
            one = np.pad(one, (0, -size % together)).reshape(-1, together).sum(axis=1)
            off += step * (together - 1) / 2
        values: Floats = (
            np.arange(len(one), dtype=np.float64) * together + (together - 1) / 2 - reach
        ) * step
        return cls(values, one, off, excess)


def _chances(law: Any, places: npt.NDArray[np.int64]) -> Floats:
    """No less than the probabilities of whole numbers."""
    if isinstance(law, DiscreteLaplace):
        rate = 1 / float(law.scale)
        return np.asarray(math.tanh(rate / 2) * np.exp(-rate * np.abs(places)))
    with np.errstate(under="ignore"):
        found = np.exp(-np.square(places) / (2 * float(law.sigma2)))
    found /= found.sum()
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Lattice:
    """Sums of noises on lattices: the sum over all points of one, of what the other has beyond."""

    risk: float
    part: Points
    rest: Points
    pieces = 8

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        least = least - (1 - low) * self.part.off - high * self.rest.off
        rows = max(1, 2**20 // (self.pieces * len(self.rest.values)))
        found = [
            self._is_beyond(low[at : at + rows], high[at : at + rows], least[at : at + rows])
            for at in range(0, len(low), rows)
        ]
        return np.concatenate(found)

    def _is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        """The size of (1-u)·X - u·Y is largest at an end of a piece."""
        m, y = least[..., None], self.rest.values
        x, chances = self.part.values, self.part.chances
        below, above = np.full((*low.shape, len(y)), -math.inf), np.full((), math.inf)
        for u in (low[..., None], high[..., None]):
            by = np.maximum(1 - u, 1e-100)  # which at u = 1 makes the ends infinite but for a word
            np.maximum(below, (u * y - m) / by, out=below)
            above = np.minimum(above, (u * y + m) / by)
        step, last = x[1] - x[0], len(x) - 1
        # ties count as beyond
        to = np.floor(((below - x[0]) / step + 2.0**-20).clip(-1, last)).astype(np.intp)
        from_ = np.ceil(((above - x[0]) / step - 2.0**-20).clip(0, last + 1)).astype(np.intp)
        up = np.concatenate([[0.0], np.cumsum(chances)])
        down = up[-1] - up
        other = np.minimum(up[to + 1] + down[from_], 1.0)
        tail = other @ self.rest.chances * math.exp(self.part.excess + self.rest.excess)
        allowed = self.risk * (1 - 8 * BEYOND) / ABOVE - 4 * ADDED
        is_beyond: Truths = (tail <= allowed) & (least > 0)
        return is_beyond
