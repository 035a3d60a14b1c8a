"""Noise that follows how much the rows at hand can change: quantiles by smooth sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from . import conversions, sampling
from .accounting import NOTHING, Asked, Measure
from .budget import Epsilon, Loss, Rho
from .errors import QueryError
from .mechanisms import Sensitivity
from .selection import Ranks

#: γ is this part of ε: how fast the sensitivity may fall off with the distance.
PARTS = 5


@dataclass(frozen=True)
class PolyPlace:
    """Adds noise of density ∝ (1 + |z|/s)^-4 to a quantile, s = 5/ε of its smooth sensitivity.

    *Guarantee*: pure ε for real numbers. Experimental: nothing is proven of floats
    (docs/proofs/smooth.md).
    """

    epsilon: Fraction
    rows: int  # of a unit
    share: Fraction
    top: int  # the largest grid integer

    name = "smooth sensitivity (experimental)"

    @classmethod
    def calibrate(cls, asked: Asked, rows: int, share: Fraction, top: int) -> PolyPlace:
        if asked.epsilon is None or asked.noise != "laplace":
            raise QueryError(
                "smooth sensitivity has a noise of its own and a pure ε: give epsilon=, without "
                f"rho= or mechanism=. {NOTHING}"
            )
        return cls(asked.epsilon, rows, share, top)

    @property
    def scale(self) -> Fraction:
        """In smooth sensitivities, which are private."""
        return PARTS / self.epsilon

    def cost(self, measure: Measure, moved: Sensitivity) -> Loss:
        """ε, or where ρ is counted that of any pure ε."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.epsilon))
        return Loss(rho=Rho(conversions.rho_of_pure(self.epsilon)))

    def blank(self, size: int) -> list[int]:
        return [0] * size

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """The grid integer nearest to the noisy quantile."""
        value, smooth = self.smooth(exact[0][0])
        noisy = value + smooth * float(self.scale) * noise()
        return [round(min(max(noisy, 0.0), float(self.top)))]

    def smooth(self, ranks: Ranks) -> tuple[int, float]:
        """The quantile of rank m, and max over j of e^(-γj) (X[m+k(j+1)] - X[m-k(j+1)])."""
        n = int(ranks.below[-1])
        m = max(1, math.ceil(self.share * n))
        steps = np.arange(max(m, n - m + 1) // self.rows + 1, dtype=np.int64)  # then L and U
        reach = (steps + 1) * self.rows
        wide = self._at(ranks, n, m + reach) - self._at(ranks, n, m - reach)
        falls = np.exp(steps * -float(self.epsilon / PARTS))
        (value,) = self._at(ranks, n, np.array([m])).tolist()
        return value, float((wide * falls).max())

    def _at(
        self, ranks: Ranks, n: int, places: np.typing.NDArray[np.int64]
    ) -> np.typing.NDArray[np.int64]:
        """X at some ranks: the lower bound before the first, the upper one after the last."""
        values = np.append(ranks.values, self.top)
        found = values[np.searchsorted(ranks.below[1:], places, side="left")]
        found = np.where(places < 1, 0, np.where(places > n, self.top, found))
        return found.astype(np.int64)


def noise() -> float:
    """Of density 3/2 (1 + |z|)^-4: P[|Z| > t] = (1 + t)^-3."""
    sign, share = sampling.signed_share()
    return float(sign * (share ** (-1 / (PARTS - 2)) - 1))
