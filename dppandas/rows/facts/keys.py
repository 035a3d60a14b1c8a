"""Public facts about a source, declared and never read from the data.

Bounds, keys, the privacy unit, and the fixed-point grid on which bounded numbers become integers.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from ...errors import MissingArgument, QueryError, quoted
from ..values import are_small, canonical, key

#: Where a frame's attrs hold the token of its source.
SOURCE_ATTR = "dppandas.source"
#: So many labels, or combinations of them, are asked for at once.
MOST_KEYS = 10**6


def some_names(columns: Iterable[Any]) -> str:
    """Columns as an error names them: not all of hundreds."""
    names = [str(column) for column in columns]
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


@dataclass(frozen=True)
class Keys:
    """Public labels: the cells of a histogram, in declared order.

    One column has scalar labels; several have tuples. Equality is Python's (9 is 9.0).
    """

    labels: tuple[Any, ...]
    width: int = 1

    def __len__(self) -> int:
        return len(self.labels)

    def __str__(self) -> str:
        head = ", ".join(map(str, self.labels[:8]))
        return head if len(self) <= 8 else f"{head}, … ({len(self)} in all)"

    @classmethod
    def parse(cls, value: object, columns: Sequence[str]) -> Keys:
        """Keys from a list, range, Index or array; for several columns tuples or a dict."""
        named = ", ".join(map(repr, columns))
        if len(columns) == 1:
            if isinstance(value, Mapping):
                value = _pick(value, columns[0])
            return cls(_labels(value, named))
        if isinstance(value, Mapping):
            extra = set(value) - set(columns)
            if extra:
                raise QueryError(f"keys= names {sorted(map(str, extra))}, not among {named}.")
            parts = [_labels(_pick(value, column), repr(column)) for column in columns]
            _check_product(parts)
            return cls(tuple(itertools.product(*parts)), len(columns))
        labels = _labels(value, named, depth=len(columns))
        return cls(labels, len(columns))

    def then(self, other: Keys) -> Keys:
        """The product of two sets of keys, this one varying slowest."""
        _check_product([self.labels, other.labels])
        return Keys(
            tuple(
                _as_tuple(a, self.width) + _as_tuple(b, other.width)
                for a in self.labels
                for b in other.labels
            ),
            self.width + other.width,
        )

    def column(self, position: int) -> tuple[Any, ...]:
        """The label of one column in each cell."""
        if self.width == 1:
            return self.labels
        return tuple(label[position] for label in self.labels)

    def index(self, names: Sequence[str]) -> pd.Index:
        """The labels as a pandas index."""
        if self.width > 1:
            return pd.MultiIndex.from_tuples(list(self.labels), names=list(names))
        labels = list(self.labels)
        flat: pd.Index = pd.Index(labels, name=names[0], tupleize_cols=False)
        return flat


def _check_product(parts: Sequence[Sequence[Any]]) -> None:
    cells = math.prod(map(len, parts))
    if cells > MOST_KEYS:
        raise QueryError(
            f"these keys make {cells:,} combinations, more than {MOST_KEYS:,}; give a list of the "
            "tuples that you need."
        )


def _as_tuple(label: Any, width: int) -> tuple[Any, ...]:
    return (label,) if width == 1 else label


def _pick(keys: Mapping[Any, Any], column: str) -> Any:
    if column not in keys:
        raise MissingArgument(f"keys= has no entry for {column!r}.")
    return keys[column]


#: What has no labels in order; a frame would list its columns.
_UNLISTED = (str, bytes, set, frozenset, Mapping, pd.DataFrame)


def _labels(value: object, named: str, depth: int = 1) -> tuple[Any, ...]:
    example = f"keys= of {named} must be a list of labels, such as [9, 12, 14]"
    if depth > 1:
        example = f"keys= of {named} must be a list of tuples, or a dict with a list for each"
    if isinstance(value, _UNLISTED) or not isinstance(value, Iterable):
        raise QueryError(f"{example}; not {type(value).__name__}.")
    if SOURCE_ATTR in getattr(value, "attrs", ()):
        raise QueryError(
            f"{example}; this is a column of a protected source, and which labels it holds is "
            "private."
        )
    try:
        labels = tuple(islice((public(label) for label in value), MOST_KEYS + 1))
    except QueryError as error:
        raise QueryError(f"{example}; {error.reason}") from None
    except TypeError:  # an array of no dimension
        raise QueryError(f"{example}; not {quoted(value)}.") from None
    if not labels:
        raise QueryError(f"{example}; it is empty.")
    if len(labels) > MOST_KEYS:
        raise QueryError(f"keys= of {named} are more than {MOST_KEYS:,}.")
    if depth == 1 and are_small(labels) and len(set(labels)) == len(labels):
        return labels  # what is checked below holds for whole numbers, and takes long for many
    for label in labels:
        _check_label(label, example, depth)
    seen: dict[Any, int] = {}
    for position, label in enumerate(labels):
        parts = label if isinstance(label, tuple) and depth > 1 else (label,)
        # as cells are equal, and as Python's own dicts find them
        same = seen.setdefault(tuple(key(canonical(part)) for part in parts), position)
        first = min(same, seen.setdefault(label, position))
        if first != position:  # not the label itself, which may have been read from a column
            raise QueryError(
                f"keys= of {named} names one label twice, at {first} and {position}: give each "
                "once."
            )
    return labels


def _check_label(label: Any, example: str, depth: int) -> None:
    parts = label if isinstance(label, tuple) and depth > 1 else (label,)
    if len(parts) != depth:
        raise QueryError(f"{example}; a {type(label).__name__} is not a tuple of {depth}.")
    for part in parts:
        if _holds_missing(part):
            raise QueryError(
                f"{example}; missing values are no label: pass dropna=False to value_counts "
                "to count them in a cell of their own."
            )
        if isinstance(part, complex | np.complexfloating):
            raise QueryError(f"{example}; a complex number can't be a label.")
        if not is_hashable(part):
            raise QueryError(f"{example}; a {type(part).__name__} can't be a label.")


def _holds_missing(part: Any) -> bool:
    if isinstance(part, tuple):  # NaN within equals itself in pandas, and not in Python
        return any(map(_holds_missing, part))
    return is_missing(part)


def is_hashable(part: Any) -> bool:
    """Whether a value can be looked up."""
    try:
        hash(part)  # a tuple claims that it can be, whatever it holds
    except TypeError:
        return False
    return True


def plain(label: Any) -> Any:
    """numpy scalars as Python ones, so that labels compare and print as people expect."""
    if isinstance(label, tuple):
        return tuple(plain(part) for part in label)
    if isinstance(label, np.datetime64 | np.timedelta64):
        try:
            return pd.Timestamp(label) if isinstance(label, np.datetime64) else pd.Timedelta(label)
        except ValueError:  # further away than pandas counts
            return label
    return label.item() if isinstance(label, np.generic) else label


#: Types of plain values whose comparisons are Python's own, or pandas'.
_KNOWN = {
    type(None), bool, int, float, complex, str, bytes, decimal.Decimal, Fraction, UUID,
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, pd.Timestamp, pd.Timedelta,
    type(pd.NaT), type(pd.NA), np.datetime64, np.timedelta64, pd.Interval, pd.Period,
}  # fmt: skip


def public(value: Any) -> Any:
    """A caller's plain value, as one of a known type or of none that could spy.

    An object of any other class is handed private values by its own ``==``; so a subclass of a
    number or text becomes its base, and the rest is refused.
    """
    value = plain(value)
    kind = type(value)
    if kind in _KNOWN:
        return value
    if isinstance(value, tuple):
        return tuple(public(part) for part in value)
    if kind is frozenset:
        return frozenset(public(part) for part in value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, datetime.datetime):
        value = pd.Timestamp(value)
        kind = type(value)
        if kind is pd.Timestamp:
            return value
    raise QueryError(
        f"a {kind.__name__} is no plain value: give numbers, text, truth values or times."
    )


def is_missing(value: Any) -> bool:
    """None, NaN, NA and NaT, and nothing else: what pandas.isna says of one element."""
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float | complex | np.inexact) and value != value)
        or (isinstance(value, decimal.Decimal) and value.is_nan())
        or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value))
    )
