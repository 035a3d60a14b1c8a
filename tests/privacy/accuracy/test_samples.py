"""Shares of a population: coverage by exact laws, and the bounds that it rests on."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dppandas.privacy.accuracy import samples, student
from dppandas.privacy.accuracy.ratios import PAIR, Terms
from dppandas.privacy.accuracy.samples import ASIDE, Pivot
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

RISK = 0.05


def noise_of(law: Any) -> Any:
    """The probabilities of all numbers that matter, from the least to the largest."""
    reach = math.ceil(13 * float(law.scale)) + 2
    z = np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        chances = np.exp(-np.abs(z) / float(law.scale))
    else:
        chances = np.exp(-z * z / (2 * float(law.sigma2)))
    return chances / chances.sum()


def released(n: int, p: float, law: Any, size: int | None) -> dict[tuple[int, int], float]:
    """The probability of each pair of noisy counts of a sample's part and rest."""
    x, z = np.arange(n + 1), noise_of(law)
    reach, wide = len(z) // 2, n + len(z)
    kind = stats.binom(n, p) if size is None else stats.hypergeom(size, round(p * size), n)
    table = np.zeros((wide, wide))
    for k, chance in zip(x, kind.pmf(x), strict=True):
        table[k : k + len(z), n - k : n - k + len(z)] += chance * np.outer(z, z)
    places = zip(*np.nonzero(table > 1e-10), strict=True)
    return {(int(i) - reach, int(j) - reach): float(table[i, j]) for i, j in places}


def is_missed(n: int, p: float, part: int, rest: int, law: Any, size: int | None) -> bool:
    """Whether the interval for these counts may fail: it holds all that this doesn't exclude."""
    fewest, most = samples.units(part + rest, law, ASIDE * RISK, 2, 1, size)
    if not fewest:
        return False
    own = RISK * (1 - 2 * ASIDE)
    pivot = Pivot(part, rest, (fewest, most), law, PAIR, size, 1, own)
    return not fewest <= n <= most or pivot.is_excluded(p, p)


SETTINGS = [
    (20, 0.1, DiscreteLaplace(Fraction(1)), None), (20, 0.5, DiscreteLaplace(Fraction(1, 4)), None),
    (50, 0.05, DiscreteLaplace(Fraction(1)), None), (30, 0.3, DiscreteLaplace(Fraction(3)), None),
    (30, 0.3, DiscreteGaussian(Fraction(2)), None), (30, 0.3, DiscreteLaplace(Fraction(1)), 60),
    (100, 0.02, DiscreteLaplace(Fraction(1)), None), (12, 0.25, DiscreteLaplace(Fraction(1)), 16),
    (1, 0.5, DiscreteLaplace(Fraction(1, 2)), None),
]  # fmt: skip


@pytest.mark.parametrize(("n", "p", "law", "size"), SETTINGS)
def test_shares_hold_as_often_as_said_by_the_exact_law(
    n: int, p: float, law: Any, size: int | None
) -> None:
    """And not much more often: what is counted is the pivot alone, for the true share."""
    table = released(n, p, law, size)
    missed = sum(
        chance for (part, rest), chance in table.items() if is_missed(n, p, part, rest, law, size)
    )
    assert missed <= RISK + 1e-6
    assert n < 20 or missed >= RISK / 5


@pytest.mark.parametrize("p", np.linspace(0.02, 0.98, 25).tolist())
def test_shares_hold_for_any_population(p: float) -> None:
    law = DiscreteLaplace(Fraction(1))
    table = released(15, p, law, None)
    missed = sum(
        chance for (part, rest), chance in table.items() if is_missed(15, p, part, rest, law, None)
    )
    assert missed <= RISK + 1e-6


@pytest.mark.parametrize("law", [
    DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(6)), DiscreteGaussian(Fraction(30)),
])  # fmt: skip
@pytest.mark.parametrize("size", [None, 400])
def test_probabilities_are_bounded_for_all_shares_and_units(law: Any, size: int | None) -> None:
    """A piece of shares and a set of units: no exact probability is above the bound, and the
    largest is near it."""
    pivot = Pivot(30, 70, (60, 140), law, PAIR, size, 1, RISK)
    low, high = 0.405, 0.41
    for least in (4.0, 9.5, 12.0, 20.0):
        bound = pivot._most(low, high, least, pivot._tail((low + high) / 2, (high - low) / 2))
        top = max(
            beyond(n, p, law, least, size) for n in (60, 90, 140) for p in (low, 0.4075, high)
        )
        # what is larger than is allowed may be told when it is found
        assert min(top, pivot.allowed) <= bound + 1e-9
        if bound <= pivot.allowed:
            assert bound <= 2 * top + RISK / 200


def beyond(n: int, p: float, law: Any, least: float, size: int | None) -> float:
    """P[|X - np + (1-p)·Z₊ - p·Z₋| ≥ least]."""
    x, z = np.arange(n + 1), noise_of(law)
    of_kind = stats.binom(n, p) if size is None else stats.hypergeom(size, round(p * size), n)
    centre = n * p if size is None else n * round(p * size) / size
    places = np.arange(len(z)) - len(z) // 2
    share = p if size is None else round(p * size) / size
    noise = np.add.outer((1 - share) * places, -share * places).reshape(-1)
    chances = np.multiply.outer(z, z).reshape(-1)
    order = np.argsort(noise)
    noise, above = noise[order], np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)
    up = above[np.searchsorted(noise, least - (x - centre) + 1e-9, "left")]
    down = above[np.searchsorted(noise, least + (x - centre) + 1e-9, "left")]
    return float(of_kind.pmf(x) @ (up + down))


@pytest.mark.parametrize(("epsilon", "most"), [(4, 1.08), (1, 1.13), (Fraction(1, 5), 1.2)])
@pytest.mark.parametrize(("n", "p"), [(400, 0.1), (1000, 0.3), (20_000, 0.5)])
def test_shares_are_about_as_wide_as_noise_and_sample_are(
    epsilon: Any, most: float, n: int, p: float
) -> None:
    law = DiscreteLaplace(1 / Fraction(epsilon))
    part = round(n * p)
    low, high, _ = samples.share(part, n - part, law, RISK)
    noise = 2 / float(epsilon) ** 2 * ((1 - p) ** 2 + p**2)
    deviation = math.sqrt(p * (1 - p) / n + noise / n**2)
    assert low < p < high
    assert 0.97 < (high - low) / 2 / (1.96 * deviation) < most


def test_noise_on_a_fine_grid_is_that_of_units() -> None:
    """Columns of True and False are summed in many steps a unit."""
    row = 2**30
    fine, plain = DiscreteLaplace(Fraction(5 * row)), DiscreteLaplace(Fraction(5))
    one = samples.share(300 * row, 700 * row, fine, RISK, row=row)
    other = samples.share(300, 700, plain, RISK)
    assert one == pytest.approx(other, abs=1e-3)


def test_sums_of_several_noises_widen_a_share() -> None:
    law = DiscreteLaplace(Fraction(4))
    low, high, _ = samples.share(30, 120, law, RISK)
    least, most, _ = samples.share(30, 120, law, RISK, Terms(1, 5))
    assert least < low < high < most


def test_all_of_a_population_leaves_the_noise() -> None:
    """All rows of a population of 1,000 were read: nothing is left to chance but the noise."""
    law = DiscreteLaplace(Fraction(1, 20))
    low, high, _ = samples.share(300, 700, law, RISK, size=1000)
    assert low <= 0.3 <= high
    assert high - low < 0.003
    wide = samples.share(300, 700, law, RISK, size=10**6)
    assert wide == pytest.approx(samples.share(300, 700, law, RISK), abs=1e-3)


def test_of_no_units_nothing_follows() -> None:
    law = DiscreteLaplace(Fraction(1))
    assert samples.share(0, 0, law, RISK)[:2] == (0.0, 1.0)
    assert samples.share(-3, 1, law, RISK)[:2] == (0.0, 1.0)


def test_too_many_numbers_of_units_are_bounded_apart() -> None:
    """Where not all are looked at, the two errors have half of the risk each, and more width."""
    law = DiscreteLaplace(Fraction(2000))
    low, high, _ = samples.share(300_000, 700_000, law, RISK)
    assert 0.28 < low < 0.3 < high < 0.32


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100),
    st.integers(0, 400), st.integers(0, 300), st.sampled_from([0.1, 0.05, 1e-4]),
)  # fmt: skip
def test_binomial_ranks_enclose_the_number_for_all_units(
    share: Fraction, fewest: int, more: int, risk: float
) -> None:
    low, high = samples.binomial_distances(share, fewest, fewest + more, risk)
    for n in {fewest, fewest + more // 2, fewest + more}:
        below = math.floor((share * n) - Fraction(low, share.denominator))  # l(n) - 1
        above = math.ceil((share * n) + Fraction(high, share.denominator))  # u(n)
        assert stats.binom.cdf(below, n, float(share)) <= risk / 2 + 1e-12
        assert stats.binom.sf(above - 1, n, float(share)) <= risk / 2 + 1e-12


def test_binomial_ranks_are_the_nearest() -> None:
    for n, q in ((50, Fraction(1, 2)), (1000, Fraction(1, 10)), (7, Fraction(9, 10))):
        low, high = samples._ranks(n, q, 0.05)
        assert stats.binom.cdf(low - 1, n, float(q)) <= 0.025 < stats.binom.cdf(low, n, float(q))
        assert stats.binom.sf(high - 1, n, float(q)) <= 0.025
        assert stats.binom.sf(high - 2, n, float(q)) > 0.025


@pytest.mark.parametrize("freedom", [0.5, 1, 2, 3.7, 30, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("risk", [0.5, 0.05, 1e-6])
def test_students_t_is_that_of_scipy(freedom: float, risk: float) -> None:
    found = student.quantile(risk, freedom)
    assert found == pytest.approx(stats.t.isf(risk / 2, freedom), rel=1e-6)
    assert 2 * student.tail(found, freedom) == pytest.approx(risk, rel=1e-6)
    assert student.tail(-found, freedom) == pytest.approx(1 - risk / 2, rel=1e-6)


@pytest.mark.parametrize("above", [1, 2, 7.5, 400])
@pytest.mark.parametrize("below", [1, 3.7, 300, 1e6])
@pytest.mark.parametrize("risk", [0.9, 0.05, 1e-9])
def test_fishers_f_is_that_of_scipy(above: float, below: float, risk: float) -> None:
    f = stats.f.isf(risk, above, below)
    assert student.f_tail(f, above, below) == pytest.approx(risk, rel=1e-7)
    assert student.f_tail(0, above, below) == 1


def test_t_without_freedom_is_infinite() -> None:
    assert student.quantile(0.05, 0) == student.quantile(0.0, 5) == math.inf
