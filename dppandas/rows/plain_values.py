"""Plain values and names of columns, as the caller gives them, checked and read."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import LineageError, QueryError, UnknownColumn, UnsupportedExpression, quoted
from . import expressions
from .expressions import Expression, Literal
from .facts.keys import SOURCE_ATTR, did_you_mean, is_missing, plain, public, some_names
from .values import canonical
from .values import name as text_of
from .values.vectors import NUMBERS, timestamp

_SCALARS = (*NUMBERS, str, datetime.timedelta, pd.Period, pd.Interval)
_LISTS = (list, tuple, set, frozenset, range, pd.Index, pd.Series, np.ndarray)


def literal(value: Any, named: str = "the value") -> Literal:
    """A plain scalar: a number, text, truth value, time, duration, period or interval."""
    value = plain(value)
    is_scalar = isinstance(value, _SCALARS) or timestamp(value) is not None
    value = public(value) if is_scalar else value
    if not is_scalar or is_missing(value):
        raise UnsupportedExpression(
            f"{named} is a {type(value).__name__}, not a plain scalar (a number, "
            "text, truth value, time, duration, period or interval)."
        )
    return Literal(value)


def is_listed(values: object) -> bool:
    """Whether this is a list of values, as `isin` takes them."""
    return isinstance(values, _LISTS) and getattr(values, "ndim", 1) == 1


def listed(values: Any, named: str = "isin") -> tuple[Any, ...]:
    """Public plain values to look for, of a list, set, Index, array or Series. A set has no order,
    and gets the same one in each process."""
    refuse_private(values, named)
    if any(expressions.plain_or_missing(value) is None for value in values):
        raise QueryError(f"{named} never finds missing values. Add them by | p['x'].isna().")
    labels = tuple(literal(value, f"an element of {named}").value for value in values)
    if isinstance(values, set | frozenset):
        return tuple(sorted(labels, key=lambda label: text_of(canonical(label))))
    return labels


def operand(value: Literal) -> Literal:
    """A plain value to compute with, in float64 if it is a number."""
    if isinstance(value.value, NUMBERS):
        try:
            float(value.value)
        except OverflowError:
            raise UnsupportedExpression(
                "a number is too large to compute with. Use numbers up to 1e308."
            ) from None
    return value


def operands(values: Iterable[Any], named: str = "the value") -> tuple[Any, ...]:
    """Plain values to compute with; None for missing ones."""
    plains = map(expressions.plain_or_missing, values)
    return tuple(None if v is None else operand(literal(v, named)).value for v in plains)


def refuse_private(given: Any, what: str) -> None:
    """Refuse what comes from a protected source where something public is needed."""
    if SOURCE_ATTR in getattr(given, "attrs", ()):
        raise LineageError(
            f"{what} carries the token of a protected source, so it is not public. Give one that "
            "is made of public values."
        )


def lookup(name: Any, columns: Mapping[Any, Expression]) -> Expression:
    """The column of a name, or an error that suggests another."""
    try:
        return columns[name]
    except (KeyError, TypeError):
        raise unknown(name, columns) from None


def unknown(name: object, columns: Collection[Any]) -> UnknownColumn:
    listing = f" The columns: {some_names(columns)}." if columns else " There are no columns."
    hint = did_you_mean(name, columns, 3)
    return UnknownColumn(f"there is no column {quoted(name)}.{hint}{listing}")
