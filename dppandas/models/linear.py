"""Linear regression by gradients with noisy line searches, and of many rows by sums of products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..columns.ranges import bounds_of
from ..dataclasses import dataclass
from ..engines import progress
from ..errors import MissingArgument, QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.blocks.split import Split
from ..rows.facts.bounds import Bounds
from ..rows.facts.units import whole_number
from .base import MOST_ROUNDS, Box, Learnt, ProgramAnswers, matrix_of
from .classes import predicted
from .curvature import least_squares, limit_of, plenty_of
from .gradient import Linear, direction, first_direction, gradient, noise_of, variance_of
from .points import Matrix, floats

#: Shares of the loss: of the number of rows with the target's mean; in each round, of a gradient,
#: the mean along it, the sums that decide how far to go, and the mean of the residual.
FIRST, ROUND = 4, [16, "2.5", 11, 4]
#: All weights are found at once if there are MANY · (features + 1)² · (noise of a count) rows, and
#: with ALL in place of MANY all rows weigh the same.
MANY, ALL = 80, 8000
#: A direction is looked for if there are this many rows, in deviations of a count at the last
#: share; with fewer, the noise of the last mean alone is an eighth of the target's range. It is
#: followed if its sums stand out by this many variances of such a count.
FEW, SURE = 11, 1 / 3
#: A step is shrunk as if the sum of squares were larger by this many times the noise of its sums
#: (chosen on the benchmark's data: benchmarks/README.md).
SHRINK = 1.5


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(Linear):
    """Least squares on features with public bounds, by statistical queries.

    First it asks for the number of rows and the mean of the target, by two sums. From about
    80 (d + 1)²/ε rows on, for d features, all of the rest goes into the sums of products of each
    two features and of features and target, from which least squares follows: the error falls as
    rows grow. Rows far from the middle of the box weigh less at first, and all the same from 100
    times as many rows on. The released number of rows decides.

    With fewer rows, or with ``rounds=`` or ``clip=``, each round asks for the gradient, a sum for
    each feature; and then how far to go along it, by the mean of the weighted sum, the sums of its
    squares and of its products with the residual, and the mean of the new residual. The first
    gradient is over rows that are scaled to a small norm. If there are many rows compared with the
    square of the number of features, it includes the products of each two features. One round is
    regression on a single direction, which tolerates more noise than solving for all weights.

    It takes a step only if that is surely better than none. If there are too few rows for the
    noise, or the first gradient doesn't stand out from its own noise, the rest of the loss goes
    into one mean of the target, and the model is that constant, after 0 rounds. A warning says so.

    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all features, or a dict; else the declared domain's.
    target_bounds : (lower, upper) that the target is clipped to; else the declared domain's.
    rounds : how many rounds to run, 1 beside a ``clip``. They remove no bias that ``clip`` brings.
    clip : the gradient and the step clip the residual to this share of half the target's range, by
        default 0.5, which lowers the noise; the residual's mean clips it to no less than half the
        range. Where residuals are larger, as of a target that is 0 or 1, slopes shrink (0.5 may
        halve them) and the constant is off, however many rows there are. 2 clips nothing, unless
        the line leaves the target's range by itself.

    After `fit`: ``coef_`` (d,), ``intercept_``, ``n_iter_`` (0 if the model is a constant),
    ``releases_``.

    *Guarantee*: as for `fit`. Source: the statistical queries of Blum, Dwork, McSherry and Nissim,
    "Practical privacy: the SuLQ framework", PODS 2005.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"a": [0, 1, 2, 3] * 999, "b": [1, 3, 5, 7] * 999})
    >>> model = dp.models.LinearRegression(epsilon=1, bounds=(0, 3), target_bounds=(0, 8))
    >>> model = model.fit(df.dp[["a"]], df.dp["b"])
    >>> model.coef_.shape, model.predict([[1.5]]).shape, str(session.remaining)
    ((1,), (1,), '0')
    >>> dp.reset()
    """

    _kind = "regressor"
    _roads = (False, True)

    target_bounds: object = None
    rounds: object = None
    clip: object = None

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        given = 1 if self.rounds is None else self.rounds
        rounds = whole_number(given, "rounds", 1, MOST_ROUNDS)
        reach = _reach(0.5 if self.clip is None else self.clip)
        ends = wide_target_range(y, self.target_bounds)
        middle, half = ends.lower / 2 + ends.upper / 2, ends.upper / 2 - ends.lower / 2
        value = ((y.clip(ends.lower, ends.upper) - middle) / half).clip(-1, 1)
        weights, constant, done = self._fitted_line(scaled, value, rounds, reach, answered)
        learnt = self._learnt(box, weights * half, constant * half + middle)
        return {**learnt, "n_iter_": done if weights.any() else 0}

    def _note(self) -> str:
        if self.coef_.any() or self.releases_[-1].preview:
            return ""
        return (
            "a constant, and n_iter_ is 0, because no slope stands out from the noise. Give it a "
            "larger loss, more rows or fewer features, or narrower bounds= and target_bounds=."
        )

    def _fitted_line(
        self,
        scaled: PrivateFrame,
        value: PrivateSeries,
        rounds: int,
        reach: float,
        answered: ProgramAnswers,
    ) -> tuple[Matrix, float, int]:
        """Weights, constant, and how many rounds it took; for target and features in [-1, 1]."""
        weights, far = np.zeros(len(scaled.columns)), reach if reach > 1 else 1
        split = self._shared([FIRST, *ROUND * rounds])
        losses = split.shares
        with split:
            # a row with a missing feature has no weighted sum, not even with weights of 0
            known = (value + scaled.dot(weights.tolist())).clip(-1, 1)
            number, mean = _number_and_mean(scaled, known, losses[0], answered)
            plenty = plenty_of(number, len(weights), split, answered)
            if self.rounds is self.clip is None and answered.leads(plenty >= MANY):
                limit, rest = limit_of(plenty, ALL), split._join()
                return *least_squares(scaled, known, limit, rest, answered), 1
            level = Level(mean, variance_of(losses[0]))
            if not answered.is_dummy and number < FEW * np.sqrt(variance_of(losses[4])):
                return weights, _alone(level, known, split, answered), 0
            for i in progress.rounds(rounds, "linear regression"):
                ahead, along, across, last = losses[4 * i + 1 : 4 * i + 5]
                left = value - scaled.dot(weights.tolist()) - level.height
                held = left.clip(-reach, reach)
                if not i:
                    begun = first_direction(scaled, held, reach, number, ahead, answered)
                    if not answered.is_dummy and begun.beyond < SURE * variance_of(last):
                        return weights, _alone(level, known, split, answered), 0
                    direct = begun.weights
                else:
                    direct = direction(answered(gradient(scaled, held, reach)), len(weights))
                line = scaled.dot(direct.tolist()).clip(-1, 1).where(left.notna())
                centre, step = _searched(scaled, line, held, reach, noise_of(across), answered)
                weights = weights + direct * step
                level = level.shifted(-step * centre, step**2 * variance_of(along))
                rest = value - scaled.dot(weights.tolist()) - level.height
                mean = answered(rest.mean(bounds=(-far, far)))
                level = level.updated(_inside(mean, far), far**2 * variance_of(last))
                if answered.stands_still:
                    break
        return weights, level.height, i + 1

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The expected target of each row: a private column for a private frame (row by row,
        *Stability*: 1; nothing is charged), an array for plain rows. It isn't clipped."""
        return self._scores(X)

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """R² on plain rows: the share of the target's variance that is predicted. For private rows,
        ask for the mean of the squared errors."""
        return regression_score(self, X, y)


def regression_score(model: Any, X: Any, y: Any) -> float:
    """R² of a model on plain rows."""
    instead = "((model.predict(people) - people['y']) ** 2).mean(bounds=…, epsilon=…)"
    found, targets = predicted(model, X, y, instead)
    truth = matrix_of(targets[:, None], 1, what="the target")[:, 0]
    spread = float(((truth - truth.mean()) ** 2).sum())
    if spread == 0:
        raise QueryError("all targets are equal, so there is no variance to predict.")
    return 1 - float(((truth - found) ** 2).sum()) / spread


@dataclass(frozen=True)
class Level:
    """An estimate of the constant, with the variance of its noise: that of a count, because
    everything is divided by the same number of rows."""

    height: float
    variance: float

    def shifted(self, by: float, variance: float) -> Level:
        """Changed by a number with noise of its own."""
        return Level(_inside(self.height + by, 4.0), self.variance + variance)

    def updated(self, rest: float, variance: float) -> Level:
        """Improved by an answer that says how much is missing: both weigh by inverse variance."""
        trust = self.variance / (self.variance + variance)
        return Level(_inside(self.height + trust * rest, 4.0), trust * variance)


def _number_and_mean(
    scaled: PrivateFrame, known: PrivateSeries, loss: Any, answered: ProgramAnswers
) -> tuple[float, float]:
    """The number and mean of values in [-1, 1], by two sums that a row adds 1 to together."""
    table = scaled.assign(above=(1 + known) / 2, below=(1 - known) / 2)[["above", "below"]]
    norm = 1.0 if loss.epsilon else ("l2", 1.0)
    sums = floats(answered(table.sum(bounds=(0, 1), norm=norm)))
    above, below = np.maximum(sums, 0.0).tolist()
    number = above + below
    return number, (above - below) / number if number > 0 else 0.0


def _alone(level: Level, known: PrivateSeries, split: Split, answered: ProgramAnswers) -> float:
    """The constant of a model without a direction: the rest of the loss goes into one mean."""
    at_once = split._join()
    mean = answered(known.mean(bounds=(-1, 1)))
    return level.updated(_inside(mean) - level.height, variance_of(at_once)).height


def _searched(
    scaled: PrivateFrame,
    line: PrivateSeries,
    held: PrivateSeries,
    reach: float,
    noise: float,
    answered: ProgramAnswers,
) -> tuple[float, float]:
    """The mean of the weighted sum, and how far to go along it, by two releases."""
    centre = _inside(answered(line.mean(bounds=(-1, 1))))
    # with weights that add up to 1, a weighted sum seldom lies further from its mean than the
    # first, and never further than the second
    narrow = float(len(scaled.columns) ** -0.4) if reach <= 1 else 1 + abs(centre)
    near = (line - centre).clip(-narrow, narrow)
    limits = {"both": (-narrow * reach, narrow * reach), "square": (0, narrow**2)}
    pair = scaled.assign(both=near * held, square=near * near)
    both, square = floats(answered(pair[list(limits)].sum(bounds=limits))).tolist()
    most = max(square, 0.0) + SHRINK * noise * (narrow * reach + narrow**2)
    return centre, min(max(both / most, 0.0), 4.0) if most > 0 else 0.0


def target_range(target: PrivateSeries, given: object) -> Bounds:
    """The bounds of the target."""
    if isinstance(given, Mapping) and not Bounds.is_named(given):
        raise QueryError("target_bounds= must be one pair (lower, upper), not a dict.")
    try:
        return bounds_of(target._table, target.name, target._expression, given)
    except MissingArgument:
        raise MissingArgument(
            "target_bounds= is needed: the range that the target is clipped to, such as "
            "target_bounds=(0, 60). Or declare it by domain= of dp.protect or by .declare(…). "
            "dppandas never reads it from the data."
        ) from None


def wide_target_range(target: PrivateSeries, given: object) -> Bounds:
    """The bounds of the target, which aren't a single point."""
    found = target_range(target, given)
    if found.lower == found.upper:
        raise QueryError(f"target_bounds={found} is a single point. Give wider bounds.")
    return found


def _inside(value: Any, reach: float = 1.0) -> float:
    found = float(value)
    return min(max(found, -reach), reach) if found == found else 0.0


def _reach(clip: object) -> float:
    if isinstance(clip, bool) or not isinstance(clip, int | float | np.number) or not 0 < clip <= 2:
        raise QueryError(f"clip={quoted(clip)} must be a number above 0 and at most 2.")
    return float(clip)
