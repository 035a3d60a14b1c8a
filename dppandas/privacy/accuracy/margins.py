"""Half-widths for noisy cells of a table and for their sums, all of which hold simultaneously.

Which cells a sum adds up is public, so the law of all noises together gives the probability that
each number is within its half-width, whatever the rows are. It is bounded from below row by row
(proof: docs/proofs/tables.md).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from .ratios import chances
from .weighted_tails import SURE, half_width, reach, tail_of

Floats = npt.NDArray[np.float64]

#: The most points that the law of a sum may have, and the least risk that rounding spares.
POINTS, LEAST_RISK = 2**17, 1e-6
#: What may lie beyond a law or go around its ends, for each noise; and more than rounding adds to a
#: probability.
AROUND, ADDED = 1e-12, 1e-11
#: How often the interval for the risk of one number is halved.
HALVED = 8


@dataclass(frozen=True)
class Widths:
    """Of one cell, of the sums of rows and of columns, and of the sum of all."""

    cell: int
    row: int
    column: int
    all: int


@lru_cache(maxsize=256)
def half_widths(law: Any, rows: int, columns: int, confidence: float) -> Widths:
    """For all cells and margins of a table of independent noises.

    Half of the risk goes to the cells and half to the sums, in equal parts. As numbers that share
    noise often fail together, all parts are then raised as far as the law of all noises allows; and
    those of sums once more, as cells of whole numbers may not take what is left.
    """
    risk = 1 - confidence
    known = _apart(law, rows, columns, risk / 2, risk / 2)
    if not _is_exact(law, rows * columns, risk):
        return known
    parts = risk / 2, risk / 2
    for more in ((1.0, 1.0), (0.0, 1.0)):
        low, high = 0.0, risk / 2
        for _ in range(HALVED):
            middle = (low + high) / 2
            cells, sums = (part + middle * each for part, each in zip(parts, more, strict=True))
            found = _apart(law, rows, columns, cells, sums)
            if found == known or _Table(law, rows, columns, found).fails() <= risk:
                low, known = middle, found
            else:
                high = middle
        parts = parts[0] + low * more[0], parts[1] + low * more[1]
    return known


def _apart(law: Any, rows: int, columns: int, cells: float, sums: float) -> Widths:
    """Half-widths by the union bound, for the risks of all cells and of all sums."""
    count = rows * columns
    is_told = cells >= SURE
    one = law.half_width(1 - cells, count) if is_told else sum_width(law, cells / count, 1)
    each = sums / (rows + columns + 1)
    row, column, every = (
        min(sum_width(law, each, n), n * one) if n > 1 else one for n in (columns, rows, count)
    )
    return Widths(int(one), row, column, every)


def sum_width(law: Any, risk: float, terms: int) -> int:
    """A w with P[|sum of noises| > w] ≤ risk, near the least."""
    if _is_exact(law, terms, risk):
        return int(np.argmax(_beyond(law, terms) <= risk))
    wide = half_width(law, risk, terms)
    if not wide:
        return 0
    tail, one = tail_of(law, risk, (terms,)), np.ones(1)
    return math.ceil(min(float(reach(tail, [one], np.array([wide]))[0]), wide))


@lru_cache(maxsize=1024)
def _around(law: Any, terms: int) -> int:
    """Beyond which a sum of noises is next to never."""
    return math.ceil(half_width(law, AROUND, terms))


def _is_exact(law: Any, terms: int, risk: float) -> bool:
    """Whether the law of a sum is added up point by point."""
    is_plain = isinstance(law, DiscreteLaplace | DiscreteGaussian) and risk >= LEAST_RISK
    return is_plain and bool(law.scale) and _around(law, terms) < POINTS


@lru_cache(maxsize=64)
def _beyond(law: Any, terms: int) -> Floats:
    """No less than the probability that a sum is beyond 0, 1, … in size."""
    one = _power(_noise(law), terms, _around(law, terms), law)[_around(law, terms) :]
    return np.asarray(1 - (2 * np.cumsum(one) - one[0]) + 2 * (terms * AROUND + ADDED))


def _noise(law: Any) -> Floats:
    """The probabilities of the whole numbers on either side of 0, but for what is next to none."""
    wide = _around(law, 1)
    return chances(law, np.arange(-wide, wide + 1))


def _power(one: Floats, terms: int, wide: int, law: Any, noises: int = 1) -> Floats:
    """The probabilities from -wide to wide of a sum of independent numbers, given those of one,
    around 0, that are no larger than so many noises make them. What goes around the ends of the
    list is added, and is less than `AROUND`."""
    reached = len(one) // 2
    size = 2 ** math.ceil(math.log2(2 * (wide + reached) + _around(law, terms * noises) + 2))
    placed = np.zeros(size)
    placed[: reached + 1], placed[size - reached :] = one[reached:], one[:reached]
    found = np.fft.irfft(np.fft.rfft(placed) ** terms, size).clip(0.0)
    return np.asarray(np.concatenate([found[size - wide :], found[: wide + 1]]))


@dataclass(frozen=True)
class _Table:
    """How often numbers of a table of independent noises are beyond their half-widths."""

    law: Any
    rows: int
    columns: int
    widths: Widths

    def fails(self) -> float:
        """No less than the probability that any is.

        Rows are independent, so that all of them hold, with their cells, is a power. Given that, it
        is added how often each column's sum fails, and how often that of all does.
        """
        if self.columns == 1 < self.rows:  # the sum of all is that of the column
            return self._across().fails()
        cells, wide = self._cells(), self.widths
        row = _power(cells, self.columns, wide.row, self.law)
        hold = row.sum() ** self.rows
        column = _power(self._where_rows_hold(cells), self.rows, wide.column, self.law).sum()
        every = _power(row, self.rows, wide.all, self.law, self.columns).sum()
        rounded = 2 * self.rows * self.columns * AROUND + (self.rows + self.columns + 2) * ADDED
        found = 1 - hold + self.columns * max(0, hold - column) + max(0, hold - every) + rounded
        return float(found)

    def _across(self) -> _Table:
        """The same table, with rows for columns."""
        wide = self.widths
        widths = Widths(wide.cell, wide.column, wide.row, wide.all)
        return _Table(self.law, self.columns, self.rows, widths)

    def _cells(self) -> Floats:
        """The probabilities of a cell within its half-width."""
        noise, wide = _noise(self.law), self.widths.cell
        cut = max(0, len(noise) // 2 - wide)
        return noise[cut : len(noise) - cut]

    def _where_rows_hold(self, cells: Floats) -> Floats:
        """The probabilities of a cell in a row that holds."""
        reached, wide = len(cells) // 2, self.widths.row
        if self.columns == 1:
            return cells
        others = _power(cells, self.columns - 1, wide + reached, self.law)
        up = np.append(0.0, np.cumsum(others))
        # from -wide - z to wide - z, for z from -reached to reached
        first = 2 * reached - np.arange(2 * reached + 1)
        return np.asarray(cells * (up[first + 2 * wide + 1] - up[first]))
