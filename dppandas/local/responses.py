"""Randomised responses, made here or elsewhere, and estimates from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..dataclasses import dataclass
from ..errors import MissingArgument, PrivateValueError, QueryError, hide_internals
from ..privacy.accounting.losses import Epsilon
from ..release.private import Private
from ..rows.facts import kinds
from ..rows.facts.keys import SOURCE_ATTR
from ..rows.sentences import ShownInSentences
from . import designs, lost
from .designs import MOST_CELLS, Design
from .estimates import Estimated, EstimatedFloat, EstimatedSeries, mean_of, table_of


@dataclass(frozen=True, eq=False, repr=False)
class Responses(ShownInSentences):
    """Responses, each randomised by itself: public, like everything computed from them.

    responses : an ordinary pandas Series with one of the keys for each respondent, in the order of
        the answers and numbered from 0; with unary encoding a DataFrame, True for a yes to a key.
        Types and labels follow from the keys alone.
    design : how they were randomised, with ``.name``, ``.keys``, ``.epsilon``,
        ``.probabilities()`` and ``.variance(respondents)``.

    Estimates use only what is public already: they cost nothing, however often they are made.
    """

    responses: Any
    design: Design

    @property
    def epsilon(self) -> Epsilon:
        """What each response cost its respondent; an irrational loss such as ln 3 is rounded up."""
        return self.design.epsilon

    def __len__(self) -> int:
        return len(self.responses)

    def _sentences(self) -> list[str]:
        return [
            f"<{len(self):,} randomised responses: {self.design.name}, {len(self.design.keys)} "
            f"keys, ε = {self.epsilon} of each respondent>"
        ]

    @hide_internals
    def value_counts(self, normalize: bool = False) -> EstimatedSeries:
        """How many respondents hold each key, or with ``normalize=True`` which share of them: a
        Series of floats by key, in the order of the keys, with ``.interval()`` and ``.error()``.

        The estimate is (yeses - n q) / (p - q), where p is the probability of a yes to a key from
        those who hold it, and q from others. It is unbiased, so it may be negative: cutting it at 0
        would make it too large on average. A respondent without an answer among the keys counts
        with one that is drawn at random.

        *Guarantee*: none needed: this is post-processing of responses that are public already.

        >>> from dppandas import local
        >>> said = local.randomized_response(["a", "b"] * 5000, epsilon=2, keys=["a", "b", "c"])
        >>> counts = said.value_counts()
        >>> bool((counts.interval(1 - 1e-9).loc["a"] == 5000).all())  # not exactly, but
        False
        >>> low, high = counts.interval(1 - 1e-9).loc["a"]
        >>> bool(low <= 5000 <= high)
        True
        """
        if not isinstance(normalize, bool):
            raise QueryError("normalize= must be True or False.")
        name = self.responses.name if isinstance(self.responses, pd.Series) else None
        return table_of(self._estimated(), normalize, name)

    @hide_internals
    def mean(self) -> EstimatedFloat:
        """The share of True, if the keys are False and True: a float with ``.interval()`` and
        ``.error()``.

        The estimate is (share of True among the responses - q) / (p - q): for one coin that flips
        answers with probability q, (average - q) / (1 - 2q). The estimator printed in lecture 004
        estimates one minus this.

        *Guarantee*: none needed: this is post-processing of responses that are public already.

        >>> from dppandas import local
        >>> said = local.randomized_response([True] * 300 + [False] * 700, epsilon=3)
        >>> low, high = said.mean().interval(1 - 1e-9)
        >>> low <= 0.3 <= high
        True
        """
        if self.design.keys != designs.BINARY or self.design.is_bits:
            raise QueryError(
                "a mean needs responses of False and True, one for each respondent. "
                ".value_counts(normalize=True) gives the share of every key."
            )
        return mean_of(self._estimated())

    def _estimated(self) -> Estimated:
        if not len(self):
            raise QueryError("there are no responses to estimate from.")
        if self.design.is_bits:
            yeses = self.responses.to_numpy().sum(axis=0)
        else:
            places = self.design.places(self.responses)
            yeses = np.bincount(places, minlength=len(self.design.keys))
        return Estimated(self.design, len(self), tuple(map(int, yeses)))


@hide_internals
def randomized_response(
    series: Any,
    *,
    epsilon: object = None,
    keys: object = None,
    design: object = None,
    group: object = None,
) -> Responses:
    """Randomise each answer by itself, as if on its respondent's own device. Returns `Responses`.

    series : the answers, one element for each respondent: a plain Series, list or array. Data that
        ``dp.protect`` holds are refused: a ledger counts what answers about them cost.
    epsilon : what each response may cost its respondent; implied by two coins (ln 3 if fair).
    keys : the possible answers, from public knowledge. For a list, and for booleans, False and True
        by default, unless the design is "k-ary" or "OUE"; a Series or array of any other dtype
        needs keys= (0 and 1 are equal to False and True).
    design : "one coin" (Warner's: the truth with probability e^ε/(1+e^ε)), "two coins" (the truth,
        or whatever a second coin says), "k-ary" (the truth, or a random key), "OUE" (optimised
        unary encoding: a yes or no to every key), or `one_coin` or `two_coins` with probabilities
        of your own. By default k-ary for fewer than 3e^ε + 2 keys, where its variance is smaller,
        else OUE.
    group : a name for those who were asked; see `losses`.

    A missing answer, or one that isn't among the keys, is randomised as if a random key were the
    answer; no error reveals that there was one. To count non-answers, give them a key of their own:
    ``series.fillna("no answer")``.

    Whoever runs this process still sees the answers. For the promise of the local model, run this
    on each respondent's device for a list of one answer, send the response, and put the responses
    together with `collected`.

    *Guarantee*: ε-local differential privacy: between any two answers of a respondent, or an answer
    and none, the probability of any response differs by a factor of at most e^ε (Warner 1965; Wang,
    Blocki, Li and Jha, USENIX Security 2017; docs/proofs/randomized_response.md). The loss is each
    respondent's, noted in `losses` and in no ledger. It isn't hidden that somebody responded.

    >>> from dppandas import local
    >>> said = local.randomized_response([True, False, None], epsilon=1)
    >>> said
    <3 randomised responses: one coin, 2 keys, ε = 1 of each respondent>
    >>> said.responses.dtype
    dtype('bool')
    """
    _refuse_private(series)
    asked = designs.of(design, epsilon, keys)
    name = lost.group_name(group)
    answers = _as_series(series)
    if keys is None and kinds.of_dtype(answers.dtype) not in (kinds.TRUTH, kinds.UNKNOWN):
        raise MissingArgument(
            f"keys= is needed for answers of dtype {answers.dtype}: without it they would be taken "
            "for False and True, and any other answer would become one at random. Write "
            "keys=[0, 1, 2], from public knowledge; or keys=[False, True]."
        )
    if asked.is_bits and len(answers) * len(asked.keys) > MOST_CELLS:
        raise QueryError(
            f"{len(answers):,} rows of {len(asked.keys):,} bits don't fit in memory: ask for "
            "design='k-ary', or for fewer rows at a time."
        )
    lost.note(name, answers.name, asked.name, asked.epsilon, len(answers))
    said = asked.respond(asked.places(answers))
    if asked.is_bits:
        return Responses(pd.DataFrame(said, columns=asked.labels), asked)
    return Responses(pd.Series(asked.labels.take(said), name=answers.name), asked)


@hide_internals
def collected(
    responses: Any, *, epsilon: object = None, keys: object = None, design: object = None
) -> Responses:
    """Take responses that were randomised elsewhere or earlier. Returns `Responses`.

    responses : a Series, list or array of keys; with unary encoding a DataFrame of True and False
        with a column for each key. They are public, so what doesn't fit is refused.
    epsilon, keys, design : how they were randomised.

    Nothing is randomised or noted here: the loss belongs to where the responses were made.

    >>> from dppandas import local
    >>> said = local.collected([True, False, True, True], design="two coins")
    >>> float(said.mean())  # (3/4 - 1/4) / (1/2)
    1.0
    """
    _refuse_private(responses, table=True)
    asked = designs.of(design, epsilon, keys)
    if asked.is_bits:
        return Responses(_bits(responses, asked), asked)
    if isinstance(responses, pd.DataFrame):
        raise QueryError(f"{asked.name} has one response for each respondent: give one column.")
    told = _as_series(responses).reset_index(drop=True)
    outside = int((asked.places(told) == len(asked.keys)).sum())
    if outside:
        raise QueryError(
            f"{outside:,} of the responses {'is' if outside == 1 else 'are'} no key, but in this "
            "design each is one of the keys. Give the keys and the design that they were made with."
        )
    return Responses(told, asked)


def _bits(responses: Any, design: Design) -> pd.DataFrame:
    if not isinstance(responses, pd.DataFrame) or len(responses.columns) != len(design.keys):
        raise QueryError(
            f"{design.name} has a yes or no to each key: give a DataFrame with the "
            f"{len(design.keys)} keys as its columns."
        )
    if list(responses.columns) != list(design.keys):
        raise QueryError("the columns must be the keys, in their order.")
    if any(dtype.kind != "b" for dtype in responses.dtypes):
        raise QueryError("each response must be True or False.")
    return responses.reset_index(drop=True).astype(bool)


def _refuse_private(data: Any, table: bool = False) -> None:
    if isinstance(data, Private) or SOURCE_ATTR in getattr(data, "attrs", ()):
        raise PrivateValueError(
            "dp.protect holds these data, where noise is added once to all rows. Randomised row "
            "by row, each would cost its unit as much again, uncounted. Ask "
            ".value_counts(epsilon=…, keys=[…]), or give a plain Series."
        )
    if isinstance(data, pd.DataFrame) and not table:
        raise QueryError(
            "one question at a time: choose a column, as frame['answer']. Each costs as much again."
        )


def _as_series(data: Any) -> pd.Series[Any]:
    """The answers as a Series, whose elements are left as they are."""
    if isinstance(data, pd.Series):
        return data
    is_table = isinstance(data, np.ndarray) and data.ndim > 1
    if is_table or isinstance(data, str | bytes | dict) or not isinstance(data, Iterable):
        raise QueryError(
            "the answers must be a Series, list or array with one element for each respondent, not "
            f"a {type(data).__name__}."
        )
    if isinstance(data, np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(data)
    return pd.Series(np.fromiter(data, dtype=object), dtype=object)
