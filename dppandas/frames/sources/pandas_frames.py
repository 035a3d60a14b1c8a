"""DataFrames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...engines.readers import Columns
from ...rows.facts.keys import is_missing
from ...rows.facts.kinds import of_columns
from .base import Given, InMemory, Own


class PandasFrame(Given):
    """A DataFrame of pandas."""

    def __init__(self, df: pd.DataFrame) -> None:
        self.names = list(df.columns)
        self.whole, self.times = with_times(df)
        self.kinds = of_columns(self.whole)
        self.ordered = ordered_columns(df)
        self.levels = index_levels(df)
        self._df = df

    @property
    def attrs(self) -> dict[Any, Any]:
        return self._df.attrs

    def own(self) -> Own:
        # not a lazy copy: .array writes around pandas' copy-on-write
        return InMemory(Columns(self.whole.copy(deep=True)))

    def shared(self) -> Own:
        # a copy, so that the columns stay as they were checked, whatever happens to the frame
        return InMemory(Columns(self.whole.copy(deep=False)))


def with_times(df: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """A frame with its index of times as one more column, and the name of that; None for others."""
    index = df.index
    name = "index" if is_missing(index.name) else index.name
    if not isinstance(index, pd.DatetimeIndex) or name in df.columns:
        return df, None
    whole = df.copy(deep=False)
    whole.insert(len(df.columns), name, index)
    return whole, name


def index_levels(df: pd.DataFrame) -> tuple[Any, ...]:
    """The names of the index, which are as public as those of columns."""
    return tuple(name for name in df.index.names if name is not None)


def ordered_columns(df: pd.DataFrame) -> frozenset[Any]:
    """The columns of ordered categories."""
    dtypes = zip(df.columns, df.dtypes.tolist(), strict=True)
    return frozenset(name for name, dtype in dtypes if getattr(dtype, "ordered", None) is True)
