"""What tightness.py asks of private rows: a line for each operation that states an error.

Those of statistics are in their records, in tests/operations.py; here are the others.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import dppandas as dp
from dppandas import local

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from operations import RECORDS as RECORDS
from operations import TIGHT
from tightness_truth import BOUNDS, KEYS, Line, named, plainly, sizes, to


def half(by: dict[str, Any]) -> dict[str, Any]:
    return {name: value / 2 for name, value in by.items()}


def better(p: Any, by: dict[str, Any]) -> Any:
    """A mean that is refined until its error is halved."""
    mean = p["x"].mean(**BOUNDS, **half(by))
    return dp.record(mean).refine(until=mean.error() / 2, looks=3)


JOINED: dict[str, Line] = {
    "combine": Line(
        lambda p, by: dp.combine(p.count(**half(by)), p.count(**half(by), fresh=True)),
        to(len), named, slow=4,
    ),
    "refine until": Line(
        better, to(lambda d: d["x"].mean()), named, slow=16,
    ),
}  # fmt: skip

LOCAL: dict[str, Line] = {
    "one coin": Line(
        lambda d, by: local.randomized_response(d["yes"], **by).mean(),
        to(lambda d: d["yes"].mean()), plainly, slow=4, is_pure=True,
    ),
    "k-ary": Line(
        lambda d, by: local.randomized_response(d["label"], **KEYS, design="k-ary", **by)
        .value_counts(),
        to(sizes), plainly, slow=8, is_pure=True,
    ),
    "OUE": Line(
        lambda d, by: local.randomized_response(d["label"], **KEYS, design="OUE", **by)
        .value_counts(),
        to(sizes), plainly, slow=8, is_pure=True,
    ),
    "simulate_shared_sum": Line(
        lambda d, by: local.simulate_shared_sum(d["x"], **BOUNDS, **by),
        lambda told, d: np.array([abs(told.value - d["x"].sum())]),
        plainly, slow=8, is_pure=True,
    ),
}  # fmt: skip

LINES: dict[str, Line] = {**TIGHT, **JOINED, **LOCAL}

#: What is public and releases something, and has neither a line nor a record: why not.
WITHOUT: dict[str, str] = {
    "release": "what an answer above waits for",
    "aggregate": "another name of agg",
    "nlargest": "of columns an Index, which has no record; of counts those of value_counts",
    "make_consistent": "post-processing; intervals of whole numbers are those of the tables",
    "synthesize": "rows, of which no error is promised",
    **dict.fromkeys(
        [
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "GaussianNB",
            "KMeans",
            "LinearRegression",
            "LogisticRegression",
            "PCA",
            "Perceptron",
            "TheilSenRegressor",
        ],
        "a model tells no error; its releases are among these",
    ),
    "posterior": "a law of parameters, whose counts are those of value_counts, or a draw",
    "roc_curve": "a crosstab; its intervals are computed of that: test_scoring.py",
    **dict.fromkeys(["session", "batch", "split"], "shares out a loss among releases"),
    **dict.fromkeys(
        ["expected_error", "privacy_loss", "compare", "respondents"], "public facts, no answer"
    ),
    "collected": "estimates as of randomized_response",
}
