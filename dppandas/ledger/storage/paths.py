"""Paths of ledgers: which may hold one, and what the files there look like from outside."""

from __future__ import annotations

import os
from pathlib import Path as File

from ...errors import SessionError, StoreError, quoted


def checked_path(path: object) -> File:
    """A path that may hold a ledger."""
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise SessionError(f"store={quoted(path)} must be the path of a file.")
    if not str(path).isprintable() or str(path).startswith((":memory:", "file:")):
        raise SessionError(
            f"store={quoted(str(path))} must be the path of a file on a disk, in letters that "
            "print; without store= the ledger lives in memory."
        )
    try:
        file = File(path).expanduser()
        is_folder, has_folder = file.is_dir(), file.parent.is_dir()
        is_strange = file.exists() and not file.is_file()
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, or nobody's home
        said = str(error)
    else:
        said = ""
    if said:
        raise StoreError(f"store={quoted(str(path))} can't be a path here: {said}.")
    if is_folder:
        raise StoreError(f"store={str(file)!r} is a folder: name a file in it.")
    if is_strange:  # a device, a pipe, a socket
        raise StoreError(f"store={str(file)!r} is no regular file: name one on a disk.")
    if not has_folder:
        raise StoreError(
            f"store={str(file)!r}: there is no folder {str(file.parent)!r}. Make it first."
        )
    return file.absolute()


def is_writable(path: File) -> bool:
    """Whether the file, and what SQLite keeps beside it, can be written."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def is_shared(path: File) -> bool:
    """Whether others have written what isn't in the file itself yet, but in the log beside it."""
    path = path.resolve()  # SQLite keeps it beside the file itself
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def stamp(path: File) -> tuple[int, ...]:
    """What changes when a file is written or replaced."""
    now = path.stat()
    return now.st_mtime_ns, now.st_size, now.st_ino
