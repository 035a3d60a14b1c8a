"""A tidy table of an answer, to join and to plot: each number with its error and its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Real
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pandas as pd

from ...errors import RecordError, hide_internals
from ...rows.facts.keys import is_missing
from ...statistics.samples import How
from ..accuracy.expected import CONFIDENCE, parse_confidence
from .arithmetic import followers
from .populations import parse_how
from .record_bundle import RecordBundle
from .records import Record
from .results import shown_in


@runtime_checkable
class TidyIntervals(Protocol):
    """An answer that makes the table of `intervals` itself, as it has no record."""

    def _tidy_intervals(self, confidence: float, how: How | None = None) -> pd.DataFrame: ...


@hide_internals
def intervals(
    answer: Any, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
    method: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Each number of an answer with its error: a DataFrame with a row for each number, and with the
    columns value, error, low, high, unit, noise_dominated, may_be_empty and relative.

    answer : a released number, label, Series, DataFrame or Index, or what is left of one after
        sort_index, head or a selection; or a record, numbers derived from answers, or
        ``answer.cumsum()`` of four labels or more, all of them, in their declared order.
    confidence : the probability with which all errors and intervals hold simultaneously; for labels
        found with a δ, with which each holds by itself, given that it is shown. If the answer is
        made of k releases, each gets 1 - (1 - confidence) / k, also if a selection shows only some
        of them. So they are wider than those of `record`, which hold by release.
    of : "rows", for the exact answer on these rows, or "population", for those whom the rows are a
        sample of: then intervals cover noise and sample together.
    size : how many units the population has, if they were drawn from it without replacement; for
        counts, how many have any of the labels counted. Give none for arms drawn by lot. Spreads,
        quantiles and Bernstein's intervals take none.
    method : "t" or "bernstein" for means of a population; None for the best known.

    The index has the labels of the answer, of a DataFrame its rows and columns, and for a single
    number the question. ``error`` is how far the number may be off, in ``unit``: "rows", "units",
    "keys", distinct "values", "ranks" for quantiles, "utility" for selected labels (how far one may
    lie below the best), "share", "time" where errors are Timedeltas, or the name of a column.
    ``low`` and ``high`` are the ends of the interval, and NaN for labels and for quantiles without
    ``interval=True``. They include the value, even where it is impossible, such as a count below 0.
    ``noise_dominated`` says whether noise dominates the number, <NA> if that can't be known.
    ``may_be_empty`` says whether a group may have no rows at all: the interval includes what no
    rows give. ``relative`` is the error as a share of the value, and NaN where they can't be
    divided. Nothing here includes what clipping and max_rows change.

    A population is one of units: the rows are drawn from it at random, each by itself or from
    ``size`` of them, one a unit. A column ``method`` says how an interval was found:
    "exact", on any data, for shares, and counts with ``size``, which are then those of the
    population, by the laws of sample and noise together for all possible numbers of units; and for
    quantiles with ``interval=True``, by binomial ranks. "Chernoff", on any data, for shares whose
    releases were combined. "t", nearly as often as stated, for means, sums and quotients: Student's
    t with both variances. "t, largest variance", more often, where the sample's variance wasn't
    released, as ``mean(…, inference=True)`` does. "t, too few" if n rows with a variance of v in
    bounds (L, U) have n·v/(U-L)² below 20, or more where many numbers share the risk. "Bernstein",
    on any data, for variances, deviations, and means if asked for. "box of" one of these for other
    numbers derived from several. What says nothing of a population has "".

    Raises `RecordError` for an object without a record, and `QueryError` for other confidences, and
    where nothing can be said of a population.

    *Guarantee*: post-processing. Only the record is used: no row is read, and nothing is charged.
    Source, of a population: Maurer and Pontil, "Empirical Bernstein bounds and sample variance
    penalization", COLT 2009, Theorems 4 and 10; docs/proofs/populations.md.

    >>> import pandas as pd, dppandas as dp
    >>> pets = pd.Series(["cat"] * 500 + ["dog"] * 300, name="pet")
    >>> counts = pets.dp.value_counts(keys=["cat", "dog"], epsilon=1)
    >>> found = dp.intervals(counts)
    >>> bool(found.loc["cat", "low"] <= counts["cat"] <= found.loc["cat", "high"])
    True
    >>> share = pd.DataFrame({"yes": [True, False] * 500}).dp["yes"].mean(epsilon=1)
    >>> found = dp.intervals(share, of="population").iloc[0]  # about these rows it is ± 0.002
    >>> found["method"], bool(found["low"] < 0.48 < 0.52 < found["high"])
    ('exact', True)
    """
    return _table(answer, parse_confidence(confidence), parse_how(of, size, method))


def _table(answer: Any, confidence: float, how: How | None) -> pd.DataFrame:
    if isinstance(answer, TidyIntervals):
        return answer._tidy_intervals(confidence, how)
    try:
        shown = shown_in(answer)
    except RecordError:
        if (total := followers().running_total(answer)) is None:
            raise
        return cast(pd.DataFrame, total._tidy_intervals(confidence, how))
    if isinstance(shown.record, RecordBundle):
        confidence = _of_each(shown.record._checked(confidence), len(shown.record.components))
    found = shown.figures(confidence, how)
    columns = {
        "value": _as_column(found.values), "error": list(found.errors),
        "low": list(map(_lower, found.lows, found.values)),
        "high": list(map(_higher, found.highs, found.values)),
        "unit": pd.array(list(found.units), dtype=object),
        "noise_dominated": pd.array(list(found.dominated), dtype="boolean"),
        "may_be_empty": pd.array(list(found.empty), dtype="boolean"),
        "relative": relative_errors(found.values, found.errors, found.units),
    }  # fmt: skip
    if how is not None:
        columns["method"] = pd.array(list(found.ways), dtype=object)
    if shown.index is None:
        return pd.DataFrame(columns).set_axis([cast(Record, shown.record).query], axis=0)
    return pd.DataFrame(columns).set_axis(labels_of(shown.index, shown.columns), axis=0)


def _as_column(values: Iterable[Any]) -> pd.Series[Any]:
    """Values as pandas holds them; texts with half a letter, a lone surrogate, as objects."""
    found = list(values)
    try:
        return pd.Series(found)
    except UnicodeEncodeError:
        return pd.Series(found, dtype=object)


def _of_each(confidence: float, releases: int) -> float:
    """The confidence of each of several releases with which all hold simultaneously, by the union
    bound: the next float that isn't smaller."""
    exact = 1 - (1 - Fraction(confidence)) / releases
    found = float(exact)
    return parse_confidence(found if found >= exact else math.nextafter(found, 1))


def _lower(low: Any, value: Any) -> Any:
    return value if not is_missing(low) and not is_missing(value) and value < low else low


def _higher(high: Any, value: Any) -> Any:
    return value if not is_missing(high) and not is_missing(value) and value > high else high


def relative_errors(
    values: Iterable[Any], errors: Iterable[Any], units: Iterable[str]
) -> list[float]:
    """Each error as a share of its value; NaN where it is in another unit, or of no number."""
    return [_relative(*each) for each in zip(values, errors, units, strict=True)]


def _relative(value: Any, error: Any, unit: str) -> float:
    if unit in ("ranks", "utility") or is_missing(value) or is_missing(error):
        return math.nan
    is_number = isinstance(value, Real | pd.Timedelta) and not isinstance(value, bool)
    if not (is_number and isinstance(error, Real | pd.Timedelta)):
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.divide(_number(error), abs(_number(value))))


def _number(value: Any) -> float:
    return value / pd.Timedelta("1s") if isinstance(value, pd.Timedelta) else float(value)


def labels_of(index: pd.Index, columns: pd.Index | None) -> pd.Index:
    """A label for each number, row by row."""
    if columns is None:
        return index
    high, wide = len(index), len(columns)
    rows = [index.get_level_values(i).repeat(wide) for i in range(index.nlevels)]
    across = [columns.get_level_values(i) for i in range(columns.nlevels)]
    tiled = [level.take(np.tile(np.arange(wide), high)) for level in across]
    return pd.MultiIndex.from_arrays(rows + tiled)
