"""Where the entries of a ledger live: the protocol, and entries in memory."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any, NamedTuple, Protocol

from ...errors import ReleaseFailed, SessionError, WorkerProcessError
from ...privacy.accounting.composition import ParallelComposition, Path
from ...privacy.accounting.losses import Epsilon, Loss
from .leases import Claim, Taken


@dataclass(frozen=True)
class Entry:
    """One charge, and what became of it. Public facts only."""

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
    status: str = "charged"  # then "released", or "failed"; "replayed" for an answer given again
    version: str | None = None
    unit: str = ""
    path: Path = ()  # the parts of the source that it reads, from outside in
    key: str = ""  # what equal queries share; "" where each draws and pays
    kernel: str = ""  # who charged it
    released_error: str = ""  # the error as answered; "" where that is not known

    @property
    def known_error(self) -> str:
        """The error at 95 %: as answered, else as public facts decided it before."""
        return self.released_error or self.error

    @property
    def epsilon(self) -> Epsilon:
        """The ε of its loss."""
        return self.loss.epsilon


class StoredRelease(NamedTuple):
    """What a charge has bought: the noisy integers, and which draw of its query they are."""

    entry: Entry
    noisy: Sequence[Any]
    draw: int


@dataclass(frozen=True)
class Registered:
    """A source as a store knows it. The key chooses the rows that max_rows keeps.

    The kinds of its columns are noted when it is registered first, and never compared: each a
    name, a kind, and whether it was declared. The others are dtypes', as the caller asserted.
    """

    name: str
    unit: str
    key: bytes
    kinds: tuple[tuple[str, str, bool], ...] = field(default=(), compare=False)


#: Called with what all charges cost before and after some more: raises to refuse them.
Check = Callable[[Loss, Loss], None]


class Store(Protocol):
    """Keeps entries, in order, and lets nobody write between a check and what it allows."""

    def add(self, drafts: Sequence[Entry], check: Check, claim: Claim | None = None) -> list[Entry]:
        """Append all, unless ``check(before, after)`` raises; they are safe when this returns.

        With a claim, those that have a key are leased to it: of each key and draw to one claim.
        Raises `Taken` where one is leased to another that is still at it, or answered.
        """
        ...

    def is_taken(self, key: str, draw: int) -> bool:
        """Whether somebody who is still at it has leased a draw of a key."""
        ...

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        """Call ``action(spent)`` while nobody can charge."""
        ...

    def settle(
        self, number: int, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: str = "",
    ) -> int | None:  # fmt: skip
        """Note what became of a charge; the charge itself never changes. What was released is kept
        for its key. Returns which draw of its query this is, from 1; 0 if it isn't kept.

        Of a charge that was leased, None where the lease is another's by now: nothing is noted."""
        ...

    def stored(self, key: str, draw: int) -> StoredRelease | None:
        """The answer kept for a key: of the first draw, the second, …"""
        ...

    def register(self, source: Registered) -> Registered:
        """Note a source, or give it as it is known already."""
        ...

    def registered(self, name: str) -> Registered | None:
        """A source as it is known; None if it isn't."""
        ...

    def entries(self, last: int | None = None, before: int | None = None) -> list[Entry]:
        """All entries, or those below a number, or the last so many of these; oldest first."""
        ...

    def count(self) -> int:
        """How many entries there are."""
        ...

    def sealed(self) -> tuple[list[Entry], str]:
        """All entries, and the hash that they end in at the same moment; "" where there is none."""
        ...

    @property
    def spending(self) -> ParallelComposition: ...

    def counted(self) -> tuple[int, ParallelComposition]:
        """How many entries there are and what they cost, at one moment."""
        ...

    def has_changed(self) -> bool:
        """Whether another process wrote since this was last asked."""
        ...

    def close(self) -> None: ...

    @property
    def path(self) -> File | None:
        """The file that the entries are kept in; None in memory."""
        ...

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path names that file."""
        ...

    @property
    def identity(self) -> str:
        """What tells it from all others, if it outlives the data that a process holds, so that
        their versions must be named; "" if it doesn't."""
        ...


def refuse_own(claim: Claim) -> None:
    """Nobody waits for himself."""
    if claim.is_mine:
        raise SessionError(
            "this query is being answered in this very thread: something that runs while its rows "
            "are read asks the same again."
        )


def refuse_second(number: int, has_outcome: object) -> None:
    """One charge pays for one answer."""
    if has_outcome:
        raise ReleaseFailed(
            f"release {number} has an outcome already, and one charge pays for one answer: this "
            "one is discarded. The charge stays."
        )


#: The process that imported dppandas. A fork of it is another, even for sessions that it opens.
_PROCESS = os.getpid()


class MemoryStore:
    """Entries in the memory of one process, and only of that one."""

    identity = ""
    path = None

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._spending = ParallelComposition()
        self._answers: dict[str, dict[int, tuple[int, Sequence[Any]]]] = {}
        self._leases: dict[tuple[str, int], tuple[int, Claim]] = {}
        self._sources: dict[str, Registered] = {}
        self._lock = threading.Lock()

    def add(self, drafts: Sequence[Entry], check: Check, claim: Claim | None = None) -> list[Entry]:
        self._same_process()
        # With a lock go blocks of one line, here and below: an interrupt between the last line of
        # a block and its end, where Python unlocks, would leave it locked for good.
        with self._lock: return self._added(drafts, check, claim)  # noqa: E701  # fmt: skip

    def _added(self, drafts: Sequence[Entry], check: Check, claim: Claim | None) -> list[Entry]:
        leases = {} if claim is None else self._leased(drafts, claim)
        after = self._spending.plus(((each.source, each.path), each.loss) for each in drafts)
        check(self._spending.total, after.total)
        first = len(self._entries) + 1
        entries = [replace(draft, number=first + i) for i, draft in enumerate(drafts)]
        self._spending = after  # first, so that an interrupt here can only count too much
        self._entries += entries
        self._leases |= leases
        return entries

    def _leased(
        self, drafts: Sequence[Entry], claim: Claim
    ) -> dict[tuple[str, int], tuple[int, Claim]]:
        leases: dict[tuple[str, int], tuple[int, Claim]] = {}
        number = len(self._entries)
        for draft, wanted in zip(drafts, claim.draws, strict=True):
            number += 1
            if draft.key:
                if wanted and (self._holder(draft.key, wanted) or self.stored(draft.key, wanted)):
                    raise Taken(draft.key, wanted)
                draw = wanted or self._next(draft.key, leases)
                leases[draft.key, draw] = number, claim
        return leases

    def _next(self, key: str, *more: dict[tuple[str, int], Any]) -> int:
        """The draw after all that are kept, or being made."""
        leased: list[tuple[str, int]] = [name for each in (self._leases, *more) for name in each]
        drawn = [draw for name, draw in leased if name == key]
        return max([0, *self._answers.get(key, {}), *drawn]) + 1

    def _holder(self, key: str, draw: int) -> Claim | None:
        _, claim = self._leases.get((key, draw), (0, None))
        if claim is None or not claim.is_open:
            return None
        refuse_own(claim)
        return claim

    def is_taken(self, key: str, draw: int) -> bool:
        return self._holder(key, draw) is not None

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        with self._lock: action(self._spending.total)  # noqa: E701  # fmt: skip

    def settle(
        self, number: int, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: str = "",
    ) -> int | None:  # fmt: skip
        with self._lock: return self._settled(number, status, noisy, leased, released_error)  # noqa: E701  # fmt: skip

    def _settled(
        self,
        number: int,
        status: str,
        noisy: Sequence[Any] | None,
        leased: bool,
        released_error: str,
    ) -> int | None:
        entry = self._entries[number - 1]
        refuse_second(number, entry.status != "charged")
        draw = next((draw for (_, draw), lease in self._leases.items() if lease[0] == number), None)
        if leased and entry.key and draw is None:
            return None
        self._entries[number - 1] = replace(entry, status=status, released_error=released_error)
        kept = 0
        if noisy is not None and entry.key:
            kept = draw or self._next(entry.key)
            self._answers.setdefault(entry.key, {})[kept] = number, noisy
        if draw is not None:  # last, so that an interrupt leaves a lease that ends with its claim
            del self._leases[entry.key, draw]
        return kept

    def stored(self, key: str, draw: int) -> StoredRelease | None:
        found = self._answers.get(key, {}).get(draw)
        if found is None:
            return None
        number, noisy = found
        return StoredRelease(self._entries[number - 1], noisy, draw)

    def register(self, source: Registered) -> Registered:
        return self._sources.setdefault(source.name, source)

    def registered(self, name: str) -> Registered | None:
        return self._sources.get(name)

    def entries(self, last: int | None = None, before: int | None = None) -> list[Entry]:
        number = len(self._entries)
        end = number if before is None else min(number, max(0, before - 1))
        return self._entries[0 if last is None else max(0, end - last) : end]

    def count(self) -> int:
        return len(self._entries)

    def sealed(self) -> tuple[list[Entry], str]:
        return list(self._entries), ""

    @property
    def spending(self) -> ParallelComposition:
        return self._spending

    def counted(self) -> tuple[int, ParallelComposition]:
        while True:  # not under the lock, which a fork may have copied while it was held
            count, spending = len(self._entries), self._spending
            if count == len(self._entries):
                return count, spending

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        return False

    def has_changed(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def _same_process(self) -> None:
        if os.getpid() != _PROCESS or multiprocessing.parent_process() is not None:
            raise WorkerProcessError(
                "this is a forked or worker process, and a ledger in memory belongs to the main "
                "process: copies of it would each grant the whole budget. Release in the main "
                'process, or keep the ledger in a file: dp.session(epsilon=…, store="my.ledger").'
            )
