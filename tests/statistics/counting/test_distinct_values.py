"""How many distinct values there are, of columns whose keys nobody declared."""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.rows.values import equality
from dppandas.rows.values.cells import canonical
from dppandas.statistics import Distinct, DistinctValues, OccurringKeys

ZONED = pd.Timestamp("2025-01-01 12:00", tz="UTC")
#: Each list holds values that are equal here, and differ from those of all others.
ALIKE: list[list[Any]] = [
    [1, True, 1.0, Decimal(1), Fraction(1), np.float32(1)],
    [0.1, np.float64(0.1)], [Decimal("0.1"), Fraction(1, 10)], [0, False, -0.0],
    ["1"], ["a"], ["\ud800"], [(1, 2), [1, 2]], [(True, 2)], [2**53 + 1], [2.0**53], [2**70],
    [ZONED, ZONED.tz_convert("Asia/Tokyo")], [pd.Timestamp("2025-01-01 12:00")],
    [pd.Timedelta(1, "h")], [math.inf], [b"a"], [frozenset({1, 2})], [1j],
]  # fmt: skip
MISSING: list[Any] = [None, math.nan, pd.NA, pd.NaT]


class Odd:
    """Known by nothing."""


def exact_of(asked: Any, frame: pd.DataFrame, block: int = 50) -> list[int]:
    """The integers of an unreleased answer, of a frame in blocks."""
    unit = asked._table.source.unit
    return list(integers(asked, PandasEngine(frame, unit, b"key", block=block)))


def objects(values: list[Any]) -> pd.Series:
    held = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        held[i] = value
    return pd.Series(held, dtype=object)


def test_equal_values_are_one_whatever_their_types_and_blocks() -> None:
    rng = random.Random(1)
    values = [*itertools.chain(*ALIKE), *MISSING, Odd(), Odd(), 2**5000]
    wanted = len({equality.key(canonical(v)) for v in values} - {None})
    assert wanted == len(ALIKE)
    for block in (1, 2, 7, 100):
        rng.shuffle(values)
        frame = pd.DataFrame({"x": objects(values), "g": ["a", "b"] * (len(values) // 2) + ["a"] *
                              (len(values) % 2)})  # fmt: skip
        p = dp.private(frame, unit="row")
        with noted(block):
            assert exact_of(p["x"].nunique(), frame, block) == [wanted]
            assert exact_of(p["x"].nunique(dropna=False), frame, block) == [wanted + 1]
            groups = p.groupby("g", keys=["a", "c"])["x"]  # not those of "b"
            each = [
                len({equality.key(canonical(v)) for v in frame.loc[frame["g"] == g, "x"]} - {None})
                for g in "ac"
            ]
            assert exact_of(groups.nunique(), frame, block) == each


@pytest.mark.usefixtures("exact")
def test_without_noise_it_is_what_pandas_counts() -> None:
    rng = np.random.default_rng(5)
    rows = 200
    base = pd.DataFrame({
        "whole": rng.integers(-5, 20, rows), "real": rng.integers(0, 9, rows) / 4,
        "text": rng.choice(["a", "b", "", "é"], rows),
        "when": pd.to_datetime(rng.integers(0, 30, rows), unit="h"),
        "lasts": pd.to_timedelta(rng.integers(0, 30, rows), unit="h"),
        "g": rng.choice(["u", "v"], rows),
    })  # fmt: skip
    gone = rng.random((rows, 5)) < 0.1
    frames = {
        "plain": base, "missing": base.assign(
            **{c: base[c].where(~gone[:, i]) for i, c in enumerate(base.columns[:5])}),
        "nullable": base.convert_dtypes(), "category": base.astype({"text": "category"}),
        "arrow": base.convert_dtypes(dtype_backend="pyarrow"),
    }  # fmt: skip
    for name, df in frames.items():
        p = dp.private(df, unit="row")
        for column in base.columns[:5]:
            with noted((name, column)):
                for dropna in (True, False):
                    found = p[column].nunique(dropna, epsilon=1)
                    assert found == df[column].nunique(dropna)
                    grouped = p.groupby("g", keys=["u", "v"])[column].nunique(dropna, epsilon=1)
                    theirs = df.groupby("g")[column].nunique(dropna)
                    assert grouped.to_dict() == theirs.to_dict()
                    assert (type(found.item()), grouped.dtype) == (int, "int64")
    assert dp.private(base[:0], unit="row")["text"].nunique(dropna=False, epsilon=1) == 0
    several = dp.private(base, unit="row").groupby("g", keys=["u", "v"]).agg(
        texts=("text", "nunique"), rows=("whole", "size"), epsilon=2)  # fmt: skip
    assert several["texts"].tolist() == base.groupby("g")["text"].nunique().tolist()
    both = dp.private(base, unit="row")[["whole", "text"]].agg(["nunique"], epsilon=2)
    assert both.loc["nunique"].to_dict() == base[["whole", "text"]].nunique().to_dict()


def test_a_unit_brings_as_many_values_as_it_has_rows_and_takes_none_away() -> None:
    """By brute force: all tables of two units of up to two (three, of which two are kept) rows
    with a value and a group, a value of which may be missing."""
    cells = list(itertools.product(["a", 1, None], ["u", "v"]))
    tables = [list(rows) for n in range(3) for rows in itertools.product(cells, repeat=n)]
    more = [*tables, *([one, *two] for one in cells for two in tables[-9:])]
    moved: set[tuple[int, ...]] = set()
    for dropna in (True, False):
        for i, (one, other) in enumerate(itertools.product(tables, more)):
            if i % 29:  # a share of 43 × 97 pairs, with all kinds of rows on either side
                continue
            before = pd.DataFrame(one, columns=["x", "g"]).astype(object).assign(who=0)
            joined = pd.DataFrame(other, columns=["x", "g"]).astype(object).assign(who=1)
            after = pd.concat([joined, before])
            p = dp.private(before, unit="who", max_rows=2)
            alone = p["x"].nunique(dropna)
            groups = p.groupby("g", keys=["u", "v"])["x"].nunique(dropna)
            for asked in (alone, groups):
                counts = [exact_of(asked, frame, 2) for frame in (before, after)]
                moves = [b - a for a, b in zip(*counts, strict=True)]
                assert min(moves) >= 0, (one, other)
                assert sum(moves) <= 2, (one, other)
                moved.add(tuple(moves))
    assert {(2,), (1, 1), (2, 0)} <= moved  # what is stated is reached


def test_the_noise_is_that_of_a_count_of_the_units_rows() -> None:
    df = pd.DataFrame({"who": [1, 1, 2, 2], "x": [1.5, 2.5, 1.5, None], "g": ["a", "b", "a", "b"]})
    for unit, rows in (({"unit": "row"}, 1), ({"unit": "who", "max_rows": 1}, 1),
                       ({"unit": "who", "max_rows": 5}, 5)):  # fmt: skip
        p = dp.private(df, **unit)
        groups = p.groupby("g", keys=["a", "b", "c"])["x"]
        for asked in (p["x"].nunique(), p["x"].nunique(dropna=False), groups.nunique()):
            statistic = asked._statistic
            assert isinstance(statistic, DistinctValues)
            assert statistic.l1_sensitivity(rows) == statistic.linf_sensitivity(rows) == rows
            assert statistic.l2_squared_sensitivity(rows) == rows**2
            answer = asked.release(epsilon="0.5")
            record = dp.record(answer)
            assert record._law == DiscreteLaplace(Fraction(rows) / Fraction(1, 2))
            assert (record.error_unit, record.loss.epsilon) == ("values", Fraction(1, 2))
        longer = p.assign(part=p["g"].str.split("")).explode("part", max_items=3)["part"]
        assert dp.record(longer.nunique(epsilon=1)).scale == 3 * rows


def test_a_seldom_value_is_never_negative_and_has_an_interval(frozen: Any) -> None:
    p = dp.private(pd.DataFrame({"x": ["a", "b"]}), unit="row")
    for noise in (-50, 0, 3):
        frozen(noise)
        found = p["x"].nunique(epsilon=1)
        assert found == 2 + noise  # as a count, which says how noisy it is
        low, high = found.interval()
        assert 0 <= low <= max(0, 2 + noise) <= high
        assert found.error() == 3


def test_keys_units_and_truths_are_counted_as_before() -> None:
    df = pd.DataFrame({"who": [1, 2], "x": ["a", "b"], "t": [True, False]})
    p = dp.protect(df, "d", unit="who", max_rows=9, domain={"x": ["a", "b", "c"]})
    for column, kind, reach in (("x", OccurringKeys, 3), ("t", OccurringKeys, 2),
                                ("who", Distinct, 1)):  # fmt: skip
        statistic = p[column].nunique()._statistic
        assert type(statistic) is kind, column
        assert statistic.l1_sensitivity(9) == reach
    assert p["x"].nunique(dropna=False)._statistic.l1_sensitivity(9) == 4
    given = p["x"].nunique(keys=["a"])
    assert type(given._statistic) is OccurringKeys
    assert type(p["who"].nunique(dropna=False)._statistic) is Distinct


@pytest.mark.usefixtures("exact")
def test_missing_ones_count_beside_declared_keys() -> None:
    df = pd.DataFrame({"x": ["a", None, "b", "z"], "g": [1, 1, 2, 2]})
    p = dp.private(df, unit="row")
    assert p["x"].nunique(keys=["a", "b", "c"], epsilon=1) == 2
    assert p["x"].nunique(False, keys=["a", "b", "c"], epsilon=1) == 3
    groups = p.groupby("g", keys=[1, 2])["x"]
    assert groups.nunique(keys=["a", "b"], epsilon=1).tolist() == [1, 1]
    refusal(lambda: groups.nunique(False, keys=["a"], epsilon=1), "missing values only where no ke")


def test_a_number_of_values_is_never_asked_of_lists() -> None:
    df = pd.DataFrame({"x": [[1], [2]]})
    p = dp.protect(df, "d", kinds={"x": "list"})
    refusal(lambda: p["x"].nunique(epsilon=1), "list")


def test_the_question_says_what_is_counted() -> None:
    df = pd.DataFrame({"x": ["a", "b"], "g": [1, 2]})
    p = dp.protect(df, "d")
    p["x"].nunique(epsilon=1)
    p["x"].nunique(False, epsilon=1)
    p.groupby("g", keys=[1, 2])["x"].nunique(epsilon=1)
    asked = dp.ledger().to_frame()["query"].tolist()
    assert asked == ["nunique of x", "nunique with missing of x", "nunique of x by g (2 keys)"]
