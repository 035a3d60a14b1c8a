"""Which columns and rows are selected, by public facts: names, kinds, and private masks."""

from __future__ import annotations

import re
import typing
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
import pandas as pd

from ...errors import QueryError, hide_internals, quoted
from ...release.private import Private
from ...rows import query_string
from ...rows.expressions import Expression, Facts
from ...rows.facts import kinds
from ...rows.facts.keys import Keys, did_you_mean
from ...rows.sentences import html_above
from ..private_rows import PrivateTable

Columns = dict[Any, Expression]
Rows = TypeVar("Rows", bound=PrivateTable)


def named(columns: Columns, items: Any, like: Any, regex: Any) -> Columns:
    """The columns that `filter` keeps: exactly one of the three is given, as in pandas."""
    if sum(given is not None for given in (items, like, regex)) != 1:
        raise QueryError("filter takes one of items=[…], like='text' and regex='…'.")
    if items is not None:
        if not isinstance(items, list | tuple | pd.Index):
            raise QueryError("items= must be a list of names, such as items=['a', 'b'].")
        return {name: columns[name] for name in items if name in columns}
    text = like if regex is None else regex
    if not isinstance(text, str):
        raise QueryError(f"{quoted(text)} must be a string: a part of a name.")
    if regex is None:
        return {name: each for name, each in columns.items() if like in str(name)}
    try:
        found = re.compile(regex)
    except re.error as error:
        raise QueryError(f"regex={quoted(regex)} isn't a regular expression: {error}.") from None
    return {name: each for name, each in columns.items() if found.search(str(name))}


# --- kinds ----------------------------------------------------------------------------------------

_NAMES: dict[str, frozenset[kinds.Kind]] = {
    "number": frozenset({kinds.NUMBER, kinds.DURATION}),
    **dict.fromkeys(("bool", "boolean"), frozenset({kinds.TRUTH})),
    **dict.fromkeys(("str", "string"), frozenset({kinds.TEXT})),
    **dict.fromkeys(("object", "O"), frozenset({kinds.TEXT, kinds.LIST, *kinds.UNSURE})),
    **dict.fromkeys(("datetime", "datetime64"), frozenset({kinds.TIME})),
    "datetimetz": frozenset({kinds.ZONED}),
    **dict.fromkeys(("timedelta", "timedelta64"), frozenset({kinds.DURATION})),
}


def of_kinds(columns: Columns, facts: Facts, include: Any, exclude: Any) -> Columns:
    """The columns that `select_dtypes` keeps."""
    wanted, others = _kinds_named(include), _kinds_named(exclude)
    if not wanted and not others:
        raise QueryError('select_dtypes needs include= or exclude=, such as "number" or "object".')
    if both := wanted & others:
        raise QueryError(f"{sorted(both)[0]!r} is in include= and in exclude=. Name it once.")
    found = {name: _kinds_of(each, facts) for name, each in columns.items()}
    return {
        name: each
        for name, each in columns.items()
        if (not wanted or wanted & found[name]) and not others & found[name]
    }


def _kinds_named(given: Any) -> frozenset[str]:
    """The names of kinds in a list."""
    if given is None:
        return frozenset()
    each = given if isinstance(given, list | tuple | set | frozenset) else [given]
    return frozenset(map(_kind_named, each))


def _kind_named(given: Any) -> str:
    named = given if isinstance(given, str) else getattr(given, "__name__", str(given))
    known = named.partition("[")[0] if named.startswith(("datetime64", "timedelta64")) else named
    known = {"bool_": "bool", "object_": "object", "O": "object"}.get(known, known)
    if known == "category" or known in _NAMES:
        return known
    hint = did_you_mean(known, [*_NAMES, "category"])
    if known.lower().startswith(("int", "uint", "float")):
        hint = " Whole numbers and floats are one kind here: use 'number'."
    raise QueryError(
        f"{quoted(named)} is no kind of columns.{hint} The kinds are number, bool, datetime, "
        "datetimetz, timedelta, str, object and category."
    )


def _kinds_of(expression: Expression, facts: Facts) -> set[str]:
    """All names of a column's kind."""
    kind = expression.kind(facts.schema)
    found = {name for name, of in _NAMES.items() if kind in of}
    if isinstance(expression.declared(facts.domain), Keys) and kind not in kinds.NUMBERS:
        found.add("category")
    return found


# --- loc ------------------------------------------------------------------------------------------


class Locator(Private, Generic[Rows]):
    """``.loc`` of private rows: rows by a private mask, and columns by their names.

    Rows have no labels that are public, so none can be looked up. *Stability*: 1, row by row.
    """

    def __init__(self, rows_of: Rows, has_columns: bool) -> None:
        self._rows_of = rows_of
        self._has_columns = has_columns

    @hide_internals
    def __repr__(self) -> str:
        return f"<.loc of {self._rows_of!r}>"

    def _repr_html_(self) -> str:
        return html_above(".loc of", self._rows_of)

    @typing.overload
    def __getitem__(self, key: tuple[Any, Any]) -> Any: ...
    @typing.overload
    def __getitem__(self, key: Any) -> Rows: ...
    @hide_internals
    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) and self._has_columns else (key, ALL)
        found = self._kept(rows)
        if callable(columns):
            columns = columns(found)
        if isinstance(columns, slice):
            columns = _between(list(found._columns), columns) if columns != ALL else None
        elif is_flags(columns):
            columns = _flagged(list(found._columns), columns)
        return found if columns is None or not self._has_columns else found[columns]

    def _kept(self, rows: Any) -> Any:
        """The rows that a mask keeps."""
        rows_of: Any = self._rows_of
        if callable(rows) and not isinstance(rows, Private):
            rows = rows(rows_of)
        if isinstance(rows, slice) and rows == ALL:
            return rows_of
        if isinstance(rows, PrivateTable):
            return rows_of[rows]
        raise QueryError(
            "rows can't be looked up by labels or positions: which labels there are is private. "
            "Give a private mask, as in .loc[frame['age'] > 30], or all rows, as in .loc[:, 'age']."
        )

    @hide_internals
    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise QueryError(
            "private frames never change in place. Make a new column with assign and where: "
            "frame.assign(age=frame['age'].where(frame['age'] < 100, 100))."
        )


ALL = slice(None)


def is_flags(columns: Any) -> bool:
    """Whether this says of each column if it is wanted, as ``frame.columns != "age"`` does."""
    if not isinstance(columns, list | np.ndarray | pd.Series):
        return False
    return len(columns) > 0 and all(isinstance(each, bool | np.bool_) for each in columns)


def _flagged(names: list[Any], flags: Any) -> list[Any]:
    if len(flags) != len(names):
        raise QueryError(f"{len(flags)} truth values can't choose among {len(names)} columns.")
    return [name for name, wanted in zip(names, flags, strict=True) if wanted]


def _between(names: list[Any], ends: slice) -> list[Any]:
    """The columns from one name to another, both included."""
    if ends.step not in (None, 1):
        raise QueryError("columns are sliced by names without a step, as in .loc[:, 'a':'c'].")
    known = dict.fromkeys(names)
    for end in (ends.start, ends.stop):
        if end is not None:
            query_string.lookup(end, known)  # type: ignore[arg-type]
    first = 0 if ends.start is None else names.index(ends.start)
    last = len(names) if ends.stop is None else names.index(ends.stop) + 1
    return names[first:last]
