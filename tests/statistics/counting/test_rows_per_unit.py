"""Suggested limits on the rows of a unit: by hand, by brute force, and what they promise."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from hostile import ALONE, SUMMED
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas import statistics as stats
from dppandas.errors import QueryError
from dppandas.privacy.mechanisms.base import Sensitivity
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace, Within
from dppandas.rows.expressions import Column
from dppandas.rows.figures import plus_minus
from dppandas.statistics.counting.rows_per_unit import RowsPerUnit, smoothed, tails

FIGURES = ["max_rows", "units_cut", "rows_dropped"]


def rows_of(*sizes: int) -> pd.DataFrame:
    """Units with so many rows each."""
    return pd.DataFrame({"who": np.repeat(np.arange(len(sizes)), sizes), "x": 1})


def protected(frame: pd.DataFrame, name: str = "visits", max_rows: Any = 1) -> Any:
    return dp.protect(frame, name=name, unit="who", max_rows=max_rows)


def statistic(keep: Fraction | None = None, counted: int = 20, margin: int = 0) -> RowsPerUnit:
    limits = stats.limits_up_to(counted)
    return RowsPerUnit(ALONE, SUMMED, Column("rows"), limits, keep, margin)


def counts_of(sizes: list[int], limits: tuple[int, ...]) -> list[int]:
    """By hand: a unit is in the bin of the least limit that holds its rows, or in the last."""
    bins = [next((i for i, k in enumerate(limits) if n <= k), len(limits)) for n in sizes]
    return [bins.count(i) for i in range(len(limits) + 1)]


def true_shares(sizes: list[int], limit: int, counted: int) -> tuple[float, float]:
    seen = [min(n, counted) for n in sizes]
    cut = sum(n > limit for n in sizes) / len(sizes)
    return cut, sum(max(n - limit, 0) for n in seen) / sum(seen)


# --- by hand --------------------------------------------------------------------------------------


def test_limits_are_near_in_proportion_and_end_where_counting_does() -> None:
    assert stats.limits_up_to(2) == (1, 2)
    assert stats.limits_up_to(10) == (1, 2, 3, 4, 5, 6, 8, 10)
    assert stats.limits_up_to(100)[7:] == (10, 15, 20, 30, 50, 70, 100)
    assert stats.limits_up_to(101)[-2:] == (100, 101)
    for counted in (2, 9, 17, 1000, 2**31):
        limits = stats.limits_up_to(counted)
        assert [*limits] == sorted(set(limits))
        assert limits[-1] == counted
        assert all(b <= max(a + 1, a * 5 / 3 + 1e-9) for a, b in pairwise(limits))


@pytest.mark.parametrize(("sizes", "keep", "limit"), [
    ([1] * 950 + [3] * 50, 0.95, 1),  # as many as may be are cut
    ([1] * 949 + [3] * 51, 0.95, 3),
    ([1] * 900 + [7] * 100, 0.99, 8),  # 7 and 8 aren't told apart
    ([30] * 1000, 0.5, 30),
    ([1] * 500 + [100] * 500, 0.99, 100),
])  # fmt: skip
def test_without_noise_the_least_limit_that_keeps_enough_is_suggested(
    sizes: list[int], keep: float, limit: int, exact: None
) -> None:
    dp.reset()
    dp.session(epsilon=1000)
    p = protected(rows_of(*sizes))
    found = p.suggest_max_rows(keep=keep, epsilon=64)
    assert found.index.tolist() == FIGURES
    assert found["max_rows"] == limit
    cut, dropped = true_shares(sizes, limit, 100)
    assert found["units_cut"] == pytest.approx(cut, abs=1e-8)
    intervals = dp.record(found).intervals()
    assert intervals.loc["max_rows", "lower"] <= limit <= intervals.loc["max_rows", "upper"]
    assert intervals.loc["rows_dropped", "lower"] <= dropped
    assert dropped <= intervals.loc["rows_dropped", "upper"]


def test_all_rows_count_that_pass_the_filters_whatever_max_rows_is(exact: None) -> None:
    dp.reset()
    dp.session(epsilon=1000)
    frame = rows_of(*[4] * 600)
    frame["x"] = np.arange(len(frame)) % 4
    for max_rows in (1, 2, 50):
        p = protected(frame, f"visits {max_rows}", max_rows)
        assert p.suggest_max_rows(epsilon=64)["max_rows"] == 4
        assert p[p["x"] < 2].suggest_max_rows(epsilon=64)["max_rows"] == 2


def test_another_keep_and_all_limits_are_free() -> None:
    dp.reset()
    dp.session(epsilon=1)
    p = protected(rows_of(*[1] * 3000, *[2] * 3000))
    first = p.suggest_max_rows(epsilon=1)
    table = p.suggest_max_rows(keep=None, epsilon=1)
    again = p.suggest_max_rows(keep=0.3, epsilon=1)
    assert dp.ledger().spent == 1
    assert (first["max_rows"], again["max_rows"]) == (2, 1)
    assert table.loc[1].tolist() == again[1:].tolist()
    assert table.index.name == "max_rows"
    assert table["units_cut"].is_monotonic_decreasing
    assert table["rows_dropped"].is_monotonic_decreasing


def test_a_suggestion_is_a_limit() -> None:
    dp.reset()
    dp.session(epsilon=2)
    frame = rows_of(*[3] * 4000)
    found = protected(frame).suggest_max_rows(epsilon=1)
    limited = protected(frame, "limited", max_rows=found)
    assert limited._table.source.unit.max_rows == 3
    assert dp.private(frame, unit="who", max_rows=found)._table.source.unit.max_rows == 3


def test_few_units_and_many_rows_get_no_suggestion_and_max_rows_says_why(exact: None) -> None:
    dp.reset()
    dp.session(epsilon=1000)
    few = protected(rows_of(*[1] * 200)).suggest_max_rows(epsilon=1)
    many = protected(rows_of(*[30] * 200), "many").suggest_max_rows(counted=10, epsilon=64)
    none = protected(rows_of()[:0], "none").suggest_max_rows(epsilon=64)
    for found, ends in ((few, [1, 1]), (many, [10, math.inf]), (none, [1, math.inf])):
        with noted(ends):
            assert found.isna().all()
            intervals = dp.record(found).intervals()
            assert intervals.loc["max_rows", "upper"] >= ends[1]
            assert intervals.loc["units_cut"].tolist() == [0, 1]
            with pytest.raises(QueryError, match="no limit was suggested"):
                protected(rows_of(1), "refused", max_rows=found)
    assert dp.record(many).intervals().loc["max_rows"].tolist() == [10, math.inf]


def test_what_a_suggestion_needs_is_known_before() -> None:
    """The margin by which it is refused is the one that the words tell."""
    p = dp.private(rows_of(1, 2), unit="who", max_rows=1)
    with dp.preview() as plan:
        p.suggest_max_rows(epsilon="0.1", keep=0.9)
        p.suggest_max_rows(epsilon="0.1", keep=None)
    margin = statistic(counted=100).margin_at(DiscreteLaplace(Fraction(10)))
    assert plan.to_frame()["error"].tolist() == [
        f"needs about {10 * margin:,} units", f"{plus_minus(margin)} units above each limit"
    ]  # fmt: skip
    for units, is_enough in ((10 * margin - 1, False), (10 * margin, True)):
        made = statistic(Fraction(9, 10), margin=margin)
        assert (made.chosen([units] + [0] * (made.size - 1)) is not None) == is_enough


@pytest.mark.parametrize("arguments", [
    {"keep": 0}, {"keep": 1}, {"keep": 95}, {"keep": "0.9"}, {"keep": True}, {"keep": math.nan},
    {"counted": 1}, {"counted": 2.5}, {"counted": 2**40}, {"counted": None},
])  # fmt: skip
def test_bad_arguments_are_refused_before_anything(arguments: dict[str, Any]) -> None:
    dp.reset()
    dp.session(epsilon=1)
    p = protected(rows_of(1, 2))
    refusal(lambda: p.suggest_max_rows(**arguments, epsilon=1))
    refusal(lambda: rows_of(1).dp.suggest_max_rows(epsilon=1))
    assert dp.ledger().spent == 0


# --- sensitivity ----------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [1, 2, 9, 10, 11, 100, 5000])
def test_a_unit_moves_one_number_by_one_however_many_rows_it_has(more: int) -> None:
    before = dp.private(rows_of(1, 2, 30), unit="who", max_rows=1)
    after = dp.private(rows_of(1, 2, 30, more), unit="who", max_rows=1)
    asked = [p.suggest_max_rows(counted=20) for p in (before, after)]
    one, other = (ops.integers(each, each._table.engine) for each in asked)
    assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1
    assert asked[0]._statistic.sensitivity(1) == Sensitivity(1, 1, 1, True)


def test_bins_are_those_by_hand() -> None:
    rng = random.Random(3)
    for _ in range(50):
        sizes = [rng.choice([1, 2, 7, 8, 9, 10, 11, 20, 21, 40]) for _ in range(rng.randint(1, 9))]
        asked = dp.private(rows_of(*sizes), unit="who", max_rows=1).suggest_max_rows(counted=20)
        found = ops.integers(asked, asked._table.engine)
        assert found == counts_of(sizes, stats.limits_up_to(20))


# --- what it promises -----------------------------------------------------------------------------


def noisy_of(counts: list[int], rng: random.Random, most: int) -> list[int]:
    return [count + rng.randint(-most, most) for count in counts]


def test_intervals_hold_whatever_noise_within_the_width_does() -> None:
    """2,000 tables with noise of each number within ±w, some at its ends: every share of units and
    of rows lies in its interval, and so does the least limit that keeps enough."""
    rng = random.Random(17)
    for _ in range(2000):
        sizes = [rng.choice([1, 2, 3, 8, 9, 14, 20, 33]) for _ in range(rng.choice([1, 9, 80]))]
        made, wide = statistic(), rng.choice([0, 1, 3])
        noisy = noisy_of(counts_of(sizes, made.limits), rng, wide)
        if rng.random() < 0.3:
            sign = rng.choice([-wide, wide])
            noisy = [count + sign for count in counts_of(sizes, made.limits)]
        ends = made.errors.intervals(noisy, wide)
        true = [share for k in made.limits for share in true_shares(sizes, k, 20)]
        for (low, high), share in zip(ends, true, strict=True):
            assert low - 1e-9 <= share <= high + 1e-9, (sizes, noisy)
        keep = Fraction(rng.randint(1, 19), 20)
        asked = statistic(keep)
        (low, high), *_ = asked.errors.intervals(noisy, wide)
        cuts = [(k, sum(n > k for n in sizes)) for k in made.limits]
        least = [k for k, cut in cuts if cut <= (1 - keep) * len(sizes)]
        assert low <= min(least, default=math.inf) <= high, (sizes, noisy)


def test_a_suggestion_keeps_its_promise_while_the_noise_of_tails_is_within_its_margin() -> None:
    """It cuts at most twice what may be cut, and isn't above the least limit that cuts nobody."""
    rng, suggested = random.Random(5), 0
    for _ in range(3000):
        sizes = [rng.choice([1, 2, 5, 9, 20]) for _ in range(rng.choice([30, 100, 300]))]
        counts = counts_of(sizes, stats.limits_up_to(20))
        noisy = noisy_of(counts, rng, rng.choice([1, 3]))
        margin = max(abs(a - b) for a, b in zip(tails(noisy), tails(counts), strict=True))
        made = statistic(Fraction(rng.randint(10, 19), 20), margin=margin)
        place = made.chosen(noisy)
        if place is None:
            continue
        suggested += 1
        allowed = (1 - made.keep) * smoothed(noisy)[0]  # type: ignore[operator]
        assert sum(n > made.limits[place] for n in sizes) <= 2 * allowed
        assert made.limits[place] <= min(k for k in made.limits if k >= max(sizes))
    assert suggested > 500


def test_smoothed_tails_are_no_farther_off_than_tails() -> None:
    rng = random.Random(9)
    for _ in range(500):
        counts = [rng.randint(0, 9) for _ in range(rng.randint(1, 8))]
        noisy = noisy_of(counts, rng, 4)
        true, made = tails(counts), smoothed(noisy)
        far = max(abs(a - b) for a, b in zip(tails(noisy), true, strict=True))
        assert max(abs(a - b) for a, b in zip(made, true, strict=True)) <= far
        assert all(a >= b >= 0 for a, b in zip(made, [*made[1:], Fraction(0)], strict=True))


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(9))])
def test_the_margin_holds_for_all_tails_together(law: Any) -> None:
    """By the exact variance: a margin below 1.6 deviations of the whole sum would be too small for
    95 %, and one above 4 needlessly wide."""
    made = statistic(counted=100)
    variance = 9 if isinstance(law, DiscreteGaussian) else 2 * 9
    deviation = math.sqrt(variance * made.size)
    assert 1.9 * deviation < made.margin_at(law) < 4 * deviation
    assert made.noise_of_tails(Within(2), 0.95) == 2 * made.size
