"""One column of one chunk, and the elementwise functions on it.

Every function here depends on one element at a time and never raises on data: what can't be
compared is unequal, what can't be read as a number is missing. Meaning follows the value of an
element, not the dtype that pandas chose for its column, because a dtype is data:

* None, NaN, NA and NaT are missing; a comparison with a missing value is False, but ``!=`` is
  True, as with NaN in pandas;
* numbers compare with numbers (True is 1), text with text, times with times; across these
  families ``==`` and order are False and ``!=`` is True.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .domain import is_missing, plain

Mask = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

#: Not np.number: a complex number has no order, and says so by a warning.
NUMBERS = (
    bool, int, float, np.bool_, np.integer, np.floating, decimal.Decimal, fractions.Fraction
)  # fmt: skip


@dataclass(frozen=True)
class Vector:
    """Elements of one column: a numpy array, or a pandas array of text or zoned times.

    ``missing`` marks elements whose value means nothing (nullable dtypes). With ``codes`` the
    elements are ``values[codes]``, -1 for missing (categoricals): work is done on the few values.
    """

    values: Any
    missing: Mask | None = None
    codes: Array | None = None
    memo: dict[Any, Array] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.values if self.codes is None else self.codes)

    @property
    def kind(self) -> str:
        """numpy's kind letter; "O" for pandas' own arrays."""
        return self.values.dtype.kind if isinstance(self.values, np.ndarray) else "O"

    @property
    def is_number(self) -> bool:
        return self.kind in "biuf"

    def by_level(self, key: Any, function: Callable[[Vector], Array], absent: Any) -> Array:
        """Apply an elementwise function; on a coded vector to its few values, once per key."""
        if self.codes is None:
            return function(self)
        levels = self.memo.get(key)
        if levels is None:
            on_levels = function(Vector(self.values, self.missing))
            levels = np.append(on_levels, np.array([absent], dtype=on_levels.dtype))
            if len(self.memo) > 64:
                self.memo.clear()
            self.memo[key] = levels
        return levels.take(self.codes)  # -1 takes the last: absent

    def objects(self) -> Array:
        """The elements as Python objects, missing ones as None."""
        if self.codes is not None:
            return np.append(Vector(self.values, self.missing).objects(), [None]).take(self.codes)
        try:
            array = self._all_objects()
        except Exception:  # a time at the end of all times that its zone moves beyond it
            array = np.fromiter(map(_element, self._instants()), dtype=object, count=len(self))
        if self.missing is not None:
            array = array.copy()
            array[self.missing] = None
        return array

    def _all_objects(self) -> Array:
        if self.kind in "Mm":
            return np.asarray(pd.Series(self.values).astype(object), dtype=object)
        return np.asarray(self.values, dtype=object)

    def _instants(self) -> Iterator[tuple[Any, Any]]:
        """Zoned times as UTC, with their zone."""
        utc = np.asarray(pd.Series(self.values.tz_convert("UTC")).astype(object), dtype=object)
        return ((time, self.values.tz) for time in utc)


def coded(values: Sequence[Any], codes: Array) -> Vector:
    """Elements by their place among a few values, whatever these are; -1 is missing."""
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return Vector(table, None, codes)


def _element(instant: Any) -> Any:
    """A time in its zone where that is possible, else the same instant in UTC."""
    time, zone = instant
    try:
        return time.tz_convert(zone)
    except Exception:
        return time


def is_null(v: Vector) -> Mask:
    """Which elements are missing."""
    return v.by_level("null", _is_null, True)


def _is_null(v: Vector) -> Mask:
    try:
        null = np.asarray(pd.isna(v.values), dtype=bool)
    except Exception:  # a signalling NaN, or an object that can't be compared with itself
        null = np.fromiter(map(_null, v.values), dtype=bool, count=len(v))
    return null if v.missing is None else null | v.missing


def _null(value: Any) -> bool:
    try:
        return is_missing(value)
    except Exception:
        return False


def as_numbers(v: Vector) -> npt.NDArray[np.float64]:
    """Elements as float64, NaN where missing or not readable as a number."""
    return v.by_level("number", _as_numbers, np.nan)


def _as_numbers(v: Vector) -> npt.NDArray[np.float64]:
    if v.is_number:
        numbers = v.values.astype(np.float64, copy=False)
        return numbers if v.missing is None else np.where(v.missing, np.nan, numbers)
    if v.kind in "Mm":
        return np.full(len(v), np.nan)
    if isinstance(v.values, np.ndarray):
        return np.array([_number(x) for x in v.objects()], dtype=np.float64)
    codes, uniques = factorized(v.values)
    return np.append([_number(x) for x in uniques], [np.nan]).take(codes)


def _number(value: Any) -> float:
    try:
        if isinstance(value, str):
            return float(value.strip().replace("_", "!"))  # Python reads 1_0 as 10; people don't
        return float(value) if isinstance(value, NUMBERS) and not is_missing(value) else np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except Exception:
        return np.nan


def choose(keep: Mask, yes: Vector, no: Vector) -> Vector:
    """One element where a mask holds, another where not. A number comes out as a float64, whatever
    dtype held it: otherwise large integers would mean one thing here and another there."""
    if yes.is_number and no.is_number:
        return Vector(np.where(keep, as_numbers(yes), as_numbers(no)))
    return Vector(np.where(keep, _computed(yes), _computed(no)))


def _computed(v: Vector) -> Array:
    """Elements as objects; numbers as floats, missing ones as None."""
    if v.is_number:
        array = as_numbers(v).astype(object)
        array[is_null(v)] = None
        return array
    return np.fromiter(map(_result, v.objects()), dtype=object, count=len(v))


def _result(value: Any) -> Any:
    try:
        if is_missing(value):
            return None
        return _number(value) if isinstance(value, NUMBERS) else value
    except Exception:
        return value


def each(v: Vector, function: Callable[[Any], Any], key: Any) -> Vector:
    """A function of one element, on all that are not missing; missing where it can't be computed.

    ``key`` names the function. Equal elements are computed once where they can be told apart fast.
    """
    if v.codes is not None:
        memo = v.memo.get(("each", key))
        if memo is None:
            memo = v.memo[("each", key)] = _each(Vector(v.values, v.missing), function)
        return Vector(memo, None, v.codes)
    if not isinstance(v.values, np.ndarray):
        codes, uniques = factorized(v.values)
        return Vector(_each(Vector(uniques), function), None, codes)
    return Vector(_each(v, function))


def _each(v: Vector, function: Callable[[Any], Any]) -> Array:
    def one(value: Any) -> Any:
        try:
            return None if is_missing(value) else _result(function(plain(value)))
        except Exception:
            return None

    return _filled(map(one, v.objects()), len(v))


def _filled(values: Iterable[Any], size: int) -> Array:
    """An array of objects, some of which may be lists."""
    array = np.empty(size, dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def compare_scalar(operation: str, v: Vector, scalar: Any) -> Mask:
    """Compare each element with one plain value."""
    return v.by_level(
        ("compare", operation, type(scalar), scalar),
        lambda flat: _compare_scalar(operation, flat, scalar),
        operation == "!=",
    )


def _compare_scalar(operation: str, v: Vector, scalar: Any) -> Mask:
    unequal = operation == "!="
    time = timestamp(scalar)
    if v.is_number:
        if not isinstance(scalar, NUMBERS):
            return np.full(len(v), unequal)
        with np.errstate(all="ignore"):
            result = _compare_number(operation, v.values, scalar)
    elif v.kind == "M" or isinstance(v.values.dtype, pd.DatetimeTZDtype):
        try:
            result = _compare_times(operation, v.values, time)
        except Exception:  # as in Vector.objects
            result = _compare_objects(operation, v.objects(), [scalar] * len(v), time)
    elif isinstance(scalar, str) and operation in ("==", "!=") and time is None:
        result = (prepared((scalar,)).codes(v) == 0) ^ unequal
    else:
        result = _compare_objects(operation, v.objects(), [scalar] * len(v), time)
    if v.missing is not None:
        result = np.where(v.missing, unequal, result)
    return np.asarray(result, dtype=bool)


def _compare_number(operation: str, values: Array, scalar: Any) -> Mask:
    """Exact, as Python compares: rounding to float64 keeps order, so only ties can mislead."""
    if isinstance(scalar, int) and (values.dtype.kind in "iu" or scalar in (0, 1)):
        return np.asarray(COMPARE[operation](values, scalar), dtype=bool)
    floats, near = values.astype(np.float64, copy=False), _number(scalar)
    result = np.asarray(COMPARE[operation](floats, near), dtype=bool)
    if near != scalar or (values.dtype.kind in "iu" and abs(near) >= 2.0**53):
        ties = np.flatnonzero(floats == near)
        exact = values[ties].astype(object)
        result[ties] = _compare_objects(operation, exact, [scalar] * len(ties))
    return result


def _compare_numbers(operation: str, a: Array, b: Array) -> Mask:
    """Exact, too: numpy compares integers with floats in float64, which 2^53 + 1 does not fit."""
    result = np.asarray(COMPARE[operation](a, b), dtype=bool)
    if (a.dtype.kind == "f") != (b.dtype.kind == "f"):
        whole = b if a.dtype.kind == "f" else a
        large = np.flatnonzero(np.abs(whole.astype(np.float64)) >= 2.0**53)
        result[large] = _compare_objects(
            operation, a[large].astype(object), b[large].astype(object)
        )
    return result


def timestamp(scalar: Any) -> pd.Timestamp | None:
    """A time, also from text: "2020-01-31"."""
    if not isinstance(scalar, str | datetime.date | np.datetime64):
        return None
    if isinstance(scalar, str) and scalar in ("now", "today"):
        return None  # pandas would read the clock, at another instant for each chunk
    try:
        parsed = pd.Timestamp(scalar)
    except (ValueError, OverflowError):
        return None
    return None if is_missing(parsed) else parsed


def _compare_times(operation: str, values: Any, time: pd.Timestamp | None) -> Mask:
    """A time without a zone is compared with the clock on the wall, one with a zone exactly."""
    zoned = not isinstance(values, np.ndarray)
    if time is None or (time.tz is not None and not zoned):
        return np.full(len(values), operation == "!=")
    index = pd.DatetimeIndex(values)
    if zoned:
        index = index.tz_localize(None) if time.tz is None else index.tz_convert("UTC")
    return np.asarray(COMPARE[operation](index, time), dtype=bool)


def compare_vectors(operation: str, a: Vector, b: Vector) -> Mask:
    """Compare two columns element by element."""
    uncoded = a.codes is None and b.codes is None
    same_times = a.kind in "Mm" and a.values.dtype == b.values.dtype  # other units overflow
    if uncoded and ((a.is_number and b.is_number) or same_times):
        compare = COMPARE[operation]
        with np.errstate(all="ignore"):
            if same_times:
                result = compare(a.values, b.values)
            else:
                result = _compare_numbers(operation, a.values, b.values)
        for v in (a, b):
            if v.missing is not None:
                result = np.where(v.missing, operation == "!=", result)
        return np.asarray(result, dtype=bool)
    return _compare_objects(operation, a.objects(), b.objects())


def _family(value: Any) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, NUMBERS):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.datetime):
        return "time" if value.tzinfo is None else "zoned"
    return "duration" if isinstance(value, datetime.timedelta) else "other"


def _comparable(value: Any) -> Any:
    value = plain(value)
    return pd.Timestamp(value) if type(value) is datetime.datetime else value


def _compare_objects(
    operation: str,
    left: Sequence[Any] | Array,
    right: Sequence[Any] | Array,
    time: pd.Timestamp | None = None,
) -> Mask:
    """``time`` is what a plain value on the right means to elements that are times."""
    compare, unequal = COMPARE[operation], operation == "!="

    def one(a: Any, b: Any) -> bool:
        try:
            a, b = _comparable(a), _comparable(b)
            if time is not None and isinstance(a, datetime.datetime):
                b = time
                if b.tzinfo is None and a.tzinfo is not None:
                    a = a.replace(tzinfo=None)  # the clock on the wall
            family = _family(a)
            if family in ("missing", "other") or family != _family(b):
                return unequal
            return bool(compare(a, b))
        except Exception:
            return unequal

    return np.fromiter(map(one, left, right), dtype=bool, count=len(left))


#: Kinds of elements that pandas' hash table finds as Python's does.
_HASH_ALIKE = {"string", "integer", "floating", "mixed-integer-float", "boolean", "empty"}


class Labels:
    """A set of public labels, prepared to find the position of each element among them.

    Equality is Python's: 9 is 9.0 and True is 1, "9" is neither. Elements outside get the
    position len(labels).
    """

    def __init__(self, labels: tuple[Any, ...]) -> None:
        self._n = len(labels)
        self._position = {label: i for i, label in enumerate(labels)}
        self._objects = pd.Index(list(labels), dtype=object, tupleize_cols=False)
        numbers = [(x, i) for i, x in enumerate(labels) if isinstance(x, NUMBERS)]
        finite = [(x, i) for x, i in numbers if -(2**63) <= x < 2**64]
        whole = sorted((int(x), i) for x, i in finite if x == int(x))
        fits = sum(x < 2**63 for x, _ in whole)
        self._integers = np.array([x for x, _ in whole[:fits]], dtype=np.int64)
        self._integer_at = np.array([i for _, i in whole[:fits]], dtype=np.intp)
        self._beyond = np.array([x for x, _ in whole[fits:]], dtype=np.uint64)
        self._beyond_at = np.array([i for _, i in whole[fits:]], dtype=np.intp)
        exact = sorted((_number(x), i) for x, i in numbers if _number(x) == x)
        self._floats = np.array([x for x, _ in exact], dtype=np.float64)
        self._float_at = np.array([i for _, i in exact], dtype=np.intp)
        self._table = self._lookup_table()
        self._all_whole = fits == len(exact) == len(numbers)

    def _lookup_table(self) -> npt.NDArray[np.intp] | None:
        """position of lowest + i at i; one more entry says "outside"."""
        if not len(self._integers):
            return None
        span = int(self._integers[-1]) - int(self._integers[0]) + 1
        if span > max(2**16, 16 * self._n):
            return None
        table = np.full(span + 1, self._n, dtype=np.intp)
        table[self._integers - self._integers[0]] = self._integer_at
        return table

    def codes(self, v: Vector) -> npt.NDArray[np.intp]:
        """The position of each element; missing elements are outside."""
        return v.by_level(("codes", self), self._codes, self._n)

    def _codes(self, v: Vector) -> npt.NDArray[np.intp]:
        if v.kind in "biu":
            codes = self._of_integers(v.values)
        elif v.kind == "f":
            codes = self._of_floats(v.values)
        elif isinstance(v.values, np.ndarray) and v.kind == "O":
            codes = self._of_objects(v.values)
        elif isinstance(v.values.dtype, pd.StringDtype | pd.ArrowDtype):
            codes = self._of_text(v.values)
        else:  # times
            codes = self._of_distinct(v.values)
        if v.missing is not None:
            codes = np.where(v.missing, self._n, codes)
        return codes

    def _of_integers(self, values: Array) -> npt.NDArray[np.intp]:
        too_large = values > np.uint64(2**63 - 1) if values.dtype == np.uint64 else None
        whole = values.astype(np.int64, copy=False)
        codes: npt.NDArray[np.intp]
        if self._table is not None:
            # modulo 2^64 the difference is below the span exactly for values within it
            offset = (whole - self._integers[0]).view(np.uint64)
            codes = self._table.take(np.minimum(offset, len(self._table) - 1).view(np.int64))
        else:
            codes = self._search(self._integers, self._integer_at, whole)
        if too_large is None:
            return codes
        return np.where(too_large, self._search(self._beyond, self._beyond_at, values), codes)

    def _of_floats(self, values: Array) -> npt.NDArray[np.intp]:
        values = values.astype(np.float64, copy=False)
        if self._table is None or not self._all_whole:
            return self._search(self._floats, self._float_at, values)
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
            return np.where(whole == values, self._of_integers(whole), self._n)

    def _search(self, labels: Array, at: Array, values: Array) -> npt.NDArray[np.intp]:
        if not len(labels):
            return np.full(len(values), self._n, dtype=np.intp)
        slot = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        return np.where(labels[slot] == values, at[slot], self._n)

    def _of_objects(self, values: Array) -> npt.NDArray[np.intp]:
        # Elsewhere pandas' hash table may find what is equal by chance alone: numpy's durations
        # equal integers, and hash otherwise.
        if pd.api.types.infer_dtype(values, skipna=True) not in _HASH_ALIKE:
            return self._one_by_one(values)
        try:
            return self._hashed(values)
        except Exception:  # a text of its own kind that can't be hashed or compared
            return self._one_by_one(values)

    def _hashed(self, values: Array) -> npt.NDArray[np.intp]:
        target = pd.Index(values, dtype=object, tupleize_cols=False)
        codes: npt.NDArray[np.intp] = self._objects.get_indexer(target)
        return np.where(codes < 0, self._n, codes)

    def _of_text(self, values: Any) -> npt.NDArray[np.intp]:
        """Text in Arrow's memory, by Arrow's own hashing. Only a label of text can equal it."""
        import pyarrow.compute as pc

        try:
            found = pc.index_in(values.__arrow_array__(), self._text, skip_nulls=True)
        except Exception:  # a label that is no UTF-8, or a layout that Arrow can't look up
            return self._of_distinct(values)
        codes: npt.NDArray[np.intp] = found.fill_null(self._n).to_numpy().astype(np.intp)
        return codes

    @cached_property
    def _text(self) -> Any:
        import pyarrow as pa

        return pa.array([x if isinstance(x, str) else None for x in self._objects], pa.string())

    def _of_distinct(self, values: Any) -> npt.NDArray[np.intp]:
        found, uniques = factorized(values)
        return np.append(self._one_by_one(uniques), [self._n]).take(found)

    def _one_by_one(self, values: Any) -> npt.NDArray[np.intp]:
        def one(value: Any) -> int:
            try:
                return self._position.get(plain(value), self._n)
            except Exception:
                return self._n

        return np.fromiter(map(one, values), dtype=np.intp, count=len(values))


def factorized(values: Any) -> tuple[npt.NDArray[np.intp], Any]:
    """Codes (-1 for missing) and distinct elements of a pandas array."""
    if isinstance(values, pd.arrays.StringArray):
        texts = values.to_numpy(dtype=object)
        if not encodes(texts):
            texts[values.isna()] = None
            codes, found = pd.factorize(as_bytes(texts))
            return codes, np.array([x.decode(*_ANY_TEXT) for x in found], dtype=object)
    codes, uniques = pd.factorize(pd.Series(values))
    return codes, Vector(uniques.array).objects()


_ANY_TEXT = ("utf-8", "surrogatepass")


def encodes(values: npt.NDArray[Any]) -> bool:
    """Whether no text holds a lone surrogate or a NUL: pandas 2 takes some of these for one
    another, and reads others up to the NUL alone."""
    joined = "".join(x for x in values if type(x) is str)
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in joined


def as_bytes(texts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Texts (or None) as bytes that tell them apart, lone surrogates too."""
    coded = (None if text is None else text.encode(*_ANY_TEXT) for text in texts)
    return np.fromiter(coded, dtype=object, count=len(texts))


@lru_cache(maxsize=256)
def _prepared(labels: tuple[Any, ...], types: tuple[type, ...]) -> Labels:
    return Labels(labels)


def prepared(labels: tuple[Any, ...]) -> Labels:
    """Labels ready for look-ups; those of recent queries are kept."""
    return _prepared(labels, tuple(type(label) for label in labels))
