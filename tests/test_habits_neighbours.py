"""Habits of pandas on hostile neighbours: what each spelling releases keeps its sensitivity, and
what it shows besides (types, indexes, dtypes, errors, warnings) is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import operations as ops
import pandas as pd
import pytest
from sizes import size

from dppandas.audit import check_sensitivity

Ask = Callable[[Any], Any]
BOUNDS, GROUPS, CODES = ops.BOUNDS, ops.GROUPS, ops.CODES
DAYS = ("2020-01-01", "2020-01-13")
E: dict[str, Any] = {"epsilon": 1}

#: Spellings that make several releases, or that show an answer in a way of their own.
HABITS: dict[str, Ask] = {
    "describe": lambda p: p["number"].describe(bounds=BOUNDS, **E),
    "describe of times": lambda p: p["when"].describe(bounds=DAYS, **E),
    "describe of a text": lambda p: p["group"].describe(**E),
    "describe of all": lambda p: p[["number", "group", "yes"]].describe(
        include="all", bounds={"number": BOUNDS}, **E),
    "describe by group": lambda p: p.groupby("group")["number"].describe(
        percentiles=[0.5], bounds=BOUNDS, **E),
    "figures by name": lambda p: p.agg(
        n=("group", "size"), late=("number", "mean"), bounds={"number": BOUNDS}, **E),
    "figures of groups": lambda p: p.groupby("group").agg(
        n=("number", "size"), late=("number", "mean"), bounds={"number": BOUNDS}, **E),
    "groups as columns": lambda p: p.groupby("group", as_index=False)["number"].mean(
        bounds=BOUNDS, **E),
    "groups of keys and domain": lambda p: p.groupby(["group", "code"], keys={"code": CODES}).size(
        **E),
    "groups of months": lambda p: p.groupby(p["when"].dt.month).size(**E),
    "resampled": lambda p: p.resample("D", on="when", range=DAYS)["number"].mean(
        bounds=BOUNDS, **E),
    "pivoted": lambda p: p.pivot_table(
        values="number", index="group", columns="yes", aggfunc=["mean", "count"],
        bounds=BOUNDS, **E),
    "pivoted with margins": lambda p: p.pivot_table(
        index="group", columns="yes", aggfunc="size", margins=True, **E),
    "bins": lambda p: p["number"].value_counts(bins=[-3, 0, 3, 9], **E),
    "values of two columns": lambda p: p[["group", "yes"]].value_counts(**E),
    "missing shares": lambda p: p[["number", "group"]].isna().mean(**E),
    "a mask's sum": lambda p: (p["group"] == "a").sum(**E),
    "a group": lambda p: p.groupby("group").get_group("a")["number"].sum(bounds=BOUNDS, **E),
    "functions": lambda p: p.apply(lambda row: row["number"] * 2, axis=1).mean(
        bounds=BOUNDS, **E),
    "loc": lambda p: p.loc[p["yes"], "number"].mean(bounds=BOUNDS, **E),
    "eval": lambda p: p.eval("z = number + code")["z"].mean(bounds=BOUNDS, **E),
}  # fmt: skip


@pytest.mark.sized
@pytest.mark.parametrize(("unit", "max_rows"), [(None, 1), ("owner", 2)])
@pytest.mark.parametrize("name", HABITS)
def test_a_habit_tells_no_neighbours_apart(name: str, unit: str | None, max_rows: int) -> None:
    found = check_sensitivity(
        HABITS[name], ops.SCHEMA, unit=unit, max_rows=max_rows, pairs=size(quick=12, deep=30),
        domain={"group": GROUPS, "yes": [False, True]},
    )  # fmt: skip
    assert found.ok, found
    assert found.releases, "it is answered, not refused"


def test_what_is_shown_may_not_depend_on_rows() -> None:
    """The negative control: an index that is read from the answer's own numbers."""

    def leaks(p: Any) -> Any:
        counts = p["group"].value_counts(keys=GROUPS, **E)
        rows = p._table.engine.read.rows
        return pd.Series(counts.to_numpy(), index=range(rows, rows + len(GROUPS)))

    assert not check_sensitivity(leaks, ops.SCHEMA, pairs=5).ok
