"""Verbs that look columns up, list them, name them anew or lay them out as rows: as in pandas."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from habits import FRAMES, agree, clean, private
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError

LEVELS = pd.DataFrame({"rank": [1, 2, 3]}, index=["low", "mid", "high"])
CITIES = pd.Series(["IT", "NO", "DE"], index=["Rome", "Oslo", "Bonn"], name="country")
TWICE = pd.DataFrame({"age": [1, 2]}, index=["f", "m"])

LINES: dict[str, Callable[[Any], Any]] = {
    "get": lambda f: f.get("age"),
    "get several": lambda f: f.get(["age", "sex"]),
    "items": lambda f: dict(f.items())["income"] * 2,
    "keys": lambda f: f[f.keys()[3:5]],
    "add_prefix": lambda f: f[["age", "sex"]].add_prefix("x_"),
    "add_suffix": lambda f: f.add_suffix("_1")["age_1"],
    "set_axis": lambda f: f[["age", "sex"]].set_axis(["a", "s"], axis=1),
    "squeeze": lambda f: f[["age"]].squeeze(),
    "squeeze columns": lambda f: f[["age"]].squeeze("columns"),
    "squeeze two": lambda f: f[["age", "sex"]].squeeze("columns"),
    "reindex": lambda f: f.reindex(columns=["sex", "new", "age"]),
    "reindex axis": lambda f: f.reindex(["sex", "age"], axis=1),
    "reset_index": lambda f: f[f["age"] > 30].reset_index(drop=True),
    "join": lambda f: f.join(LEVELS, on="level"),
    "join a series": lambda f: f.join(CITIES, on="city")["country"].value_counts(),
    "join, inner": lambda f: f.join(LEVELS.head(2), on="level", how="inner")[["rank", "level"]],
    "join, suffix": lambda f: f.join(TWICE, on="sex", rsuffix="_2")[["age", "age_2"]],
    "melt": lambda f: f.melt(["sex"], ["age", "income"]),
    "melt all": lambda f: f[["age", "income"]].melt(var_name="what", value_name="x"),
    "melt, by key": lambda f: f.melt("sex", ["age", "income"])["variable"].value_counts(),
    "melt, by group": lambda f: (
        f.dropna(subset=["sex"]).melt("sex", ["age", "income"])
        .groupby(["sex", "variable"])["value"].count().reindex(
            pd.MultiIndex.from_product([["f", "m"], ["age", "income"]], names=["sex", "variable"])
        ) if isinstance(f, pd.DataFrame) else
        f.melt("sex", ["age", "income"]).groupby(["sex", "variable"])["value"].count()
    ),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    agree(LINES[line], FRAMES[frame]())


def test_names_and_kinds_are_public(capsys: pytest.CaptureFixture[str]) -> None:
    p = private(clean())
    assert p.get("nothing") is None
    assert p.get(["age", "nothing"], "none") == "none"
    told = {"age": "number", "income": "number", "member": "truth", "when": "time"}
    assert p.dtypes[list(told)].to_dict() == told
    p.info()
    assert capsys.readouterr().out == f"{p!r}\n"
    assert dp.ledger().spent == 0


def test_a_melted_row_counts_once_for_each_column() -> None:
    """As the same rows do that `dp.concat` makes, whose answers are given again."""
    p = private(clean())
    long = p.melt(["sex"], ["age", "income"])
    count = long.count(epsilon=1)
    assert dp.record(count).scale == 2
    parts = [
        p[["sex", name]].rename(columns={name: "value"}).assign(variable=f"'{name}'")
        for name in ("age", "income")
    ]
    again = dp.concat([part[["sex", "variable", "value"]] for part in parts])
    mean = long.groupby("variable")["value"].mean(bounds=(0, 100), epsilon=1)
    same = again.groupby("variable")["value"].mean(bounds=(0, 100), epsilon=1)
    assert same.equals(mean)
    assert dp.ledger().spent == 2
    assert (p.melt("sex", ["age"])["value"].mean(epsilon=1)) == p["age"].mean(epsilon=1)


def test_columns_that_a_frame_lacks_hide_no_keys() -> None:
    p = private(clean())
    both = dp.concat([p[["sex", "age"]], p[["age"]]])
    assert both["sex"].value_counts(sort=False, epsilon=1).index.tolist() == ["f", "m"]
    other = dp.concat([p[["sex"]], p[["level"]].rename(columns={"level": "sex"})])
    assert set(other["sex"].value_counts(epsilon=1).index) == {"f", "m", "low", "mid", "high"}


def test_the_unit_is_never_melted() -> None:
    visits = pd.DataFrame({"who": [1, 1, 2], "a": [1, 2, 3], "b": [4, 5, 6]})
    p = dp.protect(visits, name="melted", unit="who", max_rows=2)
    assert list(p.melt().columns) == ["variable", "value"]
    assert dp.record(p.melt().count(epsilon=1)).scale == 4  # two columns, of two rows
    long = p.melt("who", ["a", "b"])
    assert dp.record(long.count(epsilon=1)).scale == 4
    assert dp.record(long["who"].nunique(epsilon=1)).scale == 1
    refusal(lambda: p.melt(var_name="who"), "is the unit", LineageError)


@pytest.mark.parametrize(("ask", "said"), [
    (lambda p: p.reset_index(), r"drop=True"),
    (lambda p: p.set_axis(["a"] * 3), r"axis=1"),
    (lambda p: p.set_axis(["a"], axis=1), r"1 names for 7 columns"),
    (lambda p: p.squeeze(0), r"columns"),
    (lambda p: p.reindex([1, 2]), r"reindex\(columns="),
    (lambda p: p.join(LEVELS), r'on="zip"'),
    (lambda p: p.join(TWICE, on="sex"), r"rsuffix"),
    (lambda p: p.join(pd.concat([LEVELS, LEVELS]), on="level"), r"unique|more than one|twice"),
    (lambda p: p.melt("age", []), r"no columns are left"),
    (lambda p: p.melt("age", ["sex"], value_name="age"), r"another name"),
    (lambda p: p.melt("age", ["sex"], "x", "x"), r"two names"),
    (lambda p: p.melt("nothing"), r"there is no column"),
    (lambda p: p.add_prefix("a", axis=0), r"axis="),
])  # fmt: skip
def test_what_has_no_meaning_for_private_rows_is_refused(ask: Any, said: str) -> None:
    refusal(lambda: ask(private(clean())), said)
