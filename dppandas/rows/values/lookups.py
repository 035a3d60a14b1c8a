"""The position of each element among public labels, found by what it equals."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import repeat
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import forms
from .cells import nearest
from .equality import key, readings
from .forms import Coded, Codes, Durations, Instants, Integers, Levels, Numbers, Truths, Vector

Array = npt.NDArray[Any]


class Labels:
    """Public labels, prepared to find the position of each element among them.

    Missing elements and those outside get the position len(labels); an element that equals several
    labels gets the first. A text that reads as a time also equals that time: `readings`.
    """

    def __init__(self, labels: tuple[Any, ...]) -> None:
        self._n = len(labels)
        self._at: dict[Any, int] = {}
        for i, label in enumerate(labels):
            for each in readings(label):
                self._at.setdefault(each, i)
        self._texts = {exact: i for (family, exact), i in self._at.items() if family == "text"}
        numbers = [(exact, i) for (family, exact), i in self._at.items() if family == "number"]
        whole = sorted((x, i) for x, i in numbers if type(x) is int and -(2**63) <= x < 2**63)
        self._integers = np.array([x for x, _ in whole], dtype=np.int64)
        self._integer_at = np.array([i for _, i in whole], dtype=np.intp)
        exact = sorted((near, i) for x, i in numbers if (near := nearest(x)) == x)
        self._floats = np.array([x for x, _ in exact], dtype=np.float64)
        self._float_at = np.array([i for _, i in exact], dtype=np.intp)
        self._all_whole = len(whole) == len(exact) == len(numbers)
        self._table = self._lookup_table()

    def _lookup_table(self) -> npt.NDArray[np.intp] | None:
        """The position of label lowest + i at i; the last entry is "outside"."""
        if not len(self._integers):
            return None
        span = int(self._integers[-1]) - int(self._integers[0]) + 1
        if span > max(2**16, 16 * self._n):
            return None
        table = np.full(span + 1, self._n, dtype=np.intp)
        table[self._integers - self._integers[0]] = self._integer_at
        return table

    def codes(self, v: Vector) -> Codes:
        """The position of each element; missing elements are outside."""
        if isinstance(v, Coded):
            return v.by_level(("codes", self), self._of_levels, self._n)
        if isinstance(v, Truths):
            both = np.array([self._found(("number", 0)), self._found(("number", 1))])
            codes = both[v.values.astype(np.intp)]
        elif isinstance(v, Numbers):
            codes = self._of_integers(v.values) if v.is_whole else self._of_floats(v.values)
        else:
            codes = self._of_times(v)  # type: ignore[arg-type]
        missing = getattr(v, "missing", None)
        return codes if missing is None else np.where(missing, self._n, codes)

    def tally(self, v: Coded) -> Integers | None:
        """How many elements have each position, where levels tell it faster than codes."""
        each = v.tally()
        if each is None:
            return None
        found = np.zeros(self._n + 1, dtype=np.int64)
        np.add.at(found, v.levels.said(("codes", self), self._of_levels, self._n)[:-1], each)
        return found[:-1]

    def _found(self, wanted: Any) -> int:
        return self._at.get(wanted, self._n)

    def _of_levels(self, levels: Levels) -> Codes:
        if levels.texts is None:
            found = map(self._of_cell, levels.cells)
        else:
            found = map(self._texts.get, levels.texts, repeat(self._n))
        return np.fromiter(found, dtype=np.intp, count=len(levels))

    def _of_cell(self, cell: Any) -> int:
        at = self._found(key(cell))
        if cell[0] != "zoned":
            return at
        local = forms.wall_nanos(cell)
        return at if local is None else min(at, self._found(("wall", local)))

    def _of_integers(self, whole: Integers) -> Codes:
        if self._table is None:
            return self._search(self._integers, self._integer_at, whole)
        # modulo 2^64, the difference is below the span only for values within it
        offset = (whole - self._integers[0]).view(np.uint64)
        last = np.uint64(len(self._table) - 1)
        np.minimum(offset, last, out=offset)
        return np.asarray(self._table.take(offset.view(np.int64)))

    def _of_floats(self, values: Array) -> Codes:
        if self._table is None or not self._all_whole:
            return self._search(self._floats, self._float_at, values)
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
            return np.where(whole == values, self._of_integers(whole), self._n)

    def _search(self, labels: Array, at: Codes, values: Array) -> Codes:
        if not len(labels):
            return np.full(len(values), self._n, dtype=np.intp)
        slot = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        return np.where(labels[slot] == values, at[slot], self._n)

    def _of_times(self, v: Instants | Durations) -> Codes:
        """Times and durations, by microseconds and the nanoseconds beyond."""
        codes = self._of_micros(v.family, v.micros, v.nanos)
        if isinstance(v, Instants) and v.zone and any(family == "wall" for family, _ in self._at):
            local, none = forms.wall(v)
            by_clock = self._of_micros("wall", local, v.nanos)
            codes = np.minimum(codes, np.where(none, self._n, by_clock))
        return codes

    def _of_micros(self, family: str, micros: Integers, nanos: Integers | None) -> Codes:
        at = {exact: i for (each, exact), i in self._at.items() if each == family}
        wanted = np.unique(np.array([exact // 1000 for exact in at], dtype=np.int64))
        codes = np.full(len(micros), self._n, dtype=np.intp)
        found = self._search(wanted, np.zeros(len(wanted), dtype=np.intp), micros)
        near = np.flatnonzero(found == 0)
        beyond = np.zeros(len(near), dtype=np.int64) if nanos is None else nanos[near]
        pairs = zip(micros[near].tolist(), beyond.tolist(), strict=True)
        codes[near] = [at.get(whole * 1000 + rest, self._n) for whole, rest in pairs]
        return codes


K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """What was made of recent public objects, by their identity: two that are equal in Python, such
    as ``(1,)`` and ``(True,)``, may mean different things."""

    def __init__(self, make: Callable[[K], V], most: int = 64) -> None:
        self._make = make
        self._most = most
        self._known: dict[int, tuple[K, V]] = {}

    def __call__(self, asked: K) -> V:
        which = id(asked)  # keeping the object keeps its id from being reused
        known = self._known.get(which)
        if known is None:
            if len(self._known) >= self._most:
                self._known = {}
            known = self._known[which] = asked, self._make(asked)
        return known[1]


#: Types whose equal values mean the same.
_SIMPLE = {int, float, str, bool, pd.Timestamp}


@lru_cache(maxsize=256)
def _simple(labels: tuple[Any, ...], types: tuple[type, ...]) -> Labels:
    return Labels(labels)


def _made(labels: tuple[Any, ...]) -> Labels:
    alike = set(map(type, labels))
    if not alike <= _SIMPLE:
        return Labels(labels)
    return _simple(labels, tuple(alike if len(alike) == 1 else map(type, labels)))


#: Labels ready for look-ups.
prepared = Recent(_made)
