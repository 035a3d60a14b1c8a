"""Keyed hashes of values: of one column's elements, and of whole rows.

A hash depends on the meaning of a cell and on the key, never on dtypes, order or other rows: so
that what is decided by it (which rows of a unit are kept, who is in a sample) is decided for each
unit on its own. Hashes of rows tell all cells apart that are not identical; those of names are the
same for equal ones (`values.equality`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from . import equality
from .cells import canonical
from .families import Cell
from .forms import Coded, Durations, Instants, Levels, Numbers, Truths, Vector

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


def of_rows(
    columns: Iterable[tuple[Any, Vector]], rows: int, key: bytes, equal: bool = False
) -> Hashes:
    """A 64-bit keyed hash of the cells of each row; ``equal`` asks for the same hash of cells that
    are equal without being identical."""
    total = np.full(rows, _salt(key, b"row"), dtype=np.uint64)
    for name, vector in columns:
        salt = _salt(key, _encoded(equality.name(canonical(name))))
        total += mixed(of_elements(vector, key, equal) ^ np.uint64(salt))
        total = mixed(total)
    return total


def several(hashes: Hashes, number: int) -> Hashes:
    """For each hash a row of so many others."""
    ways = np.arange(1, number + 1, dtype=np.uint64) * _ODD  # an odd number: no two alike
    return mixed(hashes[:, None] + ways)


def of_elements(v: Vector, key: bytes, equal: bool = False) -> Hashes:
    """A 64-bit keyed hash of each element."""
    missing = np.uint64(_salt(key, b"missing"))
    if isinstance(v, Coded):
        return v.by_level(("hash", key, equal), lambda x: _of_levels(x, key, equal), missing)
    if isinstance(v, Truths):
        found = _truths(v.values, key, equal)
    elif isinstance(v, Numbers):
        found = _numbers(v.values, key)
    elif isinstance(v, Durations):
        found = _moments(v.micros, v.beyond, _salt(key, b"duration"))
    elif isinstance(v, Instants):
        found = _moments(v.micros, v.beyond, _salt(key, _sort(v.zone, equal)))
    else:
        raise TypeError
    return np.where(v.null(), missing, found)


def name_of(value: Any) -> str | None:
    """A text that is the same for equal values and for no others; None for what names nobody:
    missing values, and types that are not known by their values."""
    key = equality.key(canonical(value))
    return None if key is None else equality.name(key)


def digest(text: str, key: bytes) -> str:
    """A keyed digest of a text, as hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).hexdigest()


def _salt(key: bytes, name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8, key=key).digest(), "little")


def mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: every bit of x changes half the bits of the result."""
    x = x ^ (x >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


# --- by form: a cell has the same hash in each ----------------------------------------------------


def _truths(values: npt.NDArray[np.bool_], key: bytes, equal: bool) -> Hashes:
    if equal:
        return _numbers(values.astype(np.int64), key)
    both = [_salt(key, b"False"), _salt(key, b"True")]
    return np.array(both, dtype=np.uint64)[values.astype(np.intp)]


def _numbers(exact: npt.NDArray[Any], key: bytes) -> Hashes:
    """Equal numbers hash alike in both forms; from 2^53 on, low bits tell whole ones apart."""
    numbers = exact.astype(np.float64, copy=False)
    if exact.dtype.kind == "i":
        low = exact.view(np.uint64)
    else:
        fits = (numbers >= -(2.0**63)) & (numbers < 2.0**63)
        low = np.where(fits, numbers, 0).astype(np.int64).view(np.uint64)
    found = mixed((numbers + 0.0).view(np.uint64) ^ np.uint64(_salt(key, b"number")))
    large = np.abs(numbers) >= 2.0**53
    return np.where(large, mixed(found + low), found) if large.any() else found


def _moments(micros: npt.NDArray[np.int64], nanos: npt.NDArray[np.int64], salt: int) -> Hashes:
    found = mixed(micros.view(np.uint64) ^ np.uint64(salt))
    return mixed(found + nanos.view(np.uint64))


def _sort(zone: str | None, equal: bool) -> bytes:
    if zone is None:
        return b"time"
    return b"zoned" if equal else f"zoned {zone}".encode()


def _of_levels(levels: Levels, key: bytes, equal: bool) -> Hashes:
    if levels.texts is not None:
        return _each(levels.texts, lambda text: _salt(key, _encoded("s" + text)))
    found = np.empty(len(levels), dtype=np.uint64)
    places: dict[Any, list[int]] = {}
    for i, cell in enumerate(levels.cells):
        places.setdefault(_group(cell), []).append(i)
    for group, at in places.items():
        found[at] = _of_group(group, [levels.cells[i] for i in at], key, equal)
    return found


def _group(cell: Cell) -> str:
    """How a cell is hashed: with others of its family, if a form has such."""
    family, exact = cell
    if family == "number":
        if type(exact) is float:
            return "real"
        if type(exact) is int:
            return "whole" if -(2**63) <= exact < 2**63 else _large(exact)
        return "other"
    return family if family in ("truth", "time", "duration", "missing", "zoned") else "other"


def _large(exact: int) -> str:
    try:
        return "real" if float(exact) == exact else "other"
    except OverflowError:
        return "other"


def _of_group(group: str, cells: Sequence[Cell], key: bytes, equal: bool) -> Hashes:
    values = [exact for _, exact in cells]
    if group == "missing":
        return np.full(len(cells), np.uint64(_salt(key, b"missing")))
    if group == "truth":
        return _truths(np.array(values, dtype=bool), key, equal)
    if group in ("real", "whole"):
        exact = np.array(values, dtype=np.float64 if group == "real" else np.int64)
        return _numbers(exact, key)
    if group == "zoned":
        each = ((n, _salt(key, _sort(zone, equal))) for n, zone in values)
        return np.concatenate([_of_moment(n, salt) for n, salt in each])
    if group in ("time", "duration"):
        salt = _salt(key, group.encode())
        return np.concatenate([_of_moment(n, salt) for n in values])
    return _each(cells, lambda cell: _salt(key, _encoded(_said(cell, equal))))


def _of_moment(nanos: int, salt: int) -> Hashes:
    whole, rest = divmod(nanos, 1000)
    return _moments(np.array([whole], dtype=np.int64), np.array([rest], dtype=np.int64), salt)


def _said(cell: Cell, equal: bool) -> str:
    found = equality.key(cell) if equal else cell
    return equality.name(found or cell)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _each(values: Sequence[Any] | npt.NDArray[Any], function: Callable[[Any], int]) -> Hashes:
    return np.fromiter(map(function, values), dtype=np.uint64, count=len(values))
