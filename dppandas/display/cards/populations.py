"""What a card says of the population that the rows are a sample of, beside the noise.

It follows from what was released, and where it doesn't, a card has no word of it. A card is shown
at once: exact intervals of shares take a twentieth of a second each, so that more than a few
are found by Student's t.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import QueryError, RecordError
from ...findings.forms import Quotient
from ...findings.populations import Populations
from ...release.accuracy.expected import CONFIDENCE
from ...release.answers.figures import (
    Figures,
    ShownFigures,
    figures_of_population,
    says_nothing,
)
from ...release.answers.records import Record
from ...rows.facts.keys import is_missing
from ...rows.figures import format_interval, plus_minus
from ...statistics.samples import How
from ..ways import FEW_ROWS, in_words, is_too_few

#: Of up to so many numbers intervals are exact if they can be, and of up to so many there are any.
EXACT_UP_TO, MOST = 2, 60
#: Of so many quotients of released means: where each may lie is searched for.
QUOTIENTS = 1


class Beyond(NamedTuple):
    """What is said beyond the noise."""

    figures: Figures | None  # with intervals for the population; None where nothing is shown
    said: str  # how these hold, after how the errors of the noise do


NOTHING, LEFT_OUT = Beyond(None, ""), Beyond(None, "; population: see dp.intervals")


def of_release(shown: ShownFigures, rows: list[int], columns: list[int]) -> Beyond:
    """Of the numbers in some rows and columns."""
    record = shown.record
    records = [record] if isinstance(record, Record) else list(record.components.values())
    known = [] if record.preview else [each for each in records if _says_anything(each)]
    number = sum(len(each._values()) for each in known)
    if not number:
        return NOTHING
    if number > MOST:
        return LEFT_OUT
    try:
        found = figures_of_population(record, CONFIDENCE, _how(number))
    except (QueryError, RecordError):  # they say why, to those who ask
        return NOTHING
    return _beyond(found.at(shown.places[np.ix_(rows, columns)]))


def _says_anything(record: Record) -> bool:
    # a count does given the population's size, which a card isn't: said of a million labels at once
    is_count = record._statistic.is_count(record._query.source.schema)
    return not (is_count or says_nothing(record, How()))


def of_derived(answer: Any) -> Beyond:
    """Of all numbers that were derived."""
    findings, how = answer._findings, _how(len(answer._findings.numbers))
    forms = [getattr(each, "parameter", None) for each in findings.numbers]
    is_slow = sum(isinstance(form, Quotient) for form in forms) > QUOTIENTS or len(forms) > MOST
    try:
        if is_slow:
            Populations.together(findings.numbers, 1 - CONFIDENCE, how)  # whether there are any
            return LEFT_OUT
        found = findings.of_population(CONFIDENCE, how)
    except (QueryError, RecordError):
        return NOTHING
    values, nothing = findings.values, [None] * len(found)
    pairs = list(zip(values, found, strict=True))
    return _beyond(Figures(
        values, [max(each.high - value, value - each.low) for value, each in pairs],
        [each.low for each in found], [each.high for each in found], findings.units, nothing,
        nothing, [each.way for each in found],
    ))  # fmt: skip


def _beyond(found: Figures) -> Beyond:
    if not any(found.ways):
        return NOTHING
    return Beyond(found, f"; population: {in_words(found.ways)}")


def _how(number: int) -> How:
    return How(None if number <= EXACT_UP_TO else "t")


def notes(found: Figures) -> list[str]:
    """What stands beside each number; "" for those that say nothing of the population."""
    each = zip(found.values, found.errors, found.lows, found.highs, found.ways, strict=True)
    return [_note(*number) for number in each]


def _note(value: Any, error: Any, low: Any, high: Any, way: str) -> str:
    if not way or is_missing(value):
        return ""
    # nobody knows the ranks of a quantile among a population
    said = plus_minus(error) or f"({format_interval(low, high)})"
    return f"{said}, {FEW_ROWS}" if is_too_few(way) else said
