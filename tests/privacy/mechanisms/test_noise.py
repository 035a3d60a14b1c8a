"""Noise: calibration, exact losses, one draw an entry, and widths that hold by the exact law."""

import decimal
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.privacy.accounting import conversions
from dppandas.privacy.accounting.losses import Delta, Epsilon
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms.base import Sensitivity
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, additive
from dppandas.privacy.sampling import entropy, samplers

EPSILONS = st.fractions(Fraction(1, 2**20), 64, max_denominator=2**21)
SENSITIVITIES = st.integers(1, 2**80)

#: Each noise, and what it loses for a sensitivity of 0.
LOSSLESS = [(DiscreteLaplace, DiscreteLaplace.loss), (DiscreteGaussian, DiscreteGaussian.rho)]


@pytest.mark.parametrize(("kind", "loss"), LOSSLESS)
def test_what_cannot_differ_costs_nothing_and_gets_no_noise(kind: Any, loss: Any) -> None:
    mechanism = kind.calibrate(0, Fraction(1, 10))
    assert loss(mechanism, 0) == 0
    assert mechanism.release([5, 2**70]) == [5, 2**70]
    assert mechanism.half_width(0.95) == 0
    assert loss(kind(Fraction(3)), 0) == 0


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_each_entry_gets_one_noise(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noise(scale: Fraction, n: int) -> entropy.Integers:
        asked.append((scale, n))
        return np.arange(1, n + 1)

    sampler = "laplace" if kind is DiscreteLaplace else "gaussian"
    monkeypatch.setattr(samplers, f"discrete_{sampler}_vector", noise)
    values = [0, -5, 2**70]  # sums may be beyond int64: nothing wraps around
    released = kind(Fraction(7, 3)).release(values)
    assert released == [1, -3, 2**70 + 3]
    assert all(type(value) is int for value in released)
    assert asked == [(Fraction(7, 3), 3)]


@pytest.mark.parametrize("entries", [1, 2, 3, 1000])
@pytest.mark.parametrize("confidence", [1e-9, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999999, 1 - 1e-12])
def test_half_width_is_the_smallest_that_holds(confidence: float, entries: int) -> None:
    for scale in map(Fraction, ("1/64", "1/3", "2/3", "1", "10/3", "10", "64", "123.456", "1000")):
        width = DiscreteLaplace(scale).half_width(confidence, entries)
        assert width == smallest_laplace_width(scale, confidence, entries)
    for sigma2 in map(Fraction, ("1/64", "1/3", "1", "10/3", "64", "12345.6")):
        width = DiscreteGaussian(sigma2).half_width(confidence, entries)
        assert width == smallest_gaussian_width(sigma2, confidence, entries)


# --- discrete Laplace -----------------------------------------------------------------------------


@given(SENSITIVITIES, EPSILONS)
def test_laplace_loses_exactly_what_is_asked(sensitivity: int, epsilon: Fraction) -> None:
    mechanism = DiscreteLaplace.calibrate(sensitivity, epsilon)
    assert mechanism.scale == sensitivity / epsilon
    assert mechanism.loss(sensitivity) == epsilon
    assert mechanism.loss(2 * sensitivity) == 2 * epsilon
    assert isinstance(mechanism.loss(sensitivity), Fraction)


@pytest.mark.parametrize("epsilon", ["0.003", "0.7", "1", "7", "64"])
def test_where_rho_is_counted_fine_integers_cost_the_same(epsilon: str) -> None:
    """As those of a million steps, which is no less than their own ρ, and hardly more."""
    e = Fraction(epsilon)

    def charged(moved: int) -> Fraction:
        there = Sensitivity(moved, moved**2, moved, monotone=False)
        return DiscreteLaplace.calibrate(moved, e).cost(Measure.ZCDP, there).rho

    finest = conversions.rho_of_laplace(2**60, 2**60 / e)
    assert len({charged(moved) for moved in (2**20, 2**20 + 1, 3 * 2**27, 2**33, 2**60)}) == 1
    assert finest <= charged(2**33) <= finest * (1 + Fraction(1, 10**9))
    assert charged(2**33) < charged(2**7) < charged(1)
    assert charged(2**7) == conversions.rho_of_laplace(2**7, 2**7 / e)


def test_laplace_loss_is_its_exact_privacy_and_tight() -> None:
    """ln P[out|x] - ln P[out|y] = Σ(|out-y| - |out-x|)/scale: fractions, no rounding anywhere.

    All pairs of small vectors, all outputs of a window: the largest is loss(‖x-y‖₁), attained.
    """
    mechanism = DiscreteLaplace.calibrate(3, Fraction(7, 10))
    window = list(itertools.product(range(-6, 7), repeat=2))
    for y in itertools.product(range(-2, 3), repeat=2):  # x = (0, 0), for only x - y matters
        worst = max(sum(abs(o - b) - abs(o) for o, b in zip(out, y, strict=True)) for out in window)
        assert worst / mechanism.scale == mechanism.loss(sum(map(abs, y)))


def smallest_laplace_width(scale: Fraction, confidence: float, entries: int) -> int:
    """Counts up from 0 until (1 - 2a^(w+1)/(1+a))^entries ≥ confidence, with 60 digits."""
    with decimal.localcontext(decimal.Context(prec=60)):
        a = (-1 / (Decimal(scale.numerator) / Decimal(scale.denominator))).exp()
        tail, w = 2 * a / (1 + a), 0
        while (1 - tail) ** entries < Decimal(confidence):
            tail, w = tail * a, w + 1
        return w


def test_half_width_of_ten_thousand_names() -> None:
    """ε = 1, 95 % for all at once: ±12, where the union bound on real Laplace says 12.206."""
    assert DiscreteLaplace.calibrate(1, Fraction(1)).half_width(0.95, 10_000) == 12


@pytest.mark.parametrize("power", [50, 80, 120, 300])
def test_half_width_of_huge_scales_ends(power: int) -> None:
    """Where a float has no unit steps any more, it is within 2^-40 of the least."""
    width = DiscreteLaplace(Fraction(2**power)).half_width(0.95)
    assert width / 2**power == pytest.approx(math.log(20), rel=2**-40)


# --- discrete Gaussian ----------------------------------------------------------------------------


@given(st.integers(1, 2**80), st.fractions(Fraction(1, 2**40), 64, max_denominator=2**41))
def test_gaussian_loses_exactly_what_is_asked(squared: int, rho: Fraction) -> None:
    mechanism = DiscreteGaussian.calibrate(squared, rho)
    assert mechanism.rho(squared) == rho
    assert mechanism.rho(4 * squared) == 4 * rho  # a group of two
    assert mechanism.scale == pytest.approx(math.sqrt(squared / 2 / rho))
    assert mechanism.name == "discrete Gaussian"


def test_the_variance_for_an_epsilon_and_a_delta_is_the_least() -> None:
    asked = LossRequest(Measure.APPROXIMATE, Epsilon(1), Delta(1, 10**5), noise="gaussian")
    approximate = additive(asked, Sensitivity(1, 1, 1, monotone=True), alone=False)
    assert isinstance(approximate, DiscreteGaussian)
    assert float(approximate.sigma2) == pytest.approx(3.740485**2, rel=1e-6)


def test_rho_is_the_exact_rényi_divergence() -> None:
    """At every order, D = αρ for shifts by integers and orders α with α·shift an integer."""
    sigma2 = 1.7
    z = np.arange(-150, 151)
    for shift, alpha in ((1, 2.0), (1, 3.0), (2, 1.5), (3, 2.0), (2, 2.3)):
        logs = -(alpha * z**2 + (1 - alpha) * (z - shift) ** 2) / (2 * sigma2)
        total = np.exp(-(z**2) / (2 * sigma2)).sum()
        divergence = math.log(np.exp(logs).sum() / total) / (alpha - 1)
        bound = alpha * float(DiscreteGaussian(Fraction("1.7")).rho(shift**2))
        assert divergence <= bound * (1 + 1e-9)
        if (alpha * shift).is_integer():
            assert divergence == pytest.approx(bound, rel=1e-9)


def smallest_gaussian_width(sigma2: Fraction, confidence: float, entries: int) -> int:
    """Counts up from 0 until P[|Z| ≤ w]^entries ≥ confidence, with 60 digits."""
    with decimal.localcontext(decimal.Context(prec=60)):
        h = Decimal(sigma2.denominator) / (2 * Decimal(sigma2.numerator))
        weights = [(-z * z * h).exp() for z in range(math.ceil(20 * math.sqrt(sigma2)) + 20)]
        total, inside, w = 2 * sum(weights) - 1, weights[0], 0
        while (inside / total) ** entries < Decimal(confidence):
            w += 1
            inside += 2 * weights[w]
        return w


@pytest.mark.parametrize("power", [18, 20, 60, 100])
def test_half_width_of_large_noise(power: int) -> None:
    """By the normal law's bounds: never less than by the sum, and hardly more."""
    width = DiscreteGaussian(Fraction(2**power)).half_width(0.95)
    assert width / 2 ** (power / 2) == pytest.approx(1.959964, rel=2e-3)
    if power == 18:
        assert 0 <= width - smallest_gaussian_width(Fraction(2**power), 0.95, 1) <= 1
