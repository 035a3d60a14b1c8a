"""Arithmetic on times and durations, cell by cell: the difference of two times is a duration.

The cell decides, not its column: times without a zone combine with each other, zoned times with
each other, durations with both. Anything else is missing, and so is what 64 bits of microseconds
can't hold. A zoned time is moved by its instant and keeps its zone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError
from ..facts import kinds
from ..facts.domain import Declaration
from ..facts.keys import Keys
from ..facts.kinds import Kind, Schema
from ..facts.spans import Ruler, Span
from ..values import MISSING, Cell, forms, vectors
from ..values.forms import Coded, Durations, Instants, Levels, Mask, Numbers, Vector
from ..values.instants import instant
from ..values.vectors import Moments
from .base import Chunk, Domain, Needs, Unary

Floats = npt.NDArray[np.float64]
#: The elements that a rule applies to, and its results.
Piece = tuple[Mask, Vector]

#: From here on, 64 bits of microseconds may not suffice.
_FAR = 2.0**63 * (1 - 2.0**-50)
#: Whole numbers below this are multiplied exactly.
_EXACT = 2.0**50


class Side:
    """One operand, read as each type that it may hold."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector

    @cached_property
    def number(self) -> Floats:
        return vectors.as_numbers(self.vector) + 0.0

    @cached_property
    def naive(self) -> Moments:
        return vectors.moments(self.vector, "time")

    @cached_property
    def zoned(self) -> Moments:
        return vectors.moments(self.vector, "zoned")

    @cached_property
    def length(self) -> Moments:
        return vectors.moments(self.vector, "duration")


#: The pieces that an operation makes of two operands.
Rule = Callable[[Side, Side], Iterable[Piece]]


def may_hold_times(v: Vector) -> bool:
    """Whether any element may be a time or a duration; the form of most columns rules it out."""
    if not isinstance(v, Coded):
        return isinstance(v, Instants | Durations)
    return bool(v.levels.said("holds times", _times_among, False)[:1])


def span_of(declared: Declaration | None) -> Span | None:
    """The range of declared times or durations, or of a plain one."""
    if isinstance(declared, Keys) and len(declared.labels) == 1:
        with suppress(QueryError):  # further from 1970 than spans reach
            return Span.parse((*declared.labels, *declared.labels), "operand")
    return declared if isinstance(declared, Span) else None


def _times_among(levels: Levels) -> Mask:
    families = () if levels.texts is not None else {family for family, _ in levels.cells}
    return np.array([any(family in KINDS for family in families)])


def computed(operation: str, left: Vector, right: Vector, numbers: Numbers) -> Vector:
    """The results for each pair of elements; ``numbers`` are those of numbers."""
    a, b = Side(left), Side(right)
    rules = _RULES.get(operation, ())
    return together([piece for rule in rules for piece in rule(a, b)], numbers)


def together(pieces: list[Piece], numbers: Numbers) -> Vector:
    """One column from pieces of several types, with numbers for elements in no piece."""
    pieces = [(there, piece) for there, piece in pieces if there.any()]
    if not numbers.null().all() or not pieces:
        pieces.append((~numbers.null(), numbers))
    *others, (_, whole) = pieces
    for there, piece in others:
        whole = vectors.choose(there, piece, whole)
    return whole


def changed(operand: Vector, change: Callable[[Moments], Moments], numbers: Numbers) -> Vector:
    """Durations with a changed sign, and ``numbers``, which were made of numbers."""
    if not may_hold_times(operand):
        return numbers
    return together([_duration(change(vectors.moments(operand, "duration")))], numbers)


def _added(a: Moments, b: Moments, sign: int) -> Moments:
    carry, nanos = np.divmod(a[1] + sign * b[1], 1000)
    far = np.abs(a[0].astype(np.float64) + sign * b[0].astype(np.float64)) >= _FAR
    return a[0] + sign * b[0] + carry, nanos, a[2] | b[2] | far


def negated(length: Moments) -> Moments:
    """Durations with the opposite sign."""
    zero = np.zeros_like(length[0])
    return _added((zero, zero, length[2]), length, -1)


def without_sign(length: Moments) -> Moments:
    """The absolute values of durations."""
    micros, nanos, none = negated(length)
    below = length[0] < 0
    return np.where(below, micros, length[0]), np.where(below, nanos, length[1]), none


def _duration(length: Moments) -> Piece:
    return ~length[2], vectors.durations_from(*length)


def _moved(sign: int) -> Rule:
    """A time moved by a duration."""

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


def _in_zones(ticks: Moments, v: Vector) -> Vector:
    """Instants, each in the zone of its element."""
    if isinstance(v, Instants):
        return vectors.times_from(*ticks, v.zone)
    levels = v.coded().levels.cells
    zones = [cell[1][1] if cell[0] == "zoned" else None for cell in levels]
    zones.append(None)  # for missing elements: their code is -1, and there may be no levels
    if len({zone for zone in zones if zone is not None}) == 1:
        return vectors.times_from(*ticks, next(filter(None, zones)))
    micros, nanos, none = (each.tolist() for each in ticks)
    exact = (m * 1000 + n for m, n in zip(micros, nanos, strict=True))
    codes = v.coded().codes.tolist()
    cells = (instant(e, zones[code]) for e, code in zip(exact, codes, strict=True))
    return forms.of_cells(cells, np.array(none))


def clocks(v: Vector) -> Moments:
    """What the local clock shows at each time, with a zone or without one."""
    if isinstance(v, Instants):
        local, none = forms.wall(v)
        return local, v.beyond, none
    if isinstance(v, Coded):
        v = vectors.by_cell(v, _on_the_wall, "on the wall")
    return vectors.moments(v, "time")


def _on_the_wall(cell: Cell) -> Cell:
    if cell[0] != "zoned":
        return cell if cell[0] == "time" else MISSING
    nanos = forms.wall_nanos(cell)
    return MISSING if nanos is None else instant(nanos, None)


def _difference(a: Side, b: Side) -> Iterator[Piece]:
    yield _duration(_added(a.naive, b.naive, -1))
    yield _duration(_added(a.zoned, b.zoned, -1))


def _lengths(sign: int) -> Rule:
    return lambda a, b: [_duration(_added(a.length, b.length, sign))]


def _flipped(rule: Rule) -> Rule:
    return lambda a, b: rule(b, a)


def _multiple(length: Side, number: Side) -> list[Piece]:
    return [_duration(_scaled(length.length, number.number))]


def _scaled(ticks: Moments, factor: Floats) -> Moments:
    """A multiple: exact for whole numbers, else rounded to a microsecond."""
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


def _divided(length: Side, number: Side) -> list[Piece]:
    micros, nanos, none = length.length
    with np.errstate(all="ignore"):
        size = (micros + nanos / 1000) / number.number
        none = none | ~(np.abs(size) < _FAR)
        as_it_is = number.number == 1
        rounded = np.where(none | as_it_is, 0, np.rint(size)).astype(np.int64)
    exact = np.where(as_it_is, micros, rounded)
    return [_duration((exact, np.where(as_it_is, nanos, 0), none))]


def _ratio(function: Callable[[Floats, Floats], Floats]) -> Rule:
    """The quotient of two durations, a number; division by zero is that of numbers."""

    def rule(a: Side, b: Side) -> list[Piece]:
        none = a.length[2] | b.length[2]
        one, other = (micros + nanos / 1000 for micros, nanos, _ in (a.length, b.length))
        with np.errstate(all="ignore"):
            quotient = function(one, other)
        return [(~none, Numbers(np.where(none, np.nan, quotient)))]

    return rule


def _remainder(a: Side, b: Side) -> list[Piece]:
    """The remainder of durations of whole microseconds; missing if the divisor is zero."""
    none = a.length[2] | b.length[2] | (b.length[0] == 0) | (a.length[1] != 0) | (b.length[1] != 0)
    micros = np.mod(a.length[0], np.where(none, 1, b.length[0]))
    return [_duration((micros, np.zeros_like(micros), none))]


_RULES: dict[str, tuple[Rule, ...]] = {
    "+": (_moved(1), _flipped(_moved(1)), _lengths(1)),
    "-": (_moved(-1), _difference, _lengths(-1)),
    "*": (_multiple, _flipped(_multiple)),
    "/": (_divided, _ratio(np.divide)),
    "//": (_ratio(np.floor_divide),),
    "%": (_remainder,),
}


# --- kinds ----------------------------------------------------------------------------------------

_EACH: tuple[Kind, ...] = (kinds.TIME, kinds.ZONED, kinds.DURATION, kinds.NUMBER)


def _of_times() -> dict[tuple[str, Kind, Kind], Kind]:
    """The kinds of results, by operation and operands of which one is a time or duration."""
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
    return _EACH if kind in kinds.UNSURE else (kind,)


def kind_of(operation: str, left: Kind, right: Kind) -> Kind:
    """The kind of an operation's results; unknown if several are possible, or none."""
    pairs = itertools.product(_may_be(left), _may_be(right))
    made = {_made_of(operation, one, other) for one, other in pairs} - {None}
    return found if len(made) == 1 and (found := made.pop()) else kinds.UNKNOWN


#: Kinds whose values have a sign.
SIGNED = kinds.NUMBERS | {kinds.DURATION}


def signed(kind: Kind) -> Kind:
    """The kind of a value of ``kind`` with its sign changed."""
    return kind if kind == kinds.DURATION or kind in kinds.UNSURE else kinds.NUMBER


def wanted(operation: str, other: Kind, is_left: bool) -> frozenset[Kind]:
    """The kinds that one operand may have beside the other."""
    sides = itertools.product((*_EACH, kinds.TRUTH), _may_be(other))
    pairs = ((one, (one, each) if is_left else (each, one)) for one, each in sides)
    return frozenset(one for one, pair in pairs if _made_of(operation, *pair) is not None)


# --- along a public span --------------------------------------------------------------------------


def along(v: Vector, span: Span) -> Moments:
    """The elements of a span's family."""
    return clocks(v) if span.family == "clock" else vectors.moments(v, span.family)


#: The kinds that values of a span's family have.
KINDS: dict[str, frozenset[Kind]] = {
    "time": frozenset({kinds.TIME}),
    "zoned": frozenset({kinds.ZONED}),
    "clock": kinds.TIMES,
    "duration": frozenset({kinds.DURATION}),
}


@dataclass(frozen=True)
class Measured(Unary):
    """The number of ticks after a ruler's start; missing for values of another family."""

    ruler: Ruler

    makes = kinds.NUMBER

    def vector(self, chunk: Chunk) -> Vector:
        micros, nanos, none = along(self.operand.vector(chunk), self.ruler.span)
        start, rest = divmod(self.ruler.origin, 1000)
        near = (max(start - 2**62, -(2**63)), min(start + 2**62, 2**63 - 1))
        whole, beyond = np.clip(micros, *near) - start, nanos - rest
        tick = self.ruler.tick
        ticks = whole * 1000.0 + beyond if tick == 1 else whole / (tick // 1000) + beyond / tick
        return Numbers(np.where(none, np.nan, ticks))

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, KINDS[self.ruler.span.family]

    def __str__(self) -> str:
        return str(self.operand)


@dataclass(frozen=True)
class ClipSpan(Unary):
    """A time or duration clipped to a span, in its own zone; values of another family are
    missing."""

    span: Span

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

    def _declared(self, domain: Domain) -> Declaration | None:
        return self.span

    def _kind(self, schema: Schema) -> Kind:
        of_family = {"zoned": kinds.ZONED, "duration": kinds.DURATION}
        return of_family.get(self.span.family, kinds.TIME)

    def needs(self, schema: Schema) -> Needs:
        yield self.operand, KINDS[self.span.family]

    def __str__(self) -> str:
        low, high = self.span.ends
        return f"clip({self.operand}, {low}, {high})"
