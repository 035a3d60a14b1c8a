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

Limits belong to a cell with all its parts, each of which counts as often as it is referred to, and
beyond them the whole cell is missing: 2^20 characters of text and bytes; 2^22 bits, and 4,096 in
one numerator or denominator; lists 16 deep, or of 2^16 elements. A whole number counts its bits,
however it is held; a fraction those of both its parts, if it is no float; complex numbers and UUIDs
128; other reals, times and durations 64. A time or a duration is missing where it stands beyond
2^63 microseconds, or between nanoseconds. So a cell costs bounded time and memory; none raises.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable
from fractions import Fraction
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
    """How much is left of a cell's limits. What is shared is taken each time: how large a cell is
    doesn't depend on how memory holds it."""

    elements = MOST_ELEMENTS
    depth = families.MOST_DEPTH
    characters = MOST_CHARACTERS
    bits = families.MOST_BITS_IN_ALL

    def take(self, cell: Cell) -> None:
        """Count one element; the elements of a list count for themselves."""
        family, exact = cell
        if family == "number":
            self.bits -= _bits(exact)
        elif family in ("text", "bytes"):
            self.characters -= len(exact)
        else:
            self.bits -= _BITS.get(family, 0)
        if self.bits < 0 or self.characters < 0:
            raise _NoRoom


#: The bits of elements that have a fixed number of them.
_BITS = {**dict.fromkeys(("time", "zoned", "duration", "clock", "period"), 64),
         **dict.fromkeys(("uuid", "complex"), 128)}  # fmt: skip


def _bits(exact: int | float | Fraction) -> int:
    if isinstance(exact, int):
        return exact.bit_length()
    if isinstance(exact, float):
        return 64
    return exact.numerator.bit_length() + exact.denominator.bit_length()


class _NoRoom(Exception):
    """A part is beyond the limits, or all together are: the whole cell is missing."""


class Parts:
    """A list whose elements are made one after the other, and none of them beyond the limits."""

    def __init__(self, size: int, made: Iterable[Any]) -> None:
        self.size, self.made = size, made


class Beyond:
    """What is known to be beyond the limits without having been made."""


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


def _numpy_number(cell: Any, room: _Room) -> Cell:
    return _canonical(np.generic.item(cell), room)


def _whole(cell: int, room: _Room) -> Cell:
    if int.bit_length(cell) > MOST_BITS:  # before a subclass is copied
        raise _NoRoom
    return "number", int.__int__(cell)


def _ratio(top: int, bottom: int) -> Cell:
    """The number of a ratio; a long one isn't even reduced."""
    if max(top.bit_length(), bottom.bit_length()) > MOST_BITS:
        raise _NoRoom
    return number(Fraction(top, bottom))


def _long_double(cell: Any, room: _Room) -> Cell:
    try:
        top, bottom = np.longdouble.as_integer_ratio(cell)
    except (OverflowError, ValueError):  # infinite, or NaN
        return number(np.longdouble.__float__(cell))
    return _ratio(top, bottom)


def _decimal(cell: decimal.Decimal, room: _Room) -> Cell:
    if _DECIMAL_SIZE(cell) > _MOST_BYTES_OF_DECIMALS:
        raise _NoRoom
    sign, digits, exponent = decimal.Decimal.as_tuple(cell)
    if not isinstance(exponent, int):
        return MISSING if exponent != "F" else ("number", -inf if sign else inf)
    size = len(digits)
    while size > 1 and digits[size - 1] == 0:
        size -= 1
    exponent += len(digits) - size
    room.bits -= 4 * (len(digits) - size)  # zeros that say nothing are read all the same
    if room.bits < 0:
        raise _NoRoom
    if digits[0] == 0 and size == 1:
        return "number", 0
    if size > MOST_BITS + 1 or abs(exponent) > MOST_BITS + 1:
        raise _NoRoom  # as a fraction, it might fill the memory
    return _ratio(*decimal.Decimal((sign, digits[:size], exponent)).as_integer_ratio())


_DECIMAL_SIZE = decimal.Decimal.__sizeof__
#: A Decimal that takes more memory has more zeros than a cell has bits for, or too many digits.
_MOST_BYTES_OF_DECIMALS = 2**20


def _fraction(cell: Fraction, room: _Room) -> Cell:
    return _ratio(_whole(_NUMERATOR(cell), room)[1], _whole(_DENOMINATOR(cell), room)[1])


_NUMERATOR, _DENOMINATOR = own(Fraction, "_numerator"), own(Fraction, "_denominator")


def _complex(cell: complex, room: _Room) -> Cell:
    parts = _REAL(cell), _IMAGINARY(cell)
    if any(part != part for part in parts):
        return MISSING
    return "complex", tuple(part + 0.0 for part in parts)


_REAL, _IMAGINARY = own(complex, "real"), own(complex, "imag")


# --- text -----------------------------------------------------------------------------------------


def _text(cell: str, room: _Room) -> Cell:
    _fit(str.__len__(cell))
    return "text", str.__str__(cell)


def _bytes(cell: bytes, room: _Room) -> Cell:
    _fit(bytes.__len__(cell))
    return "bytes", bytes.__add__(b"", cell)


def _bytearray(cell: bytearray, room: _Room) -> Cell:
    _fit(bytearray.__len__(cell))
    return "bytes", bytes(memoryview(cell))


def _fit(characters: int) -> None:
    """Refuse a text before it is copied."""
    if characters > MOST_CHARACTERS:
        raise _NoRoom


# --- cells that hold others -----------------------------------------------------------------------


def _elements(cells: Iterable[Any], size: int, room: _Room) -> tuple[Cell, ...]:
    """What some number of elements mean; those that can't be read are missing."""
    room.elements -= size
    room.depth -= 1
    if room.elements < 0 or room.depth < 0:
        raise _NoRoom
    found = []
    for each in cells:
        cell = _element(each, room)
        room.take(cell)  # at once: the next may be too many
        found.append(cell)
    room.depth += 1
    return tuple(found)


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
    def read(cell: Any, room: _Room) -> Cell:
        some = kind.__getitem__(cell, slice(0, MOST_ELEMENTS + 1))
        return "list", _elements(some, len(some), room)

    return read


def _unordered(family: str, kind: Any, each: Any) -> Callable[[Any, _Room], Cell]:
    def read(cell: Any, room: _Room) -> Cell:
        size = kind.__len__(cell)
        if size > MOST_ELEMENTS:
            raise _NoRoom
        return family, tuple(sorted(_elements(list(each(cell)), size, room), key=order))

    return read


#: Bytes of an array whose elements are as wide as the widest: their padding is read, too.
_MOST_PADDED = 2**26


def _array(cell: Any, room: _Room) -> Cell:
    if np.ma.MaskedArray in _MRO(type(cell)):
        return MISSING if cell is np.ma.masked else OPAQUE
    plain = np.asarray(cell)
    kind = plain.dtype.kind
    if _elements_of(plain) > room.elements or (kind in "USV" and plain.nbytes > _MOST_PADDED):
        raise _NoRoom
    if plain.ndim == 0:  # one may hold itself
        room.depth -= 1
        if room.depth < 0:
            raise _NoRoom
    if plain.ndim == 0 or kind in "biufcO":
        return _canonical(np.ndarray.tolist(plain), room)
    # one by one: each may be long, or share its text with the others, and times would be integers
    return "list", _elements(map(_unpacked, plain), len(plain), room)


def _elements_of(plain: Any) -> int:
    """The elements of an array as nested lists; one of no size may have many that are empty."""
    total, size = 0, 1
    for length in plain.shape:
        size *= length
        total += size
    return total


def _unpacked(element: Any) -> Any:
    return np.void.item(element) if type(element) is np.void else element


def _interval(cell: Any, room: _Room) -> Cell:
    ends = _elements((_LEFT(cell), _RIGHT(cell)), 2, room)
    return "interval", (str(_CLOSED(cell)), *ends)


def _beyond(cell: Beyond, room: _Room) -> Cell:
    raise _NoRoom


_UUID_INT = own(UUID, "int")
_FREQUENCY, _ORDINAL = own(pd.Period, "freqstr"), own(pd.Period, "ordinal")
_LEFT, _RIGHT, _CLOSED = (own(pd.Interval, name) for name in ("left", "right", "closed"))

_READ: dict[type, Callable[[Any, _Room], Cell]] = {
    **dict.fromkeys((type(None), type(pd.NA), type(pd.NaT)), lambda cell, room: MISSING),
    bool: lambda cell, room: ("truth", cell),
    np.bool_: lambda cell, room: ("truth", bool(np.generic.item(cell))),
    int: _whole,
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
    bytearray: _bytearray,
    **instants.READERS,
    UUID: lambda cell, room: ("uuid", int.__int__(_UUID_INT(cell))),
    pd.Period: lambda cell, room: ("period", (str(_FREQUENCY(cell)), int(_ORDINAL(cell)))),
    pd.Interval: _interval,
    **{kind: _listed(kind) for kind in (list, tuple)},
    np.ndarray: _array,
    **{kind: _unordered("set", kind, kind.__iter__) for kind in (set, frozenset)},
    dict: _unordered("mapping", dict, dict.items),
    Parts: lambda cell, room: ("list", _elements(cell.made, cell.size, room)),
    Beyond: _beyond,
}
#: By the id of a class, which lives as long as the table above.
_BY_ID = {id(kind): read for kind, read in _READ.items()}
