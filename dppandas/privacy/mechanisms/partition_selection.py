"""Which labels may be released, by their counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...errors import QueryError
from ..accounting import conversions
from ..accounting.enclosures import Interval, contexts, exp_interval
from ..accounting.losses import Delta, Epsilon, Loss, Rho
from ..accounting.measures import Measure
from ..sampling import entropy, samplers
from .base import Sensitivity
from .thresholds import Found, _ln

# --- labels alone ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartitionSelection:
    """Tells a label that n units have with probability π(n), and no count.

    π is the largest that (epsilon, delta) of one label allows; a unit has at most `keys` labels,
    and the losses of these add up.

    *Guarantee*: (keys · epsilon, keys · delta) (Desfontaines, Voss, Gipson and Mandayam,
    "Differentially private partition selection", PoPETs 2022, Theorem 1;
    docs/proofs/partition_selection.md).
    """

    epsilon: Fraction  # of one label
    delta: Fraction
    keys: int

    name = "partition selection"

    @classmethod
    def calibrate(cls, keys: int, epsilon: Fraction, delta: Fraction) -> PartitionSelection:
        return cls(epsilon / keys, delta / keys, keys)

    @property
    def scale(self) -> Fraction:
        """1/ε of one label."""
        return 1 / self.epsilon

    def release(self, exact: Found) -> list[Any]:
        """The labels told, in the order given."""
        curve = Curve.of(self.epsilon, self.delta)
        return [(label, (1,)) for label, (units, *_) in exact.values() if curve.tells(units)]

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε and δ; where ρ is counted, that of a pure ε for each label, beside δ: two laws that are
        (ε, δ)-close are ε-close but for parts of mass δ."""
        delta = Delta(self.keys * self.delta)
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.keys * self.epsilon), delta)
        return Loss(rho=Rho(self.keys * conversions.rho_of_pure(self.epsilon)), delta=delta)

    def dummy_output(self, size: int) -> list[Any]:
        return []

    def released_from(self, confidence: float) -> int:
        """From how many units on a label is told with this probability, or more."""
        return Curve.of(self.epsilon, self.delta).released_from(confidence)


class Curve:
    """π(n), the probability of telling a label that n units have; see `PartitionSelection`.

    The largest with π(0) = 0, π(n+1) ≤ e^ε π(n) + δ and 1-π(n) ≤ e^ε (1-π(n+1)) + δ. In closed
    form, with E = e^ε: δ(E^n-1)/(E-1) up to n₁; from there, with m = n-n₁,
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
        """The curve of one label's loss."""
        return Curve(epsilon, delta)

    def tells(self, units: int, bits: entropy.Bits = entropy.SYSTEM) -> bool:
        """True with probability π(units), exactly."""
        if not 0 < units <= self.last:
            return units > 0
        return samplers.bernoulli_of(lambda digits: self._known(units, digits), bits)

    def value(self, units: int) -> float:
        """π, for people."""
        if not 0 < units <= self.last:
            return float(units > 0)
        return float(self._known(units, 40)[0])

    def released_from(self, confidence: float) -> int:
        """The least n with π(n) ≥ confidence, by a lower end of π."""
        low, high, enough = 0, self.last + 1, Decimal(confidence)
        while high - low > 1:
            middle = (low + high) // 2
            is_sure = self._known(middle, 40)[0] >= enough
            low, high = (low, middle) if is_sure else (middle, high)
        return high

    def _around(self, units: int, digits: int) -> Interval:
        more = digits + self._lost
        if units <= self.first:
            part = _DecimalInterval.of(self._delta, more) * (self._power(units, more) - 1)
            return (part / (self._power(1, more) - 1)).ends
        fall = _DecimalInterval(exp_interval((units - self.first) * self._epsilon, more), more)
        top = _DecimalInterval.of(self._delta, more) / (self._power(1, more) - 1) + 1
        low, high = ((1 - fall) * top + fall * self._at_first(more)).ends
        return max(low, Decimal(0)), min(high, Decimal(1))

    @property
    def _lost(self) -> int:
        """Digits that E - 1 and δ cost."""
        return 20 + 2 * len(str(self._epsilon.denominator)) + len(str(self._delta.denominator))

    def _at_first(self, digits: int) -> _DecimalInterval:
        return _DecimalInterval(self._around(self.first, digits), digits)

    def _power(self, n: int, digits: int) -> _DecimalInterval:
        """E^n."""
        return 1 / _DecimalInterval(exp_interval(n * self._epsilon, digits), digits)

    def _ratio_first(self, digits: int) -> _DecimalInterval:
        e, delta = self._power(1, digits), _DecimalInterval.of(self._delta, digits)
        return (e + 2 * delta - 1) / (delta * (e + 1))

    def _ratio_last(self, digits: int) -> _DecimalInterval:
        rest = 1 - self._at_first(digits)
        return (self._power(1, digits) - 1) * rest / _DecimalInterval.of(self._delta, digits) + 1

    def _floor(self, ratio: Callable[[int], _DecimalInterval]) -> int:
        """⌊ln(ratio)/ε⌋, which is never whole: E is transcendental."""
        digits = 40 + self._lost
        while True:
            down, up = contexts(digits)
            low, high = ratio(digits).ends
            n, d = self._epsilon.numerator, self._epsilon.denominator
            below = down.divide(down.multiply(_ln(low, digits)[0], d), n)
            above = up.divide(up.multiply(_ln(high, digits)[1], d), n)
            if math.floor(below) == math.floor(above):
                return math.floor(below)
            digits *= 2


@dataclass(frozen=True)
class _DecimalInterval:
    """A positive number between two decimals; arithmetic rounds outwards."""

    ends: Interval
    digits: int

    @classmethod
    def of(cls, value: Fraction | int, digits: int) -> _DecimalInterval:
        down, up = contexts(digits)
        n, d = Decimal(value.numerator), Decimal(value.denominator)
        return cls((down.divide(n, d), up.divide(n, d)), digits)

    def _with(
        self, other: _DecimalInterval | int, operation: str, crossed: bool = False
    ) -> _DecimalInterval:
        """An operation on both ends; crossed, each with the other end of the other."""
        operand = (
            other
            if isinstance(other, _DecimalInterval)
            else _DecimalInterval.of(other, self.digits)
        )
        (a, b), (c, d) = self.ends, operand.ends
        if crossed:
            c, d = d, c
        down, up = contexts(self.digits)
        return _DecimalInterval(
            (getattr(down, operation)(a, c), getattr(up, operation)(b, d)), self.digits
        )

    def __add__(self, other: _DecimalInterval | int) -> _DecimalInterval:
        return self._with(other, "add")

    def __sub__(self, other: _DecimalInterval | int) -> _DecimalInterval:
        return self._with(other, "subtract", crossed=True)

    def __rsub__(self, other: int) -> _DecimalInterval:
        return _DecimalInterval.of(other, self.digits) - self

    def __mul__(self, other: _DecimalInterval | int) -> _DecimalInterval:
        return self._with(other, "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other: _DecimalInterval | int) -> _DecimalInterval:
        return self._with(other, "divide", crossed=True)

    def __rtruediv__(self, other: int) -> _DecimalInterval:
        return _DecimalInterval.of(other, self.digits) / self
