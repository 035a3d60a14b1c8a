"""Means, variances, covariances and correlations from noisy sums, with intervals that use all sums
together.

For each parameter a linear combination of the exact sums is 0, whatever the rows are: with p, q the
means of u, v and θ their covariance, Σ (u-p)(v-q) - θ = 0. The same combination of the noisy sums
is a weighted sum of noises, and `weighted_sums` bounds its size. A θ that violates the bound is
impossible (Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16, 1954). The
means, on which the weights depend, lie in intervals of their own, found likewise (proof:
docs/proofs/covariances.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...privacy.accuracy.weighted_sums import half_widths_of_weighted

Floats = npt.NDArray[np.float64]
Range = tuple[float, float]
#: The coefficients of 1, u, v, u², uv and v² in each function that is summed.
Design = tuple[tuple[Fraction, ...], ...]
ONE, U, V, UU, UV, VV = range(6)

#: Intervals are wider by this, as rounding moves a row's numbers by at most 2^-24.
SLACK = 2.0**-22
#: The share of the risk for the parameters on which the weights depend.
ASIDE = 0.2
#: The most such parameters: two means, the sum and the difference of their errors, and two
#: variances or the number of rows.
PARAMETERS = 6
#: How often the weights are computed again from a narrowed interval, and how much narrower it must
#: have become for that.
ROUNDS, NARROWER = 8, 0.9


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums over rows of functions of two columns u, v in [0, 1]; of u alone for one column.

    Each sum adds up ``terms`` independent noisy integers, and divides them by ``share``.
    """

    found: tuple[Fraction, ...]
    design: Design
    terms: int
    share: int

    @cached_property
    def all(self) -> tuple[Fraction, ...]:
        """The noisy sums of 1, u, v, u², uv and v²."""
        return tuple(
            sum((f * x for f, x in zip(column, self.found, strict=True) if f), Fraction(0))
            for column in zip(*self.design, strict=True)
        )

    @property
    def rows(self) -> Fraction:
        return self.all[ONE]

    def mean(self, which: int = U) -> Fraction:
        return self.all[which] / self.rows

    def variance(self, which: int = U) -> Fraction:
        """The variance of u, or of v."""
        return self.mean(_squared_of(which)) - self.mean(which) ** 2

    def covariance(self) -> Fraction:
        return self.mean(UV) - self.mean(U) * self.mean(V)


def _squared_of(which: int) -> int:
    return UU if which == U else VV


@lru_cache(maxsize=64)
def _floats(design: Design) -> Floats:
    return np.array([[float(x) for x in row] for row in design]).T


class Cell(NamedTuple):
    """A range of means: how far their errors move a noisy covariance or variance at least and at
    most, and the corners (a, b) of the weights a - θb of a parameter θ."""

    off: Range
    corners: Floats


@dataclass(frozen=True)
class Region:
    """What parameters may be under noise of a law; the interval of each fails with this risk."""

    sums: NoisySums
    law: Any
    risk: float

    @cached_property
    def design(self) -> Floats:
        return _floats(self.sums.design)

    @cached_property
    def rows(self) -> float:
        return float(self.sums.rows)

    def noise(self, corners: Sequence[Sequence[Floats] | Floats]) -> Floats:
        """A bound on |Σ weights·noise|, in rows, for weights between the corners of each cell."""
        found = half_widths_of_weighted(self.law, np.array(corners), self.sums.terms, self.risk)
        return found / self.sums.share

    def least_rows(self) -> float:
        return self.rows - float(self.noise([[self.design[ONE]]])[0])

    def mean(self, which: int) -> Range:
        """The range of a mean p, by Σ u - p = 0."""
        cells = [Cell((0.0, 0.0), np.array([(self.design[which], self.design[ONE])]))]
        return self._solved((0.0, 1.0), self.sums.mean(which), 0, cells)

    def sum_of_errors(self, p: Range, q: Range, sign: int) -> float:
        """A bound on |(p̃ - p) ± (q̃ - q)|, for the noisy means p̃ and q̃."""
        one, value = self.design[ONE], self.design[U] + sign * self.design[V]
        corners = [value - (x + sign * y) * one for x in p for y in q]
        return float(self.noise([corners])[0]) / self.rows

    def variance(self, which: int, p: Range, ddof: int = 0, most: float = 0.25) -> Range:
        """The range of a variance s up to ``most``, by Σ (u-p)² - s = -ddof·s, for a mean in p."""
        mean, one = self.sums.mean(which), self.design[ONE]
        cells = []
        for half in _halves(p, mean):
            corners = [(_squared(self.design, which, *at), one) for at in _squares(half)]
            cells.append(Cell(_square(_off(half, mean)), np.array(corners)))
        return self._solved((0.0, most), self.sums.variance(which), ddof, cells)

    def covariance(self, p: Range, q: Range, off: Range, ddof: int, most: float) -> Range:
        """The range of a covariance θ, by Σ (u-p)(v-q) - θ = -ddof·θ, for means in p and q, and
        (p-p̃)(q-q̃) in ``off``."""
        cells = []
        for x, y, products in self._quarters(p, q):
            corners = [(_product(self.design, a, b), self.design[ONE]) for a in x for b in y]
            cells.append(Cell(_within(products, off), np.array(corners)))
        return self._solved((-most, most), self.sums.covariance(), ddof, cells)

    def _quarters(self, p: Range, q: Range) -> Iterator[tuple[Range, Range, Range]]:
        """The parts of two ranges on one side each of the noisy means p̃ and q̃, and the range of
        (p-p̃)(q-q̃) there."""
        u, v = self.sums.mean(U), self.sums.mean(V)
        for x, y in itertools.product(_halves(p, u), _halves(q, v)):
            products = [a * b for a in _off(x, u) for b in _off(y, v)]
            yield x, y, (min(products), max(products))

    def _solved(
        self, found: Range, centre: Fraction, ddof: int, cells: list[Cell],
        divisor: Range = (1.0, 1.0),
    ) -> Range:  # fmt: skip
        """The θ for which (rows - ddof)·θ·divisor differs from rows·(centre + off) by no more than
        noise with the weights a - θb of a cell. Each side of a middle has its own bound, by the
        weights of the θ there."""
        free = self.rows - ddof
        if free <= 0:
            return found
        for _ in range(ROUNDS):
            middle = min(max(float(centre) * self.rows / free / divisor[0], found[0]), found[1])
            noises = self.noise(
                [np.concatenate([cell.corners[:, 0] - x * cell.corners[:, 1]
                                 for x in (middle, theta)])
                 for theta in found for cell in cells]
            )  # fmt: skip
            ends = [middle], [middle]
            for k, noise in enumerate(noises.tolist()):
                side, off = k // len(cells), cells[k % len(cells)].off
                end = (float(centre) + off[side]) * self.rows + (2 * side - 1) * noise
                ends[side].append(end / free / divisor[(end > 0) != side])
            before, found = found, _within((min(ends[0]), max(ends[1])), found)
            if found[1] - found[0] > NARROWER * (before[1] - before[0]):
                break
        return found

    def correlation(self, p: Range, q: Range, off: Range, spreads: tuple[Range, Range]) -> Range:
        """The range of a correlation r, by Σ (u-p)(v-q) - r(κ(u-p)² + (v-q)²/κ)/2 = 0, with
        variances s, t and κ = √(t/s)."""
        (s, most_s), (t, most_t) = spreads
        if min(s, t) <= 0:
            return -1.0, 1.0
        k = math.sqrt(t / most_s), math.sqrt(most_t / s)
        divisor = self._divisor(p, q, k)
        if divisor[0] <= 0:
            return -1.0, 1.0
        quarters = self._quarters(p, q)
        cells = [Cell(_within(part, off), self._crossed(x, y, k)) for x, y, part in quarters]
        found = self._solved((-1.0, 1.0), self.sums.covariance(), 0, cells, divisor)
        return _wider(found, _rounding(s, t))

    def _crossed(self, p: Range, q: Range, k: Range) -> Floats:
        """The corners of the weights of (u-p)(v-q), and of (κ(u-p)² + (v-q)²/κ)/2. All are linear
        in (p, p²), in (q, q²) and in (κ, 1/κ), each of which lies in a triangle."""
        middle = 2 / (1 / k[0] + 1 / k[1]), 2 / (k[0] + k[1])
        factors = [(k[0], 1 / k[0]), (k[1], 1 / k[1]), middle]
        u, v = (
            [(at[0], _squared(self.design, which, *at)) for at in _squares(mean)]
            for which, mean in ((U, p), (V, q))
        )
        return np.array([
            (_product(self.design, x, y), (a * xx + b * yy) / 2)
            for (x, xx), (y, yy) in itertools.product(u, v) for a, b in factors
        ])  # fmt: skip

    def _divisor(self, p: Range, q: Range, k: Range) -> Range:
        """The range of (κs' + t'/κ)/2, for the noisy s' = Σ(u-p)²/n and t' = Σ(v-q)²/n."""
        off = (_square(_off(mean, self.sums.mean(which))) for which, mean in ((U, p), (V, q)))
        variances = (float(self.sums.variance(which)) for which in (U, V))
        pairs = zip(off, variances, strict=True)
        (s, most_s), (t, most_t) = ((low + own, high + own) for (low, high), own in pairs)
        if min(s, t) <= 0:
            return 0.0, math.inf
        best = min(max(math.sqrt(t / s), k[0]), k[1])
        return (best * s + t / best) / 2, max((x * most_s + most_t / x) / 2 for x in k)


# --- two columns, and one -------------------------------------------------------------------------


class Side(NamedTuple):
    """The mean and the variance of one of two columns, as far as they are known."""

    mean: Range
    variance: Range


@dataclass(frozen=True)
class Seen:
    """What noisy sums show about a pair of columns. The parameter asked for gets most of the risk,
    and each parameter that it depends on a share of the rest."""

    sums: NoisySums
    law: Any
    risk: float

    @property
    def main(self) -> Region:
        return Region(self.sums, self.law, self.risk * (1 - ASIDE))

    @property
    def aside(self) -> Region:
        return Region(self.sums, self.law, self.risk * ASIDE / PARAMETERS)

    def most(self, ddof: int) -> float:
        """The largest possible variance over n - ddof, where n is more than ddof."""
        rows = max(self.aside.least_rows(), ddof + 1.0)
        return 0.25 * rows / (rows - ddof)

    def side(self, which: int) -> Side:
        """The mean and the variance of u, or of v."""
        if self.sums.rows <= 0:
            return Side((0.0, 1.0), (0.0, 0.25))
        mean = self.aside.mean(which)
        return Side(mean, self.aside.variance(which, mean))

    def errors(self, p: Range, q: Range) -> Range:
        """The range of the product of the noisy means' errors, which is a quarter of (the square of
        their sum minus the square of their difference)."""
        low, high = (self.aside.sum_of_errors(p, q, sign) ** 2 / 4 for sign in (-1, 1))
        return -low, high

    def covariance(self, ddof: int, sides: Sequence[Side] = ()) -> Range:
        """The range of the covariance of u, v over n - ddof; ``sides`` are known from the same
        rows."""
        most = self.most(ddof)
        if self.sums.rows <= 0:
            return -most, most
        p, q = (s.mean for s in sides) if sides else (self.aside.mean(U), self.aside.mean(V))
        found = self.main.covariance(p, q, self.errors(p, q), ddof, most)
        return _within(_wider(found, SLACK * (ddof + 1)), (-most, most))

    def variance(self, ddof: int) -> Range:
        """The range of the variance of u over n - ddof."""
        most = self.most(ddof)
        if self.sums.rows <= 0:
            return 0.0, most
        found = self.main.variance(U, self.aside.mean(U), ddof, most)
        return _within(_wider(found, SLACK * (ddof + 1)), (0.0, most))

    def correlation(self, sides: Sequence[Side] = ()) -> Range:
        """The range of the correlation of u and v; ``sides`` are known from the same rows."""
        if self.sums.rows <= 0:
            return -1.0, 1.0
        (p, s), (q, t) = sides or (self.side(U), self.side(V))
        return _within(self.main.correlation(p, q, self.errors(p, q), (s, t)), (-1.0, 1.0))


# --- ranges ---------------------------------------------------------------------------------------


def _within(found: Range, known: Range) -> Range:
    """The intersection of two ranges; if it is empty, the nearer end of the known one."""
    low, high = max(found[0], known[0]), min(found[1], known[1])
    if low > high:
        low = high = min(low, known[1])
    return low, high


def _wider(found: Range, by: float) -> Range:
    return found[0] - by, found[1] + by


def _off(mean: Range, centre: Fraction) -> Range:
    return mean[0] - float(centre), mean[1] - float(centre)


def _halves(p: Range, centre: Fraction) -> list[Range]:
    """The parts of a range below and above a number."""
    at = min(max(float(centre), p[0]), p[1])
    return [(p[0], at), (at, p[1])]


def _square(off: Range) -> Range:
    ends = sorted((off[0] ** 2, off[1] ** 2))
    return (0.0 if off[0] <= 0 <= off[1] else ends[0]), ends[1]


def _squares(p: Range) -> list[tuple[float, float]]:
    """The corners of a triangle that holds (x, x²) for all x in a range: both ends, and the point
    where the tangents there meet."""
    return [(p[0], p[0] ** 2), (p[1], p[1] ** 2), ((p[0] + p[1]) / 2, p[0] * p[1])]


def _product(design: Floats, p: float, q: float) -> Floats:
    """The weights of (u-p)(v-q)."""
    found: Floats = p * q * design[ONE] - q * design[U] - p * design[V] + design[UV]
    return found


def _squared(design: Floats, which: int, p: float, square: float) -> Floats:
    """The weights of (u-p)², with p² given separately."""
    found: Floats = square * design[ONE] - 2 * p * design[which] + design[_squared_of(which)]
    return found


def _rounding(s: float, t: float) -> float:
    """How far the rounding of rows moves a correlation, for variances of at least s and t."""
    s, t = max(s - SLACK, 2.0**-60), max(t - SLACK, 2.0**-60)
    return SLACK / math.sqrt(s * t) + SLACK * (1 / s + 1 / t) / 2 + SLACK**2 / (4 * s * t)
