"""Where the entries of a ledger live."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .budget import Epsilon, Loss
from .errors import WorkerProcessError


@dataclass(frozen=True)
class Entry:
    """One charge, and what became of it. Public facts and noisy answers only."""

    number: int
    time: float
    source: str
    lineage: str
    what: str
    loss: Loss
    mechanism: str
    scale: str
    error: str
    cell: int | None
    status: str = "charged"  # then "released", or "failed"

    @property
    def epsilon(self) -> Epsilon:
        """The ε of its loss."""
        return self.loss.epsilon


class Store(Protocol):
    """Keeps entries, in order, and lets nobody write between a check and what it allows."""

    def add(self, drafts: Sequence[Entry], check: Callable[[Loss], None]) -> list[Entry]:
        """Append all, after ``check(spent)`` did not raise; they are safe when this returns."""
        ...

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        """Call ``action(spent)`` while nobody can charge."""
        ...

    def settle(self, number: int, status: str) -> None:
        """Note what became of a charge; the charge itself never changes."""
        ...

    def entries(self) -> list[Entry]: ...

    @property
    def spent(self) -> Loss: ...


#: The process that imported dppandas. A fork of it is another, even for sessions that it opens.
_PROCESS = os.getpid()


class MemoryStore:
    """Entries in the memory of one process, and only of that one."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._spent = Loss()
        self._lock = threading.Lock()

    def add(self, drafts: Sequence[Entry], check: Callable[[Loss], None]) -> list[Entry]:
        self._same_process()
        # With a lock go blocks of one line, here and below: an interrupt between the last line of
        # a block and its end, where Python unlocks, would leave it locked for good.
        with self._lock: return self._added(drafts, check)  # noqa: E701  # fmt: skip

    def _added(self, drafts: Sequence[Entry], check: Callable[[Loss], None]) -> list[Entry]:
        check(self._spent)
        first = len(self._entries) + 1
        entries = [replace(draft, number=first + i) for i, draft in enumerate(drafts)]
        for entry in entries:
            self._spent = self._spent + entry.loss  # first, so that an interrupt here
            self._entries.append(entry)  # can only count too much
        return entries

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        with self._lock: action(self._spent)  # noqa: E701  # fmt: skip

    def settle(self, number: int, status: str) -> None:
        with self._lock: self._settled(number, status)  # noqa: E701  # fmt: skip

    def _settled(self, number: int, status: str) -> None:
        entry = self._entries[number - 1]
        self._entries[number - 1] = replace(entry, status=status)

    def entries(self) -> list[Entry]:
        return list(self._entries)

    @property
    def spent(self) -> Loss:
        return self._spent

    def _same_process(self) -> None:
        if os.getpid() != _PROCESS or multiprocessing.parent_process() is not None:
            raise WorkerProcessError(
                "this is a forked or worker process, and a ledger in memory belongs to the main "
                "process: copies of it would each grant the whole budget. Release in the main "
                "process. Nothing was computed or charged."
            )
