"""What rows know of their units, beside pandas' same line: the column, and a whole answer with it.

A million rows of 200,000 units. A column is computed on a table that nothing is known of yet; an
answer is that of a frame protected for it, of which few rows of a unit are kept, or all. Ours is
processor time, all threads together, and so is theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bench_measure import Clock, Result, Work, in_turn

import dppandas as dp
from dppandas.engines.blocks import RowTable
from dppandas.engines.histories import UnitHistories
from dppandas.engines.readers import Columns

ROWS, UNITS = 10**6, 2 * 10**5
REPEATS = 7
#: Of pandas' time, for the column alone.
TARGET = 4.0
KEY = bytes(16)

Feature = Callable[[Any], Any]


def _of(name: str, how: str, **options: Any) -> Feature:
    return lambda rows: getattr(rows[name], how)(**options)


def _learned(name: str, func: str) -> Feature:
    return lambda rows: rows[name].transform(func)


#: By which column rows are sorted before: None for no order.
FEATURES: dict[str, tuple[str | None, Feature]] = {
    **{
        f"transform({how!r}) of {of}": (None, _learned(name, how))
        for how in ("sum", "mean", "max")
        for name, of in (("paid", "cents"), ("whole", "integers"))
    },
    "transform('sum') of normal draws": (None, _learned("real", "sum")),
    "transform('count')": (None, _learned("paid", "count")),
    "transform('size')": (None, lambda rows: rows["paid"].transform("size")),
    "transform('nunique')": (None, _learned("whole", "nunique")),
    "transform('first')": ("when", _learned("paid", "first")),
    "transform('last') of texts": ("when", _learned("text", "last")),
    "transform('max') of times": (None, _learned("when", "max")),
    "shift": ("when", _of("paid", "shift")),
    "diff": ("when", _of("paid", "diff")),
    "diff of times": ("when", _of("when", "diff")),
    "cumcount": ("when", lambda rows: rows.cumcount()),
    "cumsum": ("when", _of("paid", "cumsum")),
    "cummax": ("when", _of("paid", "cummax")),
    "shift, by month, with ties": ("month", _of("paid", "shift")),
    "rank of cents": (None, _of("paid", "rank")),
    "rank of integers": (None, _of("whole", "rank")),
}


def frame(rows: int = ROWS, units: int = UNITS) -> pd.DataFrame:
    """Data, not noise: seeded, so that every run measures the same rows."""
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 365 * 86_400, rows)
    return pd.DataFrame({
        "who": rng.integers(0, units, rows),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(seconds, "s"),
        "month": seconds // (30 * 86_400),
        "paid": np.round(rng.exponential(50, rows), 2),
        "real": rng.normal(30, 20, rows),
        "whole": rng.integers(0, 1000, rows),
        "text": pd.Categorical.from_codes(rng.integers(0, 50, rows), [f"c{i}" for i in range(50)]),
    })  # fmt: skip


def _rows(table: Any, by: str | None) -> Any:
    ordered = table if by is None else table.sort_values(by)
    return ordered.groupby("who")


def column(df: pd.DataFrame, by: str | None, feature: Feature) -> Any:
    """A feature of all rows, of a table that is read for the first time."""
    expression = feature(_rows(dp.private(df, unit="who", max_rows=1), by))._expression
    return partial(_computed, df, expression)


def _computed(df: pd.DataFrame, expression: Any) -> Any:
    columns = Columns(df)
    table = RowTable(columns, KEY, histories=UnitHistories(columns, KEY))
    return expression.vector(table.block(0, len(table)))


def answer(df: pd.DataFrame, max_rows: int) -> Any:
    """A bounded sum of what each row knows."""
    p = dp.private(df, unit="who", max_rows=max_rows)
    return p.groupby("who")["paid"].transform("sum").sum(bounds=(0, 1000), epsilon=1)


def _processor(work: Work) -> float:
    dp.reset()
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def on_histories(only: str = "", rows: int = ROWS, repeats: int = REPEATS) -> Iterator[Result]:
    """Each feature, then whole answers."""
    df = frame(rows, rows * UNITS // ROWS)

    def versus(name: str, ours: Work, theirs: Work, target: float | None) -> Result:
        clocks: list[Clock] = [partial(_processor, work) for work in (ours, theirs)]
        return Result(name, *in_turn(clocks, repeats), target)

    for name, (by, feature) in FEATURES.items():
        if only in name:
            theirs = partial(lambda f, by: f(_rows(df, by)), feature, by)
            yield versus(name, column(df, by, feature), theirs, TARGET)
    for most in (1, 100):
        if only in (name := f"answer from transform('sum'), max_rows={most}"):
            yield versus(
                name,
                partial(answer, df, most),
                lambda: df.groupby("who")["paid"].transform("sum").clip(0, 1000).sum(),
                None,
            )


if __name__ == "__main__":
    import sys

    for found in on_histories("".join(sys.argv[1:2])):
        print(" | ".join(found.cells()), flush=True)
