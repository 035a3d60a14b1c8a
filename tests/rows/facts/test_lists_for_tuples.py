"""Two labels that were meant as bounds: what follows from the list says so."""

from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.errors import QueryError, SourceError


def protected(**domain: Any) -> Any:
    df = pd.DataFrame({
        "who": range(40), "age": [20.0, 30, 40, 50] * 10, "sex": list("fmmf") * 10,
        "when": pd.date_range("2020-01-01", periods=40),
        "late": pd.to_timedelta(range(40), unit="h"),
    })  # fmt: skip
    return dp.protect(df, "people", domain=domain, kinds={"sex": "text"})  # objects, on pandas 2


TIMES = [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")]
DATES = ["2020-01-01", "2021-01-01"]
LENGTHS = [pd.Timedelta(0), pd.Timedelta("7D")]


@pytest.mark.parametrize(("column", "labels", "ask"), [
    ("age", [0, 1000], lambda p: p.declare(age=(0, 1000))),
    ("age", [0, 1000], lambda p: p.declare(age=[0, 1000.5])),
    ("sex", [0, 1000], lambda p: p["sex"].value_counts()),
    ("when", TIMES, lambda p: p["when"].mean()),
    ("when", TIMES, lambda p: (p["when"] - TIMES[0]).mean()),
    ("when", TIMES, lambda p: p["when"].dt.year.value_counts()),
    ("when", TIMES, lambda p: p["when"].dt.date.value_counts()),
    ("when", TIMES, lambda p: p["when"].hist(bins=4)),
    ("when", TIMES, lambda p: dp.cut(p["when"], 4)),
    ("when", TIMES, lambda p: p.resample("MS", on="when").size()),
    ("when", DATES, lambda p: p["when"].mean()),
    ("when", DATES, lambda p: p.resample("MS", on="when").size()),
    ("late", LENGTHS, lambda p: p[["late"]].mean()),
    ("late", LENGTHS, lambda p: p[["late", "when"]].mean()),
    ("age", [0, 1000], lambda p: dp.models.LogisticRegression(
        epsilon=1, bounds=(0, 9), classes=[0, 50]).fit(p[["who"]], p["age"])),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:of the keys")
def test_a_list_where_a_tuple_was_meant_is_explained(column: str, labels: Any, ask: Any) -> None:
    frame = protected(**{column: labels})
    said = refusal(lambda: ask(frame), "bounds are a tuple", (QueryError, SourceError))
    two = f"{labels[0]!r} and {labels[1]!r}"
    assert said.count(f"You declared two labels of {column!r}, {two}") == 1


def test_keys_of_another_kind_are_explained_when_they_are_declared() -> None:
    with pytest.warns(UserWarning, match="You declared two labels of 'sex', 0 and 1000; bounds"):
        protected(sex=[0, 1000])


@pytest.mark.parametrize("labels", [["f", "m"], [1, 2, 3], [1000, 0], [True, False], [0, "1"]])
def test_other_labels_are_no_mistake(labels: Any) -> None:
    frame = protected(age=labels)
    said = refusal(lambda: frame.declare(age=(0, 1000)), "other terms", SourceError)
    assert "tuple" not in said


def test_two_of_three_labels_are_no_mistake() -> None:
    frame = protected(age=[0, 1])
    said = refusal(lambda: frame.declare(age=[0, 1, 2]), "other terms", SourceError)
    assert "tuple" not in said
