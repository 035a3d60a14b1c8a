"""The order in which quantiles are chosen, and the slots that each is chosen from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..sampling import samplers
from .ranks import Ranks, aimed

#: The digits of a weight, and the decimal places at which it is cut to a whole number.
DIGITS, PLACES = 110, 90


@dataclass(frozen=True)
class Node:
    """One choice: a quantile, the two others between which it lies, and its share between them."""

    at: int
    low: int | None
    high: int | None
    level: int
    share: Fraction
    is_leaf: bool

    @property
    def sensitivity(self) -> int:
        """The most that one row moves a loss: max(a, b - a) for the share a/b."""
        a, b = self.share.numerator, self.share.denominator
        return max(a, b - a)

    @property
    def is_extreme(self) -> bool:
        return self.share in (0, 1)

    @property
    def spread(self) -> int:
        """How far one row may move two losses apart; an extreme's losses only move up."""
        return self.sensitivity if self.is_extreme else 2 * self.sensitivity


@lru_cache(maxsize=256)
def plan(quantiles: tuple[Fraction, ...]) -> tuple[Node, ...]:
    """The choices for sorted quantiles in their order: the middle first, then both sides."""
    nodes = []

    def split(first: int, last: int, low: int | None, high: int | None, level: int) -> None:
        if first == last:
            return
        at = (first + last) // 2
        if quantiles[at] in (0, 1):  # the least certain: no other choice should depend on them
            at = (first + last - 1) // 2
        start = Fraction(0) if low is None else quantiles[low]
        end = Fraction(1) if high is None else quantiles[high]
        share = (quantiles[at] - start) / (end - start)
        nodes.append(Node(at, low, high, level, share, last - first == 1))
        split(first, at, low, at, level + 1)
        split(at + 1, last, at, high, level + 1)

    split(0, len(quantiles), None, None, 0)
    return tuple(sorted(nodes, key=lambda node: node.level))


@dataclass(frozen=True)
class Run:
    """Consecutive slots of the grid, up or down from a first one; each adds a step to the loss."""

    slot: int
    sign: int
    count: int
    loss: int
    step: int = 0


@dataclass(frozen=True)
class Slots:
    """The slots of equal width between two places of the grid, of which one is chosen.

    The slot from s to e has the loss max(0, b·F(s) - T, S - b·F(e)), where F is the mass above the
    lower place, a/b the share asked for, and S to T the masses that are `aimed` at.
    """

    ranks: Ranks
    low: int
    high: int
    share: Fraction
    width: int
    parts: int
    cap: int

    def runs(self) -> list[Run]:
        """All slots in runs; those of capped loss form one run at each end."""
        parts, base = self.parts, self.ranks.mass(self.low, self.parts)
        b = self.share.denominator
        least, most = aimed(self.ranks.mass(self.high, parts) - base, self.share, parts)
        values, below = self.ranks.values, self.ranks.below
        first, last = self.low // self.width, (self.high - 1) // self.width
        start = int(np.searchsorted(values, self.low // parts))
        stop = int(np.searchsorted(values, (self.high - 1) // parts, "right"))
        # With so few rows up to its end, or so many below it, a point's loss is capped.
        under = ((least - self.cap) // b + base) // parts
        over = -((-(most + self.cap) // b - base) // parts)
        i = max(start, min(stop, int(np.searchsorted(below[1:], _int64(under), "right"))))
        j = max(i, min(stop, int(np.searchsorted(below[:-1], _int64(over), "left"))))
        at = first if i == start else (int(values[i - 1]) + 1) * parts // self.width
        end = last + 1 if j == stop else int(values[j]) * parts // self.width
        found = [Run(first, 1, at - first, self.cap)]
        for k in range(i, j):
            own = int(values[k]) * parts // self.width
            mass = b * (int(below[k]) * parts - base)
            found.append(self._gap(at, own, least - mass, mass - most))
            at, up_to = max(own, first), min(own + parts // self.width - 1, last)
            density = b * int(self.ranks.counts[k])
            found.extend(self._point(own, at, up_to, least - mass, mass - most, density))
            at = up_to + 1
        mass = b * (int(below[j]) * parts - base)
        found.append(self._gap(at, end, least - mass, mass - most))
        at = max(at, end)
        found.append(Run(at, 1, last + 1 - at, self.cap))
        return [run for run in found if run.count > 0]

    def _gap(self, at: int, end: int, short: int, beyond: int) -> Run:
        return Run(at, 1, end - at, min(max(0, short, beyond), self.cap))

    def _point(
        self, own: int, first: int, last: int, short: int, beyond: int, density: int
    ) -> Iterator[Run]:
        """The slots of a point with rows: the loss falls, is 0 in at least one slot, and rises."""
        step = density * self.width
        if self.width == self.parts:
            yield Run(first, 1, 1, min(max(0, beyond, short - step), self.cap))
            return
        falling = min(last, own - (-short // step) - 2)  # ceil(short/step) - 2
        rising = max(first, own + (-beyond // step) + 1)
        if falling >= first:
            loss = short - step * (falling - own + 1)
            yield from self._arm(falling, -1, falling - first + 1, loss, step)
        flat = max(first, falling + 1)
        yield Run(flat, 1, min(last, rising - 1) - flat + 1, 0)
        if rising <= last:
            loss = beyond + step * (rising - own)
            yield from self._arm(rising, 1, last - rising + 1, loss, step)

    def _arm(self, slot: int, sign: int, count: int, loss: int, step: int) -> Iterator[Run]:
        free = min(count, max(0, -((loss - self.cap) // step)))
        yield Run(slot, sign, free, loss, step)
        yield Run(slot + sign * free, sign, count - free, self.cap)


class Weights:
    """exp(-rate · loss) in decimals, with few exponentials: successive losses are often close."""

    def __init__(self, rate: Fraction) -> None:
        self._rate = rate
        self._known: dict[int, Decimal] = {}
        self._loss, self._weight = 0, Decimal(1)

    def exp(self, loss: int) -> Decimal:
        """exp(-rate · loss), cached."""
        if loss not in self._known:
            exponent = Decimal(-self._rate.numerator * loss) / Decimal(self._rate.denominator)
            self._known[loss] = exponent.exp()
        return self._known[loss]

    def of(self, loss: int) -> Decimal:
        """exp(-rate · loss), computed from the last one asked for."""
        step = loss - self._loss
        self._loss = loss
        if step > 0:
            self._weight *= self.exp(step)
        elif step < 0:
            self._weight /= self.exp(-step)
        return self._weight

    def run(self, run: Run) -> int:
        """The total weight of a run's slots, as a whole number."""
        weight = self.of(run.loss)
        if not run.step:
            return _whole(weight * run.count)
        return _whole(weight * self._up_to(run.count, run.step) / self._up_to(1, run.step))

    def _up_to(self, count: int, step: int) -> Decimal:
        """1 - r^count, which is proportional to 1 + r + … + r^(count-1)."""
        return 1 - self.exp(step * count)

    def slot(self, run: Run) -> int:
        """A slot of a run: uniform, or by bisection where weights differ."""
        if not run.step:
            return run.slot + run.sign * samplers.uniform(run.count)
        first, count = 0, run.count
        while count > 1:
            half = count // 2
            near, far = self._up_to(half, run.step), self._up_to(count - half, run.step)
            far *= self.exp(run.step * half)
            if samplers.weighted_choice([_whole(near), _whole(far)]):
                first, count = first + half, count - half
            else:
                count = half
        return run.slot + run.sign * first


def _whole(weight: Decimal) -> int:
    return int(weight.scaleb(PLACES))


def _int64(value: int) -> int:
    return max(-1, min(2**62, value))
