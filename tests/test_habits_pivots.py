"""Habits of pivot_table: the same line on a plain frame and on a private one."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from habits import FRAMES, clean, declared, private, same

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError

#: Arguments of pivot_table. Labels are sorted by pandas, and in declared order here.
CALLS: dict[str, dict[str, Any]] = {
    "one": {"values": "age", "index": "sex", "columns": "level"},
    "rows alone": {"values": "age", "index": "sex", "aggfunc": "count"},
    "columns alone": {"values": "age", "columns": "level", "aggfunc": "mean"},
    "functions": {
        "values": "age", "index": "sex", "columns": "level", "aggfunc": ["mean", "count"]},
    "functions of rows": {"values": "age", "index": "sex", "aggfunc": ["mean", "count"]},
    "functions of a list": {"values": ["age"], "index": "sex", "aggfunc": ["mean", "count"]},
    "two columns": {"values": ["age", "income"], "index": "sex", "columns": "level"},
    "two columns by rows": {"values": ["age", "income"], "index": "sex"},
    "two of two": {
        "values": ["age", "income"], "index": "sex", "columns": "level",
        "aggfunc": ["mean", "count"]},
    "a dict": {"index": "sex", "columns": "level", "aggfunc": {"age": "mean"}},
    "a dict of two": {
        "values": ["age", "income"], "index": "sex", "columns": "level",
        "aggfunc": {"age": "mean", "income": "sum"}},
    "a dict of lists": {
        "values": ["age", "income"], "index": "sex", "columns": "level",
        "aggfunc": {"age": "mean", "income": ["sum"]}},
    "a dict of lists by rows": {
        "values": ["age", "income"], "index": "sex",
        "aggfunc": {"age": "mean", "income": ["mean", "sum"]}},
    "size": {"index": "sex", "columns": "level", "aggfunc": "size"},
    "size of rows": {"index": "sex", "aggfunc": "size"},
    "size of two levels": {"index": ["sex", "city"], "columns": "level", "aggfunc": "size"},
    "margins": {"values": "age", "index": "sex", "columns": "level", "margins": True},
    "margins of rows": {"values": "age", "index": "sex", "margins": True},
    "margins of two": {"values": ["age", "income"], "index": "sex", "margins": True},
    "margins of two by columns": {
        "values": ["age", "income"], "index": "sex", "columns": "level", "margins": True},
    "margins of levels": {
        "values": "age", "index": ["sex", "city"], "columns": "level", "margins": True},
    "named margins": {
        "values": "income", "index": "sex", "columns": ["level", "city"], "aggfunc": "sum",
        "margins": True, "margins_name": "T"},
    "margins of counts": {
        "values": "age", "index": "sex", "columns": "level", "aggfunc": "count", "margins": True},
    "margins of functions": {
        "values": "age", "index": "sex", "columns": "level", "aggfunc": ["mean", "count"],
        "margins": True},
    "in another order": {"values": ["income", "age"], "index": "sex", "aggfunc": "mean"},
    "a dict in another order": {"index": "sex", "aggfunc": {"income": "sum", "age": "mean"}},
    "functions in another order": {
        "values": ["income", "age"], "index": "sex", "columns": "level",
        "aggfunc": ["mean", "count"]},
    "filled": {"values": "age", "index": "sex", "columns": "level", "fill_value": 0},
}  # fmt: skip


#: Where pandas differs: its margins leave out rows that lack a value of another column.
DIFFERS = {("margins of two", "ugly"), ("margins of two by columns", "ugly")}


def in_order(table: Any) -> Any:
    """A table with sorted labels, whole numbers as such."""
    if isinstance(table, pd.Series):
        return table.sort_index()
    return table.sort_index().sort_index(axis=1)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", CALLS)
def test_as_pandas(name: str, frame: str) -> None:
    df = FRAMES[frame]()
    plain = df.pivot_table(**CALLS[name], observed=False)
    answer = private(df).pivot_table(**CALLS[name], epsilon=1)
    wanted = declared(plain)
    if "margins" in CALLS[name] and "count" in str(CALLS[name]):  # pandas' margins make floats
        wanted = wanted.astype(answer.dtypes.to_dict())
    if (name, frame) in DIFFERS:
        with pytest.raises(AssertionError):
            same(in_order(answer), in_order(wanted), rtol=1e-8)
        inside = [name for name in wanted.columns if "All" not in name]
        cells = (table.drop("All")[inside] for table in (answer, wanted))
        same(*map(in_order, cells), rtol=1e-8)
    else:
        same(in_order(answer), in_order(wanted), rtol=1e-8)
    assert len(dp.intervals(answer)) == answer.size
    assert dp.ledger().spent == 1


def test_margins_of_counts_are_sums_and_those_of_means_are_asked() -> None:
    p = private(clean())
    n = p.pivot_table(index="sex", columns="level", aggfunc="size", margins=True, epsilon=1)
    assert n.loc["All", "All"] == n.iloc[:-1, :-1].to_numpy().sum()
    assert p.crosstab("sex", "level", margins=True, epsilon=1).equals(n)
    assert dp.ledger().spent == 1  # the same question
    means = p.pivot_table("age", "sex", "level", margins=True, epsilon=1)
    parts = dp.record(means).components
    assert [float(each.epsilon) for each in parts.values()] == [1 / 2, 1 / 6, 1 / 6, 1 / 6]
    assert list(parts) == ["mean of age", "mean (rows) of age", "mean (columns) of age",
                           "mean (all) of age"]  # fmt: skip


@pytest.mark.usefixtures("exact")
def test_margins_are_of_the_rows_in_cells() -> None:
    """A row whose label isn't declared is in no cell, and so in no margin."""
    df = pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "w"], "c": [1.0, 3.0, 50.0]})
    p = dp.protect(df, name="inside", domain={"c": (0, 64)})
    keys = {"a": ["x", "y"], "b": ["u", "v"]}
    found = p.pivot_table("c", "a", "b", "sum", keys=keys, margins=True, epsilon=1)
    assert found.to_numpy().tolist() == [[1, 3, 4], [0, 0, 0], [1, 3, 4]]


REFUSED: dict[str, tuple[Any, dict[str, Any], type[Exception], str]] = {
    "no values": (clean, {"index": "sex", "columns": "level"}, QueryError, "5 are left here"),
    "no side": (clean, {"values": "age"}, QueryError, "index= or columns="),
    "no keys": (clean, {"values": "age", "index": "income"}, MissingArgument, "keys= is needed"),
    "no statistic": (
        clean, {"values": "age", "index": "sex", "aggfunc": []}, QueryError, "at least one"),
    "an unknown one": (
        clean, {"values": "age", "index": "sex", "aggfunc": "kurt"}, QueryError, "doesn't know"),
    "twice": (
        clean, {"values": "age", "index": "sex", "aggfunc": ["mean", "mean"]}, QueryError, "once"),
    "twice, by two names": (
        clean, {"values": "age", "index": "sex", "aggfunc": [len, "size"]}, QueryError, "once"),
    "others in the dict": (
        clean, {"values": ["age"], "index": "sex", "aggfunc": {"income": "mean"}}, QueryError,
        "for each column of values="),
    "no flag": (clean, {"values": "age", "index": "sex", "margins": 1}, QueryError, "margins=1"),
    "a label as margin": (
        clean, {"values": "age", "index": "sex", "margins": True, "margins_name": "f"}, QueryError,
        "is a key already"),
    "a column as margin": (
        clean, {"values": "age", "columns": "level", "margins": True, "margins_name": "low"},
        QueryError, "is a key already"),
    "no text": (
        clean, {"values": "age", "index": "sex", "margins": True, "margins_name": 3}, QueryError,
        "must be a string"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    make, options, kind, says = REFUSED[name]
    p = private(make())
    for more in ({}, {"epsilon": 1}):
        with pytest.raises(kind, match=says):
            p.pivot_table(**options, **more)
    assert dp.ledger().spent == 0


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
def test_a_table_by_private_columns(frame: str) -> None:
    df = FRAMES[frame]()
    p = private(df)

    def line(f: Any) -> Any:
        old = (f["income"] > 40).rename("old")
        return f.pivot_table("age", index=f["when"].dt.month, columns=old, aggfunc="count")

    found = line(p).release(epsilon=1)
    assert found.index.name == "when"
    assert found.columns.name == "old"
    wanted = line(df).reindex(index=found.index, columns=found.columns).fillna(0)
    pd.testing.assert_frame_equal(found, wanted.astype("int64"), check_names=False)
    by_name = p.assign(month=p["when"].dt.month).pivot_table("income", "month", aggfunc="sum")
    month = p["when"].dt.month.rename("month")
    spent = dp.ledger().spent
    assert by_name.release(epsilon=1).equals(
        p.pivot_table("income", month, aggfunc="sum").release(epsilon=1)
    )
    assert dp.ledger().spent == spent + 1  # one question, however it is spelled


def test_private_columns_of_a_table_need_names_of_their_own() -> None:
    p = private(clean())
    with pytest.raises(QueryError, match="two columns of this table are called 'age'"):
        p.pivot_table("age", index=p["age"] > 40)
    with pytest.raises(QueryError, match="two columns of this table are called 'when'"):
        p.pivot_table("age", index=p["when"].dt.month, columns=p["when"].dt.year)
    with pytest.raises(QueryError, match=r"Grouper\. Write frame\.groupby\(.*freq='"):
        p.pivot_table("age", index=pd.Grouper(key="when", freq="MS"))
    with pytest.raises(QueryError, match="columns are given by name"):
        p.pivot_table("age", index=(p["income"] > p["age"]))


def test_options_that_change_nothing() -> None:
    p = private(clean())
    plainly = p.pivot_table("age", index="sex").release(epsilon=1)
    for options in ({"observed": True}, {"observed": False, "dropna": False}):
        assert p.pivot_table("age", index="sex", **options).release(epsilon=1).equals(plainly)
    assert dp.ledger().spent == 1
    with pytest.raises(QueryError, match="observed=1 must be"):
        p.pivot_table("age", index="sex", observed=1)
