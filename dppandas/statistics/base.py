"""The parts that every statistic shares: cells, layout of the answer, and the contract."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from .layout import Cells, Codes, Interval, Layout, by_name, format_number, spread

Partial = npt.NDArray[np.int64]

#: What reads all rows once: it hands a function the rows that those of a chunk become, and what
#: keeps some of them, and puts together what the function makes of them.
BranchKernel = Callable[[Sequence[Chunk], Expression | None], Any]
RowPass = Callable[[BranchKernel, Callable[[], Accumulator]], Any]

#: So many errors are looked at to tell the range of them.
CROWD = 2**12

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

    #: Counted up where the integers of this statistic change, or how they are read: an old answer
    #: is never read by a new estimator. A part of the key.
    reading: ClassVar[int] = 1

    #: What doesn't change the integers: queries that differ in it alone are equal.
    not_asked: ClassVar[tuple[str, ...]] = ("layout",)

    def __init_subclass__(cls, registered: bool = True) -> None:
        if registered:
            REGISTRY.append(cls)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many integers."""

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

    @abstractmethod
    def expressions(self) -> tuple[Expression, ...]:
        """What the kernel evaluates for each row."""

    def columns(self) -> frozenset[Any]:
        """The source columns that the kernel reads."""
        return frozenset().union(*(each.columns() for each in self.expressions()))

    #: By field: of which kinds the expressions in it have to be, for an answer about something.
    needs: ClassVar[Mapping[str, frozenset[Kind]]] = MappingProxyType({})

    def needed(self) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        """What is evaluated for each row, as far as it has to be of some kinds."""
        for name, wanted in self.needs.items():
            given = getattr(self, name)
            for each in given if isinstance(given, tuple) else (given,):
                if each is not None:
                    yield each, wanted
        for by in self.cells.by:
            yield by, kinds.LABELS

    #: What to say, beside the usual, where reading the rows fails.
    on_failure: ClassVar[str] = ""

    #: What is not proven of it; "" where nothing is missing. Such a statistic is answered only in
    #: sessions that allow it.
    experimental: ClassVar[str] = ""

    #: Why public facts and the answer can't bound values by an interval; "" where they can.
    no_interval: ClassVar[str] = ""

    #: Whether intervals and errors hold for each label by itself, given that it is told, and not
    #: for all together.
    each: ClassVar[bool] = False

    #: What errors are measured in: "rows", "column" (the column's own unit), "square" of that,
    #: "share", or what else is counted.
    measured_in: ClassVar[tuple[str, ...]] = ("rows",)

    #: Whether each number is one integer, comparable with the others, so that the label of the
    #: largest can be selected.
    selectable: ClassVar[bool] = False

    #: Whether the kernel must see all rows of a unit together.
    whole_units: ClassVar[bool] = False

    def l1_sensitivity(self, rows: int) -> int:
        """The most that so many rows of one unit add to all integers together: ℓ1."""
        return self.l1 * rows

    def linf_sensitivity(self, rows: int) -> int:
        """The most that so many rows of one unit add to one integer: ℓ∞."""
        return self.linf * rows

    def l2_squared_sensitivity(self, rows: int) -> int:
        """The most that so many rows of one unit move all integers together: ℓ2, squared. By
        Hölder's inequality no more than ℓ1 times ℓ∞."""
        return self.l1_sensitivity(rows) * self.linf_sensitivity(rows)

    @property
    def places(self) -> int:
        """How many numbers of rows there are: one for each cell and column."""
        return len(self.cells)

    #: Whether an error is so many ranks, whatever the values are.
    in_ranks: ClassVar[bool] = False

    def is_count(self, schema: Schema) -> bool:
        """Whether each number counts something, so that an error below 1 would leave it exact."""
        return False

    def counts_rows(self, schema: Schema) -> bool:
        """Whether what is counted are rows, so that an error can be a share of them."""
        return self.is_count(schema)

    def units(self, schema: Schema) -> tuple[str, ...]:
        """What errors are measured in, going by the kinds of columns."""
        return self.measured_in

    def says(self, entry: int) -> str:
        """What a number of the answer says of values, where these are times: one of them
        ("value"), how far they are from each other ("spread"), or neither ("number")."""
        return "value"

    def typed(self, values: Sequence[float], rounded: Callable[[Any], int] = round) -> list[Any]:
        """The answer's numbers as what they mean."""
        return self.layout.typed(values, self.says, rounded)

    def typed_errors(self, errors: Sequence[float]) -> list[Any]:
        """Likewise how far they may be off."""
        if self.in_ranks:
            return list(errors)
        return self.layout.typed(
            errors, lambda entry: "number" if self.says(entry) == "number" else "spread", math.ceil
        )

    #: Whether noise is told in the units of the columns, and not in rows.
    noise_in_columns: ClassVar[bool] = False

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """How much of its unit a noise of 1 is, for each column asked or one for all."""
        return (1.0,)

    @property
    def asked_columns(self) -> list[Any]:
        """The columns that are asked about, which take turns among the numbers; one where what
        takes turns are keys."""
        operands, layout = getattr(self, "operands", ()), self.layout
        across = layout.columns
        if across is None and self.cells.keys is None:
            across = layout.index
        if across is not None and len(across) == len(operands) and len(operands) > 1:
            return list(across)
        is_named = layout.name is None and across is not None and len(across) == len(operands) == 1
        return [across[0]] if is_named and across is not None else [layout.name]

    def possible(self, entry: int) -> Interval | None:
        """The ends between which a number surely lies, as public facts say: (0, ∞) where only 0
        would say nothing. None where no interval is too wide to say something."""
        return None

    def sensitivity(self, rows: int) -> Sensitivity:
        """The most that one unit of so many rows moves."""
        l1, linf = self.l1_sensitivity(rows), self.linf_sensitivity(rows)
        return Sensitivity(l1, self.l2_squared_sensitivity(rows), linf, self.monotone)

    def adapted_to(self, asked: LossRequest) -> Statistic:
        """What answers the same question with integers that suit the noise asked for."""
        return self

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        """What turns the exact into an answer: by default noise on each integer."""
        return additive(asked, sensitivity, alone=self.size == 1)

    def read(self, row_pass: RowPass) -> Any:
        """What is exact: by default the integers of all rows, in one pass over them."""
        return row_pass(self.over_branches, lambda: SumAccumulator(self.size))

    def exact(self, row_pass: RowPass, mechanism: Mechanism) -> Any:
        """What a mechanism needs of what is exact: all of it, unless there is much more."""
        return self.read(row_pass)

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """How far two exact answers are apart, as `Query.sensitivity` counts it: for audits."""
        moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
        return max(moves, default=0) if selecting else sum(moves)

    @abstractmethod
    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """The integers of the chunk's kept rows (at most 2^22 of them)."""

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Any:
        """What all rows that the source rows of a chunk become add: by default the kernel's
        integers."""
        kept = (None if where is None else where.truth(chunk) for chunk in branches)
        parts = [self.kernel(chunk, keep) for chunk, keep in zip(branches, kept, strict=True)]
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0, dtype=np.int64)

    def released_layout(self, noisy: Sequence[Any]) -> Layout:
        """How the answer is laid out: by public facts, and by labels where these are released."""
        return self.layout

    @abstractmethod
    def estimate(self, noisy: Sequence[int]) -> list[float]:
        """The answer's numbers, from noisy integers and public facts only."""

    @abstractmethod
    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """For each number what it may be if every noise lies within ±half_width."""

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """For each number an interval that holds, with all others, with a confidence."""
        return self.intervals(noisy, law.half_width(confidence, self.size))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """How far each number may be from the exact one, with a confidence for all."""
        known = self.errors_by_column(law.half_width(confidence, self.size))
        values = self.estimate(noisy)
        if known is not None and not self.layout.is_mixed:
            return [known[i % len(known)] for i in range(len(values))]
        intervals = self.intervals_at(noisy, law, confidence)
        return [
            max(high - value, value - low)
            for value, (low, high) in zip(values, intervals, strict=True)
        ]

    def errors_among(
        self, law: Any, confidence: float, rows: Sequence[float] | float | None
    ) -> list[float]:
        """Of what errs in ranks: the same if there are at most so many rows, in all or for each
        cell and column."""
        raise QueryError("only quantiles err in ranks, among so many rows.")

    def rows_at_most(
        self, noisy: Sequence[int], law: Any, confidence: float
    ) -> Sequence[float] | None:
        """How many rows each cell and column has at most, with a confidence for all; None where an
        answer doesn't tell."""
        return None

    def expected_at(self, law: Any, confidence: float) -> str:
        """The error in words, before the release, as far as public facts can say."""
        return self.expected(law.half_width(confidence, self.size))

    def answered_at(self, noisy: Sequence[Any], law: Any, confidence: float, before: str) -> str:
        """The error of an answer in words, for each column asked: what it says itself, and where it
        can't, or there is a crowd of numbers, what public facts said before."""
        if len(noisy) > CROWD:
            return before
        try:
            return self.in_words(self.errors_at(noisy, law, confidence)) or before
        except RecordError:
            return before

    def in_words(self, errors: Sequence[float]) -> str:
        """Errors of all numbers in words; "" where that would tell nothing."""
        names = self.asked_columns
        pairs = list(zip(errors, self.typed_errors(errors), strict=True))
        ranges = [spread(pairs[i :: len(names)]) for i in range(len(names))]
        if not all(ranges):
            return ""
        said = by_name(names, ranges, "ranks" if self.in_ranks else "")
        return f"each {said}" if self.each else said

    def comparable(self) -> Statistic:
        """The same with integers that can be compared with each other, for a selection."""
        return self

    def error(self, half_width: int) -> float | None:
        """The error that this half-width means for each number; None if the answer decides it."""
        return None

    def errors_by_column(self, half_width: int) -> list[float] | None:
        """The same for each column asked, or one for all."""
        error = self.error(half_width)
        return None if error is None else [error]

    def ratios_by_column(self, half_width: int) -> list[float] | None:
        """`per_row` for each column asked, or one for all."""
        ratio = self.per_row(half_width)
        return None if ratio is None else [ratio]

    def expected(self, half_width: int) -> str:
        """The error in words, before the release: from public facts only, "" if they can't say."""
        errors, ratios = self.errors_by_column(half_width), self.ratios_by_column(half_width)
        if self.layout.is_mixed:
            return ""
        if ratios is not None:
            return by_name(self.asked_columns, [f"≈ {self.in_short(r)}/n" for r in ratios])
        if errors is None:
            return ""
        return by_name(self.asked_columns, [f"± {self.in_short(error)}" for error in errors])

    def in_short(self, error: float) -> str:
        """An error for people: of times how long it is."""
        ruler = self.layout.ruler
        if ruler is None or self.in_ranks:
            return format_number(error)
        return str(ruler.length(error, math.ceil))

    def per_row(self, half_width: int) -> float | None:
        """Of a ratio: the error to first order, times the number of rows that it is taken over."""
        return None

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        """The largest error of a number, from public facts; of a ratio over so many rows."""
        if self.no_interval or not hasattr(law, "half_width"):
            raise QueryError(f"no public fact decides the error of this. {self.no_interval}")
        half_width = law.half_width(confidence, self.size)
        error, ratio = self.error(half_width), self.per_row(half_width)
        if self.layout.is_mixed:
            raise QueryError("numbers and times have no error in common: ask them one by one.")
        if error is not None:
            return error
        if ratio is None:
            raise QueryError("only the answer decides its error: ask the result's .error().")
        if rows is None:
            raise MissingArgument(
                "expected_rows= is needed: about how many rows a ratio is taken over, from public "
                "knowledge."
            )
        return ratio / rows


def masked(codes: Codes | None, keep: Mask | None, outside: int) -> Codes | None:
    """Cells of the kept rows; the others lie outside."""
    if codes is None or keep is None:
        return codes
    return np.where(keep, codes, outside)


def count_by(codes: Codes | None, mask: Mask | None, rows: int, cells: int) -> Partial:
    """How many rows of each cell hold a mask."""
    if codes is None:
        return np.array([rows if mask is None else np.count_nonzero(mask)], dtype=np.int64)
    if mask is not None:
        codes = np.where(mask, codes, cells)
    return np.bincount(codes, minlength=cells + 1)[:cells].astype(np.int64, copy=False)


def sum_by(codes: Codes | None, integers: npt.NDArray[np.float64], cells: int) -> Partial:
    """Sums of whole numbers up to 2^30 in each cell: exact in any order, being below 2^53."""
    if codes is None:
        return np.array([integers.sum()], dtype=np.float64).astype(np.int64)
    return np.bincount(codes, weights=integers, minlength=cells + 1)[:cells].astype(np.int64)
