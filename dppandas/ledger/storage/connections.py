"""Connections to a ledger's file, one for each thread of each process, and their transactions."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path as File
from typing import Any, NoReturn, TypeVar
from weakref import WeakSet

from ...errors import StoreError
from . import locks, log
from .locks import Hold, Wait, registry
from .paths import Identity, checked_path, identity, is_shared, is_writable, stamp

T = TypeVar("T")

#: "dpdf": marks the file as a ledger of dppandas.
APPLICATION = 0x64706466
#: How often reading is tried again when the file changes meanwhile.
TRIES = 10


class Connection(sqlite3.Connection):
    """A connection that keeps the file's hold until it is closed, even if its thread just ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.process = os.getpid()
        self.using = threading.RLock()
        self.hold: Hold | None = None
        self.path: File | None = None  # as it was opened, without links
        self.is_copy = False
        self.lacks_log = False  # of a copy: charges may have been in a log that isn't there
        self.is_closed = False
        self.is_closing = False
        #: Of a question asked again: the last answer looked at, and the figures of its draws.
        self.drawn: dict[str, tuple[int, int, int]] = {}
        self.is_inside = False  # a transaction, which whatever interrupts it must not end

    def execute(self, *query: Any) -> sqlite3.Cursor:
        """Run a statement. It waits for other programs that lock the file as SQLite does; they know
        nothing of turns, and SQLite's own wait is silent and can't be interrupted."""
        wait: Wait | None = None
        while True:
            try:
                return super().execute(*query)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode not in _BUSY:
                    raise
                # Who closes has `registry`, so nobody is told: a warning may look at the ledger.
                patience = locks.CLOSING if self.is_closing else locks.PATIENCE
                wait = wait or Wait(self.path or File(), patience)
                if not wait.goes_on():
                    raise

    def close(self) -> None:
        """Close it; the last one in this process tidies up and releases the file."""
        if self.process == os.getpid():
            with registry: self._close()  # noqa: E701  # fmt: skip

    def _close(self) -> None:
        hold = self.hold
        if hold is not None and hold.users == 1:
            hold.unguard(self._empty_log_at_end)
        self._suspend()
        self.hold = None
        if hold is not None:
            hold.leave()

    def _empty_log_at_end(self, descriptor: int) -> bool:
        """Whether all of the log is in the file, and the log may go."""
        if self.is_closed or self.hold is None or self.path is None:
            return True
        self.is_closing = True
        try:
            if self.in_transaction:
                self.execute("ROLLBACK")
            if not self.hold.log.is_ours(self.path):
                return False
            # only here: after this, SQLite compiles all statements anew
            self.execute("PRAGMA query_only = OFF")
            return log.empty(self, descriptor, on_disk=True)
        except (sqlite3.Error, OSError):
            return False

    def in_turn(self, action: Callable[[], T], alone: bool = False) -> T:
        """Run an action that reads the file, or ``alone`` one that writes it: see `locks`."""
        hold = self.hold
        return action() if hold is None else hold.in_turn(action, alone)

    def begin(self) -> None:
        """Begin to read the file as it is at this moment. Only the beginning takes a turn, so that
        nobody waits for a long read: SQLite's own locks keep the moment."""
        self.in_turn(self._begin)

    def _begin(self) -> None:
        self.execute("BEGIN")
        self.execute(_READ).fetchone()

    def in_transaction_of(self, begin: str, action: Callable[[], T]) -> T:
        """Run an action in a transaction that ends with it, however it ends: what the action hasn't
        committed is taken back. Refused within another one of this thread, as in the handler of a
        signal."""
        if self.is_inside:
            raise StoreError(
                f"the ledger {str(self.path)!r} is in the middle of a charge or a look of this "
                "thread, and what interrupted that, such as a handler of a signal, asked the "
                "ledger, too. Let it return, and ask afterwards."
            )
        try:
            self.is_inside = True
            if self.in_transaction:  # an interrupt left it behind
                self.execute("ROLLBACK")
            self.execute(begin)
            return action()
        finally:
            try:
                if self.in_transaction:
                    self.execute("ROLLBACK")
            finally:
                self.is_inside = False

    def _suspend(self) -> None:
        """Close it but hold the file: for a fork, after which it is opened again."""
        was_closed, self.is_closed = self.is_closed, True
        super().close()
        if self.hold is not None and not was_closed:
            self.hold.note_disconnection()


class _Kept:
    """Closes a thread's connection when the thread ends, or its store is gone. The connection
    refers to itself, so it alone would wait for the garbage collector."""

    def __init__(self, db: Connection) -> None:
        self.db = db

    def __del__(self) -> None:
        if self.db.is_closed and self.db.hold is None:
            return  # as all are when Python ends, which takes away what is needed here
        if self.db.process != os.getpid():
            if not self.db.is_closed:
                _CARRIED.append(self.db)
        elif registry.acquire(blocking=False):
            try:
                self.db._close()
            finally:
                registry.release()
        else:  # collected while its own thread opens or closes another
            _LATE.append(self.db)


#: What SQLite says of a file that another program locks.
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_RECOVERY}
#: Reads the file, which BEGIN alone doesn't.
_READ = "SELECT 1 FROM sqlite_master"
#: The parent process's, which could not be closed before the fork: closing them here would clean
#: up what the parent still uses.
_CARRIED: list[Connection] = []
#: Those that could not be closed when their thread ended.
_LATE: list[Connection] = []
_open: WeakSet[Connection] = WeakSet()


class Connected:
    """A file, with a connection for each thread and their transactions."""

    def __init__(self, path: str | os.PathLike[str], reading: bool) -> None:
        self.path = checked_path(path)
        self._local = threading.local()
        self._file: Identity | None = None
        self._reading = reading  # the file stays as it is

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path names this file, through whatever links to folders."""
        return checked_path(path).resolve() == self.path.resolve()

    def close(self) -> None:
        """Close what this thread has open; the last to close leaves a single file behind."""
        db = self._kept()
        if db is not None and db.is_closed and db.hold is not None:  # or nobody would tidy up
            with suppress(StoreError), self._explaining_errors():
                db = self._connection()
        if db is not None:
            db.close()

    def _kept(self) -> Connection | None:
        """This thread's connection, if this process made it: none can be carried through a fork."""
        kept: _Kept | None = getattr(self._local, "kept", None)
        return kept.db if kept is not None and kept.db.process == os.getpid() else None

    def _connection(self) -> Connection:
        """This thread's connection, opened if need be."""
        kept = self._kept()
        if kept is not None and not kept.is_closed:
            return kept
        if not self.path.exists():
            raise StoreError(
                f"the ledger {str(self.path)!r} is gone. Put it back, or call dp.reset()."
            )
        db = self._connected()
        self._file = self._file or identity(self.path)
        try:
            self._check_file(db)
        except BaseException:
            db.close()
            raise
        self._local.kept = _Kept(db)
        return db

    def _connected(self) -> Connection:
        if self._reading or not is_writable(self.path):
            db = opened_to_read(self.path)
            if db.lacks_log:
                db.close()
                log.refuse_missing(self.path)
            db.in_turn(lambda: self._refuse_other_databases(db))
            return db
        db = opened(self.path)
        db.in_turn(lambda: self._prepare(db), alone=True)
        return db

    def _prepare(self, db: Connection) -> None:
        try:
            if db.hold is not None and db.path is not None:
                db.hold.check_log(db.path)
        except StoreError:
            db.close()
            raise
        self._refuse_other_databases(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(_READ).fetchone()  # the log and its map are there now
        if db.hold is not None and db.path is not None:
            db.hold.guard(db.path)
            db.hold.log.note(db.path)

    def _check_file(self, db: Connection) -> None:
        """Refuse to write to a file that was removed or replaced: nobody would find it again."""
        if identity(self.path) != self._file:
            raise StoreError(
                f"the ledger {str(self.path)!r} was removed or replaced while it was open. Put it "
                "back, or end the session with dp.reset()."
            )
        if db.hold is not None and db.path is not None:
            db.hold.log.refuse_removed(db.path)

    def _refuse_other_databases(self, db: Connection) -> None:
        """Refuse a database that isn't a ledger, before anything in it is changed."""
        # In this order: another process may make a ledger of the empty file in between.
        try:
            is_empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            mark = db.execute("PRAGMA application_id").fetchone()[0]
        except BaseException:
            db.close()
            raise
        if mark != APPLICATION and (mark or not is_empty):
            db.close()
            refuse_database(self.path)

    def _read(self, action: Callable[[Connection], T], alone: bool = False) -> T:
        with self._explaining_errors():
            db = self._connection()
            # One line, or an interrupt could leave it locked: see `store`.
            with db.using: return db.in_turn(lambda: action(db), alone)  # noqa: E701  # fmt: skip

    def _write(self, action: Callable[[Connection], T]) -> T:
        """Run an action in a transaction of its own, on disk when this returns."""
        with self._explaining_errors():
            db = self._connection()
            with db.using: return db.in_turn(lambda: self._written(db, action), alone=True)  # noqa: E701  # fmt: skip

    def _written(self, db: Connection, action: Callable[[Connection], T]) -> T:
        if db.is_copy:
            raise sqlite3.OperationalError("readonly")
        return db.in_transaction_of("BEGIN IMMEDIATE", lambda: self._in_writing(db, action))

    def _in_writing(self, db: Connection, action: Callable[[Connection], T]) -> T:
        self._check_file(db)
        before = db.total_changes
        done = action(db)
        if db.total_changes != before:
            self._commit(db)
        return done

    def _commit(self, db: Connection) -> None:
        """Commit to the log, which the file needs from then on."""
        descriptor = None if db.hold is None else db.hold.descriptor
        if descriptor is None:
            raise sqlite3.OperationalError("readonly")
        log.mark_pages(db)
        if not log.mark_of(descriptor):
            log.put_mark(descriptor, log.MARKED)
        db.execute("COMMIT")
        if log.mark_of(descriptor) != log.MARKED | log.LOGGED:
            log.put_mark(descriptor, log.MARKED | log.LOGGED, on_disk=False)
        self._check_file(db)  # again, or what was committed may be in a log that is gone

    def _empty_log(self) -> None:
        """Move what was committed to the file itself, unless somebody still reads it as it was."""

        def empty(db: Connection) -> None:
            if db.hold is not None and db.hold.descriptor is not None:
                self._check_file(db)
                log.empty(db, db.hold.descriptor)

        self._read(empty, alone=True)

    @contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        """Raise SQLite's errors as a `StoreError` that says what to do."""
        try:
            yield
        except StoreError:
            raise
        except (sqlite3.Error, OSError) as error:
            told = StoreError(explained(error, self.path))
        else:
            return
        raise told


# --- opening and closing --------------------------------------------------------------------------


def opened(path: File) -> Connection:
    """A connection that may write, with the file's name taken for this process."""
    with suppress(IndexError):  # of an empty list; another thread may be faster
        while _LATE:
            _LATE.pop().close()
    with registry: return _opened(path.resolve())  # noqa: E701  # fmt: skip


def _opened(path: File, reading: bool = False) -> Connection:
    if not reading:
        locks.refuse_links(path)
    hold = locks.held(path, identity(path) or (0, 0))
    hold.users += 1
    try:
        hold.log.refuse_removed(path)  # or SQLite would make another
        if reading:
            hold.look(path)
        else:
            hold.lock(path)
        db = _connection_to(path.as_uri() + "?mode=ro" * reading)
    except BaseException:
        hold.leave()
        raise
    db.hold, db.path = hold, path
    hold.connected += 1
    _open.add(db)
    return db


def refuse_database(path: File) -> NoReturn:
    """Refuse a database of another kind."""
    raise StoreError(f"{str(path)!r} is a database, but no ledger of dppandas. Choose another.")


def _connection_to(uri: str) -> Connection:
    # Used by one thread, but closed by whoever forks or collects what a thread has left.
    return sqlite3.connect(
        uri, uri=True, timeout=0, isolation_level=None, factory=Connection,
        check_same_thread=False,
    )  # fmt: skip


def opened_to_read(path: File) -> Connection:
    """A connection that changes nothing, and leaves nothing beside the file.

    It neither takes nor releases a lock. If this process has the file open, it is one more of its
    connections; if others write, it reads their log; else it reads a copy of the file, made at one
    moment.
    """
    path = path.resolve()
    for _ in range(TRIES):
        # One line; and nobody in this process may open the file while it is copied.
        with registry: db = _opened_to_read(path)  # noqa: E701  # fmt: skip
        if db is not None:
            db.execute("PRAGMA query_only = ON")
            return db
    raise StoreError(f"the ledger {str(path)!r} changes too fast to be read: read a copy of it.")


def _opened_to_read(path: File) -> Connection | None:
    """See `opened_to_read`; None if somebody began to write while the file was copied."""
    key = identity(path)
    if locks.is_held(key, locked=True):
        return _opened(path)
    if locks.is_held(key) or _is_in_log(path):
        return _opened(path, reading=True)
    before = stamp(path)
    whole = path.read_bytes()
    lacks_log = log.is_missing(path, log.mark_in(whole))
    if _is_in_log(path) or stamp(path) != before:
        return None
    db = copy_of(whole)
    db.lacks_log = lacks_log
    return db


def _is_in_log(path: File) -> bool:
    """Whether what a file holds has to be read with the log beside it."""
    return is_shared(path) and not locks.is_left_over(path)


def copy_of(content: bytes) -> Connection:
    """A connection to a copy in memory of what is in a file."""
    db, whole = _connection_to("file::memory:"), bytearray(content)
    db.is_copy = True
    if whole[18:20] == b"\x02\x02":  # says that there may be a log, which memory has none of
        whole[18:20] = b"\x01\x01"
    if whole:
        db.deserialize(bytes(whole))
    return db


# --- errors ---------------------------------------------------------------------------------------


def explained(error: Exception, path: File) -> str:
    """An error of SQLite or the system, in words that say what to do."""
    said, file = str(error), repr(str(path))
    if "readonly" in said or "read-only" in said.lower():
        return f"the ledger {file} can only be read here, and a charge must be written first."
    if "full" in said:
        return f"there is no room left for the ledger {file}: free some, and ask again."
    if "locked" in said or "busy" in said:
        return (
            f"the ledger {file} was busy for {locks.PATIENCE:g} seconds: another process holds it. "
            "Ask again, or end that process."
        )
    is_damaged = "malformed" in said  # as of a number that JSON doesn't have
    if isinstance(error, sqlite3.OperationalError | OSError) and not is_damaged:
        return f"the ledger {file} can't be used: {said}."
    return f"{file} is damaged, or no ledger of dppandas ({said}): restore it from a copy."
