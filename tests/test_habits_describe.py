"""Habits of describe: the same line on a plain frame and on a private one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import FRAMES, clean, private

import dppandas as dp
from dppandas.display.cards.card import card_of
from dppandas.errors import MissingArgument, QueryError

LINES: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda f: f[["age", "income"]].describe(),
    "percentiles": lambda f: f[["age", "income"]].describe(percentiles=[0.9, 0.5, 0.1]),
    "of a column": lambda f: f["age"].describe([0.05, 0.5]),
    "of a text": lambda f: f["city"].describe(),
    "of a mask": lambda f: (f["income"] > 40).describe(),
    "without texts": lambda f: f[["age", "city", "income"]].describe(),
    "all": lambda f: f[["age", "city", "income", "sex"]].describe(include="all"),
    "texts": lambda f: f[["age", "city", "sex"]].describe(exclude="number"),
    "by group": lambda f: f.groupby("city")["age"].describe(percentiles=[0.5]),
    "of texts alone": lambda f: f[["city", "sex"]].describe(),
}
#: pandas interpolates quantiles, and its ends are values.
BETWEEN = ("min", "max", "%")


def asked(line: Callable[[Any], Any], p: Any) -> Any:
    """The question of a line: frames show their schema unless a loss is given."""
    if line is LINES["numbers"]:
        return p[["age", "income"]].describe(epsilon=1)
    if line in (LINES["without texts"], LINES["of texts alone"]):
        names = ["age", "city", "income"] if line is LINES["without texts"] else ["city", "sex"]
        return p[names].describe(epsilon=1)
    return line(p).release(epsilon=1)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", LINES)
def test_as_pandas(name: str, frame: str) -> None:
    df = FRAMES[frame]()
    df["city"] = df["city"].astype(object)  # older pandas describes categories apart from texts
    wanted, found = LINES[name](df), asked(LINES[name], private(df))
    assert dp.ledger().spent == 1
    labels = wanted.columns if name == "by group" else wanted.index
    assert (found.columns if name == "by group" else found.index).tolist() == labels.tolist()
    rows = [row for row in labels if not str(row).endswith(BETWEEN)]
    if name == "by group":
        wanted, found = wanted.T, found.loc[wanted.index].T
    elif isinstance(wanted, pd.DataFrame):
        assert found.columns.tolist() == wanted.columns.tolist()
    for one, other in zip(np.ravel(found.loc[rows]), np.ravel(wanted.loc[rows]), strict=True):
        same = pd.isna(one) and pd.isna(other)
        assert same or (one == other if isinstance(other, str) else one == pytest.approx(other))


@pytest.mark.usefixtures("exact")
def test_times_have_no_deviation_among_their_figures() -> None:
    df = clean()[["when", "sex"]]
    p = dp.protect(df, name="times", domain={"when": ("2024-01-01", "2024-04-30"), "sex": ["f"]})
    found = p["when"].describe(epsilon=1)
    assert found.index.tolist() == df["when"].describe().index.tolist()
    assert p[["when"]].describe(epsilon=1).index.tolist() == df[["when"]].describe().index.tolist()
    by_group = p.groupby("sex")["when"].describe(epsilon=1)
    for told in (found, p[["when"]].describe(epsilon=1), by_group):
        shown = dp.intervals(told).stack() if told is by_group else dp.intervals(told)
        assert len(shown), "each has its record"
    assert by_group.columns.tolist() == df.groupby("sex")["when"].describe().columns.tolist()
    assert abs(found["mean"] - df["when"].mean()) < pd.Timedelta("1s")


def test_labels_are_described_by_three_releases() -> None:
    p = private(clean())
    found = p["city"].describe(epsilon=1)
    parts = dp.record(found).components
    assert [float(each.epsilon) for each in parts.values()] == [0.25, 0.25, 0.5]
    assert found["top"] in ("Rome", "Oslo", "Bonn")
    errors = dp.intervals(found)["error"]
    assert errors[["count", "unique", "freq"]].gt(0).all()
    assert pd.isna(errors["top"])
    spent = dp.ledger().spent
    assert p["city"].value_counts(epsilon=0.5).max() == found["freq"]  # the same question
    assert dp.ledger().spent == spent


def test_a_card_shows_labels_and_leaves_out_what_nobody_asked_for() -> None:
    found = private(clean())[["age", "city"]].describe(include="all", epsilon=1)
    card = card_of(found)
    assert card is not None
    shown = {row.label: [cell.text for cell in row.cells] for row in card.rows if row}
    assert shown["top"] == ["", found.loc["top", "city"]]
    assert shown["mean"][1] == ""
    assert all("unknown" not in text for texts in shown.values() for text in texts)


def test_units_are_not_described() -> None:
    df = clean().assign(person=range(60))
    p = dp.protect(df, name="units", unit="person", max_rows=1, domain={"age": (0, 100)})
    assert p[["person", "age"]].describe(epsilon=1).columns.tolist() == ["age"]


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "no keys": (lambda p: p[["when"]].assign(x=p["when"].dt.strftime("%d")).describe(
        include="object"), QueryError, "keys="),
    "a number": (lambda p: p["age"].describe(percentiles=0.5), QueryError, "must be a list"),
    "an end": (lambda p: p["age"].describe(percentiles=[0, 0.5]), QueryError, "between 0 and 1"),
    "twice": (lambda p: p["age"].describe(percentiles=[0.5, 0.5]), QueryError, "each once"),
    "beyond": (lambda p: p["age"].describe(percentiles=[1.5]), QueryError, "share from 0 to 1"),
    "of a text": (lambda p: p["city"].describe(percentiles=[2]), QueryError, "share from 0 to 1"),
    "a kind": (lambda p: p.describe(include="float64"), QueryError, "is no kind"),
    "no bounds": (lambda p: p[["when", "age"]].describe(include="all"), MissingArgument, "'when'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    line, kind, says = REFUSED[name]
    with pytest.raises(kind, match=says):
        line(private(clean()))
    assert dp.ledger().spent == 0
