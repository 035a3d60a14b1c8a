"""The tree of row-wise expressions: its contract, its leaves, and its branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..facts import kinds
from ..facts.bounds import Bounds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..values import vectors
from ..values.vectors import Mask, Numbers, Truths, Vector

Domain = Mapping[Any, Declaration]


class Chunk(Protocol):
    """Some rows of a source."""

    rows: int
    branch: int  # which of the rows that one source row becomes: see ByBranch

    @property
    def units(self) -> npt.NDArray[np.intp] | None:
        """A number for the unit of each row, where the engine was asked for whole units."""
        ...

    def column(self, name: Any) -> Vector: ...

    def hashed(self, names: Sequence[Any], salt: bytes) -> npt.NDArray[np.uint64]:
        """A keyed hash of each row's values in some columns."""
        ...

    def plain(self, names: Sequence[Any]) -> pd.DataFrame:
        """The rows as they were given, for the caller's own function, and for nothing else."""
        ...


def remembered(chunk: Chunk, expression: Expression, made: Callable[[], Vector]) -> Vector:
    """What an expression says of a chunk, made once where many others are made from it, as a
    weighted sum is in each entry of a gradient. Nothing may write into it: others read it."""
    memo = getattr(chunk, "memo", None)
    if memo is None:
        return made()
    key = id(expression), chunk.branch
    if key not in memo:
        vector = made()
        if isinstance(vector, Numbers):
            vector.values.flags.writeable = False
        memo[key] = expression, vector  # with the expression, so that no other gets its id
    found: Vector = memo[key][1]
    return found


E_ = TypeVar("E_", bound="Expression")


@dataclass(frozen=True)
class Expression:
    """A row-wise expression: one value a row, made from that row alone."""

    #: Whether its text can stand in another's without brackets.
    is_atom: ClassVar[bool] = False

    #: Of which kinds its operands have to be, for it to make something of them.
    takes: ClassVar[frozenset[Kind]] = kinds.ANY

    def vector(self, chunk: Chunk) -> Vector:
        raise NotImplementedError

    def truth(self, chunk: Chunk) -> Mask:
        """Which rows hold True (or a number that equals it)."""
        return vectors.compare_scalar("==", self.vector(chunk), True)

    def children(self) -> Iterator[Expression]:
        for each in fields(self):
            value = getattr(self, each.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield part

    def columns(self) -> frozenset[Any]:
        """The source columns that this reads."""
        return frozenset().union(*(child.columns() for child in self.children()))

    def declared(self, domain: Domain) -> Declaration | None:
        """The public facts about the values that follow from those declared for the columns."""
        return None

    def bounds(self, domain: Domain) -> Bounds | None:
        """The range that is declared, or spanned by declared numbers.

        Remembered for the domain last asked about: a gradient has a sum for each feature, all of
        them of one residual, which is made of all features."""
        known = self.__dict__.get("_bounds")
        if known is None or known[0] is not domain:
            declared = self.declared(domain)
            if isinstance(declared, Keys):
                declared = spanned(declared)
            known = domain, declared if isinstance(declared, Bounds) else None
            object.__setattr__(self, "_bounds", known)
        found: Bounds | None = known[1]
        return found

    def kind(self, schema: Schema) -> Kind:
        """What its values are, by the kinds of the columns; unknown where that can't be said.

        Remembered for the schema last asked about, as bounds are."""
        known = self.__dict__.get("_known_kind")
        if known is None or known[0] is not schema:
            known = schema, self._kind(schema)
            object.__setattr__(self, "_known_kind", known)
        found: Kind = known[1]
        return found

    def _kind(self, schema: Schema) -> Kind:
        return kinds.UNKNOWN

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        """Its operands, and of which kinds each has to be."""
        return ((child, self.takes) for child in self.children())

    def meets(self) -> Iterator[tuple[Expression, Sequence[Any]]]:
        """Operands that are compared with plain values, and these."""
        return iter(())

    def at(self: E_, branch: int) -> E_:
        """What this says in one branch of its rows."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Expression):
                changed[each.name] = value.at(branch)
            elif isinstance(value, tuple) and any(isinstance(part, Expression) for part in value):
                changed[each.name] = tuple(part.at(branch) for part in value)
        return replace(self, **changed) if changed else self

    @property
    def is_truth(self) -> bool:
        """Whether every value is True or False."""
        return isinstance(self, Truth)


def spanned(keys: Keys) -> Bounds | None:
    """The range of keys that are numbers, where it has one."""
    if not all(isinstance(label, vectors.NUMBERS) for label in keys.labels):
        return None
    try:
        numbers = [float(label) for label in keys.labels]
    except OverflowError:
        return None
    return finite(min(numbers), max(numbers))


def finite(lower: float, upper: float) -> Bounds | None:
    """Bounds, where both ends are finite and in order, and not too far apart (`Bounds.parse`)."""
    low, high = float(lower), float(upper)
    if not (low <= high and max(-low, high) <= 2.0**900):
        return None
    return Bounds(low + 0.0, high + 0.0)


class Truth(Expression):
    """An expression whose values are True and False, and never missing."""

    def vector(self, chunk: Chunk) -> Vector:
        return Truths(self.truth(chunk))

    def declared(self, domain: Domain) -> Declaration | None:
        return Keys((False, True))

    def _kind(self, schema: Schema) -> Kind:
        return kinds.TRUTH


@dataclass(frozen=True)
class Column(Expression):
    """A column of the source."""

    name: Any

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        return chunk.column(self.name)

    def columns(self) -> frozenset[Any]:
        return frozenset([self.name])

    def declared(self, domain: Domain) -> Declaration | None:
        return domain.get(self.name)

    def _kind(self, schema: Schema) -> Kind:
        return schema.get(self.name, kinds.UNKNOWN)

    def __str__(self) -> str:
        name = str(self.name)
        return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Literal(Expression):
    """A plain value that the caller wrote down: the same in each row. None is a missing one."""

    value: Any

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        return vectors.constant(self.value, chunk.rows)

    def declared(self, domain: Domain) -> Declaration | None:
        return None if self.value is None else Keys((self.value,))

    def _kind(self, schema: Schema) -> Kind:
        return kinds.of_value(self.value)

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class ByBranch(Expression):
    """What differs between the rows that one source row becomes: in branch i it is parts[i].

    A frame made by explode or concat reads each source row several times, once a branch; so its
    stability is the number of its branches, and each branch is row-wise.
    """

    branches: tuple[Expression, ...]

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        return self.branches[chunk.branch].vector(chunk)

    def truth(self, chunk: Chunk) -> Mask:
        return self.branches[chunk.branch].truth(chunk)

    def declared(self, domain: Domain) -> Declaration | None:
        """What all branches declare alike; else the range of all, if they are numbers."""
        declared = [part.declared(domain) for part in self.branches]
        if all(repr(each) == repr(declared[0]) for each in declared):
            return declared[0]
        ranges = [part.bounds(domain) for part in self.branches]
        known = [each for each in ranges if each is not None]
        if len(known) < len(ranges):
            return None
        return Bounds(min(b.lower for b in known), max(b.upper for b in known))

    def _kind(self, schema: Schema) -> Kind:
        return one_of(self.branches, schema)

    def at(self, branch: int) -> Any:
        return self.branches[branch]

    @property
    def is_truth(self) -> bool:
        return all(part.is_truth for part in self.branches)

    def __str__(self) -> str:
        return f"({' / '.join(map(str, self.branches))})"


def by_branch(parts: Sequence[Expression]) -> Expression:
    """Expressions side by side; one alone where they are all the same."""
    alike = all(repr(part) == repr(parts[0]) for part in parts)  # 1 and True are equal, not alike
    return parts[0] if alike else ByBranch(tuple(parts))


def one_of(parts: Sequence[Expression], schema: Schema) -> Kind:
    """The kind of a value that is one of several; a missing one is of any kind."""
    there = [part for part in parts if not (isinstance(part, Literal) and part.value is None)]
    return kinds.joined(part.kind(schema) for part in there)


def inner(expression: Expression) -> str:
    """An expression as a part of another: in brackets, unless it can't be misread."""
    return str(expression) if expression.is_atom else f"({expression})"
