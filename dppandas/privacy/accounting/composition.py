"""What all charges together cost one unit: a sum, and across a partition a maximum.

A partition divides rows by declared keys, so a row lies in at most one part. A unit of one row pays
for the part that it lies in and for no other, whatever is asked of the others and in whatever order
(parallel composition). A unit of m rows may lie in m parts, and pays for the m most expensive ones.
Parts can be partitioned again. Partitions side by side add up, and so do masks.

Proof: docs/proofs/parallel.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import NamedTuple

from ...dataclasses import found_once
from . import conversions
from .losses import Delta, Epsilon, Loss, Rho


class Part(NamedTuple):
    """One part of a partition, and how many rows of one unit the partition divides. What a part is
    called doesn't tell it from others."""

    partition: str
    key: str
    rows: int
    columns: str = ""  # by which rows are divided
    label: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """What tells it from others."""
        return self.partition, self.key, self.rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.place == other.place

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.place)


#: The parts that lead from the whole source inwards; () is the whole source.
Path = tuple[Part, ...]
#: A source's name, and a path in it.
Place = tuple[str, Path]
#: By how much a unit's first row, its second, … raise the most that it can pay: never rising, and
#: without the zeros at the end.
Steps = Sequence[Fraction]


class ParallelComposition:
    """The losses charged at each place. Immutable: `plus` returns a new one."""

    def __init__(self) -> None:
        self.losses: dict[Place, Loss] = {}
        self._trees: dict[str, _Node] = {}
        #: The most that one unit pays, summed over all sources.
        self.total = Loss()

    def plus(self, charges: Iterable[tuple[Place, Loss]]) -> ParallelComposition:
        """This one with more charges. Subtrees without new charges are shared, not copied."""
        losses = dict(self.losses)
        by_source: dict[str, list[tuple[Path, Loss]]] = {}
        for (source, path), loss in charges:
            place = source, path
            losses[place] = losses[place] + loss if place in losses else loss
            by_source.setdefault(source, []).append((path, loss))
        grown = {s: self._trees.get(s, _NOWHERE).with_(more) for s, more in by_source.items()}
        after = ParallelComposition()
        after.losses, after._trees = losses, {**self._trees, **grown}
        after.total = self._total_with(grown)
        return after

    def _total_with(self, grown: dict[str, _Node]) -> Loss:
        """The total once some sources have grown: others aren't added up again."""
        if grown.keys() == self._trees.keys() and len(grown) == 1:
            return next(iter(grown.values())).whole
        total = self.total
        for source, tree in grown.items():
            before = self._trees.get(source)
            total = total + (tree.whole if before is None else tree.whole - before.whole)
        return total

    def by_source(self) -> dict[str, Loss]:
        """The most that one unit pays for each source, in the order of first use."""
        return {source: tree.whole for source, tree in self._trees.items()}


class _Partition(NamedTuple):
    """How many rows of one unit a partition divides, and its parts by key."""

    rows: int
    by_key: dict[str, _Node]


class _Node:
    """What is charged at a place, and its partitions. Immutable."""

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
            inside.setdefault(part.partition, {}).setdefault(part.key, []).append((path[1:], loss))
        partitions = dict(self.partitions)
        for name, keys in inside.items():
            before = self.partitions[name].by_key if name in self.partitions else {}
            more = {key: before.get(key, _NOWHERE).with_(all_) for key, all_ in keys.items()}
            partitions[name] = _Partition(rows[name], {**before, **more})
        return _Node(own, partitions)

    @found_once
    def whole(self) -> Loss:
        """The most that a unit can pay here, wherever its rows lie."""
        if not self.partitions:
            return self.own
        epsilon, delta, rho = (next(iter(steps), Fraction(0)) for steps in self.steps(0))
        return Loss(Epsilon(epsilon), Delta(delta), Rho(rho))

    def steps(self, before: int) -> tuple[Steps, ...]:
        """The steps of ε, δ and ρ. Each is maximised on its own, so all three bounds hold.

        ``before`` is how many rows of a unit the enclosing partition divides: one of those rows may
        have become several by now. It is 0 for the whole source, which all rows enter at once.
        """
        if before not in self._steps:
            own = (self.own.epsilon, self.own.delta, self.own.rho)
            self._steps[before] = tuple(self._counted(i, own[i], before) for i in range(3))
        return self._steps[before]

    def _counted(self, measure: int, own: Fraction, before: int) -> Steps:
        """A unit pays what is charged here with its first row, and a part with its first row in
        that part."""
        sums: list[Fraction] = [own] if own else []
        for rows, parts in self.partitions.values():
            found = [step for part in parts.values() for step in part.steps(rows)[measure]]
            at_once = -(-rows // before) if before else max(rows, 1)
            steps = _largest_steps(found, rows, at_once)
            sums = [a + b for a, b in zip_longest(sums, steps, fillvalue=Fraction(0))]
        return sums


def _largest_steps(found: Steps, rows: int, at_once: int) -> Steps:
    """The most that each ``at_once`` further rows add, up to ``rows`` in all.

    These are the largest steps of all parts: steps never rise within a part, so rows can always be
    placed to reach them. Sorted as integers, which compare far faster than fractions.
    """
    unit = math.lcm(*(step.denominator for step in found))
    whole = sorted((step.numerator * (unit // step.denominator) for step in found), reverse=True)
    most = whole[:rows]
    return [Fraction(sum(most[i : i + at_once]), unit) for i in range(0, len(most), at_once)]


_NOWHERE = _Node(Loss(), {})


def first_beyond(charges: Sequence[tuple[Place, Loss]], limit: Loss) -> int | None:
    """The index of the charge that first takes the total above a limit; None if none does.

    A charge never lowers the total as long as each partition always divides the same number of
    rows. Then the full total decides, and bisection finds the charge; else each is tried in turn.
    """

    def is_beyond(count: int) -> bool:
        return not ParallelComposition().plus(charges[:count]).total.within(limit)

    if not _divides_alike(path for (_, path), _ in charges):
        spent = ParallelComposition()
        for i, charge in enumerate(charges):
            spent = spent.plus([charge])
            if not spent.total.within(limit):
                return i
        return None
    if not is_beyond(len(charges)):
        return None
    return bisect_left(range(1, len(charges)), True, key=is_beyond)


def _divides_alike(paths: Iterable[Path]) -> bool:
    """Whether each partition divides the same number of rows wherever it is named."""
    seen: dict[Path, int] = {}
    for path in set(paths):
        for depth, part in enumerate(path):
            where = (*path[:depth], part._replace(key="", rows=0))
            if seen.setdefault(where, part.rows) != part.rows:
                return False
    return True


def loss_of_group(loss: Loss, k: int) -> Loss | None:
    """The loss for k units together: kε with δ(e^(kε) - 1)/(e^ε - 1), or k²ρ. None where δ is spent
    besides ρ, which no such rule covers (docs/proofs/parallel.md)."""
    if not loss.rho:
        delta = conversions.delta_for_group(loss.epsilon, loss.delta, k)
        return Loss(Epsilon(k * loss.epsilon), Delta(delta))
    return None if loss.delta or loss.epsilon else Loss(rho=Rho(k * k * loss.rho))
