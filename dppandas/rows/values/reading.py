"""From a pandas column to its closed form: by what each cell is, not by what holds it.

Hash tables get only arrays known to hold exact types, whose equality is known. What can't be read
is missing; nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from . import forms
from .arrow import sizes
from .cells import Beyond, Parts, canonical
from .families import MISSING, MOST_CHARACTERS, Cell
from .forms import Array, Coded, Durations, Instants, Vector
from .instants import zone_of

#: pandas' types for missing objects.
_NOTHING = {type(None), type(pd.NA), type(pd.NaT)}


def column(series: pd.Series[Any] | pd.Index) -> Vector:
    """The closed form of a column, or of categories."""
    for read in (_by_dtype, _by_object, _one_by_one):
        try:
            return read(series)
        except Exception:  # an extension array may fail: the next way asks less of it
            continue
    return forms.of_objects([None] * len(series))


def _by_dtype(series: pd.Series[Any] | pd.Index) -> Vector:
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
        return arrow_column(array.__arrow_array__())
    plain = getattr(dtype, "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf":
        return _of_nullable(array, plain)
    return _by_object(series)


def _by_object(series: pd.Series[Any] | pd.Index) -> Vector:
    return objects(np.asarray(series.array.astype(object), dtype=object))


def _one_by_one(series: pd.Series[Any] | pd.Index) -> Vector:
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
    levels = column(dtype.categories).coded()
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
    return arrow_column(array.__arrow_array__())


def one_array(array: Any) -> Any:
    """One array of Arrow, of an array or of chunks."""
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    kind = array.type
    if pa.types.is_dictionary(kind) and not array.num_chunks:
        return pa.array([], kind.value_type)
    if pa.types.is_dictionary(kind):
        array = array.unify_dictionaries()
    elif array.nbytes >= _OFFSETS and (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        array = array.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    # combine_chunks of text beyond 2 GiB would stay in chunks
    return pa.concat_arrays(array.chunks or [pa.array([], array.type)])


def _of_nullable(array: Any, plain: np.dtype[Any]) -> Vector:
    values = array.to_numpy(dtype=plain, na_value=plain.type(0))
    missing = np.asarray(array.isna(), dtype=bool)
    return forms.of_array(values, missing if missing.any() else None)


# --- Arrow ----------------------------------------------------------------------------------------


#: Bytes of texts whose offsets may not fit 32 bits.
_OFFSETS = 2**31
#: Bytes of texts that take as long one by one.
_LONG = 2**12


def arrow_column(column: Any) -> Vector:
    """The closed form of a column in chunks. Chunks that don't fit together, such as dictionaries
    that hold a null, are read one after the other: no rows make it fail."""
    try:
        whole = one_array(column)
    except Exception:
        return forms.joined([arrow(chunk) for chunk in column.chunks])
    return arrow(whole)


def arrow(array: Any) -> Vector:
    """The closed form of an array of Arrow: numbers and times from its memory, other types by a
    dictionary of their values. What a cell means is the same in each way, so that no cell decides
    about another one."""
    for read in (_by_arrow_type, _by_values, _value_by_value):
        try:
            return read(array)
        except Exception:  # such as text that isn't UTF-8, or a time beyond Python's
            continue
    return forms.of_objects([None] * len(array))


def _by_arrow_type(array: Any) -> Vector:
    from pyarrow import types

    kind = array.type
    if isinstance(kind, _extension()):
        return _of_extension(array)
    if types.is_dictionary(kind):
        return _at_levels(array.indices, arrow(array.dictionary))
    if types.is_run_end_encoded(kind):
        return _of_runs(array)
    if types.is_boolean(kind):
        return forms.Truths(_filled(array, False), _missing(array))
    if types.is_floating(kind):
        return forms.of_array(array.to_numpy(zero_copy_only=False))  # null becomes NaN
    if types.is_integer(kind):
        return forms.of_array(_filled(array, 0), _missing(array))
    if types.is_timestamp(kind) or types.is_duration(kind) or types.is_date(kind):
        return _of_arrow_counts(array, kind)
    if types.is_nested(kind):
        return _by_values(array)
    if "view" in str(kind):  # of which Arrow makes no dictionary
        if _viewed(array) > min(_OFFSETS, _LONG * len(array)):  # a cast copies what they share
            return _value_by_value(array)
        array = array.cast("large_string" if types.is_string_view(kind) else "large_binary")
    array = sizes.within(array)
    is_text = types.is_string(array.type) or types.is_large_string(array.type)
    if is_text and (few := _few_texts(array)) is not None:
        return few
    coded = array.dictionary_encode()
    return _at_levels(coded.indices, (_of_texts if is_text else _by_values)(coded.dictionary))


def _few_texts(array: Any) -> Vector | None:
    """Texts that are looked up among those of the blocks before, while no other comes: faster than
    a dictionary of all rows, and with narrower codes. None if there are many, or few rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(array) < _TOGETHER:
        return None
    known, codes, is_new = array.slice(0, 0), list[Array](), True
    for first in range(0, len(array), _TOGETHER):
        block = array.slice(first, _TOGETHER)
        found = None if is_new else pc.index_in(block, known)
        if found is None or found.null_count > block.null_count:
            coded = block.dictionary_encode()
            new = coded.dictionary.filter(pc.index_in(coded.dictionary, known).is_null())
            known, is_new = pa.concat_arrays([known, new]), len(new) > 0
            if len(known) > _MOST_OBJECTS:
                return None
            found = pc.index_in(coded.dictionary, known).take(coded.indices)
        codes.append(_filled(found, -1).astype(np.int8 if len(known) < 2**7 else np.int16))
    return forms.of_texts(_array(known.to_pylist()), np.concatenate(codes))


def _extension() -> Any:
    import pyarrow as pa

    return pa.BaseExtensionType


def _of_extension(array: Any) -> Vector:
    """pandas' own types as pandas has them; others by their values, or else as they are stored."""
    if array.type.extension_name.startswith("pandas."):
        return _of_pandas(array)
    return _by_values(array) if array.type.extension_name == "arrow.uuid" else arrow(array.storage)


def _of_pandas(array: Any) -> Vector:
    """An interval whose ends are the wrong way round fails with all others: so by halves, until it
    is alone."""
    try:
        return column(pd.Series(array.to_pandas()))
    except Exception:
        if len(array) <= 1:
            return forms.of_objects([None] * len(array))
        half = len(array) // 2
        return forms.joined([_of_pandas(array.slice(0, half)), _of_pandas(array.slice(half))])


def _of_runs(array: Any) -> Vector:
    """Each run is read once, however long it is."""
    return arrow(array.values).take(sizes.runs(array, np.arange(len(array))))


def _viewed(array: Any) -> int:
    """The bytes that views say they have. What a null one says doesn't matter."""
    lengths = np.frombuffer(array.buffers()[1], dtype=np.int32)[::4]
    return int(lengths[array.offset : array.offset + len(array)].sum(dtype=np.int64))


def _missing(array: Any) -> Array | None:
    """Which elements are null; None if none is."""
    if not array.null_count:
        return None
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _filled(array: Any, value: Any) -> Array:
    """A plain array, with a value in the place of nulls."""
    whole = array.fill_null(value) if array.null_count else array
    return np.asarray(whole.to_numpy(zero_copy_only=False))


def _of_arrow_counts(array: Any, kind: Any) -> Vector:
    """Of times, dates and durations, by the integers that count them."""
    import pyarrow as pa

    is_date = pa.types.is_date(kind)
    days = is_date and kind.bit_width == 32
    whole = array.cast(pa.int32()).cast(pa.int64()) if days else array.cast(pa.int64())
    missing = _missing(array)
    gone = np.zeros(len(array), dtype=bool) if missing is None else missing
    unit = ("D" if days else "ms") if is_date else kind.unit
    parts = forms.micros(_filled(whole, 0).astype(np.int64, copy=False), unit, gone)
    if pa.types.is_duration(kind):
        return Durations(*parts)
    if is_date or kind.tz is None:
        return Instants(*parts)
    time: Any = pd.Timestamp(0, tz=kind.tz)
    zone = zone_of(time.tz)
    return _by_values(array) if zone is None else Instants(*parts, zone)


def _at_levels(indices: Any, levels: Vector) -> Vector:
    """Elements by their position among levels, each of which is read once."""
    codes, missing, held = _filled(indices, 0), _missing(indices), levels.coded()
    if codes.dtype.kind == "u":
        codes = codes.astype(np.intp)
    if missing is not None:
        codes = np.where(missing, codes.dtype.type(-1), codes)
    if not np.array_equal(held.codes, np.arange(len(held.levels))):
        codes = np.append(held.codes, -1)[codes]
    return Coded(codes, held.levels)


def _of_texts(distinct: Any) -> Vector:
    return forms.of_texts(_array(distinct.to_pylist()), np.arange(len(distinct)))


def _by_values(array: Any) -> Vector:
    def cells() -> Iterator[Cell]:
        for beyond, part in sizes.parts(array):
            yield from repeat(MISSING, beyond)
            yield from _cells(part)

    return forms.of_cells(cells())


def _value_by_value(array: Any) -> Vector:
    return forms.of_cells(map(_cell, array))


def _cells(part: Any) -> Iterator[Cell]:
    try:
        found = part.to_pylist()
    except Exception:  # one of them isn't UTF-8, or a time beyond Python's: the others are read
        return map(_cell, part)
    return map(canonical, found)


def _cell(scalar: Any) -> Cell:
    try:
        return canonical(_plain(scalar))
    except Exception:
        return MISSING


def _plain(scalar: Any) -> Any:
    """What a scalar of Arrow holds, which means the same as `as_py` wherever that works: one cell
    for which it doesn't must not change what others mean. But of a list the elements are made when
    they are counted, and no text beyond the limits is made at all."""
    import pyarrow as pa
    from pyarrow import types

    kind = scalar.type
    if (
        isinstance(scalar, pa.ExtensionScalar)
        and type(scalar).as_py is not pa.ExtensionScalar.as_py
    ):
        return scalar.as_py()  # a type may have its own
    if not scalar.is_valid:
        return None
    around = (pa.DictionaryScalar, pa.RunEndEncodedScalar, pa.UnionScalar, pa.ExtensionScalar)
    if isinstance(scalar, around):
        return _plain(scalar.value)
    if types.is_map(kind):
        pairs = zip(scalar.values.field(0), scalar.values.field(1), strict=True)
        return Parts(len(scalar.values), ((_plain(key), _plain(held)) for key, held in pairs))
    if types.is_struct(kind):
        return {name: _plain(held) for name, held in scalar.items()}
    if types.is_nested(kind):
        return Parts(len(scalar.values), map(_plain, scalar.values))
    buffer = scalar.as_buffer() if isinstance(scalar, pa.BinaryScalar) else None
    is_long = buffer is not None and buffer.size > sizes.MOST_BYTES * MOST_CHARACTERS
    return Beyond() if is_long else scalar.as_py()


# --- objects --------------------------------------------------------------------------------------


#: Objects that are told apart by where they are, and the rows that are looked at together.
_MOST_OBJECTS, _TOGETHER = 2**12, 2**16


def objects(values: npt.NDArray[Any]) -> Vector:
    """The form of an array of any objects. If few objects are in all rows, each is read once: what
    a cell means is a function of the object alone, so that of one object it is the same."""
    shared = _shared_objects(values)
    if shared is None:
        return _of_objects(values)
    codes, rows = shared
    found = _of_objects(values[rows])
    if isinstance(found, Coded):  # as narrow as the numbers of objects are
        found = Coded(found.held.astype(codes.dtype), found.levels)
    return found.take(codes)


def _shared_objects(values: npt.NDArray[Any]) -> tuple[Array, list[int]] | None:
    """The number of the object in each row, by its address, and the first row of each object; None
    if there are many. The array keeps its objects alive, and no address is followed."""
    if values.ndim != 1 or len(values) < _TOGETHER:
        return None
    addresses = np.asarray(_Addresses(values))
    codes, rows = np.empty(len(values), dtype=np.int16), list[int]()
    numbers: dict[int, int] = {}
    for first in range(0, len(values), _TOGETHER):
        block, known = slice(first, first + _TOGETHER), len(numbers)
        found, distinct = pd.factorize(addresses[block])  # numbered as they first occur
        if len(distinct) > _MOST_OBJECTS:
            return None
        table = [numbers.setdefault(address, len(numbers)) for address in distinct.tolist()]
        if len(numbers) > _MOST_OBJECTS:
            return None
        codes[block] = np.array(table, dtype=np.int16)[found]
        if len(numbers) > known:
            places = np.flatnonzero(np.diff(np.maximum.accumulate(found), prepend=-1)).tolist()
            rows += [first + at for at, new in zip(places, table, strict=True) if new >= known]
    return codes, rows


class _Addresses:
    """The addresses of an array's objects, as an array that shares its memory."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self._values = values
        self.__array_interface__ = values.__array_interface__ | {
            "typestr": np.dtype(np.intp).str, "descr": [("", np.dtype(np.intp).str)],
            "data": (values.__array_interface__["data"][0], True),
        }  # fmt: skip


def _of_objects(values: npt.NDArray[Any]) -> Vector:
    """The form of objects, by their exact types if these are of one family."""
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
