"""From what pandas users write to statistics over row-wise expressions.

Bounds, keys and cells come from the call or the declared domain; where both are silent, the error
says which argument to add.
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from ...columns.private_rows import PrivateTable, listed, same_rows
from ...columns.ranges import bounds_of
from ...errors import MissingArgument, QueryError, is_one_of, quoted
from ...rows import expressions
from ...rows.expressions import Expression, Literal
from ...rows.facts.bounds import Bounds, Grid, Ticks
from ...rows.facts.keys import Keys
from ...rows.values.vectors import NUMBERS
from ...statistics import Cells, Layout

#: Each quantile is a choice of its own, which takes time whatever the data are.
MOST_QUANTILES = 1000

#: So many columns the title of an answer names.
MOST_LISTED = 8

#: Rows cut at one end: as many as a unit may have.
MOST_TRIMMED = 2**31


@dataclass(frozen=True)
class Weights:
    """How much each row counts: a number that is clipped to bounds, of which none is negative."""

    expression: Expression
    bounds: Bounds

    def of(self, counted: Expression) -> Expression:
        """The weight where something holds, and elsewhere nothing."""
        return expressions.Where(counted, self.expression, Literal(None))

    def times(self, operand: Expression, bounds: Bounds) -> tuple[Expression, Bounds]:
        """A weighted value, and within which bounds it lies."""
        factors = (
            expressions.Clip(each, limit.lower, limit.upper)
            for each, limit in ((self.expression, self.bounds), (operand, bounds))
        )
        ends = [w * x for w in (self.bounds.lower, self.bounds.upper) for x in _ends(bounds)]
        return expressions.Arithmetic("*", *factors), Bounds.parse(
            (min(ends), max(ends)), "weighted"
        )

    def __str__(self) -> str:
        return f", weighted by {self.expression} in {self.bounds}"


def _ends(bounds: Bounds) -> tuple[float, float]:
    return bounds.lower, bounds.upper


def weights_of(of: PrivateTable, weights: object, bounds: object) -> Weights | None:
    """The weights that a call gives by name or as a private column, or None for none."""
    if weights is None:
        if bounds is not None:
            raise QueryError("weight_bounds= is for weights=, which is not given.")
        return None
    if isinstance(weights, PrivateTable) and isinstance(
        getattr(weights, "_expression", None), Expression
    ):
        same_rows(of, weights)
        expression, name = weights._expression, getattr(weights, "name", None)  # type: ignore[attr-defined]
    elif isinstance(weights, Hashable) and weights in of._columns:
        expression, name = of._columns[weights], weights
    else:
        alone = "a column alone has no others by name" if hasattr(of, "_expression") else ""
        raise QueryError(
            f"weights={quoted(weights)} must be a private column of these rows, as in "
            "weights=frame['w'], or the name of one that was not selected away"
            f"{alone and f': {alone}'}."
        )
    if bounds is None and not isinstance(of._table.declared(expression), Bounds | Keys):
        raise MissingArgument(
            f"weight_bounds= is needed for {name!r}: the range into which weights are clipped, "
            "such as weight_bounds=(0, 5), or facts declared by domain= of dp.protect or by "
            ".declare(…)."
        )
    parsed = bounds_of(of._table, name, expression, bounds)
    if parsed.lower < 0:
        raise QueryError(f"weights can't be negative: weight_bounds={parsed}.")
    return Weights(expression, parsed)


def checked_ddof(ddof: object, bounds: Sequence[Bounds]) -> int:
    """What a variance is divided by: n - ddof. And bounds that can be squared."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | np.integer) or not 0 <= ddof <= 1000:
        raise QueryError(f"ddof={quoted(ddof)} must be a whole number such as 0 or 1.")
    for bound in bounds:
        if bound.upper - bound.lower > 2.0**500:
            raise QueryError(f"bounds {bound} are too far apart to square.")
        Grid.anchored(bound)  # refuses what is too narrow
    return int(ddof)


def pearson(method: object) -> None:
    """Refuse correlations of ranks, which depend on all rows."""
    if not is_one_of(method, ("pearson",)):
        raise QueryError(
            f"method={quoted(method)} must be 'pearson': a rank depends on other rows."
        )


def quantiles_of(q: object) -> tuple[tuple[Fraction, ...], float | list[float]]:
    """Exact shares, as they print, and their labels in the answer: a number for a single one."""
    if isinstance(q, str | bytes) or not isinstance(q, Iterable):
        share = _share(q)
        return (share,), float(share)
    if isinstance(q, np.ndarray) and q.ndim != 1:
        raise QueryError("q= must be a share or a list of them.")
    shares = tuple(_share(each) for each in q)
    if not 1 <= len(shares) <= MOST_QUANTILES:
        raise QueryError(f"q= has {len(shares)} shares; give 1 to {MOST_QUANTILES}.")
    return shares, [float(share) for share in shares]


def _share(q: object) -> Fraction:
    hint = f"q={quoted(q)} must be a share from 0 to 1, such as 0.5, or a list of them"
    if isinstance(q, bool | np.bool_) or not isinstance(q, numbers.Real | Decimal):
        raise QueryError(f"{hint}.")
    try:
        share = Fraction(q) if isinstance(q, Fraction) else Fraction(str(q))
    except ValueError:
        raise QueryError(f"{hint}.") from None
    if not 0 <= share <= 1 or share.denominator > 10**20:
        raise QueryError(f"{hint}.")
    return share


def trim_of(trim: object) -> int:
    """How many rows are cut at each end."""
    if trim is None:
        raise MissingArgument(
            "trim= is needed: how many of the smallest and as many of the largest values are left "
            "out, a public whole number such as 25. dppandas never reads it from the data."
        )
    is_int = isinstance(trim, int | np.integer) and not isinstance(trim, bool)
    if not is_int or not 0 <= trim <= MOST_TRIMMED:  # type: ignore[operator]
        raise QueryError(
            f"trim={quoted(trim)} must be a whole number of rows from 0 to 2^31, to be left out at "
            "each end; how many rows there are is private, so it is no share of them."
        )
    return int(trim)  # type: ignore[call-overload, no-any-return]


def step_of(step: object, bounds: Sequence[Bounds]) -> float | None:
    """The step of a coarser grid: a power of two that divides all bounds."""
    if step is None:
        return None
    if any(isinstance(bound, Ticks) for bound in bounds):
        raise QueryError("step= is for numbers: times are told in whole seconds or finer as it is.")
    if isinstance(step, bool) or not isinstance(step, NUMBERS) or not 0 < step < 2.0**900:
        raise QueryError(f"step={quoted(step)} must be a number such as 1.")
    exact = Fraction(float(step))
    ends = [Fraction(end) / exact for bound in bounds for end in (bound.lower, bound.upper)]
    widths = [high - low for low, high in zip(ends[::2], ends[1::2], strict=True)]
    is_power = (exact.numerator * exact.denominator).bit_count() == 1
    if not is_power or any(end.denominator != 1 for end in ends) or max(widths) > 2**30:
        raise QueryError(
            f"step={quoted(step)} must be a power of two (1, 0.5, 2) of which the bounds are "
            "multiples, at most 2^30 of them apart."
        )
    return float(exact)


def with_levels(
    shape: Layout,
    labels: float | Sequence[Hashable] | None,
    names: Iterable[Any],
    cells: Cells,
) -> Layout:
    """How pandas lays out quantiles: a list of them is the index, or its last level. Likewise
    other answers with several rows for each."""
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
    both = pd.MultiIndex.from_tuples(pairs, names=[*shape.index.names, None])
    return replace(shape, index=both)


def index(cells: Cells, names: Sequence[Any]) -> pd.Index:
    """The keys of cells as pandas shows them."""
    if cells.keys is None:
        columns: pd.Index[Any] = pd.Index(list(names))
        return columns
    keys: pd.Index[Any] = cells.keys.index(names)
    if cells.missing_cell:
        missing: pd.Index = pd.Index([np.nan], name=names[0])
        keys = keys.append(missing)
    return keys


def briefly(names: Sequence[Any]) -> str:
    """The same, in a line: of many columns the first, and how many they are."""
    if len(names) <= MOST_LISTED:
        return listed(names)
    return f"{listed(names[: MOST_LISTED - 1])}, … ({len(names)} columns)"
