"""Answers from many rows, beside plain pandas on a frame of just the columns that a query names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bench_measure import Result, Work, alone, versus
from bench_tasks import EPSILON

import dppandas as dp

CATEGORIES = [f"category {i:02d}" for i in range(50)]
NUMBERS = list(range(10_000))
MANY_GROUPS = 100_000


def table(rows: int) -> pd.DataFrame:
    """Data, not noise: seeded, so that every run measures the same rows."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(CATEGORIES), rows)
    text = np.array(CATEGORIES, dtype=object).take(codes)
    df = pd.DataFrame(
        {"x": rng.normal(30, 20, rows), "k": rng.integers(0, len(NUMBERS), rows)},
    )
    df["c"] = pd.Categorical.from_codes(codes, categories=CATEGORIES)
    df["python"] = pd.Series(text, dtype=pd.StringDtype("python"))
    df["arrow"] = pd.Series(text, dtype=pd.StringDtype("pyarrow"))
    df["object"] = pd.Series(text, dtype=object)
    return df


def on_rows(df: pd.DataFrame) -> Iterator[Result]:
    """Answers from many rows."""
    x, xk, xc = df[["x"]], df[["x", "k"]], df[["x", "c"]]
    condition = "x > 40 and k < 5000"
    yield versus(
        "bounded mean",
        lambda: x.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: x["x"].mean(),
        1.2,
    )
    yield versus(
        "filtered count",
        lambda: xk.dp.query(condition).count(epsilon=EPSILON),
        lambda: len(xk.query(condition)),
        0.5,
    )
    for name, column, keys, target in (
        ("value_counts, 50 categories", "c", CATEGORIES, 1.3),
        ("value_counts, 10,000 integer keys", "k", NUMBERS, 0.5),
        ("value_counts, 50 python-backed strings", "python", CATEGORIES, 1.1),
        ("value_counts, 50 Arrow-backed strings", "arrow", CATEGORIES, 1.1),
        ("value_counts, 50 strings as objects", "object", CATEGORIES, None),
    ):
        frame = df[[column]]
        yield versus(name, _value_counts(frame, column, keys), frame[column].value_counts, target)
    yield versus(
        "groupby mean, 50 categories",
        lambda: xc.dp.groupby("c", keys=CATEGORIES)["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: xc.groupby("c", observed=True)["x"].mean(),
        0.35,
    )
    yield versus(
        "median",
        lambda: x.dp["x"].median(bounds=(0, 60), epsilon=1),
        lambda: x["x"].median(),
        1.5,
    )
    groups = df[["x"]].head(10**6).assign(g=np.arange(len(df))[: 10**6] % MANY_GROUPS)
    yield alone(
        "median of 100,000 groups of 10^6 rows",
        lambda: groups.dp.groupby("g", keys=range(MANY_GROUPS))["x"].median(
            bounds=(0, 60), epsilon=1
        ),
        1000,
        repeats=3,
    )
    crossed = df[["c"]].assign(ten=df["k"] % 10)
    keys = {"c": CATEGORIES, "ten": list(range(10))}
    yield versus(
        "crosstab, 50 × 10 cells",
        lambda: crossed.dp.crosstab("c", "ten", keys=keys, epsilon=EPSILON),
        lambda: pd.crosstab(crossed["c"], crossed["ten"]),
        1.3,
        repeats=3,
    )
    wide = x.assign(**{f"other{i}": np.zeros(len(df), dtype=np.int8) for i in range(20)})
    yield versus(
        "bounded mean: 20 more columns / none",
        lambda: wide.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        lambda: x.dp["x"].mean(bounds=(0, 60), epsilon=EPSILON),
        1.2,  # room for the weather: if all were read, the ratio would be above 2
        repeats=25,
    )


def _value_counts(frame: pd.DataFrame, column: str, keys: list[Any]) -> Work:
    return lambda: frame.dp[column].value_counts(keys=keys, epsilon=EPSILON)


# --- protect ------------------------------------------------------------------------------------

#: What `protect` of the table below took beside `factorize` of its columns, when each text was
#: hashed as often as it came: at most a fifth of that is the target.
ONCE_A_CELL = 80.0


def on_protect() -> Iterator[Result]:
    """A million rows with a text column of 50 kinds; a table of the size and columns of flights."""
    rng = np.random.default_rng(0)
    text = np.array(CATEGORIES, dtype=object).take(rng.integers(0, 50, 10**6))
    for dtype in ("object", "str"):
        column = pd.Series(text, name="c").astype(dtype)
        yield versus(
            f"protect of 10^6 texts of 50 kinds ({dtype}) / factorize",
            partial(_protect, column.to_frame()),
            partial(pd.factorize, column),
            6,
        )
    flights = _flights(rng, 336_776)
    yield versus(
        "protect of 336,776 × 19 / factorize of each column",
        partial(_protect, flights),
        lambda: [pd.factorize(flights[name]) for name in flights],
        ONCE_A_CELL / 5,
        repeats=3,
    )


def _protect(frame: pd.DataFrame) -> None:
    dp.reset()
    dp.protect(frame, name="bench")
    frame.attrs.clear()


def _flights(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Nineteen columns as flights has them: whole numbers, reals with holes, texts and times."""

    def texts(kinds: int) -> Any:
        names = np.array([f"N{i:05d}" for i in range(kinds)], dtype=object)
        return names.take(rng.integers(0, kinds, rows))

    columns: dict[str, Any] = {f"i{i}": rng.integers(0, 2400, rows) for i in range(6)}
    for i in range(8):
        columns[f"f{i}"] = np.where(rng.random(rows) < 0.03, np.nan, rng.integers(0, 1500, rows))
    columns |= {f"t{kinds}": texts(kinds) for kinds in (3, 16, 105, 4044)}
    hours = pd.to_timedelta(rng.integers(0, 8760, rows), unit="h")
    return pd.DataFrame({**columns, "when": pd.Timestamp("2013-01-01") + hours})
