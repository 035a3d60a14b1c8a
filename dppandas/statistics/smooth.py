"""Quantiles and trimmed means with noise that follows their smooth sensitivity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ..dataclasses import dataclass
from ..errors import QueryError, RecordError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.ranks import Ranks
from ..privacy.mechanisms.smooth import AtRank, PolyPlace, Target, Trimmed
from .base import RowPass
from .methods import COLUMN, Method
from .quantiles import Quantiles, QuantilesErrors


class SmoothErrors(QuantilesErrors):
    of: Smooth

    in_ranks: ClassVar[bool] = False
    later: ClassVar[str] = "stays private"
    no_interval: ClassVar[str] = (
        "noise by smooth sensitivity has a width that depends on the rows and stays private, so "
        "there is neither an error nor an interval. "
    )

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        raise RecordError(self.no_interval)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError(self.no_interval)

    def expected_at(self, law: Any, confidence: float) -> str:
        return ""

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        return ""


@dataclass(frozen=True)
class Smooth(Quantiles, registered=False):
    """One number of one column and cell, read from ranks. A row adds 1 to the number of rows."""

    proof: ClassVar[str] = "smooth"
    error_model: ClassVar = SmoothErrors

    #: 2: since the noise follows a tighter bound.
    reading: ClassVar[int] = 2

    experimental: ClassVar[str] = (
        "its noise is made of floats, its width depends on the rows, and no proof covers how the "
        "floats are rounded."
    )

    @property
    @abstractmethod
    def target(self) -> Target:
        """The number that gets noise."""

    size = 1
    linf = 1

    def figures(self) -> tuple[str, ...]:
        return ()

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        (grid,) = self.grids
        return PolyPlace.calibrate(asked, sensitivity.l1, self.target, grid.high)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[Sequence[Ranks]]:
        """All ranks: any of them can widen the noise."""
        return super().read(row_pass)

    _alone = None  # distances count the rows that differ, as for several quantiles


class SmoothQuantileErrors(SmoothErrors):
    of: SmoothQuantile

    no_interval: ClassVar[str] = (
        f'{SmoothErrors.no_interval}method="exponential" has errors in ranks.'
    )


@dataclass(frozen=True)
class SmoothQuantile(Smooth):
    """A quantile."""

    error_model: ClassVar = SmoothQuantileErrors

    @property
    def target(self) -> Target:
        (share,) = self.quantiles
        return AtRank(share)


class TrimmedMeanErrors(SmoothErrors):
    of: TrimmedMean

    no_interval: ClassVar[str] = f"{SmoothErrors.no_interval}mean has both."


@dataclass(frozen=True)
class TrimmedMean(Smooth):
    """The mean of all values except the `trim` smallest and the `trim` largest."""

    trim: int = 0  # rows at each end

    methods: ClassVar = (Method("trimmed_mean", COLUMN),)
    error_model: ClassVar = TrimmedMeanErrors

    @property
    def target(self) -> Target:
        return Trimmed(self.trim)
