"""What the benchmark of models asks, and how wrong an answer is, by numpy alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


class Rows:
    """Bounded rows, of which k centres are found."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.name: str = facts["name"]
        self.task: str = facts["task"]
        self.k: int = facts["k"]
        self.bounds = [tuple(map(float, pair)) for pair in facts["bounds"]]
        self.low, self.high = np.array(self.bounds).T
        self.rows = np.array(facts["rows"], dtype=float).clip(self.low, self.high)
        self.names = [f"x{i}" for i in range(len(self.bounds))]

    def scaled(self, rows: Any) -> Any:
        """In [-1, 1] each."""
        return (np.asarray(rows) - self.low) / (self.high - self.low) * 2 - 1

    def error(self, centres: Any) -> float:
        """The mean squared distance of rows to the nearest centre."""
        away = self.scaled(self.rows)[:, None] - self.scaled(centres)[None]
        return float((away**2).sum(axis=2).min(axis=1).mean())


Contenders = dict[str, Callable[[Rows], Any]]


def measured(
    data: list[dict[str, Any]], asks: Contenders, repeats: int
) -> dict[str, dict[str, list[float]]]:
    """The errors of each contender, by data."""
    found: dict[str, dict[str, list[float]]] = {}
    for who, ask in asks.items():
        found[who] = {}
        for d in map(Rows, data):
            found[who][d.name] = errors = [d.error(ask(d)) for _ in range(repeats)]
            print(who, d.name, np.mean(errors), file=sys.stderr, flush=True)
    return found


def main(asks: Callable[[float], Contenders]) -> None:
    """For a contender with an environment of its own: a file of facts in, errors out."""
    facts = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    print(json.dumps(measured(facts["data"], asks(facts["epsilon"]), facts["repeats"])))
