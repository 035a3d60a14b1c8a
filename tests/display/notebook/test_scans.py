"""A scan in progress is told in the widget's row, and in nothing that is saved."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from operations import people
from refusals import raising

import dppandas as dp
from dppandas.display.notebook import live
from dppandas.display.notebook.live import Live
from dppandas.engines import progress
from dppandas.errors import ReleaseFailed
from dppandas.release import context, release

HOW = "interrupt the kernel to cancel: the charge stays"


class Kernelled:
    """Enough of a notebook's shell for `Live` to believe it is in one."""

    kernel = object()


class Watched:
    """A live ledger, whose clock a test moves while rows are read."""

    def __init__(self, patched: pytest.MonkeyPatch, store: Path | None = None) -> None:
        self.copies: list[Any] = []
        self.now = 0.0
        self._patched = patched
        place = "dppandas.display.notebook.view"
        for name in ("display", "DisplayHandle.display"):
            patched.setattr(f"{place}.{name}", lambda *a, **k: None)
        update = lambda _, copy: self.copies.append(copy)  # noqa: E731
        patched.setattr(f"{place}.DisplayHandle.update", update)
        patched.setattr(live, "PAUSE", 0)
        patched.setattr(progress, "clock", lambda: self.now)
        patched.setattr(progress, "_wake", lambda: None)
        self.live = Live(Kernelled())
        self.live.show(dp.session(epsilon=9, store=store).ledger)
        progress.tell_to(self.live.tell)

    @property
    def rows(self) -> list[str]:
        """The rows of the widget's table as text, newest first."""
        (view,) = self.live._views.values()
        found = re.findall(r"<tr[^>]*>(.*?)</tr>", view._pages._table.value, re.S)[1:]
        texts = [unescape(re.sub(r"<[^>]*>", " ", row)).strip() for row in found]
        return [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts]

    @property
    def saved(self) -> str:
        """All that a notebook, a terminal, a table or a statement could keep of it now."""
        copy = self.copies[-1]
        ledger = dp.ledger()
        return "".join(
            (copy.data, repr(copy), repr(ledger), ledger._repr_html_(), ledger.to_frame().to_csv())
        )

    def while_read(self, look: Callable[[], None]) -> None:
        """Look as often as rows are read, after they were."""
        drawn = release._drawn

        def slow(*args: Any) -> Any:
            found = drawn(*args)
            look()
            return found

        self._patched.setattr(release, "_drawn", slow)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        progress._look()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    found = Watched(monkeypatch)
    yield found
    progress.tell_to(None)
    found.live.stop()


def test_the_row_tells_how_long_it_takes_and_then_the_answer(watched: Watched) -> None:
    def look() -> None:
        assert "no answer" not in watched.rows[0], "it is being answered"
        assert "computing" not in watched.rows[0]
        watched.passes(0.9)
        assert "computing" not in watched.rows[0], "it is short"
        watched.passes(11.3)
        assert f"computing … 12 s {HOW}" in watched.rows[0]
        watched.live._changed(dp.ledger())  # another charge, or another kernel
        assert f"computing … 12 s {HOW}" in watched.rows[0]
        assert "computing" not in watched.saved
        assert "12 s" not in watched.saved
        assert "(charged, no answer)" in watched.saved, (
            "which is all that a kernel that dies leaves"
        )

    watched.while_read(look)
    people().count(epsilon=1)
    assert "computing" not in watched.rows[0] + watched.saved
    assert "no answer" not in watched.rows[0] + watched.saved
    assert "± 3" in watched.rows[0]


def test_an_interrupt_is_told_as_one(watched: Watched) -> None:
    def look() -> None:
        watched.passes(3)
        raise KeyboardInterrupt

    watched.while_read(look)
    with pytest.raises(KeyboardInterrupt, match="which stays"):
        people().count(epsilon=1)
    for said in (watched.rows[0], watched.saved):
        assert "(interrupted, no answer)" in said
        assert "computing" not in said
        assert "3 s" not in said
    assert not progress._running


def test_a_failure_is_told_as_one(watched: Watched) -> None:
    watched.while_read(raising(ZeroDivisionError))
    with pytest.raises(ReleaseFailed):
        people().count(epsilon=1)
    assert "(failed, no answer)" in watched.rows[0]


def test_a_refusal_leaves_nothing(watched: Watched) -> None:
    with pytest.raises(dp.BudgetExceeded):
        people().count(epsilon=10)
    assert watched.rows == []
    assert not progress._running


def test_the_questions_of_a_call_wait_for_each_other(watched: Watched) -> None:
    seen: list[str] = []

    def look() -> None:
        watched.passes(2)
        (view,) = watched.live._views.values()
        view._pages._programs.value = True
        seen.append(watched.rows[0])

    watched.while_read(look)
    people()["a"].agg(["mean", "median"], epsilon=2, bounds=(0, 9))
    assert [re.findall(r"computing … [^·]*· \d+ s", row) for row in seen] == [
        ["computing … question 1 of 2 · 2 s"], ["computing … question 2 of 2 · 4 s"],
    ]  # fmt: skip
    assert "no answer" not in "".join(seen)


def test_a_file_shows_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched = Watched(monkeypatch, tmp_path / "a.ledger")

    def look() -> None:
        watched.passes(5)
        assert "computing … 5 s" in watched.rows[0]
        assert "computing" not in watched.saved

    watched.while_read(look)
    people(version="1").count(epsilon=1)
    assert "± 3" in watched.rows[0]
    progress.tell_to(None)
    watched.live.stop()


def _may_share(ask: Callable[[], object], **surroundings: Any) -> list[bool]:
    found: list[bool] = []
    patched, scan = pytest.MonkeyPatch(), release.Scan

    def noted(of: object, draws: Any, may_share: bool) -> Any:
        found.append(may_share)
        return scan(of, draws, may_share)

    patched.setattr(release, "Scan", noted)
    with context.within(**surroundings):
        ask()
    patched.undo()
    return found


def test_a_share_is_told_of_one_pass_and_to_who_holds_the_rows() -> None:
    """How often rows are read is private, and so is how fast, to whom a process answers for."""
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    count = lambda: frame.dp.count(epsilon=1)  # noqa: E731
    assert _may_share(count) == [True]
    assert _may_share(count, asker="somebody else") == [False]
    assert _may_share(lambda: frame.dp["a"].median(bounds=(0, 9), epsilon=1)) == [False]
    several = {"epsilon": 1, "bounds": (0, 9)}
    assert _may_share(lambda: frame.dp["a"].agg(["mean", "median"], **several)) == [False]
