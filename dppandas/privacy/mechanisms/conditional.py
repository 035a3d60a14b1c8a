"""Intervals of counts that are shown only above a threshold.

A label's noisy count x is released if it reaches a threshold T. A reader already knows that it did,
so an interval has to hold among the draws in which the label is released. It is not x ± w, but all
counts N under which x is neither too large nor too small for a noisy count that reached T.

Floats decide on the safe side here: every condition is tested at a risk smaller by a factor of
1 - 2^-30, and rounding moves what is compared by less than 2^-40 (docs/proofs/thresholds.md).
"""

from __future__ import annotations

import math
from fractions import Fraction

from ...dataclasses import dataclass
from ..record_parts import RecordPart

#: The factor that pays for rounding.
SAFE = 1 - 2.0**-30


@dataclass(frozen=True)
class ThresholdedNoise(RecordPart):
    """Noisy counts N + Z ≥ least, N ≥ 1, for discrete Laplace noise Z of a scale.

    Let a = exp(-1/scale). For N ≤ least, P[N+Z ≥ x | released] = a^(x-least), whatever N is. For
    larger N it is P[Z ≥ x-N] / P[Z ≥ least-N]. Both it and P[N+Z > x | released] grow with N.

    >>> law = ThresholdedNoise(Fraction(1), 15)
    >>> law.interval(15, 0.95), law.interval(40, 0.95)
    ((1, 17), (37, 43))
    """

    scale: Fraction
    least: int

    @property
    def _rate(self) -> float:
        return 1 / float(self.scale)

    def interval(self, noisy: int, confidence: float) -> tuple[int, int]:
        """The N ≥ 1 for which P[N+Z ≥ noisy | released] and P[N+Z ≤ noisy | released] are both
        above half of the risk; extended to the noisy count where they end before it."""
        risk, above = _half(confidence), noisy - self.least
        low = 1 if above <= self._reach(risk) else noisy - self._below(above, risk)
        return low, noisy + self._beyond(above, risk)

    def error(self, noisy: int, confidence: float) -> int:
        """The distance to the further end of the interval."""
        low, high = self.interval(noisy, confidence)
        return max(high - noisy, noisy - low)

    def largest_error(self, confidence: float) -> int:
        """The largest `error` of any released count: that of the largest count whose interval goes
        down to 1. No other end is further away than `_reach`, and least is at least 2."""
        return self.least - 1 + self._reach(_half(confidence))

    def _reach(self, chance: float) -> int:
        """The largest m ≥ 0 with a^m > chance, or slightly more; 0 if there is none."""
        return max(0, math.ceil(-math.log(chance) * float(self.scale)) - 1)

    def _below(self, above: int, risk: float) -> int:
        """The largest d < above for which N = noisy - d is in the interval. As N > least, these are
        the d with a^d / (1 + a - a^(above+1-d)) > risk. The divisor is at least 1, so no d is
        beyond `_reach`."""
        rate = self._rate
        a = math.exp(-rate)
        low, high = 0, min(above, self._reach(risk) + 1)
        while high - low > 1:
            d = (low + high) // 2
            is_in = math.exp(-d * rate) > risk * (1 + a - math.exp(-(above + 1 - d) * rate))
            low, high = (d, high) if is_in else (low, d)
        return low

    def _beyond(self, above: int, risk: float) -> int:
        """The largest m for which N = noisy + m is in the interval. With g = a^(above+1), these are
        the m with a^m (1 - g) / (1 + a - a^m g) > risk, or a^m > risk (1+a) / (1 - g + risk g)."""
        rate = self._rate
        g, rest = math.exp(-(above + 1) * rate), -math.expm1(-(above + 1) * rate)
        return self._reach(risk * (1 + math.exp(-rate)) / (rest + risk * g))


def _half(confidence: float) -> float:
    """Half of the risk, or a little less."""
    return (1 - confidence) / 2 * SAFE
