"""Where quantiles are searched: windows of a grid, and which rows are counted and kept there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..privacy.mechanisms.ranks import RanksByCell, Reach
from ..rows.accumulators import Accumulator

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]

#: Bins of a histogram over a grid: enough to narrow it down, few enough for the cache.
BINS = 2**13
#: The bins of all cells together, if there are enough for each; in more cells nothing is searched.
ALL_BINS, FEWEST_BINS, MOST_CELLS = 2**18, 2**4, 2**16
#: Points of bins that are counted one by one.
COUNTED = 2**20
#: Up to so many rows, and so many for each choice in each cell, all are sorted.
FEW, FEW_EACH = 2**14, 2**6
#: So many rows are kept until those are left out that are hardly needed.
KEPT = 2**18
#: How many roots of the number of rows a rank among some rows is from that among all, at most, if
#: rows come in no order: six deviations. Where it is further, rows are read again.
APART = 3.0


class Found(NamedTuple):
    """What a first pass finds: all rows in the bins that are kept, and the number of rows in each
    bin; None if all bins are kept."""

    rows: Integers
    counts: Integers | None
    kept: Flags


class Points(NamedTuple):
    """Different rows in order, and how many there are of each."""

    rows: Integers
    counts: Integers


@dataclass(frozen=True)
class Search:
    """The search for quantiles of one column in each cell. A row is one integer, its cell and then
    its point of 0, …, top in `width` bits; a bin holds 2^shift of these. All of this is public."""

    cells: int
    top: int
    reach: Reach

    @property
    def width(self) -> int:
        return self.top.bit_length()

    @cached_property
    def shift(self) -> int:
        bins = min(BINS, max(FEWEST_BINS, ALL_BINS // self.cells))
        return max(0, self.width - (bins.bit_length() - 1))

    @cached_property
    def bins(self) -> int:
        """How many there are in all cells."""
        return self.cells << (self.width - self.shift)

    @cached_property
    def few(self) -> int:
        """Of so many rows all are sorted, which takes less time than to find windows."""
        return max(FEW, FEW_EACH * self.cells * len(self.reach.targets))

    @property
    def is_vain(self) -> bool:
        """Whether there are too many cells for windows to save anything."""
        return self.cells > MOST_CELLS

    def count(self, rows: Integers) -> Integers:
        """How many rows there are in each bin."""
        return np.bincount(rows >> self.shift, minlength=self.bins).astype(np.int64, copy=False)

    def near(self, counts: Integers, apart: float = 0) -> Flags:
        """The bins with a point whose loss may be below the cap; of some of the rows, with
        ``apart``, the bins that are probably such bins of all of them."""
        table = counts.reshape(self.cells, -1)
        up_to = np.cumsum(table, axis=1)
        below, near = up_to - table, np.zeros(table.shape, dtype=np.bool_)
        each: Integers = up_to[:, -1]
        further = np.ceil(apart * np.sqrt(each)).astype(np.int64)
        for ends in zip(*map(self.reach.spans, each.tolist()), strict=True):
            under, over = np.array([(max(-1, a), min(2**61, b)) for a, b in ends]).T
            near |= (up_to > (under - further)[:, None]) & (below < (over + further)[:, None])
        found: Flags = near.reshape(-1)
        return found

    def within(self, bins: Flags, rows: int) -> Callable[[], Accumulator]:
        """What finds the points in bins with so many rows: by a count of each, or by a sort. It
        travels, and so do its bins, as bits."""
        is_small = np.count_nonzero(bins) << self.shift <= COUNTED
        finds = PointCounts if is_small and rows > KEPT else RowsWithin
        return partial(finds, self, np.packbits(bins))

    def unpacked(self, bits: Bits) -> Flags:
        """Which bins are meant, from bits."""
        return np.unpackbits(bits, count=self.bins).astype(np.bool_)

    def ranks(
        self, points: Points, counts: Integers, near: Flags, everything: Callable[[], RanksByCell]
    ) -> RanksByCell:
        """All points in the bins near targets; between these, all rows are gathered in one entry,
        from the first bin with rows to the last one."""
        far = np.flatnonzero(~near & (counts > 0))
        gap = np.cumsum(near)[far] + (far >> (self.width - self.shift))
        starts = np.flatnonzero(np.diff(gap, prepend=-1))
        first, last = far[starts], far[np.append(starts[1:], len(far))[: len(starts)] - 1]
        gathered = np.add.reduceat(counts[far], starts) if len(far) else counts[far]
        rows = np.concatenate([points.rows, first << self.shift])
        until = np.concatenate([points.rows, ((last + 1) << self.shift) - 1])
        order = np.argsort(rows)
        number = np.concatenate([points.counts, gathered])[order]
        found = by_cell(Points(rows[order], number), self.cells, self.width)
        last = np.minimum(until[order] & ((1 << self.width) - 1), self.top)
        cap = self.reach.cap
        return RanksByCell(found.values, found.counts, found.edges, cap, last, everything)


def by_cell(points: Points, cells: int, width: int) -> RanksByCell:
    """For each cell the points that occur, and how often."""
    edges = np.searchsorted(points.rows, np.arange(cells + 1, dtype=np.int64) << width)
    return RanksByCell(points.rows & ((1 << width) - 1), points.counts, edges)


def sorted_points(rows: Integers) -> Points:
    return Points(*np.unique(rows, return_counts=True))


class AllRows:
    """Collects rows in any order."""

    def __init__(self) -> None:
        self.pieces: list[Integers] = []

    def add(self, partial: Integers, rows: int) -> None:
        self.pieces.append(partial)

    def join(self, other: Any) -> None:
        self.pieces.extend(other.pieces)

    def rows(self) -> Integers:
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.pieces])

    def result(self) -> Any:
        return sorted_points(self.rows())


class NearRows(AllRows):
    """Collects rows, and from many on only those in bins that are probably near targets: the others
    are counted by bins."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search, self.held = search, 0
        self.counts: Integers | None = None  # of all rows, from when some were left out
        self.kept = np.ones(search.bins, dtype=np.bool_)

    def add(self, partial: Integers, rows: int) -> None:
        if self.counts is not None:
            bins = partial >> self.search.shift
            self.counts += np.bincount(bins, minlength=self.search.bins)
            partial = partial[self.kept[bins]]
        self._hold(partial)

    def join(self, other: NearRows) -> None:
        if self.counts is None and other.counts is None:
            self._hold(other.rows())
        else:
            self.counts = self._counted() + other._counted()
            self.pieces.extend(other.pieces)
            self._keep(other.kept)

    def result(self) -> Found:
        return Found(self.rows(), self.counts, self.kept)

    def _hold(self, rows: Integers) -> None:
        self.pieces.append(rows)
        self.held += len(rows)
        most = max(KEPT, self.search.few)
        if self.held > most:
            self._keep(self.search.near(self._counted(), APART))
            if 2 * self.held > most:  # it would soon be as many again
                self._keep(np.zeros_like(self.kept))

    def _counted(self) -> Integers:
        if self.counts is None:
            self.counts = self.search.count(self.rows())
        return self.counts

    def _keep(self, bins: Flags) -> None:
        """Leave out the rows that aren't in these bins."""
        self.kept = self.kept & bins
        rows = self.rows()
        self.pieces = [rows[self.kept[rows >> self.search.shift]]]
        self.held = len(self.pieces[0])


class RowsWithin(AllRows):
    """Collects the rows in some bins."""

    def __init__(self, search: Search, bins: Bits) -> None:
        super().__init__()
        self._shift, self._is_within = search.shift, search.unpacked(bins)

    def add(self, partial: Integers, rows: int) -> None:
        super().add(partial[self._is_within[partial >> self._shift]], rows)


class PointCounts:
    """Counts the rows at each point of some bins."""

    def __init__(self, search: Search, bins: Bits) -> None:
        self._shift, self._bins = search.shift, np.flatnonzero(search.unpacked(bins))
        self._place = np.full(search.bins, -1, dtype=np.int64)  # of a bin's first point
        self._place[self._bins] = np.arange(len(self._bins)) << search.shift
        self._counts = np.zeros(len(self._bins) << search.shift, dtype=np.int64)
        self._waiting, self._held = AllRows(), 0

    def add(self, partial: Integers, rows: int) -> None:
        place = self._place[partial >> self._shift]
        within = place >= 0
        found = place[within] + (partial[within] & ((1 << self._shift) - 1))
        self._waiting.add(found, rows)
        self._held += len(found)
        if self._held > len(self._counts):  # to add all counts each time would take longer
            self._add_waiting()

    def _add_waiting(self) -> None:
        self._counts += np.bincount(self._waiting.rows(), minlength=len(self._counts))
        self._waiting, self._held = AllRows(), 0

    def join(self, other: PointCounts) -> None:
        other._add_waiting()
        self._counts += other._counts

    def result(self) -> Points:
        self._add_waiting()
        occur = np.flatnonzero(self._counts)
        bins, within = self._bins[occur >> self._shift], occur & ((1 << self._shift) - 1)
        return Points((bins << self._shift) + within, self._counts[occur])
