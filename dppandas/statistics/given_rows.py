"""Errors in words, given about how many rows there are."""

from __future__ import annotations

from typing import Any

from .layout import by_name, format_number

#: Answers with more numbers than this show no range of errors.
CROWD = 2**12


def over_rows(statistic: Any, law: Any, confidence: float, rows: float) -> str:
    """The error of a statistic, of which each number is taken over about this many rows: to first
    order for ratios, and where only the answer decides it, that of rows spread evenly."""
    said = statistic.expected_at(law, confidence)
    if statistic.no_interval or not hasattr(law, "half_width"):
        return str(said)
    ratios = statistic.ratios_by_column(law.half_width(confidence, statistic.size))
    if ratios is not None and not statistic.layout.is_mixed:
        each = [f"≈ {statistic.in_short(ratio / rows)}" for ratio in ratios]
        return f"{by_name(statistic.asked_columns, each)} {at(rows)}"
    even = [] if said else statistic.evenly(rows)
    if not even or len(even) > CROWD:
        return str(said)
    errors = statistic.errors_at(even, law, confidence)
    spread = statistic.in_words(errors) if any(errors) else "± 0"  # less than answers resolve
    return f"{spread.replace('±', '≈')} {at(rows)}" if spread else ""


def at(rows: float) -> str:
    """The number of rows that an error is for."""
    return f"at n = {format_number(rows) if rows < 1e15 else f'{rows:.4g}'}"
