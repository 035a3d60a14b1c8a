"""Public tables: plain frames that a caller states to hold nothing private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..errors import LineageError, QueryError, is_one_of, quoted
from . import query_string
from .expressions import plain_or_missing
from .facts.keys import SOURCE_ATTR, Keys
from .values import hashing


@dataclass(frozen=True)
class PublicTable:
    """A public table: its keys, and the values of its other columns in the same order."""

    left: tuple[Any, ...]
    keys: Keys
    values: dict[Any, tuple[Any, ...]]
    digest: str


def public_table(right: Any, how: str, on: Any, left_on: Any, right_on: Any) -> PublicTable:
    """What `merge` takes on its right: checked, and read as plain values."""
    if isinstance(right, pd.Series) and right.name is not None:
        right = right.to_frame().reset_index()
    if not isinstance(right, pd.DataFrame):
        raise QueryError(f"merge takes a public DataFrame, not a {type(right).__name__}.")
    refuse_private(right, "this table")
    if not is_one_of(how, ("left", "inner")):
        raise QueryError(
            f"how={quoted(how)}: a private frame is merged by 'left' or 'inner'; the others would "
            "make rows that nobody owns."
        )
    left, names = (
        _names(on if left_on is None else left_on),
        _names(on if right_on is None else right_on),
    )
    if not left or len(left) != len(names):
        raise QueryError("merge needs on=, or left_on= and right_on= of the same length.")
    for name in names:
        if name not in right.columns:
            raise query_string.unknown(name, list(right.columns))
    if not right.columns.is_unique:
        raise QueryError("the public table names a column twice.")
    rows = right[names].itertuples(index=False, name=None)
    labels = [row[0] if len(names) == 1 else row for row in rows]
    try:
        keys = Keys.parse(labels, names)
    except QueryError as error:
        raise QueryError(
            f"the key {', '.join(map(str, names))} of the public table must be unique and not "
            f"missing: {error.reason}"
        ) from None
    same = [name for name, own in zip(names, left, strict=True) if name == own]
    others = [name for name in right.columns if name not in same]
    values = {name: _values(right[name], name) for name in others}
    facts = repr((names, keys.labels, values))
    return PublicTable(tuple(left), keys, values, hashing.digest(facts, b""))


def refuse_private(given: Any, what: str) -> None:
    """Refuse what carries the token of a protected source where something public is wanted."""
    if SOURCE_ATTR in getattr(given, "attrs", ()):
        raise LineageError(f"{what} carries the token of a protected source: it is not public.")


def _names(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | pd.Index) else [given]


def _values(column: pd.Series[Any], name: Any) -> tuple[Any, ...]:
    values = [plain_or_missing(value) for value in column.tolist()]
    literals = (
        None if value is None else query_string.literal(value, f"{name} of the table")
        for value in values
    )
    return tuple(None if each is None else query_string.operand(each).value for each in literals)
