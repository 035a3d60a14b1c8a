"""Runs work on all cores, and reports how much of it is done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from ..rows.accumulators import Accumulator
from .progress import Pass

T = TypeVar("T")
#: To be called after each step with how many rows of a task are done.
Tell = Callable[[int], None]

#: Seconds of work for which it is worth starting threads: less is over sooner than a hand feels.
WORTH = 0.005


def workers() -> int:
    """How many of the cores that this process may use are used."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return min(8, len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1)


class Shared(Generic[T]):
    """Work that several threads take from, one thing after the other."""

    def __init__(self, things: Sequence[T]) -> None:
        self._things = things
        self._lock = threading.Lock()
        self._taken = 0

    def __iter__(self) -> Iterator[T]:
        while True:
            with self._lock:
                at, self._taken = self._taken, self._taken + 1
            if at >= len(self._things):
                return
            yield self._things[at]


class Done:
    """How much of some tasks is done. Each task writes only what is its own."""

    def __init__(self, tasks: int, rows: int) -> None:
        self._pass, self._all = Pass(), rows
        self._rows, self._steps = [0] * tasks, [0] * tasks

    def note(self, position: int, rows: int) -> None:
        self._rows[position] = rows
        self._steps[position] += 1

    def report(self) -> None:
        if self._all:
            self._pass.report(sum(self._rows) / self._all, sum(self._steps))


def run(tasks: Sequence[Callable[[Tell], T]], rows: int = 0) -> list[T]:
    """Run tasks side by side, or in turn where threads can't be started; each gets a function to
    call with how many rows it has done.

    If one raises or is interrupted, the others stop at their next report. None begins before all
    have a thread: one that began, and was begun again in turn, would add its rows twice.

    rows : of all tasks, if these are the only pass over rows; 0 for work of which only the time is
        told.
    """
    done = Done(len(tasks), rows)
    stopped = threading.Event()
    may_begin: Future[bool] = Future()

    def begin(task: Callable[[Tell], T], position: int) -> T:
        if not may_begin.result():
            raise InterruptedError("this work is done in turn, or not at all")
        return task(partial(tell, position))

    def tell(position: int, its: int) -> None:
        done.note(position, its)
        if stopped.is_set():
            raise InterruptedError("another task of this work was stopped")

    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        futures: list[Future[T]] = []
        try:
            with suppress(RuntimeError):  # of a thread that can't be started
                futures = [pool.submit(begin, task, i) for i, task in enumerate(tasks)]
            if futures:
                may_begin.set_result(True)
                _watch(futures, done)
                return [future.result() for future in futures]
        finally:
            stopped.set()
            if not may_begin.done():
                may_begin.set_result(False)
    return _in_turn(tasks, done)


def joined(totals: Sequence[Accumulator]) -> Any:
    """What several accumulators hold together."""
    first, *others = totals
    for other in others:
        first.join(other)
    return first.result()


def _watch(futures: Sequence[Future[T]], done: Done) -> None:
    pending: set[Future[T]] = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=0.25, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in finished):
            break
        if pending:
            done.report()


def _in_turn(tasks: Sequence[Callable[[Tell], T]], done: Done) -> list[T]:
    def tell(position: int, its: int) -> None:
        done.note(position, its)
        done.report()

    return [task(partial(tell, position)) for position, task in enumerate(tasks)]
