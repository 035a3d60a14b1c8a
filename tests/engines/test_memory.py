"""A release takes the memory of a few blocks, and uses it again for the next ones."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp
from dppandas.engines import parallel

ROWS = 4 * 10**6
LABELS = list("abcdefgh")
KEYS = list(range(1000))
BOUNDS = {"bounds": (0, 60), "epsilon": 1}

RELEASES: dict[str, Callable[[Any], Any]] = {
    "count": lambda df: df.dp.count(epsilon=1),
    "filtered count": lambda df: df.dp.query("x > 40 and k < 500").count(epsilon=1),
    "mean": lambda df: df.dp["x"].mean(**BOUNDS),
    "sum": lambda df: df.dp["x"].sum(**BOUNDS),
    "variance": lambda df: df.dp["x"].var(**BOUNDS),
    "median": lambda df: df.dp["x"].median(**BOUNDS),
    "covariance": lambda df: df.dp[["x", "k"]].cov(bounds={"x": (0, 60), "k": (0, 999)}, epsilon=1),
    "value_counts": lambda df: df.dp["k"].value_counts(keys=KEYS, epsilon=1),
    "value_counts of categories": lambda df: df.dp["c"].value_counts(keys=LABELS, epsilon=1),
    "groupby mean": lambda df: df.dp.groupby("c", keys=LABELS)["x"].mean(**BOUNDS),
    "suggested bounds": lambda df: df.dp["x"].suggest_bounds(epsilon=1),
}


@pytest.fixture(scope="module")
def rows() -> Iterator[pd.DataFrame]:
    number = np.arange(ROWS)
    df = pd.DataFrame({"x": number % 997 / 16, "k": number % 1000})
    df["c"] = pd.Categorical.from_codes(number % 8, categories=LABELS)
    yield df
    dp.reset()


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_no_temporary_is_as_long_as_a_column(
    rows: pd.DataFrame, release: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "workers", lambda: 1)  # what one thread takes, on any machine
    dp.reset()
    release(rows.head(10))  # what is made once for all releases
    tracemalloc.start()
    try:
        release(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * ROWS


FAULTS = """
import resource
import numpy as np, pandas as pd, dppandas as dp
df = pd.DataFrame({"x": np.random.default_rng(0).random(5 * 10**6)}, copy=False)
for _ in range(3):
    dp.reset()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    df.dp["x"].var(bounds=(0, 1), epsilon=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="about glibc")
def test_blocks_use_memory_again() -> None:
    """In a new process, for where a larger array was freed before, glibc keeps the memory anyway;
    and in one heap, for threads give back less of theirs."""
    found = subprocess.run(
        [sys.executable, "-c", FAULTS],
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(found.stdout) < 8000  # 20,000 and more if the memory of each block is returned
