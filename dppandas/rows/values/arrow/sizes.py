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
#: Elements whose positions are held at once.
_POSITIONS = 2**22
#: Bytes of Python objects, about, that are made at once, and of one of them.
_AT_ONCE, _OBJECT = 2**24, 64
#: More than any limit; a sum of many fits 64 bits.
_MANY = 2**32


def is_beyond(array: Any) -> Mask:
    """Which cells are surely beyond the limits."""
    return _Sizes(array).beyond


def within(column: Any) -> Any:
    """The same column or array, with null in the place of cells that are surely beyond."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        chunks = [part for chunk in column.chunks for part in without(chunk, is_beyond(chunk))]
        return pa.chunked_array(chunks, column.type)
    beyond = is_beyond(column)
    return pa.concat_arrays(without(column, beyond)) if beyond.any() else column


def converted(array: Any, kind: Any) -> Any:
    """The same array in a type that writes out what views and dictionaries share, with null in the
    place of cells that are surely beyond."""
    import pyarrow as pa

    beyond = is_beyond(array)
    # a cast writes out what null covers, too, and more than a slice refers to
    covered = _Sizes(array, covered=True).beyond & ~beyond
    parts = [pa.array([], kind)]
    for part in without(array, beyond | covered):
        parts.append(pa.concat_arrays([part, part.slice(0, 0)]).cast(kind))
    found = pa.concat_arrays(parts)
    for i in np.flatnonzero(covered).tolist():
        one = pa.array(array.slice(i, 1).to_pylist(), kind)
        found = pa.concat_arrays([found.slice(0, i), one, found.slice(i + 1)])
    return found


def without(array: Any, missing: Mask) -> list[Any]:
    """Slices of an array, and null in the place of some cells: their memory stays as it is."""
    import pyarrow as pa

    return [
        pa.nulls(stop - start, array.type) if missing[start] else array.slice(start, stop - start)
        for start, stop in _runs(missing)
    ]


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
    and so four times. What is beyond is not looked into any further.

    covered : whether what null covers counts, too.
    """

    def __init__(self, array: Any, covered: bool = False) -> None:
        self._covered = covered
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
            ends = array.run_ends.to_numpy()
            self._count(array.values, rows, np.searchsorted(ends, at + array.offset, side="right"))
        elif types.is_union(kind):
            self._count_union(array, rows, at)
        else:
            is_index = types.is_dictionary(kind)
            there = slice(None) if self._covered and not is_index else _valid(array, at)
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
            for i in range(kind.num_fields if len(names) == kind.num_fields else 0):
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
