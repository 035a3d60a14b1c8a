"""Covariances and correlations of bounded numbers, pair by pair."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .. import kinds
from ..domain import Bounds, Grid
from ..rows import Chunk, Expression
from ..vectors import Mask
from .base import Interval, Partial, Statistic, sum_by
from .moments import on_grid

Integers = npt.NDArray[np.int64]
Table = list[Fraction]
Box = tuple[Table, Table]

#: What one row shares out in each block: a power of two, so that products are rounded by a shift.
BITS = 30
WHOLE: int = 2**BITS
#: Rows whose parts fit a processor's cache.
ROWS = 2**13
#: Answers, as shares of the product of two widths, are rounded to this.
STEP = Fraction(1, 2**36)
#: No cell of a row is off by more than 2^-27 of it, by rounding: intervals are wider by this.
SLACK = Fraction(1, 2**22)
QUARTER = Fraction(1, 4)


@dataclass(frozen=True)
class Covariance(Statistic):
    """For each cell and pair of columns, the covariance or correlation of values clipped to bounds.

    A column's value u in [0, 1] lies at nodes 0, ½, 1 with shares (1-u)², 2u(1-u), u² (at 0 and 1
    with 1-u and u, where no variance is asked for), or in a gap where it is missing. For each block
    of columns a row shares out 2^30 over all combinations of these, by the products of the shares:
    ℓ1 is 2^30 a block, and from the sums follow count, means, variances and covariances of all
    pairs in the block, among the rows that have both values (proof: docs/proofs/covariances.md).
    """

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    ddof: int = 1
    correlation: bool = False
    pair: bool = False  # one number for two columns, not a table

    needs: ClassVar = {"operands": kinds.NUMBERS}
    not_asked: ClassVar = ("layout", "ddof")

    @property
    def measured_in(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("share",) if self.correlation else ("product",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A row shares out 2^30."""
        return (1 / WHOLE,)

    def possible(self, entry: int) -> Interval | None:
        """A variance is never below 0, a covariance within a quarter of the product of widths."""
        if self.correlation:
            return -1, 1
        i, j = self._entries()[entry % len(self._entries())]
        most = math.prod(b.upper - b.lower for b in (self.bounds[i], self.bounds[j])) / 4
        return (0, math.inf) if i == j else (-most, most)

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
        return width > 2 or (width == 2 and not self.pair and not self.correlation)

    @property
    def states(self) -> int:
        return self.nodes + self.gaps

    @property
    def states_of_all(self) -> int:
        """How many integers a cell has."""
        return sum(int(self.states ** len(block)) for block in self.blocks)

    @property
    def size(self) -> int:
        return len(self.cells) * self.states_of_all

    @property
    def l1(self) -> int:
        return WHOLE * len(self.blocks)

    @property
    def linf(self) -> int:
        return WHOLE

    def expressions(self) -> tuple[Expression, ...]:
        return (*self.cells.by, *self.operands)

    # from rows to integers

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        shares = [
            self._shares(*on_grid(operand, grid, chunk, keep), grid.high)
            for operand, grid in zip(self.operands, map(Grid.anchored, self.bounds), strict=True)
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

    def _by_cell(self, noisy: Sequence[int]) -> list[Sequence[int]]:
        return [
            noisy[start : start + self.states_of_all]
            for start in range(0, len(noisy), self.states_of_all)
        ]

    def _boxes(self, noisy: Sequence[int], w: int) -> dict[tuple[int, ...], Box]:
        """For each column and each pair the least and most that can lie at its nodes, averaged over
        the blocks that tell; both are what was found where no noise is allowed for."""
        found: dict[tuple[int, ...], list[Box]] = {}
        start = 0
        for block in self.blocks:
            cells = noisy[start : start + self.states ** len(block)]
            start += len(cells)
            for size in (1, 2):
                for places in itertools.combinations(range(len(block)), size):
                    who = tuple(block[i] for i in places)
                    found.setdefault(who, []).append(self._box(cells, len(block), places, w))
        return {who: _average(boxes) for who, boxes in found.items()}

    def _box(self, cells: Sequence[int], width: int, places: tuple[int, ...], w: int) -> Box:
        low, high = ([Fraction(0)] * self.nodes ** len(places) for _ in range(2))
        for value, states in zip(
            cells, itertools.product(range(self.states), repeat=width), strict=True
        ):
            at = [states[place] for place in places]
            if max(at) < self.nodes:  # not in the gap
                entry = _entry(at, self.nodes)
                low[entry] += max(value - w, 0) if w else value
                high[entry] += max(value + w, 0) if w else value
        return low, high

    def _of_both(self, boxes: dict[tuple[int, ...], Box], i: int, j: int) -> Box:
        """What lies at the nodes of a pair, where both have a value; or of one column."""
        return boxes[(i,) if i == j else (min(i, j), max(i, j))]

    def _entries(self) -> list[tuple[int, int]]:
        columns = range(len(self.operands))
        return [(0, 1)] if self.pair else [(i, j) for i in columns for j in columns]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [value for cell in self._by_cell(noisy) for value in self._estimate(cell)]

    def _estimate(self, noisy: Sequence[int]) -> list[float]:
        boxes = self._boxes(noisy, 0)
        shares = [self._share(self._of_both(boxes, i, j)[0], i, j) for i, j in self._entries()]
        if not self.pair:
            shares = _semidefinite(shares, self.correlation)
        return [
            self._shown(share, i, j) for share, (i, j) in zip(shares, self._entries(), strict=True)
        ]

    def _share(self, table: Table, i: int, j: int) -> Fraction:
        """The covariance as a share of both widths, or the correlation."""
        if self.correlation and i == j:
            return Fraction(1)
        if sum(table) < WHOLE:  # not even one row: the middle of what is possible
            return Fraction(1, 8) if i == j else Fraction(0)
        if i == j:
            return self._freed(max(_variance(table), Fraction(0)), sum(table))
        both = _covariance(table, self.nodes)
        if not self.correlation:
            return self._freed(max(-QUARTER, min(QUARTER, both)), sum(table))
        spread = [_variance(side) for side in _sides(table)]
        if min(spread) <= 0:
            return Fraction(0)
        return Fraction(max(-1.0, min(1.0, float(both) / math.sqrt(float(spread[0] * spread[1])))))

    def _freed(self, share: Fraction, total: Fraction | int) -> Fraction:
        """With n/(n - ddof) for n values."""
        count: Fraction = max(Fraction(total) / WHOLE, Fraction(self.ddof + 1))
        return share * count / (count - self.ddof)

    def _shown(self, share: Fraction, i: int, j: int) -> float:
        share = round(share / STEP) * STEP
        if self.correlation:
            return float(share)
        widths = (Fraction(b.upper) - Fraction(b.lower) for b in (self.bounds[i], self.bounds[j]))
        return float(share * math.prod(widths))

    def _summed(self, noisy: Sequence[int], law: Any, risk: float) -> dict[tuple[int, ...], Box]:
        """The same, where each entry is one sum of noisy integers with public weights, and a bound
        on the sum of their noises: all entries that are looked at hold but for the risk."""
        needed = {tuple(sorted({i, j})) for i, j in self._entries() if i != j or self._diagonal}
        entries = sum(int(self.nodes ** len(who)) for who in needed)
        found = {}
        for who, (sums, _) in self._boxes(noisy, 0).items():
            if who not in needed:
                continue
            blocks = [block for block in self.blocks if {*who} <= {*block}]
            terms = sum(int(self.states ** (len(block) - len(who))) for block in blocks)
            if terms == 1:
                width = law.half_width(1 - risk / entries)
            else:
                width = law.half_width_of_sum(risk / entries, terms)
            w = Fraction(width, len(blocks))
            found[who] = tuple([max(x + end, Fraction(0)) for x in sums] for end in (-w, w))
        return found  # type: ignore[return-value]

    @property
    def _diagonal(self) -> bool:
        """Whether columns are looked at by themselves."""
        return not (self.pair or self.correlation)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """What each can be over the box of all noisy integers, and what is released."""
        return [
            ends
            for cell in self._by_cell(noisy)
            for ends in self._over(self._boxes(cell, half_width), cell)
        ]

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """Over the box of integers of a pair; of a table over that of their sums, in which most of
        the noise cancels. The tables of all cells share the risk."""
        if self.pair:
            return super().intervals_at(noisy, law, confidence)
        risk = (1 - confidence) / len(self.cells)
        return [
            ends
            for cell in self._by_cell(noisy)
            for ends in self._over(self._summed(cell, law, risk), cell)
        ]

    def _over(self, boxes: dict[tuple[int, ...], Box], noisy: Sequence[int]) -> list[Interval]:
        released, guesses = self._estimate(noisy), self._boxes(noisy, 0)
        intervals = []
        for value, (i, j) in zip(released, self._entries(), strict=True):
            low, high = self._range(boxes, guesses, i, j)
            ends = self._shown(low, i, j), self._shown(high, i, j)
            intervals.append((min(ends[0], value), max(ends[1], value)))
        return intervals

    def _range(
        self, boxes: dict[tuple[int, ...], Box], guesses: dict[tuple[int, ...], Box], i: int, j: int
    ) -> tuple[Fraction, Fraction]:
        if self.correlation and i == j:
            return Fraction(1), Fraction(1)
        box, guess = self._of_both(boxes, i, j), self._of_both(guesses, i, j)[0]
        low, high = _variances(box, guess) if i == j else _covariances(box, guess, self.nodes)
        if self.correlation:
            lows, highs, centres = _sides(box[0]), _sides(box[1]), _sides(guess)
            spreads = [_variances((lows[k], highs[k]), centres[k]) for k in (0, 1)]
            return _ratio(low, spreads, -1), _ratio(high, spreads, 1)
        fewest, most = (sum(end) for end in box)
        return (
            self._freed(low, fewest if low < 0 else most),
            self._freed(high, most if high < 0 else fewest),
        )


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


def _entry(at: Sequence[int], nodes: int) -> int:
    entry = 0
    for state in at:
        entry = entry * nodes + state
    return entry


def _average(boxes: Sequence[Box]) -> Box:
    lows, highs = zip(*boxes, strict=True)
    return tuple(  # type: ignore[return-value]
        [sum(entries, Fraction(0)) / len(boxes) for entries in zip(*ends, strict=True)]
        for ends in (lows, highs)
    )


def _sides(table: Table) -> tuple[Table, Table]:
    """Of a table of 3 by 3 nodes, what lies at those of each column."""
    rows = [sum(table[3 * a : 3 * a + 3], Fraction(0)) for a in range(3)]
    return rows, [sum(table[b::3], Fraction(0)) for b in range(3)]


def _mean(table: Table) -> Fraction:
    """Of one column's nodes."""
    last = len(table) - 1
    return sum((a * x for a, x in enumerate(table)), Fraction(0)) / (last * sum(table))


def _variance(table: Table) -> Fraction:
    return table[2] / sum(table) - _mean(table) ** 2


def _covariance(table: Table, nodes: int) -> Fraction:
    total, last = sum(table), nodes - 1
    places = [(Fraction(a, last), Fraction(b, last)) for a in range(nodes) for b in range(nodes)]
    x, y, xy = (
        sum((f * m for f, m in zip(column, table, strict=True)), Fraction(0)) / total
        for column in ([a for a, _ in places], [b for _, b in places], [a * b for a, b in places])
    )
    return xy - x * y


def _extremes(weights: Sequence[Fraction], box: Box) -> tuple[Fraction, Fraction]:
    """The least and most of Σ weight·m / Σ m over a box: some of the highest weights have their
    most and the others their least, for the derivative in m has the sign of weight - ratio."""
    ends = []
    for sign in (-1, 1):
        order = sorted(range(len(weights)), key=lambda k: -sign * weights[k])
        mass, moment = sum(box[0]), sum(w * m for w, m in zip(weights, box[0], strict=True))
        best = sign * moment / mass if mass else None
        for k in order:
            more = box[1][k] - box[0][k]
            mass, moment = mass + more, moment + more * weights[k]
            if mass and (best is None or sign * moment / mass > best):
                best = sign * Fraction(moment) / mass
        ends.append(max(weights) * sign if best is None else best)
    if not sum(box[1]):
        return min(weights), max(weights)
    return -ends[0], ends[1]


def _near(value: Fraction) -> Fraction:
    """A centre near a mean: any will do, and a short one is faster."""
    return max(Fraction(0), min(Fraction(1), Fraction(round(value * 2**20), 2**20)))


def _variances(box: Box, guess: Table) -> tuple[Fraction, Fraction]:
    """E(u-p)² - (Eu-p)², each at its extremes; within what a variance can be."""
    p = _near(_mean(guess)) if sum(guess) > 0 else Fraction(1, 2)
    low, high = _extremes([p * p, p * p - p, (1 - p) ** 2], box)
    least, most = _extremes([-p, Fraction(1, 2) - p, 1 - p], box)
    squares = sorted((least**2, most**2))
    low, high = low - squares[1], high - (0 if least <= 0 <= most else squares[0])
    high = min(max(high + SLACK, Fraction(0)), QUARTER)
    return min(max(low - SLACK, Fraction(0)), high), high


def _covariances(box: Box, guess: Table, nodes: int) -> tuple[Fraction, Fraction]:
    """E(u-p)(v-q) - (Eu-p)(Ev-q), each at its extremes; within what a covariance can be."""
    places = [Fraction(a, nodes - 1) for a in range(nodes)]
    at = list(itertools.product(places, repeat=2))
    p = q = Fraction(1, 2)
    if sum(guess) > 0:
        p, q = (
            _near(sum((x[k] * m for x, m in zip(at, guess, strict=True)), Fraction(0)) / sum(guess))
            for k in (0, 1)
        )
    low, high = _extremes([(x - p) * (y - q) for x, y in at], box)
    first, second = _extremes([x - p for x, _ in at], box), _extremes([y - q for _, y in at], box)
    products = [a * b for a in first for b in second]
    low, high = low - max(products) - SLACK, high - min(products) + SLACK
    return max(min(low, QUARTER), -QUARTER), min(max(high, -QUARTER), QUARTER)


def _ratio(
    covariance: Fraction, spreads: Sequence[tuple[Fraction, Fraction]], side: int
) -> Fraction:
    """The extreme of a correlation on one side."""
    outward = covariance * side > 0
    low, high = spreads
    product = low[0] * high[0] if outward else low[1] * high[1]
    if not product:
        return Fraction(side if outward else 0)
    return Fraction(max(-1.0, min(1.0, float(covariance) / math.sqrt(float(product)))))


def _semidefinite(entries: Sequence[Fraction], correlation: bool) -> list[Fraction]:
    """The nearest table with no negative eigenvalue; of correlations, with 1 on the diagonal."""
    columns = math.isqrt(len(entries))
    table = np.array([float(x) for x in entries]).reshape(columns, columns)
    values, vectors = np.linalg.eigh(table)
    if values.min() >= 0:
        return list(entries)
    table = (vectors * np.maximum(values, 0.0)) @ vectors.T
    table = (table + table.T) / 2
    if correlation:  # the trace was the number of columns, so no diagonal is 0 by clipping alone
        scale = np.sqrt(np.maximum(np.diag(table), 2.0**-60))
        table = table / scale[:, None] / scale[None, :]
        np.fill_diagonal(table, 1.0)
    return [Fraction(x) for x in table.reshape(-1).tolist()]
