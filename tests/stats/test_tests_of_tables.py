"""Tests of tables of counts, beside scipy's where there is no noise."""

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from scipy import stats
from scripts import script

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.findings.simulation import Simulation
from dppandas.privacy.accuracy.combined import variance
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.stats.counts import table_of
from dppandas.stats.noisy_fourfold import Fourfold, Hypergeometric
from dppandas.stats.simulated_tables import Fit, Independence, pvalue

#: A loss at which the noise's law is none, nearly: the largest.
SURE = 64
ARMS, PLACES = ["A", "B", "C"], [1, 2, 3, 4]
DOMAIN: dict[str, Any] = {"arm": ARMS, "place": PLACES, "paid": (0, 60)}


def shop(rows: int = 2000, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    arm = rng.choice(ARMS, rows, p=[0.5, 0.3, 0.2])
    place = np.where(rng.random(rows) < 0.03, 4, rng.choice(PLACES, rows, p=[0.4, 0.3, 0.2, 0.1]))
    return pd.DataFrame({
        "who": np.arange(rows), "arm": arm, "place": place, "paid": rng.random(rows) * 60,
        "bought": rng.random(rows) < np.where(arm == "A", 0.2, 0.25),
        "back": rng.random(rows) < 0.1,
    })  # fmt: skip


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**6, delta="0.001")
    return dp.protect(shop(), name="shop", domain=DOMAIN)


@pytest.fixture
def sure(exact: None) -> Any:
    """Rows whose answers have no noise, in their law either."""
    anew(epsilon=10**12)
    return dp.protect(shop(), name="sure", domain=DOMAIN)


def nothing(size: int) -> Callable[[int], Any]:
    return lambda draws: np.zeros((draws, size))


# --- beside scipy ---------------------------------------------------------------------------------


def test_without_noise_chi2_contingency_is_scipys(sure: Any) -> None:
    table = sure.crosstab("arm", "place", epsilon=SURE)
    found = dp.stats.chi2_contingency(table)
    expected = stats.chi2_contingency(table.to_numpy(), correction=False)
    statistic, chance, dof, expected_freq = found
    assert statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert dof == expected.dof == 6
    assert expected_freq.to_numpy() == pytest.approx(expected.expected_freq, rel=1e-9)
    assert expected_freq.index.tolist() == ARMS
    assert expected_freq.columns.tolist() == PLACES
    assert chance == pytest.approx(expected.pvalue, abs=0.03)
    assert isinstance(statistic, float)


def test_p_values_are_those_of_large_tables() -> None:
    """Of 12 tables of 20,000 units the p-value is the χ² distribution's, within 5.5 deviations of
    9,999 simulations and .005 for what that errs: fails falsely once in 10^6 runs."""
    rng = np.random.default_rng(4)
    null = Independence(np.zeros((3, 4)))
    for seed in range(12):
        shares = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
        seen = rng.multinomial(20_000, shares.reshape(-1)).reshape(3, 4).astype(float)
        found = pvalue(null, seen, nothing(12), np.random.default_rng(seed), 9999)
        p_scipy = stats.chi2_contingency(seen, correction=False).pvalue
        assert abs(found - p_scipy) < 0.005 + 5.5 * np.sqrt(p_scipy * (1 - p_scipy) / 9999)


def test_two_cells_have_the_binomial_p_value() -> None:
    """Of goodness of fit, the same way, beside the exact probability."""
    for successes in (3, 6, 9, 11):
        seen = np.array([successes, 20 - successes], float)
        found = pvalue(Fit(np.zeros(2), np.array([0.4, 0.6])), seen, nothing(2),
                       np.random.default_rng(successes), 9999)  # fmt: skip
        k = np.arange(21)
        far = np.abs(k - 8) >= abs(successes - 8)
        truth = stats.binom.pmf(k, 20, 0.4)[far].sum()
        assert abs(found - truth) < 2e-4 + 5.5 * np.sqrt(truth * (1 - truth) / 9999)


def test_without_noise_chisquare_is_scipys(sure: Any) -> None:
    counts = sure["place"].value_counts(epsilon=SURE)
    shares = {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}
    found = dp.stats.chisquare(counts, shares)
    known = np.array([shares[label] for label in counts.index])
    expected = stats.chisquare(counts.to_numpy(), known * counts.sum())
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.02)
    even = dp.stats.chisquare(counts)
    assert even.statistic == pytest.approx(stats.chisquare(counts.to_numpy()).statistic, rel=1e-9)
    statistic, chance = even
    assert (statistic, chance) == (even.statistic, even.pvalue)


TABLES = [
    *np.random.default_rng(8).poisson([[4, 7], [3, 12]], (60, 2, 2)).tolist(),
    *np.random.default_rng(9).poisson([[300, 70], [35, 12]], (20, 2, 2)).tolist(),
    [[0, 5], [0, 7]], [[0, 0], [3, 4]], [[0, 9], [8, 0]], [[1, 0], [0, 0]], [[5000, 4800], [1, 9]],
    [[10, 10], [10, 10]], [[10**6, 10**6 + 2000], [10**6, 10**6]], [[0, 0], [0, 0]],
]  # fmt: skip


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_without_noise_fisher_exact_is_scipys(alternative: str) -> None:
    for table in TABLES:
        test = Fourfold(np.array(table, float), np.zeros((2, 2)))
        expected = stats.fisher_exact(table, alternative)
        found = test.pvalue(nothing(4), np.random.default_rng(1), 9, alternative)
        assert found == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300), table
        same = pytest.approx(expected.statistic, rel=1e-12, nan_ok=True)
        assert test.odds_ratio == same, table


def test_without_noise_fisher_exact_is_scipys_on_the_whole_road(sure: Any) -> None:
    table = sure.crosstab("bought", "arm", epsilon=SURE)[["A", "B"]]
    for alternative in ("two-sided", "less", "greater"):
        expected = stats.fisher_exact(table.to_numpy(), alternative)
        found = dp.stats.fisher_exact(table, alternative)
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert found.alternative == alternative
    low, high = found.confidence_interval()
    interval = stats.contingency.odds_ratio(table.to_numpy()).confidence_interval()
    assert low < interval.low < found.statistic < interval.high < high


def test_tails_of_the_hypergeometric_law() -> None:
    for whole, rows, columns in [(30, 12, 9), (10**7, 4000, 10**6), (5, 5, 2)]:
        law, other = Hypergeometric(whole, rows, columns), stats.hypergeom(whole, rows, columns)
        x = np.array([law.values[0] - 1, *law.values[:: max(1, len(law.values) // 9)]]) + 0.0
        assert law.at_least(x) == pytest.approx(other.sf(x - 1), rel=1e-7, abs=1e-80)
        assert law.at_most(x) == pytest.approx(other.cdf(x), rel=1e-7, abs=1e-80)
        assert law.at_least(x - 0.4).tolist() == law.at_least(x).tolist()
        assert law.at_most(x + 0.4).tolist() == law.at_most(x).tolist()


# --- the noise ------------------------------------------------------------------------------------


def test_little_noise_changes_little() -> None:
    """One-sided p-values with noise so small that none was drawn are those without, but for chance:
    with 10^5 tables 6 deviations, .009, fail falsely once in 10^8 runs."""
    for table in ([[9, 4], [2, 8]], [[30, 20], [25, 31]], [[3 * 10**9, 10**9]] * 2):
        for alternative in ("less", "greater"):
            each = [
                Fourfold(np.array(table, float), np.full((2, 2), v)).pvalue(
                    nothing(4), np.random.default_rng(2), 10**5, alternative
                )
                for v in (0.0, 1e-6)
            ]
            # from 10^9 units on sums are drawn, too
            assert each[0] == pytest.approx(each[1], abs=0.01), (table, alternative)


def test_what_noise_explains_is_no_effect() -> None:
    """At ε = 0.05 counts move by 28; without noise all of these are found, at .01."""
    law = DiscreteLaplace(Fraction(20))
    seen, row = np.array([[340.0, 275], [270, 340]]), np.array([345.0, 265, 262, 335])
    for v, low, high in ((0.0, 0, 0.01), (variance(law), 0.02, 0.6)):
        simulation = Simulation([], "explained")

        def noise(draws: int, is_none: bool = not v, of: Simulation = simulation) -> Any:
            return np.zeros((draws, 4)) if is_none else of.noise(law, (draws, 4))

        variances, fixed = np.full((2, 2), v), simulation.generator
        found = pvalue(Independence(variances), seen, noise, fixed, 9999)
        assert low < found < high
        fit = Fit(variances.reshape(-1), np.full(4, 0.25))
        assert low < pvalue(fit, row, noise, fixed, 9999) < high
        for side in ("two-sided", "greater"):
            assert low < Fourfold(seen, variances).pvalue(noise, fixed, 9999, side) < high


def test_noise_is_that_of_sums_that_share_draws(p: Any) -> None:
    """Sums of cells have the noise of all; what is subtracted has that of both. Deviations of
    40,000 draws are within 6 % of the law's, and correlations within .04: 1e-6."""
    table = p.crosstab("arm", "place", epsilon=1)
    merged = dp.derive(lambda t: pd.DataFrame({"low": t[1] + t[2] + t[3], "high": t[4]}), table)
    counts = table_of(merged, "test")
    one = variance(DiscreteLaplace(Fraction(1)))
    assert counts.variances == pytest.approx(np.array([[3 * one, one]] * 3))
    drawn = counts.noise(Simulation(counts.records, "x"), 40_000)
    assert drawn.var(axis=0) == pytest.approx(counts.variances.reshape(-1), rel=0.12)
    sizes, bought = p.groupby("arm").size(epsilon=1), p.groupby("arm")["bought"].sum(epsilon=1)
    halves = dp.derive(lambda n, x: pd.DataFrame({"yes": x, "no": n - x}), sizes, bought)
    counts = table_of(halves, "test")
    assert counts.variances == pytest.approx(np.array([[one, 2 * one]] * 3))
    drawn = counts.noise(Simulation(counts.records, "x"), 40_000)
    together = np.corrcoef(drawn.T)
    assert together[0, 1] == pytest.approx(-np.sqrt(0.5), abs=0.04)
    assert together[0, 2] == pytest.approx(0, abs=0.04)
    found = dp.stats.chi2_contingency(halves)
    assert found.noise.startswith("Noise of ± 3.8 on each count (95 %)")
    assert "releases" in found.source


def test_noise_of_combined_counts_is_whole(p: Any) -> None:
    """A combined count is rounded, and so is its noise: at ε = 6 together it is mostly none."""
    first = p["place"].value_counts(epsilon=3)
    counts = dp.combine(first, p["place"].value_counts(epsilon=3, fresh=True))
    found = dp.stats.chisquare(counts)
    assert found.pvalue < 0.001
    each = dp.stats.tables.series_of(counts, "test")
    drawn = each.noise(Simulation(each.records, "x"), 5000)
    assert (drawn == np.rint(drawn)).all()
    assert 0.9 < (drawn == 0).mean() < 1


def test_the_same_answer_has_the_same_p_value(p: Any) -> None:
    table = p.crosstab("arm", "place", epsilon=0.3)
    found = dp.stats.chi2_contingency(table)
    assert dp.stats.chi2_contingency(table).pvalue == found.pvalue
    assert dp.stats.chi2_contingency(pickle.loads(pickle.dumps(table))).pvalue == found.pvalue
    again = p.crosstab("arm", "place", epsilon=0.3)  # a replay
    assert dp.stats.chi2_contingency(again).pvalue == found.pvalue
    several = {
        dp.stats.chi2_contingency(p.crosstab("arm", "place", epsilon=0.3, fresh=True)).pvalue
        for _ in range(3)
    }
    assert len(several) > 1
    part = table[[1, 2]].loc[["A", "B"]]
    assert dp.stats.fisher_exact(part).pvalue == dp.stats.fisher_exact(part).pvalue


# --- what is given --------------------------------------------------------------------------------


def test_tables_may_be_given_in_many_ways(p: Any) -> None:
    """All show one release, and have one statistic."""
    table = p.crosstab("arm", "place", epsilon=1)
    series = p.groupby(["arm", "place"]).size(epsilon=1)
    with_sums = p.crosstab("arm", "place", epsilon=1, margins=True)
    same = [
        [table, table.sort_index(ascending=False), [table.loc[arm] for arm in ARMS], table.T,
         table[[4, 1, 3, 2]], dp.derive(lambda t: t, table)],
        [series, series.unstack(), series.sort_index(ascending=False), series.unstack().T],
        [with_sums, with_sums.T, with_sums.drop(index="All"), with_sums.loc[ARMS, PLACES],
         dp.derive(lambda t: t, with_sums)],
    ]  # fmt: skip
    for each in same:
        found = [dp.stats.chi2_contingency(one) for one in each]
        for one in found:
            assert one.statistic == pytest.approx(found[0].statistic)
            assert one.pvalue == found[0].pvalue
            assert sorted(one.expected_freq.shape) == [3, 4]


def test_rows_may_be_of_several_releases(p: Any) -> None:
    bought, not_bought = p[p["bought"]], p[~p["bought"]]
    each = [part["place"].value_counts(epsilon=1) for part in (bought, not_bought)]
    found = dp.stats.chi2_contingency(each)
    table = pd.DataFrame([one.loc[PLACES].to_numpy() for one in each])
    naive = stats.chi2_contingency(table, correction=False)
    assert found.statistic == pytest.approx(naive.statistic, rel=0.1)
    assert found.expected_freq.index.tolist() == [0, 1]
    two = [one.loc[[1, 2]] for one in each]
    pair = dp.stats.fisher_exact(two)
    with pytest.raises(QueryError, match="counts of several answers"):
        pair.confidence_interval()


@pytest.mark.parametrize("ask", [
    lambda p, **e: dp.stats.chi2_contingency(p.groupby(["arm", "place"]), **e),
    lambda p, **e: dp.stats.chi2_contingency(p.groupby("arm")["bought"], **e),
    lambda p, **e: dp.stats.chi2_contingency(p[["arm", "place"]], **e),
    lambda p, **e: dp.stats.chi2_contingency(p.crosstab("arm", "place", margins=True), **e),
    lambda p, **e: dp.stats.fisher_exact(p.groupby(["bought", "back"]), "less", **e),
    lambda p, **e: dp.stats.chisquare(p["place"], [4, 3, 2, 1], **e),
    lambda p, **e: dp.stats.chisquare(p.groupby("place"), {4: 1, 3: 2, 2: 3, 1: 4}, **e),
    lambda p, **e: dp.stats.chisquare(p["paid"].hist(bins=[0, 20, 40, 60]), **e),
])  # fmt: skip
def test_private_rows_are_released_once(p: Any, ask: Callable[..., Any]) -> None:
    """One release at the loss asked; then it is as if that had been given."""
    with pytest.raises(QueryError, match="Give epsilon="):
        ask(p)
    found = ask(p, epsilon=0.5)
    assert dp.ledger().spent == 0.5
    assert ask(p, epsilon=0.5).pvalue == found.pvalue  # a replay
    assert dp.ledger().spent == 0.5
    assert found.source == "from release 1"


def test_lists_of_shares_follow_the_keys_and_labels_the_labels(p: Any) -> None:
    """value_counts sorts by noisy counts: 4 comes last here, and has .13."""
    asked = dp.stats.chisquare(p["place"], [4, 3, 2, 1], epsilon=10)
    counts = p["place"].value_counts(epsilon=10)
    assert asked.pvalue == dp.stats.chisquare(counts, {4: 1, 3: 2, 2: 3, 1: 4}).pvalue > 0
    shares = pd.Series([0.1, 0.4, 0.2, 0.3], index=[4, 1, 3, 2])
    assert asked.pvalue == dp.stats.chisquare(counts, shares).pvalue
    upside_down = counts.sort_index(ascending=False)
    with pytest.raises(QueryError, match="Give f_exp= by label"):
        dp.stats.chisquare(upside_down, [1, 2, 3, 4])
    same = dp.stats.chisquare(upside_down, shares)
    assert same.statistic == pytest.approx(asked.statistic)
    dp.stats.chisquare(upside_down, [1, 1, 1, 1])  # none can be mistaken for another


def test_counts_beside_means_are_counts(p: Any) -> None:
    """Those of a mean's release are real numbers, with noise in its law."""
    of_arms = p.groupby("arm")["bought"].agg(["count", "sum"], epsilon=1)
    table = dp.derive(
        lambda t: pd.DataFrame({"yes": t["sum"], "no": t["count"] - t["sum"]}), of_arms
    )
    found = dp.stats.chi2_contingency(table)
    counts = table_of(table, "test")
    assert counts.variances == pytest.approx(np.full((3, 2), 2.0), rel=1e-6)
    assert found.expected_freq.to_numpy().sum() == pytest.approx(2000, abs=40)


def test_gaussian_noise_is_simulated() -> None:
    anew(rho=10**4, delta=1e-6)
    p = dp.protect(shop(), name="by rho", domain=DOMAIN)
    table = p.crosstab("arm", "place", rho=0.02)
    assert 0 < dp.stats.chi2_contingency(table).pvalue <= 1
    assert table_of(table, "test").variances == pytest.approx(np.full((3, 4), 25.0))


# --- words ----------------------------------------------------------------------------------------


def test_results_say_what_they_rest_on(p: Any) -> None:
    table = p.crosstab("arm", "place", epsilon=1)
    found = dp.stats.chi2_contingency(table)
    said = repr(found)
    assert said.startswith("chi2_contingency: statistic=")
    assert "dof=6 (approximate)" in said
    assert "Noise of ± 3 on each count (95 %) is counted by 9,999 simulated tables" in said
    assert "(from release 1)" in said
    assert "one cell" in found.null
    assert not found.notes
    assert "This is test 2 of this session" in repr(dp.stats.chi2_contingency(table[[1, 2]]))
    assert "This is test" not in repr(dp.stats.chi2_contingency(table))
    with pytest.raises(QueryError, match="no interval"):
        found.confidence_interval()
    assert repr(pickle.loads(pickle.dumps(found))) == said
    fourfold = dp.stats.fisher_exact(table[[1, 2]].loc[["A", "B"]])
    copy = pickle.loads(pickle.dumps(fourfold))
    assert copy.confidence_interval() == fourfold.confidence_interval()


def test_results_say_where_they_hold_less(p: Any) -> None:
    """Few units are said to be few, and much noise to be much."""
    few = dp.protect(shop(60), name="few", domain=DOMAIN)
    found = dp.stats.chi2_contingency(few.crosstab("arm", "place", epsilon=20))
    assert "with less than 5 were false alarms" in found.notes[0]
    found = dp.stats.chi2_contingency(few.crosstab("arm", "place", epsilon=0.1))
    assert "only strong effects" in found.notes[0]
    assert 0.01 < found.pvalue <= 1


def test_no_p_value_is_less_than_the_draws_tell(p: Any) -> None:
    """What was seen is one of the tables."""
    days = p["place"].value_counts(epsilon=1)
    assert dp.stats.chisquare(days, {1: 1, 2: 1, 3: 1, 4: 97}).pvalue == 1 / 10_000
    assert dp.stats.chisquare(days, {1: 1, 2: 1, 3: 1, 4: 97}, n_resamples=99).pvalue == 1 / 100


# --- refusals -------------------------------------------------------------------------------------


def _several(p: Any) -> Any:
    frame = shop(400).assign(who=np.arange(400) // 2)
    return dp.protect(frame, name="twice", unit="who", max_rows=2, domain=DOMAIN)


def _unknown(p: Any) -> Any:
    return dp.protect(shop(), name="undeclared").groupby(["arm", "place"], delta="0.0001")


#: What is asked of private rows, which is refused before it is paid for.
UNPAID: dict[str, tuple[Callable[[Any], Any], str]] = {
    "means": (lambda p: p.groupby("arm")["paid"].mean(), "aren't counts"),
    "shares": (lambda p: p.crosstab("arm", "place", normalize=True), "aren't counts"),
    "conditions": (lambda p: p.groupby("arm")[["bought", "back"]].sum(), "several conditions"),
    "one side": (lambda p: p.groupby("arm"), "takes a released table"),
    "a column": (lambda p: p["arm"], "takes a released table"),
    "all columns": (lambda p: p, "takes a released table"),
    "three sides": (lambda p: p.groupby(["arm", "place", "bought"]), "takes a released table"),
    "labels in columns": (lambda p: p.groupby(["arm", "place"], as_index=False), "as_index=True"),
    "one label": (lambda p: p[["arm", "place"]].groupby(["arm", "place"], keys={"arm": ["A"],
                  "place": PLACES}), "at least two rows"),
    "several rows": (lambda p: _several(p).groupby(["arm", "place"]), r"per_unit\(\)"),
    "unknown labels": (_unknown, "Declare the labels"),
    "two tables": (lambda p: [p["arm"].value_counts()] * 2, "releases one table"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNPAID)
def test_what_is_no_table_of_counts_is_refused_before_it_is_paid(p: Any, name: str) -> None:
    ask, said = UNPAID[name]
    given = ask(p)
    with pytest.raises(QueryError, match=said):
        dp.stats.chi2_contingency(given, epsilon=1)
    assert dp.ledger().spent == 0


def _by_two(p: Any) -> Any:
    return p.groupby(["arm", "place"])


def _fit(p: Any, shares: Any) -> Any:
    return dp.stats.chisquare(p["place"], shares, epsilon=1)


ARGUMENTS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda p: dp.stats.chi2_contingency(_by_two(p), True, epsilon=1), "correction"),
    (lambda p: dp.stats.chi2_contingency(_by_two(p), 1, epsilon=1), "correction"),
    (lambda p: dp.stats.chi2_contingency(_by_two(p), n_resamples=9, epsilon=1), "n_resamples"),
    (lambda p: dp.stats.fisher_exact(p.groupby(["bought", "back"]), "more", epsilon=1),
     "alternative"),
    (lambda p: dp.stats.fisher_exact(_by_two(p), epsilon=1), "two rows and two"),
    (lambda p: _fit(p, [1, 2]), "has 2 shares"),
    (lambda p: _fit(p, [1, 2, 3, 0]), "above 0"),
    (lambda p: _fit(p, [1, 2, 3, np.inf]), "above 0"),
    (lambda p: _fit(p, [1, 2, 3, True]), "above 0"),
    (lambda p: _fit(p, {1: 1, 2: 1}), "a share for each label"),
    (lambda p: _fit(p, {1: 1, 2: 1, 3: 1, 5: 1}), "a share for each label"),
    (lambda p: _fit(p, pd.Series([1, 1, 1, 1, 1], index=[1, 2, 3, 4, 4])), "a share for each"),
    (lambda p: _fit(p, "1234"), "a list of shares"),
    (lambda p: _fit(p, 4), "a list of shares"),
    (lambda p: dp.stats.chisquare(_by_two(p), [1, 2], epsilon=1), "has 2 shares"),
    (lambda p: dp.stats.chisquare(p.crosstab("arm", "place"), epsilon=1), "a released Series"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ARGUMENTS)))
def test_wrong_arguments_are_refused_before_anything_is_paid(p: Any, number: int) -> None:
    ask, said = ARGUMENTS[number]
    with pytest.raises(QueryError, match=said):
        ask(p)
    assert dp.ledger().spent == 0


def _paired(p: Any) -> Any:
    return [p["bought"].value_counts(keys=[False, True], epsilon=1),
            p["back"].value_counts(keys=[False, True], epsilon=1)]  # fmt: skip


def _table(p: Any, **more: Any) -> Any:
    return p.crosstab("arm", "place", epsilon=1, **more)


def _with_gaps(p: Any) -> Any:
    return dp.derive(lambda counts: counts.unstack(), _by_two(p).size(epsilon=1)[:-1])


#: Answers that are no tables of counts of units of which each is in one cell.
ANSWERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "the same rows twice": (_paired, "count the same units"),
    "some rows and all": (
        lambda p: [part["place"].value_counts(epsilon=1) for part in (p[p["bought"]], p)],
        "count the same units",
    ),
    "conditions": (lambda p: p.groupby("arm")[["bought", "back"]].sum(epsilon=1), "the same units"),
    "a part beside its whole": (
        lambda p: p.groupby("arm")["bought"].agg(["count", "sum"], epsilon=1), "the same rows"
    ),
    "a sum among counts": (lambda p: _table(p, margins=True)[["All", 1, 2]], "the same rows"),
    "one row twice": (lambda p: [p["place"].value_counts(epsilon=1)] * 2, "the same rows"),
    "other labels": (
        lambda p: [p["place"].value_counts(epsilon=1), p["arm"].value_counts(epsilon=1)],
        "need the same labels",
    ),
    "shares": (lambda p: _table(p, normalize=True), "is none"),
    "means": (lambda p: p.groupby("arm")[["paid", "bought"]].mean(epsilon=1), "aren't counts"),
    "distinct": (
        lambda p: p.groupby(["arm", "bought"])["place"].nunique(epsilon=1), "aren't counts"
    ),
    "multiples": (lambda p: dp.derive(lambda t: 2 * t, _table(p)), "was multiplied"),
    "plain numbers": (lambda p: dp.derive(lambda t: t + 1, _table(p)), "plain number"),
    "products": (lambda p: dp.derive(lambda t: t * t, _table(p)), "is none"),
    "one side": (lambda p: p["arm"].value_counts(epsilon=1), "takes a released table"),
    "one row": (lambda p: _table(p).loc[["A"]], "at least two rows"),
    "several rows": (lambda p: _table(_several(p)), r"per_unit\(\)"),
    "unknown labels": (lambda p: _unknown(p).size(epsilon=1), "Declare the labels"),
    "gaps": (_with_gaps, "some have none"),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_no_tables_of_counts_are_refused(p: Any, name: str) -> None:
    ask, said = ANSWERS[name]
    given = ask(p)
    with pytest.raises(QueryError, match=said):
        dp.stats.chi2_contingency(given)


def test_answers_without_a_record_are_refused(p: Any) -> None:
    table = p.crosstab("arm", "place", epsilon=1)
    for given in (table.to_numpy(), table * 2, shop(), 5, [[1, 2], [3, 4]]):
        with pytest.raises(RecordError):
            dp.stats.chi2_contingency(given)
    with pytest.raises(RecordError):
        dp.stats.chisquare([1, 2, 3])
    counts = p["place"].value_counts(epsilon=1)
    with pytest.raises(QueryError, match="f_exp= is public"):
        dp.stats.chisquare(counts, counts)
    with pytest.raises(QueryError, match="costs nothing"):
        dp.stats.chi2_contingency(table, epsilon=1)
    whole = dp.make_consistent(table, p["arm"].value_counts(epsilon=1), integers=True)[0]
    with pytest.raises(QueryError, match="nobody knows the law"):
        dp.stats.chi2_contingency(whole)


# --- how often they are wrong ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench() -> Any:
    return script("benchmarks/inference_tables.py")


def test_false_alarms_are_few_at_a_look(bench: Any) -> None:
    """1,500 tables each: of a size of .055 more than .085 is one chance in 2·10^6; the tests of
    scipy, which don't know of the noise, have .12 to .45 here."""
    for setting in (
        bench.Setting("chi2", "3×4 skewed", 200, 0.5),
        bench.Setting("fit", "1×6 skewed", 200, 0.3),
        bench.Setting("two-sided", "2×2 rare", 200, 0.3),
    ):
        size, _ = bench.measured(setting, 1500)
        assert 0.02 < size < 0.085, setting
        naive, _ = bench.of_scipy(setting, 1500, noisy=True)
        assert naive > 0.11, setting


@pytest.mark.nightly
def test_false_alarms_are_as_few_as_said(bench: Any) -> None:
    """20,000 tables each, at sizes that were measured as at most .056 and .012: more than .064 and
    .016 are one chance in 10^6 each."""
    for setting in bench.NULLS:
        large, small = bench.measured(setting, 20_000)
        assert large < 0.064, setting
        assert small < 0.016, setting


@pytest.mark.nightly
def test_power_is_near_that_of_a_test_of_the_rows(bench: Any) -> None:
    """5,000 tables of 1,000 units each, at ε = 1: within .07, and .045 for chance (1e-6)."""
    for setting in bench.EFFECTS:
        own, _ = bench.measured(setting, 5000)
        raw, _ = bench.of_scipy(setting, 5000, noisy=False)
        assert own > raw - 0.07 - 0.045, setting


def test_fishers_exact_tail_of_what_is_impossible_but_for_rounding_is_nil(exact: None) -> None:
    """Beyond the numbers that are looked at, which is below 1e-100."""
    for cells in ([[4000, 0], [0, 4000]], [[0, 4000], [4000, 0]]):
        table = pd.DataFrame({
            "a": np.repeat([0, 0, 1, 1], np.ravel(cells)),
            "b": np.repeat([0, 1, 0, 1], np.ravel(cells)),
        })  # fmt: skip
        anew(epsilon=64)
        p = dp.protect(table, name="apart", domain={"a": [0, 1], "b": [0, 1]})
        assert dp.stats.fisher_exact(p.crosstab("a", "b", epsilon=60)).pvalue < 1e-50


def test_that_rows_of_several_releases_are_of_other_units_is_the_callers_statement() -> None:
    anew(epsilon=100)
    frame = pd.DataFrame({"a": np.arange(400) % 2, "b": np.arange(400) % 3})
    p = dp.protect(frame, name="parts", domain={"a": [0, 1], "b": [0, 1, 2]})
    each = [p.query(f"a == {a}")["b"].value_counts(epsilon=1) for a in (0, 1)]
    assert "your statement" in repr(dp.stats.chi2_contingency(each))
    assert "your statement" not in repr(dp.stats.chi2_contingency(p.crosstab("a", "b", epsilon=1)))
