"""Labels that nobody declared, without their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dataclasses import dataclass
from ...errors import QueryError
from ...privacy.accounting.measures import LossRequest
from ...privacy.mechanisms.base import Mechanism, Sensitivity
from ...privacy.mechanisms.partition_selection import PartitionSelection
from ...privacy.mechanisms.thresholds import loss_asked, missing_delta
from ...privacy.mechanisms.weighted_selection import (
    WHOLE,
    alone,
    can_select,
    is_better_alone,
)
from ...rows.expressions import Chunk, Expression
from ..layout import Interval
from ..methods import COLUMN, Method
from .label_accumulators import Entries, EntryAccumulator, Matrix, weights_of
from .unknown_keys import Sparse, SparseErrors, distinct_pairs, rows_of, weights


class UniqueErrors(SparseErrors):
    of: Unique

    measured_in: ClassVar = ("units",)

    def intervals(self, noisy: Sequence[Any], half_width: int) -> list[Interval]:
        """A released label certainly occurs."""
        return [(1, 1)] * len(noisy)

    def intervals_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[Interval]:
        return self.intervals(noisy, 0)

    def errors_at(self, noisy: Sequence[Any], law: Any, confidence: float) -> list[float]:
        return [0] * len(noisy)

    def answered_errors(self, noisy: Sequence[Any], law: Any, confidence: float) -> None:
        return None

    def error_before(self, law: Any, confidence: float, rows: float | None) -> float:
        raise QueryError("labels without numbers have no error. Give epsilon= and delta=.")

    def expected_at(self, law: Any, confidence: float) -> str:
        """The number of units from which on a label is released."""
        return f"released if at least {law.released_from(confidence):,} units have it"


@dataclass(frozen=True)
class Unique(Sparse):
    """For each label that occurs, how many units have it: to release labels alone.

    A unit of m rows has at most m labels, and adds 1 to each (docs/proofs/partition_selection.md).
    """

    methods: ClassVar = (Method("unique", COLUMN),)
    labels_only: ClassVar[bool] = True
    proof: ClassVar[str] = "partition_selection"
    error_model: ClassVar = UniqueErrors
    whole_units: ClassVar[bool] = True
    accumulator: ClassVar = EntryAccumulator
    size = 1
    l1 = 1

    def linf_sensitivity(self, rows: int) -> int:
        return 1

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        if asked.rho is not None:  # with a δ, weights answer
            raise missing_delta()
        epsilon, delta = loss_asked(asked)
        return PartitionSelection.calibrate(sensitivity.l1, epsilon, delta)

    def adapted_to(self, asked: LossRequest, rows: int) -> Unique:
        """By weights where labels need fewer units then. Public facts decide."""
        if not can_select(asked) or not is_better_alone(asked, rows):
            return self
        return WeightedUnique(self.cells, self.layout, self.by, self.names, self.delta)

    def over_branches(self, branches: Sequence[Chunk], where: Expression | None) -> Entries:
        found, pairs = distinct_pairs(self._of_units(branches, where))
        counts = self._integers(pairs, len(found))
        rows = zip(found.items(), counts, strict=True)
        return {name: (label, (count,)) for (name, label), count in rows}

    def _integers(self, pairs: Matrix, labels: int) -> list[int]:
        """The integer of each label, of distinct pairs of a unit and a label's place."""
        counts: list[int] = np.bincount(pairs[:, 1], minlength=labels).tolist()
        return counts

    def estimate(self, noisy: Sequence[Any]) -> list[float]:
        return [1] * len(noisy)


@dataclass(frozen=True)
class WeightedUnique(Unique):
    """For each label that occurs, how much the units weigh that have it: to release labels alone.

    A unit of t labels adds `weight(t)` to each (docs/proofs/weighted_selection.md).
    """

    l1 = WHOLE

    proof: ClassVar[str] = "weighted_selection"

    def l1_sensitivity(self, rows: int) -> int:
        return weights(rows).l1

    def linf_sensitivity(self, rows: int) -> int:
        return WHOLE

    def l2_squared_sensitivity(self, rows: int) -> int:
        return WHOLE**2

    def mechanism(self, asked: LossRequest, sensitivity: Sensitivity) -> Mechanism:
        if not asked.delta:
            raise missing_delta()
        return alone(asked, rows_of(self, sensitivity))

    def adapted_to(self, asked: LossRequest, rows: int) -> WeightedUnique:
        return self

    def _integers(self, pairs: Matrix, labels: int) -> list[int]:
        return weights_of(pairs, labels)
