"""Released values: ordinary Python and pandas objects that know their error and their record."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Unpack, cast
from weakref import WeakValueDictionary

import pandas as pd

from . import figures, sampling
from .budget import Epsilon, Loss, More
from .domain import is_missing
from .errors import RecordError, quiet
from .expected import CONFIDENCE as CONFIDENCE
from .expected import answered_error as answered_error
from .expected import error_before as error_before
from .expected import expected_error as expected_error
from .expected import in_words
from .expected import parse_confidence as parse_confidence
from .expected import parse_rows as parse_rows
from .expected import told_error as told_error
from .expected import with_error as with_error
from .joint import Joint
from .mechanisms import Mechanism, Selection
from .query import Query, Token
from .statistics import Layout, Statistic
from .statistics.base import brief, short
from .store import Answer
from .values import canonical
from .values.objects import value_of

#: Of what may fail this part is for how many rows there are, where an error follows from that.
COUNTING = 1 / 20
#: What is said of a number of which noise is the most.
DROWNED = "noise-dominated"
#: The status of an entry that was never charged.
PREVIEW = "preview"
_ATTR = "dppandas.release"
_PARTS = "dppandas.releases"
_records: WeakValueDictionary[str, Record] = WeakValueDictionary()

#: What buys another release; from a room below, which has the door.
_refine: Callable[..., Any]


def refine_by(function: Callable[..., Any]) -> None:
    """What `Record.refine` does."""
    global _refine
    _refine = function


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
    _law: Mechanism | Joint
    _noisy: tuple[Any, ...]
    _query: Query
    _parts: tuple[Record, ...] = ()
    _rows: float | None = None  # at most so many are known to be asked, if quantiles of them
    _counts: Record | None = None  # a release beside it that tells how many rows there are
    preview: bool = False  # made of nothing in a `dppandas.preview`, and no answer
    _shown: tuple[float, ...] | None = None  # the numbers, where other releases moved them
    _beside: tuple[float, ...] | None = None  # of how many rows each is, as released beside it

    @quiet
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
            gap = self.statistic.error(self._law.gap(confidence, self.statistic.size))
            return gap if gap is None else self.statistic.told_errors([gap])[0]
        errors = self.statistic.told_errors(self._errors(confidence, rows))
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

    @quiet
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
        values = self.statistic.told(self._values())
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
        return figures.unit_of(self.statistic, self._law)

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
        return figures.dominated(self.statistic, self._noisy, self._law, CONFIDENCE)

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
    def parts(self) -> tuple[Record, ...]:
        """The releases that this is made of: itself alone, or those that were combined."""
        return self._parts or (self,)

    @quiet
    def refine(
        self,
        *,
        epsilon: object = None,
        until: object = None,
        looks: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Buy another release of the same query, and combine; or with ``until=`` as many as it
        takes to know it within an error: see `dppandas.refine`.

        *Guarantee*: as of `dppandas.refine`.
        """
        return _refine(self, epsilon=epsilon, until=until, looks=looks, **more)

    @property
    def expected(self) -> str:
        """The error at 95 % that public facts decided before the release, in a few characters; of
        quantiles that which the number of rows decides, if a release beside this one tells it."""
        if self._counts is not None or self._rows is not None:
            return f"± {short(max(self.errors_among(CONFIDENCE)))} ranks"
        return in_words(self.statistic, self._law)

    @property
    def _layout(self) -> Layout:
        return self.statistic.laid(self._noisy)

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
        return self.statistic.answered_at(self._noisy, self._law, CONFIDENCE)

    def _ends(self, confidence: float) -> tuple[list[Any], list[Any]]:
        """The ends of all intervals; of times rounded outwards."""
        intervals = self._intervals(confidence)
        lower, upper = ([interval[end] for interval in intervals] for end in (0, 1))
        told = self.statistic.told
        return told(lower, math.floor), told(upper, math.ceil)

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
        scale = figures.scale_in_words(self.statistic, self._law)
        return [
            f"{'preview, no answer: ' if self.preview else ''}{self.query}",
            f"source {self.source} ({self.lineage}), protecting {self.unit}",
            f"{self.mechanism}, scale {scale}, {self.loss.in_short}{error}",
            *([self._law.holds] if isinstance(self._law, Joint) else []),
        ]

    def _lines(self) -> list[tuple[str, str, str]]:
        """Name, answer and interval of each number, in declared order."""
        if self.preview:
            return []
        if isinstance(self._law, Selection):
            return [("selected", ", ".join(map(str, self.estimate())), self.expected)]
        names, values = self._layout.labels(), self.statistic.told(self._values())
        drowned = (f", {DROWNED}" if each else "" for each in self._dominated())
        told = zip(names, values, self._bounds(len(names)), drowned, strict=True)
        return [(name, brief(value), ends + quiet) for name, value, ends, quiet in told]

    def _bounds(self, size: int) -> list[str]:
        """Of each number its interval, or else its error."""
        if not self.statistic.no_interval:
            ends = zip(*self._ends(CONFIDENCE), strict=True)
            return [f"{brief(low)} to {brief(high)}" for low, high in ends]
        if not self.statistic.in_ranks or not self.expected:
            return [self.expected] * size
        return [f"± {brief(error)} ranks" for error in self._errors(CONFIDENCE)]


class _Released:
    """What int, float and str results add to their plain type; arithmetic gives plain numbers."""

    _record: Record

    @quiet
    def error(self, confidence: float = CONFIDENCE) -> Any:
        """See `Record.error`."""
        return self._record.error(confidence)

    @quiet
    def interval(self, confidence: float = CONFIDENCE) -> Any:
        """See `Record.interval`."""
        return self._record.interval(confidence)

    @quiet
    def refine(
        self,
        *,
        epsilon: object = None,
        until: object = None,
        looks: object = None,
        **more: Unpack[More],
    ) -> Any:
        """Buy another release of the same query, and combine; or with ``until=`` as many as it
        takes to know it within an error: see `dppandas.refine`.

        *Guarantee*: as of `dppandas.refine`.
        """
        return _refine(self._record, epsilon=epsilon, until=until, looks=looks, **more)

    def _plainly(self) -> Any:
        """The value alone."""
        return type(self).__mro__[2](self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _carrying, (type(self), self._plainly(), self._record)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        if self._record.preview:
            printer.text(f"preview, no answer ({self._record.expected or 'error unknown'})")
        elif self._record.statistic.no_interval:
            answered = self._record._answered
            error = f" ({answered}, 95 %{self._quietly()})" if answered else ""
            printer.text(brief(self._plainly()) + error)
        else:
            said = with_error(self._plainly(), self.error())
            printer.text(f"{said.removesuffix(')')}{self._quietly()})")

    def _quietly(self) -> str:
        return f", {DROWNED}" if self._record.noise_dominated else ""


class ReleasedInt(_Released, int):
    """A released whole number."""


class ReleasedFloat(_Released, float):
    """A released number."""


class _ReleasedSpan(_Released):
    """What pandas makes itself, and no subclass: it becomes one afterwards."""

    def _plainly(self) -> Any:
        return value_of(canonical(self))


class ReleasedTime(_ReleasedSpan, pd.Timestamp):
    """A released time."""


class ReleasedDuration(_ReleasedSpan, pd.Timedelta):
    """A released duration."""


class ReleasedText(_Released, str):
    """A released label."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        said = "preview, no answer" if self._record.preview else str.__repr__(self)
        printer.text(f"{said} ({self._record.expected}, 95 %)")


class ReleasedLabel(ReleasedInt):
    """A released label that is a whole number."""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        said = "preview, no answer" if self._record.preview else str(int(self))
        printer.text(f"{said} ({self._record.expected}, 95 %)")

    def __reduce__(self) -> tuple[Any, ...]:
        return _carrying, (type(self), int(self), self._record)


class TestedValue:
    """What a test lets through: ``released`` says whether it told anything, ``value`` what (None
    where not). It is always of this type, and true where the value was released.
    """

    released: bool
    value: Any
    _record: Record

    def __init__(self, released: bool, value: Any) -> None:
        self.released, self.value = released, value

    def __bool__(self) -> bool:
        return self.released

    def __repr__(self) -> str:
        return f"TestedValue(released={self.released}, value={self.value!r})"


def tested(record: Record) -> TestedValue:
    """The outcome of a test, carrying its record."""
    value = TestedValue(bool(record._noisy), record.estimate())
    value._record = record
    return value


def _carrying(kind: Any, value: Any, record: Record) -> Any:
    if issubclass(kind, _ReleasedSpan):
        result = value_of(canonical(value))
        result.__class__ = kind
    else:
        result = kind(value)
    result._record = record
    return result


def moved(record: Record, shown: Sequence[float], rows: Sequence[float] | None) -> Record:
    """A record whose numbers other releases moved, or which knows of how many rows they are."""
    is_moved = list(shown) != record._values()
    kept = tuple(shown) if is_moved else record._shown
    known_rows = None if rows is None else tuple(rows)
    return known(replace(record, _shown=kept, _beside=known_rows))


def record_of(query: Query, mechanism: Mechanism, answer: Answer, ledger: str) -> Record:
    """The record of a release."""
    entry = answer.entry
    return known(Record(
        id=sampling.identifier(),
        number=entry.number,
        query=str(query),
        source=query.source.name,
        lineage=query.source.lineage,
        unit=str(query.source.unit),
        where="" if query.where is None else str(query.where),
        mechanism=mechanism.name,
        scale=figures.scale_of(query.statistic, mechanism),
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
    return known(replace(record, _rows=rows)) if knows else record


def counted(record: Record, beside: Record) -> Record:
    """A record of quantiles that knows how many rows another of the same rows tells."""
    if record.preview or not record.statistic.in_ranks:
        return record
    most = beside.statistic.rows_at_most(beside._noisy, beside._law, CONFIDENCE)
    if most is None or len(most) != record.statistic.places:
        return record
    return known(replace(record, _counts=beside))


def known(record: Record) -> Record:
    """A record that is found by its id, where pandas has kept that alone."""
    _records[record.id] = record
    return record


def answer(record: Record) -> Any:
    """The released value, carrying its record."""
    value = record.estimate()
    if isinstance(value, pd.Series | pd.DataFrame):
        return _marked(value, record)
    kinds = {pd.Timestamp: ReleasedTime, pd.Timedelta: ReleasedDuration, int: ReleasedInt}
    return _carrying(kinds.get(type(value), ReleasedFloat), value, record)


def selected(record: Record) -> pd.Series[Any]:
    """The labels selected, as a Series that carries its record."""
    series: pd.Series[Any] = _marked(_selection(record), record)
    return series


def found(record: Record) -> pd.Index:
    """The labels told. pandas lets an Index carry no record; the ledger lists the release."""
    return cast(pd.Index, record._layout.index)


def _selection(record: Record) -> pd.Series[Any]:
    labels = cast(pd.Index, record.statistic.layout.index)[list(record._noisy)]
    return pd.Series(labels, name=labels.name)


def _marked(value: Any, record: Record) -> Any:
    token = Token(record.id)
    token.payload = record
    value.attrs[_ATTR] = token
    return value


def gathered(value: Any, records: dict[str, Record]) -> Any:
    """What was made of several answers, carrying their records."""
    token = Token(sampling.identifier())
    token.payload = (records, value.copy())
    value.attrs[_PARTS] = token
    return value


@quiet
def records(result: Any) -> dict[str, Record]:
    """The release records of a result of several parts, as `agg` and `describe` give it, by what
    was asked: each knows its error and interval.

    Raises `RecordError` (a LookupError) where none belong.

    >>> import pandas as pd, dppandas as dp
    >>> x = pd.Series([1, 2, 3], name="x")
    >>> both = x.dp.agg(["count", "mean"], bounds=(0, 5), epsilon=1)
    >>> sorted(dp.records(both)), dp.records(both)["count"].epsilon
    (['count', 'mean'], 0.5)
    """
    token = _parts_of(result)
    if not isinstance(token, Token) or token.payload is None:
        raise RecordError(
            f"no release records belong to this {type(result).__name__}. dp.record() is for one "
            "answer; dp.ledger() lists every release."
        )
    found, released = token.payload
    if not (type(released) is type(result) and released.equals(result)):
        raise RecordError("this was computed from releases; ask dp.records of the result itself.")
    return dict(found)


def _parts_of(result: Any) -> Any:
    """The token of a result of several parts."""
    is_table = isinstance(result, pd.Series | pd.DataFrame)
    return result.attrs.get(_PARTS) if is_table else None


def label(record: Record, value: Any) -> Any:
    """A selected label, carrying its record where its type lets it."""
    if isinstance(value, str):
        return _carrying(ReleasedText, value, record)
    if isinstance(value, int) and not isinstance(value, bool):
        return _carrying(ReleasedLabel, value, record)
    return value


@quiet
def record(result: Any) -> Record:
    """The release record of a result: query, mechanism, scale, loss, lineage, cell, time.

    A Series or DataFrame is recognised while its (label, value) pairs are among those released:
    after sort_index, head or a selection, but not after arithmetic, which pandas lets keep the
    token. Raises `RecordError` (a LookupError) where no record belongs.

    >>> import pandas as pd, dppandas as dp
    >>> n = pd.DataFrame({"x": [1, 2]}).dp.count(epsilon=1)
    >>> dp.record(n).mechanism
    'discrete Laplace'
    """
    if isinstance(result, _Released | TestedValue):
        return result._record
    found = _found(result)
    if found is None and isinstance(_parts_of(result), Token):
        raise RecordError(
            "these are several answers, each with a record of its own: dp.records(result) has them "
            "by what was asked."
        )
    if found is None:
        raise RecordError(
            f"no release record belongs to this {type(result).__name__}. Results of releases have "
            "one; numbers and labels computed from them don't. dp.ledger() lists every release."
        )
    is_selection = isinstance(found._law, Selection)
    released = _selection(found) if is_selection else found.estimate()
    if not _pairs(result, found) <= _pairs(released, found):
        raise RecordError(
            "this was computed from a release, but its values are not those released; ask "
            "dp.record of the result itself, before arithmetic or renaming."
        )
    return found


def _found(result: Any) -> Record | None:
    if not isinstance(result, pd.Series | pd.DataFrame):
        return None
    token = result.attrs.get(_ATTR)
    if isinstance(token, Token) and isinstance(token.payload, Record):
        return token.payload
    return _records.get(token) if isinstance(token, str) else None


def _pairs(table: pd.Series | pd.DataFrame, record: Record) -> set[tuple[Any, ...]]:
    """(row, column, value) for each number; a released Series has one column, of any name."""
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    one_column = record._layout.columns is None
    return {
        (_comparable(row), "" if one_column else _comparable(column), _comparable(value))
        for column in frame.columns
        for row, value in zip(frame.index, frame[column].tolist(), strict=True)
    }


def _comparable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_comparable(part) for part in value)
    return None if is_missing(value) else value
