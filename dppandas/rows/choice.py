"""Values chosen among values: where, maps of plain values, casts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import vectors
from ..domain import Bounds, Declaration, Keys, is_missing, plain
from ..values import MISSING, Cell, canonical
from ..values.forms import Array
from ..values.objects import value_of
from ..vectors import Numbers, Vector
from .base import Chunk, Domain, Expression, Literal, inner


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

    def __str__(self) -> str:
        pairs = list(zip(self.keys, self.values, strict=True))
        said = ", ".join(f"{key!r}: {value!r}" for key, value in pairs[:8])
        verb = "replace" if self.others_stay else "map"
        return f"{verb}({self.operand}, {{{said}{', …' if len(pairs) > 8 else ''}}})"


def taken(values: tuple[Any, ...], codes: Array) -> Vector:
    """The value of each code, missing for the code len(values); None is missing."""
    return vectors.coded(values, np.where(codes == len(values), -1, codes))


@dataclass(frozen=True)
class Cast(Expression):
    """A value as another type: int, float, bool, str or datetime; missing where it has none."""

    operand: Expression
    kind: str

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.kind in ("int", "float"):
            numbers = vectors.as_numbers(operand)
            if self.kind == "int":
                numbers = np.trunc(np.where(np.isfinite(numbers), numbers, np.nan)) + 0.0
            return Numbers(numbers)
        return vectors.by_cell(operand, CASTS[self.kind], ("cast", self.kind))

    def declared(self, domain: Domain) -> Declaration | None:
        declared = self.operand.declared(domain)
        if self.kind == "bool":
            return Keys((False, True))
        if self.kind == "str" and isinstance(declared, Keys):
            texts = dict.fromkeys(map(as_text, declared.labels))
            return None if None in texts else Keys(tuple(texts))
        bounds = self.operand.bounds(domain)
        if self.kind not in ("int", "float") or bounds is None:
            return None
        if self.kind == "int":
            return Bounds(float(np.trunc(bounds.lower)), float(np.trunc(bounds.upper)))
        return declared

    def __str__(self) -> str:
        return f"{inner(self.operand)} as {self.kind}"


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


def plain_or_missing(value: Any) -> Any:
    """A caller's plain value as Python has it; None for a missing one."""
    return None if is_missing(value) else plain(value)
