"""A ledger as a file to publish: a page, JSON, or a table."""

from __future__ import annotations

import os
from pathlib import Path as File

from ..errors import QueryError, StoreError, quoted
from . import report
from .snapshot import Snapshot
from .statement import Statement, as_csv, as_json, table
from .storage import locks
from .storage.paths import folder_fault


def written(ledger: Snapshot, path: object) -> None:
    """Write a ledger to a file, in the format that the file's name ends in: `Ledger.export`."""
    file = _checked(ledger, path)
    if file.suffix.lower() == ".csv":
        text = as_csv(table(ledger.entries(), ledger.terms.measure.counted, is_exact=True))
    else:
        shape = report.html if file.suffix.lower() == ".html" else as_json
        text = shape(Statement.of(ledger))
    try:
        # A label may hold half of a surrogate pair, which a file can't: it is escaped as in JSON.
        file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        told = StoreError(f"{str(file)!r} can't be written: {error.strerror or error}.")
    else:
        return
    raise told


def _checked(ledger: Snapshot, path: object) -> File:
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise QueryError(f"path={quoted(path)} must be the path of a file.")
    file = File(path).expanduser()
    if file.suffix.lower() not in (".html", ".json", ".csv"):
        raise QueryError(
            f"path={quoted(str(path))} must end in .html (for readers), .json (for programs) or "
            ".csv (a table)."
        )
    if fault := folder_fault(file):
        raise StoreError(f"path={str(file)!r} {fault}.")
    if locks.is_held(locks.identity(file)) or ledger.store.is_at(file):
        raise StoreError(f"path={str(file)!r} is the ledger itself: choose another file.")
    return file
