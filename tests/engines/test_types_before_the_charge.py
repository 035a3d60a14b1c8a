"""Types decide before the charge: whatever a column holds, a question is answered, or it is refused
and charges nothing. No row, and no room that rows would take, decides whether it is."""

import datetime as dt
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal as D
from functools import partial
from pathlib import Path
from typing import Any

import operations as ops
import pandas as pd
import pytest
import sizes
from notes import noted
from refusals import charges, refusal
from same_rows import KEY

import dppandas as dp
from dppandas.engines import arrow_types
from dppandas.engines.files import private_files
from dppandas.errors import DPError, QueryError, SourceError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dataset = pytest.importorskip("pyarrow.dataset")

DAYS = [dt.date(2020, 1, 31), dt.date(2021, 1, 31)]
LONG = "long enough not to lie in the view itself"

#: Two different values of each type that has no parts.
PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "int64": (pa.int64(), [1, 2]),
    "uint64": (pa.uint64(), [1, 2**64 - 1]),
    "float16": (pa.float16(), [1.5, 2.5]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["a", "b"]),
    "string_view": (pa.string_view(), ["a", LONG]),
    "binary_view": (pa.binary_view(), [b"a", b"\xff"]),
    "fixed binary": (pa.binary(2), [b"ab", b"\xff\xff"]),
    "date64": (pa.date64(), DAYS),
    "decimal256": (pa.decimal256(60, 2), [D("1.10"), D("2.20")]),
    "timestamp": (pa.timestamp("ns"), [0, 10**18]),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), [0, 10**15]),
    "duration": (pa.duration("us"), [0, 10**6]),
    "time64": (pa.time64("us"), [dt.time(1), dt.time(2)]),
}
#: Those whose containers are tried, too.
INSIDE = ("int64", "string", "string_view", "binary_view")


def _array(kind: Any, one: Any, other: Any) -> Any:
    return pa.array([one, other, None, one], kind)


def _runs(values: Any) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), values)


def _arrays() -> Iterator[tuple[str, Any]]:
    for name, (kind, (one, other)) in PLAIN.items():
        flat = _array(kind, one, other)
        yield name, flat
        if name not in INSIDE:
            continue
        codes = pa.array([0, 1, None, 0], pa.int8())
        yield f"dictionary of {name}", pa.DictionaryArray.from_arrays(codes, flat[:2])
        yield f"runs of {name}", _runs(flat)
        yield f"list of {name}", _array(pa.list_(kind), [one, other], [])
        yield f"struct of {name}", _array(pa.struct([("a", kind)]), {"a": one}, {"a": other})
    view = pa.string_view()
    yield "fixed list", _array(pa.list_(view, 1), ["a"], ["b"])
    yield "list of lists", _array(pa.list_(pa.list_(view)), [["a"]], [["b"], []])
    yield "views of lists", _array(pa.list_view(view), ["a"], ["b"])
    yield "map", _array(pa.map_(pa.string(), view), [("a", "b")], [])
    yield "runs in a struct", pa.StructArray.from_arrays([_runs(pa.array(list("abca")))], ["a"])
    yield "null", pa.nulls(4)
    yield (
        "period",
        pa.array(pd.array(pd.PeriodIndex(["2020-01", "2020-02", None] * 2, freq="M"))[:4]),
    )
    yield "union", pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
        [pa.array([1, 2]), pa.array(["a", "b"])],
    )  # fmt: skip


ARRAYS = dict(_arrays())


def table(name: str) -> Any:
    return pa.table({"x": ARRAYS[name], "who": [1, 1, 2, 3], "n": [1.0, 2.0, 3.0, 4.0]})


def in_pandas(rows: Any) -> pd.DataFrame:
    found: pd.DataFrame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    return found


def in_files(rows: Any, folder: Path) -> Path:
    pq.write_table(rows, folder / "rows.parquet", row_group_size=2)
    return folder / "rows.parquet"


def in_dask(rows: Any) -> Any:
    import dask
    import dask.dataframe as dd

    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(in_pandas(rows), npartitions=2, sort=False)


def in_polars(rows: Any) -> Any:
    polars = pytest.importorskip("polars")
    return polars.from_arrow(rows) if "256" not in str(rows.schema) else None  # which it panics at


def in_duckdb(rows: Any) -> Any:
    return pytest.importorskip("duckdb").connect().from_arrow(rows)


ENGINES: dict[str, Callable[[Any, Path], Any]] = {
    "pandas": lambda rows, folder: in_pandas(rows),
    "Arrow": lambda rows, folder: rows,
    "files": in_files,
    "Polars": lambda rows, folder: in_polars(rows),
    "DuckDB": lambda rows, folder: in_duckdb(rows),
    "Dask": lambda rows, folder: in_dask(rows),
}
ONE = {"epsilon": 1}
FEW = {"bounds": (0, 5), "epsilon": 1}
UNITS: tuple[dict[str, Any], ...] = ({}, {"unit": "who", "max_rows": 1})

#: What is asked without a unit, and with one.
QUESTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    name: both if isinstance(both, tuple) else (both, both)
    for name, both in {
        "count": lambda p: p.count(**ONE),
        "mean": lambda p: p["n"].mean(**FEW),
        "median of some": lambda p: p[p["x"].notna()]["n"].median(**FEW),
        "labels": lambda p: p["x"].unique(epsilon=1, delta="1e-6"),
        "nunique": lambda p: p["who"].nunique(**ONE),
        "sample": lambda p: p.sample(0.5).count(**ONE),
        "first": (
            lambda p: p["x"].count(**ONE),
            lambda p: p.per_unit().agg(v=("x", "first")).count(**ONE),
        ),
        "per unit": (
            lambda p: p["x"].value_counts(keys=["a"], **ONE),
            lambda p: p.per_unit().agg(v=("x", "nunique"))["v"].mean(**FEW),
        ),
        "function": lambda p: dp.distance_to_property(ops.vouched(p), len).release(**ONE),
    }.items()
}  # fmt: skip


def given(engine: str, name: str, folder: Path) -> Any:
    """What holds such a column there; None, where its library makes no such table."""
    if engine == "Dask":
        pytest.importorskip("dask.dataframe")
    try:
        return ENGINES[engine](table(name), folder)
    except KeyboardInterrupt:
        raise
    except BaseException:  # such as a panic of Polars
        return None


def is_turn(*places: int) -> bool:
    """Whether it is the turn of some case: of a third, unless there is time for all."""
    return sizes.is_deep or sum(places) % 3 == 0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.sized
@pytest.mark.parametrize("engine", ENGINES)
def test_what_types_alone_decide_is_refused_before_the_charge(engine: str, tmp_path: Path) -> None:
    answered = 0
    for i, name in enumerate(ARRAYS):
        data = given(engine, name, tmp_path)
        for j, terms in enumerate(UNITS):
            dp.reset()
            dp.session(epsilon=100, delta="1e-3")
            try:
                p = dp.protect(data, name="typed", **terms) if data is not None else None
            except DPError:  # nothing can be charged yet
                continue
            for k, (question, asks) in enumerate(QUESTIONS.items()):
                if p is None or not is_turn(i, j, k, [*ENGINES].index(engine)):
                    continue
                with noted(engine, name, terms, question):
                    answered += is_answered_or_free(lambda: asks[j](p))  # noqa: B023
    assert answered > 50


def answer_of(ask: Callable[[], Any]) -> Any:
    """An answer; or that it is refused for the kind of its column."""
    try:
        return ask()
    except QueryError:
        return "refused"


def is_answered_or_free(ask: Callable[[], Any]) -> bool:
    before = charges()
    try:
        ask()
    except DPError:
        assert charges() == before
        return False
    return True


VIEWS = [
    name for name in ARRAYS if "view" in name or name in ("fixed list", "list of lists", "map")
]


@pytest.mark.parametrize("engine", ["files", "Dask"])
def test_views_are_read_as_in_memory(engine: str, tmp_path: Path, exact: None) -> None:
    """The rows that are kept, and what units hold, are those of the table in memory."""
    asked = ("mean", "nunique", "first", "per unit")
    for name in VIEWS[:: sizes.size(quick=3, deep=1)]:
        found = []
        for data in (table(name), given(engine, name, tmp_path)):
            if data is None:
                continue
            dp.reset()
            p = dp.protect(data, name="views", **UNITS[1])
            p._table.engine.key = KEY
            with noted(engine, name):
                found.append([answer_of(partial(QUESTIONS[each][1], p)) for each in asked])
        assert found[0] == found[-1], name
        assert found[0].count("refused") <= 1, name  # lists can't be counted


def test_a_type_that_cannot_be_read_is_refused_by_name() -> None:
    pytest.importorskip("dask.dataframe")
    p = dp.protect(in_dask(table("runs in a struct")), name="typed", **UNITS[1])
    said = refusal(lambda: p["n"].mean(**FEW), "Dask can't handle the type of 'x'", SourceError)
    assert "'n'" not in said
    assert "frame.drop(columns=…)" in said
    dp.reset()
    plain = dp.protect(in_dask(table("runs in a struct")), name="rows")
    assert plain["n"].mean(**FEW) is not None  # which reads no other column


def test_a_known_type_holds_the_same_values() -> None:
    for name, array in ARRAYS.items():
        for some in (array, array[1:3], array[:0], pa.chunked_array([array, array[1:]])):
            with noted(name):
                made = arrow_types.in_known_type(some)
                assert made.type == arrow_types.known(array.type)
                assert repr(made.to_pylist()) == repr(some.to_pylist())


# --- rooms for rows -------------------------------------------------------------------------------


def test_how_full_the_disk_is_tells_no_number_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever room is left, one row more or less doesn't decide what is refused for nothing."""
    files = []
    for rows in (1000, 1001):
        people = pa.table({"who": range(rows), "n": [1.0] * rows})
        pq.write_table(people, tmp_path / f"{rows}.parquet")
        files.append(tmp_path / f"{rows}.parquet")
    per_row = {8, 16, 24, 32, 40}
    limits = [0, private_files.ROOM - 1, private_files.ROOM]
    for free in [*limits, *(1000 * n for n in per_row), *(1000 * n + 1 for n in per_row)]:
        usage = type("Usage", (), {"free": free})
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)  # noqa: B023
        told = []
        for path in files:
            dp.reset()
            p = dp.protect(path, name="rows", **UNITS[1])
            told.append([is_answered_or_free(lambda: ask(p)) for ask in ROOMY])  # noqa: B023
        assert told[0] == told[1], free
        assert told[0] == [free >= private_files.ROOM] * len(ROOMY)


ROOMY = (lambda p: p.count(**ONE), lambda p: p["who"].nunique(**ONE))


# --- datasets as their owners gave them -----------------------------------------------------------


def people(folder: Path) -> Any:
    folder.mkdir()
    for i in range(2):
        rows = {"x": [1, 2, 3], "who": [1, 2, 3], "name": ["a", "b", "c"]}
        pq.write_table(pa.table(rows), folder / f"{i}.parquet", row_group_size=2)
    return dataset.dataset(folder)


def test_columns_that_were_left_out_stay_out(tmp_path: Path, exact: None) -> None:
    whole = people(tmp_path / "rows")
    some = whole.replace_schema(pa.schema([("name", pa.string()), ("x", pa.int64())]))
    p = dp.protect(some, name="some")
    assert type(p._table.engine).__name__ == "StreamingEngine"
    assert list(p.columns) == list(p._table.engine.columns) == ["name", "x"]
    assert p["x"].sum(bounds=(0, 5), epsilon=1) == 12
    refusal(lambda: dp.protect(some, name="who", unit="who", max_rows=1))
    refusal(lambda: dp.protect(whole, name="some"), "other data", SourceError)


def test_types_and_columns_of_a_dataset_are_its_own(tmp_path: Path, exact: None) -> None:
    people(tmp_path / "rows")
    wide = pa.schema([("x", pa.float64()), ("more", pa.string())])
    p = dp.protect(dataset.dataset(tmp_path / "rows", schema=wide), name="wide")
    assert list(p.columns) == ["x", "more"]
    assert p["x"].sum(bounds=(0, 5), epsilon=1) == 12
    assert p["more"].count(epsilon=1) == 0


def test_row_groups_that_were_left_out_stay_out(tmp_path: Path, exact: None) -> None:
    whole = people(tmp_path / "rows")
    first, *_ = whole.get_fragments()
    some = dataset.FileSystemDataset(
        [first.subset(row_group_ids=[0])], whole.schema, whole.format, whole.filesystem
    )
    assert dp.protect(some, name="some").count(epsilon=1) == some.to_table().num_rows == 2


def test_a_file_that_is_listed_twice_is_refused_in_words(tmp_path: Path) -> None:
    people(tmp_path / "rows")
    one, other = (str(tmp_path / "rows" / f"{i}.parquet") for i in range(2))
    link = tmp_path / "link.parquet"
    link.symlink_to(one)
    for paths in ([one, other, one], [one, str(link)]):
        twice = dataset.dataset(paths)
        refusal(lambda: dp.protect(twice, name="twice"), "lists .* twice", QueryError)  # noqa: B023
    union = dataset.dataset([dataset.dataset(one), dataset.dataset(paths)])
    refusal(lambda: dp.protect(union, name="union"), "lists .* twice", QueryError)


def test_row_groups_of_a_file_may_be_listed_one_by_one(tmp_path: Path, exact: None) -> None:
    whole = people(tmp_path / "rows")
    first, _ = whole.get_fragments()
    groups = [first.subset(row_group_ids=[i]) for i in range(2)]
    for name, chosen in (("apart", groups), ("again", [*groups, groups[0]])):
        some = dataset.FileSystemDataset(chosen, whole.schema, whole.format, whole.filesystem)
        if name == "apart":
            assert dp.protect(some, name=name).count(epsilon=1) == 3
        else:
            refusal(lambda: dp.protect(some, name="again"), "lists .* twice")  # noqa: B023


def test_a_filtered_dataset_is_refused_in_words(tmp_path: Path, exact: None) -> None:
    some = people(tmp_path / "rows").filter(dataset.field("x") > 1)
    refusal(lambda: dp.protect(some, name="some"), r"frame\.query\(…\)", QueryError)
    assert dp.protect(some.to_table(), name="some").count(epsilon=1) == 4
