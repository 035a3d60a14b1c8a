"""Limits by key: which rows count is decided by a unit's own rows, by hash, and the noise follows.

No false alarms: all is exact, or compared with plain Python that does the same slowly.
"""

import itertools
import math
import random
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from elements import PLAIN
from hostile import row, table
from notes import noted
from refusals import refusal
from schema import BOUNDS, CODES, GROUPS

import dppandas as dp
from dppandas import statistics as stats
from dppandas.engines.pandas import PandasEngine
from dppandas.engines.readers import Columns
from dppandas.engines.truncation import kept_rows, row_hashes
from dppandas.errors import InternalError, QueryError
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds, Grid
from dppandas.rows.facts.keys import Keys
from dppandas.rows.facts.units import Unit
from dppandas.rows.values import hashing

KEY = b"0123456789abcdef"
DAYS = list(range(8))
KEYS = Keys.parse(GROUPS, ["group"]).then(Keys.parse(CODES, ["code"]))


def visits(**terms: Any) -> Any:
    """Forty people with thirty rows each, over eight days."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({
        "person": np.repeat(np.arange(40), 30), "day": rng.integers(0, 8, 1200),
        "city": rng.choice(GROUPS, 1200), "x": rng.uniform(0, 10, 1200),
    })  # fmt: skip
    domain = {"day": DAYS, "city": GROUPS, "x": (0, 10)}
    return dp.protect(frame, name="visits", unit="person", max_rows=30, domain=domain, **terms)


def limited(cells: stats.Cells, columns: Any, rows: int | None, keys: int | None) -> Any:
    return stats.LimitedCells.of(cells, stats.KeyLimit(rows, keys), "owner", columns)


def by_label(labels: Any = GROUPS) -> stats.Cells:
    return stats.Cells((Column("group"),), Keys.parse(labels, ["group"]))


# --- which rows count -----------------------------------------------------------------------------


def slowly(
    frame: pd.DataFrame, items: Callable[[Any], list[Any]], labels: list[Any], most: int,
    rows: int | None, keys: int | None,
) -> Counter[Any]:  # fmt: skip
    """The items that count by label and value, unit by unit, in plain Python."""
    kept = kept_rows(Columns(frame), Unit("owner", most), KEY)
    hashes = [row_hashes(Columns(frame), KEY, same).tolist() for same in (True, False)]
    names = hashing.of_rows([("owner", Columns(frame)["owner"])], len(frame), KEY + b"keys", True)
    of_units: dict[Any, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for at in np.flatnonzero(kept):
        row = frame.iloc[at]
        for branch, (label, value) in enumerate(items(row)):
            if label in labels:
                order = hashes[0][at], hashes[1][at], branch
                of_units[row["owner"], names[at]][label].append((order, value))
    found: Counter[Any] = Counter()
    for (_, name), own in of_units.items():
        places = np.array([labels.index(label) for label in own], dtype=np.intp)
        with np.errstate(over="ignore"):
            by_hash = hashing.with_number(np.full(len(own), name, dtype=np.uint64), places)
        chosen = [label for _, label in sorted(zip(by_hash.tolist(), own, strict=True))][:keys]
        for label in chosen:
            found.update((label, value) for _, value in sorted(own[label])[:rows])
    return found


def some_rows(rng: random.Random, number: int = 60) -> pd.DataFrame:
    return pd.DataFrame({
        "owner": [rng.choice([1, 2, 3, 4, None]) for _ in range(number)],
        "group": [rng.choice([*GROUPS, "x", None]) for _ in range(number)],
        "value": [rng.choice([1, 2, 3]) for _ in range(number)],
        "items": [[rng.choice(GROUPS) for _ in range(rng.randint(0, 3))] for _ in range(number)],
    })  # fmt: skip


#: What of a private frame is counted by label and value, and the same of a row.
ROADS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]] = {
    "rows": (lambda p: p, lambda row: [(row["group"], row["value"])]),
    "a query": (
        lambda p: p.query("value > 1"),
        lambda row: [(row["group"], row["value"])] * int(row["value"] > 1)),
    "items of a cell": (
        lambda p: p.assign(group=p["items"]).explode("group", max_items=3),
        lambda row: [(item, row["value"]) for item in [*row["items"], None, None, None][:3]]),
    "two frames": (
        lambda p: dp.concat([p, p.assign(value=3 - p["value"])]),
        lambda row: [(row["group"], row["value"]), (row["group"], 3 - row["value"])]),
}  # fmt: skip


@pytest.mark.parametrize("road", ROADS)
def test_the_rows_that_count_are_those_of_plain_python(road: str) -> None:
    rng = random.Random(road)
    make, items = ROADS[road]
    for _ in range(25):
        frame, most = some_rows(rng), rng.choice([3, 8, 40])
        rows, keys = rng.choice([(1, None), (2, None), (None, 1), (1, 1), (2, 2), (1, 2)])
        p = make(dp.private(frame, unit="owner", max_rows=most))
        pairs = stats.Count(by_label(), stats.Layout(integer=True), tuple(
            query for value in (0, 1, 2, 3) for query in [(p["value"] == value)._expression]
        ))  # fmt: skip
        asked = p.groupby("group", keys=GROUPS, max_rows_per_key=rows, max_keys=keys).size()
        cells = asked._statistic.cells
        cells = limited(stats.Cells(cells.by, cells.keys), frame.columns, rows, keys)
        statistic = stats.Count(cells, pairs.layout, pairs.tests)
        engine = PandasEngine(frame, Unit("owner", most), KEY, block=9)
        where, branches = asked._request.where, asked._table.branches
        exact = statistic.read(ops.row_pass(engine, statistic, where, branches))
        wanted = slowly(frame, items, GROUPS, most, rows, keys)
        assert exact == [wanted[group, value] for group in GROUPS for value in (0, 1, 2, 3)]


def test_items_of_one_cell_count_in_their_own_order() -> None:
    """Of one row they have one hash, and its place in the table says nothing."""
    frame = pd.DataFrame({"owner": [7], "items": [[5, 1, 4, 2]]})
    p = dp.private(frame, unit="owner", max_rows=1).explode("items", max_items=4)
    p = p.assign(all="items > 0")
    for rows in range(1, 5):
        asked = p.groupby("all", keys=[True], max_rows_per_key=rows)["items"].sum(bounds=(0, 8))
        (found,) = ops.integers(asked, asked._table.engine)
        assert found * asked._statistic.grids[0].step == sum([5, 1, 4, 2][:rows])


def test_rows_outside_the_keys_count_in_no_limit() -> None:
    rows = 200
    frame = pd.DataFrame({"owner": 1, "group": ["z"] * rows + ["a"] * 3, "i": range(rows + 3)})
    p = dp.private(frame, unit="owner", max_rows=rows + 3)
    for limits in (
        {"max_rows_per_key": 3},
        {"max_keys": 1},
        {"max_rows_per_key": 3, "max_keys": 1},
    ):
        counts = p["group"].value_counts(keys=GROUPS, sort=False, **limits)
        assert ops.integers(counts, counts._table.engine) == [3, 0, 0]


def test_where_nothing_is_over_a_limit_nothing_changes() -> None:
    frame = pd.DataFrame({
        "owner": np.repeat(range(30), 6), "group": ["a", "b", "c", "a", "b", "x"] * 30,
        "x": np.arange(180) % 7,
    })  # fmt: skip
    limits = {"max_rows_per_key": 2, "max_keys": 3}
    p = dp.private(frame, unit="owner", max_rows=6)
    whole = p.groupby("group", keys=GROUPS)
    few = p.groupby("group", keys=GROUPS, **limits)
    for ask in (
        lambda g: g.size(), lambda g: g["x"].count(), lambda g: g["x"].mean(bounds=(0, 6)),
        lambda g: g["x"].sum(bounds=(0, 6)), lambda g: g[["x", "owner"]].var(bounds=(0, 30)),
        lambda g: g["owner"].nunique(), lambda g: g[["x", "owner"]].cov(bounds=(0, 30)),
    ):  # fmt: skip
        one, other = (ops.integers(ask(g), p._table.engine) for g in (whole, few))
        assert one == other
    sizes = frame.groupby("group").size().reindex(GROUPS).tolist()
    assert ops.integers(few.size(), p._table.engine) == sizes


def test_nothing_but_the_rows_of_a_unit_decides_which_of_them_count() -> None:
    """Neither the order of rows, nor other units, nor how the rows are cut into blocks."""
    rng = random.Random(2)
    frame = some_rows(rng, 90).drop(columns="items")
    cells = limited(by_label(), frame.columns, 1, 2)
    statistic = stats.Sum(
        cells, stats.Layout(integer=False), (Column("value"),),
        (Grid.centred(Bounds.parse((0, 4), "x")),),
    )  # fmt: skip

    def found(rows: pd.DataFrame, block: int = 7) -> Any:
        engine = PandasEngine(rows, Unit("owner", 50), KEY, block=block)
        return np.array(statistic.read(ops.row_pass(engine, statistic)))

    whole = found(frame)
    for seed in range(5):
        assert (found(frame.sample(frac=1, random_state=seed), 11 + seed) == whole).all()
    each = [found(frame[frame["owner"] == owner]) for owner in (1, 2, 3, 4)]
    assert (sum(each) == whole).all()


def test_without_a_unit_column_each_row_is_a_unit() -> None:
    frame = pd.DataFrame({"items": [["a", "a", "b"], ["b", "b", "b"], ["c"]] * 20})
    p = frame.dp.explode("items", max_items=3)
    counts = p["items"].value_counts(keys=GROUPS, max_rows_per_key=1, sort=False)
    assert ops.integers(counts, counts._table.engine) == [20, 40, 20]
    assert counts._statistic.l1_sensitivity(3) == 3
    one = p["items"].value_counts(keys=GROUPS, max_rows_per_key=1, max_keys=1, sort=False)
    assert sum(ops.integers(one, one._table.engine)) == 60


# --- sensitivities --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 1, 2, 3])
@pytest.mark.parametrize("keys", [None, 1, 2, 5])
def test_sensitivities_are_the_largest_of_all_rows_that_a_unit_can_have(
    rows: int | None, keys: int | None
) -> None:
    """All ways to lay m rows into K keys or none: the bounds hold, and each is reached."""
    for cells, most in itertools.product((1, 2, 3), (1, 2, 3, 4, 5)):
        found = limited(by_label(GROUPS[:cells]), (), rows, keys).most(most)
        seen = [0, 0, 0, 0]
        for laid in itertools.product(range(most + 1), repeat=cells):
            if sum(laid) > most:
                continue
            left = sorted((min(n, rows or n) for n in laid), reverse=True)[: keys or cells]
            now = [sum(left), max(left), sum(n * n for n in left), sum(n > 0 for n in left)]
            seen = [*map(max, seen, now)]
        assert list(found) == seen, (cells, most)


def test_the_integers_of_each_statistic_move_by_no_more_and_some_by_as_much() -> None:
    """All rows of a unit of four over three labels and two values, through the engine."""
    layout, ends = stats.Layout(integer=False), Bounds.parse((-1, 3), "x")
    two = (Column("value"), Column("other"))
    for rows, keys in ((1, None), (2, None), (1, 2), (2, 1), (None, 1)):
        cells = limited(by_label(), ("owner", "group", "value", "other"), rows, keys)
        made: dict[str, Any] = {
            "count": stats.Count(cells, layout),
            "sum": stats.Sum(cells, layout, two, (Grid.centred(ends),) * 2),
            "norm": stats.NormedSum(cells, layout, two, (Grid(0.0, 1.0, -8, 8),) * 2, 3, 2),
            "mean": stats.Mean(cells, layout, two, (ends,) * 2),
            "variance": stats.Variance(cells, layout, two, (ends,) * 2),
            "units": stats.Distinct(cells, layout),
        }
        reached = dict.fromkeys(made, 0)
        for labels in itertools.combinations_with_replacement(GROUPS, 4):
            for value, other in itertools.product((-1, 3), (0, 3)):
                frame = pd.DataFrame({
                    "owner": 1, "group": labels, "value": value, "other": [0, 0, other, other],
                })  # fmt: skip
                engine = PandasEngine(frame, Unit("owner", 4), KEY)
                for name, statistic in made.items():
                    moved = statistic.read(ops.row_pass(engine, statistic))
                    with noted((name, rows, keys, labels, value)):
                        assert sum(map(abs, moved)) <= statistic.l1_sensitivity(4)
                        assert max(map(abs, moved)) <= statistic.linf_sensitivity(4)
                        squares = sum(each**2 for each in moved)
                        assert squares <= statistic.l2_squared_sensitivity(4)
                    reached[name] = max(reached[name], squares)
        for name in ("count", "units", "norm"):
            assert reached[name] == made[name].l2_squared_sensitivity(4), (name, rows, keys)


@pytest.mark.parametrize("kind", [each for each in stats.every() if each.takes_limits])
def test_a_unit_with_rows_in_many_keys_moves_no_more(kind: Any) -> None:
    """As `test_neighbours.py`, whose units seldom have rows in several keys. Half of what is stated
    would be noticed."""
    rng = random.Random(kind.__name__)
    most = 0.0
    for i in range(60):
        made = ops.HOSTILE[kind](rng)
        limit = stats.KeyLimit(*rng.choice([(1, 1), (1, 2), (2, 1)]))
        read = rng.choice([None, "owner"]), [*PLAIN, "owner"]
        both = stats.Cells((Column("group"), Column("code")), KEYS)
        statistic = replace(made, cells=stats.LimitedCells.of(both, limit, *read))
        rows = [
            {**row(rng, wild=i % 5 == 0), "group": rng.choice(GROUPS), "code": rng.choice(CODES),
             "owner": owner}
            for owner in [1, 2, 1, 2, *[77] * 6]
        ]  # fmt: skip
        before, after = (
            statistic.read(ops.row_pass(PandasEngine(each, Unit("owner", 4), KEY), statistic))
            for each in (table(rows[:4], "object"), table(rows, "object"))
        )
        moved = [b - a for a, b in zip(before, after, strict=True)]
        stated = statistic.sensitivity(4)
        assert sum(map(abs, moved)) <= stated.l1
        assert max(map(abs, moved)) <= stated.linf
        assert sum(each**2 for each in moved) <= stated.l2_squared
        most = max(most, sum(map(abs, moved)) / (stated.l1 or 1))
    assert most > 0.5


def test_gaussian_noise_falls_with_a_limit_by_key_and_laplace_with_all_rows() -> None:
    dp.session(rho=20, delta="1e-6", epsilon=None)
    p = visits()
    with dp.preview() as plan:
        p.groupby("city").size(rho="0.5")
        p.groupby("city", max_rows_per_key=1).size(rho="0.5")
        p.groupby(["day", "city"], max_rows_per_key=1).size(rho="0.5")
        p.groupby("day", max_rows_per_key=2, max_keys=3)["x"].sum(rho="0.5")
    table = plan.to_frame()
    scales = [30, math.sqrt(3), math.sqrt(24), math.sqrt(12) * 10]
    assert [float(each.replace(",", "")) for each in table["scale"]] == pytest.approx(scales, 1e-3)
    assert table["error"].tolist()[:2] == ["± 72", "± 4"]
    assert table["without limits"].tolist()[:2] == ["", "± 72"]
    dp.reset()
    dp.session(epsilon=50)
    with dp.preview() as plan:
        visits()["day"].value_counts(max_rows_per_key=1, max_keys=3, epsilon=1)
        visits()["day"].value_counts(max_rows_per_key=2, epsilon=1)  # eight days: 16 of 30 rows
        visits()["day"].value_counts(max_rows_per_key=2).idxmax(epsilon=1)
        visits().groupby("day", max_keys=2)["person"].nunique(epsilon=1)
    assert plan.to_frame()["scale"].tolist() == ["3", "16", "2", "2"]


# --- what is refused, and what is said ------------------------------------------------------------


REFUSED: dict[str, Callable[[Any], Any]] = {
    "median": lambda g: g["x"].median(bounds=(0, 10), epsilon=1),
    "quantile": lambda g: g["x"].quantile([0.1, 0.9], bounds=(0, 10), epsilon=1),
    "agg": lambda g: g.agg({"x": ["mean", "median"]}, bounds=(0, 10), epsilon=1),
    "describe": lambda g: g["x"].describe(bounds=(0, 10), epsilon=1),
    "nunique": lambda g: g["city"].nunique(keys=GROUPS, epsilon=1),
    "nunique of all": lambda g: g["x"].nunique(epsilon=1),
    "hist": lambda g: g["x"].hist(bins=3, range=(0, 10), epsilon=1),
    "value_counts": lambda g: g["city"].value_counts(keys=GROUPS, epsilon=1),
    "loop": list,
    "get_group": lambda g: g.get_group(1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_sensitivity_for_limits_is_refused(name: str) -> None:
    dp.session(epsilon=5)
    groups = visits().groupby("day", max_rows_per_key=1, max_keys=2)
    said = refusal(lambda: REFUSED[name](groups))
    assert "max_rows_per_key=" in said
    assert dp.ledger().spent == 0


def test_other_limits_are_refused() -> None:
    dp.session(epsilon=5, delta="1e-5")
    p = visits()
    keyless = dp.private(pd.DataFrame({"u": [1], "a": ["x"]}), unit="u", max_rows=2)
    for ask in (
        lambda wrong: p.groupby("day", max_rows_per_key=wrong),
        lambda wrong: p.resample("D", on="day", range=("2020", "2021"), max_keys=wrong),
        lambda wrong: p["day"].value_counts(max_keys=wrong),
        lambda wrong: p.value_counts(["day", "city"], max_rows_per_key=wrong),
        lambda wrong: p.crosstab("day", "city", max_rows_per_key=wrong),
        lambda wrong: dp.crosstab(p["day"], p["city"], max_keys=wrong),
        lambda wrong: p.pivot_table("x", "day", max_rows_per_key=wrong),
    ):
        for wrong in (0, -1, True, 1.5, "one", [1]):
            refusal(lambda ask=ask, wrong=wrong: ask(wrong), "must be a whole number|no time|kind")
    refusal(lambda: keyless["a"].value_counts(delta="1e-5", max_keys=1), "declared keys")
    refusal(lambda: keyless.groupby("a", delta="1e-5", max_rows_per_key=1), "declared keys")
    refusal(
        lambda: p.pivot_table("x", "day", margins=True, max_rows_per_key=1, epsilon=1), "margin"
    )


def test_a_statistic_that_says_nothing_of_limits_never_gets_them() -> None:
    """The last of the defences: a new statistic, or a road around the request."""
    takes = {kind for kind in stats.every() if kind.takes_limits}
    assert takes == {
        stats.Count, stats.Contingency, stats.Distinct, stats.Sum, stats.NormedSum, stats.Mean,
        stats.WeightedMean, stats.Variance, stats.FirstMoments, stats.Moments, stats.Covariance,
        stats.SecondMoments, stats.NormedMoments,
    }  # fmt: skip
    cells = limited(by_label(), ("owner", "group"), 1, None)
    for statistic in (
        stats.OccurringKeys(cells, stats.Layout(integer=True)),
        stats.DistinctValues(cells, stats.Layout(integer=True), Column("group")),
    ):
        with pytest.raises(InternalError):
            statistic.sensitivity(3)


def test_a_limit_that_saves_nothing_says_so_before_the_charge() -> None:
    dp.session(epsilon=20)
    frame = pd.DataFrame({"u": [1], "day": [1]})
    few = dp.protect(frame, name="few", unit="u", max_rows=3, domain={"day": range(90)})
    ones = dp.protect(frame, name="ones", unit="u", max_rows=1, domain={"day": range(90)})

    def said(ask: Callable[[], Any]) -> str:
        with dp.preview(), warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ask()
        return "; ".join(str(each.message) for each in found if "max_" in str(each.message))

    by = few["day"].value_counts
    assert "max_keys=, the most keys that a unit counts for; or count rho" in said(
        lambda: by(max_rows_per_key=1, epsilon=1)
    )
    assert "Give max_rows_per_key=" in said(lambda: by(max_keys=1, epsilon=1))
    assert "saves no noise" in said(lambda: by(max_rows_per_key=1, max_keys=3, epsilon=1))
    assert said(lambda: by(max_rows_per_key=1, max_keys=2, epsilon=1)) == ""
    assert said(lambda: by(max_rows_per_key=1).idxmax(epsilon=1)) == ""  # pays for one key alone
    assert "saves no noise" in said(lambda: by(max_keys=1).idxmax(epsilon=1))
    assert said(lambda: few.groupby("day", max_keys=2)["u"].nunique(epsilon=1)) == ""
    assert said(lambda: ones["day"].value_counts(max_rows_per_key=1, epsilon=1)) == ""
    with dp.preview() as plan, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by(max_rows_per_key=1, epsilon=1)
    assert plan.to_frame()["error"].tolist() == plan.to_frame()["without limits"].tolist()
    dp.reset()
    dp.session(rho=1, delta="1e-6", epsilon=None)
    few = dp.protect(frame, name="few", unit="u", max_rows=3, domain={"day": range(90)})
    assert said(lambda: few["day"].value_counts(max_rows_per_key=1, rho="0.1")) == ""


def test_the_limit_is_in_the_question_and_in_its_key() -> None:
    dp.session(epsilon=20)
    p = visits()
    groups = p.groupby("day", max_rows_per_key=2, max_keys=1)
    said = ", at most 2 rows a key and 1 key of each unit"
    assert repr(groups) == f"<private groups of day, 8 keys{said}>"
    assert f"<unreleased size by day (8 keys){said}, from visits" in repr(groups.size())
    assert said not in repr(p.groupby("day").size())
    first = groups.size(epsilon=1)
    record = dp.record(first)
    assert record.query == "size by day (8 keys), at most 2 rows a key and 1 key of each unit"
    title = record._query.what.title
    assert title == "Count of rows by day, at most 2 rows a key and 1 key of each unit"
    again = p.groupby("day", max_rows_per_key=2, max_keys=1).size(epsilon=1)
    assert dp.ledger().spent == 1
    pd.testing.assert_series_equal(first, again)
    for other in ({"max_rows_per_key": 1, "max_keys": 1}, {"max_rows_per_key": 2, "max_keys": 2}):
        p.groupby("day", **other).size(epsilon=1)
    p.groupby("day").size(epsilon=1)
    assert dp.ledger().spent == 4


# --- with other releases --------------------------------------------------------------------------


def test_tables_of_different_limits_are_not_of_the_same_rows() -> None:
    dp.session(epsilon=40)
    p, few = visits(), {"max_rows_per_key": 1, "max_keys": 2}
    days, cities = (p.groupby(by, **few).size(epsilon=1) for by in ("day", "city"))
    whole, both = p.groupby("day").size(epsilon=1), p.crosstab("day", "city", **few, epsilon=1)
    same = p.groupby("day", **few).size(epsilon=1, fresh=True)
    for other in (cities, whole, both):
        refusal(lambda other=other: dp.make_consistent(days, other), "count different rows")
        refusal(lambda other=other: dp.combine(days, other), "count different rows")
    refusal(lambda: dp.derive(lambda a, b: a["a"] / b[1], cities, whole), "count different rows")
    refusal(lambda: dp.difference(days, whole), "count different rows")
    three = p.groupby("day", max_rows_per_key=1, max_keys=3).size(epsilon=1)
    refusal(lambda: dp.ratio(days, three), "count different rows")
    rows = [dp.record(each)._query.rows for each in (days, same, cities, whole, both, three)]
    assert rows[0] == rows[1]
    assert len({*rows}) == 5
    dp.combine(days, same)
    dp.make_consistent(days, same)
    total = p.groupby("day", **few)["x"].sum(epsilon=1)
    assert dp.ratio(total, days).index.tolist() == DAYS  # the same keys and limits: the same rows
    dp.make_consistent(days)


def test_parts_pay_for_each_part_that_a_unit_reaches() -> None:
    """A limit of one row lowers the noise in each part, and a unit of three rows may lie in three
    of them: so it pays for three."""
    for most in (1, 2, 3, 9):
        dp.reset()
        dp.session(epsilon=40)
        frame = pd.DataFrame({"u": [7] * 4 + [1], "day": [0, 1, 2, 3, 0], "g": "a"})
        p = dp.protect(frame, name="days", unit="u", max_rows=most, domain={"g": GROUPS})
        parts = p.partition("day", keys=[0, 1, 2, 3])
        for part in parts.values():
            limits = {"max_rows_per_key": 1, "max_keys": 1}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts = part["g"].value_counts(**limits, sort=False, epsilon=1)
            assert dp.record(counts).scale == 1
        assert dp.ledger().spent == min(most, 4)
    # and a unit of four rows does move each of the four answers by its sensitivity
    asked = [p["g"].value_counts(**limits, sort=False) for p in parts.values()]
    engine = PandasEngine(frame, Unit("u", 9), KEY)
    others = PandasEngine(frame[frame["u"] == 1], Unit("u", 9), KEY)
    moved = [sum(ops.integers(a, engine)) - sum(ops.integers(a, others)) for a in asked]
    assert moved == [1, 1, 1, 1]


def test_answers_are_those_of_pandas_on_the_rows_left(exact: None) -> None:
    dp.session(epsilon=10**9)
    frame = pd.DataFrame({
        "u": np.repeat(range(50), 8), "day": [0, 0, 1, 1, 2, 2, 3, 3] * 50, "x": range(400),
    })  # fmt: skip
    p = dp.protect(frame, name="x", unit="u", max_rows=8, domain={"day": [0, 1, 2, 3]})
    one = p.groupby("day", max_rows_per_key=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert one.size(epsilon=1).tolist() == [50] * 4
        twos = p.pivot_table(
            index="day",
            columns=(p["x"] >= 0).rename("all"),
            aggfunc="size",
            keys={"all": [True]},
            max_rows_per_key=1,
            epsilon=1,
        )
        assert twos[True].tolist() == [50] * 4
        crossed = p.assign(all="x >= 0").crosstab(
            "day",
            "all",
            keys={"all": [True]},
            margins=True,
            max_keys=2,
            max_rows_per_key=2,
            epsilon=1,
        )
    assert crossed.loc["All", "All"] == 200
    assert p.groupby("day", max_keys=3)["u"].nunique(epsilon=1).sum() == 150
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["day"], unit="D")
    timed = dp.protect(frame.assign(when=when), name="timed", unit="u", max_rows=8)
    days = timed.resample(
        "D", on="when", range=("2024-01-01", "2024-01-04"), max_rows_per_key=1, max_keys=3
    )
    assert days.size(epsilon=1).sum() == 150


def test_rows_per_unit_and_bounds_decide_nothing_twice() -> None:
    """The neighbours of a limited mean: the integers of a unit of many rows, all at one end."""
    frame = pd.DataFrame({"owner": 1, "group": "a", "value": [10.0] * 30})
    p = dp.private(frame, unit="owner", max_rows=30)
    for rows, keys in ((1, None), (4, 1)):
        asked = p.groupby("group", keys=GROUPS, max_rows_per_key=rows, max_keys=keys)
        mean = asked["value"].mean(bounds=BOUNDS)
        found = ops.integers(mean, p._table.engine)
        assert max(found) == mean._statistic.linf_sensitivity(30) == mean._statistic.linf * rows


def test_the_loss_is_that_of_the_noise() -> None:
    """What is charged is what the noise of the limit costs: exactly."""
    dp.session(rho=20, delta="1e-6", epsilon=None)
    counts = visits().groupby(["day", "city"], max_rows_per_key=1).size(rho="0.5")
    record = dp.record(counts)
    assert record.loss.rho == Fraction(1, 2)
    assert record._law.sigma2 == 24  # of 24 pairs of keys, one row each


def test_rows_that_are_equal_and_not_identical_have_an_order() -> None:
    """1 and True are equal, and one of them counts: the same, whichever comes first."""
    counted = set()
    for labels in ([1, True], [True, 1]):
        frame = pd.DataFrame({"owner": [7, 7], "label": pd.Series(labels, dtype=object)})
        p = dp.private(frame, unit="owner", max_rows=2).assign(all="owner > 0")
        p = p.assign(text=p["label"].astype(str))
        p = p.assign(one=p["text"] == "1")
        one = p.groupby("all", keys=[True], max_rows_per_key=1)["one"].sum()
        cells = one._statistic.cells
        assert cells.columns == ("owner", "label")
        counted.add(tuple(ops.integers(one, PandasEngine(frame, Unit("owner", 2), KEY))))
    assert len(counted) == 1


def test_the_unit_itself_can_be_grouped_by_declared_keys() -> None:
    dp.session(epsilon=9)
    with pytest.raises(QueryError, match="in groups by declared keys"):
        visits().groupby("person", max_rows_per_key=1)
