"""Which rows of a unit repeat others in some columns: `duplicated` and `drop_duplicates`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..columns.private_rows import PrivateTable, is_unit, once
from ..errors import MissingArgument, QueryError, is_one_of, quoted
from ..rows.expressions import Compare, Expression, IsMissing, Literal, Where, need
from ..rows.facts import kinds
from .histories import history, own_rows


def is_repeated(frame: PrivateTable, subset: Any, keep: Any) -> Expression:
    """Whether a row equals an earlier one of its unit, a later one, or any, in some columns."""
    if not (keep is False or is_one_of(keep, ("first", "last"))):
        raise QueryError(f"keep={quoted(keep)} must be 'first', 'last' or False.")
    order = frame._table.order
    if keep == "last" and not order:
        raise MissingArgument(
            "keep='last' needs an order, because private rows have none. Name it before: "
            "frame.sort_values('when').drop_duplicates(…, keep='last')."
        )
    rows = own_rows(frame, _labels(frame, subset), order if keep else ())
    if keep is False:
        return Compare(">", history(frame._table, rows, "size", None), Literal(1))
    options = {} if keep == "first" else {"ascending": False}
    before = history(frame._table, rows, "cumcount", None, **options)
    return Compare(">", before, Literal(0))


def _labels(frame: PrivateTable, subset: Any) -> Sequence[Expression]:
    """What equal rows have in common beside their unit. As in pandas, missing values are equal."""
    unit = frame._table.source.unit.column
    listed = subset if isinstance(subset, list | tuple | set | pd.Index) else [subset]
    names = list(frame._columns) if subset is None else list(listed)
    once(names)
    found = {name: frame._found_column(name) for name in names}
    if not is_unit(found.pop(unit, None), frame._table):
        advice = (
            "protect the data with unit=: dp.protect(df, …, unit='person_id', max_rows=…)"
            if unit is None
            else f"name the unit column too: subset=[{quoted(unit)}, …]"
        )
        raise QueryError(
            "whether a row repeats another may only depend on rows of the same unit. To compare "
            f"those, {advice}."
        )
    by: list[Expression] = []
    for name, label in found.items():
        need(label, kinds.LABELS, frame._table.source.facts, f"subset={quoted(name)}")
        by += [IsMissing(label), Where(IsMissing(label), Literal(0), label)]
    return by
