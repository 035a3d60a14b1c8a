"""Numbers of values, means and variances of three noisy sums."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dppandas.privacy.accuracy import weighted_tails
from dppandas.privacy.accuracy.combined import CombinedNoise
from dppandas.privacy.accuracy.three_sums import ThreeSums
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within

Floats = npt.NDArray[np.float64]

T = 2**30
LAPLACE = DiscreteLaplace(Fraction(T))
GAUSSIAN = DiscreteGaussian(Fraction(T) ** 2)
RNG = np.random.default_rng(3)


def masses(x: Floats, whole: int = T) -> list[int]:
    """What values in [0, 1] add to the sums at 0, ½ and 1."""
    t = np.rint(np.asarray(x) * whole)
    last, first = int(np.rint(t * t / whole).sum()), int(t.sum())
    return [len(t) * whole - 2 * first + last, 2 * (first - last), last]


def noises(law: Any, draws: int) -> npt.NDArray[np.int64]:
    """Of a test: nothing seeds the sampler of releases."""
    if isinstance(law, DiscreteGaussian):
        return np.rint(RNG.normal(0, T, (3, draws))).astype(np.int64)
    stop = 1 - math.exp(-1 / T)
    return RNG.geometric(stop, (3, draws)) - RNG.geometric(stop, (3, draws))


def inside(ends: tuple[Floats, Floats], true: float) -> npt.NDArray[np.bool_]:
    return np.asarray((ends[0] <= true + 1e-9) & (true - 1e-9 <= ends[1]))


SHAPES = {
    "skewed": lambda n: RNG.beta(2, 8, n), "even": lambda n: RNG.random(n),
    "two values": lambda n: (RNG.random(n) < 0.3) * 1.0, "all alike": lambda n: np.full(n, 0.9),
}  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_hold_and_are_hardly_wider_than_they_must(law: Any, shape: str) -> None:
    """Of 4,000 draws each of four intervals holds in no fewer than 3,733 (false alarms: 1e-6 for
    each, as 3,800 are expected at least); where values are many, its half width is at most 1.25
    times 1.96 root mean squares, but for a variance that is next to none, or the largest."""
    for n in (2, 12, 60, 2000):
        x = SHAPES[shape](n)
        drawn = np.array(masses(x))[:, None] + noises(law, 4000)
        sums = ThreeSums(tuple(drawn), [T] * 4000, law)
        whole = drawn.sum(axis=0).astype(float)
        p = (drawn[1] / 2 + drawn[2]) / whole
        s = (drawn[2] / whole - p * p) * whole / (whole - T)
        found = {
            "rows": (sums.rows(0.05), n, whole / T),
            "mean": (sums.means(0.05), x.mean(), p),
            "variance": (sums.variances(0.05, 1), x.var(ddof=1), s),
            "of the mean": (sums.variances_of_means(0.05, 1), x.var(ddof=1) / n, s / whole * T),
        }
        for what, (ends, true, told) in found.items():
            assert inside(ends, true).sum() >= 3733, (n, what)
            if n == 2000 and shape in ("skewed", "even"):
                width = np.median(ends[1] - ends[0]) / 2
                assert width < 1.25 * 1.96 * math.sqrt(np.mean((told - true) ** 2)), what


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=9), st.integers(1, 40),
    st.integers(0, 20).map(lambda width: width * 2**9),
    st.tuples(*[st.sampled_from([-1, 0, 1])] * 3), st.integers(0, 2),
)  # fmt: skip
@example([0, 8], 5, 1024, (-1, -1, -1), 1)
def test_noises_within_a_width_hide_nothing_true(
    values: list[int], times: int, most: int, signs: tuple[int, ...], ddof: int
) -> None:
    """No false alarms, and nothing of the laws: what is 0 for the exact sums, and the search."""
    x, row = np.tile(values, times) / 8, 2**12
    drawn = [[b + most * sign] for b, sign in zip(masses(x, row), signs, strict=True)]
    sums = ThreeSums((drawn[0], drawn[1], drawn[2]), [row], Within(most))
    _, middle, high = masses(x, row)
    assert inside(sums.rows(0.05), len(x)).all()
    mean = (middle / 2 + high) / (row * len(x))
    assert inside(sums.means(0.05), mean).all()
    if len(x) > ddof:
        s = max(high / (row * len(x)) - mean**2, 0) * len(x) / (len(x) - ddof)
        assert inside(sums.variances(0.05, ddof), s).all()
        assert inside(sums.variances_of_means(0.05, ddof), s / len(x)).all()


WHOLE = st.integers(-(2**80), 2**80) | st.integers(-50, 50) | st.just(0)
LAWS = [
    LAPLACE, GAUSSIAN, DiscreteLaplace(Fraction(1, 3)), DiscreteLaplace(Fraction(0)), Within(9),
    CombinedNoise.of([LAPLACE, GAUSSIAN], False, 1),
]  # fmt: skip


@given(
    st.tuples(WHOLE, WHOLE, WHOLE), st.sampled_from(LAWS), st.sampled_from([0.5, 0.05, 1e-12]),
    st.sampled_from([0, 1, 1000]), st.sampled_from([0, 1, T]),
)  # fmt: skip
def test_any_sums_have_intervals(
    drawn: tuple[int, int, int], law: Any, risk: float, ddof: int, steps: int
) -> None:
    with np.errstate(all="raise", under="ignore"):
        sums = ThreeSums(([drawn[0]], [drawn[1]], [drawn[2]]), [steps], law)
        rows, means = sums.rows(risk), sums.means(risk)
        found, of_means = sums.variances(risk, ddof), sums.variances_of_means(risk, ddof)
    assert 0 <= rows[0] <= rows[1]
    assert 0 <= means[0] <= means[1] <= 1
    assert 0 <= found[0] <= found[1] <= 0.25 * (ddof + 1)
    assert 0 <= of_means[0] <= of_means[1] <= 0.25


def test_rounded_squares_hide_no_variance() -> None:
    """Values that are all alike, whose square lies between two steps: n rows are off by n/2."""
    t = next(t for t in range(10**6, 10**7) if abs(t * t % T / T - 0.501) < 1e-4)
    n = 10**9
    drawn = [(T - 2 * t) * n, 2 * t * n, 0]
    square = t * t // T + 1
    drawn = [drawn[0] + square * n, drawn[1] - 2 * square * n, square * n]
    sums = ThreeSums(([drawn[0]], [drawn[1]], [drawn[2]]), [T], DiscreteLaplace(Fraction(T, 64)))
    assert inside(sums.variances(0.05, 0), 0.0).all()
    assert sums.variances(0.05, 0)[0] == 0


def test_noise_that_leaves_no_variance_shows_what_it_may_hide() -> None:
    for drawn in ([200 * T, -3 * T, -40 * T], [100 * T, -90 * T, 100 * T]):
        sums = ThreeSums(([drawn[0]], [drawn[1]], [drawn[2]]), [T], LAPLACE)
        (low,), (high,) = sums.variances(0.05, 0)
        assert 0.01 < high - low < 0.2


# --- tails ----------------------------------------------------------------------------------------

WEIGHTS = [
    (1.0, 0.5, 0.25),
    (0.3, 0.3, 0.3),
    (1.0, 1e-9, 0.0),
    (0.17, 0.33, 0.17),
    (1.0, 0.999, 0.2),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("risk", [0.3, 0.05, 1e-4])
def test_tails_of_three_noises_are_those_of_their_law(
    weights: tuple[float, ...], risk: float
) -> None:
    """By an integral of the characteristic function: no less, and hardly more."""
    tail = weighted_tails.tail_of(LAPLACE, risk, (1, 1, 1))
    each = [np.full(1, weight) for weight in weights]
    sizes = np.linspace(0, 16, 4001)
    told = np.array([tail.is_beyond(each, np.array([size * T]))[0] for size in sizes])
    first = int(np.argmax(told))
    assert told[first:].all()
    assert not told[:first].any()
    t = (np.arange(400_000) + 0.5) * 0.01
    law = np.prod([1 / (1 + (weight * t) ** 2) for weight in weights], axis=0)

    def beyond(x: float) -> float:  # 1 - (2/π)·∫ sin(tx)/t·φ(t) dt
        return 1 - 2 / math.pi * float(np.sum(np.sin(t * x) / t * law)) * 0.01

    assert beyond(sizes[first]) <= risk * (1 + 1e-3)
    assert beyond(0.98 * sizes[first] - 0.01) > risk


BOTH = CombinedNoise.of([LAPLACE, GAUSSIAN, DiscreteLaplace(Fraction(3 * T))], True, 1)


@pytest.mark.parametrize("law", [LAPLACE, BOTH], ids=["Laplace", "combined"])
@pytest.mark.parametrize(("weights", "terms"), [
    ((0.25, 0.25, 0.25, 0.25), (1, 1, 1, 1)), ((1.0, 0.5, 0.2, 0.1, 0.0), (1, 1, 1, 1, 1)),
    ((0.2,) * 9, (16,) * 9), ((1.0, 0.3), (2, 5)), (tuple(range(1, 10)), (1,) * 9),
])  # fmt: skip
@pytest.mark.parametrize("risk", [0.3, 0.05, 1e-4, 1e-6])
def test_tails_of_many_noises_are_those_of_their_law(
    law: Any, weights: tuple[float, ...], terms: tuple[int, ...], risk: float
) -> None:
    """By an integral of the characteristic function: no less, and hardly more."""
    tail = weighted_tails.tail_of(law, risk, terms)
    assert isinstance(tail, weighted_tails.Summed)
    parts = law.parts if isinstance(law, CombinedNoise) else [(law, 1.0)]
    t = (np.arange(400_000) + 0.5) * 0.01 / max(weights)
    log = np.zeros(len(t))
    for n, weight in zip(terms, weights, strict=True):
        for each, share in parts:
            square = (weight * share * t) ** 2
            if isinstance(each, DiscreteGaussian):
                log -= n * square * float(each.sigma2) / T**2 / 2
            else:
                log -= n * np.log1p(square * (float(each.scale) / T) ** 2)
    law_of_sum = np.exp(log)

    def beyond(x: float) -> float:
        return 1 - 2 / math.pi * float(np.sum(np.sin(t * x) / t * law_of_sum)) * (t[1] - t[0])

    low, high = 0.0, 100.0 * sum(weights)
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > risk else (low, middle)
    each = [np.full((1, 1), weight) for weight in weights]
    sizes = high * np.linspace(0.9, 1.1, 81)
    told = tail.is_beyond(each, sizes[None] * T)[0]
    assert not told[sizes < high * (1 - 2e-4)].any()
    assert told[sizes > high * 1.006].all()
    reached = weighted_tails.reach(tail, [np.full(1, weight) for weight in weights], sizes[-1:] * T)
    assert high * (1 - 2e-4) < reached[0] / T < high * 1.02


@pytest.mark.parametrize("terms", [1, 100, 10_000, 1_000_000])
@pytest.mark.parametrize("law", [LAPLACE, BOTH], ids=["Laplace", "combined"])
def test_tails_of_very_many_noises_are_those_of_a_normal_law(law: Any, terms: int) -> None:
    """Without a warning, and to a hundredth from 10,000 on."""
    with np.errstate(all="raise", under="ignore"):
        tail, one = weighted_tails.tail_of(law, 0.05, (terms,)), np.ones(1)
        wide = np.array([weighted_tails.half_width(law, 0.05, terms)])
        found = weighted_tails.reach(tail, [one], wide)[0]
        assert not tail.is_beyond([one], np.zeros(1))[0]
        assert tail.is_beyond([one], np.full(1, 1e30))[0]
    if terms >= 10_000:
        parts = law.parts if isinstance(law, CombinedNoise) else [(law, 1.0)]
        squares = [
            w
            * w
            * (float(e.sigma2) if isinstance(e, DiscreteGaussian) else 2 * float(e.scale) ** 2)
            for e, w in parts
        ]
        assert 0.99 < found / (1.959964 * math.sqrt(terms * sum(squares))) < 1.03


@pytest.mark.statistical
def test_sums_of_several_noises_hold_as_sums_of_one() -> None:
    """Of 4,000 draws each of three intervals holds in no fewer than 3,733 (false alarms: 1e-6)."""
    x = SHAPES["skewed"](500)
    drawn = np.array(masses(x))[:, None] + sum(noises(LAPLACE, 4000) for _ in range(4))
    sums = ThreeSums(tuple(drawn), [T] * 4000, LAPLACE, terms=4)
    found = sums.rows(0.05), sums.means(0.05), sums.variances(0.05, 1)
    for ends, true in zip(found, (500, x.mean(), x.var(ddof=1)), strict=True):
        assert 3733 <= inside(ends, true).sum() < 3950
