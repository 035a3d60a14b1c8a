"""Public facts about a source, declared and never read from the data.

Bounds, keys, the privacy unit, and the fixed-point grid on which bounded numbers become integers.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from .errors import MissingArgument, QueryError, shown
from .spans import Ruler, Span
from .values import are_small, canonical, key

#: Where a frame's attrs hold the token of its source.
SOURCE_ATTR = "dppandas.source"
#: The most rows of one unit that can be promised protection.
MOST_ROWS = 2**31
#: So many labels, or combinations of them, are asked for at once.
MOST_KEYS = 10**6
#: One exponent serves all: 2^30 steps keep squares in int64 and sums of a block exact in float64.
GRID_BITS = 30


def some_names(columns: Iterable[Any]) -> str:
    """Columns as an error names them: not all of hundreds."""
    names = [str(column) for column in columns]
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


@dataclass(frozen=True)
class Bounds:
    """The interval into which values are clipped; finite, lower ≤ upper."""

    lower: float
    upper: float

    @classmethod
    def parse(cls, value: object, column: str) -> Bounds:
        """Bounds from a (lower, upper) pair of numbers."""
        hint = f"bounds of {column!r} must be two finite numbers, lower first, such as (0, 60)"
        if isinstance(value, Bounds):
            return value
        if cls.is_named(value):
            value = (value["lower"], value["upper"])  # type: ignore[index]
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
            raise QueryError(f"{hint}; not {shown(value)}. Nothing was charged.")
        try:
            if len(value) != 2 or any(isinstance(v, str | bytes | bool | np.bool_) for v in value):
                raise TypeError
            lower, upper = (float(v) for v in value)
        except (TypeError, ValueError, OverflowError):
            raise QueryError(f"{hint}; not {shown(value)}. Nothing was charged.") from None
        if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
            raise QueryError(f"{hint}; not {shown(value)}. Nothing was charged.")
        if not math.isfinite(upper - lower) or max(abs(lower), abs(upper)) > 2.0**900:
            raise QueryError(f"bounds {shown(value)} of {column!r} are too far apart.")
        return cls(lower + 0.0, upper + 0.0)  # + 0.0: one zero, not two

    @staticmethod
    def is_named(value: object) -> bool:
        """Whether these are two numbers called lower and upper, as `suggest_bounds` tells them."""
        if isinstance(value, pd.Series):
            found = value.index.tolist()
            is_suggested = found in (["lower", "upper"], ["lower", "upper", "clipped"])
            return is_suggested and SOURCE_ATTR not in value.attrs
        if not isinstance(value, Mapping) or set(value) != {"lower", "upper"}:
            return False
        return not any(isinstance(end, Sequence | Mapping | pd.Series) for end in value.values())

    def __str__(self) -> str:
        return f"({self.lower:g}, {self.upper:g})"


@dataclass(frozen=True)
class Ticks(Bounds):
    """Bounds of times or durations, in ticks of their ruler."""

    ruler: Ruler

    @classmethod
    def along(cls, ruler: Ruler) -> Ticks:
        return cls(*ruler.ends, ruler)

    def __str__(self) -> str:
        return str(self.ruler.span)


@dataclass(frozen=True)
class Grid:
    """Numbers as integers: the number ``origin + t·step`` is the integer t, low ≤ t ≤ high.

    The step is a public power of two. Clipping and rounding onto the grid is a function of one
    row alone, so it changes no stability, and sums of its integers are exact in any order.
    """

    origin: float
    step: float
    low: int
    high: int

    @classmethod
    def anchored(cls, bounds: Bounds) -> Grid:
        """For means and moments: integers 0, …, T count steps above the lower bound."""
        step = _step(bounds.upper - bounds.lower, bounds)
        return cls(bounds.lower, step, 0, _nearest((bounds.upper - bounds.lower) / step))

    @classmethod
    def centred(cls, bounds: Bounds, step: float | None = None) -> Grid:
        """For sums: integers count steps above zero."""
        step = step or sum_step(bounds)
        return cls(0.0, step, _nearest(bounds.lower / step), _nearest(bounds.upper / step))

    @property
    def reach(self) -> int:
        """The most that one row can add, in steps."""
        return max(abs(self.low), abs(self.high))

    def integers(self, values: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
        """Round float64 values onto the grid, in place; NaN stays NaN, ±inf clips."""
        if self.origin:
            np.subtract(values, self.origin, out=out)
            values = out
        np.multiply(values, 1.0 / self.step, out=out)
        np.rint(out, out=out)
        np.clip(out, self.low, self.high, out=out)

    def number(self, value: Fraction) -> float:
        """A rational number rounded to a multiple of the step."""
        step = Fraction(self.step)
        return float(round(value / step) * step)


def sum_step(bounds: Bounds) -> float:
    return _step(max(abs(bounds.lower), abs(bounds.upper)), bounds)


def _step(width: float, bounds: Bounds) -> float:
    largest = max(abs(bounds.lower), abs(bounds.upper))
    if width == 0:
        return math.ulp(largest) if largest else 1.0
    mantissa, exponent = math.frexp(width)  # width = mantissa · 2^exponent, ½ ≤ mantissa < 1
    exponent -= mantissa == 0.5
    step = max(math.ldexp(1.0, exponent - GRID_BITS), math.ulp(largest))
    if step < 2.0**-1000:
        raise QueryError(f"bounds {bounds} are too narrow to compute with. Nothing was charged.")
    return step


def _nearest(value: float) -> int:
    return int(np.rint(value))


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
            "tuples that you need. Nothing was charged."
        )


def _as_tuple(label: Any, width: int) -> tuple[Any, ...]:
    return (label,) if width == 1 else label


def _pick(keys: Mapping[Any, Any], column: str) -> Any:
    if column not in keys:
        raise MissingArgument(f"keys= has no entry for {column!r}. Nothing was charged.")
    return keys[column]


#: What has no labels in order; a frame would list its columns.
_UNLISTED = (str, bytes, set, frozenset, Mapping, pd.DataFrame)


def _labels(value: object, named: str, depth: int = 1) -> tuple[Any, ...]:
    example = f"keys= of {named} must be a list of labels, such as [9, 12, 14]"
    if depth > 1:
        example = f"keys= of {named} must be a list of tuples, or a dict with a list for each"
    if isinstance(value, _UNLISTED) or not isinstance(value, Iterable):
        raise QueryError(f"{example}; not {type(value).__name__}. Nothing was charged.")
    if SOURCE_ATTR in getattr(value, "attrs", ()):
        raise QueryError(
            f"{example}; this is a column of a protected source, and which labels it holds is "
            "private. Nothing was charged."
        )
    try:
        labels = tuple(islice((public(label) for label in value), MOST_KEYS + 1))
    except QueryError as error:
        raise QueryError(f"{example}; {error}") from None
    except TypeError:  # an array of no dimension
        raise QueryError(f"{example}; not {shown(value)}. Nothing was charged.") from None
    if not labels:
        raise QueryError(f"{example}; it is empty. Nothing was charged.")
    if len(labels) > MOST_KEYS:
        raise QueryError(f"keys= of {named} are more than {MOST_KEYS:,}. Nothing was charged.")
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
                "once. Nothing was charged."
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
                "to count them in a cell of their own. Nothing was charged."
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
        f"a {kind.__name__} is no plain value: give numbers, text, truth values or times. "
        "Nothing was computed or charged."
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


@dataclass(frozen=True)
class Unit:
    """Whom the promise protects: a row, or at most max_rows rows that share a column's value."""

    column: Any = None
    max_rows: int = 1

    @classmethod
    def parse(cls, column: object, max_rows: object, columns: Sequence[str]) -> Unit:
        rows = None if max_rows is None else whole_number(max_rows, "max_rows", 1, MOST_ROWS)
        if not isinstance(column, Hashable):
            raise QueryError(
                f"unit={shown(column)}: name the column that says whose row it is. "
                "Nothing was charged."
            )
        if column is None or (column == "row" and "row" not in columns):
            if rows not in (None, 1):
                raise QueryError(
                    f"max_rows={rows} needs unit=, the column that says whose row it is; "
                    "without one every row is one person."
                )
            return cls()
        if column not in columns:
            raise QueryError(
                f"unit={shown(column)} is no column. The columns: {some_names(columns)}."
            )
        if rows is None:
            raise MissingArgument(
                f"max_rows= is needed with unit={shown(column)}: at most so many rows of each unit "
                "are used, and the noise grows with their number. 1 would keep one row of each "
                "unit, and drop the others; dppandas never counts rows to choose it. Nothing was "
                "computed or charged."
            )
        return cls(column, rows)

    def __str__(self) -> str:
        if self.column is None:
            return "each row"
        rows = "1 row" if self.max_rows == 1 else f"at most {self.max_rows} rows"
        return f"each {self.column!r} ({rows})"


def whole_number(
    value: object, name: str, least: int, most: int | None = None, why: str = ""
) -> int:
    """A public whole number within limits; ``why`` is said with the refusal."""
    number = int(value) if isinstance(value, int | np.integer) else None
    good = number is not None and not isinstance(value, bool) and least <= number
    if number is None or not good or (most is not None and number > most):
        limits = f" from {least:,} to {most:,}" if most is not None else f", {least:,} or more"
        raise QueryError(
            f"{name}={shown(value)} must be a whole number{limits}{why}. Nothing was computed or "
            "charged."
        )
    return number


Declaration = Bounds | Keys | Span


def parse_domain(
    domain: object, columns: Sequence[Any], said: str = "domain="
) -> dict[Any, Declaration]:
    """A declared domain: for each column a (lower, upper) tuple, or a list of keys. The ends may be
    times, durations, or texts that read as times."""
    if domain is None:
        return {}
    if not isinstance(domain, Mapping):
        raise QueryError(f"{said} must be a dict such as {{'age': (17, 60), 'educ': [9, 12, 14]}}.")
    parsed: dict[Any, Declaration] = {}
    for column, declared in domain.items():
        if column not in columns:
            raise QueryError(
                f"{said} names {shown(column)}, which is no column: {some_names(columns)}."
            )
        is_named = Bounds.is_named(declared)
        is_pair = isinstance(declared, tuple) and len(declared) == 2
        span = Span.parse(declared, str(column)) if is_pair or is_named else None
        is_pair = is_pair and not any(isinstance(v, str | bool) for v in declared)
        if span is not None:
            parsed[column] = span
        elif is_pair or is_named:
            parsed[column] = Bounds.parse(declared, column)
        else:
            parsed[column] = Keys.parse(declared, [column])
    return parsed
