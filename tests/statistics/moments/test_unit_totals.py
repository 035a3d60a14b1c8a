"""Sums of units' totals: by plain Python's whole numbers, on hostile totals, and by engines."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas import statistics as stats
from dppandas.errors import MissingArgument
from dppandas.privacy.accounting.losses import Rho
from dppandas.privacy.mechanisms.base import Sensitivity
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.statistics.moments.unit_totals import scaled_to

KEYS = ["a", "b", "c"]
HOSTILE = [
    0.0, -0.0, 1.5, -2.25, 300.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e308, -1e308,
    2.0**53 + 1, 1e-9, 499.9999999, 500.00000001,
]  # fmt: skip


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    dp.reset()
    dp.session(epsilon=1000)
    yield
    dp.reset()


def frame_of(rows: Sequence[tuple[Any, Any, float]]) -> pd.DataFrame:
    columns = list(zip(*rows, strict=True)) if rows else [[], [], []]
    who, k, x = map(list, columns)
    return pd.DataFrame({
        "who": pd.Series(who, dtype="float64"), "k": pd.Series(k, dtype=object),
        "x": pd.Series(x, dtype="float64"),
    })  # fmt: skip


def integers(frame: pd.DataFrame, bounds: tuple[float, float], max_rows: int = 1) -> list[int]:
    p = dp.private(frame, unit="who", max_rows=max_rows)
    asked = p.groupby("k", keys=KEYS)["x"].sum(per_unit_bounds=bounds)
    found: list[int] = ops.integers(asked, asked._table.engine)
    return found


def by_hand(rows: Sequence[tuple[Any, Any, float]], bounds: tuple[float, float]) -> list[int]:
    """In whole numbers and fractions; totals are floats, added up from the smallest to the largest,
    as their order is public."""
    grid = Grid.centred(Bounds.parse(bounds, "x"))
    most, sums = max(-grid.low, grid.high), [0] * len(KEYS)
    # the larger end is what all totals together are scaled down to
    low = -(2**40) if -grid.low == most else grid.low
    high = 2**40 if grid.high == most else grid.high
    for unit in {who for who, _, _ in rows if who == who and who is not None}:
        steps = []
        for key in KEYS:
            values = sorted(x for who, k, x in rows if who == unit and k == key and x == x)
            has_rows = any(who == unit and k == key for who, k, _ in rows)
            with np.errstate(all="ignore"):
                total = float(np.add.reduceat(values, [0])[0]) if values else 0.0
            if not has_rows or math.isnan(total):
                steps.append(0)
            elif math.isinf(total):
                steps.append(high if total > 0 else low)
            else:
                exact = Fraction(total) / Fraction(grid.step)
                steps.append(min(max(round(exact), low), high))
        for scale in (lambda t, size: math.floor(abs(t) * (most / size)),
                      lambda t, size: abs(t) * most // size):  # fmt: skip
            size = sum(map(abs, steps))
            if size > most:
                steps = [int(math.copysign(scale(t, size), t)) for t in steps]
            steps = [min(max(t, -most), most) for t in steps]
        assert sum(map(abs, steps)) <= most
        sums = [a + b for a, b in zip(sums, steps, strict=True)]
    return sums


def some_rows(rng: random.Random, number: int, values: Sequence[float]) -> list[Any]:
    who = [1, 2, 3, 4, None]
    return [(rng.choice(who), rng.choice([*KEYS, "d", None]), rng.choice(values))
            for _ in range(number)]  # fmt: skip


@pytest.mark.parametrize("bounds", [
    (0, 500), (-3, 2), (-500, 500), (5, 7), (-7, -5), (0, 0), (-1e-290, 1e-280), (-1e200, 1),
])  # fmt: skip
def test_totals_are_those_of_whole_numbers_by_hand(bounds: tuple[float, float]) -> None:
    rng = random.Random(str(bounds))
    for _ in range(40):
        rows = some_rows(rng, rng.choice([0, 1, 7, 30]), HOSTILE)
        assert integers(frame_of(rows), bounds) == by_hand(rows, bounds), rows


def test_all_small_tables_keep_the_sensitivity() -> None:
    """Each unit with up to three rows of five values in three groups, beside another unit: it moves
    all groups together by at most the larger bound, and by exactly that at most."""
    grid, most = Grid.centred(Bounds.parse((-3, 5), "x")), 0
    rows = list(itertools.product([9], KEYS, [-1e9, -3.0, 0.1, 4.0, math.inf]))
    beside = [(1, "a", 2.0), (1, "b", 4.0)]
    before = integers(frame_of(beside), (-3, 5))
    rng = random.Random(2)
    tables = [*itertools.combinations_with_replacement(rows, 2)]
    tables += rng.sample([*itertools.combinations_with_replacement(rows, 3)], 150)
    for joining in tables:
        after = integers(frame_of([*joining, *beside]), (-3, 5))
        moved = sum(abs(a - b) for a, b in zip(after, before, strict=True))
        assert moved <= grid.reach, joining
        most = max(most, moved)
    assert most == grid.reach


def test_neither_max_rows_nor_the_order_of_rows_nor_others_matter() -> None:
    rng = random.Random(8)
    values = [0.1, 0.2, 0.3, 1e16, -1e16, 7.7]
    rows = [(who, key, rng.choice(values)) for who in range(5) for key in KEYS for _ in range(6)]
    expected = integers(frame_of(rows), (-50, 50))
    for max_rows in (1, 2, 100):
        rng.shuffle(rows)
        assert integers(frame_of(rows), (-50, 50), max_rows) == expected
    own = [row for row in rows if row[0] == 3]
    others = [row for row in rows if row[0] != 3]
    parts = [integers(frame_of(each), (-50, 50)) for each in (own, others)]
    assert [a + b for a, b in zip(*parts, strict=True)] == expected


def test_scaling_never_exceeds_the_limit_whatever_the_numbers_are() -> None:
    rng, most = random.Random(4), 2**30
    for _ in range(300):
        limit = rng.choice([0, 1, 7, most - 1, most])
        steps = np.array([rng.choice([0, 1, -1, limit, -limit, rng.randint(-limit, limit)])
                          for _ in range(rng.choice([1, 3, 500]))], dtype=np.int64)  # fmt: skip
        size = int(np.abs(steps).sum())
        scaled = scaled_to(steps, np.full(len(steps), size), limit)
        assert np.abs(scaled).sum() <= limit
        assert (np.sign(scaled) * np.sign(steps) >= 0).all()
        assert (np.abs(scaled) <= np.abs(steps)).all()
        if size <= limit:
            assert (scaled == steps).all()
        else:
            assert (np.abs(np.abs(scaled) - np.abs(steps) * (limit / size)) < 1 + 1e-6).all()


def test_each_group_of_a_unit_is_scaled_alike() -> None:
    """Of ten teas at 50 and one lamp at 50, with 110 in all, a tenth is the lamp's."""
    rows = [(1, "a", 50.0)] * 10 + [(1, "b", 50.0)]
    grid = Grid.centred(Bounds.parse((0, 110), "x"))
    found = np.array(integers(frame_of(rows), (0, 110))) * grid.step
    assert found == pytest.approx([100, 10, 0], abs=1e-5)


def test_its_noise_is_that_of_one_limit_however_many_groups_and_rows() -> None:
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=1000)
    for keys in (["a"], [*"abcdefghij"]):
        asked = p.groupby("group", keys=keys)["number"].sum(per_unit_bounds=(-2, 5))
        query = asked._request.query(dp.session()._terms.asked(1))
        reach = Grid.centred(Bounds.parse((-2, 5), "x")).reach
        assert query.unit_sensitivity == Sensitivity(reach, reach**2, reach, False)
    two = p.groupby("group", keys=["a"])[["number", "code"]].sum(per_unit_bounds=(0, 5))
    query = two._request.query(dp.session()._terms.asked(1))
    assert query.unit_sensitivity == Sensitivity(2 * reach, 2 * reach**2, reach, True)


def test_its_rho_is_that_of_one_limit() -> None:
    dp.reset()
    dp.session(rho=9, delta="0.0001")
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=1000)
    found = p.groupby("group", keys=KEYS)["number"].sum(per_unit_bounds=(-2, 5), rho="0.5")
    assert dp.record(found).scale == pytest.approx(5)
    assert dp.record(found).loss.rho == Rho(Fraction(1, 2))


def test_one_total_is_the_question_of_one_row_for_each_unit() -> None:
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=2)
    one = p["number"].sum(per_unit_bounds=(-2, 5), epsilon=1)
    assert p.per_unit()["number"].sum().sum(bounds=(-2, 5), epsilon=1) == one
    assert dp.ledger().spent == 1


def test_it_is_charged_to_the_whole_source() -> None:
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=1)
    for part in p.partition("code", keys=[1, 2]).values():
        part.groupby("group", keys=KEYS)["number"].sum(per_unit_bounds=(0, 5), epsilon=1)
    assert dp.ledger().spent == 2
    assert all(entry.path == () for entry in dp.ledger()._entries())


def test_answers_have_the_shapes_of_sums(exact: None) -> None:
    frame = frame_of([(w, k, 2.0) for w in range(9) for k in ("a", "a", "b", None)])
    frame["t"] = pd.to_timedelta(1, unit="h")
    p = dp.protect(frame, "shapes", unit="who", max_rows=1)
    groups = p.groupby("k", keys=["b", "a"])
    one = groups["x"].sum(per_unit_bounds=(0, 100), epsilon=64)
    pd.testing.assert_series_equal(one, frame.groupby("k")["x"].sum().reindex(["b", "a"]))
    both = groups[["x", "t"]]
    with noted("numbers and durations"):
        refusal(lambda: both.sum(per_unit_bounds={"x": (0, 9), "t": ("0h", "9h")}, epsilon=1))
    spans = (pd.Timedelta(0), pd.Timedelta("9h"))
    times = groups["t"].sum(per_unit_bounds=spans, epsilon=64)
    assert times.tolist() == [pd.Timedelta("9h"), pd.Timedelta("18h")]
    shown = p.groupby("k", keys=["b", "a"], dropna=False, as_index=False, sort=False)
    table = shown["x"].sum(per_unit_bounds=(0, 100), epsilon=64)
    assert table.columns.tolist() == ["k", "x"]
    assert table["x"].tolist() == [18, 36, 18]
    assert (p["x"] > 1).sum(per_unit_bounds=(0, 3), epsilon=64) == 27
    assert p[["x"]].sum(per_unit_bounds=(0, 3), epsilon=64).tolist() == [27]


def test_the_largest_of_totals_can_be_selected(exact: None) -> None:
    frame = frame_of([(w, k, 2.0) for w in range(99) for k in ("a", "a", "b")])
    p = dp.private(frame, unit="who", max_rows=1)
    asked = p.groupby("k", keys=KEYS)["x"].sum(per_unit_bounds=(0, 100))
    assert asked.idxmax(epsilon=1) == "a"


def test_the_ledger_names_labels_and_limits() -> None:
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=2)
    p.groupby("group", keys=KEYS)["number"].sum(per_unit_bounds=(-2, 5), epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert "number in -2 to 5" in entry.what.whole
    assert "keys 'a', 'b', 'c'" in entry.what.whole
    assert "what each unit adds in all" in entry.what.whole
    assert entry.unit == "each 'owner' (all rows)"


@pytest.mark.parametrize("more", [
    {"bounds": (0, 5)}, {"norm": 3}, {"weights": "code", "weight_bounds": (0, 1)},
])  # fmt: skip
def test_limits_of_rows_are_refused_beside_it(more: dict[str, Any]) -> None:
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=2)
    for asked in (p["number"], p[["number"]], p.groupby("group", keys=KEYS)["number"]):
        refusal(lambda asked=asked: asked.sum(per_unit_bounds=(0, 5), **more, epsilon=1),
                "is about each row")  # fmt: skip


def test_what_has_no_totals_is_refused_before_the_charge() -> None:
    dp.reset()
    dp.session(epsilon=9, delta="0.0001")
    domain = {"number": (0, 5)}
    p = dp.protect(ops.SCHEMA.copy(), "rows", unit="owner", max_rows=2, domain=domain)
    groups = p.groupby("group", keys=KEYS)
    both = groups[["number", "code"]]
    refusal(lambda: both.sum(per_unit_bounds={"code": (0, 5)}, epsilon=1), "for one row",
            MissingArgument)  # fmt: skip
    refusal(lambda: groups["number"].sum(per_unit_bounds=(5, 0), epsilon=1))
    refusal(lambda: groups["group"].sum(per_unit_bounds=(0, 5), epsilon=1))
    refusal(lambda: groups["when"].sum(per_unit_bounds=ops.YEAR, epsilon=1))
    refusal(lambda: p[["yes"]].sum(per_unit_bounds=(0, 5), at_most=1, epsilon=1))
    found = p.groupby("group", delta="0.00001")["number"]
    refusal(lambda: found.sum(per_unit_bounds=(0, 5), epsilon=1), "declared keys")
    few = p.groupby("group", keys=KEYS, max_keys=1)["number"]
    refusal(lambda: few.sum(per_unit_bounds=(0, 5), epsilon=1), "a limit by key keeps some")
    alone = pd.DataFrame({"x": [1.0], "k": ["a"]}).dp
    refusal(lambda: alone["x"].sum(per_unit_bounds=(0, 5), epsilon=1), "needs a unit column",
            Exception)  # fmt: skip


def test_undeclared_keys_know_no_units_totals() -> None:
    """Were it asked all the same, rows rather than units would be limited."""
    assert stats.UnitTotals.methods == ()
