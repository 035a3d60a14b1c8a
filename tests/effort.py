"""How much work something is, counted and not timed: a busy machine makes nothing larger."""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from dppandas.ledger.storage.connections import Connection, _open


class Calls:
    """How many functions of Python and of C were called, and steps taken by SQLite."""

    number = 0

    def hear(self, frame: FrameType, event: str, argument: object) -> None:
        self.number += event in ("call", "c_call")


def _step() -> None:
    """SQLite calls it at each step of its machine, so that a step is counted as a call."""


def _counts(db: Connection) -> None:
    db.set_progress_handler(_step, 1)


@contextmanager
def counting() -> Iterator[Calls]:
    """Counts what this thread does in the block. Of SQLite in ledgers' files, which no other thread
    may have open. What collecting garbage calls, which other tests left, isn't counted."""
    counted, made = Calls(), Connection.__init__

    def opened(db: Connection, *args: object, **kwargs: object) -> None:
        made(db, *args, **kwargs)  # type: ignore[arg-type]
        _counts(db)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Connection, "__init__", opened)
        before = [db for db in _open if not db.is_closed]
        for db in before:
            _counts(db)
        was_on = gc.isenabled()
        gc.disable()
        sys.setprofile(counted.hear)
        try:
            yield counted
        finally:
            sys.setprofile(None)
            if was_on:
                gc.enable()
            for db in before:
                if not db.is_closed:
                    db.set_progress_handler(None, 1)


def calls(action: Callable[[], object]) -> int:
    with counting() as counted:
        action()
    return counted.number


def peak(action: Callable[[], object]) -> int:
    """The most bytes that Python and numpy held for an action at a time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
