"""What people write who know pandas, or mistype: refused free of charge, in words that help."""

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import chain, refusal

import dppandas as dp
from dppandas.errors import (
    LineageError,
    MissingArgument,
    PrivateValueError,
    QueryError,
    RecordError,
    SourceError,
)

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

ROWS = pd.DataFrame({
    "x": [1.0, 2.0, 3.0] * 100, "y": [1.0, 4.0, 3.0] * 100, "g": ["a", "b", "a"] * 100,
    "f": [True, False, True] * 100, "when": pd.date_range("2025", periods=300),
})  # fmt: skip
DOMAIN = {"x": (0, 5), "y": (0, 5), "g": ["a", "b"]}

Ask = Callable[[Any], Any]


@pytest.fixture
def p() -> Any:
    dp.session(epsilon=100, delta=1e-3)
    return dp.protect(ROWS.copy(), name="s", domain=DOMAIN)


def refused(ask: Ask, p: Any, match: str, error: type[Exception] = QueryError) -> str:
    """The message of a refusal that cost nothing."""
    return refusal(lambda: ask(p), match, error)


def votes(rows: pd.DataFrame, candidate: str) -> int:
    return int((rows["g"] == candidate).sum())


def most(rows: pd.DataFrame) -> int:
    return len(rows)


#: Answers that are asked for first and paid for later, with the words by which they are.
LATER: dict[str, tuple[Ask, str]] = {
    "counts": (lambda p: p["g"].value_counts(), "release"),
    "a number": (lambda p: p["x"].mean(), "release"),
    "a label": (lambda p: p["g"].value_counts(), "idxmax"),
    "the top": (lambda p: p["g"].value_counts(), "nlargest"),
    "the top of columns": (lambda p: p[["f"]].sum(), "nlargest"),
    "an error": (lambda p: p["g"].value_counts(), "expected_error"),
    "a mode": (lambda p: p["g"].mode(), "release"),
    "several": (lambda p: p["x"].agg(["mean", "count"]), "release"),
    "one of several": (lambda p: p["x"].agg("mean"), "release"),
    "all eight": (lambda p: p["x"].describe(), "release"),
    "labels found": (lambda p: p["g"].unique(delta=1e-6), "release"),
    "counts found": (lambda p: ROWS.dp["g"].value_counts(delta=1e-6), "release"),
    "groups found": (lambda p: ROWS.dp.groupby("g", delta=1e-6).size(), "release"),
    "a choice": (lambda p: dp.select(ROWS, ["a", "b"], score=votes, sensitivity=1), "release"),
    "a distance": (lambda p: dp.distance_to_property(ROWS, most), "release"),
    "a test": (lambda p: dp.propose_test_release(ROWS, most, most), "release"),
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("slip", [{"mechanizm": "gaussian"}, {"bounds": (0, 1)}, {"axis": 0}])
def test_a_release_takes_what_it_knows(name: str, slip: dict[str, Any], p: Any) -> None:
    ask, way = LATER[name]
    asked = getattr(ask(p), way)
    first = (1,) if way == "nlargest" else ()
    said = refused(lambda _: asked(*first, epsilon=1, **slip), p, repr(next(iter(slip))))
    assert "charged" in said
    assert ("Did you mean mechanism=" in said) == ("mechanizm" in slip)


NARROW = [(0, 1e-308), (-1e-300, 1e-300), (5e-324, 1e-323)]
HUGE = pd.DataFrame({"g": ["a", "b"], "v": pd.Series([10**400, 1], dtype=object)})

#: What can't be computed, whatever the rows are.
HOPELESS: dict[str, tuple[Ask, str]] = {
    **{
        f"{what} in {ends}": (
            lambda p, what=what, ends=ends: getattr(p[["x", "y"]], what)(bounds=ends, epsilon=1),
            "too narrow",
        )
        for what in ("cov", "corr", "var", "mean", "sum", "median", "describe")
        for ends in NARROW
    },
    "a pair": (lambda p: p["x"].cov(p["y"], bounds=NARROW[0], epsilon=1), "too narrow"),
    "a pair's corr": (lambda p: p["x"].corr(p["y"], bounds=NARROW[1], epsilon=1), "too narrow"),
    "Gaussian": (
        lambda p: p[["x", "y"]].corr(bounds=NARROW[1], epsilon=1, delta=1e-6, mechanism="gaussian"),
        "too narrow"),
    "a map": (
        lambda p: p["g"].map({"a": 10**400, "b": 1}).sum(bounds=(0, 9), epsilon=1), "too large"),
    "a replacement": (lambda p: p["x"].replace({1: 10**400}).sum(epsilon=1), "too large"),
    "a table": (lambda p: p.merge(HUGE, on="g")["v"].sum(bounds=(0, 9), epsilon=1), "too large"),
    "a sum": (lambda p: (p["x"] + 10**400).sum(bounds=(0, 9), epsilon=1), "too large"),
    "a power": (lambda p: (-(10**400)) ** p["x"], "too large"),
    "a query": (lambda p: p.query(f"x + {'9' * 400} > 1"), "too large"),
    "a key": (
        lambda p: dp.protect(ROWS.copy(), "d", domain={"x": [1, 10**400]})["x"].sum(epsilon=1),
        "bounds="),
    "a step": (lambda p: p["x"].median(step=10**400, epsilon=1), "step="),
    "a score": (
        lambda p: dp.select(ROWS, ["a"], score=lambda d, c: int((d["zz"] == c).sum()),
        sensitivity=1, epsilon=1), "KeyError: 'zz'"),
    "a score of one candidate": (
        lambda p: dp.select(ROWS, [1, 0], score=lambda d, c: len(d) // c, sensitivity=1, epsilon=1),
        "ZeroDivisionError"),
    "a distance": (
        lambda p: dp.distance_to_property(ROWS, lambda d: nowhere, epsilon=1),  # type: ignore[name-defined] # noqa: F821
        "NameError",
    ),
    "a proposed value": (
        lambda p: dp.propose_test_release(ROWS, lambda d: d.x.iloc[0], most, epsilon=1, delta=1e-6),
        "IndexError"),
    "a proposal's distance": (
        lambda p: dp.propose_test_release(ROWS, most, lambda d: int("x"), epsilon=1, delta=1e-6),
        "ValueError: invalid literal"),
}  # fmt: skip


def test_large_numbers_may_still_be_compared(p: Any) -> None:
    assert p[p["x"] < 10**400].count(epsilon=1) > 200
    assert p.query(f"x < {'9' * 400}").count(epsilon=1) > 200
    assert p["x"].where(p["x"] > 2, 10**400).mean(bounds=(0, 5), epsilon=1) > 2


#: Arguments of pandas that are not taken here, or things where names belong.
FOREIGN: dict[str, tuple[Ask, str]] = {
    "maxsplit": (lambda p: p["g"].str.split(",", maxsplit=1), "split: .*'maxsplit'.*It takes pat"),
    "a case": (lambda p: p["g"].str.lower(1), "lower: .*It takes nothing"),
    "a test": (lambda p: p["g"].str.isdigit(1), "isdigit: .*It takes nothing"),
    "a language": (lambda p: p["when"].dt.month_name("de"), "month_name: .*It takes nothing"),
    "nothing in a list": (lambda p: p["x"].isin(), "isin: missing.*'values'"),
    "no query": (lambda p: p.query(), "query: missing.*'expr'"),
    "a loss by position": (
        lambda p: p["x"].mean().release(5), "release: takes 1 positional argument but 2"),
    "a loss of several": (
        lambda p: p["x"].describe().release(5), "release: takes 1 positional argument but 2"),
    "an argument of copy": (lambda p: p.copy(deep=True, memo=1), "copy: .*'memo'"),
    "of a function": (lambda p: dp.concat(p, axis=1, keys=2), "concat: .*It takes frames"),
    "of protect": (lambda p: dp.protect(ROWS.copy(), nme="t"), "protect: "),
    "of an error": (lambda p: dp.cut(p["x"], [0, 1], retbins=True), "cut: .*'retbins'"),
    "a frame replaced": (lambda p: p.replace(ROWS), "replace takes plain values"),
    "a list replaced": (lambda p: p["x"].replace([[1]], 2), "replace takes plain values"),
    "a list as name": (lambda p: p["x"].rename(["a"]), "can't name a column"),
    "a tuple as name": (lambda p: p.rename(columns={"x": ([],)}), "can't name a column"),
    "a frame across": (lambda p: p.pivot_table(columns=ROWS), "a DataFrame isn't a column"),
    "a frame down": (lambda p: p.crosstab(ROWS, "g"), "a DataFrame isn't a column"),
    "a frame of values": (lambda p: p.pivot_table(ROWS, "g"), "a DataFrame isn't a column"),
    "a plain column": (lambda p: p.groupby(ROWS["g"]), "a Series isn't a column"),
    "private columns": (lambda p: p.crosstab("g", [p["x"] > 1]), r"by name here.*\.assign"),
}  # fmt: skip


def test_an_error_of_the_callers_own_function_stays_what_it_is(p: Any) -> None:
    refusal(lambda: p.pipe(_in_own_words), "own words", TypeError)
    refusal(lambda: p.pipe(lambda: None), "positional argument", TypeError)


def _in_own_words(frame: Any) -> Any:
    raise TypeError("own words")


@pytest.mark.parametrize("ask", [
    lambda p: p["x"].describe().expected_error(epsilon=1),
    lambda p: p["x"].agg(["mean", "count"]).idxmax(epsilon=1),
    lambda p: p.agg({"x": ["mean", "count"]}).nlargest(1, epsilon=1),
])  # fmt: skip
def test_several_answers_say_that_they_are_several(ask: Ask, p: Any) -> None:
    said = refused(ask, p, "of several answers", AttributeError)
    assert "dp.record(result)" in said
    assert "Together" not in said


def test_smooth_quantiles_know_no_error_before(p: Any) -> None:
    dp.session(experimental=True)
    refused(lambda p: p["x"].median(method="smooth").expected_error(epsilon=1), p, "smooth sensi")


def test_the_record_of_several_answers_is_several(p: Any) -> None:
    for several in (p["x"].agg(["mean", "median"], epsilon=1), p[["x"]].describe(epsilon=1)):
        with pytest.raises(RecordError, match=r"dp\.record\(result\)\.components"):
            dp.combine(several, several)
        assert len(dp.record(several).components) == 2


@pytest.mark.parametrize("ask", [
    lambda p: p["f"].sum(epsilon=1),
    lambda p: p.groupby("g")["f"].sum(epsilon=1),
    lambda p: p["f"].mean(epsilon=1),
])  # fmt: skip
def test_what_may_be_truth_values_is_told_their_bounds(ask: Ask) -> None:
    mixed = ROWS.assign(f=ROWS["f"].astype(object))
    p = dp.protect(mixed, "mixed", domain=DOMAIN)
    refused(ask, p, "for truths", MissingArgument)


def test_truth_values_need_no_bounds(p: Any, exact: None) -> None:
    assert p["f"].sum(epsilon=1) == ROWS["f"].sum()
    assert p["f"].mean(epsilon=1) == pytest.approx(ROWS["f"].mean())
    by_group = p.groupby("g")["f"].sum(epsilon=1)
    assert by_group.equals(ROWS.groupby("g")["f"].sum())
    assert isinstance(p["f"].sum(epsilon=1), int)
    whole = p["f"].sum(bounds=(0, 1), epsilon=1)
    assert isinstance(whole, float)  # as it is asked for


def test_bounds_of_some_columns_leave_the_others_their_domain(p: Any, exact: None) -> None:
    assert p[["x", "f"]].mean(bounds={"f": (0, 1)}, epsilon=1).tolist() == pytest.approx([2, 2 / 3])
    assert "0 to 5" in str(p["x"].mean(bounds={"y": (0, 1)}))
    several = p.agg({"x": "mean", "f": ["mean", "sum"]}, bounds={"f": (0, 1)}, epsilon=1)
    assert several.loc["mean", "x"] == pytest.approx(2)
    table = p.groupby("g")[["x", "f"]].sum(bounds={"f": (0, 1)}, epsilon=1)
    assert table["x"].tolist() == [400, 200]
    assert p[["x", "f"]].corr(bounds={"f": (0, 1)}, epsilon=1).shape == (2, 2)


@pytest.mark.parametrize(("ask", "match"), [
    (lambda p: ROWS.assign(w=1.5).dp[["x", "w"]].mean(bounds={"x": (0, 1)}), "needed for 'w'"),
    (lambda p: p[["x", "y"]].mean(bounds={"X": (0, 1)}, epsilon=1), "names 'X'"),
    (lambda p: p["x"].mean(bounds={"z": (0, 1)}, epsilon=1), "names 'z'"),
])  # fmt: skip
def test_bounds_of_other_names_are_refused(ask: Ask, match: str, p: Any) -> None:
    refused(ask, p, match, MissingArgument)


def test_suggested_bounds_are_bounds(p: Any, exact: None) -> None:
    found = ROWS.dp["x"].suggest_bounds(epsilon=1)
    assert found.tolist()[:2] == [0.5, 4]
    pair = tuple(found[:2])
    for bounds in (found, found[:2], dict(found[:2]), {"lower": np.float64(0.5), "upper": 4}):
        assert str(p["x"].mean(bounds=bounds)) == str(p["x"].mean(bounds=pair))
        assert str(p["x"].sum(bounds={"x": bounds})) == str(p["x"].sum(bounds=pair))
    assert "0.5 to 4" in str(dp.protect(ROWS.copy(), "t", domain={"x": found})["x"].mean())
    named = dp.protect(pd.DataFrame({"lower": [1], "upper": [2]}), "u")
    assert "mean of lower" in str(named.mean(bounds={"lower": (0, 1), "upper": (0, 2)}))


@pytest.mark.parametrize("bounds", [
    pd.Series({"lower": np.nan, "upper": np.nan, "clipped": np.nan}),
    pd.Series({"lower": 3.0, "upper": 1.0}),
    pd.Series({"upper": 3.0, "lower": 1.0}),
    pd.Series([1.0, 3.0]),
    pd.Series({"lower": "a", "upper": "b"}),
    pd.Series({"lower": True, "upper": 2}, dtype=object),
    {"lower": 1, "upper": None},
    {"lower": 1},
])  # fmt: skip
def test_what_is_no_pair_of_numbers_is_no_bounds(bounds: Any, p: Any) -> None:
    refused(lambda p: p["f"].mean(bounds=bounds, epsilon=1), p, "bounds")


def test_a_column_of_a_source_is_no_bounds(p: Any) -> None:
    rows = pd.DataFrame({"v": [0.0, 5.0]}, index=["lower", "upper"])
    dp.protect(rows, "v")
    refused(lambda p: p["x"].mean(bounds=rows["v"], epsilon=1), p, "not a Series")


def warned(ask: Ask, p: Any) -> list[str]:
    """Where a call warns."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with contextlib.suppress(QueryError, dp.BudgetExceeded):
            ask(p)
    return [each.filename for each in seen if "belongs to somebody" in str(each.message)]


@pytest.mark.parametrize("ask", [
    lambda p: p["x"].min(epsilon=1),
    lambda p: p["x"].max().release(epsilon=1),
    lambda p: p["x"].quantile(0, epsilon=1),
    lambda p: p[["x", "y"]].quantile([0, 0.5], epsilon=1),
    lambda p: p.groupby("g")["x"].max(epsilon=1),
    lambda p: p["x"].agg("min", epsilon=1),
    lambda p: p["x"].agg(["min", "max", "mean"], epsilon=1),
    lambda p: p["x"].agg(["min", "mean"]).release(epsilon=1),
    lambda p: p.pivot_table("x", "g", aggfunc="max", epsilon=1),
])  # fmt: skip
def test_extremes_warn_once_with_the_answer_at_the_callers_line(ask: Ask, p: Any) -> None:
    assert warned(ask, p) == [__file__]
    anew(epsilon=2)
    q = dp.protect(ROWS.copy(), "q", domain=DOMAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # takes no answer away
        ask(q)


@pytest.mark.parametrize("ask", [
    lambda p: p["x"].min(),
    lambda p: p["x"].agg(["min", "mean"]),
    lambda p: p["x"].agg(["min", "kurt"], epsilon=1),
    lambda p: p["x"].min(epsilon=-1),
    lambda p: p["x"].min(epsilon=50, bounds=(2, 1)),
    lambda p: p["x"].median(epsilon=1),
    lambda p: p["x"].describe(epsilon=1),
])  # fmt: skip
def test_what_answers_no_extreme_does_not_warn(ask: Ask, p: Any) -> None:
    assert warned(ask, p) == []


def test_what_the_budget_refuses_does_not_warn(p: Any) -> None:
    p.count(epsilon=64)
    assert warned(lambda p: p["x"].max(epsilon=60), p) == []


@pytest.mark.parametrize("ask", [
    lambda p: p["x"].median, lambda p: p["x"].max, lambda p: p["g"].mode,
    lambda p: p["g"].value_counts().idxmax,
])  # fmt: skip
def test_what_is_chosen_has_no_noise_to_name(ask: Ask, p: Any) -> None:
    refused(lambda p: ask(p)(epsilon=1, delta=1e-6, mechanism="gaussian"), p, "Leave mechanism")
    anew(rho=1, delta=1e-6)
    q = dp.protect(ROWS.copy(), "q", domain=DOMAIN)
    for noise in ("gaussian", "laplace"):
        refused(lambda q, n=noise: ask(q)(rho=0.1, mechanism=n), q, "Leave mechanism")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask(q)(rho=0.1)
        ask(q)(epsilon=0.1)
    assert len(dp.ledger()._entries()) == 2


INDEXED = ROWS.set_index("g")

#: What a message says to do.
ADVICE: dict[str, tuple[Any, ...]] = {
    "a name that is none": (
        lambda p: dp.protect(ROWS.set_axis([None, 1, 2, 3, 4], axis=1), "n"), r"columns=str\)"),
    "a time that is none": (
        lambda p: dp.private(ROWS.set_axis([pd.NaT, *"yghf"], axis=1)), r"NaT can't name a column"),
    "none in a tuple": (lambda p: p.rename(columns={"x": ("x", np.nan)}), "'x', nan.*columns=str"),
    "a column called nan": (lambda p: dp.private(ROWS["x"].rename(np.nan)), "nan can't name a col"),
    "a new column called nan": (lambda p: p.set_axis([np.nan, *"yghf"], axis=1), "nan can't name"),
    "melted into nan": (lambda p: p[["x"]].melt(var_name=np.nan), "nan can't name a column"),
    "weights beyond floats": (lambda p: p[["x"]].dot(10**400), "a finite public number"),
    "a declared sum": (
        lambda p: p.assign(z=p["x"] + 1).declare(z=[1, 2]), "Give keys= or bounds= in the"),
    "bounds of a product": (
        lambda p: (ROWS.dp["x"] * 2).mean(), r"Write bounds=.* compute it by \.clip"),
    "a text described": (
        lambda p: ROWS.astype({"g": "string"}).dp["g"].describe(),
        "keys= is needed for 'g'"),
    "lists of any length": (lambda p: p.explode("g"), r"Write explode\('g', max_items=3\)"),
    "a sample of a size": (lambda p: p.sample(n=100), r"Write sample\(frac=0\.1\)"),
    "a sample of a size, by place": (lambda p: p.sample(100), r"Write sample\(frac=0\.1\)"),
    "a seed": (lambda p: p.sample(frac=0.5, random_state=1), "no random_state=: the same share"),
    "dropped in place": (
        lambda p: p.drop(columns="x", inplace=True), r"use the result, .* = frame\.drop\("),
    "a query in place": (lambda p: p.query("x > 1", inplace=True), "never change in place"),
    "filled from above": (lambda p: p.fillna(method="ffill"), "no method=: rows have no order"),
    "an indicator": (
        lambda p: p.merge(pd.DataFrame({"g": ["a"]}), indicator=True), "no indicator=.*how='left'"),
    "values of a crosstab": (
        lambda p: dp.crosstab(p["g"], p["f"], values=p["x"], aggfunc="mean"), "pivot_table"),
    "names of a crosstab": (
        lambda p: dp.crosstab(p["g"], p["f"], rownames=["a"]), r"no rownames=.*\.rename\('x'\)"),
    "a dict of a frame": (lambda p: p.map({1: 2}), r"frame\['a'\]\.map\(\{…\}\)"),
    "a Series of a frame": (lambda p: p.isin(pd.Series([1])), "by their labels.*Give a list"),
    "a conflict of times": (
        lambda p: [p.declare(when=("2024", end)) for end in ("2025", "2026")], "bounds= or range=",
        SourceError),
    "units as groups": (
        lambda p: units().pivot_table(index="who", columns="g", values="x", aggfunc="sum"),
        r"unit column 'who'.*per_unit\(\)\.agg"),
    "units in a list": (lambda p: units()["who"].value_counts(), "which units there are is"),
    "a column of units": (
        lambda p: (lambda q: (q["x"] > 1).groupby(q["who"]).sum(epsilon=1))(units()),
        "makes private rows, one for each"),
    "units without an index": (
        lambda p: units().groupby("who", as_index=False).size(epsilon=1), "size of each unit take"),
    "the unit in a dict": (lambda p: units().isin({"who": [1]}), r"frame\['who'\]\.isin"),
    "the unit's name": (lambda p: units()["x"].to_frame("who"), "is the unit", LineageError),
    "a deviation of units": (
        lambda p: units().per_unit()["x"].std(), "sum, mean, median", AttributeError),
    "names set": (
        lambda p: setattr(p, "columns", list("abcde")), r"rename\(col.*set_axis", AttributeError),
    "a column set": (lambda p: setattr(p, "late", p["x"]), r"assign\(late=…\)", AttributeError),
    "distinct of a frame": (lambda p: p.nunique(), r"\.nunique\(epsilon=", AttributeError),
    "bins of a frame": (lambda p: p.hist(), r"\.hist\(bins=10", AttributeError),
    "means for each row": (
        lambda p: p.groupby("g")["x"].transform("mean"), r"\.map\(released\)", AttributeError),
    "a function of groups": (
        lambda p: p.groupby("g").apply(len), "name statistics", AttributeError),
    "distinct by group": (
        lambda p: p.groupby("g")["f"].nunique(dropna=False), "missing values only where no keys"),
    "missing ones as a number": (lambda p: p["y"].nunique(0, epsilon=1), "must be True or False"),
    "named aggregation": (
        lambda p: p.groupby("g").agg(m="mean", epsilon=1), r'm=\("delay", "mean"\)'),
    "an unknown option": (lambda p: p["x"].agg("mean", foo=1), ": epsilon and bounds by name"),
    "an option of keys": (lambda p: p["g"].mode(foo=1), ": epsilon and keys by name"),
    "an option of size": (lambda p: p.size(foo=1), ": epsilon by name"),
    "an index": (lambda p: INDEXED.dp.groupby("g", keys=["a"]), "reset_index"),
    "an index of a source": (lambda p: dp.protect(INDEXED.copy(), "i")["g"], "reset_index"),
    "an index counted": (lambda p: INDEXED.dp.value_counts(["g"], keys=["a"]), "no column 'g'"),
    "half a bin": (lambda p: p["x"].hist(bins=2.5, range=(0, 5)), "bins=2.5 must be a whole"),
    "as many bins as fit": (lambda p: p["x"].hist("auto", range=(0, 5)), "bins='auto' must be"),
    "no bins": (lambda p: p["x"].hist(bins=None, range=(0, 5)), "bins=None must be"),
    "true bins": (lambda p: p["x"].hist(bins=True, range=(0, 5)), "bins=True must be"),
    "a missing value": (lambda p: p["x"].isin([1, np.nan]), r"isna\(\)"),
    "a missing time": (lambda p: p["when"].isin([pd.NaT]), r"isna\(\)"),
    "rows that nobody drops": (lambda p: p.truncation_shares(epsilon=1), "needs a unit column"),
    "a frame of keys": (
        lambda p: p["g"].value_counts(keys=pd.DataFrame({"g": ["a", "b"]}), epsilon=1), "DataFrame",
    ),
    "a frame as domain": (
        lambda p: dp.protect(ROWS.copy(), "d", domain={"g": pd.DataFrame({"g": ["a"]})}), "DataFra",
    ),
    "two lines": (lambda p: dp.protect(ROWS.copy(), "s\nrelease 99"), "name=.*one line"),
    "a bell": (lambda p: dp.protect(ROWS.copy(), "s\x07"), "name=.*one line"),
    "a reversal": (lambda p: dp.protect(ROWS.copy(), "s\u202e"), "name=.*one line"),
    "a novel": (lambda p: dp.protect(ROWS.copy(), "s" * 201), "at most 200"),
    "a version of two lines": (
        lambda p: dp.protect(ROWS.copy(), "t", version="1\n2"), "version=.*one line"),
    "weights by name": (
        lambda p: p["x"].mean(weights="y", epsilon=1), r"as in weights=frame\['w'\]\."),
    "weights of rows": (
        lambda p: p[["x", "y"]].agg(["mean"], weights="y", epsilon=1), "divides epsilon.*weight_b"),
    "weights of a column": (
        lambda p: p["x"].agg(["mean", "sum"], weights=p["y"], epsilon=1), "divides epsilon"),
}  # fmt: skip


SLIPS = [*HOPELESS.items(), *FOREIGN.items(), *ADVICE.items()]


@pytest.mark.parametrize("slip", [each for _, each in SLIPS], ids=[name for name, _ in SLIPS])
def test_slips_are_refused_in_our_words(slip: tuple[Any, ...], p: Any) -> None:
    ask, match, error = (*slip, QueryError)[:3]
    refused(ask, p, match, error)


def units() -> Any:
    """Rows of which two are one person's."""
    return dp.protect(ROWS.assign(who=range(300)), "of units", unit="who", max_rows=2)


def test_means_that_are_released_are_mapped(p: Any) -> None:
    means = p.groupby("g")["x"].mean(epsilon=1)
    assert p["g"].map(means).mean(bounds=(0, 5), epsilon=50) == pytest.approx(2, abs=0.5)


def test_a_column_of_units_groups_as_its_name_does() -> None:
    p = units()
    by_column, by_name = p["x"].groupby(p["who"]).sum(), p.groupby("who")["x"].sum()
    assert by_column.mean(bounds=(0, 5), epsilon=1) == by_name.mean(bounds=(0, 5), epsilon=1)
    assert dp.ledger().spent == 1


def test_names_of_any_script_are_fine() -> None:
    dp.protect(ROWS.copy(), "Größe 大きさ, 2025 – v1", version="é 2")
    dp.protect(ROWS.copy(), "s" * 200)


def test_every_answer_is_named_where_an_unknown_one_is_refused(p: Any) -> None:
    for face in (p, p["x"], p.groupby("g")):
        said = refused(lambda _, face=face: face.kurtoses, p, "They answer", AttributeError)
        for name in ("median", "quantile", "min", "max", "agg"):
            assert name in said


@pytest.mark.parametrize("paid", [{}, {"epsilon": 1, "delta": 1e-6}])
def test_functions_of_the_package_take_what_they_know(paid: dict[str, Any], p: Any) -> None:
    for ask in (
        lambda p: dp.select(ROWS, ["a"], score=votes, sensitivity=1, foo=1, **paid),
        lambda p: dp.distance_to_property(ROWS, most, foo=1, **paid),
        lambda p: dp.propose_test_release(ROWS, most, most, foo=1, **paid),
    ):
        refused(ask, p, "'foo'")


# --- handed to the wrong function -----------------------------------------------------------------


def fitted(module: str, model: str, *columns: Any) -> Any:
    return getattr(pytest.importorskip(f"sklearn.{module}"), model)().fit(*columns)


def drawn(how: str, *columns: Any) -> Any:
    pytest.importorskip("matplotlib").use("Agg")
    return getattr(pytest.importorskip("matplotlib.pyplot"), how)(*columns)


#: Functions of Python, of pandas and of other libraries, which read values.
FOREIGN_FUNCTIONS: dict[str, Ask] = {
    "pd.cut": lambda p: pd.cut(p["x"], [0, 2, 5]),
    "pd.cut into some": lambda p: pd.cut(p["x"], 3),
    "pd.qcut": lambda p: pd.qcut(p["x"], 4),
    "pd.to_datetime": lambda p: pd.to_datetime(p["when"]),
    "pd.to_datetime of a frame": lambda p: pd.to_datetime(p),
    "pd.to_timedelta": lambda p: pd.to_timedelta(p["x"]),
    "pd.to_numeric": lambda p: pd.to_numeric(p["x"]),
    "pd.concat": lambda p: pd.concat([p, p]),
    "pd.concat of columns": lambda p: pd.concat([p["x"], p["y"]], axis=1),
    "pd.concat of no list": lambda p: pd.concat(p),
    "pd.crosstab": lambda p: pd.crosstab(p["g"], p["f"]),
    "pd.merge": lambda p: pd.merge(p, ROWS, on="g"),
    "pd.merge with it": lambda p: pd.merge(ROWS, p, on="g"),
    "merge with it": lambda p: ROWS.merge(p, on="g"),
    "pd.pivot_table": lambda p: pd.pivot_table(p, index="g"),
    "pd.get_dummies": lambda p: pd.get_dummies(p),
    "pd.get_dummies of a column": lambda p: pd.get_dummies(p["g"]),
    "pd.isna": lambda p: pd.isna(p["x"]),
    "pd.unique": lambda p: pd.unique(p["g"]),
    "pd.factorize": lambda p: pd.factorize(p["g"]),
    "pd.Series": lambda p: pd.Series(p["x"]),
    "pd.DataFrame": lambda p: pd.DataFrame(p),
    "pd.DataFrame of columns": lambda p: pd.DataFrame({"x": p["x"]}),
    "pd.Categorical": lambda p: pd.Categorical(p["g"]),
    "len": lambda p: len(p),
    "len of a column": lambda p: len(p["x"]),
    "list": lambda p: list(p["x"]),
    "a loop": lambda p: [row + 1 for row in p["x"]],
    "sum": lambda p: sum(p["x"]),
    "max": lambda p: max(p["x"]),
    "sorted": lambda p: sorted(p["x"]),
    "zip": lambda p: list(zip(p["x"], p["y"], strict=True)),
    "float": lambda p: float(p["x"]),
    "if": lambda p: 1 if (p["x"] > 1) else 0,
    "np.array": lambda p: np.array(p["x"]),
    "a regression": lambda p: fitted("linear_model", "LinearRegression", p[["x"]], p["y"]),
    "a classifier": lambda p: fitted("ensemble", "RandomForestClassifier", p[["x"]], p["g"]),
    "clusters": lambda p: fitted("cluster", "KMeans", p[["x", "y"]]),
    "a scaler": lambda p: fitted("preprocessing", "StandardScaler", p[["x"]]),
    "plt.hist": lambda p: drawn("hist", p["x"]),
    "plt.plot": lambda p: drawn("plot", p["x"]),
    "plt.scatter": lambda p: drawn("scatter", p["x"], p["y"]),
    "plt.bar": lambda p: drawn("bar", p["g"], p["x"]),
}


@pytest.mark.parametrize("function", FOREIGN_FUNCTIONS)
def test_whatever_reads_values_says_what_to_use(function: str, p: Any) -> None:
    """One message, whichever of our methods the function asks first."""
    ways = r"would read private values\. Instead, |\.count\(.*\.merge, .*, dp\.models and dp\.plot"
    if function == "if":  # whoever wrote it may have meant to combine masks
        ways = r"\.count\(.*write & \| ~ in place of and, or, not"
    refused(FOREIGN_FUNCTIONS[function], p, ways, PrivateValueError)


@pytest.mark.parametrize("function", ["train_test_split", "accuracy_score"])
def test_what_scikit_learn_says_itself_comes_from_our_message(function: str, p: Any) -> None:
    """It asks for a length, and tells of a TypeError in its own words."""
    module = "model_selection" if function == "train_test_split" else "metrics"
    called = getattr(pytest.importorskip(f"sklearn.{module}"), function)
    with pytest.raises(TypeError) as raised:
        called(p["x"], p["y"])
    assert any("dp.models" in str(each) for each in chain(raised.value))


#: Words that are misspelt, or another library's, and what they mean here.
MEANT: dict[str, tuple[Ask, str]] = {
    "agg": (lambda p: p["x"].agg("maen", epsilon=1), "Did you mean 'mean'"),
    "agg of a list": (lambda p: p["x"].agg(["sun"], epsilon=1), "Did you mean 'sum'"),
    "agg by column": (lambda p: p.agg({"x": "avg"}, epsilon=1), "Did you mean 'mean'"),
    "agg by name": (lambda p: p.groupby("g").agg(m=("x", "stdev")), "Did you mean 'std'"),
    "agg of units": (
        lambda p: (
            dp.protect(ROWS.copy(), name="u", unit="g", max_rows=2).per_unit().agg(m=("x", "maen"))
        ),
        "Did you mean 'mean'",
    ),
    "a method": (lambda p: p["x"].avg(epsilon=1), "Did you mean 'mean'"),
    "of groups": (lambda p: p.groupby("g")["x"].average(epsilon=1), "Did you mean 'mean'"),
    "of a frame": (lambda p: p.variance(epsilon=1), "Did you mean 'var'"),
    "an option": (lambda p: p["x"].mean(epsilom=1), "Did you mean 'epsilon'"),
    "of protect": (lambda p: dp.protect(ROWS, "t", doman={}), "Did you mean domain="),
    "of split": (lambda p: dp.split(epsilom=1), "Did you mean epsilon="),
    "of a plot": (
        lambda p: dp.plot(p.count(), confidense=0.9),
        "Did you mean confidence=",
    ),
    "of a model": (lambda p: dp.models.KMeans(epsilom=1), "KMeans has no epsilom=.* 'epsilon'"),
    "keys of one": (
        lambda p: p["g"].value_counts(keys={"gg": ["a"]}),
        "no entry for 'g'. It names 'gg'",
    ),
    "keys of two": (
        lambda p: p.groupby(["g", "f"], keys={"gg": ["a"]}).size(),
        "'gg'.*Did you mean 'g'",
    ),
    "bounds": (
        lambda p: p[["x", "y"]].mean(bounds={"xx": (0, 1), "y": (0, 1)}),
        "Did you mean 'x'",
    ),
    "a unit": (lambda p: dp.protect(ROWS, "t", unit="gg", max_rows=1), "Did you mean 'g'"),
    "a single =": (lambda p: p.query("g = 'a'"), "instead of = write =="),
    "among others": (lambda p: p.query("x > 1 and `g` = 'a=b'"), "instead of = write =="),
    "=>": (lambda p: p.query("x => 1"), "instead of => write >="),
    "<>": (lambda p: p.query("x <> 1"), "instead of <> write !="),
    "&&": (lambda p: p.query("x > 1 && y > 1"), "instead of && write and"),
    "!": (lambda p: p.query("!(x > 1)"), "instead of ! write not"),
    "an = in a text": (lambda p: p.query("g == 'a=b' and"), "can't be parsed as an expression"),
    "an option in a query": (
        lambda p: p.query("g.str.contains('a', case=False) and"),
        "can't be parsed",
    ),
    "a number for a domain": (
        lambda p: dp.protect(ROWS, "t", domain={"x": 18}),
        "^the domain of 'x' must be bounds.* 18",
    ),
    "a text for a domain": (lambda p: p.declare(f="True"), "^the domain of 'f' must be bounds"),
    "a set for a domain": (lambda p: p.declare(f={True}), "^the domain of 'f' must be a list"),
    "missing values": (
        lambda p: p["x"].mean(skipna=False, epsilon=1),
        "missing values are always left out.*fillna",
    ),
    "of groups too": (lambda p: p.groupby("g")["x"].sum(skipna=False), "a single one would decide"),
}


@pytest.mark.parametrize("name", MEANT)
def test_a_slip_is_refused_with_what_was_meant(name: str, p: Any) -> None:
    ask, said = MEANT[name]
    refused(ask, p, said, dp.errors.DPError)


def test_what_a_public_function_doesnt_take_is_refused_in_words(p: Any) -> None:
    """No bare TypeError: of any public function, by place or by name."""
    functions = [getattr(dp, name) for name in dp.__all__]
    functions = [each for each in functions if callable(each) and not isinstance(each, type)]
    assert {dp.preview, dp.reset, dp.ledger} <= set(functions)
    for function in functions:
        for call in (lambda f=function: f(*[object()] * 40), lambda f=function: f(nonsense=1)):
            with noted(function.__name__), pytest.raises(dp.errors.DPError):
                call()
    refused(lambda _: dp.preview(p.count()), p, "with dp.preview\\(\\) as plan")


def test_rows_of_nobody_may_have_a_unit(p: Any) -> None:
    dp.protect(ROWS.copy(), name="u", unit="g", max_rows=2)
    plain = pd.DataFrame({"g": ["a"], "x": [1.0]})
    for ask, by in ((lambda: plain.dp.count(epsilon=1), "private"),
                    (lambda: dp.protect(plain, name="v"), "protect")):  # fmt: skip
        said = refused(lambda _, ask=ask: ask(), p, "say whose rows these are", LineageError)
        for unit in ("unit='g', max_rows=2", 'unit="row"'):
            assert f"{unit})" in said
            assert f"dp.{by}(df" in said
