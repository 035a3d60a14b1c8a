"""The benchmark of what a hand feels: all rows of it can be asked, of few rows, and it says which
targets are missed. How fast anything is, only the benchmark asks."""

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from notes import noted

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import bench_facts  # noqa: E402
import bench_turns  # noqa: E402
import hand  # noqa: E402
import hand_rows  # noqa: E402
import hand_worker  # noqa: E402

FEW = 300


@pytest.mark.filterwarnings("ignore:.*isn't declared")
def test_each_row_can_be_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hand_rows, "CACHE", tmp_path / "rows")
    for name, row in hand_rows.ROWS.items():
        with noted(name):
            row.ours(FEW).turn(2)
            is_there = row.peer != "DuckDB" or importlib.util.find_spec("duckdb")
            if row.theirs and is_there:
                row.theirs(FEW).turn(2)


def test_diffprivlib_is_asked_what_we_are() -> None:
    source = (ROOT / "benchmarks" / "hand_diffprivlib.py").read_text()
    beside = [name for name, row in hand_rows.ROWS.items() if row.peer == "diffprivlib"]
    assert len(beside) == 7
    assert all(f'    "{name.split(" of ")[0]}": ' in source for name in beside)


def test_a_peak_is_looked_at_after_the_data_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def made(rows: int) -> bench_turns.Task:
        said.append(f"{rows} rows")
        return bench_turns.Task(lambda: said.append("answer"), lambda: said.append("ready"))

    peaks = iter([1.0, 10.0, 12.5])
    monkeypatch.setattr(hand_worker, "peak", lambda: said.append("peak") or next(peaks))
    monkeypatch.setattr(hand_worker, "forget_peak", lambda: said.append("forgotten"))
    assert hand_worker.growth(hand_rows.Row(made, 5000), 5000) == 2.5
    once = ["ready", "forgotten", "peak", "answer"]
    assert said == ["1000 rows", *once, "5000 rows", *once, "peak"]


def test_targets_are_shares_of_theirs_of_before_or_megabytes() -> None:
    def found(of: str, target: float | None, unit: str = "ms", **sides: float) -> hand.Found:
        return hand.Found("a row", unit, target, of, **sides)

    lines = [
        (found("theirs", 2.0, ours=4.0, theirs=2.0, before=1.0), "yes"),
        (found("theirs", 2.0, ours=4.1, theirs=2.0, before=9.0), "NO"),
        (found("before", 0.5, ours=4.0, theirs=1.0, before=8.0), "yes"),
        (found("before", 0.5, ours=4.1, theirs=9.0, before=8.0), "NO"),
        (found("theirs", 60.0, "MB", ours=60.0, before=326.0), "yes"),
        (found("theirs", 60.0, "MB", ours=61.0, before=326.0), "NO"),
        (found("before", 0.5, ours=4.0, theirs=8.0), ""),  # nothing to compare with
        (found("theirs", None, ours=4.0, theirs=8.0), ""),
    ]
    for line, met in lines:
        assert line.cells()[-1] == met
    failed = found("before", 0.5, ours=4.0)
    failed.failures["before"] = "AttributeError: corr"
    assert failed.cells() == ["a row", "failed", "4 ms", "", "", "", "≤ 0.5 × before", ""]


def test_a_turn_is_told_in_milliseconds_and_an_error_in_a_line(capsys: Any) -> None:
    def fails() -> None:
        raise ValueError("no such\nquestion")

    bench_turns.serve(bench_turns.Task(lambda: print("aside")), io.StringIO("2\n1\n"))
    said = capsys.readouterr()
    assert [float(line) >= 0 for line in said.out.split()] == [True, True]
    assert said.err == "aside\n" * 3
    bench_turns.serve(bench_turns.Task(fails), io.StringIO("1\n"))
    assert capsys.readouterr().out == "! ValueError: no such question\n"


def test_it_compares_two_checkouts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "hand.json"
    asked = ["--quick", "--before", str(ROOT), "--only", "value_counts of 3 keys"]
    monkeypatch.setattr(sys, "argv", ["hand.py", *asked, "--json", str(file)])
    assert hand.main() == 0
    assert "| value_counts of 3 keys |" in capsys.readouterr().out
    said = json.loads(file.read_text())
    (row,) = said["rows"]
    assert said["commit"] == said["before"] == bench_facts.commit()
    assert row["change"] == row["ours"] / row["before"] > 0


def test_figures_name_the_commit_that_they_are_of(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert bench_facts.commit(tmp_path) is None
    git("init")
    file = tmp_path / "dppandas" / "a.py"
    file.parent.mkdir()
    file.write_text("")
    git("add", ".")
    git("commit", "-m", "Begin")
    head = git("rev-parse", "HEAD")
    assert bench_facts.commit(tmp_path) == head
    file.write_text("changed = True\n")
    assert bench_facts.commit(tmp_path) == f"{head} + changes"
    assert "commit" in bench_facts.facts("pandas")
