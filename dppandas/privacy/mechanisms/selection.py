"""Selection of the best of several candidates: permute-and-flip and the exponential mechanism."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...errors import InternalError, QueryError
from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..sampling import samplers
from .base import Mechanism, Sensitivity


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

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε, or where ρ is counted that of any pure ε in each round."""
        epsilon = self.loss(sensitivity.linf, sensitivity.monotone)
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
            chosen.append(left.pop(samplers.permute_and_flip(gaps, self.rate)))
        return chosen

    def dummy_output(self, size: int) -> list[int]:
        return list(range(self.rounds))

    def utility_gap(self, confidence: float, candidates: int) -> int:
        """With this confidence every selected score is at least the best left minus this.

        P[max - score ≥ (ln m + t) / rate] ≤ exp(-t) in a round of m candidates; rounds by the
        union bound.
        """
        t = math.log(self.rounds) - math.log1p(-confidence)
        return math.floor((math.log(candidates) + t) / float(self.rate))


@dataclass(frozen=True)
class Exponential:
    """Selects the index of a large score with probability ∝ exp(rate · score).

    *Guarantee*: each round is ε-DP and ε²/8-zCDP, where ε = 2Δ·rate with Δ the most that one score
    can change, or Δ·rate where adding a unit moves all scores the same way (McSherry and Talwar,
    FOCS 2007; Cesar and Rogers, ALT 2021; proof: docs/proofs/exponential.md). Under ρ it costs
    less than permute-and-flip, whose ρ is ε·tanh(ε/2) a round.

    Selecting k > 1 peels: k rounds, each without the ones already selected.
    """

    rate: Fraction
    rounds: int = 1

    name = "exponential"

    @classmethod
    def calibrate(
        cls, sensitivity: int, epsilon: Fraction, monotone: bool, rounds: int = 1
    ) -> Exponential:
        """The largest rate for a pure ε, all rounds together."""
        if sensitivity <= 0:
            raise InternalError(f"a selection needs a sensitivity above 0, not {sensitivity}.")
        return cls(epsilon / rounds / (sensitivity * (1 if monotone else 2)), rounds)

    @classmethod
    def for_rho(
        cls, sensitivity: int, rho: Fraction, monotone: bool, rounds: int = 1
    ) -> Exponential:
        """The largest rate for a ρ, all rounds together: ε = √(8ρ) a round, rounded down."""
        each = conversions.selection_epsilon_for(rho / rounds)
        return cls.calibrate(sensitivity, each * rounds, monotone, rounds)

    @property
    def scale(self) -> Fraction:
        """1/rate: scores this far below the largest are taken e times less often."""
        return 1 / self.rate

    def loss(self, sensitivity: int, monotone: bool) -> Fraction:
        """The exact pure ε of one release."""
        return self.rate * sensitivity * (1 if monotone else 2) * self.rounds

    def rho(self, sensitivity: int, monotone: bool) -> Fraction:
        """The exact ρ of one release."""
        each = self.loss(sensitivity, monotone) / self.rounds
        return conversions.rho_of_selection(each) * self.rounds

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε, or where ρ is counted ε²/8 a round."""
        if measure is Measure.ZCDP:
            return Loss(rho=Rho(self.rho(sensitivity.linf, sensitivity.monotone)))
        return Loss(Epsilon(self.loss(sensitivity.linf, sensitivity.monotone)))

    def dummy_output(self, size: int) -> list[int]:
        return list(range(self.rounds))

    def release(self, integers: Sequence[int]) -> list[int]:
        """The indices selected, first the first."""
        left = list(range(len(integers)))
        chosen: list[int] = []
        for _ in range(self.rounds):
            weights = selection_weights([int(integers[i]) for i in left], self.rate)
            chosen.append(left.pop(samplers.weighted_choice(weights)))
        return chosen

    def utility_gap(self, confidence: float, candidates: int) -> int:
        """With this confidence every selected score is at least the best left minus this.

        P[max - score ≥ (ln m + t) / rate] ≤ exp(-t) in a round of m candidates; rounds by the
        union bound. The last factor pays for the rounding of rate and weights.
        """
        t = math.log(self.rounds) - math.log1p(-confidence)
        return math.floor((math.log(candidates) + t) / float(self.rate) * (1 + 2.0**-30))


#: Exponents beyond this, plus ln of the number of candidates, count as this: less than e^-80 of
#: all weight is moved, and the least weight keeps 55 digits.
DEEPEST = 80
WEIGHT = decimal.Context(prec=110, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])


def selection_weights(
    scores: Sequence[int], rate: Fraction, counts: Sequence[int] | None = None
) -> list[int]:
    """Integer weights ∝ count · exp(rate · score), of runs of `counts` candidates that tie.

    The exponents are taken at rate · (1 - 2^-40): what is left pays for rounding the weights, whose
    ratios it exceeds by far (docs/proofs/exponential.md). The cap on exponents depends on the
    number of candidates alone.
    """
    total = len(scores) if counts is None else sum(counts)
    deepest = DEEPEST + math.ceil(math.log(total))
    slower, top = rate * (1 - Fraction(1, 2**40)), max(scores)
    weights: dict[int, decimal.Decimal] = {}
    for score in set(scores):
        depth = min(slower * (top - score), Fraction(deepest))
        n, d = decimal.Decimal(depth.numerator), decimal.Decimal(depth.denominator)
        weights[score] = WEIGHT.scaleb(WEIGHT.exp(WEIGHT.divide(n, d).copy_negate()), 90)
    if counts is None:
        return [int(weights[score]) for score in scores]
    return [
        int(WEIGHT.multiply(weights[score], decimal.Decimal(count)))
        for score, count in zip(scores, counts, strict=True)
    ]


#: What selects labels, rather than making numbers private.
Selection = PermuteAndFlip | Exponential


def selecting(asked: LossRequest, sensitivity: Sensitivity, rounds: int) -> Mechanism:
    """The surest selection for what is asked: by permute-and-flip where ε is counted, and where ρ
    is by the exponential mechanism, whose ρ is less."""
    if not sensitivity.linf:
        raise QueryError("with bounds of 0 every score is 0: there is nothing to select.")
    if asked.misnames_noise:
        raise QueryError("a label is selected, not noised: leave mechanism= out.")
    change = sensitivity.linf, sensitivity.monotone
    if asked.rho is not None:
        return Exponential.for_rho(change[0], asked.rho, change[1], rounds)
    epsilon = asked.epsilon or Epsilon(0)
    if asked.measure is Measure.ZCDP:
        return Exponential.calibrate(change[0], epsilon, change[1], rounds)
    return PermuteAndFlip.calibrate(change[0], epsilon, change[1], rounds)
