"""Questions on Dask, beside what it takes itself, in its environment.

    python benchmarks/clusters.py [--data FOLDER] [--json FILE]

The files are those of benchmarks/engines.py, 10^7 rows. Ours and theirs are timed in turn, after a
warm-up, and the median counts. Where a target is missed it exits 1. benchmarks/README.md explains
the lines.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not
os.environ["PYTHONPATH"] = str(HERE.parent)  # and let workers find it

import engines  # noqa: E402
from bench_measure import Result, in_turn  # noqa: E402

import dppandas as dp  # noqa: E402
from dppandas.engines.clusters.cluster import ClusterEngine  # noqa: E402

Work = Callable[[], Any]


def started() -> None:
    dp.reset()
    dp.session(epsilon=10**9, delta="0.01")


def protected(frame: Any, name: str = "visits", **terms: Any) -> Any:
    return dp.protect(frame, name=name, **terms)


def timed(name: str, works: list[tuple[str, Work, float | None]]) -> Iterator[Result]:
    """The first beside each of the others."""
    mine, *rest = in_turn([engines.clock(work) for _, work, _ in works], engines.REPEATS)
    for (beside, _, target), theirs in zip(works[1:], rest, strict=True):
        yield Result(f"{name}, beside {beside}", mine, theirs, target)


def sizes(p: Any) -> Iterator[Result]:
    """What travels there and back for each question."""
    sent: list[int] = []
    run = type(p._table.engine).run

    def spy(self: ClusterEngine, work: Any, names: list[Any], label: str) -> bytes:
        found = run(self, work, names, label)
        sent.extend([len(pickle.dumps(work)), len(found)])
        return found

    type(p._table.engine).run = spy
    for name, ask in engines.ours(p).items():
        sent.clear()
        ask()
        yield Result(f"{name}: bytes of the work", max(sent[::2]), None, None, "B")
        yield Result(f"{name}: bytes of a joined answer", max(sent[1::2]), None, None, "B")
    type(p._table.engine).run = run


def of_dask(ddf: Any) -> dict[str, Work]:
    def positive(numbers: Any) -> Any:
        return numbers.clip(0, 200)

    return {
        "mean": lambda: positive(ddf["x"]).mean().compute(),
        "filtered count": lambda: len(ddf.query("y > 40")),
        "mean of 50 groups": lambda: (
            ddf.assign(x=positive(ddf["x"])).groupby("g")["x"].mean().compute()
        ),
        "median": lambda: ddf["x"].quantile(0.5).compute(),
        "10,000 declared ints": lambda: ddf["k"].value_counts().compute(),
        "undeclared ints": lambda: ddf["k"].value_counts().compute(),
    }


def dask_results(folder: Path) -> Iterator[Result]:
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    ddf = dd.read_parquet(folder)
    started()

    p = protected(ddf)

    def of(where: str) -> Iterator[Result]:
        for name, theirs in of_dask(ddf).items():
            ours = engines.ours(p)[name]
            yield from timed(f"{where}, {name}", [("", ours, None), ("its own", theirs, 1.8)])
        counted = engines.ours(p)["count"]
        yield from timed(
            f"{where}, count", [("", counted, None), ("its metadata", lambda: len(ddf), None)]
        )

    with dask.config.set(scheduler="threads", num_workers=2):
        yield from of("threads")
        yield from sizes(p)
        units = protected(ddf, "units", unit="unit", max_rows=5)
        works = [engines.ours(each)["mean"] for each in (units, p)]
        yield from timed("threads, mean of units", [("", works[0], None), ("rows", works[1], None)])
    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with workers as cluster, Client(cluster):
        yield from of("two processes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache" / "dppandas-bench")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    folder = engines.made(asked.data, 10)
    results = []
    for result in dask_results(folder):
        results.append(result)
        print(" | ".join(result.cells()), flush=True)
    if asked.json:
        lines = [asdict(each) | {"ratio": each.ratio, "met": each.met} for each in results]
        asked.json.write_text(json.dumps(lines, indent=2) + "\n")
    return int(any(each.met is False for each in results))


if __name__ == "__main__":
    sys.exit(main())
