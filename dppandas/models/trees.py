"""Decision trees: one release of all splits of a level, and one of the counts at the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..release.wording import told
from ..rows.facts.keys import Keys, did_you_mean, some_names
from ..rows.facts.units import whole_number
from ..statistics import Cells, Layout, Splits
from .base import Box, Learnt, ProgramAnswers
from .classes import Classifier, array_of
from .points import Matrix, floats

Integers = npt.NDArray[np.int64]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The most levels: each doubles the nodes.
DEEPEST = 10
#: Equal steps between a feature's thresholds, by default.
STEPS = 16
#: The most thresholds of all features together.
MOST_THRESHOLDS = 2**14
#: The loss of the counts at the leaves, as a multiple of that of a level.
LEAVES = 2
#: scikit-learn's number for a leaf's children and feature.
NO_NODE, NO_FEATURE = -1, -2


class Split(NamedTuple):
    """A split of a node: rows with a feature up to a threshold go left. In the scaled box."""

    feature: int
    threshold: float


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of a tree in scikit-learn's arrays and order: depth first, left before right.

    children_left, children_right : numbers of nodes, -1 for leaves.
    feature, threshold : rows with a feature up to a threshold go left; -2 for leaves.
    value : for each node the numbers of rows of each class, as released, at least 0.
    """

    children_left: Integers
    children_right: Integers
    feature: Integers
    threshold: Matrix
    value: Matrix
    max_depth: int

    @property
    def node_count(self) -> int:
        """How many nodes there are, with the leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int((self.children_left == NO_NODE).sum())


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(Classifier):
    """A tree of splits by thresholds, which tells two or more public classes apart.

    One release for each level selects a split of each of its nodes at once, the one after which
    most rows belong to the largest class of their side: a row lies in one node and raises these
    scores by at most 1, so that a level costs its share once. A last release counts rows by leaf
    and class, with twice the loss of a level. Depth and candidates are public; a node with few rows
    gets an arbitrary split.

    max_depth : levels of splits, up to 10. Every leaf lies that deep.
    thresholds : where a feature may be split: a number of equal steps of its bounds, or a list of
        thresholds for all features, or a dict of either. They are public.
    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all features, or a dict; else the declared domain's.
    classes : all labels of the target, two or more; else its declared keys, or False and True of a
        mask or a stored column of them.

    Features are numbers. Of a category select masks: ``people.assign(is_car=people["kind"] ==
    "car")``, with the bounds (0, 1) and a threshold at 0.5.

    After `fit`: ``tree_``, a `Tree` in scikit-learn's arrays, ``classes_`` and ``releases_``.
    `export_text` and `plot_tree` show it.

    *Guarantee*: as for `fit` (docs/proofs/decision_trees.md). Source: Friedman and Schuster, "Data
    mining with differential privacy", KDD 2010, with their operator Max, each level's splits in
    parallel, and without a factor of 2, as scores only rise.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=3)
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "kind": list("aaabbb") * 500})
    >>> model = dp.models.DecisionTreeClassifier(1, epsilon=3, bounds=(0, 10), classes=["a", "b"])
    >>> model = model.fit(df.dp[["x"]], df.dp["kind"])
    >>> model.predict([[1], [9]]).tolist(), model.get_n_leaves(), str(session.remaining)
    (['a', 'b'], 2, '0')
    >>> dp.reset()
    """

    max_depth: object = 3
    thresholds: object = STEPS

    tree_: Tree = field(init=False)
    _splits: tuple[tuple[Split, ...], ...] = field(init=False)  # of each level
    _counts: Matrix = field(init=False)  # of each leaf and class

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        labels, depth = self._labels(y), whole_number(self.max_depth, "max_depth", 1, DEEPEST)
        candidates = _candidates(self.thresholds, box)
        code = y.map({label: i for i, label in enumerate(labels)}).rename("class")
        levels: list[tuple[Split, ...]] = []
        with self._shared([1] * depth + [LEAVES]):
            for _ in range(depth):
                chosen = answered(best_splits(scaled, levels, code, len(labels), candidates))
                levels.append(tuple(candidates.split(int(place)) for place in chosen))
            leaf, size = _leaf(scaled, levels), len(labels) << depth
            both = (leaf * len(labels) + code).rename("leaf and class")
            counts = floats(answered(both.value_counts(keys=range(size), sort=False)))
        values = np.maximum(counts.reshape(-1, len(labels)), 0.0)
        return {
            "classes_": array_of(labels),
            "tree_": _tree(levels, values, box),
            "_splits": tuple(levels),
            "_counts": values,
        }

    def get_depth(self) -> int:
        """The levels of splits."""
        self._fitted()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        self._fitted()
        return self.tree_.n_leaves

    @hide_internals
    def apply(self, X: Any) -> Any:
        """The node of ``tree_`` in which each row ends: an array of plain rows; of a private frame
        a private column whose keys are the leaves (row by row, *Stability*: 1; nothing is charged;
        missing where a feature is)."""
        leaves = np.flatnonzero(self._tree().children_left == NO_NODE)
        return self._of_leaves(X, leaves, "node")

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The largest class at the leaf of each row: for a private frame a private column, whose
        keys are the classes (row by row, *Stability*: 1; nothing is charged; missing where a
        feature is); an array for plain rows, in which no feature may be missing."""
        self._fitted()
        return self._of_leaves(X, self.classes_[self._counts.argmax(axis=1)], "class")

    @hide_internals
    def predict_proba(self, X: Any) -> Any:
        """The shares of the classes at the leaf of each row, as released: an array (rows, classes)
        for plain rows; for a private frame private columns, one for each class (row by row; nothing
        is charged). Equal where no row was counted."""
        rows = self._fitted().scaled(X)
        shares = _shares(self._counts)
        if not isinstance(rows, PrivateFrame):
            return shares[_plain_leaf(rows, self._splits)]
        leaf = _leaf(rows, self._splits)
        made = {
            f"chance of {label!s}": leaf.map(dict(enumerate(column)))
            for label, column in zip(self.classes_.tolist(), shares.T.tolist(), strict=True)
        }
        return rows.assign(**made)[list(made)]

    @hide_internals
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of what `predict_proba` gives for plain rows: a share of 0 has none among
        private ones."""
        found = self.predict_proba(X)
        if isinstance(found, PrivateFrame):
            raise QueryError("a chance of 0 has no logarithm. Ask predict_proba of private rows.")
        with np.errstate(divide="ignore"):
            return np.log(found)

    def _tree(self) -> Tree:
        self._fitted()
        return self.tree_

    def _of_leaves(self, X: Any, told: Any, name: str) -> Any:
        """For each row what is told of its leaf."""
        rows = self._fitted().scaled(X)
        if not isinstance(rows, PrivateFrame):
            return told[_plain_leaf(rows, self._splits)]
        return _leaf(rows, self._splits).map(dict(enumerate(told.tolist()))).rename(name)


# --- thresholds -----------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """All splits of a node, in order: the thresholds of each feature in the scaled box, rising."""

    thresholds: tuple[tuple[float, ...], ...]

    def described(self, names: Any) -> str:
        """The thresholds of each feature, in words."""
        each = zip(names, self.thresholds, strict=True)
        return "; ".join(f"{name} > {', '.join(map(repr, found))}" for name, found in each)

    def split(self, place: int) -> Split:
        """The split at a place."""
        for feature, each in enumerate(self.thresholds):
            if place < len(each):
                return Split(feature, each[place])
            place -= len(each)
        raise IndexError(place)


def _candidates(said: object, box: Box) -> Candidates:
    """The thresholds that are given for each feature, scaled as its values are."""
    given: Mapping[Any, Any] = said if isinstance(said, Mapping) else dict.fromkeys(box.names, said)
    if strange := [name for name in given if name not in box.names]:
        raise QueryError(
            f"thresholds= names {quoted(strange[0])}, which isn't a feature."
            f"{did_you_mean(strange[0], box.names)} The features: {some_names(box.names)}."
        )
    found = []
    for i, name in enumerate(box.names):
        found.append(_thresholds(given.get(name, STEPS), name, box, i))
    if sum(map(len, found)) > MOST_THRESHOLDS:
        raise QueryError(
            f"there are more than {MOST_THRESHOLDS:,} thresholds of all features. Ask for fewer "
            "steps, such as thresholds=8."
        )
    return Candidates(tuple(found))


def _thresholds(said: Any, name: Any, box: Box, i: int) -> tuple[float, ...]:
    if isinstance(said, int | np.integer) and not isinstance(said, bool):
        steps = whole_number(said, "thresholds", 2, MOST_THRESHOLDS)
        return tuple(2 * k / steps - 1 for k in range(1, steps))
    try:
        given = np.asarray(said, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all():
        raise QueryError(
            f"thresholds= of {quoted(name)} must be a number of equal steps, such as 16, or a list "
            "of numbers."
        )
    bounds, middle, half = box.bounds[i], box.middle.tolist()[i], box.half.tolist()[i]
    outside = [x for x in given.tolist() if not bounds.lower <= x < bounds.upper]
    if outside:
        raise QueryError(
            f"the threshold {outside[0]} of {quoted(name)} splits nothing within the bounds "
            f"{bounds}. Leave it out, or give wider bounds."
        )
    return tuple(sorted({(x - middle) / half for x in given.tolist()}))


# --- rows -----------------------------------------------------------------------------------------


def _leaf(rows: PrivateFrame, levels: Sequence[Sequence[Split]]) -> PrivateSeries:
    """The number of each private row's node at the end of these levels, from left to right; missing
    where a feature is."""
    names = list(rows.columns)
    there = rows.dot([0.0] * len(names))  # missing where a feature is

    def number(level: int, node: int) -> Any:
        if level == len(levels):
            return there + float(node)
        feature, threshold = levels[level][node]
        left, right = number(level + 1, 2 * node), number(level + 1, 2 * node + 1)
        return right.where(rows[names[feature]] > threshold, left)

    found: PrivateSeries = number(0, 0).rename("node")
    return found


def _plain_leaf(rows: Matrix, levels: Sequence[Sequence[Split]]) -> Any:
    """The same of plain rows, in which nothing may be missing."""
    if np.isnan(rows).any():
        raise QueryError("a feature is missing in a row. Fill it, or drop the row.")
    node = np.zeros(len(rows), dtype=np.int64)
    for level in levels:
        features, thresholds = (np.array(each) for each in zip(*level, strict=True))
        node = 2 * node + (rows[np.arange(len(rows)), features[node]] > thresholds[node])
    return node


def best_splits(
    rows: PrivateFrame, levels: Sequence[Any], code: PrivateSeries, classes: int, of: Candidates
) -> Any:
    """The place of the split that is selected for each node of the next level."""
    nodes, node = range(1 << len(levels)), _leaf(rows, levels)._expression
    layout = Layout(integer=True, index=pd.RangeIndex(len(nodes), name="node"), name="split")
    cells = Cells((node,), Keys(tuple(nodes)))
    features = tuple(rows._columns.values())
    statistic = Splits(cells, layout, features, code._expression, classes, of.thresholds)
    many = sum(map(len, of.thresholds))
    what = told(
        f"best of {many:,} splits of {len(nodes)} node{'s' * (len(nodes) > 1)}",
        ("candidates", of.described(rows.columns)),
        ("classes", classes),
    )
    request = Unreleased._of(rows._table, rows._where, statistic, what)
    return Unreleased._ask(request, Ways())


# --- what was learnt ------------------------------------------------------------------------------


def _shares(counts: Matrix) -> Matrix:
    """The share of each class at each leaf; equal shares where nothing was counted."""
    total = counts.sum(axis=1, keepdims=True)
    found: Matrix = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[1])
    return found


def _tree(levels: Sequence[Sequence[Split]], values: Matrix, box: Box) -> Tree:
    """The arrays of a tree, with thresholds in the units of the features."""
    depth = len(levels)
    nodes: list[list[float]] = []
    value: list[Matrix] = []

    def add(level: int, node: int) -> int:
        here, width = len(nodes), 1 << (depth - level)
        value.append(values[node * width : (node + 1) * width].sum(axis=0))
        nodes.append([NO_NODE, NO_NODE, NO_FEATURE, NO_FEATURE])
        if level < depth:
            feature, threshold = levels[level][node]
            at = float(box.middle[feature] + threshold * box.half[feature])
            left, right = add(level + 1, 2 * node), add(level + 1, 2 * node + 1)
            nodes[here] = [left, right, feature, at]
        return here

    add(0, 0)
    left, right, feature, threshold = map(np.array, zip(*nodes, strict=True))
    whole = [each.astype(np.int64) for each in (left, right, feature)]
    return Tree(whole[0], whole[1], whole[2], threshold, np.array(value), depth)


@hide_internals
def export_text(
    decision_tree: DecisionTreeClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    decimals: int = 2,
    show_weights: bool = False,
) -> str:
    """A fitted tree as text, in the form of scikit-learn's ``export_text``.

    feature_names : in place of those of the model. decimals : of thresholds and weights.
    show_weights : whether leaves show the released numbers of rows of each class.

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
    tree, names = decision_tree._tree(), _names(decision_tree, feature_names)
    places = whole_number(decimals, "decimals", 0, 20)

    def lines(node: int, indent: str) -> Iterator[str]:
        if tree.children_left[node] == NO_NODE:
            weights = ", ".join(f"{x:.{places}f}" for x in tree.value[node])
            told = f"weights: [{weights}] " * show_weights
            yield f"{indent}|--- {told}class: {_class_at(decision_tree, node)}"
            return
        name, at = names[tree.feature[node]], f"{tree.threshold[node]:.{places}f}"
        for sign, child in (("<=", tree.children_left[node]), ("> ", tree.children_right[node])):
            yield f"{indent}|--- {name} {sign} {at}"
            yield from lines(int(child), f"{indent}|   ")

    return "\n".join(lines(0, ""))


@hide_internals
def plot_tree(
    decision_tree: DecisionTreeClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    precision: int = 3,
    fontsize: float | None = None,
    ax: Axes | None = None,
) -> list[Any]:
    """Draw a fitted tree with matplotlib, as scikit-learn's ``plot_tree``: a box for each node,
    with its split, and the released numbers of rows by class. Returns the boxes' annotations.

    feature_names, class_names : in place of those of the model. precision : digits of thresholds.
    ax : where it is drawn; else the current axes.

    *Guarantee*: nothing is released; a tree is made of answers.

    >>> import matplotlib; matplotlib.use("Agg")
    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "late": [0, 0, 0, 1, 1, 1] * 500})
    >>> model = dp.models.DecisionTreeClassifier(1, bounds=(0, 10), thresholds=[5], epsilon=3)
    >>> boxes = dp.models.plot_tree(model.fit(df.dp[["x"]], df.dp["late"] == 1))
    >>> len(boxes), boxes[0].get_text().splitlines()[0]
    (3, 'x <= 5.0')
    """
    from matplotlib import pyplot as plt

    tree, names = decision_tree._tree(), _names(decision_tree, feature_names)
    classes = None if class_names is None else list(class_names)
    if classes is not None and len(classes) != len(decision_tree.classes_):
        raise QueryError(f"class_names= must have {len(decision_tree.classes_)} names.")
    axes: Any = plt.gca() if ax is None else ax
    axes.set_axis_off()
    boxes: list[Any] = []

    def draw(node: int, level: int, start: float, width: float, parent: Any) -> None:
        at = (start + width / 2, 1 - (level + 0.5) / (tree.max_depth + 1))
        said = [] if tree.children_left[node] == NO_NODE else [
            f"{names[tree.feature[node]]} <= {round(float(tree.threshold[node]), precision)}"
        ]  # fmt: skip
        said.append(f"value = {[round(x) for x in tree.value[node].tolist()]}")
        said.append(f"class = {_class_at(decision_tree, node, classes)}")
        style: dict[str, Any] = {"bbox": {"boxstyle": "round", "fc": "white"}, "ha": "center"}
        style |= {"va": "center", "fontsize": fontsize, "xycoords": "axes fraction"}
        style["zorder"] = 100 - level  # arrows end below their parents' boxes
        if parent is not None:
            style["arrowprops"] = {"arrowstyle": "<-"}
        xy = at if parent is None else parent
        boxes.append(axes.annotate("\n".join(said), xy, at, textcoords="axes fraction", **style))
        if tree.children_left[node] != NO_NODE:
            half = width / 2
            draw(int(tree.children_left[node]), level + 1, start, half, at)
            draw(int(tree.children_right[node]), level + 1, start + half, half, at)

    draw(0, 0, 0.0, 1.0, None)
    return boxes


def _names(model: DecisionTreeClassifier, given: Sequence[str] | None) -> list[Any]:
    if given is None:
        return list(model.feature_names_in_)
    if len(given) != model.n_features_in_:
        raise QueryError(f"feature_names= must have {model.n_features_in_} names.")
    return list(given)


def _class_at(model: DecisionTreeClassifier, node: int, names: Sequence[Any] | None = None) -> Any:
    """The largest class of a node, as its children's released numbers add up to."""
    return (model.classes_ if names is None else names)[int(model.tree_.value[node].argmax())]
