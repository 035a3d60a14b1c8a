"""Private selection of the best candidates: permute-and-flip and the exponential mechanism."""

from __future__ import annotations

import decimal
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Self

from ...dataclasses import dataclass
from ...errors import InternalError, QueryError
from ..accounting import conversions
from ..accounting.losses import Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from ..sampling import samplers
from .base import Mechanism, Sensitivity


@dataclass(frozen=True)
class _Peeling:
    """Selects k > 1 candidates in k rounds, each without the ones already selected.

    Each round selects by exp(rate · score) and is ε-DP with ε = 2Δ·rate, where Δ is the most that a
    unit changes one score; or Δ·rate where it moves all scores the same way.
    """

    rate: Fraction
    rounds: int = 1

    @classmethod
    def calibrate(
        cls, sensitivity: int, epsilon: Fraction, monotone: bool, rounds: int = 1
    ) -> Self:
        """The largest rate for a pure ε of all rounds together."""
        if sensitivity <= 0:
            raise InternalError(f"a selection needs a sensitivity above 0, not {sensitivity}.")
        return cls(epsilon / rounds / (sensitivity * (1 if monotone else 2)), rounds)

    @property
    def scale(self) -> Fraction:
        """1/rate: scores this far below the largest are selected e times less often."""
        return 1 / self.rate

    def loss(self, sensitivity: int, monotone: bool) -> Fraction:
        """The exact pure ε of one release."""
        return self.rate * sensitivity * (1 if monotone else 2) * self.rounds

    def rho(self, sensitivity: int, monotone: bool) -> Fraction:
        """The ρ of one release, rounded up where it is irrational."""
        return self.rounds * self._rho_of_round(self.loss(sensitivity, monotone) / self.rounds)

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        change = sensitivity.linf, sensitivity.monotone
        if measure is Measure.ZCDP:
            return Loss(rho=Rho(self.rho(*change)))
        return Loss(Epsilon(self.loss(*change)))

    def release(self, integers: Sequence[int]) -> list[int]:
        """The indices selected, in the order of rounds."""
        left = list(range(len(integers)))
        return [
            left.pop(self._selected([int(integers[i]) for i in left])) for _ in range(self.rounds)
        ]

    def dummy_output(self, size: int) -> list[int]:
        return list(range(self.rounds))

    def utility_gap(self, confidence: float, candidates: int) -> int:
        """With this confidence every selected score is at least the best one left minus this.

        P[max - score ≥ (ln m + t) / rate] ≤ exp(-t) in a round of m candidates; rounds by the
        union bound. `_ROUNDING` pays for rounded weights.
        """
        t = math.log(self.rounds) - math.log1p(-confidence)
        return math.floor((math.log(candidates) + t) / float(self.rate) * self._ROUNDING)

    _ROUNDING: ClassVar[float] = 1.0

    def _rho_of_round(self, epsilon: Fraction) -> Fraction:
        raise NotImplementedError

    def _selected(self, scores: Sequence[int]) -> int:
        """The index that one round selects."""
        raise NotImplementedError


class PermuteAndFlip(_Peeling, RecordPart):
    """Selects the index of a large score, without releasing any score.

    *Guarantee*: pure ε. Candidate i is taken with probability exp(-rate · (max - score[i])). With Δ
    the most that a unit changes one score, rate = ε/(2Δ), or ε/Δ where a unit moves all scores the
    same way (McKenna and Sheldon, "Permute-and-Flip", NeurIPS 2020, Theorem 1 and its monotone
    case; proof: docs/proofs/permute_and_flip.md). Where ρ is counted, each round is charged the ρ
    of any mechanism of its pure ε.
    """

    name, word = "permute-and-flip", "permute_and_flip"

    def _rho_of_round(self, epsilon: Fraction) -> Fraction:
        return conversions.rho_of_pure(epsilon)

    def _selected(self, scores: Sequence[int]) -> int:
        top = max(scores)
        return samplers.permute_and_flip([top - score for score in scores], self.rate)


class Exponential(_Peeling, RecordPart):
    """Selects the index of a large score with probability ∝ exp(rate · score).

    *Guarantee*: each round is ε-DP and ε²/8-zCDP, where ε = 2Δ·rate with Δ the most that a unit
    changes one score, or Δ·rate where it moves all scores the same way (McSherry and Talwar, FOCS
    2007; Cesar and Rogers, ALT 2021; proof: docs/proofs/exponential.md). Where ρ is counted it
    costs less than permute-and-flip, whose ρ is ε·tanh(ε/2) a round.
    """

    name = word = "exponential"
    _ROUNDING = 1 + 2.0**-30

    @classmethod
    def for_rho(
        cls, sensitivity: int, rho: Fraction, monotone: bool, rounds: int = 1
    ) -> Exponential:
        """The largest rate for a ρ of all rounds together: ε = √(8ρ) a round, rounded down."""
        each = conversions.selection_epsilon_for(rho / rounds)
        return cls.calibrate(sensitivity, each * rounds, monotone, rounds)

    def _rho_of_round(self, epsilon: Fraction) -> Fraction:
        return conversions.rho_of_selection(epsilon)

    def _selected(self, scores: Sequence[int]) -> int:
        return samplers.weighted_choice(selection_weights(scores, self.rate))


@dataclass(frozen=True)
class ExponentialWithPrior(Exponential):
    """Selects the index of one score with probability ∝ prior · exp(rate · score).

    prior : public whole numbers above 0, of which none is more than `MOST_UNEVEN` times another.

    *Guarantee*: as `Exponential`'s, for the prior is the same whatever the rows are (McSherry and
    Talwar, FOCS 2007, Definition 2, where it is the measure μ; proof: docs/proofs/exponential.md).
    """

    prior: tuple[int, ...] = ()

    name = "exponential, with a prior"

    def utility_gap(self, confidence: float, candidates: int) -> int:
        """With this confidence the selected score is at least the best minus this, whichever is the
        best: P[max - score ≥ t/rate] ≤ exp(-t)/P, where P is the prior of the best."""
        t = math.log(sum(self.prior)) - math.log(min(self.prior)) - math.log1p(-confidence)
        return math.floor(t / float(self.rate) * self._ROUNDING)

    def _selected(self, scores: Sequence[int]) -> int:
        uneven = math.ceil(math.log(max(self.prior)) - math.log(min(self.prior)))
        weights = selection_weights(scores, self.rate, uneven)
        weighed = [part * weight for part, weight in zip(self.prior, weights, strict=True)]
        return samplers.weighted_choice(weighed)


#: The most that one candidate's prior may be of another's: weights keep 28 digits then.
MOST_UNEVEN = 10**20
#: Exponents are capped at this plus ln of the number of candidates. The cap moves less than e^-80
#: of all weight, and leaves the least weight 55 digits.
DEEPEST = 80
WEIGHT = decimal.Context(prec=110, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[])


def selection_weights(scores: Sequence[int], rate: Fraction, deeper: int = 0) -> list[int]:
    """Integer weights ∝ exp(rate · score).

    Exponents use rate · (1 - 2^-40). The rest of the rate pays for rounding the weights, many times
    over (docs/proofs/exponential.md). Their cap depends on the number of candidates only, and on
    how uneven a prior is: ``deeper``.
    """
    deepest = DEEPEST + math.ceil(math.log(len(scores))) + deeper
    slower, top = rate * (1 - Fraction(1, 2**40)), max(scores)
    weights: dict[int, int] = {}
    for score in set(scores):
        depth = min(slower * (top - score), Fraction(deepest))
        n, d = decimal.Decimal(depth.numerator), decimal.Decimal(depth.denominator)
        weights[score] = int(WEIGHT.scaleb(WEIGHT.exp(WEIGHT.divide(n, d).copy_negate()), 90))
    return [weights[score] for score in scores]


#: The mechanisms that select labels rather than add noise to numbers.
Selection = PermuteAndFlip | Exponential


def selecting(asked: LossRequest, sensitivity: Sensitivity, rounds: int) -> Mechanism:
    """The most accurate selection for a loss: permute-and-flip where ε is counted, and where ρ is
    counted the exponential mechanism, whose ρ is smaller."""
    if not sensitivity.linf:
        raise QueryError("with bounds of 0 every score is 0: nothing to select. Give wider bounds.")
    linf, monotone = sensitivity.linf, sensitivity.monotone
    if asked.rho is not None:
        return Exponential.for_rho(linf, asked.rho, monotone, rounds)
    kind = Exponential if asked.measure is Measure.ZCDP else PermuteAndFlip
    return kind.calibrate(linf, asked.epsilon or Epsilon(0), monotone, rounds)
