"""Gaussian naive Bayes, from one release of sums by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from .base import Box, Learnt, ProgramAnswers, matrix_of, weighted_sums
from .classes import Classifier, array_of
from .gradient import plain_names
from .points import Matrix, floats

#: Larger differences of log-likelihoods change no probability noticeably.
CERTAIN = 700.0


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(Classifier):
    """Classes by Bayes' rule, as if features were normal and independent in each class.

    One release: for each class the number of rows, and for each feature x, scaled to [-1, 1], the
    sums of (x² + x)/2 and (x² - x)/2. A row adds at most 1 to both together, where x and x² would
    add 2, and their sum and difference are what is needed. Rows whose class isn't one of
    ``classes`` don't count.

    epsilon, rho : the loss of the whole fit.
    bounds : (lower, upper) for all features, or a dict; else the declared domain's.
    classes : all labels of the target, two or more; else its declared keys, or False and True of a
        mask or a stored column of them.
    priors : public chances of the classes, in the order of ``classes_``; else their share of the
        rows, as released.
    var_smoothing : the least variance of a feature, as a share of the square of half its width.
        scikit-learn adds it times the largest variance of the rows, which is private.

    After `fit`: ``classes_``, ``class_count_`` and ``class_prior_`` (classes,), ``theta_`` and
    ``var_`` (classes, features), the means and variances, which lie in the box, and
    ``releases_``. A variance is never below what the noise alone would make of it.

    *Guarantee*: as for `fit`. Source: Vaidya, Shafiq, Basu and Hong, "Differentially private naive
    Bayes classification", WI 2013, with one vector of sums in place of shares of the loss.

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset(); session = dp.session(epsilon=1)
    >>> df = pd.DataFrame({"x": [1, 2, 3, 7, 8, 9] * 500, "kind": list("aaabbc") * 500})
    >>> model = dp.models.GaussianNB(epsilon=1, bounds=(0, 10), classes=["a", "b"])
    >>> model = model.fit(df.dp[["x"]], df.dp["kind"])
    >>> model.predict([[2], [8]]).tolist(), model.theta_.shape, str(session.remaining)
    (['a', 'b'], (2, 1), '0')
    >>> dp.reset()
    """

    priors: object = None
    var_smoothing: object = 1e-9

    class_count_: Matrix = field(init=False)
    class_prior_: Matrix = field(init=False)
    theta_: Matrix = field(init=False)
    var_: Matrix = field(init=False)
    _lines: Matrix = field(init=False)  # of features in [-1, 1], their squares, and 1

    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        labels, least = self._labels(y), self._smoothing()
        priors, width = self._priors(len(labels)), len(box.names)
        code = y.map({label: i for i, label in enumerate(labels)})
        there = (code + scaled.dot([0.0] * width)).notna()
        ends: dict[str, tuple[float, float]] = {"rows": (0, 1)}
        made: dict[str, Any] = {"rows": there * 1.0}
        for name, column in zip(plain_names(scaled), scaled.columns, strict=True):
            x = scaled[column].where(there)
            for sign, title in (
                (1, f"half of {name}² + {name}"),
                (-1, f"half of {name}² - {name}"),
            ):
                made[title], ends[title] = (x * x + sign * x) / 2, (-0.125, 1)
        with self._shared([1]) as split:
            size = width + 1.0
            norm = size if split.shares[0].epsilon else ("l2", float(np.sqrt(size)))
            by = scaled.assign(**made, kind=code).groupby("kind", keys=range(len(labels)))
            found = floats(answered(by[list(made)].sum(bounds=ends, norm=norm)))
        noise = 2 * float(answered.records[-1].scale)
        counts, above, below = np.maximum(found[:, 0], 0.0), found[:, 1::2], found[:, 2::2]
        number = np.maximum(counts, 1.0)[:, None]
        means = np.clip((above - below) / number, -1.0, 1.0)
        floor = np.minimum(np.maximum(noise / number, least), 1.0)
        spread = np.clip((above + below) / number - means**2, floor, 1.0)
        if priors is None:
            priors = np.maximum(counts, 1.0) / np.maximum(counts, 1.0).sum()
        return {
            "classes_": array_of(labels),
            "class_count_": counts,
            "class_prior_": priors,
            "theta_": means * box.half + box.middle,
            "var_": spread * box.half**2,
            "_lines": _lines(means, spread, priors),
        }

    def _smoothing(self) -> float:
        given: Any = self.var_smoothing
        if isinstance(given, bool) or not isinstance(given, int | float | np.number):
            raise QueryError(f"var_smoothing={quoted(given)} must be a number.")
        if not 0 < given <= 1:
            raise QueryError(f"var_smoothing={quoted(given)} must be above 0 and at most 1.")
        return float(given)

    def _priors(self, classes: int) -> Matrix | None:
        if self.priors is None:
            return None
        found: Matrix = matrix_of([self.priors], classes, ", one for each class", "priors=")[0]
        if not (found > 0).all() or abs(found.sum() - 1) > 1e-8:
            raise QueryError("priors= must be chances above 0 that add up to 1.")
        return found

    def _likelihoods(self, X: Any) -> Any:
        """The log-likelihood of each class and its prior: a private frame for private rows."""
        rows = self._fitted().scaled(X)
        labels = self.classes_.tolist()
        if isinstance(rows, PrivateFrame):
            squares = {
                f"square {i}": rows[name] * rows[name] for i, name in enumerate(rows.columns)
            }
            return weighted_sums(rows.assign(**squares), self._lines, range(len(labels)))
        if np.isnan(rows).any():
            raise QueryError("a feature is missing in a row. Fill it, or drop the row.")
        return weighted_sums(np.hstack([rows, rows * rows]), self._lines)

    @hide_internals
    def predict(self, X: Any) -> Any:
        """The most likely class of each row: for a private frame a private column, whose keys are
        the classes (row by row, *Stability*: 1; nothing is charged; missing where a feature is);
        an array for plain rows, in which no feature may be missing."""
        found = self._likelihoods(X)
        if not isinstance(found, PrivateFrame):
            return self.classes_[found.argmax(axis=1)]
        return found.idxmax(axis=1).map(dict(enumerate(self.classes_.tolist())))

    @hide_internals
    def predict_proba(self, X: Any) -> Any:
        """The chances of the classes, by Bayes' rule: an array (rows, classes) for plain rows; for
        a private frame private columns, one for each class, between 0 and 1 (row by row; nothing
        is charged)."""
        found = self._likelihoods(X)
        if not isinstance(found, PrivateFrame):
            chances = np.exp(found - found.max(axis=1, keepdims=True))
            return chances / chances.sum(axis=1, keepdims=True)
        labels = self.classes_.tolist()
        each = [found[i] for i in range(len(labels))]
        odds = [[np.exp((b - a).clip(-CERTAIN, CERTAIN)) for b in each] for a in each]
        made = {
            f"chance of {label!s}": 1 / sum(others[1:], others[0])
            for label, others in zip(labels, odds, strict=True)
        }
        # each term is bounded by itself, and so their quotient far too widely
        return found.assign(**made)[list(made)].clip(0, 1)

    @hide_internals
    def predict_log_proba(self, X: Any) -> Any:
        """The logarithms of what `predict_proba` gives."""
        return np.log(self.predict_proba(X))


def _lines(means: Matrix, spread: Matrix, priors: Matrix) -> Matrix:
    """Weights of features, squares and 1, one column a class: log-likelihood and log-prior."""
    constant = np.log(priors) - (np.log(2 * np.pi * spread) + means**2 / spread).sum(axis=1) / 2
    found: Matrix = np.hstack([means / spread, -0.5 / spread, constant[:, None]]).T
    return found
