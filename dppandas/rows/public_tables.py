"""Public tables: plain frames of which the caller states that they hold nothing private."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, is_one_of, quoted
from .facts.keys import Keys
from .plain_values import operands, refuse_private, unknown
from .values import hashing


@dataclass(frozen=True)
class PublicTable:
    """A public table: its keys, and the values of its other columns in the same order."""

    left: tuple[Any, ...]
    keys: Keys
    values: dict[Any, tuple[Any, ...]]
    digest: str
    orders: dict[Any, tuple[Any, ...]]  # of categories that have one


def public_table(right: Any, how: str, on: Any, left_on: Any, right_on: Any) -> PublicTable:
    """The right table of a `merge`, checked and read as plain values."""
    if isinstance(right, pd.Series) and right.name is not None:
        right = right.to_frame().reset_index()
    if not isinstance(right, pd.DataFrame):
        raise _no_table(right)
    refuse_private(right, "this table")
    if not is_one_of(how, ("left", "inner")):
        raise QueryError(
            f"how={quoted(how)} would make rows that belong to nobody. Write how='left' or "
            "how='inner'."
        )
    left, names = (_names(on if given is None else given) for given in (left_on, right_on))
    if not left or len(left) != len(names):
        raise QueryError("merge needs on=, or left_on= and right_on= of the same length.")
    for name in names:
        if name not in right.columns:
            raise unknown(name, list(right.columns))
    if not right.columns.is_unique:
        raise QueryError("the public table has two columns of one name. Rename one.")
    rows = right[names].itertuples(index=False, name=None)
    labels = [row[0] if len(names) == 1 else row for row in rows]
    try:
        keys = Keys.parse(labels, names)
    except QueryError as error:
        raise QueryError(
            f"the key {', '.join(map(str, names))} of the public table must be unique and never "
            f"missing: {error.reason}"
        ) from None
    same = [name for name, own in zip(names, left, strict=True) if name == own]
    others = [name for name in right.columns if name not in same]
    tables = ((name, right[name].tolist()) for name in others)
    values = {n: operands(cells, f"{n} of the table") for n, cells in tables}
    facts = repr((names, keys.labels, values))
    orders = {name: _order(right[name]) for name in others}
    return PublicTable(tuple(left), keys, values, hashing.digest(facts, b""), orders)


def indexed(right: Any, left_on: Any, right_on: Any) -> tuple[Any, Any]:
    """A public table whose index became columns under the names of the private ones that it is
    merged by, and these names."""
    names = _names(left_on)
    if right_on is not None or not names:
        raise QueryError("merge by right_index=True needs left_on=, and no on= or right_on=.")
    if not isinstance(right, pd.DataFrame | pd.Series):
        return right, names  # refused for what it is
    if isinstance(right, pd.Series) and right.name is None:
        raise QueryError("merge needs a name for the Series, as in right.rename('city').")
    refuse_private(right, "this table")
    table = right.to_frame() if isinstance(right, pd.Series) else right
    if table.index.nlevels != len(names) or any(name in table.columns for name in names):
        raise QueryError(
            f"merge by right_index=True needs a level of the index for each of {names}, and no "
            "column of the table by their names. Or give right_on= after .reset_index()."
        )
    return table.rename_axis(names).reset_index(), names


def _no_table(right: Any) -> QueryError:
    return QueryError(f"merge takes a public DataFrame, not a {type(right).__name__}.")


def shared_names(right: Any, columns: Collection[Any]) -> list[Any]:
    """The names that both tables have, by which pandas merges without on=."""
    if not isinstance(right, pd.Series | pd.DataFrame):
        raise _no_table(right)
    given = () if isinstance(right, pd.Series) else right.columns
    found = [name for name in given if name in columns]
    if not found:
        raise QueryError(
            "merge needs on=, or left_on= and right_on= of the same length: no column has the same "
            "name in both tables."
        )
    return found


def _order(column: pd.Series[Any]) -> tuple[Any, ...]:
    """The labels of ordered categories, from the lowest on; () for other columns."""
    if getattr(column.dtype, "ordered", None) is not True:
        return ()
    return operands(column.cat.categories.tolist(), f"{column.name} of the table")


def _names(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | pd.Index) else [given]
