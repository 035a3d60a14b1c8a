"""Pairs of data sets that differ by one unit: with rows as they are, and with hostile rows.

Frames are put together cell by cell. All cells but those of the unit that joins are the same in
both frames of a pair; the columns' dtypes may differ, because pandas infers them from the cells.
"""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass
from ..errors import QueryError, quoted
from ..rows.facts.keys import is_missing
from ..rows.facts.units import Unit, whole_number
from ..rows.values.hashing import name_of

Row = list[Any]

BOOL = (bool, np.bool_)
PLAIN = (int, float, np.integer, np.floating, np.bool_)

#: The most units shared by both frames, and the most rows of the joining unit.
OTHERS, JOINING = 24, 12

MISSING: list[Any] = [None, math.nan, pd.NA, pd.NaT]
FLOATS: list[Any] = [math.nan, math.inf, -math.inf, -0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308]
INTEGERS: list[Any] = [2**63 - 1, -(2**63), 2**53 + 1, 2**31, -1, 0, 2**64 - 1]
#: Names that a unit could have. Equal names are one unit, whatever their types.
NAMES: list[list[Any]] = [
    [(1, "a"), (1.0, "a"), (Decimal(1), "a")], [datetime.timedelta(1), pd.Timedelta(1, "D")],
    [pd.Interval(0, 1), pd.Interval(0.0, 1.0)], [frozenset([0, 8]), frozenset([8, 0])],
    ["\ud800"], ["\x00"], [b"a"], [2**200], [Decimal("0.5"), 0.5], [datetime.date(2020, 1, 1)],
    [datetime.datetime(2020, 1, 1)], [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
    [pd.Timestamp.max.tz_localize("UTC")], [pd.Period("2020-01")], [10**400],
]  # fmt: skip
TEXTS: list[Any] = [
    "", " ", "2020Q1", "2019q3", "10:30", "now", "nan", "None", "12", "\x00", "\ud800", "Z" * 1000,
    "vanishing", "ſ",
]  # fmt: skip
TIMES: list[Any] = [
    pd.Timestamp.max, pd.Timestamp.min, pd.Timestamp("1970-01-01"), datetime.date(9999, 12, 31),
    pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-06-01", tz="America/New_York"),
    pd.Timedelta(1, "D"), "2020-01-01",
]  # fmt: skip
MIXED: list[Any] = [
    True, False, 2, 2.5, "a", b"a", 1 + 0j, 10**400, (1, 2), [1], {}, Decimal("0.1"),
    Decimal("NaN"), np.float32(0.1), np.bool_(True), datetime.date(2020, 1, 1), object(),
    pd.Interval(0, 1), pd.Interval(0.0, 1.0), {1, 2}, ("a", 1.0), pd.Period("2020-01"),
    np.array([0.1234567891]), np.array([0.1234567892]),
]  # fmt: skip


def neighbours(
    df: pd.DataFrame, *, unit: Any = None, pairs: int = 100, seed: int | None = None
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Pairs (D, D_prime) of frames that differ by one unit, which is in one of them.

    df : a frame to model others on, with at least one row; made up or not.
    unit : the column that says whose row it is; without one every row is a unit.
    pairs : how many pairs. Four kinds take turns: all of df and all but one unit; a part of df; a
        part of df and a unit with hostile cells (missing, infinite, extreme, far out of range, of a
        category or type of their own); tables of one unit or none. Rows are permuted, indexes may
        repeat labels or have two levels, and columns have several of pandas' dtypes.
    seed : makes the choice of pairs repeatable. No noise is drawn from it.

    The columns and their order are those of df. Raises `QueryError` for wrong arguments.

    >>> import pandas as pd
    >>> df = pd.DataFrame({"who": [1, 1, 2], "x": [3.0, 4.0, 5.0]})
    >>> D, D_prime = next(neighbours(df, unit="who", seed=1))
    >>> sorted([D.who.nunique(), D_prime.who.nunique()])
    [1, 2]
    """
    pool = _pool(df, unit)
    pairs = whole_number(pairs, "pairs", 1)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise QueryError(f"seed={quoted(seed)} must be a whole number.")
    return ((one, other) for _, one, other in _described(pool, pairs, Random(seed)))


def described(df: pd.DataFrame, unit: Any, pairs: int) -> Iterator[Pair]:
    """`neighbours` with a description of each pair. ``pairs`` is checked already."""
    return _described(_pool(df, unit), pairs, Random())


@dataclass(frozen=True)
class Pool:
    """The rows of a frame by unit, from which pairs are made."""

    frame: pd.DataFrame
    unit: int | None  # the position of the unit's column
    units: Sequence[Sequence[int]]  # the positions of each unit's rows

    def rows(self, positions: Sequence[int]) -> list[Row]:
        columns = [_cells(self.frame.iloc[list(positions), i]) for i in range(self.width)]
        return [list(row) for row in zip(*columns, strict=True)] if columns else []

    @property
    def width(self) -> int:
        return self.frame.shape[1]


def _pool(df: Any, unit: Any) -> Pool:
    if not isinstance(df, pd.DataFrame):
        raise QueryError(f"df must be a DataFrame, not {type(df).__name__}.")
    if not df.columns.is_unique:
        raise QueryError("df has columns of the same name. Rename them first.")
    if not len(df) or not df.shape[1]:
        raise QueryError("df needs at least one row and one column to model others on.")
    names = list(df.columns)
    column = Unit.parse(unit, 1, names).column
    frame = df.copy()
    frame.attrs = {}  # as what it was protected before doesn't matter here
    if column is None:
        return Pool(frame, None, [[i] for i in range(len(df))])
    position = names.index(column)
    owned: dict[Any, list[int]] = {}
    for at, owner in enumerate(_cells(frame.iloc[:, position])):
        if not is_missing(owner):
            owned.setdefault(name_of(owner), []).append(at)
    if not owned:
        raise QueryError(f"unit={quoted(unit)} is missing in all rows, so there are no units.")
    return Pool(frame, position, list(owned.values()))


def _cells(series: pd.Series[Any]) -> list[Any]:
    return list(series.astype(object).array)


# --- pairs ----------------------------------------------------------------------------------------


#: What is special about a pair, and its two frames.
Pair = tuple[str, pd.DataFrame, pd.DataFrame]


def _described(pool: Pool, pairs: int, rng: Random) -> Iterator[Pair]:
    kinds = (_whole, _part, _hostile, _few)
    for number in range(pairs):
        what, less, more = kinds[number % len(kinds)](pool, rng)
        yield (what, more, less) if rng.random() < 0.5 else (what, less, more)


def _whole(pool: Pool, rng: Random) -> Pair:
    gone = rng.choice(pool.units)
    kept = np.ones(len(pool.frame), dtype=bool)
    kept[list(gone)] = False
    return "a unit of the frame itself", pool.frame[kept].copy(), pool.frame.copy()


def _part(pool: Pool, rng: Random) -> Pair:
    return _made(pool, "a unit as it is", *_drawn(pool, rng, OTHERS), rng)


def _few(pool: Pool, rng: Random) -> Pair:
    others, joining = _drawn(pool, rng, rng.choice([0, 0, 1]))
    what = "a unit that joins one other" if others else "a unit that is alone"
    if rng.random() < 0.5:
        what = f"{what}, {_spoil(pool, joining, rng)}"
    return _made(pool, what, others, joining, rng)


def _hostile(pool: Pool, rng: Random) -> Pair:
    others, joining = _drawn(pool, rng, OTHERS)
    if rng.random() < 0.3:  # hostile rows in both frames: ties, and dtypes that don't change
        _spoil(pool, [row for row in others if rng.random() < 0.5], rng, owners=False)
    return _made(pool, f"a unit {_spoil(pool, joining, rng)}", others, joining, rng)


def _drawn(pool: Pool, rng: Random, most: int) -> tuple[list[Row], list[Row]]:
    """Rows of some units, and of one that joins; its rows may be repeated."""
    count = rng.randint(0, min(most, len(pool.units) - 1)) if most > 1 else most
    joins, *stay = rng.sample(range(len(pool.units)), min(count + 1, len(pool.units)))
    joining = pool.rows(pool.units[joins][:JOINING])
    if pool.unit is not None and rng.random() < 0.5:
        joining = [list(rng.choice(joining)) for _ in range(rng.randint(1, JOINING))]
    others = pool.rows([at for i in stay for at in pool.units[i]][: 2 * OTHERS])
    return others, joining


def _spoil(pool: Pool, rows: list[Row], rng: Random, owners: bool = True) -> str:
    """Put hostile cells into some columns. The unit keeps its name, or gets another, or none."""
    columns = [i for i in range(pool.width) if i != pool.unit]
    some = rng.sample(columns, rng.choice([1, len(columns)])) if columns else []
    for i in some:
        cells = hostile_cells(pool.frame.iloc[:, i], rng)
        for row in rows:
            row[i] = rng.choice(cells)
    if owners and pool.unit is not None and rng.random() < 0.3:
        names = rng.choice(NAMES)
        own = map(name_of, _cells(pool.frame.iloc[:, pool.unit]))
        if {name_of(name) for name in names}.isdisjoint(own):
            for row in rows:
                row[pool.unit] = rng.choice(names)
    elif owners and pool.unit is not None and rng.random() < 0.1:
        del rows[1:]  # one row without a unit: several might belong to several units
        rows[0][pool.unit] = rng.choice(MISSING)
    return f"with hostile cells in {', '.join(repr(pool.frame.columns[i]) for i in some)}"


def hostile_cells(series: pd.Series[Any], rng: Random) -> list[Any]:
    """Awkward cells that a column like this could hold."""
    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, pd.CategoricalDtype):
        kind = "O"
    fit = {"f": FLOATS, "i": INTEGERS, "u": INTEGERS, "b": [True, False], "M": TIMES, "m": TIMES}
    own = [*fit.get(kind, TEXTS)]
    if kind in "iuf":
        own += [scale * 10**power for scale in (1, -1) for power in (3, 6, 12)]
    several = own if rng.random() < 0.5 else [*own, *MIXED, *FLOATS, *TEXTS, *TIMES]
    return [*several, *MISSING]


# --- frames ---------------------------------------------------------------------------------------


def _made(pool: Pool, what: str, others: list[Row], joining: list[Row], rng: Random) -> Pair:
    """Two frames with the same cells except for the unit that joins, each in its own order."""
    style, index = rng.choice(list(STYLES)), rng.choice(list(INDEXES))
    less, more = list(others), [*others, *joining]
    if rng.random() < 0.5:
        rng.shuffle(more)
        rng.shuffle(less)
    frames = [_frame(pool, rows, STYLES[style]) for rows in (less, more)]
    for frame in frames:
        frame.index = INDEXES[index](len(frame))
    return f"{what} ({style} columns, {index} index)", frames[0], frames[1]


#: Makes a column from cells and the column they are modelled on. It isn't used if it loses cells.
Style = Callable[[list[Any], "pd.Series[Any]"], Any]

STYLES: dict[str, Style] = {
    "the frame's own": lambda cells, like: pd.Series(cells, dtype=like.dtype),
    "inferred": lambda cells, like: pd.Series(cells),
    "nullable": lambda cells, like: pd.Series(cells).convert_dtypes(),
    "categorical": lambda cells, like: pd.Categorical(cells),
    "object": lambda cells, like: _objects(cells),
}

INDEXES: dict[str, Callable[[int], pd.Index]] = {
    "plain": lambda n: pd.RangeIndex(n),
    "repeating": lambda n: pd.Index(np.zeros(n, dtype=np.int64)),
    "two-level": lambda n: pd.MultiIndex.from_arrays([np.arange(n) % 2, np.arange(n)]),
    "textual": lambda n: pd.Index([f"row {i // 2}" for i in range(n)], dtype=object),
}


def _frame(pool: Pool, rows: list[Row], style: Style) -> pd.DataFrame:
    columns = {
        i: _column([row[i] for row in rows], pool.frame.iloc[:, i], style)
        for i in range(pool.width)
    }
    frame = pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))
    frame.columns = pool.frame.columns
    return frame


def _column(cells: list[Any], like: pd.Series[Any], style: Style) -> Any:
    """A column of cells in the style asked for, else as pandas infers it, else of objects."""
    for attempt in (style, STYLES["inferred"]):
        try:
            with warnings.catch_warnings():  # of what future versions of pandas will infer
                warnings.simplefilter("ignore")
                column = pd.Series(attempt(cells, like))
            if all(map(_same, cells, _cells(column))):
                return column
        except Exception:  # cells that don't fit, or can't be compared
            continue
    return _objects(cells)


def _objects(cells: list[Any]) -> pd.Series[Any]:
    return pd.Series(np.fromiter(cells, dtype=object, count=len(cells)), dtype=object)


def _same(before: Any, after: Any) -> bool:
    if is_missing(before) or is_missing(after):
        return is_missing(before) and is_missing(after)
    if isinstance(before, PLAIN) and isinstance(after, PLAIN):
        return bool(before == after) and isinstance(before, BOOL) == isinstance(after, BOOL)
    if isinstance(before, datetime.datetime) and str(before) != str(after):
        return False  # the same instant on another clock
    return type(before) is type(after) and bool(before == after)
