"""A ledger as a file to publish: a page, JSON, a table, or a record for registries."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path as File

from ..errors import QueryError, StoreError, quoted
from ..privacy.sampling import entropy
from . import report
from .deployment.record import PublisherFacts, deployment, deployment_yaml
from .deployment.yaml_text import plain
from .snapshot import Snapshot
from .statement import Statement, as_csv, as_json, table
from .storage import locks
from .storage.paths import folder_fault, identity
from .storage.store import Store

#: Endings of records for registries, in which people go on to write.
_RECORDS = (".yaml", ".yml")
_ENDINGS = (".html", ".json", ".csv", *_RECORDS)


def written(
    store: Store, now: Callable[[], Snapshot], path: object, facts: PublisherFacts, replace: object
) -> None:
    """Write a ledger to a file, in the format that the file's name ends in: `Ledger.export`."""
    file = _checked(store, path)
    _check_facts(file, facts)
    may_replace = _check_replace(file, replace)
    text = _text(store, now, file.suffix.lower(), facts)
    try:
        _put(file, text, may_replace)
    except FileExistsError:
        told = _is_there(file)
    except OSError as error:
        told = StoreError(f"{str(file)!r} can't be written: {error.strerror or error}.")
    else:
        return
    raise told


def _text(store: Store, now: Callable[[], Snapshot], ending: str, facts: PublisherFacts) -> str:
    if ending == ".csv":
        charges, _ = store.sealed()
        ledger = now()  # after the charges, as in Statement.of
        entries = ledger.with_replays(charges)
        counted = ledger.terms.measure.counted
        return as_csv(table(entries, counted, is_exact=True), ledger.caveats)
    said = Statement.of(store, now)
    if ending in _RECORDS:
        return deployment_yaml(said, facts)
    if ending == ".json":
        return as_json(said, plain(deployment(said, facts)))
    return report.html(said)


def _put(file: File, text: str, may_replace: bool) -> None:
    """Write all of the text or leave what was there: whoever reads meanwhile never sees half.
    Raises `FileExistsError` if a file that may not be replaced came meanwhile."""
    # A label may hold half of a surrogate pair, which a file can't: it is escaped as in JSON.
    content = text.encode("utf-8", "backslashreplace")
    target = File(os.path.realpath(file))  # a link stays a link
    half = target.with_name(f".{entropy.identifier()}.half")
    try:
        with open(half, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if not may_replace:
            _put_new(half, target)
            return
        if target.exists():
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            shutil.copymode(target, half)
        os.replace(half, target)
    except BaseException:
        with contextlib.suppress(OSError):
            half.unlink()
        raise


def _put_new(half: File, target: File) -> None:
    """Give a file its name, unless another file has it."""
    try:
        os.link(half, target)
    except FileExistsError:
        raise
    except OSError:  # a disk without links
        target.touch(exist_ok=False)
        try:
            os.replace(half, target)
        except BaseException:
            target.unlink()
            raise
    else:
        half.unlink()


def _checked(store: Store, path: object) -> File:
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise QueryError(f"path={quoted(path)} must be the path of a file.")
    file = File(path).expanduser()
    if file.suffix.lower() not in _ENDINGS:
        raise QueryError(
            f"path={quoted(str(path))} must end in .html (for readers), .json (for programs), "
            ".csv (a table) or .yaml (for registries)."
        )
    try:
        fault = folder_fault(file)
        if not fault and file.exists() and not file.is_file():
            fault = "isn't a regular file: name one on a disk"
        if not fault and (locks.is_held(identity(file)) or store.is_at(file)):
            fault = "is the ledger itself: choose another file"
        if not fault and _is_database(file):
            fault = "is a database, perhaps another ledger: choose another file"
    except (OSError, ValueError) as error:  # too long a name, or one with a zero byte
        fault = f"can't be written: {getattr(error, 'strerror', None) or error}"
    if fault:
        raise StoreError(f"path={quoted(str(file))} {fault}.")
    return file


def _is_database(file: File) -> bool:
    """Whether a file is one of SQLite's, as ledgers are."""
    if not file.exists() or not os.access(file, os.R_OK):
        return False
    with open(file, "rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def _check_facts(file: File, facts: PublisherFacts) -> None:
    for name, value in facts._asdict().items():
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise QueryError(f'{name}={quoted(value)} must be a text, such as {name}="…".')
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise QueryError(
                f"{name}={quoted(value)} has half of a letter, which no file can hold."
            )
        if file.suffix.lower() not in (".json", *_RECORDS):
            raise QueryError(
                f"{name}= has no place in a {file.suffix} file. Write to a .yaml or a .json file, "
                f"or leave {name}= out."
            )


def _check_replace(file: File, replace: object) -> bool:
    """Whether a file that is there may be replaced."""
    if replace is not None and not isinstance(replace, bool):
        raise QueryError(f"replace={quoted(replace)} must be True or False.")
    may = file.suffix.lower() not in _RECORDS if replace is None else replace
    if not may and file.exists():
        raise _is_there(file)
    return may


def _is_there(file: File) -> StoreError:
    return StoreError(
        f"path={str(file)!r} is there already, and may hold what people wrote in it. Choose "
        "another file, or write `replace=True`."
    )
