"""Covariances and correlations of bounded numbers, by noisy counts of blocks of columns."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...privacy.accounting.measures import LossRequest
from ...rows.expressions import Chunk
from ...rows.values.vectors import Mask
from ..base import Partial, sum_by
from .covariance_tables import BITS, ROWS, WHOLE, CovarianceTable
from .fieller import Design, NoisySums
from .second_moments import SecondMoments, complete
from .sums import on_grid

Integers = npt.NDArray[np.int64]
#: For each entry of a table of masses the places of the integers that add up to it.
Places = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Covariance(CovarianceTable):
    """Of what one row shares out over the combinations of values of a few columns.

    A column's value u in [0, 1] lies at nodes 0, ½, 1 with shares (1-u)², 2u(1-u), u² (at 0 and 1
    with 1-u and u, where no variance is asked for), or in a gap where it is missing. For each block
    of columns a row shares out 2^30 over all combinations of these, by the products of the shares:
    ℓ1 is 2^30 a block, and from the sums follow count, means, variances and covariances of all
    pairs in the block, among the rows that have both values; with ``complete`` among the rows that
    have all, so that there are no gaps (proof: docs/proofs/covariances.md).
    """

    complete: bool = False

    def adapted_to(self, asked: LossRequest) -> CovarianceTable:
        """For Gaussian noise, complete rows and three columns or more, sums of all products in one
        vector: they have less noise than blocks. Public facts decide."""
        if not self.complete or asked.noise != "gaussian" or len(self.operands) < 3:
            return self
        said = self.operands, self.bounds, self.ddof, self.correlation
        return SecondMoments(self.cells, self.layout, *said)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Columns that are looked at together: each two of them somewhere."""
        return cover(len(self.operands))

    @property
    def nodes(self) -> int:
        return 2 if self.pair and not self.correlation else 3

    @property
    def gaps(self) -> bool:
        """Whether a row counts where another value of its block is missing."""
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

    @property
    def linf(self) -> int:
        return WHOLE

    # from rows to integers

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        grids = [bounds.grid for bounds in self.bounds]
        pairs = zip(self.operands, grids, strict=True)
        values = [on_grid(operand, grid, chunk, keep) for operand, grid in pairs]
        if self.complete:
            values = complete(values)
        shares = [
            self._shares(steps, there, grid.high)
            for (steps, there), grid in zip(values, grids, strict=True)
        ]
        cells = len(self.cells)
        codes = self.cells.codes(chunk)  # what isn't kept has no share anywhere
        found = np.zeros((cells, self.states_of_all), dtype=np.int64)
        for first in range(0, chunk.rows, ROWS):
            these = slice(first, first + ROWS)
            here = [[share[these] for share in column] for column in shares]
            of = None if codes is None else codes[these]
            parts = (part for block in self.blocks for part in self._block(block, here))
            for state, part in enumerate(parts):
                found[:, state] += sum_by(of, part.astype(np.float64), cells)
        return found.reshape(-1)

    def _block(self, block: Sequence[int], shares: Sequence[Sequence[Integers]]) -> list[Integers]:
        parts = list(shares[block[0]])
        for column in block[1:]:
            parts = [piece for part in parts for piece in _split(part, shares[column])]
        if self.gaps:
            parts[-1] = np.zeros_like(parts[-1])  # all in gaps: such a row adds nothing
        return parts

    def _shares(self, steps: npt.NDArray[np.float64], there: Mask, whole: int) -> list[Integers]:
        """How much of 2^30 lies at each node, and in the gap."""
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
        """The masses at the nodes, averaged over the blocks that tell."""
        who = (i,) if i == j else (min(i, j), max(i, j))
        blocks = sum({*who} <= {*block} for block in self.blocks)
        places = _places(self.blocks, who, self.nodes, self.states)
        share = blocks * WHOLE
        found = tuple(Fraction(sum(noisy[k] for k in each), share) for each in places)
        return NoisySums(found, _design(self.nodes, len(who)), len(places[0]), share)


@lru_cache(maxsize=1024)
def _places(
    blocks: tuple[tuple[int, ...], ...], who: tuple[int, ...], nodes: int, states: int
) -> Places:
    """Where the integers of one column or two stand, for each combination of nodes; each has as
    many as the others. What lies in a gap is not among them."""
    found: dict[tuple[int, ...], list[int]] = {
        at: [] for at in itertools.product(range(nodes), repeat=len(who))
    }
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
    """How much of 1, u, v, u², uv, v² lies at each combination of nodes: u is the mean of the nodes
    where u lies, and of three nodes the share of the last is u², by Bernstein's identity."""
    last = nodes - 1
    places = [(Fraction(a, last), Fraction(a == last and nodes == 3)) for a in range(nodes)]
    if columns == 1:
        zero = Fraction(0)
        return tuple((Fraction(1), u, zero, uu, zero, zero) for u, uu in places)
    return tuple((Fraction(1), u, v, uu, u * v, vv) for u, uu in places for v, vv in places)


def _rounded(value: Integers) -> Integers:
    """A product of two integers up to 2^30, divided by 2^30 and rounded half up: exact."""
    rounded: Integers = (value + WHOLE // 2) >> BITS
    return rounded


def _split(part: Integers, shares: Sequence[Integers]) -> Sequence[Integers]:
    """A part shared out: differences of rounded running sums are whole, never negative, and add up
    to the part where the shares add up to 2^30."""
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
    """Blocks in which each two columns meet.

    A pair's covariance is a sum over the states of all others in its block, of which there are
    four: it doubles the noise for each. So few large blocks, or many small ones, whichever
    number of blocks times 2^(their size) is least.
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
    """Triples in which each two of some columns meet, chosen greedily."""
    left = set(itertools.combinations(range(columns), 2))
    every = {
        triple: set(itertools.combinations(triple, 2))
        for triple in itertools.combinations(range(columns), 3)
    }
    chosen = []
    for worth in (3, 2, 1):
        for triple, covered in every.items():
            if len(left & covered) >= worth:
                chosen.append(triple)
                left -= covered
    return tuple(chosen)
