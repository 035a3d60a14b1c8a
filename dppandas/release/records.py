"""What is known of a release: what was asked, at which loss, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Unpack, cast
from weakref import WeakValueDictionary

import pandas as pd

from ..errors import RecordError, hide_internals
from ..ledger.storage.store import Entry, StoredRelease
from ..privacy.accounting.losses import Epsilon, Loss, ReleaseOptions
from ..privacy.accuracy.combined import CombinedNoise
from ..privacy.mechanisms.base import Mechanism
from ..privacy.mechanisms.selection import Selection
from ..privacy.sampling import entropy
from ..statistics import Layout, Statistic
from ..statistics.layout import format_number, format_value
from .accuracy import units
from .accuracy.expected import CONFIDENCE, in_words, parse_confidence, parse_rows
from .query import Query

#: The share of the failure probability that goes to the bound on how many rows there are.
COUNTING = 1 / 20
#: What is said of a number of which noise is the most.
DROWNED = "noise-dominated"
#: The status of an entry that was never charged.
PREVIEW = "preview"
_records: WeakValueDictionary[str, Record] = WeakValueDictionary()

#: What buys another release; from a room below, which has the door.
_refine: Callable[..., Any]


def refine_by(function: Callable[..., Any]) -> None:
    """What `Record.refine` does."""
    global _refine
    _refine = function


def refined(record: Record, **how: Any) -> Any:
    """The same bought again, and joined."""
    return _refine(record, **how)


def by_id(name: str) -> Record | None:
    """The record of an id, while anybody holds it."""
    return _records.get(name)


@dataclass(frozen=True, eq=False)
class Record:
    """The release record of a result: what was asked, how it was answered, at which loss.

    It holds public facts and the noisy integers, never rows, and can be pickled.
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
    statistic: Statistic
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
    def error(self, confidence: float = CONFIDENCE, *, expected_rows: float | None = None) -> Any:
        """How far the answer may be from the exact one on the same rows, with this confidence.

        A number for a scalar, else a Series or DataFrame under the result's labels; with several
        numbers, all errors hold together; of labels told under a δ those of each label by itself,
        given that it is told. For a selection: how far the score of what was selected may lie below
        the best; for quantiles: how many ranks they may be off. Only the noise counts: what
        clipping and a unit's max_rows changed is not in it. ``expected_rows``: how many rows
        quantiles are taken over at most, from public knowledge: then ranks are fewer.
        """
        confidence, rows = parse_confidence(confidence), parse_rows(expected_rows)
        if isinstance(self._law, Selection):
            utility_gap = self.statistic.error(
                self._law.utility_gap(confidence, self.statistic.size)
            )
            return (
                utility_gap
                if utility_gap is None
                else self.statistic.typed_errors([utility_gap])[0]
            )
        errors = self.statistic.typed_errors(self._errors(confidence, rows))
        return errors[0] if self._layout.is_scalar else self._table(errors)

    def _errors(self, confidence: float, rows: float | None = None) -> list[float]:
        """Of all numbers; around those that were moved, but for ranks, and counts cut at 0: these
        only came nearer (docs/proofs/order.md)."""
        found = self.errors_among(confidence, rows)
        is_nearer = self.statistic.in_ranks or self.statistic.error(1) is not None
        if self._shown is None or is_nearer:
            return found
        before = self.statistic.estimate(self._noisy)
        intervals = self.statistic.intervals_at(self._noisy, self._law, confidence)
        numbers = zip(found, before, self._shown, intervals, strict=True)
        return [
            error if now == was else max(high - now, now - low)
            for error, was, now, (low, high) in numbers
        ]

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> Any:
        """Bounds around the exact answer on the same rows, with this confidence.

        (lower, upper) for a scalar; for a Series a DataFrame with columns lower and upper; for a
        DataFrame one with both under each column. All intervals of a result hold together; of
        labels told under a δ those of each label by itself, given that it is told. They are made of
        public facts and the noisy integers, and hold for clipped values.
        """
        confidence = parse_confidence(confidence)
        if isinstance(self._law, Selection):
            raise RecordError("a selected label has no interval; .error() tells its gap.")
        if self.statistic.no_interval:
            raise RecordError(self.statistic.no_interval)
        lower, upper = self._ends(confidence)
        if self._layout.is_scalar:
            return lower[0], upper[0]
        ends = {"lower": self._table(lower), "upper": self._table(upper)}
        if self._layout.columns is None:
            return pd.DataFrame(ends)
        wide, number = pd.concat(ends, axis=1), len(self._layout.columns)
        wide.columns = wide.columns.reorder_levels([*range(1, wide.columns.nlevels), 0])
        return wide.iloc[:, [i + end * number for i in range(number) for end in (0, 1)]]

    def estimate(self) -> Any:
        """The answer itself, as it was released."""
        if isinstance(self._law, Selection):
            labels = cast(pd.Index, self._layout.index).tolist()
            return [labels[i] for i in self._noisy]
        values = self.statistic.typed(self._values())
        return values[0] if self._layout.is_scalar else self._table(values)

    def errors_among(self, confidence: float, rows: float | None = None) -> list[float]:
        """The errors as the statistic counts them, in declared order; of quantiles among so many
        rows, or as many as a release beside this one tells, with a part of what may fail."""
        rows = self._rows if rows is None else rows
        if rows is not None:
            return self.statistic.errors_among(self._law, confidence, rows)
        if self._counts is None:
            return self.statistic.errors_at(self._noisy, self._law, confidence)
        beside, share = self._counts, (1 - confidence) * COUNTING
        most = beside.statistic.rows_at_most(beside._noisy, beside._law, 1 - share)
        return self.statistic.errors_among(self._law, confidence + share, most)

    def _values(self) -> list[float]:
        """The answer's numbers: as estimated, unless others that they were released with moved
        them."""
        return self.statistic.estimate(self._noisy) if self._shown is None else list(self._shown)

    @property
    def error_unit(self) -> str:
        """What `error` is measured in: "rows", "ranks", "utility" of what is selected, or the unit
        of the column, for which its name stands ("income", of variances "income²"), of times
        "Timedelta". Where units, keys or shares are counted, "units", "keys" or "share". Several,
        where numbers differ in it: "rows, income"."""
        return units.unit_of(self.statistic, self._law, self._query.source.schema)

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
        places = self._layout.places(self.statistic.estimate(self._noisy))
        return said[0] if self._layout.is_scalar else self._layout.flags(said, places)

    def _dominated(self) -> list[bool | None]:
        if self.statistic.in_ranks:
            return self._drowned_ranks()
        return units.dominated(self.statistic, self._noisy, self._law, CONFIDENCE)

    def _drowned_ranks(self) -> list[bool | None]:
        if self._beside is None:
            return [None] * len(self._values())
        errors = self.errors_among(CONFIDENCE)
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

    @hide_internals
    def refine(
        self,
        *,
        epsilon: object = None,
        until: object = None,
        looks: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Any:
        """Buy another release of the same query, and combine; or with ``until=`` as many as it
        takes to know it within an error: see `dppandas.refine`.

        *Guarantee*: as of `dppandas.refine`.
        """
        return refined(self, epsilon=epsilon, until=until, looks=looks, **more)

    @property
    def expected(self) -> str:
        """The error at 95 % that public facts decided before the release, in a few characters; of
        quantiles that which the number of rows decides, if a release beside this one tells it."""
        if self._counts is not None or self._rows is not None:
            return f"± {format_number(max(self.errors_among(CONFIDENCE)))} ranks"
        return in_words(self.statistic, self._law)

    @property
    def _layout(self) -> Layout:
        return self.statistic.released_layout(self._noisy)

    def _intervals(self, confidence: float) -> list[tuple[float, float]]:
        found = self.statistic.intervals_at(self._noisy, self._law, confidence)
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
            return self.statistic.in_words(self._errors(CONFIDENCE)) or self.expected
        return self.statistic.answered_at(self._noisy, self._law, CONFIDENCE, self.expected)

    def _ends(self, confidence: float) -> tuple[list[Any], list[Any]]:
        """The ends of all intervals; of times rounded outwards."""
        intervals = self._intervals(confidence)
        lower, upper = ([interval[end] for interval in intervals] for end in (0, 1))
        typed = self.statistic.typed
        return typed(lower, math.floor), typed(upper, math.ceil)

    def _table(self, values: Sequence[Any]) -> Any:
        return self._layout.table(values, self._layout.places(self.statistic.estimate(self._noisy)))

    def __str__(self) -> str:
        return "\n".join([*self._facts(), *(f"  {n}: {v} ({i})" for n, v, i in self._lines())])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        """The facts, and each number between marks that a notebook test can look for."""
        facts = "<br>".join(escape(line) for line in self._facts())
        rows = "".join(
            f'<tr><th>{escape(name)}</th><td class="dp-noisy">{value}</td>'
            f'<td class="dp-noisy">{interval}</td></tr>'
            for name, value, interval in self._lines()
        )
        each = " of each label" if self.statistic.each else ""
        head = f"<tr><th></th><th>answer</th><th>95 % interval{each}</th></tr>"
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>" if rows else ""
        return f'<div class="dppandas-record"><p>{facts}</p>{table}</div>'

    def _facts(self) -> list[str]:
        answered = self._answered
        error = f", {answered} (95 %)" if answered else ""
        return [
            f"{'preview, no answer: ' if self.preview else ''}{self.query}",
            f"source {self.source} ({self.lineage}), protecting {self.unit}",
            f"{self.mechanism}, scale {units.in_words(self.scale)}, {self.loss.in_short}{error}",
            *([self._law.holds] if isinstance(self._law, CombinedNoise) else []),
        ]

    def _lines(self) -> list[tuple[str, str, str]]:
        """Name, answer and interval of each number, in declared order."""
        if self.preview:
            return []
        if isinstance(self._law, Selection):
            return [("selected", ", ".join(map(str, self.estimate())), self.expected)]
        names, values = self._layout.labels(), self.statistic.typed(self._values())
        drowned = (f", {DROWNED}" if each else "" for each in self._dominated())
        told = zip(names, values, self._bounds(len(names)), drowned, strict=True)
        return [(name, format_value(value), ends + quiet) for name, value, ends, quiet in told]

    def _bounds(self, size: int) -> list[str]:
        """Of each number its interval, or else its error."""
        if not self.statistic.no_interval:
            ends = zip(*self._ends(CONFIDENCE), strict=True)
            return [f"{format_value(low)} to {format_value(high)}" for low, high in ends]
        if not self.statistic.in_ranks or not self.expected:
            return [self.expected] * size
        return [f"± {format_value(error)} ranks" for error in self._errors(CONFIDENCE)]


def with_figures(record: Record, shown: Sequence[float], rows: Sequence[float] | None) -> Record:
    """A record whose numbers other releases moved, or which knows of how many rows they are."""
    is_moved = list(shown) != record._values()
    kept = tuple(shown) if is_moved else record._shown
    known_rows = None if rows is None else tuple(rows)
    return registered(replace(record, _shown=kept, _beside=known_rows))


def record_of(
    query: Query,
    mechanism: Mechanism,
    scale: Any,
    draft: Entry,
    answer: StoredRelease,
    ledger: str,
) -> Record:
    """The record of a release, of which ``draft`` says what was asked this time."""
    entry = answer.entry
    return registered(Record(
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
        statistic=query.statistic,
        _law=mechanism,
        draw=answer.draw,
        ledger=ledger,
        _noisy=tuple(answer.noisy),
        preview=entry.status == PREVIEW,
        _query=query,
    ))  # fmt: skip


def among(record: Record, rows: float | None) -> Record:
    """A record of quantiles that knows that there are at most so many rows."""
    knows = rows is not None and record.statistic.in_ranks
    return registered(replace(record, _rows=rows)) if knows else record


def counted(record: Record, beside: Record) -> Record:
    """A record of quantiles that knows how many rows another of the same rows tells."""
    if record.preview or not record.statistic.in_ranks:
        return record
    most = beside.statistic.rows_at_most(beside._noisy, beside._law, CONFIDENCE)
    if most is None or len(most) != record.statistic.places:
        return record
    return registered(replace(record, _counts=beside))


def registered(record: Record) -> Record:
    """A record that is found by its id, where pandas has kept that alone."""
    _records[record.id] = record
    return record
