"""Whether weighted sums of noises of any laws are larger than they are with a given risk, where
each weight lies in an interval.

A pivot is a sum of noisy integers with weights for which the exact ones add up to 0, so that noise
is all of it. Which values of a parameter make it no larger than noise may be is an interval for the
parameter (proof: docs/proofs/derived.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from .ratios import ADDED, BEYOND, LATTICE, Points
from .weighted_tails import (
    ABOVE,
    CONTINUOUS,
    FEW,
    SURE,
    Apart,
    Floats,
    Laplace,
    Normal,
    Summed,
    Truths,
    WeightedTail,
    half_width,
    tail_of,
)  # fmt: skip

#: Up to this scale noises are added up point by point, on at most so many points each, if there are
#: no more kinds of them.
SMALL, POINTS, KINDS = 4.0, 160, 4
#: More than floats err about the place of a point, in steps.
TIED = 1e-7


class Noises(NamedTuple):
    """So many independent noises of a law that have the same weight."""

    law: Any
    terms: int = 1


@dataclass(frozen=True)
class Pivot:
    """Bounds of the law of Σ aₖ·Zₖ, where Zₖ is the sum of all noises of a kind."""

    noises: tuple[Noises, ...]
    risk: float

    def is_beyond(self, weights: Sequence[tuple[Floats, Floats]], least: Floats) -> Truths:
        """Whether a value of ``least`` or more in size has at most the risk, for all weights from
        the first to the second of each pair. False is always right."""
        some = [i for i, each in enumerate(self.noises) if each.law.scale]
        if not some:
            return np.asarray(least > 0)
        laws = [self.noises[i] for i in some]
        ends = [np.broadcast_arrays(*weights[i], least)[:2] for i in some]
        if _are_small(laws):
            return _Added.of(laws, self.risk).is_beyond(ends, least)
        tail, sizes = _tail(laws, self.risk)
        largest = [
            np.maximum(np.abs(low), np.abs(high)) * size
            for (low, high), size in zip(ends, sizes, strict=True)
        ]
        found: Truths = tail.is_beyond(largest, least) & (least > 0)
        return found


def _are_small(noises: Sequence[Noises]) -> bool:
    laws = [each.law for each in noises]
    plain = all(  # the points of wide noise are those of Laplace noise
        isinstance(law, DiscreteLaplace)
        or (isinstance(law, DiscreteGaussian) and law.scale <= LATTICE)
        for law in laws
    )
    return plain and len(noises) <= KINDS and min(map(_scale, laws)) < SMALL


def _scale(law: Any) -> float:
    return math.sqrt(law.sigma2) if isinstance(law, DiscreteGaussian) else float(law.scale)


def _tail(noises: Sequence[Noises], risk: float) -> tuple[WeightedTail, list[float]]:
    """The tightest bound that is quick, and by how much the weights of each kind are multiplied for
    it: noise of a larger scale is that of the smallest, times a number."""
    terms, laws = tuple(each.terms for each in noises), [each.law for each in noises]
    least = min(map(_scale, laws))
    is_one = len({*laws}) == 1
    if is_one and (least >= CONTINUOUS or not isinstance(laws[0], DiscreteLaplace)):
        return tail_of(laws[0], risk, terms), [1.0] * len(laws)
    sizes = [_scale(law) / least for law in laws]
    if risk >= SURE and least >= SMALL:
        if all(isinstance(law, DiscreteLaplace) for law in laws):
            if max(terms) == 1 and len(terms) <= FEW:
                return Laplace(least, risk), sizes
            return Summed((least,), 0.0, 0.5, 1 / (4 * least), risk, terms), sizes
        if all(isinstance(law, DiscreteGaussian) for law in laws):
            return Normal(least, risk, terms), sizes
    widths = (half_width(law, risk / len(laws), n) for law, n in noises)
    return Apart(tuple(widths)), [1.0] * len(laws)


@dataclass(frozen=True, eq=False)
class _Added:
    """Noises of small scale, on the points of their lattices: a sum over all points of some kinds
    of what the others have beyond."""

    points: tuple[Points, ...]
    risk: float

    @classmethod
    def of(cls, noises: Sequence[Noises], risk: float) -> _Added:
        return cls(tuple(Points.of(law, n, risk, POINTS) for law, n in noises), risk)

    def is_beyond(self, ends: Sequence[Sequence[Floats]], least: Floats) -> Truths:
        middle = [(low + high) / 2 for low, high in ends]
        lowered = least.astype(np.float64)
        for (low, high), points in zip(ends, self.points, strict=True):
            size = np.maximum(np.abs(low), np.abs(high))
            lowered = lowered - size * (points.off + TIED) - (high - low) / 2 * points.values[-1]
        each = np.stack([weight.reshape(-1) for weight in middle], axis=1)
        flat = zip(lowered.reshape(-1).tolist(), each, strict=True)
        found = [m > 0 and self._beyond(weights, m) <= self._allowed for m, weights in flat]
        return np.array(found, dtype=bool).reshape(least.shape)

    @property
    def _allowed(self) -> float:
        excess = math.exp(-sum(points.excess for points in self.points))
        return self.risk * (1 - 8 * BEYOND) * excess / ABOVE - 8 * ADDED

    def _beyond(self, weights: Floats, least: float) -> float:
        """The probability that the sum is ``least`` or more in size. Its law is symmetric."""
        half = -(-len(weights) // 2)
        pairs = list(zip(weights, self.points, strict=True))
        (one, of_one), (other, of_other) = _sums(pairs[:half]), _sums(pairs[half:])
        order = np.argsort(other)
        above = np.append(np.cumsum(of_other[order][::-1])[::-1], 0.0)
        first = np.searchsorted(other[order], least - one, "left")
        return float(2 * of_one @ above[first])


def _sums(pairs: Sequence[tuple[float, Points]]) -> tuple[Floats, Floats]:
    """The weighted sums of all points of some kinds, and their probabilities."""
    values, chances = np.zeros(1), np.ones(1)
    for weight, points in pairs:
        values = (values[:, None] + weight * points.values).reshape(-1)
        chances = (chances[:, None] * points.chances).reshape(-1)
    return values, chances
