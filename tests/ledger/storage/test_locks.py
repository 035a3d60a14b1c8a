"""A ledger's file has one name and one log while somebody has it open, and locks that last."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledgers import DRAFT, Process, agreed, limit, linux, process
from refusals import refusal
from waiting import LIMIT

import dppandas as dp
from dppandas import __main__
from dppandas.errors import StoreError
from dppandas.ledger.storage import connections, locks, paths
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.losses import Loss

TERMS = limit(1)

#: A kernel of its own: it opens, says so, and does what it is told by lines.
KERNEL = """
    def say(*words):
        print(*words, flush=True)

    def heard():
        return sys.stdin.readline().strip()

    def within(before, after):
        if after.epsilon > 1:
            raise SystemExit("no")

    try:
        store = SqliteStore(sys.argv[1])
    except dp.errors.StoreError as error:
        say(error)
        sys.exit(3)
    say("open")
"""


def kernel(file: Path, body: str = "heard()") -> Process:
    return process(file, KERNEL, body)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.ledger"
    SqliteStore(path, TERMS).close()
    return path


def is_free(file: Path) -> bool:
    """Whether another process could lock the whole file."""
    code = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    command = [sys.executable, "-c", code, str(file)]
    return subprocess.run(command, capture_output=True).returncode == 0


def own_locks(file: Path) -> set[tuple[str, int]]:
    """The kinds of locks that this process has on a file, and where they begin."""
    node, mine = file.stat().st_ino, set()
    for line in Path("/proc/locks").read_text().splitlines():
        _, kind, _, _, _, where, start, *_ = line.split()
        if where.split(":")[-1] == str(node):
            mine.add((kind, int(start)))
    return mine


# --- names ----------------------------------------------------------------------------------------


def test_two_names_of_a_file_are_refused(file: Path) -> None:
    """By hard links two kernels once spent 1.75 of 1."""
    os.link(file, file.with_name("b.ledger"))
    for name in ("a.ledger", "b.ledger"):
        with pytest.raises(StoreError, match="has 2 names"):
            dp.session(store=file.with_name(name))
    file.with_name("b.ledger").unlink()
    assert dp.session(store=file).budget == 1


def test_a_second_name_is_refused_while_the_first_is_in_use(file: Path) -> None:
    dp.session(store=file)
    os.link(file, file.with_name("b.ledger"))
    with kernel(file.with_name("b.ledger")) as other:
        assert "has 2 names" in other.first
    dp.reset()


@linux
def test_a_file_that_was_moved_while_open_is_refused_by_its_new_name(file: Path) -> None:
    moved = file.with_name("b.ledger")
    with kernel(file) as other:
        assert other.first == "open"
        file.rename(moved)
        refusal(lambda: SqliteStore(moved), "is open by another name", StoreError)
        refusal(lambda: dp.session(store=moved), "is open by another name", StoreError)
    assert SqliteStore(moved).count() == 0


@linux
def test_the_same_holds_within_one_process(file: Path) -> None:
    store = SqliteStore(file)
    file.rename(file.with_name("b.ledger"))
    refusal(lambda: SqliteStore(file.with_name("b.ledger")), "is open by another name", StoreError)
    store.close()
    SqliteStore(file.with_name("b.ledger"))


def test_links_to_files_and_folders_lead_to_the_same_name(file: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.ledger").symlink_to(file)
    running = dp.session(store=file)
    for path in (tmp_path / "folder" / "a.ledger", tmp_path / "link.ledger"):
        assert dp.session(store=path) is running
        with kernel(path, "store.add([entry()], within)\nsay('charged')") as other:
            assert (other.first, other.says()) == ("open", "charged")
        assert verified(path).is_sound
    assert running.spent == Fraction(2, 10)
    assert sorted(p.name for p in tmp_path.glob("*-wal")) == ["a.ledger-wal"]


def test_a_folder_renamed_while_its_ledger_is_open_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    SqliteStore(tmp_path / "old" / "a.ledger", TERMS).close()
    with kernel(tmp_path / "old" / "a.ledger") as other:
        (tmp_path / "old").rename(tmp_path / "new")
        store = SqliteStore(tmp_path / "new" / "a.ledger")
        store.add([DRAFT], agreed)
        assert other.told() == ""
    assert store.count() == 1


@linux
def test_a_file_mounted_elsewhere_is_refused_while_it_is_in_use(file: Path) -> None:
    there = file.parent / "there"
    there.mkdir()
    (there / "b.ledger").touch()
    mount = f"mount --bind {file} {there / 'b.ledger'} && exec "
    unshare = ["unshare", "-rm", "sh", "-c"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, f"{mount} true"], capture_output=True).returncode
    ):
        pytest.skip("this machine lets nobody mount a file")
    code = "import sys; from dppandas.ledger.storage import sqlite; sqlite.SqliteStore(sys.argv[1])"
    opens = f"{sys.executable} -c '{code}' {there / 'b.ledger'}"
    store = SqliteStore(file)
    store.add([DRAFT], agreed)
    ran = subprocess.run([*unshare, mount + opens], capture_output=True, text=True)
    assert "is open by another name" in ran.stderr
    store.close()
    ran = subprocess.run([*unshare, mount + opens], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_reading_takes_no_lock_and_minds_no_names(file: Path, capsys: Any) -> None:
    store = SqliteStore(file)
    store.add([DRAFT], agreed)
    store.close()
    os.link(file, file.with_name("b.ledger"))
    assert SqliteStore(file.with_name("b.ledger"), reading=True).count() == 1
    assert is_free(file) or sys.platform != "linux"
    for command in ("show", "verify"):
        assert __main__.main([command, str(file)]) == 0
    capsys.readouterr()
    assert __main__.main(["export", str(file), str(file.with_name("report.csv"))]) == 0


# --- one descriptor -------------------------------------------------------------------------------


@linux
def test_the_lock_lasts_from_the_first_connection_to_the_last_of_any_thread(file: Path) -> None:
    assert is_free(file)
    store = SqliteStore(file)
    assert not is_free(file)
    opened, done = threading.Event(), threading.Event()

    def elsewhere() -> None:
        store.count()
        opened.set()
        done.wait(LIMIT)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    opened.wait(LIMIT)
    store.close()
    assert not is_free(file)  # the other thread's
    done.set()
    thread.join()
    assert is_free(file)  # it closed when its thread ended
    store.count()
    assert not is_free(file)
    store.close()
    assert is_free(file)


@linux
def test_the_descriptor_is_there_before_sqlite_opens_the_file(file: Path, monkeypatch: Any) -> None:
    seen: list[bool] = []
    connect = connections._connection_to

    def connecting(uri: str) -> Any:
        seen.append(is_free(file))
        return connect(uri)

    monkeypatch.setattr(connections, "_connection_to", connecting)
    SqliteStore(file)
    assert seen == [False]


@linux
def test_a_log_stays_though_this_process_opens_and_closes_the_file(file: Path) -> None:
    """Closing any descriptor drops SQLite's own locks. Another process then took the log away that
    this one went on writing to: what was charged was gone."""
    store = SqliteStore(file)
    store.add([DRAFT], agreed)
    file.read_bytes()
    SqliteStore(file)
    with kernel(file) as other:
        assert (other.first, other.told()) == ("open", "")
    plain = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM events')"
    subprocess.run([sys.executable, "-c", plain, str(file)], check=True)
    store.add([DRAFT], agreed)
    with kernel(file, "say(store.count())") as other:
        assert other.says() == "2"
    store.close()
    assert SqliteStore(file).count() == 2
    assert verified(file).is_sound


@linux
def test_nothing_in_the_package_drops_the_locks(file: Path, tmp_path: Path, capsys: Any) -> None:
    """Looking at a file, verifying it, exporting from it, opening it again."""
    dp.session(store=file)
    mine = own_locks(file)
    assert ("POSIX", locks.SHARED[0]) in mine
    look = SqliteStore(file, reading=True)
    assert look.count() == 0
    look.close()
    assert verified(file).is_sound
    for command in ("show", "verify"):
        assert __main__.main([command, str(file)]) == 0
    capsys.readouterr()
    dp.ledger().export(tmp_path / "report.html")
    with pytest.raises(StoreError, match="is the ledger itself"):
        dp.ledger().export(file.with_suffix(".csv").symlink_to(file) or file.with_suffix(".csv"))
    SqliteStore(file).close()
    assert own_locks(file) == mine


@linux
def test_who_read_first_keeps_its_locks_when_a_writer_comes_and_goes(file: Path) -> None:
    with kernel(file, "store.add([entry()], within)\nsay('charged')\nheard()") as other:
        assert other.says() == "charged"
        look = SqliteStore(file, reading=True)
        assert look.count() == 1
        mine = own_locks(file)
        SqliteStore(file).close()
        assert own_locks(file) == mine
        assert look.count() == 1


@linux
def test_a_ledger_that_another_program_has_locked_is_refused(file: Path) -> None:
    import fcntl

    with file.open() as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        with kernel(file) as other:
            assert "another program has locked the whole ledger" in other.first
    with kernel(file) as other:
        assert other.first == "open"


def test_without_such_locks_a_ledger_works_as_before(file: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    store = SqliteStore(file)
    store.add([DRAFT], agreed)
    assert store.count() == 1
    os.link(file, file.with_name("b.ledger"))
    refusal(lambda: SqliteStore(file.with_name("b.ledger")), "has 2 names", StoreError)
    monkeypatch.undo()


# --- ends and forks -------------------------------------------------------------------------------


@linux
def test_a_kernel_that_is_killed_gives_the_name_free(file: Path) -> None:
    with kernel(file) as other:
        assert not is_free(file)
        other.ran.kill()
        other.ran.wait(timeout=LIMIT)
        assert is_free(file)


@linux
def test_a_child_neither_ends_nor_keeps_the_locks_of_its_parent(file: Path) -> None:
    body = """
        import signal
        store.add([entry()], within)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            store.add([entry()], within)
            store.close()
            os.write(writer, b"x")
            signal.pause()          # lives on, and has nothing open
        os.read(reader, 1)
        say("forked", child)
        heard()
    """
    with kernel(file, body) as other:
        child = int(other.says().split()[1])
        try:
            assert not is_free(file)  # the child closed its own
            other.ran.kill()
            other.ran.wait(timeout=LIMIT)
            assert is_free(file)
        finally:
            os.kill(child, signal.SIGKILL)
    assert SqliteStore(file).count() == 2


@linux
def test_a_child_that_outlives_its_parent_loses_no_charge(file: Path) -> None:
    """It once relied on locks that it had inherited from SQLite's books and not from the system:
    the next to come took its log away."""
    body = """
        store.add([entry()], within)
        child = os.fork()
        if child == 0:
            store.add([entry()], within)
            say("ready")
            heard()
            store.add([entry()], within)
            say("charged", store.count())
            os._exit(0)
        heard()
    """
    with kernel(file, body) as other:
        assert other.says() == "ready"
        other.ran.send_signal(signal.SIGKILL)
        other.ran.wait(timeout=LIMIT)
        with kernel(file) as third:
            assert third.first == "open"
        assert other.told() == "charged 3"
    assert SqliteStore(file).count() == 3
    assert verified(file).is_sound


@linux
def test_no_connection_is_carried_through_a_fork(file: Path) -> None:
    body = """
        import threading
        from dppandas.ledger.storage import connections
        opened, done = threading.Event(), threading.Event()
        threading.Thread(
            target=lambda: (store.count(), opened.set(), done.wait(), store.count(), say("again"))
        ).start()
        opened.wait()
        child = os.fork()
        if child == 0:
            say(len(connections._CARRIED), all(db.is_closed for db in connections._open))
            os._exit(0)
        os.waitpid(child, 0)
        done.set()
    """
    with kernel(file, body) as other:
        assert (other.says(), other.says()) == ("0 True", "again")


def test_the_last_to_close_leaves_one_file(file: Path) -> None:
    first, second = SqliteStore(file), SqliteStore(file)
    first.add([DRAFT], agreed)
    first.close()
    assert paths.is_shared(file)
    second.close()
    assert [p.name for p in file.parent.iterdir()] == ["a.ledger"]
    assert sqlite3.connect(file).execute("SELECT count(*) FROM events").fetchone()[0] == 2


# --- turns ----------------------------------------------------------------------------------------

#: Charges while a thread reads the map of the log, as a backup of the folder does.
BACKED_UP = """
    import threading
    ended = threading.Event()

    def backed_up():
        while not ended.is_set():
            open(sys.argv[1] + "-shm", "rb").close()

    if heard() == "back up":
        threading.Thread(target=backed_up).start()
    for _ in range(60):
        store.add([entry("1/100000")], within)
    ended.set()
    say("done")
    heard()
"""
#: Tries to charge, without patience.
TRIES = """
    from dppandas.ledger.storage import locks
    locks.PATIENCE = 0.2
    while heard():
        try:
            store.add([entry()], within)
            say("charged")
        except dp.errors.StoreError as error:
            say(error)
"""


@linux
def test_no_charge_is_lost_though_the_map_of_the_log_is_read(file: Path) -> None:
    """It was: 171 answers were shown, and 170 charges kept. Or the file was destroyed."""
    with kernel(file, BACKED_UP) as first, kernel(file, BACKED_UP) as second:
        for each, line in ((first, "back up"), (second, "only charge")):
            each.tell(line)
        assert (first.says(), second.says()) == ("done", "done")
        assert SqliteStore(file).count() == 120
    assert verified(file).is_sound


@linux
def test_who_charges_is_alone_though_this_process_closes_the_map(file: Path) -> None:
    """SQLite's lock on writing ends when this process closes any descriptor of the map."""
    store, said = SqliteStore(file), []
    with kernel(file, TRIES) as other:

        def meanwhile(before: Loss, after: Loss) -> None:
            file.with_name("a.ledger-shm").read_bytes()
            said.append(other.told("try"))

        store.add([DRAFT], meanwhile)
        assert "another process holds it" in said[0]
        assert other.told("again") == "charged"
    assert store.count() == 2


@linux
def test_the_map_is_not_cut_off_though_this_process_closes_it(file: Path) -> None:
    store, map_ = SqliteStore(file), file.with_name("a.ledger-shm")
    map_.read_bytes()
    assert ("OFDLCK", locks.MAPPED[0]) in own_locks(map_)
    SqliteStore(file).close()
    assert ("OFDLCK", locks.MAPPED[0]) in own_locks(map_)
    store.close()
    assert not map_.exists()


@linux
def test_who_only_reads_waits_for_who_writes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
        store.add([entry()], within)
        say("ready")
        heard()
        store.between_charges(lambda spent: (say("in"), heard()))
        say("out")
        heard()
    """
    with kernel(file, body) as other:
        assert other.says() == "ready"
        look = SqliteStore(file, reading=True)
        assert other.told() == "in"
        monkeypatch.setattr(locks, "PATIENCE", 0.2)
        refusal(lambda: look.count(), "another process holds it", StoreError)
        assert other.told() == "out"
        assert look.count() == 1


@linux
def test_who_waits_for_a_ledger_is_told_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = """
        store.between_charges(lambda spent: (say("in"), heard()))
        say("out")
        heard()
    """
    store, heard = SqliteStore(file), []
    with kernel(file, body) as other:
        assert other.says() == "in"
        monkeypatch.setattr(locks, "NOTICE", 0.01)

        def shown(message: Any, *args: object, **more: object) -> None:
            heard.append(str(message))
            if len(heard) == 1:  # who shows warnings may ask the ledger: he waits for a turn, too
                assert store.count() == 0
            elif len(heard) == 2:
                assert other.told() == "out"

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", shown)
            store.add([DRAFT], agreed)
    assert len(heard) == 2, "one for each who waits"
    assert "is busy: another process holds it. Waiting for up to 60 seconds" in heard[0]
    assert store.count() == 1


@linux
def test_a_fork_neither_ends_a_turn_nor_keeps_it(file: Path, monkeypatch: Any) -> None:
    body = """
        import signal
        def forked(spent):
            child = os.fork()
            if child == 0:
                signal.pause()
            say("forked", child)
            heard()
        store.between_charges(forked)
    """
    with kernel(file, body) as other:
        child = int(other.says().split()[1])
        try:
            monkeypatch.setattr(locks, "PATIENCE", 0.2)
            refusal(lambda: SqliteStore(file), "another process holds it", StoreError)
            monkeypatch.undo()
            other.ran.kill()
            other.ran.wait(timeout=LIMIT)
            SqliteStore(file).add([DRAFT], agreed)
        finally:
            os.kill(child, signal.SIGKILL)


#: Another program, which knows SQLite's locks alone: a database browser with an open transaction.
BROWSER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("in", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
db.close()
print("out", flush=True)
sys.stdin.readline()
"""


def test_who_waits_for_another_program_is_told_once(file: Path, monkeypatch: Any) -> None:
    store, heard = SqliteStore(file), []
    with Process(BROWSER, file) as other:
        assert other.first == "in"
        monkeypatch.setattr(locks, "NOTICE", 0.01)

        def shown(message: Any, *args: object, **more: object) -> None:
            heard.append(str(message))
            assert store.count() == 0  # who shows warnings may ask the ledger
            assert other.told() == "out"

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            monkeypatch.setattr(warnings, "showwarning", shown)
            store.add([DRAFT], agreed)
    assert len(heard) == 1
    assert "is busy: another process holds it. Waiting for up to 60 seconds" in heard[0]
    assert store.count() == 1


def test_another_program_that_never_ends_is_refused(file: Path, monkeypatch: Any) -> None:
    store = SqliteStore(file)
    with Process(BROWSER, file) as other:
        monkeypatch.setattr(locks, "PATIENCE", 0.2)
        refusal(lambda: store.add([DRAFT], agreed), "another process holds it", StoreError)
        monkeypatch.undo()
        store.close()  # leaves the log, which nobody can move now, and says nothing
        assert other.told() == "out"
    store.add([DRAFT], agreed)
    assert store.count() == 1


def test_a_wait_for_another_program_can_be_interrupted(file: Path, monkeypatch: Any) -> None:
    """SQLite's own wait could not: a minute passed first."""
    store = SqliteStore(file)
    with Process(BROWSER, file) as other:
        monkeypatch.setattr(locks, "NOTICE", 0.01)

        def interrupted(*args: object, **more: object) -> None:
            signal.raise_signal(signal.SIGINT)

        # What runs in the background of a shell ignores it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        monkeypatch.setattr(warnings, "showwarning", interrupted)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            with pytest.raises(KeyboardInterrupt):
                store.add([DRAFT], agreed)
        signal.signal(signal.SIGINT, before)
        assert other.told() == "out"
    monkeypatch.undo()
    store.add([DRAFT], agreed)
    assert store.count() == 1
