"""What one cell means: `canonical`, a function of that cell alone.

A cell is what a column holds in one row, whatever pandas, numpy or Arrow keep it in. Its meaning is
a pair of a family and an exact value, made of Python's own immutable types; so two cells mean the
same exactly if their pairs are equal in Python, and nothing that a caller's class overrides is ever
called. This is the public table:

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

Limits, beyond which a cell is missing: numbers whose numerator or denominator has more than 4,096
bits; text and bytes of more than 2^20 characters; lists deeper than 16, or of more than 2^16
elements in all; instants and durations of more than 2^63 microseconds, or of a fraction of a
nanosecond. So each cell costs bounded time and memory, and none raises.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from math import inf
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from . import instants
from .families import (
    MISSING,
    MOST_BITS,
    MOST_CHARACTERS,
    MOST_DEPTH,
    MOST_ELEMENTS,
    OPAQUE,
    Cell,
    order,
    own,
)


def canonical(cell: Any) -> Cell:
    """The meaning of a cell: its family and exact value. Never raises, and asks nothing of a
    caller's class: a subclass is read by the methods of its base.

    >>> canonical(1) == canonical(1.0) == canonical(np.int8(1)) == ("number", 1)
    True
    >>> canonical(True), canonical("1"), canonical(float("nan"))
    (('truth', True), ('text', '1'), ('missing', None))
    """
    try:
        return _canonical(cell, _Room())
    except Exception:  # a broken zone, a number that is none: what can't be read is missing
        return MISSING


class _Room:
    """How many elements and levels of lists are left."""

    def __init__(self) -> None:
        self.elements = MOST_ELEMENTS
        self.depth = MOST_DEPTH


class _NoRoom(Exception):
    """A list with too many elements, or too deep: the whole cell is missing."""


def _canonical(cell: Any, room: _Room) -> Cell:
    kind = type(cell)
    read = _BY_ID.get(id(kind))  # by its id, for a class can have a hash of its own
    if read is None:
        found = (_BY_ID[id(base)] for base in _MRO(kind) if id(base) in _BY_ID)
        read = next(found, None)
        if read is None:
            return OPAQUE
    return read(cell, room)


_MRO: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__


# --- numbers --------------------------------------------------------------------------------------


def number(exact: int | float | Fraction) -> Cell:
    """The meaning of a finite exact number: int where it is whole, else float where it is one."""
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
    if bottom.bit_length() <= 1075 and bottom & (bottom - 1) == 0:
        near = _nearest(exact)
        if near is not None and Fraction(near) == exact:
            return "number", near
    return "number", exact


def _nearest(exact: int | Fraction) -> float | None:
    try:
        return float(exact)
    except OverflowError:
        return None


def are_small(values: Collection[Any]) -> bool:
    """Whether all are plain whole numbers of 63 bits, which are equal as Python says, and mean
    themselves."""
    return set(map(type, values)) == {int} and min(values) >= -(2**63) and max(values) < 2**63


def _int(cell: int, room: _Room) -> Cell:
    return number(int.__int__(cell))


def _float(cell: float, room: _Room) -> Cell:
    return number(float.__float__(cell))


def _numpy_number(cell: Any, room: _Room) -> Cell:
    return _canonical(np.generic.item(cell), room)


def _long_double(cell: Any, room: _Room) -> Cell:
    near = np.longdouble.__float__(cell)
    if near != near:
        return MISSING
    try:
        return number(Fraction(*np.longdouble.as_integer_ratio(cell)))
    except OverflowError:
        return number(near)


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
        return MISSING  # as a fraction it might fill all memory
    whole = _whole(digits[:size])
    exact = Fraction(whole * 10**exponent) if exponent >= 0 else Fraction(whole, 10**-exponent)
    return number(-exact if sign else exact)


def _whole(digits: Iterable[int]) -> int:
    """A number by its digits: not through a text, whose length Python limits."""
    found = 0
    for digit in digits:
        found = found * 10 + digit
    return found


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
    return (
        ("bytes", bytes.__add__(b"", cell)) if bytes.__len__(cell) <= MOST_CHARACTERS else MISSING
    )


def _bytearray(cell: bytearray, room: _Room) -> Cell:
    return _bytes(bytes(memoryview(cell)), room)


# --- what holds others ----------------------------------------------------------------------------


def _elements(cells: Any, room: _Room) -> tuple[Cell, ...]:
    """The meanings of elements; those that can't be read are missing."""
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


def _list(cell: list[Any], room: _Room) -> Cell:
    return _held("list", list.__getitem__(cell, slice(0, MOST_ELEMENTS + 1)), room)


def _tuple(cell: tuple[Any, ...], room: _Room) -> Cell:
    return _held("list", tuple.__getitem__(cell, slice(0, MOST_ELEMENTS + 1)), room)


def _held(family: str, cells: Any, room: _Room) -> Cell:
    return family, _elements(cells, room)


def _array(cell: Any, room: _Room) -> Cell:
    if np.ma.MaskedArray in _MRO(type(cell)):
        return MISSING if cell is np.ma.masked else OPAQUE
    if _SIZE(cell) > MOST_ELEMENTS:
        return MISSING
    plain = np.asarray(cell)
    if plain.ndim == 0:  # one in another has no other end
        room.depth -= 1
        if room.depth < 0:
            raise _NoRoom
    if plain.dtype.kind in "Mm":
        listed = np.empty(plain.size, dtype=object)
        for i, each in enumerate(plain.reshape(-1)):
            listed[i] = each
        plain = listed.reshape(plain.shape)
    return _canonical(np.ndarray.tolist(plain), room)


def _set(kind: Any) -> Callable[[Any, _Room], Cell]:
    def read(cell: Any, room: _Room) -> Cell:
        if kind.__len__(cell) > MOST_ELEMENTS:
            return MISSING
        found = _elements(list(kind.__iter__(cell)), room)
        return "set", tuple(sorted(found, key=order))

    return read


def _dict(cell: dict[Any, Any], room: _Room) -> Cell:
    if dict.__len__(cell) > MOST_ELEMENTS:
        return MISSING
    return "mapping", tuple(sorted(_elements(list(dict.items(cell)), room), key=order))


def _period(cell: Any, room: _Room) -> Cell:
    return "period", (str(_FREQUENCY(cell)), int(_ORDINAL(cell)))


def _interval(cell: Any, room: _Room) -> Cell:
    ends = _elements((_LEFT(cell), _RIGHT(cell)), room)
    return "interval", (str(_CLOSED(cell)), *ends)


def _missing(cell: Any, room: _Room) -> Cell:
    return MISSING


_UUID_INT = own(UUID, "int")
_SIZE = own(np.ndarray, "size")
_FREQUENCY, _ORDINAL = own(pd.Period, "freqstr"), own(pd.Period, "ordinal")
_LEFT, _RIGHT, _CLOSED = (own(pd.Interval, name) for name in ("left", "right", "closed"))

_READ: dict[type, Callable[[Any, _Room], Cell]] = {
    type(None): _missing,
    type(pd.NA): _missing,
    type(pd.NaT): _missing,
    bool: lambda cell, room: ("truth", cell),
    np.bool_: lambda cell, room: ("truth", bool(np.generic.item(cell))),
    int: _int,
    float: _float,
    np.float64: _float,
    np.integer: _numpy_number,
    np.floating: _numpy_number,
    np.longdouble: _long_double,
    decimal.Decimal: _decimal,
    Fraction: _fraction,
    complex: _complex,
    np.complexfloating: lambda cell, room: _complex(np.complex128(np.asarray(cell)).item(), room),
    str: _text,
    bytes: _bytes,
    bytearray: _bytearray,
    **instants.READERS,
    UUID: lambda cell, room: ("uuid", int.__int__(_UUID_INT(cell))),
    pd.Period: _period,
    pd.Interval: _interval,
    list: _list,
    tuple: _tuple,
    np.ndarray: _array,
    set: _set(set),
    frozenset: _set(frozenset),
    dict: _dict,
}
#: By the identity of a class, which lives as long as this table.
_BY_ID = {id(kind): read for kind, read in _READ.items()}
