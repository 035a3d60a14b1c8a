"""Means, variances, covariances and correlations of noisy sums, and intervals that bound the sums
together.

For each parameter there is a linear combination of the sums that is 0 in the rows, whatever they
are: with p, q the means of u, v and θ their covariance Σ (u-p)(v-q) - θ = 0. Of the noisy sums the
same combination is a weighted sum of noises, of which `weighted` says how large it may be. What
fails that is no possible θ (Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16,
1954). The means, of which the weights know little, lie in intervals of their own, made likewise
(proof: docs/proofs/covariances.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..weighted import half_width_of_weighted

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]
#: How much of each function that is summed is in 1, u, v, u², uv and v².
Design = tuple[tuple[Fraction, ...], ...]
ONE, U, V, UU, UV, VV = range(6)

#: No number of a row is off by more than 2^-24, by rounding: intervals are wider by this.
SLACK = 2.0**-22
#: What of the risk is for the parameters that the weights depend on.
ASIDE = 0.1
#: How many these are, at most: of rows or two means of the columns beside, two means, the sum and
#: difference of their errors, two variances and two more.
PARAMETERS = 10
#: How often a parameter's weights are taken anew from what it was narrowed to.
ROUNDS = 3


@dataclass(frozen=True)
class Sums:
    """Noisy sums over rows of functions of two columns u, v in [0, 1]; of one column, of u alone.

    Each sum is so many independent noisy integers, over ``share`` times a row's whole.
    """

    found: tuple[Fraction, ...]
    design: Design
    terms: int
    share: int

    def of(self, monomial: int) -> Fraction:
        """The noisy sum of 1, u, v, u², uv or v²."""
        pairs = zip(self.design, self.found, strict=True)
        return sum((row[monomial] * x for row, x in pairs if row[monomial]), Fraction(0))

    @property
    def rows(self) -> Fraction:
        return self.of(ONE)

    def mean(self, which: int = U) -> Fraction:
        return self.of(which) / self.rows

    def variance(self, which: int = U) -> Fraction:
        """Of u, or of v."""
        return self.mean(_squared_of(which)) - self.mean(which) ** 2

    def covariance(self) -> Fraction:
        return self.mean(UV) - self.mean(U) * self.mean(V)


def _squared_of(which: int) -> int:
    return UU if which == U else VV


@lru_cache(maxsize=64)
def _floats(design: Design) -> Floats:
    return np.array([[float(x) for x in row] for row in design]).T


@dataclass(frozen=True)
class Region:
    """What noise of a law lets be, but for a risk that each parameter has for itself."""

    sums: Sums
    law: Any
    risk: float

    @property
    def design(self) -> Floats:
        return _floats(self.sums.design)

    @property
    def rows(self) -> float:
        return float(self.sums.rows)

    def noise(self, corners: Sequence[Floats]) -> float:
        """How large Σ weights·noise may be, for weights between some corners, in rows."""
        found = half_width_of_weighted(self.law, np.array(corners), self.sums.terms, self.risk)
        return found / self.sums.share

    def least_rows(self) -> float:
        return self.rows - self.noise([self.design[ONE]])

    def mean(self, which: int) -> Range:
        """Σ u - p = 0."""
        one, value = self.design[ONE], self.design[which]
        centre = float(self.sums.mean(which))
        return self._narrowed(
            (0.0, 1.0), (centre, centre), self.rows, lambda p: [value - x * one for x in p]
        )

    def sum_of_errors(self, p: Range, q: Range, sign: int) -> float:
        """How large (p̃ - p) ± (q̃ - q) may be, for the noisy means p̃ and q̃."""
        one, value = self.design[ONE], self.design[U] + sign * self.design[V]
        return self.noise([value - (x + sign * y) * one for x in p for y in q]) / self.rows

    def variance(self, which: int, p: Range, ddof: int = 0, most: float = 0.25) -> Range:
        """Σ (u-p)² - s = -ddof·s, for a variance s up to ``most`` and a mean in p."""
        ends = _added(_square(_off(p, self.sums.mean(which))), float(self.sums.variance(which)))
        corners = [_squared(self.design, which, *at) for at in _squares(p)]
        return self._solved((0.0, most), ends, ddof, corners)

    def covariance(self, p: Range, q: Range, off: Range, ddof: int, most: float) -> Range:
        """Σ (u-p)(v-q) - θ = -ddof·θ, for means in p and q, and (p-p̃)(q-q̃) in ``off``."""
        ends = _added(off, float(self.sums.covariance()))
        corners = [_product(self.design, x, y) for x in p for y in q]
        return self._solved((-most, most), ends, ddof, corners)

    def _solved(self, start: Range, ends: Range, ddof: int, corners: list[Floats]) -> Range:
        """The θ for which (rows - ddof)·θ is rows times something in ``ends``, but for noise with
        the weights less θ."""
        one, free = self.design[ONE], self.rows - ddof
        if free <= 0:
            return start
        ends = ends[0] * self.rows / free, ends[1] * self.rows / free
        return self._narrowed(
            start, ends, free, lambda theta: [a - x * one for a in corners for x in theta]
        )

    def correlation(
        self, p: Range, q: Range, off: Range, spreads: tuple[Range, Range]
    ) -> Range:
        """Σ (u-p)(v-q) - r(κ(u-p)² + (v-q)²/κ)/2 = 0, with variances s, t and κ = √(t/s)."""
        (s, most_s), (t, most_t) = spreads
        if min(s, t) <= 0:
            return -1.0, 1.0
        k = math.sqrt(t / most_s), math.sqrt(most_t / s)
        divisor = self._divisor(p, q, k)
        if divisor[0] <= 0:
            return -1.0, 1.0
        corners = self._crossed(p, q, k)
        ends = _added(off, float(self.sums.covariance()))
        r: Range = (-1.0, 1.0)
        for _ in range(ROUNDS):
            noise = self.noise([a - x * b for a, b in corners for x in r]) / self.rows
            low, high = ends[0] - noise, ends[1] + noise
            r = _within((low / divisor[low > 0], high / divisor[high <= 0]), r)
        return _wider(r, _rounding(s, t))

    def _crossed(self, p: Range, q: Range, k: Range) -> list[tuple[Floats, Floats]]:
        """The corners of the weights of (u-p)(v-q), and of (κ(u-p)² + (v-q)²/κ)/2: all are linear
        in (p, p²), in (q, q²) and in (κ, 1/κ), which lie in triangles."""
        middle = 2 / (1 / k[0] + 1 / k[1]), 2 / (k[0] + k[1])
        factors = [(k[0], 1 / k[0]), (k[1], 1 / k[1]), middle]
        return [
            (
                _product(self.design, x[0], y[0]),
                (a * _squared(self.design, U, *x) + b * _squared(self.design, V, *y)) / 2,
            )
            for x, y, (a, b) in itertools.product(_squares(p), _squares(q), factors)
        ]

    def _divisor(self, p: Range, q: Range, k: Range) -> Range:
        """The least and most of (κs' + t'/κ)/2, for s' = Σ(u-p)²/n as noise has it, and t'."""
        found = [
            _added(_square(_off(mean, self.sums.mean(which))), float(self.sums.variance(which)))
            for which, mean in ((U, p), (V, q))
        ]
        (s, most_s), (t, most_t) = found
        if min(s, t) <= 0:
            return 0.0, math.inf
        best = min(max(math.sqrt(t / s), k[0]), k[1])
        return (best * s + t / best) / 2, max((x * most_s + most_t / x) / 2 for x in k)

    def _narrowed(
        self, start: Range, ends: Range, rows: float, corners: Callable[[Range], list[Floats]]
    ) -> Range:
        """What is in a range and no further from ``ends`` than noise with its weights, over rows:
        by what is found weights are fewer, and so the noise is less."""
        found = start
        for _ in range(ROUNDS):
            off = self.noise(corners(found)) / rows
            found = _within((ends[0] - off, ends[1] + off), found)
        return found


# --- of two columns, and of one -------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What noisy sums say of a pair, where what is asked has most of the risk, and each parameter
    that it hangs on a share of the rest."""

    sums: Sums
    law: Any
    risk: float

    @property
    def main(self) -> Region:
        return Region(self.sums, self.law, self.risk * (1 - ASIDE))

    def aside(self, sums: Sums | None = None) -> Region:
        return Region(sums or self.sums, self.law, self.risk * ASIDE / PARAMETERS)

    def most(self, ddof: int) -> float:
        """The largest variance over n - ddof that there is: rows are more than ddof."""
        rows = max(self.aside().least_rows(), ddof + 1.0)
        return 0.25 * rows / (rows - ddof)

    def means(self, sides: Sequence[Sums]) -> tuple[Range, Range, Range]:
        """Of u and of v; and of the product of the noisy means' errors, which also is a quarter of
        the difference of the squares of their sum and of their difference. ``sides`` know more of
        the means of the same rows, if any do."""
        region = self.aside()
        p, q = region.mean(U), region.mean(V)
        if sides:
            p, q = (_within(self.aside(s).mean(U), m) for s, m in zip(sides, (p, q), strict=True))
        low, high = (region.sum_of_errors(p, q, sign) ** 2 / 4 for sign in (-1, 1))
        products = [x * y for x in _off(p, self.sums.mean(U)) for y in _off(q, self.sums.mean(V))]
        return p, q, _within((min(products), max(products)), (-low, high))


def covariance_range(
    sums: Sums, law: Any, risk: float, ddof: int, sides: Sequence[Sums] = ()
) -> Range:
    """Of u and v, over n - ddof."""
    seen = Seen(sums, law, risk)
    most = seen.most(ddof)
    if sums.rows <= 0:
        return -most, most
    found = seen.main.covariance(*seen.means(sides), ddof, most)
    return _within(_wider(found, SLACK * (ddof + 1)), (-most, most))


def variance_range(sums: Sums, law: Any, risk: float, ddof: int) -> Range:
    """Of u, over n - ddof."""
    seen = Seen(sums, law, risk)
    most = seen.most(ddof)
    if sums.rows <= 0:
        return 0.0, most
    found = seen.main.variance(U, seen.aside().mean(U), ddof, most)
    return _within(_wider(found, SLACK * (ddof + 1)), (0.0, most))


def correlation_range(sums: Sums, law: Any, risk: float, sides: Sequence[Sums] = ()) -> Range:
    """Of u and v."""
    seen = Seen(sums, law, risk)
    if sums.rows <= 0:
        return -1.0, 1.0
    p, q, off = seen.means(sides)
    spreads = seen.aside().variance(U, p), seen.aside().variance(V, q)
    if sides:
        others = (seen.aside(s).variance(U, m) for s, m in zip(sides, (p, q), strict=True))
        spreads = tuple(map(_within, others, spreads))  # type: ignore[assignment]
    return _within(seen.main.correlation(p, q, off, spreads), (-1.0, 1.0))


# --- ranges ---------------------------------------------------------------------------------------


def _within(found: Range, known: Range) -> Range:
    """What two ranges have in common; where that is nothing, the end of what is known."""
    low, high = max(found[0], known[0]), min(found[1], known[1])
    if low > high:
        low = high = min(low, known[1])
    return low, high


def _wider(found: Range, by: float) -> Range:
    return found[0] - by, found[1] + by


def _added(found: Range, more: float) -> Range:
    return found[0] + more, found[1] + more


def _off(mean: Range, centre: Fraction) -> Range:
    return mean[0] - float(centre), mean[1] - float(centre)


def _square(off: Range) -> Range:
    ends = sorted((off[0] ** 2, off[1] ** 2))
    return (0.0 if off[0] <= 0 <= off[1] else ends[0]), ends[1]


def _squares(p: Range) -> list[tuple[float, float]]:
    """The corners of a triangle that holds (x, x²) for every x in a range: its ends, and where the
    tangents at these meet."""
    return [(p[0], p[0] ** 2), (p[1], p[1] ** 2), ((p[0] + p[1]) / 2, p[0] * p[1])]


def _product(design: Floats, p: float, q: float) -> Floats:
    """The weights of (u-p)(v-q)."""
    found: Floats = p * q * design[ONE] - q * design[U] - p * design[V] + design[UV]
    return found


def _squared(design: Floats, which: int, p: float, square: float) -> Floats:
    """The weights of (u-p)², with p² for itself."""
    found: Floats = square * design[ONE] - 2 * p * design[which] + design[_squared_of(which)]
    return found


def _rounding(s: float, t: float) -> float:
    """What rounding of rows moves a correlation by, for variances of at least s and t."""
    s, t = max(s - SLACK, 2.0**-60), max(t - SLACK, 2.0**-60)
    return SLACK / math.sqrt(s * t) + SLACK * (1 / s + 1 / t) / 2 + SLACK**2 / (4 * s * t)
