"""Learners by statistical queries: models of weighted sums, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from .base import Box, Learnt, Model
from .classes import Classifier, array_of
from .points import Matrix, floats, rounded

#: Products of features are asked for if there are at least ENOUGH · features² · (noise of a count)
#: rows, and at most MOST_PRODUCTS features. A slope weighs WEIGHT times as much as a product.
#: Chosen on the data of benchmarks/README.md.
ENOUGH, MOST_PRODUCTS, WEIGHT = 20, 20, 2.0


def direction(answer: Any, width: int) -> Matrix:
    """A noisy gradient scaled to weights with Σ|w| = 1, so that |w·x| ≤ 1 in the box."""
    found = floats(answer)
    size = np.abs(found).sum()
    return found / size if 0 < size < np.inf else np.full(width, 1.0 / width)


def gradient(scaled: PrivateFrame, residual: PrivateSeries, reach: float, norm: Any = None) -> Any:
    """Released: for each feature, the sum over the rows of feature times residual, |r| ≤ reach."""
    residual = residual.clip(-reach, reach)  # changes nothing; computed once for all sums
    products = {name: scaled[name] * residual for name in scaled.columns}
    return scaled.assign(**products)[list(products)].sum(bounds=(-reach, reach), norm=norm)


@dataclass(frozen=True, eq=False)
class Direction:
    """Weights with Σ|w| = 1, and how far the sums that they come from stand out: their squared
    length, less what noise is expected to add to it, or twice that if they are mostly noise."""

    weights: Matrix
    beyond: float


def first_direction(
    scaled: PrivateFrame,
    residual: PrivateSeries,
    reach: float,
    rows: float,
    loss: Any,
    answered: Any,
) -> Direction:
    """Where to go from weights of 0, by one released sum.

    This is the gradient over rows that are scaled to a small norm, which removes most of its noise
    and hardly changes its direction. With so many rows (as a release said) that products of
    features stand out from the noise, the same sum includes these, and the direction is that of
    least squares.
    """
    width = len(scaled.columns)
    if width > MOST_PRODUCTS or not rows >= ENOUGH * width**2 * noise_of(loss):
        size = (width if loss.epsilon else float(np.sqrt(width))) / 10
        norm = size if loss.epsilon else ("l2", size)
        sums = answered(gradient(scaled, residual, reach, norm))
        noise = width * size**2 * variance_of(loss)
        return Direction(direction(sums, width), _squares(sums) - 2 * noise)
    size = float(width) if loss.epsilon else float(np.sqrt(width)) / 2
    table, ends = _products(scaled, residual, reach)
    norm = size if loss.epsilon else ("l2", size)
    found = floats(answered(table.sum(bounds=ends, norm=norm)))
    slopes, number, means = found[:width] / WEIGHT, found[width], found[width + 1 : 2 * width + 1]
    upper = np.triu_indices(width)
    second = np.zeros((width, width))
    second[upper] = found[2 * width + 1 :]
    second = second + np.triu(second, 1).T - np.outer(means, means) / max(number, 1.0)
    # the largest eigenvalue of noise alone, by Wigner's law: below it nothing is certain
    shrink = 2 * np.sqrt(2 * width) * size * noise_of(loss)
    values, vectors = np.linalg.eigh(second)
    weights = vectors @ ((vectors.T @ slopes) / (np.maximum(values, 0.0) + shrink))
    noise = width * (size / WEIGHT) ** 2 * variance_of(loss)
    # rounded, so that machines whose last bits differ ask the same next
    ahead = direction(rounded(weights / max(np.abs(weights).sum(), 1e-300)), width)
    return Direction(ahead, _squares(slopes) - noise)


def _squares(sums: Any) -> float:
    return float((floats(sums) ** 2).sum())


def _products(
    scaled: PrivateFrame, residual: PrivateSeries, reach: float
) -> tuple[PrivateFrame, dict[str, tuple[float, float]]]:
    """Columns for features times residual, 1, features, and products of each two; and bounds."""
    residual = residual.clip(-reach, reach)  # changes nothing; computed once for all sums
    there = residual.notna()
    kept = [scaled[name].where(there).clip(-1, 1) for name in scaled.columns]
    names = plain_names(scaled)
    made = {f"slope of {name}": x * residual * WEIGHT for name, x in zip(names, kept, strict=True)}
    ends = dict.fromkeys(made, (-reach * WEIGHT, reach * WEIGHT))
    made["one"], ends["one"] = there * 1.0, (0.0, 1.0)
    for name, x in zip(names, kept, strict=True):
        made[f"mean of {name}"], ends[f"mean of {name}"] = x, (-1.0, 1.0)
    for i, x in enumerate(kept):
        for j, y in enumerate(kept[i:], i):
            product = f"{names[i]} times {names[j]}"
            made[product], ends[product] = x * y, (-1.0 if i < j else 0.0, 1.0)
    return scaled.assign(**made)[list(made)], ends


def plain_names(scaled: PrivateFrame) -> list[str]:
    """Names of features for the names of their products."""
    names = [str(name).removesuffix(" in [-1, 1]") for name in scaled.columns]
    if len({*names}) < len(names) or any(" times " in name for name in names):
        return [str(i) for i in range(len(names))]  # one name must not stand for two columns
    return names


def noise_of(loss: Any) -> float:
    """About how much noise a count gets: the scale of Laplace noise, the deviation of Gaussian."""
    return 1 / float(loss.epsilon) if loss.epsilon else float(1 / np.sqrt(2 * float(loss.rho)))


def variance_of(loss: Any) -> float:
    """About the variance of that noise."""
    return 2 / float(loss.epsilon) ** 2 if loss.epsilon else 1 / (2 * float(loss.rho))


@dataclass(eq=False, repr=False, kw_only=True)
class Linear(Model):
    """A model of weighted sums of features: ``coef_`` and ``intercept_``, in the features' units.

    Rows to predict for are clipped to the public bounds, like those that it learnt from.
    """

    coef_: Matrix = field(init=False)
    _scaled: tuple[Matrix, float] = field(init=False)  # for features in [-1, 1]

    _needs_target = True

    def _scores(self, X: Any) -> Any:
        """Weighted sums: a private column for private rows, an array for plain ones.

        Both are added from left to right, so that they agree to the last bit."""
        box = self._fitted()
        weights, constant = self._scaled
        if isinstance(X, PrivateFrame):
            missing = [name for name in box.names if name not in X.columns]
            if missing:
                raise QueryError(f"this frame lacks the feature {quoted(missing[0])}. Select it.")
            return box.private(X).dot(weights.tolist()) + constant
        rows = box.plain(X)
        total = np.zeros(len(rows))
        for weight, column in zip(weights.tolist(), rows.T, strict=True):
            total = total + weight * column
        return total + constant

    def _complete_scores(self, X: Any) -> Any:
        """`_scores`, but refuses plain rows with a missing feature."""
        scores = self._scores(X)
        if not isinstance(X, PrivateFrame) and np.isnan(scores).any():
            raise QueryError("a feature is missing in a row. Fill it, or drop the row.")
        return scores

    def _learnt(self, box: Box, weights: Matrix, constant: float) -> Learnt:
        """What is learnt, in the units of the features, and for features in [-1, 1]."""
        coef = weights / box.half
        return {
            "coef_": coef,
            "intercept_": float(constant - coef @ box.middle),
            "_scaled": (weights, float(constant)),
        }


@dataclass(eq=False, repr=False, kw_only=True)
class TwoClasses(Linear, Classifier):
    """A model that tells two public classes apart by the sign of a weighted sum. Classes are in
    scikit-learn's order, however they are given: the positive one is the larger label."""

    _number_of_classes = 2

    def _signs(self, target: PrivateSeries) -> tuple[tuple[Any, ...], PrivateSeries]:
        """The classes, and -1 or 1 for each row; missing if its target is neither."""
        negative, positive = self._labels(target)
        return (negative, positive), target.map({negative: -1, positive: 1})

    def _classified(self, box: Box, weights: Matrix, b: float, labels: Any) -> Learnt:
        learnt = self._learnt(box, weights, b)
        learnt["coef_"] = learnt["coef_"].reshape(1, -1)
        learnt["intercept_"] = np.array([learnt["intercept_"]])
        return {**learnt, "classes_": array_of(labels)}

    @hide_internals
    def decision_function(self, X: Any) -> Any:
        """Weighted sums, above 0 for the second class: a private column for a private frame (row by
        row, *Stability*: 1; nothing is charged), an array for plain rows."""
        return self._scores(X)

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The class of each row: for a private frame a private column, whose keys are the classes
        (row by row, *Stability*: 1; nothing is charged; missing where a feature is); an array for
        plain rows, in which no feature may be missing."""
        scores = self._complete_scores(X)
        if not isinstance(X, PrivateFrame):
            return self.classes_[(scores > 0).astype(int)]
        above = (scores > 0) * 1.0 + scores * 0.0  # missing where a feature is
        negative, positive = self.classes_.tolist()
        return above.map({0: negative, 1: positive})
