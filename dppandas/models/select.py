"""Selections among public candidates by a score of the caller's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ..errors import LineageError, QueryError, hide_internals, quoted
from ..frames.frame import PrivateFrame
from ..frames.protect import private
from ..privacy.accounting.losses import ReleaseOptions, gives_loss, with_options_named
from ..release import results
from ..release.blocks import split
from ..release.private import Table
from ..release.records import Record
from ..release.unreleased import UnreleasedMode
from ..rows.expressions import Column
from ..rows.facts.keys import Keys, some_names
from ..statistics import Cells, Layout, Scores
from ..statistics.scores import CallerFunction, Scorer, is_whole

#: What a score or a distance is.
WHOLE = "a whole number: round, as in int(…), and count in steps"
#: Of a larger one nobody would state it.
MOST_SENSITIVE = 2**64


class UnreleasedChoice(UnreleasedMode):
    """A candidate that is not selected yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> Any:
        """The candidate selected, with ``.error()`` if its type lets it.

        *Guarantee*: epsilon-differential privacy of the unit, if the score is as sensitive as
        stated (McKenna and Sheldon, NeurIPS 2020; docs/proofs/select.md).
        """
        return super().release(epsilon=epsilon, **more)

    def _shaped(self, record: Record) -> Any:
        return results.label(record, record.estimate()[0])


@with_options_named
@hide_internals
def select(
    frame: Any,
    candidates: Any,
    *,
    score: Callable[[pd.DataFrame, Any], int],
    sensitivity: int,
    monotone: bool = False,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """One of some public candidates, of a high score by a function of your own.

    frame : a DataFrame, or its ``df.dp`` (filtered, or with columns selected, if you like). The
        private frame of `dp.protect` never shows its rows to anybody's function.
    candidates : a list of plain values. They are public, and never read from the data.
    score : ``score(df, candidate)`` returns a whole number. It is handed a plain DataFrame of the
        rows that count (of a unit, at most max_rows), after the charge; and before it, with each
        candidate, an empty one with the same columns: what fails there is refused, free of charge.
        It must not change the frame, nor look at dtypes or at the index: one row can change those
        for all. Should it fail on the data, the charge stays and the cause is not shown.
    sensitivity : the most by which one row, added or removed, changes any candidate's score, by
        **your** statement: the promise is as good as that. The ledger says whose it is.
    monotone : whether one more row never lowers any score, or never raises any: twice as sharp.

    The error of the result is how far its score may lie below the best, in units of the score:
    with m candidates at most ln(m/0.05)·2·sensitivity/epsilon, with 95 %.

    *Guarantee*: epsilon-differential privacy of the unit, *if* the score is as sensitive as stated;
    permute-and-flip (McKenna and Sheldon, NeurIPS 2020), which is nowhere worse than the
    exponential mechanism (McSherry and Talwar, FOCS 2007; docs/proofs/select.md).

    >>> import pandas as pd, dppandas as dp
    >>> df = pd.DataFrame({"age": [20, 30, 40] * 100})
    >>> def balance(rows, age):  # how evenly an age splits the rows: moved by 1 at most
    ...     return -abs(int((rows["age"] < age).sum()) - int((rows["age"] > age).sum()))
    >>> dp.select(df, [20, 30, 40], score=balance, sensitivity=1, epsilon=1) == 30
    True
    """
    source = shown_rows(frame, "select", "score=")
    public = _checked(candidates)
    stated = _sensitivity(sensitivity)
    if not isinstance(monotone, bool):
        raise QueryError(f"monotone={quoted(monotone)} must be True or False.")
    names = tuple(source._columns)
    for candidate in public:
        tried(score, "score=", names, is_whole, WHOLE, candidate)
    labels = np.array([*public, None], dtype=object)[:-1]  # None, or tuples would make a matrix
    index = pd.Index(labels, dtype=object, tupleize_cols=False)
    statistic = Scores(
        Cells(), Layout(integer=True, index=index), names, public, Scorer(score), stated, monotone
    )
    table = vouched(source)
    way = "monotone, " if monotone else ""
    what = f"choice of {len(public)} candidates by the caller's score ({way}sensitivity {stated} "
    what += "a row as stated)"
    asked = UnreleasedChoice(table, source._where, statistic, what)
    is_asked = gives_loss(epsilon, more) or split.answers_now()
    return asked.release(epsilon=epsilon, **more) if is_asked else asked


def shown_rows(frame: Any, verb: str, argument: str) -> PrivateFrame:
    """The private frame whose plain rows a caller's function may see, or why it may not."""
    source = frame if isinstance(frame, PrivateFrame) else _of(frame, verb)
    table = source._table
    if table.source.verified:
        raise LineageError(
            "a verified frame never shows its rows, and a function of your own would see them. If "
            f"you vouch for it, start from the plain frame: dp.{verb}(df, …)."
        )
    if table.branches != 1 or not all(
        isinstance(e, Column) and e.name == name for name, e in source._columns.items()
    ):
        raise QueryError(
            f"{argument} sees plain columns only: compute and rename with pandas, or within the "
            "function, and start from that frame."
        )
    return source


def vouched(source: PrivateFrame) -> Table:
    """Its root, with a lineage that says what else is trusted."""
    table = source._table
    return replace(table, source=replace(table.source, trusted=", caller-scored"))


def _of(frame: Any, verb: str) -> PrivateFrame:
    if not isinstance(frame, pd.DataFrame):
        raise QueryError(f"dp.{verb} takes a DataFrame or its .dp, not a {type(frame).__name__}.")
    made: PrivateFrame = private(frame)
    return made


def _checked(candidates: Any) -> tuple[Any, ...]:
    if not isinstance(candidates, list | tuple | range | pd.Index | np.ndarray):
        raise QueryError(
            f"candidates must be a list of plain values, not a {type(candidates).__name__}."
        )
    return Keys.parse(candidates, ["candidates"]).labels


def _sensitivity(sensitivity: object) -> int:
    is_int = isinstance(sensitivity, int | np.integer) and not isinstance(sensitivity, bool)
    if not is_int or not 1 <= sensitivity <= MOST_SENSITIVE:  # type: ignore[operator]
        raise QueryError(
            f"sensitivity={quoted(sensitivity)} must be a whole number of at least 1: the most "
            "that one row changes any score. Scale scores that are no whole numbers."
        )
    return int(sensitivity)  # type: ignore[call-overload, no-any-return]


def tried(
    function: Callable[..., Any],
    argument: str,
    names: Sequence[Any],
    fits: Callable[[object], bool],
    kind: str,
    *more: Any,
) -> None:
    """Refuse a caller's function that fails on no rows, which anybody may know: after the charge
    it would fail as well, and could not say why."""
    if not callable(function):
        raise QueryError(f"{argument} must be a function of a DataFrame.")
    nothing = pd.DataFrame(columns=pd.Index(names, tupleize_cols=False))
    try:
        given = CallerFunction(function)._said(nothing, *more)
    except Exception as error:
        raise QueryError(
            f"{argument} raised {_said(error)} for no rows. It must be defined "
            "for whatever rows, none included: columns of no rows hold objects, as they may with "
            "rows, so convert before .dt or int(…). The columns: "
            f"{some_names(names)}."
        ) from None
    if not fits(given):
        raise QueryError(
            f"{argument} returned a {type(given).__name__} for no rows, and must return {kind}."
        )


def _said(error: Exception) -> str:
    """An exception of the caller's function, in short."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
