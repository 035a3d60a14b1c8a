"""Errors as numbers in a ledger: of any length, and never the price of an answer."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from notes import noted

import dppandas as dp
from dppandas.ledger.stated_errors import HalfWidths, StatedError
from dppandas.release.accuracy import expected

#: From three years to as many as times in seconds can have.
SPANS = [("2019-01-01", "2022-01-01"), ("1000-01-01", "3000-01-01"), ("1000-01-01", "8999-01-01")]

ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda p, bounds: p["t"].mean(bounds=bounds),
    "groupby mean": lambda p, bounds: p.groupby("k", keys=[0, 1])["t"].mean(bounds=bounds),
    "mean of columns": lambda p, bounds: p[["t", "u"]].mean(bounds=bounds),
    "std": lambda p, bounds: p["t"].std(bounds=bounds),
    "sem": lambda p, bounds: p["t"].sem(bounds=bounds),
    "quantile": lambda p, bounds: p["t"].quantile([0.25, 0.5], bounds=bounds),
    "max": lambda p, bounds: p["t"].max(bounds=bounds),
    "describe": lambda p, bounds: p["t"].describe(bounds=bounds),
    "agg": lambda p, bounds: p[["t", "u"]].agg(["count", "mean"], bounds=bounds),
    "sum of lengths": lambda p, _: p["length"].sum(
        bounds=(pd.Timedelta(0), pd.Timedelta(days=100_000))
    ),
    "mean of lengths": lambda p, _: p["length"].mean(
        bounds=(pd.Timedelta(0), pd.Timedelta(days=100_000))
    ),
}


@pytest.mark.parametrize("store", [None, "a.ledger"])
def test_errors_of_times_are_kept_however_long(store: str | None, tmp_path: Path) -> None:
    dp.session(epsilon=10_000, delta=1e-3, store=store and tmp_path / store)
    when = pd.to_datetime(["2020-01-01", "2021-01-01"] * 20)
    rows = pd.DataFrame({"t": when, "u": when, "k": [0, 1] * 20, "length": when - when[0]})
    p = dp.protect(rows, "visits", version="1")
    for name, ask in ASKED.items():
        for bounds in SPANS:
            for epsilon in ("0.00001", "0.01", 5):
                with noted(f"{name} in {bounds}, {epsilon}"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ask(p, bounds).release(epsilon=epsilon)
    entries = dp.ledger()._entries()
    assert {entry.status for entry in entries} <= {"released", "replayed"}
    numbers = [e.released_error for e in entries if isinstance(e.released_error, StatedError)]
    assert len(numbers) > 60
    assert any("days" in str(error) for error in numbers)
    read = [StatedError.from_json(error.to_json()) for error in numbers]
    assert read == numbers
    assert list(map(str, read)) == list(map(str, numbers))
    assert len(dp.ledger().to_frame()) == len(entries)


def test_an_error_that_cannot_be_stated_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OverflowError

    monkeypatch.setattr(expected, "answered_error", fail)
    dp.session(epsilon=1)
    people = pd.DataFrame({"age": [20, 60] * 50}).dp
    assert isinstance(people.count(epsilon=1), int)
    (entry,) = dp.ledger()._entries()
    assert (entry.status, entry.released_error) == ("released", "")
    assert entry.known_error == entry.error != ""


def test_suggested_bounds_state_their_errors_in_their_own_units() -> None:
    dp.session(epsilon=1)
    pd.DataFrame({"age": range(1000)}).dp["age"].suggest_bounds(epsilon=1)
    (entry,) = dp.ledger()._entries()
    assert isinstance(entry.released_error, StatedError)
    lower, upper, clipped = entry.released_error.widths
    assert lower == HalfWidths("age", "lower", "", (None,))._replace(unit=lower.unit)
    assert (upper.figure, upper.unit) == ("upper", lower.unit)
    assert (clipped.figure, clipped.unit == lower.unit) == ("clipped", False)
    assert str(entry.released_error).startswith("clipped ± 0.")
