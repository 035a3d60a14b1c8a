"""Where entries live: one contract for all stores, and what only a file has to stand."""

import contextlib
import itertools
import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import ledgers
import pandas as pd
import pytest
from ledgers import PRELUDE, agreed, anew, change, disagreed, elsewhere, limit, threads
from refusals import raising, refusal
from sizes import size
from waiting import LIMIT

import dppandas as dp
from dppandas.errors import ReleaseFailed, SessionError, SourceError, StoreError
from dppandas.ledger.storage import connections, schema
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Once, Registered, Store
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.composition import Part
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss

TERMS = limit(2)
DRAFT = ledgers.DRAFT._replace(path=(Part("sex", "f", 1),))


def test_entries_are_numbered_and_given_back_as_they_were(store: Store) -> None:
    other = DRAFT._replace(loss=Loss(Epsilon(1, 3), Delta(1, 10**6)), cell=None, path=())
    entries = store.add([DRAFT, other], agreed)
    assert [e.number for e in entries] == [1, 2]
    assert store.entries() == entries == [DRAFT._replace(number=1), other._replace(number=2)]
    assert (store.entries(last=1), store.entries(last=0)) == (entries[1:], [])
    assert store.count() == 2


def test_entries_can_be_read_page_by_page(store: Store) -> None:
    all_of_them = store.add([DRAFT] * 7, agreed)
    for before, last in itertools.product([None, *range(12)], [None, *range(10)]):
        below = [e for e in all_of_them if before is None or e.number < before]
        expected = below if last is None else below[max(0, len(below) - last) :]
        assert store.entries(last, before) == expected, (before, last)


def test_what_is_spent_is_exact_and_known_before_and_after(store: Store) -> None:
    seen: list[tuple[Loss, Loss]] = []
    third = DRAFT._replace(loss=Loss(Epsilon(1, 3)))
    for _ in range(3):
        store.add([third], lambda before, after: seen.append((before, after)))
    assert seen == list(itertools.pairwise([Loss(Epsilon(i, 3)) for i in range(4)]))
    assert store.spending.total == Loss(Epsilon(1))


def test_words_are_found_once_when_an_entry_in_memory_is_read_and_kept_in_a_file(
    store: Store,
) -> None:
    asked: list[str] = []

    def find(name: str) -> Any:
        asked.append(name)
        return {"scale": "7", "error": "± 21"} if name == "words" else None

    draft = DRAFT._replace(scale="", error="", later=(Once(partial(find, "words")),))
    (entry,) = store.add([draft], agreed)
    store.settle(entry.number, "released", [3], released_error=Once(partial(find, "error")))
    assert asked == ([] if store.path is None else ["words", "error"])
    for _ in range(2):
        (read,) = store.entries()
        assert (read.scale, read.error, read.released_error, read.later) == ("7", "± 21", "", ())
        assert read.known_error == entry.known_error == "± 21"
    assert asked == ["words", "error"]


def test_a_check_that_raises_leaves_all_as_it_was(store: Store) -> None:
    store.add([DRAFT], agreed)
    refusal(lambda: store.add([DRAFT, DRAFT], disagreed), "no", ValueError)
    count, spending = store.counted()
    assert (count, spending.total) == (store.count(), store.spending.total) == (1, DRAFT.loss)
    assert [e.number for e in store.add([DRAFT], agreed)] == [2]


def test_parts_are_charged_once(store: Store) -> None:
    store.add([DRAFT, DRAFT._replace(path=(Part("sex", "m", 1),))], agreed)
    assert store.spending.total == DRAFT.loss


def test_an_outcome_is_noted_and_an_answer_kept_for_its_key(store: Store) -> None:
    first, second, third = store.add([DRAFT, DRAFT, DRAFT._replace(key="")], agreed)
    assert store.stored("k", 1) is None
    assert store.settle(second.number, "released", [3, -4]) == 1
    assert store.settle(third.number, "released", [5]) == 0
    assert store.settle(first.number, "failed") == 0
    assert [e.status for e in store.entries()] == ["failed", "released", "released"]
    answer: Any = store.stored("k", 1)
    assert (answer.entry.number, list(answer.noisy), answer.draw) == (2, [3, -4], 1)
    assert store.stored("k", 2) is store.stored("", 1) is store.stored("k", 0) is None


def test_whole_numbers_of_any_size_and_labels_of_any_kind_are_kept(store: Store) -> None:
    noisy = [
        2**70, -(2**53), 0, ("a", (3,)), (1.5, (2,)), (pd.Timestamp("2020-01-01", tz="UTC"), (1,)),
    ]  # fmt: skip
    (entry,) = store.add([DRAFT], agreed)
    store.settle(entry.number, "released", noisy)
    answer: Any = store.stored("k", 1)
    assert list(answer.noisy) == noisy


def test_a_source_is_known_from_its_first_time_on(store: Store) -> None:
    first = Registered("people", "each row", b"1")
    assert store.register(first) == first
    assert store.register(Registered("people", "each id", b"2")) == first


def test_many_threads_are_granted_what_is_there_and_no_more(store: Store) -> None:
    granted: list[int] = []

    def within(before: Loss, after: Loss) -> None:
        if after.epsilon > 2:
            raise ValueError

    def work() -> None:
        for _ in range(10):
            with contextlib.suppress(ValueError):
                granted.append(store.add([DRAFT], within)[0].number)

    with threads([work] * 6):
        pass
    assert sorted(granted) == list(range(1, 21))


# --- a file ---------------------------------------------------------------------------------------


def people(version: str = "1", **terms: Any) -> Any:
    df = pd.DataFrame({"a": range(100), "g": list("ab") * 50, "u": [i // 4 for i in range(100)]})
    return dp.protect(df, name="people", version=version, domain={"g": ["a", "b"]}, **terms)


def test_a_ledger_outlives_its_kernel(tmp_path: Path) -> None:
    file = tmp_path / "fair.ledger"
    dp.session(epsilon=1, store=file)
    answer = people().count(epsilon=0.25)
    dp.reset()
    assert os.listdir(tmp_path) == ["fair.ledger"]  # nothing beside it
    running = dp.session(store=file)
    assert (running.budget, running.spent) == (1, Fraction(1, 4))
    assert people().count(epsilon=0.25) == answer
    assert running.spent == Fraction(1, 4)
    with pytest.raises(dp.BudgetExceeded, match=r"asks for ε = 0.8; 0.75 of 1 is left"):
        people().size(epsilon=0.8)


@pytest.mark.parametrize("other", [{"epsilon": 2}, {"epsilon": 1, "delta": 1e-6}])
def test_another_budget_is_refused_and_changes_nothing(tmp_path: Path, other: Any) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=1, store=file)
    dp.reset()
    before = file.read_bytes()
    refusal(lambda: dp.session(store=file, **other), "has a budget of ε = 1, not", SessionError)
    assert file.read_bytes() == before
    assert dp.session(epsilon=1, store=file).budget == 1


def test_another_unit_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    people(unit="u", max_rows=2)
    anew(epsilon=1, store=tmp_path / "a.ledger")
    for other in ({"unit": "u", "max_rows": 3}, {}):
        with pytest.raises(SourceError, match="the ledger says that 'people' protects"):
            people(**other)
    people(unit="u", max_rows=2)


def test_a_new_version_is_asked_anew_and_inherits_what_is_spent(tmp_path: Path) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    people().count(epsilon=0.5)
    anew(store=tmp_path / "a.ledger")
    people(version="2").count(epsilon=0.25)
    assert dp.ledger().by_source() == {"people": Fraction(3, 4)}


def test_the_same_rows_of_a_unit_are_kept_after_a_restart(tmp_path: Path, exact: None) -> None:
    sums = []
    for _ in range(3):
        dp.session(epsilon=10, store=tmp_path / "a.ledger")
        sums.append(people(unit="u", max_rows=2)["a"].sum(bounds=(0, 100), epsilon=1, fresh=True))
        dp.reset()
    assert sums[0] == sums[1] == sums[2]


def test_a_running_session_is_gone_on_with_where_its_ledger_is_kept(tmp_path: Path) -> None:
    running = dp.session(epsilon=1, store=tmp_path / "a.ledger")
    assert dp.session(epsilon=1, store=str(tmp_path / "a.ledger")) is running
    assert dp.session() is running
    with pytest.raises(SessionError, match="keeps its ledger elsewhere"):
        dp.session(store=tmp_path / "b.ledger")
    anew(epsilon=1)
    with pytest.raises(SessionError, match="keeps its ledger elsewhere"):
        dp.session(store=tmp_path / "a.ledger")


def bad_paths(tmp_path: Path) -> list[tuple[object, str]]:
    (tmp_path / "text.ledger").write_text("not a database at all\n" * 100)
    change(tmp_path / "other.db", "CREATE TABLE t (x)")
    return [
        (tmp_path, "is a folder"), ("/dev/null", "isn't a regular file"),
        (tmp_path / "none" / "a.ledger", "there is no folder"),
        (tmp_path / "text.ledger", "damaged, or no ledger"),
        (tmp_path / "other.db", "no ledger of dppandas"), (3, "must be the path of a file"),
        ("", "must be the path of a file"), (True, "must be the path of a file"),
    ]  # fmt: skip


def test_a_path_that_holds_no_ledger_is_refused(tmp_path: Path) -> None:
    for path, said in bad_paths(tmp_path):
        before = sorted(p.name for p in tmp_path.iterdir())
        with pytest.raises(SessionError, match=said):
            dp.session(epsilon=1, store=path)  # type: ignore[arg-type]
        assert sorted(p.name for p in tmp_path.iterdir()) == before
        assert dp.ledger().budget is None  # no session was left behind
        dp.reset()


def test_a_new_ledger_needs_a_budget(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="a new one needs a budget"):
        dp.session(store=tmp_path / "a.ledger")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_told_and_nothing_is_released(tmp_path: Path) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    people().count(epsilon=0.5)
    dp.reset()
    whole = (tmp_path / "a.ledger").read_bytes()
    (tmp_path / "a.ledger").write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    refusal(lambda: dp.session(epsilon=1, store=tmp_path / "a.ledger"), "damaged", StoreError)


def test_a_file_of_a_newer_dppandas_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.ledger", TERMS).close()
    change(tmp_path / "a.ledger", f"PRAGMA user_version = {schema.VERSION + 1}")
    refusal(lambda: SqliteStore(tmp_path / "a.ledger", TERMS), "newer dppandas", StoreError)


def test_a_file_of_schema_1_is_brought_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    store = SqliteStore(file, TERMS)
    store.add([DRAFT, DRAFT._replace(path=()), DRAFT._replace(source="others")], agreed)
    spending, entries = store.spending, store.entries()
    store.close()
    change(file, "DROP TABLE spending", "DROP TABLE leases", "PRAGMA user_version = 1")
    again = SqliteStore(file, TERMS)
    assert (again.spending.losses, again.entries()) == (spending.losses, entries)
    assert again.terms == TERMS


def test_a_read_only_file_replays_and_charges_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=1, store=file)
    answer = people().count(epsilon=0.5)
    dp.reset()
    before = file.read_bytes()
    monkeypatch.setattr(connections, "is_writable", lambda path: False)  # root may write everywhere
    dp.session(store=file)
    assert people().count(epsilon=0.5) == answer
    refusal(lambda: people().size(epsilon=0.1), "can only be read here", StoreError)
    with pytest.raises(StoreError, match="can only be read here"):
        dp.protect(pd.DataFrame({"a": [1]}), name="new", version="1")
    dp.reset()
    assert file.read_bytes() == before


def test_a_full_disk_releases_nothing_and_loses_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    frame = people()
    frame.count(epsilon=0.25)
    store = dp.ledger()._store
    assert isinstance(store, SqliteStore)
    db = store._connection()
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own "database or disk is full"

    def fill() -> None:
        for _ in range(200):
            with contextlib.suppress(ReleaseFailed):  # a charge may fit, and its answer not
                frame.size(epsilon="0.001", fresh=True)

    with pytest.raises(StoreError, match="no room left"):
        fill()
    spent = dp.ledger().spent
    assert spent == sum(e.epsilon for e in dp.ledger()._entries())
    db.execute("PRAGMA max_page_count = 1000000")
    frame["g"].value_counts(epsilon=0.25)
    assert dp.ledger().spent == spent + Fraction(1, 4)


def test_an_answer_that_cannot_be_kept_is_shown_only_where_nobody_asks_for_it_again(
    tmp_path: Path, monkeypatch: Any
) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    frame = people()

    monkeypatch.setattr(SqliteStore, "settle", raising(StoreError("no room left")))
    with pytest.raises(ReleaseFailed, match=r"charged ε = 0.5 and not answered.*no room left"):
        frame.count(epsilon=0.5)
    anew(store=tmp_path / "a.ledger")
    with pytest.warns(RuntimeWarning, match="could not be kept: no room left"):
        assert isinstance(pd.DataFrame({"a": [1]}).dp.count(epsilon=0.5), int)


def test_an_interrupted_charge_leaves_the_store_usable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.ledger", TERMS)
    interrupt = raising(KeyboardInterrupt)
    refusal(lambda: store.add([DRAFT], interrupt), error=KeyboardInterrupt)
    assert store.add([DRAFT], agreed)[0].number == 1


def test_what_interrupts_a_charge_and_asks_the_ledger_leaves_the_charge_whole(
    tmp_path: Path,
) -> None:
    """Found: a handler of a signal that looked at the ledger took the charge back half way, and the
    file was damaged from then on."""
    file = tmp_path / "a.ledger"
    store, told = SqliteStore(file, TERMS), []

    def meanwhile(before: Loss, after: Loss) -> None:
        for asks in (lambda: store.caveats, store.sealed, lambda: store.add([DRAFT], agreed)):
            told.append(refusal(asks, "Let it return, and ask afterwards", StoreError))
        assert store.count() == 0

    assert store.add([DRAFT], meanwhile)[0].number == 1
    assert len(told) == 3
    assert (store.count(), store.caveats.accepted) == (1, ())
    assert verified(file).is_sound


def test_an_interrupt_as_the_log_is_emptied_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.ledger"
    store, execute = SqliteStore(file, TERMS), connections.Connection.execute

    def late(db: Any, *query: Any) -> Any:
        done = execute(db, *query)
        if query[0] == "BEGIN IMMEDIATE" and not db.is_inside:
            raise KeyboardInterrupt  # before anybody knows that it has begun
        return done

    store.add([DRAFT], agreed)
    with monkeypatch.context() as patched:
        patched.setattr(connections.Connection, "execute", late)
        refusal(store._empty_log, error=KeyboardInterrupt)
    db = sqlite3.connect(file, timeout=LIMIT)
    db.execute("BEGIN IMMEDIATE")
    db.close()


# --- processes ------------------------------------------------------------------------------------

#: What a process of its own does; children are forked after the import.
WORK = """
    from dppandas.ledger.ledger import Ledger

    def ledger():
        store = SqliteStore(sys.argv[1])
        return Ledger(store.terms, store)
"""


def run(body: str, file: Path) -> subprocess.Popen[str]:
    code = "".join(map(textwrap.dedent, (PRELUDE, WORK, body)))
    command = [sys.executable, "-c", code, str(file)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


#: Children that are killed.
CHILDREN = size(quick=200, deep=500)


@pytest.mark.sized
def test_no_acknowledged_charge_is_lost_when_processes_are_killed(tmp_path: Path) -> None:
    """Many children, forked after the import, each killed while it charges."""
    file = tmp_path / "a.ledger"
    SqliteStore(file, limit(10**6)).close()
    parent = run(
        f"\n        CHILDREN = {CHILDREN}"
        """
        import random, signal, time
        for child in range(CHILDREN):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                mine = ledger()
                while True:
                    number = mine._charge(entry("1/100"))[0].number
                    os.write(writer, b"%d\\n" % number)
            os.close(writer)
            first = os.read(reader, 65536)  # it has charged once; now at any moment
            time.sleep(random.random() * 0.01)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            while more := os.read(reader, 65536):
                first += more
            os.close(reader)
            sys.stdout.write(first[: first.rfind(b"\\n") + 1].decode())
        """,
        file,
    )
    told, _ = parent.communicate(timeout=LIMIT)
    assert parent.returncode == 0
    acknowledged = [int(line) for line in told.split()]
    assert len(set(acknowledged)) == len(acknowledged) >= CHILDREN
    store = SqliteStore(file)
    entries = store.entries()
    assert [e.number for e in entries] == list(range(1, len(entries) + 1))
    assert set(acknowledged) <= {e.number for e in entries}
    assert len(entries) - len(acknowledged) <= CHILDREN  # one each that wasn't told any more
    assert store.spending.total == Loss(Epsilon(len(entries), 100))
    assert store._connection().execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_eight_processes_are_granted_exactly_what_is_affordable(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    SqliteStore(file, limit(1)).close()
    body = """
        mine, granted = ledger(), 0
        try:
            while True:
                mine._charge(entry("1/100"))
                granted += 1
        except dp.BudgetExceeded:
            print(granted)
    """
    running = [run(body, file) for _ in range(8)]
    assert sum([int(each.communicate(timeout=LIMIT)[0]) for each in running]) == 100
    assert SqliteStore(file).spending.total == Loss(Epsilon(1))


def test_a_connection_is_opened_again_after_a_fork(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    SqliteStore(file, TERMS).close()
    body = """
        mine = ledger()
        mine._charge(entry("1/100"))
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                mine._charge(entry("1/100"))
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
            mine._charge(entry("1/100"))
        print(mine.spent)
    """
    assert run(body, file).communicate(timeout=LIMIT)[0] == "0.07\n"


def test_another_kernels_charges_are_seen(tmp_path: Path) -> None:
    running = dp.session(epsilon=1, store=tmp_path / "a.ledger")
    seen: list[Fraction] = []
    running.ledger._observe(lambda ledger: seen.append(ledger.spent))
    running.ledger._poll()
    assert seen == []
    assert run("ledger()._charge(entry('1/100'))", tmp_path / "a.ledger").wait(timeout=LIMIT) == 0
    running.ledger._poll()
    running.ledger._poll()
    assert seen == [Fraction(1, 100)]
    (entry,) = running.ledger._entries()
    assert entry.number == 1


def test_others_wait_while_somebody_charges(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    store = SqliteStore(file, TERMS)
    process = run("ledger()._charge(entry('1/100')); print('done')", file)

    store.add([DRAFT], lambda before, after: time.sleep(3))
    assert process.communicate(timeout=LIMIT)[0] == "done\n"
    assert store.count() == 2


def test_two_kernels_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    body = """
        from dppandas.privacy.accounting.measures import PrivacyBudget
        store = SqliteStore(sys.argv[1], PrivacyBudget(limit=Loss(Epsilon(1))))
        Ledger(store.terms, store)._charge(entry())
    """
    running = [run(body, tmp_path / "a.ledger") for _ in range(6)]
    assert [each.wait(timeout=LIMIT) for each in running] == [0] * 6
    assert SqliteStore(tmp_path / "a.ledger").count() == 6


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_gone_is_charged_no_more(tmp_path: Path, how: str) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=2, store=file)
    frame = people()
    frame.count(epsilon=1)
    for left in tmp_path.glob("a.ledger*"):
        left.unlink()
    if how == "replaced":
        SqliteStore(file, limit(2)).close()
    with pytest.raises(StoreError, match="removed or replaced while it was open"):
        frame.count(epsilon=1, fresh=True)
    assert isinstance(elsewhere(lambda: frame.count(epsilon=1, fresh=True)), StoreError)
    dp.reset()
    if how == "replaced":
        assert SqliteStore(file).count() == 0


def test_an_empty_file_is_no_ledger_without_limit(tmp_path: Path) -> None:
    (tmp_path / "a.ledger").write_bytes(b"")
    refusal(lambda: dp.session(store=tmp_path / "a.ledger"), "needs a budget", SessionError)
    assert dp.session(epsilon=1, store=tmp_path / "a.ledger").budget == 1


def test_what_was_answered_is_in_the_file_itself(tmp_path: Path) -> None:
    """A copy of it alone, while the session goes on, has every answer."""
    dp.session(epsilon=2, store=tmp_path / "a.ledger")
    answer = people().count(epsilon=1)
    (tmp_path / "copy.ledger").write_bytes((tmp_path / "a.ledger").read_bytes())
    anew(store=tmp_path / "copy.ledger")
    assert people().count(epsilon=1) == answer
    assert dp.ledger().spent == 1


def test_a_session_that_looking_has_started_gives_way_to_a_store(tmp_path: Path) -> None:
    assert dp.ledger().budget is None
    assert dp.session(epsilon=1, store=tmp_path / "a.ledger").budget == 1
    dp.reset()
    pd.DataFrame({"a": [1]}).dp.count(epsilon=1)
    with pytest.raises(SessionError, match="keeps its ledger elsewhere"):
        dp.session(epsilon=1, store=tmp_path / "a.ledger")


@pytest.mark.parametrize("path", ["x" * 300, "a\0b", "a\nb", ":memory:", "file:x?mode=memory"])
def test_what_can_be_no_path_is_told(path: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(lambda: dp.session(epsilon=1, store=path), "store=", SessionError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", [None, "", " "])
def test_a_store_needs_versions_that_say_something(tmp_path: Path, version: Any) -> None:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    refusal(lambda: people(version), "version= is needed", SourceError)


def test_nothing_is_said_as_python_ends(tmp_path: Path) -> None:
    """Not by what outlives the names that it would use."""
    code = (
        "import warnings, dppandas as dp\n"
        "warnings.showwarning = lambda *given, **more: None\n"
        f"session = dp.session(epsilon=1, store={str(tmp_path / 'a.ledger')!r})"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["a.ledger"]
