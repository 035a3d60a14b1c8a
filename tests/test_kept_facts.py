"""What is kept between two questions depends on public facts only: never on rows.

A frame is written in place between two questions; rows of units and noise are looked at again;
what is reachable from the package is searched for cells.
"""

import gc
import sys
import threading
import types
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from notes import noted
from sizes import size
from waiting import until

import dppandas as dp
from dppandas.engines import truncation

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

STEP = size(quick=4, deep=1)
EVERY = [*ops.EVERY, *ops.OF_UNITS, *ops.TESTED]
#: What is drawn for each `df.dp`: samples, few columns of a row, blocks.
DRAWN = {
    name for name in EVERY if any(word in name for word in ("sample", "few", "block", "slopes"))
}


def people(seed: int, rows: int = 60, texts: Any = "str") -> pd.DataFrame:
    """Rows of the schema of `operations`, with a unit column. Data, not noise: seeded."""
    rng = np.random.default_rng(seed)
    when = pd.Timestamp("2020-01-02 12:00", tz="UTC") + pd.to_timedelta(
        rng.integers(-2, 3, rows), "D"
    )
    return pd.DataFrame({
        "number": rng.choice([0.5, -3.25, 7, 11, np.nan], rows),
        "group": pd.Series(rng.choice([*"abcx"], rows), dtype=texts),
        "code": rng.integers(1, 5, rows), "yes": rng.random(rows) < 0.5,
        "no": rng.random(rows) < 0.2, "when": when, "owner": np.arange(rows),
    })  # fmt: skip


def write(df: pd.DataFrame, new: pd.DataFrame) -> None:
    """Into the arrays that a frame has, around pandas' copy-on-write."""
    held = [df[name].array for name in df]
    for name, array in zip(df, held, strict=True):
        array[:] = new[name].array
    pd.testing.assert_frame_equal(df, new)


def told(answer: Any) -> str:
    """All values of an answer, to the last digit."""
    if isinstance(answer, pd.DataFrame):
        return repr([answer.to_numpy().tolist(), *map(told, (answer.index, answer.columns))])
    if isinstance(answer, pd.Series):
        return repr([answer.tolist(), told(answer.index)])
    if isinstance(answer, pd.Index | np.ndarray):
        return repr(answer.tolist())
    if isinstance(answer, tuple | list):
        return repr([*map(told, answer)])
    return repr(answer)


def asked(name: str, private: Any) -> tuple[str, Any]:
    """What is answered, and what has been charged then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = ops.released(name, private)
    return told(answer), dp.ledger().spent


def asserted(df: pd.DataFrame, name: str) -> Any:
    return dp.private(df, unit="owner", max_rows=1) if name in ops.OF_UNITS else df.dp


@pytest.mark.sized
@pytest.mark.parametrize("first", range(STEP))
def test_an_asserted_frame_that_was_written_in_place_has_its_new_values(
    first: int, exact: None
) -> None:
    """As a frame that was never asked, and the question costs what it did."""
    names = [name for name in EVERY[first::4] if name not in DRAWN]
    differ = 0
    for i, name in enumerate(names):
        old, new = (people(seed, texts=("str", object)[i % 2]) for seed in (1, 2))
        with noted(name):
            df = old.copy()
            dp.reset()
            held = asserted(df, name)
            before, spent = asked(name, held)
            write(df, new)
            after, twice = asked(name, asserted(df, name))
            dp.reset()
            fresh, once = asked(name, asserted(new.copy(), name))
            assert after == fresh
            assert (spent, twice) == (once, 2 * once)
            differ += before != after
            if new["group"].dtype == object:  # else pandas gives the frame, not others, new texts
                assert asked(name, held) == (fresh, 2 * once)
    assert differ > 0.6 * len(names), "else nothing would have been noticed"


@pytest.mark.sized
@pytest.mark.parametrize("first", range(STEP))
def test_a_protected_frame_keeps_its_own_rows_and_is_charged_anew(first: int, exact: None) -> None:
    """Whatever is written into the frame that was given."""
    old, new = people(3), people(4)
    names = [name for name in ops.OPERATIONS if name not in DRAWN][first::4]
    df = old.copy()
    p = dp.protect(df, name="people")
    told_before = {name: asked(name, p) for name in names}
    write(df, new)
    for name, (before, _) in told_before.items():
        with noted(name), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spent = dp.ledger().spent
            assert asked(name, p) == (before, spent), "an answer is given again at no cost"
            if name.startswith("proposed"):
                continue  # they have a δ
            again = ops.OPERATIONS[name](p).release(epsilon=1, fresh=True)
            assert told(again) == before
            assert dp.ledger().spent == spent + 1


# --- units and noise ------------------------------------------------------------------------------


def test_rows_that_are_kept_of_a_unit_are_those_of_its_values_now(exact: None) -> None:
    """One unit with 128 rows, then 128 units, then 64: a row of each."""
    df = pd.DataFrame({"unit": np.zeros(128, dtype=np.int64), "row": np.arange(128)})
    rows = dp.private(df, unit="unit", max_rows=1)["row"]
    counts = rows.value_counts(keys=range(128), sort=False)
    for units in (np.zeros(128), np.arange(128), np.arange(128) // 2):
        df["unit"].array[:] = units.astype(np.int64)
        kept = counts.release(epsilon=1)
        assert sum(kept) == len(set(units))
        assert len(set(units[kept.to_numpy() > 0])) == len(set(units))


def test_a_release_keeps_no_rows_for_another_one_that_began_later(
    exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread chooses rows of 128 units; meanwhile all rows become those of one unit, and
    another release asks."""
    df = pd.DataFrame({"unit": np.arange(128), "x": np.ones(128)})
    x = dp.private(df, unit="unit", max_rows=1)["x"]
    kept_rows = truncation.kept_rows
    chosen, written = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        kept = kept_rows(*given)
        chosen.set()
        until(written.is_set)
        return kept

    monkeypatch.setattr(truncation, "kept_rows", slow)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(x.sum, bounds=(0, 1), epsilon=1)
        until(chosen.is_set)
        monkeypatch.setattr(truncation, "kept_rows", kept_rows)
        df["unit"].array[:] = np.zeros(128, dtype=np.int64)
        x._table.engine.check([])  # a release that begins now
        written.set()
        first.result()
        assert len(x._table.engine._rows()) == 1
    assert x.sum(bounds=(0, 1), epsilon=1) == 1


def test_a_table_of_units_is_made_of_their_values_now(exact: None) -> None:
    """And so is one of that table's rows: 40 units have 2 rows each, then one has all 80."""
    df = pd.DataFrame({"unit": np.arange(80) // 2, "x": np.ones(80)})
    p = dp.private(df, unit="unit", max_rows=2)
    totals = p.per_unit().agg(x=("x", "sum"))["x"]
    bounds = {"bounds": (0, 100), "epsilon": 1}
    assert (totals.count(epsilon=1), totals.sum(**bounds)) == (40, 80)
    df["unit"].array[:] = np.zeros(80, dtype=np.int64)
    assert (totals.count(epsilon=1), totals.sum(**bounds)) == (1, 80)


def test_a_series_that_was_written_in_place_has_its_new_values(exact: None) -> None:
    series = pd.Series([*"aabbb"], dtype=object)
    counts = dp.private(series, kinds="text").value_counts(keys=["a", "b"], sort=False)
    assert counts.release(epsilon=1).tolist() == [2, 3]
    series.array[:4] = "a"
    assert counts.release(epsilon=1).tolist() == [4, 1]


@pytest.mark.statistical
def test_noise_is_drawn_for_each_release() -> None:
    """Of 40 numbers with noise of scale 2^10, two answers are equal once in 2^400."""
    df = pd.DataFrame({"k": np.arange(400) % 40})
    p = dp.protect(df, name="rows")
    for rows in (df.dp, p):
        counts = rows["k"].value_counts(keys=range(40), sort=False)
        seen = {tuple(counts.release(epsilon=2**-10, fresh=True)) for _ in range(5)}
        assert len(seen) == 5


# --- what the package leads to --------------------------------------------------------------------

#: So many rows that an array of this length is one of rows.
ROWS = 1279
TEXT, NUMBER, WHOLE = "canary-60c1", 7_234_571.890_625, 7_234_573
NOON = pd.Timestamp("2023-07-05 12:34:56.789123", tz="Europe/Lisbon")


def canaries(as_objects: bool) -> pd.DataFrame:
    df = people(5, ROWS)
    df["number"], df["group"], df["code"], df["when"] = NUMBER, TEXT, WHOLE, NOON
    df["owner"] = [f"{TEXT}-{i}" for i in range(ROWS)]
    return df.astype(object) if as_objects else df


def reachable() -> Iterator[Any]:
    """All that the modules of the package lead to, caches of functions and classes included; not
    through modules, classes and functions of others, or what a function names."""
    house = [module for name, module in [*sys.modules.items()] if name.split(".")[0] == "dppandas"]
    seen: set[int] = set()
    stack: list[Any] = [value for module in house for value in vars(module).values()]
    kept = []  # so that no id is given to two objects
    while stack:
        each = stack.pop()
        if id(each) in seen or isinstance(each, types.ModuleType | types.FrameType):
            continue
        seen.add(id(each))
        kept.append(each)
        if isinstance(each, types.FunctionType):
            parts: Sequence[Any] = (
                each.__closure__, each.__defaults__, each.__kwdefaults__, vars(each)
            )  # fmt: skip
            stack.extend(parts if _is_ours(each) else ())
            continue
        if isinstance(each, type) and not _is_ours(each):
            continue
        yield each
        stack.extend(gc.get_referents(each))


def _is_ours(each: Any) -> bool:
    """A function that is compiled when it is called may have no module."""
    return each.__module__ is None or each.__module__.startswith("dppandas")


def is_of_rows(each: Any) -> bool:
    """Whether an object is a cell of `canaries`, or as long as they are."""
    if isinstance(each, str):
        return TEXT in each
    if isinstance(each, bytes):
        return TEXT.encode() in each
    if isinstance(each, np.ndarray):
        return ROWS in each.shape
    if type(each) in (int, float):
        return each in (NUMBER, WHOLE, NOON.value, NOON.value // 1000)
    return isinstance(each, pd.Timestamp) and each is not NOON and each == NOON


def test_the_search_finds_what_is_kept() -> None:
    kept = dp._kept_by_a_test = {}  # type: ignore[attr-defined]
    try:
        for cell in (
            TEXT,
            NUMBER,
            WHOLE,
            np.zeros(ROWS),
            np.zeros((2, ROWS)),
            (TEXT, 1),
            [[NUMBER]],
        ):
            kept["a"] = cell
            assert any(map(is_of_rows, reachable())), cell
        kept["a"] = (np.zeros(ROWS + 1), NUMBER + 1, "canary")
        assert not any(map(is_of_rows, reachable()))
    finally:
        del dp._kept_by_a_test  # type: ignore[attr-defined]


@pytest.mark.sized
@pytest.mark.parametrize("as_objects", [False, True])
def test_no_row_is_reachable_once_the_frame_is_gone(as_objects: bool) -> None:
    """Not from any cache, whatever was asked, and not from a session that goes on. A protected
    source is the session's, so that it goes with it."""
    names = EVERY[int(as_objects) :: size(quick=8, deep=2)]

    def ask(is_protected: bool) -> list[Any]:
        df = canaries(as_objects)
        p = dp.protect(df, name="people", unit="owner", max_rows=1) if is_protected else None
        answers = []
        for name in names:
            with noted(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers.append(ops.released(name, asserted(df, name) if p is None else p))
        return answers

    for is_protected in (False, True):
        dp.session(epsilon=10**6)
        answers = ask(is_protected)
        gc.collect()
        if is_protected:
            assert any(map(is_of_rows, reachable())), "rows are searched for"
            dp.reset()
            gc.collect()
        found = [each for each in reachable() if is_of_rows(each)]
        assert not found, found[:10]
        assert len(answers) == len(names)
        dp.reset()
