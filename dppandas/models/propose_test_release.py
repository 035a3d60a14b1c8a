"""How far rows are from a property of the caller's own, and values told because they are far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import pandas as pd

from ..errors import hide_internals
from ..privacy.accounting.losses import ReleaseOptions, gives_loss, parse_delta, with_options_named
from ..release import results
from ..release.blocks import split
from ..release.records import Record
from ..release.results import TestedValue
from ..release.unreleased import Unreleased
from ..statistics import Cells, Distance, Layout, Proposed
from ..statistics.distances import Measurer, Valuer, is_plain
from ..statistics.scores import is_whole
from .select import shown_rows, tried, vouched

#: What a distance is.
COUNT = "a whole number: a count of rows"


class UnreleasedProposal(Unreleased):
    """A value that was not tested yet."""

    def _ask(self, epsilon: object, select: int = 0, **more: Unpack[ReleaseOptions]) -> Record:
        known = self._statistic.delta if isinstance(self._statistic, Proposed) else None
        if known and more.get("delta") is None:
            more["delta"] = known
        return super()._ask(epsilon, select, **more)

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> TestedValue:
        """The value if it is far from changing: see `TestedValue`.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit, if value and distance are
        what the caller states (docs/proofs/propose_test_release.md).
        """
        tested: TestedValue = super().release(epsilon=epsilon, **more)
        return tested

    def _shaped(self, record: Record) -> TestedValue:
        return results.tested(record)


@with_options_named
@hide_internals
def distance_to_property(
    frame: Any,
    distance: Callable[[pd.DataFrame], int],
    *,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """How many rows would have to change for a property to hold or fail, noisily.

    frame : a DataFrame, or its ``df.dp`` (filtered, or with columns selected, if you like). The
        private frame of `dp.protect` never shows its rows to anybody's function.
    distance : ``distance(df)`` returns a whole number of at least 0 (less counts as 0) for whatever
        rows, none included. By **your** statement one row, added or removed, changes it by 1 at
        most, as it does where it counts rows to be added or removed. It is handed a plain DataFrame
        of the rows that count (of a unit, at most max_rows), after the charge; and before it an
        empty one with the same columns: what fails there is refused, free of charge. It must not
        look at dtypes or at the index: one row can change those for all. Should it fail on the
        data, the charge stays and the cause is not shown.

    Returns an int of at least 0 that knows its ``.error()`` and ``.interval()``, in rows.

    Raises `QueryError` for what isn't such a function, `LineageError` for verified frames and in
    strict sessions; nothing is charged then.

    *Guarantee*: epsilon-differential privacy of the unit, *if* one row changes the distance by at
    most 1: discrete Laplace noise of scale max_rows/epsilon (Dwork, McSherry, Nissim and Smith,
    TCC 2006, Theorem 1; docs/proofs/propose_test_release.md).

    >>> import pandas as pd, dppandas as dp
    >>> votes = pd.DataFrame({"vote": ["yes"] * 300 + ["no"] * 100})
    >>> def to_a_tie(rows):
    ...     return abs(int((rows["vote"] == "yes").sum()) - int((rows["vote"] == "no").sum()))
    >>> lead = dp.distance_to_property(votes, to_a_tie, epsilon=1)
    >>> 150 < lead < 250, lead.error()
    (True, 3.0)
    """
    source = shown_rows(frame, "distance_to_property", "distance=")
    names = tuple(source._columns)
    tried(distance, "distance=", names, is_whole, COUNT)
    statistic = Distance(Cells(), Layout(integer=True), names, Measurer(distance))
    what = "distance by the caller's function (moved by 1 a row as stated)"
    asked = Unreleased(vouched(source), source._where, statistic, what)
    is_asked = gives_loss(epsilon, more) or split.answers_now()
    return asked.release(epsilon=epsilon, **more) if is_asked else asked


@with_options_named
@hide_internals
def propose_test_release(
    frame: Any,
    value: Callable[[pd.DataFrame], float | str],
    distance: Callable[[pd.DataFrame], int],
    *,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """The exact value of a function of your own, told only if no few rows could change it.

    frame : as for `dp.distance_to_property`.
    value : ``value(df)`` returns a float, an int or a str, for whatever rows, none included, in
        whatever order. Equal values come back alike: 3.0 as 3, for example.
    distance : ``distance(df)`` returns how many rows can be added or removed, whichever they are,
        while the value stays the same: one less than the least number that changes it. Fewer are
        allowed, if one row more or less still changes the distance by at most 1. Both are **your**
        statement, and the promise is as good as that: the ledger says whose it is.

    epsilon, delta : what the release may cost. The noise has the scale max_rows/epsilon, and delta
        says from which noisy distance on the value is told.

    Both functions are handed a plain DataFrame as `dp.distance_to_property` hands it out.

    Returns a `TestedValue`: ``.released`` and ``.value``, None where it wasn't released. With 95 %
    it is where the distance is as large as the ledger's column of errors says. The charge is the
    same either way.

    Raises `QueryError` for what aren't such functions, in sessions without a δ, and without
    delta=; `LineageError` for verified frames and in strict sessions; nothing is charged then.

    *Guarantee*: (epsilon, delta)-differential privacy of the unit, *if* value and distance are as
    stated (Dwork and Lei, "Differential Privacy and Robust Statistics", STOC 2009;
    docs/proofs/propose_test_release.md).

    >>> import pandas as pd, dppandas as dp
    >>> dp.reset()
    >>> session = dp.session(epsilon=2, delta=1e-5)
    >>> votes = pd.DataFrame({"vote": ["yes"] * 300 + ["no"] * 100})
    >>> def lead(rows):
    ...     return int((rows["vote"] == "yes").sum()) - int((rows["vote"] == "no").sum())
    >>> def winner(rows):  # a tie is a no
    ...     return "yes" if lead(rows) > 0 else "no"
    >>> def margin(rows):
    ...     return lead(rows) - 1 if lead(rows) > 0 else -lead(rows)
    >>> dp.propose_test_release(votes, winner, margin, epsilon=1, delta=1e-6)
    TestedValue(released=True, value='yes')
    """
    source = shown_rows(frame, "propose_test_release", "value=")
    names = tuple(source._columns)
    tried(value, "value=", names, is_plain, "a float, an int or a str")
    tried(distance, "distance=", names, is_whole, COUNT)
    known = None if more.get("delta") is None else parse_delta(more["delta"])
    statistic = Proposed(
        Cells(), Layout(integer=False), names, Measurer(distance), Valuer(value), known
    )
    what = "test of the caller's value (distance moved by 1 a row as stated)"
    asked = UnreleasedProposal(vouched(source), source._where, statistic, what)
    is_asked = gives_loss(epsilon, more) or split.answers_now()
    return asked.release(epsilon=epsilon, **more) if is_asked else asked
