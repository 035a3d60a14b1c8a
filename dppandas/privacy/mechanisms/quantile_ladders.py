"""Quantiles whose errors are measured: points, and noisy counts of the rows between them.

The counts say how far each point may be from its quantile, in ranks. For intervals of values there
are more points: first the number of rows is released, and points are then chosen below and above
each quantile too, its rungs. From the outermost rung inwards the counts certify that the quantile
lies beyond it: the last certified rung is an end of the interval (proof: docs/proofs/
quantile_intervals.md).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from ...dataclasses import dataclass
from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..accuracy.combined import SLACK, half_width_of_weighted, variance
from ..accuracy.margins import sum_width
from ..accuracy.samples import binomial_distances
from ..record_parts import RecordPart
from .base import Sensitivity
from .noise import DiscreteGaussian, DiscreteLaplace
from .quantiles import ExponentialQuantiles
from .ranks import Ranks

Noise = DiscreteLaplace | DiscreteGaussian

#: What rungs are placed for: a failure of intervals, and this many widths of a choice beside noise.
RISK, WIDTHS = 0.05, 3
#: The part of a risk for the number of rows, where a quantile of a population depends on it.
OF_ROWS = 0.02


class Ties(NamedTuple):
    """Where many rows may lie at one point of a column, as far as public facts say."""

    top: int
    has_step: bool

    def may_be_at(self, point: int) -> bool:
        """Anywhere, if values are multiples of a step; else where values are clipped to."""
        return self.has_step or point in (0, self.top)


@dataclass(frozen=True)
class Stages(RecordPart):
    """What each stage has of the loss, and which points are chosen beside each quantile's own."""

    of_rows: Fraction  # none: rungs need the number of rows
    of_choices: Fraction
    of_counts: Fraction
    #: The distances of the rungs on each side. The nearer ones are certified as a rule, and if not,
    #: the others nearly always.
    rungs: tuple[int, ...]
    #: The part of the choices for the quantiles themselves, which are chosen first.
    of_quantiles: Fraction = Fraction(1)

    @property
    def numbers(self) -> int:
        """How many numbers of rows are released about a column in a cell."""
        return 1 if self.of_rows else 0

    @property
    def points(self) -> int:
        """How many are chosen for each quantile."""
        return 2 * len(self.rungs) + 1

    @property
    def edges(self) -> int:
        """Below and above a quantile's point, below lower rungs, and above upper ones."""
        return self.points + 1

    def size(self, quantiles: Sequence[Fraction]) -> int:
        """How many integers are released about a column in a cell."""
        return self.numbers + (self.points + self.edges) * len(set(quantiles)) + 1

    def levels(self, quantiles: int) -> tuple[Fraction, ...]:
        """The part of each level of choices: those of the quantiles, and those of the rungs, of
        which twice their number lie between two quantiles, and once beyond the outermost ones."""
        early, late = quantiles.bit_length(), len(self.rungs) * (1 if quantiles == 1 else 2)
        rest = [1 - self.of_quantiles] * late.bit_length()
        return (self.of_quantiles / early,) * early + tuple(each / len(rest) for each in rest)

    def own_edges(self, point: int, share: Fraction, ties: Ties) -> tuple[int, int]:
        """The edges below and above a quantile's point. An edge e has the points below e on its
        left. Twice the same one where that says enough, for one noise less."""
        if self.rungs or (0 < share < 1 and ties.may_be_at(point)):
            return point, point + 1
        edge = point + (share > 0)  # none is below the least, nor above the largest
        return edge, edge

    def all_edges(self, points: Sequence[int], shares: Sequence[Fraction], ties: Ties) -> list[int]:
        """The edges of cells, in order: those of quantiles, below lower rungs, above upper ones."""
        found: list[int] = []
        middle = len(self.rungs)
        for place, share in enumerate(shares):
            own = points[place * self.points : (place + 1) * self.points]
            found += [*own[:middle], *self.own_edges(own[middle], share, ties)]
            found += [point + 1 for point in own[middle + 1 :]]
        return sorted(found)


#: For errors in ranks alone, and for intervals of values.
RANKS = Stages(Fraction(0), Fraction(70, 100), Fraction(30, 100), rungs=())
VALUES = Stages(
    Fraction(3, 100),
    Fraction(57, 100),
    Fraction(40, 100),
    rungs=(1, 5),
    of_quantiles=Fraction(9, 20),
)


@dataclass(frozen=True)
class LadderQuantiles(RecordPart):
    """Selects grid points near the quantiles of each column and cell, and perhaps around them, and
    counts the rows between these points with noise.

    *Guarantee*: the losses of its stages add up: noise on the number of rows, the choices of
    `ExponentialQuantiles`, and noise on counts of disjoint cells, whose edges are the points
    (adaptive composition; docs/proofs/quantile_intervals.md).
    """

    quantiles: tuple[Fraction, ...]  # as asked for, in any order
    tops: tuple[int, ...]  # the largest grid integer of each column
    cells: int
    of_rows: Noise | None
    per_unit: Fraction  # the ε of all choices for a row
    of_counts: Noise
    stages: Stages = VALUES
    steps: tuple[bool, ...] = ()  # whether all values of a column are multiples of a step

    name = "exponential, and noisy counts"
    word = "exponential"

    @classmethod
    def calibrate(
        cls,
        asked: LossRequest,
        sensitivity: Sensitivity,
        quantiles: tuple[Fraction, ...],
        tops: tuple[int, ...],
        cells: int,
        stages: Stages = VALUES,
        steps: tuple[bool, ...] = (),
    ) -> LadderQuantiles:
        """The loss divided among the stages."""

        def noise(part: Fraction) -> Noise:
            if asked.rho is None:
                return DiscreteLaplace.calibrate(sensitivity.l1, epsilon * part)
            return DiscreteGaussian.calibrate(sensitivity.l2_squared, asked.rho * part)

        epsilon = asked.epsilon or Epsilon(0)
        of_choices = epsilon * stages.of_choices
        if asked.rho is not None:
            squares = sum(part**2 for part in stages.levels(len(set(quantiles))))
            each = asked.rho * stages.of_choices * len(tops) / squares
            of_choices = conversions.selection_epsilon_for(each)
        rows = noise(stages.of_rows) if stages.of_rows else None
        of = rows, of_choices / sensitivity.l1, noise(stages.of_counts)
        return cls(quantiles, tops, cells, *of, stages, steps or (False,) * len(tops))

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles in order."""
        return tuple(sorted(set(self.quantiles)))

    def reach(self, column: int) -> None:
        """All ranks are needed: rungs depend on a noisy number of rows."""

    @property
    def scale(self) -> Fraction:
        """That of the noise on counts."""
        return self.of_counts.scale

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """What the stages cost together."""
        epsilon = self.per_unit * sensitivity.l1
        chosen = Loss(Epsilon(epsilon))
        if measure is Measure.ZCDP:
            levels = self.stages.levels(len(self.shares))
            parts = (epsilon * part / len(self.tops) for part in levels)
            rho = sum(map(conversions.rho_of_selection, parts), Fraction(0))
            chosen = Loss(rho=Rho(rho * len(self.tops)))
        noises = [each for each in (self.of_rows, self.of_counts) if each]
        return sum((each.cost(measure, sensitivity) for each in noises), chosen)

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """For each cell and column, columns varying fastest: the noisy number of rows, if points
        need it, the points of each quantile with its rungs, and the noisy counts between all their
        edges."""
        return [
            number
            for cell in range(self.cells)
            for column in range(len(self.tops))
            for number in self._measured(exact[column][cell], column)
        ]

    def _measured(self, ranks: Ranks, column: int) -> list[int]:
        top = self.tops[column]
        rows = self.of_rows.release([int(ranks.below[-1])]) if self.of_rows else []
        points = self._chosen(ranks, top, self.ladders(rows))
        ends = self._ends(points, column)
        below = [ranks.mass(end, 1) for end in ends]
        counts = [high - low for low, high in pairwise(below)]
        wide = [i for i, (low, high) in enumerate(pairwise(ends)) if low < high]
        # A cell without points holds nothing, as everybody knows: it needs no noise.
        for i, noisy in zip(wide, self.of_counts.release([counts[i] for i in wide]), strict=True):
            counts[i] = noisy
        return [*rows, *points, *counts]

    def _ends(self, points: Sequence[int], column: int) -> list[int]:
        """Where cells end, those of the grid too."""
        ties = Ties(self.tops[column], self.steps[column])
        return [0, *self.stages.all_edges(points, self.shares, ties), ties.top + 1]

    def evenly(self, rows: int, column: int) -> list[int]:
        """What `release` has of a column and cell with so many rows, spread evenly over the points,
        but for noise."""
        said, top = [rows] * self.stages.numbers, self.tops[column]
        points = [min(int(share * (top + 1)), top) for share in self.ladders(said)]
        below = [end * rows // (top + 1) for end in self._ends(points, column)]
        return [*said, *points, *(high - low for low, high in pairwise(below))]

    def _chosen(self, ranks: Ranks, top: int, shares: Sequence[Fraction]) -> list[int]:
        """A point for each share: for the quantiles first, then for rungs between two of them."""
        each = tuple(sorted(set(shares)))
        points = dict(zip(each, self._choices(each, (top,), 1).release([[ranks]]), strict=True))
        return [points[share] for share in shares]

    def _choices(
        self, shares: tuple[Fraction, ...], tops: tuple[int, ...], cells: int
    ) -> ExponentialQuantiles:
        levels, (first, *others) = self.stages.levels(len(self.shares)), set(shares)
        # Choices of several count the rows that differ, but that of one by how much losses do.
        moved = 1 if others else max(first.numerator, first.denominator - first.numerator)
        of = shares, tops, cells, self.per_unit / moved
        return ExponentialQuantiles(*of, first=self.shares, weights=levels)

    def rank_errors(self, confidence: float) -> list[float]:
        """How many ranks the points of quantiles may be off whatever the counts are, for each cell,
        quantile and column; with this confidence all hold simultaneously. Without rungs only."""
        return self._choices(self.quantiles, self.tops, self.cells).rank_errors(confidence)

    def ladders(self, rows: Sequence[int]) -> list[Fraction]:
        """For each quantile the shares of its lower rungs, itself, and its upper rungs, in order.
        ``rows`` has the noisy number of rows, if there are rungs."""
        if not self.stages.rungs:
            return list(self.shares)
        found: list[Fraction] = []
        ends = [Fraction(0), *self.shares, Fraction(1)]
        for place, reach in enumerate(self._reaches):
            low, share, high = ends[place : place + 3]  # rungs don't cross other quantiles
            away = [_share_of(reach * times, *rows) for times in self.stages.rungs]
            found += [max(low, share - each) for each in reversed(away)]
            found += [share, *(min(high, share + each) for each in away)]
        return found

    @cached_property
    def _reaches(self) -> list[float]:
        """How many ranks the nearest rungs lie from each quantile: so many that noise seldom keeps
        them from being certified. Nothing that is stated rests on it."""
        number, cells = len(self.shares), self.stages.edges * len(self.shares) + 1
        risk = RISK / (2 * number * self.cells * len(self.tops))
        normal = statistics.NormalDist().inv_cdf(1 - risk)
        choice = 1 / float(self.per_unit * self.stages.levels(number)[-1])
        found = []
        for place, share in enumerate(map(float, self.shares)):
            left = cells * (place + 0.5) / number
            terms = (1 - share) ** 2 * left + share**2 * (cells - left)
            noise = normal * math.sqrt(terms * variance(self.of_counts))
            found.append(noise + WIDTHS * choice)
        return found

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size


def ladders(
    noisy: Sequence[int],
    quantiles: Sequence[Fraction],
    tops: Sequence[int],
    stages: Stages,
    steps: Sequence[bool],
) -> list[Ladder]:
    """What was released about each column in each cell."""
    shares, size = tuple(sorted(set(quantiles))), stages.size(quantiles)
    ties = [Ties(*each) for each in zip(tops, steps, strict=True)]
    first, split = stages.numbers, stages.numbers + stages.points * len(shares)
    blocks = (tuple(noisy[start : start + size]) for start in range(0, len(noisy), size))
    return [
        Ladder(shares, block[first:split], block[split:], ties[i % len(ties)], stages)
        for i, block in enumerate(blocks)
    ]


def _share_of(ranks: float, rows: int) -> Fraction:
    """A share of at least so many ranks, in three binary digits, so that sums of it stay short."""
    if rows <= ranks:
        return Fraction(1)
    places = 2 - math.floor(math.log2(ranks / rows))
    return min(Fraction(1), Fraction(math.ceil(ranks / rows * 2.0**places), 2**places))


@dataclass(frozen=True)
class Ladder:
    """What was released about a column in a cell, and what follows from it."""

    shares: tuple[Fraction, ...]
    points: tuple[int, ...]  # of each share: lower rungs, its own, and upper rungs
    counts: tuple[int, ...]  # noisy, between the edges
    ties: Ties
    stages: Stages

    def point(self, place: int) -> int:
        """The point chosen for a share, by its place among all."""
        return self.points[place * self.stages.points + len(self.stages.rungs)]

    @cached_property
    def _at(self) -> dict[int, tuple[int, int, int]]:
        """At each edge: the noisy number of rows on its left, and how many noises there are in it
        and on its right."""
        left = accumulate(zip(self.counts, self._noises, strict=True), _add, initial=(0, 0))
        return {
            end: (rows, before, sum(self._noises) - before)
            for end, (rows, before) in zip(self._cell_ends, left, strict=True)
        }

    def _beyond(self, edge: int, share: Fraction) -> tuple[int, _Sides]:
        """b·(rows on the left of an edge) - a·(all rows) for a share a/b, with noise; and of how
        many noises this is made on each side."""
        rows, left, right = self._at[edge]
        noisy = share.denominator * rows - share.numerator * sum(self.counts)
        return noisy, _Sides(share, left, right)

    def error(self, noise: Noise, place: int, risk: float) -> int:
        """How many ranks a point may be off. At most one side of it can be, so each may fail with
        the whole risk."""
        share = self.shares[place]
        low, high = self.stages.own_edges(self.point(place), share, self.ties)
        below, under = self._beyond(low, share)
        above, over = self._beyond(high, share)
        # No rank is below the least, or above the largest.
        too_high = [below + under.width(noise, risk)] if share < 1 else []
        too_low = [over.width(noise, risk) - above] if share > 0 else []
        return max(0, *(-(-side // share.denominator) for side in too_high + too_low))

    def interval(self, noise: Noise, place: int, risk: float) -> tuple[int, int]:
        """Points between which the quantile lies: each of the two fails with half of the risk. 0
        and the top where nothing is certified. pandas takes a value between those of two ranks, at
        (n - 1)q, counted from 0."""
        a, b = self.shares[place].numerator, self.shares[place].denominator
        # more than (n - 1)q rows below, less than (n - 1)q + 1
        return self._certified(noise, place, risk, (a, b - a))

    def of_population(self, noise: Noise, place: int, risk: float) -> tuple[int, int]:
        """Points between which the quantile of a population lies that the rows are a sample of.

        Of n rows more than any binomial number, but for a part of the risk, lie at the quantile or
        below it, and fewer below it. Both are far enough from n·q for all n that are possible."""
        share, cells = self.shares[place], sum(self._noises)
        rows = sum(self.counts)
        wide = sum_width(noise, OF_ROWS * risk, cells) if cells else 0
        fewest, most = max(rows - wide, 0), max(rows + wide, 0)
        of_each = (1 - OF_ROWS) / 2 * risk
        low, high = binomial_distances(share, fewest, most, of_each)
        return self._certified(noise, place, of_each, (low, high))

    def _certified(
        self, noise: Noise, place: int, risk: float, far: tuple[int, int]
    ) -> tuple[int, int]:
        """The last points from outside that have so many rows, times the share's denominator, less
        below than the quantile's, or more up to them."""
        share, point = self.shares[place], self.point(place)
        low, high = 0, self.ties.top
        # From outside inwards. The first that isn't certified ends it: what is false of an edge is
        # false of all further in, so an error needs the first false one to be certified.
        inner = [
            edge for edge in self._at if 0 < edge <= self.ties.top
        ]  # all know what is beyond these
        for edge in (edge for edge in inner if edge <= point):
            rows, sides = self._beyond(edge, share)
            if not sides.exclude(-far[0] - rows, noise, risk / 2):
                break
            low = edge
        for edge in (edge for edge in reversed(inner) if edge > point):
            rows, sides = self._beyond(edge, share)
            if not sides.exclude(rows - far[1], noise, risk / 2):
                break
            high = edge - 1
        return low, high

    @cached_property
    def _cell_ends(self) -> list[int]:
        return [0, *self.stages.all_edges(self.points, self.shares, self.ties), self.ties.top + 1]

    @cached_property
    def _noises(self) -> list[int]:
        """How many noises there are in each cell: none where it has no points."""
        return [int(low < high) for low, high in pairwise(self._cell_ends)]


def _add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


@dataclass(frozen=True)
class _Sides:
    """(b - a)·(the sum of `left` noises) - a·(the sum of `right` noises), for a share a/b. Its law
    is symmetric."""

    share: Fraction
    left: int
    right: int

    @property
    def _terms(self) -> list[tuple[int, int]]:
        """The weights that aren't 0, and of how many noises."""
        a, b = self.share.numerator, self.share.denominator
        return [(w, times) for w, times in ((b - a, self.left), (a, self.right)) if w and times]

    def exclude(self, excess: int, noise: Noise, risk: float) -> bool:
        """Whether noise is this large on one side with at most this risk: by a quick bound, which
        is enough for most edges, or else by the least one."""
        if excess < 0:
            return False
        return excess >= self._roughly(noise, risk) or excess >= self.width(noise, risk)

    def _roughly(self, noise: Noise, risk: float) -> float:
        """A w with P[it > w] ≤ risk, by Chernoff's bound at a few exponents."""
        if not self._terms or not noise.scale:
            return 0.0
        largest = max(weight for weight, _ in self._terms)
        fastest = 1 / (float(noise.scale) * largest)
        if isinstance(noise, DiscreteGaussian):
            fastest *= 4 * math.sqrt(-math.log(risk))
        found = math.inf
        for t in (fastest * i / 16 for i in range(1, 16)):
            moments = sum(times * noise.log_moment(t * weight) for weight, times in self._terms)
            found = min(found, (moments - math.log(risk)) / t)
        return found * (1 + SLACK)

    def width(self, noise: Noise, risk: float) -> int:
        """The least w, nearly, with P[it > w] ≤ risk."""
        return half_width_of_weighted(tuple((noise, w, n) for w, n in self._terms), risk)
