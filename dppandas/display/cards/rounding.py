"""Numbers and times rounded to their errors, for people."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import Any

import pandas as pd

from ...rows.facts.keys import is_missing
from ...statistics.layout import format_number

#: How many digits of an error are shown. The answer is rounded to the last of them.
DIGITS = 2
#: Whole errors up to this one are shown as they are.
WHOLE = 99
_UNITS = ("days", "h", "min", "s", "ms", "µs", "ns")
_LENGTHS = [pd.Timedelta(1, unit) for unit in ("D", "h", "min", "s", "ms", "us", "ns")]


def rounded(value: Any, error: Any) -> tuple[str, str]:
    """An answer and its error in short form, rounded to `DIGITS` digits of the error; "" for an
    error that isn't known."""
    if is_missing(value):
        return "unknown", ""
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return _time(value, error)
    if isinstance(value, str) or not isinstance(value, int | float):
        return str(value), short(error) if _is_known(error) else ""
    if math.isinf(value):
        return format_number(value), ""
    if not _is_known(error) or not 0 < error < math.inf:
        return format_number(value), "0" if error == 0 else "∞" if error == math.inf else ""
    last = _last_digit(error)
    if isinstance(value, int):
        last = 0 if _is_small(error) else max(0, last)
    return _at(value, last), _at(error, last, ROUND_CEILING)


def short(error: Any) -> str:
    """An error by itself: two digits, rounded up, or a small whole number as it is."""
    if isinstance(error, pd.Timedelta):
        return _length(error, *_unit_of(error))
    if _is_small(error):
        return f"{int(error):,}"
    return _at(error, _last_digit(error), ROUND_CEILING)


def _is_known(error: Any) -> bool:
    return not is_missing(error)


def _is_small(error: float) -> bool:
    """Whether it is a whole number of few digits, which is shown as it is."""
    return 0 <= error <= WHOLE and error == int(error)


def _last_digit(error: float) -> int:
    """The power of ten that the last shown digit of an error stands for."""
    return math.floor(math.log10(error)) - DIGITS + 1


def _at(value: float, last: int, mode: str = ROUND_HALF_EVEN) -> str:
    """A number rounded to a power of ten. Errors are rounded up, but not for a trillionth."""
    exact = Decimal(repr(float(value)) if not isinstance(value, int) else value)
    step = Decimal(1).scaleb(last)
    if mode == ROUND_CEILING:
        exact -= step.scaleb(-9)
    found = (
        exact.quantize(step, rounding=mode)
        if last < 0
        else ((exact / step).to_integral_value(rounding=mode) * step)
    )
    text = f"{found:,.{max(0, -last)}f}"
    return text.replace("-0", "0") if not float(text.replace(",", "")) else text


# --- times ----------------------------------------------------------------------------------------


def _unit_of(error: pd.Timedelta) -> tuple[str, pd.Timedelta]:
    """The largest unit of which an error has at least one."""
    pairs = list(zip(_UNITS, _LENGTHS, strict=True))
    return next((pair for pair in pairs if error >= pair[1]), pairs[-1])


def _length(length: pd.Timedelta, unit: str, one: pd.Timedelta) -> str:
    """A duration in a unit."""
    number = length / one
    return f"{_at(number, min(0, _last_digit(number)), ROUND_CEILING)} {unit}"


def _time(value: Any, error: Any) -> tuple[str, str]:
    """A time or duration, and its error in one unit."""
    if not isinstance(error, pd.Timedelta) or is_missing(error) or not error:
        return str(value), "" if is_missing(error) else short(error)
    unit, one = _unit_of(error)
    said = _length(error, unit, one)
    if isinstance(value, pd.Timedelta):
        return f"{_at(value / one, min(0, _last_digit(error / one)))} {unit}", said
    nearest = value.round({"days": "D"}.get(unit, {"µs": "us"}.get(unit, unit)))
    if unit == "days":
        return str(nearest.date()), said
    form = {"h": "%Y-%m-%d %H:%M", "min": "%Y-%m-%d %H:%M", "s": "%Y-%m-%d %H:%M:%S"}.get(unit)
    return (str(nearest) if form is None else nearest.strftime(form)), said
