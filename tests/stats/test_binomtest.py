"""The binomial test of released shares and counts."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from scipy import stats

import dppandas as dp
from dppandas.errors import QueryError, RecordError

SIDES = ("two-sided", "less", "greater")


def coins(heads: int = 60, tails: int = 40) -> pd.DataFrame:
    rows = heads + tails
    return pd.DataFrame({"heads": [True] * heads + [False] * tails, "who": np.arange(rows) // 2})


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5)
    return dp.protect(coins(), name="coins", domain={"who": (0, 99)})


@pytest.mark.parametrize("alternative", SIDES)
def test_without_noise_all_is_as_in_scipy(exact: None, p: Any, alternative: str) -> None:
    expected = stats.binomtest(60, 100, 0.5, alternative)
    counts = p["heads"].value_counts(epsilon=64)  # whose noise is nil, but once in 10^27
    share = dp.derive(lambda c: c.loc[True] / c.sum(), counts)
    found = dp.stats.binomtest(share, alternative=alternative)
    assert found.exact
    assert (found.k, found.n, found.statistic) == (60, 100, 0.6)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=2e-8, abs=1e-9)
    if alternative == "greater":
        count = p.query("heads").count(epsilon=64)
        one = dp.stats.binomtest(count, 100, alternative=alternative)
        assert one.pvalue == pytest.approx(expected.pvalue, abs=1e-9)
        low, high = found.proportion_ci()
        assert (low, high) == pytest.approx(tuple(expected.proportion_ci()), abs=1e-6)


def test_it_is_exact_and_says_so(p: Any) -> None:
    heads = p["heads"].mean(epsilon=1)
    spent = dp.ledger().spent
    found = dp.stats.binomtest(heads, p=0.5)
    assert dp.ledger().spent == spent
    assert "(exact)" in repr(found)
    assert "whatever number of units" in found.null
    again = pickle.loads(pickle.dumps(found))
    assert (repr(again), again.proportion_ci(0.5)) == (repr(found), found.proportion_ci(0.5))
    low, high = found.confidence_interval(0.95)
    for inside in (low + 1e-3, high - 1e-3):
        assert dp.stats.binomtest(heads, p=inside).pvalue > 0.05
    for outside in (low - 1e-3, high + 1e-3):
        assert dp.stats.binomtest(heads, p=outside).pvalue <= 0.05


def test_one_sided_intervals_are_towards_the_alternative(p: Any) -> None:
    heads = p["heads"].mean(epsilon=1)
    assert dp.stats.binomtest(heads, alternative="greater").proportion_ci().high == 1
    assert dp.stats.binomtest(heads, alternative="less").proportion_ci().low == 0


def test_shares_of_counts_and_of_keys_are_shares(p: Any) -> None:
    counts = p["heads"].value_counts(epsilon=1)
    part = dp.derive(lambda c: c.loc[True] / c.sum(), counts)
    found = dp.stats.binomtest(part)
    assert found.n == float(counts.sum())
    assert found.exact
    normal = p["heads"].value_counts(normalize=True, epsilon=2)
    assert dp.stats.binomtest(normal[[label is True for label in normal.index]]).exact


def test_a_public_size_has_a_p_value_of_its_own(p: Any) -> None:
    count = p.query("heads").count(epsilon=1)
    found = dp.stats.binomtest(count, 100, public_size=True)
    assert found.exact
    assert dp.stats.binomtest(count, 100, public_size=True).pvalue == found.pvalue
    same = pickle.loads(pickle.dumps(count))
    assert dp.stats.binomtest(same, 100, public_size=True).pvalue == found.pvalue
    assert abs(found.k - count) < 0.5
    assert found.k != count
    low, high = found.confidence_interval()
    assert low < found.statistic < high


def test_without_a_random_id_the_uniform_number_is_not_said_to_be_random(p: Any) -> None:
    count = p.query("heads").count(epsilon=1)
    object.__setattr__(dp.record(count), "_seed", "")
    found = dp.stats.binomtest(count, 100, public_size=True)
    assert not found.exact
    assert found.pvalue == dp.stats.binomtest(count, 100, public_size=True).pvalue
    assert dp.stats.binomtest(count, 100, alternative="greater").exact  # needs no draw


def test_what_nobody_knows_is_refused(p: Any) -> None:
    heads, count = p["heads"].mean(epsilon=1), p.query("heads").count(epsilon=1)
    rows, mean = p.count(epsilon=1), p["who"].mean(epsilon=1)
    owned = dp.protect(coins(), name="owned", unit="who", max_rows=2)
    several = owned.query("heads").count(epsilon=1)
    both = dp.combine(p.count(epsilon=3), p.count(epsilon=2))
    test = dp.stats.binomtest
    for ask, said, error in (
        (lambda: test(count, 100), 'alternative="greater"', QueryError),
        (lambda: test(count, rows), "n=", QueryError),
        (lambda: test(count), "says nothing", QueryError),
        (lambda: test(heads, 100, public_size=True), "takes a count", QueryError),
        (lambda: test(heads, public_size=True), "needs n=", QueryError),
        (lambda: test(heads, public_size=1), "True or False", QueryError),
        (lambda: test(heads, p=1.5), "p=1.5", QueryError),
        (lambda: test(mean), "shares of units", QueryError),
        (lambda: test(several, 100, public_size=True), "per_unit", QueryError),
        (lambda: test(both, 100, public_size=True), "as it was released", QueryError),
        (lambda: test(count, 0, public_size=True), "n=0", QueryError),
        (lambda: test(60, 100, public_size=True), "int without", RecordError),
        (lambda: test(p["who"], epsilon=1), "shares of units", QueryError),
        (lambda: test(owned["heads"], epsilon=1), "per_unit", QueryError),
        (lambda: test(p["heads"], 100, public_size=True, epsilon=1), "release the", QueryError),
        (lambda: test(p[["heads", "who"]], epsilon=1), "one proportion", QueryError),
    ):  # fmt: skip
        refusal(ask, said, error)
