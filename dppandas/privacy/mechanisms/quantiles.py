"""Quantiles by the exponential mechanism on the points of a public grid, exactly.

The point c has loss max(0, #{x < c} - qn, qn - #{x ≤ c}), in whole numbers, and is taken with
probability proportional to exp(-rate · loss). Between two values that occur the loss is the same
everywhere, so points are drawn in runs. Several quantiles split the grid: the middle one first,
then each side on its own rows (Kaplan, Schnapp and Stemmer, "Differentially Private Approximate
Quantiles", ICML 2022; proof: docs/proofs/quantiles.md).

The loss of an extreme quantile grows only inwards, from the second row on. More rows never lower
it, so it may weigh twice as much.

A row at the point where the grid is split lies partly on both sides: points are divided into parts,
a row is spread evenly over its point, and the split falls between two parts. So equal values are
split as precisely as distinct ones.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cache, cached_property, partial

import numpy as np

from ...dataclasses import dataclass, replace
from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from ..sampling import samplers
from .base import Sensitivity
from .quantile_cells import Choice
from .quantile_plans import DIGITS, Node, Run, Slots, Weights, plan
from .rank_errors import RankTarget, joint_errors
from .ranks import INSIDE, Integers, Ranks, RanksByCell, Reach, Target

#: The factor of ε that pays for rounding weights, many times over.
SLACK = 1 - Fraction(1, 2**40)
#: Losses are capped where all slots beyond are chosen with a probability of at most e^-40.
TAIL = 40
#: Parts of a point where the grid is split: a part holds at most half a row of 2^30 rows.
PARTS = 2**31
#: From this many cells on, a single quantile is chosen in all of them together.
MANY = 32


def choose(slots: Slots, rate: Fraction) -> int:
    """A slot, chosen with probability proportional to exp(-rate · loss)."""
    runs = slots.runs()
    (chosen,) = samplers.weighted_choices(
        runs.weights(rate), np.zeros(1, dtype=np.int64), lambda _: _exactly(rate, runs)
    )
    with _context():
        return Weights(rate).slot(runs[chosen])


def weigh(rate: Fraction, counts: Sequence[int], losses: Sequence[int]) -> list[int]:
    """The whole-number weights of runs, given their numbers of slots and their losses."""
    return _exactly(rate, (Run(0, 1, *run) for run in zip(counts, losses, strict=True)))


def _exactly(rate: Fraction, runs: Iterable[Run]) -> list[int]:
    with _context():
        return list(map(Weights(rate).run, runs))


def _context() -> AbstractContextManager[decimal.Context]:
    return decimal.localcontext(decimal.Context(DIGITS, decimal.ROUND_HALF_EVEN))


@dataclass(frozen=True)
class ExponentialQuantiles(RecordPart):
    """Selects grid points near the quantiles of each column and cell.

    *Guarantee*: pure ε = per_unit · sensitivity. A row of which a share μ lies in a node of the
    plan moves the loss of a slot there by at most μ·max(a, b-a), and so costs that share of the
    node's ε. On one level the shares of a unit's rows add up to at most its rows (docs/proofs/
    quantiles.md). Where ρ is counted each choice costs ε²/8, as its range is bounded (Dong, Durfee
    and Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms", ICML 2020).
    """

    quantiles: tuple[Fraction, ...]  # as asked for, in any order
    tops: tuple[int, ...]  # the largest grid integer of each column
    cells: int
    per_unit: Fraction  # the ε of a movement by 1
    heaviest: int = 1  # how many ranks a row may count for
    first: tuple[Fraction, ...] = ()  # those chosen before all others
    weights: tuple[Fraction, ...] = ()  # the part of each level, where they differ

    name = word = "exponential"

    @classmethod
    def calibrate(
        cls,
        asked: LossRequest,
        sensitivity: Sensitivity,
        quantiles: tuple[Fraction, ...],
        tops: tuple[int, ...],
        cells: int,
    ) -> ExponentialQuantiles:
        """The most accurate choices for the loss asked for."""
        if asked.rho is not None:
            choices = len(tops) * (1 + max(node.level for node in plan(_sorted(quantiles))))
            epsilon = conversions.selection_epsilon_for(asked.rho / choices) * choices
        else:
            epsilon = asked.epsilon or Epsilon(0)
        return cls(quantiles, tops, cells, epsilon / sensitivity.l1)

    @cached_property
    def _found(self) -> tuple[Fraction, ...]:
        return _sorted(self.quantiles)

    @cached_property
    def _place(self) -> dict[Fraction, int]:
        return {share: at for at, share in enumerate(self._found)}

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return plan(self._found, self.first)

    @cached_property
    def _levels(self) -> int:
        return 1 + max(node.level for node in self._nodes)

    @property
    def _parts(self) -> int:
        return PARTS if len(self._found) > 1 else 1

    def _per_rank(self, node: Node) -> Fraction:
        """How much one rank lowers the logarithm of a probability. A row moves losses by up to
        max(a, b-a) units of 1/b rank, up or down: twice that is their range, but an extreme's."""
        unit = node.sensitivity if len(self._found) == 1 else 1
        part = self.weights[node.level] if self.weights else Fraction(1, self._levels)
        rate = self.per_unit * unit * part / node.spread
        return SLACK * rate * node.share.denominator

    def _rate(self, node: Node) -> Fraction:
        return self._per_rank(node) / (node.share.denominator * self._parts)

    def _cap(self, node: Node, top: int) -> int:
        log_slots = math.log(top + 1) + (0.0 if node.is_leaf else math.log(PARTS // 2))
        return math.ceil((log_slots + TAIL) / float(self._rate(node)))

    def reach(self, column: int) -> Reach:
        """Which ranks of a column decide its choices."""
        top, parts = self.tops[column], self._parts
        return Reach(tuple(
            Target(node.at, node.low, node.high, node.share, -(-self._cap(node, top) // parts))
            for node in self._nodes
        ))  # fmt: skip

    @property
    def scale(self) -> Fraction:
        """A slot that is this many ranks further off is chosen e times less often."""
        return 1 / min(self._per_rank(node) for node in self._nodes) * SLACK

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε; or where ρ is counted, an eighth of the square of each choice's ε."""
        epsilon = self.per_unit * sensitivity.l1
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(epsilon))
        choices = len(self.tops) * self._levels
        return Loss(rho=Rho(conversions.rho_of_selection(epsilon / choices) * choices))

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """A grid integer for each cell, quantile and column, columns varying fastest."""
        if self.cells >= MANY and len(self._nodes) == 1:
            columns = [self._side_by_side(*each) for each in zip(exact, self.tops, strict=True)]
            row = np.repeat(np.array(columns).T[:, None, :], len(self.quantiles), axis=1)
            every: list[int] = row.reshape(-1).tolist()
            return every
        found = [
            [self._chosen(exact[column][cell], top) for column, top in enumerate(self.tops)]
            for cell in range(self.cells)
        ]
        places = [self._place[q] for q in self.quantiles]
        return [chosen[place] for row in found for place in places for chosen in row]

    def _side_by_side(self, cells: Sequence[Ranks], top: int) -> Integers:
        """The points of a single quantile of one column, for all cells together."""
        (node,) = self._nodes
        ranks, rate = RanksByCell.of(cells), self._rate(node)
        choice = Choice(node.share, top, self._cap(node, top), rate)
        if choice.fits(ranks):
            return choice.points(ranks, partial(weigh, rate))
        return np.array([self._chosen(each, top)[0] for each in ranks], dtype=np.int64)

    def _chosen(self, ranks: Ranks, top: int) -> list[int]:
        """The points of all sorted quantiles of one column in one cell."""
        parts, end = self._parts, (top + 1) * self._parts
        cuts: dict[int | None, int] = {}
        points = [0] * len(self._found)
        for node in self._nodes:
            low = 0 if node.low is None else cuts[node.low]
            high = end if node.high is None else cuts[node.high]
            width = parts if node.is_leaf else 2
            slots = Slots(ranks, low, high, node.share, width, parts, self._cap(node, top))
            if not slots.are_known:  # after a choice with the capped loss: hardly ever
                ranks = ranks.whole
                slots = replace(slots, ranks=ranks)
            slot = choose(slots, self._rate(node))
            points[node.at] = slot * width // parts
            cuts[node.at] = min(max(slot * width + 1, low), high)
        return points

    def rank_errors(
        self, confidence: float, rows: Sequence[float] | float | None = None
    ) -> list[float]:
        """The error of each answer in ranks, a multiple of those of the heaviest row; with this
        confidence all hold simultaneously.

        ``rows`` is an upper limit, in all or for each column of each cell. It narrows the errors of
        splits, and no error exceeds it.
        """
        columns, places = len(self.tops), [self._place[q] for q in self.quantiles]
        entries = rows if rows is None or isinstance(rows, Sequence) else [float(rows)]
        failure = (1 - confidence) / (self.cells * columns)

        @cache
        def errors(column: int, most: float | None) -> list[float]:
            of_rows = joint_errors(self._aims(self.tops[column]), failure, most)
            return [error * self.heaviest for error in of_rows]

        def error_of(cell: int, place: int, column: int) -> float:
            most = None if entries is None else entries[(cell * columns + column) % len(entries)]
            return errors(column, most)[place]

        row = [(place, column) for place in places for column in range(columns)]
        if entries is None or len(entries) == 1:
            return [error_of(0, *entry) for entry in row] * self.cells
        return [error_of(cell, *entry) for cell in range(self.cells) for entry in row]

    def _aims(self, top: int) -> list[RankTarget]:
        """All choices of a column, with what decides their errors."""
        return [
            RankTarget(
                node.at, node.low, node.high, float(node.share), float(self._found[node.at]),
                float(self._per_rank(node) * self.heaviest), math.log(top + 1), math.log(PARTS),
                node.is_leaf, INSIDE if node.is_extreme else 0,
            )
            for node in self._nodes
        ]  # fmt: skip

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size


def _sorted(quantiles: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return tuple(sorted(set(quantiles)))
