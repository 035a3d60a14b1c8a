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


class Places:
    """Where whole numbers are among those of labels; outside, for all others."""

    def __init__(self, at: dict[int, int], outside: int) -> None:
        pairs = sorted((x, i) for x, i in at.items() if -(2**63) <= x < 2**63)
        self.labels = np.array([x for x, _ in pairs], dtype=np.int64)
        self.at = np.array([i for _, i in pairs], dtype=np.intp)
        self._outside = outside
        self.step = int(np.gcd.reduce(np.diff(self.labels.view(np.uint64)))) or 1
        self.table = self._table()

    def _table(self) -> Codes | None:
        """At i the place of the lowest label + i steps; the last entry is outside."""
        if not len(self.labels):
            return None
        span = (int(self.labels[-1]) - int(self.labels[0])) // self.step + 1
        if span > max(2**16, 16 * len(self.labels)):
            return None
        table = np.full(span + 1, self._outside, dtype=np.intp)
        table[(self.labels - self.labels[0]).view(np.uint64) // np.uint64(self.step)] = self.at
        return table

    def of(self, whole: Integers) -> Codes:
        if self.table is None:
            return search(self.labels, self.at, whole, self._outside)
        # modulo 2^64, the difference is below the span only for values within it
        offset, last = (whole - self.labels[0]).view(np.uint64), np.uint64(len(self.table) - 1)
        if self.step > 1:
            steps = offset // np.uint64(self.step)
            between = steps * np.uint64(self.step) != offset
            offset = steps
            offset[between] = last
        np.minimum(offset, last, out=offset)
        return np.asarray(self.table.take(offset.view(np.int64)))


def search(labels: Array, at: Codes, values: Array, outside: int) -> Codes:
    """The places of values among sorted labels."""
    if not len(labels):
        return np.full(len(values), outside, dtype=np.intp)
    slot = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
    return np.where(labels[slot] == values, at[slot], outside)


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
        self._integers = Places({x: i for x, i in numbers if type(x) is int}, self._n)
        exact = sorted((near, i) for x, i in numbers if (near := nearest(x)) == x)
        self._floats = np.array([x for x, _ in exact], dtype=np.float64)
        self._float_at = np.array([i for _, i in exact], dtype=np.intp)
        self._all_whole = len(self._integers.at) == len(exact) == len(numbers)
        self._times: dict[str, tuple[Places, dict[int, int]]] = {}

    def codes(self, v: Vector) -> Codes:
        """The position of each element; missing elements are outside."""
        if isinstance(v, Coded):
            return v.by_level(("codes", self), self._of_levels, self._n)
        if isinstance(v, Truths):
            both = np.array([self._found(("number", 0)), self._found(("number", 1))])
            codes = both[v.values.astype(np.intp)]
        elif isinstance(v, Numbers):
            codes = self._integers.of(v.values) if v.is_whole else self._of_floats(v.values)
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

    def _of_floats(self, values: Array) -> Codes:
        if self._integers.table is None or not self._all_whole:
            return search(self._floats, self._float_at, values, self._n)
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
            return np.where(whole == values, self._integers.of(whole), self._n)

    def _of_times(self, v: Instants | Durations) -> Codes:
        """Times and durations, by microseconds and the nanoseconds beyond."""
        codes = self._of_micros(v.family, v.micros, v.nanos)
        if isinstance(v, Instants) and v.zone and any(family == "wall" for family, _ in self._at):
            local, none = forms.wall(v)
            by_clock = self._of_micros("wall", local, v.nanos)
            codes = np.minimum(codes, np.where(none, self._n, by_clock))
        return codes

    def _of_micros(self, family: str, micros: Integers, nanos: Integers | None) -> Codes:
        if family not in self._times:
            self._times[family] = self._times_of(family)
        places, finer = self._times[family]
        codes = places.of(micros)
        if nanos is not None:
            beyond = np.flatnonzero(nanos)
            pairs = zip(micros[beyond].tolist(), nanos[beyond].tolist(), strict=True)
            if finer:
                codes[beyond] = [finer.get(whole * 1000 + rest, self._n) for whole, rest in pairs]
            else:
                codes[beyond] = self._n
        return codes

    def _times_of(self, family: str) -> tuple[Places, dict[int, int]]:
        """The places of labels by microseconds, and by nanoseconds those that aren't whole ones."""
        at = {exact: i for (each, exact), i in self._at.items() if each == family}
        whole = {exact // 1000: i for exact, i in at.items() if exact % 1000 == 0}
        return Places(whole, self._n), {exact: i for exact, i in at.items() if exact % 1000}


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
