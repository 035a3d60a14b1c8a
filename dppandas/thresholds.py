"""Which labels that nobody declared may be told, under a δ.

That a label occurs at all may be known from one person's rows. So it is told only where that
person's rows alone would bring it over the threshold with a probability of at most δ. All bounds
here are decided by decimals with proven error, never by floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from . import conversions, sampling
from .accounting import NOTHING, Asked, Measure
from .budget import Delta, Epsilon, Loss, Rho
from .conditional import Passed
from .errors import MissingArgument, QueryError
from .intervals import Interval, contexts, exp_interval
from .mechanisms import DiscreteLaplace, Sensitivity

#: What is exact of a label: its parts, one for each column, and integers; by the label's name, in
#: an order that follows from the labels: never in that of the rows.
Found = Mapping[str, tuple[tuple[Any, ...], tuple[int, ...]]]
#: What is told of a label.
Told = tuple[tuple[Any, ...], tuple[int, ...]]


def loss_asked(
    asked: Asked, what: str = "keys that nobody declared", found: str = "are found"
) -> tuple[Fraction, Delta]:
    """The ε and δ of a release that finds labels, or tests a value."""
    if asked.epsilon is None or asked.noise != "laplace":
        raise QueryError(
            f"{what} {found} by Laplace noise: give epsilon= and delta=, "
            f"without rho= or mechanism=. {NOTHING}"
        )
    if not asked.delta:
        raise MissingArgument(f"delta= is needed for {what}: delta=1e-6. {NOTHING}")
    return asked.epsilon, asked.delta


# --- counts above a threshold ---------------------------------------------------------------------


@dataclass(frozen=True)
class Threshold:
    """Adds discrete Laplace noise to the count of each label that occurs, and tells label and
    noisy count where the latter is at least `least`.

    *Guarantee*: (ε, δ) with ε = rows / scale for a unit of so many rows, and the δ for which
    `least` was chosen (docs/proofs/thresholds.md).

    >>> Threshold.calibrate(1, Fraction(1), Delta("1e-5")).least
    13
    """

    scale: Fraction
    least: int
    delta: Delta

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> Threshold:
        """The least noise and threshold for a unit of so many rows."""
        scale = rows / epsilon
        return cls(scale, least_threshold(rows, scale, delta), delta)

    @property
    def name(self) -> str:
        """With the threshold, which is public."""
        return f"discrete Laplace, told from {self.least}"

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of each count's noise."""
        return DiscreteLaplace(self.scale)

    @property
    def passed(self) -> Passed:
        """The law of a noisy count that is told."""
        return Passed(self.scale, self.least)

    def release(self, exact: Found) -> list[Any]:
        """Labels and noisy counts from the threshold on, in the order given."""
        return [(exact[name][0], (count,)) for name, count in self.passing(exact)]

    def passing(self, exact: Found) -> list[tuple[str, int]]:
        """Names and noisy counts of the labels told."""
        noisy = self.noise.release([integers[0] for _, integers in exact.values()])
        pairs = zip(exact, noisy, strict=True)
        return [(name, count) for name, count in pairs if count >= self.least]

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """The loss of the noise, and all of δ."""
        loss = self.noise.cost(measure, moved)
        return Loss(loss.epsilon, self.delta, loss.rho)

    def blank(self, size: int) -> list[Any]:
        return []


@dataclass(frozen=True)
class KeyedNoise:
    """A threshold on the counts of labels, then noise on more integers of the labels told.

    *Guarantee*: that of the threshold, and that of the noise: for whichever labels are told, the
    integers are those of declared keys (adaptive composition; docs/proofs/thresholds.md).
    """

    keys: Threshold
    values: DiscreteLaplace
    moved: tuple[Sensitivity, Sensitivity]

    @property
    def name(self) -> str:
        return f"{self.keys.name}, then discrete Laplace"

    @property
    def scale(self) -> Fraction:
        """Of the noise of the integers."""
        return self.values.scale

    def release(self, exact: Found) -> list[Any]:
        """Labels, noisy counts and noisy integers."""
        told = self.keys.passing(exact)
        flat = self.values.release([x for name, _ in told for x in exact[name][1][1:]])
        size = len(flat) // len(told) if told else 0
        return [
            (exact[name][0], (count, *flat[i * size : (i + 1) * size]))
            for i, (name, count) in enumerate(told)
        ]

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """Both losses together, in one charge."""
        keys, values = self.moved
        return self.keys.cost(measure, keys) + self.values.cost(measure, values)

    def blank(self, size: int) -> list[Any]:
        return []


@lru_cache(maxsize=256)
def least_threshold(rows: int, scale: Fraction, delta: Fraction) -> int:
    """The least T for which no unit of so many rows brings labels of its own over T with a
    probability above δ, however it spreads its rows: exact.

    The chance that a label with n rows stays below T is 1 - a^(T-n)/(1+a), whose negative
    logarithm is convex in n. So the worst split is all rows on one label, or each on its own.
    """
    if not 0 < delta < Fraction(1, 4):
        raise QueryError(f"delta={delta} must lie between 0 and 1/4.")
    low, step = rows, 1  # at T = rows a label of so many rows passes with probability 1/(1+a)
    while not _keeps(low + step, rows, scale, delta):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _keeps(middle, rows, scale, delta) else (middle, high)
    return high


def _keeps(threshold: int, rows: int, scale: Fraction, delta: Fraction) -> bool:
    """Whether both worst splits stay within δ. As e to a rational power is transcendental no
    probability equals δ, and enough digits decide."""
    splits = {(1, rows), (rows, 1)}
    return all(_stays_below(threshold - n, labels, scale, delta) for labels, n in splits)


def _stays_below(tail: int, labels: int, scale: Fraction, delta: Fraction) -> bool:
    """Whether 1 - (1 - P[Z ≥ tail])^labels ≤ δ, for tail ≥ 1: by logarithms of both sides."""
    digits = 40 + len(str(labels)) + len(str(delta.denominator))
    while True:
        down, up = contexts(digits)
        low, high = exp_interval(tail / scale, digits)
        a_low, a_high = exp_interval(1 / scale, digits)
        one = Decimal(1)
        p = (
            down.divide(low, up.add(one, a_high)),
            up.divide(high, down.add(one, a_low)),
        )
        stay = (
            down.multiply(labels, _ln(down.subtract(one, p[1]), digits)[0]),
            up.multiply(labels, _ln(up.subtract(one, p[0]), digits)[1]),
        )
        need = 1 - delta
        bound = (
            _ln(down.divide(need.numerator, need.denominator), digits)[0],
            _ln(up.divide(need.numerator, need.denominator), digits)[1],
        )
        if stay[0] >= bound[1]:
            return True
        if stay[1] < bound[0]:
            return False
        digits *= 2


def _ln(x: Decimal, digits: int) -> Interval:
    """Around ln x; `decimal` rounds ln correctly, so a neighbour encloses it."""
    down, up = contexts(digits)
    return down.next_minus(down.ln(x)), up.next_plus(up.ln(x))


# --- a value that is far from changing ------------------------------------------------------------


@dataclass(frozen=True)
class ProposeTestRelease:
    """Adds discrete Laplace noise to a value's distance, and tells the value where the sum is at
    least `least`: the exact value, or nothing.

    The distance moves by at most `rows` with a unit, and is at most rows - 1 where the unit changes
    the value.

    *Guarantee*: (ε, δ) with ε = rows / scale, and the δ for which `least` was chosen (Dwork and
    Lei, STOC 2009; docs/proofs/propose_test_release.md).

    >>> ProposeTestRelease.calibrate(1, Fraction(1), Delta("1e-5")).least
    12
    """

    scale: Fraction
    least: int
    delta: Delta

    @classmethod
    def calibrate(cls, rows: int, epsilon: Fraction, delta: Delta) -> ProposeTestRelease:
        """The least noise and threshold T for a unit of so many rows: P[Z ≥ T - (rows-1)] ≤ δ.

        For one row `least_threshold` is 1 more than the least t with P[Z ≥ t] ≤ δ.
        """
        scale = rows / epsilon
        return cls(scale, least_threshold(1, scale, delta) - 1 + rows - 1, delta)

    @property
    def name(self) -> str:
        """With the threshold, which is public."""
        return f"propose-test-release, told from {self.least}"

    @property
    def noise(self) -> DiscreteLaplace:
        """The law of the distance's noise."""
        return DiscreteLaplace(self.scale)

    def release(self, exact: tuple[Any, int]) -> list[Any]:
        """The value alone, or nothing."""
        value, distance = exact
        (noisy,) = self.noise.release([distance])
        return [value] if noisy >= self.least else []

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """The loss of the noise, and all of δ."""
        loss = self.noise.cost(measure, moved)
        return Loss(loss.epsilon, self.delta, loss.rho)

    def blank(self, size: int) -> list[Any]:
        return []

    def surely(self, confidence: float) -> int:
        """From which distance on the value is told with this probability, or more.

        P[Z ≥ -w] = 1 - P[|Z| > w] / 2.
        """
        return self.least + (self.noise.half_width(2 * confidence - 1) if confidence > 0.5 else 0)


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

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε and δ; where ρ is counted, that of a pure ε for each label, beside δ: two laws that are
        (ε, δ)-close are ε-close but for parts of mass δ."""
        delta = Delta(self.keys * self.delta)
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.keys * self.epsilon), delta)
        return Loss(rho=Rho(self.keys * conversions.rho_of_pure(self.epsilon)), delta=delta)

    def blank(self, size: int) -> list[Any]:
        return []

    def surely(self, confidence: float) -> int:
        """From how many units on a label is told with this probability, or more."""
        return Curve.of(self.epsilon, self.delta).surely(confidence)


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

    def tells(self, units: int, bits: sampling.Bits = sampling.SYSTEM) -> bool:
        """True with probability π(units), exactly."""
        if not 0 < units <= self.last:
            return units > 0
        return sampling.bernoulli_of(lambda digits: self._known(units, digits), bits)

    def value(self, units: int) -> float:
        """π, for people."""
        if not 0 < units <= self.last:
            return float(units > 0)
        return float(self._known(units, 40)[0])

    def surely(self, confidence: float) -> int:
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
            part = _Part.of(self._delta, more) * (self._power(units, more) - 1)
            return (part / (self._power(1, more) - 1)).ends
        fall = _Part(exp_interval((units - self.first) * self._epsilon, more), more)
        top = _Part.of(self._delta, more) / (self._power(1, more) - 1) + 1
        low, high = ((1 - fall) * top + fall * self._at_first(more)).ends
        return max(low, Decimal(0)), min(high, Decimal(1))

    @property
    def _lost(self) -> int:
        """Digits that E - 1 and δ cost."""
        return 20 + 2 * len(str(self._epsilon.denominator)) + len(str(self._delta.denominator))

    def _at_first(self, digits: int) -> _Part:
        return _Part(self._around(self.first, digits), digits)

    def _power(self, n: int, digits: int) -> _Part:
        """E^n."""
        return 1 / _Part(exp_interval(n * self._epsilon, digits), digits)

    def _ratio_first(self, digits: int) -> _Part:
        e, delta = self._power(1, digits), _Part.of(self._delta, digits)
        return (e + 2 * delta - 1) / (delta * (e + 1))

    def _ratio_last(self, digits: int) -> _Part:
        rest = 1 - self._at_first(digits)
        return (self._power(1, digits) - 1) * rest / _Part.of(self._delta, digits) + 1

    def _floor(self, ratio: Callable[[int], _Part]) -> int:
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
class _Part:
    """A positive number between two decimals; arithmetic rounds outwards."""

    ends: Interval
    digits: int

    @classmethod
    def of(cls, value: Fraction | int, digits: int) -> _Part:
        down, up = contexts(digits)
        n, d = Decimal(value.numerator), Decimal(value.denominator)
        return cls((down.divide(n, d), up.divide(n, d)), digits)

    def _with(self, other: _Part | int, operation: str, crossed: bool = False) -> _Part:
        """An operation on both ends; crossed, each with the other end of the other."""
        operand = other if isinstance(other, _Part) else _Part.of(other, self.digits)
        (a, b), (c, d) = self.ends, operand.ends
        if crossed:
            c, d = d, c
        down, up = contexts(self.digits)
        return _Part((getattr(down, operation)(a, c), getattr(up, operation)(b, d)), self.digits)

    def __add__(self, other: _Part | int) -> _Part:
        return self._with(other, "add")

    def __sub__(self, other: _Part | int) -> _Part:
        return self._with(other, "subtract", crossed=True)

    def __rsub__(self, other: int) -> _Part:
        return _Part.of(other, self.digits) - self

    def __mul__(self, other: _Part | int) -> _Part:
        return self._with(other, "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other: _Part | int) -> _Part:
        return self._with(other, "divide", crossed=True)

    def __rtruediv__(self, other: int) -> _Part:
        return _Part.of(other, self.digits) / self
