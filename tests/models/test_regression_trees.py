"""Regression trees, against scikit-learn's."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from sklearn import tree
from sklearn.base import clone, is_regressor

import dppandas as dp
from dppandas.models import DecisionTreeRegressor, export_text, plot_tree
from dppandas.models.trees.nodes import means_of
from dppandas.rows.figures import format_number

#: So much loss that no noise is seen.
ALL = 64
FEATURES = ["x", "z"]
BOUNDS = {"x": (0, 10), "z": (0, 1)}
COSTS = (0, 100)


def costs(times: int = 1) -> pd.DataFrame:
    """Costs of 60 and 70, or of 65 and 90: all of them far above the middle of the bounds. Of each
    feature's 16 steps one threshold tells all."""
    at = pd.MultiIndex.from_product([np.arange(0.3, 10, 0.3), np.arange(0.03, 1, 0.06)])
    rows = pd.DataFrame(at.to_list(), columns=FEATURES)
    left, low = rows["x"] <= 5, rows["z"] <= 0.5
    rows["cost"] = np.where(left, np.where(low, 60, 70), np.where(low, 65, 90)).astype(float)
    return pd.concat([rows] * times, ignore_index=True)


def fitted(rows: pd.DataFrame, depth: int = 2, **how: Any) -> Any:
    how = {"epsilon": ALL, "bounds": BOUNDS, "target_bounds": COSTS} | how
    anew(epsilon=10 * ALL)
    people = dp.protect(rows, name="costs")
    return DecisionTreeRegressor(depth, **how).fit(people[FEATURES], people["cost"])


@pytest.mark.parametrize("loss", [{"epsilon": ALL}, {"rho": 2000}], ids=["epsilon", "rho"])
def test_with_little_noise_it_is_the_tree_that_made_the_rows(loss: dict[str, Any]) -> None:
    """Any other split lies thousands of scales below: a chance below e^-100. All targets are on one
    side of the middle of their bounds, so that sums about the middle would tell no split apart."""
    rows = costs(20)
    if "rho" in loss:
        anew(rho=2000, delta=1e-6)
        said: dict[str, Any] = {"bounds": BOUNDS, "target_bounds": COSTS, **loss}
        model = DecisionTreeRegressor(2, **said).fit(rows.dp[FEATURES], rows.dp["cost"])
    else:
        model = fitted(rows)
    assert model.tree_.feature.tolist() in (
        [1, 0, -2, -2, 0, -2, -2], [0, 1, -2, -2, 1, -2, -2]
    )  # fmt: skip
    split = model.tree_.feature >= 0
    at = np.where(model.tree_.feature == 0, 5, 0.5)
    assert model.tree_.threshold[split].tolist() == at[split].tolist()
    exact = tree.DecisionTreeRegressor(max_depth=2).fit(rows[FEATURES], rows["cost"])
    plain = rows[FEATURES].to_numpy()
    assert np.allclose(model.predict(plain), exact.predict(rows[FEATURES]), atol=0.5)
    assert model.score(plain, rows["cost"].to_numpy()) > 0.99
    assert np.allclose(model.tree_.value[0], rows["cost"].mean(), atol=0.5)
    assert np.allclose(model.tree_.weighted_n_node_samples[0], len(rows), atol=40)
    assert (model.get_depth(), model.get_n_leaves()) == (2, 4)


def test_plain_rows_end_where_the_arrays_lead_them() -> None:
    model, rows = fitted(costs(), depth=3, epsilon=3), costs()[FEATURES].to_numpy()
    found = model.tree_
    ends = model.apply(rows)
    for row, end in zip(rows, ends, strict=True):
        node = 0
        while found.children_left[node] != -1:
            left = row[found.feature[node]] <= found.threshold[node]
            node = (found.children_left if left else found.children_right)[node]
        assert node == end
    assert model.predict(rows).tolist() == found.value[ends, 0].tolist()


def test_private_rows_are_predicted_as_plain_ones_are() -> None:
    """Means of 561 rows, with noise of scales near 100/(561 · 30) and 10,000/(561 · 60): what is
    allowed is 60 of these and more, a chance below e^-50."""
    rows = costs()
    model = fitted(rows, epsilon=8, depth=3)
    found, plain = rows.dp[FEATURES], model.predict(rows[FEATURES].to_numpy())
    told = model.predict(found).mean(bounds=COSTS, epsilon=30)
    assert abs(told - plain.mean()) < 0.5
    squared = (model.predict(found) - rows.dp["cost"]) ** 2
    told = squared.mean(bounds=(0, 10_000), epsilon=60)
    assert abs(told - np.mean((plain - rows["cost"]) ** 2)) < 20
    leaves = np.flatnonzero(model.tree_.children_left == -1).tolist()
    assert sorted(model.apply(found).value_counts(epsilon=1).index) == leaves


def test_rows_without_a_feature_or_a_target_do_not_count() -> None:
    rows = costs(20)
    rows.loc[:3999, "z"], rows.loc[4000:7999, "cost"] = np.nan, np.nan
    assert np.allclose(fitted(rows).tree_.weighted_n_node_samples[0], len(rows) - 8000, atol=40)


def test_a_level_costs_its_share_once() -> None:
    model = fitted(costs(), depth=3, epsilon=1)
    assert dp.ledger().spent == 1
    shares = [1, 4, 1, 4, 1, 4, 8]
    assert [each.loss.epsilon for each in model.releases_] == [Fraction(n, 23) for n in shares]
    assert model.releases_[5].query.startswith("best of 30 splits of 4 nodes")


def test_a_unit_of_several_rows_has_less_certain_splits() -> None:
    """Rates are those of a unit with all its rows in one node, up or down: ε/(2 · rows · size)."""
    rows = costs().assign(who=np.arange(len(costs())) // 2)
    anew(epsilon=99)
    people = dp.protect(rows, "costs", unit="who", max_rows=2)
    how: dict[str, Any] = {"epsilon": 13, "bounds": BOUNDS, "target_bounds": COSTS}
    several = DecisionTreeRegressor(1, **how).fit(people[FEATURES], people["cost"])
    other = dp.private(costs(), unit="row")
    alone = DecisionTreeRegressor(1, **how).fit(other[FEATURES], other["cost"])
    size = 2**30
    assert (several.releases_[1].scale, alone.releases_[1].scale) == (size, size / 2)


def test_a_fit_again_is_free() -> None:
    anew(epsilon=2)
    people = dp.protect(costs(), name="costs")
    model = DecisionTreeRegressor(2, epsilon=1, bounds=BOUNDS, target_bounds=COSTS)
    first = model.fit(people[FEATURES], people["cost"]).tree_
    again = clone(model).fit(people[FEATURES], people["cost"]).tree_
    assert dp.ledger().spent == 1
    assert first.value.tolist() == again.value.tolist()
    assert is_regressor(model)


def test_means_of_few_rows_are_drawn_to_that_of_all() -> None:
    """The first line is of all rows; of no rows nothing is told; of many, their own mean."""
    sums = np.array([[3000.0, 1000.0], [0.0, 0.0], [0.0, 2.0], [2000.0, 0.0]])
    found = means_of(sums, 20.0)
    assert found[:2].tolist() == [0.5, 0.5]
    assert 0.4 < found[2] < 0.5
    assert found[3] == pytest.approx(1.0, abs=1e-3)
    assert (abs(means_of(np.zeros((3, 2)), 1e-3)) == 0).all()


def test_means_lie_within_the_bounds_of_the_target() -> None:
    """With nothing but noise, too."""
    model = fitted(costs(), depth=3, epsilon=0.01)
    assert ((model.tree_.value >= COSTS[0]) & (model.tree_.value <= COSTS[1])).all()


def test_text_is_that_of_scikit_learn() -> None:
    rows = costs(20)
    model = fitted(rows, depth=1, thresholds={"x": [4.95], "z": [0.99]})
    exact = tree.DecisionTreeRegressor(max_depth=1).fit(rows[["x"]], rows["cost"])
    told = tree.export_text(exact, feature_names=["x"], decimals=0)
    assert export_text(model, decimals=0) == told.rstrip()
    assert "weights: [" in export_text(model, show_weights=True)


def test_a_plot_has_a_box_for_each_node() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    model = fitted(costs(), depth=2)
    figure, ax = plt.subplots()
    boxes = [each.get_text().splitlines() for each in plot_tree(model, ax=ax, precision=1)]
    plt.close(figure)
    assert [len(box) for box in boxes] == [3, 3, 2, 2, 3, 2, 2]
    assert boxes[0][1].startswith("samples = ")
    assert boxes[2][1] == f"value = {format_number(round(float(model.tree_.value[2, 0]), 1))}"
    assert "no names" in refusal(lambda: plot_tree(model, class_names=["one"]))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"max_depth": 0}, "max_depth"),
        ({"thresholds": [100]}, "splits nothing"),
        ({"target_bounds": None}, "target_bounds= is needed"),
        ({"target_bounds": (5, 5)}, "single point"),
        ({"epsilon": None}, "needs the loss"),
    ],
)
def test_bad_arguments_cost_nothing(how: dict[str, Any], told: str) -> None:
    said: dict[str, Any] = {"epsilon": 1, "bounds": BOUNDS, "target_bounds": COSTS} | how
    people = costs().dp
    model = DecisionTreeRegressor(**said)
    assert told in refusal(lambda: model.fit(people[FEATURES], people["cost"]))
