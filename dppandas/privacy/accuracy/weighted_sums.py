"""How large a weighted sum of independent noises may be: proven bounds from public weights.

For weights that nothing random decides, the sum is no larger but for a risk. The bounds are convex
in the weights, or grow with the size of each, so that one holds for all weights between some
corners (proof: docs/proofs/covariances.md).
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from .combined import CombinedNoise

Floats = npt.NDArray[np.float64]

#: More than all floating-point errors together.
ABOVE = 1 + 1e-9
#: Which exponents t are tried: shares of the largest that has a moment, and of what is best where
#: the sum is nearly normal.
OF_LARGEST: Floats = np.array([0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.97])
OF_NORMAL: Floats = np.array([0.6, 0.7, 0.8, 0.88, 0.95, 1.03])
#: Where characteristic functions are looked at, in 1/(standard deviations).
FREQUENCIES: Floats = np.arange(25) / 4


@dataclass(frozen=True)
class Within:
    """Noises of which each lies within ± half_width, for sure."""

    half_width: int


@dataclass(frozen=True)
class _NoiseTerms:
    """A noise as a weighted sum of Laplace noises, by their scales, and Gaussian ones, by σ; the
    weight of the latter before their σ; and what rounding to whole numbers may add."""

    laplace: tuple[float, ...]
    gaussian: tuple[float, ...]
    weight: float
    excess: float  # Σ 1/(24σ²)
    rounded: float

    @classmethod
    def of(cls, law: Any) -> _NoiseTerms:
        laws, shares, whole = [law], [1.0], False
        if isinstance(law, CombinedNoise):
            total = sum(law.weights)
            laws, shares, whole = list(law.laws), [w / total for w in law.weights], law.whole
        pairs = [(each, share) for each, share in zip(laws, shares, strict=True) if share]
        scales = [
            float(e.scale) * s for e, s in pairs if isinstance(e, DiscreteLaplace) and e.scale
        ]
        normal = [(float(e.sigma2), s) for e, s in pairs if isinstance(e, DiscreteGaussian)]
        normal = [(sigma2, share) for sigma2, share in normal if sigma2]
        return cls(
            tuple(scales),
            tuple(math.sqrt(sigma2) * share for sigma2, share in normal),
            sum(share for _, share in normal),
            sum(1 / (24 * sigma2) for sigma2, _ in normal),
            0.5 if whole else 0.0,
        )


def half_widths_of_weighted(law: Any, corners: Floats, terms: int, risk: float) -> Floats:
    """For each cell a w with P[|Σ_k a_k·(sum of so many noises)| > w] ≤ risk, for whatever weights
    a there are between its corners: by cells, corners and k."""
    totals: Floats = terms * np.abs(corners).sum(axis=2).max(axis=1)
    if isinstance(law, Within):
        return totals * law.half_width * ABOVE
    if isinstance(law, CombinedNoise):
        risk = law.risk(risk)
    parts = _noise_terms(law)
    if not (parts.laplace or parts.gaussian) or not totals.max():
        return parts.rounded * totals
    squares = np.square(corners).sum(axis=2).max(axis=1)
    deviations = np.sqrt(terms * squares * sum(s * s for s in parts.gaussian))
    found = _by_moments(parts, corners, terms, deviations, risk)
    if not parts.laplace:
        noises = corners.shape[2] * terms
        found = np.minimum(found, _normal(parts, deviations, totals, noises, risk))
    elif isinstance(law, DiscreteLaplace):
        densities = _by_densities(parts.laplace[0], corners, terms, risk)
        found = np.minimum(found, densities + totals / 2)
    return (found + parts.rounded * totals) * ABOVE


_noise_terms = lru_cache(maxsize=64)(_NoiseTerms.of)


def _normal(
    parts: _NoiseTerms, deviations: Floats, totals: Floats, noises: int, risk: float
) -> Floats:
    """By the tail of the normal law: a discrete Gaussian has at most exp(1/(24σ²)) times the
    probabilities of a normal number that is rounded, which moves it by a half."""
    left = risk * math.exp(-min(parts.excess * noises, 600.0))
    if left < 1e-250:
        return np.full_like(totals, math.inf)
    z = -statistics.NormalDist().inv_cdf(left / 2)
    return np.asarray(z * deviations + parts.weight * totals / 2)


def _by_moments(
    parts: _NoiseTerms, corners: Floats, terms: int, deviations: Floats, risk: float
) -> Floats:
    """By Chernoff's inequality, with E exp(tZ) ≤ 1/(1 - (tb)²) for Laplace noise of scale b."""
    target = math.log(2 / risk)
    if not parts.laplace:
        return deviations * math.sqrt(2 * target)
    scales = np.concatenate([np.abs(corners) * scale for scale in parts.laplace], axis=2)
    t, moments = _log_moments(scales, terms, target, deviations)
    found: Floats = (moments + np.square(t * deviations[:, None]) / 2 + target) / t
    return np.asarray(found.min(axis=1))


def _log_moments(
    scales: Floats, terms: int, target: float, deviations: Floats
) -> tuple[Floats, Floats]:
    """Exponents t for each cell, and the largest ln E exp(t·sum) at its corners."""
    largest = np.maximum(scales.max(axis=(1, 2)), 1e-300)
    variances = 2 * terms * np.square(scales).sum(axis=2).max(axis=1) + deviations**2
    normal = np.sqrt(2 * target / np.maximum(variances, 1e-300))
    t = np.minimum(
        np.concatenate([np.outer(1 / largest, OF_LARGEST), np.outer(normal, OF_NORMAL)], axis=1),
        (OF_LARGEST[-1] / largest)[:, None],
    )
    squares = np.square(t[:, :, None, None] * scales[:, None])
    return t, -terms * np.log1p(-squares).sum(axis=3).min(axis=2)


def _by_densities(scale: float, corners: Floats, terms: int, risk: float) -> Floats:
    """Chernoff's bound, times what is left of it where the tilted sum has a density of M at most:
    P[S > w] ≤ exp(ln E exp(tS) - tw)·M/t. A discrete Laplace noise has at most exp(1/(4b)) times
    the probabilities of a continuous one that is rounded, which moves it by a half."""
    scales = scale * np.abs(corners)
    target = math.log(2 / risk) + min(terms * corners.shape[2] / (4 * scale), 1e6)
    t, moments = _log_moments(scales, terms, target, np.zeros(len(scales)))
    is_one_sided = (corners.min(axis=1) >= 0) | (corners.max(axis=1) <= 0)
    least = np.where(is_one_sided, scales.min(axis=1), 0.0)
    left = np.log(np.minimum(_densities(t, least, terms) / t, 1.0))
    found: Floats = (moments + left + target) / t
    return np.asarray(found.min(axis=1))


def _densities(t: Floats, scales: Floats, terms: int) -> Floats:
    """For each cell and t a bound on the density of a sum of Laplace numbers of these scales,
    tilted by exp(t·sum).

    Of log-concave densities with variance v none exceeds 1/√v. And none exceeds the integral of
    the size of its characteristic function over 2π: that falls, so a sum over the left ends of
    steps is no less, and beyond the last step it falls at least like a known power.
    """
    b, tb = scales[:, None], t[:, :, None] * scales[:, None]
    variances = 2 * terms * (np.square(b) * (1 + tb**2) / (1 - tb**2) ** 2).sum(axis=2)
    deviations = np.sqrt(np.maximum(variances, 1e-300))
    # the factors' sizes are 1/√((1+αξ²)(1+βξ²)), with √α = b/(1-tb) and √β = b/(1+tb)
    rates = np.concatenate([b / (1 - tb), b / (1 + tb)], axis=2) / deviations[:, :, None]
    at = np.square(rates[:, :, None] * FREQUENCIES[:, None])
    sizes = np.exp(-terms / 2 * np.log1p(at).sum(axis=3))
    last = at[:, :, -1]
    power = terms * (last / (1 + last)).sum(axis=2)
    beyond = sizes[:, :, -1] * FREQUENCIES[-1] / np.maximum(power - 1, 1e-9)
    rest = np.where(power > 1, beyond, math.inf)
    whole = sizes[:, :, :-1].sum(axis=2) * (FREQUENCIES[1] - FREQUENCIES[0]) + rest
    return np.asarray(np.minimum(whole / math.pi, 1.0) / deviations)
