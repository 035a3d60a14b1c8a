"""Released values: ordinary Python and pandas objects with an error and a record."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from io import StringIO
from types import SimpleNamespace
from typing import Any, Self, Unpack, cast

import numpy as np
import pandas as pd

from ...errors import RecordError, hide_internals
from ...privacy.accounting.losses import ReleaseOptions, with_options_named
from ...privacy.mechanisms.selection import Selection
from ...privacy.sampling import entropy
from ...rows.figures import (
    CHOSEN,
    DIGITS,
    digits_within,
    error_digits,
    format_value,
    within,
    written,
)
from ...rows.values import canonical
from ...rows.values.objects import value_of
from ..accuracy.expected import CONFIDENCE, HELD
from ..pickles import register
from ..query import Token, token
from .arithmetic import Arithmetic
from .changed import changed, without_record
from .figures import ShownFigures
from .matching import located, with_labels_as_index
from .populations import of_population
from .rearranged import rearranged, recalled, remember
from .record_bundle import RecordBundle
from .records import Record, by_id
from .tested_value import TestedValue

#: The keys of tokens in pandas' `attrs`. Saved frames hold them: never rename them.
_ATTR = "dppandas.release"
_PARTS = "dppandas.releases"
#: The attribute of an Index, which has no `attrs`.
_OF_INDEX = "_dppandas_release"
#: What shapes an answer that is more than its numbers, by the type of its statistic.
SHAPES: dict[type, Callable[[Record], Any]] = {}


class _Released:
    """What results add to their plain type."""

    _record: Record

    @hide_internals
    def error(self, confidence: float = CONFIDENCE) -> float:
        """See `Record.error`."""
        return self._record.error(confidence)

    @hide_internals
    def interval(
        self, confidence: float = CONFIDENCE, *, of: str = "rows", size: int | None = None,
        method: str | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """See `Record.interval`."""
        return self._record.interval(confidence, of=of, size=size, method=method)

    @with_options_named
    @hide_internals
    def refine(
        self,
        *,
        epsilon: object = None,
        until: object = None,
        looks: object = None,
        **more: Unpack[ReleaseOptions],
    ) -> Self:
        """See `Record.refine`.

        *Guarantee*: as there.
        """
        refined: Self = self._record.refine(epsilon=epsilon, until=until, looks=looks, **more)
        return refined

    def _plainly(self) -> Any:
        """The value alone."""
        plain: Any = next(kind for kind in (int, float, str, tuple) if isinstance(self, kind))
        return plain(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._plainly(), self._record)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        said = self._with_error()
        if self._record.preview:
            printer.text(said)
        elif self._record._statistic.errors.no_interval:
            answered = self._record._answered
            error = f" ({answered}, {HELD}{self._noise_note()})" if answered else ""
            printer.text(said + error)
        else:
            beside = of_population(self._record)
            printer.text(f"{said} ({HELD}{self._noise_note()}){beside}")

    def _with_error(self, digits: int = DIGITS) -> str:
        """The value beside its error, or alone where that isn't known, or isn't about it."""
        value, record = self._plainly(), self._record
        if record.preview:
            return f"preview, no answer ({record.expected or 'error unknown'})"
        if record._statistic.errors.no_interval:
            return format_value(value)
        if record._statistic.errors.in_ranks:  # which aren't in the unit of the value
            return str(within(value, *record.intervals()))
        error = record.errors()
        ends = record.intervals() if error == math.inf else ()
        digits = max(digits, digits_within([error], record._target))
        return str(written(value, error, *ends, digits=digits))

    def __format__(self, spec: str) -> str:
        """As the plain value; ``f"{n:±}"`` writes the error beside it, in two digits, and
        ``f"{n:±.3}"`` in three."""
        digits = error_digits(spec)
        if digits is None:
            return format(self._plainly(), spec)
        model, said = self._record._statistic.errors, self._with_error(digits)
        is_alone = model.in_ranks and model.no_interval and not self._record.preview
        return f"{said} ({self._record._answered})" if is_alone else said

    def _display_(self) -> str:
        """What marimo shows."""
        printer = StringIO()
        self._repr_pretty_(SimpleNamespace(text=printer.write), False)
        return printer.getvalue()

    def _noise_note(self) -> str:
        said = "" if isinstance(self._record._law, Selection) else self._record._marks()[0]
        return f", {said}" if said else ""


class _ReleasedMeasure(_Released):
    """A number, time or duration, which is shown with its error."""

    #: IPython looks for it in the class that has a `__repr__`, and no further.
    _repr_pretty_ = _Released._repr_pretty_

    def __repr__(self) -> str:
        if self._record._statistic.errors.no_interval and not self._record.preview:
            return repr(self._plainly())
        return self._with_error()


class _ReleasedNumber(_ReleasedMeasure, Arithmetic):
    """A number whose arithmetic follows errors, with the methods that pandas' own have, which give
    plain numbers."""

    def __str__(self) -> str:
        return str(self._plainly())  # which programs read

    @hide_internals
    def item(self) -> Any:
        """The number alone."""
        return self._plainly()

    @hide_internals
    def round(self, decimals: int = 0) -> Any:
        """The number alone, rounded to decimal places."""
        return round(self._plainly(), decimals)


class ReleasedInt(_ReleasedNumber, int):
    """A released whole number. ``a - b`` of two has an error and an interval, too: see
    `DerivedInt`."""


class ReleasedFloat(_ReleasedNumber, float):
    """A released number. ``a - b`` of two has an error and an interval, too: see `DerivedInt`."""


class _ReleasedSpan(_ReleasedMeasure):
    """A type that pandas itself creates. The class is set afterwards."""

    def _plainly(self) -> Any:
        return value_of(canonical(self))


class ReleasedTime(_ReleasedSpan, pd.Timestamp):
    """A released time."""


class ReleasedDuration(_ReleasedSpan, pd.Timedelta):
    """A released duration."""


class _ReleasedLabel(_Released):
    """A selected label. It has no error to write beside it."""

    def _with_error(self, digits: int = DIGITS) -> str:
        return str(self._plainly())

    def __format__(self, spec: str) -> str:
        """As the plain label; ``f"{label:±}"`` says that it was chosen."""
        is_plain = error_digits(spec) is None
        return format(self._plainly(), spec) if is_plain else f"{self._with_error()} ({CHOSEN})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        expected = self._record.expected
        said = "preview, no answer" if self._record.preview else repr(self._plainly())
        how = CHOSEN if not self._record.preview else ""
        printer.text(f"{said} ({', '.join(filter(None, [how, expected, expected and HELD]))})")


class ReleasedText(_ReleasedLabel, str):
    """A released label."""


class ReleasedLabel(_ReleasedLabel, ReleasedInt):
    """A released label that is a whole number."""


class ReleasedNumberLabel(_ReleasedLabel, ReleasedFloat):
    """A released label that is another number."""


class ReleasedLabels(_ReleasedLabel, tuple[Any, ...]):
    """A released label of several columns."""


class ReleasedTimeLabel(_ReleasedLabel, ReleasedTime):
    """A released label that is a time."""


class ReleasedDurationLabel(_ReleasedLabel, ReleasedDuration):
    """A released label that is a duration."""


def _carrying(kind: Any, value: Any, record: Record) -> Any:
    if issubclass(kind, _ReleasedSpan):
        result = value_of(canonical(value))
        result.__class__ = kind
    else:
        result = kind(value)
    result._record = record
    return result


#: The classes of labels, by the types of what is selected: no class can be derived from bool.
_LABELS: tuple[tuple[type, type], ...] = (
    (str, ReleasedText), (int, ReleasedLabel), (float, ReleasedNumberLabel),
    (tuple, ReleasedLabels), (pd.Timestamp, ReleasedTimeLabel),
    (pd.Timedelta, ReleasedDurationLabel),
)  # fmt: skip

for _kind in (ReleasedInt, ReleasedFloat, ReleasedTime, ReleasedDuration, *dict(_LABELS).values()):
    register(_kind, partial(_carrying, _kind))


def released_value(record: Record) -> Any:
    """The released value, with its record."""
    if (shaped := SHAPES.get(type(record._statistic))) is not None:
        return shaped(record)
    value = record._released
    if isinstance(value, pd.Series | pd.DataFrame):
        return _marked(record._layout.groups.shown(value.copy()), record)
    kinds = {pd.Timestamp: ReleasedTime, pd.Timedelta: ReleasedDuration, int: ReleasedInt}
    return _carrying(kinds.get(type(value), ReleasedFloat), value, record)


def selected(record: Record) -> pd.Series[Any]:
    """The selected labels, as a Series with its record."""
    series: pd.Series[Any] = _marked(_selection(record), record)
    return series


def found(record: Record) -> pd.Index:
    """The labels that are shown, with their record."""
    return _index(cast(pd.Index, record._layout.index), record)


def largest(record: Record) -> pd.Index:
    """The labels that were selected, the largest first, with their record."""
    return _index(pd.Index(record.estimate()), record)


def _index(labels: pd.Index, record: Record) -> pd.Index:
    own = labels.rename(labels.name)  # a new object: others that have these labels are no answers
    setattr(own, _OF_INDEX, record)
    return own


def _selection(record: Record) -> pd.Series[Any]:
    labels = cast(pd.Index, record._statistic.layout.index)[list(record._noisy)]
    return pd.Series(labels, name=labels.name)


def _marked(value: Any, record: Record) -> Any:
    remember(value, record)
    value.attrs[_ATTR] = token(record.id, record)
    return value


def gathered(value: Any, records: dict[str, Record], places: Any = None) -> Any:
    """An answer that is made of several releases, with their records: see `RecordBundle`."""
    record = RecordBundle(records, _places=places, _answer=value.copy())
    remember(value, record)
    value.attrs[_PARTS] = token(entropy.identifier(), record)
    return value


def label(record: Record, value: Any) -> Any:
    """A selected label, with its record if its type allows one."""
    kinds = [of for plain, of in _LABELS if isinstance(value, plain)]
    is_plain = not kinds or isinstance(value, bool) or value is pd.NaT
    return value if is_plain else _carrying(kinds[0], value, record)


@hide_internals
def record(result: Any) -> Any:
    """The release record of a result: query, mechanism, scale, loss, lineage, cell, time.

    If several releases make the answer, as in `agg` and `describe`, it is a `RecordBundle`, whose
    ``.components`` has the record of each release by what was asked.

    A Series or DataFrame is recognised as long as its (label, value) pairs were released: after
    sort_index, head or a selection, but not after arithmetic. An Index of labels is recognised
    itself, and copies of it aren't. Raises `RecordError` (a LookupError) if the object has no
    record.

    >>> import pandas as pd, dppandas as dp
    >>> x = pd.Series([1, 2, 3], name="x").dp
    >>> dp.record(x.count(epsilon=1)).mechanism
    'discrete Laplace'
    >>> both = dp.record(x.agg(["count", "mean"], bounds=(0, 5), epsilon=1))
    >>> {name: each.epsilon for name, each in both.components.items()}
    {'count, mean': 1}
    """
    return shown_in(result).record


def record_of_one(result: Any) -> Record:
    """The record of a result of one release."""
    found = shown_in(result).record
    if isinstance(found, RecordBundle):
        raise RecordError(
            "this answer is made of several releases, each with a record of its own. Use one of "
            "them: dp.record(result).components."
        )
    return found


def shown_in(result: Any) -> ShownFigures:
    """The record of a result, with the place of each number that it shows; of a record all."""
    is_one = isinstance(getattr(result, "_record", None), Record)
    if isinstance(result, _Released | TestedValue) or is_one:
        return ShownFigures(result._record, np.zeros((1, 1)), None, None)
    if isinstance(result, Record | RecordBundle):
        return _whole(result)
    shown = recognise(result)
    if shown is not None:
        return shown
    found = claimed(result)
    if found is not None:
        raise RecordError(changed(result, released_table(found)))
    if getattr(result, "_is_answer", False):
        raise RecordError("this isn't released yet, so it has no record: .release(epsilon=…).")
    if hasattr(result, "releases_"):
        if by := getattr(result, "_intervals_by", ""):
            raise RecordError(
                f"this result is computed from what was released, and tells its own intervals: {by}"
                ". .releases_ has the record of each release, as in dp.record(found.releases_[0])."
            )
        raise RecordError(
            "a model is made of several releases, and what it learnt has no proven error. "
            ".releases_ has the record of each release, as in dp.intervals(model.releases_[0])."
        )
    if isinstance(result, bool | np.bool_):
        said = "True and False can't hold a record, in Python: dp.ledger() lists the release, if it"
        raise RecordError(f"{said} is one.")
    raise RecordError(without_record(result))


def recognise(table: Any) -> ShownFigures | None:
    """What a Series, DataFrame or Index shows of its record; None if it isn't an answer."""
    found = claimed(table)
    return recalled(table, released_table, _matched) if found is None else _matched(table, found)


def claimed(result: Any) -> Record | RecordBundle | None:
    """The record that an object came with, which its values may not have any more; else None."""
    if isinstance(result, pd.Index):
        return getattr(result, _OF_INDEX, None)
    if not isinstance(result, pd.Series | pd.DataFrame):
        return None
    for kind, name in ((Record, _ATTR), (RecordBundle, _PARTS)):
        kept = result.attrs.get(name)
        if isinstance(kept, Token) and isinstance(kept.payload, kind):
            return kept.payload
    kept = result.attrs.get(_ATTR)
    return by_id(kept) if isinstance(kept, str) else None


def _matched(result: Any, record: Record | RecordBundle) -> ShownFigures | None:
    """What a result shows of its record; None if it has a number that wasn't released."""
    if isinstance(result, pd.Index):
        return ShownFigures(record, np.arange(len(result))[:, None], result, None)
    if isinstance(record, RecordBundle):
        released, places = record._answer, record._places
        one_column = isinstance(released, pd.Series)
    else:
        released, places = _released(record)
        one_column = record._layout.columns is None
    made_up = getattr(record, "preview", False)
    found = located(result, released, one_column, made_up)
    if found is None and (indexed := with_labels_as_index(result, released)) is not None:
        result = indexed
        found = located(result, released, one_column, made_up)
    each = np.full(released.shape, math.nan) if places is None else np.asarray(places, float)
    if found is not None:
        shown = each.reshape(len(released), 1 if one_column else released.shape[1])[np.ix_(*found)]
    elif (at := rearranged(result, released, one_column, made_up)) is not None:
        shown = np.append(each, math.nan)[np.where(np.isnan(at), -1, at).astype(int)]
    else:
        return None
    across = result.columns if isinstance(result, pd.DataFrame) else None
    return ShownFigures(record, shown, result.index, across)


def _whole(record: Record | RecordBundle) -> ShownFigures:
    """All that a record answers."""
    if isinstance(record, Record) and record._layout.is_scalar:
        return ShownFigures(record, np.zeros((1, 1)), None, None)
    return cast(ShownFigures, _matched(released_table(record), record))


def released_table(record: Record | RecordBundle) -> Any:
    """All that a record answers, in the order in which it was released."""
    return record._answer if isinstance(record, RecordBundle) else _released(record)[0]


def _released(record: Record) -> tuple[Any, Any]:
    """The released table, and the place of each of its numbers in declared order."""
    if isinstance(record._law, Selection):
        released = _selection(record)
        return released, np.arange(len(released))
    order, released = record._order, record._released
    return released, np.arange(released.size) if order is None else order
