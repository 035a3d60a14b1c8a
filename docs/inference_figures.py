"""Writes the tables of measured figures in docs/inference.md, from benchmarks/inference.json.

``python docs/inference_figures.py`` makes them anew, after ``make bench-inference``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE / "inference.md"
FIGURES = HERE.parent / "benchmarks" / "inference.json"
Line = dict[str, Any]


def figures() -> dict[str, list[Line]]:
    """What was measured, by the benchmark's names."""
    found: dict[str, list[Line]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def percent(share: float) -> str:
    """Rounded to two digits, and below 10 % to a tenth."""
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def both(line: Line, side: str) -> str:
    """How often a test is significant at .05, and at .01."""
    return ", ".join(map(percent, line[side]))


def sample(line: Line) -> str:
    return f"{line['size']:,}{' an arm' if line['arms'] == 2 else ''}"


def alarms(found: dict[str, list[Line]]) -> list[list[str]]:
    """Where the noise is large enough to be mistaken for an effect."""
    return [
        [line["test"], sample(line), f"{line['epsilon']:g}", both(line, "answers"),
         both(line, "noise")]
        for line in found["nulls"] if line["size"] < 1000 or line["epsilon"] < 1
    ]  # fmt: skip


def sizes(found: dict[str, list[Line]]) -> list[list[str]]:
    return [
        [f"`{line['ours']}`", sample(line), f"{line['epsilon']:g}", both(line, "rows"),
         both(line, "noise"), f"{line['draws']:,}"]
        for line in found["nulls"]
    ]  # fmt: skip


#: The names of tests in what `inference_tables.py` measures.
OF_TABLES = {
    "chi2": "chi2_contingency", "fit": "chisquare", "two-sided": "fisher_exact",
    "greater": "fisher_exact",
}  # fmt: skip
RATES = re.compile(r"([\d.]+) / ([\d.]+) \(scipy on the released: ([\d.]+)")


def rates(found: dict[str, list[Line]]) -> dict[str, list[tuple[float, float, float]]]:
    """For tests of groups, correlations and small tables, how often each setting was significant at
    .05, at .01, and at .05 without the noise."""
    made: dict[str, list[tuple[float, float, float]]] = {}
    for row in found["inference_groups"]:
        if (seen := RATES.match(row["figure"])) and row["what"].endswith(": size"):
            large, small, plain = map(float, seen.groups())
            made.setdefault(row["what"].split(",")[0], []).append((large, small, plain))
    rows = [row for row in found["inference_tables"] if ": power" not in row["what"]]
    for each in zip(*[iter(rows)] * 3, strict=True):
        name = OF_TABLES[each[0]["what"].split()[0]]
        large, small, plain = (row["figure"] for row in each)
        made.setdefault(name, []).append((large, small, plain))
    return made


def ranges(found: dict[str, list[Line]]) -> list[list[str]]:
    return [
        [f"`{name}`", f"{len(each)}", *(between(side) for side in zip(*each, strict=True))]
        for name, each in rates(found).items()
    ]


def between(shares: tuple[float, ...]) -> str:
    """The least and the largest of some rates."""
    return f"{percent(min(shares))[:-2]} to {percent(max(shares))}"


def powers(found: dict[str, list[Line]]) -> list[list[str]]:
    return [
        [f"`{line['ours']}`", sample(line), percent(line["rows"][0]), percent(line["noise"][0])]
        for line in found["effects"]
    ]


def winners(found: dict[str, list[Line]]) -> list[list[str]]:
    return [
        [line["winner"], line["interval"], line["about"], percent(line["holds"])]
        for line in found["winners"]
    ]


#: By its line of columns, what is in a table.
TABLES: dict[tuple[str, ...], Callable[[dict[str, list[Line]]], list[list[str]]]] = {
    ("question", "rows", "ε", "scipy, statsmodels", "`dp.stats`"): alarms,
    ("test", "rows", "ε", "of the rows", "with noise", "draws"): sizes,
    ("test", "settings", "at 5 %", "at 1 %", "scipy, at 5 %"): ranges,
    ("test", "rows", "of the rows", "with noise"): powers,
    ("winner", "interval", "about", "holds"): winners,
}


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def page(text: str) -> str:
    """The page with its tables made anew: each begins at its line of columns."""
    found = figures()
    for columns, made in TABLES.items():
        before, head, after = text.partition(line([*columns]))
        if not head:
            raise ValueError(f"{PAGE.name} has no table of {', '.join(columns)}")
        rest = re.sub(r"\A(\|.*\n)*", "", after)
        text = (
            before + head + f"|{'---|' * len(columns)}\n" + "".join(map(line, made(found))) + rest
        )
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
