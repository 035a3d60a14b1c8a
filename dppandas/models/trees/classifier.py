"""Decision trees: one release of all splits of a level, and one of the counts at the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclasses import dataclass, field
from ...errors import QueryError, hide_internals
from ...frames.frame import PrivateFrame
from ...statistics import Splits
from ..base import Box, Learnt, ProgramAnswers
from ..classes import Classifier, array_of
from ..points import Matrix, floats
from .grown import TreeModel, best_splits
from .nodes import Split, candidates_of, leaf_of, plain_leaf, shares_of, tree_of

#: The loss of the counts at the leaves, as a multiple of that of a level.
LEAVES = 2


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(TreeModel, Classifier):
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

    _counts: Matrix = field(init=False)  # of each leaf and class

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        labels, depth = self._labels(y), self._depth()
        candidates = candidates_of(self.thresholds, box)
        code = y.map({label: i for i, label in enumerate(labels)}).rename("class")
        levels: list[tuple[Split, ...]] = []
        with self._shared([1] * depth + [LEAVES]):
            for _ in range(depth):
                asked = class_splits(scaled, levels, candidates, code, len(labels))
                chosen = answered(asked)
                levels.append(tuple(candidates.split(int(place)) for place in chosen))
            leaf, size = leaf_of(scaled, levels), len(labels) << depth
            both = (leaf * len(labels) + code).rename("leaf and class")
            counts = floats(answered(both.value_counts(keys=range(size), sort=False)))
        values = np.maximum(counts.reshape(-1, len(labels)), 0.0)
        return {
            "classes_": array_of(labels),
            "tree_": tree_of(levels, values, box),
            "_splits": tuple(levels),
            "_counts": values,
        }

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
        shares = shares_of(self._counts)
        if not isinstance(rows, PrivateFrame):
            return shares[plain_leaf(rows, self._splits)]
        leaf = leaf_of(rows, self._splits)
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


def class_splits(rows: PrivateFrame, levels: Any, of: Any, code: Any, classes: int) -> Any:
    """For each node of the next level a split after which few rows are in a minority."""
    facts = {"target": code._expression, "classes": classes}
    return best_splits(rows, levels, of, Splits, ("classes", classes), **facts)
