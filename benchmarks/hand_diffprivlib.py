"""IBM's diffprivlib in benchmarks/hand.py, in an environment of its own, for it needs an older
scikit-learn: `hand_diffprivlib.py ROW theirs ROWS`. Its neighbours change a row; n is public."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
from bench_tasks import BOUNDS, EPSILON, survey
from bench_turns import Task, Work, failure, serve
from diffprivlib import models, tools


def _points(rows: int) -> np.ndarray:
    """As ours: three standard deviations, and a line through them."""
    return np.random.default_rng(0).normal(0, 1, (rows, 4)).clip(-3, 3)


def _pca(rows: int) -> Work:
    X = _points(rows)
    model = models.PCA(2, epsilon=1, bounds=(-3.0, 3.0), data_norm=6.0)
    return lambda: model.fit(X)


def _regression(rows: int) -> Work:
    X = _points(rows)
    y = (X @ np.array([1.0, 0.5, -0.5, 0.25]) / 2).clip(-3, 3)
    model = models.LinearRegression(epsilon=1, bounds_X=(-3.0, 3.0), bounds_y=(-3.0, 3.0))
    return lambda: model.fit(X, y)


def _of_survey(ask: Callable[..., object]) -> Callable[[int], Work]:
    def made(rows: int) -> Work:
        x = survey(rows)["x"]
        return lambda: ask(x)

    return made


#: By the first words of a row's name.
TASKS: dict[str, Callable[[int], Work]] = {
    "count": _of_survey(lambda x: tools.count_nonzero(x.notna(), epsilon=EPSILON)),
    "filtered count": _of_survey(lambda x: tools.count_nonzero(x > 40, epsilon=EPSILON)),
    "mean": _of_survey(lambda x: tools.mean(x, bounds=BOUNDS, epsilon=EPSILON)),
    "sum": _of_survey(lambda x: tools.sum(x, bounds=BOUNDS, epsilon=EPSILON)),
    "variance": _of_survey(lambda x: tools.var(x, bounds=BOUNDS, epsilon=EPSILON)),
    "PCA": _pca,
    "LinearRegression": _regression,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        task = Task(TASKS[sys.argv[1].split(" of ")[0]](int(sys.argv[3])))
    except Exception as problem:
        print(failure(problem), flush=True)
    else:
        print("diffprivlib", version("diffprivlib"), flush=True)
        serve(task)
