"""Whether weighted sums of a few independent noises are larger than they are with a given risk.

A tail takes the most that each weight can be in size, which makes it no smaller (proof:
docs/proofs/ratios.md, claims 2 and 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within
from .combined import CombinedNoise

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

#: Noise of this scale or more is treated as continuous.
CONTINUOUS = 32
#: Of how many noises the tail of a Laplace sum is written as a sum of exponentials, and how far
#: their scales are moved apart for it: the differences lose at most six of sixteen digits.
FEW, APART = 3, 1 + 1e-3
#: More than what rounding adds to products.
ABOVE = 1 + 1e-8
#: How often an interval for a bound is halved.
HALVED = 30
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
    return float(law.half_width(1 - risk)) if risk < 1 else 0.0


@lru_cache(maxsize=256)
def bound(law: Any, risk: float, weights: tuple[float, ...]) -> float:
    """A w with P[|Σ aₖ·Zₖ| > w] ≤ risk, for weights that aren't negative."""
    weights = tuple(filter(None, weights))
    largest, terms = max(weights, default=0.0), len(weights)
    if terms < 2:
        return half_width(law, risk) * largest * ABOVE
    apart, together = half_width(law, risk / terms) * sum(weights), half_width(law, risk, terms)
    tail, each = tail_of(law, risk, (1,) * terms), [np.array([weight]) for weight in weights]
    # no weight is larger than the largest, and tails grow with each
    low, high = 0.0, min(apart, together * largest) * ABOVE
    for _ in range(HALVED):
        middle = (low + high) / 2
        is_enough = tail.is_beyond(each, np.array([middle]))[0]
        low, high = (low, middle) if is_enough else (middle, high)
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
    if isinstance(law, Within) or max(terms) > 1:
        return Apart(tuple(half_width(law, risk / len(terms), n) for n in terms))
    if isinstance(law, DiscreteLaplace) and law.scale >= CONTINUOUS and len(terms) <= FEW:
        return Laplace(float(law.scale), risk)
    return Other(law, risk)


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
    pieces = 16

    def is_beyond(self, weights: Sequence[Floats], least: Floats) -> Truths:
        from .weighted_sums import half_widths_of_weighted  # few need it

        corners = np.stack(np.broadcast_arrays(*weights, least)[:-1], axis=-1)
        flat = corners.reshape(-1, 1, corners.shape[-1])
        wide = half_widths_of_weighted(self.law, flat, 1, self.risk)
        found: Truths = least > wide.reshape(least.shape)
        return found
