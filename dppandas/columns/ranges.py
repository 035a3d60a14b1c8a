"""The public ranges that values are clipped to; times and durations as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import MissingArgument, QueryError
from ..release.private import Table
from ..rows import expressions
from ..rows.expressions import Column, Expression, Measured, undeclared_column
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Ticks
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Ruler, Span, tick_of
from ..rows.figures import format_fact
from ..statistics import Layout

R = TypeVar("R", Bounds, Bounds | Span)

#: For how many columns an error writes out bounds to copy.
MOST_WRITTEN = 4


def bounds_of(table: Table, name: Any, expression: Expression, bounds: object) -> Bounds:
    """The bounds of a column of numbers: those of the call, else those that the domain implies."""
    found = range_of(table, name, expression, bounds)
    if isinstance(found, Bounds):
        return found
    name = shown(name, expression)
    column = f"p[{name!r}]"
    if found.is_time:
        column = f"({column} - pd.Timestamp({str(found.ends[0])!r}))"
    raise QueryError(
        f"{name!r} is bounded by {format_fact(found)}, and this works with numbers only. Convert "
        f"it: {column}.dt.total_seconds()."
    )


def shown(name: Any, expression: Expression) -> Any:
    """What errors call a column: one without a name is what it is computed of."""
    return str(expression) if name is None else name


def _of_one_kind(table: Table, name: Any, expression: Expression, span: Span) -> None:
    """Refuse bounds of times or durations for a column of another kind."""
    kind = expression.kind(table.source.facts.schema)
    if kinds.is_in(kind, expressions.KINDS[span.family]):
        return
    wanted = sorted(expressions.KINDS[span.family])[0]
    raise QueryError(
        f"bounds {format_fact(span)} of {name!r} are for the kind {wanted}, but the column is of "
        f"kind {kind}. "
        f"{_BOUNDED.get(kind, '')}"
    )


_BOUNDED = {
    kinds.ZONED: 'Give times in a zone, such as pd.Timestamp("2020-01-01", tz="UTC"), or strings.',
    kinds.TIME: "Give times without a zone, or strings that can be read as times.",
    kinds.DURATION: 'Give durations, such as (pd.Timedelta(0), pd.Timedelta("7D")).',
    kinds.NUMBER: "Give two numbers.",
    kinds.TEXT: 'Convert it by .astype("datetime64[ns]"), or declare it: kinds={…: "time"}.',
}


def range_of(table: Table, name: Any, expression: Expression, bounds: object) -> Bounds | Span:
    """The range of a column of numbers, times or durations: see `bounds_of`."""
    found = _known_range(table, name, expression, bounds)
    if found is None:
        raise _no_bounds(table, [(name, expression)])
    return found


def _known_range(
    table: Table, name: Any, expression: Expression, bounds: object
) -> Bounds | Span | None:
    """The range of a column, or None if it is missing. Refuses what has none."""
    named = shown(name, expression)
    declared = table.declared(expression)
    if isinstance(declared, Keys) and any(isinstance(k, str) for k in declared.labels):
        raise QueryError(
            f"the declared keys of {named!r} are texts, and this needs numbers or times. Count "
            "them by value_counts(); of a frame, choose columns: frame[['x', 'y']]."
            f"{table.list_for_tuple(expression)}"
        )
    if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
        bounds = bounds.get(name)
    if bounds is not None:
        span = Span.parse(bounds, str(named))
        if span is not None:
            _of_one_kind(table, named, expression, span)
        return span or Bounds.parse(bounds, str(named))
    if isinstance(declared, Bounds | Span):
        return declared
    spanned = expressions.spanned(declared) if isinstance(declared, Keys) else None
    if spanned is not None:
        return spanned
    if expressions.holds_truths(expression, table.source.facts):
        return Bounds(0.0, 1.0)
    of = kinds.NUMBERS | kinds.TIMES | {kinds.DURATION}
    expressions.need(expression, of, table.source.facts, f"numbers of {named!r}")
    return None


def _no_bounds(table: Table, columns: Sequence[tuple[Any, Expression]]) -> MissingArgument:
    """The error for columns whose bounds are missing."""
    names = [shown(name, expression) for name, expression in columns]
    otherwise = "declare it by domain= or .declare(…)"
    if not all(isinstance(expression, Column) for _, expression in columns):
        otherwise = "compute it by .clip(0, 60), or from columns with declared bounds"
    each, said = "(0, 60)", ", ".join(map(repr, names))
    if len(names) > 1:
        each = f"{{{', '.join(f'{name!r}: (0, 60)' for name in names[:MOST_WRITTEN])}"
        each += ", …}" if len(names) > MOST_WRITTEN else "}"
    undeclared = (undeclared_column(each, table.source.facts) for _, each in columns)
    told = next((name for name in undeclared if name is not None), None)
    truths = "for truths (0, 1)" if told is None else f"for truths kinds={{{told!r}: 'truth'}}"
    return MissingArgument(
        f"bounds= is needed for {said}: the range that values are clipped to is never read from "
        f"the data. Write bounds={each}, {truths}, or two times; or {otherwise}."
        + "".join(dict.fromkeys(table.list_for_tuple(each) for _, each in columns))
    )


def ranges_of(
    table: Table,
    columns: Iterable[tuple[Any, Expression]],
    bounds: object,
    find: Callable[..., R],
) -> list[R]:
    """The ranges of several columns. One refusal names all whose bounds are missing."""
    columns = list(columns)
    try:
        return [find(table, name, expression, bounds) for name, expression in columns]
    except MissingArgument:
        lacking = [each for each in columns if _known_range(table, *each, bounds) is None]
        if len(lacking) > 1:
            raise _no_bounds(table, lacking) from None
        raise


def measured(
    operands: Iterable[Expression], ranges: Sequence[Bounds | Span], layout: Layout
) -> tuple[tuple[Expression, ...], tuple[Bounds, ...], Layout]:
    """All columns as numbers, with their bounds: times and durations count ticks of one length for
    all, and the layout turns ticks back into times."""
    spans = [each for each in ranges if isinstance(each, Span)]
    tick = tick_of(spans) if spans else 1
    numbers, bounds = list(operands), list[Bounds]()
    for i, each in enumerate(ranges):
        if isinstance(each, Span):
            ruler = Ruler(each, tick)
            numbers[i], each = Measured(numbers[i], ruler), Ticks.along(ruler)
        bounds.append(each)
    rulers = tuple(each.ruler if isinstance(each, Ticks) else None for each in bounds)
    return tuple(numbers), tuple(bounds), replace(layout, rulers=rulers if spans else ())


def summable(bounds: Sequence[Bounds], norm: object) -> None:
    """Refuse sums of times; of durations together with numbers; and of durations with norm=."""
    rulers = [each.ruler for each in bounds if isinstance(each, Ticks)]
    if any(ruler.span.is_time for ruler in rulers):
        raise QueryError(
            "times have no sum. Sum durations, such as p['when'] - pd.Timestamp('2020-01-01'), or "
            "ask for the mean."
        )
    if rulers and (len(rulers) < len(bounds) or norm is not None):
        raise QueryError(
            "durations can't be summed together with numbers, nor with norm=. Convert them by "
            ".dt.total_seconds()."
        )
