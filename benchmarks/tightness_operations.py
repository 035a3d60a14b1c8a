"""What tightness.py asks of private rows: a line for each operation that states an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from tightness_sums import COUNTS, PAIR, PRODUCTS, SUMS
from tightness_truth import (
    BOUNDS,
    KEYS,
    LABELS,
    TABLE,
    XYZ,
    Off,
    Operation,
    below_the_best,
    by_label,
    named,
    plainly,
    ranks,
    ranks_of_columns,
    ranks_of_groups,
    sizes,
    to,
)

import dppandas as dp
from dppandas import local

NINE = [i / 10 for i in range(1, 10)]
QUARTILES = (0.25, 0.5, 0.75)
FOUND = {"delta": 1e-6}


def half(by: dict[str, Any]) -> dict[str, Any]:
    return {name: value / 2 for name, value in by.items()}


def _found(p: Any) -> Any:
    return p.groupby("label", **FOUND)


RANKS: dict[str, Operation] = {
    "median": Operation(lambda p, by: p["x"].median(**BOUNDS, **by), ranks(0.5), slow=2),
    "three quartiles": Operation(
        lambda p, by: p["x"].quantile([*QUARTILES], **BOUNDS, **by), ranks(*QUARTILES), slow=2
    ),
    "nine deciles": Operation(
        lambda p, by: p["x"].quantile(NINE, **BOUNDS, **by), ranks(*NINE), slow=4
    ),
    "min": Operation(lambda p, by: p["x"].min(**BOUNDS, **by), ranks(0.0), slow=2),
    "max": Operation(lambda p, by: p["x"].max(**BOUNDS, **by), ranks(1.0), slow=2),
    "three medians": Operation(
        lambda p, by: p[XYZ].median(**TABLE, **by), ranks_of_columns(0.5), slow=4
    ),
    "groupby median": Operation(
        lambda p, by: by_label(p)["x"].median(**BOUNDS, **by), ranks_of_groups(0.5), slow=4
    ),
    "groupby quantile": Operation(
        lambda p, by: by_label(p)["x"].quantile([*QUARTILES], **BOUNDS, **by),
        ranks_of_groups(*QUARTILES), slow=4,
    ),
    "describe: quantiles": Operation(
        lambda p, by: p["x"].describe(**BOUNDS, **by), ranks(0.0, *QUARTILES, 1.0),
        part="min, 25%, 50%, 75%, max", slow=4,
    ),
    "agg: median beside a count": Operation(
        lambda p, by: p["x"].agg(["count", "median"], **BOUNDS, **by), ranks(0.5),
        part="median", slow=4,
    ),
}  # fmt: skip


#: What is taken off the scores of three tables, which would be equal.
OFFSETS = [0, 2, 4]


def _misfits(d: pd.DataFrame) -> pd.Series[Any]:
    return pd.Series([float(len(d) - less) for less in OFFSETS])


def _nothing() -> list[pd.Series[Any]]:
    """Public tables that expect no rows."""
    return [pd.Series(0, index=pd.Index(LABELS, name="even"))] * len(OFFSETS)


def _evens(d: pd.DataFrame) -> pd.Series[Any]:
    return d["even"].value_counts()


def _score(rows: pd.DataFrame, label: str) -> int:
    return int((rows["even"] == label).sum())


def _sums(*columns: str) -> Off:
    return below_the_best(lambda d: d[[*columns]].sum())


SELECTED: dict[str, Operation] = {
    "idxmax of counts": Operation(
        lambda p, by: p["even"].value_counts(**KEYS).idxmax(**by), below_the_best(_evens)
    ),
    "mode": Operation(lambda p, by: p["even"].mode(**KEYS, **by), below_the_best(_evens)),
    "idxmax of columns": Operation(
        lambda p, by: p[["early", "late"]].idxmax(**by), _sums("early", "late")
    ),
    "idxmax of sums": Operation(
        lambda p, by: p[["x", "y"]].idxmax(**PAIR, **by), _sums("x", "y")
    ),
    "select": Operation(
        lambda d, by: dp.select(d, LABELS, score=_score, sensitivity=1, monotone=True, **by),
        below_the_best(_evens), plainly,
    ),
    "worst_fit": Operation(
        lambda p, by: dp.models.synthetic.worst_fit(p, _nothing(), offsets=OFFSETS, **by),
        below_the_best(_misfits)
    ),
}  # fmt: skip

LABELLED: dict[str, Operation] = {
    "value_counts, δ": Operation(
        lambda p, by: p["label"].value_counts(**FOUND, **by), to(sizes), is_pure=True, each=True
    ),
    "groupby size, δ": Operation(
        lambda p, by: _found(p).size(**by), to(sizes), is_pure=True, each=True
    ),
    "groupby count, δ": Operation(
        lambda p, by: _found(p)["x"].count(**by), to(sizes), is_pure=True, each=True
    ),
    "groupby sum, δ": Operation(
        lambda p, by: _found(p)["x"].sum(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].sum()), is_pure=True, each=True,
    ),
    "groupby mean, δ": Operation(
        lambda p, by: _found(p)["x"].mean(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].mean()), is_pure=True, each=True,
    ),
    "groupby std, δ": Operation(
        lambda p, by: _found(p)["x"].std(**BOUNDS, **by),
        to(lambda d: d.groupby("label")["x"].std()), is_pure=True, each=True,
    ),
}  # fmt: skip

JOINED: dict[str, Operation] = {
    "combine": Operation(
        lambda p, by: dp.combine(p.count(**half(by)), p.count(**half(by), fresh=True)),
        to(len), named, slow=4,
    ),
    "refine until": Operation(
        lambda p, by: dp.record(p["x"].mean(**BOUNDS, **half(by))).refine(until=0.02, looks=3),
        to(lambda d: d["x"].mean()), named, slow=16,
    ),
}  # fmt: skip

LOCAL: dict[str, Operation] = {
    "one coin": Operation(
        lambda d, by: local.randomized_response(d["yes"], **by).mean(),
        to(lambda d: d["yes"].mean()), plainly, slow=4, is_pure=True,
    ),
    "k-ary": Operation(
        lambda d, by: local.randomized_response(d["label"], **KEYS, design="k-ary", **by)
        .value_counts(),
        to(sizes), plainly, slow=8, is_pure=True,
    ),
    "OUE": Operation(
        lambda d, by: local.randomized_response(d["label"], **KEYS, design="OUE", **by)
        .value_counts(),
        to(sizes), plainly, slow=8, is_pure=True,
    ),
    "simulate_shared_sum": Operation(
        lambda d, by: local.simulate_shared_sum(d["x"], **BOUNDS, **by),
        lambda told, d: np.array([abs(told.value - d["x"].sum())]),
        plainly, slow=8, is_pure=True,
    ),
}  # fmt: skip

OPERATIONS: dict[str, Operation] = {
    **COUNTS, **SUMS, **PRODUCTS, **RANKS, **SELECTED, **LABELLED, **JOINED, **LOCAL
}  # fmt: skip

#: What is public and releases something, and has no line: why not.
WITHOUT: dict[str, str] = {
    "release": "what an answer above waits for",
    "aggregate": "another name of agg",
    "nlargest": "of columns an Index, which has no record; of counts those of value_counts",
    "unique": "labels alone, which are off by nothing that could be measured",
    "trimmed_mean": "experimental: how wide its noise is depends on the rows, and isn't told",
    "propose_test_release": "exact, or not told",
    "make_consistent": "post-processing, of which no interval is known",
    "synthesize": "rows, of which no error is promised",
    **dict.fromkeys(
        ["KMeans", "LinearRegression", "LogisticRegression", "PCA", "Perceptron"],
        "a model tells no error; its releases are among these",
    ),
    **dict.fromkeys(["session", "batch", "split"], "shares out a loss among releases"),
    **dict.fromkeys(["expected_error", "privacy_loss", "compare"], "public facts, and no answer"),
    "collected": "estimates as of randomized_response",
}
