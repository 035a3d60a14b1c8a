"""Habits of rows that one person has: the same line on a plain frame and on a private one.

No unit here has more than max_rows rows, so that truncation drops none and both must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import habits
import numpy as np
import pandas as pd
import pytest
from habits import cells, plain_cells
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.errors import DPError
from dppandas.frames.frame import PrivateFrame
from dppandas.frames.series import PrivateSeries

Line = Callable[[Any], Any]
#: Public facts about the columns of both frames.
DOMAIN = {
    "paid": (0.0, 100.0), "place": ["shop", "web", "phone"], "when": ("2024-01-01", "2024-02-29"),
    "day": range(60),
}  # fmt: skip


def clean() -> pd.DataFrame:
    """Visits of 20 people: no two of one person begin at the same time."""
    draw = np.random.default_rng(7)  # of data, not of noise
    n = 100
    hours = draw.permutation(24 * 60)[:n]
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h")
    return pd.DataFrame({
        "who": draw.integers(0, 20, n), "when": when, "day": (hours // 24).astype(np.int64),
        "place": draw.choice(["shop", "web", "phone"], n), "paid": draw.integers(1, 400, n) / 4,
        "member": draw.random(n) < 0.4,
    })  # fmt: skip


def ugly() -> pd.DataFrame:
    """The same, as it comes: values missing, nullable and Arrow's dtypes. No label of a row is
    there twice, for pandas finds rows by theirs."""
    f = clean()
    f["paid"] = f["paid"].astype("Float64").mask(f.index % 7 == 0)
    f["place"] = f["place"].astype("string[pyarrow]").mask(f.index % 11 == 0)
    f["member"] = f["member"].astype("boolean")
    f["who"] = f["who"].map(lambda who: f"person {who}")
    return f.set_axis(pd.Index(np.arange(len(f)) * 2), axis=0)


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {"clean": clean, "ugly": ugly}


def private(df: pd.DataFrame) -> PrivateFrame:
    """A frame of which `DOMAIN` is known, and in which each row counts."""
    domain = {name: facts for name, facts in DOMAIN.items() if name in df}
    return dp.protect(df, name="habits of people", unit="who", max_rows=20, domain=domain)


#: Lines that mean the same on both frames.
LINES: dict[str, Line] = {
    "the previous payment": lambda f: f.sort_values("when").groupby("who")["paid"].shift(),
    "off one's own mean": lambda f: f["paid"] - f.groupby("who")["paid"].transform("mean"),
    "payments by day": lambda f: f.groupby(["who", "day"])["paid"].sum(),
    "first visits": lambda f: f[f.sort_values("when").groupby("who").cumcount() == 0],
    "the first two visits": lambda f: f.sort_values("when").groupby("who").head(2),
    "one's number of visits, merged": lambda f: f.merge(
        f.groupby("who").agg(n=("paid", "size")), on="who"
    ),
    "merged without an index": lambda f: f.merge(
        f.groupby("who").agg(n=("paid", "size")).reset_index(), on="who"
    ),
    "merged by its index": lambda f: f.merge(
        f.groupby("who").agg(n=("paid", "size")), left_on="who", right_index=True
    ),
    "joined": lambda f: f.join(f.groupby("who").agg(n=("paid", "size")), on="who"),
    "one's total, mapped": lambda f: f["who"].map(f.groupby("who")["paid"].sum()),
    "one's number of visits, mapped": lambda f: f["who"].map(f.groupby("who").size()),
    "one's first visit": lambda f: f.assign(first=f.groupby("who")["when"].transform("min")),
    "cohorts by month": lambda f: f.groupby("who")["when"].transform("min").dt.to_period("M"),
    "days since the first visit": lambda f: (
        (f["when"] - f.groupby("who")["when"].transform("min")).dt.days
    ),
    "days since the previous visit": lambda f: (
        f.sort_values("when").groupby("who")["when"].diff().dt.days
    ),
    "the first payment, in each row": lambda f: (
        f.sort_values("when").groupby("who")["paid"].transform("first")
    ),
    "the first payment": lambda f: f.sort_values("when").groupby("who")["paid"].agg("first"),
    "the last payment": lambda f: f.sort_values("when").groupby("who")["paid"].agg("last"),
    "the last payment, by its method": lambda f: (
        f.sort_values("when").groupby("who")["paid"].last()
    ),
    "all that was last": lambda f: f.sort_values("when").groupby("who").last(),
    "all that was first": lambda f: f.sort_values("when").groupby("who").first(),
    "visits of each": lambda f: f.groupby("who").size(),
    "payments of each": lambda f: f.groupby("who")["paid"].count(),
    "places of each": lambda f: f.groupby("who")["place"].nunique(),
    "distinct values of each": lambda f: f.groupby("who").nunique(),
    "a dict": lambda f: f.groupby("who").agg({"paid": "sum", "when": "max"}),
    "a list": lambda f: f.groupby("who")["paid"].agg(["sum", "mean"]),
    "a function of numpy": lambda f: f.groupby("who")["paid"].agg(np.sum),
    "names of one column": lambda f: f.groupby("who")["paid"].agg(total="sum", n="count"),
    "as_index=False": lambda f: f.groupby("who", as_index=False)["paid"].sum(),
    "as_index=False, named": lambda f: f.groupby("who", as_index=False).agg(n=("paid", "size")),
    "sort=False": lambda f: f.groupby("who", sort=False)["paid"].sum(),
    "observed=True": lambda f: f.groupby("who", observed=True)["paid"].sum(),
    "labels as columns": lambda f: f.groupby("who")["paid"].sum().reset_index(),
    "labels as columns, named": lambda f: f.groupby("who").size().reset_index(name="n"),
    "a column by another, shifted": lambda f: (
        f.sort_values("when")["paid"].groupby(f["who"]).shift()
    ),
    "a column by another": lambda f: f["paid"].groupby(f["who"]).transform("sum"),
    "one row for each": lambda f: f.sort_values("when").drop_duplicates("who"),
    "one row for each, the last": lambda f: f.sort_values("when").drop_duplicates(
        "who", keep="last"
    ),
    "one row for each and day": lambda f: f.sort_values("when").drop_duplicates(["who", "day"]),
    "not a later row": lambda f: f[~f.sort_values("when").duplicated("who")],
    "who came twice": lambda f: f.duplicated("who", keep=False),
    "been there before": lambda f: f.sort_values("when").duplicated(subset=["who", "place"]),
    "ranks": lambda f: f.groupby("who")["paid"].rank(),
    "ranks from the largest": lambda f: f.groupby("who")["paid"].rank(
        ascending=False, method="min"
    ),
    "the number of the visit": lambda f: (
        f.sort_values("when").groupby("who")["when"].rank(method="first")
    ),
    "running totals": lambda f: f.sort_values("when").groupby("who")["paid"].cumsum(),
    "the largest so far": lambda f: f.sort_values("when").groupby("who")["paid"].cummax(),
    "shares of one's own total": lambda f: f["paid"] / f.groupby("who")["paid"].transform("sum"),
    "the last visit": lambda f: f.sort_values("when").groupby("who").tail(1),
    "the first visit, nth": lambda f: f.sort_values("when").groupby("who").nth(0),
    "the first payment, nth": lambda f: f.sort_values("when").groupby("who")["paid"].nth(0),
    "filled by the previous": lambda f: f.sort_values("when").groupby("who")["paid"].ffill(),
    "relative changes": lambda f: (
        f.sort_values("when").groupby("who")["paid"].pct_change(fill_method=None)
    ),
    "the previous payment, or 0": lambda f: (
        f.sort_values("when").groupby("who")["paid"].shift(1, fill_value=0)
    ),
    "time to the next visit": lambda f: (
        f.sort_values("when").groupby("who")["when"].shift(-1) - f["when"]
    ),
    "whether a new session starts": lambda f: (
        f.sort_values("when").groupby("who")["when"].diff() > pd.Timedelta("1D")
    ),
    "the number of the session": lambda f: (
        f.assign(new=f.sort_values("when").groupby("who")["when"].diff() > pd.Timedelta("1D"))
        .sort_values("when")
        .groupby("who")["new"]
        .cumsum()
    ),
    "the number of the session, at once": lambda f: (
        (f.sort_values("when").groupby("who")["when"].diff() > pd.Timedelta("1D"))
        .groupby(f["who"])
        .cumsum()
    ),
    "rows of those who came often": lambda f: f[f.groupby("who")["paid"].transform("size") >= 5],
    "the largest payment of each": lambda f: f[
        f["paid"] == f.groupby("who")["paid"].transform("max")
    ],
    "a function of numpy, in each row": lambda f: f.groupby("who")["paid"].transform(np.mean),
    "in order of two columns": lambda f: (
        f.sort_values(["who", "when"]).groupby("who")["paid"].shift()
    ),
    "the next payment, in falling order": lambda f: (
        f.sort_values("when", ascending=False).groupby("who")["paid"].shift()
    ),
    "by=": lambda f: f.sort_values(by=["who", "when"]).groupby("who").cumcount(),
    "one's total in a place": lambda f: f.groupby(["who", "place"])["paid"].transform("sum"),
    "visits to the place before": lambda f: (
        f.sort_values("when").groupby(["who", "place"]).cumcount()
    ),
    "payments by month": lambda f: f.groupby(["who", f["when"].dt.to_period("M")])["paid"].sum(),
    "payments by month, named": lambda f: f.groupby(
        ["who", f["when"].dt.to_period("M").rename("m")]
    )["paid"].sum(),
    "visits by day": lambda f: f.groupby(["who", "day"]).size(),
    "payments by day, as columns": lambda f: f.groupby(["who", "day"], as_index=False)[
        "paid"
    ].sum(),
    "payments by day, reset": lambda f: f.groupby(["who", "day"])["paid"].sum().reset_index(),
    "the change since two visits before": lambda f: (
        f.sort_values("when").groupby("who")["paid"].diff(2)
    ),
    "whether ever a member": lambda f: f.groupby("who")["member"].any(),
    "whether ever a member, in each row": lambda f: f.groupby("who")["member"].transform("any"),
    "a column by its attribute": lambda f: f.groupby("who").paid.sum(),
    "visits still to come": lambda f: (
        f.sort_values("when").groupby("who").cumcount(ascending=False)
    ),
    "the largest payment, by head": lambda f: (
        f.sort_values("paid", ascending=False).groupby("who").head(1)[["who", "paid"]]
    ),
    "rows of those who were on the web": lambda f: f[f["who"].isin(f[f["place"] == "web"]["who"])],
    "the month of the first visit": lambda f: f.groupby("who")["when"].min().dt.to_period("M"),
    "several columns": lambda f: f.groupby("who")[["paid", "day"]].sum(),
    "medians": lambda f: f.groupby("who")["paid"].median(),
    "transform by the name of a method": lambda f: (
        f.sort_values("when").groupby("who")["paid"].transform("diff")
    ),
    "the total before": lambda f: f.sort_values("when").groupby("who")["paid"].cumsum() - f["paid"],
    "a query of what is known of each": lambda f: f.assign(
        n=f.groupby("who")["paid"].transform("count")
    ).query("n > 3"),
    "NamedAgg": lambda f: f.groupby("who").agg(n=pd.NamedAgg("paid", "sum")),
    "the place before": lambda f: (
        f.sort_values("when").groupby("who")["place"].shift().fillna("none")
    ),
    "how often on the web": lambda f: (f["place"] == "web").groupby(f["who"]).sum(),
    "len, in each row": lambda f: f.groupby("who")["paid"].transform(len),
    "whether it is the first": lambda f: f["when"] == f.groupby("who")["when"].transform("min"),
    "by a column": lambda f: f.groupby(f["who"])["paid"].transform("max"),
    "by=, of groups": lambda f: f.groupby(by="who")["paid"].transform("max"),
    "pairs in a list": lambda f: f.groupby("who")["paid"].agg([("total", "sum")]),
    "merged, with suffixes": lambda f: f.merge(
        f.groupby("who", as_index=False)["paid"].sum(),
        on="who",
        how="left",
        suffixes=("", "_total"),
    ),
    "a column merged": lambda f: f.merge(f.groupby("who")["paid"].sum().rename("total"), on="who"),
    "a column merged by its index": lambda f: f.merge(
        f.groupby("who")["paid"].sum().rename("total"), left_on="who", right_index=True
    ),
    "renamed": lambda f: f.groupby("who")["paid"].sum().rename("total"),
    "rows of those who never were": lambda f: f[~f["who"].isin(f[f["place"] == "web"]["who"])],
    "the most in a day": lambda f: f.groupby(["who", "day"])["paid"].sum().groupby("who").max(),
    "the days between first and last": lambda f: (
        f.groupby("who")
        .agg(first=("when", "min"), last=("when", "max"))
        .eval("days = (last - first).dt.days")
    ),
    "who stayed away for a month": lambda f: f.assign(
        gone=f.sort_values("when").groupby("who")["when"].shift(-1) - f["when"]
        > pd.Timedelta("30D")
    )[["who", "gone"]],
    "back within 10 days": lambda f: f[
        f.sort_values("when").groupby("who")["when"].diff() <= pd.Timedelta("10D")
    ],
    "the first place of each": lambda f: f.assign(
        entry=f.sort_values("when").groupby("who")["place"].transform("first")
    ),
    "all but the first visit": lambda f: f[f.sort_values("when").groupby("who").cumcount() > 0],
    "recency, frequency, money": lambda f: f.groupby("who").agg(
        recency=("when", "max"), frequency=("when", "count"), money=("paid", "sum")
    ),
    "of those who came before": lambda f: f[f["when"] < "2024-01-20"].groupby("who").size(),
    "the age of the cohort in weeks": lambda f: (
        (f["when"] - f.groupby("who")["when"].transform("min")) // pd.Timedelta("7D")
    ),
}
#: pandas compares a missing value with NA there, which is neither true nor false.
CLEAN: dict[str, Line] = {
    "bought elsewhere than last time": lambda f: f.assign(
        before=f.sort_values("when").groupby("who")["place"].shift()
    ).query("before != place"),
    "another place than before": lambda f: f["place"].ne(
        f.sort_values("when").groupby("who")["place"].shift()
    ),
    "a function of Python": lambda f: f.groupby("who")["paid"].agg(max),
}
#: Answers about what is known of each. pandas sorts labels, and ours are sorted if told to be.
ANSWERS: dict[str, Line] = {
    "first visits by place": lambda f: (
        f[f.sort_values("when").groupby("who").cumcount() == 0].groupby("place", sort=True).size()
    ),
    "visits of cohorts": lambda f: (
        f.assign(cohort=f.groupby("who")["when"].transform("min").dt.to_period("M"))
        .groupby("cohort", sort=True)
        .size()
    ),
    "people of cohorts": lambda f: (
        f.drop_duplicates("who")
        .assign(cohort=f.groupby("who")["when"].transform("min").dt.to_period("M"))
        .groupby("cohort", sort=True)
        .size()
    ),
    "people by place": lambda f: (
        f.groupby(["who", "place"], as_index=False).size().groupby("place", sort=True).size()
    ),
    "how many came back within 10 days": lambda f: (
        f.sort_values("when").groupby("who")["when"].diff() <= pd.Timedelta("10D")
    ).sum(),
    "the share of first visits that were paid by members": lambda f: f.loc[
        f["when"] == f.groupby("who")["when"].transform("min"), "member"
    ].mean(),
    "sessions": lambda f: (
        f.sort_values("when").groupby("who")["when"].diff().isna()
        | (f.sort_values("when").groupby("who")["when"].diff() > pd.Timedelta("30min"))
    ).sum(),
    "the last place of each": lambda f: (
        f.sort_values("when")
        .groupby("who")["place"]
        .last()
        .reset_index()
        .groupby("place", sort=True)
        .size()
    ),
}

#: Lines that are refused, and the way that the refusal names.
REFUSED: dict[str, tuple[Line, str]] = {
    "no order": (lambda f: f.groupby("who").head(2), r"frame\.sort_values\('when'\)\.groupby"),
    "no order of cumcount": (lambda f: f.groupby("who").cumcount(), r"sort_values\('when'\)"),
    "keep the last, no order": (
        lambda f: f.drop_duplicates("who", keep="last"),
        r"sort_values\('when'\)\.drop_dup",
    ),
    "counts of people": (lambda f: f["who"].value_counts(), r"frame\.groupby\('who'\)\.size"),
    "lists in a dict": (
        lambda f: f.groupby("who").agg({"paid": ["sum", "max"]}),
        r"total=\('amount', 'sum'\)",
    ),
    "filter": (
        lambda f: f.groupby("who").filter(lambda g: len(g) > 4),
        r"transform\('size'\) >= 5",
    ),
    "idxmax": (lambda f: f.loc[f.groupby("who")["paid"].idxmax()], r"sort_values\('x'\)"),
    "a function, in each row": (
        lambda f: f.groupby("who")["paid"].transform(lambda x: x - x.mean()),
        r"frame\['x'\] - frame\.groupby\(…\)\['x'\]\.transform\('mean'\)",
    ),
    "a function of each": (
        lambda f: f.groupby("who")["when"].agg(lambda x: x.max() - x.min()),
        r"\('x', 'max'\)",
    ),
    "a difference of two tables": (
        lambda f: f.groupby("who")["when"].max() - f.groupby("who")["when"].min(),
        r"\.agg\(first=\('x', 'min'\)",
    ),
    "apply": (lambda f: f.groupby("who").apply(lambda g: g.nlargest(1, "paid")), "agg\\(first="),
    "spreads": (lambda f: f.groupby("who")["paid"].std(), "mean, median and the like of each unit"),
    "a spread, in each row": (lambda f: f.groupby("who")["paid"].transform("std"), "one of these"),
    "moving means": (
        lambda f: f.sort_values("when").groupby("who")["paid"].rolling(3),
        r"add up \.shift",
    ),
    "a kind of sorting": (lambda f: f.sort_values("when", kind="stable"), "sort by one more"),
    "new labels of rows": (lambda f: f.sort_values("when", ignore_index=True), "leave it out"),
    "group_keys": (lambda f: f.groupby("who", group_keys=False), "leave it out"),
    "a Grouper": (
        lambda f: f.groupby(["who", pd.Grouper(key="when", freq="MS")]),
        r"dt\.to_period\('M'\)",
    ),
    "numbers of people": (lambda f: f.groupby("who").ngroup(), "nunique"),
    "one person": (lambda f: f.groupby("who").get_group(3), "nunique"),
    "missing labels": (lambda f: f.groupby(["who", "place"], dropna=False), "fillna"),
    "repeats of others": (lambda f: f.drop_duplicates("place"), r"subset=\['who', …\]"),
    "repeats of others, in each row": (lambda f: f.duplicated(["place"]), r"subset=\['who', …\]"),
    "no such keep": (lambda f: f.duplicated("who", keep="middle"), "'first', 'last' or False"),
    "a label of others": (lambda f: f["place"].isin(f[f["paid"] > 5]["place"]), "the unit column"),
    "mapped by others": (lambda f: f["place"].map(f["place"]), r"groupby\('who'\)\['paid'\]"),
    "filled changes": (
        lambda f: f.sort_values("when").groupby("who")["paid"].pct_change(fill_method="ffill"),
        r"\.ffill\(\)",
    ),
    "a label of the values": (
        lambda f: f.groupby("who").size().reset_index(name="who"),
        r"reset_index\(name=…\)",
    ),
    "no index": (lambda f: f["paid"].reset_index(), "private rows have none"),
}


def same_rows(asked: PrivateFrame, wanted: pd.DataFrame) -> None:
    """Rows of the source in its order, or those of units in any; pandas may have labels in the
    index."""
    names = [name for name in asked.columns if name in wanted.columns]
    assert names == list(wanted.columns)
    if asked._table.summary is None:
        assert as_numbers(cells(asked[names])) == as_numbers(plain_cells(wanted.sort_index()))
    else:
        found, plain = as_numbers(cells(asked[names])), as_numbers(plain_cells(wanted))
        assert sorted(found, key=repr) == sorted(plain, key=repr)


agree = partial(habits.agree, protected=private, same_rows=same_rows)


def as_numbers(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Cells with 1 for True: aggregates of truths are 1 and 0, which mean the same."""
    plain = {("truth", True): ("number", 1), ("truth", False): ("number", 0)}
    return [tuple(plain.get(cell, cell) for cell in row) for row in rows]


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_what_is_known_of_each_is_spelled_alike(make: Callable[[], pd.DataFrame]) -> None:
    for name, line in LINES.items():
        with noted(name):
            agree(line, make())
    assert len(LINES) >= 40


@pytest.mark.usefixtures("exact")
def test_lines_that_pandas_answers_with_missing_truths_where_values_are_missing() -> None:
    for name, line in CLEAN.items():
        with noted(name):
            agree(line, clean())


@pytest.mark.usefixtures("exact")
def test_answers_about_what_is_known_of_each_are_spelled_alike() -> None:
    for name, line in ANSWERS.items():
        with noted(name):
            agree(line, clean(), rtol=1e-6)


def test_what_is_refused_names_the_way() -> None:
    f = private(clean())
    for name, (line, match) in REFUSED.items():
        with noted(name):
            refusal(lambda line=line: line(f), match, DPError)


def test_what_isnt_among_rows_of_a_unit_is_refused_without_units() -> None:
    f = dp.protect(clean(), name="habits of rows", domain=DOMAIN)
    for ask in (lambda: f.sort_values("when"), lambda: f.drop_duplicates("day"),
                lambda: f.duplicated()):  # fmt: skip
        refusal(ask, "unit='person_id'|unit=\"person_id\"")


def test_of_equal_rows_one_is_kept_whatever_their_order() -> None:
    """Without an order the keyed hash decides which; the labels that are kept are pandas'."""
    for make in FRAMES.values():
        dp.reset()
        df, names = make(), ["who", "place"]
        found = cells(private(df).drop_duplicates(names)[names])
        assert sorted(found, key=repr) == sorted(
            plain_cells(df.drop_duplicates(names)[names]), key=repr
        )


def test_a_person_whose_first_row_is_dropped_has_no_first_row() -> None:
    """A feature is made of all rows, and then max_rows keeps the same rows as ever."""
    df = pd.DataFrame({"who": [1] * 50 + [2] * 50, "day": [*range(50)] * 2})
    for sign in (True, False):
        p = dp.protect(df, name=f"few {sign}", unit="who", max_rows=3).sort_values(
            "day", ascending=sign
        )
        kept = sorted(cells(p[["who", "day"]]))
        marked = p.assign(place=p.groupby("who").cumcount())
        assert sorted(cells(marked[["who", "day"]])) == kept
        for _, (_, day), (_, place) in cells(marked[["who", "day", "place"]]):
            assert place == (day if sign else 49 - day)
        assert set(cells(p.groupby("who").head(1)[["who", "day"]])) <= set(kept)


def test_no_row_of_a_person_changes_what_others_know() -> None:
    """Whatever a line makes of the rows of all but one person, it makes without that person, too:
    those rows come last here, so that the others are the same in the same order."""
    df = clean()
    one = df["who"].mode()[0]
    rest = df[df["who"] != one].reset_index(drop=True)
    both = pd.concat([rest, df[df["who"] == one]], ignore_index=True)
    more = 0
    for name, line in {**LINES, **CLEAN}.items():
        with noted(name):
            (found, is_one_each), (alone, _) = made(line, both), made(line, rest)
            assert is_one_each or found[: len(alone)] == alone
            assert not Counter(map(repr, alone)) - Counter(map(repr, found))
            assert 0 <= len(found) - len(alone) <= len(both) - len(rest)
            more += len(found) > len(alone)
    assert more > 0.9 * len(LINES)


def made(line: Line, df: pd.DataFrame) -> tuple[list[tuple[Any, ...]], bool]:
    """The cells of the private rows that a line makes, and whether they are one for each unit."""
    dp.reset()
    rows = line(private(df))
    if isinstance(rows, PrivateSeries):
        rows = PrivateFrame(rows._table, {"cells": rows._expression}, rows._where)
    return cells(rows), rows._table.summary is not None


def test_times_are_ranked_to_the_nanosecond() -> None:
    start = pd.Timestamp("2024-01-01")
    nanos = pd.to_timedelta([5, 3, 1001, 999, 2, -1, -1000, 3], unit="ns")
    times = pd.DataFrame({"who": [1, 1, 1, 1, 2, 2, 2, 2], "when": start + nanos, "took": nanos})
    for name in ("when", "took"):
        lines: list[Line] = [
            lambda f, name=name: f.groupby("who")[name].min(),
            lambda f, name=name: f.groupby("who")[name].max(),
            lambda f, name=name: f.sort_values("when").groupby("who")[name].first(),
            lambda f, name=name: f.groupby("who")[name].rank(),
            lambda f, name=name: f[f[name] == f.groupby("who")[name].transform("min")],
        ]
        for line in lines:
            agree(line, times)
