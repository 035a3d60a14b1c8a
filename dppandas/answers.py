"""What private columns, frames and groups all answer.

An answer is a statistic over cells (the groups, or one cell of all rows) and operands (columns). A
face says which these are and how the result is laid out; each method here says which statistic is
meant, for all faces at once. So a new operation is one more method, and a file of `statistics`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Unpack

from .budget import More
from .domain import Bounds, Grid
from .rows import Expression
from .shaping import Rows, asks, bounds_of, checked_ddof, present, quantiles_of, with_levels
from .statistics import Cells, Count, Layout, Mean, Quantiles, Sum, Variance


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

    @asks
    def median(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The median of the values, clipped to bounds: `quantile` of one half.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).

        >>> import pandas as pd
        >>> m = pd.Series([20, 30, 40] * 100).dp.median(bounds=(0, 60), epsilon=1)
        >>> 0 <= m <= 60, m.error()
        (True, 24.0)
        """
        return self._quantile("median", (Fraction(1, 2),), None, bounds, epsilon, **more)

    @asks
    def quantile(
        self,
        q: object = 0.5,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Values below which a share q of the values lies, clipped to bounds. Missing values are
        left out. Shaped as in pandas: for a list of shares they are the index, or its last level.

        q : a share between 0 and 1, or a list of them. Several at once cost less than each on its
            own, and never decrease from one to a larger one. Shares of 0 and 1 are aimed within
            the rows: see `min`.
        bounds : as in `mean`. Answers lie on a grid of at most 2^30 steps between them.

        Where pandas interpolates between two values, this is one of the points between them.
        ``.error()`` is in ranks: how many values may lie between an exact quantile and the answer.
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
        _warn_of_extremes(shares)
        return self._quantile(said, shares, labels, bounds, epsilon, **more)

    @asks
    def min(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """A value near the smallest: as near to it as privacy lets one come without giving more.

        The smallest value is somebody's. This is a quantile a few ranks within the values, so few
        that it is hardly ever below all of them; ``.error()`` says how many values may lie below.
        Bounds as in `quantile`. A `UserWarning` says that it isn't the smallest.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("min", 0, bounds, epsilon, **more)

    @asks
    def max(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """A value near the largest. See `min`.

        *Guarantee*: differential privacy of the unit (docs/proofs/quantiles.md).
        """
        return self._extreme("max", 1, bounds, epsilon, **more)

    def _extreme(
        self, what: str, end: int, bounds: object, epsilon: object, **more: Unpack[More]
    ) -> Any:
        shares = (Fraction(end),)
        _warn_of_extremes(shares)
        return self._quantile(what, shares, None, bounds, epsilon, **more)

    def _quantile(
        self,
        what: str,
        shares: tuple[Fraction, ...],
        labels: Sequence[float] | float | None,
        bounds: object,
        epsilon: object,
        **more: Unpack[More],
    ) -> Any:
        operands, parsed = self._numbers(bounds)
        shape = with_levels(self._shape(integer=False), labels, self._operands(), self._groups)
        statistic = Quantiles(self._groups, shape, operands, parsed, shares)
        return self._answer(statistic, self._titled(what, parsed), epsilon, **more)


def _warn_of_extremes(shares: Sequence[Fraction]) -> None:
    """Whatever the data are."""
    if 0 in shares or 1 in shares:
        warnings.warn(
            "the smallest or largest value is somebody's and can't be told: this answers with a "
            "quantile near it. .error() says how many values may lie beyond.",
            UserWarning,
            stacklevel=6,
        )
