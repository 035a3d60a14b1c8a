"""Tables of two sides: contingency tables, and pivot tables of an aggregate."""

from __future__ import annotations

from typing import Any, Unpack

import pandas as pd

from ..columns.private_rows import PrivateTable, listed
from ..errors import QueryError, hide_internals, is_one_of, parameters, quoted
from ..privacy.accounting.losses import ReleaseOptions, with_options_named
from ..release.asking import release_method
from ..release.private import Private
from ..rows import query_string
from ..rows.facts.keys import is_hashable
from ..statistics import Contingency, Layout
from .answers.summaries import Summaries
from .groupby import PrivateGroupBy

#: What a pivot table is made of: the answers with one number for each group.
AGGREGATES = ("count", "sum", "mean", "median", "quantile", "min", "max", "var", "std")


class CrosstabMethods(Summaries):
    """What a frame answers by keys down and keys across."""

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
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
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
            raise QueryError(f"margins={quoted(margins)} must be True or False.")
        if not (isinstance(normalize, bool) or is_one_of(normalize, ("all", "index", "columns"))):
            raise QueryError(
                f'normalize={quoted(normalize)} must be False, True, "all", "index" or "columns".'
            )
        sides = names_of(index), names_of(columns)
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
        epsilon: object = None,
        **more: Unpack[ReleaseOptions],
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
        sides = names_of(index), names_of(columns)
        if not any(sides):
            raise QueryError("pivot_table needs index= or columns=, the names of columns.")
        named = names_of(values) or [n for n in self._columns if n not in sides[0] + sides[1]]
        if len(named) != 1:
            raise QueryError(
                f"pivot_table aggregates one column, not {len(named)}: give values=, its name."
            )
        query_string.lookup(named[0], self._columns)
        as_list = isinstance(values, list | pd.Index)
        pivot = Pivot(self, sides, keys, named[0], as_list)
        return pivot.of(aggfunc, bounds, epsilon, **more)


def names_of(given: Any) -> list[Any]:
    """Columns by name: one, or a list; None for none."""
    if given is None:
        return []
    names = list(given) if isinstance(given, list | pd.Index) else [given]
    for name in names:
        if isinstance(name, Private):
            raise QueryError(
                "columns are given by name: call a private column something first, as in "
                ".assign(old=p['age'] > 60), and use that name."
            )
        if not is_hashable(name):
            raise QueryError(f"columns are given by name, and {quoted(name)} is none.")
    return names


def _and_sum(labels: pd.Index, name: object) -> pd.Index:
    """Labels, and one for the sum of all."""
    if not isinstance(name, str):
        raise QueryError(f"margins_name={quoted(name)} must be a text.")
    if isinstance(labels, pd.MultiIndex):
        last: tuple[str, ...] = (name, *[""] * (labels.nlevels - 1))
        taken = last in labels
        both: pd.Index = pd.MultiIndex.from_tuples([*labels, last], names=labels.names)
    else:
        taken = name in labels.tolist()
        both = pd.Index([*labels.tolist(), name], name=labels.name, tupleize_cols=False)
    if taken:
        raise QueryError(f"margins_name={quoted(name)} is a key already.")
    return both


class Pivot(PrivateGroupBy):
    """Groups of which some keys are rows of the answer, and others its columns."""

    def __init__(
        self,
        table: PrivateTable,
        sides: tuple[list[Any], list[Any]],
        keys: object,
        values: Any,
        as_list: bool = False,
    ) -> None:
        cells, joined = table._crossed(*sides, keys)
        super().__init__(table, [*sides[0], *sides[1]], cells, values)
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

    @with_options_named
    @hide_internals
    def of(
        self, aggfunc: object, bounds: object, epsilon: object, **more: Unpack[ReleaseOptions]
    ) -> Any:
        """The answer of one aggregate."""
        offered = [name for name in AGGREGATES if hasattr(PrivateGroupBy, name)]
        if not is_one_of(aggfunc, offered):
            raise QueryError(
                f"aggfunc={quoted(aggfunc)} must be one of {', '.join(offered)}, and one alone."
            )
        method = getattr(self, str(aggfunc))
        if "bounds" in parameters(method):
            return method(bounds=bounds, epsilon=epsilon, **more)
        if bounds is not None:
            raise QueryError(f"{aggfunc} takes no bounds=.")
        return method(epsilon=epsilon, **more)
