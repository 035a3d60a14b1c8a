"""Pairs of decimals that provably enclose a real number, so that rounding errs on the safe side.

Every operation of `Enclosure` rounds its lower end down and its upper end up: IEEE 754 decimal
arithmetic rounds correctly in the direction asked for. `decimal` rounds exp, ln and sqrt correctly
to the nearest, so the neighbours of its result enclose the true value.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

Interval = tuple[Decimal, Decimal]

DIGITS = 50
#: Significant digits of results, and of values that are searched for.
PLACES, SHORT = 15, 12
MOST_DIGITS = 3200
#: From here on the tail of the normal law is bounded by Mills' ratio.
FAR = 30
#: Results below 10^-TINIEST are rounded to it, or to 0.
TINIEST = 5000


@lru_cache
def contexts(digits: int) -> tuple[decimal.Context, decimal.Context]:
    """Arithmetic that rounds down, and arithmetic that rounds up."""
    make = partial(decimal.Context, digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])
    return make(rounding=decimal.ROUND_FLOOR), make(rounding=decimal.ROUND_CEILING)


def exp_interval(gamma: Fraction, digits: int) -> Interval:
    """Decimals around exp(-gamma), for gamma ≥ 0."""
    found = Enclosure.of(-gamma, digits).exp()
    return found.low, min(found.high, Decimal(1))


class Enclosure:
    """A real number that provably lies between two decimals.

    >>> two = Enclosure.of(2, digits=20)
    >>> float((two.ln().exp() - two).high) < 1e-17
    True
    """

    __slots__ = ("digits", "high", "low")

    def __init__(self, low: Decimal, high: Decimal, digits: int) -> None:
        self.low, self.high, self.digits = low, high, digits

    @classmethod
    def of(cls, value: Fraction | int, digits: int = DIGITS) -> Enclosure:
        down, up = contexts(digits)
        n, d = Decimal(value.numerator), Decimal(value.denominator)
        return cls(down.divide(n, d), up.divide(n, d), digits)

    @property
    def ends(self) -> Interval:
        return self.low, self.high

    def _other(self, other: Number) -> Enclosure:
        return other if isinstance(other, Enclosure) else Enclosure.of(other, self.digits)

    def __add__(self, other: Number) -> Enclosure:
        down, up = contexts(self.digits)
        by = self._other(other)
        return Enclosure(down.add(self.low, by.low), up.add(self.high, by.high), self.digits)

    def __neg__(self) -> Enclosure:
        return Enclosure(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Number) -> Enclosure:
        return self + -self._other(other)

    def __mul__(self, other: Number) -> Enclosure:
        return self._at_corners(self._other(other), "multiply")

    def __truediv__(self, other: Number) -> Enclosure:
        by = self._other(other)
        if by.low <= 0 <= by.high:
            raise ZeroDivisionError("the divisor may be 0")
        return self._at_corners(by, "divide")

    def _at_corners(self, by: Enclosure, operation: str) -> Enclosure:
        """An operation whose extremes lie at the ends of both numbers."""
        down, up = (getattr(context, operation) for context in contexts(self.digits))
        pairs = list(itertools.product(self.ends, by.ends))
        low = min(down(a, b) for a, b in pairs)
        return Enclosure(low, max(up(a, b) for a, b in pairs), self.digits)

    def exp(self) -> Enclosure:
        found = self._rising("exp")
        return Enclosure(max(found.low, Decimal(0)), found.high, self.digits)

    def ln(self) -> Enclosure:
        """The logarithm of a number above 0."""
        return self._rising("ln")

    def sqrt(self) -> Enclosure:
        """The square root of a number that is not negative."""
        found = self._rising("sqrt")
        return Enclosure(max(found.low, Decimal(0)), found.high, self.digits)

    def _rising(self, function: str) -> Enclosure:
        """A rising function, which `decimal` rounds to the nearest: one step further out at each
        end encloses it."""
        down, up = contexts(self.digits)
        low, high = getattr(down, function)(self.low), getattr(up, function)(self.high)
        return Enclosure(down.next_minus(low), up.next_plus(high), self.digits)


#: What an `Enclosure` is combined with.
Number = Enclosure | Fraction | int


def tight(formula: Callable[[int], Enclosure], places: int) -> Enclosure:
    """An enclosure of at least `places` significant digits, if `MOST_DIGITS` digits give one."""
    digits = DIGITS
    while True:
        found = formula(digits)
        down, up = contexts(digits)
        width = up.subtract(found.high, found.low)
        if width <= down.scaleb(found.high.copy_abs(), -places) or digits >= MOST_DIGITS:
            return found  # with the most digits perhaps wider than asked for
        digits *= 2


def rounded(value: Decimal, places: int, up: bool) -> Fraction:
    """The value to `places` significant digits, up or down: a fraction that is a short decimal.

    Values smaller than 10^-5000 are rounded to 10^-5000 or 0, or the fraction could have 10^18
    digits.
    """
    if value and value.adjusted() < -TINIEST:
        return Fraction(1 if up else -1, 10**TINIEST) if up == (value > 0) else Fraction(0)
    return Fraction(contexts(places)[up].plus(value))


def upper(formula: Callable[[int], Enclosure], digits: int | None = None) -> Fraction:
    """The value of a formula, rounded up to `PLACES` significant digits. It is computed with
    `digits` digits, or without them with as many as that takes."""
    found = formula(digits) if digits else tight(formula, PLACES + 3)
    return rounded(found.high, PLACES, up=True)


def shortened(value: Fraction, up: bool) -> Fraction:
    """A fraction to `SHORT` significant digits, up or down."""
    enclosure = Enclosure.of(value)
    return rounded(enclosure.high if up else enclosure.low, SHORT, up)


# --- the normal law -------------------------------------------------------------------------------


@lru_cache
def pi(digits: int) -> Enclosure:
    """Machin: π = 16 arctan(1/5) - 4 arctan(1/239), each series summed in integers."""
    unit = 10 ** (digits + 10)

    def arctan(k: int) -> tuple[int, int]:
        total, n, term = 0, 0, unit // k
        while term:
            total += (-1) ** n * (term // (2 * n + 1))
            n, term = n + 1, term // k**2
        # Each floor is off by less than 1, the terms by up to 2, and the rest is below 1.
        return total - 3 * n - 3, total + 3 * n + 3

    (a, b), (c, d) = arctan(5), arctan(239)
    low = Enclosure.of(Fraction(16 * a - 4 * d, unit), digits).low
    return Enclosure(low, Enclosure.of(Fraction(16 * b - 4 * c, unit), digits).high, digits)


def normal_tail(x: Enclosure) -> Enclosure:
    """∫ exp(-t²/2) dt from x to ∞, which is √(2π) P[N(0,1) > x].

    For x ≥ 0, √(π/2) minus exp(-x²/2) Σ x^(2k+1)/(2k+1)!!, whose terms are positive and, once
    x² < k, less than half their predecessors: the rest is less than the last term. Far out, where
    digits cancel, Mills' bounds: between x/(1+x²) and 1/x times exp(-x²/2).
    """
    if x.low < 0:
        if x.high > 0:  # the tail falls as x grows
            above, below = (normal_tail(Enclosure(end, end, x.digits)) for end in x.ends)
            return Enclosure(below.low, above.high, x.digits)
        return (pi(x.digits) * 2).sqrt() - normal_tail(-x)
    square, up = x * x, contexts(x.digits)[1]
    if x.low >= FAR:
        density = (-square / 2).exp()
        return Enclosure((density * x / (square + 1)).low, (density / x).high, x.digits)
    term, total, k = x, x, 0
    while k < square.high or term.high > up.scaleb(total.high, -x.digits):
        k += 1
        term = term * square / (2 * k + 1)
        total = total + term
    total = Enclosure(total.low, (total + term).high, x.digits)
    found = (pi(x.digits) / 2).sqrt() - (-square / 2).exp() * total
    return Enclosure(max(found.low, Decimal(0)), found.high, x.digits)
