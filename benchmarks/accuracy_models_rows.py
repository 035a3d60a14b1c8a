"""How the error of regressions falls as rows grow: our plans, AdaSSP, and no privacy.

    python benchmarks/accuracy_models_rows.py [--epsilon 1] [--fits 12] [--most 1000000]

Root mean square errors of the slopes that made the rows, for features and targets in [-1, 1], 3 and
5 features, and two truths each. "line": independent features and a line with little noise, or
chances that a line tells; "skewed": features that go together, and a target of two values whose
mean is a line, or rare and steep chances. AdaSSP (Wang, 2018) has δ = 1e-6 in place of pure ε. It
has one line for all of its sums and takes no logistic regression.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dppandas as dp

SLOPES = np.array([0.3, -0.2, 0.1, 0.15, -0.1])
CHANCES = np.array([1.0, -2, 0.5, 1.5, -1])
#: The plans of each model: by default, the plan before rows decided, and what users may ask for.
PLANS: dict[str, dict[str, dict[str, Any]]] = {
    "linear": {"default": {}, "one round": {"rounds": 1}, "clip=2": {"rounds": 1, "clip": 2},
               "clip=2, 3 rounds": {"rounds": 3, "clip": 2}},
    "logistic": {"default": {}, "one round": {"rounds": 1}, "2 rounds": {"rounds": 2},
                 "4 rounds": {"rounds": 4}},
}  # fmt: skip
random = np.random.default_rng(1)


def made(model: str, truth: str, rows: int, width: int) -> tuple[Any, Any, Any]:
    """Features, target, and the slopes that made it."""
    x = random.uniform(-1, 1, (rows, width))
    if truth == "skewed":
        x = 0.6 * random.uniform(-1, 1, (rows, 1)) + 0.4 * x
    if model == "linear":
        slopes = SLOPES[:width]
        if truth == "line":
            return x, np.clip(x @ slopes + random.normal(0, 0.1, rows), -1, 1), slopes
        return x, (random.random(rows) < 0.5 + x @ slopes / 2) * 2.0 - 1, slopes
    slopes, constant = CHANCES[:width], 0.3
    if truth == "skewed":
        slopes, constant = slopes * 1.5, -1.0
    return x, random.random(rows) < 1 / (1 + np.exp(-(x @ slopes + constant))), slopes


def ours(model: str, x: Any, y: Any, epsilon: float, plan: dict[str, Any]) -> Any:
    dp.reset()
    dp.session(epsilon=epsilon)
    names = [f"x{i}" for i in range(x.shape[1])]
    people = pd.DataFrame(x, columns=names).assign(y=y).dp
    said: dict[str, Any] = {"epsilon": epsilon, "bounds": (-1, 1), **plan}
    if model == "linear":
        fitted: Any = dp.models.LinearRegression(**said, target_bounds=(-1, 1))
    else:
        fitted = dp.models.LogisticRegression(**said)
    return np.ravel(fitted.fit(people[names], people["y"]).coef_)


def adassp(x: Any, y: Any, epsilon: float, delta: float = 1e-6) -> Any:
    """Wang, "Revisiting differentially private linear regression", 2018, Algorithm 2."""
    lines = np.column_stack([np.ones(len(x)), x])
    width = lines.shape[1]  # squared, the largest norm of a row
    noise = width * np.sqrt(np.log(6 / delta)) / (epsilon / 3)
    second = lines.T @ lines
    least = np.linalg.eigvalsh(second)[0] + noise * random.normal()
    least = max(least - width * np.log(6 / delta) / (epsilon / 3), 0.0)
    ridge = max(noise * np.sqrt(width * np.log(2 * width**2 / 0.05)) - least, 0.0)
    upper = np.triu(random.normal(size=(width, width)))
    second = second + noise * (upper + np.triu(upper, 1).T) + ridge * np.eye(width)
    products = lines.T @ y + noise / np.sqrt(width) * random.normal(size=width)
    return np.linalg.solve(second, products)[1:]


def not_private(model: str, x: Any, y: Any) -> Any:
    lines = np.column_stack([np.ones(len(x)), x])
    if model == "linear":
        return np.linalg.lstsq(lines, y, rcond=None)[0][1:]
    found = np.zeros(lines.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-lines @ found))
        second = lines.T @ (lines * (p * (1 - p))[:, None])
        found = found + np.linalg.solve(second, lines.T @ (y - p))
    return found[1:]


def errors(model: str, truth: str, rows: int, width: int, epsilon: float, fits: int) -> Any:
    """The root mean square error of each plan, on the same rows."""
    found: dict[str, list[float]] = {}
    for _ in range(fits):
        x, y, slopes = made(model, truth, rows, width)
        learnt = {name: ours(model, x, y, epsilon, plan) for name, plan in PLANS[model].items()}
        if model == "linear":
            learnt["AdaSSP"] = adassp(x, y, epsilon)
        learnt["not private"] = not_private(model, x, y)
        for name, each in learnt.items():
            found.setdefault(name, []).append(float(np.mean((each - slopes) ** 2)))
    return {name: float(np.sqrt(np.mean(each))) for name, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=12, help="a fifth of it from 300,000 rows on")
    parser.add_argument("--most", type=int, default=1_000_000, help="the most rows")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that are constants
    sizes = [n for n in (1000, 3000, 10_000, 30_000, 100_000, 1_000_000) if n <= asked.most]
    for model in PLANS:
        table = {}
        for width, truth, rows in itertools.product((3, 5), ("line", "skewed"), sizes):
            fits = asked.fits if rows < 300_000 else max(asked.fits // 5, 2)
            table[width, truth, rows] = errors(model, truth, rows, width, asked.epsilon, fits)
        shown = pd.DataFrame.from_dict(table, orient="index")
        shown.index = shown.index.set_names(["d", "truth", "rows"])
        print(f"{model}, ε = {asked.epsilon:g}: root mean square errors of slopes\n")
        print(shown.to_string(float_format=lambda value: f"{value:.4f}"), flush=True)
        print()


if __name__ == "__main__":
    main()
