"""Numbers and errors for people."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

#: How many columns a text names.
LISTED = 4


def format_number(value: float) -> str:
    """A number for people: with thousands separators, and fractions to four significant digits."""
    if value != value or math.isinf(value):
        return str(value)
    if isinstance(value, int) or value == int(value) or abs(value) >= 1000:
        return f"{round(value):,}"
    return f"{value:.4g}"


def short(value: float) -> str:
    """A number in as few digits as tell it from every other."""
    said = f"{value:g}"
    return said if float(said) == value else repr(float(value)).removesuffix(".0")


def spread(errors: Sequence[tuple[float, Any]]) -> str:
    """The range of errors, given with what they mean: "± 3", or "± 3 to 5"; "" if none is known."""
    known = sorted((pair for pair in errors if 0 < pair[0] < math.inf), key=operator.itemgetter(0))
    if not known:
        return ""
    least, most = (format_value(told) for _, told in (known[0], known[-1]))
    return f"± {most}" if least == most else f"± {least} to {most}"


def format_value(value: Any) -> str:
    """A number in short form; a time, a duration, a text or None as it prints."""
    return format_number(value) if isinstance(value, int | float) else str(value)


def by_name(names: Sequence[Any], said: Sequence[str], of: str = "") -> str:
    """A text for each column by name; once if it is the same for all, and shortened for many."""
    of = of and f" {of}"
    if len({*said}) == 1:
        return said[0] + of
    more = f", … ({len(said)} columns)" if len(said) > LISTED else ""
    pairs = zip(map(str, names[:LISTED]), said[:LISTED], strict=True)
    return ", ".join(f"{name} {each}{of}" for name, each in pairs) + more


def errors_in_words(
    names: Sequence[Any], figures: Sequence[str], said: Sequence[str], of: str = "",
    is_each: bool = False,
) -> str:  # fmt: skip
    """The errors of an answer, given the range of each figure of each column: "± 30",
    "age ± 2, income ± 221", "count ± 5, mean ± 2"; "" if one without a figure isn't known."""
    if len(figures) > 1:
        return _by_figure(names, figures, said)
    words = by_name(names, said, of) if all(said) else ""
    return f"each {words}" if is_each and words else words


def _by_figure(names: Sequence[Any], figures: Sequence[str], said: Sequence[str]) -> str:
    width, columns = len(figures), []
    for at in range(0, len(said), width):
        words = zip(figures, said[at : at + width], strict=True)
        columns.append(", ".join(f"{figure} {each}" for figure, each in words if each))
    if len(names) == 1:
        return columns[0]
    more = f"; … ({len(names)} columns)" if len(names) > LISTED else ""
    pairs = zip(names[:LISTED], columns[:LISTED], strict=True)
    return "; ".join(f"{name}: {each}" for name, each in pairs) + more
