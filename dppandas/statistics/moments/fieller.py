"""Means, variances, covariances and correlations from noisy sums, with intervals that use all sums
together.

For each parameter a linear combination of the exact sums is 0, whatever the rows are: with p, q the
means of u, v and θ their covariance, Σ (u-p)(v-q) - θ = 0. The same combination of the noisy sums
is a weighted sum of noises, and `weighted_sums` bounds its size. A θ that violates the bound is
impossible (Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16, 1954). The
means, on which the weights depend, lie in intervals of their own, found likewise (proof:
docs/proofs/covariances.md).

All pairs of columns are bounded at once: a range has an array for each of its ends, with an entry
for each pair. In larger arrays pairs are the first axis.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...privacy.accuracy.three_sums import ThreeSums
from ...privacy.accuracy.weighted_sums import half_widths_of_weighted
from ...privacy.accuracy.weighted_tails import reach, tail_of

Floats = npt.NDArray[np.float64]
#: The lower ends and the upper ends.
Range = tuple[Floats, Floats]
#: The coefficients of 1, u, v, u², uv and v² in each function that is summed, in quarters.
Design = tuple[tuple[int, ...], ...]
ONE, U, V, UU, UV, VV = range(6)
#: That of the masses of one column at 0, ½ and 1.
MASSES: Design = ((4, 0, 0, 0, 0, 0), (4, 2, 0, 0, 0, 0), (4, 4, 0, 4, 0, 0))

#: Intervals are wider by this, as rounding moves a row's numbers by at most 2^-24. The last factor
#: is for the rounding of floats.
SLACK = 2.0**-22 * (1 + 2.0**-20)
#: A variance of three masses, by this for each integer in a mass.
SLACK_OF_MASS = 2.0**-26
#: The share of the risk for each parameter on which the weights depend.
ASIDE = 0.02
#: How often the weights are computed again from a narrowed interval, and how much narrower it must
#: have become for that.
ROUNDS, NARROWER = 8, 0.9


@dataclass(frozen=True)
class NoisySums:
    """Noisy sums over rows of functions of two columns u, v in [0, 1]; of u alone for one column.

    Each sum adds up ``terms`` independent noisy integers. They are in units of 1/``share``.
    """

    found: tuple[int, ...]
    design: Design
    terms: int
    share: int

    @cached_property
    def all(self) -> tuple[int, ...]:
        """The noisy sums of 1, u, v, u², uv and v², in units of 1/(4·share)."""
        columns = zip(*self.design, strict=True)
        return tuple(sum(map(operator.mul, column, self.found)) for column in columns)

    @cached_property
    def rows(self) -> Fraction:
        return Fraction(self.all[ONE], 4 * self.share)

    def mean(self, which: int = U) -> Fraction:
        return Fraction(self.all[which], self.all[ONE])

    def variance(self, which: int = U) -> Fraction:
        """The variance of u, or of v."""
        return self._product(_squared_of(which), which, which)

    def covariance(self) -> Fraction:
        return self._product(UV, U, V)

    def _product(self, both: int, one: int, other: int) -> Fraction:
        """The mean of a product, less the product of the means."""
        sums, n = self.all, self.all[ONE]
        return Fraction(sums[both] * n - sums[one] * sums[other], n * n)


def _squared_of(which: int) -> int:
    return UU if which == U else VV


@lru_cache(maxsize=64)
def _floats(design: Design) -> Floats:
    return np.array(design).T / 4


@dataclass(frozen=True)
class PairSums:
    """The noisy sums of several pairs, alike in design, terms and share, and what they show as
    floats; 0 where there are no rows."""

    pairs: Sequence[NoisySums]

    @cached_property
    def design(self) -> Floats:
        return _floats(self.pairs[0].design)

    @cached_property
    def rows(self) -> Floats:
        return np.array([float(each.rows) for each in self.pairs])

    @cached_property
    def means(self) -> dict[int, Floats]:
        return {which: self._each(NoisySums.mean, which) for which in (U, V)}

    @cached_property
    def variances(self) -> dict[int, Floats]:
        return {which: self._each(NoisySums.variance, which) for which in (U, V)}

    @cached_property
    def covariances(self) -> Floats:
        return self._each(NoisySums.covariance)

    def _each(self, figure: Callable[..., Fraction], *which: int) -> Floats:
        there = (each if each.rows > 0 else None for each in self.pairs)
        return np.array([float(figure(each, *which)) if each else 0.0 for each in there])


class Parts(NamedTuple):
    """Parts of the ranges of means. In each: how far errors of means move a noisy covariance or
    variance at least and at most, and the corners (a, b) of the weights a - θb of a parameter θ.

    The first axes are pairs and parts; those of a and b go on with corners and sums.
    """

    off: Range
    a: Floats
    b: Floats


@dataclass(frozen=True)
class Region:
    """What parameters may be under noise of a law; the interval of each fails with this risk."""

    sums: PairSums
    law: Any
    risk: float

    @property
    def design(self) -> Floats:
        return self.sums.design

    def noise(self, corners: Floats) -> Floats:
        """A bound on |Σ weights·noise|, in rows, for weights between the corners of each part."""
        one = self.sums.pairs[0]
        flat = corners.reshape(-1, *corners.shape[-2:])
        found = half_widths_of_weighted(self.law, flat, one.terms, self.risk)
        tail = tail_of(self.law, self.risk, (one.terms,) * flat.shape[2])
        found = reach(tail, [*np.abs(flat).max(axis=1).T], found)
        return found.reshape(corners.shape[:-2]) / one.share

    def least_rows(self) -> Floats:
        found: Floats = self.sums.rows - self.noise(self.design[None, [ONE]])
        return found

    def mean(self, which: int) -> Range:
        """The range of a mean p, by Σ u - p = 0."""
        pairs, (value, one) = len(self.sums.pairs), self.design[[which, ONE]]
        nothing, shape = np.zeros((pairs, 1)), (pairs, 1, 1, len(one))
        parts = Parts((nothing, nothing), *(np.broadcast_to(x, shape) for x in (value, one)))
        return self._solved(_range(0.0, 1.0, pairs), self.sums.means[which], 0, parts)

    def sum_of_errors(self, p: Range, q: Range, sign: int) -> Floats:
        """A bound on |(p̃ - p) ± (q̃ - q)|, for the noisy means p̃ and q̃."""
        one, value = self.design[ONE], self.design[U] + sign * self.design[V]
        means = np.stack([x + sign * y for x in p for y in q], axis=1)
        rows = np.where(self.sums.rows > 0, self.sums.rows, 1.0)
        return self.noise(value - means[..., None] * one) / rows

    def variance(self, which: int, p: Range, ddof: int = 0, most: Floats | float = 0.25) -> Range:
        """The range of a variance s up to ``most``, by Σ (u-p)² - s = -ddof·s, for a mean in p."""
        mean = self.sums.means[which]
        halves = _halves(p, mean)
        a = _squared(self.design, which, *_triangle(halves))
        parts = Parts(_square(_off(halves, mean)), a, np.broadcast_to(self.design[ONE], a.shape))
        found = _range(0.0, most, len(mean))
        return self._solved(found, self.sums.variances[which], ddof, parts)

    def covariance(self, p: Range, q: Range, off: Range, ddof: int, most: Floats) -> Range:
        """The range of a covariance θ, by Σ (u-p)(v-q) - θ = -ddof·θ, for means in p and q, and
        (p-p̃)(q-q̃) in ``off``."""
        x, y = (np.stack(half, axis=2) for half in self._both_halves(p, q))
        a = _product(self.design, x[:, :, None, :, None], y[:, None, :, None, :])
        a = a.reshape(len(x), 4, 4, -1)
        parts = Parts(self._products(p, q, off), a, np.broadcast_to(self.design[ONE], a.shape))
        return self._solved((-most, most), self.sums.covariances, ddof, parts)

    def _both_halves(self, p: Range, q: Range) -> tuple[Range, Range]:
        """The parts of two ranges on one side each of the noisy means p̃ and q̃. What depends on
        both has four parts."""
        means = self.sums.means
        return _halves(p, means[U]), _halves(q, means[V])

    def _products(self, p: Range, q: Range, off: Range) -> Range:
        """The range of (p-p̃)(q-q̃) in each of four parts, as far as it is in ``off``."""
        x, y = self._both_halves(p, q)
        xs, ys = _off(x, self.sums.means[U]), _off(y, self.sums.means[V])
        products = [a[:, :, None] * b[:, None, :] for a in xs for b in ys]
        ends = np.minimum.reduce(products), np.maximum.reduce(products)
        low, high = (end.reshape(len(end), 4) for end in ends)
        return _within((low, high), (off[0][:, None], off[1][:, None]))

    def _solved(
        self, found: Range, centre: Floats, ddof: int, parts: Parts, divisor: Range | None = None,
        known: npt.NDArray[np.bool_] | bool = True,
    ) -> Range:  # fmt: skip
        """The θ for which (rows - ddof)·θ·divisor differs from rows·(centre + off) by no more than
        noise with the weights a - θb of a part. Nothing is ``known`` of some pairs, or if there
        aren't enough rows. Pairs drop out once their ranges hardly narrow any more."""
        low, high = (end.copy() for end in found)
        divisor, hidden = divisor or _range(1.0, 1.0, len(low)), np.zeros(len(low))
        left = np.flatnonzero((self.sums.rows - ddof > 0) & known)
        for _ in range(ROUNDS):
            if not len(left):
                break
            before = low[left], high[left]
            *after, hidden[left] = self._narrowed(
                before, centre[left], self.sums.rows[left], ddof,
                Parts((parts.off[0][left], parts.off[1][left]), parts.a[left], parts.b[left]),
                (divisor[0][left], divisor[1][left]),
            )  # fmt: skip
            low[left], high[left] = after
            left = left[after[1] - after[0] <= NARROWER * (before[1] - before[0])]
        # where all are excluded, an interval of no width would claim what nothing supports
        is_none = low == high
        return (
            np.where(is_none, np.maximum(low - hidden, found[0]), low),
            np.where(is_none, np.minimum(high + hidden, found[1]), high),
        )

    def _narrowed(
        self, found: Range, centre: Floats, rows: Floats, ddof: int, parts: Parts, divisor: Range
    ) -> tuple[Floats, Floats, Floats]:
        """One step of `_solved`, and what noise may hide. Each side of a middle has its own bound,
        by the weights of the θ there."""
        free = rows - ddof
        middle = np.minimum(np.maximum(centre * rows / free / divisor[0], found[0]), found[1])
        at = np.stack([np.stack([middle, end], axis=1) for end in found], axis=1)
        weights = (
            parts.a[:, None, :, None] - at[:, :, None, :, None, None] * (parts.b[:, None, :, None])
        )
        pairs, _, number, _, corners, sums = weights.shape
        noise = self.noise(weights.reshape(pairs, 2, number, 2 * corners, sums))
        hidden = noise.max(axis=(1, 2)) / free / divisor[0]
        noise[:, 0] *= -1
        off = np.stack(parts.off, axis=1)
        ends = (centre[:, None, None] + off) * rows[:, None, None] + noise
        # a quotient is least, or largest, by one end of the divisor or the other
        is_last = (ends > 0) != np.array([[False], [True]])
        by = np.where(is_last, *(end[:, None, None] for end in divisor[::-1]))
        ends = ends / free[:, None, None] / by
        low = np.minimum(middle, ends[:, 0].min(axis=1))
        return *_within((low, np.maximum(middle, ends[:, 1].max(axis=1))), found), hidden

    def correlation(self, p: Range, q: Range, off: Range, spreads: tuple[Range, Range]) -> Range:
        """The range of a correlation r, by Σ (u-p)(v-q) - r(κ(u-p)² + (v-q)²/κ)/2 = 0, with
        variances s, t and κ = √(t/s)."""
        known = np.minimum(spreads[0][0], spreads[1][0]) > 0
        (s, most_s), (t, most_t) = ((_known(x, known) for x in spread) for spread in spreads)
        k = np.sqrt(t / most_s), np.sqrt(most_t / s)
        divisor = self._divisor(p, q, k)
        known &= divisor[0] > 0
        parts = Parts(self._products(p, q, off), *self._crossed(p, q, k))
        divisor = _known(divisor[0], known), _known(divisor[1], known)
        found = _range(-1.0, 1.0, len(s))
        low, high = self._solved(found, self.sums.covariances, 0, parts, divisor, known)
        by = np.where(known, _rounding(s, t), 0.0)
        return low - by, high + by

    def _crossed(self, p: Range, q: Range, k: Range) -> tuple[Floats, Floats]:
        """The corners of the weights of (u-p)(v-q), and of (κ(u-p)² + (v-q)²/κ)/2. All are linear
        in (p, p²), in (q, q²) and in (κ, 1/κ), each of which lies in a triangle."""
        factors = np.stack([*k, 2 / (1 / k[0] + 1 / k[1])], axis=1)
        inverse = np.stack([1 / k[0], 1 / k[1], 2 / (k[0] + k[1])], axis=1)
        (x, xx), (y, yy) = (
            (points, _squared(self.design, which, points, squares))
            for which, half in zip((U, V), self._both_halves(p, q), strict=True)
            for points, squares in [_triangle(half)]
        )
        a = _product(self.design, x[:, :, None, :, None], y[:, None, :, None, :])[..., None, :]
        b = (
            factors[:, None, None, None, None, :, None] * xx[:, :, None, :, None, None]
            + inverse[:, None, None, None, None, :, None] * yy[:, None, :, None, :, None]
        ) / 2
        shape = len(x), 4, 27, -1
        return np.broadcast_to(a, b.shape).reshape(shape), b.reshape(shape)

    def _divisor(self, p: Range, q: Range, k: Range) -> Range:
        """The range of (κs' + t'/κ)/2, for the noisy s' = Σ(u-p)²/n and t' = Σ(v-q)²/n; from 0
        where either may be 0."""
        (s, most_s), (t, most_t) = (
            tuple(end + self.sums.variances[which] for end in _square(_off(mean, centre)))
            for which, mean in ((U, p), (V, q))
            for centre in [self.sums.means[which]]
        )
        known = np.minimum(s, t) > 0
        s, t = _known(s, known), _known(t, known)
        best = np.minimum(np.maximum(np.sqrt(t / s), k[0]), k[1])
        high = np.maximum(*((x * most_s + most_t / x) / 2 for x in k))
        return np.where(known, (best * s + t / best) / 2, 0.0), high


# --- two columns, and one -------------------------------------------------------------------------


class Side(NamedTuple):
    """The mean and the variance of one of two columns, as far as they are known."""

    mean: Range
    variance: Range


@dataclass(frozen=True)
class Seen:
    """What noisy sums show about pairs of columns. The parameter asked for gets most of the risk,
    and each parameter that it depends on a share of the rest."""

    sums: PairSums
    law: Any
    risk: float

    def main(self, parameters: int) -> Region:
        """What is left of the risk where so many parameters are put aside."""
        return Region(self.sums, self.law, self.risk * (1 - ASIDE * parameters))

    @property
    def aside(self) -> Region:
        return Region(self.sums, self.law, self.risk * ASIDE)

    def most(self, ddof: int) -> Floats:
        """The largest possible variance over n - ddof, where n is more than ddof."""
        rows: Floats = np.maximum(self.aside.least_rows(), ddof + 1.0)
        return 0.25 * rows / (rows - ddof)

    def side(self, which: int) -> Side:
        """The mean and the variance of u, or of v."""
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
        p, q = (s.mean for s in sides) if sides else (self.aside.mean(U), self.aside.mean(V))
        found = self.main(5).covariance(p, q, self.errors(p, q), ddof, most)
        return _within(_wider(found, SLACK * (ddof + 1)), (-most, most))

    def variance(self, ddof: int) -> Range:
        """The range of the variance of u over n - ddof."""
        if self.sums.pairs[0].design == MASSES:
            return self._variance_of_masses(ddof)
        most = self.most(ddof)
        found = self.main(2).variance(U, self.aside.mean(U), ddof, most)
        return _within(_wider(found, SLACK * (ddof + 1)), (np.zeros_like(most), most))

    def _variance_of_masses(self, ddof: int) -> Range:
        """As for any variance of three sums."""
        pairs, (one, *_) = self.sums.pairs, self.sums.pairs
        low, middle, high = zip(*(each.found for each in pairs), strict=True)
        sums = ThreeSums((low, middle, high), [one.share] * len(pairs), self.law, one.terms)
        found = _wider(sums.variances(self.risk, ddof), SLACK_OF_MASS * one.terms * (ddof + 1))
        return _within(found, _range(0.0, 0.25 * (ddof + 1), len(pairs)))

    def correlation(self, sides: Sequence[Side] = ()) -> Range:
        """The range of the correlation of u and v; ``sides`` are known from the same rows."""
        (p, s), (q, t) = sides or (self.side(U), self.side(V))
        found = self.main(6).correlation(p, q, self.errors(p, q), (s, t))
        return _within(found, _range(-1.0, 1.0, len(found[0])))


# --- ranges ---------------------------------------------------------------------------------------


def _range(low: float, high: Floats | float, pairs: int) -> Range:
    return np.full(pairs, low), np.full(pairs, high)


def _known(values: Floats, known: npt.NDArray[np.bool_]) -> Floats:
    """Values, and 1 where nothing is known."""
    return np.where(known, values, 1.0)


def _within(found: Range, known: Range) -> Range:
    """The intersection of two ranges; if it is empty, the nearer end of the known one."""
    low, high = np.maximum(found[0], known[0]), np.minimum(found[1], known[1])
    nearer = np.minimum(low, known[1])
    return np.where(low > high, nearer, low), np.where(low > high, nearer, high)


def _wider(found: Range, by: float) -> Range:
    return found[0] - by, found[1] + by


def _off(mean: Range, centre: Floats) -> Range:
    """How far the ends of ranges are from the centre of each pair."""
    centre = centre.reshape(len(centre), *(1 for _ in mean[0].shape[1:]))
    return mean[0] - centre, mean[1] - centre


def _halves(p: Range, centre: Floats) -> Range:
    """The parts of a range below and above a number, along a new axis."""
    at = np.minimum(np.maximum(centre, p[0]), p[1])
    return np.stack([p[0], at], axis=1), np.stack([at, p[1]], axis=1)


def _square(off: Range) -> Range:
    ends = off[0] * off[0], off[1] * off[1]
    least = np.where((off[0] <= 0) & (off[1] >= 0), 0.0, np.minimum(*ends))
    return least, np.maximum(*ends)


def _triangle(p: Range) -> tuple[Floats, Floats]:
    """The corners of a triangle that holds (x, x²) for all x in a range: both ends, and the point
    where the tangents there meet. Its x and its x², along a new axis."""
    points = np.stack([p[0], p[1], (p[0] + p[1]) / 2], axis=-1)
    return points, np.stack([p[0] * p[0], p[1] * p[1], p[0] * p[1]], axis=-1)


def _product(design: Floats, p: Floats, q: Floats) -> Floats:
    """The weights of (u-p)(v-q)."""
    p, q = p[..., None], q[..., None]
    found: Floats = p * q * design[ONE] - q * design[U] - p * design[V] + design[UV]
    return found


def _squared(design: Floats, which: int, p: Floats, square: Floats) -> Floats:
    """The weights of (u-p)², with p² given separately."""
    p, square = p[..., None], square[..., None]
    found: Floats = square * design[ONE] - 2 * p * design[which] + design[_squared_of(which)]
    return found


def _rounding(s: Floats, t: Floats) -> Floats:
    """How far the rounding of rows moves a correlation, for variances of at least s and t."""
    s, t = np.maximum(s - SLACK, 2.0**-60), np.maximum(t - SLACK, 2.0**-60)
    found: Floats = SLACK / np.sqrt(s * t) + SLACK * (1 / s + 1 / t) / 2 + SLACK**2 / (4 * s * t)
    return found
