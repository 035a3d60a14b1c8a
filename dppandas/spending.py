"""What all charges together cost one unit: a sum, and where rows are parted, a maximum.

A partition divides rows by declared keys, so that a row lies in one part at most. A unit of one row
pays for the part that it lies in and for no other, whatever is asked of the others, in whatever
order (parallel composition). A unit of m rows may lie in m parts, and pays for the dearest m.
Parts may be partitioned again; partitions side by side add up, and so do masks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .budget import Delta, Epsilon, Loss, Rho


class Part(NamedTuple):
    """A part of a partition, and how many rows of one unit the partition divides."""

    partition: str
    key: str
    rows: int


#: From the whole source inwards; () is the whole.
Path = tuple[Part, ...]
#: A source's name, and where in it.
Place = tuple[str, Path]


class Spending:
    """The losses charged at each place."""

    def __init__(self, losses: Mapping[Place, Loss] | None = None) -> None:
        self.losses = dict(losses or {})

    def plus(self, charges: Iterable[tuple[Place, Loss]]) -> Spending:
        """With some more charges."""
        after = Spending(self.losses)
        for place, loss in charges:
            after.losses[place] = after.losses.get(place, Loss()) + loss
        return after

    @property
    def total(self) -> Loss:
        """The most that one unit of each source pays, added up."""
        return sum(self.by_source().values(), Loss())

    def by_source(self) -> dict[str, Loss]:
        """The most that one unit pays, of each source in the order of first use."""
        trees: dict[str, _Node] = {}
        for (source, path), loss in self.losses.items():
            node = trees.setdefault(source, _Node())
            for part in path:
                node = node.inside(part)
            node.own = node.own + loss
        return {source: tree.cost(0, 0) for source, tree in trees.items()}


class _Node:
    """A place: what is charged there, and the partitions of it."""

    def __init__(self) -> None:
        self.own = Loss()
        self.partitions: dict[str, dict[str, _Node]] = {}
        self.rows: dict[str, int] = {}  # of one unit, in each partition

    def inside(self, part: Part) -> _Node:
        self.rows[part.partition] = max(part.rows, self.rows.get(part.partition, 0))
        return self.partitions.setdefault(part.partition, {}).setdefault(part.key, _Node())

    @property
    def leaves(self) -> int:
        """So many rows of a unit can lie in different places here."""
        counts = (sum(n.leaves for n in parts.values()) for parts in self.partitions.values())
        return max(1, *counts) if self.partitions else 1

    def cost(self, here: int, before: int) -> Loss:
        """The most that ``here`` rows of a unit pay here, of ``before`` in the partition of which
        this is a part. A row may have become several in between. (0, 0): the whole source."""
        whole = self.own
        for name, parts in self.partitions.items():
            rows = self.rows[name]
            most = rows if not before else min(rows, here * -(-rows // before))
            whole = whole + _dearest(list(parts.values()), most, rows)
        return whole


def _dearest(parts: list[_Node], rows: int, before: int) -> Loss:
    """The most that so many rows can pay, however they are spread: over ``best[j]`` for j rows,
    one part after another. ε, δ and ρ apart, so the maximum of each is right for all."""
    rows = min(rows, sum(part.leaves for part in parts))
    best = [Loss()] * (rows + 1)
    for part in parts:
        costs = [part.cost(j, before) for j in range(1, min(rows, part.leaves) + 1)]
        for j in range(rows, 0, -1):
            for taken, cost in enumerate(costs[:j], start=1):
                best[j] = _largest(best[j], best[j - taken] + cost)
    return best[rows]


def _largest(one: Loss, other: Loss) -> Loss:
    return Loss(
        Epsilon(max(one.epsilon, other.epsilon)),
        Delta(max(one.delta, other.delta)),
        Rho(max(one.rho, other.rho)),
    )
