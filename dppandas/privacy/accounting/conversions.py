"""Conversions between ε, (ε, δ) and ρ. Nothing here depends on data.

ρ is that of zero-concentrated differential privacy (zCDP): the Rényi divergence of every order
α > 1 between neighbours is at most αρ (Bun and Steinke, "Concentrated Differential Privacy",
TCC 2016).

Results are rationals. Irrational numbers are computed as an `Enclosure` and rounded on the safe
side: ε, δ and ρ up to 15 significant digits; σ² up, and what `rho_for` says may be spent down, to
12. Where a bound holds for every value of a parameter, floats search for the best value, and the
bound is then proven at the value they found: a bad search would cost accuracy, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from ...errors import QueryError, quoted
from .enclosures import PLACES, SHORT, Enclosure, rounded, shortened, tight, upper

#: Beyond this ℓ1 sensitivity, Laplace noise is charged the ρ that it has at this one. That is
#: hardly more, and makes ρ depend on ε alone, however fine the integers of a query are.
FINE = 2**20
#: Digits enough for the normal law: at 30 σ up to 196 of them cancel.
LARGE_DIGITS = 240


def _positive(**values: Fraction) -> None:
    for name, value in values.items():
        if value <= 0:
            raise QueryError(f"{name}={quoted(value)} must be greater than 0.")


def _probability(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise QueryError(f"delta={quoted(delta)} must lie between 0 and 1, both excluded.")


def _root(rising: Callable[[float], float]) -> float:
    """The x > 0 at which a rising function passes 0, to about a float's precision."""
    low, high = -700.0, 700.0
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(math.exp(middle)) < 0 else (low, middle)
    return math.exp((low + high) / 2)


def least_from(low: int, enough: Callable[[int], bool]) -> int:
    """The least integer above ``low`` that is enough, as all larger ones are."""
    high, step = low + 1, 2
    while not enough(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_near(guess: int, enough: Callable[[int], bool]) -> int:
    """The least integer that is enough, as all larger ones are, found soon near a guess."""
    low, step = guess - 1, 1
    while enough(low):
        low, step = low - step, 2 * step
    return least_from(low, enough)


# --- zCDP and approximate differential privacy ----------------------------------------------------
#
# With x = α - 1, ρ-zCDP gives (ε, δ) whenever for some x > 0
#     ln δ = x ((x+1) ρ - ε) + x ln(x/(x+1)) - ln(x+1)


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """The least ε, rounded up, for which ρ-zCDP is known to give (ε, δ).

    *Source*: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy"
    (NeurIPS 2020), Proposition 12: ε = min over α > 1 of
    αρ + ln(1 - 1/α) + (ln(1/δ) - ln α) / (α - 1). The best x = α - 1 solves
    ρx² + ln(1+x) = ln(1/δ), whose left side rises.

    >>> round(float(epsilon_of(Fraction(1, 2), Fraction(1, 10**6))), 9)
    5.221534445
    """
    _probability(delta)
    if not rho:
        return Fraction(0)
    _positive(rho=rho)
    r, wanted = float(rho), -math.log(delta)
    x = Fraction(_root(lambda x: r * x * x + math.log1p(x) - wanted))

    def epsilon(digits: int) -> Enclosure:
        alpha, rest = Enclosure.of(x + 1, digits), Enclosure.of(x, digits)
        log = (alpha * delta).ln()
        return alpha * rho + (rest / alpha).ln() - log / rest

    return max(Fraction(0), upper(epsilon))


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """The least δ, rounded up, for which ρ-zCDP is known to give (ε, δ); at most 1.

    The bound of `epsilon_of`, solved for δ. The best x solves (2x+1)ρ - ε + ln(x/(x+1)) = 0,
    whose left side rises.
    """
    if not rho:
        return Fraction(0)
    _positive(rho=rho)
    if epsilon < 0:
        raise QueryError(f"epsilon={quoted(epsilon)} must not be negative.")
    r, e = float(rho), float(epsilon)
    x = Fraction(_root(lambda x: (2 * x + 1) * r - e - math.log1p(1 / x)))

    def delta(digits: int) -> Enclosure:
        alpha, rest = Enclosure.of(x + 1, digits), Enclosure.of(x, digits)
        log = (alpha * rho - epsilon + (rest / alpha).ln()) * rest
        return log.exp() / alpha

    return min(Fraction(1), upper(delta))


def delta_for_group(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """The δ, rounded up and at most 1, that (ε, δ)-privacy gives groups of this size at size·ε.

    δ (1 + e^ε + … + e^((size-1)ε)) = δ (e^(size·ε) - 1) / (e^ε - 1), for each unit of a group
    adds one p ≤ e^ε p' + δ (Vadhan, "The Complexity of Differential Privacy", 2017, Lemma 2.2,
    where the sum is bounded by its largest term).

    >>> round(float(delta_for_group(Fraction(1), Fraction(1, 10**6), 3)), 12)
    1.1107338e-05
    """
    if size == 1 or not delta:
        return min(Fraction(1), delta)
    if not epsilon:
        return min(Fraction(1), size * delta)
    beyond = math.log(delta.denominator) - math.log(delta.numerator) + 1
    if (size - 1) * epsilon > Fraction(beyond):  # already the last term is above 1
        return Fraction(1)

    def whole(digits: int) -> Enclosure:
        step = Enclosure.of(epsilon, digits).exp() - 1
        return (Enclosure.of(size * epsilon, digits).exp() - 1) / step * delta

    return min(Fraction(1), upper(whole))


@lru_cache(maxsize=1024)
def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ, rounded down to 12 digits, that gives (ε, δ): epsilon_of(ρ, δ) ≤ ε.

    Along the best x of `epsilon_of`, ρ(x) = (ln(1/δ) - ln(1+x)) / x² and
    ε(x) = (2x+1) ρ(x) + ln(x/(x+1)), both falling with x until ρ is 0.

    >>> rho = rho_for(Fraction(1), Fraction(1, 10**6))
    >>> epsilon_of(rho, Fraction(1, 10**6)) <= 1 < epsilon_of(rho * 1001 / 1000, Fraction(1, 10**6))
    True
    """
    _probability(delta)
    _positive(epsilon=epsilon)
    wanted, e = -math.log(delta), float(epsilon)

    def short(x: float) -> float:
        left = wanted - math.log1p(x)
        return e - ((2 * x + 1) * left / x / x - math.log1p(1 / x)) if left > 0 else e

    x = Fraction(_root(short))

    def rho(digits: int) -> Enclosure:
        alpha, rest = Enclosure.of(x + 1, digits), Enclosure.of(x, digits)
        log = (alpha * delta).ln()
        return (log / rest + epsilon - (rest / alpha).ln()) / alpha

    found = rounded(tight(rho, PLACES + 3).low, SHORT, up=False)
    while epsilon_of(found, delta) > epsilon:
        found = shortened(found * (1 - Fraction(1, 10**SHORT)), up=False)
    return found


# --- the ρ of mechanisms with pure guarantees -----------------------------------------------------


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """The ρ of any ε-differentially private mechanism: ε tanh(ε/2), rounded up.

    Randomised response attains it, and every other such mechanism is a function of randomised
    response (Kairouz, Oh and Viswanath, ICML 2015). Proof: docs/proofs/conversions.md.

    >>> round(float(rho_of_pure(Fraction(1))), 6)
    0.462117
    """
    if not epsilon:
        return Fraction(0)
    _positive(epsilon=epsilon)

    def rho(digits: int) -> Enclosure:
        a = Enclosure.of(-epsilon, digits).exp()
        return (-a + 1) / (a + 1) * epsilon

    return upper(rho)


def rho_of_selection(epsilon: Fraction) -> Fraction:
    """The ρ of one ε-DP round of the exponential mechanism: ε²/8, exactly.

    Its log-ratios between neighbours lie within an interval of length ε, and Hoeffding's lemma
    does the rest (Cesar and Rogers, "Bounding, Concentrating, and Truncating", ALT 2021).
    Not so for permute-and-flip, which is charged `rho_of_pure`. Proof: docs/proofs/conversions.md.
    """
    return epsilon * epsilon / 8


def selection_epsilon_for(rho: Fraction) -> Fraction:
    """The largest ε, rounded down, with ε²/8 ≤ ρ."""
    square = 8 * rho
    unit = 10**PLACES * math.isqrt(square.denominator)  # exact for squares of rationals
    return Fraction(math.isqrt(math.floor(square * unit * unit)), unit)


def rho_of_laplace(sensitivity: int, scale: Fraction) -> Fraction:
    """The ρ of discrete Laplace noise on integers of an ℓ1 sensitivity Δ, rounded up.

    With ε = Δ/scale and a = exp(-1/scale) it is ε - (ε/Δ) 2a (1 - exp(-ε)) / (1 - a²), the
    Kullback-Leibler divergence of a shift by Δ: no order has a larger share, and no other vector
    of that ℓ1 norm a larger divergence. Proof: docs/proofs/conversions.md.

    >>> round(float(rho_of_laplace(1, Fraction(1))), 6)
    0.462117
    """
    if not sensitivity:
        return Fraction(0)
    _positive(sensitivity=Fraction(sensitivity), scale=scale)

    def rho(digits: int) -> Enclosure:
        a = Enclosure.of(-1 / scale, digits).exp()
        whole = Enclosure.of(-sensitivity / scale, digits).exp()
        saved = a * 2 * (-whole + 1) / (-(a * a) + 1)
        return (-saved + sensitivity) / scale

    return upper(rho)


def rho_of_fine_laplace(epsilon: Fraction) -> Fraction:
    """The ρ charged for an ε of Laplace noise on integers of a large sensitivity: that of `FINE`.

    With x = ε/Δ, `rho_of_laplace` is ε - (1 - exp(-ε)) x / sinh x, which falls as Δ grows. So the ρ
    of `FINE` bounds that of all finer integers, and is the same for all of them.
    """
    return rho_of_laplace(FINE, FINE / epsilon)


@lru_cache(maxsize=1024)
def fine_laplace_epsilon_for(rho: Fraction) -> Fraction:
    """The largest ε of six digits for which `rho_of_fine_laplace` is at most ρ.

    >>> found = fine_laplace_epsilon_for(2 * rho_of_fine_laplace(Fraction(1)))
    >>> float(found)
    1.51621
    """
    _positive(rho=rho)
    wanted = float(rho)
    near = _root(lambda e: e + math.expm1(-e) - wanted)  # as Δ → ∞, ρ → ε - 1 + exp(-ε)
    unit = Fraction(10) ** (math.floor(math.log10(near)) - 5)
    found = math.floor(Fraction(near) / unit)
    while rho_of_fine_laplace(found * unit) > rho:
        found -= 1
    while rho_of_fine_laplace((found + 1) * unit) <= rho:  # so that every machine finds the same
        found += 1
    return found * unit
