"""Sensitivities: exact integers on random neighbours, and by hand. No false alarms.

Whatever the rows hold, the integers of two tables that differ by one unit differ by no more than
the statistic says; and which rows of a unit count depends on the rows of that unit alone.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from elements import NOON, Odd
from hostile import ALONE, COUNTED, FILTERS, KINDS, SUMMED, Row, parsed, row, table
from refusals import refusal
from sizes import size

import dppandas as dp
from dppandas import statistics as stats
from dppandas.audit import check_sensitivity
from dppandas.engines.pandas import PandasEngine, PerUnitEngine
from dppandas.engines.readers import Columns
from dppandas.engines.truncation import kept_rows, row_hashes
from dppandas.privacy.accounting.losses import Epsilon, Loss
from dppandas.privacy.accounting.measures import LossRequest
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.privacy.mechanisms.selection import PermuteAndFlip
from dppandas.release.query import Query
from dppandas.rows.expressions import Column, Expression
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.units import Unit
from dppandas.rows.values.vectors import Labels, vector

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

KEY = b"0123456789abcdef"
PAIRS = size(quick=100, deep=300)  # for each statistic
PAIRS_TO_NOTICE = 500


def found(statistic: Any, where: Expression | None, frame: pd.DataFrame, unit: Unit) -> Any:
    """The integers, in blocks of 7 rows."""
    engine = PandasEngine(frame, unit, KEY, block=7)
    return statistic.read(ops.row_pass(engine, statistic, where))


def moves(statistic: stats.Statistic, before: Any, after: Any) -> list[int]:
    """What each integer moves by; a label that isn't there has zeros."""
    if isinstance(statistic, stats.Sparse):
        return [b - a for a, b in statistic.side_by_side(before, after)]
    pairs = zip(ops.flat([*before]), ops.flat([*after]), strict=True)  # some by cell
    return [b - a for a, b in pairs]


@dataclass(frozen=True)
class Pair:
    """Any of a statistic, what it finds in two tables of which one has a unit more, and all rows
    of these."""

    statistic: Any
    before: Any
    after: Any
    max_rows: int
    rows: tuple[list[Row], list[Row]]

    def moved(self, selecting: bool) -> int:
        far: int = self.statistic.exact_distance(self.before, self.after, selecting=selecting)
        return far


def pair(statistic: Any, kind: str, rng: random.Random) -> Pair:
    made = ops.HOSTILE[statistic](rng)
    text = rng.choice([None, *FILTERS])
    where = None if text is None else parsed(text)
    unit = rng.choice([Unit(), Unit("owner", 1), Unit("owner", 3)])
    wild = kind == "object"
    others = [{**row(rng, wild), "owner": rng.choice([1, 2, 3, None])} for _ in range(8)]
    joining = [{**row(rng, wild), "owner": 77} for _ in range(rng.choice([1, 2, 9]))]
    if unit.column is None:
        joining = joining[:1]
    before = found(made, where, table(others, kind), unit)
    everybody = [*others, *joining]
    rng.shuffle(everybody)
    after = found(made, where, table(everybody, kind), unit)
    return Pair(made, before, after, unit.max_rows, (others, joining))


@pytest.mark.sized
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statistic", stats.every())
def test_one_unit_moves_the_integers_by_no_more_than_the_sensitivities(
    statistic: Any, kind: str
) -> None:
    rng = random.Random(f"{statistic.__name__} {kind}")
    for _ in range(PAIRS // len(KINDS)):
        seen = pair(statistic, kind, rng)
        made = seen.statistic
        assert seen.moved(selecting=False) <= made.l1_sensitivity(seen.max_rows), seen
        assert seen.moved(selecting=True) <= made.linf_sensitivity(seen.max_rows), seen
        if made.takes_limits:
            squares = sum(each**2 for each in moves(made, seen.before, seen.after))
            assert squares <= made.l2_squared_sensitivity(seen.max_rows), seen
        if made.monotone:
            assert min(moves(made, seen.before, seen.after) or [0]) >= 0, seen


@pytest.mark.sized
@pytest.mark.parametrize("statistic", stats.every())
def test_a_changed_unit_moves_the_integers_by_no_more_than_is_told(statistic: Any) -> None:
    """Two tables with the same other rows, each with one more unit."""
    rng = random.Random(f"changed {statistic.__name__}")
    for _ in range(PAIRS // 2):
        made, unit = ops.HOSTILE[statistic](rng), rng.choice([Unit("owner", 1), Unit("owner", 3)])
        kind = rng.choice(KINDS)
        others, *either = (
            [{**row(rng, kind == "object"), "owner": owner} for _ in range(rng.choice([1, 2, 9]))]
            for owner in (1, 77, 77)
        )
        one, other = (found(made, None, table(others + rows, kind), unit) for rows in either)
        change = made.sensitivity_of_change(unit.max_rows)
        assert made.exact_distance(one, other, selecting=False) <= change.l1, (made, either)
        assert made.exact_distance(one, other, selecting=True) <= change.linf, (made, either)
        if made.takes_limits:
            assert sum(each**2 for each in moves(made, one, other)) <= change.l2_squared


@pytest.mark.parametrize("statistic", [stats.Count, stats.Sum, stats.Mean, stats.Distinct])
def test_half_of_what_a_change_moves_would_be_noticed(statistic: Any) -> None:
    rng = random.Random(f"noticed {statistic.__name__}")
    worst = 0.0
    for _ in range(PAIRS_TO_NOTICE):
        made, unit = ops.HOSTILE[statistic](rng), Unit("owner", 1)
        either = ([{**row(rng, False), "owner": 77}] for _ in range(2))
        one, other = (found(made, None, table(rows, "float"), unit) for rows in either)
        moved = made.exact_distance(one, other, selecting=False)
        worst = max(worst, moved / (made.sensitivity_of_change(1).l1 or 1))
    assert worst > 0.5


@pytest.mark.parametrize("statistic", stats.every())
def test_half_of_a_sensitivity_would_be_noticed(statistic: Any) -> None:
    """A mutant of each statistic dies of what its record draws: one that says half."""
    rng, is_selected = random.Random(statistic.__name__), statistic in ops.SELECTED
    for tried in range(PAIRS_TO_NOTICE):
        seen = pair(statistic, KINDS[tried % len(KINDS)], rng)
        made, rows = seen.statistic, seen.max_rows
        stated = made.linf_sensitivity(rows) if is_selected else made.l1_sensitivity(rows)
        if seen.moved(selecting=is_selected) > stated / 2:
            return
    raise AssertionError(statistic)


@pytest.mark.sized
@pytest.mark.parametrize("statistic", stats.every())
def test_the_type_of_a_column_never_changes_the_integers(statistic: Any) -> None:
    rng = random.Random(statistic.__name__)
    for _ in range(size(quick=6, deep=40)):
        made = ops.HOSTILE[statistic](rng)
        where = parsed(rng.choice(FILTERS))
        rows = [{**row(rng, False), "owner": rng.choice([1, 2])} for _ in range(12)]
        expected = found(made, where, table(rows, "object"), Unit("owner", 4))
        for kind in KINDS:
            assert found(made, where, table(rows, kind), Unit("owner", 4)) == expected, (made, rows)


@pytest.mark.parametrize("statistic", stats.every())
def test_a_thousand_rows_of_a_unit_move_no_more_than_max_rows(statistic: Any) -> None:
    rng = random.Random(1000)
    for _ in range(5):
        made, unit = ops.HOSTILE[statistic](rng), Unit("owner", rng.choice([1, 4]))
        others = [{**row(rng, False), "owner": rng.choice([1, 2])} for _ in range(8)]
        joining = [{**row(rng, False), "owner": "one user"} for _ in range(1000)]
        before = found(made, None, table(others, "inferred"), unit)
        after = found(made, None, table([*joining, *others], "inferred"), unit)
        assert made.exact_distance(before, after, selecting=False) <= made.l1_sensitivity(
            unit.max_rows
        )


@pytest.mark.parametrize("end", [pd.Timestamp.max, pd.Timestamp.min])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "UTC"])
def test_a_time_at_the_end_of_all_times_changes_nobody_elses(end: pd.Timestamp, zone: str) -> None:
    """Seen from its zone such a time lies beyond what pandas counts, and pandas raises."""
    times = pd.DatetimeIndex([NOON.tz_localize("UTC")] * 3 + [end.tz_localize("UTC")]).as_unit("ns")
    frame = pd.DataFrame({"when": times.tz_convert(zone), "owner": [1, 1, 2, 3]})
    key = NOON.tz_localize("UTC")
    asked = [
        lambda p: p["when"].value_counts(keys=[key, "a"], sort=False),
        lambda p: p.query("when == '2020-01-01' or when < '2021-01-01' and when > '2019-01-01'"),
        lambda p: p[p["when"] == key],
        lambda p: p[p["when"] == p["when"]].query("when < '2100-01-01' and when > '1900-01-01'"),
    ]
    unit = Unit("owner", 1)
    for ask in asked:
        counts = []
        for part in (frame[:3], frame):
            private = ask(dp.private(part, unit="owner", max_rows=1))
            answer = private if isinstance(private, dp.types.Unreleased) else private.count()
            counts.append(ops.integers(answer, PandasEngine(part, unit, KEY)))
        assert counts[0] == counts[1]
        assert counts[0][0] == 2


def test_names_of_units_are_equal_values_and_nothing_else() -> None:
    """pandas' own table of objects merges and splits names by what else is in it."""
    halves = [np.float32(x) for x in np.linspace(0, 1, 99)]
    rows = [*halves, *map(float, halves), Decimal("0.5"), 0.5, 1, True, np.longdouble(1)]
    frame = pd.DataFrame({"owner": pd.Series(rows, dtype=object), "x": 1})
    assert kept_rows(Columns(frame), Unit("owner", 1), KEY).sum() == 99
    long = pd.Series(np.full(3, 2**53, dtype=np.longdouble) + np.longdouble(1) / 3)
    for series in (long, pd.concat([long, pd.Series(["text"])])):
        private = series.rename("x").to_frame().dp.query("x > 9007199254740992")
        assert ops.integers(private.count(), private._table.engine) == [3]


def test_many_columns_of_keys_do_not_wrap_around() -> None:
    keys = [(i,) * 5 for i in range(8192)]
    frame = pd.DataFrame([[5 + 4096, 5, 5, 5, 5], [5] * 5], columns=list("abcde"))
    engine = PandasEngine(frame, Unit(), KEY)
    assert sum(ops.integers(frame.dp.value_counts(keys=keys), engine)) == 1


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT, 2**5000, Odd()])
def test_rows_without_a_unit_count_for_nothing(missing: Any) -> None:
    rng = random.Random(7)
    others = [{**row(rng, False), "owner": rng.choice([1, 2])} for _ in range(8)]
    nobody = [{**row(rng, False), "owner": missing} for _ in range(20)]
    for maker in ops.HOSTILE.values():
        made = maker(rng)
        before = found(made, None, table(others, "object"), Unit("owner", 2))
        assert found(made, None, table([*nobody, *others], "object"), Unit("owner", 2)) == before


#: Operations that share their pairs of neighbours, for a pair costs more than a release.
BATCHES = [[*ops.OPERATIONS, *ops.SELECTIONS][i::6] for i in range(6)]
#: What is asked, whose rows they are, and how many of a unit are used: each operation twice.
ASKED: list[tuple[list[str], str | None, int]] = [
    *((batch, None, 1) for batch in BATCHES),
    *((batch, "owner", 3) for batch in BATCHES),
    *((list(ops.OF_UNITS)[i::2], "owner", rows) for rows in (1, 3) for i in range(2)),
    *(
        (list(names), unit, rows)
        for names in (
            ops.UNKNOWN,
            ops.GAUSSIAN,
            ops.EXPERIMENTAL,
            ops.AT_DELTA,
            ops.VOUCHED,
            ops.TESTED,
        )
        for unit, rows in ((None, 1), ("owner", 3))
    ),
]
#: Of each, and each operation twice.
PAIRS_EACH = size(quick=16, deep=48)


@pytest.mark.sized
@pytest.mark.parametrize(
    ("asked", "unit", "max_rows"), ASKED, ids=lambda x: x[0] if isinstance(x, list) else str(x)
)
def test_every_operation_keeps_its_sensitivity_on_its_neighbours(
    asked: list[str], unit: str | None, max_rows: int
) -> None:
    """The road's own sensitivity, and all that anybody sees: types, indexes, warnings, errors."""
    found = check_sensitivity(
        lambda p: [ops.released(name, p) for name in asked],
        ops.SCHEMA, unit=unit, max_rows=max_rows, pairs=PAIRS_EACH,
    )  # fmt: skip
    assert found.ok, found
    assert found.releases == PAIRS_EACH * len(asked)


WRONG_WORD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a score": (
        lambda p: dp.select(
            ops.vouched(p), ops.GROUPS, sensitivity=1,
            score=lambda frame, group: 2 * ops.rows_with(frame, ("group", group))),
        "more than 1 declared"),
    "a direction": (
        lambda p: dp.select(
            ops.vouched(p), ops.GROUPS, sensitivity=1, monotone=True,
            score=lambda frame, g: (1 if g == "a" else -1) * ops.rows_with(frame, ("code", 1))),
        "declared monotone"),
    "a type": (
        lambda p: dp.select(
            ops.vouched(p), ops.GROUPS, sensitivity=1,
            score=lambda frame, group: int(1 / (frame["group"].dtype.name != "category"))),
        "another error"),
    "a distance": (
        lambda p: dp.distance_to_property(ops.vouched(p), lambda frame: len(frame) ** 2),
        "more than 1 declared"),
}  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize("name", WRONG_WORD)
def test_what_a_caller_states_wrongly_is_found(name: str) -> None:
    ask, problem = WRONG_WORD[name]
    found = check_sensitivity(lambda p: ask(p).release(epsilon=1), ops.SCHEMA, pairs=200)
    assert problem in str(found)


# --- by hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "largest"),
    [((0, 60), 60), ((-5, 10), 10), ((-10, 5), 10), ((5, 10), 10), ((-10, -5), 10), ((0, 0), 0)],
)
def test_the_sensitivity_of_a_sum_is_the_larger_bound(pair: Any, largest: float) -> None:
    grid = Grid.centred(Bounds.parse(pair, "x"))
    statistic = stats.Sum(ALONE, SUMMED, (Column("x"),), (grid,))
    assert statistic.l1 * grid.step == statistic.linf * grid.step == largest
    assert statistic.monotone == (pair[0] >= 0)


@pytest.mark.parametrize(
    ("pair", "width"), [((0, 60), 60), ((-5, 10), 15), ((5, 10), 5), ((-10, -5), 5), ((3, 3), 0)]
)
def test_the_sensitivity_of_a_mean_is_the_width_of_its_bounds(pair: Any, width: float) -> None:
    bound = Bounds.parse(pair, "x")
    statistic = stats.Mean(ALONE, SUMMED, (Column("x"),), (bound,))
    assert statistic.l1 * Grid.anchored(bound).step == width
    assert statistic.linf == statistic.l1  # one row may add all of it to one of the two sums


def test_bounds_off_the_grid_are_rounded_before_they_are_measured() -> None:
    # |rint(L/g)| and |rint(U/g)|, not |L|/g and |U|/g: half a step more may be reached
    grid = Grid.centred(Bounds.parse((-0.1, 0.3), "x"))
    reach = max(round(Fraction(end) / Fraction(grid.step)) for end in (-0.1, 0.3))
    assert grid.reach == reach
    frame = pd.DataFrame({"x": [0.3, 1.0, -0.1, -1.0]})
    statistic = stats.Sum(ALONE, SUMMED, (Column("x"),), (grid,))
    assert found(statistic, None, frame[:1], Unit()) == [reach]
    assert found(statistic, None, frame[1:2], Unit()) == [reach]
    assert found(statistic, None, frame[3:], Unit()) == found(statistic, None, frame[2:3], Unit())


def test_sensitivities_add_up_over_columns_and_not_over_cells() -> None:
    df = pd.DataFrame({"a": [True], "b": [True], "c": [True], "g": [1]})
    three = df.dp[["a", "b", "c"]]
    assert three.sum()._statistic.l1 == three.count()._statistic.l1 == 3
    assert three.sum()._statistic.linf == 1
    assert three.mean(bounds=(0, 1))._statistic.l1 == 3 * 2**30
    assert df.dp["g"].value_counts(keys=range(50))._statistic.l1 == 1
    assert df.dp.groupby("g", keys=range(50))[["a", "b"]].count()._statistic.l1 == 2
    # and one row does move them by that much: no noise is wasted
    for asked in (three.sum(), three.count(), three.mean(bounds=(0, 1))):
        assert sum(ops.integers(asked, asked._table.engine)) == asked._statistic.l1


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_a_unit_counts_once_in_each_cell_that_its_rows_reach(rows: int) -> None:
    """For all labels that the rows of a unit can have: the sensitivity holds, and is reached."""
    group = stats.Cells((Column("group"),), Keys.parse(ops.GROUPS, ["group"]))
    statistic, unit = stats.Distinct(group, COUNTED), Unit("owner", rows)
    moved = set()
    for labels in itertools.combinations_with_replacement(["a", "b", "c", "x"], rows):
        frame = pd.DataFrame({"group": ["a", *labels], "owner": [1, *[2] * rows]})
        before, after = (found(statistic, None, each, unit) for each in (frame[:1], frame))
        moved.add(statistic.exact_distance(before, after, selecting=False))
    assert max(moved) == statistic.l1_sensitivity(rows) == min(rows, 3)


@pytest.mark.parametrize("max_rows", [1, 5])
def test_noise_is_calibrated_to_all_rows_of_a_unit(max_rows: int) -> None:
    df = pd.DataFrame({"a": [True], "b": [False], "x": [1.0], "owner": [1]})
    private = dp.protect(df, "d", unit="owner", max_rows=max_rows)

    def scale(asked: dp.types.Unreleased, select: int = 0) -> Fraction:
        half = LossRequest(epsilon=Epsilon(1, 2))
        query = Query(private._table.source, None, asked._statistic, half, "", select)
        mechanism = query.mechanism()
        assert query.loss(mechanism) == Loss(Epsilon(1, 2))
        assert isinstance(mechanism, PermuteAndFlip if select else DiscreteLaplace)
        return mechanism.scale

    assert scale(private.count()) == 2 * max_rows
    assert scale(private[["a", "b"]].sum()) == 2 * 2 * max_rows
    assert scale(private["x"].mean(bounds=(0, 1))) == 2 * max_rows * 2**30
    # a selection pays for the largest entry, not for their number; twice where scores may fall too
    assert scale(private[["a", "b"]].sum(), select=1) == 2 * max_rows
    assert scale(private[["a", "b"]].sum(), select=2) == 2 * 2 * max_rows
    assert scale(private[["a", "x"]].sum(bounds=(0, 1)), select=1) == 2 * max_rows * 2**30
    assert scale(private[["a", "x"]].sum(bounds=(-1, 1)), select=1) == 2 * 2 * max_rows * 2**30


def test_selected_sums_are_compared_on_one_grid(exact: None) -> None:
    # on their own grids a holds 10^9 steps a row and b 10^6, though b is larger
    df = pd.DataFrame({"a": [1.0] * 9, "b": [2.0] * 9})
    asked = df.dp[["a", "b"]].sum(bounds={"a": (0, 1), "b": (0, 1000)})
    assert str(asked.idxmax(epsilon=1)) == "b"
    assert list(asked.nlargest(2, epsilon=1)) == ["b", "a"]


# --- truncation -----------------------------------------------------------------------------------


def kept_of(rows: list[Row], owner: Any, max_rows: int = 2) -> set[str]:
    """The names of the rows of one unit that are kept, in a frame with whatever types result."""
    kept = kept_rows(Columns(pd.DataFrame(rows)), Unit("owner", max_rows), KEY)
    return {r["name"] for r, keep in zip(rows, kept, strict=True) if keep and r["owner"] == owner}


def rows_of(owner: Any, values: list[Any]) -> list[Row]:
    return [{"name": f"{owner}-{i}", "x": x, "owner": owner} for i, x in enumerate(values)]


@pytest.mark.parametrize("values", [
    [1, 2, 3, 4], [0, -(2**63), 2**53, 7], [1.5, -0.0, math.inf, math.nan], ["a", "b", "", "é"],
    [True, False, None, True], [NOON, NOON + pd.Timedelta(1, "D"), pd.NaT, NOON],
    [2**62, 2**60, -(2**62), 3],
])  # fmt: skip
@pytest.mark.parametrize("others", [
    [1, 2], [0.5, math.nan], ["text"], [None, True], [NOON], [NOON.tz_localize("UTC")],
    [[1], Odd()], [10**30], [2**64 - 1], [Decimal("1.5")], list(range(200)),
])  # fmt: skip
@pytest.mark.parametrize("owners", [(1, 2), (1, 2.5), (1, "x"), ("x", 1), (1, None), (1, pd.NA)])
def test_other_units_change_no_choice_of_rows(values: Any, others: Any, owners: Any) -> None:
    # their values change the types of the columns: int to float, to object, to text
    mine, theirs = rows_of(owners[0], values), rows_of(owners[1], others)
    alone = kept_of(mine, owners[0])
    assert len(alone) == 2
    assert kept_of([*theirs, *mine], owners[0]) == alone
    shuffled = [*mine, *theirs]
    random.Random(0).shuffle(shuffled)
    assert kept_of(shuffled, owners[0]) == alone


def test_an_owner_that_names_nobody_never_merges_or_splits_other_units() -> None:
    # what names nobody; the other owners still are who they were
    for owner in ((math.nan, 1), 1, 1.0, "1", b"1", NOON, (1, 2)):
        for nobody in (2**5000, Odd(), None):
            # as objects: pandas 2 takes a column of floats and 2**5000 for floats, and raises
            owners = pd.Series([*[owner] * 4, nobody], dtype=object)
            frame = pd.DataFrame({"name": range(5), "x": range(5), "owner": owners})
            assert kept_rows(Columns(frame), Unit("owner", 3), KEY).tolist().count(True) == 3


def test_an_element_that_cannot_be_hashed_never_changes_what_the_others_are() -> None:
    # pandas and Python disagree about NaN within tuples: the same one has to look up every row
    labels = Labels((("a", math.nan), 9, "a", Decimal("0.5")))
    others = [("a", float("nan")), 9.0, "a", 0.5, ("a", None), np.int8(9), None]
    alone = np.fromiter(others, dtype=object, count=7)
    for odd in ([1], Odd(), {}):
        joined = np.fromiter([odd, *others], dtype=object, count=8)
        assert (labels.codes(vector(joined))[1:] == labels.codes(vector(alone))).all()
    refusal(lambda: Keys.parse([("a", math.nan)], ["x"]), "missing values can't be labels")


def test_equal_values_hash_alike_in_every_type() -> None:
    whole = [0, 1, -1, 2**53, -(2**53), -(2**63), 2**62, 2**60 + 2**20]
    kinds: list[Any] = ["int64", "float64", object, "Int64", "Float64", "category"]
    arrow = pd.ArrowDtype(pytest.importorskip("pyarrow").int64())
    texts: list[Any] = [object, "string", "str" if pd.__version__ >= "3" else object, "category"]
    for values, types in ((whole, [*kinds, arrow]), (["a", "", None], texts)):
        frames = [pd.DataFrame({"x": pd.Series(values, dtype=t)}) for t in types]
        hashes = [row_hashes(Columns(frame), KEY) for frame in frames]
        assert all((h == hashes[0]).all() for h in hashes)
        assert len(set(hashes[0])) == len(values)


def test_hashes_depend_on_the_key_and_on_every_cell() -> None:
    frame = pd.DataFrame({"x": [1, 2, 1, 2**53, 2**53 + 1], "y": ["a", "a", "b", "", ""]})
    hashes = row_hashes(Columns(frame), KEY)
    assert len(set(hashes)) == 5  # false alarm: 2^-60
    assert not set(hashes) & set(row_hashes(Columns(frame), KEY[::-1]))
    assert not set(hashes[:3]) & set(row_hashes(Columns(frame[["x"]]), KEY)[:3])


def test_the_kept_rows_are_no_function_of_position() -> None:
    # of 40 equal-looking units of 10 rows, keeping the first row each time has probability 10^-40
    rows = [{"x": i, "owner": i // 10} for i in range(400)]
    kept = kept_rows(Columns(pd.DataFrame(rows)), Unit("owner", 1), KEY)
    assert kept.sum() == 40
    assert len({i % 10 for i in np.flatnonzero(kept)}) > 1


# --- units and chosen numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ops.OF_UNITS)
def test_order_and_blocks_never_change_what_units_are_asked(name: str) -> None:
    rng = random.Random(name)
    numbers = [0.1, 0.2, 0.3, 1e16, -1e16, 1.0, 7.5, math.nan]  # sums that depend on their order
    frame = pd.concat([ops.SCHEMA] * 4, ignore_index=True)
    frame["number"] = [rng.choice(numbers) for _ in range(len(frame))]
    unit = Unit("owner", 3)
    asked = ops.OF_UNITS[name](dp.private(frame, unit="owner", max_rows=3))
    answers = []
    for block in (1, 2, 7, 1000):
        shuffled = frame.sample(frac=1, random_state=rng.randrange(1000))
        engine: Any = PandasEngine(shuffled, unit, KEY, block)
        lazy = asked._table.engine
        if isinstance(lazy, PerUnitEngine):
            engine = PerUnitEngine(engine, lazy._table)
        answers.append(ops.integers(asked, engine))
    assert answers.count(answers[0]) == len(answers)


def test_numbers_that_are_chosen_mean_the_same_in_every_column() -> None:
    """2^53 + 1 in a column of int64 would be another number once somebody's text is beside it."""
    large = [2**53 + 1, 2**53 + 3]
    for rows in (large, [*large, "text"]):
        private = pd.DataFrame({"x": pd.Series(rows, dtype=None if rows is large else object)}).dp
        for other in (1, private["x"] * 0.5):
            chosen = private["x"].where(private["x"] > 0, other)
            counted = ops.integers(private[chosen == 2**53 + 1].count(), private._table.engine)
            assert counted == [1]  # exactly as it was, in both
