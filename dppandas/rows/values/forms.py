"""The closed forms in which a column of cells is kept. Storage never changes a cell's meaning.

==============  =================================================  ===========================
`Numbers`       int64 or float64                                   family number
`Truths`        True and False                                     family truth
`Instants`      microseconds, nanoseconds beyond, one zone or none  family time, or zoned
`Durations`     microseconds, nanoseconds beyond                   family duration
`Coded`         codes and levels, each level a cell                any: a tagged union
==============  =================================================  ===========================

Each has a mask of missing elements, or -1 for a code. A function of cells is computed once for each
level of a coded column (`Vector.by_level`), and for the others by numpy, where that is exact.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .cells import canonical
from .families import MISSING, MOST_CHARACTERS, MOST_MICROS, Cell
from .instants import duration, instant

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.intp]
Rows = slice | Array

#: So many bytes of what was said of levels are remembered.
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
        raise NotImplementedError

    def coded(self) -> Coded:
        """The same as codes and levels."""
        raise NotImplementedError

    def without(self, mask: Mask) -> Vector:
        """The same, but that some elements more are missing."""
        return replace(self, missing=self.null() | mask)  # type: ignore[type-var]


def _rows(mask: Mask | None, rows: Rows) -> Mask | None:
    return None if mask is None else mask[rows]


def _none(mask: Mask | None, size: int) -> Mask:
    return np.zeros(size, dtype=bool) if mask is None else mask


@dataclass(frozen=True)
class Numbers(Vector):
    """Whole numbers as int64, or reals as float64, in which NaN is missing."""

    values: Array
    missing: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Numbers:
        return Numbers(self.values[rows], _rows(self.missing, rows))

    @property
    def is_whole(self) -> bool:
        return self.values.dtype.kind == "i"

    def null(self) -> Mask:
        if self.is_whole:
            return _none(self.missing, len(self))
        nan = np.isnan(self.values)
        return nan if self.missing is None else nan | self.missing

    def floats(self) -> npt.NDArray[np.float64]:
        """As float64, NaN where missing."""
        found = self.values.astype(np.float64, copy=False)
        return found if self.missing is None else np.where(self.missing, np.nan, found)

    def coded(self) -> Coded:
        found, codes = np.unique(self.values, return_inverse=True)
        levels = Levels(list(map(canonical, found.tolist())))
        return Coded(_with_missing(codes.reshape(-1), self.null()), levels)


@dataclass(frozen=True)
class Truths(Vector):
    """True and False."""

    values: Mask
    missing: Mask | None = None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Truths:
        return Truths(self.values[rows], _rows(self.missing, rows))

    def null(self) -> Mask:
        return _none(self.missing, len(self))

    def floats(self) -> npt.NDArray[np.float64]:
        """1 and 0, NaN where missing."""
        found = self.values.astype(np.float64)
        return found if self.missing is None else np.where(self.missing, np.nan, found)

    def coded(self) -> Coded:
        return Coded(_with_missing(self.values.astype(np.intp), self.null()), _TRUTHS)


@dataclass(frozen=True)
class _Micros(Vector):
    """What is counted in microseconds and nanoseconds beyond (None: none has any)."""

    micros: Integers
    nanos: Integers | None = None
    missing: Mask | None = None

    def __len__(self) -> int:
        return len(self.micros)

    def null(self) -> Mask:
        return _none(self.missing, len(self))

    @property
    def beyond(self) -> Integers:
        """Nanoseconds beyond the microseconds: 0 to 999."""
        return np.zeros(len(self), dtype=np.int64) if self.nanos is None else self.nanos

    def _taken(self, rows: Rows) -> tuple[Any, ...]:
        nanos = None if self.nanos is None else self.nanos[rows]
        return self.micros[rows], nanos, _rows(self.missing, rows)

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
    """Times of one zone (in UTC here), or of none: then by the clock."""

    zone: str | None = None

    def take(self, rows: Rows) -> Instants:
        micros, nanos, missing = self._taken(rows)
        return Instants(micros, nanos, missing, self.zone)

    def coded(self) -> Coded:
        return self._cells(lambda nanos: instant(nanos, self.zone))


@dataclass(frozen=True)
class Durations(_Micros):
    """Spans of time."""

    def take(self, rows: Rows) -> Durations:
        return Durations(*self._taken(rows))

    def coded(self) -> Coded:
        return self._cells(duration)


class Levels:
    """The cells that codes point to, not all of them different, and what was said of them."""

    def __init__(self, cells: Sequence[Cell] | None = None, texts: Array | None = None) -> None:
        self._cells = cells
        self.texts = texts  # where all of them are texts
        self._said: dict[Any, Array] = {}
        self._made: dict[Any, tuple[Array, Levels]] = {}
        self._names: Any = None
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
        """A function of levels, computed once a key; one more entry for what is missing."""
        found = self._said.get(key)
        if found is None:
            on_levels = function(self)
            found = np.append(on_levels, np.array([absent], dtype=on_levels.dtype))
            self._remembering(found)
            self._said[key] = found
        return found

    def _remembering(self, array: Array) -> None:
        """Forget all where it grows too much. Other threads may write at the same time, so nothing
        here goes through what is remembered."""
        self._bytes += array.nbytes
        if self._bytes > _MOST_REMEMBERED:
            self._said, self._made, self._bytes = {}, {}, 0

    def made(
        self, key: Any, function: Callable[[Levels], tuple[Array, Levels]]
    ) -> tuple[Array, Levels]:
        """Other levels made of these, and the code of each; once a key."""
        found = self._made.get(key)
        if found is None:
            found = function(self)
            self._remembering(found[0])
            self._made[key] = found
        return found

    def named(self, function: Callable[[Levels], Any]) -> Any:
        """What names these levels; once."""
        if self._names is None:
            self._names = function(self)
        return self._names


_TRUTHS = Levels([("truth", False), ("truth", True)])


@dataclass(frozen=True)
class Coded(Vector):
    """Elements by their place among levels; -1 is missing."""

    codes: Codes
    levels: Levels = field(compare=False)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> Coded:
        return Coded(self.codes[rows], self.levels)

    def null(self) -> Mask:
        return self.codes < 0

    def coded(self) -> Coded:
        return self

    def without(self, mask: Mask) -> Coded:
        return Coded(np.where(mask, -1, self.codes), self.levels)

    def by_level(self, key: Any, function: Callable[[Levels], Array], absent: Any) -> Array:
        """A function of cells, by element; ``key`` names it, ``absent`` is for missing ones."""
        return self.levels.said(key, function, absent).take(self.codes)  # -1 takes the last


def _with_missing(codes: Codes, null: Mask) -> Codes:
    return np.where(null, -1, codes) if null.any() else codes


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
    """A vector of cells, equal ones of one code."""
    places: dict[Cell, int] = {MISSING: -1}
    codes = np.fromiter((places.setdefault(c, len(places) - 1) for c in cells), dtype=np.intp)
    del places[MISSING]
    if missing is not None:
        codes[missing] = -1
    return Coded(codes, Levels(list(places)))


def of_objects(values: Sequence[Any]) -> Coded:
    """A vector of any objects, one by one."""
    return of_cells(map(canonical, values))


def of_levels(values: Sequence[Any], codes: Codes) -> Coded:
    """Elements by their place among a few public values, whatever these are; -1 is missing."""
    cells = [canonical(value) for value in values]
    gone = np.array([cell == MISSING for cell in cells] + [True])
    return Coded(np.where(gone[codes], -1, codes), Levels(cells))


def of_texts(texts: Array, codes: Codes) -> Coded:
    """Texts by their place among levels that are exactly str; too long ones are missing."""
    if any(len(text) > MOST_CHARACTERS for text in texts):
        return of_levels(texts.tolist(), codes)
    return Coded(codes, Levels(texts=texts))


def joined(parts: Sequence[Vector]) -> Vector:
    """Vectors one below the other."""
    if len(parts) == 1:
        return parts[0]
    coded = [part.coded() for part in parts]
    shifts = np.cumsum([0, *(len(part.levels) for part in coded)])
    codes = [np.where(p.codes < 0, -1, p.codes + s) for p, s in zip(coded, shifts, strict=False)]
    cells = [cell for part in coded for cell in part.levels.cells]
    return Coded(np.concatenate(codes), Levels(cells))


def constant(value: Any, size: int) -> Vector:
    """One public value in each row."""
    return of_levels([value], np.zeros(size, dtype=np.intp))


def micros(counts: Integers, unit: str, gone: Mask) -> tuple[Integers, Integers | None, Mask]:
    """Counts of a unit (s, ms, us, ns) as microseconds and nanoseconds beyond; what doesn't fit is
    missing."""
    if unit == "ns":
        whole, rest = np.divmod(np.where(gone, 0, counts), 1000)
        return whole, rest if rest.any() else None, gone
    step = {"s": 10**6, "ms": 1000, "us": 1}[unit]
    gone = gone | (counts > MOST_MICROS // step) | (counts < -(MOST_MICROS // step))
    return np.where(gone, 0, counts) * step, None, gone


#: Years in which zones say what their clocks show; beyond these, they show what they did there.
_KNOWN_FROM, _KNOWN_TO = (
    (datetime.datetime(*day) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    for day in ((1, 1, 3), (9999, 12, 29))
)


def wall(v: Instants) -> tuple[Integers, Mask]:
    """Microseconds by the clock on the wall of the zone, and which elements have none."""
    return (v.micros, v.null()) if v.zone is None else clock(v.micros, v.null(), tzinfo(v.zone))


@lru_cache(maxsize=2**16)
def wall_nanos(cell: Cell) -> int | None:
    """What the clock on the wall shows at a zoned instant, as nanoseconds since 1970: as `wall`
    says of a whole column of them."""
    nanos, zone = cell[1]
    micros, rest = divmod(nanos, 1000)
    local, null = clock(np.array([micros]), np.zeros(1, dtype=bool), tzinfo(zone))
    return None if null[0] else int(local[0]) * 1000 + rest


def clock(micros: Integers, null: Mask, zone: Any) -> tuple[Integers, Mask]:
    """The same of microseconds in UTC, in a zone as pandas takes it."""
    null = null | (np.abs(micros.astype(np.float64)) > MOST_MICROS - 2.0**50)
    known = np.clip(np.where(null, 0, micros), _KNOWN_FROM, _KNOWN_TO)
    times = pd.DatetimeIndex(known.view("M8[us]")).tz_localize("UTC").tz_convert(zone)
    local = np.asarray(times.tz_localize(None), dtype="M8[us]").view(np.int64)
    return np.where(null, 0, micros) + (local - known), null


def tzinfo(zone: str) -> Any:
    """A zone by the name that `cells.zone_name` gave it."""
    if zone[0] not in "+-":
        return zone
    sign = -1 if zone[0] == "-" else 1
    hours, minutes, *seconds = zone[1:].split(":")
    rest = float(seconds[0]) if seconds else 0.0
    offset = datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=rest)
    return datetime.timezone(sign * offset)
