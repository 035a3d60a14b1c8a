"""What every statistic has: its contract, its sensitivities, its integers and their estimate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..errors import InternalError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.noise import additive
from ..privacy.mechanisms.selection import selecting
from ..privacy.record_parts import RecordPart
from ..rows.accumulators import Accumulator, SumAccumulator
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.kinds import Kind, Schema
from ..rows.values.vectors import Mask
from .error_model import ErrorModel
from .layout import Cells, Codes, Kept, Layout
from .methods import Method

if TYPE_CHECKING:
    from .samples import Sample

Partial = npt.NDArray[np.int64]
#: The weight of each integer in a sum, by its place.
Weights = Mapping[int, Fraction]
Floats = npt.NDArray[np.float64]

#: A pass over all rows. For each chunk it calls a kernel with the chunk's branches (what its rows
#: become) and the filter, and accumulates what the kernel returns.
BranchKernel = Callable[[Sequence[Chunk], Expression | None], Any]
RowPass = Callable[[BranchKernel, Callable[[], Accumulator]], Any]

T = TypeVar("T")
ONE, ZERO = Fraction(1), Fraction(0)
ALL_ROWS = Cells()


class Form(NamedTuple):
    """A sum of integers with weights, or its quotient by another."""

    part: Weights
    whole: Weights | None = None


#: What follows from a statistic's fields and is asked for several times in a release, so that it is
#: computed once: `__init_subclass__` sees to that in each class.
FOUND_ONCE = ("columns", "expressions", "grids", "l1", "linf", "needed", "size")

#: Every statistic that is loaded: a new one joins the neighbour suite by its name in the table.
REGISTRY: list[type[Statistic]] = []


def _once(method: Callable[[Any], T]) -> Callable[[Any], T]:
    """A method that keeps what it finds beside the fields of a frozen object: out of equality,
    hashes, keys and pickles, which read fields only."""
    name = f"{method.__qualname__}()"  # with the class, which may ask its base for the same

    @wraps(method)
    def find(self: Any) -> T:
        known: dict[str, T] = self.__dict__
        if name not in known:
            known[name] = method(self)
        return known[name]

    return find


@dataclass(frozen=True)
class Statistic(RecordPart, ABC):
    """A vector of integers computed from rows, and the estimates made from its noisy version.

    Contract. For the rows r of a table, ``kernel`` returns Σ_r k(r) with |k(r)|₁ ≤ l1 and
    |k(r)|_∞ ≤ linf, whatever r holds, and k(r) depends on r alone. If ``monotone``, no entry of
    k(r) is negative. So adding a unit of at most m rows moves the vector by at most m·l1 in ℓ1.
    A statistic that isn't a sum over rows (`whole_units`) says its own `l1_sensitivity`.
    """

    cells: Cells
    layout: Layout

    #: Version in the key, counted up where the integers or their estimator change: so that a
    #: new estimator never reads an old answer.
    reading: ClassVar[int] = 1

    #: Fields that don't change the integers: queries that differ only in these are equal.
    not_asked: ClassVar[tuple[str, ...]] = ("layout",)

    #: A statistic with the same integers and fields, if queries of both are equal.
    asked_as: ClassVar[type[Statistic]]

    #: How far its numbers may be off.
    error_model: ClassVar[type[ErrorModel]] = ErrorModel

    #: The page of docs/proofs that proves its contract.
    proof: ClassVar[str]

    #: The methods that ask for it. A subclass has its own.
    methods: ClassVar[tuple[Method, ...]] = ()

    def __init_subclass__(cls, registered: bool = True) -> None:
        super().__init_subclass__()
        cls.methods = vars(cls).get("methods", ())
        cls.takes_limits = vars(cls).get("takes_limits", False)
        for name in FOUND_ONCE:
            own: Any = vars(cls).get(name)
            if isinstance(own, property):
                getter: Any = own.fget
                setattr(cls, name, property(_once(getter)))
            elif callable(own):
                setattr(cls, name, _once(own))
        if registered:
            REGISTRY.append(cls)

    @property
    @_once
    def errors(self) -> ErrorModel:
        """Its errors: before the release, after it, and in words."""
        return self.error_model(self)

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

    @_once
    def expressions(self) -> tuple[Expression, ...]:
        """What the kernel evaluates for each row: by default the labels and the operands."""
        return (*self.cells.by, *getattr(self, "operands", ()))

    @_once
    def columns(self) -> frozenset[Any]:
        """The source columns that the kernel reads."""
        return self.cells.read.union(*(each.columns() for each in self.expressions()))

    #: For a field, the kinds that its expressions must have for the answer to be about anything.
    needs: ClassVar[Mapping[str, frozenset[Kind]]] = MappingProxyType({})

    @_once
    def needed(self) -> Sequence[tuple[Expression, frozenset[Kind]]]:
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

    #: Whether each number is one integer that compares with the others, so that the label of the
    #: largest can be selected.
    selectable: ClassVar[bool] = False

    #: Whether the kernel must see all rows of a unit together.
    whole_units: ClassVar[bool] = False

    #: Whether its numbers are of units, or of groups of these, however many rows they have.
    of_units: ClassVar[bool] = False

    #: Whether its sensitivities hold in cells that are limited, too. A subclass says it anew.
    takes_limits: ClassVar[bool] = False

    #: Whether a function that the caller wrote sees the rows as they were given.
    plain: ClassVar[bool] = False

    @property
    def keyed(self) -> bool:
        """Whether the kernel hashes rows with the key of their source."""
        return False

    def l1_sensitivity(self, rows: int) -> int:
        """The most that `rows` rows of one unit can move all integers together: ℓ1."""
        return self.l1 * (self.cells.most(rows).together if self.cells.limited else rows)

    def linf_sensitivity(self, rows: int) -> int:
        """The most that `rows` rows of one unit can move one integer: ℓ∞."""
        return self.linf * (self.cells.most(rows).in_one if self.cells.limited else rows)

    def l2_squared_sensitivity(self, rows: int) -> int:
        """The square of the most that `rows` rows of one unit can move the vector in ℓ2: at most
        ℓ1 times ℓ∞, by Hölder's inequality; and in disjoint cells that of a row times the squares
        of the numbers of rows (docs/proofs/limits_by_key.md)."""
        all_cells = self.l1_sensitivity(rows) * self.linf_sensitivity(rows)
        if not self.cells.limited:
            return all_cells
        return min(all_cells, self.l1 * self.linf * self.cells.most(rows).squares)

    @property
    def places(self) -> int:
        """How many row counts the answer is about: one for each cell and column."""
        return len(self.cells)

    def is_count(self, schema: Schema) -> bool:
        """Whether each number is a count, which an error below 1 would leave exact."""
        return False

    #: Whether labels alone are released, and no number of them.
    labels_only: ClassVar[bool] = False

    def figures(self) -> tuple[str, ...]:
        """The names of the figures that the answer has of one column in one cell, in order, if
        figures of other releases must be possible beside them."""
        return ()

    def says(self, entry: int) -> str:
        """What a number of the answer is for a column of times: a time ("value"), a duration
        ("spread"), or neither ("number")."""
        return "value"

    def typed(self, values: Sequence[float], rounded: Callable[[Any], int] = round) -> list[Any]:
        """The answer's numbers, as times and durations where they mean these."""
        return self.layout.typed(values, self.says, rounded)

    def sensitivity(self, rows: int) -> Sensitivity:
        """The most that one unit of `rows` rows can move the integers."""
        if self.cells.limited and not self.takes_limits:
            raise InternalError("a statistic that has no sensitivities for limited cells has them.")
        l1, linf = self.l1_sensitivity(rows), self.linf_sensitivity(rows)
        return Sensitivity(l1, self.l2_squared_sensitivity(rows), linf, self.monotone)

    def linf_of_change(self, rows: int) -> int:
        """The most that one integer moves if a unit's rows become others: at most that of leaving
        out the old ones, and that of adding the new ones."""
        return 2 * self.linf_sensitivity(rows)

    def l1_of_change(self, rows: int) -> int:
        """The most that all integers move together if a unit's rows become others."""
        return 2 * self.l1_sensitivity(rows)

    def sensitivity_of_change(self, rows: int) -> Sensitivity:
        """The most that the integers move if the rows of one unit, `rows` at most before and after,
        become others (docs/proofs/changes.md)."""
        l1, linf = self.l1_of_change(rows), self.linf_of_change(rows)
        squared = min(4 * self.l2_squared_sensitivity(rows), l1 * linf)
        return Sensitivity(l1, squared, linf, monotone=False)

    def adapted_to(self, asked: LossRequest, rows: int) -> Statistic:
        """A statistic that answers the same question with integers that suit the noise, where a
        unit has at most `rows` rows."""
        return self

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        """The mechanism that releases the answer: by default noise on each integer."""
        return additive(asked, sensitivity, alone=self.size == 1)

    def selection(self, asked: LossRequest, sensitivity: Sensitivity, number: int) -> Mechanism:
        """The mechanism that selects the labels of its largest integers, so many of them."""
        return selecting(asked, sensitivity, number)

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
        parts = [self.kernel(*each) for each in with_kept(branches, where, self.cells)]
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0, dtype=np.int64)

    def released_layout(self, noisy: Sequence[Any]) -> Layout:
        """The answer's layout, from public facts and from labels where these are released."""
        return self.layout

    @abstractmethod
    def estimate(self, noisy: Sequence[int]) -> list[float]:
        """The answer's numbers, from noisy integers and public facts alone."""

    def forms(self, integers: int) -> Sequence[Form | None]:
        """What each number of the answer is of so many exact integers, in declared order; None for
        what is no sum or quotient of sums, and nothing if none is."""
        return ()

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        """What each number says of the population that rows of these kinds are a sample of, in
        declared order; None for what says nothing of it, and nothing if none does."""
        return ()

    def comparable(self) -> Statistic:
        """This statistic with all its integers on one scale, as a selection needs it."""
        return self


def with_kept(
    branches: Sequence[Chunk], where: Expression | None, cells: Cells = ALL_ROWS
) -> Sequence[Kept]:
    """Each branch with the rows that a filter keeps and cells count, None for all."""
    kept = [(chunk, None if where is None else where.truth(chunk)) for chunk in branches]
    return cells.counted(kept) if cells.limited else kept


def count_by(codes: Codes | None, mask: Mask | None, rows: int, cells: int) -> Partial:
    """How many rows of each cell a mask selects."""
    if codes is None:
        return np.array([rows if mask is None else np.count_nonzero(mask)], dtype=np.int64)
    if mask is not None:
        codes = np.where(mask, codes, cells)
    return np.bincount(codes, minlength=cells + 1)[:cells].astype(np.int64, copy=False)


def sum_by(codes: Codes | None, integers: Floats | Partial, cells: int) -> Floats:
    """Sums of whole numbers up to 2^30 in each cell: exact in any order, being below 2^53. NaN for
    a cell with a NaN."""
    if codes is None:
        return np.array([integers.sum()], dtype=np.float64)
    sums = np.bincount(codes, weights=integers, minlength=cells + 1)[:cells]
    return np.asarray(sums, dtype=np.float64)
