"""Questions to Parquet files beside OpenDP on Polars, and to rows in memory beside PipelineDP.

    python benchmarks/peers.py [--data FOLDER] [--json FILE]

The files are those of benchmarks/engines.py: 10^7 rows for OpenDP. PipelineDP takes rows one by one
in Python, so it gets 10^5 of them, with its local backend. All answers have ε = 1 and Laplace
noise; OpenDP's are of rows, PipelineDP's of units with one row each, and ours the same. Ours and
theirs are timed in turn, after a warm-up, and the median counts. Nothing here is a target.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not

import engines  # noqa: E402
from bench_measure import Result, in_turn  # noqa: E402

Work = Callable[[], Any]
ROWS = 100_000
REPEATS = 3


def of_opendp(folder: Path) -> dict[str, Work]:
    """Each question in a context of its own, as a context refuses all after its budget is spent."""
    import opendp.prelude as odp
    import polars as pl

    odp.enable_features("contrib")
    rows = pl.scan_parquet(folder / "*.parquet")
    any_group = {"max_length": 10**9}
    margins = [
        odp.polars.Margin(by=[], **any_group),
        odp.polars.Margin(by=["g"], invariant="keys", max_groups=50, **any_group),
    ]
    total = pl.col("x").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 200.0))

    def context() -> Any:
        return odp.Context.compositor(
            data=rows, privacy_unit=odp.unit_of(contributions=1),
            privacy_loss=odp.loss_of(epsilon=1.0), split_evenly_over=1, margins=margins,
        )  # fmt: skip

    def released(query: Any) -> Any:
        return query.release().collect()

    return {
        "count": lambda: released(context().query().select(odp.len())),
        "mean": lambda: released(context().query().select(total, odp.len())),
        "mean of 50 groups": lambda: released(
            context().query().group_by("g").agg(total, odp.len())
        ),
    }


def beside_opendp(folder: Path) -> Iterator[Result]:
    ours = engines.ours(engines.protected(folder))
    for name, theirs in of_opendp(folder).items():
        mine, other = in_turn([engines.clock(ours[name]), engines.clock(theirs)], REPEATS)
        yield Result(f"{name} of 10^7 rows, beside OpenDP", mine, other, None)


def of_pipeline_dp(rows: list[tuple[int, str, float]]) -> Any:
    """Count and mean of 50 public groups, of units with one row each."""
    import pipeline_dp as pdp

    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-9)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    asked = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.LAPLACE, metrics=[pdp.Metrics.MEAN], max_partitions_contributed=1,
        max_contributions_per_partition=1, min_value=0, max_value=200,
    )  # fmt: skip
    parts = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )  # fmt: skip
    found = engine.aggregate(rows, asked, parts, public_partitions=engines.GROUPS)
    accountant.compute_budgets()
    return list(found)


def beside_pipeline_dp(folder: Path) -> Iterator[Result]:
    import pandas as pd

    import dppandas as dp

    frame = pd.read_parquet(sorted(folder.glob("*.parquet"))[0], columns=["g", "x"])
    frame = frame.dropna().iloc[:ROWS].assign(unit=range(ROWS))
    dp.reset()
    dp.session(epsilon=10**9)
    p = dp.protect(frame, name="rows", unit="unit", max_rows=1)
    rows = list(zip(frame["unit"], frame["g"], frame["x"], strict=True))
    groups: dict[str, Any] = {"by": "g", "keys": engines.GROUPS}
    mine, other = in_turn([
        engines.clock(lambda: p.groupby(**groups)["x"].mean(**engines.BOUNDS)),
        engines.clock(lambda: of_pipeline_dp(rows)),
    ], REPEATS)  # fmt: skip
    yield Result("mean of 50 groups of 10^5 units, beside PipelineDP", mine, other, None)


def main() -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache" / "dppandas-bench")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    folder = engines.made(asked.data, 10)
    results = []
    for results_of in (beside_opendp, beside_pipeline_dp):
        for result in results_of(folder):
            results.append(result)
            print(" | ".join(result.cells()), flush=True)
    if asked.json:
        lines = [asdict(each) | {"ratio": each.ratio, "met": each.met} for each in results]
        asked.json.write_text(json.dumps(lines, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
