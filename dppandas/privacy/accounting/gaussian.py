"""Gaussian noise: how much a privacy loss asks for, and which loss a given noise has."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from ...errors import QueryError, quoted
from .conversions import LARGE_DIGITS, _positive, _probability, _root, delta_of, rho_for
from .enclosures import SHORT, Enclosure, contexts, normal_tail, pi, shortened, upper

#: Up to this σ², tails are summed term by term; above, the normal law encloses them closely.
SUMMED = 10**5


def discrete_gaussian_tail(sigma2: Fraction, m: int, digits: int) -> Enclosure:
    """P[Z ≥ m] of the discrete Gaussian, P[Z = z] ∝ exp(-z²/(2σ²))."""
    if m <= 0:
        return -discrete_gaussian_tail(sigma2, 1 - m, digits) + 1
    if sigma2 <= SUMMED:
        return _summed(sigma2, m, digits) / (_summed(sigma2, 1, digits) * 2 + 1)
    return _integrated(sigma2, m, digits)


@lru_cache(maxsize=1024)
def _summed(sigma2: Fraction, m: int, digits: int) -> Enclosure:
    """Σ exp(-z²h) over z ≥ m ≥ 1, h = 1/(2σ²), by exp(-(z+1)²h) = exp(-z²h) exp(-(2z+1)h).

    The ratios of neighbouring terms fall, so that a geometric series bounds what is left out.
    """
    h = 1 / (2 * sigma2)
    start = [Enclosure.of(-k * h, digits).exp() for k in (m * m, 2 * m + 1, 2)]
    terms = math.ceil(math.sqrt(m * m + digits * math.log(10) / h) - m) + 1
    down, up = contexts(digits)
    low, _, _ = _sum([each.low for each in start], terms, down)
    high, term, ratio = _sum([each.high for each in start], terms, up)
    left_out = up.divide(term, down.subtract(Decimal(1), ratio))
    return Enclosure(low, up.add(high, left_out), digits)


def _sum(start: list[Decimal], terms: int, context: Context) -> tuple[Decimal, Decimal, Decimal]:
    """The sum of `terms` terms, with the next term and the next ratio."""
    total, (term, ratio, square) = Decimal(0), start
    for _ in range(terms):
        total = context.add(total, term)
        term, ratio = context.multiply(term, ratio), context.multiply(ratio, square)
    return total, term, ratio


def _integrated(sigma2: Fraction, m: int, digits: int) -> Enclosure:
    """P[Z ≥ m] for m ≥ 1 and a large σ², by the normal law.

    With f(x) = exp(-x²/(2σ²)), the midpoint rule Σ f(z) over z ≥ m differs from ∫ f from m - 1/2
    by at most an eighth of the variation of f' there: |f'(m - 1/2)| beyond σ, where f is convex
    and the sum the smaller one, else at most 2 exp(-1/2)/σ < 1.22/σ. By Poisson's formula, Σ f
    over all integers is √(2π)σ times a factor between 1 and 1 + 3 exp(-19σ²).
    """
    sigma, x = Enclosure.of(sigma2, digits).sqrt(), m - Fraction(1, 2)
    area = normal_tail(Enclosure.of(x, digits) / sigma) * sigma
    if x * x >= sigma2:
        below = Enclosure.of(-x * x / (2 * sigma2), digits).exp() * (x / (8 * sigma2))
        above = Enclosure.of(0, digits)
    else:
        below = above = Enclosure.of(Fraction(1, 6), digits) / sigma
    low, high = (area - below).low, (area + above).high
    whole = (pi(digits) * 2).sqrt() * sigma
    whole = Enclosure(whole.low, contexts(digits)[1].next_plus(whole.high), digits)
    return Enclosure(max(low, Decimal(0)), high, digits) / whole


def delta_of_gaussian(
    sigma2: Fraction, sensitivity2: Fraction | int, epsilon: Fraction, one_dimensional: bool = False
) -> Fraction:
    """The least δ, rounded up, that is proven for discrete Gaussian noise at this ε.

    ``sensitivity2`` is the square of the ℓ2 sensitivity of a vector of integers. If neighbours
    differ in one entry alone, which a square of 1 implies, it is exact: with Δ the largest shift,
    δ = P[Z > c] - exp(ε) P[Z > c + Δ], c = εσ²/Δ - Δ/2 (Canonne, Kamath and Steinke, NeurIPS
    2020, Theorem 7), and smaller shifts have a smaller δ. Else δ comes from ρ, which is always
    valid; the formula of the continuous Gaussian is not. Proof: docs/proofs/conversions.md.

    >>> round(float(delta_of_gaussian(Fraction(1), 1, Fraction(1))), 4)  # continuous: 0.1269
    0.1414
    """
    _positive(sigma2=sigma2)
    shift = math.isqrt(math.floor(sensitivity2))
    if not shift:
        return Fraction(0)
    if epsilon < 0:
        raise QueryError(f"epsilon={quoted(epsilon)} must not be negative.")
    if not (one_dimensional or shift == sensitivity2 == 1):
        return delta_of(gaussian_rho(sigma2, sensitivity2), epsilon)
    m = math.floor(epsilon * sigma2 / shift - Fraction(shift, 2)) + 1

    def delta(digits: int) -> Enclosure:
        here, beyond = (discrete_gaussian_tail(sigma2, k, digits) for k in (m, m + shift))
        return here - Enclosure.of(epsilon, digits).exp() * beyond

    return min(Fraction(1), upper(delta, None if sigma2 <= SUMMED else LARGE_DIGITS))


def gaussian_rho(sigma2: Fraction, sensitivity2: Fraction | int) -> Fraction:
    """The exact ρ of discrete Gaussian noise, the square of the ℓ2 sensitivity by 2σ².

    *Source*: Canonne, Kamath and Steinke (NeurIPS 2020), Theorem 4, and 14 for vectors.
    """
    return Fraction(sensitivity2) / (2 * sigma2) if sensitivity2 else Fraction(0)


def gaussian_sigma2(rho: Fraction, sensitivity2: Fraction | int) -> Fraction:
    """The least σ² for a ρ, exactly; 0, no noise, for a sensitivity of 0.

    >>> gaussian_sigma2(Fraction(1, 2), 1)
    Fraction(1, 1)
    """
    _positive(rho=rho)
    return Fraction(sensitivity2) / (2 * rho)


@lru_cache(maxsize=1024)
def gaussian_sigma2_for(
    epsilon: Fraction, delta: Fraction, sensitivity2: Fraction | int, one_dimensional: bool = False
) -> Fraction:
    """The least σ², rounded up, at which (ε, δ) is proven for the discrete Gaussian.

    By the exact δ where neighbours differ in one entry alone, else through ρ: see
    `delta_of_gaussian`. δ is computed at the σ² returned; that it falls with σ² decides only
    whether a smaller σ² would do.
    """
    _probability(delta)
    _positive(epsilon=epsilon)
    if not sensitivity2:
        return Fraction(0)
    if not (one_dimensional or sensitivity2 == 1):
        return shortened(gaussian_sigma2(rho_for(epsilon, delta), sensitivity2), up=True)

    def enough(sigma2: Fraction) -> bool:
        return delta_of_gaussian(sigma2, sensitivity2, epsilon, one_dimensional=True) <= delta

    low = high = analytic_sigma2(epsilon, delta, math.isqrt(math.floor(sensitivity2)) ** 2)
    step = Fraction(1, 10**9)
    while not enough(high):
        low, high, step = high, shortened(high * (1 + step), up=True), step * 8
    while low and enough(low):
        low, high, step = shortened(low / (1 + step), up=False), low, step * 8
    while high - low > high / 10**9:
        middle = shortened((low + high) / 2, up=True)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


# --- for comparison: continuous Gaussian noise ----------------------------------------------------


def classic_sigma2(epsilon: Fraction, delta: Fraction, sensitivity2: Fraction | int) -> Fraction:
    """σ² = 2 ln(1.25/δ) s/ε² of the continuous Gaussian, rounded up; only for ε < 1.

    *Source*: Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), Theorem
    A.1, whose proof needs ε < 1. No release uses it.
    """
    _probability(delta)
    _positive(epsilon=epsilon)
    if epsilon >= 1:
        raise QueryError(
            f"epsilon={quoted(epsilon)} is too large: the classic calibration is proven for "
            "epsilon < 1 only, and wrong from about 8.4 on. Use analytic_sigma2."
        )
    factor = Fraction(2 * sensitivity2) / epsilon**2
    return upper(lambda digits: Enclosure.of(Fraction(5, 4) / delta, digits).ln() * factor)


def analytic_sigma2(epsilon: Fraction, delta: Fraction, sensitivity2: Fraction | int) -> Fraction:
    """The least σ² of the *continuous* Gaussian for (ε, δ), rounded up.

    *Source*: Balle and Wang, "Improving the Gaussian Mechanism" (ICML 2018), Theorem 8. Not valid
    for discrete noise of a small σ, and so no release uses it.

    >>> round(math.sqrt(analytic_sigma2(Fraction(1), Fraction(1, 10**5), 1)), 6)
    3.730632
    """
    _probability(delta)
    _positive(epsilon=epsilon)
    return shortened(_analytic_ratio(epsilon, delta) * sensitivity2, up=True)


@lru_cache(maxsize=1024)
def _analytic_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """(σ/Δ)² at which P[N > εr - 1/(2r)] - exp(ε) P[N > εr + 1/(2r)] ≤ δ is proven, r = σ/Δ."""
    if epsilon > 700:
        raise QueryError(f"epsilon={quoted(epsilon)} is above 700, too large for Gaussian noise.")
    e, d = float(epsilon), float(delta)

    def tail(x: float) -> float:
        return math.erfc(x / math.sqrt(2)) / 2

    r = _root(lambda r: d - tail(e * r - 1 / (2 * r)) + math.exp(e) * tail(e * r + 1 / (2 * r)))

    def least(square: Fraction) -> Decimal:
        root = Enclosure.of(square, LARGE_DIGITS).sqrt()
        far, near = root * epsilon, Enclosure.of(Fraction(1, 2), LARGE_DIGITS) / root
        share = Enclosure.of(epsilon, LARGE_DIGITS).exp() * normal_tail(far + near)
        return ((normal_tail(far - near) - share) / (pi(LARGE_DIGITS) * 2).sqrt()).high

    square, step = shortened(Fraction(r) ** 2, up=True), Fraction(1, 10**SHORT)
    while Fraction(least(square)) > delta:
        square, step = shortened(square * (1 + step), up=True), step * 2
    return square
