"""Intervals for shares of noisy sums, by the law of all their noises together.

A part and the rest have the noisy sums P + X and R + Y. For the share u = P/(P + R), whatever P and
R are, (1-u)·(P + X) - u·(R + Y) is (1-u)·X - u·Y, whose law is known for each u. A u for which so
large a value has at most the probability ``risk`` is impossible (Fieller, "Some problems in
interval estimation", J. R. Stat. Soc. B 16, 1954; proof: docs/proofs/ratios.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from . import searches
from .searches import Places
from .weighted_tails import (
    ABOVE,
    Floats,
    Laplace,
    Normal,
    Truths,
    WeightedTail,
    alone,
    half_width,
    tail_of,
)  # fmt: skip

#: Noise of more than this scale is treated as if it were on a coarser lattice.
LATTICE = 256
#: How many points the law of a sum has at most, at least, and times the number of shares.
POINTS, FEWEST, OF_ALL = 2**10, 2**6, 2**17
#: What may lie beyond a lattice, as a share of the risk; the least risk that rounding spares; and
#: the most that the law of another lattice may be larger, as a logarithm.
BEYOND, LEAST_RISK, MOST_EXCESS = 1e-6, 1e-8, 0.25
#: More than rounding adds to sums of probabilities, to the largest of a law (for each noise in a
#: sum), and to differences of large numbers.
ADDED, TRANSFORMED, ROUNDED = 1e-13, 2.0**-46, 2.0**-48


class Terms(NamedTuple):
    """How many noises are added up in the part, and in the rest."""

    part: int = 1
    rest: int = 1


PAIR = Terms()


class Tail(Protocol):
    """Bounds of the law of |(1-u)·X - u·Y|."""

    @property
    def pieces(self) -> int:
        """Into how many a range is cut at a time."""
        ...

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
        return np.where(part > half_width(law, risk, terms.part), 1.0, 0.0), np.ones(len(part))
    wide, count = max(half_width(law, risk / 2, each) for each in terms), len(part)
    # |(1-u)·X - u·Y| is at most the larger of |X| and |Y|
    reach = wide * ABOVE + (np.abs(part) + np.abs(rest)) * ROUNDED
    is_known = part + rest > 0
    whole = np.where(is_known, part + rest, 1.0)
    first, last = (np.clip((part + sign * reach) / whole, 0.0, 1.0) for sign in (-1, 1))
    if wide:
        tail = _tail(law, risk, terms, min(POINTS, max(FEWEST, OF_ALL // max(count, 1))))

        def excludes(places: Places, low: Floats, high: Floats) -> Truths:
            above, below = part[places, None], rest[places, None]
            one, other = (above * (1 - u) - below * u for u in (low, high))
            least = np.minimum(np.abs(one), np.abs(other))
            least -= (np.abs(above) + np.abs(below)) * ROUNDED
            least[(one < 0) != (other < 0)] = 0.0
            return tail.is_beyond(low, high, least)

        hidden = np.minimum(wide / whole, 1.0)
        first, last = searches.ends(excludes, first, last, hidden, tail.pieces)
    return np.where(is_known, first, 0.0), np.where(is_known, last, 1.0)


@lru_cache(maxsize=64)
def _tail(law: Any, risk: float, terms: Terms, points: int) -> Tail:
    """Of the bounds for a law the tightest that is quick."""
    law, risk = alone(law, risk)
    sums = tail_of(law, risk, terms)
    is_plain = isinstance(law, DiscreteLaplace | DiscreteGaussian) and risk >= LEAST_RISK
    if isinstance(sums, Laplace | Normal) or not is_plain or _excess(law, sum(terms)) > MOST_EXCESS:
        return Sums(sums)
    return Lattice(risk, *(Points.of(law, n, risk, points) for n in terms))


@dataclass(frozen=True)
class Sums:
    """Noises of a part and of the rest with a bound on their weighted sums."""

    sums: WeightedTail

    @property
    def pieces(self) -> int:
        return self.sums.pieces

    def is_beyond(self, low: Floats, high: Floats, least: Floats) -> Truths:
        return self.sums.is_beyond((1 - low, high), least)


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
        scale, step, off, excess = float(law.scale), 1.0, 0.0, _excess(law, terms)
        if excess:  # continuous noise of this scale is a multiple of that of another
            step, off = scale / LATTICE, terms * (0.5 + scale / LATTICE / 2)
            law = DiscreteLaplace(Fraction(LATTICE))
        beyond = BEYOND * risk / terms
        reach = math.ceil(half_width(law, beyond, terms)) + 1
        size = 2 * reach + 1
        one: Floats = chances(law, np.arange(-reach, reach + 1))
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


def _excess(law: Any, terms: int) -> float:
    """The logarithm of how much more probable another lattice may make what sums of noises are."""
    scale = float(law.scale)
    return terms * (1 / (4 * scale) + 1 / (8 * LATTICE**2)) if scale > LATTICE else 0.0


def chances(law: Any, places: npt.NDArray[np.int64]) -> Floats:
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
            # at u = 1 all X are beyond or none; as m was lowered, no y is equal to it
            by = np.maximum(1 - u, 1e-100)
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
