"""How near synthetic rows come to tables that were held out, beside simpler ways at equal ε.

    python benchmarks/synthetic.py [--epsilon 1] [--repeats 5] [--methods mwem,aim]

Two surveys that ship with statsmodels, with labels from their code books. Methods are asked to keep
all pairs of columns but for every third, and all triples are held out: what is told is the mean
total variation distance, half the sum of |shares − true shares|, over the pairs held out, over the
triples, and over the pairs asked for.

one-way      the counts of each column, noisy, at the same ε in equal shares, and independence
noise floor  the held-out tables themselves, each measured at ε by equal shares: what no synthetic
             rows can be expected to reach, for nobody told them what would be asked
sampling     as many rows drawn from the survey with replacement: no privacy at all
"""

from __future__ import annotations

import argparse
import functools
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.datasets as datasets

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dppandas as dp

Columns = tuple[str, ...]
#: Synthetic rows: so many that writing a table as rows costs little.
ROWS = 20_000
Shares = Callable[[Columns], "pd.Series[float]"]


def surveys() -> dict[str, tuple[pd.DataFrame, dict[str, list[Any]]]]:
    """Columns of real surveys, and their labels."""
    fair = datasets.fair.load_pandas().data
    fair = fair.assign(affair=fair["affairs"] > 0)
    fair_keys: dict[str, list[Any]] = {
        "rate_marriage": [1, 2, 3, 4, 5],
        "age": [17.5, 22, 27, 32, 37, 42],
        "children": [0, 1, 2, 3, 4, 5.5],
        "religious": [1, 2, 3, 4],
        "educ": [9, 12, 14, 16, 17, 20],
        "occupation": [1, 2, 3, 4, 5, 6],
        "affair": [False, True],
    }
    votes = datasets.anes96.load_pandas().data
    votes = votes.assign(income=(votes["income"] - 1) // 4, age=votes["age"] // 15)
    vote_keys: dict[str, list[Any]] = {
        "TVnews": list(range(8)),
        "PID": list(range(7)),
        "age": list(range(1, 7)),
        "educ": list(range(1, 8)),
        "income": list(range(6)),
        "vote": [0, 1],
    }
    made = {"fair": (fair, fair_keys), "anes96": (votes, vote_keys)}
    return {name: (frame[list(keys)], keys) for name, (frame, keys) in made.items()}


def counted(frame: pd.DataFrame, keys: dict[str, list[Any]], names: Columns) -> pd.Series[float]:
    """The shares of a table's cells, all of them."""
    index = pd.MultiIndex.from_product([keys[n] for n in names], names=list(names))
    shares = frame.groupby(list(names), observed=False).size().reindex(index, fill_value=0)
    return shares / shares.sum()


def of_rows(frame: pd.DataFrame, keys: dict[str, list[Any]]) -> Shares:
    return functools.lru_cache(maxsize=None)(lambda names: counted(frame, keys, names))


def ours(
    private: Any, keys: dict[str, list[Any]], asked: list[Columns], method: str, epsilon: float
) -> Shares:
    made = dp.synthesize(
        private, rows=ROWS, marginals=asked, method=method, keys=keys, epsilon=epsilon
    )
    return of_rows(made, keys)


def one_way(private: Any, keys: dict[str, list[Any]], epsilon: float) -> Shares:
    """Independent columns, by noisy counts."""
    shares = {}
    with dp.split(epsilon=epsilon, into=len(keys)):
        for name in keys:
            noisy = private[name].value_counts(keys=keys[name], sort=False).clip(lower=0)
            shares[name] = noisy.to_numpy() / max(1, noisy.sum())

    def product(names: Columns) -> pd.Series[float]:
        index = pd.MultiIndex.from_product([keys[n] for n in names], names=list(names))
        joint = functools.reduce(np.multiply.outer, [shares[n] for n in names])
        return pd.Series(joint.reshape(-1), index=index)

    return product


def measured(
    private: Any, keys: dict[str, list[Any]], epsilon: float, asked: Sequence[Columns]
) -> Shares:
    """Each table itself, noisy; below 0 counts as 0."""
    found = {}
    with dp.split(epsilon=epsilon, into=len(asked)):
        for names in asked:
            labels = {n: keys[n] for n in names}
            noisy = private.value_counts(list(names), keys=labels, sort=False).clip(lower=0)
            found[names] = noisy / max(1, noisy.sum())
    return found.__getitem__


def off(shares: Shares, truth: Shares, tables: Sequence[Columns]) -> float:
    """The mean total variation distance."""
    far = [np.abs(shares(n).to_numpy() - truth(n).to_numpy()).sum() / 2 for n in tables]
    return float(np.mean(far))


def run(name: str, methods: Sequence[str], epsilon: float, repeats: int) -> pd.DataFrame:
    frame, keys = surveys()[name]
    pairs = list(itertools.combinations(keys, 2))
    groups = {
        "pairs held out": pairs[2::3],
        "triples": list(itertools.combinations(keys, 3)),
        "pairs asked": [p for i, p in enumerate(pairs) if i % 3 != 2],
    }
    truth, rows, lines = of_rows(frame, keys), len(frame), {}
    pick = np.random.default_rng()  # of rows for the sampling floor: no noise comes from here
    for turn in range(repeats):
        dp.reset()
        dp.session(epsilon=1000)
        private = dp.private(frame, unit="row")
        ways: dict[str, Callable[[], Shares]] = {
            method: functools.partial(ours, private, keys, groups["pairs asked"], method, epsilon)
            for method in methods
        }
        ways["one-way, independent"] = functools.partial(one_way, private, keys, epsilon)
        drawn = frame.iloc[pick.integers(rows, size=rows)]
        ways["sampling floor"] = functools.partial(of_rows, drawn, keys)
        for way, make in ways.items():
            start = time.perf_counter()
            shares = make()
            spent = time.perf_counter() - start
            errors = {group: off(shares, truth, tables) for group, tables in groups.items()}
            lines.setdefault(way, []).append({**errors, "seconds": spent})
        floor = {
            group: off(measured(private, keys, epsilon, tables), truth, tables)
            for group, tables in groups.items()
        }
        lines.setdefault("noise floor, each group alone", []).append({**floor, "seconds": 0.0})
        print(f"{name}: {turn + 1} of {repeats}", file=sys.stderr)
    return pd.DataFrame({way: pd.DataFrame(each).mean() for way, each in lines.items()}).T


def main() -> None:
    parser = argparse.ArgumentParser(description="error of synthetic rows on held-out tables")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--methods", default="mwem,aim")
    given = parser.parse_args()
    for name in surveys():
        table = run(name, given.methods.split(","), given.epsilon, given.repeats)
        print(f"\n{name}, ε = {given.epsilon:g}, mean total variation over {given.repeats} runs")
        print(table.round(4).to_string())


if __name__ == "__main__":
    main()
