"""Habits of resample: the same line on a plain frame and on a private one, by every period."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from habits import clean, declared, private, same, ugly
from hypothesis import given, settings
from hypothesis import strategies as st

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError, UnsupportedVerb

RULES = ["D", "W", "W-MON", "MS", "ME", "QS", "YS", "YE", "12h"]
RANGE = ("2023-12-30", "2024-05-02")


def whole(answer: pd.Series[Any], index: pd.Index) -> pd.Series[Any]:
    """pandas' result, with the periods that lie in the public range."""
    return answer.reindex(index, fill_value=0)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("make", [clean, ugly])
@pytest.mark.parametrize("rule", RULES)
def test_periods_are_those_of_pandas(rule: str, make: Any) -> None:
    df, p = make(), private(make())
    by = p.resample(rule, on="when", range=RANGE)
    plain = df.resample(rule, on="when")
    for how in ("size", "count", "sum"):
        asked = by if how == "size" else by["income"]
        exact = plain if how == "size" else plain["income"]
        found = getattr(asked, how)(epsilon=1)
        wanted = getattr(exact, how)()
        same(found, declared(whole(wanted, found.index)), rtol=1e-8)
        assert wanted.index.isin(found.index).all()
    named = by.agg(n=("age", "size"), rich=("income", "sum"), epsilon=1)
    assert named["n"].sum() == df["when"].notna().sum()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(RULES), st.integers(0, 400), st.integers(0, 400))
def test_periods_cover_their_range(rule: str, start: int, days: int) -> None:
    """What pandas names the first and the last period of the range."""
    ends = [pd.Timestamp("2023-03-01") + pd.Timedelta(days=start + add) for add in (0, days)]
    p = clean().dp
    labels = p.resample(rule, on="when", range=tuple(ends))._groups.keys.index(["when"])
    wanted = pd.DataFrame({"when": ends}).resample(rule, on="when").size().index
    assert labels.equals(wanted)


def test_one_question_however_it_is_asked() -> None:
    p = dp.protect(clean(), name="when", domain={"when": RANGE})
    p.resample("W", on="when").size(epsilon=1)
    p.resample("W", on="when", range=RANGE).size(epsilon=1)
    p.groupby(pd.Grouper(key="when", freq="W")).size(epsilon=1)
    p.groupby(pd.Grouper(key="when", freq="W-SUN"), range=RANGE).agg("size", epsilon=1)
    assert dp.ledger().spent == 1


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", ["when", None])
@pytest.mark.parametrize("rule", RULES)
def test_an_index_of_times_is_resampled(rule: str, name: str | None) -> None:
    df = clean().set_index("when").rename_axis(name)
    wanted = df.resample(rule)["income"].sum()
    for p in (dp.protect(df.copy(), name="indexed", domain={"income": (0, 100)}), df.dp):
        assert list(p.columns) == list(df.columns)  # it is no column
        found = p.resample(rule, range=RANGE)["income"].sum(bounds=(0, 100), epsilon=1)
        same(found, whole(wanted, found.index).rename_axis(name or "index"), rtol=1e-8)
    kept = p.query("age > 40").assign(x=1).resample(rule, range=RANGE).size(epsilon=1)
    assert kept.sum() == (df["age"] > 40).sum()
    rows = clean().assign(who=range(60)).set_index("when")
    people = dp.protect(rows, name="people", unit="who", max_rows=1).per_unit().agg(n="size")
    with pytest.raises(MissingArgument, match="no index of times"):
        people.resample(rule, range=RANGE)


def test_a_column_of_the_name_of_the_index_is_that_column() -> None:
    df = clean().set_index("when", drop=False)
    assert list(df.dp.columns) == list(df.columns)
    assert df.dp.resample("W", on="when", range=RANGE).size(epsilon=1).size > 1


@pytest.mark.parametrize(("line", "kind", "says"), [
    (lambda p: p.resample("W"), MissingArgument, "no index of times, so on= is needed"),
    (lambda p: p.resample("W", on="when"), MissingArgument, "Which periods have rows is private"),
    (lambda p: p.resample("X!", on="when", range=RANGE), QueryError, "rule='X!'"),
    (lambda p: p.resample("7D", on="when", range=RANGE), QueryError, "isn't supported"),
    (lambda p: p.resample("W", on="when", range=RANGE, label="left"), QueryError, "label='left'"),
    (lambda p: p.resample("W", on="where", range=RANGE), Exception, "'where'"),
    (lambda p: p.resample("W", on="age", range=RANGE).size(epsilon=1), QueryError, "age"),
    (lambda p: p["age"].resample("W"), UnsupportedVerb, "frame.resample"),
    (lambda p: p.groupby("city").resample("W"), UnsupportedVerb, "pd.Grouper"),
])  # fmt: skip
def test_what_cannot_be_is_refused(line: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        line(private(clean()))
    assert dp.ledger().spent == 0
