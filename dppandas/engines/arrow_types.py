"""Columns of Arrow in types that all of Arrow's functions know. `take` knows neither views nor run
ends, of whole columns or inside lists and structs: rows of such columns can't be picked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..rows.values.arrow import sizes

#: Of objects, those that hold others.
WITH_PARTS = (list, tuple, set, frozenset, dict, np.ndarray)


def known(kind: Any) -> Any:
    """The type of the same values that can be taken; itself, if Arrow has no way there."""
    from pyarrow import types

    if types.is_run_end_encoded(kind):
        return known(kind.value_type)
    return kind if _has_run_ends(kind) else _without_views(kind)


def _has_run_ends(kind: Any) -> bool:
    """Whether run ends lie inside a type, which no function of Arrow decodes."""
    from pyarrow import types

    inner = [kind.field(i).type for i in range(kind.num_fields)]
    return any(types.is_run_end_encoded(each) or _has_run_ends(each) for each in inner)


def _without_views(kind: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        stored = known(kind.storage_type)
        return kind if stored == kind.storage_type else stored
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_dictionary(kind):
        codes = pa.int64() if is_nested(kind.value_type) else kind.index_type
        return pa.dictionary(codes, known(kind.value_type), kind.ordered)
    if types.is_fixed_size_list(kind) and types.is_fixed_size_list(kind.value_type):
        # `take` forgets where a slice of the inner lists starts, and reads beyond its memory
        return pa.list_(kind.value_field.with_type(_without_views(kind.value_type)))
    return _with_parts(kind, _without_views)  # views of lists can be taken


def written_out(kind: Any) -> Any:
    """The type of the same values without dictionaries, and with texts of any length."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return written_out(kind.value_type)
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return wide.get(kind) or _with_parts(kind, written_out)


def _with_parts(kind: Any, part: Callable[[Any], Any]) -> Any:
    """A type whose parts are of other types; itself, if Arrow can't convert it."""
    import pyarrow as pa
    from pyarrow import types

    def field(given: Any) -> Any:
        return given.with_type(part(given.type))

    if types.is_map(kind):
        return pa.map_(field(kind.key_field), field(kind.item_field), kind.keys_sorted)
    if types.is_struct(kind):
        return pa.struct([field(kind.field(i)) for i in range(kind.num_fields)])
    if types.is_list(kind):
        return pa.list_(field(kind.value_field))
    if types.is_large_list(kind):
        return pa.large_list(field(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(field(kind.value_field), kind.list_size)
    return kind


def in_known_type(column: Any) -> Any:
    """A column, or an array, in the type that is known. Types alone decide whether it can be: no
    conversion looks at what a cell holds."""
    import pyarrow as pa

    kind = known(column.type)
    if not isinstance(column, pa.ChunkedArray):
        return _converted(column, kind)
    parts = [_converted(part, kind) for part in column.chunks]
    if len(parts) > 1 and pa.types.is_dictionary(kind) and is_nested(kind):
        parts = [joined(parts)]
    return pa.chunked_array(parts, kind)


def joined(parts: list[Any]) -> Any:
    """One dictionary, in which levels may be repeated: Arrow compares no lists, and can't pick rows
    of chunks with two of them. How many chunks there are may depend on a row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    shifts = np.cumsum([0, *(len(part.dictionary) for part in parts)]).tolist()
    codes = [pc.add(p.indices, shift) for p, shift in zip(parts, shifts, strict=False)]
    levels = pa.concat_arrays([part.dictionary for part in parts])
    whole = pa.concat_arrays(codes)
    return pa.DictionaryArray.from_arrays(whole, levels, ordered=parts[0].type.ordered)


def _converted(array: Any, kind: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if array.type == kind:
        return array
    if types.is_run_end_encoded(array.type):
        values = in_known_type(array.values)
        try:
            # Arrow's own decoding knows no dictionaries, and refers to levels inside of structs
            # that aren't there, under nulls
            return values.take(pa.array(sizes.runs(array, np.arange(len(array)))))
        except pa.ArrowNotImplementedError:  # a type that can't be taken
            whole = pa.RunEndEncodedArray.from_arrays(array.run_ends, values)
            return pc.run_end_decode(whole.slice(array.offset, len(array)))
    if types.is_dictionary(array.type):
        levels = _converted(array.dictionary, kind.value_type)
        codes = array.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, levels, ordered=kind.ordered)
    if isinstance(array, pa.ExtensionArray):
        return _converted(array.storage, kind)
    return sizes.converted(array, kind) if types.is_nested(kind) else array.cast(kind)


def is_nested(kind: Any) -> bool:
    """Whether cells of a type of Arrow have parts."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return is_nested(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return is_nested(kind.value_type)
    return bool(types.is_nested(kind))


def frame_in_known_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame, with its columns of Arrow in types that are known. Cells far beyond the
    limits are null: with what they share, they could be larger than memory."""
    found = frame
    for position, dtype in enumerate(frame.dtypes.tolist()):
        if not isinstance(dtype, pd.ArrowDtype):
            continue
        kind = dtype.pyarrow_dtype
        if known(kind) == kind and not is_nested(kind):
            continue
        column: Any = frame.iloc[:, position].array
        array = in_pandas(in_known_type(sizes.within(column.__arrow_array__())))
        series: Any = pd.Series(array, index=frame.index)
        found = found.copy(deep=False) if found is frame else found
        found.isetitem(position, series)
    return found


def frame_without(frame: pd.DataFrame, missing: Mapping[int, Any]) -> pd.DataFrame:
    """The same frame, with nothing in some places of its columns, by position."""
    found = frame.copy(deep=False) if missing else frame
    for position, places in missing.items():
        column: Any = frame.iloc[:, position]
        if isinstance(column.dtype, pd.ArrowDtype):
            array = in_pandas(column_without(column.array.__arrow_array__(), places))
            series: Any = pd.Series(array, index=frame.index)
        else:
            series = _without_parts(column, places)
        found.isetitem(position, series)
    return found


def _without_parts(column: Any, missing: Any) -> Any:
    """Objects that are missing are None, but what has no parts stays as it is."""
    if not isinstance(column.dtype, np.dtype):
        return column.mask(missing)
    cells = column.to_numpy().copy()
    for i in np.flatnonzero(missing).tolist():
        if issubclass(type(cells[i]), WITH_PARTS):
            cells[i] = None
    return pd.Series(cells, index=column.index, dtype=object)


def column_without(column: Any, missing: Any) -> Any:
    """The same column or array, with null in some places."""
    import pyarrow as pa

    if not missing.any():
        return column
    if not isinstance(column, pa.ChunkedArray):
        return column_without(pa.chunked_array([column]), missing).combine_chunks()
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    masks = np.split(missing, ends[:-1])
    pairs = zip(column.chunks, masks, strict=True)
    parts = [part for pair in pairs for part in sizes.without(*pair)]
    return pa.chunked_array(parts, column.type)


def in_pandas(column: Any) -> Any:
    arrays: Any = pd.arrays
    return arrays.ArrowExtensionArray(column)


def frame_of_nothing(frame: pd.DataFrame) -> pd.DataFrame:
    """Two rows that hold no value of a frame, in columns of its dtypes: with none at all, pandas
    would leave out the steps that some types can't take."""
    columns = {i: _of_nothing(dtype) for i, dtype in enumerate(frame.dtypes.tolist())}
    found = pd.DataFrame(columns, index=range(2))
    found.columns = frame.columns
    return found


def _of_nothing(dtype: Any) -> Any:
    """Two missing values of a dtype, or zeros of one that has none."""
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return in_pandas(pa.chunked_array([pa.nulls(2, dtype.pyarrow_dtype)]))
    if isinstance(dtype, np.dtype):
        nothing: list[Any] = [None] * 2 if dtype.kind == "O" else [0] * 2
        return np.array(nothing, dtype)
    try:
        return dtype.construct_array_type()._from_sequence([dtype.na_value] * 2, dtype=dtype)
    except Exception:  # such as intervals of whole numbers
        return np.array([None] * 2, object)
