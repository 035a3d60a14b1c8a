"""What is decided by the contents of rows: which rows of a unit are kept, and whether a frame still
holds the same data.

Hashes depend on one row's values alone (`hashing`), so that removing one unit can't change which
rows of another are kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..rows.expressions import Chunk
from ..rows.facts.units import Unit
from ..rows.values import canonical, hashing, name, vectors
from .readers import Columns, ComputedColumns

#: What makes two sums of one hash of each row: numbers without meaning.
_MARKS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


def row_hashes(
    columns: Columns | ComputedColumns, key: bytes, equal: bool = False
) -> hashing.Hashes:
    """A 64-bit keyed hash of the cells of each row: the same for identical ones, or for equal ones
    too."""
    read = ((name, columns[name]) for name in columns)
    return hashing.of_rows(read, columns.rows, key, equal)


def fingerprint(columns: Columns | ComputedColumns, key: bytes) -> str:
    """Equal for rows of identical cells, which no verb tells apart, in whatever order of rows. It
    is compared, and no answer depends on it."""
    with np.errstate(all="ignore"):
        hashes = row_hashes(columns, key)
        sums = [int(hashing.mixed(hashes + np.uint64(m)).sum(dtype=np.uint64)) for m in _MARKS]
    facts = repr(([name(canonical(each)) for each in columns], columns.rows, sums))
    return hashing.digest(facts, key)


def kept_rows(columns: Columns | ComputedColumns, unit: Unit, key: bytes) -> npt.NDArray[np.bool_]:
    """The max_rows rows of smallest hash of each unit; rows without a unit are dropped. Rows that
    are equal and not identical are told apart by a second hash."""
    units = vectors.codes_of(columns[unit.column])
    kept = units >= 0
    if len(units) == 0 or np.bincount(units[kept], minlength=1).max() <= unit.max_rows:
        return kept
    # by what rows equal first: a Categorical makes 1 and True one, the first of them that it meets
    hashes = row_hashes(columns, key), row_hashes(columns, key, equal=True)
    order = np.lexsort((*hashes, units))
    ordered = units[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    kept[order[rank >= unit.max_rows]] = False
    return kept


def unit_codes(chunk: Chunk, unit: Unit) -> npt.NDArray[np.intp]:
    """A number for the unit of each row, -1 where it is missing."""
    return vectors.codes_of(chunk.column(unit.column))
