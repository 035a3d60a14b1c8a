"""Decimals that are proven to enclose a real number, so that roundings go the safe way.

Every operation of `Enclosure` rounds its lower end down and its upper end up: IEEE 754 decimal
arithmetic is correctly rounded in the direction asked for. `decimal` rounds exp, ln and sqrt to
the nearest, correctly, so that the neighbours of what it says enclose the truth.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

Interval = tuple[Decimal, Decimal]

DIGITS = 50
MOST_DIGITS = 3200
FAR = 30
TINIEST = 5000


def contexts(digits: int) -> tuple[decimal.Context, decimal.Context]:
    """Arithmetic that rounds down, and arithmetic that rounds up."""
    down, up = (
        decimal.Context(digits, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
        for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
    )
    return down, up


def exp_interval(gamma: Fraction, digits: int) -> Interval:
    """Decimals around exp(-gamma); `decimal` rounds exp correctly, so a neighbour encloses it."""
    down, up = contexts(digits)
    n, d = Decimal(gamma.numerator), Decimal(gamma.denominator)
    low = down.next_minus(down.exp(up.divide(n, d).copy_negate()))
    high = up.next_plus(up.exp(down.divide(n, d).copy_negate()))
    return max(low, Decimal(0)), min(high, Decimal(1))


_contexts = lru_cache(contexts)


class Enclosure:
    """A real number that is known to lie between two decimals.

    >>> two = Enclosure.of(2, digits=20)
    >>> float((two.ln().exp() - two).high) < 1e-17
    True
    """

    __slots__ = ("digits", "high", "low")

    def __init__(self, low: Decimal, high: Decimal, digits: int) -> None:
        self.low, self.high, self.digits = low, high, digits

    @classmethod
    def of(cls, value: Fraction | int, digits: int = DIGITS) -> Enclosure:
        down, up = _contexts(digits)
        n, d = Decimal(value.numerator), Decimal(value.denominator)
        return cls(down.divide(n, d), up.divide(n, d), digits)

    def _other(self, other: Enclosure | Fraction | int) -> Enclosure:
        return other if isinstance(other, Enclosure) else Enclosure.of(other, self.digits)

    def __add__(self, other: Enclosure | Fraction | int) -> Enclosure:
        down, up = _contexts(self.digits)
        by = self._other(other)
        return Enclosure(down.add(self.low, by.low), up.add(self.high, by.high), self.digits)

    def __neg__(self) -> Enclosure:
        return Enclosure(self.high.copy_negate(), self.low.copy_negate(), self.digits)

    def __sub__(self, other: Enclosure | Fraction | int) -> Enclosure:
        return self + -self._other(other)

    def __mul__(self, other: Enclosure | Fraction | int) -> Enclosure:
        down, up = _contexts(self.digits)
        by = self._other(other)
        pairs = [(a, b) for a in (self.low, self.high) for b in (by.low, by.high)]
        low = min(down.multiply(a, b) for a, b in pairs)
        return Enclosure(low, max(up.multiply(a, b) for a, b in pairs), self.digits)

    def __truediv__(self, other: Enclosure | Fraction | int) -> Enclosure:
        down, up = _contexts(self.digits)
        by = self._other(other)
        if by.low <= 0 <= by.high:
            raise ZeroDivisionError("the divisor may be 0")
        pairs = [(a, b) for a in (self.low, self.high) for b in (by.low, by.high)]
        low = min(down.divide(a, b) for a, b in pairs)
        return Enclosure(low, max(up.divide(a, b) for a, b in pairs), self.digits)

    def exp(self) -> Enclosure:
        down, up = _contexts(self.digits)
        low, high = down.next_minus(down.exp(self.low)), up.next_plus(up.exp(self.high))
        return Enclosure(max(low, Decimal(0)), high, self.digits)

    def ln(self) -> Enclosure:
        """Of a number above 0."""
        down, up = _contexts(self.digits)
        low, high = down.next_minus(down.ln(self.low)), up.next_plus(up.ln(self.high))
        return Enclosure(low, high, self.digits)

    def sqrt(self) -> Enclosure:
        """Of a number that is not negative."""
        down, up = _contexts(self.digits)
        low, high = down.next_minus(down.sqrt(self.low)), up.next_plus(up.sqrt(self.high))
        return Enclosure(max(low, Decimal(0)), high, self.digits)


def tight(formula: Callable[[int], Enclosure], places: int) -> Enclosure:
    """An enclosure of at least `places` significant digits, if any number of digits gives one."""
    digits = DIGITS
    while True:
        found = formula(digits)
        down, up = _contexts(digits)
        if up.subtract(found.high, found.low) <= down.scaleb(found.high.copy_abs(), -places):
            return found
        if digits >= MOST_DIGITS:  # wide, but as true
            return found
        digits *= 2


def rounded(value: Decimal, places: int, up: bool) -> Fraction:
    """To so many significant digits, up or down: a fraction that is a short decimal.

    Below 10^-5000 it is to 10^-5000, or 0: exponents of decimals go on to 10^18.
    """
    if value and value.adjusted() < -TINIEST:
        return Fraction(1 if up else -1, 10**TINIEST) if up == (value > 0) else Fraction(0)
    rounding = decimal.ROUND_CEILING if up else decimal.ROUND_FLOOR
    context = decimal.Context(places, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    return Fraction(context.plus(value))


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
        # each floor is less than 1 off, the terms as much as twice, and the rest is below 1
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
        if x.high > 0:  # it falls with x
            above, below = normal_tail(_point(x.low, x)), normal_tail(_point(x.high, x))
            return Enclosure(below.low, above.high, x.digits)
        return (pi(x.digits) * 2).sqrt() - normal_tail(-x)
    square, up = x * x, _contexts(x.digits)[1]
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


def _point(value: Decimal, like: Enclosure) -> Enclosure:
    return Enclosure(value, value, like.digits)
