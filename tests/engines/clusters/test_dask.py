"""Dask on threads and on a distributed cluster: the integers of pandas, workers that die, refusals.

In an environment of its own: `make test-dask`."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import operations as ops
import pandas as pd
import pytest
from refusals import refusal
from same_rows import KEY, NAMES, ROWS, asked_with, integers, made
from sizes import size
from waiting import until

import dppandas as dp
from dppandas.engines.clusters.dask import DaskEngine
from dppandas.engines.clusters.work import Work, unlogged
from dppandas.engines.progress import Pass
from dppandas.errors import QueryError, ReleaseFailed, SourceError

PARTITIONS = (1, 4, 13)
BOUNDS = {"bounds": (-5, 10), "epsilon": 1}


def frame(partitions: int) -> Any:
    """Rows in the order that they have, with an index that repeats itself."""
    parts = [made().iloc[i::partitions] for i in range(partitions)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, each a process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as found:
        yield found


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    """What Dask uses while it is there."""
    from distributed import Client

    with Client(cluster) as found:
        yield found


# --- identity -------------------------------------------------------------------------------------


def partitionings(name: str) -> tuple[int, ...]:
    """Each operation has its turn with one of them, and with all if there is time."""
    at = NAMES.index(name) % len(PARTITIONS)
    return PARTITIONS[at : at + 1] if size(quick=True, deep=False) else PARTITIONS


@pytest.mark.sized
@pytest.mark.parametrize("name", NAMES)
def test_threads_give_the_integers_of_pandas(name: str) -> None:
    for terms in asked_with(name):
        wanted = integers(name, made(), 50, **terms)
        assert wanted
        for partitions in partitionings(name):
            assert integers(name, frame(partitions), 29, **terms) == wanted, (partitions, terms)


@pytest.mark.sized
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ops.PLAIN])
def test_processes_give_the_integers_of_pandas(name: str, client: Any) -> None:
    for terms in asked_with(name):
        wanted = integers(name, made(), 50, **terms)
        for partitions in partitionings(name):
            assert integers(name, frame(partitions), 29, **terms) == wanted, (partitions, terms)


@pytest.mark.parametrize("name", ops.PLAIN)
def test_functions_of_the_caller_stay_in_this_process(name: str, client: Any) -> None:
    dp.session(epsilon=10, delta="1e-3")
    p = dp.protect(frame(2), name="rows")
    refusal(lambda: ops.released(name, p), "a function of your own isn't sent", QueryError)
    assert ops.statuses() == []


def test_files_are_read_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Dask reads is what is announced, and its count needs no column."""
    dd.from_pandas(made().astype({"group": "str"}), npartitions=3).to_parquet(tmp_path)
    seen: list[list[Any]] = []
    run = DaskEngine.run

    def spy(self: DaskEngine, work: Work, names: list[Any], label: str) -> bytes:
        seen.append(names)
        return run(self, work, names, label)

    monkeypatch.setattr(DaskEngine, "run", spy)
    p = dp.protect(dd.read_parquet(tmp_path), name="files")
    p.count(epsilon=1)
    p.query("code > 1")["number"].mean(**BOUNDS)
    assert seen == [[], ["number", "code"], ["number", "code"]]  # first of types alone


def test_an_index_of_times_is_a_column(exact: None) -> None:
    rows = made().set_index("when").sort_index()
    p = dp.protect(dd.from_pandas(rows, npartitions=3), name="times")
    q = dp.protect(rows, name="pandas")
    days = ("2020-01-01", "2020-01-06")
    found, wanted = (each.resample("D", range=days).size(epsilon=1) for each in (p, q))
    pd.testing.assert_series_equal(found, wanted)
    assert found.sum() > 0


# --- what travels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ops.OPERATIONS, *ops.UNKNOWN][::8])
def test_the_key_travels_only_where_rows_are_hashed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Work] = []
    run = DaskEngine.run

    def spy(self: DaskEngine, work: Work, names: list[Any], label: str) -> bytes:
        sent.append(work)
        return run(self, work, names, label)

    monkeypatch.setattr(DaskEngine, "run", spy)
    integers(name, frame(2), 50)
    assert sent
    for work in sent:
        told = pickle.dumps(work)
        assert len(told) < 4000
        assert (KEY in told) is work.kernel.need.keyed
        assert (work.key == b"") is not work.kernel.need.keyed


# --- workers that fail ----------------------------------------------------------------------------


def killed_once(part: pd.DataFrame, marker: str) -> pd.DataFrame:
    """Kills the worker that meets it first."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return part
    os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.parametrize("terms", [{}, {"unit": "owner", "max_rows": 2}])
def test_a_worker_that_dies_changes_nothing(
    terms: dict[str, Any], client: Any, tmp_path: Path, exact: None
) -> None:
    marker = tmp_path / "killed"
    rows = frame(6).map_partitions(killed_once, str(marker), meta=made().iloc[:0])
    p = dp.protect(rows, name="dying", **terms)
    engine: Any = p._table.engine
    engine.key = KEY
    wanted = dp.protect(made(), name="pandas", **terms)
    source: Any = wanted._table.engine
    source.key = KEY
    asks = [lambda q: q.groupby("group", keys=["a", "b"])["number"].mean(**BOUNDS).tolist()]
    for ask in asks:
        assert ask(p) == ask(wanted)
    assert marker.exists()
    assert dp.ledger().spent == 2
    assert ops.statuses() == ["released", "released"]


def broken(part: pd.DataFrame) -> pd.DataFrame:
    if len(part):
        raise ValueError(f"SECRET {part.iloc[0].to_dict()}")
    return part


@pytest.mark.parametrize("far", [False, True])
def test_what_fails_for_good_stays_charged_and_quotes_no_data(
    far: bool, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]
) -> None:
    if far:
        request.getfixturevalue("client")
    p = dp.protect(frame(3).map_partitions(broken, meta=made().iloc[:0]), name="broken")
    with pytest.raises(ReleaseFailed, match="the graph of Dask failed") as failed:
        p["number"].mean(**BOUNDS)
    assert "SECRET" not in str(failed.value)
    assert failed.value.__context__ is None
    assert ops.statuses() == ["failed"]


def test_a_cluster_in_this_process_logs_no_row(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Its workers write to the notebook what they say of a task that fails: they quote its rows."""
    from distributed import Client

    with Client(n_workers=1, processes=False, dashboard_address=None):
        p = dp.protect(frame(3).map_partitions(broken, meta=made().iloc[:0]), name="broken")
        with pytest.raises(ReleaseFailed, match="the graph of Dask failed"):
            p["number"].mean(**BOUNDS)
    assert "SECRET" not in caplog.text + "".join(capfd.readouterr())


def test_a_task_that_fails_after_its_release_logs_no_row(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask tells a worker to forget a task while the task may be failing."""
    worker = logging.getLogger("distributed.worker")
    monkeypatch.setattr(worker, "filters", [])
    unlogged(lambda: worker.warning("SECRET"))
    worker.warning("shown: nothing has failed")
    with pytest.raises(ZeroDivisionError):
        unlogged(lambda: 1 // 0)
    worker.error("SECRET")
    assert [record.getMessage() for record in caplog.records] == ["shown: nothing has failed"]


def test_what_dask_says_of_a_row_is_not_shown() -> None:
    broke = frame(3).map_partitions(broken, meta=made().iloc[:0])
    with pytest.raises(QueryError, match="the rows of the graph can't be read") as failed:
        dp.protect(broke, name="broken", materialize=True)
    assert "SECRET" not in str(failed.value)
    assert failed.value.__context__ is None


def test_what_a_kernel_raises_stays_on_the_worker(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither its words nor its traceback come back, or are logged."""
    p = dp.protect(frame(3), name="raising")
    p.count(epsilon=1)  # types are tried with no rows, and not again
    with pytest.MonkeyPatch.context() as raising:
        raising.setattr(Work, "_partial", lambda self, tables: 1 / len([*tables][:0]))
        with pytest.raises(ReleaseFailed, match=r"a worker of Dask failed\. The cause"):
            p.count(epsilon=1, fresh=True)
    assert ops.statuses() == ["released", "failed"]
    assert "division" not in "".join(capfd.readouterr())


def test_workers_without_dppandas_are_found_before_the_charge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(self: DaskEngine) -> str:
        raise ModuleNotFoundError("dppandas")

    p = dp.protect(frame(2), name="rows")
    with monkeypatch.context() as without:
        without.setattr(DaskEngine, "version_there", missing)
        refusal(lambda: p.count(epsilon=1), "Its workers need dppandas", SourceError)
    with monkeypatch.context() as other:
        other.setattr(DaskEngine, "version_there", lambda self: "0.0.1")
        refusal(lambda: p.count(epsilon=1), "have dppandas 0.0.1", SourceError)
    assert ops.statuses() == []
    p.count(epsilon=1)
    monkeypatch.setattr(DaskEngine, "version_there", missing)  # asked once
    p.count(epsilon=1, fresh=True)


MORE: list[pd.DataFrame] = []


def grown(part: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([part, *MORE])


def test_rows_that_change_between_scans_fail_the_release() -> None:
    p = dp.protect(frame(2).map_partitions(grown, meta=made().iloc[:0]), name="changing")
    p.count(epsilon=1)
    MORE.append(made().iloc[:1])
    try:
        with pytest.raises(ReleaseFailed, match="aren't those that an earlier question met"):
            p.count(epsilon=1, fresh=True)
    finally:
        MORE.clear()
    assert ops.statuses() == ["released", "failed"]


# --- progress and interrupts ----------------------------------------------------------------------


def waiting(part: pd.DataFrame, folder: str) -> pd.DataFrame:
    """Takes until a file is there, once it is known that it was met."""
    if len(part):
        Path(folder, "begun").touch()
        until(Path(folder, "go").exists)
    return part


@pytest.mark.parametrize("far", [False, True])
def test_an_interrupt_cancels_and_stays_charged(
    far: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if far:
        request.getfixturevalue("client")
    rows = frame(30).map_partitions(waiting, str(tmp_path), meta=made().iloc[:0])
    p = dp.protect(rows, name="slow")

    def interrupt() -> None:
        until((tmp_path / "begun").exists)
        os.kill(os.getpid(), signal.SIGINT)

    # xdist's workers ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            p.count(epsilon=1)
    finally:
        (tmp_path / "go").touch()
        other.join()
        signal.signal(signal.SIGINT, before)
    assert dp.ledger().spent == 1
    assert p.count(epsilon=1, fresh=True) is not None


@pytest.mark.parametrize("far", [False, True])
def test_progress_is_that_of_dask(
    far: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if far:
        request.getfixturevalue("client")
    heard: list[tuple[float, int]] = []
    monkeypatch.setattr(Pass, "report", lambda _, *report: heard.append(report))
    dp.protect(frame(20), name="rows").count(epsilon=1)
    assert heard
    assert all(0 <= share <= 1 for share, _ in heard)


# --- what is given --------------------------------------------------------------------------------


def test_frames_of_dask_have_dp(exact: None) -> None:
    found = dp.private(frame(3), unit="row")
    assert found.count(epsilon=1) == ROWS
    assert frame(2).dp["code"].max(bounds=(0, 10), epsilon=1) <= 10
    with pytest.raises(QueryError, match="several columns have the same name"):
        dp.protect(dd.concat([frame(2)[["code"]]] * 2, axis=1), name="twice")


def test_dp_is_there_where_dask_came_first() -> None:
    """And dppandas alone imports nothing of it."""
    first = "import dask.dataframe as dd, pandas as pd; import dppandas; ddf = dd.from_pandas("
    asked = "pd.DataFrame({'x': [1, 2]}), npartitions=1); print(ddf.dp.count(epsilon=1))"
    alone = "import sys, dppandas as dp, pandas as pd; pd.DataFrame({'x': [1]}).dp.count(epsilon=1)"
    there = "; print([name for name in sys.modules if name.partition('.')[0] == 'dask'])"
    for code, wanted in ((first + asked, None), (alone + there, "[]")):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert (out == wanted) if wanted else out.lstrip("-").isdigit(), out


def test_other_data_under_one_name_are_refused() -> None:
    rows = dd.from_pandas(made(), npartitions=2)
    p = dp.protect(rows, name="rows")
    assert dp.protect(dd.from_pandas(made(), npartitions=2), name="rows")._table.source is (
        p._table.source
    )
    refusal(lambda: dp.protect(rows.query("code > 1"), name="rows"), "other data", SourceError)


def test_materialized_rows_are_kept_by_the_cluster(client: Any, exact: None) -> None:
    p = dp.protect(frame(3), name="kept", materialize=True, unit="owner", max_rows=2)
    q = dp.protect(frame(3), name="not", unit="owner", max_rows=2)
    assert p.count(epsilon=1) == q.count(epsilon=1)
