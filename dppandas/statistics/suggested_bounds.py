"""Suggested bounds for an unknown column, from a histogram over powers of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..dataclasses import dataclass
from ..errors import InternalError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.noise import DiscreteLaplace
from ..rows.expressions import Chunk, Expression
from ..rows.facts import kinds
from ..rows.facts.kinds import Schema
from ..rows.values.vectors import Mask, as_numbers
from .base import Partial, Statistic
from .counting.counts import SHARE_STEP
from .error_model import ErrorModel
from .layout import Interval
from .methods import COLUMN, Method

#: A cell holds the numbers of one sign with 2^(e-1) < |x| ≤ 2^e, for e in this range. Smaller
#: numbers lie in the cell of 0, larger ones in the last cell at either end.
SMALLEST, LARGEST = -63, 128
SIDE = LARGEST - SMALLEST + 1
CELLS = 2 * (SIDE + 1) + 1

#: With this probability no empty cell reaches the threshold in a release.
SURE = 0.975


@dataclass(frozen=True)
class LaplaceWithThreshold(DiscreteLaplace):
    """Discrete Laplace noise, released with the threshold above which cells surely have rows.

    *Guarantee*: that of the noise. The threshold is public (docs/proofs/ranges.md).
    """

    def release(self, integers: Sequence[int]) -> list[int]:
        """The noisy integers and, last, the threshold."""
        return [*super().release(integers), self.half_width(SURE, len(integers))]

    def dummy_output(self, size: int) -> list[int]:
        return [0] * (size + 1)


class BoundsHistogramErrors(ErrorModel):
    of: BoundsHistogram

    measured_in: ClassVar = ("column", "share")
    figures = ("lower", "upper", "clipped")

    def unit(self, entry: int, schema: Schema) -> str:
        return self.measured_in[entry // 2]

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        raise InternalError("bounds have intervals by `intervals_at`.")

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        """For the two bounds, where bounds that hold all values lie; for the share, the share of
        values that the suggested bounds clip. With probability SURE no empty cell was taken. The
        rest of the confidence bounds the noise of every sum over a range of cells."""
        found, beta = self.of._range(noisy), SURE - confidence
        if found is None or beta < 0:
            return [(-math.inf, math.inf), (-math.inf, math.inf), (0.0, 1.0)]
        first, last = found
        ends = [(-math.inf, edges(first)[0]), (edges(last)[1], math.inf)]
        if not beta:
            return [*ends, (0.0, 1.0)]
        size = last + 1 - first
        inside, total = sum(noisy[first : last + 1]), sum(noisy[:CELLS])
        sums = (CELLS - 2) * (CELLS - 1)  # the inside and the outside of each range of cells
        near, far = (most_noise(law.scale, n, beta / sums) for n in (size, CELLS - size))
        outside = total - inside
        least = _share(outside - far, inside + near)
        most = _share(outside + far, inside - near, nothing=1.0)
        return [*ends, (least, most)]

    def expected_at(self, law: Any, confidence: float) -> str:
        """The number of rows that a cell may have and still be missed."""
        return f"≤ {2 * law.half_width(SURE, CELLS):,} rows a power of two"


@dataclass(frozen=True)
class BoundsHistogram(Statistic):
    """How many values lie in each cell of a public grid of powers of two, and bounds from that.

    A row lies in one cell: ℓ1 is 1 (proof: docs/proofs/ranges.md).
    """

    canonical_name: ClassVar[str] = "Magnitudes"

    operand: Expression | None = None

    methods: ClassVar = (Method("suggest_bounds", COLUMN),)
    proof: ClassVar[str] = "ranges"
    error_model: ClassVar = BoundsHistogramErrors
    needs: ClassVar = {"operand": kinds.NUMBERS}

    size = CELLS
    l1 = 1

    def expressions(self) -> tuple[Expression, ...]:
        return () if self.operand is None else (self.operand,)

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        epsilon = asked.laplace_epsilon("bounds are found by Laplace noise")
        return LaplaceWithThreshold.calibrate(sensitivity.l1, epsilon)

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        (operand,) = self.expressions()
        values = as_numbers(operand.vector(chunk))
        there = ~np.isnan(values)
        if keep is not None:
            there &= keep
        return np.bincount(cell_of(values[there]), minlength=CELLS).astype(np.int64)

    def _range(self, noisy: Sequence[int]) -> tuple[int, int] | None:
        """The first and the last cell that surely have rows."""
        *counts, threshold = noisy
        sure = [i for i in range(1, CELLS - 1) if counts[i] > threshold]
        return (sure[0], sure[-1]) if sure else None

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        found = self._range(noisy)
        if found is None:
            return [math.nan] * 3
        first, last = found
        inside, total = sum(noisy[first : last + 1]), sum(noisy[:CELLS])
        return [edges(first)[0], edges(last)[1], _share(total - inside, inside)]


def cell_of(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The cell of each number, exactly: by its binary exponent."""
    mantissa, exponent = np.frexp(np.abs(values))
    power = exponent - (mantissa == 0.5)  # 2^(power-1) < |x| ≤ 2^power
    power = np.where(np.isinf(values), LARGEST + 1, np.where(values == 0, SMALLEST - 1, power))
    place = np.clip(power - SMALLEST + 1, 0, SIDE + 1)
    signed: npt.NDArray[np.int64] = np.where(values < 0, -place, place) + SIDE + 1
    return signed


def edges(cell: int) -> tuple[float, float]:
    """The ends of a cell, except the last ones, which have none."""
    place = cell - SIDE - 1
    if not place:
        return 0.0, 0.0
    high = math.ldexp(1.0, SMALLEST + abs(place) - 1)
    return (high / 2, high) if place > 0 else (-high, -high / 2)


def most_noise(scale: Fraction, entries: int, beta: float) -> int:
    """A bound on the size of the sum of `entries` noises that fails with probability at most β.

    Chernoff: P[ΣZ ≥ t] ≤ E[exp(sZ)]^n exp(-st) for every s below 1/scale.
    """
    law, rate, need = DiscreteLaplace(scale), 1 / float(scale), math.log(2 / beta)
    slopes = [i / 64 * rate for i in range(1, 64)]
    best = min((entries * law.log_moment(s) + need) / s for s in slopes)
    return math.floor(best * (1 + 1e-9)) + 1


def _share(part: int, rest: int, nothing: float = math.nan) -> float:
    """The share of the whole, on the public grid; negative numbers count as 0."""
    part, rest = max(0, part), max(0, rest)
    if not part + rest:
        return nothing
    return float(round(Fraction(part, part + rest) / SHARE_STEP) * SHARE_STEP)
