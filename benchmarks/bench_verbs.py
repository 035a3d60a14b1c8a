"""Row-wise verbs: a computed column, added up or counted, beside pandas' same line.

The private frame is asked for the second time: a source reads a column of texts into codes once,
which is a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bench_measure import Result, versus
from bench_tasks import EPSILON

import dppandas as dp

ROWS, TEXTS = 10**6, 10**4
TARGET = 2.0

Verb = Callable[[Any], Any]

#: Numbers, which are added up.
NUMBERS: dict[str, Verb] = {
    "x.add(y, fill_value=0)": lambda f: f["x"].add(f["y"], fill_value=0),
    "x.rsub(10)": lambda f: f["x"].rsub(10),
    "x.floordiv(3)": lambda f: f["x"].floordiv(3),
    "x.gt(y)": lambda f: f["x"].gt(f["y"]),
    "(f[[x, y]] / 2)": lambda f: (f[["x", "y"]] / 2)["x"],
    "f[[x, y]].where(f > 30)": lambda f: f[["x", "y"]].where(f[["x", "y"]] > 30, 0)["x"],
    "x.where(x > 30)": lambda f: f["x"].where(f["x"] > 30),
    "f[[x, y]].isna()": lambda f: f[["x", "y"]].isna()["x"],
    "f[[x, y]].clip(0, 60)": lambda f: f[["x", "y"]].clip(0, 60)["x"],
    "sum(axis=1)": lambda f: f[["x", "y", "z"]].sum(axis=1),
    "mean(axis=1)": lambda f: f[["x", "y", "z"]].mean(axis=1),
    "max(axis=1)": lambda f: f[["x", "y", "z"]].max(axis=1),
    "count(axis=1)": lambda f: f[["x", "y", "z"]].count(axis=1),
    "median(axis=1)": lambda f: f[["x", "y", "z"]].median(axis=1),
    "std(axis=1)": lambda f: f[["x", "y", "z"]].std(axis=1),
    "isna().any(axis=1)": lambda f: f[["x", "y", "z"]].isna().any(axis=1),
    "np.where": lambda f: np.where(f["x"] > 30, f["x"], f["y"]),
    "np.select": lambda f: np.select([f["x"] < 20, f["x"] < 40], [f["y"], 1.0], default=0.0),
    "np.minimum": lambda f: np.minimum(f["x"], f["y"]),
    "np.isnan": lambda f: np.isnan(f["x"]),
    "np.sign": lambda f: np.sign(f["x"]),
    "np.hypot": lambda f: np.hypot(f["x"], f["y"]),
    "np.sin": lambda f: np.sin(f["x"]),
    "case_when": lambda f: f["x"].case_when([(f["x"] < 0, 0.0), (f["x"] > 60, 60.0)]),
    "combine_first": lambda f: f["x"].combine_first(f["y"]),
    "map, 10^4 texts": lambda f: f["t"].map(LENGTHS),
    "str.len, 10^4 texts": lambda f: f["t"].str.len(),
    "str.rfind, 10^4 texts": lambda f: f["t"].str.rfind("1"),
    "isocalendar().week": lambda f: f["when"].dt.isocalendar()["week"],
}
#: Texts, lists and times, which are counted.
OTHERS: dict[str, Verb] = {
    "t + ' ' + u, 10^4 texts": lambda f: f["t"] + " " + f["u"],
    "str.cat, 10^4 texts": lambda f: f["t"].str.cat(f["u"], sep="-"),
    "str.upper, 10^4 texts": lambda f: f["t"].str.upper(),
    "str.split(expand=True)": lambda f: f["t"].str.split(" ", n=1, expand=True)[1],
    "str.partition": lambda f: f["t"].str.partition(" ")[2],
    "str.extract": lambda f: f["t"].str.extract(r"(?P<a>\w+) (?P<b>\d+)")["b"],
    "str.slice_replace": lambda f: f["t"].str.slice_replace(0, 2, "x"),
    "str.pad": lambda f: f["t"].str.pad(20),
    "str.contains(na=False)": lambda f: f["t"].str.contains("9", na=False),
    "t.where(x > 30), 10^4 texts": lambda f: f["t"].where(f["x"] > 30),
    "np.where of texts": lambda f: np.where(f["x"] > 30, "rich", "poor"),
    "cut with labels": lambda f: (pd if isinstance(f, pd.DataFrame) else dp).cut(
        f["x"], [-100, 0, 30, 200], labels=["s", "m", "l"]
    ),
    "tz_localize": lambda f: f["when"].dt.tz_localize("UTC"),
}
#: Masks, whose True are counted.
MASKS = {"x.gt(y)", "f[[x, y]].isna()", "isna().any(axis=1)", "np.isnan"}
LENGTHS = {f"text {i:05d}": i % 7 for i in range(TEXTS)}


def frame() -> pd.DataFrame:
    """Data, not noise: seeded, so that every run measures the same rows."""
    rng = np.random.default_rng(0)
    texts = np.array(list(LENGTHS), dtype=object)
    columns: dict[str, Any] = {c: rng.normal(30, 20, ROWS) for c in "xyz"}
    columns |= {c: pd.Series(texts.take(rng.integers(0, TEXTS, ROWS)), dtype="str") for c in "tu"}
    df = pd.DataFrame(columns)
    df["when"] = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(0, 8760, ROWS), "h")
    df.loc[::7, ["x", "y"]] = np.nan
    return df


def _added(f: Any, verb: Verb, **bounds: Any) -> Any:
    column = f.assign(v=verb)["v"]
    options = {} if isinstance(f, pd.DataFrame) else {**bounds, "epsilon": EPSILON}
    return column.sum(**options)


def _counted(f: Any, verb: Verb) -> Any:
    options = {} if isinstance(f, pd.DataFrame) else {"epsilon": EPSILON}
    return f.assign(v=verb)["v"].count(**options)


def on_verbs(only: str = "") -> Iterator[Result]:
    """``assign(v=…)["v"].sum(…)`` of a million rows."""
    df = frame()
    for how, verbs in ((_added, NUMBERS), (_counted, OTHERS)):
        for name, verb in verbs.items():
            if only not in name:
                continue
            held = df.filter([*"xyz", *({"t", "u", "when"} & set(_read(verb)))])
            bounds = {} if how is _counted or name in MASKS else {"bounds": (0, 60)}
            ours, theirs = partial(how, held.dp, verb, **bounds), partial(how, held, verb)
            yield versus(name, ours, theirs, TARGET)
    upper = OTHERS["str.upper, 10^4 texts"]
    first = partial(_first, _counted, df[["t"]], upper)
    yield versus("str.upper, first asked", first, partial(_counted, df[["t"]], upper), None)


def _first(how: Callable[[Any, Verb], Any], df: pd.DataFrame, verb: Verb) -> Any:
    return how(df.dp, verb)


def _read(verb: Verb) -> tuple[Any, ...]:
    return verb.__code__.co_consts
