"""Errors of a sample and of Laplace noise together, against their exact laws."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dppandas.privacy.accuracy.combined import CombinedNoise, variance
from dppandas.privacy.accuracy.nearly_normal import NearlyNormal, dependent, independent
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

#: How far a tail may be off, as a part of itself.
OFF = 0.065


def exact(x: float, s: float) -> float:
    """P[L + sG ≥ x] of a Laplace number L of scale 1 and a normal one."""
    normal = stats.norm
    return float(
        normal.sf(x / s) + math.exp(s * s / 2) / 2
        * (math.exp(-x) * normal.cdf((x - s * s) / s) - math.exp(x) * normal.sf((x + s * s) / s))
    )  # fmt: skip


@given(
    s=st.floats(0.05, 6), part=st.floats(0.01, 8), unit=st.floats(1e-6, 1e6),
)  # fmt: skip
def test_tails_of_one_laplace_noise_and_a_sample(s: float, part: float, unit: float) -> None:
    x = part * math.sqrt(2 + s * s)
    law = NearlyNormal((unit * s) ** 2, laplace=((unit, 1),))
    expected = 2 * exact(x, s)
    assert law.variance == pytest.approx(unit**2 * (2 + s * s))
    if expected > 1e-10:
        assert law.p_value(unit * x) == pytest.approx(expected, rel=OFF)


def quadrature(x: float, scales: list[float]) -> float:
    """P[Σ scale·L ≥ x] by its partial fractions; no two scales may be equal."""
    found = 0.0
    for k, a in enumerate(scales):
        others = (a * a / (a * a - b * b) for i, b in enumerate(scales) if i != k)
        found += math.prod(others) * math.exp(-x / a) / 2
    return found


@pytest.mark.parametrize("scales", [[1.0], [1.0, 0.4], [3.0, 2.0, 1.0], [1.0, 0.9, 0.5, 0.1]])
def test_tails_of_noise_alone(scales: list[float]) -> None:
    law = NearlyNormal(laplace=tuple((each, 1) for each in scales))
    for part in (0.3, 1, 2, 4, 8):
        x = part * law.deviation
        assert law.p_value(x) == pytest.approx(2 * quadrature(x, scales), rel=OFF)


@given(
    sampled=st.floats(0, 50), freedom=st.floats(2, 1e4), gaussian=st.floats(0, 5),
    scales=st.lists(st.tuples(st.floats(1e-3, 5), st.integers(1, 4)), max_size=3),
    risk=st.floats(1e-8, 0.9),
)  # fmt: skip
def test_widths_and_p_values_are_inverse(
    sampled: float, freedom: float, gaussian: float, scales: Any, risk: float
) -> None:
    law = NearlyNormal(sampled, freedom, gaussian, tuple(scales))
    wide = law.half_width(risk)
    if wide > 1e-3:
        assert law.p_value(wide) == pytest.approx(risk, rel=2e-3)
        assert law.is_beyond(wide * 1.001, risk)
        assert not law.is_beyond(wide * 0.999, risk)
    assert law.half_width(risk / 2) >= wide


def test_without_laplace_noise_it_is_student() -> None:
    law = NearlyNormal(4.0, 7.0)
    assert law.half_width(0.01) == pytest.approx(2 * stats.t.isf(0.005, 7))
    assert law.p_value(5.0) == pytest.approx(2 * stats.t.sf(2.5, 7))
    assert NearlyNormal(gaussian=9.0).half_width(0.1) == pytest.approx(3 * stats.norm.isf(0.05))
    assert NearlyNormal().half_width(0.05) == 0
    assert NearlyNormal().p_value(0.0) == 1
    assert NearlyNormal(math.inf).half_width(0.05) == math.inf
    assert NearlyNormal(math.inf).p_value(3.0) == 1


@pytest.mark.parametrize("freedom", [1.0, 3.0, 47.3, 397.0, 1e5, 1e9, math.inf])
def test_far_out_p_values_fall_to_0(freedom: float) -> None:
    law = NearlyNormal(1.0, freedom, laplace=((0.01, 1),))
    found = [law.p_value(10.0**power) for power in range(-300, 301, 10)]
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(1)
    assert found[-1] <= 1e-290


def test_a_normal_law_would_promise_too_much() -> None:
    """At a risk of 10^-3 the normal quantile of Laplace noise is exceeded ten times as often."""
    law = NearlyNormal(laplace=((1.0, 1),))
    normal = stats.norm.isf(5e-4) * law.deviation
    assert math.exp(-normal) > 9e-3
    assert law.half_width(1e-3) == pytest.approx(math.log(1e3), rel=0.01)


def test_noises_have_their_exact_variances() -> None:
    laplace, gaussian = DiscreteLaplace(Fraction(1, 3)), DiscreteGaussian(Fraction(5))
    weights = [(2.0, 3), (-0.5, 1)]
    for law in (laplace, gaussian):
        found = NearlyNormal.of_noise(law, weights)
        assert found.noise == pytest.approx(variance(law) * (3 * 4 + 0.25))
        assert bool(found.laplace) == (law is laplace)
    both = CombinedNoise((laplace, gaussian), (1, 3), whole=False)
    found = NearlyNormal.of_noise(both, weights)
    assert found.noise == pytest.approx(both.variance * 12.25)
    assert found.gaussian == pytest.approx(variance(gaussian) * 12.25 * 9 / 16)
    assert NearlyNormal.of_noise(DiscreteLaplace(Fraction(0)), weights).noise == 0


def test_hundreds_of_noises_are_as_a_few() -> None:
    """Against the same noises, each by itself."""
    rng, law = np.random.default_rng(2), DiscreteLaplace(Fraction(1000))
    scale = math.sqrt(variance(law) / 2)
    for size in (9, 20, 300):
        weights = rng.exponential(size=size).tolist()
        few = NearlyNormal.of_noise(law, [(each, 1) for each in weights])
        every = NearlyNormal(laplace=tuple((each * scale, 1) for each in weights))
        assert len(few.laplace) == 5
        assert few.noise == pytest.approx(every.noise)
        for risk in (0.3, 0.05, 1e-4, 1e-8):
            assert few.half_width(risk) == pytest.approx(every.half_width(risk), rel=1e-3)


def test_sums_of_errors() -> None:
    one = NearlyNormal(4.0, 10.0, 1.0, ((1.0, 1),))
    other = NearlyNormal(9.0, 20.0, 4.0, ((2.0, 1), (0.5, 2)))
    found = independent([one, other.times(-2.0)])
    assert found.sampled == 4 + 36
    assert found.freedom == pytest.approx(40**2 / (16 / 10 + 36**2 / 20))
    assert found.gaussian == 17
    assert found.laplace == ((1.0, 1), (4.0, 1), (1.0, 2))
    assert independent([one]).half_width(0.05) == one.half_width(0.05)
    found = dependent([one, other])
    assert (found.sampled, found.freedom, found.gaussian) == pytest.approx((25.0, 10.0, 9.0))
    assert found.deviation <= one.deviation + other.deviation
    assert math.sqrt(found.noise - 9) == pytest.approx(math.sqrt(2) + math.sqrt(9))
    same = dependent([one, one])
    assert same.half_width(1e-3) == pytest.approx(one.times(2.0).half_width(1e-3))


#: Rows, their share, ε, and how many numbers hold together at 95 %: noise is most of the error, or
#: a part of it.
CASES = [(1000, 0.3, 0.01, 50), (1000, 0.3, 0.05, 50), (1000, 0.3, 0.2, 20)]


@pytest.mark.parametrize(("rows", "share", "epsilon", "family"), CASES)
@pytest.mark.parametrize("draws", [40_000, pytest.param(10**6, marks=pytest.mark.nightly)])
def test_many_intervals_hold_together(
    rows: int, share: float, epsilon: float, family: int, draws: int
) -> None:
    """Of shares, as `SampleShare.moments` has them, each with its part of a risk of 5 %: one may
    miss in at most 1.2 times its part, with a false alarm below 1e-6. Normal intervals, which miss
    in 3.3 and 4.9 times it, are found with a power of .999 in the first two cases."""
    rng, b = np.random.default_rng(5), 1 / epsilon
    risk = 0.05 / family
    noise = rng.geometric(-math.expm1(-1 / b), (4, draws)).astype(float)
    part = rng.binomial(rows, share, draws) + noise[0] - noise[1]
    whole = rows + noise[0] - noise[1] + noise[2] - noise[3]
    p = np.clip(part / whole, 0, 1)
    sampled = np.minimum(p * (1 - p) + 2.26 * b * np.sqrt(2 * ((1 - p) ** 2 + p**2)) / whole, 0.25)
    off = np.abs(p - share)
    deviation = np.sqrt(sampled / (whole - 1) + 2 * b * b * ((1 - p) ** 2 + p**2) / whole**2)
    law, misses = DiscreteLaplace(Fraction(b)), 0
    for i in np.flatnonzero(off > 2.5 * deviation).tolist():  # the rest is within any of these
        weights = ((1 - p[i]) / whole[i], 1), (p[i] / whole[i], 1)
        error = NearlyNormal.of_noise(law, weights)
        error = error.with_sample(sampled[i] / (whole[i] - 1), whole[i] - 1)
        misses += error.is_beyond(off[i], 0.9 * risk)
    assert misses <= stats.binom.isf(5e-7, draws, 1.2 * risk)
    assert error.half_width(0.9 * risk) > 2.5 * error.deviation
