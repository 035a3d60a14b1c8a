"""What every statistic has: its contract, its sensitivities, and words for its errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import MissingArgument, QueryError, RecordError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.noise import additive
from ..rows.accumulators import Accumulator, SumAccumulator
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.kinds import Kind, Schema
from ..rows.values.vectors import Mask
from .given_rows import CROWD, over_rows
from .layout import Cells, Codes, Interval, Layout, by_name, format_number, spread

Partial = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: A pass over all rows. For each chunk it calls a kernel with the chunk's branches (what its rows
#: become) and the filter, and accumulates what the kernel returns.
BranchKernel = Callable[[Sequence[Chunk], Expression | None], Any]
RowPass = Callable[[BranchKernel, Callable[[], Accumulator]], Any]

#: How many rows there are at most: in all, or for each cell and column; None where unknown.
RowLimit = Sequence[float] | float | None

#: Every statistic there is: a new one joins the neighbour suite by being defined.
REGISTRY: list[type[Statistic]] = []


@dataclass(frozen=True)
class Statistic(ABC):
    """A vector of integers computed from rows, and the estimates made from its noisy version.

    Contract. For the rows r of a table, ``kernel`` returns Σ_r k(r) with |k(r)|₁ ≤ l1 and
    |k(r)|_∞ ≤ linf, whatever r holds, and k(r) depends on r alone. If ``monotone``, no entry of
    k(r) is negative. So adding a unit of at most m rows moves the vector by at most m·l1 in ℓ1.
    A statistic that isn't a sum over rows (`whole_units`) says its own `l1_sensitivity`.
    """

    cells: Cells
    layout: Layout

    #: A part of the key, counted up where the integers of this statistic or their estimator change:
    #: so a new estimator never reads an old answer.
    reading: ClassVar[int] = 1

    #: Fields that don't change the integers: queries that differ only in these are equal.
    not_asked: ClassVar[tuple[str, ...]] = ("layout",)

    def __init_subclass__(cls, registered: bool = True) -> None:
        if registered:
            REGISTRY.append(cls)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many integers there are."""

    @property
    @abstractmethod
    def l1(self) -> int:
        """The most that one row adds to all integers together."""

    @property
    def linf(self) -> int:
        """The most that one row adds to one integer: never more than to all together."""
        return self.l1

    @property
    def monotone(self) -> bool:
        """Whether more rows never lower an integer."""
        return True

    def expressions(self) -> tuple[Expression, ...]:
        """What the kernel evaluates for each row: by default the labels and the operands."""
        return (*self.cells.by, *getattr(self, "operands", ()))

    def columns(self) -> frozenset[Any]:
        """The source columns that the kernel reads."""
        return frozenset().union(*(each.columns() for each in self.expressions()))

    #: For a field, the kinds that its expressions must have for the answer to be about anything.
    needs: ClassVar[Mapping[str, frozenset[Kind]]] = MappingProxyType({})

    def needed(self) -> list[tuple[Expression, frozenset[Kind]]]:
        """Each expression that must have a kind, with the kinds allowed."""
        found = [(by, kinds.LABELS) for by in self.cells.by]
        for name, wanted in self.needs.items():
            given = getattr(self, name)
            each = given if isinstance(given, tuple) else (given,)
            found += [(expression, wanted) for expression in each if expression is not None]
        return found

    #: A hint to add to the message where reading the rows fails.
    on_failure: ClassVar[str] = ""

    #: What is not proven about it; "" if everything is. Only sessions that allow experimental
    #: statistics answer it otherwise.
    experimental: ClassVar[str] = ""

    #: Why no interval follows from public facts and the answer; "" where one does.
    no_interval: ClassVar[str] = ""

    #: Whether intervals and errors hold for each label by itself, given that it is released, rather
    #: than for all together.
    each: ClassVar[bool] = False

    #: The unit of errors: "rows", "column" (the column's own unit), "square" (of that), "share",
    #: or something else that is counted.
    measured_in: ClassVar[tuple[str, ...]] = ("rows",)

    #: Whether each number is one integer that compares with the others, so that the label of the
    #: largest can be selected.
    selectable: ClassVar[bool] = False

    #: Whether the kernel must see all rows of a unit together.
    whole_units: ClassVar[bool] = False

    #: Whether a function that the caller wrote sees the rows as they were given.
    plain: ClassVar[bool] = False

    @property
    def keyed(self) -> bool:
        """Whether the kernel hashes rows with the key of their source."""
        return False

    def l1_sensitivity(self, rows: int) -> int:
        """The most that `rows` rows of one unit can move all integers together: ℓ1."""
        return self.l1 * rows

    def linf_sensitivity(self, rows: int) -> int:
        """The most that `rows` rows of one unit can move one integer: ℓ∞."""
        return self.linf * rows

    def l2_squared_sensitivity(self, rows: int) -> int:
        """The square of the most that `rows` rows of one unit can move the vector in ℓ2: at most
        ℓ1 times ℓ∞, by Hölder's inequality."""
        return self.l1_sensitivity(rows) * self.linf_sensitivity(rows)

    @property
    def places(self) -> int:
        """How many row counts the answer is about: one for each cell and column."""
        return len(self.cells)

    #: Whether errors are measured in ranks.
    in_ranks: ClassVar[bool] = False

    def is_count(self, schema: Schema) -> bool:
        """Whether each number is a count, which an error below 1 would leave exact."""
        return False

    def counts_rows(self, schema: Schema) -> bool:
        """Whether it counts rows, so that an error can be a share of them."""
        return self.is_count(schema) and self.units(schema) == ("rows",)

    def units(self, schema: Schema) -> tuple[str, ...]:
        """The units of errors, given the kinds of the columns."""
        return self.measured_in

    def unit(self, entry: int, schema: Schema) -> str:
        """The unit of one number's error, as in `units`."""
        return self.units(schema)[0]

    def says(self, entry: int) -> str:
        """What a number of the answer is for a column of times: a time ("value"), a duration
        ("spread"), or neither ("number")."""
        return "value"

    def typed(self, values: Sequence[float], rounded: Callable[[Any], int] = round) -> list[Any]:
        """The answer's numbers, as times and durations where they mean these."""
        return self.layout.typed(values, self.says, rounded)

    def typed_errors(self, errors: Sequence[float]) -> list[Any]:
        """The errors of the answer's numbers, as durations where they mean these."""
        if self.in_ranks:
            return list(errors)
        return self.layout.typed(
            errors, lambda entry: "number" if self.says(entry) == "number" else "spread", math.ceil
        )

    #: Whether noise is shown in the units of the columns rather than in rows.
    noise_in_columns: ClassVar[bool] = False

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A noise of 1 in its unit, for each column asked about or one for all."""
        return (1.0,)

    @property
    def asked_columns(self) -> list[Any]:
        """The columns asked about, which alternate in the answer; one name where keys alternate."""
        width, layout = len(getattr(self, "operands", ())), self.layout
        across = layout.columns
        if across is None and self.cells.keys is None:
            across = layout.index
        is_told = width > 1 or (width == 1 and layout.name is None)
        if is_told and across is not None and len(across) == width:
            return list(across)
        return [layout.name]

    def possible(self, entry: int) -> Interval | None:
        """The range that public facts allow a number: (0, ∞) if it can't be negative. None where
        any interval, however wide, tells something."""
        return None

    def sensitivity(self, rows: int) -> Sensitivity:
        """The most that one unit of `rows` rows can move the integers."""
        l1, linf = self.l1_sensitivity(rows), self.linf_sensitivity(rows)
        return Sensitivity(l1, self.l2_squared_sensitivity(rows), linf, self.monotone)

    def adapted_to(self, asked: LossRequest) -> Statistic:
        """A statistic that answers the same question with integers that suit the noise."""
        return self

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        """The mechanism that releases the answer: by default noise on each integer."""
        return additive(asked, sensitivity, alone=self.size == 1)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> Any:
        """The exact result: by default the integers of all rows, in one pass. A statistic may read
        less, if its mechanism needs no more."""
        return row_pass(self.over_branches, partial(SumAccumulator, self.size))

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """The distance of two exact results in the norm of `Query.sensitivity`, for audits."""
        moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
        return max(moves, default=0) if selecting else sum(moves)

    @abstractmethod
    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """The integers of the chunk's kept rows (at most 2^22 of them)."""

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Any:
        """What a chunk adds, through all rows that its rows become: by default the sum of the
        kernel over these branches."""
        parts = [self.kernel(*each) for each in with_kept(branches, where)]
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0, dtype=np.int64)

    def released_layout(self, noisy: Sequence[Any]) -> Layout:
        """The answer's layout, from public facts and from labels where these are released."""
        return self.layout

    @abstractmethod
    def estimate(self, noisy: Sequence[int]) -> list[float]:
        """The answer's numbers, from noisy integers and public facts alone."""

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """For each number an interval that holds if every noise lies within ±half_width: by default
        between the estimates at both ends, for numbers that rise with their own integer alone."""
        ends = (self.estimate([value + w for value in noisy]) for w in (-half_width, half_width))
        return list(zip(*ends, strict=True))

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """An interval for each number; with this confidence all hold simultaneously."""
        return self.intervals(noisy, law.half_width(confidence, self.size))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """How far each number may be off; with this confidence all hold simultaneously."""
        known = self.errors_by_column(law.half_width(confidence, self.size))
        values = self.estimate(noisy)
        if known is not None and not self.layout.is_mixed:
            return [known[i % len(known)] for i in range(len(values))]
        pairs = zip(values, self.intervals_at(noisy, law, confidence), strict=True)
        return [max(high - value, value - low) for value, (low, high) in pairs]

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        """`errors_at` for errors in ranks, given a limit on the rows."""
        raise QueryError("a number of rows bounds errors in ranks only. Leave it out.")

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        """An upper end for the rows of each cell and column; with this confidence all hold. None
        where the answer doesn't bound them."""
        return None

    def expected_at(self, law: Any, confidence: float) -> str:
        """The error in words before the release, as far as public facts decide it."""
        return self.expected(law.half_width(confidence, self.size))

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        """`expected_at`, if each number is taken over about this many rows."""
        return over_rows(self, law, confidence, rows)

    def evenly(self, rows: float) -> list[int]:
        """The integers of such rows, spread evenly; none if no error depends on them."""
        return []

    #: The figures of a description, whose numbers come row by row; one without a name elsewhere.
    figures: ClassVar[tuple[str, ...]] = ("",)

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
        names = self.asked_columns
        pairs = list(zip(errors, self.typed_errors(errors), strict=True))
        ranges = [spread(pairs[i :: len(names)]) for i in range(len(names))]
        said = by_name(names, ranges, "ranks" if self.in_ranks else "") if all(ranges) else ""
        return f"each {said}" if self.each and said else said

    def comparable(self) -> Statistic:
        """This statistic with all its integers on one scale, as a selection needs it."""
        return self

    def error(self, half_width: int) -> float | None:
        """The error of each number at this half-width of noise; None if the answer decides it."""
        return None

    def errors_by_column(self, half_width: int) -> list[float] | None:
        """`error` for each column asked about, or one for all."""
        error = self.error(half_width)
        return None if error is None else [error]

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """For a ratio, its error to first order times the number of rows that it is taken over:
        for each column asked about, or one for all."""
        return None

    def expected(self, half_width: int) -> str:
        """The error in words before the release; "" if public facts don't decide it."""
        errors, ratios = self.errors_by_column(half_width), self.ratios_by_column(half_width)
        if self.layout.is_mixed:
            return ""
        if ratios is not None:
            return by_name(self.asked_columns, [f"≈ {self.in_short(r)}/n" for r in ratios])
        said = [f"± {self.in_short(error)}" for error in errors or ()]
        return by_name(self.asked_columns, said) if said else ""

    def in_short(self, error: float) -> str:
        """An error for people: a duration for columns of times."""
        ruler = self.layout.ruler
        if ruler is None or self.in_ranks:
            return format_number(error)
        return str(ruler.length(error, math.ceil))

    def per_row(self, half_width: int) -> float | None:
        """The largest of `ratios_by_column`."""
        ratios = self.ratios_by_column(half_width)
        return None if ratios is None else max(ratios)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        """The largest error of a number by public facts; for a ratio, taken over `rows` rows."""
        if self.no_interval or not hasattr(law, "half_width"):
            raise QueryError(f"public facts don't decide this error. {self.no_interval}".strip())
        half_width = law.half_width(confidence, self.size)
        error, ratio = self.error(half_width), self.per_row(half_width)
        if self.layout.is_mixed:
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


def with_kept(
    branches: Sequence[Chunk], where: Expression | None
) -> Iterator[tuple[Chunk, Mask | None]]:
    """Each branch with the rows that a filter keeps, None for all."""
    return ((chunk, None if where is None else where.truth(chunk)) for chunk in branches)


def count_by(codes: Codes | None, mask: Mask | None, rows: int, cells: int) -> Partial:
    """How many rows of each cell a mask selects."""
    if codes is None:
        return np.array([rows if mask is None else np.count_nonzero(mask)], dtype=np.int64)
    if mask is not None:
        codes = np.where(mask, codes, cells)
    return np.bincount(codes, minlength=cells + 1)[:cells].astype(np.int64, copy=False)


def sum_by(codes: Codes | None, integers: Floats, cells: int) -> Floats:
    """Sums of whole numbers up to 2^30 in each cell: exact in any order, being below 2^53. NaN for
    a cell with a NaN."""
    if codes is None:
        return np.array([integers.sum()])
    sums = np.bincount(codes, weights=integers, minlength=cells + 1)[:cells]
    return np.asarray(sums, dtype=np.float64)
