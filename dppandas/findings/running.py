"""Answers that pandas has added up by ``cumsum``, which keeps what says where they came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError
from ..release.answers.rearranged import tells
from ..release.answers.record_bundle import RecordBundle
from ..release.answers.records import Record
from ..release.answers.results import claimed, released_table
from .answers import DerivedTable, made_of
from .derive import quantities_in


def running_total(table: Any) -> DerivedTable | None:
    """A released Series or DataFrame after ``cumsum``, with the errors that `dppandas.derive` gives
    it. None for others: where labels or their order aren't those released, where the order is that
    of noisy numbers, and where other running numbers are equal to these."""
    record = None if isinstance(table, pd.Index) else claimed(table)
    if record is None or _is_sorted_by_noise(record):
        return None
    released = released_table(record)
    if not (_has_same_labels(table, released) and tells(np.ravel(released).tolist())):
        return None
    axes = (0, 1) if isinstance(table, pd.DataFrame) else (0,)
    found = [
        (how, axis)
        for how in ("cumsum", "cumprod", "cummax", "cummin")
        for axis in axes
        if _is_same(table, getattr(released, how)(axis=axis))
    ]
    if len(found) != 1 or found[0][0] != "cumsum":
        return None
    try:
        total: DerivedTable = made_of(quantities_in(record).cumsum(axis=found[0][1]))
    except QueryError:  # some number has no interval, or there are too many
        return None
    return total


def _is_sorted_by_noise(record: Record | RecordBundle) -> bool:
    """Whether noise decides the order: of sums of the largest, intervals hold less often."""
    each = record.components.values() if isinstance(record, RecordBundle) else [record]
    return any(one._order is not None for one in each)


def _has_same_labels(table: Any, released: Any) -> bool:
    """Whether a table of numbers has all released labels in order."""
    if type(table) is not type(released) or not table.index.equals(released.index):
        return False
    if isinstance(table, pd.Series):
        return table.dtype.kind in "iuf" and released.dtype.kind in "iuf"
    dtypes = [*table.dtypes, *released.dtypes]
    return table.columns.equals(released.columns) and all(t.kind in "iuf" for t in dtypes)


def _is_same(one: Any, other: Any) -> bool:
    return np.array_equal(one.to_numpy(dtype=float), other.to_numpy(dtype=float), equal_nan=True)
