"""How many ranks quantiles may be off, all together: an upper bound that public facts decide.

A choice errs by at most (ln A + X) / rate ranks, where X has the law of an exponential variable
whatever was chosen before, and A counts what there is to choose from. One that aims between two
others adds their errors in the shares in which it lies between them. So each error is at most a
known number and a weighted sum of exponentials (proof: docs/proofs/quantiles.md, "Error").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Where a bound on a tail is tried, as shares of its fastest rate.
SLOPES = np.arange(1, 65) / 64
#: So much of what may fail is dealt out evenly, so that no error pays all for the largest.
EVEN = 0.1
#: The bounds of tails hold as far as losses aren't capped: beyond, with probability e^-40 a choice.
CAPPED = math.exp(-40)
#: What floats may cost.
ROOM = 1 + 2.0**-30
#: No table has more rows.
MOST_ROWS = 2.0**30


@dataclass(frozen=True)
class RankTarget:
    """A choice: where in the order of the answers it stands, and between which others."""

    at: int
    low: int | None
    high: int | None
    share: float  # of the way from one to the other
    quantile: float
    rate: float  # by which one rank lowers the logarithm of a chance
    log_points: float
    log_parts: float  # into how many a point is divided, where rows are split
    is_leaf: bool
    inside: int  # so many ranks off is as good as none

    def log_odds(self, rows: float | None) -> float:
        """ln A. Of n rows at one point those near the split take many slots, which are all good:
        so that the parts of a point count for no more than rate·n."""
        if self.is_leaf:
            return self.log_points
        slots = self.log_parts - math.log(2)
        near = (
            slots if rows is None else math.log(max(self.rate * rows, math.exp(-self.log_points)))
        )
        return self.log_points + min(slots, near)

    def half_slot(self, rows: float | None) -> float:
        """Ranks between the ends of a slot and its middle, where rows are split."""
        most = MOST_ROWS if rows is None else rows
        return 0.0 if self.is_leaf else most * math.exp(-self.log_parts)


@dataclass(frozen=True, eq=False)
class Tails:
    """Errors, each at most a known number and a weighted sum of exponentials."""

    known: Floats
    weights: Floats  # of each error in a row, in any order, and zeros

    @cached_property
    def slopes(self) -> Floats:
        slopes: Floats = SLOPES / self.weights.max(axis=1, keepdims=True)
        return slopes

    @cached_property
    def _moments(self) -> Floats:
        """ln E exp(slope · all but the largest term), infinite where that is."""
        others = np.sort(self.weights, axis=1)[:, :-1, None]
        left = np.maximum(1 - self.slopes[:, None, :] * others, 0.0)
        with np.errstate(divide="ignore"):
            logs: Floats = -np.log(left).sum(axis=1)
        return logs

    def beyond(self, error: float) -> Floats:
        """What at most the probability of each is to exceed an error."""
        bounds = self._moments - self.slopes * (error - self.known)[:, None]
        chances: Floats = np.exp(np.minimum(bounds.min(axis=1), 0.0))
        return chances

    def errors(self, failures: Floats | float) -> Floats:
        """Errors that are exceeded with no more than those probabilities."""
        needed = np.reshape(-np.log(failures), (-1, 1))
        worst: Floats = ((self._moments + needed) / self.slopes).min(axis=1)
        return self.known + worst


def joint_errors(aims: Sequence[RankTarget], failure: float, rows: float | None) -> list[float]:
    """Errors of all answers that hold together but for a probability, whole ranks. The largest is
    made small: most of the failure goes where it counts."""
    left = failure - len(aims) * CAPPED
    tails = _tails(aims, rows)
    if left <= 0:
        errors = np.full(len(aims), math.inf)
    else:
        largest = _largest(tails, left * (1 - EVEN))
        errors = tails.errors(left * EVEN / len(aims) + tails.beyond(largest))
    return [
        min(_whole(error * ROOM), _whole(_farthest(aim, rows)))
        for error, aim in zip(errors.tolist(), sorted(aims, key=lambda aim: aim.at), strict=True)
    ]


def _tails(aims: Sequence[RankTarget], rows: float | None) -> Tails:
    """In the order of the answers."""
    known: dict[int | None, float] = {None: 0.0}
    weights: dict[int | None, dict[int, float]] = {None: {}}
    for aim in aims:
        sides = ((aim.low, 1 - aim.share), (aim.high, aim.share))
        own = aim.log_odds(rows) / aim.rate + aim.half_slot(rows) + aim.inside
        known[aim.at] = own + sum(share * known[side] for side, share in sides)
        mixed = {aim.at: 1 / aim.rate}
        for side, share in sides:
            for at, weight in weights[side].items():
                mixed[at] = mixed.get(at, 0.0) + share * weight
        weights[aim.at] = mixed
    table = np.zeros((len(aims), max(map(len, weights.values()))))
    for at in range(len(aims)):
        table[at, : len(weights[at])] = list(weights[at].values())
    return Tails(np.array([known[at] for at in range(len(aims))]), table)


def _largest(tails: Tails, failure: float) -> float:
    """An error that all keep, but for a probability: nearly the least."""
    low, high = 0.0, float(tails.errors(failure / len(tails.known)).max())
    for _ in range(40):
        middle = (low + high) / 2
        if tails.beyond(middle).sum() <= failure:
            high = middle
        else:
            low = middle
    return high


def _farthest(aim: RankTarget, rows: float | None) -> float:
    """No answer lies further off than all rows on its larger side."""
    return math.inf if rows is None else max(aim.quantile, 1 - aim.quantile) * rows


def _whole(error: float) -> float:
    return error if math.isinf(error) else float(math.ceil(error))
