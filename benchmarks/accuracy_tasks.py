"""What the accuracy benchmark asks, and how wrong an answer is, by numpy alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

NINE = [i / 10 for i in range(1, 10)]
TASKS = ("count", "mean", "variance", "median", "nine quantiles", "histogram", "top-1")


class Data:
    """A bounded column of numbers and a column of labels, about the same people."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.name: str = facts["name"]
        self.x = np.array(facts["x"], dtype=float)
        self.labels = np.array(facts["labels"])
        self.bounds: tuple[float, float] = tuple(facts["bounds"])
        self.keys: list[int] = list(facts["keys"])
        self.middle = (self.bounds[0] + self.bounds[1]) / 2
        self.clipped = np.sort(self.x.clip(*self.bounds))
        self.counts = np.array([(self.labels == key).sum() for key in self.keys])

    def rank_error(self, value: float, q: float) -> float:
        """How many rows a value lies away from a quantile."""
        n = len(self.clipped)
        below = np.searchsorted(self.clipped, value, "left")
        up_to = np.searchsorted(self.clipped, value, "right")
        return float(max(0.0, below - q * n, q * n - up_to))

    def error(self, task: str, answer: Any) -> float:
        """How wrong an answer is: squared for what is averaged as a root of a mean square."""
        if task == "count":
            return float((answer - (self.x > self.middle).sum()) ** 2)
        if task == "mean":
            return float((answer - self.clipped.mean()) ** 2)
        if task == "variance":
            return float((answer - self.clipped.var()) ** 2)
        if task == "median":
            return self.rank_error(answer, 0.5)
        if task == "nine quantiles":
            pairs = zip(answer, NINE, strict=True)
            return float(np.mean([self.rank_error(value, q) for value, q in pairs]))
        if task == "histogram":
            return float(np.mean((np.asarray(answer) - self.counts) ** 2))
        return float(self.counts.max() - self.counts[self.keys.index(answer)])

    def errors(self, ask: Callable[[Data], Any], task: str, repeats: int) -> tuple[float, float]:
        """The error over many answers, and its standard error as a share of it."""
        found = np.array([self.error(task, ask(self)) for _ in range(repeats)])
        mean = found.mean()
        share = float(found.std() / np.sqrt(repeats) / mean) if mean else 0.0
        return (float(np.sqrt(mean)), share / 2) if task in SQUARED else (float(mean), share)


SQUARED = ("count", "mean", "variance", "histogram")
Contender = dict[str, Callable[[Data], Any]]


#: Quantiles cost some contenders a second: so many times fewer answers.
SLOW = {"median": 5, "nine quantiles": 20}
Measured = dict[str, dict[str, tuple[float, float]]]


def measured(data: list[Data], asks: Contender, repeats: int) -> Measured:
    """Data by task: the errors of one contender, and their standard errors."""
    return {
        each.name: {
            task: each.errors(ask, task, max(20, repeats // SLOW.get(task, 1)))
            for task, ask in asks.items()
        }
        for each in data
    }


def main(asks: Callable[[float], Contender]) -> None:
    """For a contender with an environment of its own: a file of facts in, errors out."""
    facts = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    data = [Data(each) for each in facts["data"]]
    print(json.dumps(measured(data, asks(facts["epsilon"]), facts["repeats"])))
