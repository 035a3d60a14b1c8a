"""The chain of events in a ledger's file, and whether what is kept beside it follows from it.

What is spent at each place stands in a table, so that no charge adds up all before it. Now and then
an event holds the hash of that table as it was: with it, opening a file looks at the events since
then alone. Take their charges off the table, and it must be what was hashed. To change the table
unseen, one would have to write anew the events since, hashes and all; and `dppandas verify` takes
no such event at its word, and adds up everything.
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
_MARK = "SELECT number FROM events WHERE kind = 'counted' ORDER BY number DESC LIMIT 1"
_SINCE = (
    "SELECT number, kind, release, key, body, hash FROM events WHERE number >= ? ORDER BY number"
)


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


def count(db: sqlite3.Connection) -> None:
    """Append the hash of the table of what is spent."""
    append(db, "counted", {"spent": digest(_table(db).items())}, None, None)


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
    mark = db.execute(_MARK).fetchone()
    counted, since = _since(db, mark[0] if mark else 1)
    rest = _table(db)
    for place, losses in since.items():
        pairs = zip(rest[place], losses, strict=True)
        rest[place] = tuple(_text(exact(told) - loss) for told, loss in pairs)
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


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
