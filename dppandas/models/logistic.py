"""Logistic regression by gradients with noisy line searches, and of many rows by Newton's steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataclasses import dataclass
from ..engines import progress
from ..errors import hide_internals
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..rows.facts.units import whole_number
from .base import MOST_ROUNDS, Box, Learnt, ProgramAnswers
from .curvature import limit_of, newton_step, plenty_of
from .gradient import TwoClasses, direction, first_direction, gradient, noise_of
from .points import Matrix, floats

#: Bins of the two histograms of the first line search.
COARSE, FINE = 8, 16
#: Shares of the loss: of the number of rows in each class, the first gradient, and two histograms;
#: in each further round, of a gradient and the sums along it. With so many rows that Newton's steps
#: are made, of the gradient and the histograms, and of each step.
START, LINE, BEGIN, NEWTON = ["0.5", 5, 1, 4], [5, 5], ["1", "0.2", "0.8"], [3, 5]
#: Newton's steps are made if there are MANY · (features + 1)² · (noise of a count) rows, and with
#: ALL in place of MANY all rows weigh the same.
MANY, ALL = 250, 25_000
#: Weights and constant, for features in [-1, 1].
Point = tuple[Matrix, float]
#: Larger weighted sums change no probability noticeably.
STEEPEST = 1000.0


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(TwoClasses):
    """The probability of the larger of two classes, by statistical queries.

    First it asks how many rows each class has. The first round asks for the gradient at weights of
    0, Σ (y - ȳ)·x, a sum for each feature over rows that are scaled to a small norm. If there are
    many rows compared with the square of the number of features, the same sum includes the products
    of each two features, as least squares needs them. Then it asks for two histograms of the
    weighted sum by class, a coarse and a fine one, and fits intercept and slope to them. So the
    loss goes into one direction and two numbers, not into many gradients.

    With few rows that is all. From about 250 (d + 1)²/ε rows on, for d features, the first round
    gets a fifth of the loss, and two steps of Newton's follow, each by one sum of the gradient and
    the curvature; then the error falls as rows grow, to that of the most likely weights. The
    released number of rows decides. With ``rounds=`` it decides nothing: each further round asks
    for a gradient at the current weights, and for the five sums of a Newton step along it and the
    intercept.

    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all features, or a dict; else the declared domain's.
    classes : both labels of the target, in any order; else its declared keys, or False and True of
        a mask or a stored column of them. Rows with another target don't count.
    rounds : how many rounds to run, in place of what the number of rows decides.

    After `fit`: ``coef_`` (1, d), ``intercept_`` (1,), ``classes_`` (sorted, as scikit-learn
    has them), ``n_iter_`` (3 with Newton's steps), ``releases_``.

    *Guarantee*: as for `fit`. Source: McSherry and Williams, "Probabilistic inference and
    differential privacy", NIPS 2010, for the gradients.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"a": range(2000), "b": range(2000, 0, -1)})
    >>> people = df.dp
    >>> model = dp.models.LogisticRegression(epsilon=1, bounds=(0, 2000))
    >>> model = model.fit(people[["a", "b"]], people["a"] > 1000)
    >>> model.predict([[1990, 10], [10, 1990]]).tolist(), str(session.remaining)
    ([True, False], '0')
    >>> dp.reset()
    """

    _roads = (False, True)

    rounds: object = None

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        given = 1 if self.rounds is None else self.rounds
        rounds, width = whole_number(given, "rounds", 1, MOST_ROUNDS), len(scaled.columns)
        labels, sign = self._signs(y)
        split = self._shared([*START, *LINE * (rounds - 1)])
        with split:
            # a row with a missing feature has no weighted sum, not even with weights of 0
            sign = sign + scaled.dot([0.0] * width)
            counts = floats(answered(sign.value_counts(keys=[-1, 1], sort=False)))
            negative, positive = np.maximum(counts, 0).tolist()
            number = max(negative + positive, 1.0)
            middle = (positive - negative) / number
            plenty = plenty_of(number, width, split, answered)
            in_steps = self.rounds is None and answered.leads(plenty >= MANY)
            if in_steps:
                split._divide([*BEGIN, *NEWTON])
            losses = split.shares
            begun = first_direction(scaled, (sign - middle) / 2, 1.0, number, losses[1], answered)
            line = scaled.dot(begun.weights.tolist()).clip(-1, 1)
            slope, constant = _fitted(line, sign, answered)
            point = begun.weights * slope, constant
            later = losses[len(START) :]
            if in_steps:
                limit, done = limit_of(plenty, ALL), len(later)
                for loss in later:
                    point = _held(newton_step(scaled, sign, point, limit, loss, answered))
            else:
                point, done = self._searched(scaled, sign, point, later, answered)
            weights, constant = point
        return {**self._classified(box, weights, constant, labels), "n_iter_": 1 + done}

    def _searched(
        self, scaled: PrivateFrame, sign: PrivateSeries, point: Point, losses: Any, answered: Any
    ) -> tuple[Point, int]:
        """The weights and constant after steps along gradients, and how many these are."""
        done = 0
        for i in progress.rounds(len(losses) // 2, "logistic regression"):
            weights, constant = point
            score = scaled.dot(weights.tolist()) + constant
            # y - p, where p is the chance of the second class
            residual = (sign - np.tanh(score / 2)) / 2
            along = direction(answered(gradient(scaled, residual, 1.0)), len(weights))
            line = scaled.dot(along.tolist()).clip(-1, 1)
            noise = noise_of(losses[2 * i + 1])
            step, more = _newton(scaled, line, score, residual, noise, answered)
            point, done = _held((weights + along * step, constant + more)), i + 1
            if answered.stands_still:
                break
        return point, done

    @hide_internals
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of both classes: an array (rows, 2) for plain rows; for a private frame
        a private column, the probability of the second class (row by row; nothing is charged)."""
        chance = np.tanh(self._complete_scores(X) / 2) / 2 + 0.5
        return chance if isinstance(X, PrivateFrame) else np.column_stack([1 - chance, chance])


def _held(point: Point) -> Point:
    weights, constant = point
    size = np.abs(weights).sum()
    held = weights * (STEEPEST / size) if size > STEEPEST else weights
    return held, float(np.clip(constant, -STEEPEST, STEEPEST))


def _fitted(line: PrivateSeries, sign: PrivateSeries, answered: Any) -> tuple[float, float]:
    """Slope and intercept of the probability along a line, by two histograms by class."""
    low, high = -1.0, 1.0
    slope = place = 0.0
    for bins in (COARSE, FINE):
        at: Any = np.floor((line - low) * (bins / (high - low))).clip(0, bins - 1)
        cell: Any = at + (sign + 1) * (bins / 2)
        counts = floats(answered(cell.value_counts(keys=range(2 * bins), sort=False)))
        middles = low + (np.arange(bins) + 0.5) * (high - low) / bins
        slope, place = _most_likely(middles, counts[bins:], counts[:bins])
        # where probabilities lie between e^-6 and 1 - e^-6, but not too narrow
        reach = min(max(6 / abs(slope), 0.2), 2.0)
        low, high = max(place - reach, -1.0), min(place + reach, 1.0)
    return slope, -slope * place


def _most_likely(middles: Matrix, positive: Matrix, negative: Matrix) -> tuple[float, float]:
    """Slope and place with the highest likelihood of all in a table. It tries them all, because
    with noisy counts below 0 the likelihood has many peaks."""
    sizes = 2.0 ** np.arange(0, 9, 0.25)
    slopes = np.concatenate([-sizes[::-1], sizes])
    places = np.linspace(middles[0], middles[-1], 129)
    z = slopes[:, None, None] * (middles - places[:, None])
    likelihood = -(np.logaddexp(0, -z) @ positive + np.logaddexp(0, z) @ negative)
    i, j = np.unravel_index(int(np.argmax(likelihood)), likelihood.shape)
    return float(slopes[i]), float(places[j])


def _newton(
    scaled: PrivateFrame,
    line: PrivateSeries,
    score: PrivateSeries,
    residual: PrivateSeries,
    noise: float,
    answered: Any,
) -> tuple[float, float]:
    """One Newton step along a line and the intercept."""
    bend = (1 - np.tanh(score / 2) ** 2) / 4
    ends = {"r": (-1, 1), "r s": (-1, 1), "h": (0, 0.25), "h s": (-0.25, 0.25), "h s s": (0, 0.25)}
    parts = [residual, residual * line, bend, bend * line, bend * line * line]
    table = scaled.assign(**dict(zip(ends, parts, strict=True)))[list(ends)]
    r, rs, h, hs, hss = floats(answered(table.sum(bounds=ends))).tolist()
    shrink = 4 * noise  # about the noise of the sums: below it no curvature is certain
    second = np.array([[max(hss, 0) + shrink, hs], [hs, max(h, 0) + shrink]])
    if np.linalg.eigvalsh(second).min() < shrink / 2:
        second = np.diag(np.diag(second))
    step = np.clip(np.linalg.solve(second, [rs, r]), -STEEPEST, STEEPEST)
    return float(step[0]), float(step[1])
