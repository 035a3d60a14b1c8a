"""Peak memory of a release, beyond the frame: each is measured in a fresh process, which
``python benchmarks/bench_memory.py RELEASE`` is too: it prints megabytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from bench_measure import Result  # noqa: E402
from bench_turns import peak  # noqa: E402

import dppandas as dp  # noqa: E402

CATEGORIES = [f"category {i:02d}" for i in range(50)]
ROWS, BLOCK = 10**7, 2**16


def frame(rows: int) -> pd.DataFrame:
    """Filled a block at a time, so that making it takes no more than it keeps."""
    rng = np.random.default_rng(0)
    x, k, codes = np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.int8)
    for start in range(0, rows, BLOCK):
        part = slice(start, start + BLOCK)
        n = len(x[part])
        x[part] = rng.normal(30, 20, n)
        k[part] = rng.integers(0, 10_000, n)
        codes[part] = rng.integers(0, len(CATEGORIES), n)
    c = pd.Categorical.from_codes(codes, CATEGORIES, validate=False)
    return pd.DataFrame({"x": x, "k": k, "c": c}, copy=False)


def filtered_means(df: pd.DataFrame) -> None:
    groups = df.dp.query("k < 5000").groupby("c", keys=CATEGORIES)
    groups["x"].mean(bounds=(0, 60), epsilon=0.1)


def undeclared_keys(df: pd.DataFrame) -> None:
    dp.session(epsilon=1, delta=1e-6)
    chosen = df.dp.query("x > 0 and c != 'category 00'")
    chosen["k"].value_counts(epsilon=0.1, delta=1e-6)


def nine_quantiles(df: pd.DataFrame) -> None:
    chosen = df.dp.query("k < 5000 and c != 'category 00'")["x"]
    chosen.quantile([i / 10 for i in range(1, 10)], bounds=(0, 60), epsilon=0.1)


#: Each reads all three columns.
RELEASES: dict[str, Callable[[pd.DataFrame], None]] = {
    "filtered groupby mean": filtered_means,
    "filtered undeclared keys": undeclared_keys,
    "filtered nine quantiles": nine_quantiles,
}
#: In megabytes. Quantiles sort values that they have to keep.
TARGETS = {
    "filtered groupby mean": 50,
    "filtered undeclared keys": 50,
    "filtered nine quantiles": None,
}


def beyond(release: Callable[[pd.DataFrame], None]) -> float:
    """After a warm-up on few rows, for modules and threads aren't paid for by the release."""
    release(frame(1000))
    dp.reset()
    df = frame(ROWS)
    before = peak()
    release(df)
    return peak() - before


def on_memory() -> Iterator[Result]:
    for name, target in TARGETS.items():
        said = subprocess.check_output([sys.executable, __file__, name], text=True)
        yield Result(f"peak memory of 10^7 × 3, {name}", float(said), None, target, "MB")


if __name__ == "__main__":
    print(beyond(RELEASES[sys.argv[1]]))
