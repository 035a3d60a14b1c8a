"""Habits of groupby and agg: the same line on a plain frame and on a private one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import FRAMES, agree, clean, private, ugly
from notes import noted

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError

Line = Callable[[Any], Any]
#: Lines that mean the same on both frames. Answers of pandas are sorted by their labels, and ours
#: are if they are told to be.
LINES: dict[str, Line] = {
    "named": lambda f: f.groupby("city", sort=True).agg(n=("age", "size"), old=("age", "mean")),
    "named agg": lambda f: f.groupby("city", sort=True).agg(
        total=pd.NamedAgg("income", "sum"), n=pd.NamedAgg(column="age", aggfunc="count")),
    "names of one": lambda f: f.groupby("city", sort=True)["age"].agg(n="size", old="mean"),
    "aggregate": lambda f: f.groupby("city", sort=True)["age"].aggregate(["mean", "size"]),
    "size": lambda f: f.groupby("city", sort=True).agg("size"),
    "size of each": lambda f: f.groupby("city", sort=True)[["age", "income"]].agg(["size", "mean"]),
    "a dict": lambda f: f.groupby("city", sort=True).agg({"age": "mean", "income": "sum"}),
    "a dict of lists": lambda f: f.groupby("city", sort=True).agg(
        {"age": ["mean", "size"], "income": ["sum"]}),
    "a mixed dict": lambda f: f.groupby("city", sort=True).agg({"age": ["mean"], "income": "sum"}),
    "functions": lambda f: f.groupby("city", sort=True)["income"].agg([np.mean, np.sum]),
    "size of a column": lambda f: f.groupby("city", sort=True)["age"].size(),
    "size of a column by two": lambda f: f.groupby(["city", "sex"], sort=True)["age"].size(),
    "size of columns": lambda f: f.groupby("city", sort=True)[["age"]].size(),
    "size of a column by another": lambda f: f["age"].groupby(f["city"], sort=True).size(),
    "size of a column, as a column": lambda f: f.groupby(
        "city", sort=True, as_index=False)["age"].size(),
    "size of a column, agg": lambda f: f.groupby("city", sort=True)["age"].agg("size"),
    "len": lambda f: f.groupby("city", sort=True)["income"].agg([len]),
    "distinct": lambda f: f.groupby("city", sort=True).agg(kinds=("level", "nunique")),
    "distinct in a dict": lambda f: f.groupby("city", sort=True).agg({"level": "nunique"}),
    "one column": lambda f: f["age"].agg(["size", "mean"]),
    "one column, named": lambda f: f["age"].agg(n="count", old="mean"),
    "a frame": lambda f: f[["age", "income"]].agg(["size", "mean"]),
    "a frame, by dict": lambda f: f.agg({"age": "mean", "income": "sum"}),
    "a frame, by lists": lambda f: f.agg({"age": ["mean", "count"], "income": ["sum"]}),
    "a frame, named": lambda f: f.agg(old=("age", "mean"), rich=("income", "sum")),
    "a frame, aggregate": lambda f: f[["age", "income"]].aggregate(["count", "mean"]),
    "as_index": lambda f: f.groupby("city", sort=True, as_index=False)["age"].mean(),
    "as_index of several": lambda f: f.groupby(
        ["city", "sex"], sort=True, as_index=False)[["age", "income"]].mean(),
    "as_index, size": lambda f: f.groupby("city", sort=True, as_index=False).size(),
    "as_index, agg": lambda f: f.groupby("city", sort=True, as_index=False).agg(
        n=("age", "size"), old=("age", "mean")),
    "as_index, a dict of lists": lambda f: f.groupby("city", sort=True, as_index=False).agg(
        {"age": ["mean", "size"]}),
    "as_index, one column's agg": lambda f: f.groupby("city", sort=True, as_index=False)["age"].agg(
        ["mean", "size"]),
    "numbers only": lambda f: f.groupby("city", sort=True)[["age", "income", "level"]].mean(
        numeric_only=True),
    "numbers of a frame": lambda f: f[["age", "income", "level"]].mean(numeric_only=True),
    "by a part of a time": lambda f: f.groupby(f["when"].dt.month, sort=True)["income"].sum(),
    "by a mask": lambda f: f.groupby(f["income"] > 40, sort=True)["income"].sum(),
    "by a column itself": lambda f: f.groupby(f["city"], sort=True)["age"].mean(),
    "by a text": lambda f: f.groupby(f["city"].astype(str).str.upper(), sort=True)["age"].count(),
    "a column by another": lambda f: f["age"].groupby(f["city"], sort=True).mean(),
    "a column by two": lambda f: f["age"].groupby([f["city"], f["sex"]], sort=True).mean(),
    "a column by a mask": lambda f: f["age"].groupby(f["income"] > 40, sort=True).count(),
    "a column by itself": lambda f: f["city"].groupby(f["city"], sort=True).count(),
    "observed": lambda f: f.groupby("city", sort=True, observed=True)["age"].mean(),
    "pipe": lambda f: f.groupby("city", sort=True).pipe(lambda g, name: g[name].mean(), "age"),
    "two columns": lambda f: f.groupby(["city", f["income"] > 40], sort=True)["income"].mean(),
    "size with missing": lambda f: f.groupby("level", sort=True, dropna=False).size(),
    "sum with missing": lambda f: f.groupby("sex", sort=True, dropna=False)["income"].sum(),
}  # fmt: skip
#: How far sums are off, because they are kept on a grid.
GRID = 1e-8


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    def plain(f: Any) -> Any:
        found = LINES[line](f)
        if line == "by a part of a time":  # months of which there are no rows are there, too
            found = found.reindex(pd.Index(range(1, 13), name="when"), fill_value=0.0)
        if line.endswith("with missing") and not found.index.hasnans:  # nor of missing labels
            gone = pd.Index([np.nan], name=found.index.name)
            found = found.reindex(found.index.append(gone), fill_value=0)
        return found

    agree(LINES[line], FRAMES[frame](), plain, GRID)


@pytest.mark.usefixtures("exact")
def test_labels_of_a_mask_are_a_column() -> None:
    """pandas 2.2 leaves it out."""
    agree(
        lambda f: f.groupby(f["age"] > 40, sort=True, as_index=False).agg(n=("age", "count")),
        clean(), lambda f: f.groupby(f["age"] > 40).agg(n=("age", "count")).reset_index(),
    )  # fmt: skip


#: Statistics of a last group of the rows whose label is missing.
MISSING: dict[str, Line] = {
    "mean": lambda f: f.groupby("sex", sort=True, dropna=False)["age"].mean(),
    "of a list": lambda f: f.groupby(["sex"], sort=True, dropna=False)[["age", "income"]].mean(),
    "by a column": lambda f: f.groupby(f["level"], sort=True, dropna=False)["income"].sum(),
    "of a column": lambda f: f["income"].groupby(f["level"], sort=True, dropna=False).count(),
    "of a query": lambda f: f.query("income > 20").groupby("sex", sort=True, dropna=False).size(),
    "of a time": lambda f: f.groupby(
        f["when"].dt.month.map({1: 1, 2: 2}), sort=True, dropna=False)["income"].sum(),
    "agg": lambda f: f.groupby("sex", sort=True, dropna=False).agg(
        n=("age", "size"), old=("age", "mean"), rich=("income", "sum")),
    "as_index": lambda f: f.groupby(
        "sex", sort=True, dropna=False, as_index=False)["income"].mean(),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
def test_missing_labels_are_a_group_as_in_pandas() -> None:
    for name, line in MISSING.items():
        with noted(name):
            agree(line, ugly(), rtol=GRID)


# --- groups ---------------------------------------------------------------------------------------

Asks = list[Callable[[Any], Any]]

#: Lines that ask one question: the second is answered by the first, at no cost.
ALIKE: dict[str, Asks] = {
    "labels in columns": [
        lambda p: p.groupby("city").size(), lambda p: p.groupby("city", as_index=False).size(),
        lambda p: p.groupby("city", sort=True).size(), lambda p: p.groupby(p["city"]).size(),
        lambda p: p.groupby(["city"]).agg("size"),
        lambda p: p.groupby("city", keys=["Rome", "Oslo", "Bonn"]).aggregate(len),
    ],
    "several figures": [
        lambda p: p.groupby("city").agg({"age": ["mean", "size"]}),
        lambda p: p.groupby("city").agg(a=("age", "mean"), b=("income", "size")),
        lambda p: p.groupby("city", as_index=False)["age"].agg(a="mean", b="size"),
        lambda p: p.groupby("city")[["age"]].agg([np.mean, np.size]),
    ],
    "two keys": [
        lambda p: p.groupby(["city", "age"], keys={"age": [30, 40]}).size(),
        lambda p: p.groupby(["city", "age"], keys=[30, 40]).size(),
        lambda p: p.groupby(
            ["city", "age"], keys={"city": ["Rome", "Oslo", "Bonn"], "age": [30, 40]}).size(),
        lambda p: p.groupby([p["city"], "age"], keys=[30, 40]).size(),
    ],
    "numbers only": [
        lambda p: p[["age", "income"]].mean(),
        lambda p: p[["age", "income", "level"]].mean(numeric_only=True),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_one_question_however_it_is_asked(name: str) -> None:
    p = private(clean())
    first, *others = ALIKE[name]
    first(p).release(epsilon=1)
    spent = dp.ledger().spent
    for ask in others:
        ask(p).release(epsilon=1)
    assert dp.ledger().spent == spent


def test_answers_keep_their_errors_where_labels_are_columns() -> None:
    p = private(clean())
    asked = p.groupby(["city", "sex"], as_index=False, sort=True)
    means = asked[["age", "income"]].mean(epsilon=1)
    assert means.columns.tolist() == ["city", "sex", "age", "income"]
    by_index = p.groupby(["city", "sex"])[["age", "income"]].mean(epsilon=1)
    for answer, own in ((means, by_index), (by_index.reset_index(), by_index)):
        found = dp.intervals(answer)["error"].sort_index()
        pd.testing.assert_series_equal(found, dp.intervals(own)["error"].sort_index())
    several = asked.agg(n=("age", "size"), old=("age", "mean"), epsilon=1)
    assert dp.intervals(several, 0.9).loc[("Rome", "f", "n"), "error"] == 9, "95 % of each of two"
    assert list(dp.record(several).components) == ["size", "mean of age"]
    changed = means.assign(age=means["age"] + 1)
    with pytest.raises(LookupError):
        dp.record(changed)
    assert "age" in dp.record(means.tail(2)).query


def losses(answer: Any) -> list[float]:
    return [float(each.epsilon) for each in dp.record(answer).components.values()]


def test_shares_are_named_as_the_figures_are() -> None:
    p = private(clean())
    by = p.groupby("city")
    answer = by.agg(n=("age", "size"), old=("age", "mean"), shares={"n": 1, "old": 3}, epsilon=1)
    assert losses(answer) == [0.25, 0.75]
    answer = by.agg(
        n=("age", "size"), m=("sex", "size"), old=("age", "mean"),
        shares={"size": 1, "mean": 4}, epsilon=1,
    )  # fmt: skip
    assert (answer["n"] == answer["m"]).all()  # rows are counted once
    assert losses(answer) == [0.2, 0.8]


def test_the_unit_column_groups_as_per_unit() -> None:
    visits = pd.DataFrame({"who": [1, 1, 2, 3], "x": [5, 7, 9, 1]})
    p = dp.protect(visits, name="who", unit="who", max_rows=2)
    asked = [
        p.groupby("who")["x"].sum(), p.groupby("who").agg(x=("x", "sum"))["x"],
        p.groupby(["who"]).agg({"x": "sum"})["x"], p.per_unit()["x"].sum(),
    ]  # fmt: skip
    for each in asked:
        each.mean(bounds=(0, 20), epsilon=1)
    assert dp.ledger().spent == 1
    p.groupby("who", keys=[1, 2]).size(epsilon=1)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "another frame's column": (
        lambda p: p.groupby(clean()[["city"]].dp["city"]), LineageError, "another frame"),
    "other rows": (lambda p: p.groupby(p["city"][p["age"] > 3]), QueryError, "other rows"),
    "no keys": (lambda p: p.groupby(p["age"] + 1), MissingArgument, "keys= is needed for 'age'"),
    "two of one name": (
        lambda p: p.groupby([p["when"].dt.year, p["when"].dt.month], keys={"when": [1]}),
        QueryError, "tell apart columns of one name.*rename"),
    "labels twice": (
        lambda p: p.groupby(p["age"] > 30, as_index=False)["age"].mean(), QueryError,
        "as_index=False: two columns"),
    "labels twice in agg": (
        lambda p: p.groupby("city", as_index=False).agg(city=("age", "mean")), QueryError,
        "as_index=False: two columns"),
    "two labels of one name": (
        lambda p: p.groupby([p["when"].dt.month, p["when"].dt.day], as_index=False), QueryError,
        "as_index=False: two columns"),
    "keys of neither": (
        lambda p: p.groupby(["age", "income"], keys={"age": [1]}), MissingArgument,
        "no entry for 'income'"),
    "a flat list for two": (
        lambda p: p.groupby(["age", "income"], keys=[1, 2]), QueryError, "list of tuples"),
    "no order": (
        lambda p: pd.DataFrame({"x": [1, "a"]}).dp.groupby("x", keys=[1, "a"], sort=True),
        QueryError, "no common order"),
    "no flag": (lambda p: p.groupby("city", sort="no"), QueryError, "sort='no' must be"),
    "observed": (lambda p: p.groupby("city", observed=1), QueryError, "observed=1 must be"),
    "missing labels of two": (
        lambda p: p.groupby(["city", "sex"], keys={"city": ["Oslo"], "sex": ["f"]}, dropna=False),
        QueryError, "fillna"),
    "missing labels found": (
        lambda p: p.groupby("city", dropna=False, delta=1e-6), QueryError, "isna"),
    "no flag for missing": (
        lambda p: p.groupby("city", dropna=None), QueryError, "dropna=None must be"),
    "func": (lambda p: p.agg(func=("age", "sum")), QueryError, "can't name a figure 'func'"),
    "a share of none": (
        lambda p: p.agg(a=("age", "mean"), b=("age", "sum"), shares={"a": 1, "zzz": 1}), QueryError,
        "names 'zzz'"),
    "no share": (
        lambda p: p.agg(a=("age", "mean"), b=("age", "sum"), shares={"a": 1}), MissingArgument,
        "no share for 'b'"),
    "a share of zero": (
        lambda p: p.agg(a=("age", "mean"), b=("age", "sum"), shares={"a": 0, "b": 1}), QueryError,
        "shares of 'a'=0"),
    "a column by a name": (lambda p: p["age"].groupby("city"), QueryError, r"groupby\('sex'\)"),
    "a column of another frame": (
        lambda p: p["age"].groupby(private(clean())[["city"]].query("city == 'Rome'")["city"]),
        QueryError, "other rows"),
    "a function": (
        lambda p: p.groupby("city").agg(x=("age", lambda s: s.max())), QueryError, "other rows"),
    "np.prod": (lambda p: p["age"].agg(np.prod), QueryError, "function prod: a function of your"),
    "None for a column": (lambda p: p[["age"]].agg({None: "mean"}), QueryError, "None for a col"),
    "None in a name": (lambda p: p.agg(x=(None, "mean")), QueryError, r"agg\(\['mean'\]\)"),
    "None of a group": (
        lambda p: p.groupby("city").agg({None: "mean"}), QueryError, "None for a column"),
    "None in a group's name": (
        lambda p: p.groupby("city")[["age"]].agg(x=(None, "mean")), QueryError, "None for a col"),
    "a statistic twice": (
        lambda p: p["age"].agg(["mean", "mean"]), QueryError, "names 'mean' twice"),
    "no statistic": (lambda p: p["age"].agg([]), QueryError, "at least one statistic: "),
    "a label of rows": (
        lambda p: p.groupby(lambda i: i % 2), QueryError, r"labels of rows.*\.assign\(odd="),
    "a computed key": (
        lambda p: p.assign(y=p["age"] // 10).groupby("y"), MissingArgument,
        r"Write keys=\[9, 12, 14\], or compute it by \.map.*\.cut"),
    "no such statistic": (
        lambda p: p.groupby("city").agg(x=("age", "kurt")), QueryError, "doesn't know 'kurt'"),
    "no column": (lambda p: p.groupby("city").agg(x="mean"), QueryError, "must say what to agg"),
    "an unknown column": (lambda p: p.groupby("city").agg(x=("agee", "mean")), Exception, "'agee'"),
    "an option's name": (
        lambda p: p.groupby("city").agg(delta=("age", "mean")), QueryError, "delta= is an option"),
    "nothing": (lambda p: p.groupby("city").agg(), QueryError, "can't use None"),
    "shares of one": (lambda p: p["age"].agg("mean", shares={"mean": 1}), QueryError, "only one"),
    "no numbers": (lambda p: p[["city"]].mean(numeric_only=True), QueryError, "numeric_only=True"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    p = private(clean())
    line, kind, says = REFUSED[name]
    with pytest.raises(kind, match=says):
        line(p)
    assert dp.ledger().spent == 0


#: What can't be laid out in columns: two of them would have one name.
CLASHES: dict[str, Line] = {
    "size": lambda f: f.groupby("size", as_index=False).size(),
    "size of two": lambda f: f.groupby(["sex", "size"], as_index=False).size(),
    "count": lambda f: f.groupby("count", as_index=False)["sex"].value_counts(),
    "its own labels": lambda f: f.groupby("sex", as_index=False)["sex"].value_counts(),
    "proportion": lambda f: f.groupby("proportion", as_index=False)["sex"].value_counts(True),
    "mean": lambda f: f.groupby("mean", as_index=False)["age"].describe(),
    "a quarter": lambda f: f.groupby("25%", as_index=False)["age"].describe(),
    "a level": lambda f: f.groupby("level_1", as_index=False)["age"].quantile([0.1, 0.5]),
    "a level of pairs": lambda f: f.groupby("level_1", as_index=False)[["age", "income"]].corr(),
}


@pytest.mark.parametrize("name", CLASHES)
def test_two_columns_of_one_name_are_refused_before_a_charge(name: str) -> None:
    names = ["size", "count", "proportion", "mean", "25%", "level_1"]
    df = clean().assign(**dict.fromkeys(names, "f"))
    p = dp.protect(
        df,
        name="clash",
        domain={
            "sex": ["f", "m"],
            "age": (0, 100),
            "income": (0, 100),
            **{name: ["f", "m"] for name in names},
        },
    )
    with pytest.raises(QueryError, match="as_index=False: two columns"):
        CLASHES[name](p).release(epsilon=1)
    assert dp.ledger().spent == 0


@pytest.mark.usefixtures("exact")
def test_variances_of_numpy_are_what_pandas_makes_of_them() -> None:
    df = clean()
    p, g = private(df), df.groupby("city", sort=True)
    for func in (np.std, np.var):
        wanted = g["age"].agg(func)
        found = p.groupby("city", sort=True)["age"].agg(func, epsilon=1)
        assert found.to_numpy() == pytest.approx(wanted.to_numpy(), rel=1e-3)
        table = p.groupby("city", sort=True)["age"].agg([func, "mean"], epsilon=1)
        assert table.columns.tolist() == g["age"].agg([func, "mean"]).columns.tolist()
        shown = p.pivot_table("age", "city", aggfunc=func, epsilon=1)["age"]
        assert shown[wanted.index].tolist() == pytest.approx(wanted.tolist(), rel=1e-3)
