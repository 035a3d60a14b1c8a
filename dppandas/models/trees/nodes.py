"""Nodes of trees: where they may be split, where rows lie, and what is learnt of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dataclasses import dataclass
from ...errors import QueryError, quoted
from ...frames.frame import PrivateFrame
from ...frames.series import PrivateSeries
from ...rows.facts.keys import did_you_mean, some_names
from ...rows.facts.units import whole_number
from ...rows.figures import format_fact
from ..base import Box
from ..points import Matrix, rounded

Integers = npt.NDArray[np.int64]

#: Equal steps between a feature's thresholds, by default.
STEPS = 16
#: The most thresholds of all features together.
MOST_THRESHOLDS = 2**14
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
    value : for each node, as released, the numbers of rows of each class, or the mean target.
    weighted_n_node_samples : the number of rows of each node, as released, at least 0.
    """

    children_left: Integers
    children_right: Integers
    feature: Integers
    threshold: Matrix
    value: Matrix
    weighted_n_node_samples: Matrix
    max_depth: int

    @property
    def node_count(self) -> int:
        """How many nodes there are, with the leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """How many leaves there are."""
        return int((self.children_left == NO_NODE).sum())


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


def candidates_of(said: object, box: Box) -> Candidates:
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
            f"{format_fact(bounds)}. Leave it out, or give wider bounds."
        )
    return tuple(sorted({(x - middle) / half for x in given.tolist()}))


# --- rows -----------------------------------------------------------------------------------------


def leaf_of(rows: PrivateFrame, levels: Sequence[Sequence[Split]]) -> PrivateSeries:
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


def plain_leaf(rows: Matrix, levels: Sequence[Sequence[Split]]) -> Any:
    """The same of plain rows, in which nothing may be missing."""
    if np.isnan(rows).any():
        raise QueryError("a feature is missing in a row. Fill it, or drop the row.")
    node = np.zeros(len(rows), dtype=np.int64)
    for level in levels:
        features, thresholds = (np.array(each) for each in zip(*level, strict=True))
        node = 2 * node + (rows[np.arange(len(rows)), features[node]] > thresholds[node])
    return node


# --- what was learnt ------------------------------------------------------------------------------


def shares_of(counts: Matrix) -> Matrix:
    """The share of each class at each leaf; equal shares where nothing was counted."""
    total = counts.sum(axis=1, keepdims=True)
    found: Matrix = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / counts.shape[1])
    return found


def means_of(sums: Matrix, noise: float) -> Matrix:
    """Means in [-1, 1] from noisy sums of (1 + y)/2 and (1 - y)/2, which add up to numbers of rows,
    with noise of about this size: drawn to the first one's mean where rows are few."""
    number, away = sums.sum(axis=1), sums[:, 0] - sums[:, 1]
    middle = away[0] / max(number[0], 1.0)
    found = middle + (away - number * middle) * number / (number**2 + noise**2)
    return rounded(np.clip(found, -1.0, 1.0))


def tree_of(levels: Sequence[Sequence[Split]], values: Matrix, box: Box) -> Tree:
    """The arrays of a tree, with thresholds in the units of the features, and in each node the sum
    of its leaves' values."""
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
    found = np.array(value)
    return Tree(whole[0], whole[1], whole[2], threshold, found, found.sum(axis=1), depth)
