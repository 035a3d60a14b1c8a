"""How large the cells of an array of Arrow are, by its offsets and lengths: before any is made.

What is found is a lower bound, with which a cell is surely beyond the limits: all elements, and for
each text a quarter of its bytes. So a cell that is kept may still be beyond, but is small enough to
be made and counted exactly by `canonical`. As there, each reference counts as a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..families import MOST_CHARACTERS, MOST_ELEMENTS

Mask = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.int64]

#: Bytes of one character in UTF-8, at most.
MOST_BYTES = 4
#: Texts that are measured at once.
_TOGETHER = 2**16
#: Elements whose positions are held at once.
_POSITIONS = 2**22
#: Bytes of Python objects, about, that are made at once, and of one of them.
_AT_ONCE, _OBJECT = 2**24, 64
#: More than any limit; a sum of many fits 64 bits.
_MANY = 2**32


def is_beyond(array: Any) -> Mask:
    """Which cells are surely beyond the limits."""
    return np.zeros(len(array), dtype=bool) if _are_short(array) else _Sizes(array).beyond


def _are_short(array: Any) -> bool:
    """Whether an array is of texts, none of which is beyond: by their offsets alone."""
    from pyarrow import types

    is_large = types.is_large_string(array.type)
    if not len(array) or not (is_large or types.is_string(array.type)):
        return False
    offsets = np.frombuffer(array.buffers()[1], np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    blocks = range(0, len(array), _TOGETHER)
    longest = max(np.diff(offsets[first : first + _TOGETHER + 1]).max() for first in blocks)
    return bool(longest <= MOST_BYTES * MOST_CHARACTERS)


def within(column: Any) -> Any:
    """The same column or array, with null in the place of cells that are surely beyond."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        chunks = [part for chunk in column.chunks for part in without(chunk, is_beyond(chunk))]
        return pa.chunked_array(chunks, column.type)
    return _masked(column, is_beyond(column))


def converted(array: Any, kind: Any) -> Any:
    """The same array in a type that writes out what views and dictionaries share, with null in the
    place of cells that are surely beyond, and of those that can't be converted: no cell makes it
    fail. Types do, and so with no cell at all."""
    _converted(array.slice(0, 0), kind, np.zeros(0, dtype=np.bool_))
    gone = is_beyond(array)
    try:
        return _converted(array, kind, gone)
    except Exception:
        return _converted(array, kind, gone | _inconvertible(array, kind, gone))


def _inconvertible(array: Any, kind: Any, gone: Mask) -> Mask:
    """Which cells fail, found by halves."""
    try:
        _converted(array, kind, gone)
    except Exception:
        if len(array) <= 1:
            return np.ones(len(array), dtype=np.bool_)
        half = len(array) // 2
        parts = (array.slice(0, half), gone[:half]), (array.slice(half), gone[half:])
        return np.concatenate([_inconvertible(part, kind, mask) for part, mask in parts])
    return np.zeros(len(array), dtype=np.bool_)


def without(array: Any, missing: Mask) -> list[Any]:
    """Slices of an array, and null in the place of some cells: their memory stays as it is. All
    keep its dictionaries, for Arrow can't join those of lists."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = array.type
    if not missing.any():
        return [array]
    if types.is_dictionary(kind):
        codes = pc.if_else(pa.array(missing), pa.scalar(None, kind.index_type), array.indices)
        return [pa.DictionaryArray.from_arrays(codes, array.dictionary, ordered=kind.ordered)]
    if isinstance(kind, pa.BaseExtensionType):
        stored = without(array.storage, missing)
        return [pa.ExtensionArray.from_storage(kind, part) for part in stored]
    return [
        _nothing(array, stop - start) if missing[start] else array.slice(start, stop - start)
        for start, stop in _runs(missing)
    ]


def _masked(array: Any, missing: Mask) -> Any:
    import pyarrow as pa

    parts = without(array, missing)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _nothing(array: Any, size: int) -> Any:
    """So many null cells, with the dictionaries of an array."""
    import pyarrow as pa
    from pyarrow import types

    kind = array.type
    if types.is_dictionary(kind):
        codes = pa.nulls(size, kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, array.dictionary, ordered=kind.ordered)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, _nothing(array.storage, size))
    if types.is_run_end_encoded(kind):
        ends = pa.array([size], kind.run_end_type)
        return pa.RunEndEncodedArray.from_arrays(ends, _nothing(array.values, 1))
    if not types.is_nested(kind):
        return pa.nulls(size, kind)
    if types.is_union(kind):
        return _nothing_of_union(array, size)
    if types.is_struct(kind):
        return _made(kind, size, [], [_nothing(array.field(i), size) for i in _fields(kind)])
    if types.is_fixed_size_list(kind):
        return _made(kind, size, [], [_nothing(array.values, size * kind.list_size)])
    zeros = np.zeros(size + 1, dtype=np.int64)  # of 32 or 64 bits
    buffers = [zeros, zeros] if hasattr(array, "sizes") else [zeros]
    return _made(kind, size, buffers, [array.values.slice(0, 0)])


def _nothing_of_union(array: Any, size: int) -> Any:
    import pyarrow as pa

    kind = array.type
    is_dense = kind.mode == "dense"
    codes = np.full(size, kind.type_codes[0], dtype=np.int8)
    buffers = [codes, np.arange(size, dtype=np.int32)] if is_dense else [codes]
    inner = [
        array.field(i).slice(0, 0) if is_dense and i else _nothing(array.field(i), size)
        for i in _fields(kind)
    ]
    found = [None, *map(pa.py_buffer, buffers)]
    return pa.Array.from_buffers(kind, size, found, 0, children=inner)


def _converted(array: Any, kind: Any, missing: Mask) -> Any:
    """The array with null in some places, in another type. Arrow's own cast of lists and structs
    writes out what null covers, too, and more than a slice refers to. Nothing becomes an object of
    Python: some times and texts can't."""
    import pyarrow as pa
    from pyarrow import types

    given = array.type
    if given == kind:
        return _masked(array, missing)
    if isinstance(given, pa.BaseExtensionType):
        return _converted(array.storage, kind, missing)
    if types.is_dictionary(given):
        codes, levels = _masked(array, missing).indices, array.dictionary
        whole = np.zeros(len(levels), dtype=np.bool_)
        if types.is_dictionary(kind):
            levels = _converted(levels, kind.value_type, whole)
            codes = codes.cast(kind.index_type)
            return pa.DictionaryArray.from_arrays(codes, levels, ordered=kind.ordered)
        return _converted(levels, kind, whole).take(codes)
    if not types.is_nested(given):
        return _masked(array, missing).cast(kind)
    gone = missing | ~there(array)
    if types.is_struct(given):
        inner = [_converted(array.field(i), kind.field(i).type, gone) for i in _fields(kind)]
        return _made(kind, len(array), [], inner, gone)
    inner_kind = pa.struct([kind.key_field, kind.item_field]) if types.is_map(kind) else None
    inner_kind = inner_kind or kind.value_type
    starts, sizes = _ranges(array, np.arange(len(array), dtype=np.int64))
    if types.is_fixed_size_list(kind):
        first = int(starts[0]) if len(array) else 0
        held = array.values.slice(first, len(array) * kind.list_size)
        return _made(kind, len(array), [], [_converted(held, inner_kind, np.repeat(gone, sizes))],
                     gone)  # fmt: skip
    sizes = np.where(gone, 0, sizes)
    held = _gathered(array.values, starts, sizes, gone)  # of maps, their pairs
    ends = np.cumsum([0, *sizes], dtype=np.int64 if types.is_large_list(kind) else np.int32)
    inner = [_converted(held, inner_kind, np.zeros(len(held), dtype=np.bool_))]
    return _made(kind, len(array), [ends], inner, gone)


def _gathered(held: Any, starts: Positions, sizes: Positions, gone: Mask) -> Any:
    """The elements of those lists that are there, one after the other."""
    import pyarrow as pa

    slices = [
        held.slice(int(starts[first]), int(starts[last - 1] + sizes[last - 1] - starts[first]))
        for first, last in _runs(gone)
        if not gone[first]
    ]
    return slices[0] if len(slices) == 1 else pa.concat_arrays([held.slice(0, 0), *slices])


def _made(
    kind: Any, size: int, buffers: list[Any], children: list[Any], gone: Mask | None = None
) -> Any:
    """An array of lists or structs, with null in some places or in all."""
    import pyarrow as pa

    there = np.zeros(size, dtype=np.bool_) if gone is None else ~gone
    valid = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    found = [valid, *map(pa.py_buffer, buffers)]
    return pa.Array.from_buffers(kind, size, found, children=children)


def _fields(kind: Any) -> range:
    return range(kind.num_fields)


def there(array: Any) -> Mask:
    """Which cells aren't null."""
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def runs(array: Any, at: Positions) -> Positions:
    """In which run the elements in some places of an array are."""
    found = np.searchsorted(array.run_ends.to_numpy(), at + array.offset, side="right")
    return np.asarray(found, dtype=np.int64)


def parts(array: Any) -> Iterator[tuple[int, Any]]:
    """Slices of an array whose objects fit memory at once, each after the number of cells before it
    that are surely beyond the limits."""
    sizes = _Sizes(array)
    skipped = 0
    for start, stop in _runs(sizes.beyond):
        if sizes.beyond[start]:
            skipped += stop - start
            continue
        ends = np.cumsum(_OBJECT * (1 + sizes.elements[start:stop]) + sizes.bytes[start:stop])
        for first, last in _groups(ends, _AT_ONCE):
            yield skipped, array.slice(start + first, last - first)
            skipped = 0
    yield skipped, array.slice(0, 0)


def _runs(mask: Mask) -> list[tuple[int, int]]:
    """Where consecutive elements are alike."""
    changes = np.flatnonzero(mask[1:] != mask[:-1]) + 1
    ends = [0, *changes.tolist(), len(mask)]
    return [(start, stop) for start, stop in pairwise(ends) if start < stop]


def _groups(ends: Positions, most: int) -> Iterator[tuple[int, int]]:
    """Consecutive elements whose sizes add up to at most a number, or that are larger alone."""
    first = before = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, last
        first, before = last, int(ends[last - 1])


class _Sizes:
    """The elements of each cell, and its bytes of text; another byte counts as a whole character,
    and so four times. What is beyond is not looked into any further."""

    def __init__(self, array: Any) -> None:
        self.elements = np.zeros(len(array), dtype=np.int64)
        self.bytes = np.zeros(len(array), dtype=np.int64)
        if _is_counted(array.type):
            rows = np.arange(len(array), dtype=np.int64)
            self._count(array, rows, rows)

    @property
    def beyond(self) -> Mask:
        return (self.elements > MOST_ELEMENTS) | (self.bytes > MOST_BYTES * MOST_CHARACTERS)

    def _count(self, array: Any, rows: Positions, at: Positions) -> None:
        """Count some elements of an array, each a part of the cell in a row."""
        import pyarrow as pa
        from pyarrow import types

        kind = array.type
        if not _is_counted(kind) or not len(at):
            return
        if isinstance(kind, pa.BaseExtensionType):
            self._count(array.storage, rows, at)
        elif types.is_run_end_encoded(kind):
            self._count(array.values, rows, runs(array, at))
        elif types.is_union(kind):
            self._count_union(array, rows, at)
        else:
            there = _valid(array, at)
            self._count_valid(array, rows[there], at[there])

    def _count_valid(self, array: Any, rows: Positions, at: Positions) -> None:
        from pyarrow import types

        kind = array.type
        if not len(at):
            return
        if types.is_dictionary(kind):
            codes = _buffer(array.indices, 1, kind.index_type.to_pandas_dtype())
            self._count(array.dictionary, rows, codes[at].astype(np.int64))
        elif types.is_struct(kind):
            names = {field.name for field in kind}
            characters = MOST_BYTES * sum(map(len, names))
            # a dict of pairs
            self._add(rows, np.full(len(rows), 3 * len(names)), np.full(len(rows), characters))
            for i in _fields(kind):
                self._count(array.field(i), rows, at)
        elif types.is_nested(kind):
            self._count_lists(array, rows, *_ranges(array, at))
        else:
            self._add(rows, 0, _lengths(array, at))

    def _count_union(self, array: Any, rows: Positions, at: Positions) -> None:
        codes = _buffer(array, 1, np.int8)[at]
        is_dense = array.type.mode == "dense"
        inside = _buffer(array, 2, np.int32)[at].astype(np.int64) if is_dense else at
        for i, code in enumerate(array.type.type_codes):
            self._count(array.field(i), rows[codes == code], inside[codes == code])

    def _count_lists(self, array: Any, rows: Positions, starts: Any, sizes: Any) -> None:
        from pyarrow import types

        is_map = types.is_map(array.type)
        self._add(rows, 3 * sizes if is_map else sizes, 0)  # pairs of a map are lists, too
        inner = (array.keys, array.items) if is_map else (array.values,)
        if not any(_is_counted(each.type) for each in inner):
            return
        kept = np.flatnonzero(~self.beyond[rows] & (sizes > 0))
        rows, starts, sizes = rows[kept], starts[kept], sizes[kept]
        for first, last in _groups(np.cumsum(sizes), _POSITIONS):
            some = slice(first, last)
            fits = ~self.beyond[rows[some]]  # by now
            here, many = starts[some][fits], sizes[some][fits]
            shifts = here - (np.cumsum(many) - many)
            at = np.arange(many.sum()) + np.repeat(shifts, many)
            for each in inner:
                self._count(each, np.repeat(rows[some][fits], many), at)

    def _add(self, rows: Positions, elements: Any, characters: Any) -> None:
        np.add.at(self.elements, rows, np.minimum(elements, _MANY))
        np.add.at(self.bytes, rows, np.minimum(characters, _MANY))


def _is_counted(kind: Any) -> bool:
    """Whether values of a type may have elements or texts."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name != "arrow.uuid" and _is_counted(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _is_counted(kind.value_type)
    is_fixed = types.is_fixed_size_binary(kind) and not types.is_decimal(kind)
    has_bytes = any(word in str(kind) for word in ("string", "binary"))
    return bool(types.is_nested(kind) or is_fixed or has_bytes)


def _buffer(array: Any, number: int, dtype: Any, width: int = 1) -> Any:
    """One buffer of an array as numbers: so many for each element."""
    values = np.frombuffer(array.buffers()[number], dtype=dtype)
    return values[array.offset * width : (array.offset + len(array)) * width]


def _valid(array: Any, at: Positions) -> Any:
    """Which of some elements aren't null."""
    bitmap = array.buffers()[0]
    if bitmap is None:
        return slice(None)
    places = at + array.offset
    return (np.frombuffer(bitmap, dtype=np.uint8)[places >> 3] >> (places & 7)) & 1 == 1


def _ranges(array: Any, at: Positions) -> tuple[Positions, Positions]:
    """Where the elements of some lists begin, and how many there are."""
    from pyarrow import types

    kind = array.type
    if types.is_fixed_size_list(kind):
        return (at + array.offset) * kind.list_size, np.full(len(at), kind.list_size)
    offsets = array.offsets.to_numpy()
    starts = offsets[at].astype(np.int64)
    if hasattr(array, "sizes"):  # a list of views
        return starts, array.sizes.to_numpy()[at].astype(np.int64)
    return starts, offsets[at + 1].astype(np.int64) - starts


def _lengths(array: Any, at: Positions) -> Any:
    """The bytes of some texts; four times those of other bytes."""
    from pyarrow import types

    kind = array.type
    if types.is_fixed_size_binary(kind):
        return np.full(len(at), MOST_BYTES * kind.byte_width)
    if "view" in str(kind):
        found = _buffer(array, 1, np.int32, 4)[::4][at].astype(np.int64)
    else:
        is_large = types.is_large_string(kind) or types.is_large_binary(kind)
        offsets = np.frombuffer(array.buffers()[1], np.int64 if is_large else np.int32)
        places = at + array.offset
        found = offsets[places + 1].astype(np.int64) - offsets[places]
    is_text = "string" in str(kind)
    return found if is_text else MOST_BYTES * found
