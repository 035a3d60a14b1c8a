"""DataFrames of Spark. Partial answers are made by Python workers, from batches of Arrow."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any
from urllib.parse import unquote, urlparse

from ...dataclasses import dataclass
from ..base import Need, ReadError
from ..blocks import BLOCK
from ..progress import Pass, started
from ..readers import ArrowColumns, TableColumns
from .cluster import ClusterEngine
from .work import Failed, Work, joined, unlogged, version

#: How many partial answers come to the driver; more are joined by workers before.
JOINED = 32
#: Seconds between two looks at a job.
LOOK = 0.2
_FORM = "partial binary"


@dataclass(frozen=True)
class SparkPlan:
    """What gives the rows, and what can be told of them without reading them: the time zone in
    which Spark hands out times, and the files on this machine, with their sizes and times."""

    frame: Any
    zone: str
    files: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, frame: Any) -> SparkPlan:
        return cls(frame, _zone(frame), _files(frame))

    def check(self) -> None:
        """Refuse rows that aren't as they were."""
        if _zone(self.frame) != self.zone:
            raise ReadError(f"spark.sql.session.timeZone isn't {self.zone} any more. Set it again.")
        for path, size, changed in self.files:
            if _state(path) != (size, changed):
                raise ReadError(
                    f"{path} has changed since it was protected. Protect it again, as another "
                    "version, with dp.protect."
                )


def _zone(frame: Any) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))


def _files(frame: Any) -> tuple[tuple[str, int, int], ...]:
    parsed = map(urlparse, frame.inputFiles())
    paths = sorted(unquote(each.path) for each in parsed if each.scheme == "file")
    return tuple((path, *_state(path)) for path in paths)


def _state(path: str) -> tuple[int, int]:
    try:
        facts = os.stat(path)
    except OSError:
        return -1, -1
    return facts.st_size, facts.st_mtime_ns


class SparkEngine(ClusterEngine):
    """A DataFrame of Spark. Each question is a job of its own."""

    library = "Spark"
    way = "Cast it, or leave it out with frame.drop(…), before dp.protect."

    def check(self, needs: Sequence[Need]) -> None:
        self.rows.check()
        super().check(needs)

    def leaves_process(self) -> bool:
        return True

    def version_there(self) -> str:
        one = self.rows.frame.sparkSession.range(1, numPartitions=1)
        (row,) = _Job(one.mapInArrow(_versions, _FORM), "Spark starts").collected()
        return bytes(row.partial).decode()

    def types_of(self, names: list[Any]) -> list[Any]:
        types = dict(self.rows.frame.dtypes)
        return [types[name] for name in names]

    def run_with_nothing(self, work: Work, names: list[Any]) -> bytes:
        """Spark plans a frame without rows, which is what meets its types; and the work is done
        here, for a job would take seconds to start."""
        from pyspark.sql.pandas.types import to_arrow_schema

        frame, zone = self.rows.frame, self.rows.zone
        empty = frame.sparkSession.createDataFrame([], frame.schema)
        nothing = SparkEngine(SparkPlan(empty, zone, ()), tuple(names), self.unit, self.key)
        unlogged(lambda: nothing._parts(work, names))
        table = to_arrow_schema(frame.schema, timezone=zone).empty_table().select(names)
        return work([ArrowColumns(table)])

    def run(self, work: Work, names: list[Any], label: str) -> bytes:
        self.rows.check()
        try:
            parts = unlogged(lambda: self._parts(work, names))
        except Exception as error:  # Spark computes what is constant while it plans
            raise ReadError(f"the plan of Spark failed{Failed.of(error)}") from None
        rows = _Job(parts, label).collected()
        self.rows.check()
        # a plan that turns out to be empty has no partitions
        return joined([bytes(row.partial) for row in rows] or [work(())])

    def _parts(self, work: Work, names: list[Any]) -> Any:
        frame = self._together(work, names)
        parts = frame.mapInArrow(_Partials(work, tuple(names)), _FORM)
        if _partitions(frame) > JOINED:
            parts = parts.repartition(JOINED).mapInArrow(_join, _FORM)
        return parts

    def _together(self, work: Work, names: list[Any]) -> Any:
        """Some columns of all partitions, with the rows of a unit in one of them."""
        from pyspark.sql import functions as F

        # by position: mapInArrow can't take names with dots and ticks
        columns = [F.col(_quoted(name)).alias(f"c{i}") for i, name in enumerate(names)]
        # of a batch without columns Spark tells no number of rows
        found = self.rows.frame.select(*(columns or [F.lit(True).alias("any")]))
        if not work.whole:
            return found
        at = f"c{names.index(work.unit.column)}"
        unit = F.col(at)
        if dict(found.dtypes)[at] in ("float", "double"):
            unit = F.when(unit == 0, F.lit(0.0)).otherwise(unit)  # -0.0 is hashed as another number
        # a number of partitions: otherwise Spark may change the partitioning as it runs
        return found.filter(unit.isNotNull()).repartition(_partitions(found), unit)


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def _partitions(frame: Any) -> int:
    """How many partitions a frame has, at least one. A plan that Spark adapts as it runs would run
    in part to tell, so there it is what Spark begins with."""
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() != "AdaptiveSparkPlan":
        return max(1, int(frame.rdd.getNumPartitions()))
    known = int(plan.outputPartitioning().numPartitions())
    return known or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))


# --- on workers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Partials:
    """From the batches of a partition to one partial answer."""

    work: Work
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        yield _batch(self.work(self._tables(batches)))

    def _tables(self, batches: Iterable[Any]) -> Iterator[TableColumns]:
        import pyarrow as pa

        some: list[Any] = []
        for batch in batches:
            some.append(batch)
            if not self.work.whole and sum(each.num_rows for each in some) >= BLOCK:
                yield self._named(pa.Table.from_batches(some))
                some = []
        if some:
            yield self._named(pa.Table.from_batches(some))

    def _named(self, table: Any) -> TableColumns:
        return ArrowColumns(table.rename_columns(list(self.names)) if self.names else table)


def _batch(told: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([told], pa.binary())], names=["partial"])


def _join(batches: Iterable[Any]) -> Iterator[Any]:
    parts = [part.as_py() for batch in batches for part in batch.column(0)]
    if parts:
        yield _batch(joined(parts))


def _versions(batches: Iterable[Any]) -> Iterator[Any]:
    for _ in batches:
        yield _batch(version().encode())


# --- on the driver --------------------------------------------------------------------------------


#: Of jobs.
_NUMBERS = count()


class _Job:
    """A job that runs in a thread, and is watched by another. This one only waits: an interrupt in
    the middle of a call to Spark would leave half of an answer for the next call."""

    def __init__(self, parts: Any, label: str) -> None:
        self._parts, self._label = parts, label
        self._context = parts.sparkSession.sparkContext
        self._group = f"dppandas {os.getpid()} {next(_NUMBERS)}"
        self._over = threading.Event()
        self._found: list[Any] | None = None
        self._failed = ""
        self._done = 0, 0

    def collected(self) -> list[Any]:
        told = Pass()
        try:
            for task in (self._collect, self._watch):
                if not started(threading.Thread(target=task, name="dppandas", daemon=True)):
                    raise ReadError("Spark needs threads, and none can be started here.")
            while not self._over.wait(LOOK):
                done, total = self._done
                told.report(done / max(1, total), done)
        except BaseException:
            self._over.set()
            self._context.cancelJobGroup(self._group)
            raise
        if self._found is None:
            raise ReadError(f"the job of Spark failed{self._failed}")
        return self._found

    def _collect(self) -> None:
        try:
            self._context.setJobGroup(self._group, f"dppandas: {self._label}", True)
            self._found = unlogged(self._parts.collect)
        except Exception as error:
            self._failed = str(Failed.of(error))
        finally:
            self._over.set()

    def _watch(self) -> None:
        """How many of the tasks are done, as Spark has it."""
        tracker = self._context.statusTracker()
        while not self._over.wait(LOOK):
            done, total = 0, 0
            for job in tracker.getJobIdsForGroup(self._group):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info is not None else ():
                    about = tracker.getStageInfo(stage)
                    if about is not None:
                        done, total = done + about.numCompletedTasks, total + about.numTasks
            self._done = done, total
