"""What turns integers into a private answer.

Each mechanism is calibrated from a sensitivity and a privacy loss, both exact, states the loss it
really has, and knows its accuracy from public facts alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from . import conversions, sampling
from .accounting import Asked, Measure
from .budget import Epsilon, Loss, Rho
from .errors import InternalError, QueryError


@dataclass(frozen=True)
class Sensitivity:
    """The most that one unit, added or removed, moves a vector of integers: in ℓ1, in ℓ2 (its
    square) and in ℓ∞; and whether all of them the same way."""

    l1: int
    l2squared: int
    linf: int
    monotone: bool


class Mechanism(Protocol):
    """Turns what is exact into what may be told."""

    @property
    def name(self) -> str:
        """What the ledger calls it."""
        ...

    @property
    def scale(self) -> Fraction:
        """The width of its noise, for people."""
        ...

    def release(self, exact: Any) -> list[int]:
        """Something private made of something exact."""
        ...

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """The exact loss of one release, in the measure of a session."""
        ...

    def blank(self, size: int) -> list[int]:
        """What `release` could give, and made of nothing: for audits, which show nothing exact."""
        ...


@dataclass(frozen=True)
class DiscreteLaplace:
    """Adds independent integers Z, P[Z = z] = (1-a)/(1+a) a^|z|, a = exp(-1/scale), to each entry.

    *Guarantee*: pure ε = sensitivity / scale for a vector of integers of that ℓ1 sensitivity
    (Ghosh, Roughgarden and Sundararajan, STOC 2009; proof: docs/proofs/discrete_laplace.md).

    >>> DiscreteLaplace.calibrate(1, Fraction(1, 10)).half_width(0.95)
    30
    """

    scale: Fraction

    name = "discrete Laplace"

    @classmethod
    def calibrate(cls, sensitivity: int, epsilon: Fraction) -> DiscreteLaplace:
        """The least noise for an ℓ1 sensitivity; none for one of 0."""
        return cls(Fraction(sensitivity) / epsilon)

    def loss(self, sensitivity: int) -> Fraction:
        """The exact ε of one release; integers that can't differ cost nothing."""
        return Fraction(sensitivity) / self.scale if sensitivity else Fraction(0)

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε, or where ρ is counted its own tight one (docs/proofs/discrete_laplace.md)."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.loss(moved.l1)))
        return Loss(rho=Rho(conversions.rho_of_laplace(moved.l1, self.scale) if moved.l1 else 0))

    def release(self, integers: Sequence[int]) -> list[int]:
        """The integers, each with its own noise."""
        if not self.scale:
            return list(integers)
        noise = sampling.discrete_laplace_vector(self.scale, len(integers)).tolist()
        return list(map(operator.add, integers, noise))

    def blank(self, size: int) -> list[int]:
        return [0] * size

    def half_width(self, confidence: float, entries: int = 1) -> int:
        """The least w with P[all of `entries` noises within ±w] ≥ confidence.

        P[|Z| > w] = 2 a^(w+1) / (1+a), and the noises are independent.
        """
        if not self.scale:
            return 0
        rate = 1 / float(self.scale)
        beta = -math.expm1(math.log(confidence) / entries)
        log_tail = math.log(2) - math.log1p(math.exp(-rate))

        def enough(w: int) -> bool:
            return log_tail - rate * (w + 1) <= math.log(beta)

        w = max(0, math.ceil((log_tail - math.log(beta)) / rate - 1))
        step = max(1, w >> 45)  # a float has no finer steps for much wider ones
        while w > 0 and enough(w - step):
            w -= step
        while not enough(w):
            w += step
        return w


@dataclass(frozen=True)
class PermuteAndFlip:
    """Selects the index of a large score, without telling any score.

    *Guarantee*: pure ε. Candidate i is taken with probability exp(-rate · (max - score[i])). With
    Δ the most that one score can change, rate = ε/(2Δ), or ε/Δ where adding a unit moves all
    scores the same way (McKenna and Sheldon, "Permute-and-Flip", NeurIPS 2020, Theorem 1 and its
    monotone case; proof: docs/proofs/permute_and_flip.md).

    Selecting k > 1 peels: k times with ε/k, without the ones already selected.
    """

    rate: Fraction
    rounds: int = 1

    name = "permute-and-flip"

    @classmethod
    def calibrate(
        cls, sensitivity: int, epsilon: Fraction, monotone: bool, rounds: int = 1
    ) -> PermuteAndFlip:
        if sensitivity <= 0:
            raise InternalError(f"a selection needs a sensitivity above 0, not {sensitivity}.")
        return cls(epsilon / rounds / (sensitivity * (1 if monotone else 2)), rounds)

    @property
    def scale(self) -> Fraction:
        """1/rate: scores this far below the largest are taken e times less often."""
        return 1 / self.rate

    def loss(self, sensitivity: int, monotone: bool) -> Fraction:
        """The exact ε of one release."""
        return self.rate * sensitivity * (1 if monotone else 2) * self.rounds

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε, or where ρ is counted that of any pure ε in each round."""
        epsilon = self.loss(moved.linf, moved.monotone)
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(epsilon))
        return Loss(rho=Rho(self.rounds * conversions.rho_of_pure(epsilon / self.rounds)))

    def release(self, integers: Sequence[int]) -> list[int]:
        """The indices selected, first the first."""
        left = list(range(len(integers)))
        chosen: list[int] = []
        for _ in range(self.rounds):
            scores = [int(integers[i]) for i in left]
            top = max(scores)
            gaps = [top - score for score in scores]
            chosen.append(left.pop(sampling.permute_and_flip(gaps, self.rate)))
        return chosen

    def blank(self, size: int) -> list[int]:
        return list(range(self.rounds))

    def gap(self, confidence: float, candidates: int) -> int:
        """With this confidence every selected score is at least the best left minus this.

        P[max - score ≥ (ln m + t) / rate] ≤ exp(-t) in a round of m candidates; rounds by the
        union bound.
        """
        t = math.log(self.rounds) - math.log1p(-confidence)
        return math.floor((math.log(candidates) + t) / float(self.rate))


def additive(asked: Asked, moved: Sensitivity) -> Mechanism:
    """The least noise for numbers, of the kind that is asked for."""
    if asked.noise == "laplace" and asked.epsilon is not None:
        return DiscreteLaplace.calibrate(moved.l1, asked.epsilon)
    raise QueryError("rho= is for Gaussian noise.")


def selecting(asked: Asked, moved: Sensitivity, rounds: int) -> PermuteAndFlip:
    """The surest selection for what is asked."""
    if not moved.linf:
        raise QueryError("with bounds of 0 every score is 0: there is nothing to select.")
    if asked.epsilon is None:
        raise QueryError("a selection needs epsilon=.")
    return PermuteAndFlip.calibrate(moved.linf, asked.epsilon, moved.monotone, rounds)
