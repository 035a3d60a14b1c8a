"""Checks of the arguments of answers, and the layouts that follow from them."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...columns.operators import ColumnOperators
from ...columns.private_rows import PrivateTable, same_rows
from ...columns.ranges import bounds_of, shown
from ...dataclasses import dataclass, replace
from ...errors import MissingArgument, QueryError, is_one_of, quoted
from ...rows import expressions
from ...rows.expressions import Expression, Literal
from ...rows.facts.bounds import Bounds, Grid
from ...rows.facts.keys import Keys, by_column, object_index
from ...rows.facts.steps import Step
from ...rows.facts.units import whole_number
from ...rows.figures import format_fact
from ...rows.plain_values import refuse_private
from ...statistics import Cells, Layout

#: Each quantile is a selection, which takes time for any data.
MOST_QUANTILES = 1000

#: The statistics of quantiles by what is measured, and how their questions say so.
MEASURED = {
    False: ("Quantiles", ()),
    True: ("MeasuredQuantiles", (("interval", "an interval"),)),
    "ranks": ("RankedQuantiles", (("interval", "measured ranks"),)),
}
#: The most quantiles of which this is measured.
MOST_MEASURED = 100

#: The most rows trimmed at one end: as many as a unit may have.
MOST_TRIMMED = 2**31


@dataclass(frozen=True)
class Weights:
    """How much each row counts: a number, clipped to bounds that aren't negative."""

    expression: Expression
    bounds: Bounds

    def of(self, counted: Expression) -> Expression:
        """The weight where ``counted`` is true, missing elsewhere."""
        return expressions.Where(counted, self.expression, Literal(None))

    def times(self, operand: Expression, bounds: Bounds) -> tuple[Expression, Bounds]:
        """A weighted value, and its bounds."""
        w, x = self.bounds, bounds
        weight = expressions.Clip(self.expression, w.lower, w.upper)
        value = expressions.Clip(operand, x.lower, x.upper)
        ends = [a * b for a in (w.lower, w.upper) for b in (x.lower, x.upper)]
        within = Bounds.parse((min(ends), max(ends)), "weighted")
        return expressions.Arithmetic("*", weight, value), within

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """The options of a question."""
        return ("weights", self.expression), ("weight_bounds", self.bounds)


def weights_of(of: PrivateTable, weights: object, bounds: object) -> Weights | None:
    """The weights of a call, given by name or as a private column; None for none."""
    if weights is None:
        if bounds is not None:
            raise QueryError("weight_bounds= needs weights=. Give both, or leave both out.")
        return None
    if isinstance(weights, ColumnOperators):
        same_rows(of, weights)
        expression, name = weights._expression, weights.name
    elif isinstance(weights, Hashable) and weights in of._columns:
        expression, name = of._columns[weights], weights
    else:
        by_name = "" if isinstance(of, ColumnOperators) else ", or the name of one that is selected"
        raise QueryError(
            f"weights={quoted(weights)} must be a private column of these rows, as in "
            f"weights=frame['w']{by_name}."
        )
    name = shown(name, expression)
    if bounds is None and not isinstance(of._table.declared(expression), Bounds | Keys):
        raise MissingArgument(
            f"weight_bounds= is needed for {name!r}: the range that weights are clipped to, such "
            "as weight_bounds=(0, 5). Or declare it by domain= of dp.protect or by .declare(…)."
        )
    parsed = bounds_of(of._table, name, expression, bounds)
    if parsed.lower < 0:
        raise QueryError(f"weight_bounds={parsed} can't be negative. Write (0, {parsed.upper:g}).")
    return Weights(expression, parsed)


def checked_ddof(ddof: object, bounds: Sequence[Bounds]) -> int:
    """The ddof of a variance, which divides by n - ddof. Refuses bounds that can't be squared."""
    freedom = whole_number(ddof, "ddof", 0, 1000, ", such as 0 or 1")
    for bound in bounds:
        if bound.upper - bound.lower > 2.0**500:
            raise QueryError(
                f"bounds {format_fact(bound)} are too wide to be squared. Narrow them."
            )
        Grid.anchored(bound)  # refuses bounds that are too narrow
    return freedom


def pearson(method: object) -> None:
    """Refuse correlations of ranks, because a rank depends on all rows."""
    if not is_one_of(method, ("pearson",)):
        raise QueryError(f"method={quoted(method)} must be 'pearson': ranks depend on other rows.")


def quantiles_of(q: object) -> tuple[tuple[Fraction, ...], float | list[float]]:
    """The shares q, exactly as they print, and their labels in the answer: a float for one."""
    refuse_private(q, "q")
    if isinstance(q, str | bytes) or not isinstance(q, Iterable):
        share = _share(q)
        return (share,), float(share)
    if isinstance(q, np.ndarray) and q.ndim != 1:
        raise QueryError("q= must be a share or a list of them.")
    shares = tuple(_share(each) for each in q)
    if not 1 <= len(shares) <= MOST_QUANTILES:
        raise QueryError(f"q= has {len(shares)} shares. Give from 1 to {MOST_QUANTILES}.")
    return shares, [float(share) for share in shares]


def _share(q: object) -> Fraction:
    share = Fraction(-1)
    if isinstance(q, numbers.Real | Decimal) and not isinstance(q, bool | np.bool_):
        with contextlib.suppress(ValueError):  # inf and nan
            share = q if isinstance(q, Fraction) else Fraction(str(q))
    if not 0 <= share <= 1 or share.denominator > 10**20:
        raise QueryError(f"q={quoted(q)} must be a share from 0 to 1, such as 0.5, or a list.")
    return share


def trim_of(trim: object) -> int:
    """How many rows are left out at each end."""
    if trim is None:
        raise MissingArgument(
            "trim= is needed: how many of the smallest and of the largest values to leave out. It "
            "is a public number, never read from the data. Write trim=25, say."
        )
    why = ", not a share: how many rows there are is private"
    return whole_number(trim, "trim", 0, MOST_TRIMMED, why)


@dataclass(frozen=True)
class ChosenSteps:
    """The steps of the columns of a question: in the units of their bounds, and in words."""

    sizes: tuple[Fraction | None, ...] | None
    options: tuple[tuple[str, Any], ...]


def steps_of(
    of: PrivateTable, columns: Mapping[Any, Expression], bounds: Sequence[Bounds], step: object
) -> ChosenSteps:
    """The steps of a call, for all columns or by name; for others the declared ones, where these
    make a grid between the bounds."""
    given: Mapping[Any, object] = dict.fromkeys(columns, step)
    if isinstance(step, Mapping):
        given = by_column(step, {*columns, *of._columns}, "step=", "{'age': 1, 'price': 0.05}")
    found: dict[Any, tuple[Step, Fraction]] = {}
    for (name, expression), bound in zip(columns.items(), bounds, strict=True):
        if (own := given.get(name)) is not None:
            asked = Step.parse(own, "step")
            found[name] = asked, asked.within(bound, "step")
        elif (known := of._table.step(expression)) is not None:
            with contextlib.suppress(QueryError):
                found[name] = known, known.within(bound, "step")
    if not found:
        return ChosenSteps(None, ())
    sizes = tuple(found[name][1] if name in found else None for name in columns)
    said = {name: str(known) for name, (known, _) in found.items()}
    is_one = len(said) == len(columns) and len({*said.values()}) == 1
    words = said.popitem()[1] if is_one else ", ".join(f"{name} {s}" for name, s in said.items())
    return ChosenSteps(sizes, (("step", words),))


def measured(
    interval: object, shares: Sequence[Fraction]
) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """Which statistic has what is asked for of quantiles, and the options of its question."""
    if not isinstance(interval, bool | np.bool_) and not is_one_of(interval, ("ranks",)):
        raise QueryError(
            f'interval={quoted(interval)} must be True, for intervals of values, or "ranks", for '
            "errors in ranks alone. Leave it out for neither."
        )
    found = MEASURED[interval]
    if interval and len(set(shares)) > MOST_MEASURED:
        raise QueryError(
            f"interval={quoted(interval)} is for at most {MOST_MEASURED} quantiles at once, not "
            f"for {len(set(shares))}, because rows are counted around each."
        )
    return found


def with_levels(
    shape: Layout, labels: float | Sequence[Hashable] | None, names: Iterable[Any], cells: Cells
) -> Layout:
    """The layout of several rows for each entry: their labels are the index, or its last level, as
    for pandas' quantiles."""
    if labels is None or (shape.index is None and isinstance(labels, float)):
        return shape
    if isinstance(labels, float):
        return shape if cells.keys is not None else replace(shape, name=labels)
    levels: pd.Index[Any] = pd.Index(list(labels), tupleize_cols=False)
    if shape.index is None:
        return replace(shape, index=levels, name=next(iter(names)))
    if cells.keys is None:
        return replace(shape, index=levels, columns=shape.index)
    pairs = [
        (*(key if isinstance(shape.index, pd.MultiIndex) else (key,)), level)
        for key in shape.index
        for level in levels
    ]
    named = [*shape.index.names, None]
    try:
        both: pd.Index = pd.MultiIndex.from_tuples(pairs, names=named)
    except UnicodeEncodeError:  # at half a letter
        both = object_index(zip(*pairs, strict=True), named)
    return replace(shape, index=both)


def index(cells: Cells, names: Sequence[Any]) -> pd.Index:
    """The keys of cells as a pandas index; for a single cell the names of columns."""
    found: pd.Index = pd.Index(list(names)) if cells.keys is None else cells.keys.index(names)
    if cells.missing_cell:
        gone = pd.Index([np.nan], name=names[0])
        if found.dtype == bool:
            found = found.astype(object)  # pandas 2 would make 1.0 of True
        elif isinstance(found, pd.CategoricalIndex):
            gone = pd.CategoricalIndex(gone, dtype=found.dtype, name=names[0])
        found = found.append(gone)
    return found


def check_inference(inference: object, weights: object) -> None:
    """Refuse what `mean` can't release for intervals of a population."""
    if not isinstance(inference, bool | np.bool_):
        raise QueryError(f"inference={quoted(inference)} must be True or False.")
    if inference and weights is not None:
        raise QueryError(
            "inference=True is for plain means: of values with weights no variance is released. "
            "Leave one of them out."
        )
