"""Files that can't be read are refused before the charge where it can be known, and told after it
without a word of data; what is spilled is private, and gone at the end."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from refusals import raising, refusal
from waiting import until

import dppandas as dp
from dppandas.engines import parallel
from dppandas.engines.base import ReadError
from dppandas.engines.files import parquet, private_files, pruning, spilled
from dppandas.engines.readers import Columns
from dppandas.engines.truncation import kept_rows
from dppandas.errors import QueryError, ReleaseFailed, SourceError
from dppandas.rows.facts.units import Unit

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 300
BOUNDS = {"bounds": (0, 100), "epsilon": 1}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({
        "x": rng.integers(0, 100, ROWS), "who": rng.integers(0, 60, ROWS),
        "name": rng.choice(["SECRET-a", "SECRET-b"], ROWS),
    })  # fmt: skip


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    folder = tmp_path / "visits"
    folder.mkdir()
    for i in range(3):
        part = rows().iloc[100 * i : 100 * i + 100]
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"{i}.parquet",
                       row_group_size=30)  # fmt: skip
    return folder


def protected(where: Any, **terms: Any) -> Any:
    return dp.protect(where if isinstance(where, str) else str(where), name="visits", **terms)


# --- what is given --------------------------------------------------------------------------------


def test_a_path_a_folder_and_a_glob_are_the_same_files(visits: Path, exact: None) -> None:
    for where in (visits, visits / "*.parquet", visits / "0.parquet"):
        dp.reset()
        found = protected(where).count(epsilon=1)
        assert found == (100 if where.name == "0.parquet" else ROWS)
    dp.reset()
    assert dp.protect(visits, name="a path").count(epsilon=1) == ROWS


def test_a_list_of_paths_is_one_source(visits: Path, exact: None) -> None:
    paths = [visits / "0.parquet", str(visits / "1.parquet")]
    assert dp.protect(paths, name="two files").count(epsilon=1) == 200


def test_views_in_dictionaries_are_texts(exact: None) -> None:
    """As Polars hands out its categories."""
    polars = pytest.importorskip("polars")
    for kind in (polars.Categorical, polars.Enum(["a", "b"])):
        frame = polars.DataFrame({"w": ["a", "b", None, "a"]}, schema={"w": kind})
        for given in (frame, frame.lazy(), pa.table(frame).combine_chunks()):
            dp.reset()
            p = dp.protect(given, name="categories")
            assert p["w"].value_counts(keys=["a", "b"], epsilon=1).tolist() == [2, 1]


def test_errors_of_other_libraries_keep_their_words(tmp_path: Path) -> None:
    """They quote a cell that they can't read."""
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    dataset = pytest.importorskip("pyarrow.dataset")
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 400_000 + "SECRET,3\n")
    bad = polars.LazyFrame({"a": ["SECRET"]}).select(polars.col("a").cast(polars.Int64))
    given = {
        "lazy": bad,
        "missing": polars.scan_parquet(tmp_path / "nothing.parquet"),
        "duckdb": duckdb.sql("select cast(x as int) y from (values ('SECRET')) q(x)"),
        "csv": dataset.dataset(tmp_path / "a.csv", format="csv"),
        "int128": polars.DataFrame({"x": [1]}, schema={"x": polars.Int128}),
    }
    for name, data in given.items():
        with pytest.raises(QueryError, match="can't be read") as caught:
            dp.protect(data, name=name)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None
        assert "SECRET" not in repr(caught.value.__cause__)


def test_a_dataset_of_local_files_is_read_where_it_is(visits: Path, exact: None) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    p = dp.protect(dataset.dataset(visits, format="parquet"), name="dataset")
    assert type(p._table.engine).__name__ == "StreamingEngine"
    assert p.count(epsilon=1) == ROWS
    (visits / "year=2020").mkdir()
    os.rename(visits / "0.parquet", visits / "year=2020" / "0.parquet")
    refusal(lambda: protected(visits), "names of folders", QueryError)
    by_year = dataset.dataset(visits, format="parquet", partitioning="hive")
    assert dp.protect(by_year, name="years")["year"].count(epsilon=1) == 100


def test_an_index_without_a_name_is_no_column(tmp_path: Path) -> None:
    rows().sample(frac=1, random_state=1).to_parquet(tmp_path / "x.parquet")
    assert list(protected(tmp_path)._table.engine.columns) == ["x", "who", "name"]


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no file": (lambda at: at / "none.parquet", "there is no file"),
    "no match": (lambda at: at / "*.csv", "no file matches"),
    "another schema": (lambda at: _beside(at, rows()[["x", "who"]]), "only one of them has 'name'"),
    "another order": (lambda at: _beside(at, rows()[["who", "x", "name"]]), "another order"),
    "another type": (lambda at: _beside(at, rows().astype({"x": float})), "'x' is of another type"),
    "no Parquet": (lambda at: _written(at, b"PAR1 no"), "isn't a Parquet file, or is damaged"),
    "a glob of partitions": (lambda at: _in_folder(at), "names of folders"),
    "a URL": (lambda at: "s3://bucket/x.parquet", "isn't a path on this machine"),
    "no table": (lambda at: 7, "dp.protect takes a DataFrame"),
    "a stream": (lambda at: pa.table({"x": [1]}).to_reader(), "materialize=True"),
}  # fmt: skip


def _in_folder(at: Path) -> Path:
    (at / "year=2020").mkdir()
    _beside(at / "year=2020", rows())
    return at / "*" / "*.parquet"


def _beside(at: Path, frame: pd.DataFrame) -> Path:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), at / "9.parquet")
    return at


def _written(at: Path, content: bytes) -> Path:
    (at / "9.parquet").write_bytes(content)
    return at


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_read_is_refused_when_it_is_protected(wrong: str, visits: Path) -> None:
    make, said = WRONG[wrong]
    found = make(visits)
    refusal(lambda: dp.protect(found, name="wrong"), said, QueryError)
    refusal(lambda: dp.protect(str(visits), name="x", prune=1), "prune= must be", QueryError)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    refusal(lambda: protected(tmp_path), "holds no", QueryError)


def test_a_stream_is_read_once_into_memory(exact: None) -> None:
    reader = pa.table({"x": [1, 2, 3]}).to_reader()
    p = dp.protect(reader, name="stream", materialize=True)
    assert p["x"].sum(bounds=(0, 9), epsilon=1) == 6


def test_tables_are_copied(exact: None) -> None:
    numbers = np.arange(10)
    p = dp.protect(pa.table({"x": numbers}), name="copied")
    numbers[:] = 99
    assert p["x"].sum(bounds=(0, 100), epsilon=1) == 45


# --- versions -------------------------------------------------------------------------------------


def test_the_same_files_are_the_same_source_and_others_are_not(visits: Path) -> None:
    first = protected(visits)._table.source.id
    assert protected(visits)._table.source.id == first
    _beside(visits, rows())
    refusal(lambda: protected(visits), "other data", SourceError)


def test_a_changed_file_is_refused_before_the_charge(visits: Path) -> None:
    p = protected(visits)
    _rewrite(visits / "1.parquet")
    refusal(lambda: p.count(epsilon=1), "has changed since it was protected", SourceError)
    refusal(lambda: p["x"].mean(**BOUNDS), "1.parquet", SourceError)
    os.remove(visits / "1.parquet")
    refusal(lambda: p.count(epsilon=1), "can't be read", SourceError)
    assert ops.statuses() == []


def _rewrite(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 50), path)


def test_a_version_is_remembered_beside_a_store(
    visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for _ in range(2):
        dp.reset()
        dp.session(epsilon=3, store=tmp_path / "ledger.db")
        protected(visits, version="1").count(epsilon=1)
        assert ops.spent() == 1
    dp.reset()
    _rewrite(visits / "1.parquet")
    dp.session(epsilon=3, store=tmp_path / "ledger.db")
    refusal(lambda: protected(visits, version="1"), "have changed since version", SourceError)
    protected(visits, version="2").count(epsilon=1)


def test_a_file_that_changes_within_a_scan_fails_the_release(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = protected(visits)
    by_name = parquet._by_name

    def changing(batch: Any, names: Any) -> Any:
        if len(pq.read_metadata(visits / "2.parquet").to_dict()["row_groups"]) > 2:
            _rewrite(visits / "2.parquet")
        return by_name(batch, names)

    monkeypatch.setattr(parallel, "workers", lambda: 1)
    monkeypatch.setattr(parquet, "_by_name", changing)
    with pytest.raises(ReleaseFailed, match=r"2\.parquet has changed") as caught:
        p["x"].mean(**BOUNDS)
    assert "SECRET" not in str(caught.value)
    assert ops.statuses() == ["failed"]


def test_a_file_that_is_touched_while_it_is_read_fails_the_release(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = protected(visits / "0.parquet")
    by_name = parquet._by_name

    def touching(batch: Any, names: Any) -> Any:
        if batch.num_rows:  # types are tried without rows, before the charge
            os.utime(visits / "0.parquet", ns=(5, 5))
        return by_name(batch, names)

    monkeypatch.setattr(parquet, "_by_name", touching)
    with pytest.raises(ReleaseFailed, match=r"0\.parquet has changed"):
        p["x"].mean(**BOUNDS)


def test_a_damaged_row_group_fails_the_release_and_names_its_file(visits: Path) -> None:
    path = visits / "1.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    p = protected(visits)
    with pytest.raises(ReleaseFailed, match=r"1\.parquet can't be read: it is damaged") as caught:
        p["x"].mean(**BOUNDS)
    assert "SECRET" not in str(caught.value)
    assert "cause is not shown" not in str(caught.value)
    assert ops.spent() == 1


# --- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [int, str, float, "uint64"])
def test_the_rows_kept_are_those_that_pandas_keeps(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = rows().astype({"who": kind})
    df["odd"] = df["x"] % 2 == 1
    df.loc[::17, "x"] = df["x"].iloc[0]
    df = pd.concat([df, df.iloc[::3]], ignore_index=True)  # rows that are equal, too
    if kind == "uint64":
        df.loc[df["who"] == 7, "who"] = 2**64 - 1
    pq.write_table(pa.Table.from_pandas(df), tmp_path / "x.parquet", row_group_size=64)
    monkeypatch.setattr(spilled, "RECORDS", 23)
    monkeypatch.setattr(spilled, "MOST_BUCKETS", 5)  # of more records than are sorted at once
    monkeypatch.setattr(parquet, "PIECE", 100)
    for most in (1, 3):
        dp.reset()
        p = protected(tmp_path, unit="who", max_rows=most)
        engine: Any = p._table.engine
        with np.errstate(all="ignore"):
            wanted = kept_rows(Columns(df), Unit("who", most), engine.key)
        kept = engine.kept()
        bits = np.unpackbits(kept.bits, bitorder="little")[: len(df)].astype(bool)
        assert bits.tolist() == wanted.tolist()


def test_units_with_half_a_name_in_common_are_two() -> None:
    """A name of two words is compared as a whole, and the first row is kept among equal ones."""
    names = [(1, 1), (1, 2), (2, 1), (1, 1), (1, 2), (2, 1), (2, 1)]
    hashes = [5, 5, 5, 9, 2, 5, 5]
    records = np.array(
        [(*name, h, row) for row, (name, h) in enumerate(zip(names, hashes, strict=True))],
        dtype=np.uint64,
    )
    for most, wanted in ((1, [0, 2, 4]), (2, [0, 1, 2, 3, 4, 5]), (3, list(range(7)))):
        file = BytesIO(records.tobytes())
        assert sorted(spilled._least(file, 4, most).tolist()) == wanted
        backwards = spilled._first_of_units(records[::-1], most)
        assert sorted(backwards[:, -1].tolist()) == wanted


def test_spilled_rows_are_private_and_gone(
    visits: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    made = private_files.private_file

    def spy(path: Path) -> int:
        descriptor = made(path)
        found = [path, path.parent, path.parent.with_suffix(".lock")]
        modes.extend(stat.S_IMODE(each.stat().st_mode) for each in found)
        return descriptor

    monkeypatch.setattr(spilled, "private_file", spy)
    p = protected(visits, unit="who", max_rows=2)
    p.count(epsilon=1)
    p.per_unit().agg(n="size")["n"].mean(bounds=(0, 9), epsilon=1)
    assert {*modes} == {0o600, 0o700}
    assert list((cache / "dppandas" / "rows").iterdir()) == []
    monkeypatch.setattr(spilled, "_least", with_rows(spilled._least, KeyboardInterrupt()))
    dp.reset()
    with pytest.raises(KeyboardInterrupt):
        protected(visits, unit="who", max_rows=1).count(epsilon=1)
    assert list((cache / "dppandas" / "rows").iterdir()) == []
    assert ops.statuses() == ["interrupted"]


def with_rows(function: Any, error: BaseException) -> Any:
    """The function, which ends with an error once there are rows in a file or table: types are
    tried without any."""

    def raises(rows: Any, *more: Any) -> Any:
        if rows.tell() if hasattr(rows, "tell") else len(rows):
            raise error
        return function(rows, *more)

    return raises


KILLED = """
import os, signal, sys
from dppandas.engines.files.private_files import private_folder
with private_folder() as folder:
    (folder / "0").write_text("private")
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(cache: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED], env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL
    root = cache / "dppandas" / "rows"
    assert len(list(root.rglob("0"))) == 1
    with private_files.private_folder() as mine:
        assert list(root.rglob("0")) == []
        (mine / "1").touch()
        with private_files.private_folder() as other:
            assert other != mine
            assert (mine / "1").exists()
    assert list(root.iterdir()) == []


def test_a_full_disk_is_refused_before_the_charge(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = protected(visits, unit="who", max_rows=2)
    with monkeypatch.context() as full:
        usage = type("Usage", (), {"free": 0})
        full.setattr(private_files.shutil, "disk_usage", lambda path: usage)
        refusal(lambda: p.count(epsilon=1), "the disk of your cache is too full", SourceError)
    assert ops.statuses() == []
    with monkeypatch.context() as full:
        no_space = OSError(28, "No space left on device")
        full.setattr(spilled, "_records", with_rows(spilled._records, no_space))
        with pytest.raises(ReleaseFailed, match="the disk of your cache is too full"):
            p.count(epsilon=1)
    assert ops.statuses() == ["failed"]


def test_a_cache_that_cannot_be_written_is_refused_before_the_charge(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = protected(visits, unit="who", max_rows=2)
    with monkeypatch.context() as shut:
        shut.setattr(private_files.tempfile, "TemporaryFile", raising(OSError(13, "SECRET")))
        said = refusal(lambda: p.count(epsilon=1), "Permission denied. Let XDG_CACHE", SourceError)
    assert "SECRET" not in said
    assert ops.statuses() == []
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(visits.parent))
    assert private_files._root() == visits.parent / ".cache" / "dppandas" / "rows"


def test_a_disk_that_is_too_full_for_whole_units_is_known_before_the_charge(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a first answer has found."""
    dp.session(epsilon=10, delta="1e-5")
    p = protected(visits, unit="who", max_rows=2)
    p.count(epsilon=1)
    before = ops.statuses()
    usage = type("Usage", (), {"free": private_files.ROOM - 1})
    monkeypatch.setattr(private_files.shutil, "disk_usage", lambda path: usage)
    groups = p.groupby("name", keys=["SECRET-a"])
    for ask in (
        lambda: groups["who"].nunique(epsilon=1),
        lambda: p["name"].unique(epsilon=1, delta="1e-6"),
        lambda: p.per_unit().agg(some=("x", "mean"))["some"].mean(bounds=(0, 9), epsilon=1),
    ):
        refusal(ask, "the disk of your cache is too full", SourceError)
    assert ops.statuses() == before
    p.count(epsilon=1, fresh=True)  # which writes nothing
    usage.free += 1  # type: ignore[attr-defined]
    groups["who"].nunique(epsilon=1)


# --- progress, interrupts, pruning ----------------------------------------------------------------


@pytest.mark.parametrize("prune", [False, True])
def test_a_scan_reports_its_rows(
    prune: bool, visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not which of them a filter leaves to be read."""
    heard: list[int] = []
    wholes: list[int] = []
    monkeypatch.setattr(parquet, "PIECE", 30)
    p = dp.protect(visits, name="visits", prune=prune)
    engine: Any = p._table.engine

    def run(tasks: Any, rows: int) -> Any:
        wholes.append(rows)
        return [task(heard.append) for task in tasks[:1]]

    monkeypatch.setattr(parallel, "run", run)
    ops.integers(p["x"].mean(bounds=(0, 9)), engine)
    assert heard == sorted({*heard})
    assert len(heard) == len(engine.files.pieces) == 12
    assert heard[-1] == engine.files.rows
    assert wholes == [0 if prune else engine.files.rows]


def test_an_interrupt_ends_a_scan_and_stays_charged(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = protected(visits)
    p["x"].mean(**BOUNDS)  # types are tried before the charge, and not again
    begun, by_name = threading.Event(), parquet._by_name

    def slow(batch: Any, names: Any) -> Any:
        begun.set()
        until(lambda: stopped)
        return by_name(batch, names)

    stopped: list[bool] = []

    def interrupted(*args: Any) -> Any:
        until(begun.is_set)
        stopped.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet, "_by_name", slow)
    monkeypatch.setattr(parallel, "_watch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        p["x"].mean(**BOUNDS, fresh=True)
    assert ops.statuses() == ["released", "interrupted"]
    assert ops.spent() == 2


FILTERS = {
    "x > 250": 1, "x <= 30": 1, "x == 150": 1, "x >= 100 and x < 110": 1, "30 > x": 1,
    "x < 5 or x > 290": 2, "x != 3": 3, "name == 'a'": 3, "x < y": 3, "not x > 250": 3,
    "x.isna()": 3, "x > 1000": 0, "y > 1000": 0, "y >= 299": 1,
}  # fmt: skip


@pytest.mark.parametrize("text", FILTERS)
def test_pruning_skips_what_no_row_needs_and_changes_nothing(
    text: str, tmp_path: Path, exact: None
) -> None:
    df = pd.DataFrame({"x": range(ROWS), "y": np.arange(ROWS) * 1.0, "name": "a"})
    df.loc[[3, 200], "y"] = np.nan
    pq.write_table(pa.Table.from_pandas(df), tmp_path / "x.parquet", row_group_size=100)
    pruned = dp.protect(tmp_path, name="pruned", prune=True)
    found = pruned.query(text)
    engine: Any = pruned._table.engine
    assert len(pruning.possible(engine.files, engine.files.pieces, found._where)) == FILTERS[text]
    assert found.count(epsilon=1) == dp.protect(df, name="df").query(text).count(epsilon=1)
    assert found["x"].median(bounds=(0, 400), epsilon=1) is not None


def test_nothing_is_pruned_unless_it_is_asked(visits: Path) -> None:
    assert protected(visits)._table.engine.prune is False


def test_an_error_of_reading_is_no_word_of_others() -> None:
    """What is told of a failed release is a message of ours."""
    assert not issubclass(ReadError, OSError | pa.ArrowException)
