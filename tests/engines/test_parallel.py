"""Long work says how far it is, in shares only, and stops when it is interrupted."""

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
from waiting import LIMIT, until

import dppandas as dp
from dppandas.engines import pandas as engine
from dppandas.engines import parallel
from dppandas.engines.base import Kernel, Need
from dppandas.rows.accumulators import SumAccumulator
from dppandas.rows.facts.units import Unit

Told = list[tuple[str, float | None]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    heard: Told = []
    parallel.report_to(lambda label, share: heard.append((label, share)))
    monkeypatch.setattr(parallel, "PATIENCE", 0.0)
    yield heard
    parallel.report_to(None)


def test_long_work_tells_growing_shares_and_then_that_it_is_over(told: Told) -> None:
    def slow(tell: parallel.Tell) -> int:
        for step in range(1, 4):
            tell(step / 4)
            heard = len(told)
            until(lambda: len(told) > heard)  # noqa: B023
        return 7

    assert parallel.run([slow, slow], "mean of x") == [7, 7]
    shares = [share for _, share in told[:-1]]
    assert len({*shares}) > 1
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert all(0 <= share <= 1 for share in shares)  # type: ignore[operator]
    assert told[-1] == ("mean of x", None)


def test_short_work_tells_nothing(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "PATIENCE", LIMIT)
    assert parallel.run([lambda tell: time.sleep(0.6)], "count") == [None]
    assert told == []


@pytest.fixture
def stopped() -> Iterator[Callable[[parallel.Tell], None]]:
    """A task that goes on until it is stopped, as it has to be."""
    stops: list[InterruptedError] = []

    def endless(tell: parallel.Tell) -> None:
        try:
            until(lambda: tell(0.5))
        except InterruptedError as stop:
            stops.append(stop)
            raise

    yield endless
    assert len(stops) == 1


def test_one_failing_part_stops_the_others(stopped: Callable[[parallel.Tell], None]) -> None:
    fails = raising(ZeroDivisionError)
    refusal(lambda: parallel.run([fails, stopped], "count"), error=ZeroDivisionError)


def test_an_interrupt_of_the_one_who_waits_stops_the_work(
    monkeypatch: pytest.MonkeyPatch, stopped: Callable[[parallel.Tell], None]
) -> None:
    monkeypatch.setattr(parallel, "_watch", raising(KeyboardInterrupt))
    refusal(lambda: parallel.run([stopped], "count"), error=KeyboardInterrupt)


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
        parallel.run([partial(task, i) for i in range(3)], "three")
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
    shares = [share for _, share in told[:-1]]
    assert len(shares) == 12  # blocks
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert told[-1][1] is None
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

    def noted(tasks: Any, label: str) -> Any:
        started.append(len(tasks))
        return run(tasks, label)

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
