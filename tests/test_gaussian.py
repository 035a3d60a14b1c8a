"""Discrete Gaussian noise and the exponential mechanism: exact laws, exact losses, safe widths."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact import Script, assert_brackets, exp, exp_interval, law
from hypothesis import given
from hypothesis import strategies as st

from dppandas.errors import InternalError
from dppandas.privacy.accounting import conversions
from dppandas.privacy.mechanisms import selection
from dppandas.privacy.mechanisms.noise import DiscreteGaussian
from dppandas.privacy.mechanisms.selection import Exponential, selection_weights
from dppandas.privacy.sampling import entropy, inverse_cdf, samplers

TOP = 2**64 - 1


# --- the exact law, by enumeration ----------------------------------------------------------------


def gaussian_pmf(sigma2: Fraction) -> dict[int, Fraction]:
    """P[Z = z] to 2^-300, far enough for the rest to be below 2^-300."""
    reach = math.ceil(math.sqrt(float(sigma2) * 2 * 210)) + 1
    weights = {z: exp(z * z / (2 * sigma2)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(30)])
def test_scalar_discrete_gaussian_is_exact(
    sigma2: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the discrete Laplace proposal and the coin, proven in test_sampling, as one choice each.

    What a round accepts has the law: P[z] / P[0] = exp(-z²/(2σ²)).
    """
    window, asked = range(-15, 16), set[Fraction]()

    class Again(Exception):
        pass

    def propose(scale: Fraction, bits: Script) -> int:
        if bits.used:
            raise Again
        asked.add(scale)
        a = exp(1 / scale)
        chances = [(1 - a) / (1 + a) * a ** abs(z) for z in window]
        return window[bits.choose(chances)]

    def coin(gamma: Fraction, bits: Script) -> bool:
        return gamma == 0 or bits.choose([exp(gamma), 1 - exp(gamma)]) == 0

    def once(bits: Script) -> int | None:
        try:
            return samplers.discrete_gaussian(sigma2, bits)
        except Again:
            return None

    monkeypatch.setattr(samplers, "discrete_laplace", propose)
    monkeypatch.setattr(samplers, "bernoulli_exp", coin)
    found, undecided = law(once, runs=100)
    assert undecided == 0
    assert asked == {Fraction(math.isqrt(math.floor(sigma2)) + 1)}
    ratios = {z: found[z] / found[0] for z in window}
    tolerance = Fraction(1, 2**300)
    for z in window:
        assert abs(ratios[z] - exp(z * z / (2 * sigma2))) < tolerance
    assert 1 - found[None] > Fraction(1, 3)  # and not too often again


@pytest.mark.parametrize("sigma2", [Fraction(1), Fraction(1, 2)])
def test_scalar_discrete_gaussian_end_to_end(sigma2: Fraction) -> None:
    """Nothing replaced: what is found and the mass undecided bracket the law."""
    found, undecided = law(lambda bits: samplers.discrete_gaussian(sigma2, bits), runs=20_000)
    assert undecided < Fraction(6, 10)  # rejections repeat
    pmf = gaussian_pmf(sigma2)
    assert_brackets(found, undecided, lambda z: pmf[z], range(-8, 9))


def kept(z: int, sigma2: Fraction, words: list[int]) -> tuple[bool, int]:
    """What the vector sampler's coin says of a proposal, and how many words that took."""
    bits = Script(words)
    scale = math.isqrt(math.floor(sigma2)) + 1
    return bool(samplers._kept(np.array([z]), sigma2, scale, bits)[0]), bits.used


CASES = [
    (sigma2, z)
    for sigma2, places in {
        Fraction(1, 3): (0, 1, -4),
        Fraction(1): (0, 2, -5),
        Fraction(10, 7): (0, -3, 9),
        Fraction(10**8, 7): (0, -3800, 9999, 30_000, -40_001),
        Fraction(2**90, 3): (1, 2**44, -(2**47)),
    }.items()
    for z in places
]


@pytest.mark.parametrize(("sigma2", "z"), CASES, ids=str)
def test_coins_are_exact_at_the_edge_of_float_certainty(sigma2: Fraction, z: int) -> None:
    t = math.isqrt(math.floor(sigma2)) + 1
    gamma = (abs(z) - sigma2 / t) ** 2 / (2 * sigma2)
    low, high = exp_interval(gamma)
    floor, second = math.floor(low * 2**64), math.floor(low * 2**128) & TOP
    assert math.floor(high * 2**128) & TOP == second
    assert kept(z, sigma2, [floor, second - 1]) == (True, 2)
    assert kept(z, sigma2, [floor, second + 1]) == (False, 2)
    assert kept(z, sigma2, [floor, second, 0]) == (True, 3)
    for k in range(65):  # from one unit to all the way: float decides, or hands over, rightly
        for word, accepted in ((floor - 2**k, True), (floor + 2**k, False)):
            if 0 <= word <= TOP:
                assert kept(z, sigma2, [word]) == (accepted, 1)


def test_coins_of_proposals_that_no_float_decides() -> None:
    # exactly on the centre σ²/t: certain, whatever the word says
    assert kept(2, Fraction(9) - 1, [TOP])[0] is False  # σ² = 8, t = 3: 8/3 is no integer
    assert kept(0, Fraction(2), [0]) == (True, 1)
    centre = Fraction(6)  # σ² = 6, t = 3
    assert kept(2, centre, [TOP]) == (True, 1)
    # so far out that exp underflows, and an integer beyond int64
    far = np.array([2**70, 0], dtype=object)
    bits = Script([0, 0, 7])
    assert samplers._kept(far, Fraction(4), 3, bits).tolist() == [False, True]
    assert bits.used == 3


def test_float_error_is_within_the_room_claimed() -> None:
    """g in floats against g in fractions, where cancellation is worst."""
    generator = itertools.product(
        [Fraction(1, 7), Fraction(10**6 + 1, 3), Fraction(2**80 + 1, 5), Fraction(2**99, 3)],
        range(-200, 201),
    )
    for sigma2, k in generator:
        t = math.isqrt(math.floor(sigma2)) + 1
        centre = sigma2 / t
        z = math.floor(centre * Fraction(abs(k), 40)) + (k < 0)
        x, c, h = np.float64(z), float(centre), float(1 / (2 * sigma2))
        found, exact = (x - c) ** 2 * h, (z - centre) ** 2 / (2 * sigma2)
        room = 2.0**-46 * ((x + c) ** 2 * h + 1)
        assert abs(Fraction(float(found)) - exact) <= Fraction(float(room)) / 4


def test_vectors_are_the_first_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposals in order, each with a coin of its own, until there are enough."""
    proposals, rounds = itertools.count(), []

    class Tables:
        def draw(self, n: int, bits: Any) -> Any:
            rounds.append(n)
            return np.array([next(proposals) for _ in range(n)])

    monkeypatch.setattr(inverse_cdf, "laplace_tables", lambda scale: Tables())
    monkeypatch.setattr(samplers, "_kept", lambda z, *_: z % 5 == 0)
    values = samplers.discrete_gaussian_vector(Fraction(10), 200)
    assert values.tolist() == [5 * i for i in range(200)]
    assert len(rounds) > 2


def test_every_length_and_size_of_vector() -> None:
    for n in (0, 1, 99, 100, 1000):
        for sigma2 in (Fraction(1, 2**30), Fraction(1, 64), Fraction(7, 3), Fraction(2**70)):
            values = samplers.discrete_gaussian_vector(sigma2, n)
            assert (len(values), values.dtype) == (n, np.dtype(np.int64))
    assert samplers.discrete_gaussian_vector(Fraction(1, 2**30), 100).tolist() == [0] * 100
    huge = samplers.discrete_gaussian_vector(Fraction(2**160), 3)
    assert huge.dtype == object
    assert all(abs(value) < 2**88 for value in huge)


# --- statistics: that the pieces are put together right in production -----------------------------

SAMPLERS: dict[str, Callable[[Fraction, int], Any]] = {
    "scalar": lambda sigma2, n: np.array([samplers.discrete_gaussian(sigma2) for _ in range(n)]),
    "vector": samplers.discrete_gaussian_vector,
}


def floats(sigma2: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """The integers that matter and their probabilities."""
    reach = math.ceil(12 * math.sqrt(sigma2)) + 4
    z = np.arange(-reach, reach + 1)
    p = np.exp(-(z**2) / (2 * float(sigma2)))
    return z, p / p.sum()


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_noise_has_the_variance_it_states(sampler: str) -> None:
    """|z| ≤ 5.2: false alarms below 4e-7. A σ² 5 % off is 8.6 errors away: missed in 1e-3."""
    n, sigma2 = 60_000, Fraction(20)

    def errors(draws: Any) -> float:
        z, p = floats(sigma2)
        mean, square = (p * z**2).sum(), (p * z**4).sum()
        return float(((draws**2).mean() - mean) / math.sqrt((square - mean**2) / n))

    assert abs(errors(SAMPLERS[sampler](sigma2, n))) <= 5.2
    assert errors(SAMPLERS[sampler](sigma2 * Fraction(11, 10), n)) > 5.2  # 17 away


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("sigma2", [Fraction(1, 4), Fraction(1), Fraction(50)], ids=str)
def test_noise_has_the_shape_it_states(sampler: str, sigma2: Fraction) -> None:
    """χ² over single values with p > 1e-7, which is the rate of false alarms.

    Discrete Laplace noise of the same variance, as from a coin that always keeps, is told apart
    with certainty for practical purposes: its χ² is beyond 1000.
    """
    stats = pytest.importorskip("scipy.stats")
    n, (z, p) = 40_000, floats(sigma2)
    draws = SAMPLERS[sampler](sigma2, n)

    def chi2(values: Any) -> float:
        inner = z[n * p > 30]
        low, high = inner[0], inner[-1]
        cells = np.bincount(np.clip(values, low - 1, high + 1) - low + 1, minlength=high - low + 3)
        wanted = [p[z < low].sum(), *p[(z >= low) & (z <= high)], p[z > high].sum()]
        if min(wanted) * n < 30:  # where χ² would not be χ² far out
            cells = np.array([cells[0] + cells[1], *cells[2:-2], cells[-2] + cells[-1]])
            wanted = [wanted[0] + wanted[1], *wanted[2:-2], wanted[-2] + wanted[-1]]
        return float(stats.chisquare(cells, n * np.array(wanted) / sum(wanted)).pvalue)

    assert chi2(draws) > 1e-7
    if sigma2 > 1:
        laplace = Fraction(str(round(math.sqrt(sigma2 / 2), 3)))
        assert chi2(samplers.discrete_laplace_vector(laplace, n)) < 1e-7


# --- the mechanism --------------------------------------------------------------------------------


@given(st.integers(1, 2**80), st.fractions(Fraction(1, 2**40), 64, max_denominator=2**41))
def test_gaussian_loses_exactly_what_is_asked(squared: int, rho: Fraction) -> None:
    mechanism = DiscreteGaussian.calibrate(squared, rho)
    assert mechanism.rho(squared) == rho
    assert mechanism.rho(4 * squared) == 4 * rho  # a group of two
    assert mechanism.scale == pytest.approx(math.sqrt(squared / 2 / rho))
    assert mechanism.name == "discrete Gaussian"


def test_what_cannot_differ_costs_nothing_and_gets_no_noise() -> None:
    mechanism = DiscreteGaussian.calibrate(0, Fraction(1, 10))
    assert mechanism.rho(0) == 0
    assert mechanism.release([5, 2**70]) == [5, 2**70]
    assert mechanism.half_width(0.95) == 0
    assert DiscreteGaussian(Fraction(3)).rho(0) == 0
    approximate = DiscreteGaussian.for_approximate(1, Fraction(1), Fraction(1, 10**5))
    assert float(approximate.sigma2) == pytest.approx(3.740485**2, rel=1e-6)


def test_gaussian_adds_one_noise_to_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noise(sigma2: Fraction, n: int) -> entropy.Integers:
        asked.append((sigma2, n))
        return np.arange(1, n + 1)

    monkeypatch.setattr(samplers, "discrete_gaussian_vector", noise)
    released = DiscreteGaussian(Fraction(7, 3)).release([0, -5, 2**70])
    assert released == [1, -3, 2**70 + 3]
    assert all(type(value) is int for value in released)
    assert asked == [(Fraction(7, 3), 3)]


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


def smallest_width(sigma2: Fraction, confidence: float, entries: int) -> int:
    """Counts up from 0 until P[|Z| ≤ w]^entries ≥ confidence, with 60 digits."""
    with decimal.localcontext(decimal.Context(prec=60)):
        h = Decimal(sigma2.denominator) / (2 * Decimal(sigma2.numerator))
        reach = math.ceil(20 * math.sqrt(sigma2)) + 20
        weights = [(-z * z * h).exp() for z in range(reach)]
        total, inside, w = 2 * sum(weights) - 1, weights[0], 0
        while (inside / total) ** entries < Decimal(confidence):
            w += 1
            inside += 2 * weights[w]
        return w


@pytest.mark.parametrize("entries", [1, 3, 1000])
@pytest.mark.parametrize("confidence", [1e-9, 0.01, 0.5, 0.95, 0.999999, 1 - 1e-12])
def test_half_width_is_the_smallest_that_holds(confidence: float, entries: int) -> None:
    for sigma2 in map(Fraction, ("1/64", "1/3", "1", "10/3", "64", "12345.6")):
        width = DiscreteGaussian(sigma2).half_width(confidence, entries)
        assert width == smallest_width(sigma2, confidence, entries)


@pytest.mark.parametrize("power", [18, 20, 60, 100])
def test_half_width_of_large_noise(power: int) -> None:
    """By the normal law's bounds: never less than by the sum, and hardly more."""
    width = DiscreteGaussian(Fraction(2**power)).half_width(0.95)
    assert width / 2 ** (power / 2) == pytest.approx(1.959964, rel=2e-3)
    if power == 18:
        assert 0 <= width - smallest_width(Fraction(2**power), 0.95, 1) <= 1


# --- the exponential mechanism --------------------------------------------------------------------


def test_weighted_choice_is_exact() -> None:
    for weights in ([1], [3, 0, 2], [0, 0, 7], [1, 2, 3, 4], [0, 1, 0]):
        found, undecided = law(
            lambda bits, weights=weights: samplers.weighted_choice(weights, bits), runs=100
        )
        assert undecided == 0
        total = sum(weights)
        wanted = {i: Fraction(w, total) for i, w in enumerate(weights) if w}
        assert found == wanted


def shares(scores: list[int], rate: Fraction) -> list[float]:
    weights = selection_weights(scores, rate)
    return [weight / sum(weights) for weight in weights]


def test_selection_weights_have_the_law() -> None:
    """Numbers: theory.md B0; permute-and-flip's differ."""
    assert shares([0, 1, 3], Fraction(1)) == pytest.approx([0.04201, 0.11420, 0.84379], abs=5e-6)
    assert shares([7, 7, 7, 7], Fraction(3)) == [0.25] * 4
    assert shares([2**70, 2**70 + 1], Fraction(1)) == pytest.approx([0.26894, 0.73106], abs=5e-6)
    # where weights differ by more than any float holds, ties are ties still
    weights = selection_weights([0, 50, 50, 10**9], Fraction(1))
    assert weights[0] == weights[1] == weights[2] > 10**50
    assert weights[3] == 10**90
    # runs of candidates that tie: as many equal weights, one floor
    runs = selection_weights([0, 3], Fraction(1, 2), counts=[5, 2])
    single = selection_weights([0] * 5 + [3] * 2, Fraction(1, 2))
    assert runs[1] == sum(single[5:])
    assert 0 <= runs[0] - sum(single[:5]) <= 5


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(9, 10), Fraction(1, 2**20), Fraction(60)])
def test_selection_is_private_and_tight(
    monotone: bool, sensitivity: int, epsilon: Fraction
) -> None:
    """All pairs of neighbouring scores of a tiny domain, ties included, by the integer weights.

    The log-ratios of one pair span at most ε: that is pure ε, and ε²/8 in ρ.
    """
    mechanism = Exponential.calibrate(sensitivity, epsilon, monotone)
    assert mechanism.loss(sensitivity, monotone) == epsilon
    assert mechanism.rho(sensitivity, monotone) == epsilon**2 / 8
    changes = (0, sensitivity) if monotone else (-sensitivity, 0, sensitivity)
    worst = 0.0
    for scores in itertools.product(range(4), repeat=3):
        before = selection_weights(scores, mechanism.rate)
        for change in itertools.product(changes, repeat=3):
            after = selection_weights(
                [s + c for s, c in zip(scores, change, strict=True)], mechanism.rate
            )
            with decimal.localcontext(decimal.Context(prec=80)):
                logs = [(Decimal(a) / Decimal(b)).ln() for a, b in zip(after, before, strict=True)]
                whole = (Decimal(sum(after)) / Decimal(sum(before))).ln()
                bound = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
                assert max(logs) - min(logs) <= bound
                assert all(abs(each - whole) <= bound for each in logs)
                worst = max(worst, float((max(logs) - min(logs)) / bound))
    assert worst >= 1 - 1e-11


def test_selection_for_a_rho() -> None:
    mechanism = Exponential.for_rho(3, Fraction(1, 8), monotone=True, rounds=4)
    assert mechanism.rho(3, monotone=True) <= Fraction(1, 8)
    assert mechanism.rho(3, monotone=True) == Fraction(1, 8)  # √(8/32) is 1/2
    awkward = Exponential.for_rho(1, Fraction(1, 10), monotone=False)
    assert Fraction(1, 10) * (1 - Fraction(1, 10**14)) < awkward.rho(1, monotone=False)
    assert awkward.rho(1, monotone=False) <= Fraction(1, 10)
    # cheaper than permute-and-flip, whose pure ε is the same
    assert conversions.rho_of_pure(Fraction(1)) > 3 * conversions.rho_of_selection(Fraction(1))
    assert mechanism.scale * mechanism.rate == 1


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_a_selection_needs_scores_that_can_change(sensitivity: int) -> None:
    with pytest.raises(InternalError):
        Exponential.calibrate(sensitivity, Fraction(1), monotone=True)


def test_peeling_never_selects_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def choose(weights: list[int]) -> int:
        asked.append(len(weights))
        return 1 if len(weights) > 1 else 0

    monkeypatch.setattr(samplers, "weighted_choice", choose)
    assert Exponential(Fraction(1), rounds=3).release([5, 6, 7]) == [1, 2, 0]
    assert asked == [3, 2, 1]


def test_selecting_everything_orders_it() -> None:
    """Gaps so large that the order is certain (odds of e^-80 against)."""
    mechanism = Exponential(Fraction(1), rounds=4)
    assert mechanism.release([10_000, 2**70, 0, 20_000]) == [1, 3, 0, 2]


@pytest.mark.statistical
def test_selection_has_the_law_it_states() -> None:
    """χ², false alarms 1e-7. Permute-and-flip's law is told apart with certainty."""
    stats = pytest.importorskip("scipy.stats")
    n, mechanism = 20_000, Exponential(Fraction(1))
    cells = np.bincount([mechanism.release([0, 1, 3])[0] for _ in range(n)], minlength=3)
    expected = np.exp(np.array([0.0, 1, 3]))
    assert stats.chisquare(cells, n * expected / expected.sum()).pvalue > 1e-7
    other = np.array([0.02377, 0.06654, 0.90968])
    assert stats.chisquare(cells, n * other / other.sum()).pvalue < 1e-7


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gap_holds_exactly(confidence: float, m: int) -> None:
    """P[max - selected score > gap] ≤ 1 - confidence for every vector of scores, by exact sums."""
    mechanism = Exponential(Fraction(1, 3))
    gap = mechanism.gap(confidence, m)
    for scores in itertools.product(range(0, 22, 3), repeat=m):
        law = shares(list(scores), mechanism.rate)
        beyond = sum(p for p, s in zip(law, scores, strict=True) if max(scores) - s > gap)
        assert beyond <= 1 - confidence + 1e-12
    assert gap <= math.log(m / (1 - confidence)) * 3 * (1 + 1e-9) <= gap + 1 + 1e-6
    assert Exponential(Fraction(1, 3), rounds=2).gap(confidence, m) >= gap


def test_no_digit_is_missing_for_rounding() -> None:
    """What 2^-40 of the rate pays for: all roundings of weights, at 2^40 candidates and ε 2^-40."""
    least = 10**90 * math.exp(-selection.DEEPEST - math.ceil(math.log(2**40)))
    assert 4 / least < 2.0**-80 / 10**9
