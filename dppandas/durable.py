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
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from pathlib import Path as File
from typing import Any, TypeVar

from . import canonical, sampling
from .accounting import Measure, Terms
from .budget import Delta, Epsilon, Loss, Rho
from .errors import SessionError, StoreError, shown
from .spending import Part, Spending
from .store import Answer, Check, Entry, Registered

T = TypeVar("T")

#: "dpdf": what marks the file as a ledger of ours.
APPLICATION = 0x64706466
SCHEMA = 2
#: So many seconds somebody else may take for a charge before ours gives up.
PATIENCE = 60.0
NOTHING = "Nothing was computed or released."

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


class SqliteStore:
    """Entries in one SQLite file. Not for network file systems, whose locks can't be relied on."""

    def __init__(
        self, path: str | os.PathLike[str], terms: Terms | None = None, reading: bool = False
    ) -> None:
        self.path = checked_path(path)
        self._local = threading.local()
        self._seen: int | None = None
        self._file: tuple[int, int] | None = None
        self._reading = reading  # only to look at it: the file stays as it is
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

    def close(self) -> None:
        """Close what this thread has open; the last to close leaves one file behind."""
        db, process = getattr(self._local, "db", None), getattr(self._local, "process", None)
        self._local.db = None
        if db is not None and process == os.getpid():
            db.close()

    # connections and transactions

    def _connection(self) -> sqlite3.Connection:
        """This thread's, of this process: SQLite's can't be carried through a fork."""
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is not None and self._local.process == os.getpid():
            return db
        if db is not None:
            _FORKED.append(db)  # closed here, it would clean up what the parent still uses
        if not self.path.exists():
            raise StoreError(f"the ledger {str(self.path)!r} is gone. {NOTHING}")
        db = self._connected()
        self._file = self._file or _identity(self.path)
        self._check_file()
        self._local.db, self._local.process = db, os.getpid()
        return self._local.db  # type: ignore[no-any-return]

    def _connected(self) -> sqlite3.Connection:
        if not self._reading and _is_writable(self.path):
            db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            self._refuse_other_databases(db)
            _patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
            db.execute("PRAGMA synchronous = FULL")
            return db
        db = opened_to_read(self.path)
        self._refuse_other_databases(db)
        return db

    def _check_file(self) -> None:
        """Refuse to write to a file that nobody would find again."""
        if _identity(self.path) != self._file:
            raise StoreError(
                f"the ledger {str(self.path)!r} was removed or replaced while it was open. Put it "
                f"back, or end the session with dp.reset(). {NOTHING}"
            )

    def _refuse_other_databases(self, db: sqlite3.Connection) -> None:
        """Before anything of a file is changed."""
        # In this order: another process may make a ledger of the empty file in between.
        is_empty = not _one(db, "SELECT count(*) FROM sqlite_master")
        mark = _one(db, "PRAGMA application_id")
        if mark != APPLICATION and (mark or not is_empty):
            db.close()
            raise StoreError(
                f"{str(self.path)!r} is a database, but no ledger of dppandas. {NOTHING}"
            )

    def _read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        with self._told():
            return action(self._connection())

    def _write(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Run an action in a transaction of its own, on disk when this returns."""
        with self._told():
            db = self._connection()
            if db.in_transaction:  # an interrupt left it behind
                db.execute("ROLLBACK")
            try:
                db.execute("BEGIN IMMEDIATE")
                self._check_file()
                done = action(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return done

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of SQLite in words that say what to do."""
        try:
            yield
        except StoreError:
            raise
        except (sqlite3.Error, OSError) as error:
            told = StoreError(f"{explained(error, self.path)} {NOTHING}")
        else:
            return
        raise told

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


#: Connections of a parent process, never to be touched.
_FORKED: list[sqlite3.Connection] = []

#: Where a place is known, its row stays where it is: sources are told in the order of first use.
_PUT = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?) ON CONFLICT (source, path) DO UPDATE SET "
    "epsilon = excluded.epsilon, delta = excluded.delta, rho = excluded.rho"
)
_OPENED = "SELECT body FROM events WHERE kind = 'opened'"
_PAGE = "AND c.release > ? AND c.release <= ?"
_DRAWS = "SELECT count(*) FROM events WHERE kind = 'outcome' AND key = ?"


def checked_path(path: object) -> File:
    """A path that may hold a ledger."""
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise SessionError(f"store={shown(path)} must be the path of a file. {NOTHING}")
    if not str(path).isprintable() or str(path).startswith((":memory:", "file:")):
        raise SessionError(
            f"store={shown(str(path))} must be the path of a file on a disk, in letters that "
            f"print; without store= the ledger lives in memory. {NOTHING}"
        )
    try:
        file = File(path).expanduser()
        is_folder, has_folder = file.is_dir(), file.parent.is_dir()
        file.exists()
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, or nobody's home
        said = str(error)
    else:
        said = ""
    if said:
        raise StoreError(f"store={shown(str(path))} can't be a path here: {said}. {NOTHING}")
    if is_folder:
        raise StoreError(f"store={str(file)!r} is a folder: name a file in it. {NOTHING}")
    if not has_folder:
        raise StoreError(
            f"store={str(file)!r}: there is no folder {str(file.parent)!r}. Make it first. "
            f"{NOTHING}"
        )
    return file.absolute()


def _identity(path: File) -> tuple[int, int] | None:
    """Which file a path names."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_writable(path: File) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def is_shared(path: File) -> bool:
    """Whether others have written what isn't in the file itself yet, but in the log beside it."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def opened_to_read(path: File) -> sqlite3.Connection:
    """A connection that changes nothing, and leaves nothing beside the file."""
    how = "mode=ro" if is_shared(path) else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, isolation_level=None)


def _patiently(action: Callable[[], Any]) -> Any:
    """Switching to WAL doesn't wait for others by itself."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.01)


def explained(error: Exception, path: File) -> str:
    said, file = str(error), repr(str(path))
    if "readonly" in said or "read-only" in said.lower():
        return f"the ledger {file} can only be read here, and a charge must be written first."
    if "full" in said:
        return f"there is no room left for the ledger {file}: free some, and ask again."
    if "locked" in said or "busy" in said:
        return f"the ledger {file} was busy for {PATIENCE:g} seconds: another process holds it."
    if isinstance(error, sqlite3.OperationalError | OSError):
        return f"the ledger {file} can't be used: {said}."
    return f"{file} is damaged, or no ledger of dppandas ({said}): restore it from a copy."


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
