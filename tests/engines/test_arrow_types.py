"""Columns of each type of Arrow mean what pandas' readers say, whatever holds them."""

import datetime as dt
import itertools
import uuid
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.engines.readers import ArrowColumns, Columns
from dppandas.errors import QueryError
from dppandas.rows.facts.kinds import of_arrow, of_dtype
from dppandas.rows.values import hashing, vectors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NOON, BERLIN = dt.datetime(2020, 1, 31, 12), "Europe/Berlin"
UTC = dt.UTC


def of(values: list[Any], kind: Any) -> Any:
    return pa.array([*values, None, *values[::-1], None, *values], kind)


#: Of each type, with a missing value.
ARRAYS = {
    "int64": of([1, 2, -3, 2**53 + 1, -(2**63), 2**63 - 1], pa.int64()),
    "int64 without nulls": pa.array([1, 2, 2**53 + 1], pa.int64()),
    "uint64": of([1, 2**64 - 1, 2**63], pa.uint64()),
    "small uint64": of([1, 2], pa.uint64()),
    "int8": of([1, -128, 127], pa.int8()),
    "float64": of([1.5, float("nan"), float("inf"), -0.0, 0.0, 1e308], pa.float64()),
    "float32": of([1.5, 0.1, float("nan")], pa.float32()),
    "float16": of([np.float16(1.5), np.float16(0.1)], pa.float16()),
    "bool": of([True, False], pa.bool_()),
    "string": of(["a", "b", "", "é", "2020-01-31", "1.5", "a\x00b"], pa.string()),
    "large_string": of(["", "x"], pa.large_string()),
    "string_view": of(["a", "long enough not to lie in the view itself"], pa.string_view()),
    "dictionary": of(["a", "b", "1"], pa.string()).dictionary_encode(),
    "dictionary of ints": of([1, 5, 2**53 + 1], pa.int64()).dictionary_encode(),
    "date32": of([dt.date(2020, 1, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31)], pa.date32()),
    "date64": of([dt.date(2020, 1, 31)], pa.date64()),
    "decimal128": of([D("1.10"), D("0.10"), D("9007199254740993.00")], pa.decimal128(30, 2)),
    "decimal256": of([D("1.10"), D("0.10")], pa.decimal256(60, 2)),
    "timestamp[us]": of([NOON, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)],
                        pa.timestamp("us")),
    "timestamp[ns]": of([0, 1580428800123456789], pa.timestamp("ns")),
    "timestamp[s]": of([0, 10**9], pa.timestamp("s")),
    "timestamp[us, zone]": of([NOON.replace(tzinfo=UTC), dt.datetime(2020, 10, 25, tzinfo=UTC)],
                              pa.timestamp("us", BERLIN)),
    "timestamp[us, offset]": of([NOON.replace(tzinfo=UTC)], pa.timestamp("us", "+05:30")),
    "duration": of([dt.timedelta(1), dt.timedelta(0, 1)], pa.duration("us")),
    "time64": of([dt.time(12, 30), dt.time(0)], pa.time64("us")),
    "time32": of([dt.time(12, 30), dt.time(0)], pa.time32("s")),
    "binary": of([b"a", b"b\xff"], pa.binary()),
    "binary_view": of([b"a", b"b\xff"], pa.binary_view()),
    "fixed_size_binary": of([b"ab", b"b\xff"], pa.binary(2)),
    "list of texts": of([["a", "b"], [], ["c"]], pa.list_(pa.string())),
    "large list": of([["a", "b"], []], pa.large_list(pa.string())),
    "fixed_size_list": of([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
    "struct": of([{"a": 1, "b": "x"}, {"a": None, "b": "y"}],
                 pa.struct([("a", pa.int64()), ("b", pa.string())])),
    "map": of([[("a", 1)], [("b", 2), ("c", 3)]], pa.map_(pa.string(), pa.int64())),
    "null": pa.nulls(5),
    "empty": pa.array([], pa.string()),
    "period": pa.array(pd.array(pd.PeriodIndex(["2020-01", None, "2020-03"], freq="M"))),
}  # fmt: skip

#: Types that Parquet keeps as others, or not at all, or of which pandas makes nothing by itself.
IN_MEMORY = ("string_view", "binary_view", "date64", "float16", "duration")
#: pandas loses these: large ints beside nulls become floats.
ROUNDED = {"int64": "read_parquet", "uint64": "read_parquet"}

PUBLIC = [
    1, 2, 2**53, 2**53 + 1, 1.5, 0.1, True, "a", "", "2020-01-31", D("1.10"), D("0.1"),
    pd.Timestamp("2020-01-31"), pd.Timestamp("2020-01-31 12:00", tz="UTC"), dt.date(2020, 1, 31),
    pd.Timedelta(days=1), dt.time(12, 30), b"a", 2**64 - 1, -0.0,
]  # fmt: skip


def facts(v: Any) -> dict[str, list[Any]]:
    """What can be asked of a column."""
    found: dict[str, Any] = {"null": vectors.is_null(v), "number": vectors.as_numbers(v)}
    found["hash"] = hashing.of_elements(v, b"key", equal=True)
    for operation, value in itertools.product(vectors.COMPARE, PUBLIC):
        found[f"{operation} {value!r}"] = vectors.compare_scalar(operation, v, value)
    codes = vectors.codes_of(v)
    found["same"] = (codes[:, None] == codes[None, :]) & (codes >= 0)[:, None]
    for family in ("time", "zoned", "duration"):
        micros, nanos, gone = vectors.moments(v, family)
        found[family] = [np.where(gone, -1, micros), np.where(gone, -1, nanos)]
    return {name: np.asarray(value).tolist() for name, value in found.items()}


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


@pytest.mark.parametrize("name", ARRAYS)
def test_pandas_and_arrow_read_the_same(name: str) -> None:
    """By each of the ways in which pandas holds a table of Arrow."""
    table = pa.table({"x": ARRAYS[name]})
    with np.errstate(all="ignore"):
        wanted = facts(ArrowColumns(table)["x"])
        ways = {"read_parquet": table.to_pandas()}
        if name != "period":
            ways["pyarrow"] = table.to_pandas(types_mapper=pd.ArrowDtype)
        for way, frame in ways.items():
            if ROUNDED.get(name) == way:
                continue
            found = facts(Columns(frame)["x"])
            assert [f for f in wanted if not same(wanted[f], found[f])] == [], way


@pytest.mark.parametrize("name", [each for each in ARRAYS if each not in IN_MEMORY])
def test_files_say_the_same(name: str, tmp_path: Path) -> None:
    table = pa.table({"x": ARRAYS[name], "owner": range(len(ARRAYS[name]))})
    pq.write_table(table, tmp_path / "x.parquet")
    dp.reset()
    files = dp.protect(str(tmp_path), name="types", unit="owner", max_rows=1)
    held = dp.protect(table, name="held", unit="owner", max_rows=1)
    assert files._table.source.schema == held._table.source.schema
    engine: Any = files._table.engine
    (read,) = engine.tables(engine.files.pieces[0], {"x"}) if len(table) else [None]
    if read is not None:
        with np.errstate(all="ignore"):
            assert same(facts(read.column("x")), facts(ArrowColumns(table)["x"]))
    made = files.per_unit().agg(v=("x", "first")) if name != "struct" else files
    made.count(epsilon=1)  # all rows of a unit are brought together, whatever they hold


@pytest.mark.parametrize("name", ARRAYS)
def test_kinds_follow_the_type(name: str) -> None:
    kind = ARRAYS[name].type
    if name != "period":
        assert of_dtype(pd.ArrowDtype(kind)) == of_arrow(kind)


def test_texts_that_are_not_unicode_are_missing_one_by_one() -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], "i4")), pa.py_buffer(b"a\xffb")]
    )
    assert vectors.is_null(ArrowColumns(pa.table({"x": bad}))["x"]).tolist() == [False, True, False]


def test_dictionaries_may_repeat_themselves_and_hold_nulls() -> None:
    indices = pa.array([0, 1, 2, None, 1, 3])
    for values in (["a", None, "a", "b"], ["a", "b", "a", "b"]):
        found = ArrowColumns(pa.table({"x": pa.DictionaryArray.from_arrays(indices, values)}))["x"]
        wanted = [None if i is None else values[i] for i in indices.to_pylist()]
        assert vectors.as_objects(found).tolist() == wanted
        sliced = pa.table({"x": pa.DictionaryArray.from_arrays(indices, values)}).slice(2, 3)
        assert vectors.as_objects(ArrowColumns(sliced)["x"]).tolist() == wanted[2:5]
        codes = vectors.codes_of(found)
        assert codes[0] == codes[2]


def test_a_time_beyond_pythons_calendar_keeps_its_place() -> None:
    far = pa.array([6_600_000, 0, None], pa.int32()).cast(pa.date32())
    v = ArrowColumns(pa.table({"x": far}))["x"]
    assert vectors.is_null(v).tolist() == [False, False, True]
    assert vectors.compare_scalar(">", v, "2020-01-01").tolist() == [True, False, False]


def test_run_ends_and_uuids_are_read() -> None:
    import pyarrow.compute as pc

    runs = pc.run_end_encode(pa.array([1, 1, 2, 2, 2]))
    assert vectors.as_numbers(ArrowColumns(pa.table({"x": runs}))["x"]).tolist() == [1, 1, 2, 2, 2]
    if hasattr(pa, "uuid"):
        names = pa.array([uuid.UUID(int=7).bytes, None], pa.binary(16)).cast(pa.uuid())
        v = ArrowColumns(pa.table({"x": names}))["x"]
        assert vectors.compare_scalar("==", v, uuid.UUID(int=7)).tolist() == [True, False]


def test_ordered_categories_stay_ordered(tmp_path: Path) -> None:
    """By their declared keys, as in pandas, and not by their texts."""
    sizes = pd.Categorical(["small", "large", "small"], ["small", "large"], ordered=True)
    df = pd.DataFrame({"size": sizes})
    df.to_parquet(tmp_path / "x.parquet")
    for i, given in enumerate((df, tmp_path / "x.parquet", pa.Table.from_pandas(df))):
        assert dp.protect(given, name=f"sizes {i}")["size"]._expression.has_order
        refusal(lambda: dp.protect(given, name=f"sizes {i}").query("size > 'small'").count())  # noqa: B023


def test_types_without_a_meaning_are_refused_by_name() -> None:
    parts = [pa.array([1, 2]), pa.array(["a", "b"])]
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), parts)
    spans = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    for array in (union, spans):
        refusal(
            lambda: dp.protect(pa.table({"odd": array}), name="odd"),  # noqa: B023
            "column 'odd' is of Arrow's type", QueryError,
        )  # fmt: skip
