"""How well trees, naive Bayes and lines predict rows held out, ours and diffprivlib's, at equal ε.

    python benchmarks/accuracy_models_held_out.py [--epsilon 1] [--fits 40] [--diffprivlib PYTHON]

As accuracy_regression.py, with its data, its splits and its public bounds, which all are told. Also
iris (with the bounds of its rows, as in published figures), made-up rows, and two lines on one
feature. Neighbours: dppandas adds or removes a row, so that n is private. diffprivlib's change a
row, and n is public; but the counts in its trees are noised as if a row were added or removed, so
that a changed row costs up to 2ε there. It has no regression tree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.datasets as datasets
from sklearn import datasets as shipped
from sklearn import linear_model, naive_bayes, tree

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import accuracy_regression as regression  # noqa: E402
import accuracy_regression_diffprivlib as splits  # noqa: E402

import dppandas as dp  # noqa: E402


def tasks() -> list[dict[str, Any]]:
    """Data with public bounds, and its classes or the bounds of its target."""
    iris = shipped.load_iris(as_frame=True)
    ends = {name: (iris.data[name].min(), iris.data[name].max()) for name in iris.data}
    x, y = shipped.make_friedman1(5000, n_features=8, noise=1.0, random_state=1)
    unit = {f"x{i}": (0, 1) for i in range(8)}
    fair = datasets.fair.load_pandas().data
    votes = datasets.anes96.load_pandas().data
    family = {name: ends for name, ends in regression.FAIR.items() if name != "children"}
    made = regression._task
    found = [
        made("iris", iris.data, iris.target, ends),
        *regression.tasks()[:2],
        made("Friedman > 14", x, y > 14, unit),
        *regression.tasks()[2:],
        made("fair: children", fair[list(family)], fair["children"], family, (0, 6)),
        made("Friedman", x, y, unit, (-5, 35)),
        made("fair: children by years", fair[["yrs_married"]], fair["children"],
             {"yrs_married": (0, 25)}, (0, 6)),
        made("ANES: party by self", votes[["selfLR"]], votes["PID"], {"selfLR": (1, 7)}, (0, 6)),
    ]  # fmt: skip
    for task in found:
        task["classes"] = sorted({*task["y"]}) if task["target"] is None else None
    return found


def ours(task: dict[str, Any], epsilon: float) -> dict[str, splits.Score]:
    bounds = dict(zip(task["names"], zip(task["low"], task["high"], strict=True), strict=True))
    said: dict[str, Any] = {"epsilon": epsilon, "bounds": bounds}

    def people(train: Any) -> Any:
        dp.reset()
        dp.session(epsilon=epsilon)
        return pd.DataFrame(train[0], columns=task["names"]).assign(y=train[1]).dp

    def score(of: Any, **how: Any) -> splits.Score:
        def learnt(train: Any, test: Any) -> float:
            rows = people(train)
            model = of(**said, **how).fit(rows[task["names"]], rows["y"])
            return float(model.score(*test))

        return learnt

    def least_squares(train: Any, test: Any) -> float:
        rows = people(train)
        model = dp.models.OLS(rows["y"], rows[task["names"]], **said, target_bounds=task["target"])
        away = test[1] - np.asarray(
            model.fit().predict(pd.DataFrame(test[0], columns=task["names"]))
        )
        return 1 - float((away**2).mean() / test[1].var())

    if task["classes"] is not None:
        classes = {"classes": task["classes"]}
        return {
            "DecisionTreeClassifier(3)": score(dp.models.DecisionTreeClassifier, **classes),
            "GaussianNB": score(dp.models.GaussianNB, **classes),
        }
    ends = {"target_bounds": task["target"]}
    found = {
        "DecisionTreeRegressor(3)": score(dp.models.DecisionTreeRegressor, **ends),
        "OLS": least_squares,
        "LinearRegression": score(dp.models.LinearRegression, **ends),
    }
    if len(bounds) == 1:
        many = len(task["y"])  # about how many there are, as a code book says
        found["TheilSenRegressor"] = score(dp.models.TheilSenRegressor, units=many, **ends)
    return found


def not_private(task: dict[str, Any]) -> dict[str, splits.Score]:
    def score(of: Any, **how: Any) -> splits.Score:
        def learnt(train: Any, test: Any) -> float:
            x, z = (splits.scaled(task, rows) for rows in (train[0], test[0]))
            return float(of(**how).fit(x, train[1]).score(z, test[1]))

        return learnt

    if task["classes"] is not None:
        return {
            "scikit-learn's tree of 3": score(tree.DecisionTreeClassifier, max_depth=3),
            "scikit-learn's GaussianNB": score(naive_bayes.GaussianNB),
        }
    return {
        "scikit-learn's tree of 3": score(tree.DecisionTreeRegressor, max_depth=3),
        "least squares": score(linear_model.LinearRegression),
    }


def theirs(python: str, told: list[dict[str, Any]], epsilon: float, fits: int) -> Any:
    """diffprivlib's scores, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.json"
        file.write_text(json.dumps({"tasks": told, "epsilon": epsilon, "fits": fits}))
        command = [python, str(HERE / "accuracy_models_diffprivlib.py"), str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--diffprivlib", help="a Python that has it")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that are constants
    told = tasks()
    peer = theirs(asked.diffprivlib, told, asked.epsilon, asked.fits) if asked.diffprivlib else {}
    print(f"held-out accuracy or R² at ε = {asked.epsilon:g}, {asked.fits} fits each", flush=True)
    for task in told:
        found = {
            name: splits.scores(task, score, asked.fits)
            for name, score in (ours(task, asked.epsilon) | not_private(task)).items()
        }
        found |= peer.get(task["name"], {})
        what = "R²" if task["classes"] is None else "accuracy"
        print(f"\n{task['name']}, {len(task['y']):,} rows, {len(task['names'])} features: {what}")
        table = pd.DataFrame(found).agg(["median", "mean"]).T
        table["±"] = 2 * pd.DataFrame(found).std() / np.sqrt(asked.fits)
        print(table.to_string(float_format=lambda value: f"{value:.3g}"), flush=True)


if __name__ == "__main__":
    main()
