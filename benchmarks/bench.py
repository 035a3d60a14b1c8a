"""How fast dppandas is: each speed target beside plain pandas or a peer, in one run.

    python benchmarks/bench.py [--rows 10_000_000] [--json benchmarks/results.json] [--quick]
        [--only PART ...] [--diffprivlib PYTHON]

Ours and theirs are timed in turn, so that both meet the same weather on the machine: several times
each after a warm-up, and the median counts. The figures are printed as a table and saved as JSON.
Where a target is missed it exits 1. benchmarks/README.md explains the lines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # measure this copy, installed or not

import bench_facts  # noqa: E402
from bench_display import on_display  # noqa: E402
from bench_histories import on_histories  # noqa: E402
from bench_measure import Result  # noqa: E402
from bench_memory import on_memory  # noqa: E402
from bench_peers import Diffprivlib, diffprivlib, on_peers  # noqa: E402
from bench_rows import on_protect, on_rows, table  # noqa: E402
from bench_small import on_latency, on_noise, on_selections  # noqa: E402
from bench_table import markdown  # noqa: E402
from bench_verbs import on_verbs  # noqa: E402

import dppandas as dp  # noqa: E402

PARTS = (
    "latency", "noise", "selections", "display", "peers", "memory", "protect", "rows", "verbs",
    "histories",
)  # fmt: skip


def measured(part: str, rows: int, quick: bool, peer: Diffprivlib | None) -> Iterator[Result]:
    if part == "latency":
        return on_latency(5 if quick else 15)
    if part == "peers":
        return on_peers(peer, quick)
    if part == "memory":
        return on_memory()
    if part == "histories":
        return on_histories(rows=10**5 if quick else 10**6)
    if part == "rows":
        return on_rows(table(rows))
    others = {"noise": on_noise, "selections": on_selections, "protect": on_protect}
    others["verbs"] = on_verbs
    return {**others, "display": on_display}[part]()


def facts(rows: int, peer: Diffprivlib | None) -> dict[str, Any]:
    """What the figures depend on, and nothing that tells whose machine it was."""
    packages = ("pandas", "numpy", "pyarrow", "opendp")
    return {
        "dppandas": dp.__version__,
        **bench_facts.facts(*packages),
        "diffprivlib": peer.version if peer else None,
        "rows": rows,
    }


HEAD = ["", "ours", "theirs", "ratio", "target", "met"]


def asked() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path, help="where to save (benchmarks/results.json)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, not saved")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="not saved")
    parser.add_argument(
        "--diffprivlib", help="a Python that has it; without, its lines are left out"
    )
    return parser.parse_args()


def main() -> int:
    options = asked()
    rows = options.rows // 10 if options.quick else options.rows
    parts = options.only or PARTS
    wanted = options.diffprivlib if "peers" in parts else None
    with diffprivlib(wanted) if wanted else contextlib.nullcontext() as peer:
        about = facts(rows, peer)
        print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
        results = [r for part in parts for r in measured(part, rows, options.quick, peer)]
    print(markdown(HEAD, [result.cells() for result in results]))
    path = options.json or (None if options.quick or options.only else HERE / "results.json")
    if path:
        lines = [{**asdict(r), "ratio": r.ratio, "met": r.met} for r in results]
        path.write_text(json.dumps({**about, "results": lines}, indent=1) + "\n")
    missed = [result.name for result in results if result.met is False]
    if missed:
        print("\n  ".join([f"\n{len(missed)} missed:", *missed]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
