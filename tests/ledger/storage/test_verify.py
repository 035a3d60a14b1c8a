"""A ledger's file is verified: what was done to it is found and told, and it stays as it is."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from effort import calls
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import DRAFT, agreed, change, limit
from operations import letters
from refusals import refusal

import dppandas as dp
from dppandas import __main__
from dppandas.errors import StoreError
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.storage import chain, paths, schema, verify
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Registered
from dppandas.ledger.storage.verify import verified
from dppandas.ledger.words import ELSEWHERE
from dppandas.privacy.accounting.composition import ParallelComposition, Part, Place, first_beyond
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss

TERMS = limit(2)
TINY = DRAFT._replace(loss=Loss(Epsilon(1, 7000)))
Tampering = Callable[[Path], object]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Events: 1 opened, 2 source, then 3 a charge, 4 its outcome, …, 9 a charge, 10 its outcome;
    11 a charge in a part, and 12 one of which nobody knows the outcome."""
    path = tmp_path / "a.ledger"
    store = SqliteStore(path, TERMS)
    store.register(Registered("people", "each row", b"1"))
    for i in range(4):
        (entry,) = store.add([DRAFT], agreed)
        store.settle(entry.number, "failed" if i == 1 else "released", None if i == 1 else [3, -4])
    store.add([DRAFT._replace(path=(Part("sex", key, 1),)) for key in "fm"], agreed)
    store.close()
    return path


def database(file: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(file, isolation_level=None))


def one(file: Path, query: str) -> Any:
    with database(file) as db:
        return db.execute(query).fetchone()[0]


def forge(file: Path) -> None:
    """Number all events anew and make all hashes fit: what who can write the whole file can do."""
    with database(file) as db:
        rows = db.execute("SELECT number, kind, release, key, body FROM events ORDER BY number")
        before = ""
        for new, (number, *said) in enumerate(rows.fetchall(), start=1):
            before = chain.linked(before, new, *said)
            row = (new, before, number)
            db.execute("UPDATE events SET number = ?, hash = ? WHERE number = ?", row)


def edit(file: Path, number: int, **changes: object) -> None:
    """Other words in an event's body."""
    body = {**json.loads(one(file, f"SELECT body FROM events WHERE number = {number}")), **changes}
    with database(file) as db:
        db.execute("UPDATE events SET body = ? WHERE number = ?", (json.dumps(body), number))


def told(file: Path, head: str | None = None) -> str:
    return "\n".join(map(str, verified(file, head).deviations))


def test_a_file_as_it_was_written_is_sound(file: Path) -> None:
    verdict = verified(file)
    assert verdict.is_sound, told(file)
    assert (verdict.events, verdict.schema, len(verdict._entries)) == (12, schema.VERSION, 6)
    assert (verdict.sources, verdict._terms) == (("people",), TERMS)
    store = SqliteStore(file)
    assert verdict.spent == store.spending.total == Loss(Epsilon(1, 2))
    assert store.sealed()[1] == verdict.head


def test_what_real_sessions_write_is_sound(tmp_path: Path) -> None:
    every: list[Any] = [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-6}, {"rho": 1, "delta": 1e-6}]
    for terms in every:
        file = tmp_path / "_".join(terms)
        dp.session(store=file, **terms)
        df = letters().assign(u=[i // 4 for i in range(100)])
        people = dp.protect(df, name="ünï 'q'", version="1", unit="u", max_rows=2)
        for _ in range(2):
            people["g"].value_counts(keys=["a", "b"], epsilon="1/3", fresh=True)
        people["a"].median(bounds=(0, 100), epsilon=0.1)
        people.count(epsilon=0.1)
        dp.private(df, unit="u", max_rows=1).count(epsilon=0.1)
        dp.reset()
        assert told(file) == ""


def sql(*statements: str) -> Tampering:
    return lambda file: change(file, *statements)


def says(number: int, **changes: object) -> Tampering:
    return lambda file: edit(file, number, **changes)


def update(column: str, number: int) -> Tampering:
    return sql(f"UPDATE events SET {column} WHERE number = {number}")


def delete(*numbers: int) -> Tampering:
    return sql(*(f"DELETE FROM events WHERE number = {number}" for number in numbers))


def again(number: int, *before: str) -> Tampering:
    """An event's copy, as event 13."""
    copy = "INSERT INTO events SELECT 13, kind, release, key, body, hash FROM events"
    return sql(*before, f"{copy} WHERE number = {number}")


def asking(**said: object) -> dict[str, Any]:
    """A question as a charge has it."""
    return {"question": {"verb": {"name": "count"}, **said}}


def stating(unit: Any, error: float) -> dict[str, Any]:
    """An error of an answer."""
    widths = {"column": "x", "figure": "", "unit": unit, "each": [error]}
    return {"half_widths": [widths], "scale": [1.0], "confidence": 0.95}


UNREAD = "event 4: what it says of the outcome can't be read"


def loss(epsilon: str, delta: str = "0/1") -> list[str]:
    return [epsilon, delta, "0/1"]


#: What is done to the file, and what has to be told of it.
TAMPERED: dict[str, tuple[Tampering, str]] = {
    "a loss": (says(5, loss=loss("1/100")), "event 5: its hash doesn't fit"),
    "the budget": (says(1, limit=loss("9/1")), "event 1: its hash"),
    "an answer": (says(4, answer=[3, -5]), "event 4: its hash doesn't fit"),
    "a source's key": (says(2, key="00"), "event 2: its hash doesn't fit"),
    "the key of an answer": (
        update("key = 'j'", 4), "event 4: it keeps an answer to another query than release 1"),
    "an event deleted": (delete(5), "event 6: before it, 5 is missing"),
    "two events deleted": (delete(5, 6), "event 7: before it, 5 to 6 is missing"),
    "the first event deleted": (delete(1), "no event says what the budget is"),
    "two events swapped": (
        sql(*(f"UPDATE events SET number = {to} WHERE number = {of}"
              for of, to in ((3, 99), (7, 3), (99, 7)))),
        "event 3: its hash doesn't fit"),
    "a hash": (update(f"hash = '{'0' * 64}'", 12), "event 12: its hash doesn't fit"),
    "the cache": (
        sql("UPDATE spending SET epsilon = '0/1' WHERE path = '[]'"),
        "the table of what is spent says ε = 0 of 'people', and the charges add up to ε = 0.4"),
    "the cache emptied": (
        sql("DELETE FROM spending WHERE path != '[]'"),
        "of 'people', sex = f, and the charges add up to ε = 0.1"),
    "the cache with more": (
        sql("INSERT INTO spending VALUES ('x', '[]', '1/1', '0/1', '0/1')"),
        "says ε = 1 of 'x', and the charges add up to ε = 0"),
    "a cache that can't be read": (
        sql("UPDATE spending SET epsilon = 'much' WHERE path = '[]'"),
        "the table of what is spent can't be read"),
    "a column": (
        sql("ALTER TABLE events ADD COLUMN extra TEXT"),
        "the table 'events' is not as dppandas makes it"),
    "a table": (sql("CREATE TABLE t (x)"), "the table 't' isn't one that dppandas"),
    "a trigger": (
        sql("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM spending; END"),
        "the trigger 't' isn't one that dppandas creates"),
    "an index dropped": (sql("DROP INDEX outcomes"), "the index 'outcomes' is missing"),
    "a lease of what is answered": (
        sql("INSERT INTO leases VALUES ('k', 9, 1)"), "release 1 doesn't fit its lease"),
    "a lease of nothing": (sql("INSERT INTO leases VALUES ('k', 9, 99)"), "release 99 doesn't fit"),
    "a lease of another query": (
        sql("INSERT INTO leases VALUES ('j', 1, 6)"), "release 6 doesn't fit"),
    "the cache dropped": (sql("DROP TABLE spending"), "'spending' is missing"),
    "the events dropped": (sql("DROP TABLE events"), "'events' is missing"),
    "a mark": (sql("PRAGMA application_id = 0"), "is not marked as a ledger"),
    "a schema": (sql("PRAGMA user_version = 0"), "dppandas has no schema 0"),
    "other types": (update("body = x'00'", 5), "event 5: its types are wrong"),
    "no JSON": (update("body = 'x'", 5), "event 5: what it says of the charge can't be read"),
}  # fmt: skip

#: The same, with hashes that fit: found by what the events say.
FORGED: dict[str, tuple[Tampering, str]] = {
    "a loss, over the budget": (
        says(7, loss=loss("19/10")), "event 7: release 3 brings what is spent to ε = 2.1, over"),
    "a δ where none is promised": (says(7, loss=loss("1/10", "1/100")), "event 7: release 3"),
    "a loss": (says(5, loss=loss("1/100")), "charges add up to ε = 0.31"),
    "a negative loss": (says(5, loss=loss("-1/10")), "event 5: its loss is negative"),
    "a smaller budget": (says(1, limit=loss("1/10")), "event 5: release 2 brings"),
    "a charge deleted": (delete(5), "is the outcome of release 2, which was not charged before"),
    "a charge and its outcome deleted": (delete(5, 6), "event 5: it is release 3, and should be 2"),
    "the opening deleted": (delete(1), "no event says what the budget"),
    "a second opening": (again(1), "event 13: a ledger is opened once"),
    "a source twice": (
        again(2, "DROP INDEX sources"), "event 13: the source 'people' is known already"),
    "a source under another name": (update("key = 'x'", 2), "under another name"),
    "a second outcome": (
        again(4, "DROP INDEX outcomes"), "event 13: release 1 has an outcome already"),
    "an unknown outcome": (
        says(4, status="refunded"), "event 4: 'refunded' isn't an outcome of"),
    "an answer without a key": (update("key = NULL", 4), "without its key"),
    "an answer that can't be read": (
        says(4, answer=[{"x": 1}]), "event 4: what it says of the outcome can't be"),
    "a draw twice": (says(8, draw=1), "event 8: draw 1 of its query is kept already"),
    "a draw of no number": (says(8, draw="x"), "event 8: 'x' isn't the number of a draw"),
    "a wrong count": (
        sql("INSERT INTO events VALUES (13, 'counted', NULL, NULL, '{\"spent\": \"0\"}', '')"),
        "event 13: what it says was spent doesn't follow from the charges before it"),
    "an unknown kind": (update("kind = 'refund'", 4), "event 4: 'refund' isn't a kind of event"),
    "a charge of other types": (
        says(5, question=3), "event 5: what it says of the charge can't be read"),
    **{
        f"a charge with {name}": (
            says(5, **said), "event 5: what it says of the charge can't be read")
        for name, said in {
            "a question of other types": asking(where=3),
            "a question in the place of parts": {"question": []},
            "a question without a verb": {"question": {}},
            "a verb in words alone": {"question": {"verb": ["count", "", "", "", []]}},
            "a verb without a name": {"question": {"verb": {"of": "count"}}},
            "a verb with words of other types": {"question": {"verb": {"name": "x", "of": 3}}},
            "figures that are no verbs": {"question": {"verb": {"name": "x", "figures": ["y"]}}},
            "an option without a value": asking(options=[{"name": "by"}]),
            "an option of another type": asking(options=[{"name": "by", "text": 3}]),
            "columns by place": asking(columns=[["age", "", "", False]]),
            "a column of another type": asking(columns=[{"name": 3}]),
            "columns that are no list": asking(columns=3),
            "a threshold by itself": {"threshold": 14},
            "a threshold of a text": {"threshold": {"least": "14", "of": "count"}},
            "a threshold of nothing": {"threshold": {"least": 14}},
            "a program as a text": {"program": "split 3"},
            "a program without a number": {"program": {"name": "split"}},
            "a program of another number": {"program": {"name": "split", "number": "3"}},
            "a path as a text": {"path": "sex"},
            "a part without a label": {"path": [{"partition": "sex", "key": "f", "rows": 1}]},
            "a part of other types": {
                "path": [{"partition": "p", "key": "f", "rows": 1, "columns": 3, "label": "f"}]},
            "another source by place": {"others": [["x", None, []]]},
            "another source of another type": {
                "others": [{"source": 3, "version": None, "path": []}]},
        }.items()
    },
    "an error by place": (
        says(4, error={**stating("x", 1), "half_widths": [["x", "", "", [1]]]}), UNREAD),
    "an error of another unit": (says(4, error=stating(3, 1)), UNREAD),
    "an error without widths": (says(4, error={"scale": [1.0], "confidence": 0.95}), UNREAD),
    "an error longer than any time": (says(4, error=stating("ns", 10**30)), UNREAD),
    "an error of half a nanosecond": (says(4, error=stating("ns", 0.5)), UNREAD),
    "an error beyond all floats": (says(4, error=stating("x", 10**400)), UNREAD),
    "an error below 0": (says(4, error=stating("x", -1)), UNREAD),
    "an error that is no number": (says(4, error=stating("x", float("inf"))), UNREAD),
    "a charge at no time": (
        says(5, time=float("nan")), "event 5: what it says of the charge can't be"),
}  # fmt: skip


#: What only `show` and `export` would meet, if nobody verified the file first.
UNSHOWN = [name for name, (_, expected) in FORGED.items() if expected.endswith("can't be read")]

#: What opening a file notices, after so many charges.
NOTICED: dict[str, Tampering] = {
    "less spent": sql("UPDATE spending SET epsilon = '1/10' WHERE path = '[]'"),
    "more spent": sql("UPDATE spending SET epsilon = '99/1' WHERE path = '[]'"),
    "other δ": sql("UPDATE spending SET delta = '1/9' WHERE path = '[]'"),
    "less in a part": sql("UPDATE spending SET epsilon = '0/1' WHERE path != '[]'"),
    "a place left out": sql("DELETE FROM spending WHERE path != '[]'"),
    "none left": sql("DELETE FROM spending"),
    "one more": sql("INSERT INTO spending VALUES ('x', '[]', '1/1', '0/1', '0/1')"),
    "another name": sql("UPDATE spending SET source = 'x' WHERE path = '[]'"),
    "no number": sql("UPDATE spending SET rho = 'much' WHERE path = '[]'"),
    "a place in other words": sql("UPDATE spending SET path = '[ ]' WHERE path = '[]'"),
    "a place twice": sql(
        "INSERT INTO spending VALUES ('people', '[[\"sex\", \"f\", 1.0]]', '0/1', '0/1', '0/1')"
    ),
    "the budget": says(1, limit=loss("300/1")),
    "the key of a source": says(2, key="32"),
    "the last charge": lambda f: edit(f, last_charge(f), loss=loss("0/1")),
    "a charge less": lambda f: delete(last_charge(f))(f),
}


def last_charge(file: Path) -> int:
    return int(one(file, "SELECT max(number) FROM events WHERE kind = 'charge'"))


def of_schema_2(file: Path) -> None:
    """As a dppandas wrote it that knew neither leases nor counts, nor numbers of draws."""
    change(
        file, "DELETE FROM events WHERE kind = 'counted'", "DROP TABLE leases",
        "UPDATE events SET body = json_remove(body, '$.draw')", "PRAGMA user_version = 2",
    )  # fmt: skip
    forge(file)


@pytest.mark.parametrize("charges", [0, chain.EVERY - 1, chain.EVERY, 2 * chain.EVERY + 5, -300])
@pytest.mark.parametrize("what", NOTICED)
def test_what_is_spent_is_checked_against_the_events(file: Path, what: str, charges: int) -> None:
    store = SqliteStore(file)
    for _ in range(3):  # several transactions, one of which is counted
        store.add([TINY] * (abs(charges) // 3), agreed)
    store.add([TINY], agreed)
    store.close()
    if charges < 0:
        of_schema_2(file)
    SqliteStore(file).close()
    assert told(file) == ""
    NOTICED[what](file)
    before = file.read_bytes()
    opened = partial(SqliteStore, file)
    for each in (lambda: dp.session(store=file), partial(opened, reading=True), opened):
        refusal(each, "what it says is spent doesn't follow from its", StoreError)
    assert file.read_bytes() == before


@pytest.mark.parametrize("number", [1, 2])
def test_the_budget_and_the_sources_are_those_that_were_counted(file: Path, number: int) -> None:
    """Whose own hash was made to fit, where nothing reads on to the next event."""
    store = SqliteStore(file)
    store.add([TINY] * chain.EVERY, agreed)
    store.close()
    edit(file, number, limit=loss("300/1"), key="32")
    before = "" if number == 1 else one(file, "SELECT hash FROM events WHERE number = 1")
    query = f"SELECT number, kind, release, key, body FROM events WHERE number = {number}"
    with database(file) as db:
        said = chain.linked(before, *db.execute(query).fetchone())
    update(f"hash = '{said}'", number)(file)
    refusal(lambda: SqliteStore(file), "its budget or a source was changed", StoreError)
    assert "was another one when it was counted" in told(file)


def test_a_count_of_an_older_version_is_read(file: Path) -> None:
    """It says nothing of the budget and the sources, of which it is believed as before."""
    store = SqliteStore(file)
    store.add([TINY] * chain.EVERY, agreed)
    store.close()
    change(file, "UPDATE events SET body = json_remove(body, '$.rests_on')")
    assert one(file, "SELECT max(number) FROM events WHERE kind = 'counted'") > 1
    forge(file)
    SqliteStore(file).close()
    assert told(file) == ""


def test_no_count_vouches_for_an_edit(file: Path) -> None:
    """The table was hashed as it stood: an edit that waited for the next count was believed."""
    store = SqliteStore(file)
    change(file, "UPDATE spending SET epsilon = '0/1' WHERE path = '[]'")
    draft = TINY._replace(source="others")
    with pytest.raises(StoreError, match="doesn't follow from its charges"):
        store.add([draft] * chain.EVERY, agreed)
    assert store.count() == 6
    store.close()
    refusal(lambda: SqliteStore(file), "doesn't follow from its charges", StoreError)


@pytest.mark.parametrize("ending", ["html", "json", "yaml", "csv"])
@pytest.mark.parametrize("changed", ["loss", "lineage", "spending"])
def test_no_statement_says_less_than_was_charged(file: Path, changed: str, ending: str) -> None:
    """Opening a file trusts its last count; what is published trusts nothing but the charges."""
    store = SqliteStore(file)
    store.add([TINY] * chain.EVERY, agreed)
    store.close()
    statement = file.with_suffix(f".{ending}")
    if changed != "spending":  # a file that opens
        said = {"loss": loss("1/7000"), "lineage": "verified, by hand"}
        edit(file, 3, **{changed: said[changed]})
    ledger = dp.types.Ledger(TERMS, SqliteStore(file))
    if changed == "spending":
        ledger.export(statement)
        statement.unlink()
        change(file, "UPDATE spending SET epsilon = '1/10' WHERE path = '[]'")
    refusal(lambda: ledger.export(statement), "doesn't follow from its charges", StoreError)
    assert not statement.exists()


def test_a_source_that_was_changed_is_not_used(file: Path) -> None:
    store = SqliteStore(file)
    edit(file, 2, key="32")
    refusal(lambda: store.registered("people"), "a source was changed", StoreError)


def test_a_place_in_other_words_is_not_read(file: Path) -> None:
    store = SqliteStore(file)
    NOTICED["a place in other words"](file)
    store._known = None  # as after a charge of another kernel
    with pytest.raises(StoreError, match="is damaged"):
        _ = store.spending
    assert "can't be read" in told(file)


def test_a_count_is_believed_by_no_hash_of_its_own(file: Path) -> None:
    """Who edits the table and the last count, and doesn't write all hashes since anew."""
    store = SqliteStore(file)
    store.add([DRAFT] * 300, agreed)
    store.add([DRAFT], agreed)
    store.close()
    number = one(file, "SELECT max(number) FROM events WHERE kind = 'counted'")
    NOTICED["less spent"](file)
    refusal(lambda: SqliteStore(file), "doesn't follow", StoreError)
    with database(file) as db:
        db.execute("DELETE FROM events WHERE number > ?", (number,))
        rows = list(db.execute(chain._TABLE))
    edit(file, number, spent=chain.digest(rows))
    refusal(lambda: SqliteStore(file), "doesn't follow", StoreError)


def test_a_file_of_schema_2_replays_as_it_is_and_is_migrated_by_a_charge(file: Path) -> None:
    of_schema_2(file)
    assert (told(file), verified(file).schema) == ("", 2)

    def replayed() -> None:
        store = SqliteStore(file)
        answers = [store.stored("k", draw) for draw in (1, 2, 3, 4)]
        assert [a and (a.entry.number, a.draw) for a in answers] == [(1, 1), (3, 2), (4, 3), None]
        assert store.spending.total == Loss(Epsilon(1, 2))
        store.close()
        SqliteStore(file, reading=True).close()

    left_as_it_is(file, replayed)
    store = SqliteStore(file)
    (entry,) = store.add([DRAFT], agreed)
    assert store.settle(entry.number, "released", [5]) == 4
    answer = store.stored("k", 4)
    assert answer is not None
    assert list(answer.noisy) == [5]
    store.close()
    assert (told(file), verified(file).schema) == ("", schema.VERSION)
    SqliteStore(file)


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_done_to_a_file_is_found(file: Path, what: str) -> None:
    tamper, expected = TAMPERED[what]
    tamper(file)
    assert expected in told(file)
    assert __main__.main(["verify", str(file)]) == 1


@pytest.mark.parametrize("what", FORGED)
def test_what_was_done_is_found_though_all_hashes_fit(file: Path, what: str) -> None:
    tamper, expected = FORGED[what]
    tamper(file)
    forge(file)
    assert "hash" not in told(file)
    assert expected in told(file)


@pytest.mark.parametrize("what", UNSHOWN)
def test_what_cannot_be_read_is_called_damaged(file: Path, what: str, capsys: Any) -> None:
    FORGED[what][0](file)
    forge(file)
    assert __main__.main(["show", str(file), "--all"]) == 2
    assert re.search("is damaged|can't be used", capsys.readouterr().err)
    assert __main__.main(["export", str(file), str(file.with_name("a.json"))]) == 2


def test_one_change_is_told_once(file: Path) -> None:
    edit(file, 4, answer=[3, -5])
    (deviation,) = verified(file).deviations
    assert deviation.event == 4


def test_a_file_written_anew_or_cut_off_is_told_by_a_hash_noted_elsewhere(file: Path) -> None:
    head = verified(file).head
    earlier = one(file, "SELECT hash FROM events WHERE number = 4")
    assert (verified(file, head)._noted, verified(file, earlier)._noted) == (12, 4)
    change(file, "DELETE FROM events WHERE number >= 11", "DELETE FROM spending WHERE path != '[]'")
    assert told(file) == ""  # the chain alone can't tell
    assert "no event has the hash that was noted" in told(file, head)
    assert told(file, earlier) == ""
    edit(file, 4, answer=[3, -5])
    forge(file)
    assert told(file) == ""
    assert "no event has the hash that was noted" in told(file, earlier)
    refusal(lambda: verified(file, "abc"), "64 hexadecimal digits")


def test_damaged_pages_are_told(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    whole[4096:] = b"\xa5" * (len(whole) - 4096)
    file.write_bytes(whole)
    assert "the database is damaged" in told(file) or "can't be read" in told(file)
    assert __main__.main(["verify", str(file)]) == 1


def test_an_index_that_says_something_else_is_told(file: Path) -> None:
    """The events are as they were; SQLite's own check alone can tell."""
    root = one(file, "SELECT rootpage FROM sqlite_master WHERE name = 'sources'")
    size = one(file, "PRAGMA page_size")
    whole = bytearray(file.read_bytes())
    page = whole[(root - 1) * size : root * size]
    assert page.count(b"people") == 1
    whole[(root - 1) * size : root * size] = page.replace(b"people", b"qeople")
    file.write_bytes(whole)
    assert "the database is damaged: row" in told(file)


def test_any_byte_of_an_event_counts(file: Path) -> None:
    """Whatever letter of whatever column of whatever event is another one."""
    with database(file) as db:
        rows = db.execute("SELECT number, body, hash FROM events").fetchall()
    for number, *texts in rows:
        for column, text in zip(("body", "hash"), texts, strict=True):
            for at in {0, len(text) // 3, len(text) - 1}:
                other = text[:at] + ("b" if text[at] == "a" else "a") + text[at + 1 :]
                update(f"{column} = '{other}'", number)(file)
                assert f"event {number}:" in told(file), (number, column, at)
                update(f"{column} = '{text}'", number)(file)
    assert told(file) == ""


def left_as_it_is(file: Path, action: Callable[[], object]) -> None:
    before, beside = file.read_bytes(), sorted(os.listdir(file.parent))
    stamp = file.stat().st_mtime_ns
    action()
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stamp)
    assert sorted(os.listdir(file.parent)) == beside


def test_a_file_stays_as_it_is_byte_by_byte(file: Path, capsys: Any) -> None:
    def looked() -> None:
        for command in ("verify", "show"):
            __main__.main([command, str(file)])

    left_as_it_is(file, looked)
    change(file, "DROP TABLE spending", "DROP TABLE leases", "PRAGMA user_version = 1")
    left_as_it_is(file, looked)
    assert "older dppandas (schema 1" in capsys.readouterr().err
    assert told(file) == ""  # an older one is brought up to date when it is opened, not here


def test_a_file_in_use_is_verified_with_what_is_in_its_log(file: Path) -> None:
    store = SqliteStore(file)
    store.add([DRAFT], agreed)
    assert paths.is_shared(file)
    verdict = verified(file)
    assert (verdict.events, verdict.is_sound) == (13, True)
    store.add([DRAFT], agreed)
    assert verified(file, verdict.head)._noted == 13


def test_a_session_verifies_its_ledger(tmp_path: Path) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    people = dp.protect(pd.DataFrame({"age": [20, 30]}), name="people", version="1")
    people.count(epsilon=0.5)
    verdict = dp.ledger().verify()
    assert (verdict.is_sound, verdict.spent) == (True, dp.ledger().loss)
    people.count(epsilon=0.25)
    assert dp.ledger().verify(verdict.head).is_sound
    assert "hash that was noted" in str(dp.ledger().verify("0" * 64))
    for wrong in (1, "?"):
        refusal(lambda head=wrong: dp.ledger().verify(head), "64 hexadecimal")
    dp.reset()
    refusal(dp.ledger().verify, "in memory", StoreError)


def test_a_file_that_changes_meanwhile_is_read_again(file: Path, monkeypatch: Any) -> None:
    marks = iter([(1,), (2,), (2,), (2,)])
    monkeypatch.setattr(verify, "stamp", lambda file: next(marks))
    assert verified(file).is_sound
    assert list(marks) == []
    times = iter(range(100))
    monkeypatch.setattr(verify, "stamp", lambda file: (next(times),))
    refusal(lambda: verified(file), "verify a copy", StoreError)


def test_no_ledger_is_refused(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "text").write_text("not a database\n" * 100)
    change(tmp_path / "other.db", "CREATE TABLE t (x)")
    change(
        tmp_path / "new", *schema.EVENTS.split(";\n")[:-1], "PRAGMA application_id = 1685087334",
        f"PRAGMA user_version = {schema.VERSION + 1}",
    )  # fmt: skip
    for name, said in {
        ".": "is a folder", "none": "there is no ledger at", "no/file": "there is no folder",
        "text": "damaged, or no ledger of dppandas", "other.db": "no ledger of dppandas",
        "new": "newer dppandas",
    }.items():  # fmt: skip
        for command in ("verify", "show"):
            assert __main__.main([command, str(tmp_path / name)]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert said in err
            assert err.startswith("dppandas: ")
            assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["new", "other.db", "text"]


# --- the command line -----------------------------------------------------------------------------


def test_verify_prints_the_head_and_the_totals(file: Path, capsys: Any) -> None:
    assert __main__.main(["verify", str(file)]) == 0
    out = capsys.readouterr().out
    head = verified(file).head
    for part in ("a.ledger is sound", "releases: 6 in 12 events", "ε = 2", "ε = 0.5", head):
        assert part in out
    assert __main__.main(["verify", str(file), "--head", head.upper()]) == 0
    assert "event 12; nothing came since" in capsys.readouterr().out
    assert __main__.main(["verify", str(file), "--head", "0" * 64]) == 1
    assert "NOT sound: 1 deviation" in capsys.readouterr().out
    assert __main__.main(["verify", str(file), "--head", "?"]) == 2


def test_many_deviations_are_counted_not_listed(file: Path, capsys: Any) -> None:
    change(file, *(f"CREATE TABLE t{i} (x)" for i in range(60)))
    assert __main__.main(["verify", str(file)]) == 1
    out = capsys.readouterr().out
    assert "60 deviations" in out
    assert "and 10 more" in out


def test_show_shows_what_the_notebook_does(file: Path, capsys: Any) -> None:
    assert __main__.main(["show", str(file)]) == 0
    store = SqliteStore(file)
    assert capsys.readouterr().out == repr(dp.types.Ledger(store.terms, store)) + "\n"
    assert __main__.main(["show", str(file), "--last", "2"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[3] == "and 4 before that: --all"
    assert [line.split()[0] for line in out.splitlines()[5:7]] == ["5", "6"]
    assert out.splitlines()[7:] == [ELSEWHERE]
    assert __main__.main(["show", str(file), "--all"]) == 0
    assert "earlier" not in capsys.readouterr().out


def test_show_obeys_nothing_that_a_ledger_says(tmp_path: Path, capsys: Any) -> None:
    store = SqliteStore(tmp_path / "a.ledger", TERMS)
    store.add([DRAFT._replace(what=earlier("\x1b[2J\u202e count"))], agreed)
    store.close()
    assert __main__.main(["show", str(tmp_path / "a.ledger")]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2J\\u202e count" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "wrong",
    [[], ["sow", "a"], ["show"], ["show", "a", "--last", "0"], ["show", "a", "--last", "x"]],
)
def test_a_wrong_command_says_how_it_is_used(wrong: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as stop:
        __main__.main(wrong)
    assert stop.value.code == 2
    assert "usage: dppandas" in capsys.readouterr().err


def test_the_module_runs_in_a_terminal_without_greek(file: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "dppandas"]
    ran = subprocess.run([*command, "show", str(file)], capture_output=True, text=True, env=env)
    assert ran.returncode == 0
    assert "1.5 of \\u03b5 = 2 left" in ran.stdout
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert ran.stdout == f"dppandas {dp.__version__}\n"
    ran = subprocess.run([*command, "verify", "none"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")


def test_sources_are_told_in_the_order_of_first_use(file: Path) -> None:
    store = SqliteStore(file)
    for source in ("first", "second", "first"):
        store.add([DRAFT._replace(source=source)], agreed)
    assert list(store.spending.by_source()) == ["people", "first", "second"]
    assert told(file) == ""


# --- the limit at every moment --------------------------------------------------------------------

LOSSES = st.builds(lambda e, d: Loss(Epsilon(e), Delta(d)), st.integers(0, 4), st.integers(0, 1))


@st.composite
def charges(draw: Any, rows: st.SearchStrategy[int] | None) -> list[tuple[Place, Loss]]:
    def path() -> Any:
        names = draw(st.lists(st.sampled_from("pq"), max_size=2))
        keys, most = st.sampled_from("xyz"), st.just(None) if rows is None else rows
        return tuple(Part(name, draw(keys), draw(most) or 1 + (name == "q")) for name in names)

    count = draw(st.integers(0, 8))
    return [((draw(st.sampled_from("ab")), path()), draw(LOSSES)) for _ in range(count)]


@settings(max_examples=300)
@given(st.one_of(charges(None), charges(st.integers(1, 3))), LOSSES)
def test_the_first_charge_over_the_limit_is_found(charged: Any, limit: Loss) -> None:
    totals = [ParallelComposition().plus(charged[: i + 1]).total for i in range(len(charged))]
    by_hand = next((i for i, total in enumerate(totals) if not total.within(limit)), None)
    assert first_beyond(charged, limit) == by_hand


# --- effort ---------------------------------------------------------------------------------------


def test_a_long_ledger_is_charged_like_a_short_one_and_never_read_twice(tmp_path: Path) -> None:
    """In calls, and steps of SQLite. benchmarks/ledger.py measures seconds."""
    file, many = tmp_path / "a.ledger", 4000
    store = SqliteStore(file, limit(10**6))
    store.add([DRAFT], agreed)
    charge = partial(store.add, [DRAFT], agreed)
    short = calls(charge)
    store.add([DRAFT] * many, agreed)
    assert calls(charge) < 1.1 * short
    assert store.spending.total == Loss(Epsilon(Fraction(many + 3, 10)))
    store.close()
    assert calls(lambda: SqliteStore(file).spending) < 20 * many  # 80 if charges are added up
    assert calls(lambda: verified(file)) < 1000 * many  # each event once; 500 here
