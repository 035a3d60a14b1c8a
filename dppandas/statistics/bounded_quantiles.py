"""Quantiles with noise that follows a bound of their local sensitivity, which is released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dataclasses import dataclass
from ..errors import QueryError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.ranks import Ranks
from ..privacy.mechanisms.sensitivity_bounds import BoundedSensitivity
from ..rows.facts.steps import StepGrid
from .base import RowPass
from .layout import Interval
from .quantiles import Quantiles, QuantilesErrors, numbers


class BoundedQuantileErrors(QuantilesErrors):
    """By the law of Laplace noise whose scale was released."""

    of: BoundedQuantile

    in_ranks: ClassVar[bool] = False
    takes_rows: ClassVar[bool] = False
    measured_in: ClassVar = ("column",)
    noise_in_columns: ClassVar[bool] = True
    tells_of_none: ClassVar[bool] = False  # values that lie far apart give the same
    no_interval: ClassVar[str] = ""
    _LATER: ClassVar[str] = (
        "its noise follows a bound that is released with it, so only the answer decides its error. "
        "Release it, and call .error()."
    )

    @property
    def noise_steps(self) -> tuple[float, ...]:
        (grid,) = self.of.grids
        return (float(grid.step),)

    def possible(self, entry: int) -> Interval | None:
        (bounds,) = self.of.bounds
        return bounds.lower, bounds.upper

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """The distance of the farther end."""
        (value,), ((low, high),) = (
            self.of.estimate(noisy), self.intervals_at(noisy, law, confidence)
        )  # fmt: skip
        return [max(high - value, value - low)]

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        bound, point = noisy
        return self.intervals([point], law.noise(bound).half_width(confidence))

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """Between the points at both ends; a value is up to half a step from its own."""
        (grid,), (bounds,) = self.of.grids, self.of.bounds
        wider = half_width + (not isinstance(grid, StepGrid))
        point = min(max(noisy[-1], 0), grid.high)
        low, high = max(noisy[-1] - wider, 0), min(noisy[-1] + wider, grid.high)
        ends = np.array([min(low, point), max(high, point)], dtype=np.int64)
        least, most = numbers(ends, grid, bounds).tolist()
        return [(bounds.lower if low <= 0 else least, bounds.upper if high >= grid.high else most)]

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError(self._LATER)

    def expected_at(self, law: Any, confidence: float) -> str:
        return ""

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        return ""


@dataclass(frozen=True)
class BoundedQuantile(Quantiles):
    """A bound of how far one unit moves a quantile, and the quantile with noise in proportion.

    Both are read from ranks, and a row adds 1 to the number of rows.
    """

    methods: ClassVar = ()
    error_model: ClassVar = BoundedQuantileErrors
    reading: ClassVar[int] = 1
    proof: ClassVar[str] = "sensitivity_bounds"

    size = 2
    linf = 1
    _alone = None  # distances count the rows that differ, as for several quantiles

    def figures(self) -> tuple[str, ...]:
        return ()

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        (grid,), (share,) = self.grids, self.quantiles
        return BoundedSensitivity.calibrate(asked, sensitivity.l1, share, grid.high)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        """All ranks: any of them can raise the bound."""
        return super().read(row_pass)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        (grid,) = self.grids
        return super().estimate([min(max(noisy[-1], 0), grid.high)])
