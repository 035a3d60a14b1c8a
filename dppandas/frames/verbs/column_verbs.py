"""Methods that select, change and make columns, row by row."""

from __future__ import annotations

import re
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Generic, Self

import numpy as np
import pandas as pd

from ...columns.private_rows import PrivateTable, is_unit, once, same_rows
from ...columns.spellings.query_methods import ColumnMethods
from ...columns.spellings.selection import named, of_kinds
from ...errors import (
    LineageError,
    QueryError,
    UnsupportedVerb,
    caller,
    hide_internals,
    is_one_of,
    quoted,
)
from ...release.answers.shapes import Selected
from ...release.asking import release_method
from ...release.private import Table
from ...rows import expressions, query_string
from ...rows.expressions import Expression, Literal
from ...rows.facts.keys import Keys, is_hashable, some_names
from ...rows.plain_values import refuse_private
from ..series import PrivateSeries

#: What stands before an expression that is assigned.
_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")


class ColumnTransformations(PrivateTable, Generic[Selected]):
    """Private rows whose columns can be selected, changed and combined."""

    #: Whether the columns were selected. Answers then have one entry for each column.
    _selected = False

    @property
    def columns(self) -> pd.Index:
        """The names of the columns, which are public."""
        names: pd.Index = pd.Index(list(self._columns))
        return names

    def _column(self, name: Any) -> PrivateSeries:
        return PrivateSeries(self._table, name, self._columns[name], self._where)

    def _with(
        self,
        columns: Mapping[Any, Expression],
        where: Expression | None,
        table: Table | None = None,
        is_selection: bool = False,
    ) -> Self:
        frame = type(self)(table or self._table, columns, where)
        frame._selected = self._selected or is_selection
        return frame

    @hide_internals
    def assign(self, **columns: Any) -> Self:
        """Columns added or replaced: by private columns, functions of this frame, plain values, or
        strings in the grammar of `query` (a plain text needs its own quotes: "'text'").

        A replaced column loses its declared domain and gets what the new expression implies. The
        unit column can't be assigned. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [15, 30]}), unit="row")
        >>> adults = p.assign(adult="age >= 18", months=lambda p: p["age"] * 12)
        >>> adults.groupby("adult").size()
        <unreleased size by adult (2 keys), from unnamed (asserted): nothing computed or charged; \
ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        variables = variables_of(caller(sys._getframe()))
        frame = self
        for name, value in columns.items():
            self._not_the_unit(name)
            expression = frame._expression_of(value, variables)
            frame = frame._with({**frame._columns, name: expression}, self._where)
        return frame

    def _expression_of(self, value: Any, variables: Callable[[str], Any]) -> Expression:
        if isinstance(value, str):
            return self._read(value, variables).expression
        if callable(value) and not isinstance(value, PrivateSeries):
            value = value(self)
        if isinstance(value, PrivateSeries):
            same_rows(self, value)
            return value._expression
        return PrivateSeries(self._table, None, Literal(None), self._where)._value(value)

    def _read(
        self, text: object, variables: Callable[[str], Any], is_filter: bool = False
    ) -> query_string.Read:
        """What a text says of these columns."""
        methods = ColumnMethods(lambda e: PrivateSeries(self._table, None, e, self._where))
        return query_string.parse(text, self._columns, variables, methods, is_filter)

    @hide_internals
    def eval(self, expr: str, *, inplace: bool = False) -> Any:
        """Evaluate an expression in the grammar of `query`: a private column. Of an assignment,
        such as "rate = cases / people", this frame with the new column. There may be several
        assignments, one on each line, which use those above.

        inplace : only False: frames never change in place.

        *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), unit="row")
        >>> p.eval("a + b")
        <private column a + b of unnamed (asserted)>
        >>> p.eval("c = a + b").columns.tolist()
        ['a', 'b', 'c']
        """
        if inplace is not False:
            raise QueryError("eval(inplace=True): frames never change in place. Use the result.")
        variables = variables_of(caller(sys._getframe()))
        lines = _lines(expr)
        if len(lines) == 1 and lines[0][0] is None:
            read = self._read(lines[0][1], variables)
            return PrivateSeries(self._table, read.name, read.expression, self._where)
        frame = self
        for name, text in lines:
            if name is None:
                raise QueryError(f"eval: of several lines each assigns a column: {quoted(text)}.")
            self._not_the_unit(name)
            expression = frame._read(text, variables).expression
            frame = frame._with({**frame._columns, name: expression}, self._where)
        return frame

    def _not_the_unit(self, name: Any) -> None:
        unit = self._table.source.unit.column
        if unit is not None and name == unit:
            raise LineageError(f"{name!r} is the unit and can't be redefined. Use another name.")

    @release_method
    def rename(self, *, columns: Any) -> Self:
        """Columns under other names: a dict, or a function of a name. *Stability*: 1."""
        if not isinstance(columns, Mapping) and not callable(columns):
            raise QueryError(
                "columns= must be a dict of old to new names, such as columns={'a': 'b'}, or a "
                "function of a name."
            )
        renamed: dict[Any, Expression] = {}
        for name, expression in self._columns.items():
            new = columns.get(name, name) if isinstance(columns, Mapping) else columns(name)
            if not is_hashable(new):
                raise QueryError(f"{quoted(new)} can't name a column. Use a string or a number.")
            if new in renamed:
                raise QueryError(f"two columns would be called {quoted(new)}. Rename one.")
            if new != name:
                self._not_the_unit(new)
            renamed[new] = expression
        return self._with(renamed, self._where)

    @release_method
    def drop(
        self, labels: Any = None, *, axis: Any = 0, columns: Any = None, errors: str = "raise"
    ) -> Self:
        """The frame without some columns: ``drop(columns=["a"])`` or ``drop("a", axis=1)``. With
        errors="ignore", names that aren't there do nothing. *Stability*: 1."""
        if not is_one_of(errors, ("raise", "ignore")):
            raise QueryError(f"errors={quoted(errors)} must be 'raise' or 'ignore'.")
        if labels is not None and (columns is not None or not is_along_rows(axis)):
            raise QueryError(
                "drop takes names of columns: drop(columns=['a']) or drop('a', axis=1). Which rows "
                'there are is private: keep some by their values, as in query("age > 30").'
            )
        given = columns if labels is None else labels
        names = list(given) if isinstance(given, list | tuple | pd.Index) else [given]
        for name in names if errors == "raise" else ():
            query_string.lookup(name, self._columns)
        left = {name: e for name, e in self._columns.items() if name not in names}
        return self._with(left, self._where)

    @hide_internals
    def filter(
        self, items: Any = None, like: Any = None, regex: Any = None, axis: Any = 1
    ) -> Selected:
        """Select columns by their names: those in a list, those that contain a text, or those in
        which a regular expression is found. To select rows, use `query`. *Stability*: 1.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"x_1": [1], "x_2": [2], "y": [3]}), unit="row")
        >>> p.filter(like="x_").columns.tolist()
        ['x_1', 'x_2']
        """
        if axis is not None and not is_along_rows(axis):
            raise QueryError(
                "filter chooses columns by their names; labels of rows are private. Keep rows by "
                'their values, as in query("age > 30").'
            )
        chosen = named(self._columns, items, like, regex)
        return self._with(chosen, self._where, is_selection=True)  # type: ignore[return-value]

    @hide_internals
    def select_dtypes(self, include: Any = None, exclude: Any = None) -> Selected:
        """The columns of some kinds, which are public: those declared, else those of their dtypes.

        include, exclude : one of these or a list of them. "number" (or np.number) are numbers and
            durations, as in pandas; "bool", "datetime", "datetimetz" and "timedelta" are what they
            say; "str" (or "string") are texts; "object" are texts, lists, and columns whose kind is
            unknown; "category" are columns that aren't numbers and whose labels are declared. Whole
            numbers and floats are one kind, so "int64" and "float64" are refused.

        *Stability*: 1.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [20], "city": ["Rome"]}), unit="row")
        >>> p.select_dtypes("number").columns.tolist()
        ['age']
        """
        chosen = of_kinds(self._columns, self._table.source.facts, include, exclude)
        return self._with(chosen, self._where, is_selection=True)  # type: ignore[return-value]

    @release_method
    def fillna(self, value: Any) -> Self:
        """Missing values filled with a constant, or a dict of them by column. *Stability*: 1."""
        return self._columnwise(value, lambda column, given: column.fillna(given))

    @release_method
    def astype(self, dtype: Any) -> Self:
        """Columns as another type: one for all, or a dict by column. See `PrivateSeries.astype`."""
        return self._columnwise(dtype, lambda column, given: column.astype(given))

    @release_method
    def round(self, decimals: Any = 0) -> Self:
        """Numbers rounded to so many decimals: one number for all, or a dict by column."""
        return self._columnwise(decimals, lambda column, given: column.round(given))

    @release_method
    def replace(self, to_replace: Any, value: Any = None) -> Self:
        """Plain values replaced by others, in each column. See `PrivateSeries.replace`."""
        if isinstance(to_replace, Mapping) and any(
            isinstance(each, Mapping) for each in to_replace.values()
        ):
            if value is not None or not all(isinstance(m, Mapping) for m in to_replace.values()):
                raise QueryError(
                    "replace takes a dict of old to new values, or a dict of such dicts by column: "
                    "replace({'a': {1: 2}})."
                )
            return self._columnwise(to_replace, lambda column, given: column.replace(given))
        return self._columnwise(None, lambda column, _: column.replace(to_replace, value))

    @release_method
    def dot(self, other: Any) -> Any:
        """Weighted sums of the columns, row by row, as DataFrame.dot: a private column; for a
        DataFrame of weights a private frame with the same columns as the weights.

        other : public numbers: a Series or a DataFrame with these columns as its index; or a list
            or an array with a weight (or a row of weights) for each column, in order.

        A weighted sum is missing if any value is. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 5.0]}), unit="row")
        >>> p.dot([0.5, 2])
        <private column dot(0.5 a + 2 b) of unnamed (asserted)>
        """
        self._some_columns()
        weights = _weights(other, list(self._columns))
        if weights.ndim == 1:
            return PrivateSeries(self._table, None, self._weighted(weights), self._where)
        names = list(other.columns) if isinstance(other, pd.DataFrame) else range(weights.shape[1])
        once(list(names))
        columns = {n: self._weighted(w) for n, w in zip(names, weights.T, strict=True)}
        return self._with(columns, self._where, is_selection=True)

    def _weighted(self, weights: np.ndarray[Any, Any]) -> Expression:
        return expressions.Dot(tuple(self._columns.values()), tuple(weights.tolist()))

    def _name_of(self, largest: bool) -> PrivateSeries:
        """The name of the column with the largest, or smallest, value of each row."""
        self._some_columns()
        labels = Keys.parse(list(self._columns), ["columns"]).labels
        expression = expressions.Extreme(tuple(self._columns.values()), labels, largest)
        return PrivateSeries(self._table, None, expression, self._where)

    @release_method
    def idxmin(self, axis: Any = 0) -> PrivateSeries:
        """With axis=1, the name of the column with the smallest value of each row: a private column
        whose keys are the names. Of equal values the first counts, and missing ones are skipped.
        *Stability*: 1, row by row.

        The column with the smallest sum (axis=0) isn't offered: see `idxmax`.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 5.0]}), unit="row")
        >>> p.idxmin(axis=1).value_counts()
        <unreleased value_counts of `least of (a, b)` (2 keys), from unnamed (asserted): nothing \
computed or charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if is_along_rows(axis):
            return self._name_of(largest=False)
        raise UnsupportedVerb(
            "'idxmin' of columns isn't offered by this version. Negate the columns and use idxmax, "
            "as in assign(b=-frame['b']); or use idxmin(axis=1), the column with the "
            "smallest value of each row."
        )

    def _columnwise(
        self, given: Any, change: Callable[[PrivateSeries, Any], PrivateSeries]
    ) -> Self:
        """Each column changed as a dict says for it, or all in the same way."""
        by_name = given if isinstance(given, Mapping) else dict.fromkeys(self._columns, given)
        changed = dict(self._columns)
        for name, each in by_name.items():
            expression = query_string.lookup(name, self._columns)
            if is_unit(expression, self._table) and not isinstance(given, Mapping):
                continue
            self._not_the_unit(name)
            column = PrivateSeries(self._table, name, expression, self._where)
            changed[name] = change(column, each)._expression
        return self._with(changed, self._where)


def _lines(text: Any) -> list[tuple[str | None, Any]]:
    """The expressions of a text, each with the name that it is assigned to."""
    if not isinstance(text, str):
        return [(None, text)]  # which is refused where it is read
    lines = [line for line in text.splitlines() if line.strip()] or [text]
    found = [(_ASSIGNMENT.match(line), line) for line in lines]
    return [(m[1], line[m.end() :]) if m else (None, line) for m, line in found]


def is_along_rows(axis: object) -> bool:
    """Whether pandas' axis= means: for each row."""
    known = {1: True, "columns": True, 0: False, "index": False, "rows": False}
    if isinstance(axis, int | str) and not isinstance(axis, bool) and axis in known:
        return known[axis]
    raise QueryError(f"axis={quoted(axis)} must be 0 for the columns, or 1 for each row.")


def _weights(other: Any, names: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Public weights in the order of the columns."""
    refuse_private(other, "what holds the weights")
    if isinstance(other, pd.Series | pd.DataFrame):
        if not other.index.is_unique or set(other.index) != set(names):
            raise QueryError(f"the index of the weights must be the columns: {some_names(names)}.")
        other = other.reindex(list(names))
    try:
        weights = np.asarray(other, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.empty(0)
    if weights.ndim not in (1, 2) or len(weights) != len(names) or not np.isfinite(weights).all():
        raise QueryError(
            f"dot needs a finite public number, or a row of them, for each of the {len(names)} "
            "columns. Give a list, an array, or a Series or DataFrame with these columns as index."
        )
    return weights


def variables_of(frame: FrameType) -> Callable[[str], Any]:
    """Looks up the caller's @names."""
    return ChainMap(frame.f_locals, frame.f_globals).__getitem__
