"""Public labels and plain public values: given by the caller, never read from the data."""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, field
from ...errors import MissingArgument, QueryError, UnknownColumn, nearest, quoted
from ..values import are_simple, canonical, interned, key, times, whole_numbers
from ..values.plain import index_of_times

#: The entry of a frame's attrs that holds the token of its source.
SOURCE_ATTR = "dppandas.source"
#: Labels, or combinations of them, in one query.
MOST_KEYS = 10**6
#: Labels that follow from other declared facts.
MOST_IMPLIED = 10_000


def some_names(columns: Iterable[Any], most: int = 20) -> str:
    """The names of columns for a message, of hundreds only some."""
    names = [str(column) for column in islice(columns, most + 1)]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def did_you_mean(name: object, known: Iterable[Any], most: int = 1) -> str:
    """A sentence for an error message that suggests known names."""
    named = {str(each): each for each in known}
    near = nearest(name, named, most)
    return f" Did you mean {' or '.join(repr(named[each]) for each in near)}?" if near else ""


def by_column(
    given: object, columns: Collection[Any], argument: str, example: str
) -> Mapping[Any, Any]:
    """What a call says of some columns, by name; nothing for None."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise QueryError(f"{argument} must be a dict such as {example}, not {quoted(given)}.")
    for name in given:
        if name not in columns:
            raise UnknownColumn(
                f"{argument} names {quoted(name)}, which isn't a column here."
                f"{did_you_mean(name, columns)} The columns: {some_names(columns)}."
            )
    return given


@dataclass(frozen=True)
class Keys:
    """Public labels in declared order: the cells of a histogram.

    Labels of one column are scalars, of several columns tuples. Equality is Python's (9 is 9.0).
    """

    #: An order of labels changes how an answer is laid out, and not what is asked.
    not_asked: ClassVar[tuple[str, ...]] = ("ordered",)

    labels: tuple[Any, ...]
    width: int = 1
    #: Of which columns the labels are in an order that pandas should keep, as those of `cut`.
    ordered: frozenset[int] = field(default=frozenset(), compare=False, repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        head = ", ".join(map(str, self.labels[:8]))
        return head if len(self) <= 8 else f"{head}, … ({len(self)} in all)"

    @classmethod
    def parse(cls, value: object, columns: Sequence[str], said: str = "keys=") -> Keys:
        """Keys from a list, range, Index or array; for several columns, from tuples or a dict.
        ``said`` is the argument that gives them."""
        named = ", ".join(map(repr, columns))
        if not isinstance(value, Mapping):
            return cls(_labels(value, f"{said} of {named}", depth=len(columns)), len(columns))
        if len(columns) > 1:
            by_column(value, columns, said, "{'sex': ['f', 'm']}")
        for column in columns:
            if column not in value:
                others = (each for each in value if each not in columns)
                near = next((f" It names {quoted(n)}." for n in others if nearest(n, [column])), "")
                raise MissingArgument(f"{said} has no entry for {column!r}.{near}")
        parts = [_labels(value[column], f"{said} of {column!r}") for column in columns]
        return cls(parts[0] if len(parts) == 1 else _product(parts), len(columns))

    def then(self, other: Keys) -> Keys:
        """The product of two sets of keys, in which this one varies slowest."""
        pairs = _product([self._tuples(), other._tuples()])
        ordered = self.ordered | {self.width + position for position in other.ordered}
        return Keys(tuple(a + b for a, b in pairs), self.width + other.width, ordered)

    def _tuples(self) -> tuple[tuple[Any, ...], ...]:
        return self.labels if self.width > 1 else tuple((label,) for label in self.labels)

    def column(self, position: int) -> tuple[Any, ...]:
        """The label of one column in each cell."""
        return self.labels if self.width == 1 else tuple(label[position] for label in self.labels)

    @cached_property
    def places(self) -> dict[tuple[Any, ...], int]:
        """The place of each label, by what it means column by column: made once, for all groups."""
        columns: Any = zip(*self.labels, strict=True) if self.width > 1 else [self.labels]
        meant = (_meanings(column) for column in columns)
        return dict(zip(zip(*meant, strict=True), range(len(self)), strict=True))

    @cached_property
    def types(self) -> frozenset[type]:
        """The types of the labels: found once, because each comparison with the column asks."""
        return frozenset(map(type, self.labels))

    def place(self, label: tuple[Any, ...]) -> int | None:
        """The place of a label, given as a tuple; None if it isn't among these."""
        return self.places.get(tuple(key(canonical(part)) for part in label))

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs, without what is found once."""
        found = "places", "types"
        return {name: held for name, held in self.__dict__.items() if name not in found}

    def index(self, names: Sequence[str]) -> pd.Index:
        """The labels as a pandas index: of objects, if a text has a lone surrogate, which Arrow's
        texts can't hold."""
        try:
            return self._index(names)
        except UnicodeEncodeError:
            return object_index(map(self.column, range(self.width)), names)

    def _index(self, names: Sequence[str]) -> pd.Index:
        if self.ordered:
            return self._categories(names)
        if self.width > 1:
            return pd.MultiIndex.from_tuples(list(self.labels), names=list(names))
        if times(self.labels) is not None:
            return index_of_times(self.labels, names[0])
        whole = whole_numbers(self.labels)  # pandas would find out more slowly
        labels: Any = list(self.labels) if whole is None else whole.copy()
        flat: pd.Index = pd.Index(labels, name=names[0], tupleize_cols=False)
        return flat

    def _categories(self, names: Sequence[str]) -> pd.Index:
        """As pandas has it after `pandas.cut`: labels sort by their places, not by their texts."""
        each: list[Any] = []
        for position in range(self.width):
            labels: Any = pd.Index(list(self.column(position)), tupleize_cols=False)
            if position in self.ordered:
                labels = pd.CategoricalIndex(labels, labels.unique(), ordered=True)
            each.append(labels)
        if self.width > 1:
            return pd.MultiIndex.from_arrays(each, names=list(names))
        flat: pd.Index = each[0].rename(names[0])
        return flat


def object_index(columns: Iterable[Iterable[Any]], names: Sequence[Any]) -> pd.Index:
    """An index of objects, which may be texts with a lone surrogate, half a letter."""
    levels = [pd.Index(list(c), dtype=object, tupleize_cols=False) for c in columns]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=list(names))
    return levels[0].rename(names[0])


def _meanings(labels: Sequence[Any]) -> Iterable[Any]:
    """What labels of one column mean, without a call for each where they mean themselves."""
    if are_simple(labels):
        family = "text" if isinstance(next(iter(labels)), str) else "number"
        return zip([family] * len(labels), labels, strict=True)
    return (key(canonical(label)) for label in labels)


def _product(parts: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    cells = math.prod(map(len, parts))
    if cells > MOST_KEYS:
        raise QueryError(
            f"these keys make {cells:,} combinations, more than {MOST_KEYS:,}. Give a list of the "
            "tuples that you need."
        )
    return tuple(itertools.product(*parts))


#: Types without labels in an order.
_UNLISTED = (str, bytes, set, frozenset, Mapping)


def _labels(value: object, named: str, depth: int = 1) -> tuple[Any, ...]:
    example = f"{named} must be a list of labels, such as [9, 12, 14]"
    if depth > 1:
        example = f"{named} must be a list of tuples, or a dict with a list for each"
    is_frame = hasattr(type(value), "columns")  # of any library: it would list its columns
    if is_frame or isinstance(value, _UNLISTED) or not isinstance(value, Iterable):
        raise QueryError(f"{example}; not {type(value).__name__}.")
    if SOURCE_ATTR in getattr(value, "attrs", ()):
        raise QueryError(
            f"{example}; this is a column of a protected source, and its labels are private."
        )
    try:
        labels = interned(tuple(_first(value, MOST_KEYS + 1)))
        if not (simple := _mean_themselves(labels, depth)):
            labels = tuple(map(public, labels))
            simple = _mean_themselves(labels, depth)
    except QueryError as error:
        raise QueryError(f"{example}; {error.reason}") from None
    except TypeError:  # an array of no dimension
        raise QueryError(f"{example}; not {quoted(value)}.") from None
    if not labels:
        raise QueryError(f"{example}; it is empty.")
    if len(labels) > MOST_KEYS:
        raise QueryError(f"{named} are more than {MOST_KEYS:,}.")
    if simple and _are_distinct(labels):
        return labels  # the checks below hold for these, and are slow for many
    several = [_checked_parts(label, example, depth) for label in labels]
    seen: dict[Any, int] = {}
    for position, (label, parts) in enumerate(zip(labels, several, strict=True)):
        # equal as cells, or in Python's dicts
        same = seen.setdefault(tuple(key(canonical(part)) for part in parts), position)
        first = min(same, seen.setdefault(label, position))
        if first != position:  # don't quote the label: it may have been read from a column
            raise QueryError(
                f"{named} names one label twice, at {first} and {position}. Give each label once."
            )
    return labels


def _first(value: Iterable[Any], most: int) -> Iterable[Any]:
    """The first labels; of an array of numbers as Python has them, which is faster than one by
    one."""
    array: Any = value.to_numpy() if isinstance(value, pd.Index | pd.Series) else value
    is_flat = isinstance(array, np.ndarray) and array.ndim == 1
    if is_flat and array.dtype.kind in "iufb" and array.dtype.itemsize <= 8:
        found: list[Any] = array[:most].tolist()
        return found
    return value[:most] if isinstance(value, list | tuple | range) else islice(value, most)


def _mean_themselves(labels: Sequence[Any], depth: int) -> bool:
    """Whether labels are all of one type, column by column, whose values mean themselves and are
    equal as in Python: ints of 64 bits, texts, finite floats, or times without a zone."""
    if depth == 1:
        return _are_alike(labels)
    if set(map(type, labels)) != {tuple} or set(map(len, labels)) != {depth}:
        return False
    return all(map(_are_alike, zip(*labels, strict=True)))


def _are_distinct(labels: Sequence[Any]) -> bool:
    """Whether labels that mean themselves differ."""
    whole = whole_numbers(labels)
    if whole is not None and (whole[1:] > whole[:-1]).all():
        return True
    return len(set(labels)) == len(labels)


def _are_alike(labels: Sequence[Any]) -> bool:
    if are_simple(labels):
        return True
    kinds = set(map(type, labels))
    if kinds == {float}:
        return bool(np.isfinite(np.array(labels)).all())
    return times(labels) is not None


def _checked_parts(label: Any, example: str, depth: int) -> tuple[Any, ...]:
    parts = label if isinstance(label, tuple) and depth > 1 else (label,)
    if len(parts) != depth:
        raise QueryError(f"{example}; a {type(label).__name__} is not a tuple of {depth}.")
    for part in parts:
        if _holds_missing(part):
            raise QueryError(
                f"{example}; missing values can't be labels. To count them in a cell of their "
                "own, pass dropna=False to value_counts or groupby."
            )
        if isinstance(part, complex | np.complexfloating):
            raise QueryError(f"{example}; a complex number can't be a label.")
        if not is_hashable(part):
            raise QueryError(f"{example}; a {type(part).__name__} can't be a label.")
    return parts


def _holds_missing(part: Any) -> bool:
    if isinstance(part, tuple):  # NaN in a tuple equals itself in pandas, but not in Python
        return any(map(_holds_missing, part))
    return is_missing(part)


def is_hashable(part: Any) -> bool:
    try:
        hash(part)  # a tuple is always an instance of Hashable, whatever it holds
    except TypeError:
        return False
    return True


def lasting_names(names: Iterable[Any]) -> None:
    """Refuse names of columns that don't equal themselves: nobody could ask for such a column."""
    for name in names:
        if type(name) is not str and _is_lost(name):
            raise QueryError(
                f"{quoted(name)} can't name a column, because it doesn't equal itself. Rename the "
                "column, as in df.rename(columns=str)."
            )


def _is_lost(name: Any) -> bool:
    if isinstance(name, tuple):
        return any(map(_is_lost, name))
    return name is not None and is_missing(name)


def plain(label: Any) -> Any:
    """numpy scalars as Python ones, which compare and print as people expect."""
    if isinstance(label, tuple):
        return tuple(plain(part) for part in label)
    if isinstance(label, np.datetime64 | np.timedelta64):
        try:
            return pd.Timestamp(label) if isinstance(label, np.datetime64) else pd.Timedelta(label)
        except ValueError:  # out of pandas' range
            return label
    return label.item() if isinstance(label, np.generic) else label


#: Types of plain values, whose comparisons are Python's or pandas' own.
_KNOWN = {
    type(None), bool, int, float, complex, str, bytes, decimal.Decimal, Fraction, UUID,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, pd.Timestamp, pd.Timedelta,
    type(pd.NaT), type(pd.NA), np.datetime64, np.timedelta64, pd.Interval, pd.Period,
}  # fmt: skip


#: How a subclass becomes its base.
_BASES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__, int: int.__int__, float: float.__float__,
}  # fmt: skip


def public(value: Any) -> Any:
    """A caller's plain value, as an object of a known type.

    The ``==`` of any other class would be handed private values; so a subclass of a number or text
    becomes its base, and the rest is refused.
    """
    value = plain(value)
    if isinstance(value, datetime.datetime) and type(value) not in _KNOWN:
        value = pd.Timestamp(value)
    kind = type(value)
    if kind in _KNOWN:
        return value
    if isinstance(value, tuple):
        return tuple(public(part) for part in value)
    if kind is frozenset:
        return frozenset(public(part) for part in value)
    for base, own in _BASES.items():
        if isinstance(value, base):
            return own(value)
    raise QueryError(
        f"a {kind.__name__} isn't a plain value. Give numbers, text, truth values or times."
    )


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NA or NaT, as `pandas.isna` says of one element."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float | complex | np.inexact) and value != value)
        or (isinstance(value, decimal.Decimal) and value.is_nan())
        or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value))
    )
