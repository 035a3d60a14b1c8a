"""How many rows lie where on a public grid, and how far a point is from a quantile of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

#: An extreme quantile is as good as can be with so many rows beyond it: how far this may be from
#: none is what its accuracy is proven for (docs/proofs/quantiles.md, "Extremes").
INSIDE = 1


class Ranks:
    """Grid integers that occur, and how many rows lie below each; with the losses' cap, if any.

    What is below and above the window in which losses are uncapped may be put together, beside it:
    the capped losses of all points are the same.
    """

    def __init__(
        self,
        values: Integers,
        counts: Integers,
        cap: int | None = None,
    ) -> None:
        self.values = values
        self.counts = counts
        self.cap = cap
        self.below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranks) and (
            np.array_equal(self.values, other.values) and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def count(self, value: int) -> int:
        """How many rows have a value."""
        i = int(np.searchsorted(self.values, value))
        is_there = i < len(self.values) and int(self.values[i]) == value
        return int(self.counts[i]) if is_there else 0

    def mass(self, place: int, parts: int) -> int:
        """How much lies below a place, in parts of rows, each spread over its point."""
        point, within = divmod(place, parts)
        i = int(np.searchsorted(self.values, point))
        return int(self.below[i]) * parts + within * self.count(point)


class RanksByCell(Sequence[Ranks]):
    """The same for each of many cells, one after the other."""

    def __init__(
        self, values: Integers, counts: Integers, edges: Integers, cap: int | None = None
    ) -> None:
        self.values = values
        self.counts = counts
        self.edges = edges  # where each cell's begin, and where the last one's end
        self.cap = cap

    @classmethod
    def of(cls, cells: Sequence[Ranks]) -> RanksByCell:
        """Put together, if they aren't."""
        if isinstance(cells, RanksByCell):
            return cells
        sizes = [0, *(len(ranks.values) for ranks in cells)]
        values, counts = (
            np.concatenate([getattr(ranks, name) for ranks in cells])
            for name in ("values", "counts")
        )
        return cls(values, counts, np.cumsum(sizes, dtype=np.int64), cells[0].cap)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @overload
    def __getitem__(self, cell: int) -> Ranks: ...
    @overload
    def __getitem__(self, cell: slice) -> Sequence[Ranks]: ...

    def __getitem__(self, cell: int | slice) -> Ranks | Sequence[Ranks]:
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
    """From and to which mass the share a/b of some mass aims, b times: a·mass; an extreme share at
    the outermost row too, where all of what lies between is as good. A row is so much mass.

    What lies outside of a part can't move its losses, though a slot at its edge may reach out: for
    the first is never above b·mass, and the second never below 0.
    """
    if share == 0:
        return 0, INSIDE * row
    whole = share.numerator * mass
    return (whole - INSIDE * row, whole) if share == 1 else (whole, whole)


def losses(ranks: Ranks, share: Fraction, points: Sequence[int]) -> list[int]:
    """The loss of each point, in parts of ranks, capped if the ranks say so: for audits."""
    b, (least, most) = share.denominator, aimed(int(ranks.below[-1]), share)
    found: list[Any] = []
    for point in points:
        under, up_to = ranks.mass(point, 1), ranks.mass(point + 1, 1)
        loss = max(0, b * under - most, least - b * up_to)
        found.append(loss if ranks.cap is None else min(loss, ranks.cap))
    return found
