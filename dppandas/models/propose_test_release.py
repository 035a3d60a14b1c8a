"""The distance of rows from a property of your own, and values released if they are stable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, cast

import pandas as pd

from ..errors import hide_internals
from ..privacy.accounting.losses import ReleaseOptions, parse_delta, with_options_named
from ..release.answers.records import Record
from ..release.answers.tested_value import TestedValue, tested
from ..release.unreleased import Unreleased
from ..release.ways import Ways
from ..statistics import Cells, Distance, Layout, Proposed
from ..statistics.distances import Measurer, Valuer, is_plain
from ..statistics.scores import is_whole
from .select import asked_by, shown_rows, tried, vouched

#: What a distance must be.
COUNT = "a whole number: a count of rows"


class UnreleasedProposal(Unreleased):
    """A value that hasn't been tested yet."""

    @with_options_named
    @hide_internals
    def release(self, *, epsilon: object = None, **more: Unpack[ReleaseOptions]) -> TestedValue:
        """The value, if it is far from changing: see `TestedValue`.

        *Guarantee*: (epsilon, delta)-differential privacy of the unit, if value and distance are as
        the caller states (docs/proofs/propose_test_release.md).
        """
        return cast(TestedValue, super().release(epsilon=epsilon, **more))

    @staticmethod
    def _shaped(record: Record) -> TestedValue:
        return tested(record)


@with_options_named
@hide_internals
def distance_to_property(
    frame: Any,
    distance: Callable[[pd.DataFrame], int],
    *,
    epsilon: object = None,
    **more: Unpack[ReleaseOptions],
) -> Any:
    """How many rows would have to change for a property to hold, or to fail: a noisy count.

    frame : a DataFrame or its ``df.dp``, which may be filtered or have columns selected. The
        private frame of `dp.protect` never shows its rows to a function.
    distance : ``distance(df)`` returns a whole number (below 0 counts as 0) for any rows, even
        none. You state that one added or removed row changes it by at most 1, as is true if it
        counts rows to be added or removed. After the charge it gets a plain DataFrame of the rows
        that count (at most max_rows for each unit). Before the charge it gets an empty one with
        the same columns: if it fails then, the call is refused, free of charge. It must not look at
        dtypes or at the index, which a single row can change for all. If it fails on the data, the
        charge stays and the cause isn't shown.

    Returns an int of at least 0 with ``.error()`` and ``.interval()``, in rows.

    Raises `QueryError` for other functions, and `LineageError` for verified frames and in strict
    sessions; nothing is charged then.

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
    what = asked_by("distance by the caller's function (moved by 1 a row as stated)", distance)
    request = Unreleased._of(vouched(source), source._where, statistic, what)
    return Unreleased._ask(request, Ways.read(epsilon, more))


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
    """The exact value of a function of your own, released only if it takes many rows to change it.

    frame : as for `dp.distance_to_property`.
    value : ``value(df)`` returns a float, an int or a str, for any rows, even none, in any order.
        Equal values come back alike: 3.0 as 3, for example.
    distance : ``distance(df)`` returns how many rows, whichever they are, can be added or removed
        without changing the value: one less than the smallest number that changes it. It may return
        less, as long as one row more or less changes it by at most 1. Both properties are **your**
        statement, and the guarantee depends on it. The ledger says so.
    epsilon, delta : the loss. The noise has scale max_rows/epsilon, and delta decides how large the
        noisy distance must be for the value to be released.

    Both functions get plain DataFrames, as in `dp.distance_to_property`.

    Returns a `TestedValue`: ``.released`` and ``.value``, which is None if it wasn't released. A
    distance as large as the ledger's error column says is enough for a release with 95 %. The
    charge is the same either way.

    Raises `QueryError` for other functions, in sessions without a δ, and without delta=; and
    `LineageError` for verified frames and in strict sessions. Nothing is charged then.

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
    said = "test of the caller's value (distance moved by 1 a row as stated)"
    what = asked_by(said, value, distance)
    request = UnreleasedProposal._of(vouched(source), source._where, statistic, what)
    return UnreleasedProposal._ask(request, Ways.read(epsilon, more))
