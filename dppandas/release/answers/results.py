"""Released values: ordinary Python and pandas objects with an error and a record."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, cast

import pandas as pd

from ...errors import RecordError, hide_internals
from ...privacy.accounting.losses import ReleaseOptions, with_options_named
from ...privacy.mechanisms.selection import Selection
from ...privacy.sampling import entropy
from ...rows.facts.keys import is_missing
from ...rows.values import canonical
from ...rows.values.objects import value_of
from ...statistics.layout import format_value
from ..accuracy.expected import CONFIDENCE, with_error
from ..pickles import register
from ..query import Token, token
from .record_bundle import RecordBundle
from .records import Record, by_id
from .shown import DROWNED

#: The keys of tokens in pandas' `attrs`. Saved frames hold them: never rename them.
_ATTR = "dppandas.release"
_PARTS = "dppandas.releases"


class _Released:
    """What results add to their plain type. Arithmetic with them gives plain numbers."""

    _record: Record

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """See `Record.error`."""
        return self._record.error(confidence)

    @hide_internals
    def interval(self, confidence: float = CONFIDENCE) -> tuple[Any, Any]:
        """See `Record.interval`."""
        return self._record.interval(confidence)

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
        """See `Record.refine`.

        *Guarantee*: as there.
        """
        return self._record.refine(epsilon=epsilon, until=until, looks=looks, **more)

    def _plainly(self) -> Any:
        """The value alone."""
        plain: Any = next(kind for kind in (int, float, str) if isinstance(self, kind))
        return plain(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._plainly(), self._record)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        if self._record.preview:
            printer.text(f"preview, no answer ({self._record.expected or 'error unknown'})")
        elif self._record._statistic.no_interval:
            answered = self._record._answered
            error = f" ({answered}, 95 %{self._noise_note()})" if answered else ""
            printer.text(format_value(self._plainly()) + error)
        else:
            said = with_error(self._plainly(), self._record.errors())
            printer.text(f"{said.removesuffix(')')}{self._noise_note()})")

    def _noise_note(self) -> str:
        return f", {DROWNED}" if self._record.noise_dominated else ""


class ReleasedInt(_Released, int):
    """A released whole number."""


class ReleasedFloat(_Released, float):
    """A released number."""


class _ReleasedSpan(_Released):
    """A type that pandas itself creates. The class is set afterwards."""

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


class TestedValue:
    """The outcome of a test: ``released`` says whether the value was released, and ``value`` is the
    value, or None. The outcome is true if the value was released.
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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._record,)


def tested(record: Record) -> TestedValue:
    """The outcome of a test, with its record."""
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


for _kind in (
    ReleasedInt, ReleasedFloat, ReleasedTime, ReleasedDuration, ReleasedText, ReleasedLabel,
):  # fmt: skip
    register(_kind, partial(_carrying, _kind))
register(TestedValue, tested)


def released_value(record: Record) -> Any:
    """The released value, with its record."""
    value = record.estimate()
    if isinstance(value, pd.Series | pd.DataFrame):
        return _marked(value, record)
    kinds = {pd.Timestamp: ReleasedTime, pd.Timedelta: ReleasedDuration, int: ReleasedInt}
    return _carrying(kinds.get(type(value), ReleasedFloat), value, record)


def selected(record: Record) -> pd.Series[Any]:
    """The selected labels, as a Series with its record."""
    series: pd.Series[Any] = _marked(_selection(record), record)
    return series


def found(record: Record) -> pd.Index:
    """The labels that are shown. An Index can't hold a record; the ledger lists the release."""
    return cast(pd.Index, record._layout.index)


def _selection(record: Record) -> pd.Series[Any]:
    labels = cast(pd.Index, record._statistic.layout.index)[list(record._noisy)]
    return pd.Series(labels, name=labels.name)


def _marked(value: Any, record: Record) -> Any:
    value.attrs[_ATTR] = token(record.id, record)
    return value


def gathered(value: Any, records: dict[str, Record], places: Any = None) -> Any:
    """An answer that is made of several releases, with their records: see `RecordBundle`."""
    record = RecordBundle(records, _places=places, _answer=value.copy())
    value.attrs[_PARTS] = token(entropy.identifier(), record)
    return value


def _parts_of(result: Any) -> Any:
    """The token of a result of several releases."""
    is_table = isinstance(result, pd.Series | pd.DataFrame)
    return result.attrs.get(_PARTS) if is_table else None


def label(record: Record, value: Any) -> Any:
    """A selected label, with its record if its type allows one."""
    if isinstance(value, str):
        return _carrying(ReleasedText, value, record)
    if isinstance(value, int) and not isinstance(value, bool):
        return _carrying(ReleasedLabel, value, record)
    return value


@hide_internals
def record(result: Any) -> Any:
    """The release record of a result: query, mechanism, scale, loss, lineage, cell, time.

    If several releases make the answer, as in `agg` and `describe`, it is a `RecordBundle`, whose
    ``.components`` has the record of each release by what was asked.

    A Series or DataFrame is recognised as long as its (label, value) pairs were released: after
    sort_index, head or a selection, but not after arithmetic. Raises `RecordError` (a LookupError)
    if the object has no record.

    >>> import pandas as pd, dppandas as dp
    >>> x = pd.Series([1, 2, 3], name="x").dp
    >>> dp.record(x.count(epsilon=1)).mechanism
    'discrete Laplace'
    >>> both = dp.record(x.agg(["count", "mean"], bounds=(0, 5), epsilon=1))
    >>> list(both.components), both.components["count"].epsilon
    (['count', 'mean'], 0.5)
    """
    bundle = _bundle(result)
    return record_of_one(result) if bundle is None else bundle


def _bundle(result: Any) -> RecordBundle | None:
    """The record of a result of several releases, or None."""
    kept = _parts_of(result)
    if not isinstance(kept, Token) or not isinstance(kept.payload, RecordBundle):
        return None
    released = kept.payload._answer
    if not (type(released) is type(result) and released.equals(result)):
        raise RecordError(
            "this was computed from an answer. Call dp.record with the answer itself."
        )
    return kept.payload


def record_of_one(result: Any) -> Record:
    """The record of a result of one release."""
    if isinstance(result, _Released | TestedValue):
        return result._record
    found = _found(result)
    if found is None and isinstance(_parts_of(result), Token):
        raise RecordError(
            "this answer is made of several releases, each with a record of its own. Use one of "
            "them: dp.record(result).components."
        )
    if getattr(result, "_is_answer", False):
        raise RecordError("this isn't released yet, so it has no record: .release(epsilon=…).")
    if found is None:
        raise RecordError(
            f"no release record belongs to this {type(result).__name__}. Results of releases have "
            "one; numbers and labels computed from them don't. dp.ledger() lists every release."
        )
    is_selection = isinstance(found._law, Selection)
    released = _selection(found) if is_selection else found.estimate()
    if not _pairs(result, found) <= _pairs(released, found):
        raise RecordError(
            "this was computed from a release, but its values are not those released. Call "
            "dp.record with the result itself, before arithmetic or renaming."
        )
    return found


def _found(result: Any) -> Record | None:
    if not isinstance(result, pd.Series | pd.DataFrame):
        return None
    kept = result.attrs.get(_ATTR)
    if isinstance(kept, Token) and isinstance(kept.payload, Record):
        return kept.payload
    return by_id(kept) if isinstance(kept, str) else None


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
