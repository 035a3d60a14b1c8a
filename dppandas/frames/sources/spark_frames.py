"""DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...engines.base import Engine
from ...engines.clusters.spark import SparkEngine, SparkPlan
from ...engines.clusters.work import unlogged
from ...errors import QueryError
from ...rows.facts.units import Unit
from ...rows.values import hashing
from .arrow_tables import kinds_of, ordered_of, without_words
from .base import Given, Own

#: Parts of a plan that may give other rows, or other last digits, when it runs again.
_UNSTABLE = {
    "Aggregate", "Deduplicate", "GlobalLimit", "LocalLimit", "Offset", "Sample", "Tail", "Window",
}  # fmt: skip


def is_of_spark(data: Any) -> bool:
    """Whether it is a DataFrame of Spark, which isn't imported for that."""
    kind = type(data)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


class SparkFrame(Given):
    """A DataFrame of Spark, whose schema is public. A plan that may give other rows when it runs
    again is run once, and the cluster keeps its rows."""

    def __init__(self, frame: Any, materialize: bool) -> None:
        if not hasattr(frame, "_jdf"):
            raise QueryError(
                "frames of Spark Connect aren't supported, because nothing here can tell whether "
                "their plans give the same rows each time. Use a SparkSession without remote()."
            )
        from pyspark.sql.pandas.types import to_arrow_schema

        self._frame, self._materialize = frame, materialize
        zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
        schema = to_arrow_schema(frame.schema, timezone=zone)
        self.names = list(schema.names)
        if len({name.lower() for name in self.names}) < len(self.names):
            raise QueryError(
                "two columns differ only in upper and lower case, which Spark doesn't tell apart. "
                "Rename one of them."
            )
        self.kinds = kinds_of(self.names, schema.types)
        self.ordered = ordered_of(self.names, schema.types)

    def own(self) -> Own:
        frame = self._frame
        keeps = self._materialize or not _is_stable(frame)

        def plan() -> tuple[SparkPlan, str]:
            kept = frame.localCheckpoint() if keeps else frame
            return SparkPlan.of(kept), str(frame.semanticHash())

        kept, name = without_words(lambda: unlogged(plan), "the rows of the plan")
        return SparkRows(kept, self.names, name, keeps)


class SparkRows:
    """The plan that gives the rows. Spark names it by what it does."""

    def __init__(self, plan: SparkPlan, names: list[str], plan_name: str, keeps: bool) -> None:
        self._plan, self._names, self._plan_name, self._keeps = plan, names, plan_name, keeps

    def fingerprint(self, key: bytes) -> str:
        facts = (self._plan_name, self._names, self._plan.zone, self._plan.files)
        return hashing.digest(repr(facts), key)

    def engine(self, unit: Unit, key: bytes) -> Engine:
        if unit.column is not None:
            kind = dict(self._plan.frame.dtypes)[unit.column]
            if kind.startswith(("array", "map", "struct", "variant")):
                raise QueryError(
                    f"a unit of Spark's type {kind} can't be brought together. Make a column of "
                    "texts or numbers that says whose row it is."
                )
        return SparkEngine(self._plan, tuple(self._names), unit, key, checked=self._keeps)


def _is_stable(frame: Any) -> bool:
    """Whether a plan gives the same rows whenever it runs on the same data."""
    plan = frame._jdf.queryExecution().analyzed()
    return bool(plan.deterministic()) and _UNSTABLE.isdisjoint(_parts(plan))


def _parts(plan: Any) -> Iterator[str]:
    yield plan.nodeName()
    children = plan.children()
    for i in range(children.size()):
        yield from _parts(children.apply(i))
