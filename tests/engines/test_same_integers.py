"""Every operation gives the same integers on every engine, however its rows are cut."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import operations as ops
import pytest
from same_rows import KEY, NAMES, ROWS, UNITS, asked_with, integers, made
from sizes import size

import dppandas as dp
from dppandas.engines import pandas as pandas_engine
from dppandas.engines.base import Kernel, Need
from dppandas.engines.blocks import add_blocks
from dppandas.engines.files import parquet, spilled
from dppandas.engines.pandas import PandasEngine
from dppandas.rows.facts.units import Unit

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

#: Rows in a file, in a row group, in a piece and in a block.
CUTS = {"one": (ROWS, ROWS, ROWS, ROWS), "some": (100, 33, 40, 29), "many": (31, 7, 9, 4)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows in files, cut in several ways."""
    root = tmp_path_factory.mktemp("cuts")
    table = pa.Table.from_pandas(made(), preserve_index=False)
    for name, (rows, group, _, _) in CUTS.items():
        (root / name).mkdir()
        for i, first in enumerate(range(0, ROWS, rows)):
            part = table.slice(first, rows)
            pq.write_table(part, root / name / f"{i:03}.parquet", row_group_size=group)
    return root


@pytest.fixture(autouse=True)
def many_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "RECORDS", 50)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    seen: list[Kernel] = []
    accumulate = PandasEngine.accumulate_rows

    def spy(self: PandasEngine, kernel: Kernel, label: str) -> Any:
        seen.append(kernel)
        return accumulate(self, kernel, label)

    monkeypatch.setattr(PandasEngine, "accumulate_rows", spy)
    return seen


def parquet_cut(cut: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, int]:
    _, _, piece, block = CUTS[cut]
    monkeypatch.setattr(parquet, "PIECE", piece)
    return str(folder / cut), block


def duckdb_relation() -> Any:
    duckdb = pytest.importorskip("duckdb")
    rows = pa.Table.from_pandas(made(), preserve_index=False)
    return duckdb.connect().from_arrow(rows)


#: What holds the rows in memory.
TABLES: dict[str, Callable[[], Any]] = {
    "arrow": lambda: pa.Table.from_pandas(made(), preserve_index=False),
    "polars": lambda: pytest.importorskip("polars").from_arrow(TABLES["arrow"]()),
    "lazy": lambda: TABLES["polars"]().lazy(),
    "duckdb": duckdb_relation,
}


@pytest.mark.sized
@pytest.mark.parametrize("name", NAMES)
def test_parquet_gives_the_integers_of_pandas(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for terms in asked_with(name):
        wanted = integers(name, made(), 50, **terms)
        assert wanted
        for cut in [*CUTS][1 : size(quick=2, deep=3)]:
            path, block = parquet_cut(cut, folder, monkeypatch)
            assert integers(name, path, block, **terms) == wanted, (cut, terms)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()])
def test_rows_without_a_unit_are_dropped(kind: Any, tmp_path: Path, exact: None) -> None:
    owners = pa.array(["1", None, "2", None, "1"]).cast(kind)
    pq.write_table(pa.table({"owner": owners}), tmp_path / "x.parquet")
    p = dp.protect(tmp_path, name="no unit", unit="owner", max_rows=2)
    assert p.count(epsilon=1) == 3
    assert p["owner"].nunique(epsilon=1) == 2
    assert p.per_unit().agg(n="size")["n"].sum(bounds=(0, 9), epsilon=1) == 3


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_one_piece_and_tables_in_memory_give_the_integers_of_pandas(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for terms in asked_with(name):
        wanted = integers(name, made(), 50, **terms)
        path, block = parquet_cut("one", folder, monkeypatch)
        assert integers(name, path, block, **terms) == wanted
        for table in TABLES.values():
            assert integers(name, table(), 29, **terms) == wanted


FEW = ["group mean", "median", "value_counts of times", "distinct", "count of a sample"]


@pytest.mark.parametrize("table", TABLES)
def test_tables_in_memory_give_the_integers_of_pandas(table: str) -> None:
    for name in [each for each in FEW if each in NAMES]:
        for terms in UNITS:
            wanted = integers(name, made(), 50, **terms)
            assert integers(name, TABLES[table](), 29, **terms) == wanted


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ops.PLAIN])
def test_kernels_travel_and_say_what_they_read(name: str, kernels: list[Kernel]) -> None:
    """Kernels sent as bytes and back find the same, and so do the partial answers that come back;
    and they read nothing that they don't announce, which every block refuses."""
    for terms in asked_with(name)[:1]:
        wanted = integers(name, made(), 50, **terms)
        assert kernels
        sent = [pickle.dumps(kernel) for kernel in kernels]
        tables = 20_000 if name.startswith("posterior draw") else 6000  # of scores, which it holds
        assert max(map(len, sent)) < tables
        with pytest.MonkeyPatch.context() as travelling:
            travelling.setattr(Kernel, "__call__", called_elsewhere)
            travelling.setattr(pandas_engine, "add_blocks", added_elsewhere)
            assert integers(name, made(), 50, **terms) == wanted


def called_elsewhere(kernel: Kernel, chunk: Any) -> Any:
    return CALL(pickle.loads(pickle.dumps(kernel)), chunk)


CALL = Kernel.__call__


def added_elsewhere(*blocks: Any) -> Any:
    return pickle.loads(pickle.dumps(add_blocks(*blocks)))


def test_a_block_refuses_a_column_that_was_not_announced() -> None:
    engine = PandasEngine(made(), Unit(), KEY)
    block = engine._rows().block(0, 3, Need(frozenset({"code"})))
    assert len(block.column("code")) == 3
    for read in (
        lambda: block.column("number"),
        lambda: block.plain(["number"]),
        lambda: block.hashed(["code"], b""),
        lambda: block.hashes,
    ):
        with pytest.raises(dp.errors.InternalError, match="didn't announce"):
            read()


def test_the_page_says_what_is_tested() -> None:
    page = (Path(dp.__file__).parent.parent / "docs" / "engines.md").read_text("utf-8")
    assert table_of_engines() in page


def table_of_engines() -> str:
    """The table of docs/engines.md: each line is tested for all of `NAMES`."""
    lines = ["| the integers of pandas | operations | with units | |", "|---|---|---|---|"]
    lines += [f"| Parquet | all | the same | {len(CUTS)} ways to cut files |"]
    lines += [f"| {name} | all | the same | |" for name in LABELS]
    lines += [f"| {name} | {said} | the same | 3 partitionings |" for name, said in FAR.items()]
    return "\n".join(lines)


LABELS = ["Arrow", "Polars", "LazyFrame of Polars", "DuckDB"]
#: Tested by clusters/test_dask.py and clusters/test_spark.py.
FAR = {
    "Dask on threads": "all",
    "Dask on two processes": "all but those with a function of yours",
    "Spark": "all but those with a function of yours",
}
