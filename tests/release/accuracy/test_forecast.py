"""What an unreleased answer says it would cost and give, and a model that it did."""

import pandas as pd
import pytest
from IPython.lib.pretty import pretty
from refusals import refusal

import dppandas as dp
from dppandas.errors import RecordError
from dppandas.release.session import running
from dppandas.rows.sentences import in_lines

PETS = pd.DataFrame({"pet": ["cat", "dog"] * 500, "age": [1, 2, 3, 4] * 250})


def lines(asked: object) -> list[str]:
    told, first = pretty(asked), in_lines(repr(asked))
    assert told.startswith(first)
    return told.removeprefix(first).splitlines()[1:]


def test_an_unreleased_answer_says_what_it_would_cost_and_give() -> None:
    counts = PETS.dp["pet"].value_counts(keys=["cat", "dog"])
    found = lines(counts)
    assert running() is None  # looking starts no session
    released = counts.release(epsilon="0.1")
    assert found == [
        f"costs ε = 0.1, would give ± {dp.record(released).errors().iloc[0]} (95 %)",
        "costs ε = 1, would give ± 4 (95 %)",
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (PETS.dp["age"].mean(bounds=(0, 9)), "would give about ± 27/n over n rows (95 %)"),
        (PETS.dp["age"].median(bounds=(0, 9)), "ranks (95 %)"),
        (PETS.dp["pet"].mode(keys=["cat", "dog"]), "would give gap ≤ "),
        (PETS.dp[["age"]].cov(bounds=(0, 9)), "an answer that decides its own error"),
        (PETS.dp["age"].agg(["count", "median"], bounds=(0, 9)), "count ± 6 (95 %); median ± "),
    ],
)
def test_each_kind_of_error_is_told(asked: object, said: str) -> None:
    assert said in lines(asked)[-1]


def test_a_session_of_rho_is_told_in_rho() -> None:
    dp.session(rho=1, delta="1e-6")
    assert lines(PETS.dp.count())[0].startswith("costs ρ = 0.1, would give ± ")
    assert dp.ledger().spent == 0


def test_what_a_session_can_not_answer_has_no_price() -> None:
    dp.session(epsilon=1)
    assert lines(PETS.dp.count())[0].startswith("costs ε = 0.1")
    found = PETS.dp.groupby("pet", delta="1e-5").size()
    assert lines(found) == []


def test_a_model_lists_its_releases_and_their_errors() -> None:
    model = dp.models.LinearRegression(epsilon=1, bounds=(0, 5), target_bounds=(0, 5))
    assert pretty(model) == repr(model)
    model.fit(PETS.dp[["age"]], PETS.dp["age"])
    first, paid, *each = pretty(model).splitlines()
    assert first == repr(model)
    assert paid == f"fitted by {len(model.releases_)} releases, ε = 1:"
    assert len(each) == len(model.releases_)
    assert all(" (95 %, noise only)" in line and len(line) < 160 for line in each)
    refusal(lambda: dp.intervals(model), r"\.releases_", RecordError)
    assert len(dp.intervals(model.releases_[0])) == 2
