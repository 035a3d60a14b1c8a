"""Blocks of units: who shares one, what a test sees of it, and that nobody hears the rest."""

import itertools
import logging
import math
import random
import sys
import warnings
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
import scipy.io
import scipy.stats
from hostile import ALONE, COUNTED, KINDS, table
from notes import noted

import dppandas as dp
from dppandas import statistics as stats
from dppandas.engines.pandas import PandasEngine
from dppandas.rows.expressions import Column
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.units import Unit
from dppandas.statistics.of_blocks import block_tests as tests
from dppandas.statistics.of_blocks.block_tests import CallerTest, ScipyTest, Shown
from dppandas.stats import scipy_tests

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

KEY = b"0123456789abcdef"
Seen = list[pd.DataFrame]


def statistic(
    test: Any, columns: dict[Any, str], blocks: int, unit: Any = None, level: float = 0.5
) -> stats.SignificantBlocks:
    shown = tuple(Shown(name, Column(name), form) for name, form in columns.items())
    by = tuple(columns) if unit is None else (unit,)
    return stats.SignificantBlocks(
        ALONE, COUNTED, shown, test, blocks, level, by, unit is not None
    )  # fmt: skip


def number(made: Any, frame: pd.DataFrame, unit: Unit | None = None, block: int = 7) -> int:
    engine = PandasEngine(frame, unit or Unit(), KEY, block=block)
    (found,) = made.read(ops.row_pass(engine, made))
    return int(found)


def blocks_of(
    frame: pd.DataFrame, columns: dict[Any, str], blocks: int, unit: Unit | None = None,
    block: int = 7,
) -> Seen:  # fmt: skip
    """What a function sees of each block."""
    seen: Seen = []

    def remember(rows: pd.DataFrame) -> float:
        seen.append(rows)
        return 1.0

    column = None if unit is None else unit.column
    number(statistic(CallerTest(remember), columns, blocks, column), frame, unit, block)
    return seen


def told(seen: Seen) -> list[str]:
    return [
        repr((rows.dtypes.tolist(), rows.index, rows.to_numpy(object).tolist())) for rows in seen
    ]


# --- who shares a block ---------------------------------------------------------------------------


def test_all_rows_of_a_unit_lie_in_one_block_whatever_they_hold() -> None:
    rng = random.Random(1)
    owners: list[Any] = [1, True, 1.0, Decimal(1), np.int8(1), Fraction(1), "1", "x", 2.5, (1, 2)]
    frame = pd.DataFrame({"owner": pd.Series(owners * 12, dtype=object)})
    frame["x"] = [rng.random() for _ in range(len(frame))]
    seen = blocks_of(frame, {"x": "number", "owner": "object"}, 40, Unit("owner", 1000))
    homes: dict[str, set[int]] = {}
    for place, rows in enumerate(seen):
        for owner in rows["owner"]:
            homes.setdefault(repr(owner), set()).add(place)
    # equal values are one unit, and look alike, whatever the first one was
    assert {name: len(places) for name, places in homes.items()} == dict.fromkeys(
        ["1", "'1'", "'x'", "2.5", "(1, 2)"], 1
    )
    assert sum(map(len, seen)) == len(frame)


def test_units_are_dealt_evenly_and_by_the_key_alone() -> None:
    """A χ² test: fails falsely for none, as the key is fixed; of 20 keys none is below 1e-6."""
    frame = pd.DataFrame({"owner": range(8000), "x": 1.0})
    counts = [len(rows) for rows in blocks_of(frame, {"x": "number"}, 40, Unit("owner", 1))]
    assert scipy.stats.chisquare(counts).pvalue > 1e-6
    lonely = [len(rows) for rows in blocks_of(frame, {"owner": "number"}, 40)]
    assert scipy.stats.chisquare(lonely).pvalue > 1e-6
    # rows that nobody can tell apart are not all in one block: such a block would hold one value
    alike = [len(rows) for rows in blocks_of(frame, {"x": "number"}, 40)]
    assert scipy.stats.chisquare(alike).pvalue > 1e-6
    texts = pd.DataFrame({"owner": [f"user {i}" for i in range(8000)], "x": 1.0})
    named = [len(rows) for rows in blocks_of(texts, {"x": "number"}, 40, Unit("owner", 1))]
    assert scipy.stats.chisquare(named).pvalue > 1e-6


def contents(seen: Seen) -> Counter[str]:
    return Counter(repr(rows.to_numpy(object).tolist()) for rows in seen)


@pytest.mark.parametrize("unit", [None, "owner"])
def test_one_unit_more_changes_one_block_on_all_small_tables(unit: str | None) -> None:
    """All tables of up to three rows of three kinds, two of which are alike: one more row, at
    either end, changes the content of one block, and the rows of no other, nor their order."""
    kinds = [(0.0, "a"), (0.0, "a"), (1.0, "a"), (0.0, "b")]
    terms = None if unit is None else Unit("owner", 3)

    def found(rows: Any, first: int) -> Counter[str]:
        frame = pd.DataFrame([*rows], columns=["x", "g"], dtype=object)
        frame["owner"] = range(first, first + len(frame))
        return contents(blocks_of(frame, {"x": "number", "g": "object"}, 3, terms))

    for size in range(4):
        for rows in itertools.product(kinds, repeat=size):
            before = found(rows, 0)
            for more in kinds:
                for after in (found([*rows, more], 0), found([more, *rows], -1)):
                    assert sum((before - after).values()) <= 1, (rows, more)
                    assert sum((after - before).values()) == 1, (rows, more)


def test_equal_cells_that_a_test_can_tell_apart_are_numbered_apart() -> None:
    """1 and True have one hash, and their texts differ: one row more, wherever it is, moves no
    other. On all tables of up to six rows."""
    column = Column("x")
    text = dp.private(pd.DataFrame({"x": [1]}, dtype=object))["x"].astype(str)._expression

    def found(rows: Any) -> Counter[str]:
        seen: Seen = []
        shown = (Shown("x", text, "object"),)
        test = CallerTest(lambda frame: seen.append(frame) or 1.0)
        made = stats.SignificantBlocks(ALONE, COUNTED, shown, test, 4, 0.5, (column.name,))
        number(made, pd.DataFrame({"x": pd.Series([*rows], dtype=object)}))
        return contents(seen)

    for size in range(6):
        for rows in itertools.product([1, True], repeat=size):
            before = found(rows)
            for more, place in itertools.product([1, True], {0, size // 2, size}):
                after = found([*rows[:place], more, *rows[place:]])
                assert sum((before - after).values()) <= 1, (rows, more)
                assert sum((after - before).values()) == 1, (rows, more)


def test_rows_that_one_row_became_lie_with_it() -> None:
    frame = pd.DataFrame({"words": ["a b", "c d", "a b", "e"] * 20}).dp
    made = frame.assign(w=frame["words"].str.split(" ")).explode("w", max_items=2)
    seen: Seen = []

    def remember(rows: pd.DataFrame) -> float:
        seen.append(rows)
        return 1.0

    shown = (Shown("w", made._columns["w"], "object"),)
    own = stats.SignificantBlocks(
        ALONE, COUNTED, shown, CallerTest(remember), 30, 0.5, ("words",), False, 2
    )  # fmt: skip
    own.read(ops.row_pass(made._table.engine, own, made._where, 2))
    words = [Counter(rows["w"]) for rows in seen]
    assert sum(map(len, seen)) == 140
    assert all(each["a"] == each["b"] and each["c"] == each["d"] for each in words)
    assert len([each for each in words if each["a"]]) > 3
    assert own.l1_sensitivity(2) == 1


# --- what a test sees -----------------------------------------------------------------------------


def test_what_is_seen_depends_on_no_order_chunk_or_type() -> None:
    rng = random.Random(5)
    rows = [
        {"number": rng.choice([1, 0, -0.0, 2.5, None, math.inf]), "owner": rng.choice([1, 2, 3, 4]),
         "code": rng.choice([1, 2, "a", True]), "group": rng.choice(["a", "b"]),
         "other": rng.choice([0, 1]), "when": pd.Timestamp(2020, 1, rng.randint(1, 3))}
        for _ in range(40)
    ]  # fmt: skip
    columns = {"number": "number", "code": "object", "group": "object", "other": "truth",
               "when": "object"}  # fmt: skip
    for unit in (None, Unit("owner", 9)):
        wanted = told(blocks_of(table(rows, "object"), columns, 4, unit))
        assert len(wanted) > 1
        for kind, block in itertools.product(KINDS, (1, 3, 1000)):
            with noted(kind, block, unit):
                rng.shuffle(rows)
                assert told(blocks_of(table(rows, kind), columns, 4, unit, block)) == wanted


def test_the_types_of_a_block_are_public() -> None:
    frame = pd.DataFrame({
        "n": [1, 2, 3] * 9, "t": [True, False, True] * 9, "s": ["a", "b", "c"] * 9,
        "d": pd.date_range("2020", periods=27),
    })  # fmt: skip
    columns = {"n": "number", "t": "truth", "s": "object", "d": "object"}
    for rows in blocks_of(frame, columns, 5):
        assert rows.dtypes.tolist() == [np.float64, np.bool_, object, object]
        assert isinstance(rows.index, pd.RangeIndex)
        assert rows.index[0] == 0
        assert list(rows.columns) == list("ntsd")
        assert set(map(type, rows["s"])) == {str}
        assert set(map(type, rows["d"])) == {pd.Timestamp}


def test_rows_with_a_missing_value_are_dropped() -> None:
    frame = pd.DataFrame(
        {"x": [1.0, math.nan, 3.0, 4.0], "s": ["a", "b", None, "d"], "z": [None] * 4}
    )
    seen = blocks_of(frame, {"x": "number", "s": "object"}, 2)
    assert sorted(x for rows in seen for x in rows["x"]) == [1.0, 4.0]
    assert blocks_of(frame, {"z": "object"}, 2) == []
    assert blocks_of(frame[:0], {"x": "number"}, 2) == []


def test_each_block_is_new_whatever_was_done_to_another() -> None:
    frame = pd.DataFrame({"x": np.arange(60.0), "s": [[i] for i in range(60)]})
    columns = {"x": "number", "s": "object"}
    wanted = told([rows.copy() for rows in blocks_of(frame, columns, 6)])
    found: list[str] = []

    def spoils(rows: pd.DataFrame) -> float:
        found.extend(told([rows.copy()]))
        rows.loc[:, "x"] = -1.0
        rows.drop(rows.index, inplace=True)
        return 0.0

    assert number(statistic(CallerTest(spoils), columns, 6), frame) == 6
    assert found == wanted
    assert frame["x"].tolist() == list(range(60))


# --- what counts ----------------------------------------------------------------------------------


class HasPvalue:
    def __init__(self, pvalue: Any) -> None:
        self.pvalue = pvalue


@pytest.mark.parametrize(("returned", "counts"), [
    (0.5, True), (0.0, True), (np.float32(0.25), True), (0, True), (HasPvalue(0.1), True),
    (np.array(0.1), True), (0.5 * (1 + 1e-12), True), (Fraction(1, 3), True),
    (scipy.stats.ttest_1samp([5.0, 5.1, 4.9], 0), True),
    (0.5 * (1 + 1e-6), False), (math.nan, False), (None, False), ("0.1", False), (False, False),
    (np.bool_(False), False), ([0.1], False), (np.array([0.1]), False), (-1e-9, False), (2, False),
    (HasPvalue(None), False), (HasPvalue(math.nan), False), (1j, False), (pd.Series([0.1]), False),
])  # fmt: skip
def test_what_is_a_p_value(returned: Any, counts: bool) -> None:
    made = statistic(CallerTest(lambda rows: returned), {"x": "number"}, 1)
    assert number(made, pd.DataFrame({"x": [1.0, 2.0]})) == counts


class Panic(BaseException):
    """As libraries that aren't Python's raise."""


class Broken:
    @property
    def pvalue(self) -> float:
        raise ValueError("SECRET")


@pytest.mark.parametrize(
    "error",
    [ValueError, MemoryError, RecursionError, KeyError, Warning, StopIteration, SystemExit, Panic],
)
def test_what_fails_is_not_significant_and_nobody_is_told(error: Any, capfd: Any) -> None:
    def fails(rows: pd.DataFrame) -> Any:
        if (rows["x"] > 5).any():
            raise error(f"SECRET {rows['x'].max()}")
        return 0.0

    frame = pd.DataFrame({"x": np.arange(10.0)})
    whole = len(blocks_of(frame, {"x": "number"}, 10))
    failing = sum((rows["x"] > 5).any() for rows in blocks_of(frame, {"x": "number"}, 10))
    assert number(statistic(CallerTest(fails), {"x": "number"}, 10), frame) == whole - failing
    assert number(statistic(CallerTest(lambda rows: Broken()), {"x": "number"}, 10), frame) == 0
    assert "".join(capfd.readouterr()) == ""


def test_an_interrupt_passes_on() -> None:
    def stops(rows: pd.DataFrame) -> Any:
        raise KeyboardInterrupt

    out, error = sys.stdout, sys.stderr
    with pytest.raises(KeyboardInterrupt):
        number(statistic(CallerTest(stops), {"x": "number"}, 2), pd.DataFrame({"x": [1.0]}))
    assert (sys.stdout, sys.stderr) == (out, error)


def test_nothing_that_is_said_is_heard(capsys: Any, recwarn: Any) -> None:
    def says(rows: pd.DataFrame) -> float:
        print("SECRET", rows["x"].sum())
        print("SECRET", file=sys.stderr)
        warnings.warn("SECRET", stacklevel=1)
        np.log(-rows["x"].to_numpy())
        logging.getLogger("unknown to all").warning("SECRET")
        sys.stdout.flush()
        return 0.0

    with np.errstate(all="raise"):
        found = number(statistic(CallerTest(says), {"x": "number"}, 3), pd.DataFrame({"x": [1.0]}))
    assert found == 1
    assert "".join(capsys.readouterr()) == ""
    assert [str(each.message) for each in recwarn] == []
    print("heard again")
    assert capsys.readouterr().out == "heard again\n"


# --- tests of scipy -------------------------------------------------------------------------------


def handed(name: str) -> tuple[ScipyTest, tuple[Shown, ...]]:
    """A test of the list with columns of the sort that it is handed."""
    given = scipy_tests.KNOWN[name].handed[0]
    options: dict[str, Any] = {"ttest_1samp": {"popmean": 0.5}}.get(name, {})
    keys = Keys(("a", "b"))
    first = {
        tests.FOURFOLD: Shown("s", Column("s"), "label", keys),
        tests.TABLE: Shown("s", Column("s"), "label", keys),
        tests.SUCCESSES: Shown("t", Column("t"), "truth"),
    }.get(given, Shown("x", Column("x")))
    more = {tests.SAMPLE: (), tests.SUCCESSES: (), tests.PAIRS: (Shown("y", Column("y")),)}
    columns = (first, *more.get(given, (Shown("g", Column("g"), "label", keys),)))
    return ScipyTest(name, given, tuple(options.items())), columns


def block(columns: Any, rows: int, seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    return [
        each.shown(
            generator.integers(0, 2, rows).astype(float) if each.form != "number"
            else generator.normal(size=rows).round(1 + seed % 3), [])
        for each in columns
    ]  # fmt: skip


@pytest.mark.parametrize("name", scipy_tests.KNOWN)
def test_a_test_of_the_list_depends_on_its_block_alone(name: str) -> None:
    """Bit by bit the same p-value, whatever was tested before, and whatever is seeded."""
    test, columns = handed(name)

    def pvalue(seed: int, rows: int) -> float:
        try:
            with tests.unheard():
                return tests.pvalue_of(test.of(block(columns, rows, seed), columns))
        except Exception:
            return -1.0

    asked = [(seed, rows) for seed in range(4) for rows in (1, 2, 3, 9, 24, 31)]
    np.random.seed(1)
    first = [pvalue(*each) for each in asked]
    state = np.random.get_state()[1].tolist()
    np.random.seed(2)
    again = [pvalue(*each) for each in reversed(asked)][::-1]
    np.testing.assert_array_equal(first, again)
    assert sum(0 < each <= 1 for each in first) >= 8
    np.random.seed(1)
    assert np.random.get_state()[1].tolist() == state  # and it draws no random numbers


def test_a_test_of_the_list_is_handed_what_scipy_would_be() -> None:
    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(2, 40))
    g = generator.integers(0, 2, 40)
    labels = pd.Categorical.from_codes(g, ["a", "b"])
    frame = pd.DataFrame({"x": x, "y": y, "g": labels, "t": g == 1, "s": np.where(x > 0, "a", "b")})
    rows_of = [[(x > 0) & (g == place), (x <= 0) & (g == place)] for place in (0, 1)]
    counts = [[int(each.sum()) for each in pair] for pair in rows_of]
    one, other = x[g == 0], x[g == 1]
    wanted = {
        "mannwhitneyu": scipy.stats.mannwhitneyu(one, other),
        "ks_2samp": scipy.stats.ks_2samp(one, other),
        "kruskal": scipy.stats.kruskal(one, other), "wilcoxon": scipy.stats.wilcoxon(x),
        "fisher_exact": scipy.stats.fisher_exact(counts), "pearsonr": scipy.stats.pearsonr(x, y),
        "chi2_contingency": scipy.stats.chi2_contingency(counts),
        "binomtest": scipy.stats.binomtest(int(g.sum()), 40),
        "ttest_1samp": scipy.stats.ttest_1samp(x, 0.5),
    }  # fmt: skip
    for name, result in wanted.items():
        with noted(name):
            test, columns = handed(name)
            for level, counted in (
                (result.pvalue * (1 - 1e-6), 0),
                (result.pvalue * (1 + 1e-9), 1),
            ):
                by = tuple(each.name for each in columns)
                made = stats.SignificantBlocks(
                    ALONE, COUNTED, columns, test, 1, min(level, 1.0), by
                )
                assert number(made, frame) == counted


def test_only_scipys_own_function_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scipy_tests.name_of(scipy.stats.mannwhitneyu) == "mannwhitneyu"
    assert all(
        scipy_tests.name_of(getattr(scipy.stats, name)) == name for name in scipy_tests.KNOWN
    )

    def mannwhitneyu(x: Any, y: Any, **more: Any) -> float:
        raise AssertionError("it saw rows")

    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = object.__hash__

    own = scipy.stats.mannwhitneyu
    assert scipy_tests.name_of(Equal()) is None
    assert scipy_tests.name_of(lambda *x: own(*x)) is None
    assert scipy_tests.name_of(scipy.stats.permutation_test) is None
    for put in (mannwhitneyu, Equal(), scipy.io.savemat, scipy.stats.norm.rvs):
        monkeypatch.setattr(scipy.stats, "mannwhitneyu", put)
        assert scipy_tests.name_of(put) is None
        assert scipy_tests.name_of(own) is None
        assert tests.held("mannwhitneyu") is None
        test, columns = handed("mannwhitneyu")
        made = stats.SignificantBlocks(ALONE, COUNTED, columns, test, 1, 0.9, ("x", "g"))
        frame = pd.DataFrame({"x": np.arange(20.0), "g": ["a"] * 10 + ["b"] * 10})
        assert number(made, frame) == 0
    monkeypatch.undo()
    assert number(made, frame) == 1


def test_sensitivities_are_one_whatever_rows_a_unit_has() -> None:
    of_units = statistic(CallerTest(None), {"x": "number"}, 9, "owner")
    of_rows = statistic(CallerTest(None), {"x": "number"}, 9)
    assert [of_units.l1_sensitivity(rows) for rows in (1, 3, 100)] == [1, 1, 1]
    assert of_units.l2_squared_sensitivity(100) == 1
    assert [of_rows.l1_sensitivity(rows) for rows in (1, 3)] == [1, 3]
