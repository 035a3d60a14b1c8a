"""What private frames answer beside what columns and groups do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self, Unpack

import pandas as pd

from ..columns.rowwise import true
from ..errors import QueryError
from ..privacy.accounting.losses import ReleaseOptions, TargetErrorOptions
from ..release.asking import release_method
from ..release.blocks import split
from ..release.blocks.bundle import Name, by_row
from ..release.ways import Ways
from ..rows.expressions import Expression, need
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Grid
from ..rows.facts.spans import Span
from ..rows.facts.units import whole_number
from ..rows.query_string import lookup
from ..statistics import Cells, Count, Layout, Sum
from .answers.arguments import briefly, pearson, weights_of
from .column_verbs import is_along_rows
from .crosstab import CrosstabMethods
from .series import PrivateSeries
from .transformations import Transformations


class FrameAggregations(Transformations, CrosstabMethods):
    """The answers of a frame, with one entry for each column or combination of keys."""

    def _operands(self) -> dict[Any, Expression]:
        self._some_columns()
        return self._columns

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer, index=self.columns)

    @property
    def _each(self) -> Self:
        return self._with(self._columns, self._where, selected=True)

    def _column(self, name: Any) -> PrivateSeries:
        return PrivateSeries(self._table, name, lookup(name, self._columns), self._where)

    def _by_column(self, value: Any) -> dict[Any, Any]:
        return dict(zip(self._columns, value.tolist(), strict=True))

    def _gathered(self, values: dict[Name, Any], flat: bool) -> Any:
        names = list(dict.fromkeys(column for column, _ in values))
        if flat:
            columns = pd.Index(names, tupleize_cols=False)
            return pd.Series(list(values.values()), index=columns)
        return by_row(values, names)

    def _titled(self, what: str, bounds: Sequence[Bounds] = ()) -> str:
        return f"{what} of {briefly(list(self._columns))}"

    def _beside(self, weights: object) -> Self:
        if weights is None or isinstance(weights, PrivateSeries):
            return self
        others = {name: e for name, e in self._columns.items() if name != weights}
        return self._with(others, self._where, self._selected)

    @release_method
    def count(
        self,
        *,
        weights: object = None,
        weight_bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The number of rows: an int. With columns selected (``[["a", "b"]]``), how many values
        of each are not missing: a Series.

        pandas' DataFrame.count is per column always; here a frame without selected columns counts
        rows, as `size` does. With weights= the answer is the sum of the weights: a float.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md), with weights the largest that one can be (docs/proofs/sums.md).
        """
        if self._selected:
            return super().count(
                weights=weights, weight_bounds=weight_bounds, epsilon=epsilon, **more
            )
        weighing = weights_of(self, weights, weight_bounds)
        if weighing is None:
            return self.size(epsilon=epsilon, **more)
        grids = (Grid.centred(weighing.bounds),)
        statistic = Sum(Cells(), Layout(integer=False), (weighing.expression,), grids)
        return self._answer(statistic, f"count{weighing}", epsilon, **more)

    @release_method
    def size(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The number of rows: an int. See `count`.

        *Guarantee*: epsilon-differential privacy of the unit; ℓ1 sensitivity 1 a row
        (docs/proofs/counts.md).
        """
        statistic = Count(Cells(), Layout(integer=True))
        return self._answer(statistic, "count", epsilon, **more)

    @release_method
    def sum(
        self,
        *,
        bounds: object = None,
        weights: object = None,
        weight_bounds: object = None,
        at_most: object = None,
        norm: object = None,
        epsilon: object = None,
        **more: Unpack[TargetErrorOptions],
    ) -> Any:
        """For each column the sum of its values clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them. Where none is given, the
            declared domain's; where it has none either, the number of values that are True: an
            int Series, whatever the dtypes, because a dtype is data.
        weights, weight_bounds : as in `count`; each value is then multiplied by its weight.
        norm : the most that the sizes of a row's values add up to: rows beyond are scaled down, and
            the noise grows with it; or ("l2", norm). See `PrivateSeries.sum`.
        at_most : of a row, at most so many True count, and the noise grows with this number and not
            with that of the columns. Which ones count, where a row has more, is decided by keyed
            hashes of the row alone; so it is a choice about as good as random.

        *Guarantee*: differential privacy of the unit; the ℓ1 sensitivity is the sum over the
        columns of the most that one row can add, or the norm (docs/proofs/sums.md), or at_most
        (docs/proofs/counts.md).

        >>> import pandas as pd, dppandas as dp
        >>> likes = pd.DataFrame({name: [True] * 90 for name in "abcdefgh"})
        >>> few = likes.dp.sum(at_most=2, epsilon=1)  # 180 in all, and not 720
        >>> bool(few.sum() < 400), dp.record(few).scale
        (True, 2.0)
        """
        declared = [self._table.declared(e) for e in self._columns.values()]
        is_bounded = bounds is not None or any(isinstance(d, Bounds | Span) for d in declared)
        if is_bounded or any(x is not None for x in (weights, weight_bounds, norm)):
            if at_most is not None:
                raise QueryError(
                    "at_most= is for columns of True and False, without bounds and weights."
                )
            return super().sum(
                bounds=bounds, weights=weights, weight_bounds=weight_bounds, norm=norm,
                epsilon=epsilon, **more,
            )  # fmt: skip
        if at_most is not None and more.get("within") is not None:
            raise QueryError(
                "at_most= of a sum is how many True of a row count, and with within= the most that "
                "an answer may cost: say which, by .sum(at_most=3).release(within=20) or "
                ".sum().release(within=20, at_most=0.5)."
            )
        for expression in self._operands().values():
            what = "the number of True (a sum of numbers needs bounds=)"
            need(expression, kinds.TRUTHS, self._table.source.facts, what)
        tests = tuple(true(expression) for expression in self._operands().values())
        if at_most is None:
            statistic, what = Count(Cells(), self._shape(integer=True), tests), "sum of True"
        else:
            most = whole_number(at_most, "at_most", 1)
            hashed = tuple(self._table.engine.columns)
            what = f"sum of True (at most {most} a row)"
            statistic = Count(
                Cells(), self._shape(integer=True), tests, at_most=most, hashed=hashed
            )
        return self._answer(statistic, self._titled(what), epsilon, **more)

    @release_method
    def cov(
        self,
        ddof: int = 1,
        *,
        dropna: bool = False,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The covariance of each two columns, of values clipped to bounds: a square DataFrame.

        bounds, ddof : as in `var`. As in pandas, each entry is about the rows that have both
            values. The table has no negative eigenvalue: what noise makes negative is made 0.
        dropna : True for the rows that have all values, as after ``dropna()``: with Gaussian noise
            and three columns or more the noise is then up to half as large.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).

        >>> import pandas as pd
        >>> df = pd.DataFrame({"a": [1, 2, 3, 4] * 99, "b": [4, 4, 2, 1] * 99})
        >>> df.dp[["a", "b"]].cov(bounds=(0, 5), epsilon=1).shape
        (2, 2)
        """
        return self._covariances("cov", ddof, dropna, bounds, epsilon, **more)

    @release_method
    def corr(
        self,
        method: str = "pearson",
        *,
        dropna: bool = False,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The correlation of each two columns, of values clipped to bounds: a square DataFrame.

        bounds : as in `var`. As in pandas, each entry is about the rows that have both values. The
            diagonal is 1, and no eigenvalue is negative; what can't be told from noise is 0.
        dropna : as in `cov`.

        *Guarantee*: differential privacy of the unit, and of how many values there are
        (docs/proofs/covariances.md).

        >>> import pandas as pd
        >>> df = pd.DataFrame({"a": [1, 2, 3, 4] * 99, "b": [4, 4, 2, 1] * 99})
        >>> df.dp.corr(bounds={"a": (1, 4), "b": (1, 4)}, epsilon=1).loc["a", "a"]
        np.float64(1.0)
        """
        pearson(method)
        return self._covariances("corr", 1, dropna, bounds, epsilon, **more)

    @release_method
    def idxmax(
        self,
        axis: Any = 0,
        *,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """The name of the column with the largest sum (without bounds, with most True values).

        Report noisy max over counting queries. The same as ``sum(…).idxmax(epsilon=…)``. With
        axis=1 nothing is answered: for each row the name of the column with its largest value, a
        private column (see `idxmin`).

        *Guarantee*: epsilon-differential privacy of the unit, however many columns there are
        (docs/proofs/permute_and_flip.md).

        >>> import pandas as pd
        >>> likes = pd.DataFrame({"cats": [True] * 90, "dogs": [False] * 90})
        >>> print(likes.dp.idxmax(epsilon=1))
        cats
        """
        if is_along_rows(axis):
            if bounds is not None or Ways.read(epsilon, more).give_loss:
                raise QueryError(
                    "idxmax(axis=1) makes a private column, which tells nothing by itself: ask it, "
                    "as in .idxmax(axis=1).value_counts(epsilon=…)."
                )
            return self._name_of(largest=True)
        scores = self.sum(bounds=bounds)
        is_asked = Ways.read(epsilon, more).give_loss or split.answers_now(depth=1)
        return scores.idxmax(epsilon=epsilon, **more) if is_asked else scores

    @release_method
    def value_counts(
        self,
        subset: Hashable | Sequence[Hashable] = None,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        dropna: bool = True,
        *,
        keys: object = None,
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """How many rows have each combination of declared keys: a Series named "count".

        keys : a dict with a list for each column (their product), or a list of tuples; else the
            declared domain's. The rest is as in DataFrame.value_counts.
        delta : without keys, combinations are found in the data: see `PrivateSeries.value_counts`.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md). For keys that are found, (epsilon, delta)
        (docs/proofs/thresholds.md).
        """
        names = list(subset) if isinstance(subset, list | pd.Index) else [subset]
        if not all(isinstance(name, Hashable) for name in names):
            raise QueryError("subset= names columns: a name, or a list of names.")
        chosen = self if subset is None else self[names]
        if chosen._are_unknown(list(chosen._columns), keys, more.get("delta")):
            flags = {"normalize": normalize, "sort": sort, "ascending": ascending}
            return chosen._found(
                list(chosen._columns), {**flags, "dropna": dropna}, epsilon, **more
            )
        cells = chosen._cells(list(chosen._columns), keys)
        if not dropna:
            raise QueryError("dropna=False is for one column; over several give keys= only.")
        return chosen._histogram(
            cells, list(chosen._columns), normalize, sort, ascending, epsilon, **more
        )
