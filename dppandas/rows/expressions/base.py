"""The tree of row-wise expressions: what every node must do, the leaves, and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, field, fields, found_once, replace
from ..facts import kinds
from ..facts.bounds import Bounds, covering, finite
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..facts.steps import Step, Steps
from ..values import vectors
from ..values.cells import nearest
from ..values.forms import Codes, Mask, Numbers, Truths, Vector

Domain = Mapping[Any, Declaration]
#: Of a kind that follows from an expression alone, whatever the dtypes.
NO_SCHEMA: Schema = {}


class Chunk(Protocol):
    """Some rows of a source."""

    rows: int
    branch: int  # which of the rows made from one source row: see ByBranch

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        """The unit of each row, as a number, if the engine was asked for whole units."""

    def column(self, name: Any) -> Vector: ...

    def hashed(
        self, names: Sequence[Any], salt: bytes, equal: bool = True
    ) -> npt.NDArray[np.uint64]:
        """A keyed hash of each row's values in some columns: the same for equal values, or for
        identical ones alone."""

    def history(self, history: Any) -> Vector:
        """What each row knows of its unit: a `History`."""

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        """The rows as they were given: only for a function that the caller wrote."""


def remembered(chunk: Chunk, expression: Expression, made: Callable[[], Vector]) -> Vector:
    """The value of an expression on a chunk, computed once. Many expressions may share one part, as
    the entries of a gradient share a weighted sum; so nothing may write into the array."""
    memo = getattr(chunk, "memo", None)
    if memo is None:
        return made()
    key = id(expression), chunk.branch
    if key not in memo:
        vector = made()
        if isinstance(vector, Numbers):
            vector.values.flags.writeable = False
        memo[key] = expression, vector  # keeping the expression keeps its id from being reused
    found: Vector = memo[key][1]
    return found


E_ = TypeVar("E_", bound="Expression")
T = TypeVar("T")
#: Operands, and the kinds that each may have.
Needs = Iterator[tuple["Expression", frozenset[Kind]]]
#: Operands that are compared with plain values, and these values.
Meets = Iterator[tuple["Expression", Sequence[Any]]]


@cache
def _fields_of(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a class."""
    return tuple(each.name for each in fields(kind))


@dataclass(frozen=True)
class Expression:
    """A row-wise expression: one value per row, computed from that row alone."""

    #: Whether its text needs no brackets inside another.
    is_atom: ClassVar[bool] = True

    #: Whether it keeps every row.
    keeps_all: ClassVar[bool] = False

    #: The kinds that its operands may have.
    takes: ClassVar[frozenset[Kind]] = kinds.ANY

    #: The kind of its values, where it is always the same.
    makes: ClassVar[Kind] = kinds.UNKNOWN

    def __getstate__(self) -> dict[str, Any]:
        """What it says, without what it remembers: kernels travel."""
        kind: Any = type(self)
        return {name: getattr(self, name) for name in _fields_of(kind)}

    def vector(self, chunk: Chunk) -> Vector:
        raise NotImplementedError

    def truth(self, chunk: Chunk) -> Mask:
        """Which rows hold True, or a number equal to it."""
        return vectors.compare_scalar("==", self.vector(chunk), True)

    def children(self) -> Iterable[Expression]:
        return self._children

    @found_once
    def _children(self) -> tuple[Expression, ...]:
        kind: Any = type(self)
        found: list[Expression] = []
        for name in _fields_of(kind):
            value = getattr(self, name)
            parts = value if isinstance(value, tuple) else (value,)
            found += [part for part in parts if isinstance(part, Expression)]
        return tuple(found)

    def columns(self) -> frozenset[Any]:
        """The source columns that this reads."""
        return self._known("_columns", None, self._columns_of_children)

    def _columns_of_children(self, facts: None) -> frozenset[Any]:
        return frozenset().union(*[child.columns() for child in self.children()])

    def samples(self) -> int:
        """How many samples this takes."""
        return self._known("_samples", None, self._samples_of_children)

    def _samples_of_children(self, facts: None) -> int:
        return sum([child.samples() for child in self.children()])

    def declared(self, domain: Domain) -> Declaration | None:
        """What the columns' declared facts imply about the values."""
        return self._known("_declaration", domain, self._declared)

    def _declared(self, domain: Domain) -> Declaration | None:
        return None

    def step(self, steps: Steps) -> Step | None:
        """The step of which all its values are multiples, if the columns' steps prove one."""
        return self._known("_known_step", steps, self._stepped)

    def _stepped(self, steps: Steps) -> Step | None:
        return None

    def known_keys(self, domain: Domain, schema: Schema) -> Keys | None:
        """The labels that its values can have, if public facts say which these are. They may follow
        where `declared` says less, or nothing."""
        declared = self.declared(domain)
        return declared if isinstance(declared, Keys) else None

    def _known(self, name: str, facts: Any, find: Callable[[Any], T]) -> T:
        """What follows from public facts, remembered for the last ones: a gradient has a sum per
        feature, and each asks for the bounds of the one residual that is computed from all."""
        known: tuple[Any, T] | None = self.__dict__.get(name)
        if known is None or known[0] is not facts:
            known = self.__dict__[name] = facts, find(facts)
        return known[1]

    def bounds(self, domain: Domain) -> Bounds | None:
        """The declared range, or the range of declared numbers."""
        declared = self.declared(domain)
        if isinstance(declared, Keys):
            return self._known("_span", declared, spanned)
        return declared if isinstance(declared, Bounds) else None

    def kind(self, schema: Schema) -> Kind:
        """The kind of its values, from the kinds of the columns; what follows from the expression
        alone, if these are none."""
        if not schema:
            return self._known("_own_kind", NO_SCHEMA, self._kind)
        return self._known("_known_kind", schema, self._kind)

    def _kind(self, schema: Schema) -> Kind:
        return self.makes

    def needs(self, schema: Schema) -> Needs:
        return ((child, self.takes) for child in self.children())

    def meets(self) -> Meets:
        return iter(())

    def places_among(self, keys: Keys, chunk: Chunk) -> Codes | None:
        """The position of each value among public labels, len(keys) if it is none, where that takes
        no look at each value's label; else None."""
        return None

    def at(self: E_, branch: int) -> E_:
        """The expression that holds in one branch of the rows."""
        return self._of_parts(lambda part: part.at(branch))

    def of_columns(self, columns: Mapping[Any, Expression]) -> Expression:
        """The expression with others in the place of columns."""
        return self._of_parts(lambda part: part.of_columns(columns))

    def _of_parts(self: E_, change: Callable[[Expression], Expression]) -> E_:
        changed: dict[str, Any] = {}
        kind: Any = type(self)
        for name in _fields_of(kind):
            value = getattr(self, name)
            if isinstance(value, Expression):
                changed[name] = change(value)
            elif isinstance(value, tuple) and any(isinstance(part, Expression) for part in value):
                changed[name] = tuple(map(change, value))
        return replace(self, **changed) if changed else self

    @property
    def is_truth(self) -> bool:
        """Whether every value is True or False."""
        return isinstance(self, Truth)

    @property
    def may_be_truth(self) -> bool:
        """Whether rows can be kept by it: a truth value, which may be missing, or a column that may
        hold some."""
        return self.is_truth or self.kind(NO_SCHEMA) == kinds.TRUTH

    @property
    def has_order(self) -> bool:
        """Whether its values are labels with an order that isn't that of their texts or numbers."""
        return False

    @property
    def inner(self) -> str:
        """Its text inside another expression, in brackets if it needs them."""
        return str(self) if self.is_atom else f"({self})"


def spanned(keys: Keys) -> Bounds | None:
    """The range of keys that are all numbers and fit float64."""
    if not all(isinstance(label, vectors.NUMBERS) for label in keys.labels):
        return None
    numbers = list(map(nearest, keys.labels))
    return finite(min(numbers), max(numbers))


class Truth(Expression):
    """An expression whose values are True or False, and never missing."""

    makes = kinds.TRUTH

    def vector(self, chunk: Chunk) -> Vector:
        return Truths(self.truth(chunk))

    def _declared(self, domain: Domain) -> Declaration | None:
        return Keys((False, True))


class Labelled(Expression):
    """An expression whose values are some of its public ``labels``."""

    labels: Any

    def _declared(self, domain: Domain) -> Declaration | None:
        return Keys(self.labels)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.joined(map(kinds.of_value, self.labels))


class Remembered(Expression):
    """An expression whose value on a chunk is remembered."""

    def vector(self, chunk: Chunk) -> Vector:
        return remembered(chunk, self, lambda: self._made(chunk))

    def _made(self, chunk: Chunk) -> Vector:
        raise NotImplementedError


@dataclass(frozen=True)
class Unary(Expression):
    """An expression of one operand."""

    operand: Expression


class Infix(Expression):
    """An operation written between its two operands."""

    operation: Any
    left: Any
    right: Any

    is_atom = False

    def __str__(self) -> str:
        return f"{self.left.inner} {self.operation} {self.right.inner}"


@dataclass(frozen=True)
class Column(Expression):
    """A column of the source.

    ordered : whether its dtype is one of ordered categories, which says nothing of which they are:
        their order is that of the declared keys.
    """

    name: Any
    ordered: bool = field(default=False, compare=False, repr=False, kw_only=True)
    not_asked: ClassVar[tuple[str, ...]] = ("ordered",)

    def vector(self, chunk: Chunk) -> Vector:
        return chunk.column(self.name)

    def columns(self) -> frozenset[Any]:
        return frozenset([self.name])

    def of_columns(self, columns: Mapping[Any, Expression]) -> Expression:
        return columns[self.name]

    def _declared(self, domain: Domain) -> Declaration | None:
        known = domain.get(self.name)
        if isinstance(known, Keys) and self.ordered:
            return replace(known, ordered=frozenset([0]))
        return known

    def _stepped(self, steps: Steps) -> Step | None:
        return steps.get(self.name)

    @property
    def may_be_truth(self) -> bool:
        return True

    @property
    def has_order(self) -> bool:
        return self.ordered

    def _kind(self, schema: Schema) -> Kind:
        return schema.get(self.name, kinds.UNKNOWN)

    def __str__(self) -> str:
        name = str(self.name)
        return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Literal(Expression):
    """A plain value that the caller wrote, the same in every row. None is missing."""

    value: Any

    def vector(self, chunk: Chunk) -> Vector:
        return vectors.constant(self.value, chunk.rows)

    def _declared(self, domain: Domain) -> Declaration | None:
        return None if self.value is None else Keys((self.value,))

    @property
    def may_be_truth(self) -> bool:
        return isinstance(self.value, bool)

    def _kind(self, schema: Schema) -> Kind:
        return kinds.of_value(self.value)

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class ByBranch(Expression):
    """An expression that differs between the rows made from one source row: one per branch.

    A frame made by explode or concat reads each source row once per branch. Each branch is
    row-wise, so the stability is the number of branches.
    """

    branches: tuple[Expression, ...]

    def vector(self, chunk: Chunk) -> Vector:
        return self.branches[chunk.branch].vector(chunk)

    def truth(self, chunk: Chunk) -> Mask:
        return self.branches[chunk.branch].truth(chunk)

    def _declared(self, domain: Domain) -> Declaration | None:
        """What all branches declare alike, or else all their keys, or the range that covers them. A
        branch where all is missing adds nothing."""
        parts = [part for part in self.branches if not is_none(part)]
        declared = [part.declared(domain) for part in parts]
        if all(repr(each) == repr(declared[0]) for each in declared):
            return declared[0] if declared else None
        keys = [each.labels for each in declared if isinstance(each, Keys)]
        if len(keys) == len(parts):
            return Keys(vectors.distinct(label for labels in keys for label in labels))
        return covering([part.bounds(domain) for part in parts])

    def _stepped(self, steps: Steps) -> Step | None:
        return common_step(self.branches, steps)

    def _kind(self, schema: Schema) -> Kind:
        return one_of(self.branches, schema)

    def at(self, branch: int) -> Any:
        return self.branches[branch]

    @property
    def is_truth(self) -> bool:
        return all(part.is_truth for part in self.branches)

    def __str__(self) -> str:
        if not any(part.keeps_all for part in self.branches):
            return f"({' / '.join(map(str, self.branches))})"
        rows = ("all rows" if part.keeps_all else f"those with {part}" for part in self.branches)
        return f"({', then '.join(rows)})"


def by_branch(parts: Sequence[Expression]) -> Expression:
    """One expression per branch, or a single one if all are the same."""
    alike = all(repr(part) == repr(parts[0]) for part in parts)  # 1 == True, but they differ
    return parts[0] if alike else ByBranch(tuple(parts))


def common_step(parts: Sequence[Expression], steps: Steps) -> Step | None:
    """The step of a value that is one of several, if all have the same; a missing value has any."""
    found = {part.step(steps) for part in parts if not is_none(part)}
    return found.pop() if len(found) == 1 else None


def one_of(parts: Sequence[Expression], schema: Schema) -> Kind:
    """The kind of a value that is one of several; a missing value fits any kind."""
    return kinds.joined(part.kind(schema) for part in parts if not is_none(part))


def is_none(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is None
