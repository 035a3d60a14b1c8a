"""What is in a ledger's file: its tables, how entries are written to them, and older schemas."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path as File
from typing import Any, NamedTuple

from ...errors import StoreError
from ...privacy.accounting.composition import ParallelComposition, Part, Path, Place
from ...privacy.accounting.losses import Delta, Epsilon, Loss, Rho
from ...privacy.accounting.measures import Measure, PrivacyBudget
from ...privacy.mechanisms.base import ReleaseThreshold
from ...privacy.sampling import entropy
from .. import earlier_questions as earlier
from ..questions import Question
from ..stated_errors import StatedError
from . import chain, log
from .chain import one
from .connections import APPLICATION
from .store import NO_CAVEATS, Caveats, Entry, Program, Registered

#: The schema that is written.
VERSION = 5
#: Files of this schema or a later one can be read as they are.
READABLE = 2
#: Files of this schema or a later one have leases.
LEASED = 3

#: `verify` compares these texts to the letter, comments too: change them with VERSION only.
EVENTS = """
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
#: Who is answering which draw of which key. Not an event: a lease is temporary.
_LEASES = """
CREATE TABLE leases (
    key TEXT NOT NULL, draw INTEGER NOT NULL, release INTEGER NOT NULL UNIQUE,
    PRIMARY KEY (key, draw)
);
"""
#: The row of a known place stays where it is: sources are listed in the order of first use.
PUT = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?) ON CONFLICT (source, path) DO UPDATE SET "
    "epsilon = excluded.epsilon, delta = excluded.delta, rho = excluded.rho"
)
OPENED = "SELECT body FROM events WHERE number = 1"
_ANSWERED = (
    "SELECT max(number), count(*) FILTER (WHERE kind = 'outcome' AND "
    "json_extract(body, '$.status') = 'released') FROM events WHERE number > ?"
)
#: A count says what is said against a ledger's figures, unless that is more.
_MOST = 64


def version_of(db: sqlite3.Connection) -> int:
    """The schema of a file; 0 where it is empty."""
    return log.without_mark(int(one(db, "PRAGMA user_version")))


def refuse_newer(path: File, version: int) -> None:
    """Refuse a file of a schema that this dppandas doesn't know."""
    if version > VERSION:
        raise StoreError(
            f"the ledger {str(path)!r} was written by a newer dppandas: its schema is {version}, "
            f"and this one knows up to {VERSION}. Update dppandas."
        )


def create(db: sqlite3.Connection, terms: PrivacyBudget) -> None:
    """Make an empty file a ledger."""
    create_tables(db)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    chain.append(db, "opened", {**terms_body(terms), "id": entropy.identifier()}, None, None)


def create_tables(db: sqlite3.Connection) -> None:
    """Make all tables of a ledger's file, empty."""
    for statement in f"{EVENTS}{_SPENDING}{_LEASES}".split(";\n"):
        db.execute(statement)


def tables(db: sqlite3.Connection) -> dict[tuple[str, str, str], str]:
    """The SQL of all tables and indexes of a database, by type, name and table."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {(kind, name, table): " ".join((sql or "").split()) for kind, name, table, sql in rows}


# --- what is spent, charges, sources and the budget -----------------------------------------------


def spending_kept(db: sqlite3.Connection) -> ParallelComposition:
    """The table of what is spent. ValueError for a place that isn't written as dppandas writes it,
    or is listed twice: the later row would hide the earlier one."""
    losses: dict[Place, Loss] = {}
    rows = db.execute("SELECT source, path, epsilon, delta, rho FROM spending ORDER BY rowid")
    for source, path, *parts in rows:
        place = source, _path(json.loads(path))
        if _place_text(place[1]) != path or place in losses:
            raise ValueError("a place is written in another way, or twice")
        losses[place] = _loss(*parts)
    return ParallelComposition().plus(losses.items())


def spent_rows(losses: Mapping[Place, Loss]) -> list[tuple[str, ...]]:
    """Rows of the table of what is spent."""
    return [(name, _place_text(path), *_loss_texts(loss)) for (name, path), loss in losses.items()]


def _place_text(path: Path) -> str:
    return json.dumps([part.place for part in path])


class RunningTable:
    """The table of what is spent as charges are added to it, and its hash now and then."""

    def __init__(self) -> None:
        self._losses: dict[Place, Loss] = {}
        self._rows: dict[Place, tuple[str, ...]] = {}
        self._since = 0  # charges since the last hash

    def add(self, place: Place, loss: Loss) -> None:
        """One more charge."""
        self._losses[place] = self._losses[place] + loss if place in self._losses else loss
        (self._rows[place],) = spent_rows({place: self._losses[place]})
        self._since += 1

    def is_due(self) -> bool:
        """Whether a hash costs little beside the charges since the last one, so that all hashes
        together take time in proportion to all charges, however many places there are."""
        return 16 * self._since >= len(self._rows)

    def digest(self) -> str:
        """The hash of the table as it is."""
        self._since = 0
        return chain.digest(self._rows.values())


def _loss_texts(loss: Loss) -> list[str]:
    return [chain.exact_text(part) for part in (loss.epsilon, loss.delta, loss.rho)]


@lru_cache(maxsize=1024)
def _loss(epsilon: str, delta: str, rho: str) -> Loss:
    return Loss(Epsilon(epsilon), Delta(delta), Rho(rho))


def _path(said: Any) -> Path:
    """The path of a charge. Up to schema 4 it had neither columns nor labels of its own."""
    return tuple(_named(Part, part) if isinstance(part, dict) else _older(*part) for part in said)


def _older(partition: str, key: str, rows: int) -> Part:
    return Part(partition, key, rows, *earlier.part(partition, key))


def _path_body(path: Path) -> list[dict[str, Any]]:
    return [part._asdict() for part in path]


#: The fields of an entry that the event of its charge says as they are.
_AS_THEY_ARE = (
    "time", "source", "version", "unit", "lineage", "mechanism", "scale", "error", "cell", "key",
    "kernel",
)  # fmt: skip
#: Those that are left out where they are empty, as in all charges of older schemas.
_IF_SAID = ("asker", "request", "draw_id")


def charge_body(entry: Entry) -> dict[str, Any]:
    """What the event of a charge says, for JSON; `entry_of` reads it."""
    said = {name: getattr(entry, name) for name in _AS_THEY_ARE}
    said |= {name: value for name in _IF_SAID if (value := getattr(entry, name))}
    if entry.others:
        said["others"] = [
            {"source": name, "version": version, "path": _path_body(path)}
            for name, version, path in entry.others
        ]
    for name in ("program", "threshold"):
        if (value := getattr(entry, name)) is not None:
            said[name] = value._asdict()
    said["question"], said["loss"] = entry.what.to_json(), _loss_texts(entry.loss)
    return {**said, "path": _path_body(entry.path)}


def entry_of(
    number: int, body: dict[str, Any], status: str, released_error: StatedError | str = ""
) -> Entry:
    """The entry of a `charge_body`, with its outcome. Up to schema 4 a charge had sentences in the
    place of data."""
    if "question" not in body:
        body = earlier.charge(body)
        released_error = earlier.error(str(released_error))
    said: dict[str, Any] = {name: body[name] for name in _AS_THEY_ARE}
    said |= {name: body.get(name, "") for name in _IF_SAID}
    said["program"] = _named(Program, body.get("program"))
    said["threshold"] = _named(ReleaseThreshold, body.get("threshold"))
    what = Question.from_json(body["question"])
    others = tuple(
        (each["source"], each["version"], _path(each["path"])) for each in body.get("others", ())
    )
    loss, path = _loss(*body["loss"]), _path(body["path"])
    return Entry(
        number=number, what=what, loss=loss, path=path, status=status,
        released_error=released_error, others=others, **said,
    )  # fmt: skip


#: The numbers of programs, thresholds and parts, all else of which is text.
_WHOLE = ("number", "least", "rows")


def _named(kind: Any, said: Any) -> Any:
    """A named tuple of an object of JSON; None for none."""
    if said is None:
        return None
    found = kind(*(said[name] for name in kind._fields))
    if not all(
        type(each) is (int if name in _WHOLE else str) for name, each in found._asdict().items()
    ):
        raise TypeError(f"a {kind.__name__} of other types")
    return found


def entries(db: sqlite3.Connection, where: str = "", *values: Any) -> list[Entry]:
    """The charges that meet a condition, each with its outcome if it has one."""
    rows = db.execute(
        "SELECT c.release, c.body, json_extract(o.body, '$.status'), "
        "json_extract(o.body, '$.error'), json_type(o.body, '$.error') FROM events c "
        "LEFT JOIN events o ON o.kind = 'outcome' AND o.release = c.release "
        f"WHERE c.kind = 'charge' {where} ORDER BY c.release", values,
    )  # fmt: skip
    return [
        entry_of(number, json.loads(body), status or "charged", _error(told, kind))
        for number, body, status, told, kind in rows
    ]


def _error(told: str | None, kind: str | None) -> StatedError | str:
    """The error of an outcome: numbers, a sentence up to schema 4, or nothing."""
    return StatedError.from_json(json.loads(told or "")) if kind == "object" else told or ""


def source(db: sqlite3.Connection, name: str) -> Registered | None:
    """A source by its name; None if it is unknown. ValueError if its event was changed."""
    said = chain.source(db, name)
    if said is None:
        return None
    body = json.loads(said)
    kinds = tuple(map(tuple, body.get("kinds", ())))
    return Registered(body["name"], body["unit"], bytes.fromhex(body["key"]), kinds)


class Standing(NamedTuple):
    """What the events up to a number say besides what is spent."""

    number: int = 0
    answered: int = 0  # how many charges have an answer
    caveats: Caveats = NO_CAVEATS

    def to_json(self) -> dict[str, Any]:
        """What a count says of it."""
        few = sum(map(len, self.caveats)) <= _MOST
        return {"answered": self.answered, "caveats": self.caveats} if few else {}


def standing(db: sqlite3.Connection, known: Standing | None = None) -> Standing:
    """How a ledger stands. Events are never changed, so only those since it was known are read, or
    since the last count. Read within a transaction."""
    known = known or _counted(db)
    last, more = db.execute(_ANSWERED, (known.number,)).fetchone()
    against = known.caveats.plus(_caveats(db, known.number))
    return Standing(last or known.number, known.answered + more, against)


def _counted(db: sqlite3.Connection) -> Standing:
    """How it stood at the last count; as before the first event if that doesn't say so."""
    number, said = chain.last_count(db)
    if "caveats" not in said:
        return Standing()
    accepted, not_compared = said["caveats"]
    return Standing(
        number, said["answered"], Caveats(tuple(accepted), tuple(map(tuple, not_compared)))
    )


def _caveats(db: sqlite3.Connection, after: int) -> Caveats:
    """What the events after a number say against the ledger's figures."""
    said = "SELECT kind, body FROM events WHERE number > ? AND kind IN ('accepted', 'uncompared')"
    found: dict[str, list[Any]] = {"accepted": [], "uncompared": []}
    for kind, text in db.execute(f"{said} ORDER BY number", (after,)):
        found[kind].append(json.loads(text))
    return Caveats(
        tuple(float(body["time"]) for body in found["accepted"]),
        tuple((body["source"], body["version"] or "") for body in found["uncompared"]),
    )


def terms_body(terms: PrivacyBudget) -> dict[str, Any]:
    """The budget that a ledger is opened with, for JSON; `terms_of` reads it."""
    limit = None if terms.limit is None else _loss_texts(terms.limit)
    return {"measure": terms.measure.value, "limit": limit, "delta": chain.exact_text(terms.delta)}


def terms_of(body: dict[str, Any]) -> PrivacyBudget:
    """The budget of a `terms_body`."""
    limit = None if body["limit"] is None else _loss(*body["limit"])
    return PrivacyBudget(Measure(body["measure"]), limit, Delta(body["delta"]))


# --- older files ----------------------------------------------------------------------------------


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Bring an older file up to this schema.

    Schema 1 had no table of what is spent: each charge added up all before it. Schema 2 had no
    leases, and never recorded a count. Schema 3 had no mark of the log (see `log`), no accepted
    loss, and no note of data that weren't compared. Schema 4 kept sentences in the place of
    questions and errors; what it has charged stays as it is.
    """
    if version < 2:
        db.execute(_SPENDING)
        spent = ParallelComposition().plus(((e.source, e.path), e.loss) for e in entries(db))
        db.executemany(PUT, spent_rows(spent.losses))
    if version < LEASED:
        db.execute(_LEASES)
    db.execute(f"PRAGMA user_version = {VERSION}")
