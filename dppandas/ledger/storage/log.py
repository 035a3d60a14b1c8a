"""The log beside a ledger's file: whether the file needs it, and whether it is in its place.

SQLite commits a charge to the log (``-wal``) and moves it to the file later. Until then the file
alone looks like a whole ledger on which less was spent. So before anything is committed to the log,
a byte of the file's header is set, on disk and past SQLite: the *mark*. It is cleared once all of
the log is in the file. A file without the mark is whole; one with it is whole together with its
log, however its last session ended; and one with it that has no log may lack charges.

SQLite writes pages back as it knows them, so the same bits are set in each transaction, too: what
it writes back is marked, and only `empty` clears it. docs/adr/0045-the-log-is-needed.md has more.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path as File
from typing import NoReturn

from ...errors import StoreError
from .paths import Identity, identity

#: The mark's bits: something is to be committed to the log; something was.
MARKED, LOGGED = 1, 2
#: Where SQLite keeps the third lowest byte of `PRAGMA user_version`, and how far up that is.
_BYTE, _SHIFT = 61, 16
#: Where its two lowest bytes are, which are the schema; and the first schema that has the mark.
_SCHEMA, _SINCE = slice(62, 64), 4
_ALL = 0xFF << _SHIFT
_MAGIC = b"SQLite format 3\0"


class Log:
    """The files beside a ledger's file, as this process has them open."""

    def __init__(self) -> None:
        self._files: tuple[Identity | None, ...] | None = None

    @property
    def is_open(self) -> bool:
        """Whether they were noted."""
        return self._files is not None

    def note(self, path: File) -> None:
        """Note them. To be called in a turn alone, once SQLite has made them."""
        self._files = self._files or _beside(path)

    def forget(self) -> None:
        """Note that SQLite has closed them, and may have removed them."""
        self._files = None

    def refuse_removed(self, path: File) -> None:
        """Refuse to go on if they aren't in their places any more."""
        if self._files is not None and _beside(path) != self._files:
            raise StoreError(
                f"the log of the ledger {str(path)!r} (-wal, -shm) was removed while it was open. "
                "The last charge may be lost, and nothing more is charged. Call dp.reset(), and "
                "open the ledger again."
            )

    def is_ours(self, path: File) -> bool:
        """Whether nobody else's files are in their places: SQLite can still move to the file what
        the log holds, even if the log was removed."""
        ours = self._files or ()
        return all(there in (None, here) for there, here in zip(_beside(path), ours, strict=False))


def _beside(path: File) -> tuple[Identity | None, ...]:
    name = str(path)  # a charge asks several times, and making paths takes longer than looking
    return identity(f"{name}-wal"), identity(f"{name}-shm")


# --- the mark -------------------------------------------------------------------------------------


def mark_in(header: bytes) -> int:
    """The bits of the mark in the first bytes of a file; 0 for a file that is whole."""
    is_database = len(header) > _BYTE and header.startswith(_MAGIC)
    return header[_BYTE] & (MARKED | LOGGED) if is_database else 0


def without_mark(user_version: int) -> int:
    """The schema of a file, from what `PRAGMA user_version` says."""
    return user_version & ~_ALL


def _header(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, _SCHEMA.stop)


def mark_of(descriptor: int) -> int:
    """The bits of the mark in an open file. The caller has a turn."""
    return mark_in(_header(descriptor))


def needs_no_log(descriptor: int) -> bool:
    """Whether an open file is of a schema that has the mark, and hasn't got it: it is whole."""
    header = _header(descriptor)
    schema = int.from_bytes(header[_SCHEMA], "big") if header.startswith(_MAGIC) else 0
    return schema >= _SINCE and not mark_in(header)


def put_mark(descriptor: int, mark: int, on_disk: bool = True) -> None:
    """Set the mark of an open file, or clear it. The caller has a turn, and can write."""
    os.lseek(descriptor, _BYTE, os.SEEK_SET)
    os.write(descriptor, bytes([mark]))
    if on_disk:
        os.fsync(descriptor)


def mark_pages(db: sqlite3.Connection) -> None:
    """Set the mark in SQLite's own page, too, as part of a transaction."""
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    marked = found | LOGGED << _SHIFT
    if marked != found:
        db.execute(f"PRAGMA user_version = {marked}")


def is_missing(path: File, mark: int) -> bool:
    """Whether a file with this mark lacks its log. A process that was killed after it had set the
    mark, and before it committed, leaves an empty log that lacks nothing."""
    try:
        size = path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return mark != 0
    return mark & LOGGED != 0 and size == 0


def refuse_missing(path: File) -> NoReturn:
    """Refuse a ledger whose log is missing."""
    raise StoreError(
        f"the log of the ledger {str(path)!r} ({path.name}-wal) is missing, and may have held "
        "charges. Put it back, or restore a copy of `dppandas copy`. If there is none, `dppandas "
        f"accept-loss {path.name}` opens the ledger as it is."
    )


# --- moving the log into the file -----------------------------------------------------------------


def empty(db: sqlite3.Connection, descriptor: int, on_disk: bool = False) -> bool:
    """Move all of the log into the file, and clear the mark. False if somebody still reads the file
    as it was, or has written meanwhile: then the mark stays. The caller has a turn alone."""
    version = "PRAGMA data_version"  # changes when others commit
    before = db.execute(version).fetchone()
    busy, logged, moved = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or logged != moved:
        return False
    if mark_of(descriptor):
        try:
            db.execute("BEGIN IMMEDIATE")  # for systems without turns: nobody commits meanwhile
            if db.execute(version).fetchone() != before:
                return False
            put_mark(descriptor, 0, on_disk)
        finally:  # also after an interrupt as it begins
            if db.in_transaction:
                db.execute("ROLLBACK")
    return True
