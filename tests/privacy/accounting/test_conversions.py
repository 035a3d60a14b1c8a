"""Conversions between privacy losses: by their definitions, by oracles, rounded safely."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal

from dppandas.privacy.accounting import conversions
from dppandas.privacy.accounting import gaussian as normal
from dppandas.privacy.accounting.enclosures import Enclosure, normal_tail, pi, rounded, tight

RHOS = st.fractions(Fraction(1, 10**6), 50, max_denominator=10**6)
EPSILONS = st.fractions(Fraction(1, 1000), 30, max_denominator=10**4)
DELTAS = st.integers(1, 14).map(lambda n: Fraction(1, 10**n))
PAIRS = [(Fraction(1, 2), Fraction(1, 10**6), 5.221534444530),
         (Fraction(1, 10), Fraction(1, 10**5), 1.914239)]  # fmt: skip


# --- enclosures -----------------------------------------------------------------------------------


def test_pi_and_the_normal_tail_enclose_their_values() -> None:
    found = pi(60)
    # from a table
    truth = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")
    assert found.low < truth < found.high
    assert found.high - found.low < Decimal("1e-58")
    for x in (-40.0, -3.0, -0.25, 0.0, 0.5, 3.0, 10.0, 29.5, 30.5, 37.0):
        tail = normal_tail(Enclosure.of(Fraction(x), 240))
        exact = math.erfc(x / math.sqrt(2)) * math.sqrt(math.pi / 2)
        assert tail.low <= tail.high
        assert float(tail.low) * (1 - 1e-12) <= exact <= float(tail.high) * (1 + 1e-12)
        assert float(tail.low) >= exact * (1 - 1e-12 if x < 30 else 1 - 2 / x**2)
    across = normal_tail(Enclosure(Decimal(-1), Decimal(1), 50))
    assert float(across.low) == pytest.approx(math.erfc(math.sqrt(0.5)) * math.sqrt(math.pi / 2))


@given(*[st.fractions(-50, 50, max_denominator=1000)] * 2)
def test_enclosures_hold_what_they_say(x: Fraction, y: Fraction) -> None:
    a, b = Enclosure.of(x, 20), Enclosure.of(y, 20)
    for found, exact in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x)):
        assert Fraction(found.low) <= exact <= Fraction(found.high)
    if y:
        assert Fraction((a / b).low) <= x / y <= Fraction((a / b).high)
    else:
        refusal(lambda: a / b, error=ZeroDivisionError)
    root = (a * a + 1).sqrt()
    assert Fraction(root.low) ** 2 <= x * x + 1 <= Fraction(root.high) ** 2
    same = a.exp().ln()
    assert Fraction(same.low) <= x <= Fraction(same.high)
    assert same.high - same.low < Decimal("1e-16")


def test_rounding_goes_the_way_it_is_told() -> None:
    third = Enclosure.of(Fraction(1, 3))
    assert rounded(third.low, 2, up=True) == Fraction(34, 100)
    assert rounded(third.low, 2, up=False) == Fraction(33, 100)
    tiny = Decimal("1e-99999999999")
    assert rounded(tiny, 9, up=False) == 0 == rounded(tiny.copy_negate(), 9, up=True)
    least = rounded(tiny, 9, up=True)
    assert (least * 10**5000, least) == (1, -rounded(tiny.copy_negate(), 9, up=False))
    # no number of digits narrows this down, and it is given up
    wide = Enclosure(Decimal(1), Decimal(2), 50)
    assert tight(lambda _: wide, 9) is wide


# --- zCDP and (ε, δ) ------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "delta", "epsilon"), PAIRS)
def test_epsilon_of_rho(rho: Fraction, delta: Fraction, epsilon: float) -> None:
    assert float(conversions.epsilon_of(rho, delta)) == pytest.approx(epsilon, abs=5e-7)


def grid(rho: Fraction, delta: Fraction) -> float:
    """ε by the definition, on a grid of orders: never below the least."""
    x = np.logspace(-7, 7, 400_001)
    alpha = 1 + x
    values = alpha * float(rho) + np.log(x / alpha) - (np.log(float(delta)) + np.log(alpha)) / x
    return max(0.0, float(values.min()))


@pytest.mark.parametrize("rho", [Fraction(1, 10**5), Fraction(1, 10), Fraction(1, 2), Fraction(20)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**5), Fraction(1, 10**12)])
def test_conversions_are_the_least_over_all_orders(rho: Fraction, delta: Fraction) -> None:
    epsilon = conversions.epsilon_of(rho, delta)
    assert float(epsilon) == pytest.approx(grid(rho, delta), rel=1e-8, abs=1e-9)
    if epsilon:
        assert float(conversions.delta_of(rho, epsilon)) == pytest.approx(float(delta), rel=1e-8)
        assert float(conversions.rho_for(epsilon, delta)) == pytest.approx(float(rho), rel=1e-8)


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(8)])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**10)])
def test_conversions_agree_with_opendp(rho: Fraction, delta: Fraction) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i32"), dp.absolute_distance(T="i32")
    gaussian = dp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
    profile = dp.c.make_zCDP_to_approxDP(gaussian).map(1)
    ours = float(conversions.epsilon_of(rho, delta))
    assert ours == pytest.approx(profile.epsilon(float(delta)), rel=1e-9)
    back = float(conversions.delta_of(rho, Fraction(ours)))
    assert back == pytest.approx(profile.delta(ours), rel=1e-8)


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(8)])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**10)])
def test_conversions_agree_with_dp_accounting(rho: Fraction, delta: Fraction) -> None:
    rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")
    orders = 1 + np.logspace(-3, 4, 400_001)
    theirs, _ = rdp.compute_epsilon(orders, orders * float(rho), float(delta))
    assert float(conversions.epsilon_of(rho, delta)) == pytest.approx(theirs, rel=1e-9)


@settings(deadline=None)
@given(EPSILONS, DELTAS)
def test_rho_for_is_the_largest_that_fits(epsilon: Fraction, delta: Fraction) -> None:
    rho = conversions.rho_for(epsilon, delta)
    assert rho > 0
    assert conversions.epsilon_of(rho, delta) <= epsilon
    assert conversions.epsilon_of(rho * (1 + Fraction(1, 10**8)), delta) > epsilon
    assert len(str(Decimal(rho.numerator) / Decimal(rho.denominator)).split("E")[0]) <= 22


@settings(deadline=None)
@given(RHOS, DELTAS)
def test_there_and_back(rho: Fraction, delta: Fraction) -> None:
    epsilon = conversions.epsilon_of(rho, delta)
    assert conversions.epsilon_of(rho * 2, delta) >= epsilon
    assert conversions.epsilon_of(rho, delta / 10) >= epsilon
    here = conversions.delta_of(rho, epsilon)
    assert here <= delta * (1 + Fraction(1, 10**9))
    assert conversions.delta_of(rho, epsilon + 1) <= here <= conversions.delta_of(rho * 2, epsilon)
    if epsilon:
        assert conversions.rho_for(epsilon, delta) >= rho * (1 - Fraction(1, 10**9))


def test_no_loss_costs_nothing_and_nonsense_is_refused() -> None:
    zero, half = Fraction(0), Fraction(1, 2)
    assert conversions.epsilon_of(zero, half) == conversions.delta_of(zero, half) == 0
    assert conversions.rho_of_pure(zero) == conversions.rho_of_laplace(0, half) == 0
    assert conversions.rho_of_selection(zero) == 0
    assert normal.gaussian_rho(zero, 0) == normal.gaussian_sigma2(half, 0) == 0
    assert normal.gaussian_sigma2_for(half, half, 0) == normal.delta_of_gaussian(half, 0, half) == 0
    assert conversions.delta_of(Fraction(100), zero) <= 1
    for bad in (Fraction(0), Fraction(1), Fraction(-1), Fraction(2)):
        for convert in (conversions.epsilon_of, conversions.rho_for):
            refusal(partial(convert, half, bad))
        for sigma2 in (normal.classic_sigma2, normal.analytic_sigma2):
            refusal(partial(sigma2, half, bad, 1))
    for attempt in (
        lambda: conversions.epsilon_of(-half, half), lambda: conversions.delta_of(-half, half),
        lambda: conversions.delta_of(half, -half), lambda: conversions.rho_for(zero, half),
        lambda: conversions.rho_of_pure(-half), lambda: conversions.rho_of_laplace(1, zero),
        lambda: normal.gaussian_sigma2(zero, 1), lambda: normal.delta_of_gaussian(zero, 1, half),
        lambda: normal.delta_of_gaussian(half, 1, -half),
        lambda: normal.classic_sigma2(Fraction(1), half, 1),
        lambda: normal.analytic_sigma2(Fraction(701), half, 1),
    ):  # fmt: skip
        refusal(attempt)


# --- ρ of pure mechanisms -------------------------------------------------------------------------

ORDERS = [*(1 + np.logspace(-4, 0, 15)), *np.linspace(2.5, 100, 30)]


def renyi(log_p: np.ndarray, log_q: np.ndarray, alpha: float) -> float:
    exponents = alpha * log_p + (1 - alpha) * log_q
    top = exponents.max()
    return float((top + np.log(np.exp(exponents - top).sum())) / (alpha - 1))


def laplace(shift: int, scale: float, reach: int) -> np.ndarray:
    z = -np.abs(np.arange(-reach, reach + 1) - shift) / scale
    return np.asarray(z - np.log(np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale).sum()))


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("shift", [1, 2, 3, 7, 20])
def test_rho_of_laplace_is_the_largest_share_of_any_order(shift: int, scale: Fraction) -> None:
    reach = math.ceil(50 * scale) + shift
    p, q = laplace(0, float(scale), reach), laplace(shift, float(scale), reach)
    shares = [renyi(p, q, alpha) / alpha for alpha in ORDERS]
    rho = float(conversions.rho_of_laplace(shift, scale))
    assert max(shares) <= rho * (1 + 1e-9)
    assert max(shares) >= rho * (1 - 1e-3)
    assert rho <= float(conversions.rho_of_pure(shift / scale)) * (1 + 1e-14)


def test_rho_of_laplace_for_one_step_is_that_of_randomised_response() -> None:
    for scale in (Fraction(1, 4), Fraction(1), Fraction(9), Fraction(1000)):
        pure = float(conversions.rho_of_pure(1 / scale))
        assert float(conversions.rho_of_laplace(1, scale)) == pytest.approx(pure, rel=1e-13)
    wide = float(conversions.rho_of_laplace(10**6, Fraction(10**6)))
    assert wide == pytest.approx(math.exp(-1), abs=1e-6)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5), st.fractions(Fraction(1, 9), 2**20))
def test_all_of_a_shift_on_one_coordinate_is_the_worst(shifts: list[int], scale: Fraction) -> None:
    whole = conversions.rho_of_laplace(sum(shifts), scale)
    parts = sum(conversions.rho_of_laplace(shift, scale) for shift in shifts)
    assert parts <= whole * (1 + Fraction(1, 10**12))
    assert whole <= conversions.rho_of_laplace(sum(shifts) + 1, scale)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5), Fraction(20)])
def test_rho_of_pure_is_that_of_randomised_response(epsilon: Fraction) -> None:
    keep = -math.log1p(math.exp(-epsilon))
    p = np.array([keep, keep - float(epsilon)])
    shares = [renyi(p, p[::-1], alpha) / alpha for alpha in ORDERS]
    rho = float(conversions.rho_of_pure(epsilon))
    assert rho * 0.999 <= max(shares) <= rho * (1 + 1e-9) + 1e-11  # floats, by α - 1


def test_rho_of_selection_is_exact_and_bounds_all_laws_of_its_range() -> None:
    """Two-point laws are the worst of all whose log-ratios span ε (Hoeffding's lemma)."""
    epsilon = Fraction(3, 2)
    rho = conversions.rho_of_selection(epsilon)
    assert rho == Fraction(9, 32)
    worst = 0.0
    for weight in np.logspace(-3, 3, 61):
        q = np.log(np.array([1, weight]) / (1 + weight))
        p = q + np.array([float(epsilon), 0])
        p -= np.log(np.exp(p).sum())
        worst = max(worst, *(renyi(p, q, alpha) / alpha for alpha in ORDERS))
    assert 0.95 * float(rho) <= worst <= float(rho) * (1 + 1e-9)


@given(st.fractions(Fraction(1, 10**6), 100))
def test_selection_epsilon_is_the_largest(rho: Fraction) -> None:
    epsilon = conversions.selection_epsilon_for(rho)
    more = conversions.rho_of_selection(epsilon + Fraction(1, 10**14))
    assert conversions.rho_of_selection(epsilon) <= rho < more
    assert conversions.selection_epsilon_for(conversions.rho_of_selection(rho)) == rho


# --- Gaussian noise -------------------------------------------------------------------------------


def weight(sigma2: Fraction, z: int) -> Decimal:
    h = Decimal(sigma2.denominator) / (2 * Decimal(sigma2.numerator))
    return (-z * z * h).exp()


def exact_delta(sigma2: Fraction, shift: int, epsilon: Fraction) -> float:
    """Σ max(0, P[z] - exp(ε) P[z - shift]), term by term, from the definition."""
    reach = shift + math.ceil(40 * math.sqrt(sigma2)) + 40
    law = {z: weight(sigma2, z) for z in range(-reach - shift, reach + 1)}
    factor = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
    over = (max(Decimal(0), law[z] - factor * law[z - shift]) for z in range(-reach, reach + 1))
    return float(sum(over, Decimal(0)) / sum(law.values()))


EPSILON_GRID = [Fraction(1, 10), Fraction(1), Fraction(10), Fraction(20)]


@pytest.mark.parametrize("epsilon", EPSILON_GRID, ids=str)
@pytest.mark.parametrize("sigma2", [Fraction(1, 5), Fraction(1), Fraction(10, 3), Fraction(250)])
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_delta_of_gaussian_is_exact(sigma2: Fraction, shift: int, epsilon: Fraction) -> None:
    found = normal.delta_of_gaussian(sigma2, shift**2, epsilon, one_dimensional=True)
    assert float(found) == pytest.approx(exact_delta(sigma2, shift, epsilon), rel=1e-9)
    # smaller shifts lose less, and ρ is never too small
    fewer = normal.delta_of_gaussian(sigma2, (shift - 1) ** 2, epsilon, one_dimensional=True)
    assert found >= fewer
    assert found <= conversions.delta_of(normal.gaussian_rho(sigma2, shift**2), epsilon)


def test_delta_of_gaussian_at_sigma_1() -> None:
    """The continuous Gaussian's formula, 0.1269, understates it."""
    one = Fraction(1)
    assert float(normal.delta_of_gaussian(one, 1, one)) == pytest.approx(0.1414, abs=5e-5)
    alone = normal.delta_of_gaussian(one, 1, one, one_dimensional=True)
    assert normal.delta_of_gaussian(one, 1, one) == alone
    assert normal.delta_of_gaussian(one, 2, one) == conversions.delta_of(one, one)


@pytest.mark.parametrize("sigma2", [Fraction(1), Fraction(20), Fraction(400)])
@pytest.mark.parametrize("epsilon", EPSILON_GRID, ids=str)
def test_delta_of_gaussian_agrees_with_dp_accounting(sigma2: Fraction, epsilon: Fraction) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    for shift in (1, 4):
        theirs = pld.DiscreteGaussianPrivacyLoss(math.sqrt(sigma2), sensitivity=shift)
        ours = normal.delta_of_gaussian(sigma2, shift**2, epsilon, one_dimensional=True)
        wanted = theirs.get_delta_for_epsilon(float(epsilon))
        assert float(ours) == pytest.approx(wanted, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("m", [-900, 0, 1, 5, 300, 700, 2500])
def test_both_ways_to_a_tail_agree(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one σ², the sum lies within the bounds from the normal law, which are close."""
    sigma2, digits = Fraction(100_000), conversions.LARGE_DIGITS
    summed = normal.discrete_gaussian_tail(sigma2, m, 60)
    monkeypatch.setattr(normal, "SUMMED", 0)
    bounds = normal.discrete_gaussian_tail(sigma2, m, digits)
    assert bounds.low <= summed.low
    assert summed.high <= bounds.high
    assert float(bounds.low) == pytest.approx(float(bounds.high), rel=1e-4)


def vectors(squared: int) -> list[tuple[int, ...]]:
    return [
        v
        for v in itertools.product(range(3), repeat=3)
        if 0 < sum(x * x for x in v) <= squared and v == tuple(sorted(v))
    ]


@pytest.mark.parametrize("sigma2", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_delta_of_vectors_covers_every_shift(sigma2: Fraction, epsilon: Fraction) -> None:
    """All shifts of three entries with a squared length up to 3, on all outputs of a window."""
    z = np.arange(-14, 15)
    claimed = float(normal.delta_of_gaussian(sigma2, 3, epsilon))

    def law(shift: int) -> np.ndarray:
        p = np.exp(-((z - shift) ** 2) / (2 * float(sigma2)))
        return np.asarray(p / np.exp(-(z**2) / (2 * float(sigma2))).sum())

    for v in vectors(3):
        p = np.einsum("i,j,k->ijk", law(0), law(0), law(0))
        q = np.einsum("i,j,k->ijk", *map(law, v))
        assert np.maximum(0, p - math.exp(epsilon) * q).sum() <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("shift", [1, 3, 1000, 2**30])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", 5), ("1", 6), ("0.1", 5), ("10", 6)])
def test_calibrated_noise_fits_and_less_does_not(shift: int, epsilon: str, delta: int) -> None:
    e, d = Fraction(epsilon), Fraction(1, 10**delta)
    sigma2 = normal.gaussian_sigma2_for(e, d, shift**2, one_dimensional=True)
    assert normal.delta_of_gaussian(sigma2, shift**2, e, one_dimensional=True) <= d
    less = sigma2 * (1 - Fraction(1, 10**8))
    assert normal.delta_of_gaussian(less, shift**2, e, one_dimensional=True) > d
    through_rho = normal.gaussian_sigma2_for(e, d, shift**2 * 2) / 2
    assert sigma2 < through_rho
    rho = normal.gaussian_rho(through_rho, shift**2)
    assert conversions.delta_of(rho, e) <= d * (1 + Fraction(1, 10**8))
    if shift > 10:
        analytic = float(normal.analytic_sigma2(e, d, shift**2))
        assert float(sigma2) == pytest.approx(analytic, rel=1e-3)


def test_more_noise_is_not_always_a_smaller_delta() -> None:
    """Below σ² = 1 the lattice shows: a σ² may be fine, a larger one not. ρ always falls."""
    ten = Fraction(10)
    less, more = (normal.delta_of_gaussian(Fraction(1, n), 1, ten) for n in (20, 10))
    assert less < more


@settings(deadline=None)
@given(st.fractions(2, 10**4, max_denominator=100), EPSILONS)
def test_delta_of_gaussian_falls_with_epsilon(sigma2: Fraction, epsilon: Fraction) -> None:
    found = normal.delta_of_gaussian(sigma2, 1, epsilon)
    assert normal.delta_of_gaussian(sigma2, 1, epsilon * 2) <= found
    assert found <= normal.delta_of_gaussian(sigma2, 4, epsilon, one_dimensional=True)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [("1", 5, 3.730632), ("1", 6, 4.224679), ("0.1", 5, 30.749566), ("10", 6, 0.541087)],
)
def test_analytic_calibration(epsilon: str, delta: int, sigma: float) -> None:
    e, d = Fraction(epsilon), Fraction(1, 10**delta)
    assert math.sqrt(normal.analytic_sigma2(e, d, 1)) == pytest.approx(sigma, abs=6e-7)
    assert math.sqrt(normal.analytic_sigma2(e, d, 49)) == pytest.approx(7 * sigma, abs=6e-6)


def test_classic_calibration() -> None:
    e, d = Fraction(1, 2), Fraction(1, 10**5)
    assert float(normal.classic_sigma2(e, d, 3)) == pytest.approx(2 * math.log(1.25e5) * 3 / 0.25)
    assert normal.classic_sigma2(e, d, 1) > normal.analytic_sigma2(e, d, 1)


@pytest.mark.parametrize("share", ["0.00001", "0.0213333", "0.5", "1", "3", "21"])
@pytest.mark.parametrize("number", [1, 2, 7])
def test_the_largest_epsilon_of_a_rho_of_laplace_noise(share: str, number: int) -> None:
    rho = number * conversions.rho_of_fine_laplace(Fraction(share))
    found = conversions.fine_laplace_epsilon_for(rho)
    assert (
        conversions.rho_of_fine_laplace(found)
        <= rho
        < conversions.rho_of_fine_laplace(found * (1 + Fraction(2, 10**5)))
    )
    assert Fraction(share) * (1 - Fraction(1, 10**5)) <= found <= number * Fraction(share)
