"""Selections among public candidates, by a score of your own."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

import numpy as np
import pandas as pd

from ..errors import LineageError, QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.protect import private
from ..privacy.accounting.losses import AskOptions, ReleaseOptions, with_options_named
from ..release.answers import results
from ..release.answers.records import Record
from ..release.private import Table
from ..release.unreleased import UnreleasedMode
from ..release.ways import Ways
from ..release.wording import Later, Question, labels, told
from ..rows.expressions import Column
from ..rows.facts.keys import Keys, some_names
from ..rows.facts.units import whole_number
from ..statistics import Cells, Layout, Scores
from ..statistics.callers import CallerFunction
from ..statistics.scores import Scorer, is_whole
from . import priors

#: What a score must be.
WHOLE = "a whole number: round, as in int(…), and count in steps"
#: The largest sensitivity.
MOST_SENSITIVE = 2**64


class UnreleasedChoice(UnreleasedMode[Any]):
    """A selection by scores that hasn't been made yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The selected candidate, or the position of the selected table or database, with
        ``.error()`` if its type allows it.

        *Guarantee*: epsilon-differential privacy of the unit; for `select`, if the score is as
        sensitive as stated (McKenna and Sheldon, NeurIPS 2020; docs/proofs/select.md,
        docs/proofs/misfit.md).
        """
        return super().release(epsilon=epsilon, **more)

    @staticmethod
    def _shaped(record: Record) -> Any:
        return results.label(record, record.estimate()[0])


@typing.overload
def select(
    frame: Any,
    candidates: Any,
    *,
    score: Callable[[pd.DataFrame, Any], int],
    sensitivity: int,
    monotone: bool = False,
    prior: object = None,
) -> UnreleasedChoice: ...
@typing.overload
def select(
    frame: Any,
    candidates: Any,
    *,
    score: Callable[[pd.DataFrame, Any], int],
    sensitivity: int,
    monotone: bool = False,
    prior: object = None,
    **ways: Unpack[AskOptions],
) -> Any: ...
@with_options_named
@hide_internals
def select(
    frame: Any,
    candidates: Any,
    *,
    score: Callable[[pd.DataFrame, Any], int],
    sensitivity: int,
    monotone: bool = False,
    prior: object = None,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """Select a public candidate with a high score, by a function of your own.

    frame : a DataFrame or its ``df.dp``, which may be filtered or have columns selected. The
        private frame of `dp.protect` never shows its rows to a function.
    candidates : a list of plain values. They are public, and never read from the data.
    score : ``score(df, candidate)`` returns a whole number. After the charge it gets a plain
        DataFrame of the rows that count (at most max_rows for each unit). Before the charge it gets
        an empty one with the same columns, for each candidate: if it fails then, the call is
        refused, free of charge. It must not change the frame, and must not look at dtypes or at the
        index, which a single row can change for all. What it prints, warns or logs is discarded.
        If it fails on the data, the charge stays and the cause isn't shown; **that** it fails is,
        so it has to work for any rows.
    sensitivity : the most that one added or removed row changes any candidate's score. This is
        **your** statement, and the guarantee depends on it. The ledger says so.
    monotone : whether one more row never lowers any score, or never raises any. Halves the error.
    prior : how likely each candidate is before the rows have a say: positive numbers in the order
        of candidates, or by candidate, in a dict or a Series. They needn't add up to 1, and a float
        means the decimal that it prints as. They are public, too. A candidate is then selected with
        a chance ∝ prior · exp(epsilon · score/(2 · sensitivity)).
    mechanism : "permute_and_flip", the default where ε is counted, or "exponential", with a chance
        ∝ exp(epsilon · score/(2 · sensitivity)), as always with a prior and where ρ is counted.

    The error of the result is how far its score may lie below the best, in units of the score: for
    m candidates at most ln(m/0.05)·2·sensitivity/epsilon, with 95 %. With a prior, 1/m is the least
    share of a candidate.

    *Guarantee*: epsilon-differential privacy of the unit, *if* the score is as sensitive as stated,
    by permute-and-flip (McKenna and Sheldon, NeurIPS 2020), which is nowhere worse than the
    exponential mechanism (McSherry and Talwar, FOCS 2007; docs/proofs/select.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"age": [20, 30, 40] * 100})
    >>> def balance(rows, age):  # how evenly an age splits the rows: moved by 1 at most
    ...     return -abs(int((rows["age"] < age).sum()) - int((rows["age"] > age).sum()))
    >>> dp.select(df, [20, 30, 40], score=balance, sensitivity=1, epsilon=1) == 30
    True
    """
    source = shown_rows(frame, "select", "score=")
    if not isinstance(candidates, list | tuple | range | pd.Index | np.ndarray):
        raise QueryError(f"candidates= must be a list, not a {type(candidates).__name__}.")
    public = Keys.parse(candidates, ["candidates"]).labels
    why = ", the most that one row changes any score. Scale and round scores that aren't whole"
    stated = whole_number(sensitivity, "sensitivity", 1, MOST_SENSITIVE, why)
    if not isinstance(monotone, bool):
        raise QueryError(f"monotone={quoted(monotone)} must be True or False.")
    names = tuple(source._columns)
    weights = priors.parse(prior, public)
    for candidate in public:
        tried(score, "score=", names, is_whole, WHOLE, candidate)
    each = np.array([*public, None], dtype=object)[:-1]  # without None, tuples make a matrix
    layout = Layout(integer=True, index=pd.Index(each, dtype=object, tupleize_cols=False))
    whole = priors.whole(weights)
    statistic = Scores(Cells(), layout, names, public, Scorer(score), stated, monotone, whole)
    way = "monotone, " if monotone else ""
    said = f"choice of {len(public)} candidates by the caller's score ({way}sensitivity {stated} "
    what = asked_by(f"{said}a row as stated)", score)
    what = what.beside(("candidates", Later(labels, Keys(public))), *priors.options(weights))
    request = UnreleasedChoice._of(vouched(source), source._where, statistic, what)
    return UnreleasedChoice._ask(request, Ways.read(epsilon, more))


def asked_by(said: str, *functions: Callable[..., Any]) -> Question:
    """What is asked by functions of the caller, whose names are all that is told of them: what a
    callable object says of itself may quote the data that it holds."""
    each = (getattr(f, "__qualname__", None) or type(f).__qualname__ for f in functions)
    return told(said, ("by", ", ".join(name for name in each if isinstance(name, str))))


def shown_rows(frame: Any, verb: str, argument: str) -> PrivateFrame:
    """The private frame whose plain rows a caller's function may see; refuses any other."""
    source = private_frame(frame, verb)
    check_unverified(source, verb)
    table = source._table
    if table.branches != 1 or not all(
        isinstance(e, Column) and e.name == name for name, e in source._columns.items()
    ):
        raise QueryError(
            f"{argument} sees original columns only. Compute and rename columns in the function, "
            "and start from the plain frame."
        )
    return source


def check_unverified(source: PrivateFrame, verb: str) -> None:
    """Refuse a verified frame for what shows rows to a caller's function."""
    if source._table.source.verified:
        raise LineageError(
            "a verified frame never shows its rows, but your function would see them. If you vouch "
            f"for it, start from the plain frame: dp.{verb}(df, …)."
        )


def vouched(source: PrivateFrame) -> Table:
    """The table of a frame, with a lineage that says that a caller's function is trusted."""
    table = source._table
    return replace(table, source=replace(table.source, trusted=", caller-scored"))


def private_frame(frame: Any, verb: str) -> PrivateFrame:
    """A private frame, or that of a plain one."""
    if isinstance(frame, PrivateFrame):
        return frame
    if isinstance(frame, pd.DataFrame):
        return cast(PrivateFrame, private(frame))
    raise QueryError(f"dp.{verb} takes a DataFrame or its .dp, not a {type(frame).__name__}.")


def tried(
    function: Callable[..., Any],
    argument: str,
    names: Sequence[Any],
    fits: Callable[[object], bool],
    kind: str,
    *more: Any,
) -> None:
    """Refuse a caller's function that fails on an empty frame, which everybody may know. After the
    charge it would fail as well, and the cause could not be shown."""
    if not callable(function):
        raise QueryError(f"{argument} must be a function of a DataFrame.")
    nothing = pd.DataFrame(columns=pd.Index(names, tupleize_cols=False))
    try:
        given = CallerFunction(function)._said(nothing, *more)
    except Exception as error:
        raise QueryError(
            f"{argument} raised {error_in_short(error)} for an empty frame, and must work for any "
            "rows. Columns of an empty frame hold objects, so convert them before .dt or int(…). "
            f"The columns: {some_names(names)}."
        ) from None
    if not fits(given):
        raise QueryError(f"{argument} must return {kind}, not a {type(given).__name__}.")


def error_in_short(error: BaseException) -> str:
    """An exception of the caller's function, shortened."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
