"""Losses in three measures: what may be asked in each, what is charged, and what is told."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import raising, refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import SessionError
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, Rho, parse_delta, parse_rho
from dppandas.privacy.accounting.measures import LossRequest, Measure, PrivacyBudget

DF = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 100, "g": ["a", "b", "c"] * 100})


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rows may not be read."""
    read = raising(AssertionError("rows were read"))
    monkeypatch.setattr(PandasEngine, "accumulate_rows", read)
    yield
    assert dp.ledger()._entries() == []


# --- exact losses ---------------------------------------------------------------------------------

PARTS = st.fractions(0, 10)


@given(PARTS, PARTS, PARTS, PARTS)
def test_losses_add_and_compare_part_by_part(a: Any, b: Any, c: Any, d: Any) -> None:
    one, other = Loss(Epsilon(a), Delta(b), Rho(c)), Loss(Epsilon(b), Delta(c), Rho(d))
    both = one + other
    assert (both.epsilon, both.delta, both.rho) == (a + b, b + c, c + d)
    assert both - other == one
    assert one.within(both)
    assert other.within(both)
    assert one.within(other) == (a <= b and b <= c and c <= d)


@pytest.mark.parametrize(("loss", "shown"), [
    (Loss(), "ε = 0"),
    (Loss(Epsilon("0.1")), "ε = 0.1"),
    (Loss(Epsilon(1), Delta("1e-6")), "ε = 1, δ = 1e-06"),
    (Loss(rho=Rho("0.05")), "ρ = 0.05"),
    (Loss(rho=Rho(1, 3), delta=Delta("0.000123456789")), "ρ = 1/3, δ = 0.000123456789"),
])  # fmt: skip
def test_losses_print_exactly(loss: Loss, shown: str) -> None:
    assert str(loss) == shown


@pytest.mark.parametrize("value", [0, -1e-9, "0", True, float("nan"), "inf", "many", None, 0.02, 1])
def test_a_delta_is_small_and_positive(value: Any) -> None:
    refusal(lambda: parse_delta(value), error=dp.DPError)


def test_deltas_and_rhos_are_exact() -> None:
    assert parse_delta(1e-6) == Fraction(1, 10**6)
    assert parse_delta("1/1000000") * 3 == parse_delta("3e-6")
    assert parse_rho(0.1) * 3 == parse_rho("0.3")


# --- what a session promises ----------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "words"), [
    ({"delta": 1e-6}, "epsilon="),
    ({"rho": 0.1}, "delta="),
    ({"epsilon": 1, "delta_releases": 1e-6}, "delta_releases"),
    ({"epsilon": 1, "rho": 0.1, "delta": 1e-6}, "rho= and delta="),
    ({"accounting": "zcdp", "delta": 1e-6}, "rho= and delta="),
    ({"rho": 0.1, "delta": 1e-6, "accounting": "basic"}, "can't count rho="),
    ({"epsilon": 1, "accounting": "moments"}, "'basic' or 'zcdp'"),
    ({"epsilon": 1, "delta": 0.5}, "above 0.01"),
    ({"rho": 0, "delta": 1e-6}, "greater than 0"),
    ({"rho": float("nan"), "delta": 1e-6}, "finite"),
])  # fmt: skip
def test_a_session_that_makes_no_sense_is_refused(arguments: dict[str, Any], words: str) -> None:
    refusal(lambda: dp.session(**arguments), words, dp.DPError)
    assert dp.session().budget is None  # and none was started


def test_a_session_with_a_delta_counts_both() -> None:
    session = dp.session(epsilon=1, delta="1e-6")
    assert dp.session(epsilon=1, delta=1e-6) is session
    assert session._terms.measure is Measure.APPROXIMATE
    assert session.epsilon == 1
    DF.dp.count(epsilon="0.25")
    assert session.ledger.loss == Loss(Epsilon("0.25"))
    assert session.ledger._left == Loss(Epsilon("0.75"), Delta("1e-6"))
    table = session.ledger.to_frame()
    assert {"epsilon", "delta"} <= set(table)
    assert "rho" not in table
    said = "dppandas ledger · 0.75 of ε = 1 left · 0.25 spent on 1 answer · 1e-06 of δ = 1e-06 left"
    assert repr(session).splitlines()[0] == said


@pytest.mark.parametrize("other", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-7}])
def test_another_promise_is_another_session(other: dict[str, Any]) -> None:
    dp.session(epsilon=1, delta=1e-6)
    refusal(lambda: dp.session(**other), "δ = 1e-06 is running", SessionError)


def test_what_was_spent_without_a_limit_counts_in_one_with_delta() -> None:
    DF.dp.count(epsilon=1)
    refusal(lambda: dp.session(epsilon="0.5", delta=1e-6), "spent already", SessionError)
    assert dp.session(epsilon=2, delta=1e-6).remaining == 1


# --- what a release may ask -----------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a delta in a pure session": ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-7}, "no δ to spend"),
    "a delta without a session": ({}, {"epsilon": 1, "delta": 1e-7}, "no δ to spend"),
    "rho where ε is counted": ({"epsilon": 1}, {"rho": 0.1}, "counts ε"),
    "both": ({"epsilon": 1}, {"epsilon": 1, "rho": 0.1}, "both say"),
    "gaussian in a pure session": (
        {"epsilon": 1}, {"epsilon": 1, "mechanism": "gaussian"}, "not private at any ε"),
    "gaussian without its delta": (
        {"epsilon": 1, "delta": 1e-6}, {"epsilon": 1, "mechanism": "gaussian"}, "delta= is needed"),
    "an unknown mechanism": ({"epsilon": 1}, {"epsilon": 1, "mechanism": "cauchy"}, "'laplace'"),
    "a mechanism that is no text": ({"epsilon": 1}, {"epsilon": 1, "mechanism": 5}, "'laplace'"),
    "an argument that nothing takes": ({"epsilon": 1}, {"epsilon": 1, "rhoo": 5}, "unexpected"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_that_does_not_fit_its_session_is_refused(case: str, unread: None) -> None:
    session, asked, words = REFUSED[case]
    if session:
        dp.session(**session)
    refusal(lambda: DF.dp.count(**asked), words, dp.DPError)
    refusal(lambda: DF.dp["x"].mean(bounds=(0, 3), **asked), words, dp.DPError)


def test_a_loss_is_allowed_only_if_every_part_is() -> None:
    pure = LossRequest(Measure.PURE, Epsilon(1))
    both = LossRequest(Measure.APPROXIMATE, Epsilon(1), Delta("1e-6"))
    rho = LossRequest(Measure.ZCDP, rho=Rho("0.1"))
    for asked, loss, allowed in (
        (pure, Loss(Epsilon(1)), True), (pure, Loss(Epsilon("1.0000001")), False),
        (pure, Loss(Epsilon("0.5"), Delta("1e-9")), False), (rho, Loss(Epsilon("0.1")), False),
        (both, Loss(Epsilon(1), Delta("1e-6")), True), (rho, Loss(rho=Rho("0.1")), True),
        (both, Loss(Epsilon(1), Delta("2e-6")), False), (rho, Loss(rho=Rho("0.11")), False),
    ):  # fmt: skip
        assert asked.allows(loss) == allowed, (asked, loss)


def test_terms_say_the_whole_promise() -> None:
    assert str(PrivacyBudget()) == "no limit"
    assert str(PrivacyBudget(limit=Loss(Epsilon(2)))) == "ε = 2"
    promise = PrivacyBudget(Measure.APPROXIMATE, Loss(Epsilon(2), Delta("1e-6")))
    assert str(promise) == "ε = 2, δ = 1e-06"
    promise = PrivacyBudget(Measure.ZCDP, Loss(rho=Rho("0.1"), delta=Delta("1e-6")), Delta("1e-6"))
    assert str(promise) == "ρ = 0.1, δ = 2e-06"


# --- sessions that count ρ ------------------------------------------------------------------------


def test_rho_adds_up_and_epsilon_is_told_of_the_whole_alone() -> None:
    session = dp.session(rho="0.1", delta=1e-6)
    DF.dp.count(rho="0.03")
    DF.dp.count(rho="0.07")
    with pytest.raises(dp.BudgetExceeded, match=r"asks for ρ = 0\.01; 0 of 0\.1") as refused:
        DF.dp.count(rho="0.01")
    assert (refused.value.requested, refused.value.remaining) == (Fraction(1, 100), 0)
    assert session.spent == session.budget == Fraction(1, 10)
    table = session.ledger.to_frame()
    assert table["rho"].tolist() == [0.03, 0.07]
    assert "epsilon" not in table
    # theory: ρ = 0.1 means ε = 2.1 at δ = 1e-6, and nothing converts what is spent so far
    first = repr(session).splitlines()[0]
    assert "the whole budget means ε = 2.142 at δ = 1e-06" in first
    assert first.count("ε") == 1
    assert session._repr_html_().count("ε = 2.142") == session._repr_html_().count("ε")


def test_laplace_noise_is_charged_its_own_rho_which_is_less_than_that_of_any_pure_loss() -> None:
    session = dp.session(rho=1, delta=1e-6)
    DF.dp.count(epsilon=1)
    assert float(session.spent) == pytest.approx(0.4621171573, abs=1e-9)  # tanh(1/2): ℓ1 of 1
    DF.dp["x"].mean(bounds=(0, 10), epsilon=1)
    second = session.ledger._entries()[1].loss.rho
    assert 0.3678 < float(second) < 0.36788  # many grid steps: towards 1/e


@pytest.mark.parametrize("asked", [{"epsilon": "0.2"}, {"rho": "0.005"}])
def test_selections_are_exponential_and_cost_an_eighth_of_the_square(asked: Any) -> None:
    session = dp.session(rho=1, delta=1e-6)
    chosen = DF.dp["g"].value_counts(keys=["a", "b", "c"]).idxmax(**asked)
    assert dp.record(chosen).mechanism == "exponential"
    assert session.spent == Fraction(5, 1000)  # 0.2²/8


def test_gaussian_noise_is_that_of_rho() -> None:
    dp.session(rho=1, delta=1e-6)
    record = dp.record(DF.dp.count(rho="0.02"))
    assert record.mechanism == "discrete Gaussian"
    assert record.scale == pytest.approx(5)  # σ² = 1/(2ρ) = 25
    several = dp.record(DF.dp[["x", "g"]].count(rho="0.02"))
    assert several.scale == pytest.approx(50**0.5)  # ℓ2² is 2: less than Laplace noise would pay
    mean = dp.record(DF.dp["x"].mean(bounds=(0, 10), rho="0.02"))
    assert mean.scale == pytest.approx(5 * 10, rel=1e-9)  # of a sum of values from 0 to 10


def test_a_budget_of_epsilon_becomes_a_rho() -> None:
    session = dp.session(epsilon=2, delta=1e-6, accounting="zcdp")
    assert float(session.budget or 0) == pytest.approx(0.08815268, abs=1e-7)
    assert float(session.epsilon or 0) == pytest.approx(2, abs=1e-9)
    assert (session.epsilon or 3) <= 2
    assert dp.session(epsilon=2, delta=1e-6, accounting="zcdp") is session


def test_a_hundred_small_releases_cost_less_in_rho() -> None:
    # theory.md B2: 100 releases at ε = 0.1 are 10 by adding up, and 5.22 by ρ, at δ = 1e-6
    session = dp.session(rho="0.5", delta=1e-6)
    for _ in range(100):
        DF.dp.count(epsilon="0.1")
    assert float(session.spent) == pytest.approx(0.4996, abs=1e-3)
    assert float(session.epsilon or 0) == pytest.approx(5.2215, abs=1e-3)


def test_rho_and_laplace_do_not_go_together() -> None:
    dp.session(rho=1, delta=1e-6)
    refusal(lambda: DF.dp.count(rho="0.1", mechanism="laplace"), "rho= is for Gaussian noise")
    refusal(lambda: DF.dp.count(epsilon="0.1", mechanism="gaussian"), "Give rho= instead")
    refusal(lambda: DF.dp.count(epsilon="0.1", delta=1e-9), "no δ to spend")
    assert dp.ledger()._entries() == []


# --- Gaussian noise where ε and δ are counted -----------------------------------------------------


def test_gaussian_noise_spends_its_delta() -> None:
    session = dp.session(epsilon=1, delta="1e-6")
    record = dp.record(DF.dp.count(epsilon="0.5", delta="4e-7", mechanism="gaussian"))
    assert record.loss == Loss(Epsilon("0.5"), Delta("4e-7"))
    assert session.ledger._left == Loss(Epsilon("0.5"), Delta("6e-7"))
    with pytest.raises(dp.BudgetExceeded, match="asks for δ = 7e-07; 6e-07 of 1e-06"):
        DF.dp.count(epsilon="0.5", delta="7e-7", mechanism="gaussian")
    DF.dp.count(epsilon="0.5")  # without δ there is room


@pytest.mark.parametrize("ask", [
    lambda: DF.dp.count(rho="0.01"),
    lambda: DF.dp[["x", "g"]].count(rho="0.01"),
    lambda: DF.dp["x"].sum(bounds=(-5, 5), rho="0.01"),
    lambda: DF.dp["x"].var(bounds=(0, 5), rho="0.01"),
    lambda: DF.dp.groupby("g", keys=["a", "b"])["x"].mean(bounds=(0, 5), rho="0.01"),
])  # fmt: skip
def test_numbers_of_every_kind_know_their_error_under_gaussian_noise(ask: Any) -> None:
    dp.session(rho=1, delta=1e-6)
    record = dp.record(ask())
    values = np.ravel(record.estimate())  # ten deviations of noise from where ends are cut off
    low, high = np.reshape(record.intervals(0.5), (len(values), 2)).T
    lowest, highest = np.reshape(record.intervals(0.99), (len(values), 2)).T
    assert (low <= values).all()
    assert (values <= high).all()
    assert (lowest <= low).all()  # a variance is never below 0
    assert (high < highest).all()
    assert (np.ravel(record.errors(0.5)) < np.ravel(record.errors(0.99))).all()
    assert dp.ledger().spent == Fraction(1, 100)
