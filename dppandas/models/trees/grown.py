"""Models that are trees, whose splits are selected level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...dataclasses import dataclass, field
from ...errors import hide_internals
from ...frames.frame import PrivateFrame
from ...release.unreleased import Unreleased
from ...release.ways import Ways
from ...release.wording import Question, Verb
from ...rows.facts.keys import Keys
from ...rows.facts.units import whole_number
from ...statistics import Cells, Layout
from ..base import Model
from .nodes import NO_NODE, STEPS, Candidates, Split, Tree, leaf_of, plain_leaf

#: The most levels: each doubles the nodes.
DEEPEST = 10


@dataclass(eq=False, repr=False)
class TreeModel(Model):
    """A tree of public splits, in which every leaf lies at the full depth."""

    max_depth: object = 3
    thresholds: object = STEPS

    tree_: Tree = field(init=False)
    _splits: tuple[tuple[Split, ...], ...] = field(init=False)  # of each level

    def _depth(self) -> int:
        return whole_number(self.max_depth, "max_depth", 1, DEEPEST)

    def get_depth(self) -> int:
        """The levels of splits."""
        return self._tree().max_depth

    def get_n_leaves(self) -> int:
        """The number of leaves."""
        return self._tree().n_leaves

    @hide_internals
    def apply(self, X: Any) -> Any:
        """The node of ``tree_`` in which each row ends: an array of plain rows; of a private frame
        a private column whose keys are the leaves (row by row, *Stability*: 1; nothing is charged;
        missing where a feature is)."""
        leaves = np.flatnonzero(self._tree().children_left == NO_NODE)
        return self._of_leaves(X, leaves, "node")

    def _tree(self) -> Tree:
        self._fitted()
        return self.tree_

    def _of_leaves(self, X: Any, told: Any, name: str) -> Any:
        """For each row what is told of its leaf."""
        rows = self._fitted().scaled(X)
        if not isinstance(rows, PrivateFrame):
            return told[plain_leaf(rows, self._splits)]
        return leaf_of(rows, self._splits).map(dict(enumerate(told.tolist()))).rename(name)


def best_splits(
    rows: PrivateFrame,
    levels: Sequence[Any],
    of: Candidates,
    statistic: Any,
    *said: tuple[str, Any],
    **facts: Any,
) -> Any:
    """The place of the split that a statistic selects for each node of the next level.

    said : what the ledger tells of them. facts : fields of the statistic.
    """
    nodes, node = range(1 << len(levels)), leaf_of(rows, levels)._expression
    layout = Layout(integer=True, index=pd.RangeIndex(len(nodes), name="node"), name="split")
    cells = Cells((node,), Keys(tuple(nodes)))
    features = tuple(rows._columns.values())
    made = statistic(cells, layout, features, thresholds=of.thresholds, **facts)
    many = sum(map(len, of.thresholds))
    named = ("candidates", of.described(rows.columns)), *said
    title = f"best of {many:,} splits of {len(nodes)} node{'s' * (len(nodes) > 1)}"
    what = Question(Verb(title, alone=title)).beside(*named)
    return Unreleased._ask(Unreleased._of(rows._table, rows._where, made, what), Ways())
