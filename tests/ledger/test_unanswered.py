"""What a ledger says of charges without an answer, by who made them and what is known of them."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ledgers import DRAFT, PRELUDE, Process, agreed, limit, linux

from dppandas.engines import progress
from dppandas.ledger import words
from dppandas.ledger.ledger import Ledger, kernel
from dppandas.ledger.storage import locks
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore

#: Another session, which has charged a question and is answering it, until it is told to end.
ANSWERING = textwrap.dedent(PRELUDE) + textwrap.dedent("""
    from dppandas.ledger.storage.leases import Claim

    store = SqliteStore(sys.argv[1])
    asked = entry()._replace(key=sys.argv[2], draw_id="theirs", kernel="theirs")
    with Claim([1]) as claim:
        (charged,) = store.add([asked], lambda *losses: None, claim)
        print("charged", flush=True)
        if sys.stdin.readline().strip() == "answer":
            store.settle(charged.number, "released", [3], leased=True)
            print("answered", flush=True)
""")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    SqliteStore(tmp_path / "a.ledger", limit(10)).close()
    return tmp_path / "a.ledger"


@pytest.fixture
def reader(file: Path) -> Iterator[Ledger]:
    store = SqliteStore(file)
    yield Ledger(store.terms, store)
    store.close()


def shown(ledger: Ledger) -> list[str]:
    """What a terminal, the page of a notebook and the table of a live ledger say."""
    at_rest, drawn = repr(ledger), ledger._repr_html_()
    return [re.sub("<[^>]*>", " ", each) for each in (at_rest, drawn)]


def in_a_terminal(file: Path) -> str:
    command = [sys.executable, "-m", "dppandas", "show", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@linux
def test_what_another_session_is_answering_is_told_as_such(file: Path, reader: Ledger) -> None:
    with Process(ANSWERING, file, "k") as other:
        assert other.first == "charged"
        for said in (*shown(reader), in_a_terminal(file)):
            assert words.ANSWERED_ELSEWHERE in said
            assert "no answer" not in said
        assert other.told("answer") == "answered"
        for said in shown(reader):
            assert words.ANSWERED_ELSEWHERE not in said


@linux
def test_a_session_that_died_left_no_answer(file: Path, reader: Ledger) -> None:
    with Process(ANSWERING, file, "k"):
        assert words.ANSWERED_ELSEWHERE in shown(reader)[0]
    for said in (*shown(reader), in_a_terminal(file)):
        assert "(charged, no answer)" in said
        assert words.ANSWERED_ELSEWHERE not in said


def test_of_a_question_without_a_key_nobody_knows(file: Path, reader: Ledger) -> None:
    with Process(ANSWERING, file, ""):
        for said in shown(reader):
            assert f"({words.UNKNOWN})" in said


def test_where_the_system_has_no_such_locks_nobody_knows(
    file: Path, reader: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Process(ANSWERING, file, "k"):
        monkeypatch.setattr(locks, "_asked", lambda *a: None)
        for said in shown(reader):
            assert f"({words.UNKNOWN})" in said


def test_a_charge_of_this_kernel_is_never_another_session_s(monkeypatch: Any) -> None:
    """What is being answered here, only the live ledger tells, and never what is saved."""
    ledger = Ledger(limit(10), MemoryStore())
    draft = DRAFT._replace(kernel=kernel(), draw_id="ours")
    ledger._store.add([draft], agreed)
    for said in shown(ledger):
        assert "(charged, no answer)" in said
    (entry,) = ledger._charges()
    here = words.with_others(ledger._snapshot(), [entry], {"ours": "computing … 2 s"})
    assert words.title(entry, here) == entry.what.title
    assert progress.states(ledger) == {}
