"""Fitted trees as text and as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...dataclasses import replace
from ...display.plots.base import texts_of
from ...display.plots.looks import draw_alone, parse_look
from ...display.plots.style import pyplot, setting
from ...errors import QueryError, hide_internals
from ...release.accuracy.expected import CONFIDENCE
from ...rows.facts.units import whole_number
from ...rows.figures import format_error, format_exactly, format_number
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
    title: str | None = None,
    caption: bool = True,
    figsize: tuple[float, float] | None = None,
    ground: str | None = None,
) -> list[Any]:
    """Draw a fitted tree with matplotlib, as scikit-learn's ``plot_tree``: a box for each node,
    with its split, and the released numbers of rows by class, or of all rows and their mean.
    Returns the boxes' annotations.

    feature_names, class_names : in place of those of the model.
    precision : the most decimals of thresholds and of means.
    fontsize : else as large as the axes allow.
    ax : where it is drawn; else the current axes, as scikit-learn's, or a new figure where there
        are none, or a size or a ground is given.
    title, caption, figsize, ground : as of `dppandas.plot`.

    *Guarantee*: nothing is released; a tree is made of answers.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "late": [0, 0, 0, 1, 1, 1] * 500})
    >>> model = dp.models.DecisionTreeClassifier(1, bounds=(0, 10), thresholds=[5], epsilon=3)
    >>> boxes = dp.models.plot_tree(model.fit(df.dp[["x"]], df.dp["late"] == 1))
    >>> len(boxes), boxes[0].get_text().splitlines()[0]
    (3, 'x ≤ 5')
    """
    tree, names = _grown(decision_tree), texts_of(_names(decision_tree, feature_names))
    classes = _classes(decision_tree, class_names)
    classes = None if classes is None else texts_of(classes)
    look = parse_look(ax, title, caption, figsize, ground)
    plt = pyplot()
    if ax is None and figsize is None and ground is None and plt.get_fignums():
        look = replace(look, ax=plt.gca())
    texts = [_said(decision_tree, i, names, classes, precision) for i in range(tree.node_count)]
    boxes: list[Any] = []

    def draw(axes: Any) -> str:
        axes.set(xticks=[], yticks=[])  # axes that are off have no place for a caption
        axes.patch.set_visible(False)
        axes.spines[:].set_visible(False)
        boxes.extend(_boxes(axes, tree, texts, fontsize))
        return _caption(decision_tree)

    name = f"{type(decision_tree).__name__}, {decision_tree.releases_.loss.in_short}"
    size = min(16.0, max(6.4, 1.6 * tree.n_leaves)), max(4.0, 1.2 * (tree.max_depth + 1))
    axes = draw_alone(draw, name, size, look)
    if fontsize is None:
        _fit(axes, boxes, tree.max_depth)  # once titles and captions have their room
    return boxes


def _caption(model: AnyTree) -> str:
    record, number = model.releases_[0], len(model.releases_)
    return (
        f"The leaves' numbers are released{_noise(model)}; those above follow from them. By "
        f"{number} releases, {model.releases_.loss}, protecting {record.unit} of {record.source}."
    )


def _noise(model: AnyTree) -> str:
    """How far the numbers of rows at the leaves may be off; that of a regression is two sums."""
    error = max(model.releases_[-1]._errors(CONFIDENCE))
    what, terms = ("", 1) if isinstance(model, DecisionTreeClassifier) else (" in samples", 2)
    return f", with noise of ± {format_error(terms * error)}{what} (95 %, all of them together)"


def _said(
    model: AnyTree, node: int, names: list[Any], classes: Sequence[Any] | None, precision: int
) -> str:
    """What the box of a node says."""
    tree = model.tree_
    said = [] if tree.children_left[node] == NO_NODE else [
        f"{names[tree.feature[node]]} ≤ "
        f"{format_exactly(round(float(tree.threshold[node]), precision))}"
    ]  # fmt: skip
    if classes is None:
        said.append(f"samples = {format_number(round(tree.weighted_n_node_samples[node]))}")
        said.append(f"value = {format_number(round(float(tree.value[node, 0]), precision))}")
    else:
        rows = map(format_number, map(round, tree.value[node].tolist()))
        said.append(f"value = [{'; '.join(rows)}]")
        said.append(f"class = {_class_at(model, node, classes)}")
    return "\n".join(said)


def _boxes(axes: Any, tree: Any, texts: list[str], fontsize: float | None) -> Iterator[Any]:
    """A box for each node, in their order, with an arrow from its parent's."""
    colours = {"fc": setting("axes.facecolor"), "ec": setting("text.color")}
    style: dict[str, Any] = {"bbox": {"boxstyle": "round, pad=0.6", **colours}, "ha": "center"}
    style |= {"va": "center", "fontsize": fontsize, "xycoords": "axes fraction"}

    def draw(node: int, level: int, start: float, width: float, parent: Any) -> Iterator[Any]:
        at = (start + width / 2, 1 - (level + 0.5) / (tree.max_depth + 1))
        more: dict[str, Any] = {"zorder": 3 + level}  # a box is where it will be before its arrows
        if parent is not None:
            end = parent.get_bbox_patch()  # boxes may be transparent: arrows end where they begin
            more["arrowprops"] = {"arrowstyle": "<-", "color": colours["ec"], "patchB": end}
        xy = at if parent is None else parent.xyann
        box = axes.annotate(texts[node], xy, at, textcoords="axes fraction", **style, **more)
        yield box
        if tree.children_left[node] != NO_NODE:
            half = width / 2
            yield from draw(int(tree.children_left[node]), level + 1, start, half, box)
            yield from draw(int(tree.children_right[node]), level + 1, start + half, half, box)

    yield from draw(0, 0, 0.0, 1.0, None)


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
