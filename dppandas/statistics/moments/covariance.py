"""Covariances and correlations of bounded numbers, from noisy masses over blocks of columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
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
from .covariance_tables import (
    WHOLE,
    Add,
    CovarianceTable,
    CovarianceTableErrors,
    Integers,
    Values,
    rounded,
)
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
    proof: ClassVar[str] = "covariances"
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
    def complete_rows(self) -> bool:
        return not self.gaps

    @property
    def l1(self) -> int:
        return WHOLE * len(self.blocks)

    # from rows to integers

    def _sums(self, values: Sequence[Values], grids: Sequence[Grid], add: Add) -> Integers:
        pairs = zip(values, grids, strict=True)
        cuts = [self._cuts(*each, grid.high) for each, grid in pairs]
        rows = np.full((1, cuts[0].shape[1]), WHOLE, dtype=np.int64)
        shares = [_split(rows, each) for each in cuts]
        found = []
        for block in self.blocks:
            parts = shares[block[0]] if block[1:] else rows
            for column in block[1:-1]:
                parts = _split(parts, cuts[column])
            states = [len(cuts[column]) + 1 for column in block]
            found.append(self._put(_split_sums(parts, cuts[block[-1]], add), states))
        return np.concatenate(found, axis=1)

    def _put(self, sums: Integers, states: Sequence[int]) -> Integers:
        """The sums of a block at their places. Those of a gap that none of the rows has are 0."""
        found = np.zeros((len(sums), *(self.states,) * len(states)), dtype=np.int64)
        found[(slice(None), *map(slice, states))] = sums.reshape(-1, *states)
        found = found.reshape(len(sums), -1)
        if self.gaps:
            found[:, -1] = 0  # a row with all values missing adds nothing
        return found

    def _cuts(self, steps: npt.NDArray[np.float64], there: Mask | None, whole: int) -> Integers:
        """The running sums of the shares of 2^30 at each node, but for the last state that some
        row has, where they are 2^30."""
        t = steps.astype(np.int64)
        t = (t * WHOLE + whole // 2) // whole if whole else t
        cuts = [WHOLE - t]
        if self.nodes == 3:
            cuts = [rounded((WHOLE - t) ** 2), WHOLE - rounded(t**2)]
        if there is None:
            return np.stack(cuts)
        return np.stack([*(np.where(there, cut, 0) for cut in cuts), np.where(there, WHOLE, 0)])

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


def _split(parts: Integers, cuts: Integers) -> Integers:
    """Each part divided at the cuts, one after the other. Differences of rounded running sums are
    whole and never negative, and add up to the part."""
    pieces = np.empty((len(parts), len(cuts) + 1, parts.shape[1]), dtype=np.int64)
    ends = np.multiply(parts[:, None], cuts, out=pieces[:, :-1])
    rounded(ends)
    np.subtract(parts, ends[:, -1], out=pieces[:, -1])
    for k in range(len(cuts) - 1, 0, -1):
        ends[:, k] -= ends[:, k - 1]
    return pieces.reshape(-1, parts.shape[1])


def _split_sums(parts: Integers, cuts: Integers, add: Add) -> Integers:
    """The sums of the pieces of `_split`, which are the differences of the sums of their ends."""
    ends = rounded(parts[:, None] * cuts)
    sums, whole = add(ends.reshape(-1, parts.shape[1])), add(parts)
    sums, whole = sums.reshape(len(whole), len(parts), -1), whole[:, :, None]
    return np.diff(np.concatenate([sums, whole], axis=2), axis=2, prepend=0)


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
    """Triples such that each pair of columns is in at least one, chosen greedily: first those with
    three pairs that are in none yet, then with two, then with one; each time in order."""
    left = ~np.tri(columns, dtype=bool)  # the pairs that are in none
    chosen = []
    for worth in (3, 2, 1):
        for a, b in itertools.combinations(range(columns - 1), 2):
            # No triple of a and b changes what the others with a third column are worth, but for
            # the pair of a and b itself, which the first one takes.
            others = left[a, b + 1 :].astype(np.int8) + left[b, b + 1 :]
            worthy = others >= worth
            if left[a, b] and (first := others + 1 >= worth).any():
                worthy[first.argmax()] = True
            found = b + 1 + np.flatnonzero(worthy)
            if len(found):
                chosen += [(a, b, c) for c in found.tolist()]
                left[a, b] = False
                left[a, found] = left[b, found] = False
    return tuple(chosen)
