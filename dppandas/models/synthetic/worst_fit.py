"""The public table that fits the rows worst: a private selection."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ...columns.private_rows import listed
from ...errors import QueryError, hide_internals, quoted
from ...frames.frame import PrivateFrame
from ...privacy.accounting.losses import ReleaseOptions, with_options_named
from ...release.ways import Ways
from ...release.wording import Later, digest_of, told
from ...rows.facts.keys import MOST_KEYS
from ...rows.plain_values import refuse_private
from ...statistics import Cells, Layout
from ..select import UnreleasedChoice
from .fit_scores import MarginalError

#: Expected counts are rounded to multiples of one by this.
STEP = 16
#: Larger expected counts, weights and offsets aren't counts of people.
MOST = 2**50


@with_options_named
@hide_internals
def worst_fit(
    frame: PrivateFrame,
    tables: Sequence[pd.Series[Any]],
    *,
    weights: Sequence[int] | None = None,
    offsets: Sequence[float] | None = None,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """The position of the public table of expected counts that is farthest from the rows.

    frame : a private frame.
    tables : a list of Series of expected counts, in rows: each by the labels of a column, or of
        several (a MultiIndex), with the columns as names of its levels. Rows with other labels
        count in none of its cells. Tables are public, such as what a model expects, and never read
        from the data.
    weights : whole numbers of at least 1, one for each table; all 1 without it. A table's score is
        its weight times the sum over its cells of how far the count is from the expected one.
    offsets : numbers to subtract from the scores, such as the noise that measuring would add.

    Returns an int with ``.error()``: how far its score may lie below the largest; without a loss,
    the unreleased answer. Counts are compared in steps of 1/16. Raises `QueryError` for tables that
    don't fit the frame; nothing is charged then.

    *Guarantee*: epsilon-differential privacy of the unit. One row moves a score by at most its
    weight; permute-and-flip, or where ρ is counted the exponential mechanism
    (docs/proofs/misfit.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 200, "smokes": [True, True, True, False] * 100})
    >>> flat = [pd.Series(200, index=pd.Index(keys, name=column))
    ...         for column, keys in {"sex": ["f", "m"], "smokes": [False, True]}.items()]
    >>> worst = dp.models.synthetic.worst_fit(df.dp, flat, epsilon=1)
    >>> print(int(worst), worst.error())  # sex is even, smoking isn't
    1 7.375
    """
    if not isinstance(frame, PrivateFrame):
        raise QueryError("worst_fit takes a private frame. Write df.dp for a plain one.")
    given = list(tables) if isinstance(tables, list | tuple) else []
    if not given or not all(isinstance(each, pd.Series) for each in given):
        raise QueryError("tables= must be a list of Series of expected counts.")
    cells, names = zip(*(_cells(frame, each) for each in given), strict=True)
    if sum(map(len, cells)) > MOST_KEYS:
        raise QueryError(f"these tables have over {MOST_KEYS:,} cells together. Give fewer.")
    expected = tuple(tuple(_steps(each, "expected counts") for each in t.tolist()) for t in given)
    factors = _each(weights, len(given), "weights", 1)
    if not all(_is_whole(each) and 1 <= each <= MOST for each in factors):
        raise QueryError("weights= must be whole numbers of at least 1.")
    less = [_steps(each, "offsets=") for each in _each(offsets, len(given), "offsets", 0)]
    layout = Layout(integer=True, index=pd.RangeIndex(len(given)))
    statistic = MarginalError(
        Cells(), layout, cells, expected, tuple(map(int, factors)), tuple(less), STEP
    )
    which = "1 table" if len(given) == 1 else f"{len(given)} tables"
    said = f"worst of {which} of {'; '.join(listed(each) for each in names[:3])}"
    said += "; …" * (len(names) > 3)
    what = told(said, ("expected counts", Later(digest_of, statistic)))
    request = UnreleasedChoice._of(frame._table, frame._where, statistic, what)
    return UnreleasedChoice._ask(request, Ways.read(epsilon, more))


def clipped_expectations(values: Any) -> Any:
    """Numbers clipped to what `worst_fit` takes. Noise may have made them too large, and a program
    that has begun must not be refused because of its answers."""
    return np.clip(np.asarray(values, dtype=np.float64), -float(MOST), float(MOST))


def _cells(frame: PrivateFrame, table: pd.Series[Any]) -> tuple[Cells, list[Any]]:
    """The cells of a table, and the names of its columns."""
    names = list(table.index.names)
    if any(name is None for name in names) or not len(table):
        raise QueryError(
            "each table needs an index that names its columns, and at least one cell, as in "
            'pd.Index(["f", "m"], name="sex").'
        )
    refuse_private(table, "this table")
    return frame._cells(names, list(table.index)), names


def _each(given: Any, number: int, name: str, default: Any) -> list[Any]:
    if given is None:
        return [default] * number
    if not isinstance(given, list | tuple) or len(given) != number:
        raise QueryError(f"{name}= must be a list of {number}, one for each table.")
    return list(given)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _steps(value: Any, name: str) -> int:
    """A number in whole steps."""
    is_number = isinstance(value, numbers.Real | np.number) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or abs(value) > MOST:
        raise QueryError(f"{name} must be finite numbers, not {quoted(value)}.")
    return round(Fraction(value if isinstance(value, int | Fraction) else float(value)) * STEP)
