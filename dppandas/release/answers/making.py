"""Makes the records of releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...ledger.storage.store import Entry, StoredRelease
from ...privacy.mechanisms.base import Mechanism
from ...privacy.sampling import entropy
from ..accuracy.expected import CONFIDENCE
from ..query import Query
from .records import PREVIEW, Record, registered


def with_figures(record: Record, shown: Sequence[float], rows: Sequence[float] | None) -> Record:
    """A record with numbers that other releases moved, or with the number of their rows."""
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
    """The record of a release. ``draft`` describes the query as it was asked this time."""
    entry = answer.entry
    return registered(kind(
        id=entropy.identifier(),
        number=entry.number,
        query=query.what.text,
        source=draft.source,
        lineage=draft.lineage,
        unit=draft.unit,
        where="" if query.where is None else str(query.where),
        mechanism=draft.mechanism_in_words,
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
        _seed=entry.draw_id,
        _kernel=entry.kernel,
    ))  # fmt: skip


def aimed(record: Record, rows: float | None, target: Any) -> Record:
    """A record with the error at 95 % that its call asked for, if any; of quantiles with the most
    rows that there are."""
    most = rows if record._statistic.errors.takes_rows else None
    return registered(replace(record, _rows=most, _target=target))


def counted(record: Record, beside: Record) -> Record:
    """A record of quantiles, with another release that counts the same rows."""
    if record.preview or not record._statistic.errors.takes_rows:
        return record
    most = beside._statistic.errors.rows_at_most(beside._noisy, beside._law, CONFIDENCE)
    if most is None or len(most) != record._statistic.places:
        return record
    return registered(replace(record, _counts=beside))
