"""Ledgers of older schemas open, add up and replay; those of this one keep what is to come."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import DRAFT, agreed, anew, limit
from notes import noted

import dppandas as dp
from dppandas.ledger.stated_errors import StatedError
from dppandas.ledger.storage import schema
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import MemoryStore, Store
from dppandas.ledger.storage.verify import verified
from dppandas.privacy.accounting.composition import ParallelComposition, Part
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.release.context import within

ROOT = Path(__file__).parents[3]


def committed() -> list[Path]:
    """The ledgers that notebooks and pages were saved with."""
    folders = ROOT / "notebooks", ROOT / "docs" / "plots"
    return [file for folder in folders for file in sorted(folder.rglob("*.ledger"))]


def bodies(file: Path, kind: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as db:
        return [
            json.loads(body)
            for (body,) in db.execute("SELECT body FROM events WHERE kind = ?", (kind,))
        ]


def test_the_committed_ledgers_open_add_up_and_replay(tmp_path: Path) -> None:
    files, older = committed(), 0
    assert len(files) > 20
    for file in files:
        with noted(file.name):
            copy = Path(shutil.copy(file, tmp_path / file.name))
            before = verified(copy)
            assert before.is_sound
            said = bodies(copy, "charge")
            older += before.schema < schema.VERSION
            store = SqliteStore(copy)
            entries = store.entries()
            charged = ParallelComposition().plus(c for e in entries for c in e.charges)
            assert store.spending.losses == charged.losses
            assert store.spending.total == before.spent
            for entry, body in zip(entries, said, strict=True):
                if "query" in body:  # the sentence as it was stated, and its error
                    assert entry.what.text == entry.what.whole == body["query"]
                    assert ("told from" in body["error"]) or entry.error == body["error"]
                    told = entry.mechanism, entry.error, entry.mechanism_in_words, entry.known_error
                    assert "told from" not in " ".join(told)
                    assert bool(entry.threshold) == ("told from" in body["mechanism"])
                if entry.key and entry.status == "released":
                    assert store.stored(entry.key, 1) is not None
            shown = [(entry.what.title, entry.known_error) for entry in entries]
            (new,) = store.add([DRAFT._replace(loss=Loss())], agreed)
            store.settle(new.number, "failed")
            assert store.entries(before=new.number) == entries
            store.close()
            after = verified(copy, before.head)  # the older events are those that were there
            assert (after.is_sound, after.schema) == (True, schema.VERSION)
            again = SqliteStore(copy).entries(before=new.number)
            assert [(entry.what.title, entry.known_error) for entry in again] == shown
    assert older > 20 or older == 0  # 0: all were saved anew


def people() -> Any:
    frame = pd.DataFrame({"age": np.arange(400.0) % 90, "sex": ["f", "m"] * 200})
    domain = {"age": (0, 90), "sex": ["f", "m"]}
    return dp.protect(frame, name="people", version="1", domain=domain)


def test_a_charge_keeps_its_question_and_its_error_as_data(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    anew(epsilon=10, store=file)
    with within(asker="alice"):
        mean = people().groupby("sex")["age"].mean(epsilon=1)
    people()["age"].agg(["count", "median"], epsilon=1)
    live = dp.ledger()._charges()
    dp.reset()
    assert verified(file).is_sound
    first, *others = bodies(file, "charge")
    assert "query" not in first
    assert first["question"]["keys"] == [{"expression": "sex", "name": "sex"}]
    assert first["question"]["columns"] == [
        {"bounds": "(0, 90)", "expression": "age", "name": "age"}
    ]
    assert first["question"]["verb"] == {"name": "mean", "of": "mean", "alone": "mean",
                                         "of_formula": "mean of"}  # fmt: skip
    assert first["asker"] == "alice"
    assert "asker" not in others[0]
    ids = [body["draw_id"] for body in (first, *others)]
    assert len({*ids}) == 3
    assert first["request"] != others[0]["request"] == others[1]["request"]
    outcome = bodies(file, "outcome")[0]
    widths = {"column": "age", "figure": "", "unit": "age", "each": list(dp.record(mean).errors())}
    assert (outcome["error"]["half_widths"], outcome["error"]["confidence"]) == ([widths], 0.95)
    entry = SqliteStore(file).entries()[0]
    assert entry.what.title == "Mean age by sex"
    assert entry.known_error == dp.record(mean)._answered
    assert entry == live[0]


def test_ids_of_draws_are_drawn_whatever_the_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made before the charge, and so before any row is read."""
    anew(epsilon=10)
    frame = people()
    monkeypatch.setattr(type(frame._table.engine), "accumulate_rows", None)
    with pytest.raises(dp.errors.ReleaseFailed):
        frame.count(epsilon=1)
    (entry,) = dp.ledger()._charges()
    assert len(entry.draw_id) == len(entry.request) == 16
    assert entry.status == "failed"


def test_a_charge_of_several_sources_counts_for_each(tmp_path: Path) -> None:
    both = DRAFT._replace(others=(("clinic", "2", (Part("sex", "f", 1),)),))
    for store in (MemoryStore(), SqliteStore(tmp_path / "a.ledger", limit(1))):
        (entry,) = store.add([both], agreed)
        assert store.spending.by_source() == {"people": both.loss, "clinic": both.loss}
        assert store.charges_of("people", "1") == store.charges_of("clinic", "2") == 1
        assert store.charges_of("clinic", "1") == 0
        assert store.entries() == [entry]
        store.close()
    verdict = verified(tmp_path / "a.ledger")
    assert verdict.is_sound
    assert verdict.spent == both.loss + both.loss
    assert SqliteStore(tmp_path / "a.ledger").spending.total.epsilon == Epsilon("1/5")


STATUSES = ["charged", "released", "failed", "interrupted", "recorded"]


def test_what_became_of_an_answer_is_kept(tmp_path: Path) -> None:
    stores: list[Store] = [MemoryStore(), SqliteStore(tmp_path / "a.ledger", limit(1))]
    for store in stores:
        for status in STATUSES:
            (entry,) = store.add([DRAFT._replace(key="")], agreed)
            if status != "charged":
                store.settle(entry.number, status)
        assert [e.status for e in store.entries()] == STATUSES
    stores[1].close()
    assert verified(tmp_path / "a.ledger").is_sound


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_kept_as_what_became_of_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    anew(epsilon=2, store=tmp_path / "a.ledger")
    frame = people()

    def stopped(*_: object) -> None:
        raise stop

    with monkeypatch.context() as patched:
        patched.setattr(type(frame._table.engine), "accumulate_rows", stopped)
        with pytest.raises(stop, match="No answer is stored"):
            frame.count(epsilon=1)
    (entry,) = dp.ledger()._charges()
    assert entry.status == "interrupted"
    assert frame.count(epsilon=1) is not None  # nobody waits for the one that was interrupted
    assert dp.ledger().spent == 2
    dp.reset()
    assert verified(tmp_path / "a.ledger").is_sound


def test_a_stated_error_is_read_as_it_was_kept() -> None:
    from operations import EVERY, SCHEMA, TESTED, UNKNOWN, released

    anew(epsilon=10_000, delta="0.001")
    frame = dp.protect(SCHEMA.copy(), name="all", unit="owner", max_rows=3)
    found = 0
    for name in (*EVERY, *UNKNOWN, *TESTED):
        with noted(name):
            answer = released(name, frame)
            entry = dp.ledger()._charges(1)[0]
            if isinstance(entry.released_error, StatedError):
                found += 1
                kept = json.loads(json.dumps(entry.released_error.to_json(), allow_nan=False))
                assert StatedError.from_json(kept) == entry.released_error
                record = dp.record(answer)
                if len(record.components) == 1 and record.number == entry.number:
                    assert entry.known_error == record._answered
    assert found > 60
