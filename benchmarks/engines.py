"""Questions to Parquet files, beside pandas, Polars and DuckDB on the same files, in one run.

    python benchmarks/engines.py [--large] [--data FOLDER] [--json benchmarks/engines.json]

Files of 10^6 rows are made once and kept (10^7 rows: 0.3 GB; with --large 10^8: 3 GB). Ours and
theirs are timed in turn, after a warm-up, and the median counts. With --large it also measures
memory, disk and units, each in a process of its own. Where a target is missed it exits 1.
benchmarks/README.md explains the lines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from bench_measure import Result, in_turn  # noqa: E402

import dppandas as dp  # noqa: E402

MILLION = 10**6
GROUPS = [f"group {i:02d}" for i in range(50)]
KEYS = list(range(10_000))
BOUNDS = {"bounds": (0, 200), "epsilon": 1, "fresh": True}
NOW = {"epsilon": 1, "fresh": True}
REPEATS = 7

Work = Callable[[], Any]


# --- data -----------------------------------------------------------------------------------------


def made(root: Path, files: int) -> Path:
    """A folder of files, made if it isn't there: visits of units of 1 to 1,000 rows, scattered."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = root / f"visits-{files}"
    folder.mkdir(parents=True, exist_ok=True)
    rows, rng = files * MILLION, np.random.default_rng(7)
    sizes = np.exp(rng.uniform(0, np.log(1000), size=rows // 100)).astype(np.int64)
    ends = np.cumsum(sizes)
    for number in range(files):
        path = folder / f"part-{number:04d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(1000 + number)
        size = MILLION
        x = rng.gamma(2.0, 20.0, size)
        x[rng.random(size) < 0.01] = np.nan
        groups = pa.array(rng.integers(0, 50, size).astype(np.int8))
        table = pa.table({
            "unit": np.searchsorted(ends, rng.integers(0, ends[-1], size), side="right"),
            "x": pa.array(x, mask=rng.random(size) < 0.01),
            "y": rng.normal(50, 20, size),
            "g": pa.DictionaryArray.from_arrays(groups, GROUPS).cast(pa.string()),
            "k": (rng.zipf(1.3, size) % len(KEYS)).astype(np.int32),
        })  # fmt: skip
        parquet.write_table(table, path.with_suffix(".part"), row_group_size=2**20)
        path.with_suffix(".part").rename(path)
    return folder


# --- questions ------------------------------------------------------------------------------------


def ours(d: Any) -> dict[str, Work]:
    return {
        "count": lambda: d.count(**NOW),
        "mean": lambda: d["x"].mean(**BOUNDS),
        "filtered count": lambda: d.query("y > 40").count(**NOW),
        "mean of 50 groups": lambda: d.groupby("g", keys=GROUPS)["x"].mean(**BOUNDS),
        "median": lambda: d["x"].median(**BOUNDS),
        "10,000 declared ints": lambda: d["k"].value_counts(keys=KEYS, **NOW),
        "undeclared ints": lambda: d.groupby("k", delta="1e-9").size(**NOW),
    }


def of_pandas(folder: Path) -> dict[str, Work]:
    """With the read of the columns that a question needs."""

    def read(*columns: str) -> pd.DataFrame:
        return pd.read_parquet(folder, columns=list(columns))

    return {
        "count": lambda: len(read("x")),
        "mean": lambda: read("x")["x"].mean(),
        "filtered count": lambda: len(read("y").query("y > 40")),
        "mean of 50 groups": lambda: read("g", "x").groupby("g")["x"].mean(),
        "median": lambda: read("x")["x"].median(),
        "10,000 declared ints": lambda: read("k")["k"].value_counts(),
    }


def of_polars(folder: Path) -> dict[str, Work]:
    import polars as pl

    def scan() -> Any:
        return pl.scan_parquet(str(folder / "*.parquet"))

    x = pl.col("x")
    return {
        "mean": lambda: scan().select(x.fill_nan(None).mean()).collect(),
        "filtered count": lambda: scan().filter(pl.col("y") > 40).select(pl.len()).collect(),
        "mean of 50 groups": lambda: scan().group_by("g").agg(x.fill_nan(None).mean()).collect(),
        "median": lambda: scan().select(x.fill_nan(None).median()).collect(),
        "10,000 declared ints": lambda: scan().group_by("k").len().collect(),
    }


def of_duckdb(folder: Path) -> dict[str, Work]:
    import duckdb

    connection = duckdb.connect()

    def sql(what: str, rest: str = "") -> Work:
        text = f"select {what} from '{folder}/*.parquet' {rest}"
        return lambda: connection.execute(text).fetchall()

    number = "where x = x"  # NaN is a value there
    return {
        "mean": sql("avg(x)", number),
        "filtered count": sql("count(*)", "where y > 40"),
        "mean of 50 groups": sql("g, avg(x)", f"{number} group by g"),
        "median": sql("median(x)", number),
        "10,000 declared ints": sql("k, count(*)", "group by k"),
        "undeclared ints": sql("k, count(*)", "group by k"),
    }


#: How much of the time of pandas, and of the faster of DuckDB and Polars, we may take.
TARGETS: dict[str, tuple[float | None, float | None]] = {
    "count": (1.2, None), "mean": (1.2, 2), "filtered count": (1.2, 2),
    "mean of 50 groups": (1.2, 2), "median": (1.2, 2), "10,000 declared ints": (2, 3.5),
    "undeclared ints": (None, 3),
}  # fmt: skip


def clock(work: Work) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - start)

    return run


def protected(folder: Path, name: str = "visits", **terms: Any) -> Any:
    dp.reset()
    dp.session(epsilon=10**9, delta="0.01")
    return dp.protect(folder, name=name, **terms)


def beside_others(folder: Path) -> Iterator[Result]:
    d = protected(folder)
    plain, others = of_pandas(folder), [of_polars(folder), of_duckdb(folder)]
    for name, work in ours(d).items():
        theirs = [side[name] for side in (plain, *others) if name in side]
        mine, *rest = in_turn([clock(each) for each in (work, *theirs)], REPEATS)
        of_pandas_too, of_fastest = TARGETS[name]
        if name in plain:
            yield Result(f"{name}, beside pandas", mine, rest.pop(0), of_pandas_too)
        if rest:
            yield Result(f"{name}, beside DuckDB and Polars", mine, min(rest), of_fastest)


# --- size, in processes of their own --------------------------------------------------------------


def private_memory() -> float:
    """MiB of this process that no file backs."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return int(line.split()[1]) / 1024


def spilled() -> int:
    """Bytes of private rows on disk now."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "dppandas", "rows")
    total = 0
    for each in root.rglob("*"):
        try:
            total += each.stat().st_size
        except OSError:
            continue
    return total


SAID = "measured: "


def alone(part: str, folder: Path) -> dict[str, float]:
    """What a part finds in a process of its own."""
    command = [sys.executable, __file__, "--part", part, "--data", str(folder)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(line for line in out.splitlines() if line.startswith(SAID))
    found: dict[str, float] = json.loads(line.removeprefix(SAID))
    return found


def part_of(part: str, folder: Path) -> dict[str, float]:
    """The peak memory and disk of a part, and its times in seconds of processor."""
    import threading

    peak = {"memory": 0.0, "disk": 0.0}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            peak["memory"] = max(peak["memory"], private_memory())
            peak["disk"] = max(peak["disk"], spilled() / 1e9)

    threading.Thread(target=watch, daemon=True).start()
    terms = {"unit": "unit", "max_rows": 5} if part == "units" else {}
    d = protected(folder, **terms)
    found: dict[str, float] = {}
    start = time.perf_counter()
    ours(d)["count"]()
    found["first answer"] = time.perf_counter() - start
    asked = ["mean"] if part == "units" else [name for name in ours(d) if name != "count"]
    for name in asked:
        times = []
        for _ in range(5 if name == "mean" else 1):
            begun = time.process_time()
            ours(d)[name]()
            times.append(time.process_time() - begun)
        found[name] = median(times)
    over.set()
    return found | peak


def of_size(small: Path, middle: Path, large: Path) -> Iterator[Result]:
    plain, units = alone("plain", large), alone("units", large)
    yield Result("10^8 rows, all questions: private memory", plain["memory"], None, 300, "MiB")
    for name in ("mean", "mean of 50 groups", "10,000 declared ints"):
        found = [alone("plain", each)[name] for each in (small, middle)]
        yield Result(
            f"{name}: 10^8 rows beside 10 times 10^7", plain[name], 10 * found[1], 1.3, "s"
        )
        yield Result(f"{name}: 10^7 rows beside 10 times 10^6", found[1], 10 * found[0], 1.3, "s")
    yield Result("units at 10^8: first answer", units["first answer"], None, None, "s")
    yield Result("units at 10^8: private memory", units["memory"], None, 800, "MiB")
    yield Result("units at 10^8: disk", units["disk"], None, 3, "GB")
    yield Result("units at 10^8: later means", units["mean"], plain["mean"], 1.2, "s")


def of_age(folder: Path) -> Iterator[Result]:
    """A session that has answered 400 questions beside one that has answered 100."""
    d = protected(folder)
    ask, times = ours(d)["mean of 50 groups"], []
    for _ in range(400):
        begun = time.process_time()
        ask()
        times.append(time.process_time() - begun)
    late, early = median(times[-100:]), median(times[50:150])
    yield Result("the 400th release beside the 100th", late, early, 1.1, "s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache" / "dppandas-bench")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--part", choices=("plain", "units"))
    asked = parser.parse_args()
    if asked.part:
        print(SAID + json.dumps(part_of(asked.part, asked.data)))
        return 0
    results = []
    middle = made(asked.data, 10)
    parts = [beside_others(middle), of_age(made(asked.data, 1))]
    if asked.large:
        parts.append(of_size(made(asked.data, 1), middle, made(asked.data, 100)))
    for part in parts:
        for result in part:
            results.append(result)
            print(" | ".join(result.cells()), flush=True)
    if asked.json:
        lines = [asdict(each) | {"ratio": each.ratio, "met": each.met} for each in results]
        asked.json.write_text(json.dumps(lines, indent=2) + "\n")
    return int(any(each.met is False for each in results))


if __name__ == "__main__":
    sys.exit(main())
