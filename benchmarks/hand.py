"""What a hand feels: each row beside who does the same, and beside an older checkout, in one run.

    python benchmarks/hand.py [--before CHECKOUT] [--only ROW ...] [--quick] [--json FILE]
        [--diffprivlib PYTHON]

Ours, what it was before, and theirs are processes that take turns, a task at a time: processor time
of all threads, medians of at least seven turns, after a warm-up. Peaks are megabytes of a fresh
process. A target is a share of theirs, or of what it was before. benchmarks/README.md explains the
lines. Where a target is missed it exits 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]  # measure this copy, installed or not

from bench_facts import commit, facts  # noqa: E402
from bench_table import markdown  # noqa: E402
from hand_rows import ROWS, Row  # noqa: E402

#: Turns of short and of long calls, and which are long: from so many milliseconds on.
TURNS, FEW_TURNS, LONG = 15, 7, 200.0
PEAKS = 3
#: A turn of short calls takes so many milliseconds, if that isn't more than so many calls.
A_TURN, CALLS = 25.0, 100
QUICK_TURNS = 3
SIDES = ("before", "ours", "theirs")

Clock = Callable[[], float]


class Failed(Exception):
    """A side can't do it: an older checkout may not know the question."""


@dataclass
class Found:
    """A line of the table. Milliseconds of processor, or megabytes."""

    name: str
    unit: str
    target: float | None
    of: str
    before: float | None = None
    ours: float | None = None
    theirs: float | None = None
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return _ratio(self.ours, self.theirs)

    @property
    def change(self) -> float | None:
        return _ratio(self.ours, self.before)

    @property
    def met(self) -> bool | None:
        measured = self.ours
        if self.unit != "MB":
            measured = self.ratio if self.of == "theirs" else self.change
        return None if self.target is None or measured is None else measured <= self.target

    def cells(self) -> list[str]:
        share = {"theirs": "× theirs", "before": "× before"}[self.of]
        unit = self.unit if self.unit == "MB" else share
        return [
            self.name,
            *(self._cell(side) for side in SIDES),
            _shown(self.ratio, "×"),
            _shown(self.change, "×"),
            "" if self.target is None else f"≤ {self.target:g} {unit}",
            {None: "", True: "yes", False: "NO"}[self.met],
        ]

    def _cell(self, side: str) -> str:
        return "failed" if side in self.failures else _shown(getattr(self, side), self.unit)


def _ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or not other else one / other


def _shown(number: float | None, unit: str) -> str:
    if number is None:
        return ""
    return f"{number:.3g} {unit}" if abs(number) < 100 else f"{number:.0f} {unit}"


# --- who takes turns ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """Where each side runs."""

    before: Path | None
    diffprivlib: str | None
    quick: bool

    def command(self, side: str, name: str, row: Row) -> list[str] | None:
        """Of a side's process; None if there is no such side."""
        python, script = sys.executable, "hand_worker.py"
        which = "peak" if row.measure == "peak" else "ours"
        if side == "before" and self.before is None:
            return None
        if side == "theirs":
            which = "theirs"
            if row.peer == "diffprivlib":
                if self.diffprivlib is None:
                    return None
                python, script = self.diffprivlib, "hand_diffprivlib.py"
            elif row.theirs is None:
                return None
        return [python, str(HERE / script), name, which, str(self.rows(row))]

    def rows(self, row: Row) -> int:
        return row.rows // 10 if self.quick and row.rows > 10**5 else row.rows

    def environment(self, side: str) -> dict[str, str]:
        checkout = self.before if side == "before" and self.before else HERE.parent
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled once, before they count
        return environment


class Worker:
    """A process that takes a turn when told how many calls it has."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.calls = 1

    def _read(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline().rstrip()
        if not line or line.startswith("!"):
            raise Failed(line.removeprefix("! ") or "its process ended: see above")
        return line

    def turn(self) -> float:
        assert self._process.stdin
        print(self.calls, file=self._process.stdin, flush=True)
        return float(self._read())

    def warm_up(self) -> float:
        """Twice: what is made once isn't what a turn is to be like."""
        self._read()  # it says when its data are there
        self.turn()
        taken = self.turn()
        self.calls = max(1, min(CALLS, math.ceil(A_TURN / max(taken, 0.01))))
        return taken


@contextlib.contextmanager
def working(command: list[str], environment: dict[str, str]) -> Iterator[Worker]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield Worker(process)


# --- measuring ----------------------------------------------------------------------------------


def timed(name: str, row: Row, setup: Setup) -> Found:
    found = Found(name, "ms", row.target, row.of)
    commands = {side: setup.command(side, name, row) for side in SIDES}
    with contextlib.ExitStack() as stack:
        clocks: dict[str, Clock] = {}
        longest = 0.0
        for side, command in commands.items():
            if command is None:
                continue
            worker = stack.enter_context(working(command, setup.environment(side)))
            try:
                longest = max(longest, worker.warm_up())
            except Failed as problem:
                found.failures[side] = str(problem)
            else:
                clocks[side] = worker.turn
        turns = FEW_TURNS if longest >= LONG else TURNS
        _fill(found, _in_turn(clocks, QUICK_TURNS if setup.quick else turns))
    return found


def _in_turn(clocks: dict[str, Clock], turns: int) -> dict[str, float]:
    rounds = [{side: clock() for side, clock in clocks.items()} for _ in range(turns)]
    return {side: statistics.median(each[side] for each in rounds) for side in clocks}


def _fill(found: Found, medians: dict[str, float]) -> None:
    for side, median in medians.items():
        setattr(found, side, median)


def grown(name: str, row: Row, setup: Setup) -> Found:
    """Peaks of fresh processes, in turn."""
    found = Found(name, "MB", row.target, row.of)
    commands = {side: setup.command(side, name, row) for side in ("before", "ours")}
    clocks: dict[str, Clock] = {
        side: lambda side=side, command=command: float(_said(command, setup.environment(side)))
        for side, command in commands.items()
        if command is not None
    }
    _fill(found, _in_turn(clocks, 1 if setup.quick else PEAKS))
    return found


def _said(command: list[str], environment: dict[str, str]) -> str:
    said = subprocess.check_output(command, env=environment, text=True).strip()
    if said.startswith("!"):
        raise Failed(said)
    return said


FIRST_ANSWER = """
from time import process_time
start = process_time()
import pandas
imported = process_time()
df = pandas.DataFrame({"x": range(1000)})
begun = process_time()
import dppandas
df.dp.count(epsilon=0.1)
print(imported - start, process_time() - begun)
"""


def first_answer(name: str, row: Row, setup: Setup) -> Found:
    """Fresh processes: the import and a first count, and pandas' import in the same ones."""
    found = Found(name, "ms", row.target, row.of)
    # -P: the folder that this runs in isn't to come before the checkout
    command = [sys.executable, "-P", "-W", "ignore", "-c", FIRST_ANSWER]
    pandas: list[float] = []

    def clock(side: str) -> float:
        theirs, ours = map(float, _said(command, setup.environment(side)).split())
        pandas.append(1000 * theirs)
        return 1000 * ours

    sides = ["before", "ours"] if setup.before else ["ours"]
    clocks: dict[str, Clock] = {side: lambda side=side: clock(side) for side in sides}
    _in_turn(clocks, 1)  # all is compiled then
    pandas.clear()
    _fill(found, _in_turn(clocks, QUICK_TURNS if setup.quick else TURNS))
    found.theirs = statistics.median(pandas)
    return found


MEASURES = {"time": timed, "peak": grown, "first answer": first_answer}


def measured(name: str, setup: Setup) -> Found:
    row = ROWS[name]
    return MEASURES[row.measure](name, row, setup)


# --- the table ----------------------------------------------------------------------------------

HEAD = ["", "before", "now", "theirs", "now / theirs", "now / before", "target", "met"]


def asked() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--before", type=Path, help="a checkout of an older commit")
    parser.add_argument("--only", nargs="+", help="rows whose names contain one of these texts")
    parser.add_argument("--quick", action="store_true", help="fewer rows and turns: a first look")
    parser.add_argument("--json", type=Path, help="where to save the figures")
    parser.add_argument("--diffprivlib", help="a Python that has it; without, it is left out")
    return parser.parse_args()


def main() -> int:
    options = asked()
    setup = Setup(options.before and options.before.resolve(), options.diffprivlib, options.quick)
    names = [name for name in ROWS if any(text in name for text in options.only or [""])]
    about = facts("pandas", "numpy", "pyarrow", "duckdb")
    about["before"] = commit(setup.before) if setup.before else None
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    found = []
    for name in names:
        found.append(measured(name, setup))
        print(" | ".join(found[-1].cells()), *found[-1].failures.values(), file=sys.stderr)
    print("\n" + markdown(HEAD, [each.cells() for each in found]))
    if options.json:
        lines = [
            {**asdict(each), "ratio": each.ratio, "change": each.change, "met": each.met}
            for each in found
        ]
        options.json.write_text(json.dumps({**about, "rows": lines}, indent=1) + "\n")
    missed = [each.name for each in found if each.met is False]
    if missed:
        print("\n  ".join([f"\n{len(missed)} missed:", *missed]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
