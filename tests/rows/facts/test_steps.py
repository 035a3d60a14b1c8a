"""Steps: which numbers are read and released, which columns have one, and what is refused."""

import math
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refusal

import dppandas as dp
from dppandas.errors import SourceError
from dppandas.release import pickles
from dppandas.rows.facts.bounds import Bounds
from dppandas.rows.facts.steps import Step, StepGrid
from dppandas.statistics import Quantiles

HOUR = pd.Timedelta("1h")


def people(**more: Any) -> Any:
    """Ages, prices in twentieths, times on the hour, and a unit."""
    n = 120
    table = pd.DataFrame({
        "age": [20.0 + i % 40 for i in range(n)], "price": [0.05 * (i % 21) for i in range(n)],
        "when": pd.date_range("2020-01-01", periods=n, freq="h"), "who": [i // 2 for i in range(n)],
        "sex": ["f", "m"] * (n // 2),
    })  # fmt: skip
    domain = {"age": (16, 96), "price": (0, 2), "when": ("2020-01-01", "2020-01-09")}
    terms = {"steps": {"age": 1, "price": 0.05, "when": HOUR}, "unit": "who", "max_rows": 2}
    return dp.protect(table, **{"name": "people", "domain": {**domain, "sex": ["f", "m"]},
                                "version": "1", **terms, **more})  # fmt: skip


def step_of(column: Any) -> Any:
    return column._table.step(column._expression)


# --- what a step is -------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "exact", "said"), [
    (1, 1, "1"), (0.1, Fraction(1, 10), "0.1"), (np.float32(0.1), Fraction(1, 10), "0.1"),
    (Decimal("0.05"), Fraction(1, 20), "0.05"), (Fraction(1, 3), Fraction(1, 3), "1/3"),
    (1e3, 1000, "1000"), (2.5e-7, Fraction(1, 4_000_000), "0.00000025"),
    (np.int64(5), 5, "5"),
])  # fmt: skip
def test_a_step_is_what_is_written(given: Any, exact: Any, said: str) -> None:
    step = Step.parse(given, "step")
    assert (step.size, step.of_times, str(step)) == (exact, False, said)


@pytest.mark.parametrize("given", [0, -1, True, "1", None, math.nan, math.inf, 1e300, object()])
def test_what_is_no_step_is_refused(given: Any) -> None:
    assert "positive number" in refusal(lambda: Step.parse(given, "step"), "step=")


@pytest.mark.parametrize(
    "given", [HOUR, HOUR.to_pytimedelta(), np.timedelta64(3600, "s"), pd.offsets.Hour()]
)
def test_a_step_of_times_is_a_duration(given: Any) -> None:
    assert Step.parse(given, "step") == Step(Fraction(3600 * 10**9), of_times=True)


# --- the nearest multiple -------------------------------------------------------------------------

STEPS = st.sampled_from([1, 3, 0.1, 0.05, 0.3, 7e-5, 1e6]) | st.fractions(
    min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6
)


@given(low=st.floats(-1e9, 1e9), width=st.integers(0, 10**6), step=STEPS, data=st.data())
@example(0.0, 9, 0.1, None)  # 0.45 in floats is 4.5 steps, and lies above 9/20
@example(0.1, 3, 0.1, None)
@example(-(2.0**52), 5, 1, None)
def test_the_nearest_multiple_is_decided_exactly(
    low: float, width: int, step: Any, data: Any
) -> None:
    size = Step.parse(step, "step").size
    bounds = Bounds(low, low + float(width * size))
    if StepGrid.lacks(bounds, size):
        return
    grid = StepGrid.within(bounds, size)
    first, last = grid.first, grid.first + grid.high * size
    assert float(first - size) < bounds.lower <= float(first)
    assert float(last) <= bounds.upper < float(last + size)
    assert (first / size).denominator == 1
    t = width // 2 if data is None else data.draw(st.integers(0, grid.high))
    middle = float(first + (t + Fraction(1, 2)) * size)  # near, or at, what is as near to two
    values = [middle, math.nextafter(middle, 0), math.nextafter(middle, math.inf),
              float(first + t * size), -math.inf, math.inf, math.nan]  # fmt: skip
    if data is not None:
        values += data.draw(st.lists(st.floats(bounds.lower, bounds.upper), max_size=5))
    found = grid.integers(np.array(values)).tolist()
    for value, point in zip(values, found, strict=True):
        if math.isfinite(value):
            nearest = round((Fraction(value) - first) / size)
            assert point == min(max(nearest, 0), grid.high)
    assert found[4:6] == [0, grid.high]
    assert math.isnan(found[6])


@given(low=st.floats(-1e6, 1e6), step=STEPS, points=st.lists(st.integers(0, 99), min_size=1))
def test_what_is_released_is_the_float_nearest_to_a_multiple(
    low: float, step: Any, points: list[int]
) -> None:
    size = Step.parse(step, "step").size
    grid = StepGrid.within(Bounds(low, low + float(101 * size)), size)
    for point, number in zip(points, grid.numbers(np.array(points)).tolist(), strict=True):
        exact = grid.first + point * size
        away = [abs(Fraction(math.nextafter(number, to)) - exact) for to in (-math.inf, math.inf)]
        assert abs(Fraction(number) - exact) <= min(away)
        assert Bounds(low, low + float(101 * size)).lower <= number


# --- where it holds -------------------------------------------------------------------------------

KEPT = {
    "a column": lambda p: p["age"],
    "of some rows": lambda p: p[p["price"] > 0.5].query("age > 30")["age"],
    "under another name": lambda p: p.rename(columns={"age": "years"})["years"],
    "clipped to multiples": lambda p: p["age"].clip(20, 50),
    "missing in places": lambda p: p["age"].where(p["price"] > 1),
    "of two tables": lambda p: dp.concat([p, p])["age"],
    "the largest of a unit": lambda p: p.per_unit().agg(top=("age", "max"))["top"],
    "of selected columns": lambda p: p[["price", "age"]]["age"],
}
DROPPED = {
    "computed": lambda p: p["age"] * 2,
    "clipped to something else": lambda p: p["age"].clip(20.5, 50),
    "filled": lambda p: p["age"].fillna(20.5),
    "the mean of a unit": lambda p: p.per_unit().agg(top=("age", "mean"))["top"],
    "one of two columns": lambda p: p["age"].where(p["price"] > 1, p["price"]),
    "rounded": lambda p: p["age"].round(),
}


def test_a_step_goes_where_it_provably_holds() -> None:
    p = people()
    for name, of in KEPT.items():
        assert step_of(of(p)) == Step(Fraction(1)), name
    for name, of in DROPPED.items():
        assert step_of(of(p)) is None, name
    assert step_of(people(name="other", steps=None)["age"]) is None


def test_a_declared_step_is_that_of_the_question() -> None:
    p, plain = people(), people(name="people2", steps=None)
    for ask in (
        lambda f, **s: f["age"].median(**s), lambda f, **s: f["age"].quantile([0, 0.5], **s),
    ):  # fmt: skip
        said = ask(plain, step=1)._request.statistic
        assert ask(p)._request.statistic == said != ask(plain)._request.statistic
        assert ask(p, step=2)._request.statistic == ask(plain, step=2)._request.statistic != said
    assert "(step 1) of age" in str(p["age"].median())
    assert "step age 1, price 0.05" in str(p[["age", "price"]].median())
    by_name = plain[["age", "price"]].median(step={"age": 1, "price": Decimal("0.05")})
    assert by_name._request.statistic == p[["age", "price"]].median()._request.statistic


def test_a_step_is_in_no_key_but_those_of_quantiles() -> None:
    dp.session(epsilon=9)

    def key(frame: Any, of: Any) -> str:
        return str(of(frame)._request.query(dp.session()._terms.asked(1)).key)

    keys: dict[str, list[str]] = {}
    for steps in ({"age": 1}, None):
        p = people(steps=steps)  # replaces the step, for nothing is charged yet
        for name, of in {
            "mean": lambda p: p["age"].mean(), "count": lambda p: p["age"].count(),
            "other": lambda p: p["price"].median(), "median": lambda p: p["age"].median(),
            "computed": lambda p: (p["age"] + 1).median(),
        }.items():  # fmt: skip
            keys.setdefault(name, []).append(key(p, of))
    assert {name for name, (a, b) in keys.items() if a != b} == {"median"}
    assert all(a for a, _ in keys.values())


@pytest.mark.filterwarnings("ignore:the smallest or largest value belongs to somebody")
def test_every_answer_of_quantiles_takes_it() -> None:
    p = people()
    ends = [p["age"].min().release(epsilon=8), p["age"].max().release(epsilon=8)]
    figures = p["age"].agg(["median", "max", "count"], epsilon=8)
    groups = p.groupby("sex")["price"].quantile([0.2, 0.7], epsilon=8)
    both = p["age"].describe(epsilon=8), figures
    pivot = p.pivot_table("age", index="sex", aggfunc="median", epsilon=8)
    whole = [*ends, *both[0][3:], *both[1][:2], *np.ravel(pivot)]
    assert all(float(x).is_integer() for x in whole)
    assert all(float(round(x / 0.05) * Fraction(1, 20)) == x for x in groups)
    for asked in (p["price"].describe(step=0.5), p["price"].agg(["median"], step=0.5)):
        assert "step 0.5" in str(asked)
    assert p.describe().loc["price", "step"] == "0.05"


def test_times_lie_on_multiples_of_their_step() -> None:
    p = people()
    found = p["when"].quantile([0.25, 0.5], epsilon=8)
    assert (found == found.dt.floor("h")).all()
    late = p["when"].median(bounds=("2020-01-01 00:30", "2020-01-02 12:10"), epsilon=8)
    assert late == late.floor("h")
    days = p["when"].median(step=pd.Timedelta("1D"), epsilon=8)
    assert days == days.normalize()
    length = (p["when"] - pd.Timestamp("2020-01-01")).median(step=HOUR, epsilon=8)
    assert length % HOUR == pd.Timedelta(0)


def test_a_declared_step_without_a_grid_is_left_out() -> None:
    p = people()
    for bounds in ((20.1, 20.9), (0, 2.0**31), (2.0**60, 2.0**61)):
        assert p["age"].median(bounds=bounds)._request.statistic.step is None


REFUSED = {
    "a column that isn't there": (lambda: people(steps={"agee": 1}), "steps=", "Did you mean"),
    "no dict": (lambda: people(steps=1), "steps= must be a dict"),
    "a number for times": (lambda: people(steps={"when": 1}), "'when'", "of kind time"),
    "a duration for numbers": (lambda: people(steps={"age": HOUR}), "'age'", "durations"),
    "too fine": (lambda: people()["age"].median(step=1e-9), "step=0.000000001", "2^30 steps"),
    "none between": (lambda: people()["age"].median(bounds=(0.1, 0.2), step=1), "step=1", "no mul"),
    "no float": (
        lambda: people()["age"].median(bounds=(2**53, 2**53 + 8), step=1), "step=1", "floats"),
    "half a tick": (
        lambda: people()["when"].median(
            bounds=("2020-01-01 00:00:00.5", "2024-01-01"), step=HOUR), "step=", "ticks"),
    "by another name": (
        lambda: people()[["age"]].median(step={"agee": 1}), "step=", "Did you mean"),
    "another method": (
        lambda: people()["age"].median(step=1, method="smooth"), "step=", "exponential"),
}  # fmt: skip


def test_a_step_that_floats_can_not_tell_apart_makes_no_grid() -> None:
    for size in (Fraction(1, 10**390), Fraction(3, 5) * Fraction(2) ** -1074):
        said = refusal(lambda size=size: Step(size).within(Bounds(0.0, 0.0), "step"))
        assert "floats there lie further apart" in said


def test_what_makes_no_grid_is_refused() -> None:
    for do, *said in REFUSED.values():
        message = refusal(do)
        assert all(each in message for each in said), message


def test_in_a_zone_a_step_divides_a_quarter_of_an_hour() -> None:
    zone = "Asia/Kathmandu"  # 5:45 hours before UTC
    table = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=9, freq="h", tz=zone)})
    ends = tuple(pd.Timestamp(day, tz=zone) for day in ("2020-01-01", "2020-02-01"))
    p = dp.protect(table, name="zoned", domain={"when": ends})
    found = p["when"].median(step=pd.Timedelta("15min"), epsilon=1)
    assert found == found.floor("15min")
    refusal(lambda: p["when"].median(step=HOUR, epsilon=1), "15 minutes")


def test_two_steps_of_a_column_cannot_both_hold() -> None:
    dp.session(epsilon=9)
    people()["age"].median(epsilon=1)
    message = refusal(lambda: people(steps={"age": 2}), "step of 'age' was 1, is 2", SourceError)
    assert "step= in the call" in message
    more = people(steps={"age": 1, "who": 1})
    assert more._table.source.steps == {"age": Step(Fraction(1)), "who": Step(Fraction(1))}


def test_an_answer_of_an_older_pickle_is_on_its_grid() -> None:
    asked = pd.Series([1.0], name="age").dp.median(bounds=(16, 96), step=2)
    statistic = asked._request.statistic
    kept = {each.name: getattr(statistic, each.name) for each in fields(statistic)}
    older = pickles._filled(Quantiles, {**kept, "step": 2.0})
    assert older.estimate([7]) == statistic.estimate([7]) == [30.0]
