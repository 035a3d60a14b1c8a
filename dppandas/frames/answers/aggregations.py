"""What private columns, frames and groups all answer.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns).
`Queryable` says which these are and how the result is laid out; each method here says which
statistic is meant, for all of them at once. So a new operation is one more method, and a file of
`statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

from ...columns.ranges import summable
from ...columns.rowwise import present
from ...errors import QueryError, quoted
from ...privacy.accounting.losses import ReleaseOptions
from ...release.asking import release_method
from ...release.unreleased import Unreleased, UnreleasedExtreme
from ...rows.facts.bounds import Bounds, Grid
from ...statistics import (
    Count,
    Covariance,
    Mean,
    NormedSum,
    Quantiles,
    Sum,
    Variance,
    WeightedMean,
    grids_of_norm,
)
from .arguments import checked_ddof, quantiles_of, step_of, weights_of, with_levels
from .queryable import Queryable


class Aggregations(Queryable):
    """The statistics of numbers, entry by entry."""

    @release_method
    def count(
        self,
        *,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """How many values are not missing: an int; for several columns a Series, and by group a
        Series or DataFrame.

        weights : a private column of the same rows, or its name: the answer is then the sum of the
            weights (a float), clipped to weight_bounds, of which none may be negative.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md), with weights the largest that one can be (docs/proofs/sums.md).

        >>> import pandas as pd
        >>> n = pd.DataFrame({"age": [15, 30, 60]}).dp.count(epsilon=1)
        >>> isinstance(n, int), n.error()
        (True, 3.0)
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        tests = tuple(present(expression) for expression in face._operands().values())
        if weighing is None:
            counted = Count(face._groups, face._shape(integer=True), tests)
            return self._answer(counted, face._titled("count"), epsilon, **more)
        operands = tuple(weighing.of(test) for test in tests)
        grids = (Grid.centred(weighing.bounds),) * len(operands)
        statistic = Sum(face._groups, face._shape(integer=False), operands, grids)
        return self._answer(statistic, face._titled("count") + str(weighing), epsilon, **more)

    @release_method
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        norm: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The sum of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values count as nothing.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; for columns that
            it doesn't name, the declared domain's. What `suggest_bounds` released is one, too.
        weights, weight_bounds : as in `count`; each value is then multiplied by its weight.
        norm : a public number. The values of a row whose sizes add up to more are scaled down
            together, so that they add up to it, and the noise grows with the norm and not with the
            bounds. ("l2", norm) is for the root of their squares, which is what noise by rho grows
            with. As with bounds, no interval includes what this changes.

        *Guarantee*: differential privacy of the unit; sensitivity max(|lower|, |upper|) a row and
        column, on the grid, with weights times the largest of them, or the norm for all columns
        together (docs/proofs/sums.md).

        >>> import pandas as pd, dppandas as dp
        >>> df = pd.DataFrame({"a": [1, 0] * 500, "b": [0, 2] * 500, "c": [0, 0] * 500})
        >>> sums = df.dp[["a", "b", "c"]].sum(bounds=(-9, 9), norm=1, epsilon=1)
        >>> bool(abs(sums["b"] - 500) < 30), float(round(dp.record(sums).errors()["b"], 1))
        (True, 4.1)
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        operands, parsed, shape = face._measured(bounds)
        summable(parsed, norm)
        title = face._titled("sum", parsed)
        if weighing is not None:
            title += str(weighing)
            pairs = [weighing.times(e, b) for e, b in zip(operands, parsed, strict=True)]
            operands, parsed = tuple(e for e, _ in pairs), tuple(b for _, b in pairs)
        cells = face._groups
        if norm is None:
            grids = tuple(Grid.centred(bound) for bound in parsed)
            return self._answer(Sum(cells, shape, operands, grids), title, epsilon, **more)
        grids, most, order = grids_of_norm(parsed, norm)
        scaled = NormedSum(cells, shape, operands, grids, most, order)
        return self._answer(scaled, f"{title} (norm {quoted(norm)})", epsilon, **more)

    @release_method
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The mean of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's. What is True or False needs none: the mean of ``frame["age"] > 30`` is the
            share of True, from two counts. For a column that may hold truth values give (0, 1).
        weights, weight_bounds : as in `count`; each value then counts by its weight, and not where
            that is missing.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (Kulesza, Suresh and Wang, ICML 2024; docs/proofs/means.md, docs/proofs/weights.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.mean(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60
        True
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        operands, parsed, shape = face._measured(bounds)
        statistic = Mean(face._groups, shape, operands, parsed)
        title = face._titled("mean", parsed)
        if weighing is not None:
            title += str(weighing)
            statistic = WeightedMean(
                statistic.cells, statistic.layout, operands, parsed,
                weighing.expression, Grid.centred(weighing.bounds),
            )  # fmt: skip
        return self._answer(statistic, title, epsilon, **more)

    @release_method
    def var(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The variance of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : as in `mean`. ddof as in pandas; the number of values that it is taken from is
            private, and part of the same release.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/variances.md).

        >>> import pandas as pd
        >>> v = pd.Series([20, 30, 40] * 100).dp.var(bounds=(0, 60), epsilon=1)
        >>> 0 <= v <= 905
        True
        """
        statistic, parsed = self._variance(ddof, bounds, root=False)
        return self._answer(statistic, self._titled("var", parsed), epsilon, **more)

    @release_method
    def std(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The standard deviation: the root of `var`.

        *Guarantee*: differential privacy of the unit (docs/proofs/variances.md).
        """
        statistic, parsed = self._variance(ddof, bounds, root=True)
        return self._answer(statistic, self._titled("std", parsed), epsilon, **more)

    def _variance(
        self, ddof: object, bounds: object, root: bool
    ) -> tuple[Variance, tuple[Bounds, ...]]:
        operands, parsed, shape = self._measured(bounds)
        if not root and shape.rulers:
            raise QueryError(
                "a variance of times or durations is measured in their square: ask .std(), which "
                "is a duration."
            )
        freedom = checked_ddof(ddof, parsed)
        return Variance(self._groups, shape, operands, parsed, freedom, root=root), parsed

    @release_method
    def median(
        self,
        *,
        bounds: object = None,
        step: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The median of the values, clipped to bounds: `quantile` of one half.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.median(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60, m.error()
        (True, 24.0)
        """
        return self._quantile("median", (Fraction(1, 2),), None, bounds, epsilon, step, **more)

    @release_method
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        step: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """Values below which a share q of the values lies, clipped to bounds. Missing values are
        left out. Shaped as in pandas: for a list of shares they are the index, or its last level.

        q : a share between 0 and 1, or a list of them. Several at once cost less than each on its
            own, and never decrease from one to a larger one. For shares of 0 and 1 see `min`.
        bounds : as in `mean`. Answers lie on a grid of at most 2^30 steps between them.
        step : of a coarser grid, where values are known to lie on one, such as 1 for whole numbers:
            answers then come nearer. A public fact: a power of two that divides the bounds.

        Where pandas interpolates between two values, this is one of the points between them.
        ``.error()`` is in ranks: how many values may lie between an exact quantile and the answer.
        Of several quantiles fewer are proven if it is known how many values there are at most:
        ``expected_rows=`` with `within=`, in ``expected_error`` and in ``dp.record(…).errors``.
        There is no interval of values; ask ``quantile([0.45, 0.5, 0.55])`` for a bracket.

        *Guarantee*: differential privacy of the unit, and of how many values there are; the
        exponential mechanism (McSherry and Talwar, FOCS 2007; Kaplan, Schnapp and Stemmer, ICML
        2022; docs/proofs/quantiles.md).

        >>> import pandas as pd
        >>> ages = pd.Series([20, 30, 40] * 100)
        >>> found = ages.dp.quantile([0.25, 0.75], bounds=(0, 60), epsilon=1)
        >>> found.index.tolist(), found.is_monotonic_increasing
        ([0.25, 0.75], True)
        """
        shares, labels = quantiles_of(q)
        said = "quantile " + ", ".join(f"{float(share):g}" for share in shares)
        at_end = 0 in shares or 1 in shares
        kind = UnreleasedExtreme if at_end else Unreleased
        return self._quantile(said, shares, labels, bounds, epsilon, step, kind, **more)

    @release_method
    def min(
        self, *, bounds: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """A value near the smallest: as near to it as privacy lets one come without giving more.

        The smallest value is somebody's. This is a point with at most about one value below it;
        ``.error()`` says how many there may be. Bounds as in `quantile`, and close: any point below
        all values is as good, so that where bounds are much wider than the values the answer may
        lie anywhere between. ``quantile(0.01)`` then tells more. A `UserWarning` with the answer
        says that it isn't the smallest; `describe`, of which this is one figure of eight, gives
        none.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("min", 0, bounds, epsilon, **more)

    @release_method
    def max(
        self, *, bounds: object = None, epsilon: object = None, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """A value near the largest. See `min`.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("max", 1, bounds, epsilon, **more)

    def _extreme(
        self, what: str, end: int, bounds: object, epsilon: object, **more: Unpack[ReleaseOptions]
    ) -> Any:
        shares, kind = (Fraction(end),), UnreleasedExtreme
        return self._quantile(what, shares, None, bounds, epsilon, None, kind, **more)

    def _quantile(
        self,
        what: str,
        shares: tuple[Fraction, ...],
        labels: Sequence[float] | float | None,
        bounds: object,
        epsilon: object,
        step: object = None,
        kind: type[Unreleased] = Unreleased,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        operands, parsed, flat = self._measured(bounds)
        shape = with_levels(flat, labels, self._operands(), self._groups)
        public_step = step_of(step, parsed)
        statistic = Quantiles(self._groups, shape, operands, parsed, shares, public_step)
        what = what if public_step is None else f"{what} (step {public_step:g})"
        return self._answer(statistic, self._titled(what, parsed), epsilon, kind, **more)

    def _covariances(
        self,
        what: str,
        ddof: object,
        dropna: object,
        bounds: object,
        epsilon: object,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        operands, parsed = self._numbers(bounds)
        names, freedom = list(self._operands()), checked_ddof(ddof, parsed)
        if not isinstance(dropna, bool):
            raise QueryError(f"dropna={quoted(dropna)} must be True or False.")
        layout = with_levels(self._shape(integer=False), names, names, self._groups)
        statistic = Covariance(
            self._groups, layout, operands, parsed, freedom, what == "corr", complete=dropna
        )
        what = f"{what} of complete rows" if dropna else what
        return self._answer(statistic, self._titled(what, parsed), epsilon, **more)
