"""Labels of answers for people: short, in one line."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..rows.facts.keys import is_missing


def text_of(label: Any) -> str:
    """A label in one line. Different labels of one answer stay different."""
    if isinstance(label, tuple):
        return ", ".join(map(text_of, label))
    if isinstance(label, pd.Interval):
        return _interval(label)
    if is_missing(label):
        return "missing"
    if isinstance(label, float):
        return f"{label:.12g}"
    if isinstance(label, pd.Timestamp) and label == label.normalize():
        return str(label.date())
    return " ".join(str(label).split())


def _interval(label: Any) -> str:
    """A bin with rounded ends, unless these would be equal."""
    ends = [label.left, label.right]
    short = [_rounded(end) if isinstance(end, int | float) else text_of(end) for end in ends]
    left, right = short if short[0] != short[1] else map(text_of, ends)
    return f"{'[' if label.closed_left else '('}{left}, {right}{']' if label.closed_right else ')'}"


def _rounded(end: float) -> str:
    """Six digits, but never 1e+06."""
    return f"{end:.6g}" if abs(end) < 1e6 else f"{end:.12g}"


def cut(text: str, longest: int) -> str:
    """A text of limited length."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def names_of(index: pd.Index) -> str:
    """The names of an index's levels."""
    return ", ".join(text_of(name) for name in index.names if name is not None)
