"""All weights at once, for so many rows that sums of products of features stand out from noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import Loss
from ..release.blocks.split import Split
from .base import ProgramAnswers
from .gradient import MOST_PRODUCTS, WEIGHT, noise_of, plain_names
from .points import Matrix, floats, rounded

#: Eigenvalues of a noisy curvature are held above this many scales of the noise of an entry; with
#: √features more, that is about twice the largest eigenvalue of noise alone (Wigner's law).
FLOOR = 4.0
#: The least that norms of rows are limited to, as a share of the largest.
TRUSTED = 6 / 16
#: Columns to add up: their names and bounds.
_Columns = list[tuple[str, PrivateSeries, float, float]]


def plenty_of(number: float, width: int, split: Split, answered: ProgramAnswers) -> float:
    """A released number of rows in units of (features + 1)² times the noise of a count at the whole
    loss; 0 if there are too many features for their products. What a unit's rows add to the noise
    shows in the last release, in which a row counts 1, at the first share."""
    rows = float(answered.records[-1].scale) / noise_of(split.shares[0])
    noise = rows * noise_of(sum(split.shares, Loss()))
    return number / ((width + 1) ** 2 * noise) if width <= MOST_PRODUCTS else 0.0


def limit_of(plenty: float, all_alike: float) -> float:
    """The share of the largest norm that rows are limited to: all of it where a number of rows is
    plenty enough for them to weigh alike, else in sixteenths, but no less than TRUSTED."""
    return float(np.clip(round(16 * plenty / all_alike) / 16, TRUSTED, 1))


def least_squares(
    scaled: PrivateFrame, value: PrivateSeries, limit: float, loss: Any, answered: ProgramAnswers
) -> tuple[Matrix, float]:
    """Weights and constant of least squares by one released vector of sums, for features and a
    target in [-1, 1].

    limit : rows whose features allow a norm above this share of the largest weigh less. The target
        has no say in it: where its mean is a weighted sum, that one is found all the same.
    """
    width, features = len(scaled.columns), [scaled[name] for name in scaled.columns]
    norm, largest = _norm_by_features(features, loss)
    trust = (limit * largest / norm).clip(0, 1).where(value.notna())  # as is all that it multiplies
    made: _Columns = [
        # a row adds 1 to both together, which are the number of rows and the target's total
        ("above", (1 + value) / 2 * trust, 0.0, 1.0),
        ("below", (1 - value) / 2 * trust, 0.0, 1.0),
    ]
    trusted = list(zip(plain_names(scaled), features, [x * trust for x in features], strict=True))
    made += [(f"slope of {name}", x * value * WEIGHT, -WEIGHT, WEIGHT) for name, _, x in trusted]
    made += [(f"mean of {name}", x, -1.0, 1.0) for name, _, x in trusted]
    for i, (name, x, weighed) in enumerate(trusted):
        # half the number of rows is left out, which is known: that halves the noise
        made.append((f"{name} squared less a half", weighed * x - trust / 2, -0.5, 0.5))
        others = trusted[i + 1 :]
        made += [(f"{name} times {other}", weighed * y, -1.0, 1.0) for other, y, _ in others]
    found, scale = _sums(scaled, made, limit * largest, loss, answered)
    number, total = max(found[0] + found[1], 1.0), found[0] - found[1]
    slopes, sums = found[2 : width + 2] / WEIGHT, found[width + 2 : 2 * width + 2]
    second = _symmetric(found[2 * width + 2 :], width) + np.eye(width) * number / 2
    second = second - np.outer(sums, sums) / number
    deviation = scale * (np.sqrt(2) if loss.epsilon else 1.0)
    ridge = max(FLOOR * deviation * np.sqrt(width) - np.linalg.eigvalsh(second)[0], 0.0)
    weights = np.linalg.solve(second + np.eye(width) * ridge, slopes - sums * total / number)
    return weights, float(total - weights @ sums) / number


def _norm_by_features(features: list[PrivateSeries], loss: Any) -> tuple[PrivateSeries, float]:
    """The largest norm that each row of `least_squares` can have by its features, whatever its
    target is: ℓ1 under ε, ℓ2 under ρ; and the largest of any row."""
    width, squares = len(features), [x**2 for x in features]
    square = sum(squares[1:], squares[0])
    if loss.epsilon:
        total = sum(map(abs, features[1:]), abs(features[0]))
        halves = sum((abs(x - 0.5) for x in squares[1:]), abs(squares[0] - 0.5))
        norm = 1 + (WEIGHT + 1) * total + halves + (total**2 - square) / 2
        return norm, 1 + (WEIGHT + 1.5) * width + width * (width - 1) / 2
    fourth = sum((x**4 for x in features[1:]), features[0] ** 4)
    known = 1 + width / 4
    norm = np.sqrt(known + WEIGHT**2 * square + (square**2 + fourth) / 2)
    return norm, float(np.sqrt(known + WEIGHT**2 * width + (width**2 + width) / 2))


def newton_step(
    scaled: PrivateFrame,
    sign: PrivateSeries,
    point: tuple[Matrix, float],
    limit: float,
    loss: Any,
    answered: ProgramAnswers,
) -> tuple[Matrix, float]:
    """Weights and constant after one step of Newton's towards the most likely ones, by one released
    vector: the gradient, and a share of the curvature that adds nothing to its sensitivity.

    sign : -1 or 1, missing where a row doesn't count.
    limit : as for `least_squares`.
    """
    weights, constant = point
    width, share = len(weights), free_share(len(weights), loss)
    score = scaled.dot(weights.tolist()) + constant
    residual = ((sign - np.tanh(score / 2)) / 2).clip(-1, 1)
    size = abs(residual)
    bend = (size * (1 - size) * share).clip(0, share / 4)  # p (1 - p), missing with the residual
    columns = [scaled[name] for name in scaled.columns]
    norm, largest = _norm_of_gradient(columns, loss)
    trust = (limit * largest / norm).clip(0, 1)
    residual, bend = residual * trust, bend * trust
    features: list[tuple[str, Any]] = [("one", 1.0)]
    features += zip(plain_names(scaled), columns, strict=True)
    made: _Columns = [(f"slope of {name}", residual * x, -1.0, 1.0) for name, x in features]
    for i, (name, x) in enumerate(features):
        bent, low = bend * x, 0.0
        for other, y in features[i:]:
            made.append((f"bend of {name} and {other}", bent * y, low, share / 4))
            low = -share / 4
    found, scale = _sums(scaled, made, limit * largest, loss, answered)
    second = _symmetric(found[width + 1 :] / share, width + 1)
    values, vectors = np.linalg.eigh(second)
    ahead = vectors.T @ found[: width + 1] / np.maximum(values, FLOOR * scale / share)
    step = vectors @ ahead
    longest = 1 + np.abs(weights).sum() / 2
    # rounded, so that machines whose last bits differ ask the same next
    step = rounded(step * min(1.0, longest / max(np.abs(step).sum(), 1e-300)))
    return weights + step[1:], float(constant + step[0])


def _norm_of_gradient(columns: list[PrivateSeries], loss: Any) -> tuple[Any, float]:
    """The norm of each row of `newton_step` were its residual 1, which is the largest that it can
    have by its features: ℓ1 under ε, ℓ2 under ρ; and the largest of any row."""
    if loss.epsilon:
        return sum(map(abs, columns[1:]), 1 + abs(columns[0])), len(columns) + 1.0
    squares = sum((x * x for x in columns[1:]), 1 + columns[0] * columns[0])
    return np.sqrt(squares), float(np.sqrt(len(columns) + 1))


def free_share(width: int, loss: Any) -> float:
    """The weight at which the curvature's sums add nothing to the sensitivity of the gradient's."""
    return 2 / (width + 2) if loss.epsilon else 4 / float(np.sqrt(width + 2))


def _sums(
    scaled: PrivateFrame, made: _Columns, size: float, loss: Any, answered: ProgramAnswers
) -> tuple[Matrix, float]:
    """Released sums of columns, and the scale of their noise. No row's norm is above ``size``, so
    none is scaled to it."""
    names = [name for name, *_ in made]
    if len({*names}) < len(names):  # of features with such names as "a" and "a and b"
        names = [str(i) for i in range(len(made))]
    columns = {name: column for name, (_, column, _, _) in zip(names, made, strict=True)}
    table = scaled.assign(**columns)[names]
    ends = {name: (low, high) for name, (_, _, low, high) in zip(names, made, strict=True)}
    norm = size if loss.epsilon else ("l2", size)
    found = floats(answered(table.sum(bounds=ends, norm=norm)))
    return found, float(answered.records[-1].scale)


def _symmetric(upper: Matrix, width: int) -> Matrix:
    """A matrix from its upper half, row by row."""
    found = np.zeros((width, width))
    found[np.triu_indices(width)] = upper
    return found + np.triu(found, 1).T
