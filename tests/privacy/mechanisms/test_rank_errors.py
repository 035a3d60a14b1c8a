"""How many ranks quantiles may be off: proven bounds by exact laws, and extremes as near as any."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from test_quantiles import exactly, law, off, ranks

import dppandas as dp
from dppandas.privacy.mechanisms import quantiles, rank_errors
from dppandas.privacy.mechanisms.quantile_plans import Slots, plan
from dppandas.privacy.mechanisms.rank_errors import Tails, joint_errors
from dppandas.privacy.mechanisms.ranks import Ranks
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.figures import plus_minus

QUARTILES = tuple(Fraction(i, 4) for i in (1, 2, 3))
DECILES = tuple(Fraction(i, 10) for i in range(1, 10))
TOP = 2**30


def column(n: int = 100) -> pd.Series[float]:
    return pd.Series(np.arange(float(n)), name="x")


# --- what is stated -------------------------------------------------------------------------------


@pytest.mark.parametrize(("shares", "known", "free"), [(QUARTILES, 80, 93), (DECILES, 361, 513)])
def test_several_quantiles_state_errors_near_the_best(shares: Any, known: int, free: int) -> None:
    dp.session(epsilon=5)
    asked = column().dp.quantile([float(q) for q in shares], bounds=(0, 1024))
    assert asked.expected_error(epsilon=1, expected_rows=10_000) <= known
    assert asked.expected_error(epsilon=1) <= free
    record = dp.record(asked.release(epsilon=1))
    assert record.errors(expected_rows=10_000).max() <= known
    assert record.errors().max() <= free


def test_within_asks_for_less_where_rows_are_known() -> None:
    dp.session(epsilon=10)
    for rows, most in ((None, "1.2"), (10_000, "1.01")):
        asked = column().dp.quantile([0.25, 0.5, 0.75], bounds=(0, 1024))
        record = dp.record(asked.release(within=80, expected_rows=rows))
        assert record.epsilon <= Fraction(most)
        assert record.errors().max() <= 80
        assert record.expected == f"{plus_minus(record.errors().max())} ranks"


def test_a_released_number_of_rows_bounds_the_ranks_of_quantiles_beside_it() -> None:
    """In describe and agg; with a twentieth of what may fail for the number of rows."""
    dp.session(epsilon=10)
    x = column(200)
    for told, name in (
        (x.dp.describe(bounds=(0, 400), epsilon=1), "min, 25%, 50%, 75%, max"),
        (x.dp.agg(["count", "median"], bounds=(0, 400), epsilon=1), "median"),
    ):
        known = dp.record(told).components
        record, *beside = (known[k] for k in (name, *known))
        counts = beside[0]
        assert record._counts is not None
        assert record._counts.id == counts.id
        most = counts._statistic.errors.rows_at_most(counts._noisy, counts._law, 1 - 0.05 / 20)
        expected = record._statistic.errors.errors_among(record._law, 1 - 0.05 * 19 / 20, most)
        assert np.ravel(record.errors()).tolist() == pytest.approx(expected)
        assert max(expected) <= max(record._statistic.errors.errors_at((), record._law, 0.95))
        assert record.expected == f"{plus_minus(max(expected))} ranks"
        assert most[0] >= counts.estimate().iloc[0] if name != "median" else True


def test_no_error_exceeds_the_rows_and_no_certainty_is_claimed() -> None:
    record = dp.record(column().dp.quantile([0.25, 1], bounds=(0, 1024), epsilon="0.01"))
    assert record.errors(expected_rows=40).tolist() == [30, 40]
    one = dp.record(column().dp.median(bounds=(0, 1024), epsilon=1))
    assert math.isfinite(one.error(1 - 1e-12))
    dp.reset()
    many = column().dp.quantile([i / 500 for i in range(500)], bounds=(0, 1024), epsilon=1)
    assert dp.record(many).errors(1 - 2**-53).iloc[0] == math.inf  # beyond e^-40 losses are capped


# --- one choice, by its exact law -----------------------------------------------------------------


def chances(slots: Slots, rate: float) -> Iterator[tuple[int, float]]:
    """Each loss of a slot, and the weight of all that have it."""
    for run in slots.runs():
        if not run.step:
            yield run.loss, run.count * math.exp(-rate * run.loss)
        else:
            for i in range(run.count):
                yield run.loss + run.step * i, math.exp(-rate * (run.loss + run.step * i))


def test_one_quantile_states_hardly_more_than_errs_on_the_worst_data() -> None:
    """A point in the middle, with the fewest rows, and all others s ranks off: by its exact law
    the median is s ranks off with 5 %, at nine tenths of the stated error."""
    mechanism, n = law(Fraction(1), [Fraction(1, 2)], TOP), 10_000
    (stated,) = mechanism.rank_errors(0.95)
    (node,) = mechanism._nodes
    rate = float(mechanism._rate(node))

    def fails(s: int) -> float:
        rows = Ranks(np.array([0, TOP // 3, TOP]), np.array([n // 2 - s, 2 * s, n // 2 - s]))
        slots = Slots(rows, 0, TOP + 1, node.share, 1, 1, mechanism._cap(node, TOP))
        found = list(chances(slots, rate))
        wrong = sum(weight for loss, weight in found if loss >= 2 * s)
        return wrong / sum(weight for _, weight in found)

    worst = max(s for s in range(1, 60) if fails(s) > 0.05)
    assert fails(int(stated) + 1) <= 0.05
    assert stated <= 1.1 * worst


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_the_tail_of_each_choice_is_as_proven(share: Fraction) -> None:
    """P[loss ≥ s ranks] ≤ A e^(-rate·s) at every loss that a slot has, for all tables of up to 5
    rows on 3 points: in leaves, and where rows are split into 2 to 32 parts, with A of the rows."""
    for parts, is_leaf in itertools.product((2, 8, 32), (True, False)):
        width = parts if is_leaf else 2
        for size, rate in itertools.product(range(6), (0.3, 2.0)):
            for rows in itertools.combinations_with_replacement(range(3), size):
                slots = Slots(ranks(rows), 0, 3 * parts, share, width, parts, 10**9)
                per = parts * share.denominator
                found = [(x / per, w) for x, w in chances(slots, rate / per)]
                whole = sum(w for _, w in found)
                odds = 3 * (1 if is_leaf else min(parts / 2, max(1 / 3, rate * size)))
                for s in {x for x, _ in found if x}:
                    beyond = sum(w for x, w in found if x >= s - 1e-12) / whole
                    assert beyond <= odds * math.exp(-rate * s) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_tails_of_weighted_sums_are_bounded(seed: int) -> None:
    """Against the exact tail of a weighted sum of exponential variables, of different weights."""
    rng = random.Random(seed)
    weights = sorted((rng.uniform(0.01, 5) for _ in range(rng.randint(1, 4))), reverse=True)
    tail = Tails(np.array([7.0]), np.array([[*weights, 0.0]]))
    for failure in (0.3, 0.05, 1e-6):
        t = float(tail.errors(failure)[0]) - 7
        shares = {w: math.prod(w / (w - v) for v in weights if v != w) for w in weights}
        exact = sum(math.exp(-t / w) * share for w, share in shares.items())
        assert exact <= failure * (1 + 1e-6)
        assert tail.beyond(7 + t)[0] == pytest.approx(failure)
        if len(weights) == 1:
            assert exact == pytest.approx(failure)
    equal = Tails(np.zeros(1), np.full((1, 2), 2.0))  # exactly (1 + t/2) e^(-t/2), 13.3 at 1 %
    assert 13.3 < equal.errors(0.01)[0] < 15.6
    assert tail.beyond(0)[0] == 1


@pytest.mark.parametrize("epsilon", [Fraction(4), Fraction(12)])
@pytest.mark.parametrize("shares", [
    (Fraction(1, 4), Fraction(3, 4)),
    (Fraction(0), Fraction(1, 2), Fraction(4, 5)),
    (Fraction(1, 3), Fraction(1, 2), Fraction(1)),
], ids=str)  # fmt: skip
def test_all_errors_hold_together(monkeypatch: Any, shares: Any, epsilon: Fraction) -> None:
    """By the exact law of the whole recursion, over tables with ties on 4 points of 8 parts."""
    monkeypatch.setattr(quantiles, "PARTS", 8)
    mechanism, tight = law(epsilon, shares, 3), False
    tables = [
        (1, 1, 1, 1), (0, 1, 1, 3, 3, 3, 3), (0, 0, 3, 3), (0,) * 6 + (3,) * 6, (2,) * 9 + (3,),
    ]  # fmt: skip
    for rows in tables:
        found = exactly(monkeypatch, lambda rows=rows: tuple(mechanism.release([[ranks(rows)]])))
        offs = {
            points: [
                off(q, len(rows), sum(x < p for x in rows), sum(x <= p for x in rows), 0)
                for p, q in zip(points, shares, strict=True)
            ]
            for points in found
        }
        for confidence, known in itertools.product((0.3, 0.8, 0.95), (len(rows), len(rows) + 3)):
            errors = mechanism.rank_errors(confidence, known)
            held = sum(
                chance
                for points, chance in found.items()
                if all(a <= b for a, b in zip(offs[points], errors, strict=True))
            )
            assert held >= confidence
            tight |= held < 1
    assert tight or epsilon == 4  # errors below all that can happen are stated, too


def test_the_odds_of_aims_are_those_of_choices() -> None:
    """A = G + 1 in a leaf; H/2 times that where rows are split, or λn if they are known."""
    mechanism = law(Fraction(1), QUARTILES, TOP)
    for aim, node in zip(mechanism._aims(TOP), mechanism._nodes, strict=True):
        rate = float(mechanism._per_rank(node))
        assert aim.rate == rate == pytest.approx(0.5)
        for rows in (None, 1, 10_000, 10**9):
            near = 2**30 if rows is None else min(2**30, rate * rows)
            slots = (TOP + 1) * (1 if node.is_leaf else near)
            assert aim.log_odds(rows) == pytest.approx(math.log(slots))
        assert aim.half_slot(None) == (0 if node.is_leaf else pytest.approx(0.5))


@pytest.mark.parametrize("shares", [QUARTILES, DECILES, (Fraction(0), *QUARTILES, Fraction(1))])
def test_errors_are_those_of_neighbours_in_shares_and_of_the_choice(shares: Any) -> None:
    """With every exponential variable at some value, by the recursion of the proof."""
    mechanism = law(Fraction(1), shares, TOP)
    tails = rank_errors._tails(mechanism._aims(TOP), 10_000)
    for x in (0.0, 1.0, 3.5):
        errors: dict[Any, float] = {None: 0.0}
        for node in mechanism._nodes:
            rate, share = float(mechanism._per_rank(node)), float(node.share)
            odds = math.log((TOP + 1) * (1 if node.is_leaf else rate * 10_000))
            own = (odds + x) / rate + (0 if node.is_leaf else 10_000 / 2**31) + node.is_extreme
            errors[node.at] = (1 - share) * errors[node.low] + share * errors[node.high] + own
        expected = [errors[at] for at in range(len(shares))]
        assert (tails.known + x * tails.weights.sum(axis=1)).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("rows", [None, 10_000])
def test_the_parts_of_what_may_fail_add_up(rows: float | None) -> None:
    for shares in (QUARTILES, DECILES, (Fraction(0), *QUARTILES, Fraction(1))):
        aims = law(Fraction(1), shares, TOP)._aims(TOP)
        tails = rank_errors._tails(aims, rows)
        for failure in (0.3, 0.05, 1e-9):
            errors = joint_errors(aims, failure, rows)
            parts = [tails.beyond(error)[i] for i, error in enumerate(errors)]
            assert 0.5 * failure < sum(parts) <= failure


def test_errors_of_groups_and_columns_follow_the_order_of_the_answers() -> None:
    shares, tops = (Fraction(3, 4), Fraction(1, 2)), (2**20, 2**30)
    mechanism = quantiles.ExponentialQuantiles(shares, tops, 3, Fraction(1))
    one = mechanism.rank_errors(0.95)
    assert len(one) == 3 * 2 * 2
    assert one == one[:4] * 3
    assert one[0] < one[1]  # a grid of fewer points
    assert mechanism.rank_errors(0.95, 1000) < one
    each = mechanism.rank_errors(0.95, [10, 20, 30, 40, 50, 60])
    assert each == [8, 15, 5, 10, 23, 30, 15, 20, 38, 45, 25, 30]


def test_fewer_rows_never_state_more() -> None:
    aims = law(Fraction(1), DECILES, TOP)._aims(TOP)
    assert [node.at for node in plan(DECILES)] == [aim.at for aim in aims]
    many = (1, 100, 10**4, 10**6, 2.0**30, None)
    largest = [max(joint_errors(aims, 0.05, rows)) for rows in many]
    assert largest == sorted(largest)


# --- extremes -------------------------------------------------------------------------------------


def tables(n: int, rng: Any) -> Iterator[tuple[npt.NDArray[np.float64], tuple[float, float]]]:
    yield rng.random(n) * 60, (0, 60)
    yield rng.random(n) * 60, (0, 100)
    yield rng.lognormal(size=n), (0, 100)
    yield rng.lognormal(3, 0.5, n), (0, 100)
    yield rng.integers(0, 11, n).astype(float), (0, 10)
    yield rng.integers(0, 11, n).astype(float), (0, 16)
    yield np.full(n, 7.0), (0, 10)


def by_rank(values: Any, bounds: tuple[float, float]) -> npt.NDArray[np.float64]:
    """How many points of the grid have 0, 1, 2, … values above them."""
    grid = Grid.anchored(Bounds(*bounds))
    points = grid.integers(np.array(values, dtype=float))
    return -np.diff(np.concatenate([[grid.high + 1], np.sort(points)[::-1], [0]]))


def median_rank(measure: npt.NDArray[np.float64], losses: npt.NDArray[np.float64]) -> int:
    weights = np.cumsum(measure * np.exp(-losses))
    return int(np.searchsorted(weights, weights[-1] / 2))


@pytest.mark.parametrize("n", [100, 342, 10_000, 100_000])
def test_the_largest_is_at_most_a_rank_further_in_than_by_the_plain_mechanism(n: int) -> None:
    """The medians of how many values lie above the answer, by exact laws: ours from the slots
    that are drawn from, the plain one's by definition, exp(-ε/2 · rank)."""
    for values, bounds in tables(n, np.random.default_rng(n)):
        measure = by_rank(values, bounds)
        top = int(measure.sum()) - 1
        places = top + 1 - np.cumsum(measure)[:-1].astype(np.int64)
        points, counts = np.unique(places, return_counts=True)
        for epsilon in (0.1, 0.5, 1.0, 2.0):
            mechanism = law(Fraction(epsilon), [Fraction(1)], top)
            (node,) = mechanism._nodes
            cap = mechanism._cap(node, top)
            slots = Slots(Ranks(points, counts), 0, top + 1, node.share, 1, 1, cap)
            mine = np.zeros(n + 1)
            order = np.concatenate([[0], np.cumsum(counts)])
            for run in slots.runs():
                above = n - int(order[np.searchsorted(points, run.slot, "right")])
                mine[above] += run.count * math.exp(-float(mechanism._rate(node)) * run.loss)
            ours = median_rank(mine, np.zeros(n + 1))
            plain = median_rank(measure, epsilon / 2 * np.arange(n + 1))
            assert ours <= plain + 1, (bounds, epsilon)
            assert ours == median_rank(measure, np.maximum(0, np.arange(n + 1) - 1) * epsilon)


@pytest.mark.parametrize("seed", range(300))
def test_so_it_is_on_any_data(seed: int) -> None:
    """Whatever number of points has each rank: with heaps, gaps and few rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    measure = np.exp(rng.normal(0, rng.choice([0.1, 3, 10]), n + 1)) * (rng.random(n + 1) < 0.7)
    measure[0] += 1e-9
    ranks_ = np.arange(n + 1)
    for epsilon in (0.05, 0.7, 3.0):
        ours = median_rank(measure, np.maximum(0, ranks_ - 1) * epsilon)
        assert ours <= median_rank(measure, ranks_ * epsilon / 2) + 1


def test_the_smallest_mirrors_the_largest() -> None:
    rng, top = np.random.default_rng(2), 1000
    points = np.sort(rng.choice(top + 1, 60, replace=False))
    found = []
    for q, values in ((1, points), (0, top - points[::-1])):
        slots = Slots(Ranks(values, np.full(60, 2)), 0, top + 1, Fraction(q), 1, 1, 50)
        table = np.zeros(top + 1)
        for run in slots.runs():
            table[run.slot : run.slot + run.count] = run.loss
        found.append(table if q else table[::-1])
    assert (found[0] == found[1]).all()
    assert found[0].max() == 50


@pytest.mark.parametrize("which", ["min", "max"])
def test_extremes_of_tables_in_bounds_they_fill_come_near(which: str) -> None:
    """342 values at ε = 0.1, as many as had a median rank of 176: of 60 draws the median is beyond
    30 with probability below 1e-6, for one is with less than e^-2.9, about 1/18."""
    values = pd.Series(np.linspace(0, 60, 342))
    dp.session(epsilon=10)
    with pytest.warns(UserWarning, match="near it"):
        told = [getattr(values.dp, which)(bounds=(0, 60), epsilon="0.1") for _ in range(60)]
    assert np.median([(values < x if which == "min" else values > x).sum() for x in told]) <= 30
