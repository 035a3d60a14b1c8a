"""What is decided by the contents of rows: which rows of a unit are kept, and whether a frame still
holds the same data.

Hashes depend on one row's values alone (`hashing`), so that removing one unit can't change which
rows of another are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .. import hashing, vectors
from ..domain import Unit
from ..rows import Chunk
from ..vectors import Vector
from .readers import reader

_PLAIN = {str, int, float, type(None), type(pd.NA), type(pd.NaT)}  # a float here is NaN


def row_hashes(frame: pd.DataFrame, key: bytes) -> hashing.Hashes:
    """A 64-bit keyed hash of the cells of each row: the same for equal ones."""
    return hashing.of_rows(_columns(frame), len(frame), key)


def _columns(frame: pd.DataFrame) -> list[tuple[Any, Vector]]:
    return [
        (name, reader(frame.iloc[:, position])(slice(None)))
        for position, name in enumerate(frame.columns)
    ]


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """Equal for rows of equal cells, which no verb tells apart, in whatever order of rows. It is
    compared, and no answer depends on it."""
    with np.errstate(all="ignore"):
        sums = [int(_told(frame, key + mark).sum(dtype=np.uint64)) for mark in (b"1", b"2")]
    facts = repr(([str(name) for name in frame.columns], len(frame), sums))
    return hashing.digest(facts, key)


def _told(frame: pd.DataFrame, key: bytes) -> hashing.Hashes:
    """The hash of each row, and of what tells equal cells apart: True from 1, zones of a time."""
    columns = _columns(frame)
    hashes = hashing.of_rows(columns, len(frame), key)
    for _, vector in columns:
        hashes = hashing.mixed(hashes + hashing.kinds(vector, key))
    return hashes


def kept_rows(frame: pd.DataFrame, unit: Unit, key: bytes) -> npt.NDArray[np.bool_]:
    """The max_rows rows of smallest hash of each unit; rows without a unit are dropped."""
    position = list(frame.columns).index(unit.column)
    units = codes_of(reader(frame.iloc[:, position])(slice(None)))
    kept = units >= 0
    if len(units) == 0 or np.bincount(units[kept], minlength=1).max() <= unit.max_rows:
        return kept
    order = np.lexsort((row_hashes(frame, key), units))
    ordered = units[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    kept[order[rank >= unit.max_rows]] = False
    return kept


def unit_codes(chunk: Chunk, unit: Unit) -> npt.NDArray[np.intp]:
    """A number for the unit of each row, -1 where it is missing."""
    return codes_of(chunk.column(unit.column))


def codes_of(v: Vector) -> npt.NDArray[np.intp]:
    """A number for each distinct value, -1 where it is missing (or can't name anything)."""
    if v.kind != "O" and v.codes is None and v.missing is None:
        found: npt.NDArray[np.intp] = pd.factorize(v.values)[0]
        return found
    values = v.objects()
    if not (
        pd.api.types.infer_dtype(values, skipna=True) in ("string", "integer")
        and set(map(type, values)) <= _PLAIN
        and vectors.encodes(values)
    ):
        # pandas' hash table compares elements with each other, in ways that depend on the others
        names = np.fromiter(map(hashing.name_of, values), dtype=object, count=len(values))
        values = vectors.as_bytes(names)
    codes: npt.NDArray[np.intp] = pd.factorize(values)[0]
    return codes
