"""How the benchmarks of speed measure: calls in turn, medians, and a line of the table for each."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import dppandas as dp

Work = Callable[[], Any]
#: Something that runs once, here or elsewhere, and tells its milliseconds.
Clock = Callable[[], float]


@dataclass
class Result:
    """One line of the table; the target is a ratio where there are theirs, else in the unit."""

    name: str
    ours: float
    theirs: float | None
    target: float | None
    unit: str = "ms"

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    @property
    def met(self) -> bool | None:
        measured = self.ours if self.ratio is None else self.ratio
        return None if self.target is None else measured <= self.target

    def cells(self) -> list[str]:
        unit = self.unit if self.ratio is None else "×"
        return [
            self.name,
            _shown(self.ours, self.unit),
            _shown(self.theirs, self.unit),
            _shown(self.ratio, "×"),
            "reported" if self.target is None else f"≤ {self.target:g} {unit}",
            {None: "", True: "yes", False: "NO"}[self.met],
        ]


def _shown(number: float | None, unit: str) -> str:
    if number is None:
        return ""
    return f"{number:.3g} {unit}" if number < 100 else f"{number:.0f} {unit}"


def timed(work: Work, calls: int = 1) -> float:
    """Milliseconds of a call, in a session of its own."""
    dp.reset()
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return 1000 * (time.perf_counter() - start) / calls


def in_turn(clocks: list[Clock], repeats: int) -> list[float]:
    """The median of each, after a warm-up: all meet the same weather on the machine."""
    for clock in clocks:
        clock()
    rounds = [[clock() for clock in clocks] for _ in range(repeats)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


#: Who else does it, how long it takes them, and how much of that we may take.
Others = dict[str, tuple[Clock, float | None]]


def beside(name: str, ours: Work, others: Others, repeats: int) -> list[Result]:
    """Ours against several others; each target is a ratio."""
    clocks = [clock for clock, _ in others.values()]
    mine, *theirs = in_turn([partial(timed, ours), *clocks], repeats)
    told = zip(others.items(), theirs, strict=True)
    return [Result(f"{name} / {who}", mine, time, target) for (who, (_, target)), time in told]


def versus(
    name: str, ours: Work, theirs: Work, target: float | None, repeats: int = 5, calls: int = 1
) -> Result:
    """Ours against theirs, in turn; the target is a ratio."""
    clocks = [partial(timed, work, calls) for work in (ours, theirs)]
    return Result(name, *in_turn(clocks, repeats), target)


def alone(name: str, ours: Work, target: float, calls: int = 1, repeats: int = 5) -> Result:
    """Ours alone; the target is in milliseconds a call."""
    (mine,) = in_turn([partial(timed, ours, calls)], repeats)
    return Result(name, mine, None, target)
