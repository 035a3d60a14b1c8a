"""Tables, histograms and popularity: against pandas without noise, by hand, and their coverage."""

import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exact import laplace_pmf
from hypothesis import example, given
from hypothesis import strategies as st
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError
from dppandas.privacy.accuracy import ratios
from dppandas.privacy.accuracy.margins import half_widths
from dppandas.privacy.accuracy.ratios import Terms
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.rows.expressions import table_lookups
from dppandas.statistics.counting.contingency import descending

RNG = np.random.default_rng(5)
N = 400
FRAME = pd.DataFrame({
    "sex": RNG.choice(["f", "m"], N), "educ": RNG.choice([9, 12, 16], N),
    "child": RNG.random(N) < 0.5, "age": RNG.integers(17, 61, N) * 1.0,
})  # fmt: skip
KEYS = {"sex": ["f", "m"], "educ": [9, 12, 16], "child": [False, True]}
SIDES: list[tuple[Any, Any]] = [
    ("sex", "educ"), ("educ", "child"), (["sex", "child"], "educ"), ("educ", ["child", "sex"]),
    (["child", "educ"], ["sex"]),
]  # fmt: skip


def keys_of(*sides: Any) -> dict[str, list[Any]]:
    names = [n for side in sides for n in (side if isinstance(side, list) else [side])]
    return {name: KEYS[name] for name in names}


def as_pandas(*sides: Any, **more: Any) -> pd.DataFrame:
    plain = [[FRAME[n] for n in x] if isinstance(x, list) else FRAME[x] for x in sides]
    return pd.crosstab(*plain, **more)


#: pandas' own types of labels are not ours.
LOOSE: dict[str, Any] = {"check_index_type": False, "check_column_type": False}


# --- crosstab -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_without_noise_it_is_the_crosstab_of_pandas(sides: tuple[Any, Any], margins: bool) -> None:
    found = FRAME.dp.crosstab(*sides, keys=keys_of(*sides), margins=margins, epsilon=1)
    pd.testing.assert_frame_equal(found, as_pandas(*sides, margins=margins), **LOOSE)
    assert set(found.dtypes) == {np.dtype("int64")}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("normalize", [True, "all", "index", "columns"])
@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("sides", SIDES[:3], ids=str)
def test_without_noise_shares_are_as_in_pandas(sides: Any, margins: bool, normalize: Any) -> None:
    said = {"margins": margins, "normalize": normalize}
    found = FRAME.dp.crosstab(*sides, keys=keys_of(*sides), epsilon=1, **said)
    pd.testing.assert_frame_equal(found, as_pandas(*sides, **said), **LOOSE, rtol=1e-8)
    assert (found.to_numpy() * 2**30 % 1 == 0).all()  # a public grid


@pytest.mark.usefixtures("exact")
def test_private_columns_cross_like_plain_ones() -> None:
    p = dp.private(FRAME, unit="row")
    of_frame = p.crosstab("sex", ["educ", "child"], keys=KEYS, epsilon=1)
    of_columns = dp.crosstab(p["sex"], [p["educ"], p["child"]], keys=KEYS, epsilon=1)
    pd.testing.assert_frame_equal(of_frame, of_columns)
    found = dp.crosstab(p["age"] > 30, p["sex"].rename("who"), keys={"who": KEYS["sex"]}, epsilon=1)
    exact = pd.crosstab(FRAME["age"] > 30, FRAME["sex"].rename("who"))
    pd.testing.assert_frame_equal(found, exact, check_column_type=False)
    old = p.query("age > 30")
    found = dp.crosstab(old["sex"], old["child"], keys=keys_of("sex", "child"), epsilon=1)
    assert found.sum().sum() == (FRAME["age"] > 30).sum()


def test_keys_come_from_the_declared_domain() -> None:
    p = dp.protect(FRAME.copy(), "tables", domain={"sex": ["f", "m"], "educ": [9, 12, 16]})
    table = p.crosstab("sex", "educ", epsilon=1)
    assert table.index.equals(pd.Index(["f", "m"], name="sex"))
    assert (table.index.name, table.columns.name) == ("sex", "educ")
    assert table.columns.tolist() == [9, 12, 16]
    assert p.crosstab("sex", "educ", keys={"educ": [9]}, epsilon=1).shape == (2, 1)
    refusal(lambda: p.crosstab("sex", "age"), "age", MissingArgument)


def test_one_release_of_sensitivity_one_and_a_record_of_the_same_shape() -> None:
    table = FRAME.dp.crosstab("sex", ["educ", "child"], keys=KEYS, margins=True, epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert (entry.loss.epsilon, entry.scale) == (1, "1")
    assert entry.what.text == "crosstab of sex by educ, child (12 keys)"
    record = dp.record(table)
    pd.testing.assert_frame_equal(record.estimate(), table)
    errors, intervals = record.errors(), record.intervals()
    assert errors.index.equals(table.index)
    assert errors.columns.equals(table.columns)
    assert (intervals.shape, intervals.columns.nlevels) == ((3, 14), 3)
    for column in table.columns:
        low, high = intervals[(*column, "lower")], intervals[(*column, "upper")]
        assert (low <= high).all()
        assert (high - table[column] <= errors[column]).all()
    assert "f, 9, True" in str(record)
    again = pickle.loads(pickle.dumps(table))
    pd.testing.assert_frame_equal(dp.record(again).intervals(), intervals)
    # the error of a sum grows less than with the number of its cells, and more than not at all
    assert errors.iloc[0, 0] < errors.iloc[0, -1] < 6 * errors.iloc[0, 0]


def test_margins_are_sums_of_what_is_shown() -> None:
    table = FRAME.dp.crosstab("sex", "educ", keys=keys_of("sex", "educ"), margins=True, epsilon=0.1)
    inside = table.iloc[:-1, :-1]
    assert (table["All"].iloc[:-1] == inside.sum(axis=1)).all()
    assert (table.loc["All"].iloc[:-1] == inside.sum()).all()
    assert table.loc["All", "All"] == inside.sum().sum()


@pytest.mark.statistical
def test_margins_hold_simultaneously() -> None:
    """Of 4,000 draws at 95 % no fewer than 3,733 (false alarms: 1e-6), and no more than 3,880: with
    half of the risk for margins, by the union bound, 3,900 do."""
    keys = {"sex": ["f", "m"], "educ": [9, 12, 16]}
    asked = FRAME.dp.crosstab("sex", "educ", keys=keys, margins=True)._statistic
    law, exact = DiscreteLaplace(Fraction(20)), np.arange(1000, 1600, 100)
    drawn = np.array(law.release([0] * 24_000)).reshape(-1, 6) + exact
    truth, errors = np.array(asked.estimate(exact)), asked.errors.errors_at(exact, law, 0.95)
    told = np.array([asked.estimate(noisy.tolist()) for noisy in drawn])
    held = (np.abs(told - truth) <= np.array(errors)).all(axis=1).sum()
    assert 3733 <= held <= 3880
    wide, every = half_widths(law, 2, 3, 0.95), np.array(errors).reshape(3, 4)
    assert (every[:2] == [*[wide.cell] * 3, wide.row]).all()
    assert (every[2] == [*[wide.column] * 3, wide.all]).all()


@pytest.mark.parametrize("normalize", ["all", "index", "columns"])
def test_intervals_of_shares_hold_over_the_whole_box(normalize: str) -> None:
    """Every table within ±w of the noisy one, by brute force: no statistics."""
    keys = {"sex": ["f", "m"], "child": [False, True]}
    for noisy in itertools.product((-1, 0, 2), repeat=4):
        asked = FRAME.dp.crosstab("sex", "child", keys=keys, margins=True, normalize=normalize)
        intervals = asked._statistic.errors.intervals(noisy, 1)
        for exact in itertools.product(*(range(max(0, v - 1), v + 2) for v in noisy)):
            for share, (low, high) in zip(asked._statistic.estimate(exact), intervals, strict=True):
                assert low <= share <= high, (noisy, exact)


def sum_law(noise: DiscreteLaplace | DiscreteGaussian, terms: int) -> np.ndarray:
    """P[the sum of so many noises = z] for z = -400, …, 400."""
    places = range(-400, 401)
    if isinstance(noise, DiscreteLaplace):
        one = np.array([float(laplace_pmf(noise.scale, z)) for z in places])
    else:
        one = np.exp(-(np.array(places) ** 2) / (2 * float(noise.sigma2)))
        one /= one.sum()
    return reduce(partial(np.convolve, mode="same"), [one] * terms)


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(1, 3)])
@pytest.mark.parametrize("terms", [2, 5, 20])
def test_the_width_of_a_sum_holds_and_is_of_use(kind: Any, scale: Fraction, terms: int) -> None:
    noise = kind(scale)
    law, places = sum_law(noise, terms), np.abs(np.arange(-400, 401))
    for risk in (0.05, 0.001, 1e-6):
        width = noise.half_width_of_sum(risk, terms)
        assert law[places > width].sum() <= risk
        assert width <= 1.8 * next(w for w in range(400) if law[places > w].sum() <= risk) + 3


def test_the_width_of_a_sum_of_huge_and_of_no_noise() -> None:
    assert DiscreteLaplace(Fraction(0)).half_width_of_sum(0.05, 9) == 0
    assert DiscreteGaussian(Fraction(0)).half_width_of_sum(0.05, 9) == 0
    wide = DiscreteLaplace(Fraction(2**60)).half_width_of_sum(0.05, 100)
    assert 20 < wide / 2**60 < 60  # √2·10·2.6 = 37


WITH_MARGINS: dict[str, Any] = {
    "index": "sex", "columns": "educ", "margins": True, "keys": keys_of("sex", "educ"),
}  # fmt: skip
BROKEN: dict[str, Callable[[Any], Any]] = {
    "list of keys": lambda p: p.crosstab("sex", "educ", keys=[("f", 9)]),
    "extra keys": lambda p: p.crosstab("sex", "educ", keys=KEYS),
    "twice": lambda p: p.crosstab("sex", "sex", keys=KEYS),
    "unknown": lambda p: p.crosstab("sex", "nobody", keys=KEYS),
    "no columns": lambda p: p.crosstab("sex", [], keys=KEYS),
    "no keys": lambda p: p.crosstab("sex", "educ"),
    "normalize": lambda p: p.crosstab("sex", "educ", normalize="rows", keys=KEYS),
    "normalize 1": lambda p: p.crosstab("sex", "educ", normalize=1, keys=KEYS),
    "margins": lambda p: p.crosstab("sex", "educ", margins=1, keys=KEYS),
    "margins_name": lambda p: p.crosstab(margins_name="f", **WITH_MARGINS),
    "margins_name 3": lambda p: p.crosstab(margins_name=3, **WITH_MARGINS),
    "values": lambda p: p.crosstab("sex", "educ", values="age", keys=KEYS),
    "plain columns": lambda p: dp.crosstab(FRAME["sex"], FRAME["educ"], keys=KEYS),
    "same name": lambda p: dp.crosstab(p["sex"], p["sex"], keys=KEYS),
    "pivot of two": lambda p: p.pivot_table(["age", "child"], "sex", "educ", keys=KEYS),
    "pivot of none": lambda p: p[["sex", "educ"]].pivot_table(index="sex", columns="educ"),
    "pivot without sides": lambda p: p.pivot_table("age", keys=KEYS),
    "pivot of an unknown": lambda p: p.pivot_table("nobody", "sex", keys=keys_of("sex")),
    "aggfunc": lambda p: p.pivot_table("age", "sex", aggfunc="kurt", keys=keys_of("sex")),
    "two aggfuncs": lambda p: p.pivot_table("age", "sex", aggfunc=["sum"], keys=keys_of("sex")),
    "bounds of a count": lambda p: p.pivot_table(
        "age", "sex", aggfunc="count", bounds=(0, 1), keys=keys_of("sex")
    ),
    "hist without range": lambda p: p["age"].hist(bins=3),
    "hist of no bins": lambda p: p["age"].hist(bins=0, range=(0, 1)),
    "hist of truth": lambda p: p["age"].hist(bins=True, range=(0, 1)),
    "hist of too many": lambda p: p["age"].hist(bins=10**9, range=(0, 1)),
    "hist of falling edges": lambda p: p["age"].hist(bins=[3, 2]),
    "hist of endless edges": lambda p: p["age"].hist(bins=[0, math.inf]),
    "hist of edges and range": lambda p: p["age"].hist(bins=[0, 1], range=(0, 1)),
    "hist of a point": lambda p: p["age"].hist(bins=3, range=(1, 1)),
    "popularity without keys": lambda p: p["sex"].unattributed_histogram(),
    "at_most 0": lambda p: p[["child"]].sum(at_most=0),
    "at_most of numbers": lambda p: p[["age"]].sum(bounds=(0, 1), at_most=1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_arguments_are_refused_before_anything_is_charged(name: str) -> None:
    p = dp.private(FRAME, unit="row")
    refusal(lambda: BROKEN[name](p))


def test_columns_of_other_rows_do_not_cross() -> None:
    p = dp.private(FRAME, unit="row")
    with pytest.raises(LineageError):
        dp.crosstab(p["sex"], p.query("age > 30")["educ"], keys=KEYS)
    refusal(lambda: dp.crosstab(p["sex"], FRAME.copy().dp["educ"], keys=KEYS), error=LineageError)


def test_entries_of_tables_and_of_variances_have_no_label_to_select() -> None:
    table = FRAME.dp.crosstab("sex", "educ", keys=keys_of("sex", "educ"))
    spread = FRAME.dp.groupby("sex", keys=["f", "m"])["age"].var(bounds=(0, 99))
    for asked in (table, spread, FRAME.dp["sex"].unattributed_histogram(keys=["f", "m"])):
        with pytest.raises(QueryError):
            asked.idxmax(epsilon=1)
    assert dp.ledger()._entries() == []


# --- pivot tables ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("aggfunc", ["count", "sum", "mean", "var", "std"])
@pytest.mark.parametrize(("values", "index", "columns"), [
    ("age", "sex", "educ"), ("age", ["sex", "child"], "educ"),
    ("age", "sex", ["educ", "child"]), ("age", "sex", None), ("age", ["sex", "educ"], None),
    ("age", None, "educ"), (["age"], "sex", "educ"), (["age"], "sex", None),
    (["age"], ["sex"], ["educ", "child"]),
])  # fmt: skip
def test_without_noise_it_is_the_pivot_table_of_pandas(
    values: Any, index: Any, columns: Any, aggfunc: str
) -> None:
    sides = [side for side in (index, columns) if side is not None]
    bounds = {} if aggfunc == "count" else {"bounds": (0, 64)}
    said: Any = {"keys": keys_of(*sides), "epsilon": 1, **bounds}
    found = FRAME.dp.pivot_table(values, index, columns, aggfunc, **said)
    exact = FRAME.pivot_table(values, index, columns, aggfunc)
    pd.testing.assert_frame_equal(found, exact, **LOOSE, rtol=1e-6)


def test_a_pivot_table_is_the_release_of_its_groups() -> None:
    p = dp.private(FRAME, unit="row")
    keys = keys_of("sex", "educ")
    table = p.pivot_table("age", "sex", "educ", keys=keys, bounds=(0, 64))
    groups = p.groupby(["sex", "educ"], keys=keys)["age"].mean(bounds=(0, 64))
    assert integers(table, p._table.engine) == integers(groups, p._table.engine)
    assert table._statistic.l1 == groups._statistic.l1
    intervals = dp.record(table.release(epsilon=1)).intervals()
    assert intervals.columns.tolist() == list(itertools.product(KEYS["educ"], ("lower", "upper")))
    assert len(dp.ledger()._entries()) == 1


@pytest.mark.parametrize("searches", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_tuples_are_found_by_table_and_search(seed: int, searches: bool, monkeypatch: Any) -> None:
    """Some tuples of three columns, in any order, against a dict of them."""
    if searches:
        monkeypatch.setattr(table_lookups, "_table", lambda *sizes: None)
    table_lookups._tuples._known.clear()
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 5, (300, 3)), columns=list("xyz")).astype(object)
    frame[rng.random(frame.shape) < 0.05] = None
    every = list(itertools.product(range(4), range(1, 4), range(5)))
    keys = [every[i] for i in rng.permutation(len(every))[: rng.integers(1, len(every))]]
    asked = frame.dp.value_counts(keys=keys, sort=False)
    found = dict(zip(keys, integers(asked, asked._table.engine), strict=True))
    rows = list(map(tuple, frame.to_numpy().tolist()))
    assert found == {key: rows.count(key) for key in keys}
    table_lookups._tuples._known.clear()


# --- histograms -----------------------------------------------------------------------------------

VALUES = st.lists(
    st.one_of(st.floats(-2, 12), st.integers(-2, 12), st.sampled_from([math.nan, math.inf, 10.0])),
    max_size=30,
)


@pytest.mark.filterwarnings("ignore::pytest.PytestWarning")
@given(VALUES, st.integers(1, 12))
@example([0.1, 1.2], 10)  # numpy's own edges there are 0.10000000000000009 and 1.2000000000000002
def test_bins_are_those_of_numpy(values: list[Any], bins: int) -> None:
    """But that their edges have 12 digits, so that 0.1 is no less than an edge that reads 0.1."""
    series = pd.Series(values, dtype="float64", name="x")
    asked = series.dp.hist(bins=bins, range=(-1, 10))
    finite = series[np.isfinite(series)]
    edges = np.histogram_bin_edges(finite, bins=bins, range=(-1, 10))
    rounded = [float(f"{edge:.12g}") for edge in edges]
    counts = np.histogram(finite, bins=rounded)[0]
    assert integers(asked, asked._table.engine) == counts.tolist()


def test_a_histogram_is_an_int_series_by_interval(exact: None) -> None:
    found = FRAME.dp["age"].hist(bins=[17, 30, 40, 60], epsilon=1)
    assert isinstance(found.index, pd.IntervalIndex)
    assert (found.index.closed, found.index.name) == ("left", "age")
    assert found.dtype == "int64"
    assert found.tolist() == np.histogram(FRAME["age"], bins=[17, 30, 40, 60])[0].tolist()
    ten = dp.protect(FRAME.copy(), "hist", domain={"age": (17, 60)})["age"].hist(epsilon=1)
    assert ten.tolist() == np.histogram(FRAME["age"], bins=10, range=(17, 60))[0].tolist()
    assert dp.record(ten.head(3)).errors() is not None


# --- popularity -----------------------------------------------------------------------------------


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6))
def test_the_descending_fit_is_the_minimax_of_means(values: list[int]) -> None:
    """fit[i] = max over v ≥ i of min over u ≤ i of the mean of u, …, v (Robertson, Wright and
    Dykstra, 1988, Theorem 1.4.4, with the order reversed)."""
    means = {
        (u, v): Fraction(sum(values[u : v + 1]), v + 1 - u)
        for u in range(len(values))
        for v in range(u, len(values))
    }
    for i, fitted in enumerate(descending(values)):
        assert fitted == max(min(means[u, v] for u in range(i + 1)) for v in range(i, len(values)))


def test_the_fit_is_that_of_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    for size in (1, 2, 50, 2000):
        values = np.random.default_rng(size).integers(-50, 50, size)
        oracle = optimize.isotonic_regression(values.astype(float), increasing=False).x
        np.testing.assert_allclose([float(v) for v in descending(values.tolist())], oracle)


def test_sorted_counts_are_as_sensitive_as_counts() -> None:
    """All vectors of a tiny domain, and what 1, 2 and 3 rows can add to them."""
    for counts in itertools.product(range(4), repeat=3):
        for added in itertools.product(range(4), repeat=3):
            after = [a + b for a, b in zip(counts, added, strict=True)]
            one, other = sorted(counts, reverse=True), sorted(after, reverse=True)
            assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == sum(added)


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=8).map(lambda v: sorted(v, reverse=True)),
    st.data(),
)
def test_the_fit_is_no_further_off_than_the_largest_noise(exact: list[int], data: Any) -> None:
    noise = data.draw(st.lists(st.integers(-9, 9), min_size=len(exact), max_size=len(exact)))
    fitted = descending([a + b for a, b in zip(exact, noise, strict=True)])
    assert max(abs(f - e) for f, e in zip(fitted, exact, strict=True)) <= max(map(abs, noise))


def test_without_noise_it_is_the_sorted_counts(exact: None) -> None:
    found = FRAME.dp["educ"].unattributed_histogram(keys=[7, 9, 12, 16], epsilon=1)
    assert found.index.tolist() == [1, 2, 3, 4]
    assert found.tolist() == [*FRAME["educ"].value_counts().tolist(), 0]


@pytest.mark.nightly
@pytest.mark.statistical
def test_popularity_is_far_nearer_than_counts() -> None:
    """A thousand keys of which most are rare, 60 releases. Squared error: 1841 expected for noisy
    counts; here 100 with a standard deviation of 22 a release (150 measured), so that a mean
    of 300 is beyond 60 standard errors."""
    counts = np.sort(np.random.default_rng(3).zipf(2.0, 1000).clip(1, 500))[::-1]
    series = pd.Series(np.repeat(np.arange(1000), counts), name="x")
    asked, errors = series.dp.unattributed_histogram(keys=range(1000)), []
    for _ in range(60):
        found = asked.release(epsilon=1)
        errors.append(((found.to_numpy() - counts) ** 2).sum())
        ends = dp.record(found).intervals()
        assert (ends["lower"] <= found).all()
        assert (found <= ends["upper"]).all()
    assert np.mean(errors) < 300


# --- many keys, and few likes ---------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.statistical
def test_ten_thousand_first_names_are_all_within_twelve() -> None:
    """ε = 1: the exact half-width for all at once is 12 (theory: 12.206 for real noise, 12.2 in the
    lecture), and holds with probability 0.9522. Over 300 releases fewer than 258 has
    probability 7e-10 (binomial, 0.95)."""
    names = [f"name {i}" for i in range(10_000)]
    exact = np.random.default_rng(1).integers(0, 9, 10_000)
    series = pd.Series(np.repeat(np.array(names, dtype=object), exact), name="name")
    asked, held = series.dp.value_counts(keys=names, sort=False), 0
    for _ in range(300):
        found = asked.release(epsilon=1)
        held += bool((np.abs(found.to_numpy() - exact) <= 12).all())
    assert (dp.record(found).errors() == 12).all()
    assert held >= 258


LIKES = pd.DataFrame(RNG.random((300, 12)) < 0.5, columns=[f"likes {i}" for i in range(12)])


@pytest.mark.parametrize("most", [1, 3, 12, 50])
def test_of_a_row_at_most_so_many_true_count(most: int) -> None:
    frame = LIKES.assign(person=range(300))
    asked = frame.dp[list(LIKES)].sum(at_most=most)
    assert (asked._statistic.l1, asked._statistic.linf) == (min(most, 12), 1)
    found = integers(asked, asked._table.engine)
    assert sum(found) == LIKES.sum(axis=1).clip(upper=most).sum()
    assert (np.array(found) <= LIKES.sum()).all()
    # each row by itself: what it adds is what it adds alone
    engine = asked._table.engine
    rows = [type(engine)(frame[i : i + 1], engine.unit, engine.key) for i in range(300)]
    assert np.sum([integers(asked, row) for row in rows], axis=0).tolist() == found


def test_a_unit_of_several_rows_adds_as_much_for_each() -> None:
    p = dp.private(LIKES.assign(person=[i // 4 for i in range(300)]), unit="person", max_rows=2)
    p[list(LIKES)].sum(at_most=3, epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert entry.scale == "6"
    assert entry.what.text.startswith("sum of True (at most 3 a row) of")


def test_which_likes_count_is_spread_over_all() -> None:
    """Rows that differ in their number alone and have all 12: each like is kept about 300·3/12 = 75
    times, and fewer than 20 or more than 160 of any has probability below 1e-12."""
    frame = pd.DataFrame(True, index=range(300), columns=list(LIKES)).assign(person=range(300))
    asked = frame.dp[list(LIKES)].sum(at_most=3)
    found = integers(asked, asked._table.engine)
    assert sum(found) == 900
    assert 20 <= min(found) <= max(found) <= 160


@pytest.mark.parametrize("share", ["all", "index", "columns"])
def test_shares_hold_together(share: str) -> None:
    """Each has its part of the risk, and the noise of as many cells as it and its rest have."""
    dp.session(epsilon=1)
    df = pd.DataFrame({"a": [0, 1], "b": [0, 1]}).dp
    keys = {"a": [0, 1], "b": [0, 1, 2]}
    asked = df.crosstab("a", "b", keys=keys, normalize=share, margins=True)._statistic
    noisy, law = [300, 200, 100, 0, 50, 350], DiscreteLaplace(Fraction(2))
    ends = asked.errors.intervals_at(noisy, law, 0.95)
    of = {"all": (1000, 6), "index": (600, 3), "columns": (300, 2)}[share]
    low, high = ratios.shares([300], [of[0] - 300], law, 0.05 / len(ends), Terms(1, of[1] - 1))
    assert ends[0] == pytest.approx((low[0], high[0]), abs=1e-6)
    last = {"all": 1.0, "index": 0.45, "columns": 0.4}[share]
    assert ends[-1][0] <= last <= ends[-1][1]
    assert (ends[-1] == (1, 1)) == (share == "all"), "a whole is all of itself"
