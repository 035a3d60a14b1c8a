"""Labels of answers for people: short, in one line."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..rows.figures import format_label

text_of = format_label


#: How many letters of a label are shown.
LONGEST = 60


def short(label: Any) -> str:
    """A label in so many letters, of which each level has its part; whole where pandas shows whole
    columns. What is left out is in the middle: long labels often differ at their end."""
    text = text_of(label)
    if len(text) <= LONGEST or pd.get_option("display.max_colwidth") is None:
        return text
    if not isinstance(label, tuple):
        return _cut(text, LONGEST)
    texts = list(map(text_of, label))
    most = LONGEST // len(texts)
    while sum(min(len(each), most) for each in texts) + 2 * len(texts) <= LONGEST:
        most += 1  # what short ones leave
    return ", ".join(_cut(each, most) for each in texts)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = max(longest - 1, 2) // 2
    return f"{text[: longest - 1 - half]}…{text[-half:]}"


def names_of(index: pd.Index) -> str:
    """The names of an index's levels."""
    return ", ".join(text_of(name) for name in index.names if name is not None)
