"""How far the numbers of a statistic may be off: before a release, after it, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..errors import MissingArgument, QueryError, RecordError
from ..rows.facts.kinds import Schema
from .layout import Interval, by_name, errors_in_words, format_error, format_number, spread

#: How many rows there are at most: in all, or for each cell and column; None where unknown.
RowLimit = Sequence[float] | float | None

#: Answers with more numbers than this show no range of errors.
CROWD = 2**12


class ErrorModel:
    """The errors of a statistic, from public facts, the law of the noise and noisy integers alone.

    What a statistic doesn't say otherwise is for numbers that rise with an integer of their own.
    """

    #: Why no interval follows from public facts and the answer; "" where one does.
    no_interval: ClassVar[str] = ""

    #: What a preview says where public facts decide no error.
    later: ClassVar[str] = "told by the answer"

    #: Whether an interval that includes all that no rows give says that there may be none.
    tells_of_none: ClassVar[bool] = True

    #: Whether intervals and errors hold for each label by itself, given that it is released, rather
    #: than for all together.
    each: ClassVar[bool] = False

    #: The unit of errors: "rows", "column" (the column's own unit), "square" (of that), "share",
    #: or something else that is counted.
    measured_in: ClassVar[tuple[str, ...]] = ("rows",)

    #: Whether errors are measured in ranks.
    in_ranks: ClassVar[bool] = False

    #: Whether a limit on the rows narrows its errors.
    takes_rows: ClassVar[bool] = False

    #: Whether a rank is as many as a row weighs, and so no share of the rows.
    weighs_rows: ClassVar[bool] = False

    #: Whether noise is shown in the units of the columns rather than in rows.
    noise_in_columns: ClassVar[bool] = False

    #: The figures of each column, whose numbers come row by row; without a name where there is one.
    figures: tuple[str, ...] = ("",)

    def __init__(self, statistic: Any) -> None:
        self.of = statistic

    # units

    def units(self, schema: Schema) -> tuple[str, ...]:
        """The units of errors, given the kinds of the columns."""
        return self.measured_in

    def unit(self, entry: int, schema: Schema) -> str:
        """The unit of one number's error, as in `units`."""
        return self.units(schema)[0]

    def counts_rows(self, schema: Schema) -> bool:
        """Whether it counts rows, so that an error can be a share of them."""
        return self.of.is_count(schema) and self.units(schema) == ("rows",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """The noise scale by column unit, for each column asked about or one for all."""
        return (1.0,)

    @property
    def asked_columns(self) -> list[Any]:
        """The columns asked about, which alternate in the answer; one name where keys alternate."""
        width, layout = len(getattr(self.of, "operands", ())), self.of.layout
        across = layout.columns
        if across is None and self.of.cells.keys is None:
            across = layout.index
        is_told = width > 1 or (width == 1 and layout.name is None)
        if is_told and across is not None and len(across) == width:
            return list(across)
        return [layout.name]

    # before the release

    def half_width(self, law: Any, confidence: float) -> int:
        """The half-width of noise that errors before a release follow from."""
        found: int = law.half_width(confidence, self.of.size)
        return found

    def possible(self, entry: int) -> Interval | None:
        """The range that public facts allow a number: (0, ∞) if it can't be negative. None where
        any interval, however wide, tells something."""
        return None

    def error(self, half_width: int) -> float | None:
        """The error of each number at this half-width of noise; None if the answer decides it."""
        return None

    def row_adds(self) -> list[float] | None:
        """The most that one row adds to a number, for each column asked about or one for all; None
        where numbers don't grow with their rows alone."""
        return None

    def errors_by_column(self, half_width: int) -> list[float] | None:
        """`error` for each column asked about, or one for all."""
        error = self.error(half_width)
        return None if error is None else [error]

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """For a ratio, its error to first order times the number of rows that it is taken over:
        for each column asked about, or one for all."""
        return None

    def per_row(self, half_width: int) -> float | None:
        """The largest of `ratios_by_column`."""
        ratios = self.ratios_by_column(half_width)
        return None if ratios is None else max(ratios)

    def evenly(self, rows: float) -> list[int]:
        """The integers of such rows, spread evenly; none if no error depends on them."""
        return []

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        """The largest error of a number by public facts; for a ratio, taken over `rows` rows."""
        if self.no_interval or not hasattr(law, "half_width"):
            raise QueryError(f"public facts don't decide this error. {self.no_interval}".strip())
        half_width = self.half_width(law, confidence)
        error, ratio = self.error(half_width), self.per_row(half_width)
        if self.of.layout.is_mixed:
            raise QueryError("numbers and times have no error in common. Ask for each by itself.")
        if error is not None:
            return error
        if ratio is None:
            raise QueryError("only the answer decides its error. Release it, and call .error().")
        if rows is None:
            raise MissingArgument(
                "expected_rows= is needed: about how many rows a ratio is taken over, from public "
                "knowledge. Write expected_rows=1000, for example."
            )
        return ratio / rows

    # after the release

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """For each number an interval that holds if every noise lies within ±half_width: by default
        between the estimates at both ends, for numbers that rise with their own integer alone."""
        ends = (self.of.estimate([value + w for value in noisy]) for w in (-half_width, half_width))
        return list(zip(*ends, strict=True))

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """An interval for each number; with this confidence all hold simultaneously."""
        return self.intervals(noisy, law.half_width(confidence, self.of.size))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """How far each number may be off; with this confidence all hold simultaneously."""
        return self._errors_at(noisy, law, confidence, None)

    def errors_given(
        self, noisy: Sequence[int], law: Any, confidence: float, found: Sequence[Interval] | None
    ) -> list[float]:
        """`errors_at`, given the intervals at this confidence, if these are known already."""
        if type(self).errors_at is not ErrorModel.errors_at:  # by other rules than their ends
            return self.errors_at(noisy, law, confidence)
        return self._errors_at(noisy, law, confidence, found)

    def _errors_at(
        self, noisy: Sequence[int], law: Any, confidence: float, found: Sequence[Interval] | None
    ) -> list[float]:
        known = self.errors_by_column(self.half_width(law, confidence))
        values = self.of.estimate(noisy)
        if known is not None and not self.of.layout.is_mixed:
            return [known[i % len(known)] for i in range(len(values))]
        intervals = self.intervals_at(noisy, law, confidence) if found is None else found
        pairs = zip(values, intervals, strict=True)
        return [max(high - value, value - low) for value, (low, high) in pairs]

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        """`errors_at` for errors in ranks, given a limit on the rows."""
        raise QueryError("a number of rows bounds errors in ranks only. Leave it out.")

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        """An upper end for the rows of each cell and column; with this confidence all hold. None
        where the answer doesn't bound them."""
        return None

    def typed_errors(self, errors: Sequence[float]) -> list[Any]:
        """The errors of the answer's numbers, as durations where they mean these."""
        if self.in_ranks:
            return list(errors)
        says, layout = self.of.says, self.of.layout
        typed: list[Any] = layout.typed(
            errors, lambda entry: "number" if says(entry) == "number" else "spread", math.ceil
        )
        return typed

    # in words

    def expected(self, half_width: int) -> str:
        """The error in words before the release; "" if public facts don't decide it."""
        errors, ratios = self.errors_by_column(half_width), self.ratios_by_column(half_width)
        if self.of.layout.is_mixed:
            return ""
        if ratios is not None:
            return by_name(self.asked_columns, [f"≈ {self.in_short(r)}/n" for r in ratios])
        said = [f"± {self.in_short(error)}" for error in errors or ()]
        return by_name(self.asked_columns, said) if said else ""

    def expected_at(self, law: Any, confidence: float) -> str:
        """The error in words before the release, as far as public facts decide it."""
        return self.expected(self.half_width(law, confidence))

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        """`expected_at`, if each number is taken over about this many rows: to first order for
        ratios, and where only the answer decides it, that of rows spread evenly."""
        said = self.expected_at(law, confidence)
        if self.no_interval or not hasattr(law, "half_width"):
            return said
        ratios = self.ratios_by_column(self.half_width(law, confidence))
        if ratios is not None and not self.of.layout.is_mixed:
            each = [f"≈ {self.in_short(ratio / rows)}" for ratio in ratios]
            return f"{by_name(self.asked_columns, each)} {at(rows)}"
        return said or self.over_even(law, confidence, rows)

    def over_even(self, law: Any, confidence: float, rows: float) -> str:
        """The error in words of about this many rows spread evenly; "" where it isn't known."""
        even = self.evenly(rows)
        if not even or len(even) > CROWD:
            return ""
        errors = self.errors_at(even, law, confidence)
        told = self.in_words(errors) if any(errors) else "± 0"  # less than answers resolve
        return f"{told.replace('±', '≈')} {at(rows)}" if told else ""

    def answered_errors(
        self, noisy: Sequence[Any], law: Any, confidence: float
    ) -> list[float] | None:
        """The errors of an answer's numbers. None where the answer doesn't decide them, or has
        many numbers: then the error is that from before the release."""
        if len(noisy) > CROWD:
            return None
        try:
            return self.errors_at(noisy, law, confidence)
        except RecordError:
            return None

    def answered_at(self, noisy: Sequence[Any], law: Any, confidence: float, before: str) -> str:
        """The error of an answer in words, for each column asked about; else that from before."""
        errors = self.answered_errors(noisy, law, confidence)
        return before if errors is None else self.in_words(errors) or before

    def in_words(self, errors: Sequence[float]) -> str:
        """The errors of all numbers in words; "" if there are none."""
        names, figures = self.asked_columns, self.figures
        pairs, width = list(zip(errors, self.typed_errors(errors), strict=True)), len(names)
        said = [
            spread(pairs[column + row * width :: width * len(figures)])
            for column in range(width)
            for row in range(len(figures))
        ]
        return errors_in_words(names, figures, said, "ranks" if self.in_ranks else "", self.each)

    def in_short(self, error: float) -> str:
        """An error for people: a duration for columns of times."""
        ruler = self.of.layout.ruler
        is_number = ruler is None or self.in_ranks
        return format_error(error if is_number else ruler.length(error, math.ceil))


def at(rows: float) -> str:
    """The number of rows that an error is for."""
    return f"at n = {format_number(rows) if rows < 1e15 else f'{rows:.4g}'}"
