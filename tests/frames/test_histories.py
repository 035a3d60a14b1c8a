"""What rows know of their unit: against loops over units, alone and among others, to the last bit.

`told` evaluates what a private frame would be asked of, without noise: the cells of its rows.
"""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from elements import NOON, Odd, meanings, objects
from hostile import FILTERS, KINDS, Row, row, table
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refusal
from sizes import size

import dppandas as dp
from dppandas.engines import histories as engine_histories
from dppandas.engines.pandas import PandasEngine, PerUnitEngine
from dppandas.engines.readers import Columns
from dppandas.engines.truncation import row_hashes
from dppandas.engines.unit_groups import cumulated
from dppandas.errors import DPError, LineageError, MissingArgument, QueryError
from dppandas.rows.expressions import AGGREGATES, WAYS, Expression, histories
from dppandas.rows.facts.steps import Step
from dppandas.rows.facts.units import Unit
from dppandas.rows.values import vectors
from dppandas.rows.values.equality import key as equal

KEY = b"0123456789abcdef"
ALL = 10**6

# --- what rows hold ------------------------------------------------------------------------------


def engine_of(lazy: Any, frame: pd.DataFrame, unit: Unit, block: int) -> Any:
    """The engine of a private frame, over other rows."""
    if isinstance(lazy, PerUnitEngine):
        return PerUnitEngine(engine_of(lazy._base, frame, unit, block), lazy._table)
    return PandasEngine(frame, unit, KEY, block)


def told(asked: Any, frame: pd.DataFrame, most: int = ALL, block: int = 7) -> list[tuple[Any, ...]]:
    """The cells of each row that counts, by branch, column by column."""
    engine = engine_of(asked._table.engine, frame, Unit("owner", most), block).made()
    rows, found = engine._rows(), list[tuple[Any, ...]]()
    whole = rows.block(0, len(rows))
    named: Any = asked._columns if isinstance(asked, dp.types.PrivateFrame) else asked._expression
    columns: list[Expression] = list(named.values()) if isinstance(named, dict) else [named]
    with np.errstate(all="ignore"):
        for branch in range(asked._table.branches):
            view = replace(whole, branch=branch)
            cells = [meanings(each.vector(view)) for each in columns]
            where = asked._where
            kept = np.ones(len(rows), bool) if where is None else where.truth(view)
            found += [
                each for each, keep in zip(zip(*cells, strict=True), kept, strict=True) if keep
            ]
    return found


def private(frame: pd.DataFrame, most: int = 3) -> Any:
    return dp.private(frame, unit="owner", max_rows=most)


def alike(cells: Sequence[tuple[Any, ...]]) -> Counter[Any]:
    """Rows by what equals what: 1 and True, which a Categorical merges, are one."""
    return Counter(tuple(map(equal, each)) for each in cells)


def cells_of(values: Sequence[Any]) -> list[Any]:
    return meanings(vectors.vector(objects(list(values)).to_numpy()))


def owned(asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is asked, beside whose rows they are."""

    def beside(p: Any) -> Any:
        return p.assign(found=asked(p))[["owner", "found"]]

    return beside


def sorted_rows(p: Any, *by: str, falls: bool = False) -> Any:
    return p.sort_values(list(by or ["when"]), ascending=not falls)


# --- against loops over units --------------------------------------------------------------------

#: Cells that pandas can't sort together: numbers, texts and times, equal, missing and huge.
MIXED: list[Any] = [
    1, True, 1.0, 0, False, -0.0, 2**53, 2**53 + 1, 2.0**53, -(2**63), 10**30, 0.1, -math.inf,
    math.inf, "a", "b", "", NOON.tz_localize("UTC"),
    NOON.tz_localize("UTC").tz_convert("Asia/Tokyo"), pd.Timestamp("2020-06-01", tz="UTC"), None,
    math.nan, pd.NA, pd.NaT,
]  # fmt: skip
NUMBERS: list[Any] = [1, True, -0.0, 0.1, 0.2, 0.3, 1e16, -1e16, 2**53 + 1, math.nan, None, 7.5]
LABELS: list[Any] = [1, True, "a", "b", 2**53 + 1, None]
OWNERS: list[Any] = [1, True, 1.0, 2, "x", 2**53 + 1, None, math.nan]


def hostile_rows(most: int = 9) -> st.SearchStrategy[list[Row]]:
    """Few rows, often tied, often the same."""
    one = st.fixed_dictionaries({
        "owner": st.sampled_from(OWNERS), "code": st.sampled_from(LABELS),
        "when": st.sampled_from(MIXED), "other": st.sampled_from(MIXED),
        "number": st.sampled_from(NUMBERS),
    })  # fmt: skip
    return st.lists(one, min_size=1, max_size=most).flatmap(
        lambda rows: st.lists(st.sampled_from(rows), max_size=3).map(lambda more: [*rows, *more])
    )


def is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT or (
        isinstance(cell, float) and math.isnan(cell)
    )  # fmt: skip


def rank_of(cell: Any) -> tuple[int, Any]:
    """Numbers, then texts, then times."""
    if isinstance(cell, bool | int | float):
        return 0, cell
    return (1, cell) if isinstance(cell, str) else (2, cell.value)


def groups_of(rows: list[Row], by: bool, keep: Callable[[Row], bool]) -> list[list[int]]:
    """Places of the rows of each unit, or unit and label, by Python's own equality."""
    found: dict[Any, list[int]] = {}
    for place, each in enumerate(rows):
        label = each["code"] if by else 0
        if not is_missing(each["owner"]) and not is_missing(label) and keep(each):
            found.setdefault((each["owner"], label), []).append(place)
    return list(found.values())


def in_order(frame: pd.DataFrame, places: list[int], falls: bool) -> list[int]:
    """Sorted in Python, missing ones last, ties by the two hashes of whole rows."""
    read = Columns(frame)
    hashes = row_hashes(read, KEY, equal=True), row_hashes(read, KEY)
    cells = frame["when"].tolist()
    by_hash = sorted(places, key=lambda i: (int(hashes[0][i]), int(hashes[1][i]), i))
    there = [i for i in by_hash if not is_missing(cells[i])]
    there.sort(key=lambda i: rank_of(cells[i]), reverse=falls)  # stable in both directions
    return there + [i for i in by_hash if is_missing(cells[i])]


def shifted(cells: list[Any], periods: int) -> list[Any]:
    return [
        cells[i - periods] if 0 <= i - periods < len(cells) else None for i in range(len(cells))
    ]


def filled(cells: list[Any], limit: float, backward: bool = False) -> list[Any]:
    found, last, away = list[Any](), None, 0
    for cell in cells[::-1] if backward else cells:
        last, away = (last, away + 1) if is_missing(cell) else (cell, 0)
        found.append(last if away <= limit else None)
    return found[::-1] if backward else found


def extremes(cells: list[Any], largest: bool) -> list[Any]:
    """The best so far, of equal ones the first; missing where the cell is."""
    best, found = None, []
    for cell in cells:
        if is_missing(cell):
            found.append(None)
            continue
        if best is None or (
            (rank_of(cell) != rank_of(best)) and ((rank_of(cell) > rank_of(best)) is largest)
        ):
            best = cell
        found.append(best)
    return found


def sums(cells: list[Any]) -> list[Any]:
    total, found = 0.0, []
    for cell in cells:
        total += 0.0 if is_missing(cell) else float(cell)
        found.append(None if is_missing(cell) else total)
    return found


def of_first(cells: list[Any]) -> list[Any]:
    there = [cell for cell in cells if not is_missing(cell)]
    return [there[0] if there else None] * len(cells)


def of_all(cells: list[Any], how: Callable[[list[Any]], Any]) -> list[Any]:
    return [how([cell for cell in cells if not is_missing(cell)])] * len(cells)


#: How it is asked of ordered groups; the column; and the same from the cells of one group.
LOOPS: dict[str, tuple[Callable[[Any], Any], str, Callable[[list[Any]], list[Any]]]] = {
    "cumcount": (lambda g: g.cumcount(), "other", lambda c: [*range(len(c))]),
    "cumcount from the end": (
        lambda g: g.cumcount(ascending=False), "other", lambda c: [*range(len(c))][::-1]),
    "cumsum": (lambda g: g["number"].cumsum(), "number", sums),
    "cummax": (lambda g: g["other"].cummax(), "other", lambda c: extremes(c, True)),
    "cummin": (lambda g: g["other"].cummin(), "other", lambda c: extremes(c, False)),
    "ffill": (lambda g: g["other"].ffill(), "other", lambda c: filled(c, math.inf)),
    "ffill of one": (lambda g: g["other"].ffill(limit=1), "other", lambda c: filled(c, 1)),
    "bfill": (lambda g: g["other"].bfill(), "other", lambda c: filled(c, math.inf, True)),
    "bfill of two": (lambda g: g["other"].bfill(limit=2), "other", lambda c: filled(c, 2, True)),
    "first": (lambda g: g["other"].transform("first"), "other", of_first),
    "last": (lambda g: g["other"].transform("last"), "other", lambda c: of_first(c[::-1])),
    "size": (lambda g: g.transform("size"), "other", lambda c: [len(c)] * len(c)),
    "count": (lambda g: g["other"].transform("count"), "other", lambda c: of_all(c, len)),
    "nunique": (lambda g: g["other"].transform("nunique"), "other",
        lambda c: of_all(c, lambda there: len(set(there)))),
    "min": (lambda g: g["other"].transform("min"), "other",
        lambda c: of_all(c, lambda there: min(there, key=rank_of, default=None))),
    "max": (lambda g: g["other"].transform("max"), "other",
        lambda c: of_all(c, lambda there: max(there, key=rank_of, default=None))),
    **{f"shift {n}": (
        lambda g, n=n: g["other"].shift(n), "other", lambda c, n=n: shifted(c, n))
        for n in (1, -1, 2, 0, -100)},
}  # fmt: skip


@pytest.mark.sized
@settings(max_examples=size(quick=60, deep=200))
@given(hostile_rows(), st.booleans(), st.booleans(), st.booleans())
def test_each_way_is_a_loop_over_units(
    rows: list[Row], by: bool, falls: bool, filters: bool
) -> None:
    frame = pd.DataFrame({name: objects([r[name] for r in rows]) for name in rows[0]})
    p = private(frame)
    p = p[p["number"].notna()] if filters else p
    groups = sorted_rows(p, falls=falls).groupby(["owner", "code"] if by else "owner")
    keep = (lambda r: not is_missing(r["number"])) if filters else (lambda r: True)
    lists = [in_order(frame, each, falls) for each in groups_of(rows, by, keep)]
    for name, (ask, column, loop) in LOOPS.items():
        wanted: list[Any] = [None] * len(rows)
        for places in lists:
            values = loop([rows[i][column] for i in places])
            for place, value in zip(places, values, strict=True):
                wanted[place] = value
        kept = [
            i for i, each in enumerate(rows)
            if keep(each) and not is_missing(each["owner"])
        ]  # fmt: skip
        found = [equal(cell) for (cell,) in told(ask(groups), frame)]
        assert found == [equal(cell) for cell in cells_of([wanted[i] for i in kept])], name


PLACES: dict[str, tuple[Callable[[Any], Any], Callable[[list[int]], Sequence[int]]]] = {
    **{f"head {n}": (lambda g, n=n: g.head(n), lambda c, n=n: c[:n]) for n in (0, 1, 2, -1, -3)},
    **{f"tail {n}": (
        lambda g, n=n: g.tail(n), lambda c, n=n: c[len(c) - n if n >= 0 else -n :][: len(c)])
        for n in (1, 2, -1, -2)},
    "nth 0": (lambda g: g.nth(0), lambda c: c[:1]),
    "nth -1": (lambda g: g.nth(-1), lambda c: c[-1:]),
    "nth -2": (lambda g: g.nth(-2), lambda c: c[-2:-1] if len(c) > 1 else []),
    "nth 0 and -1": (lambda g: g.nth([0, -1]), lambda c: [*{c[0], c[-1]}]),
    "nth 1 to 3": (lambda g: g.nth(range(1, 4)), lambda c: c[1:4]),
}  # fmt: skip


@pytest.mark.sized
@settings(max_examples=size(quick=40, deep=150))
@given(hostile_rows(12), st.booleans(), st.booleans())
def test_heads_and_tails_are_those_of_each_unit(rows: list[Row], by: bool, falls: bool) -> None:
    columns: dict[str, Any] = {name: objects([r[name] for r in rows]) for name in rows[0]}
    frame = pd.DataFrame({**columns, "id": range(len(rows))})
    groups = sorted_rows(private(frame), falls=falls).groupby(["owner", "code"] if by else "owner")
    for name, (ask, loop) in PLACES.items():
        kept: set[int] = set()
        for places in groups_of(rows, by, lambda r: True):
            ordered = in_order(frame, places, falls)
            kept |= {*loop(ordered)} if name != "tail 0" else set()
        found = [cell[1] for (cell,) in told(ask(groups)["id"], frame)]
        assert sorted(found) == sorted(kept), name


# --- against pandas ------------------------------------------------------------------------------


def visits(rows: int = 400, seed: int = 5) -> pd.DataFrame:
    """Units of many rows in an order without ties, shuffled."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "owner": rng.integers(0, 40, rows), "code": rng.integers(0, 3, rows),
        "number": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(-4, 9, rows) / 2.0),
        "when": pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(rng.permutation(rows), "h"),
        "yes": rng.random(rows) < 0.5,
    })  # fmt: skip


RANKS = [
    {"method": method, "ascending": ascending, "na_option": na_option, "pct": pct}
    for method in ("average", "min", "max", "first", "dense")
    for ascending in (True, False)
    for na_option in ("keep", "top", "bottom")
    for pct in (True, False)
]
BOTH: dict[str, Callable[[Any], Any]] = {
    **{f"transform {how}": lambda g, how=how: g["number"].transform(how) for how in (
        "sum", "mean", "median", "min", "max", "count", "nunique", "first", "last", "size",
        "cumsum", "cummax", "cummin", "rank", "ffill", "bfill")},
    **{f"transform {how}": lambda g, how=how: g["yes"].transform(how) for how in ("any", "all")},
    **{f"shift {n}": lambda g, n=n: g["number"].shift(n) for n in (1, 3, -2)},
    **{f"diff {n}": lambda g, n=n: g["number"].diff(n) for n in (1, 2, -1)},
    **{f"rank {i}": lambda g, o=o: g["number"].rank(**o) for i, o in enumerate(RANKS)},
    "time since": lambda g: g["when"].diff(),
    "pct_change": lambda g: g["number"].pct_change(**FILL) if hasattr(
        g, "ngroups") else g["number"].pct_change(),
    "cumcount": lambda g: g.cumcount(),
    "cumcount from the end": lambda g: g.cumcount(ascending=False),
    "head": lambda g: g.head(2)["when"], "head but one": lambda g: g.head(-1)["when"],
    "tail": lambda g: g.tail(2)["when"], "tail but two": lambda g: g.tail(-2)["when"],
    "nth": lambda g: g.nth([0, -2])["when"],
}  # fmt: skip
FILL: dict[str, Any] = {"fill_method": None}


@pytest.mark.parametrize("by", ["owner", ["owner", "code"]], ids=str)
def test_each_way_is_that_of_pandas(by: Any) -> None:
    frame = visits()
    ours, theirs = private(frame), frame
    for name, ask in BOTH.items():
        for falls in (False, True):
            wanted = ask(theirs.sort_values("when", ascending=not falls).groupby(by))
            wanted = wanted.sort_index()
            found = [
                cell for (cell,) in told(ask(sorted_rows(ours, falls=falls).groupby(by)), frame)
            ]
            assert len(found) == len(wanted), name
            for mine, other in zip(found, cells_of(wanted.tolist()), strict=True):
                assert near(mine, other), (name, mine, other)


def near(mine: Any, other: Any) -> bool:
    if mine[0] == other[0] == "number":
        return math.isclose(mine[1], other[1], rel_tol=1e-12, abs_tol=1e-12)
    return bool(equal(mine) == equal(other))


def test_long_groups_are_added_one_after_the_other() -> None:
    """Where groups are added side by side and where each by itself: what Python's loop finds."""
    rng = np.random.default_rng(3)
    for sizes in ([1, 255, 256, 257, 1000, 3], [300], [0], [2, 2]):
        numbers = rng.normal(size=sum(sizes)) * 10.0 ** rng.integers(-9, 16, sum(sizes))
        groups = np.split(numbers, np.cumsum(sizes)[:-1])
        wanted = [x for group in groups for x in itertools.accumulate(group.tolist())]
        starts = np.cumsum([0, *sizes[:-1]])
        assert cumulated(numbers, starts, np.array(sizes)).tolist() == wanted


# --- alone and among others ----------------------------------------------------------------------

ASKED: dict[str, Callable[[Any], Any]] = {
    **{how: lambda p, how=how: p.groupby("owner")["other"].transform(how)
       for how in ("sum", "mean", "median")},
    **{how: lambda p, how=how: sorted_rows(p, "other").groupby("owner")["group"].transform(how)
       for how in ("min", "max", "count", "nunique", "first", "last", "size")},
    **{how: lambda p, how=how: (
        sorted_rows(p, "group", falls=True).groupby(["owner", "code"])["number"].transform(how))
       for how in ("shift", "diff", "pct_change", "ffill", "bfill", "cumsum", "cummax", "cummin")},
    "rank": lambda p: p.groupby("owner")["number"].rank("dense", pct=True),
    "rank by first": lambda p: (
        sorted_rows(p, "other").groupby("owner")["number"].rank("first", ascending=False)),
    "cumcount": lambda p: sorted_rows(p, "group", "other").groupby(["owner", "group"]).cumcount(),
    "two falling": lambda p: (
        p.sort_values(["other", "when"], ascending=[False, True]).groupby("owner").cumcount()),
    "a mask": lambda p: p.groupby("owner")["number"].transform("count") * 2 > 3,
    "history of a history": lambda p: (
        lambda q: sorted_rows(q, "before").groupby("owner")["other"].shift())(
        p.assign(before=sorted_rows(p, "number").groupby("owner").cumcount())),
    "by a history": lambda p: (
        lambda q: q.groupby(["owner", "n"])["other"].transform("sum"))(
        p.assign(n=p.groupby(["owner", "code"])["number"].transform("count"))),
}  # fmt: skip
FRAMES: dict[str, Callable[[Any], Any]] = {
    "head": lambda p: sorted_rows(p, "group").groupby("owner").head(2),
    "tail of each code": lambda p: sorted_rows(p, "other").groupby(["owner", "code"]).tail(-1),
    "nth, then filtered": lambda p: (
        sorted_rows(p, "when").groupby("owner").nth([0, -1]).query("number > 0")),
    "history of the first": lambda p: (
        lambda q: q.assign(s=q.groupby("owner")["other"].cumsum()))(
        sorted_rows(p, "other").groupby("owner").head(3)),
    "before explode": lambda p: ops.parts(p.assign(
        n=sorted_rows(p, "other").groupby("owner").cumcount())),
    "after explode": lambda p: (
        lambda q: q.assign(n=q.groupby(["owner", "part"])["number"].transform("count"),
                           s=sorted_rows(q, "other").groupby("owner")["part"].shift()))(
        ops.parts(p)),
    "two frames": lambda p: dp.concat([
        p.assign(n=p.groupby("owner")["number"].transform("max")), p.assign(n=p["number"])]),
    "of two frames": lambda p: (
        lambda q: q.assign(n=q.groupby(["owner", "n"])["number"].transform("size")))(
        dp.concat([p.assign(n="code"), p.assign(n="number").query("number > 1")])),
    "per unit and code": lambda p: p.per_unit("code").agg(
        n="size", t=("other", "sum"), m=("group", "max")),
    "per unit and two": lambda p: sorted_rows(p, "other").per_unit(["code", "group"]).agg(
        f=("when", "first"), g=("number", "last")),
    "history per unit and code": lambda p: (
        lambda q: q.assign(b=sorted_rows(q, "n").groupby("owner")["t"].diff()))(
        p.per_unit("code").agg(n="size", t=("other", "sum"))),
    "per unit of a history": lambda p: p.assign(
        c=sorted_rows(p, "group").groupby("owner").cumcount()).per_unit().agg(
        s=("c", "sum"), f=("other", "max")),
    "merged": lambda p: p.merge(
        p.query("number > 1").per_unit().agg(n="size", t=("other", "sum")), "left", "owner"),
    "merged with some": lambda p: p.query("code in [1, 2]").merge(
        p.per_unit().agg(n="size", m=("other", "mean")).query("n > 1"), "inner", "owner"),
    "merged by keys": lambda p: p.merge(
        p.per_unit("code").agg(k="size", number=("number", "min")), "left", ["owner", "code"]),
}  # fmt: skip


def whole(asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is asked of a frame, with whose rows they are first."""

    def shaped(p: Any) -> Any:
        found = asked(p)
        names = ["owner", *(n for n in found._columns if n != "owner")]
        return found[names]

    return shaped


EVERYTHING = {**{name: owned(ask) for name, ask in ASKED.items()},
              **{name: whole(ask) for name, ask in FRAMES.items()}}  # fmt: skip


def of_owner(cells: list[tuple[Any, ...]], owner: int) -> Counter[Any]:
    return alike([each for each in cells if equal(each[0]) == equal(cells_of([owner])[0])])


def inferred(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """A table of the types that pandas finds, if these hold the same: not if 2^53 + 1 becomes a
    float beside a missing value. Old pandas fails at an integer that no float can hold."""
    as_objects = table(rows, "object")
    try:
        found = table(rows, "inferred")
    except OverflowError:
        return as_objects
    are_same = all(cells_of(found[name]) == cells_of(as_objects[name]) for name in found)
    return found if are_same else as_objects


@pytest.mark.sized
@pytest.mark.usefixtures("any_kind")
@pytest.mark.parametrize("name", EVERYTHING)
def test_a_unit_is_the_same_alone_and_among_others(name: str) -> None:
    """In any order and blocks, whatever the others' cells make of the types of columns."""
    rng = random.Random(name)
    for tried in range(size(quick=24, deep=90)):
        kind, wild = KINDS[tried % len(KINDS)], rng.random() < 0.3
        mine = [{**row(rng, wild and kind == "object"), "owner": 7} for _ in range(6)]
        mine += rng.choices(mine, k=rng.choice([0, 3]))  # identical rows
        for each in mine:
            each["group"] = rng.choice(["a", "xay", None])
        others = [
            {**row(rng, kind == "object"), "owner": rng.choice([1, 2, None])}
            for _ in range(rng.choice([1, 9]))
        ]  # fmt: skip
        most = rng.choice([2, 3, ALL])
        alone, everybody = inferred(mine), [*others, *mine]
        rng.shuffle(everybody)
        text = rng.choice([None, *FILTERS])
        p = private(alone if kind != "object" else table(mine, "object"))
        asked = EVERYTHING[name](p if text is None else p.query(text))
        wanted = of_owner(told(asked, alone, most), 7)
        among = table(everybody, kind)
        assert of_owner(told(asked, among, most, rng.choice([3, 1000])), 7) == wanted, kind


def test_of_identical_rows_the_first_are_kept(exact: None) -> None:
    """Too many for a sort of few to be stable by itself."""
    frame = pd.DataFrame({"owner": 1, "number": [5.0] * 500})
    p = dp.protect(frame, name="alike", unit="owner", max_rows=3)
    first = p.sort_values("number").groupby("owner").cumcount()
    numbers = p.assign(at=first)["at"].clip(0, 499)
    assert numbers.sum(epsilon=1) == 0 + 1 + 2


def test_rows_without_a_unit_have_no_history() -> None:
    """They aren't one unit together, and are in nobody's group."""
    owners = objects([None, math.nan, pd.NA, 1, 10**5000, Odd()])
    frame = pd.DataFrame({"owner": owners, "when": range(6), "number": 1.0})
    p = private(frame).sort_values("when")
    groups = p.groupby("owner")
    engine = PandasEngine(frame, Unit("owner", 2), KEY)
    for asked, one in (
        (groups.cumcount(), 0), (groups["number"].transform("sum"), 1),
        (groups["number"].rank(), 1), (groups["number"].cumsum(), 1), (groups["number"].ffill(), 1),
        (groups.transform("size"), 1),
    ):  # fmt: skip
        (history,) = histories(asked._expression)
        assert meanings(engine.histories.column(history)) == cells_of(
            [None, None, None, one, None, None])  # fmt: skip


@pytest.mark.parametrize("falls", [False, True])
@pytest.mark.parametrize("ends", [
    [-(2**63), 0, 2**63 - 1, 5], [-(2**63), -(2**63) + 1], [2**53, 2**53 + 1, -(2**53) - 1],
    [pd.Timestamp.min, pd.Timestamp.max, NOON], [True, False],
])  # fmt: skip
def test_the_ends_of_a_type_are_ordered_as_they_are_beside_a_text(ends: Any, falls: bool) -> None:
    """The least whole number has no opposite in 64 bits."""
    mine = pd.DataFrame({"owner": 1, "when": ends, "id": range(len(ends))})
    other = pd.DataFrame({"owner": [2], "when": ["text"], "id": [9]})
    asked = owned(lambda p: sorted_rows(p, falls=falls).groupby("owner")["id"].shift())(
        private(mine)
    )
    joined = pd.concat([mine.astype({"when": object}), other], ignore_index=True)
    assert of_owner(told(asked, joined), 1) == of_owner(told(asked, mine), 1)
    counted = sorted_rows(private(mine), falls=falls).groupby("owner").cumcount()
    places = [cell[1] for (cell,) in told(counted, mine)]
    assert places == [sorted(ends, reverse=falls).index(each) for each in ends]


def test_ties_never_follow_positions() -> None:
    """Of 40 units with 6 tied rows, that the first in the table is the first of each has
    probability 6^-40."""
    frame = pd.DataFrame({"owner": np.repeat(range(40), 6), "id": range(240), "day": 1})
    p = private(frame, 6)
    first = told(p.sort_values("day").groupby("owner").head(1)["id"], frame)
    assert len(first) == 40
    assert len({cell[1] % 6 for (cell,) in first}) > 1
    backwards = frame[::-1].reset_index(drop=True)
    again = told(p.sort_values("day").groupby("owner").head(1)["id"], backwards)
    assert alike(again) == alike(first)


# --- what is kept --------------------------------------------------------------------------------


def test_rows_are_dropped_after_a_history_and_the_same_as_ever() -> None:
    frame = visits()
    p = private(frame)
    kept = told(p["when"], frame, 3)
    asked = p.assign(n=p.groupby("owner")["when"].transform("size"),
                     c=p.sort_values("when").groupby("owner").cumcount())  # fmt: skip
    found = told(asked[["when", "n", "c"]], frame, 3)
    assert [each[:1] for each in found] == kept
    sizes = frame.groupby("owner")["when"].transform("size")
    places = frame.sort_values("when").groupby("owner").cumcount()
    true = {
        cell[0]: (n, c)
        for cell, n, c in zip(
            told(p["when"], frame), sizes.tolist(), [places[i] for i in frame.index], strict=True
        )
    }
    assert {when: (n[1], c[1]) for when, n, c in found} == {
        when: true[when] for (when,) in kept}  # fmt: skip


def test_filters_before_a_history_are_part_of_it_and_filters_after_are_not() -> None:
    frame = pd.DataFrame({"owner": [1, 1, 1, 2], "when": [1, 2, 3, 1], "code": [9, 1, 1, 9]})
    p = private(frame).sort_values("when")
    some = p.query("code == 1")
    assert [c for (c,) in told(some.groupby("owner").cumcount(), frame)] == cells_of([0, 1])
    after = p.assign(n=p.groupby("owner").cumcount()).query("code == 1")
    assert [c for (c,) in told(after["n"], frame)] == cells_of([1, 2])


def test_rows_of_a_unit_and_key_are_limited_by_a_hash_of_their_labels() -> None:
    """The same rows whatever is asked of them, and never those of another unit."""
    frame = pd.DataFrame({"owner": [1] * 40 + [2] * 40, "code": [*range(40)] * 2,
                          "number": [0.5] * 40 + [7.0] * 40})  # fmt: skip
    p = private(frame, 3)
    asked = [{"n": "size"}, {"t": ("number", "sum")}, {"t": ("number", "max"), "n": "size"}]
    kept = [told(p.per_unit("code").agg(**each)[["owner", "code"]], frame, 3) for each in asked]
    assert len(kept[0]) == 6
    assert [alike(each) for each in kept] == [alike(kept[0])] * 3
    changed = frame.assign(number=frame["number"] * -2)
    again = told(p.per_unit("code").agg(t=("number", "sum"))[["owner", "code"]], changed, 3)
    assert alike(again) == alike(kept[0])


def test_rows_kept_by_another_hash_are_rows_of_another_table() -> None:
    """Of one table, a unit's one row lies in one part. If labels of two names keep other rows, and
    these were one table, it would lie in two, and pay twice."""
    frame = pd.DataFrame({"owner": [1] * 40, "code": range(40)})
    p = dp.protect(frame, name="visits", unit="owner", max_rows=1)
    tables = [p.per_unit(p["code"].rename(name)).agg(n="size") for name in "abcdefgh"]
    kept = {told(each, frame, 1)[0][1] for each in tables}
    assert len(kept) > 1  # fails with probability 40^-7
    assert len({each._table.source.made for each in tables}) == 8
    parts = [each.partition("n", keys=[1, 2])[1]._table.path for each in tables]
    assert len(set(parts)) == 8
    again = p.per_unit(p["code"].rename("a")).agg(n="size")
    assert again._table.source.made == tables[0]._table.source.made


def test_sorting_changes_no_other_question() -> None:
    frame = visits()
    dp.session(epsilon=1000)
    p = dp.protect(frame, name="visits", unit="owner", max_rows=3)
    q = p.sort_values("when", ascending=False)
    q = q.sort_values(["number", "when"])
    for ask in (
        lambda p: p.count(epsilon=1),
        lambda p: p.per_unit().agg(n="size")["n"].mean(bounds=(0, 9), epsilon=1),
        lambda p: p.groupby("owner")["number"].transform("sum").mean(bounds=(0, 9), epsilon=1),
        lambda p: p.per_unit("code").agg(n="size")["n"].sum(bounds=(0, 9), epsilon=1),
        lambda p: p.partition("code", keys=[0, 1, 2])[1].count(epsilon=1),
    ):
        spent = (ask(p), ops.spent())
        assert (ask(q), ops.spent()) == spent  # the same key: nothing is drawn, or charged, again
    for ask in (
        lambda p: p.groupby("owner")["number"].transform("first").mean(bounds=(0, 9), epsilon=1),
        lambda p: p.per_unit().agg(f=("number", "last"))["f"].mean(bounds=(0, 9), epsilon=1),
        lambda p: p.per_unit("code").agg(f=("number", "first"))["f"].sum(bounds=(0, 9), epsilon=1),
    ):
        ask(p.sort_values("when"))
        before = ops.spent()
        ask(q)
        assert ops.spent() == before + 1
    assert told(p.assign(x=q["number"])["x"], frame) == told(p["number"], frame)


# --- partitions ----------------------------------------------------------------------------------


def test_a_partition_by_a_history_tells_the_rows_before_it() -> None:
    """The second of two rows is the first once the first is filtered out: in two parts of what
    would be one partition, if its name didn't hold the filter."""
    frame = pd.DataFrame({"owner": [1, 1, 2], "when": [1, 2, 1], "code": [9, 1, 1]})
    dp.session(epsilon=100)
    p = dp.protect(frame, name="visits", unit="owner", max_rows=1).sort_values("when")
    some = p.query("code == 1")

    def parts(q: Any) -> Any:
        return q.partition(q.groupby("owner").cumcount().rename("n"), keys=[0, 1])

    kept = p.assign(n=p.groupby("owner").cumcount()).query("code == 1")
    after = kept.partition("n", keys=[0, 1])  # filters after it drop items, and move none
    assert [each._table.path for each in after.values()] == [
        each._table.path for each in parts(p).values()]  # fmt: skip
    for other in (some, p.query("when < 9"), p.sort_values("when", ascending=False)):
        assert parts(other)[0]._table.path != parts(p)[0]._table.path
    parts(p)[0].count(epsilon=1)
    after[1].count(epsilon=1)
    assert ops.spent() == 1  # side by side: a unit has one row in one of them
    parts(some)[0].count(epsilon=1)
    assert ops.spent() == 2


def test_parts_by_a_history_hold_each_row_once() -> None:
    frame = visits()
    p = dp.protect(frame, name="visits", unit="owner", max_rows=3).sort_values("when")
    parts = p.partition(p.groupby("owner").cumcount().rename("n"), keys=range(30))
    found = [each for part in parts.values() for each in told(part["when"], frame, 3)]
    assert alike(found) == alike(told(p["when"], frame, 3))
    nested = parts[2].partition(parts[2].groupby("owner")["yes"].transform("any").rename("y"),
                                keys=[False, True])  # fmt: skip
    within = [each for part in nested.values() for each in told(part["when"], frame, 3)]
    assert alike(within) == alike(told(parts[2]["when"], frame, 3))


@pytest.mark.parametrize("by", [None, "code"])
def test_rows_of_units_of_a_part_are_charged_to_the_whole(by: Any) -> None:
    """Rows that truncation drops are read, too, and may lie in every part."""
    frame = visits()
    p = dp.protect(frame, name="visits", unit="owner", max_rows=1)
    dp.session(epsilon=100)
    for part in p.partition("code", keys=[0, 1, 2]).values():
        part.per_unit(by).agg(n="size").count(epsilon=1)
    assert ops.spent() == 3
    for part in p.partition("code", keys=[0, 1, 2]).values():  # but features of its rows aren't
        part.groupby("owner")["number"].transform("max").mean(bounds=(0, 9), epsilon=1)
    assert ops.spent() == 4


def test_rows_of_a_unit_count_as_often_as_they_may_be_kept() -> None:
    p = private(visits(), 4).sort_values("when")
    by_code = p.per_unit("code").agg(n="size")
    for asked, rows in (
        (by_code, 4), (p.per_unit().agg(n="size"), 1), (by_code.per_unit().agg(n="size"), 1),
        (p.groupby("owner").head(1), 4), (p.groupby(["owner", "code"])["number"].shift(), 4),
        (p.merge(p.per_unit().agg(n="size"), on="owner"), 4),
    ):  # fmt: skip
        assert asked._table.source.unit == Unit("owner", rows)
        assert asked._table.branches == 1


# --- merges --------------------------------------------------------------------------------------


def merged_in_pandas(frame: pd.DataFrame, on: list[str], how: Any, few: bool) -> pd.DataFrame:
    units = frame[frame["number"] > 0].groupby(on, as_index=False).agg(
        n=("when", "size"), number=("number", "max"))  # fmt: skip
    units = units[units["n"] > 1] if few else units
    return frame.merge(units, how=how, on=on)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("how", ["left", "inner"])
@pytest.mark.parametrize("on", [["owner"], ["owner", "code"]], ids=str)
def test_merges_are_those_of_pandas(on: list[str], how: str, few: bool) -> None:
    frame = visits()
    p = private(frame)
    by = on[1:] or None
    units = p.query("number > 0").per_unit(by).agg(n="size", number=("number", "max"))
    units = units.query("n > 1") if few else units
    asked = p.merge(units, how=how, on=on)
    wanted = merged_in_pandas(frame, on, how, few)
    assert list(asked._columns) == list(wanted.columns)
    found = told(asked, frame)
    assert alike(found) == alike(
        [*zip(*(cells_of(wanted[name].tolist()) for name in wanted), strict=True)])  # fmt: skip


def test_a_merge_by_exploded_keys_finds_the_key_of_each_item() -> None:
    tags = [["a", "b"], ["b"], ["c", "a"], ["a", "a"]]
    frame = pd.DataFrame({"owner": [1, 1, 2, 2], "tags": tags, "x": [1, 2, 3, 4]})
    alone = private(frame)
    items = alone.explode("tags", max_items=2)
    asked = items.merge(
        items.per_unit("tags").agg(n="size", t=("x", "sum")), "left", ["owner", "tags"]
    )
    plain = frame.explode("tags")
    units = plain.groupby(["owner", "tags"], as_index=False).agg(n=("x", "size"), t=("x", "sum"))
    wanted = plain.merge(units, "left", ["owner", "tags"])[["owner", "tags", "n", "t"]]
    found = told(asked[["owner", "tags", "n", "t"]], frame)
    assert alike(found) == alike(
        [*zip(*(cells_of(wanted[name].tolist()) for name in wanted), strict=True)])  # fmt: skip
    counted = items.assign(n=items.groupby(["owner", "tags"])["x"].transform("count"))
    plain = plain.reset_index(drop=True)
    plain = plain.assign(n=plain.groupby(["owner", "tags"])["x"].transform("count"))
    names = ["owner", "tags", "n"]
    wanted_cells = [cells_of(plain[name].tolist()) for name in names]
    assert alike(told(counted[names], frame)) == alike([*zip(*wanted_cells, strict=True)])
    joined = alone.merge(items.per_unit().agg(n="size"), on="owner")
    assert [c for (c,) in told(joined["n"], frame)] == cells_of([3, 3, 4, 4])


# --- refusals ------------------------------------------------------------------------------------


def refusing() -> dict[str, tuple[Callable[[Any, Any], Any], str, type[Exception]]]:
    """What is asked of a frame and another one of its kind, and how it is refused."""
    no_order = {
        name: (lambda p, o, ask=ask: ask(p.groupby("owner")), "needs an order", MissingArgument)
        for name, ask in {
            "shift": lambda g: g["number"].shift(), "diff": lambda g: g["number"].diff(),
            "cumcount": lambda g: g.cumcount(), "cumsum": lambda g: g["number"].cumsum(),
            "cummax": lambda g: g["number"].cummax(), "cummin": lambda g: g["number"].cummin(),
            "ffill": lambda g: g["number"].ffill(), "bfill": lambda g: g["number"].bfill(),
            "head": lambda g: g.head(), "tail": lambda g: g.tail(2), "nth": lambda g: g.nth(0),
            "pct_change": lambda g: g["number"].pct_change(),
            "rank by first": lambda g: g["number"].rank(method="first"),
            "transform first": lambda g: g["number"].transform("first"),
            "transform last": lambda g: g["number"].transform("last"),
            "last of units": lambda g: g.agg(x=("number", "last")),
        }.items()
    }  # fmt: skip
    units = lambda p, **more: p.per_unit(**more).agg(n="size")  # noqa: E731
    by_day = lambda p: p.sort_values("when").groupby("owner")  # noqa: E731
    return {
        **no_order,
        "a name misspelt": (
            lambda p, o: p.groupby("owner")["number"].transform("lats"), "last", QueryError),
        "a function": (
            lambda p, o: p.groupby("owner")["number"].transform(lambda s: s.sum()),
            "could keep what it sees", QueryError),
        "arguments of an aggregate": (
            lambda p, o: p.groupby("owner")["number"].transform("sum", 3), "transform", QueryError),
        "sum of texts": (
            lambda p, o: p.groupby("owner")["group"].transform("sum"), "number", QueryError),
        "cumsum of texts": (lambda p, o: by_day(p)["group"].cumsum(), "number", QueryError),
        "diff of texts": (
            lambda p, o: by_day(p)["group"].diff().mean(bounds=(0, 1)),
            "is of kind text", QueryError),
        "any of numbers": (
            lambda p, o: p.groupby("owner")["number"].transform("any"), "any", QueryError),
        "no column": (lambda p, o: by_day(p)["nowhere"].shift(), "nowhere", DPError),
        "half a row": (lambda p, o: by_day(p)["number"].shift(0.5), "periods", QueryError),
        "a truth for a number": (lambda p, o: by_day(p).head(True), "n=", QueryError),
        "too far": (lambda p, o: by_day(p)["number"].shift(2**40), "periods", QueryError),
        "no places": (lambda p, o: by_day(p).nth([]), "nth needs a place", QueryError),
        "no limit": (lambda p, o: by_day(p)["number"].ffill(limit=0), "limit", QueryError),
        "a rank of no kind": (
            lambda p, o: p.groupby("owner")["number"].rank("best"), "method=", QueryError),
        "ranks of the missing": (
            lambda p, o: p.groupby("owner")["number"].rank(na_option="drop"), "na_option=",
            QueryError),
        "a direction": (
            lambda p, o: p.groupby("owner")["number"].rank(ascending="no"), "ascending=",
            QueryError),
        "counted how": (lambda p, o: by_day(p).cumcount(ascending=1), "ascending=", QueryError),
        "sorted by nothing": (lambda p, o: p.sort_values([]), "empty", QueryError),
        "sorted by a stranger": (lambda p, o: p.sort_values("nowhere"), "nowhere", DPError),
        "sorted how": (lambda p, o: p.sort_values("when", ascending="down"), "ascending=",
            QueryError),
        "sorted by too few": (
            lambda p, o: p.sort_values(["when", "code"], ascending=[True]), "ascending=",
            QueryError),
        "sorted by another's": (
            lambda p, o: p.sort_values(o["when"]), "another frame", LineageError),
        "a history of another": (
            lambda p, o: p.assign(x=by_day(o)["number"].shift()), "another frame", LineageError),
        "a mask of another": (
            lambda p, o: p[by_day(o).cumcount() == 0], "another frame", LineageError),
        "by another's": (lambda p, o: p.per_unit(o["code"]), "another frame", LineageError),
        "by the unit": (lambda p, o: p.per_unit("owner"), "is the unit", LineageError),
        "by nothing": (lambda p, o: p.per_unit([]), "takes columns of labels", QueryError),
        "by periods": (
            lambda p, o: p.per_unit(pd.Grouper(key="when", freq="D")), "make their periods",
            QueryError),
        "a label twice": (
            lambda p, o: p.per_unit("code").agg(code=("number", "sum")), "label of the groups",
            QueryError),
        "units of another": (lambda p, o: p.merge(units(o), on="owner"), "can't be merged",
            LineageError),
        "rows of another": (lambda p, o: p.merge(o, on="owner"), "can't be merged", LineageError),
        "rows of its own": (lambda p, o: p.merge(p, on="owner"), "can't be merged", LineageError),
        "units outer": (lambda p, o: p.merge(units(p), "outer", "owner"), "how=", QueryError),
        "units on a column": (lambda p, o: p.merge(units(p), "left", "code"), "on=", QueryError),
        "units on half": (
            lambda p, o: p.merge(units(p, by="code"), "left", "owner"), "on=", QueryError),
        "units on two": (
            lambda p, o: p.merge(units(p), left_on="owner", right_on="n"), "the same columns",
            QueryError),
        "units on one side": (
            lambda p, o: p.merge(units(p), left_on="owner"), "the same columns", QueryError),
        "units by an index": (
            lambda p, o: p.merge(units(p), right_on="owner", right_index=True),
            "the same columns", QueryError),
        "units validated": (
            lambda p, o: p.merge(units(p), on="owner", validate="1:1"), "validate=", QueryError),
        "units sampled": (
            lambda p, o: p.merge(units(p).sample(frac=0.5), "left", "owner"), "sampled",
            QueryError),
        "units with histories": (
            lambda p, o: p.merge(units(p, by="code").pipe(
                lambda u: u.assign(k=u.groupby("owner")["n"].transform("sum"))), "left",
                ["owner", "code"]), "Merge it first", QueryError),
        "a key that changed": (
            lambda p, o: p.assign(code=p["code"] + 1).merge(
                units(p, by="code"), "left", ["owner", "code"]), "before it is changed",
            QueryError),
        "suffixes": (
            lambda p, o: p.merge(p.per_unit().agg(number=("number", "sum")), "left", "owner",
                suffixes=("", "")), "two columns", QueryError),
    }  # fmt: skip


REFUSED = refusing()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_costs_nothing(name: str) -> None:
    frame = visits().assign(group=pd.Series("a", visits().index, dtype="string"))
    dp.session(epsilon=10)
    p = dp.protect(frame, name="visits", unit="owner", max_rows=2)
    other = dp.protect(frame.copy().assign(more=1), name="others", unit="owner", max_rows=2)
    ask, match, error = REFUSED[name]
    said = refusal(lambda: ask(p, other), match, error)
    assert len(said) > 20
    assert ops.spent() == 0


def test_merges_on_two_names_of_one_column() -> None:
    frame = visits()
    p = private(frame)
    units = p.per_unit("code").agg(n="size")
    both: Any = pd.Index(["owner", "code"])
    for more in ({}, {"on": both}, {"left_on": list(both), "right_on": both}):
        assert list(p.merge(units, **more)._columns) == [*frame.columns, "n"]


def test_without_units_rows_have_no_history() -> None:
    p = dp.protect(visits(), name="rows")
    refusal(lambda: p.sort_values("when"), "each row is a unit of its own")
    refusal(lambda: p.per_unit("code"), "unit")
    refusal(lambda: p.groupby("owner", keys=[1])["number"].shift(), "shift", DPError)


# --- what is read --------------------------------------------------------------------------------


def test_each_way_is_asked_here() -> None:
    """Of everything in `WAYS`, by loops or by pandas, and alone and among others."""
    p = private(table([{"owner": 1}], "object"))
    asked = [ask(p) for ask in EVERYTHING.values()]
    found = {each.how for one in asked for each in histories(one._where, *one._columns.values())}
    assert {*WAYS} - found <= {"any", "all"} | {*AGGREGATES}
    assert all(any(how in name for name in [*LOOPS, *BOTH]) for how in WAYS)


def test_orders_are_sorted_once_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = visits()
    p = private(frame).sort_values("when")
    groups = p.groupby("owner")
    asked = p.assign(a=groups["number"].shift(), b=groups.cumcount(), c=groups["number"].cumsum())
    engine = PandasEngine(frame, Unit("owner", 3), KEY)
    rows = engine._rows()
    for each in asked._columns.values():
        each.vector(rows.block(0, len(rows)))
    assert len(engine.histories._groups) == 1
    monkeypatch.setattr(engine_histories, "most_histories", lambda rows: 2)
    for n in range(5):
        shifted = groups["number"].shift(n)
        shifted._expression.vector(rows.block(0, len(rows)))
    assert len(engine.histories._made) <= 2


def test_what_is_declared_of_a_column_holds_for_its_histories() -> None:
    """Kinds, bounds, steps and domains of what is made follow from public facts."""
    frame = visits().assign(group=pd.Series("a", visits().index, dtype="string"))
    p = dp.protect(frame, name="visits", unit="owner", max_rows=2,
                   domain={"group": ["a", "b"], "number": (0, 5)}).sort_values("when")  # fmt: skip
    groups = p.groupby("owner")
    assert groups["group"].shift().value_counts().release(epsilon=1).index.tolist() == ["a", "b"]
    for how in ("mean", "median", "min", "max", "first"):
        groups["number"].transform(how).mean().release(epsilon=1)  # within the bounds declared
    refusal(lambda: groups["number"].transform("sum").mean(epsilon=1), "bounds=", MissingArgument)
    assert groups.cumcount()._expression.step({}) == Step(Fraction(1))
    for kind, series in (
        ("number", groups["yes"].transform("size")), ("text", groups["group"].shift()),
        ("truth", groups["yes"].transform("any")), ("zoned", groups["when"].bfill()),
    ):  # fmt: skip
        assert kind in str(series._expression.kind(p._table.source.facts.schema)).lower(), series
