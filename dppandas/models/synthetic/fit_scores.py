"""Scores of how badly public tables fit the counts of private rows, for selections among them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...release.pickles import register_families
from ...rows.accumulators import SumAccumulator
from ...rows.expressions import Chunk, Expression
from ...rows.values.vectors import Mask
from ...statistics.base import Partial, RowPass, Statistic, count_by
from ...statistics.error_model import ErrorModel

Counts = npt.NDArray[np.int64]


class _ScoresErrors(ErrorModel):
    of: _Scores

    measured_in: ClassVar = ("utility",)

    @property
    def noise_steps(self) -> tuple[float, ...]:
        return (1 / self.of._row_score,)

    def error(self, half_width: int) -> float | None:
        return half_width / self.of._row_score


class _Scores(Statistic, registered=False):
    """A statistic that turns counts of rows into scores of public candidates."""

    error_model: ClassVar = _ScoresErrors

    @property
    def monotone(self) -> bool:
        return False  # a row brings the counts closer to one table, and away from another

    @property
    def _row_score(self) -> int:
        """The score of one row."""
        return 1

    def estimate(self, noisy: Sequence[int]) -> list[float]:
        return [score / self._row_score for score in noisy]


@dataclass(frozen=True)
class MarginalError(_Scores):
    """How far the counts of the rows are from each of several public tables of expected counts:

        weight · Σ |step · count − expected| − offset, over the cells of the table,

    all in whole numbers. A row lies in at most one cell of a table, so it changes the table's score
    by at most weight · step (docs/proofs/misfit.md).
    """

    proof: ClassVar[str] = "misfit"
    canonical_name: ClassVar[str] = "Misfit"

    marginals: tuple[Any, ...] = ()  # Cells, one for each table
    targets: tuple[tuple[int, ...], ...] = ()  # expected counts, in steps
    weights: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()
    step: int = 1

    @property
    def size(self) -> int:
        return len(self.marginals)

    @property
    def _row_score(self) -> int:
        return self.step

    @property
    def l1(self) -> int:
        return self.step * sum(self.weights)

    @property
    def linf(self) -> int:
        return self.step * max(self.weights)

    def expressions(self) -> tuple[Expression, ...]:
        return tuple(dict.fromkeys(e for cells in self.marginals for e in cells.by))

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        each = [(cells.codes(chunk, keep), len(cells)) for cells in self.marginals]
        return np.concatenate([count_by(codes, None, chunk.rows, size) for codes, size in each])

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        counts = row_pass(
            self.over_branches, partial(SumAccumulator, sum(map(len, self.marginals)))
        )
        return self.scores([int(count) for count in counts])

    def scores(self, counts: Sequence[int]) -> list[int]:
        """The scores for the counts of all cells, table after table."""
        scores, left = [], iter(counts)
        for table, weight, offset in zip(self.targets, self.weights, self.offsets, strict=True):
            far = sum(abs(self.step * next(left) - expected) for expected in table)
            scores.append(weight * far - offset)
        return scores


@dataclass(frozen=True)
class SmallDatabases(_Scores):
    """How well each database of a number of rows over the cells fits: minus the largest

        | rows · (private rows that a query counts) − total · (database rows that it counts) |

    over all queries, which are sets of cells. A private row changes each of them by at most
    ``rows``, and so the largest too (docs/proofs/misfit.md). ``total`` is public: a noisy count.
    """

    proof: ClassVar[str] = "misfit"
    rows: int = 1
    total: int = 0
    queries: tuple[tuple[int, ...], ...] = ()  # for each marginal, which of its cells a cell is in

    @property
    def size(self) -> int:
        return databases(len(self.cells), self.rows)

    @property
    def _row_score(self) -> int:
        return self.rows

    @property
    def l1(self) -> int:
        return self.rows * self.size

    @property
    def linf(self) -> int:
        return self.rows

    def expressions(self) -> tuple[Expression, ...]:
        return self.cells.by

    def kernel(self, chunk: Chunk, keep: Mask | None) -> Partial:
        codes = self.cells.codes(chunk, keep)
        return count_by(codes, None, chunk.rows, len(self.cells))

    def read(self, row_pass: RowPass, mechanism: Any = None) -> list[int]:
        counts = row_pass(self.over_branches, partial(SumAccumulator, len(self.cells)))
        return self.scores(np.array(counts, dtype=np.int64))

    def scores(self, counts: Counts) -> list[int]:
        """The scores for the counts of all cells, database by database."""
        every = candidates(len(self.cells), self.rows)
        worst = np.zeros(len(every), dtype=np.int64)
        for codes in self.queries:
            width = max(codes) + 1
            sides = np.zeros((len(self.cells), width), dtype=np.int64)
            sides[np.arange(len(codes)), list(codes)] = 1
            far = np.abs(self.rows * (counts @ sides) - self.total * (every @ sides)).max(axis=1)
            worst = np.maximum(worst, far)
        return [-int(each) for each in worst]


def databases(cells: int, rows: int) -> int:
    """The number of databases of `rows` rows, in any order."""
    return math.comb(cells + rows - 1, rows)


@functools.lru_cache(maxsize=4)
def candidates(cells: int, rows: int) -> Counts:
    """All databases as counts by cell, always in the same order."""
    found = np.zeros((databases(cells, rows), cells), dtype=np.int64)
    for i, chosen in enumerate(itertools.combinations_with_replacement(range(cells), rows)):
        np.add.at(found[i], list(chosen), 1)
    found.flags.writeable = False
    return found


register_families(_Scores)
