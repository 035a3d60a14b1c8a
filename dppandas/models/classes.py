"""Models that tell public classes apart."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..columns.private_rows import keys_known
from ..dataclasses import dataclass, field
from ..errors import QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..rows.expressions import Column
from ..rows.facts.domain import list_for_tuple
from ..rows.facts.keys import Keys
from ..rows.values.labels import rank
from .base import Model


@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(Model):
    """A model of public classes, which are in scikit-learn's order, however they are given."""

    classes: object = None
    classes_: Any = field(init=False)

    _kind = "classifier"
    _needs_target = True
    #: How many classes it tells apart; None for any number.
    _number_of_classes: ClassVar[int | None] = None

    def _labels(self, target: PrivateSeries) -> tuple[Any, ...]:
        """The classes, which are never read from the rows."""
        declared = target._table.declared(target._expression)
        if self.classes is not None:
            given = self._sorted(self.classes)
            if isinstance(declared, Keys):
                strange = [each for each in given if each not in declared.labels]
                if strange:
                    is_column = isinstance(target._expression, Column)
                    lists = list_for_tuple(target.name, declared) if is_column else ""
                    raise QueryError(
                        f"classes= has {quoted(strange[0])}, no key of {declared}.{lists}"
                    )
            return given
        if (known := keys_known(target._table, target._expression)) is not None:
            return self._sorted(list(known.labels))
        raise QueryError(
            "classes= is needed, because the classes are never read from the rows. Write "
            'classes=["no", "yes"], declare the keys of the target in dp.protect, or use a '
            'mask such as people["income"] > 50_000.'
        )

    def _sorted(self, labels: Any) -> tuple[Any, ...]:
        if isinstance(labels, str) or not isinstance(labels, list | tuple | np.ndarray | pd.Index):
            raise QueryError(f"classes={quoted(labels)} must be a list such as [0, 1].")
        found = tuple(sorted(Keys.parse(list(labels), ["classes"]).labels, key=rank))
        if self._number_of_classes is not None and len(found) != self._number_of_classes:
            raise QueryError(
                f"this model tells two classes apart, not {len(found)}. For more, fit one model "
                'for each class, as on people["kind"] == "a", and compare their scores.'
            )
        if len(found) < 2:
            raise QueryError("there is nothing to tell apart: give two classes or more.")
        return found

    @hide_internals
    def score(self, X: Any, y: Any) -> float:
        """The share of plain rows whose class is predicted correctly. For private rows, ask for
        ``(model.predict(people) == people["y"]).mean(epsilon=…)``."""
        instead = "(model.predict(people) == people['y']).mean(epsilon=…)"
        found, truth = predicted(self, X, y, instead)
        return float(np.mean(found == truth))


def array_of(labels: Any) -> Any:
    """An array of labels that keeps their types."""
    found = np.array(labels)
    if [type(x) for x in found.tolist()] == [type(x) for x in labels]:
        return found
    return np.array([*labels, None], dtype=object)[:-1]  # without None, tuples make a matrix


def predicted(model: Any, X: Any, y: Any, instead: str) -> tuple[Any, Any]:
    """What a model predicts for plain rows, at least one, and their targets."""
    if isinstance(X, PrivateFrame):
        raise QueryError(f"a score of private rows must be released. Write {instead}.")
    found, truth = model.predict(X), np.asarray(y)
    if truth.ndim == 2 and truth.shape[1] == 1:
        truth = truth[:, 0]
    if truth.ndim != 1 or len(truth) != len(found) or not len(found):
        raise QueryError(
            f"a score needs a target for each of at least one row. There are {len(found)} rows, "
            f"and targets of shape {truth.shape}."
        )
    return found, truth
