"""Copies of a ledger's file that need no log, and a file that goes on without the log it lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path as File

from ...errors import StoreError
from ...privacy.sampling import entropy
from . import chain, connections, log, schema
from .connections import Connection
from .paths import checked_path


def copy_ledger(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a ledger as it is at one moment, also while others charge: all in one file.

    Raises `StoreError` if there is no ledger, if it lacks its log, or if the target exists.
    """
    file, new = _existing(path), checked_path(target)
    for end in ("", "-wal", "-shm", "-journal"):  # SQLite would take them for the copy's
        if (there := new.with_name(f"{new.name}{end}")).exists():
            raise StoreError(f"{str(there)!r} is there already: choose another name for the copy.")
    with closing(connections.opened_to_read(file)) as db:
        if db.lacks_log:
            log.refuse_missing(file)

        def write(half: File) -> None:
            db.begin()
            _refuse_no_ledger(db, file)
            with closing(sqlite3.connect(half)) as there:
                db.backup(there)

        try:
            _put(new, write)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(connections.explained(error, file)) from None


def accept_loss(path: str | os.PathLike[str]) -> None:
    """Let a ledger go on that lacks its log, and note in its chain that charges may be missing.

    Raises `StoreError` if it lacks nothing, if anybody has it open, or if not even its beginning is
    in the file. The file is replaced in one step: whoever is killed meanwhile changes nothing.
    """
    file = _existing(path).resolve()
    with closing(connections.opened(file)) as db:
        try:
            db.in_turn(lambda: _accept(file, db), alone=True)
        except StoreError:  # is an OSError, too
            raise
        except (sqlite3.Error, OSError, *chain.UNREADABLE) as error:
            if not isinstance(error, OSError | sqlite3.OperationalError):
                raise StoreError(_damaged(file)) from None
            raise StoreError(connections.explained(error, file)) from None


def _existing(path: str | os.PathLike[str]) -> File:
    file = checked_path(path)
    if not file.exists():
        raise StoreError(f"there is no ledger at {str(file)!r}.")
    return file


def _accept(file: File, db: Connection) -> None:
    hold = db.hold
    if hold is None or hold.descriptor is None or hold.log.is_open or hold.is_open_elsewhere():
        raise StoreError(f"the ledger {str(file)!r} is open. End the sessions that use it first.")
    if not log.is_missing(file, log.mark_of(hold.descriptor)):
        raise StoreError(f"the ledger {str(file)!r} lacks no log: there is nothing to accept.")
    with closing(connections.copy_of(file.read_bytes())) as memory:
        _refuse_no_ledger(memory, file)
        _note(memory, file)
        whole = bytearray(memory.serialize())
    whole[18:20] = b"\x02\x02"  # that it has a log when it is open, as every ledger's file says

    def write(half: File) -> None:
        half.write_bytes(whole)

    _put(file, write, replace=True)
    with suppress(FileNotFoundError):  # an empty one
        file.with_name(f"{file.name}-wal").unlink()


def _note(db: Connection, file: File) -> None:
    """Append the event, and bring the file up to date."""
    version = schema.version_of(db)
    schema.refuse_newer(file, version)
    db.execute("BEGIN")
    if version != schema.VERSION:
        schema.migrate(db, version)
    if chain.one(db, "PRAGMA integrity_check") != "ok" or not chain.is_followed(db):
        raise StoreError(_damaged(file))
    chain.append(db, "accepted", {"time": time.time()}, None, None)
    db.execute(f"PRAGMA user_version = {schema.VERSION}")  # without the mark
    db.execute("COMMIT")


def _refuse_no_ledger(db: sqlite3.Connection, file: File) -> None:
    if chain.one(db, "PRAGMA application_id") == connections.APPLICATION:
        return
    if chain.one(db, "SELECT 1 FROM sqlite_master"):
        connections.refuse_database(file)
    raise StoreError(
        f"{str(file)!r} holds nothing of a ledger yet: all of it was in the log. Restore it from a "
        "copy."
    )


def _damaged(file: File) -> str:
    return (
        f"{str(file)!r} is damaged: without its log, what it says is spent doesn't follow from its "
        "charges. Restore it from a copy."
    )


def _put(target: File, write: Callable[[File], None], replace: bool = False) -> None:
    """Write a file whole or not at all, without a mark; it takes its name at the end."""
    half = target.with_name(f".{entropy.identifier()}.half")
    try:
        write(half)
        with open(half, "r+b") as stream:
            log.put_mark(stream.fileno(), 0)
            os.fsync(stream.fileno())
        if replace:
            shutil.copymode(target, half)
            os.replace(half, target)
        else:
            os.link(half, target)  # never over a file that came meanwhile
    finally:
        with suppress(FileNotFoundError):
            half.unlink()
    _sync_folder(target.parent)


def _sync_folder(folder: File) -> None:
    """Keep names on disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
