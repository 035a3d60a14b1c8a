"""Arithmetic on times and durations, cell by cell: a difference of two times is a duration.

What a cell is decides, not its column: times without a zone go with such times, zoned ones with
zoned ones, durations with both. Anything else, and what leaves the years that 64 bits of
microseconds reach, is missing. A zoned time is moved by its instant and stays in its zone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.kinds import Kind, Schema
from ..facts.spans import Ruler, Span
from ..values import vectors
from ..values.cells import canonical
from ..values.families import Cell
from ..values.forms import Levels, of_cells, wall, wall_nanos
from ..values.instants import instant
from ..values.vectors import Coded, Durations, Instants, Integers, Mask, Numbers, Vector
from .base import Chunk, Domain, Expression

#: Whole microseconds, the nanoseconds beyond them, and which elements are none.
Ticks = tuple[Integers, Integers, Mask]
Floats = npt.NDArray[np.float64]
#: Cells that a rule makes something of, and what.
Piece = tuple[Mask, Vector]

#: Beyond, 64 bits of microseconds may not suffice.
_FAR = 2.0**63 * (1 - 2.0**-50)
#: Whole numbers below are multiplied exactly.
_EXACT = 2.0**50


class Side:
    """One operand, as all that it may be."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector

    @cached_property
    def number(self) -> Floats:
        return vectors.as_numbers(self.vector) + 0.0

    @cached_property
    def naive(self) -> Ticks:
        return vectors.instants(self.vector, zoned=False)

    @cached_property
    def zoned(self) -> Ticks:
        return vectors.instants(self.vector, zoned=True)

    @cached_property
    def length(self) -> Ticks:
        return vectors.durations(self.vector)


_TIMES = ("time", "zoned", "duration")


def may_hold_times(v: Vector) -> bool:
    """Whether any element may be a time or a duration; most columns show by their form that none
    is."""
    if not isinstance(v, Coded):
        return isinstance(v, Instants | Durations)
    return bool(v.levels.said("holds times", _times_among, False)[:1])


def _times_among(levels: Levels) -> Mask:
    any_is = levels.texts is None and any(cell[0] in _TIMES for cell in levels.cells)
    return np.array([any_is])


def computed(operation: str, left: Vector, right: Vector, numbers: Numbers) -> Vector:
    """What an operation makes of each pair of cells; ``numbers`` is what it makes of numbers."""
    a, b = Side(left), Side(right)
    rules = _RULES.get(operation, ())
    return together([part for rule in rules for part in rule(a, b)], numbers)


def together(parts: list[Piece], numbers: Numbers) -> Vector:
    """One column of cells of several sorts, which are numbers where no part has a cell."""
    parts = [(there, part) for there, part in parts if there.any()]
    if not numbers.null().all() or not parts:
        parts.append((~numbers.null(), numbers))
    *others, (_, whole) = parts
    for there, part in others:
        whole = vectors.choose(there, part, whole)
    return whole


def negated(operand: Vector) -> Piece:
    """Durations, the other way round."""
    micros, nanos, none = vectors.durations(operand)
    zero = np.zeros_like(micros)
    return _duration(_added((zero, zero, none), (micros, nanos, none), -1))


def without_sign(operand: Vector) -> Piece:
    """Durations, none below zero."""
    micros, nanos, none = vectors.durations(operand)
    zero = np.zeros_like(micros)
    turned = _added((zero, zero, none), (micros, nanos, none), -1)
    sides = zip(turned[:2], (micros, nanos), strict=True)
    micros, nanos = (np.where(micros < 0, new, old) for new, old in sides)
    return _duration((micros, nanos, turned[2]))


def same(operand: Vector) -> Piece:
    """Durations as they are."""
    return _duration(vectors.durations(operand))


def _added(a: Ticks, b: Ticks, sign: int) -> Ticks:
    carry, nanos = np.divmod(a[1] + sign * b[1], 1000)
    far = np.abs(a[0].astype(np.float64) + sign * b[0].astype(np.float64)) >= _FAR
    return a[0] + sign * b[0] + carry, nanos, a[2] | b[2] | far


def _duration(ticks: Ticks) -> Piece:
    return ~ticks[2], vectors.durations_from(*ticks)


def _moved(sign: int) -> Callable[[Side, Side], Iterator[Piece]]:
    """A time and how far it is moved."""

    def rule(time: Side, length: Side) -> Iterator[Piece]:
        if length.length[2].all():
            return
        moved = _added(time.naive, length.length, sign)
        yield ~moved[2], vectors.times_from(*moved, None)
        if time.zoned[2].all():
            return
        moved = _added(time.zoned, length.length, sign)
        yield ~moved[2], _in_zones(moved, time.vector)

    return rule


def _in_zones(ticks: Ticks, v: Vector) -> Vector:
    """Instants, each in the zone of its element."""
    if isinstance(v, Instants):
        return vectors.times_from(*ticks, v.zone)
    levels = v.coded().levels.cells
    zones = [cell[1][1] if cell[0] == "zoned" else None for cell in levels]
    zones.append(None)  # of what is missing: its code is -1, and there may be no levels at all
    if len({zone for zone in zones if zone is not None}) == 1:
        return vectors.times_from(*ticks, next(filter(None, zones)))
    micros, nanos, none = (each.tolist() for each in ticks)
    exact = (m * 1000 + n for m, n in zip(micros, nanos, strict=True))
    codes = v.coded().codes.tolist()
    cells = (instant(e, zones[code]) for e, code in zip(exact, codes, strict=True))
    return of_cells(cells, np.array(none))


def clocks(v: Vector) -> Ticks:
    """What the clock on the wall shows at each time, with a zone or without one."""
    if isinstance(v, Instants):
        local, none = wall(v)
        return local, v.beyond, none
    if not isinstance(v, Coded):
        return vectors.instants(v, zoned=False)
    return vectors.instants(vectors.by_cell(v, _on_the_wall, "on the wall"), zoned=False)


def _on_the_wall(cell: Cell) -> Cell:
    if cell[0] != "zoned":
        return cell if cell[0] == "time" else canonical(None)
    nanos = wall_nanos(cell)
    return canonical(None) if nanos is None else instant(nanos, None)


def _difference(a: Side, b: Side) -> Iterator[Piece]:
    yield _duration(_added(a.naive, b.naive, -1))
    yield _duration(_added(a.zoned, b.zoned, -1))


def _lengths(sign: int) -> Callable[[Side, Side], Iterator[Piece]]:
    def rule(a: Side, b: Side) -> Iterator[Piece]:
        yield _duration(_added(a.length, b.length, sign))

    return rule


def _flipped(rule: Callable[[Side, Side], Iterator[Piece]]) -> Callable[[Side, Side], Any]:
    return lambda a, b: rule(b, a)


def _times(length: Side, number: Side) -> Iterator[Piece]:
    """A multiple, exact for whole numbers, else to the nearest microsecond."""
    yield _duration(_scaled(length.length, number.number))


def _by_number(length: Side, number: Side) -> Iterator[Piece]:
    yield _duration(_divided(length.length, number.number))


def _scaled(ticks: Ticks, factor: Floats) -> Ticks:
    micros, nanos, none = ticks
    whole = (np.rint(factor) == factor) & (np.abs(factor) < _EXACT)
    with np.errstate(all="ignore"):
        size = micros * factor + nanos / 1000 * factor
        none = none | ~(np.abs(size) < _FAR)
        by = np.where(whole, factor, 0).astype(np.int64)
        carry, exact_nanos = np.divmod(nanos * by, 1000)
        rounded = np.where(none, 0, np.rint(size)).astype(np.int64)
    exact = np.where(none, 0, micros * by + carry)
    return np.where(whole, exact, rounded), np.where(whole, exact_nanos, 0), none


def _divided(ticks: Ticks, divisor: Floats) -> Ticks:
    micros, nanos, none = ticks
    with np.errstate(all="ignore"):
        size = (micros + nanos / 1000) / divisor
        none = none | ~(np.abs(size) < _FAR)
        as_it_is = divisor == 1
        rounded = np.where(none | as_it_is, 0, np.rint(size)).astype(np.int64)
    exact = np.where(as_it_is, micros, rounded)
    return exact, np.where(as_it_is, nanos, 0), none


def _ratio(function: Callable[[Floats, Floats], Floats]) -> Callable[[Side, Side], Iterator[Piece]]:
    """A number from two durations; the same division by zero as of numbers."""

    def rule(a: Side, b: Side) -> Iterator[Piece]:
        none = a.length[2] | b.length[2]
        one, other = (micros + nanos / 1000 for micros, nanos, _ in (a.length, b.length))
        with np.errstate(all="ignore"):
            quotient = function(one, other)
        yield ~none, Numbers(np.where(none, np.nan, quotient))

    return rule


def _remainder(a: Side, b: Side) -> Iterator[Piece]:
    """What is left of a duration; a divisor below a microsecond, or of zero, leaves nothing."""
    none = a.length[2] | b.length[2] | (b.length[0] == 0) | (a.length[1] != 0) | (b.length[1] != 0)
    micros = np.mod(a.length[0], np.where(none, 1, b.length[0]))
    yield _duration((micros, np.zeros_like(micros), none))


_RULES: dict[str, tuple[Callable[[Side, Side], Any], ...]] = {
    "+": (_moved(1), _flipped(_moved(1)), _lengths(1)),
    "-": (_moved(-1), _difference, _lengths(-1)),
    "*": (_times, _flipped(_times)),
    "/": (_by_number, _ratio(np.divide)),
    "//": (_ratio(np.floor_divide),),
    "%": (_remainder,),
}


# --- kinds ----------------------------------------------------------------------------------------

_EACH: tuple[Kind, ...] = (kinds.TIME, kinds.ZONED, kinds.DURATION, kinds.NUMBER)


def _of_times() -> dict[tuple[str, Kind, Kind], Kind]:
    """What an operation makes of two kinds, one of them of times or durations."""
    length, number = kinds.DURATION, kinds.NUMBER
    found = {("-", time, time): length for time in kinds.TIMES}
    for time in (*kinds.TIMES, length):
        found |= {("+", time, length): time, ("+", length, time): time, ("-", time, length): time}
    found |= {("*", length, number): length, ("*", number, length): length}
    found |= {("/", length, number): length, ("%", length, length): length}
    return found | {("/", length, length): number, ("//", length, length): number}


_RESULTS = _of_times()


def _made_of(operation: str, left: Kind, right: Kind) -> Kind | None:
    one, other = (kinds.NUMBER if kind in kinds.NUMBERS else kind for kind in (left, right))
    if one == other == kinds.NUMBER:
        return kinds.NUMBER
    return _RESULTS.get((operation, one, other))


def _may_be(kind: Kind) -> tuple[Kind, ...]:
    return _EACH if kind == kinds.UNKNOWN else (kind,)


def kind_of(operation: str, left: Kind, right: Kind) -> Kind:
    """The kind of what an operation makes; unknown where several are possible, or none."""
    pairs = itertools.product(_may_be(left), _may_be(right))
    made = {_made_of(operation, one, other) for one, other in pairs} - {None}
    return found if len(made) == 1 and (found := made.pop()) else kinds.UNKNOWN


#: What has another side of zero.
SIGNED = kinds.NUMBERS | {kinds.DURATION}


def signed(kind: Kind) -> Kind:
    """The kind of what has such a side."""
    return kind if kind in (kinds.DURATION, kinds.UNKNOWN) else kinds.NUMBER


def wanted(operation: str, other: Kind, is_left: bool) -> frozenset[Kind]:
    """Of which kinds one operand has to be, beside another."""
    sides = itertools.product((*_EACH, kinds.TRUTH), _may_be(other))
    pairs = [(one, each) if is_left else (each, one) for one, each in sides]
    fits = (p[0 if is_left else 1] for p in pairs if _made_of(operation, *p) is not None)
    return frozenset(fits)


# --- along a public span --------------------------------------------------------------------------


def along(v: Vector, span: Span) -> Ticks:
    """The elements that are of a span's family."""
    if span.family == "duration":
        return vectors.durations(v)
    if span.family == "clock":
        return clocks(v)
    return vectors.instants(v, zoned=span.family == "zoned")


#: The kinds of what is of a span's family.
KINDS: dict[str, frozenset[Kind]] = {
    "time": frozenset({kinds.TIME}),
    "zoned": frozenset({kinds.ZONED}),
    "clock": kinds.TIMES,
    "duration": frozenset({kinds.DURATION}),
}


@dataclass(frozen=True)
class Measured(Expression):
    """The number of ticks after the start of a ruler; missing for what is of another family."""

    operand: Expression
    ruler: Ruler

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        micros, nanos, none = along(self.operand.vector(chunk), self.ruler.span)
        start, rest = divmod(self.ruler.origin, 1000)
        near = (max(start - 2**62, -(2**63)), min(start + 2**62, 2**63 - 1))
        whole, beyond = np.clip(micros, *near) - start, nanos - rest
        tick = self.ruler.tick
        ticks = whole * 1000.0 + beyond if tick == 1 else whole / (tick // 1000) + beyond / tick
        return Numbers(np.where(none, np.nan, ticks))

    def _kind(self, schema: Schema) -> Kind:
        return kinds.NUMBER

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.operand, KINDS[self.ruler.span.family]

    def __str__(self) -> str:
        return str(self.operand)


@dataclass(frozen=True)
class ClipSpan(Expression):
    """A time or duration no lower than one end of a span and no higher than the other, in its own
    zone; missing for what is of another family."""

    operand: Expression
    span: Span

    is_atom = True

    def vector(self, chunk: Chunk) -> Vector:
        operand = self.operand.vector(chunk)
        micros, nanos, none = along(operand, self.span)
        for end, sign in ((self.span.lower, 1), (self.span.upper, -1)):
            whole, rest = divmod(end, 1000)
            beyond = micros < whole if sign > 0 else micros > whole
            beyond |= (micros == whole) & (sign * (rest - nanos) > 0)
            micros, nanos = np.where(beyond, whole, micros), np.where(beyond, rest, nanos)
        if self.span.family == "duration":
            return vectors.durations_from(micros, nanos, none)
        if self.span.family == "zoned":
            return _in_zones((micros, nanos, none), operand)
        return vectors.times_from(micros, nanos, none, None)

    def declared(self, domain: Domain) -> Declaration | None:
        return self.span

    def _kind(self, schema: Schema) -> Kind:
        of_family = {"zoned": kinds.ZONED, "duration": kinds.DURATION}
        return of_family.get(self.span.family, kinds.TIME)

    def needs(self, schema: Schema) -> Iterator[tuple[Expression, frozenset[Kind]]]:
        yield self.operand, KINDS[self.span.family]

    def __str__(self) -> str:
        low, high = self.span.ends
        return f"clip({self.operand}, {low}, {high})"
