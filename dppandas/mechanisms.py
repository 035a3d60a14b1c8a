"""What turns integers into a private answer.

Each mechanism is calibrated from a sensitivity and a privacy loss, both exact, states the loss it
really has, and knows its accuracy from public facts alone.
"""

from __future__ import annotations

import decimal
import math
import operator
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from . import conversions, sampling
from .accounting import Asked, Measure
from .budget import Delta, Epsilon, Loss, Rho
from .errors import InternalError, QueryError
from .intervals import DIGITS, Enclosure


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
        """ε, or where ρ is counted its own tight one, of fine integers that of less fine ones
        (docs/proofs/discrete_laplace.md)."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.loss(moved.l1)))
        if moved.l1 > conversions.FINE:
            return Loss(rho=Rho(conversions.rho_of_fine_laplace(self.loss(moved.l1))))
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

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        """A w with P[the sum of so many noises is beyond ±w] ≤ risk, of Chernoff's bound.

        ln E[exp(tZ)] = 2 ln(1-a) - ln(1-a e^t) - ln(1-a e^-t) for 0 < t < 1/scale, and every such
        t gives a bound: P[|sum| ≥ m] ≤ 2 exp(terms · ln E - tm).
        """
        if not self.scale:
            return 0
        rate = 1 / float(self.scale)
        best = math.inf
        for power in range(1, 240):
            t = rate * (1 - 0.5**8) * 0.93**power
            log_moment = 2 * math.log(-math.expm1(-rate))
            log_moment -= math.log(-math.expm1(t - rate)) + math.log(-math.expm1(-t - rate))
            best = min(best, (terms * log_moment + math.log(2 / risk)) / t)
        return math.ceil(best * (1 + 2.0**-30)) - 1


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


@dataclass(frozen=True)
class DiscreteGaussian:
    """Adds independent integers Z, P[Z = z] ∝ exp(-z²/(2σ²)), to each entry.

    *Guarantee*: ρ-zCDP with ρ = s/(2σ²) for a vector of integers whose squared ℓ2 sensitivity is
    s (Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020,
    Theorem 14; proof: docs/proofs/discrete_gaussian.md).

    >>> DiscreteGaussian.calibrate(1, Fraction(1, 200)).half_width(0.95)
    20
    """

    sigma2: Fraction
    epsilon: Fraction = Fraction(0)  # at which its δ is told, where (ε, δ) is counted
    alone: bool = False  # whether neighbours differ in one number only

    name = "discrete Gaussian"

    @classmethod
    def calibrate(cls, sensitivity2: Fraction | int, rho: Fraction) -> DiscreteGaussian:
        """The least noise for a squared ℓ2 sensitivity; none for one of 0."""
        return cls(conversions.gaussian_sigma2(rho, sensitivity2))

    @classmethod
    def for_approximate(
        cls,
        sensitivity2: Fraction | int,
        epsilon: Fraction,
        delta: Fraction,
        one_dimensional: bool = False,
    ) -> DiscreteGaussian:
        """The least noise proven to be (ε, δ)-DP: see `conversions.gaussian_sigma2_for`."""
        found = conversions.gaussian_sigma2_for(epsilon, delta, sensitivity2, one_dimensional)
        return cls(found, epsilon, one_dimensional)

    @property
    def scale(self) -> Fraction:
        """σ, to look at: nothing is computed from it."""
        return Fraction(math.sqrt(self.sigma2))

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ρ; or the δ that is proven at its ε."""
        if measure is Measure.ZCDP:
            return Loss(rho=Rho(self.rho(moved.l2squared)))
        if not self.sigma2:
            return Loss()
        delta = conversions.delta_of_gaussian(
            self.sigma2, moved.l2squared, self.epsilon, self.alone
        )
        return Loss(Epsilon(self.epsilon), Delta(delta))

    def blank(self, size: int) -> list[int]:
        return [0] * size

    def rho(self, sensitivity2: Fraction | int) -> Fraction:
        """The exact ρ of one release; integers that can't differ cost nothing."""
        return conversions.gaussian_rho(self.sigma2, sensitivity2)

    def release(self, integers: Sequence[int]) -> list[int]:
        """The integers, each with its own noise."""
        if not self.sigma2:
            return list(integers)
        noise = sampling.discrete_gaussian_vector(self.sigma2, len(integers)).tolist()
        return list(map(operator.add, integers, noise))

    def half_width(self, confidence: float, entries: int = 1) -> int:
        """The least w for which P[all of `entries` noises within ±w] ≥ confidence is proven.

        P[|Z| > w] = 2 P[Z ≥ w+1], enclosed by decimals, and the noises are independent.
        """
        return _gaussian_half_width(self.sigma2, confidence, entries) if self.sigma2 else 0

    def half_width_of_sum(self, risk: float, terms: int) -> int:
        """A w with P[the sum of so many noises is beyond ±w] ≤ risk, of Chernoff's bound.

        E[exp(tZ)] ≤ exp(t²σ²/2), so that P[|sum| ≥ m] ≤ 2 exp(-m²/(2σ² · terms)).
        """
        least = math.sqrt(self.sigma2 * 2 * terms) * math.sqrt(math.log(2 / risk))
        return max(0, math.ceil(least * (1 + 2.0**-30)) - 1)


@lru_cache(maxsize=4096)
def _gaussian_half_width(sigma2: Fraction, confidence: float, entries: int) -> int:
    digits = conversions.LARGE_DIGITS if sigma2 > conversions.SUMMED else DIGITS
    log = Enclosure.of(Fraction(confidence), digits).ln() / entries
    beta = (-log.exp() + 1).low

    def enough(w: int) -> bool:
        return (conversions.discrete_gaussian_tail(sigma2, w + 1, digits) * 2).high <= beta

    # The normal law says where to look: w + 1/2 is about so many σ.
    guess = -statistics.NormalDist().inv_cdf(max(float(beta), 1e-300) / 2) * math.sqrt(sigma2)
    high, step = max(0, round(guess - 0.5)), 1
    low = high - 1
    while not enough(high):
        low, high, step = high, high + step, step * 2
    step = 1
    while low >= 0 and enough(low):
        low, high, step = max(-1, low - step), low, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


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

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε, or where ρ is counted ε²/8 a round."""
        if measure is Measure.ZCDP:
            return Loss(rho=Rho(self.rho(moved.linf, moved.monotone)))
        return Loss(Epsilon(self.loss(moved.linf, moved.monotone)))

    def blank(self, size: int) -> list[int]:
        return list(range(self.rounds))

    def release(self, integers: Sequence[int]) -> list[int]:
        """The indices selected, first the first."""
        left = list(range(len(integers)))
        chosen: list[int] = []
        for _ in range(self.rounds):
            weights = selection_weights([int(integers[i]) for i in left], self.rate)
            chosen.append(left.pop(sampling.weighted_choice(weights)))
        return chosen

    def gap(self, confidence: float, candidates: int) -> int:
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


def additive(asked: Asked, moved: Sensitivity, alone: bool) -> Mechanism:
    """The least noise for numbers, of the kind that is asked for; ``alone``: for one number."""
    if asked.noise == "laplace":
        if asked.epsilon is None:
            raise QueryError(
                "rho= is for Gaussian noise: leave mechanism= out, or give epsilon= for Laplace "
                "noise, which is charged its own ρ. Nothing was computed or charged."
            )
        return DiscreteLaplace.calibrate(moved.l1, asked.epsilon)
    if asked.rho is not None:
        return DiscreteGaussian.calibrate(moved.l2squared, asked.rho)
    epsilon = asked.epsilon or Epsilon(0)
    return DiscreteGaussian.for_approximate(moved.l2squared, epsilon, asked.delta, alone)


def selecting(asked: Asked, moved: Sensitivity, rounds: int) -> Mechanism:
    """The surest selection for what is asked: by permute-and-flip where ε is counted, and where ρ
    is by the exponential mechanism, whose ρ is less."""
    if not moved.linf:
        raise QueryError("with bounds of 0 every score is 0: there is nothing to select.")
    if asked.misnames_noise:
        raise QueryError(
            "a label is selected, not noised: leave mechanism= out. Nothing was charged."
        )
    change = moved.linf, moved.monotone
    if asked.rho is not None:
        return Exponential.for_rho(change[0], asked.rho, change[1], rounds)
    epsilon = asked.epsilon or Epsilon(0)
    if asked.measure is Measure.ZCDP:
        return Exponential.calibrate(change[0], epsilon, change[1], rounds)
    return PermuteAndFlip.calibrate(change[0], epsilon, change[1], rounds)
