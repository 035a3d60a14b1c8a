"""Whether weighted sums of a few independent noises are larger than they are with a given risk.

A tail takes the most that each weight can be in size, which makes it no smaller (proof:
docs/proofs/ratios.md, claims 2 to 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within
from .combined import CombinedNoise

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: Noise of this scale or more is treated as continuous.
CONTINUOUS = 32
#: Of how many noises the tail of a Laplace sum is written as a sum of exponentials, and how far
#: their scales are moved apart for it: the differences lose at most six of sixteen digits.
FEW, APART = 3, 1 + 1e-3
#: Where the tail of more noises is summed up: the steps are so short that what they add is small
#: beside the risk, and there are so many; and how many products are computed at a time.
STEEP, STEPS, AT_ONCE, FARTHEST = 8.0, 48, 2**18, 1e4
#: The most that discrete laws may be larger than continuous ones, as a logarithm.
MOST_EXCESS = 0.25
#: More than what rounding adds to products, and to such a sum for up to so many noises.
ABOVE, ADDED, MANY = 1 + 1e-8, 1e-10, 1000
#: Which shares of a bound are tried, from the least, and how often.
SHORTER, TRIED = (0.7, 1.0, 8), 2
#: How often an interval for a bound is cut into parts, and into how many.
CUT, PARTS = 6, 32
#: A risk that isn't subtracted from 1, as rounding would count.
SURE = 1e-9


class WeightedTail(Protocol):
    """Bounds of the law of |Σ aₖ·Zₖ|."""

    pieces: int  # into which a range of parameters is cut at a time

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        """Whether a value of ``least`` or more has at most the risk, for all aₖ no larger in size
        than ``weights``. False is always right."""
        ...


def half_width(law: Any, risk: float, terms: int = 1) -> float:
    """A w with P[|sum of noises| > w] ≤ risk, however small that is."""
    if terms > 1 or risk < SURE:
        return float(law.half_width_of_sum(risk, terms))
    return float(law.half_width(1 - risk)) if risk < 1 or isinstance(law, Within) else 0.0


@lru_cache(maxsize=256)
def bound(law: Any, risk: float, weights: tuple[float, ...], terms: int = 1) -> float:
    """A w with P[|Σ aₖ·Zₖ| > w] ≤ risk, for weights that aren't negative and sums Zₖ of so many
    noises each."""
    weights = tuple(filter(None, weights))
    count = len(weights)
    if count < 2:
        return half_width(law, risk, terms) * sum(weights) * ABOVE
    low, high = 0.0, half_width(law, risk / count, terms) * sum(weights) * ABOVE
    if min(weights) == max(weights):
        high = min(high, half_width(law, risk, count * terms) * weights[0] * ABOVE)
    tail, each = tail_of(law, risk, (terms,) * count), [np.array([weight]) for weight in weights]
    for _ in range(CUT):
        edges = np.linspace(low, high, PARTS + 1)
        is_enough = np.append(tail.is_beyond(each, edges[1:-1]), True)  # as the last one is
        place = int(is_enough.argmax())
        low, high = float(edges[place]), float(edges[place + 1])
    return high


def alone(law: Any, risk: float) -> tuple[Any, float]:
    """The law of the only release with a weight and the risk that is left for it, where releases
    are combined and there is one; else the same."""
    if isinstance(law, CombinedNoise) and sum(weight > 0 for weight in law.weights) == 1:
        return law.laws[law.weights.index(max(law.weights))], law.risk(risk)
    return law, risk


@lru_cache(maxsize=64)
def tail_of(law: Any, risk: float, terms: tuple[int, ...]) -> WeightedTail:
    """The bound for sums of as many noises as ``terms`` says for each weight."""
    law, risk = alone(law, risk)
    if isinstance(law, DiscreteGaussian) and law.sigma2 >= CONTINUOUS**2:
        return Normal(math.sqrt(law.sigma2), risk, terms)
    is_one = isinstance(law, DiscreteLaplace) and law.scale >= CONTINUOUS
    if is_one and max(terms) == 1 and len(terms) <= FEW:
        return Laplace(float(law.scale), risk)
    summed = Summed.of(law, risk, terms)
    if summed is not None:
        return summed
    if not isinstance(law, Within) and min(terms) == max(terms) and (risk >= SURE or terms[0] == 1):
        return Other(law, risk, terms[0])
    return Apart(tuple(half_width(law, risk / len(terms), n) for n in terms))


def reach(tail: WeightedTail, weights: Sequence[Floats], wide: Floats) -> Floats:
    """For each set of weights a bound on |Σ aₖ·Zₖ|, no larger than one that is known."""
    if isinstance(tail, Apart | Other):  # which know no better
        return wide
    found, steps = wide, np.linspace(*SHORTER)
    sizes = [each[..., None] for each in weights]
    for _ in range(TRIED):
        least = found[..., None] * steps
        is_enough = tail.is_beyond(sizes, least)
        place = np.where(is_enough.any(axis=-1), is_enough.argmax(axis=-1), -1)
        shorter = np.take_along_axis(least, place[..., None], axis=-1)[..., 0]
        found = np.where(place < 0, found, shorter)
        steps = 1 - (1 - steps) / len(steps)
    return found


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noises, by the tail of continuous ones: for scales αₖ it is
    Σ cₖ·exp(-x/αₖ), where cₖ is the product of αₖ²/(αₖ² - αᵢ²) over all others."""

    scale: float
    risk: float
    pieces = 64

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        whole = sum(weights[1:], weights[0])
        x = np.maximum((least - whole / 2) / self.scale, 0.0)
        ordered = _ordered(weights)
        squares = [each * each for each in ordered]
        tail = np.zeros(x.shape)
        with np.errstate(under="ignore", over="ignore"):
            for k, (scale, square) in enumerate(zip(ordered, squares, strict=True)):
                part = np.exp(-x / scale)
                for other in squares[:k] + squares[k + 1 :]:
                    part = part * (square / (square - other))
                tail = tail + part
        excess = math.exp(len(weights) / (4 * self.scale))
        found: Truths = tail * excess * ABOVE <= self.risk
        return found


def _ordered(weights: Sequence[Floats]) -> list[Floats]:
    """From the least up, each larger than the one before."""
    if len(weights) == 2:
        ordered = [np.minimum(*weights), np.maximum(*weights)]
    else:
        ordered = list(np.sort(np.stack(weights), axis=0))
    ordered[0] = np.maximum(ordered[0], 1e-100)
    for k in range(1, len(ordered)):
        ordered[k] = np.maximum(ordered[k], ordered[k - 1] * APART)
    return ordered


@dataclass(frozen=True)
class Summed:
    """More discrete noises, Laplace or combined, by the tail of continuous ones: an integral of
    their moments along a line of the complex plane, as a sum that is no smaller (Poisson's
    summation formula; proof: docs/proofs/ratios.md, claim 4)."""

    scales: tuple[float, ...]  # of the Laplace noises that are combined
    variance: float  # of the Gaussian ones
    moved: float  # by how much discrete noises are off
    excess: float  # the logarithm of how much more probable they may be
    risk: float
    terms: tuple[int, ...]
    pieces = 16

    @classmethod
    def of(cls, law: Any, risk: float, terms: tuple[int, ...]) -> Summed | None:
        """None where noise is too small to be continuous, or the risk for rounding."""
        if isinstance(law, CombinedNoise):
            parts, moved, risk = law.parts, 0.5 + law.whole / 2, law.risk(risk)
        else:
            parts, moved = [(law, 1.0)], 0.5
        laplace = [(float(e.scale), w) for e, w in parts if isinstance(e, DiscreteLaplace)]
        normal = [(float(e.sigma2), w) for e, w in parts if isinstance(e, DiscreteGaussian)]
        scales, sigmas = [b for b, _ in laplace], [math.sqrt(sigma2) for sigma2, _ in normal]
        if not scales or min(scales + sigmas) < CONTINUOUS or risk < SURE:
            return None
        excess = sum(1 / (4 * b) for b in scales) + sum(1 / (24 * s * s) for s in sigmas)
        variance = sum(sigma2 * w * w for sigma2, w in normal)
        found = cls(tuple(b * w for b, w in laplace), variance, moved, excess, risk, terms)
        return found if sum(terms) * excess <= MOST_EXCESS else None

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        whole = sum((n * each for n, each in zip(self.terms, weights, strict=True)), np.zeros(()))
        largest, scale = np.maximum(np.maximum.reduce(weights), 1e-100), max(self.scales)
        # in units of the widest noise; the last axis may have several values for the same weights
        x = np.clip((least - self.moved * whole) / largest / scale, 0.0, FARTHEST)
        squares = np.stack([np.square(each / largest) for each in weights])
        values = x.shape[-1] if squares.shape[-1] == 1 else 1
        rows = x.reshape(-1, values)
        shape = (*x.shape[:-1], 1) if values > 1 else x.shape
        of = np.broadcast_to(squares, (len(squares), *shape)).reshape(len(squares), -1)
        size = max(1, AT_ONCE // max(STEPS, values))
        blocks = [slice(first, first + size) for first in range(0, len(rows), size)]
        tails = [self._tails(rows[each], of[:, each]) for each in blocks]
        excess = math.exp(sum(self.terms) * self.excess)
        found = np.concatenate([*tails, np.zeros((0, values))]).reshape(x.shape)
        is_beyond: Truths = (2 * found * excess * ABOVE <= self.risk) & (least > 0)
        return is_beyond

    def _tails(self, x: Floats, squares: Floats) -> Floats:
        """No less than the probability that Σ αₖ·Zₖ is above each x of a row, for continuous Zₖ in
        units of the largest scale, and the α² of the row."""
        unit = max(self.scales) ** 2
        rates = [(n, each * b * b / unit) for n, each in zip(self.terms, squares, strict=True)
                 for b in self.scales]  # fmt: skip
        normal = np.dot(self.terms, squares) * self.variance / unit
        variances = normal + 2 * sum((n * rate for n, rate in rates), np.zeros(()))
        target = math.log(2 / self.risk)
        of_normal = np.sqrt(2 * target / np.maximum(variances, 1e-9))
        tilt = np.minimum(of_normal / (1 + of_normal), 0.5)
        step = 2 * math.pi * tilt / (target + STEEP)
        places = tilt[:, None] + 1j * step[:, None] * np.arange(STEPS)
        waves, z = 1 / places, np.square(places)
        with np.errstate(under="ignore"):  # far away, moments of many noises are next to none
            for n, rate in rates:
                moments = 1 / (1 - rate[:, None] * z)
                waves *= moments if n == 1 else moments**n
            if self.variance:
                waves *= np.exp(normal[:, None] / 2 * z)
            damped = np.exp(-x * tilt[:, None]) / math.pi
        beyond = np.abs(waves[:, -1] * places[:, -1]) / _power(tilt, step * (STEPS - 1), rates)
        rounded = ADDED * max(1.0, sum(n for n, _ in rates) / MANY)
        added = beyond + (rounded * np.abs(waves[:, 0]) - waves[:, 0].real / 2) * step
        turn, total = np.exp(-1j * step[:, None] * x), np.zeros(x.shape, dtype=np.complex128)
        for wave in waves.T[::-1]:  # the sum of waves times powers of the turn
            total *= turn
            total += wave[:, None]
        found: Floats = damped * (total.real * step[:, None] + added[:, None])
        return found


def _power(tilt: Floats, last: Floats, rates: Sequence[tuple[int, Floats]]) -> Floats:
    """The power of its distance at which the size of moments falls from the last step on."""
    found = np.full(last.shape, 1e-9)
    for n, rate in rates:
        size, at = np.sqrt(rate), rate * last * last
        for sign in (-1, 1):
            found += n * at / ((1 + sign * size * tilt) ** 2 + at)
    return found


@dataclass(frozen=True)
class Normal:
    """Discrete Gaussian noises, by the tail of the normal law."""

    sigma: float
    risk: float
    terms: tuple[int, ...]
    pieces = 64

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        left = self.risk * math.exp(-sum(self.terms) / (24 * self.sigma**2))
        if left < 1e-250:
            return np.zeros(least.shape, dtype=bool)
        z, pairs = -NormalDist().inv_cdf(left / 2), list(zip(self.terms, weights, strict=True))
        squares: Floats = sum((n * each * each for n, each in pairs), np.zeros(()))
        whole = sum((n * each for n, each in pairs), np.zeros(()))
        found: Truths = least > (z * self.sigma * np.sqrt(squares) + whole / 2) * ABOVE
        return found


@dataclass(frozen=True)
class Apart:
    """Sums of noises of any law, each of which is bounded by itself."""

    widths: tuple[float, ...]
    pieces = 16

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        pairs = zip(self.widths, weights, strict=True)
        found: Truths = least > sum((w * each for w, each in pairs), np.zeros(())) * ABOVE
        return found


@dataclass(frozen=True)
class Other:
    """Noises of any law that `half_widths_of_weighted` bounds."""

    law: Any
    risk: float
    terms: int = 1
    pieces = 16

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        from .weighted_sums import half_widths_of_weighted  # few need it

        corners = np.stack(np.broadcast_arrays(*weights, least)[:-1], axis=-1)
        flat = corners.reshape(-1, 1, corners.shape[-1])
        wide = half_widths_of_weighted(self.law, flat, self.terms, self.risk)
        found: Truths = least > wide.reshape(least.shape)
        return found
