"""Runs work on all cores, and reports progress to the person who waits."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from ..rows.accumulators import Accumulator

T = TypeVar("T")
#: To be called with the share that is done.
Tell = Callable[[float], None]

#: Seconds before progress is reported.
PATIENCE = 2.0
#: Seconds of work for which it is worth starting threads: less is over sooner than a hand feels.
WORTH = 0.005

Reporter = Callable[[str, float | None], None]


def to_terminal(label: str, share: float | None) -> None:
    """Rewrites one line on standard error, and wipes it at the end (share None)."""
    if sys.stderr.isatty():
        text = f"dppandas: {label} {share:4.0%}" if share is not None else ""
        sys.stderr.write(f"\r{text:<60}\r")
        sys.stderr.flush()


_reporter: Reporter = to_terminal


def report_to(reporter: Reporter | None) -> None:
    """Report progress by ``reporter(label, share done)``; None reports to the terminal."""
    global _reporter
    _reporter = reporter or to_terminal


def workers() -> int:
    """How many of the cores that this process may use are used."""
    has_affinity = hasattr(os, "sched_getaffinity")
    return min(8, len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1)


class Progress:
    """Tells of work that takes a while how far it is, and at last that it is over."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._start = time.monotonic()
        self._told = False

    def __enter__(self) -> Progress:
        return self

    def tell(self, share: float, step: str = "") -> None:
        if time.monotonic() - self._start > PATIENCE:
            self._told = True
            _reporter(self._label + step, share)

    def __exit__(self, *raised: object) -> None:
        if self._told:
            _reporter(self._label, None)


def started(thread: threading.Thread) -> bool:
    """Start a thread, if threads can be started here: not in a browser's Python."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


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

    @property
    def share(self) -> float:
        """How much of it is done, or begun."""
        return min(1.0, self._taken / max(1, len(self._things)))


def run(tasks: Sequence[Callable[[Tell], T]], label: str) -> list[T]:
    """Run tasks side by side, or in turn where threads can't be started; each gets a function to
    call with the share that it has done.

    If one raises or is interrupted, the others stop at their next report. None begins before all
    have a thread: one that began, and was begun again in turn, would add its rows twice.
    """
    done = [0.0] * len(tasks)
    stopped = threading.Event()
    may_begin: Future[bool] = Future()

    def begin(task: Callable[[Tell], T], position: int) -> T:
        if not may_begin.result():
            raise InterruptedError("this work is done in turn, or not at all")
        return task(partial(tell, position))

    def tell(position: int, share: float) -> None:
        done[position] = share
        if stopped.is_set():
            raise InterruptedError("another task of this work was stopped")

    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        futures: list[Future[T]] = []
        try:
            with suppress(RuntimeError):  # of a thread that can't be started
                futures = [pool.submit(begin, task, i) for i, task in enumerate(tasks)]
            if futures:
                may_begin.set_result(True)
                _watch(futures, done, label)
                return [future.result() for future in futures]
        finally:
            stopped.set()
            if not may_begin.done():
                may_begin.set_result(False)
    return _in_turn(tasks, label)


def joined(totals: Sequence[Accumulator]) -> Any:
    """What several accumulators hold together."""
    first, *others = totals
    for other in others:
        first.join(other)
    return first.result()


def _watch(futures: Sequence[Future[T]], done: Sequence[float], label: str) -> None:
    pending: set[Future[T]] = set(futures)
    with Progress(label) as progress:
        while pending:
            finished, pending = wait(pending, timeout=0.25, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in finished):
                break
            if pending:
                progress.tell(sum(done) / len(done))


def _in_turn(tasks: Sequence[Callable[[Tell], T]], label: str) -> list[T]:
    found: list[T] = []
    with Progress(label) as progress:
        for task in tasks:
            found.append(task(lambda share: progress.tell((len(found) + share) / len(tasks))))
    return found


def rounds(number: int, label: str) -> Iterator[int]:
    """The numbers of public rounds; after a while, the one that runs is reported."""
    with Progress(label) as progress:
        for i in range(number):
            progress.tell(i / number, f", round {i + 1} of {number}")
            yield i
