"""How a ledger stands besides what it has spent, which its counts say: answers, and doubts."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest
from effort import calls
from ledgers import DRAFT, agreed, limit

from dppandas.ledger.storage import chain, schema
from dppandas.ledger.storage.schema import Standing
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.losses import Epsilon, Loss

TINY = DRAFT._replace(loss=Loss(Epsilon(1, 7000)), key="")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A charge that was answered, one that failed, and data that nobody compared, before a count;
    another answer and other data after it."""
    path = tmp_path / "a.ledger"
    store = SqliteStore(path, limit(10**6))
    for statuses, version in ((("released", "failed"), "1"), (("released",), "2")):
        store.note_not_compared("people", version)
        for status in statuses:
            (entry,) = store.add([TINY._replace(version=version)], agreed)
            store.settle(entry.number, status)
        if version == "1":
            store.add([TINY] * chain.EVERY, agreed)
    store.close()
    return path


def lines(file: Path) -> list[tuple[int, str, int | None, str | None, dict[str, object]]]:
    with contextlib.closing(sqlite3.connect(file)) as db:
        rows = db.execute("SELECT number, kind, release, key, body FROM events ORDER BY number")
        return [(*row[:4], json.loads(row[4])) for row in rows]


def count_says(file: Path, **said: object) -> None:
    """Write other words into the count, None for none, and make all hashes fit again."""
    before = ""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as db:
        for number, kind, release, key, body in lines(file):
            if kind == "counted":
                body = {k: v for k, v in {**body, **said}.items() if v is not None}
            text = chain._BODY.encode(body)
            before = chain.linked(before, number, kind, release, key, text)
            row = text, before, number
            db.execute("UPDATE events SET body = ?, hash = ? WHERE number = ?", row)


def standings(file: Path) -> tuple[Standing, Standing]:
    """By the last count, and by all events."""
    with contextlib.closing(sqlite3.connect(file)) as db:
        return schema.standing(db), schema.standing(db, Standing())


def shown(file: Path) -> tuple[int, object]:
    store = SqliteStore(file)
    try:
        return store.answered(), store.caveats
    finally:
        store.close()


def test_a_count_says_what_all_events_say(file: Path) -> None:
    (count,) = [body for _, kind, *_, body in lines(file) if kind == "counted"]
    assert (count["answered"], count["caveats"]) == (1, [[], [["people", "1"]]])
    by_count, by_all = standings(file)
    assert by_count == by_all
    assert shown(file) == (2, by_all.caveats)
    assert by_all.caveats.not_compared == (("people", "1"), ("people", "2"))
    assert verified(file).is_sound


def test_a_count_that_says_less_is_not_needed(file: Path) -> None:
    """As older versions wrote it, or with too many doubts for one event."""
    expected = shown(file)
    count_says(file, answered=None, caveats=None)
    assert shown(file) == expected
    assert verified(file).is_sound
    many = tuple(("people", str(i)) for i in range(schema._MOST + 1))
    assert Standing(1, 1, schema.Caveats((), many)).to_json() == {}


@pytest.mark.parametrize("said", [{"answered": 0}, {"caveats": [[], []]}, {"answered": True}])
def test_a_wrong_count_is_told(file: Path, said: dict[str, object]) -> None:
    count_says(file, **said)
    (found,) = verified(file).deviations
    assert "its answers or caveats aren't those of the events before it" in str(found)


def test_a_long_ledger_is_shown_like_a_short_one(file: Path) -> None:
    """In steps of SQLite: no event before the last count is read, and no charge of a new source."""

    def look() -> None:
        store = SqliteStore(file, reading=True)
        assert store.answered() == 2
        assert len(store.caveats.not_compared) == 2
        assert store.charges_of("others", "1") == 0
        store.close()

    short = calls(look)
    store = SqliteStore(file)
    store.add([TINY] * (8 * chain.EVERY), agreed)
    store.add([TINY._replace(version="2")], agreed)
    store.close()
    assert calls(look) < 1.2 * short
