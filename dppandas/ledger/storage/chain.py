"""The chain of events in a ledger's file, and whether what is kept beside it follows from it.

A table holds what is spent at each place, so that no charge has to add up all charges before it.
Now and then an event (a *count*) records the hash of that table, and of the events that all else
rests on: the budget, and the sources with their keys. So opening a file reads only those events and
the ones since the last count: with their charges taken off, the table must have the recorded hash.
It also says how many charges were answered by then, and what the ledger says against its figures,
so that showing a long ledger reads no more than opening it (counts of older files don't say so).

That finds edits and damage, not forgers: a hash holds no secret, and whoever can write the file can
append such an event too. `dppandas verify` trusts no count and adds up everything; only a hash that
was noted elsewhere gives away a file that was rewritten as a whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

#: The table is hashed after this many charges.
EVERY = 256

#: What reading an event that dppandas didn't write may raise.
UNREADABLE = (
    ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError,
)  # fmt: skip
#: An event as it stands in the file.
Row = tuple[int, str, int | None, str | None, str, str]

_MARK = "SELECT number, body FROM events WHERE kind = 'counted' ORDER BY number DESC LIMIT 1"
ROWS = "SELECT number, kind, release, key, body, hash FROM events"
_TABLE = "SELECT source, path, epsilon, delta, rho FROM spending"
_SINCE = f"{ROWS} WHERE number >= ? ORDER BY number"
#: Writes what an event says.
_BODY = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":"))
#: The kinds of events that all else rests on.
FIXED = ("opened", "source")


def append(
    db: sqlite3.Connection, kind: str, body: dict[str, Any], release: int | None, key: str | None
) -> str:
    """One more event, chained to the last. Returns its hash."""
    last = db.execute("SELECT number, hash FROM events ORDER BY number DESC LIMIT 1").fetchone()
    number, before = (last[0] + 1, last[1]) if last else (1, "")
    said = number, kind, release, key, _BODY.encode(body)
    link = linked(before, *said)
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (*said, link))
    return link


def linked(
    before: str, number: int, kind: str, release: int | None, key: str | None, body: str
) -> str:
    """The hash of an event: of all that it says, and of the hash before it."""
    return sealed([before, number, kind, release, key, body])


def source(db: sqlite3.Connection, name: str) -> str | None:
    """What the event of a source says; None if there is none. ValueError if it was changed."""
    row = db.execute(f"{ROWS} WHERE kind = 'source' AND key = ?", (name,)).fetchone()
    return None if row is None else _checked(db, row)[4]


def _checked(db: sqlite3.Connection, row: Row) -> Row:
    """An event, whose hash must follow from what it says."""
    number, *said, link = row
    before = "" if number == 1 else _hash(db, number - 1)
    if linked(before, number, *said) != link:  # type: ignore[arg-type]
        raise ValueError
    return row


def count(db: sqlite3.Connection, more: dict[str, Any]) -> None:
    """Append an event with the hashes of the table, and of the events that all else rests on; and
    with more to say."""
    spent, rests_on = digest(db.execute(_TABLE)), sealed(_fixed(db))
    append(db, "counted", {"spent": spent, "rests_on": rests_on, **more}, None, None)


def last_count(db: sqlite3.Connection) -> tuple[int, Any]:
    """The number of the last count, and what it says; 0 and nothing before the first."""
    number, text = db.execute(_MARK).fetchone() or (0, "{}")
    return number, json.loads(text)


def sealed(values: Sequence[Any]) -> str:
    """One hash of several values, such as other hashes."""
    return sha256(json.dumps(values).encode()).hexdigest()


def _fixed(db: sqlite3.Connection, end: int = 2**63 - 1) -> list[str]:
    """The hashes of the events that all else rests on, before a number; each recomputed."""
    first = db.execute(f"{ROWS} WHERE number = 1").fetchone()
    if first[1] != "opened":
        raise ValueError
    # +number, or SQLite would look for sources among all events, and not in their index
    sources = f"{ROWS} WHERE kind = 'source' AND +number < ? ORDER BY +number"
    return [_checked(db, row)[5] for row in [first, *db.execute(sources, (end,)).fetchall()]]


def digest(rows: Iterable[Sequence[str]]) -> str:
    """One hash of what is spent at each place where anything is."""
    return sealed(sorted([*row] for row in rows if any(map(exact, row[2:]))))


def is_followed(db: sqlite3.Connection) -> bool:
    """Whether the table of what is spent follows from the events. Read within a transaction."""
    try:
        number, said = last_count(db)
        start = number or 1
        fixed = sealed(_fixed(db, start))
        if said.get("rests_on", fixed) != fixed:  # counts of older files don't say it
            return False
        counted, since = _since(db, start)
        rest = {(source, path): losses for source, path, *losses in db.execute(_TABLE)}
        for place, losses in since.items():
            pairs = zip(rest[place], losses, strict=True)
            rest[place] = [exact_text(exact(told) - loss) for told, loss in pairs]
        return digest([*place, *losses] for place, losses in rest.items()) == counted
    except UNREADABLE:
        return False


def whole(db: sqlite3.Connection) -> str:
    """The hash of the last event, if all events follow from the first, and the table of what is
    spent from all charges; ValueError if not. Read within a transaction."""
    _, charged = _since(db, 1)
    sums = ([*place, *map(exact_text, losses)] for place, losses in charged.items())
    if digest(sums) != digest(db.execute(_TABLE)):
        raise ValueError
    return str(one(db, "SELECT hash FROM events ORDER BY number DESC"))


def _since(db: sqlite3.Connection, start: int) -> tuple[str, dict[tuple[str, str], list[Fraction]]]:
    """The last count's hash of the table, and what each place was charged since. Every hash of an
    event is recomputed."""
    before = "" if start == 1 else _hash(db, start - 1)
    counted, charged = digest(()), dict[tuple[str, str], list[Fraction]]()
    for expected, row in enumerate(db.execute(_SINCE, (start,)), start=start):
        number, kind, release, key, text, link = row
        if number != expected or linked(before, number, kind, release, key, text) != link:
            raise ValueError
        before = link
        if kind == "counted":
            counted = json.loads(text)["spent"]
        elif kind == "charge":
            body = json.loads(text)
            others = [(each["source"], each["path"]) for each in body.get("others", ())]
            for source, path in [(body["source"], body["path"]), *others]:
                sums = charged.setdefault((source, place_text(path)), [Fraction(0)] * 3)
                for i, told in enumerate(body["loss"]):
                    sums[i] += exact(told)
    return counted, charged


#: What tells one part of a partition from others.
PLACE = ("partition", "key", "rows")


def place_text(path: Any) -> str:
    """A path of a charge as the table of what is spent has it: its parts without their words. Up to
    schema 4 a charge had them so, too."""
    bare = [[part[name] for name in PLACE] if isinstance(part, dict) else part for part in path]
    return json.dumps(bare)


def one(db: sqlite3.Connection, sql: str, *values: Any) -> Any:
    """The one value that a query finds; None where it finds no row."""
    row = db.execute(sql, values).fetchone()
    return None if row is None else row[0]


def _hash(db: sqlite3.Connection, number: int) -> str:
    return str(one(db, "SELECT hash FROM events WHERE number = ?", number))


@lru_cache(maxsize=4096)
def exact(told: str) -> Fraction:
    """A fraction from its text, such as "1/10"."""
    return Fraction(told)


def exact_text(value: Fraction) -> str:
    """A fraction as text that `exact` reads: no float is precise enough."""
    return f"{value.numerator}/{value.denominator}"
