"""The public ranges that values are clipped to, and numbers made of times and durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import MissingArgument, QueryError
from ..release.private import Table
from ..rows import expressions
from ..rows.expressions import Expression, Measured
from ..rows.facts import kinds
from ..rows.facts.bounds import Bounds, Ticks
from ..rows.facts.keys import Keys
from ..rows.facts.spans import Ruler, Span, tick_of
from ..statistics import Layout


def bounds_of(table: Table, name: Any, expression: Expression, bounds: object) -> Bounds:
    """The bounds that a call gives for a column of numbers, else those that the domain implies."""
    found = range_of(table, name, expression, bounds)
    if isinstance(found, Bounds):
        return found
    raise QueryError(
        f"{name!r} is bounded by {found}, and this is answered for numbers only. Make numbers of "
        f"it: {_as_numbers(name, found)}."
    )


def _of_one_kind(table: Table, name: Any, expression: Expression, span: Span) -> None:
    """Refuse bounds of times for what can't be such."""
    kind = expression.kind(table.source.facts.schema)
    if kinds.is_in(kind, expressions.KINDS[span.family]):
        return
    wanted = sorted(expressions.KINDS[span.family])[0]
    raise QueryError(
        f"bounds {span} of {name!r} are for the kind {wanted}, and it "
        f"is of kind {kind}. {_BOUNDED.get(kind, '')}"
    )


_BOUNDED = {
    kinds.ZONED: 'Give times in a zone, such as pd.Timestamp("2020-01-01", tz="UTC"), or texts.',
    kinds.TIME: "Give times without a zone, or texts that read as such.",
    kinds.DURATION: 'Give durations, such as (pd.Timedelta(0), pd.Timedelta("7D")).',
    kinds.NUMBER: "Give two numbers.",
    kinds.TEXT: 'Convert it by .astype("datetime64[ns]"), or declare it: kinds={…: "time"}.',
}


def _as_numbers(name: Any, span: Span) -> str:
    column = f"p[{name!r}]"
    if span.is_time:
        column = f"({column} - pd.Timestamp({str(span.ends[0])!r}))"
    return f"{column}.dt.total_seconds()"


def range_of(table: Table, name: Any, expression: Expression, bounds: object) -> Bounds | Span:
    """The same, of numbers, times or durations."""
    declared = table.declared(expression)
    if isinstance(declared, Keys) and any(isinstance(k, str) for k in declared.labels):
        raise QueryError(f"{name!r} is declared as text, which has no sum or mean.")
    if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
        bounds = bounds.get(name)
    if bounds is not None:
        span = Span.parse(bounds, str(name))
        if span is not None:
            _of_one_kind(table, name, expression, span)
        return span or Bounds.parse(bounds, str(name))
    if isinstance(declared, Bounds | Span):
        return declared
    spanned = expressions.spanned(declared) if isinstance(declared, Keys) else None
    if spanned is not None:
        return spanned
    if expression.is_truth:
        return Bounds(0.0, 1.0)
    of = kinds.NUMBERS | kinds.TIMES | {kinds.DURATION}
    expressions.need(expression, of, table.source.facts, f"numbers of {name!r}")
    raise MissingArgument(
        f"bounds= is needed for {name!r}: the range into which values are clipped, such as "
        "bounds=(0, 60), or (0, 1) for what is True or False, or two times such as ('2020-01-01', "
        "'2020-12-31'), or two durations; or facts declared by domain= of dp.protect or by "
        ".declare(…) (which hold for the frame returned, not for df.dp). dppandas never reads it "
        "from the data, for the largest value is somebody's."
    )


def measured(
    operands: Sequence[Expression], ranges: Sequence[Bounds | Span]
) -> tuple[tuple[Expression, ...], tuple[Bounds, ...]]:
    """Numbers of all columns: times and durations in ticks along their spans, one tick for all."""
    spans = [each for each in ranges if isinstance(each, Span)]
    tick = tick_of(spans) if spans else 1
    found: list[tuple[Expression, Bounds]] = []
    for operand, each in zip(operands, ranges, strict=True):
        if isinstance(each, Span):
            ruler = Ruler(each, tick)
            found.append((Measured(operand, ruler), Ticks.along(ruler)))
        else:
            found.append((operand, each))
    return tuple(e for e, _ in found), tuple(b for _, b in found)


def ruled(layout: Layout, bounds: Sequence[Bounds]) -> Layout:
    """A layout that tells of times, where bounds are of such."""
    rulers = tuple(each.ruler if isinstance(each, Ticks) else None for each in bounds)
    return replace(layout, rulers=rulers) if any(rulers) else layout


def summable(bounds: Sequence[Bounds], norm: object) -> None:
    """Refuse sums of times, and of durations beside numbers or within a norm."""
    rulers = [each.ruler for each in bounds if isinstance(each, Ticks)]
    if any(ruler.span.is_time for ruler in rulers):
        raise QueryError(
            "times have no sum. Sum durations, such as p['when'] - pd.Timestamp('2020-01-01'), or "
            "ask for the mean."
        )
    if rulers and (len(rulers) < len(bounds) or norm is not None):
        raise QueryError(
            "durations are summed apart from numbers, and without norm=: make numbers of them by "
            ".dt.total_seconds()."
        )
