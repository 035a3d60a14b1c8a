"""What models have in common: scikit-learn's conventions, on private rows.

A model is a program of ordinary releases: it asks a private frame what anybody could ask it, in a
public and fixed number of rounds, and shares its loss over them by `dp.split`. It has no door of
its own to the rows, and so no proof of its own: its loss is the sum of its releases'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..columns.private_rows import same_rows
from ..columns.ranges import bounds_of
from ..errors import LineageError, MissingArgument, QueryError, hide_internals, parameters, quoted
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import ReleaseOptions
from ..release import results
from ..release.blocks import preview, split
from ..release.records import Record
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import SOURCE_ATTR, some_names

Matrix = npt.NDArray[np.float64]
#: Rounds beyond this nobody waits for.
MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Box:
    """Public bounds of features, which clipping keeps, and [-1, 1] in place of each."""

    names: tuple[Any, ...]
    bounds: tuple[Bounds, ...]

    @classmethod
    def of(cls, frame: PrivateFrame, bounds: object) -> Box:
        """The bounds that are given, else those of the declared domain."""
        names = tuple(frame.columns)
        if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
            known = {*names, *frame._table.engine.columns}  # one dict may serve several models
            strange = [name for name in bounds if name not in known]
            if strange:
                raise QueryError(
                    f"bounds= has an entry for {quoted(strange[0])}, which is no column: "
                    f"{some_names(names)}."
                )
        if not names:
            raise QueryError("a model needs at least one column.")
        found = tuple(bounds_of(frame._table, n, frame[n]._expression, bounds) for n in names)
        for name, each in zip(names, found, strict=True):
            if each.lower == each.upper:
                raise QueryError(
                    f"the bounds of {name!r} are one point, {each}: leave the column out."
                )
        return cls(names, found)

    @property
    def middle(self) -> Matrix:
        return np.array([b.lower / 2 + b.upper / 2 for b in self.bounds])

    @property
    def half(self) -> Matrix:
        """Half the width of each."""
        return np.array([b.upper / 2 - b.lower / 2 for b in self.bounds])

    def private(self, frame: PrivateFrame) -> PrivateFrame:
        """The features of private rows in [-1, 1], row by row, under new names."""
        columns: dict[str, PrivateSeries] = {}
        ends = zip(self.names, self.bounds, self.middle.tolist(), self.half.tolist(), strict=True)
        for name, bounds, middle, half in ends:
            scaled = (frame[name].clip(bounds.lower, bounds.upper) - middle) / half
            title = f"{name} in [-1, 1]"
            title += f" ({len(columns)})" * (title in columns)  # 1 and "1" are two columns
            columns[title] = scaled.clip(-1, 1)
        made: PrivateFrame = frame.assign(**columns)[list(columns)]
        return made

    def plain(self, X: Any) -> Matrix:
        """The same of rows that are not private: a DataFrame with these columns, or an array."""
        if SOURCE_ATTR in getattr(X, "attrs", ()):
            raise LineageError(
                "these rows carry the token of a protected source, and what is computed of plain "
                "rows is exact: hand the private frame that dp.protect returned, and ask for what "
                "you need of its column; or rows that are public."
            )
        if isinstance(X, pd.DataFrame):
            missing = [name for name in self.names if name not in X.columns]
            if missing:
                raise QueryError(
                    f"these rows have no column {quoted(missing[0])}; the model was fitted on "
                    f"{some_names(self.names)}."
                )
            X = X[list(self.names)]
        try:
            rows = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[1] != len(self.names):
            raise QueryError(
                f"rows must be a DataFrame, or an array of numbers with {len(self.names)} columns: "
                f"{some_names(self.names)}."
            )
        low = [b.lower for b in self.bounds]
        high = [b.upper for b in self.bounds]
        return np.clip((np.clip(rows, low, high) - self.middle) / self.half, -1.0, 1.0)

    def back(self, points: Matrix) -> Matrix:
        """Points of [-1, 1] to the power of d in the units of the features."""
        return self.middle + np.clip(points, -1.0, 1.0) * self.half


class ProgramAnswers:
    """The answers of a program, in order: each is handed to it as it is released."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def __call__(self, answer: Any) -> None:
        self.records.append(results.record_of_one(answer))

    @property
    def has_begun(self) -> bool:
        """Whether any of it may have been paid for."""
        return bool(self.records) and not self.records[0].preview

    @property
    def is_dummy(self) -> bool:
        """Whether the last answer was made of nothing, in a rehearsal: a program then goes the way
        on which most is asked, so that all of it is rehearsed; no other way may cost more."""
        return self.records[-1].preview

    @property
    def stands_still(self) -> bool:
        """Whether the last answer was given before in this fit: then so would be all that follow.
        Never where answers are drawn anew, nor in a preview, which prices every round."""
        numbers = [each.number for each in self.records]
        return preview.running() is None and numbers[-1] in numbers[:-1]


class Releases(tuple[Record, ...]):
    """The records of a model's releases, in order: a tuple that shows a line for each."""

    def __repr__(self) -> str:
        lines = [f"{each.query}: {each.loss}" for each in self]
        return "\n".join(line if len(line) < 200 else f"{line[:199]}…" for line in lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


class Model(ABC):
    """A program of releases with scikit-learn's `fit`, `get_params` and `set_params`.

    The arguments of ``__init__`` are kept as they are and checked by `fit`, so that scikit-learn's
    clone works. What `fit` learns ends in an underscore. All its releases are charged, or if the
    budget can't pay for all, none; ``releases_`` has their records. Of a named source or with a
    store, what was answered before is free: the same fit again learns the same and costs nothing.
    """

    epsilon: object
    rho: object
    bounds: object

    #: What kind of estimator scikit-learn takes it for.
    _kind: ClassVar[str | None] = None
    #: Whether it learns from a target.
    _needs_target: ClassVar[bool] = False

    @hide_internals
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private rows, at the price of epsilon (or rho).

        X : a private frame, of `dp.protect` or ``df.dp``, with the features selected:
            ``people[["age", "income"]]``. Rows in which a feature is missing don't count.
        y : for what learns from a target, a private column of the same rows.

        *Guarantee*: differential privacy of the unit, with the sum of the losses of its releases,
        which is at most epsilon (sequential composition: Dwork and Roth, 2014, Theorem 3.16).
        """
        frame, target = _checked(X, y, self._needs_target)
        box = Box.of(frame, self.bounds)
        answered = ProgramAnswers()
        said = cast(ReleaseOptions, {"rho": self.rho})
        with split.program(self.epsilon, said, lambda: answered.has_begun) as (epsilon, more):
            self._loss = self._whole(epsilon, more.get("rho"))

            def run() -> dict[str, Any]:
                answered.records.clear()
                return self._program(box.private(frame), box, target, answered)

            learnt = preview.all_or_none(run)
        for name, value in learnt.items():
            setattr(self, name, value)
        self.releases_ = Releases(answered.records)
        self.feature_names_in_ = np.array(box.names, dtype=object)
        self.n_features_in_ = len(box.names)
        self._box = box
        return self

    @abstractmethod
    def _program(
        self, scaled: PrivateFrame, box: Box, target: PrivateSeries | None, answered: ProgramAnswers
    ) -> dict[str, Any]:
        """What is learnt from features in [-1, 1], by its attribute. Each released answer is
        handed to ``answered``. It runs twice, once on answers made of nothing: it must stand
        whatever numbers come, zeros too, and draw nothing at random itself."""

    def _whole(self, epsilon: object, rho: object) -> tuple[object, object]:
        """What the model may cost, one of both."""
        if (epsilon is None) == (rho is None):
            raise MissingArgument(
                f"{type(self).__name__} needs what it may cost in all: "
                f"{type(self).__name__}(…, epsilon=1), or rho= in its place in a session that "
                "counts ρ."
            )
        return epsilon, rho

    def _shared(self, weights: Sequence[Any]) -> split.Split:
        """The loss of the model over its releases, in proportion to weights."""
        epsilon, rho = self._loss
        return split.split(epsilon, rho=rho, shares=list(weights))

    def _fitted(self) -> Box:
        if not hasattr(self, "releases_"):
            raise QueryError(f"this {type(self).__name__} is not fitted yet: call fit(X) first.")
        if any(each.preview for each in self.releases_) and preview.running() is None:
            raise QueryError(
                f"this {type(self).__name__} was fitted in a preview, on answers made of nothing: "
                "fit it outside."
            )
        return self._box

    # as scikit-learn has it

    @classmethod
    def _parameters(cls) -> list[str]:
        return list(parameters(cls.__init__))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments that it was made with, by name. There is nothing below them."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments by name; unknown ones are a `QueryError`."""
        known = self._parameters()
        for name in params:
            if name not in known:
                raise QueryError(
                    f"{type(self).__name__} has no parameter {quoted(name)}: {', '.join(known)}."
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        made = type(self).__init__
        positional = made.__code__.co_varnames[1 : made.__code__.co_argcount]
        defaults = {**dict(zip(positional, made.__defaults__ or (), strict=True))}
        defaults.update(made.__kwdefaults__ or {})
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "releases_")

    def __sklearn_tags__(self) -> Any:
        from sklearn import utils

        return utils.Tags(
            estimator_type=self._kind,
            target_tags=utils.TargetTags(required=self._needs_target),
            transformer_tags=utils.TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=utils.ClassifierTags() if self._kind == "classifier" else None,
            regressor_tags=utils.RegressorTags() if self._kind == "regressor" else None,
        )


def _checked(X: Any, y: Any, needs_target: bool) -> tuple[PrivateFrame, PrivateSeries | None]:
    """Private features and target of the same rows, or what to do instead."""
    if not isinstance(X, PrivateFrame):
        raise QueryError(
            f"fit takes a private frame, not a {type(X).__name__}: people[[…]] of dp.protect(…), "
            "or df.dp[[…]]."
        )
    if not needs_target:
        return X, None  # scikit-learn's pipelines hand a y to all
    if not isinstance(y, PrivateSeries):
        raise QueryError(
            "fit needs a target, a private column of the same rows: fit(people[features], "
            'people["income"]).'
        )
    same_rows(X, y)
    return X, y
