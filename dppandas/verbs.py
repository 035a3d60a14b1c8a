"""The verbs that keep, change and make private rows, each of them row by row."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any, Self

import numpy as np
import pandas as pd

from . import querystring, rows
from .asking import asks
from .columns import kept
from .domain import Keys, is_hashable, some_names
from .errors import LineageError, QueryError, UnsupportedVerb, caller, is_one_of, shown
from .private import Private, Root
from .privaterows import Rows, once, same_rows
from .publics import public_table, refuse_private
from .rows import Column, Expression, Literal
from .rowwise import present
from .series import PrivateSeries
from .spending import Path
from .totals import MOST_BRANCHES


class Verbs(Rows):
    """Private rows of which others are made."""

    #: Whether somebody chose these columns: answers are then one a column.
    _selected = False

    @property
    def columns(self) -> pd.Index:
        """The names of the columns, which are public."""
        names: pd.Index = pd.Index(list(self._columns))
        return names

    # which rows and columns

    def query(self, expr: str) -> Self:
        """Keep the rows for which a query string is true, in the grammar of DataFrame.query.

        Comparisons, and/or/not, arithmetic, ``in`` with a written list, ``.isna()``,
        ``.notna()``, ``.isin([…])`` and ``.between(a, b)`` over columns, plain values and @scalars
        of the caller; the rest is refused. *Stability*: 1, for each row is kept or dropped by its
        own values.

        >>> import pandas as pd, dppandas as dp
        >>> adults = pd.DataFrame({"age": [15, 30, 60]}).dp.query("age >= 18")
        >>> type(adults.count(epsilon=1).interval())
        <class 'tuple'>
        """
        condition = querystring.parse(expr, self._columns, _variables_of(caller(sys._getframe())))
        return self._with(self._columns, rows.both(self._where, condition), self._selected)

    def _with(
        self, columns: Mapping[Any, Expression], where: Expression | None, selected: bool
    ) -> Self:
        frame = type(self)(self._root, columns, where)
        frame._selected = selected
        return frame

    def _with_root(self, root: Root) -> Self:
        frame = type(self)(root, self._columns, self._where)
        frame._selected = self._selected
        return frame

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, PrivateSeries):
            return self._with(self._columns, kept(self, key), self._selected)
        if isinstance(key, list | pd.Index):
            names = list(key)
            chosen = {name: querystring.lookup(name, self._columns) for name in names}
            once(names)
            return self._with(chosen, self._where, selected=True)
        if not isinstance(key, Hashable) or isinstance(key, slice):
            raise QueryError(
                "index a private frame by a column name, a list of names, or a private mask such "
                "as frame[frame['age'] > 30]; rows can't be chosen by position or by plain values."
            )
        expression = self._found_column(key)
        return PrivateSeries(self._root, key, expression, self._where)

    # row by row

    def assign(self, **columns: Any) -> Self:
        """With new columns: private columns, functions of this frame, plain values, or strings in
        the grammar of `query` (a plain text is written in quotes of its own: "'text'").

        A column assigned anew drops its declared domain; what the new expression implies holds
        instead. The unit column can't be assigned. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")
        >>> adults = p.assign(adult="age >= 18", months=lambda p: p["age"] * 12)
        >>> adults.groupby("adult").size()
        <unreleased size by adult (2 keys), from unnamed (asserted): nothing computed or charged; \
ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        variables = _variables_of(caller(sys._getframe()))
        frame = self
        for name, value in columns.items():
            self._not_the_unit(name)
            expression = frame._expression_of(value, variables)
            frame = frame._with({**frame._columns, name: expression}, self._where, self._selected)
        return frame

    def _expression_of(self, value: Any, variables: Callable[[str], Any]) -> Expression:
        if isinstance(value, str):
            return querystring.parse(value, self._columns, variables, is_filter=False)
        if callable(value) and not isinstance(value, PrivateSeries):
            value = value(self)
        if isinstance(value, PrivateSeries):
            same_rows(self, value)
            return value._expression
        return PrivateSeries(self._root, None, Literal(None), self._where)._value(value)

    def _not_the_unit(self, name: Any) -> None:
        unit = self._root.source.unit.column
        if unit is not None and name == unit:
            raise LineageError(
                f"{name!r} says whose row it is, and can't be redefined. Use another name. "
                "Nothing was computed or charged."
            )

    @asks
    def rename(self, *, columns: Any) -> Self:
        """With other names: a dict, or a function of a name. *Stability*: 1."""
        if not isinstance(columns, Mapping) and not callable(columns):
            raise QueryError("columns= is a dict of old to new names, or a function of a name.")
        renamed: dict[Any, Expression] = {}
        for name, expression in self._columns.items():
            new = columns.get(name, name) if isinstance(columns, Mapping) else columns(name)
            if not is_hashable(new):
                raise QueryError(f"{shown(new)} can't name a column.")
            if new in renamed:
                raise QueryError(f"two columns would be called {shown(new)}.")
            if new != name:
                self._not_the_unit(new)
            renamed[new] = expression
        return self._with(renamed, self._where, self._selected)

    @asks
    def drop(self, *, columns: Any) -> Self:
        """Without some columns. *Stability*: 1."""
        names = columns if isinstance(columns, list | tuple | pd.Index) else [columns]
        for name in names:
            querystring.lookup(name, self._columns)
        left = {name: e for name, e in self._columns.items() if name not in list(names)}
        return self._with(left, self._where, self._selected)

    @asks
    def dropna(self, *, subset: Any = None, how: str = "any") -> Self:
        """Only rows in which no value of some columns (how="all": not every one) is missing.

        *Stability*: 1, row by row.
        """
        if not is_one_of(how, ("any", "all")):
            raise QueryError("how= is 'any' or 'all'.")
        names = list(self._columns) if subset is None else subset
        names = names if isinstance(names, list | pd.Index) else [names]
        there = [present(querystring.lookup(name, self._columns)) for name in names]
        if not there:
            raise QueryError("there are no columns to look at.")
        join = rows.And if how == "any" else rows.Or
        return self._with(
            self._columns, rows.both(self._where, functools.reduce(join, there)), self._selected
        )

    @asks
    def fillna(self, value: Any) -> Self:
        """With constants for missing values: one, or a dict of columns. *Stability*: 1."""
        return self._columnwise(value, lambda column, given: column.fillna(given))

    @asks
    def astype(self, dtype: Any) -> Self:
        """As other types: one, or a dict of columns. See `PrivateSeries.astype`."""
        return self._columnwise(dtype, lambda column, given: column.astype(given))

    @asks
    def round(self, decimals: Any = 0) -> Self:
        """Rounded numbers: one number of decimals, or a dict of columns."""
        return self._columnwise(decimals, lambda column, given: column.round(given))

    @asks
    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """With plain values in the place of others, in each column. See `PrivateSeries.replace`."""
        if isinstance(to_replace, Mapping) and any(
            isinstance(each, Mapping) for each in to_replace.values()
        ):
            if value is not None or not all(isinstance(m, Mapping) for m in to_replace.values()):
                raise QueryError("replace takes one dict of old to new, or one of these a column.")
            return self._columnwise(to_replace, lambda column, given: column.replace(given))
        return self._columnwise(None, lambda column, _: column.replace(to_replace, value))

    # one value of several of a row

    @asks
    def dot(self, other: Any) -> Any:
        """Weighted sums of the columns of each row, as DataFrame.dot: a private column, or for a
        DataFrame of weights a private frame with a column for each of its.

        other : public numbers: a Series or a DataFrame whose index are these columns, a list, or an
            array with a weight (or a row of weights) for each, in their order. A weighted sum is
            missing where any value is. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 5.0]}), unit="row")
        >>> p.dot([0.5, 2])
        <private column dot(0.5 a + 2 b) of unnamed (asserted)>
        """
        self._some_columns()
        weights = _weights(other, list(self._columns))
        if weights.ndim == 1:
            return PrivateSeries(self._root, None, self._weighted(weights), self._where)
        names = list(other.columns) if isinstance(other, pd.DataFrame) else range(weights.shape[1])
        once(list(names))
        columns = {n: self._weighted(w) for n, w in zip(names, weights.T, strict=True)}
        return self._with(columns, self._where, selected=True)

    def _weighted(self, weights: np.ndarray[Any, Any]) -> Expression:
        return rows.Dot(tuple(self._columns.values()), tuple(weights.tolist()))

    def _name_of(self, largest: bool) -> PrivateSeries:
        """For each row the name of the column with its largest, or least, value."""
        self._some_columns()
        labels = Keys.parse(list(self._columns), ["columns"]).labels
        expression = rows.Extreme(tuple(self._columns.values()), labels, largest)
        return PrivateSeries(self._root, None, expression, self._where)

    @asks
    def idxmin(self, axis: Any = 0) -> PrivateSeries:
        """For each row the name of the column with its least value, with axis=1: a private column
        whose keys are the names. Of equal values the first; missing ones are passed over.
        *Stability*: 1, row by row.

        Which column has the least sum (axis=0) isn't answered: see `idxmax`.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 5.0]}), unit="row")
        >>> p.idxmin(axis=1).value_counts()
        <unreleased value_counts of `least of (a, b)` (2 keys), from unnamed (asserted): nothing \
computed or charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if is_along_rows(axis):
            return self._name_of(largest=False)
        raise UnsupportedVerb(
            "'idxmin' of columns is not among the answers of this version. Instead: idxmax of "
            "columns that are made negative, as in assign(b=-frame['b']); or idxmin(axis=1), the "
            "column with the least value of each row. Nothing was computed or charged."
        )

    def _columnwise(
        self, given: Any, change: Callable[[PrivateSeries, Any], PrivateSeries]
    ) -> Self:
        """Each column changed by what is given for it (a dict), or by the same."""
        by_name = given if isinstance(given, Mapping) else dict.fromkeys(self._columns, given)
        changed = dict(self._columns)
        for name, each in by_name.items():
            expression = querystring.lookup(name, self._columns)
            if _is_unit(expression, self._root) and not isinstance(given, Mapping):
                continue
            self._not_the_unit(name)
            column = PrivateSeries(self._root, name, expression, self._where)
            changed[name] = change(column, each)._expression
        return self._with(changed, self._where, self._selected)

    @asks
    def merge(
        self,
        right: Any,
        how: str = "left",
        on: Any = None,
        *,
        left_on: Any = None,
        right_on: Any = None,
        suffixes: Sequence[str | None] = ("_x", "_y"),
    ) -> Self:
        """With the columns of a *public* table, by its unique key: you state that it is public.

        right : a plain DataFrame, whose key is in each row another. It may hold nothing private:
            its values are taken for public, and declared as keys of the new columns.
        how : "left" keeps all private rows; "inner" those with a row in the table.

        *Stability*: 1, for each row finds at most one. The ledger says where a public table was
        used. Refused for private frames, and for frames that carry a source's token.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"zip": ["10", "20"]}), unit="row")
        >>> zips = pd.DataFrame({"zip": ["10", "20"], "city": ["Rome", "Oslo"]})
        >>> p.merge(zips, on="zip")["city"].value_counts()
        <unreleased value_counts of city (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if isinstance(right, Private):
            raise LineageError(
                "two private frames can't be merged: one person's row could meet many of "
                "another's. Merge with a public table, or build one frame before dp.protect. "
                "Nothing was computed or charged."
            )
        table = public_table(right, how, on, left_on, right_on)
        by = tuple(querystring.lookup(name, self._columns) for name in table.left)
        shared = [name for name in table.values if name in self._columns]
        if (
            not isinstance(suffixes, list | tuple)
            or len(suffixes) != 2
            or not all(isinstance(each, str | None) for each in suffixes)
        ):
            raise QueryError(f"suffixes={shown(suffixes)} must be two texts, or None for none.")
        columns = {_suffixed(n, shared, suffixes[0]): e for n, e in self._columns.items()}
        if len(columns) < len(self._columns):
            raise QueryError("two columns would be called alike; set suffixes=.")
        for name, values in table.values.items():
            new = _suffixed(name, shared, suffixes[1])
            if new in columns:
                raise QueryError(f"two columns would be called {shown(new)}; set suffixes=.")
            self._not_the_unit(new)
            columns[new] = rows.Lookup(by, table.keys, name, values, table.digest)
        matched = rows.InTable(by, table.keys, table.digest)
        where = rows.both(self._where, matched) if how == "inner" else self._where
        return self._with(columns, where, self._selected)

    @asks
    def explode(self, column: Any, *, max_items: int) -> Self:
        """A row for each element of a column of lists, at most max_items of them a row.

        A value that is no list stays one row; so does an empty list, with a missing value. Later
        elements are dropped. *Stability*: max_items, by which the noise grows.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"tags": [["a", "b"], ["b"]]}), unit="row")
        >>> p.explode("tags", max_items=3)["tags"].value_counts(keys=["a", "b"], epsilon=1).name
        'count'
        """
        most = MOST_BRANCHES // self._root.branches
        if (
            isinstance(max_items, bool)
            or not isinstance(max_items, int)
            or (not 1 <= max_items <= most)
        ):
            raise QueryError(
                f"max_items={shown(max_items)} must be a whole number from 1 to {most}: the most "
                "elements of a row that count. Nothing was computed or charged."
            )
        self._not_the_unit(column)
        operand = querystring.lookup(column, self._columns)
        parts: list[Parts] = []
        for branch in range(self._root.branches):
            here = operand.at(branch)
            columns = {name: e.at(branch) for name, e in self._columns.items()}
            where = None if self._where is None else self._where.at(branch)
            for i in range(max_items):
                kept = (
                    where if max_items == 1 or not i else rows.both(where, rows.HasElement(here, i))
                )
                parts.append(({**columns, column: rows.Element(here, i)}, kept))
        return self._branched(parts, (*self._root.grown, max_items))

    def _branched(
        self, parts: Sequence[Parts], grown: tuple[Any, ...], path: Path | None = None
    ) -> Self:
        """The rows of several frames of one source, one below the other."""
        names = list(dict.fromkeys(name for columns, _ in parts for name in columns))
        columns = {
            name: rows.by_branch([part.get(name, Literal(None)) for part, _ in parts])
            for name in names
        }
        keeps = [rows.EVERY if where is None else where for _, where in parts]
        where = None if all(keep == rows.EVERY for keep in keeps) else rows.by_branch(keeps)
        path = self._root.path if path is None else path
        root = replace(self._root, branches=len(parts), grown=grown, path=path, data=object())
        frame = type(self)(root, columns, where)
        frame._selected = self._selected
        return frame

    @asks
    def sample(self, *, frac: float) -> Self:
        """The rows of a share of all units, chosen by a keyed hash of who they are.

        Each unit is in with probability frac, whoever else there is, and stays so: asked again, the
        same units are in. (A sample of a sample is another choice.) There is no exact size and no
        random_state, and no privacy amplification is claimed. Rows without a unit column are
        chosen by their contents. *Stability*: 1.
        """
        if isinstance(frac, bool) or not isinstance(frac, int | float) or not 0 < frac <= 1:
            raise QueryError(f"frac={shown(frac)} must be a number above 0 and at most 1.")
        unit = self._root.source.unit.column
        names = self._root.engine.columns if unit is None else (unit,)
        chosen = rows.Sampled(float(frac), tuple(names), rows.samples(self._where))
        return self._with(self._columns, rows.both(self._where, chosen), self._selected)

    def copy(self, deep: bool = True) -> Self:
        """Itself: private frames are never changed in place."""
        return self

    def pipe(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """``func(self, …)``, for method chains."""
        return func(self, *args, **kwargs)


#: The columns of some rows, and what keeps them.
Parts = tuple[Mapping[Any, Expression], Expression | None]


def is_along_rows(axis: object) -> bool:
    """Whether pandas' axis= says: for each row."""
    if isinstance(axis, int | str) and not isinstance(axis, bool) and axis in (1, "columns"):
        return True
    if isinstance(axis, int | str) and not isinstance(axis, bool) and axis in (0, "index", "rows"):
        return False
    raise QueryError(
        f"axis={shown(axis)} must be 0, the columns, or 1, for each row. Nothing was charged."
    )


def _weights(other: Any, names: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Public weights in the order of some columns."""
    refuse_private(other, "what holds the weights")
    if isinstance(other, pd.Series | pd.DataFrame):
        if not other.index.is_unique or set(other.index) != set(names):
            raise QueryError(
                "the index of the weights must be the columns of the frame, each once: "
                f"{some_names(names)}. Nothing was computed or charged."
            )
        other = other.reindex(list(names))
    try:
        weights = np.asarray(other, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.empty(0)
    if weights.ndim not in (1, 2) or len(weights) != len(names) or not np.isfinite(weights).all():
        raise QueryError(
            f"dot takes a finite public number for each of {len(names)} columns (or a row of "
            "them): a list, an array, or a Series or DataFrame with these columns as its index. "
            "Nothing was computed or charged."
        )
    return weights


def _is_unit(expression: Expression, root: Root) -> bool:
    return isinstance(expression, Column) and expression.name == root.source.unit.column


def _variables_of(frame: FrameType) -> Callable[[str], Any]:
    """Looks up the caller's @names."""

    def variables(name: str) -> Any:
        return frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]

    return variables


def _suffixed(name: Any, shared: Sequence[Any], suffix: str | None) -> Any:
    return f"{name}{suffix}" if suffix is not None and name in shared else name
