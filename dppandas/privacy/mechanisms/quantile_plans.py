"""The order in which quantiles are chosen, and the slots that each is chosen from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass, replace
from ..record_parts import RecordPart
from ..sampling import samplers
from .ranks import Ranks, aimed

#: The digits of a weight, and the decimal places at which it is cut to a whole number.
DIGITS, PLACES = 110, 90

#: Losses and masses below this don't overflow an int64, nor does the sum of two.
LARGEST = 2**62

#: Whole numbers: int64 where none can overflow, else Python's integers.
Exact = npt.NDArray[Any]
#: The fields of `Run`, each one number or one for each run.
Piece = tuple[Any, Any, Any, Any, Any]


@dataclass(frozen=True)
class Node(RecordPart):
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
def plan(quantiles: tuple[Fraction, ...], first: tuple[Fraction, ...] = ()) -> tuple[Node, ...]:
    """The choices for sorted quantiles in their order: the middle first, then both sides. Those of
    ``first``, if there are any, come before all others, which are on the levels below."""
    nodes = []

    def split(places: Sequence[int], low: int | None, high: int | None, level: int) -> None:
        if not places:
            return
        middle = len(places) // 2
        if quantiles[places[middle]] in (0, 1):  # the least certain: none should depend on them
            middle = (len(places) - 1) // 2
        at = places[middle]
        start = Fraction(0) if low is None else quantiles[low]
        end = Fraction(1) if high is None else quantiles[high]
        share = (quantiles[at] - start) / (end - start)
        nodes.append(Node(at, low, high, level, share, is_leaf=True))
        split(places[:middle], low, at, level + 1)
        split(places[middle + 1 :], at, high, level + 1)

    early = [place for place, share in enumerate(quantiles) if share in first]
    split(early, None, None, 0)
    ends = [None, *early, None]
    for low, high in pairwise(ends):
        between = range(-1 if low is None else low, len(quantiles) if high is None else high)
        split(between[1:], low, high, len(early).bit_length())
    divided = {side for node in nodes for side in (node.low, node.high)}
    nodes = [replace(node, is_leaf=node.at not in divided) for node in nodes]
    return tuple(sorted(nodes, key=lambda node: node.level))


@dataclass(frozen=True)
class Run:
    """Consecutive slots of the grid, up or down from a first one; each adds a step to the loss."""

    slot: int
    sign: int
    count: int
    loss: int
    step: int = 0


class Runs:
    """Many runs: an array for each field of `Run`, of int64 or of Python's integers."""

    def __init__(self, pieces: Iterable[Piece], exact: type) -> None:
        """Of pieces, each with one number or array for each field; runs without slots are left
        out."""
        kept = []
        for piece in pieces:
            fields = np.broadcast_arrays(*(np.atleast_1d(np.array(f, exact)) for f in piece))
            there = fields[2] > 0
            kept.append([field[there] for field in fields])
        self._fields = tuple(map(np.concatenate, zip(*kept, strict=True)))

    def __iter__(self) -> Iterator[Run]:
        return map(Run, *(field.tolist() for field in self._fields))

    def __getitem__(self, at: int) -> Run:
        return Run(*(int(field[at]) for field in self._fields))

    def weights(self, rate: Fraction) -> npt.NDArray[np.float64]:
        """`Weights.run` of each to a factor within 1 ± 2^-40, but not as whole numbers."""
        _, _, count, loss, step = (field.astype(np.float64) for field in self._fields)
        arms = np.flatnonzero(step)
        log_ratio = step[arms] * -float(rate)
        count[arms] = np.expm1(log_ratio * count[arms]) / np.expm1(log_ratio)  # 1 + r + r² + …
        weights: npt.NDArray[np.float64] = count * np.exp(loss * -float(rate))
        return weights


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

    def runs(self) -> Runs:
        """All slots in runs; those of capped loss form one run at each end."""
        parts, base, b = self.parts, self._base, self.share.denominator
        values, below = self.ranks.values, self.ranks.below
        per_point, first, last = parts // self.width, self._first, self._last
        least, most = aimed(self.ranks.mass(self.high, parts) - base, self.share, parts)
        start, i, j, stop = self._uncapped(least, most)
        # How far each gap is from what is aimed at, by the rows from the i-th point on.
        mass, rows = b * (int(below[i]) * parts - base), below[i : j + 1] - below[i]
        short, beyond, row = least - mass, mass - most, b * parts
        largest = abs(short) + abs(beyond) + self.cap + row * (int(rows[-1]) + 1)
        exact: type = np.int64 if largest < LARGEST else object
        risen = rows.astype(exact) * row
        shorts, beyonds = short - risen, beyond + risen
        own = values[i:j] * per_point
        at = first if i == start else (int(values[i - 1]) + 1) * per_point
        end = last + 1 if j == stop else int(values[j]) * per_point
        begin = np.append(at, np.minimum(own + per_point, last + 1))
        rest = max(int(begin[-1]), end)
        return Runs([
            (first, 1, at - first, self.cap, 0),
            (begin, 1, np.append(own, end) - begin, self._capped(shorts, beyonds), 0),
            *self._points(own, shorts[:-1], beyonds[:-1], np.diff(risen)),
            (rest, 1, last + 1 - rest, self.cap, 0),
        ], exact)  # fmt: skip

    @property
    def are_known(self) -> bool:
        """Whether the loss of each slot follows from the ranks, though rows are gathered in them:
        both places lie beside such rows, and where rows are gathered losses are capped."""
        ranks, ends = self.ranks, (self.low, self.high)
        if ranks.until is ranks.values:
            return True
        if not all(ranks.know(end, self.parts) for end in ends):
            return False
        mass = ranks.mass(self.high, self.parts) - self._base
        _, i, j, _ = self._uncapped(*aimed(mass, self.share, self.parts))
        return ranks.are_apart(i, j)

    @property
    def _first(self) -> int:
        return self.low // self.width

    @property
    def _last(self) -> int:
        return (self.high - 1) // self.width

    @property
    def _base(self) -> int:
        """The mass below the lower place."""
        return self.ranks.mass(self.low, self.parts)

    def _uncapped(self, least: int, most: int) -> tuple[int, int, int, int]:
        """Of the points with rows: the first between the places, the first whose loss isn't capped,
        the first beyond such points, and the first beyond the places."""
        parts, base, b = self.parts, self._base, self.share.denominator
        values, below = self.ranks.values, self.ranks.below
        start = int(np.searchsorted(values, self.low // parts))
        stop = int(np.searchsorted(values, (self.high - 1) // parts, "right"))
        # With so few rows up to its end, or so many below it, a point's loss is capped.
        under = ((least - self.cap) // b + base) // parts
        over = -((-(most + self.cap) // b - base) // parts)
        i = max(start, min(stop, int(np.searchsorted(below[1:], _int64(under), "right"))))
        j = max(i, min(stop, int(np.searchsorted(below[:-1], _int64(over), "left"))))
        return start, i, j, stop

    def _capped(self, short: Exact, beyond: Exact) -> Exact:
        return np.clip(np.maximum(short, beyond), 0, self.cap)

    def _points(self, own: Exact, short: Exact, beyond: Exact, mass: Exact) -> Iterator[Piece]:
        """The slots of points with rows: the loss falls, is 0 in at least one slot, and rises."""
        first = np.maximum(own, self._first)
        last = np.minimum(own + self.parts // self.width - 1, self._last)
        if self.width == self.parts:
            yield first, 1, last + 1 - first, self._capped(short - mass, beyond), 0
            return
        step = mass // (self.parts // self.width)
        falling = np.minimum(last, own - (-short // step) - 2)  # ceil(short/step) - 2
        rising = np.maximum(first, own + (-beyond // step) + 1)
        flat = np.maximum(first, falling + 1)
        yield flat, 1, np.minimum(last, rising - 1) - flat + 1, 0, 0
        down, up = short - step * (falling - own + 1), beyond + step * (rising - own)
        yield from self._arms(falling, -1, falling - first, down, step)
        yield from self._arms(rising, 1, last - rising, up, step)

    def _arms(
        self, slot: Exact, sign: int, further: Exact, loss: Exact, step: Exact
    ) -> Iterator[Piece]:
        """A slot and those further on: first those below the cap."""
        count = np.maximum(further + 1, 0)
        free = np.minimum(count, np.maximum(0, -((loss - self.cap) // step)))
        yield slot, sign, free, loss, step
        yield slot + sign * free, sign, count - free, self.cap, 0


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
