"""Labels with an order of their own, and truth values of which some are missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import agree

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError

GRADES = ["low", "mid", "high"]  # neither by the alphabet, nor the other way round
Line = Callable[[Any], Any]


def frame() -> pd.DataFrame:
    draw = np.random.default_rng(3)  # of data, not of noise
    labels = np.array([*GRADES, None], dtype=object)
    grades = pd.Categorical(draw.choice(labels, 80), categories=GRADES, ordered=True)
    other = pd.Categorical(draw.choice(labels, 80), categories=GRADES, ordered=True)
    smokes = pd.array(draw.choice(np.array([True, False, None]), 80), dtype="boolean")
    return pd.DataFrame({
        "who": np.arange(80) // 2, "level": grades, "before": other, "member": smokes,
        "income": draw.integers(0, 400, 80) / 4,
    })  # fmt: skip


def private(df: pd.DataFrame) -> Any:
    return dp.protect(df, name="orders", unit="who", max_rows=2, domain={
        "level": GRADES, "before": GRADES, "income": (0, 100)})  # fmt: skip


#: Lines that ask which label is larger.
ORDERS: dict[str, Line] = {
    "above": lambda f: (f["level"] > "low").sum(),
    "at least": lambda f: f["level"].ge("mid").sum(),
    "below, turned round": lambda f: (f["level"] < "high").sum(),
    "between": lambda f: f["level"].between("low", "mid").sum(),
    "two columns": lambda f: (f["level"] > f["before"]).sum(),
    "a query": lambda f: f.query("level >= 'mid'")["income"].count(),
    "a chain": lambda f: f.query("'low' < level <= 'high'")["income"].count(),
    "a mask": lambda f: f[f["level"] < "high"]["income"].count(),
    "eval": lambda f: f.eval("level > 'mid'").sum(),
    "equal": lambda f: (f["level"] == "mid").sum(),
    "some left out": lambda f: (f["level"].where(f["income"] > 50) > "low").sum(),
    "sorted": lambda f: f.groupby("level", sort=True, observed=False)["income"].count(),
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", ORDERS)
def test_ordered_categories_compare_by_their_order(name: str) -> None:
    found = ORDERS[name](private(frame())).release(epsilon=1)
    wanted = ORDERS[name](frame())
    if isinstance(wanted, pd.Series):
        pd.testing.assert_series_equal(found, wanted, check_names=False)
    else:
        assert found == wanted


#: The same of labels that a line makes.
CUTS: dict[str, Line] = {
    "labels": lambda f: (pandas_or_ours(f).cut(f["income"], [0, 30, 60, 100], labels=GRADES)
                         > "low").sum(),
    "intervals": lambda f: (pandas_or_ours(f).cut(f["income"], [0, 30, 60, 100])
                            <= pd.Interval(30, 60)).sum(),
    "a public table": lambda f: (f.merge(_TABLE, on="member")["said"] >= "mid").sum(),
}  # fmt: skip
_TABLE = pd.DataFrame({
    "member": [True, False],
    "said": pd.Categorical(["high", "low"], categories=GRADES, ordered=True),
})  # fmt: skip


def pandas_or_ours(f: Any) -> Any:
    return pd if isinstance(f, pd.DataFrame) else dp


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", CUTS)
def test_labels_that_are_made_in_an_order_compare_by_it(name: str) -> None:
    assert CUTS[name](private(frame())).release(epsilon=1) == CUTS[name](frame())


def test_the_order_is_that_of_the_declared_keys() -> None:
    """The categories of a dtype are data: pandas lists those that occur."""
    df = frame()
    turned = dp.protect(df, name="turned", unit="who", max_rows=2, domain={"level": GRADES[::-1]})
    assert "'high': 0, 'mid': 1, 'low': 2" in repr(turned["level"] > "mid")


def test_what_has_no_place_in_the_order_is_refused() -> None:
    p, silent = private(frame()), dp.private(frame(), unit="who", max_rows=2)
    with pytest.raises(MissingArgument, match="Declare the keys in that order"):
        silent["level"] > "low"  # noqa: B015
    with pytest.raises(QueryError, match="'middle' has no place among"):
        p["level"] > "middle"  # noqa: B015
    with pytest.raises(QueryError, match="income has no place among"):
        p["level"] > p["income"]  # noqa: B015
    with pytest.raises(QueryError, match="has no place among"):
        p["level"] > p["before"].map({"low": "mid", "mid": "high"})  # noqa: B015


def test_one_row_for_each_unit_keeps_the_order() -> None:
    people = private(frame()).per_unit()
    first = people.agg(level=("level", "first"))
    assert "'low': 0" in repr(first["level"] > "low")
    for how in ("min", "max"):
        with pytest.raises(QueryError, match="an order that isn't that of their texts"):
            people.agg(level=("level", how))


#: Truth values of which some are missing.
FLAGS: dict[str, Line] = {
    "not": lambda f: (~f["member"]).sum(),
    "not, twice": lambda f: (~~f["member"]).sum(),
    "how many": lambda f: (~f["member"]).count(),
    "the rest": lambda f: f[~f["member"]]["income"].count(),
    "both": lambda f: f[~f["member"] & (f["income"] > 20)]["income"].count(),
    "either": lambda f: f[~f["member"] | (f["income"] > 20)]["income"].count(),
    "missing": lambda f: (~f["member"]).isna().sum(),
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", FLAGS)
def test_not_of_what_is_missing_is_missing(name: str) -> None:
    assert FLAGS[name](private(frame())).release(epsilon=1) == FLAGS[name](frame())


@pytest.mark.usefixtures("exact")
def test_the_mean_of_flags_leaves_out_what_is_missing() -> None:
    wanted = (~frame()["member"]).mean()
    assert (~private(frame())["member"]).mean().release(epsilon=1) == pytest.approx(wanted)
    assert private(frame()).query("not member").count().release(epsilon=1) == (
        ~frame()["member"]).sum()  # fmt: skip


def test_a_flag_of_a_missing_time_is_false() -> None:
    df = pd.DataFrame({"when": pd.to_datetime(["2024-01-01", None, "2024-01-02"])})
    agree(lambda f: f["when"].dt.is_month_start, df)
    agree(lambda f: ~f["when"].dt.is_month_start, df)
