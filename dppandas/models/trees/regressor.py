"""Regression trees: in each level the centres of nodes, and all splits; and sums at the leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclasses import dataclass, field, replace
from ...errors import hide_internals
from ...frames.frame import PrivateFrame
from ...frames.series import PrivateSeries
from ...statistics import SplitsOfSums
from ..base import Box, Learnt, ProgramAnswers, of_whom
from ..linear import regression_score, wide_target_range
from ..points import Matrix, floats, rounded
from .grown import TreeModel, best_splits
from .nodes import NO_NODE, Candidates, Split, candidates_of, leaf_of, means_of, tree_of

#: Shares of the loss: of the centres and splits of a level, and of the sums at the leaves. Chosen
#: on the data of benchmarks/README.md.
LEVEL, LEAVES = [1, 4], 8


@dataclass(eq=False, repr=False)
class DecisionTreeRegressor(TreeModel):
    """A tree of splits by thresholds, whose leaves tell the mean of a number.

    Two releases for each level. Sums tell the centre of each node, which is about the mean of the
    target in it; then a split of each node is selected at once, after which the sums of (target -
    centre) of the two sides are far from 0. A row lies in one node, so that a level costs its share
    once, however many nodes and candidates it has. A last release has the sums at the leaves, with
    twice the loss of a level's splits. Depth and candidates are public; a node with few rows gets
    an arbitrary split, and a leaf with few rows a mean near that of all rows.

    max_depth : levels of splits, up to 10. Every leaf lies that deep.
    thresholds : where a feature may be split: a number of equal steps of its bounds, or a list of
        thresholds for all features, or a dict of either. They are public.
    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all features, or a dict; else the declared domain's.
    target_bounds : (lower, upper) that the target is clipped to; else the declared domain's. Noise
        grows with them.

    Features are numbers. Of a category select masks: ``people.assign(is_car=people["kind"] ==
    "car")``, with the bounds (0, 1) and a threshold at 0.5.

    After `fit`: ``tree_``, a `Tree` in scikit-learn's arrays, whose ``value`` has the mean of each
    node, and ``releases_``. `export_text` and `plot_tree` show it.

    *Guarantee*: as for `fit` (docs/proofs/decision_trees.md). Source: Friedman and Schuster, "Data
    mining with differential privacy", KDD 2010, for levels; the score, of noisy centres, is our
    own: its loss is that of a sum, whereas scikit-learn's squared error is one of squares.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=3)
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "cost": [20, 20, 20, 50, 50, 50] * 500})
    >>> model = dp.models.DecisionTreeRegressor(
    ...     1, epsilon=3, bounds=(0, 10), target_bounds=(0, 60))
    >>> model = model.fit(df.dp[["x"]], df.dp["cost"])
    >>> model.predict([[1], [9]]).round().tolist(), model.get_n_leaves(), str(session.remaining)
    ([20.0, 50.0], 2, '0')
    >>> dp.reset()
    """

    _kind = "regressor"
    _needs_target = True

    target_bounds: object = field(default=None, kw_only=True)

    _means: Matrix = field(init=False)  # of each leaf

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        depth, candidates = self._depth(), candidates_of(self.thresholds, box)
        ends = wide_target_range(y, self.target_bounds)
        middle, half = ends.lower / 2 + ends.upper / 2, ends.upper / 2 - ends.lower / 2
        value = ((y.clip(ends.lower, ends.upper) - middle) / half).clip(-1, 1)
        whom = of_whom(y).removeprefix(" of ")
        levels: list[tuple[Split, ...]] = []
        with self._shared([*LEVEL * depth, LEAVES]) as split:
            pure = bool(split.shares[0].epsilon)
            for _ in range(depth):
                sums, noise = _sums(scaled, value, levels, pure, answered)
                left = _left(scaled, value, levels, _means(sums))
                chosen = answered(sum_splits(scaled, levels, candidates, left, whom))
                levels.append(tuple(candidates.split(int(place)) for place in chosen))
            sums, noise = _sums(scaled, value, levels, pure, answered)
        found = tree_of(levels, sums, box)
        means = means_of(found.value, noise) * half + middle
        return {
            "tree_": replace(found, value=means[:, None]),
            "_splits": tuple(levels),
            "_means": means[found.children_left == NO_NODE],
        }

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The mean at the leaf of each row, as released: for a private frame a private column (row
        by row, *Stability*: 1; nothing is charged; missing where a feature is); an array for plain
        rows, in which no feature may be missing."""
        self._fitted()
        return self._of_leaves(X, self._means, "mean")

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """R² on plain rows: the share of the target's variance that is predicted. For private rows,
        ask for the mean of the squared errors."""
        return regression_score(self, X, y)


def sum_splits(
    rows: PrivateFrame, levels: Any, of: Candidates, left: PrivateSeries, whom: str
) -> Any:
    """For each node of the next level a split whose sides have sums that are far from 0."""
    said = ("sums of", f"{whom} - centre")
    return best_splits(rows, levels, of, SplitsOfSums, said, target=left._expression)


def _sums(
    scaled: PrivateFrame, value: PrivateSeries, levels: Any, pure: bool, answered: ProgramAnswers
) -> tuple[Matrix, float]:
    """Of each node the sums of (1 + y)/2 and (1 - y)/2, at least 0, which a row adds 1 to together;
    and how large the noise of their difference is."""
    parts = {"above": (1 + value) / 2, "below": (1 - value) / 2}
    by = scaled.assign(**parts, node=leaf_of(scaled, levels))
    of_nodes = by.groupby("node", keys=range(1 << len(levels)))[list(parts)]
    norm = 1.0 if pure else ("l2", 1.0)
    sums = np.maximum(floats(answered(of_nodes.sum(bounds=(0, 1), norm=norm))), 0.0)
    return sums, 2 * float(answered.records[-1].scale)


def _means(sums: Matrix) -> Matrix:
    """The means of nodes in [-1, 1], as sums tell them: 0 without rows."""
    number = sums.sum(axis=1)
    return rounded((sums[:, 0] - sums[:, 1]) / np.where(number > 0, number, 1.0))


def _left(scaled: PrivateFrame, value: PrivateSeries, levels: Any, centres: Matrix) -> Any:
    """How far targets in [-1, 1] are from the centre of their node, as a share of how far they can
    be: so that a row adds as much to the sums of each node as of any other."""
    node, reach = leaf_of(scaled, levels), 1 / (1 + np.abs(centres))
    centre = node.map(dict(enumerate(centres.tolist())))
    share = node.map(dict(enumerate(reach.tolist())))
    return ((value - centre) * share).clip(-1, 1)
