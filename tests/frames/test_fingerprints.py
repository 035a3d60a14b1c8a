"""Data that change under one version are told to their holder, and to nobody else."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ledgers import anew

import dppandas as dp
from dppandas.errors import SourceError
from dppandas.frames import fingerprints

DATA = {"a": [1, 2, 3], "g": ["x", "y", None]}


@pytest.fixture
def folder() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "dppandas"


def protect(file: Path, data: Any = DATA, version: str = "1", name: str = "people") -> Any:
    anew(epsilon=9, store=file)
    return dp.protect(pd.DataFrame(data), name=name, version=version)


def test_other_data_under_one_version_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.ledger"
    first = protect(file).count(epsilon=1)
    changed = {**DATA, "a": [1, 2, 4]}
    with pytest.raises(SourceError, match="changed since version '1' was protected"):
        protect(file, changed)
    assert dp.ledger().spent == 1
    assert not dp.session()._sources
    protect(file, changed, version="2").count(epsilon=1)
    assert protect(file).count(epsilon=1) == first
    assert dp.ledger().spent == 2


def times(zone: str) -> Any:
    return {"t": pd.to_datetime(["2020-01-01 10:00"] * 3, utc=True).tz_convert(zone)}


TABLE = pd.DataFrame(DATA)
#: Zones and truths are told by elements, not by dtypes.
ZONED = pd.DataFrame({**times("Asia/Tokyo"), "b": [True, False, True]})


@pytest.mark.parametrize(("one", "same"), [
    (DATA, TABLE.iloc[::-1]), (DATA, TABLE.astype({"a": "float64", "g": object})),
    (DATA, TABLE.astype({"a": "Int64", "g": "category"})), (ZONED, ZONED.astype(object)),
    (DATA, TABLE.set_index(pd.Index([5, 6, 7]))),
    (ZONED, ZONED.astype({"b": "boolean", "t": "category"})),
])  # fmt: skip
def test_other_dtypes_and_orders_are_no_other_data(one: Any, same: Any, tmp_path: Path) -> None:
    protect(tmp_path / "a.ledger", one)
    protect(tmp_path / "a.ledger", same)


@pytest.mark.parametrize(("one", "other"), [
    (DATA, {"b": DATA["a"], "g": DATA["g"]}), (DATA, {**DATA, "c": 1}),
    (DATA, {"a": [1, 2], "g": ["x", "y"]}), (times("UTC"), times("Asia/Tokyo")),
    ({"a": [1, 2]}, {"a": pd.Series([True, 2], dtype=object)}),
    ({"a": [1, 1]}, {"a": [True, True]}), ({"a": [2**70, 1]}, {"a": [2**70 + 1, 1]}),
])  # fmt: skip
def test_what_verbs_tell_apart_is_other_data(one: Any, other: Any, tmp_path: Path) -> None:
    for _ in range(2):
        protect(tmp_path / "a.ledger", one)
    with pytest.raises(SourceError, match="have changed since"):
        protect(tmp_path / "a.ledger", other)


def test_each_ledger_and_source_is_for_itself(tmp_path: Path) -> None:
    protect(tmp_path / "a.ledger")
    protect(tmp_path / "b.ledger", {"z": [1]})
    protect(tmp_path / "a.ledger", {"z": [1]}, name="others")


def test_key_and_fingerprints_are_the_users_own_in_no_ledger(tmp_path: Path, folder: Path) -> None:
    protect(tmp_path / "a.ledger").count(epsilon=1)
    dp.reset()
    kept = sorted(folder.iterdir())
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}
    (since,) = (file for file in kept if file.suffix == ".since")
    assert since.read_text() == "0", "of charges that were there before, and no secret"
    kept.remove(since)
    assert len(kept) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    whole = (tmp_path / "a.ledger").read_bytes()
    for file in kept:
        assert file.read_bytes() not in whole
        assert bytes.fromhex(file.read_text()) not in whole
        assert file.name.encode() not in whole or file.name == "key"


def test_two_keys_make_two_fingerprints(tmp_path: Path, folder: Path) -> None:
    protect(tmp_path / "a.ledger")
    mine = {file.name: file.read_text() for file in folder.iterdir() if not file.suffix}
    for file in folder.iterdir():
        file.unlink()
    protect(tmp_path / "a.ledger")
    theirs = {file.name: file.read_text() for file in folder.iterdir() if not file.suffix}
    assert not set(mine.values()) & set(theirs.values())


def test_where_nothing_can_be_kept_nothing_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    protect(tmp_path / "a.ledger")
    protect(tmp_path / "a.ledger", {"z": [1]})


def test_a_ledger_in_memory_keeps_no_fingerprint(folder: Path) -> None:
    dp.session(epsilon=1)
    dp.protect(pd.DataFrame(DATA), name="people")
    assert not folder.exists()


def test_what_another_process_made_first_counts(folder: Path, monkeypatch: Any) -> None:
    folder.mkdir(parents=True)
    link = os.link

    def late(source: Any, target: Any) -> None:
        Path(target).write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert fingerprints._kept(folder / "x", lambda: "mine") == "theirs"
    assert [file.name for file in folder.iterdir()] == ["x"]


def test_no_file_depends_on_the_encoding_of_the_machine(tmp_path: Path) -> None:
    program = """
        import sys, pandas as pd, dppandas as dp
        dp.session(epsilon=9, store=sys.argv[1])
        people = dp.protect(pd.DataFrame({"a": [1]}), name="Zoë", version="1")
        people.count(epsilon=1)
        dp.ledger().export(sys.argv[1] + ".html")
    """
    strict = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    command = [*strict, "-c", textwrap.dedent(program), str(tmp_path / "a.ledger")]
    subprocess.run(command, check=True)
