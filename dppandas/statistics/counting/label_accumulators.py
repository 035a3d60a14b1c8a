"""Integers of labels that nobody declared: added up by number, and named once at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...privacy.mechanisms.weighted_selection import weight
from ...rows.accumulators import ROWS_PER_FOLD
from ...rows.values.forms import Codes, numbered
from ...rows.values.labels import Decode, Listed

Matrix = npt.NDArray[np.int64]
#: A label, with one value for each column, and its exact integers.
Entry = tuple[tuple[Any, ...], tuple[int, ...]]
#: Labels and their integers, by names of labels.
Entries = dict[str, Entry]


@dataclass(eq=False)
class NumberedLabels(Mapping[str, Entry]):
    """The labels of some rows, and the integers of each, a line for each label; int64 or Python's.

    Labels are the numbers that `labels.coded` gives. They and their names are made when they are
    asked for. By name it maps to `Entries`.
    """

    decodes: tuple[Decode, ...]
    numbers: Matrix
    integers: npt.NDArray[Any]

    @classmethod
    def of(cls, entries: Entries, size: int) -> NumberedLabels:
        """Labels and their integers, of which there are ``size`` for each."""
        rows = np.array([row for _, row in entries.values()], dtype=object).reshape(-1, size)
        columns = zip(*(label for label, _ in entries.values()), strict=True)
        decodes = tuple(map(Listed.of, columns))
        numbers = np.broadcast_to(np.arange(len(rows))[:, None], (len(rows), len(decodes)))
        return cls(decodes, numbers, rows)

    def in_order(self) -> NumberedLabels:
        """The same in the order of `labels.rank`."""
        if not len(self):
            return self
        order = np.lexsort([decode.ranks(own) for decode, own in self._columns()][::-1])
        return NumberedLabels(self.decodes, self.numbers[order], self.integers[order])

    def labels(self, places: Sequence[int] | slice = slice(None)) -> list[tuple[Any, ...]]:
        """The labels at some places, with one value for each column."""
        return list(zip(*(d.labels(own[places]) for d, own in self._columns()), strict=True))

    def names(self) -> list[str]:
        """One name from those of each column. Lengths keep different names apart."""
        each = (decode.names(own) for decode, own in self._columns())
        return ["".join(f"{len(x)}:{x}" for x in names) for names in zip(*each, strict=True)]

    def _columns(self) -> Iterator[tuple[Decode, Matrix]]:
        own = map(np.ascontiguousarray, self.numbers.T)  # whose bits can be read as reals
        return zip(self.decodes, own, strict=True)

    @cached_property
    def _entries(self) -> Entries:
        rows = map(tuple, self.integers.tolist())
        return dict(zip(self.names(), zip(self.labels(), rows, strict=True), strict=True))

    def __len__(self) -> int:
        return len(self.integers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]


class EntryAccumulator:
    """Adds up integers label by label."""

    def __init__(self) -> None:
        self._exact: Entries = {}

    def add(self, partial: Entries, rows: int) -> None:
        """Add the integers of the labels of some rows."""
        if not self._exact:
            self._exact = partial
            return
        for name, (label, integers) in partial.items():
            before = self._exact.get(name)
            if before is not None:
                integers = tuple(a + b for a, b in zip(before[1], integers, strict=True))
            self._exact[name] = label, integers

    def join(self, other: EntryAccumulator) -> None:
        """Add the integers of another accumulator."""
        self.add(other.result(), 0)

    def result(self) -> Entries:
        """The integers of each label, by name."""
        return self._exact


class LabelAccumulator:
    """The same, from labels that have no names yet: many rows share one name, and where the numbers
    of all rows mean the same no name is made."""

    def __init__(self) -> None:
        self._named = EntryAccumulator()
        self._numbered: dict[tuple[Decode, ...], list[NumberedLabels]] = {}
        self._rows = 0

    def add(self, partial: list[NumberedLabels], rows: int) -> None:
        """Add the integers of the labels of some rows."""
        if self._rows + rows > ROWS_PER_FOLD:
            self._fold()
        for found in partial:
            self._numbered.setdefault(found.decodes, []).append(found)
        self._rows += rows

    def join(self, other: LabelAccumulator) -> None:
        """Add the integers of another accumulator."""
        self._named.join(other._named)
        for found in other._numbered.values():
            self.add(found, 0)
        self.add([], other._rows)

    def __getstate__(self) -> dict[str, Any]:
        """What another process understands: of labels in a list only those that occur, by name."""
        self._fold()
        if not all(decode.lasting for decodes in self._numbered for decode in decodes):
            self._name()
        return self.__dict__

    def result(self) -> Mapping[str, Entry]:
        """The integers of each label."""
        if len(self._numbered) == 1 and not self._named.result():
            return _summed(*self._numbered.values())
        self._name()
        return self._named.result()

    def _fold(self) -> None:
        """Keep one integer a label, by name where numbers mean this in one block and that in the
        next: otherwise each block's would be kept."""
        for decodes, found in self._numbered.items():
            self._numbered[decodes] = [_summed(found)]
        if len(self._numbered) > 1:
            self._name()
        self._rows = 0

    def _name(self) -> None:
        for found in self._numbered.values():
            self._named.add(dict(_summed(found)), 0)
        self._numbered = {}


def _summed(found: Sequence[NumberedLabels]) -> NumberedLabels:
    """The exact sums of integers whose labels are numbered alike, each label once in each."""
    numbers = np.concatenate([each.numbers for each in found])
    integers = np.concatenate([each.integers for each in found])
    codes, distinct = combined(list(numbers.T))
    most = sum(int(np.abs(each.integers).max(initial=0)) for each in found)
    total = np.zeros((len(distinct), integers.shape[1]), dtype=np.int64 if most < 2**63 else object)
    np.add.at(total, codes, integers)
    return NumberedLabels(found[0].decodes, distinct, total)


def weights_of(pairs: Matrix, labels: int) -> list[int]:
    """What units weigh at each label, of distinct pairs of a unit and a label's place."""
    _, unit, sizes = np.unique(pairs[:, 0], return_inverse=True, return_counts=True)
    total = np.zeros(labels, dtype=np.int64)  # 2^33 units would be needed to fill one
    known, place = np.unique(sizes, return_inverse=True)
    weights = np.array([weight(size) for size in known.tolist()], dtype=np.int64)
    np.add.at(total, pairs[:, 1], weights[place][unit])
    found: list[int] = total.tolist()
    return found


def combined(columns: Sequence[npt.NDArray[np.int64]]) -> tuple[Codes, Matrix]:
    """A number from 0 for each combination of whole numbers, and the combinations by number."""
    codes, known = numbered(columns[0])
    if len(columns) == 1:
        return codes, known[:, None]
    for column in columns[1:]:
        each, known = numbered(column)
        # neither is more than the number of rows, and 2^31 fit no memory: no product overflows
        codes = numbered(codes * len(known) + each)[0]
    example = np.empty(codes.max(initial=-1) + 1, dtype=np.intp)
    example[codes[::-1]] = np.arange(len(codes))[::-1]  # a row of each
    return codes, np.stack([column[example] for column in columns], axis=1)
