"""One-way analysis of variance of means that were released."""

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from scipy import stats

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.findings.simulation import Simulation
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.stats import f_oneway
from dppandas.stats.resampling import in_percent
from dppandas.stats.variance_analysis import Found, OneWay

GROUPS = ["a", "b", "c"]
DOMAIN: dict[str, Any] = {"g": GROUPS, "x": (0, 64), "y": (0, 64)}
#: What a row adds to the three sums of its group.
ROW = 2**30
NOTHING = DiscreteLaplace(Fraction(0))


def table(rows: int = 900, seed: int = 5) -> pd.DataFrame:
    """Values on the grid of the bounds, so that sums are exact."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "g": rng.choice(GROUPS, rows, p=[0.5, 0.3, 0.2]),
        "x": np.rint(8 * rng.normal(30, 8, rows)).clip(0, 512) / 8,
        "y": rng.normal(30, 8, rows), "is": rng.random(rows) < 0.5, "who": np.arange(rows) // 2,
    })  # fmt: skip


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5, delta=1e-3)
    return dp.protect(table().drop(columns="who"), name="groups", domain=DOMAIN)


def of_groups(p: Any, epsilon: float = 1, column: str = "x") -> Any:
    return p.groupby("g")[column].mean(inference=True, epsilon=epsilon)


def test_without_noise_it_is_that_of_scipy(p: Any, exact: None) -> None:
    """Statistic and p-value of the exact sums, by a law without noise."""
    df, noisy = table(), dp.record(of_groups(p))._noisy
    each = [df["x"][df["g"] == g] for g in GROUPS]
    for equal_var in (True, False):
        expected = stats.f_oneway(*each, equal_var=equal_var)
        analysis = OneWay(NOTHING, ROW, equal_var)
        found = analysis.found(np.array(noisy, dtype=float).reshape(3, 3) / ROW)
        assert float(analysis.statistic(found)) == pytest.approx(expected.statistic, rel=1e-9)
        pvalue = float(analysis.pvalue(found, Simulation([], ""), 99))
        assert pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_with_little_noise_it_is_near_that_of_scipy(exact: None) -> None:
    """Within six deviations of what 9,999 draws tell."""
    anew(epsilon=1000)
    df = table(9000)
    p = dp.protect(df.drop(columns="who"), name="many", domain=DOMAIN)
    each = [df["x"][df["g"] == g] for g in GROUPS]
    for equal_var in (True, False):
        statistic, pvalue = f_oneway(of_groups(p, 64), equal_var=equal_var)
        expected = stats.f_oneway(*each, equal_var=equal_var)
        assert statistic == pytest.approx(expected.statistic, rel=1e-4)
        assert pvalue == pytest.approx(expected.pvalue, abs=6 * 0.005)


def test_noise_is_counted_and_not_found(p: Any) -> None:
    """A group more than half of whose error is noise counts by less than it would without."""
    law = DiscreteLaplace(Fraction(ROW))
    with_noise, without = OneWay(law, ROW, True), OneWay(NOTHING, ROW, True)
    sums = np.array([[30.0, 31, 29], [40, 39, 41], [30, 30, 30]])
    found = with_noise.found(sums)
    # the noise of a mean of 1/2 is (high - low)/2n: its variance is 2·2/(4n²)
    assert found.of_mean[2] == pytest.approx(1 / 100**2, rel=1e-2)
    assert with_noise.share_of_noise(found).max() < 0.2
    assert with_noise.statistic(found) < without.statistic(without.found(sums))


def simulated_sizes(
    rows: Any, epsilon: float, equal_var: bool, times: int, number: int, ratio: float = 8
) -> tuple[Any, Any]:
    """P-values of groups of one mean, and scipy's of what was released, by the exact law: values
    are normal, with as many deviations between the bounds."""
    law = DiscreteLaplace(Fraction(ROW) / Fraction(epsilon))
    exactly, analysis = (OneWay(each, ROW, equal_var) for each in (NOTHING, law))
    rows = np.broadcast_to(np.array(rows, dtype=float), (times, len(rows)))
    half, wide = np.full(rows.shape, 0.5), np.full(rows.shape, ratio**-2)
    simulation = Simulation([], f"sizes {rows[0]} {epsilon}")
    sums = exactly.drawn(Found(rows, half, wide, wide, wide), simulation, 1)[:, 0]
    sums = sums + simulation.noise(law, sums.shape) / ROW
    naive = exactly.pvalue(exactly.found(sums), simulation, 99)
    return analysis.pvalue(analysis.found(sums), simulation, number), naive


@pytest.mark.statistical
@pytest.mark.parametrize("equal_var", [True, False])
def test_groups_of_one_mean_differ_as_seldom_as_said(equal_var: bool) -> None:
    """2,000 draws of the law: more than 168 p-values up to .05 have a probability of 1e-6 at a size
    of .058, the largest that is measured; a test without the noise in its errors has hundreds."""
    for rows, epsilon in (([100] * 3, 1), ([20, 50, 200], 0.3)):
        found, naive = simulated_sizes(rows, epsilon, equal_var, 2000, 99)
        assert (found <= 0.05).sum() <= stats.binom.isf(1e-6, 2000, 0.058)
        assert (found <= 0.5).sum() > 900
        assert (naive <= 0.05).sum() > 250


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("equal_var", [True, False])
def test_sizes_are_as_measured(equal_var: bool) -> None:
    """20,000 draws of each: docs/inference.md says at most .059 at .05 and .0145 at .01."""
    for rows in ([20] * 3, [100] * 3, [1000] * 3, [20, 50, 200], [100] * 5):
        for epsilon in (0.3, 1):
            found, _ = simulated_sizes(rows, epsilon, equal_var, 20_000, 199)
            assert (found <= 0.05).sum() <= stats.binom.isf(1e-6, 20_000, 0.059)
            assert (found <= 0.01).sum() <= stats.binom.isf(1e-6, 20_000, 0.0145)


@pytest.mark.statistical
def test_equal_groups_differ_seldom_on_the_whole_road() -> None:
    """60 tables drawn anew: more than 15 p-values up to .05 have a probability of 4e-7 at a size of
    .058."""
    anew(epsilon=10**5)
    found = 0
    for seed in range(60):
        p = dp.protect(table(150, seed).drop(columns="who"), name=f"road {seed}", domain=DOMAIN)
        found += f_oneway(p.groupby("g")["x"], epsilon=0.5, n_resamples=199).pvalue <= 0.05
    assert found <= 15


@pytest.mark.statistical
def test_groups_that_differ_are_found(p: Any) -> None:
    """By half a deviation, of 300 rows each at ε = 1: it is missed about once in 10^9 runs."""
    df = table(900).assign(g=np.repeat(GROUPS, 300))
    df["x"] += df["g"].map({"a": -4, "b": 0, "c": 4})
    q = dp.protect(df.drop(columns="who"), name="apart", domain=DOMAIN)
    for equal_var in (True, False):
        assert f_oneway(q.groupby("g")["x"], epsilon=1, equal_var=equal_var).pvalue < 0.05


def test_draws_have_the_moments_that_they_are_made_with() -> None:
    """Sums without noise, of 40,000 samples: the variance of means and the mean of variances are
    within 3 %, six deviations of both or more."""
    analysis = OneWay(NOTHING, ROW, False)
    given = Found(*np.array([[10, 50], [0.4, 0.6], [0.01, 0.02], [0, 0], [0, 0]], dtype=float))
    found = analysis.found(analysis.drawn(given, Simulation([], "moments"), 40_000))
    assert found.rows == pytest.approx(np.broadcast_to(given.rows, (40_000, 2)))
    assert found.mean.mean(axis=0) == pytest.approx(given.mean, abs=2e-3)
    assert found.mean.var(axis=0) == pytest.approx(given.variance / given.rows, rel=0.05)
    assert found.variance.mean(axis=0) == pytest.approx(given.variance, rel=0.03)
    spread = 2 * given.variance**2 / (given.rows - 1)
    assert found.variance.var(axis=0) == pytest.approx(spread, rel=0.1)


def test_small_variances_are_drawn_larger_by_half_a_deviation_of_their_noise() -> None:
    sums = np.array([[6.0, 6, 6], [8, 8, 8], [6, 6, 6]])
    for equal_var in (True, False):
        analysis = OneWay(DiscreteLaplace(Fraction(ROW)), ROW, equal_var)
        found = analysis.found(sums)
        noise = math.sqrt(found.of_variance[0] / (3 if equal_var else 1))
        drawn = analysis._drawn_with(found).variance
        assert drawn == pytest.approx(np.full(3, found.variance[0] + 0.5 * noise))


def test_no_variance_and_no_rows_are_no_error() -> None:
    """What noise makes impossible: negative sums, hardly a row, no variance."""
    for equal_var in (True, False):
        analysis = OneWay(DiscreteLaplace(Fraction(ROW)), ROW, equal_var)
        sums = np.array([[-3.0, 0, 5], [-2, 0, 9], [-1, 0, 5]])
        found = analysis.found(sums)
        assert np.isfinite(analysis.statistic(found))
        assert 0 < float(analysis.pvalue(found, Simulation([], "none"), 999)) <= 1
        exact = OneWay(NOTHING, ROW, equal_var)
        same = exact.found(np.array([[9.0, 9], [0, 0], [0, 0]]))
        assert exact.statistic(same) == 0
        assert float(exact.pvalue(same, Simulation([], ""), 99)) == 1


def test_one_answer_has_one_p_value(p: Any) -> None:
    means = of_groups(p)
    found = f_oneway(means)
    spent = dp.ledger().spent
    parts = f_oneway(means.loc[["c", "a"]], means.loc[["b"]])
    assert (parts.statistic, parts.pvalue) == (found.statistic, found.pvalue)
    again = pickle.loads(pickle.dumps(f_oneway(pickle.loads(pickle.dumps(means)))))
    assert tuple(again) == (found.statistic, found.pvalue)
    assert f_oneway(dp.derive(lambda m: m, means)).pvalue == found.pvalue
    assert f_oneway(means, equal_var=False).statistic != found.statistic
    assert dp.ledger().spent == spent
    both = p.groupby("g")["x"].agg(["mean", "std"], epsilon=1)
    assert f_oneway(both["mean"]).statistic == found.statistic
    assert not found.exact
    with pytest.raises(QueryError, match="no interval"):
        found.confidence_interval()


def test_private_groups_are_released_first(p: Any) -> None:
    spent = dp.ledger().spent
    found = f_oneway(p.groupby("g")["x"], epsilon=0.7)
    assert dp.ledger().spent == spent + Fraction(7, 10)
    assert f_oneway(of_groups(p, 0.7)).pvalue == found.pvalue
    waiting = p.groupby("g")["x"].mean(inference=True)
    assert f_oneway(waiting, epsilon=0.7).pvalue == found.pvalue
    assert dp.ledger().spent == spent + Fraction(7, 10)


def test_other_noise_is_counted_as_well() -> None:
    anew(epsilon=10**5)
    p = dp.protect(table().drop(columns="who"), name="laws", domain=DOMAIN)
    twice = dp.record(of_groups(p, 0.1)).refine(epsilon=0.1)
    assert 0 < f_oneway(twice).pvalue <= 1
    anew(rho=100, delta=1e-6)
    p = dp.protect(table().drop(columns="who"), name="by rho", domain=DOMAIN)
    means = p.groupby("g")["x"].mean(inference=True, rho=0.1)
    assert isinstance(dp.record(means)._law, DiscreteGaussian)
    assert 0 < f_oneway(means).pvalue <= 1


def test_it_says_what_noise_did(exact: None, p: Any) -> None:
    found = f_oneway(of_groups(p))
    said = repr(found)
    assert said.startswith("f_oneway: statistic=")
    assert "one variance" in said
    assert "of the variance of a mean is noise, which 9,999 draws" in said
    assert "Too few rows" not in said
    assert "each with a variance of its own" in repr(f_oneway(of_groups(p), equal_var=False))
    few = f_oneway(of_groups(p, 0.01))
    assert "Too few rows: noise hides how values vary in" in repr(few)
    q = dp.protect(table().assign(x=[*range(64)] * 14 + [1] * 4).drop(columns="who"),
                   name="far", domain={"g": GROUPS, "x": (0, 64)})  # fmt: skip
    q = q.assign(x=lambda f: f["x"].where(f["g"] == "a", 60))
    lowest = f_oneway(q.groupby("g")["x"], epsilon=1, n_resamples=99)
    assert lowest.pvalue == 0.01
    assert "None of 99 draws was as large" in repr(lowest)


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing": (lambda p: f_oneway(), "takes means by group"),
    "two releases": (lambda p: f_oneway(of_groups(p), of_groups(p, 2)), "groups of one release"),
    "twice the same": (lambda p: f_oneway(of_groups(p), of_groups(p)), "each group once"),
    "two columns": (
        lambda p: f_oneway(p.groupby("g")[["x", "y"]].mean(inference=True, epsilon=1)),
        "each group once",
    ),
    "one group": (lambda p: f_oneway(of_groups(p).loc[["a"]]), "two groups or more"),
    "two sums": (lambda p: f_oneway(p.groupby("g")["x"].mean(epsilon=1)), "as two sums don't"),
    "deviations": (lambda p: f_oneway(p.groupby("g")["x"].std(epsilon=1)), "inference=True"),
    "shares": (lambda p: f_oneway(p.groupby("g")["is"].mean(epsilon=1)), "chi2_contingency"),
    "computed": (lambda p: f_oneway(dp.derive(lambda m: 2 * m, of_groups(p))), "as they were rel"),
    "looks": (
        lambda p: f_oneway(dp.record(of_groups(p, 0.1)).refine(until=4)),
        "decided how many releases",
    ),
    "options": (lambda p: f_oneway(of_groups(p), epsilon=1), "costs nothing: leave epsilon="),
}  # fmt: skip

BEFORE: dict[str, tuple[Any, str]] = {
    "no epsilon": (lambda p: f_oneway(p.groupby("g")["x"]), "Give epsilon="),
    "columns": (lambda p: f_oneway(p["x"], p["y"], epsilon=1), "private groups of one column"),
    "one column": (lambda p: f_oneway(p["x"], epsilon=1), "private groups of one column"),
    "truths": (lambda p: f_oneway(p.groupby("g")["is"], epsilon=1), "chi2_contingency"),
    "several": (lambda p: f_oneway(p.groupby("g")[["x", "y"]], epsilon=1), "2 columns"),
    "one key": (lambda p: f_oneway(p.groupby("g", keys=["a"])["x"], epsilon=1), "1 groups"),
    "found": (lambda p: f_oneway(p.groupby("y", delta=1e-6)["x"], epsilon=1), "declared keys"),
    "plain mean": (lambda p: f_oneway(p.groupby("g")["x"].mean(), epsilon=1), "inference=True"),
    "waiting": (
        lambda p: f_oneway(p.groupby("g")[["x", "y"]].mean(inference=True), epsilon=1),
        "2 columns",
    ),
    "variances": (lambda p: f_oneway(p.groupby("g")["x"], epsilon=1, equal_var=2), "equal_var=2"),
    "draws": (lambda p: f_oneway(p.groupby("g")["x"], epsilon=1, n_resamples=9), "n_resamples=9"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_test_says_what_has(p: Any, name: str) -> None:
    ask, said = REFUSED[name]
    with pytest.raises(QueryError, match=said):
        ask(p)


@pytest.mark.parametrize("name", BEFORE)
def test_what_is_refused_costs_nothing(p: Any, name: str) -> None:
    ask, said = BEFORE[name]
    spent = dp.ledger().spent
    with pytest.raises(QueryError, match=said):
        ask(p)
    assert dp.ledger().spent == spent


def test_several_rows_of_a_unit_are_refused_before_they_are_paid_for() -> None:
    anew(epsilon=10)
    p = dp.protect(table(), name="twice", unit="who", max_rows=2, domain=DOMAIN)
    for asked in (p.groupby("g")["x"], p.groupby("g")["x"].mean(inference=True)):
        with pytest.raises(QueryError, match=r"per_unit\(\)"):
            f_oneway(asked, epsilon=1)
    assert dp.ledger().spent == 0
    with pytest.raises(QueryError, match=r"per_unit\(\)"):
        f_oneway(of_groups(p))


def test_plain_numbers_are_refused(p: Any) -> None:
    means = of_groups(p)
    for plain in (table()["x"], [1.0, 2.0], means * 2, means.to_numpy()):
        with pytest.raises(RecordError):
            f_oneway(plain)


def test_rare_ones_are_no_difference() -> None:
    """Values of 0 and 1, whose middle sums are only noise: 40 tables of three equal arms. At most
    5 % are found: more than 11 in 40 have a chance of 3e-7."""
    rng, found = np.random.default_rng(9), 0
    anew(epsilon=10**4)
    for run in range(40):
        frame = pd.DataFrame({"g": np.arange(3000) % 3, "x": (rng.random(3000) < 0.03) * 1})
        p = dp.protect(frame, name=f"rare {run}", domain={"g": [0, 1, 2], "x": (0, 1)})
        found += f_oneway(p.groupby("g")["x"], epsilon=1, n_resamples=999).pvalue <= 0.05
    assert found <= 11


def test_groups_that_vary_differently_are_said_to(exact: None) -> None:
    anew(epsilon=10**4)
    rng = np.random.default_rng(2)
    x = rng.normal(32, 1, 3000) * np.where(np.arange(3000) % 3, 1, 0) + 10
    wide = rng.normal(0, 8, 3000) * (np.arange(3000) % 3 == 2)
    frame = pd.DataFrame({"g": np.array(GROUPS)[np.arange(3000) % 3], "x": x, "y": x + wide})
    frame.loc[frame["g"] == "a", ["x", "y"]] += rng.normal(0, 1, (1000, 2))
    p = dp.protect(frame, name="unequal", domain=DOMAIN)
    alike, unlike = (p.groupby("g")[name].mean(epsilon=8, inference=True) for name in "xy")
    assert "equal_var=False" not in repr(f_oneway(alike))
    assert "equal_var=False" in repr(f_oneway(unlike))
    assert "equal_var=False" not in repr(f_oneway(unlike, equal_var=False))


@pytest.mark.parametrize(
    ("share", "said"),
    [(1, "100"), (0.996, "100"), (0.994, "99"), (0.104, "10"), (0.0123, "1.2"), (1e-5, "0.001")],
)
def test_shares_are_written_as_numbers(share: float, said: str) -> None:
    assert in_percent(share) == said
