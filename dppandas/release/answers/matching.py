"""Whether an object still shows what was released, and where in the answer each number lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rows.facts.keys import is_missing

Places = npt.NDArray[np.intp]
Table = pd.Series | pd.DataFrame


def located(shown: Table, released: Table, one_column: bool) -> tuple[Places, Places] | None:
    """Which rows and columns of a released table an object shows; None unless all of its (row,
    column, value) were released.

    one_column : whether the release has a single column, whose name then doesn't matter.
    """
    table, whole = (t.to_frame() if isinstance(t, pd.Series) else t for t in (shown, released))
    wide = table.shape[1]
    columns = np.zeros(wide, np.intp) if one_column else _places(whole.columns, table.columns)
    rows = _places(whole.index, table.index)
    if rows is None or columns is None:
        return None
    pairs = ((table.iloc[:, i], whole.iloc[:, at]) for i, at in enumerate(columns))
    is_shown = all(_are_equal(one.array, other.array.take(rows)) for one, other in pairs)
    return (rows, columns) if is_shown else None


def _places(labels: pd.Index, wanted: pd.Index) -> Places | None:
    """The place of each wanted label; None if one isn't there."""
    if wanted.equals(labels):
        return np.arange(len(labels))
    try:
        found = labels.get_indexer(wanted)
        if labels.is_unique and (found >= 0).all():
            return found
    except (TypeError, ValueError, pd.errors.InvalidIndexError):
        pass  # labels that pandas can't look up
    places = {comparable(label): i for i, label in enumerate(labels)}
    each = [places.get(comparable(label)) for label in wanted]
    return None if None in each else np.array(each, dtype=np.intp)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two arrays hold equal values in order; missing ones are equal."""
    if one.dtype.kind in "iufb" and other.dtype.kind in "iufb":
        return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))
    if one.dtype == other.dtype != object:
        return bool(one.equals(other))
    return list(map(comparable, one)) == list(map(comparable, other))


def comparable(value: Any) -> Any:
    """A value that is equal to itself, missing or not."""
    if isinstance(value, tuple):
        return tuple(map(comparable, value))
    return None if is_missing(value) else value
