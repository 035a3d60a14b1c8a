"""Tables of covariances and correlations, estimated pair by pair from noisy sums."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...privacy.mechanisms.noise import Within
from ...rows.expressions import Chunk, Expression
from ...rows.facts import kinds
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.kinds import Schema
from ...rows.values.vectors import Mask
from ..base import Floats, Partial, Statistic, sum_by
from ..error_model import ErrorModel
from ..layout import Codes, Interval
from .fieller import NoisySums, PairSums, Range, Seen, Side, U, V
from .sums import on_grid

Integers = npt.NDArray[np.int64]
#: Grid integers of a column's values, and where there is a value: None for everywhere.
Values = tuple[npt.NDArray[np.float64], Mask | None]
#: The sums in each cell of integers of rows: one row of a matrix for each sum.
Add = Callable[[Integers], Integers]
#: Numbers of cells or columns.
Places = npt.NDArray[np.intp]

#: What one row distributes over its integers, or the most that it adds to a sum. A power of two, so
#: that a shift rounds products.
BITS = 30
WHOLE: int = 2**BITS
#: Rows at a time, so that intermediate arrays fit the cache.
ROWS = 2**13
#: Pairs of columns that are bounded at once, so that their weights take some megabytes.
PAIRS = 256
#: Answers, as shares of the product of both widths, are rounded to multiples of this.
STEP = Fraction(1, 2**36)
QUARTER = Fraction(1, 4)


class CovarianceTableErrors(ErrorModel):
    of: CovarianceTable

    tells_of_none: ClassVar[bool] = False  # a column that hardly varies gives the same

    def units(self, schema: Schema) -> tuple[str, ...]:
        return ("share",) if self.of.correlation else ("product",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        """A row distributes 2^30, or adds as much to a sum."""
        return (1 / WHOLE,)

    def possible(self, entry: int) -> Interval | None:
        """A variance is never negative, and a covariance is at most a quarter of the product of the
        widths. None where that is 0."""
        if self.of.correlation:
            return -1, 1
        i, j = self.of._entries()[entry % len(self.of._entries())]
        most = math.prod(b.upper - b.lower for b in (self.of.bounds[i], self.of.bounds[j])) / 4
        if not most:
            return None
        return (0, math.inf) if i == j else (-most, most)

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """The range of each number if no noise is larger, widened to hold the estimate."""
        return self._ranges(noisy, Within(half_width), 1.0)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """The tables of all cells share the risk, and so do the numbers within a table."""
        return self._ranges(noisy, law, (1 - confidence) / len(self.of.cells))

    def _ranges(self, noisy: Sequence[int], law: Any, risk: float) -> list[Interval]:
        """An interval for each entry of each cell, widened to hold its estimate."""
        cells = [tuple(cell) for cell in self.of._by_cell(noisy)]
        different = list(dict.fromkeys(cells))
        shares = self._share_ranges(different, law, risk)
        at = tuple(zip(*self.of._entries(), strict=True))
        found = {}
        for cell, ends in zip(different, shares, strict=True):
            low, high = (
                self.of._shown([int(k) for k in outwards(end / float(STEP)).tolist()])
                for outwards, end in zip((np.floor, np.ceil), ends[at].T, strict=True)
            )
            triples = zip(self.of._estimate(cell), low, high, strict=True)
            found[cell] = [(min(a, value), max(b, value)) for value, a, b in triples]
        return [ends for cell in cells for ends in found[cell]]

    def _share_ranges(self, cells: Sequence[Sequence[int]], law: Any, risk: float) -> Floats:
        """For each cell a table of ranges, as shares of the products of widths."""
        asked = [
            (i, j) for i, j in self.of._entries() if i < j or (i == j and not self.of.correlation)
        ]
        each, columns = risk / max(1, len(asked)), len(self.of.operands)
        sides = np.zeros((len(cells), columns, 4))
        alone = [(i, i) for i in range(columns)] if self.of.same_rows else []
        for (cell, i, _), sums in self._alike(cells, alone):
            mean, variance = Seen(sums, law, each).side(U)
            sides[cell, i] = np.stack([*mean, *variance], axis=1)
        found = np.ones((len(cells), columns, columns, 2))
        for (cell, i, j), sums in self._alike(cells, asked):
            known = [Side((a, b), (c, d)) for a, b, c, d in (sides[cell, k].T for k in (i, j))]
            is_one = bool((i == j).all())
            ends = self._range(Seen(sums, law, each), is_one, known if self.of.same_rows else ())
            found[cell, i, j] = found[cell, j, i] = np.stack(ends, axis=1)
        return found

    def _alike(
        self, cells: Sequence[Sequence[int]], asked: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[tuple[Places, Places, Places], PairSums]]:
        """The sums of each cell and pair, those together that are alike in design, terms and share,
        with the numbers of their cells and of both columns."""
        alike: dict[Any, list[tuple[tuple[int, int, int], NoisySums]]] = {}
        for (cell, noisy), (i, j) in itertools.product(enumerate(cells), asked):
            sums = self.of.sums(noisy, i, j)
            kind = sums.design, sums.terms, sums.share
            alike.setdefault(kind, []).append(((cell, i, j), sums))
        for these in alike.values():
            for first in range(0, len(these), PAIRS):
                keys, sums_of = zip(*these[first : first + PAIRS], strict=True)
                cell, one, other = np.array(keys).T
                yield (cell, one, other), PairSums(sums_of)

    def _range(self, seen: Seen, is_one: bool, sides: Sequence[Side]) -> Range:
        if is_one:
            return seen.variance(self.of.ddof)
        return (
            seen.correlation(sides) if self.of.correlation else seen.covariance(self.of.ddof, sides)
        )


@dataclass(frozen=True)
class CovarianceTable(Statistic, registered=False):
    """For each cell and pair of columns, the covariance or correlation of values clipped to bounds.

    Subclasses decide how rows become integers. In all of them these add up to `NoisySums` for each
    pair of columns (proof: docs/proofs/covariances.md).
    """

    operands: tuple[Expression, ...] = ()
    bounds: tuple[Bounds, ...] = ()
    ddof: int = 1
    correlation: bool = False
    pair: bool = False  # one number for two columns, not a table
    error_model: ClassVar = CovarianceTableErrors

    #: Whether rows are scaled down as a whole, after which no two columns are independent.
    scales_rows: ClassVar[bool] = False

    needs: ClassVar = {"operands": kinds.NUMBERS}
    not_asked: ClassVar = ("layout", "ddof")
    reading: ClassVar = 2  # since intervals bound sums together

    @property
    @abstractmethod
    def states_of_all(self) -> int:
        """The number of integers of a cell."""

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The grid of each column."""
        return tuple(bounds.grid for bounds in self.bounds)

    @property
    def complete_rows(self) -> bool:
        """Whether a row without one of the values adds nothing."""
        return self.same_rows

    @abstractmethod
    def _sums(self, values: Sequence[Values], grids: Sequence[Grid], add: Add) -> Integers:
        """What the rows of a slice add in each cell, from values of which none is missing if only
        complete rows add."""

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        grids, cells = self.grids, len(self.cells)
        pairs = zip(self.operands, grids, strict=True)
        values = [on_grid(*pair, chunk, None) for pair in pairs]
        codes, rows = self.cells.codes(chunk), chunk.rows
        adding = [there for _, there in values if self.complete_rows and there is not None]
        adding += [keep] if keep is not None else []
        if adding:  # the others are left out, as if they weren't there
            those = np.flatnonzero(np.logical_and.reduce(adding))
            codes, rows = None if codes is None else codes[those], len(those)
            values = [_taken(each, those, self.complete_rows) for each in values]
        found = np.zeros((cells, self.states_of_all), dtype=np.int64)
        step = ROWS if codes is None else max(ROWS, cells)
        for first in range(0, rows, step):
            these = slice(first, first + step)
            here = [_taken(each, these) for each in values]
            add = partial(_sums_of, None if codes is None else codes[these], cells)
            found += self._sums(here, grids, add)
        return found.reshape(-1)

    @abstractmethod
    def sums(self, noisy: Sequence[int], i: int, j: int) -> NoisySums:
        """The noisy sums of two columns over the rows that have both values; or those of one."""

    @property
    def same_rows(self) -> bool:
        """Whether single columns are summed over the same rows as each pair."""
        return False

    linf = WHOLE

    @property
    def size(self) -> int:
        return len(self.cells) * self.states_of_all

    def _by_cell(self, noisy: Sequence[int]) -> list[Sequence[int]]:
        size = self.states_of_all
        return [noisy[start : start + size] for start in range(0, len(noisy), size)]

    def _entries(self) -> list[tuple[int, int]]:
        columns = range(len(self.operands))
        return [(0, 1)] if self.pair else [(i, j) for i in columns for j in columns]

    def means(self, noisy: Sequence[int]) -> list[float]:
        """The mean of each column of a single cell, as a share of its width, from the same integers
        and at no further cost; ½ where there is less than one row."""
        found = [self.sums(noisy, i, i) for i in range(len(self.operands))]
        means = (each.mean() if each.rows >= 1 else Fraction(1, 2) for each in found)
        return [float(round(min(max(m, Fraction(0)), Fraction(1)) / STEP) * STEP) for m in means]

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [value for cell in self._by_cell(noisy) for value in self._estimate(cell)]

    def _estimate(self, noisy: Sequence[int]) -> list[float]:
        entries = self._entries()
        found = {(i, j): self._share(self.sums(noisy, i, j), i == j) for i, j in entries if i <= j}
        shares = [found[min(i, j), max(i, j)] for i, j in entries]
        if not self.pair:
            shares = semidefinite(shares, self.correlation)
        return self._shown([round(share / STEP) for share in shares])

    def _share(self, sums: NoisySums, is_one: bool) -> Fraction:
        """The covariance as a share of the product of both widths, or the correlation."""
        if self.correlation and is_one:
            return Fraction(1)
        if sums.rows < 1:  # not even one row: the middle of what is possible
            return Fraction(1, 8) if is_one else Fraction(0)
        if is_one:
            return self._freed(max(Fraction(0), min(QUARTER, sums.variance())), sums.rows)
        both = sums.covariance()
        if not self.correlation:
            return self._freed(max(-QUARTER, min(QUARTER, both)), sums.rows)
        spread = sums.variance(), sums.variance(V)
        if min(spread) <= 0:
            return Fraction(0)
        return Fraction(max(-1.0, min(1.0, float(both) / math.sqrt(float(spread[0] * spread[1])))))

    def _freed(self, share: Fraction, rows: Fraction) -> Fraction:
        """A share over n turned into one over n - ddof, for n values."""
        count = max(rows, Fraction(self.ddof + 1))
        return share * count / (count - self.ddof)

    def _shown(self, steps: Sequence[int]) -> list[float]:
        """The numbers of a cell, given as shares in steps, in the units of the columns."""
        pairs = zip(steps, self._units, strict=True)
        return [k * unit.numerator / unit.denominator for k, unit in pairs]

    @cached_property
    def _units(self) -> list[Fraction]:
        """For each entry what a step means."""
        if self.correlation:
            return [STEP] * len(self._entries())
        widths = [Fraction(b.upper) - Fraction(b.lower) for b in self.bounds]
        return [STEP * widths[i] * widths[j] for i, j in self._entries()]


def rounded(products: Integers) -> Integers:
    """Products of two integers up to 2^30, divided by 2^30 and rounded half up: exact. In place."""
    products += WHOLE // 2
    products >>= BITS
    return products


def _taken(values: Values, these: Any, complete: bool = False) -> Values:
    """The values of some rows, all of them there if these rows are complete."""
    steps, there = values
    return steps[these], None if there is None or complete else there[these]


def _sums_of(codes: Codes | None, cells: int, integers: Integers) -> Integers:
    """The sums of each row of a matrix in each cell: whole numbers up to 2^30 of at most 2^22 rows,
    which floats add up exactly, too."""
    if codes is None:
        return np.add.reduce(integers, axis=1, keepdims=True).T
    sums = [sum_by(codes, each, cells) for each in integers]
    return np.stack(sums, axis=1).astype(np.int64)


def semidefinite(entries: Sequence[Fraction], correlation: bool) -> list[Fraction]:
    """The nearest table without negative eigenvalues; for correlations with 1 on the diagonal."""
    columns = math.isqrt(len(entries))
    table = np.array([float(x) for x in entries]).reshape(columns, columns)
    values, vectors = np.linalg.eigh(table)
    if values.min() >= 0:
        return list(entries)
    table = (vectors * np.maximum(values, 0.0)) @ vectors.T
    table = (table + table.T) / 2
    if correlation:  # the trace was the number of columns, so clipping alone leaves no diagonal 0
        scale = np.sqrt(np.maximum(np.diag(table), 2.0**-60))
        table = table / scale[:, None] / scale[None, :]
        np.fill_diagonal(table, 1.0)
    return [Fraction(x) for x in table.reshape(-1).tolist()]
