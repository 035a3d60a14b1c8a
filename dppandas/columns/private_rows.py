"""Some rows and columns of a table: what private columns, frames and groups are made of."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import LineageError, MissingArgument, QueryError, UnknownColumn, quoted
from ..release.private import Private, Table
from ..rows import expressions, query_string
from ..rows.expressions import Column, Expression
from ..rows.facts.keys import Keys
from ..statistics import Cells


class PrivateTable(Private):
    """Some rows and columns of a table: what every private object is made of."""

    _table: Table
    _columns: dict[Any, Expression]
    _where: Expression | None

    def __init__(
        self, table: Table, columns: Mapping[Any, Expression], where: Expression | None = None
    ) -> None:
        self.__dict__.update(_table=table, _columns=dict(columns), _where=where)

    def _some_columns(self) -> None:
        if not self._columns:
            raise QueryError("there are no columns to answer for; select some.")

    def _found_column(self, name: Any) -> Expression:
        """The column of a name; where that is the index's, what to do about it."""
        try:
            return query_string.lookup(name, self._columns)
        except UnknownColumn as error:
            if name not in self._table.levels:
                raise
            raise UnknownColumn(
                f"{error.reason} {quoted(name)} is of the index, which has no part in answers: start from "
                "df.reset_index()."
            ) from None

    def _cells(self, names: Sequence[Any], keys: object) -> Cells:
        self._some_columns()
        by = [self._found_column(name) for name in names]
        if keys is None:
            declared = [declared_keys(self._table, n, e) for n, e in zip(names, by, strict=True)]
            parsed = declared[0]
            for more in declared[1:]:
                parsed = parsed.then(more)
        else:
            parsed = Keys.parse(keys, names)
        for position, expression in enumerate(by):
            expressions.agree(expression, self._table.source.facts, parsed.column(position))
        return Cells(tuple(by), parsed)

    def _crossed(
        self, index_names: Sequence[Any], column_names: Sequence[Any], keys: object
    ) -> tuple[Cells, list[Keys]]:
        """A cell for each pair of row keys and column keys, row by row; and both of these."""
        names = [*index_names, *column_names]
        self._some_columns()
        for name in names:
            query_string.lookup(name, self._columns)
        once(names)
        if keys is not None and not isinstance(keys, Mapping):
            raise QueryError("keys= is a dict with a list for each column here.")
        given = {} if keys is None else keys
        if set(given) - set(names):
            extra = sorted(map(str, set(given) - set(names)))
            raise QueryError(f"keys= names {extra}, not among {listed(names)}.")
        each = [self._cells([name], given.get(name)) for name in names]
        parsed = [cells.keys for cells in each if cells.keys is not None]
        sides = [parsed[: len(index_names)], parsed[len(index_names) :]]
        joined = [functools.reduce(Keys.then, side) for side in sides if side]
        by = tuple(expression for cells in each for expression in cells.by)
        return Cells(by, functools.reduce(Keys.then, joined)), joined


def once(names: Sequence[Any]) -> None:
    """Refuse a list that names a column twice."""
    if len(set(names)) != len(names):
        raise QueryError("the list names a column twice; name each once.")


def same_rows(rows_of: PrivateTable, column: PrivateTable) -> None:
    """Refuse a column of another frame, or of rows that were kept otherwise."""
    if column._table.data is not rows_of._table.data:
        raise LineageError("this column was made from another frame; make it from this one.")
    if column._where is not None and column._where != rows_of._where:
        raise QueryError("this column was made from other rows; make it from this frame.")


def declared_keys(table: Table, name: Any, expression: Expression) -> Keys:
    """The keys that a domain declares; those of a truth value are no secret."""
    declared = table.declared(expression)
    if isinstance(declared, Keys):
        return declared
    if expression.is_truth:
        return Keys((False, True))
    raise MissingArgument(
        f"keys= is needed for {name!r}: a list of the labels to answer for, such as "
        "keys=[9, 12, 14], or facts declared by domain= of dp.protect or by .declare(…) (which "
        "hold for the frame returned, not for df.dp). dppandas never reads labels from the data, "
        "for a rare one would tell who is in it. Those that many have can be found at the price of "
        "a δ: value_counts(epsilon=…, delta=…) or groupby(…, delta=…), in a session such as "
        "dp.session(epsilon=2, delta=1e-6)."
    )


def listed(names: Iterable[Any]) -> str:
    """Columns as a query would name them."""
    return ", ".join(str(Column(name)) for name in names)
