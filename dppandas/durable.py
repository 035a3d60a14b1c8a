"""A ledger in one SQLite file: it outlives the kernel, and several share it.

Everything that happens is an event, appended and never changed: the opening with its budget, a
source, a charge, an outcome. Each carries the hash of the one before. What is spent at each place
is kept beside them, so that a charge costs the same after ten releases and after a hundred
thousand; it follows from the events, and `dppandas verify` computes it anew.

A charge is one transaction that nobody else can write in between (BEGIN IMMEDIATE), on disk when
it returns (synchronous=FULL). Others wait for it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from . import canonical, sampling
from .accounting import Measure, Terms
from .budget import Delta, Epsilon, Loss, Rho
from .connections import APPLICATION, Connected
from .errors import SessionError, StoreError
from .locks import NOTHING
from .spending import Part, Spending
from .store import Answer, Check, Entry, Registered

SCHEMA = 2

_EVENTS = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,      -- opened, source, charge, outcome
    release INTEGER,         -- of charge and outcome
    key TEXT,                -- of a source its name, of an answer that of its query
    body TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE UNIQUE INDEX charges ON events (release) WHERE kind = 'charge';
CREATE UNIQUE INDEX outcomes ON events (release) WHERE kind = 'outcome';
CREATE INDEX answers ON events (key, number) WHERE kind = 'outcome' AND key IS NOT NULL;
CREATE UNIQUE INDEX sources ON events (key) WHERE kind = 'source';
"""
_SPENDING = """
CREATE TABLE spending (
    source TEXT NOT NULL, path TEXT NOT NULL,
    epsilon TEXT NOT NULL, delta TEXT NOT NULL, rho TEXT NOT NULL,
    PRIMARY KEY (source, path)
);
"""


class SqliteStore(Connected):
    """Entries in one SQLite file. Not for network file systems, whose locks can't be relied on."""

    def __init__(
        self, path: str | os.PathLike[str], terms: Terms | None = None, reading: bool = False
    ) -> None:
        super().__init__(path, reading)
        self._seen: int | None = None
        self._known: tuple[str, Spending] | None = None
        if reading and not self.path.exists():
            raise StoreError(f"there is no ledger at {str(self.path)!r}.")
        if not self.path.exists() and terms is None:
            raise SessionError(
                f"there is no ledger at {str(self.path)!r} yet, and a new one needs a budget: "
                f"dp.session(epsilon=2, store=…). {NOTHING}"
            )
        self.terms = self._opened(terms)
        if terms is not None and terms != self.terms:
            self.close()
            raise SessionError(
                f"the ledger {str(self.path)!r} has a budget of {self.terms}, not {terms}. Go on "
                "with it by dp.session(store=…) alone, or choose another file. Nothing was changed."
            )

    # what a Store does

    def add(self, drafts: Sequence[Entry], check: Check) -> list[Entry]:
        def added(db: sqlite3.Connection) -> list[Entry]:
            before = self._spending_of(db)
            after = before.plus(((each.source, each.path), each.loss) for each in drafts)
            check(before.total, after.total)
            first = _count(db) + 1
            entries = [replace(draft, number=first + i) for i, draft in enumerate(drafts)]
            for entry in entries:
                _append(db, "charge", charge_body(entry), entry.number, None)
            self._known = _last_charge(db), after
            changed = {(each.source, each.path) for each in entries}
            db.executemany(_PUT, [_spent_row(place, after.losses[place]) for place in changed])
            return entries

        return self._write(added)

    def between_charges(self, action: Callable[[Loss], None]) -> None:
        self._write(lambda db: action(self._spending_of(db).total))

    def settle(self, number: int, status: str, noisy: Sequence[Any] | None = None) -> int:
        def settled(db: sqlite3.Connection) -> int:
            body = _one(db, "SELECT body FROM events WHERE kind = 'charge' AND release = ?", number)
            key = json.loads(body)["key"] or None
            kept = None
            if noisy is not None and key:
                try:
                    kept = canonical.to_json(list(noisy))
                except canonical.NoText:  # a label that no text gives back: this isn't replayed
                    key = None
            key = key if kept is not None else None
            _append(db, "outcome", {"status": status, "answer": kept}, number, key)
            return _one(db, _DRAWS, key) if key else 0

        draw = self._write(settled)
        # So that the file by itself has all that was answered, whatever becomes of what stands
        # beside it: a copy, or what is left of a killed kernel.
        self._read(lambda db: db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())
        return draw

    def answer(self, key: str, draw: int) -> Answer | None:
        def found(db: sqlite3.Connection) -> Answer | None:
            row = db.execute(
                "SELECT release, body FROM events WHERE kind = 'outcome' AND key = ? "
                "ORDER BY number LIMIT 1 OFFSET ?", (key, draw - 1),
            ).fetchone()  # fmt: skip
            if row is None:
                return None
            (entry,) = _entries(db, "AND c.release = ?", row[0])
            return Answer(entry, canonical.from_json(json.loads(row[1])["answer"]), draw)

        return self._read(found) if draw >= 1 else None

    def register(self, source: Registered) -> Registered:
        def registered(db: sqlite3.Connection) -> Registered:
            known = _registered(db, source.name)
            if known is None:
                body = {"name": source.name, "unit": source.unit, "key": source.key.hex()}
                _append(db, "source", body, None, source.name)
            return known or source

        known = self._read(lambda db: _registered(db, source.name))
        return known or self._write(registered)

    def entries(self, last: int | None = None, before: int | None = None) -> list[Entry]:
        def listed(db: sqlite3.Connection) -> list[Entry]:
            if last is None and before is None:
                return _entries(db)
            end = _count(db) if before is None else before - 1
            return _entries(db, _PAGE, 0 if last is None else min(end, _count(db)) - last, end)

        return self._read(listed)

    def count(self) -> int:
        return self._read(_count)

    def sealed(self) -> tuple[list[Entry], str]:
        def listed(db: sqlite3.Connection) -> tuple[list[Entry], str]:
            db.execute("BEGIN")  # nothing that others write is seen before its end
            try:
                return _entries(db), _one(db, "SELECT hash FROM events ORDER BY number DESC")
            finally:
                db.execute("ROLLBACK")

        return self._read(listed)

    @property
    def spending(self) -> Spending:
        return self._read(self._spending_of)

    def _spending_of(self, db: sqlite3.Connection) -> Spending:
        """Read anew only where somebody else has charged: the hash of the last charge stands for
        all before it, and for nothing that was rolled back."""
        last, known = _last_charge(db), self._known
        if known is None or known[0] != last:
            known = self._known = last, spending_kept(db)
        return known[1]

    @property
    def identity(self) -> str:
        """What tells this ledger from all others."""
        return str(json.loads(self._read(lambda db: _one(db, _OPENED)))["id"])

    def has_changed(self) -> bool:
        now: int = self._read(lambda db: _one(db, "SELECT max(number) FROM events"))
        changed, self._seen = self._seen is not None and now != self._seen, now
        return changed

    def _opened(self, terms: Terms | None) -> Terms:
        """Open the file, or make it; bring it up to date."""
        if not self.path.exists():
            with self._told():
                self.path.touch(exist_ok=True)

        def opened(db: sqlite3.Connection) -> Terms:
            version = _one(db, "PRAGMA user_version")
            if version == 0:
                if terms is None:
                    raise SessionError(
                        f"{str(self.path)!r} is empty, and a new ledger needs a budget: "
                        f"dp.session(epsilon=2, store=…). {NOTHING}"
                    )
                _create(db, terms)
            elif version > SCHEMA:
                raise StoreError(
                    f"the ledger {str(self.path)!r} was written by a newer dppandas (schema "
                    f"{version}, and this one knows up to {SCHEMA}): update dppandas. {NOTHING}"
                )
            for old in range(version, SCHEMA) if version else ():
                MIGRATIONS[old](db)
                db.execute(f"PRAGMA user_version = {old + 1}")
            return _terms(db)

        found = self._read(lambda db: _one(db, "PRAGMA user_version"))
        if found == SCHEMA:
            return self._read(_terms)
        if self._reading and found < SCHEMA:
            raise StoreError(
                f"the ledger {str(self.path)!r} was written by an older dppandas (schema {found}; "
                f"this one keeps {SCHEMA}): dp.session(store=…) brings it up to date."
            )
        return self._write(opened)


#: Where a place is known, its row stays where it is: sources are told in the order of first use.
_PUT = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?) ON CONFLICT (source, path) DO UPDATE SET "
    "epsilon = excluded.epsilon, delta = excluded.delta, rho = excluded.rho"
)
_OPENED = "SELECT body FROM events WHERE kind = 'opened'"
_PAGE = "AND c.release > ? AND c.release <= ?"
_DRAWS = "SELECT count(*) FROM events WHERE kind = 'outcome' AND key = ?"


# --- what is in the file --------------------------------------------------------------------------


def _one(db: sqlite3.Connection, sql: str, *values: Any) -> Any:
    return db.execute(sql, values).fetchone()[0]


def _count(db: sqlite3.Connection) -> int:
    return _one(db, "SELECT max(release) FROM events WHERE kind = 'charge'") or 0


def _last_charge(db: sqlite3.Connection) -> str:
    """The hash of the last charge; "" before the first."""
    found = db.execute(
        "SELECT hash FROM events WHERE kind = 'charge' ORDER BY release DESC LIMIT 1"
    ).fetchone()
    return found[0] if found else ""


def _create(db: sqlite3.Connection, terms: Terms | None) -> None:
    create_tables(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {SCHEMA}")
    body = {**terms_body(terms or Terms()), "id": sampling.identifier()}
    _append(db, "opened", body, None, None)


def create_tables(db: sqlite3.Connection) -> None:
    """All that a ledger's file holds, empty."""
    for statement in f"{_EVENTS}{_SPENDING}".split(";\n"):
        db.execute(statement)


def _append(
    db: sqlite3.Connection, kind: str, body: dict[str, Any], release: int | None, key: str | None
) -> None:
    """One more event, chained to the last."""
    last = db.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, "")
    text = json.dumps(body, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    link = linked(before, number, kind, release, key, text)
    db.execute(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (number, kind, release, key, text, link)
    )


def linked(
    before: str, number: int, kind: str, release: int | None, key: str | None, body: str
) -> str:
    """The hash of an event, made of all that it says and of the hash before it."""
    said = json.dumps([before, number, kind, release, key, body])
    return sha256(said.encode()).hexdigest()


def spending_kept(db: sqlite3.Connection) -> Spending:
    rows = db.execute("SELECT source, path, epsilon, delta, rho FROM spending ORDER BY rowid")
    return Spending(
        {(source, _path(json.loads(path))): _loss(*parts) for source, path, *parts in rows}
    )


def _spent_row(place: tuple[str, Sequence[Part]], loss: Loss) -> tuple[str, ...]:
    source, path = place
    return source, json.dumps(path), *_exact(loss)


def _exact(loss: Loss) -> list[str]:
    """As fractions in text: no float is precise enough."""
    parts: tuple[Fraction, ...] = (loss.epsilon, loss.delta, loss.rho)
    return [f"{part.numerator}/{part.denominator}" for part in parts]


@lru_cache(maxsize=1024)
def _loss(epsilon: str, delta: str, rho: str) -> Loss:
    return Loss(Epsilon(epsilon), Delta(delta), Rho(rho))


def _path(said: Any) -> tuple[Part, ...]:
    return tuple(Part(*part) for part in said)


def charge_body(entry: Entry) -> dict[str, Any]:
    """All that a charge says, as JSON has it."""
    return {
        "time": entry.time, "source": entry.source, "version": entry.version, "unit": entry.unit,
        "lineage": entry.lineage, "query": entry.what, "loss": _exact(entry.loss),
        "mechanism": entry.mechanism, "scale": entry.scale, "error": entry.error,
        "cell": entry.cell, "path": list(entry.path), "key": entry.key, "kernel": entry.kernel,
    }  # fmt: skip


def entry_of(number: int, body: dict[str, Any], status: str) -> Entry:
    """See `charge_body`."""
    return Entry(
        number=number, time=body["time"], source=body["source"], lineage=body["lineage"],
        what=body["query"], loss=_loss(*body["loss"]), mechanism=body["mechanism"],
        scale=body["scale"], error=body["error"], cell=body["cell"], status=status,
        version=body["version"], unit=body["unit"], path=_path(body["path"]), key=body["key"],
        kernel=body["kernel"],
    )  # fmt: skip


def _entries(db: sqlite3.Connection, where: str = "", *values: Any) -> list[Entry]:
    rows = db.execute(
        "SELECT c.release, c.body, json_extract(o.body, '$.status') FROM events c "
        "LEFT JOIN events o ON o.kind = 'outcome' AND o.release = c.release "
        f"WHERE c.kind = 'charge' {where} ORDER BY c.release", values,
    )  # fmt: skip
    return [
        entry_of(number, json.loads(body), status or "charged") for number, body, status in rows
    ]


def _registered(db: sqlite3.Connection, name: str) -> Registered | None:
    row = db.execute(
        "SELECT body FROM events WHERE kind = 'source' AND key = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    body = json.loads(row[0])
    return Registered(body["name"], body["unit"], bytes.fromhex(body["key"]))


def terms_body(terms: Terms) -> dict[str, Any]:
    """What a ledger promises, as JSON has it."""
    limit = None if terms.limit is None else _exact(terms.limit)
    delta = f"{terms.delta.numerator}/{terms.delta.denominator}"
    return {"measure": terms.measure.value, "limit": limit, "delta": delta}


def _terms(db: sqlite3.Connection) -> Terms:
    return terms_of(json.loads(_one(db, _OPENED)))


def terms_of(body: dict[str, Any]) -> Terms:
    """See `terms_body`."""
    limit = None if body["limit"] is None else _loss(*body["limit"])
    return Terms(Measure(body["measure"]), limit, Delta(body["delta"]))


# --- older files ----------------------------------------------------------------------------------


def _to_2(db: sqlite3.Connection) -> None:
    """Schema 1 had no table of what is spent: each charge added up all before it."""
    db.execute(_SPENDING.rstrip().rstrip(";"))
    db.executemany(_PUT, [_spent_row(*each) for each in spent_by_events(db).losses.items()])


def spent_by_events(db: sqlite3.Connection) -> Spending:
    """What is spent at each place, from the charges themselves."""
    return Spending().plus(((e.source, e.path), e.loss) for e in _entries(db))


#: From a schema to the next.
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _to_2}
