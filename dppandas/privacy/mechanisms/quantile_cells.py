"""One quantile of each of many cells, chosen together and as exactly as one by one.

The points of each cell form runs of equal loss: each point that occurs, and each gap between two.
Floats choose the run wherever they certainly can. Elsewhere whole numbers of 90 digits do, from the
same random bits. Within a run the point is uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..sampling import samplers
from .ranks import Integers, RanksByCell, aimed

Floats = npt.NDArray[np.float64]

#: Losses up to this are exact floats, and sums of them exact int64.
LARGEST = 2**52

#: From the counts and losses of a cell's runs to their exact weights.
Weigh = Callable[[Sequence[int], Sequence[int]], Sequence[int]]


@dataclass(frozen=True)
class Choice:
    """The choice in each cell: a point of 0, …, top near the quantile ``share``, with probability
    proportional to exp(-rate · loss), where losses are capped."""

    share: Fraction
    top: int
    cap: int
    rate: Fraction

    def fits(self, ranks: RanksByCell) -> bool:
        """Whether floats hold all losses; if not, cells are chosen one by one."""
        rows = 1 + int(ranks.counts.sum())
        return self.share.denominator * rows < LARGEST and self.cap < LARGEST

    def points(self, ranks: RanksByCell, weigh: Weigh) -> Integers:
        """A point for each cell."""
        starts = 2 * ranks.edges[:-1] + np.arange(len(ranks))
        first, counts = self._runs(ranks, starts)
        losses = self._losses(ranks, starts)
        weights: Floats = counts * np.exp(losses * -float(self.rate))

        def exactly(cell: int) -> Sequence[int]:
            own = slice(starts[cell], starts[cell + 1] if cell + 1 < len(ranks) else None)
            return weigh(counts[own].tolist(), losses[own].tolist())

        chosen = samplers.weighted_choices(weights, starts, exactly)
        return first[chosen] + samplers.uniforms(counts[chosen])

    def _runs(self, ranks: RanksByCell, starts: Integers) -> tuple[Integers, Integers]:
        """The start and the length of each run. In each cell the first and last run are gaps."""
        at = _places(ranks)
        ends = np.full(len(ranks.values) * 2 + len(ranks), self.top + 1, dtype=np.int64)
        ends[at] = ranks.values + 1
        ends[at - 1] = ranks.values
        first = np.empty_like(ends)
        first[1:] = ends[:-1]
        first[starts] = 0
        return first, ends - first

    def _losses(self, ranks: RanksByCell, starts: Integers) -> Integers:
        sizes = np.diff(starts, append=2 * len(ranks.values) + len(ranks))
        added = np.zeros(int(sizes.sum()), dtype=np.int64)
        added[_places(ranks)] = ranks.counts
        total = np.cumsum(added)
        up_to = total - np.repeat(total[starts], sizes)  # a cell begins with an empty gap
        rows = np.repeat(np.add.reduceat(added, starts), sizes)
        least, most = _aims(rows, self.share)
        b = self.share.denominator
        losses: Integers = np.maximum(b * (up_to - added) - most, least - b * up_to)
        return losses.clip(0, self.cap)


def _places(ranks: RanksByCell) -> Integers:
    """The places, among all runs, of the points that occur."""
    cells: Integers = np.repeat(np.arange(len(ranks)), np.diff(ranks.edges))
    return 2 * np.arange(len(ranks.values)) + 1 + cells


def _aims(rows: Integers, share: Fraction) -> tuple[Integers, Integers]:
    """`aimed` for the rows of each cell: linear in the rows, so two calls suffice."""
    (least, most), none = aimed(1, share), aimed(0, share)
    return rows * (least - none[0]) + none[0], rows * (most - none[1]) + none[1]
