"""Decision trees, against scikit-learn's."""

import itertools
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from iris import ENDS, FEATURES, IRIS, KINDS, flowers
from ledgers import anew
from refusals import refusal
from sklearn import tree
from sklearn.base import clone, is_classifier

import dppandas as dp
from dppandas.models import DecisionTreeClassifier, export_text, plot_tree

#: So much loss that no noise is seen.
ALL = 64


def fitted(rows: pd.DataFrame, depth: int = 2, **how: Any) -> Any:
    how = {"epsilon": ALL, "bounds": ENDS, "classes": KINDS} | how
    anew(epsilon=10 * ALL)
    people = dp.protect(rows, name="flowers", kinds=dict.fromkeys(["kind"], "unknown"))
    return DecisionTreeClassifier(depth, **how).fit(people[FEATURES], people["kind"])


def stepwise(x: Any) -> pd.DataFrame:
    """A class that depends on two features by steps: no single split tells it."""
    rows = pd.DataFrame({"x": x, "y": x[::-1]})
    return rows.assign(late=((rows["x"] <= 3) & (rows["y"] > 5)) | (rows["x"] > 8))


@pytest.mark.parametrize("loss", [{"epsilon": ALL}, {"rho": 2000}], ids=["epsilon", "rho"])
def test_with_little_noise_it_is_as_good_as_scikit_learns(loss: dict[str, Any]) -> None:
    """A split that classifies ten rows of 15,000 fewer is selected with a chance of e^-100."""
    rows = flowers(100)
    if "rho" in loss:
        anew(rho=2000, delta=1e-6)
        model = DecisionTreeClassifier(2, **loss, bounds=ENDS, classes=KINDS)
        model.fit(rows.dp[FEATURES], rows.dp["kind"])
    else:
        model = fitted(rows)
    exact = tree.DecisionTreeClassifier(max_depth=2).fit(rows[FEATURES], rows["kind"])
    assert model.classes_.tolist() == exact.classes_.tolist()
    assert model.score(IRIS.data, flowers()["kind"]) >= exact.score(rows[FEATURES], rows["kind"])
    assert (model.get_depth(), model.get_n_leaves()) == (2, 4)
    assert np.allclose(model.tree_.value[0], 5000, atol=40)


def test_the_arrays_of_a_tree_are_walked_as_scikit_learns_are() -> None:
    """Depth first, left before right: each plain row ends where the arrays lead it, and there lies
    the class that is predicted."""
    model = fitted(flowers(10), depth=3, epsilon=6)
    found = model.tree_
    assert found.node_count == 15
    ends = model.apply(IRIS.data)
    for row, end in zip(IRIS.data.to_numpy(), ends, strict=True):
        node = 0
        while found.children_left[node] != -1:
            left = row[found.feature[node]] <= found.threshold[node]
            node = (found.children_left if left else found.children_right)[node]
        assert node == end
    largest = model.classes_[found.value[ends].argmax(axis=1)]
    assert model.predict(IRIS.data).tolist() == largest.tolist()
    parents = np.flatnonzero(found.children_left != -1)
    both = found.value[found.children_left[parents]] + found.value[found.children_right[parents]]
    assert np.allclose(found.value[parents], both)


def test_each_node_has_a_split_of_its_own() -> None:
    """Of given thresholds, where any other split would classify a hundred rows fewer."""
    anew(epsilon=10 * ALL)
    rows = pd.DataFrame({"x": [1, 1, 2, 2] * 500, "y": [1, 2, 1, 2] * 500, "z": [1, 2] * 1000})
    rows["kind"] = ["a", "b", "b", "a"] * 500
    rows.loc[:99, "kind"] = "a"  # so that the first split isn't at random
    model = DecisionTreeClassifier(2, bounds=(0, 4), thresholds=[1.5], classes=["a", "b"],
                                   epsilon=ALL)  # fmt: skip
    model.fit(rows.dp[["x", "y"]], rows.dp["kind"])
    assert sorted(model.tree_.feature[model.tree_.feature >= 0].tolist()) in ([0, 0, 1], [0, 1, 1])
    assert model.predict([[1, 1], [1, 2], [2, 1], [2, 2]]).tolist() == ["a", "b", "b", "a"]


def test_private_rows_are_classified_as_plain_ones_are() -> None:
    """Of ten numbers, one would have to be beyond 100 times its scale."""
    rows = flowers()
    model = fitted(rows, epsilon=8, depth=3)
    people = rows.dp[FEATURES]
    for how in ("predict", "apply"):
        plain = pd.Series(getattr(model, how)(IRIS.data)).value_counts()
        counts = getattr(model, how)(people).value_counts(epsilon=40)
        assert all(abs(counts[each] - plain.get(each, 0)) < 3 for each in counts.index)
        assert plain.index.isin(counts.index).all()
    told = model.predict_proba(people).mean(bounds=(0, 1), epsilon=60)
    assert np.allclose(told, model.predict_proba(IRIS.data).mean(axis=0), atol=0.05)
    assert np.allclose(model.predict_proba(IRIS.data).sum(axis=1), 1)


def test_a_row_at_a_threshold_goes_left() -> None:
    anew(epsilon=10 * ALL)
    rows = pd.DataFrame({"x": [0.1, 0.3, 0.7, 0.9] * 500})
    rows["late"] = rows["x"] > 0.3
    model = DecisionTreeClassifier(1, bounds=(0, 1), thresholds=[0.3], epsilon=ALL)
    model.fit(rows.dp[["x"]], rows.dp["late"])
    assert model.predict([[0.3], [0.31]]).tolist() == [False, True]
    assert np.allclose(model.tree_.value[1], [1000, 0], atol=20)
    counts = model.predict(rows.dp[["x"]]).value_counts(epsilon=ALL)
    assert abs(counts[False] - 1000) < 20


def test_rows_without_a_feature_or_of_another_class_do_not_count() -> None:
    rows = flowers(100)
    rows.loc[:4999, FEATURES[0]] = np.nan
    rows.loc[5000:, "kind"] = np.where(np.arange(10_000) % 2, "virginica", "weed")
    model = fitted(rows)
    assert np.allclose(model.tree_.value[0], [0, 0, 5000], atol=20)


def test_a_level_costs_its_share_once() -> None:
    model = fitted(flowers(), depth=3, epsilon=1)
    assert dp.ledger().spent == 1
    assert [each.loss.epsilon for each in model.releases_] == [Fraction(1, 5)] * 3 + [
        Fraction(2, 5)
    ]
    assert [each.query for each in model.releases_][2].startswith("best of 60 splits of 4 nodes")


def test_a_unit_of_several_rows_has_less_certain_splits() -> None:
    """Rates are those of a unit with all its rows in one node."""
    rows = flowers().assign(who=np.repeat(np.arange(75), 2))
    anew(epsilon=9)
    people = dp.protect(rows, "flowers", unit="who", max_rows=2)
    how: dict[str, Any] = {"epsilon": 1, "bounds": ENDS, "classes": KINDS}
    several = DecisionTreeClassifier(1, **how).fit(people[FEATURES], people["kind"])
    other = dp.private(flowers(), unit="row")
    alone = DecisionTreeClassifier(1, **how).fit(other[FEATURES], other["kind"])
    assert (several.releases_[0].scale, alone.releases_[0].scale) == (6, 3)


def test_a_fit_again_is_free() -> None:
    anew(epsilon=2)
    people = dp.protect(flowers(), name="flowers", kinds={"kind": "unknown"})
    model = DecisionTreeClassifier(2, epsilon=1, bounds=ENDS, classes=KINDS)
    first = model.fit(people[FEATURES], people["kind"]).tree_
    again = clone(model).fit(people[FEATURES], people["kind"]).tree_
    assert dp.ledger().spent == 1
    assert first.threshold.tolist() == again.threshold.tolist()
    assert is_classifier(model)


def test_masks_are_features() -> None:
    anew(epsilon=10 * ALL)
    rows = pd.DataFrame({"kind": ["car", "bus", "car", "tram"] * 500})
    people = rows.dp.assign(is_car=rows.dp["kind"] == "car", is_bus=rows.dp["kind"] == "bus")
    model = DecisionTreeClassifier(1, bounds=(0, 1), thresholds=2, epsilon=ALL)
    model.fit(people[["is_car", "is_bus"]], people["kind"] == "car")
    assert model.tree_.feature[0] == 0
    assert model.tree_.threshold[0] == 0.5


def test_text_is_that_of_scikit_learn() -> None:
    """Of a tree that both find."""
    anew(epsilon=10 * ALL)
    rows = stepwise(np.arange(10) % 10).assign(late=lambda d: d["x"] > 4)
    many = pd.concat([rows] * 300, ignore_index=True)
    at = {"x": [4.5, 8], "y": [2]}
    model = DecisionTreeClassifier(1, bounds=(0, 10), thresholds=at, epsilon=ALL)
    model.fit(many.dp[["x", "y"]], many.dp["late"])
    exact = tree.DecisionTreeClassifier(max_depth=1).fit(rows[["x"]], rows["late"])
    assert export_text(model) == tree.export_text(exact, feature_names=["x"]).rstrip()
    assert "weights: [" in export_text(model, show_weights=True)
    assert export_text(model, feature_names=["a", "b"], decimals=0).startswith("|--- a <= 4")


def test_a_plot_has_a_box_for_each_node() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    model = fitted(flowers(10), depth=2)
    figure, ax = plt.subplots()
    boxes = plot_tree(model, ax=ax, class_names=["s", "ve", "vi"])
    assert len(boxes) == model.tree_.node_count
    assert [len(each.get_text().splitlines()) for each in boxes] == [3, 3, 2, 2, 3, 2, 2]
    figure.canvas.draw()
    plt.close(figure)
    assert "class_names=" in refusal(lambda: plot_tree(model, class_names=["one"]))
    assert "feature_names=" in refusal(lambda: plot_tree(model, feature_names=["one"]))


def test_a_plot_writes_numbers_as_all_else_and_tells_their_noise() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    anew(epsilon=10)
    rows = pd.DataFrame({"pay": [10_000, 50_000, 50_000] * 1000, "kind": list("abb") * 1000})
    model = DecisionTreeClassifier(
        1, bounds=(0, 90_000), thresholds=[30_000], classes=["a", "b"], epsilon=9
    )
    boxes = plot_tree(model.fit(rows.dp[["pay"]], rows.dp["kind"]), figsize=(6, 4))
    said = [each.get_text().splitlines() for each in boxes]
    assert said[0][0] == "pay ≤ 30,000"
    counts = [f"{round(number):,}" for number in model.tree_.value[0]]
    assert said[0][1] == f"value = [{'; '.join(counts)}]"
    assert counts[1].startswith(("1,9", "2,0"))
    (caption,) = (each.get_text() for each in boxes[0].axes.texts if each not in boxes)
    error = model.releases_[-1].errors().max()
    assert f"with noise of ± {error} (95 %" in " ".join(caption.split())
    plt.close("all")


def test_without_matplotlib_a_plot_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(flowers(10))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert "dppandas[plots]" in refusal(lambda: plot_tree(model))


@pytest.mark.parametrize("size", [(6.4, 4.8), (10, 3)])
def test_no_two_boxes_of_a_drawing_overlap(size: tuple[float, float]) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots(figsize=size)
    boxes = plot_tree(fitted(flowers(20), depth=4), ax=ax)
    figure.canvas.draw()
    taken = [each.get_bbox_patch().get_window_extent() for each in boxes]
    plt.close(figure)
    both = [(a, b) for a, b in itertools.combinations(taken, 2) if a.overlaps(b)]
    assert not both


def test_a_drawing_has_the_colours_of_its_style() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    with plt.style.context("dark_background"):
        boxes = plot_tree(fitted(flowers(20), depth=1), ax=plt.figure().add_subplot())
    plt.close()
    for box in boxes:
        assert box.get_color() == "white"
        assert box.get_bbox_patch().get_facecolor()[:3] == (0, 0, 0)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"max_depth": 0}, "max_depth"),
        ({"max_depth": 11}, "max_depth"),
        ({"thresholds": 1}, "thresholds"),
        ({"thresholds": []}, "list of numbers"),
        ({"thresholds": "few"}, "list of numbers"),
        ({"thresholds": [np.nan]}, "list of numbers"),
        ({"thresholds": [100]}, "splits nothing"),
        ({"thresholds": {"petal": 4}}, "isn't a feature"),
        ({"thresholds": 2**13}, "more than 16,384"),
        ({"classes": ["setosa"]}, "two classes or more"),
    ],
)
def test_bad_arguments_cost_nothing(how: dict[str, Any], told: str) -> None:
    people, how = flowers().dp, {"epsilon": 1, "bounds": ENDS, "classes": KINDS} | how
    model = DecisionTreeClassifier(**how)
    assert told in refusal(lambda: model.fit(people[FEATURES], people["kind"]))


def test_what_is_not_fitted_is_refused() -> None:
    model = DecisionTreeClassifier(epsilon=1)
    for ask in (model.get_depth, lambda: export_text(model), lambda: model.predict([[1]])):
        assert "isn't fitted" in refusal(ask)
    found = fitted(flowers())
    assert "missing" in refusal(lambda: found.predict([[1, 2, 3, np.nan]]))
    assert "logarithm" in refusal(lambda: found.predict_log_proba(flowers().dp[FEATURES]))


def test_what_is_no_tree_is_not_drawn() -> None:
    for ask in (export_text, plot_tree):
        assert "not a LogisticRegression" in refusal(
            lambda f=ask: f(dp.models.LogisticRegression())
        )
