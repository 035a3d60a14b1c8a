"""The sum of each group of numbers: the float64 nearest to the exact sum.

So it follows from that group's numbers alone, in whatever order they are, to the last bit: on every
processor and in every engine, whichever other groups are there. How it is found may depend on them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..rows.values.cells import nearest
from ..rows.values.orders import by_codes, starts

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

#: Larger numbers are added up one by one, and so are the bits of numbers below the second part's:
#: powers of two beyond these can't be multiplied with.
_LARGEST, _LEAST = 1000, -900


def sums(groups: Codes, numbers: Floats, size: int) -> Floats:
    """The sum of each of ``size`` groups; 0 for no numbers. None of the numbers is NaN.

    Numbers are cut into two parts, such that the sum of a group's parts has at most 53 bits: adding
    them up rounds nothing, and adding both sums rounds once. Where two parts aren't all of a
    number, its group is added up one by one.
    """
    if not len(numbers):
        return np.zeros(size)
    most = int(np.bincount(groups).max())
    bits = 53 - (most - 1).bit_length()
    hard = np.abs(numbers) > 2.0**_LARGEST
    easy = np.where(hard, 0.0, numbers) if hard.any() else numbers
    exponent = math.frexp(max(float(easy.max()), -float(easy.min())))[1]
    grid = max(exponent - bits, _LEAST)
    total, rest = _part(groups, easy, grid, size)
    if rest.any():
        more, rest = _part(groups, rest, grid - 1 - bits, size)
        total += more
        hard |= rest != 0
    if hard.any():
        _one_by_one(total, groups, numbers, np.unique(groups[hard]))
    return total


def _part(groups: Codes, numbers: Floats, grid: int, size: int) -> tuple[Floats, Floats]:
    """The sums of the numbers' nearest multiples of 2^grid, and what is left of each number."""
    part = numbers * 2.0**-grid
    np.rint(part, out=part)
    part *= 2.0**grid
    total: Floats = np.bincount(groups, weights=part, minlength=size)  # type: ignore[assignment]
    return total, numbers - part


def _one_by_one(total: Floats, groups: Codes, numbers: Floats, wanted: Codes) -> None:
    """Put in the sums of the groups that are wanted."""
    is_wanted = np.zeros(len(total), dtype=bool)
    is_wanted[wanted] = True
    at = np.flatnonzero(is_wanted[groups])
    at = at[by_codes(groups[at])]
    edges = [*starts(groups[at]).tolist(), len(at)]
    listed = numbers[at].tolist()
    total[wanted] = [_sum(listed[a:b]) for a, b in pairwise(edges)]


def _sum(numbers: Sequence[float]) -> float:
    infinite = [number for number in numbers if math.isinf(number)]
    if infinite:
        return sum(infinite)  # NaN, if there are both
    try:
        return math.fsum(numbers)
    except OverflowError:  # on the way, or in the end
        return nearest(sum(map(Fraction, numbers), Fraction(0)))
