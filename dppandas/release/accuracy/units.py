"""The units of an answer's figures, and which figures are dominated by noise, or of groups that
may be empty.

All are functions of public facts and noisy integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ...errors import RecordError
from ...privacy.mechanisms.selection import Selection
from ...rows.facts.kinds import Schema
from ...statistics import Count, Statistic
from ...statistics.layout import Interval, by_name, format_value

#: An interval that covers this share of the possible values says next to nothing. The second share
#: is for an answer that was cut off at an end of the possible values.
MOST, OF_CUT_OFF = 1 / 2, 1 / 10
#: How near an answer is to an end if it was cut off there, as a share of the possible range.
NEAR = 2.0**-20


#: Units that are counted one by one.
ONE_BY_ONE = ("rows", "units", "keys", "values", "blocks")

# --- units ----------------------------------------------------------------------------------------


def scale_of(statistic: Statistic, law: Any) -> Any:
    """The scale of the noise: in rows or ranks, or in the unit of the column; a dict by column if
    scales differ. For times it is a duration."""
    each = _scales(statistic, law)
    if all(scale == each[0] for scale in each):
        return each[0]
    names = statistic.errors.asked_columns
    return dict(zip(names if len(names) == len(each) else range(len(each)), each, strict=True))


def in_words(scale: Any) -> str:
    """A scale in a few characters."""
    each = scale if isinstance(scale, dict) else {None: scale}
    return by_name(list(each), [format_value(value) for value in each.values()])


def of_noise(statistic: Statistic, law: Any, schema: Schema) -> str:
    """What the scale of the noise is counted in; "" for a selection, whose scale has no unit, for
    times, whose scale says it, and for several columns."""
    scale = scale_of(statistic, law)
    if of_what := getattr(law, "scale_unit", ""):
        return str(of_what)
    if isinstance(law, Selection) or not isinstance(scale, int | float):
        return ""
    if statistic.errors.in_ranks:
        return "ranks"
    unit = statistic.errors.units(schema)[0]
    if unit == "share" or not statistic.errors.noise_in_columns:
        return unit if unit in ONE_BY_ONE else "rows"
    names = statistic.errors.asked_columns
    return f"(in {_named(names[0], 'column')})" if len(names) == 1 else ""


def noise_steps(statistic: Statistic, schema: Schema) -> list[tuple[float, str]]:
    """The step of the noise and its unit, as in `scale_of`, for each column asked about or one for
    all: in times seconds."""
    model = statistic.errors
    unit = model.units(schema)[0]
    if unit in (*ONE_BY_ONE, "share") or not model.noise_in_columns:
        return [(step, unit if unit in ONE_BY_ONE else "rows") for step in model.noise_steps]
    names, rulers = model.asked_columns, statistic.layout.rulers
    rulers = rulers or (None,) * len(model.noise_steps)
    return [
        (step, _named(name, "column")) if ruler is None else (step * ruler.tick / 1e9, "seconds")
        for step, name, ruler in zip(model.noise_steps, names, rulers, strict=True)
    ]


def _scales(statistic: Statistic, law: Any) -> list[Any]:
    if getattr(law, "scale_unit", ""):  # a multiple of something else
        return [float(law.scale)]
    each = [float(law.scale) * step for step in statistic.errors.noise_steps]
    rulers = statistic.layout.rulers if statistic.errors.noise_in_columns else ()
    if not rulers:
        return each
    pairs = zip(each, rulers, strict=True)
    return [scale if ruler is None else ruler.length(scale, math.ceil) for scale, ruler in pairs]


def units_of(statistic: Statistic, law: Any, schema: Schema) -> list[str]:
    """The units of errors: "rows", "ranks", "utility" for selections, or the name of a column for
    its own unit. Several if they differ."""
    if isinstance(law, Selection):
        return ["utility"]
    kinds = ("ranks",) if statistic.errors.in_ranks else statistic.errors.units(schema)
    return list(dict.fromkeys(unit for kind in kinds for unit in _units(kind, statistic)))


def unit_of_each(statistic: Statistic, schema: Schema, numbers: int) -> list[str]:
    """The unit of the error of each number, as in `units_of`; "time" where it is a Timedelta."""
    rulers = statistic.layout.rulers or (None,)
    names = statistic.errors.asked_columns
    found = []
    for i in range(numbers):
        kind = "ranks" if statistic.errors.in_ranks else statistic.errors.unit(i, schema)
        if kind not in ("column", "square"):
            found.append(_COUNTED.get(kind, kind))
        elif rulers[i % len(rulers)] is not None:
            found.append("time")
        else:
            found.append(_named(names[i % len(names)], kind))
    return found


def largest(errors: Sequence[Any], in_units: Sequence[str]) -> float:
    """The largest of some errors in one unit; for times in seconds."""
    found = [e / pd.Timedelta("1s") if isinstance(e, pd.Timedelta) else float(e) for e in errors]
    if not found:
        raise RecordError("this answer has no labels, so it has no errors.")
    if all(map(math.isnan, found)):
        raise RecordError("this answer has no proven error.")
    if len(in_units) > 1:
        raise RecordError(
            f"these errors are in several units ({', '.join(in_units)}), so none of them is the "
            "largest. Call .errors() for each."
        )
    if any(map(math.isnan, found)):
        raise RecordError("some of these errors are unknown. Call .errors() for the others.")
    return max(found)


#: Units that aren't a column's own, by their short name.
_COUNTED = {"product": "product of columns"}


def _named(name: Any, kind: str) -> str:
    """The unit of a column, by its name."""
    return f"{'value' if name is None else name}{'²' if kind == 'square' else ''}"


def _units(kind: str, statistic: Statistic) -> Iterable[str]:
    if kind not in ("column", "square"):
        return [_COUNTED.get(kind, kind)]
    rulers = statistic.layout.rulers or (None,) * len(statistic.errors.asked_columns)
    return [
        _named(name, kind) if ruler is None else "seconds"
        for name, ruler in zip(statistic.errors.asked_columns, rulers, strict=True)
    ]


# --- noise ----------------------------------------------------------------------------------------


def flags(
    statistic: Statistic, noisy: Sequence[Any], found: Sequence[Interval]
) -> tuple[list[bool | None], list[bool | None]]:
    """Which numbers noise dominates, and which groups may be empty, by the intervals of all: see
    `dominated` and `may_be_empty`."""
    is_dominated = dominated(statistic, noisy, found)
    return is_dominated, may_be_empty(statistic, noisy, found, is_dominated)


def intervals_at(
    statistic: Statistic, noisy: Sequence[Any], law: Any, confidence: float
) -> list[Interval]:
    """The intervals of all numbers; none if the statistic has none."""
    if statistic.errors.no_interval:
        return []
    found: list[Interval] = statistic.errors.intervals_at(noisy, law, confidence)
    return found


def dominated(
    statistic: Statistic, noisy: Sequence[Any], intervals: Sequence[Interval]
) -> list[bool | None]:
    """Whether noise dominates each number; None if that can't be known.

    It does if the interval of a count, a spread, or a sum on one side of 0 includes 0. Between
    public ends it does if the interval covers half of the range, or a tenth if the answer is cut
    off.
    """
    values = statistic.estimate(noisy)
    ends = [statistic.errors.possible(i) for i in range(len(values))]
    if not intervals or not any(ends):
        return [None] * len(values)
    return [
        None if possible is None else _says_nothing(value, interval, possible)
        for value, interval, possible in zip(values, intervals, ends, strict=True)
    ]


def may_be_empty(
    statistic: Statistic,
    noisy: Sequence[Any],
    intervals: Sequence[Interval],
    is_dominated: Sequence[bool | None],
) -> list[bool | None]:
    """Whether the group of each number may have no rows at all, given which numbers noise
    dominates; None where that isn't known either.

    It may if the interval includes all that no rows can give, without noise: 0 of counts, of sums
    and of shares of all rows, and every possible value of means and deviations. A covariance's
    interval is as wide where a column hardly varies, which says nothing of how many rows there are.
    """
    if statistic.errors.each:  # a label that was found has rows
        return [None if each is None else False for each in is_dominated]
    if isinstance(statistic, Count):
        return [bool(low <= 0) for low, _ in intervals]
    unknown = not intervals or not statistic.errors.tells_of_none
    if unknown or not any(is_dominated):
        return [None if each else each for each in is_dominated]
    of_none = _of_none(statistic, noisy)
    return [
        each and low <= least and most <= high
        for each, (low, high), (least, most) in zip(is_dominated, intervals, of_none, strict=False)
    ]


def mostly_possible(
    statistic: Statistic, noisy: Sequence[Any], intervals: Sequence[Interval]
) -> list[bool | None]:
    """Whether the intervals of quantiles cover at least half of the bounds; None without any."""
    if not intervals:
        return [None] * len(statistic.estimate(noisy))
    pairs = zip(intervals, _of_none(statistic, noisy), strict=False)
    return [high - low >= MOST * (most - least) for (low, high), (least, most) in pairs]


def _of_none(statistic: Statistic, noisy: Sequence[Any]) -> list[Interval]:
    """The intervals of no rows, without noise: all that is possible of means and the like."""
    found: list[Interval] = statistic.errors.intervals([0] * len(noisy), 0)
    return found


def _says_nothing(value: float, interval: Interval, possible: Interval) -> bool:
    (low, high), (least, most) = interval, possible
    if math.isinf(most):
        return bool(low <= least)
    if math.isinf(least):
        return bool(high >= most)
    width = most - least
    covered = (high - low) / width
    is_cut_off = min(value - least, most - value) <= NEAR * width
    return bool(covered >= MOST or (is_cut_off and covered >= OF_CUT_OFF))
