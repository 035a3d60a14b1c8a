"""The outcomes of many runs of a release, as named numbers and labels.

A fixed rule turns an outcome into numbers and labels. Whatever is computed from an outcome costs no
privacy, so every event over them bounds ε from below. Where the rule drops something (what an
unknown object holds), the audit gets weaker, never wrong.
"""

from __future__ import annotations

import math
import numbers
from array import array
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..rows.facts.keys import is_missing

#: Numbers of one outcome beyond these are ignored: events over more could not be learned.
WIDEST = 256

#: Types that are labels. Python counts booleans as numbers, so labels are tried first.
LABELS = (bool, np.bool_, str, bytes, date, time, timedelta, np.datetime64, np.timedelta64,
          pd.Interval, pd.Period)  # fmt: skip
NUMBERS = (float, int, numbers.Real, Decimal, np.integer, np.floating)

#: The label with an outcome's types and names, or its error.
KIND = "the result"
RAISES = "raises "


class Sample:
    """The outcomes of some runs. A run may lack some numbers and labels."""

    def __init__(self) -> None:
        self.runs = 0
        self.raised = 0
        self._numbers: dict[str, tuple[array[int], array[float]]] = {}
        self._labels: dict[str, tuple[array[int], list[str]]] = {}

    def run(self, release: Callable[[Any], Any], data: Any) -> None:
        """Call ``release(data)`` once more and keep its outcome; an error is an outcome too."""
        try:
            outcome = release(data)
        except Exception as error:
            self.raised += 1
            self._label(KIND, RAISES + type(error).__name__)
        else:
            self._label(KIND, self._add("", outcome))
        self.runs += 1

    @property
    def numbers(self) -> list[str]:
        """The names of all numbers."""
        return list(self._numbers)

    @property
    def labels(self) -> list[str]:
        """The names of all labels."""
        return list(self._labels)

    def number(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """The number of this name in each run, and whether the run has one."""
        values, present = np.full(self.runs, np.nan), np.zeros(self.runs, dtype=bool)
        if name in self._numbers:
            at, found = (np.array(part) for part in self._numbers[name])
            values[at], present[at] = found, True
        return values, present

    def label(self, name: str) -> npt.NDArray[Any]:
        """The label of this name in each run, "" where it has none."""
        values = np.full(self.runs, "", dtype=object)
        if name in self._labels:
            at, found = self._labels[name]
            values[np.array(at)] = found
        return values

    def _label(self, name: str, text: str) -> None:
        at, texts = self._labels.setdefault(name, (array("q"), []))
        at.append(self.runs)
        texts.append(text)

    def _number(self, name: str, value: float) -> None:
        if name in self._numbers or len(self._numbers) < WIDEST:
            at, values = self._numbers.setdefault(name, (array("q"), array("d")))
            at.append(self.runs)
            values.append(value)

    def _add(self, name: str, outcome: Any) -> str:
        """Keep the numbers and labels of an outcome under names. Returns its kind."""
        kind = type(outcome).__name__
        if isinstance(outcome, LABELS):
            self._label(name or "the label", repr(outcome))
        elif isinstance(outcome, NUMBERS):
            self._number(name or "the number", _float(outcome))
        elif is_missing(outcome):
            return repr(outcome)
        elif isinstance(outcome, set | frozenset):
            self._label(name or "the label", repr(sorted(map(repr, outcome))))
        else:
            return kind + self._container(name, outcome)
        return kind

    def _container(self, name: str, outcome: Any) -> str:
        if isinstance(outcome, pd.DataFrame):
            columns = [f"{c!r}{self._table(name, s, [c])}" for c, s in outcome.items()]
            return f" of {', '.join(columns)}"
        if isinstance(outcome, pd.Series):
            return self._table(name, outcome, [])
        if isinstance(outcome, pd.Index | np.ndarray):
            shape = f" {outcome.dtype} {outcome.shape}"
            return shape + self._parts(name, enumerate(outcome.ravel().tolist()))
        if isinstance(outcome, list | tuple):
            return self._parts(name, enumerate(outcome))
        return self._parts(name, outcome.items()) if isinstance(outcome, Mapping) else ""

    def _parts(self, name: str, pairs: Iterable[tuple[Any, Any]]) -> str:
        kinds = [f"{key!r}: {self._add(f'{name}[{key!r}]', part)}" for key, part in pairs]
        return f" ({', '.join(kinds)})"

    def _table(self, name: str, series: pd.Series[Any], column: list[Any]) -> str:
        """Name values by their labels, so that sorting by noisy values doesn't scatter them.

        The order of the labels is an outcome by itself: it may be that of exact values.
        """
        keys = [", ".join(map(repr, [label, *column])) for label in series.index]
        kinds = [
            f"{key}: {self._add(f'{name}[{key}]', value)}"
            for key, value in zip(keys, series.tolist(), strict=True)
        ]
        if len(keys) > 1:
            self._label(f"the first label of {name or 'the result'}", keys[0])
            self._label(f"the order of {name or 'the result'}", "; ".join(keys))
        return f" {series.dtype} ({'; '.join(sorted(kinds))})"


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    except (ValueError, TypeError):
        return math.nan
