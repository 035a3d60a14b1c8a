"""Joint upper bounds on the rank errors of quantiles, from public facts.

A choice among A slots is off by at most (ln A + X) / rate ranks, where X is at most an exponential
variable, whatever was chosen before. A choice between two others adds their errors, each times its
share. So each error is at most a constant plus a weighted sum of exponentials (proof:
docs/proofs/quantiles.md, "Error").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass

Floats = npt.NDArray[np.float64]

#: The exponents at which tails are bounded, as shares of the largest possible.
SLOPES = np.arange(1, 65) / 64
#: The share of the failure probability that is divided evenly, so that no error gets too little.
EVEN = 0.1
#: Tails are bounded for uncapped losses. Capped ones are chosen with probability e^-40 a choice.
CAPPED = math.exp(-40)
#: Pays for floating-point errors.
ROOM = 1 + 2.0**-30
#: No table has more rows.
MOST_ROWS = 2.0**30


@dataclass(frozen=True)
class RankTarget:
    """A choice of one quantile, and the two others between which it aims."""

    at: int  # in the order of the answers
    low: int | None
    high: int | None
    share: float  # of the way from low to high
    quantile: float
    rate: float  # how much one rank lowers the logarithm of a probability
    log_points: float
    log_parts: float  # of the number of parts of a point, where rows are split
    is_leaf: bool
    inside: int  # an error of so many ranks counts as none

    def log_odds(self, rows: float | None) -> float:
        """ln A. Where n rows lie at one point, all of the many slots near the split are good, so
        the parts of a point count for at most rate·n slots."""
        if self.is_leaf:
            return self.log_points
        slots = self.log_parts - math.log(2)
        if rows is not None:
            slots = min(slots, math.log(max(self.rate * rows, math.exp(-self.log_points))))
        return self.log_points + slots

    def half_slot(self, rows: float | None) -> float:
        """Ranks between a slot's ends and its middle, where rows are split."""
        most = MOST_ROWS if rows is None else rows
        return 0.0 if self.is_leaf else most * math.exp(-self.log_parts)


@dataclass(frozen=True, eq=False)
class Tails:
    """Errors, each at most a constant plus a weighted sum of exponentials."""

    known: Floats
    weights: Floats  # a row for each error, in any order, filled up with zeros

    @cached_property
    def slopes(self) -> Floats:
        slopes: Floats = SLOPES / self.weights.max(axis=1, keepdims=True)
        return slopes

    @cached_property
    def _moments(self) -> Floats:
        """ln E exp(slope · sum of all terms but the largest), infinite where there is none."""
        others = np.sort(self.weights, axis=1)[:, :-1, None]
        left = np.maximum(1 - self.slopes[:, None, :] * others, 0.0)
        with np.errstate(divide="ignore"):
            logs: Floats = -np.log(left).sum(axis=1)
        return logs

    def beyond(self, error: float) -> Floats:
        """Upper bounds on the probability that each error exceeds a given one."""
        bounds = self._moments - self.slopes * (error - self.known)[:, None]
        chances: Floats = np.exp(np.minimum(bounds.min(axis=1), 0.0))
        return chances

    def errors(self, failures: Floats | float) -> Floats:
        """Errors that are exceeded with at most these probabilities."""
        needed = np.reshape(-np.log(failures), (-1, 1))
        worst: Floats = ((self._moments + needed) / self.slopes).min(axis=1)
        return self.known + worst


def joint_errors(aims: Sequence[RankTarget], failure: float, rows: float | None) -> list[float]:
    """Errors of all answers, in whole ranks, that hold simultaneously except with this probability.
    Most of it goes to the largest errors, to make them small."""
    left = failure - len(aims) * CAPPED
    tails = _tails(aims, rows)
    errors = np.full(len(aims), math.inf)
    if left > 0:
        largest = _largest(tails, left * (1 - EVEN))
        errors = tails.errors(left * EVEN / len(aims) + tails.beyond(largest)) * ROOM
    if rows is not None:  # no answer is further off than all rows on its larger side
        quantiles = np.array([aim.quantile for aim in sorted(aims, key=lambda aim: aim.at)])
        errors = np.minimum(errors, np.maximum(quantiles, 1 - quantiles) * rows)
    whole: list[float] = np.ceil(errors).tolist()
    return whole


def _tails(aims: Sequence[RankTarget], rows: float | None) -> Tails:
    """The tails of all errors, in the order of the answers."""
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
    """An error, near the least, that all keep except with this probability."""
    low, high = 0.0, float(tails.errors(failure / len(tails.known)).max())
    for _ in range(40):
        middle = (low + high) / 2
        is_kept = tails.beyond(middle).sum() <= failure
        low, high = (low, middle) if is_kept else (middle, high)
    return high
