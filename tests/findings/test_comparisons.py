"""Comparisons of released numbers: what they show, and what they conclude."""

import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew

import dppandas as dp
from dppandas.errors import QueryError
from dppandas.rows.figures import within

ARMS = ["A", "B", "C"]


@pytest.fixture
def p() -> Any:
    anew(epsilon=10**5)
    at = np.arange(30_000)
    frame = pd.DataFrame({
        "arm": np.array(ARMS)[at % 3], "bought": (at % 10 < np.array([3, 3, 6])[at % 3]),
        "age": at % 80,
    })  # fmt: skip
    return dp.protect(frame, name="three arms", domain={"arm": ARMS, "age": (0, 100)})


def test_two_labels_are_compared(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=5)
    found = dp.compare(rates, "C", "A", confidence=1 - 1e-7)
    row = found.loc["C and A"]
    assert row["first"] == rates["C"]
    assert row["second"] == rates["A"]
    assert row["difference"] == pytest.approx(rates["C"] - rates["A"])
    assert row["low"] < 0.3 < row["high"]
    assert row["ratio_low"] < 2 < row["ratio_high"]
    assert row["about"] == "population"
    assert row["conclusion"] == "C is larger"
    assert dp.compare(rates, "A", "C").loc["A and C", "conclusion"] == "C is larger"


def test_the_ends_are_those_of_differences_and_ratios(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=5)
    found = dp.compare(rates, "A")
    assert found.index.tolist() == ["B", "C"]
    difference = dp.intervals(dp.difference(rates, "A"), of="population")
    ratio = dp.intervals(dp.ratio(rates, "A"), of="population")
    assert found["low"].tolist() == difference["low"].tolist()
    assert found["ratio_high"].tolist() == ratio["high"].tolist()
    assert found["second"].tolist() == [rates["A"]] * 2
    on_rows = dp.compare(rates, "A", of="rows")
    assert on_rows["high"].tolist() == dp.intervals(dp.difference(rates, "A"))["high"].tolist()
    assert on_rows.loc["C", "conclusion"] == "C is larger on these rows"
    assert "method" not in on_rows


def test_equal_groups_cant_be_told_apart(exact: None, p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=1)
    found = dp.compare(rates, "B", "A")
    assert found.loc["B and A", "conclusion"] == "can't be told apart"
    both = dp.compare(p["bought"].mean(epsilon=1), p["bought"].mean(epsilon=1, fresh=True))
    assert both.index.tolist() == ["first and second"]
    assert both["conclusion"].tolist() == ["can't be told apart"]


def test_answers_are_matched_by_label(p: Any) -> None:
    one = p[p["age"] < 40].groupby("arm")["bought"].mean(epsilon=5)
    other = p[p["age"] >= 40].groupby("arm")["bought"].mean(epsilon=5)
    found = dp.compare(one.sort_index(ascending=False), other)
    assert found["first"].to_dict() == pytest.approx(one.to_dict())
    assert found["second"].to_dict() == pytest.approx(other.to_dict())


def test_all_pairs_are_compared_together(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=5)
    found = dp.compare(rates)
    assert found.index.tolist() == ["A and B", "A and C", "B and C"]
    assert found.loc["A and C", "first"] == rates["A"]
    assert found.loc["A and C", "conclusion"] == "C is larger"
    alone = dp.compare(rates, "A", "C").iloc[0]
    assert found.loc["A and C", "low"] < alone["low"]  # a third of the risk each
    one = p.groupby("arm")["bought"].mean(epsilon=1).head(1)
    with pytest.raises(QueryError, match="1 labels have 0"):
        dp.compare(one)
    with pytest.raises(QueryError, match="two answers, or a label"):
        dp.difference(rates)


def test_few_rows_are_said_to_be_few(p: Any) -> None:
    few = p[p["age"] < 20].groupby("arm")["bought"].mean(epsilon=50)
    small = p.assign(tiny=p["age"] / 80)[p["age"] == 3].groupby("arm")
    assert "too few rows" not in " ".join(dp.compare(few)["conclusion"])
    found = dp.compare(small["tiny"].mean(bounds=(0, 1), epsilon=50, inference=True))
    assert set(found["method"]) == {"t, too few"}


def test_columns_are_called_by_their_names(p: Any) -> None:
    young = p.assign(young=p["age"] < 40)
    table = young.crosstab("arm", "young", epsilon=5, normalize="index")
    found = dp.compare(table[True], table[False])
    assert found.index.tolist() == ARMS
    assert set(found["conclusion"]) <= {"True is larger", "False is larger", "can't be told apart"}


def test_counts_are_compared_on_the_rows(p: Any) -> None:
    """How many units of a population they stand for isn't known."""
    counts = p["arm"].value_counts(epsilon=5)
    found = dp.compare(counts, "A")
    assert set(found["about"]) == {"rows"}
    assert all("may be chance" in said or said == "can't be told apart"
               for said in found["conclusion"])  # fmt: skip
    sized = dp.compare(counts, "A", size=10**6)
    assert set(sized["about"]) == {"population"}
    assert (sized["high"] > 1000).all()


def test_times_a_population_cant_be_told_of_are_refused_if_asked(p: Any) -> None:
    totals = p.groupby("arm")["age"].sum(epsilon=5)
    assert set(dp.compare(totals, "A")["about"]) == {"rows"}
    with pytest.raises(QueryError, match="says nothing of a population"):
        dp.compare(totals, "A", of="population")


def test_frames_are_refused(p: Any) -> None:
    table = p.groupby("arm")[["age", "bought"]].mean(epsilon=5)
    with pytest.raises(QueryError, match="one column at a time"):
        dp.compare(table, table)
    with pytest.raises(QueryError, match="neither a released answer nor a label"):
        dp.compare(table["age"], "D")


def test_a_comparison_is_shown_in_short(p: Any) -> None:
    rates = p.groupby("arm")["bought"].mean(epsilon=5)
    found = dp.compare(rates, "A")
    row = found.loc["C"]
    text, html = repr(found), found._repr_html_()
    value, _, _, ends = within(row["difference"], row["low"], row["high"])
    assert f"{value} {ends}" in text
    cells = re.findall("<td[^>]*>([^<]*)", html)
    assert cells[cells.index(value) + 1] == ends
    for said in (text, html):
        assert "C is larger" in said
        told = said.replace("\N{NO-BREAK SPACE}", " ")
        assert "Each less A. 95 % intervals for the population (t), all 2 hold" in told
        assert "ratio_low" not in said
    assert "ratio_low" in repr(found.T)
    counts = dp.compare(p["arm"].value_counts(epsilon=5), "A", of="rows").loc["B"]
    assert f"{counts['difference']:.0f} ({counts['low']:.0f} to" in repr(
        dp.compare(p["arm"].value_counts(epsilon=5), "A", of="rows")
    )
    assert "on these rows" in repr(dp.compare(rates, "A", of="rows"))
    del found["ratio"]
    assert "second" in repr(found)
    near_0 = dp.compare(p.groupby("arm")["bought"].mean(epsilon=0.001), "A", of="rows")
    are_open = (near_0["ratio_high"] == np.inf) & (near_0["ratio_low"] > -np.inf)
    are_open &= near_0["ratio"].notna()  # not of 0/0
    assert repr(near_0).count(" or more)") == are_open.sum()


def test_labels_are_escaped() -> None:
    anew(epsilon=100)
    frame = pd.DataFrame({"arm": ["<b>", "&"] * 500, "x": range(1000)})
    p = dp.protect(frame, name="marks", domain={"arm": ["<b>", "&"], "x": (0, 1000)})
    html = dp.compare(p.groupby("arm")["x"].mean(epsilon=5))._repr_html_()
    assert "&lt;b&gt; and &amp;" in html
    assert "<b>" not in html


def test_what_pandas_makes_of_it_is_plain(p: Any) -> None:
    found = dp.compare(p.groupby("arm")["bought"].mean(epsilon=5), "A")
    assert type(found.round(2)) is pd.DataFrame
    assert type(found[found["low"] > 0]) is pd.DataFrame
    again = pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(again, found)
