"""All weights at once: sensitivities row by row, against plain arithmetic, and of more rows less
error."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.models import LinearRegression, LogisticRegression, linear, logistic
from dppandas.models.base import Box, ProgramAnswers
from dppandas.models.curvature import free_share, least_squares, newton_step
from dppandas.release.context import watching

Asked = tuple[Any, list[int]]
#: How much, in values: what a row adds may be rounded by half a step in each column.
CLOSE = 1e-6
LOSSES: dict[str, dict[str, Any]] = {"epsilon": {"epsilon": 1}, "rho": {"rho": "0.5"}}
each_loss = pytest.mark.parametrize("kind", LOSSES)


def sums(rows: Any, ask: Any, kind: str) -> Asked:
    """The query of `ask(scaled, y, loss, answered)`, and the exact integers of its release."""
    anew(**LOSSES[kind], **({"delta": 1e-6} if kind == "rho" else {}))
    names = [f"x{i}" for i in range(rows.shape[1] - 1)]
    people = dp.protect(pd.DataFrame(rows, columns=[*names, "y"]), name="rows")
    found: list[Asked] = []

    def watch(query: Any, _: Any, exact: Any) -> Sequence[int]:
        found.append((query, [int(each) for each in exact]))
        return [0] * query.statistic.size

    scaled = Box.of(people[names], (-1, 1)).private(people[names])
    with watching(watch), dp.split(**LOSSES[kind], into=1) as split:
        ask(scaled, people["y"].clip(-1, 1), split.shares[0], ProgramAnswers())
    return found[0]


def size(integers: Any, kind: str) -> float:
    t = np.array(integers, dtype=float)
    return float(np.abs(t).sum() if kind == "epsilon" else np.sqrt(np.square(t).sum()))


@each_loss
@pytest.mark.parametrize("limit", [6 / 16, 1.0])
@pytest.mark.parametrize("width", [1, 2])
def test_no_row_of_a_newton_step_is_beyond_the_gradients_sensitivity(
    kind: str, width: int, limit: float
) -> None:
    """Each row of a small grid by itself: its norm is that of plain arithmetic, so the release has
    scaled none. Rows that are surely wrong come near the largest."""
    weights, most = np.array([3.0, -1.0][:width]), 0.0
    corner = width + 1.0 if kind == "epsilon" else float(np.sqrt(width + 1))
    for *x, y in itertools.product([-1.0, 0.0, 0.4, 1.0], repeat=width + 1):
        y = 1.0 if y > 0 else -1.0
        query, found = sums(
            np.array([[*x, y]]),
            lambda s, sign, loss, a: newton_step(s, sign, (weights, 0.5), limit, loss, a),
            kind,
        )
        step = query.statistic.grids[0].step
        z, point = np.array([1.0, *x]), np.array([0.5, *weights])
        residual = (y - np.tanh(point @ z / 2)) / 2
        bend = abs(residual) * (1 - abs(residual)) * LAW[kind](width)
        trust = min(1.0, limit * corner / (size(z, kind)))
        plain = [*(residual * z), *(bend * np.outer(z, z))[np.triu_indices(width + 1)]]
        assert np.allclose(np.array(found) * step, trust * np.array(plain), atol=CLOSE)
        assert size(found, kind) <= query.statistic.norm
        most = max(most, size(found, kind) * step)
    assert query.statistic.norm * step == pytest.approx(limit * corner, rel=1e-6)
    assert most > 0.9 * limit * corner


#: The share of the curvature, by hand.
LAW = {"epsilon": lambda d: 2 / (d + 2), "rho": lambda d: 4 / np.sqrt(d + 2)}


@each_loss
@given(width=st.integers(1, 20), chance=st.floats(0, 1))
def test_the_share_of_the_curvature_is_free_and_no_larger_one_is(
    kind: str, width: int, chance: float
) -> None:
    """At a corner of the box, where all products are 1 or -1. With residual r the gradient's ℓ1 is
    (d+1) r, the curvature's (d+1)(d+2)/2 · r (1-r)."""
    loss = pd.Series(LOSSES[kind]).reindex(["epsilon", "rho"])
    share = free_share(width, loss.astype(object).where(loss.notna(), None))
    assert share == pytest.approx(LAW[kind](width))

    def norm(r: Any, share: float) -> Any:
        n, pairs = width + 1, (width + 1) * (width + 2) / 2
        bend = share * r * (1 - r)
        return n * r + pairs * bend if kind == "epsilon" else np.sqrt(n * r**2 + pairs * bend**2)

    limit = width + 1 if kind == "epsilon" else np.sqrt(width + 1)
    assert norm(chance, share) <= limit * (1 + 1e-12)
    if kind == "epsilon":
        assert norm(np.linspace(0, 1, 1001), share * 1.2).max() > limit
    else:  # up to here the norm grows with the residual
        assert (np.diff(norm(np.linspace(0, 1, 1001), share)) > -1e-12).all()
        assert (np.diff(norm(np.linspace(0, 1, 1001), share * 1.05)) < 0).any()


@each_loss
@pytest.mark.parametrize("limit", [6 / 16, 1.0])
def test_no_row_of_least_squares_is_beyond_its_norm(kind: str, limit: float) -> None:
    """Each row of a small grid: none is scaled by the release, so that what it weighs follows from
    its features alone; a corner of the box has the largest norm."""
    norms = {}
    for x, z, y in itertools.product([-1.0, -0.6, 0.0, 0.5, 1.0], repeat=3):
        query, found = sums(
            np.array([[x, z, y]]), lambda s, v, loss, a: least_squares(s, v, limit, loss, a), kind
        )
        step = query.statistic.grids[0].step
        trust = (found[0] + found[1]) * step  # the sums of above and below are its weight
        plain = [2 * x * y, 2 * z * y, x, z, x * x - 0.5, x * z, z * z - 0.5]
        assert np.allclose(np.array(found[2:]) * step, trust * np.array(plain), atol=CLOSE)
        assert size(found, kind) <= query.statistic.norm + len(found)  # each rounded by half a step
        norms[x, z, y] = trust, size(found, kind) * step
    assert norms[1, 1, 1][1] == pytest.approx(query.statistic.norm * step, rel=1e-6)
    for x, z in itertools.product([-1.0, -0.6, 0.0, 0.5, 1.0], repeat=2):
        weights = [norms[x, z, y][0] for y in (-1.0, -0.6, 0.0, 0.5, 1.0)]
        assert np.allclose(weights, weights[0], atol=CLOSE), "whatever the target is"
        assert limit < 1 or weights[0] == pytest.approx(1, abs=CLOSE)


# what is learnt, without noise


SLOPES = np.array([0.3, -0.2, 0.1, 0.15, -0.1])
CHANCES = np.array([1.5, -3, 0.75, 2.25, -1.5])


def made(rows: int, width: int, seed: int = 4) -> pd.DataFrame:
    """Features that go together, a target of two values whose mean is a line, and two classes."""
    random = np.random.default_rng(seed)
    both = random.uniform(-1, 1, (rows, 1))
    x = 0.6 * both + 0.4 * random.uniform(-1, 1, (rows, width))
    table = pd.DataFrame(x, columns=list("abcde")[:width])
    y = np.where(random.random(rows) < 0.5 + x @ SLOPES[:width] / 2, 1.0, -1.0)
    chance = 1 / (1 + np.exp(1 - x @ CHANCES[:width]))
    return table.assign(y=y, kind=random.random(rows) < chance)


def fit(of: Any, rows: pd.DataFrame, loss: Any = 1, **more: Any) -> Any:
    anew(epsilon=loss)
    names, people = [*rows.columns[:-2]], dp.protect(rows.copy(), name="made")
    target = "y" if of is LinearRegression else "kind"
    ends: dict[str, Any] = {"target_bounds": (-1, 1)} if of is LinearRegression else {}
    model = of(epsilon=loss, bounds=(-1, 1), **ends, **more)
    model.fit(people[names], people[target])
    assert dp.ledger().spent == loss
    return model


def test_of_very_many_rows_it_is_least_squares(exact: None, monkeypatch: Any) -> None:
    rows = made(6000, 3)
    monkeypatch.setattr(linear, "ALL", 100)
    model = fit(LinearRegression, rows)
    lines = np.column_stack([np.ones(len(rows)), rows[list("abc")]])
    plain = np.linalg.lstsq(lines, rows["y"], rcond=None)[0]
    assert np.allclose([model.intercept_, *model.coef_], plain, atol=0.01)  # but for the ridge
    assert (model.n_iter_, len(model.releases_)) == (1, 2)


def test_where_a_row_weighs_less_its_features_alone_decide(exact: None) -> None:
    rows = made(6000, 3)
    model = fit(LinearRegression, rows, 4)
    x = rows[list("abc")].to_numpy()
    norm = 1 + (3 * abs(x) + abs(x * x - 0.5)).sum(1)
    norm += sum(abs(x[:, i] * x[:, j]) for i, j in ((0, 1), (0, 2), (1, 2)))
    trust = np.sqrt(np.minimum(1, 6 / 16 * 14.5 / norm))[:, None]
    assert trust.min() < 0.95
    lines = np.column_stack([np.ones(len(rows)), x])
    plain = np.linalg.lstsq(lines * trust, rows["y"] * trust[:, 0], rcond=None)[0]
    assert np.allclose([model.intercept_, *model.coef_], plain, atol=0.003)


@pytest.mark.parametrize("alike", [True, False])
def test_newtons_steps_come_to_the_most_likely_chances(
    alike: bool, exact: None, monkeypatch: Any
) -> None:
    """Of rows that weigh the same, or 1 over their norm: those of features near 0 weigh more."""
    rows = made(20_000, 3)
    monkeypatch.setattr(logistic, "ALL", 250 if alike else 10**9)
    model = fit(LogisticRegression, rows)
    lines, y = np.column_stack([np.ones(len(rows)), rows[list("abc")]]), rows["kind"].to_numpy()
    trust = np.minimum(1, (1 if alike else 6 / 16) * 4 / np.abs(lines).sum(1))[:, None]
    plain = np.zeros(4)
    for _ in range(12):
        p = 1 / (1 + np.exp(-lines @ plain))
        second = lines.T @ (lines * trust * (p * (1 - p))[:, None])
        plain += np.linalg.solve(second, (lines * trust).T @ (y - p))
    assert np.allclose([*model.intercept_, *model.coef_[0]], plain, atol=0.02)
    assert (model.n_iter_, len(model.releases_)) == (3, 6)


def test_a_step_of_noise_alone_is_short() -> None:
    """With every sum as large as it can be in the wrong direction."""
    found = []
    for value in (2**62, -(2**62)):
        with watching(lambda query, *_, value=value: [value] * query.statistic.size):
            found.append(fit(LogisticRegression, made(50, 2), rounds=None))
    for model in found:
        assert np.isfinite(model.coef_).all()
        assert np.abs(model.coef_).sum() < 4 * logistic.STEEPEST


def test_columns_with_each_others_names_are_told_apart(exact: None) -> None:
    rows = made(20_000, 3)
    names = {"a": "p", "b": "p and q", "c": "q and r"}
    for of in (LogisticRegression, LinearRegression):
        usual = fit(of, rows.rename(columns={"a": "s", "b": "t", "c": "u"}))
        other = fit(of, rows.rename(columns=names))
        assert np.array_equal(usual.coef_, other.coef_)


@pytest.mark.parametrize("of", [LinearRegression, LogisticRegression])
def test_what_is_said_of_rounds_keeps_the_plan(of: Any, exact: None) -> None:
    rows = made(20_000, 2)
    assert len(fit(of, rows).releases_) == (2 if of is LinearRegression else 6)
    assert len(fit(of, rows, rounds=1).releases_) == (5 if of is LinearRegression else 4)
    if of is LinearRegression:
        assert len(fit(of, rows, clip=2).releases_) == 5


@pytest.mark.parametrize("most", [1, 4])
def test_of_more_rows_a_unit_more_rows_are_needed(most: int, exact: None) -> None:
    rows = made(2000, 2)
    anew(epsilon=1)
    owners = np.arange(len(rows)) // most
    people = dp.protect(rows.assign(owner=owners), name="made", unit="owner", max_rows=most)
    model = LinearRegression(epsilon=1, bounds=(-1, 1), target_bounds=(-1, 1))
    model.fit(people[["a", "b"]], people["y"])
    needed = linear.MANY * 9 * most
    assert (len(model.releases_) == 2) == (len(rows) >= needed) == (most == 1)


@pytest.mark.parametrize("of", [LinearRegression, LogisticRegression])
@pytest.mark.parametrize("loss", ["0.5", "4", "32"])
def test_the_price_is_that_of_the_dearest_road(of: Any, loss: str, exact: None) -> None:
    """An ε where ρ is counted costs another ρ on each road. A preview shows the larger one, and a
    budget that is less is refused, whichever road the rows would lead to."""
    spent, lengths = [], set()
    ends: dict[str, Any] = {"target_bounds": (-1, 1)} if of is LinearRegression else {}
    target = "y" if of is LinearRegression else "kind"
    for number in (10, 30_000):
        rows = made(number, 2)
        session = anew(rho=1000, delta=1e-6)
        people = dp.protect(rows, name="made")
        model = of(epsilon=loss, bounds=(-1, 1), **ends)
        with dp.preview() as plan:
            model.fit(people[["a", "b"]], people[target])
        model.fit(people[["a", "b"]], people[target])
        spent.append(session.spent)
        lengths.add(len(model.releases_))
        anew(rho=plan.total * (1 - Fraction(1, 10**6)), delta=1e-6)
        people = dp.protect(rows.copy(), name="made again")
        refusal(lambda: model.fit(people[["a", "b"]], people[target]), "in all", dp.BudgetExceeded)  # noqa: B023
    assert of is LinearRegression or lengths == {4, 6}
    assert max(spent) <= plan.total
    assert max(spent) >= plan.total * (1 - 1e-4)


@pytest.mark.statistical
def test_error_falls_as_rows_grow() -> None:
    """The root mean square error of three slopes in four fits is at most 3 times what it is in 16
    (.075, .021, .0053 of a line; .052, .017 of chances; 8 of the most rows). Two slopes of features
    that go together are known less well than the third: χ² with 8 degrees of freedom exceeds its
    mean 9 times with a probability of 2e-12. Power: one round leaves .11 or .19, however many rows
    there are, and no single fit of 30,000 less than .096 or .154."""
    for of, truth, limits in (
        (LinearRegression, SLOPES, {3000: 0.22, 30_000: 0.064, 300_000: 0.016}),
        (LogisticRegression, CHANCES, {30_000: 0.15, 300_000: 0.05}),
    ):
        for number, limit in limits.items():
            fits = [fit(of, made(number, 3, seed)) for seed in range(4)]
            errors = [np.ravel(each.coef_) - truth[:3] for each in fits]
            assert np.sqrt(np.mean(np.square(errors))) < limit, (of.__name__, number)
