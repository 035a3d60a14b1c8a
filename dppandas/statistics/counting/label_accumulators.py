"""Integers of labels that nobody declared: added up by number, and named once at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...rows.accumulators import ROWS_PER_FOLD
from ...rows.values.forms import Codes, numbered
from ...rows.values.labels import Decode

Matrix = npt.NDArray[np.int64]
#: The exact integers of labels, as in `thresholds.Found`.
Entries = dict[str, tuple[tuple[Any, ...], tuple[int, ...]]]


@dataclass
class NumberedLabels:
    """The labels of some rows, and the integers of each, a line for each label. Labels are the
    numbers that `labels.coded` gives; their names are made once, at the end."""

    decodes: tuple[Decode, ...]
    numbers: Matrix
    integers: Matrix

    def named(self) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """One name and one label from those of each column. Lengths keep different names apart."""
        columns = zip(self.decodes, self.numbers.T, strict=True)
        named = [list(decode.named(numbers.tolist())) for decode, numbers in columns]
        names = zip(*([f"{len(name)}:{name}" for name, _ in each] for each in named), strict=True)
        labels = zip(*([label for _, label in each] for each in named), strict=True)
        return zip(map("".join, names), labels, strict=True)


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
    """The same, from labels that have no names yet: many rows share one name."""

    def __init__(self) -> None:
        self._entries = EntryAccumulator()
        self._unnamed: list[NumberedLabels] = []
        self._rows = 0

    def add(self, partial: list[NumberedLabels], rows: int) -> None:
        """Add the integers of the labels of some rows."""
        if self._rows + rows > ROWS_PER_FOLD:
            self._fold()
        self._unnamed += partial
        self._rows += rows

    def join(self, other: LabelAccumulator) -> None:
        """Add the integers of another accumulator."""
        self._entries.join(other._entries)
        self.add(other._unnamed, other._rows)

    def result(self) -> Entries:
        """The integers of each label, by name."""
        self._fold()
        return self._entries.result()

    def _fold(self) -> None:
        """Add up and name what isn't named yet: so few rows that no int64 wraps around."""
        alike: dict[tuple[Decode, ...], list[NumberedLabels]] = {}
        for found in self._unnamed:
            alike.setdefault(found.decodes, []).append(found)
        for decodes, each in alike.items():
            numbers = np.concatenate([found.numbers for found in each])
            integers = np.concatenate([found.integers for found in each])
            codes, example = combined(numbers.T)
            total = np.zeros((len(example), integers.shape[1]), dtype=np.int64)
            np.add.at(total, codes, integers)
            named = NumberedLabels(decodes, numbers[example], total).named()
            pairs = zip(named, map(tuple, total.tolist()), strict=True)
            self._entries.add({name: (label, row) for (name, label), row in pairs}, 0)
        self._unnamed, self._rows = [], 0


def combined(columns: Iterable[npt.NDArray[np.int64]]) -> tuple[Codes, Codes]:
    """A number from 0 for each combination of whole numbers, and a row that has it."""
    codes: Codes | None = None
    for column in columns:
        each, known = numbered(column)
        # both are at most the number of rows: no product overflows
        codes = each if codes is None else numbered(codes * len(known) + each)[0]
    codes = cast(Codes, codes)
    example = np.empty(codes.max(initial=-1) + 1, dtype=np.intp)
    example[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, example
