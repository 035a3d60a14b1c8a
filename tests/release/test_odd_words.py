"""Sentences that said odd things: each says now what is so."""

import math
import pickle
import re
from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.display.cards.card import card_of
from dppandas.errors import BudgetExceeded, MissingArgument
from dppandas.rows.figures import within, written

ROWS = pd.DataFrame({
    "n": range(40), "g": ["a", "b"] * 20, "t": [True, False] * 20, "city": ["x", "y"] * 20,
    "when": pd.date_range("2024-03-01 12:00", periods=40, freq="D"),
    "stay": pd.timedelta_range("0 h", periods=40, freq="12 min"),
})  # fmt: skip
DOMAIN = {
    "n": (0, 100), "g": ["a", "b"], "when": ("2024-01-01", "2025-01-01"),
    "stay": (pd.Timedelta(0), pd.Timedelta("8h")),
}  # fmt: skip


def rows(**options: Any) -> Any:
    return dp.protect(ROWS.copy(), name="odd", **{"domain": DOMAIN, **options})


# --- dates and durations --------------------------------------------------------------------------


def test_released_times_are_shown_with_their_errors() -> None:
    p = rows()
    when, stay = p["when"].mean(epsilon=1), p["stay"].mean(epsilon=1)
    for answer in (when, stay):
        assert repr(answer) == f"{answer:±}"
        assert re.fullmatch(r".* ± [\d.,]+ (days|h|min|s)", repr(answer))
        assert repr(pickle.loads(pickle.dumps(answer))) == repr(answer)
    assert str(when) == str(pd.Timestamp(when.value))
    assert str(stay) == str(pd.Timedelta(stay.value))
    assert when + pd.Timedelta(0) == when == pd.Series([when])[0]
    assert repr(when + pd.Timedelta(0)).startswith("Timestamp(")  # pandas' own, without an error
    assert when.isoformat() == pd.Timestamp(when.value).isoformat()


def test_a_time_without_an_error_in_its_unit_is_shown_as_pandas_does() -> None:
    assert repr(rows()["when"].median(epsilon=9)).startswith("Timestamp('")


def test_times_of_a_preview_are_no_answers() -> None:
    with dp.preview():
        assert repr(rows()["when"].mean(epsilon=1)).startswith("preview, no answer")


# --- targets --------------------------------------------------------------------------------------


def shown_error(text: str) -> float:
    (found,) = re.findall(r"± ([\d,.]+)", text)
    return float(found.replace(",", ""))


@pytest.mark.parametrize("target", [125, 1010, 61, 58])
def test_an_error_beside_its_target_is_not_shown_as_a_larger_one(target: int) -> None:
    dp.session(epsilon=10**6)
    p = dp.protect(ROWS.copy(), name="wide", domain={"n": (0, 1000)})
    total = p["n"].sum(within=target)
    assert total.error() <= target
    assert total.error() <= shown_error(repr(total)) <= target
    each = p.groupby("g", keys=["a", "b"])["n"].sum(within=target)
    shown = [shown_error(cell.note) for row in card_of(each).rows for cell in row.cells]
    assert shown
    assert all(error <= target for error in shown)


def test_other_errors_have_two_digits() -> None:
    dp.session(epsilon=10**6)
    p = dp.protect(ROWS.copy(), name="wide", domain={"n": (0, 1000)})
    loss = dp.record(p["n"].sum(within=125)).epsilon
    assert repr(p["n"].sum(epsilon=loss)).endswith("± 130")


# --- budgets --------------------------------------------------------------------------------------


def test_a_share_of_delta_is_not_what_an_error_costs() -> None:
    dp.session(epsilon=9, delta=1e-6)
    said = refusal(
        lambda: rows()["city"].value_counts(within=200, delta=1e-3),
        "asks for δ = 0.001; 1e-06 of 1e-06 is left", BudgetExceeded,
    )  # fmt: skip
    assert "within" not in said


def test_what_is_left_is_enough_for_an_error_of_few_digits() -> None:
    dp.session(epsilon=1)
    p = rows()
    p.count(epsilon="0.93")
    said = refusal(lambda: p["n"].sum(within=100), None, BudgetExceeded)
    within = re.search(r"is enough for within=(\d+)\.", said)
    assert within is not None
    assert len(within[1].rstrip("0")) <= 3
    assert p["n"].sum(within=int(within[1])).error() <= int(within[1])


def test_what_is_left_is_enough_for_a_duration_that_can_be_pasted() -> None:
    dp.session(epsilon=1)
    p = rows()
    p.count(epsilon="0.93")
    ask = p["stay"].sum
    said = refusal(lambda: ask(within=pd.Timedelta("1h")), None, BudgetExceeded)
    code = re.search(r"is enough for within=(pd\.Timedelta\('.*?'\))\.", said)
    assert code is not None
    assert isinstance(ask(within=eval(code[1])), pd.Timedelta)


# --- previews -------------------------------------------------------------------------------------


def test_what_a_preview_finds_answered_is_free() -> None:
    with dp.preview() as plan:
        first = rows()[["n"]].cov(epsilon=1)
        again = rows()[["n"]].cov(epsilon=1)
    assert "ε = 1" in str(dp.record(first))
    assert "free, as asked before" in str(dp.record(again))
    assert "ε = 0" not in str(dp.record(again))
    assert plan.to_frame()["error"].tolist() == ["told by the answer"] * 2


def test_a_preview_says_where_only_the_answer_tells_the_error() -> None:
    with dp.preview() as plan:
        dp.models.OLS.from_formula("n ~ g", rows(), epsilon=1).fit()
        rows()["n"].median(interval=True, epsilon=1)
        rows().count(epsilon=1)
    *others, count = plan.to_frame()["error"]
    assert {*others} == {"told by the answer"}
    assert count.startswith("± ")


# --- ratios ---------------------------------------------------------------------------------------


def test_a_ratio_by_nothing_is_unbounded() -> None:
    assert str(within(math.inf, 594.7, math.inf)) == "unbounded (594.7 or more)"
    assert str(within(-math.inf, -math.inf, -3.0)) == "unbounded (-3 or less)"
    assert str(written(math.inf, 2.0)) == "unbounded"
    assert str(written(math.inf)) == "unbounded"


# --- strict sessions ------------------------------------------------------------------------------


def test_a_strict_session_asks_for_the_kind_of_truths_once() -> None:
    """Whoever does what the refusal says can ask all of these."""
    dp.session(epsilon=99, strict=True)
    said = refusal(lambda: rows()["t"].mean(epsilon=1), "for truths kinds", MissingArgument)
    assert "kinds={'t': 'truth'}" in said
    p = rows(kinds={"t": "truth"})
    for ask in (
        lambda: p["t"].mean(epsilon=1), lambda: p["t"].sum(epsilon=1), lambda: (~p["t"]).mean(),
        lambda: p[p["t"]].count(epsilon=1), lambda: p["t"].value_counts(epsilon=1),
        lambda: p.groupby("t").size(epsilon=1),
    ):  # fmt: skip
        assert ask() is not None


def test_declared_truths_are_of_the_kind_that_conditions_need() -> None:
    dp.session(epsilon=99, strict=True)
    p = rows(domain={"t": [False, True]})
    for ask in (lambda: p["t"].mean(epsilon=1), lambda: p[p["t"]].count(epsilon=1)):
        assert "kinds={'t': 'truth'}" in refusal(ask, "it isn't declared")
