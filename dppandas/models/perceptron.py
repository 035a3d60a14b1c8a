"""Rosenblatt's perceptron, by statistical queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataclasses import dataclass
from ..engines import progress
from ..frames.frame import PrivateFrame
from ..rows.facts.units import whole_number
from .base import MOST_ROUNDS, Box, Learnt, ProgramAnswers
from .gradient import TwoClasses, direction
from .points import floats


@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(TwoClasses):
    """A plane between two classes, by statistical queries: the lecture's perceptron.

    Each round asks for the sum of y·(x, 1) over the rows on the wrong side of the plane (y is 1 or
    -1), a sum for each feature and one for the intercept, and adds it to the weights. The number of
    rounds is public. The lecture's rule stops when no row is wrong, but that is private.

    epsilon, rho, bounds, classes : as for `LogisticRegression`.
    rounds : how many rounds to run.

    After `fit`: ``coef_`` (1, d), ``intercept_`` (1,), ``classes_``, ``n_iter_``, ``releases_``.

    *Guarantee*: as for `fit`. Source: Blum, Dwork, McSherry and Nissim, "Practical privacy: the
    SuLQ framework", PODS 2005.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> people = pd.DataFrame({"a": range(-1000, 1000), "b": range(1000, -1000, -1)}).dp
    >>> model = dp.models.Perceptron(epsilon=1, bounds=(-1000, 1000))
    >>> model = model.fit(people[["a", "b"]], people["a"] > 0)
    >>> model.predict([[900, -900], [-900, 900]]).tolist(), str(session.remaining)
    ([True, False], '0')
    >>> dp.reset()
    """

    rounds: object = 5

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        rounds, names = whole_number(self.rounds, "rounds", 1, MOST_ROUNDS), list(scaled.columns)
        labels, sign = self._signs(y)
        weights, passes = np.zeros(len(names) + 1), 0
        with self._shared([1] * rounds):
            for _ in progress.rounds(rounds, "perceptron"):
                score = scaled.dot(weights[:-1].tolist()) + float(weights[-1])
                wrong = sign.where(score * sign <= 0)  # missing on the right side
                sums = {name: scaled[name] * wrong for name in names}
                table = scaled.assign(**sums, all=wrong)[[*names, "all"]]
                weights = weights + floats(answered(table.sum(bounds=(-1, 1))))
                passes += 1
                if answered.stands_still:
                    break
        size = np.abs(weights).sum()
        plane = weights / size if size > 0 else direction(weights, len(weights))
        learnt = self._classified(box, plane[:-1], float(plane[-1]), labels)
        return {**learnt, "n_iter_": passes}
