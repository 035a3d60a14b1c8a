"""What learners by statistical queries have in common: weighted sums of a row, and their ascent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.blocks import split as splits
from ..rows.facts.keys import Keys
from .base import Box, Matrix, Model
from .points import rounded

#: Of rows at least this times the number of features squared, times the noise of a count, products
#: of features are asked for; of how many features at most; and how much a slope weighs beside one.
#: What these were chosen on says benchmarks/README.md.
ENOUGH, MOST_PRODUCTS, WEIGHT = 20, 20, 2.0


def direction(answer: Any, width: int) -> Matrix:
    """A noisy gradient as weights whose sizes add up to 1, so that |w·x| ≤ 1 in the box."""
    found = np.asarray(answer, dtype=np.float64)
    size = np.abs(found).sum()
    if not np.isfinite(size) or size <= 0:
        return np.full(width, 1.0 / width)
    made: Matrix = found / size
    return made


def gradient(scaled: PrivateFrame, residual: PrivateSeries, reach: float, norm: Any = None) -> Any:
    """Released: for each feature the sum over the rows of feature times residual, |r| ≤ reach."""
    residual = residual.clip(-reach, reach)  # which changes nothing, and is made once for all sums
    products = {name: scaled[name] * residual for name in scaled.columns}
    return scaled.assign(**products)[list(products)].sum(bounds=(-reach, reach), norm=norm)


@dataclass(frozen=True, eq=False)
class Direction:
    """Weights whose sizes add up to 1, and how far the sums they are made of stand out: the square
    of their length, less what noise is expected to add to it, or, where noise is most of them,
    twice that."""

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

    The gradient, of rows that are scaled to a small norm: most of its noise goes, and its direction
    hardly changes. Of so many rows (as a release told) that products of features stand out of the
    noise, these are asked for in the same sum, and the direction is that of least squares.
    """
    width = len(scaled.columns)
    if width > MOST_PRODUCTS or not rows >= ENOUGH * width**2 * noise_of(loss):
        size = (width if loss.epsilon else float(np.sqrt(width))) / 10
        norm = size if loss.epsilon else ("l2", size)
        answered(sums := gradient(scaled, residual, reach, norm))
        noise = width * size**2 * variance_of(loss)
        return Direction(direction(sums, width), _squares(sums) - 2 * noise)
    size = float(width) if loss.epsilon else float(np.sqrt(width)) / 2
    table, ends = _products(scaled, residual, reach)
    answered(sums := table.sum(bounds=ends, norm=size if loss.epsilon else ("l2", size)))
    found = np.asarray(sums, dtype=np.float64)
    slopes, number, means = found[:width] / WEIGHT, found[width], found[width + 1 : 2 * width + 1]
    upper = np.triu_indices(width)
    second = np.zeros((width, width))
    second[upper] = found[2 * width + 1 :]
    second = second + np.triu(second, 1).T - np.outer(means, means) / max(number, 1.0)
    # the largest eigenvalue of noise alone, by Wigner's law: below it nothing is known
    shrink = 2 * np.sqrt(2 * width) * size * noise_of(loss)
    values, vectors = np.linalg.eigh(second)
    weights = vectors @ ((vectors.T @ slopes) / (np.maximum(values, 0.0) + shrink))
    noise = width * (size / WEIGHT) ** 2 * variance_of(loss)
    # machines whose last bits differ should ask the same next
    ahead = direction(rounded(weights / max(np.abs(weights).sum(), 1e-300)), width)
    return Direction(ahead, _squares(slopes) - noise)


def _squares(sums: Any) -> float:
    return float((np.asarray(sums, dtype=np.float64) ** 2).sum())


def _products(
    scaled: PrivateFrame, residual: PrivateSeries, reach: float
) -> tuple[PrivateFrame, dict[str, tuple[float, float]]]:
    """Features times residual, 1, features, and products of each two: bounded columns."""
    residual = residual.clip(-reach, reach)  # clipping changes nothing, and is made once for all
    there = residual.notna()
    kept = [scaled[name].where(there).clip(-1, 1) for name in scaled.columns]
    made = {f"slope {i}": x * residual * WEIGHT for i, x in enumerate(kept)}
    ends = dict.fromkeys(made, (-reach * WEIGHT, reach * WEIGHT))
    made["one"], ends["one"] = there * 1.0, (0.0, 1.0)
    for i, x in enumerate(kept):
        made[f"mean {i}"], ends[f"mean {i}"] = x, (-1.0, 1.0)
    for i, x in enumerate(kept):
        for j, y in enumerate(kept[i:], i):
            made[f"{i} times {j}"], ends[f"{i} times {j}"] = x * y, (-1.0 if i < j else 0.0, 1.0)
    return scaled.assign(**made)[list(made)], ends


def noise_of(loss: Any) -> float:
    """About how much noise a count gets at a loss: the scale of Laplace's, Gauss' deviation."""
    return 1 / float(loss.epsilon) if loss.epsilon else float(1 / np.sqrt(2 * float(loss.rho)))


def variance_of(loss: Any) -> float:
    """About the variance of that noise."""
    return 2 / float(loss.epsilon) ** 2 if loss.epsilon else 1 / (2 * float(loss.rho))


def shares(split: splits.Split) -> list[float]:
    """The noise of a count at each share."""
    return [noise_of(loss) for loss in split.shares]


class Linear(Model):
    """A model of weighted sums of features: ``coef_`` and ``intercept_``, in the features' units.

    Rows that are predicted for are clipped to the public bounds, as those learnt from were.
    """

    coef_: Matrix
    _scaled: tuple[Matrix, float]

    _needs_target = True

    def _weights(self) -> tuple[Matrix, float]:
        """Weights of features in [-1, 1], and what is added."""
        self._fitted()
        return self._scaled

    def _scores(self, X: Any) -> Any:
        """Weighted sums: a private column of private rows, an array of others.

        Both are added from left to right, so that they agree to the last bit."""
        box, (weights, constant) = self._fitted(), self._weights()
        if isinstance(X, PrivateFrame):
            _has(X, box)
            return box.private(X).dot(weights.tolist()) + constant
        rows = box.plain(X)
        total = np.zeros(len(rows))
        for weight, column in zip(weights.tolist(), rows.T, strict=True):
            total = total + weight * column
        return total + constant

    def _learnt(self, box: Box, weights: Matrix, constant: float) -> dict[str, Any]:
        """The same in the features' units, and as it was learnt."""
        coef = weights / box.half
        return {
            "coef_": coef,
            "intercept_": float(constant - coef @ box.middle),
            "_scaled": (weights, float(constant)),
        }


class TwoClasses(Linear):
    """What tells two public classes apart by the sign of a weighted sum."""

    _kind = "classifier"
    classes: object
    classes_: Any

    def _labels(self, target: PrivateSeries) -> tuple[Any, Any]:
        """The classes, the second of which is the positive one: never read from the rows."""
        declared = target._table.declared(target._expression)
        if self.classes is not None:
            given = _two(self.classes)
            if isinstance(declared, Keys):
                strange = [each for each in given if each not in declared.labels]
                if strange:
                    raise QueryError(
                        f"classes= names {quoted(strange[0])}, which is none of the target's keys: "
                        f"{declared}."
                    )
            return given
        if isinstance(declared, Keys):
            return _two(list(declared.labels))
        raise QueryError(
            "the classes are public, and never read from the rows: classes=[negative, positive], "
            "or declare the keys of the target in dp.protect, or hand a mask such as "
            'people["income"] > 50_000.'
        )

    def _signs(
        self, scaled: PrivateFrame, target: PrivateSeries
    ) -> tuple[tuple[Any, Any], PrivateSeries]:
        """The classes, and 1 or -1 for each row; missing where its target is neither."""
        negative, positive = self._labels(target)
        return (negative, positive), target.map({negative: -1, positive: 1})

    def _classified(self, box: Box, weights: Matrix, b: float, labels: Any) -> dict[str, Any]:
        learnt = self._learnt(box, weights, b)
        learnt["coef_"] = learnt["coef_"].reshape(1, -1)
        learnt["intercept_"] = np.array([learnt["intercept_"]])
        return {**learnt, "classes_": _array(labels)}

    @hide_internals
    def decision_function(self, X: Any) -> Any:
        """Weighted sums, above 0 for the second class: a private column of a private frame (row by
        row, *Stability*: 1; nothing is charged), an array of plain rows."""
        return self._scores(X)

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The class of each row: a private column, whose keys are the classes, of a private frame
        (row by row, *Stability*: 1; nothing is charged; missing where a feature is); an array of
        plain rows, in which no feature may be missing."""
        scores = self._scores(X)
        if not isinstance(X, PrivateFrame):
            if np.isnan(scores).any():
                raise QueryError("a feature is missing in a row: fill or drop it first.")
            return self.classes_[(scores > 0).astype(int)]
        above = (scores > 0) * 1.0 + scores * 0.0  # missing where a feature is
        negative, positive = self.classes_.tolist()
        return above.map({0: negative, 1: positive})

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """The share of plain rows whose class is predicted. Of private rows ask for it:
        ``(model.predict(people) == people["y"]).mean(epsilon=…)``."""
        _plain_only(X, "(model.predict(people) == people['y']).mean(epsilon=…)")
        found = self.predict(X)
        return float(np.mean(found == targets_of(y, len(found))))


def _array(labels: Any) -> Any:
    found = np.array(labels)
    if [type(x) for x in found.tolist()] == [type(x) for x in labels]:
        return found
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def _two(labels: Any) -> tuple[Any, Any]:
    if isinstance(labels, str) or not isinstance(labels, list | tuple | np.ndarray | pd.Index):
        raise QueryError(f"classes={quoted(labels)} must be a list: [negative, positive].")
    found = Keys.parse(list(labels), ["classes"]).labels
    if len(found) != 2:
        raise QueryError(
            f"it tells two classes apart, and these are {len(found)}. For more, fit one model for "
            'each against the rest, on people["kind"] == "a", and compare their scores.'
        )
    return found[0], found[1]


def _has(frame: PrivateFrame, box: Box) -> None:
    missing = [name for name in box.names if name not in frame.columns]
    if missing:
        raise QueryError(f"this frame has no column {quoted(missing[0])}.")


def targets_of(y: Any, rows: int) -> Any:
    """The target of so many plain rows, of which there must be some."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or len(found) != rows or not rows:
        raise QueryError(
            f"a score needs one target for each row: {rows} rows, and targets of shape "
            f"{found.shape}."
        )
    return found


def _plain_only(X: Any, instead: str) -> None:
    if isinstance(X, PrivateFrame):
        raise QueryError(f"a score of private rows is an answer: ask {instead}.")
