"""Weighted quantiles: integers, losses and laws by brute force, errors by exact laws."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import SCHEMA, integers

import dppandas as dp
from dppandas import statistics as stats
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import MissingArgument, QueryError
from dppandas.privacy.accounting.losses import Epsilon, Loss, Rho
from dppandas.privacy.accounting.measures import LossRequest, Measure
from dppandas.privacy.mechanisms.quantiles import ExponentialQuantiles
from dppandas.privacy.mechanisms.ranks import Ranks, losses
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.units import Unit

KEY = b"0123456789abcdef"
SHARES = [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(2, 3), Fraction(1)]
BOUNDS: dict[str, Any] = {"bounds": (0, 64)}
HEAVY: dict[str, Any] = {"weights": "w", "weight_bounds": (0, 4)}
STEP = Grid.centred(Bounds.parse((0, 4), "w")).step


def weighed(rows: Any) -> Ranks:
    """Of pairs of a point and a weight."""
    totals: dict[int, int] = {}
    for point, each in rows:
        totals[point] = totals.get(point, 0) + each
    there = sorted((point, total) for point, total in totals.items() if total)
    points, sums = (np.array([pair[i] for pair in there], dtype=np.int64) for i in (0, 1))
    return Ranks(points, sums)


def law(
    epsilon: str, shares: Any, top: int, heaviest: int, rows: int = 1, cells: int = 1
) -> ExponentialQuantiles:
    """The mechanism of one column, of units of so many rows of at most so many steps."""
    grid = Grid(0.0, 1.0, 0, heaviest)
    made = stats.WeightedQuantiles(
        stats.Cells(), stats.Layout(integer=False), (Column("x"),),
        (Bounds.parse((0, top), "x"),), tuple(shares), 1.0, Column("w"), grid,
    )  # fmt: skip
    found: Any = made.mechanism(LossRequest(epsilon=Epsilon(epsilon)), made.sensitivity(rows))
    assert found.tops == (top,)
    return found


def chances(mechanism: ExponentialQuantiles, ranks: Ranks, top: int) -> Any:
    """The probability of each point, for a single quantile."""
    (node,) = mechanism._nodes
    found = np.array(losses(ranks, node.share, range(top + 1)), dtype=float)
    weights = np.exp(-float(mechanism._rate(node)) * found)
    return weights / weights.sum()


# --- privacy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_unit_tells_more_than_epsilon(share: Fraction, rows: int) -> None:
    """All tables of up to two rows on four points with weights from 0 to 3, and all that a unit of
    one or two rows adds. The largest log-ratio is ε where one quantile has such neighbours."""
    epsilon, top, most = 0.7, 3, 0.0
    mechanism = law("0.7", [share], top, 3, rows)
    each = list(itertools.product(range(top + 1), range(1, 4)))
    joining = [unit for n in range(1, rows + 1) for unit in
               itertools.combinations_with_replacement(each, n)]  # fmt: skip
    for size in range(3 if rows == 1 else 2):
        for table in itertools.combinations_with_replacement(each, size):
            before = chances(mechanism, weighed(table), top)
            for unit in joining:
                after = chances(mechanism, weighed([*table, *unit]), top)
                most = max(most, float(np.abs(np.log(after / before)).max()))
    assert most <= epsilon
    assert most > 0.4 * epsilon


@pytest.mark.parametrize("share", SHARES)
def test_a_row_of_weight_u_counts_for_u_rows(share: Fraction) -> None:
    """Losses are those of so many equal rows, and a row moves them by no more than the most."""
    rng, top, heaviest = random.Random(str(share)), 5, 4
    most = max(share.numerator, share.denominator - share.numerator)
    largest = 0
    for _ in range(200):
        rows = [(rng.randint(0, top), rng.randint(0, heaviest)) for _ in range(rng.randint(0, 6))]
        own = losses(weighed(rows), share, range(top + 1))
        copies = [(point, 1) for point, each in rows for _ in range(each)]
        assert own == losses(weighed(copies), share, range(top + 1))
        other = losses(weighed([*rows, (rng.randint(0, top), heaviest)]), share, range(top + 1))
        largest = max(largest, *(abs(a - b) for a, b in zip(own, other, strict=True)))
    assert largest == most * heaviest


def test_equal_weights_choose_as_no_weights_do() -> None:
    """Of rows that all have the largest weight, but for what an extreme leaves beyond it."""
    table = [0, 1, 1, 5, 6, 6]
    plain = law("1", [Fraction(2, 5)], 7, 1)
    heavy = law("1", [Fraction(2, 5)], 7, 1000)
    one, other = (
        chances(mechanism, weighed([(x, n) for x in table]), 7)
        for mechanism, n in ((plain, 1), (heavy, 1000))
    )
    assert one == pytest.approx(other, rel=1e-12)
    assert heavy.rank_errors(0.95) == [1000 * error for error in plain.rank_errors(0.95)]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", range(4))
def test_stated_errors_hold_by_the_exact_law(share: Fraction, seed: int) -> None:
    """How much weighs what lies between the answer and the quantile, for weights of all kinds, and
    where all but two rows are as far off as they may be."""
    rng, top, heaviest = random.Random(seed), 1000, 50
    mechanism = law("1", [share], top, heaviest)
    (stated,) = mechanism.rank_errors(0.95)
    rows = [(rng.randint(0, top), rng.randint(0, heaviest)) for _ in range(400)]
    if seed:
        rows = [(0 if rng.random() < share else top, heaviest) for _ in range(400)] + [(500, 3)]
    ranks = weighed(rows)
    target = share * int(ranks.below[-1])
    away = np.array([
        float(max(0, ranks.mass(c, 1) - target, target - ranks.mass(c + 1, 1)))
        for c in range(top + 1)
    ])  # fmt: skip
    assert chances(mechanism, ranks, top)[away > stated].sum() <= 0.05


@pytest.mark.statistical
@pytest.mark.parametrize("shares", [(0.5,), (0.1, 0.5, 0.9)], ids=len)
def test_stated_errors_hold_in_two_thousand_draws(shares: tuple[float, ...]) -> None:
    """At 95 % simultaneously. If they hold so, 150 misses or more have a probability of 7e-7; if
    they held in 90 %, fewer had one of 1e-4."""
    rng = np.random.default_rng(1)
    x, w = rng.integers(0, 65, 300), rng.uniform(0, 4, 300)
    frame = pd.DataFrame({"x": x, "w": w}).dp
    asked = frame["x"].quantile(list(shares), weights=frame["w"], weight_bounds=(0, 4), **BOUNDS)
    statistic: Any = asked._statistic
    exact = integers(asked, asked._table.engine)
    mechanism = statistic.mechanism(LossRequest(epsilon=Epsilon(1)), statistic.sensitivity(1))
    stated = statistic.errors.errors_at([], mechanism, 0.95)
    (cells,) = exact
    (ranks,) = cells
    whole, missed = int(ranks.below[-1]), 0
    for _ in range(2000):
        off = [
            max(0, ranks.mass(c, 1) - q * whole, q * whole - ranks.mass(c + 1, 1)) * STEP
            for c, q in zip(mechanism.release(exact), shares, strict=True)
        ]
        missed += any(error > most for error, most in zip(off, stated, strict=True))
    assert missed < 150


# --- integers -------------------------------------------------------------------------------------

ROWS = st.lists(st.tuples(
    st.sampled_from([0.0, 1.0, 2.5, 64.0, 99.0, -5.0, None, math.nan, math.inf]),
    st.sampled_from([0.0, 0.5, 1.0, 4.0, 9.0, -1.0, None]), st.sampled_from(["a", "b", None]),
), max_size=25)  # fmt: skip


@given(ROWS, st.sampled_from([1, 2, 7, 100]), st.booleans())
def test_each_point_weighs_what_its_rows_weigh(rows: Any, block: int, by: bool) -> None:
    """Values and weights are clipped; a row without either counts for nothing."""
    frame = pd.DataFrame(rows, columns=["x", "w", "g"]).astype({"x": float, "w": float})
    frame["g"] = pd.Series([g for *_, g in rows], dtype=object)
    p = frame.dp
    of = p.groupby("g", keys=["a", "b"])["x"] if by else p["x"]
    asked = of.median(weights=p["w"], weight_bounds=(0, 4), **BOUNDS)
    statistic: Any = asked._statistic
    (found,) = integers(asked, PandasEngine(frame, Unit(), KEY, block))
    for cell, ranks in zip(["a", "b"] if by else [None], found, strict=True):
        expected: dict[int, int] = {}
        for x, w, g in rows:
            if x is None or x != x or w is None or (by and g != cell):
                continue
            point = int(statistic.grids[0].integers(np.array([x]))[0])
            each = round(min(max(w, 0), 4) / STEP)
            if each:
                expected[point] = expected.get(point, 0) + each
        assert dict(zip(ranks.values.tolist(), ranks.counts.tolist(), strict=True)) == expected


def test_without_noise_it_is_the_weighted_quantile(exact: None) -> None:
    rng = random.Random(5)
    df = pd.DataFrame({"x": [rng.uniform(0, 64) for _ in range(501)],
                       "w": [rng.uniform(0, 4) for _ in range(501)]})  # fmt: skip
    dp.session(epsilon=99)
    found = df.dp[["x", "w"]].quantile([0.1, 0.5, 0.8], **HEAVY, **BOUNDS, epsilon=9)
    ordered = df.sort_values("x")
    shares = ordered["w"].cumsum() / ordered["w"].sum()
    for q in (0.1, 0.5, 0.8):
        near = ordered["x"][(shares >= q - 0.01) & (shares <= q + 0.01)]
        assert near.min() <= found.loc[q, "x"] <= near.max()


# --- answers --------------------------------------------------------------------------------------


def people() -> Any:
    df = pd.DataFrame({"who": [1, 1, 2, 3] * 50, "g": ["a", "b"] * 100, "x": range(200), "w": 1.5})
    return dp.protect(df, "d", unit="who", max_rows=2)


def test_columns_groups_and_frames_are_shaped_as_without_weights() -> None:
    dp.session(epsilon=99)
    p, said = people(), {"epsilon": 1, **BOUNDS, **HEAVY}
    groups, frame = p.groupby("g", keys=["a", "b"]), p[["x", "w"]]
    assert isinstance(p["x"].median(**{**said, "weights": p["w"]}), float)
    assert frame.median(**said).index.tolist() == ["x"]
    assert frame.quantile([0.2, 0.8], **said).shape == (2, 1)
    assert groups["x"].median(**said).index.tolist() == ["a", "b"]
    assert groups["x"].quantile([0.2, 0.8], **said).index.nlevels == 2
    found = p["x"].quantile(0.25, **{**said, "weights": p["w"] * 2})
    record = dp.record(found)
    assert found.error() == 4 * dp.record(p["x"].quantile(0.25, **BOUNDS, epsilon=1)).error()
    assert "weighted by" in record.query
    assert p["x"].median(**BOUNDS, **{**HEAVY, "weights": p["w"]}).release(within=500) >= 0


def test_a_loss_is_what_was_asked_in_every_measure() -> None:
    shares, lists = [Fraction(1, 2)], [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
    for each in (shares, lists):
        made = law("0.5", each, 64, 2**30, rows=3)
        moved = stats.WeightedQuantiles(
            stats.Cells(), stats.Layout(integer=False), (Column("x"),),
            (Bounds.parse((0, 64), "x"),), tuple(each), 1.0, Column("w"), Grid(0.0, 1.0, 0, 2**30),
        ).sensitivity(3)  # fmt: skip
        assert made.cost(Measure.PURE, moved) == Loss(Epsilon("0.5"))
    dp.session(rho=1, delta="1e-6")
    p = people()
    p["x"].median(**BOUNDS, weights=p["w"], weight_bounds=(0, 4), rho="0.1")
    assert dp.ledger()._entries()[-1].loss.rho == Rho("0.1")


def test_weights_of_nothing_choose_any_point_and_none_is_heavier_than_its_bound() -> None:
    dp.session(epsilon=99)
    p = people()
    assert 0 <= p["x"].median(**BOUNDS, weights=p["w"], weight_bounds=(0, 0), epsilon=1) <= 64
    light = p["x"].median(**BOUNDS, weights=p["w"], weight_bounds=(0, 1))
    (found,) = integers(light, light._table.engine)
    step = Grid.centred(Bounds.parse((0, 1), "w")).step
    (ranks,) = found
    assert int(ranks.below[-1]) * step == 6  # six kept rows of three units, clipped to 1


@pytest.mark.parametrize(("ask", "error", "said"), [
    (lambda p: p["x"].median(weights=p["w"], **BOUNDS, epsilon=1), MissingArgument,
     "weight_bounds= is needed"),
    (lambda p: p["x"].median(weight_bounds=(0, 1), **BOUNDS, epsilon=1), QueryError,
     "needs weights="),
    (lambda p: p["x"].quantile(0.5, weights=p["w"], weight_bounds=(-1, 1), **BOUNDS, epsilon=1),
     QueryError, "can't be negative"),
    (lambda p: p["x"].quantile(0.5, weights=[1, 2], weight_bounds=(0, 1), **BOUNDS, epsilon=1),
     QueryError, "must be a private column"),
    (lambda p: p["x"].median(
        method="smooth", weights=p["w"], weight_bounds=(0, 1), **BOUNDS, epsilon=1), QueryError,
     "takes no weights"),
    (lambda p: p["x"].median(weights=p["w"], weight_bounds=(0, 1), **BOUNDS).release(
        within="5%", expected_rows=200), QueryError, "isn't counted in rows"),
])  # fmt: skip
def test_refusals_charge_nothing(ask: Any, error: Any, said: str) -> None:
    dp.session(epsilon=9)
    with pytest.raises(error, match=said):
        ask(people())
    assert dp.ledger()._entries() == []


def test_questions_without_weights_keep_their_keys() -> None:
    dp.session(epsilon=9)
    p = dp.protect(SCHEMA.copy(), "keys", unit="owner", max_rows=3, version="1")
    asked = LossRequest(epsilon=Epsilon(1))
    plain, heavy, other = (
        each._request.query(asked).key for each in (
            p["number"].median(bounds=(-2, 3)),
            p["number"].median(bounds=(-2, 3), weights=p["code"], weight_bounds=(0.5, 3)),
            p["number"].median(bounds=(-2, 3), weights=p["code"], weight_bounds=(0.5, 2)),
        )
    )  # fmt: skip
    assert len({plain, heavy, other}) == 3
