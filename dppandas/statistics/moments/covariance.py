"""Covariances and correlations of bounded numbers, from noisy masses over blocks of columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...privacy.accounting.measures import LossRequest
from ...rows.facts.bounds import Grid
from ...rows.values.vectors import Mask
from ..methods import COLUMN, FRAME, GROUPS, Method
from .covariance_tables import BITS, WHOLE, CovarianceTable, CovarianceTableErrors, Integers, Values
from .fieller import Design, NoisySums
from .second_moments import SecondMoments

#: For each entry of a table of masses, the places of the integers that add up to it.
Places = tuple[tuple[int, ...], ...]


class CovarianceErrors(CovarianceTableErrors):
    of: Covariance

    def evenly(self, rows: float) -> list[int]:
        """The mean share of each node is the same, if values are spread evenly; none is missing."""
        found: list[int] = []
        for block in self.of.blocks:
            each = round(Fraction(rows) * WHOLE / self.of.nodes ** len(block))
            states = itertools.product(range(self.of.states), repeat=len(block))
            found += [each if max(state) < self.of.nodes else 0 for state in states]
        return found * len(self.of.cells)


@dataclass(frozen=True)
class Covariance(CovarianceTable):
    """Covariances from the mass that rows distribute over combinations of values of a few columns.

    A value u in [0, 1] is split over the nodes 0, ½, 1 with shares (1-u)², 2u(1-u), u² (or over 0
    and 1 with 1-u and u, where no variance is asked for). A missing value lies in a gap. For each
    block of columns a row distributes 2^30 over all combinations of nodes and gaps, by the products
    of the shares: ℓ1 is 2^30 a block. The sums give the count, means, variances and covariances of
    all pairs in the block, over the rows that have both values. With ``complete`` they are over the
    rows that have all values, and there are no gaps (proof: docs/proofs/covariances.md).
    """

    complete: bool = False

    methods: ClassVar = (
        Method("cov", COLUMN | FRAME | GROUPS),
        Method("corr", COLUMN | FRAME | GROUPS),
    )
    takes_limits: ClassVar = True
    error_model: ClassVar = CovarianceErrors

    def adapted_to(self, asked: LossRequest, rows: int) -> CovarianceTable:
        """One vector of all products for Gaussian noise, complete rows and three columns or more,
        where it has less noise than blocks. Public facts decide."""
        if not self.complete or asked.noise != "gaussian" or len(self.operands) < 3:
            return self
        said = self.operands, self.bounds, self.ddof, self.correlation
        return SecondMoments(self.cells, self.layout, *said)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The blocks of columns: each pair of columns is in at least one."""
        return cover(len(self.operands))

    @property
    def nodes(self) -> int:
        return 2 if self.pair and not self.correlation else 3

    @property
    def gaps(self) -> bool:
        """Whether a row counts for a pair if another value of the block is missing."""
        width = len(self.blocks[0])
        is_partial = width > 2 or (width == 2 and not self.pair and not self.correlation)
        return is_partial and not self.complete

    @property
    def states(self) -> int:
        return self.nodes + self.gaps

    @property
    def states_of_all(self) -> int:
        return sum(int(self.states ** len(block)) for block in self.blocks)

    @property
    def same_rows(self) -> bool:
        return self.complete

    @property
    def l1(self) -> int:
        return WHOLE * len(self.blocks)

    # from rows to integers

    def _integers(self, values: Sequence[Values], grids: Sequence[Grid]) -> Iterable[Integers]:
        pairs = zip(values, grids, strict=True)
        shares = [self._shares(steps, there, grid.high) for (steps, there), grid in pairs]
        return (part for block in self.blocks for part in self._block(block, shares))

    def _block(self, block: Sequence[int], shares: Sequence[Sequence[Integers]]) -> list[Integers]:
        parts = list(shares[block[0]])
        for column in block[1:]:
            parts = [piece for part in parts for piece in _split(part, shares[column])]
        if self.gaps:
            parts[-1] = np.zeros_like(parts[-1])  # a row with all values missing adds nothing
        return parts

    def _shares(self, steps: npt.NDArray[np.float64], there: Mask, whole: int) -> list[Integers]:
        """The share of 2^30 at each node, and in the gap."""
        t = steps.astype(np.int64)
        t = (t * WHOLE + whole // 2) // whole if whole else t
        if self.nodes == 2:
            shares = [WHOLE - t, t]
        else:
            low, high = _rounded((WHOLE - t) ** 2), _rounded(t**2)
            shares = [low, WHOLE - low - high, high]
        for share in shares:
            share[~there] = 0
        return [*shares, np.where(there, 0, WHOLE)] if self.gaps else shares

    # from noisy integers to numbers

    def sums(self, noisy: Sequence[int], i: int, j: int) -> NoisySums:
        """The masses at the nodes, averaged over the blocks that hold these columns."""
        who = (i,) if i == j else (min(i, j), max(i, j))
        blocks = sum({*who} <= {*block} for block in self.blocks)
        places = _places(self.blocks, who, self.nodes, self.states)
        share = blocks * WHOLE
        found = tuple(sum(noisy[k] for k in each) for each in places)
        return NoisySums(found, _design(self.nodes, len(who)), len(places[0]), share)


@lru_cache(maxsize=1024)
def _places(
    blocks: tuple[tuple[int, ...], ...], who: tuple[int, ...], nodes: int, states: int
) -> Places:
    """For each combination of nodes of one column or two, the places of its integers, gaps left
    out. All combinations have equally many."""
    every = itertools.product(range(nodes), repeat=len(who))
    found: dict[tuple[int, ...], list[int]] = {at: [] for at in every}
    start = 0
    for block in blocks:
        if {*who} <= {*block}:
            for k, at in enumerate(itertools.product(range(states), repeat=len(block)), start):
                here = tuple(at[block.index(column)] for column in who)
                if here in found:
                    found[here].append(k)
        start += states ** len(block)
    return tuple(map(tuple, found.values()))


@lru_cache(maxsize=8)
def _design(nodes: int, columns: int) -> Design:
    """The values of 1, u, v, u², uv, v² at each combination of nodes, in quarters. u is the mean of
    its nodes; of three nodes, the share of the last is u², by Bernstein's identity."""
    last = nodes - 1  # u is h halves
    places = [(2 * a // last, 4 * (a == last and nodes == 3)) for a in range(nodes)]
    if columns == 1:
        return tuple((4, 2 * h, 0, square, 0, 0) for h, square in places)
    return tuple((4, 2 * h, 2 * k, one, h * k, other) for h, one in places for k, other in places)


def _rounded(value: Integers) -> Integers:
    """A product of two integers up to 2^30, divided by 2^30 and rounded half up: exact."""
    rounded: Integers = (value + WHOLE // 2) >> BITS
    return rounded


def _split(part: Integers, shares: Sequence[Integers]) -> Sequence[Integers]:
    """A part divided by shares. Differences of rounded running sums are whole and never negative,
    and add up to the part where the shares add up to 2^30."""
    if not part.any():
        return [part] * len(shares)
    pieces, before, cumulated = [], np.zeros_like(part), np.zeros_like(part)
    for share in shares:
        cumulated = cumulated + share
        now = _rounded(part * cumulated)
        pieces.append(now - before)
        before = now
    return pieces


@lru_cache(maxsize=128)
def cover(columns: int) -> tuple[tuple[int, ...], ...]:
    """Blocks of columns such that each pair is in at least one.

    A pair's covariance sums over the four states of each other column in its block, and each such
    sum doubles the noise. So blocks are few and large or many and small, whichever makes the number
    of blocks times 2^(their size) least.
    """
    everything = range(columns)
    if columns <= 2:
        return (tuple(everything),)
    pairs = tuple(itertools.combinations(everything, 2))
    choices = [pairs, _triples(columns)]
    if columns <= 4:
        choices.append((tuple(everything),))
    return min(choices, key=lambda blocks: len(blocks) * 2 ** len(blocks[0]))


def _triples(columns: int) -> tuple[tuple[int, ...], ...]:
    """Triples such that each pair of columns is in at least one, chosen greedily."""
    left = set(itertools.combinations(range(columns), 2))
    triples = itertools.combinations(range(columns), 3)
    every = {triple: set(itertools.combinations(triple, 2)) for triple in triples}
    chosen = []
    for worth in (3, 2, 1):
        for triple, covered in every.items():
            if len(left & covered) >= worth:
                chosen.append(triple)
                left -= covered
    return tuple(chosen)
