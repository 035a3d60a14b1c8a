"""Tables that the tests ask: the schema of all operations, and what is made of it.

Columns: number, group (text), code (whole numbers), yes and no (truth values), when (times).
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

import dppandas as dp
from dppandas.models.synthetic.domains import domain_of, marginals_of
from dppandas.models.synthetic.small_database import database

COLUMNS = ("number", "group", "code", "yes", "no", "when")
BOUNDS = (-5, 10)
GROUPS = ["a", "b", "c"]
CODES = [1, 2, 3]
DELTA = 1e-6
BOTH = {"group": GROUPS, "code": CODES}
WEIGHTS = {"weight_bounds": (0.5, 3)}
MONTHS = (pd.Timestamp("2019-12-31", tz="UTC"), pd.Timestamp("2020-02-01", tz="UTC"))
YEAR = ("2020-01-01", "2020-12-31")
FEW_DAYS = ("2020-01-01", "2020-01-06")
HOURS = (pd.Timedelta(0), pd.Timedelta("30D"))
DAYS = (pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-06", tz="UTC"))
#: A limit that lowers any noise, where a unit may have two rows.
FEW = {"max_rows_per_key": 1, "max_keys": 1}
BY_GROUP = {"group": GROUPS, "yes": [False, True]}

#: A few rows of the schema, some of them of one owner.
SCHEMA = pd.DataFrame({
    "number": np.arange(12) * 1.5 - 3, "group": list("abcx") * 3, "code": [1, 2, 3, 9] * 3,
    "yes": [True, False] * 6, "no": [False, True, True] * 4,
    "when": pd.date_range("2020-01-01", periods=12, tz="UTC"),
    "owner": [1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6],
})  # fmt: skip


def schema() -> pd.DataFrame:
    """Ten days of the schema, two rows to an owner."""
    rows = range(240)
    return pd.DataFrame({
        "number": [i % 7 - 2.5 for i in rows], "group": ["abx"[i % 3] for i in rows],
        "code": [i % 4 for i in rows], "yes": [i % 2 == 0 for i in rows],
        "no": [i % 5 == 0 for i in rows], "owner": [i // 2 for i in rows],
        "when": pd.date_range("2020-01-01", periods=240, freq="h", tz="UTC"),
    })  # fmt: skip


def sixty(rows: int = 60) -> pd.DataFrame:
    """The schema with few values: each group and each code in a third of the rows."""
    return pd.DataFrame({
        "number": np.arange(rows) % 10, "group": list("abc") * (rows // 3),
        "code": [1, 2, 3] * (rows // 3), "yes": True, "no": False,
        "when": pd.Timestamp("2020-01-02", tz="UTC"), "owner": range(rows),
    })  # fmt: skip


def letters(rows: int = 100) -> pd.DataFrame:
    """Numbers, four groups of one size, and units of two rows."""
    halves = [i // 2 for i in range(rows)]
    groups = list("abcd") * (rows // 4)
    return pd.DataFrame({"a": range(rows), "b": range(0, 2 * rows, 2), "g": groups, "u": halves})


def people(**terms: Any) -> Any:
    """A hundred of them, protected."""
    return dp.protect(letters(), name="people", domain={"g": list("abcd"), "a": (0, 100)}, **terms)


def spent() -> Fraction:
    return dp.ledger().spent


def statuses() -> list[str]:
    return [entry.status for entry in dp.ledger()._entries()]


LEVELS = pd.DataFrame(
    {"group": ["a", "a", "b"], "code": [1, 2, 1], "grade": ["low", "high", "low"]}
)


def parts(p: Any) -> Any:
    """A row for each of at most two parts of a text."""
    return p.assign(part=p["group"].str.split("a")).explode("part", max_items=2)


def per_unit(p: Any) -> Any:
    """A row for each unit, with an aggregate of each kind."""
    return p.query("not code == 9").per_unit().agg(
        n="size",
        total=("number", "sum"), average=("number", "mean"), middle=("number", "median"),
        least=("number", "min"), most=("number", "max"), there=("when", "count"),
        kinds=("group", "nunique"), ever=("yes", "any"), always=("no", "all"),
    )  # fmt: skip


def by_code(p: Any, by: Any = "owner") -> Any:
    """The rows of each unit, or of its labels, in an order in which most of them tie; None for the
    frame itself."""
    ordered = p.sort_values("code", ascending=False)
    return ordered if by is None else ordered.groupby(by)


def table(columns: dict[str, list[Any]], each: float) -> pd.Series:
    """A public table that expects the same in all cells."""
    index = pd.MultiIndex.from_product(list(columns.values()), names=list(columns))
    return pd.Series(each, index=index.get_level_values(0) if len(columns) == 1 else index)


def small(p: Any, rows: int) -> Any:
    """A database of a few rows, not selected yet."""
    domain = domain_of(p[["group", "yes"]], BY_GROUP)
    return database(p, domain, marginals_of(domain, [*BY_GROUP, tuple(BY_GROUP)]), rows, 8)


def vouched(p: Any) -> Any:
    """The same frame as if its caller vouched for it. A function of the caller's own would see the
    rows of a verified one, so that is refused; the road of a release is the same for both."""
    table = p._table
    asserted = replace(table, source=replace(table.source, verified=False))
    return dp.types.PrivateFrame(asserted, p._columns, p._where)


def rows_with(frame: pd.DataFrame, *wanted: Any) -> int:
    """How many rows hold each of some values, by column; of whatever else a row may hold."""
    kinds = (str, int, float, np.number)  # other elements can't be asked whether they are equal
    rows = zip(*(frame[name].tolist() for name, _ in wanted), strict=True)
    values = [value for _, value in wanted]
    pairs = (zip(row, values, strict=True) for row in rows)
    return sum(all(isinstance(x, kinds) and bool(x == v) for x, v in each) for each in pairs)


def lead(frame: pd.DataFrame) -> int:
    """By how many rows one group leads: one row more or less moves it by 1 at most."""
    return rows_with(frame, ("group", "a")) - rows_with(frame, ("group", "b"))
