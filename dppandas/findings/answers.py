"""Derived numbers: a float, Series or DataFrame that knows its error and interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass, replace
from ..errors import QueryError, RecordError, hide_internals
from ..release.accuracy.expected import CONFIDENCE, HELD, parse_confidence
from ..release.answers.arithmetic import Arithmetic
from ..release.answers.intervals import labels_of, relative_errors
from ..release.answers.populations import in_words, parse_how
from ..release.combining.same_rows import check_limits
from ..rows.figures import DIGITS, error_digits, written
from ..statistics.layout import between
from ..statistics.samples import Estimate, How
from .boxes import BOXES, Range, meet
from .forms import Linear
from .populations import Populations
from .quantities import Quantity, Unusable, is_nothing, known, operands_in
from .ranges import interval


@dataclass(frozen=True)
class Findings:
    """Numbers derived from releases, in order; NaN where labels had no partner."""

    numbers: tuple[Any, ...]
    shown: Any = None  # the Series or DataFrame as it was made
    #: Releases whose intervals hold simultaneously with these, beside those that these rest on.
    beside: frozenset[Any] = frozenset()

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
        found = Ranges(each)
        for operand in operands_in(self.numbers, _needed):
            found.of(operand)
        ends = (_around(number, found.of(number)) for number in self.numbers)
        if self.dtype is int:  # and so are the exact ones
            return [(math.ceil(low), math.floor(high)) for low, high in ends]
        return list(ends)

    @property
    def dtype(self) -> type:
        """int of whole numbers, such as counts, whose ends are whole, too."""
        return float if self.shown is None or np.asarray(self.shown).dtype.kind != "i" else int

    @property
    def _statements(self) -> int:
        """How many numbers and releases an interval is stated of."""
        atoms = [each for each in operands_in(self.numbers, _needed) if _is_stated(each)]
        stated = [atom for atom in atoms if atom.form is not None]
        figures = (atom.figure for atom in atoms if atom.form is None)
        releases = {figure.record for figure in figures if figure is not None} | self.beside
        # of labels that were found each has an interval of its own
        labels = (len(r._values()) if r._statistic.errors.each else 1 for r in releases)
        return len(stated) + sum(labels)

    def of_population(self, confidence: object, how: How) -> list[Estimate]:
        """The same for the population that the rows are a sample of."""
        risk = 1 - parse_confidence(confidence)
        found = Populations.together(self.numbers, risk, how)
        return [found.of(number) for number in self.numbers]

    def values_for(self, how: How | None) -> list[float]:
        """The numbers that are shown: for a population its counts."""
        if how is None:
            return self.values
        found = Populations(1.0, how)
        for operand in operands_in(self.numbers, lambda each: each.of):
            found.value(operand)
        return [found.value(number) for number in self.numbers]

    def estimates(self, confidence: object, how: How | None) -> list[Estimate]:
        """Those of the rows, or of the population, each with the way to it."""
        if how is not None:
            return self.of_population(confidence, how)
        return [Estimate(low, high, "") for low, high in self.ranges(confidence)]

    def ends(self, confidence: object, how: How | None) -> list[Range]:
        """The same without their ways."""
        return [each[:2] for each in self.estimates(confidence, how)]

    def errors(self, confidence: object) -> list[float]:
        pairs = zip(self.values, self.ranges(confidence), strict=True)
        return [_error(*pair) for pair in pairs]

    @property
    def values(self) -> list[float]:
        kind = self.dtype
        return [kind(_value(number)) for number in self.numbers]

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Operands by their places, before what is made of them: they nest deeper than pickles."""
        made = operands_in(self.numbers, lambda each: each.of)
        places = {id(each): place for place, each in enumerate(made)}
        flat = [(replace(q, of=()), [places[id(operand)] for operand in q.of]) for q in made]
        numbers = [places.get(id(each)) for each in self.numbers]
        return _nested, (flat, numbers, self.shown, self.beside)

    def tidy(self, confidence: float, index: pd.Index, how: How | None) -> pd.DataFrame:
        """The table of `dppandas.intervals`."""
        ranges, ways = self.ranges(confidence), None
        includes_zero = [None if low != low else low <= 0 <= high for low, high in ranges]
        if how is not None:
            found = self.of_population(confidence, how)
            ranges, ways = [each[:2] for each in found], [each.way for each in found]
        values = self.values_for(how)
        errors = [_error(*pair) for pair in zip(values, ranges, strict=True)]
        columns = {
            "value": values, "error": errors,
            "low": [low for low, _ in ranges], "high": [high for _, high in ranges],
            "unit": pd.array(self.units, dtype=object),
            "noise_dominated": pd.array(includes_zero, dtype="boolean"),
            "may_be_empty": pd.array([None] * len(ranges), dtype="boolean"),
            "relative": relative_errors(values, errors, self.units),
        }  # fmt: skip
        if ways is not None:
            columns["method"] = pd.array(ways, dtype=object)
        return pd.DataFrame(columns).set_axis(index, axis=0)


def _nested(
    flat: Any, places: Sequence[int | None], shown: Any, beside: frozenset[Any] = frozenset()
) -> Findings:
    """Findings from a pickle."""
    made: list[Quantity] = []
    for quantity, operands in flat:
        made.append(replace(quantity, of=tuple(made[place] for place in operands)))
    return Findings(tuple(math.nan if at is None else made[at] for at in places), shown, beside)


def _value(number: Any) -> float:
    return float(number.value) if isinstance(number, Quantity) else math.nan


def _error(value: float, ends: Range) -> float:
    return max(ends[1] - value, value - ends[0])


def _needed(number: Quantity) -> Sequence[Quantity]:
    """Those whose intervals a number's own follows from: none where it has a law."""
    return number.of if number.form is None else ()


def _is_stated(number: Quantity) -> bool:
    """Whether an interval is stated of a number; of others it follows from those."""
    is_constant = isinstance(number.form, Linear) and number.form.is_constant
    has_own = number.form is not None or number.figure is not None
    return bool(number.records) and has_own and not is_constant


class Ranges:
    """Where numbers lie, where each statement has this risk; each is found once."""

    def __init__(self, risk: float) -> None:
        self._risk = risk
        self._numbers: dict[int, Range] = {}
        self._releases: dict[int, Sequence[Range]] = {}

    def of(self, number: Any) -> Range:
        if not isinstance(number, Quantity):
            return math.nan, math.nan
        if id(number) not in self._numbers:
            self._numbers[id(number)] = meet(self._stated(number), number.span)
        return self._numbers[id(number)]

    def _stated(self, number: Quantity) -> Range:
        if number.form is not None:
            return interval(number.form, self._risk)
        if number.figure is not None:
            low, high = self._of_release(number.figure.record)[number.figure.place]
            return float(low), float(high)
        if not number.of:
            return number.span
        return BOXES[number.how](*map(self.of, number.of))  # type: ignore[no-any-return]

    def _of_release(self, record: Any) -> Sequence[Range]:
        if id(record) not in self._releases:
            self._releases[id(record)] = record._intervals(1 - self._risk)
        return self._releases[id(record)]


def _around(number: Any, ends: Range) -> Range:
    """An interval that includes the number that is shown."""
    value = _value(number)
    return ends if math.isnan(value) else (min(ends[0], value), max(ends[1], value))


class Derived:
    """What derived answers have in common."""

    _findings: Findings

    def _tidy_intervals(self, confidence: float, how: How | None = None) -> pd.DataFrame:
        raise NotImplementedError

    def _quantities_in(self) -> Any:
        raise NotImplementedError


class DerivedNumber(Arithmetic, Derived):
    """What an int and a float have in common. Arithmetic with them is followed, too."""

    @classmethod
    def _of(cls, value: float, findings: Findings) -> Any:
        made: Any = cls(value)  # type: ignore[call-arg]
        made._findings = findings
        return made

    @hide_internals
    def interval(
        self, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
        method: str | None = None,
    ) -> tuple[float, float]:  # fmt: skip
        """(lower, upper) around what the exact numbers on the same rows give; or with
        ``of="population"`` what those of the population give, as in `dppandas.intervals`."""
        return self._findings.ends(confidence, parse_how(of, size, method))[0]

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """The distance to the further end of `interval`."""
        return self._findings.errors(confidence)[0]

    def _quantities_in(self) -> Any:
        return self._findings.numbers[0]

    def _tidy_intervals(self, confidence: float, how: How | None = None) -> pd.DataFrame:
        return self._findings.tidy(confidence, pd.Index([self._findings.source]), how)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._plainly(), self._findings)

    def __repr__(self) -> str:
        return self._with_error()

    def _with_error(self, digits: int = DIGITS) -> str:
        error = self.error()
        ends = self.interval() if math.isinf(error) else ()
        return str(written(self._findings.values[0], error, *ends, digits=digits))

    def __str__(self) -> str:
        return str(self._plainly())

    def __format__(self, spec: str) -> str:
        digits = error_digits(spec)
        return format(self._plainly(), spec) if digits is None else self._with_error(digits)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"{self!r} ({HELD}; {self._findings.source}){self._of_population()}")

    def _of_population(self) -> str:
        """What is said beside the error of the noise."""
        try:
            (found,) = self._findings.of_population(CONFIDENCE, How())
        except (QueryError, RecordError):  # they say why, to those who ask
            return ""
        return in_words(self._findings.values[0], found)


class DerivedFloat(DerivedNumber, float):
    """A number derived from released ones: a float that knows its error. Errors follow arithmetic,
    as those of `DerivedInt`."""

    def _plainly(self) -> float:
        return float(self)


class DerivedInt(DerivedNumber, int):
    """A whole number derived from released ones, by ``a - b`` for instance: an int that knows its
    error. Errors follow + - * / and round, abs and negation; plain numbers of Python are exact.

    Rounding moves the number, and the interval stays that of the number before. What NumPy computes
    is plain, and so is ``0.5 * a`` of a whole number, which Python computes alone: write
    ``a * 0.5``.
    """

    def _plainly(self) -> int:
        return int(self)


class DerivedTable(Derived):
    """What a Series and a DataFrame have in common."""

    @hide_internals
    def interval(
        self, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
        method: str | None = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Bounds around what the exact numbers on the same rows give, which hold simultaneously: a
        DataFrame with columns lower and upper; of a DataFrame under each column. Or with
        ``of="population"`` around what those of the population give, as in `dppandas.intervals`."""
        ranges = self._findings.ends(confidence, parse_how(of, size, method))
        return between(*(self._table([ends[i] for ends in ranges]) for i in (0, 1)))

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> Any:
        """The distance of each number to the further end of its interval, under its labels."""
        return self._table(self._findings.errors(confidence))

    def _quantities_in(self) -> Any:
        return self._table(self._findings.numbers, object)

    def _table(self, values: Sequence[Any], dtype: type | None = None) -> Any:
        """Other values in the shape of these numbers."""
        shown = self._findings.check(self)
        flat: Any = np.empty(len(values), dtype=dtype or np.asarray(values).dtype)
        flat[:] = values
        if isinstance(shown, pd.Series):
            return pd.Series(flat, index=shown.index, name=shown.name)
        return pd.DataFrame(flat.reshape(shown.shape), shown.index, shown.columns)

    def _tidy_intervals(self, confidence: float, how: How | None = None) -> pd.DataFrame:
        shown = self._findings.check(self)
        columns = None if isinstance(shown, pd.Series) else shown.columns
        index = labels_of(shown.index, columns)
        return self._findings.tidy(confidence, index, how)


class DerivedSeries(DerivedTable, pd.Series):  # type: ignore[misc,type-arg,unused-ignore]
    """Derived numbers: a Series that knows its errors. What pandas computes from it is a plain
    Series."""

    _metadata = ["_name", "_findings"]  # noqa: RUF012  (pandas' own name)

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


def _restored(kind: type[DerivedNumber], value: float, findings: Findings) -> Any:
    """A number from a pickle."""
    return kind._of(value, findings)


def made_of(result: Any) -> Any:
    """What a function computed, as an answer."""
    if isinstance(result, Quantity):
        check_limits(result.records)
        return DerivedFloat._of(float(result.value), Findings((result,)))
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
    labels = [*result.index, *(result.columns if isinstance(result, pd.DataFrame) else ())]
    if (numbers and not any(each.records for each in numbers)) or any(
        isinstance(label, Quantity) for label in labels
    ):
        raise QueryError(
            "the function of dp.derive must compute with the answers' numbers. Which of them are "
            "equal, or how many, isn't known from answers with noise."
        )
    for records in {each.records for each in numbers}:
        check_limits(records)
    values = Findings(tuple(flat)).values
    if isinstance(result, pd.Series):
        plain: Any = pd.Series(values, index=result.index, name=result.name, dtype=float)
    else:
        table = np.array(values, dtype=float).reshape(result.shape)
        plain = pd.DataFrame(table, result.index, result.columns)
    return table_of(Findings(tuple(flat), plain))


def table_of(findings: Findings) -> Any:
    """The Series or DataFrame that is shown, as an answer."""
    plain = findings.shown
    made: Any = (DerivedSeries if isinstance(plain, pd.Series) else DerivedFrame)(plain.copy())
    made._findings = findings
    return made
