"""One key however a question is spelled, and keys of new expressions stay as they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp
from dppandas.columns.operators import METHODS
from dppandas.ledger import canonical

DOMAIN = {"a": (0, 5), "b": (0, 5), "t": ["x", "y z"]}


def frame() -> Any:
    df = pd.DataFrame({
        "a": [1.0, 2.0], "b": [3.0, None], "t": ["x", "y z"],
        "w": pd.to_datetime(["2020-01-01", None]),
    })  # fmt: skip
    return dp.protect(df, name="spelled", domain=DOMAIN)


def key_of(column: Any) -> str:
    return canonical.key(column._expression)


Make = Callable[[Any], Any]
SAME: dict[str, tuple[Make, ...]] = {
    "greater": (
        lambda p: p["a"] > 3, lambda p: p["a"].gt(3), lambda p: 3 < p["a"],  # noqa: SIM300
        lambda p: np.greater(p["a"], 3), lambda p: (p[["a", "b"]] > 3)["a"],
        lambda p: p[["a"]].gt({"a": 3})["a"], lambda p: p.assign(c="a > 3")["c"]),
    "reflected": (
        lambda p: 3 - p["a"], lambda p: p["a"].rsub(3), lambda p: np.float64(3) - p["a"],
        lambda p: np.subtract(3, p["a"]), lambda p: (3 - p[["a"]])["a"]),
    "filled": (
        lambda p: p["a"].add(2, fill_value=0), lambda p: p["a"].fillna(0) + 2,
        lambda p: p[["a"]].add(2, fill_value=0)["a"]),
    "chosen": (
        lambda p: p["a"].where(p["b"] > 1, 0), lambda p: np.where(p["b"] > 1, p["a"], 0),
        lambda p: np.select([p["b"] > 1], [p["a"]]), lambda p: p[["a"]].where(p["b"] > 1, 0)["a"]),
    "cases": (
        lambda p: p["a"].case_when([(p["b"] > 1, 0)]), lambda p: p["a"].mask(p["b"] > 1, 0)),
    "mapped": (
        lambda p: p["t"].map({"x": 1}), lambda p: p["t"].map(pd.Series([1], index=["x"])),
        lambda p: p["t"].map({"x": 1}, na_action="ignore")),
    "the first": (lambda p: p["a"].combine_first(p["b"]), lambda p: p["a"].fillna(p["b"]),
                  lambda p: p[["a"]].combine_first(p.assign(a=p["b"])[["a"]])["a"]),
    "least": (lambda p: np.minimum(p["a"], p["b"]),
              lambda p: p[["a", "b"]].min(axis=1, skipna=False)),
    "least there is": (lambda p: np.fmin(p["a"], p["b"]), lambda p: p[["a", "b"]].min(axis=1)),
    "any": (lambda p: (p["a"] > 1) | (p["b"] > 1), lambda p: (p[["a", "b"]] > 1).any(axis=1),
            lambda p: np.logical_or(p["b"] > 1, p["a"] > 1)),
    "missing": (lambda p: p["a"].isna(), lambda p: np.isnan(p["a"]), lambda p: p.isna()["a"]),
    "joined": (
        lambda p: p["t"] + "-" + p["t"].str.upper(),
        lambda p: p["t"].str.cat(p["t"].str.upper(), sep="-"),
        lambda p: p["t"] + ("-" + p["t"].str.upper())),
    "part": (lambda p: p["t"].str.split(" ", n=1).str[1],
             lambda p: p["t"].str.split(" ", n=1, expand=True)[1]),
    "flags": (lambda p: p["t"].str.contains("X", case=False),
              lambda p: p["t"].str.contains("X", flags=2, na=False)),
    "padded": (lambda p: p["t"].str.rjust(5), lambda p: p["t"].str.pad(5)),
    "a week": (lambda p: p["w"].dt.isocalendar_week, lambda p: p["w"].dt.isocalendar()["week"]),
    "an order": (lambda p: dp.cut(p["a"], [0, 1, 5]), lambda p: p["a"].cut([0, 1, 5.0]),
                 lambda p: p["a"].cut([0, 1, 5], ordered=False)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_one_key_however_it_is_spelled(name: str) -> None:
    p = frame()
    assert len({key_of(make(p)) for make in SAME[name]}) == 1


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_its_operator(name: str) -> None:
    p, symbol = frame(), METHODS[name]
    sides = ("p['b']", "p['a']") if name.startswith("r") else ("p['a']", "p['b']")
    wanted = eval(f"{sides[0]} {symbol} {sides[1]}")
    assert repr(getattr(p["a"], name)(p["b"])) == repr(wanted)
    assert key_of(getattr(p["a"], name)(p["b"])) == key_of(wanted)


#: Of expressions that are new in this version, or have new arguments.
PINNED: dict[str, tuple[Make, str]] = {
    "sum of rows": (
        lambda p: p[["a", "b"]].sum(axis=1), "46152ca755b19d8c7b8d4c2ab15d76d1"),
    "mean of rows": (
        lambda p: p[["a", "b"]].mean(axis=1, skipna=False), "d29809dd3d27f816e3bd334bd04a0ee4"),
    "std of rows": (
        lambda p: p[["a", "b"]].std(axis=1), "5ca7d69cb08ba5729658e4c7199b03e5"),
    "count of rows": (
        lambda p: p[["a", "t"]].count(axis=1), "782ae3427cf8ebb5880bddc881027323"),
    "hypot": (
        lambda p: np.hypot(p["a"], p["b"]), "347fc1a7b17bb6c3d78034920e710548"),
    "sine": (
        lambda p: np.sin(p["a"]), "99aa05c5738de3f9384a06076b7fa7f5"),
    "joined": (
        lambda p: p["t"] + "-" + p["t"], "d97f8f867c944f7816045b8482c1cd32"),
    "localized": (
        lambda p: p["w"].dt.tz_localize("UTC"), "c51d590511a5c600184a9d4959de8e09"),
    "group 2": (
        lambda p: p["t"].str.extract("(.)(.)")[1], "564948c66fefee85f810cc272dc6444e"),
    "spliced": (
        lambda p: p["t"].str.slice_replace(0, 1, "u"), "0b82b944d648d01979a3f4267c462f0c"),
    "translated": (
        lambda p: p["t"].str.translate({97: "b"}), "a60b3be6eb31d6bb8af066cc10fef902"),
    "cut": (
        lambda p: p["a"].cut([0, 1, 5], labels=["l", "h"]), "95848ec83a48ac10133aaafcb55733f6"),
}  # fmt: skip


@pytest.mark.parametrize("name", PINNED)
def test_keys_stay_as_they_are(name: str) -> None:
    make, pinned = PINNED[name]
    assert key_of(make(frame())) == pinned
