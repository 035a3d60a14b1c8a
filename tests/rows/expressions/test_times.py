"""Times and durations: what pandas says on clean data, by cell in mixed columns."""

import datetime
import math
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import RecordError, SourceError, UnsupportedExpression
from dppandas.rows.expressions import Column, Expression, TimePart
from dppandas.rows.expressions.times import PARTS
from dppandas.rows.facts.keys import is_missing
from dppandas.rows.facts.spans import TICKS, Ruler, Span, tick_of
from dppandas.rows.values.forms import Instants, Vector
from dppandas.rows.values.vectors import as_objects
from dppandas.statistics import Layout

#: Cells of all sorts are read one by one here, whatever their column is.
pytestmark = pytest.mark.usefixtures("any_kind")

BERLIN = "Europe/Berlin"
EPOCH = pd.Timestamp("1970-01-01").as_unit("us")
THREE = st.lists(st.integers(-(2**50), 2**50), min_size=3, max_size=3)


def column(values: Any, frame: pd.DataFrame | None = None) -> dp.types.PrivateSeries:
    table = pd.DataFrame({"x": values}) if frame is None else frame.assign(x=values)
    series: dp.types.PrivateSeries = dp.private(table, unit="row")["x"]
    return series


def cells(private: dp.types.PrivateSeries) -> list[Any]:
    """What an expression says of each row, missing ones as None."""
    expression: Expression = private._expression
    table = private._table.engine.made()._rows()
    found = expression.vector(table.block(0, len(table)))
    return [None if is_missing(value) else value for value in as_objects(found)]


def approx(values: list[Any]) -> list[Any]:
    """pandas 2.2 counts seconds by another formula, which differs in the last bit."""
    return [pytest.approx(v, rel=1e-12, abs=1e-9) if type(v) is float else v for v in values]


def plainly(series: pd.Series) -> list[Any]:
    return [None if value is pd.NaT or value != value else value for value in series.tolist()]


def times(micros: list[int], unit: str, zone: str | None) -> pd.Series:
    index = pd.DatetimeIndex(np.array(micros, dtype="M8[us]")).as_unit(unit)
    series = pd.Series(index if zone is None else index.tz_localize("UTC").tz_convert(zone))
    return pd.concat([series, pd.Series([pd.NaT], dtype=series.dtype)], ignore_index=True)


@settings(max_examples=60)
@given(
    THREE, THREE, st.sampled_from(["us", "ns", "ms"]), st.sampled_from([None, "UTC", BERLIN]),
    st.booleans(),
)  # fmt: skip
def test_sums_and_differences_are_those_of_pandas(
    one: list[int], other: list[int], unit: str, zone: str | None, as_objects: bool
) -> None:
    a, b = times(one, unit, zone), times(other, unit, zone)
    lengths = pd.Series(np.array([*other, 7], dtype="m8[us]"))
    frame = pd.DataFrame({"a": a, "b": b, "d": lengths})
    if as_objects:
        frame = frame.astype(object)
    p = dp.private(frame, unit="row")
    columns = (p["a"], p["b"], p["d"])
    for made, exact in zip(computed(*columns), computed(a, b, lengths), strict=True):
        assert cells(made) == approx(plainly(exact)), made


def computed(a: Any, b: Any, d: Any) -> list[Any]:
    hour, between = pd.Timedelta("1h"), (a - b).dt
    return [
        a - b, a + d, d + a, a - d, d - d, -d, abs(d), +d, d * 3, 2 * d, d / hour, d // hour,
        d % hour, between.days, between.seconds, between.microseconds, d.dt.total_seconds(),
    ]  # fmt: skip


LITERALS: list[tuple[Any, Callable[[Any, Any], Any]]] = [
    (pd.Timestamp("2020-01-31 12:00"), operator.sub), (pd.Timedelta("36h"), operator.add),
    (datetime.datetime(2020, 1, 31, 12), operator.sub), (np.timedelta64(36, "h"), operator.add),
    (np.datetime64("2020-01-31T12:00"), operator.sub),
    (datetime.timedelta(hours=36), operator.sub),
]  # fmt: skip


@pytest.mark.parametrize(("value", "operation"), LITERALS)
def test_plain_values_stand_on_either_side(value: Any, operation: Callable[..., Any]) -> None:
    when = pd.Series([pd.Timestamp("2020-01-01"), pd.Timestamp("2024-02-29 23:59:59.5"), pd.NaT])
    assert cells(operation(column(when), value)) == plainly(operation(when, value))
    if operation is operator.sub and not isinstance(value, datetime.timedelta | np.timedelta64):
        assert cells(value - column(when)) == plainly(value - when)
    if operation is operator.add:
        assert cells(value + column(when)) == plainly(value + when)


def test_a_query_string_computes_with_times() -> None:
    ends = pd.to_datetime(["2020-01-09", "2020-01-01"])
    p = dp.private(pd.DataFrame({"end": ends, "start": ends[1]}), unit="row")
    week = pd.Timedelta("7D")
    assert cells(p.assign(long="end - start > @week")["long"]) == [True, False]
    assert cells(p.assign(x="end - @week")["x"]) == list(ends - week)
    with pytest.raises(UnsupportedExpression, match="isn't a number, a time or a duration"):
        p.query("end - 'x' > @week")


MIXED = [
    pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02", tz=BERLIN),
    datetime.datetime(2020, 1, 2), pd.Timedelta("2D"), 5, 2.5, "text", None, pd.NaT,
    pd.Timestamp("2020-01-02 00:00:00.000000001"),
]  # fmt: skip


def test_a_cell_is_what_it_is_wherever_it_stands() -> None:
    """Beside any others, every operation makes of a pair what it makes of that pair alone."""
    pairs = [(a, b) for a in MIXED for b in MIXED]
    frame = pd.DataFrame({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}, dtype=object)
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        p = dp.private(frame, unit="row")
        for (a, b), found in zip(pairs, cells(operation(p["a"], p["b"])), strict=True):
            alone = dp.private(pd.DataFrame({"a": [a], "b": [b]}, dtype=object), unit="row")
            (said,) = cells(operation(alone["a"], alone["b"]))
            assert found == said, (a, b, operation)


def test_sorts_that_do_not_go_together_are_missing() -> None:
    naive, zoned = pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02", tz=BERLIN)
    frame = pd.DataFrame({"a": [naive, naive, naive, 5, zoned],
                          "b": [zoned, 5, naive, zoned, naive]})  # fmt: skip
    p = dp.private(frame.astype(object), unit="row")
    assert cells(p["a"] - p["b"]) == [None, None, pd.Timedelta(0), None, None]
    assert cells(p["a"] + p["b"]) == [None] * 5
    assert cells(p["a"] * p["b"]) == [None] * 5


def test_a_zoned_time_moves_by_its_instant_and_stays_in_its_zone() -> None:
    when = pd.Series(pd.to_datetime(["2020-03-28 12:00"])).dt.tz_localize(BERLIN)
    (moved,) = cells(column(when) + pd.Timedelta("1D"))
    assert moved == when[0] + pd.Timedelta("1D")
    assert str(moved.tz) == BERLIN
    tokyo = pd.Timestamp("2020-01-01", tz="Asia/Tokyo")
    both = column(pd.Series([when[0], tokyo], dtype=object)) + pd.Timedelta("1h")
    assert [str(time.tz) for time in cells(both)] == [BERLIN, "Asia/Tokyo"]


def test_what_overflows_is_missing() -> None:
    last = np.array([2**63 - 1, 0], dtype="M8[us]")
    assert cells(column(pd.Series(last)) + pd.Timedelta("1D")) == [None, pd.Timestamp("1970-01-02")]
    wide = column(pd.Series(np.array([2**62, 1], dtype="m8[us]")))
    assert cells(wide * 4)[0] is None
    assert cells(wide / 0) == [None, None]
    assert cells(wide * np.inf) == [None, None]
    assert cells(wide * 1) == cells(wide)


# --- .dt ------------------------------------------------------------------------------------------

FORMATS = [
    "%Y-%m-%d %H:%M:%S.%f", "%a %A %b %B", "%I %p", "%j %U %W", "%G-W%V-%u %w", "%y%%", "100 %z%Z",
    "no directive",
]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "UTC", BERLIN])
@pytest.mark.parametrize("form", FORMATS)
def test_strftime_is_pythons(form: str, zone: str | None) -> None:
    when = times([0, 10**15 + 7, 1582934399_000001, 1667091600 * 10**6, 2**50], "us", zone)
    texts = [None if t is pd.NaT else t.strftime(form) for t in when]
    assert cells(column(when).dt.strftime(form)) == texts


@settings(max_examples=200)
@given(st.datetimes(min_value=datetime.datetime(1000, 1, 1)))
def test_weeks_are_counted_as_python_counts_them(time: datetime.datetime) -> None:
    form = "%U %W %V %G %j %I"
    (found,) = cells(column([time]).dt.strftime(form))
    assert found == time.strftime(form)


def test_tz_convert_and_to_period_are_those_of_pandas() -> None:
    zoned = times([0, 10**15 + 7, 1667091600 * 10**6], "us", BERLIN)
    assert cells(column(zoned).dt.tz_convert("Asia/Tokyo")) == plainly(zoned.dt.tz_convert("UTC"))
    hours = column(zoned).dt.tz_convert("Asia/Tokyo").dt.hour
    assert cells(hours) == plainly(zoned.dt.tz_convert("Asia/Tokyo").dt.hour)
    assert cells(column(zoned).dt.tz_convert(None)) == plainly(zoned.dt.tz_convert(None))
    naive = times([0, 10**15 + 7], "us", None)
    assert cells(column(naive).dt.tz_convert("UTC")) == [None] * 3
    for freq in ("M", "Q", "D", "W", "Y", "h"):
        assert cells(column(naive).dt.to_period(freq)) == plainly(naive.dt.to_period(freq))
        by_clock = zoned.dt.tz_localize(None).dt.to_period(freq)
        assert cells(column(zoned).dt.to_period(freq)) == plainly(by_clock)


@pytest.mark.parametrize("compare", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_periods_compare_with_periods_of_their_frequency(compare: str, exact: None) -> None:
    when = pd.Series(pd.to_datetime(["2020-01-31", "2020-02-29", "2020-03-01", None] * 5))
    june = pd.Series([pd.Timestamp("2020-02-10"), pd.NaT] * 10)
    month = pd.Period("2020-02", "M")
    ask = getattr(operator, compare)
    people = dp.private(pd.DataFrame({"a": when, "b": june}), unit="row")
    a, b = people["a"].dt.to_period("M"), people["b"].dt.to_period("M")
    assert people[ask(a, month)].count(epsilon=1) == ask(when.dt.to_period("M"), month).sum()
    both = ask(when.dt.to_period("M"), june.dt.to_period("M"))
    assert people[ask(a, b)].count(epsilon=1) == both.sum()


def test_periods_are_keys(exact: None) -> None:
    when = pd.Series(pd.to_datetime(["2020-01-05", "2020-02-01", "2020-01-31"]))
    months = pd.period_range("2020-01", "2020-03", freq="M")
    found = column(when).dt.to_period("M").value_counts(keys=months, sort=False, epsilon=1)
    assert found.tolist() == [2, 1, 0]
    assert found.index.tolist() == list(months)


@pytest.mark.parametrize(("asked", "says"), [
    (lambda dt: dt.strftime("%c"), "%c doesn't mean the same on every machine"),
    (lambda dt: dt.strftime("%-d"), "%- doesn't mean"),
    (lambda dt: dt.strftime("50%"), "% doesn't mean"),
    (lambda dt: dt.strftime(None), "must be a string"),
    (lambda dt: dt.tz_convert("Mars/Olympus"), "must name a time zone"),
    (lambda dt: dt.tz_convert("dateutil/Europe/Berlin"), "must name a time zone"),
    (lambda dt: dt.tz_convert(3), "must name a time zone"),
    (lambda dt: dt.to_period("ME?"), "must be a frequency of periods"),
    (lambda dt: dt.to_period(3), "must be a string"),
    (lambda dt: dt.tz_localize("Mars/Olympus"), "must name a time zone"),
    (lambda dt: dt.tz, "if it has zones"),
])  # fmt: skip
def test_what_dt_refuses(asked: Callable[[Any], Any], says: str) -> None:
    refusal(lambda: asked(column(pd.to_datetime(["2020-01-01"]).to_series()).dt), says, dp.DPError)


# --- bounds and answers ---------------------------------------------------------------------------

WEEK = pd.Timedelta("7D")
NAIVE = (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))
YEAR = ("2020-01-01", "2021-01-01")


def year(zone: str | None = None, rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D")
    if zone is not None:
        when = when.tz_localize(zone)
    frame = pd.DataFrame({"when": when, "group": rng.choice(["a", "b"], rows)})
    return frame.assign(wait=pd.to_timedelta(rng.integers(0, 604_800, rows), unit="s"))


def bounds(zone: str | None) -> Any:
    return YEAR if zone is None else tuple(pd.Timestamp(end, tz=zone) for end in YEAR)


@pytest.mark.parametrize("zone", [None, "UTC", BERLIN])
@pytest.mark.parametrize("how", ["mean", "median", "min", "max", "std"])
@pytest.mark.filterwarnings("ignore:the smallest or largest")
def test_answers_of_times_are_those_of_pandas(how: str, zone: str | None, exact: None) -> None:
    when = year(zone)["when"]
    found = getattr(when.dp, how)(bounds=bounds(zone), epsilon=64)
    exact = getattr(when, how)()
    assert isinstance(found, pd.Timedelta if how == "std" else pd.Timestamp)
    assert abs(found - exact) <= pd.Timedelta("3D" if how in ("min", "max") else "1s")
    if how != "std":
        assert str(found.tz) == str(exact.tz)
    assert isinstance(dp.record(found).query, str)


@pytest.mark.parametrize("how", ["sum", "mean", "median", "std"])
def test_answers_of_durations_are_those_of_pandas(how: str, exact: None) -> None:
    wait = year()["wait"]
    found = getattr(wait.dp, how)(bounds=(pd.Timedelta(0), pd.Timedelta("7D")), epsilon=1)
    assert isinstance(found, pd.Timedelta)
    near = pd.Timedelta("1min") if how == "sum" else pd.Timedelta("1s")
    assert abs(found - getattr(wait, how)()) <= near


def test_a_released_time_knows_its_error_and_interval() -> None:
    when = year()["when"]
    mean = when.dp.mean(bounds=YEAR, epsilon=1)
    low, high = mean.interval()
    assert mean.error() == dp.record(mean).errors() / pd.Timedelta("1s")
    assert low <= mean <= high
    assert mean - dp.record(mean).errors() <= high
    assert dp.record(mean).epsilon == 1
    assert type(mean + pd.Timedelta(0)) is pd.Timestamp
    again = pickle.loads(pickle.dumps(mean))
    assert again == mean
    assert again.error() == mean.error()
    median = when.dp.median(bounds=YEAR, epsilon=1)
    assert isinstance(median.error(), float)
    refusal(lambda: median.interval(), "no interval", RecordError)
    assert "days" in dp.ledger().to_frame()["error"].iloc[0]


def test_tables_have_the_dtypes_that_public_facts_fix() -> None:
    p = dp.private(year(BERLIN), unit="row")
    both = {"when": bounds(BERLIN), "wait": (pd.Timedelta(0), pd.Timedelta("7D"))}
    by = p.groupby("group", keys=["a", "b"])
    means = by[["when", "wait"]].mean(bounds=both, epsilon=1)
    zoned = pd.DatetimeTZDtype("us", BERLIN)
    assert means.dtypes.tolist() == [zoned, np.dtype("m8[us]")]
    ends = dp.record(means).intervals()
    assert ends["when"]["lower"].dtype == zoned
    assert (ends["when"]["lower"] <= ends["when"]["upper"]).all()
    assert dp.record(means).errors().dtypes.tolist() == [np.dtype("m8[us]")] * 2
    quartiles = p["when"].quantile([0.25, 0.75], bounds=bounds(BERLIN), epsilon=1)
    assert quartiles.dtype == zoned
    assert quartiles.is_monotonic_increasing
    mixed = p.assign(n=1)[["n", "when"]].mean(bounds={"n": (0, 2), "when": both["when"]}, epsilon=1)
    assert isinstance(mixed["n"], float)
    assert isinstance(mixed["when"], pd.Timestamp)
    described = p["when"].describe(bounds=bounds(BERLIN), epsilon=1)
    kinds = {"count": int, "mean": pd.Timestamp, "50%": pd.Timestamp}
    assert "std" not in described  # as in pandas
    assert {row: type(described[row]) for row in kinds} == kinds
    table = p[["when", "wait"]].describe(bounds=both, epsilon=1)
    assert isinstance(table.loc["std", "when"], pd.Timedelta)
    grouped = by["when"].describe(bounds=bounds(BERLIN), epsilon=1)
    assert "std" not in grouped
    assert grouped["count"].dtype == np.float64 or grouped["count"].dtype == object


def test_histograms_of_times(exact: None) -> None:
    when = year()["when"]
    found = when.dp.hist(bins=4, range=YEAR, epsilon=1)
    edges = pd.DatetimeIndex([interval.left for interval in found.index] + [pd.Timestamp(YEAR[1])])
    micros = (each.astype("M8[us]").astype(int) for each in (when, edges))
    assert found.tolist() == np.histogram(*micros)[0].tolist()
    days = [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-03-01"), pd.Timestamp("2020-05-01")]
    found = when.dp.hist(bins=days, epsilon=1)
    exact = pd.cut(when, days, right=False).value_counts(sort=False)
    assert abs(found.to_numpy() - exact.to_numpy()).sum() <= (when == days[-1]).sum()
    assert isinstance(found.index, pd.IntervalIndex)
    waits = year()["wait"].dp.hist(bins=7, range=(pd.Timedelta(0), pd.Timedelta("7D")), epsilon=1)
    assert waits.sum() == 400


def test_clip_and_domain_declare_spans(exact: None) -> None:
    frame = year()
    p = dp.protect(frame, name="visits", domain={"when": YEAR})
    assert abs(p["when"].mean(epsilon=1) - frame["when"].mean()) <= pd.Timedelta("1s")
    assert "2020-01-01" in p.describe().loc["when", "bounds"]
    spring = (pd.Timestamp("2020-03-01"), pd.Timestamp("2020-05-01"))
    clipped = p["when"].clip(*spring)
    assert cells(clipped) == plainly(frame["when"].clip(*spring))
    assert abs(clipped.mean(epsilon=1) - frame["when"].clip(*spring).mean()) <= pd.Timedelta("1s")
    assert cells(p["when"].clip(lower=spring[0])) == plainly(frame["when"].clip(lower=spring[0]))
    week = (pd.Timedelta("1D"), pd.Timedelta("2D"))
    assert cells(p["wait"].clip(*week)) == plainly(frame["wait"].clip(*week))


@pytest.mark.parametrize(("asked", "says"), [
    (lambda p: p["when"].sum(bounds=YEAR, epsilon=1), "times have no sum"),
    (lambda p: p["when"].var(bounds=YEAR, epsilon=1), "Ask for .std"),
    (lambda p: p["when"].mean(bounds=YEAR[::-1], epsilon=1), "the lower first"),
    (lambda p: p["when"].mean(bounds=(YEAR[0], 5), epsilon=1), "two times or two durations"),
    (lambda p: p["when"].mean(bounds=(YEAR[0], pd.Timedelta(1)), epsilon=1), "two times"),
    (lambda p: p["when"].mean(bounds=(bounds("UTC")[0], bounds(BERLIN)[1]), epsilon=1), "one zone"),
    (lambda p: p["when"].mean(bounds=("now", "today"), epsilon=1), "two finite numbers"),
    (lambda p: p["when"].mean(bounds=(pd.NaT, pd.NaT), epsilon=1), "two finite numbers"),
    (lambda p: p["when"].cov(p["wait"], bounds=YEAR, epsilon=1), "numbers only"),
    (lambda p: p["when"].median(bounds=YEAR, step=1, epsilon=1), "must be a duration"),
    (lambda p: p["wait"].sum(bounds=YEAR, epsilon=1), "of kind duration. Give durations"),
    (lambda p: p["zoned"].mean(bounds=NAIVE, epsilon=1), "of kind zoned time. Give times in a"),
    (lambda p: (p["when"] - p["zoned"]).count(epsilon=1), "of kind zoned time|of kind time"),
    (lambda p: (p["when"] + p["when"]).count(epsilon=1), "of kind time"),
    (lambda p: (p["when"] * 2).count(epsilon=1), "of kind time"),
    (lambda p: (p["wait"] + 2).count(epsilon=1), "of kind duration"),
    (lambda p: (-p["when"]).count(epsilon=1), "of kind time"),
    (lambda p: p["when"].dt.tz_convert("UTC").count(epsilon=1), "of kind time"),
    (lambda p: p["when"].hist(bins=[YEAR[1], YEAR[0]], epsilon=1), "the lower first"),
    (lambda p: p["when"].hist(bins=[YEAR[0], 3, YEAR[1]], epsilon=1), "of one kind"),
    (lambda p: p["when"].clip(YEAR[1], YEAR[0]), "the lower first"),
    (lambda p: p["when"].clip(YEAR[1], 3), "two times"),
])  # fmt: skip
def test_what_spans_refuse(asked: Callable[[Any], Any], says: str) -> None:
    p = dp.private(year().assign(zoned=year("UTC")["when"]), unit="row")
    refusal(lambda: asked(p), says, dp.DPError)


SCHEMA = {
    "when": "time", "zoned": "zoned time", "wait": "duration", "n": "number", "any": "unknown",
}  # fmt: skip
KINDS = [
    (lambda p: p["when"] - p["when"], "duration"), (lambda p: p["when"] + p["wait"], "time"),
    (lambda p: p["wait"] + p["zoned"], "zoned time"), (lambda p: p["wait"] * p["n"], "duration"),
    (lambda p: p["wait"] / p["wait"], "number"), (lambda p: p["n"] ** 2, "number"),
    (lambda p: p["when"] - p["any"], "unknown"), (lambda p: p["any"] / p["n"], "unknown"),
    (lambda p: p["any"] ** 2, "number"), (lambda p: abs(-p["wait"]), "duration"),
    (lambda p: p["when"].clip(*YEAR), "time"), (lambda p: p["zoned"].dt.tz_convert(None), "time"),
    (lambda p: p["zoned"].dt.tz_convert("UTC"), "zoned time"),
    (lambda p: p["when"].dt.strftime("%Y"), "text"),
    (lambda p: p["when"].dt.to_period("M"), "period[M]"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "kind"), KINDS)
def test_kinds_follow(made: Callable[[Any], Any], kind: str) -> None:
    frame = year().assign(zoned=year("UTC")["when"], n=1.0, any=pd.Series([1] * 400, dtype=object))
    p = dp.private(frame, unit="row")
    assert made(p)._expression.kind(SCHEMA) == kind


# --- texts and periods ----------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [None, "UTC", BERLIN])
def test_texts_mean_the_clock_on_the_wall(zone: str | None, exact: None) -> None:
    """In bounds, keys, Groupers, comparisons and query strings alike, with a zone or without."""
    frame = year(zone)
    clock = frame["when"].dt.tz_localize(None)
    p = dp.private(frame, unit="row")
    mean = p["when"].mean(bounds=YEAR, epsilon=1)
    assert abs(mean - clock.mean()) <= pd.Timedelta("1s")
    assert mean.tz is None
    by = pd.Grouper(key="when", freq="MS")
    found = p.groupby(by, range=("2020-01-01", "2020-12-31"))["group"].count(epsilon=1)
    assert found.tolist() == clock.dt.month.value_counts().sort_index().tolist()
    assert found.index.equals(pd.date_range("2020-01-01", periods=12, freq="MS", name="when"))
    day = "2020-02-29"
    exact = int((clock == day).sum())
    masks = (p["when"] == day, p["when"].isin([day]), p["when"].between(day, day))
    queries = (p.query(f"when == '{day}'"), p.query(f"when in ['{day}']"))
    for kept in (*[p[mask] for mask in masks], *queries):
        assert kept.count(epsilon=1) == exact
    assert p["when"].value_counts(keys=[day], epsilon=1).tolist() == [exact]
    (two_days,) = p["when"].hist(bins=1, range=(day, "2020-03-01"), epsilon=1)
    assert two_days == clock.between(day, "2020-03-01").sum()


def test_texts_mean_text_cells_and_time_cells_by_cell(exact: None) -> None:
    day = pd.Timestamp("2020-02-29")
    values = [day, day.tz_localize(BERLIN), "2020-02-29", 5, None, day.tz_localize("UTC")]
    mixed = column(pd.Series(values, dtype=object))
    assert mixed.value_counts(keys=["2020-02-29"], epsilon=1).tolist() == [4]
    table = dp.private(pd.DataFrame({"x": pd.Series(values, dtype=object)}), unit="row")
    by = pd.Grouper(key="x", freq="D")
    found = table.groupby(by, range=("2020-02-28", "2020-03-01")).size(epsilon=1)
    assert found.tolist() == [0, 3, 0]  # a text in the data becomes a time where a cast says so
    span = (pd.Timestamp("2020-02-28"), pd.Timestamp("2020-03-01"))
    assert table.groupby(by, range=span).size(epsilon=1).tolist() == [0, 1, 0]


def test_a_grouper_of_times_without_a_zone_is_refused_for_a_column_with_one() -> None:
    p, by = dp.private(year(BERLIN), unit="row"), pd.Grouper(key="when", freq="MS")
    refusal(lambda: p.groupby(by, range=NAIVE).size(epsilon=1), "zoned time")


# --- a row for each unit --------------------------------------------------------------------------


def visits() -> pd.DataFrame:
    when = pd.to_datetime(["2020-01-03", "2020-01-01", "2020-02-01", None, None])
    frame = pd.DataFrame({"person": [1, 1, 2, 2, 3], "when": when, "text": list("bacdz")})
    return frame.assign(wait=pd.to_timedelta([3, 1, 2, 5, None], unit="h"))


def test_per_unit_takes_text_and_times() -> None:
    frame = visits()
    units = frame.groupby("person")
    for how in ("min", "max"):
        made = dp.private(frame, unit="person", max_rows=2).per_unit()
        found = made.agg(when=("when", how), text=("text", how), wait=("wait", how))
        for name in ("when", "text", "wait"):
            exact = getattr(units[name], how)()
            by_person = dict(zip(cells(found["person"]), cells(found[name]), strict=True))
            assert by_person == dict(zip(exact.index, plainly(exact), strict=True))


def test_the_first_of_a_unit_is_one_of_its_values_and_never_a_missing_one() -> None:
    """Of which row is a matter of hashes: tests/columns/test_rowwise.py shuffles the rows."""
    frame = visits()
    made = dp.private(frame, unit="person", max_rows=2).per_unit()
    found = made.agg(text=("text", "first"), when=("when", "first"))
    texts = dict(zip(cells(found["person"]), cells(found["text"]), strict=True))
    assert all(text in set(frame["text"][frame["person"] == u]) for u, text in texts.items())
    times = dict(zip(cells(found["person"]), cells(found["when"]), strict=True))
    assert times[2] == pd.Timestamp("2020-02-01")
    assert times[3] is None


def test_what_is_chosen_keeps_its_kind_and_domain(exact: None) -> None:
    domain = {"when": YEAR, "text": list("abcdz")}
    p = dp.protect(visits(), name="visits", unit="person", max_rows=2, domain=domain)
    made = p.per_unit().agg(last=("when", "max"), text=("text", "first"), n="size")
    assert isinstance(made["last"].mean(epsilon=1), pd.Timestamp)
    assert made["text"].value_counts(epsilon=1).sum() == 3
    refusal(lambda: made["last"].mean(bounds=(0, 1), epsilon=1), "of kind time")
    refusal(lambda: p.per_unit().agg(m=("when", "sum")), "of kind time")
    refusal(lambda: p.per_unit().agg(m=("when", "lats")), "first, last, count")


# --- asked by error -------------------------------------------------------------------------------


def test_an_error_of_times_is_asked_for_as_a_duration() -> None:
    p = dp.protect(year(rows=3000), name="year", domain={"when": YEAR})
    day, nano = pd.Timedelta("1D"), pd.Timedelta(1)
    mean = p["when"].mean(within=day, expected_rows=3000)
    assert dp.record(mean).errors() <= pd.Timedelta("2D")
    loss = dp.record(mean).epsilon
    assert p["when"].mean().expected_error(epsilon=loss, expected_rows=3000) <= day
    total = p["wait"].sum(bounds=(pd.Timedelta(0), pd.Timedelta("7D")), within=pd.Timedelta("70D"))
    assert dp.record(total).errors() <= pd.Timedelta("70D")
    assert p["when"].median(within=40).error() <= 40
    for asked, says in (
        (lambda: p["when"].mean(within=3, expected_rows=9), "a duration: give a pd.Timedelta"),
        (lambda: p["when"].median(within=day), "no duration: give a number"),
        (lambda: p["wait"].count(within=day), "no duration: give a number"),
        (lambda: p["when"].mean(within=-day, expected_rows=9), "a positive duration"),
        (lambda: p["when"].mean(within=nano, expected_rows=9), "least error, at epsilon"),
    ):
        refusal(asked, says)


# --- the ruler ------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.sampled_from(["D", "h", "min"]))
def test_intervals_are_rounded_outwards(number: float, unit: str) -> None:
    """And errors up, so that they hold whenever those of numbers do."""
    span = Span.parse((pd.Timestamp("1900-01-01"), pd.Timestamp("2100-01-01")), "when")
    assert span is not None
    ruler = Ruler(span, pd.Timedelta(1, unit).value)
    layout = Layout(integer=False, rulers=(ruler,))
    exact = min(max(Fraction(number) * ruler.tick + span.lower, span.lower), span.upper)
    ways = (math.floor, math.ceil)
    (low,), (high,) = (layout.typed([number], lambda i: "value", way) for way in ways)
    assert low.value <= exact <= high.value
    assert high - low <= pd.Timedelta(1, unit)


def test_an_interval_of_times_holds_that_of_its_numbers() -> None:
    """Rounded to the nearest second, an end of these would lie inside, but once in 2^20."""
    start = pd.Timestamp(YEAR[0])
    for _ in range(10):
        record = dp.record(year()["when"].dp.mean(bounds=YEAR, epsilon=1))
        ((low, high),) = record._intervals(0.95)
        assert record.intervals()[0] <= start + pd.Timedelta(seconds=low)
        assert record.intervals()[1] >= start + pd.Timedelta(seconds=high)
        assert record.intervals()[0].nanosecond == record.intervals()[0].microsecond == 0


def test_whole_ticks_are_points_of_the_grid() -> None:
    when = pd.Series(pd.to_datetime(["2020-01-01", "2020-02-03", "2020-12-31"] * 200))
    assert when.dp.median(bounds=YEAR, epsilon=64) == pd.Timestamp("2020-02-03")


TIME = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))


@given(st.tuples(TIME, TIME))
def test_a_ruler_keeps_order_and_ends(ends: tuple[datetime.datetime, datetime.datetime]) -> None:
    span = Span.parse(tuple(sorted(ends)), "when")
    assert span is not None
    ruler = Ruler(span, tick_of([span]))
    low, high = ruler.ends
    assert (low, ruler.place(low)) == (0.0, span.ends[0])
    assert high <= 2**30 or ruler.tick == TICKS[-1]
    assert ruler.place(high) <= span.ends[1]


def test_facts_of_times_are_declared_later_too(exact: None) -> None:
    people = dp.protect(year(), name="later").declare(when=YEAR, wait=(pd.Timedelta(0), WEEK))
    assert isinstance(people["when"].median(epsilon=1), pd.Timestamp)
    assert isinstance(people["wait"].sum(epsilon=1), pd.Timedelta)
    refusal(lambda: people.declare(when=("2019-01-01", "2020-01-01")), "when", SourceError)


def test_a_released_time_is_replayed_and_previewed(tmp_path: Any) -> None:
    answers = []
    for _ in range(2):
        anew(epsilon=1, store=tmp_path / "times.ledger")
        p = dp.protect(year(), name="kept", version="1", domain={"when": YEAR})
        with dp.preview():
            planned = p["when"].mean(epsilon=0.25)
        assert isinstance(planned, pd.Timestamp)
        answers.append((p["when"].mean(epsilon=0.5), p["when"].quantile([0.5, 0.9], epsilon=0.25)))
    (mean, quantiles), (again, others) = answers
    assert mean == again
    assert mean.interval() == again.interval()
    pd.testing.assert_series_equal(quantiles, others)


# --- parts of times, counted by numpy or one by one -----------------------------------------------

#: Clocks that skip and repeat hours, some of them at midnight, and that have odd offsets.
ZONES = [None, "UTC", BERLIN, "America/Sao_Paulo", "America/St_Johns", "Asia/Kathmandu", "+05:30"]
FREQUENCIES = ["h", "D", "15min", "7D", "s", "us", "3us", "ns", "1D1h", "36500D", "333us"]
ALL_PARTS = [(part, "") for part in (*PARTS, "day_name", "month_name", "date", "normalize")]
ALL_PARTS += [(part, f) for part in ("floor", "ceil", "round") for f in FREQUENCIES]
DAY_LONG = 86_400 * 10**6


class OneColumn:
    """A chunk of one column."""

    def __init__(self, held: Vector) -> None:
        self.held, self.rows = held, len(held)

    def column(self, name: Any) -> Vector:
        return self.held


@st.composite
def instants(draw: Any) -> Instants:
    """Times of a few centuries, at edges of days and hours as often as anywhere, some missing."""
    anywhere = st.integers(-8 * 10**15, 8 * 10**15)
    days = st.integers(-90_000, 90_000).map(lambda day: day * DAY_LONG)
    hours = st.integers(-(10**5), 10**5).map(lambda hour: hour * DAY_LONG // 48 + 1)
    micros = draw(st.lists(st.one_of(anywhere, days, hours, st.integers(-9, 9)), min_size=1))
    size = {"min_size": len(micros), "max_size": len(micros)}
    nanos = draw(st.none() | st.lists(st.sampled_from([0, 1, 499, 500, 501, 999]), **size))
    missing = draw(st.none() | st.lists(st.booleans(), **size))
    return Instants(
        np.array(micros), None if nanos is None else np.array(nanos),
        None if missing is None else np.array(missing), draw(st.sampled_from(ZONES)),
    )  # fmt: skip


@given(instants(), st.sampled_from(ALL_PARTS))
@settings(max_examples=400, deadline=None)
def test_parts_are_the_same_counted_by_numpy_or_asked_of_pandas(
    held: Instants, part: tuple[str, str]
) -> None:
    """Times that lie in codes and levels are asked one by one."""
    expression = TimePart(Column("when"), *part)
    counted, asked = (
        as_objects(expression.vector(OneColumn(of)))  # type: ignore[arg-type]
        for of in (held, held.coded())
    )
    assert [(type(x), x) for x in counted] == [(type(x), x) for x in asked]


def test_far_times_are_asked_one_by_one() -> None:
    """pandas and Python don't agree there, and steps would overflow."""
    far = Instants(np.array([0, 2**62, -(2**62), 9 * 10**15]))
    for part in ALL_PARTS:
        expression = TimePart(Column("when"), *part)
        found = as_objects(expression.vector(OneColumn(far)))  # type: ignore[arg-type]
        asked = as_objects(expression.vector(OneColumn(far.coded())))  # type: ignore[arg-type]
        assert found.tolist() == asked.tolist()
