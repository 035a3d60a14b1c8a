"""Files, and tables of other libraries, by their types' names: no library is imported that isn't
there."""

from __future__ import annotations

import os
from typing import Any

from ...engines.files.paths import find, identity
from ...errors import QueryError, quoted
from .arrow_tables import ArrowTable, without_words
from .base import Given, is_of_dask
from .dask_frames import DaskFrame
from .files import Files
from .spark_frames import SparkFrame, is_of_spark


def held_elsewhere(data: Any, materialize: bool, prune: bool) -> Given:
    """What isn't a frame of pandas, if it can be protected."""
    paths = data if isinstance(data, list | tuple) and data else [data]
    if all(isinstance(path, str | os.PathLike) for path in paths):
        _arrow("Parquet files")
        return Files([each for path in paths for each in find(os.fspath(path))], prune)
    return _of_library(data, materialize, prune)


def _of_library(data: Any, materialize: bool, prune: bool) -> Given:
    """A table of another library: by its type's name, so that none is imported that isn't there."""
    kind = type(data)
    library, name = kind.__module__.partition(".")[0], kind.__name__
    if is_of_dask(data):
        return DaskFrame(data, materialize)
    if is_of_spark(data):
        return SparkFrame(data, materialize)
    if library == "polars" and name == "LazyFrame":
        pa = _arrow("frames of Polars")
        empty = without_words(
            lambda: pa.table(data.collect_schema().to_frame(eager=True)), "the schema of the frame"
        )
        return ArrowTable(empty.schema, lambda: pa.table(data.collect()))
    if library == "pyarrow" and hasattr(data, "get_fragments"):
        return _dataset(data, prune)
    is_stable = (library, name) in _STABLE or library in ("duckdb", "_duckdb")
    if not hasattr(data, "__arrow_c_stream__") or library in ("pandas", "dppandas"):
        raise QueryError(
            "dp.protect takes a DataFrame of pandas, Polars, Dask or Spark, a LazyFrame, a table "
            "or dataset of Arrow, a relation of DuckDB, or paths of Parquet files, not "
            f"{kind.__name__}."
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
    stream = without_words(
        lambda: pa.RecordBatchReader.from_stream(data), "the schema of the table"
    )
    return ArrowTable(stream.schema, stream.read_all)


def _dataset(data: Any, prune: bool) -> Given:
    """A dataset as its owner gave it. Local Parquet files stay where they are, if their rows are
    all that it has; other datasets are read into memory."""
    try:
        fragments = list(data.get_fragments())
    except ValueError:  # Arrow's, of a dataset that was filtered
        raise QueryError(
            "a pyarrow.dataset with .filter(…) isn't protected as it is. Protect the dataset "
            "without it, and write the filter as frame.query(…); or give dataset.to_table(), which "
            "reads the rows that pass into memory."
        ) from None
    _refuse_twice(fragments)
    if fragments and _is_local_parquet(data, fragments):
        files = Files([os.path.abspath(path) for path in data.files], prune, data.schema.names)
        if files.has_types_of(data.schema):
            return files
    return ArrowTable(data.schema, data.to_table)


def _refuse_twice(fragments: list[Any]) -> None:
    """Refuse files that are listed twice, also by two datasets of a union: Arrow would count each
    row of theirs twice, and so one row would count as two. Other row groups are other rows."""
    alike: dict[Any, list[Any]] = {}
    for each in fragments:
        if path := getattr(each, "path", ""):  # others are in memory
            alike.setdefault(identity(path), []).append(each)
    for same in alike.values():
        groups = [group for each in same for group in _groups(each)] if len(same) > 1 else []
        if len({*groups}) < len(groups):
            raise QueryError(
                f"the dataset lists {quoted(same[0].path)} twice, so that its rows would count "
                "twice. List each file once."
            )


def _groups(fragment: Any) -> list[Any]:
    """The row groups of a file that a fragment has; of other files, the whole."""
    try:
        return [group.id for group in fragment.row_groups]
    except (AttributeError, OSError, ValueError):  # no Parquet, or as reading it will tell
        return [None]


def _is_local_parquet(data: Any, fragments: list[Any]) -> bool:
    """Whether a dataset is of whole Parquet files on this machine, without columns in names of
    folders."""
    from pyarrow import dataset, fs

    if not isinstance(data, dataset.FileSystemDataset):
        return False
    if not isinstance(data.filesystem, fs.LocalFileSystem):
        return False
    if data.format.default_extname != "parquet":
        return False
    if any(dataset.get_partition_keys(each.partition_expression) for each in fragments):
        return False
    try:  # some row groups of a file may be a fragment
        return all(len(each.row_groups) == each.metadata.num_row_groups for each in fragments)
    except (OSError, ValueError):  # which reading the file will tell
        return True


def _arrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise QueryError(f'{what} need pyarrow. Run: pip install "dppandas[arrow]"') from None
    return pyarrow
