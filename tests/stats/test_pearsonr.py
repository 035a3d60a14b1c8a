"""Correlations that were released: whether they are any, and their intervals."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from ledgers import anew
from scipy import stats

import dppandas as dp
from dppandas.errors import LineageError, QueryError, RecordError
from dppandas.findings.simulation import Simulation
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.statistics.moments.covariance import _design
from dppandas.stats import pearsonr
from dppandas.stats.correlation import Figures, Pair, PearsonRResult

Floats = npt.NDArray[np.float64]

DOMAIN: dict[str, Any] = {"x": (0, 64), "y": (0, 64), "z": (0, 64)}
ALTERNATIVES = ["two-sided", "less", "greater"]
#: What a row adds to the nine sums of a pair.
ROW = 2**30


def table(rows: int = 1000, seed: int = 5, correlation: float = 0.0) -> pd.DataFrame:
    """Values on a grid on which the shares of a pair are exact."""
    x, y, z = np.random.default_rng(seed).normal(size=(3, rows))
    y = correlation * x + np.sqrt(1 - correlation**2) * y
    each = {name: np.rint(32 + 8 * of).clip(0, 64) for name, of in {"x": x, "y": y, "z": z}.items()}
    return pd.DataFrame({**each, "g": np.arange(rows) % 2, "who": np.arange(rows) // 2})


def protected(df: pd.DataFrame, name: str) -> Any:
    return dp.protect(df.drop(columns=["who", "g"]), name=name, domain=DOMAIN)


def nearer(record: Any) -> Any:
    """Another look, which noise decided."""
    return record.refine(until=0.7 * record.error())


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5)
    return protected(table(), "pairs")


def of_pair(p: Any, epsilon: float = 1) -> Any:
    return p["x"].corr(p["y"], epsilon=epsilon)


def law(epsilon: float) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(ROW) / Fraction(epsilon))


def pair_under(noise: Any) -> Pair:
    """The nine sums of two columns."""
    design = tuple(tuple(x / 4 for x in row) for row in zip(*_design(3, 2), strict=True))
    return Pair(noise, design, 1, ROW)


NOTHING = DiscreteLaplace(Fraction(0))


@pytest.mark.parametrize("correlation", [0.0, 0.05, -0.3])
def test_without_noise_it_is_that_of_scipy(exact: None, correlation: float) -> None:
    """Statistic, p-value and interval of the exact sums, by a law without noise."""
    anew(epsilon=10**5)
    df = table(300, correlation=correlation)
    answer = of_pair(protected(df, "exact"))
    record = dp.record(answer)
    sums = record._statistic.sums(record._noisy, 0, 1)
    pair, seen = Pair.of(sums, NOTHING), np.array([float(s) / (4 * ROW) for s in sums.all])
    for alternative in ALTERNATIVES:
        expected = stats.pearsonr(df["x"], df["y"], alternative=alternative)
        found = pair.pvalue(seen, Simulation([], ""), 99, alternative)
        assert float(found) == pytest.approx(expected.pvalue, rel=1e-9)
        assert answer == pytest.approx(expected.statistic, abs=1e-10)
        interval = pair.interval(seen, float(answer), alternative)
        for level in (0.9, 0.999):
            ends = expected.confidence_interval(level)
            assert interval(level) == pytest.approx(tuple(ends), abs=1e-9)


def test_with_little_noise_it_is_near_that_of_scipy(exact: None) -> None:
    """Within six deviations of what 9,999 draws tell."""
    anew(epsilon=10**5)
    df = table(10_000)
    answer = of_pair(protected(df, "many"), 64)
    for alternative in ALTERNATIVES:
        found = pearsonr(answer, alternative=alternative)
        expected = stats.pearsonr(df["x"], df["y"], alternative=alternative)
        assert found.statistic == found.correlation == pytest.approx(expected.statistic, abs=1e-9)
        assert found.pvalue == pytest.approx(expected.pvalue, abs=6 * 0.005)
        ends = found.confidence_interval(0.99)
        assert tuple(ends) == pytest.approx(tuple(expected.confidence_interval(0.99)), abs=1e-3)
        assert ends.low <= ends.high


# simulated draws of the law


def exact_sums(
    rows: int, means: Any, deviations: Any, correlation: float, simulation: Simulation, times: int
) -> Floats:
    """The sums of 1, u, v, u², uv and v² of normal samples, by Bartlett's decomposition."""
    generator = simulation.generator
    own, along = generator.chisquare(rows - 1, times) ** 0.5, generator.normal(size=times)
    across = generator.chisquare(rows - 2, times)
    rest = np.sqrt(1 - correlation**2)
    first, second = generator.normal(size=(2, times))
    u = means[0] + deviations[0] * first / np.sqrt(rows)
    v = means[1] + deviations[1] * (correlation * first + rest * second) / np.sqrt(rows)
    beside = correlation * own + rest * along
    uu, vv = deviations[0] ** 2 * own**2, deviations[1] ** 2 * (beside**2 + rest**2 * across)
    uv = deviations[0] * deviations[1] * own * beside
    one = np.full(times, float(rows))
    each = one, rows * u, rows * v, uu + rows * u * u, uv + rows * u * v, vv + rows * v * v
    return np.stack(each, axis=-1)


def seen_sums(
    pair: Pair, rows: int, deviations: Any, correlation: float, times: int, means: Any = (0.5, 0.5)
) -> tuple[Floats, Simulation]:
    simulation = Simulation([], f"seen {rows} {deviations} {correlation} {pair.law.scale}")
    exact = exact_sums(rows, means, deviations, correlation, simulation, times)
    return exact + pair.noise(simulation, (times,)), simulation


def naive_pvalues(pair: Pair, seen: Floats) -> Floats:
    """Scipy's of the released correlation, as if the rows had it."""
    found = pair.figures(seen)
    r = found.uv / np.sqrt(np.maximum(found.uu * found.vv, 1e-12))
    t = np.abs(r) * np.sqrt((found.rows - 2) / np.maximum(1 - r * r, 1e-12))
    return np.asarray(2 * stats.t.sf(t, found.rows - 2))


@pytest.mark.statistical
def test_independent_columns_correlate_as_seldom_as_said() -> None:
    """2,000 draws of the law: more than 162 p-values up to .05 have a probability of 1e-6 at a size
    of .055; a test without the noise in its errors has hundreds."""
    for rows, epsilon in ((300, 1), (1000, 0.3)):
        pair = pair_under(law(epsilon))
        seen, simulation = seen_sums(pair, rows, (1 / 8, 1 / 8), 0.0, 2000)
        for alternative in ALTERNATIVES:
            found = pair.pvalue(seen, simulation, 99, alternative)
            assert (found <= 0.05).sum() <= stats.binom.isf(1e-6, 2000, 0.055)
            assert (found <= 0.5).sum() > 880
        assert (naive_pvalues(pair, seen) <= 0.05).sum() > 500


@pytest.mark.nightly
@pytest.mark.statistical
def test_sizes_are_as_measured() -> None:
    """20,000 draws of each: docs/inference.md says at most .053 at .05 and .012 at .01."""
    for rows in (100, 1000, 10_000):
        for epsilon in (0.3, 1):
            for means, deviations in (((0.5, 0.5), (1 / 8, 1 / 8)), ((0.2, 0.5), (0.05, 1 / 8))):
                pair = pair_under(law(epsilon))
                seen, simulation = seen_sums(pair, rows, deviations, 0.0, 20_000, means)
                found = pair.pvalue(seen, simulation, 199, "two-sided")
                assert (found <= 0.05).sum() <= stats.binom.isf(1e-6, 20_000, 0.053)
                assert (found <= 0.01).sum() <= stats.binom.isf(1e-6, 20_000, 0.012)


def misses(rows: int, epsilon: float, correlation: float, times: int, level: float) -> int:
    pair = pair_under(law(epsilon))
    seen, _ = seen_sums(pair, rows, (1 / 8, 1 / 8), correlation, times)
    intervals = [pair.interval(each, 0.0, "two-sided") for each in seen]
    return sum(
        not all(
            interval.is_hidden or interval.is_possible(sign * correlation, 1 - level, sign)
            for sign in (1, -1)
        )
        for interval in intervals
    )


@pytest.mark.statistical
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_hold(correlation: float) -> None:
    """In 300 draws of each: more than 42 misses of 95 % intervals have a probability of 2.5e-7 if
    they hold in 94 %. Without the noise in them more than a quarter misses."""
    for rows, epsilon in ((300, 1), (1000, 1)):
        assert misses(rows, epsilon, correlation, 300, 0.95) <= 42


@pytest.mark.nightly
@pytest.mark.statistical
def test_intervals_hold_as_measured() -> None:
    """2,000 draws of each: docs/inference.md says in 94 % and in 98.5 %."""
    for rows in (300, 1000):
        for correlation in (0.0, 0.9):
            for level, held in ((0.95, 0.94), (0.99, 0.985)):
                found = misses(rows, 1, correlation, 2000, level)
                assert found <= stats.binom.isf(1e-6, 2000, 1 - held)


def test_ends_are_the_last_possible_correlations() -> None:
    pair = pair_under(law(1))
    seen = np.array([1000, 500, 500, 265.625, 255, 265.625])
    interval = pair.interval(seen, 0.32, "two-sided")
    low, high = interval(0.95)
    assert low < 0.32 < high
    for end, sign in ((low, 1), (high, -1)):
        assert interval.is_possible(sign * end + 1e-6, 0.05, sign)
        assert not interval.is_possible(sign * end - 1e-6, 0.05, sign)
    without = pair_under(NOTHING).interval(seen, 0.32, "two-sided")(0.95)
    assert high - low > 1.3 * (without[1] - without[0])
    less = pair.interval(seen, 0.32, "less")(0.975)
    greater = pair.interval(seen, 0.32, "greater")(0.975)
    assert less == pytest.approx((-1, high), abs=1e-9)
    assert greater == pytest.approx((low, 1), abs=1e-9)


def test_no_variance_is_no_error() -> None:
    """What noise makes impossible: a negative variance, a correlation beyond 1, hardly a row."""
    pair = pair_under(law(1))
    for sums in ([1000, 500, 500, 240.0, 255, 265], [-5.0, 1, 1, 1, 1, 1], [0.0] * 6):
        seen = np.array(sums)
        assert np.isfinite(pair.statistic(pair.figures(seen)))
        assert 0 < float(pair.pvalue(seen, Simulation([], "none"), 999, "two-sided")) <= 1
        assert pair.interval(seen, 0.0, "two-sided")(0.95) == (-1, 1)
    beyond = np.array([1000, 500, 500, 265, 265.5, 265])
    low, high = pair.interval(beyond, 1.0, "two-sided")(0.95)
    assert 0 < low < high == 1


def test_draws_have_the_moments_that_they_are_made_with() -> None:
    """Sums without noise, of 40,000 samples: within six deviations or more."""
    pair = pair_under(NOTHING)
    rows = np.array(50.0)
    given = Figures(rows, *map(np.array, (0.4, 0.6, 0.01, 0.0, 0.02)))
    found = pair.figures(pair.drawn(given, Simulation([], "moments"), 40_000))
    assert found.u.var() == pytest.approx(0.01 / 50, rel=0.05)
    assert found.v.var() == pytest.approx(0.02 / 50, rel=0.05)
    assert found.uu.mean() == pytest.approx(0.01 * 49 / 50, rel=0.01)
    assert found.vv.mean() == pytest.approx(0.02 * 49 / 50, rel=0.01)
    assert abs(found.uv.mean()) < 1e-4
    r = found.uv / np.sqrt(found.uu * found.vv)
    assert r.var() == pytest.approx(1 / 49, rel=0.05)


def test_noise_of_sums_has_the_variance_that_is_counted() -> None:
    """20,000 draws: within 5 %, more than six deviations."""
    pair = pair_under(law(1))
    seen = np.array([1000, 500, 500, 265.625, 255, 265.625])
    found = pair.figures(seen)
    off = pair.figures(seen + pair.noise(Simulation([], "noise"), (20_000,)))
    assert off.uv.var() == pytest.approx(float(pair.of_covariance(found)), rel=0.08)
    variances = [float(each) for each in pair._of_variances(found)]
    assert off.uu.var() == pytest.approx(variances[0], rel=0.08)
    assert off.vv.var() == pytest.approx(variances[1], rel=0.08)


# on the whole road


@pytest.mark.statistical
def test_what_correlates_is_found(p: Any) -> None:
    """A correlation of ½ among 1,000 rows at ε = 1: it is missed less than once in 10^9 runs."""
    q = protected(table(correlation=0.5), "correlated")
    found = pearsonr(q["x"], q["y"], epsilon=1)
    assert found.pvalue < 0.05
    low, high = found.confidence_interval(1 - 1e-7)
    assert low < 0.5 < high
    assert pearsonr(q["x"], q["y"], alternative="less", epsilon=1).pvalue > 0.5
    assert pearsonr(q["x"], q["y"], alternative="greater", epsilon=1).pvalue < 0.05


def test_one_answer_has_one_p_value(p: Any) -> None:
    answer = of_pair(p)
    spent = dp.ledger().spent
    found = pearsonr(answer)
    assert isinstance(found, PearsonRResult)
    assert found.statistic == pytest.approx(float(answer), abs=1e-10)
    again = pickle.loads(pickle.dumps(pearsonr(pickle.loads(pickle.dumps(answer)))))
    assert tuple(again) == (found.statistic, found.pvalue)
    assert again.confidence_interval() == found.confidence_interval()
    assert dp.ledger().spent == spent
    assert not found.exact


def test_private_columns_are_released_first(p: Any) -> None:
    spent = dp.ledger().spent
    found = pearsonr(p["x"], p["y"], epsilon=0.7)
    assert dp.ledger().spent == spent + Fraction(7, 10)
    assert pearsonr(of_pair(p, 0.7)).pvalue == found.pvalue
    assert pearsonr(p["x"].corr(p["y"]), epsilon=0.7).pvalue == found.pvalue
    assert dp.ledger().spent == spent + Fraction(7, 10)


def test_entries_of_tables_are_tested(exact: None) -> None:
    """Of blocks of three columns, of complete rows, of groups, and by one vector for Gaussian
    noise, which isn't taken away: all have the correlation of their rows."""
    anew(epsilon=10**5)
    df = table(600, correlation=0.3)
    expected = stats.pearsonr(df["x"], df["y"]).statistic
    p = protected(df, "tables")
    tables = {
        "blocks": p.corr(epsilon=8), "complete": p.corr(dropna=True, epsilon=8),
        "pair": p[["x", "y"]].corr(epsilon=8),
        "twice": dp.record(p[["x", "y"]].corr(epsilon=4)).refine(epsilon=4),
    }  # fmt: skip
    anew(rho=1000, delta=1e-6)
    tables["vector"] = protected(df, "vector").corr(dropna=True, rho=8)
    assert isinstance(dp.record(tables["vector"])._law, DiscreteGaussian)
    for name, answer in tables.items():
        found, near = pearsonr(answer.loc[["y"], ["x"]]), 0.1 if name == "vector" else 1e-6
        assert found.statistic == pytest.approx(expected, abs=near), name
        assert found.pvalue < 0.01, name
        derived = dp.derive(lambda c: c.loc["y", "x"], answer)
        assert pearsonr(derived).pvalue == found.pvalue
        if "z" in answer:
            expected_z = stats.pearsonr(df["x"], df["z"]).statistic
            found = pearsonr(answer.loc[["x"], ["z"]])
            assert found.statistic == pytest.approx(expected_z, abs=near), name
    anew(epsilon=10**5)
    q = dp.protect(df.drop(columns="who"), name="by group", domain={**DOMAIN, "g": [0, 1]})
    by_group = q.groupby("g")[["x", "y"]].corr(epsilon=8)
    one = df[df["g"] == 1]
    found = pearsonr(by_group.loc[[(1, "x")], ["y"]])
    assert found.statistic == pytest.approx(stats.pearsonr(one["x"], one["y"])[0], abs=1e-6)


def test_it_says_what_noise_did(exact: None, p: Any) -> None:
    said = repr(pearsonr(of_pair(p)))
    assert said.startswith("pearsonr: statistic=")
    assert "95 % interval of the correlation: " in said
    assert "of the variance of the covariance is noise, which 9,999 draws" in said
    assert "Too few rows" not in said
    few = pearsonr(of_pair(p, 0.01))
    assert "Too few rows: noise hides how" in repr(few)
    assert few.confidence_interval() == (-1, 1)


REFUSED: dict[str, tuple[Any, str]] = {
    "covariance": (lambda p: pearsonr(p["x"].cov(p["y"], epsilon=1)), "takes a correlation, and"),
    "mean": (lambda p: pearsonr(p["x"].mean(epsilon=1)), "takes a correlation, and"),
    "table": (lambda p: pearsonr(p.corr(epsilon=1)), "one correlation, and these are 9"),
    "diagonal": (lambda p: pearsonr(p.corr(epsilon=1).loc[["x"], ["x"]]), "with itself is 1"),
    "computed": (lambda p: pearsonr(dp.derive(lambda r: 2 * r, of_pair(p))), "as it was released"),
    "looks": (
        lambda p: pearsonr(nearer(dp.record(of_pair(p)))), "decided how many",
    ),
    "y beside it": (lambda p: pearsonr(of_pair(p), p["y"]), "a released correlation alone"),
    "options": (lambda p: pearsonr(of_pair(p), epsilon=1), "costs nothing: leave epsilon="),
}  # fmt: skip

BEFORE: dict[str, tuple[Any, str]] = {
    "no epsilon": (lambda p: pearsonr(p["x"], p["y"]), "Give epsilon="),
    "no y": (lambda p: pearsonr(p["x"], epsilon=1), "takes two private columns"),
    "frame": (lambda p: pearsonr(p.groupby("x", keys=[1])["y"], epsilon=1), "two private columns"),
    "plain y": (lambda p: pearsonr(p["x"], [1, 2], epsilon=1), "takes two private columns"),
    "table": (lambda p: pearsonr(p.corr(), epsilon=1), "one pair of columns"),
    "covariance": (lambda p: pearsonr(p["x"].cov(p["y"]), epsilon=1), "takes a correlation"),
    "count": (lambda p: pearsonr(p["x"].count(), epsilon=1), "takes a correlation"),
    "side": (lambda p: pearsonr(p["x"], p["y"], alternative="more", epsilon=1), "alternative="),
    "draws": (lambda p: pearsonr(p["x"], p["y"], n_resamples=9, epsilon=1), "n_resamples=9"),
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
    for asked in ((p["x"], p["y"]), (p["x"].corr(p["y"]),)):
        with pytest.raises(QueryError, match=r"per_unit\(\)"):
            pearsonr(*asked, epsilon=1)
    assert dp.ledger().spent == 0
    with pytest.raises(QueryError, match=r"per_unit\(\)"):
        pearsonr(of_pair(p))


def test_columns_of_other_rows_and_plain_numbers_are_refused(p: Any) -> None:
    q = protected(table(), "others")
    with pytest.raises(LineageError, match="different rows"):
        pearsonr(p["x"], q["y"], epsilon=1)
    for plain in (table()["x"], 0.5, float(of_pair(p)), [1.0, 2.0]):
        with pytest.raises(RecordError, match=r"scipy\.stats|record"):
            pearsonr(plain, table()["y"])
