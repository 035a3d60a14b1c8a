"""From a pandas column to its closed form: by what each cell is, not by what holds it.

Hash tables get only arrays known to hold exact types, whose equality is known. What can't be read
is missing; nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import forms
from .cells import canonical
from .forms import Array, Coded, Durations, Instants, Vector
from .instants import zone_of

#: pandas' types for missing objects.
_NOTHING = {type(None), type(pd.NA), type(pd.NaT)}


def column(series: pd.Series[Any]) -> Vector:
    """The closed form of a column."""
    for read in (_by_dtype, _by_object, _one_by_one):
        try:
            return read(series)
        except Exception:  # an extension array may fail: the next way asks less of it
            continue
    return forms.of_objects([None] * len(series))


def _by_dtype(series: pd.Series[Any]) -> Vector:
    dtype: Any = series.dtype
    array: Any = series.array
    if isinstance(dtype, np.dtype):
        return _of_numpy(series.to_numpy(), dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return _of_categories(array, dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _of_zoned(array, dtype)
    if isinstance(dtype, pd.StringDtype) and dtype.storage != "python":
        return _of_arrow_text(array)
    if isinstance(dtype, pd.ArrowDtype):
        return _of_arrow(array, dtype)
    plain = getattr(dtype, "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf":
        return _of_nullable(array, plain)
    return _by_object(series)


def _by_object(series: pd.Series[Any]) -> Vector:
    return objects(np.asarray(series.array.astype(object), dtype=object))


def _one_by_one(series: pd.Series[Any]) -> Vector:
    def cells() -> Any:
        for i in range(len(series)):
            try:
                cell = series.array[i]
            except Exception:
                cell = None
            yield canonical(cell)

    return forms.of_cells(cells())


def _of_numpy(values: Array, dtype: np.dtype[Any]) -> Vector:
    if dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8):
        return forms.of_array(values)
    if dtype.kind in "mM" and np.datetime_data(dtype)[0] in ("s", "ms", "us", "ns"):
        return _of_counts(values)
    return objects(values.astype(object))


def _of_counts(values: Array, zone: str | None = None) -> Vector:
    """The form of datetime64 (in UTC, if there is a zone) or timedelta64."""
    unit, _ = np.datetime_data(values.dtype)
    parts = forms.micros(values.view(np.int64), unit, np.isnat(values))
    return Durations(*parts) if values.dtype.kind == "m" else Instants(*parts, zone)


def _of_categories(array: Any, dtype: pd.CategoricalDtype) -> Vector:
    levels = column(pd.Series(dtype.categories, dtype=dtype.categories.dtype)).coded()
    codes = np.asarray(array.codes)  # of few bits, and shared with the frame if possible
    if not np.array_equal(levels.codes, np.arange(len(levels))):
        codes = np.append(levels.codes, -1).astype(codes.dtype)[codes]
    return Coded(codes, levels.levels)


def _of_zoned(array: Any, dtype: pd.DatetimeTZDtype) -> Vector:
    name = zone_of(dtype.tz)
    if name is None:
        return forms.of_objects(list(array))
    return _of_counts(np.asarray(array.tz_convert("UTC").tz_localize(None)), name)


def _of_arrow_text(array: Any) -> Vector:
    """Text in Arrow's memory, which is valid Unicode, by Arrow's own dictionary."""
    import pyarrow as pa

    chunked = array.__arrow_array__()
    if not isinstance(chunked, pa.ChunkedArray):
        chunked = pa.chunked_array([chunked])
    whole = chunked.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        none = pa.array([], pa.string()).dictionary_encode()
        whole = whole.chunk(0) if whole.num_chunks else none
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return forms.of_texts(_array(whole.dictionary.to_pylist()), codes)


def _of_arrow(array: Any, dtype: pd.ArrowDtype) -> Vector:
    import pyarrow as pa

    kind = dtype.pyarrow_dtype
    plain: Any = dtype.numpy_dtype  # type: ignore[attr-defined]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _of_arrow_text(array)
    if plain.kind in "biuf":
        return _of_nullable(array, plain)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _of_arrow_counts(array, kind)
    return forms.of_objects(list(array))


def _of_arrow_counts(array: Any, kind: Any) -> Vector:
    import pyarrow as pa

    gone = np.asarray(array.isna(), dtype=bool)
    counts = pa.chunked_array(array.__arrow_array__()).cast(pa.int64()).fill_null(0)
    parts = forms.micros(counts.to_numpy().astype(np.int64), kind.unit, gone)
    if pa.types.is_duration(kind):
        return Durations(*parts)
    time: Any = pd.Timestamp(0, tz=kind.tz)
    return Instants(*parts, None if kind.tz is None else zone_of(time.tz))


def _of_nullable(array: Any, plain: np.dtype[Any]) -> Vector:
    values = array.to_numpy(dtype=plain, na_value=plain.type(0))
    missing = np.asarray(array.isna(), dtype=bool)
    return forms.of_array(values, missing if missing.any() else None)


# --- objects --------------------------------------------------------------------------------------


def objects(values: npt.NDArray[Any]) -> Vector:
    """The form of an array of any objects, by their exact types if these are of one family."""
    kinds = set(map(type, values)) - _NOTHING
    for wanted, read in _UNIFORM:
        if kinds and kinds <= wanted:
            found = read(values, kinds)
            if found is not None:
                return found
    return forms.of_objects(list(values))


def _texts(values: npt.NDArray[Any], kinds: set[type]) -> Vector | None:
    """Texts and missing values alone; a float must be NaN. By Python's own table: that of pandas is
    no faster, and may stop at a NUL, or confuse a lone surrogate with its escape."""
    if str not in kinds:
        return None
    listed = values.tolist()
    known = dict.fromkeys(listed)
    if any(type(x) is float and x == x for x in known):
        return None
    texts = [x for x in known if type(x) is str]
    codes = dict.fromkeys(known, -1) | dict(zip(texts, range(len(texts)), strict=True))
    found = np.fromiter(map(codes.__getitem__, listed), np.intp, len(listed))
    return forms.of_texts(_array(texts), found)


def _truths(values: npt.NDArray[Any], kinds: set[type]) -> Vector:
    missing = np.fromiter((x is not True and x is not False for x in values), bool, len(values))
    found = np.fromiter((x is True for x in values), bool, len(values))
    return forms.Truths(found, missing if missing.any() else None)


def _numbers(values: npt.NDArray[Any], kinds: set[type]) -> Vector | None:
    """Whole numbers and reals, if one numpy array holds them exactly."""
    missing = np.fromiter((type(x) in _NOTHING for x in values), bool, len(values))
    there = values[~missing] if missing.any() else values
    if float in kinds and int in kinds:
        if any(type(x) is int and not -(2**53) <= x <= 2**53 for x in there):
            return None
        kinds = {float}
    if kinds == {int} and not all(-(2**63) <= x < 2**63 for x in there):
        return None
    found = np.zeros(len(values), dtype=np.float64 if float in kinds else np.int64)
    found[~missing] = there.astype(found.dtype)
    return forms.of_array(found, missing if missing.any() else None)


_UNIFORM: tuple[tuple[set[type], Callable[[Array, set[type]], Vector | None]], ...] = (
    ({str, float}, _texts),
    ({bool}, _truths),
    ({int, float}, _numbers),
)


def _array(values: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
