"""diffprivlib in the benchmarks of models, run by accuracy_models.py and by
accuracy_models_held_out.py in an environment of its own.

Its k-means changes one row and takes n for public: the number of rounds is computed from it. The
counts are noised as if a changed row moved one of them by 1, and it moves two. Its trees split at
random, and select the class of each leaf with the whole ε, as if a row were added or removed.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_models_tasks import Contenders, Rows, main
from accuracy_regression_diffprivlib import Score, scaled, scores
from diffprivlib import models


def asks(epsilon: float) -> Contenders:
    def centres(d: Rows) -> object:
        model = models.KMeans(n_clusters=d.k, epsilon=epsilon, bounds=(d.low, d.high))
        return model.fit(d.rows).cluster_centers_

    return {"k-means of diffprivlib": centres}


def held_out(task: dict[str, Any], epsilon: float) -> dict[str, Score]:
    """Scores of what it has for a task, on features in [-1, 1]."""

    def score(of: Any, **how: Any) -> Score:
        def learnt(train: Any, test: Any) -> float:
            x, z = (scaled(task, rows) for rows in (train[0], test[0]))
            return float(of(epsilon=epsilon, **how).fit(x, train[1]).score(z, test[1]))

        return learnt

    if task["classes"] is None:
        ends = {"bounds_X": (-1.0, 1.0), "bounds_y": tuple(map(float, task["target"]))}
        return {"LinearRegression of diffprivlib": score(models.LinearRegression, **ends)}
    told: dict[str, Any] = {"bounds": (-1.0, 1.0), "classes": np.array(task["classes"])}
    return {
        "tree of 3 of diffprivlib": score(models.DecisionTreeClassifier, max_depth=3, **told),
        "tree of 5 of diffprivlib": score(models.DecisionTreeClassifier, max_depth=5, **told),
        "forest of diffprivlib": score(models.RandomForestClassifier, **told),
        "GaussianNB of diffprivlib": score(models.GaussianNB, bounds=(-1.0, 1.0)),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    facts = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if "tasks" in facts:
        found = {
            task["name"]: {
                name: scores(task, score, facts["fits"])
                for name, score in held_out(task, facts["epsilon"]).items()
            }
            for task in facts["tasks"]
        }
        print(json.dumps(found))
    else:
        main(asks)
