"""What groups of declared keys answer, beside pandas; and what they refuse, with the reason."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas.audit import check_sensitivity
from dppandas.release.unreleased import Unreleased

LIMITS = {"a": (0, 1), "b": (0, 4)}
KEYS = ["x", "y", "z"]
FIGURES = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]


def people(rows: int = 300) -> pd.DataFrame:
    """Three groups, of which pandas knows the third as well, with missing values."""
    rng = np.random.default_rng(3)
    a = rng.random(rows)
    frame = pd.DataFrame({"a": a, "b": a + rng.random(rows) * 3}).mask(rng.random((rows, 2)) < 0.1)
    row = np.arange(rows)
    owned = frame.assign(group=np.array(KEYS)[row % 3], owner=row // 2)
    return owned.assign(kind=row % 7, late=row // 3 % 2 == 0)


@pytest.mark.parametrize("keys", [KEYS, KEYS[::-1]])
def test_describe_is_shaped_as_pandas_shapes_it(keys: list[str], exact: None) -> None:
    frame = people()
    groups = frame.dp.groupby("group", keys=keys)
    one = groups["a"].describe(bounds=(0, 1), epsilon=8)
    wanted = frame.groupby("group")["a"].describe().loc[keys]
    assert one.columns.tolist() == wanted.columns.tolist() == FIGURES
    told = ["count", "mean", "std"]
    pd.testing.assert_frame_equal(one[told], wanted[told], rtol=1e-6)
    several = groups[["b", "a"]].describe(bounds=LIMITS, epsilon=8)
    table = frame.groupby("group")[["b", "a"]].describe().loc[keys]
    assert several.columns.tolist() == table.columns.tolist() == [*product("ba", FIGURES)]
    for column in "ba":
        pd.testing.assert_frame_equal(several[column][told], table[column][told], rtol=1e-6)
    for key in KEYS:  # quantiles are told as without groups
        alone = frame[frame["group"] == key]
        assert one.loc[key].tolist() == alone["a"].dp.describe(bounds=(0, 1), epsilon=8).tolist()
        table = alone[["b", "a"]].dp.describe(bounds=LIMITS, epsilon=8)
        assert several.loc[key].tolist() == [*table["b"], *table["a"]]
    assert (one["50%"] - wanted["50%"]).abs().max() < 0.1
    assert (one.dtypes == "float64").all()
    assert (np.diff(one[FIGURES[3:]].to_numpy(), axis=1) >= 0).all()


def test_describe_by_two_columns(exact: None) -> None:
    frame = people()
    by = ["group", "late"]
    groups = frame.dp.groupby(by, keys={"group": KEYS, "late": [False, True]})
    found = groups["b"].describe(bounds=(0, 4), epsilon=8)
    wanted = frame.groupby(by)["b"].describe()
    pd.testing.assert_frame_equal(found.iloc[:, :3], wanted.iloc[:, :3], rtol=1e-6)


def test_describe_divides_one_loss_and_costs_no_more_by_group() -> None:
    session = dp.session(epsilon=1)
    found = people().dp.groupby("group", keys=KEYS)["a"].describe(bounds=(0, 1), epsilon="0.8")
    assert session.spent == Fraction(4, 5)
    assert [e.epsilon for e in dp.ledger()._entries()] == [Fraction(3, 10), Fraction(1, 2)]
    record = dp.record(found).components["count, mean, std"]
    asked = record.estimate()
    assert [asked["x", each] for each in FIGURES[:3]] == found.loc["x", FIGURES[:3]].tolist()
    low, high = (record.intervals()[end] for end in ("lower", "upper"))
    assert ((low <= asked) & (asked <= high)).all()


def test_moments_by_group_are_those_of_each_group() -> None:
    p = people().dp
    groups, three = p.groupby("group", keys=KEYS)[["a", "b"]], ("count", "mean", "std")
    by = Unreleased(groups._from_sums(three, LIMITS))
    parts = (p.query(f"group == '{key}'")[["a", "b"]] for key in KEYS)
    alone = [Unreleased(part._from_sums(three, LIMITS)) for part in parts]
    noisy = np.array([integers(each, p._table.engine) for each in alone])  # a row a group
    sums = noisy.reshape(3, 3, 2).transpose(1, 0, 2).reshape(-1).tolist()
    assert integers(by, p._table.engine) == sums
    singly = [x for each, s in zip(alone, noisy.tolist(), strict=True)
              for x in each._statistic.estimate(s)]  # fmt: skip
    assert by._statistic.estimate(sums) == singly
    half = 2**30
    assert by._statistic.errors.intervals(sums, half) == [
        x for each, s in zip(alone, noisy.tolist(), strict=True)
        for x in each._statistic.errors.intervals(s, half)
    ]  # fmt: skip


@pytest.mark.parametrize("ddof", [0, 1])
def test_covariances_by_group_are_those_of_pandas(ddof: int, exact: None) -> None:
    frame = people().dropna()  # pandas ignores ddof where a value is missing
    found = frame.dp.groupby("group", keys=KEYS)[["a", "b"]].cov(ddof, bounds=LIMITS, epsilon=1)
    wanted = frame.groupby("group")[["a", "b"]].cov(ddof=ddof)
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("frame", [people(), people().dropna()], ids=["missing values", "complete"])
def test_correlations_by_group_are_those_of_pandas(frame: pd.DataFrame, exact: None) -> None:
    found = frame.dp.groupby("group", keys=KEYS)[["a", "b"]].corr(bounds=LIMITS, epsilon=1)
    pd.testing.assert_frame_equal(found, frame.groupby("group")[["a", "b"]].corr(), rtol=1e-5)


def test_sums_for_covariances_by_group_are_those_of_each_group() -> None:
    p = people().dp
    for ask in ("cov", "corr"):
        by = getattr(p.groupby("group", keys=KEYS)[["a", "b"]], ask)(bounds=LIMITS)
        of_keys = [p.query(f"group == '{key}'")[["a", "b"]] for key in KEYS]
        alone = [getattr(frame, ask)(bounds=LIMITS) for frame in of_keys]
        parts = [integers(each, p._table.engine) for each in alone]
        assert integers(by, p._table.engine) == [x for part in parts for x in part]
        half = 2**30
        noisy = [x + half for part in parts for x in part]
        assert by._statistic.errors.intervals(noisy, half) == [
            ends for each, part in zip(alone, parts, strict=True)
            for ends in each._statistic.errors.intervals([x + half for x in part], half)
        ]  # fmt: skip
        assert by._statistic.l1 == alone[0]._statistic.l1


def test_histograms_by_group_are_those_of_each_group(exact: None) -> None:
    frame = people()
    found = frame.dp.groupby("group", keys=KEYS)["b"].hist(bins=4, range=(0, 4), epsilon=1)
    assert found.index.names == ["group", "b"]
    assert found.dtype == "int64"
    for key in KEYS:
        alone = frame[frame["group"] == key]["b"].dropna()
        counts, edges = np.histogram(alone, bins=4, range=(0, 4))
        assert found[key].tolist() == counts.tolist()
        assert [each.left for each in found[key].index] == edges[:-1].tolist()


def test_keys_that_occur_are_counted_in_each_group(exact: None) -> None:
    frame = people().query("group != 'x' or kind < 2")
    groups = frame.dp.groupby("group", keys=KEYS)["kind"]
    found = groups.nunique(keys=list(range(10)), epsilon=1)
    pd.testing.assert_series_equal(found, frame.groupby("group")["kind"].nunique())
    assert groups.nunique(keys=[1, 5, 99], epsilon=1).tolist() == [1, 2, 2]
    ends = dp.record(groups.nunique(keys=[0, 1, 5], epsilon="0.01")).intervals()
    assert (ends["lower"] == 0).all()
    assert (ends["upper"] == 3).all()  # of a group, and not of all
    assert groups.nunique(keys=[1, 5]).idxmax(epsilon=1) in ("y", "z")


def test_keys_that_occur_move_by_what_a_unit_can_bring() -> None:
    p = dp.protect(people(), "owners", unit="owner", max_rows=5)
    asked = p.groupby("group", keys=KEYS)["kind"].nunique(keys=[1, 2])
    assert asked._statistic.l1_sensitivity(5) == 5
    assert asked._statistic.l1_sensitivity(9) == 6
    assert asked._statistic.linf_sensitivity(5) == 2
    assert dp.record(asked.release(epsilon=1)).scale == 5
    assert type(p.groupby("group", keys=KEYS)["owner"].nunique()._statistic).__name__ == "Distinct"


ASKED = [
    lambda g: g[["a", "b"]].describe(bounds=LIMITS, epsilon=1),
    lambda g: g[["a", "b"]].cov(bounds=LIMITS, epsilon=1),
    lambda g: g["a"].hist(bins=3, range=(0, 1), epsilon=1),
    lambda g: g["kind"].nunique(keys=[1, 2, 3], epsilon=1),
]


@pytest.mark.parametrize("ask", ASKED)
def test_what_groups_answer_tells_no_neighbours_apart(ask: Any) -> None:
    frame = people(12).assign(owner=[1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9])
    by_group = lambda p: ask(p.groupby("group", keys=KEYS))  # noqa: E731
    found = check_sensitivity(by_group, frame, unit="owner", max_rows=2, pairs=60)
    assert found.ok, found


@pytest.mark.parametrize(("ask", "words"), [
    (lambda g: g["a"].mode, r"would need a selection.*value_counts\(keys"),
    (lambda g: g["a"].idxmax, r"which rows exist is private.*\.idxmax\(epsilon"),
    (lambda g: g["kind"].unattributed_histogram, r"value_counts\(keys"),
    (lambda g: g["a"].clipping_shares, "bounds of a column hold for all groups"),
    (lambda g: g["a"].suggest_bounds, "bounds of a column hold for all groups"),
    (lambda g: g["kind"].unique, r"which labels a group has.*value_counts"),
    (lambda g: g["late"].any, "single row would decide"),
    (lambda g: g.ngroups, "which keys have rows is private"),
    (lambda g: g["a"].first, "rows have no order"),
    (lambda g: g["a"].cov(bounds=(0, 1), epsilon=1), "needs two columns or more"),
    (lambda g: g["a"].corr(bounds=(0, 1), epsilon=1), "needs two columns or more"),
    (lambda g: g[["a", "b"]].corr("spearman", bounds=(0, 1)), "ranks depend on other rows"),
    (lambda g: g[["a", "b"]].hist(bins=[0, 1], epsilon=1), "needs one column"),
    (lambda g: g["a"].hist(epsilon=1), "range= is needed"),
    (lambda g: g[["a", "kind"]].nunique(keys=[1], epsilon=1), "needs one column"),
    (lambda g: g["a"].describe(epsilon=1), "bounds= is needed"),
    (lambda g: g["a"].describe(bounds=(1, 1), epsilon=1), "upper end lies above"),
])  # fmt: skip
def test_what_groups_do_not_answer_is_refused_with_the_reason(ask: Any, words: str) -> None:
    refusal(lambda: ask(people().dp.groupby("group", keys=KEYS)), words, dp.DPError)


@pytest.mark.parametrize("ask", ASKED)
def test_groups_that_nobody_declared_refuse_what_needs_keys(ask: Any) -> None:
    dp.session(epsilon=1, delta=1e-6)
    refusal(lambda: ask(people().dp.groupby("group", delta=1e-7)), "declare")
