"""The base of all models: scikit-learn's conventions, on private rows.

A model is a program of ordinary releases. It asks a private frame what anybody could ask, in a
public number of rounds, and divides its loss among them by `dp.split`. It has no access of its own
to the rows, so it needs no proof of its own: its loss is the sum of its releases' losses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd

from ..columns.private_rows import same_rows
from ..columns.ranges import bounds_of, ranges_of
from ..dataclasses import dataclass, fields
from ..errors import (
    LineageError,
    MissingArgument,
    QueryError,
    hide_internals,
    parameters,
    quoted,
    warn_user,
)
from ..frames.frame import PrivateFrame
from ..frames.series import PrivateSeries
from ..privacy.accounting.losses import Loss
from ..release.answers import results
from ..release.answers.records import Record
from ..release.answers.shown import in_a_line
from ..release.blocks import preview, split
from ..release.context import within
from ..release.ways import Ways
from ..release.wording import LONGEST
from ..rows import html_tables
from ..rows.expressions import Column
from ..rows.facts.bounds import Bounds
from ..rows.facts.keys import SOURCE_ATTR, did_you_mean, some_names
from ..rows.sentences import ShownInSentences
from .points import Matrix

#: The most rounds.
MOST_ROUNDS = 1000
#: So many features are named where it is said what a model learns from.
MOST_NAMED = 8
#: What is learnt, by attribute.
Learnt = dict[str, Any]
#: The epsilon or the rho of a whole program.
LossOfAll = tuple[Any, Any]
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Box:
    """The public bounds of features: clips values to them and scales them to [-1, 1]."""

    names: tuple[Any, ...]
    bounds: tuple[Bounds, ...]

    @classmethod
    def of(cls, frame: PrivateFrame, bounds: object) -> Box:
        """The given bounds, else those of the declared domain."""
        names = tuple(frame.columns)
        if isinstance(bounds, Mapping) and not Bounds.is_named(bounds):
            known = {*names, *frame._table.engine.columns}  # one dict may serve several models
            strange = [name for name in bounds if name not in known]
            if strange:
                raise QueryError(
                    f"bounds= names {quoted(strange[0])}, which isn't a column."
                    f"{did_you_mean(strange[0], known)} The columns: {some_names(names)}."
                )
        if not names:
            raise QueryError("a model needs at least one column. Select some.")
        columns = [(n, frame[n]._expression) for n in names]
        found = tuple(ranges_of(frame._table, columns, bounds, bounds_of))
        for name, each in zip(names, found, strict=True):
            if each.lower == each.upper:
                raise QueryError(f"bounds {each} of {name!r} are a single point. Leave it out.")
        return cls(names, found)

    @property
    def middle(self) -> Matrix:
        return np.array([b.lower / 2 + b.upper / 2 for b in self.bounds])

    @property
    def half(self) -> Matrix:
        """Half the width of each feature's bounds."""
        return np.array([b.upper / 2 - b.lower / 2 for b in self.bounds])

    def private(self, frame: PrivateFrame) -> PrivateFrame:
        """The features of private rows scaled to [-1, 1], row by row, under new names."""
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
        """Plain rows scaled to [-1, 1]: of a DataFrame with these columns, or of an array."""
        if SOURCE_ATTR in getattr(X, "attrs", ()):
            raise LineageError(
                "these rows come from a protected source, and answers about plain rows are exact. "
                "Give the private frame that dp.protect returned, or rows that are public."
            )
        if isinstance(X, pd.DataFrame):
            missing = [name for name in self.names if name not in X.columns]
            if missing:
                raise QueryError(
                    f"these rows have no column {quoted(missing[0])}. The model was fitted on "
                    f"{some_names(self.names)}."
                )
            X = X[list(self.names)]
        rows = matrix_of(X, len(self.names), f": {some_names(self.names)}")
        clipped = np.clip(rows, [b.lower for b in self.bounds], [b.upper for b in self.bounds])
        return np.clip((clipped - self.middle) / self.half, -1.0, 1.0)

    def scaled(self, X: Any) -> Any:
        """Private or plain rows, scaled to [-1, 1]."""
        return self.private(X) if isinstance(X, PrivateFrame) else self.plain(X)

    def back(self, points: Matrix) -> Matrix:
        """Points of [-1, 1]^d in the units of the features."""
        return self.middle + np.clip(points, -1.0, 1.0) * self.half


def weighted_sums(rows: Any, lines: Matrix, names: Any = None) -> Any:
    """For each column of ``lines``, a weighted sum of the features plus its last number: a private
    frame for private rows, an array for plain ones. Both are added from left to right, so that they
    agree to the last bit."""
    if isinstance(rows, PrivateFrame):
        with_one = rows.assign(one=1.0)
        return with_one.dot(pd.DataFrame(lines, index=list(with_one.columns), columns=names))
    found = np.zeros((len(rows), lines.shape[1]))
    for weights, column in zip(lines, [*rows.T, np.ones(len(rows))], strict=True):
        found = found + column[:, None] * weights
    return found


def matrix_of(rows: Any, width: int, which: str = "", what: str = "rows") -> Matrix:
    """Plain rows as an array of floats with `width` columns."""
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or found.shape[1] != width:
        raise QueryError(f"{what} must be an array of numbers with {width} columns{which}.")
    return found


class ProgramAnswers:
    """The answers of a program, in order. It is called with each of them, and returns it."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._road = False

    def start(self, road: bool) -> None:
        """Begin anew. In a rehearsal `leads` takes this road."""
        self.records.clear()
        self._road = road

    def leads(self, condition: bool) -> bool:
        """Whether a condition on the answers holds; on dummies, the road that is rehearsed. So both
        are priced before anything is charged."""
        return self._road if self.is_dummy else condition

    def __call__(self, answer: Any) -> Any:
        self.records.append(results.record_of_one(answer))
        return answer

    @property
    def has_begun(self) -> bool:
        """Whether an answer may have been paid for."""
        return bool(self.records) and not self.records[0].preview

    @property
    def is_dummy(self) -> bool:
        """Whether the last answer is a dummy of a rehearsal. The program then takes the most
        expensive branch, so that all of it is rehearsed; no other branch may cost more."""
        return self.records[-1].preview

    @property
    def stands_still(self) -> bool:
        """Whether the last answer repeats an earlier one of this fit, and so would all that follow.
        Never if noise is drawn again, nor in a preview, which prices every round."""
        numbers = [each.number for each in self.records]
        return preview.running() is None and numbers[-1] in numbers[:-1]


class Releases(ShownInSentences, tuple[Record, ...]):
    """The records of a model's releases, in order: a tuple that shows one line for each, and
    ``note``, what has to be known of the model."""

    note = ""

    @property
    def loss(self) -> Loss:
        """What they were charged together."""
        return sum((each.loss for each in self), Loss())

    @property
    def _paid(self) -> str:
        number = len(self)
        return f"{number} release{'s' * (number != 1)}, {self.loss.in_short}"

    def _sentences(self) -> list[str]:
        return [*filter(None, [*map(in_a_line, self), self.note])]

    def _repr_html_(self) -> str:
        return html_tables.sentences("releases", self._paid, *self._sentences())


def released(
    name: str,
    told: str,
    said: Ways,
    answered: ProgramAnswers,
    program: Callable[[LossOfAll], R],
    roads: Sequence[bool] = (False,),
) -> R:
    """What a program of releases makes of the loss of all of them, which is charged completely or
    not at all.

    name, told : what errors and the ledger call it.
    roads : what `ProgramAnswers.leads` may say in it.
    """
    if said.epsilon is not None and said.rho is not None:
        raise QueryError("epsilon= and rho= both say what the release may cost. Give one.")
    with within(told=told), split.program(name, said, lambda: answered.has_begun) as ways:
        loss = ways.epsilon, ways.rho
        if (ways.epsilon is None) == (ways.rho is None):
            raise MissingArgument(
                f"{name} needs the loss of the whole fit. Write {name}(…, epsilon=1), or rho= "
                "in a session that counts ρ."
            )

        def run(road: bool) -> R:
            answered.start(road)
            return program(loss)

        return preview.all_or_none(*(partial(run, road) for road in roads))


@dataclass(eq=False, repr=False, kw_only=True)
class Model(ShownInSentences, ABC):
    """A model that learns by releases, with scikit-learn's `fit`, `get_params` and `set_params`.

    Arguments are kept as they are and checked by `fit`, so that scikit-learn's clone works. What
    `fit` learns ends in an underscore. Either all its releases are charged, or, if the budget can't
    pay for all, none; ``releases_`` has their records. For a named source, or with a store, earlier
    answers are free: the same fit again learns the same and costs nothing.
    """

    epsilon: object = None
    rho: object = None
    bounds: object = None

    #: The kind of estimator that scikit-learn sees.
    _kind: ClassVar[str | None] = None
    #: Whether it learns from a target.
    _needs_target: ClassVar[bool] = False
    #: What `ProgramAnswers.leads` may say: both, if the program asks it.
    _roads: ClassVar[tuple[bool, ...]] = (False,)

    if not TYPE_CHECKING:  # who checks types looks at the fields

        @hide_internals
        def __new__(cls, *args, **said):
            """A model without arguments, if it has those that are said."""
            known = parameters(cls.__init__)
            for name in said:
                if name not in known:
                    raise QueryError(
                        f"{cls.__name__} has no {name}=.{did_you_mean(name, known)} It takes "
                        f"{', '.join(known)}."
                    )
            return super().__new__(cls)

    @hide_internals
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from private rows, for a loss of epsilon (or rho).

        X : a private frame, from `dp.protect` or ``df.dp``, with the features selected:
            ``people[["age", "income"]]``. Rows with a missing feature don't count.
        y : the target, for models that have one: a private column of the same rows.

        *Guarantee*: differential privacy of the unit. The losses of all releases add up to at most
        epsilon (sequential composition: Dwork and Roth, 2014, Theorem 3.16).
        """
        frame, target = _checked(X, y, self._needs_target)
        box = Box.of(frame, self.bounds)
        answered = ProgramAnswers()
        name = type(self).__name__
        told = f"{name}{of_whom(target)} from {some_names(map(Column, box.names), MOST_NAMED)}"

        def program(loss: LossOfAll) -> Learnt:
            self._loss = loss
            return self._program(box.private(frame), box, target, answered)

        said = Ways(self.epsilon, self.rho)
        learnt = released(name, told, said, answered, program, self._roads)
        for each, value in learnt.items():
            setattr(self, each, value)
        self.releases_ = Releases(answered.records)
        self.releases_.note = self._note()
        self.feature_names_in_ = np.array(box.names, dtype=object)
        self.n_features_in_ = len(box.names)
        self._box = box
        if self.releases_.note:
            warn_user(f"This {name} is {self.releases_.note}")
        return self

    def _note(self) -> str:
        """What has to be known of the model just learnt, as public facts and answers tell it."""
        return ""

    @abstractmethod
    def _program(self, scaled: PrivateFrame, box: Box, y: Any, answered: ProgramAnswers) -> Learnt:
        """What is learnt from features in [-1, 1]. Each released answer goes through ``answered``.

        It runs twice, the first time on dummy answers: it must work for any numbers, zeros too, and
        must not draw anything at random.
        """

    def _shared(self, weights: Sequence[Any]) -> split.Split:
        """The loss of the model, divided among its releases in proportion to weights."""
        epsilon, rho = self._loss
        return split.split(epsilon, rho=rho, shares=list(weights))

    def _fitted(self) -> Box:
        if not hasattr(self, "releases_"):
            raise QueryError(f"this {type(self).__name__} isn't fitted yet. Call fit(X) first.")
        if any(each.preview for each in self.releases_) and preview.running() is None:
            raise QueryError(
                f"this {type(self).__name__} was fitted in a preview, on dummy answers. Fit it "
                "outside the preview."
            )
        return self._box

    # as scikit-learn has it

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the model by name. They have no parameters of their own."""
        return {name: getattr(self, name) for name in parameters(type(self).__init__)}

    def set_params(self, **params: Any) -> Self:
        """Change arguments by name. Unknown names raise `QueryError`."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise QueryError(f"no parameter {quoted(name)}. Known are {', '.join(known)}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def _sentences(self) -> list[str]:
        defaults = {field.name: field.default for field in fields(self)}
        given = self.get_params().items()
        changed = [f"{name}={value!r}" for name, value in given if value is not defaults[name]]
        return [f"{type(self).__name__}({', '.join(changed)})"]

    def _more(self) -> list[str]:
        if not hasattr(self, "releases_"):
            return []
        told = (f"  {line}" for line in self.releases_._sentences())
        return [f"fitted by {self.releases_._paid}:", *told]

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


def of_whom(target: PrivateSeries | None) -> str:
    """The target in words; "" without one."""
    if target is None:
        return ""
    said = str(target._expression)
    return f" of {said if len(said) <= LONGEST or target.name is None else Column(target.name)}"


def _checked(X: Any, y: Any, needs_target: bool) -> tuple[PrivateFrame, PrivateSeries | None]:
    """Private features, and the target of the same rows if the model needs one."""
    if not isinstance(X, PrivateFrame):
        raise QueryError(
            f"fit takes a private frame, not a {type(X).__name__}. Write people[[…]] for a frame "
            "of dp.protect(…), or df.dp[[…]]."
        )
    if not needs_target:
        return X, None  # scikit-learn's pipelines pass a y to every model
    if not isinstance(y, PrivateSeries):
        raise QueryError('fit needs a private target: fit(people[features], people["income"]).')
    same_rows(X, y)
    return X, y
