"""What an engine will do with the types of columns, done once without rows, before the charge.

A library may not know what to do with a type: that is as public as the type, so it is found out and
refused for nothing, and not met when the rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import quoted
from ..rows.expressions import Chunk, Expression
from ..rows.facts.units import Unit
from .base import Kernel, Need, ReadError
from .readers import TableColumns

_NO_ROWS = np.empty(0, dtype=np.intp)


class _Nothing:
    """Accumulates that there was nothing."""

    def add(self, partial: None, rows: int) -> None: ...

    def join(self, other: _Nothing) -> None: ...

    def result(self) -> None: ...


def kernel(need: Need) -> Kernel:
    """A kernel that reads all that is needed, and finds nothing."""
    return Kernel(partial(_read, need), _Nothing, need)


def _read(need: Need, branches: Sequence[Chunk], where: Expression | None) -> None:
    (chunk,) = branches
    for name in need.columns:
        chunk.column(name).take(_NO_ROWS)
    if need.keyed:
        chunk.hashed([*need.columns], b"")
    if need.plain:
        chunk.plain([*need.columns])


def show(columns: TableColumns, need: Need, unit: Unit) -> None:
    """Show no rows to a function of a caller, picked as those of units are."""
    picks = unit.column is not None or need.whole_units
    columns.plain([*need.columns], _NO_ROWS if picks else slice(0, 0))


#: To do what is needed with columns that hold nothing, of which it raises what it can't do.
Attempt = Callable[[Need, Collection[Any]], object]


def rehearse(attempt: Attempt, need: Need, columns: dict[Any, Any], library: str, way: str) -> None:
    """Refuse by name the columns that a library can't handle.

    columns : the types of all that are read. way : what the caller may write instead.
    """
    if not columns or _succeeds(attempt, need, columns):
        return
    unable = [name for name in columns if not _succeeds(attempt, need, [name])]
    if not unable:
        raise ReadError(
            f"{library} can't do this with columns of these types: "
            f"{', '.join(f'{quoted(name)} ({kind})' for name, kind in columns.items())}."
        )
    listed = ", ".join(f"{quoted(name)} ({columns[name]})" for name in unable)
    raise ReadError(f"{library} can't handle the type of {listed}. {way}")


def _succeeds(attempt: Attempt, need: Need, columns: Collection[Any]) -> bool:
    try:
        attempt(replace(need, columns=need.columns.intersection(columns)), columns)
    except ReadError:  # of files and machines, which isn't about types
        raise
    except Exception:
        return False
    return True
