"""What is released with noise that follows its smooth sensitivity: a quantile, a trimmed mean."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import QueryError, RecordError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.ranks import Ranks
from ..privacy.mechanisms.smooth import AtRank, PolyPlace, Target, Trimmed
from .base import RowPass
from .quantiles import Quantiles


@dataclass(frozen=True)
class Smooth(Quantiles, registered=False):
    """One number of one column, in one cell. What is exact are the ranks: a row is 1 of them."""

    #: The noise follows a smaller bound than at first.
    reading: ClassVar[int] = 2
    in_ranks: ClassVar[bool] = False

    experimental: ClassVar[str] = (
        "its noise is made of floats, with a width that depends on the rows, and no proof covers "
        "how they are rounded."
    )
    no_interval: ClassVar[str] = (
        "how wide the noise of smooth sensitivity is depends on the rows, and isn't told: there is "
        "neither an error nor an interval. "
    )

    @property
    @abstractmethod
    def target(self) -> Target:
        """What noise is added to."""

    @property
    def size(self) -> int:
        return 1

    @property
    def linf(self) -> int:
        return 1

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        (grid,) = self.grids
        return PolyPlace.calibrate(asked, sensitivity.l1, self.target, grid.high)

    def exact(self, row_pass: RowPass, mechanism: Any) -> list[Sequence[Ranks]]:
        """All ranks."""
        return self.read(row_pass)

    def _moved(self, one: Ranks, other: Ranks) -> int:
        values = np.union1d(one.values, other.values)
        return int(sum(abs(one.count(v) - other.count(v)) for v in values.tolist()))

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        raise RecordError(self.no_interval)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError(f"{self.no_interval}")

    def expected_at(self, law: Any, confidence: float) -> str:
        return ""


@dataclass(frozen=True)
class SmoothQuantile(Smooth):
    """One quantile."""

    no_interval: ClassVar[str] = (
        f'{Smooth.no_interval}method="exponential" tells an error in ranks.'
    )

    @property
    def target(self) -> Target:
        (share,) = self.quantiles
        return AtRank(share)


@dataclass(frozen=True)
class TrimmedMean(Smooth):
    """The mean of all values but the `trim` smallest and largest."""

    trim: int = 0  # rows at each end

    no_interval: ClassVar[str] = f"{Smooth.no_interval}mean has both."

    @property
    def target(self) -> Target:
        return Trimmed(self.trim)
