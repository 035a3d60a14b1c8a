"""Splits of nodes by a threshold of a feature, after which few rows are in a minority, or the
targets of the two sides lie far apart."""

from __future__ import annotations

from abc import abstractmethod
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
from ..rows.facts.bounds import Bounds, Grid
from ..rows.values.vectors import Mask, as_numbers
from .base import Floats, Partial, RowPass, Statistic
from .error_model import ErrorModel, RowLimit
from .layout import Interval, format_error

#: The grid of numbers in [-1, 1].
UNIT = Grid.centred(Bounds(-1.0, 1.0))


class SplitsErrors(ErrorModel):
    of: BySplits

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
        """How far below the best the score of each selected split may lie, in rows that add the
        most to it."""
        gap = law.utility_gap(confidence, self.of.candidates)
        return [-(-gap // self.of.l1)] * len(noisy)

    def errors_among(self, law: Any, confidence: float, rows: RowLimit) -> list[float]:
        return self.errors_at([0] * self.of.size, law, confidence)

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        return float(*self.errors_at([0], law, confidence))

    def expected_at(self, law: Any, confidence: float) -> str:
        return f"± {format_error(self.error_before(law, confidence, None))}"

    def expected_over(self, law: Any, confidence: float, rows: float) -> str:
        return self.expected_at(law, confidence)


class SplitsOfSumsErrors(SplitsErrors):
    no_interval: ClassVar[str] = (
        "a split that is selected has no interval. .error() tells by how many rows, with targets "
        "as far from the centre as can be, its sums may lie below those of the best one."
    )


class BySplits(Statistic, registered=False):
    """For each cell, a split of its rows: those with a feature up to a threshold, and the others.

    Rows in which a feature is missing don't count.

    thresholds : of each feature, rising.
    """

    operands: tuple[Expression, ...]
    target: Expression
    thresholds: tuple[tuple[float, ...], ...]

    proof: ClassVar[str] = "decision_trees"
    error_model: ClassVar = SplitsErrors
    needs: ClassVar = {"operands": kinds.NUMBERS, "target": kinds.NUMBERS}

    @property
    def parts(self) -> int:
        """How many integers are told of each cell and range of a feature."""
        return 1

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

    @abstractmethod
    def _told(self, target: Floats) -> tuple[Mask, Any, Floats | None]:
        """Of targets: which count, to which part each of these adds, and how much; None for 1."""

    @abstractmethod
    def _score(self, side: Any) -> Any:
        """What the integers of one side add to a score, of each cell: (cells, parts, splits)."""

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        """What rows add to each cell, part and range of a feature."""
        kept, part, weights = self._told(as_numbers(self.target.vector(chunk)))
        if keep is not None:
            kept = kept & keep
        for operand in self.operands:
            kept &= ~np.isnan(as_numbers(operand.vector(chunk)))
        places, codes = part, self.cells.codes(chunk)
        if codes is not None:
            kept &= codes < len(self.cells)
            places = codes * self.parts + part
        places, weights = places[kept], None if weights is None else weights[kept]
        out = np.zeros((len(self.cells) * self.parts, self._edges[-1]), dtype=np.int64)
        each = zip(self.operands, self.thresholds, pairwise(self._edges), strict=True)
        for operand, thresholds, (start, end) in each:
            values = as_numbers(operand.vector(chunk))[kept]
            ranges = np.searchsorted(thresholds, values, side="left")
            width = end - start
            # whole numbers, of which a chunk adds up fewer than 2^53
            sums = np.bincount(places * width + ranges, weights, minlength=len(out) * width)
            out[:, start:end] = sums.reshape(len(out), width)
        return out.reshape(-1)

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[list[int]]:
        """The scores of all splits of each cell."""
        numbers = len(self.cells) * self.parts * self._edges[-1]
        counted = row_pass(self.over_branches, partial(SumAccumulator, numbers))
        table = np.array(counted, dtype=np.int64).reshape(len(self.cells), self.parts, -1)
        scores = []
        for start, end in pairwise(self._edges):
            below = np.cumsum(table[:, :, start:end], axis=2)
            beyond = below[:, :, -1:] - below
            scores.append((self._score(below) + self._score(beyond))[:, :-1])
        found: list[list[int]] = np.concatenate(scores, axis=1).tolist()
        return found

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return list(noisy)


@dataclass(frozen=True)
class Splits(BySplits):
    """Splits after which most rows belong to the largest class of their side.

    That number of rows is the score. A row raises it by 0 or 1, and in its own cell only (proof:
    docs/proofs/decision_trees.md). Rows whose class isn't a number of 0, …, classes - 1 don't
    count.
    """

    operands: tuple[Expression, ...] = ()
    target: Expression = EVERY
    classes: int = 2
    thresholds: tuple[tuple[float, ...], ...] = ()

    l1 = 1

    @property
    def parts(self) -> int:
        return self.classes

    def _told(self, target: Floats) -> tuple[Mask, Any, Floats | None]:
        classes = target
        kept = (classes >= 0) & (classes < self.classes) & (classes == np.rint(classes))
        return kept, np.where(kept, classes, 0).astype(np.int64), None

    def _score(self, side: Any) -> Any:
        return side.max(axis=1)


@dataclass(frozen=True)
class SplitsOfSums(BySplits):
    """Splits whose sides have sums of the target that are far from 0.

    The score is |the sum of the left side| + |that of the right side|, of targets clipped to
    [-1, 1] in steps of `UNIT`. A row moves it by its own size at most, up or down, and in its own
    cell only (proof: docs/proofs/decision_trees.md). Rows without a target don't count.
    """

    operands: tuple[Expression, ...] = ()
    target: Expression = EVERY
    thresholds: tuple[tuple[float, ...], ...] = ()

    error_model: ClassVar = SplitsOfSumsErrors

    l1 = UNIT.reach
    monotone = False

    def _told(self, target: Floats) -> tuple[Mask, Any, Floats | None]:
        integers = UNIT.integers(target)
        return ~np.isnan(target), np.zeros(len(target), dtype=np.int64), integers

    def _score(self, side: Any) -> Any:
        return np.abs(side[:, 0])
