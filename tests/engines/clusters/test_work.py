"""What travels to workers and what comes back, on a cluster of one process."""

import pickle
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from same_rows import KEY, NAMES, UNITS, asked_with, integers, made
from sizes import size

import dppandas as dp
from dppandas.engines.base import Kernel, Need, ReadError
from dppandas.engines.clusters.cluster import ClusterEngine, Seen
from dppandas.engines.clusters.work import Failed, Partial, Work, bucket, joined
from dppandas.engines.readers import Columns
from dppandas.errors import QueryError, ReleaseFailed, SourceError
from dppandas.frames.sources.pandas_frames import PandasFrame
from dppandas.privacy.sampling import entropy
from dppandas.rows.accumulators import SumAccumulator
from dppandas.rows.facts.units import Unit

PARTITIONS = 5


class Workers(ClusterEngine):
    """Partitions of a frame, in this process; works and answers travel as bytes."""

    library, way = "a test", "Leave it out."
    sent: list[Work] = []  # noqa: RUF012
    version = staticmethod(lambda: "0.1.0")

    def leaves_process(self) -> bool:
        return True

    def version_there(self) -> str:
        return self.version()

    def types_of(self, names: list[Any]) -> list[Any]:
        return list(self.rows[names].dtypes)

    def run_with_nothing(self, work: Work, names: list[Any]) -> bytes:
        return work([Columns(self.rows[names].iloc[:0])])

    def run(self, work: Work, names: list[Any], label: str) -> bytes:
        self.sent.append(work)
        told, rows = pickle.dumps(work), self.rows[names]
        at = np.arange(len(rows)) % PARTITIONS
        if work.whole:
            at = bucket(Columns(rows), work.unit.column, PARTITIONS)
        parts = [rows[at == i] for i in range(PARTITIONS)]
        return joined([pickle.loads(told)([Columns(part)]) for part in parts])


class Rows:
    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def fingerprint(self, key: bytes) -> str:
        return "the same"

    def engine(self, unit: Unit, key: bytes) -> Workers:
        return Workers(self.frame, tuple(self.frame.columns), unit, key)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that are protected are on a cluster."""
    monkeypatch.setattr(PandasFrame, "own", lambda self: Rows(self.whole))
    monkeypatch.setattr(Workers, "sent", [])


#: Histories of each kind, and rows of a unit and key: all rows of a unit are read, in one place.
HISTORIES = [
    "value_counts of shifts", "value_counts of places", "nunique of places", "mean of a transform",
    "value_counts per unit and code", "value_counts of a history of parts",
    "group mean of a merge", "count of a history of a history",
]  # fmt: skip
#: One of each kind of road: nothing read, sums, passes, labels, hashes, whole units, programs.
FEW = [
    "count", "group mean", "median", "value_counts of labels found", "group sum found", "distinct",
    "count of a sample", "nunique", "nunique by group", "group nunique of values", "k-means",
    "per unit", "per unit sum", *HISTORIES,
]  # fmt: skip
ASKED = [name for name in NAMES if name not in ops.PLAIN]


@pytest.mark.sized
@pytest.mark.parametrize("name", size(quick=[each for each in FEW if each in ASKED], deep=ASKED))
def test_workers_find_the_integers_of_pandas(name: str, request: pytest.FixtureRequest) -> None:
    wanted = [integers(name, made(), 50, **terms) for terms in asked_with(name)]
    request.getfixturevalue("cluster")
    for terms, integer in zip(asked_with(name), wanted, strict=True):
        assert integers(name, made(), 29, **terms) == integer, terms
    assert Workers.sent


def test_a_unit_keeps_the_same_label_whatever_is_asked(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """One row of each unit is kept by a keyed hash, also for questions that need no key."""
    monkeypatch.setattr(entropy, "key", lambda size=16: KEY)
    days = pd.DataFrame({"who": [i // 4 for i in range(400)], "day": [i % 4 for i in range(400)]})

    def counts() -> list[Any]:
        anew(epsilon=100)
        by_day = dp.protect(days, "days", unit="who", max_rows=1).per_unit(by="day").agg(n="size")
        asked = [
            by_day["day"].value_counts(keys=range(4), sort=False),
            by_day["day"].value_counts(keys=range(4), sort=False, max_rows_per_key=1),
        ]
        return [ops.integers(each, each._table.engine) for each in asked]

    plain, limited = counts()
    assert plain == limited
    assert sum(plain) == 100
    request.getfixturevalue("cluster")
    assert counts() == [plain, limited]
    assert all(work.key == KEY for work in Workers.sent)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("name", [name for name in FEW if name in ASKED])
def test_the_key_travels_only_where_rows_are_hashed(name: str) -> None:
    for terms in asked_with(name):
        Workers.sent.clear()
        integers(name, made(), 50, **terms)
        for work in Workers.sent:
            told = pickle.dumps(work)
            assert len(told) < 4000
            truncates = work.unit.column is not None
            if work.steps:  # of a unit's rows for each label some are kept
                truncates = bool(work.steps[-1].table.by)
            needs = [work.kernel.need, *(step.need for step in work.steps)]
            keyed = truncates or any(need.keyed or need.histories for need in needs)
            assert (KEY in told) is keyed
            if terms:
                continue
            assert keyed is (name == "count of a sample")


@pytest.mark.usefixtures("cluster")
def test_functions_of_the_caller_stay_here() -> None:
    dp.session(epsilon=10, delta="1e-3")
    for name in ops.PLAIN:
        p = dp.protect(made(), name="rows")
        refusal(lambda p=p, n=name: ops.released(n, p), "isn't sent to the workers", QueryError)
    assert ops.statuses() == []
    assert Workers.sent == []


@pytest.mark.usefixtures("cluster")
def test_workers_of_another_version_are_refused_before_the_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    p = dp.protect(made(), name="rows")
    for found, match in (("0.0.1", "have dppandas 0.0.1"), ("", "Its workers need dppandas")):

        def told(found: str = found) -> str:
            if not found:
                raise ModuleNotFoundError("dppandas")
            return found

        with monkeypatch.context() as other:
            other.setattr(Workers, "version", staticmethod(told))
            refusal(lambda: p.count(epsilon=1), match, SourceError)
    assert ops.statuses() == []
    p.count(epsilon=1)


def raising(branches: Any, where: Any) -> Any:
    raise ValueError(f"SECRET {branches[0].rows}")


def empty() -> SumAccumulator:
    return SumAccumulator(1)


def test_what_a_kernel_raises_stays_with_the_worker() -> None:
    work = Work(Kernel(raising, empty, Need(frozenset({"code"}))), Unit(), b"")
    told = work([Columns(made()[["code"]])])
    assert str(Failed.of(MemoryError("SECRET"))) == ": MemoryError."
    assert b"SECRET" not in told
    assert pickle.loads(told) == Failed("")
    assert pickle.loads(joined([told, told])) == Failed("")


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_fails_fails_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    p = dp.protect(made(), name="rows")
    monkeypatch.setattr(Workers, "_columns_sent", lambda self, need: ["code"])
    with pytest.raises(ReleaseFailed, match=r"a worker of a test failed\. The cause could"):
        p["number"].mean(bounds=(0, 1), epsilon=1)
    assert ops.statuses() == ["failed"]


@pytest.mark.parametrize("terms", UNITS)
def test_other_rows_fail_the_release(cluster: None, terms: dict[str, Any]) -> None:
    rows = made()
    p = dp.protect(rows, name="rows", **terms)
    engine: Any = p._table.engine
    p.count(epsilon=1)
    engine.rows = rows.iloc[1:] if not terms else rows[rows["owner"] != 1]
    with pytest.raises(ReleaseFailed, match="aren't those that an earlier question met"):
        p.count(epsilon=1, fresh=True)
    assert ops.statuses() == ["released", "failed"]


def test_sums_of_hashes_notice_as_many_other_rows() -> None:
    seen = Seen()
    seen.compare(Partial(empty(), 3, 7))
    seen.compare(Partial(empty(), 3, 7))
    for other in (Partial(empty(), 3, 8), Partial(empty(), 4, 7)):
        with pytest.raises(ReadError):
            seen.compare(other)
    one, two = Partial(empty(), 1, 2**64 - 1), Partial(empty(), 2, 2)
    assert (one.joined(two).rows, one.joined(two).hashes) == (3, 1)


@pytest.mark.parametrize("kind", ["int64", "float64", "object", "category", "Int64"])
def test_equal_units_go_together(kind: str) -> None:
    """Whatever holds them, in whichever partition."""
    cells: list[Any] = [0, 1, 0, 1, 7] if "nt" in kind else [0.0, 1, -0.0, True, None]
    if kind == "float64":
        cells = [0.0, 1.0, -0.0, 1.0, np.nan]
    found = bucket(Columns(pd.DataFrame({"u": pd.Series(cells, dtype=kind)})), "u", 1000)
    assert found[0] == found[2]
    assert found[1] == found[3]
    assert found[0] != found[1]
    assert bool(found[4] == -1) is ("nt" not in kind)
