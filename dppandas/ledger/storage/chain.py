"""The chain of events in a ledger's file, and whether what is kept beside it follows from it.

What is spent at each place stands in a table, so that no charge adds up all before it. Now and then
an event holds the hash of that table as it was, and of the events that all else rests on: the
budget, and the sources with their keys. With it, opening a file looks at those and at the events
since then alone. Take their charges off the table, and it must be what was hashed.

That finds edits and damage, not forgers: there is no secret in a hash, and whoever can write the
file can append such an event of his own. `dppandas verify` takes none at its word, and adds up
everything; and a file that was written anew as a whole is told only by a hash noted elsewhere.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

#: After so many charges the table is hashed.
EVERY = 256

#: A source, and where in it, as text.
Place = tuple[str, str]
#: ε, δ and ρ as exact text.
Told = tuple[str, ...]

_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError)
#: An event as it stands in the file.
Row = tuple[int, str, int | None, str | None, str, str]

_MARK = "SELECT number, body FROM events WHERE kind = 'counted' ORDER BY number DESC LIMIT 1"
_ROWS = "SELECT number, kind, release, key, body, hash FROM events"
_SINCE = f"{_ROWS} WHERE number >= ? ORDER BY number"
#: Kinds of events that all else rests on.
FIXED = ("opened", "source")


def append(
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


def source(db: sqlite3.Connection, name: str) -> str | None:
    """What the event of a source says; None if there is none. ValueError where it was changed."""
    row = db.execute(f"{_ROWS} WHERE kind = 'source' AND key = ?", (name,)).fetchone()
    return None if row is None else _checked(db, row)[4]


def _checked(db: sqlite3.Connection, row: Row) -> Row:
    """An event whose hash follows from what it says."""
    number, *said, link = row
    before = "" if number == 1 else _hash(db, number - 1)
    if linked(before, number, *said) != link:  # type: ignore[arg-type]
        raise ValueError
    return row


def count(db: sqlite3.Connection) -> None:
    """Append the hashes of the table of what is spent, and of the events that all rests on."""
    spent, rests_on = digest(_table(db).items()), sealed(_fixed(db))
    append(db, "counted", {"spent": spent, "rests_on": rests_on}, None, None)


def sealed(hashes: Iterable[str]) -> str:
    """One hash of several."""
    return sha256(json.dumps([*hashes]).encode()).hexdigest()


def _fixed(db: sqlite3.Connection, end: int = 2**63 - 1) -> list[str]:
    """The hashes of the events before one that all else rests on, each computed anew."""
    first = db.execute(f"{_ROWS} WHERE number = 1").fetchone()
    if first[1] != "opened":
        raise ValueError
    sources = f"{_ROWS} WHERE kind = 'source' AND number < ? ORDER BY number"
    return [_checked(db, row)[5] for row in [first, *db.execute(sources, (end,)).fetchall()]]


def digest(rows: Iterable[tuple[Place, Told]]) -> str:
    """One hash of what is spent at each place; a place where nothing is, is none."""
    said = sorted([*place, *told] for place, told in rows if any(map(exact, told)))
    return sha256(json.dumps(said).encode()).hexdigest()


def is_followed(db: sqlite3.Connection) -> bool:
    """Whether the table of what is spent follows from the events. Read within a transaction."""
    try:
        return _is_followed(db)
    except _UNREADABLE:
        return False


def _is_followed(db: sqlite3.Connection) -> bool:
    start, text = db.execute(_MARK).fetchone() or (1, "{}")
    fixed = sealed(_fixed(db, start))
    if json.loads(text).get("rests_on", fixed) != fixed:  # counts of older files don't say it
        return False
    counted, since = _since(db, start)
    rest = _table(db)
    for place, losses in since.items():
        pairs = zip(rest[place], losses, strict=True)
        rest[place] = tuple(exact_text(exact(told) - loss) for told, loss in pairs)
    return digest(rest.items()) == counted


def _since(db: sqlite3.Connection, start: int) -> tuple[str, dict[Place, list[Fraction]]]:
    """What was counted last, and what each place was charged since; every hash is computed anew."""
    before = "" if start == 1 else _hash(db, start - 1)
    counted, charged = digest(()), dict[Place, list[Fraction]]()
    for expected, row in enumerate(db.execute(_SINCE, (start,)), start=start):
        number, kind, release, key, text, link = row
        if number != expected or linked(before, number, kind, release, key, text) != link:
            raise ValueError
        before = link
        if kind == "counted":
            counted = json.loads(text)["spent"]
        elif kind == "charge":
            body = json.loads(text)
            sums = charged.setdefault((body["source"], json.dumps(body["path"])), [Fraction(0)] * 3)
            for i, told in enumerate(body["loss"]):
                sums[i] += exact(told)
    return counted, charged


def _hash(db: sqlite3.Connection, number: int) -> str:
    return str(db.execute("SELECT hash FROM events WHERE number = ?", (number,)).fetchone()[0])


def _table(db: sqlite3.Connection) -> dict[Place, Told]:
    rows = db.execute("SELECT source, path, epsilon, delta, rho FROM spending")
    return {(source, path): tuple(told) for source, path, *told in rows}


@lru_cache(maxsize=4096)
def exact(told: str) -> Fraction:
    """A fraction as it is written: "1/10"."""
    return Fraction(told)


def exact_text(value: Fraction) -> str:
    """A fraction as `exact` reads it: no float is precise enough."""
    return f"{value.numerator}/{value.denominator}"
