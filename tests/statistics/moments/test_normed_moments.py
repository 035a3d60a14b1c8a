"""Covariances of rows that are scaled to a norm: every row of small domains, and by hand."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas import stats
from dppandas.statistics import NormedMoments
from dppandas.statistics.moments.covariance_tables import WHOLE
from dppandas.statistics.moments.second_moments import pairs_of


def sums(rows: Any, norm: Any) -> list[int]:
    asked = pd.DataFrame(rows, dtype="float64").dp.cov(norm=norm)
    return [int(each) for each in integers(asked, asked._table.engine)]


def statistic(columns: int, order: str = "l1") -> Any:
    return pd.DataFrame([[0.0] * columns]).dp.cov(norm=(order, 1))._statistic


def by_hand(row: list[float], norm: float, order: str = "l1") -> list[int]:
    """What a row adds, by the formulas of the proof, in Python's integers."""
    step = 2.0 ** (math.ceil(math.log2(norm)) - 32)
    if any(map(math.isnan, row)):
        return [0] * len(pairs_of(len(row)))
    high = round(norm / step)
    t = [round(min(max(each, -norm), norm) / step) for each in row]
    euclid = math.floor(math.sqrt(sum(float(each) ** 2 for each in t))) + 2
    assert (euclid - 1) ** 2 > sum(each * each for each in t)
    most = max(high, sum(map(abs, t)) if order == "l1" else euclid)

    def toward_zero(number: int, by: int) -> int:
        return int(math.copysign(abs(number) // by, number))

    x = [toward_zero(each * WHOLE, most) for each in t]
    found = [WHOLE // 4, *(toward_zero(each, 2) for each in x)]
    for i in range(len(x)):
        found += [x[i] * x[i] // WHOLE]
        for j in range(i + 1, len(x)):
            shorter = toward_zero(x[i] * x[j], 2**15)
            often, of = (2, 1) if order == "l1" else (181, 128)
            found.append(toward_zero(shorter * often, of * 2**15))
    return found


VALUES = [0.0, 0.25, -1 / 3, 0.5, -0.7, 1.0, -1.0, 9.0, -math.inf, math.nan]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("norm", [1, 0.3])
@pytest.mark.parametrize("order", ["l1", "l2"])
def test_every_row_of_a_small_domain_is_within_the_sensitivity(
    columns: int, norm: float, order: str
) -> None:
    """By brute force, after rounding; a row at a corner moves by all of it, in each norm (but for
    ℓ1 of rows within ℓ2, of which one with equal values moves by nearly all)."""
    asked = statistic(columns, order)
    reached = np.zeros(3, dtype=object)
    for row in itertools.product(VALUES, repeat=columns):
        found = sums([row], (order, norm))
        assert found == by_hand(list(row), norm, order)
        assert bool(any(found)) == (not any(map(math.isnan, row))), "a row counts if it is complete"
        seen = sum(map(abs, found)), max(map(abs, found)), sum(each * each for each in found)
        reached = np.maximum(reached, np.array(seen, dtype=object))
    most = [asked.l1, asked.linf, asked.l2_squared_sensitivity(1)]
    assert most[1:] == [WHOLE, WHOLE**2 * 21 // 16]
    assert np.all(reached <= most)
    if order == "l1":
        assert most[0] == WHOLE * 7 // 4
        assert reached.tolist() == most
    else:
        assert np.all(reached > (1 - 2.0**-25) * np.array(most))


@pytest.mark.parametrize("columns", [4, 7, 40, 256])
@pytest.mark.parametrize("order", ["l1", "l2"])
def test_any_row_is_within_the_sensitivity(columns: int, order: str) -> None:
    """Rows in the ball, on its surface, beyond it, and at the largest of what floats hold."""
    random, asked = np.random.default_rng(columns), statistic(columns, order)
    for size in (1e-12, 0.3, 1.0, 1 + 1e-9, 5.0, 1e300):
        for spread in (0.3, 100.0):
            row = random.dirichlet(np.full(columns, spread)) * random.choice([-1, 1], columns)
            row *= size / (1 if order == "l1" else np.linalg.norm(row))
            found = sums([row], (order, 1))
            assert found == by_hand(row.tolist(), 1, order)
            assert sum(map(abs, found)) <= asked.l1
            assert max(map(abs, found)) <= asked.linf
            assert sum(each * each for each in found) <= asked.l2_squared_sensitivity(1)


def test_a_unit_of_several_rows_moves_by_as_many_times_as_much() -> None:
    asked = statistic(2)
    assert asked.l1_sensitivity(3) == 3 * asked.l1
    assert asked.l2_squared_sensitivity(3) == 9 * asked.l2_squared_sensitivity(1)
    assert sums([[1.0, 0.0]] * 3, 1) == [3 * each for each in sums([[1.0, 0.0]], 1)]


def people(rows: int = 3000, size: float = 1.3) -> pd.DataFrame:
    random = np.random.default_rng(5)
    shares = random.dirichlet([2, 1, 1, 3], rows) * random.uniform(0, size, (rows, 1))
    found = pd.DataFrame(shares, columns=list("abcd"))
    found["b"] *= random.choice([-1, 1], rows)
    found.loc[:9, "c"] = math.nan
    return found


def scaled(df: pd.DataFrame, norm: float, order: str = "l1") -> pd.DataFrame:
    held = df.dropna().clip(-norm, norm)
    power = int(order[1])
    sizes = (held.abs() / norm).pow(power).sum(axis=1).pow(1 / power)
    return held.mul((1 / sizes).clip(upper=1).fillna(1), axis=0)


@pytest.mark.parametrize("columns", [1, 2, 4])
@pytest.mark.parametrize("norm", [1, 0.3, 7e5, 2e-90])
@pytest.mark.parametrize(("ddof", "order"), [(0, "l1"), (1, "l1"), (1, "l2")])
def test_without_noise_it_is_what_pandas_says(
    columns: int, norm: float, ddof: int, order: str, exact: None
) -> None:
    df, said = people(size=2)[list("abcd")[:columns]] * norm, {"norm": (order, norm), "epsilon": 1}
    found, wanted = df.dp.cov(ddof, **said), scaled(df, norm, order).cov(ddof=ddof)
    pd.testing.assert_frame_equal(found / norm**2, wanted / norm**2, rtol=0, atol=1e-8)
    ends = dp.record(found).intervals().to_numpy().reshape(-1, 2).T
    flat = wanted.to_numpy().reshape(-1)
    assert (ends[0] <= flat).all()
    assert (flat <= ends[1]).all()
    found = df.dp.corr(**said)
    pd.testing.assert_frame_equal(found, scaled(df / norm, 1, order).corr(), rtol=0, atol=1e-6)


def test_rows_within_the_norm_stay_as_they_are(exact: None) -> None:
    """Whatever the norm is: rounding together exceeds it by less than counts."""
    random = np.random.default_rng(3)
    df = pd.DataFrame(random.dirichlet(np.full(60, 0.2), 50)) * 0.7
    for norm in (0.7, ("l2", 0.7)):
        found = df.dp.cov(norm=norm, epsilon=1)
        np.testing.assert_allclose(found, df.cov(), rtol=0, atol=2.0**-24)


def test_groups_have_their_own_tables(exact: None) -> None:
    df = people().assign(g=["x", "y"] * 1500)
    found = df.dp.groupby("g", keys=["x", "y"])[["a", "b"]].cov(norm=1, epsilon=1)
    for key in ("x", "y"):
        wanted = scaled(df[df["g"] == key][["a", "b"]], 1).cov()
        pd.testing.assert_frame_equal(found.loc[key], wanted, rtol=0, atol=1e-7, check_names=False)


def test_noise_is_that_of_the_norm_and_not_of_the_columns() -> None:
    """7/4 of a row, by rho the root of 21/16, whether there are two columns or ten."""
    df = pd.DataFrame(np.zeros((5, 10)))
    anew(epsilon=10)
    for columns in (2, 10):
        found = dp.record(df.dp[[*range(columns)]].cov(norm=3, epsilon=0.5))
        assert found.scale == pytest.approx(3.5)
    assert "norm 3" in str(found.query)
    anew(rho=10, delta=1e-6)
    for columns in (2, 10):
        for norm in (3, ("l2", 3)):
            found = dp.record(df.dp[[*range(columns)]].cov(norm=norm, rho=0.5))
            assert found._law.sigma2 / WHOLE**2 == pytest.approx(21 / 16)


@pytest.mark.parametrize(
    "norm", [0, -1, True, "1", math.nan, ("l3", 1), ("l2", 0), [1], 2.0**481, 1e-200]
)
def test_what_is_no_norm_is_refused_before_anything(norm: Any) -> None:
    session = anew(epsilon=1)
    for method in ("cov", "corr"):
        refusal(lambda method=method: getattr(people().dp, method)(norm=norm, epsilon=1), "norm")
    assert session.remaining == 1


def test_a_norm_takes_the_place_of_bounds() -> None:
    refusal(lambda: people().dp.cov(norm=1, bounds=(0, 1), epsilon=1), "takes the place of bounds=")
    wide = pd.DataFrame(np.zeros((2, 257)))
    refusal(lambda: wide.dp.cov(norm=1, epsilon=1), "256 columns")
    anew(epsilon=9)
    declared = dp.protect(people(), "people", domain=dict.fromkeys("abcd", (-2, 2)))
    assert isinstance(dp.record(declared.cov(norm=1, epsilon=1))._statistic, NormedMoments)


def test_no_p_value_is_found_of_columns_that_scaling_makes_dependent() -> None:
    anew(epsilon=9)
    table = people().dp[["a", "b"]].corr(norm=1, epsilon=1)
    refusal(lambda: stats.pearsonr(table.loc[["a"], ["b"]]), "depend on each other")


@pytest.mark.nightly
@pytest.mark.statistical
def test_of_many_columns_it_has_less_noise_than_bounds_have() -> None:
    """Five shares of a whole, 2,000 rows, ε = 1: the ratio of root mean squares was measured as
    0.25 with a standard deviation of 0.02 in 40 answers each."""
    anew(epsilon=1000)
    random = np.random.default_rng(2)
    df = pd.DataFrame(random.dirichlet(np.ones(5), 2000))
    off = []
    for said in ({"norm": 1}, {"bounds": (0, 1)}):
        asked = df.dp.cov(**said)  # type: ignore[arg-type]
        answers = [asked.release(epsilon=1, fresh=True).to_numpy() for _ in range(100)]
        off.append(np.sqrt(np.mean([(each - df.cov().to_numpy()) ** 2 for each in answers])))
    assert off[0] < 0.4 * off[1]
