"""Covariances and correlations of complete rows, by one vector of noisy sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...rows.facts.bounds import Grid
from .covariance_tables import (
    WHOLE,
    Add,
    CovarianceTable,
    CovarianceTableErrors,
    Integers,
    Values,
    rounded,
)
from .fieller import Design, NoisySums


class SecondMomentsErrors(CovarianceTableErrors):
    of: SecondMoments

    def evenly(self, rows: float) -> list[int]:
        """x² has the mean ⅓, x and products of two columns 0, if all are spread evenly."""
        means = {True: Fraction(1, 3), False: Fraction(0)}
        each = [1 if not j else means[i == j] for i, j in pairs_of(len(self.of.operands))]
        return [round(Fraction(rows) * WHOLE * mean) for mean in each] * len(self.of.cells)


@dataclass(frozen=True)
class SecondMoments(CovarianceTable):
    """The sums of 1, of each x and of each product of two, over the rows that have all values.

    x in [-1, 1] is a value's place between its bounds, in steps of 2^-30; products are rounded to
    such steps. So a row adds at most 2^30 to each of 1 + d + d(d+1)/2 sums: squared ℓ2 is 2^60
    times their number, which Gaussian noise pays for (proof: docs/proofs/covariances.md).
    """

    takes_limits: ClassVar = True
    proof: ClassVar[str] = "covariances"
    error_model: ClassVar = SecondMomentsErrors

    @property
    def states_of_all(self) -> int:
        columns = len(self.operands)
        return (columns + 1) * (columns + 2) // 2

    same_rows = True
    monotone = False

    @property
    def l1(self) -> int:
        return WHOLE * self.states_of_all

    def _sums(self, values: Sequence[Values], grids: Sequence[Grid], add: Add) -> Integers:
        pairs = zip(values, grids, strict=True)
        factors = np.stack([_centred(steps, grid.high) for (steps, _), grid in pairs])
        ones = add(np.full((1, factors.shape[1]), WHOLE, dtype=np.int64))
        products = (add(rounded(each * factors[i:])) for i, each in enumerate(factors))
        return np.concatenate([ones, add(factors), *products], axis=1)

    def sums(self, noisy: Sequence[int], i: int, j: int) -> NoisySums:
        """The sums of 1, x, y, x², xy and y²; for one column of 1, x and x²."""
        wanted = combinations_with_replacement(sorted({0, i + 1, j + 1}), 2)
        places = pairs_of(len(self.operands))
        found = tuple(noisy[places.index(each)] for each in wanted)
        return NoisySums(found, design_of(i == j), 1, WHOLE)


def _centred(steps: npt.NDArray[np.float64], most: int) -> Integers:
    """Grid integers from 0 to ``most`` as x from -2^30 to 2^30; 0 if there is a single point."""
    t = steps.astype(np.int64)
    return 2 * ((t * WHOLE + most // 2) // most) - WHOLE if most else t


@lru_cache(maxsize=128)
def pairs_of(columns: int) -> tuple[tuple[int, int], ...]:
    """The factors of each sum: 0 stands for the constant 1, and i for column i."""
    return tuple(combinations_with_replacement(range(columns + 1), 2))


@lru_cache(maxsize=2)
def design_of(is_one: bool) -> Design:
    """The coefficients of 1, u, v, u², uv, v² in 1, x, y, x², xy, y², in quarters: u = (1+x)/2,
    v = (1+y)/2."""
    return (
        ((4, 2, 0, 1, 0, 0), (0, 2, 0, 2, 0, 0), (0, 0, 0, 1, 0, 0))
        if is_one
        else ((4, 2, 2, 1, 1, 1), (0, 2, 0, 2, 1, 0), (0, 0, 2, 0, 1, 2),
              (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 1))
    )  # fmt: skip
