"""Verifies a ledger's file: its chain of hashes, its totals and its schema.

The file is only read. Everything is recomputed from the events; no figure beside them is
trusted. docs/adr/0013-audited.md says what a chain of hashes can show, and what it can't.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path as File
from typing import Any, NoReturn

from ...dataclasses import dataclass
from ...errors import QueryError, StoreError, quoted
from ...privacy.accounting.composition import ParallelComposition, Place, first_beyond
from ...privacy.accounting.losses import Loss
from ...privacy.accounting.measures import PrivacyBudget
from ...rows.sentences import ShownInSentences
from .. import canonical
from ..stated_errors import StatedError
from . import chain, connections, log, schema
from .paths import checked_path, is_shared, stamp
from .store import MISSING, NO_CAVEATS, Caveats, Entry, lost_log

#: What reading something that dppandas didn't write may raise.
#: The possible outcomes of a charge.
OUTCOMES = ("released", "failed", "interrupted", "recorded")
#: As many deviations are shown.
SHOWN = 50


@dataclass(frozen=True)
class Deviation:
    """Something that a ledger's file should not say; about the whole file if ``event`` is None."""

    event: int | None
    said: str

    def __str__(self) -> str:
        return self.said if self.event is None else f"event {self.event}: {self.said}"


@dataclass(frozen=True, repr=False)
class Verdict(ShownInSentences):
    """What a ledger's file was found to hold: ``is_sound``, and if not, its ``deviations``.

    ``head`` is the hash of the last event: note it elsewhere, because a file that was cut off at
    its end, or rewritten by somebody who could write all of it, looks sound.
    """

    path: File
    schema: int
    events: int
    _entries: tuple[Entry, ...]  # the charges that can be read
    sources: tuple[str, ...]
    _terms: PrivacyBudget | None
    head: str
    _noted: int | None  # the event whose hash was noted elsewhere
    deviations: tuple[Deviation, ...]
    _caveats: Caveats = NO_CAVEATS

    @property
    def is_sound(self) -> bool:
        """Whether there are no deviations."""
        return not self.deviations

    @property
    def spent(self) -> Loss:
        """What the charges cost together."""
        charges = (charge for entry in self._entries for charge in entry.charges)
        return ParallelComposition().plus(charges).total

    @property
    def may_lack_charges(self) -> bool:
        """Whether charges may be missing, because the file lost its log: then ``spent`` is a lower
        bound."""
        return bool(self._caveats.accepted)

    def __str__(self) -> str:
        found, name = self.deviations, self.path.name
        if self.is_sound:
            lines = [f"{name} is sound: chain, totals and schema."]
        else:
            count = "1 deviation" if len(found) == 1 else f"{len(found)} deviations"
            lines = [f"{name} is NOT sound: {count}.", *(f"  {each}" for each in found[:SHOWN])]
            lines += [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        return "\n".join([
            *lines,
            f"  releases: {len(self._entries)} in {self.events} events, schema {self.schema}",
            f"  sources: {', '.join(self.sources) or 'none'}",
            f"  budget:  {'unknown' if self._terms is None else self._terms}",
            f"  spent:   {'at least ' * self.may_lack_charges}{self.spent}",
            *(f"           {MISSING}: {lost_log(each)}" for each in self._caveats.accepted),
            f"  head:    {self.head}",
        ])  # fmt: skip

    __repr__ = __str__

    def _sentences(self) -> list[str]:
        return str(self).splitlines()


def verified(path: str | os.PathLike[str], noted: str | None = None) -> Verdict:
    """Read a ledger's file, and compare what it says with what follows from its events.

    noted : the hash of the last event as it was noted at another time, 64 hexadecimal digits. The
        file deviates unless it continues from that event.

    Raises `StoreError` if there is no ledger to read; whatever is wrong with a ledger is in the
    verdict. The file is left as it is, byte by byte, and may be in use.
    """
    if noted is not None and not (isinstance(noted, str) and re.fullmatch("[0-9a-f]{64}", noted)):
        raise QueryError(f"head={quoted(noted)} must be a hash of 64 hexadecimal digits.")
    file = checked_path(path)
    if not file.exists():
        raise StoreError(f"there is no ledger at {str(file)!r}.")
    for _ in range(10):
        was_shared, before = is_shared(file), stamp(file)
        verdict = _read(file, noted)
        if was_shared or stamp(file) == before:  # else somebody began to write meanwhile
            return verdict
    raise StoreError(f"the ledger {str(file)!r} changes too fast to be read: verify a copy of it.")


def _read(file: File, noted: str | None) -> Verdict:
    reader, lacks_log = _Reader(file), False
    try:
        with closing(connections.opened_to_read(file)) as db:
            if lacks_log := db.lacks_log:
                reader.note(None, "its log is missing, and charges may have been in it")
            db.begin()  # the file as it is now, whatever others write
            reader.read_all(db)
    except StoreError:
        raise
    except (sqlite3.Error, OSError) as error:
        if lacks_log:  # half of it may have been moved into the file
            log.refuse_missing(file)
        raise StoreError(connections.explained(error, file)) from None
    found = reader.numbers.get(noted or "")
    if noted is not None and found is None:
        reader.note(None, "no event has the hash that was noted: this file doesn't continue it")
    return Verdict(
        file, reader.schema, reader.events, tuple(reader.charges.values()), tuple(reader.sources),
        reader.terms, reader.head, found, tuple(reader.deviations), reader.caveats,
    )  # fmt: skip


class _Reader:
    """Reads a file from its marks to its totals, and notes deviations."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.deviations: list[Deviation] = []
        self.schema = 0
        self.events = 0
        self.head = ""
        self.terms: PrivacyBudget | None = None
        self.sources: dict[str, None] = {}  # in the order in which they came
        self.fixed: list[str] = []  # the hashes of the events that all else rests on
        self.caveats = NO_CAVEATS
        self.answered = 0
        self.charges: dict[int, Entry] = {}  # by release
        self.last = 0  # release
        self.charged_by: dict[int, int] = {}  # the event of each release
        self.outcomes: set[int] = set()
        self.draws: dict[str, set[int]] = {}  # the draws that are kept, by key
        self.numbers: dict[str, int] = {}  # the number of each event, by its hash
        self.is_whole = True  # whether every charge can be read
        self.running = schema.RunningTable()
        self.last_count = 0  # the number of the last count

    def note(self, event: int | None, said: str) -> None:
        self.deviations.append(Deviation(event, said))

    def read_all(self, db: sqlite3.Connection) -> None:
        self._marks(db)
        for part in (self._pages, self._tables, self._events, self._totals):
            try:
                part(db)
            except (sqlite3.DatabaseError, *chain.UNREADABLE) as error:
                self.is_whole = False
                self.note(None, f"{_PARTS[part.__name__]} can't be read: {error}")

    def _marks(self, db: sqlite3.Connection) -> None:
        self.schema = schema.version_of(db)
        if chain.one(db, "PRAGMA application_id") != connections.APPLICATION:
            if not chain.one(db, "SELECT 1 FROM sqlite_master WHERE name = 'events'"):
                connections.refuse_database(self.file)
            self.note(None, "the file is not marked as a ledger of dppandas")
        schema.refuse_newer(self.file, self.schema)
        if self.schema < 1:
            self.note(None, f"dppandas has no schema {self.schema}")

    def _pages(self, db: sqlite3.Connection) -> None:
        for (said,) in db.execute("PRAGMA integrity_check(20)"):
            if said != "ok":
                self.note(None, f"the database is damaged: {said}")

    def _tables(self, db: sqlite3.Connection) -> None:
        empty = sqlite3.connect(":memory:")
        schema.create_tables(empty)
        there, since = schema.tables(db), {"spending": 2, "leases": 3}  # added with these schemas
        should = {
            k: sql for k, sql in schema.tables(empty).items() if self.schema >= since.get(k[2], 0)
        }
        for key in sorted({*should, *there}):
            kind, name, _ = key
            if key not in should:
                self.note(None, f"the {kind} {name!r} isn't one that dppandas creates")
            elif key not in there:
                self.note(None, f"the {kind} {name!r} is missing")
            elif should[key] != there[key]:
                self.note(None, f"the {kind} {name!r} is not as dppandas makes it")

    def _events(self, db: sqlite3.Connection) -> None:
        before, expected = "", 1
        last = chain.one(db, "SELECT max(number) FROM events WHERE kind = 'counted'")
        self.last_count = last if isinstance(last, int) else 0
        for row in db.execute(f"{chain.ROWS} ORDER BY number"):
            self.events += 1
            number, kind, release, key, body, link = row
            if not all(isinstance(each, kind) for each, kind in zip(row, _TYPES, strict=True)):
                self.is_whole = False
                self.note(number if isinstance(number, int) else None, "its types are wrong")
                continue
            if number != expected:
                last = f" to {number - 1}" if number - 1 > expected else ""
                self.note(number, f"before it, {expected}{last} is missing")
            if chain.linked(before, number, kind, release, key, body) != link:
                others = ", or it doesn't follow the event before it" if before else ""
                self.note(number, f"its hash doesn't fit: what it says was changed{others}")
            self.numbers[link] = number
            if kind in chain.FIXED:
                self.fixed.append(link)
            before, expected = link, number + 1
            self._event(number, kind, release, key, body)
        self.head = before
        if self.terms is None:
            self.note(None, "no event says what the budget is")

    def _event(
        self, number: int, kind: str, release: int | None, key: str | None, text: str
    ) -> None:
        if kind not in _WORDS:
            self.note(number, f"{quoted(kind)} isn't a kind of event")
            return
        try:
            body = json.loads(text, parse_constant=_no_number)
            getattr(self, f"_{kind}")(number, release, key, body)
        except _Wrong as wrong:
            self.note(number, str(wrong))
        except chain.UNREADABLE:
            self.is_whole = self.is_whole and kind != "charge"
            self.note(number, f"what it says of the {_WORDS[kind]} can't be read")

    def _opened(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        terms = schema.terms_of(body)
        _unless(number == 1, "a ledger is opened once, by its first event")
        _unless(release is None and key is None, "an opening has neither release nor key")
        _unless(terms.limit is None or _is_loss(terms.limit), "its budget is negative")
        self.terms = terms

    def _source(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        _unless(all(isinstance(body[part], str) for part in ("name", "unit", "key")), "not text")
        bytes.fromhex(body["key"])
        _unless(release is None and key == body["name"], "it is filed under another name")
        _unless(key not in self.sources, f"the source {quoted(key)} is known already")
        self.sources[body["name"]] = None

    def _charge(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        entry = schema.entry_of(release or 0, body, "charged")
        _readable(entry)
        expected = self.last + 1
        self.last = entry.number
        self.charges[entry.number] = entry
        self.charged_by[entry.number] = number
        for charge in entry.charges:
            self.running.add(*charge)
        _unless(key is None, "a charge is filed under a key")
        _unless(_is_loss(entry.loss), f"its loss is negative: {entry.loss}")
        _unless(release == expected, f"it is release {release}, and should be {expected}")

    def _outcome(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        status, kept = body["status"], body["answer"]
        self.answered += status == "released"
        entry = self.charges.get(release or 0)
        if entry is None:
            raise _Wrong(f"it is the outcome of release {release}, which was not charged before")
        _unless(release not in self.outcomes, f"release {release} has an outcome already")
        self.outcomes.add(entry.number)
        _unless(status in OUTCOMES, f"{quoted(status)} isn't an outcome of a charge")
        error = body.get("error", "")
        _unless(isinstance(error, str | dict), "its error is neither numbers nor a string")
        if isinstance(error, dict):
            str(StatedError.from_json(error))
        _unless((key is None) == (kept is None), "it keeps an answer without its key, or a key")
        if key is not None:
            _unless(key == entry.key, f"it keeps an answer to another query than release {release}")
            canonical.from_json(kept)
            self._draw(key, body.get("draw"))

    def _draw(self, key: str, said: Any) -> None:
        """Note which draw of its query an answer is; up to schema 2 it is the next one."""
        drawn = self.draws.setdefault(key, set())
        draw = len(drawn) + 1 if said is None else said
        _unless(type(draw) is int and draw >= 1, f"{quoted(said)} isn't the number of a draw")
        _unless(draw not in drawn, f"draw {draw} of its query is kept already")
        drawn.add(draw)

    def _counted(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        _unless(release is None and key is None, "a count has neither release nor key")
        # Opening a file goes by the last count alone.
        if self.is_whole and (self.running.is_due() or number == self.last_count):
            is_right = body["spent"] == self.running.digest()
            _unless(is_right, "what it says was spent doesn't follow from the charges before it")
        fixed = chain.sealed(self.fixed)
        is_same = body.get("rests_on", fixed) == fixed
        _unless(is_same, "the budget or a source was another one when it was counted")
        told = schema.Standing(number, self.answered, self.caveats).to_json()
        said = {name: body[name] for name in ("answered", "caveats") if name in body}
        is_right = not said or json.dumps(said) == json.dumps(told)
        _unless(is_right, "its answers or caveats aren't those of the events before it")

    def _accepted(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        _unless(release is None and key is None, "an accepted loss has neither release nor key")
        self.caveats = self.caveats.plus(Caveats((float(body["time"]),)))
        _unless(math.isfinite(body["time"]), "its time isn't a number")

    def _uncompared(self, number: int, release: int | None, key: str | None, body: Any) -> None:
        source, version = body["source"], body["version"] or ""
        _unless(isinstance(source, str) and isinstance(version, str), "not text")
        _unless(release is None and key == source, "it is filed under another name")
        self.caveats = self.caveats.plus(Caveats((), ((source, version),)))

    def _totals(self, db: sqlite3.Connection) -> None:
        if not self.is_whole:
            self.note(None, "what is spent isn't known, because not every charge can be read")
            return
        numbered = [(n, charge) for n, entry in self.charges.items() for charge in entry.charges]
        charges = [charge for _, charge in numbered]
        limit = None if self.terms is None else self.terms.limit
        beyond = None if limit is None else first_beyond(charges, limit)
        if beyond is not None:
            release = numbered[beyond][0]
            spent = ParallelComposition().plus(charges[: beyond + 1]).total
            said = f"release {release} brings what is spent to {spent}, over the budget of {limit}"
            self.note(self.charged_by[release], said)
        if self.schema >= 3:
            self._leases(db)
        if self.schema >= 2:
            self._kept(schema.spending_kept(db).losses, ParallelComposition().plus(charges).losses)

    def _leases(self, db: sqlite3.Connection) -> None:
        for key, draw, release in db.execute("SELECT key, draw, release FROM leases"):
            entry = self.charges.get(release)
            is_drawn = release in self.outcomes or draw in self.draws.get(key, ())
            if entry is None or key != entry.key or is_drawn:
                self.note(None, f"release {release} doesn't fit its lease")

    def _kept(self, kept: dict[Place, Loss], follows: dict[Place, Loss]) -> None:
        for place in {**kept, **follows}:
            if kept.get(place) != follows.get(place):
                source, path = place
                named = repr(source) + "".join(f", {part.partition} = {part.key}" for part in path)
                said = f"the table of what is spent says {kept.get(place, Loss())} of {named}"
                self.note(None, f"{said}, and the charges add up to {follows.get(place, Loss())}")


_PARTS = {
    "_pages": "the file", "_tables": "its schema", "_events": "its events",
    "_totals": "the table of what is spent",
}  # fmt: skip
#: The kinds of events, and what each is about.
_WORDS = {
    "opened": "budget", "source": "source", "charge": "charge", "outcome": "outcome",
    "counted": "table of what is spent", "accepted": "loss that was accepted",
    "uncompared": "data that weren't compared",
}  # fmt: skip


class _Wrong(Exception):
    """A readable event says something that it shouldn't."""


def _no_number(said: str) -> NoReturn:
    raise ValueError(f"{said} isn't a number of JSON, and SQLite reads no event that has it")


def _unless(right: bool, said: str) -> None:
    if not right:
        raise _Wrong(said)


#: The types of an event's columns.
_TYPES: tuple[Any, ...] = int, str, int | None, str | None, str, str


def _readable(entry: Entry) -> None:
    """Check the types, which JSON doesn't."""
    parts = [part for (_, path), _ in entry.charges for part in path]
    said = (
        entry.source, entry.lineage, entry.what.text, entry.mechanism, entry.scale, entry.error,
        entry.unit, entry.key, entry.kernel, entry.version or "", entry.asker,
        entry.request, entry.draw_id, *(name for name, _, _ in entry.others),
        *(version or "" for _, version, _ in entry.others), *(p.partition for p in parts),
        *(text for p in parts for text in (p.key, p.columns, p.label)),
    )  # fmt: skip
    whole = [
        0 if entry.cell is None else entry.cell,
        *(p.rows for p in parts),
    ]
    is_said = all(isinstance(each, str) for each in said)
    if not (is_said and all(type(each) is int for each in whole) and math.isfinite(entry.time)):
        raise TypeError


def _is_loss(loss: Loss) -> bool:
    return min(loss.epsilon, loss.delta, loss.rho) >= 0
