"""Errors of a sample and of noise together.

The error of an estimate of a population is S + N. That of the sample, S, is nearly normal, with a
variance that is estimated. That of the noise, N = Σ aₖZₖ, has a known law: a normal one for
Gaussian noise, and one with longer tails for Laplace noise. On them rest intervals of many numbers
and small p-values: a normal law of the same variance promises too much (proof:
docs/proofs/populations.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteLaplace
from . import student
from .combined import CombinedNoise, variance

#: Scales of Laplace noises, and how many there are of each.
Noises = tuple[tuple[float, float], ...]

#: How near to its pole a tilt may be, how near to 0 a tail is a half, how often a search is halved,
#: and how near a tilt and the logarithm of a p-value are found.
EDGE, MIDDLE, HALVED, CLOSE, NEAR = 2.0**-50, 1e-4, 50, 1e-9, 1e-5
#: How many Laplace noises keep their own scale, where there are more than twice as many.
KEPT = 4
#: The least p-value that is told from 0.
TINIEST = 1e-300


@dataclass(frozen=True)
class NearlyNormal:
    """The law of an error around 0: of a sample with noise beside it."""

    sampled: float = 0.0  # the variance of the sample's
    freedom: float = math.inf  # with which it is known
    gaussian: float = 0.0  # the variance of Gaussian noise
    laplace: Noises = ()

    @classmethod
    def of_noise(cls, law: Any, weights: Iterable[tuple[float, int]]) -> NearlyNormal:
        """That of noises of one law, with weights, and so many of each."""
        parts = law.parts if isinstance(law, CombinedNoise) else [(law, 1.0)]
        known, scales, gaussian = [(each, share, variance(each)) for each, share in parts], [], 0.0
        for weight, times in weights:
            for each, share, spread in known:
                deviation = math.sqrt(spread) * abs(weight * share)
                if isinstance(each, DiscreteLaplace):
                    scales.append((deviation / math.sqrt(2), times))
                else:
                    gaussian += times * deviation * deviation
        return cls(gaussian=gaussian, laplace=_few([each for each in scales if all(each)]))

    @property
    def noise(self) -> float:
        """The variance of the noise."""
        return self.gaussian + _variance(self.laplace)

    @property
    def variance(self) -> float:
        return self.sampled + self.noise

    @property
    def deviation(self) -> float:
        return math.sqrt(self.variance)

    def with_sample(self, sampled: float, freedom: float) -> NearlyNormal:
        """That of this noise beside a sample's error."""
        return NearlyNormal(sampled, freedom, self.gaussian, self.laplace)

    def times(self, weight: float) -> NearlyNormal:
        """That of a number times a weight."""
        square = weight * weight
        laplace = tuple((scale * abs(weight), times) for scale, times in self.laplace)
        return NearlyNormal(
            self.sampled * square, self.freedom, self.gaussian * square, laplace if weight else ()
        )

    def half_width(self, risk: float) -> float:
        """The w with P[|S + N| > w] = risk."""
        if not 0 < risk < 1:
            return 0.0 if risk >= 1 else math.inf
        normal = self._normal(risk)
        if not self.laplace or math.isinf(normal):
            return _z(risk) * math.sqrt(normal) if normal else 0.0
        return _quantile(self.laplace, normal, risk)

    def is_beyond(self, distance: float, risk: float) -> bool:
        """Whether |S + N| is as large with at most this risk."""
        normal = self._normal(risk)
        if not self.laplace or math.isinf(normal):
            return distance > self.half_width(risk)
        return 2 * _Cumulants(self.laplace, normal).beyond(distance) <= risk

    def p_value(self, distance: float) -> float:
        """P[|S + N| ≥ distance]."""
        if not distance or not self.variance:
            return 0.0 if distance else 1.0
        if not self.laplace and not self.gaussian:
            return min(2 * student.tail(distance / self.deviation, self.freedom), 1.0)
        if not self.sampled or math.isinf(self.freedom):
            normal = self.gaussian + self.sampled
            if not self.laplace:
                return math.erfc(distance / math.sqrt(2 * normal))
            return 2 * _Cumulants(self.laplace, normal).beyond(distance)
        low, high = math.log(TINIEST), 0.0
        while high - low > NEAR:
            middle = (low + high) / 2
            is_less = self.is_beyond(distance, math.exp(middle))
            low, high = (low, middle) if is_less else (middle, high)
        return math.exp(high)

    def _normal(self, risk: float) -> float:
        """The variance of a normal law that has the quantile of the sample's error, and of Gaussian
        noise beside it. Student's law is wider than the normal one, as far as its variance isn't
        known."""
        if not self.sampled or math.isinf(self.freedom):
            return self.gaussian + self.sampled
        wider = student.quantile(risk, self.freedom) / _z(risk)
        return self.gaussian + self.sampled * wider * wider


def _z(risk: float) -> float:
    return -NormalDist().inv_cdf(risk / 2)


def _few(laplace: list[tuple[float, float]]) -> Noises:
    """The widest noises, and of the others one law with their variance and their fourth cumulant:
    models have hundreds."""
    if len(laplace) <= 2 * KEPT:
        return tuple(laplace)
    laplace = sorted(laplace, reverse=True)
    widest, others = laplace[:KEPT], laplace[KEPT:]
    second = sum(times * (scale / widest[-1][0]) ** 2 for scale, times in others)
    fourth = sum(times * (scale / widest[-1][0]) ** 4 for scale, times in others)
    alike = math.sqrt(fourth / second) * widest[-1][0], second**2 / fourth
    return (*widest, *([alike] if fourth else []))


def independent(errors: Sequence[NearlyNormal]) -> NearlyNormal:
    """That of a sum of numbers whose errors are independent, with Welch's and Satterthwaite's
    degrees of freedom."""
    sampled = sum(each.sampled for each in errors)
    lost = sum(each.sampled**2 / each.freedom for each in errors)
    laplace = tuple(scale for each in errors for scale in each.laplace)
    return NearlyNormal(
        sampled, sampled**2 / lost if 0 < lost < math.inf else math.inf,
        sum(each.gaussian for each in errors), _few(list(laplace)),
    )  # fmt: skip


def dependent(errors: Sequence[NearlyNormal]) -> NearlyNormal:
    """That of a sum of numbers whose errors may depend on each other: their deviations add up,
    which holds whatever their correlation is (Minkowski), and Laplace noise is taken for one."""

    def added(variances: Iterable[float]) -> float:
        return sum(map(math.sqrt, variances)) ** 2

    scale = sum(math.sqrt(_variance(each.laplace) / 2) for each in errors)
    return NearlyNormal(
        added(each.sampled for each in errors), min(each.freedom for each in errors),
        added(each.gaussian for each in errors), ((scale, 1),) if scale else (),
    )  # fmt: skip


def _variance(laplace: Noises) -> float:
    return sum(2 * times * scale**2 for scale, times in laplace)


@lru_cache(maxsize=4096)
def _quantile(laplace: Noises, normal: float, risk: float) -> float:
    """The distance from 0 that has this risk on both sides."""
    law = _Cumulants(laplace, normal)
    # P[X ≥ K'(t)] is at most exp(K(t) - tK'(t)), and this at most exp(-t²·K''(0)/2)
    low, high = 0.0, min(law.pole, math.sqrt(2 * math.log(2 / risk) / law.variance))
    for _ in range(HALVED):
        at = (low + high) / 2
        low, high = (low, at) if 2 * law.tail(at) <= risk else (at, high)
    return law.slope(high)


class _Cumulants:
    """K(t) = ln E[exp(tX)] of a sum X of Laplace noises and a normal number, for t ≥ 0 below the
    pole of the widest noise."""

    def __init__(self, laplace: Noises, normal: float) -> None:
        self._laplace, self._normal = laplace, normal
        self.variance = normal + _variance(laplace)
        self.pole = (1 - EDGE) / max(scale for scale, _ in laplace)

    def slope(self, t: float) -> float:
        """K'(t)."""
        noise = (2 * n * a * a * t / (1 - (t * a) * (t * a)) for a, n in self._laplace)
        return self._normal * t + sum(noise)

    def _bend(self, t: float) -> float:
        """t²·K''(t), in terms that don't overflow."""
        squares = (((t * a) * (t * a), n) for a, n in self._laplace)
        noise = (2 * n * s * (1 + s) / (1 - s) / (1 - s) for s, n in squares)
        return self._normal * t * t + sum(noise)

    def tail(self, t: float) -> float:
        """P[X ≥ K'(t)], to 6.5 % of itself (Lugannani and Rice, 1980)."""
        logs = (n * math.log1p(-(t * a) * (t * a)) for a, n in self._laplace)
        value = self._normal * t * t / 2 - sum(logs)
        root = math.sqrt(max(2 * (t * self.slope(t) - value), 0.0))
        if root < MIDDLE:
            return 0.5
        height = math.exp(-root * root / 2) / math.sqrt(2 * math.pi)
        found = height * (1 / math.sqrt(self._bend(t)) - 1 / root)
        return math.erfc(root / math.sqrt(2)) / 2 + found

    def beyond(self, distance: float) -> float:
        """P[X ≥ distance]: by Newton's method, from above, as K' is convex."""
        if distance <= MIDDLE * math.sqrt(self.variance):
            return 0.5
        # less than all of the law is needed for it
        alone = (distance / (n * a + math.hypot(n * a, distance)) / a for a, n in self._laplace)
        at = min(self.pole, distance / self.variance, *alone)
        for _ in range(HALVED):
            step = (self.slope(at) - distance) * at / self._bend(at) * at
            at = min(at - step, self.pole)
            if not abs(step) > CLOSE * at:
                break
        return self.tail(at)
