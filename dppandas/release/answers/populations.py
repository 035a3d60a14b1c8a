"""What an answer says of the population that its rows are a sample of.

Proof: docs/proofs/populations.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from ...errors import QueryError, RecordError, quoted
from ...privacy.mechanisms.selection import Selection
from ...rows.figures import format_interval
from ...statistics.samples import FEW, Estimate, How, Sample, SampleCount
from ..accuracy.expected import CONFIDENCE, for_population
from ..accuracy.units import unit_of_each
from .shown import NO_INTERVAL

ROWS, POPULATION = "rows", "population"
#: The most units of a population.
LARGEST = 10**12
#: The best interval that is known, for a population of any size.
BEST = How()
METHODS = (None, "t", "bernstein")


def parse_how(of: object, size: object, method: object) -> How | None:
    """How an interval for the population is asked for; None for one about the rows."""
    if of not in (ROWS, POPULATION):
        raise QueryError(
            f'of= must be "rows", for the exact answer on these rows, or "population", and not '
            f"{quoted(of)}."
        )
    if method not in METHODS:
        raise QueryError(f'method= must be "t", "bernstein" or None, and not {quoted(method)}.')
    is_whole = isinstance(size, Integral) and not isinstance(size, bool)
    if size is not None and not (is_whole and 0 < size <= LARGEST):  # type: ignore[operator]
        raise QueryError(
            "size= is how many units the population has, a whole number above 0 and up to 10^12, "
            f"and not {quoted(size)}."
        )
    if of == ROWS:
        if size is not None or method is not None:
            raise QueryError('size= and method= are about of="population".')
        return None
    if size is not None and method == "bernstein":
        raise QueryError(
            "Bernstein's intervals are proven for large populations alone: leave size= out, which "
            'makes them wider, or ask for method="t".'
        )
    return How(method, None if size is None else int(size))  # type: ignore[call-overload]


def samples_of(record: Any, how: How = BEST) -> Sequence[Sample | None]:
    """What each number of an answer estimates in a population; None for what estimates nothing, or
    nothing in a population of a given size."""
    if isinstance(record._law, Selection):
        raise RecordError(NO_INTERVAL)
    check_units(record)
    if any(record._layout.rulers):
        raise QueryError(
            f"'{record.query}' has times, which have no intervals for a population. Ask about "
            "numbers, such as durations in hours."
        )
    schema = record._query.source.schema
    found: Sequence[Sample | None] = record._statistic.samples(record._noisy, record._law, schema)
    if not any(each is not None for each in found):
        raise QueryError(
            f"'{record.query}' says nothing of a population. Means, shares, variances and "
            "deviations do; quantiles if they are asked for with interval=True; and counts of "
            "several labels, with size=. A count or a sum alone doesn't say of how many."
        )
    if how.size is None:
        return found
    sized = [each if each is not None and each.takes_size else None for each in found]
    if not any(each is not None for each in sized):
        raise QueryError(
            f"intervals of '{record.query}' are proven for large populations alone: leave size= "
            "out, which makes them wider."
        )
    return sized


def check_units(record: Any) -> None:
    """Refuse answers about several rows of a unit: those weren't drawn independently."""
    query = record._query
    if query.statistic.of_units:
        return
    check_rows(f"'{record.query}'", query.source.unit.max_rows * query.branches)


def check_rows(asked: str, rows: int) -> None:
    """Refuse several rows of a unit, which aren't independent."""
    if rows != 1:
        raise QueryError(
            f"{asked} may have {rows} rows of a unit, and a population is one of units. Make a "
            "table with one row of each first, by .per_unit().agg(…) of the private frame, and ask "
            "about that."
        )


def estimates(record: Any, confidence: float, how: How) -> list[Estimate | None]:
    """An interval for each number that estimates anything: all hold simultaneously."""
    found, values = samples_of(record, how), record._values()
    for each in found:
        check_size(each, how)
    risk = (1 - confidence) / max(1, sum(each is not None for each in found))
    return [
        None if each is None else around(value_of(each, value, how), each.estimate(risk, how))
        for each, value in zip(found, values, strict=True)
    ]


def check_size(sample: Sample | None, how: How) -> None:
    """Refuse a population that is smaller than its sample."""
    if sample is not None and how.size is not None and sample.fewest() > how.size:
        raise QueryError(
            f"size={how.size:,} is less than the rows that the answer is about, of which there are "
            f"at least {sample.fewest():,}. Give the number of units of the whole population."
        )


def value_of(sample: Sample, value: float, how: How) -> float:
    """The number that is shown: of counts that of the population."""
    if not isinstance(sample, SampleCount):
        return value
    if how.size is None:
        raise QueryError(
            "how many units of a population a count stands for depends on how many it has: give "
            "size=, the number of units that any of the labels counted may have."
        )
    share = sample.share
    rows = share.part + share.rest
    return how.size * min(max(share.part / rows, 0.0), 1.0) if rows > 0 else 0.0


def around(value: float, found: Estimate) -> Estimate:
    """An interval that includes the number that is shown."""
    if math.isnan(value):
        return found
    return found._replace(low=min(found.low, value), high=max(found.high, value))


def of_population(record: Any) -> str:
    """What is said of a single number beside its error; "" if it says nothing of a population."""
    try:
        (found,) = estimates(record, CONFIDENCE, How())
    except (QueryError, RecordError):  # they say why, to those who ask
        return ""
    (value,) = record._values()
    if found is None:
        return ""
    if record._statistic.errors.in_ranks:  # it has no error in its own unit
        return f"; {format_interval(found.low, found.high)} for the population"
    return in_words(value, found)


def in_words(value: float, found: Estimate) -> str:
    """An interval for the population, beside a number and its error."""
    few = ", too few rows" if found.way.endswith(FEW) else ""
    return f"; {for_population(value, found.low, found.high)}{few}"


def values_of(record: Any, how: How) -> list[Any]:
    """The numbers that are shown: those of the answer; counts are those of the population."""
    pairs = zip(samples_of(record, how), record._values(), strict=True)
    return [value if each is None else value_of(each, value, how) for each, value in pairs]


def units_of(record: Any) -> list[str]:
    """The unit of each number: counts are of the population's units."""
    found = samples_of(record)
    each = unit_of_each(record._statistic, record._query.source.schema, len(found))
    return [
        "units" if isinstance(sample, SampleCount) else unit
        for sample, unit in zip(found, each, strict=True)
    ]
