"""Whether an object still shows what was released, and where in the answer each number lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...rows.facts.keys import is_missing

Places = npt.NDArray[np.intp]
Table = pd.Series | pd.DataFrame


def located(
    shown: Table, released: Table, one_column: bool, made_up: bool = False
) -> tuple[Places, Places] | None:
    """Which rows and columns of a released table an object shows; None unless all of its (row,
    column, value) were released.

    one_column : whether the release has a single column, whose name then doesn't matter.
    made_up : whether it is a preview's, where all may be 0.
    """
    table, whole = (t.to_frame() if isinstance(t, pd.Series) else t for t in (shown, released))
    wide = table.shape[1]
    columns = np.zeros(wide, np.intp) if one_column else _places(whole.columns, table.columns)
    rows = _places(whole.index, table.index)
    if rows is None or columns is None:
        return None
    pairs = [(table.iloc[:, i], whole.iloc[:, at]) for i, at in enumerate(columns)]
    if not all(_are_equal(one.array, other.array.take(rows)) for one, other in pairs):
        return None
    is_whole = len(rows) == len(whole) and len(columns) == whole.shape[1]
    is_same = is_whole and all(one.dtype.kind == other.dtype.kind for one, other in pairs)
    return (rows, columns) if is_same or made_up or has_figures(table) else None


def with_labels_as_index(shown: Table, released: Table) -> pd.DataFrame | None:
    """A table whose first columns are the labels of a released one, as after reset_index, with
    these as its index again; None for other tables."""
    if isinstance(shown, pd.Series):
        return None
    names, columns = list(released.index.names), list(shown.columns)
    usual = ["index"] if len(names) == 1 else [f"level_{i}" for i in range(len(names))]
    named = [n if n is not None else other for n, other in zip(names, usual, strict=True)]
    first = [c[0] if isinstance(c, tuple) and not any(c[1:]) else c for c in columns[: len(named)]]
    if first != named or len(columns) == len(named) or len({*columns}) < len(columns):
        return None
    table = shown.set_index(columns[: len(named)])
    return table.set_axis(table.index.set_names(names), axis=0)


def has_figures(table: pd.DataFrame) -> bool:
    """Whether some value would be another one after arithmetic: 0 and NaN, doubled, would not."""
    held = (table.iloc[:, i].to_numpy() for i in range(table.shape[1]))
    return not table.size or any(
        each.dtype.kind not in "iuf" or bool((np.isfinite(each) & (each != 0)).any())
        for each in held
    )


def _places(labels: pd.Index, wanted: pd.Index) -> Places | None:
    """The place of each wanted label; None if one isn't there."""
    if wanted.equals(labels):
        return np.arange(len(labels))
    try:
        if labels.nlevels == wanted.nlevels:  # others fail an assertion of pandas
            found = labels.get_indexer(wanted)
            if labels.is_unique and (found >= 0).all():
                return found
    except Exception:
        pass  # labels that pandas can't look up: they may be anything
    places = {comparable(label): i for i, label in enumerate(labels)}
    each = [places.get(comparable(label)) for label in wanted]
    return None if None in each else np.array(each, dtype=np.intp)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two arrays hold equal values in order; missing ones are equal. Truth values are no
    numbers: a comparison makes them."""
    if one.dtype.kind in "iufb" and other.dtype.kind in "iufb":
        is_alike = (one.dtype.kind == "b") == (other.dtype.kind == "b")
        return is_alike and np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True)
    if one.dtype == other.dtype != object:
        return bool(one.equals(other))
    return list(map(comparable, one.tolist())) == list(map(comparable, other.tolist()))


def comparable(value: Any) -> Any:
    """A value that is equal to itself, missing or not; what can be no label is equal to none."""
    if isinstance(value, tuple):
        return tuple(map(comparable, value))
    if is_missing(value):
        return None
    try:
        hash(value)
    except Exception:
        return object()  # it was never released
    return value
