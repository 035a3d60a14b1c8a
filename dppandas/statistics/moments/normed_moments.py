"""Covariances and correlations of rows that are scaled down to a public norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from ...dataclasses import dataclass, replace
from ...errors import QueryError, quoted
from ...rows.facts.bounds import Bounds, Grid, sum_step
from .covariance_tables import BITS, WHOLE, Add, Integers, Values
from .fieller import Design, NoisySums
from .norms import parsed_norm
from .second_moments import SecondMoments, SecondMomentsErrors, design_of, pairs_of

#: How many times finer than that of sums the grid is: the values of a row that is within the norm
#: may be rounded up, and together exceed it by less than counts.
FINER = 4
#: More columns would be rounded too coarsely.
MOST_COLUMNS = 256
#: A norm between 2 to the power of minus this and of this can be squared.
MOST_BITS = 480
#: The parts of 2^30 that a row adds to the sum of 1, and at most to those of all x together. More
#: would be noise for the products, and less would be noise for the number of rows and the means.
OF_ROW, OF_MEANS = 4, 2
#: By the order of the norm, how often the product of two columns is counted, as a fraction: twice,
#: or less than √2 times, so that all products together have the norm of a row's square at most.
CROSSED = {1: (2, 1), 2: (181, 128)}
#: By how many bits products are shortened so that these multiples fit an int64.
SHORTER = BITS // 2


class NormedMomentsErrors(SecondMomentsErrors):
    of: NormedMoments

    def evenly(self, rows: float) -> list[int]:
        """x² has the mean 2/((d+1)(d+2)), or 1/(d+2), if rows are spread evenly within the norm."""
        columns = len(self.of.operands)
        square = Fraction(2, columns + 1) if self.of.order == 1 else Fraction(1)
        shares = dict.fromkeys(((i, i) for i in range(1, columns + 1)), square / (columns + 2))
        shares[0, 0] = Fraction(1, OF_ROW)
        each = [round(Fraction(rows) * WHOLE * shares.get(p, 0)) for p in pairs_of(columns)]
        return each * len(self.of.cells)


@dataclass(frozen=True)
class NormedMoments(SecondMoments):
    """The sums of ¼, of each x/2, of each x² and of each 2xy, over the rows that have all values.

    x is a value over the norm, in steps of 2^-30; where the absolute values of a row add up to more
    than 1, they are scaled down to that. So a row adds at most 2^30 times ¼ + ½ + 1 to all sums
    together, as (Σ|x|)² is the sum of all x² and 2|xy|. For a norm of order 2 the root of Σx² is
    scaled down, and √2·xy rounded down. What is rounded is rounded toward zero (proof:
    docs/proofs/covariances.md). All bounds are ± the norm.
    """

    order: int = 1  # ℓ1, or ℓ2

    takes_limits: ClassVar = True
    error_model: ClassVar = NormedMomentsErrors
    scales_rows: ClassVar = True

    @property
    def l1(self) -> int:
        means, products = WHOLE // OF_MEANS, WHOLE
        if self.order == 2:
            often, of = CROSSED[2]
            columns = len(self.operands)
            means = math.isqrt(columns * means**2)
            products += often * (columns - 1) * WHOLE // (2 * of)
        return WHOLE // OF_ROW + means + products

    def l2_squared_sensitivity(self, rows: int) -> int:
        most = (WHOLE // OF_ROW) ** 2 + (WHOLE // OF_MEANS) ** 2 + WHOLE**2
        return min(super().l2_squared_sensitivity(rows), self.cells.most(rows).squares * most)

    @property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(Grid.centred(each, sum_step(each) / FINER) for each in self.bounds)

    def _sums(self, values: Sequence[Values], grids: Sequence[Grid], add: Add) -> Integers:
        steps = np.stack([each for each, _ in values]).astype(np.int64)
        norms = np.maximum(self._norms(np.abs(steps)), grids[0].high)
        factors = np.sign(steps) * (np.abs(steps) * WHOLE // norms)
        ones = add(np.full((1, factors.shape[1]), WHOLE // OF_ROW, dtype=np.int64))
        products = (add(self._products(each, factors[i:])) for i, each in enumerate(factors))
        return np.concatenate([ones, add(_over(factors, OF_MEANS)), *products], axis=1)

    def _norms(self, sizes: Integers) -> Integers:
        """The norm of each row; for ℓ2 more than it."""
        if self.order == 1:
            return np.asarray(sizes.sum(axis=0))
        # floats are off by less than a step: adding two to a root rounded down is always enough
        squares = np.square(sizes.astype(np.float64)).sum(axis=0)
        return np.asarray(np.sqrt(squares).astype(np.int64) + 2)

    def _products(self, x: Integers, factors: Integers) -> Integers:
        """x² and the multiples of each xy, in steps, rounded toward zero. x is the first factor."""
        often, of = CROSSED[self.order]
        found = x * factors
        found[:1] //= WHOLE
        shorter = _over(found[1:], 2**SHORTER) * often
        found[1:] = _over(shorter, of * (WHOLE >> SHORTER))
        return found

    def sums(self, noisy: Sequence[int], i: int, j: int) -> NoisySums:
        """The sums of ¼, x/2, y/2, x², y² and the multiple of xy; for one column of ¼, x/2, x²."""
        plain, (often, _) = super().sums(noisy, i, j), CROSSED[self.order]
        return replace(plain, design=_design(self.order, i == j), share=often * WHOLE)


def _over(integers: Integers, by: int) -> Integers:
    """Integers divided, and rounded toward zero."""
    return np.asarray(np.sign(integers) * (np.abs(integers) // by))


@lru_cache(maxsize=4)
def _design(order: int, is_one: bool) -> Design:
    """As that of the sums of 1, x, y, x², xy and y², with what these were multiplied by taken
    back, for as many times the share."""
    often, of = CROSSED[order]
    row, mean = OF_ROW * often, OF_MEANS * often
    back = [row, mean, often] if is_one else [row, mean, mean, often, of, often]
    pairs = zip(back, design_of(is_one), strict=True)
    return tuple(tuple(by * each for each in row) for by, row in pairs)


def bounds_of_norm(norm: object, columns: int) -> tuple[Bounds, int]:
    """The bounds of each of so many columns within a norm, which are ± its size; and its order."""
    order, size = parsed_norm(norm)
    if not 2.0**-MOST_BITS <= size <= 2.0**MOST_BITS:
        raise QueryError(f"norm={quoted(norm)} is too large or too small to be squared.")
    if columns > MOST_COLUMNS:
        raise QueryError(f"norm= takes at most {MOST_COLUMNS} columns. Select fewer.")
    return Bounds.parse((-size, size), "norm"), order
