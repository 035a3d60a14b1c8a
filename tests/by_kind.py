"""What the matrix of kinds asks: a clean column of each kind, and rows that say who answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import dppandas as dp


@dataclass(frozen=True)
class Case:
    """A clean column of a kind, and public facts that fit it."""

    cells: list[Any]
    dtype: Any
    labels: list[Any]
    declared: dict[str, str]  # where no dtype of numpy's or pandas' own is of this kind

    @property
    def frame(self) -> pd.DataFrame:
        half = len(self.cells) // 2
        turned = self.cells[half:] + self.cells[:half]
        return pd.DataFrame(
            {
                "x": self._column(self.cells), "y": self._column(turned),
                "g": [1, 2] * (len(self.cells) // 2), "n": np.arange(len(self.cells)) % 5 * 1.0,
                "u": np.arange(len(self.cells)) // 2}
        )  # fmt: skip

    def _column(self, cells: list[Any]) -> pd.Series[Any]:
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return pd.Series(array).astype(self.dtype)

    def private(self, unit: Any = "row", dtype: Any = None, **kinds_of: str) -> Any:
        frame = self.frame if dtype is None else self.frame.astype({"x": dtype, "y": dtype})
        return dp.private(frame, unit, 1 if unit == "row" else 2, kinds=kinds_of or self.declared)


def _times(zone: str | None) -> list[Any]:
    days = ["2020-01-31", "2020-02-29", "2020-02-29", None, "2021-07-01"]
    return [pd.NaT if day is None else pd.Timestamp(day, tz=zone) for day in days] * 8


LISTS: list[Any] = [[[1, 2], [3], [3], None, []][i % 5] for i in range(40)]
CASES: dict[str, Case] = {
    "number": Case([1.0, 2.0, 2.0, None, 4.0] * 8, "float64", [2, 4], {}),
    "truth": Case([True, False, True, True, False] * 8, "bool", [True, False], {}),
    "text": Case(["a", "bc", "bc", None, "a, b"] * 8, "string", ["bc", "a"], {}),
    "time": Case(_times(None), "datetime64[ns]", _times(None)[1::-1], {}),
    "zoned time": Case(_times("UTC"), "datetime64[ns, UTC]", _times("UTC")[1::-1], {}),
    "duration": Case(
        [pd.Timedelta(f"{n} h") if n else pd.NaT for n in (1, 2, 2, 0, 30)] * 8, "timedelta64[ns]",
        [pd.Timedelta("2h"), pd.Timedelta("1h")], {}),
    "list": Case(LISTS, object, [(3,), (1, 2)], {"x": "list", "y": "list"}),
}  # fmt: skip

ALL = frozenset(CASES)
NUMBERS, TEXTS = frozenset({"number", "truth"}), frozenset({"text"})
TRUTHS = frozenset({"truth"})
TIMES, LENGTHS = frozenset({"time", "zoned time"}), frozenset({"duration"})
LABELS = ALL - {"list"}
B: Any = {"bounds": (0, 5), "epsilon": 1}
E: Any = {"epsilon": 1}
#: Whatever labels there are: under this loss all of a clean column are found.
FREE: Any = {"delta": "1e-3", "epsilon": 50}

Ask = Callable[[Any, Case], Any]


@dataclass(frozen=True)
class Row:
    """What is asked, for which kinds it is answered, and what pandas says of the clean column (None
    where pandas has no such thing: then it has to be answered, and no more is said here)."""

    ours: Ask
    answered: frozenset[str]
    pandas: Ask | None = None
    unit: Any = "row"


def rows_where(mask: pd.Series[Any]) -> int:
    return int(mask.fillna(False).astype(bool).sum())


def counts(values: pd.Series[Any], labels: list[Any]) -> list[int]:
    return [int(sum(bool(v == label) for v in values if v is not None)) for label in labels]


def mask_row(make: Callable[[Any, Case], Any], answered: frozenset[str] = ALL) -> Row:
    """A mask that is spelled alike in both: how many rows it keeps."""
    return Row(lambda p, c: p[make(p, c)].count(**E), answered, lambda d, c: rows_where(make(d, c)))


def count_row(make: Callable[[Any, Case], Any], answered: frozenset[str] = ALL) -> Row:
    """What is spelled alike in both: how many of its values are there."""
    return Row(lambda p, c: make(p, c).count(**E), answered, lambda d, c: make(d, c).count())


def total_row(make: Callable[[Any, Case], Any], answered: frozenset[str]) -> Row:
    """A column of numbers that is spelled alike in both, added up."""
    return Row(
        lambda p, c: make(p, c).sum(bounds=(-1000, 3000), epsilon=1), answered,
        lambda d, c: make(d, c).astype(float).sum(),
    )  # fmt: skip


def by_group(ask: Callable[[Any], Any], answered: frozenset[str], pandas: Any = None) -> Row:
    theirs = None if pandas is None else lambda d, c: pandas(d.groupby("g"))
    return Row(lambda p, c: ask(p.groupby("g", keys=[1, 2])["x"]), answered, theirs)


def of_numbers(*names: str, is_exact: bool = True) -> dict[str, Row]:
    """Statistics of numbers that are spelled as pandas spells them, of a column, a frame and
    groups; compared with pandas' own where nothing but noise is between them."""

    def rows(name: str) -> dict[str, Row]:
        def ask(x: Any) -> Any:
            return getattr(x, name)(**B)

        def pandas(x: Any, d: pd.DataFrame, c: Case) -> Any:
            of = d.astype({"x": float})
            return getattr(of.groupby("g")["x"] if x == "g" else of[x], name)()

        def row(ours: Ask, x: Any) -> Row:
            return Row(ours, NUMBERS, partial(pandas, x) if is_exact else None)

        two = ["x", "n"] if is_exact else ["x"]  # describe leaves out texts beside numbers
        return {
            f"column.{name}": row(lambda p, c: ask(p["x"]), "x"),
            f"frame.{name}": row(lambda p, c: ask(p[two]), two),
            f"groups.{name}": row(lambda p, c: ask(p.groupby("g", keys=[1, 2])["x"]), "g"),
        }

    return {key: row for name in names for key, row in rows(name).items()}
