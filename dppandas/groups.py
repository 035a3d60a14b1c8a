"""Private rows in groups of declared keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from . import querystring, refusals
from .domain import Bounds, Grid
from .errors import QueryError
from .rows import Expression
from .series import distinct_units
from .shaping import Rows, asks, bounds_of, index, listed, once, present, variance
from .statistics import Cells, Count, Distinct, Layout, Mean, Statistic, Sum


class PrivateGroupBy(Rows):
    """Private rows grouped by declared keys; answers have one entry for each key, in that order."""

    def __init__(self, table: Rows, names: list[Any], cells: Cells, selected: Any) -> None:
        super().__init__(table._root, table._columns, table._where)
        self._names = names
        self._groups = cells
        self._selected = selected  # None: all other columns; a list; or one name

    def __repr__(self) -> str:
        return f"<private groups of {listed(self._names)}, {self._groups.described}>"

    def __getitem__(self, key: Any) -> PrivateGroupBy:
        selected = list(key) if isinstance(key, list | pd.Index) else key
        for name in selected if isinstance(selected, list) else [selected]:
            querystring.lookup(name, self._columns)
        once(selected if isinstance(selected, list) else [])
        return PrivateGroupBy(self, self._names, self._groups, selected)

    def __getattr__(self, name: str) -> PrivateGroupBy:
        if not name.startswith("_") and name in self._columns:
            return self[name]
        if name.startswith("_"):
            raise AttributeError(name)
        answers = "size, count, sum, mean, var, std, value_counts and (a unit's) nunique"
        raise refusals.refuse("private groups", name, answers, self._columns)

    def _operands(self) -> dict[Any, Expression]:
        if self._selected is None:
            names = [name for name in self._columns if name not in self._names]
        else:
            names = self._selected if isinstance(self._selected, list) else [self._selected]
        if not names:
            raise QueryError("no columns are left to answer for; use .size().")
        return {name: self._columns[name] for name in names}

    def _layout(self, integer: bool, operands: Mapping[Any, Expression]) -> Layout:
        labels = index(self._groups, self._names)
        if self._selected is None or isinstance(self._selected, list):
            return Layout(integer=integer, index=labels, columns=pd.Index(list(operands)))
        return Layout(integer=integer, index=labels, name=self._selected)

    def _by_group(self, statistic: Statistic, what: str, epsilon: object) -> Any:
        titled = f"{what} by {listed(self._names)} ({self._groups.described})"
        return self._answer(statistic, titled, epsilon)

    @asks
    def size(self, *, epsilon: object = None) -> Any:
        """The number of rows of each group: an int Series.

        *Guarantee*: epsilon-differential privacy of the unit; groups are disjoint
        (docs/proofs/counts.md).
        """
        layout = Layout(integer=True, index=index(self._groups, self._names))
        return self._by_group(Count(self._groups, layout), "size", epsilon)

    @asks
    def count(self, *, epsilon: object = None) -> Any:
        """How many values of each group are not missing: an int Series, or a DataFrame for
        several columns, whose number is then the ℓ1 sensitivity of a row.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        operands = self._operands()
        tests = tuple(present(expression) for expression in operands.values())
        statistic = Count(self._groups, self._layout(True, operands), tests)
        return self._by_group(statistic, f"count of {listed(operands)}", epsilon)

    @asks
    def sum(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The sum of each group's values, clipped to bounds: a float Series or DataFrame.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/sums.md).
        """
        operands = self._operands()
        parsed = self._bounds(operands, bounds)
        grids = tuple(Grid.centred(b) for b in parsed)
        layout = self._layout(False, operands)
        statistic = Sum(self._groups, layout, tuple(operands.values()), grids)
        return self._by_group(statistic, f"sum of {listed(operands)}", epsilon)

    @asks
    def mean(self, *, bounds: object = None, epsilon: object = None) -> Any:
        """The mean of each group's values, clipped to bounds: a float Series or DataFrame.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many rows each group has
        (docs/proofs/means.md).
        """
        operands = self._operands()
        parsed = tuple(self._bounds(operands, bounds))
        layout = self._layout(False, operands)
        statistic = Mean(self._groups, layout, tuple(operands.values()), parsed)
        return self._by_group(statistic, f"mean of {listed(operands)}", epsilon)

    @asks
    def var(self, ddof: int = 1, *, bounds: object = None, epsilon: object = None) -> Any:
        """The variance of each group's values, clipped to bounds: a float Series or DataFrame.

        *Guarantee*: epsilon-differential privacy of the unit, and of how many rows each group has
        (docs/proofs/variances.md).
        """
        return self._spread("var", ddof, bounds, epsilon)

    @asks
    def std(self, ddof: int = 1, *, bounds: object = None, epsilon: object = None) -> Any:
        """The standard deviation of each group's values: the root of `var`.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/variances.md).
        """
        return self._spread("std", ddof, bounds, epsilon)

    def _spread(self, what: str, ddof: int, bounds: object, epsilon: object) -> Any:
        operands = self._operands()
        parsed = self._bounds(operands, bounds)
        layout = self._layout(False, operands)
        statistic = variance(what, self._groups, layout, operands, parsed, ddof)
        return self._by_group(statistic, f"{what} of {listed(operands)}", epsilon)

    @asks
    def value_counts(
        self,
        normalize: bool = False,
        sort: bool = True,
        ascending: bool = False,
        *,
        keys: object = None,
        epsilon: object = None,
    ) -> Any:
        """How many rows of each group have each declared key of one column: a Series.

        keys : the labels of the selected column; else the declared domain's.

        *Guarantee*: epsilon-differential privacy of the unit (docs/proofs/counts.md).
        """
        if self._selected is None or isinstance(self._selected, list):
            raise QueryError('select one column: groupby(…)["column"].value_counts(…).')
        inner = self._cells([self._selected], keys)
        outer_keys, inner_keys = self._groups.keys, inner.keys
        if outer_keys is None or inner_keys is None:
            raise QueryError("value_counts by group needs keys.")
        cells = Cells(self._groups.by + inner.by, outer_keys.then(inner_keys))
        names = [*self._names, self._selected]
        block = len(inner_keys)
        return self._histogram(cells, names, normalize, sort, ascending, epsilon, block)

    @asks
    def nunique(self, *, epsilon: object = None) -> Any:
        """How many units have a row in each group: an int Series. Only of the unit column.

        *Guarantee*: epsilon-differential privacy of the unit, which adds at most 1 to each group
        that its rows can reach (docs/proofs/units.md).
        """
        if self._selected is None or isinstance(self._selected, list):
            raise QueryError('select the unit column: groupby(…)["person_id"].nunique(…).')
        distinct_units(self._root, self._columns[self._selected])
        layout = self._layout(True, {})
        statistic = Distinct(self._groups, layout)
        return self._by_group(statistic, f"nunique of {listed([self._selected])}", epsilon)

    def _bounds(self, operands: Mapping[Any, Expression], bounds: object) -> list[Bounds]:
        return [bounds_of(self._root, n, e, bounds) for n, e in operands.items()]
