"""Values chosen from others: where, map and replace, casts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ..facts import kinds
from ..facts.bounds import Bounds, covering
from ..facts.domain import Declaration
from ..facts.keys import Keys, is_missing, plain, some_names
from ..facts.kinds import Kind, Schema
from ..facts.steps import Step, Steps
from ..values import MISSING, Cell, canonical, vectors
from ..values.forms import Array, Numbers, Truths, Vector
from ..values.objects import value_of
from .base import (
    NO_SCHEMA,
    Chunk,
    Column,
    Domain,
    Expression,
    Literal,
    Meets,
    Needs,
    Unary,
    common_step,
    is_none,
    one_of,
)


@dataclass(frozen=True)
class Where(Expression):
    """One value where a condition holds, another where it doesn't."""

    condition: Expression
    yes: Expression
    no: Expression

    def vector(self, chunk: Chunk) -> Vector:
        keep = self.condition.truth(chunk)
        return vectors.choose(keep, self.yes.vector(chunk), self.no.vector(chunk))

    def _declared(self, domain: Domain) -> Declaration | None:
        return either(self.yes, self.no, domain)

    def _stepped(self, steps: Steps) -> Step | None:
        return common_step((self.yes, self.no), steps)

    @property
    def may_be_truth(self) -> bool:
        return self.yes.may_be_truth and self.no.may_be_truth

    @property
    def has_order(self) -> bool:
        return self.yes.has_order or self.no.has_order

    def _kind(self, schema: Schema) -> Kind:
        return one_of((self.yes, self.no), schema)

    def needs(self, schema: Schema) -> Needs:
        yield self.condition, kinds.TRUTHS

    def __str__(self) -> str:
        return f"where({self.condition}, {self.yes}, {self.no})"


def either(a: Expression, b: Expression, domain: Domain) -> Declaration | None:
    """What is declared of a value that is one or the other; a missing one adds nothing."""
    if is_none(a) or is_none(b):
        return (b if is_none(a) else a).declared(domain)
    one, other = a.declared(domain), b.declared(domain)
    if isinstance(one, Keys) and isinstance(other, Keys):
        return Keys(vectors.distinct((*one.labels, *other.labels)))
    return covering([a.bounds(domain), b.bounds(domain)])


@dataclass(frozen=True)
class Mapped(Unary):
    """Plain values for plain keys. What isn't a key becomes missing, or stays as it is."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    others_stay: bool = False

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        codes = vectors.prepared(self.keys).codes(operand)
        mapped = taken(self.values, codes)
        if not self.others_stay:
            return mapped
        return vectors.choose(codes < len(self.keys), mapped, operand)

    def _declared(self, domain: Domain) -> Declaration | None:
        values = vectors.distinct(v for v in self.values if v is not None)
        if not self.others_stay:
            return Keys(values) if values else None
        known = self.operand.declared(domain)
        if isinstance(known, Keys):
            return Keys(self._kept(known.labels, values))
        return either(Literal(values[0]), self.operand, domain) if len(values) == 1 else None

    def _kept(self, labels: tuple[Any, ...], values: Any) -> tuple[Any, ...]:
        """What becomes of declared labels. A text may be equal to times that are not replaced as it
        is; so all labels are kept where one reads as a time."""
        if any(vectors.timestamp(each) is not None for each in (*labels, *self.keys)):
            return vectors.distinct((*labels, *values))
        codes = vectors.prepared(self.keys).codes(vectors.coded(labels, np.arange(len(labels))))
        made = [*self.values, None]
        found = (
            label if code == len(self.keys) else made[code]
            for label, code in zip(labels, codes.tolist(), strict=True)
        )
        return vectors.distinct(label for label in found if label is not None)

    @property
    def may_be_truth(self) -> bool:
        are_truths = all(isinstance(value, bool) for value in self.values)
        return are_truths and (not self.others_stay or self.operand.may_be_truth)

    def _kind(self, schema: Schema) -> Kind:
        others = (self.operand,) if self.others_stay else ()
        return one_of((*map(Literal, self.values), *others), schema)

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, kinds.ANY if self.others_stay else kinds.LABELS

    def meets(self) -> Meets:
        if not self.others_stay:  # replace may find nothing, as in pandas
            yield self.operand, self.keys

    def __str__(self) -> str:
        pairs = (f"{k!r}: {v!r}" for k, v in zip(self.keys, self.values, strict=True))
        verb = "replace" if self.others_stay else "map"
        return f"{verb}({self.operand}, {{{some_names(pairs, 8)}}})"


def taken(values: tuple[Any, ...], codes: Array) -> Vector:
    """The value of each code; the code len(values), and the value None, are missing."""
    return vectors.coded(values, np.where(codes == len(values), -1, codes))


#: The kinds that a cast takes, and the one that it makes.
_CASTS: dict[str, tuple[frozenset[Kind], Kind]] = {
    "int": (kinds.NUMBERS | kinds.TEXTS, kinds.NUMBER),
    "float": (kinds.NUMBERS | kinds.TEXTS, kinds.NUMBER),
    "bool": (kinds.NUMBERS | kinds.TEXTS, kinds.TRUTH),
    "str": (kinds.LABELS - {kinds.INTERVAL}, kinds.TEXT),
    "datetime": (kinds.TIMES | kinds.TEXTS, kinds.TIME),
}


@dataclass(frozen=True)
class Cast(Unary):
    """A value as int, float, bool, str or datetime; missing if it can't be converted."""

    to: str

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        if self.to in ("int", "float"):
            numbers = vectors.as_numbers(operand)
            if self.to == "int":
                numbers = np.trunc(np.where(np.isfinite(numbers), numbers, np.nan)) + 0.0
            return Numbers(numbers)
        return vectors.by_cell(operand, CASTS[self.to], ("cast", self.to))

    def _declared(self, domain: Domain) -> Declaration | None:
        declared = self.operand.declared(domain)
        if self.to == "bool":
            return Keys((False, True))
        if self.to == "str" and isinstance(declared, Keys):
            return _keys_as_texts(declared, self.operand.kind(NO_SCHEMA))
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

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, _CASTS[self.to][0]

    def __str__(self) -> str:
        return f"{self.operand.inner} as {self.to}"


def _keys_as_texts(known: Keys, kind: Kind) -> Keys | None:
    """The texts of declared labels; None if cells that equal a label may have another text: 1 does
    of True, a time of a text that reads as one, and an instant in another zone."""
    cells = [canonical(label) for label in known.labels]
    for label, (family, _) in zip(known.labels, cells, strict=True):
        is_time = family == "text" and vectors.timestamp(label) is not None
        if family == "zoned" or (is_time and kind != kinds.TEXT):
            return None
        if family == "truth" and kind != kinds.TRUTH:
            return None
    texts = dict.fromkeys(map(_as_text, cells))
    return None if MISSING in texts else Keys(tuple(text for _, text in texts))


def _as_text(cell: Cell) -> Cell:
    """By the value and not by the dtype: 1.0 in a column of floats is "1"."""
    family = cell[0]
    if family == "text":
        return cell
    if family == "number":
        number = vectors.as_number(cell)
        is_whole = abs(number) < 2.0**53 and number == int(number)
        return "text", str(int(number)) if is_whole else repr(number)
    if family in ("truth", "time", "zoned", "duration", "period"):
        return canonical(str(value_of(cell)))
    return MISSING


#: Of other texts, pandas warns or fills in today's date: both depend on private cells.
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
    """A column of a declared kind: each cell is converted as by `astype`, and missing if that
    fails. Units, and which of their rows are kept, go by the cells as they were given."""

    held: Kind

    def vector(self, chunk: Chunk) -> Vector:
        cells = super().vector(chunk)
        convert = DECLARED.get(self.held)
        if convert is None or isinstance(cells, _ALREADY.get(self.held, ())):
            return cells
        return vectors.by_cell(cells, convert, ("kind", self.held))

    def _kind(self, schema: Schema) -> Kind:
        return self.held


def _as_truth(cell: Cell) -> Cell:
    """Texts as pandas' readers take them; `astype` would take any text for True, even "False"."""
    if cell[0] != "text":
        return _as_bool(cell)
    is_truth = cell[1] in ("True", "TRUE", "true", "False", "FALSE", "false")
    return ("truth", cell[1].lower() == "true") if is_truth else MISSING


def _as_number(cell: Cell) -> Cell:
    """Numbers stay exact; texts are read as float64."""
    return cell if cell[0] == "number" else canonical(vectors.as_number(cell))


def _of_family(family: str, convert: Callable[[Cell], Cell]) -> Callable[[Cell], Cell]:
    """Converted cells of one family; others are missing. So a zoned time never becomes one without
    a zone, nor the other way round: which clock is meant would be a guess."""

    def converted(cell: Cell) -> Cell:
        found = convert(cell)
        return found if found[0] == family else MISSING

    return converted


_LENGTH = re.compile(r"[-+]?(\d{1,6} days?,? ?)?([-+]?\d{1,2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?")


def _as_duration(cell: Cell) -> Cell:
    family, exact = cell
    is_said = family == "text" and exact.strip() and _LENGTH.fullmatch(exact.strip())
    return canonical(pd.Timedelta(exact.strip())) if is_said else cell


#: Families whose values have elements; a set's are in canonical order.
LISTS = ("list", "set")

#: How a cell is converted to a declared kind.
DECLARED: dict[Kind, Callable[[Cell], Cell]] = {
    kinds.NUMBER: _as_number,
    kinds.TRUTH: _as_truth,
    kinds.TEXT: _as_text,
    kinds.TIME: _of_family("time", _as_time),
    kinds.ZONED: _of_family("zoned", _as_time),
    kinds.DURATION: _of_family("duration", _as_duration),
    kinds.LIST: lambda cell: cell if cell[0] in LISTS else MISSING,
}
#: Forms that need no conversion.
_ALREADY: dict[Kind, type[Vector]] = {kinds.NUMBER: Numbers, kinds.TRUTH: Truths}


def plain_or_missing(value: Any) -> Any:
    """A caller's value as a plain Python one; None if it is missing."""
    return None if is_missing(value) else plain(value)
