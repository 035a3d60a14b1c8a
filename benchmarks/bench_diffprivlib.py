"""IBM's diffprivlib in the benchmark of speed, in an environment of its own, for it needs an older
scikit-learn. It does a task once whenever it reads the task's name, and writes its milliseconds, so
that it takes turns with ours."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from bench_tasks import BOUNDS, EPSILON, KEYS, MORE_ROWS, NINE, ROWS, survey
from diffprivlib import tools
from diffprivlib.mechanisms import PermuteAndFlip

some, more = survey(ROWS), survey(MORE_ROWS)
x, k = some["x"], some["k"]


def top() -> Any:
    counts = np.bincount(k, minlength=KEYS).tolist()
    chosen = PermuteAndFlip(
        epsilon=EPSILON, sensitivity=1, monotonic=True, utility=counts, candidates=list(range(KEYS))
    )
    return chosen.randomise()


TASKS: dict[str, Callable[[], Any]] = {
    "count": lambda: tools.count_nonzero(x.notna(), epsilon=EPSILON),
    "filtered count": lambda: tools.count_nonzero(x > 40, epsilon=EPSILON),
    "mean": lambda: tools.mean(x, bounds=BOUNDS, epsilon=EPSILON),
    "sum": lambda: tools.sum(x, bounds=BOUNDS, epsilon=EPSILON),
    "variance": lambda: tools.var(x, bounds=BOUNDS, epsilon=EPSILON),
    "histogram": lambda: tools.histogram(k, bins=KEYS, range=(-0.5, KEYS - 0.5), epsilon=EPSILON),
    "top-1": top,
    "nine quantiles": lambda: tools.quantile(more["x"], NINE, bounds=BOUNDS, epsilon=EPSILON),
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(version("diffprivlib"), flush=True)
    for line in sys.stdin:
        task = TASKS[line.rstrip("\n")]
        start = time.perf_counter()
        task()
        print(1000 * (time.perf_counter() - start), flush=True)
