"""The selection of one candidate in each of several disjoint cells."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...dataclasses import dataclass
from ..accounting.losses import Loss
from ..accounting.measures import LossRequest, Measure
from ..record_parts import RecordPart
from .base import Sensitivity
from .selection import Selection, selecting


@dataclass(frozen=True)
class SelectionByCell(RecordPart):
    """Selects a candidate with a large score in each cell, independently of the others.

    *Guarantee*: that of one selection from scores which all rows of a unit raise together, wherever
    they lie: k rows in a cell raise its scores by at most k, and the losses of the cells, or the
    roots of their ρ, add up (proof: docs/proofs/decision_trees.md).
    """

    each: Selection
    cells: int

    @classmethod
    def calibrate(cls, asked: LossRequest, sensitivity: Sensitivity, cells: int) -> SelectionByCell:
        """The selections for a loss. Its ℓ∞ is what a unit moves all cells together by."""
        found: Selection = selecting(asked, sensitivity, 1)  # type: ignore[assignment]
        return cls(found, cells)

    @property
    def name(self) -> str:
        """That of the selections."""
        return self.each.name

    @property
    def word(self) -> str:
        """That of the selections."""
        return self.each.word

    @property
    def scale(self) -> Fraction:
        """A score this far below the largest is selected e times less often."""
        return self.each.scale

    def cost(self, measure: Measure, sensitivity: Sensitivity) -> Loss:
        """The loss of all cells together."""
        return self.each.cost(measure, sensitivity)

    def release(self, exact: Sequence[Sequence[int]]) -> list[int]:
        """The place of the candidate that is selected in each cell."""
        return [self.each.release(scores)[0] for scores in exact]

    def dummy_output(self, size: int) -> list[int]:
        return [0] * size

    def utility_gap(self, confidence: float, candidates: int) -> int:
        """With this confidence every selected score is at least its cell's best minus this."""
        return self.each.utility_gap(1 - (1 - confidence) / self.cells, candidates)
