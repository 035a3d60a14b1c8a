"""A local Spark session: the integers of pandas, workers that die, refusals.

In an environment of its own, with a Java runtime: `make test-spark`."""

import os
import pickle
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from refusals import refusal
from same_rows import KEY, NAMES, ROWS, asked_with, integers, made
from waiting import until

import dppandas as dp
from dppandas.engines.base import Kernel
from dppandas.engines.clusters.spark import SparkEngine, _Job, _Partials
from dppandas.engines.clusters.work import Failed, Work, joined
from dppandas.engines.pandas import PandasEngine, PerUnitEngine
from dppandas.engines.progress import Pass
from dppandas.errors import QueryError, ReleaseFailed, SourceError
from dppandas.privacy.mechanisms.ranks import Ranks, RanksByCell

for _tests in (__name__, "waiting"):  # which workers can't import
    cloudpickle.register_pickle_by_value(sys.modules[_tests])

BOUNDS = {"bounds": (-5, 10), "epsilon": 1}
PARTITIONS = (1, 3, 7)
UNITS: list[dict[str, Any]] = [{}, {"unit": "owner", "max_rows": 2}]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Four tries for each task, so that a worker may die."""
    assert shutil.which("java"), "Spark needs a Java runtime: apt install default-jre-headless"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,4]").config("spark.driver.memory", "1g")
    for name, value in {
        "spark.ui.enabled": "false", "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC", "spark.sql.execution.pyspark.udf.faulthandler.enabled":
        "false",
    }.items():  # fmt: skip
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(made(), preserve_index=False), found)
    return str(found)


@pytest.fixture
def rows(spark: Any, path: str) -> Any:
    return spark.read.parquet(path).repartition(4)


# --- identity -------------------------------------------------------------------------------------


@cache
def kernels_of(name: str, has_units: bool) -> list[tuple[Any, Kernel, Any]]:
    """The engine, the kernel and the result of each pass that an operation makes in pandas."""
    seen: list[tuple[Any, Kernel, Any]] = []
    accumulate = PandasEngine.accumulate_rows

    def spy(self: PandasEngine, kernel: Kernel, label: str) -> Any:
        found = accumulate(self, kernel, label)
        seen.append((self, kernel, found))
        return found

    with pytest.MonkeyPatch.context() as watching:
        watching.setattr(PandasEngine, "accumulate_rows", spy)
        integers(name, made(), 50, **UNITS[has_units])
    return seen


def same_engine(engine: Any, there: SparkEngine) -> SparkEngine:
    """The table on Spark that stands for one of pandas."""
    if not isinstance(engine, PerUnitEngine):
        return there
    base = same_engine(engine._base, there)
    found: Any = base.per_unit(engine._table)
    return found


class All:
    """Many works on the same batches, in one job."""

    def __init__(self, works: list[tuple[Work, list[str]]]) -> None:
        self.works = works

    def __call__(self, batches: Any) -> Any:
        found = list(batches)
        told = []
        for work, names in self.works:
            picked = [batch.select(names) for batch in found]
            told += [each.column(0)[0].as_py() for each in _Partials(work, tuple(names))(picked)]
        yield pa.RecordBatch.from_arrays([pa.array(told, pa.binary())], names=["partial"])


@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("terms", UNITS, ids=["rows", "units"])
def test_all_kernels_find_the_integers_of_pandas(
    terms: dict[str, Any], partitions: int, spark: Any, path: str
) -> None:
    """In one job for all operations: what each kernel makes of partitions on Spark's workers."""
    there: Any = dp.protect(spark.read.parquet(path), name="all", **terms)._table.engine
    there.key, there.block = KEY, 29
    asked, works, wanted = [], [], []
    for name in [name for name in NAMES if name not in ops.PLAIN]:
        if terms not in asked_with(name):
            continue
        for engine, kernel, found in kernels_of(name, bool(terms)):
            its = same_engine(engine, there)
            works.append((its._work(kernel), its._columns_sent(kernel.need)))
            asked.append(name)
            wanted.append(found)
    assert len(works) > 140
    assert max(len(pickle.dumps(work)) for work, _ in works) < 20_000  # tables of scores
    frame = spark.read.parquet(path).repartition(partitions, *(["owner"] if terms else []))
    parts = [bytes(row.partial) for row in frame.mapInArrow(All(works), "partial binary").collect()]
    for at, (name, expected) in enumerate(zip(asked, wanted, strict=True)):
        found = pickle.loads(joined(parts[at :: len(works)]))
        assert not isinstance(found, Failed), (name, found)
        assert flat(found.total.result()) == flat(expected), name


def flat(found: Any) -> Any:
    """To compare it: labels by name, and points, which come in the order of the rows, by size."""
    if hasattr(found, "items"):
        return sorted((key, repr(value)) for key, value in found.items())
    if isinstance(found, np.ndarray):
        return sorted(found.tolist())
    if isinstance(found, Ranks):
        return [found.values.tolist(), found.counts.tolist()]
    return [*map(flat, found)] if isinstance(found, list | tuple | RanksByCell) else repr(found)


#: One of each kind of road: nothing read, sums, passes, labels, hashes, whole units, programs.
FEW = [
    "count", "group mean", "median", "count of a sample", "nunique by group", "group sum found",
    "group nunique of values",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FEW if name in NAMES])
@pytest.mark.parametrize("terms", UNITS, ids=["rows", "units"])
def test_questions_find_the_integers_of_pandas(
    name: str, terms: dict[str, Any], spark: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From `dp.protect` to the integers, by Spark's own shuffle, and by a tree of joins."""
    if terms not in asked_with(name):
        return
    wanted = integers(name, made(), 50, **terms)
    monkeypatch.setattr("dppandas.engines.clusters.spark.JOINED", 2)
    rows = spark.read.parquet(path).repartition(PARTITIONS[-1])
    assert integers(name, rows, 29, **terms) == wanted


@pytest.mark.parametrize("kind", ["double", "string", "decimal(10,2)", "timestamp", "date"])
def test_units_of_every_type_come_together(kind: str, spark: Any, exact: None) -> None:
    """Minus zero is zero; rows without a unit are dropped."""
    cells = {
        "double": ["0.0", "-0.0", "1.5", None, "NaN", "0.0"],
        "string": ["a", "a", "b", None, "a", "a"],
        "decimal(10,2)": ["1.00", "1", "2.5", None, "1.0", "1"],
        "timestamp": ["2020-01-01", "2020-01-01 00:00:00", "2021-01-01", None, "2020-01-01", None],
        "date": ["2020-01-01", "2020-01-01", "2021-01-01", None, "2020-01-01", None],
    }[kind]
    rows = spark.createDataFrame([(cell,) for cell in cells], "text string").repartition(6)
    rows = rows.select(F.col("text").cast(kind).alias("unit"))
    there = [cell for cell in cells if cell not in (None, "NaN")]
    p = dp.protect(rows, name="units", unit="unit", max_rows=1)
    assert p.count(epsilon=1) == 2
    assert p.per_unit().agg(n="size")["n"].sum(bounds=(0, 9), epsilon=1) == len(there)


def test_a_unit_of_many_parts_is_refused(spark: Any) -> None:
    rows = spark.createDataFrame([([1],)], "who array<int>")
    refusal(
        lambda: dp.protect(rows, name="arrays", unit="who", max_rows=1),
        "can't be brought together", QueryError,
    )  # fmt: skip


# --- plans that may change ------------------------------------------------------------------------


def test_plans_that_are_not_deterministic_are_run_once(rows: Any) -> None:
    for name, plan in {
        "rand": rows.filter(F.rand() < 0.5), "limit": rows.limit(20), "sample": rows.sample(0.5),
        "any of some": rows.dropDuplicates(["code"]),
    }.items():  # fmt: skip
        p = dp.protect(plan, name=name)
        engine: Any = p._table.engine
        assert engine.checked
        p.count(epsilon=1)
        p["number"].mean(**BOUNDS)
        assert engine._seen.hashes is not None
    p = dp.protect(rows.filter("code > 1"), name="as it is")
    assert not p._table.engine.checked  # type: ignore[attr-defined]


def test_other_rows_fail_the_release(rows: Any) -> None:
    p = dp.protect(rows.limit(20), name="limit")
    p.count(epsilon=1)
    engine: Any = p._table.engine
    engine._seen.hashes ^= 1
    with pytest.raises(ReleaseFailed, match="aren't those that an earlier question met"):
        p.count(epsilon=1, fresh=True)
    assert ops.statuses() == ["released", "failed"]


def test_files_that_change_are_refused_before_the_charge(
    spark: Any, path: str, tmp_path: Path
) -> None:
    copy = tmp_path / "some rows.parquet"
    shutil.copy(path, copy)
    p = dp.protect(spark.read.parquet(str(copy)), name="files")
    p.count(epsilon=1)
    made().iloc[:5].to_parquet(copy)
    refusal(lambda: p.count(epsilon=1, fresh=True), "has changed since", SourceError)
    assert ops.statuses() == ["released"]
    refusal(lambda: dp.protect(spark.read.parquet(str(copy)), name="files"), "other data",
            SourceError)  # fmt: skip


def test_another_time_zone_is_refused_before_the_charge(spark: Any, rows: Any) -> None:
    p = dp.protect(rows, name="zone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        refusal(lambda: p.count(epsilon=1), "timeZone isn't UTC any more", SourceError)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    p.count(epsilon=1)


# --- workers that fail ----------------------------------------------------------------------------


class KilledOnce:
    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
                continue
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("terms", UNITS, ids=["rows", "units"])
def test_a_worker_that_dies_changes_nothing(
    terms: dict[str, Any], rows: Any, tmp_path: Path, exact: None
) -> None:
    marker = tmp_path / "killed"
    dying = dp.protect(rows.mapInArrow(KilledOnce(marker), rows.schema), name="dying", **terms)
    wanted = dp.protect(made(), name="pandas", **terms)
    for each in (dying, wanted):
        engine: Any = each._table.engine
        engine.key = KEY
    found = [
        each.groupby("group", keys=["a", "b"])["number"].mean(**BOUNDS).tolist()
        for each in (dying, wanted)
    ]
    assert found[0] == found[1]
    assert marker.exists()
    assert dp.ledger().spent == 2
    assert ops.statuses() == ["released", "released"]


def broken(batches: Any) -> Any:
    for batch in batches:
        raise ValueError(f"SECRET {batch.to_pylist()[:1]}")
    yield


def test_what_fails_for_good_stays_charged_and_quotes_no_data(rows: Any) -> None:
    p = dp.protect(rows.mapInArrow(broken, rows.schema), name="broken")
    with pytest.raises(ReleaseFailed, match="the job of Spark failed") as failed:
        p["number"].mean(**BOUNDS)
    assert "SECRET" not in str(failed.value)
    assert failed.value.__context__ is None
    assert ops.statuses() == ["failed"]


@pytest.mark.parametrize("how", ["constant", "materialized", "read"])
def test_what_spark_says_of_a_cell_is_not_shown(
    how: str, spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Neither by dp.protect nor by a release, nor in the logs of pyspark: Spark quotes the cell."""

    def ask(texts: Any) -> None:
        numbers = texts.select(F.col("text").cast("int").alias("x"))
        p = dp.protect(numbers, name=how, unit="row", materialize=how == "materialized")
        p["x"].mean(**BOUNDS)

    level = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.sparkContext.setLogLevel("OFF")
    try:
        if how == "read":
            path = str(tmp_path / "texts.parquet")
            pd.DataFrame({"text": ["1", "SECRET"]}).to_parquet(path)
            texts = spark.read.parquet(path)
        else:
            texts = spark.createDataFrame(pd.DataFrame({"text": ["1", "SECRET"]}))
        capfd.readouterr()
        with pytest.raises((QueryError, ReleaseFailed)) as failed:
            ask(texts)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", level)
        spark.sparkContext.setLogLevel("ERROR")
    said = str(failed.value) + "".join(capfd.readouterr())
    assert "SECRET" not in said
    assert failed.value.__context__ is None


def test_a_plan_that_is_empty_answers(spark: Any, exact: None) -> None:
    """As does one with a row: a failure would tell them apart."""
    one = spark.createDataFrame([(1, 2)], "a int, b int")
    plans = {"none": one.filter("a > 1"), "joined": one.join(one.filter("a > 1"), "a")}
    for name, plan in plans.items():
        ones = plan.select(F.lit(1).alias("c"))
        assert dp.protect(ones, name=name, unit="row").count(epsilon=1) == 0


def test_columns_that_differ_only_in_case_are_refused(spark: Any) -> None:
    rows = spark.createDataFrame([(1, 2)], ["x", "X"])
    refusal(lambda: dp.protect(rows, name="cases"), "upper and lower case", QueryError)


def test_what_a_kernel_raises_stays_on_the_worker(rows: Any) -> None:
    p = dp.protect(rows, name="raising")
    engine: Any = p._table.engine
    with pytest.MonkeyPatch.context() as raising:
        raising.setattr(type(engine), "_columns_sent", lambda self, need: ["code"])
        with pytest.raises(ReleaseFailed, match=r"a worker of Spark failed\. The cause"):
            p["number"].mean(**BOUNDS)
    assert ops.statuses() == ["failed"]


def test_functions_of_the_caller_are_refused(rows: Any) -> None:
    dp.session(epsilon=10, delta="1e-3")
    for name in ops.PLAIN:
        p = dp.protect(rows, name="rows")
        refusal(lambda p=p, n=name: ops.released(n, p), "isn't sent to the workers", QueryError)
    assert ops.statuses() == []


def test_workers_without_dppandas_are_found_before_the_charge(
    rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(batches: Any) -> Any:
        raise ModuleNotFoundError("dppandas")
        yield

    monkeypatch.setattr("dppandas.engines.clusters.spark._versions", missing)
    p = dp.protect(rows, name="rows")
    refusal(lambda: p.count(epsilon=1), "Its workers need dppandas", SourceError)
    assert ops.statuses() == []


# --- progress and interrupts ----------------------------------------------------------------------


class Waiting:
    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            Path(self.folder, "begun").touch()
            until(Path(self.folder, "go").exists)
            yield batch


def test_an_interrupt_cancels_the_job_and_stays_charged(
    spark: Any, rows: Any, tmp_path: Path
) -> None:
    p = dp.protect(rows.mapInArrow(Waiting(tmp_path), rows.schema), name="slow")
    groups: list[str] = []

    def interrupt() -> None:
        until((tmp_path / "begun").exists)
        os.kill(os.getpid(), signal.SIGINT)

    start = _Job.__init__

    def spy(self: Any, parts: Any, label: str) -> None:
        start(self, parts, label)
        groups.append(self._group)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.MonkeyPatch.context() as watching:
        watching.setattr(_Job, "__init__", spy)
        with pytest.raises(KeyboardInterrupt):
            p.count(epsilon=1)
    other.join()
    tracker = spark.sparkContext.statusTracker()

    def is_over() -> bool:
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(groups[-1])]
        return all(job is None or job.status != "RUNNING" for job in jobs)

    until(is_over)
    (tmp_path / "go").touch()
    assert dp.ledger().spent == 1
    p.count(epsilon=1, fresh=True)


def test_progress_is_that_of_spark(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[float, int]] = []
    monkeypatch.setattr(Pass, "report", lambda _, *report: heard.append(report))
    monkeypatch.setattr("dppandas.engines.clusters.spark.LOOK", 0.01)
    dp.protect(rows.repartition(30), name="rows").count(epsilon=1)
    assert len({*heard}) > 1
    assert all(0 <= share <= 1 for share, _ in heard)
    assert heard[-1][1] > 1


def test_names_with_dots_and_ticks_are_columns(spark: Any, exact: None) -> None:
    rows = spark.createDataFrame([(1, 2), (3, 4)], ["a.b", "c`d"])
    p = dp.protect(rows, name="names")
    assert p["a.b"].sum(bounds=(0, 9), epsilon=1) == 4
    assert p["c`d"].sum(bounds=(0, 9), epsilon=1) == 6


def test_a_count_of_rows_without_columns_is_theirs(rows: Any, exact: None) -> None:
    assert dp.protect(rows, name="rows").count(epsilon=1) == ROWS
