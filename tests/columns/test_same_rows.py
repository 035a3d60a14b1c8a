"""Expressions say the same where queries about them have one key: not where Python finds equal."""

from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.columns.private_rows import same_value
from dppandas.errors import LineageError, QueryError
from dppandas.rows.expressions import And, Column, Compare, Literal

UTC = pd.Timestamp("2020-01-01", tz="UTC")
PAIRS = [(1, True), (0, False), (UTC, UTC.tz_convert("Asia/Tokyo"))]


def people() -> Any:
    df = pd.DataFrame({"x": [1.0, None, None, 2.0] * 100, "y": [1] * 400})
    return dp.private(df, unit="row")


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_rows_kept_by_values_that_python_finds_equal_are_others(one: Any, other: Any) -> None:
    p = people()
    a, b, again = (p[p["x"].fillna(each).astype(str) == "1"] for each in (one, other, one))
    refusal(lambda: a[b["y"] == 1], "other rows", QueryError)
    refusal(lambda: a["x"] + b["x"], "different rows", LineageError)
    assert str((a["x"] + again["x"])._expression) == "x + x"
    a[again["y"] == 1]


def test_operands_of_and_have_no_order() -> None:
    one, other = (Compare("==", Column(name), Literal(1)) for name in "ab")
    assert same_value(And(one, other), And(other, one))
    assert not same_value(one, other)
    assert same_value(None, None)
    assert not same_value(None, one)


def test_what_has_no_canonical_text_is_the_same_if_python_says_so() -> None:
    assert same_value(Literal(len), Literal(len))
    assert not same_value(Literal(len), Literal(max))
    assert not same_value(Literal((len, 1)), Literal((len, True)))


def test_a_column_beside_one_of_its_name_is_not_taken_for_it() -> None:
    dp.session(epsilon=100)
    p = people().assign(q=lambda p: p["x"].fillna(1).astype(str))
    given = p["x"].fillna(True).astype(str).rename("q")
    keys = {"q": ["1", "True"]}
    table = p.pivot_table(index=given, aggfunc="size", keys=keys, epsilon=10)
    assert table["True"] > 150
    groups = p.groupby(given, keys=["1", "True"])
    assert "q" in groups._operands()
    assert "q" not in p.groupby(p["q"], keys=["1", "True"])._operands()
