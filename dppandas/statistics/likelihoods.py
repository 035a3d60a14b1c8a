"""Log-likelihoods of public candidates for a parameter, for draws from a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..dataclasses import dataclass
from ..privacy.accounting.measures import LossRequest
from ..privacy.mechanisms.base import Mechanism, Sensitivity
from ..privacy.mechanisms.selection import ExponentialWithPrior
from ..rows.expressions import Chunk
from ..rows.values.vectors import Mask
from .base import Partial, Statistic, count_by
from .error_model import ErrorModel

#: Log-likelihoods are whole multiples of 1/1024.
STEPS = 2**10


class LikelihoodsErrors(ErrorModel):
    of: Likelihoods

    measured_in: ClassVar = ("utility",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (1 / STEPS,)

    def error(self, half_width: int) -> float | None:
        return half_width / STEPS


@dataclass(frozen=True)
class Likelihoods(Statistic):
    """For each candidate, the sum over rows of what a row's label scores for it: its log-likelihood
    in steps, clipped from below and raised above 0.

    A row has one label, so it raises a score by at most the largest of the table, and never lowers
    one (docs/proofs/posterior.md).
    """

    scores: tuple[tuple[int, ...], ...] = ()  # for each label, of each candidate, from 0 on
    prior: tuple[int, ...] = ()  # of the candidates, in public whole numbers

    proof: ClassVar[str] = "posterior"
    error_model: ClassVar = LikelihoodsErrors

    @property
    def size(self) -> int:
        return len(self.prior)

    @property
    def l1(self) -> int:
        return max(map(sum, self.scores))

    @property
    def linf(self) -> int:
        return max(map(max, self.scores))

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        codes = self.cells.codes(chunk, keep)
        counts = count_by(codes, None, chunk.rows, len(self.cells))
        return counts @ np.array(self.scores, dtype=np.int64)

    def selection(self, asked: LossRequest, sensitivity: Sensitivity, number: int) -> Mechanism:
        """The exponential mechanism, whose law is a posterior: permute-and-flip's is another."""
        found: Any = super().selection(asked, sensitivity, number)
        return ExponentialWithPrior(found.rate, found.rounds, self.prior)

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [score / STEPS for score in noisy]
