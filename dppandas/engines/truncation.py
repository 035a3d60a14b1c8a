"""Which rows of a unit are kept, and whether a frame still holds the same data: by row hashes.

A hash depends on one row's values alone (`hashing`), so removing one unit can't change which rows
of another are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InternalError
from ..rows.facts.units import Unit
from ..rows.values import canonical, hashing, name, orders, vectors
from .readers import TableColumns

#: Two arbitrary numbers, to derive two sums from one hash per row.
_MARKS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def row_hashes(
    columns: TableColumns, key: bytes, equal: bool = False, names: Iterable[Any] | None = None
) -> hashing.Hashes:
    """A 64-bit keyed hash of each row, the same for rows of identical cells, or of equal ones; of
    some columns or of all."""
    read = ((name, columns[name]) for name in (columns if names is None else names))
    return hashing.of_rows(read, columns.rows, key, equal)


def fingerprint(columns: TableColumns, key: bytes) -> str:
    """Equal for equal rows in any order, if their cells are identical, so that no method can
    distinguish them. It is only compared; no answer depends on it."""
    with np.errstate(all="ignore"):
        hashes = row_hashes(columns, key)
        sums = [int(hashing.mixed(hashes + np.uint64(m)).sum(dtype=np.uint64)) for m in _MARKS]
    facts = repr(([name(canonical(each)) for each in columns], columns.rows, sums))
    return hashing.digest(facts, key)


def kept_rows(
    columns: TableColumns, unit: Unit, key: bytes, names: Sequence[Any] | None = None
) -> npt.NDArray[np.bool_]:
    """The max_rows rows of smallest hash of each unit; rows without a unit are dropped. A second
    hash orders rows that are equal but not identical.

    names : the columns whose hash decides, if not all: of a table with one row for each unit and
        key these two, so that what is asked of the groups doesn't change which are kept.
    """
    if not key:
        raise InternalError("rows are truncated without a key.")
    units = vectors.codes_of(columns[unit.column])
    kept = units >= 0
    rows = orders.in_large(units, unit.max_rows)
    if not len(rows):
        return kept
    whole = slice(None) if len(rows) == len(units) else rows

    def hashes(of: slice | npt.NDArray[np.intp], number: int, equal: bool) -> hashing.Hashes:
        read = ((name, columns[name].take(of)) for name in (columns if names is None else names))
        return hashing.of_rows(read, number, key, equal)

    # equality first, for a Categorical merges 1 and True into whichever it meets first
    equal = hashes(whole, len(rows), True)
    # of rows that hold the same the first, of which histories say that they come first, too
    ties = (lambda at: hashes(rows[at], len(at), False), rows.take)
    kept[rows] = False
    kept[rows[orders.least(units[rows], equal, unit.max_rows, ties)]] = True
    return kept
