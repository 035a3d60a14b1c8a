"""Habits of groups one by one: loops over a groupby, and single groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from habits import FRAMES, agree, clean, private
from refusals import refusal

import dppandas as dp
from dppandas.errors import PrivateValueError, UnsupportedVerb

Line = Callable[[Any], Any]
GROUPS: dict[str, Line] = {
    "one": lambda f: f.groupby("city").get_group("Oslo"),
    "of a list": lambda f: f.groupby(["city"]).get_group(("Oslo",)),
    "of two": lambda f: f.groupby(["city", "sex"]).get_group(("Rome", "f")),
    "of a mask": lambda f: f.groupby(f["income"] > 40).get_group(True),
    "of a month": lambda f: f.groupby(f["when"].dt.month).get_group(2),
    "a column": lambda f: f.groupby("city")["age"].get_group("Oslo"),
    "some columns": lambda f: f.groupby("city")[["age", "income"]].get_group("Oslo"),
    "of rows": lambda f: f[f["income"] > 40].groupby("city").get_group("Oslo"),
    "of a column": lambda f: f["age"].groupby(f["city"]).get_group("Oslo"),
    "in a loop": lambda f: next(rows for name, rows in f.groupby("city") if name == "Oslo"),
    "in a dict": lambda f: {name: rows for name, rows in f.groupby(["city"])}[("Oslo",)],  # noqa: C416
    "in a dict of columns": lambda f: dict(list(f.groupby("city")["age"]))["Oslo"],
    "of two, in a dict": lambda f: dict(list(f.groupby(["city", "sex"])))[("Rome", "f")],
}
#: Verified, or asserted by pandas' own methods.
LINEAGE: dict[str, Callable[[pd.DataFrame], Any]] = {
    "verified": private,
    "asserted": lambda df: dp.private(df, unit="row").declare(
        city=["Rome", "Oslo", "Bonn"], sex=["f", "m"]),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", GROUPS)
def test_groups_are_those_of_pandas(line: str, frame: str) -> None:
    agree(GROUPS[line], FRAMES[frame]())


@pytest.mark.parametrize("lineage", LINEAGE)
def test_names_are_those_of_pandas(lineage: str) -> None:
    df = clean()
    p = LINEAGE[lineage](df)
    for by in ("city", ["city"], ["city", "sex"], pd.Index(["city"])):
        names = [name for name, _ in df.groupby(list(by) if isinstance(by, pd.Index) else by)]
        assert [name for name, _ in p.groupby(by, sort=True)] == names
        assert len(p.groupby(by)) == len(names)
    assert [name for name, _ in p.groupby("city")] == ["Rome", "Oslo", "Bonn"]
    assert [name for name, _ in p.groupby("city")["age"]] == ["Rome", "Oslo", "Bonn"]


def test_a_group_is_a_mask() -> None:
    """The same question has the same key."""
    p = private(clean())
    p[p["city"] == "Oslo"].count(epsilon=1)
    p.groupby("city").get_group("Oslo").count(epsilon=1)
    assert dp.ledger().spent == 1


def test_groups_of_verified_frames_are_parts() -> None:
    """They compose in parallel, and are those of `partition`."""
    p = private(clean())
    for _, rows in p.groupby("city"):
        rows["age"].mean(epsilon=0.5)
    for rows in p.partition("city").values():
        rows["age"].mean(epsilon=0.5)
    for _, ages in p.groupby("city")["age"]:
        ages.mean(epsilon=0.5)
    assert dp.ledger().spent == 0.5
    for _, rows in p.resample("MS", on="when", range=("2024-01", "2024-03")):
        rows.count(epsilon=0.25)
    assert dp.ledger().spent == 0.75


def test_groups_of_asserted_frames_add_up() -> None:
    p = LINEAGE["asserted"](clean())
    for _, rows in p.groupby("city"):
        rows.count(epsilon=0.5)
    assert dp.ledger().spent == 1.5


def test_what_is_not_declared_is_refused() -> None:
    p = private(clean())
    said = refusal(lambda: p.groupby("city").get_group("Paris"), "isn't among the declared keys")
    assert "Rome, Oslo, Bonn" in said
    for name in (["Oslo"], ("Oslo", "f"), None, pd.NaT, {}):
        refusal(lambda name=name: p.groupby("city").get_group(name), "isn't among the declared")
    dp.reset()
    dp.session(epsilon=1, delta="1e-5")
    found = dp.protect(clean(), name="found").groupby("level", delta="1e-6")
    for ask in (list, len, iter, dict, lambda groups: groups.get_group("low")):
        with pytest.raises((UnsupportedVerb, dp.errors.QueryError)):
            ask(found)


def test_other_private_objects_have_no_loops() -> None:
    p = private(clean())
    for each in (p["age"], p["age"] > 3, p["city"].str, p["when"].dt, p["age"].mean()):
        for ask in (list, iter, len, tuple, sorted, lambda each: [*each]):
            with pytest.raises((PrivateValueError, TypeError)):
                ask(each)
    with pytest.raises(PrivateValueError):
        len(p)
    assert list(p) == list(p.columns)  # names are public
    with pytest.raises(PrivateValueError):
        bool(p.groupby("city"))
    with pytest.raises(PrivateValueError):
        "Rome" in p.groupby("city")  # noqa: B015
