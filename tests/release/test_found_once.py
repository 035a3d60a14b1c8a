"""Public facts that a release needs are found once. Calls are counted, and no time is measured."""

from __future__ import annotations

import math
import pickle
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted

import dppandas as dp
from dppandas.frames.sources.pandas_frames import dtypes_of
from dppandas.ledger import canonical
from dppandas.privacy.accounting.losses import Delta, Epsilon, Rho
from dppandas.release.query import Source
from dppandas.rows.facts.keys import Keys
from dppandas.statistics import base, every

DF = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0), "k": np.arange(50) % 3})


@pytest.fixture
def p() -> Any:
    return dp.protect(DF.copy(), name="s", domain={"x": (0, 49), "y": (0, 49), "k": [0, 1, 2]})


#: Questions whose statistics find their facts in different ways.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "count": lambda p: p.query("x > 3").count(epsilon=1),
    "mean": lambda p: p["x"].mean(epsilon=1),
    "weighted mean": lambda p: p["x"].mean(weights=p["y"], weight_bounds=(0, 9), epsilon=1),
    "means of groups": lambda p: p.groupby("k")[["x", "y"]].mean(epsilon=1),
    "median": lambda p: p["x"].median(epsilon=1),
    "variance": lambda p: p[["x", "y"]].var(epsilon=1),
    "correlation": lambda p: p[["x", "y"]].corr(epsilon=1),
    "most frequent": lambda p: p["k"].value_counts().idxmax(epsilon=1),
}


@contextmanager
def calls() -> Iterator[list[FrameType]]:
    """The frames of all calls of Python functions inside, in their order."""
    seen: list[FrameType] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.append(frame) if event == "call" else None)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def test_a_release_finds_each_fact_of_a_statistic_once(p: Any) -> None:
    finders = {
        code
        for kind in [base.Statistic, *every()]
        for each in kind.__mro__
        for name in base.FOUND_ONCE
        if (code := code_of(vars(each).get(name))) is not None
    }
    assert len(finders) > 30
    for name, ask in QUESTIONS.items():
        with noted(name):
            with calls() as seen:
                ask(p)
            # the list holds the frames, and so the statistics: no other one gets the id of one
            found = Counter(
                (each.f_code.co_qualname, id(each.f_locals.get("self")))
                for each in seen
                if each.f_code in finders
            )
            # all counts of rows are of one statistic, whose facts may be found already
            assert found or name == "count", "or nothing was counted"
            assert set(found.values()) <= {1}, found


def code_of(found: Any) -> Any:
    """The code below what finds a fact once; None where a class states it."""
    getter = getattr(found, "fget", None) or getattr(found, "func", found)
    return getattr(getattr(getter, "__wrapped__", getter), "__code__", None)


def test_every_statistic_keeps_its_facts_without_a_word() -> None:
    for kind in every():
        for each in kind.__mro__:
            for name in base.FOUND_ONCE:
                own: Any = vars(each).get(name)
                getter = own.fget if isinstance(own, property) else own
                if each is not base.Statistic and callable(getter):
                    with noted(each.__name__, name):
                        assert getter.__wrapped__


def test_a_fact_belongs_to_one_statistic(p: Any) -> None:
    narrow, wide = (p["x"].sum(bounds=(0, high))._statistic for high in (9, 900))
    assert [each.l1 for each in (narrow, wide)] == [
        sum(grid.reach for grid in each.grids) for each in (narrow, wide)
    ]
    assert narrow.l1 != wide.l1
    one, two = (p[names].mean()._statistic for names in (["x"], ["x", "y"]))
    assert (one.size, two.size, 2 * one.l1) == (2, 4, two.l1)
    assert (len(one.expressions()), len(two.expressions())) == (1, 2)


def test_what_is_found_is_no_part_of_a_statistic_or_source(p: Any) -> None:
    for name, ask in QUESTIONS.items():
        query = dp.record(ask(p))._query
        for used in (query.statistic, query.source):
            with noted(name, type(used).__name__):
                names = {each.name for each in fields(used)}
                assert used.__dict__.keys() > names, "something was found"
                fresh = replace(used)
                assert fresh.__dict__.keys() == names
                assert fresh == used
                assert repr(fresh) == repr(used)
                assert pickle.loads(pickle.dumps(used)).__dict__.keys() == names
        assert canonical.text(replace(query.statistic)) == canonical.text(query.statistic)


def test_the_text_of_a_source_is_written_once(p: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    write = canonical.prefix

    def noting(*parts: Any) -> str:
        made.append(parts)
        return write(*parts)

    monkeypatch.setattr(canonical, "prefix", noting)
    for ask in QUESTIONS.values():
        ask(p)
    assert [parts for parts in made if parts] == [("s", None, (None, 1), "")]


def test_a_key_is_the_same_with_and_without_a_prefix(p: Any) -> None:
    query = dp.record(p["x"].mean(epsilon=1))._query
    source = query.source
    unit = source.unit.column, source.unit.max_rows
    asked = query.where, query.branches, query.statistic, query.asked, query.select
    assert query.key == canonical.key(source.name, source.version, unit, source.made, *asked)
    with calls() as seen:
        assert replace(query).key == query.key
    texts = sum(each.f_code is canonical.text.__code__ for each in seen)
    assert 0 < texts <= 2 * 21, "the query has 21 values, and was 29 with its source"


def test_a_source_whose_rows_may_differ_begins_no_key() -> None:
    known = Source("id", "s", verified=True)
    assert known.key_prefix
    others: tuple[dict[str, Any], ...] = (
        {"verified": False}, {"trusted": ", as said"}, {"made": None}, {"name": object()},
    )  # fmt: skip
    for other in others:
        with noted(other):
            assert replace(known, **other).key_prefix == ""
    for other in ({"name": "t"}, {"version": "1"}, {"made": "filtered"}):
        assert replace(known, **other).key_prefix != known.key_prefix


#: Values at the edges of what is written in one step.
EDGES: tuple[Any, ...] = (
    None, False, True, 0, 1, -1, 2**63, -(2**63) - 1, 2**4096 - 1, 1 - 2**4096, 0.0, -0.0, 0.5,
    1e308, 5e-324, 3.0, math.nan, math.inf, -math.inf, Fraction(1, 3), Fraction(2**4096 - 1, 2),
    Epsilon(1, 3), Epsilon(0), Delta(1, 10**6), Rho(2), "", "a", "\ud800", "1:s", "a" * 2**20,
)  # fmt: skip


def test_what_is_written_in_one_step_is_what_its_cell_says() -> None:
    for value in EDGES:
        with noted(repr(value)[:40]):
            assert canonical.text(value) == canonical._cell(value)
    for beyond in (2**4096, -(2**4096), Fraction(1, 2**4096), "a" * (2**20 + 1)):
        with pytest.raises(canonical.NoCanonicalText):
            canonical.text(beyond)


def test_many_strings_have_the_text_that_few_have() -> None:
    names = [f"{'x' * (i % 5)}{i}\u00e4" for i in range(canonical.MANY)]
    each = ",".join(canonical._cell(name) for name in names)
    assert canonical.text(tuple(names)) == canonical.text(names) == f"({each})"
    mixed = [*names, 1], [*names, True], [1, *names], [*range(canonical.MANY), True]
    for values in mixed:
        assert canonical.text(values) == f"({','.join(map(canonical._cell, values))})"
    with pytest.raises(canonical.NoCanonicalText):
        canonical.text([*names, "a" * (2**20 + 1)])
    canonical.text(Keys(("a", "b")))  # which compiles what is compiled once
    with calls() as seen:
        canonical.text(Keys(tuple(names)))
    assert len(seen) < canonical.MANY / 2, "all labels at once"


def test_many_times_have_the_text_that_few_have() -> None:
    edges = "1700-01-01", "1969-12-31T23:59:59.999999999", "2020-01-01T00:00:00.5", "1400-01-01"
    zoned = pd.Timestamp("2020-01-01", tz="Europe/Lisbon")
    *times, early = (pd.Timestamp(np.datetime64(edge)) for edge in edges)
    times += [pd.Timestamp("2020-01-01").as_unit(unit) for unit in ("s", "ms", "us", "ns")]
    times *= canonical.MANY
    mixed = [*times, early], [*times, zoned], [*times, "2020-01-01"], [zoned] * canonical.MANY
    for values in (times, times[:2], *mixed):
        each = f"({','.join(map(canonical._cell, values))})"
        assert canonical.text(tuple(values)) == canonical.text(values) == each
    for values in (times, [early], [zoned], [zoned, *times]):
        index = pd.Index(values, name="t", tupleize_cols=False)
        pd.testing.assert_index_equal(Keys(tuple(values)).index(["t"]), index)
    with calls() as seen:
        canonical.text(Keys(tuple(times)))
    assert len(seen) < len(times) / 2, "all labels at once"


def test_names_and_dtypes_of_a_frame_are_read_without_what_is_dear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = DF.set_index(pd.date_range("2020", periods=50))
    ordered = DF.assign(o=pd.Categorical(["a", "b"] * 25, ordered=True))
    reads: list[int] = []
    dtypes = pd.DataFrame.dtypes

    def read(frame: Any) -> Any:
        reads.append(1)
        return dtypes.fget(frame)  # type: ignore[attr-defined]

    monkeypatch.setattr(pd.DataFrame, "dtypes", property(read))
    for name, frame in {"plain": DF, "of times": times, "ordered": ordered}.items():
        with noted(name):
            assert frame.dp is not None  # with what is imported for the first
            reads.clear()
            with calls() as seen:
                private = frame.dp
            iterations = [each for each in seen if each.f_code is pd.Index.__iter__.__code__]
            assert (len(reads), len(iterations)) == (0, 1)
            assert dtypes_of(frame) == dtypes.fget(frame).tolist()  # type: ignore[attr-defined]
            assert list(private.columns) == list(frame.columns)
    assert times.dp._table.times == "index"
    assert times.dp._table.source.schema["index"] == "time"
    assert ordered.dp._columns["o"].ordered
    assert not ordered.dp._columns["x"].ordered


def test_a_pandas_that_keeps_dtypes_elsewhere_is_asked_for_them() -> None:
    class Later:
        dtypes = DF.dtypes

    assert dtypes_of(Later()) == DF.dtypes.tolist()  # type: ignore[arg-type]


def test_columns_stay_as_they_were_when_a_frame_was_taken() -> None:
    frame = DF.copy()
    private = frame.dp
    frame.columns = pd.Index(["k", "x", "y"])
    frame.insert(0, "z", 49)
    assert list(private.columns) == ["x", "y", "k"]
    assert private["k"].mean(bounds=(0, 49), epsilon=60) < 12, "and those of others are above 24"


def test_groups_are_not_searched_for_what_they_lack(
    p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("difflib.get_close_matches", None)
    p.groupby("k")["x"].mean(epsilon=1)
    with dp.preview():
        p.groupby("k").size()
