"""Keyed hashes of the contents of rows.

They decide which rows of a unit are kept, and whether a frame still holds the same data. A hash
depends on the values of one row's cells and on the key, never on dtypes, order or other rows, so
that removing one unit can't change which rows of another are kept.
"""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..domain import Unit, is_missing, plain
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


def fingerprint(frame: pd.DataFrame, key: bytes) -> str:
    """Equal for equal rows in whatever order; kept in memory only, under a key of this process."""
    with np.errstate(all="ignore"):
        sums = [int(row_hashes(frame, key + mark).sum(dtype=np.uint64)) for mark in (b"1", b"2")]
    facts = repr((list(frame.columns), len(frame), sums))
    return blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16, key=key).hexdigest()


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
    if v.kind != "O" and v.codes is None and v.missing is None:
        found: npt.NDArray[np.intp] = pd.factorize(v.values)[0]
        return found
    values = v.objects()
    if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "integer"):
        # pandas' hash table compares elements with each other, in ways that depend on the others
        values = np.fromiter(map(_unit_name, values), dtype=object, count=len(values))
    codes: npt.NDArray[np.intp] = pd.factorize(values)[0]
    return codes


def _unit_name(value: Any) -> str | None:
    """A text that is the same for equal values, and None for what can't name anybody."""
    try:
        value = plain(value)
        if is_missing(value):
            return None
        hash(value)  # a list, a dict
        if isinstance(value, NUMBERS):
            number: Any = value  # Fraction takes decimals and numpy's integers, too
            return f"n{Fraction(number)}" if math.isfinite(number) else f"n{float(number)}"
        return _described(value)
    except Exception:
        return None


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
    try:
        text = _described(value)
    except Exception:  # it can't print itself, or its zone is broken
        text = "o" + type(value).__name__
    return _salt(key, text.encode("utf-8", "surrogatepass"))


def _described(value: Any) -> str:
    """What a value that is no number says of itself; equal times alike in every zone."""
    if isinstance(value, str):
        return "s" + value
    if not isinstance(value, datetime.datetime):
        return f"o{type(value).__name__}{value!r}"
    # An integer, for astimezone can't leave the years 1 to 9999.
    micro = datetime.timedelta(microseconds=1)
    clock = datetime.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second
    )
    since = (clock - datetime.datetime(1, 1, 1)) // micro + value.microsecond
    offset = value.utcoffset()
    since -= 0 if offset is None else offset // micro
    return f"t{since}.{getattr(value, 'nanosecond', 0)}"
