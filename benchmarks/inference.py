"""How often tests of released answers are wrong, and how often they find what is there.

    python benchmarks/inference.py [--quick] [--json FILE]

First tests of scipy and statsmodels on released numbers, beside those of `dppandas.stats` on the
same releases and tests of the rows themselves: how often each is significant at .05 and at .01
where nothing differs, and how often at .05 where something does. Then intervals of a label that
won, and then what `inference_groups.py`, `inference_tables.py`, `inference_blocks.py` and
`inference_plan.py` measure, which can be run in full by themselves. At the end stands what misses
its target.

An exact test has a false alarm in at most 5 % and 1 % of all samples: of 20,000 draws more than
5.73 % and 1.33 % would be one chance in a million. Approximate tests have no target. At 1,000 rows
and ε = 1 a test has at most .07 less power than one of the rows. ``--quick`` takes a twentieth of
the draws and leaves out planned power, for a first look.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import inference_answers as answers  # noqa: E402
import inference_winners as winners  # noqa: E402
import inference_workers as workers  # noqa: E402
import pandas as pd  # noqa: E402

#: What else is measured, and which share of its draws is enough here. Each has `rows`: what it is,
#: the figure, and its target.
MORE = {
    "inference_groups": 0.2, "inference_tables": 0.5, "inference_blocks": 1.0,
}  # fmt: skip
#: What takes long however few draws it has, and has processes of its own.
LONG, OF_LONG = "inference_plan", 0.125
QUICK = 1 / 20
#: So many deviations above a level an exact test has once in a million.
FAR = 4.75
#: At most so much less power than a test of the rows.
POWER = 0.07
EXACT = ("a share of ½",)
Line = dict[str, Any]


def measured(share: float) -> dict[str, list[Line]]:
    """All figures, with a share of the draws."""
    waiting = {
        name: workers.started(f"{name}.rows", [(share * of_these,)])[0]
        for name, of_these in MORE.items()
    }
    lines = answers.measured(share)
    found = {
        "nulls": [line for line in lines if not line["effect"]],
        "effects": [line for line in lines if line["effect"]],
        "winners": winners.measured(share),
    }
    columns = ("what", "figure", "target")
    rows = {name: each.result() for name, each in waiting.items()}
    if share == 1:
        rows[LONG] = importlib.import_module(LONG).rows(OF_LONG)
    made = {n: [dict(zip(columns, r, strict=True)) for r in each] for n, each in rows.items()}
    return found | made


def missed(found: dict[str, list[Line]]) -> list[str]:
    """What isn't as it is meant to be, by more than chance."""
    said = []
    for line in found["nulls"]:
        for level, rate in zip(answers.LEVELS, line["noise"], strict=True):
            limit = level + FAR * math.sqrt(level * (1 - level) / line["draws"])
            if line["test"] in EXACT and rate > limit:
                said.append(f"{line['ours']}, {setting(line)}: {rate:.4f} at {level}")
    for line in found["effects"]:
        ours, theirs = line["noise"][0], line["rows"][0]
        if ours < theirs - POWER - FAR * math.sqrt(0.3 / line["draws"]):
            said.append(f"{line['ours']}, {setting(line)}: power {ours:.3f}, of rows {theirs:.3f}")
    for line in found["winners"]:
        limit = 0.95 - FAR * math.sqrt(0.05 * 0.95 / line["draws"])
        if line["is_meant_to_hold"] and line["holds"] < limit:
            said.append(f"{line['interval']}, {line['about']}: holds in {line['holds']:.3f}")
    return said


def setting(line: Line) -> str:
    """The rows and the loss of a line."""
    arms = "" if line["arms"] == 1 else " an arm"
    return f"{line['size']:,} rows{arms}, ε = {line['epsilon']:g}"


def tables(found: dict[str, list[Line]]) -> dict[str, pd.DataFrame]:
    """What is printed, by its title."""
    made = {}
    for name, levels in (("nulls", (0, 1)), ("effects", (0,))):
        lines = [
            {"test": line["test"], "sample": setting(line)}
            | {
                f"{says}, {answers.LEVELS[at]:g}": f"{line[side][at]:.3f}"
                for side, says in answers.SIDES.items()
                for at in levels
            }
            for line in found[name]
        ]
        made[TITLES[name]] = pd.DataFrame(lines)
    columns = ["winner", "interval", "about", "holds"]
    made[TITLES["winners"]] = pd.DataFrame(found["winners"])[columns]
    for name in [each for each in (*MORE, LONG) if each in found]:
        made[name.removeprefix("inference_")] = pd.DataFrame(found[name])
    return made


TITLES = {
    "nulls": "how often tests are significant where nothing differs",
    "effects": "and where something does",
    "winners": "how often 95 % intervals of a label that won hold",
}


def main() -> int:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    said = parser.parse_args()
    start = time.perf_counter()
    found = measured(QUICK if said.quick else 1.0)
    for title, table in tables(found).items():
        print(f"\n{title}\n\n{table.to_string(index=False)}")
    took, used = time.perf_counter() - start, workers.stopped()
    print(f"\n{took:.0f} seconds, {used:.0f} of processors")
    if said.json:
        said.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lacking = missed(found)
    if lacking:
        print(f"\n{len(lacking)} missed:", *(f"  {each}" for each in lacking), sep="\n")
    return bool(lacking)


if __name__ == "__main__":
    sys.exit(main())
