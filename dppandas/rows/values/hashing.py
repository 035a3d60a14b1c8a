"""Keyed hashes of values: of one column's elements, and of whole rows.

A hash depends on what a cell means and on the key, never on dtypes, order or other rows. So what
hashes decide (which rows of a unit are kept, who is in a sample) is decided for each unit alone.
Hashes distinguish all cells that are not identical, or on demand only those that are not equal
(`values.equality`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from . import equality
from .cells import canonical, nearest
from .families import MISSING, Cell
from .forms import Coded, Durations, Instants, Levels, Numbers, Truths, Vector

Hashes = npt.NDArray[np.uint64]

#: Rows whose hashes fit a processor's cache.
_BLOCK = 2**15

_ODD = np.uint64(0x9E3779B97F4A7C15)


def of_rows(
    columns: Iterable[tuple[Any, Vector]], rows: int, key: bytes, equal: bool = False
) -> Hashes:
    """A 64-bit keyed hash of each row's cells; with ``equal``, equal cells hash alike even if they
    are not identical."""
    total = np.full(rows, _salt(key, "row"), dtype=np.uint64)
    blocks = [slice(first, first + _BLOCK) for first in range(0, rows, _BLOCK)]
    for name, vector in columns:
        salt = np.uint64(_salt(key, equality.name(canonical(name))))
        for block in blocks:
            hashes = mixed(of_elements(vector.take(block), key, equal) ^ salt)
            total[block] = mixed(total[block] + hashes)
    return total


def several(hashes: Hashes, number: int) -> Hashes:
    """For each hash, a row of ``number`` others."""
    ways = np.arange(1, number + 1, dtype=np.uint64) * _ODD  # all differ, for _ODD is odd
    return mixed(hashes[:, None] + ways)


def with_number(hashes: Hashes, numbers: npt.NDArray[np.intp]) -> Hashes:
    """A hash of each pair of a hash and a whole number from 0."""
    apart = (numbers.astype(np.uint64) + np.uint64(1)) * _ODD  # all differ, for _ODD is odd
    return mixed(hashes + mixed(apart))


def of_elements(v: Vector, key: bytes, equal: bool = False) -> Hashes:
    """A 64-bit keyed hash of each element."""
    missing = np.uint64(_salt(key, "missing"))
    if isinstance(v, Coded):
        return v.by_level(("hash", key, equal), lambda x: _of_levels(x, key, equal), missing)
    if isinstance(v, Truths):
        found = _truths(v.values, key, equal)
    elif isinstance(v, Numbers):
        found = _numbers(v.values, key)
    elif isinstance(v, Instants | Durations):
        sort = _sort(v.zone, equal) if isinstance(v, Instants) else "duration"
        found = _moments(v.micros, v.beyond, _salt(key, sort))
    else:
        raise TypeError
    return np.where(v.null(), missing, found)


def name_of(value: Any) -> str | None:
    """A text that equal values share, and no others; None for missing values, and for types that
    are not known by their values."""
    key = equality.key(canonical(value))
    return None if key is None else equality.name(key)


def digest(text: str, key: bytes) -> str:
    """A keyed digest of a text, as hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).hexdigest()


def _salt(key: bytes, text: str) -> int:
    hashed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key)
    return int.from_bytes(hashed.digest(), "little")


def mixed(x: Hashes) -> Hashes:
    """The finaliser of splitmix64: each bit of x flips about half the bits of the result."""
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
    both = [_salt(key, "False"), _salt(key, "True")]
    return np.array(both, dtype=np.uint64)[values.astype(np.intp)]


def _numbers(exact: npt.NDArray[Any], key: bytes) -> Hashes:
    """Equal numbers hash alike as int64 and float64; from 2^53 on, low bits distinguish them."""
    numbers = exact.astype(np.float64, copy=False)
    if exact.dtype.kind == "i":
        low = exact.view(np.uint64)
    else:
        fits = (numbers >= -(2.0**63)) & (numbers < 2.0**63)
        low = np.where(fits, numbers, 0).astype(np.int64).view(np.uint64)
    found = mixed((numbers + 0.0).view(np.uint64) ^ np.uint64(_salt(key, "number")))
    large = np.abs(numbers) >= 2.0**53
    return np.where(large, mixed(found + low), found) if large.any() else found


def _moments(micros: npt.NDArray[np.int64], nanos: npt.NDArray[np.int64], salt: int) -> Hashes:
    found = mixed(micros.view(np.uint64) ^ np.uint64(salt))
    return mixed(found + nanos.view(np.uint64))


def _sort(zone: str | None, equal: bool) -> str:
    if zone is None:
        return "time"
    return "zoned" if equal else f"zoned {zone}"


def _of_levels(levels: Levels, key: bytes, equal: bool) -> Hashes:
    if levels.texts is not None:
        return _texts(levels.texts, key)
    found = np.empty(len(levels), dtype=np.uint64)
    places: dict[Any, list[int]] = {}
    for i, cell in enumerate(levels.cells):
        places.setdefault(_group(cell), []).append(i)
    for group, at in places.items():
        found[at] = _of_group(group, [levels.cells[i] for i in at], key, equal)
    return found


def _texts(texts: Iterable[str], key: bytes) -> Hashes:
    """The `_salt` of each text with an s before it, in a step each."""
    each = (f"s{text}".encode("utf-8", "surrogatepass") for text in texts)
    hashed = b"".join([blake2b(text, digest_size=8, key=key).digest() for text in each])
    return np.frombuffer(hashed, "<u8").astype(np.uint64)


def _group(cell: Cell) -> str:
    """Cells of one group are hashed as the form that could hold them."""
    family, exact = cell
    if family == "zoned":
        return f"zoned {exact[1]}"
    if family != "number":
        return family if family in ("truth", "time", "duration") else "other"
    if type(exact) is int and -(2**63) <= exact < 2**63:
        return "whole"
    return "real" if type(exact) is not Fraction and nearest(exact) == exact else "other"


def _of_group(group: str, cells: Sequence[Cell], key: bytes, equal: bool) -> Hashes:
    values = [exact for _, exact in cells]
    if group == "truth":
        return _truths(np.array(values, dtype=bool), key, equal)
    if group in ("real", "whole"):
        exact = np.array(values, dtype=np.float64 if group == "real" else np.int64)
        return _numbers(exact, key)
    if group == "other":
        return _each(cells, lambda cell: _salt(key, _named(cell, equal)))
    is_zoned = group.startswith("zoned")
    micros, nanos = zip(*(divmod(n[0] if is_zoned else n, 1000) for n in values), strict=True)
    salt = _salt(key, "zoned" if is_zoned and equal else group)
    return _moments(np.array(micros, dtype=np.int64), np.array(nanos, dtype=np.int64), salt)


def _named(cell: Cell, equal: bool) -> str:
    if cell == MISSING:
        return "missing"
    return equality.name((equality.key(cell) if equal else None) or cell)


def _each(values: Sequence[Any] | npt.NDArray[Any], function: Callable[[Any], int]) -> Hashes:
    return np.fromiter(map(function, values), dtype=np.uint64, count=len(values))
