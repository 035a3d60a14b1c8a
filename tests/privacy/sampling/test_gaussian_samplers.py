"""Discrete Gaussian noise is drawn by the exact law, scalar by scalar and vector by vector."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact import Script, assert_brackets, exp, exp_interval, law

from dppandas.privacy.sampling import samplers

TOP = 2**64 - 1


# --- the exact law, by enumeration ----------------------------------------------------------------


def gaussian_pmf(sigma2: Fraction) -> dict[int, Fraction]:
    """P[Z = z] to 2^-300, far enough for the rest to be below 2^-300."""
    reach = math.ceil(math.sqrt(float(sigma2) * 2 * 210)) + 1
    weights = {z: exp(z * z / (2 * sigma2)) for z in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(30)])
def test_scalar_discrete_gaussian_is_exact(sigma2: Fraction, monkeypatch: Any) -> None:
    """With the discrete Laplace proposal and the coin, proven in test_samplers, as one choice each.

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
        return window[bits.choose([(1 - a) / (1 + a) * a ** abs(z) for z in window])]

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
        Fraction(1, 3): (0, 1, -4), Fraction(1): (0, 2, -5), Fraction(10, 7): (0, -3, 9),
        Fraction(10**8, 7): (0, -3800, 9999, 30_000, -40_001),
        Fraction(2**90, 3): (1, 2**44, -(2**47)),
    }.items()
    for z in places
]  # fmt: skip


@pytest.mark.parametrize(("sigma2", "z"), CASES, ids=str)
def test_coins_are_exact_at_the_edge_of_float_certainty(sigma2: Fraction, z: int) -> None:
    t = math.isqrt(math.floor(sigma2)) + 1
    low, high = exp_interval((abs(z) - sigma2 / t) ** 2 / (2 * sigma2))
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
        def words(self, n: int) -> int:
            return n

        def draw(self, n: int, bits: Any) -> Any:
            rounds.append(n)
            return np.array([next(proposals) for _ in range(n)])

    monkeypatch.setattr(samplers, "laplace_tables", lambda scale: Tables())
    monkeypatch.setattr(samplers, "_kept", lambda z, *_: z % 5 == 0)
    values = samplers.discrete_gaussian_vector(Fraction(10), 200)
    assert values.tolist() == [5 * i for i in range(200)]
    assert len(rounds) > 2


def test_every_length_and_size_of_vector() -> None:
    for n in (0, 1, samplers.VECTOR_FROM - 1, samplers.VECTOR_FROM, 1000):
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


@pytest.mark.nightly
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


@pytest.mark.nightly
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
