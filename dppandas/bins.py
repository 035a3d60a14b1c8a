"""The bins of a histogram: cells between public edges."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from .domain import Keys
from .errors import MissingArgument, QueryError, shown
from .parts import edges_of
from .rows import Cut, Expression
from .shaping import bounds_of
from .statistics import Cells
from .unreleased import Root

#: Of a histogram.
MOST_BINS = 1_000_000


def binned(
    root: Root, name: Any, expression: Expression, bins: Any, within: Any
) -> tuple[Cells, str]:
    """A cell for each bin of a column, the last with both its edges; and the bins in words."""
    edges = _edges(root, name, expression, bins, within)
    intervals = tuple(pd.IntervalIndex.from_breaks(edges, closed="left"))
    cut_up = Cut(expression, edges, intervals, right=False, include_highest=True)
    said = f"{len(intervals)} bins in {edges[0]:g} to {edges[-1]:g}"
    return Cells((cut_up,), Keys(intervals)), said


def _edges(
    root: Root, name: Any, expression: Expression, bins: Any, within: Any
) -> tuple[float, ...]:
    if bins is None or isinstance(bins, bool | float | np.floating | str):
        raise QueryError(
            f"bins={shown(bins)} must be a whole number of bins, or a list of edges. Nothing was "
            "computed or charged."
        )
    if not isinstance(bins, int | np.integer):
        if within is not None:
            raise QueryError("bins= as a list of edges needs no range=. Nothing was charged.")
        edges = edges_of(bins)
    else:
        if not 1 <= bins <= MOST_BINS:
            raise QueryError(f"bins={shown(bins)} must lie between 1 and {MOST_BINS:,}.")
        try:
            bounds = bounds_of(root, name, expression, within)
        except MissingArgument:
            raise MissingArgument(
                f"range= is needed for bins={int(bins)} of {name!r}: (lower, upper), or a list of "
                "edges as bins=. dppandas never reads it from the data. Nothing was computed or "
                "charged."
            ) from None
        edges = tuple(np.linspace(bounds.lower, bounds.upper, int(bins) + 1).tolist())
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise QueryError(f"{bounds} is too narrow for {int(bins)} bins.")
    if not all(map(math.isfinite, edges)):
        raise QueryError("the edges of bins must be finite. Nothing was charged.")
    return edges
