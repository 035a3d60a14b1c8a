"""Verbs that look at the names of columns only, or make rows of them: what pandas' users write to
find their way around a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import pandas as pd

from ...columns.private_rows import once, unit_labels
from ...errors import QueryError, hide_internals, quoted
from ...release.answers.shapes import Selected
from ...release.asking import release_method
from ...rows import query_string
from ...rows.accumulators import MOST_BRANCHES
from ...rows.expressions import Literal
from ...rows.facts.keys import is_hashable
from ..series import PrivateSeries
from .column_verbs import is_along_rows
from .transformations import Transformations


class Naming(Transformations[Selected]):
    """Private rows whose columns are looked up, listed, named anew, or laid out as rows."""

    @property
    def dtypes(self) -> pd.Series[Any]:
        """The public kind of each column: number, truth, text, time, zoned time, duration, list or
        unknown. Not its dtype, which may tell of a single value."""
        facts = self._table.source.facts
        held = [e.kind(facts.schema) for e in self._columns.values()]
        return pd.Series(held, index=self.columns, dtype=object)

    @hide_internals
    def info(self) -> None:
        """Print the public schema. How many rows there are, and how many are missing, is private:
        ask ``.size(epsilon=…)`` and ``.count(epsilon=…)``."""
        print(repr(self))

    @hide_internals
    def keys(self) -> pd.Index:
        """The names of the columns."""
        return self.columns

    @hide_internals
    def __iter__(self) -> Iterator[Any]:
        """The names of the columns, which are public, as in pandas."""
        return iter(self._columns)

    @hide_internals
    def items(self) -> Iterator[tuple[Any, PrivateSeries]]:
        """Each column's name, and the private column."""
        for name, expression in self._columns.items():
            yield name, PrivateSeries(self._table, name, expression, self._where)

    @hide_internals
    def get(self, key: Any, default: Any = None) -> Any:
        """A column by its name, a frame by a list of names, or a default if one isn't there."""
        names = key if isinstance(key, list) else [key]
        if all(is_hashable(name) and name in self._columns for name in names):
            return self[key]
        return default

    @hide_internals
    def add_prefix(self, prefix: str, axis: Any = None) -> Self:
        """The frame with a prefix before each column's name. *Stability*: 1."""
        return self._named(lambda name: f"{prefix}{name}", axis, "add_prefix")

    @hide_internals
    def add_suffix(self, suffix: str, axis: Any = None) -> Self:
        """The frame with a suffix after each column's name. *Stability*: 1."""
        return self._named(lambda name: f"{name}{suffix}", axis, "add_suffix")

    def _named(self, new: Callable[[Any], str], axis: Any, what: str) -> Self:
        if axis is not None and not is_along_rows(axis):
            raise _no_index(f"{what}(axis={quoted(axis)})", "leave axis= out")
        return self.rename(columns=new)

    @hide_internals
    def set_axis(self, labels: Any, axis: Any = 0) -> Self:
        """The frame with new names for its columns, in order. axis=1 is needed. *Stability*: 1."""
        if not is_along_rows(axis):
            raise _no_index("set_axis", "name the columns: set_axis(names, axis=1)")
        names = list(labels)
        if len(names) != len(self._columns):
            raise QueryError(f"{len(names)} names for {len(self._columns)} columns.")
        return self.rename(columns=dict(zip(self._columns, names, strict=True)))

    @hide_internals
    def squeeze(self, axis: Any = None) -> Any:
        """The column of a frame that has only one; else the frame. *Stability*: 1."""
        if axis is not None and not is_along_rows(axis):
            raise _no_index("squeeze of rows", 'write squeeze("columns")')
        return self[next(iter(self._columns))] if len(self._columns) == 1 else self

    @release_method
    def reindex(self, labels: Any = None, *, columns: Any = None, axis: Any = 0) -> Selected:
        """Columns in another order; those of new names have no values. *Stability*: 1."""
        names = columns if columns is not None else labels if is_along_rows(axis) else None
        if names is None:
            raise _no_index("reindex", "name the columns: reindex(columns=[…])")
        listed = list(names)
        once(listed)
        for name in listed:
            if name not in self._columns:
                self._not_the_unit(name)
        chosen = {name: self._columns.get(name, Literal(None)) for name in listed}
        return self._with(chosen, self._where, is_selection=True)  # type: ignore[return-value]

    @release_method
    def reset_index(self, *, drop: bool = False) -> Self:
        """This frame itself, with drop=True: private rows have no index. One row for each unit has
        its labels as columns, where pandas has them in the index."""
        if drop is True:
            return self
        if (labels := unit_labels(self._table)) is not None:
            return self._with({**labels, **self._columns}, self._where)
        raise _no_index("reset_index", "start from df.reset_index(), or write drop=True")

    @release_method
    def join(
        self, other: Any, on: Any = None, how: str = "left", lsuffix: str = "", rsuffix: str = ""
    ) -> Self:
        """Columns added from a *public* table by its index: `merge`, spelled like DataFrame.join.

        other : a plain DataFrame, or a Series with a name, with a unique index.
        on : the columns to find in its index.

        *Stability*: 1; see `merge`.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"zip": ["10", "20"]}), unit="row")
        >>> cities = pd.Series(["Rome", "Oslo"], index=["10", "20"], name="city")
        >>> p.join(cities, on="zip")["city"].value_counts()
        <unreleased value_counts of city (2 keys), from unnamed (asserted): nothing computed or \
charged; ask .release(epsilon=…), .idxmax(epsilon=…), .nlargest(n, epsilon=…)>
        """
        if on is None:
            raise _no_index("join", 'name the columns to find in the other index: on="zip"')
        table = other.to_frame() if isinstance(other, pd.Series) else other
        names = list(on) if isinstance(on, list | tuple) else [on]
        if not isinstance(table, pd.DataFrame) or table.index.nlevels != len(names):
            return self.merge(other, how, on)  # which says what it takes
        shared = [name for name in table.columns if name in self._columns]
        if shared and not (lsuffix or rsuffix):
            raise QueryError(
                f"both have a column {quoted(shared[0])}. Set lsuffix= or rsuffix=, or rename it."
            )
        return self.merge(
            table.rename_axis(names).reset_index(), how, on,
            suffixes=(lsuffix or None, rsuffix or None),
        )  # fmt: skip

    @release_method
    def melt(
        self,
        id_vars: Any = None,
        value_vars: Any = None,
        var_name: Any = "variable",
        value_name: Any = "value",
    ) -> Self:
        """A row for each value of some columns: its column's name, and the value.

        id_vars, value_vars : as in DataFrame.melt; by default all other columns but the unit. The
            names are the declared keys of the new column ``var_name``.

        *Stability*: the number of columns, because a row becomes as many, and the noise grows with
        it.

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.private(pd.DataFrame({"maths": [1, 5], "art": [2, 1]}), unit="row")
        >>> p.melt(value_name="grade").groupby("variable")["grade"].mean(bounds=(1, 6))
        <unreleased mean of grade by variable (2 keys), from unnamed (asserted): nothing computed \
or charged; ask .release(epsilon=…)>
        """
        kept, melted = self._listed(id_vars), self._listed(value_vars)
        unit = self._table.source.unit.column
        if value_vars is None:
            melted = [name for name in self._columns if name not in kept and name != unit]
        if not melted:
            raise QueryError("no columns are left to melt. Name some as value_vars=[…].")
        for name in (var_name, value_name):
            if name in kept or not is_hashable(name):
                raise QueryError(f"{quoted(name)} can't name the new column. Choose another name.")
            self._not_the_unit(name)
        if var_name == value_name:
            raise QueryError("var_name= and value_name= are equal. Choose two names.")
        branches = len(melted) * self._table.branches
        if branches > MOST_BRANCHES:
            raise QueryError(
                f"melt makes {branches} rows of each, and at most {MOST_BRANCHES} are possible. "
                "Melt fewer columns."
            )
        parts = []
        for each in melted:
            for columns, where in self._branches():
                ids = {name: columns[name] for name in kept}
                made = {**ids, var_name: Literal(each), value_name: columns[each]}
                parts.append((made, where))
        return self._branched(parts, (self._table.grown,) * len(melted))

    def _listed(self, names: Any) -> list[Any]:
        """Columns that are named by one name, by a list, or not at all."""
        listed = list(names) if isinstance(names, list | tuple | pd.Index) else [names]
        listed = [] if names is None else listed
        for name in listed:
            query_string.lookup(name, self._columns)
        once(listed)
        return listed


def _no_index(what: str, instead: str) -> QueryError:
    return QueryError(f"{what} needs an index, and private rows have none. Instead, {instead}.")
