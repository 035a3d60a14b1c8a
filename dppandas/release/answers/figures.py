"""The numbers that an answer shows, each with its error: what tables and cards of answers are of.

All follow from public facts and noisy integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...dataclasses import dataclass, replace
from ...errors import QueryError, RecordError
from ...privacy.mechanisms.selection import Selection
from ...statistics.samples import How
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE
from . import populations
from .record_bundle import RecordBundle
from .records import Record

UNKNOWN = math.nan


@dataclass(frozen=True)
class Figures:
    """Numbers in order, and of each its error, the ends of its interval, the unit of its error,
    whether noise dominates it, and whether its rows may be none; NaN or None where it isn't
    known."""

    values: Sequence[Any]
    errors: Sequence[Any]
    lows: Sequence[Any]
    highs: Sequence[Any]
    units: Sequence[str]
    dominated: Sequence[bool | None]
    empty: Sequence[bool | None]
    ways: Sequence[str] = ()  # how intervals for the population were found

    def at(self, places: npt.NDArray[Any]) -> Figures:
        """The numbers at some places, in order; NaN is the place of none."""
        kept = [None if place != place else int(place) for place in places.reshape(-1).tolist()]

        def of(column: Sequence[Any], nothing: Any) -> list[Any]:
            return [nothing if place is None else column[place] for place in kept]

        return Figures(
            of(self.values, UNKNOWN), of(self.errors, UNKNOWN), of(self.lows, UNKNOWN),
            of(self.highs, UNKNOWN), of(self.units, ""), of(self.dominated, None),
            of(self.empty, None), of(self.ways, "") if self.ways else (),
        )  # fmt: skip

    def __add__(self, other: Figures) -> Figures:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Figures(*([*mine, *others] for mine, others in pairs))


NONE = Figures((), (), (), (), (), (), ())


def figures_of(record: Record | RecordBundle, confidence: float = CONFIDENCE) -> Figures:
    """All figures of an answer, in the order of its releases and their declared labels."""
    if isinstance(record, RecordBundle):
        return sum((figures_of(each, confidence) for each in record.components.values()), NONE)
    if isinstance(record._law, Selection):
        return _of_selection(record, confidence)
    if record._statistic.labels_only:
        return _of_labels(record)
    statistic, values = record._statistic, record._values()
    schema, size = record._query.source.schema, len(values)
    nothing = [UNKNOWN] * size
    found = record._intervals_found(confidence)
    lows, highs = (nothing, nothing)
    if not statistic.errors.no_interval:
        lows, highs = record._ends(confidence, found)
    each = units.unit_of_each(statistic, schema, size)
    try:
        errors = record._typed_errors(confidence, found=found)
    except RecordError:  # the width of this noise is private
        errors, each = nothing, [""] * size
    flags = record._flags(found if confidence == CONFIDENCE else None)
    return Figures(statistic.typed(values), errors, lows, highs, each, *flags)


def figures_of_population(record: Record | RecordBundle, confidence: float, how: How) -> Figures:
    """All figures of an answer with intervals for the population; NaN where they say nothing."""
    if isinstance(record, RecordBundle):
        parts = [(each, says_nothing(each, how)) for each in record.components.values()]
        if all(reason for _, reason in parts):
            raise QueryError(parts[0][1])
        return sum(
            (without_intervals(each) if reason else figures_of_population(each, confidence, how)
             for each, reason in parts), NONE,
        )  # fmt: skip
    found = populations.estimates(record, confidence, how)
    values = populations.values_of(record, how)
    # errors of quantiles are in ranks, and nobody knows those of a population
    is_unknown = record._statistic.errors.in_ranks
    return Figures(
        values,
        [UNKNOWN if e is None or is_unknown else max(e.high - v, v - e.low)
         for e, v in zip(found, values, strict=True)],
        [UNKNOWN if each is None else each.low for each in found],
        [UNKNOWN if each is None else each.high for each in found],
        populations.units_of(record),
        *record._flags(),
        ["" if each is None else each.way for each in found],
    )  # fmt: skip


def says_nothing(record: Record, how: How) -> str:
    """Why a release says nothing of a population; "" if it does."""
    try:
        populations.values_of(record, how)
    except (QueryError, RecordError) as error:
        return error.reason
    return ""


def without_intervals(record: Record) -> Figures:
    """The numbers of a release without any interval."""
    found = figures_of(record)
    nothing = [UNKNOWN] * len(found.values)
    return replace(found, errors=nothing, lows=nothing, highs=nothing, ways=[""] * len(nothing))


def _of_selection(record: Record, confidence: float) -> Figures:
    """The labels that were selected. Each may be as far below the best as the gap says."""
    labels = record.estimate()
    size, (gap,) = len(labels), record._typed_errors(confidence)
    nothing, none = [UNKNOWN] * size, [None] * size
    return Figures(labels, [gap] * size, nothing, nothing, ["utility"] * size, none, none)


def _of_labels(record: Record) -> Figures:
    """The labels that were found: no number of them was released."""
    labels = cast(pd.Index, record._layout.index).tolist()
    nothing = [UNKNOWN] * len(labels)
    none: list[bool | None] = [None] * len(labels)
    return Figures(labels, nothing, nothing, nothing, [""] * len(labels), none, none)


@dataclass(frozen=True)
class ShownFigures:
    """What an object shows of a release: the place of each of its numbers among `figures_of`."""

    record: Record | RecordBundle
    places: npt.NDArray[Any]  # a row for each label; NaN where a number belongs to no release
    index: pd.Index | None  # None for a single number
    columns: pd.Index | None  # None for a Series

    def of(self, record: Record) -> npt.NDArray[np.intp]:
        """The places among the figures of one release of those that are shown, in order."""
        first = 0
        if isinstance(self.record, RecordBundle):
            for each in self.record.components.values():
                if each is record:
                    break
                first += len(each._values())
        last, flat = first + len(record._values()), self.places.reshape(-1)
        return (flat[(flat >= first) & (flat < last)] - first).astype(np.intp)

    def figures(self, confidence: float = CONFIDENCE, how: How | None = None) -> Figures:
        """The figures in the order shown, row by row; if it is asked how, with intervals for the
        population."""
        if how is None:
            return figures_of(self.record, confidence).at(self.places)
        if isinstance(self.record, RecordBundle):
            shown = [each for each in self.record.components.values() if self.of(each).size]
            reasons = [says_nothing(each, how) for each in shown]
            if reasons and all(reasons):
                raise QueryError(reasons[0])
        return figures_of_population(self.record, confidence, how).at(self.places)

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Figures:
        """The figures of some rows and columns, by position."""
        return figures_of(self.record).at(self.places[np.ix_(rows, columns)])
