"""Selecting by reflex, as in pandas: `.loc`, names, kinds, and texts of queries. Noise aside, both
give the same, but for the differences that are listed here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import FRAMES, agree, clean, private
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import DPError, LineageError, QueryError, UnsupportedExpression

CITIES = {"Rome", "Oslo"}
SPRING = pd.Timestamp("2024-03-01")
OLD = 60

LINES: dict[str, Callable[[Any], Any]] = {
    "loc of a mask": lambda f: f.loc[f["member"]],
    "a filled mask": lambda f: f[f["member"].fillna(False)],
    "not a filled mask": lambda f: f[~f["member"].fillna(True)],
    "a filled mask and another": lambda f: f[f["member"].fillna(False) & (f["age"] > 40)],
    "a mask by another": lambda f: f[f["member"].where(f["sex"] == "f", False)],
    "a mask but where": lambda f: f[f["member"].mask(f["sex"] == "f", True)],
    "a mask turned": lambda f: f[f["member"].replace({True: False})],
    "query by a filled mask": lambda f: f.query("member.fillna(False) and age > 40"),
    "loc of a column": lambda f: f.loc[f["income"] > 30, "city"],
    "loc of columns": lambda f: f.loc[f["income"] > 30, ["city", "age"]],
    "loc of all rows": lambda f: f.loc[:, ["city", "age"]],
    "loc from one column to another": lambda f: f.loc[:, "level":"income"],  # type: ignore[misc]
    "loc of flags": lambda f: f.loc[:, f.columns != "age"],
    "loc of a function": lambda f: f.loc[lambda f: f["sex"] == "f", "age"],
    "loc of a column's rows": lambda f: f["age"].loc[f["income"] > 50],
    "count after loc": lambda f: f.loc[f["income"] > 30, "sex"].value_counts(),
    "drop by axis": lambda f: f.drop("age", axis=1),
    "drop several": lambda f: f.drop(["age", "sex"], axis="columns"),
    "drop what may be there": lambda f: f.drop(columns=["age", "none"], errors="ignore"),
    "filter by a part": lambda f: f.filter(like="e"),
    "filter by a pattern": lambda f: f.filter(regex="^[cs]"),
    "filter by names": lambda f: f.filter(items=["sex", "none", "age"]),
    "filter by axis": lambda f: f.filter(["age"], axis=1),
    "get": lambda f: f.get("age"),
    "get several": lambda f: f.get(["age", "city"]),
    "get what isn't there": lambda f: f.get("none", f["age"]),
    "columns one by one": lambda f: dict(f.items())["income"],
    "the names of columns": lambda f: f[[name for name in f.keys() if "e" in name]],  # noqa: SIM118
    "numbers": lambda f: f.select_dtypes("number"),
    "numbers of numpy": lambda f: f.select_dtypes(include=[np.number]),
    "truths and times": lambda f: f.select_dtypes(include=["bool", "datetime"]),
    "all but numbers": lambda f: f.select_dtypes(exclude="number"),
    "all but some kinds": lambda f: f.select_dtypes(exclude=["number", "bool", "datetime"]),
    "eval": lambda f: f.eval("income * 2 + 1"),
    "eval of two columns": lambda f: f.eval("income + age"),
    "eval of a mask": lambda f: f.eval("income > 30"),
    "eval assigns": lambda f: f.eval("half = income / 2"),
    "eval assigns several": lambda f: f.eval("half = income / 2\nquarter = half / 2"),
    "eval of a method": lambda f: f.eval("income.fillna(0)"),
    "query by a list": lambda f: f.query("city in @CITIES and income > 9"),
    "query by what isn't in a list": lambda f: f.query("city not in ['Rome'] and income < @OLD"),
    "query by a written list": lambda f: f.query("level == ['low', 'mid']"),
    "query by isin": lambda f: f.query("level.isin(@CITIES) or level.isin(['low'])"),
    "query by between": lambda f: f.query("income.between(20, 60, inclusive='left')"),
    "query by a time": lambda f: f.query("when >= @SPRING"),
    "query by a part of a time": lambda f: f.query("when.dt.month == 2"),
    "query by a day's name": lambda f: f.query("when.dt.day_name() == 'Monday'"),
    "query by a part of a text": lambda f: f.query("city.str.startswith('R') and income > 3"),
    "query by a length": lambda f: f.query("level.str.len() == 3"),
    "query by arithmetic": lambda f: f.query("income / 2 + age > 60"),
    "query by absolutes": lambda f: f.query("income.abs() < 50 and -income.abs() < -20"),
    "query by rounded": lambda f: f.query("income.round() == income"),
    "query by filled": lambda f: f.query("income.fillna(-1) < 0 or income.fillna(@OLD) > 50"),
    "query by a column in backticks": lambda f: f.query("`income` > 30 and `when`.notna()"),
    "starts of months": lambda f: f[f["when"].dt.is_month_start],
    "other days than starts of months": lambda f: f[~f["when"].dt.is_month_start],
    "the same in words": lambda f: f.query("not when.dt.is_month_start"),
    "not a mask": lambda f: f[~(f["income"] > 30)],
    "another value": lambda f: f[f["income"] != 25.0],
    "another text": lambda f: f.loc[f["sex"] != "f"],
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    agree(LINES[line], FRAMES[frame]())


#: Lines that give something else on ugly data.
OTHERWISE: dict[str, Callable[[Any], Any]] = {
    "another number": lambda f: f[f["age"] != 30],
    "not a comparison": lambda f: f[~(f["age"] > 30)],
}
#: Why. A missing value is one thing, whatever type holds it: it equals nothing, so it is unequal to
#: everything, as NaN and None are in pandas. pandas' nullable types answer NA, and drop the row.
DIFFERS = {
    "another number": "`!=` is true of missing values of all types, as pandas says of NaN.",
    "not a comparison": "`~` of a comparison with a missing value is true, whatever the type.",
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("line", DIFFERS)
def test_as_pandas_on_clean_data(line: str) -> None:
    agree(OTHERWISE[line], FRAMES["clean"]())


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("line", DIFFERS)
def test_not_as_pandas_on_ugly_data(line: str) -> None:
    with pytest.raises(AssertionError):
        agree(OTHERWISE[line], FRAMES["ugly"]())


# --- one question, however it is spelled ----------------------------------------------------------

#: Spellings of the same rows and columns.
SPELLINGS: dict[str, list[Callable[[Any], Any]]] = {
    "a column of some rows": [
        lambda p: p[p["age"] > 30]["income"].sum(),
        lambda p: p.query("age > 30")["income"].sum(),
        lambda p: p.query("age > @LIMIT").income.sum(),
        lambda p: p.loc[p["age"] > 30, "income"].sum(),
        lambda p: p.loc[p["age"] > 30].loc[:, "income"].sum(),
        lambda p: p["income"].loc[p["age"] > 30].sum(),
        lambda p: p[p.eval("age > 30")].eval("income").sum(),
    ],
    "rows by a list": [
        lambda p: p[p["city"].isin(["Oslo", "Rome"])].count(),
        lambda p: p.query("city in ['Oslo', 'Rome']").count(),
        lambda p: p.query("city in @CITIES").count(),
        lambda p: p.query("city.isin(@CITIES)").count(),
        lambda p: p.loc[p["city"].isin(CITIES)].count(),
    ],
    "a computed column": [
        lambda p: p.assign(x=p["income"].round() * 2)["x"].sum(),
        lambda p: p.assign(x="income.round() * 2")["x"].sum(),
        lambda p: p.eval("x = income.round() * 2")["x"].sum(),
        lambda p: p.eval("income.round() * 2").rename("x").sum(),
    ],
    "some columns": [
        lambda p: p[["age", "income"]].sum(),
        lambda p: p.filter(regex="^(age|income)$").sum(),
        lambda p: p.select_dtypes("number").sum(),
        lambda p: p.loc[:, ["age", "income"]].sum(),
        lambda p: p.loc[:, "age":"income"].sum(),
        lambda p: p.drop(OTHERS, axis=1)[["age", "income"]].sum(),
    ],
}  # fmt: skip
LIMIT, OTHERS = 30, ["city", "sex", "level", "member", "when"]


@pytest.mark.parametrize("what", SPELLINGS)
def test_one_key_however_it_is_spelled(what: str) -> None:
    anew(epsilon=10)
    people = private(FRAMES["clean"]())
    for spelled in SPELLINGS[what]:
        spelled(people).release(epsilon=1)
        assert dp.ledger().spent == 1


# --- refusals -------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "filled numbers": (lambda p: p[p["age"].fillna(0)], "isn't true or false"),
    "numbers filled with False": (
        lambda p: p[p["age"].fillna(False)].count(),
        "isn't True or False",
    ),
    "numbers turned": (lambda p: p[p["age"].replace({1: True})].count(), "isn't True or False"),
    "a row by label": (lambda p: p.loc[0], "rows can't be looked up by labels .* private mask"),
    "rows by label": (lambda p: p.loc[[0, 1], "age"], "rows can't be looked up by labels"),
    "rows by slice": (lambda p: p.loc[:5], "rows can't be looked up by labels"),
    "rows by flags": (lambda p: p.loc[[True] * 60], "rows can't be looked up by labels"),
    "a column's row": (lambda p: p["age"].loc[3], "rows can't be looked up by labels"),
    "a plain mask": (lambda p: p.loc[pd.Series([True]), "age"], "rows can't be looked up"),
    "another's mask": (lambda p: p.loc[p.query("age > 5")["member"]], "other rows"),
    "no such column": (lambda p: p.loc[:, "agee"], "Did you mean 'age'"),
    "no such end": (lambda p: p.loc[:, "agee":], "Did you mean 'age'"),  # type: ignore[misc]
    "a step": (lambda p: p.loc[:, "age"::2], "without a step"),  # type: ignore[misc]
    "too few flags": (lambda p: p.loc[:, [True, False]], "2 truth values can't choose among 7"),
    "rows dropped": (lambda p: p.drop(0), "Which rows there are is private"),
    "rows dropped by axis": (lambda p: p.drop(["age"], axis=0), "drop takes names of columns"),
    "dropped twice": (lambda p: p.drop("age", axis=1, columns="sex"), "drop takes names"),
    "nothing dropped": (lambda p: p.drop(), "there is no column None"),
    "errors": (lambda p: p.drop(columns="age", errors="skip"), "'raise' or 'ignore'"),
    "dropped by mistake": (lambda p: p.drop(columns="agee"), "Did you mean 'age'"),
    "nothing to filter": (lambda p: p.filter(), "one of items="),
    "twice to filter": (lambda p: p.filter(items=["age"], like="a"), "one of items="),
    "filtered rows": (lambda p: p.filter(like="a", axis=0), "labels of rows are private"),
    "a pattern": (lambda p: p.filter(regex="("), "isn't a regular expression"),
    "no text": (lambda p: p.filter(like=5), "5 must be a string"),
    "no list": (lambda p: p.filter(items="age"), "list of names"),
    "no kinds": (lambda p: p.select_dtypes(), "needs include= or exclude="),
    "whole numbers": (lambda p: p.select_dtypes("int64"), "one kind here: use 'number'"),
    "floats": (lambda p: p.select_dtypes(include=[float]), "one kind here: use 'number'"),
    "no such kind": (lambda p: p.select_dtypes("nmber"), "Did you mean 'number'"),
    "kinds twice": (lambda p: p.select_dtypes("bool", exclude=bool), "include= and in exclude="),
    "inplace": (lambda p: p.eval("x = age", inplace=True), "never change in place"),
    "lines that assign nothing": (lambda p: p.eval("x = age\nage + 1"), "each assigns a column"),
    "no text to eval": (lambda p: p.eval(5), "a query is a string"),
    "eval of a statistic": (lambda p: p.eval("age - age.mean()"), "other rows"),
    "eval of nothing": (lambda p: p.eval(""), "can't be parsed"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_says_why(what: str) -> None:
    ask, match = REFUSED[what]
    people = private(FRAMES["clean"]())
    refusal(lambda: ask(people), match, DPError)


def test_nothing_is_set_in_place() -> None:
    people = private(FRAMES["clean"]())

    def assign() -> None:
        people.loc[people["age"] > 90, "age"] = 90

    refusal(assign, "assign and where")


def test_the_unit_is_not_assigned() -> None:
    p = dp.protect(FRAMES["clean"](), name="owned", unit="city", max_rows=1)
    refusal(lambda: p.eval("city = 1"), "is the unit", DPError)


def test_kinds_of_declared_labels() -> None:
    """A category is a column whose labels are declared, whatever its dtype."""
    people = private(FRAMES["ugly"]())
    assert list(people.select_dtypes("category").columns) == ["city", "sex", "level"]
    assert list(people.select_dtypes("object", exclude="category").columns) == []
    assert "category" in (type(people).select_dtypes.__doc__ or "")


def test_names_are_read_where_the_text_is() -> None:
    """A list that changes later doesn't change the question; its title shows what was read."""
    people = private(FRAMES["clean"]())
    wanted = ["Rome"]
    asked = people.query("city in @wanted")
    wanted.append("Oslo")
    assert "city in ['Rome']" in repr(asked)


# --- one row for each unit ------------------------------------------------------------------------


def visits() -> pd.DataFrame:
    draw = np.random.default_rng(2)  # of data, not of noise
    person = draw.integers(0, 30, 90)
    return pd.DataFrame({
        "person": person, "region": np.where(person % 3 == 0, "north", "south"),
        "x": draw.integers(0, 20, 90) / 4, "late": draw.random(90) < 0.3,
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(draw.integers(0, 99, 90), unit="D"),
    })  # fmt: skip


def protected_visits() -> Any:
    domain = {"region": ["north", "south"], "x": (0, 5)}
    return dp.protect(visits(), name="visits", unit="person", max_rows=4, domain=domain)


@pytest.mark.usefixtures("exact")
def test_groups_of_units() -> None:
    """The keys of a region are those of its first one, which here is the only one."""
    names = {"region": ("region", "first"), "total": ("x", "sum"), "most": ("x", "max")}
    plain = visits().groupby("person").agg(**names).groupby("region")
    people = protected_visits().per_unit().agg(**names).groupby("region")
    found = people["total"].mean(bounds=(0, 50), epsilon=1)
    pd.testing.assert_series_equal(found, plain["total"].mean(), rtol=1e-6, check_index_type=False)
    assert people.size(epsilon=1).tolist() == plain.size().tolist()
    largest = people["most"].mean(epsilon=1)  # its bounds are those of x
    pd.testing.assert_series_equal(largest, plain["most"].mean(), rtol=1e-6, check_index_type=False)


#: What a unit's value keeps of the column's facts.
KEPT: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "first": (lambda u: u.agg(v=("region", "first")), "", "north, south"),
    "max of labels": (lambda u: u.agg(v=("region", "max")), "", "north, south"),
    "min": (lambda u: u.agg(v=("x", "min")), "(0, 5)", ""),
    "mean": (lambda u: u.agg(v=("x", "mean")), "(0, 5)", ""),
    "median": (lambda u: u.agg(v=("x", "median")), "(0, 5)", ""),
    "any": (lambda u: u.agg(v=("late", "any")), "", "False, True"),
    "sum": (lambda u: u.agg(v=("x", "sum")), "", ""),
    "count": (lambda u: u.agg(v=("x", "count")), "", ""),
}


@pytest.mark.parametrize("how", KEPT)
@pytest.mark.parametrize("spelled", ["as it is", "renamed", "assigned"])
def test_declared_facts_are_kept(how: str, spelled: str) -> None:
    p = protected_visits()
    if spelled == "renamed":
        p = p.rename(columns={"region": "r", "x": "y"}).rename(columns={"r": "region", "y": "x"})
    elif spelled == "assigned":
        p = p.assign(old=p["x"], where=p["region"]).assign(x="old", region="where")
    make, bounds, keys = KEPT[how]
    facts = make(p.per_unit()).describe().loc["v"]
    assert (facts["bounds"], facts["keys"]) == (bounds, keys)


SAME_UNITS: list[Callable[[Any], Any]] = [
    lambda p: p.per_unit().agg(x=("x", "sum"))["x"],
    lambda p: p.per_unit().agg({"x": "sum"})["x"],
    lambda p: p.per_unit().agg(x=pd.NamedAgg("x", "sum"))["x"],
    lambda p: p.per_unit()["x"].sum(),
    lambda p: p.per_unit()["x"].agg("sum"),
    lambda p: p.per_unit()[["x"]].sum()["x"],
    lambda p: p[["person", "x"]].per_unit().sum()["x"],
    lambda p: p.per_unit().x.sum(),
]


@pytest.mark.usefixtures("exact")
def test_one_row_for_each_unit_has_one_key() -> None:
    anew(epsilon=10)
    p = protected_visits()
    wanted = visits().groupby("person")["x"].sum().mean()
    for spelled in SAME_UNITS:
        found = spelled(p).mean(bounds=(0, 50), epsilon=1)
        assert abs(found - wanted) < 1e-6
        assert dp.ledger().spent == 1
    sizes = p.per_unit().size().mean(bounds=(0, 20), epsilon=1)
    assert abs(sizes - visits().groupby("person").size().mean()) < 1e-6


@pytest.mark.parametrize(("ask", "match"), [
    (lambda u: u.agg({"x": ["sum", "mean"]}), "names of their own"),
    (lambda u: u.agg(x=("x", "std")), "must be a pair .* sum, mean"),
    (lambda u: u.agg(), "needs names"), (lambda u: u.agg("sum", y=("x", "sum")), "needs names"),
    (lambda u: u.agg(["sum"]), "needs names"), (lambda u: u["xx"], "no column 'xx'"),
    (lambda u: u[["x", "xx"]], "no column 'xx'"), (lambda u: u["when"].sum(), "of kind time"),
    (lambda u: u["person"].first(), "is the unit"), (lambda u: u["x"].sum(1), "takes nothing"),
    (lambda u: u.nothing, "They answer agg"), (lambda u: u["x"].agg("std"), "must be a pair"),
])  # fmt: skip
def test_what_units_refuse(ask: Callable[[Any], Any], match: str) -> None:
    refusal(lambda: ask(protected_visits().per_unit()), f"(?i){match}", DPError)


#: Functions of numbers that pandas' query strings know.
FUNCTIONS = {
    "abs": "abs(income - 50) < 20", "sqrt": "sqrt(income) > 5", "engine": "income > 50",
    "several": "floor(log(income + 1)) == 3", "of two": "arctan2(income, age) > 0.7",
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_a_query(name: str, frame: str) -> None:
    df = FRAMES[frame]()
    df = df.assign(age=df["age"].astype("float64"))
    text, engine = FUNCTIONS[name], "python"
    agree(lambda f: f.query(text, engine=engine)["income"].count(), df)
    agree(lambda f: f.query(text)["income"].count(), df)


def test_a_function_in_a_query_is_the_one_of_numpy() -> None:
    p = private(clean())
    by_text, by_mask = p.query("sqrt(income) > 5").count(), p[np.sqrt(p["income"]) > 5].count()
    assert by_text.release(epsilon=1) == by_mask.release(epsilon=1)
    assert dp.ledger().spent == 1
    for text, says in (
        ("sqrt(income, 2) > 1", "sqrt takes one number"), ("arctan2(age) > 1", "takes two numbers"),
        ("mean(income) > 1", "calls a function"), ("sqrt(x=income) > 1", "calls a function"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedExpression, match=says):
            p.query(text)
    with pytest.raises(QueryError, match="engine='numba' must be"):
        p.query("income > 1", engine="numba")
    with pytest.raises(QueryError, match="kind time"):
        p.query("sqrt(when) > 1").count()


#: Ways to merge with a public table.
NORTH = pd.DataFrame({"city": ["Rome", "Oslo"], "north": [False, True]})
MERGES: dict[str, Any] = {
    "by all names": lambda f: f.merge(NORTH)["north"].sum(),
    "a check": lambda f: f.merge(NORTH, on="city", validate="m:1")["north"].count(),
    "inner by itself": lambda f: f.merge(NORTH, on="city")["income"].count(),
    "by the index": lambda f: f.merge(
        NORTH.set_index("city"), left_on="city", right_index=True)["north"].sum(),
    "a series by its index": lambda f: f.merge(
        NORTH.set_index("city")["north"], left_on="city", right_index=True)["north"].sum(),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", MERGES)
def test_merges(name: str, frame: str) -> None:
    agree(MERGES[name], FRAMES[frame]())


def test_merges_that_cannot_be() -> None:
    p, by_city = private(clean()), NORTH.set_index("city")
    for line, says in (
        (lambda: p.merge(NORTH[["north"]]), "no column has the same name"),
        (lambda: p.merge({"city": ["Bonn"]}), "takes a public DataFrame, not a dict"),
        (lambda: p.merge(pd.Series([1], ["columns"])), "no column has the same name"),
        (lambda: p.merge(NORTH, validate="1:1"), "validate='1:1' must be"),
        (lambda: p.merge(by_city, right_index=True), "needs left_on="),
        (lambda: p.merge(by_city, left_on="city", right_on="x", right_index=True), "no on= or"),
        (lambda: p.merge(NORTH.assign(x=1).set_index("x"), left_on="city", right_index=True),
         "no column of the table by their names"),
        (lambda: p.merge(by_city, left_on=["city", "sex"], right_index=True), "a level of the ind"),
        (lambda: p.merge(by_city, left_on="city", right_index="x"), "right_index='x' must be"),
        (lambda: p.merge(by_city["north"].rename(None), left_on="city", right_index=True),
         "needs a name for the Series"),
    ):  # fmt: skip
        with pytest.raises(QueryError, match=says):
            line()
    held = clean()
    private(held)
    with pytest.raises(LineageError, match="protected source"):
        p.merge(held.set_index("city"), left_on="city", right_index=True)
