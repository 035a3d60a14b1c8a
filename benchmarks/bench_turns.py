"""How a task of benchmarks/hand.py is measured, in a process of its own that waits for its turn.

A line in, the calls that a turn has; a line out, the milliseconds of processor that a call took, of
all threads together. Nothing here needs dppandas: diffprivlib's process uses it, too.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Work = Callable[[], Any]


def nothing() -> None:
    """What most peers need before a turn."""


@dataclass
class Task:
    """Work, and what is made ready before each turn of it, which isn't timed."""

    work: Work
    before: Work = nothing

    def turn(self, calls: int) -> float:
        """Milliseconds of processor of one of so many calls."""
        self.before()
        start = time.process_time()
        for _ in range(calls):
            self.work()
        return 1000 * (time.process_time() - start) / calls


@dataclass
class Difference:
    """What one task takes more than another: both of the same calls, in turn."""

    more: Task
    less: Task

    def turn(self, calls: int) -> float:
        return self.more.turn(calls) - self.less.turn(calls)


AnyTask = Task | Difference


def serve(task: AnyTask, turns: Iterable[str] = sys.stdin) -> None:
    """A turn whenever a line says how many calls it has. An error is told in one line."""
    answers = sys.stdout
    gc.collect()
    gc.freeze()  # modules and data: no turn is to walk through them
    for line in turns:
        try:
            with redirect_stdout(sys.stderr):
                said = str(task.turn(int(line)))
        except Exception as problem:
            said = failure(problem)
        print(said, file=answers, flush=True)


def failure(problem: BaseException) -> str:
    return f"! {type(problem).__name__}: {' '.join(str(problem).split())[:200]}"


def peak() -> float:
    """The megabytes that this process has had at most. Linux's ru_maxrss won't do: a process
    begins with that of the one that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def forget_peak() -> None:
    """What the process has now is the most it has had. Only Linux can, and without it the making
    of data hides what is smaller."""
    marks = Path("/proc/self/clear_refs")
    if marks.exists():
        marks.write_text("5")
