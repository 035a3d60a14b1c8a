"""What a live ledger costs the questions that are asked beside it: counted, not timed."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import ipywidgets
import pytest
from operations import people
from waiting import LIMIT, until

import dppandas as dp
from dppandas.display.notebook import live as live_module
from dppandas.display.notebook import view as view_module
from dppandas.display.notebook.live import COPIES, PAUSE, SHARE, Live, Updates
from dppandas.ledger import html
from dppandas.ledger.stated_errors import HalfWidths
from dppandas.ledger.storage.store import Entry

#: Releases that are asked in a cell.
MANY = 1000
#: Calls of functions of displays that a release makes: three for each of two changes.
CALLS = 6
#: Messages that an update sends: five parts of the widget, where one is looked at, and the copy.
MESSAGES = 6
#: Their bytes, at 1,001 entries.
BYTES = 20_000


class Kernelled:
    """Enough of a notebook's shell for `Live` to believe it is in one."""

    kernel = object()


class Front:
    """What a front end is sent: the states of widgets, and copies."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.states: list[str] = []
        self.copies: list[Any] = []
        send = lambda _, message, buffers=None: self.states.append(json.dumps(message))  # noqa: E731
        update = lambda _, copy: self.copies.append(copy)  # noqa: E731
        patched.setattr(ipywidgets.Widget, "_send", send)
        patched.setattr(view_module, "display", lambda *a, **k: None)
        patched.setattr(view_module.DisplayHandle, "display", lambda *a, **k: None)
        patched.setattr(view_module.DisplayHandle, "update", update)

    def clear(self) -> None:
        self.states.clear()
        self.copies.clear()

    @property
    def size(self) -> int:
        copies = [text for copy in self.copies for text in (copy.data, repr(copy))]
        return sum(len(each.encode()) for each in (*self.states, *copies))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Front:
    return Front(monkeypatch)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of updates doesn't come to that within a test."""
    monkeypatch.setattr(live_module, "PAUSE", LIMIT)


@pytest.fixture
def live(front: Front) -> Iterator[Live]:
    """A ledger that is shown live."""
    shown = Live(Kernelled())
    shown.show(dp.session(epsilon=10**4).ledger)
    yield shown
    shown.stop()


def ask(times: int, frame: Any = None) -> None:
    frame = people(version="1") if frame is None else frame
    for _ in range(times):
        frame.count(epsilon="0.5", fresh=True)


def calls(work: Callable[[], object], room: str = "/dppandas/") -> int:
    """How many calls of functions of this package, or of a room of it, this thread makes."""
    found = 0

    def hear(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event == "call" and room in frame.f_code.co_filename

    sys.setprofile(hear)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_a_release_draws_nothing_and_waits_for_nothing(
    later: None, live: Live, front: Front
) -> None:
    ask(1)  # starts the thread
    front.clear()
    frame = people(version="1")
    made = calls(lambda: ask(MANY, frame), room="/dppandas/display/")
    assert MANY < made < (CALLS + 1) * MANY
    assert (front.states, front.copies) == ([], [])


def test_all_releases_of_a_cell_are_one_update(later: None, live: Live, front: Front) -> None:
    ask(MANY)
    live.flush()
    front.clear()
    ask(1)
    live.flush()
    assert len(front.copies) == 1
    assert 3 <= len(front.states) <= MESSAGES - 1
    assert 5000 < front.size <= BYTES
    front.clear()
    live.flush()
    assert (front.states, front.copies) == ([], []), "nothing has changed"


def test_of_releases_that_are_not_shown_no_words_are_found(
    later: None, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: set[int] = set()
    words = Entry.whole.fget  # type: ignore[attr-defined]

    def whole(self: Entry) -> Any:
        if self.later:
            found.add(self.number)
        return words(self)

    monkeypatch.setattr(Entry, "whole", property(whole))
    ask(MANY)
    assert found == set()
    live.flush()
    assert 0 < len(found) <= html.SHOWN


def test_an_error_is_written_once_however_often_it_is_shown(
    later: None, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of an answer with many numbers is found among all of these."""
    written: list[int] = []
    words = HalfWidths.words.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(
        HalfWidths, "words", property(lambda self: written.append(1) or words(self))
    )
    ask(5)
    for _ in range(3):
        live._stale.add(id(dp.ledger()))
        live.flush()
    assert len(written) == 5


def test_the_work_of_an_update_is_bounded(later: None, live: Live) -> None:
    """Whatever was asked meanwhile: a few calls for each release that isn't shown."""
    ask(MANY)
    live.flush()
    (view,) = live._views.values()
    ask(1)
    few = calls(view.update)
    in_a_cell = calls(lambda: view.update(saves=False))
    ask(MANY)
    many = calls(view.update)
    assert few < 5000
    assert in_a_cell < 0.6 * few, "the copy is left for later"
    assert many < few + 12 * MANY


def test_updates_take_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes long is followed by a longer pause."""
    spent, took, pauses = 0.0, iter([0.0, 0.001, 0.4]), []

    def update() -> None:
        nonlocal spent
        spent += next(took)
        updates.wake()

    def wait(pause: float) -> bool:
        pauses.append(pause)
        return len(pauses) > 3

    monkeypatch.setattr(live_module.time, "thread_time", lambda: spent)
    updates = Updates(update)
    monkeypatch.setattr(updates._over, "wait", wait)
    updates.wake()
    updates.run()
    assert pauses == [PAUSE, PAUSE, PAUSE, pytest.approx(0.4 / SHARE)]


def test_the_copy_follows_at_the_end_of_a_cell_or_after_a_while(
    later: None, live: Live, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(live_module.time, "monotonic", lambda: now)
    live.flush()
    ask(1)
    front.clear()
    live._update_late()
    assert any("1 answer" in state for state in front.states), "who looks sees it"
    assert front.copies == []
    now = COPIES
    live._update_late()
    assert "1 answer" in front.copies.pop().data
    ask(1)
    live._update_late()
    assert front.copies == []
    live.flush()
    assert "2 answers" in front.copies.pop().data


def test_a_change_between_cells_reaches_the_copy(
    live: Live, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cell's end follows, as when another process asks."""
    monkeypatch.setattr(live_module, "COPIES", 0.5)
    live.flush()
    front.clear()
    ask(1)
    until(lambda: front.copies and "1 answer" in front.copies[-1].data)


def test_one_thread_makes_all_updates_and_ends(live: Live) -> None:
    ask(1)
    live.flush()
    ask(1)
    drawing = [t for t in threading.enumerate() if isinstance(t, Updates) and t is live._updates]
    assert len(drawing) == 1
    live.stop()
    until(lambda: not drawing[0].is_alive())


def test_a_view_that_fails_is_shown_with_the_next_change(
    later: None, live: Live, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it end the thread, or keep others from being shown."""
    live.flush()
    (view,) = live._views.values()
    whole, failed = view.update, []

    def update(saves: bool = True) -> None:
        if not failed:
            failed.append(saves)
            raise ValueError("lost")
        whole(saves)

    monkeypatch.setattr(view, "update", update)
    ask(1)
    with pytest.raises(ValueError, match="lost"):
        live._update_late()
    front.clear()
    live._update_late()
    assert any("1 answer" in state for state in front.states)


def test_a_thread_that_fails_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def update() -> None:
        done.append(1)
        raise ValueError

    updates = Updates(update)
    monkeypatch.setattr(live_module, "PAUSE", 0.0)
    updates.start()
    for count in (1, 2, 3):
        updates.wake()
        until(lambda count=count: len(done) >= count)
    updates.end()
