"""Errors of answers: those that public facts predict, and those of released answers, in words."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import QueryError, quoted
from ...ledger.stated_errors import StatedError, stated
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.mechanisms.base import Mechanism
from ...privacy.mechanisms.selection import Selection
from ...rows.figures import format_interval, plus_minus
from ...rows.values.vectors import NUMBERS
from ...statistics import Statistic
from ...statistics.error_model import CROWD
from ...statistics.samples import Estimate, How, Sample, SampleCount
from ..query import Query, Source
from . import units

CONFIDENCE = 0.95
#: Beside every error: how sure it is, and that it counts the noise, not how few rows there are.
HELD = "95 %, noise only"
#: Of more rows the law of a share is as good as normal, and takes seconds to compute.
MOST_EXACTLY = 10**6
#: Where a number says nothing of a population.
UNKNOWN = Estimate(math.nan, math.nan, "")


def parse_confidence(confidence: object) -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise QueryError(f"confidence={quoted(confidence)} must be a number such as 0.95.")
    if not 0 < confidence < 1:
        raise QueryError(f"confidence={quoted(confidence)} must lie between 0 and 1, such as 0.95.")
    return float(confidence)


def parse_rows(rows: object) -> float | None:
    """The approximate number of rows: a number above 0, or None."""
    if rows is None:
        return None
    if (
        isinstance(rows, NUMBERS)
        and not isinstance(rows, bool | np.bool_)
        and 0 < rows <= sys.float_info.max
    ):
        return float(rows)
    raise QueryError(
        f"expected_rows={quoted(rows)} must be a number above 0. Write expected_rows=1000, for "
        "example."
    )


def error_before(query: Query, confidence: float, rows: float | None) -> float:
    """The largest error that a release of a query would have, from public facts. `QueryError` if
    these don't decide it. ``rows``: about how many rows a ratio is taken over."""
    mechanism = query.mechanism()
    if not isinstance(mechanism, Selection):
        return query.statistic.errors.error_before(mechanism, confidence, rows)
    gap = mechanism.utility_gap(confidence, query.statistic.size)
    utility_gap = query.statistic.errors.error(gap)
    if utility_gap is None:
        raise QueryError("only the answer decides its gap, so the error isn't known beforehand.")
    return utility_gap


def typed_error(statistic: Statistic, error: float) -> Any:
    """An error of all numbers, in its own type: for times a Timedelta."""
    ruler = statistic.layout.ruler
    return error if ruler is None or statistic.errors.in_ranks else ruler.length(error, math.ceil)


def in_words(
    statistic: Statistic, mechanism: Mechanism | CombinedNoise, rows: float | None = None
) -> str:
    """The error at 95 % that public facts decide; "" if they don't. ``rows``: about how many rows
    each number is taken over."""
    if isinstance(mechanism, Selection):
        utility_gap = statistic.errors.error(mechanism.utility_gap(CONFIDENCE, statistic.size))
        return "" if utility_gap is None else f"gap ≤ {statistic.errors.in_short(utility_gap)}"
    if rows is not None:
        return statistic.errors.expected_over(mechanism, CONFIDENCE, rows)
    return statistic.errors.expected_at(mechanism, CONFIDENCE)


def over_population(statistic: Statistic, law: Any, source: Source, rows: float) -> str:
    """The error at 95 % that noise and sample make together, if each number is taken over about
    this many rows, spread evenly over keys and between bounds; "" for what says nothing of a
    population, or where only the answer decides it."""
    even, rulers = statistic.errors.evenly(rows), statistic.layout.rulers
    if isinstance(law, Selection) or any(rulers) or not even or len(even) > CROWD:
        return ""
    found = statistic.samples(even, law, source.schema)
    each = [None if isinstance(sample, SampleCount) else sample for sample in found]
    if not any(each):
        return ""
    risk, known = (1 - CONFIDENCE) / sum(map(bool, each)), dict[Sample, Estimate]()
    how, errors = How("t") if rows > MOST_EXACTLY else How(), []
    for sample, value in zip(each, statistic.estimate(even), strict=True):
        alike = sample and replace(sample, cells=frozenset())  # cells of as many rows are
        if alike is not None and alike not in known:
            known[alike] = alike.estimate(risk, how)
        low, high, _ = known[alike] if alike is not None else UNKNOWN
        errors.append(max(high - value, value - low))
    return statistic.errors.in_words(errors).replace("±", "≈")


def answered_error(
    query: Query, mechanism: Mechanism, noisy: Sequence[Any], scale: Any
) -> StatedError | None:
    """The error at 95 % of the released answer; None where the one expected before is known."""
    statistic = query.statistic
    if isinstance(mechanism, Selection):
        return None
    model = statistic.errors
    errors = model.answered_errors(noisy, mechanism, CONFIDENCE)
    if errors is None:
        return None
    in_units = units.unit_of_each(statistic, query.source.schema, len(errors))
    return stated(
        model.typed_errors(errors), in_units, model.asked_columns, model.figures, scale,
        CONFIDENCE, model.each,
    )  # fmt: skip


def for_population(value: float, low: float, high: float) -> str:
    """The error of a value for the population that its rows are a sample of."""
    error = max(high - value, value - low)
    said = plus_minus(error) if math.isfinite(error) else format_interval(low, high)
    return f"{said} for the population"
