"""Keyed hashes of the contents of rows.

They decide which rows of a unit are kept, and whether a frame still holds the same data. A hash
depends on the values of one row's cells and on the key, never on dtypes, order or other rows, so
that removing one unit can't change which rows of another are kept.
"""

from __future__ import annotations

import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..domain import Unit, is_missing
from ..vectors import NUMBERS, Vector, as_numbers
from .readers import reader

Hashes = npt.NDArray[np.uint64]

_MISSING = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(frame: pd.DataFrame, key: bytes) -> Hashes:
    """A 64-bit keyed hash of the cells of each row."""
    total = np.full(len(frame), _salt(key, b"row"), dtype=np.uint64)
    for position, name in enumerate(frame.columns):
        vector = reader(frame.iloc[:, position])(slice(None))
        salt = _salt(key, str(name).encode("utf-8", "surrogatepass"))
        cells = vector.by_level(("hash", key, salt), lambda v: _cells(v, key), _MISSING)
        total = _mixed(total + _mixed(cells ^ np.uint64(salt)))
    return total


def fingerprint(frame: pd.DataFrame, key: bytes) -> tuple[object, ...]:
    """Equal for equal rows in whatever order; kept in memory only, under a key of this process."""
    sums = (int(row_hashes(frame, key + mark).sum(dtype=np.uint64)) for mark in (b"1", b"2"))
    return (tuple(frame.columns), len(frame), *sums)


def kept_rows(frame: pd.DataFrame, unit: Unit, key: bytes) -> npt.NDArray[np.bool_]:
    """The max_rows rows of smallest hash of each unit; rows without a unit are dropped."""
    position = list(frame.columns).index(unit.column)
    units = _unit_codes(reader(frame.iloc[:, position])(slice(None)))
    kept = units >= 0
    if len(units) == 0 or np.bincount(units[kept], minlength=1).max() <= unit.max_rows:
        return kept
    order = np.lexsort((row_hashes(frame, key), units))
    ordered = units[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    kept[order[rank >= unit.max_rows]] = False
    return kept


def _unit_codes(v: Vector) -> npt.NDArray[np.intp]:
    """A number for each unit, -1 where it is missing (or can't name anybody)."""
    values = v.values if v.codes is None and v.missing is None else v.objects()
    try:
        return pd.factorize(values)[0]
    except Exception:  # a list, a dict: no name for a unit; the others' names mean what they did
        names = (value if _is_name(value) else None for value in values)
        return pd.factorize(np.fromiter(names, dtype=object, count=len(values)))[0]


def _is_name(value: Any) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True


def _salt(key: bytes, name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8, key=key).digest(), "little")


def _mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of x changes half the bits of the result."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _cells(v: Vector, key: bytes) -> Hashes:
    if v.is_number:
        hashes = _numbers(as_numbers(Vector(v.values)), v.values)
        return hashes if v.missing is None else np.where(v.missing, _MISSING, hashes)
    values = v.objects()
    hashes = np.fromiter((_object(x, key) for x in values), dtype=np.uint64, count=len(values))
    plain = [isinstance(x, NUMBERS) and not is_missing(x) for x in values]
    if any(plain):
        numbers = as_numbers(Vector(values))
        low = np.array([_low_bits(x) for x in values], dtype=np.uint64)
        hashes = np.where(plain, _combined(numbers, low), hashes)
    return hashes


def _numbers(numbers: npt.NDArray[np.float64], exact: npt.NDArray[Any]) -> Hashes:
    if exact.dtype.kind in "iu":
        low = exact.astype(np.uint64)
    else:
        signed = (numbers >= -(2.0**63)) & (numbers < 2.0**63)
        beyond = (numbers >= 2.0**63) & (numbers < 2.0**64)
        low = np.where(signed, numbers, 0).astype(np.int64).astype(np.uint64)
        low = np.where(beyond, np.where(beyond, numbers, 0).astype(np.uint64), low)
    return _combined(numbers, low)


def _combined(numbers: npt.NDArray[np.float64], low: Hashes) -> Hashes:
    """Equal numbers hash alike in every dtype; from 2^53 on, low bits tell integers apart."""
    bits = (numbers + 0.0).view(np.uint64)
    large = np.abs(numbers) >= 2.0**53
    hashes = _mixed(bits ^ np.where(large, _mixed(low), np.uint64(0)))
    return np.where(np.isnan(numbers), _MISSING, hashes)


def _low_bits(value: Any) -> int:
    try:
        exact = int(value) if isinstance(value, NUMBERS) else 0
    except (ValueError, OverflowError, TypeError):
        return 0
    return exact % 2**64 if -(2**63) <= exact < 2**64 else 0


def _object(value: Any, key: bytes) -> int:
    if is_missing(value):
        return int(_MISSING)
    if isinstance(value, str):
        text = "s" + value
    elif isinstance(value, datetime.datetime):
        text = "t" + _utc(value).isoformat()
    else:
        try:
            text = f"o{type(value).__name__}{value!r}"
        except Exception:
            text = "o" + type(value).__name__
    return _salt(key, text.encode("utf-8", "surrogatepass"))


def _utc(time: datetime.datetime) -> datetime.datetime:
    return time if time.tzinfo is None else time.astimezone(datetime.UTC)
