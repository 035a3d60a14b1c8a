"""Quantiles whose errors are measured, and which have intervals of values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..dataclasses import dataclass
from ..errors import QueryError
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.quantile_ladders import (
    RANKS,
    VALUES,
    Ladder,
    LadderQuantiles,
    Stages,
    ladders,
)
from ..rows.facts.kinds import Schema
from ..rows.facts.steps import StepGrid
from .error_model import CROWD, RowLimit, at
from .layout import Interval, format_error
from .quantiles import Quantiles, QuantilesErrors, numbers
from .samples import Sample, SampleQuantile

#: The part of the risk for errors that hold whatever was counted.
ALWAYS = 1 / 20


class MeasuredErrors(QuantilesErrors):
    """Errors in ranks and intervals of values, from noisy counts between points."""

    of: MeasuredQuantiles

    takes_rows: ClassVar[bool] = False
    no_interval: ClassVar[str] = ""
    _LATER: ClassVar[str] = (
        "with interval= it is measured, so only the answer decides its error. Release it, and call "
        ".error(); or leave interval= out."
    )

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        risk = (1 - confidence) / len(self.of.answers)
        found = self.of.ladders(noisy)
        return [
            self.of.ends(block, *found[block].interval(law.of_counts, place, risk))
            for block, place in self.of.answers
        ]

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        risk = (1 - confidence) / len(self.of.answers)
        found = self.of.ladders(noisy)
        return [
            float(found[block].error(law.of_counts, place, risk))
            for block, place in self.of.answers
        ]

    def in_words(self, errors: Sequence[float]) -> str:
        """Errors of 0 are told: they were measured."""
        return super().in_words(errors) or "± 0 ranks"

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError(self._LATER)

    def expected_at(self, law: Any, confidence: float) -> str:
        return ""

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        """That of rows spread evenly, where noise moves no point."""
        even = self.of.spread_evenly(law, round(rows))
        if len(even) > CROWD:
            return ""
        worst = max(self.errors_at(even, law, confidence))
        return f"≈ {format_error(worst)} ranks {at(rows)}"

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        raise QueryError("interval= measures errors in ranks. Leave the number of rows out.")


@dataclass(frozen=True)
class MeasuredQuantiles(Quantiles):
    """Quantiles, points around them, and noisy counts of the rows between all of these.

    A row adds 1 to the number of rows and to one count in its cell and column, and moves losses as
    for several quantiles: ℓ1 is the number of columns (docs/proofs/quantile_intervals.md).
    """

    proof: ClassVar[str] = "quantile_intervals"
    error_model: ClassVar = MeasuredErrors
    reading: ClassVar[int] = 1
    stages: ClassVar[Stages] = VALUES

    @property
    def size(self) -> int:
        return self.places * self.stages.size(self.quantiles)

    @property
    def _steps(self) -> tuple[bool, ...]:
        return tuple(isinstance(grid, StepGrid) for grid in self.grids)

    @property
    def _alone(self) -> None:
        """Several points are chosen, whatever is asked."""

    @property
    def linf(self) -> int:
        return 1

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        of = self.quantiles, tuple(grid.high for grid in self.grids), len(self.cells)
        return LadderQuantiles.calibrate(asked, sensitivity, *of, self.stages, self._steps)

    @property
    def answers(self) -> list[tuple[int, int]]:
        """For each number of the answer the block of integers about its column and cell, and its
        place among the shares in order."""
        place = {share: i for i, share in enumerate(sorted(set(self.quantiles)))}
        columns = len(self.operands)
        return [
            (cell * columns + column, place[share])
            for cell in range(len(self.cells))
            for share in self.quantiles
            for column in range(columns)
        ]

    def ladders(self, noisy: Sequence[int]) -> list[Ladder]:
        """What was released about each column in each cell."""
        tops = [grid.high for grid in self.grids]
        return ladders(noisy, self.quantiles, tops, self.stages, self._steps)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        found = self.ladders(noisy)
        return super().estimate([found[block].point(place) for block, place in self.answers])

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        found, columns = self.ladders(noisy), len(self.operands)
        return [
            SampleQuantile(
                frozenset([block // columns]),
                partial(self._of_population, found[block], block, place, law.of_counts),
            )
            for block, place in self.answers
        ]

    def _of_population(
        self, ladder: Ladder, block: int, place: int, noise: Any, risk: float
    ) -> Interval:
        return self.ends(block, *ladder.of_population(noise, place, risk))

    def spread_evenly(self, law: LadderQuantiles, rows: int) -> list[int]:
        """What is released of so many rows in each cell, spread evenly, but for its noise."""
        each = [law.evenly(rows, column) for column in range(len(self.grids))]
        return [number for block in each for number in block] * len(self.cells)

    def ends(self, block: int, low: int, high: int) -> Interval:
        """The numbers between which values lie that were rounded to points from low to high."""
        column = block % len(self.operands)
        grid, bounds = self.grids[column], self.bounds[column]
        if not isinstance(grid, StepGrid):  # a value is up to half a step from its point
            low, high = max(0, low - 1), min(grid.high, high + 1)
        least, most = numbers(np.array([low, high], dtype=np.int64), grid, bounds).tolist()
        return (bounds.lower if low == 0 else least), (bounds.upper if high == grid.high else most)


class RankErrors(MeasuredErrors):
    """Errors in ranks alone, from noisy counts between the answers."""

    no_interval: ClassVar[str] = (
        'this quantile has no interval of values: interval="ranks" measures how many ranks it may '
        "be off, as .error() tells. Ask with interval=True for one."
    )

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """Those measured; or where many rows lie at an answer, those that hold for all rows."""
        always, risk = law.rank_errors(1 - (1 - confidence) * ALWAYS), (1 - confidence)
        counted = super().errors_at(noisy, law, 1 - risk * (1 - ALWAYS))
        return [min(pair) for pair in zip(counted, always, strict=True)]

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self.intervals([0] * len(self.of.answers), 0)


@dataclass(frozen=True)
class RankedQuantiles(MeasuredQuantiles):
    """Quantiles, and noisy counts of the rows between them, which are all that errors in ranks
    need (docs/proofs/quantile_intervals.md)."""

    error_model: ClassVar = RankErrors

    def samples(self, noisy: Sequence[int], law: Any, schema: Schema) -> Sequence[Sample | None]:
        return ()  # nothing is known of values

    stages: ClassVar = RANKS
