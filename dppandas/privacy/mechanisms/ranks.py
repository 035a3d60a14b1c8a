"""The ranks of rows on a public grid, and how far a point is from a quantile of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass

Integers = npt.NDArray[np.int64]

#: With up to this many rows beyond it, an extreme quantile counts as exact
#: (docs/proofs/quantiles.md, "Extremes").
INSIDE = 1


class Ranks:
    """Grid integers that occur, how many rows have each, and the cap of losses, if there is one.

    Rows that decide no loss below the cap may be gathered: an entry stands for all rows from its
    value up to another one, `until`. What is below and above it is exact.
    """

    def __init__(
        self,
        values: Integers,
        counts: Integers,
        cap: int | None = None,
        until: Integers | None = None,
        everything: Callable[[], Ranks] | None = None,
    ) -> None:
        self.values, self.counts, self.cap = values, counts, cap
        self.until = values if until is None else until
        self._everything = everything
        self.below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def whole(self) -> Ranks:
        """With no rows gathered: rows are read again for it."""
        return self if self._everything is None else self._everything()

    def are_apart(self, first: int, last: int) -> bool:
        """Whether none of these entries, the last one left out, has gathered rows."""
        own = slice(first, last)
        return np.array_equal(self.until[own], self.values[own])

    def know(self, place: int, parts: int) -> bool:
        """Whether the mass below a place is exact: it doesn't lie among gathered rows."""
        point = place // parts
        i = int(np.searchsorted(self.values, point, "right")) - 1
        if i < 0 or self.are_apart(i, i + 1):
            return True
        return int(self.until[i]) < point or place == int(self.values[i]) * parts

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
        self,
        values: Integers,
        counts: Integers,
        edges: Integers,
        cap: int | None = None,
        until: Integers | None = None,
        everything: Callable[[], RanksByCell] | None = None,
    ) -> None:
        self.values, self.counts, self.cap, self.until = values, counts, cap, until
        self.edges = edges  # where each cell's values begin, and where the last cell's end
        self._everything = everything

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
        until, everything = None if self.until is None else self.until[own], self._everything
        of_cell = None if everything is None else lambda: everything()[cell]
        return Ranks(self.values[own], self.counts[own], self.cap, until, of_cell)

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


@dataclass(frozen=True)
class Target:
    """What one choice aims at: a share of the rows between two earlier choices, or an end. From
    ``cap`` on, in 1/b rows for the share a/b, losses are capped."""

    at: int
    low: int | None
    high: int | None
    share: Fraction
    cap: int


@dataclass(frozen=True)
class Reach:
    """Which ranks decide the choices from a column: near each target those of losses below the cap.

    Of a single choice, all of them. The targets of others depend on the choices before, and here
    each of these is taken to have such a loss, as nearly all have.
    """

    targets: tuple[Target, ...]

    @property
    def cap(self) -> int | None:
        """That of the losses of a single choice."""
        return self.targets[0].cap if len(self.targets) == 1 else None

    def spans(self, rows: int) -> list[tuple[int, int]]:
        """For each target two numbers of rows: with so many up to its end, or so many below it, a
        point counts with the capped loss."""
        ends: dict[int, tuple[int, int]] = {}
        found = []
        for each in self.targets:
            low, last_low = (0, 0) if each.low is None else ends[each.low]
            high, last_high = (rows, rows) if each.high is None else ends[each.high]
            b = each.share.denominator
            least, _ = aimed(high - low, each.share)
            _, most = aimed(last_high - last_low, each.share)
            under = (b * low + least - each.cap) // b
            over = -(-(b * last_low + most + each.cap) // b)
            found.append((under, over))
            # A split falls within a slot whose loss isn't capped, which has fewer rows than this.
            slot = 1 + (rows >> 30)
            ends[each.at] = max(low, under - slot), min(last_high, over + slot)
        return found


def losses(ranks: Ranks, share: Fraction, points: Sequence[int]) -> list[int]:
    """The loss of each point, in 1/b ranks, capped if the ranks have a cap: for audits."""
    b, (least, most) = share.denominator, aimed(int(ranks.below[-1]), share)
    found: list[Any] = []
    for point in points:
        under, up_to = ranks.mass(point, 1), ranks.mass(point + 1, 1)
        loss = max(0, b * under - most, least - b * up_to)
        found.append(loss if ranks.cap is None else min(loss, ranks.cap))
    return found
