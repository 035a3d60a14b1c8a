"""Partition selection: which labels may be released, without their counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...dataclasses import dataclass
from ...errors import QueryError
from ..accounting import conversions
from ..accounting.enclosures import Enclosure, Interval
from ..accounting.losses import Delta, Epsilon, Loss, Rho
from ..accounting.measures import Measure
from ..record_parts import RecordPart
from ..sampling import entropy, samplers
from .base import Sensitivity
from .thresholds import Found


@dataclass(frozen=True)
class PartitionSelection(RecordPart):
    """Releases a label that n units have with probability π(n), without a count.

    π is the largest probability that (epsilon, delta) for one label allows. A unit has at most
    `keys` labels, and their losses add up.

    *Guarantee*: (keys · epsilon, keys · delta) (Desfontaines, Voss, Gipson and Mandayam,
    "Differentially private partition selection", PoPETs 2022, Theorem 1;
    docs/proofs/partition_selection.md).
    """

    epsilon: Fraction  # of one label
    delta: Fraction
    keys: int

    name, word = "partition selection", ""

    @classmethod
    def calibrate(cls, keys: int, epsilon: Fraction, delta: Fraction) -> PartitionSelection:
        return cls(epsilon / keys, delta / keys, keys)

    @property
    def scale(self) -> Fraction:
        """1/ε of one label."""
        return 1 / self.epsilon

    def release(self, exact: Found) -> list[Any]:
        """The released labels, in the order given."""
        curve = Curve.of(self.epsilon, self.delta)
        units = exact.integers[:, 0].tolist()
        places = [place for place, number in enumerate(units) if curve.tells(number)]
        return [(label, (1,)) for label in exact.labels(places)]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε and δ; where ρ is counted, δ and for each label the ρ of a pure ε: two laws that are
        (ε, δ)-close are ε-close outside a set of mass δ."""
        delta = Delta(self.keys * self.delta)
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.keys * self.epsilon), delta)
        return Loss(rho=Rho(self.keys * conversions.rho_of_pure(self.epsilon)), delta=delta)

    def dummy_output(self, size: int) -> list[Any]:
        return []

    def released_from(self, confidence: float) -> int:
        """The least number of units at which a label is released with this probability."""
        return Curve.of(self.epsilon, self.delta).released_from(confidence)


class Curve:
    """π(n), the probability of releasing a label that n units have; see `PartitionSelection`.

    It is the largest with π(0) = 0, π(n+1) ≤ e^ε π(n) + δ and 1-π(n) ≤ e^ε (1-π(n+1)) + δ. In
    closed form, with E = e^ε: δ(E^n-1)/(E-1) up to n₁; from there, with m = n-n₁,
    (1-E^-m)(1+δ/(E-1)) + E^-m π(n₁) up to n₂; then 1.

    >>> curve = Curve.of(Fraction(1), Fraction("1e-5"))
    >>> [n for n in range(30) if curve.value(n) < 0.5][-1]
    11
    """

    def __init__(self, epsilon: Fraction, delta: Fraction) -> None:
        if not 0 < delta < Fraction(1, 4):
            raise QueryError(f"delta={delta} must lie between 0 and 1/4.")
        self._epsilon = epsilon
        self._delta = delta
        self.first = 1 + self._floor(self._ratio_first)
        self.last = self.first + self._floor(self._ratio_last)
        self._known = lru_cache(maxsize=4096)(self._around)

    @staticmethod
    @lru_cache(maxsize=64)
    def of(epsilon: Fraction, delta: Fraction) -> Curve:
        """The curve for this loss of one label, cached."""
        return Curve(epsilon, delta)

    def tells(self, units: int, bits: entropy.Bits = entropy.SYSTEM) -> bool:
        """True with probability π(units), exactly."""
        if not 0 < units <= self.last:
            return units > 0
        return samplers.bernoulli_of(lambda digits: self._known(units, digits), bits)

    def value(self, units: int) -> float:
        """π to float precision, for display."""
        if not 0 < units <= self.last:
            return float(units > 0)
        return float(self._known(units, 40)[0])

    def released_from(self, confidence: float) -> int:
        """The least n for which π(n) ≥ confidence is proven."""
        enough = Decimal(confidence)
        return conversions.least_from(0, lambda n: n > self.last or self._known(n, 40)[0] >= enough)

    def _around(self, units: int, digits: int) -> Interval:
        more = digits + self._lost
        if units <= self.first:
            return ((self._power(units, more) - 1) * self._delta / (self._power(1, more) - 1)).ends
        fall = Enclosure.of((self.first - units) * self._epsilon, more).exp()
        top = Enclosure.of(self._delta, more) / (self._power(1, more) - 1) + 1
        low, high = ((-fall + 1) * top + fall * self._at_first(more)).ends
        return max(low, Decimal(0)), min(high, Decimal(1))

    @property
    def _lost(self) -> int:
        """Digits that E - 1 and δ cost."""
        return 20 + 2 * len(str(self._epsilon.denominator)) + len(str(self._delta.denominator))

    def _at_first(self, digits: int) -> Enclosure:
        return Enclosure(*self._around(self.first, digits), digits)

    def _power(self, n: int, digits: int) -> Enclosure:
        """E^n."""
        return Enclosure.of(n * self._epsilon, digits).exp()

    def _ratio_first(self, digits: int) -> Enclosure:
        e = self._power(1, digits)
        return (e + 2 * self._delta - 1) / ((e + 1) * self._delta)

    def _ratio_last(self, digits: int) -> Enclosure:
        rest = -self._at_first(digits) + 1
        return (self._power(1, digits) - 1) * rest / self._delta + 1

    def _floor(self, ratio: Callable[[int], Enclosure]) -> int:
        """⌊ln(ratio)/ε⌋. The quotient is never whole, for E is transcendental: digits decide."""
        digits = 40 + self._lost
        while True:
            below, above = map(math.floor, (ratio(digits).ln() / self._epsilon).ends)
            if below == above:
                return below
            digits *= 2
