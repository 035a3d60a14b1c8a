"""Periods of the calendar: pandas' groups and labels, public ranges, zones, refusals."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from operations import integers
from pandas.testing import assert_series_equal
from refusals import refusal
from sizes import third

import dppandas as dp
from dppandas.rows.expressions import Column, periods
from dppandas.rows.facts.keys import Keys

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

CALENDAR = ["D", "W", "W-WED", "MS", "ME", "QS", "QE", "QS-FEB", "QE-FEB", "YS", "YE", "YS-APR",
            "YE-JUN"]  # fmt: skip
CLOCK = ["h", "6h", "15min", "30s"]


def times(zone: str | None = None, rows: int = 300, start: str = "2019-03-01") -> pd.DataFrame:
    rng = np.random.default_rng(1)
    when = pd.Timestamp(start) + pd.to_timedelta(rng.random(rows) * 800, unit="D").as_unit("us")
    if zone is not None:
        when = when.tz_localize("UTC").tz_convert(zone)
    edges = [pd.Timestamp("2019-12-31 23:59:59.999999"), pd.Timestamp("2020-02-29"), pd.NaT]
    late = pd.DatetimeIndex(edges).tz_localize(zone)
    x, e = rng.random(rows + 3), rng.integers(0, 2, rows + 3)
    return pd.DataFrame({"when": when.append(late), "x": x, "e": e})


def ends(frame: pd.DataFrame) -> tuple[Any, Any]:
    """Here, and nowhere but in a test, read from the data."""
    return frame["when"].min(), frame["when"].max()


@pytest.mark.parametrize("start", ["2019-03-01", "1965-01-30"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York"])
@pytest.mark.sized
@pytest.mark.parametrize("freq", third([*CALENDAR, *CLOCK[:2]], 0))
def test_groups_are_those_of_pandas(freq: str, zone: str | None, start: str, exact: None) -> None:
    frame = times(zone, start=start)
    if freq in CLOCK and zone not in (None, "UTC"):
        return
    if freq == "h" and start == "1965-01-30":  # more hours than may be asked for
        return
    by = pd.Grouper(key="when", freq=freq)
    found = frame.dp.groupby(by, range=ends(frame))["x"].count(epsilon=1)
    exact = frame.groupby(by)["x"].count()
    assert_series_equal(found, exact, check_freq=False, check_index_type=False)
    assert found.index.freq == pd.date_range("2020", periods=2, freq=freq).freq
    # the same one by one, as objects
    alone = frame.assign(when=frame["when"].astype(object))
    asked = alone.dp.groupby(by, range=ends(frame))["x"].count()
    assert integers(asked, asked._table.engine) == found.tolist()


@pytest.mark.parametrize("freq", CLOCK[2:])
def test_parts_of_a_day(freq: str, exact: None) -> None:
    when = pd.Timestamp("1969-12-31 22:00:07") + pd.to_timedelta(np.arange(0, 14400, 77), unit="s")
    frame = pd.DataFrame({"when": when})
    by = pd.Grouper(key="when", freq=freq)
    found = frame.dp.groupby(by, range=ends(frame)).size(epsilon=1)
    assert_series_equal(found, frame.groupby(by).size(), check_freq=False, check_index_type=False)


def test_periods_combine_with_other_keys(exact: None) -> None:
    frame = times()
    by: list[Any] = [pd.Grouper(key="when", freq="YS"), "e"]
    given = {"keys": [0, 1], "range": ends(frame)}
    found = frame.dp.groupby(by, **given)["x"].mean(bounds=(0, 1), epsilon=1)
    assert_series_equal(found, frame.groupby(by)["x"].mean(), rtol=1e-6, check_index_type=False)
    declared = dp.protect(frame, "declared", domain={"e": [0, 1]})
    assert declared.groupby(by, range={"when": ends(frame)}).size(epsilon=1).shape == found.shape
    plain = frame.dp.groupby(pd.Grouper(key="e"), keys=[0, 1]).size(epsilon=1)
    assert plain.tolist() == frame.groupby("e").size().tolist()


def test_the_range_is_public_and_times_beyond_it_are_in_no_group(exact: None) -> None:
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-31", "2020-02-01", "2021-05-05", None])})
    found = frame.dp.groupby(pd.Grouper(key="when", freq="MS"), range=("2020-01-15", "2020-04-01"))
    sizes = found.size(epsilon=1)
    assert sizes.tolist() == [1, 1, 0, 0]
    assert sizes.index[0] == pd.Timestamp("2020-01-01")
    empty = frame[:0].dp.groupby(pd.Grouper(key="when", freq="YS"), range=("2020", "2021"))
    assert empty.size(epsilon=1).tolist() == [0, 0]


def test_a_zone_is_meant_on_both_sides_or_on_none(exact: None) -> None:
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    values = [
        pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC"), "2020-01-01", 7, None,
        datetime.datetime(2020, 1, 1, 0, 30, tzinfo=berlin), datetime.date(2020, 1, 1),
    ]  # fmt: skip
    frame = pd.DataFrame({"when": pd.Series(values, dtype=object)})
    by = pd.Grouper(key="when", freq="D")
    naive = [pd.Timestamp(day) for day in ("2019-12-31", "2020-01-01")]
    assert frame.dp.groupby(by, range=naive).size(epsilon=1).tolist() == [0, 2]
    texts = ("2019-12-31", "2020-01-01")  # the clock on the wall, in whichever zone
    assert frame.dp.groupby(by, range=texts).size(epsilon=1).tolist() == [0, 4]
    utc = [pd.Timestamp(day, tz="UTC") for day in ("2019-12-31", "2020-01-01")]
    found = frame.dp.groupby(by, range=utc).size(epsilon=1)
    assert found.tolist() == [1, 1]
    assert str(found.index.tz) == "UTC"


def test_a_midnight_that_the_clock_skips_makes_no_trouble(exact: None) -> None:
    zone = "America/Sao_Paulo"  # 2018-11-04 began at 01:00
    hours = pd.date_range("2018-11-03", "2018-11-06", freq="h", tz=zone, inclusive="left")
    by, days = pd.Grouper(key="when", freq="D"), (hours[0], pd.Timestamp("2018-11-05", tz=zone))
    found = pd.DataFrame({"when": hours}).dp.groupby(by, range=days).size(epsilon=1)
    assert found.tolist() == [24, 23, 24]


def by_time(freq: str, **options: Any) -> pd.Grouper:
    return pd.Grouper(key="when", freq=freq, **options)


YEARS = ("2020", "2021")
BERLIN = tuple(pd.Timestamp(year, tz="Europe/Berlin") for year in YEARS)
NO_RANGE = [
    None, ["2020-01-01"], ("2020-02-01", "2020-01-01"), ("now", "2030-01-01"),
    ("2020-01-01", pd.NaT), (1, 2), {"when": YEARS, "e": [1]},
]  # fmt: skip
NO_PERIOD = [
    *map(by_time, ("s", "2D", "2MS", "7h", "B", "ms")), by_time("D", origin="start"),
    by_time("D", closed="right"), by_time("D", label="right"), by_time("h", offset="5min"),
    pd.Grouper(freq="MS"), pd.Grouper(key="nobody", freq="MS"), [by_time("MS"), "e"],
]  # fmt: skip


@pytest.mark.parametrize(("by", "ends"), [
    *[(by_time("MS"), ends) for ends in NO_RANGE], *[(by, YEARS) for by in NO_PERIOD],
    (by_time("D"), (pd.Timestamp("2020", tz="UTC"), "2021")), (by_time("h"), BERLIN),
    ([by_time("MS"), "e"], {"when": YEARS}),
])  # fmt: skip
def test_what_would_look_at_rows_or_is_wrong_is_refused(by: Any, ends: Any) -> None:
    refusal(lambda: times().dp.groupby(by, range=ends).size(epsilon=1))


@pytest.mark.parametrize(("by", "given"), [
    (by_time("MS"), {"keys": YEARS}), (by_time("MS"), {"keys": {"when": YEARS}}),
    ("e", {"keys": [0, 1], "range": YEARS}), ("e", {"range": YEARS, "delta": 1e-6}),
    (pd.Grouper(key="e"), {"range": (0, 1)}),
    ([by_time("MS"), "e"], {"range": {"when": YEARS, "e": [1]}}),
])  # fmt: skip
def test_periods_take_a_range_and_labels_take_keys(by: Any, given: Any) -> None:
    dp.session(epsilon=1, delta=1e-5)
    refusal(lambda: times().dp.groupby(by, **given), "range=.*keys=|declared")


#: A frequency, and whether all zones may have it: a clock can show an hour twice.
DIVISIONS = {
    "D": True, "W": True, "W-WED": True, "MS": True, "ME": True, "QS": True, "QE-FEB": True,
    "YS": True, "YE-MAR": True, "h": False, "15min": False, "6h": False,
}  # fmt: skip
#: Clocks that skip a midnight, that repeat an hour, and one that lost a day.
ZONES = [None, "UTC", "Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"]


@pytest.mark.parametrize(("frequency", "zone"), [
    (frequency, zone)
    for frequency, in_all in DIVISIONS.items()
    for zone in (ZONES if in_all else ZONES[:2])
])  # fmt: skip
def test_places_by_arithmetic_are_those_of_labels(
    frequency: str, zone: str | None, exact: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of times within, at and around a range, far from it, and of none."""
    start, end = (pd.Timestamp(day, tz=zone) for day in ("2011-12-20 03:00", "2012-11-05"))
    rng = np.random.default_rng(5)
    seconds = [*rng.integers(-500 * 86400, 900 * 86400, 3000), *range(-90000, 90000, 1800)]
    whens = [start + pd.Timedelta(seconds=int(each)) for each in seconds]
    whens += [end + pd.Timedelta(seconds=int(each)) for each in seconds[3000:]]
    whens += [pd.NaT, pd.Timestamp("1690-01-01", tz=zone), pd.Timestamp("2250-01-01", tz=zone)]
    df = pd.DataFrame({"when": pd.Series(whens).dt.as_unit("us")})

    def counted(ends: Any) -> pd.Series:
        by = pd.Grouper(key="when", freq=frequency)
        return pd.Series(df.dp.groupby(by, range=ends).size(epsilon=1))

    for ends in ((start, end), ("2011-12-20", "2012-11-05")):  # texts mean any clock
        with monkeypatch.context() as labels:
            labels.setattr(periods, "MOST_STARTS", -1)
            wanted = counted(ends)
        assert_series_equal(counted(ends), wanted)
        assert wanted.sum() > 300


@pytest.mark.parametrize("labels", [
    (), ("a",), (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-01", tz="UTC")),
    (pd.Timestamp("2020-01-01"), pd.NaT),
])  # fmt: skip
def test_other_labels_are_looked_up_one_by_one(labels: tuple[Any, ...]) -> None:
    period = periods.Period(Column("when"), periods.Calendar("D", "D"))
    assert period._places_by_start(Keys(labels)) is None
