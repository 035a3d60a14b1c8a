"""The columns of a table in their closed forms, each read when it is first asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from threading import RLock
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ..rows.values import reading, vectors
from ..rows.values.forms import Vector
from .arrow_types import (
    WITH_PARTS,
    column_without,
    frame_in_known_types,
    frame_of_nothing,
    frame_without,
    is_nested,
)
from .sharing import written


class Columns:
    """A DataFrame's columns. The frame itself is only shown to a function that the caller wrote.

    names : of its columns, where somebody has read them.
    """

    def __init__(self, frame: pd.DataFrame, names: Sequence[Any] | None = None) -> None:
        self._frame = frame
        each = frame.columns if names is None else names
        self._positions = {name: i for i, name in enumerate(each)}
        self._made: dict[Any, Vector] = {}
        self._lock = RLock()
        self.rows = len(frame)

    def anew(self) -> Columns:
        """The same columns, of which nothing has been read."""
        columns = Columns(self._frame, ())
        columns._positions = self._positions  # of names that are equal, only one is kept
        return columns

    def __iter__(self) -> Iterator[Any]:
        return iter(self._positions)

    def __getitem__(self, name: Any) -> Vector:
        if name in self._made:
            return self._made[name]
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._once(name)  # noqa: E701  # fmt: skip

    def _once(self, name: Any) -> Vector:
        if name not in self._made:
            self._made[name] = reading.column(_column_at(self._frame, self._positions[name]))
        return self._made[name]

    def detach(self) -> None:
        """Copy mutable cells where possible, for a copied object column still shares them."""
        for position, dtype in enumerate(self._frame.dtypes):
            if not (isinstance(dtype, np.dtype) and dtype.kind == "O"):
                continue
            cells = self._frame.iloc[:, position].to_numpy()
            if any(issubclass(kind, _MUTABLE) for kind in _kinds(cells)):
                array = np.empty(len(cells), dtype=object)
                # beyond the limits of cells, an array may say that it is larger than any memory:
                # it is missing, and stays so whatever becomes of it
                beyond = self[self._frame.columns[position]].null()
                for i, cell in enumerate(cells):
                    if issubclass(type(cell), _MUTABLE):
                        array[i] = None if beyond[i] else _own(cell)
                    else:
                        array[i] = cell
                column: Any = pd.Series(array, index=self._frame.index, dtype=object)
                self._frame.isetitem(position, column)  # of an array, pandas would infer a dtype

    def plain(self, names: Sequence[Any], rows: Any) -> pd.DataFrame:
        """Some rows as they were given, or in types of which Arrow can pick some rows."""
        found: pd.DataFrame = self._pickable.iloc[rows, [self._positions[name] for name in names]]
        with_parts = [i for i in range(len(names)) if _may_have_parts(found.iloc[:, i])]
        return frame_without(found, {i: self[names[i]].null()[rows] for i in with_parts})

    @cached_property
    def _pickable(self) -> pd.DataFrame:
        return frame_in_known_types(self._frame)

    def of_nothing(self) -> Columns:
        return Columns(frame_of_nothing(self._frame))

    def type_of(self, name: Any) -> Any:
        return self._frame.dtypes.iloc[self._positions[name]]


def _column_at(frame: pd.DataFrame, position: int) -> Any:
    """A column by its position. `iloc` takes longer to see what it was asked for than a block of
    rows takes to be summed."""
    try:
        return frame._ixs(position, axis=1)  # type: ignore[operator]
    except AttributeError:  # a later pandas
        return frame.iloc[:, position]


_MUTABLE = (list, set, dict, bytearray, np.ndarray)


def _may_have_parts(column: Any) -> bool:
    """Whether cells may be beyond the limits by what they hold: the caller's function sees none."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return is_nested(dtype.pyarrow_dtype)
    cells = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else column
    if cells.dtype.kind != "O":
        return False
    return any(issubclass(kind, WITH_PARTS) for kind in _kinds(cells.to_numpy()))


def _kinds(cells: Any) -> Collection[type]:
    """The types of cells, by their ids: a class may override its hash."""
    return {id(kind): kind for kind in map(type, cells)}.values()


def _own(cell: Any) -> Any:
    try:
        return deepcopy(cell)
    except Exception:  # too deep, or can't be copied
        return cell


_NOTHING = np.empty(0, dtype=np.intp)


class ComputedColumns(dict[Any, Vector]):
    """Computed columns, which never were a DataFrame's."""

    def __init__(self, columns: Mapping[Any, Vector], rows: int) -> None:
        super().__init__(columns)
        self.rows = rows

    def plain(self, names: Sequence[Any], rows: Any) -> pd.DataFrame:
        """Some rows as plain objects."""
        columns = [vectors.as_objects(self[name].take(rows)) for name in names]
        index = range(len(columns[0])) if columns else np.arange(self.rows)[rows]
        frame = pd.DataFrame(dict(enumerate(columns)), index=index)
        frame.columns = pd.Index(list(names), tupleize_cols=False)
        return frame

    def of_nothing(self) -> ComputedColumns:
        return ComputedColumns({name: self[name].take(_NOTHING) for name in self}, 0)

    def type_of(self, name: Any) -> Any:
        return type(self[name]).__name__


class ArrowColumns:
    """The columns of a table of Arrow, or of some of its rows."""

    def __init__(self, table: Any, coded: Collection[Any] = ()) -> None:
        self._table = table
        #: Columns in a dictionary of ours, which a function of the caller doesn't see.
        self._coded = coded
        self._made: dict[Any, Vector] = {}
        self._lock = RLock()
        self.rows: int = table.num_rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table.schema.names)

    def __getitem__(self, name: Any) -> Vector:
        if name in self._made:
            return self._made[name]
        # One line: an interrupt between two would leave the lock behind, as in `store`.
        with self._lock: return self._once(name)  # noqa: E701  # fmt: skip

    def _once(self, name: Any) -> Vector:
        if name not in self._made:
            self._made[name] = reading.arrow_column(self._table.column(name))
        return self._made[name]

    def plain(self, names: Sequence[Any], rows: Any) -> pd.DataFrame:
        """Some rows as pandas reads them from Arrow."""
        some = self._table.select(list(names))
        some = some[rows] if isinstance(rows, slice) else some.take(rows)
        for i, name in enumerate(names):
            if is_nested(some.schema.field(i).type):  # it would be written out, however large
                column = column_without(some.column(i), self[name].null()[rows])
                some = some.set_column(i, some.schema.field(i), column)
            if name in self._coded:
                some = some.set_column(i, str(name), written(some.column(i)))
        found: pd.DataFrame = some.to_pandas(ignore_metadata=True)
        return found

    def of_nothing(self) -> ArrowColumns:
        return ArrowColumns(self._table.schema.empty_table(), self._coded)

    def type_of(self, name: Any) -> Any:
        return self._table.schema.field(name).type


class TableColumns(Protocol):
    """The columns of a table in memory, in closed forms."""

    rows: int

    def __iter__(self) -> Iterator[Any]: ...

    def __getitem__(self, name: Any, /) -> Vector: ...

    def plain(self, names: Sequence[Any], rows: Any) -> pd.DataFrame:
        """Some rows as plain values, for a function that the caller wrote."""

    def of_nothing(self) -> TableColumns:
        """Columns of the same types without any value of these."""

    def type_of(self, name: Any) -> Any:
        """The type of a column, as its library prints it."""
