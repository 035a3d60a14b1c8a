"""Data that change under one version are told to their holder, and to nobody else."""

from __future__ import annotations

import os
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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "dppandas"


def protect(file: Path, data: Any = DATA, version: str = "1", name: str = "people") -> Any:
    anew(epsilon=9, store=file)
    return dp.protect(pd.DataFrame(data), name=name, version=version)


def test_other_data_under_one_version_are_refused(tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "a.ledger"
    first = protect(file).count(epsilon=1)
    changed = {**DATA, "a": [1, 2, 4]}
    with pytest.raises(SourceError, match="not those that were protected as version '1'"):
        protect(file, changed)
    assert dp.ledger().spent == 1
    assert not dp.session()._sources
    protect(file, changed, version="2").count(epsilon=1)
    assert protect(file).count(epsilon=1) == first
    assert dp.ledger().spent == 2


@pytest.mark.parametrize(
    "same",
    [
        pd.DataFrame(DATA).iloc[::-1],
        pd.DataFrame(DATA).astype({"a": "float64", "g": object}),
        pd.DataFrame(DATA).astype({"a": "Int64", "g": "category"}),
        pd.DataFrame(DATA).set_index(pd.Index([5, 6, 7])),
    ],
)
def test_the_same_values_in_other_dtypes_and_order_are_the_same(
    same: pd.DataFrame, tmp_path: Path, folder: Path
) -> None:
    protect(tmp_path / "a.ledger")
    protect(tmp_path / "a.ledger", same)


@pytest.mark.parametrize(
    "other", [{"b": DATA["a"], "g": DATA["g"]}, {**DATA, "c": 1}, {"a": [1, 2], "g": ["x", "y"]}]
)
def test_other_columns_and_rows_are_other_data(other: Any, tmp_path: Path, folder: Path) -> None:
    protect(tmp_path / "a.ledger")
    with pytest.raises(SourceError, match="not those that were protected"):
        protect(tmp_path / "a.ledger", other)


def test_each_ledger_and_source_is_for_itself(tmp_path: Path, folder: Path) -> None:
    protect(tmp_path / "a.ledger")
    protect(tmp_path / "b.ledger", {"z": [1]})
    protect(tmp_path / "a.ledger", {"z": [1]}, name="others")


def test_key_and_fingerprints_are_the_users_own_and_in_no_ledger(
    tmp_path: Path, folder: Path
) -> None:
    protect(tmp_path / "a.ledger").count(epsilon=1)
    dp.reset()
    kept = sorted(folder.iterdir())
    assert len(kept) == 2
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    whole = (tmp_path / "a.ledger").read_bytes()
    for file in kept:
        assert file.read_bytes() not in whole
        assert bytes.fromhex(file.read_text()) not in whole
        assert file.name.encode() not in whole or file.name == "key"


def test_two_keys_make_two_fingerprints(tmp_path: Path, folder: Path) -> None:
    protect(tmp_path / "a.ledger")
    mine = {file.name: file.read_text() for file in folder.iterdir()}
    for file in folder.iterdir():
        file.unlink()
    protect(tmp_path / "a.ledger")
    theirs = {file.name: file.read_text() for file in folder.iterdir()}
    assert not set(mine.values()) & set(theirs.values())


def test_where_nothing_can_be_kept_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def times(zone: str) -> Any:
    return {"t": pd.to_datetime(["2020-01-01 10:00"] * 3, utc=True).tz_convert(zone)}


OTHERS: list[tuple[Any, Any]] = [
    (times("UTC"), times("Asia/Tokyo")),
    ({"a": [1, 2]}, {"a": pd.Series([True, 2], dtype=object)}),
    ({"a": [1, 1]}, {"a": [True, True]}),
    ({"a": [2**70, 1]}, {"a": [2**70 + 1, 1]}),
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_verbs_tell_apart_is_other_data(
    one: Any, other: Any, tmp_path: Path, folder: Path
) -> None:
    protect(tmp_path / "a.ledger", one)
    protect(tmp_path / "a.ledger", one)
    with pytest.raises(SourceError, match="not those that were protected"):
        protect(tmp_path / "a.ledger", other)


def test_zones_and_truths_are_told_by_elements_and_not_by_dtypes(
    tmp_path: Path, folder: Path
) -> None:
    data = pd.DataFrame({**times("Asia/Tokyo"), "b": [True, False, True]})
    protect(tmp_path / "a.ledger", data)
    protect(tmp_path / "a.ledger", data.astype(object))
    protect(tmp_path / "a.ledger", data.astype({"b": "boolean", "t": "category"}))
