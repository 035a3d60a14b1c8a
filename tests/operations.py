"""Every operation that releases something, over one schema: a line here, and a new one is tested.

Columns: number, group (text), code (whole numbers), yes and no (truth values), when (times).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dppandas as dp

COLUMNS = ("number", "group", "code", "yes", "no", "when")
BOUNDS = (-5, 10)
GROUPS = ["a", "b", "c"]
CODES = [1, 2, 3]
BOTH = {"group": GROUPS, "code": CODES}

#: What a private frame of the schema answers; each call leaves ``epsilon=`` to the test.
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.count(),
    "size": lambda p: p.size(),
    "count of a query": lambda p: p.query("number > 1 and group in ['a', 'b']").count(),
    "count of a time query": lambda p: p.query("when >= '2020-01-02' or not yes").count(),
    "count of a column query": lambda p: p.query("when == group or number < code").count(),
    "count of a mask": lambda p: p[(p["number"] * 2 - p["code"] > 1) | p["when"].isna()].count(),
    "count of columns": lambda p: p[["number", "group", "when"]].count(),
    "count of a column": lambda p: p["group"].count(),
    "sum of True": lambda p: p[["yes", "no", "group"]].sum(),
    "sum of columns": lambda p: p[["number", "code"]].sum(bounds=BOUNDS),
    "sum": lambda p: p["number"].sum(bounds=BOUNDS),
    "sum of text": lambda p: p["group"].sum(bounds=BOUNDS),
    "mean": lambda p: p["number"].mean(bounds=BOUNDS),
    "mean of arithmetic": lambda p: (p["number"] / p["code"]).mean(bounds=BOUNDS),
    "mean of columns": lambda p: p[["number", "when"]].mean(bounds=BOUNDS),
    "value_counts": lambda p: p["group"].value_counts(keys=GROUPS, sort=False),
    "sorted value_counts": lambda p: p["code"].value_counts(keys=CODES),
    "value_counts of times": lambda p: p["when"].value_counts(keys=["2020-01-01"], dropna=False),
    "value_counts with missing": lambda p: p["code"].value_counts(keys=CODES, dropna=False),
    "proportions": lambda p: p["group"].value_counts(keys=GROUPS, normalize=True),
    "value_counts of a mask": lambda p: (p["number"] > 0).value_counts(),
    "value_counts of columns": lambda p: p[["group", "code"]].value_counts(keys=BOTH),
    "group size": lambda p: p.groupby("group", keys=GROUPS).size(),
    "group count": lambda p: p.groupby("code", keys=CODES)[["number", "yes"]].count(),
    "group sum": lambda p: p.groupby(["group", "code"], keys=BOTH)["number"].sum(bounds=BOUNDS),
    "group mean": lambda p: p.groupby("code", keys=CODES)[["number", "no"]].mean(bounds=BOUNDS),
    "group value_counts": lambda p: p.groupby("code", keys=CODES)["group"].value_counts(
        keys=GROUPS
    ),
}

#: Selections: what they release is a label.
SELECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "idxmax of columns": lambda p, e: p[["yes", "no"]].idxmax(epsilon=e),
    "idxmax of sums": lambda p, e: p[["number", "code"]].idxmax(bounds=BOUNDS, epsilon=e),
    "idxmax of counts": lambda p, e: p["group"].value_counts(keys=GROUPS).idxmax(epsilon=e),
    "nlargest columns": lambda p, e: p[["yes", "no", "group"]].sum().nlargest(2, epsilon=e),
    "nlargest counts": lambda p, e: p["code"].value_counts(keys=CODES).nlargest(2, epsilon=e),
    "mode": lambda p, e: p["group"].mode(keys=GROUPS, epsilon=e),
}


def released(name: str, private: Any, epsilon: object = 1) -> Any:
    """The answer of an operation or a selection."""
    if name in SELECTIONS:
        return SELECTIONS[name](private, epsilon)
    return OPERATIONS[name](private).release(epsilon=epsilon)


EVERY = [*OPERATIONS, *SELECTIONS]


def integers(unreleased: dp.Unreleased, engine: Any) -> list[int]:
    """The exact integers that an engine finds for an unreleased answer: what noise is added to."""
    where, statistic = unreleased._where, unreleased._statistic
    return engine.integers(
        lambda chunk: statistic.kernel(chunk, None if where is None else where.truth(chunk)),
        statistic.size,
        "test",
    )
