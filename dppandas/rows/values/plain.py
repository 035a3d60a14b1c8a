"""Public values that mean themselves, and are equal as in Python: they need no look one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .families import MOST_CHARACTERS
from .lookups import Recent


def interned(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first of equal tuples that were met lately, if all values are ints, or all texts. What is
    found of public labels once, by their identity, needn't be found at each call."""
    kind: Any = type(values[0]) if values else None
    return _first(values, kind) if kind in (int, str) and _are_all(kind, values) else values


@lru_cache(maxsize=16)
def _first(values: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    return values


def are_simple(values: Sequence[Any]) -> bool:
    """Whether all are ints of 64 bits, or all texts within the limits."""
    if not values or type(values[0]) is not str:
        return whole_numbers(values) is not None
    return _are_all(str, values) and max(map(len, values)) <= MOST_CHARACTERS


def whole_numbers(values: Sequence[Any]) -> npt.NDArray[np.int64] | None:
    """Ints of 64 bits as an array, which can't be written to; None if there are others, or none.
    That of a tuple is kept while it is one of the last."""
    return _recent(values) if type(values) is tuple else _whole(values)


def times(values: Sequence[Any]) -> npt.NDArray[np.int64] | None:
    """Times without a zone as nanoseconds since 1970, in an array that can't be written to; None if
    there are others, none, or some beyond these. Kept as in `whole_numbers`."""
    return _recent_times(values) if type(values) is tuple else _times(values)


def index_of_times(values: Sequence[Any], name: Any = None) -> pd.DatetimeIndex:
    """Times as an index. pandas would find out one by one that none of a list is an array."""
    return pd.DatetimeIndex(np.fromiter(values, object, len(values)), name=name)


def _times(values: Sequence[Any]) -> npt.NDArray[np.int64] | None:
    if not values or not _are_all(pd.Timestamp, values):
        return None
    try:
        found = index_of_times(values)
        nanos: npt.NDArray[np.int64] = found.as_unit("ns").asi8
    except (ValueError, TypeError):  # of several zones, or beyond what nanoseconds reach
        return None
    nanos.flags.writeable = False
    return None if found.tz is not None else nanos


def _whole(values: Sequence[Any]) -> npt.NDArray[np.int64] | None:
    if not values or not _are_all(int, values):
        return None
    try:
        found = np.fromiter(values, np.int64, len(values))
    except OverflowError:
        return None
    found.flags.writeable = False
    return found


def _are_all(kind: Any, values: Sequence[Any]) -> bool:
    """Whether the type of each is this one, and no subclass."""
    return list(map(type, values)).count(kind) == len(values)


_recent = Recent(_whole, most=4)
_recent_times = Recent(_times, most=4)
