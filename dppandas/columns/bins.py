"""The bins of a histogram: cells between public edges."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from ..errors import MissingArgument, QueryError, quoted
from ..release.private import Table
from ..rows.expressions import Cut, Expression, Measured
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import Keys
from ..rows.facts.spans import TICKS, Ruler, Span
from ..rows.figures import format_fact, short
from ..statistics import Cells
from .ranges import bounds_of, range_of
from .rowwise import edges_of

MOST_BINS = 1_000_000
#: Of the edges of equal bins, as far as bins stay apart.
DIGITS = 12


def binned(
    table: Table, name: Any, expression: Expression, bins: Any, within: Any
) -> tuple[Cells, str]:
    """A cell for each bin of a column (the last holds both its edges), and the bins in words."""
    span = _span(table, name, expression, bins, within)
    if span is not None:
        return _of_times(expression, bins, span)
    edges = edges_within(table, name, expression, bins, within)
    intervals = tuple(pd.IntervalIndex.from_breaks(edges, closed="left"))
    cut_up = Cut(expression, edges, intervals, right=False, include_highest=True)
    said = f"{len(intervals)} bins in {short(edges[0])} to {short(edges[-1])}"
    return Cells((cut_up,), Keys(intervals)), said


def _span(table: Table, name: Any, expression: Expression, bins: Any, within: Any) -> Span | None:
    """The range of the bins, if it is one of times or durations."""
    if isinstance(bins, list | tuple | np.ndarray | pd.Index) and len(bins) > 1:
        return Span.parse((bins[0], bins[-1]), str(name)) if within is None else None
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        return None
    declared = table.declared(expression)
    if within is None and not isinstance(declared, Bounds | Span):
        return None
    found = range_of(table, name, expression, within)
    return found if isinstance(found, Span) else None


def _of_times(expression: Expression, bins: Any, span: Span) -> tuple[Cells, str]:
    """Bins of times or durations: bins of the numbers that a `Ruler` makes of them."""
    measured, edges, breaks = _measured(expression, bins, span)
    intervals = tuple(pd.IntervalIndex.from_breaks(breaks, closed="left"))
    cut_up = Cut(measured, edges, intervals, right=False, include_highest=True)
    low, high = span.ends
    return Cells((cut_up,), Keys(intervals)), f"{len(intervals)} bins in {low} to {high}"


def _measured(
    expression: Expression, bins: Any, span: Span
) -> tuple[Expression, tuple[float, ...], Any]:
    """Times or durations as numbers, the edges of bins among these numbers, and as they are."""
    nanos = _nanos(bins, span)
    ruler = Ruler(span, TICKS[1] if all(edge % 1000 == 0 for edge in nanos) else TICKS[0])
    edges = tuple((edge - ruler.origin) / ruler.tick for edge in nanos)
    if any(a >= b for a, b in itertools.pairwise(edges)):
        raise QueryError(
            f"{format_fact(span)} can't be cut into such bins, because edges must rise."
        )
    breaks = ruler.array([span.value(edge) for edge in nanos], of_lengths=not span.is_time)
    return Measured(expression, ruler), edges, breaks


def _nanos(bins: Any, span: Span) -> list[int]:
    """The edges in nanoseconds: those given, or of equal bins, rounded to microseconds."""
    if not isinstance(bins, int | np.integer):
        ends = [Span.parse((edge, edge), "bins") for edge in bins]
        if any(e is None or (e.family, e.zone) != (span.family, span.zone) for e in ends):
            raise QueryError("bins= must be rising times of one kind, or rising durations.")
        return [end.lower for end in ends if end is not None]
    number = _number(bins)
    width = span.upper - span.lower
    step = 1 if width < 1000 * number else 1000
    inner = (span.lower + width * i // number // step * step for i in range(1, number))
    return [span.lower, *inner, span.upper]


def _number(bins: int | np.integer[Any]) -> int:
    if not 1 <= bins <= MOST_BINS:
        raise QueryError(f"bins={quoted(bins)} must lie between 1 and {MOST_BINS:,}.")
    return int(bins)


def _equal(bounds: Bounds, number: int) -> tuple[float, ...]:
    """The edges of equal bins, to 12 digits: 73.7 in place of 73.69999999999999."""
    low, high = bounds.lower, bounds.upper
    exact: list[float] = np.linspace(low, high, number + 1).tolist()
    digits = DIGITS - math.ceil(math.log10(max(abs(low), abs(high))))
    edges = (exact[0], *(round(edge, digits) for edge in exact[1:-1]), exact[-1])
    return edges if all(a < b for a, b in itertools.pairwise(edges)) else tuple(exact)


def cut_up(
    table: Table,
    name: Any,
    expression: Expression,
    bins: Any,
    labels: Any,
    right: bool,
    include_lowest: bool,
    ordered: bool,
) -> Cut:
    """See `PrivateSeries.cut`."""
    given = isinstance(bins, pd.IntervalIndex)
    if given:
        right = _is_right(bins, labels)
        bins = [*bins.left, bins.right[-1]]
    is_number = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    lowest = right and (bool(include_lowest) or is_number) and not given
    span = _span(table, name, expression, bins, None)
    edges: tuple[float, ...]
    if span is not None:
        expression, edges, breaks = _measured(expression, bins, span)
    elif is_number:
        edges = breaks = edges_within(table, name, expression, bins, None, has_range=False)
    else:
        edges = breaks = edges_of(bins)
        if all(isinstance(edge, int | np.integer) for edge in bins):
            breaks = list(map(int, edges))
    named = _named(labels, breaks, right, lowest and not (is_number and span is not None))
    highest = is_number and not right
    is_ordered = ordered and labels is not False
    return Cut(expression, edges, named, right, lowest, highest, ordered=is_ordered)


def _is_right(intervals: pd.IntervalIndex, labels: Any) -> bool:
    """Whether intervals have their right edges. Refuses what edges in a row can't say."""
    if labels is not None:
        raise QueryError("intervals as bins= are the labels. Leave labels= out, or give edges.")
    are_in_a_row = list(intervals.left[1:]) == list(intervals.right[:-1])
    if len(intervals) and are_in_a_row and intervals.closed in ("left", "right"):
        return bool(intervals.closed == "right")
    raise QueryError(
        "intervals as bins= must follow each other without gaps, and be closed on the left or on "
        "the right. Give edges, as in cut([0, 18, 65]), and mask what you leave out."
    )


def _named(labels: Any, breaks: Any, right: bool, is_lowered: bool) -> tuple[Any, ...]:
    """A label for each interval between edges.

    is_lowered : whether the first interval is shown as pandas does it, from just below its edge.
    """
    number = len(breaks) - 1
    if labels is False:
        return tuple(range(number))
    if labels is None:
        if is_lowered:
            cut: Any = pd.cut(pd.Index(breaks)[:0], list(breaks), include_lowest=True)
            return tuple(cut.categories)
        return tuple(pd.IntervalIndex.from_breaks(breaks, closed="right" if right else "left"))
    named = Keys.parse(labels, ["cut"]).labels
    if len(named) != number:
        raise QueryError(
            f"{number + 1} edges make {number} intervals, but there are {len(named)} labels. Give "
            "one for each interval."
        )
    return named


def edges_within(
    table: Table,
    name: Any,
    expression: Expression,
    bins: Any,
    within: Any,
    has_range: bool = True,
) -> tuple[float, ...]:
    """The public edges of bins: those given, or of equal bins over a range.

    has_range : whether the call takes a range=, and not declared bounds alone.
    """
    if bins is None or isinstance(bins, bool | float | np.floating | str):
        raise QueryError(f"bins={quoted(bins)} must be a whole number of bins, or a list of edges.")
    if not isinstance(bins, int | np.integer):
        if within is not None:
            raise QueryError("a list of edges as bins= already says the range. Leave range= out.")
        edges = edges_of(bins)
    else:
        number = _number(bins)
        try:
            bounds = bounds_of(table, name, expression, within)
        except MissingArgument:
            lists = table.list_for_tuple(expression)
            if has_range:
                raise MissingArgument(
                    f"range= is needed for bins={number} of {name!r}, because dppandas never reads "
                    "it from the data. Write range=(lower, upper), or a list of edges as bins=."
                    f"{lists}"
                ) from None
            raise MissingArgument(
                f"bins={number} of {name!r} needs declared bounds, because edges are never read "
                "from the data. Declare them, as in .declare(age=(0, 60)), or give a list of edges."
                f"{lists}"
            ) from None
        edges = _equal(bounds, number)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise QueryError(f"{format_fact(bounds)} is too narrow for {number:,} bins.")
    if not all(map(math.isfinite, edges)):
        raise QueryError("the edges of bins= must be finite.")
    return edges
