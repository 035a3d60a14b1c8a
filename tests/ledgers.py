"""Sessions begun anew, entries of ledgers, and other processes that have a ledger open."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from waiting import LIMIT

import dppandas as dp
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.storage.store import Entry, MemoryStore
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.privacy.accounting.measures import PrivacyBudget

linux = pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")

DRAFT = Entry(
    number=0, time=1.5, source="people", lineage="verified", what=earlier("count"),
    loss=Loss(Epsilon(1, 10)), mechanism="discrete Laplace", scale="10", error="± 30",
    cell=3, version="1", unit="each row", key="k", kernel="here",
)  # fmt: skip


def anew(**terms: Any) -> dp.types.Session:
    """A new session in the place of the running one."""
    dp.reset()
    return dp.session(**terms)


def hesitating(monkeypatch: pytest.MonkeyPatch, pause: Callable[[], Any]) -> None:
    """Ledgers in memory pause between a check and what it allows, so that other threads get in."""
    added = MemoryStore._added

    def slow(self: Any, drafts: Any, check: Any, claim: Any) -> Any:
        return added(self, drafts, lambda *losses: (check(*losses), pause()), claim)

    monkeypatch.setattr(MemoryStore, "_added", slow)


def limit(epsilon: int) -> PrivacyBudget:
    return PrivacyBudget(limit=Loss(Epsilon(epsilon)))


def agreed(before: Loss, after: Loss) -> None:
    """The check of a charge that anybody may make."""


def disagreed(before: Loss, after: Loss) -> None:
    """The check of a charge that nobody may make."""
    raise ValueError("no")


def change(file: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@contextlib.contextmanager
def threads(actions: Sequence[Callable[[], Any]]) -> Iterator[list[Any]]:
    """Run all at once; at the end of the block all have ended, and the list has what they got."""
    got: list[Any] = [None] * len(actions)

    def act(i: int) -> None:
        try:
            got[i] = actions[i]()
        except BaseException as error:
            got[i] = error

    started = [threading.Thread(target=act, args=(i,)) for i in range(len(actions))]
    [t.start() for t in started]
    yield got
    [t.join(LIMIT) for t in started]
    assert not any(t.is_alive() for t in started)


def elsewhere(action: Callable[[], Any]) -> Any:
    """What another thread gets by it, or what it raises."""
    with threads([action]) as got:
        pass
    return got[0]


#: What every process needs to charge.
PRELUDE = """
    import os, sys
    import dppandas as dp
    from dppandas.ledger.earlier_questions import earlier
    from dppandas.ledger.storage.store import Entry
    from dppandas.privacy.accounting.losses import Epsilon, Loss
    from dppandas.ledger.storage.sqlite import SqliteStore

    def entry(loss="1/10"):
        said = (0, 0.0, "people", "verified", earlier("count"), Loss(Epsilon(loss)))
        return Entry(*said, "m", "1", "", None)
"""


class Process:
    """Another Python that runs some code, is told lines, and says lines."""

    def __init__(self, code: str, *arguments: object) -> None:
        self.ran: Any = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.first = self.says()

    def says(self) -> str:
        return self.ran.stdout.readline().strip()

    def tell(self, line: str = "") -> None:
        self.ran.stdin.write(line + "\n")
        self.ran.stdin.flush()

    def told(self, line: str = "") -> str:
        """Tell it a line, and hear its answer."""
        self.tell(line)
        return self.says()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.ran.poll() is None:
            self.ran.send_signal(signal.SIGCONT)
            self.ran.kill()
        self.ran.wait(timeout=LIMIT)
        self.ran.stdin.close()
        self.ran.stdout.close()


def process(file: object, *code: str) -> Process:
    """A process that may charge to this file."""
    return Process("".join(map(textwrap.dedent, (PRELUDE, *code))), file)
