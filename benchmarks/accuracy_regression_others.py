"""The regressions of accuracy_regression.py on data on which nothing was chosen.

    python benchmarks/accuracy_regression_others.py [--epsilon 1] [--fits 20]

Other questions to the surveys that ship with statsmodels, scikit-learn's iris, and made-up rows.
With little loss for few rows (ε = 0.1 for 1,000) the median of many fits says whether a fit is
worse than the mean of the target, whose R² is 0.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import statsmodels.datasets as datasets
from accuracy_regression import ANES, FAIR, Bounds, _task, not_private, ours
from accuracy_regression_diffprivlib import held_out, scores
from sklearn import datasets as shipped

RAND: Bounds = {
    "lncoins": (0, 5), "idp": (0, 1), "lpi": (0, 8), "fmde": (0, 9), "physlm": (0, 1),
    "disea": (0, 60), "hlthg": (0, 1), "hlthf": (0, 1), "hlthp": (0, 1),
}  # fmt: skip
IRIS: Bounds = {"a": (4, 8), "b": (2, 5), "c": (1, 7), "d": (0, 3)}
MADE: Bounds = {f"x{i}": (-5, 5) for i in range(12)}
LINE: Bounds = {f"x{i}": (-1, 1) for i in range(5)}
UNIT: Bounds = {f"x{i}": (0, 1) for i in range(10)}


def _asked(name: str, survey: Any, bounds: Bounds, target: str, made: Any, ends: Any = None) -> Any:
    """One column of a survey from the others."""
    features = {column: pair for column, pair in bounds.items() if column != target}
    return _task(name, survey[list(features)], made(survey[target]), features, ends)


def _same(column: Any) -> Any:
    return column


def _line(rows: int) -> Any:
    """Five features, of which the target is a sum, with noise; so many rows to learn from."""
    random = np.random.default_rng(7)
    X = random.uniform(-1, 1, (rows * 5 // 4, 5))
    y = X @ [1, -0.8, 0.6, -0.4, 0.2] + random.normal(0, 0.3, len(X))
    return _task(f"a line, {rows:,} rows", X, y, LINE, (-6, 6))


def tasks() -> list[dict[str, Any]]:
    fair = datasets.fair.load_pandas().data
    votes = datasets.anes96.load_pandas().data
    visits = datasets.randhie.load_pandas().data
    iris = shipped.load_iris()
    shape: dict[str, Any] = {"n_features": 12, "n_informative": 6, "flip_y": 0.1}
    many = shipped.make_classification(8000, random_state=3, **shape)
    few = shipped.make_classification(1000, random_state=4, **shape)
    friedman = [shipped.make_friedman1(n, 10, noise=1, random_state=s) for n, s in FRIEDMAN]
    return [
        _asked("fair: children > 2", fair, FAIR, "children", lambda x: x > 2),
        _asked("fair: education ≥ 16", fair, FAIR, "educ", lambda x: x >= 16),
        _asked("RAND: physical limit", visits, RAND, "physlm", lambda x: x > 0),
        _asked("ANES: income > 16", votes, ANES, "income", lambda x: x > 16),
        _task("iris: versicolor", iris.data, iris.target == 1, IRIS),
        _task("made up, 8,000 rows", *many, MADE),
        _task("made up, 1,000 rows", *few, MADE),
        _asked("fair: children", fair, FAIR, "children", _same, (0, 6)),
        _asked("RAND: diseases", visits, RAND, "disea", _same, (0, 60)),
        _asked("ANES: self, left to right", votes, ANES, "selfLR", _same, (1, 7)),
        _task("Friedman, 5,000 rows", *friedman[0], UNIT, (0, 30)),
        _task("Friedman, 500 rows", *friedman[1], UNIT, (0, 30)),
        _line(1000),
        _line(10_000),
    ]


FRIEDMAN = ((5000, 5), (500, 6))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=20)
    asked = parser.parse_args()
    for task in tasks():
        found = scores(task, ours(task, asked.epsilon), asked.fits)
        error = 2 * float(np.std(found) / np.sqrt(asked.fits))
        plain = held_out(task, not_private(task), asked.fits)[0]
        y = np.asarray(task["y"])
        without = max(y.mean(), 1 - y.mean()) if task["target"] is None else 0.0
        print(
            f"{task['name']:28}{np.mean(found):8.4f} ± {error:.4f}, median {np.median(found):.4f}, "
            f"not private {plain:.4f}, no features {without:.4f}"
        )


if __name__ == "__main__":
    main()
