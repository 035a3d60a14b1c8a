"""Keys that follow from declared bounds of times, and from declared numbers, as pandas groups."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from habits import declared
from refusals import refusal

import dppandas as dp
from dppandas.errors import MissingArgument

Line = Callable[[Any], Any]
YEARS = ("2019-11-03", "2021-02-01")
ZONE = "Europe/Berlin"


def trips(zone: str | None = None) -> pd.DataFrame:
    """Times between `YEARS` and a few outside, hours, and what is missing."""
    draw = np.random.default_rng(2)  # of data, not of noise
    when = pd.Timestamp(YEARS[0]) + pd.to_timedelta(draw.integers(0, 455 * 24 * 60, 900), unit="m")
    late = "2021-01-31 23:59:59.999999"
    ends = pd.DatetimeIndex(
        [pd.Timestamp(end) for end in (*YEARS, late, "2018-05-05", "2022-01-01", None)]
    )
    times = when.append(ends).as_unit("us")
    hour = pd.array(np.where(times.isna(), 0, times.hour.fillna(0)), dtype="int64")
    return pd.DataFrame({
        "when": times if zone is None else times.tz_localize("UTC").tz_convert(zone), "hour": hour,
    })  # fmt: skip


def private(df: pd.DataFrame, when: Any = YEARS) -> Any:
    return dp.protect(df, name="trips", domain={"when": when, "hour": list(range(24))})


#: By times without a zone, or by what a local clock shows.
BY: dict[str, Line] = {
    "years": lambda f: f["when"].dt.year,
    "years and months": lambda f: [f["when"].dt.year.rename("year"), f["when"].dt.month],
    "years, computed with": lambda f: f["when"].dt.year % 100,
    "years of weeks": lambda f: f["when"].dt.isocalendar().year,
    "dates": lambda f: f["when"].dt.date,
    "months as periods": lambda f: f["when"].dt.to_period("M"),
    "weeks as periods": lambda f: f["when"].dt.to_period("W-WED"),
    "pairs of months": lambda f: f["when"].dt.to_period("2M"),
    "hours": lambda f: f["hour"] // 6,
    "hours back": lambda f: 24 - f["hour"],
    "hours as shares": lambda f: f["hour"] / 7,
    "hours, twice": lambda f: (f["when"].dt.hour - 3) % 24 // 4,
}
#: By times that stay times.
ROUNDED: dict[str, Line] = {
    "days": lambda f: f["when"].dt.normalize(),
    "floors": lambda f: f["when"].dt.floor("D"),
    "ceilings": lambda f: f["when"].dt.ceil("8h"),
    "nearest": lambda f: f["when"].dt.round("2D"),
}
LOCAL: dict[str, Line] = {
    "in a zone": lambda f: f["when"].dt.tz_localize("UTC").dt.tz_convert(ZONE).dt.normalize(),
    "days and hours in a zone": lambda f: f["when"].dt.tz_localize("UTC").dt.floor("6h"),
    "without a zone": lambda f: f["when"].dt.tz_localize(None).dt.floor("D"),
}


def counts(by: Line, frame: Any, df: pd.DataFrame, within: pd.Series[Any] | None = None) -> None:
    """Each group has the rows that pandas counts, and no row within the bounds is left out."""
    found = frame.groupby(by(frame), sort=True).size(epsilon=1)
    wanted = declared(df.groupby(by(df)).size())
    labels = set(found.index)
    pd.testing.assert_series_equal(
        found[found > 0], wanted[[label in labels for label in wanted.index]],
        check_index_type=False, check_freq=False,
    )  # fmt: skip
    inside = df["when"].between(*map(pd.Timestamp, YEARS)) if within is None else within
    assert set(df[inside].groupby(by(df[inside])).size().index) <= labels


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", BY | ROUNDED | LOCAL)
def test_groups_are_those_of_pandas(name: str) -> None:
    df = trips()
    for when in (YEARS, tuple(map(pd.Timestamp, YEARS))):
        dp.reset()
        counts((BY | ROUNDED | LOCAL)[name], private(df, when), df)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", BY)
def test_texts_bound_what_a_clock_shows(name: str) -> None:
    df = trips(ZONE)
    local = df["when"].dt.tz_localize(None).between(*map(pd.Timestamp, YEARS))
    counts(BY[name], private(df), df, local)


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("name", BY | ROUNDED)
def test_instants_are_grouped_by_a_clock_that_is_named(name: str) -> None:
    df = trips("UTC")
    ends = tuple(pd.Timestamp(end, tz=ZONE) for end in YEARS)

    def by(f: Any) -> Any:
        local = f["when"].dt.tz_convert(ZONE).rename("when")
        return (BY | ROUNDED)[name](f.assign(when=local))

    counts(by, private(df, ends), df, df["when"].between(*ends))


def test_the_labels_in_order() -> None:
    f = private(trips())
    first, last = datetime.date(2019, 11, 3), datetime.date(2021, 2, 1)
    assert f.groupby(f["when"].dt.year)._groups.keys.labels == (2019, 2020, 2021)
    dates = f.groupby(f["when"].dt.date)._groups.keys.labels
    assert (dates[0], dates[-1], len(dates)) == (first, last, (last - first).days + 1)
    months = f.groupby(f["when"].dt.to_period("M"))._groups.keys.labels
    assert months == tuple(pd.period_range("2019-11", "2021-02", freq="M"))
    assert f.groupby(f["hour"] // 6)._groups.keys.labels == (0, 1, 2, 3)
    assert f.groupby(f["hour"] / 12)._groups.keys.labels[:2] == (0.0, 1 / 12)


def test_years_bound_themselves() -> None:
    f = private(trips())
    assert 2019 <= f["when"].dt.year.mean(epsilon=1) <= 2021
    assert f["hour"].mul(2)._table.declared((f["hour"] * 2)._expression) is not None


#: Of which the zone of the rows would have to be read, or too many labels would follow.
SILENT: dict[str, tuple[Any, Line]] = {
    "zone not named": (tuple(pd.Timestamp(end, tz=ZONE) for end in YEARS), BY["years"]),
    "days, zone not named": (YEARS, ROUNDED["days"]),
    "minutes": (YEARS, lambda f: f["when"].dt.floor("min")),
    "milliseconds as periods": (YEARS, lambda f: f["when"].dt.to_period("ms")),
    "times themselves": (YEARS, lambda f: f["when"]),
}


@pytest.mark.parametrize("name", SILENT)
def test_other_times_need_keys(name: str) -> None:
    when, by = SILENT[name]
    f = private(trips(ZONE), when)
    said = refusal(lambda: f.groupby(by(f)), error=MissingArgument)
    assert all(word in said for word in ("resample(", "range="))


def test_numbers_that_are_none_are_no_labels() -> None:
    f = private(trips())
    assert f.groupby(12 / f["hour"])._groups.keys.labels[-1] == 12.0
    with pytest.raises(MissingArgument, match="keys="):
        f.groupby(f["hour"] // 0)
    with pytest.raises(MissingArgument, match="keys="):
        f.groupby(f["hour"] // f["hour"])
