"""How each of pandas' column types becomes vectors, a slice at a time.

What a column's elements mean must not depend on the type that pandas chose to hold them in, for
that type is data; `vectors` and this module together see to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..vectors import Vector

Reader = Callable[[slice], Vector]


def reader(series: pd.Series[Any]) -> Reader:
    """How to read a slice of a column as a vector; object elements where all else fails."""
    try:
        read = _reader(series)
    except Exception:
        return lambda rows: Vector(_objects(series.array[rows]))

    def careful(rows: slice) -> Vector:
        try:
            return read(rows)
        except Exception:  # pandas 2 can't fill a missing half-precision float in Arrow's memory
            return Vector(_objects(series.array[rows]))

    return careful


def _objects(array: Any) -> npt.NDArray[Any]:
    return np.asarray(array.astype(object), dtype=object)


def _reader(series: pd.Series[Any]) -> Reader:
    dtype, array = series.dtype, series.array
    if isinstance(dtype, pd.CategoricalDtype):
        codes = np.asarray(array.codes)
        levels = reader(pd.Series(dtype.categories, dtype=dtype.categories.dtype))(slice(None))
        memo: dict[Any, Any] = {}
        return lambda rows: Vector(levels.values, levels.missing, codes[rows], memo)
    if isinstance(dtype, np.dtype):
        return _numpy_reader(series.to_numpy(), dtype)
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        return _numpy_reader(np.asarray(array, dtype=object), np.dtype(object))
    if isinstance(dtype, pd.StringDtype | pd.DatetimeTZDtype):
        return lambda rows: Vector(array[rows])
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind in "OU":
        return _arrow_text_reader(array, dtype)
    plain = getattr(dtype, "numpy_dtype", None)  # nullable and Arrow numbers
    if plain is not None and plain.kind in "biuf":
        return lambda rows: Vector(
            array[rows].to_numpy(dtype=plain, na_value=plain.type(0)),
            np.asarray(array[rows].isna(), dtype=bool),
        )
    return lambda rows: Vector(_objects(array[rows]))


def _numpy_reader(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> Reader:
    if dtype.kind in "biuOmM" or (dtype.kind == "f" and dtype.itemsize <= 8):
        return lambda rows: Vector(array[rows])
    # the rest, such as long doubles, means what it would as objects
    return lambda rows: Vector(array[rows].astype(object))


def _arrow_text_reader(array: Any, dtype: Any) -> Reader:
    if dtype.type is str:
        return lambda rows: Vector(array[rows])
    return lambda rows: Vector(_objects(array[rows]))
