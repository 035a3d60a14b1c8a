"""The closed forms that hold a column of cells. The form never changes what a cell means.

==============  =================================================  ===========================
`Numbers`       int64 or float64                                   family number
`Truths`        True and False                                     family truth
`Instants`      microseconds, nanoseconds beyond, one zone or none  family time, or zoned
`Durations`     microseconds, nanoseconds beyond                   family duration
`Coded`         codes and levels, each level a cell                any family
==============  =================================================  ===========================

Each has a mask of missing elements, or the code -1 for them. A function of cells is computed once
per level of a coded column (`Coded.by_level`), and by numpy in the other forms, where it is exact.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, field, replace
from .cells import canonical
from .families import MISSING, MOST_CHARACTERS, MOST_MICROS, Cell
from .instants import duration, instant

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.intp]
Rows = slice | Array

#: Bytes of results that levels remember.
_MOST_REMEMBERED = 2**28


class Vector:
    """Elements of one column, in one of the closed forms."""

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, rows: Rows) -> Vector:
        """Some of the elements."""
        raise NotImplementedError

    def null(self) -> Mask:
        """Which elements are missing."""
        missing: Mask | None = self.missing  # type: ignore[attr-defined]
        return np.zeros(len(self), dtype=bool) if missing is None else missing

    def coded(self) -> Coded:
        """These elements as codes and levels."""
        raise NotImplementedError

    def without(self, mask: Mask) -> Vector:
        """These elements, with those of the mask missing."""
        return replace(self, missing=self.null() | mask)  # type: ignore[type-var]


def _rows(array: Array | None, rows: Rows) -> Array | None:
    return None if array is None else array[rows]


@dataclass(frozen=True)
class _Values(Vector):
    """Elements as numpy holds them."""

    values: Array
    missing: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Vector:
        missing = None if self.missing is None else self.missing[rows]
        return type(self)(self.values[rows], missing)

    def floats(self) -> npt.NDArray[np.float64]:
        """As float64 (True is 1), NaN where missing."""
        found = self.values.astype(np.float64, copy=False)
        return found if self.missing is None else np.where(self.missing, np.nan, found)


@dataclass(frozen=True)
class Numbers(_Values):
    """Whole numbers as int64, or reals as float64, of which NaN is missing."""

    @property
    def is_whole(self) -> bool:
        return self.values.dtype.kind == "i"

    def null(self) -> Mask:
        return super().null() if self.is_whole else np.isnan(self.floats())

    def coded(self) -> Coded:
        codes, found = numbered(self.values)
        listed = found.tolist()
        cells = [("number", x) for x in listed] if self.is_whole else list(map(canonical, listed))
        return Coded(_with_missing(codes, self.null()), Levels(cells))


@dataclass(frozen=True)
class Truths(_Values):
    """True and False."""

    def coded(self) -> Coded:
        return Coded(_with_missing(self.values.astype(np.intp), self.null()), _TRUTHS)


@dataclass(frozen=True)
class _Micros(Vector):
    """Counts of microseconds, and of nanoseconds beyond them (None if there are none)."""

    micros: Integers
    nanos: Integers | None = None
    missing: Mask | None = None

    def __len__(self) -> int:
        return len(self.micros)

    def take(self, rows: Rows) -> Vector:
        nanos, missing = _rows(self.nanos, rows), _rows(self.missing, rows)
        return replace(self, micros=self.micros[rows], nanos=nanos, missing=missing)

    @property
    def beyond(self) -> Integers:
        """Nanoseconds beyond the microseconds, from 0 to 999."""
        return np.zeros(len(self), dtype=np.int64) if self.nanos is None else self.nanos

    def _cells(self, cell: Callable[[int], Cell]) -> Coded:
        if self.nanos is None:
            found, codes = np.unique(self.micros, return_inverse=True)
            exact = [1000 * micros for micros in found.tolist()]
        else:
            pairs = np.stack([self.micros, self.nanos], axis=1)
            found, codes = np.unique(pairs, axis=0, return_inverse=True)
            exact = [1000 * micros + nanos for micros, nanos in found.tolist()]
        return Coded(_with_missing(codes.reshape(-1), self.null()), Levels(list(map(cell, exact))))


@dataclass(frozen=True)
class Instants(_Micros):
    """Times in one zone, counted in UTC; or without a zone, counted by their own clock."""

    zone: str | None = None

    @property
    def family(self) -> str:
        return "time" if self.zone is None else "zoned"

    def coded(self) -> Coded:
        return self._cells(lambda nanos: instant(nanos, self.zone))


@dataclass(frozen=True)
class Durations(_Micros):
    """Lengths of time."""

    family: ClassVar[str] = "duration"

    def coded(self) -> Coded:
        return self._cells(duration)


class Levels:
    """The cells that codes point to (some may be equal), and results of functions of them."""

    def __init__(self, cells: Sequence[Cell] | None = None, texts: Array | None = None) -> None:
        self._cells = cells
        self.texts = texts  # if all of them are texts
        self._made: dict[Any, tuple[Array, Any]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._cells if self.texts is None else self.texts)  # type: ignore[arg-type]

    @property
    def cells(self) -> Sequence[Cell]:
        """Each level's family and value."""
        if self._cells is None:
            self._cells = [("text", text) for text in self.texts]  # type: ignore[union-attr]
        return self._cells

    def said(self, key: Any, function: Callable[[Levels], Array], absent: Any) -> Array:
        """A function of each level, computed once per key; the last entry is for missing cells."""

        def with_absent(levels: Levels) -> tuple[Array, None]:
            found = function(levels)
            return np.append(found, np.array([absent], dtype=found.dtype)), None

        return self.made(key, with_absent)[0]

    def made(self, key: Any, function: Callable[[Levels], tuple[Array, Any]]) -> tuple[Array, Any]:
        """New codes of these levels and what they point to, computed once per key."""
        found = self._made.get(key)
        if found is None:
            found = function(self)
            self._bytes += found[0].nbytes
            if self._bytes > _MOST_REMEMBERED:  # other threads may write now, so never iterate
                self._made, self._bytes = {}, 0
            found = self._made.setdefault(key, found)  # another thread may have been faster
        return found


_TRUTHS = Levels([("truth", False), ("truth", True)])


@dataclass(frozen=True)
class Coded(Vector):
    """Elements by their position among levels; -1 is missing."""

    #: As the column holds them: whole numbers of any size.
    held: Array
    levels: Levels = field(compare=False)

    @property
    def codes(self) -> Codes:
        """The positions as numbers that can be computed with: int8 would wrap around."""
        return self.held.astype(np.intp, copy=False)

    def __len__(self) -> int:
        return len(self.held)

    def take(self, rows: Rows) -> Coded:
        return Coded(self.held[rows], self.levels)

    def null(self) -> Mask:
        return self.held < 0

    def coded(self) -> Coded:
        return self

    def without(self, mask: Mask) -> Coded:
        return Coded(np.where(mask, -1, self.codes), self.levels)

    def by_level(self, key: Any, function: Callable[[Levels], Array], absent: Any) -> Array:
        """A function of cells, by element; ``key`` names it, missing ones get ``absent``."""
        return self.levels.said(key, function, absent).take(self.held)  # -1 takes the last

    def tally(self) -> Integers | None:
        """How many elements each level has, if codes are of 8 bits: counted by twos, as one number
        of 16 bits, in half of the time. None for others."""
        if self.held.dtype != np.int8:
            return None
        size = len(self.levels) + 1
        found = np.zeros(len(self) + len(self) % 2, dtype=np.uint8)  # 0 is missing
        np.add(self.held.view(np.uint8), 1, out=found[: len(self)])
        pairs = np.bincount(found.view(np.uint16), minlength=256 * size).reshape(size, 256)
        each: Integers = pairs.sum(axis=0)[:size] + pairs.sum(axis=1)
        return each[1:]


def _with_missing(codes: Codes, null: Mask) -> Codes:
    return np.where(null, -1, codes) if null.any() else codes


def numbered(values: Array) -> tuple[Codes, Array]:
    """A number from 0 for each value of an int64 or float64 array, -1 for NaN, and the values by
    number. Of these two types pandas' equality is ours."""
    if values.dtype.kind == "i" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < max(2**10, len(values)):  # a table is faster than hashing
            return _by_table(values - low, high - low + 1, low)
    return pd.factorize(values)


def _by_table(offsets: Codes, span: int, low: int) -> tuple[Codes, Array]:
    occurs = np.zeros(span, dtype=np.bool_)
    occurs[offsets] = True
    known = np.flatnonzero(occurs)
    table = np.empty(span, dtype=np.intp)
    table[known] = np.arange(len(known))
    return table[offsets], known + low


# --- making them ----------------------------------------------------------------------------------


def of_array(values: Array, missing: Mask | None = None) -> Vector:
    """A vector of a plain numpy array of truth values, whole numbers, or reals."""
    kind = values.dtype.kind
    if kind == "b":
        return Truths(values, missing)
    if kind == "u" and values.dtype.itemsize == 8 and len(values) and values.max() > 2**63 - 1:
        return of_cells(map(canonical, values.tolist()), missing)
    if kind in "iu":
        return Numbers(values.astype(np.int64, copy=False), missing)
    return Numbers(values.astype(np.float64, copy=False), missing)


def of_cells(cells: Any, missing: Mask | None = None) -> Coded:
    """A vector of cells; identical ones share a code."""
    places: dict[Cell, int] = {MISSING: -1}
    codes = np.fromiter((places.setdefault(c, len(places) - 1) for c in cells), dtype=np.intp)
    del places[MISSING]
    if missing is not None:
        codes[missing] = -1
    return Coded(codes, Levels(list(places)))


def of_objects(values: Sequence[Any]) -> Coded:
    """A vector of any objects, read one by one."""
    return of_cells(map(canonical, values))


def of_levels(values: Sequence[Any], codes: Codes) -> Coded:
    """Elements by their position among any public values; -1 is missing."""
    cells = [canonical(value) for value in values]
    gone = np.array([cell == MISSING for cell in cells] + [True])
    return Coded(np.where(gone[codes], -1, codes), Levels(cells))


def of_texts(texts: Array, codes: Codes) -> Coded:
    """Elements by their position among texts of exact type str; too long ones are missing."""
    if max(map(len, texts), default=0) > MOST_CHARACTERS:
        return of_levels(texts.tolist(), codes)
    return Coded(codes, Levels(texts=texts))


def joined(parts: Sequence[Vector]) -> Vector:
    """The elements of several vectors, in order."""
    if len(parts) == 1:
        return parts[0]
    numbers = [part for part in parts if isinstance(part, Numbers)]
    if len(numbers) == len(parts) and len({part.is_whole for part in numbers}) == 1:
        missing = np.concatenate([part.null() for part in numbers])
        values = np.concatenate([part.values for part in numbers])
        return Numbers(values, missing if missing.any() else None)
    coded = [part.coded() for part in parts]
    shifts = np.cumsum([0, *(len(part.levels) for part in coded)])
    codes = [np.where(p.codes < 0, -1, p.codes + s) for p, s in zip(coded, shifts, strict=False)]
    cells = [cell for part in coded for cell in part.levels.cells]
    return Coded(np.concatenate(codes), Levels(cells))


def constant(value: Any, size: int) -> Vector:
    """One public value in every row: a number or a truth value is held once for all of them."""
    family, exact = canonical(value)
    if family == "truth":
        return Truths(np.broadcast_to(np.bool_(exact), size))
    if family == "number" and type(exact) is float:
        return Numbers(np.broadcast_to(np.float64(exact), size))
    if family == "number" and type(exact) is int and -(2**63) <= exact < 2**63:
        return Numbers(np.broadcast_to(np.int64(exact), size))
    return of_levels([value], np.zeros(size, dtype=np.intp))


def micros(counts: Integers, unit: str, gone: Mask) -> tuple[Integers, Integers | None, Mask]:
    """Counts of a unit (D, s, ms, us, ns) as microseconds and the nanoseconds beyond; what doesn't
    fit is missing."""
    if unit == "ns":
        whole, rest = np.divmod(np.where(gone, 0, counts), 1000)
        return whole, rest if rest.any() else None, gone
    step = {"D": 86_400 * 10**6, "s": 10**6, "ms": 1000, "us": 1}[unit]
    gone = gone | (counts > MOST_MICROS // step) | (counts < -(MOST_MICROS // step))
    return np.where(gone, 0, counts) * step, None, gone


#: The years that Python's zones know; beyond these, a zone keeps its first or last offset.
_KNOWN_FROM, _KNOWN_TO = (
    (datetime.datetime(*day) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    for day in ((1, 1, 3), (9999, 12, 29))
)


def wall(v: Instants) -> tuple[Integers, Mask]:
    """Microseconds by the zone's local clock, and which elements have none."""
    return (v.micros, v.null()) if v.zone is None else clock(v.micros, v.null(), tzinfo(v.zone))


def wall_nanos(cell: Cell) -> int | None:
    """What the local clock shows at a zoned instant, in nanoseconds since 1970: as `wall`, for
    one cell."""
    nanos, zone = cell[1]
    micros, rest = divmod(nanos, 1000)
    local, null = clock(np.array([micros]), np.zeros(1, dtype=bool), tzinfo(zone))
    return None if null[0] else int(local[0]) * 1000 + rest


def clock(micros: Integers, null: Mask, zone: Any) -> tuple[Integers, Mask]:
    """The local clock in microseconds, from microseconds in UTC and a zone as pandas takes it."""
    null = null | (np.abs(micros.astype(np.float64)) > MOST_MICROS - 2.0**50)
    known = np.clip(np.where(null, 0, micros), _KNOWN_FROM, _KNOWN_TO)
    times = pd.DatetimeIndex(known.view("M8[us]")).tz_localize("UTC").tz_convert(zone)
    local = np.asarray(times.tz_localize(None), dtype="M8[us]").view(np.int64)
    return np.where(null, 0, micros) + (local - known), null


def tzinfo(zone: str) -> Any:
    """A zone as pandas takes it, from its name by `instants.zone_name`."""
    if zone[0] not in "+-":
        return zone
    sign = -1 if zone[0] == "-" else 1
    hours, minutes, *seconds = zone[1:].split(":")
    rest = float(seconds[0]) if seconds else 0.0
    offset = datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=rest)
    return datetime.timezone(sign * offset)
