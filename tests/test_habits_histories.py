"""Habits of rows that one person has: the same line on a plain frame and on a private one.

No unit here has more than max_rows rows, so that truncation drops none and both must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import cells, plain_cells, same

import dppandas as dp
from dppandas.frames.frame import PrivateFrame
from dppandas.frames.series import PrivateSeries

Line = Callable[[Any], Any]
DAYS = pd.date_range("2024-01-01", "2024-03-31")
#: Public facts about the columns of both frames.
DOMAIN = {
    "paid": (0.0, 100.0), "place": ["shop", "web", "phone"], "when": ("2024-01-01", "2024-03-31"),
    "day": range(91),
}  # fmt: skip


def clean() -> pd.DataFrame:
    """Visits of 20 people: no two of one person begin at the same time."""
    draw = np.random.default_rng(7)  # of data, not of noise
    n = 100
    hours = draw.permutation(24 * 60)[:n] + np.where(draw.random(n) < 0.5, 0, 24 * 30)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h")
    return pd.DataFrame({
        "who": draw.integers(0, 20, n), "when": when, "day": (hours // 24).astype(np.int64),
        "place": draw.choice(["shop", "web", "phone"], n), "paid": draw.integers(1, 400, n) / 4,
        "member": draw.random(n) < 0.4,
    }).drop_duplicates(["who", "when"], ignore_index=True)  # fmt: skip


def ugly() -> pd.DataFrame:
    """The same, as it comes: values missing, nullable and Arrow's dtypes. No label of a row is
    there twice, for pandas finds rows by theirs."""
    f = clean()
    f["paid"] = f["paid"].astype("Float64").mask(f.index % 7 == 0)
    f["place"] = f["place"].astype("string[pyarrow]").mask(f.index % 11 == 0)
    f["member"] = f["member"].astype("boolean")
    f["who"] = f["who"].map(lambda who: f"person {who}")
    return f.set_axis(pd.Index(np.arange(len(f)) * 2), axis=0)


FRAMES: dict[str, Callable[[], pd.DataFrame]] = {"clean": clean, "ugly": ugly}


def private(df: pd.DataFrame) -> PrivateFrame:
    """A frame of which `DOMAIN` is known, and in which each row counts."""
    return dp.protect(df, name="habits of people", unit="who", max_rows=20, domain=DOMAIN)


def agree(line: Line, df: pd.DataFrame, plainly: Line | None = None, rtol: float = 0.0) -> None:
    """A line gives the same on a plain frame and on a private one, or this test fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = line(private(df))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas' own, of what will change in a later version
        wanted = (plainly or line)(df)
    if isinstance(asked, PrivateSeries):
        assert isinstance(wanted, pd.Series)
        assert asked.name == wanted.name
        expression, where = asked._expression, asked._where
        asked = PrivateFrame(asked._table, {"cells": expression}, where)
        wanted = wanted.to_frame("cells")
    if isinstance(asked, PrivateFrame):
        names = [name for name in asked.columns if name in wanted.columns]
        assert names == list(wanted.columns)
        if asked._table.summary is None:  # rows of the source, in its order
            assert cells(asked[names]) == plain_cells(wanted.sort_index())
        else:
            assert sorted(cells(asked[names]), key=repr) == sorted(plain_cells(wanted), key=repr)
        return
    same(asked, wanted, rtol)
