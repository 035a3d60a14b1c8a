"""Fitted trees as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import QueryError, hide_internals
from ...rows.facts.units import whole_number
from .classifier import DecisionTreeClassifier
from .nodes import NO_NODE
from .regressor import DecisionTreeRegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AnyTree = DecisionTreeClassifier | DecisionTreeRegressor


@hide_internals
def export_text(
    decision_tree: AnyTree,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """A fitted tree as text, in the form of scikit-learn's ``export_text``.

    feature_names : in place of those of the model. decimals : of thresholds and weights.
    show_weights : whether leaves show the released numbers of rows of each class; of a regression
        those of all rows.

    *Guarantee*: nothing is released; a tree is made of answers.

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "late": [0, 0, 0, 1, 1, 1] * 500})
    >>> model = dp.models.DecisionTreeClassifier(1, bounds=(0, 10), thresholds=[5], epsilon=3)
    >>> print(dp.models.export_text(model.fit(df.dp[["x"]], df.dp["late"] == 1)))
    |--- x <= 5.00
    |   |--- class: False
    |--- x >  5.00
    |   |--- class: True
    """
    tree, names = _grown(decision_tree), _names(decision_tree, feature_names)
    places = whole_number(decimals, "decimals", 0, 20)
    is_class = isinstance(decision_tree, DecisionTreeClassifier)

    def lines(node: int, indent: str) -> Iterator[str]:
        if tree.children_left[node] == NO_NODE:
            many = tree.value[node] if is_class else tree.weighted_n_node_samples[[node]]
            weights = ", ".join(f"{x:.{places}f}" for x in many)
            told = f"weights: [{weights}] " * show_weights
            found = f"value: [{tree.value[node, 0]:.{places}f}]"
            if is_class:
                found = f"class: {_class_at(decision_tree, node)}"
            yield f"{indent}|--- {told}{found}"
            return
        name, at = names[tree.feature[node]], f"{tree.threshold[node]:.{places}f}"
        for sign, child in (("<=", tree.children_left[node]), ("> ", tree.children_right[node])):
            yield f"{indent}|--- {name} {sign} {at}"
            yield from lines(int(child), f"{indent}|   ")

    return "\n".join(lines(0, ""))


@hide_internals
def plot_tree(
    decision_tree: AnyTree,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    precision: int = 3,
    fontsize: float | None = None,
    ax: Axes | None = None,
) -> list[Any]:
    """Draw a fitted tree with matplotlib, as scikit-learn's ``plot_tree``: a box for each node,
    with its split, and the released numbers of rows by class, or of all rows and their mean.
    Returns the boxes' annotations.

    feature_names, class_names : in place of those of the model.
    precision : digits of thresholds and of means.
    fontsize : else as large as the axes allow. ax : where it is drawn; else the current axes.

    *Guarantee*: nothing is released; a tree is made of answers.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "late": [0, 0, 0, 1, 1, 1] * 500})
    >>> model = dp.models.DecisionTreeClassifier(1, bounds=(0, 10), thresholds=[5], epsilon=3)
    >>> boxes = dp.models.plot_tree(model.fit(df.dp[["x"]], df.dp["late"] == 1))
    >>> len(boxes), boxes[0].get_text().splitlines()[0]
    (3, 'x <= 5.0')
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise QueryError('a plot needs matplotlib: pip install "dppandas[plots]".') from None
    tree, names = _grown(decision_tree), _names(decision_tree, feature_names)
    classes = _classes(decision_tree, class_names)
    axes: Any = plt.gca() if ax is None else ax
    axes.set_axis_off()
    boxes: list[Any] = []

    def draw(node: int, level: int, start: float, width: float, parent: Any) -> None:
        at = (start + width / 2, 1 - (level + 0.5) / (tree.max_depth + 1))
        said = [] if tree.children_left[node] == NO_NODE else [
            f"{names[tree.feature[node]]} <= {round(float(tree.threshold[node]), precision)}"
        ]  # fmt: skip
        if classes is None:
            said.append(f"samples = {tree.weighted_n_node_samples[node]:.0f}")
            said.append(f"value = {round(float(tree.value[node, 0]), precision)}")
        else:
            said.append(f"value = {[round(x) for x in tree.value[node].tolist()]}")
            said.append(f"class = {_class_at(decision_tree, node, classes)}")
        colours = {"fc": plt.rcParams["axes.facecolor"], "ec": plt.rcParams["text.color"]}
        style: dict[str, Any] = {"bbox": {"boxstyle": "round", **colours}, "ha": "center"}
        style |= {"va": "center", "fontsize": fontsize, "xycoords": "axes fraction"}
        style["zorder"] = 100 - level  # arrows end below their parents' boxes
        if parent is not None:
            style["arrowprops"] = {"arrowstyle": "<-", "color": colours["ec"]}
        xy = at if parent is None else parent
        boxes.append(axes.annotate("\n".join(said), xy, at, textcoords="axes fraction", **style))
        if tree.children_left[node] != NO_NODE:
            half = width / 2
            draw(int(tree.children_left[node]), level + 1, start, half, at)
            draw(int(tree.children_right[node]), level + 1, start + half, half, at)

    draw(0, 0, 0.0, 1.0, None)
    if fontsize is None:
        _fit(axes, boxes, tree.max_depth)
    return boxes


def _fit(axes: Any, boxes: list[Any], depth: int) -> None:
    """Make texts so small that no two boxes overlap."""
    renderer = axes.figure.canvas.get_renderer()
    whole = axes.get_window_extent(renderer)
    for _ in range(3):  # texts don't shrink in proportion
        least = 1.0
        for box in boxes:
            box.update_bbox_position_size(renderer)
            taken = box.get_bbox_patch().get_window_extent(renderer)
            level = round((1 - box.xyann[1]) * (depth + 1) - 0.5)
            least = min(least, 0.95 * whole.width / 2**level / taken.width)
            least = min(least, 0.75 * whole.height / (depth + 1) / taken.height)
        for box in boxes:
            box.set_fontsize(box.get_fontsize() * least)


def _grown(model: Any) -> Any:
    """The nodes of a fitted tree; nothing else has any."""
    if not isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor):
        raise QueryError(
            "decision_tree must be a fitted DecisionTreeClassifier or DecisionTreeRegressor, not a "
            f"{type(model).__name__}."
        )
    return model._tree()


def _names(model: Any, given: Sequence[str] | None) -> list[Any]:
    if given is None:
        return list(model.feature_names_in_)
    if len(given) != model.n_features_in_:
        raise QueryError(f"feature_names= must have {model.n_features_in_} names.")
    return list(given)


def _classes(model: Any, given: Sequence[str] | None) -> Sequence[Any] | None:
    """The names of classes; None for a tree that has none."""
    known = getattr(model, "classes_", None)
    if given is not None and (known is None or len(given) != len(known)):
        many = "no" if known is None else len(known)
        raise QueryError(f"class_names= must have {many} names.")
    return known if given is None else list(given)


def _class_at(model: Any, node: int, names: Sequence[Any] | None = None) -> Any:
    """The largest class of a node, as its children's released numbers add up to."""
    return (model.classes_ if names is None else names)[int(model.tree_.value[node].argmax())]
