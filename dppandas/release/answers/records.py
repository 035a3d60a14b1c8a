"""What is known of a release: what was asked, at which loss, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast
from weakref import WeakValueDictionary

import pandas as pd

from ...errors import RecordError, hide_internals
from ...ledger.storage.store import Entry, StoredRelease
from ...privacy.accounting.losses import Epsilon, Loss, ReleaseOptions, with_options_named
from ...privacy.accuracy.combined import CombinedNoise
from ...privacy.mechanisms.base import Mechanism
from ...privacy.mechanisms.selection import Selection
from ...privacy.sampling import entropy
from ...statistics import Layout, Statistic
from ...statistics.layout import between, format_number
from ..accuracy import units
from ..accuracy.expected import CONFIDENCE, in_words, parse_confidence, parse_rows
from ..query import Query
from . import shown

#: The share of the failure probability that goes to the bound on how many rows there are.
COUNTING = 1 / 20
#: The status of an entry that was never charged.
PREVIEW = "preview"
_records: WeakValueDictionary[str, Record] = WeakValueDictionary()


def by_id(name: str) -> Record | None:
    """The record of an id, while anybody holds it."""
    return _records.get(name)


@dataclass(frozen=True, eq=False)
class Record:
    """The release record of a result: what was asked, how it was answered, at which loss.

    It holds public facts and the noisy integers, never rows, and can be pickled. Whoever asks says
    which kind of it an answer becomes: one that knows how more of it is bought.
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
    draw: int  # which answer of equal queries; 0 where none is kept
    ledger: str  # a name of the ledger that it was charged to; "" where nobody named the source
    _law: Mechanism | CombinedNoise
    _noisy: tuple[Any, ...]
    _query: Query
    _components: tuple[Record, ...] = ()
    _rows: float | None = None  # at most so many are known to be asked, if quantiles of them
    _counts: Record | None = None  # a release beside it that tells how many rows there are
    preview: bool = False  # made of nothing in a `dppandas.preview`, and no answer
    _shown: tuple[float, ...] | None = None  # the numbers, where other releases moved them
    _beside: tuple[float, ...] | None = None  # of how many rows each is, as released beside it

    @hide_internals
    def error(self, confidence: float = CONFIDENCE, *, expected_rows: float | None = None) -> float:
        """How far the answer may be from the exact one on the same rows, with this confidence: the
        largest of `errors`, in `error_unit`.

        Raises `RecordError` if errors are in several units, or if one is unknown.
        """
        return units.largest(self._typed_errors(confidence, expected_rows), self._error_units)

    @hide_internals
    def errors(self, confidence: float = CONFIDENCE, *, expected_rows: float | None = None) -> Any:
        """How far each number may be from the exact one on the same rows, under the labels of the
        answer; a number for a single number or a selection. For times Timedeltas.

        All errors hold together; those of labels found under a δ hold for each label by itself,
        given that it is shown. For a selection, how far its score may lie below the best; for
        quantiles, how many ranks they may be off. Errors are those of the noise, without what
        clipping and max_rows change. With ``expected_rows``, the most rows that quantiles are taken
        over, from public knowledge, ranks are fewer.
        """
        errors = self._typed_errors(confidence, expected_rows)
        is_one = self._layout.is_scalar or isinstance(self._law, Selection)
        return errors[0] if is_one else self._table(errors)

    def _typed_errors(self, confidence: float, expected_rows: float | None = None) -> list[Any]:
        """In declared order; of a selection one for all."""
        confidence, rows = parse_confidence(confidence), parse_rows(expected_rows)
        if not isinstance(self._law, Selection):
            return self._statistic.typed_errors(self._errors(confidence, rows))
        gap = self._statistic.error(self._law.utility_gap(confidence, self._statistic.size))
        return [math.nan] if gap is None else self._statistic.typed_errors([gap])

    def _errors(self, confidence: float, rows: float | None = None) -> list[float]:
        """Of all numbers; around those that were moved, but for ranks, and counts cut at 0: these
        only came nearer (docs/proofs/order.md)."""
        found = self._errors_among(confidence, rows)
        is_nearer = self._statistic.in_ranks or self._statistic.error(1) is not None
        if self._shown is None or is_nearer:
            return found
        before = self._statistic.estimate(self._noisy)
        intervals = self._statistic.intervals_at(self._noisy, self._law, confidence)
        numbers = zip(found, before, self._shown, intervals, strict=True)
        return [
            error if now == was else max(high - now, now - low)
            for error, was, now, (low, high) in numbers
        ]

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[Any, Any]:
        """(lower, upper) around the exact answer, if that is one number: see `intervals`."""
        found = self.intervals(confidence)
        if isinstance(found, tuple):
            return found
        raise RecordError("this answer has several numbers. Call .intervals() for each.")

    @hide_internals
    def intervals(self, confidence: float = CONFIDENCE) -> Any:
        """Bounds around the exact answer on the same rows, with this confidence.

        For a Series, a DataFrame with columns lower and upper under the same labels; for a
        DataFrame, one with both under each column; for one number, (lower, upper). They hold
        together as `errors` do. They are made of public facts and the noisy integers, and are about
        clipped values.
        """
        confidence = parse_confidence(confidence)
        if isinstance(self._law, Selection):
            raise RecordError("a selected label has no interval. Call .error() for its gap.")
        if self._statistic.no_interval:
            raise RecordError(self._statistic.no_interval)
        lower, upper = self._ends(confidence)
        if self._layout.is_scalar:
            return lower[0], upper[0]
        return between(self._table(lower), self._table(upper))

    def estimate(self) -> Any:
        """The answer itself, as it was released."""
        if isinstance(self._law, Selection):
            labels = cast(pd.Index, self._layout.index).tolist()
            return [labels[i] for i in self._noisy]
        values = self._statistic.typed(self._values())
        return values[0] if self._layout.is_scalar else self._table(values)

    def _errors_among(self, confidence: float, rows: float | None = None) -> list[float]:
        """The errors as the statistic counts them, in declared order; of quantiles among so many
        rows, or as many as a release beside this one tells, with a part of what may fail."""
        rows = self._rows if rows is None else rows
        if rows is not None:
            return self._statistic.errors_among(self._law, confidence, rows)
        if self._counts is None:
            return self._statistic.errors_at(self._noisy, self._law, confidence)
        beside, share = self._counts, (1 - confidence) * COUNTING
        most = beside._statistic.rows_at_most(beside._noisy, beside._law, 1 - share)
        return self._statistic.errors_among(self._law, confidence + share, most)

    def _values(self) -> list[float]:
        """The answer's numbers: as estimated, unless others that they were released with moved
        them."""
        return self._statistic.estimate(self._noisy) if self._shown is None else list(self._shown)

    @property
    def error_unit(self) -> str:
        """What `error` is measured in: "rows", "ranks", "utility" for a selection, or the unit of a
        column, for which its name stands ("income", for variances "income²"), for times "seconds".
        "units", "keys" or "share" if these are counted. Several if numbers differ: "rows, income".
        """
        return ", ".join(self._error_units)

    @property
    def _error_units(self) -> list[str]:
        return units.units_of(self._statistic, self._law, self._query.source.schema)

    @property
    def noise_dominated(self) -> Any:
        """Whether noise is most of what the answer says, by public facts and the answer alone.

        Of counts, variances, deviations and sums of values on one side of 0: whether the 95 %
        interval holds 0. Of means, shares and correlations: whether it covers at least half of what
        is possible, or a tenth where the answer was cut off at an end of that. Of quantiles:
        whether the error is at least half of the rows, where `describe` or `agg` released how many
        these are. None where nothing says: of other sums, of quantiles alone, of labels.

        True, False or None for a scalar, else under the labels of the answer.
        """
        if isinstance(self._law, Selection):
            return None
        said = self._dominated()
        places = self._layout.places(self._statistic.estimate(self._noisy))
        return said[0] if self._layout.is_scalar else self._layout.flags(said, places)

    def _dominated(self) -> list[bool | None]:
        if self._statistic.in_ranks:
            return self._drowned_ranks()
        return units.dominated(self._statistic, self._noisy, self._law, CONFIDENCE)

    def _drowned_ranks(self) -> list[bool | None]:
        if self._beside is None:
            return [None] * len(self._values())
        errors = self._errors_among(CONFIDENCE)
        return [error >= rows / 2 for error, rows in zip(errors, self._beside, strict=True)]

    @property
    def epsilon(self) -> Epsilon:
        """The exact ε that the ledger was charged."""
        return self.loss.epsilon

    @property
    def version(self) -> str | None:
        """The version of the source that was asked."""
        return self._query.source.version

    @property
    def components(self) -> tuple[Record, ...]:
        """The releases that this is made of: itself alone, or those that were combined."""
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
        """Buy another release of the same query, and combine it with this one; or with ``until=``
        as many as it takes to reach an error. Numbers have ``.refine(epsilon=…)``, too.

        epsilon : the loss of the new release, with ``rho=``, ``delta=`` and ``mechanism=`` as in
            the query itself.
        until : in place of epsilon, the largest error that the answer may have, in its own unit
            (for times a Timedelta), with ``confidence=`` (0.95 by default). Several numbers keep it
            together.
        looks : with until, how often to look at the answer at most, from 1 to 12; 3 by default.
            Each look costs as much as all before it, and the budget must be able to pay for all.
            ``at_most=`` limits what all may cost.

        With ``epsilon=`` the new release is the next one at this loss after those that the result
        is made of, and is combined with them. So a notebook that is run again gets the same answers
        for nothing, and so does a second call with the same result. To go on, refine the refined
        result, or give ``fresh=True``. As for `dppandas.combine`, the interval holds if the
        releases and their losses are fixed beforehand: stopping when an interval looks right makes
        it wrong too often.

        With ``until=`` everything is fixed before the first look: the losses, from what the result
        says, and the confidence of each look, so that the intervals of all looks hold together. It
        stops at the first look whose error suffices, or after the last; ``.error()`` says how far
        it came, and ``dp.record(answer).loss`` what it cost. The answer is made of its own looks
        alone. The result that you start from only sets the plan, because it may be why you ask. If
        public facts decide the error, as for counts and sums, one look is bought, and a result that
        is near enough already is returned as it is. If the answer decides its error, such a result
        is refused: keep it. Asked again, it is free.

        Raises what `dppandas.combine` raises; `SourceError` if the running session doesn't hold the
        source, or a table made from it by ``per_unit`` is gone (then ask the query again with
        ``fresh=True``, and combine); and `BudgetExceeded`, before anything is charged, if the
        budget can't pay for all looks.

        *Guarantee*: differential privacy of the source's unit with the losses given, as for the
        query itself. The rest is post-processing (docs/proofs/combining.md).

        >>> import pandas as pd, dppandas as dp
        >>> p = dp.protect(pd.DataFrame({"a": range(100)}), name="refined")
        >>> n = p.count(epsilon=0.1)
        >>> surer = n.refine(epsilon=0.2)
        >>> surer.error(), dp.record(surer).epsilon, n.refine(epsilon=0.2) == surer
        (13.0, 0.3, True)
        >>> known = n.refine(until=10)
        >>> known.error(), dp.record(known).epsilon
        (10.0, 0.285)
        """
        return self._refined(epsilon=epsilon, until=until, looks=looks, **more)

    def _refined(self, **said: Any) -> Any:
        raise NotImplementedError

    @property
    def expected(self) -> str:
        """The error at 95 % that public facts decided before the release, in a few characters; of
        quantiles that which the number of rows decides, if a release beside this one tells it."""
        if self._counts is not None or self._rows is not None:
            return f"± {format_number(max(self._errors_among(CONFIDENCE)))} ranks"
        return in_words(self._statistic, self._law)

    @property
    def _layout(self) -> Layout:
        return self._statistic.released_layout(self._noisy)

    def _intervals(self, confidence: float) -> list[tuple[float, float]]:
        found = self._statistic.intervals_at(self._noisy, self._law, confidence)
        if self._shown is None:
            return found
        pairs = zip(self._shown, found, strict=True)
        return [(min(low, value), max(high, value)) for value, (low, high) in pairs]

    @property
    def _answered(self) -> str:
        """The error at 95 % in a few characters: of the answer, of a preview as expected."""
        if self.preview or isinstance(self._law, Selection):
            return self.expected
        if any(each is not None for each in (self._shown, self._counts, self._rows)):
            return self._statistic.in_words(self._errors(CONFIDENCE)) or self.expected
        return self._statistic.answered_at(self._noisy, self._law, CONFIDENCE, self.expected)

    def _ends(self, confidence: float) -> tuple[list[Any], list[Any]]:
        """The ends of all intervals; of times rounded outwards."""
        intervals = self._intervals(confidence)
        lower, upper = ([interval[end] for interval in intervals] for end in (0, 1))
        typed = self._statistic.typed
        return typed(lower, math.floor), typed(upper, math.ceil)

    def _table(self, values: Sequence[Any]) -> Any:
        return self._layout.table(
            values, self._layout.places(self._statistic.estimate(self._noisy))
        )

    def __str__(self) -> str:
        return shown.text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return shown.html(self)


def with_figures(record: Record, shown: Sequence[float], rows: Sequence[float] | None) -> Record:
    """A record whose numbers other releases moved, or which knows of how many rows they are."""
    is_moved = list(shown) != record._values()
    kept = tuple(shown) if is_moved else record._shown
    known_rows = None if rows is None else tuple(rows)
    return registered(replace(record, _shown=kept, _beside=known_rows))


def record_of(
    kind: type[Record],
    query: Query,
    mechanism: Mechanism,
    scale: Any,
    draft: Entry,
    answer: StoredRelease,
    ledger: str,
) -> Record:
    """The record of a release, of which ``draft`` says what was asked this time."""
    entry = answer.entry
    return registered(kind(
        id=entropy.identifier(),
        number=entry.number,
        query=draft.what,
        source=draft.source,
        lineage=draft.lineage,
        unit=draft.unit,
        where="" if query.where is None else str(query.where),
        mechanism=mechanism.name,
        scale=scale,
        loss=entry.loss,
        cell=entry.cell,
        time=entry.time,
        _statistic=query.statistic,
        _law=mechanism,
        draw=answer.draw,
        ledger=ledger,
        _noisy=tuple(answer.noisy),
        preview=entry.status == PREVIEW,
        _query=query,
    ))  # fmt: skip


def among(record: Record, rows: float | None) -> Record:
    """A record of quantiles that knows that there are at most so many rows."""
    knows = rows is not None and record._statistic.in_ranks
    return registered(replace(record, _rows=rows)) if knows else record


def counted(record: Record, beside: Record) -> Record:
    """A record of quantiles that knows how many rows another of the same rows tells."""
    if record.preview or not record._statistic.in_ranks:
        return record
    most = beside._statistic.rows_at_most(beside._noisy, beside._law, CONFIDENCE)
    if most is None or len(most) != record._statistic.places:
        return record
    return registered(replace(record, _counts=beside))


def registered(record: Record) -> Record:
    """A record that is found by its id, where pandas has kept that alone."""
    _records[record.id] = record
    return record
