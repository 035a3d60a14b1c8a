"""Student's t distribution and Fisher's F, which Python's standard library lacks."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

#: From so many degrees of freedom on it is the normal distribution, but for a ten-millionth.
NORMAL = 1e7
#: Where the continued fraction ends: no term changes it any more.
SMALL, TERMS = 1e-16, 10_000
#: The most steps of the search for a quantile, and how near it ends.
STEPS, NEAR = 200, 1e-12


def tail(t: float, freedom: float) -> float:
    """P[T > t] for a T of so many degrees of freedom."""
    if t < 0:
        return 1 - tail(-t, freedom)
    if freedom >= NORMAL:
        return math.erfc(t / math.sqrt(2)) / 2
    x, y = freedom / (freedom + t * t), t * t / (freedom + t * t)
    return _incomplete_beta(freedom / 2, 0.5, x, y) / 2


def f_tail(f: float, above: float, below: float) -> float:
    """P[F > f] for an F of Fisher's distribution, with degrees of freedom above and below."""
    whole = above * f + below
    return _incomplete_beta(below / 2, above / 2, below / whole, above * f / whole)


@lru_cache(maxsize=1024)
def quantile(risk: float, freedom: float) -> float:
    """The t with P[|T| > t] = risk: infinite without a degree of freedom."""
    if freedom <= 0 or risk <= 0:
        return math.inf
    low = high = -NormalDist().inv_cdf(risk / 2)  # no less than the normal one, if any differs
    while 2 * tail(high, freedom) > risk:
        low, high = high, 2 * high + 1
        if math.isinf(high):
            return high
    # Newton's method on the logarithm of the tail; by halves where it leaves the range
    found = min(high, low + low * (low * low + 1) / (4 * freedom))
    for _ in range(STEPS):
        beyond = tail(found, freedom)
        low, high = (found, high) if 2 * beyond > risk else (low, found)
        density = _density(found, freedom) if beyond else 0.0
        step = math.log(2 * beyond / risk) * beyond / density if density else math.inf
        last, found = found, found + step
        if not low <= found <= high:
            found = (low + high) / 2
        if abs(found - last) <= NEAR * found:
            break
    return found * (1 + NEAR)


def _density(t: float, freedom: float) -> float:
    if freedom >= NORMAL:
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    logarithm = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    logarithm -= (freedom + 1) / 2 * math.log1p(t * t / freedom)
    return math.exp(logarithm) / math.sqrt(freedom * math.pi)


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function at x, where y is 1 - x: by its continued fraction
    (Press, Teukolsky, Vetterling and Flannery, "Numerical Recipes", 2007, section 6.4)."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, y, x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * (math.log(x) if x < 0.5 else math.log1p(-y))
    logarithm += b * (math.log(y) if y < 0.5 else math.log1p(-x))
    return math.exp(logarithm) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation of the continued fraction."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            found *= c * d
        if abs(c * d - 1) < SMALL:
            break
    return found
