"""Work in blocks, on all cores, with a word to the person who waits for it."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

#: Nobody is told about work shorter than this.
PATIENCE = 2.0

Reporter = Callable[[str, float | None], None]


def to_terminal(label: str, share: float | None) -> None:
    """A line on standard error that is rewritten in place, and wiped at the end (share None)."""
    if sys.stderr.isatty():
        text = f"dppandas: {label} {share:4.0%}" if share is not None else ""
        sys.stderr.write(f"\r{text:<60}\r")
        sys.stderr.flush()


_reporter: Reporter = to_terminal


def report_to(reporter: Reporter | None) -> None:
    """Who is told ``(label, share done)``: the notebook extension, or the terminal (None)."""
    global _reporter
    _reporter = reporter or to_terminal


def workers() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return min(8, len(os.sched_getaffinity(0)))
    return min(8, os.cpu_count() or 1)


def run(tasks: Sequence[Callable[[Callable[[float], None]], T]], label: str) -> list[T]:
    """Run tasks side by side; each is handed a function to call with the share it has done.

    An exception or an interrupt stops the others at their next word.
    """
    done = [0.0] * len(tasks)
    stopped = threading.Event()

    def tell(position: int) -> Callable[[float], None]:
        def heard(share: float) -> None:
            done[position] = share
            if stopped.is_set():
                raise InterruptedError("another part of this work was stopped")

        return heard

    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        futures = [pool.submit(task, tell(i)) for i, task in enumerate(tasks)]
        try:
            _watch(futures, done, label)
            return [future.result() for future in futures]
        finally:
            stopped.set()


def _watch(futures: Sequence[Future[T]], done: Sequence[float], label: str) -> None:
    start, told = time.monotonic(), False
    pending: set[Future[T]] = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=0.25, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in finished):
            break
        if pending and time.monotonic() - start > PATIENCE:
            told = True
            _reporter(label, sum(done) / len(done))
    if told:
        _reporter(label, None)


def rounds(number: int, label: str) -> Iterator[int]:
    """Public rounds one after the other; who waits for long is told which one runs."""
    start, told = time.monotonic(), False
    try:
        for i in range(number):
            if time.monotonic() - start > PATIENCE:
                told = True
                _reporter(f"{label}, round {i + 1} of {number}", i / number)
            yield i
    finally:
        if told:
            _reporter(label, None)
