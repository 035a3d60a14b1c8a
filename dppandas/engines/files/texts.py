"""Texts and bytes in arrays of Arrow, each held once, however many rows or elements refer to it."""

from __future__ import annotations

from typing import Any

from ..arrow_types import written_out


def shared(array: Any) -> Any:
    """The same array with its texts and bytes in dictionaries of what it refers to, also inside
    lists, structs and maps. Its type follows from that of what it means: with dictionaries or
    without, arrays of one column have one type."""
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return shared(array.storage) if _is_text(kind.storage_type) else array
    if types.is_dictionary(kind):
        return _used(array) if _is_text(kind.value_type) else _decoded(array)
    if _is_text(kind):
        return _used(array.dictionary_encode())
    if not _has_parts(kind):
        return array
    if array.offset:  # copies what the slice refers to
        array = pa.concat_arrays([array, array.slice(0, 0)])
    if types.is_struct(kind):
        return _rebuilt(array, 1, [array.field(i) for i in range(kind.num_fields)])
    if types.is_map(kind):
        pairs = pa.struct([kind.key_field, kind.item_field])
        inner = [array.keys, array.items]
        whole = pa.Array.from_buffers(pairs, len(inner[0]), [None], 0, 0, inner)
        return _rebuilt(array, 2, [whole])
    return _rebuilt(array, 1 if types.is_fixed_size_list(kind) else 2, [array.values])


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    is_text = types.is_string(kind) or types.is_large_string(kind)
    return bool(is_text or types.is_binary(kind) or types.is_large_binary(kind))


def _has_parts(kind: Any) -> bool:
    """Whether an array is rebuilt of its parts. Views of lists stay as they are."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list or types.is_struct(kind) or types.is_map(kind))


def _used(array: Any) -> Any:
    """A dictionary array whose dictionary has only what is referred to, of any length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    used = array.indices.unique().drop_null()
    levels = array.dictionary.take(used)
    codes = pc.index_in(array.indices, value_set=used)
    return pa.DictionaryArray.from_arrays(codes, levels.cast(written_out(levels.type)))


def _decoded(array: Any) -> Any:
    whole = array.dictionary_decode()
    return shared(whole.cast(written_out(whole.type)))


def _rebuilt(array: Any, own: int, parts: list[Any]) -> Any:
    """An array of the same offsets, and of nulls in the same places, with its texts shared.

    own : how many of its buffers come before those of its parts.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    inner = [shared(part) for part in parts]
    new: Any
    if types.is_map(kind):
        key, item = inner[0].type
        new = pa.map_(key, item, kind.keys_sorted)
    elif types.is_struct(kind):
        pairs = zip(kind, inner, strict=True)
        new = pa.struct([field.with_type(part.type) for field, part in pairs])
    else:
        field = kind.value_field.with_type(inner[0].type)
        if types.is_fixed_size_list(kind):
            new = pa.list_(field, kind.list_size)
        else:
            new = pa.large_list(field) if types.is_large_list(kind) else pa.list_(field)
    buffers = array.buffers()[:own]
    return pa.Array.from_buffers(new, len(array), buffers, array.null_count, 0, inner)
