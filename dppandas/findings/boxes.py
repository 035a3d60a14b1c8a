"""Interval arithmetic: where a number lies, given where those lie that it is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

Range = tuple[float, float]
EVERYTHING: Range = (-math.inf, math.inf)


def outwards(low: float, high: float) -> Range:
    """The next floats outside, as ends may have been rounded; 0 isn't, or only towards it."""
    if math.isnan(low) or math.isnan(high):
        return EVERYTHING
    below, above = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    return (below if low else 0.0), (above if high or low else 0.0)


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def plus(x: Range, y: Range) -> Range:
    return outwards(x[0] + y[0], x[1] + y[1])


def minus(x: Range, y: Range) -> Range:
    return outwards(x[0] - y[1], x[1] - y[0])


def times(x: Range, y: Range) -> Range:
    ends = [_product(a, b) for a in x for b in y]
    return outwards(min(ends), max(ends))


def over(x: Range, y: Range) -> Range:
    """Anything where the divisor may be 0 within; up to infinity where it may end there."""
    low, high = y
    if low < 0 < high or low == high == 0:
        return EVERYTHING
    least, most = x
    if low < 0:
        least, most, low, high = -most, -least, -high, -low
    if least < 0:
        least = least / low if low else -math.inf
    else:
        least = least / high if math.isfinite(least) else math.inf
    if most > 0:
        most = most / low if low else math.inf
    else:
        most = most / high if math.isfinite(most) else -math.inf
    return outwards(least, most)


def of_log(x: Range) -> Range:
    low, high = (math.log(end) if end > 0 else -math.inf for end in x)
    return outwards(low, high)


def of_exp(x: Range) -> Range:
    low, high = (math.exp(end) if end < 709 else math.inf for end in x)
    return max(0.0, outwards(low, high)[0]), outwards(low, high)[1]


def of_sqrt(x: Range) -> Range:
    low, high = (math.sqrt(max(end, 0.0)) for end in x)
    return max(0.0, outwards(low, high)[0]), outwards(low, high)[1]


def of_abs(x: Range) -> Range:
    ends = abs(x[0]), abs(x[1])
    return (0.0 if x[0] <= 0 <= x[1] else min(ends)), max(ends)


def meet(x: Range, y: Range) -> Range:
    """What lies in both; the nearer end of the first where nothing does."""
    low, high = max(x[0], y[0]), min(x[1], y[1])
    return (low, high) if low <= high else (min(max(x[0], y[0]), y[1]),) * 2


def of_all(*ranges: Range) -> Range:
    """Of a number that lies in each of these."""
    return reduce(meet, ranges)


def of_part(*wholes: Range) -> Range:
    """Of a number that isn't negative and is a part of each of these."""
    return 0.0, min(high for _, high in wholes)


def of_whole(*parts: Range) -> Range:
    """Of a whole number that has these parts and maybe others, none of them negative. What rounding
    adds to their sum is less than 1."""
    return float(math.floor(math.fsum(max(0.0, low) for low, _ in parts))), math.inf


BOXES: dict[str, Callable[..., Any]] = {
    "+": plus, "-": minus, "*": times, "/": over, "abs": of_abs, "log": of_log, "exp": of_exp,
    "sqrt": of_sqrt, "all": of_all, "part": of_part, "whole": of_whole,
}  # fmt: skip
