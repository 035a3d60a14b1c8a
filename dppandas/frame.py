"""The pandas-shaped face of a table about people: `PrivateFrame`.

Argument shaping only. Each method turns what pandas users write into a statistic over row-wise
expressions; what is computed, charged and noised is decided on the road behind `release`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from html import escape
from typing import Any, Unpack

import numpy as np
import pandas as pd

from . import refusals
from .answers import Answers
from .budget import More, gives_loss
from .domain import MOST_ROWS, Bounds, Keys
from .errors import QueryError, is_one_of, quiet, shown
from .groups import Pivot, PrivateGroupBy
from .rows import Expression
from .series import PrivateSeries
from .shaping import asks, listed, once, true
from .statistics import Cells, Contingency, Count, Layout, Truncation
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
        answers = "count, size, sum, mean, value_counts, idxmax, crosstab, pivot_table, groupby, "
        answers += "per_unit and truncated"
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
    def sum(
        self,
        *,
        bounds: object = None,
        at_most: int | None = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """For each column the sum of its values clipped to bounds: a float Series.

        bounds : one (lower, upper) for all columns, or a dict of them. Where none is given, the
            declared domain's; where it has none either, the number of values that are True: an
            int Series, whatever the dtypes, because a dtype is data.
        at_most : of a row, at most so many True count, and the noise grows with this number and not
            with that of the columns. Which ones count, where a row has more, is decided by keyed
            hashes of the row alone; so it is a choice about as good as random.

        *Guarantee*: differential privacy of the unit; the ℓ1 sensitivity is the sum over the
        columns of the most that one row can add (docs/proofs/sums.md), or at_most
        (docs/proofs/counts.md).

        >>> import pandas as pd, dppandas as dp
        >>> likes = pd.DataFrame({name: [True] * 90 for name in "abcdefgh"})
        >>> few = likes.dp.sum(at_most=2, epsilon=1)  # 180 in all, and not 720
        >>> bool(few.sum() < 400), dp.record(few).scale
        (True, 2.0)
        """
        declared = [self._root.declared(e) for e in self._columns.values()]
        if bounds is not None or any(isinstance(d, Bounds) for d in declared):
            if at_most is not None:
                raise QueryError("at_most= is for columns of True and False, without bounds.")
            return super().sum(bounds=bounds, epsilon=epsilon, **more)
        tests = tuple(true(expression) for expression in self._operands().values())
        if at_most is None:
            statistic, what = Count(Cells(), self._shape(integer=True), tests), "sum of True"
        else:
            most = _at_least_one(at_most)
            hashed = tuple(self._root.engine.columns)
            what = f"sum of True (at most {most} a row)"
            statistic = Count(
                Cells(), self._shape(integer=True), tests, at_most=most, hashed=hashed
            )
        return self._answer(statistic, self._titled(what), epsilon, **more)

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
        names = _names(by)
        if not names:
            raise QueryError("groupby needs at least one column.")
        cells = self._cells(names, keys)
        once(names)
        return PrivateGroupBy(self, names, cells, None)

    # tables

    @asks
    def crosstab(
        self,
        index: Any,
        columns: Any,
        *,
        keys: object = None,
        normalize: bool | str = False,
        margins: bool = False,
        margins_name: str = "All",
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """How many rows have each pair of keys: an int DataFrame, shaped as `pandas.crosstab`.

        index, columns : a column's name, or a list of names, for the rows and for the columns.
        keys : a dict with a list of labels for each column; else the declared domain's. Rows with
            other labels are dropped, and every pair has its cell: which ones occur is private.
        normalize : True or "all", "index" (shares of a row's sum) or "columns": shares of noisy
            counts, those below 0 taken as 0; floats on a public grid. Shares of nothing are 0, as
            in pandas.
        margins : True adds the sums of the noisy counts as a last row and column. They cost
            nothing, and err by more: about √n times as much for a sum of n cells, as error() and
            interval() say. Where a sum matters more than its parts, ask for it alone.

        *Guarantee*: differential privacy of the unit; the cells are disjoint, so the ℓ1
        sensitivity is 1 a row, and all else is post-processing (docs/proofs/tables.md).

        >>> import pandas as pd
        >>> df = pd.DataFrame({"sex": ["f", "m", "f"], "smokes": [True, False, False]})
        >>> keys = {"sex": ["f", "m"], "smokes": [False, True]}
        >>> table = df.dp.crosstab("sex", "smokes", keys=keys, margins=True, epsilon=1)
        >>> table.shape, bool(table.loc["All", "All"] == table.iloc[:2, :2].sum().sum())
        ((3, 3), True)
        """
        if not isinstance(margins, bool):
            raise QueryError(f"margins={shown(margins)} must be True or False.")
        if not (isinstance(normalize, bool) or is_one_of(normalize, ("all", "index", "columns"))):
            raise QueryError(
                f'normalize={shown(normalize)} must be False, True, "all", "index" or "columns".'
            )
        sides = _names(index), _names(columns)
        if not all(sides):
            raise QueryError("crosstab needs columns for its rows, and columns for its columns.")
        cells, joined = self._crossed(*sides, keys)
        share = str(normalize) if isinstance(normalize, str) else "all" if normalize else ""
        labels = [k.index(names) for k, names in zip(joined, sides, strict=True)]
        if margins:
            labels = [
                _and_sum(side, margins_name) if share not in own else side
                for side, own in zip(labels, (("columns",), ("index",)), strict=True)
            ]
        layout = Layout(integer=not share, index=labels[0], columns=labels[1])
        statistic = Contingency(
            cells, layout, width=len(joined[1]), share=share, margins=bool(margins)
        )
        what = f"crosstab of {listed(sides[0])} by {listed(sides[1])} ({cells.described})"
        return self._answer(statistic, f"shares: {what}" if share else what, epsilon, **more)

    @asks
    def pivot_table(
        self,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: str = "mean",
        *,
        keys: object = None,
        bounds: object = None,
        epsilon: object = None,
        **more: Unpack[More],
    ) -> Any:
        """One aggregate of one column for each combination of keys: a DataFrame, shaped as
        DataFrame.pivot_table.

        values : the column that is aggregated.
        index, columns : a name or a list of names: keys down, and keys across.
        aggfunc : "mean", "sum", "count", "var", "std": what groupby answers with one number.
        keys : a dict with a list of labels for each column; else the declared domain's.
        bounds : of values, as for the aggregate alone.

        *Guarantee*: that of the aggregate by groups, for it is the same release in another shape
        (docs/proofs/tables.md).

        >>> import pandas as pd
        >>> df = pd.DataFrame({"sex": ["f", "m"], "smokes": [True, False], "age": [30, 40]})
        >>> keys = {"sex": ["f", "m"], "smokes": [False, True]}
        >>> df.dp.pivot_table("age", "sex", "smokes", keys=keys, bounds=(0, 99), epsilon=1).shape
        (2, 2)
        """
        sides = _names(index), _names(columns)
        if not any(sides):
            raise QueryError("pivot_table needs index= or columns=, the names of columns.")
        named = _names(values) or [n for n in self._columns if n not in sides[0] + sides[1]]
        if len(named) != 1:
            raise QueryError(
                f"pivot_table aggregates one column, not {len(named)}: give values=, its name."
            )
        if named[0] not in self._columns:
            self[named[0]]  # which says so
        as_list = isinstance(values, list | pd.Index)
        pivot = Pivot(self, sides, keys, named[0], as_list)
        return pivot.of(aggfunc, bounds, epsilon, **more)


def _names(given: Any) -> list[Any]:
    """Columns by name: one, or a list; None for none."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | pd.Index) else [given]


def _and_sum(labels: pd.Index, name: object) -> pd.Index:
    """Labels, and one for the sum of all."""
    if not isinstance(name, str):
        raise QueryError(f"margins_name={shown(name)} must be a text.")
    if isinstance(labels, pd.MultiIndex):
        last: tuple[str, ...] = (name, *[""] * (labels.nlevels - 1))
        taken = last in labels
        both: pd.Index = pd.MultiIndex.from_tuples([*labels, last], names=labels.names)
    else:
        taken = name in labels.tolist()
        both = pd.Index([*labels.tolist(), name], name=labels.name, tupleize_cols=False)
    if taken:
        raise QueryError(f"margins_name={shown(name)} is a key already. Nothing was charged.")
    return both


def _at_least_one(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise QueryError(f"at_most={shown(value)} must be a whole number of at least 1.")
    return int(value)


@quiet
def crosstab(
    index: Any,
    columns: Any,
    *,
    keys: object = None,
    normalize: bool | str = False,
    margins: bool = False,
    margins_name: str = "All",
    epsilon: object = None,
    **more: Unpack[More],
) -> Any:
    """`PrivateFrame.crosstab`, spelled like `pandas.crosstab`: of private columns or lists of them.

    *Guarantee*: as there (docs/proofs/tables.md).

    >>> import pandas as pd, dppandas as dp
    >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [3, 3]}), unit="row")
    >>> dp.crosstab(p["a"], p["b"], keys={"a": [1, 2], "b": [3, 4]})
    <unreleased crosstab of a by b (4 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…)>
    """
    sides = []
    for given, name in ((index, "row"), (columns, "col")):
        side = given if isinstance(given, list | tuple) else [given]
        if not side or not all(isinstance(each, PrivateSeries) for each in side):
            raise QueryError(
                "dp.crosstab takes private columns, or lists of them; pandas.crosstab takes plain "
                "ones. Nothing was computed or charged."
            )
        sides.append([(f"{name}_{i}" if s.name is None else s.name, s) for i, s in enumerate(side)])
    named = [pair for side in sides for pair in side]
    if len({name for name, _ in named}) < len(named):
        raise QueryError("two of these columns have one name; rename one. Nothing was charged.")
    first = named[0][1]
    table = PrivateFrame(
        first._root, {name: first._other(column) for name, column in named}, first._where
    )
    return table.crosstab(
        [name for name, _ in sides[0]], [name for name, _ in sides[1]],
        keys=keys, normalize=normalize, margins=margins, margins_name=margins_name,
        epsilon=epsilon, **more,
    )  # fmt: skip
