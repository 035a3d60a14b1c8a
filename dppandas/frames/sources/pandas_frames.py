"""DataFrames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ...engines.readers import Columns
from ...rows.facts.keys import is_missing
from ...rows.facts.kinds import of_dtype
from .base import Given, InMemory, Own, SharedFrame


class PandasFrame(Given):
    """A DataFrame of pandas, whose names and dtypes are read once: pandas is slow at both."""

    def __init__(self, df: pd.DataFrame) -> None:
        self.names, dtypes = list(df.columns), dtypes_of(df)
        self.whole, self.times = with_times(df)
        self.ordered = ordered_among(self.names, dtypes)
        self.levels = index_levels(df)
        self._df, self._columns = df, self.names
        if self.times is not None:
            self._columns, dtypes = [*self.names, self.times], [*dtypes, df.index.dtype]
        self.kinds = dict(zip(self._columns, map(of_dtype, dtypes), strict=True))

    @property
    def attrs(self) -> dict[Any, Any]:
        return self._df.attrs

    def own(self) -> Own:
        # not a lazy copy: .array writes around pandas' copy-on-write
        return InMemory(Columns(self.whole.copy(deep=True), self._columns))

    def shared(self) -> Own:
        return SharedFrame(Columns(self.whole, self._columns))


def dtypes_of(df: pd.DataFrame) -> list[Any]:
    """The dtypes in order, where pandas has them: the Series that it makes of them takes a fifth of
    a small answer's time."""
    try:
        found: list[Any] = df._mgr.get_dtypes().tolist()
    except AttributeError:  # a later pandas
        found = df.dtypes.tolist()
    return found


def with_times(df: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """A copy of a frame, so that its columns stay as they are, with its index of times as one more
    column, and the name of that; None for others."""
    index, whole = df.index, df.copy(deep=False)
    if not isinstance(index, pd.DatetimeIndex):
        return whole, None
    name = "index" if is_missing(index.name) else index.name
    # 1 and True are one name, except to an Index of numbers
    if name in df.columns or (not isinstance(name, str) and name in {*df.columns}):
        return whole, None
    whole.insert(len(df.columns), name, index)
    return whole, name


def index_levels(df: pd.DataFrame) -> tuple[Any, ...]:
    """The names of the index, which are as public as those of columns."""
    return tuple(name for name in df.index.names if name is not None)


def ordered_among(columns: Sequence[Any], dtypes: Sequence[Any]) -> frozenset[Any]:
    """The columns of ordered categories."""
    pairs = zip(columns, dtypes, strict=True)
    return frozenset(name for name, dtype in pairs if getattr(dtype, "ordered", None) is True)
