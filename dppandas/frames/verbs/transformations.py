"""Methods that filter private rows and make new ones, row by row."""

from __future__ import annotations

import functools
import sys
import typing
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import pandas as pd

from ...columns.columns import kept
from ...columns.private_rows import once, unit_labels
from ...columns.rowwise import present
from ...columns.spellings.selection import Locator
from ...errors import (
    LineageError,
    MissingArgument,
    QueryError,
    caller,
    hide_internals,
    is_one_of,
    quoted,
)
from ...privacy.accounting.composition import Path
from ...release.answers.shapes import Selected
from ...release.asking import release_method
from ...release.private import Private
from ...rows import expressions, query_string
from ...rows.accumulators import MOST_BRANCHES
from ...rows.expressions import Expression, Literal
from ...rows.facts.units import whole_number
from ...rows.public_tables import indexed, public_table, shared_names
from ..histories import learned, order_of
from ..repeats import is_repeated
from ..series import PrivateSeries
from .column_verbs import variables_of
from .frame_operators import FrameOperators


class Transformations(FrameOperators[Selected]):
    """Private rows that others can be made from."""

    @hide_internals
    def query(self, expr: str, *, inplace: bool = False, engine: str | None = None) -> Self:
        """Keep the rows for which a query string is true, in the grammar of DataFrame.query.

        It knows comparisons, and/or/not, arithmetic, ``in`` with a list, and the row-wise methods
        of private columns, such as ``.isin([…])``, ``.between(a, b)``, ``.abs()``, ``.str.len()``
        and ``.dt.year``; of columns, plain values, and the caller's @names of plain values or of
        lists, sets, arrays or Series of them. These are read now, and belong to the question: they
        are in its title and its key. Everything else is refused. *Stability*: 1, because each row
        is kept or dropped by its own values.

        engine : "python" or "numexpr", as in pandas; it changes nothing.
        inplace : only False: frames never change in place.

        >>> import pandas as pd, dppandas as dp
        >>> adults = pd.DataFrame({"age": [15, 30, 60]}).dp.query("age >= 18")
        >>> type(adults.count(epsilon=1).interval())
        <class 'tuple'>
        """
        if inplace is not False:
            raise QueryError("query(inplace=True): frames never change in place. Use the result.")
        if not (engine is None or is_one_of(engine, ("python", "numexpr"))):
            raise QueryError(f"engine={quoted(engine)} must be 'python' or 'numexpr'.")
        read = self._read(expr, variables_of(caller(sys._getframe())), is_filter=True)
        return self._with(self._columns, expressions.both(self._where, read.expression))

    @typing.overload
    def __getitem__(self, key: PrivateSeries) -> Self: ...
    @typing.overload
    def __getitem__(self, key: list[Any] | pd.Index[Any]) -> Selected: ...
    @typing.overload
    def __getitem__(self, key: Hashable) -> PrivateSeries: ...
    @hide_internals
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, PrivateSeries):
            return self._with(self._columns, kept(self, key))
        if isinstance(key, list | pd.Index):
            names = list(key)
            chosen = {name: query_string.lookup(name, self._columns) for name in names}
            once(names)
            return self._with(chosen, self._where, is_selection=True)
        if not isinstance(key, Hashable) or isinstance(key, slice):
            raise QueryError(
                "a private frame can be indexed by a column name, a list of names, or a private "
                "mask, as in frame[frame['age'] > 30], but not by positions or plain values."
            )
        expression = self._found_column(key)
        return PrivateSeries(self._table, key, expression, self._where)

    @property
    def loc(self) -> Locator[Self]:
        """Rows by a private mask, columns by their names: ``p.loc[p["age"] > 30, ["age", "sex"]]``,
        or ``p.loc[:, "age":"sex"]``. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"age": [15, 30], "sex": ["f", "m"]}), unit="row")
        >>> p.loc[p["age"] > 18, "sex"]
        <private column sex of unnamed (asserted) where age > 18>
        """
        return Locator(self, has_columns=True)

    @release_method
    def dropna(self, *, subset: Any = None, how: str = "any") -> Self:
        """Rows without missing values; with how="all", rows that have at least one value.

        subset : the columns to look at; by default all. *Stability*: 1, row by row.
        """
        if not is_one_of(how, ("any", "all")):
            raise QueryError(f"how={quoted(how)} must be 'any' or 'all'.")
        names = list(self._columns) if subset is None else subset
        names = names if isinstance(names, list | pd.Index) else [names]
        there = [present(query_string.lookup(name, self._columns)) for name in names]
        if not there:
            raise QueryError("subset= is empty. Name at least one column.")
        joined = functools.reduce(expressions.And if how == "any" else expressions.Or, there)
        return self._with(self._columns, expressions.both(self._where, joined))

    @release_method
    def isin(self, values: Any) -> Self:
        """Masks: which values are in a list of plain values, or in that of their column in a dict;
        without a list there, none is. The unit column is left out. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [2, 3]}), unit="row")
        >>> p.isin([2])["b"]
        <private column b in [2] of unnamed (asserted)>
        """
        if isinstance(values, pd.Series | pd.DataFrame):
            raise QueryError(
                "pandas would match the rows of a plain Series or DataFrame by their labels, and "
                "private rows have none. Give a list of plain values, or a dict of lists by column."
            )
        if not isinstance(values, Mapping):
            return self._changed(lambda _, column: column.isin(values))
        for name in values:
            query_string.lookup(name, self._columns)
            if name not in self._names():
                raise QueryError(
                    f"masks leave out the unit column {quoted(name)}. Ask for its own: "
                    f"frame[{quoted(name)}].isin([…])."
                )
        return self._changed(lambda name, column: column.isin(values.get(name, [])))

    @release_method
    def map(self, func: Any, na_action: Any = None) -> Self:
        """Apply a function for one value to all columns but the unit. It is called once for each
        column, as by `PrivateSeries.apply`. *Stability*: 1, row by row.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"a": [1, 2], "b": [2, 3]}), unit="row")
        >>> p.map(lambda x: x * 2)["b"]
        <private column b * 2 of unnamed (asserted)>
        """
        if not callable(func):
            raise QueryError(
                "map of a frame takes a function, such as lambda x: x * 2. Values of a dict are "
                "for one column, as in frame['a'].map({…}); or use frame.replace({…})."
            )
        return self._changed(lambda _, column: column.map(func, na_action))

    @release_method
    def merge(
        self,
        right: Any,
        how: str = "inner",
        on: Any = None,
        *,
        left_on: Any = None,
        right_on: Any = None,
        right_index: bool = False,
        suffixes: Sequence[str | None] = ("_x", "_y"),
        validate: str | None = None,
    ) -> Self:
        """Columns added from a *public* table by its unique key. You state that it is public. Or
        from one row for each unit of this frame, as ``per_unit().agg(…)`` makes them: then each row
        learns its unit's figures, from *all* its rows (docs/proofs/histories.md).

        right : a plain DataFrame with another key in each row. It must hold nothing private: its
            values count as public, and become the declared keys of the new columns.
        how : "left" keeps all private rows, "inner" only those with a row in the table.
        on, left_on, right_on : as in pandas: without them, all columns of the same name.
        right_index : True to look up left_on= in the index of the public table.
        validate : "m:1", which holds for each merge here.

        *Stability*: 1, because each row finds at most one other. The ledger says where a public
        table was used. Other private frames, and frames that carry a source's token, are refused.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"zip": ["10", "20"]}), unit="row")
        >>> zips = pd.DataFrame({"zip": ["10", "20"], "city": ["Rome", "Oslo"]})
        >>> p.merge(zips, how="left", on="zip")["city"].value_counts()
        <unreleased value_counts of city (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if not (validate is None or is_one_of(validate, ("m:1", "many_to_one"))):
            raise QueryError(
                f"validate={quoted(validate)} must be 'm:1' or 'many_to_one': the keys of the "
                "other table are unique, and those of private rows can't be looked at."
            )
        if not isinstance(right_index, bool):
            raise QueryError(f"right_index={quoted(right_index)} must be True or False.")
        if isinstance(right, Private):
            on = _one_key(on, left_on, right_on, right_index)
            return self._merged_with_units(right, how, on, suffixes)
        right, right_on = indexed(right, left_on, right_on) if right_index else (right, right_on)
        if on is None and left_on is None and right_on is None:
            on = shared_names(right, self._columns)
        table = public_table(right, how, on, left_on, right_on)
        by = tuple(query_string.lookup(name, self._columns) for name in table.left)
        columns = self._with_new(
            {
                name: expressions.Lookup(
                    by, table.keys, name, values, table.digest, table.orders[name]
                )
                for name, values in table.values.items()
            },
            suffixes,
        )
        matched = expressions.InTable(by, table.keys, table.digest)
        where = expressions.both(self._where, matched) if how == "inner" else self._where
        return self._with(columns, where)

    def _merged_with_units(self, right: Private, how: Any, on: Any, suffixes: Any) -> Self:
        """Each row with what it learns of its unit: see `merge`."""
        if isinstance(right, PrivateSeries) and unit_labels(right._table) is not None:
            right = right.reset_index()
        summary = right._table.summary if isinstance(right, Transformations) else None
        if summary is None or summary[0] is not self._table.engine:
            raise LineageError(
                "two private frames can't be merged: one person's row could match many others. "
                "Merge with a public table, or with one row a unit, p.merge(p.per_unit().agg(…), "
                "on='person_id'); or merge by the unit before dp.protect."
            )
        new, kept = learned(self, right, how, on)
        columns = self._with_new(new, suffixes)
        where = self._where if kept is None else expressions.both(self._where, kept)
        return self._with(columns, where)

    def _with_new(self, new: Mapping[Any, Expression], suffixes: Any) -> dict[Any, Expression]:
        """The columns with some more, with suffixes where both have a name."""
        shared = [name for name in new if name in self._columns]
        are_listed = isinstance(suffixes, list | tuple) and len(suffixes) == 2
        if not are_listed or not all(isinstance(each, str | None) for each in suffixes):
            raise QueryError(f"suffixes={quoted(suffixes)} must be a pair of strings, or None.")
        columns = {_suffixed(n, shared, suffixes[0]): e for n, e in self._columns.items()}
        if len(columns) < len(self._columns):
            raise QueryError("two columns would get the same name. Set suffixes=('', '_new').")
        for name, expression in new.items():
            called = _suffixed(name, shared, suffixes[1])
            if called in columns:
                raise QueryError(
                    f"two columns would be called {quoted(called)}. Set suffixes=('', '_new')."
                )
            self._not_the_unit(called)
            columns[called] = expression
        return columns

    @release_method
    def sort_values(self, by: Any, *, ascending: Any = True) -> Self:
        """The same private rows, which from here on have an order inside each unit: that of the
        columns given, missing values last. Where two rows of a unit are equal in these, a keyed
        hash of the whole row decides. It is what `groupby` of the unit goes by, as in
        ``p.sort_values("when").groupby("who")["paid"].shift()``, and ``per_unit()`` for "first"
        and "last"; it changes no other question.

        by : a name, a private column of these rows, or a list of them. ascending : True, False, or
            a list with one for each.

        *Stability*: 1.

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [1, 1, 2], "day": [4, 9, 5], "paid": [3, 1, 2]})
        >>> p = dp.private(visits, unit="who", max_rows=2)
        >>> p.sort_values("day").per_unit().agg(now=("paid", "last"))["now"]
        <private column now of unnamed (asserted)>
        """
        order = order_of(self, by, ascending)
        if self._table.source.unit.column is None:
            raise QueryError(
                "sort_values orders the rows of each unit, and here each row is a unit of its own. "
                'Protect the data with unit=: dp.protect(df, …, unit="person_id", max_rows=…). To '
                "sort an answer, release it first."
            )
        return self._with(self._columns, self._where, replace(self._table, order=order))

    @release_method
    def duplicated(self, subset: Any = None, keep: Any = "first") -> PrivateSeries:
        """Which rows repeat an earlier row of their unit: see `drop_duplicates`."""
        return PrivateSeries(self._table, None, is_repeated(self, subset, keep), self._where)

    @release_method
    def drop_duplicates(self, subset: Any = None, *, keep: Any = "first") -> Self:
        """The first of each unit's rows that are equal in some columns.

        subset : these columns; by default all. The unit column has to be among them, because which
            rows of other people are equal to a person's is nothing that row may depend on.
        keep : "first", or "last", in the order of ``sort_values(…)``; without one, "first" is the
            row with the smallest keyed hash. False drops all rows that have an equal one.

        It looks at all rows of a unit. What max_rows drops is dropped afterwards, so a unit whose
        first row isn't kept may have none: ``per_unit(by=…)`` makes one in any case.
        *Stability*: 1 (docs/proofs/histories.md).

        >>> import pandas as pd, dppandas as dp
        >>> visits = pd.DataFrame({"who": [1, 1, 2], "day": [4, 4, 4]})
        >>> p = dp.private(visits, unit="who", max_rows=2)
        >>> p.drop_duplicates(["who", "day"])["day"].count()
        <unreleased count of day where not ((cumcount() by who and day.isna() and \
where(day.isna(), 0, day)) > 0), from unnamed (asserted): nothing computed or charged; ask \
.release(epsilon=…)>
        """
        once_only = expressions.Not(is_repeated(self, subset, keep))
        return self._with(self._columns, expressions.both(self._where, once_only))

    @release_method
    def explode(self, column: Any, *, max_items: Any = None) -> Self:
        """A row for each element of a column of lists, and at most max_items for each list.

        Later elements are dropped. A value that isn't a list stays one row, and so does an empty
        list, with a missing value. *Stability*: max_items, which the noise grows with.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"tags": [["a", "b"], ["b"]]}), unit="row")
        >>> p.explode("tags", max_items=3)["tags"].value_counts(keys=["a", "b"], epsilon=1).name
        'count'
        """
        if max_items is None:
            raise MissingArgument(
                "max_items= is needed: the most elements of a list that become rows, because how "
                "long lists are is private. Later ones are dropped, and the noise grows with it. "
                f"Write explode({quoted(column)}, max_items=3), for example."
            )
        most = MOST_BRANCHES // self._table.branches
        max_items = whole_number(max_items, "max_items", 1, most, ", the most elements of a list")
        self._not_the_unit(column)
        operand = query_string.lookup(column, self._columns)
        parts: list[Branch] = []
        for branch, (columns, where) in enumerate(self._branches()):
            here = operand.at(branch)
            for i in range(max_items):
                has_it = expressions.both(where, expressions.HasElement(here, i)) if i else where
                parts.append(({**columns, column: expressions.Element(here, i)}, has_it))
        return self._branched(parts, (*self._table.grown, max_items))

    def _branches(self) -> list[Branch]:
        """The columns and the condition of each row that a row of the source becomes."""
        where = self._where
        return [
            ({n: e.at(i) for n, e in self._columns.items()}, None if where is None else where.at(i))
            for i in range(self._table.branches)
        ]

    def _branched(
        self, parts: Sequence[Branch], grown: tuple[Any, ...], path: Path | None = None
    ) -> Self:
        """The rows of several frames of one source, one below the other."""
        names = list(dict.fromkeys(name for columns, _ in parts for name in columns))
        columns = {
            name: expressions.by_branch([part.get(name, Literal(None)) for part, _ in parts])
            for name in names
        }
        keeps = [expressions.EVERY if where is None else where for _, where in parts]
        keeps_all = all(keep == expressions.EVERY for keep in keeps)
        where = None if keeps_all else expressions.by_branch(keeps)
        path = self._table.path if path is None else path
        table = replace(
            self._table, branches=len(parts), grown=grown, path=path, data=object(), order=()
        )
        return self._with(columns, where, table)

    @release_method
    def sample(self, n: Any = None, frac: Any = None) -> Self:
        """The rows of a share of all units, chosen by a keyed hash of the unit.

        Each unit is in the sample with probability frac, independently of the others, and sampling
        again gives the same units. (A sample of a sample is a new choice.) There is no exact size,
        no random_state, and no claim of privacy amplification. Without a unit column, rows are
        chosen by their contents. *Stability*: 1.
        """
        if n is not None or frac is None:
            raise QueryError(
                "sample takes a share, because how many units there are is private: each is in the "
                "sample with probability frac. Write sample(frac=0.1)."
            )
        if isinstance(frac, bool) or not isinstance(frac, int | float) or not 0 < frac <= 1:
            raise QueryError(f"frac={quoted(frac)} must be a number above 0 and at most 1.")
        unit = self._table.source.unit.column
        names = self._table.engine.columns if unit is None else (unit,)
        chosen = expressions.Sampled(float(frac), tuple(names), expressions.samples(self._where))
        return self._with(self._columns, expressions.both(self._where, chosen))

    @hide_internals
    def copy(self, deep: bool = True) -> Self:
        """This frame itself: private frames never change in place."""
        return self

    @hide_internals
    def pipe(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """``func(self, …)``, for method chains."""
        return func(self, *args, **kwargs)


#: Columns of some rows, and the condition that keeps these rows.
Branch = tuple[Mapping[Any, Expression], Expression | None]


def _one_key(on: Any, left_on: Any, right_on: Any, right_index: bool) -> Any:
    """The columns by which rows learn what their units are, which both frames have; in pandas they
    are the index of the other one."""
    if right_index and on is None and right_on is None and left_on is not None:
        return left_on
    named = [_listed(each) for each in (on, left_on, right_on) if each is not None]
    pairs = (left_on is None) is (right_on is None) and (on is None or left_on is None)
    if right_index or not pairs or any(each != named[0] for each in named):
        raise QueryError(
            "a row learns what its own unit's rows are, so both frames are merged on the same "
            "columns. Write on=, as in p.merge(p.per_unit().agg(…), on='person_id')."
        )
    return left_on if on is None else on


def _listed(names: Any) -> list[Any]:
    return list(names) if isinstance(names, list | tuple | pd.Index) else [names]


def _suffixed(name: Any, shared: Sequence[Any], suffix: str | None) -> Any:
    return f"{name}{suffix}" if suffix is not None and name in shared else name
