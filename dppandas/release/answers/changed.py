"""What to write where an object has lost the errors of an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .matching import has_figures
from .rearranged import KEEP_LABELS, unstack_whole


def changed(result: Any, released: Any) -> str:
    """Why an object that came from a release has no record any more, and what keeps errors."""
    if _has_other_labels(result, released):
        keyword = "" if isinstance(result, pd.Series) else "columns="
        return (
            "these are released numbers under other labels, and only labels tell whose errors "
            f"they have. This keeps errors: dp.derive(lambda x: x.rename({keyword}{{…}}), answer)."
        )
    table = result.to_frame() if isinstance(result, pd.Series) else result
    if isinstance(table, pd.DataFrame) and not has_figures(table):
        return (
            "all these numbers are 0 or missing, and would be after arithmetic, so nobody can "
            "tell whose errors they have. Select from dp.intervals(answer)."
        )
    return (
        "this was computed from a release, and its values aren't those released. dp.derive(lambda "
        "x: …, answer) follows the errors of an answer, dp.difference(a, b) those of two. "
        f"{KEEP_LABELS}"
    )


def without_record(result: Any) -> str:
    """Why another object has no record."""
    if hasattr(result, "_tidy_intervals"):
        return (
            f"no release record belongs to this {type(result).__name__}, which was computed. "
            "dp.intervals has its errors, and dp.ledger() lists every release."
        )
    return (
        f"no release record belongs to this {type(result).__name__}. Results of releases have "
        "one. dp.derive(lambda x: …, answer) computes with their errors. dp.ledger() lists every "
        f"release.{unstack_whole(result)}"
    )


def _has_other_labels(result: Any, released: Any) -> bool:
    """Whether an object has the released numbers in order, and labels that weren't released. That
    tells what to say, and never whose errors they are."""
    if type(result) is not type(released) or result.shape != released.shape:
        return False
    labels = [(result.index, released.index)]
    if isinstance(result, pd.DataFrame):
        labels.append((result.columns, released.columns))
    return not all(x.equals(y) for x, y in labels) and _are_equal(result, released)


def _are_equal(result: Any, released: Any) -> bool:
    one, other = (np.asarray(each, dtype=object) for each in (result, released))
    return all(
        x is y or x == y or (x != x and y != y) for x, y in zip(one.flat, other.flat, strict=True)
    )
