"""Splits of nodes by a threshold of a feature, after which few rows are in a minority."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..dataclasses import dataclass
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.cell_selection import SelectionByCell
from ..rows.accumulators import SumAccumulator
from ..rows.expressions import EVERY, Chunk, Expression
from ..rows.facts import kinds
from ..rows.values.vectors import Mask, as_numbers
from .base import Partial, RowPass, Statistic
from .error_model import ErrorModel, RowLimit
from .layout import Interval, format_number


class SplitsErrors(ErrorModel):
    of: Splits

    measured_in: ClassVar = ("utility",)
    no_interval: ClassVar[str] = (
        "a split that is selected has no interval. .error() tells how many rows fewer than the "
        "best one it may classify correctly."
    )

    def intervals(self, noisy: Sequence[int], half_width: int) -> list[Interval]:
        """All candidates: nothing narrower is public."""
        return [(0, self.of.candidates - 1)] * len(noisy)

    def intervals_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[int], law: Any, confidence: float) -> list[float]:
        """How far below the best the score of each selected split may lie."""
        return [law.utility_gap(confidence, self.of.candidates)] * len(noisy)

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        return self.errors_at([0] * self.of.size, law, confidence)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        return float(law.utility_gap(confidence, self.of.candidates))

    def expected_at(self, law: Any, confidence: float) -> str:
        return f"± {format_number(self.error_before(law, confidence, None))}"

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        return self.expected_at(law, confidence)


@dataclass(frozen=True)
class Splits(Statistic):
    """For each cell, a split of its rows: those with a feature up to a threshold, and the others.

    The score of a split is how many rows belong to the largest class of their side. A row raises it
    by 0 or 1, and in its own cell only (proof: docs/proofs/decision_trees.md). Rows in which a
    feature is missing, or whose class isn't a number of 0, …, classes - 1, don't count.

    thresholds : of each feature, rising.
    """

    operands: tuple[Expression, ...] = ()
    target: Expression = EVERY
    classes: int = 2
    thresholds: tuple[tuple[float, ...], ...] = ()

    proof: ClassVar[str] = "decision_trees"
    error_model: ClassVar = SplitsErrors
    needs: ClassVar = {"operands": kinds.NUMBERS, "target": kinds.NUMBERS}

    l1 = 1

    @property
    def size(self) -> int:
        return len(self.cells)

    @property
    def candidates(self) -> int:
        """How many splits of a cell there are."""
        return sum(map(len, self.thresholds))

    def expressions(self) -> tuple[Expression, ...]:
        return (*super().expressions(), self.target)

    def says(self, entry: int) -> str:
        return "number"

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        return SelectionByCell.calibrate(asked, sensitivity, len(self.cells))

    def exact_distance(self, one: Any, other: Any, selecting: bool) -> int:
        """How far scores differ: the most in each cell, and of all cells together."""
        pairs = zip(one, other, strict=True)
        return sum(max(abs(a - b) for a, b in zip(*each, strict=True)) for each in pairs)

    @property
    def _edges(self) -> list[int]:
        """Where the ranges of each feature begin, and where the last one's end: a feature has one
        range more than thresholds."""
        return [0, *np.cumsum([len(each) + 1 for each in self.thresholds]).tolist()]

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """How many rows each cell, class and range of a feature has."""
        places, kept = self._places(chunk, keep)
        out = np.zeros((len(self.cells) * self.classes, self._edges[-1]), dtype=np.int64)
        each = zip(self.operands, self.thresholds, pairwise(self._edges), strict=True)
        for operand, thresholds, (start, end) in each:
            values = as_numbers(operand.vector(chunk))[kept]
            ranges = np.searchsorted(thresholds, values, side="left")
            width = end - start
            counts = np.bincount(places * width + ranges, minlength=len(out) * width)
            out[:, start:end] = counts.reshape(len(out), width)
        return out.reshape(-1)

    def _places(self, chunk: Chunk, keep: Mask | None) -> tuple[Any, Mask]:
        """The cell and class of each row that counts, and which rows these are."""
        classes = as_numbers(self.target.vector(chunk))
        kept = (classes >= 0) & (classes < self.classes) & (classes == np.rint(classes))
        if keep is not None:
            kept &= keep
        for operand in self.operands:
            kept &= ~np.isnan(as_numbers(operand.vector(chunk)))
        codes = self.cells.codes(chunk)
        if codes is None:
            return classes[kept].astype(np.int64), kept
        kept &= codes < len(self.cells)
        return codes[kept] * self.classes + classes[kept].astype(np.int64), kept

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[list[int]]:
        """The scores of all splits of each cell."""
        numbers = len(self.cells) * self.classes * self._edges[-1]
        counted = row_pass(self.over_branches, partial(SumAccumulator, numbers))
        table = np.array(counted, dtype=np.int64).reshape(len(self.cells), self.classes, -1)
        scores = []
        for start, end in pairwise(self._edges):
            below = np.cumsum(table[:, :, start:end], axis=2)
            beyond = below[:, :, -1:] - below
            scores.append((below.max(axis=1) + beyond.max(axis=1))[:, :-1])
        found: list[list[int]] = np.concatenate(scores, axis=1).tolist()
        return found

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return list(noisy)
