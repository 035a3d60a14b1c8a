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

import datetime
import decimal
import zoneinfo
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

#: A family and an exact value.
Cell = tuple[str, Any]

MISSING: Cell = ("missing", None)
OPAQUE: Cell = ("opaque", None)

MOST_BITS = 4096
MOST_CHARACTERS = 2**20
MOST_DEPTH = 16
MOST_ELEMENTS = 2**16
#: Of microseconds: instants are kept as these.
MOST_MICROS = 2**63 - 1

FAMILIES = (
    "missing", "truth", "number", "text", "time", "zoned", "duration", "list", "set", "mapping",
    "bytes", "clock", "uuid", "period", "interval", "complex", "opaque",
)  # fmt: skip


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


def own(kind: type, name: str) -> Callable[[Any], Any]:
    """What reads an attribute by the type's own descriptor, whatever a subclass says."""
    holder = next(base for base in kind.__mro__ if name in base.__dict__)
    read: Callable[[Any], Any] = holder.__dict__[name].__get__
    return read


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


# --- times ----------------------------------------------------------------------------------------

_FIRST = datetime.date(1970, 1, 1).toordinal()
#: Of every unit that datetime64 counts in, as a fraction of nanoseconds.
UNITS: dict[str, Fraction] = {
    "W": Fraction(7 * 86_400 * 10**9), "D": Fraction(86_400 * 10**9),
    "h": Fraction(3_600 * 10**9), "m": Fraction(60 * 10**9), "s": Fraction(10**9),
    "ms": Fraction(10**6), "us": Fraction(1000), "ns": Fraction(1), "ps": Fraction(1, 1000),
    "fs": Fraction(1, 10**6), "as": Fraction(1, 10**9),
}  # fmt: skip


def instant(nanos: int | Fraction, zone: str | None) -> Cell:
    """The meaning of an instant, by its nanoseconds since 1970: of its own clock without a zone."""
    if nanos.denominator != 1 or not -MOST_MICROS <= nanos // 1000 <= MOST_MICROS:
        return MISSING
    return ("time", int(nanos)) if zone is None else ("zoned", (int(nanos), zone))


def duration(nanos: int | Fraction) -> Cell:
    """The meaning of a span of time."""
    if nanos.denominator != 1 or not -MOST_MICROS <= nanos // 1000 <= MOST_MICROS:
        return MISSING
    return "duration", int(nanos)


def _of(kind: type, *names: str) -> Callable[[Any], tuple[int, ...]]:
    """What reads some attributes by a type's own descriptors."""
    read = [own(kind, name) for name in names]
    return lambda cell: tuple(get(cell) for get in read)


_DAY = _of(datetime.date, "year", "month", "day")
_CLOCK = _of(datetime.datetime, "hour", "minute", "second", "microsecond")
_OF_DAY = _of(datetime.time, "hour", "minute", "second", "microsecond")
_ZONE, _ZONE_OF_DAY = own(datetime.datetime, "tzinfo"), own(datetime.time, "tzinfo")
_SPAN = _of(datetime.timedelta, "days", "seconds", "microseconds")


def _date(cell: datetime.date, room: _Room) -> Cell:
    return instant(_days(*_DAY(cell)) * 86_400 * 10**9, None)


def _days(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - _FIRST


def micros_of(hour: int, minute: int, second: int, micro: int) -> int:
    """Microseconds since midnight."""
    return ((hour * 60 + minute) * 60 + second) * 10**6 + micro


def _datetime(cell: datetime.datetime, room: _Room) -> Cell:
    wall = _days(*_DAY(cell)) * 86_400 * 10**6 + micros_of(*_CLOCK(cell))
    zone = _ZONE(cell)
    if zone is None:
        return instant(wall * 1000, None)
    offset = offset_micros(datetime.datetime.utcoffset(cell))
    if offset is None:
        return instant(wall * 1000, None)
    return instant((wall - offset) * 1000, zone_name(zone, offset))


def offset_micros(offset: datetime.timedelta | None) -> int | None:
    """An offset from UTC in microseconds."""
    if offset is None:
        return None
    days, seconds, micros = _SPAN(offset)
    return (days * 86_400 + seconds) * 10**6 + micros


def zone_name(zone: datetime.tzinfo | None, offset: int = 0) -> str:
    """A zone by its name, where it has one that anybody knows; else the offset that it has now."""
    name = None
    if type(zone) is zoneinfo.ZoneInfo:
        name = zone.key
    elif type(zone).__module__.partition(".")[0] == "pytz":
        name = getattr(zone, "zone", None)
    if isinstance(name, str) and name not in _UTC and is_known(str.__str__(name)):
        return str.__str__(name)
    if offset == 0:
        return "UTC"
    minutes, rest = divmod(abs(offset), 60 * 10**6)
    seconds = f":{rest / 10**6:g}" if rest else ""
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}{seconds}"


@lru_cache(maxsize=1024)
def is_known(name: str) -> bool:
    """Whether a name is that of a zone: one from a file may have any."""
    try:
        zoneinfo.ZoneInfo(name)
    except Exception:
        return False
    return True


def zone_of(zone: datetime.tzinfo) -> str | None:
    """The name of a zone for all times; None for one that has neither a name nor one offset."""
    name = zone_name(zone, 1)
    if name[0] not in "+-":
        return name
    try:
        offset = offset_micros(zone.utcoffset(None))
    except Exception:
        return None
    return None if offset is None else zone_name(zone, offset)


_UTC = ("UTC", "Etc/UTC", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT", "Universal", "Etc/Universal")


def _timestamp(cell: pd.Timestamp, room: _Room) -> Cell:
    nanos = _counted(_ASM8_OF_TIME(cell))
    zone = _ZONE(cell)
    if nanos is None or zone is None:
        return MISSING if nanos is None else instant(nanos, None)
    offset = offset_micros(_OFFSET_OF_TIME(cell)) or 0
    return instant(nanos, zone_name(zone, offset))


_OFFSET_OF_TIME = pd.Timestamp.utcoffset
_ASM8_OF_TIME = own(pd.Timestamp, "asm8")
_COUNT, _UNIT = own(pd.Timedelta, "_value"), own(pd.Timedelta, "unit")


def _counted(stamp: Any) -> int | Fraction | None:
    """The nanoseconds of a datetime64 or timedelta64 whose unit is a fixed time."""
    if np.isnat(stamp):
        return None
    unit, step = np.datetime_data(stamp.dtype)
    if unit not in UNITS:
        return None
    return int(stamp.view("i8")) * step * UNITS[unit]


def _datetime64(cell: np.datetime64, room: _Room) -> Cell:
    stamp: Any = np.asarray(cell)[()]
    if np.datetime_data(stamp.dtype)[0] in ("Y", "M") and not np.isnat(stamp):
        months = int(stamp.astype("M8[M]").view("i8"))
        if not -(2**23) < months < 2**23:
            return MISSING
        stamp = stamp.astype("M8[D]")
    nanos = _counted(stamp)
    return MISSING if nanos is None else instant(nanos, None)


def _timedelta64(cell: np.timedelta64, room: _Room) -> Cell:
    nanos = _counted(np.asarray(cell)[()])
    return MISSING if nanos is None else duration(nanos)


def _pandas_timedelta(cell: pd.Timedelta, room: _Room) -> Cell:
    return duration(int(_COUNT(cell)) * UNITS[str(_UNIT(cell))])


def _timedelta(cell: datetime.timedelta, room: _Room) -> Cell:
    days, seconds, micros = _SPAN(cell)
    return duration(((days * 86_400 + seconds) * 10**6 + micros) * 1000)


def _clock(cell: datetime.time, room: _Room) -> Cell:
    offset = None
    if _ZONE_OF_DAY(cell) is not None:
        offset = offset_micros(datetime.time.utcoffset(cell))
    return "clock", (micros_of(*_OF_DAY(cell)), offset)


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


def order(cell: Cell) -> tuple[Any, ...]:
    """A total order of cells: by family, then by size, text, or the order of their elements."""
    family, exact = cell
    at = FAMILIES.index(family)
    if family in ("list", "set", "mapping"):
        return at, tuple(order(each) for each in exact)
    if family == "interval":
        return at, exact[0], order(exact[1]), order(exact[2])
    if family == "clock":
        return at, exact[0], exact[1] is not None, exact[1] or 0
    return (at,) if exact is None else (at, exact)


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
    pd.Timestamp: _timestamp,
    datetime.datetime: _datetime,
    datetime.date: _date,
    np.datetime64: _datetime64,
    pd.Timedelta: _pandas_timedelta,
    datetime.timedelta: _timedelta,
    np.timedelta64: _timedelta64,
    datetime.time: _clock,
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
