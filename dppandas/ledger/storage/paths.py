"""Paths of ledgers: which paths may hold one, and the state of the files there."""

from __future__ import annotations

import os
from pathlib import Path as File

from ...errors import SessionError, StoreError, quoted

#: What tells a file from all others.
Identity = tuple[int, int]


def identity(path: File | str) -> Identity | None:
    """Which file a path names; None for none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def checked_path(path: object) -> File:
    """A path that may hold a ledger."""
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise SessionError(f"store={quoted(path)} must be the path of a file.")
    if not str(path).isprintable() or str(path).startswith((":memory:", "file:")):
        raise SessionError(
            f"store={quoted(str(path))} must be the path of a file on a disk, in printable "
            "letters. Leave store= out to keep the ledger in memory."
        )
    try:
        file = File(path).expanduser()
        wrong = folder_fault(file)
        if not wrong and file.exists() and not file.is_file():  # a device, a pipe, a socket
            wrong = "isn't a regular file: name one on a disk"
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, or no home folder
        wrong = f"can't be a path here: {error}"
    if wrong:
        raise StoreError(f"store={quoted(str(path))} {wrong}.")
    return file.absolute()


def folder_fault(file: File) -> str:
    """Why no file can be at a path as far as folders tell; "" where one can."""
    if file.is_dir():
        return "is a folder: name a file in it"
    if not file.parent.is_dir():
        return f"can't be made: there is no folder {str(file.parent)!r}. Make it first"
    return ""


def is_writable(path: File) -> bool:
    """Whether the file, and what SQLite keeps beside it, can be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def is_shared(path: File) -> bool:
    """Whether the log beside the file holds what isn't in the file itself yet."""
    path = path.resolve()  # SQLite keeps it beside the file itself
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def stamp(path: File) -> tuple[int, ...]:
    """What changes when a file is written or replaced."""
    now = path.stat()
    return now.st_mtime_ns, now.st_size, now.st_ino
