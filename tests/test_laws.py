"""The laws of the design (section 3): each one a test, and most of them several."""

import contextlib
import copy
import datetime
import gc
import math
import multiprocessing
import os
import pickle
import random
import struct
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from ledgers import hesitating
from refusals import chain, raising, refusal
from sizes import size
from waiting import LIMIT

import dppandas as dp
from dppandas.engines.blocks import BLOCK, Block
from dppandas.engines.pandas import PandasEngine, PerUnitEngine
from dppandas.errors import LineageError, MissingArgument, PrivateValueError, QueryError
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.ledger import Ledger
from dppandas.ledger.storage.store import Entry, MemoryStore
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.privacy.accounting.measures import PrivacyBudget
from dppandas.privacy.mechanisms.cell_selection import SelectionByCell
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.quantile_ladders import LadderQuantiles
from dppandas.privacy.mechanisms.quantiles import ExponentialQuantiles
from dppandas.privacy.mechanisms.selection import Exponential, PermuteAndFlip
from dppandas.release import release
from dppandas.release.answers import results
from dppandas.rows.accumulators import SumAccumulator
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.units import Unit
from dppandas.statistics import Cells, DistinctValues, Layout, Sum, every, quantiles
from dppandas.statistics.counting.counts import SHARE_STEP
from dppandas.statistics.of_blocks.block_tests import Shown
from dppandas.statistics.weighted_quantiles import WeighedValues

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

HOUSE = str(Path(dp.__file__).parent)
CANARY = "canary-5b0f"
NOON = datetime.datetime(2020, 1, 2, 12, tzinfo=datetime.UTC)


def people(rows: int = 40) -> pd.DataFrame:
    """Rows of the schema of `operations`, with a unit column."""
    rng = random.Random(rows)
    columns: dict[str, Callable[[], Any]] = {
        "number": lambda: rng.choice([0.5, -3.25, 7, 11, math.nan]),
        "group": lambda: rng.choice("abcx"), "code": lambda: rng.choice([1, 2, 3, 4]),
        "yes": lambda: rng.random() < 0.5, "no": lambda: rng.random() < 0.2,
        "when": lambda: NOON + datetime.timedelta(days=rng.randrange(-2, 3)),
        "owner": lambda: rng.randrange(8),
    }  # fmt: skip
    return pd.DataFrame({name: [draw() for _ in range(rows)] for name, draw in columns.items()})


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each look that an engine takes at rows."""
    seen: list[str] = []
    for kind, name in (
        (PandasEngine, "accumulate_rows"), (PandasEngine, "_rows"), (PerUnitEngine, "made"),
        (Block, "column"),
    ):  # fmt: skip
        watch(monkeypatch, kind, name, lambda *call, name=name: seen.append(name))
    return seen


def watch(monkeypatch: Any, kind: type, name: str, note: Callable[..., object]) -> None:
    """Note each call of a method, and let it be."""
    original = getattr(kind, name)
    monkeypatch.setattr(kind, name, lambda *call: (note(*call), original(*call))[1])


# --- 1: refusals come first -----------------------------------------------------------------------


def _lost_token(p: Any, df: pd.DataFrame) -> None:
    dp.protect(df.assign(x=1), name="owned", unit="owner", max_rows=1)
    pd.DataFrame({"x": [1]}).dp.count(epsilon=0.1)


def _lost_unit(p: Any, df: pd.DataFrame) -> None:
    owned = df.assign(x=1)
    dp.protect(owned, name="owned", unit="owner", max_rows=1)
    owned["number"].dp.mean(bounds=(0, 1), epsilon=0.1)


#: A refusal: what is done, what the message has to say, and what is raised if no `QueryError`.
REFUSALS: dict[str, tuple[Any, ...]] = {
    "overspend": (
        lambda p, df: p.count(epsilon=1.5), r"ε = 1\.5; 1 of 1 is left.*at most 1",
        dp.BudgetExceeded),
    "epsilon 0": (lambda p, df: p.count(epsilon=0), "greater than 0"),
    "epsilon NaN": (lambda p, df: p.count(epsilon=math.nan), "finite"),
    "epsilon True": (lambda p, df: p.count(epsilon=True), "epsilon=0.1"),
    "epsilon text": (lambda p, df: p.count(epsilon="much"), "epsilon=0.1"),
    "epsilon tiny": (lambda p, df: p.count(epsilon=1e-9), r"\[2\^-20, 64\]"),
    "epsilon huge": (lambda p, df: p.count(epsilon=65), r"\[2\^-20, 64\]"),
    "no bounds": (
        lambda p, df: p["number"].mean(epsilon=0.1), r"bounds=\(0, 60\)", MissingArgument),
    "no bounds for one of two": (
        lambda p, df: p[["number", "code"]].sum(bounds={"code": (0, 1)}, epsilon=0.1),
        "'number'", MissingArgument),
    "bounds the wrong way": (
        lambda p, df: p["number"].sum(bounds=(1, 0), epsilon=0.1), "lower first"),
    "bounds infinite": (lambda p, df: p["number"].sum(bounds=(0, math.inf), epsilon=0.1), "finite"),
    "no keys": (lambda p, df: p["group"].value_counts(epsilon=0.1), r"keys=\[", MissingArgument),
    "a key twice": (lambda p, df: p["code"].value_counts(keys=[9, 9.0], epsilon=0.1), "twice"),
    "a missing key": (
        lambda p, df: p["code"].value_counts(keys=[9, None], epsilon=0.1), "dropna=False"),
    "no keys for one of two": (
        lambda p, df: p.groupby(["group", "code"], keys={"group": ops.GROUPS}).size(epsilon=0.1),
        "'code'", MissingArgument),
    "a column that isn't there": (
        lambda p, df: p["numbr"].count(epsilon=0.1),
        "Did you mean 'number'", dp.errors.UnknownColumn),
    "a query over other rows": (
        lambda p, df: p.query("number > number.mean()").count(epsilon=0.1),
        "depend on that row alone", dp.errors.UnsupportedExpression),
    "a mask of another frame": (
        lambda p, df: p[df.copy().dp["number"] > 1].count(epsilon=0.1),
        "Make it from this one", LineageError),
    "plain values as a mask": (
        lambda p, df: p[df["number"] > 1].count(epsilon=0.1), "private mask"),
    "nlargest of too many": (
        lambda p, df: p["code"].value_counts(keys=ops.CODES).nlargest(4, epsilon=0.1),
        "from 1 to 3"),
    "idxmax of one number": (lambda p, df: p.count().idxmax(epsilon=0.1), "one label each"),
    "idxmax of means": (
        lambda p, df: p[["number", "code"]].mean(bounds=ops.BOUNDS).idxmax(epsilon=0.1),
        "one label each"),
    "idxmax of a table": (
        lambda p, df: p.groupby("code", keys=[1, 2])[["number", "yes"]].count().idxmax(epsilon=0.1),
        "one label each"),
    "idxmax where every score is 0": (
        lambda p, df: p[["number", "code"]].idxmax(bounds=(0, 0), epsilon=0.1), "nothing to select",
    ),
    "a lost token": (_lost_token, r'dp\.private\(df, unit="row"\)', LineageError),
    "a lost unit column": (_lost_unit, r"df\.dp\['income'\]", LineageError),
    "the mean of text": (
        lambda p, df: dp.protect(df, "t", domain={"group": ops.GROUPS})["group"].mean(epsilon=0.1),
        "keys of 'group' are texts"),
    "the length": (lambda p, df: len(p), r"\.count\(epsilon=0\.1\)", PrivateValueError),
    "iteration": (lambda p, df: list(p["number"]), "released answer", PrivateValueError),
    "a truth value": (lambda p, df: bool(p["number"] > 1), "released", PrivateValueError),
    "an array": (lambda p, df: np.asarray(p["number"]), "released", PrivateValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("lineage", ["asserted", "verified"])
def test_a_refusal_touches_neither_ledger_nor_data(name: str, lineage: str, reads: Any) -> None:
    do, way_out, error = (*REFUSALS[name], QueryError)[:3]
    df = people()
    session = dp.session(epsilon=1)
    private = dp.protect(df, name="people") if lineage == "verified" else df.dp
    with pytest.raises(error, match=way_out) as caught:
        do(private, df)
    assert isinstance(caught.value, dp.DPError)
    assert reads == []
    assert (session.ledger._entries(), session.spent) == ([], 0)
    # the session goes on: all that was left is still there to spend
    dp.private(people(), unit="row").count(epsilon=1)
    assert session.remaining == 0


def test_an_unreleased_answer_reads_and_charges_nothing(reads: list[str]) -> None:
    for operation in ops.OPERATIONS.values():
        assert repr(operation(people().dp)).startswith("<unreleased ")
    assert reads == []
    assert dp.ledger()._entries() == []


def test_a_refusal_after_the_budget_is_gone_still_says_what_is_left() -> None:
    dp.session(epsilon="0.3")
    df = people()
    df.dp.count(epsilon="0.3")
    with pytest.raises(dp.BudgetExceeded, match=r"0 of 0\.3 is left after 1 release") as caught:
        df.dp.count(epsilon=0.1)
    assert (caught.value.requested, caught.value.remaining) == (Fraction(1, 10), 0)


# --- 2: the charge comes before the data ----------------------------------------------------------


def test_the_charge_is_committed_when_rows_are_first_read(monkeypatch: pytest.MonkeyPatch) -> None:
    charged_at_read = []

    def note(engine: PandasEngine) -> None:
        charged_at_read.append((dp.ledger().spent, ops.statuses()))

    watch(monkeypatch, PandasEngine, "_rows", note)
    dp.private(people(), unit="owner", max_rows=1).count(epsilon="0.25")
    assert charged_at_read[0] == (Fraction(1, 4), ["charged"])
    assert [e.status for e in dp.ledger()._entries()] == ["released"]


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.TESTED])
def test_a_failing_read_stays_charged_and_quotes_no_data(name: str, monkeypatch: Any) -> None:
    def quoting(self: Any, chunk: Any, keep: Any) -> Any:
        raise ValueError(f"can't read {chunk.column('group').objects().tolist()}")

    for statistic in every():
        monkeypatch.setattr(statistic, "kernel", quoting)
    monkeypatch.setattr(quantiles.Pass, "points", quoting)
    monkeypatch.setattr(WeighedValues, "kernel", quoting)
    monkeypatch.setattr(DistinctValues, "_of", quoting)
    monkeypatch.setattr(Shown, "read", lambda self, chunk: quoting(self, chunk, None))
    dp.session(epsilon=1)
    df = people().assign(group=CANARY)
    with pytest.raises(dp.errors.ReleaseFailed, match=r"charge of ε = 0\.5 stays") as caught:
        ops.released(name, df.dp, 0.5)
    assert list(chain(caught.value)) == [caught.value]  # no cause, no context: nothing to quote
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    # nor what the most talkative tools print: no frame of the package is left, so no locals are
    frames = [frame for frame, _ in traceback.walk_tb(caught.tb)]
    assert frames
    assert not any(frame.f_code.co_filename.startswith(HOUSE) for frame in frames)
    (entry,) = dp.ledger()._entries()
    assert (entry.status, dp.ledger().remaining) == ("failed", Fraction(1, 2))
    assert "failed" in repr(dp.ledger())


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError])
@pytest.mark.parametrize("where", ["read", "noise"])
def test_what_stops_after_a_charge_stays_charged(error: Any, where: str, monkeypatch: Any) -> None:
    with monkeypatch.context() as broken:
        if where == "read":
            broken.setattr(PandasEngine, "accumulate_rows", raising(error))
        else:
            broken.setattr(DiscreteLaplace, "release", raising(error))
        dp.session(epsilon=1)
        with pytest.raises((error, dp.errors.ReleaseFailed)):
            people().dp.count(epsilon=0.5)
    assert dp.ledger().remaining == Fraction(1, 2)
    assert [e.status for e in dp.ledger()._entries()] != ["released"]
    people().dp.count(epsilon=0.5)


# --- 3: integers between the rows and the noise ---------------------------------------------------


@pytest.mark.parametrize("name", [*ops.OPERATIONS, *ops.TESTED])
@pytest.mark.parametrize("unit", [Unit(), Unit("owner", 3)])
def test_order_and_blocks_never_change_the_integers(name: str, unit: Unit) -> None:
    df = people(300)
    df.loc[[3, 77, 200], "number"] = [math.inf, -math.inf, 5e-324]
    unreleased = (ops.OPERATIONS | ops.TESTED)[name](df.dp)
    first = ops.integers(unreleased, PandasEngine(df, unit, b"k" * 16))
    assert all(type(value) is int for value in ops.flat(first))
    for block in (1, 7, 64, 10**6):  # few rows a block also means many threads
        engine = PandasEngine(df.sample(frac=1, random_state=block), unit, b"k" * 16, block)
        assert ops.integers(unreleased, engine) == first


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.TESTED])
def test_mechanisms_are_handed_integers_and_exact_scales(name: str, monkeypatch: Any) -> None:
    handed: list[tuple[Any, Any]] = []
    kinds = DiscreteLaplace, ExponentialQuantiles, PermuteAndFlip, Exponential
    in_stages = LadderQuantiles, SelectionByCell
    for kind in (*kinds, *in_stages):
        watch(monkeypatch, kind, "release", lambda *call: handed.append(call))
    ops.released(name, people(400).dp)  # of few rows no two may share a bucket
    first, *inner = handed  # a ladder hands its stages to others, and so do cells
    assert not inner or isinstance(first[0], in_stages)
    for mechanism, values in handed:
        assert {type(value) for value in ops.flat(values)} == {int}
        assert isinstance(mechanism.scale, Fraction)


def test_ten_thousand_million_rows_of_the_largest_value_do_not_wrap() -> None:
    rows, largest = 2**22, 2**30  # the most that one partial may hold
    total, parts = SumAccumulator(2), 10**10 // 2**22
    for _ in range(parts):
        total.add(np.array([rows * largest, -rows * largest], dtype=np.int64), rows)
    assert parts * rows * largest > 2**63
    assert total.result() == [parts * rows * largest, -parts * rows * largest]


@pytest.mark.parametrize("grouped", [False, True])
def test_a_block_of_the_largest_odd_integers_adds_up_exactly(grouped: bool) -> None:
    # 2^30 - 1 steps in each row of a block: float64 would round beyond 2^53, int32 wrap
    grid = Grid(0.0, 1.0, 0, 2**30 - 1)
    df = pd.DataFrame({"x": np.full(BLOCK, 2.0**30 - 1), "g": np.zeros(BLOCK)})
    cells = df.dp.groupby("g", keys=[0])._groups if grouped else Cells()
    statistic = Sum(cells, Layout(integer=False), (Column("x"),), (grid,))
    found = statistic.read(ops.row_pass(PandasEngine(df, Unit(), b""), statistic))
    assert found == [BLOCK * (2**30 - 1)]


BOUNDS_TO_TRY = [(-5, 10), (0, 60), (0.1, 0.3), (1e6, 1e6 + 1e-3), (-1e250, 1e250), (0, 5e-290)]


@pytest.mark.parametrize("bounds", BOUNDS_TO_TRY)
@pytest.mark.parametrize("noise", [0, 1, -(2**31) - 1, 10**21 + 1])
def test_every_released_float_lies_on_a_public_grid(bounds: Any, noise: int, frozen: Any) -> None:
    frozen(noise)
    df = people().assign(number=np.linspace(*bounds, 40))
    for name, grid in {"mean": Grid.anchored, "sum": Grid.centred}.items():
        step = Fraction(grid(Bounds.parse(bounds, "")).step)
        assert step.numerator == 1 or step.denominator == 1
        assert (step.numerator * step.denominator).bit_count() == 1  # a power of two
        for asked in (df.dp, df.dp.groupby("code", keys=ops.CODES)):
            answer = getattr(asked["number"], name)(bounds=bounds, epsilon=1)
            assert all((Fraction(x) / step).denominator == 1 for x in np.ravel(answer).tolist())
    for share in df.dp["code"].value_counts(keys=ops.CODES, normalize=True, epsilon=1):
        assert share != share or (Fraction(share) / SHARE_STEP).denominator == 1


@pytest.mark.parametrize("step", [1, 0.1, 0.05, Fraction(1, 3), 7])
def test_a_quantile_is_the_float_nearest_to_a_multiple_of_a_declared_step(step: Any) -> None:
    df = people().assign(number=np.linspace(-20, 99.5, 40))
    p = dp.protect(df, "stepped", domain={"number": (-20, 99.5)}, steps={"number": step})
    exact = step if isinstance(step, Fraction) else Fraction(str(step))
    groups = p.groupby("code", keys=ops.CODES)["number"]
    asked = [p["number"].quantile([0.2, 0.5, 0.9]), groups.median(), groups.quantile([0.1, 0.7])]
    for answer in (each.release(epsilon=1) for each in asked):
        for x in np.ravel(answer).tolist():
            assert x == float(round(Fraction(x) / exact) * exact)


# --- 4: one process, and threads in it ------------------------------------------------------------


def _refused_in_a_worker(_: object = None) -> str:
    """Run in a worker: a memory ledger is no ledger there."""
    try:
        people().dp.count(epsilon=0.1)
    except dp.errors.WorkerProcessError as error:
        return str(error)
    return "released"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_process_is_refused(method: str) -> None:
    dp.session(epsilon=1)
    with multiprocessing.get_context(method).Pool(1) as pool:
        message = pool.apply(_refused_in_a_worker)
    assert "worker process" in message
    assert "main process" in message
    assert dp.ledger().spent == 0
    people().dp.count(epsilon=1)


def _in_a_fork(do: Callable[[], bool]) -> bool:
    """Whether a forked child says so; os.fork leaves no trace that multiprocessing could see."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if do() else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("before", ["a session", "no session", "reset in the child"])
def test_a_forked_process_is_refused(before: str, reads: list[str]) -> None:
    if before != "no session":
        dp.session(epsilon=1)

    def refused() -> bool:
        if before == "reset in the child":  # ending the session there must not open a new purse
            dp.reset()
        return "worker process" in _refused_in_a_worker() and reads == []

    assert _in_a_fork(refused)
    people().dp.count(epsilon=1)


def test_no_seed_reaches_the_noise() -> None:
    def draws() -> tuple[int, ...]:
        np.random.seed(0)
        random.seed(0)
        return tuple(people().dp.count(epsilon="0.00001") for _ in range(4))

    # false alarm: below (1e-5 / 2)^4 for each pair
    assert len({draws() for _ in range(4)}) == 4


def test_threads_never_spend_more_than_the_budget() -> None:
    dp.session(epsilon=1)
    private, start = dp.protect(people(), name="people"), threading.Barrier(8)

    def spend(_: int) -> int:
        start.wait()
        granted = 0
        for _ in range(40):
            try:
                private.count(epsilon=Fraction(1, 128), fresh=True)
                granted += 1
            except dp.BudgetExceeded:
                pass
        return granted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 128
    entries = dp.ledger()._entries()
    assert sum(e.epsilon for e in entries) == dp.ledger().spent == 1
    assert [e.number for e in entries] == list(range(1, 129))


def drafted(epsilon: str) -> Entry:
    return Entry(0, 0.0, "s", "asserted", earlier("q"), Loss(Epsilon(epsilon)), "m", "1", "", None)


def test_nobody_writes_between_a_check_and_its_charge() -> None:
    # a check that lets other threads run finds any gap between itself and what it allows
    memory, granted = MemoryStore(), []
    half = drafted("0.5")

    def check(before: Loss, after: Loss) -> None:
        time.sleep(0.002)
        if after.epsilon > 1:
            raise ValueError("no more")

    def charge(_: int) -> None:
        with contextlib.suppress(ValueError):
            granted.append(memory.add([half], check)[0].number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(charge, range(16)))
    assert sorted(granted) == [1, 2]


def test_a_limit_set_while_others_release_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    # a charge admitted before the limit must be seen by the limit, or come after it and be refused
    ledger = Ledger()
    admitted = threading.Event()
    hesitating(monkeypatch, lambda: (admitted.set(), time.sleep(0.05)))
    thread = threading.Thread(target=ledger._charge, args=(drafted("5"),))
    thread.start()
    assert admitted.wait(timeout=LIMIT)
    with pytest.raises(dp.errors.SessionError, match="5 is spent already"):
        ledger._limit(PrivacyBudget(limit=Loss(Epsilon(1))))
    thread.join()
    assert ledger.budget is None


# --- 5: neighbours look alike ---------------------------------------------------------------------


class Hostile:
    """An element that raises whatever is asked of it, and quotes itself."""

    def _refuse(self, *args: object) -> Any:
        raise RuntimeError(CANARY)

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __ne__ = _refuse  # type: ignore[assignment]
    __hash__ = __bool__ = __float__ = __int__ = __str__ = __repr__ = _refuse  # type: ignore[assignment]
    __array__ = __len__ = __iter__ = __index__ = _refuse


def _row(value: Any) -> dict[str, Any]:
    return {**dict.fromkeys(people().columns, value), "owner": 3}


def _zoned(day: int) -> pd.Timestamp:
    return pd.Timestamp(2020, 1, day, tz="Europe/Berlin")


#: One more row, this value in each column.
EXTRA: dict[str, Any] = {
    "NaN": math.nan, "pd.NA": pd.NA, "None": None, "NaT": pd.NaT, "inf": math.inf,
    "-inf": -math.inf, "-0.0": -0.0, "subnormal": 5e-324, "largest int64": 2**63 - 1,
    "smallest int64": -(2**63), "uint64": 2**64 - 1, "huge integer": 10**400, "text": "a",
    "number as text": " 1e3 ", "time as text": "2020-01-01 XYZ", "bytes": b"\xff", "complex": 1j,
    "numpy complex": np.complex128(2 + 1j), "signalling NaN": Decimal("sNaN"), "list": [1, 2],
    "dict": {}, "tuple with NaN": ("a", math.nan), "array": np.zeros(3), "hostile": Hostile(),
    "True": True, "zoned time": _zoned(1), "date": datetime.date(2020, 1, 1),
    "far date": datetime.datetime(9999, 12, 31), "duration": pd.Timedelta(1, "D"),
}  # fmt: skip


def _loaded(rows: list[dict[str, Any]]) -> pd.DataFrame:
    try:
        return pd.DataFrame(rows, columns=people().columns)
    except OverflowError:  # pandas 2 can't hold 10^400 with other types
        return pd.DataFrame(rows, columns=people().columns, dtype=object)


def _neighbours() -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    df = people(12).drop(columns="owner").assign(owner=range(12))
    rows = df.astype(object).to_dict("records")
    pairs = {
        f"{name} joins {base}": (_loaded(start), _loaded([*start, _row(value)]))
        for name, value in EXTRA.items()
        for base, start in (("nobody", []), ("twelve", rows))
    }
    coded = df.assign(group=df["group"].astype("category"), code=df["code"].astype("category"))
    fewer = coded[coded["group"] != "x"].copy()
    fewer["group"] = fewer["group"].cat.remove_unused_categories()
    pairs["a category vanishes"] = (coded, fewer)
    zoned = df.assign(when=[_zoned(1 + i) for i in range(12)])
    pairs["zoned times"] = (zoned, pd.concat([zoned, df[:1]]))
    pairs["duplicate labels"] = (df.set_index(pd.Index([0] * 12)), df)
    levels = pd.MultiIndex.from_product([["x", "y"], range(6)])
    pairs["two index levels"] = (df.set_index(levels), df[:11])
    nullable = df.convert_dtypes()
    pairs["nullable types"] = (nullable, nullable.reindex(range(13)))
    for name, array in _exotic().items():
        pairs[f"all columns are {name}"] = (df, pd.DataFrame(dict.fromkeys(df.columns, array)))
    return pairs


def _exotic() -> dict[str, Any]:
    """Three elements of each type that a column can have: a type is data, too."""
    whole, days = np.arange(3), pd.date_range("2020-01-01", periods=3)
    kinds = ["int8", "uint64", "float32", "longdouble", "complex128", "S1", "M8[s]", "m8[ms]"]
    arrays: dict[str, Any] = {kind: whole.astype(kind) for kind in kinds}
    for kind in ("Int64", "boolean", "Float32", "string", "category", "Sparse[float]"):
        arrays[kind] = pd.Series([1, 0, None]).astype(kind)
    arrays["period"] = days.to_period("D")
    arrays["interval"] = pd.interval_range(0, 3)
    arrays["zoned category"] = pd.Categorical(days.tz_localize("Asia/Tokyo"))
    arrays["sparse text"] = pd.arrays.SparseArray(np.array(["a", "b", None], dtype=object))
    pa = pytest.importorskip("pyarrow")
    texts = ["a", None, "b"]
    arrow: dict[str, tuple[Any, list[Any]]] = {
        "string": (pa.string(), texts), "large string": (pa.large_string(), texts),
        "dictionary": (pa.dictionary(pa.int8(), pa.string()), texts),
        "binary": (pa.binary(), [b"a", None, b"b"]), "bool": (pa.bool_(), [True, None, False]),
        "uint8": (pa.uint8(), [1, None, 3]),
        "half": (pa.float16(), [np.float16(1), None, np.float16(2)]),
        "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), None, Decimal(2)]),
        "date": (pa.date32(), [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)]),
        "timestamp": (pa.timestamp("us", tz="UTC"), [NOON, None, NOON]),
        "duration": (pa.duration("s"), [datetime.timedelta(1), None, datetime.timedelta(2)]),
        "list": (pa.list_(pa.int8()), [[1], None, []]), "null": (pa.null(), [None, None, None]),
        "struct": (pa.struct([("a", pa.int8())]), [{"a": 1}, None, {"a": 2}]),
    }  # fmt: skip
    for name, (kind, values) in arrow.items():
        arrays[f"arrow {name}"] = pd.Series(pa.array(values, type=kind), dtype=pd.ArrowDtype(kind))
    return arrays


NEIGHBOURS = _neighbours()


def _outline(result: Any, selected: bool) -> Any:
    """All of a result but its values: labels in sorted order, where values decide the order."""
    if isinstance(result, pd.DataFrame):
        labels = (list(result.index), list(result.columns), result.index.names)
        return type(result), list(result.dtypes), result.index.dtype, labels, list(result.attrs)
    if isinstance(result, pd.Series | pd.Index):
        index = result.index if isinstance(result, pd.Series) else result
        labels = len(index) if selected else sorted(map(str, index))
        return type(result), result.dtype, index.dtype, labels, index.names, result.name
    return type(result)


def _told(name: str, private: Any) -> Any:
    """Everything that an operation tells but the values of its answer."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = ops.released(name, private)
            outcome = _outline(result, name not in ops.OPERATIONS)
            if name in (*ops.OPERATIONS, *ops.TESTED):
                record = dp.record(result)
                facts = (record.scale, record.mechanism, record.query, record.expected)
                known = record._statistic.errors.error(1) is not None  # else the answer decides it
                outcome = (outcome, facts, known and sorted(np.ravel(record.errors()).tolist()))
        except Exception as error:
            outcome = (type(error), str(error))
    return name, outcome, [str(w.message) for w in warned]


def _unknown(*frames: pd.DataFrame) -> list[pd.DataFrame]:
    """As if no test before had protected them."""
    copies = [df.copy() for df in frames]
    for df in copies:
        df.attrs.clear()
    return copies


def _told_of(
    df: pd.DataFrame, lineage: str, names: Sequence[str] = ops.EVERY
) -> tuple[list[Any], pd.DataFrame]:
    """What operations tell, and their ledger."""
    dp.reset()
    kinds = dict.fromkeys(df.columns, "unknown")  # neighbours are of one schema, and here of none
    if lineage == "asserted":
        private = dp.private(df, unit="row", kinds=kinds)
    else:
        private = dp.protect(df, "d", "owner" if "unit" in lineage else None, 1, kinds=kinds)
    return [_told(name, private) for name in names], dp.ledger().to_frame().drop(columns="time")


LINEAGES = ["asserted", "verified", "verified with a unit"]
#: Each pair with one lineage and a quarter of the operations, by turns; in the deep suite with all
#: lineages and a third, and at night with all.
OF_LINEAGES = [
    pytest.param(pair, lineage, marks=[] if (i - j) % 3 == 0 else pytest.mark.deep)
    for i, pair in enumerate(NEIGHBOURS)
    for j, lineage in enumerate(LINEAGES)
]


@pytest.mark.sized
@pytest.mark.parametrize(("pair", "lineage"), OF_LINEAGES)
def test_answers_of_neighbours_differ_in_values_only(pair: str, lineage: str, exact: None) -> None:
    step, every_one = size(quick=4, deep=3), [*ops.EVERY, *ops.TESTED]
    only_values_differ(pair, lineage, every_one[list(NEIGHBOURS).index(pair) % step :: step])


@pytest.mark.nightly
@pytest.mark.parametrize("lineage", LINEAGES)
@pytest.mark.parametrize("pair", NEIGHBOURS)
def test_all_answers_of_neighbours_differ_in_values_only(
    pair: str, lineage: str, exact: None
) -> None:
    only_values_differ(pair, lineage, [*ops.EVERY, *ops.TESTED])


def only_values_differ(pair: str, lineage: str, names: Sequence[str]) -> None:
    told, ledgers = [], []
    for df in _unknown(*NEIGHBOURS[pair]):
        said, ledger = _told_of(df, lineage, names)
        before = [entry.error for entry in dp.ledger()._entries()]
        told.append(said)
        ledgers.append((ledger.drop(columns="error").to_dict(), before))  # it is as answered
    assert told[0] == told[1]
    assert ledgers[0] == ledgers[1]
    # and no operation warns, but of what it is: a warning would be about the data
    assert {name for name, _, warned in told[0] if warned} == ops.WARNING & set(names)


@pytest.mark.sized
@pytest.mark.parametrize("pair", list(NEIGHBOURS)[:: size(quick=20, deep=5)])
def test_neighbours_with_one_answer_are_told_the_same_errors(pair: str, alike: None) -> None:
    """What a ledger tells of an answer follows from that answer, whatever rows are behind it."""
    one, other = (_told_of(df, "verified") for df in _unknown(*NEIGHBOURS[pair]))
    assert one[0] == other[0]
    pd.testing.assert_frame_equal(one[1], other[1])
    assert one[1]["error"].str.contains(r"\d").mean() > 0.9


def test_private_objects_look_alike_whatever_the_rows() -> None:
    for pair in NEIGHBOURS.values():
        shown = []
        for df in _unknown(*pair):
            dp.reset()
            private = dp.protect(df, name="d")
            shown.append((repr(private), private._repr_html_(), repr(private["number"] > 1)))
        assert shown[0] == shown[1]


# ... and neither sizes nor keys of the data are public --------------------------------------------

#: Of one schema, whatever pandas makes of no rows.
SCHEMA = dict.fromkeys(people().columns, "unknown")
SIZES: dict[str, pd.DataFrame] = {
    "nobody": people(0),
    "other keys": people(3).assign(group="z", code=77, number=1e9),
    "many": pd.concat([people(40)] * 25, ignore_index=True),
}


@pytest.mark.parametrize("name", [*ops.OPERATIONS, *ops.OF_UNITS, *ops.SELECTIONS, *ops.TESTED])
def test_sizes_and_observed_keys_never_show(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the noisy integers held fixed an answer is the same, whatever the data are."""
    monkeypatch.setattr(DiscreteLaplace, "release", lambda self, exact: [41] * len(exact))
    for kind in (PermuteAndFlip, Exponential):
        monkeypatch.setattr(kind, "release", lambda self, exact: [0] * self.rounds)
    points = lambda self, ranks, top: [41] * len(self._found)  # noqa: E731
    monkeypatch.setattr(ExponentialQuantiles, "_chosen", points)
    told = []
    for df in SIZES.values():
        dp.reset()
        owned = df.assign(owner=range(len(df)))
        answer = ops.released(name, dp.private(owned, unit="owner", max_rows=2, kinds=SCHEMA))
        told.append([repr(answer), str(dp.ledger().to_frame().drop(columns="time"))])
        if not isinstance(answer, pd.Index):
            told[-1].append(str(replace(dp.record(answer), id="", time=0)))
    assert told == [told[0]] * len(SIZES)


# --- 6: exact losses ------------------------------------------------------------------------------


def test_three_times_a_tenth_fits_in_three_tenths() -> None:
    dp.session(epsilon=0.3)
    for _ in range(3):
        people().dp.count(epsilon=0.1)
    assert dp.ledger().remaining == 0
    assert isinstance(dp.ledger().spent, Fraction)
    refusal(lambda: people().dp.count(epsilon=2.0**-20), error=dp.BudgetExceeded)


# --- 7: no rows in what leaves --------------------------------------------------------------------

SECRET = 7_234_567.890_123
MARKS = [CANARY.encode(), struct.pack("<d", SECRET), struct.pack(">d", SECRET), b"7234567"]


def _reachable(start: Any) -> list[Any]:
    """All objects that an object leads to, but code and modules."""
    seen: dict[int, Any] = {}
    stack = [start]
    code = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)
    while stack:
        each = stack.pop()
        if id(each) not in seen and not isinstance(each, code):
            seen[id(each)] = each
            stack.extend(gc.get_referents(each))
    return list(seen.values())


@pytest.mark.parametrize("name", [*ops.EVERY, *ops.TESTED])
def test_results_and_records_hold_no_rows(name: str) -> None:
    df = people().assign(number=SECRET, group=CANARY, when=CANARY)
    p = dp.protect(df, name="people", unit="owner", max_rows=2, kinds=SCHEMA)
    result = ops.released(name, p)
    held = [result]
    if isinstance(result, results._Released) or name in (*ops.OPERATIONS, *ops.TESTED):
        held.append(dp.record(result))
    for each in held:
        assert not any(mark in pickle.dumps(each) for mark in MARKS)
        reached = _reachable(each)
        assert not any(isinstance(x, PandasEngine) for x in reached)
        assert not any(isinstance(x, str) and CANARY in x for x in reached)


def test_queries_pickle_without_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, planned = [], release._planned

    def noted(running: Any, query: Any, *more: Any) -> Any:
        queries.append(query)
        return planned(running, query, *more)

    monkeypatch.setattr(release, "_planned", noted)
    dp.protect(people().assign(group=CANARY), name="people").query("number > 1").count(epsilon=1)
    (query,) = queries
    assert not any(mark in pickle.dumps(query) for mark in MARKS)
    loaded = pickle.loads(pickle.dumps(query))
    assert (loaded, loaded.what.whole) == (query, query.what.whole)


PRIVATE: list[Callable[[Any], Any]] = [
    lambda p: p, lambda p: p["number"], lambda p: p["number"] > 1,
    lambda p: p.groupby("code", keys=ops.CODES), lambda p: p.count(),
]  # fmt: skip


@pytest.mark.parametrize("make", PRIVATE)
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_private_objects_refuse_pickling_and_copying(make: Any, duplicate: Any) -> None:
    refusal(lambda: duplicate(make(people().dp)), "pickling or copying", PrivateValueError)


@pytest.mark.parametrize("make", PRIVATE)
def test_private_objects_show_no_rows(make: Callable[[Any], Any]) -> None:
    private = make(people().assign(group=CANARY, number=SECRET).dp)
    shown = [repr(private), str(private), f"{private}"]
    shown += [private._repr_html_()] if hasattr(type(private), "_repr_html_") else []
    assert not any(CANARY in text or "7234567" in text for text in shown)
