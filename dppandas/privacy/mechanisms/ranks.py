"""The ranks of rows on a public grid, and how far a point is from a quantile of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

#: With up to this many rows beyond it, an extreme quantile counts as exact
#: (docs/proofs/quantiles.md, "Extremes").
INSIDE = 1


class Ranks:
    """Grid integers that occur, how many rows have each, and the cap of losses, if there is one.

    Rows outside the window of uncapped losses may be gathered right beside it: that changes no
    capped loss.
    """

    def __init__(self, values: Integers, counts: Integers, cap: int | None = None) -> None:
        self.values, self.counts, self.cap = values, counts, cap
        self.below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranks) and (
            np.array_equal(self.values, other.values) and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def count(self, value: int) -> int:
        """The number of rows with this value."""
        i = int(np.searchsorted(self.values, value))
        is_there = i < len(self.values) and int(self.values[i]) == value
        return int(self.counts[i]) if is_there else 0

    def mass(self, place: int, parts: int) -> int:
        """The parts of rows below a place, where each row is spread over its point."""
        point, within = divmod(place, parts)
        i = int(np.searchsorted(self.values, point))
        return int(self.below[i]) * parts + within * self.count(point)


class RanksByCell(Sequence[Ranks]):
    """The ranks of many cells, stored one after the other."""

    def __init__(
        self, values: Integers, counts: Integers, edges: Integers, cap: int | None = None
    ) -> None:
        self.values, self.counts, self.cap = values, counts, cap
        self.edges = edges  # where each cell's values begin, and where the last cell's end

    @classmethod
    def of(cls, cells: Sequence[Ranks]) -> RanksByCell:
        """The cells stored together, if they aren't yet."""
        if isinstance(cells, RanksByCell):
            return cells
        sizes = [0, *(len(ranks.values) for ranks in cells)]
        values = np.concatenate([ranks.values for ranks in cells])
        counts = np.concatenate([ranks.counts for ranks in cells])
        return cls(values, counts, np.cumsum(sizes, dtype=np.int64), cells[0].cap)

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, cell: Any) -> Any:
        if isinstance(cell, slice):
            return [self[i] for i in range(*cell.indices(len(self)))]
        if not -len(self) <= cell < len(self):
            raise IndexError(cell)
        own = slice(*self.edges[cell % len(self) :][:2].tolist())
        return Ranks(self.values[own], self.counts[own], self.cap)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def aimed(mass: int, share: Fraction, row: int = 1) -> tuple[int, int]:
    """The range of masses, times b, that the share a/b of a mass aims at: a·mass to a·mass. An
    extreme share also accepts anything up to the outermost row, whose mass is ``row``.

    Rows outside a branch of the plan don't move its losses, though a slot at its edge may reach
    out: the first number is never above b·mass, and the second never below 0.
    """
    if share == 0:
        return 0, INSIDE * row
    whole = share.numerator * mass
    return (whole - INSIDE * row, whole) if share == 1 else (whole, whole)


def losses(ranks: Ranks, share: Fraction, points: Sequence[int]) -> list[int]:
    """The loss of each point, in 1/b ranks, capped if the ranks have a cap: for audits."""
    b, (least, most) = share.denominator, aimed(int(ranks.below[-1]), share)
    found: list[Any] = []
    for point in points:
        under, up_to = ranks.mass(point, 1), ranks.mass(point + 1, 1)
        loss = max(0, b * under - most, least - b * up_to)
        found.append(loss if ranks.cap is None else min(loss, ranks.cap))
    return found
