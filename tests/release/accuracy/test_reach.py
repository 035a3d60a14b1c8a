"""What is said of noise that drowns an answer: when, in which words, and that its figures hold."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import operations as ops
import pandas as pd
import pytest
from notes import noted

import dppandas as dp
from dppandas.display.notebook import whatif
from dppandas.privacy.mechanisms.noise import DiscreteLaplace, Within
from dppandas.release.accuracy import reach

ROWS = pd.DataFrame({"who": [1, 1, 2], "x": [1.0, 2.0, 3.0], "k": [0, 1, 2]})


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    dp.reset()
    yield dp.session(epsilon=100)
    dp.reset()


def visits(max_rows: int = 30) -> Any:
    return dp.protect(ROWS.copy(), name=f"visits {max_rows}", unit="who", max_rows=max_rows)


def told(ask: Any, rows: float | None = None) -> list[str]:
    with dp.preview(expected_rows=rows) as plan:
        ask()
    return plan.warnings


def test_bounds_and_rows_that_make_noise_of_a_table_are_named() -> None:
    groups = visits().groupby("k", keys=range(300))
    width = DiscreteLaplace(Fraction(30)).half_width(0.95, 300)
    (said,) = told(lambda: groups.size(epsilon=1))
    assert said == (
        f"release 1: one 'who' may move a cell by 30 (30 rows), and the noise will be ± {width} "
        f"(95 %): fewer than {width} rows in it hold less. Less noise: max_keys= or a smaller "
        "max_rows."
    )
    (said,) = told(lambda: groups["x"].sum(bounds=(-10, 450), epsilon=1))
    assert "may move a cell by 13,500 (30 rows), and the noise will be ± 120,000 " in said
    assert "fewer than 261 rows in it hold less" in said
    assert "per_unit_bounds=, a smaller max_rows or narrower bounds." in said


def test_it_is_said_wherever_a_release_is_weighed() -> None:
    asked = visits().groupby("k", keys=range(300))["x"].sum(bounds=(0, 450))
    shown: list[str] = []
    asked._repr_pretty_(SimpleNamespace(text=shown.append), False)
    words = "one 'who' may move a cell by 13,500 (30 rows)"
    assert f"at ε = 1 {words}" in shown[0]
    session = dp.session()
    query = asked._request.query(session._terms.asked(1))
    assert "One &#x27;who&#x27; may move a cell by 13,500" in whatif.forecast(
        session.ledger, query, "1", 1000).said  # fmt: skip
    with dp.preview() as plan:
        asked.release(epsilon=1)
    assert words in repr(plan)
    assert "may move a cell by 13,500" in plan._repr_html_()
    assert dp.ledger().spent == 0


def test_nobody_is_told_of_noise_that_is_small_or_plain() -> None:
    p, alone = visits(), dp.protect(ROWS[["x", "k"]].copy(), name="rows", unit="row")
    groups = p.groupby("k", keys=range(300))
    quiet = {
        "a count, whose noise is plain": lambda: p.count(epsilon="0.01"),
        "a larger loss": lambda: groups.size(epsilon=20),
        "a mean, which depends on the answer": lambda: groups["x"].mean(bounds=(0, 9), epsilon=1),
        "shares": lambda: p["k"].value_counts(keys=range(99), normalize=True, epsilon=1),
        "a row each": lambda: alone.groupby("k", keys=range(300)).size(epsilon="0.01"),
        "a unit each": lambda: p.per_unit().agg(n="size")["n"].sum(bounds=(0, 9), epsilon="0.01"),
        "a selection": lambda: groups.size().idxmax(epsilon="0.01"),
        "a median": lambda: groups["x"].median(bounds=(0, 9), epsilon=1),
        "nothing to be moved": lambda: groups["x"].sum(bounds=(0, 0), epsilon=1),
    }
    for name, ask in quiet.items():
        with noted(name):
            assert told(ask) == []


def test_rows_that_are_expected_decide_where_they_are_known() -> None:
    alone = dp.protect(ROWS[["x", "k"]].copy(), name="rows", unit="row")
    wide = DiscreteLaplace(Fraction(10)).half_width(0.95)
    for rows, is_said in ((10 * wide, False), (10 * wide - 1, True)):
        with noted(rows):
            assert bool(told(lambda: alone.count(epsilon="0.1"), rows)) == is_said
    (said,) = told(lambda: alone["x"].sum(bounds=(0, 9), epsilon="0.1"), 10)
    assert "one row may move the answer by 9, and" in said
    assert said.endswith("Less noise: narrower bounds.")
    with noted("without them"):
        groups = visits(10).groupby("k", keys=[0, 1])
        for epsilon, is_said in (("0.1", True), (1, False)):
            assert bool(told(lambda epsilon=epsilon: groups.size(epsilon=epsilon))) == is_said


def test_gaussian_noise_is_lessened_by_rows_a_key() -> None:
    dp.reset()
    dp.session(rho=10, delta="0.0001")
    groups = visits().groupby("k", keys=range(300))
    (said,) = told(lambda: groups.size(rho="0.1"))
    assert "Less noise: max_rows_per_key= or a smaller max_rows." in said


def test_what_was_answered_before_is_not_weighed_again() -> None:
    groups = visits().groupby("k", keys=range(300))
    groups.size(epsilon=1)
    assert told(lambda: groups.size(epsilon=1)) == []


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.OF_UNITS])
def test_the_move_that_is_told_is_that_of_the_sensitivity(name: str) -> None:
    """For every operation: one row's part, times the rows of a unit in a number, is ℓ∞ in the unit
    of the answer; and the half-width is that of the expected error."""
    release = importlib.import_module("dppandas.release.release")
    planned, queries = release._planned, []

    def spied(running: Any, query: Any, *more: Any) -> Any:
        queries.append(query)
        return planned(running, query, *more)

    release._planned = spied
    try:
        p = dp.protect(ops.SCHEMA.copy(), "reach", unit="owner", max_rows=3)
        with dp.preview():
            ops.released(name, p)
    finally:
        release._planned = planned
    for query in queries:
        statistic, model = query.statistic, query.statistic.errors
        adds = model.row_adds()
        if adds is None:
            continue
        rows = query.source.unit.max_rows * query.branches
        times = statistic.linf_sensitivity(rows) / statistic.linf if statistic.linf else 0
        steps = model.noise_steps if len(adds) > 1 or model.noise_in_columns else (1.0,)
        most = max(steps) * statistic.linf_sensitivity(rows)
        assert max(adds) * times <= most * (1 + 1e-12)
        if len({*steps}) == 1:
            assert max(adds) * times == pytest.approx(most, rel=1e-12)
        assert reach.told_of(query, Within(0)) == ""
