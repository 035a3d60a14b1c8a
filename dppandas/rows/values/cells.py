"""What one cell means: `canonical`, a function of that cell alone.

A cell is what a column holds in one row, whether pandas, numpy or Arrow stores it. It means a pair
of a family and an exact value, made of Python's own immutable types. Two cells mean the same if and
only if their pairs are equal in Python, and nothing that a caller's class overrides is ever called.
This is the public table:

==============================================  ==========  ======================================
a cell                                          family      exact value
==============================================  ==========  ======================================
None, NaN, NA, NaT; what is beyond the limits   missing     None
bool, numpy.bool                                truth       True, False
whole numbers and reals of any type             number      int, else float, else Fraction; ±inf
str                                             text        str
datetime, date (its midnight), datetime64       time        nanoseconds since 1970 on its clock
datetime with a zone                            zoned       (nanoseconds since 1970 UTC, its zone)
timedelta, timedelta64 of whole seconds         duration    nanoseconds
list, tuple, array                              list        a tuple of the elements' meanings
set, frozenset                                  set         the same, in an order of their own
dict                                            mapping     a tuple of pairs, in an order of its own
bytes, bytearray                                bytes       bytes
time of day                                     clock       (microseconds, its offset or None)
UUID                                            uuid        int
Period                                          period      (frequency, ordinal)
Interval                                        interval    (closed, left, right)
complex                                         complex     (real, imaginary)
anything else                                   opaque      None
==============================================  ==========  ======================================

A cell beyond these limits is missing: numerators and denominators of 4,096 bits; text and bytes of
2^20 characters; lists 16 deep, or of 2^16 elements in all; instants and durations of 2^63
microseconds, in whole nanoseconds. So each cell costs bounded time and memory, and none raises.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection
from fractions import Fraction
from functools import reduce
from math import inf
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from . import families, instants
from .families import MISSING, MOST_BITS, MOST_CHARACTERS, MOST_ELEMENTS, OPAQUE, Cell, order, own


def canonical(cell: Any) -> Cell:
    """What a cell means: its family and exact value. Never raises, and calls nothing of a caller's
    class: a subclass is read by the methods of its base.

    >>> canonical(1) == canonical(1.0) == canonical(np.int8(1)) == ("number", 1)
    True
    >>> canonical(True), canonical("1"), canonical(float("nan"))
    (('truth', True), ('text', '1'), ('missing', None))
    """
    try:
        return _canonical(cell, _Room())
    except Exception:  # such as a broken zone: what can't be read is missing
        return MISSING


class _Room:
    """How many elements and levels of lists are left."""

    elements = MOST_ELEMENTS
    depth = families.MOST_DEPTH


class _NoRoom(Exception):
    """A list has too many elements, or is too deep: the whole cell is missing."""


def _canonical(cell: Any, room: _Room) -> Cell:
    kind = type(cell)
    read = _BY_ID.get(id(kind))  # by id, since a class may override its hash
    if read is None:
        found = (_BY_ID[id(base)] for base in _MRO(kind) if id(base) in _BY_ID)
        read = next(found, None)
        if read is None:
            return OPAQUE
    return read(cell, room)


_MRO: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__


# --- numbers --------------------------------------------------------------------------------------


def number(exact: int | float | Fraction) -> Cell:
    """What an exact number means: an int if it is whole, else a float if it equals one."""
    if isinstance(exact, float):
        if exact != exact:
            return MISSING
        if exact in (inf, -inf):
            return "number", exact
        return ("number", int(exact)) if exact.is_integer() else ("number", exact)
    top, bottom = exact.numerator, exact.denominator
    if max(top.bit_length(), bottom.bit_length()) > MOST_BITS:
        return MISSING
    if bottom == 1:
        return "number", top
    if bottom & (bottom - 1) == 0 and (near := nearest(exact)) == exact:
        return "number", near
    return "number", exact


def nearest(exact: int | float | Fraction) -> float:
    """The float64 nearest to an exact number; ±inf if it is too large."""
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


def are_small(values: Collection[Any]) -> bool:
    """Whether all are ints of 64 bits, which mean themselves and are equal as in Python."""
    return set(map(type, values)) == {int} and min(values) >= -(2**63) and max(values) < 2**63


def are_simple(values: Collection[Any]) -> bool:
    """Whether all are ints of 64 bits, or all texts within the limits: values that mean themselves
    and are equal as in Python."""
    if set(map(type, values)) == {str}:
        return max(map(len, values)) <= MOST_CHARACTERS
    return are_small(values)


def _numpy_number(cell: Any, room: _Room) -> Cell:
    return _canonical(np.generic.item(cell), room)


def _long_double(cell: Any, room: _Room) -> Cell:
    try:
        return number(Fraction(*np.longdouble.as_integer_ratio(cell)))
    except (OverflowError, ValueError):  # infinite, or NaN
        return number(np.longdouble.__float__(cell))


def _decimal(cell: decimal.Decimal, room: _Room) -> Cell:
    sign, digits, exponent = decimal.Decimal.as_tuple(cell)
    if not isinstance(exponent, int):
        return MISSING if exponent != "F" else ("number", -inf if sign else inf)
    size = len(digits)
    while size > 1 and digits[size - 1] == 0:
        size -= 1
    exponent += len(digits) - size
    if digits[0] == 0 and size == 1:
        return "number", 0
    if size > MOST_BITS + 1 or abs(exponent) > MOST_BITS + 1:
        return MISSING  # as a fraction, it might fill the memory
    whole = reduce(lambda found, digit: 10 * found + digit, digits[:size])  # int() limits texts
    exact = Fraction(whole * 10**exponent) if exponent >= 0 else Fraction(whole, 10**-exponent)
    return number(-exact if sign else exact)


def _fraction(cell: Fraction, room: _Room) -> Cell:
    top, bottom = _NUMERATOR(cell), _DENOMINATOR(cell)
    return number(Fraction(int.__int__(top), int.__int__(bottom)))


_NUMERATOR, _DENOMINATOR = own(Fraction, "_numerator"), own(Fraction, "_denominator")


def _complex(cell: complex, room: _Room) -> Cell:
    parts = _REAL(cell), _IMAGINARY(cell)
    if any(part != part for part in parts):
        return MISSING
    return "complex", tuple(part + 0.0 for part in parts)


_REAL, _IMAGINARY = own(complex, "real"), own(complex, "imag")


# --- text -----------------------------------------------------------------------------------------


def _text(cell: str, room: _Room) -> Cell:
    return ("text", str.__str__(cell)) if str.__len__(cell) <= MOST_CHARACTERS else MISSING


def _bytes(cell: bytes, room: _Room) -> Cell:
    is_long = bytes.__len__(cell) > MOST_CHARACTERS
    return MISSING if is_long else ("bytes", bytes.__add__(b"", cell))


# --- cells that hold others -----------------------------------------------------------------------


def _elements(cells: Any, room: _Room) -> tuple[Cell, ...]:
    """What elements mean; those that can't be read are missing."""
    room.elements -= len(cells)
    room.depth -= 1
    if room.elements < 0 or room.depth < 0:
        raise _NoRoom
    found = tuple(_element(each, room) for each in cells)
    room.depth += 1
    return found


def _element(cell: Any, room: _Room) -> Cell:
    depth = room.depth
    try:
        return _canonical(cell, room)
    except _NoRoom:
        raise
    except Exception:
        room.depth = depth
        return MISSING


def _listed(kind: Any) -> Callable[[Any, _Room], Cell]:
    some = slice(0, MOST_ELEMENTS + 1)
    return lambda cell, room: ("list", _elements(kind.__getitem__(cell, some), room))


def _unordered(family: str, kind: Any, each: Any) -> Callable[[Any, _Room], Cell]:
    def read(cell: Any, room: _Room) -> Cell:
        if kind.__len__(cell) > MOST_ELEMENTS:
            return MISSING
        return family, tuple(sorted(_elements(list(each(cell)), room), key=order))

    return read


def _array(cell: Any, room: _Room) -> Cell:
    if np.ma.MaskedArray in _MRO(type(cell)):
        return MISSING if cell is np.ma.masked else OPAQUE
    if _SIZE(cell) > MOST_ELEMENTS:
        return MISSING
    plain = np.asarray(cell)
    if plain.ndim == 0:  # one may hold itself
        room.depth -= 1
        if room.depth < 0:
            raise _NoRoom
    if plain.dtype.kind in "Mm":
        listed = np.empty(plain.size, dtype=object)
        for i, each in enumerate(plain.reshape(-1)):
            listed[i] = each
        plain = listed.reshape(plain.shape)
    return _canonical(np.ndarray.tolist(plain), room)


def _interval(cell: Any, room: _Room) -> Cell:
    ends = _elements((_LEFT(cell), _RIGHT(cell)), room)
    return "interval", (str(_CLOSED(cell)), *ends)


_UUID_INT = own(UUID, "int")
_SIZE = own(np.ndarray, "size")
_FREQUENCY, _ORDINAL = own(pd.Period, "freqstr"), own(pd.Period, "ordinal")
_LEFT, _RIGHT, _CLOSED = (own(pd.Interval, name) for name in ("left", "right", "closed"))

_READ: dict[type, Callable[[Any, _Room], Cell]] = {
    **dict.fromkeys((type(None), type(pd.NA), type(pd.NaT)), lambda cell, room: MISSING),
    bool: lambda cell, room: ("truth", cell),
    np.bool_: lambda cell, room: ("truth", bool(np.generic.item(cell))),
    int: lambda cell, room: number(int.__int__(cell)),
    **dict.fromkeys((float, np.float64), lambda cell, room: number(float.__float__(cell))),
    np.integer: _numpy_number,
    np.floating: _numpy_number,
    np.longdouble: _long_double,
    decimal.Decimal: _decimal,
    Fraction: _fraction,
    complex: _complex,
    np.complexfloating: lambda cell, room: _complex(np.complex128(np.asarray(cell)).item(), room),
    str: _text,
    bytes: _bytes,
    bytearray: lambda cell, room: _bytes(bytes(memoryview(cell)), room),
    **instants.READERS,
    UUID: lambda cell, room: ("uuid", int.__int__(_UUID_INT(cell))),
    pd.Period: lambda cell, room: ("period", (str(_FREQUENCY(cell)), int(_ORDINAL(cell)))),
    pd.Interval: _interval,
    **{kind: _listed(kind) for kind in (list, tuple)},
    np.ndarray: _array,
    **{kind: _unordered("set", kind, kind.__iter__) for kind in (set, frozenset)},
    dict: _unordered("mapping", dict, dict.items),
}
#: By the id of a class, which lives as long as the table above.
_BY_ID = {id(kind): read for kind, read in _READ.items()}
