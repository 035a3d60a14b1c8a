"""Counts of private rows that a test asks for: checked before they are paid for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..columns.columns import PrivateColumn
from ..errors import QueryError
from ..frames.frame import PrivateFrame
from ..frames.groupby import PrivateGroupBy
from ..release.unreleased import Unreleased
from .counts import check_counts, check_shape, not_counts, other_shape
from .inputs import answer_of, is_private


def question_of(given: Any, sides: int) -> Any:
    """The counts that private rows are asked for; all else as it was given."""
    if isinstance(given, PrivateFrame):
        names = list(given._columns)
        return given.groupby(names).size() if len(names) == sides else given
    if isinstance(given, PrivateGroupBy):
        is_column = given._selected is not None and not isinstance(given._selected, list)
        is_one_side = len(given._names) == 1 and sides == 2
        return given.value_counts() if is_column and is_one_side else given.size()
    if isinstance(given, PrivateColumn) and hasattr(given, "value_counts") and sides == 1:
        return given.value_counts()
    return given


def released(asked: Any, test: str, ways: Mapping[str, Any], sides: int) -> Any:
    """An answer as it was given; or that of a question, once it is sure that it will do."""
    if isinstance(asked, list | tuple):
        if any(map(is_private, asked)):
            raise QueryError(
                f"{test} releases one table, and not several. Release each of these first, and "
                "give the answers; or ask for one table by two columns: "
                f"dp.stats.{test}(p.groupby(['a', 'b']), epsilon=…)."
            )
        return [answer_of(each, test, ways) for each in asked]
    if isinstance(asked, Unreleased):
        _check_question(asked, test, sides)
    elif is_private(asked) or isinstance(asked, PrivateFrame):
        raise other_shape(test, sides)
    return answer_of(asked, test, ways)


def _check_question(asked: Unreleased[Any], test: str, sides: int) -> None:
    """Refuse what would be no table of counts of units, by public facts alone."""
    request = asked._request
    statistic: Any = request.statistic
    table, query = request.table, str(request.what)
    if request.select:
        raise QueryError(f"{test} takes counts, and '{query}' selects a label.")
    check_counts(statistic, table.source.unit.max_rows * table.branches, query)
    is_count = type(statistic).__name__ in ("Count", "Contingency")
    if not is_count or statistic.share_of or getattr(statistic, "share", False):
        raise not_counts(query)
    if len(statistic.tests) > 1 and statistic.at_most != 1:
        raise QueryError(
            f"'{query}' counts rows under several conditions, and a row may meet more than one. "
            f"{test} is about cells of which each unit has one: group by columns."
        )
    if statistic.layout.groups.as_columns:
        raise QueryError(f"{test} takes counts whose labels are in the index: as_index=True.")
    shape = _shape(statistic, sides)
    if shape is None:
        raise other_shape(test, sides)
    check_shape(shape, test)


def _shape(statistic: Any, sides: int) -> tuple[int, ...] | None:
    """That of the counts that will be tested; None if they have other sides."""
    index, cells = statistic.layout.index, len(statistic.cells)
    if type(statistic).__name__ == "Contingency":
        return (cells // statistic.width, statistic.width) if sides == 2 else None
    if index is None or statistic.layout.columns is not None:
        return None
    if sides == 1:
        return (len(index),)
    if index.nlevels != 2:
        return None
    rows, columns = (len(index.get_level_values(level).unique()) for level in range(2))
    if rows * columns != len(index):
        raise QueryError(
            f"these keys have {len(index)} pairs of labels, and a table needs all pairs of its "
            "rows and columns. Declare the keys of each column."
        )
    return rows, columns
