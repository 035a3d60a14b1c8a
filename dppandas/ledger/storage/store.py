"""Where the entries of a ledger live: the protocol, and entries in memory."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path as File
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ...dataclasses import dataclass, field
from ...errors import ReleaseFailed, WorkerProcessError
from ...privacy.accounting.composition import ParallelComposition, Path, Place
from ...privacy.accounting.losses import Epsilon, Loss
from ...privacy.mechanisms.base import ReleaseThreshold
from .. import marimo
from ..questions import Question
from ..stated_errors import StatedError
from .leases import Claim, Taken

T = TypeVar("T")


class Once(Generic[T]):
    """What is found when it is first asked for. What it is found from is let go then."""

    def __init__(self, find: Callable[[], T]) -> None:
        self._find: Callable[[], T] | None = find

    def __call__(self) -> T:
        find = self._find
        if find is not None:
            self._found = find()  # found twice by two threads, it is the same
            self._find = None
        return self._found


#: Finds some fields of an entry, by their names.
Later = Callable[[], dict[str, Any]]
#: Finds the error of an answer; None where it can't be stated.
FindError = Callable[[], StatedError | None]


class Program(NamedTuple):
    """A call that made several charges: its name, and its number in its process."""

    name: str  # as in "split"; "" for a call without one
    number: int

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


class Entry(NamedTuple):
    """One charge, and its outcome. Public facts only."""

    number: int
    time: float
    source: str
    lineage: str
    what: Question
    loss: Loss
    mechanism: str
    scale: str
    error: str
    cell: int | None
    #: "charged" until there is an outcome, then "released", "failed", "interrupted" or "recorded";
    #: "replayed" for an answer given again.
    status: str = "charged"
    version: str | None = None
    unit: str = ""
    path: Path = ()  # which part of the source it reads, from the outermost partition inwards
    key: str = ""  # shared by equal queries; "" where each draws and pays for itself
    kernel: str = ""  # the process that charged it
    released_error: StatedError | str = ""  # as answered; a text in older ledgers, "" if unknown
    program: Program | None = None  # shared by consecutive charges of one call; None for only one
    asker: str = ""  # who asked; "" for the user of the process
    request: str = ""  # a random id that all charges of one purchase share
    draw_id: str = ""  # a random id of its draw
    others: tuple[tuple[str, str | None, Path], ...] = ()  # more sources, versions and paths
    threshold: ReleaseThreshold | None = None  # from which noisy number on it is released
    later: tuple[Later, ...] = ()  # what finds its words: in memory when somebody reads them

    @property
    def whole(self) -> Entry:
        """With all its words."""
        if not self.later:
            return self
        found: dict[str, Any] = {}
        for find in self.later:
            found |= find()
        return self._replace(later=(), **found)

    @property
    def known_error(self) -> str:
        """The error at 95 %: as answered, else as public facts predicted it."""
        whole = self.whole
        return str(whole.released_error) or whole.error

    @property
    def charges(self) -> list[tuple[Place, Loss]]:
        """Where its loss counts: in full for each of its sources."""
        more = [(source, path) for source, _, path in self.others]
        return [(place, self.loss) for place in [(self.source, self.path), *more]]

    @property
    def mechanism_in_words(self) -> str:
        """The mechanism, with what it takes to be released, which its first part decides."""
        if not self.threshold:
            return self.mechanism
        first, then, rest = self.mechanism.partition(", then ")
        return f"{first}, {self.threshold}{then}{rest}"

    @property
    def epsilon(self) -> Epsilon:
        """The ε of its loss."""
        return self.loss.epsilon


class StoredRelease(NamedTuple):
    """What a charge bought: the noisy integers, and which draw of its query they are."""

    entry: Entry
    noisy: Sequence[Any]
    draw: int


@dataclass(frozen=True)
class Registered:
    """A source as a store knows it. The key chooses the rows that max_rows keeps.

    The kinds of its columns are noted when it is first registered, and never compared: for each
    column its name, its kind, and whether the caller declared it or only asserted the dtype.
    """

    name: str
    unit: str
    key: bytes
    kinds: tuple[tuple[str, str, bool], ...] = field(default=(), compare=False)


#: What a ledger says whose log was lost, wherever it says what is spent.
MISSING = "charges may be missing, so what is spent is a lower bound"

#: What it says of a source whose earlier answers came from a machine that has the fingerprint.
NOT_COMPARED = "these data were not compared with those of the earlier answers"


def lost_log(accepted: float) -> str:
    """Why: when its owner accepted the loss."""
    day = datetime.fromtimestamp(accepted, UTC).date().isoformat()
    return f"the log was lost, which was accepted on {day}"


class Caveats(NamedTuple):
    """What a ledger says against its own figures."""

    accepted: tuple[float, ...] = ()  # when its owner accepted that charges may be missing
    not_compared: tuple[tuple[str, str], ...] = ()  # sources and versions, in order

    def plus(self, more: Caveats) -> Caveats:
        """These and more."""
        return Caveats(self.accepted + more.accepted, self.not_compared + more.not_compared)


#: Of a ledger with nothing to say against its figures.
NO_CAVEATS = Caveats()

#: Called with the cost of all charges before and after some more; raises to refuse these.
Check = Callable[[Loss, Loss], None]


class Store(Protocol):
    """Keeps entries in order, and lets nobody write between a check and what it allows."""

    def add(self, drafts: Sequence[Entry], check: Check, claim: Claim | None = None) -> list[Entry]:
        """Append all, unless ``check(before, after)`` raises; they are safe when this returns.

        With a claim, those that have a key are leased to it, each draw of a key to one claim only.
        Raises `Taken` where a draw is kept already, or leased to a claim that is still open.
        """

    def is_taken(self, key: str, draw: int) -> bool:
        """Whether a claim that is still open has leased a draw of a key."""

    def is_answered(self, entry: Entry) -> bool | None:
        """Whether a process is answering a charge that has no outcome; None where nobody knows, as
        of questions without a key."""

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        """Call ``action(spent)`` while nobody can charge."""

    def settle(
        self, number: int, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: FindError | None = None,
    ) -> int | None:  # fmt: skip
        """Note the outcome of a charge; the charge itself never changes. What was released is kept
        for its key. Returns which draw of its query this is, from 1; 0 if it isn't kept.

        If the charge was leased and the lease is another's by now: None, and nothing is noted."""

    def stored(self, key: str, draw: int) -> StoredRelease | None:
        """The answer kept for a draw of a key; draws are counted from 1."""

    def register(self, source: Registered) -> Registered:
        """Note a source, unless it is known; returns it as it is known from now on."""

    def registered(self, name: str) -> Registered | None:
        """A source as it is known; None if it isn't."""

    def charges_of(self, source: str, version: str | None) -> int:
        """How many charges there are for a version of a source."""

    def note_not_compared(self, source: str, version: str | None) -> None:
        """Note with the next charge for a version of a source that the data weren't compared with
        those of the answers before it."""

    @property
    def caveats(self) -> Caveats:
        """What the ledger says against its own figures."""

    def entries(
        self, last: int | None = None, before: int | None = None, whole: bool = True
    ) -> list[Entry]:
        """All entries, or those below a number, or the `last` of these; oldest first. Their words
        are found unless ``whole`` is False."""

    def count(self) -> int:
        """How many entries there are."""

    def answered(self) -> int:
        """How many entries have an answer."""

    def sealed(self) -> tuple[list[Entry], str]:
        """All entries, and the hash of the last event at the same moment; "" where none is kept.
        Raises `StoreError` where the entries aren't what was charged."""

    @property
    def spending(self) -> ParallelComposition:
        """What all entries cost."""

    def counted(self) -> tuple[int, ParallelComposition]:
        """How many entries there are and what they cost, at one moment."""

    def has_changed(self) -> bool:
        """Whether another process has written since this was last asked."""

    def close(self) -> None:
        """Release what the calling thread holds of the store."""

    @property
    def path(self) -> File | None:
        """The file that the entries are kept in; None in memory."""

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path names that file."""

    @property
    def identity(self) -> str:
        """A name that no other store has, where the store outlives the data that a process holds,
        so that versions of data must be named; "" where it doesn't."""


def refuse_second(number: int, has_outcome: object) -> None:
    """One charge pays for one answer."""
    if has_outcome:
        raise ReleaseFailed(
            f"release {number} has an outcome already, and one charge pays for one answer. This "
            "second one is discarded; the charge stays."
        )


def _found(released_error: FindError) -> dict[str, Any]:
    return {"released_error": released_error() or ""}


#: The process that imported dppandas. A fork is another process, even for sessions of its own.
_PROCESS = os.getpid()


class MemoryStore:
    """Entries in the memory of one process, and of no other."""

    identity = ""
    path = None
    caveats = NO_CAVEATS

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._spending = ParallelComposition()
        self._answers: dict[str, dict[int, tuple[int, Sequence[Any]]]] = {}
        self._last_draws: dict[str, int] = {}  # of the answers that are kept, by key
        self._leases: dict[tuple[str, int], tuple[int, Claim]] = {}
        self._sources: dict[str, Registered] = {}
        self._answered = 0  # how many entries have an answer
        self._lock = threading.Lock()

    def add(self, drafts: Sequence[Entry], check: Check, claim: Claim | None = None) -> list[Entry]:
        is_child = multiprocessing.parent_process() is not None
        if os.getpid() != _PROCESS or (is_child and not marimo.is_kernel()):
            raise WorkerProcessError(
                "this is a forked or worker process, and each copy of a ledger in memory would "
                "grant the whole budget again. Release in the main process, or keep the ledger in "
                'a file: dp.session(epsilon=…, store="my.ledger").'
            )
        # Blocks with a lock are written in one line, here and below: an interrupt between the last
        # line of a block and its end, where Python unlocks, would leave it locked for good.
        with self._lock: return self._added(drafts, check, claim)  # noqa: E701  # fmt: skip

    def _added(self, drafts: Sequence[Entry], check: Check, claim: Claim | None) -> list[Entry]:
        first = len(self._entries) + 1
        entries = [Entry._make((first + i, *draft[1:])) for i, draft in enumerate(drafts)]
        leases: dict[tuple[str, int], tuple[int, Claim]] = {}
        if claim is not None:
            for entry, wanted in zip(entries, claim.draws, strict=True):
                key = entry.key
                if not key:
                    continue
                if wanted and (self.is_taken(key, wanted) or self.stored(key, wanted)):
                    raise Taken(key, wanted)
                leases[key, wanted or self._next_draw(key, leases)] = entry.number, claim
        after = self._spending.plus(charge for each in entries for charge in each.charges)
        check(self._spending.total, after.total)
        self._spending = after  # first, so that an interrupt here can only count too much
        self._entries += entries
        self._leases |= leases
        return entries

    def _next_draw(self, key: str, more: Iterable[tuple[str, int]] = ()) -> int:
        """The draw after all that are kept or leased, here and among some more."""
        leased = [draw for name, draw in (*self._leases, *more) if name == key]
        return max([self._last_draws.get(key, 0), *leased]) + 1

    def is_taken(self, key: str, draw: int) -> bool:
        lease = self._leases.get((key, draw))
        return lease is not None and lease[1].is_open()

    def is_answered(self, entry: Entry) -> bool | None:
        return None

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        with self._lock: action(self._spending.total)  # noqa: E701  # fmt: skip

    def settle(
        self, number: int, status: str, noisy: Sequence[Any] | None = None, leased: bool = False,
        released_error: FindError | None = None,
    ) -> int | None:  # fmt: skip
        with self._lock: return self._settled(number, status, noisy, leased, released_error)  # noqa: E701  # fmt: skip

    def _settled(
        self, number: int, status: str, noisy: Sequence[Any] | None, leased: bool,
        released_error: FindError | None,
    ) -> int | None:  # fmt: skip
        entry = self._entries[number - 1]
        refuse_second(number, entry.status != "charged")
        draw = next((draw for (_, draw), lease in self._leases.items() if lease[0] == number), 0)
        if leased and entry.key and not draw:
            return None
        later = entry.later
        if released_error is not None:
            later = (*later, partial(_found, released_error))
        self._entries[number - 1] = entry._replace(status=status, later=later)
        self._answered += status == "released"
        kept = 0
        if noisy is not None and entry.key:
            kept = draw or self._next_draw(entry.key)
            # first, so that an interrupt here can only skip a draw
            self._last_draws[entry.key] = max(kept, self._last_draws.get(entry.key, 0))
            self._answers.setdefault(entry.key, {})[kept] = number, noisy
        # last, so that an interrupt leaves a lease that ends with its claim
        self._leases.pop((entry.key, draw), None)
        return kept

    def stored(self, key: str, draw: int) -> StoredRelease | None:
        number, noisy = self._answers.get(key, {}).get(draw, (0, ()))
        return StoredRelease(self._entries[number - 1], noisy, draw) if number else None

    def register(self, source: Registered) -> Registered:
        return self._sources.setdefault(source.name, source)

    def registered(self, name: str) -> Registered | None:
        return self._sources.get(name)

    def charges_of(self, source: str, version: str | None) -> int:
        return sum(
            (source, version) in [(e.source, e.version), *(other[:2] for other in e.others)]
            for e in self._entries
        )

    def note_not_compared(self, source: str, version: str | None) -> None:
        """Data in memory are compared by `protect` itself."""

    def entries(
        self, last: int | None = None, before: int | None = None, whole: bool = True
    ) -> list[Entry]:
        end = len(self._entries) if before is None else min(len(self._entries), max(0, before - 1))
        found = self._entries[0 if last is None else max(0, end - last) : end]
        return [each.whole for each in found] if whole else found

    def count(self) -> int:
        return len(self._entries)

    def answered(self) -> int:
        return self._answered

    def sealed(self) -> tuple[list[Entry], str]:
        return self.entries(), ""

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
