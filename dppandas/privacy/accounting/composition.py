"""What all charges together cost one unit: a sum, and where rows are parted, a maximum.

A partition divides rows by declared keys, so that a row lies in one part at most. A unit of one row
pays for the part that it lies in and for no other, whatever is asked of the others, in whatever
order (parallel composition). A unit of m rows may lie in m parts, and pays for the dearest m.
Parts may be partitioned again; partitions side by side add up, and so do masks.

Proof: docs/proofs/parallel.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from .losses import Delta, Epsilon, Loss, Rho


class Part(NamedTuple):
    """A part of a partition, and how many rows of one unit the partition divides."""

    partition: str
    key: str
    rows: int


#: From the whole source inwards; () is the whole.
Path = tuple[Part, ...]
#: A source's name, and where in it.
Place = tuple[str, Path]
#: What the first row of a unit adds to the most that it pays, what a second adds, …: falling, and
#: without the zeros at the end.
Steps = Sequence[Fraction]


class ParallelComposition:
    """The losses charged at each place. It never changes; `plus` makes another."""

    def __init__(self, losses: Mapping[Place, Loss] | None = None) -> None:
        self.losses = dict(losses or {})
        self._trees = _grown({}, self.losses.items()) if self.losses else {}

    def plus(self, charges: Iterable[tuple[Place, Loss]]) -> ParallelComposition:
        """With some more charges."""
        more = list(charges)
        after = ParallelComposition()
        after.losses = dict(self.losses)
        for place, loss in more:
            after.losses[place] = after.losses[place] + loss if place in after.losses else loss
        after._trees = _grown(self._trees, more)
        return after

    @cached_property
    def total(self) -> Loss:
        """The most that one unit of each source pays, added up."""
        return sum(self.by_source().values(), Loss())

    def by_source(self) -> dict[str, Loss]:
        """The most that one unit pays, of each source in the order of first use."""
        return {source: tree.whole for source, tree in self._trees.items()}


def _grown(trees: Mapping[str, _Node], charges: Iterable[tuple[Place, Loss]]) -> dict[str, _Node]:
    """Trees with some more charges. What isn't charged is shared with the trees before."""
    by_source: dict[str, list[tuple[Path, Loss]]] = {}
    for (source, path), loss in charges:
        by_source.setdefault(source, []).append((path, loss))
    return {**trees, **{s: trees.get(s, _NOWHERE).with_(more) for s, more in by_source.items()}}


class _Partition(NamedTuple):
    """A partition of a place: how many rows of one unit it divides, and its parts by key."""

    rows: int
    by_key: dict[str, _Node]


class _Node:
    """A place: what is charged there, and the partitions of it. It never changes."""

    def __init__(self, own: Loss, partitions: dict[str, _Partition]) -> None:
        self.own = own
        self.partitions = partitions
        self._steps: dict[int, tuple[Steps, ...]] = {}

    def with_(self, charges: Iterable[tuple[Path, Loss]]) -> _Node:
        own = self.own
        rows = {name: parts.rows for name, parts in self.partitions.items()}
        inside: dict[str, dict[str, list[tuple[Path, Loss]]]] = {}
        for path, loss in charges:
            if not path:
                own = own + loss
                continue
            part = path[0]
            rows[part.partition] = max(part.rows, rows.get(part.partition, 0))
            keys = inside.setdefault(part.partition, {})
            keys.setdefault(part.key, []).append((path[1:], loss))
        partitions = dict(self.partitions)
        for name, keys in inside.items():
            before = self.partitions[name].by_key if name in self.partitions else {}
            more = {key: before.get(key, _NOWHERE).with_(all_) for key, all_ in keys.items()}
            partitions[name] = _Partition(rows[name], {**before, **more})
        return _Node(own, partitions)

    @cached_property
    def whole(self) -> Loss:
        """The most that a unit pays here, wherever its rows lie."""
        epsilon, delta, rho = (next(iter(steps), Fraction(0)) for steps in self.steps(0))
        return Loss(Epsilon(epsilon), Delta(delta), Rho(rho))

    def steps(self, before: int) -> tuple[Steps, ...]:
        """Of ε, δ and ρ apart: so the most of each is right for all.

        ``before`` is how many rows of a unit the partition divides of which this is a part; a row
        may have become several in between. 0 for the whole source, to which all rows come at once.
        """
        if before not in self._steps:
            own = (self.own.epsilon, self.own.delta, self.own.rho)
            self._steps[before] = tuple(self._counted(i, own[i], before) for i in range(3))
        return self._steps[before]

    def _counted(self, measure: int, own: Fraction, before: int) -> Steps:
        """What is charged here counts with the first row, a part with the first row in it."""
        sums: list[Fraction] = [own] if own else []
        for rows, parts in self.partitions.values():
            found = [step for part in parts.values() for step in part.steps(rows)[measure]]
            at_once = -(-rows // before) if before else max(rows, 1)
            steps = _dearest(found, rows, at_once)
            sums = [a + b for a, b in zip_longest(sums, steps, fillvalue=Fraction(0))]
        return sums


def _dearest(found: Steps, rows: int, at_once: int) -> Steps:
    """What so many rows pay at most, a few of them at once: the largest steps of all parts, for
    steps fall, so that any rows can reach them. As integers, which are compared far faster."""
    unit = math.lcm(*(step.denominator for step in found))
    whole = sorted((step.numerator * (unit // step.denominator) for step in found), reverse=True)
    most = whole[:rows]
    return [Fraction(sum(most[i : i + at_once]), unit) for i in range(0, len(most), at_once)]


_NOWHERE = _Node(Loss(), {})


def first_beyond(charges: Sequence[tuple[Place, Loss]], limit: Loss) -> int | None:
    """The first charge with which all before it cost more than a limit; None if none does.

    No charge makes the others cheaper, so that the whole decides, and halves find the first. That
    holds where a partition divides the same number of rows each time; else each is looked at.
    """

    def is_within(count: int) -> bool:
        return ParallelComposition().plus(charges[:count]).total.within(limit)

    if not _divides_alike(path for (_, path), _ in charges):
        spent = ParallelComposition()
        for i, charge in enumerate(charges):
            spent = spent.plus([charge])
            if not spent.total.within(limit):
                return i
        return None
    if is_within(len(charges)):
        return None
    within, beyond = 0, len(charges)
    while beyond - within > 1:
        middle = (within + beyond) // 2
        within, beyond = (middle, beyond) if is_within(middle) else (within, middle)
    return beyond - 1


def _divides_alike(paths: Iterable[Path]) -> bool:
    seen: dict[Path, int] = {}
    for path in set(paths):
        for depth, part in enumerate(path):
            where = (*path[:depth], part._replace(key="", rows=0))
            if seen.setdefault(where, part.rows) != part.rows:
                return False
    return True
