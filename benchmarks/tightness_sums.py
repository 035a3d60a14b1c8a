"""What tightness.py asks about counts, sums, means and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from tightness_truth import (
    BOUNDS,
    EACH,
    KEYS,
    LABELS,
    TABLE,
    XYZ,
    YEAR,
    Operation,
    by_label,
    clipped_share,
    owned,
    plainly,
    shortened,
    sizes,
    to,
)

import dppandas as dp

BY_YES: dict[str, Any] = {"keys": {"label": LABELS, "yes": [False, True]}}
PAIR: dict[str, Any] = {"bounds": {"x": (0, 10), "y": (0, 10)}}
WEIGHTS: dict[str, Any] = {"weights": "weight", "weight_bounds": (0.5, 3)}


def _cut(x: pd.Series[Any]) -> np.ndarray[Any, Any]:
    return np.histogram(x, 5, (0, 10))[0]


COUNTS: dict[str, Operation] = {
    "count": Operation(lambda p, by: p.count(**by), to(len)),
    "size": Operation(lambda p, by: p.size(**by), to(len)),
    "count of columns": Operation(
        lambda p, by: p[["x", "label"]].count(**by), to(lambda d: d[["x", "label"]].count())
    ),
    "sum of True": Operation(
        lambda p, by: p[["yes", "no"]].sum(**by), to(lambda d: d[["yes", "no"]].sum())
    ),
    "sum of few True": Operation(  # of a row one is True
        lambda p, by: p[["yes", "no"]].sum(at_most=1, **by), to(lambda d: d[["yes", "no"]].sum())
    ),
    "value_counts, keys": Operation(lambda p, by: p["label"].value_counts(**KEYS, **by), to(sizes)),
    "value_counts, shares": Operation(
        lambda p, by: p["label"].value_counts(**KEYS, normalize=True, **by),
        to(lambda d: d["label"].value_counts(normalize=True)),
    ),
    "unattributed_histogram": Operation(
        lambda p, by: p["label"].unattributed_histogram(**KEYS, **by),
        to(lambda d: sizes(d).sort_values(ascending=False).to_numpy()),
    ),
    "hist": Operation(
        lambda p, by: p["x"].hist(bins=5, range=(0, 10), **by), to(lambda d: _cut(d["x"]))
    ),
    "groupby size": Operation(lambda p, by: by_label(p).size(**by), to(sizes)),
    "groupby count": Operation(
        lambda p, by: by_label(p)[["x", "yes"]].count(**by),
        to(lambda d: d.groupby("label")[["x", "yes"]].count()),
    ),
    "groupby value_counts": Operation(
        lambda p, by: by_label(p)["yes"].value_counts(keys=[False, True], **by),
        to(lambda d: d.groupby("label")["yes"].value_counts()),
    ),
    "groupby hist": Operation(
        lambda p, by: by_label(p)["x"].hist(bins=5, range=(0, 10), **by),
        to(lambda d: np.concatenate([_cut(x) for _, x in d.groupby("label")["x"]])),
    ),
    "crosstab": Operation(
        lambda p, by: dp.crosstab(p["label"], p["yes"], **BY_YES, **by),
        to(lambda d: pd.crosstab(d["label"], d["yes"])),
    ),
    "crosstab, margins": Operation(
        lambda p, by: p.crosstab("label", "yes", **BY_YES, margins=True, **by),
        to(lambda d: pd.crosstab(d["label"], d["yes"], margins=True)), slow=2,
    ),
    "crosstab, shares": Operation(
        lambda p, by: p.crosstab("label", "yes", **BY_YES, normalize="index", **by),
        to(lambda d: pd.crosstab(d["label"], d["yes"], normalize="index")),
    ),
    "nunique, keys": Operation(
        lambda p, by: p["label"].nunique(**KEYS, **by), to(lambda d: d["label"].nunique())
    ),
    "groupby nunique, keys": Operation(
        lambda p, by: p.groupby("yes", keys=[False, True])["label"].nunique(**KEYS, **by),
        to(lambda d: d.groupby("yes")["label"].nunique()),
    ),
    "nunique": Operation(
        lambda p, by: p["label"].nunique(**by), to(lambda d: d["label"].nunique())
    ),
    "groupby nunique": Operation(
        lambda p, by: p.groupby("yes", keys=[False, True])["label"].nunique(**by),
        to(lambda d: d.groupby("yes")["label"].nunique()),
    ),
    "nunique of units": Operation(
        lambda p, by: p["owner"].nunique(**by), to(lambda d: d["owner"].nunique()), owned
    ),
    "nunique of units by group": Operation(
        lambda p, by: by_label(p)["owner"].nunique(**by),
        to(lambda d: d.groupby("label")["owner"].nunique()),
        owned,
    ),
    "clipping_shares": Operation(
        lambda p, by: p["x"].clipping_shares(bounds=(1, 3), **by),
        to(lambda d: [(d["x"] < 1).mean(), d["x"].between(1, 3).mean(), (d["x"] > 3).mean()]),
    ),
    "truncation_shares": Operation(
        lambda p, by: p.truncation_shares(**by),
        to(lambda d: _kept(d["owner"].value_counts())),
        shortened,
    ),
    "distance_to_property": Operation(
        lambda d, by: dp.distance_to_property(d, lambda rows: int(rows["yes"].sum()), **by),
        to(lambda d: d["yes"].sum()),
        plainly,
    ),
    "suggest_bounds": Operation(
        lambda p, by: p["x"].suggest_bounds(**by), clipped_share, is_pure=True
    ),
}  # fmt: skip


def _kept(each: pd.Series[Any]) -> list[float]:
    kept = float(each.clip(upper=EACH - 1).sum() / each.sum())
    return [kept, 1 - kept]


def _three(values: Any) -> pd.DataFrame:
    found: pd.DataFrame = values.agg(["count", "mean", "std"])
    return found


SUMS: dict[str, Operation] = {
    "sum": Operation(lambda p, by: p["x"].sum(**BOUNDS, **by), to(lambda d: d["x"].sum())),
    "three sums": Operation(lambda p, by: p[XYZ].sum(**TABLE, **by), to(lambda d: d[XYZ].sum())),
    "three sums within a norm": Operation(
        lambda p, by: p[XYZ].sum(**TABLE, norm=30, **by), to(lambda d: d[XYZ].sum())
    ),
    "groupby sum": Operation(
        lambda p, by: by_label(p)["x"].sum(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].sum()),
    ),
    "groupby sum within a norm": Operation(
        lambda p, by: by_label(p)[XYZ].sum(**TABLE, norm=("l2", 18), **by),
        to(lambda d: d.groupby("label")[XYZ].sum()),
    ),
    "weighted count": Operation(
        lambda p, by: p.count(**WEIGHTS, **by), to(lambda d: d["weight"].sum())
    ),
    "weighted sum": Operation(
        lambda p, by: p["x"].sum(**BOUNDS, weights=p["weight"], weight_bounds=(0.5, 3), **by),
        to(lambda d: (d["x"] * d["weight"]).sum()),
    ),
    "weighted mean": Operation(
        lambda p, by: p["x"].mean(**BOUNDS, weights=p["weight"], weight_bounds=(0.5, 3), **by),
        to(lambda d: np.average(d["x"], weights=d["weight"])),
    ),
    "two weighted means": Operation(
        lambda p, by: p[["x", "y", "weight"]].mean(**PAIR, **WEIGHTS, **by),
        to(lambda d: d[["x", "y"]].mul(d["weight"], axis=0).sum() / d["weight"].sum()),
    ),
    "groupby weighted mean": Operation(
        lambda p, by: by_label(p)["x"].mean(**BOUNDS, **WEIGHTS, **by),
        to(lambda d: (d["x"] * d["weight"]).groupby(d["label"]).sum()
           / d["weight"].groupby(d["label"]).sum()),
    ),
    "mean": Operation(lambda p, by: p["x"].mean(**BOUNDS, **by), to(lambda d: d["x"].mean())),
    "share": Operation(
        lambda p, by: p["yes"].mean(bounds=(0, 1), **by), to(lambda d: d["yes"].mean())
    ),
    "three means": Operation(lambda p, by: p[XYZ].mean(**TABLE, **by), to(lambda d: d[XYZ].mean())),
    "groupby mean": Operation(
        lambda p, by: by_label(p)["x"].mean(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].mean()),
    ),
    "pivot_table": Operation(
        lambda p, by: p.pivot_table("x", "label", "yes", **BY_YES, **BOUNDS, **by),
        to(lambda d: d.pivot_table("x", "label", "yes")),
    ),
    "mean of times": Operation(
        lambda p, by: p["when"].mean(bounds=YEAR, **by), to(lambda d: d["when"].mean())
    ),
    "var": Operation(lambda p, by: p["x"].var(**BOUNDS, **by), to(lambda d: d["x"].var())),
    "std": Operation(lambda p, by: p["x"].std(**BOUNDS, **by), to(lambda d: d["x"].std())),
    "three stds": Operation(lambda p, by: p[XYZ].std(**TABLE, **by), to(lambda d: d[XYZ].std())),
    "groupby var": Operation(
        lambda p, by: by_label(p)["x"].var(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].var()),
    ),
    "groupby std": Operation(
        lambda p, by: by_label(p)["x"].std(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].std()),
    ),
    "std of times": Operation(
        lambda p, by: p["when"].std(bounds=YEAR, **by), to(lambda d: d["when"].std())
    ),
    "describe: moments": Operation(
        lambda p, by: p[XYZ].describe(**TABLE, **by), to(lambda d: _three(d[XYZ])),
        part="count, mean, std", slow=4,
    ),
    "groupby describe: moments": Operation(
        lambda p, by: by_label(p)[["x"]].describe(**BOUNDS, **by),
        to(lambda d: _three(d.groupby("label")["x"]).stack().to_frame("x")),
        part="count, mean, std", slow=4,
    ),
}  # fmt: skip

PRODUCTS: dict[str, Operation] = {
    "cov": Operation(lambda p, by: p[XYZ].cov(**TABLE, **by), to(lambda d: d[XYZ].cov()), slow=4),
    "corr": Operation(
        lambda p, by: p[XYZ].corr(**TABLE, **by), to(lambda d: d[XYZ].corr()), slow=4
    ),
    "cov of complete rows": Operation(
        lambda p, by: p[XYZ].cov(**TABLE, dropna=True, **by), to(lambda d: d[XYZ].cov()), slow=4
    ),
    "corr of complete rows": Operation(
        lambda p, by: p[XYZ].corr(**TABLE, dropna=True, **by), to(lambda d: d[XYZ].corr()), slow=4
    ),
    "cov of a pair": Operation(
        lambda p, by: p["x"].cov(p["y"], **PAIR, **by), to(lambda d: d["x"].cov(d["y"])), slow=2
    ),
    "corr of a pair": Operation(
        lambda p, by: p["x"].corr(p["y"], **PAIR, **by), to(lambda d: d["x"].corr(d["y"])), slow=2
    ),
    "groupby cov": Operation(
        lambda p, by: by_label(p)[["x", "y"]].cov(**PAIR, **by),
        to(lambda d: d.groupby("label")[["x", "y"]].cov()), slow=8,
    ),
    "groupby corr of complete rows": Operation(
        lambda p, by: by_label(p)[["x", "y"]].corr(**PAIR, dropna=True, **by),
        to(lambda d: d.groupby("label")[["x", "y"]].corr()), slow=8,
    ),
}  # fmt: skip
