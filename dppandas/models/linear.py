"""Linear regression by gradients with a noisy line search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..columns.ranges import bounds_of
from ..engines import parallel
from ..errors import MissingArgument, QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..release.blocks.split import Split
from ..rows.facts.bounds import Bounds
from ..rows.facts.units import whole_number
from .base import MOST_ROUNDS, Box, Matrix, ProgramAnswers
from .gradient import (
    Linear,
    _plain_only,
    direction,
    first_direction,
    gradient,
    noise_of,
    targets_of,
    variance_of,
)

#: Shares of the loss: of the number of rows and the target's mean; and in each round of a gradient,
#: the mean along it, the sums that say how far to go, and the mean of what is left.
FIRST, ROUND = 4, [16, "2.5", 11, 4]
#: A weighted sum is looked for if there are this many rows in deviations of a count at the last
#: share: with fewer the last mean alone has noise of an eighth of the target's range. And gone
#: along if its sums stand out by this many variances of such a count.
FEW, SURE = 11, 1 / 3
#: A step is shrunk as if this many times the noise of its sums had been found on top of the sum of
#: squares (chosen on the benchmark's data, which benchmarks/README.md says).
SHRINK = 1.5


class LinearRegression(Linear):
    """Least squares on features in public bounds, by statistical queries.

    First it asks for the number of rows and the mean of the target, by two sums. Each round asks
    for the gradient, a sum for each feature, of which the first is of rows scaled to a small norm,
    and has the products of each two features with it where there are many rows for the square of
    their number; and how far to go along it: the mean of the weighted sum, the sums of its squares
    and of its products with what is left of the target, and the mean of what is left then. With
    one round this is regression on a single direction, which stands more noise than solving for
    all weights; more rounds come to least squares where there are many rows.

    A step is taken only where it is surely better than none: where there are too few rows for the
    noise, or the first gradient doesn't stand out of its own, all that is left of the loss goes
    into one mean of the target, and the model is that constant, after 0 rounds.

    epsilon, rho : what the fit costs in all.
    bounds : (lower, upper) for all features or a dict; else those that are declared.
    target_bounds : (lower, upper) of the target, to which it is clipped; else those declared.
    rounds : how many rounds there are.
    clip : what is left of the target is clipped to this share of half its range in each gradient,
        which lowers the noise; 2 clips nothing.

    Learnt: ``coef_`` (d,), ``intercept_``, ``n_iter_`` (0 where it is a constant), ``releases_``.

    *Guarantee*: as of `fit`. Source: the statistical queries of Blum, Dwork, McSherry and Nissim,
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

    def __init__(
        self,
        *,
        epsilon: object = None,
        rho: object = None,
        bounds: object = None,
        target_bounds: object = None,
        rounds: object = 1,
        clip: object = 0.5,
    ) -> None:
        self.epsilon = epsilon
        self.rho = rho
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.rounds = rounds
        self.clip = clip

    def _program(
        self, scaled: PrivateFrame, box: Box, target: PrivateSeries | None, answered: ProgramAnswers
    ) -> dict[str, Any]:
        target = cast(PrivateSeries, target)  # `fit` has seen to it
        rounds, reach = whole_number(self.rounds, "rounds", 1, MOST_ROUNDS), _reach(self.clip)
        ends = _ends(target, self.target_bounds)
        if ends.lower == ends.upper:
            raise QueryError(f"the bounds of the target are one point, {ends}.")
        middle, half = ends.lower / 2 + ends.upper / 2, ends.upper / 2 - ends.lower / 2
        value = ((target.clip(ends.lower, ends.upper) - middle) / half).clip(-1, 1)
        weights, constant, done = self._fitted_line(scaled, value, rounds, reach, answered)
        learnt = self._learnt(box, weights * half, constant * half + middle)
        return {**learnt, "n_iter_": done}

    def _fitted_line(
        self,
        scaled: PrivateFrame,
        value: PrivateSeries,
        rounds: int,
        reach: float,
        answered: ProgramAnswers,
    ) -> tuple[Matrix, float, int]:
        """Weights, what is added, and after how many rounds; target and features in [-1, 1]."""
        weights = np.zeros(len(scaled.columns))
        split = self._shared([FIRST, *ROUND * rounds])
        losses = split.shares
        with split:
            # a row of which a feature is missing has no weighted sum, not even of weights 0
            known = (value + scaled.dot(weights.tolist())).clip(-1, 1)
            number, mean = _number_and_mean(scaled, known, losses[0], answered)
            level = Level(mean, variance_of(losses[0]))
            if not answered.is_dummy and number < FEW * np.sqrt(variance_of(losses[4])):
                return weights, _alone(level, known, split, answered), 0
            for i in parallel.rounds(rounds, "linear regression"):
                ahead, along, across, last = losses[4 * i + 1 : 4 * i + 5]
                left = value - scaled.dot(weights.tolist()) - level.height
                held = left.clip(-reach, reach)
                if not i:
                    begun = first_direction(scaled, held, reach, number, ahead, answered)
                    if not answered.is_dummy and begun.beyond < SURE * variance_of(last):
                        return weights, _alone(level, known, split, answered), 0
                    direct = begun.weights
                else:
                    answered(sums := gradient(scaled, held, reach))
                    direct = direction(sums, len(weights))
                line = scaled.dot(direct.tolist()).clip(-1, 1).where(left.notna())
                centre, step = _searched(scaled, line, held, reach, noise_of(across), answered)
                weights = weights + direct * step
                level = level.shifted(-step * centre, step**2 * variance_of(along))
                rest = value - scaled.dot(weights.tolist()) - level.height
                answered(mean := rest.mean(bounds=(-1, 1)))
                level = level.updated(_inside(mean), variance_of(last))
                if answered.stands_still:
                    break
        return weights, level.height, i + 1

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The target that is expected of each row: a private column of a private frame (row by
        row, *Stability*: 1; nothing is charged), an array of plain rows. It isn't clipped."""
        return self._scores(X)

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """R² on plain rows: the share of the target's variance that is predicted. Of private rows
        ask for the mean of squares."""
        _plain_only(X, "((model.predict(people) - people['y']) ** 2).mean(bounds=…, epsilon=…)")
        found = self.predict(X)
        given = targets_of(y, len(found))
        try:
            truth = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise QueryError("the target must be numbers.") from None
        spread = float(((truth - truth.mean()) ** 2).sum())
        if spread == 0:
            raise QueryError("the target is one number, whose variance nothing can predict.")
        return 1 - float(((truth - found) ** 2).sum()) / spread


@dataclass(frozen=True)
class Level:
    """What is added to the weighted sum, as well as is known: ``variance`` is that of its noise, as
    that of a count, for all is divided by the same number of rows."""

    height: float
    variance: float

    def shifted(self, by: float, variance: float) -> Level:
        """By something that has noise of its own."""
        return Level(_inside(self.height + by, 4.0), self.variance + variance)

    def updated(self, rest: float, variance: float) -> Level:
        """By how much it is too low, says an answer: each counts by the inverse of its variance."""
        trust = self.variance / (self.variance + variance)
        return Level(_inside(self.height + trust * rest, 4.0), trust * variance)


def _number_and_mean(
    scaled: PrivateFrame, known: PrivateSeries, loss: Any, answered: ProgramAnswers
) -> tuple[float, float]:
    """Of what lies in [-1, 1], by two sums: a row adds 1 to both together."""
    table = scaled.assign(above=(1 + known) / 2, below=(1 - known) / 2)[["above", "below"]]
    norm = 1.0 if loss.epsilon else ("l2", 1.0)
    answered(sums := table.sum(bounds=(0, 1), norm=norm))
    above, below = np.maximum(np.asarray(sums, dtype=np.float64), 0.0).tolist()
    number = above + below
    return number, (above - below) / number if number > 0 else 0.0


def _alone(level: Level, known: PrivateSeries, split: Split, answered: ProgramAnswers) -> float:
    """The constant without a weighted sum: all that is left goes into one mean."""
    at_once = split._join()
    answered(mean := known.mean(bounds=(-1, 1)))
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
    # a weighted sum with weights of 1 in all seldom lies further from its mean
    narrow = float(len(scaled.columns) ** -0.4)
    answered(place := line.mean(bounds=(-1, 1)))
    centre = _inside(place)
    near = (line - centre).clip(-narrow, narrow)
    limits = {"both": (-narrow * reach, narrow * reach), "square": (0, narrow**2)}
    pair = scaled.assign(both=near * held, square=near * near)
    answered(table := pair[list(limits)].sum(bounds=limits))
    both, square = np.asarray(table, dtype=np.float64).tolist()
    most = max(square, 0.0) + SHRINK * noise * (narrow * reach + narrow**2)
    return centre, min(max(both / most, 0.0), 4.0) if most > 0 else 0.0


def _ends(target: PrivateSeries, given: object) -> Bounds:
    """The bounds of the target."""
    if isinstance(given, Mapping) and not Bounds.is_named(given):
        raise QueryError("target_bounds= is one (lower, upper), not a dict.")
    try:
        return bounds_of(target._table, target.name, target._expression, given)
    except MissingArgument:
        raise MissingArgument(
            "target_bounds= is needed: the range into which the target is clipped, such as "
            "target_bounds=(0, 60), or facts declared by domain= of dp.protect or by .declare(…). "
            "It is never read from the data."
        ) from None


def _inside(value: Any, reach: float = 1.0) -> float:
    found = float(value)
    return min(max(found, -reach), reach) if found == found else 0.0


def _reach(clip: object) -> float:
    if isinstance(clip, bool) or not isinstance(clip, int | float | np.number) or not 0 < clip <= 2:
        raise QueryError(f"clip={quoted(clip)} must be a number above 0, up to 2.")
    return float(clip)
