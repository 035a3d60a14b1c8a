"""Names of local files: what a path, a folder or a glob finds, and which names are one file's."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from ...errors import QueryError, quoted

#: The readers of pandas for files of other formats, by the end of their names.
_READERS = {
    "csv": "csv", "tsv": "csv", "txt": "csv", "json": "json", "jsonl": "json", "xlsx": "excel",
    "xls": "excel", "feather": "feather", "arrow": "feather", "orc": "orc", "dta": "stata",
    "sav": "spss", "xml": "xml", "html": "html", "pkl": "pickle", "h5": "hdf",
}  # fmt: skip


def no_parquet(path: str) -> str:
    """Why a file can't be read, and what to do: most are of another format, as their names say."""
    name = os.path.basename(path).lower()
    ends = [each for each in name.split(".")[1:] if each in _READERS]
    if not ends:
        return f"{path} isn't a Parquet file, or is damaged: its footer can't be read."
    reader = f"pd.read_{_READERS[ends[-1]]}({os.path.basename(path)!r})"
    return (
        f"{path} is a .{ends[-1]} file, and dp.protect reads Parquet files. Read it with pandas: "
        f"dp.protect({reader}, …). If it is larger than memory, write it as Parquet first."
    )


def each_once(paths: Sequence[str]) -> list[str]:
    """The files that paths name, each by its first name: a row may count only once."""
    once: dict[Any, str] = {}
    for path in paths:
        once.setdefault(identity(path), path)
    return list(once.values())


def identity(path: str) -> Any:
    """What is the same for all names of a file."""
    try:
        facts = os.stat(path)
    except OSError:  # which reading it will tell
        return path
    return (facts.st_dev, facts.st_ino) if facts.st_ino else path


def _refuse_partitions(where: str, found: Sequence[Path], base: Path) -> None:
    """Refuse files in folders whose names hold columns."""
    if any("=" in part for each in found for part in each.relative_to(base).parts[:-1]):
        raise QueryError(
            f"{quoted(where)} keeps columns in the names of folders. Give it as "
            'pyarrow.dataset.dataset(folder, partitioning="hive").'
        )


def _is_hidden(inside: Path) -> bool:
    """Whether other readers of a folder leave a path in it out: what is half written, or hidden."""
    return any(part.startswith((".", "_")) for part in inside.parts)


def find(where: str) -> list[str]:
    """The absolute paths that a path, a folder or a glob names, in order."""
    if "://" in where:
        raise QueryError(
            f"{quoted(where)} isn't a path on this machine. Give a pyarrow.dataset.dataset of it."
        )
    path = Path(where).expanduser()
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*.parquet") if each.is_file())
        found = [each for each in inside if not _is_hidden(each.relative_to(path))]
        _refuse_partitions(where, found, path)
        if not found:
            raise QueryError(f"the folder {quoted(where)} holds no *.parquet file.")
    elif path.exists():
        found = [path]
    else:
        found = [Path(each) for each in sorted(glob.glob(str(path), recursive=True))]
        if not found and glob.has_magic(str(path)):
            raise QueryError(f"no file matches {quoted(where)}.")
        if not found:
            raise QueryError(f"there is no file {quoted(where)}.")
        fixed = takewhile(lambda part: not glob.has_magic(part), path.parts)
        _refuse_partitions(where, found, Path(*fixed))
    return [str(each.absolute()) for each in found]
