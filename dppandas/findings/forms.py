"""What numbers are in terms of noise: sums of released integers, quotients of sums, and differences
and ratios of two quotients. Integers that several numbers share are added up first, so that their
noise counts once, or cancels.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ..dataclasses import dataclass, replace
from .boxes import times as times_of

ONE = Fraction(1)


class Draw(NamedTuple):
    """A noisy integer of a release, and the law of its noise."""

    release: tuple[str, int, float]  # the ledger, the number and the time
    place: int
    law: Any


@dataclass(frozen=True)
class Linear:
    """A number plus weights times integers, which are draws, or times numbers of answers."""

    terms: Mapping[Any, Fraction]
    const: Fraction
    seen: Fraction  # its value with the noise
    rounded: Fraction = Fraction(0)  # how far rounding may have moved that

    @property
    def is_constant(self) -> bool:
        return not self.terms and not self.rounded

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for draw, weight in other.terms.items():
            terms[draw] = terms.get(draw, Fraction(0)) + weight
        # what is rounded in both may cancel, or add up
        return Linear(
            {draw: weight for draw, weight in terms.items() if weight}, self.const + other.const,
            self.seen + other.seen, self.rounded + other.rounded,
        )  # fmt: skip

    def times(self, factor: Fraction) -> Linear:
        if not factor:
            return constant(factor)
        terms = {draw: weight * factor for draw, weight in self.terms.items()}
        return Linear(terms, self.const * factor, self.seen * factor, self.rounded * abs(factor))

    def over(self, other: Linear) -> Fraction | None:
        """The factor by which this is a multiple of another, if it is one."""
        if self.terms.keys() != other.terms.keys() or not other.terms or self.rounded:
            return None
        draw = next(iter(other.terms))
        factor = self.terms[draw] / other.terms[draw]
        return factor if other.times(factor) == self else None


def constant(value: Fraction) -> Linear:
    return Linear({}, value, value)


@dataclass(frozen=True)
class Quotient:
    """A part of a whole, and what it can be as far as public facts say."""

    part: Linear
    whole: Linear
    span: tuple[float, float] = (float("-inf"), float("inf"))


@dataclass(frozen=True)
class Pair:
    """``factor · one + weight · other + const``, or with ``is_ratio`` ``factor · one / other``."""

    one: Quotient
    other: Quotient
    factor: Fraction = ONE
    weight: Fraction = ONE
    const: Fraction = Fraction(0)
    is_ratio: bool = False


Form = Linear | Quotient | Pair


def plus(x: Form, y: Form) -> Form | None:
    """Their sum; None where it is none of these forms."""
    match x, y:
        case Linear(), Linear():
            return x + y
        case Linear(), _:
            return plus(y, x)
        case Quotient(), Linear() if y.is_constant:
            return replace(x, part=x.part + x.whole.times(y.const), span=_UNKNOWN)
        case Quotient(), Quotient():
            if x.whole == y.whole:
                return quotient(x.part + y.part, x.whole)
            return Pair(x, y)
        case Pair(), Linear() if y.is_constant and not x.is_ratio:
            return replace(x, const=x.const + y.const)
        case _:
            return None


def times(x: Form, y: Form) -> Form | None:
    """Their product; None where it is none of these forms."""
    for one, other in ((x, y), (y, x)):
        if isinstance(one, Linear) and one.is_constant:
            return _scaled(other, one.const)
        if isinstance(one, Quotient) and isinstance(other, Linear):
            factor = other.over(one.whole)
            if factor is not None:
                return one.part.times(factor)
    return None


def over(x: Form, y: Form) -> Form | None:
    """Their quotient; None where it is none of these forms."""
    match x, y:
        case _, Linear() if y.is_constant:
            return _scaled(x, 1 / y.const) if y.const else None
        case Linear(), Linear():
            return quotient(x, y)
        case Linear(), Quotient() if x.is_constant:
            return quotient(y.whole.times(x.const), y.part)
        case Quotient(), Quotient():
            if x.whole == y.whole:
                return quotient(x.part, y.part)
            return Pair(x, y, is_ratio=True)
        case _:
            return None


_UNKNOWN = float("-inf"), float("inf")


def quotient(part: Linear, whole: Linear) -> Form:
    """The quotient; a number where it is the same whatever the integers are."""
    if part.is_constant and not part.const:
        return part
    factor = part.over(whole)
    return Quotient(part, whole) if factor is None else constant(factor)


def _scaled(x: Form, factor: Fraction) -> Form | None:
    if not factor:
        return constant(factor)
    match x:
        case Linear():
            return x.times(factor)
        case Quotient():
            span = times_of(x.span, (float(factor),) * 2)
            return Quotient(x.part.times(factor), x.whole, span)
        case Pair(is_ratio=True):
            return replace(x, factor=x.factor * factor)
        case Pair():
            return replace(
                x, factor=x.factor * factor, weight=x.weight * factor, const=x.const * factor
            )
