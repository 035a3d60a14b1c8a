"""DataFrames of Dask."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...engines.base import Engine
from ...engines.clusters.dask import BUCKET, DaskEngine
from ...engines.clusters.work import unlogged
from ...errors import QueryError
from ...rows.facts.units import Unit
from ...rows.values import hashing
from .arrow_tables import without_words
from .base import Given, Own
from .pandas_frames import PandasFrame, with_times


class DaskFrame(Given):
    """A DataFrame of Dask: what its partitions are to look like. With ``materialize`` they are kept
    by the cluster from now on."""

    def __init__(self, frame: Any, materialize: bool) -> None:
        meta = PandasFrame(frame._meta)
        self.names, self.kinds, self.ordered = meta.names, meta.kinds, meta.ordered
        self.levels, self.times = meta.levels, meta.times
        if BUCKET in self.names:
            raise QueryError(f"a column can't be named {BUCKET!r} here.")
        if self.times is not None:
            frame = frame.map_partitions(_with_times, meta=meta.whole)
        self._frame, self._materialize = frame, materialize
        self._columns = tuple(meta.whole.columns)

    def own(self) -> Own:
        frame = self._frame
        if self._materialize:
            frame = without_words(lambda: unlogged(frame.persist), "the rows of the graph")
        return DaskRows(frame, self._columns, self._frame._name)

    def shared(self) -> Own:
        return DaskRows(self._frame, self._columns, self._frame._name)


class DaskRows:
    """The graph that gives the rows. Dask names it by what it reads."""

    def __init__(self, frame: Any, columns: tuple[Any, ...], name: str) -> None:
        self._frame, self._columns, self._name = frame, columns, name

    def fingerprint(self, key: bytes) -> str:
        return hashing.digest(self._name, key)

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return DaskEngine(self._frame, self._columns, unit, key)


def _with_times(frame: pd.DataFrame) -> pd.DataFrame:
    return with_times(frame)[0]
