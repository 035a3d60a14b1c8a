"""How far one unit may move an answer, beside its noise, in words: said before a release where
bounds, rows and the loss together make noise of it. Public facts alone decide that.

The rule. A number is at most its rows times what one row adds at most: 1 for a count, the larger
bound for a sum. The words are said of tables and of sums where a unit has several rows, with which
the noise grows, if the noise (95 %) is as large as `MANY` rows can be; and, if it is known about
how many rows there are, wherever it is more than one part in `PARTS` of what these can add up
to.
"""

from __future__ import annotations

import math
from typing import Any

from ...privacy.mechanisms.noise import DiscreteGaussian
from ...rows.figures import format_value
from ..query import Query
from .expected import CONFIDENCE, typed_error

#: Noise as large as what so many rows can add is worth a word, and so is more than one part in so
#: many of what the rows that are expected can add.
MANY, PARTS = 100, 10

#: What a number may count, by the names of units of errors.
_COUNTED = "rows", "units", "keys"


def told_of(query: Query, law: Any, rows: float | None = None) -> str:
    """How far one unit may move a number of the answer, how far noise will, and what to do; "" if
    noise doesn't drown the answer as far as public facts say.

    rows : about how many rows each number is taken over, if that is known.
    """
    statistic, model = query.statistic, query.statistic.errors
    adds, is_noise = model.row_adds(), hasattr(law, "half_width") and not query.select
    if not adds or not is_noise or statistic.layout.is_mixed:
        return ""
    each = model.errors_by_column(model.half_width(law, CONFIDENCE))
    if each is None or len(each) != len(adds):
        return ""
    noise, row, name = max(
        zip(each, adds, model.asked_columns, strict=False),
        key=lambda one: one[0] / one[1] if one[1] else 0.0,
    )
    if not row or not _drowns(query, noise / row, rows):
        return ""
    unit_rows = query.source.unit.max_rows * query.branches
    times = statistic.linf_sensitivity(unit_rows) / statistic.linf
    return _in_words(query, law, name if len(adds) > 1 else "", (noise, row, times))


def _drowns(query: Query, as_rows: float, rows: float | None) -> bool:
    """Whether noise that is as large as so many rows drowns an answer."""
    if rows is not None:
        return as_rows * PARTS > rows
    layout, model = query.statistic.layout, query.statistic.errors
    is_several = query.source.unit.max_rows * query.branches > 1
    is_told = not layout.is_scalar or model.noise_in_columns
    return is_several and is_told and as_rows >= MANY


def _in_words(query: Query, law: Any, name: Any, sizes: tuple[float, float, float]) -> str:
    statistic, model = query.statistic, query.statistic.errors
    noise, row, times = sizes
    unit = query.source.unit.column
    who = "one row" if unit is None else f"one {unit!r}"
    where = "the answer" if statistic.layout.is_scalar else "a cell"
    where += f" of {name}" if name != "" else ""
    what = model.units(query.source.facts.schema)[0]
    rows = f"{math.ceil(noise / row):,} {what if what in _COUNTED else 'rows'}"
    each = "" if times == 1 else f" ({format_value(times)} rows)"
    far, wide = format_value(typed_error(statistic, row * times)), model.in_short(noise)
    holds = "add up to less" if statistic.layout.is_scalar else "in it hold less"
    return (
        f"{who} may move {where} by {far}{each}, and the noise will be ± {wide} (95 %): fewer than "
        f"{rows} {holds}. Less noise: {_instead(query, law)}."
    )


def _instead(query: Query, law: Any) -> str:
    """What lowers the noise."""
    unit, statistic = query.source.unit, query.statistic
    is_sum, by_keys = statistic.errors.noise_in_columns, statistic.cells.keys is not None
    found = []
    if unit.column is not None and unit.max_rows > 1:
        if by_keys:
            is_gaussian = isinstance(law, DiscreteGaussian)
            found.append("max_rows_per_key=" if is_gaussian else "max_keys=")
        if is_sum:
            found.append("per_unit_bounds=")
        elif not by_keys:
            found.append(f"a count of units, [{unit.column!r}].nunique()")
        found.append("a smaller max_rows")
    if is_sum:
        found.append("narrower bounds")
    if len(found) < 2:
        return found[0] if found else "a larger loss"
    return f"{', '.join(found[:-1])} or {found[-1]}"
