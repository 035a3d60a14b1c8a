"""How large a weighted sum of independent noises may be: proven bounds from public weights.

For weights that nothing random decides, the sum is no larger but for a risk. The bounds are convex
in the weights, or grow with the size of each, so that one holds for all weights between some
corners (proof: docs/proofs/covariances.md).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .joint import Joint
from .mechanisms import DiscreteGaussian, DiscreteLaplace

Floats = npt.NDArray[np.float64]

#: More than all floating-point errors together.
ABOVE = 1 + 1e-9
#: Which exponents t are tried, as shares of the largest that has a moment.
EXPONENTS: Floats = (1 - 0.5**8) * 0.93 ** np.arange(72)
#: Where characteristic functions are looked at, in 1/(standard deviations).
FREQUENCIES: Floats = np.arange(48) / 8


@dataclass(frozen=True)
class Within:
    """Noises of which each lies within ± half_width, for sure."""

    half_width: int


@dataclass(frozen=True)
class _Parts:
    """A noise as a weighted sum of Laplace noises, by their scales, and Gaussian ones, by σ; the
    weight of the latter before their σ; and what rounding to whole numbers may add."""

    laplace: tuple[float, ...]
    gaussian: tuple[float, ...]
    weight: float
    excess: float  # Σ 1/(24σ²)
    rounded: float

    @classmethod
    def of(cls, law: Any) -> _Parts:
        laws, shares, whole = [law], [1.0], False
        if isinstance(law, Joint):
            total = sum(law.weights)
            laws, shares, whole = list(law.laws), [w / total for w in law.weights], law.whole
        pairs = [(each, share) for each, share in zip(laws, shares, strict=True) if share]
        scales = [float(e.scale) * s for e, s in pairs if isinstance(e, DiscreteLaplace) and e.scale]
        normal = [(float(e.sigma2), s) for e, s in pairs if isinstance(e, DiscreteGaussian)]
        normal = [(sigma2, share) for sigma2, share in normal if sigma2]
        return cls(
            tuple(scales),
            tuple(math.sqrt(sigma2) * share for sigma2, share in normal),
            sum(share for _, share in normal),
            sum(1 / (24 * sigma2) for sigma2, _ in normal),
            0.5 if whole else 0.0,
        )


def half_width_of_weighted(law: Any, corners: Floats, terms: int, risk: float) -> float:
    """A w with P[|Σ_k a_k·(sum of so many noises)| > w] ≤ risk, for whatever weights a there are
    between the corners, a row each."""
    total = terms * float(np.abs(corners).sum(axis=1).max())
    if isinstance(law, Within):
        return total * law.half_width * ABOVE
    parts = _Parts.of(law)
    if not total or not (parts.laplace or parts.gaussian):
        return parts.rounded * total
    squares = float(np.square(corners).sum(axis=1).max())
    deviation = math.sqrt(terms * squares * sum(s * s for s in parts.gaussian))
    found = _by_moments(parts, corners, terms, deviation, risk)
    if not parts.laplace:
        found = min(found, _normal(parts, deviation, total, corners.shape[1] * terms, risk))
    elif isinstance(law, DiscreteLaplace):
        found = min(found, _by_densities(parts.laplace[0], corners, terms, total, risk))
    return (found + parts.rounded * total) * ABOVE


def _normal(parts: _Parts, deviation: float, total: float, noises: int, risk: float) -> float:
    """By the tail of the normal law: a discrete Gaussian has at most exp(1/(24σ²)) times the
    probabilities of a normal number that is rounded, which moves it by a half."""
    left = risk * math.exp(-min(parts.excess * noises, 600.0))
    if left < 1e-250:
        return math.inf
    return -statistics.NormalDist().inv_cdf(left / 2) * deviation + parts.weight * total / 2


def _by_moments(
    parts: _Parts, corners: Floats, terms: int, deviation: float, risk: float
) -> float:
    """By Chernoff's inequality, with E exp(tZ) ≤ 1/(1 - (tb)²) for Laplace noise of scale b."""
    target = math.log(2 / risk)
    if not parts.laplace:
        return deviation * math.sqrt(2 * target)
    scales = np.concatenate([np.abs(corners) * scale for scale in parts.laplace], axis=1)
    t, moments = _log_moments(scales, terms)
    return float(((moments + np.square(t * deviation) / 2 + target) / t).min())


def _log_moments(scales: Floats, terms: int) -> tuple[Floats, Floats]:
    """Exponents t, and the largest ln E exp(t·sum) of some corners' sums, for each."""
    t = EXPONENTS / scales.max()
    squares = np.square(t[:, None, None] * scales)
    return t, -terms * np.log1p(-squares).sum(axis=2).max(axis=1)


def _by_densities(
    scale: float, corners: Floats, terms: int, total: float, risk: float
) -> float:
    """Chernoff's bound, times what is left of it where the tilted sum has a density of M at most:
    P[S > w] ≤ exp(ln E exp(tS) - tw)·M/t. A discrete Laplace noise has at most exp(1/(4b)) times
    the probabilities of a continuous one that is rounded, which moves it by a half."""
    scales = scale * np.abs(corners)
    t, moments = _log_moments(scales, terms)
    is_one_sided = (corners.min(axis=0) >= 0) | (corners.max(axis=0) <= 0)
    least = np.where(is_one_sided, scales.min(axis=0), 0.0)
    noises = terms * corners.shape[1]
    target = math.log(2 / risk) + min(noises / (4 * scale), 1e6)
    left = np.log(np.minimum(_densities(t, least[least > 0], terms) / t, 1.0))
    return float(((moments + left + target) / t).min()) + total / 2


def _densities(t: Floats, scales: Floats, terms: int) -> Floats:
    """A bound on the density of a sum of Laplace numbers of these scales, tilted by exp(t·sum).

    Of log-concave densities with variance v none exceeds 1/√v. And none exceeds the integral of
    the size of its characteristic function over 2π: that falls, so a sum over the left ends of
    steps is no less, and beyond the last step it falls at least like a known power.
    """
    if not scales.size:
        return np.full(len(t), math.inf)
    tb = np.outer(t, scales)
    variances = 2 * terms * (np.square(scales) * (1 + tb**2) / (1 - tb**2) ** 2).sum(axis=1)
    deviations = np.sqrt(variances)
    # the factors' sizes are 1/√((1+αξ²)(1+βξ²)), with √α = b/(1-tb) and √β = b/(1+tb)
    rates = np.concatenate([scales / (1 - tb), scales / (1 + tb)], axis=1) / deviations[:, None]
    at = np.square(rates[:, None, :] * FREQUENCIES[:, None])
    sizes = np.exp(-terms / 2 * np.log1p(at).sum(axis=2))
    last = at[:, -1, :]
    power = terms * (last / (1 + last)).sum(axis=1)
    rest = np.where(
        power > 1, sizes[:, -1] * FREQUENCIES[-1] / np.maximum(power - 1, 1e-9), math.inf
    )
    whole = sizes[:, :-1].sum(axis=1) * (FREQUENCIES[1] - FREQUENCIES[0]) + rest
    return np.minimum(whole / math.pi, 1.0) / deviations
