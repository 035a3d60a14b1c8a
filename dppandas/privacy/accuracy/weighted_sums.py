"""Proven bounds on weighted sums of independent noises, for public weights.

A bound fails with at most a given risk, for weights that don't depend on the noise. Bounds are
convex in the weights or grow with the size of each, so one bound at some corners holds for all
weights between them (proof: docs/proofs/covariances.md).
"""

from __future__ import annotations

import math
import statistics
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within
from .combined import CombinedNoise

Floats = npt.NDArray[np.float64]

#: More than all floating-point errors together, in whichever order numbers are added up.
ABOVE = 1 + 1e-8
#: How many weights are bounded at once, so that intermediate arrays fit the cache; and how many
#: factors, all above 0.05, are multiplied before a logarithm is taken.
WEIGHTS, FACTORS = 2**14, 64
#: The exponents t that are tried: multiples of the largest that has a moment, and of the best one
#: for a nearly normal sum.
OF_LARGEST: Floats = np.array([0.5, 0.6, 0.7, 0.8, 0.87, 0.93, 0.97])
OF_NORMAL: Floats = np.array([0.6, 0.7, 0.8, 0.88, 0.95, 1.03])
#: Where characteristic functions are evaluated, in 1/(standard deviations).
FREQUENCIES: Floats = np.arange(25) / 4


@dataclass(frozen=True)
class _NoiseTerms:
    """A noise as a weighted sum of Laplace and Gaussian noises."""

    laplace: tuple[float, ...]  # weight times scale of each
    gaussian: tuple[float, ...]  # weight times σ of each
    weight: float  # of all Gaussian noises together
    excess: float  # Σ 1/(24σ²)
    rounded: float  # what rounding to whole numbers may add
    alone: bool  # whether it isn't combined

    @classmethod
    def of(cls, law: Any) -> _NoiseTerms:
        pairs, whole = [(law, 1.0)], False
        if isinstance(law, CombinedNoise):
            pairs, whole = law.parts, law.whole
        laplace = [float(e.scale) * w for e, w in pairs if isinstance(e, DiscreteLaplace)]
        normal = [(float(e.sigma2), w) for e, w in pairs if isinstance(e, DiscreteGaussian)]
        normal = [(sigma2, weight) for sigma2, weight in normal if sigma2]
        return cls(
            tuple(filter(None, laplace)),
            tuple(math.sqrt(sigma2) * weight for sigma2, weight in normal),
            sum(weight for _, weight in normal),
            sum(1 / (24 * sigma2) for sigma2, _ in normal),
            0.5 if whole else 0.0,
            not isinstance(law, CombinedNoise),
        )


def half_widths_of_weighted(law: Any, corners: Floats, terms: int, risk: float) -> Floats:
    """For each cell a w with P[|Σ_k a_k·(sum of `terms` noises)| > w] ≤ risk, for all weights a
    between the cell's corners. The axes of ``corners`` are cells, corners and k."""
    totals: Floats = terms * np.abs(corners).sum(axis=2).max(axis=1)
    if isinstance(law, Within):
        return totals * law.most * ABOVE
    if isinstance(law, CombinedNoise):
        risk = law.risk(risk)
    parts = _noise_terms(law)
    if not (parts.laplace or parts.gaussian) or not totals.max():
        return parts.rounded * totals
    size = max(1, WEIGHTS // corners[0].size)
    blocks = [slice(first, first + size) for first in range(0, len(corners), size)]
    found = [_half_widths(parts, corners[each], totals[each], terms, risk) for each in blocks]
    return (np.concatenate(found) + parts.rounded * totals) * ABOVE


def half_widths_of_norms(
    law: Any, norms: Floats, largest: Floats, noises: int, risk: float
) -> Floats:
    """For each cell a w with P[|Σ_k a_k·Z_k| > w] ≤ risk, for all weights a of so many noises with
    √Σa² ≤ ``norms`` and |a_k| ≤ ``largest``. Of a law that isn't combined.

    -ln(1 - t²a²) is convex in a², and 0 at 0: so the sum over all noises is at most Σa²/M² times
    what it is for the largest a², M² (proof: docs/proofs/least_squares.md).
    """
    if isinstance(law, DiscreteGaussian):
        alike = np.repeat(norms[:, None] / math.sqrt(noises), noises, axis=1)
        return half_widths_of_weighted(law, alike[:, None], 1, risk)
    most = np.maximum(float(law.scale) * largest, 1e-300)[:, None]
    whole, target = np.maximum(float(law.scale) * norms, 1e-300)[:, None], math.log(2 / risk)
    normal = math.sqrt(target) / whole * OF_NORMAL
    t = np.minimum(np.concatenate([OF_LARGEST / most, normal], axis=1), OF_LARGEST[-1] / most)
    moments = -np.square(whole / most) * np.log1p(-np.square(t * most))
    return np.asarray(((moments + target) / t).min(axis=1)) * ABOVE


def _half_widths(
    parts: _NoiseTerms, corners: Floats, totals: Floats, terms: int, risk: float
) -> Floats:
    """The least of the bounds that hold for noises of this kind, before they are rounded."""
    squares = np.square(corners).sum(axis=2).max(axis=1)
    deviations = np.sqrt(terms * squares * sum(s * s for s in parts.gaussian))
    found = _by_moments(parts, corners, terms, deviations, risk)
    if not parts.laplace:
        noises = corners.shape[2] * terms
        found = np.minimum(found, _normal(parts, deviations, totals, noises, risk))
    elif parts.alone:
        densities = _by_densities(parts.laplace[0], corners, terms, risk)
        found = np.minimum(found, densities + totals / 2)
    return found


_noise_terms = lru_cache(maxsize=64)(_NoiseTerms.of)


def _normal(
    parts: _NoiseTerms, deviations: Floats, totals: Floats, noises: int, risk: float
) -> Floats:
    """Bounds by the tail of the normal law. A discrete Gaussian has at most exp(1/(24σ²)) times the
    probabilities of a rounded normal number, and rounding moves it by at most a half."""
    left = risk * math.exp(-min(parts.excess * noises, 600.0))
    if left < 1e-250:
        return np.full_like(totals, math.inf)
    z = -statistics.NormalDist().inv_cdf(left / 2)
    return np.asarray(z * deviations + parts.weight * totals / 2)


def _by_moments(
    parts: _NoiseTerms, corners: Floats, terms: int, deviations: Floats, risk: float
) -> Floats:
    """Bounds by Chernoff's inequality: E exp(tZ) ≤ 1/(1 - (tb)²) for Laplace noise of scale b."""
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
    """Exponents t for each cell, and for each t the largest ln E exp(t·sum) at the corners."""
    largest = np.maximum(scales.max(axis=(1, 2)), 1e-300)
    variances = 2 * terms * np.square(scales).sum(axis=2).max(axis=1) + deviations**2
    normal = np.sqrt(2 * target / np.maximum(variances, 1e-300))
    t = np.minimum(
        np.concatenate([np.outer(1 / largest, OF_LARGEST), np.outer(normal, OF_NORMAL)], axis=1),
        (OF_LARGEST[-1] / largest)[:, None],
    )
    return t, -terms * _least_logs(np.square(t)[:, :, None], np.square(scales).transpose(2, 0, 1))


def _least_logs(t: Floats, squares: Floats) -> Floats:
    """For each cell and t², the least Σ_k ln(1 - t²·square) at a corner. The logarithms are of
    products, which cost less."""
    found: Floats = np.zeros(())
    for first in range(0, len(squares), FACTORS):
        product = np.ones((*t.shape[:2], squares.shape[2]))
        for square in squares[first : first + FACTORS]:
            factor = t * square[:, None]
            product *= np.subtract(1.0, factor, out=factor)
        found = found + np.log(product)
    return np.asarray(found.min(axis=2))


def _by_densities(scale: float, corners: Floats, terms: int, risk: float) -> Floats:
    """Chernoff's bound, sharpened where the tilted sum has a density of at most M:
    P[S > w] ≤ exp(ln E exp(tS) - tw)·M/t. Discrete Laplace noise has at most exp(1/(4b)) times the
    probabilities of a rounded continuous one, and rounding moves it by at most a half."""
    scales = scale * np.abs(corners)
    target = math.log(2 / risk) + min(terms * corners.shape[2] / (4 * scale), 1e6)
    t, moments = _log_moments(scales, terms, target, np.zeros(len(scales)))
    is_one_sided = (corners.min(axis=1) >= 0) | (corners.max(axis=1) <= 0)
    least = np.where(is_one_sided, scales.min(axis=1), 0.0)
    left = np.log(np.minimum(_densities(t, least, terms) / t, 1.0))
    found: Floats = (moments + left + target) / t
    return np.asarray(found.min(axis=1))


def _densities(t: Floats, scales: Floats, terms: int) -> Floats:
    """For each cell and t, a bound on the density of a sum of Laplace variables of these scales,
    tilted by exp(t·sum).

    A log-concave density with variance v is at most 1/√v. It is also at most 1/(2π) times the
    integral of the size of its characteristic function. That size falls, so a sum over the left
    ends of steps is no less than the integral, and beyond the last step it falls at least like a
    known power.
    """
    b, tb = scales[:, None], t[:, :, None] * scales[:, None]
    variances = 2 * terms * (np.square(b) * (1 + tb**2) / (1 - tb**2) ** 2).sum(axis=2)
    deviations = np.sqrt(np.maximum(variances, 1e-300))
    # the factors' sizes are 1/√((1+αξ²)(1+βξ²)), with √α = b/(1-tb) and √β = b/(1+tb)
    rates = np.concatenate([b / (1 - tb), b / (1 + tb)], axis=2) / deviations[:, :, None]
    product = np.ones((*t.shape, len(FREQUENCIES)))
    for square in np.square(rates).transpose(2, 0, 1):  # at most 1/terms each
        factor = square[:, :, None] * np.square(FREQUENCIES)
        product *= np.add(1.0, factor, out=factor)
    sizes = np.exp(-terms / 2 * np.log(product))
    last = np.square(rates * FREQUENCIES[-1])
    power = terms * (last / (1 + last)).sum(axis=2)
    beyond = sizes[:, :, -1] * FREQUENCIES[-1] / np.maximum(power - 1, 1e-9)
    rest = np.where(power > 1, beyond, math.inf)
    whole = sizes[:, :, :-1].sum(axis=2) * (FREQUENCIES[1] - FREQUENCIES[0]) + rest
    return np.asarray(np.minimum(whole / math.pi, 1.0) / deviations)
