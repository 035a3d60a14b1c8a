"""How values, errors and intervals are written: rounded, and never so that they claim too much."""

import math
import re
from decimal import Decimal
from typing import Any
from unicodedata import category

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.figures import (
    digits_within,
    error_digits,
    format_error,
    format_exactly,
    format_fact,
    format_interval,
    format_label,
    format_value,
    plus_minus,
    spread,
    unit_of,
    within,
    written,
)

ERRORS = st.floats(1e-9, 1e12)
VALUES = st.floats(-1e12, 1e12)
LENGTHS = st.integers(1, 10**18).map(pd.Timedelta)


NUMBER = r"[\d,]+(?:\.\d+)?(?:e[+-]\d+)?"


def number(text: str) -> float:
    return float(text.replace(",", ""))


def places(text: str) -> int:
    return max(0, -int(Decimal(text.replace(",", "")).as_tuple().exponent))


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (34634, 3697, "34,600 ± 3,700"), (1234, 30, "1,234 ± 30"), (5, 3, "5 ± 3"),
        (-3, 30, "-3 ± 30"), (1234567, 3, "1,234,567 ± 3"), (12, 12.4, "12 ± 13"),
        (0.123456, 0.0123, "0.123 ± 0.013"), (1.4, 1.66, "1.4 ± 1.7"), (12.3, 3.0, "12.3 ± 3.0"),
        (1234.0, 30.0, "1,234 ± 30"), (1234.5, 678.9, "1,230 ± 680"), (0.0, 9.96, "0 ± 10"),
        (-0.004, 0.2, "0.00 ± 0.20"), (7, 0, "7 ± 0"), (5.25, 0.0, "5.25 ± 0"),
        (3.2, np.nan, "3.2"), (3, 0.25, "3 ± 1"), (3.2, np.inf, "3.2 (error unbounded)"),
        (np.nan, 2.0, "unknown"), (4.999e-21, 3.51e-24, "4.9990e-21 ± 3.6e-24"),
        (0.5, 2e-9, "0.5000000000 ± 2.0e-9"), (0.0, 2e-9, "0 ± 2.0e-9"),
        (4.5e17, 3.51e15, "4.500e+17 ± 3.6e+15"), (0.00012, 0.000035, "0.000120 ± 0.000035"),
        (pd.Timestamp("2020-03-01 12:13"), pd.Timedelta("76h"), "2020-03-01 12:00 ± 3.2 days"),
        (pd.Timestamp("2020-03-01 12:13"), pd.Timedelta("4h"), "2020-03-01 12:13 ± 4 h"),
        (pd.Timestamp("2020-03-29 02:00", tz="UTC").tz_convert("Europe/Berlin"),
         pd.Timedelta("5h"), "2020-03-29 04:00 ± 5 h"),
        (pd.Timedelta("76h"), pd.Timedelta("3h"), "3.17 ± 0.13 days"),
        (pd.Timedelta("76h"), pd.Timedelta("2min"), "76.000 ± 0.034 h"),
        (pd.Timedelta("2min"), pd.Timedelta("3h"), "0.0 ± 3.0 h"),
        (pd.Timedelta(0), pd.Timedelta(0), "0 ± 0 s"), (pd.NaT, pd.Timedelta("1h"), "unknown"),
        ("Köln", None, "Köln"),
    ],
)  # fmt: skip
def test_a_value_has_the_place_of_its_error(value: Any, error: Any, said: str) -> None:
    assert str(written(value, error)) == said


def test_an_infinite_error_is_told_by_the_end_that_there_is() -> None:
    assert str(written(16, math.inf, 12.0, math.inf)) == "16 (12 or more)"
    assert str(written(16.5, math.inf, -math.inf, 20.0)) == "16.5 (20 or less)"
    assert format_interval(2.876948, math.inf) == "2.876 or more", "outwards"
    assert format_interval(-math.inf, 12345.4) == "12,346 or less"
    longest = pd.Timedelta(np.timedelta64(2**62, "us"))
    assert str(written(pd.Timedelta("1h"), longest)) == "1 h (error unbounded)"
    assert plus_minus(math.inf) == "error unbounded"
    assert (plus_minus(None), plus_minus(121)) == ("", "± 130")


@given(ERRORS, VALUES)
def test_an_error_is_rounded_up_and_a_value_to_its_place(error: float, value: float) -> None:
    told = written(value, error)
    shown, off = number(told.value), number(told.error)
    assert error * (1 - 1e-8) <= off <= 1.1001 * error
    assert abs(shown - value) <= 10.0 ** -places(told.value) / 2 * 1.0001 or abs(
        shown - value
    ) <= 0.0501 * error + math.ulp(value)
    assert places(told.value) == places(told.error) or told.value == "0"
    assert error * (1 - 1e-8) <= number(format_error(error)) <= 1.1001 * error
    digits = told.error.partition("e")[0].replace(",", "").replace(".", "").strip("0")
    assert len(digits) <= 2


@given(st.integers(-(10**12), 10**12), ERRORS)
def test_whole_numbers_stay_whole(value: int, error: float) -> None:
    told = written(value, error)
    assert "." not in str(told)
    assert error * (1 - 1e-8) <= number(told.error) <= max(1.1001 * error, error + 1)
    assert abs(number(told.value) - value) <= 0.0501 * error


@given(VALUES, ERRORS, st.integers(1, 9))
def test_what_is_written_can_be_read_and_written_again(v: float, error: float, n: int) -> None:
    said = str(written(v, error, digits=n))
    found = re.fullmatch(rf"(-?{NUMBER}) ± ({NUMBER})", said)
    assert found is not None
    again = str(written(number(found[1]), number(found[2]), digits=n))
    assert [*map(number, again.split(" ± "))] == [*map(number, said.split(" ± "))]


@given(VALUES, VALUES)
def test_an_interval_is_rounded_outwards(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    left, right = map(number, format_interval(low, high).split(" to ")) if a != b else (low, high)
    slack = 1e-8 * (high - low) + math.ulp(high) + math.ulp(low)
    assert low - 0.0501 * (high - low) - slack <= left <= low + slack
    assert high - slack <= right <= high + 0.0501 * (high - low) + slack


@given(LENGTHS, LENGTHS)
def test_durations_have_one_unit(value: pd.Timedelta, error: pd.Timedelta) -> None:
    told = written(value, error)
    one = pd.Timedelta(1, {"days": "D", "µs": "us"}.get(told.unit, told.unit))  # type: ignore[call-overload]
    assert str(told).endswith(f" {told.unit}")
    assert told.unit not in told.value
    assert error / one * (1 - 1e-8) <= number(told.error) <= 1.1001 * error / one
    assert places(told.error) <= 3 or told.unit == "ns"
    assert unit_of([value, value * 2], [error]) in ("days", "h", "min", "s", "ms", "µs", "ns")


def test_intervals_and_ranges_of_errors_have_one_form() -> None:
    day = pd.Timestamp("2020-01-01")
    assert format_interval(31015, 38411) == "31,000 to 38,500"
    assert format_interval(45, 48) == "45 to 48"
    assert format_interval(3, 3) == "3"
    assert format_interval(pd.Timedelta("2h"), pd.Timedelta("3h 13min")) == "2.00 to 3.22 h"
    assert format_interval(day, pd.Timestamp("2020-02-03 05:00")) == "2020-01-01 to 2020-02-04"
    assert str(within(47.0, 45.0, 49.0)) == "47 (45 to 49)"
    assert str(within(-2.0, -math.inf, -2.0)) == "-2 (-2 or less)"
    assert str(within(0.25, 0.2412, 0.2591)) == "0.2500 (0.2412 to 0.2591)"
    assert spread([(0.07873, 0.07873), (2.102, 2.102)]) == "± 0.079 to 2.2"
    assert spread([(3697.0, 3697)]) == "± 3,700"
    assert spread([(2.0, 2.0), (math.inf, math.inf)]) == "± 2, some unbounded"
    assert spread([(math.inf, math.inf), (0, 0)]) == ""
    assert spread([(1, pd.Timedelta("0 days 03:13:15"))]) == "± 3.3 h"
    both = [(1, pd.Timedelta("41min")), (2, pd.Timedelta("125min"))]
    assert spread(both) == "± 0.69 to 2.1 h"
    assert format_value(pd.Timedelta("90min")) == "1.5 h"


def test_formats_name_the_digits_of_an_error() -> None:
    assert [error_digits(spec) for spec in ("±", "±.1", "±.3")] == [2, 1, 3]
    assert {error_digits(spec) for spec in ("", ".2f", "±.0", "±3", ",")} == {None}
    assert str(written(34634, 3697, digits=3)) == "34,630 ± 3,700"
    assert str(written(0.25, 0.012346, digits=3)) == "0.2500 ± 0.0124"


# --- public facts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("(0, 100)", "0 to 100"), ("(0, 2e+07)", "0 to 20,000,000"),
        ("(1900, 2020)", "1900 to 2020"), ("(0, 1234567.5)", "0 to 1,234,567.5"),
        ("(-0, 0.1)", "0 to 0.1"), ("(-inf, inf)", "-inf to inf"),
        ("(1e-07, 1e+20)", "1e-07 to 1e+20"),
        ("(0.1, 0.30000000000000004)", "0.1 to 0.30000000000000004"),
        ("(0 days 00:00:00, 0 days 08:00:00)", "0 to 8 h"),
        ("(-1 days +12:00:00, 1 days 06:00:00)", "-0.5 to 1.25 days"),
        ("(0 days 00:00:00, 0 days 00:01:40)", "0 to 100 s"),
        ("(2020-01-01 00:00:00, 2020-12-31 12:30:00)", "2020-01-01 to 2020-12-31 12:30"),
        ("(2020-01-01 00:00:00+01:00, 2021-01-01 12:30:30+01:00)",
         "2020-01-01 00:00+01:00 to 2021-01-01 12:30:30+01:00"),
        ("20 bins in 0 to 2e+07", "20 bins in 0 to 20,000,000"),
        ("3 bins in 0 days 00:00:00 to 1 days 00:00:00", "3 bins in 0 to 1 days"),
        ("0 days 00:15:00", "15 min"), ("x 0.05, when 0 days 00:15:00", "x 0.05, when 15 min"),
        ("", ""), ("whatever (it) is", "whatever (it) is"),
        ("(0 days 00:00:00, 99999999999 days 00:00:00)", "0 days to 99999999999 days"),
    ],
)  # fmt: skip
def test_facts_are_told_to_the_last_digit(kept: str, said: str) -> None:
    assert format_fact(kept) == said


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e300))
def test_bounds_that_differ_are_told_differently(low: float, wide: float) -> None:
    ends = [Bounds(low, low), Bounds(low, low + wide)]
    assert (ends[0] == ends[1]) == (format_fact(ends[0]) == format_fact(ends[1]))
    told = format_fact(ends[1]).split(" to ")
    assert list(map(number, told)) == [low, low + wide]


@pytest.mark.parametrize(
    ("label", "said"),
    [
        (pd.Interval(0.0, 2e7, "left"), "[0, 20,000,000)"),
        (pd.Interval(1990.0, 2000.0), "(1990, 2000]"),
        (pd.Interval(pd.Timedelta(0), pd.Timedelta("8h")), "(0, 8 h]"),
        (pd.Interval(pd.Timestamp("2020"), pd.Timestamp("2021"), "left"),
         "[2020-01-01, 2021-01-01)"),
        (pd.Interval(1.00000001, 1.00000002), "(1.00000001, 1.00000002]"),
        (pd.Timedelta("90min"), "1.5 h"), (pd.Timestamp("2020-01-01 12:00"), "2020-01-01 12:00"),
        (pd.Timestamp("2020-01-01", tz="Europe/Berlin"), "2020-01-01"), (pd.NaT, "missing"),
        (("a", pd.Timestamp("2020")), "a, 2020-01-01"), (1990, "1990"), ("a b", "a b"),
        ("a\nb", r"'a\nb'"), (" a b", "' a b'"), ("", "''"), ("missing", "'missing'"),
        ("'a'", '"\'a\'"'), ("a\u202eb", r"'a\u202eb'"), ("\x1b[31m", r"'\x1b[31m'"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"), ("نمی\u200cخواهم", "نمی\u200cخواهم"),
    ],
)  # fmt: skip
def test_labels_are_told_in_one_line(label: Any, said: str) -> None:
    assert format_label(label) == said


@given(st.text(), st.text())
def test_texts_that_differ_look_different_and_can_be_seen(one: str, other: str) -> None:
    told = format_label(one)
    assert (told == format_label(other)) == (one == other)
    assert not {*map(category, told)} & {"Cc", "Cs", "Zl", "Zp"}
    assert " ".join(told.split()) == told or told[0] in "'\""


@pytest.mark.parametrize(
    "end", [pd.Timestamp.min, pd.Timestamp.max, pd.Timedelta.min, pd.Timedelta.max]
)
def test_no_label_is_too_far_to_be_told(end: Any) -> None:
    """Labels may be found in the data, and nothing raises on data."""
    assert format_label(end)
    if isinstance(end, pd.Timestamp):
        assert format_label(end.tz_localize("UTC"))


@pytest.mark.parametrize(
    ("error", "target", "digits"),
    [(124.3, 125, 3), (130.0, 130, 2), (124.3, 130, 2), (124.31, 124.35, 4), (7, 7, 2),
     (131, 125, 2), (124.3, None, 2), (math.inf, 125, 2), (124.3, 124.30001, 4),
     (pd.Timedelta("124.3min"), pd.Timedelta("125min"), 3)],
)  # fmt: skip
def test_an_error_looks_no_larger_than_its_target(error: Any, target: Any, digits: int) -> None:
    assert digits_within([error], target) == digits


@pytest.mark.parametrize(("low", "high", "said"), [
    (12345678.0, 20000000.5, "[12,345,678, 20,000,000.5)"),
    (1000000.0, 1000004.0, "[1,000,000, 1,000,004)"),
    (1000004.0, 1000006.0, "[1,000,004, 1,000,006)"), (0.1234567, 0.5, "[0.123457, 0.5)"),
])  # fmt: skip
def test_bins_are_told_as_they_are(low: float, high: float, said: str) -> None:
    assert format_label(pd.Interval(low, high, closed="left")) == said


@pytest.mark.parametrize(("nanos", "said"), [
    (2**53 + 1, "9,007,199,254,740,993 ns"), (2**63 - 1, "9,223,372,036,854,775,807 ns"),
    (90 * 60 * 10**9, "1.5 h"),
])  # fmt: skip
def test_durations_have_all_their_digits(nanos: int, said: str) -> None:
    assert format_exactly(pd.Timedelta(nanos)) == said
