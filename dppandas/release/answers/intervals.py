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
        sort_index, head or a selection; or a record. Answers of `agg`, `describe` and
        ``quantile`` count, too, and so do numbers derived from answers, and ``answer.cumsum()`` of
        all labels in their declared order.
    confidence : the probability with which all errors and intervals hold simultaneously; for labels
        found with a δ, with which each holds by itself, given that it is shown. If the answer is
        made of k releases, each gets the confidence 1 - (1 - confidence) / k, also if a selection
        shows only some of them. So they are wider than those of `record`, which hold by release.
    of : "rows", for intervals about the exact answer on these rows, which cover the noise alone; or
        "population", about those whom the rows are a sample of, which cover noise and sample
        together.
    size : how many units the population has, for samples drawn from it without replacement; of
        counts, how many have any of the labels counted. The numbers of counts are then those of the
        population. None is a population so large that the sample takes nothing away, and is right
        for experiments whose arms were drawn by lot, too.
    method : of a population, "t" or "bernstein" for one way to intervals where there are several;
        None for the best known, see below.

    The index has the labels of the answer, of a DataFrame its rows and columns, and for a single
    number the question. ``error`` is how far the number may be off, in ``unit``: "rows", "units",
    "keys", distinct "values", "ranks" for quantiles, "utility" for selected labels (how far one may
    lie below the best), "share", "time" where errors are Timedeltas, or the name of a column for
    its own unit. ``low`` and ``high`` are the ends of the interval, and NaN for labels and for
    quantiles without ``interval=True``, which have none. They include the value, even where it is
    impossible, such as a count below 0.
    ``noise_dominated`` says whether noise dominates the number, <NA> if that can't be known: see
    `Record.noise_dominated`. ``may_be_empty`` says whether a group may have no rows at all: the
    interval includes what no rows give, which is 0 for counts and every possible value for means.
    ``relative`` is the error as a share of the value: infinite where the value is 0, and NaN where
    they can't be divided, as for labels, points in time, and errors in ranks. Errors and intervals
    don't include what clipping and max_rows change.

    About a population, the rows have to be a sample of its units, drawn at random and each by
    itself, or ``size`` of them without replacement, with one row a unit; and values are those
    clipped to bounds. A last column, ``method``, says how an interval was found:

    - "exact": shares, and with ``size`` counts, for all numbers of units that are possible, by the
      binomial law (the hypergeometric one with ``size``) and that of the noise together; and
      quantiles asked for with ``interval=True``, by binomial ranks. These hold on any data.
    - "t": means, by Student's t with the variances of noise and sample added up, and shares if
      asked for. These hold nearly as often as stated if n rows with a variance of v in bounds
      (L, U) have n·v/(U-L)² of 20 or more. Where it is less by the answer, the column says
      "t, too few": then take Bernstein's, or closer bounds. A mean whose variance wasn't released
      is taken to have the largest possible one: ask for it with ``mean(…, inference=True)``.
    - "Bernstein": variances and deviations, and means with ``method="bernstein"``. These hold on
      any data, and are wider.
    - "box of" one of these: numbers derived from several, bounded from the intervals of each.

    What says nothing of a population has NaN and "" beside numbers that do: a count beside a mean,
    or without ``size``.

    Raises `RecordError` for an object without a record, and `QueryError` for other confidences, and
    if an answer says nothing of a population, or may have several rows of a unit.

    *Guarantee*: post-processing. Only the record is used: no row is read, and nothing is charged.
    Source, of intervals for populations: Clopper and Pearson, Biometrika 26, 1934; Maurer and
    Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009, Theorems 4
    and 10; docs/proofs/populations.md.

    >>> import pandas as pd, dppandas as dp
    >>> pets = pd.Series(["cat"] * 500 + ["dog"] * 300, name="pet")
    >>> counts = pets.dp.value_counts(keys=["cat", "dog"], epsilon=1)
    >>> found = dp.intervals(counts)
    >>> found.loc["cat", "unit"], bool(found.loc["cat", "noise_dominated"])
    ('rows', False)
    >>> bool(found.loc["cat", "relative"] < 0.1)
    True
    >>> bool(found.loc["cat", "low"] <= counts["cat"] <= found.loc["cat", "high"])
    True
    >>> counts.to_frame().join(found[["low", "high"]]).shape
    (2, 3)
    >>> voters = pd.DataFrame({"yes": [True, False] * 500}).dp  # a sample of many more
    >>> share = voters["yes"].mean(epsilon=1)
    >>> found = dp.intervals(share, of="population").iloc[0]
    >>> found["method"], bool(found["low"] < 0.48 < 0.52 < found["high"])
    ('exact', True)
    >>> bool(dp.intervals(share)["error"].iloc[0] < 0.01)  # about these 1,000 alone
    True
    """
    confidence, how = parse_confidence(confidence), parse_how(of, size, method)
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
