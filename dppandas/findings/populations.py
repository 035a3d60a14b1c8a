"""Intervals of derived numbers for the population that the rows are a sample of.

Sums of numbers that err nearly normally do so, too, and so does what a quotient is looked for by:
their errors are independent if their units differ, and their deviations add up whatever units they
share.
All else is bounded from intervals of the numbers that it is computed from
(docs/proofs/populations.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import QueryError
from ..privacy.accuracy.nearly_normal import dependent, independent
from ..privacy.accuracy.ratios import Terms
from ..release.answers.populations import check_size, samples_of, value_of
from ..statistics.samples import (
    BERNSTEIN,
    CHERNOFF,
    EXACT,
    FEW,
    LARGEST,
    Estimate,
    How,
    Moments,
    Sample,
    SampleCount,
    SampleShare,
    T,
    by_t,
)
from .boxes import BOXES, EVERYTHING, meet, outwards
from .boxes import times as times_of
from .forms import Draw, Form, Linear, Pair, Quotient
from .quantities import VALUES, Figure, Quantity, computed, operands_in

#: What is said where an interval rests on those of several numbers; and the ways to an interval
#: from the one that holds whatever the rows are to that which needs most of them.
BOX, WAYS = "box", ("", EXACT, CHERNOFF, BERNSTEIN, T, LARGEST, FEW)
#: How often an end of a quotient's interval is halved, and how often its distance is doubled.
HALVED, DOUBLED = 60, 200
#: How near to an end the search for it ends, as a share of the interval.
NEAR = 2.0**-20


class Populations:
    """Where derived numbers lie in the population. Each statement has this risk."""

    def __init__(self, risk: float, how: How) -> None:
        self._risk, self._how = risk, how
        self._numbers: dict[int, Estimate] = {}
        self._values: dict[int, float] = {}
        self._samples: dict[int, Any] = {}

    @classmethod
    def together(cls, numbers: Iterable[Any], risk: float, how: How) -> Populations:
        """Those of some numbers, which hold simultaneously: statements share the risk equally."""
        unsaid, made = cls(risk, how), operands_in(numbers, _needed)
        statements = {each for number in made for each in unsaid._statements(number)}
        found = cls(risk / max(1, len(statements)), how)
        for number in made:  # operands first: they nest deeper than Python calls
            found.value(number)
            found.of(number)
        return found

    def _statements(self, number: Quantity) -> Iterator[Hashable]:
        """What an interval rests on: the number's own statement, or those of figures; none beside
        those of its operands."""
        if number.parameter is None:
            return
        self._check_counts(number.parameter)
        if self._own(number) is not None:
            yield id(number)
        else:
            yield from _figures(number.parameter)

    def _check_counts(self, form: Form) -> None:
        """Refuse counts of several releases: each is a share of what that one counted."""
        records = {figure.record for figure in _figures(form) if _is_count(figure)}
        if len(records) > 1:
            raise QueryError(
                "counts of several answers are shares of different rows, so what they say of a "
                "population can't be computed with. Ask for means of True and False, or for one "
                "table of counts."
            )

    def of(self, number: Any) -> Estimate:
        if not isinstance(number, Quantity):
            return Estimate(math.nan, math.nan, "")
        if id(number) not in self._numbers:
            found = self._found(number)
            ends = meet(found[:2], number.span)
            value = self.value(number)
            if not math.isnan(value):
                ends = min(ends[0], value), max(ends[1], value)
            self._numbers[id(number)] = Estimate(*ends, found.way)
        return self._numbers[id(number)]

    def value(self, number: Any) -> float:
        """The number that is shown: counts are those of the population."""
        if not isinstance(number, Quantity):
            return math.nan
        if id(number) not in self._values:
            self._values[id(number)] = self._shown(number)
        return self._values[id(number)]

    def _shown(self, number: Quantity) -> float:
        if number.parameter is None:
            given = [self.value(each) for each in number.of]
            return computed(number.how, given) if number.how in VALUES else number.value
        if self._how.size is None or not any(map(_is_count, _figures(number.parameter))):
            return number.value
        return self._value_of(number.parameter)

    def _value_of(self, form: Form) -> float:
        match form:
            case Linear():
                return float(form.const) + sum(
                    float(weight)
                    * value_of(self._sample(each), each.record._values()[each.place], self._how)
                    for each, weight in form.terms.items()
                )
            case Quotient():
                return computed("/", [self._value_of(form.part), self._value_of(form.whole)])
            case Pair():
                one, other = self._value_of(form.one), self._value_of(form.other)
                if form.is_ratio:
                    return float(form.factor) * computed("/", [one, other])
                return float(form.factor) * one + float(form.weight) * other + float(form.const)

    def _found(self, number: Quantity) -> Estimate:
        own = self._own(number)
        if own is not None:
            return own(self._risk)
        if number.parameter is not None:
            return _boxed(self._box(number.parameter, number.form))
        if number.figure is not None:
            raise QueryError(
                "these numbers were made to agree, and nothing is known of what they say of a "
                "population. Ask about the answers that they were made of."
            )
        if not number.of:
            return Estimate(*number.span, "")
        of = [self.of(each) for each in number.of]
        low, high = BOXES[number.how](*(each[:2] for each in of))
        return _boxed(Estimate(low, high, _weaker(*(each.way for each in of))))

    def _own(self, number: Quantity) -> Callable[[float], Estimate] | None:
        """The interval that a number has by itself, by its risk; None if it has none."""
        found = number.parameter
        if isinstance(found, Linear):
            if not found.terms:
                return lambda _: Estimate(float(found.const), float(found.const), EXACT)
            if len(found.terms) == 1:
                ((figure, weight),) = found.terms.items()
                return lambda risk: self._scaled(figure, weight, found.const, risk)
            if count := _count_of(number):
                return lambda risk: count.estimate(risk, self._how)
            moments = None if self._how.method == "bernstein" else self._moments(found)
            return moments and (lambda risk: by_t(moments, risk))
        if not isinstance(found, Quotient):
            return None
        if share := _share_of(number.form, found):
            return lambda risk: share.estimate(risk, self._how)
        if len({*found.part.terms, *found.whole.terms}) == 1:
            return lambda risk: self._turned(found, risk)  # type: ignore[return-value]
        if self._how.method == "bernstein":
            return None
        part, whole = self._moments(found.part), self._moments(found.whole)
        if part is None or whole is None:
            return None
        return lambda risk: self._quotient(found, part, whole, risk)

    def _scaled(self, figure: Figure, weight: Fraction, const: Fraction, risk: float) -> Estimate:
        low, high, way = self._sample(figure).estimate(risk, self._how)
        low, high = times_of((low, high), (float(weight),) * 2)
        return Estimate(low + float(const), high + float(const), way)

    def _sample(self, figure: Figure) -> Sample:
        record = figure.record
        if id(record) not in self._samples:
            self._samples[id(record)] = samples_of(record, self._how)
        sample: Sample | None = self._samples[id(record)][figure.place]
        if sample is None:
            raise QueryError(
                f"a number of '{record.query}' says nothing of a population. Derive from means, "
                "shares, variances and deviations."
            )
        check_size(sample, self._how)
        if isinstance(sample, SampleCount) and self._how.size is None:
            raise QueryError(
                f"how many units of a population the counts of '{record.query}' stand for depends "
                "on how many it has: give size=; or compute with shares."
            )
        return sample

    # nearly normal numbers

    def moments(self, number: Quantity, at: float) -> Moments | None:
        """Those of a number, a sum or a difference; None if it isn't nearly normal. Of a number
        of one figure the noise is looked at as if this were the number."""
        form = number.parameter
        return self._moments(form, at) if isinstance(form, Linear) else None

    def has_moments(self, number: Quantity) -> bool:
        """Whether it is a sum of numbers that are nearly normal where rows are enough."""
        found = number.parameter
        return isinstance(found, Linear) and all(
            type(self._sample(figure)).moments is not Sample.moments for figure in found.terms
        )

    def share(self, number: Quantity) -> SampleShare | None:
        """The share of units that a number is; None if it is none."""
        found = number.parameter
        if isinstance(found, Linear) and len(found.terms) == 1 and not found.const:
            ((figure, weight),) = found.terms.items()
            sample = self._sample(figure)
            return sample if isinstance(sample, SampleShare) and weight == 1 else None
        return self.share_of_counts(number)

    def share_of_counts(self, number: Quantity) -> SampleShare | None:
        """The share that a quotient of counts of one release is; None if it is none."""
        found = _share_of(number.form, number.parameter)
        return found.share if found and found.factor == 1 and not found.is_odds else None

    def _moments(self, form: Linear, at: float | None = None) -> Moments | None:
        """Those of a sum; None if a number in it isn't nearly normal."""
        parts, how = [], self._how._replace(is_alone=False)
        for figure, weight in form.terms.items():
            if at is not None and len(form.terms) == 1 and weight:
                how = how._replace(at=(at - float(form.const)) / float(weight))
            found = self._sample(figure).moments(how)
            if found is None:
                return None
            parts.append(_Part(float(weight), found, figure.record))
        return _sum(parts, float(form.const))

    def _quotient(self, form: Quotient, part: Moments, whole: Moments, risk: float) -> Estimate:
        """All R for which part - R·whole may be 0 (Fieller, 1954). Those are an interval around the
        estimate, as a sum's deviation is convex in its weights, if the whole isn't 0."""
        low, high, way = by_t(whole, risk)
        way = _weaker(way, by_t(part, risk).way)
        if low <= 0 <= high:
            return Estimate(*EVERYTHING, way)

        def is_possible(ratio: float) -> bool:
            found = self._moments(form.part + form.whole.times(-Fraction(ratio)))
            if found is None:
                return True
            return not found.is_beyond(risk)

        middle = part.value / whole.value
        ends = _edge(is_possible, middle, -1), _edge(is_possible, middle, 1)
        return Estimate(*outwards(*ends), way)

    # all else

    def _box(self, form: Form, of_draws: Form | None = None) -> Estimate:
        """From the intervals of all figures, or of shares that are made of them: of these there are
        no more."""
        match form:
            case Linear():
                return self._box_of_sum(form)
            case Quotient():
                if share := _share_of(of_draws, form):
                    return share.estimate(self._risk, self._how)
                return self._turned(form, self._risk) or _computed(
                    "/", self._box(form.part), self._box(form.whole)
                )
            case Pair():
                of = of_draws if isinstance(of_draws, Pair) else None
                one = self._box(form.one, of and of.one)
                other = self._box(form.other, of and of.other)
                if form.is_ratio:
                    return _times(_computed("/", one, other), form.factor)
                found = _computed("+", _times(one, form.factor), _times(other, form.weight))
                const = float(form.const)
                return _computed("+", found, Estimate(const, const, ""))

    def _box_of_sum(self, form: Linear) -> Estimate:
        found = Estimate(float(form.const), float(form.const), "")
        for figure, weight in form.terms.items():
            each = self._sample(figure).estimate(self._risk, self._how)
            found = _computed("+", found, _times(each, weight))
        return found

    def _turned(self, form: Quotient, risk: float) -> Estimate | None:
        """(a·x + b)/(c·x + d) of one figure x, which rises or falls all along where the divisor
        isn't 0; None for others."""
        figures = {*form.part.terms, *form.whole.terms}
        if len(figures) != 1:
            return None
        (figure,) = figures
        low, high, way = self._sample(figure).estimate(risk, self._how)
        parts, wholes = (
            [float(each.terms.get(figure, 0)) * x + float(each.const) for x in (low, high)]
            for each in (form.part, form.whole)
        )
        if min(wholes) <= 0 <= max(wholes) or not all(map(math.isfinite, (low, high))):
            return Estimate(*EVERYTHING, way)
        ends = [part / whole for part, whole in zip(parts, wholes, strict=True)]
        return Estimate(*outwards(min(ends), max(ends)), way)


def _computed(how: str, one: Estimate, other: Estimate) -> Estimate:
    low, high = BOXES[how](one[:2], other[:2])
    return Estimate(low, high, _weaker(one.way, other.way))


def _times(found: Estimate, factor: Fraction) -> Estimate:
    return Estimate(*times_of(found[:2], (float(factor),) * 2), found.way)


def _needed(number: Quantity) -> Sequence[Quantity]:
    """Those that a number's interval follows from: none where it is made of figures."""
    return number.of if number.parameter is None else ()


class _Part(NamedTuple):
    weight: float
    moments: Moments
    record: Any


def _sum(parts: list[_Part], const: float) -> Moments:
    """Weighted numbers, added up. Those of other units are independent, whose variances add up; of
    several such sets the deviations do, whatever their correlation is (Minkowski)."""
    layers: list[list[_Part]] = []
    for part in parts:
        for layer in layers:
            if all(_are_apart(part, other) for other in layer):
                layer.append(part)
                break
        else:
            layers.append([part])
    added = [
        independent([each.moments.error.times(each.weight) for each in layer]) for layer in layers
    ]
    error = dependent(added) if len(added) > 1 else independent(added)
    value = const + sum(p.weight * p.moments.value for p in parts)
    known = min((p.moments.rows for p in parts), default=math.inf)
    is_largest = any(p.moments.is_largest for p in parts)
    least = min((p.moments.part for p in parts), default=1.0)
    return Moments(value, error, known, is_largest=is_largest, part=least)


def _are_apart(one: _Part, other: _Part) -> bool:
    """Whether no unit is in both: they are of different cells of one release."""
    cells = one.moments.cells, other.moments.cells
    return one.record is other.record and all(cells) and not cells[0] & cells[1]


def _weaker(*ways: str) -> str:
    """The way that holds least often."""
    return max((way.removeprefix(f"{BOX} of ") for way in ways), key=WAYS.index, default="")


def _boxed(found: Estimate) -> Estimate:
    return found._replace(way=f"{BOX} of {found.way}" if found.way else "")


def _edge(is_possible: Callable[[float], bool], middle: float, sign: int) -> float:
    """The furthest number in a direction that is possible."""
    step = abs(middle) / 16 or 2.0**-30
    for _ in range(DOUBLED):
        if not is_possible(middle + sign * step):
            break
        step *= 2
    near, far = 0.0, step
    for _ in range(HALVED):
        half = (near + far) / 2
        near, far = (half, far) if is_possible(middle + sign * half) else (near, half)
        if far - near <= NEAR * far:
            break
    return middle + sign * far


def _is_count(figure: Figure) -> bool:
    return isinstance(samples_of(figure.record)[figure.place], SampleCount)


def _figures(form: Any) -> Iterator[Figure]:
    if isinstance(form, Linear):
        yield from form.terms
    else:
        for each in vars(form).values():
            if isinstance(each, Linear | Quotient):
                yield from _figures(each)


# quotients of counts


def _share_of(form: Form | None, found: Form | None) -> _Share | None:
    """A quotient of counts of one release, by its draws and its figures, as a share, or as the odds
    of one."""
    if not (isinstance(form, Quotient) and isinstance(found, Quotient)):
        return None
    figures = list(_figures(found))
    one, *others = {figure.record for figure in figures}
    if others or len(one.components) > 1 or form.part.const or form.whole.const:
        return None
    if not all(map(_is_count, figures)):
        return None
    of_part, of_whole = _weight(form.part.terms), _weight(form.whole.terms)
    inside, all_ = set(form.part.terms), set(form.whole.terms)
    is_odds = not inside & all_
    if of_part is None or of_whole is None or not (is_odds or inside <= all_):
        return None
    part, whole = int(form.part.seen / of_part), int(form.whole.seen / of_whole)
    rest, terms = (whole, all_) if is_odds else (whole - part, all_ - inside)
    law = next(iter(inside)).law
    share = SampleShare(frozenset(), part, rest, law, Terms(len(inside), len(terms)))
    return _Share(share, of_part / of_whole, is_odds)


def _count_of(number: Quantity) -> _Count | None:
    """A sum of counts of one release as one count."""
    form, found = number.form, number.parameter
    if not isinstance(form, Linear) or not isinstance(found, Linear) or form.const:
        return None
    one, *others = {figure.record for figure in found.terms}
    weight = _weight(form.terms)
    if others or len(one.components) > 1 or weight is None:
        return None
    if not all(map(_is_count, found.terms)):
        return None
    part, inside, all_ = int(form.seen / weight), len(form.terms), len(one._noisy)
    rest = int(sum(one._noisy)) - part
    share = SampleShare(frozenset(), part, rest, one._law, Terms(inside, all_ - inside))
    return _Count(share, weight)


class _Count(NamedTuple):
    share: SampleShare
    factor: Fraction

    def estimate(self, risk: float, how: How) -> Estimate:
        low, high, way = self.share.estimate(risk, how)
        size = float(self.factor) * (how.size or 0)
        return Estimate(*times_of((low, high), (size, size)), way)


def _weight(terms: Mapping[Draw, Fraction]) -> Fraction | None:
    """The weight of all counts in a sum, if there is one."""
    weights = {*terms.values()}
    return weights.pop() if len(weights) == 1 else None


class _Share(NamedTuple):
    share: SampleShare
    factor: Fraction
    is_odds: bool

    def estimate(self, risk: float, how: How) -> Estimate:
        """Odds rise with the share."""
        low, high, way = self.share.estimate(risk, how)
        if self.is_odds:
            low, high = (end / (1 - end) if end < 1 else math.inf for end in (low, high))
        ends = times_of((low, high), (float(self.factor),) * 2)
        return Estimate(*ends, way)
