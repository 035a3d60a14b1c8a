"""Questions in which few rows of each unit count by key: what it saves, and where it can't be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..errors import QueryError, warn_user
from ..statistics import LimitedCells, Statistic
from .accuracy import expected
from .query import Query


def refuse(statistic: Statistic, what: object) -> None:
    """Refuse a limit where no sensitivity is known for it."""
    if statistic.cells.limited and not statistic.takes_limits:
        raise QueryError(
            f"{what}: max_rows_per_key= and max_keys= are for counts of rows and units, sums, "
            "means, variances, deviations and covariances, whose noise they may lower. Leave them "
            "out here."
        )


def say_if_nothing_is_saved(query: Query) -> None:
    """Say that a limit drops rows for nothing: before the charge, by public facts alone."""
    other = without_limit(query)
    if other is None or query.mechanism() != other.mechanism():
        return
    warn_user(
        f"'{query}': {query.statistic.cells.limited} saves no noise here, and may drop rows. "
        f"{_instead(query, _rows_of(query))}"
    )


def _rows_of(query: Query) -> int:
    """The most rows of a unit, with all that they become."""
    return query.source.unit.max_rows * query.branches


def _instead(query: Query, rows: int) -> str:
    """Why a limit saves nothing, and what would."""
    limit = query.statistic.cells.limit  # type: ignore[attr-defined]
    if limit.rows is None or limit.rows >= rows:
        return (
            f"All of a unit's {rows} rows may still lie in one key. Give max_rows_per_key=, a "
            "number below that."
        )
    return (
        f"A unit may still move all keys together by {rows} rows, which epsilon pays for. Give "
        "max_keys=, the most keys that a unit counts for; or count rho, as in dp.session(rho=…): "
        "Gaussian noise falls with the limit of a key alone."
    )


def without_limit(query: Query) -> Query | None:
    """The query without its limit; None if it has none, or units have a single row."""
    cells = query.statistic.cells
    if not isinstance(cells, LimitedCells) or _rows_of(query) == 1:
        return None
    changed: Any = replace(query.statistic, cells=cells.unlimited)
    return replace(query, statistic=changed)


def error_without(query: Query, rows: float | None) -> str:
    """The error that a question would have without its limit; "" if it has none."""
    other = without_limit(query)
    return "" if other is None else expected.in_words(other.statistic, other.mechanism(), rows)
