"""Several figures of each column from the sums of one release: the number of values, their sum,
their mean and their spread.

A mean takes two sums and a spread three. The number of values and their sum are sums of these with
public weights (proof: docs/proofs/means.md, "Count and sum too").
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from ...dataclasses import dataclass
from ...privacy.accuracy.margins import sum_width
from ...privacy.accuracy.ratios import shares
from ...privacy.accuracy.weighted_tails import Floats, bound
from ...privacy.mechanisms.noise import Within
from ...rows.facts.bounds import Grid
from ...rows.facts.kinds import Schema
from ..base import Form
from ..counting.counts import clamped
from ..layout import Interval, around, errors_in_words
from ..methods import SPREADS
from ..samples import Sample
from .means import Mean, MeanErrors, _mean, mean_of, means_between
from .sums import ByColumnErrors, Clipped, T, sum_possible
from .variances import Variance, VarianceErrors

#: Sums with public weights, and those of them that are numbers of rows.
TOTALS, WHOLE = ("count", "sum", "sum of True"), ("count", "sum of True")
#: What says the same of the sums as another figure, so that one risk is enough for both.
ALIKE = {"std": "var"}


@dataclass(frozen=True)
class Total:
    """A sum of the noisy sums of a column with public weights, over T."""

    weights: tuple[Fraction, ...]
    row: int  # T
    grid: Grid | None  # of its numbers; None for numbers of rows

    def number(self, sums: Sequence[int]) -> float:
        """The answer."""
        exact = self._exact(sums)
        if self.grid is None:
            return clamped([round(exact)])[0]
        return self.grid.number(exact.numerator, exact.denominator)

    def interval(self, sums: Sequence[int], law: Any, risk: float) -> Interval:
        """Which totals noise may hide, rounded outwards; the whole ones of numbers of rows."""
        low, high = self._ends(sums, law, risk)
        if self.grid is None:
            return max(math.ceil(low), 0), max(math.floor(high), 0)
        ends = (self.grid.below(end.numerator, end.denominator) for end in (low, -high))
        return next(ends), -next(ends)

    def half_width(self, law: Any, risk: float) -> float:
        """The largest error, before the release."""
        _, wide = self._ends([0] * len(self.weights), law, risk)
        if self.grid is not None:
            return float(wide)
        # a number that isn't whole is rounded, which may add a half
        return float(math.floor(wide + (Fraction(1, 2) if self.row > 1 else 0)))

    def _ends(self, sums: Sequence[int], law: Any, risk: float) -> tuple[Fraction, Fraction]:
        largest = max(map(abs, self.weights)) or 1
        sizes = tuple(float(abs(weight / largest)) for weight in self.weights)
        wide = Fraction(_beyond(law, risk, sizes)) * largest / self.row
        return self._exact(sums) - wide, self._exact(sums) + wide

    def _exact(self, sums: Sequence[int]) -> Fraction:
        return sum(map(Fraction.__mul__, self.weights, map(Fraction, sums)), Fraction()) / self.row


@lru_cache(maxsize=256)
def _beyond(law: Any, risk: float, sizes: tuple[float, ...]) -> float:
    """Beyond which weighted noises are with at most this risk. The law of a plain sum is known
    exactly where noise is small."""
    found = bound(law, risk, sizes)
    return min(found, sum_width(law, risk, len(sizes))) if {*sizes} == {1.0} else found


class SeveralErrors(ByColumnErrors):
    of: Several

    def __init__(self, statistic: Several) -> None:
        super().__init__(statistic)
        self.figures = statistic.shown

    # units

    def units(self, schema: Schema) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._unit(name, schema) for name in self.of.shown))

    def unit(self, entry: int, schema: Schema) -> str:
        return self._unit(self.of.figure(entry), schema)

    def _unit(self, name: str, schema: Schema) -> str:
        if name in WHOLE:
            return "rows"
        if name == "mean":
            return MeanErrors(self.of).units(schema)[0]
        return "square" if name == "var" else "column"

    noise_steps = VarianceErrors.noise_steps

    def possible(self, entry: int) -> Interval | None:
        bounds, name = self.of.bounds[entry % len(self.of.bounds)], self.of.figure(entry)
        if name == "sum":
            return sum_possible(bounds.lower, bounds.upper)
        if name != "mean":
            return 0, math.inf
        return (bounds.lower, bounds.upper) if bounds.lower < bounds.upper else None

    # before the release

    def expected_at(self, law: Any, confidence: float) -> str:
        """Of totals what it is, of ratios to first order; of deviations only the answer decides."""
        if self.of.layout.is_mixed or not hasattr(law, "half_width"):
            return ""
        risk, columns = self._risk(self.of.size, confidence), range(len(self.of.operands))
        names, figures = self.asked_columns, self.figures
        said = [self._before(name, i, law, risk) for i in columns for name in figures]
        return errors_in_words(names, figures, said)

    def _before(self, name: str, column: int, law: Any, risk: float) -> str:
        if name in TOTALS:
            return f"± {self.in_short(self.of.total(name, column).half_width(law, risk))}"
        model = self.of.model(name)
        ratios = model.ratios_by_column(self.of.noise_before(name, law, risk))
        return "" if ratios is None else f"≈ {model.in_short(ratios[column])}/n"

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        """That of rows spread evenly."""
        return self.over_even(law, confidence, rows) or self.expected_at(law, confidence)

    def evenly(self, rows: float) -> list[int]:
        return self.of.model(self.of.dearest).evenly(rows)  # type: ignore[no-any-return]

    # after the release

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        return self._intervals(noisy, Within(half_width), 1.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self._intervals(noisy, law, self._risk(len(noisy), confidence))

    def _risk(self, integers: int, confidence: float) -> float:
        """That of each number; two that say the same have it together."""
        statements = len({ALIKE.get(name, name) for name in self.of.shown})
        return self.of.parts * (1 - confidence) / (integers * statements)

    def _intervals(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        each = [self._of_figure(name, noisy, law, risk) for name in self.of.shown]
        return around(self.of.estimate(noisy), self.of.by_cell(*each))

    def _of_figure(
        self, name: str, noisy: Sequence[int], law: Any, risk: float
    ) -> Sequence[Interval]:
        """What the sums show with this risk for each number of a figure."""
        if name in TOTALS:
            return self._totals(name, noisy, law, risk)
        if name in SPREADS:
            return self.of.spread(name).errors.spreads(noisy, law, risk)  # type: ignore[attr-defined, no-any-return]
        low, high = self.of.means_between(noisy, law, risk)
        return means_between(low, high, self.of.bounds * (len(low) // len(self.of.bounds)))

    def _totals(self, name: str, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        return [
            self.of.total(name, place).interval(sums, law, risk)
            for place, sums in enumerate(self.of.sums_of(noisy))
        ]

    def rows_at_most(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float] | None:
        risk = self.of.parts * (1 - confidence) / len(noisy)
        return [high for _, high in self._totals("count", noisy, law, risk)]


class Several(Clipped, registered=False):
    """Figures of each column, by name. Each cell has a row for each of them in the answer."""

    error_model: ClassVar = SeveralErrors
    shown: tuple[str, ...]
    #: The figure before which the error is known in the least detail.
    dearest: ClassVar[str]

    @abstractmethod
    def weights(self, lower: Fraction, upper: Fraction) -> tuple[Fraction, ...]:
        """What each of the sums counts for the sum of the values, for these bounds."""

    @abstractmethod
    def sides(self, sums: Sequence[int]) -> tuple[int, int]:
        """The sum of values above their lower bound, and of those below the upper one, in the
        same steps."""

    @abstractmethod
    def means_between(self, noisy: Sequence[int], law: Any, risk: float) -> tuple[Floats, Floats]:
        """Where the means lie between their bounds, at least and at most."""

    def figures(self) -> tuple[str, ...]:
        return self.shown

    def figure(self, entry: int) -> str:
        """The figure that a number of the answer is."""
        return self.shown[entry // len(self.operands) % len(self.shown)]

    def says(self, entry: int) -> str:
        name = self.figure(entry)
        return "number" if name in WHOLE else "spread" if name in SPREADS else "value"

    def spread(self, name: str) -> Variance:
        """The statistic of the same sums that is a spread alone."""
        of = self.cells, self.layout, self.operands, self.bounds, getattr(self, "ddof", 1)
        return Variance(*of, root=name != "var", of_mean=name == "sem")

    def model(self, name: str) -> Any:
        """The errors of a mean or a spread alone, before a release."""
        if name in SPREADS:
            return self.spread(name).errors
        return Mean(self.cells, self.layout, self.operands, self.bounds).errors

    def noise_before(self, name: str, law: Any, risk: float) -> float:
        """Of the noise that moves a mean or a spread to first order, at worst."""
        found: int = self.model(name).half_width(law, 1 - risk * self.size / self.parts)
        return found

    def total(self, name: str, place: int) -> Total:
        """A figure that is a total, of the column at a place."""
        column = place % len(self.operands)
        bounds, row = self.bounds[column], self.grids[column].high or 1
        if name == "sum":
            ends = Fraction(bounds.lower), Fraction(bounds.upper)
            return Total(self.weights(*ends), row, Grid.centred(bounds))
        ends = (Fraction(1), Fraction(1)) if name == "count" else (Fraction(), Fraction(1))
        return Total(self.weights(*ends), row, None)

    def sums_of(self, noisy: Sequence[int]) -> list[tuple[int, ...]]:
        """The sums of each column in each cell."""
        size = len(noisy) // self.parts
        return list(zip(*(noisy[i : i + size] for i in range(0, len(noisy), size)), strict=True))

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return self.by_cell(*(self._estimates(name, noisy) for name in self.shown))

    def _estimates(self, name: str, noisy: Sequence[int]) -> list[float]:
        if name in SPREADS:
            return self.spread(name).estimate(noisy)
        each = list(enumerate(self.sums_of(noisy)))
        if name in TOTALS:
            return [self.total(name, place).number(sums) for place, sums in each]
        columns = len(self.bounds)
        sides = [(self.sides([max(x, 0) for x in sums]), place) for place, sums in each]
        return [_mean(*both, self.bounds[place % columns]) for both, place in sides]

    def forms(self, integers: int) -> Sequence[Form | None]:
        size = integers // self.parts
        return self.by_cell(*(
            [self._form(name, place, size) for place in range(size)] for name in self.shown
        ))  # fmt: skip

    def _form(self, name: str, place: int, size: int) -> Form | None:
        own = range(place, place + size * self.parts, size)
        if name in TOTALS:
            total = self.total(name, place)
            return Form({i: w / total.row for i, w in zip(own, total.weights, strict=True)})
        if name in SPREADS:
            return None
        units = ([int(i == j) for j in own] for i in own)
        above, below = zip(*map(self.sides, units), strict=True)
        up, down = (dict(zip(own, map(Fraction, side), strict=True)) for side in (above, below))
        return mean_of(up, down, self.bounds[place % len(self.bounds)])

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        each = list(enumerate(self.sums_of(noisy)))
        return self.by_cell(*(
            [self._says_of_population(name, place, sums, law, schema) for place, sums in each]
            for name in self.shown
        ))  # fmt: skip

    def _says_of_population(
        self, name: str, place: int, sums: tuple[int, ...], law: Any, schema: Schema
    ) -> Sample | None:
        if name == "mean":
            last_is_high = sums if len(sums) == 3 else sums[::-1]
            return self._sample_of(place, last_is_high, law, schema)
        if name in ("var", "std"):
            return self.spread(name)._spread_of(place, sums, law)
        return None

    def by_cell(self, *figures: Sequence[T]) -> list[T]:
        """The numbers of the answer in order: cell by cell, one row for each figure."""
        columns = len(self.operands)
        starts = range(0, len(figures[0]), columns)
        return [x for start in starts for each in figures for x in each[start : start + columns]]


@dataclass(frozen=True)
class FirstMoments(Several, Mean):
    """For each cell and column, its number of values, sum and mean, by the sums of a mean.

    Queries are equal to those of the mean alone, whose release it is.
    """

    shown: tuple[str, ...] = ("count", "mean")

    takes_limits: ClassVar = True
    proof: ClassVar[str] = "means"
    error_model: ClassVar = SeveralErrors
    not_asked: ClassVar = ("layout", "shown")
    asked_as: ClassVar = Mean
    dearest: ClassVar = "mean"

    def weights(self, lower: Fraction, upper: Fraction) -> tuple[Fraction, ...]:
        return upper, lower

    def sides(self, sums: Sequence[int]) -> tuple[int, int]:
        above, below = sums
        return above, below

    def means_between(self, noisy: Sequence[int], law: Any, risk: float) -> tuple[Floats, Floats]:
        above, below = zip(*self.sums_of(noisy), strict=True)
        return shares(above, below, law, risk)


@dataclass(frozen=True)
class Moments(Several, Variance):
    """For each cell and column, its number of values, sum, mean and spread, by the sums of a
    variance."""

    shown: tuple[str, ...] = ("count", "mean", "std")

    takes_limits: ClassVar = True
    proof: ClassVar[str] = "means"
    error_model: ClassVar = SeveralErrors
    not_asked: ClassVar = (*Variance.not_asked, "shown")
    dearest: ClassVar = "std"

    def weights(self, lower: Fraction, upper: Fraction) -> tuple[Fraction, ...]:
        return lower, (lower + upper) / 2, upper

    def noise_before(self, name: str, law: Any, risk: float) -> float:
        # at an end of the bounds the mean moves by one noise and half of another
        if name == "mean":
            return bound(law, risk, (1.0, 0.5))
        return super().noise_before(name, law, risk)

    def sides(self, sums: Sequence[int]) -> tuple[int, int]:
        low, middle, high = sums
        return 2 * high + middle, 2 * low + middle

    def means_between(self, noisy: Sequence[int], law: Any, risk: float) -> tuple[Floats, Floats]:
        return self.three_sums(noisy, law).means(risk)
