"""Sums of what each unit adds in all: ``sum(per_unit_bounds=…)``."""

from __future__ import annotations

from collections.abc import Mapping

from ... import statistics
from ...columns.ranges import summable
from ...errors import MissingArgument, QueryError
from ...release.request import Request
from ...release.wording import Later, labels
from ...rows.expressions import Place
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.keys import Keys
from ...statistics import Cells
from .queryable import Queryable


def sum_of_totals(
    asked: Queryable, per_unit_bounds: object, others: Mapping[str, object]
) -> Request:
    """The request for the sum of units' totals, each unit limited by bounds.

    others : other arguments that limit rows, by name; refused where they are given.
    """
    given = next((name for name, value in others.items() if value is not None), None)
    if given is not None:
        raise QueryError(
            f"per_unit_bounds= limits what a unit adds in all, and {given}= is about each row. "
            "Give one of them."
        )
    frame = asked._frame(asked._table, asked._columns, asked._where)
    frame._unit_column("sum(per_unit_bounds=…)")
    groups = asked._groups
    if groups.by and groups.keys is None:
        raise QueryError(
            "sum(per_unit_bounds=…) needs declared keys, because a unit is limited in all groups "
            "together: groupby(…, keys=[…])."
        )
    if groups.limited:
        raise QueryError(
            "per_unit_bounds= reads all rows of a unit, and a limit by key keeps some. Leave "
            "max_keys= and max_rows_per_key= out."
        )
    _all_given(asked, per_unit_bounds)
    operands, parsed, shape = asked._measured(per_unit_bounds)
    summable(parsed, None)
    grids = tuple(map(Grid.centred, parsed))
    summed = dict(zip(asked._operands(), operands, strict=True))
    title = asked._asks("sum", parsed).beside(("limit", "limited by what each unit adds in all"))
    if groups.keys is None:
        made, columns = frame.per_unit()._totals(summed)
        return asked._question_of(made, statistics.Sum(groups, shape, tuple(columns), grids), title)
    place = Place(groups.by, groups.keys, groups.missing_cell)
    made, (cell, *totals) = frame.per_unit()._totals(summed, place)
    cells = Cells((cell,), Keys(tuple(range(len(groups)))))
    statistic = statistics.UnitTotals(cells, shape, tuple(totals), grids)
    title = title.beside(("keys", Later(labels, groups.keys, groups.missing_cell)))
    return asked._question_of(made, statistic, title)


def _all_given(asked: Queryable, bounds: object) -> None:
    """Refuse columns without bounds of their totals: what is declared of them holds for a row."""
    if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
        silent = [name for name in asked._operands() if name not in bounds]
        if silent:
            raise MissingArgument(
                f"per_unit_bounds= has no entry for {silent[0]!r}: what is declared of a column "
                f"holds for one row. Write {{{silent[0]!r}: (0, 500)}}, for example."
            )
