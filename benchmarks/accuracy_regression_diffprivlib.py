"""IBM's diffprivlib in accuracy_regression.py, in an environment of its own; and the splits that
both use. Its neighbours change one row, and the number of rows is public."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Score = Callable[[Any, Any], float]


def scaled(task: dict[str, Any], rows: Any) -> Any:
    """Rows clipped to public bounds, and in [-1, 1]."""
    low, high = np.array(task["low"], dtype=float), np.array(task["high"], dtype=float)
    return np.clip((rows - (low + high) / 2) / ((high - low) / 2), -1, 1)


def held_out(task: dict[str, Any], score: Score, fits: int) -> tuple[float, float]:
    """The mean score over fits, and its standard error."""
    found = scores(task, score, fits)
    return float(np.mean(found)), float(np.std(found) / np.sqrt(fits))


def scores(task: dict[str, Any], score: Score, fits: int) -> list[float]:
    """The score of each fit. Each splits the rows anew."""
    X, y = np.array(task["X"]), np.array(task["y"])
    found = []
    for i in range(fits):
        order, few = np.random.default_rng(i).permutation(len(y)), len(y) // 5
        test, train = order[:few], order[few:]
        found.append(score((X[train], y[train]), (X[test], y[test])))
    return found


def settings(task: dict[str, Any], epsilon: float) -> dict[str, Score]:
    """diffprivlib's models with the settings that may suit them."""
    from diffprivlib import models

    made: dict[str, Score] = {}
    if task["target"] is not None:

        def linear(train: Any, test: Any) -> float:
            model = models.LinearRegression(
                epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=tuple(map(float, task["target"]))
            )
            model.fit(scaled(task, train[0]), train[1])
            return float(model.score(scaled(task, test[0]), test[1]))

        return {"its defaults": linear}

    width = len(task["names"])
    for norm in (1.0, 2.0, 3.0, float(np.sqrt(width))):
        for C in (0.01, 0.1, 1.0):

            def logistic(train: Any, test: Any, norm: float = norm, C: float = C) -> float:
                X, Z = (cut(scaled(task, rows), norm) for rows in (train[0], test[0]))
                model = models.LogisticRegression(epsilon=epsilon, data_norm=norm, C=C)
                return float(model.fit(X, train[1]).score(Z, test[1]))

            made[f"norm {norm:.3g}, C = {C:g}"] = logistic
    return made


def cut(rows: Any, norm: float) -> Any:
    """Rows that are longer, made as long as a public norm."""
    long = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1, norm / np.maximum(long, 1e-12)) * (1 - 1e-9)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    facts = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    print(
        json.dumps(
            {
                task["name"]: {
                    name: held_out(task, score, facts["fits"])
                    for name, score in settings(task, facts["epsilon"]).items()
                }
                for task in facts["tasks"]
            }
        )
    )
