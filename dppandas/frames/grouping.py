"""What rows are grouped by: columns by name, private columns, and periods of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..columns.operators import ColumnOperators
from ..columns.periods import grouped, is_grouper
from ..columns.private_rows import PrivateTable, once, same_rows
from ..dataclasses import dataclass, field, replace
from ..errors import QueryError, quoted
from ..release.private import Private
from ..release.query import same_value
from ..rows.expressions import Expression
from ..rows.facts.keys import SOURCE_ATTR, is_hashable, is_missing
from ..statistics import Cells
from ..statistics.layout import GroupLabels


@dataclass(frozen=True)
class Grouping:
    """The levels of an answer's index, a cell for each of its labels, and how these are shown."""

    names: list[Any]
    cells: Cells
    #: The columns that rows are grouped by: answers have none of them.
    used: frozenset[Any]
    shown: GroupLabels = field(default_factory=GroupLabels)
    #: Whether the columns were given as a list: pandas then names each group by a tuple.
    is_listed: bool = False

    def with_cells(self, cells: Cells) -> Grouping:
        """The same groups, of which other rows count."""
        return replace(self, cells=cells)


def names_of(given: Any) -> list[Any]:
    """The names of columns: one, or a list; empty for None."""
    if given is None:
        return []
    names = list(given) if isinstance(given, list | pd.Index) else [given]
    for name in names:
        if isinstance(name, Private):
            raise QueryError(
                "columns are given by name here. Name a private column first, as in "
                ".assign(old=p['age'] > 60), and use its name."
            )
        if callable(name):
            raise QueryError(
                "a function would be called with the labels of rows, and private rows have none. "
                "Make a column first, as in .assign(odd=p['n'] % 2 == 1), and use its name."
            )
        if not is_hashable(name):
            raise QueryError(f"{quoted(name)} isn't a column. Give columns by name.")
    return names


def names_and_columns(frame: PrivateTable, by: Any) -> tuple[list[Any], frozenset[Any]]:
    """What a groupby lists: names, private columns of these rows, and Groupers; and the frame's
    columns among them."""
    items = by if isinstance(by, list) else [by]
    columns = [each for each in items if isinstance(each, ColumnOperators)]
    for column in columns:
        same_rows(frame, column)
    found: list[Any] = []
    for each in items if columns else [by]:
        found += [each] if isinstance(each, ColumnOperators) else names_of(each)
    named = [each for each in found if not isinstance(each, ColumnOperators)]
    once([each.key if is_grouper(each) else each for each in named])
    used = {each.key if is_grouper(each) else each for each in named}
    used |= {c.name for c in columns if _is_column(frame, c)}
    return found, frozenset(used)


def _is_column(frame: PrivateTable, column: ColumnOperators) -> bool:
    """Whether a private column is one of the frame's, unchanged."""
    if not is_hashable(column.name):
        return False
    return same_value(frame._columns.get(column.name), column._expression)


def labels_of(frame: PrivateTable, items: Sequence[Any]) -> list[tuple[Any, Expression]]:
    """What labels are read from, each with its name."""
    return [
        (each.name, each._expression)
        if isinstance(each, ColumnOperators)
        else (each, frame._found_column(each))
        for each in items
    ]


def grouping(
    frame: PrivateTable, by: Any, keys: object, ranges: object, verb: str, dropna: bool = True
) -> Grouping:
    """The columns that rows are grouped by, and a cell for each declared key."""
    items, used = names_and_columns(frame, by)
    keys = keys if dropna else without_missing(keys)
    if not items:
        raise QueryError(f"{verb} needs at least one column, as in {verb}('city', keys=[…]).")
    frame._some_columns()
    if any(map(is_grouper, items)):
        names, cells = grouped(frame, items, keys, ranges)
    elif ranges is not None:
        raise QueryError(
            "range= is for periods, as in groupby(pd.Grouper(key='when', freq='MS'), range=(start, "
            "end)). For labels give keys=[…]."
        )
    else:
        labels = labels_of(frame, items)
        names, cells = [name for name, _ in labels], frame._cells_by(labels, keys)
    found = Grouping(names, cells, used, is_listed=isinstance(by, list | pd.Index))
    return found if dropna else with_missing(found, items)


def with_missing(by: Grouping, items: Sequence[Any]) -> Grouping:
    """A grouping with a last group, of the rows whose label is missing."""
    if any(map(is_grouper, items)):
        raise QueryError(
            "groupby offers dropna=False for one column of labels, and rows without a time are in "
            "no period. Leave it out: frame['day'].isna().mean(epsilon=0.1) is the share of these."
        )
    if len(items) > 1:
        raise QueryError(
            "groupby offers dropna=False for one column of labels. For several, make missing "
            "labels a key first: frame.assign(city=frame['city'].fillna('missing'))."
        )
    return replace(by, cells=replace(by.cells, missing_cell=True))


def without_missing(keys: object) -> object:
    """Keys without a missing one, which `dropna=False` declares. A protected column stays one, and
    is refused as keys."""
    if SOURCE_ATTR in getattr(keys, "attrs", ()):
        return keys
    if isinstance(keys, Mapping):
        return {name: without_missing(each) for name, each in keys.items()}
    if isinstance(keys, list | tuple | pd.Index | pd.Series | np.ndarray):
        return [key for key in keys if isinstance(key, tuple) or not is_missing(key)]
    return keys


def labels_shown(
    by: Any, as_index: object, sort: object, observed: object, dropna: object, delta: object
) -> GroupLabels:
    """How answers show the labels of groups. All declared keys are there, observed or not."""
    if dropna is False and delta is not None:
        raise QueryError(
            "dropna=False needs declared keys: groupby('city', keys=[…], dropna=False). Or count "
            "missing labels by frame[frame['city'].isna()].count(epsilon=…)."
        )
    flags = {"as_index": as_index, "sort": sort, "observed": observed, "dropna": dropna}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise QueryError(f"{name}={quoted(flag)} must be True or False.")
    levels = len(by) if isinstance(by, list | pd.Index) else 1
    return GroupLabels(levels, is_sorted=bool(sort), as_columns=not as_index)
