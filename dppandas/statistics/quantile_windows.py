"""The windows of a grid in which quantiles are searched, and what is counted there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass, field
from ..privacy.mechanisms.ranks import Ranks, RanksByCell, aimed

Integers = npt.NDArray[np.int64]


@dataclass
class Window:
    """The points of a cell from low to high in bins of 2^shift, and how many rows lie outside."""

    low: int
    high: int
    shift: int
    before: int = 0
    inside: int = 0
    after: int = 0
    counts: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def narrow(self, counts: Integers, share: Fraction, cap: int) -> None:
        """Keep the bins in which a loss may be below the cap. All losses in a bin are at least
        b·(rows below the bin) - T, and at least S - b·(rows up to its end)."""
        last = (self.high - self.low) >> self.shift
        up_to = self.before + np.cumsum(counts[: last + 1])
        rows = int(up_to[-1]) + self.after
        b, (least, most) = share.denominator, aimed(rows, share)
        under = max(-1, (least - cap) // b)
        over = max(-1, min(rows + 1, -(-(most + cap) // b)))
        first = min(last, int(np.searchsorted(up_to, under, "right")))
        # The first bin that reaches `over` rows is kept: those after it have as many below them.
        stop = 0 if over <= self.before else int(np.searchsorted(up_to, over, "left"))
        final = max(first, min(last, stop))
        self.counts = counts[first : final + 1]
        self.before = int(up_to[first] - counts[first])
        self.inside = int(up_to[final]) - self.before
        self.after = rows - int(up_to[final])
        start = self.low
        self.low = start + (first << self.shift)
        self.high = min(self.high, start + ((final + 1) << self.shift) - 1)

    def finer(self, bins: int) -> int:
        """The least shift at which `bins` bins cover the window."""
        return max(0, (self.high - self.low + 1).bit_length() - (bins.bit_length() - 1))

    def points(self) -> tuple[Integers, Integers]:
        """The points that occur and their counts, where bins are points."""
        occur = np.flatnonzero(self.counts)
        return occur + self.low, self.counts[occur]

    def ranks(self, values: Integers, counts: Integers, cap: int) -> Ranks:
        """Ranks with all rows outside put right beside the window, where losses are capped."""
        pairs = [(values, counts)]
        if self.before:
            pairs.insert(0, (np.array([self.low - 1]), np.array([self.before])))
        if self.after:
            pairs.append((np.array([self.high + 1]), np.array([self.after])))
        points, rows = (np.concatenate(part).astype(np.int64) for part in zip(*pairs, strict=True))
        return Ranks(points, rows, cap)


class CountAccumulator:
    """Adds counts in int64: no table has 2^63 rows."""

    def __init__(self, size: int) -> None:
        self._sums = np.zeros(size, dtype=np.int64)

    def add(self, partial: Integers, rows: int) -> None:
        self._sums += partial

    def join(self, other: CountAccumulator) -> None:
        self._sums += other._sums

    def result(self) -> Integers:
        return self._sums


@dataclass
class PointAccumulator:
    """Collects integers in any order."""

    pieces: list[Integers] = field(default_factory=list)

    def add(self, partial: Integers, rows: int) -> None:
        self.pieces.append(partial)

    def join(self, other: PointAccumulator) -> None:
        self.pieces.extend(other.pieces)

    def result(self) -> Integers:
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.pieces])


def sort_by_cell(flat: Integers, cells: int) -> RanksByCell:
    """For each cell the points that occur, and how often, from cell · 2^31 + point of each row."""
    values, counts = np.unique(flat, return_counts=True)
    edges = np.searchsorted(values, np.arange(cells + 1, dtype=np.int64) << 31)
    return RanksByCell(values & (2**31 - 1), counts, edges)
