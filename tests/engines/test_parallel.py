"""Work on all cores reports how much of it is done, and stops when it is interrupted."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from refusals import raising, refusal
from waiting import until

import dppandas as dp
from dppandas.engines import pandas as engine
from dppandas.engines import parallel, progress
from dppandas.engines.base import Kernel, Need
from dppandas.rows.accumulators import SumAccumulator
from dppandas.rows.facts.units import Unit

#: Shares of the rows that are read, and in how many steps.
Told = list[tuple[float, int]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    heard: Told = []
    monkeypatch.setattr(progress.Pass, "report", lambda _, *report: heard.append(report))
    return heard


def test_work_reports_the_rows_of_all_tasks_while_it_runs(told: Told) -> None:
    def slow(tell: parallel.Tell) -> int:
        for step in range(1, 4):
            tell(10 * step)
            heard = len(told)
            until(lambda: len(told) > heard)  # noqa: B023
        return 7

    assert parallel.run([slow, slow], 80) == [7, 7]
    assert len({*told}) > 1
    assert told == sorted(told)
    assert {*told} <= {(rows / 8, rows) for rows in range(1, 7)}


def test_of_work_that_is_no_pass_of_its_own_nothing_is_reported(told: Told) -> None:
    assert parallel.run([lambda tell: tell(5) or time.sleep(0.6)]) == [None]  # type: ignore[func-returns-value]
    assert told == []


@pytest.fixture
def stopped() -> Iterator[Callable[[parallel.Tell], None]]:
    """A task that goes on until it is stopped, as it has to be."""
    stops: list[InterruptedError] = []

    def endless(tell: parallel.Tell) -> None:
        try:
            until(lambda: tell(1))
        except InterruptedError as stop:
            stops.append(stop)
            raise

    yield endless
    assert len(stops) == 1


def test_one_failing_part_stops_the_others(stopped: Callable[[parallel.Tell], None]) -> None:
    fails = raising(ZeroDivisionError)
    refusal(lambda: parallel.run([fails, stopped]), error=ZeroDivisionError)


def test_an_interrupt_of_the_one_who_waits_stops_the_work(
    monkeypatch: pytest.MonkeyPatch, stopped: Callable[[parallel.Tell], None]
) -> None:
    monkeypatch.setattr(parallel, "_watch", raising(KeyboardInterrupt))
    refusal(lambda: parallel.run([stopped]), error=KeyboardInterrupt)


def test_a_large_frame_is_counted_in_parts_and_the_same(told: Told, exact: None) -> None:
    frame = pd.DataFrame({"x": np.arange(1_000_000)})
    assert frame.dp.query("x % 3 == 0").count(epsilon=1) == 333_334


def test_no_task_begins_twice_where_too_few_threads_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rows would count twice. Were a task begun by the one thread, it would be so in about half
    of the runs."""
    start, started, begun = threading.Thread.start, [], [0, 0, 0]

    def limited(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    def task(position: int, tell: parallel.Tell) -> None:
        begun[position] += 1

    monkeypatch.setattr(threading.Thread, "start", limited)
    for _ in range(50):
        started.clear()
        parallel.run([partial(task, i) for i in range(3)])
    assert begun == [50] * 3


@pytest.mark.parametrize("possible", [0, 1])
def test_without_threads_rows_are_read_in_turn(
    possible: int, told: Told, exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a browser's Python, where none can be started, or under a limit, where some can."""
    start, started = threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        if len(started) == possible:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    monkeypatch.setattr(parallel, "WORTH", 0.0)
    frame = pd.DataFrame({"x": np.arange(3_000_000) % 10})
    assert frame.dp["x"].mean(bounds=(0, 10), epsilon=1) == 4.5
    assert len(started) == possible
    assert [steps for _, steps in told] == [*range(1, 13)]  # blocks
    assert told == sorted(told)
    assert told[-1][0] == 1
    spent = dp.ledger().to_frame()
    assert list(spent["epsilon"]) == [1]


@pytest.mark.parametrize("worth", [0.0, float("inf")])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 50])
def test_each_row_is_read_once_whoever_reads_it(
    worth: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In blocks of two for one thread, and of six for three, after the first block of two."""
    started: list[int] = []
    run = parallel.run

    def noted(tasks: Any, rows: int) -> Any:
        started.append(len(tasks))
        return run(tasks, rows)

    monkeypatch.setattr(parallel, "run", noted)
    monkeypatch.setattr(parallel, "workers", lambda: 3)
    monkeypatch.setattr(parallel, "WORTH", worth)
    monkeypatch.setattr(engine, "ALONE", 2)
    seen: list[tuple[int, int]] = []

    def ends(branches: Sequence[Any], where: object) -> npt.NDArray[np.int64]:
        seen.append((branches[0].where.start, branches[0].where.stop))
        return np.array([branches[0].rows])

    frame = pd.DataFrame({"x": np.arange(rows)})
    kernel = Kernel(ends, partial(SumAccumulator, 1), Need(frozenset(["x"])))
    reads = engine.PandasEngine(frame, Unit(), b"key", block=6)
    assert reads.accumulate_rows(kernel, "x") == [rows]
    assert [row for first, last in sorted(seen) for row in range(first, last)] == [*range(rows)]
    assert bool(started) == (worth == 0.0 and rows > 2)
