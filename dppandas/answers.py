"""What private columns, frames and groups all answer.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns). A
face says which these are and how the result is laid out; each method here says which statistic is
meant, for all faces at once. So a new operation is one more method, and a file of `statistics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from .budget import More
from .domain import Bounds, Grid
from .rows import Expression
from .shaping import Rows, asks, bounds_of, checked_ddof, present
from .statistics import Cells, Count, Layout, Mean, Sum, Variance


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

    # answers

    @asks
    def count(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """How many values are not missing: an int; for several columns a Series, and by group a
        Series or DataFrame.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md).

        >>> import pandas as pd
        >>> n = pd.DataFrame({"age": [15, 30, 60]}).dp.count(epsilon=1)
        >>> isinstance(n, int), n.error()
        (True, 3)
        """
        tests = tuple(present(expression) for expression in self._operands().values())
        statistic = Count(self._groups, self._shape(integer=True), tests)
        return self._answer(statistic, self._titled("count"), epsilon, **more)

    @asks
    def sum(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The sum of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values count as nothing.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's.

        *Guarantee*: differential privacy of the unit; sensitivity max(|lower|, |upper|) a row and
        column, on the grid (docs/proofs/sums.md).
        """
        operands, parsed = self._numbers(bounds)
        grids = tuple(Grid.centred(bound) for bound in parsed)
        statistic = Sum(self._groups, self._shape(integer=False), operands, grids)
        return self._answer(statistic, self._titled("sum", parsed), epsilon, **more)

    @asks
    def mean(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The mean of the values, clipped to bounds: a float, or a Series or DataFrame of them.
        Missing values are left out.

        bounds : (lower, upper), public facts, for all columns, or a dict of them; else the declared
            domain's.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (Kulesza, Suresh and Wang, ICML 2024; docs/proofs/means.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.mean(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60
        True
        """
        operands, parsed = self._numbers(bounds)
        statistic = Mean(self._groups, self._shape(integer=False), operands, parsed)
        return self._answer(statistic, self._titled("mean", parsed), epsilon, **more)

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
