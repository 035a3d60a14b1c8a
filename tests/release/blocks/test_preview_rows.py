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
from dppandas.rows.figures import format_error
from dppandas.statistics.samples import SampleShare


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
            assert "answer" not in error
            is_known = not any(part in before for part in ("/", "ranks", "told by the answer"))
            assert error == before or not is_known
            beside = ["error", "population", "without limits"]
            one, other = (
                each.to_frame().drop(columns=beside, errors="ignore") for each in (unknown, known)
            )
            assert one.equals(other)
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
    assert error_of(lambda: mean.release(epsilon=1)) == "≈ 27/n"
    for rows, word in [(1000, "1,000"), (np.int64(20), "20"), (0.5, "0.5"), (1e18, "1e+18")]:
        error = mean.expected_error(epsilon=1, expected_rows=rows)
        said = error_of(lambda: mean.release(epsilon=1), expected_rows=rows)
        assert said == f"≈ {format_error(error)} at n = {word}"
    quantiles = people["number"].quantile([0.2, 0.5], bounds=(0, 9))
    few = quantiles.expected_error(epsilon=1, expected_rows=60)
    told = error_of(lambda: quantiles.release(epsilon=1), expected_rows=60)
    assert told == f"± {few:g} ranks at n = 60"


def test_bad_numbers_are_refused_in_two_lines() -> None:
    for name, bad in enumerate([0, -1, float("nan"), float("inf"), "many", True, [10], 10**400]):
        with noted(name):
            said = refusal(lambda bad=bad: dp.preview(expected_rows=bad), "a number above 0")
            assert "Write expected_rows=1000" in str(said)


# --- for a population -----------------------------------------------------------------------------


def of_both(ask: Any, rows: float) -> str:
    with dp.preview(expected_rows=rows) as plan:
        ask()
    (told,) = plan.to_frame()["population"]
    return str(told)


def even(rows: int) -> Any:
    """Rows spread evenly, of which half are true."""
    u = (np.arange(rows) + 0.5) / rows
    table = pd.DataFrame({
        "value": 100 * u, "ends": np.repeat([0, 100], rows // 2),
        "yes": np.arange(rows) // 4 % 2 == 0, "key": np.tile(["a", "b", "c", "d"], rows // 4),
    })  # fmt: skip
    domain: Any = {"value": (0, 100), "ends": (0, 100), "key": ["a", "b", "c", "d"]}
    return dp.protect(table, f"even {rows}", domain=domain)


@pytest.mark.statistical
def test_noise_and_sample_are_what_the_answer_then_states() -> None:
    """Of rows spread evenly the answer's own interval for the population is nearly as wide as was
    told: with 4,000 rows noise moves its width by less than a tenth, but for once in 10^9 runs."""
    people = even(4000)
    for name, (ask, within) in {
        "mean": (lambda: people["ends"].mean(epsilon=1), 4000),
        "mean for inference": (lambda: people["value"].mean(epsilon=1, inference=True), 4000),
        "share": (lambda: people["yes"].mean(epsilon=1), 4000),
        "deviation": (lambda: people["value"].std(epsilon=1), 4000),
        "shares": (lambda: people["key"].value_counts(normalize=True, epsilon=1), 4000),
        "means by group": (lambda: people.groupby("key")["yes"].mean(epsilon=1), 1000),
    }.items():
        with noted(name):
            told = float(of_both(ask, within).removeprefix("≈ "))
            found = dp.intervals(ask(), of="population")
            wide = (found["high"] - found["low"]).max() / 2
            assert 0.9 < told / wide < 1.1


def test_the_population_is_told_of_each_figure_and_column() -> None:
    people = even(400)
    several = people["value"].agg(["count", "mean", "std"])
    assert of_both(lambda: several.release(epsilon=1), 400).startswith("mean ≈ ")
    assert ", std ≈ " in of_both(lambda: several.release(epsilon=1), 400)
    both = of_both(lambda: people[["value", "yes"]].mean(epsilon=1), 400)
    assert both.startswith("value ≈ ")
    assert ", yes ≈ " in both
    with dp.preview() as plan:
        people["value"].mean(epsilon=1)
    assert "population" not in plan.to_frame()


def test_what_says_nothing_of_a_population_is_blank() -> None:
    """Nor do units of several rows, or what only the answer decides."""
    people, owned = even(400), dp.protect(sixty(), "owned", unit="owner", max_rows=2)
    for ask in (
        lambda: people.count(epsilon=1), lambda: people["value"].sum(epsilon=1),
        lambda: people["value"].median(epsilon=1, interval=True),
        lambda: people["key"].value_counts(epsilon=1), lambda: people["key"].mode(epsilon=1),
        lambda: people[["value", "ends"]].corr(epsilon=1),
        lambda: owned["number"].mean(bounds=(0, 9), epsilon=1),
        lambda: owned["when"].mean(bounds=("2020-01-01", "2021-01-01"), epsilon=1),
    ):  # fmt: skip
        assert of_both(ask, 400) == ""


def test_many_rows_and_keys_are_quick_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 10^6 rows a share is told by its normal law, whose error differs by less than 5 %. One
    interval is enough for all labels."""
    people, asked, estimate = even(400), [], SampleShare.estimate

    def noted_estimate(self: Any, risk: float, how: Any) -> Any:
        asked.append(how.method)
        return estimate(self, risk, how)

    monkeypatch.setattr(SampleShare, "estimate", noted_estimate)
    told = [
        float(of_both(lambda: people["yes"].mean(epsilon=1), rows).removeprefix("≈ "))
        for rows in (10**6, 10**6 + 1)
    ]
    assert asked == [None, "t"]
    assert 0.95 < told[0] / told[1] < 1.05
    assert of_both(lambda: people["key"].value_counts(normalize=True, epsilon=1), 400)
    assert len(asked) == 3
