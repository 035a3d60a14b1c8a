"""Least squares from noisy second moments: where the coefficients of the sample lie, and about how
far those of a population may be off.

The coefficients θ of the sample solve its normal equations: Σ xⱼ·(y - x·θ) = 0 for each j. The same
combination of noisy sums is a weighted sum of noises, whose weights follow from θ: so its size is
bounded for the true θ, and what solves the noisy equations is near (docs/proofs/least_squares.md).
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import repeat
from typing import Any, cast

import numpy as np

from ...dataclasses import dataclass
from ...privacy.accuracy.combined import variance_of
from ...privacy.accuracy.nearly_normal import NearlyNormal
from ...privacy.accuracy.weighted_sums import half_widths_of_norms, half_widths_of_weighted
from ...release.answers.records import Record
from ...statistics.moments.covariance_tables import CovarianceTable
from ..points import Matrix

#: How far rounding moves the products of a row, at most, for values in [-1, 1].
ROUNDED = 2.0**-22
#: How often a bound is sought, each time so much further away, and how far; how often one that was
#: found is made narrower.
SOUGHT, WIDER, FAR, NARROWED = 40, 1.05, 2.0**20, 3
#: The risk at which it is decided whether noise leaves coefficients open.
USUAL = 0.05
#: Eigenvalues that noise hides are held above so many deviations of the noise of an entry, times
#: the root of the number of coefficients: twice the largest eigenvalue of noise alone.
FLOOR = 4.0


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The noisy sums of products of regressors x and a target y, all in [-1, 1].

    With the noises Z of the released integers, the noise of Σ xⱼ·y is ``by_target[j] @ Z``, that of
    Σ xⱼ·xᵢ is ``by_each[j, i] @ Z``, and that of the number of rows ``by_row @ Z``.
    """

    law: Any
    gram: Matrix
    right: Matrix
    square: float
    rows: float
    by_target: Matrix
    by_each: Matrix
    by_row: Matrix

    @classmethod
    def of(cls, record: Record, regressors: Matrix, target: Matrix) -> NormalEquations:
        """Those of a released table of covariances, of complete rows.

        regressors, target : the weights of 1 and of each column in [-1, 1], whose weighted sums
            they are. The sizes of weights add up to at most 1.
        """
        maps = moments_of(cast(CovarianceTable, record._statistic))
        integers = np.array(record._noisy, dtype=np.float64)
        by_each = np.einsum("jk,klz,il->jiz", regressors, maps, regressors, optimize=True)
        by_target = np.einsum("jk,klz,l->jz", regressors, maps, target, optimize=True)
        by_square = np.einsum("k,klz,l->z", target, maps, target, optimize=True)
        known = by_each @ integers, by_target @ integers, float(by_square @ integers)
        rows = float(maps[0, 0] @ integers)
        return cls(record._law, *known, rows, by_target, by_each, maps[0, 0])

    @cached_property
    def inverse(self) -> Matrix | None:
        """That of the noisy sums of products; None if they have none."""
        try:
            found = np.asarray(np.linalg.inv(self.gram), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        return found if np.isfinite(found).all() else None

    @cached_property
    def variance(self) -> float:
        """That of the noise of an integer."""
        return variance_of(self.law)

    # the sample

    def score_widths(self, risk: float) -> Matrix | None:
        """How far Σ xⱼ·(y - x·θ) by the noisy sums may be from 0 for each j, at the sample's
        coefficients θ; None if noise leaves them open. All hold together, but with this risk."""
        if risk not in self._known:
            self._known[risk] = self._found(risk)
        return self._known[risk]

    @cached_property
    def _known(self) -> dict[float, Matrix | None]:
        return {}

    def _found(self, risk: float) -> Matrix | None:
        if self.inverse is None:
            return None
        far, sizes = np.zeros(len(self.right)), np.abs(self.inverse)
        for _ in range(SOUGHT):
            found = sizes @ self._widths(far, risk, is_fast=True)
            if (found < far).all():
                break
            far = found * WIDER
            if not far.max() < FAR:
                return None
        else:
            return None
        for _ in range(NARROWED):
            widths = self._widths(far, risk)
            far = np.minimum(far, sizes @ widths)
        return widths

    def _widths(self, far: Matrix, risk: float, is_fast: bool = False) -> Matrix:
        """The same, if no coefficient is further off than ``far``; by norms alone if it is to be
        fast."""
        each = risk / (len(far) + 1)  # and one for the number of rows
        sizes = np.abs(self._weights) + np.einsum("i,jiz->jz", far, np.abs(self.by_each))
        beside = np.array([1.0, *far])
        norms = np.sqrt(np.einsum("i,jil,l->j", beside, self._products, beside))
        widths = half_widths_of_norms(self.law, norms, sizes.max(axis=1), sizes.shape[1], each)
        if not is_fast:
            widths = np.minimum(widths, half_widths_of_weighted(self.law, sizes[:, None], 1, each))
        beyond = half_widths_of_weighted(self.law, self.by_row[None, None], 1, each)[0]
        most = max(self.rows + beyond, 0.0)
        rounding = ROUNDED * most * float(1 + (np.abs(self.solution) + far).sum())
        return np.asarray(widths + rounding)

    @cached_property
    def _weights(self) -> Matrix:
        """Those of the noises in Σ xⱼ·(y - x·θ), at the solution."""
        found: Matrix = self.by_target - np.einsum("i,jiz->jz", self.solution, self.by_each)
        return found

    @cached_property
    def _products(self) -> Matrix:
        """For each j, the sizes of products of the weights at the solution and of those by which
        they change with each coefficient."""
        every = np.concatenate([self._weights[:, None], self.by_each], axis=1)
        return np.asarray(np.abs(np.einsum("jiz,jlz->jil", every, every, optimize=True)))

    @cached_property
    def solution(self) -> Matrix:
        """What solves the noisy equations; zeros if nothing does."""
        if self.inverse is None:
            return np.zeros(len(self.right))
        return np.asarray(self.inverse @ self.right)

    @cached_property
    def is_open(self) -> bool:
        """Whether noise leaves all coefficients open."""
        return self.score_widths(USUAL) is None

    @cached_property
    def estimate(self) -> Matrix:
        """The solution; where noise leaves it open, one in which no eigenvalue of the sums of
        products is below its floor."""
        if not self.is_open:
            return self.solution
        noise = math.sqrt(self.variance * float(np.square(self.by_each).sum(axis=2).max()))
        values, vectors = np.linalg.eigh(self.gram)
        floor = max(FLOOR * noise * math.sqrt(len(values)), 1e-9)
        values = np.maximum(values, floor)
        return np.asarray(vectors @ ((vectors.T @ self.right) / values))

    # the population, to first order

    @cached_property
    def noise(self) -> Matrix:
        """The covariances of the noises in Σ xⱼ·(y - x·θ)."""
        return np.asarray(self._weights @ self._weights.T * self.variance)

    @cached_property
    def residual(self) -> float:
        """The sum of squared residuals. What solving noisy equations takes away is added again."""
        theta = self.estimate
        found = self.square - 2 * theta @ self.right + theta @ self.gram @ theta
        extra = 0.0 if self.inverse is None else float(np.trace(self.inverse @ self.noise))
        return max(float(found) + extra, 0.0)

    def covariances(self, meat: Matrix) -> Matrix:
        """Those of the coefficients, for the covariances of Σ xⱼ·(y - x·θ) in the sample."""
        if self.inverse is None or self.is_open or not np.isfinite(meat).all():
            return np.full_like(self.gram, math.inf)
        return np.asarray(self.inverse @ (self.noise + meat) @ self.inverse)

    def errors(self, lines: Matrix, meat: Matrix, freedom: float) -> list[NearlyNormal]:
        """The laws of the errors of `lines @ θ`, where the sample's covariances are known with so
        many degrees of freedom."""
        if self.inverse is None or self.is_open or freedom <= 0:
            return [NearlyNormal(math.inf)] * len(lines)
        sides = lines @ self.inverse
        sampled = np.maximum(np.einsum("ij,jk,ik->i", sides, meat, sides), 0.0).tolist()
        return [
            NearlyNormal.of_noise(self.law, zip(weights, repeat(1), strict=False)).with_sample(
                variance, freedom
            )
            for weights, variance in zip((sides @ self._weights).tolist(), sampled, strict=True)
        ]


def moments_of(statistic: CovarianceTable) -> Matrix:
    """The weights of the integers in each sum of products of 1 and the columns, in [-1, 1]."""
    columns = len(statistic.operands)
    units: Any = np.eye(statistic.states_of_all)
    found = np.zeros((columns + 1, columns + 1, len(units)))
    for i in range(columns):
        for j in range(i, columns):
            sums = statistic.sums(units, i, j)
            one, u, v, uu, uv, _ = np.array(sums.design).T @ np.array(sums.found) / (4 * sums.share)
            if i == j:
                found[0, 0] += one / columns
                found[0, i + 1] = found[i + 1, 0] = 2 * u - one
                found[i + 1, i + 1] = 4 * uu - 4 * u + one
            else:
                product = 4 * uv - 2 * u - 2 * v + one
                found[i + 1, j + 1] = found[j + 1, i + 1] = product
    return found
