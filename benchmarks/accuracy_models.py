"""How good models are: their error beside those of diffprivlib's, at equal ε.

    python benchmarks/accuracy_models.py [--epsilon 1] [--repeats 200] [--diffprivlib PYTHON]

Real rows: iris (its bounds are those of its rows, as in published figures), and two surveys with
the bounds of their code books. Neighbours: ours add or remove a row, so that n is private;
diffprivlib's change a row, and n is public. diffprivlib runs in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.datasets as datasets
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import accuracy_models_tasks as tasks  # noqa: E402

import dppandas as dp  # noqa: E402

Found = dict[str, dict[str, list[float]]]


def clusters() -> list[dict[str, Any]]:
    """Rows to find centres of, with bounds and the number of centres."""
    iris = load_iris(as_frame=True).data
    votes = datasets.anes96.load_pandas().data[["age", "educ", "income", "PID"]]
    fair = datasets.fair.load_pandas().data[["age", "yrs_married", "educ"]]
    bounds = [
        list(zip(iris.min(), iris.max(), strict=True)),
        [(17, 100), (1, 7), (1, 24), (0, 6)],
        [(15, 50), (0, 30), (9, 20)],
    ]
    names = ["iris: 4 columns, k = 3", "ANES: 4 columns, k = 4", "fair: 3 columns, k = 4"]
    return [
        {"name": name, "task": "k-means", "rows": rows.to_numpy().tolist(), "bounds": each, "k": k}
        for name, rows, each, k in zip(names, (iris, votes, fair), bounds, (3, 4, 4), strict=True)
    ]


def our_centres(d: tasks.Rows, **how: Any) -> Any:
    frame = pd.DataFrame(d.rows, columns=d.names)
    bounds = dict(zip(d.names, d.bounds, strict=True))
    terms = {"rho": how["rho"], "delta": 1e-6} if "rho" in how else {"epsilon": how["epsilon"]}
    dp.reset()
    dp.session(**terms)
    return dp.models.KMeans(d.k, bounds=bounds, **how).fit(frame.dp).cluster_centers_


def ours(epsilon: float) -> dict[str, Callable[[tasks.Rows], Any]]:
    rho = epsilon**2 / 2
    return {
        "k-means, grid (auto)": lambda d: our_centres(d, epsilon=epsilon),
        "k-means, 2 rounds": lambda d: our_centres(d, epsilon=epsilon, method="lloyd", rounds=2),
        "k-means, grid, ρ = ε²/2": lambda d: our_centres(d, rho=rho, method="grid"),
        "k-means, 3 rounds, ρ = ε²/2": lambda d: our_centres(d, rho=rho, method="lloyd"),
    }


def plain(data: list[dict[str, Any]]) -> Found:
    """Without privacy."""
    found = {}
    for facts in data:
        d = tasks.Rows(facts)
        found[d.name] = [float(KMeans(d.k, n_init=20).fit(d.scaled(d.rows)).inertia_ / len(d.rows))]
    return {"not private": found}


def theirs(python: str, data: list[dict[str, Any]], epsilon: float, repeats: int) -> Found:
    """diffprivlib, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.json"
        file.write_text(json.dumps({"data": data, "epsilon": epsilon, "repeats": repeats}))
        command = [python, str(HERE / "accuracy_models_diffprivlib.py"), str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Found = json.loads(said.stdout)
    return found


def as_table(found: Found) -> pd.DataFrame:
    """The mean and the median error, for each contender and data."""
    rows = {}
    for who, by_data in found.items():
        for name, errors in by_data.items():
            rows.setdefault(who, {})[name, "mean"] = float(np.mean(errors))
            rows[who][name, "median"] = float(np.median(errors))
    return pd.DataFrame.from_dict(rows, orient="index")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--diffprivlib", help="a Python that has it")
    asked = parser.parse_args()
    data = clusters()
    found = plain(data)
    if asked.diffprivlib:
        found |= theirs(asked.diffprivlib, data, asked.epsilon, asked.repeats)
    found |= tasks.measured(data, ours(asked.epsilon), asked.repeats)
    print(
        f"mean squared distance in [-1, 1]^d at ε = {asked.epsilon:g}, {asked.repeats} fits each\n"
    )
    print(as_table(found).to_string(float_format=lambda value: f"{value:.3g}"))


if __name__ == "__main__":
    main()
