"""The privacy unit: whose rows are protected together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass
from ...errors import MissingArgument, QueryError, quoted
from .keys import SOURCE_ATTR, did_you_mean, some_names

#: The most rows of one unit that can be protected.
MOST_ROWS = 2**31
#: The labels of what `suggest_max_rows` answers.
SUGGESTED = "max_rows", "units_cut", "rows_dropped"


@dataclass(frozen=True)
class Unit:
    """Who is protected: each row, or each value of a column with at most max_rows rows."""

    column: Any = None
    max_rows: int = 1

    @classmethod
    def parse(cls, column: object, max_rows: object, columns: Sequence[str]) -> Unit:
        given = _suggested(max_rows)
        rows = None if given is None else whole_number(given, "max_rows", 1, MOST_ROWS)
        if isinstance(column, list | tuple) and _is_joint(column, columns):
            each = ", ".join(f"df[{quoted(name)}]" for name in column)
            raise QueryError(
                f"unit={quoted(column)} names several columns, and a unit is one. Make one of them "
                f"before the first dp.protect: df['who'] = list(zip({each})). Then unit='who'."
            )
        if not isinstance(column, Hashable):
            raise QueryError(
                f"unit={quoted(column)} isn't a column name. Name the column that says whose row "
                "it is."
            )
        if column is None or (column == "row" and "row" not in columns):
            if rows not in (None, 1):
                raise QueryError(
                    f"max_rows={rows} needs unit=, the column that says whose row it is; without "
                    "it, every row is one person."
                )
            return cls()
        if column not in columns:
            raise QueryError(
                f"unit={quoted(column)} isn't a column.{did_you_mean(column, columns)} The "
                f"columns: {some_names(columns)}."
            )
        if rows is None:
            raise MissingArgument(
                f"max_rows= is needed with unit={quoted(column)}: the most rows of each unit to "
                "use. The noise grows with it, and 1 keeps one row of each. It is never counted "
                "from the data; suggest_max_rows tells, for a loss, what limits would cut."
            )
        return cls(column, rows)

    def __str__(self) -> str:
        if self.column is None:
            return "each row"
        if self.max_rows == MOST_ROWS:
            return f"each {self.column!r} (all rows)"
        rows = "1 row" if self.max_rows == 1 else f"at most {self.max_rows} rows"
        return f"each {self.column!r} ({rows})"


def _suggested(max_rows: object) -> object:
    """The limit in a result of `suggest_max_rows`; anything else as it is."""
    if not isinstance(max_rows, pd.Series) or max_rows.index.tolist() != [*SUGGESTED]:
        return max_rows
    found = max_rows.iloc[0]
    if SOURCE_ATTR in max_rows.attrs or not isinstance(found, float | int):
        return max_rows
    if not 1 <= found < np.inf:
        raise QueryError(
            "no limit was suggested: too few units for the loss that was spent, or too many with "
            "more rows than counted=. suggest_max_rows(keep=None) of the same loss shows what "
            "each limit would cut, for free: choose one of them."
        )
    return int(found) if found == int(found) else found


def _is_joint(column: list[Any] | tuple[Any, ...], columns: Sequence[Any]) -> bool:
    """Whether a caller named several columns as the unit."""
    return len(column) > 1 and (isinstance(column, list) or column not in columns)


def whole_number(
    value: object, name: str, least: int, most: int | None = None, why: str = ""
) -> int:
    """A public whole number within limits; ``why`` ends the error message."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    number = int(value) if is_whole else least - 1  # type: ignore[call-overload]
    if least <= number and (most is None or number <= most):
        return number
    limits = f" from {least:,} to {most:,}" if most is not None else f", {least:,} or more"
    raise QueryError(f"{name}={quoted(value)} must be a whole number{limits}{why}.")
