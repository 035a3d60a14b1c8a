"""Public facts: bounds, the fixed-point grid, keys, the privacy unit, and what is refused."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from elements import objects
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refusal

from dppandas.errors import MissingArgument
from dppandas.rows.facts.bounds import GRID_BITS, Bounds, Grid, sum_step
from dppandas.rows.facts.domain import parse_domain
from dppandas.rows.facts.keys import Keys, is_missing, plain
from dppandas.rows.facts.units import Unit


def kind(value: object) -> str:  # test ids that don't change from run to run
    return type(value).__name__


# --- the grid -------------------------------------------------------------------------------------

NUMBERS = st.floats(-1e200, 1e200, allow_subnormal=False).filter(lambda x: not 0 < abs(x) < 1e-200)
EDGES = st.sampled_from([0.0, 1.0, -1.0, 60.0, 0.1, 1e15, 2.0**53, -(2.0**30), 1e-200, 1e200])


@st.composite
def bounds(draw: Any) -> Bounds:
    low, high = sorted([draw(NUMBERS | EDGES), draw(NUMBERS | EDGES)])
    return Bounds.parse((low, high), "x")


GRIDS = {"anchored": Grid.anchored, "centred": Grid.centred}


def on(grid: Grid, *values: float) -> list[float]:
    with np.errstate(over="ignore"):  # as the engine does: the largest floats over a tiny step
        return grid.integers(np.array(values)).tolist()


@pytest.mark.parametrize("make", GRIDS.values(), ids=GRIDS)
@given(within=bounds(), values=st.lists(st.floats(allow_nan=False), min_size=2))
@example(Bounds(0.0, 1.0), [0.5, math.inf])
@example(Bounds(-1e-200, 1e200), [-1.0, 5e-324])
@example(Bounds(1e15, 1e15 + 1), [1e15 + 0.5, -math.inf])
@example(Bounds(5.0, 5.0), [4.0, 6.0])
@example(Bounds(0.0, 0.0), [4.0, -6.0])
@example(Bounds(-(2.0**900), 2.0**900), [1.7e308, -1.7e308])
def test_rounding_is_monotone_and_never_leaves_the_grid(
    make: Any, within: Bounds, values: list[float]
) -> None:
    grid = make(within)
    values.sort()
    placed = on(grid, *values)
    assert placed == sorted(placed)
    assert all(grid.low <= t <= grid.high and t == int(t) for t in placed)
    assert max(map(abs, placed)) <= grid.reach
    # the bounds themselves, and all beyond them, lie on the ends: so the reach is attained
    assert on(grid, within.lower, within.upper) == [grid.low, grid.high]
    assert on(grid, -math.inf, math.inf) == [grid.low, grid.high]
    assert grid.reach == max(abs(grid.low), abs(grid.high))
    assert math.isnan(on(grid, math.nan)[0])


@pytest.mark.parametrize("make", GRIDS.values(), ids=GRIDS)
@given(within=bounds(), share=st.floats(0, 1))
def test_rounding_moves_a_number_by_a_step_at_most(make: Any, within: Bounds, share: float) -> None:
    grid = make(within)
    x = min(max(within.lower + share * (within.upper - within.lower), within.lower), within.upper)
    exact = (Fraction(x) - Fraction(grid.origin)) / Fraction(grid.step)
    assert abs(int(on(grid, x)[0]) - exact) <= 1  # ½, and ½ for the float difference x - origin


@given(bounds())
def test_the_step_is_a_public_power_of_two(within: Bounds) -> None:
    """2^30 steps keep squares in int64, and sums of 2^23 rows exact in float64."""
    for grid in (Grid.anchored(within), Grid.centred(within)):
        assert math.frexp(grid.step)[0] == 0.5
        assert 1 / grid.step * grid.step == 1
        assert grid.step >= math.ulp(max(abs(within.lower), abs(within.upper)))
        assert 0 <= grid.high - grid.low <= 2 ** (GRID_BITS + 1)
    anchored = Grid.anchored(within)
    assert (anchored.origin, anchored.low) == (within.lower, 0)
    assert anchored.high <= 2**GRID_BITS
    width = Fraction(within.upper) - Fraction(within.lower)
    if width and anchored.step > math.ulp(max(abs(within.lower), abs(within.upper))):
        assert anchored.high >= 2 ** (GRID_BITS - 1)  # no bit given away
        assert abs(anchored.high - width / Fraction(anchored.step)) <= 1


@pytest.mark.parametrize(("lower", "upper", "steps"), [
    (0, 1, 2**30), (0, 60, 2**24), (7, 7, 2**27), (0, 0, 1), (0, 2**30, 1), (0, 2**-30, 2**60),
    (-5, 10, 2**26), (-10, 5, 2**26), (-10, -5, 2**26),
    (5, 10, 2**26),  # 0 is out of bounds: one row still adds up to 10
    (0, 0.1, 2**33),
])  # fmt: skip
def test_sums_reach_as_far_as_one_row_can(lower: float, upper: float, steps: int) -> None:
    """In so many steps to 1."""
    grid = Grid.centred(Bounds.parse((lower, upper), "x"))
    low, high = (round(Fraction(end) * steps) for end in (lower, upper))
    assert (grid.origin, grid.low, grid.high) == (0.0, low, high)
    assert grid.reach == max(abs(low), abs(high))
    assert grid.step == sum_step(Bounds.parse((lower, upper), "x"))


def test_several_columns_can_share_a_step() -> None:
    """A sum over columns of different bounds adds integers of one size."""
    grid = Grid.centred(Bounds(0.0, 1.0), step=sum_step(Bounds(0.0, 60.0)))
    assert (grid.step, grid.high) == (2.0**-24, 2**24)


@given(bounds(), st.fractions(-(10**9), 10**9))
def test_a_released_number_is_a_multiple_of_the_step(within: Bounds, steps: Fraction) -> None:
    """No low bit of a float tells anything: what is released lies on the public grid."""
    grid = Grid.centred(within)
    released = grid.number(*(steps * Fraction(grid.step)).as_integer_ratio())
    assert (Fraction(released) / Fraction(grid.step)).denominator == 1
    assert abs(Fraction(released) / Fraction(grid.step) - steps) <= Fraction(1, 2)


@pytest.mark.parametrize("pair", [(0, 1e-300), (-(2.0**-1000), 0), (0, 5e-324), (1e-310, 2e-310)])
def test_bounds_too_narrow_to_compute_with_are_refused(pair: tuple[float, float]) -> None:
    for make in GRIDS.values():
        refusal(lambda make=make: make(Bounds.parse(pair, "x")), "too narrow")


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", [
    (0, 60), [0, 60], np.array([0, 60]), (0.0, np.float32(60)), (np.int8(0), Decimal(60)),
    (Fraction(0), 60), range(0, 120, 60), Bounds(0.0, 60.0), (-0.0, 60),
])  # fmt: skip
def test_bounds_are_read_from_any_pair(pair: Any) -> None:
    parsed = Bounds.parse(pair, "age")
    assert parsed == Bounds(0.0, 60.0)
    assert math.copysign(1, parsed.lower) == 1  # one zero, not two
    assert str(parsed) == "(0, 60)"


@pytest.mark.parametrize("pair", [
    None, 5, "05", "ab", b"ab", (), (1,), (1, 2, 3), {1, 2}, {1: 2, 3: 4}, iter((0, 1)), object(),
    (2, 1), (0, math.nan), (math.nan, 1), (0, math.inf), (-math.inf, 0), (0, None), (None, None),
    ("0", "60"), (b"0", 1), (True, 2), (0, np.True_), (0, 1j), (0, [1]), (0, 10**400), (0, pd.NA),
    (0, Decimal("NaN")), (0, 2.0**901), (-1e308, 1e308), np.array(5), np.array([0.0, np.nan]),
    (pd.Timestamp(0), pd.Timestamp(1)), (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
], ids=kind)  # fmt: skip
def test_what_bounds_nothing_is_refused(pair: Any) -> None:
    refusal(lambda: Bounds.parse(pair, "age"), "'age'")


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [
    [9, 12], (9, 12), range(9, 13, 3), np.array([9, 12]), pd.Index([9, 12]), pd.Series([9, 12]),
    iter([9, 12]), {"educ": [9, 12]}, {9: "a", 12: "b"}.keys(), np.array([9, 12], dtype=np.int8),
], ids=kind)  # fmt: skip
def test_keys_are_read_from_any_list(keys: Any) -> None:
    parsed = Keys.parse(keys, ["educ"])
    assert parsed.labels == (9, 12)
    assert all(type(label) is int for label in parsed.labels)  # plain: they print as people expect
    assert (len(parsed), parsed.width) == (2, 1)
    assert parsed.index(["educ"]).equals(pd.Index([9, 12], name="educ"))


def test_times_stay_times() -> None:
    """numpy's .item() would make nanoseconds of them."""
    parsed = Keys.parse(np.array(["2020-01-01"], dtype="datetime64[ns]"), ["when"])
    assert parsed.labels == (pd.Timestamp("2020-01-01"),)
    assert Keys.parse([np.timedelta64(1, "D")], ["when"]).labels == (pd.Timedelta("1D"),)


BROKEN_KEYS: list[Any] = [
    None, 5, "abc", b"abc", {1, 2}, frozenset([1]), {"x": [1]}, {}, object(), np.array(5),
    [], (), range(0), {"educ": []}, {"educ": "abc"},
    [1, 1], [1, True], [1, 1.0], [0.5, Decimal("0.5")], ["a", "a"], [0.0, -0.0],
    [None], [1, math.nan], [pd.NA], [pd.NaT], [np.datetime64("NaT")], [Decimal("NaN")],
    [Decimal("sNaN")], [complex("nan")], [np.float32("nan")],
    [[1]], [{}], [{1}], [([1],)], [(1, {})], [np.array([1, 2])], np.array([[1, 2], [3, 4]]),
]  # fmt: skip


@pytest.mark.parametrize("keys", BROKEN_KEYS, ids=kind)
def test_what_labels_nothing_is_refused(keys: Any) -> None:
    refusal(lambda: Keys.parse(keys, ["educ"]), "'educ'")


def test_keys_with_a_lone_surrogate_make_an_index_of_objects() -> None:
    """pandas would make one of Arrow's texts, which can't hold them."""
    half = "\ud800x"
    flat = Keys((half, "b")).index(["k"])
    assert (flat.dtype, flat.name, flat.tolist()) == (object, "k", [half, "b"])
    pairs = Keys(((half, 1), ("b", 2)), 2).index(["k", "n"])
    assert pairs.tolist() == [(half, 1), ("b", 2)]
    assert list(pairs.names) == ["k", "n"]


def test_keys_of_several_columns() -> None:
    product = Keys.parse({"b": ["x", "y"], "a": [1, 2]}, ["a", "b"])
    assert product.labels == ((1, "x"), (1, "y"), (2, "x"), (2, "y"))
    assert product.column(1) == ("x", "y", "x", "y")
    chosen = Keys.parse([(1, "x"), (2, "y")], ["a", "b"])
    assert chosen.index(["a", "b"]).names == ["a", "b"]
    assert Keys.parse(pd.MultiIndex.from_tuples([(1, "x"), (2, "y")]), ["a", "b"]) == chosen
    assert Keys((1, 2)).then(Keys(("x", "y"))).labels == product.labels


@pytest.mark.parametrize("keys", [
    [1, 2], [(1,)], [(1, 2, 3)], ["ab"], [[1, 2]], [(1, None)], [(1, [2])], [(1, 2), (1, 2)],
    {"a": [1]}, {"a": [1], "b": [2], "c": [3]}, {"a": [1], "b": []}, {"a": [1, 1], "b": [2]},
    {"a": 1, "b": 2},
], ids=kind)  # fmt: skip
def test_broken_keys_of_several_columns_are_refused(keys: Any) -> None:
    refusal(lambda: Keys.parse(keys, ["a", "b"]))


def test_a_forgotten_column_is_a_missing_argument() -> None:
    refusal(lambda: Keys.parse({"a": [1]}, ["a", "b"]), "'b'", MissingArgument)


# --- missing, plain, unit, domain -----------------------------------------------------------------


@pytest.mark.parametrize("value", [
    None, math.nan, pd.NA, pd.NaT, np.float16("nan"), np.datetime64("NaT"), np.timedelta64("NaT"),
    Decimal("NaN"), complex("nan"), 0, "", "nan", False, math.inf, Decimal("Inf"), [], (), {},
    np.array([np.nan]), pd.Timestamp(0), object(),
], ids=kind)  # fmt: skip
def test_missing_is_what_pandas_says_of_one_element(value: Any) -> None:
    """Else whether a row counts would depend on whether its column was looked at as a whole."""
    assert is_missing(value) == pd.isna(objects([value]))[0]


def test_plain_values() -> None:
    plains = [plain(x) for x in (np.int8(1), np.float32(1), np.True_, np.str_("a"))]
    assert [type(each) for each in plains] == [int, float, bool, str]
    assert plain((np.int8(1), (np.True_,))) == (1, (True,))
    far = np.datetime64(10**15, "Y")  # further than pandas counts: kept, and never an error
    assert plain(far) is far


@pytest.mark.parametrize("max_rows", [0, -1, True, 1.0, "1", None, math.inf])
def test_broken_units_are_refused(max_rows: Any) -> None:
    refusal(lambda: Unit.parse("person", max_rows, ["person"]), "max_rows")


def test_units() -> None:
    assert Unit.parse("person", np.int64(3), ["person"]) == Unit("person", 3)
    assert Unit.parse(None, 1, ["person"]) == Unit.parse("row", 1, ["person"]) == Unit()
    assert Unit.parse("row", 1, ["row"]) == Unit("row")  # a column of that name wins
    refusal(lambda: Unit.parse(None, 2, ["person"]))
    refusal(lambda: Unit.parse("nobody", 1, ["person"]))


def test_a_domain_tells_bounds_from_keys() -> None:
    declared = {"age": (17, 60), "educ": [9, 12], "code": [1, 2], "name": ("a", "b")}
    keys = {"educ": Keys((9, 12)), "code": Keys((1, 2)), "name": Keys(("a", "b"))}
    assert parse_domain(declared, list(declared)) == {"age": Bounds(17.0, 60.0), **keys}
    assert parse_domain(None, []) == {}
    for broken in ("age", [("age", (0, 1))], {"nobody": (0, 1)}, {"age": (1, 0)}, {"age": 5}):
        refusal(lambda broken=broken: parse_domain(broken, ["age"]))
