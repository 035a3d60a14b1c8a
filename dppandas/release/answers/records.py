"""The record of a release: the query, the loss, and how far the answer may be off."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias, Unpack, cast
from weakref import WeakValueDictionary

import pandas as pd

from ...dataclasses import dataclass, found_once
from ...errors import RecordError, hide_internals
from ...ledger.questions import Question
from ...privacy.accounting.losses import Epsilon, Loss, ReleaseOptions, with_options_named
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.mechanisms.base import Mechanism
from ...privacy.mechanisms.selection import Selection
from ...statistics import Layout, Statistic
from ...statistics.layout import Codes, between, format_error
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE, in_words, parse_confidence, parse_rows
from ..query import Query
from . import populations, shown

#: The share of the failure probability that is spent on the bound of the number of rows.
COUNTING = 1 / 20
#: The status of an entry that was never charged.
PREVIEW = "preview"
#: Intervals that are known already.
Found: TypeAlias = Sequence[tuple[float, float]] | None
_records: WeakValueDictionary[str, Record] = WeakValueDictionary()


def by_id(name: str) -> Record | None:
    """The record with an id, while it is in use."""
    return _records.get(name)


@dataclass(frozen=True, eq=False, repr=False)
class Record(ABC):
    """The release record of a result: the query, the mechanism and the loss.

    Public facts and noisy integers, never rows; it can be pickled. Users get `refinable.Record`.
    """

    id: str
    number: int
    query: str
    source: str
    lineage: str
    unit: str
    where: str
    mechanism: str
    scale: Any
    loss: Loss
    cell: int | None
    time: float
    _statistic: Statistic
    draw: int  # the number among the answers of equal queries; 0 if none is stored
    ledger: str  # a name of the ledger that it was charged to; "" for a source without a name
    _law: Mechanism | CombinedNoise
    _noisy: tuple[Any, ...]
    _query: Query
    _components: tuple[Record, ...] = ()
    _rows: float | None = None  # for quantiles: a known limit on the rows
    _counts: Record | None = None  # a release beside it that counts the rows
    preview: bool = False  # made up by a `dppandas.preview`, so not an answer
    _shown: tuple[float, ...] | None = None  # the numbers, if other releases moved them
    _beside: tuple[float, ...] | None = None  # the number of rows of each, as released beside it
    _seed: str = ""  # the random id of its draw, which simulations start from
    _kernel: str = ""  # a name of the process that was charged
    _target: Any = None  # the error at 95 % that the call asked for

    @hide_internals
    def error(self, confidence: float = CONFIDENCE, *, expected_rows: float | None = None) -> float:
        """How far the answer may be from the exact one on the same rows, at this confidence: the
        largest of `errors`, in `error_unit`.

        Raises `RecordError` if errors are in several units, or if one is unknown.
        """
        return units.largest(self._typed_errors(confidence, expected_rows), self._error_units)

    @hide_internals
    def errors(self, confidence: float = CONFIDENCE, *, expected_rows: float | None = None) -> Any:
        """How far each number may be from the exact one on the same rows, under the labels of the
        answer; one number for a single number or a selection. Errors of times are Timedeltas.

        All errors hold simultaneously. Those of labels found with a δ hold for each label by
        itself, if it is shown. The error of a selection is how far its score may lie below the
        best; that of a quantile is in ranks. Errors are those of the noise, and don't include what
        clipping and max_rows change. If you know the most rows that quantiles are taken over, give
        ``expected_rows``: errors in ranks are then smaller.
        """
        errors = self._typed_errors(confidence, expected_rows)
        is_one = self._layout.is_scalar or isinstance(self._law, Selection)
        return errors[0] if is_one else self._table(errors)

    def _typed_errors(
        self, confidence: float, expected_rows: float | None = None, found: Found = None
    ) -> list[Any]:
        """The errors in declared order; one for a selection."""
        confidence, rows = parse_confidence(confidence), parse_rows(expected_rows)
        if not isinstance(self._law, Selection):
            return self._statistic.errors.typed_errors(self._errors(confidence, rows, found))
        gap = self._statistic.errors.error(self._law.utility_gap(confidence, self._statistic.size))
        return [math.nan] if gap is None else self._statistic.errors.typed_errors([gap])

    def _errors(
        self, confidence: float, rows: float | None = None, intervals: Found = None
    ) -> list[float]:
        """The errors of all numbers. A number that was moved may be further off, except for ranks
        and for counts cut at 0, which only came nearer (docs/proofs/order.md)."""
        found = self._errors_among(confidence, rows, intervals)
        is_nearer = self._statistic.errors.in_ranks or self._statistic.errors.error(1) is not None
        if self._shown is None or is_nearer:
            return found
        if intervals is None:
            intervals = self._statistic.errors.intervals_at(self._noisy, self._law, confidence)
        numbers = zip(found, self._estimated, self._shown, intervals, strict=True)
        return [
            error if now == was else max(high - now, now - low)
            for error, was, now, (low, high) in numbers
        ]

    @hide_internals
    def interval(
        self, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
        method: str | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """(lower, upper) around the exact answer, for an answer of one number: see `intervals`."""
        found = self.intervals(confidence, of=of, size=size, method=method)
        if isinstance(found, tuple):
            return found
        raise RecordError("this answer has several numbers. Call .intervals() for all of them.")

    @hide_internals
    def intervals(
        self, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
        method: str | None = None,
    ) -> Any:  # fmt: skip
        """Bounds around the exact answer on the same rows, at this confidence.

        For a Series, a DataFrame with columns lower and upper under the same labels; for a
        DataFrame, both under each column; for one number, (lower, upper). They hold as `errors`
        do. They follow from public facts and noisy integers, and are about clipped values. With
        ``of="population"`` they are about the population that the rows are a sample of, as those of
        `dppandas.intervals`.
        """
        confidence, how = parse_confidence(confidence), populations.parse_how(of, size, method)
        if how is not None:
            found = populations.estimates(self, confidence, how)
            ends = [(math.nan, math.nan) if each is None else each[:2] for each in found]
            if self._layout.is_scalar:
                return ends[0]
            return between(*(self._table(list(side)) for side in zip(*ends, strict=True)))
        if isinstance(self._law, Selection):
            raise RecordError(shown.NO_INTERVAL)
        if self._statistic.errors.no_interval:
            raise RecordError(self._statistic.errors.no_interval)
        lower, upper = self._ends(confidence)
        if self._layout.is_scalar:
            return lower[0], upper[0]
        return between(self._table(lower), self._table(upper))

    def estimate(self) -> Any:
        """The answer, as it was released."""
        released = self._released
        return released if self._layout.is_scalar else released.copy()

    @found_once
    def _released(self) -> Any:
        if isinstance(self._law, Selection):
            labels = cast(pd.Index, self._layout.index).tolist()
            return [labels[i] for i in self._noisy]
        if self._layout.index is not None and self._shown is None and not self._layout.rulers:
            return self._table(self._estimated_at_once)
        values = self._statistic.typed(self._shown or self._estimated)
        return values[0] if self._layout.index is None else self._table(values)

    def _errors_among(
        self, confidence: float, rows: float | None = None, found: Found = None
    ) -> list[float]:
        """The errors in the statistic's own unit, in declared order. For quantiles they may use a
        number of rows: a given one, or the bound of a release beside this one, which takes a share
        of the failure probability."""
        rows = self._rows if rows is None else rows
        if rows is not None:
            return self._statistic.errors.errors_among(self._law, confidence, rows)
        if self._counts is None:
            return self._statistic.errors.errors_given(self._noisy, self._law, confidence, found)
        beside, share = self._counts, (1 - confidence) * COUNTING
        most = beside._statistic.errors.rows_at_most(beside._noisy, beside._law, 1 - share)
        return self._statistic.errors.errors_among(self._law, confidence + share, most)

    def _values(self) -> list[float]:
        """The answer's numbers: estimated, or moved by other releases of the same answer."""
        return list(self._shown or self._estimated)

    @found_once
    def _estimated(self) -> list[float]:
        return self._statistic.estimate(self._noisy)

    @found_once
    def _estimated_at_once(self) -> Any:
        """The same as one array, to sort and to show it."""
        return self._layout.numbers(self._estimated)

    @property
    def error_unit(self) -> str:
        """The unit of `error`: "rows", "ranks", "units", "keys", distinct "values", "share" (also
        of correlations), "utility" for a selection, "seconds" for times, or the name of a column
        for its own unit ("income"; for variances "income²", for covariances "product of columns").
        Several if numbers differ: "rows, income".
        """
        return ", ".join(self._error_units)

    @property
    def _error_units(self) -> list[str]:
        return units.units_of(self._statistic, self._law, self._query.source.schema)

    @property
    def noise(self) -> Any:
        """The law of the noise, with the names of scipy.stats: `Noise`. A dict by column if laws
        differ, as scales do.

        It is the law of the difference between the answer and the exact one for counts, sums, and
        all else that is one noisy number; else that of each sum which the answer is computed from.
        Its ``.of`` says which. Of smooth sensitivity only the shape is public.

        Raises `RecordError` if no noise was added, as for selections and quantiles, or if releases
        with several noises were combined.

        >>> import pandas as pd, dppandas as dp
        >>> noise = dp.record(pd.DataFrame({"a": range(100)}).dp.count(epsilon=0.1)).noise
        >>> noise
        <discrete Laplace noise of the answer: scale 10 rows, whole numbers>
        >>> round(noise.pmf(0), 4), round(noise.sf(30), 4), round(noise.std(), 2)
        (0.05, 0.0236, 14.14)
        >>> noise.interval(0.95)
        (-30.0, 30.0)
        """
        from .noise import of_record  # laws that few ask for

        return of_record(self)

    @property
    def noise_dominated(self) -> Any:
        """Whether noise dominates the answer, by public facts and the answer alone.

        For counts, variances, deviations, and sums of values on one side of 0: whether the 95 %
        interval includes 0. For means, shares, correlations and quantiles by bounded sensitivity:
        whether it covers at least half of the possible range, or a tenth if the answer was cut off
        at an end of it. For other quantiles: whether the error is at least half of the rows, if
        `describe` or `agg` released their number; else, if intervals were asked for, whether they
        cover at least half of the bounds. None if it can't be known: for other sums, other
        quantiles, and labels.

        True, False or None for a scalar, else under the labels of the answer.
        """
        if isinstance(self._law, Selection):
            return None
        said = self._dominated()
        return said[0] if self._layout.is_scalar else self._layout.flags(said, self._order)

    def _dominated(self) -> list[bool | None]:
        return self._flags()[0]

    def _intervals_found(self, confidence: float) -> Found:
        """The intervals of what was estimated: errors, ends and flags follow from them, and they
        take most of the time. None if there are none."""
        about = self._statistic, self._noisy, self._law, confidence
        return units.intervals_at(*about) or None

    def _flags(self, found: Found = None) -> tuple[list[bool | None], list[bool | None]]:
        """Of each number whether noise dominates it, and whether its group may have no rows; None
        if it can't be known. The intervals may be given, at the confidence of cards."""
        found = found or self._intervals_found(CONFIDENCE) or []
        if not self._statistic.errors.in_ranks:
            return units.flags(self._statistic, self._noisy, found)
        is_dominated = units.mostly_possible(self._statistic, self._noisy, found)
        is_empty = units.may_be_empty(self._statistic, self._noisy, found, is_dominated)
        return self._drowned_ranks(is_dominated), is_empty

    def _marks(self) -> list[str]:
        """The word for each number, if there is one. A single number is of no group."""
        is_group = not self._layout.is_scalar
        pairs = zip(*self._flags(), strict=True)
        return [shown.mark(each, is_group and empty) for each, empty in pairs]

    def _drowned_ranks(self, by_intervals: list[bool | None]) -> list[bool | None]:
        """Whether noise dominates quantiles, by the number of rows beside them if it is known."""
        if self._beside is None:
            return by_intervals
        errors = self._errors_among(CONFIDENCE)
        return [error >= rows / 2 for error, rows in zip(errors, self._beside, strict=True)]

    @property
    def _question(self) -> Question:
        """What was asked, as data."""
        return self._query.what

    @property
    def epsilon(self) -> Epsilon:
        """The exact ε that the ledger was charged; 0 in a session that counts ρ: see `Loss`."""
        return self.loss.epsilon

    @property
    def loss_of_change(self) -> Loss:
        """What this release alone costs a unit whose rows become others, in place of one that is
        added or left out, which costs `loss`.

        A change is two steps, the old rows out and the new ones in, so that it costs twice the ε at
        most. Noise may do better: a changed row moves a count by 1 at most, as an added one does,
        and a sum of numbers from 0 on by no more than their upper bound. So there the loss is the
        same. Of numbers from -U to U it is twice as large, as it is of means and tables.

        Raises `RecordError` if ρ and δ were both spent, for which no rule is known.

        *Guarantee*: differential privacy for changed units (docs/proofs/changes.md).

        >>> import pandas as pd, dppandas as dp
        >>> df = pd.DataFrame({"a": [1, 2, 3], "b": list("xyx")})
        >>> n, table = df.dp.count(epsilon=1), df.dp["b"].value_counts(keys=["x", "y"], epsilon=1)
        >>> print(dp.record(n).loss_of_change, "and", dp.record(table).loss_of_change)
        ε = 1 and ε = 2
        """
        found = self._change
        if found is None:
            raise RecordError(
                "this release costs ρ and δ, and no rule is known for both if a unit's rows change."
            )
        return found

    @property
    def _change(self) -> Loss | None:
        if self._components:
            each = [part._change for part in self._components]
            known = [loss for loss in each if loss is not None]
            return sum(known, Loss()) if len(known) == len(each) else None
        return self._query.loss_of_change(self._law, self.loss)

    @property
    def version(self) -> str | None:
        """The version of the source."""
        return self._query.source.version

    @property
    def components(self) -> tuple[Record, ...]:
        """The releases that were combined, or this one alone."""
        return self._components or (self,)

    @with_options_named
    @hide_internals
    def refine(
        self,
        *,
        epsilon: object = None,
        until: object = None,
        looks: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """Release the query again, and combine the new release with this one; or with ``until=``
        as many releases as it takes to reach an error. Numbers have ``.refine(epsilon=…)``, too.

        epsilon : the loss of the new release, with ``rho=``, ``delta=`` and ``mechanism=`` as in
            the query itself.
        until : instead of epsilon, the largest error allowed, in the answer's own unit (for times a
            Timedelta), with ``confidence=`` (0.95 by default). Several numbers keep it together.
        looks : with until, the most looks at the answer, from 1 to 12; 3 by default. Each look
            costs as much as all before it, and the budget must be able to pay for all of them.
            ``at_most=`` limits their total loss.

        With ``epsilon=`` the new release is the next draw of the query at this loss, after those in
        the result. So a notebook that is run again gets the same answers at no cost, and so does a
        second call on the same result. To go on, refine the refined result, or give ``fresh=True``.
        As for `dppandas.combine`, the interval holds only if the releases and their losses are
        fixed beforehand. If you stop when an interval looks right, it is wrong too often.

        With ``until=`` everything is fixed before the first look: the losses, which follow from
        the result, and the confidence of each look, so that the intervals of all looks hold
        together. It stops at the first look whose error is small enough, or after the last one;
        ``.error()`` is the error that was reached, and ``dp.record(answer).loss`` the total loss.
        The answer combines only its own looks. The result that you start from sets the plan, but is
        left out, because it may be the reason why you ask. If public facts decide the error, as for
        counts and sums, there is one look, and a result that is accurate enough is returned
        unchanged. If the answer decides its error, such a result is refused: keep it. The same call
        again is free.

        Raises what `dppandas.combine` raises; `SourceError` if the running session doesn't hold the
        source, or a table made from it by ``per_unit`` no longer exists (then ask the query again
        with ``fresh=True``, and combine); and `BudgetExceeded`, before anything is charged, if the
        budget can't pay for all looks.

        *Guarantee*: differential privacy of the source's unit with the losses given, as for the
        query itself. The rest is post-processing (docs/proofs/combining.md).

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.protect(pd.DataFrame({"a": range(100)}), name="refined")
        >>> n = p.count(epsilon=0.1)
        >>> better = n.refine(epsilon=0.2)
        >>> better.error(), dp.record(better).epsilon, n.refine(epsilon=0.2) == better
        (13.0, 0.3, True)
        >>> known = n.refine(until=10)
        >>> known.error(), dp.record(known).epsilon
        (10.0, 0.285)
        """
        return self._refined(epsilon=epsilon, until=until, looks=looks, **more)

    @abstractmethod
    def _refined(self, **said: Any) -> Any: ...

    @property
    def expected(self) -> str:
        """The error at 95 % that public facts decided before the release, in a few characters. For
        quantiles it may use the number of rows, if a release beside this one has it."""
        if self._counts is not None or self._rows is not None:
            return f"± {format_error(max(self._errors_among(CONFIDENCE)))} ranks"
        return in_words(self._statistic, self._law)

    @found_once
    def _layout(self) -> Layout:
        return self._statistic.released_layout(self._noisy)

    @found_once
    def _forms(self) -> Sequence[Any]:
        """What each number is of the noisy integers, found once for all of them."""
        return self._statistic.forms(len(self._noisy))

    def _intervals(self, confidence: float, found: Found = None) -> Sequence[tuple[float, float]]:
        if found is None:
            found = self._statistic.errors.intervals_at(self._noisy, self._law, confidence)
        if self._shown is None:
            return found
        pairs = zip(self._shown, found, strict=True)
        return [(min(low, value), max(high, value)) for value, (low, high) in pairs]

    @property
    def _answered(self) -> str:
        """The error at 95 % in a few characters: that of the answer, or the expected one in a
        preview."""
        if self.preview or isinstance(self._law, Selection):
            return self.expected
        if any(each is not None for each in (self._shown, self._counts, self._rows)):
            return self._statistic.errors.in_words(self._errors(CONFIDENCE)) or self.expected
        return self._statistic.errors.answered_at(self._noisy, self._law, CONFIDENCE, self.expected)

    def _ends(self, confidence: float, found: Found = None) -> tuple[list[Any], list[Any]]:
        """The ends of all intervals. Those of times are rounded outwards."""
        intervals = self._intervals(confidence, found)
        lower, upper = ([interval[end] for interval in intervals] for end in (0, 1))
        typed = self._statistic.typed
        return typed(lower, math.floor), typed(upper, math.ceil)

    @found_once
    def _order(self) -> Codes | None:
        """The order of the numbers in a sorted answer; None if it isn't sorted."""
        return self._layout.places(self._estimated_at_once)

    def _table(self, values: Sequence[Any]) -> Any:
        return self._layout.table(values, self._order)

    def __str__(self) -> str:
        return shown.text(self)

    def __repr__(self) -> str:
        return shown.short(str(self))

    def _repr_html_(self) -> str:
        return shown.html(self)


def registered(record: Record) -> Record:
    """Register a record under its id, because pandas may keep the id alone."""
    _records[record.id] = record
    return record
