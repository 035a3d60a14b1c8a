"""Values chosen among values: where, maps of plain values, casts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..facts import kinds
from ..facts.bounds import Bounds
from ..facts.domain import Declaration
from ..facts.keys import Keys, is_missing, plain
from ..facts.kinds import Kind, Schema
from ..values import MISSING, Cell, canonical, vectors
from ..values.forms import Array
from ..values.objects import value_of
from ..values.vectors import Numbers, Truths, Vector
from .base import Chunk, Column, Domain, Expression, Literal, inner, one_of


@dataclass(frozen=True)
class Where(Expression):
    """One value where a condition holds, another where not. Numbers become float64."""

    condition: Expression
    yes: Expression
    no: Expression

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        keep = self.condition.truth(chunk)
        return vectors.choose(keep, self.yes.vector(chunk), self.no.vector(chunk))

    def declared(self, domain: Domain) -> Declaration | None:
        return either(self.yes, self.no, domain)

    def _kind(self, schema: Schema) -> Kind:
        return one_of((self.yes, self.no), schema)

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.condition, kinds.TRUTHS

    def __str__(self) -> str:
        return f"where({self.condition}, {self.yes}, {self.no})"


def either(a: Expression, b: Expression, domain: Domain) -> Declaration | None:
    """What is known of a value that is one or the other; a missing one is neither."""
    missing = [isinstance(each, Literal) and each.value is None for each in (a, b)]
    if missing[0] or missing[1]:
        return (b if missing[0] else a).declared(domain)
    one, other = a.declared(domain), b.declared(domain)
    if isinstance(one, Keys) and isinstance(other, Keys):
        return Keys(vectors.distinct((*one.labels, *other.labels)))
    x, y = a.bounds(domain), b.bounds(domain)
    if x is None or y is None:
        return None
    return Bounds(min(x.lower, y.lower), max(x.upper, y.upper))


@dataclass(frozen=True)
class Mapped(Expression):
    """A plain value for each of some plain values; missing (or the value itself) for others."""

    operand: Expression
    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    others_stay: bool = False

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        codes = vectors.prepared(self.keys).codes(operand)
        mapped = taken(self.values, codes)
        if not self.others_stay:
            return mapped
        return vectors.choose(codes < len(self.keys), mapped, operand)

    def declared(self, domain: Domain) -> Declaration | None:
        values = vectors.distinct(v for v in self.values if v is not None)
        if not self.others_stay:
            return Keys(values) if values else None
        return either(Literal(values[0]), self.operand, domain) if len(values) == 1 else None

    def _kind(self, schema: Schema) -> Kind:
        others = (self.operand,) if self.others_stay else ()
        return one_of((*map(Literal, self.values), *others), schema)

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.operand, kinds.ANY if self.others_stay else kinds.LABELS

    def meets(self) -> Iterator[tuple[Expression, Sequence[Any]]]:
        if not self.others_stay:  # replace leaves what it doesn't find, as pandas does
            yield self.operand, self.keys

    def __str__(self) -> str:
        pairs = list(zip(self.keys, self.values, strict=True))
        said = ", ".join(f"{key!r}: {value!r}" for key, value in pairs[:8])
        verb = "replace" if self.others_stay else "map"
        return f"{verb}({self.operand}, {{{said}{', …' if len(pairs) > 8 else ''}}})"


def taken(values: tuple[Any, ...], codes: Array) -> Vector:
    """The value of each code, missing for the code len(values); None is missing."""
    return vectors.coded(values, np.where(codes == len(values), -1, codes))


_SAYABLE = kinds.ANY - {kinds.LIST}
#: Of what kinds a cast makes something, and what.
_CASTS: dict[str, tuple[frozenset[Kind], Kind]] = {
    "int": (kinds.NUMBERS | kinds.TEXTS, kinds.NUMBER),
    "float": (kinds.NUMBERS | kinds.TEXTS, kinds.NUMBER),
    "bool": (kinds.NUMBERS | kinds.TEXTS, kinds.TRUTH),
    "str": (_SAYABLE, kinds.TEXT),
    "datetime": (kinds.TIMES | kinds.TEXTS, kinds.TIME),
}


@dataclass(frozen=True)
class Cast(Expression):
    """A value as another type: int, float, bool, str or datetime; missing where it has none."""

    operand: Expression
    to: str

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.to in ("int", "float"):
            numbers = vectors.as_numbers(operand)
            if self.to == "int":
                numbers = np.trunc(np.where(np.isfinite(numbers), numbers, np.nan)) + 0.0
            return Numbers(numbers)
        return vectors.by_cell(operand, CASTS[self.to], ("cast", self.to))

    def declared(self, domain: Domain) -> Declaration | None:
        declared = self.operand.declared(domain)
        if self.to == "bool":
            return Keys((False, True))
        if self.to == "str" and isinstance(declared, Keys):
            texts = dict.fromkeys(map(as_text, declared.labels))
            return None if None in texts else Keys(tuple(texts))
        bounds = self.operand.bounds(domain)
        if self.to not in ("int", "float") or bounds is None:
            return None
        if self.to == "int":
            return Bounds(float(np.trunc(bounds.lower)), float(np.trunc(bounds.upper)))
        return declared

    def _kind(self, schema: Schema) -> Kind:
        operand = self.operand.kind(schema)
        is_time = self.to == "datetime" and operand == kinds.ZONED  # keeps its zone
        return operand if is_time else _CASTS[self.to][1]

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.operand, _CASTS[self.to][0]

    def __str__(self) -> str:
        return f"{inner(self.operand)} as {self.to}"


def as_text(value: Any) -> str | None:
    """A public value as text, as `_as_text` writes cells."""
    cell = _as_text(canonical(value))
    return None if cell == MISSING else cell[1]


def _as_text(cell: Cell) -> Cell:
    """By what it is and not by its dtype: 1.0 in a column of floats is "1"."""
    family = cell[0]
    if family == "text":
        return cell
    if family == "number":
        number = vectors.as_number(cell)
        is_whole = abs(number) < 2.0**53 and number == int(number)
        return "text", str(int(number)) if is_whole else repr(number)
    if family in ("truth", "time", "zoned", "duration"):
        return canonical(str(value_of(cell)))
    return MISSING


#: Of other texts pandas warns, or makes a time today; both would tell of the data.
_DATE = re.compile(
    r"(\d{4}([-/]?)\d{2}\2\d{2}|\d{1,2}/\d{1,2}/\d{4})"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?(\s?(Z|[-+]\d{2}:?\d{2}))?)?"
)


def _as_bool(cell: Cell) -> Cell:
    family, exact = cell
    return ("truth", bool(exact)) if family in ("truth", "number", "text") else MISSING


def _as_time(cell: Cell) -> Cell:
    family, exact = cell
    if family in ("time", "zoned"):
        return cell
    is_date = family == "text" and _DATE.fullmatch(exact.strip())
    return canonical(vectors.timestamp(exact)) if is_date else MISSING


CASTS = {"str": _as_text, "bool": _as_bool, "datetime": _as_time}


@dataclass(frozen=True)
class Declared(Column):
    """A column whose kind is declared: each cell as `astype` would make it of that kind, and
    missing where it can't. Who the units are, and which of their rows count, is read from the
    cells as they were given."""

    held: Kind

    def vector(self, chunk: Chunk) -> Vector:
        cells = super().vector(chunk)
        convert = DECLARED.get(self.held)
        if convert is None or isinstance(cells, _ALREADY.get(self.held, ())):
            return cells
        return vectors.by_cell(cells, convert, ("kind", self.held))

    def _kind(self, schema: Schema) -> Kind:
        return self.held


#: Texts that pandas' readers take for truths.
_TRUTHS = {**dict.fromkeys(("True", "TRUE", "true"), True),
           **dict.fromkeys(("False", "FALSE", "false"), False)}  # fmt: skip


def _as_truth(cell: Cell) -> Cell:
    """`astype` would take any text for True, "False" and "no" too: that is about nothing."""
    if cell[0] != "text":
        return _as_bool(cell)
    truth = _TRUTHS.get(cell[1])
    return MISSING if truth is None else ("truth", truth)


def _as_number(cell: Cell) -> Cell:
    """Numbers stay exactly what they are; texts are read, in float64."""
    return cell if cell[0] == "number" else canonical(vectors.as_number(cell))


def _of_family(family: str, convert: Callable[[Cell], Cell]) -> Callable[[Cell], Cell]:
    """What is of one family once it is converted. So a time with a zone is none without one, and
    the other way round: its clock would be anybody's guess."""

    def converted(cell: Cell) -> Cell:
        found = convert(cell)
        return found if found[0] == family else MISSING

    return converted


_LENGTH = re.compile(r"[-+]?(\d{1,6} days?,? ?)?([-+]?\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?")


def _as_duration(cell: Cell) -> Cell:
    family, exact = cell
    is_said = family == "text" and exact.strip() and _LENGTH.fullmatch(exact.strip())
    return canonical(pd.Timedelta(exact.strip())) if is_said else cell


#: Families whose values have elements; those of a set are in an order of their own.
LISTS = ("list", "set")

#: What makes a cell one of a declared kind.
DECLARED: dict[Kind, Callable[[Cell], Cell]] = {
    kinds.NUMBER: _as_number,
    kinds.TRUTH: _as_truth,
    kinds.TEXT: _as_text,
    kinds.TIME: _of_family("time", _as_time),
    kinds.ZONED: _of_family("zoned", _as_time),
    kinds.DURATION: _of_family("duration", _as_duration),
    kinds.LIST: lambda cell: cell if cell[0] in LISTS else MISSING,
}
#: What needs no conversion, whatever its cells are.
_ALREADY: dict[Kind, type[Vector]] = {kinds.NUMBER: Numbers, kinds.TRUTH: Truths}


def plain_or_missing(value: Any) -> Any:
    """A caller's plain value as Python has it; None for a missing one."""
    return None if is_missing(value) else plain(value)
