"""What private columns, frames and groups all answer.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns). A
face says which these are and how the result is laid out; each method here says which statistic is
meant, for all faces at once. So a new operation is one more method, and a file of `statistics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from .budget import More
from .domain import Bounds, Grid
from .rows import Expression
from .shaping import Rows, asks, bounds_of, checked_ddof, present, weights_of
from .statistics import Cells, Count, Layout, Mean, Sum, Variance, WeightedMean


class Answers(Rows):
    """The statistics of numbers, entry by entry."""

    # what a face says

    @property
    def _groups(self) -> Cells:
        """The cells that are answered for."""
        return Cells()

    def _operands(self) -> dict[Any, Expression]:
        """The columns that are answered for, by name."""
        raise NotImplementedError

    def _shape(self, integer: bool) -> Layout:
        """How an entry for each cell and operand is laid out."""
        raise NotImplementedError

    def _titled(self, what: str, bounds: Sequence[Bounds] = ()) -> str:
        """What is asked, in words for the ledger."""
        raise NotImplementedError

    def _numbers(self, bounds: object) -> tuple[tuple[Expression, ...], tuple[Bounds, ...]]:
        """The operands, and the bounds that a call or the domain gives for each."""
        operands: Mapping[Any, Expression] = self._operands()
        parsed = (bounds_of(self._root, n, e, bounds) for n, e in operands.items())
        return tuple(operands.values()), tuple(parsed)

    def _beside(self, weights: object) -> Self:
        """The same without the column of weights, where that was named."""
        return self

    # answers

    @asks
    def count(
        self,
        *,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
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
        (True, 3)
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

    @asks
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The sum of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values count as nothing.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's.
        weights, weight_bounds : as in `count`; each value is then multiplied by its weight.

        *Guarantee*: differential privacy of the unit; sensitivity max(|lower|, |upper|) a row and
        column, on the grid, with weights times the largest of them (docs/proofs/sums.md).
        """
        weighing = weights_of(self, weights, weight_bounds)
        face = self._beside(weights)
        operands, parsed = face._numbers(bounds)
        title = face._titled("sum", parsed)
        if weighing is not None:
            title += str(weighing)
            pairs = [weighing.times(e, b) for e, b in zip(operands, parsed, strict=True)]
            operands, parsed = tuple(e for e, _ in pairs), tuple(b for _, b in pairs)
        grids = tuple(Grid.centred(bound) for bound in parsed)
        statistic = Sum(face._groups, face._shape(integer=False), operands, grids)
        return self._answer(statistic, title, epsilon, **more)

    @asks
    def mean(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
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
        operands, parsed = face._numbers(bounds)
        statistic = Mean(face._groups, face._shape(integer=False), operands, parsed)
        title = face._titled("mean", parsed)
        if weighing is not None:
            title += str(weighing)
            statistic = WeightedMean(
                statistic.cells, statistic.layout, operands, parsed,
                weighing.expression, Grid.centred(weighing.bounds),
            )  # fmt: skip
        return self._answer(statistic, title, epsilon, **more)

    @asks
    def var(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
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

    @asks
    def std(
        self,
        ddof: int = 1,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """The standard deviation: the root of `var`.

        *Guarantee*: differential privacy of the unit (docs/proofs/variances.md).
        """
        statistic, parsed = self._variance(ddof, bounds, root=True)
        return self._answer(statistic, self._titled("std", parsed), epsilon, **more)

    def _variance(
        self, ddof: object, bounds: object, root: bool
    ) -> tuple[Variance, tuple[Bounds, ...]]:
        operands, parsed = self._numbers(bounds)
        shape, freedom = self._shape(integer=False), checked_ddof(ddof, parsed)
        return Variance(self._groups, shape, operands, parsed, freedom, root=root), parsed
