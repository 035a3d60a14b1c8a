"""Locks that keep a ledger's file to one name, and its log in place, while the file is open.

SQLite keeps a write-ahead log beside each *name* of a file, so whoever opens the file by another
name (a hard link, a bind mount, a file that was moved) would read and write past that log. And
SQLite's own locks are of a kind that the system drops when the process closes any descriptor of
the file.

So a process holds one descriptor of each ledger that it has open, from before the first connection
of any thread until after the last. Its locks belong to the descriptor, and the system drops them
when the process ends, however it ends: `flock`, held by all who have the file open; and single
bytes, far beyond the end of any file, that say by which name it is open, that its log is in use,
whose turn it is to read or write, and which answers are being computed. A second descriptor keeps
the map of the log from being truncated. docs/adr/0024-one-name.md has the reasons.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path as File
from typing import TypeVar

from ...errors import StoreError, warn_user
from .leases import Claim
from .log import Log, is_missing, mark_of, needs_no_log, refuse_missing
from .paths import Identity

if sys.platform == "linux":
    import fcntl

T = TypeVar("T")

#: The bytes of the file that SQLite locks while it reads: while they are locked, no log is removed.
SHARED = (2**30 + 2, 510)
#: The byte of the log's map that SQLite locks while the map is in use: whoever opens the file and
#: finds it free truncates the map.
MAPPED = (128, 1)
#: Locked while a name is looked up and taken.
GATE = (2**60, 1)
#: Locked to read the file, together with other readers, or to write it, alone.
TURN = (2**60 + 1, 1)
#: Seconds that a charge waits for others before it gives up.
PATIENCE = 60.0
#: Seconds after which who waits is told so.
NOTICE = 2.0
#: Seconds that the last to close waits for others before it leaves the log as it is.
CLOSING = 1.0
#: One byte for each name, and one for each answer that is being computed.
NAMES, NAMES_LONG = 2**61, 2**60
ANSWERS = 2**62

#: Errors of file systems that have no such locks.
_UNKNOWN = {errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class Wait:
    """A wait for whoever holds a ledger: short pauses, which an interrupt ends, and after `NOTICE`
    seconds a warning."""

    def __init__(self, path: File, patience: float) -> None:
        self._path, self._patience = path, patience
        self._begun, self._pause, self._is_said = time.monotonic(), 0.0002, False

    def goes_on(self) -> bool:
        """Pause; False at the end of patience."""
        if (waited := time.monotonic() - self._begun) > self._patience:
            return False
        if waited > NOTICE and not self._is_said:
            self._is_said = True
            warn_user(
                f"the ledger {str(self._path)!r} is busy: another process holds it. Waiting for up "
                f"to {self._patience:g} seconds; you can interrupt this."
            )
        time.sleep(self._pause)
        self._pause = min(2 * self._pause, 0.01)
        return True


class Hold:
    """One ledger's file, as this process has it open."""

    def __init__(self, path: File, key: Identity) -> None:
        self.path = path
        self.key = key
        self.log = Log()
        self.connected = 0  # connections that SQLite has open
        self.users = 0  # connections, and answers that are being computed
        self.answering: dict[int, Claim] = {}  # by release, the claim that computes it
        self.descriptor: int | None = None
        self.name = _name(path)
        self._looking: int | None = None  # the descriptor, where the file is only read
        self._map: int | None = None  # the descriptor of the log's map
        self._guarded = False
        self._one_by_one = threading.RLock()  # threads share a descriptor and its locks
        self._turn: int | None = None  # the descriptor on which a turn is taken

    def lock(self, path: File) -> None:
        """Open the descriptor, and take the name by which the file is opened."""
        if self.descriptor is not None:
            return
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            refuse_links(path, descriptor)
            _flock(descriptor, path)
            if not _take_name(descriptor, self.name):
                raise StoreError(_elsewhere(path))
        except BaseException:
            os.close(descriptor)
            raise
        self.descriptor = descriptor

    def look(self, path: File) -> None:
        """Open a descriptor to take turns on, of a file that is only read."""
        if self.descriptor is None and self._looking is None:
            self._looking = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def guard(self, path: File) -> None:
        """Keep others from removing the log or truncating its map, even if this process closes
        these files. To be called in a turn alone, once SQLite has made them."""
        if self.descriptor is None or self._guarded:
            return
        self._guarded = _locked(self.descriptor, *SHARED)
        map_ = path.with_name(f"{path.name}-shm")
        if self._guarded and self._map is None and map_.exists():
            self._map = os.open(map_, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            _locked(self._map, *MAPPED)

    def unguard(self, empty_log: Callable[[int], bool]) -> None:
        """Let the last connection tidy up, in a turn that ends with `leave`. The log stays as it is
        if others take too long, or if ``empty_log`` couldn't move all of it into the file."""
        if self.descriptor is None or not self.log.is_open:
            return
        if self._took_turn(True, CLOSING) and empty_log(self.descriptor) and self._guarded:
            _unlocked(self.descriptor, *SHARED)
            self._guarded = False

    def check_log(self, path: File) -> None:
        """Refuse a log that is missing, before SQLite makes another; and remove one that was left
        behind, before SQLite lays its old pages over newer ones. To be called in a turn alone."""
        self.log.refuse_removed(path)
        if self.descriptor is None or self.log.is_open:
            return
        if is_missing(path, mark_of(self.descriptor)):
            refuse_missing(path)
        if _needs_no_log(self.descriptor):
            path.with_name(f"{path.name}-wal").unlink(missing_ok=True)

    def note_disconnection(self) -> None:
        """Note that SQLite has closed a connection. After the last, where nothing guards the log,
        it is gone."""
        self.connected -= 1
        if self.connected <= 0 and not self._guarded:
            self.log.forget()

    def in_turn(self, action: Callable[[], T], alone: bool) -> T:
        """Run an action while nobody writes; ``alone`` while nobody reads either. A turn within a
        turn is part of it. `TimeoutError` if others don't end theirs.

        SQLite's own locks for this end when this process closes any descriptor of the map. SQLite
        keeps its threads apart without them; processes are kept apart by this lock alone.
        """
        # One line, or an interrupt could leave it locked: see `store`.
        with self._one_by_one: return self._in_turn(action, alone)  # noqa: E701  # fmt: skip

    def _in_turn(self, action: Callable[[], T], alone: bool) -> T:
        if self._turn is not None:
            return action()
        try:
            try:
                if not self._took_turn(alone, PATIENCE):
                    raise TimeoutError("locked by another process")
                return action()
            finally:
                self._end_turn()
        finally:
            self._end_turn()  # if an interrupt came in between

    def _took_turn(self, alone: bool, patience: float) -> bool:
        descriptor = self._looking if self.descriptor is None else self.descriptor
        if descriptor is None:
            return True
        wait = Wait(self.path, patience)
        self._turn = descriptor  # before it begins, or an interrupt could leave it
        while not _is_locked_at_once(descriptor, *TURN, alone):
            self._turn = None  # who shows warnings may look at the ledger: in a turn of his own
            if not wait.goes_on():
                return False
            self._turn = descriptor
        return True

    def _end_turn(self) -> None:
        if self._turn is not None:
            _unlocked(self._turn, *TURN)
            self._turn = None

    def leave(self) -> None:
        """Count one user less; after the last, close the file. The caller has `registry`."""
        self.users -= 1
        if self.users <= 0:
            _holds.pop(self.key, None)
            self._end_turn()
            self.let_go()

    def let_go(self) -> None:
        """Close all descriptors. After a fork, the child's copies: the parent's locks stay."""
        for descriptor in (self._map, self._looking, self.descriptor):
            if descriptor is not None:
                os.close(descriptor)
        self._map = self._looking = self.descriptor = self._turn = None

    def answer(self, release: int, claim: Claim) -> None:
        """Note that an answer is being computed here: others see it until `answered`, or until
        this process ends."""
        # One line, or an interrupt could leave it locked: see `store`.
        with registry: self._answer(release, claim)  # noqa: E701  # fmt: skip

    def _answer(self, release: int, claim: Claim) -> None:
        self.users += 1
        self.answering[release] = claim
        if self.descriptor is not None:
            _locked(self.descriptor, ANSWERS + release, 1)

    def answered(self, release: int) -> None:
        """Note that an answer isn't being computed any more."""
        with registry: self._answered(release)  # noqa: E701  # fmt: skip

    def _answered(self, release: int) -> None:
        if self.answering.pop(release, None) is None:
            return
        if self.descriptor is not None:
            _unlocked(self.descriptor, ANSWERS + release, 1)
        self.leave()

    def is_open_elsewhere(self) -> bool:
        """Whether another process has the file open."""
        return self.descriptor is not None and _is_locked_by_others(
            self.descriptor, NAMES, NAMES_LONG
        )

    def is_answered_elsewhere(self, release: int) -> bool:
        """Whether another process that lives is computing an answer. A stopped process lives."""
        return self.descriptor is not None and _is_locked_by_others(
            self.descriptor, ANSWERS + release, 1
        )

    def is_answered(self, release: int) -> bool | None:
        """Whether somebody is computing an answer, also if the file is only read; None where the
        system can't tell."""
        if release in self.answering:
            return True
        descriptor = self._looking if self.descriptor is None else self.descriptor
        free = None if descriptor is None else _is_free(descriptor, ANSWERS + release, 1)
        return None if free is None else not free


#: Taken by whoever changes what follows.
registry = threading.Lock()
_holds: dict[Identity, Hold] = {}


def held(path: File, key: Identity) -> Hold:
    """This process's hold of a file, made if it has none. The caller has `registry`."""
    hold = _holds.get(key)
    if hold is None:
        hold = _holds[key] = Hold(path, key)
    elif hold.name != _name(path):
        raise StoreError(_elsewhere(path))
    return hold


def is_held(key: Identity | None, locked: bool = False) -> bool:
    """Whether this process has a file open, or has it open and locked, so that nothing else in it
    may open the file and close it again."""
    hold = None if key is None else _holds.get(key)
    return hold is not None and (hold.descriptor is not None or not locked)


def _name(path: File) -> int:
    """A number for the folder itself and the file's name in it: a folder may be renamed or
    mounted."""
    folder = path.parent.stat()
    named = f"{folder.st_dev}/{folder.st_ino}/{path.name}".encode(errors="surrogateescape")
    return int.from_bytes(sha256(named).digest()[:8], "big") % NAMES_LONG


def _elsewhere(path: File) -> str:
    return (
        f"the ledger {str(path)!r} is open by another name: a hard link, a mount, or from before "
        "it was moved. Each name has its own log, so the budget would be granted twice. Open it "
        "by that name, or end the sessions that use it."
    )


def refuse_links(path: File, descriptor: int | None = None) -> None:
    """Refuse a file of several names."""
    links = os.stat(path if descriptor is None else descriptor).st_nlink
    if links > 1:
        raise StoreError(
            f"the ledger {str(path)!r} has {links} names (hard links), and each of them would "
            "grant the budget again. Keep one; if another is a backup, make it a copy of its own."
        )


# --- the system's locks ---------------------------------------------------------------------------


def _flock(descriptor: int, path: File) -> None:
    if sys.platform != "linux":
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(
            f"another program has locked the whole ledger {str(path)!r}. Wait for it, or end it."
        ) from None
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise


def _take_name(descriptor: int, name: int) -> bool:
    """Whether nobody else has the file open by another name. One process looks at a time."""
    if not _locked(descriptor, *GATE, alone=True):
        return True  # a system without such locks
    try:
        after = NAMES + name + 1
        others = (NAMES, name), (after, NAMES + NAMES_LONG - after)
        if any(long and _is_locked_by_others(descriptor, start, long) for start, long in others):
            return False
        return _locked(descriptor, NAMES + name, 1)
    finally:
        _unlocked(descriptor, *GATE)


def _locked(descriptor: int, start: int, long: int, alone: bool = False) -> bool:
    """Lock bytes for this descriptor, with others or alone; False where the system can't."""
    command, kind = ("SETLKW", "WRLCK") if alone else ("SETLK", "RDLCK")
    return _asked(descriptor, command, kind, start, long) is not None


def _is_locked_at_once(descriptor: int, start: int, long: int, alone: bool) -> bool:
    """Lock bytes unless others are in the way. Where the system can't, none are."""
    try:
        _asked(descriptor, "SETLK", "WRLCK" if alone else "RDLCK", start, long)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlocked(descriptor: int, start: int, long: int) -> None:
    _asked(descriptor, "SETLK", "UNLCK", start, long)


def _is_locked_by_others(descriptor: int, start: int, long: int) -> bool:
    return _is_free(descriptor, start, long) is False


def _is_free(descriptor: int, start: int, long: int) -> bool | None:
    """Whether nobody else has a lock on bytes; None where the system has no such locks."""
    found = _asked(descriptor, "GETLK", "WRLCK", start, long)
    return None if found is None else struct.unpack_from("h", found)[0] == fcntl.F_UNLCK


def _needs_no_log(descriptor: int) -> bool:
    """Whether a file is whole, and certainly nobody else has it open, so that a log beside it is of
    another time. Where the system has no such locks nobody knows."""
    return _is_free(descriptor, NAMES, NAMES_LONG) is True and needs_no_log(descriptor)


def is_left_over(path: File) -> bool:
    """Whether a log beside a file that this process hasn't open is of another time."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return _needs_no_log(descriptor)
    finally:
        os.close(descriptor)


def _asked(descriptor: int, command: str, kind: str, start: int, long: int) -> bytes | None:
    """The answer to ``F_OFD_<command>`` about bytes; None where the system has no such locks."""
    if sys.platform != "linux":
        return None
    lock = struct.pack("hhqqi0q", getattr(fcntl, f"F_{kind}"), os.SEEK_SET, start, long, 0)
    try:
        return fcntl.fcntl(descriptor, getattr(fcntl, f"F_OFD_{command}"), lock)  # struct flock
    except OSError as error:
        if error.errno in _UNKNOWN:
            return None
        raise


def forget() -> None:
    """In a child after a fork: the locks are its parent's. Closing the child's copies of the
    descriptors leaves them as they are, which unlocking would not; and they end with the parent,
    not with its last child. The caller has `registry`."""
    for hold in _holds.values():
        hold.let_go()
        hold.users = 0
        hold.answering.clear()
    _holds.clear()
