"""Variances: the integers by hand, answers by fractions, accuracy and coverage."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import integers

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics import Cells, Layout
from dppandas.statistics.moments.means import _half_up
from dppandas.statistics.moments.several import Moments
from dppandas.statistics.moments.variances import Variance


def parts(t: int, whole: int) -> tuple[int, int, int]:
    low, high = (int(_half_up(np.array([x**2]), whole)[0]) for x in (whole - t, t))
    return low, whole - low - high, high


@pytest.mark.parametrize("whole", [1, 2, 3, 4, 5, 7, 10, 31, 64, 1000])
def test_three_parts_of_every_value_add_up_and_none_is_negative(whole: int) -> None:
    for t in range(whole + 1):
        three = parts(t, whole)
        assert sum(three) == whole
        assert min(three) >= 0
        assert abs(three[2] - Fraction(t * t, whole)) <= Fraction(1, 2)
        assert abs(three[0] - Fraction((whole - t) ** 2, whole)) <= Fraction(1, 2)


@given(st.integers(0, 2**30))
def test_three_parts_of_the_largest_grid_add_up(t: int) -> None:
    three = parts(t, 2**30)
    assert sum(three) == 2**30
    assert min(three) >= 0


def test_one_row_moves_the_sums_by_exactly_the_sensitivity() -> None:
    for value in (-7.0, 0.0, 13.5, 60.0, 1e9, math.inf):
        asked = pd.DataFrame({"x": [value]}).dp["x"].var(bounds=(0, 60))
        assert sum(integers(asked, asked._table.engine)) == asked._statistic.l1


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_without_noise_it_is_the_variance_of_pandas(fair: pd.DataFrame, ddof: int) -> None:
    bounds = {"age": (17, 45), "affairs": (0, 60)}
    exact, private = fair[list(bounds)], fair.dp[list(bounds)]
    found = private.var(ddof=ddof, bounds=bounds, epsilon=1)
    pd.testing.assert_series_equal(found, exact.var(ddof=ddof), rtol=1e-6)
    found = private.std(ddof=ddof, bounds=bounds, epsilon=1)
    pd.testing.assert_series_equal(found, exact.std(ddof=ddof), rtol=1e-6)
    keys = [9, 12, 14, 16, 17, 20]
    found = fair.dp.groupby("educ", keys=keys)["age"].std(bounds=(17, 45), epsilon=1)
    exact = fair.groupby("educ")["age"].std()
    pd.testing.assert_series_equal(found, exact, rtol=1e-6, check_index_type=False)
    scalar = fair.dp["age"].var(bounds=(17, 45), epsilon=1)
    assert scalar == pytest.approx(fair["age"].var(), rel=1e-6)


def share(b0: int, b1: int, b2: int) -> Fraction:
    total = b0 + b1 + b2
    return Fraction(4 * b0 * b2 - b1 * b1, 4 * total * total)


def by_fractions(asked: Variance, sums: Sequence[int]) -> float:
    """The answer of sums that aren't all 0 or less."""
    (bounds,), (grid,), kept = asked.bounds, asked.grids, [max(value, 0) for value in sums]
    width = Fraction(bounds.upper) - Fraction(bounds.lower)
    step = Fraction(grid.step) / 2**10
    count = max(Fraction(sum(kept), grid.high or 1), Fraction(asked.ddof + 1))
    found = max(share(*kept), Fraction(0)) * width**2 * count / (count - asked.ddof)
    if asked.root:
        return float(step * math.isqrt(math.floor(found / step**2)))
    square = step * Fraction(2) ** (math.frexp(float(width))[1] if width else 0)
    return float(round(found / square) * square)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_without_noise_it_is_the_standard_error_of_pandas(fair: pd.DataFrame, ddof: int) -> None:
    bounds, keys = {"age": (17, 45), "affairs": (0, 60)}, [9, 12, 14, 16, 17, 20]
    exact, private = fair[list(bounds)], fair.dp[list(bounds)]
    found = private.sem(ddof, bounds=bounds, epsilon=1)
    pd.testing.assert_series_equal(found, exact.sem(ddof=ddof), rtol=1e-6)
    found = fair.dp.groupby("educ", keys=keys)["age"].sem(ddof, bounds=(17, 45), epsilon=1)
    exact = fair.groupby("educ")["age"].sem(ddof=ddof)
    pd.testing.assert_series_equal(found, exact, rtol=1e-6, check_index_type=False)


def test_a_standard_error_is_the_same_release_as_a_deviation(fair: pd.DataFrame) -> None:
    dp.session(epsilon=2)
    age = dp.protect(fair, name="fair")["age"]
    deviation = age.std(bounds=(17, 45), epsilon=1)
    error = age.sem(bounds=(17, 45), epsilon=1)
    assert dp.ledger().spent == 1
    assert error == pytest.approx(deviation / len(fair) ** 0.5, rel=0.01)
    low, high = error.interval()
    assert low <= error <= high


SUMS = st.one_of(st.integers(-3, 6), st.integers(-(2**44), 2**44), st.integers(-(2**90), 2**90))
WIDE = [(0.0, 1.0), (-5.0, 10.0), (0.1, 0.3), (1e9, 1e9 + 1), (-(2.0**499), 2.0**499), (3.0, 3.0),
        (0.0, 2.0**-960), (-1e-300, 1e-290), (17.0, 45.0)]  # fmt: skip


@given(st.lists(SUMS, min_size=3, max_size=3), st.sampled_from(WIDE), st.booleans())
def test_answers_are_those_of_fractions(
    sums: list[int], ends: tuple[float, float], root: bool
) -> None:
    """To the last bit: stored releases are read again by any version."""
    kind = (Cells(), Layout(integer=False), (Column("x"),), (Bounds(*ends),))
    asked = Variance(*kind, root=root)
    if any(value > 0 for value in sums):
        answers = asked.estimate(sums)
        assert answers == asked.estimate([Fraction(value) for value in sums])
        assert answers == [by_fractions(asked, sums)]


@pytest.mark.statistical
def test_variances_beat_two_releases() -> None:
    """1,200 releases: the ratio of root mean squares was measured as 0.217, with a deviation
    of 0.008 (bootstrap), so 0.8 is far beyond."""
    draws = np.random.default_rng(7).beta(2, 8, 400)
    df = pd.DataFrame({"x": draws})
    truth, errors = draws.var(ddof=1), []
    for _ in range(1200):
        errors.append(df.dp["x"].var(bounds=(0, 1), epsilon=1) - truth)
    # two moments and a count with a third of the loss each have 3 times the noise in each
    law, n = DiscreteLaplace.calibrate(1, Fraction(1, 3)), len(draws)
    noise = np.array(law.release([0] * 3600)).reshape(3, -1)
    count, first, second = n + noise[0], draws.sum() + noise[1], (draws**2).sum() + noise[2]
    split = second / count - (first / count) ** 2 - truth
    assert np.sqrt(np.mean(np.square(errors))) < 0.8 * np.sqrt(np.mean(split**2))


@pytest.mark.parametrize("ddof", [-1, True, 1.0, "1", None])
def test_broken_degrees_of_freedom_are_refused(ddof: Any) -> None:
    with pytest.raises(QueryError, match="ddof"):
        pd.DataFrame({"x": [1]}).dp["x"].var(ddof=ddof, bounds=(0, 1), epsilon=1)
    assert dp.ledger()._entries() == []


def test_bounds_too_far_apart_to_square_are_refused() -> None:
    with pytest.raises(QueryError, match="to be squared"):
        pd.DataFrame({"x": [1]}).dp["x"].std(bounds=(0, 2.0**501), epsilon=1)


def test_of_nothing_and_of_one_value_there_is_a_number(exact: None) -> None:
    empty, one = pd.DataFrame({"x": []}), pd.DataFrame({"x": [3.0]})
    assert empty.dp["x"].var(bounds=(0, 4), ddof=0, epsilon=1) == 2  # the middle of 0 and 4
    assert empty.dp["x"].var(bounds=(0, 4), ddof=0, epsilon=1).interval() == (0, 4)
    assert one.dp["x"].var(bounds=(0, 4), epsilon=1) == 0
    assert one.dp["x"].std(bounds=(3, 3), epsilon=1) == 0


@given(
    st.lists(st.integers(-(2**36), 2**36), min_size=3, max_size=3), st.integers(0, 2**36),
    st.sampled_from([Variance, Moments]),
)  # fmt: skip
def test_intervals_hold_their_answers(noisy: list[int], half_width: int, kind: Any) -> None:
    statistic = kind(Cells(), Layout(integer=False), (Column("x"),), (Bounds(-5, 10),))
    answers = statistic.estimate(noisy)
    for answer, (low, high) in zip(
        answers, statistic.errors.intervals(noisy, half_width), strict=True
    ):
        assert low <= answer <= high
