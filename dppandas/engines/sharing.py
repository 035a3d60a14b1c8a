"""Columns of Arrow that may be far smaller than their texts, bytes or lists written out: views and
run ends. They stay as small, in dictionaries or as objects of Python."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from ..rows.values.arrow import sizes
from .arrow_types import frame_in_known_types, in_known_type, in_pandas, is_nested, joined, known


def shares(kind: Any) -> bool:
    """Whether a column of a type may be far smaller than its texts, bytes or lists written out: 600
    rows may view one text, or be one run."""
    from pyarrow import types

    if types.is_run_end_encoded(kind):
        inner = kind.value_type
        return shares(inner) or is_nested(inner) or bool(_HAS_BYTES.search(str(inner)))
    return bool(types.is_string_view(kind) or types.is_binary_view(kind))


_HAS_BYTES = re.compile("string|binary")


def in_shared_type(column: Any) -> Any:
    """A column in a known type: in a dictionary, if it may share, in which each text is once."""
    import pyarrow as pa

    if not shares(column.type):
        return in_known_type(column)
    parts = [_shared(chunk) for chunk in column.chunks]
    kind = pa.dictionary(pa.int64(), known(column.type))
    return pa.chunked_array([joined(parts)] if len(parts) > 1 else parts, kind)


def _shared(array: Any) -> Any:
    """An array as a dictionary, whose levels aren't null but may be repeated."""
    import pyarrow as pa
    from pyarrow import types

    if not types.is_run_end_encoded(array.type):
        return _of_views(array) if shares(array.type) else _of_levels(in_known_type(array))
    values = _shared(array.values)
    codes = values.indices.take(pa.array(sizes.runs(array, np.arange(len(array)))))
    return pa.DictionaryArray.from_arrays(codes, values.dictionary)


def _of_levels(levels: Any) -> Any:
    """Each element as a level of its own."""
    import pyarrow as pa

    codes = pa.array(np.arange(len(levels)), mask=~sizes.there(levels))
    return pa.DictionaryArray.from_arrays(codes, levels)


def _of_views(array: Any) -> Any:
    import pyarrow as pa

    _, told, *data = array.buffers()
    views = np.frombuffer(told, np.uint64, 2 * (array.offset + len(array)))
    views = views.reshape(-1, 2)[array.offset :]
    there = sizes.there(array)
    views = np.where(there[:, None], views, np.uint64(0))  # what a null one says doesn't matter
    lengths = views.view(np.int32)[:, 0]
    if lengths.sum(dtype=np.int64) <= 12 * len(array) + sum(each.size for each in data if each):
        return _of_levels(array.cast(known(array.type)))
    distinct, codes = np.unique(views, axis=0, return_inverse=True)
    buffers = [None, pa.py_buffer(distinct.tobytes()), *data]
    levels = pa.Array.from_buffers(array.type, len(distinct), buffers).cast(known(array.type))
    found = pa.array(codes.reshape(-1).astype(np.int64), mask=~there)
    return pa.DictionaryArray.from_arrays(found, levels)


def written(column: Any) -> Any:
    """A column of a dictionary without it: each cell by itself."""
    import pyarrow as pa

    parts = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(parts, column.type.value_type)


def frame_to_deal(frame: pd.DataFrame) -> pd.DataFrame:
    """The same frame, in types of which rows can be picked. Texts and bytes that are shared become
    objects, and stay so: dictionaries would be sent with each part."""
    found = frame
    for position, dtype in enumerate(frame.dtypes.tolist()):
        if not isinstance(dtype, pd.ArrowDtype) or not shares(dtype.pyarrow_dtype):
            continue
        column: Any = frame.iloc[:, position].array
        shared = in_shared_type(sizes.within(column.__arrow_array__()))
        array: Any = in_pandas(shared) if is_nested(shared.type) else _objects(shared)
        found = found.copy(deep=False) if found is frame else found
        # by its dtype: of texts, pandas would infer one that writes them out
        series: Any = pd.Series(array, index=frame.index, dtype=array.dtype)
        found.isetitem(position, series)
    return frame_in_known_types(found)


def _objects(column: Any) -> Any:
    found = [np.empty(0, dtype=object)]
    for chunk in column.chunks:
        levels = np.array([*map(_object, chunk.dictionary), None], dtype=object)
        found.append(levels[chunk.indices.fill_null(len(levels) - 1).to_numpy()])
    return np.concatenate(found)


def _object(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except Exception:  # text that isn't UTF-8 is missing
        return None
