"""What `dp.protect` is given: a table in memory, or files. Its public facts, and who reads it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pandas as pd

from ..engines import truncation
from ..engines.base import Engine, ReadError
from ..engines.pandas import PandasEngine
from ..engines.parquet import ParquetFiles, find
from ..engines.readers import ArrowColumns, Columns, TableColumns, without_views
from ..engines.streaming import StreamingEngine
from ..errors import QueryError
from ..rows.facts.keys import is_missing
from ..rows.facts.kinds import Schema, of_arrow, of_columns
from ..rows.facts.units import Unit


class Given:
    """A table that is to be protected.

    names : of its columns. times : one more that holds an index of times, or None. kinds : of all,
    by their types. ordered : the columns of ordered categories. levels : the names of the index.
    attrs : where pandas keeps the token of its source; other tables keep none.
    """

    names: list[Any]
    kinds: Schema
    ordered: frozenset[Any] = frozenset()
    times: Any = None
    levels: tuple[Any, ...] = ()

    def own(self) -> Own:
        """The data as they stay, whatever happens to what was given."""
        raise NotImplementedError

    @property
    def attrs(self) -> dict[Any, Any]:
        return {}


class Own(Protocol):
    """Data that nobody else can change, or whose changes are noticed."""

    def fingerprint(self, key: bytes) -> str:
        """Equal for equal data."""

    def engine(self, unit: Unit, key: bytes) -> Engine:
        """What reads them."""


class InMemory:
    """Columns in memory. From the first fingerprint on all are in forms of their own."""

    def __init__(self, columns: TableColumns) -> None:
        self.columns = columns

    def fingerprint(self, key: bytes) -> str:
        found = truncation.fingerprint(self.columns, key)
        if isinstance(self.columns, Columns):
            self.columns.detach()
        return found

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return PandasEngine(self.columns, unit, key)


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


class ArrowTable(Given):
    """A table of Arrow, or of a library that gives one: its schema, and what reads it once."""

    def __init__(self, schema: Any, read: Callable[[], Any]) -> None:
        self.read = read
        self.names = list(schema.names)
        self.kinds = _kinds(self.names, schema.types)
        self.ordered = _ordered(self.names, schema.types)

    def own(self) -> Own:
        """A copy, for its arrays may be those of numpy."""
        import pyarrow as pa

        columns = list(map(without_views, self.read().columns))
        table = pa.Table.from_arrays(columns, names=self.names)
        copied = pa.BufferOutputStream()
        with pa.ipc.new_stream(copied, table.schema) as writer:
            writer.write_table(table)
        return InMemory(ArrowColumns(pa.ipc.open_stream(copied.getvalue()).read_all()))


class Files(Given):
    """Parquet files, which stay where they are: a change is noticed, and refused."""

    def __init__(self, paths: Sequence[str], prune: bool) -> None:
        try:
            self.files = ParquetFiles(paths)
        except ReadError as error:
            raise QueryError(str(error)) from None
        self.prune = prune
        self.names = list(self.files.names)
        types = [self.files.types[name] for name in self.names]
        self.kinds = _kinds(self.names, types)
        self.ordered = _ordered(self.names, types)

    def own(self) -> Own:
        return self

    def fingerprint(self, key: bytes) -> str:
        return self.files.fingerprint(key)

    def engine(self, unit: Unit, key: bytes) -> Engine:
        return StreamingEngine(self.files, unit, key, prune=self.prune)


def given(data: Any, materialize: object, prune: object) -> Given:
    """What a caller wants protected, if it can be."""
    for name, flag in (("materialize", materialize), ("prune", prune)):
        if not isinstance(flag, bool):
            raise QueryError(f"{name}= must be True or False.")
    if isinstance(data, pd.DataFrame):
        return PandasFrame(data)
    if isinstance(data, str | os.PathLike):
        _arrow("Parquet files")
        return Files(find(os.fspath(data)), bool(prune))
    return _given_by_others(data, bool(materialize), bool(prune))


def _given_by_others(data: Any, materialize: bool, prune: bool) -> Given:
    """A table of another library: by its type's name, so that none is imported that isn't there."""
    kind = type(data)
    library, name = kind.__module__.partition(".")[0], kind.__name__
    if library == "polars" and name == "LazyFrame":
        pa = _arrow("frames of Polars")
        empty = pa.table(data.collect_schema().to_frame(eager=True))
        return ArrowTable(empty.schema, lambda: pa.table(data.collect()))
    if library == "pyarrow" and hasattr(data, "get_fragments"):
        return _dataset(data, prune)
    is_stable = (library, name) in _STABLE or library in ("duckdb", "_duckdb")
    if not hasattr(data, "__arrow_c_stream__") or library in ("pandas", "dppandas"):
        raise QueryError(
            "dp.protect takes a DataFrame of pandas or Polars, a table of Arrow, a relation of "
            f"DuckDB, or the path of Parquet files, not {kind.__name__}."
        )
    if not is_stable and not materialize:
        raise QueryError(
            f"{kind.__name__} is a stream, which may be read only once, and many questions read "
            "more than once. Write dp.protect(…, materialize=True) to read it into memory."
        )
    return _table(data)


#: Tables that stay as they are.
_STABLE = {("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}


def _table(data: Any) -> Given:
    """A table, or a stream, whose schema is known before its rows are read."""
    pa = _arrow("tables of Arrow, Polars and DuckDB")
    if isinstance(data, pa.Table):
        return ArrowTable(data.schema, lambda: data)
    if isinstance(data, pa.RecordBatch):
        return ArrowTable(data.schema, lambda: pa.table(data))
    stream = pa.RecordBatchReader.from_stream(data)
    return ArrowTable(stream.schema, stream.read_all)


def _dataset(data: Any, prune: bool) -> Given:
    """Local Parquet files stay where they are; other datasets are read into memory."""
    from pyarrow import dataset, fs

    fragments = list(data.get_fragments())
    is_plain = isinstance(data, dataset.FileSystemDataset) and all(
        not dataset.get_partition_keys(each.partition_expression) for each in fragments
    )
    is_local = is_plain and fragments and isinstance(data.filesystem, fs.LocalFileSystem)
    if is_local and data.format.default_extname == "parquet":
        return Files([os.path.abspath(path) for path in data.files], prune)
    return ArrowTable(data.schema, data.to_table)


def _arrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise QueryError(f'{what} need pyarrow. Run: pip install "dppandas[arrow]"') from None
    return pyarrow


def _kinds(names: Sequence[str], types: Sequence[Any]) -> Schema:
    """The kinds of a schema of Arrow, of types that can be read."""
    from pyarrow import types as tests

    for name, kind in zip(names, types, strict=True):
        if tests.is_union(kind) or tests.is_interval(kind):
            raise QueryError(
                f"column {name!r} is of Arrow's type {kind}, whose values mean nothing to "
                "dppandas. Leave it out, or convert it first."
            )
    return dict(zip(names, map(of_arrow, types), strict=True))


def _ordered(names: Sequence[str], types: Sequence[Any]) -> frozenset[Any]:
    """The columns of ordered dictionaries, which pandas reads as ordered categories."""
    pairs = zip(names, types, strict=True)
    return frozenset(name for name, kind in pairs if getattr(kind, "ordered", False))


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
