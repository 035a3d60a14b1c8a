"""What an auditor found in the readers: rows that decided, before the charge or beside the answer,
whether something could be read, which file it came from, or how often it counted."""

import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.engines.files import private_files, pruning, streaming
from dppandas.errors import QueryError, ReleaseFailed
from dppandas.rows.values import reading

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dataset = pytest.importorskip("pyarrow.dataset")


def test_statistics_of_a_field_are_not_those_of_a_column(tmp_path: Path, exact: None) -> None:
    """A column `a.b` beside the field b of a column a: both have the path a.b in the file."""
    rows = {"a.b": [5] * 100, "a": [{"b": 900}] * 100}
    pq.write_table(pa.table(rows), tmp_path / "dots.parquet")
    p = dp.protect(tmp_path / "dots.parquet", name="dots", prune=True)
    assert p.query("`a.b` == 5").count(epsilon=1) == 100


def test_a_file_that_is_skipped_is_still_the_file_that_was_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for path in paths:
        pq.write_table(pa.table({"x": [5] * 100}), path)
    p = dp.protect(paths, name="two", prune=True)
    possible = pruning.possible

    def late(*args: Any) -> Any:
        pq.write_table(pa.table({"x": [9] * 100}), paths[1])  # after the check before the charge
        return possible(*args)

    monkeypatch.setattr(streaming.pruning, "possible", late)
    with pytest.raises(ReleaseFailed, match="has changed since"):
        p.query("x == 5").count(epsilon=1)


def dictionaries() -> dict[str, Any]:
    day = pa.array([0], pa.date32()).dictionary_encode()
    listed = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array([[1]]))
    null = pa.array(["y", None]).dictionary_encode(null_encoding="encode")
    return {
        "no day": pa.chunked_array([], day.type),
        "no list": pa.chunked_array([], listed.type),
        "lists": pa.chunked_array([listed, listed]),
        "days": pa.chunked_array([day, day]),
        "a null that is encoded": pa.chunked_array([pa.array(["x"]).dictionary_encode(), null]),
    }


@pytest.mark.parametrize("name", dictionaries())
def test_no_dictionary_decides_whether_a_table_is_taken(name: str, exact: None) -> None:
    column = dictionaries()[name]
    p = dp.protect(pa.table({"c": column, "n": list(range(len(column)))}), name=name)
    assert p["c"].count(epsilon=1) == len(column) - (name == "a null that is encoded")


#: A column of dictionary-encoded texts, by itself and within others.
NESTED = {
    "texts": lambda towns: towns,
    "lists": lambda towns: pa.ListArray.from_arrays(list(range(len(towns) + 1)), towns),
    "lists of one": lambda towns: pa.FixedSizeListArray.from_arrays(towns, 1),
    "structs": lambda towns: pa.StructArray.from_arrays([towns], ["name"]),
}


@pytest.mark.parametrize("labels", [126, 127])
@pytest.mark.parametrize("shape", NESTED)
def test_how_many_labels_a_file_has_decides_nothing(
    tmp_path: Path, labels: int, shape: str, exact: None
) -> None:
    """pandas numbers 127 labels by int16, and fewer by int8; the file keeps the width."""
    for name, number in (("a", labels), ("b", 5)):
        towns = pa.array(pd.Categorical([f"town {i}" for i in range(number)]))
        pq.write_table(pa.table({"town": NESTED[shape](towns)}), tmp_path / f"{name}.parquet")
    p = dp.protect([tmp_path / "a.parquet", tmp_path / "b.parquet"], name="towns")
    assert p["town"].count(epsilon=1) == labels + 5
    if shape == "texts":
        counts = p["town"].value_counts(keys=["town 1", "town 9"], epsilon=1)
        assert counts.to_dict() == {"town 1": 2, "town 9": 1}


def test_files_whose_types_differ_within_are_refused(tmp_path: Path) -> None:
    for name, kind in (("a", pa.list_(pa.int32())), ("b", pa.list_(pa.int64()))):
        pq.write_table(pa.table({"x": pa.array([[1]], kind)}), tmp_path / f"{name}.parquet")
    refusal(lambda: dp.protect(tmp_path, name="two"), "of another type", QueryError)


def test_texts_beyond_32_bit_offsets_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their offsets are widened, and not only where a real 2 GiB of them are at hand."""
    monkeypatch.setattr(reading, "_OFFSETS", 4)
    whole = reading.one_array(pa.chunked_array([["abc"], ["de"]], pa.string()))
    assert whole.type == pa.large_string()
    assert whole.to_pylist() == ["abc", "de"]


def test_each_file_counts_once(tmp_path: Path, exact: None) -> None:
    deep = tmp_path / "g" / "y" / "m"
    deep.mkdir(parents=True)
    table = pa.table({"x": [1] * 100})
    pq.write_table(table, deep / "a.parquet")
    os.symlink(deep / "a.parquet", deep / "b.parquet")
    names: list[Any] = [f"{tmp_path}/g/**/**/*.parquet", [deep / "a.parquet", tmp_path / "g"]]
    for i, paths in enumerate(names):
        assert dp.protect(paths, name=f"once {i}").count(epsilon=1) == 100


def test_a_link_that_leads_nowhere_is_told_as_such(tmp_path: Path) -> None:
    os.symlink(tmp_path / "gone.parquet", tmp_path / "link.parquet")
    refusal(lambda: dp.protect(f"{tmp_path}/*.parquet", name="gone"), "No such file", QueryError)


@pytest.mark.parametrize("hidden", ["_temporary", ".hidden"])
def test_half_written_folders_are_left_out(hidden: str, tmp_path: Path, exact: None) -> None:
    inside = tmp_path / "rows" / hidden / "0"
    inside.mkdir(parents=True)
    for folder in (inside, tmp_path / "rows"):
        pq.write_table(pa.table({"x": [1] * 100}), folder / "a.parquet")
    assert dp.protect(tmp_path / "rows", name="rows").count(epsilon=1) == 100


def test_rows_that_could_not_be_removed_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    remove = shutil.rmtree
    for fails in (lambda *a, **k: None, interrupted):
        monkeypatch.setattr(private_files.shutil, "rmtree", fails)
        try:
            with private_files.private_folder() as folder:
                (folder / "0").write_text("private")
        except KeyboardInterrupt:
            pass
        assert folder.exists()
        monkeypatch.setattr(private_files.shutil, "rmtree", remove)
        with private_files.private_folder() as other:
            assert not folder.exists()
        assert not other.exists()
        assert list(folder.parent.iterdir()) == []


def interrupted(*args: Any, **kwargs: Any) -> None:
    raise KeyboardInterrupt
