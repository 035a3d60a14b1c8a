"""What rows know of their units, to the last bit: whichever other units there are, and in whatever
order rows are. The tables are hostile: infinite, huge and missing numbers, ties, equal objects."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp
from dppandas.engines import exact_sums, truncation
from dppandas.engines.blocks import RowTable
from dppandas.engines.histories import UnitHistories
from dppandas.engines.readers import Columns
from dppandas.rows.facts.units import Unit
from dppandas.rows.values import orders, vectors
from dppandas.rows.values.cells import nearest

KEY = bytes(range(16))
HARD = [0.1, 0.2, 0.3, 1e16, 1.0, -1e16, 5e-324, -2.5e-308, 1e308, -1e308, 2.0**53, 7e-10, 0.0]


def nearest_sum(numbers: list[float]) -> float:
    infinite = {number for number in numbers if math.isinf(number)}
    return sum(infinite) if infinite else nearest(sum(map(Fraction, numbers), Fraction(0)))


@pytest.mark.parametrize("draws", range(40))
def test_sums_are_the_nearest_to_the_exact_ones(draws: int) -> None:
    """Of cents, of numbers of all sizes, of few and of many in a group, and of the infinite."""
    rng = np.random.default_rng(draws)
    rows, size = int(rng.integers(0, 400)), int(rng.integers(1, 40))
    groups = rng.integers(0, size, rows)
    numbers = [
        np.round(rng.exponential(50, rows), 2),
        rng.choice(HARD, rows),
        rng.choice([*HARD, np.inf, -np.inf], rows),
        rng.normal(0, 1, rows) * 2.0 ** rng.integers(-1070, 1020, rows),
        rng.normal(0, 1, rows) * 2.0 ** rng.integers(-60, 60, rows),
    ][draws % 5]
    found = exact_sums.sums(groups, numbers + 0.0, size)
    wanted = [nearest_sum(numbers[groups == group].tolist()) for group in range(size)]
    np.testing.assert_array_equal(found, wanted)
    assert not np.signbit(found[found == 0]).any()


def test_an_order_is_by_groups_then_by_arrays_then_by_what_decides() -> None:
    rng = np.random.default_rng(0)
    groups, one, other = (rng.integers(0, most, 5000) for most in (2**17, 3, 3))
    groups[:4000] %= 50
    first, second = rng.integers(0, 5, 5000), rng.permutation(5000)
    by = orders.in_groups(groups, [one, other])
    runs = orders.runs(by, [groups, one, other])
    by = orders.without_ties(by, runs, [lambda at: first[at], lambda at: second[at]])
    assert by.tolist() == np.lexsort((second, first, other, one, groups)).tolist()
    assert orders.by_codes(groups).tolist() == np.argsort(groups, kind="stable").tolist()


def hostile(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    def some(*values: Any) -> Any:
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return held[rng.integers(0, len(values), rows)]

    day, later = pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02 00:00:00.000000001")
    objects = some(1, True, "1", None, 1.0, np.nan, "b", day)
    return pd.DataFrame({
        "who": some(1.0, 2.0, 3.0, np.nan, 0.0, -0.0, 1e300, 4.0).astype(np.float64),
        "real": some(*HARD, -0.0, np.nan, np.inf, -np.inf).astype(np.float64),
        "whole": some(-(2**63), 2**63 - 1, 0, 1, 2, -1).astype(np.int64),
        "cents": some(0.1, 0.2, 0.3, 0.7, 1e16, -1e16).astype(np.float64),
        "few": some(0.5, 1.25, -0.0, 0.0, np.nan).astype(np.float64),
        "when": pd.Series(some(day, later, pd.NaT), dtype="M8[ns]"),
        "micros": pd.Series(some(day, pd.NaT, later.floor("us")), dtype="M8[us]"),
        "text": pd.Series(some("x", "y", "é", None), dtype="str"),
        "object": pd.Series(objects, dtype=object),
        "truth": some(True, False).astype(bool),
    })  # fmt: skip


def any_first(g: Any, name: str) -> Any:
    """The value of the row of least hash, which only tables per unit ask for."""
    return SimpleNamespace(_expression=replace(g[name].transform("max")._expression, how="first"))


WAYS = {
    **{
        f"{how} of {name}": (lambda g, how=how, name=name: g[name].transform(how))
        for how in ("sum", "mean", "median", "min", "max", "count", "nunique")
        for name in ("real", "whole", "few", "when", "micros", "text", "object", "truth")
        if how not in ("sum", "mean", "median") or name in ("real", "whole", "few")
    },
    "sum of cents": lambda g: g["cents"].transform("sum"),
    "mean of cents": lambda g: g["cents"].transform("mean"),
    **{f"first of {name}": partial(any_first, name=name) for name in ("real", "few", "object")},
    "any": lambda g: g["truth"].transform("any"),
    "size": lambda g: g["truth"].transform("size"),
}
ORDERED = {
    **{
        f"{how} of {name}": (lambda g, how=how, name=name: getattr(g[name], how)())
        for how in ("shift", "ffill", "cummax", "cumsum", "rank")
        for name in ("real", "whole", "few", "when", "micros", "text", "object")
        if how != "cumsum" or name in ("real", "whole", "few")
    },
    "last of object": lambda g: g["object"].transform("last"),
    "first of real": lambda g: g["real"].transform("first"),
    "cumcount": lambda g: g.cumcount(),
    "dense": lambda g: g["few"].rank(method="dense", ascending=False, na_option="top"),
}


def computed(frame: pd.DataFrame, way: Any, by: list[str], filtered: bool) -> list[str]:
    """The cells of a feature of each row, in words; -0.0 and 0.0 are one cell."""
    p = dp.private(frame, unit="who", max_rows=2)
    p = p.sort_values(by, ascending=[True, False][: len(by)]) if by else p
    expression = way((p.query("truth") if filtered else p).groupby("who"))._expression
    columns = Columns(frame)
    table = RowTable(columns, KEY, histories=UnitHistories(columns, KEY))
    held = expression.vector(table.block(0, len(table))).coded()
    return [repr(held.levels.cells[code]) if code >= 0 else "" for code in held.codes.tolist()]


def cells(frame: pd.DataFrame, found: list[str]) -> list[tuple[str, str]]:
    """Each row with its feature, sorted: identical rows may swap theirs."""
    rows = map(repr, frame.replace({-0.0: 0.0}).itertuples(index=False))
    return sorted(zip(rows, found, strict=True))


CASES = [
    *((name, way, []) for name, way in WAYS.items()),
    *((name, way, by) for name, way in ORDERED.items() for by in (["few"], ["when", "whole"])),
]


@pytest.mark.parametrize(("name", "way", "by"), CASES, ids=[f"{c[0]} {c[2]}" for c in CASES])
def test_a_unit_has_the_same_features_alone_and_among_others(name: str, way: Any, by: Any) -> None:
    """A unit by itself in another order, with the dtypes that its rows alone give: bit for bit what
    it has among others. `first` is chosen by hashes of the row, the others by values."""
    rng = np.random.default_rng(len(name))
    frame, filtered = hostile(rng, 60), bool(rng.integers(0, 2))
    together = computed(frame, way, by, filtered)
    codes = vectors.codes_of(Columns(frame)["who"])
    for unit in np.unique(codes[codes >= 0]).tolist():
        rows = np.flatnonzero(codes == unit)
        alone = frame.iloc[rng.permutation(rows)]
        own = alone.convert_dtypes().astype({"who": "float64"})
        wanted = cells(frame.iloc[rows], [together[row] for row in rows])
        assert cells(alone, computed(own, way, by, filtered)) == wanted


@pytest.mark.parametrize("max_rows", [1, 2, 9])
def test_a_unit_keeps_the_same_rows_alone_and_among_others(max_rows: int) -> None:
    rng = np.random.default_rng(max_rows)
    frame = hostile(rng, 200)
    kept = truncation.kept_rows(Columns(frame), Unit("who", max_rows), KEY)
    codes = vectors.codes_of(Columns(frame)["who"])
    assert not kept[codes < 0].any()
    for unit in np.unique(codes[codes >= 0]).tolist():
        rows = np.flatnonzero(codes == unit)
        alone = frame.iloc[rng.permutation(rows)]
        found = truncation.kept_rows(Columns(alone), Unit("who", max_rows), KEY)
        assert found.sum() == min(max_rows, len(rows))
        told = kept[rows].astype(str).tolist()
        assert cells(alone, found.astype(str).tolist()) == cells(frame.iloc[rows], told)


@pytest.mark.parametrize("labels", [1, 3, 50])
def test_groups_stay_apart_whatever_levels_a_column_has(labels: int) -> None:
    """A column may have more levels than rows: categories, bins, a public table's labels."""
    names = [f"c{i}" for i in range(labels)]
    frame = pd.DataFrame({"who": np.arange(40) % 8})
    frame["label"] = pd.Categorical([names[(i * 7) % labels] for i in range(40)], categories=names)

    def sizes(rows: pd.DataFrame) -> list[tuple[int, float]]:
        private = dp.private(rows, unit="who", max_rows=9)
        history = private.groupby(["who", "label"]).transform("size")._expression
        found = UnitHistories(Columns(rows), KEY).column(history)
        return list(zip(rows["who"].tolist(), vectors.as_numbers(found).tolist(), strict=True))

    wanted = frame.groupby(["who", "label"], observed=True)["who"].transform("size").tolist()
    assert [size for _, size in sizes(frame)] == wanted
    for left_out in range(8):
        kept = frame[frame["who"] != left_out]
        assert sizes(kept) == [each for each in sizes(frame) if each[0] != left_out]
