"""Some rows and columns of a table: what private columns, frames and groups are made of."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..errors import LineageError, MissingArgument, QueryError, UnknownColumn, quoted
from ..release.private import Private, Table
from ..release.query import same_value
from ..rows import expressions, query_string
from ..rows.expressions import Column, Expression, InPeriod, TimePart
from ..rows.facts import kinds
from ..rows.facts.keys import Keys, by_column, lasting_names
from ..statistics import Cells, KeyLimit, LimitedCells


class PrivateTable(Private):
    """Some rows and columns of a table: what every private object is made of."""

    _table: Table
    _columns: dict[Any, Expression]
    _where: Expression | None
    #: The class of private frames, which says so itself.
    _frame: ClassVar[Any]

    def __init__(
        self, table: Table, columns: Mapping[Any, Expression], where: Expression | None = None
    ) -> None:
        lasting_names(columns)
        self.__dict__.update(_table=table, _columns=dict(columns), _where=where)

    def _some_columns(self) -> None:
        if not self._columns:
            raise QueryError("no columns are selected. Select at least one.")

    def _found_column(self, name: Any) -> Expression:
        """The column of that name. If the index has the name, the error says what to do."""
        try:
            return query_string.lookup(name, self._columns)
        except UnknownColumn as error:
            if name not in self._table.levels:
                raise
            raise UnknownColumn(
                f"{error.reason} {quoted(name)} is an index level, and answers use columns only. "
                "Start from df.reset_index()."
            ) from None

    def _cells(self, names: Sequence[Any], keys: object) -> Cells:
        """A cell for each key of some columns, by their names."""
        self._some_columns()
        return self._cells_by([(name, self._found_column(name)) for name in names], keys)

    def _cells_by(self, by: Sequence[tuple[Any, Expression]], keys: object) -> Cells:
        """A cell for each key that is given or declared for some columns and their names."""
        names, given = [name for name, _ in by], self._of_one(by, keys)
        if given is None:
            each = [declared_keys(self._table, name, expression) for name, expression in by]
            parsed = functools.reduce(Keys.then, each)
        elif isinstance(given, Mapping) and len(by) > 1:
            parsed = self._completed(by, given)
        else:
            parsed = Keys.parse(given, names)
        for position, (_, expression) in enumerate(by):
            labels = parsed.column(position)
            expressions.agree(expression, self._table.source.facts, labels)
            expressions.times_once(expression, self._table.source.facts, labels)
        return Cells(tuple(expression for _, expression in by), parsed)

    def _limited(self, cells: Cells, limit: KeyLimit | None) -> Cells:
        """Cells of which few rows of each unit count, if there is a limit."""
        if limit is None:
            return cells
        return LimitedCells.of(
            cells, limit, self._table.source.unit.column, self._table.engine.columns
        )

    def _completed(self, by: Sequence[tuple[Any, Expression]], given: Mapping[Any, Any]) -> Keys:
        """Keys that are given by name for some columns, and declared for the others."""
        names = [name for name, _ in by]
        if any(names.count(name) > 1 for name in given):
            raise QueryError(
                "keys= can't tell apart columns of one name. Give one of them another name, as in "
                'frame["when"].dt.month.rename("month").'
            )
        known = {
            name: (place, found)
            for place, (name, each) in enumerate(by)
            if name not in given and (found := keys_known(self._table, each)) is not None
        }
        labels = {name: found.labels for name, (_, found) in known.items()}
        ordered = frozenset(place for place, found in known.values() if found.ordered)
        return replace(Keys.parse(labels | dict(given), names), ordered=ordered)

    def _of_one(self, by: Sequence[tuple[Any, Expression]], keys: object) -> Any:
        """Keys, by name if a flat list is given for several columns: it is that of the only one
        of which no keys are known."""
        if len(by) == 1 or not isinstance(keys, list | range | np.ndarray | pd.Index | pd.Series):
            return keys
        if any(isinstance(label, tuple) for label in keys):
            return keys
        silent = [name for name, expression in by if not keys_known(self._table, expression)]
        return {silent[0]: keys} if len(silent) == 1 else keys

    def _crossed(
        self, index_names: Sequence[Any], column_names: Sequence[Any], keys: object
    ) -> tuple[Cells, list[Keys]]:
        """A cell for each pair of a row key and a column key, row by row; and both sides' keys."""
        names = [*index_names, *column_names]
        self._some_columns()
        for name in names:
            query_string.lookup(name, self._columns)
        once(names)
        given = keys_by_column(keys, names)
        each = [self._cells([name], given.get(name)) for name in names]
        parsed = [cells.keys for cells in each if cells.keys is not None]
        sides = [parsed[: len(index_names)], parsed[len(index_names) :]]
        joined = [functools.reduce(Keys.then, side) for side in sides if side]
        by = tuple(expression for cells in each for expression in cells.by)
        return Cells(by, functools.reduce(Keys.then, joined)), joined


def keys_by_column(keys: object, names: Collection[Any]) -> Mapping[Any, Any]:
    """The keys that a call gives for columns, by name; empty for None."""
    return by_column(keys, names, "keys=", "{'sex': ['f', 'm']}")


def once(names: Sequence[Any]) -> None:
    """Refuse a list that names a column twice."""
    if len(set(names)) != len(names):
        raise QueryError("the list names a column twice. Name each column once.")


def same_rows(rows_of: PrivateTable, column: PrivateTable) -> None:
    """Refuse a column of another frame, or one with other rows kept."""
    if column._table.data is not rows_of._table.data:
        raise LineageError("this column belongs to another frame. Make it from this one.")
    if column._where is not None and not same_value(column._where, rows_of._where):
        raise QueryError("this column has other rows than the frame. Make it from this frame.")


def is_unit(expression: Expression | None, table: Table) -> bool:
    """Whether it is the column that says whose rows they are, of whatever kind it is declared."""
    unit = table.source.unit.column
    return unit is not None and isinstance(expression, Column) and expression.name == unit


def unit_labels(table: Table) -> dict[Any, Expression] | None:
    """The labels of one row for each unit, or for each unit and key, which pandas has in the index;
    None for other tables."""
    if table.summary is None:
        return None
    _, made = table.summary
    return {name: Column(name) for name in (made.rows.unit, *made.by)}


def keys_known(table: Table, expression: Expression) -> Keys | None:
    """The keys that the domain declares, or that follow from it, and those of True and False."""
    facts = table.source.facts
    if (known := expression.known_keys(facts.domain, facts.schema)) is not None:
        return known
    are_truths = expressions.holds_truths(expression, facts)
    return Keys((False, True)) if are_truths else None


def declared_keys(table: Table, name: Any, expression: Expression) -> Keys:
    """The keys that are known of a column, which is refused if there are none."""
    if (known := keys_known(table, expression)) is not None:
        return known
    name = str(expression) if name is None else name
    if is_unit(expression, table):
        unit = table.source.unit.column
        raise MissingArgument(
            f"keys= is needed for the unit column {name!r}: which units there are is private. "
            "Leave it out; or ask of one row a unit, frame.per_unit().agg(n=('amount', 'sum')); "
            f"or how many rows each has, frame.groupby({quoted(unit)}).size()."
        )
    kind = expression.kind(table.source.facts.schema)
    if kind in kinds.TIMES or isinstance(expression, TimePart | InPeriod):
        raise MissingArgument(
            f"keys= is needed for {name!r}: which times occur is never read from the data, and "
            'bounds give no short list. For periods write resample("MS", on="when", '
            f'range=("2020-01-01", "2020-12-31")).{table.list_for_tuple(expression)}'
        )
    example = ["a", "b"] if kind == kinds.TEXT else [9, 12, 14]
    raise MissingArgument(
        f"keys= is needed for {name!r}: labels are never read from the data. Write "
        f"keys={example}, or {declaring_keys(expression)}. Or pay for common ones: value_counts "
        "or groupby(…, delta=…)."
    )


def declaring_keys(expression: Expression) -> str:
    """How a column gets keys: only columns of the table can be declared."""
    if isinstance(expression, Column):
        return "declare them by domain= or .declare(…)"
    return "compute it by .map({…}) or .cut([…])"


def listed(names: Iterable[Any]) -> str:
    """Columns as a query would name them."""
    return ", ".join(str(Column(name)) for name in names)
