"""Intervals of shares of noisy sums, by exact laws: there is no false alarm."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.privacy.accuracy import ratios
from dppandas.privacy.accuracy.combined import CombinedNoise
from dppandas.privacy.accuracy.ratios import Terms, shares
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within

Floats = npt.NDArray[np.float64]

FINE = DiscreteLaplace(Fraction(2**30))  # of a mean at ε = 1


def laplace(scale: Any) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale))


def gaussian(sigma: int) -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(sigma**2))


def law_of(law: Any, terms: int, reach: int) -> Floats:
    """The law of a sum of noises, from -terms·reach to terms·reach."""
    z = np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        one = np.exp(-np.abs(z) / float(law.scale))
    else:
        one = np.exp(-np.square(z) / (2 * float(law.sigma2)))
    one /= one.sum()
    found = np.ones(1)
    for _ in range(terms):
        found = np.convolve(found, one)
    return found


def tail_of(law: Any, terms: Terms, u: float, least: float, reach: int) -> float:
    """P[|(1-u)·X - u·Y| ≥ least], by all values of both."""
    (x, p), (y, q) = ((np.arange(-n * reach, n * reach + 1), law_of(law, n, reach)) for n in terms)
    total = 0.0
    for block in np.array_split(np.arange(len(x)), 1 + len(x) // 200):
        sizes = np.abs((1 - u) * x[block, None] - u * y)
        total += float(p[block] @ ((sizes >= least) @ q))
    return total


SMALL = [laplace("1/2"), laplace(1), laplace(3), gaussian(1), gaussian(3)]
TERMS = [Terms(1, 1), Terms(1, 4), Terms(2, 1), Terms(2, 3)]


@pytest.mark.parametrize("law", SMALL, ids=str)
@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("risk", [0.05, 0.3])
def test_coverage_is_no_less_than_it_says(law: Any, terms: Terms, risk: float) -> None:
    """For counts and rests, from none on, and all noises that aren't next to impossible."""
    reach = 12 * math.ceil(float(law.scale)) if isinstance(law, DiscreteLaplace) else 15
    p, q = (law_of(law, n, reach) for n in terms)
    x, y = (np.arange(-n * reach, n * reach + 1) for n in terms)
    chance = p[:, None] * q
    kept = chance > 1e-7
    X, Y = (each[kept] for each in np.broadcast_arrays(x[:, None], y))
    for part, rest in [(0, 0), (0, 1), (1, 0), (2, 3), (0, 12), (5, 40)]:
        low, high = shares(part + X, rest + Y, law, risk, terms)
        assert np.all((low >= 0) & (low <= high) & (high <= 1))
        true = part / (part + rest) if part + rest else 0.37
        holds = (low <= true + 1e-9) & (true - 1e-9 <= high)
        missing = 1 - chance[kept].sum()
        assert chance[kept][holds].sum() >= 1 - risk - missing, (part, rest)


WIDE = [
    (laplace(40), Terms(1, 1), 700), (gaussian(40), Terms(1, 2), 320),
    (laplace(260), Terms(1, 2), 2700), (laplace(20), Terms(1, 1), 400),
    (gaussian(9), Terms(2, 2), 90),
]  # fmt: skip


@pytest.mark.parametrize(("law", "terms", "reach"), WIDE, ids=str)
@pytest.mark.parametrize("risk", [0.05, 1e-3])
def test_what_is_beyond_is_next_to_impossible(
    law: Any, terms: Terms, reach: int, risk: float
) -> None:
    """By exact laws, at both ends of a piece and inside; and little more than that is beyond."""
    tail = ratios._tail(law, risk, terms, ratios.POINTS)
    for u in (0.02, 0.5, 1.0):
        low, high = np.array([[u]]), np.array([[min(1.0, u + 0.003)]])
        sizes = np.array([[float(law.scale) * x] for x in np.arange(0.5, 16, 0.02)])
        each = tail.is_beyond(*(np.broadcast_to(end, sizes.shape) for end in (low, high)), sizes)
        first = int(np.argmax(each[:, 0]))
        assert not each[:first].any()
        assert each[first:].all()
        least = float(sizes[first, 0])
        for at in (low[0, 0], (low[0, 0] + high[0, 0]) / 2, high[0, 0]):
            assert tail_of(law, terms, at, least, reach) <= risk
        assert tail_of(law, terms, u, 0.95 * least, reach) > risk


@pytest.mark.parametrize("law", SMALL, ids=str)
def test_values_as_large_as_one_seen_count_as_beyond(law: Any) -> None:
    for u, risk, size in itertools.product((0.0, 0.5, 1.0), (0.3, 0.05), range(1, 20)):
        m = size / 2 if u == 0.5 else size
        at, least = np.full((1, 1), u), np.full((1, 1), float(m) * (1 - 2.0**-40))
        (is_beyond,) = ratios._tail(law, risk, Terms(), 2**10).is_beyond(at, at, least)[0]
        exact = tail_of(law, Terms(), u, m, 60)
        assert is_beyond == (exact <= risk) or abs(exact / risk - 1) < 1e-3


def test_widths_are_those_of_the_exact_law() -> None:
    """At 0 that of one noise, -ln β; at ½ that of two equal ones, where (1 + x)·exp(-2x) is β."""
    for n in (100, 10**4, 10**7):
        for part, known in ((0, -math.log(0.05)), (n // 2, 2.0565694)):
            low, high = shares([part * 2**30], [(n - part) * 2**30], FINE, 0.05)
            assert high[0] - part / n == pytest.approx(known / n, rel=0.03 if n == 100 else 2e-3)
            assert part == 0 or part / n - low[0] == pytest.approx(known / n, rel=2e-3)


def test_what_noises_within_a_width_allow_is_a_box() -> None:
    for part, rest, w in itertools.product((0, 3, 40), (0, 5, 700), (0, 2, 30)):
        (low,), (high,) = shares([part], [rest], Within(w), 0.05)
        least, most = max(part - w, 0), max(rest - w, 0)
        whole = least + rest + w, part + w + most
        assert low <= (least / whole[0] if least else 0.0) + 1e-9
        assert high >= (1.0 if not most or not whole[1] else (part + w) / whole[1]) - 1e-9
        if part > w and rest > w:
            assert low == pytest.approx(least / whole[0], abs=2e-3)
            assert high == pytest.approx((part + w) / whole[1], abs=2e-3)


WHOLE = st.integers(-(2**80), 2**80) | st.integers(-50, 50) | st.just(0)
LAWS = [
    FINE, laplace("1/7"), laplace(10), laplace(10**6), gaussian(1), gaussian(10**9),
    CombinedNoise.of([laplace(3), gaussian(5)], True, 1), Within(7), laplace(0),
]  # fmt: skip


RISKS = [0.5, 0.05, 1e-6, 1e-13]


@given(
    part=WHOLE, rest=WHOLE, law=st.sampled_from(LAWS), risk=st.sampled_from(RISKS),
    terms=st.sampled_from(TERMS),
)  # fmt: skip
def test_any_sums_have_an_interval(
    part: int, rest: int, law: Any, risk: float, terms: Terms
) -> None:
    with np.errstate(all="raise", under="ignore"):
        (low,), (high,) = shares([part], [rest], law, risk, terms)
    assert 0 <= low <= high <= 1
    assert min(part, rest) < 0 or not part + rest or low <= part / (part + rest) <= high
    assert part + rest > 0 or (low, high) == (0, 1)
    if law.half_width(0.95) and 0 < part + rest < 2**40:
        assert low < high


def test_what_is_seen_itself_is_possible_however_wide_a_piece_is() -> None:
    for part, rest, terms in ((310, 10**6, Terms(1, 900)), (10**6, 310, Terms(900, 1))):
        (low,), (high,) = shares([part], [rest], laplace(10), 0.05, terms)
        share = part / (part + rest)
        assert low < share < high
        assert high - low == pytest.approx(2 * 30 / 10**6, rel=0.1)


def test_noise_that_leaves_no_share_shows_what_it_may_hide() -> None:
    """Sums so far below 0 are a miss of the interval; what is shown is as wide as one of 0."""
    for scale in (FINE.scale, 2):
        law, b = laplace(scale), int(scale)
        (low,), (high,) = shares([-20 * b], [220 * b], law, 0.05)
        assert (low, high) == (0, pytest.approx(3.7 / 200, rel=0.2))
        (low,), (high,) = shares([220 * b], [-20 * b], law, 0.05)
        assert (1 - low, high) == (pytest.approx(3.7 / 200, rel=0.2), 1)
        assert shares([-20 * b], [-20 * b], law, 0.05) == (0, 1)


def test_many_shares_at_once_are_those_one_by_one() -> None:
    """Up to the distance to which ends are found; laws on fewer points are a little wider."""
    rng = np.random.default_rng(1)
    part, rest = rng.integers(-5, 300, (2, 400))
    for law, terms in (
        (laplace(40), Terms()),
        (laplace(2), Terms(1, 5)),
        (gaussian(3), Terms(1, 2)),
    ):
        together = np.array(shares(part, rest, law, 0.01, terms))
        alone = np.hstack(
            [shares([p], [r], law, 0.01, terms) for p, r in zip(part, rest, strict=True)]
        )
        assert np.abs(together - alone).max() < 0.02
