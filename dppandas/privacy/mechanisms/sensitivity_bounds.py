"""Quantiles with noise in proportion to a bound of their local sensitivity, which is released."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ..accounting import conversions
from ..accounting.losses import Delta, Epsilon, Loss, Rho
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from .base import Sensitivity
from .noise import DiscreteLaplace
from .ranks import Ranks
from .smooth import AtRank
from .thresholds import least_threshold, loss_asked

#: The finest that bounds are: by 1 part in so many.
FINEST = 2**12
#: Bounds are counted in parts of a grid step: far below a step, noise is nearly always 0.
PARTS = 2**20

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BoundedSensitivity(RecordPart):
    """Releases a bound of how far one unit moves a quantile, and the quantile with Laplace noise in
    proportion to it, for half of ε each.

    The bound is one of `bounds`, by its place in them. The least place that `margin` steps and no
    unit can lower too far moves by at most 1 between neighbours, and gets noise of scale 2/ε.

    *Guarantee*: (ε, δ), where δ is the chance that the bound is too small
    (docs/proofs/sensitivity_bounds.md).

    >>> law = BoundedSensitivity.calibrate(
    ...     LossRequest(epsilon=Epsilon(1), delta=Delta("1e-6")), 1, Fraction(1, 2), 100)
    >>> law.margin, law.bounds[:4].tolist(), law.bounds[-1].item() == 100 * PARTS
    (26, [0, 1, 2, 3], True)
    """

    epsilon: Fraction
    delta: Delta
    rows: int  # of a unit
    share: Fraction
    top: int  # the largest grid integer

    name, word = "private bound of the sensitivity, then discrete Laplace", ""
    scale_unit = "times the bound that was released"

    @classmethod
    def calibrate(
        cls, asked: LossRequest, rows: int, share: Fraction, top: int
    ) -> BoundedSensitivity:
        epsilon, delta = loss_asked(asked, "a private bound", "is released")
        found = cls(epsilon, delta, rows, share, top)
        found.margin  # noqa: B018 - refuses a δ that is too large
        return found

    @property
    def scale(self) -> Fraction:
        """The scale of the noise as a multiple of the bound."""
        return 2 / self.epsilon

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """ε and δ; or where ρ is counted, that of two mechanisms of ε/2, and δ."""
        if measure is not Measure.ZCDP:
            return Loss(Epsilon(self.epsilon), self.delta)
        return Loss(delta=self.delta, rho=Rho(2 * conversions.rho_of_pure(self.epsilon / 2)))

    @property
    def margin(self) -> int:
        """The least t with P[Z < -t] ≤ δ, for the noise Z of a place."""
        return least_threshold(1, self.scale, self.delta) - 2

    @property
    def bounds(self) -> Integers:
        """What a bound may be, in parts of a step: each about 1/t more than the one before."""
        return _bounds(min(max(self.margin, 1), FINEST), self.top * PARTS)

    def place(self, ranks: Ranks) -> int:
        """The place among the bounds that no place of a neighbour is more than 1 away from."""
        bounds = self.bounds

        def worth(wide: Integers, steps: Integers) -> Integers:
            return np.searchsorted(bounds, wide * PARTS) - steps

        return int(AtRank(self.share).most(ranks, self.rows, self.top, worth))

    def release(self, exact: Sequence[Sequence[Ranks]]) -> list[int]:
        """The bound, and the noisy point, which may lie beyond the grid."""
        ranks = exact[0][0]
        (noisy,) = DiscreteLaplace(self.scale).release([self.place(ranks)])
        bounds = self.bounds
        bound = int(bounds[min(max(noisy + self.margin, 0), len(bounds) - 1)])
        return [bound, *self.noise(bound).release([AtRank(self.share).at(ranks, self.top)])]

    def noise(self, bound: int) -> DiscreteLaplace:
        """The law of the noise of the point, if this bound was released."""
        return DiscreteLaplace(Fraction(bound, PARTS) * self.scale)

    def dummy_output(self, size: int) -> list[int]:
        return [self.top * PARTS, *[0] * (size - 1)]


@lru_cache(maxsize=64)
def _bounds(parts: int, top: int) -> Integers:
    """0, 1, 2, … up to `top`, each larger by 1 part in `parts`, or by 1 if that is more."""
    found = [0]
    while found[-1] < top:
        found.append(min(top, found[-1] + max(1, found[-1] // parts)))
    return np.array(found, dtype=np.int64)
