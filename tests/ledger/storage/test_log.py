"""A ledger is three files while it is open: what is missing of them is noticed, and copies that
need no log are made. A killed kernel whose log is there needs nothing."""

import contextlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from effort import calls
from ledgers import DRAFT, PRELUDE, agreed, anew, elsewhere, limit, linux, process
from notes import noted
from refusals import raising, refusal
from waiting import LIMIT

import dppandas as dp
from dppandas import __main__
from dppandas.errors import StoreError
from dppandas.frames import fingerprints
from dppandas.ledger.storage import log, schema
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MISSING, NOT_COMPARED
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.composition import Part
from dppandas.privacy.accounting.losses import Epsilon, Loss

COMMITTED = sorted(Path(__file__).parents[3].glob("notebooks/**/*.ledger"))

#: A kernel whose children each die at a moment of its own, beside a ledger of their own.
DIES = """
    import json, signal
    from dppandas.ledger.storage import connections, log

    def die(*ignored, **too):
        os.kill(os.getpid(), signal.SIGKILL)

    def settled(entry):
        store.settle(entry.number, "released", [1])

    for folder, body in json.loads(sys.argv[2]).items():
        pid = os.fork()
        if pid == 0:
            store = SqliteStore(os.path.join(sys.argv[1], folder, "a.ledger"))
            first = store.add([entry()], lambda before, after: None)[0]
            exec(body)
            os._exit(1)
        print(os.waitpid(pid, 0)[1], flush=True)
"""
#: What each does before it dies, how many charges must be there, and whether they are without log.
MOMENTS = {
    "after a charge": ("die()", 1, False),
    "after an answer": ("settled(first); die()", 1, True),
    "before it marks": (
        "settled(first); log.put_mark = die; store.add([entry()], lambda *both: None)", 1, True),
    "before it commits": (
        "settled(first); log.mark_pages = lambda db: None; put = log.put_mark\n"
        "log.put_mark = lambda *how, **more: (put(*how, **more), die())\n"
        "store.add([entry()], lambda *both: None)", 1, False),
    "after it committed": (
        "settled(first); connections.log.put_mark = (\n"
        "    lambda at, mark, on_disk=True, put=log.put_mark: put(at, mark) if on_disk else die()\n"
        ")\n"
        "store.add([entry()], lambda *both: None)", 2, False),
    "before it moves the log": ("log.empty = die; settled(first)", 1, False),
    "when the log is in the file": (
        "log.put_mark = lambda at, mark, *on, **more: mark or die()\n"
        "settled(first)", 1, False),
    "when it has closed": (
        "connections.Connection._suspend = die; store.close()", 1, True),
    "before it lets the log go": (
        "connections.locks._unlocked = die; store.close()", 1, True),
}  # fmt: skip


@pytest.fixture(scope="module")
def graves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each moment, with a ledger as it was left."""
    folder = tmp_path_factory.mktemp("graves")
    for what in MOMENTS:
        (folder / what).mkdir()
        new(folder / what)
    code = "".join(map(textwrap.dedent, (PRELUDE, DIES)))
    bodies = json.dumps({what: body for what, (body, *_) in MOMENTS.items()})
    command = [sys.executable, "-c", code, str(folder), bodies]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert ran.stdout.split() == [str(int(signal.SIGKILL))] * len(MOMENTS), ran.stderr
    return folder


def left(graves: Path, what: str, tmp_path: Path) -> Path:
    """A ledger as a kernel left it that died."""
    return Path(shutil.copytree(graves / what, tmp_path / what)) / "a.ledger"


def new(folder: Path, name: str = "a.ledger") -> Path:
    SqliteStore(folder / name, limit(1)).close()
    return folder / name


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mark(file: Path) -> int:
    return log.mark_in(file.read_bytes())


def beside(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)


# --- unclean ends ---------------------------------------------------------------------------------


@linux
def test_a_killed_kernel_needs_nothing_if_its_log_is_there(graves: Path, tmp_path: Path) -> None:
    for what, (_, count, _) in MOMENTS.items():
        with noted(what):
            file = left(graves, what, tmp_path)
            store = SqliteStore(file)
            assert store.count() == count
            assert store.spending.total == Loss(Epsilon(count, 10))
            store.add([DRAFT], agreed)
            store.close()
            assert names(file.parent) == ["a.ledger"]
            assert (mark(file), verified(file).is_sound) == (0, True)


@linux
def test_without_its_log_a_file_is_refused_unless_it_lacks_nothing(
    graves: Path, tmp_path: Path
) -> None:
    """Two of three charges were gone, and 1.5 of 1 was spent."""
    for what, (_, count, is_whole) in MOMENTS.items():
        with noted(what):
            file = left(graves, what, tmp_path)
            for end in ("-wal", "-shm"):
                beside(file, end).unlink()
            before = file.read_bytes()
            if is_whole:
                assert SqliteStore(file).count() == count
            else:
                refusal(lambda file=file: SqliteStore(file), "the log of the ledger", StoreError)
                assert (names(file.parent), file.read_bytes()) == (["a.ledger"], before)


def test_a_copy_of_the_file_alone_is_refused_while_charges_are_in_the_log(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "a.ledger", limit(100)).close()
    file = tmp_path / "a.ledger"
    store = SqliteStore(file)
    store.add([DRAFT] * 50, agreed)  # the file has more pages: its first page is in the log
    reader = sqlite3.connect(file)  # keeps the log from being moved, as a long look does
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM events").fetchone()
    (entry,) = store.add([DRAFT], agreed)
    store.settle(entry.number, "released", [3])
    shutil.copy(file, tmp_path / "copy.ledger")
    copy = tmp_path / "copy.ledger"
    for opened in (
        partial(SqliteStore, copy), partial(SqliteStore, copy, reading=True),
        partial(dp.session, store=copy), partial(dp.session, epsilon=1, store=copy),
    ):  # fmt: skip
        refusal(opened, "accept-loss copy.ledger", StoreError)
    assert names(tmp_path) == ["a.ledger", "a.ledger-shm", "a.ledger-wal", "copy.ledger"]
    refusal(lambda: verified(copy), "the log of the ledger", StoreError)  # half of it was moved
    reader.close()
    store._empty_log()
    shutil.copy(file, copy)  # all of the log is in the file
    assert SqliteStore(copy).count() == 51


def test_a_new_ledger_is_never_mistaken_for_an_empty_one(tmp_path: Path) -> None:
    """All of it was in the log: a copy of the file alone was empty, and took another budget."""
    store = SqliteStore(tmp_path / "a.ledger", limit(1))
    store.add([DRAFT], agreed)
    shutil.copy(tmp_path / "a.ledger", tmp_path / "copy.ledger")
    copy = tmp_path / "copy.ledger"
    refusal(lambda: SqliteStore(copy, limit(1)), "the log of the ledger", StoreError)
    assert __main__.main(["accept-loss", str(copy)]) == 2
    assert mark(copy)


@linux
def test_an_emptied_log_is_a_missing_one(graves: Path, tmp_path: Path) -> None:
    file = left(graves, "after a charge", tmp_path)
    beside(file, "-wal").write_bytes(b"")
    refusal(lambda: SqliteStore(file), "the log of the ledger", StoreError)


def test_a_refusal_and_a_replay_leave_the_file_as_it_is(tmp_path: Path) -> None:
    file = new(tmp_path)
    before = file.read_bytes()

    def no(*losses: Loss) -> None:
        raise ValueError("no")

    for body in (lambda s: s.add([DRAFT], no), lambda s: s.between_charges(lambda spent: None)):
        store = SqliteStore(file)
        with contextlib.suppress(ValueError):
            body(store)
        assert file.read_bytes() == before
        store.close()
        assert file.read_bytes() == before


@pytest.mark.parametrize("version", [2, 3])
def test_files_of_earlier_versions_open_without_alarm(tmp_path: Path, version: int) -> None:
    """Committed ledgers are of schema 3, and stay as they are until something is charged."""
    for path in COMMITTED[:: 6 if version == 2 else 4]:
        with noted(path.name):
            file = tmp_path / path.name
            shutil.copy(path, file)
            before = file.read_bytes()
            for reading in (True, False):
                SqliteStore(file, reading=reading).close()
                assert file.read_bytes() == before
            with sqlite3.connect(file) as db:
                if version == 2:
                    db.execute("DROP TABLE leases")
                db.execute(f"PRAGMA user_version = {version}")
            db.close()
            store = SqliteStore(file)
            store.add([DRAFT._replace(loss=Loss())], agreed)
            store.close()
            verdict = verified(file)
            assert (verdict.is_sound, verdict.schema) == (True, schema.VERSION)


# --- removed while it is open ---------------------------------------------------------------------


def people(rows: int = 100, version: str = "1") -> Any:
    df = pd.DataFrame({"a": range(rows)})
    return dp.protect(df, name="people", version=version)


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_log_that_was_removed_under_an_open_ledger_is_noticed(tmp_path: Path, end: str) -> None:
    """1.25 of 1 was spent: the next kernel began another log beside the file."""
    file = tmp_path / "a.ledger"
    dp.session(epsilon=1, store=file)
    frame = people()
    frame.count(epsilon=0.5)
    beside(file, end).unlink()
    with process(file, "store = SqliteStore(sys.argv[1])\nprint('open', flush=True)\ninput()"):
        for again in (frame.count, frame.size):
            refusal(lambda again=again: again(epsilon=0.25, fresh=True), "was removed", StoreError)
        assert isinstance(elsewhere(lambda: frame.count(epsilon=0.25, fresh=True)), StoreError)
    dp.reset()
    anew(store=file)
    assert dp.ledger().spent == Fraction(1, 2)
    dp.reset()
    assert names(tmp_path) == ["a.ledger"]


def test_a_log_that_is_removed_while_somebody_charges_is_noticed(tmp_path: Path) -> None:
    """After the last look before the commit, and before the next after it."""
    file = new(tmp_path)
    store = SqliteStore(file)

    def remove(*losses: Loss) -> None:
        beside(file, "-wal").unlink()

    refusal(lambda: store.add([DRAFT], remove), "may be lost", StoreError)
    refusal(lambda: SqliteStore(file), "was removed", StoreError)  # by this process
    store.close()  # which moves to the file what the removed log holds
    assert SqliteStore(file).count() == 1


@linux
def test_charges_in_a_removed_log_are_missed_by_others(tmp_path: Path) -> None:
    file = new(tmp_path)
    charge = "store = SqliteStore(sys.argv[1])\nstore.add([entry()], lambda *both: None)"
    with process(file, f"{charge}\nprint('charged', flush=True)\ninput()") as other:
        assert other.first == "charged"
        beside(file, "-wal").unlink()
        refusal(lambda: SqliteStore(file), "the log of the ledger", StoreError)
        assert __main__.main(["accept-loss", str(file)]) == 2  # somebody has it open
    refusal(lambda: SqliteStore(file), "the log of the ledger", StoreError)


# --- a log of another time ------------------------------------------------------------------------


def old_log(tmp_path: Path) -> tuple[Path, bytes]:
    """A ledger of one charge that was moved into the file, and the log as a killed kernel left it;
    two more charges came after it."""
    file = new(tmp_path)
    store = SqliteStore(file)
    (entry,) = store.add([DRAFT], agreed)
    store.settle(entry.number, "released", [3])
    content, found = file.read_bytes(), beside(file, "-wal").read_bytes()
    assert (log.mark_in(content), bool(found)) == (0, True)
    store.close()
    moved = tmp_path / "moved.ledger"
    moved.write_bytes(content)
    store = SqliteStore(moved)
    store.add([DRAFT] * 2, agreed)
    store.close()
    return moved, found


@linux
def test_a_log_of_another_time_is_not_laid_over_the_file(tmp_path: Path) -> None:
    """SQLite would: two of three charges were gone, and all that is left followed from the rest."""
    file, found = old_log(tmp_path)
    for reading in (True, False):
        beside(file, "-wal").write_bytes(found)
        store = SqliteStore(file, reading=reading)
        assert (store.count(), verified(file).is_sound) == (3, True), reading
        store.close()
    assert SqliteStore(file).count() == 3


@linux
def test_a_log_that_is_found_after_its_loss_was_accepted_changes_nothing(
    graves: Path, tmp_path: Path
) -> None:
    file = left(graves, "after it committed", tmp_path)
    found = beside(file, "-wal").read_bytes()
    beside(file, "-wal").unlink()
    assert __main__.main(["accept-loss", str(file)]) == 0
    store = SqliteStore(file)
    store.add([DRAFT] * 2, agreed)
    store.close()
    beside(file, "-wal").write_bytes(found)
    assert SqliteStore(file).count() == 3
    assert verified(file).may_lack_charges


@linux
def test_the_log_of_an_open_ledger_stays(tmp_path: Path) -> None:
    """Also while all of it is in the file, and another process opens it."""
    file = new(tmp_path)
    store = SqliteStore(file)
    (entry,) = store.add([DRAFT], agreed)
    store.settle(entry.number, "released", [3])
    assert (mark(file), beside(file, "-wal").stat().st_size > 0) == (0, True)
    opens = "other = SqliteStore(sys.argv[1])\nprint(other.count(), flush=True)\nother.close()"
    with process(file, opens) as other:
        assert other.first == "1"
        assert other.ran.wait(timeout=LIMIT) == 0
    store.add([DRAFT], agreed)
    store.close()
    assert SqliteStore(file).count() == 2


def test_no_copy_is_put_beside_a_log(tmp_path: Path, capsys: Any) -> None:
    file, copy = new(tmp_path), tmp_path / "b.ledger"
    for end in ("-wal", "-shm", "-journal"):
        beside(copy, end).write_bytes(b"old")
        assert __main__.main(["copy", str(file), str(copy)]) == 2
        assert f"b.ledger{end}' is there already" in capsys.readouterr().err
        beside(copy, end).unlink()
    assert names(tmp_path) == ["a.ledger"]


# --- a loss that is accepted, and copies ----------------------------------------------------------


@linux
def test_an_accepted_loss_is_said_by_every_later_statement(
    graves: Path, tmp_path: Path, capsys: Any
) -> None:
    file = left(graves, "after it committed", tmp_path)
    assert __main__.main(["accept-loss", str(file)]) == 2  # its log is there
    assert "can't be used" not in capsys.readouterr().err
    beside(file, "-wal").unlink()
    assert __main__.main(["show", str(file)]) == 2
    assert __main__.main(["export", str(file), str(tmp_path / "a.json")]) == 2
    assert __main__.main(["copy", str(file), str(tmp_path / "b.ledger")]) == 2
    assert __main__.main(["verify", str(file)]) == 1
    assert "its log is missing" in capsys.readouterr().out
    assert __main__.main(["accept-loss", str(file)]) == 0
    assert MISSING in capsys.readouterr().out
    assert __main__.main(["accept-loss", str(file)]) == 2
    for time in range(2):
        running = dp.session(store=file)
        assert (running.spent, mark(file)) == (Fraction(1 + time, 10), 0)
        assert MISSING in repr(running)
        assert MISSING in running._repr_html_()
        for ending in ("html", "json", "csv", "yaml"):
            dp.ledger().export(tmp_path / f"report.{ending}", replace=True)
            said = " ".join((tmp_path / f"report.{ending}").read_text("utf-8").lower().split())
            expected = '"may_lack_charges": true' if ending == "json" else MISSING
            assert expected in said, ending
        pd.DataFrame({"a": [1]}).dp.count(epsilon=0.1)
        dp.reset()
        verdict = verified(file)
        assert (verdict.is_sound, verdict.may_lack_charges) == (True, True)
        assert "at least" in str(verdict)


def test_a_copy_is_whole_while_the_ledger_is_in_use(tmp_path: Path, capsys: Any) -> None:
    file = new(tmp_path)
    store = SqliteStore(file)
    store.add([DRAFT, DRAFT], agreed)
    assert mark(file)
    assert __main__.main(["copy", str(file), str(tmp_path / "b.ledger")]) == 0
    assert __main__.main(["copy", str(file), str(tmp_path / "b.ledger")]) == 2
    assert "is there already" in capsys.readouterr().err
    assert names(tmp_path) == ["a.ledger", "a.ledger-shm", "a.ledger-wal", "b.ledger"]
    store.add([DRAFT], agreed)
    copy = tmp_path / "b.ledger"
    assert (mark(copy), verified(copy).is_sound, SqliteStore(copy).count()) == (0, True, 2)
    store.close()
    assert __main__.main(["copy", str(file), str(tmp_path / "c.ledger")]) == 0
    assert SqliteStore(tmp_path / "c.ledger").count() == 3
    for wrong in ("none", __file__):
        assert __main__.main(["copy", str(tmp_path / wrong), str(tmp_path / "d")]) == 2
    assert "d" not in names(tmp_path)


# --- the end of a process -------------------------------------------------------------------------


@linux
def test_the_files_beside_a_ledger_go_when_a_script_ends(tmp_path: Path) -> None:
    """They stayed, though the page said that they go."""
    file = new(tmp_path)
    fork = "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    ends = {
        "at its end": "", "by an error": "raise ValueError", "by sys.exit": "sys.exit(3)",
        "with a thread": "import threading; threading.Thread(target=store.count).start()",
        "after a fork": fork, "after a fork, open": f"{fork}\nstore.count()",
    }  # fmt: skip
    code = """
        import json
        for body in json.loads(sys.argv[2]):
            child = os.fork()
            if child == 0:
                store = SqliteStore(sys.argv[1])
                store.add([entry("1/100")], lambda *both: None)
                exec(body)
                break
            os.waitpid(child, 0)
            print(sorted(os.listdir(os.path.dirname(sys.argv[1]))), flush=True)
    """
    code = "".join(map(textwrap.dedent, (PRELUDE, code)))
    command = [sys.executable, "-c", code, str(file), json.dumps(list(ends.values()))]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert dict(zip(ends, ran.stdout.splitlines(), strict=True)) == dict.fromkeys(
        ends, "['a.ledger']"
    )
    assert (mark(file), verified(file).spent) == (0, Loss(Epsilon(len(ends), 100)))


# --- data that nobody compared --------------------------------------------------------------------


def test_data_that_were_not_compared_are_told_once(tmp_path: Path, monkeypatch: Any) -> None:
    """On another machine 460 rows passed as 1,989."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
    file = tmp_path / "a.ledger"
    dp.session(epsilon=1, store=file)
    answer = people(1989).count(epsilon=0.1)
    people(1989).size(epsilon=0.1, fresh=True)
    assert NOT_COMPARED not in repr(dp.ledger())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "there"))
    before = verified(file).events
    for asked in range(3):
        anew(store=file)
        frame = people(460)
        assert frame.count(epsilon=0.1) == answer  # a replay says nothing
        assert (NOT_COMPARED in repr(dp.ledger())) is (asked > 1)
        if asked:  # in the second session the fingerprint is known here
            frame.count(epsilon=0.1, fresh=True)
            frame.count(epsilon=0.1, fresh=True)
    text, page = repr(dp.ledger()), dp.ledger()._repr_html_()
    assert next(NOT_COMPARED in line for line in text.splitlines() if "people" in line)
    assert text.count(NOT_COMPARED) == page.count(NOT_COMPARED) == 1
    assert verified(file).events == before + 1 + 4 * 2
    dp.ledger().export(tmp_path / "a.json")
    (source,) = json.loads((tmp_path / "a.json").read_text("utf-8"))["sources"]
    assert source["not_compared"] == ["1"]
    dp.ledger().export(tmp_path / "a.html")
    assert f"version 1: {NOT_COMPARED}" in (tmp_path / "a.html").read_text("utf-8")
    assert dp.ledger().verify().is_sound


def test_a_new_version_and_a_new_source_have_nothing_to_be_compared_with(
    tmp_path: Path, monkeypatch: Any
) -> None:
    file = tmp_path / "a.ledger"
    dp.session(epsilon=1, store=file)
    people().count(epsilon=0.1)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "there"))
    anew(store=file)
    people(version="2").count(epsilon=0.1)
    assert NOT_COMPARED not in repr(dp.ledger())
    monkeypatch.setattr(fingerprints, "_folder", raising(PermissionError("no")))
    anew(store=file)
    people(version="2").size(epsilon=0.1, fresh=True)
    assert NOT_COMPARED in repr(dp.ledger())


# --- effort ---------------------------------------------------------------------------------------


def test_verifying_takes_time_in_proportion(tmp_path: Path) -> None:
    """It added up all charges at every count: minutes for 100,000. In calls and SQLite's steps."""
    for what in ("one place", "many places"):
        with noted(what):
            took = []
            for many in (512, 2048):
                file = tmp_path / f"{what} {many}.ledger"
                store = SqliteStore(file, limit(10**6))
                for start in range(0, many, 256):
                    parts = ("" if what == "one place" else str(start + i) for i in range(250))
                    drafts = [DRAFT._replace(path=(Part("p", part, 1),)) for part in parts]
                    store.add(drafts, agreed)
                store.close()
                took.append(calls(lambda file=file: verified(file)))
            assert took[1] < 5.5 * took[0]
