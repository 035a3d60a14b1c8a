"""Consistent tables: against an oracle of least squares, by properties, and nearer to the truth."""

import itertools
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.findings import consistency
from dppandas.findings.consistency import Margin, nearest
from dppandas.privacy.mechanisms.noise import DiscreteLaplace

LABELS = {"a": list("wxyz"), "b": [1, 2, 3], "c": [False, True]}


def people(n: int = 300, seed: int = 2) -> pd.DataFrame:
    """Few combinations are frequent, and many are rare."""
    rng = np.random.default_rng(seed)
    cells = list(itertools.product(*LABELS.values()))
    chosen = rng.choice(len(cells), n, p=rng.dirichlet(np.full(len(cells), 0.3)))
    return pd.DataFrame([cells[i] for i in chosen], columns=list(LABELS))


def kept(df: pd.DataFrame) -> Any:
    """Rows of which it is known that two tables count the same."""
    return dp.protect(df, name="people", version="1")


def keys(*names: str) -> dict[str, Any]:
    return {name: LABELS[name] for name in names}


def counted(p: Any, epsilon: Any = 1, **more: Any) -> Any:
    return p["a"].value_counts(keys=LABELS["a"], epsilon=epsilon, **more)


def four_tables(p: Any, epsilon: Any = 1) -> list[Any]:
    """Of each kind that is taken."""
    return [
        p.crosstab("a", ["b", "c"], keys=LABELS, epsilon=epsilon),
        p.crosstab("b", "a", keys=keys("a", "b"), epsilon=epsilon),
        p["c"].value_counts(keys=LABELS["c"], epsilon=epsilon),
        p.groupby(["c", "a"], keys=keys("a", "c")).size(epsilon=epsilon),
    ]


def test_tables_are_not_negative_and_agree_to_the_last_bit() -> None:
    whole, pairs, alone, groups = tables = four_tables(kept(people()))
    spent = dp.ledger().spent
    new = dp.make_consistent(*tables)
    assert dp.ledger().spent == spent
    for old, table in zip(tables, new, strict=True):
        assert type(table) is type(old)
        assert table.index.equals(old.index)
        assert table.index.names == old.index.names
        assert (np.asarray(table) >= 0).all()
        assert np.asarray(table).dtype == np.float64
        assert (np.asarray(table) * 2**20 % 1 == 0).all()
        with pytest.raises(RecordError):
            dp.record(table)
    assert new[2].name == alone.name
    assert new[0].columns.equals(whole.columns)
    whole, pairs, alone, groups = new
    assert (whole.T.groupby("b").sum().loc[[1, 2, 3]] == pairs).all(axis=None)
    assert (whole.T.groupby("c").sum().sum(axis=1) == alone.sort_index()).all()
    assert (groups.unstack("a").sum(axis=1) == alone.sort_index()).all()
    assert pairs.sum().sum() == alone.sum() == groups.sum()


def test_one_table_alone_is_cut_at_zero_in_the_order_in_which_it_was_given(
    frozen: Callable[[int], None],
) -> None:
    frozen(-4)
    counts = people(20).dp["a"].value_counts(keys=LABELS["a"], epsilon=0.1)
    for table in (counts, counts.sort_index(), counts.head(2)):
        pd.testing.assert_series_equal(dp.make_consistent(table), table.clip(lower=0).astype(float))
    table = people(20).dp.crosstab("a", "b", keys=keys("a", "b"), epsilon=0.1)
    pd.testing.assert_frame_equal(dp.make_consistent(table), table.clip(lower=0).astype(float))
    bins = people().dp["b"].hist(bins=[0, 2, 4], epsilon=1)
    assert dp.make_consistent(bins).index.equals(bins.index)


def test_exact_tables_stay_as_they_are(exact: None) -> None:
    tables = four_tables(kept(people()))
    for old, new in zip(tables, dp.make_consistent(*tables), strict=True):
        np.testing.assert_allclose(new, old, atol=0.05)  # a hundredth of the noise's deviation


# --- the nearest table, against an oracle ---------------------------------------------------------


def margin(shape: tuple[int, ...], axes: tuple[int, ...], sums: Any, weight: float) -> Margin:
    own = np.arange(math.prod(shape[a] for a in axes))
    wide = own.reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
    return Margin(np.broadcast_to(wide, shape).reshape(-1), np.asarray(sums, dtype=float), weight)


def oracle(margins: list[Margin]) -> np.ndarray:
    nnls = pytest.importorskip("scipy.optimize").nnls
    rows = [np.eye(len(m.sums) + 1)[:, m.codes][:-1] * math.sqrt(m.weight) for m in margins]
    sums = [m.sums * math.sqrt(m.weight) for m in margins]
    return np.asarray(nnls(np.concatenate(rows), np.concatenate(sums))[0])


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_weighted_least_squares_of_scipy(seed: int) -> None:
    """All sums within twice the tolerance (a hundredth of their noise's standard deviation)."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 6, rng.integers(1, 4)).tolist())
    x = rng.poisson(rng.choice([0.3, 3, 1000]), math.prod(shape)) * 1.0
    subsets = [
        axes for k in range(1, len(shape) + 1)
        for axes in itertools.combinations(range(len(shape)), k)
    ]  # fmt: skip
    margins = []
    for pick in rng.choice(len(subsets), min(3, len(subsets)), replace=False):
        size = math.prod(shape[a] for a in subsets[pick])
        empty = margin(shape, subsets[pick], np.zeros(size), 1)
        sd = float(rng.choice([1.0, 5.0, 40.0]))
        sums = empty.of(x) + np.rint(rng.laplace(0, sd, len(empty.sums)))
        margins.append(margin(shape, subsets[pick], sums, 1 / sd**2))
    found, exact = nearest(margins), oracle(margins)
    assert (found >= 0).all()
    for m in margins:
        assert np.abs(m.of(found) - m.of(exact)).max() <= 2 * consistency.NEAR / math.sqrt(m.weight)


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=4), st.integers(-50, 50))
def test_the_gap_bounds_what_is_left_to_gain(table: list[int], total: int) -> None:
    margins = [margin((2, 2), (0, 1), table, 0.5), margin((2, 2), (), [total], 0.1)]
    margins.append(margin((2, 2), (1,), [table[0], total], 2.0))

    def off(x: np.ndarray) -> float:
        return sum(m.weight * float(((m.of(x) - m.sums) ** 2).sum()) for m in margins) / 2

    best = nearest(margins)
    for x in (np.zeros(4), np.ones(4), best, np.maximum(np.array(table, dtype=float), 0)):
        assert off(x) - off(best) <= consistency._gap(margins, x) + 1e-6


def test_cells_outside_a_list_of_tuples_belong_to_none_of_its_sums() -> None:
    p = kept(people())
    listed = p[["a", "b"]].value_counts(keys=[("w", 1), ("x", 2), ("z", 3), ("y", 1)], epsilon=1)
    whole = p.crosstab("a", "b", keys=keys("a", "b"), epsilon=1)
    listed, whole = dp.make_consistent(listed, whole)
    for (a, b), value in listed.items():
        assert whole.loc[a, b] == value


@pytest.mark.deep
def test_a_hundred_thousand_cells_take_seconds() -> None:
    p = kept(pd.DataFrame({"a": np.arange(5000) % 317, "b": np.arange(5000) % 311}))
    table = p.crosstab("a", "b", keys={"a": range(315), "b": range(315)}, epsilon=1)
    alone = p["a"].value_counts(keys=range(315), epsilon=1)
    for integers in (False, True):
        new, margin = dp.make_consistent(table, alone, integers=integers)
        assert (new.sum(axis=1) == margin.sort_index()).all()


def test_weights_are_inverse_variances() -> None:
    """The sharper of two tables of the same cells counts for more: 1/v of each, exactly."""
    for scale in (Fraction(1, 3), Fraction(1), Fraction(10), Fraction(10**6)):
        a = math.exp(-1 / scale)
        variance = consistency._variance(DiscreteLaplace(scale))
        assert variance == pytest.approx(2 * a / math.expm1(-1 / scale) ** 2, rel=1e-9)
    p = kept(people(10_000))
    sharp, blunt = (counted(p, epsilon, sort=False) for epsilon in (1, "0.1"))
    one, other = dp.make_consistent(sharp, blunt)
    assert (one == other).all()
    v, w = (consistency._variance(DiscreteLaplace(Fraction(scale))) for scale in (1, 10))
    share = 1 / (1 + v / w)
    np.testing.assert_allclose(one, share * sharp + (1 - share) * blunt, atol=0.03)


# --- whole numbers --------------------------------------------------------------------------------

SURE = 1 - 1e-9


def agree(tables: Any) -> None:
    """The four tables have the same margins, to the last row."""
    whole, pairs, alone, groups = tables
    assert (whole.T.groupby("b").sum().loc[[1, 2, 3]] == pairs).all(axis=None)
    assert (whole.T.groupby("c").sum().sum(axis=1) == alone.sort_index()).all()
    assert (groups.unstack("a").sum(axis=1) == alone.sort_index()).all()
    assert pairs.sum().sum() == alone.sum() == groups.sum()


def truths(df: pd.DataFrame) -> list[Any]:
    """What the four tables count."""
    columns = pd.MultiIndex.from_product([LABELS["b"], LABELS["c"]])
    pairs = pd.MultiIndex.from_product([LABELS["c"], LABELS["a"]])
    return [
        pd.crosstab(df["a"], [df["b"], df["c"]]).reindex(LABELS["a"], columns=columns).fillna(0),
        pd.crosstab(df["b"], df["a"]).reindex(LABELS["b"], columns=LABELS["a"]).fillna(0),
        df["c"].value_counts().reindex(LABELS["c"]).fillna(0),
        df.groupby(["c", "a"]).size().reindex(pairs).fillna(0),
    ]


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.02", "0.3", 5])
def test_whole_tables_agree_and_their_intervals_hold(epsilon: Any) -> None:
    """All intervals hold together but for 1e-9, so the false alarms are 3e-9. An interval by one
    noise alone where another was added misses with more than 0.1."""
    df = people()
    tables = four_tables(kept(df), epsilon)
    spent = dp.ledger().spent
    real = dp.make_consistent(*tables)
    new = dp.make_consistent(*tables, integers=True)
    assert dp.ledger().spent == spent
    agree(new)
    for old, table, near, exact in zip(tables, new, real, truths(df), strict=True):
        assert isinstance(table, type(old))
        assert table.index.equals(old.index)
        assert np.asarray(table).dtype == np.int64
        assert (np.asarray(table) >= 0).all()
        assert np.abs(np.asarray(table) - np.asarray(near)).max() < 3
        exact = exact.reindex(table.index).to_numpy().reshape(-1)
        found = dp.intervals(table, SURE)
        assert (found["low"] <= exact).all()
        assert (exact <= found["high"]).all()
        assert (found["value"] == np.asarray(table).reshape(-1)).all()
        assert ((found["low"] <= found["value"]) & (found["value"] <= found["high"])).all()
        assert (found[["value", "error", "low", "high"]].dtypes == np.int64).all()
        assert set(found["unit"]) == {"rows"}
        ends = table.interval(SURE)
        assert ends.to_numpy().min() >= 0
        assert np.array_equal(table.error(SURE).to_numpy().reshape(-1), found["error"])


@pytest.mark.statistical
def test_whole_tables_know_their_releases_through_pickles() -> None:
    """And sums of them have intervals: false alarms 1e-9."""
    tables = dp.make_consistent(*four_tables(kept(people())), integers=True)
    for table in tables:
        found = pickle.loads(pickle.dumps(table))
        assert dp.intervals(found).equals(dp.intervals(table))
        assert table._findings.source == "derived from releases 1, 2, 3 and 4, at no cost"
    total = dp.derive(lambda counts: counts.sum(), tables[2])
    assert total == tables[2].sum()
    low, high = total.interval(SURE)
    assert low <= 300 <= high
    tables[2].iloc[0] += 1
    with pytest.raises(RecordError, match="changed"):
        dp.intervals(tables[2])


def test_intervals_of_several_tables_share_the_risk() -> None:
    p = kept(people())
    one, other = counted(p), p["b"].value_counts(keys=LABELS["b"], epsilon=1)
    for old, new in zip((one, other), dp.make_consistent(one, other, integers=True), strict=True):
        by_itself, found = dp.intervals(old, 0.975), dp.intervals(new, 0.95)
        low, high = by_itself["low"].clip(lower=0), by_itself["high"]
        outside = low.clip(upper=new), high.clip(lower=new)
        assert (found["low"] == outside[0]).all()
        assert (found["high"] == outside[1]).all()


@pytest.mark.statistical
def test_a_count_is_bounded_by_what_it_is_a_part_of_and_what_is_a_part_of_it() -> None:
    """Rough counts have noise of scale 1,000 and lie within 22,000 but for 1e-8: false alarms 1e-7.
    A bound that is left out is thousands away."""
    df = pd.DataFrame({"a": ["w"] * 9000 + ["x"] * 1000, "b": [1, 2] * 5000})
    p = kept(df)
    at = {"a": LABELS["a"], "b": [1, 2, 3]}
    rough = p.crosstab("a", "b", keys=at, epsilon="0.001")
    sharp = p["a"].value_counts(keys=LABELS["a"], epsilon=10)
    cells, alone = dp.make_consistent(rough, sharp, integers=True)
    found = dp.intervals(cells, SURE)["high"].unstack()
    tops = dp.intervals(alone, SURE)["high"]
    assert (found.loc["y"] == tops["y"]).all()
    assert tops["y"] < 20
    rough = p["b"].value_counts(keys=[1, 2, 3], epsilon="0.001")
    sharp = p.crosstab("a", "b", keys=at, epsilon=10)
    cells, alone = dp.make_consistent(sharp, rough, integers=True)
    assert dp.intervals(alone, SURE).loc[1, "low"] > 4800
    # rows with other labels may be in it, too
    assert dp.intervals(alone, SURE).loc[1, "high"] > 10_000
    blunt = p["b"].value_counts(keys=[1, 2, 3], epsilon="0.002")
    twice = p["b"].value_counts(keys=[1, 2, 3], epsilon=10)
    one, other = (
        dp.intervals(each, SURE).sort_index()
        for each in dp.make_consistent(blunt, twice, integers=True)
    )
    assert one.equals(other)
    assert (one["error"] < 20).all()


@pytest.mark.statistical
def test_rows_with_other_labels_are_allowed_for() -> None:
    """Where keys don't cover the rows, tables can't agree, but intervals hold: false alarms 1e-9.
    If these keys were taken for all, a total of hundreds would be bounded by part of it."""
    p = kept(people(3000))
    some = {"a": LABELS["a"][:2], "b": [1, 2]}
    cells = p.crosstab("a", "b", keys=some, epsilon=5)
    alone = p["a"].value_counts(keys=some["a"], epsilon=5)
    exact = people(3000)["a"].value_counts()
    cells, alone = dp.make_consistent(cells, alone, integers=True)
    ends = alone.interval(SURE)
    for label in some["a"]:
        assert ends.loc[label, "lower"] <= exact.get(label, 0) <= ends.loc[label, "upper"]
    true = people(3000).groupby(["a", "b"]).size()
    for (a, b), (low, high) in dp.intervals(cells, SURE)[["low", "high"]].iterrows():
        assert low <= true.get((a, b), 0) <= high


def test_one_table_alone_is_whole(frozen: Callable[[int], None]) -> None:
    frozen(-4)
    counts = people(20).dp["a"].value_counts(keys=LABELS["a"], epsilon="0.1")
    for table in (counts, counts.sort_index(), counts.head(2)):
        new = dp.make_consistent(table, integers=True)
        pd.testing.assert_series_equal(pd.Series(new), table.clip(lower=0))
        found, before = dp.intervals(new), dp.intervals(table)
        assert (found["high"] == before["high"].clip(lower=new)).all()
        assert (found["low"] == before["low"].clip(lower=0)).all()
    p = kept(people())
    both = dp.combine(*(p["b"].value_counts(keys=LABELS["b"], epsilon=e) for e in (1, 2)))
    assert (dp.make_consistent(both, integers=True) == both.clip(lower=0)).all()


def test_noise_beyond_all_floats_is_whole() -> None:
    shape = (3, 2)
    margins = [margin(shape, (0, 1), [2.0**62, 3, 2.0**70, 0, 1, -(2.0**60)], 1e-30)]
    margins.append(margin(shape, (0,), [2.0**63, 2, 1], 1e-31))
    found = consistency.whole(margins, nearest(margins), shape)
    assert (found % 1 == 0).all()
    assert found.min() >= 0
    assert found.sum() <= 2.0**53


def test_tables_that_agree_stay_as_they_are(exact: None) -> None:
    for epsilon in (1, "0.001"):
        tables = four_tables(kept(people()), epsilon)
        for old, new in zip(tables, dp.make_consistent(*tables, integers=True), strict=True):
            assert np.array_equal(old, new)
    anew(epsilon=10)
    p = kept(people(5000))
    pairs = [("a", "b"), ("b", "c")]
    tables = [p.crosstab(*pair, keys=keys(*pair), epsilon="0.01") for pair in pairs]
    for old, new in zip(tables, dp.make_consistent(*tables, integers=True), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize("integers", [1, None, "True", np.True_])
def test_whole_numbers_are_wanted_or_not(integers: Any) -> None:
    table = counted(kept(people()))
    refusal(lambda: dp.make_consistent(table, integers=integers), "integers=.* must be True or Fal")


# --- what it is for -------------------------------------------------------------------------------


def rmse(tables: Any, exact: Any) -> float:
    both = (tables, exact)
    found, true = (np.concatenate([np.asarray(t).ravel() for t in each]) for each in both)
    return float(np.sqrt(np.mean((found - true) ** 2)))


@pytest.mark.nightly
@pytest.mark.statistical
def test_consistent_tables_are_nearer_to_the_truth() -> None:
    """400 releases of three two-way tables at ε = 1/3 each. Without a gain the mean of the paired
    differences of squared errors would be 0; its z is asked to be above 5 (3e-7)."""
    df = people(150, seed=4)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    exact = [
        pd.crosstab(df[x], df[y]).reindex(index=LABELS[x], columns=LABELS[y], fill_value=0)
        for x, y in pairs
    ]
    p = kept(df)
    asked = [p.crosstab(x, y, keys=keys(x, y)) for x, y in pairs]
    before, after = [], []
    for _ in range(400):
        tables = [each.release(epsilon="1/3", fresh=True) for each in asked]
        before.append(rmse(tables, exact) ** 2)
        after.append(rmse(dp.make_consistent(*tables), exact) ** 2)
    gain = np.array(before) - np.array(after)
    assert gain.mean() / (gain.std() / 20) > 5
    assert np.sqrt(np.mean(after)) < 0.95 * np.sqrt(np.mean(before))


# --- what is refused ------------------------------------------------------------------------------

REFUSED: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda p: (),
    "a plain table": lambda p: (pd.Series([1, 2]),),
    "a number": lambda p: (p.count(epsilon=1),),
    "arithmetic": lambda p: (counted(p) * 2,),
    "shares": lambda p: (counted(p, normalize=True),),
    "missing": lambda p: (counted(p, dropna=False),),
    "a mode": lambda p: (p["a"].mode(keys=LABELS["a"], epsilon=1),),
    "margins": lambda p: (p.crosstab("a", "b", keys=keys("a", "b"), margins=True, epsilon=1),),
    "shares of a table": lambda p: (
        p.crosstab("a", "b", keys=keys("a", "b"), normalize="index", epsilon=1),
    ),
    "counts of a column": lambda p: (p.groupby("a", keys=LABELS["a"])["b"].count(epsilon=1),),
    "means": lambda p: (p.groupby("a", keys=LABELS["a"])["b"].mean(bounds=(0, 3), epsilon=1),),
    "popularity": lambda p: (p["a"].unattributed_histogram(keys=LABELS["a"], epsilon=1),),
    "other keys": lambda p: (counted(p), p["a"].value_counts(keys=["w"], epsilon=1)),
    "another column of one name": lambda p: (counted(p), counted({"a": p["a"].str.lower()})),
    "other rows": lambda p: (counted(p), counted(p.query("b > 1"))),
    "twice": lambda p: (counted(p),) * 2,
    "too many cells": lambda p: (
        p["a"].value_counts(keys=list(map(str, range(400))), epsilon=1),
        p["b"].value_counts(keys=range(400), epsilon=1),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_of_counts_is_refused(name: str) -> None:
    tables = REFUSED[name](kept(people()))
    assert "lineage" not in refusal(lambda: dp.make_consistent(*tables))  # but for what it is


def versions(df: pd.DataFrame, folder: Path) -> list[Any]:
    """1,000 rows of one version and 50 of another, in one ledger."""
    tables = []
    for version, rows in (("1", 1000), ("2", 50)):
        anew(epsilon=10, store=folder / "a.ledger")
        tables.append(counted(dp.protect(people(rows), name="people", version=version)))
    return tables


def ledgers(df: pd.DataFrame, folder: Path) -> list[Any]:
    tables = []
    for each in "ab":
        anew(epsilon=10, store=folder / f"{each}.ledger")
        tables.append(counted(kept(people())))
    return tables


def memories(df: pd.DataFrame, folder: Path) -> list[Any]:
    tables = []
    for rows in (1000, 50):
        dp.reset()
        tables.append(counted(dp.protect(people(rows), name="people")))
    return tables


def sources(df: pd.DataFrame, folder: Path) -> list[Any]:
    return [counted(dp.protect(people(n), name=f"p{n}", version="1")) for n in (1000, 50)]


def joined(df: pd.DataFrame, folder: Path) -> list[Any]:
    one, other = counted(kept(df)), counted(kept(df), 2)
    return [dp.combine(one, other), other]


#: Tables that were merged as if they were about the same people, and what is said of them now.
APART: list[tuple[Callable[[pd.DataFrame, Path], list[Any]], str]] = [
    (versions, "of version '1' and of version '2' of 'people': other data"),
    (sources, "is about source 'p1000', and .* about 'p50': other data"),
    (ledgers, "in two ledgers"),
    (memories, "in two ledgers"),
    (
        lambda df, _: [counted(people(rows).dp) for rows in (1000, 50)],
        "is asserted, so nobody can check that two releases are of the same rows"),
    (lambda df, _: [counted(kept(df)), counted(df.dp)], "is asserted"),
    (
        lambda df, _: [counted(kept(df)), counted(kept(df).query("b > 1"), 2)],
        "are of different rows. Ask both after the same methods"),
    (
        lambda df, _: [counted(kept(df)), counted(dp.concat([kept(df)] * 2))],
        "are of different rows"),
    (lambda df, _: [counted(kept(df)) for _ in range(2)], "release 1, .* is given twice"),
    (joined, "is given twice"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "words"), APART)
def test_tables_of_other_rows_are_refused(made: Any, words: str, tmp_path: Path) -> None:
    tables = made(people(), tmp_path)
    spent = dp.ledger().spent
    caught = refusal(lambda: dp.make_consistent(*tables), words)
    assert caught.endswith("Nothing was computed or charged.")
    assert dp.ledger().spent == spent
    refusal(lambda: dp.combine(*tables), words)


def test_a_version_is_known_through_a_store_and_any_form_of_filter(tmp_path: Path) -> None:
    tables = []
    for column, where in (("a", "b > 1 and c"), ("b", "c and b > 1")):
        anew(epsilon=10, store=tmp_path / "a.ledger")
        p = kept(people()).query(where)
        tables.append(p[column].value_counts(keys=LABELS[column], epsilon=1))
    one, other = dp.make_consistent(*tables)
    assert one.sum() == other.sum()


def test_what_a_preview_made_is_made_consistent_in_it_alone() -> None:
    p = kept(people())
    with dp.preview():
        tables = counted(p), p["b"].value_counts(keys=LABELS["b"], epsilon=1)
        dp.make_consistent(*tables)
    for some in (tables, tables[:1]):
        with pytest.raises(QueryError, match="previewed and not answered"):
            dp.make_consistent(*some)
