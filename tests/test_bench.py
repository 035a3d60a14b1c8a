"""The benchmark of speed: which targets it calls missed, what it says then, and that all take
turns. How fast anything is, only the benchmark asks."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import bench  # noqa: E402
import bench_measure  # noqa: E402
import bench_memory  # noqa: E402
import bench_peers  # noqa: E402
from bench_measure import Result  # noqa: E402

MET = Result("a mean", 12.0, 10.0, 1.2)
MISSED = Result("a count", 12.1, 10.0, 1.2)
REPORTED = Result("a sum", 99.0, 10.0, None)
IN_MS = Result("quantiles", 100.0, None, 100)
TOO_LARGE = Result("peak memory", 50.5, None, 50, "MB")


def run(monkeypatch: pytest.MonkeyPatch, results: list[Result]) -> int:
    def measured(part: str, *_: Any) -> Iterator[Result]:
        return iter(results if part == "rows" else [])

    monkeypatch.setattr(bench, "measured", measured)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--quick"])
    return bench.main()


def test_it_fails_where_a_target_is_missed(monkeypatch: Any, capsys: Any) -> None:
    assert run(monkeypatch, [MET, REPORTED, IN_MS]) == 0
    assert "missed" not in capsys.readouterr().out
    assert run(monkeypatch, [MET, MISSED, REPORTED, TOO_LARGE]) == 1
    said = capsys.readouterr().out
    assert said.endswith("\n2 missed:\n  a count\n  peak memory\n")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines()]
    assert ["a count", "12.1 ms", "10 ms", "1.21 ×", "≤ 1.2 ×", "NO"] in lines
    assert ["a sum", "99 ms", "10 ms", "9.9 ×", "reported", ""] in lines
    assert ["peak memory", "50.5 MB", "", "", "≤ 50 MB", "NO"] in lines


def test_everyone_takes_turns_and_medians_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[str] = []
    times = {"ours": iter([99.0, 1, 5, 3]), "a": iter([99.0, 2, 9, 2]), "b": iter([99.0, 6, 7, 8])}

    def clock(who: str) -> float:
        turns.append(who)
        return next(times[who])

    monkeypatch.setattr(bench_measure, "timed", lambda work: work())
    others = {who: (partial(clock, who), target) for who, target in (("a", 1.0), ("b", None))}
    found = bench_measure.beside("mean", lambda: clock("ours"), others, repeats=3)
    assert turns == ["ours", "a", "b"] * 4, "with one warm-up"
    assert found == [Result("mean / a", 3, 2, 1.0), Result("mean / b", 3, 7, None)]


WORKER = """
print("0.6.6", flush=True)
for line in __import__("sys").stdin:
    print(len(line), flush=True)
"""


def started(program: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True)


def test_a_peer_in_its_own_process_does_a_task_when_told() -> None:
    with started(WORKER) as process:
        peer = bench_peers.Diffprivlib(process)
        assert peer.version == "0.6.6"
        assert [peer.timed(task) for task in ("mean", "variance", "mean")] == [5, 9, 5]
    assert process.returncode == 0, "it ends when nothing more can be told"


def test_a_peer_that_cannot_start_is_not_waited_for() -> None:
    with started("") as process, pytest.raises(RuntimeError, match="process ended"):
        bench_peers.Diffprivlib(process)


def test_peers_are_asked_what_we_are() -> None:
    df = bench_peers.survey(1000)
    ours, theirs = bench_peers.our_calls(df), bench_peers.opendp_calls(df["x"].to_numpy(copy=True))
    source = (BENCHMARKS / "bench_diffprivlib.py").read_text()
    assert list(ours) == list(theirs)
    assert all(f'"{task}": lambda' in source for task in ours)
    exact = {"count": 1000, "filtered count": (df["x"] > 40).sum()}
    clipped = df["x"].clip(*bench_peers.BOUNDS)
    exact |= {"mean": clipped.mean(), "sum": clipped.sum(), "variance": clipped.var()}
    # Laplace noise of a scale of at most 60 / ε, and a thousandth or so of that for a mean: beyond
    # 30 scales with a probability of e^-30.
    room = {"count": 300, "filtered count": 300, "mean": 36, "sum": 18_000, "variance": 1100}
    for task, work in theirs.items():
        assert abs(work() - exact[task]) < room[task], task


@pytest.mark.parametrize("name", bench_memory.RELEASES)
def test_a_release_whose_memory_is_measured_reads_three_columns(name: str) -> None:
    df = bench_memory.frame(2000)
    for column in df:
        with pytest.raises(Exception, match=column):
            bench_memory.RELEASES[name](df.drop(columns=column))
    bench_memory.RELEASES[name](df)
    assert name in bench_memory.TARGETS
