"""Habits of apply, map and transform: functions of the caller, called once with private values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from habits import FRAMES, agree, clean, private

import dppandas as dp
from dppandas.errors import DPError

#: Lines that mean the same on both frames.
LINES: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda f: f["income"].apply(lambda x: x * 2 + 1),
    "a power": lambda f: f["income"].apply(lambda x: (x - 3) ** 2),
    "an argument": lambda f: f["income"].apply(lambda x, y, z: x * y + z, args=(2,), z=3),
    "map": lambda f: f["income"].map(lambda x: x / 4),
    "a function of numpy": lambda f: f["income"].apply(np.sqrt),
    "np.where": lambda f: f["income"].apply(lambda x: np.where(x > 40, 1.0, 0.0)).astype(float),
    "absolute": lambda f: f["income"].apply(lambda x: abs(x - 50)),
    "rounded": lambda f: f["income"].apply(lambda x: round(x / 3, 1)),
    "a row": lambda f: f.apply(lambda row: row["income"] * 2 - row["income"], axis=1),
    "a row's fields": lambda f: f.apply(lambda r: r.income / 2, axis="columns"),
    "each column": lambda f: f[["income"]].apply(lambda c: c.fillna(0) * 2),
    "map a frame": lambda f: f[["income"]].map(lambda x: x * 2 - 1),
    "map a frame, ignoring": lambda f: f[["income"]].map(np.sqrt, na_action="ignore"),
    "map to masks": lambda f: f[["income"]].map(lambda x: x > 40).sum(),
    "transform": lambda f: f["income"].transform(lambda c: c.clip(10, 60)),
    "transform a frame": lambda f: f[["income"]].transform(np.sqrt),
    "days": lambda f: f["when"].dropna().apply(lambda t: t.day),
    "weekdays": lambda f: f["when"].dropna().map(lambda t: t.day_name()),
    "counted": lambda f: f["income"].apply(lambda x: x > 40).sum(),
}  # fmt: skip
#: Lines of texts, where none is missing: pandas' functions would fail on a missing one.
TEXTS: dict[str, Callable[[Any], Any]] = {
    "upper": lambda f: f["level"].apply(lambda t: t.upper()),
    "str.upper": lambda f: f["level"].map(str.upper),
    "lengths": lambda f: f["level"].apply(len),
    "replaced": lambda f: f["level"].apply(lambda t: t.replace("i", "y")),
    "a test": lambda f: f["level"].apply(lambda t: t.startswith("l")),
    "a character": lambda f: f["level"].apply(lambda t: t[0]),
    "a slice": lambda f: f["level"].apply(lambda t: t.title()[:2]),
    "joined": lambda f: f["level"].apply(lambda t: t + "!"),
    "compared": lambda f: f["level"].apply(lambda t: t == "low"),
    "of a row": lambda f: f.apply(lambda row: row["level"].upper() + "-", axis=1),
}  # fmt: skip


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    df = FRAMES[frame]()
    agree(LINES[line], df.assign(income=df["income"].astype(float)))


@pytest.mark.parametrize("line", TEXTS)
def test_texts_as_pandas(line: str) -> None:
    agree(TEXTS[line], clean())


def test_one_key_however_it_is_spelled() -> None:
    p = private(clean())
    for each in (
        p["income"].apply(lambda x: x * 2), p["income"].map(lambda x: x * 2), p["income"] * 2,
        p["income"].transform(lambda c: c * 2), p.apply(lambda r: r["income"] * 2, axis=1),
    ):  # fmt: skip
        each.mean(bounds=(0, 9), epsilon=1)
    assert dp.ledger().spent == 1


SEEN: list[Any] = []


def _kept(x: Any) -> Any:
    SEEN.append(x)
    return x


@pytest.mark.parametrize(("line", "says"), [
    (lambda p: p["age"].apply(lambda x: "old" if x > 60 else "young"), r"np\.where\(x > 3"),
    (lambda p: p["age"].apply(lambda x: max(x, 0)), r"called once.*np\.where"),
    (lambda p: p["age"].apply(lambda x: 1), "must make private values.* made a int"),
    (lambda p: p["age"].apply(str), "made a str"),
    (lambda p: p["age"].apply(lambda x: f"{x}"), "made a str"),
    (lambda p: p["age"].apply(float), r"float\(\) of a private value"),
    (lambda p: p["age"].apply(lambda x: {1: 2}[x]), "failed: "),
    (lambda p: p["age"].apply(lambda x: x.mean()), "'mean' of a value isn't offered"),
    (lambda p: p["city"].apply(lambda x: x.count("o")), "'count' of a value isn't offered"),
    (lambda p: p["age"].transform(lambda c: c - c.mean()), "released"),
    (lambda p: p["age"].transform(lambda c: c.mean(bounds=(0, 1))), "made a Unreleased"),
    (lambda p: p["age"].transform(lambda c: c.cumsum()), "other rows"),
    (lambda p: p[["age"]].apply(lambda c: c.sum()), "made a Unreleased"),
    (lambda p: p[["age"]].apply(np.mean), "look at all rows"),
    (lambda p: p.apply(lambda row: row[["age", "income"]], axis=1), r"sum\(axis=1\)"),
    (lambda p: p.apply(lambda row: row["agee"], axis=1), "isn't one of the columns"),
    (lambda p: p.apply(lambda row: len(row), axis=1), "called once"),
    (lambda p: p["age"].apply(lambda x: p["income"][p["age"] > 3]), "different rows"),
    (lambda p: p["age"].apply("mean"), "takes a function"),
    (lambda p: p.groupby("city").apply(lambda g: g), "look at all rows of a group"),
    (lambda p: p.groupby("city")["age"].transform("mean"), "depend on other rows"),
])  # fmt: skip
def test_what_cannot_be_is_refused(line: Any, says: str) -> None:
    with pytest.raises(DPError, match=says):
        line(private(clean()))
    assert dp.ledger().spent == 0


def test_a_function_sees_no_value() -> None:
    SEEN.clear()
    private(clean())["age"].apply(_kept)
    (seen,) = SEEN
    for look in (bool, len, list, float, int, np.asarray, lambda x: x.to_list(), lambda x: x._x):
        with pytest.raises((DPError, TypeError, AttributeError)):
            look(seen)
    assert repr(seen) == str(seen) == "<each value of age>"
