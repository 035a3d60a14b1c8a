"""Weights of rows: integers by hand, pandas without noise, intervals, truth values, refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import integers
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, MissingArgument, QueryError
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.mechanisms.noise import DiscreteLaplace

WITHIN = {"weight_bounds": (0, 5)}


def survey(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    numbers = {"x": rng.random(rows) * 10, "y": rng.random(rows), "w": rng.random(rows) * 4}
    frame = pd.DataFrame({**numbers, "g": rng.integers(0, 3, rows).astype(float)})
    return frame.mask(rng.random(frame.shape) < 0.1)


LIMITS = {"x": (0, 10), "y": (0, 1)}


@pytest.mark.parametrize("weight", [-3.0, 0.0, 0.7, 5.0, 9.0, np.inf, np.nan])
@pytest.mark.parametrize("value", [-1.0, 0.0, 3.3, 10.0, np.nan])
def test_one_row_adds_its_weight_to_two_sums(weight: float, value: float) -> None:
    frame = pd.DataFrame({"x": [value], "w": [weight]})
    asked = frame.dp["x"].mean(bounds=(0, 10), weights=frame.dp["w"], **WITHIN)
    above, below = integers(asked, asked._table.engine)
    grid = asked._statistic.weight_grid
    steps = 0 if np.isnan(weight + value) else round(min(max(weight, 0), 5) / grid.step)
    assert above + below == steps <= asked._statistic.l1 == grid.high
    assert min(above, below) >= 0
    assert above == pytest.approx(steps * min(max(value, 0), 10) / 10, abs=1) or np.isnan(value)


def test_without_noise_it_is_what_pandas_computes(exact: None) -> None:
    frame = survey()
    p, both = frame.dp, frame.dropna(subset=["x", "w"])
    w = p["w"]
    product = both["w"] * both["x"]
    weighted = product.sum() / both["w"].sum()
    several = p[["x", "y"]].mean(weights=w, bounds=LIMITS, epsilon=1, **WITHIN)
    by_name = p[["x", "y", "w"]].mean(weights="w", bounds=LIMITS, epsilon=1, **WITHIN)
    for found, value in (
        (p.count(weights="w", epsilon=1, **WITHIN), frame["w"].sum()),
        (p["x"].count(weights=w, epsilon=1, **WITHIN), both["w"].sum()),
        (p["x"].sum(weights=w, bounds=(0, 10), epsilon=1, **WITHIN), product.sum()),
        (p["x"].mean(weights=w, bounds=(0, 10), epsilon=1, **WITHIN), weighted),
        (several["x"], weighted),
        (by_name["x"], weighted),
    ):
        assert found == pytest.approx(value, rel=1e-6)
    by = p.groupby("g", keys=[0, 1, 2])["x"].mean(weights="w", bounds=(0, 10), epsilon=1, **WITHIN)
    sums = both.assign(product=product).groupby("g")[["product", "w"]].sum()
    expected = sums["product"] / sums["w"]
    pd.testing.assert_series_equal(by, expected.rename("x"), rtol=1e-6, check_index_type=False)
    assert list(p[["x", "w"]].count(weights="w", epsilon=1, **WITHIN).index) == ["x"]
    groups = p.groupby("g", keys=[0, 1, 2]).sum(weights="w", bounds=LIMITS, epsilon=1, **WITHIN)
    assert list(groups.columns) == ["x", "y"]


def test_even_weights_change_nothing(exact: None) -> None:
    p = survey().dp.assign(one=1)
    plain = p["x"].mean(bounds=(0, 10), epsilon=1)
    assert p["x"].mean(bounds=(0, 10), weights=p["one"], epsilon=1) == pytest.approx(plain)


@pytest.mark.parametrize(("change", "error"), [
    ({"weight_bounds": (-1, 5)}, QueryError), ({"weight_bounds": None}, MissingArgument),
    ({"weights": "v"}, QueryError), ({"weights": [1, 2]}, QueryError),
    ({"weights": None}, QueryError), ({"weights": survey().dp["w"]}, LineageError),
    ({"weight_bounds": (0, np.inf)}, QueryError),
])  # fmt: skip
def test_wrong_weights_are_refused_and_cost_nothing(change: dict[str, Any], error: Any) -> None:
    p = survey().dp
    given = {"weights": "w", **WITHIN, **change}
    for ask in (p[["x", "w"]].mean, p[["x", "w"]].sum):
        with pytest.raises(error):
            ask(bounds=(0, 10), epsilon=1, **given)
    refusal(lambda: p.count(epsilon=1, **given), error=error)
    other = p.query("x > 1")["w"]
    with pytest.raises(dp.DPError):
        p["x"].mean(bounds=(0, 10), weights=other, epsilon=1, **WITHIN)
    assert dp.ledger()._entries() == []


def test_a_declared_domain_bounds_the_weights() -> None:
    p = dp.protect(survey(), "declared", domain={"w": (0, 4), "x": (0, 10)})
    assert "in 0 to 4" in repr(p["x"].mean(weights=p["w"]))


# --- shares of truth values -----------------------------------------------------------------------


def test_the_share_of_a_mask_is_told_by_two_counts() -> None:
    p = pd.DataFrame({"x": range(100), "g": [1, 2] * 50}).dp
    asked = (p["x"] >= 30).mean()
    assert integers(asked, asked._table.engine) == [70, 30]
    assert asked._statistic.l1 == 1
    by = p.assign(high=p["x"] >= 30).groupby("g", keys=[1, 2])["high"].mean()
    assert integers(by, by._table.engine) == [35, 35, 15, 15]
    assert by._statistic.l1 == 1


def test_a_column_of_truth_values_takes_bounds(exact: None) -> None:
    frame = pd.DataFrame({"b": [True, False, None, True], "g": [1, 1, 1, 2]})
    refusal(lambda: frame.dp["b"].mean(epsilon=1), error=MissingArgument)
    frame = dp.private(frame, unit="row", kinds={"b": "truth"})
    assert frame["b"].mean(bounds=(0, 1), epsilon=1) == pytest.approx(2 / 3)
    assert (frame["b"] == True).mean(epsilon=1) == 0.5  # noqa: E712 (a missing one is not True)
    by = frame.groupby("g", keys=[1, 2])["b"].mean(bounds=(0, 1), epsilon=1)
    assert by.tolist() == pytest.approx([0.5, 1.0])


def test_two_counts_have_no_more_noise_than_two_sums_on_a_grid() -> None:
    """The exact variances: 2a/(1-a)² for counts, and that on a grid of 2^30 steps is 2/ε²."""
    for epsilon in (0.1, 1.0, 4.0):
        a = np.exp(-epsilon)
        assert 2 * a / (1 - a) ** 2 < 2 / epsilon**2
    counts = DiscreteLaplace.calibrate(1, Epsilon("4"))
    sums = DiscreteLaplace.calibrate(2**30, Epsilon("4"))
    assert counts.half_width(0.95) <= sums.half_width(0.95) / 2**30 + 1
