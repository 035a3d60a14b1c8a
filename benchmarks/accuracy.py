"""How accurate dppandas is: its error beside those of OpenDP and diffprivlib, at equal ε.

    python benchmarks/accuracy.py [--epsilon 1] [--repeats 2000] [--json FILE]

Three real surveys that ship with statsmodels. Errors are roots of mean squares; for quantiles the
mean distance in ranks, for the top label the mean count that it lacks. diffprivlib runs in an
environment of its own (``--diffprivlib PYTHON``), for it needs an older scikit-learn.

Neighbours: dppandas and OpenDP's first line add or remove a row, so how many there are is private;
OpenDP's "public n" and diffprivlib change a row and are told n.
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
import opendp.prelude as odp
import pandas as pd
import statsmodels.datasets as datasets

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import accuracy_tasks as tasks  # noqa: E402

import dppandas as dp  # noqa: E402

Contender, Data, Measured = tasks.Contender, tasks.Data, tasks.Measured
NINE, measured = tasks.NINE, tasks.measured


def surveys() -> list[dict[str, Any]]:
    """Columns of real surveys, with bounds and keys from their code books."""
    fair = datasets.fair.load_pandas().data
    visits = datasets.randhie.load_pandas().data
    votes = datasets.anes96.load_pandas().data
    return [
        facts("fair: age, education", fair["age"], (15, 50), fair["educ"], [9, 12, 14, 16, 17, 20]),
        facts(
            "RAND: visits, chronic diseases", visits["mdvis"], (0, 60),
            visits["disea"].round().clip(0, 30), range(31),
        ),
        facts("ANES: age, education", votes["age"], (17, 100), votes["educ"], range(1, 8)),
    ]  # fmt: skip


def facts(name: str, x: Any, bounds: Any, labels: Any, keys: Any) -> dict[str, Any]:
    whole = labels.astype(int).tolist()
    return {"name": name, "x": x.tolist(), "bounds": bounds, "labels": whole, "keys": list(keys)}


def ours(epsilon: float) -> Contender:
    frames: dict[str, pd.DataFrame] = {}

    def frame(d: Data) -> Any:
        dp.reset()
        if d.name not in frames:
            frames[d.name] = pd.DataFrame({"x": d.x, "label": d.labels})
        return frames[d.name].dp

    return {
        "count": lambda d: frame(d).query(f"x > {d.middle}").count(epsilon=epsilon),
        "mean": lambda d: frame(d)["x"].mean(bounds=d.bounds, epsilon=epsilon),
        "variance": lambda d: frame(d)["x"].var(ddof=0, bounds=d.bounds, epsilon=epsilon),
        # whole numbers, which OpenDP is told by its candidates
        "median": lambda d: frame(d)["x"].median(bounds=d.bounds, step=1, epsilon=epsilon),
        "nine quantiles": lambda d: frame(d)["x"].quantile(
            NINE, bounds=d.bounds, step=1, epsilon=epsilon
        ),
        # not below 0, as diffprivlib's
        "histogram": lambda d: dp.make_consistent(
            frame(d)["label"].value_counts(keys=d.keys, sort=False, epsilon=epsilon)
        ),
        "top-1": lambda d: int(frame(d)["label"].value_counts(keys=d.keys).idxmax(epsilon=epsilon)),
    }


def _whole(scale: float) -> Any:
    domain, metric = odp.atom_domain(T="i64"), odp.absolute_distance(T="i64")
    return odp.m.make_laplace(domain, metric, scale)


def _real(scale: float) -> Any:
    domain, metric = odp.atom_domain(T=float, nan=False), odp.absolute_distance(T=float)
    return odp.m.make_laplace(domain, metric, scale)


def _quantile(d: Data, q: float, epsilon: float) -> float:
    """Of the whole numbers between the bounds: in these surveys all values are such."""
    domain = odp.vector_domain(odp.atom_domain(T=float, nan=False))
    space = domain, odp.symmetric_distance()
    candidates = [float(c) for c in range(int(d.bounds[0]), int(d.bounds[1]) + 1)]

    def made(scale: float) -> Any:
        return odp.m.make_private_quantile(
            *space, odp.max_divergence(), candidates, alpha=q, scale=scale
        )

    scale = odp.binary_search_param(made, d_in=1, d_out=epsilon)
    return float(made(scale)(d.clipped.tolist()))


def opendp(epsilon: float) -> Contender:
    """Neighbours add or remove a row; where a statistic needs several numbers they share ε."""

    def mean(d: Data) -> float:
        centre, reach = d.middle, (d.bounds[1] - d.bounds[0]) / 2
        total = _real(2 * reach / epsilon)(float((d.clipped - centre).sum()))
        n = _whole(2 / epsilon)(len(d.x))
        return float(np.clip(centre + total / max(n, 1), *d.bounds))

    def variance(d: Data) -> float:
        centre, reach = d.middle, (d.bounds[1] - d.bounds[0]) / 2
        centred = d.clipped - centre
        n = max(_whole(3 / epsilon)(len(d.x)), 1)
        first = _real(3 * reach / epsilon)(float(centred.sum())) / n
        # squares lie in [0, reach²]: centred they move by half of that
        half = reach**2 / 2
        second = _real(3 * half / epsilon)(float((centred**2 - half).sum())) / n + half
        return float(np.clip(second - first**2, 0, reach**2))

    def histogram(d: Data) -> Any:
        space = odp.vector_domain(odp.atom_domain(T="i64")), odp.l1_distance(T="i64")
        return odp.m.make_laplace(*space, 1 / epsilon)(d.counts.tolist())

    def top(d: Data) -> Any:
        space = (
            odp.vector_domain(odp.atom_domain(T="u64")),
            odp.linf_distance(T="u64", monotonic=True),
        )
        chosen = odp.m.make_noisy_max(*space, odp.max_divergence(), scale=1 / epsilon)
        return d.keys[chosen(d.counts.tolist())]

    return {
        "count": lambda d: _whole(1 / epsilon)(int((d.x > d.middle).sum())),
        "mean": mean,
        "variance": variance,
        "median": lambda d: _quantile(d, 0.5, epsilon),
        "nine quantiles": lambda d: [_quantile(d, q, epsilon / 9) for q in NINE],
        "histogram": histogram,
        "top-1": top,
    }


def opendp_with_n(epsilon: float) -> Contender:
    """Neighbours change a row, and n is public: OpenDP's own mean and variance."""

    def released(d: Data, make: Any) -> float:
        values = odp.vector_domain(odp.atom_domain(bounds=tuple(map(float, d.bounds))), len(d.x))
        found = make(values, odp.symmetric_distance())
        moved = found.map(2)  # one row changed
        return float(_real(moved / epsilon)(found(d.clipped.tolist())))

    return {
        "mean": lambda d: released(d, odp.t.make_mean),
        "variance": lambda d: released(d, lambda *space: odp.t.make_variance(*space, ddof=0)),
    }


def theirs(python: str, data: list[dict[str, Any]], epsilon: float, repeats: int) -> Any:
    """diffprivlib, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "facts.json"
        file.write_text(json.dumps({"data": data, "epsilon": epsilon, "repeats": repeats}))
        command = [python, str(HERE / "accuracy_diffprivlib.py"), str(file)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(said.stdout)
    return {
        name: {task: tuple(pair) for task, pair in tasks_.items()} for name, tasks_ in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--diffprivlib", help="a Python that has it")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    odp.enable_features("contrib")
    told = surveys()
    data = [Data(each) for each in told]
    found = {"dppandas": measured(data, ours(asked.epsilon), asked.repeats)}
    found["OpenDP"] = measured(data, opendp(asked.epsilon), asked.repeats)
    found["OpenDP, public n"] = measured(data, opendp_with_n(asked.epsilon), asked.repeats)
    if asked.diffprivlib:
        found["diffprivlib"] = theirs(asked.diffprivlib, told, asked.epsilon, asked.repeats)
    table = as_table(found)
    print(f"error at ε = {asked.epsilon:g}, {asked.repeats} answers each\n")
    print(table.to_string(float_format=lambda value: f"{value:.4g}"))
    print("\nroot mean square: " + ", ".join(tasks.SQUARED) + "; others: mean distance in rows")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def as_table(found: dict[str, Measured]) -> pd.DataFrame:
    """A row a task and survey; then our error as a share of the best other's, and what chance
    alone may have made of that share (two standard errors)."""
    rows = {}
    for task in tasks.TASKS:
        for name in found["dppandas"]:
            errors = {who: all_[name][task] for who, all_ in found.items() if task in all_[name]}
            mine = errors["dppandas"]
            best = min(error for who, error in errors.items() if who != "dppandas")
            share = mine[0] / best[0] if best[0] else (1.0 if not mine[0] else np.inf)
            chance = 2 * share * float(np.hypot(mine[1], best[1]))
            rows[task, name] = {
                **{who: error for who, (error, _) in errors.items()},
                "ours / best other": share,
                "±": chance,
            }
    columns = [*found, "ours / best other", "±"]
    return pd.DataFrame.from_dict(rows, orient="index")[columns]


if __name__ == "__main__":
    main()
