"""IBM's diffprivlib in the accuracy benchmark, run by accuracy.py in an environment of its own, for
it needs an older scikit-learn. Its neighbours change one row, and the number of rows is public."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from accuracy_tasks import NINE, Contender, Data, main
from diffprivlib import tools
from diffprivlib.mechanisms import PermuteAndFlip


def asks(epsilon: float) -> Contender:
    def histogram(d: Data) -> Any:
        edges = [*(k - 0.5 for k in d.keys), d.keys[-1] + 0.5]
        places = np.searchsorted(d.keys, d.labels).astype(float)
        inside = np.isin(d.labels, d.keys)
        steps = [i - 0.5 for i in range(len(edges))]
        found = tools.histogram(places[inside], epsilon=epsilon, bins=steps)
        return found[0]

    def top(d: Data) -> Any:
        chosen = PermuteAndFlip(
            epsilon=epsilon, sensitivity=1, monotonic=False,
            utility=[float(c) for c in d.counts], candidates=list(d.keys),
        )  # fmt: skip
        return chosen.randomise()

    return {
        "count": lambda d: tools.count_nonzero(d.x > d.middle, epsilon=epsilon),
        "mean": lambda d: tools.mean(d.x, epsilon=epsilon, bounds=d.bounds),
        "variance": lambda d: tools.var(d.x, epsilon=epsilon, bounds=d.bounds),
        "median": lambda d: tools.median(d.x, epsilon=epsilon, bounds=d.bounds),
        "nine quantiles": lambda d: tools.quantile(d.x, NINE, epsilon=epsilon, bounds=d.bounds),
        "histogram": histogram,
        "top-1": top,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(asks)
