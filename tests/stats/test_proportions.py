"""Tests and intervals of proportions."""

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from scipy import stats
from statsmodels.stats import proportion

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.findings.quantities import Quantity
from dppandas.privacy.accuracy import nearly_normal
from dppandas.privacy.accuracy.ratios import Terms
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.statistics.samples import SampleShare
from dppandas.stats.proportions import Proportion, compared, p_value

#: As statsmodels and scipy name them.
SIDES = {"two-sided": "two-sided", "smaller": "less", "larger": "greater"}
DOMAIN: dict[str, Any] = {"arm": ["A", "B", "C"], "who": (0, 9999)}


def shop(rows: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    arm = np.array(["A", "B", "C"])[np.arange(rows) % 3]
    bought = rng.random(rows) < 0.2 + 0.06 * (arm == "B")
    return pd.DataFrame({"arm": arm, "bought": bought, "late": rng.random(rows) < 0.3,
                         "who": np.arange(rows) // 2})  # fmt: skip


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5)
    return dp.protect(shop(), name="shop", domain=DOMAIN)


@pytest.fixture
def nil(exact: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, and none counted."""
    monkeypatch.setattr(nearly_normal, "variance", lambda law: 0.0)


# --- proportions_ztest ----------------------------------------------------------------------------


@pytest.mark.parametrize("alternative", SIDES)
def test_without_noise_z_is_as_in_statsmodels(nil: None, p: Any, alternative: str) -> None:
    frame = shop()
    rates = p.groupby("arm")["bought"].mean(epsilon=64)
    table = frame.groupby("arm")["bought"].agg(["sum", "count"]).loc[["B", "A"]]
    for value, varies in ((None, False), (0.02, 0.25), (None, 0.3)):
        found = dp.stats.proportions_ztest(
            rates.loc[["B", "A"]], value=value, alternative=alternative, prop_var=varies
        )
        expected = proportion.proportions_ztest(
            table["sum"], table["count"], value, alternative, varies
        )
        assert tuple(found) == pytest.approx(expected, abs=1e-9)
        assert found.alternative == SIDES[alternative]
    one = dp.stats.proportions_ztest(rates.loc[["C"]], value=0.25, alternative=alternative)
    told = frame["bought"][frame["arm"] == "C"]
    expected = proportion.proportions_ztest(told.sum(), len(told), 0.25, alternative)
    assert tuple(one) == pytest.approx(expected, abs=1e-9)


def test_proportions_that_differ_under_the_null_are_not_pooled(nil: None, p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=64)
    table = shop().groupby("arm")["bought"].agg(["mean", "count"]).loc[["B", "A"]]
    variance = (table["mean"] * (1 - table["mean"]) / table["count"]).sum()
    found = dp.stats.proportions_ztest(rates.loc[["B", "A"]], value=0.3)
    difference = table["mean"].iloc[0] - table["mean"].iloc[1]
    assert found.statistic == pytest.approx((difference - 0.3) / math.sqrt(variance), abs=1e-6)


def test_shares_that_were_derived_from_one_release_have_the_same_units(p: Any) -> None:
    counts = p["arm"].value_counts(epsilon=4)
    shares = dp.derive(lambda c: c / c.sum(), counts).loc[["A", "B"]]
    normal = p["arm"].value_counts(normalize=True, epsilon=4).loc[["A", "B"]]
    derived = dp.stats.proportions_ztest(dp.derive(lambda c: (c / c.sum()).loc[["A", "B"]], counts))
    wide = np.ptp(dp.stats.proportions_ztest(normal).confidence_interval())
    assert np.ptp(derived.confidence_interval()) == pytest.approx(wide, rel=0.1)
    assert len(shares) == 2


def test_counts_and_their_numbers_of_rows_say_the_same(nil: None, p: Any) -> None:
    by_arm = p.groupby("arm")
    counts, sizes = by_arm["bought"].sum(epsilon=64), by_arm.size(epsilon=64)
    frame = shop().groupby("arm")["bought"].agg(["sum", "count"])
    for labels in (["B"], ["B", "A"]):
        found = dp.stats.proportions_ztest(counts.loc[labels], sizes.loc[labels], 0.1)
        table = frame.loc[labels]
        z, _ = proportion.proportions_ztest(table["sum"].to_numpy(), table["count"].to_numpy(), 0.1)
        if len(labels) == 1:
            assert found.statistic == pytest.approx(z, abs=1e-9)
        else:  # whether they share units isn't known of several releases: deviations are added
            assert abs(z) / math.sqrt(2) - 1e-9 <= abs(found.statistic) <= abs(z)
    refusal(lambda: dp.stats.proportions_ztest(counts, sizes.loc[["A"]]), "same labels", QueryError)


def test_noise_is_counted_in_words_and_in_the_error(exact: None, p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon="0.05")
    spent = dp.ledger().spent
    found = dp.stats.proportions_ztest(rates.loc[["B", "A"]])
    assert dp.ledger().spent == spent
    assert not found.exact
    assert "the two proportions are equal" in repr(found)
    said = found.noise.removeprefix("Noise makes the standard error ").partition(":")[0]
    noisy, sampled = map(float, said.split(" in place of "))
    assert noisy > 1.5 * sampled
    assert pickle.loads(pickle.dumps(found)).confidence_interval() == found.confidence_interval()
    low, high = found.confidence_interval(0.99)
    assert low < float(rates["B"] - rates["A"]) < high


def test_private_columns_are_released_first(p: Any) -> None:
    by_arm = p.groupby("arm")["bought"]
    one = dp.stats.proportions_ztest(p["bought"], value=0.5, epsilon=1)
    assert float(dp.ledger().spent) == 1
    assert one.pvalue < 1e-6
    rates = by_arm.mean(epsilon=2)
    assert dp.stats.proportions_ztest([rates.loc[["A"]], rates.loc[["B"]]]).pvalue > 1e-9
    refusal(lambda: dp.stats.proportions_ztest(by_arm), "epsilon=…", QueryError)


def test_shares_of_the_same_rows_may_be_of_the_same_units(p: Any) -> None:
    """Two columns: their deviations are added up, whatever their correlation is."""
    both = p[["bought", "late"]].mean(epsilon=4)
    together = dp.stats.proportions_ztest(both)
    one, other = (dp.stats.proportions_ztest(both.loc[[name]], value=0.5) for name in both.index)
    wide = [np.ptp(each.confidence_interval(0.5)) for each in (one, other, together)]
    assert wide[2] == pytest.approx(wide[0] + wide[1], rel=0.01)


def test_what_is_no_share_is_refused(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=4)
    owned = dp.protect(shop(), name="owned", unit="who", max_rows=2)
    many, mean, count = (
        owned["bought"].mean(epsilon=1),
        p["who"].mean(epsilon=1),
        p.count(epsilon=1),
    )
    test = dp.stats.proportions_ztest
    for ask, said, error in (
        (lambda: test(rates), "two proportions", QueryError),
        (lambda: test(rates.loc[["A"]]), "value=", QueryError),
        (lambda: test(many, value=0.5), "per_unit", QueryError),
        (lambda: test(mean, value=0.5), "shares of units", QueryError),
        (lambda: test(count, mean, 0.5), "counts of rows", QueryError),
        (lambda: test(count, value=0.5), "says nothing", QueryError),
        (lambda: test([30, 40], [100, 100]), "list without|int without", RecordError),
        (lambda: test(pd.Series([0.2, 0.3])), "scipy.stats", RecordError),
        (lambda: test(rates.loc[["A"]], value=2), "value=2", QueryError),
        (lambda: test(rates.loc[["A"]], value=0.5, prop_var=7), "prop_var=7", QueryError),
        (lambda: test(rates.loc[["A"]], value=0.5, alternative="up"), "alternative=", QueryError),
        (lambda: test(p["who"], value=0.5, epsilon=1), "shares of units", QueryError),
        (lambda: test(p["bought"], epsilon=1), "value=", QueryError),
        (lambda: test(p.groupby("arm")["bought"], epsilon=1), "two proportions", QueryError),
        (lambda: test(owned["bought"], value=0.5, epsilon=1), "per_unit", QueryError),
        (lambda: test(p["bought"], count, value=0.5, epsilon=1), "leave nobs out", QueryError),
    ):  # fmt: skip
        refusal(ask, said, error)


def test_successes_and_trials_that_are_swapped_are_noticed(p: Any) -> None:
    bought, rows = p.query("bought").count(epsilon=1), p.count(epsilon=1)
    test, confint = dp.stats.proportions_ztest, dp.stats.proportion_confint
    assert test(bought, rows, 0.2).pvalue > 1e-9
    for ask in (
        lambda: test(rows, bought, 0.2), lambda: confint(rows, bought, method="normal"),
        lambda: dp.stats.binomtest(rows, 10, public_size=True),
    ):  # fmt: skip
        refusal(ask, "successes", QueryError)


def test_few_successes_are_said() -> None:
    anew(epsilon=10**4)
    rare = pd.DataFrame({"ill": [True] * 2 + [False] * 400})
    ill = dp.protect(rare, name="rare")["ill"].mean(epsilon=60)
    assert "binomtest is exact" in repr(dp.stats.proportions_ztest(ill, value=0.01))


# --- proportion_confint ---------------------------------------------------------------------------


def test_intervals_are_those_for_the_population_each_by_itself(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    lower, upper = dp.stats.proportion_confint(rates, alpha=0.05 / 3)
    together = dp.intervals(rates, of="population")
    assert lower.tolist() == pytest.approx(together["low"].tolist(), abs=1e-3)
    assert upper.tolist() == pytest.approx(together["high"].tolist(), abs=1e-3)
    assert lower.index.equals(rates.index)
    low, high = dp.stats.proportion_confint(p["bought"], epsilon=1)
    assert 0 <= low < high <= 1


def test_walds_interval_without_noise_is_as_in_statsmodels(nil: None, p: Any) -> None:
    frame = shop()
    found = dp.stats.proportion_confint(p["bought"], epsilon=64, method="normal", alpha=0.1)
    assert found == pytest.approx(
        proportion.proportion_confint(frame["bought"].sum(), len(frame), 0.1, "normal"), abs=1e-9
    )
    counts = p.query("bought").count(epsilon=64), p.count(epsilon=64)
    assert dp.stats.proportion_confint(*counts, 0.1, "normal") == pytest.approx(found)
    refusal(lambda: dp.stats.proportion_confint(*counts), "one release", QueryError)
    refusal(lambda: dp.stats.proportion_confint(*counts, 0.1, "wilson"), "wilson", QueryError)
    refusal(lambda: dp.stats.proportion_confint(*counts, 2), "alpha=2", QueryError)


# --- how often proportions_ztest finds what isn't there -------------------------------------------


def p_values(n: int, p: float, other: float, draws: int, epsilon: float = 1.0) -> Any:
    rng, scale = np.random.default_rng([7, n]), 1 / epsilon
    success = -math.expm1(-1 / scale)
    law = DiscreteLaplace(Fraction(scale))
    number = Quantity(0.0, None)
    found = []
    for _ in range(draws):
        each = []
        for cell, chance in enumerate((p, other)):
            x, noise = rng.binomial(n, chance), rng.geometric(success, 4)
            part, rest = int(x + noise[0] - noise[1]), int(n - x + noise[2] - noise[3])
            share = SampleShare(frozenset([cell]), part, rest, law, Terms(1, 1))
            each.append(Proportion(part, part + rest, number, share))
        z = compared(each, 0.0, None, are_apart=True)
        found.append(p_value(z.error, z.off, "two-sided") if z else 1.0)
    return np.array(found)


def test_equal_proportions_are_found_to_differ_as_seldom_as_said() -> None:
    """At most .057, which 2,000 draws exceed by .027 in one of 10^6 runs; .10 is found with .97."""
    found = p_values(400, 0.1, 0.1, 2000)
    assert (found <= 0.05).sum() <= stats.binom.isf(5e-7, 2000, 0.057)


@pytest.mark.nightly
@pytest.mark.parametrize(("n", "p"), [(100, 0.5), (200, 0.05), (1000, 0.2)])
def test_sizes_of_z(n: int, p: float) -> None:
    """10,000 draws at most 5 deviations above what is allowed: a false alarm of 5e-7."""
    found = p_values(n, p, p, 10_000)
    for level, allowed in ((0.05, 0.057), (0.01, 0.015)):
        assert (found <= level).sum() <= stats.binom.isf(5e-7, 10_000, allowed)
