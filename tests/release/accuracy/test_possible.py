"""Figures of describe and agg are in an order that is possible: docs/proofs/order.md."""

import dataclasses
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp
from dppandas.release.accuracy import possible
from dppandas.release.answers.records import Record
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.figures import plus_minus

LOW, HIGH = 10.0, 70.0
BOUNDS = (LOW, HIGH)
NAMES = ["count", "mean", "std", "var", "median", "min", "max"]
SPREADS = {"std", "var"}
#: Of float arithmetic, in the unit of the column.
NEAR = 1e-6

pytestmark = pytest.mark.filterwarnings("ignore:the smallest or largest value")


def table(rows: int = 344) -> pd.DataFrame:
    place = np.arange(rows)
    return pd.DataFrame({
        "age": 17.0 + place % 43,
        "income": np.exp(9 + (place % 97) / 40),
        "sex": np.resize(np.array(["f", "m"], dtype=object), rows),
    })  # fmt: skip


def assert_possible(said: Mapping[Any, float], low: float = LOW, high: float = HIGH) -> None:
    """That some values between two bounds may have such figures, as far as the page promises."""
    least, most = said.get("min", low), said.get("max", high)
    order = [least, *[said[name] for name in ("25%", "median", "50%", "75%") if name in said], most]
    assert order == sorted(order), said
    mean, std = said.get("mean"), said.get("std")
    room = (most - least) / 2
    if mean is not None:
        assert least <= mean <= most, said
        room = math.sqrt((most - mean) * (mean - least))
    if std is None and "var" in said:
        std = math.sqrt(said["var"])
    if std is not None:
        rows = max(2, said.get("count", 2))
        assert 0 <= std <= math.sqrt(rows / (rows - 1)) * room + NEAR * (high - low), said
    if said.keys() >= SPREADS:
        assert said["var"] == pytest.approx(said["std"] ** 2, abs=NEAR * (high - low) ** 2)


def assert_recorded(result: Any, records: Mapping[str, Record], column: Any = None) -> None:
    """What is shown is what the records say, within their intervals."""
    for record in records.values():
        values = record.estimate()
        if record._statistic.errors.no_interval:
            continue
        interval, error = record.intervals(), record.errors()
        assert np.all(error >= 0 * error)
        if np.isscalar(values):
            assert interval[0] <= values <= interval[1], record
        else:
            frame = values if isinstance(values, pd.DataFrame) else values.to_frame("")
            bounds = interval if isinstance(values, pd.DataFrame) else {"": interval}
            for name in frame:
                assert (bounds[name]["lower"] <= frame[name]).all()
                assert (frame[name] <= bounds[name]["upper"]).all()


# --- drawn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.001, 0.02, 0.3])
def test_describe_never_shows_what_is_impossible(epsilon: float) -> None:
    bounds = {"age": BOUNDS, "income": (0, 100_000)}
    moved = 0
    for _ in range(12):
        told = table().dp[["age", "income"]].describe(bounds=bounds, epsilon=epsilon)
        for column, (low, high) in bounds.items():
            assert_possible(told[column].to_dict(), low, high)
        records = dp.record(told).components
        assert_recorded(told, records)
        moments, quantiles = records.values()
        assert moments.estimate().equals(told.iloc[:3])
        assert quantiles.estimate().to_numpy().tolist() == told.iloc[3:].to_numpy().tolist()
        moved += quantiles._shown is not None
    assert moved or epsilon > 0.1  # at ε = 0.001 an order that happens to be possible is rare


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1])
def test_agg_never_shows_what_is_impossible(epsilon: float) -> None:
    for _ in range(15):
        told = table().dp["age"].agg(NAMES, bounds=BOUNDS, epsilon=epsilon)
        assert_possible(told.to_dict())
        records = dp.record(told).components
        assert_recorded(told, records)
        assert figures(records) == told.to_dict()
        groups = table().dp.groupby("sex", keys=["f", "m"])["age"]
        by_sex = groups.agg(["mean", "std", "max"], bounds=BOUNDS, epsilon=epsilon)
        for _, said in by_sex.iterrows():
            assert_possible(said.to_dict())
        assert_recorded(by_sex, dp.record(by_sex).components)


def test_one_statistic_of_each_of_several_columns() -> None:
    how = {"age": ["min", "mean"], "income": ["mean", "max", "std"]}
    bounds = {"age": BOUNDS, "income": (0, 100_000)}
    for _ in range(15):
        told = table().dp[["age", "income"]].agg(how, bounds=bounds, epsilon=0.01)
        for column, (low, high) in bounds.items():
            assert_possible(told[column].dropna().to_dict(), low, high)


def test_of_times_too() -> None:
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(100) % 90, unit="D")
    df = pd.DataFrame({"when": days})
    for _ in range(20):
        told = df.dp["when"].describe(bounds=("2020-01-01", "2020-12-31"), epsilon=0.02)
        order = told[["min", "25%", "50%", "75%", "max"]].tolist()
        assert order == sorted(order)
        assert told["min"] <= told["mean"] <= told["max"]
        assert "std" not in told, "as in pandas"
        assert_recorded(told, dp.record(told).components)


def test_a_replay_shows_the_same() -> None:
    people = dp.protect(table(), name="again", version="1", domain={"age": BOUNDS})
    first = people["age"].describe(epsilon=0.01)
    again = people["age"].describe(epsilon=0.01)
    assert first.equals(again)
    for one, other in zip(
        dp.record(first).components.values(), dp.record(again).components.values(), strict=True
    ):
        assert (one._shown, one.estimate().tolist()) == (other._shown, other.estimate().tolist())
    assert dp.ledger().spent == dp.record(people.count(epsilon=0.01)).epsilon


# --- forged ---------------------------------------------------------------------------------------


def forged(records: Mapping[str, Record], rng: np.random.Generator) -> dict[str, Record]:
    """The same releases, had noise been anything: quantiles in order, as the mechanism gives."""
    found = {}
    for name, record in records.items():
        size = len(record._noisy)
        if record._statistic.errors.in_ranks:
            top = record._statistic.grids[0].high  # type: ignore[attr-defined]
            noisy = sorted(rng.integers(0, top + 1, size).tolist())
            if rng.random() < 0.3:
                noisy = sorted(int(rng.choice([0, 1, top])) for _ in range(size))
        else:
            far = 10.0 ** rng.uniform(0, 12, size)
            noisy = [int(x) for x in far * rng.choice([-1, 0, 1, 1], size)]
        found[name] = replace(record, _noisy=tuple(noisy))
    return found


def apart(names: Sequence[str]) -> dict[str, Any]:
    """Records of releases of their own."""
    found = {}
    for name in names:
        told = table().dp["age"].agg([name], bounds=BOUNDS, epsilon=1)
        (found[name],) = dp.record(told).components.values()
    return found


def figures(records: Any) -> dict[str, float]:
    """All figures of some releases, by name."""
    found: dict[str, float] = {}
    for name, record in records.items():
        said = record.estimate()
        found |= said.to_dict() if isinstance(said, pd.Series) else {name: said}
    return found


COMBINATIONS = [*itertools.chain.from_iterable(
    list(itertools.combinations(NAMES, size))[::4] for size in (2, 3, 5, 7))]  # fmt: skip


def test_whatever_the_noise_is() -> None:
    rng = np.random.default_rng(5)  # of what is forged: no noise is drawn by it
    records = apart(NAMES)
    for names in COMBINATIONS:
        some = {name: records[name] for name in names}
        for _ in range(12):
            given = forged(some, rng)
            told = possible.in_order(given, {name: ["age"] for name in names})
            said = {name: record.estimate() for name, record in told.items()}
            assert_possible(said)
            assert_recorded(said, told)
            if "median" in names:
                assert told["median"]._shown is None
            if "count" in names:
                assert said["count"] == max(0, given["count"].estimate())
                assert told["count"].errors() == given["count"].errors()


@pytest.mark.parametrize("bounds", [BOUNDS, (0.1, 0.9), (-1e6, -0.3)])
def test_describe_whatever_the_noise_is(bounds: tuple[float, float]) -> None:
    """Also where the bounds lie on no grid."""
    rng = np.random.default_rng(6)
    records = dp.record(table().dp["age"].describe(bounds=bounds, epsilon=1)).components
    columns = {name: ["age"] for name in records}
    for _ in range(20):
        told = possible.in_order(forged(records, rng), columns)
        moments, quantiles = (record.estimate() for record in told.values())
        said = {**moments.to_dict(), **dict(zip(ROWS, quantiles.tolist(), strict=True))}
        assert_possible(said, *bounds)
        assert_recorded(said, told)


ROWS = ["min", "25%", "50%", "75%", "max"]


def test_an_error_of_ranks_holds_for_ends_that_were_moved_out() -> None:
    """Between the smallest value and a lower answer lie no more values than before."""

    def between(values: Sequence[int], answer: int, exact: int) -> int:
        return sum(min(answer, exact) < v < max(answer, exact) for v in values)

    for values in itertools.product(range(4), repeat=3):
        for answer, out in itertools.product(range(-1, 5), range(3)):
            least, most = min(values), max(values)
            assert between(values, answer - out, least) <= between(values, answer, least)
            assert between(values, answer + out, most) <= between(values, answer, most)
            # and as mass below a point, which is how choices lose
            assert sum(v < answer - out for v in values) <= sum(v < answer for v in values)


def test_only_the_ends_of_quantiles_move_and_only_outwards() -> None:
    rng = np.random.default_rng(7)
    records = dp.record(table().dp["age"].describe(bounds=BOUNDS, epsilon=1)).components
    for _ in range(40):
        given = forged(records, rng)
        for name, record in possible.in_order(given, {name: ["age"] for name in records}).items():
            before = given[name]._values()
            if not record._statistic.errors.in_ranks:  # of a handful of rows, which are rounded
                assert record._values()[0] == max(before[0], 0)
                assert record._values()[2] <= before[2]
                continue
            assert record._shown is None or record._shown != tuple(before)
            (low, *middle, high), (first, *rest, last) = record._values(), before
            assert (low <= first, middle, high >= last) == (True, rest, True)
            assert record.errors().tolist() == given[name].errors().tolist()


def test_ends_make_room_for_a_deviation() -> None:
    """Sums of a mean of 40 and a deviation of 20, and ends that are both 40."""
    described = table().dp["age"].describe(bounds=BOUNDS, epsilon=1)
    moments, quantiles = dp.record(described).components.items()
    whole, top = (r._statistic.grids[0].high for _, r in (moments, quantiles))  # type: ignore[attr-defined]
    u = (1 / 6, 5 / 6)  # half of 100 values at 20, half at 60
    sums = [100 * whole * sum(each) / 2 for each in zip(*(((1 - x) ** 2, 2 * x * (1 - x), x * x)
            for x in u), strict=True)]  # fmt: skip
    given = {
        moments[0]: replace(moments[1], _noisy=tuple(map(int, sums))),
        quantiles[0]: replace(quantiles[1], _noisy=(top // 2,) * 5),
    }
    told = possible.in_order(given, {name: ["age"] for name in given})
    count, mean, std = told[moments[0]].estimate()
    assert (count, mean) == (100, pytest.approx(40))
    assert std == given[moments[0]].estimate()["std"] == pytest.approx(20 * math.sqrt(100 / 99))
    low, *middle, high = told[quantiles[0]].estimate()
    assert middle == pytest.approx([40] * 3)
    assert (low, high) == pytest.approx((20, 60))


def test_what_is_possible_stays_as_it_is(exact: None) -> None:
    told = table(2000).dp["age"].agg(NAMES, bounds=BOUNDS, epsilon=50)
    moments, *others = dp.record(told).components.values()
    assert not any(record._shown for record in others)
    moved = zip(moments._statistic.shown, moments._shown or (), moments._estimated, strict=False)
    assert {name for name, now, was in moved if now != was} <= SPREADS
    held = table(2000)["age"].clip(*BOUNDS)
    assert told["mean"] == pytest.approx(held.mean(), abs=1e-3)
    assert told["std"] == pytest.approx(held.std(), abs=1e-3)
    assert (told["min"], told["max"]) != (LOW, HIGH)


def test_an_error_is_told_around_what_is_shown() -> None:
    """A mean and a deviation of forged noise, which no values between the bounds have."""
    records = apart(["mean", "std"])
    whole = records["mean"]._statistic.grids[0].high  # type: ignore[attr-defined]
    given = {
        "mean": replace(records["mean"], _noisy=(whole * 50, -5)),  # all at the upper bound
        "std": replace(records["std"], _noisy=(whole * 30, 0, whole * 30)),  # half at either
    }
    told = possible.in_order(given, {name: ["age"] for name in given})
    for name, record in told.items():
        assert record._shown is not None
        low, high = record.intervals()
        value = record.estimate()
        own = given[name].intervals()
        assert low <= own[0]
        assert high >= own[1]
        assert low <= value <= high
        assert record.errors() == pytest.approx(max(own[1] - value, value - own[0]))
    assert told["mean"].estimate() < HIGH
    assert plus_minus(told["mean"].errors()) in str(told["mean"])


@pytest.mark.parametrize("mean", [None, LOW, 12.5, 40.0, 69.0, HIGH])
def test_ends_move_apart_as_little_as_is_enough(mean: float | None) -> None:
    bounds = Bounds(LOW, HIGH)
    for low, high in itertools.combinations_with_replacement(np.linspace(LOW, HIGH, 13), 2):
        if mean is not None and not low <= mean <= high:
            continue
        for product in (0.0, 1e-9, 1.0, 30.0, 300.0, 900.0, 1e6):
            a, b = possible.spread_ends(bounds, low, high, mean, product)
            assert LOW - 1e-9 <= a <= low + 1e-9
            assert high - 1e-9 <= b <= HIGH + 1e-9
            got = ((b - a) / 2) ** 2 if mean is None else (b - mean) * (mean - a)
            before = ((high - low) / 2) ** 2 if mean is None else (high - mean) * (mean - low)
            is_all = (a, b) == pytest.approx(BOUNDS)
            assert is_all or got == pytest.approx(max(product, before), abs=1e-6)


def test_ends_that_are_far_enough_stay() -> None:
    assert possible.spread_ends(Bounds(LOW, HIGH), 20.0, 60.0, 40.0, 400.0) == (20.0, 60.0)


def test_a_part_that_is_refined_is_estimated_anew() -> None:
    people = dp.protect(table(), name="refined", version="1", domain={"age": BOUNDS})
    told = people["age"].agg(["mean", "max"], epsilon=0.001)
    mean = dataclasses.replace(dp.record(told).components["mean"], _shown=(1.0,)).refine(epsilon=1)
    record = dp.record(mean)
    assert record._shown is None
    assert record.estimate() == record._values()[0]


def test_figures_survive_pickling() -> None:
    import pickle

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = table().dp["age"].describe(bounds=BOUNDS, epsilon=0.01)
    again = pickle.loads(pickle.dumps(told))
    for one, other in zip(
        dp.record(told).components.values(), dp.record(again).components.values(), strict=True
    ):
        assert one.estimate().equals(other.estimate())
