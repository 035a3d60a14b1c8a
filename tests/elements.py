"""What a cell may hold: plain elements, wild ones, and hostile ones, which raise when asked."""

from __future__ import annotations

import datetime as dt
import math
import zoneinfo
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from dppandas.rows.values import MISSING, Cell, vectors

NOON = pd.Timestamp(2020, 1, 1, 12)


def objects(values: Sequence[Any]) -> pd.Series[Any]:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return pd.Series(array, dtype=object)


def meanings(vector: vectors.Vector) -> list[Cell]:
    """The cell of each element."""
    held = vector.coded()
    return [MISSING if code < 0 else held.levels.cells[code] for code in held.codes.tolist()]


class Odd:
    """An element that can't be hashed, compared or printed."""

    def _refuse(self, *args: object) -> Any:
        raise RuntimeError

    __eq__ = __lt__ = __hash__ = __repr__ = __float__ = __bool__ = _refuse  # type: ignore[assignment]


PLAIN: dict[str, list[Any]] = {
    "number": [0, 1, -5, 10, 2.5, -0.0, 5e-324, 1e308, -1e308, math.nan, math.inf, -math.inf],
    "other": [0.1, 0.3, 0.2, 1e-30, 7, -(2**63), 2**53, None, True, False],
    "group": ["a", "b", "c", "", "x", None],
    "code": [1, 2, 3, 4, 2.0, 1.5, -1, True, None],
    "when": [NOON, NOON + dt.timedelta(days=1), pd.NaT],
}
#: What only an object column can hold, beside anything plain.
WILD: list[Any] = [
    "a", "2", " 1e3 ", "nan", 2, 2.0, 10**400, 2**63 - 1, 2**64 - 1, 1 + 0j, b"a", [1], {}, (1, 2),
    ("a", math.nan), Decimal("2"), Decimal("0.1"), Decimal("sNaN"), Fraction(1, 3), Odd(), None,
    pd.NA, pd.NaT, math.nan, NOON, NOON.tz_localize("UTC"), dt.date(2020, 1, 1),
    pd.Timestamp.max.tz_localize("UTC"), pd.Timestamp.min.tz_localize("UTC"),
    np.longdouble("1e4000"),
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(-dt.timedelta(hours=5))),
    np.float32(2), np.int8(2), np.bool_(True), np.complex128(2j), pd.Timedelta(1, "D"),
]  # fmt: skip


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
ELEMENTS: list[Any] = [
    None, math.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT"),
    0, 1, -1, True, False, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 2**64,
    10**400, -(10**400), 0.1, np.float32(0.1), np.float16(0.1), 0.5, 2.0**53, 2.0**63, -(2.0**63),
    -0.0, math.inf, -math.inf, 1e308, np.int8(1), np.uint64(2**63 + 1), np.True_,
    Decimal("0.1"), Decimal("0.5"), Decimal("Infinity"), Fraction(1, 10), Fraction(1, 2),
    3 + 0j, complex("nan"), "a", "0.1", "12", "1_0", " 5 ", "", "now", "2020-01-01", b"a",
    pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01T00:00:00.000000001"),
    pd.Timestamp(np.datetime64("200000-01-01")), np.datetime64("2020-01-01"),
    dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2020, 1, 1, tzinfo=BERLIN), dt.date(2020, 1, 1), dt.timedelta(1),
    np.timedelta64(1, "D"), pd.Period("2020-01"), pd.Interval(0, 1), (1, 2), [1], {}, {1},
    np.array([1, 2]), object, len,
]  # fmt: skip
if tuple(map(int, np.__version__.split(".")[:2])) < (2, 2):
    # numpy's times, as objects, hash like integers there, and equal them: np.timedelta64(1) is 1
    ELEMENTS = [x for x in ELEMENTS if not isinstance(x, np.datetime64 | np.timedelta64)]


def hostile(name: str, error: type[Exception]) -> Any:
    """An object whose method raises, where a plain one would be asked something."""

    def method(self: Any, *args: Any) -> Any:
        raise error(name)

    return type("Hostile", (), {name: method})()


METHODS = [
    "__eq__", "__ne__", "__lt__", "__gt__", "__hash__", "__float__", "__int__", "__index__",
    "__bool__", "__len__", "__iter__", "__repr__", "__str__", "__array__", "__neg__", "__abs__",
    "__add__", "__radd__", "__getattr__", "__contains__", "__format__", "strip", "tzinfo",
]  # fmt: skip


class HostileNumber(float):
    def __float__(self) -> float:
        raise ZeroDivisionError

    __eq__ = __lt__ = __hash__ = __float__  # type: ignore[assignment]


class HostileText(str):
    def strip(self, chars: str | None = None) -> str:
        raise ZeroDivisionError

    __eq__ = __hash__ = strip  # type: ignore[assignment]


class HostileTime(dt.datetime):
    def replace(self, *args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError

    __eq__ = __lt__ = __hash__ = replace  # type: ignore[assignment]


HOSTILE = [hostile(name, error) for name in METHODS for error in (RuntimeError, ZeroDivisionError)]
HOSTILE += [HostileNumber(1.5), HostileText("a"), HostileTime(2020, 1, 1, tzinfo=dt.UTC)]
