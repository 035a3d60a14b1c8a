"""Values that follow from all rows of a unit: what a row knows of the other rows of its person.

They are computed for each unit by itself, by engines, before rows are truncated (ADR 63). So a row
more or less of one unit changes no value of another, and which rows are kept doesn't change with
what is asked.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

from ...dataclasses import dataclass, field, replace
from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..facts.steps import Step, Steps
from ..values.forms import Vector
from .base import Chunk, Column, Domain, Expression, Needs


class Gives(enum.Enum):
    """What is made of some values."""

    ONE = "one of them"
    BETWEEN = "a number between them"
    NUMBER = "a number"
    WHOLE = "a whole number"
    TRUTH = "a truth value"


@dataclass(frozen=True)
class Way:
    """How rows of a unit become one value, or a value for each of them.

    takes : the kinds of values that it is for. is_ordered : whether it means nothing without an
        order of the rows.
    """

    gives: Gives
    takes: frozenset[Kind] = kinds.ANY
    is_ordered: bool = False

    @property
    def chooses(self) -> bool:
        return self.gives is Gives.ONE


#: One value for a unit, or for each of its groups.
AGGREGATES: Mapping[str, Way] = MappingProxyType({
    "sum": Way(Gives.NUMBER, kinds.NUMBERS),
    "mean": Way(Gives.BETWEEN, kinds.NUMBERS),
    "median": Way(Gives.BETWEEN, kinds.NUMBERS),
    "min": Way(Gives.ONE),
    "max": Way(Gives.ONE),
    "first": Way(Gives.ONE),
    "last": Way(Gives.ONE, is_ordered=True),
    "count": Way(Gives.WHOLE),
    "nunique": Way(Gives.WHOLE, kinds.LABELS),
    "any": Way(Gives.TRUTH, kinds.TRUTHS),
    "all": Way(Gives.TRUTH, kinds.TRUTHS),
    "size": Way(Gives.WHOLE),
})  # fmt: skip

#: A value for each row.
ROW_BY_ROW: Mapping[str, Way] = MappingProxyType({
    "shift": Way(Gives.ONE, is_ordered=True),
    "ffill": Way(Gives.ONE, is_ordered=True),
    "bfill": Way(Gives.ONE, is_ordered=True),
    "cumcount": Way(Gives.WHOLE, is_ordered=True),
    "cumsum": Way(Gives.NUMBER, kinds.NUMBERS, is_ordered=True),
    "cummax": Way(Gives.ONE, is_ordered=True),
    "cummin": Way(Gives.ONE, is_ordered=True),
    "rank": Way(Gives.NUMBER),
})  # fmt: skip

WAYS = {**AGGREGATES, **ROW_BY_ROW}


@dataclass(frozen=True)
class OwnRows:
    """The rows of each unit that pass a filter, in groups and in an order.

    unit : the column that says whose rows they are. by : further labels of groups. order : by what
        rows of a group are sorted, where ``falling`` from the largest on; a keyed hash of the whole
        row decides between equal ones. branches : how many rows a row of the source is here.
    name : the same for the same rows of a table, so that engines sort them once.
    """

    unit: Any
    by: tuple[Expression, ...] = ()
    order: tuple[Expression, ...] = ()
    falling: tuple[bool, ...] = ()
    where: Expression | None = None
    branches: int = 1
    name: str = ""

    not_asked: ClassVar[tuple[str, ...]] = ("name",)

    def expressions(self) -> Iterator[Expression]:
        yield from (*self.by, *self.order)
        if self.where is not None:
            yield self.where

    def __str__(self) -> str:
        groups = " and ".join([str(Column(self.unit)), *map(str, self.by)])
        each = zip(self.order, self.falling, strict=True)
        order = ", ".join(f"{by} descending" if falls else str(by) for by, falls in each)
        said = f"by {groups}{f' in order of {order}' if order else ''}"
        return said if self.where is None else f"{said} of rows where {self.where}"


@dataclass(frozen=True, eq=False)
class History(Expression):
    """A value for each row that follows from its unit's rows: one of `WAYS`.

    options : those of pandas' method, by name. branch : of which of the rows made from one source
        row it is: it stays the same where these rows become several later on.
    name : the same for equal histories of a table, so that engines compute them once.
    """

    rows: OwnRows
    how: str
    operand: Expression | None = None
    options: tuple[tuple[str, Any], ...] = ()
    branch: int = 0
    name: str = field(default="", repr=False)

    not_asked: ClassVar[tuple[str, ...]] = ("name",)
    is_atom = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._id == other._id

    def __hash__(self) -> int:
        return hash(self._id)

    @property
    def _id(self) -> tuple[str, int]:
        return self.name, self.branch

    @property
    def way(self) -> Way:
        return WAYS[self.how]

    def in_branch(self, branch: int) -> History:
        return replace(self, branch=branch)

    def children(self) -> Iterator[Expression]:
        if self.operand is not None:
            yield self.operand
        yield from self.rows.expressions()

    def columns(self) -> frozenset[Any]:
        return super().columns() | {self.rows.unit}

    def at(self, branch: int) -> History:
        return self

    def vector(self, chunk: Chunk) -> Vector:
        return chunk.history(self)

    def needs(self, schema: Schema) -> Needs:
        if self.operand is not None:
            yield self.operand, self.way.takes

    def _kind(self, schema: Schema) -> Kind:
        if self.way.gives is Gives.TRUTH:
            return kinds.TRUTH
        if self.operand is not None and self.way.chooses:
            return self.operand.kind(schema)
        return kinds.NUMBER

    def _declared(self, domain: Domain) -> Declaration | None:
        if self.way.gives is Gives.TRUTH:
            return Keys((False, True))
        if self.operand is not None and self.way.gives is Gives.BETWEEN:
            return self.operand.bounds(domain)
        is_one = self.operand is not None and self.way.chooses
        return self.operand.declared(domain) if is_one else None  # type: ignore[union-attr]

    def _stepped(self, steps: Steps) -> Step | None:
        if self.way.gives is Gives.WHOLE:
            return Step(Fraction(1))
        is_one = self.operand is not None and self.way.chooses
        return self.operand.step(steps) if is_one else None  # type: ignore[union-attr]

    @property
    def may_be_truth(self) -> bool:
        if self.operand is not None and self.way.chooses:
            return self.operand.may_be_truth
        return super().may_be_truth

    @property
    def has_order(self) -> bool:
        return self.operand is not None and self.way.chooses and self.operand.has_order

    def __str__(self) -> str:
        options = [f"{name}={value!r}" for name, value in self.options]
        operand = [] if self.operand is None else [str(self.operand)]
        said = f"{self.how}({', '.join([*operand, *options])}) {self.rows}"
        if self.rows.branches == 1:
            return said
        return f"{said} in branch {self.branch + 1} of {self.rows.branches}"


def histories(*given: Expression | None) -> list[History]:
    """The histories that expressions are made of, but not those inside them."""
    found: list[History] = []
    waiting, seen = [each for each in given if each is not None], set[int]()
    while waiting:
        expression = waiting.pop()
        if id(expression) in seen:
            continue
        seen.add(id(expression))
        if isinstance(expression, History):
            found.append(expression)
        else:
            waiting += expression.children()
    return found
