"""`dppandas.intervals`, and which objects still show what was released."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from draws import ALARM, NEAR, at_most
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

import dppandas as dp
from dppandas.errors import QueryError, RecordError
from dppandas.release.answers.intervals import _of_each, relative_errors
from dppandas.release.answers.matching import comparable, located
from dppandas.rows.facts.keys import is_missing

COLUMNS = [
    "value", "error", "low", "high", "unit", "noise_dominated", "may_be_empty", "relative",
]  # fmt: skip


# --- intervals ------------------------------------------------------------------------------------


def test_flags_are_those_at_95_percent_at_any_confidence(exact: None) -> None:
    rows = pd.Series(["a"] * 20 + ["b"] * 400, name="k")
    counts = rows.dp.value_counts(keys=["a", "b"], epsilon="0.1")
    flags = {
        confidence: dp.intervals(counts, confidence)["noise_dominated"].to_dict()
        for confidence in (0.5, 0.95, 0.999)
    }
    narrow = dp.intervals(counts, 0.5).loc["a"]
    assert flags[0.5] == flags[0.95] == flags[0.999] == {"a": True, "b": False}
    assert narrow["low"] > 0, "the interval that was asked for would say otherwise"


@pytest.mark.parametrize(
    "name", [*ops.EVERY, *ops.OF_UNITS, *ops.UNKNOWN, *ops.EXPERIMENTAL, *ops.AT_DELTA]
)
@pytest.mark.filterwarnings("ignore:the smallest or largest")
def test_intervals_are_what_the_record_knows(name: str, exact: None) -> None:
    dp.session(epsilon=1000, delta="0.01", experimental=True)
    private = dp.protect(ops.schema(), "all", unit="owner", max_rows=2)
    answer = ops.released(name, private)
    record, found = dp.record(answer), dp.intervals(answer)
    if isinstance(answer, dp.types.BlockTestResult):
        answer = answer.statistic
    assert found.columns.tolist() == COLUMNS
    values = answer.to_numpy().reshape(-1) if isinstance(answer, pd.DataFrame) else answer
    is_one = not isinstance(answer, pd.Series | pd.DataFrame | pd.Index)
    assert found["value"].tolist() == ([answer] if is_one else list(values))
    if (
        name == "mode"
        or isinstance(answer, pd.Index)
        or "idxmax" in name
        or record._statistic.errors.no_interval
    ):
        assert found["low"].isna().all()
        assert found["high"].isna().all()
    if isinstance(answer, pd.Series | pd.DataFrame) and name not in ("mode", "nlargest counts"):
        errors = record.errors().to_numpy().reshape(-1)
        assert [*map(comparable, found["error"])] == [*map(comparable, errors)]
        said = record.noise_dominated
        flags = said if isinstance(said, bool | None) else said.to_numpy().reshape(-1).tolist()
        assert [None if x is pd.NA else x for x in found["noise_dominated"].tolist()] == flags
        if not record._statistic.errors.no_interval:
            ends = record.intervals()
            lows, highs = ends.to_numpy().reshape(-1)[::2], ends.to_numpy().reshape(-1)[1::2]
            assert found["low"].tolist() == lows.tolist()
            assert found["high"].tolist() == highs.tolist()
    if isinstance(answer, pd.Series | pd.Index):
        assert found.index.equals(answer if isinstance(answer, pd.Index) else answer.index)
    units = {*found["unit"]} - {""}
    assert (
        record.error_unit == "seconds"
        if units == {"time"}
        else units <= {*record.error_unit.split(", "), "time"}
    )


def test_relative_errors_are_shares_of_their_values() -> None:
    hour, values = pd.Timedelta("1h"), [10, -4, 0, 0, math.nan, np.int64(4)]
    found = relative_errors(values, [1, 2.0, 1, 0, 1, 1], ["rows"] * 6)
    assert found == pytest.approx([0.1, 0.5, math.inf, math.nan, math.nan, 0.25], nan_ok=True)
    assert relative_errors([2 * hour, -hour], [hour] * 2, ["time"] * 2) == [0.5, 1.0]
    others = [(pd.Timestamp("2020"), hour, "time"), ("a", 2, "utility"), (True, 2, "x"),
              (5, 3, "utility"), (50.0, 3, "ranks"), (5, math.nan, ""), (None, 1, "x")]  # fmt: skip
    for value, error, unit in others:
        (share,) = relative_errors([value], [error], [unit])
        assert math.isnan(share), (value, error, unit)


def test_every_table_of_intervals_has_relative_errors() -> None:
    p = dp.protect(pd.DataFrame({"x": range(900)}), "one", domain={"x": (0, 900)})
    described = p["x"].describe(epsilon=4)
    for answer in (
        described,
        dp.derive(lambda x: x.loc[["count", "mean"]] / 2, described),
        dp.local.randomized_response([True] * 300 + [False] * 700, epsilon=3).value_counts(),
    ):
        found = dp.intervals(answer)
        assert found.columns.tolist() == COLUMNS
        some = found[~found["unit"].isin(["ranks"])]
        wanted = (some["error"] / some["value"].abs()).astype(float)
        assert some["relative"].tolist() == pytest.approx(wanted.tolist())
        assert found.loc[found["unit"] == "ranks", "relative"].isna().all()


def test_tables_of_intervals_are_exported_with_their_marks(exact: None) -> None:
    p = dp.protect(pd.DataFrame({"g": ["a"] * 90}), "one", domain={"g": ["a", "b"]})
    found = dp.intervals(p["g"].value_counts(sort=False, epsilon=1))
    lines = found.to_csv().splitlines()
    assert lines[0] == ",".join(["g", *COLUMNS])
    assert [line.split(",")[6:8] for line in lines[1:]] == [["False"] * 2, ["True"] * 2]


def test_a_frame_has_a_row_for_each_number() -> None:
    table = pd.DataFrame({"g": ["a", "b"] * 99, "x": 1.0, "y": 2.0}).dp.groupby(
        "g", keys=["a", "b"]
    )
    means = table[["x", "y"]].mean(bounds=(0, 4), epsilon=10)
    found = dp.intervals(means)
    assert found.index.tolist() == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert found.index.names == ["g", None]
    assert found["unit"].tolist() == ["x", "y"] * 2
    joined = means.stack().rename("mean").to_frame().join(found)
    assert (joined["mean"] == joined["value"]).all()
    part = dp.intervals(means[["y"]].iloc[::-1])
    assert part.equals(found.iloc[[3, 1]])


def test_several_releases_are_in_one_table() -> None:
    p = dp.protect(pd.DataFrame({"x": range(900)}), "one", domain={"x": (0, 900)})
    found = dp.intervals(p["x"].describe(epsilon=4))
    assert found.index.tolist() == ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
    assert found["unit"].tolist() == ["rows", "x", "x", *["ranks"] * 5]
    assert found["low"].notna().tolist() == [True] * 3 + [False] * 5
    frame = p[["x"]].agg({"x": ["count", "median"]}, epsilon=4)
    assert dp.intervals(frame)["unit"].tolist() == ["rows", "ranks"]
    assert dp.intervals(frame.loc[["median"]])["unit"].tolist() == ["ranks"]


def test_several_releases_share_the_chance_to_fail() -> None:
    p = dp.protect(pd.DataFrame({"x": range(900)}), "one", domain={"x": (0, 900)})
    answer = p["x"].agg(["size", "mean", "median", "max"], epsilon=4)
    found, records = dp.intervals(answer, 0.8), dp.record(answer).components
    assert list(records) == found.index.tolist()
    for name, each in records.items():
        assert found.loc[name, "error"] == each.error(0.95), "1 - 0.2 / 4"
    for name in ("size", "mean"):
        assert (found.loc[name, "low"], found.loc[name, "high"]) == records[name].interval(0.95)
    shown = dp.intervals(answer[["mean"]], 0.8)
    assert shown.equals(found.loc[["mean"]]), "it may have been chosen by what it says"
    refusal(lambda: dp.intervals(answer, math.nextafter(1, 0)), "between 0 and 1", QueryError)


@given(st.floats(0.001, 0.999), st.integers(1, 99))
def test_a_shared_confidence_is_at_least_what_the_union_bound_asks(c: float, k: int) -> None:
    each = _of_each(c, k)
    assert 1 - k * (1 - Fraction(each)) >= Fraction(c)
    assert _of_each(c, 1) == c
    assert each == pytest.approx(1 - (1 - c) / k, abs=1e-15)


HOW = {"x": ["sum", "nunique"], "w": ["sum", "nunique"]}


@pytest.mark.parametrize(
    "ask",
    [
        lambda df, **loss: df.groupby("g").agg(HOW, **loss),
        lambda df, **loss: df.pivot_table("x", "g", "h", "sum", margins=True, **loss),
    ],
    ids=["agg", "pivot_table"],
)
def test_intervals_of_several_releases_hold_together(ask: Callable[..., Any]) -> None:
    """Of 300 answers of four releases, as many as stated. False alarms: at most 1e-6 (binomial,
    half for each confidence). Power: if each release had the whole confidence, all would hold
    in at most 0.25 at 50 % (seen: 0.1), and more than 0.999 of such runs fail."""
    n = 300
    df = pd.DataFrame({"x": range(10, 50), "w": [0.0, 1.0, 2.0, 3.0] * 10,
                       "g": ["a", "b"] * 20, "h": ["c", "c", "d", "d"] * 10})  # fmt: skip
    domain = {"x": (0, 99), "w": (0, 4), "g": ["a", "b"], "h": ["c", "d"]}
    true = ask(df).to_numpy().reshape(-1)
    held = {0.5: 0, 0.95: 0}
    for _ in range(n):
        dp.reset()
        p = dp.protect(df, "d", domain=domain)
        answer = ask(p, epsilon=1)
        assert len(dp.record(answer).components) == 4
        for confidence in held:
            found = dp.intervals(answer, confidence)
            held[confidence] += bool(
                ((found["low"] - NEAR <= true) & (true <= found["high"] + NEAR)).all()
            )
    for confidence, times in held.items():
        assert at_most(n, confidence, times) > ALARM / 2
    missed = max(k for k in range(n) if at_most(n, 0.5, k) <= ALARM / 2)
    assert at_most(n, 0.25, missed) > 0.999


def test_times_have_errors_that_are_durations() -> None:
    when = pd.Series(pd.date_range("2020-01-01", periods=300), name="when")
    mean = when.dp.mean(bounds=("2020-01-01", "2021-01-01"), epsilon=5)
    (found,) = dp.intervals(mean).itertuples()
    assert found.unit == "time"
    assert isinstance(found.error, pd.Timedelta)
    assert found.low <= found.value <= found.high


def test_a_confidence_is_passed_on_and_checked() -> None:
    n = pd.Series(range(99)).dp.count(epsilon=1)
    assert dp.intervals(n, 0.999)["error"].item() > dp.intervals(n)["error"].item()
    assert dp.intervals(n).index.tolist() == ["count of values"]
    assert dp.intervals(dp.record(n)).equals(dp.intervals(n))
    refusal(lambda: dp.intervals(n, 1.5), "between 0 and 1", QueryError)
    refusal(lambda: dp.intervals(n // 2), r"no release record.*dp\.derive\(lambda", RecordError)


def test_synthetic_rows_have_no_errors_of_their_own() -> None:
    rows = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 0, 1, 1] * 25})
    p = dp.protect(rows, "syn", domain={"a": [0, 1], "b": [0, 1]})
    found = dp.synthesize(p, rows=9, epsilon=2)
    refusal(lambda: dp.intervals(found), "no errors of their own", RecordError)


def test_estimates_of_the_local_model_are_tabulated_too() -> None:
    said = dp.local.randomized_response(["a", "b"] * 5000, epsilon=2, keys=["a", "b", "c"])
    counts, shares = said.value_counts(), said.value_counts(normalize=True)
    found = dp.intervals(counts)
    assert found.columns.tolist() == COLUMNS
    assert found["low"].tolist() == counts.interval()["lower"].tolist()
    assert found["error"].tolist() == counts.error().tolist()
    large = found["value"].abs() > found["error"]  # nobody said "c", but noise may be large too
    assert found["noise_dominated"].tolist() == (~large).tolist()
    assert large.tolist()[:2] == [True, True]
    assert [*dp.intervals(shares)["unit"]] == ["share"] * 3
    mean = dp.local.randomized_response([True] * 300 + [False] * 700, epsilon=3).mean()
    (row,) = dp.intervals(mean).itertuples()
    assert (row.value, (row.low, row.high), row.unit) == (mean, mean.interval(), "share")


# --- which objects still show what was released -------------------------------------------------


def pairs(table: Any, one_column: bool) -> set[Any]:
    """(row, column, value) of each number, one by one."""
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    return {
        (comparable(row), "" if one_column else comparable(column), comparable(value))
        for i, column in enumerate(frame.columns)
        for row, value in zip(frame.index, frame.iloc[:, i].tolist(), strict=True)
    }


LABELS = st.lists(
    st.sampled_from(["a", "b", "c", 1, 2.5, None, math.nan, ("a", 1), pd.Timestamp("2020")]),
    min_size=1, max_size=5, unique_by=lambda label: repr(comparable(label)),
)  # fmt: skip
NUMBERS = st.one_of(st.integers(-2, 2), st.sampled_from([0.5, math.nan]))


@st.composite
def released_and_shown(draw: Callable[..., Any]) -> tuple[Any, Any]:
    """A released Series, and an object like it: some labels in any order, perhaps with a change."""
    labels = draw(LABELS)
    values = draw(st.lists(NUMBERS, min_size=len(labels), max_size=len(labels)))
    index = pd.Index(np.fromiter(labels, dtype=object, count=len(labels)))
    released = pd.Series(values, index=index)
    order = draw(st.lists(st.integers(0, len(labels) - 1), max_size=len(labels), unique=True))
    shown = released.iloc[order].copy()
    if len(shown) and draw(st.booleans()):
        shown = pd.Series([*shown.iloc[:-1], draw(NUMBERS)], index=shown.index)
    return released, shown


@given(released_and_shown())
def test_an_object_matches_if_its_pairs_were_released(tables: Any) -> None:
    released, shown = tables
    found = located(shown, released, True)
    is_whole = len(shown) == len(released) and shown.dtype.kind == released.dtype.kind
    tell = not len(shown) or any(value and not is_missing(value) for value in shown)
    assert (found is not None) == (
        pairs(shown, True) <= pairs(released, True) and (is_whole or tell)
    )
    if found is not None:
        rows, _ = found
        assert [comparable(released.index[row]) for row in rows] == [*map(comparable, shown.index)]


def test_an_interval_includes_the_value_that_is_shown(frozen: Any) -> None:
    """A count below 0 is one that noise made; its interval ends at 0."""
    df = pd.DataFrame({"x": ["a"] * 9 + ["b"]})
    frozen(-4)
    found = dp.intervals(df.dp["x"].value_counts(keys=["a", "b"], epsilon=1))
    assert found.loc["b", ["value", "low"]].tolist() == [-3, -3]
    assert (found["low"] <= found["value"]).all()
    assert (found["high"] >= found["value"]).all()
    frozen(-40)
    found = dp.intervals(df.dp["x"].value_counts(keys=["a", "b"], epsilon=1))
    assert (found["high"] >= found["value"]).all()
    assert found.loc["a", ["value", "low", "high"]].tolist() == [-31, -31, 0]


# --- of several releases, for a population --------------------------------------------------------


def test_what_says_nothing_of_a_population_leaves_the_rest_its_intervals() -> None:
    rows = pd.DataFrame({"arm": ["A", "B"] * 500, "x": [1, 2, 3, 4] * 250})
    private = dp.protect(rows, "arms", domain={"arm": ["A", "B"], "x": (0, 9)})
    table = private.groupby("arm").agg(n=("x", "size"), m=("x", "mean"), epsilon=2)
    found = dp.intervals(table, of="population")
    assert found["method"].tolist() == ["", "t, largest variance"] * 2
    assert found["low"].isna().tolist() == [True, False] * 2
    (alone,) = set(dp.intervals(table[["m"]], of="population")["method"])
    assert alone == "t, largest variance"
    message = refusal(lambda: dp.intervals(table["n"], of="population"), "give size=")
    assert message.count("Nothing was computed") == 1
    counts = dp.intervals(table["n"], of="population", size=10**6)
    assert counts["method"].tolist() == ["exact", "exact"]
