"""Equal queries that are asked at the same time share one draw, whoever dies or is interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ledgers import DRAFT, Process, agreed, disagreed, elsewhere, linux, threads
from refusals import raising, refusal
from waiting import LIMIT

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import ReleaseFailed, SessionError
from dppandas.ledger.storage import locks
from dppandas.ledger.storage.leases import Claim, Taken
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Store
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.release import release

# --- what a store does ----------------------------------------------------------------------------


def test_a_draw_is_leased_to_one_claim_at_a_time(store: Store) -> None:
    with Claim([1]) as mine:
        (entry,) = store.add([DRAFT], agreed, mine)
        assert elsewhere(lambda: store.is_taken("k", 1)) is True
        with Claim([1]) as other:
            taken = elsewhere(lambda: store.add([DRAFT], agreed, other))
        assert isinstance(taken, Taken)
        assert (taken.key, taken.draw) == ("k", 1)
        assert store.count() == 1
        assert store.settle(entry.number, "released", [3], leased=True) == 1
        assert store.is_taken("k", 1) is False
    with Claim([1]) as late, pytest.raises(Taken):  # answered in the meantime
        store.add([DRAFT], agreed, late)
    assert store.count() == 1


@pytest.mark.parametrize("ends", ["failed", "left", "raised"])
def test_a_lease_ends_with_its_claim_however_that_ends(store: Store, ends: str) -> None:
    with pytest.raises(KeyboardInterrupt), Claim([1]) as mine:  # noqa: PT012
        (entry,) = store.add([DRAFT], agreed, mine)
        if ends == "failed":
            store.settle(entry.number, "failed", leased=True)
        raise KeyboardInterrupt
    assert store.is_taken("k", 1) is False
    with Claim([1]) as next_one:
        (entry,) = store.add([DRAFT], agreed, next_one)
        assert store.settle(entry.number, "released", [4], leased=True) == 1
    first = "failed" if ends == "failed" else "charged"
    assert [e.status for e in store.entries()] == [first, "released"]


def test_who_was_overtaken_keeps_nothing(store: Store) -> None:
    with Claim([1]) as mine:
        (entry,) = store.add([DRAFT], agreed, mine)
        mine._is_open = False  # as one that the system can't tell from a dead one
        assert store.settle(elsewhere_leased(store), "released", [5], leased=True) == 1
        assert store.settle(entry.number, "released", [6], leased=True) is None
    answer: Any = store.stored("k", 1)
    assert (list(answer.noisy), answer.draw) == ([5], 1)
    assert store.stored("k", 2) is None
    assert [e.status for e in store.entries()] == ["charged", "released"]


def elsewhere_leased(store: Store) -> int:
    claim = Claim([1])
    claim.__enter__()
    return store.add([DRAFT], agreed, claim)[0].number


def test_a_batch_takes_all_leases_or_none(store: Store) -> None:
    other = DRAFT._replace(key="j")
    with Claim([1]) as mine:
        store.add([DRAFT], agreed, mine)
        with Claim([1, 1]) as batch:
            taken = elsewhere(lambda: store.add([other, DRAFT], agreed, batch))
        assert isinstance(taken, Taken)
        assert store.is_taken("j", 1) is False
        assert store.count() == 1


def test_what_is_refused_leases_nothing(store: Store) -> None:
    with Claim([1]) as mine:
        refusal(lambda: store.add([DRAFT], disagreed, mine), "no", ValueError)
        assert elsewhere(lambda: store.is_taken("k", 1)) is False


def test_fresh_draws_run_side_by_side_and_respect_leased_numbers(store: Store) -> None:
    with Claim([1]) as mine, Claim([0, 0]) as fresh:
        (first,) = store.add([DRAFT], agreed, mine)
        second, third = store.add([DRAFT, DRAFT], agreed, fresh)
        assert store.settle(third.number, "released", [3], leased=True) == 3
        assert store.settle(second.number, "released", [2], leased=True) == 2
        assert store.stored("k", 1) is None
        assert store.settle(first.number, "released", [1], leased=True) == 1
    answers: list[Any] = [store.stored("k", draw) for draw in (1, 2, 3)]
    assert [list(answer.noisy) for answer in answers] == [[1], [2], [3]]


def test_a_thread_never_waits_for_itself(store: Store) -> None:
    with Claim([1]) as mine:
        store.add([DRAFT], agreed, mine)
        with (
            Claim([1]) as again,
            pytest.raises(SessionError, match="this thread is already answering"),
        ):
            store.add([DRAFT], agreed, again)


def test_queries_without_a_key_lease_nothing(store: Store) -> None:
    plain = DRAFT._replace(key="")
    with Claim([1]) as one, Claim([1]) as other:
        store.add([plain], agreed, one)
        (entry,) = store.add([plain], agreed, other)
        assert store.settle(entry.number, "released", [1], leased=True) == 0


# --- threads --------------------------------------------------------------------------------------


def people() -> Any:
    df = pd.DataFrame({"a": range(100), "g": list("ab") * 50})
    return dp.protect(df, name="people", version="1", domain={"g": ["a", "b"], "a": (0, 100)})


@pytest.fixture(params=["memory", "file"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> dp.types.Session:
    store = None if request.param == "memory" else tmp_path / "a.ledger"
    return dp.session(epsilon=100, store=store)


class Gate:
    """Holds scans until it is opened, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.begun = threading.Event(), threading.Semaphore(0)
        self.scans = 0
        gather = PandasEngine.accumulate_rows

        def held(*args: Any, **more: Any) -> Any:
            self.scans += 1
            self.begun.release()
            assert self.opened.wait(LIMIT)
            return gather(*args, **more)

        monkeypatch.setattr(PandasEngine, "accumulate_rows", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Counts who begins to wait."""
    begun, wait = threading.Semaphore(0), release._wait

    def waiting(*args: Any) -> None:
        begun.release()
        wait(*args)

    monkeypatch.setattr(release, "_wait", waiting)
    return begun


def test_threads_that_ask_the_same_at_once_share_one_draw(
    running: Any, gate: Any, waits: Any
) -> None:
    p = people()
    with threads([lambda: p["a"].mean(epsilon=1)] * 6) as got:
        assert gate.begun.acquire(timeout=LIMIT)
        assert all(waits.acquire(timeout=LIMIT) for _ in range(5))
        gate.opened.set()
    assert len({float(each) for each in got}) == 1
    assert (gate.scans, running.spent) == (1, 1)
    assert len(running.ledger._replays) == 5
    assert [e.status for e in running.ledger._charges()] == ["released"]


def test_other_queries_and_fresh_ones_do_not_wait(running: dp.types.Session, gate: Gate) -> None:
    p = people()
    others: list[Callable[[], Any]] = [lambda: p.count(epsilon=1, fresh=True)] * 2
    others += [lambda: p.count(epsilon=2), lambda: p["g"].value_counts(epsilon=1)]
    with threads([lambda: p.count(epsilon=1)]) as first:
        assert gate.begun.acquire(timeout=LIMIT)
        with threads(others) as got:
            assert all(gate.begun.acquire(timeout=LIMIT) for _ in others)  # all of them at once
            gate.opened.set()
    assert not [each for each in first + got if isinstance(each, BaseException)]
    assert running.spent == 6


def test_a_waiter_takes_over(running: Any, gate: Any, waits: Any, monkeypatch: Any) -> None:
    p = people()
    held, failed = PandasEngine.accumulate_rows, threading.Event()

    def gather(*args: Any, **more: Any) -> Any:
        result = held(*args, **more)
        if not failed.is_set():
            failed.set()
            raise ValueError
        return result

    monkeypatch.setattr(PandasEngine, "accumulate_rows", gather)
    with threads([lambda: p.count(epsilon=1)] * 2) as got:
        assert waits.acquire(timeout=LIMIT)
        gate.opened.set()
    assert sorted(type(each).__name__ for each in got) == ["ReleaseFailed", "ReleasedInt"]
    assert [e.status for e in running.ledger._charges()] == ["failed", "released"]


def test_batches_that_overlap_in_other_orders_never_deadlock(running: dp.types.Session) -> None:
    p = people()

    def ask(numbers: list[int]) -> Any:
        asked = running._terms.asked(1)
        losses = [p.query(f"a > {i}").count()._request.asked(asked) for i in numbers]
        return [each.estimate() for each in release.release_all(losses)]

    forth, back = list(range(12)), list(range(11, -1, -1))
    with threads([lambda: ask(forth), lambda: ask(back)] * 3) as got:
        pass
    assert got == [got[0], got[0][::-1]] * 3
    assert running.spent == 12


def test_equal_queries_of_one_call_are_one_draw(running: dp.types.Session) -> None:
    records = release.release_all([people().count()._request.asked(running._terms.asked(1))] * 3)
    assert len({record.estimate() for record in records}) == 1
    assert {record.number for record in records} == {1}
    assert (running.spent, len(running.ledger._replays)) == (1, 2)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Where tests are run in a shell's background, interrupts are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_the_wait_for_good(running: dp.types.Session, gate: Gate) -> None:
    p = people()
    me = threading.main_thread().ident
    assert me is not None
    with threads([lambda: p.count(epsilon=1)]) as got:
        assert gate.begun.acquire(timeout=LIMIT)
        slept = threading.Event()

        def interrupt() -> None:
            slept.wait(LIMIT)
            signal.pthread_kill(me, signal.SIGINT)

        with pytest.MonkeyPatch.context() as patch, threads([interrupt]):
            sleep = release.time.sleep
            patch.setattr(release.time, "sleep", lambda s: (slept.set(), sleep(s)))
            with pytest.raises(KeyboardInterrupt):
                p.count(epsilon=1)
        assert running.spent == 1
        assert p.query("a > 3").count().release is not None
        gate.opened.set()
    assert p.count(epsilon=1) == got[0]
    assert p["g"].value_counts(epsilon=1) is not None


def test_an_interrupt_in_the_scan_frees_the_lease(running: Any, monkeypatch: Any) -> None:
    p = people()
    with monkeypatch.context() as broken:
        broken.setattr(PandasEngine, "accumulate_rows", raising(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            p.count(epsilon=1)
    assert isinstance(elsewhere(lambda: p.count(epsilon=1)), int)
    assert [e.status for e in running.ledger._charges()] == ["interrupted", "released"]


def test_a_second_interrupt_frees_the_lease_too(tmp_path: Path, monkeypatch: Any) -> None:
    """Found: one that came as the claim ended left it for good, and others waited for ever."""
    dp.reset()
    dp.session(epsilon=9, store=tmp_path / "a.ledger")
    p, end, ended = people(), locks.Hold.answered, []

    def answered(hold: Any, release: int) -> None:
        ended.append(release)
        if len(ended) == 1:
            raise KeyboardInterrupt
        end(hold, release)

    with monkeypatch.context() as broken:
        broken.setattr(PandasEngine, "accumulate_rows", raising(KeyboardInterrupt))
        broken.setattr(locks.Hold, "answered", answered)
        with pytest.raises(KeyboardInterrupt, match="was charged ε = 1, which stays"):
            p.count(epsilon=1)
    (hold,) = (each for each in locks._holds.values() if each.path.parent == tmp_path)
    assert not hold.answering  # which other processes see
    assert isinstance(elsewhere(lambda: p.count(epsilon=1)), int)


def test_an_end_that_always_fails_is_tried_again_once() -> None:
    tried: list[str] = []

    def fail() -> None:
        tried.append("failed")
        raise OSError("full")

    with pytest.raises(OSError, match="full"), Claim([0]) as claim:
        claim.at_end(fail)
    assert tried == ["failed"] * 2


@pytest.fixture
def nobody_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system that can't tell who does."""
    monkeypatch.setattr(Claim, "__enter__", lambda claim: claim)


@pytest.mark.usefixtures("nobody_lives")
def test_who_is_overtaken_shows_the_answer_of_the_other(running: Any, monkeypatch: Any) -> None:
    p = people()
    gather, begun, go_on = PandasEngine.accumulate_rows, threading.Event(), threading.Event()

    def held(*args: Any, **more: Any) -> Any:
        if not begun.is_set():
            begun.set()
            assert go_on.wait(LIMIT)
        return gather(*args, **more)

    monkeypatch.setattr(PandasEngine, "accumulate_rows", held)
    with threads([lambda: p["a"].sum(epsilon="0.001")]) as got:
        assert begun.wait(LIMIT)
        answer = p["a"].sum(epsilon="0.001")
        go_on.set()
    assert (got, dp.record(got[0]).number) == ([answer], 2)
    assert [e.status for e in running.ledger._charges()] == ["charged", "released"]


@pytest.mark.usefixtures("nobody_lives")
def test_an_overtaken_call_says_that_it_was_charged(running: Any, monkeypatch: Any) -> None:
    p = people()
    gather = PandasEngine.accumulate_rows

    def overtaken(*args: Any, **more: Any) -> Any:
        with Claim([1]) as other:
            running.ledger._store.add(running.ledger._charges(), agreed, other)
        return gather(*args, **more)

    monkeypatch.setattr(PandasEngine, "accumulate_rows", overtaken)
    with pytest.raises(ReleaseFailed, match="charged and not answered: another process believed"):
        p.count(epsilon=1)
    assert [e.status for e in running.ledger._charges()] == ["charged", "charged"]


# --- processes ------------------------------------------------------------------------------------

ASKS = """
    import sys
    import pandas as pd
    import dppandas as dp
    from dppandas.engines.pandas import PandasEngine

    file, *how = sys.argv[1:]
    dp.session(store=file)
    df = pd.DataFrame({"a": range(100), "g": list("ab") * 50})
    p = dp.protect(df, name="people", version="1", domain={"g": ["a", "b"], "a": (0, 100)})
    gather = PandasEngine.accumulate_rows

    def held(*args, **more):
        print("scans", flush=True)
        if "held" in how:
            sys.stdin.readline()
        return gather(*args, **more)

    PandasEngine.accumulate_rows = held
    print("ready", flush=True)
    sys.stdin.readline()
    print(repr(p["a"].sum(epsilon="0.01")), flush=True)
"""


def asks(file: Path, *how: str) -> Process:
    """A kernel that asks when it is told to; if held it stops in the scan until told to go on."""
    kernel = Process(textwrap.dedent(ASKS), file, *how)
    assert kernel.first == "ready"
    return kernel


@pytest.fixture
def file(tmp_path: Path) -> Path:
    dp.session(epsilon=1, store=tmp_path / "a.ledger")
    people()
    dp.reset()
    return tmp_path / "a.ledger"


def charges(file: Path) -> list[str]:
    return [entry.status for entry in SqliteStore(file, reading=True).entries()]


@linux
def test_processes_that_ask_the_same_at_once_share_one_draw(file: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(asks(file, "held"))
        others = [stack.enter_context(asks(file)) for _ in range(2)]
        first.tell()
        assert first.says() == "scans"
        [other.tell() for other in others]
        first.tell()
        answers = [each.says() for each in (first, *others)]
    assert len(set(answers)) == 1
    assert answers[0] != "scans"
    assert charges(file) == ["released"]
    assert verified(file).spent == Loss(Epsilon(1, 100))


@linux
def test_who_is_killed_in_a_scan_is_taken_over(file: Path) -> None:
    with asks(file, "held") as first, asks(file) as second:
        first.tell()
        assert first.says() == "scans"
        second.tell()
        first.ran.kill()
        first.ran.wait(timeout=LIMIT)
        assert second.says() == "scans"
        answer = second.says()
    assert charges(file) == ["charged", "released"]
    assert verified(file).is_sound
    dp.session(store=file)
    assert repr(people()["a"].sum(epsilon="0.01")) == answer


@linux
def test_who_is_only_stopped_is_not_taken_over(file: Path) -> None:
    """It is waited for, however long that is."""
    with asks(file, "held") as first:
        first.tell()
        assert first.says() == "scans"
        first.ran.send_signal(signal.SIGSTOP)
        store = SqliteStore(file)
        key = store.entries()[0].key
        for _ in range(200):
            assert store.is_taken(key, 1)
            with Claim([1]) as mine, pytest.raises(Taken):
                store.add([DRAFT._replace(key=key)], agreed, mine)
        first.ran.send_signal(signal.SIGCONT)
        first.tell()
        answer = first.says()
        assert not store.is_taken(key, 1)
        found = store.stored(key, 1)
    assert found is not None
    assert answer == repr(int(found.noisy[0])) or found.entry.status == "released"
    assert charges(file) == ["released"]


IS_TAKEN = """
    import sys
    from dppandas.ledger.storage.sqlite import SqliteStore
    print(SqliteStore(sys.argv[1]).is_taken("k", 1))
"""


def is_taken_elsewhere(file: Path) -> str:
    with Process(textwrap.dedent(IS_TAKEN), file) as other:
        return other.first


@linux
def test_a_fork_neither_ends_a_lease_nor_keeps_it(file: Path) -> None:
    store = SqliteStore(file)
    reader, writer = os.pipe()
    go, began = os.pipe()
    child = 0
    try:
        with Claim([1]) as mine:
            store.add([DRAFT], agreed, mine)
            child = os.fork()
            if child == 0:  # sees the lease of its parent, and that the parent has ended it
                os.write(writer, b"01"[store.is_taken("k", 1) :][:1])
                os.read(go, 1)
                os.write(writer, b"01"[store.is_taken("k", 1) :][:1])
                signal.pause()
            assert os.read(reader, 1) == b"1"
            assert is_taken_elsewhere(file) == "True"
        assert is_taken_elsewhere(file) == "False"
        os.write(began, b"x")
        assert os.read(reader, 1) == b"0"
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        [os.close(each) for each in (reader, writer, go, began)]


def test_a_replay_writes_nothing(file: Path) -> None:
    dp.session(store=file)
    answer = people().count(epsilon="0.1")
    dp.reset()
    before, stamp = file.read_bytes(), file.stat().st_mtime_ns
    dp.session(store=file)
    store = dp.ledger()._store
    assert isinstance(store, SqliteStore)
    wrote: list[str] = []
    store._connection().set_trace_callback(wrote.append)
    assert people().count(epsilon="0.1") == answer
    assert not [sql for sql in wrote if sql.startswith(("BEGIN IMMEDIATE", "INSERT", "UPDATE"))]
    dp.reset()
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (before, stamp)


def test_refined_draws_are_leased_by_their_number(running: dp.types.Session) -> None:
    n = people().count(epsilon=1)
    with threads([lambda: n.refine(epsilon=1)] * 4) as got:
        pass
    assert len({float(each) for each in got}) == 1
    assert running.spent == Fraction(2)


def test_a_lease_leaves_no_row_behind(file: Path) -> None:
    dp.session(store=file)
    people().count(epsilon="0.1")
    dp.reset()
    store = SqliteStore(file)
    assert store._connection().execute("SELECT count(*) FROM leases").fetchone() == (0,)


# --- forks of who is answering --------------------------------------------------------------------


def printed(code: str, *arguments: str) -> list[str]:
    """The lines that a process prints."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    return ran.stdout.splitlines()


@linux
@pytest.mark.parametrize("where", ["memory", "file"])
def test_one_charge_is_one_answer_though_a_function_of_the_caller_forks(
    where: str, tmp_path: Path
) -> None:
    """Each process drew an answer of its own for the one charge."""
    code = """
        import os, sys
        import pandas as pd
        import dppandas as dp
        where = {"store": sys.argv[1]} if len(sys.argv) > 1 else {}
        dp.session(epsilon=1, **where)
        rows, children = pd.DataFrame({"x": range(50)}), []
        def score(frame, candidate):
            if len(frame) and not children:
                children.append(os.fork())
            return 0
        try:
            said = f"answered {dp.select(rows, [1, 2, 3], score=score, sensitivity=1, epsilon=1)}"
        except dp.errors.WorkerProcessError:
            said = "refused"
        if children[0] == 0:
            print(said, flush=True)
            os._exit(0)
        os.waitpid(children[0], 0)
        print(said, dp.ledger().to_frame()["status"].tolist())
    """
    file = [str(tmp_path / "a.ledger")] if where == "file" else []
    child, parent = printed(code, *file)
    assert child == "refused"
    assert parent.startswith("answered")
    assert parent.endswith("['released']")


@linux
def test_one_charge_is_one_answer_though_rows_are_read_again_by_a_fork() -> None:
    """A mechanism may have rows read again, and a function of the caller may fork then."""
    code = """
        import os
        import pandas as pd
        import dppandas as dp
        from dppandas.privacy.mechanisms.quantiles import ExponentialQuantiles
        children, release = [], ExponentialQuantiles.release
        def forked(self, exact):
            children.append(os.fork())
            return release(self, exact)
        ExponentialQuantiles.release = forked
        try:
            asked = pd.DataFrame({"x": range(50)}).dp["x"].median(bounds=(0, 50))
            said = f"answered {asked.release(epsilon=1)}"
        except dp.errors.WorkerProcessError:
            said = "refused"
        if children[0] == 0:
            print(said, flush=True)
            os._exit(0)
        os.waitpid(children[0], 0)
        print(said)
    """
    child, parent = printed(code)
    assert child == "refused"
    assert parent.startswith("answered")


def test_a_second_outcome_is_an_error(store: Store) -> None:
    (entry,) = store.add([DRAFT._replace(key="")], agreed)
    store.settle(entry.number, "released", [3])
    with pytest.raises(ReleaseFailed, match="has an outcome already"):
        store.settle(entry.number, "released", [4])
