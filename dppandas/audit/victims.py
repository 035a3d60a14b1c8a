"""What an attack on membership knows of a model: how badly it fits a row.

The less a model errs on a row, the likelier it has learnt from it (Yeom, Giacomelli, Fredrikson and
Jha, "Privacy risk in machine learning", CSF 2018, whose attack compares this with a threshold).
"""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..dataclasses import dataclass
from ..errors import MissingArgument, QueryError, quoted
from ..models.base import Box, Model
from ..models.least_squares.results import OLSResults
from ..rows.facts.keys import did_you_mean, some_names

Floats = npt.NDArray[np.float64]

#: Where scikit-learn has models that dp.models has by the same name.
SHELVES = ("linear_model", "naive_bayes", "cluster", "decomposition", "tree")


@dataclass(frozen=True, eq=False)
class Victim:
    """A fitted model of `dp.models`, with the name of the column that is its target."""

    model: Any
    target: Any

    @classmethod
    def of(cls, model: Any, target: Any) -> Victim:
        if isinstance(model, OLSResults):
            model._answered()
            return cls(model, model.model.endog_names if target is None else target)
        if not isinstance(model, Model):
            raise QueryError(
                f"membership takes a fitted model of dp.models, not a {type(model).__name__}. "
                "Its plain counterpart is fitted here; another one goes into plain=."
            )
        model._fitted()
        if model._needs_target and target is None:
            raise MissingArgument(
                f"target= is needed: the column of members and others that {type(model).__name__} "
                'predicts, such as target="income".'
            )
        return cls(model, target if model._needs_target else None)

    @property
    def name(self) -> str:
        """The model in words."""
        return "OLS" if isinstance(self.model, OLSResults) else type(self.model).__name__

    @property
    def unit(self) -> Any:
        """The column of the unit that it protects; None for rows."""
        return self.model.releases_[0]._query.source.unit.column

    def rows(self, frame: pd.DataFrame, what: str) -> Rows:
        """The rows of a frame that count: those where nothing is missing."""
        if self.target is not None:
            _has(frame, self.target, what)
        if self.unit is not None:
            _has(frame, self.unit, what, ", the unit that the model protects")
        if isinstance(self.model, OLSResults):
            own, _ = self.model.model._plain(frame)
            scaled = own
        else:
            own, scaled = self._of_box(self.model._box, frame)
        kept = np.isfinite(own).all(axis=1)
        target = None if self.target is None else frame[self.target]
        if target is not None:
            classes = getattr(self.model, "classes_", None)
            known = target.notna() if classes is None else target.isin(list(classes))
            kept &= known.to_numpy(dtype=bool)
        y = None if target is None else target.to_numpy()[kept]
        who = np.arange(len(frame)) if self.unit is None else frame[self.unit].to_numpy()
        return Rows(own[kept], scaled[kept], y, who[kept])

    def _of_box(self, box: Box, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        """The features in their own units and in [-1, 1]; of principal components, whose units
        matter, twice in their own."""
        scaled = box.plain(frame)
        own = box.middle + scaled * box.half
        return own, own if hasattr(self.model, "components_") else scaled

    def counterpart(self, members: Rows, plain: Any) -> Any:
        """A model without noise, fitted on the members."""
        found = self._alike() if plain is None else copy.deepcopy(plain)
        if not hasattr(found, "fit"):
            raise QueryError(f"plain={quoted(plain)} must be a model with scikit-learn's fit.")
        return found.fit(members.scaled, *([] if members.y is None else [members.y]))

    def _alike(self) -> Any:
        """scikit-learn's model of the same name, with the arguments that both have."""
        if isinstance(self.model, OLSResults):
            return LeastSquares()
        try:
            shelves = [import_module(f"sklearn.{shelf}") for shelf in SHELVES]
        except ImportError as error:
            raise ImportError(
                "the plain model beside it is scikit-learn's: pip install scikit-learn, or give "
                "another as plain=."
            ) from error
        kind = next((vars(s)[self.name] for s in shelves if self.name in vars(s)), None)
        if kind is None:
            raise MissingArgument(
                f"scikit-learn has no {self.name}. Give the model to compare with as plain=."
            )
        same = {
            name: value
            for name, value in self.model.get_params().items()
            if name in kind().get_params() and value is not None
        }
        fixed = {"random_state": 0} if "random_state" in kind().get_params() else {}
        return kind(**{**fixed, **same})

    def losses(self, fitted: Any, rows: Rows) -> Floats:
        """How badly a model, this one or its counterpart, fits each row."""
        is_own = fitted is self.model
        X = rows.own if is_own else rows.scaled
        if rows.y is None:
            if hasattr(fitted, "inverse_transform") and hasattr(self.model, "components_"):
                back = fitted.inverse_transform(fitted.transform(X))
                return np.asarray(np.linalg.norm(X - back, axis=1))
            return _from_centres(fitted._centres if is_own else fitted.cluster_centers_, rows)
        if not hasattr(self.model, "classes_"):
            said = X @ self.model._values if isinstance(fitted, OLSResults) else fitted.predict(X)
            return np.abs(np.asarray(rows.y, dtype=np.float64) - np.asarray(said, dtype=np.float64))
        if hasattr(fitted, "predict_proba"):
            return -_of_class(fitted, fitted.predict_proba(X), rows.y)
        if hasattr(fitted, "decision_function"):
            scores = np.asarray(fitted.decision_function(X))
            both = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            return -_of_class(fitted, both, rows.y)
        return np.asarray(fitted.predict(X) != rows.y, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Rows:
    """The complete rows of a frame: features as the model and as its counterpart take them, the
    target, and whose they are."""

    own: Floats
    scaled: Floats
    y: Any
    who: Any

    @property
    def units(self) -> int:
        """How many units they are of."""
        return len(pd.unique(self.who))

    def by_unit(self, losses: Floats) -> Floats:
        """The mean loss of each unit's rows."""
        means = pd.Series(losses).groupby(pd.factorize(self.who)[0]).mean()
        return np.asarray(means, dtype=np.float64)


class LeastSquares:
    """A line by numpy, with scikit-learn's names."""

    def fit(self, X: Floats, y: Any) -> LeastSquares:
        self._weights = np.linalg.lstsq(X, np.asarray(y, dtype=np.float64), rcond=None)[0]
        return self

    def predict(self, X: Floats) -> Floats:
        return np.asarray(X @ self._weights)

    def __repr__(self) -> str:
        return "numpy's least squares"


def _has(frame: pd.DataFrame, column: Any, what: str, which: str = "") -> None:
    if column not in frame.columns:
        near = did_you_mean(column, list(frame.columns))
        raise QueryError(
            f"{what} has no column {quoted(column)}{which}.{near} Its columns: "
            f"{some_names(list(frame.columns))}."
        )


def _from_centres(centres: Any, rows: Rows) -> Floats:
    """The distance to the nearest centre, in the box [-1, 1]."""
    nearest = np.full(len(rows.scaled), np.inf)
    for centre in np.asarray(centres, dtype=np.float64):
        nearest = np.minimum(nearest, np.linalg.norm(rows.scaled - centre, axis=1))
    return nearest


def _of_class(fitted: Any, figures: Any, y: Any) -> Floats:
    """Of each row, the figure of its own class; the least of all for a class that wasn't seen."""
    figures = np.asarray(figures, dtype=np.float64)
    at = pd.Index(list(fitted.classes_), dtype=object).get_indexer(pd.Index(y, dtype=object))
    found = figures[np.arange(len(y)), np.maximum(at, 0)]
    return np.asarray(np.where(at < 0, figures.min(initial=0.0), found))
