"""Welch's and Student's tests of released means."""

import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from scipy import stats

import dppandas as dp
from dppandas.errors import BudgetExceeded, QueryError, RecordError
from dppandas.findings.populations import _Part, _sum
from dppandas.privacy.accuracy import nearly_normal
from dppandas.privacy.accuracy.nearly_normal import NearlyNormal
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics import samples
from dppandas.statistics.samples_of_spreads import SampleMeanOfThree
from dppandas.stats.means import TESTS, Around, p_value

SIDES = ("two-sided", "less", "greater")
DOMAIN: dict[str, Any] = {"arm": ["A", "B"], "x": (0, 10), "y": (0, 10), "g": [1, 2, 3]}
ROW = 2**30


def people(rows: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(5, 1, rows).clip(0, 10)
    arm = np.array(["A", "B"])[np.arange(rows) % 2]
    return pd.DataFrame({
        "arm": arm, "x": x + 0.15 * (arm == "B"), "y": (x + rng.normal(0.1, 0.5, rows)).clip(0, 10),
        "t": x > 5, "g": np.arange(rows) % 3 + 1, "who": np.arange(rows) // 2,
    })  # fmt: skip


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**4)
    return dp.protect(people(), name="people", domain=DOMAIN)


@pytest.fixture
def nil(exact: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, and none counted."""
    monkeypatch.setattr(nearly_normal, "variance", lambda law: 0.0)


@pytest.mark.parametrize("alternative", SIDES)
def test_without_noise_all_is_as_in_scipy(nil: None, p: Any, alternative: str) -> None:
    frame = people()
    means = p.groupby("arm")["x"].mean(epsilon=1, inference=True)
    a, b = (frame["x"][frame["arm"] == arm] for arm in "BA")
    found = dp.stats.ttest_ind(means, "B", "A", alternative=alternative)
    expected = stats.ttest_ind(a, b, equal_var=False, alternative=alternative)
    one = dp.stats.ttest_1samp(p["y"].mean(epsilon=1, inference=True), 5, alternative=alternative)
    for mine, other in (
        (found, expected), (one, stats.ttest_1samp(frame["y"], 5, alternative=alternative)),
    ):  # fmt: skip
        assert mine.statistic == pytest.approx(other.statistic, abs=1e-7)  # the grid of values
        assert mine.df == pytest.approx(other.df, rel=1e-8)
        assert mine.pvalue == pytest.approx(other.pvalue, abs=1e-8)
        for confidence in (0.5, 0.95, 0.999):
            ends = mine.confidence_interval(confidence)
            assert ends == pytest.approx(tuple(other.confidence_interval(confidence)), abs=1e-7)
            assert ends.low < ends.high


@pytest.mark.parametrize("alternative", SIDES)
def test_from_moments_to_p_values_all_is_as_in_scipy(alternative: str) -> None:
    """To 1e-9, where no grid comes between."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 1, 40), rng.normal(0.5, 2, 60)
    parts = []
    for i, (sign, x) in enumerate([(1, a), (-1, b)]):
        freedom = len(x) - 1
        error = NearlyNormal(x.var() / freedom, freedom)
        moments = samples.Moments(x.mean(), error, 99, frozenset([i]))
        parts.append(_Part(sign, moments, "one"))
    found = _sum(parts, 0.0)
    expected = stats.ttest_ind(a, b, equal_var=False, alternative=alternative)
    t = found.value / found.error.deviation
    assert t == pytest.approx(expected.statistic, abs=1e-12)
    p = p_value(found.error, found.value, alternative)
    assert p == pytest.approx(expected.pvalue, abs=1e-9)
    around = Around(found.value, found.error, alternative)
    assert around(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)), abs=1e-9)


def test_a_result_is_taken_apart_as_scipys_and_says_what_noise_added(p: Any) -> None:
    means = p.groupby("arm")["x"].mean(epsilon=1, inference=True)
    spent = dp.ledger().spent
    found = dp.stats.ttest_ind(means, "B", "A")
    statistic, pvalue = found
    assert (statistic, pvalue) == (found.statistic, found.pvalue)
    assert not found.exact
    said = repr(found)
    assert "(approximate)" in said
    assert "Null hypothesis: both populations have the same mean" in said
    assert "Noise makes the standard error" in said
    assert "from release 1" in said
    assert "of this session" not in said
    assert dp.ledger().spent == spent
    assert dp.stats.ttest_ind(means, "B", "A").pvalue == pvalue  # and it is the same test
    again = pickle.loads(pickle.dumps(found))
    assert (repr(again), again.confidence_interval()) == (said, found.confidence_interval())
    name, _, numbers = repr(found).splitlines()[0].partition(": ")
    assert f"<b>{escape(name)}</b> · {numbers}" in found._repr_html_()
    other = dp.stats.ttest_ind(means, "A", "B")
    assert "This is test 2 of this session" in repr(other)
    assert "multipletests" in repr(other)
    assert other.statistic == pytest.approx(-statistic)


def test_noise_is_counted(p: Any) -> None:
    """The same numbers with a standard error in which the noise is left out: what scipy would say
    of a released mean, variance and size."""
    means = p.groupby("arm")["x"].mean(epsilon="0.1", inference=True)
    found = dp.stats.ttest_ind(means, "B", "A")
    sampled = math.sqrt(2 * 1 / 500)
    assert found.standard_error > 1.5 * sampled


def test_private_columns_are_released_once_and_then_asked_about(p: Any) -> None:
    by_arm = p.groupby("arm")["x"]
    found = dp.stats.ttest_ind(by_arm, "B", "A", epsilon=1)
    assert float(dp.ledger().spent) == 1
    means = by_arm.mean(epsilon=1, inference=True)  # what was released, again
    assert float(dp.ledger().spent) == 1
    assert dp.stats.ttest_ind(means, "B", "A").pvalue == found.pvalue
    assert dp.stats.ttest_1samp(p["x"], 5, epsilon=1).pvalue < 1
    assert float(dp.ledger().spent) == 2
    assert dp.stats.ttest_ind(p["x"], p["y"], epsilon=1).pvalue < 1  # each with half of it
    assert float(dp.ledger().spent) == 3
    assert dp.stats.ttest_1samp(by_arm.mean(inference=True).release(epsilon=2).loc[["A"]], 5)
    assert dp.stats.ttest_1samp(p["t"], 0.5, epsilon=1).pvalue <= 1


def test_a_preview_lists_the_releases_of_tests(p: Any) -> None:
    with dp.preview() as plan:
        found = dp.stats.ttest_ind(p.groupby("arm")["x"], "B", "A", epsilon=1)
        dp.stats.ttest_ind(p["x"], p["y"], epsilon=1)
        dp.stats.binomtest(p["t"], epsilon=1)
        m = p.groupby("arm")["x"].mean(epsilon=1, inference=True)
        again = dp.stats.ttest_ind(m, "B", "A")
        assert all(math.isnan(x) for x in dp.stats.proportion_confint(p["t"], epsilon=1))
    assert float(plan.total) == 3  # equal questions are asked once
    assert math.isnan(found.pvalue)
    assert math.isnan(again.df)
    assert math.isnan(found.confidence_interval().low)
    assert "preview" in repr(found)
    assert float(dp.ledger().spent) == 0


def test_two_releases_or_none(p: Any) -> None:
    anew(epsilon=1)
    q = dp.protect(people(), name="few", domain=DOMAIN)
    refusal(lambda: dp.stats.ttest_ind(q["x"], q["arm"], epsilon=1), "numbers", QueryError)
    refusal(lambda: dp.stats.ttest_ind(q["x"], q["y"], epsilon=2), "left", BudgetExceeded)
    assert float(dp.ledger().spent) == 0


def test_one_may_be_tested_against_a_number_and_two_labels_against_each_other(p: Any) -> None:
    means = p.groupby("arm")["x"].mean(epsilon=4, inference=True)
    assert dp.stats.ttest_ind(means).statistic == dp.stats.ttest_ind(means, "A", "B").statistic
    assert dp.stats.ttest_1samp(means.loc[["A"]], 5).pvalue > 1e-9
    apart = dp.stats.ttest_ind(means.loc[["A"]], means.loc[["B"]])
    assert apart.statistic == pytest.approx(dp.stats.ttest_ind(means).statistic)
    gap = dp.difference(means, "B", "A")
    assert dp.stats.ttest_1samp(gap, 0).statistic == dp.stats.ttest_ind(means, "B", "A").statistic
    assert math.isclose(dp.stats.ttest_1samp(gap, gap.interval()[0] - 9).estimate, float(gap))


def test_what_may_be_about_the_same_units_has_the_largest_variance(p: Any) -> None:
    """Before and after: whatever their correlation is."""
    x, y = (p[name].mean(epsilon=4, inference=True) for name in "xy")
    one, other = (dp.stats.ttest_1samp(each, 5).standard_error for each in (x, y))
    found = dp.stats.ttest_ind(x, y).standard_error
    assert found == pytest.approx(one + other, rel=1e-4)  # their noise is that of a mean of 5
    means = p.groupby("arm")["x"].mean(epsilon=4, inference=True)
    a, b = (dp.stats.ttest_1samp(means.loc[[arm]], 5).standard_error for arm in "AB")
    assert dp.stats.ttest_ind(means).standard_error == pytest.approx(math.hypot(a, b), rel=1e-4)


def test_one_look_of_several_has_its_part_of_the_risk(p: Any) -> None:
    """The rule that ends a refinement looks at the answers that the test is of."""
    once = p["t"].mean(epsilon=1)
    looks = dp.record(p["t"].mean(epsilon=0.9)).refine(until=0.9 * dp.record(once).error())
    share = float(dp.record(looks)._law.share)
    assert share < 1
    for test, at in ((dp.stats.ttest_1samp, "popmean"), (dp.stats.proportions_ztest, "value")):
        plain, found = (test(mean, **{at: 0.49}) for mean in (once, looks))
        told = found._interval
        assert (plain._interval.part, told.part) == (1, pytest.approx(share))
        law = told.error.half_width(0.05 * share)
        low, high = found.confidence_interval(0.95)
        assert (high - low) / 2 == pytest.approx(law)


def test_a_mean_without_its_variance_has_the_largest(p: Any) -> None:
    plain = dp.stats.ttest_1samp(p["x"].mean(epsilon=4), 5)
    assert plain.standard_error == pytest.approx(5 / math.sqrt(1000), rel=0.1)
    assert any("inference=True" in note for note in plain.notes)


def test_intervals_lie_within_the_bounds(p: Any) -> None:
    means = p.groupby("arm")["x"].mean(epsilon="0.001", inference=True)
    low, high = dp.stats.ttest_ind(means, "B", "A").confidence_interval()
    assert -10.0001 < low < high < 10.0001
    mean = p["x"].mean(epsilon="0.001", inference=True)  # of a group, a mean of 0 has no record
    low, high = dp.stats.ttest_1samp(mean, 5).confidence_interval()
    assert 0 <= low < high <= 10


def test_hardly_any_rows_show_nothing() -> None:
    anew(epsilon=10**4)
    frame = people().query("x < -1")
    found = dp.stats.ttest_1samp(dp.protect(frame, name="none", domain=DOMAIN)["x"], 5, epsilon=60)
    assert found.pvalue >= 0.01
    assert "few" in repr(found)


def test_what_has_no_record_or_no_mean_is_refused(p: Any) -> None:
    means = p.groupby("arm")["x"].mean(epsilon=1, inference=True)
    owned = dp.protect(people(), name="owned", unit="who", max_rows=2, domain=DOMAIN)
    total, rows = p["x"].sum(epsilon=1), owned["x"].mean(epsilon=1)
    for ask, said, error in (
        (lambda: dp.stats.ttest_ind(people()["x"], people()["y"]), "scipy.stats", RecordError),
        (lambda: dp.stats.ttest_1samp(3.5, 5), "a float without", RecordError),
        (lambda: dp.stats.ttest_1samp(means * 2, 5), "dp.derive", RecordError),
        (lambda: dp.stats.ttest_ind(p["x"], p["y"]), "epsilon=…", QueryError),
        (lambda: dp.stats.ttest_ind(means, p["y"], epsilon=1), "second one", QueryError),
        (lambda: dp.stats.ttest_ind(means, "B", "C"), "'C' is neither", QueryError),
        (lambda: dp.stats.ttest_ind(means, "A", "B", epsilon=1), "leave epsilon= out", QueryError),
        (lambda: dp.stats.ttest_ind(means, "A", equal_var=True), "Welch", QueryError),
        (lambda: dp.stats.ttest_1samp(means, 5), "answer.loc", QueryError),
        (lambda: dp.stats.ttest_1samp(p["x"], "5", epsilon=1), "popmean='5'", QueryError),
        (lambda: dp.stats.ttest_1samp(p["x"], means, epsilon=1), "popmean=", QueryError),
        (lambda: dp.stats.ttest_1samp(p["x"], math.nan, epsilon=1), "popmean=", QueryError),
        (lambda: dp.stats.ttest_1samp(p["x"], 5, alternative="both"), "alternative=", QueryError),
        (lambda: dp.stats.ttest_1samp(total, 5), "says nothing", QueryError),
        (lambda: dp.stats.ttest_1samp(rows, 5), "per_unit", QueryError),
        (lambda: dp.stats.ttest_ind(p.groupby("arm")["x"], "B", "C", epsilon=1), "'C'", QueryError),
        (lambda: dp.stats.ttest_ind(p.groupby("g")["x"], epsilon=1), "two numbers", QueryError),
        (lambda: dp.stats.ttest_ind(p.groupby("g").size(), 1, 2, epsilon=1), "means", QueryError),
        (lambda: dp.stats.ttest_ind(p.groupby(["arm", "g"])["x"], "A", "B", epsilon=1),
         "several groups", QueryError),
        (lambda: dp.stats.ttest_ind(p.groupby("arm")["x"], "B", "B", epsilon=1), "'B'", QueryError),
        (lambda: dp.stats.ttest_ind(means, "B", "B"), "both", QueryError),
        (lambda: dp.stats.ttest_ind(means["B"], means["A"]), "loc", RecordError),
        (lambda: dp.stats.ttest_ind(p["x"], epsilon=1), "two numbers", QueryError),
        (lambda: dp.stats.ttest_1samp(p.groupby("g")["x"], 5, epsilon=1), "one number", QueryError),
        (lambda: dp.stats.ttest_1samp(owned["x"], 5, epsilon=1), "per_unit", QueryError),
        (lambda: dp.stats.ttest_1samp(p["x"].median(), 5, epsilon=1), "nearly normal", QueryError),
    ):  # fmt: skip
        refusal(ask, said, error)
    three = p.groupby("g")["x"].mean(epsilon=1, inference=True)
    refusal(lambda: dp.stats.ttest_ind(three), "two of its labels", QueryError)
    refusal(lambda: dp.stats.ttest_ind(three, 1), "f_oneway", QueryError)
    answer = p["x"].median(epsilon=1, interval=True)
    refusal(lambda: dp.stats.ttest_1samp(answer, 5), "nearly normal", QueryError)


# --- how often they find what isn't there ---------------------------------------------------------


LAWS: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda rng, size: rng.normal(0.5, 1 / 8, size).clip(0, 1),
    "uniform": lambda rng, size: rng.random(size),
}


def p_values(law: str, n: int, draws: int, effect: float = 0.0, seed: int = 3) -> Any:
    """Of Welch's test between two groups of n, at ε = 1."""
    rng, deviation = np.random.default_rng([seed, n]), 1 / 8
    noise, found = DiscreteLaplace(Fraction(ROW)), []
    for _ in range(draws):
        parts = []
        for cell, sign in enumerate((1, -1)):
            x = LAWS[law](rng, n) + effect * deviation * cell
            exact = ((1 - x) ** 2).sum(), (2 * x * (1 - x)).sum(), (x**2).sum()
            sums = tuple(round((s + rng.laplace()) * ROW) for s in exact)
            mean = SampleMeanOfThree(frozenset([cell]), sums, ROW, Bounds(0.0, 1.0), noise)
            parts.append(_Part(sign, mean.moments(TESTS), "one"))
        if all(part.moments is not None for part in parts):
            both = _sum(parts, 0.0)
            found.append(p_value(both.error, both.value, "two-sided"))
        else:
            found.append(1.0)
    return np.array(found)


@pytest.mark.parametrize(("law", "n", "draws"), [("normal", 200, 2000), ("uniform", 100, 2000)])
def test_equal_groups_are_found_to_differ_as_seldom_as_said(law: str, n: int, draws: int) -> None:
    """At most .055, which 2,000 draws exceed by .027 in one of 10^6 runs; .10 is found with .98."""
    assert (p_values(law, n, draws) <= 0.05).sum() <= stats.binom.isf(5e-7, draws, 0.055)


@pytest.mark.nightly
@pytest.mark.parametrize(("n", "at_05", "at_01"), [
    (100, 0.055, 0.015), (200, 0.055, 0.014), (1000, 0.055, 0.012),
])  # fmt: skip
def test_sizes_of_welchs_test(n: int, at_05: float, at_01: float) -> None:
    """10,000 draws at most 5 deviations above what is allowed: a false alarm of 3e-7."""
    found = p_values("normal", n, 10_000)
    for level, allowed in ((0.05, at_05), (0.01, at_01)):
        assert (found <= level).sum() <= stats.binom.isf(5e-7, 10_000, allowed)


@pytest.mark.nightly
def test_power_of_welchs_test_is_within_7_points_of_that_on_the_rows() -> None:
    """At 500 rows a group and ε = 1, an effect of .2; of the rows it is .886."""
    raw = stats.nct.sf(stats.t.isf(0.025, 998), 998, 0.2 * math.sqrt(250))
    found = (p_values("normal", 500, 5000, 0.2) <= 0.05).mean()
    assert raw - 0.07 - 0.02 < found < raw
