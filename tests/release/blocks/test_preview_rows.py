"""A preview that is told about how many rows there are shows an error for every question."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted
from operations import OF_UNITS, OPERATIONS, SELECTIONS, UNKNOWN, released, sixty
from refusals import raising, refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine


def error_of(ask: Any, **rows: Any) -> str:
    with dp.preview(**rows) as plan:
        ask()
    (error,) = plan.to_frame()["error"]
    return str(error)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_question_shows_an_error_and_costs_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PandasEngine, "accumulate_rows", raising(AssertionError("it read rows")))
    dp.session(epsilon=1000, delta=1e-3)
    people = dp.protect(sixty(), "people", unit="owner", max_rows=1)
    for name in [*OPERATIONS, *OF_UNITS, *SELECTIONS, *UNKNOWN]:
        with noted(name):
            with dp.preview() as unknown:
                released(name, people)
            with dp.preview(expected_rows=1000) as known:
                released(name, people)
            (before,), (error,) = unknown.to_frame()["error"], known.to_frame()["error"]
            assert error
            assert "/" not in error
            assert error == before if before and "/" not in before and "ranks" not in before else 1
            assert (
                unknown.to_frame()
                .drop(columns="error")
                .equals(known.to_frame().drop(columns="error"))
            )
            assert known.loss == unknown.loss


def test_the_error_is_the_one_that_the_answer_then_has() -> None:
    """Rows spread evenly: the answer's own error is near the one that was told. That of a variance
    is told for values that are all alike, where it is largest."""
    n = 12_000
    rows = pd.DataFrame({
        "value": np.linspace(0, 100, n), "other": np.linspace(0, 1, n)[np.arange(n) * 7919 % n],
        "key": np.tile(["a", "b", "c", "d"], n // 4), "half": np.repeat([1, 2], n // 2),
    })  # fmt: skip
    people = dp.protect(rows, "even")
    value, keys = people["value"], {"keys": ["a", "b", "c", "d"]}
    both, said = people[["value", "other"]], {"bounds": {"value": (0, 100), "other": (0, 1)}}
    for name, ask in {
        "mean": lambda: value.mean(bounds=(0, 100), epsilon=1),
        "var": lambda: value.var(bounds=(0, 100), epsilon=1),
        "std": lambda: value.std(bounds=(0, 100), epsilon=1),
        "shares": lambda: people["key"].value_counts(normalize=True, **keys, epsilon=1),
        "corr": lambda: both.corr(**said, epsilon=1),
        "cov": lambda: value.cov(people["other"], bounds=said["bounds"], epsilon=1),
    }.items():
        with noted(name):
            told = error_of(ask, expected_rows=n)
            assert told.endswith(" at n = 12,000")
            most = float(told.removeprefix("≈ ").split(" at ")[0].split(" to ")[-1])
            answer = ask()
            error = np.max(np.asarray(dp.record(answer).errors(), dtype=float))
            assert most / (3 if name == "var" else 2) < error < 2 * most


def test_the_words_name_the_number() -> None:
    people = dp.protect(sixty(), "people")
    mean = people["number"].mean(bounds=(0, 9))
    assert error_of(lambda: mean.release(epsilon=1)) == "≈ 26.96/n"
    for rows, word in [(1000, "1,000"), (np.int64(20), "20"), (0.5, "0.5"), (1e18, "1e+18")]:
        error = mean.expected_error(epsilon=1, expected_rows=rows)
        said = error_of(lambda: mean.release(epsilon=1), expected_rows=rows)
        assert said == f"≈ {error:.4g} at n = {word}"
    quantiles = people["number"].quantile([0.2, 0.5], bounds=(0, 9))
    few = quantiles.expected_error(epsilon=1, expected_rows=60)
    told = error_of(lambda: quantiles.release(epsilon=1), expected_rows=60)
    assert told == f"± {few:g} ranks at n = 60"


def test_bad_numbers_are_refused_in_two_lines() -> None:
    for name, bad in enumerate([0, -1, float("nan"), float("inf"), "many", True, [10], 10**400]):
        with noted(name):
            said = refusal(lambda bad=bad: dp.preview(expected_rows=bad), "a number above 0")
            assert "Write expected_rows=1000" in str(said)
