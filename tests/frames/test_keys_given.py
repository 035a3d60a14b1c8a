"""keys= takes a list, a Series, an Index or an array everywhere, and they ask the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted

import dppandas as dp

ROWS = {"city": ["Oslo", "Rome"] * 60, "sex": ["f", "m", "m"] * 40, "age": [30.0, 40.0] * 60}
KEYS = ["Oslo", "Rome", "Bonn"]

Ask = Callable[[Any, Any], Any]
ENTRIES: dict[str, Ask] = {
    "value_counts": lambda p, k: p["city"].value_counts(keys=k, epsilon=1),
    "value_counts with missing": lambda p, k: p["city"].value_counts(
        keys=k, dropna=False, epsilon=1
    ),
    "value_counts of a frame": lambda p, k: p[["city"]].value_counts(keys=k, epsilon=1),
    "mode": lambda p, k: p["city"].mode(keys=k, epsilon=1),
    "nunique": lambda p, k: p["city"].nunique(keys=k, epsilon=1),
    "unattributed": lambda p, k: p["city"].unattributed_histogram(keys=k, epsilon=1),
    "groupby": lambda p, k: p.groupby("city", k).size(epsilon=1),
    "groupby with missing": lambda p, k: p.groupby("city", k, dropna=False).size(epsilon=1),
    "groupby of two": lambda p, k: p.groupby(["city", "sex"], {"city": k, "sex": ["f"]}).size(
        epsilon=1
    ),
    "groupby, one declared": lambda p, k: (
        p.declare(sex=["f", "m"]).groupby(["city", "sex"], k).size(epsilon=1)
    ),
    "groupby of a column": lambda p, k: (
        p["age"].groupby(p["city"], k).sum(bounds=(0, 99), epsilon=1)
    ),
    "value_counts by group": lambda p, k: p.groupby("sex", ["f", "m"])["city"].value_counts(
        keys=k, epsilon=1
    ),
    "nunique by group": lambda p, k: p.groupby("sex", ["f", "m"])["city"].nunique(
        keys=k, epsilon=1
    ),
    "partition": lambda p, k: p.partition("city", keys=k)["Rome"].count(epsilon=1),
    "crosstab": lambda p, k: dp.crosstab(
        p["city"], p["sex"], keys={"city": k, "sex": ["f", "m"]}, epsilon=1
    ),
    "pivot_table": lambda p, k: p.pivot_table(
        index="city", values="age", aggfunc="sum", keys={"city": k}, bounds=(0, 99), epsilon=1
    ),
    "domain": lambda p, k: p.declare(city=k)["city"].value_counts(epsilon=1),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_entry_takes_a_series_and_an_index_as_a_list() -> None:
    dp.session(epsilon=1000)
    people = dp.protect(pd.DataFrame(ROWS), "keys given")
    for name, ask in ENTRIES.items():
        with dp.preview() as plan:
            for kind, keys in {
                "list": KEYS, "Series": pd.Series(KEYS, index=[3, 1, 2]), "Index": pd.Index(KEYS),
                "array": np.array(KEYS), "tuple": tuple(KEYS),
                "Categorical": pd.Series(pd.Categorical(KEYS, categories=KEYS)),
                "texts": pd.Series(KEYS, dtype="string"),
            }.items():  # fmt: skip
                if kind == "tuple" and "one declared" in name:
                    continue  # a tuple names a single label of several columns
                with noted(name, kind):
                    ask(people, keys)
        with noted(name):
            assert {*plan.to_frame()["status"][1:]} == {"replayed"}
            assert len({entry.key for entry in plan._entries}) == 1
