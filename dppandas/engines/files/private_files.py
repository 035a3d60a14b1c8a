"""Folders for private rows that don't fit memory: of this user alone, and gone at the end.

A folder lies in the user's cache and can't be read by others (0700, files 0600). Its process holds
a lock while it lives, so that the next one removes what a killed process left behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, ENOSPC
from pathlib import Path

from ..base import ReadError

try:
    import fcntl
except ImportError:  # Windows, where leftovers aren't told from folders in use
    fcntl = None  # type: ignore[assignment]


def _root() -> Path:
    """The folder of all such folders."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = named if named.is_absolute() else Path.home() / ".cache"
    root = Path(cache, "dppandas", "rows")
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    return root


#: Bytes that must be free before anything is written. How many will be needed follows from the
#: number of rows: to ask for them would tell it to whoever fills the disk, at no charge.
ROOM = 2**26


def check_room() -> None:
    """Refuse work for which the disk is too full, whatever the rows are."""
    try:
        root = _root()
        with tempfile.TemporaryFile(dir=root):  # whether it can be written, no flag tells for sure
            free = shutil.disk_usage(root).free
    except OSError as error:
        raise ReadError(_cannot(error)) from None
    if free < ROOM:
        raise ReadError(_FULL)


def _cannot(error: OSError) -> str:
    """Of the system's own words, which quote no data; others' may."""
    why = os.strerror(error.errno) if error.errno else "the system refuses"
    return (
        f"private rows can't be written to the folder of your cache: {why}. Let XDG_CACHE_HOME "
        "name a folder that you can write to."
    )


_FULL = (
    "the disk of your cache is too full to bring the rows of each unit together. Free some space, "
    "or let XDG_CACHE_HOME name a folder on a larger local disk."
)


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that only this user can read, removed at the end."""
    root = _root()
    _sweep(root)
    lock, folder = _locked(root)
    try:
        yield folder
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT):
            raise ReadError(_FULL) from None
        raise ReadError(_cannot(error)) from None
    finally:
        try:
            _remove(folder)
        finally:  # after an interrupt the next process removes it, once the lock is free
            os.close(lock)


def _locked(root: Path) -> tuple[int, Path]:
    """A new folder, and the lock that says that it is in use."""
    while True:
        lock, name = tempfile.mkstemp(suffix=".lock", dir=root)  # 0600
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink == 0:  # swept before it was locked
                os.close(lock)
                continue
        folder = Path(name).with_suffix("")
        folder.mkdir(mode=0o700)
        return lock, folder


def _remove(folder: Path) -> None:
    """Remove a folder, then its lock. As long as a file stays, so does the lock, by which the next
    process finds it."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        with suppress(OSError):
            folder.with_suffix(".lock").unlink()


def _sweep(root: Path) -> None:
    """Remove what processes left that are no more."""
    for left in root.glob("*.lock") if fcntl is not None else ():
        with suppress(OSError):
            lock = os.open(left, os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(left.with_suffix(""))
            finally:
                os.close(lock)


def private_file(path: Path) -> int:
    """A new file of 0600, to be written and read."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
