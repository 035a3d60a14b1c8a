"""What a refusal says that earlier answers are still good for is true, and only that is said."""

import pickle
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dppandas as dp

FREE = "What was answered stays free to ask again."


@pytest.fixture
def survey() -> Any:
    dp.session(epsilon=2)
    frame = pd.DataFrame({"age": [20, 40, 60] * 100, "street": "Oak"})
    return dp.protect(frame, name="survey", domain={"age": (0, 90), "street": ["Elm", "Oak"]})


def said(ask: Any) -> str:
    with pytest.raises(dp.BudgetExceeded) as raised:
        ask()
    kept = raised.value.reason.removeprefix(str(raised.value.args[0])).strip()
    assert raised.value.earlier.startswith(kept), "what doesn't fit is left out"
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (str(copy), vars(copy)) == (str(raised.value), vars(raised.value))
    assert str(raised.value).endswith(" Nothing was computed or charged.")
    return raised.value.earlier


def test_nothing_is_said_where_nothing_was_answered(survey: Any) -> None:
    assert said(lambda: survey.count(epsilon=3)) == ""
    pd.DataFrame({"x": [1]}).dp.count(epsilon=1)  # which pays each time
    assert said(lambda: survey.count(epsilon=3)) == ""


def test_answers_of_named_sources_stay_free(survey: Any) -> None:
    answers = survey["age"].median(epsilon=1), pd.DataFrame({"x": [1]}).dp.count(epsilon=1)
    assert said(lambda: survey.count(epsilon=3)) == (
        "What named sources answered stays free to ask again."
    )
    assert survey["age"].median(epsilon=1) == answers[0]
    assert dp.ledger().remaining == 0


def test_what_is_said_to_be_combined_can_be(survey: Any) -> None:
    asked = [survey.count(epsilon="0.5"), survey["age"].mean(epsilon=1), survey.count(epsilon=0.25)]
    told = said(lambda: survey.count(epsilon=1))
    assert "dp.combine joins releases 1, 3 at no cost." in told
    best = dp.record(asked[2])
    assert told.endswith(
        f"dp.record(answer).refine(epsilon=0.25) improves release 3 (count, ± {best.error():g})."
    )
    before = dp.ledger().spent
    assert dp.combine(asked[0], asked[2]).error() < best.error()
    assert dp.ledger().spent == before
    assert asked[2].refine(epsilon="0.25").error() < best.error()
    assert dp.ledger().remaining == 0
    assert said(lambda: survey.count(epsilon=1)) == (
        f"{FREE} dp.combine joins releases 1, 3, 4 at no cost."
    )


def test_steps_of_a_model_are_not_said_to_be_refined(survey: Any) -> None:
    dp.models.KMeans(n_clusters=2, epsilon="0.5").fit(survey[["age"]])
    assert said(lambda: survey.count(epsilon=2)) == FREE
    with dp.split(epsilon=1, into=2):
        survey.count()
        survey["age"].mean()
    assert "refine(epsilon=0.5) improves release " in said(lambda: survey.count(epsilon=2))


def test_the_question_that_is_refused_comes_first(survey: Any) -> None:
    survey["age"].mean(epsilon="0.25")
    survey.count(epsilon="0.5")
    assert "improves release 2 (count, " in said(lambda: survey.count(epsilon=2))
    assert "improves release 1 (mean of " in said(lambda: survey["age"].median(epsilon=2))


@pytest.mark.parametrize("ask", [
    lambda p: p["age"].median(epsilon=1), lambda p: p["age"].mode(keys=[20, 40], epsilon=1),
    lambda p: p.count(epsilon="1.5"),  # so little is left that it would add nothing
])  # fmt: skip
def test_what_can_not_be_refined_is_not_said_to_be(ask: Any, survey: Any) -> None:
    ask(survey)
    assert said(lambda: survey.count(epsilon=3)) == FREE


def test_looks_that_answers_decided_are_not_combined(survey: Any) -> None:
    survey["age"].mean(epsilon="0.1").refine(until=3.5, looks=3)
    assert "dp.combine" not in said(lambda: survey.count(epsilon=3))


def test_other_ways_to_be_refused_say_it_too(survey: Any) -> None:
    survey.count(epsilon=1)
    for ask in (
        lambda: survey.count(within=1),
        lambda: survey.count(epsilon=1).refine(until=1, looks=1),
        lambda: dp.models.KMeans(2, epsilon=3).fit(survey[["age"]]),
        lambda: dp.synthesize(survey[["street"]], rows=9, epsilon=3),
    ):
        told = said(ask)
        refined = "dp.record(answer).refine(epsilon=1) improves release 1 (count, ± 3)."
        assert told == f"{FREE} {refined}"


def test_a_restarted_kernel_knows_what_it_asked_again(tmp_path: Path) -> None:
    """The file alone doesn't say which questions are equal."""
    frame = pd.DataFrame({"x": range(300)})
    for asked_again in (False, True):
        dp.reset()
        dp.session(epsilon=1, store=tmp_path / "a.ledger")
        survey = dp.protect(frame, name="survey", version="1")
        if asked_again:
            assert said(lambda: survey.count(epsilon=3)) == FREE  # noqa: B023
        survey.count(epsilon="0.5")
        assert re.search(
            r"refine\(epsilon=0\.5\) improves release 1 \(count, ± 6\)",
            said(lambda: survey.count(epsilon=3)),  # noqa: B023
        )
