"""Quantiles with intervals, as they are asked for and shown."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import RecordError
from dppandas.statistics import quantile_intervals

ROWS = 4000


def people(**more: Any) -> Any:
    """Ages that fill their bounds evenly, times a minute apart, groups and owners of two rows."""
    table = pd.DataFrame({
        "age": [i * 80 / ROWS for i in range(ROWS)], "whole": [i % 50 for i in range(ROWS)],
        "when": pd.date_range("2020-01-01", periods=ROWS, freq="min"),
        "sex": ["f", "m"] * (ROWS // 2), "who": [i // 2 for i in range(ROWS)],
    })  # fmt: skip
    domain = {
        "age": (0, 80), "whole": (0, 49), "when": ("2020-01-01", "2020-01-04"), "sex": ["f", "m"],
    }  # fmt: skip
    return dp.protect(table, "people", domain=domain, version="1", steps={"whole": 1}, **more)


@pytest.fixture
def p() -> Any:
    anew(epsilon=100)
    return people()


def test_a_median_has_an_interval_of_values(p: Any) -> None:
    found = p["age"].median(interval=True, epsilon=8)
    low, high = found.interval()
    assert 0 <= low <= found <= high <= 80
    assert found.error() < 100
    assert dp.record(found).error_unit == "ranks"
    assert f"{low:.4g}"[:3] in repr(found)
    assert " to " in repr(found)
    assert "± " not in repr(found)
    assert "median with an interval of age" in dp.record(found).query
    wider = found.interval(0.999)
    assert wider[0] <= low <= high <= wider[1]


def test_several_have_intervals_under_their_labels(p: Any) -> None:
    found = p["age"].quantile([0.75, 0.25], interval=True, epsilon=8)
    ends = dp.record(found).intervals()
    assert ends.index.tolist() == [0.75, 0.25]
    assert (ends["lower"] <= found).all()
    assert (found <= ends["upper"]).all()
    assert found[0.25] < found[0.75]
    both = p[["age", "whole"]].quantile([0.1, 0.5], interval=True, epsilon=8)
    table = dp.record(both).intervals()
    assert table.columns.tolist() == [(c, e) for c in ("age", "whole") for e in ("lower", "upper")]
    assert table["whole"].to_numpy().tolist() == np.rint(table["whole"]).to_numpy().tolist()
    groups = p.groupby("sex")["age"].median(interval=True, epsilon=8)
    assert dp.record(groups).intervals().index.tolist() == ["f", "m"]
    assert groups.between(25, 55).all()


def test_times_have_intervals_of_times(p: Any) -> None:
    found = p["when"].median(interval=True, epsilon=8)
    low, high = found.interval()
    assert isinstance(low, pd.Timestamp)
    assert pd.Timestamp("2020-01-01") <= low <= found <= high <= pd.Timestamp("2020-01-04")


@pytest.mark.filterwarnings("ignore:the smallest or largest value belongs to somebody")
def test_a_description_has_intervals_of_all_figures(p: Any) -> None:
    found = p["age"].describe(interval=True, epsilon=8)
    ends = dp.record(found).intervals()
    assert not ends.isna().any().any()
    assert (ends["lower"] <= found).all()
    assert (found <= ends["upper"]).all()
    assert not dp.record(p["age"].describe(epsilon=8)).intervals().loc["count"].isna().any()
    assert dp.record(p["age"].describe(epsilon=8)).intervals().loc["50%"].isna().all()
    assert p[["age", "whole"]].describe(interval=True, epsilon=8).shape == (8, 2)


def test_units_and_sessions_of_rho() -> None:
    anew(rho=9, delta=1e-6)
    p = people(unit="who", max_rows=2)
    found = p["age"].quantile([0.2, 0.6], interval=True, rho=4)
    ends = dp.record(found).intervals()
    assert (ends["lower"] <= found).all()
    assert dp.record(found).loss.rho == 4
    assert dp.record(p["age"].median(interval=True, epsilon=1)).loss.rho <= Fraction(1, 2)


def test_it_is_a_question_of_its_own_and_replays(p: Any) -> None:
    plain, found = p["age"].median(epsilon=1), p["age"].median(interval=True, epsilon=1)
    assert dp.ledger().spent == 2
    again = p["age"].median(interval=True, epsilon=1)
    assert (again, again.interval(), again.error()) == (found, found.interval(), found.error())
    assert p["age"].median(epsilon=1) == plain
    assert dp.ledger().spent == 2
    kept = pickle.loads(pickle.dumps(found))
    assert (kept, kept.interval(), kept.error()) == (found, found.interval(), found.error())


@pytest.mark.filterwarnings("ignore:the smallest or largest value belongs to somebody")
def test_errors_in_ranks_are_measured_alone(p: Any) -> None:
    found = p["age"].median(interval="ranks", epsilon=8)
    assert dp.record(found).error_unit == "ranks"
    assert "median with measured ranks of age" in dp.record(found).query
    assert 0 < found.error() < 20  # 3 nearly always
    assert found.error(0.5) <= found.error()
    assert f"{found:±}".endswith(f"(± {found.error():.0f} ranks)")
    assert f"(± {found.error():.0f} ranks)" in str(dp.record(found))
    said = "interval=True"
    assert said in refusal(found.interval, error=RecordError)
    assert p["age"].median(interval="ranks", epsilon=8) == found  # it replays
    assert dp.ledger().spent == 8
    groups = p.groupby("sex")[["age", "whole"]].quantile(
        [0, 0.25, 0.5], step={"whole": 1}, interval="ranks", epsilon=8
    )
    assert groups.shape == (6, 2)
    assert (dp.record(groups).errors() >= 0).all().all()
    told = p["age"].describe(interval="ranks", epsilon=8)
    assert (dp.record(told).errors()[["25%", "50%", "75%"]] < 20).all()
    anew(rho=9, delta=1e-6)
    units = people(unit="who", max_rows=2)["age"]
    assert dp.record(units.quantile([0.2, 0.6], interval="ranks", rho=4)).loss.rho == 4


@pytest.mark.parametrize("values", [[0.0] * 900, [30.0] * 900])
def test_many_equal_values_cost_no_more_than_all_rows_may(values: list[float]) -> None:
    """Values at a bound are told apart from others; of others the error for any rows is known."""
    anew(epsilon=100)
    p = pd.DataFrame({"x": [*values, *np.linspace(0, 60, 500)]}).dp["x"]
    measured = p.median(bounds=(0, 60), interval="ranks", epsilon=8)
    assert measured.error() < (2 if values[0] else 1) * p.median(bounds=(0, 60), epsilon=8).error()


def test_the_risk_is_shared_with_errors_that_hold_for_all_rows(p: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(quantile_intervals, "ALWAYS", 0.9)
    record = dp.record(p["age"].median(interval="ranks", epsilon=0.5))
    (ladder,), law = record._statistic.ladders(record._noisy), record._law
    for risk in (0.05, 0.3):
        errors = ladder.error(law.of_counts, 0, 0.1 * risk), law.rank_errors(1 - 0.9 * risk)[0]
        assert record.error(1 - risk) == pytest.approx(min(errors))


def test_errors_in_ranks_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    anew(epsilon=100)
    p = people()
    found = p.groupby("sex")["age"].quantile([0.25, 0.5, 0.75], interval="ranks", epsilon=8)
    dp.plot(found, expected_rows=400)


REFUSED = {
    "an error beforehand": (
        lambda p: p["age"].median(interval=True, within=20), "only the answer decides its error"),
    "no truth value": (lambda p: p["age"].median(interval=0.95, epsilon=1), "must be True"),
    "another word": (lambda p: p["age"].median(interval="values", epsilon=1), '"ranks"'),
    "ranks with weights": (
        lambda p: p["age"].median(
            interval="ranks", weights=p["whole"], weight_bounds=(0, 1), epsilon=1),
        "without weights"),
    "a step that leaves one value": (
        lambda p: p["age"].median(step=1000, interval=True, epsilon=1), "Give a smaller step"),
    "too many": (
        lambda p: p["age"].quantile(np.linspace(0, 1, 101), interval=True, epsilon=1), "100"),
    "smooth": (
        lambda p: p["age"].median(interval=True, method="smooth", epsilon=1), "exponential"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_interval_is_refused(name: str, p: Any) -> None:
    do, said = REFUSED[name]
    assert said in refusal(lambda: do(p))


def test_an_empty_table_has_the_bounds_as_its_interval() -> None:
    anew(epsilon=9)
    p = dp.protect(pd.DataFrame({"x": np.zeros(0)}), "none", domain={"x": (-3, 4)})
    found = p["x"].median(interval=True, epsilon=1)
    low, high = found.interval(1 - 1e-7)  # noise certifies something in one of 1e7 draws
    assert (low, high) == (-3, 4)


def test_an_error_of_none_is_told() -> None:
    anew(epsilon=100)
    people = pd.DataFrame({"age": [30.0] * 500 + [20.0, 40.0] * 50}).dp
    median = people["age"].median(bounds=(0, 64), step=1, interval=True, epsilon=20)
    assert median.error() == 0
    assert "± 0 ranks" in str(dp.record(median))


def test_a_plot_shows_the_intervals(p: Any) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    found = p["age"].quantile([0.25, 0.5], interval=True, epsilon=8)
    axes = dp.plot(found)
    ax = np.ravel(axes)[0]
    assert isinstance(ax.figure, figure.Figure)
    drawn = [c for c in ax.collections if c.get_gid() == "intervals"]
    ends = dp.record(found).intervals()
    assert [seg[:, 0].tolist() for seg in drawn[0].get_segments()] == ends.to_numpy().tolist()
