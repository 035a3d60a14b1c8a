"""A scan tells how far it is by the clock, and nothing of how its rows are read."""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import raising
from waiting import until

from dppandas.engines import progress
from dppandas.engines.progress import GRID, LEFT, LOOK, STEPS, Pass, Scan, Told

BLOCK = 2**18


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def moved() -> Iterator[Clock]:
    """A block in which time passes by hand, and nobody looks by himself."""
    patched, clock = pytest.MonkeyPatch(), Clock()
    patched.setattr(progress, "clock", clock)
    patched.setattr(progress, "_wake", lambda: None)
    try:
        yield clock
    finally:
        patched.undo()
        assert not progress._running


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moved() as found:
        yield found


def blocks_of(rows: int) -> list[int]:
    return [BLOCK] * (rows // BLOCK) + ([rows % BLOCK] if rows % BLOCK else [])


def watched(
    blocks: Sequence[int], seconds: Sequence[float], may_share: bool = True, before: float = 0
) -> list[Told]:
    """What is told, at each look, of a scan that reads blocks of so many rows, each in its time."""
    told: list[Told] = []
    with moved() as clock, Scan("ledger", ["draw"], may_share) as scan:
        clock.now = before
        reading, done, steps, ends = Pass(), 0, 0, before
        for rows, its in zip(blocks, seconds, strict=True):
            ends += its
            while clock.now + LOOK < ends:
                clock.now += LOOK
                reading.report(done / sum(blocks), steps)
                if scan.look(clock.now):
                    assert scan.told is not None
                    told.append(scan.told)
            done, steps = done + rows, steps + 1
    return told


def times(told: Sequence[Told]) -> list[Told]:
    return [Told(each.seconds) for each in told]


SECONDS = st.floats(0.01, 1)


@given(
    seconds=st.lists(SECONDS, min_size=1) | st.lists(st.floats(0.05, 0.1), min_size=60),
    before=st.sampled_from([0, 0.5, 7]),
    data=st.data(),
)
def test_all_that_is_told_lies_on_public_grids(
    seconds: list[float], before: float, data: Any
) -> None:
    size = {"min_size": len(seconds), "max_size": len(seconds)}
    blocks = data.draw(st.lists(st.integers(1, BLOCK), **size))
    told = watched(blocks, seconds, before=before)
    shares = [each.share for each in told if each.share is not None]
    assert {*shares} <= {*range(0, 100, GRID)}, "never that all is done"
    assert shares == sorted(shares)
    assert {each.left for each in told} <= {None, *LEFT}
    assert [each.seconds for each in told] == sorted({progress.fixed_time(t.seconds) for t in told})
    assert all(each.seconds >= progress.PATIENCE for each in told)


@given(seconds=st.lists(SECONDS, min_size=1, max_size=STEPS))
def test_of_a_few_blocks_nothing_but_the_time_is_told(seconds: list[float]) -> None:
    """Not even that they are few: so it is with many that are read slowly."""
    told = watched([BLOCK] * len(seconds), seconds)
    assert told == times(told)
    assert told == times(watched([sum(seconds) > 0], [sum(seconds)]))


@given(speeds=st.lists(st.floats(0.001, 0.08), min_size=9, max_size=9))
def test_between_few_fixed_times_all_follows_from_the_clock(speeds: list[float]) -> None:
    """Whatever blocks are read meanwhile, and however fast: a length of time that was estimated
    after 2, 4, 8 … s decides it, on a grid of 5 % steps."""
    lengths: dict[float, float | None] = {}
    estimate, patched = Scan._estimate, pytest.MonkeyPatch()

    def noted(scan: Scan) -> None:
        estimate(scan)
        lengths[progress.clock()] = scan._length

    patched.setattr(Scan, "_estimate", noted)
    told = watched([BLOCK] * 900, [speed for speed in speeds for _ in range(100)])
    patched.undo()
    assert [*lengths] == [2.0 ** (i + 1) for i in range(len(lengths))]
    grid = [1.05**power for power in range(300)]
    assert {length for length in lengths.values() if length} <= {*grid}
    share = 0
    for each in told:
        length = next((lengths[at] for at in [*lengths][::-1] if at <= each.seconds), None)
        if length:
            share = max(share, min(95, 5 * int(20 * each.seconds / length)))
        assert each.share == (share if length else None)


@pytest.mark.parametrize("speed", [0.011, 0.053, 0.093])
@pytest.mark.parametrize("whole", [40, 90, 200])
def test_a_row_that_begins_another_block_tells_nothing(speed: float, whole: int) -> None:
    """Where it takes no time: then a share of blocks would differ, and one of rows doesn't."""
    rows = whole * BLOCK
    told = [
        watched(blocks_of(n), [speed * size / BLOCK for size in blocks_of(n)])
        for n in (rows, rows + 1)
    ]
    assert told[0] == told[1]
    assert any(each.share for each in told[0]) >= (whole * speed > 2.2)


def test_a_share_and_what_is_left_come_near() -> None:
    told = watched([BLOCK] * 1000, [0.03] * 1000, before=1)
    assert [str(each) for each in told[:4]] == [
        "1 s", "2 s · 5 % · about 30 s left", "3 s · 5 % · about 30 s left",
        "4 s · 10 % · about 30 s left",
    ]  # fmt: skip
    for each in told[2:]:
        assert each.share is not None
        assert 0 <= 100 * each.seconds / 31 - each.share <= 2 * GRID
    assert str(told[29]) == "30 s · 90 % · about 2 s left"


@pytest.mark.parametrize(("may_share", "reports"), [(False, True), (True, False)])
def test_elsewhere_the_time_alone_is_told(may_share: bool, reports: bool) -> None:
    blocks, seconds = ([BLOCK] * 500, [0.02] * 500) if reports else ([1], [10.0])
    told = watched(blocks, seconds, may_share)
    assert len(told) == 9
    assert told == times(told)


def test_a_short_scan_tells_nothing() -> None:
    assert watched([BLOCK] * 90, [0.01] * 90) == []


def test_times_are_rarer_as_they_grow() -> None:
    found = [progress.fixed_time(s / 2) for s in range(2 * 7200)]
    fixed = sorted({*found})
    assert fixed == [*range(60), *range(60, 600, 10), *range(600, 7200, 60)]
    assert all(later <= s / 2 for s, later in enumerate(found))
    said = {12: "12 s", 60: "1 min", 80: "1 min 20 s", 3600: "1 h", 7500: "2 h 5 min"}
    assert {s: progress.duration(s) for s in said} == said


def test_the_charges_of_a_call_are_told_in_turn(clock: Clock) -> None:
    with Scan("ledger", ["a", "b", "c"], may_share=True) as scan:
        scan.turn_to(0, "mean of x")
        assert progress.states("ledger") == {"a": "", "b": "", "c": ""}
        scan.turn_to(1, "count")
        clock.now = 5.2
        scan.look(clock.now)
        said = "computing … question 2 of 3 · 5 s"
        assert progress.states("ledger") == {"b": said, "c": "waits"}
        assert progress.states("another") == {}
    assert progress.states("ledger") == {}


# --- who is told ----------------------------------------------------------------------------------


@pytest.fixture
def heard(clock: Clock) -> Iterator[list[dict[str, str]]]:
    """What a listener sees of a ledger each time it is called."""
    found: list[dict[str, str]] = []
    progress.tell_to(lambda: found.append(dict(progress.states("ledger"))))
    yield found
    progress.tell_to(None)


def test_a_listener_is_told_of_changes_and_of_the_end(
    clock: Clock, heard: list[dict[str, str]]
) -> None:
    with Scan("ledger", ["draw"]):
        for clock.now in (0.5, 1.1, 1.4, 2.0):
            progress._look()
    assert heard == [{"draw": "computing … 1 s"}, {"draw": "computing … 2 s"}, {}]
    with Scan("ledger", ["short"]):
        progress._look()
    assert len(heard) == 3


def test_a_listener_that_fails_costs_no_answer(clock: Clock) -> None:
    progress.tell_to(raising(ZeroDivisionError))
    try:
        with Scan("ledger", ["draw"]):
            clock.now = 3
            progress._look()
    finally:
        progress.tell_to(None)


def test_a_scan_that_an_interrupt_left_behind_gives_way(clock: Clock) -> None:
    left = Scan("ledger", ["left"]).__enter__()
    with Scan("ledger", ["draw"]):
        assert [*progress.states("ledger")] == ["draw"]
        left.end()
        assert [*progress.states("ledger")] == ["draw"]
    assert progress.states("ledger") == {}


def test_scans_of_several_threads_are_told(clock: Clock) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def other() -> None:
        with Scan("ledger", ["other"]):
            begun.set()
            until(may_end.is_set)

    thread = threading.Thread(target=other)
    with Scan("ledger", ["draw"]):
        thread.start()
        until(begun.is_set)
        assert [*progress.states("ledger")] == ["draw", "other"]
    assert [*progress.states("ledger")] == ["other"]
    may_end.set()
    thread.join()


def test_somebody_looks_while_a_scan_runs_and_then_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "LOOK", 0.001)
    monkeypatch.setattr(progress, "IDLE", 3)
    heard: list[int] = []
    progress.tell_to(lambda: heard.append(len(progress.states("ledger"))))
    try:
        for _ in range(2):
            heard.clear()
            with Scan("ledger", ["draw"]):
                until(lambda: heard)
            until(lambda: not progress._awake.is_set())
        assert heard[-1] == 0
        looking = progress._looking
        assert looking is not None
        assert looking.is_alive()
    finally:
        progress.tell_to(None)


def test_without_threads_each_report_looks(
    heard: list[dict[str, str]], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_looking", None)
    with Scan("ledger", ["draw"]):
        clock.now = 2
        Pass().report(0.5, 1)
    assert heard == [{"draw": "computing … 2 s"}, {}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_asks_nothing_of_what_was_asked(clock: Clock) -> None:
    with Scan("ledger", ["draw"]):
        child = os.fork()
        if child == 0:
            os._exit(len(progress._running) + (progress._looking is not None))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert progress._running


# --- in a terminal --------------------------------------------------------------------------------


def terminal(is_one: bool = True) -> tuple[Any, list[str]]:
    written: list[str] = []
    return SimpleNamespace(isatty=lambda: is_one, write=written.append, flush=lambda: None), written


def test_a_terminal_has_one_line_that_goes_away(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stderr, written = terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setenv("COLUMNS", "90")
    with Scan("ledger", ["draw"]) as scan:
        scan.turn_to(0, "mean of x")
        for clock.now in (1, 61):
            progress._look()
    said = "mean of x … {} · Ctrl-C cancels, the charge stays".format
    lines = [said("1 s"), said("1 min")]
    assert written == [f"\r{lines[0]}", f"\r{lines[1]}", f"\r{' ' * len(lines[1])}\r"]
    assert not any("\n" in each for each in written)


@pytest.mark.parametrize("stderr", [None, terminal(False)[0]])
def test_a_file_has_none(stderr: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    with Scan("ledger", ["draw"]):
        clock.now = 5
        progress._look()
    if stderr is not None:
        assert stderr.write.__self__ == []


@given(columns=st.integers(0, 300), question=st.text(max_size=200))
def test_a_line_fits_whatever_is_asked(columns: int, question: str) -> None:
    with moved() as clock:
        scan = Scan("ledger", ["draw"])
        scan.turn_to(0, question)
        clock.now = 7
        scan.look(clock.now)
        told = " … 7 s · Ctrl-C cancels, the charge stays"
        said = progress.line(scan, columns)
        assert len(said) <= columns
        assert columns < len(told) or said.endswith(told)
