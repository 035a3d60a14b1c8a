"""How well regressions predict, ours and diffprivlib's, at equal ε, on rows held out.

    python benchmarks/accuracy_regression.py [--epsilon 1] [--fits 100] [--diffprivlib PYTHON]

For each fit the rows are split anew, four fifths to learn from and one fifth to be predicted; the
splits are the same for all. Public bounds are rounded by hand from code books and from what such
things measure; both libraries are told the same ones, and learn in [-1, 1].

Neighbours: dppandas adds or removes a row, so how many there are is private; diffprivlib changes a
row, and is told how many. It runs in an environment of its own, with several C and norms of rows,
of which the best counts: looking for the best isn't charged to it. Ours has one setting.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.datasets as datasets
from sklearn import datasets as shipped
from sklearn import linear_model

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import accuracy_regression_diffprivlib as peer  # noqa: E402

import dppandas as dp  # noqa: E402

Bounds = dict[str, tuple[float, float]]

CANCER: Bounds = {
    "mean radius": (5, 30), "mean texture": (5, 40), "mean perimeter": (40, 200),
    "mean area": (100, 2600), "mean smoothness": (0.05, 0.2), "mean compactness": (0, 0.4),
    "mean concavity": (0, 0.5), "mean concave points": (0, 0.25), "mean symmetry": (0.1, 0.35),
    "mean fractal dimension": (0.04, 0.1), "radius error": (0, 3), "texture error": (0, 5),
    "perimeter error": (0, 25), "area error": (0, 600), "smoothness error": (0, 0.04),
    "compactness error": (0, 0.15), "concavity error": (0, 0.4),
    "concave points error": (0, 0.06), "symmetry error": (0, 0.08),
    "fractal dimension error": (0, 0.03), "worst radius": (5, 40), "worst texture": (10, 50),
    "worst perimeter": (50, 260), "worst area": (100, 4300), "worst smoothness": (0.05, 0.25),
    "worst compactness": (0, 1.1), "worst concavity": (0, 1.3), "worst concave points": (0, 0.3),
    "worst symmetry": (0.1, 0.7), "worst fractal dimension": (0.05, 0.25),
}  # fmt: skip
DIABETES: Bounds = {
    "age": (18, 80), "sex": (1, 2), "bmi": (15, 45), "bp": (60, 140), "s1": (90, 310),
    "s2": (40, 250), "s3": (20, 100), "s4": (1, 10), "s5": (3, 6.5), "s6": (50, 130),
}  # fmt: skip
FAIR: Bounds = {
    "rate_marriage": (1, 5), "age": (15, 50), "yrs_married": (0, 25), "children": (0, 6),
    "religious": (1, 4), "educ": (9, 20), "occupation": (1, 6), "occupation_husb": (1, 6),
}  # fmt: skip
ANES: Bounds = {
    "popul": (0, 8000), "TVnews": (0, 7), "selfLR": (1, 7), "ClinLR": (1, 7), "DoleLR": (1, 7),
    "age": (17, 100), "educ": (1, 7), "income": (1, 24),
}  # fmt: skip


def tasks() -> list[dict[str, Any]]:
    """Data, each with public bounds; of the target too, where it is a number."""
    cancer, diabetes = shipped.load_breast_cancer(), shipped.load_diabetes(scaled=False)
    fair = datasets.fair.load_pandas().data
    votes = datasets.anes96.load_pandas().data
    return [
        _task("breast cancer", cancer.data, cancer.target, CANCER),
        _task("fair: an affair", fair[list(FAIR)], fair["affairs"] > 0, FAIR),
        _task("diabetes", diabetes.data, diabetes.target, DIABETES, (0, 400)),
        _task("ANES: party", votes[list(ANES)], votes["PID"], ANES, (0, 6)),
    ]


def _task(name: str, X: Any, y: Any, bounds: Bounds, target: Any = None) -> dict[str, Any]:
    rows, found = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    return {
        "name": name, "X": rows.tolist(), "y": found.tolist(), "target": target,
        "names": list(bounds), "low": [b[0] for b in bounds.values()],
        "high": [b[1] for b in bounds.values()],
    }  # fmt: skip


def ours(task: dict[str, Any], epsilon: float) -> Any:
    """A score of ours on rows that were held out."""
    bounds = dict(zip(task["names"], zip(task["low"], task["high"], strict=True), strict=True))

    def score(train: Any, test: Any) -> float:
        dp.reset()
        dp.session(epsilon=epsilon)
        rows = pd.DataFrame(train[0], columns=task["names"])
        people = rows.assign(y=train[1]).dp
        if task["target"] is None:
            model: Any = dp.models.LogisticRegression(
                epsilon=epsilon, bounds=bounds, classes=[0, 1]
            )
        else:
            model = dp.models.LinearRegression(
                epsilon=epsilon, bounds=bounds, target_bounds=task["target"]
            )
        model.fit(people[task["names"]], people["y"])
        return float(model.score(test[0], test[1]))

    return score


def not_private(task: dict[str, Any]) -> Any:
    """scikit-learn's score, and what the most frequent class or the mean would get."""

    def score(train: Any, test: Any) -> float:
        is_class = task["target"] is None
        model = linear_model.LogisticRegression() if is_class else linear_model.LinearRegression()
        X, Z = (peer.scaled(task, rows) for rows in (train[0], test[0]))
        return float(model.fit(X, train[1]).score(Z, test[1]))

    return score


def theirs(python: str, told: list[dict[str, Any]], epsilon: float, fits: int) -> Any:
    """diffprivlib's scores, by setting."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.json"
        file.write_text(json.dumps({"tasks": told, "epsilon": epsilon, "fits": fits}))
        command = [python, str(HERE / "accuracy_regression_diffprivlib.py"), str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=100)
    parser.add_argument("--diffprivlib", help="a Python that has it")
    asked = parser.parse_args()
    told = tasks()
    found = theirs(asked.diffprivlib, told, asked.epsilon, asked.fits) if asked.diffprivlib else {}
    rows = {}
    for task in told:
        mean, error = peer.held_out(task, ours(task, asked.epsilon), asked.fits)
        plain = peer.held_out(task, not_private(task), asked.fits)[0]
        row: dict[str, Any] = {"dppandas": mean, "±": 2 * error}
        if found:
            settings = found[task["name"]]
            best = max(settings, key=lambda name: settings[name][0])
            row["diffprivlib's best"], row[" ±"] = settings[best][0], 2 * settings[best][1]
            row["of"] = best
        y = np.asarray(task["y"])
        row["not private"] = plain
        row["no features"] = max(y.mean(), 1 - y.mean()) if task["target"] is None else 0.0
        rows[task["name"]] = row
    print(f"held-out accuracy or R² at ε = {asked.epsilon:g}, means of {asked.fits} fits\n")
    table = pd.DataFrame.from_dict(rows, orient="index")
    print(table.to_string(float_format=lambda value: f"{value:.4g}"))
    print("\nbreast cancer, fair: accuracy of logistic regression; the others: R² of linear.")
    print("Neighbours: dppandas adds or removes a row; diffprivlib changes one, and is told n.")


if __name__ == "__main__":
    main()
