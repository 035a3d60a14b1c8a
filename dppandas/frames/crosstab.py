"""Contingency tables, and pivot tables of an aggregate."""

from __future__ import annotations

from typing import Any, Unpack

import pandas as pd

from ..columns.private_rows import PrivateTable, listed
from ..errors import QueryError, is_one_of, parameters, quoted
from ..privacy.accounting.losses import AskOptions
from ..release.asking import release_method
from ..rows import query_string
from ..statistics import Contingency, Layout
from .answers.summaries import Covariances
from .groupby import PrivateGroupBy
from .grouping import Grouping, names_of

#: The answers that a pivot table can show: those with one number for each group.
AGGREGATES = ("count", "sum", "mean", "median", "quantile", "min", "max", "var", "std")

#: The columns that are laid out as rows, and those that are laid out as columns.
Sides = tuple[list[Any], list[Any]]


class CrosstabMethods(Covariances):
    """The answers of a frame by keys of rows and keys of columns."""

    @release_method
    def crosstab(
        self,
        index: Any,
        columns: Any,
        *,
        keys: object = None,
        normalize: bool | str = False,
        margins: bool = False,
        margins_name: str = "All",
        **ways: Unpack[AskOptions],
    ) -> Any:
        """How many rows have each pair of keys: an int DataFrame, shaped as `pandas.crosstab`.

        index, columns : a column's name, or a list of names, for the rows and for the columns.
        keys : a dict with a list of labels for each column; else the declared domain's. Rows with
            other labels are dropped. Every pair has its cell, because which ones occur is private.
        normalize : True or "all", "index" (shares of a row's sum) or "columns": shares of the noisy
            counts, with 0 for counts below 0; floats on a public grid. Shares of nothing are 0, as
            in pandas.
        margins : True adds the sums of the noisy counts as a last row and column. They cost
            nothing, but their error is larger: about √n times for a sum of n cells, as error() and
            interval() say. If a sum matters more than its cells, ask for the sum alone.

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
            raise QueryError(f"margins={quoted(margins)} must be True or False.")
        if not (isinstance(normalize, bool) or is_one_of(normalize, ("all", "index", "columns"))):
            raise QueryError(
                f"normalize={quoted(normalize)} must be one of False, True, 'all', 'index' and "
                "'columns'. Write normalize='index' for shares of each row."
            )
        sides = names_of(index), names_of(columns)
        if not all(sides):
            raise QueryError("crosstab needs both index= and columns=. Name a column for each.")
        cells, joined = self._crossed(*sides, keys)
        share = str(normalize) if isinstance(normalize, str) else "all" if normalize else ""
        rows, across = (k.index(names) for k, names in zip(joined, sides, strict=True))
        if margins and share != "columns":
            rows = _and_sum(rows, margins_name)
        if margins and share != "index":
            across = _and_sum(across, margins_name)
        layout = Layout(integer=not share, index=rows, columns=across)
        statistic = Contingency(cells, layout, width=len(joined[1]), share=share, margins=margins)
        what = f"crosstab of {listed(sides[0])} by {listed(sides[1])} ({cells.described})"
        return self._question(statistic, f"shares: {what}" if share else what)

    @release_method
    def pivot_table(
        self,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: str = "mean",
        *,
        keys: object = None,
        bounds: object = None,
        **ways: Unpack[AskOptions],
    ) -> Any:
        """One aggregate of one column for each combination of keys: a DataFrame, shaped as
        DataFrame.pivot_table.

        values : the column to aggregate.
        index, columns : a name or a list of names, for the rows and for the columns.
        aggfunc : "mean", "sum", "count", "var", "std", or another that groupby answers with one
            number.
        keys : a dict with a list of labels for each column; else the declared domain's.
        bounds : of the values, as for the aggregate alone.

        *Guarantee*: that of the aggregate by groups, because it is the same release in another
        shape (docs/proofs/tables.md).

        >>> import pandas as pd
        >>> df = pd.DataFrame({"sex": ["f", "m"], "smokes": [True, False], "age": [30, 40]})
        >>> keys = {"sex": ["f", "m"], "smokes": [False, True]}
        >>> df.dp.pivot_table("age", "sex", "smokes", keys=keys, bounds=(0, 99), epsilon=1).shape
        (2, 2)
        """
        sides = names_of(index), names_of(columns)
        if not any(sides):
            raise QueryError("pivot_table needs index= or columns=. Name at least one column.")
        named = names_of(values) or [n for n in self._columns if n not in sides[0] + sides[1]]
        if len(named) != 1:
            raise QueryError(f"pivot_table aggregates one column, not {len(named)}. Give values=.")
        query_string.lookup(named[0], self._columns)
        as_list = isinstance(values, list | pd.Index)
        if not is_one_of(aggfunc, AGGREGATES):
            raise QueryError(f"aggfunc={quoted(aggfunc)} must be one of {', '.join(AGGREGATES)}.")
        method = getattr(Pivot(self, sides, keys, named[0], as_list), aggfunc)
        if "bounds" in parameters(method):
            return method(bounds=bounds)
        if bounds is not None:
            raise QueryError(f"{aggfunc} takes no bounds=. Leave it out.")
        return method()


def _and_sum(labels: pd.Index, name: object) -> pd.Index:
    """Labels, with one more for their sum."""
    if not isinstance(name, str):
        raise QueryError(f"margins_name={quoted(name)} must be a string.")
    has_levels = isinstance(labels, pd.MultiIndex)
    last: Any = (name, *[""] * (labels.nlevels - 1)) if has_levels else name
    if last in labels.tolist():
        raise QueryError(f"margins_name={quoted(name)} is a key already. Use another name.")
    both = [*labels.tolist(), last]
    if has_levels:
        return pd.MultiIndex.from_tuples(both, names=labels.names)
    summed: pd.Index = pd.Index(both, name=labels.name, tupleize_cols=False)
    return summed


class Pivot(PrivateGroupBy):
    """Groups whose keys are laid out as rows and columns of the answer."""

    def __init__(
        self, table: PrivateTable, sides: Sides, keys: object, values: Any, as_list: bool
    ) -> None:
        cells, joined = table._crossed(*sides, keys)
        names = [*sides[0], *sides[1]]
        super().__init__(table, Grouping(names, cells, frozenset(names)), values)
        named = [side for side in sides if side]
        labels = [k.index(names) for k, names in zip(joined, named, strict=True)]
        alone = pd.Index([values])
        rows = labels[0] if sides[0] else alone
        columns = labels[-1] if sides[1] else alone
        if as_list and sides[1] and sides[0]:
            inner = [label if isinstance(label, tuple) else (label,) for label in columns]
            columns = pd.MultiIndex.from_tuples(
                [(values, *label) for label in inner], names=[None, *sides[1]]
            )
        self._rows_and_columns = rows, columns

    def _shape(self, integer: bool) -> Layout:
        rows, columns = self._rows_and_columns
        return Layout(integer=integer, index=rows, columns=columns)

    def _by_group(self, what: str) -> str:
        return f"pivot table: {super()._by_group(what)}"
