"""Labels of answers for people: short, in one line."""

from __future__ import annotations

import pandas as pd

from ..rows.figures import format_label

text_of = format_label


def cut(text: str, longest: int) -> str:
    """A text of limited length."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def names_of(index: pd.Index) -> str:
    """The names of an index's levels."""
    return ", ".join(text_of(name) for name in index.names if name is not None)
