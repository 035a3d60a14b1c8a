"""Quantiles with intervals: points at and around each quantile, and noisy counts between them.

First the number of rows is released, then points are chosen for the shares asked for and for some
below and above each of these, its rungs, and last the rows between all these points are counted
with noise. The counts say how far each point may be from its quantile, in ranks. From the outermost
rung inwards they certify that the quantile lies beyond it: the last certified rung is an end of an
interval of values (proof: docs/proofs/quantile_intervals.md).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise

from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..accuracy.combined import SLACK, TINY, SumTail, variance
from ..record_parts import RecordPart
from .base import Sensitivity
from .noise import DiscreteGaussian, DiscreteLaplace
from .quantiles import ExponentialQuantiles
from .ranks import Ranks

Noise = DiscreteLaplace | DiscreteGaussian

#: The shares of the loss for the number of rows, for the choices, and for the counts.
OF_ROWS, OF_CHOICES, OF_COUNTS = Fraction(3, 100), Fraction(57, 100), Fraction(40, 100)
#: The distances of the rungs on each side. The nearer ones are certified as a rule, and if not, the
#: others nearly always.
RUNGS = (1, 5)
POINTS = 2 * len(RUNGS) + 1  # of each quantile
EDGES = POINTS + 1  # below and above a quantile's point, below lower rungs, above upper ones
#: The part of the choices for the quantiles themselves, which are chosen first.
OF_QUANTILES = Fraction(9, 20)
#: What rungs are placed for: a failure of intervals, and this many widths of a choice beside noise.
RISK, WIDTHS = 0.05, 3


@dataclass(frozen=True)
class LadderQuantiles(RecordPart):
    """Selects grid points near the quantiles of each column and cell and around them, and counts
    the rows between these points with noise.

    *Guarantee*: the losses of its three stages add up: noise on the number of rows, the choices of
    `ExponentialQuantiles`, and noise on counts of disjoint cells, whose edges are the points
    (adaptive composition; docs/proofs/quantile_intervals.md).
    """

    quantiles: tuple[Fraction, ...]  # as asked for, in any order
    tops: tuple[int, ...]  # the largest grid integer of each column
    cells: int
    of_rows: Noise
    per_unit: Fraction  # the ε of all choices for a row
    of_counts: Noise

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
    ) -> LadderQuantiles:
        """The loss divided among the three stages."""
        found = sorted(set(quantiles))
        if asked.rho is None:
            whole = asked.epsilon or Epsilon(0)
            rows, counts = (
                DiscreteLaplace.calibrate(sensitivity.l1, whole * part)
                for part in (OF_ROWS, OF_COUNTS)
            )
            return cls(quantiles, tops, cells, rows, whole * OF_CHOICES / sensitivity.l1, counts)
        normal = [
            DiscreteGaussian.calibrate(sensitivity.l2_squared, asked.rho * part)
            for part in (OF_ROWS, OF_COUNTS)
        ]
        squares = sum(part**2 for part in _parts(len(found)))
        each = asked.rho * OF_CHOICES * len(tops) / squares
        epsilon = conversions.selection_epsilon_for(each)
        return cls(quantiles, tops, cells, normal[0], epsilon / sensitivity.l1, normal[1])

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The quantiles in order."""
        return tuple(sorted(set(self.quantiles)))

    def window(self, column: int) -> None:
        """All ranks are needed, because later choices depend on earlier ones."""

    @property
    def scale(self) -> Fraction:
        """That of the noise on counts."""
        return self.of_counts.scale

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """What the three stages cost together."""
        epsilon = self.per_unit * sensitivity.l1
        chosen = Loss(Epsilon(epsilon))
        if measure is Measure.ZCDP:
            parts = (epsilon * part / len(self.tops) for part in _parts(len(self.shares)))
            rho = sum(map(conversions.rho_of_selection, parts), Fraction(0))
            chosen = Loss(rho=Rho(rho * len(self.tops)))
        counted = (each.cost(measure, sensitivity) for each in (self.of_rows, self.of_counts))
        return sum(counted, chosen)

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """For each cell and column, columns varying fastest: the noisy number of rows, the points
        of each quantile with its rungs, and the noisy counts between all their edges."""
        return [
            number
            for cell in range(self.cells)
            for column, top in enumerate(self.tops)
            for number in self._measured(exact[column][cell], top)
        ]

    def _measured(self, ranks: Ranks, top: int) -> list[int]:
        (rows,) = self.of_rows.release([int(ranks.below[-1])])
        points = self._chosen(ranks, top, self.ladders(rows))
        ends = [0, *_edges(points), top + 1]
        below = [ranks.mass(end, 1) for end in ends]
        counts = [high - low for low, high in pairwise(below)]
        wide = [i for i, (low, high) in enumerate(pairwise(ends)) if low < high]
        # A cell without points holds nothing, as everybody knows: it needs no noise.
        for i, noisy in zip(wide, self.of_counts.release([counts[i] for i in wide]), strict=True):
            counts[i] = noisy
        return [rows, *points, *counts]

    def evenly(self, rows: int, top: int) -> list[int]:
        """What `release` has of a column and cell with so many rows, spread evenly over the points,
        but for noise."""
        points = [min(int(share * (top + 1)), top) for share in self.ladders(rows)]
        below = [end * rows // (top + 1) for end in (0, *_edges(points), top + 1)]
        return [rows, *points, *(high - low for low, high in pairwise(below))]

    def _chosen(self, ranks: Ranks, top: int, shares: Sequence[Fraction]) -> list[int]:
        """A point for each share: for the quantiles first, then for rungs between two of them."""
        each, parts = tuple(sorted(set(shares))), _parts(len(self.shares))
        choices = ExponentialQuantiles(
            each, (top,), 1, self.per_unit, first=self.shares, weights=parts
        )
        points = dict(zip(each, choices.release([[ranks]]), strict=True))
        return [points[share] for share in shares]

    def ladders(self, rows: int) -> list[Fraction]:
        """For each quantile the shares of its lower rungs, itself, and its upper rungs, in order.
        ``rows`` is the noisy number of rows."""
        found: list[Fraction] = []
        ends = [Fraction(0), *self.shares, Fraction(1)]
        for place, reach in enumerate(self._reaches):
            low, share, high = ends[place : place + 3]  # rungs don't cross other quantiles
            away = [_share_of(reach * times, rows) for times in RUNGS]
            found += [max(low, share - each) for each in reversed(away)]
            found += [share, *(min(high, share + each) for each in away)]
        return found

    @cached_property
    def _reaches(self) -> list[float]:
        """How many ranks the nearest rungs lie from each quantile: so many that noise seldom keeps
        them from being certified. Nothing that is stated rests on it."""
        number, cells = len(self.shares), EDGES * len(self.shares) + 1
        risk = RISK / (2 * number * self.cells * len(self.tops))
        normal = statistics.NormalDist().inv_cdf(1 - risk)
        choice = 1 / float(self.per_unit * _parts(number)[-1])
        found = []
        for place, share in enumerate(map(float, self.shares)):
            left = cells * (place + 0.5) / number
            terms = (1 - share) ** 2 * left + share**2 * (cells - left)
            noise = normal * math.sqrt(terms * variance(self.of_counts))
            found.append(noise + WIDTHS * choice)
        return found

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size


def size_of(quantiles: Sequence[Fraction]) -> int:
    """How many integers are released about a column in a cell: its rows, points and counts."""
    return 1 + (POINTS + EDGES) * len(set(quantiles)) + 1


def ladders(
    noisy: Sequence[int], quantiles: Sequence[Fraction], tops: Sequence[int]
) -> list[Ladder]:
    """What was released about each column in each cell."""
    shares, size = tuple(sorted(set(quantiles))), size_of(quantiles)
    split = 1 + POINTS * len(shares)
    blocks = (tuple(noisy[first : first + size]) for first in range(0, len(noisy), size))
    return [
        Ladder(shares, block[1:split], block[split:], tops[i % len(tops)])
        for i, block in enumerate(blocks)
    ]


def _parts(quantiles: int) -> tuple[Fraction, ...]:
    """The part of each level of choices: those of the quantiles, and those of the rungs, of which
    up to four lie between two quantiles, and two beyond the outermost ones."""
    early, late = quantiles.bit_length(), len(RUNGS) * (1 if quantiles == 1 else 2)
    levels = late.bit_length()
    return (OF_QUANTILES / early,) * early + ((1 - OF_QUANTILES) / levels,) * levels


def _share_of(ranks: float, rows: int) -> Fraction:
    """A share of at least so many ranks, in three binary digits, so that sums of it stay short."""
    if rows <= ranks:
        return Fraction(1)
    places = 2 - math.floor(math.log2(ranks / rows))
    return min(Fraction(1), Fraction(math.ceil(ranks / rows * 2.0**places), 2**places))


def _edges(points: Sequence[int]) -> list[int]:
    """The edges of cells, in order: below lower rungs, below and above each quantile's point, and
    above upper rungs. An edge e has the points below e on its left."""
    found: list[int] = []
    for first in range(0, len(points), POINTS):
        own, middle = points[first : first + POINTS], len(RUNGS)
        found += [*own[: middle + 1], *(point + 1 for point in own[middle:])]
    return sorted(found)


@dataclass(frozen=True)
class Ladder:
    """What was released about a column in a cell, and what follows from it."""

    shares: tuple[Fraction, ...]
    points: tuple[int, ...]  # of each share: lower rungs, its own, and upper rungs
    counts: tuple[int, ...]  # noisy, between the edges
    top: int

    def point(self, place: int) -> int:
        """The point chosen for a share, by its place among all."""
        return self.points[place * POINTS + len(RUNGS)]

    @cached_property
    def _at(self) -> dict[int, tuple[int, int, int]]:
        """At each edge: the noisy number of rows on its left, and how many noises there are in it
        and on its right."""
        ends = [0, *_edges(self.points), self.top + 1]
        noises = [int(low < high) for low, high in pairwise(ends)]
        left = accumulate(zip(self.counts, noises, strict=True), _add, initial=(0, 0))
        return {
            end: (rows, before, sum(noises) - before)
            for end, (rows, before) in zip(ends, left, strict=True)
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
        share, point = self.shares[place], self.point(place)
        below, under = self._beyond(point, share)
        above, over = self._beyond(point + 1, share)
        # No rank is below the least, or above the largest.
        too_high = [below + under.width(noise, risk)] if share < 1 else []
        too_low = [over.width(noise, risk) - above] if share > 0 else []
        return max(0, *(-(-side // share.denominator) for side in too_high + too_low))

    def interval(self, noise: Noise, place: int, risk: float) -> tuple[int, int]:
        """Points between which the quantile lies: each of the two fails with half of the risk. 0
        and the top where nothing is certified. pandas takes a value between those of two ranks, at
        (n - 1)q, counted from 0."""
        share, point = self.shares[place], self.point(place)
        a, b = share.numerator, share.denominator
        low, high = 0, self.top
        # From outside inwards. The first that isn't certified ends it: what is false of an edge is
        # false of all further in, so an error needs the first false one to be certified.
        inner = [edge for edge in self._at if 0 < edge <= self.top]  # all know what is beyond these
        for edge in (edge for edge in inner if edge <= point):
            rows, sides = self._beyond(edge, share)
            if not sides.exclude(-a - rows, noise, risk / 2):  # more than (n - 1)q rows below
                break
            low = edge
        for edge in (edge for edge in reversed(inner) if edge > point):
            rows, sides = self._beyond(edge, share)
            if not sides.exclude(rows - (b - a), noise, risk / 2):  # less than (n - 1)q + 1
                break
            high = edge - 1
        return low, high


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
        return _width(self, noise, risk)


@lru_cache(maxsize=4096)
def _width(sides: _Sides, noise: Noise, risk: float) -> int:
    parts = [(noise, weight) for weight, times in sides._terms for _ in range(times)]
    if not parts or not noise.scale:
        return 0
    deviation = math.sqrt(sum(variance(noise) * weight**2 for _, weight in parts))
    tail = SumTail(parts, deviation, risk)
    low, high = -1, math.ceil(2 * deviation)
    while not _is_rare(tail, high, risk):
        low, high = high, 2 * high
    while high - low > max(1, high >> 10):
        middle = (low + high) // 2
        low, high = (low, middle) if _is_rare(tail, middle, risk) else (middle, high)
    return high


def _is_rare(tail: SumTail, width: int, risk: float) -> bool:
    return tail.from_(width + 1) * (1 + SLACK) + TINY <= risk
