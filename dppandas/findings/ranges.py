"""Intervals for numbers derived from releases, by the laws of all their noises together.

Each statement fails with at most the risk that it is given. Where it depends on other parameters
beside its own, these take all values of intervals of their own, which fail with a part of the risk
(Berger and Boos, JASA 1994; proof: docs/proofs/derived.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ..privacy.accuracy import searches
from ..privacy.accuracy.combined import half_width_of_weighted, is_additive
from ..privacy.accuracy.margins import sum_width
from ..privacy.accuracy.pivots import Noises, Pivot
from ..privacy.accuracy.weighted_tails import half_width as half_width_of
from ..privacy.mechanisms.noise import chernoff
from .boxes import EVERYTHING, Range, meet, over, plus, times
from .forms import Draw, Form, Linear, Pair, Quotient

#: The share of the risk for each parameter that a combination depends on beside its own.
ASIDE = 0.02
#: More than rounding adds to differences of large numbers.
ROUNDED = 2.0**-46
#: Of more kinds of noises than this a sum is bounded by Chernoff's bound alone.
KINDS = 24
#: Weights are whole numbers up to this; and the part of the risk for what is left of them.
FINEST, LEFT = 2**40, 1e-3
#: How narrow a piece is, as a share of the range, that isn't cut any more; and how much of it is
#: shown where all is excluded, which is one of the draws in which an interval may fail.
NARROW, HIDDEN = 2.0**-10, 0.25


def interval(form: Form, risk: float) -> Range:
    """Where a number lies, but for this risk; anywhere where floats don't reach that far."""
    try:
        match form:
            case Linear():
                return _of_sum(form, risk)
            case Quotient():
                return meet(_of_quotient(form, risk), form.span)
            case Pair():
                return _of_pair(form, risk)
    except OverflowError:
        return EVERYTHING


# --- sums -----------------------------------------------------------------------------------------


def _of_sum(form: Linear, risk: float) -> Range:
    wide = half_width(form, risk) + form.rounded
    return _below(form.seen - wide), 0.0 - _below(-(form.seen + wide))


def half_width(form: Linear, risk: float) -> Fraction:
    """How large the noise of a sum may be, but for this risk."""
    kinds = Counter((draw.law, abs(weight)) for draw, weight in form.terms.items())
    kinds = Counter({kind: n for kind, n in kinds.items() if kind[0].scale})
    if not kinds:
        return Fraction(0)
    if len(kinds) == 1:
        (((law, weight), count),) = kinds.items()
        one = half_width_of(law, risk) if count == 1 else sum_width(law, risk, count)
        return Fraction(one) * weight
    plain = all(is_additive(law) for law, _ in kinds)
    if not plain:  # each by itself
        each = risk / len(kinds)
        return sum((Fraction(sum_width(law, each, n)) * w for (law, w), n in kinds.items()),
                   Fraction(0))  # fmt: skip
    unit, added = _common(weight for _, weight in kinds), Fraction(0)
    most = max(weight for _, weight in kinds)
    if most / unit > FINEST:  # what is left of each weight has noise of its own
        unit, aside, risk = most / FINEST, LEFT * risk / len(kinds), risk * (1 - LEFT)
        for (law, weight), n in kinds.items():
            added += weight % unit * math.ceil(half_width_of(law, aside, n))
    whole = [(law, math.floor(weight / unit), n) for (law, weight), n in kinds.items()]
    whole = [each for each in whole if each[1]]
    if len(kinds) <= KINDS:
        return half_width_of_weighted(tuple(whole), risk / 2) * unit + added
    fastest = min(1 / (float(law.scale) * weight) for law, weight, _ in whole)

    def moments(t: float) -> float:
        return float(sum(n * law.log_moment(t * weight) for law, weight, n in whole))

    return chernoff(moments, fastest, 1, risk) * unit + added


def _common(weights: Any) -> Fraction:
    """The largest number of which all weights are multiples."""
    each = list(weights)
    below = math.lcm(*(weight.denominator for weight in each))
    return Fraction(math.gcd(*(int(weight * below) for weight in each)), below)


def _below(value: Fraction) -> float:
    """A float that is no larger."""
    try:
        found = float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf
    return found if Fraction(found) <= value else math.nextafter(found, -math.inf)


# --- quotients ------------------------------------------------------------------------------------


def _of_quotient(form: Quotient, risk: float) -> Range:
    """By the pivot A - R·B, which is 0 of the exact integers."""
    aside = ASIDE * risk
    part, whole = _of_sum(form.part, aside), _of_sum(form.whole, aside)
    outer = meet(over(part, whole), form.span)
    kinds = _kinds([form.part, form.whole])
    pivot = Pivot(tuple(noises for _, noises in kinds), risk - 2 * aside)
    seen, rounded = _floats([form.part, form.whole])
    if not all(map(math.isfinite, outer)):
        return _turned(outer, pivot, kinds, seen, rounded)

    def excludes(low: Any, high: Any) -> Any:
        values = [seen[0] - r * seen[1] for r in (low, high)]
        off = _off([seen[0], np.maximum(np.abs(low), np.abs(high)) * seen[1]])
        off = off + rounded[0] + np.maximum(np.abs(low), np.abs(high)) * rounded[1]
        ends = [_hull([a - r * b for r in (low, high)]) for (a, b), _ in kinds]
        return pivot.is_beyond(ends, _least(values) - off)

    return _searched(excludes, outer)


def _turned(
    outer: Range, pivot: Pivot, kinds: Sequence[Any], seen: Sequence[float],
    rounded: Sequence[float],
) -> Range:  # fmt: skip
    """The same where the whole may be 0: R is a slope, and its angle is searched for, by the pivot
    A·cos - B·sin."""
    unit = abs(seen[0] / seen[1]) if seen[0] and seen[1] else 1.0  # angles of 45° say the most
    domain = math.atan(outer[0] / unit), math.atan(outer[1] / unit)

    def excludes(low: Any, high: Any) -> Any:
        cosines, sines = _hull([np.cos(low), np.cos(high)]), (np.sin(low), np.sin(high))
        cosines = cosines[0], np.where((low <= 0) & (high >= 0), 1.0, cosines[1])

        def between(a: float, b: float) -> tuple[Any, Any]:
            parts = _hull([a * c for c in cosines]), _hull([-b * unit * s for s in sines])
            return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]

        off = _off([seen[0], seen[1] * unit]) + rounded[0] + rounded[1] * unit
        ends = [between(a, b) for (a, b), _ in kinds]
        return pivot.is_beyond(ends, _least(between(*seen)) - off)

    first, last = _searched(excludes, domain)
    low, high = unit * math.tan(first), unit * math.tan(last)
    return (
        outer[0] if first <= domain[0] else low - abs(low) * ROUNDED,
        outer[1] if last >= domain[1] else high + abs(high) * ROUNDED,
    )


def _of_pair(form: Pair, risk: float) -> Range:
    """By both pivots together: A₁ - R₁·B₁ and, times the ratio of the wholes, A₂ - R₂·B₂, where R₁
    follows from R₂ and the number that is looked for."""
    aside = ASIDE * risk
    first, second = (interval(each, aside) for each in (form.one, form.other))
    wholes = [_of_sum(each.whole, aside / 2) for each in (form.one, form.other)]
    outer = over(first, second) if form.is_ratio else _added(form, first, second)
    outer = _scaled(outer, form) if form.is_ratio else outer
    ratio = over(*wholes)
    if not all(map(math.isfinite, (*outer, *second, *ratio))):
        return outer
    sums = [form.one.part, form.one.whole, form.other.part, form.other.whole]
    kinds, (seen, rounded) = _kinds(sums), _floats(sums)
    pivot = Pivot(tuple(noises for _, noises in kinds), risk * (1 - 3 * ASIDE))
    corners = list(product(second, ratio))
    factor, weight, const = map(float, (form.factor, form.weight, form.const))

    def pivots(found: Any, other: float, times: float) -> list[Any]:
        """The weights of both parts and wholes, of which the pivot is the sum."""
        if form.is_ratio:
            r = found / factor
            return [1.0, -r * other, -r * times, r * times * other]
        return [factor, -(found - const) + weight * other, weight * times, -weight * times * other]

    def excludes(low: Any, high: Any) -> Any:
        values, off = [], np.zeros(low.shape)
        each: list[list[Any]] = [[] for _ in kinds]
        for found in (low, high):
            for corner in corners:
                weights = pivots(found, *corner)
                values.append(sum(w * x for w, x in zip(weights, seen, strict=True)))
                terms = [w * x for w, x in zip(weights, seen, strict=True)]
                most = sum(np.abs(w) * x for w, x in zip(weights, rounded, strict=True))
                off = np.maximum(off, _off(terms) + most)
                for place, (of, _) in enumerate(kinds):
                    each[place].append(sum(w * x for w, x in zip(weights, of, strict=True)))
        return pivot.is_beyond([_hull(ends) for ends in each], _least(values) - off)

    return _searched(excludes, outer)


def _added(form: Pair, first: Range, second: Range) -> Range:
    one, other = (
        times(each, (float(by),) * 2) for each, by in ((first, form.factor), (second, form.weight))
    )
    return plus(plus(one, other), (float(form.const),) * 2)


def _scaled(found: Range, form: Pair) -> Range:
    return times(found, (float(form.factor),) * 2)


def _kinds(sums: Sequence[Linear]) -> list[tuple[tuple[float, ...], Noises]]:
    """The noises with their weights in each of the sums; of the same law and weights together."""
    draws: dict[Draw, None] = dict.fromkeys(draw for each in sums for draw in each.terms)
    counted = Counter(
        (draw.law, *(each.terms.get(draw, Fraction(0)) for each in sums)) for draw in draws
    )
    return [
        (tuple(map(float, weights)), Noises(law, count))
        for (law, *weights), count in counted.items()
    ]


def _floats(sums: Sequence[Linear]) -> tuple[list[float], list[float]]:
    return [float(each.seen) for each in sums], [float(each.rounded) for each in sums]


def _hull(values: Sequence[Any]) -> tuple[Any, Any]:
    return np.minimum.reduce(np.broadcast_arrays(*values)), np.maximum.reduce(
        np.broadcast_arrays(*values)
    )


def _least(values: Sequence[Any]) -> Any:
    """The least size of numbers between the least and the largest of some."""
    low, high = _hull(values)
    return np.where((low < 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def _off(terms: Sequence[Any]) -> Any:
    return ROUNDED * sum(map(np.abs, terms))


def _searched(excludes: Callable[[Any, Any], Any], outer: Range) -> Range:
    """The least and the largest of a range that isn't excluded."""
    low, high = outer
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return outer
    wide = high - low

    def in_shares(places: Any, start: Any, end: Any) -> Any:
        return excludes(low + start * wide, low + end * wide)

    first, last = searches.ends(
        in_shares, np.zeros(1), np.ones(1), np.array([HIDDEN]), 16, narrow=NARROW
    )
    ends = low + float(first[0]) * wide, low + float(last[0]) * wide
    return math.nextafter(ends[0], -math.inf), math.nextafter(ends[1], math.inf)
