"""Derived numbers: a float, Series or DataFrame that knows its error and interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, RecordError, hide_internals
from ..release.accuracy.expected import CONFIDENCE, HELD, parse_confidence, with_error
from ..release.answers.intervals import labels_of, relative_errors
from ..statistics.layout import between
from .boxes import BOXES, Range, meet
from .forms import Linear
from .quantities import Quantity, Unusable, is_nothing, known
from .ranges import interval


@dataclass(frozen=True)
class Findings:
    """Numbers derived from releases, in order; NaN where labels had no partner."""

    numbers: tuple[Any, ...]
    shown: Any = None  # the Series or DataFrame as it was made

    def check(self, answer: Any) -> Any:
        """The numbers as they were made. Those that were changed in place are refused: intervals
        belong to those that were made."""
        labels = [(answer.index, self.shown.index)]
        if isinstance(answer, pd.DataFrame):
            labels.append((answer.columns, self.shown.columns))
        same = all(len(x) == len(y) and x.equals(y) for x, y in labels)
        now, then = (np.asarray(each, dtype=float) for each in (answer, self.shown))
        if not (same and np.array_equal(now, then, equal_nan=True)):
            raise RecordError(
                "these numbers were changed since they were derived, so nobody knows their errors. "
                "Sort and select inside of the function, or work on a copy: x.copy()."
            )
        return self.shown

    def ranges(self, confidence: object) -> list[Range]:
        """The ends of all intervals, which hold simultaneously with this confidence: each statement
        that they rest on has an equal part of the risk."""
        risk = 1 - parse_confidence(confidence)
        each = risk / max(1, self._statements)
        found: dict[int, Range] = {}
        ends = (_range(number, each, found) for number in self.numbers)
        return [_around(*pair) for pair in zip(self.numbers, ends, strict=True)]

    @property
    def _statements(self) -> int:
        """How many numbers and releases an interval is stated of."""
        atoms = {id(atom): atom for number in self.numbers for atom in _atoms(number)}
        stated = [atom for atom in atoms.values() if atom.form is not None]
        figures = (atom.figure for atom in atoms.values() if atom.form is None)
        releases = {figure.record for figure in figures if figure is not None}
        # of labels that were found each has an interval of its own
        labels = (len(r._values()) if r._statistic.errors.each else 1 for r in releases)
        return len(stated) + sum(labels)

    def errors(self, confidence: object) -> list[float]:
        pairs = zip(self.numbers, self.ranges(confidence), strict=True)
        return [_error(_value(number), ends) for number, ends in pairs]

    @property
    def values(self) -> list[float]:
        return [_value(number) for number in self.numbers]

    @property
    def units(self) -> list[str]:
        return [each.unit if isinstance(each, Quantity) else "" for each in self.numbers]

    @property
    def source(self) -> str:
        """Which releases they are derived from."""
        records = {r for each in self.numbers if isinstance(each, Quantity) for r in each.records}
        numbers = sorted({part.number for each in records for part in each.components})
        if len(numbers) == 1:
            return f"derived from release {numbers[0]}, at no cost"
        many = f"{len(numbers)} releases"
        said = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}" if numbers else ""
        return f"derived from {f'releases {said}' if len(numbers) <= 9 else many}, at no cost"

    def tidy(self, confidence: float, index: pd.Index) -> pd.DataFrame:
        """The table of `dppandas.intervals`."""
        ranges = self.ranges(confidence)
        includes_zero = [None if low != low else low <= 0 <= high for low, high in ranges]
        errors = [_error(*pair) for pair in zip(self.values, ranges, strict=True)]
        columns = {
            "value": self.values, "error": errors,
            "low": [low for low, _ in ranges], "high": [high for _, high in ranges],
            "unit": pd.array(self.units, dtype=object),
            "noise_dominated": pd.array(includes_zero, dtype="boolean"),
            "may_be_empty": pd.array([None] * len(ranges), dtype="boolean"),
            "relative": relative_errors(self.values, errors, self.units),
        }  # fmt: skip
        return pd.DataFrame(columns).set_axis(index, axis=0)


def _value(number: Any) -> float:
    return float(number.value) if isinstance(number, Quantity) else math.nan


def _error(value: float, ends: Range) -> float:
    return max(ends[1] - value, value - ends[0])


def _atoms(number: Any) -> Iterator[Quantity]:
    """The numbers whose intervals are stated, of which a number is made."""
    if not isinstance(number, Quantity) or not number.records:
        return
    if isinstance(number.form, Linear) and number.form.is_constant:
        return
    if number.form is not None or number.figure is not None:
        yield number
    for each in () if number.form is not None else number.of:
        yield from _atoms(each)


def _range(number: Any, risk: float, found: dict[int, Range]) -> Range:
    if not isinstance(number, Quantity):
        return math.nan, math.nan
    if id(number) not in found:
        found[id(number)] = meet(_stated(number, risk, found), number.span)
    return found[id(number)]


def _stated(number: Quantity, risk: float, found: dict[int, Range]) -> Range:
    if number.form is not None:
        return interval(number.form, risk)
    if number.figure is not None:
        record, place = number.figure.record, number.figure.place
        low, high = record._intervals(1 - risk)[place]
        return float(low), float(high)
    if not number.of:
        return number.span
    return BOXES[number.how](*(_range(each, risk, found) for each in number.of))  # type: ignore[no-any-return]


def _around(number: Any, ends: Range) -> Range:
    """An interval that includes the number that is shown."""
    value = _value(number)
    return ends if math.isnan(value) else (min(ends[0], value), max(ends[1], value))


class Derived:
    """What derived answers have in common."""

    _findings: Findings

    def _tidy_intervals(self, confidence: float) -> pd.DataFrame:
        raise NotImplementedError

    def _quantities_in(self) -> Any:
        raise NotImplementedError


class DerivedFloat(float, Derived):
    """A number derived from released ones: a float that knows its error."""

    _findings: Findings

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """(lower, upper) around what the exact numbers on the same rows give."""
        return self._findings.ranges(confidence)[0]

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """The distance to the further end of `interval`."""
        return self._findings.errors(confidence)[0]

    def _quantities_in(self) -> Any:
        return self._findings.numbers[0]

    def _tidy_intervals(self, confidence: float) -> pd.DataFrame:
        return self._findings.tidy(confidence, pd.Index([self._findings.source]))

    def __reduce__(self) -> tuple[Any, ...]:
        return _float_of, (self._findings,)

    def __repr__(self) -> str:
        value, error = float(self), self.error()
        if value.is_integer() and error.is_integer() and abs(value) < 2**53:
            return with_error(int(value), int(error))
        if math.isfinite(error):
            return with_error(value, error)
        low, high = self.interval()
        return f"{float(self):.4g} ({low:.4g} to {high:.4g})"

    def __str__(self) -> str:
        return float.__repr__(self)

    def __format__(self, spec: str) -> str:
        return repr(self) if spec == "±" else float.__format__(self, spec)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self!r} ({HELD}; {self._findings.source})")


class DerivedTable(Derived):
    """What a Series and a DataFrame have in common."""

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> pd.DataFrame:
        """Bounds around what the exact numbers on the same rows give, which hold simultaneously: a
        DataFrame with columns lower and upper; of a DataFrame under each column."""
        ranges = self._findings.ranges(confidence)
        return between(*(self._table([ends[i] for ends in ranges]) for i in (0, 1)))

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> Any:
        """The distance of each number to the further end of its interval, under its labels."""
        return self._table(self._findings.errors(confidence))

    def _quantities_in(self) -> Any:
        return self._table(self._findings.numbers, object)

    def _table(self, values: Sequence[Any], dtype: type = float) -> Any:
        """Other values in the shape of these numbers."""
        shown = self._findings.check(self)
        flat: Any = np.empty(len(values), dtype=dtype)
        flat[:] = values
        if isinstance(shown, pd.Series):
            return pd.Series(flat, index=shown.index, name=shown.name)
        return pd.DataFrame(flat.reshape(shown.shape), shown.index, shown.columns)

    def _tidy_intervals(self, confidence: float) -> pd.DataFrame:
        shown = self._findings.check(self)
        index = labels_of(shown.index, getattr(shown, "columns", None))
        return self._findings.tidy(confidence, index)


class DerivedSeries(DerivedTable, pd.Series):  # type: ignore[misc,type-arg,unused-ignore]
    """Derived numbers: a Series that knows its errors. What pandas computes from it is a plain
    Series."""

    _metadata = ["_findings"]  # noqa: RUF012  (pandas' own name)

    @property
    def _constructor(self) -> Any:
        return pd.Series


class DerivedFrame(DerivedTable, pd.DataFrame):
    """Derived numbers: a DataFrame that knows its errors. What pandas computes from it is a plain
    DataFrame."""

    _metadata = ["_findings"]  # noqa: RUF012  (pandas' own name)

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame


def _float_of(findings: Findings) -> DerivedFloat:
    made = DerivedFloat(findings.values[0])
    made._findings = findings
    return made


def made_of(result: Any) -> Any:
    """What a function computed, as an answer."""
    if isinstance(result, Quantity):
        return _float_of(Findings((result,)))
    if isinstance(result, Unusable):
        raise QueryError(result.reason)
    if not isinstance(result, pd.Series | pd.DataFrame):
        raise QueryError(
            "the function of dp.derive must return a number, Series or DataFrame that it computed "
            f"from the answers, and not {type(result).__name__}. Labels without numbers, as where "
            "none was found, have no sum."
        )
    flat = [x if is_nothing(x) else known(x) for x in result.to_numpy(dtype=object).reshape(-1)]
    numbers = [each for each in flat if isinstance(each, Quantity)]
    labels = [*result.index, *getattr(result, "columns", ())]
    if (numbers and not any(each.records for each in numbers)) or any(
        isinstance(label, Quantity) for label in labels
    ):
        raise QueryError(
            "the function of dp.derive must compute with the answers' numbers. Which of them are "
            "equal, or how many, isn't known from answers with noise."
        )
    values = Findings(tuple(flat)).values
    if isinstance(result, pd.Series):
        plain: Any = pd.Series(values, index=result.index, name=result.name, dtype=float)
        made: Any = DerivedSeries(plain.copy())
    else:
        table = np.array(values, dtype=float).reshape(result.shape)
        plain = pd.DataFrame(table, result.index, result.columns)
        made = DerivedFrame(plain.copy())
    made._findings = Findings(tuple(flat), plain)
    return made
