"""Arrays of pairs of floats that provably enclose real numbers, so that rounding errs on the safe
side: what `Enclosure` is to one number in decimals, to many at once in float64.

IEEE 754 rounds the result of +, -, ×, ÷ and √ to the nearest float, so the two neighbours of that
enclose the exact result. This also holds for subnormal results, and for those that overflow: the
neighbour of ∞ is the largest float. Where an end is no number, as that of ∞ - ∞, nothing is known,
and it becomes -∞ or ∞.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Smaller whole numbers are floats.
ROUNDED = 2.0**53


class FloatEnclosures:
    """Real numbers that provably lie between the entries of two arrays.

    >>> third = FloatEnclosures.of([1, 2**80]) / FloatEnclosures.of([3, 3])
    >>> bool(third.low[0] < Fraction(1, 3) < third.high[0]), (third.high / third.low < 1 + 1e-15)
    (True, array([ True,  True]))
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = low, high

    @classmethod
    def of(cls, values: Sequence[int | Fraction]) -> FloatEnclosures:
        """Exact numbers. Those that are no floats are rounded outwards."""
        try:
            nearest = np.array(values, dtype=np.float64)
        except OverflowError:
            nearest = np.array([_nearest(value) for value in values])
        rounded = np.abs(nearest) >= ROUNDED
        rounded |= np.array([type(value) is not int for value in values], dtype=bool)
        around = _outwards(nearest, nearest)
        low, high = (np.where(rounded, end, nearest) for end in (around.low, around.high))
        return cls(low, high)

    @np.errstate(all="ignore")
    def __add__(self, other: FloatEnclosures) -> FloatEnclosures:
        return _outwards(self.low + other.low, self.high + other.high)

    @np.errstate(all="ignore")
    def __sub__(self, other: FloatEnclosures) -> FloatEnclosures:
        return _outwards(self.low - other.high, self.high - other.low)

    @np.errstate(all="ignore")
    def __mul__(self, other: FloatEnclosures) -> FloatEnclosures:
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        return _outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    @np.errstate(all="ignore")
    def __truediv__(self, other: FloatEnclosures) -> FloatEnclosures:
        """Nothing is known where the divisor may be 0 or less."""
        ends = [x / y for x in (self.low, self.high) for y in (other.low, other.high)]
        ends.append(np.where(other.low > 0, ends[0], math.nan))
        return _outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def sqrt(self) -> FloatEnclosures:
        """The roots; of numbers below 0 that of 0."""
        return _outwards(*(np.sqrt(np.maximum(end, 0.0)) for end in (self.low, self.high)))

    def clip(self, low: FloatEnclosures, high: FloatEnclosures) -> FloatEnclosures:
        """The numbers, moved into a range."""
        return FloatEnclosures(
            np.minimum(np.maximum(self.low, low.low), high.low),
            np.minimum(np.maximum(self.high, low.high), high.high),
        )

    def reshape(self, *shape: int) -> FloatEnclosures:
        return FloatEnclosures(self.low.reshape(shape), self.high.reshape(shape))


def _outwards(low: Floats, high: Floats) -> FloatEnclosures:
    """The next floats below and above the ends."""
    low, high = np.nextafter(low, -math.inf), np.nextafter(high, math.inf)
    return FloatEnclosures(
        np.where(np.isnan(low), -math.inf, low), np.where(np.isnan(high), math.inf, high)
    )


def _nearest(value: int | Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # the neighbour of ∞ is the largest float
