"""The same questions to dppandas and to its peers at equal ε: how long they take and how far off
they are, on made-up rows and on rows of a census, in one table.

    python benchmarks/peers.py [--diffprivlib PYTHON] [--opendp PYTHON] [--google PYTHON]
        [--smartnoise PYTHON] [--quick] [--json FILE] [--readme]
    python benchmarks/peers.py --json FILE --readme --no-run      writes README.md anew

Each peer is a process in its own environment, and all take turns, question by question. Times are
processor time of all threads, medians of at least seven turns, or of as many as fit into two
seconds. Errors are roots of mean squares, of medians mean distances in rows, over 200 answers or as
many as fit, with two standard errors as what chance may have made of their ratio. A peer that isn't
there or fails is left out, with a line that says so. --readme writes README.md's table and what it
says of the run, from the JSON. benchmarks/peers_rows.py tells what is asked, of which rows.
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
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]  # measure this copy, installed or not

import numpy as np  # noqa: E402
from bench_facts import facts, processor  # noqa: E402
from bench_table import markdown  # noqa: E402
from peers_asks import AGAIN  # noqa: E402
from peers_rows import CENSUS, EPSILON, MAKERS, QUESTIONS, Rows, save  # noqa: E402

ROWS = (10**5, 10**6)
QUICK_ROWS = (10**4,)
#: Whoever takes longer than so many seconds for a question has fewer turns and answers than the
#: others, and only one turn if a call takes that long.
SECONDS = 2.0
TURNS, ANSWERS = 7, 200
QUICK_ANSWERS = 50
#: A turn of short calls takes so many milliseconds, if that isn't more than so many calls.
A_TURN, CALLS = 25.0, 50
#: From fewer numbers than these no error is told.
ENOUGH = 20


@dataclass(frozen=True)
class Who:
    """A peer: its function of peers_asks.py, its package and module, whose environment it is in,
    and who its neighbours are: "" where they are as ours, which add or remove a row."""

    asks: str
    package: str
    module: str
    environment: str
    neighbours: str = ""


OURS = Who("dppandas", "dppandas", "dppandas", "ours")
CHANGED = "row changed, n public"
PEERS = {
    "diffprivlib": Who("diffprivlib", "diffprivlib", "diffprivlib", "diffprivlib", CHANGED),
    "OpenDP, kept plan": Who("opendp", "opendp", "opendp", "opendp"),
    "OpenDP Context": Who("opendp_context", "opendp", "opendp", "opendp"),
    "OpenDP Polars": Who("opendp_polars", "opendp", "opendp", "opendp"),
    "OpenDP Polars, kept": Who("opendp_polars_kept", "opendp", "opendp", "opendp"),
    "PyDP": Who("pydp", "python-dp", "pydp", "google"),
    "PipelineDP": Who("pipeline_dp", "pipeline-dp", "pipeline_dp", "google"),
    "SmartNoise": Who("smartnoise", "smartnoise-sql", "snsql", "smartnoise"),
}
#: A mean and a variance of OpenDP's contexts are of a size that they are told.
TOLD_N = {("OpenDP Context", "mean"), ("OpenDP Context", "variance")}


class Failed(Exception):
    """A peer can't do it, or isn't there."""


class Process:
    """A peer's process, which answers a line with a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.version: str = self._read()
        self.knows: list[str] = []

    def _read(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline().rstrip()
        if not line or line.startswith("!"):
            raise Failed(line.removeprefix("! ") or "its process ended")
        return json.loads(line)

    def _ask(self, message: Any) -> Any:
        assert self._process.stdin
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise Failed("its process ended") from None
        return self._read()

    def end(self) -> None:
        """It ends when nothing more can be told."""
        assert self._process.stdin
        self._process.stdin.close()

    def load(self, file: Path) -> None:
        self.knows = []
        self.knows = self._ask(str(file))

    def turn(self, question: str, calls: int) -> tuple[float, list[Any]]:
        """Milliseconds of processor of a call, and the answers."""
        taken, answers = self._ask([question, calls])
        return taken, answers


def started(who: Who, python: str, stack: contextlib.ExitStack) -> Process:
    environment = dict(os.environ)
    if who is OURS:
        environment["PYTHONPATH"] = str(ROOT)
    command = [python, str(HERE / "peers_worker.py"), who.asks, who.package, who.module]
    pipe = subprocess.PIPE
    try:
        opened = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment
        )
    except OSError as problem:
        raise Failed(f"{python}: {problem.strerror}") from None
    return Process(stack.enter_context(opened))


# --- measuring ----------------------------------------------------------------------------------


@dataclass
class Side:
    """What was found of one who was asked a question."""

    process: Process
    question: str
    wanted: int
    calls: int = 1
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)

    def warm_up(self) -> None:
        taken, answers = self.process.turn(self.question, 1)
        if taken >= 1000 * SECONDS:  # nothing gets faster by a second call
            self.times, self.answers, self.seconds = [taken], answers, SECONDS
            return
        taken, _ = self.process.turn(self.question, 1)
        self.calls = max(1, min(CALLS, math.ceil(A_TURN / max(taken, 0.01))))

    @property
    def done(self) -> bool:
        if self.times and self.seconds >= SECONDS:
            return True
        return len(self.times) >= TURNS and len(self.answers) >= self.wanted

    def turn(self) -> None:
        taken, answers = self.process.turn(self.question, self.calls)
        self.seconds += taken * self.calls / 1000
        self.times.append(taken)
        self.answers += answers

    def more_answers(self) -> None:
        """Where a peer has a faster way to the same answers."""
        missing = self.wanted - len(self.answers)
        if missing > 0 and self.question + AGAIN in self.process.knows:
            self.answers += self.process.turn(self.question + AGAIN, missing)[1]


def asked_in_turn(sides: dict[str, Side]) -> dict[str, str]:
    """Until all have what they need. Those that fail are taken out, and why is told."""
    failures: dict[str, str] = {}

    def each_does(doing: str, among: list[str]) -> None:
        for name in among:
            try:
                getattr(sides[name], doing)()
            except Failed as problem:
                failures[name] = str(problem)
                del sides[name]

    each_does("warm_up", list(sides))
    while waiting := [name for name, side in sides.items() if not side.done]:
        each_does("turn", waiting)
    each_does("more_answers", list(sides))
    return failures


@dataclass
class Line:
    """A line of the table: milliseconds of processor, errors, and what chance may have made of
    the ratio of errors."""

    question: str
    data: str
    rows: int
    peer: str
    neighbours: str
    ours: float
    theirs: float
    our_error: float | None
    their_error: float | None
    chance: float | None
    turns: int
    answers: int

    @property
    def time_ratio(self) -> float:
        return self.ours / self.theirs

    @property
    def error_ratio(self) -> float | None:
        if self.our_error is None or self.their_error is None:
            return None
        return ratio(self.our_error, self.their_error)

    def cells(self) -> list[str]:
        chance = "" if self.chance is None else f" ± {self.chance:.2g}"
        return [
            self.question, f"{self.data}, {self.rows:,}", self.peer, self.neighbours or "as ours",
            f"{shown(self.ours)} ms", f"{shown(self.theirs)} ms", f"{shown(self.time_ratio)} ×",
            shown(self.our_error), shown(self.their_error),
            f"{shown(self.error_ratio)} ×{chance}" if self.error_ratio is not None else "",
        ]  # fmt: skip


HEAD = ["question", "rows", "beside", "neighbours", "ours", "theirs", "time", "our error"]
HEAD += ["their error", "error"]


def ratio(one: float, other: float) -> float:
    """1 where both make no error at all."""
    return one / other if other else (math.inf if one else 1.0)


def shown(number: float | None, digits: int = 3) -> str:
    if number is None:
        return ""
    return f"{number:.{digits}g}" if number < 10**digits else f"{number:,.0f}"


def lines(question: str, rows: Rows, sides: dict[str, Side]) -> Iterator[Line]:
    mine = sides["dppandas"]
    our_error = rows.mistake(question, mine.answers)
    for name, side in sides.items():
        if side is mine:
            continue
        theirs = None
        if np.size(side.answers) >= ENOUGH:
            theirs = rows.mistake(question, side.answers)
        chance = theirs and 2 * ratio(our_error[0], theirs[0]) * math.hypot(our_error[1], theirs[1])
        neighbours = "as ours, told n" if (name, question) in TOLD_N else PEERS[name].neighbours
        yield Line(
            question, rows.name, len(rows.x), name, neighbours,
            statistics.median(mine.times), statistics.median(side.times),
            our_error[0], theirs and theirs[0], chance, len(side.times), len(side.answers),
        )  # fmt: skip


@dataclass
class Run:
    """The processes that are there, why others aren't, and what was found."""

    processes: dict[str, Process]
    left_out: dict[str, str]
    wanted: int
    found: list[Line] = field(default_factory=list)

    def leave_out(self, name: str, why: str) -> None:
        self.left_out[name] = why
        print(f"left out: {name}: {why}", flush=True)

    def ask(self, rows: Rows, file: Path) -> None:
        for name, process in self.processes.items():
            try:
                process.load(file)
            except Failed as problem:
                self.leave_out(f"{name}, {file.stem}", str(problem))
        for question in QUESTIONS:
            sides = {
                name: Side(process, question, self.wanted)
                for name, process in self.processes.items()
                if question in process.knows
            }
            for name, why in asked_in_turn(sides).items():
                self.leave_out(f"{name}, {question} of {file.stem}", why)
            for line in lines(question, rows, sides):
                self.found.append(line)
                print(" | ".join(line.cells()), flush=True)


def run(pythons: dict[str, str | None], sizes: tuple[int, ...], wanted: int) -> Run:
    with contextlib.ExitStack() as stack:
        done = Run({}, {}, wanted)
        for name, who in {"dppandas": OURS, **PEERS}.items():
            python = sys.executable if who is OURS else pythons.get(who.environment)
            try:
                if python is None:
                    raise Failed("no environment was said that has it")
                done.processes[name] = started(who, python, stack)
            except Failed as problem:
                if who is OURS:
                    raise
                done.leave_out(name, str(problem))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for data in MAKERS:
            for size in sizes:
                file = save(data, size, folder)
                done.ask(Rows(file), file)
        for process in done.processes.values():
            process.end()
        return done


# --- README.md ----------------------------------------------------------------------------------

#: What is README's own is between these.
MARKS = ("<!-- figures of benchmarks/peers.json -->\n", "<!-- end of figures -->\n")
SHORT = {
    "diffprivlib": "diffprivlib", "OpenDP, kept plan": "OpenDP, kept plan",
    "OpenDP Polars": "OpenDP Polars", "PyDP": "PyDP", "PipelineDP": "PipelineDP",
    "SmartNoise": "SmartNoise",
}  # fmt: skip


def in_readme(saved: dict[str, Any]) -> str:
    """The largest census rows: dppandas' time and error, and for each peer both ratios."""
    size = max(line["rows"] for line in saved["lines"])
    table: dict[str, dict[str, Line]] = {question: {} for question in QUESTIONS}
    for told in saved["lines"]:
        line = Line(**{name: told[name] for name in Line.__dataclass_fields__})
        if (line.data, line.rows) == (CENSUS, size):
            table[line.question][line.peer] = line
    peers = [peer for peer in SHORT if any(peer in lines for lines in table.values())]
    body = []
    for question, lines_of in table.items():
        if lines_of:
            some = next(iter(lines_of.values()))
            cells = [_pair(lines_of.get(peer)) for peer in peers]
            body.append([question, f"{shown(some.ours)} ms", *cells])
    known = (line for lines_of in table.values() for line in lines_of.values())
    chances = [line.chance / line.error_ratio for line in known if line.chance and line.error_ratio]
    chance = statistics.median(chances) if chances else 0.0
    versions = ", ".join(f"{name} {version}" for name, version in saved["versions"].items())
    commit = (saved["commit"] or "unknown")[:8]
    return (
        f"On {size:,} rows drawn from the US census of 2000, at ε = {EPSILON:g}: how long dppandas"
        " took; then, beside each of the\nothers, how many times as long as they, and how many"
        " times as large its error was:\n\n"
        + markdown(["", "dppandas", *peers], body)
        + f"\n\nChance alone may have made ± {100 * chance:.0f} % of a ratio of errors (two"
        " standard errors; the median of the table's).\n"
        f"Measured on {saved['date']} at commit {commit}, on {saved['cpus']} cores of"
        f" {saved['processor']}, with Python {saved['python']}:\n{versions}.\n"
    )


def _pair(line: Line | None) -> str:
    if line is None:
        return ""
    error = "" if line.error_ratio is None else f", {shown(line.error_ratio, 2)} ×"
    return f"{shown(line.time_ratio, 2)} ×{error}"


def write_readme(saved: dict[str, Any], file: Path = ROOT / "README.md") -> None:
    text = file.read_text("utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    file.write_text(before + MARKS[0] + in_readme(saved) + MARKS[1] + after, "utf-8")


# --- the program --------------------------------------------------------------------------------


def asked() -> argparse.Namespace:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    for environment in dict.fromkeys(who.environment for who in PEERS.values()):
        names = ", ".join(name for name, who in PEERS.items() if who.environment == environment)
        parser.add_argument(f"--{environment}", help=f"a Python that has {names}")
    parser.add_argument("--quick", action="store_true", help="few rows and answers: a first look")
    parser.add_argument("--json", type=Path, help="where to save the figures")
    parser.add_argument("--readme", action="store_true", help="write README.md's from the JSON")
    parser.add_argument("--no-run", action="store_true", help="with --readme: measure nothing")
    return parser.parse_args()


def main() -> int:
    options = asked()
    if not options.no_run:
        about = {"date": time.strftime("%Y-%m-%d"), **facts("pandas", "numpy")}
        about["processor"] = processor()
        print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
        sizes, wanted = (QUICK_ROWS, QUICK_ANSWERS) if options.quick else (ROWS, ANSWERS)
        done = run(vars(options), sizes, wanted)
        about["versions"] = {
            who.package: done.processes[name].version
            for name, who in PEERS.items()
            if name in done.processes
        }
        print("\n" + markdown(HEAD, [line.cells() for line in done.found]))
        if options.json:
            told = [
                {**asdict(line), "time_ratio": line.time_ratio, "error_ratio": line.error_ratio}
                for line in done.found
            ]
            saved = {**about, "epsilon": EPSILON, "left_out": done.left_out, "lines": told}
            options.json.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n")
    if options.readme:
        write_readme(json.loads(options.json.read_text("utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
