"""Keyed hashes of values: of one column's elements, and of whole rows.

A hash depends on the value of an element and on the key, never on dtypes, order or other rows: so
that what is decided by it (which rows of a unit are kept, who is in a sample) is decided for each
unit on its own.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable
from fractions import Fraction
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pandas as pd

from .domain import is_missing, plain
from .vectors import NUMBERS, Vector, as_numbers, is_null

Hashes = npt.NDArray[np.uint64]

_MISSING = np.uint64(0x9E3779B97F4A7C15)


def of_rows(columns: Iterable[tuple[Any, Vector]], rows: int, key: bytes) -> Hashes:
    """A 64-bit keyed hash of the cells of each row."""
    total = np.full(rows, _salt(key, b"row"), dtype=np.uint64)
    for name, vector in columns:
        salt = _salt(key, str(name).encode("utf-8", "surrogatepass"))
        total = mixed(total + mixed(of_elements(vector, key, salt) ^ np.uint64(salt)))
    return total


def several(hashes: Hashes, number: int) -> Hashes:
    """For each hash a row of so many others."""
    ways = np.arange(1, number + 1, dtype=np.uint64) * _MISSING  # an odd number: no two alike
    return mixed(hashes[:, None] + ways)


def of_elements(vector: Vector, key: bytes, salt: int = 0) -> Hashes:
    """A 64-bit keyed hash of each element."""
    return vector.by_level(("hash", key, salt), lambda v: _cells(v, key), _MISSING)


def kinds(vector: Vector, key: bytes) -> Hashes:
    """What tells elements apart that are equal: truth values from numbers, zones of one instant,
    numbers beyond 64 bits; 0 for most. Of elements as they are and not of dtypes."""
    return vector.by_level(("kinds", key), lambda v: _kinds(v, key), np.uint64(0))


def _kinds(v: Vector, key: bytes) -> Hashes:
    found = np.zeros(len(v), dtype=np.uint64)
    if v.kind == "b":
        found[:] = _salt(key, b"bool")
    elif v.kind == "O" and not isinstance(v.values, np.ndarray):
        zone = getattr(v.values, "tz", None)
        found[:] = 0 if zone is None else _salt(key, f"zone {zone}".encode())
    elif v.kind == "O":
        found = np.fromiter((_kind(x, key) for x in v.values), dtype=np.uint64, count=len(v))
    if v.missing is not None:
        found = np.where(v.missing, np.uint64(0), found)
    return np.where(is_null(v), np.uint64(0), found)


def _kind(value: Any, key: bytes) -> int:
    if type(value) is str:
        return 0
    try:
        if isinstance(value, bool | np.bool_):
            return _salt(key, b"bool")
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            return _salt(key, f"zone {value.tzinfo}".encode())
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            return _salt(key, f"large {value:x}".encode())
    except Exception:  # an object that is broken
        pass
    return 0


def name_of(value: Any) -> str | None:
    """A text that is the same for equal values and for no others; None for what names nobody:
    missing values, what can't be hashed, and types that are not known by their values."""
    try:
        hash(value)
        return None if is_missing(plain(value)) else _named(value)
    except Exception:
        return None


def digest(text: str, key: bytes) -> str:
    """A keyed digest of a text, as hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=key).hexdigest()


def _salt(key: bytes, name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=8, key=key).digest(), "little")


def mixed(x: Hashes) -> Hashes:
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
    hashes = mixed(bits ^ np.where(large, mixed(low), np.uint64(0)))
    return np.where(np.isnan(numbers), _MISSING, hashes)


def _low_bits(value: Any) -> int:
    try:
        exact = int(value) if isinstance(value, NUMBERS) else 0
    except (ValueError, OverflowError, TypeError):
        return 0
    return exact % 2**64 if -(2**63) <= exact < 2**64 else 0


def _object(value: Any, key: bytes) -> int:
    if type(value) is str:
        text = "s" + value
    else:
        try:
            text = _named(value)
        except Exception:  # an unknown type, or an object that is broken
            text = "o" + type(value).__name__
    return int(_MISSING) if text == "m" else _salt(key, text.encode("utf-8", "surrogatepass"))


def _named(value: Any) -> str:
    """A text for a value, recursively, by what it is and never by how it prints."""
    value = plain(value)
    if is_missing(value):
        return "m"
    if isinstance(value, NUMBERS):
        return _number(value)
    for kinds, name in _NAMES:
        if isinstance(value, kinds):
            return name(value)
    raise TypeError


def _number(number: Any) -> str:
    """The same for equal numbers of any type: exact, however large, in hexadecimal."""
    if isinstance(number, decimal.Decimal) and abs(number.adjusted()) > 5000:
        return f"n{number}"  # as a fraction it might fill all memory
    try:
        exact = Fraction(number)  # takes decimals and numpy's integers, too
    except OverflowError:
        return f"n{float(number)}"
    return f"n{exact.numerator:x}/{exact.denominator:x}"


def _joined(parts: Iterable[str]) -> str:
    return "".join(f"{len(part)}:{part}" for part in parts)


def _time(value: Any) -> str:
    """Equal instants alike in every zone; a clock without a zone is another thing."""
    clock = datetime.datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second
    )
    # An integer, for astimezone can't leave the years 1 to 9999.
    since = (clock - datetime.datetime(1, 1, 1)) // _MICRO + value.microsecond
    offset = value.utcoffset()
    zone = "t" if offset is None else "z"
    since -= 0 if offset is None else offset // _MICRO
    return f"{zone}{since}.{getattr(value, 'nanosecond', 0)}"


def _duration(value: Any) -> str:
    exact = (value.days * 86_400 + value.seconds) * 10**9 + value.microseconds * 1000
    return f"e{exact + getattr(value, 'nanoseconds', 0)}"


def _complex(value: Any) -> str:
    """A real one is a number: 1 + 0j == 1."""
    if not value.imag:
        return _number(float(value.real))
    return "x" + _joined(map(_named, (value.real, value.imag)))


_MICRO = datetime.timedelta(microseconds=1)
#: How values of each type are named. The first that fits counts.
_NAMES: list[tuple[Any, Callable[[Any], str]]] = [
    (str, lambda v: "s" + v),
    (bytes, lambda v: "b" + v.hex()),
    (datetime.datetime, _time),
    (datetime.date, lambda v: "d" + v.isoformat()),
    (datetime.time, lambda v: "c" + v.isoformat()),
    (datetime.timedelta, _duration),
    (complex | np.complexfloating, _complex),
    (pd.Interval, lambda v: "i" + v.closed + _joined(map(_named, (v.left, v.right)))),
    (pd.Period, lambda v: f"p{v.freqstr}{v.ordinal}"),
    (UUID, lambda v: "u" + v.hex),
    (tuple, lambda v: "(" + _joined(map(_named, v))),
    (list, lambda v: "[" + _joined(map(_named, v))),
    (np.ndarray, lambda v: f"a{v.shape}" + _joined(map(_named, v.reshape(-1).tolist()))),
    (set | frozenset, lambda v: "{" + _joined(sorted(map(_named, v)))),
    (
        dict,
        lambda v: "d" + _joined(sorted(_joined((_named(k), _named(x))) for k, x in v.items())),
    ),
]
