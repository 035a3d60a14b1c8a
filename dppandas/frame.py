"""The pandas-shaped face of a table about people: `PrivateFrame`.

Argument shaping only. Each method turns what pandas users write into a statistic over row-wise
expressions; what is computed, charged and noised is decided on the road behind `release`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from html import escape
from typing import Any, Unpack

import pandas as pd

from . import refusals
from .answers import Answers
from .budget import More, gives_loss
from .domain import MOST_ROWS, Bounds, Keys
from .errors import QueryError, shown
from .groups import PrivateGroupBy
from .rows import Expression
from .series import PrivateSeries
from .shaping import asks, listed, once, true
from .statistics import Cells, Count, Layout, Truncation
from .tables import PerUnit
from .verbs import Verbs


class PrivateFrame(Verbs, Answers):
    """Rows about people that answer only through releases. It shows its schema, never its rows."""

    # what is public

    def describe(self) -> pd.DataFrame:
        """The public schema: each column with the bounds or keys that were declared for it."""
        declared = [self._root.declared(expression) for expression in self._columns.values()]
        return pd.DataFrame(
            {
                "bounds": [str(d) if isinstance(d, Bounds) else "" for d in declared],
                "keys": [str(d) if isinstance(d, Keys) else "" for d in declared],
            },
            index=pd.Index(list(self._columns), name="column", tupleize_cols=False),
        )

    def __repr__(self) -> str:
        source = self._root.source
        rows_kept = "" if self._where is None else f"\nrows where {self._where}"
        return (
            f"<private frame of {source.name} ({source.lineage}), protecting {source.unit}>"
            f"{rows_kept}\n{self.describe().to_string()}"
        )

    def _repr_html_(self) -> str:
        source = self._root.source
        rows_kept = "" if self._where is None else f" · rows where {self._where}"
        head = f"private frame of {source.name} ({source.lineage}), protecting {source.unit}"
        return f"<div><p>{escape(head + rows_kept)}</p>{self.describe().to_html()}</div>"

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(c for c in self._columns if isinstance(c, str))]

    def __getattr__(self, name: str) -> PrivateSeries:
        if not name.startswith("_") and name in self._columns and name not in refusals.VERBS:
            return PrivateSeries(self._root, name, self._columns[name], self._where)
        if name.startswith("_"):
            raise AttributeError(name)
        answers = (
            "count, size, sum, mean, var, std, value_counts, idxmax, groupby, per_unit, truncated"
        )
        raise refusals.refuse("private frames", name, answers, self._columns)

    # units

    def per_unit(self) -> PerUnit[PrivateFrame]:
        """One row for each unit: ``per_unit().agg(spend=("amount", "sum"))``. See `PerUnit`."""
        if self._root.source.unit.column is None:
            raise QueryError(
                "each row is one unit here. per_unit() is for a source with a unit column: "
                'dp.protect(df, …, unit="person_id"). Nothing was computed or charged.'
            )
        return PerUnit(self)

    @asks
    def truncated(
        self, *, counted: int | None = None, epsilon: object = None, **more: Unpack[More]
    ) -> Any:
        """The shares of rows that max_rows keeps and drops: what truncation changes.

        counted : a unit's rows are counted up to this public number, by default 10 * max_rows; the
            noise grows with it. No interval includes what truncation changes, so this pays for a
            look at it. The result is a Series under "kept" and "dropped".

        *Guarantee*: epsilon-differential privacy of the unit, with ℓ1 sensitivity `counted`
        (docs/proofs/units.md).
        """
        most = self._root.source.unit.max_rows
        name = next(n for n in ("rows", "rows_") if n != self._root.source.unit.column)
        per_unit = self.per_unit().agg(**{name: "size"})
        up_to = 10 * most if counted is None else counted
        if isinstance(up_to, bool) or not isinstance(up_to, int) or not most < up_to <= MOST_ROWS:
            raise QueryError(f"counted={shown(counted)} must be a whole number above {most}.")
        labels = pd.Index(["kept", "dropped"], name="rows")
        layout = Layout(integer=False, index=labels, name="proportion")
        statistic = Truncation(Cells(), layout, per_unit._columns[name], most, up_to)
        return per_unit._answer(
            statistic, f"rows beyond max_rows={most}, of {up_to}", epsilon, **more
        )

    # answers

    def _operands(self) -> dict[Any, Expression]:
        self._some_columns()
        return self._columns

    def _shape(self, integer: bool) -> Layout:
        return Layout(integer=integer, index=self.columns)

    def _titled(self, what: str, bounds: Sequence[Bounds] = ()) -> str:
        return f"{what} of {listed(self._columns)}"

    @asks
    def count(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The number of rows: an int. With columns selected (``[["a", "b"]]``), how many values
        of each are not missing: a Series.

        pandas' DataFrame.count is per column always; here a frame without selected columns counts
        rows, as `size` does.

        *Guarantee*: differential privacy of the unit; ℓ1 sensitivity 1 a row and column
        (docs/proofs/counts.md).
        """
        if not self._selected:
            return self.size(epsilon=epsilon, **more)
        return super().count(epsilon=epsilon, **more)

    @asks
    def size(self, *, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The number of rows: an int. See `count`.

        *Guarantee*: epsilon-differential privacy of the unit; ℓ1 sensitivity 1 a row
        (docs/proofs/counts.md).
        """
        statistic = Count(Cells(), Layout(integer=True))
        return self._answer(statistic, "count", epsilon, **more)

    @asks
    def sum(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """For each column the sum of its values clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them. Where none is given, the
            declared domain's; where it has none either, the number of values that are True: an
            int Series, whatever the dtypes, because a dtype is data.

        *Guarantee*: differential privacy of the unit; the ℓ1 sensitivity is the sum over the
        columns of the most that one row can add (docs/proofs/sums.md).
        """
        declared = [self._root.declared(e) for e in self._columns.values()]
        if bounds is not None or any(isinstance(d, Bounds) for d in declared):
            return super().sum(bounds=bounds, epsilon=epsilon, **more)
        tests = tuple(true(expression) for expression in self._operands().values())
        statistic = Count(Cells(), self._shape(integer=True), tests)
        return self._answer(statistic, self._titled("sum of True"), epsilon, **more)

    @asks
    def idxmax(self, *, bounds: object = None, epsilon: object = None, **more: Unpack[More]) -> Any:
        """The name of the column with the largest sum (without bounds, with most True values).

        Report noisy max over counting queries. The same as ``sum(…).idxmax(epsilon=…)``.

        *Guarantee*: epsilon-differential privacy of the unit, however many columns there are
        (docs/proofs/permute_and_flip.md).

        >>> import pandas as pd
        >>> likes = pd.DataFrame({"cats": [True] * 90, "dogs": [False] * 90})
        >>> print(likes.dp.idxmax(epsilon=1))
        cats
        """
        scores = self.sum(bounds=bounds)
        return scores.idxmax(epsilon=epsilon, **more) if gives_loss(epsilon, more) else scores

    @asks
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
        **more: Unpack[More],
    ) -> Any:
        """How many rows have each combination of declared keys: a Series named "count".

        keys : a dict with a list for each column (their product), or a list of tuples; else the
            declared domain's. The rest is as in DataFrame.value_counts.

        *Guarantee*: epsilon-differential privacy of the unit; the keys are disjoint, so the ℓ1
        sensitivity is 1 a row (docs/proofs/counts.md).
        """
        names = list(subset) if isinstance(subset, list | pd.Index) else [subset]
        if not all(isinstance(name, Hashable) for name in names):
            raise QueryError("subset= names columns: a name, or a list of names.")
        chosen = self if subset is None else self[names]
        cells = chosen._cells(list(chosen._columns), keys)
        if not dropna:
            raise QueryError("dropna=False is for one column; over several give keys= only.")
        return chosen._histogram(
            cells, list(chosen._columns), normalize, sort, ascending, epsilon, **more
        )

    @asks
    def groupby(
        self,
        by: Any,
        keys: object = None,
        *,
        as_index: bool = True,
        sort: bool = False,
        observed: bool = False,
        dropna: bool = True,
    ) -> PrivateGroupBy:
        """Group rows by declared keys of a column, or of several.

        keys : for one column a list; for several a dict with a list for each (their product) or a
            list of tuples; else the declared domain's. Rows outside the keys are dropped. Groups
            come in declared order, all of them: which groups have rows is private.

        as_index, sort, observed, dropna : as in pandas, but only with the values shown, which are
            the ones that make sense; another one raises `QueryError` and says what to do instead.
        """
        for given, only, instead in (
            (as_index, True, "as_index=False: call .reset_index() on the result"),
            (sort, False, "sort=True: call .sort_index() on the result, or sort keys="),
            (observed, False, "observed=True: which keys have rows is private"),
            (dropna, True, "dropna=False: missing labels are in no group; fill them before"),
        ):
            if given is not only:
                raise QueryError(f"{instead}. Nothing was computed or charged.")
        names = list(by) if isinstance(by, list | pd.Index) else [by]
        if not names:
            raise QueryError("groupby needs at least one column.")
        cells = self._cells(names, keys)
        once(names)
        return PrivateGroupBy(self, names, cells, None)
