"""Where an answer comes from: what its record knows, for the fold in the foot of a card.

Public facts alone, as in the record itself: the scale of smooth sensitivity isn't one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...errors import RecordError
from ...ledger.ledger import kernel
from ...privacy.accounting.losses import Loss
from ...privacy.accuracy.combined import is_additive
from ...release.answers.record_bundle import RecordBundle
from ...release.answers.records import Record
from ...release.answers.shown import in_a_line

#: Releases of one answer are listed up to so many.
MOST = 8

Fact = tuple[str, str]


def facts(record: Record | RecordBundle, code: str = "") -> list[Fact]:
    """Names and what they say; `code` asks the question, where it is known."""
    if isinstance(record, Record):
        return list(_of_one(record, code))
    releases = list(record.components.items())
    if len(releases) == 1:
        return list(_of_one(releases[0][1], code))
    told = [(name, in_a_line(each)) for name, each in releases[:MOST]]
    more = len(releases) - MOST
    return [*told, ("…", f"and {more:,} more releases")] if more > 0 else told


def _of_one(record: Record, code: str) -> Iterator[Fact]:
    yield "question", str(record.query)
    yield "data", f"source {record.source} ({record.lineage})"
    try:
        yield "noise", str(record.noise).strip("<>")
    except RecordError:  # none was added: something was chosen
        yield "mechanism", record.mechanism
    yield "guarantee", f"{record.loss.in_short} for {record.unit}{_changed(record)}"
    yield "proof", f"docs/proofs/{record._statistic.proof}.md"
    if record.preview:
        return
    yield "charged", _charged(record)
    if not record._query.key:  # nobody knows that the rows are the same ones
        yield "again", f"{code or 'the same call'} draws and pays anew"
        return
    yield "again, free", code or "the same call"
    if asked := _refined(record):
        yield "nearer", f"dp.record(answer).refine({asked}) spends that much more"


def _changed(record: Record) -> str:
    change = record._change
    return f"; {change.in_short} if a unit's rows change" if change else ""


def _charged(record: Record) -> str:
    """Where the ledger has it, and which cell asked, as in In [3]."""
    entry = f"as release {record.number:,}"
    if record._components:
        entry = f"as {len(record._components):,} releases, the last one {record.number:,}"
    if record.cell is None:
        return entry
    place = "" if record._kernel == kernel() else " of another kernel"  # or before a restart
    return f"in cell [{record.cell}]{place}, {entry}"


def argument(loss: Loss) -> str:
    """How a loss is asked for, such as "epsilon=0.1"; "" if not by one number."""
    spent = {"epsilon": loss.epsilon, "rho": loss.rho}
    told = [f"{name}={_written(each)}" for name, each in spent.items() if each]
    return told[0] if len(told) == 1 and not loss.delta else ""


def _written(part: Fraction) -> str:
    said = str(part)
    return f'"{said}"' if "/" in said else said


def _refined(record: Record) -> str:
    """The argument to average an answer with another; "" where noise isn't what it is made of."""
    is_averaged = len(record.components) == 1 and is_additive(record._law)
    return argument(record.loss) if is_averaged else ""
