"""What a release costs a unit whose rows become others: by hand."""

import math
from html import unescape
from typing import Any

import pandas as pd
import pytest
from refusals import refusal

import dppandas as dp
from dppandas.errors import RecordError

FRAME = pd.DataFrame({"n": [1, 2, 3], "g": list("xyx"), "b": [True, False, True]})
X_Y = ["x", "y"]


def cost(answer: Any) -> Any:
    return dp.record(answer).loss_of_change


@pytest.fixture
def rows() -> Any:
    dp.session(epsilon=1000)
    return dp.protect(FRAME.copy(), "changed")


@pytest.fixture
def few_a_unit() -> Any:
    dp.session(epsilon=1000)
    return dp.protect(FRAME.assign(who=1), "changed of units", unit="who", max_rows=3)


@pytest.mark.parametrize(("ask", "times"), [
    (lambda p: p.count(epsilon=0.5), 1),
    (lambda p: p.query("n > 1").count(epsilon=0.5), 1),
    (lambda p: p["b"].sum(epsilon=0.5), 1),
    (lambda p: p["g"].value_counts(keys=X_Y, epsilon=0.5), 2),
    (lambda p: p["g"].value_counts(keys=["x"], epsilon=0.5), 1),
    (lambda p: p["n"].sum(bounds=(0, 8), epsilon=0.5), 1),
    (lambda p: p["n"].sum(bounds=(4, 8), epsilon=0.5), 1),
    (lambda p: p["n"].sum(bounds=(-8, 0), epsilon=0.5), 1),
    (lambda p: p["n"].sum(bounds=(-8, 8), epsilon=0.5), 2),
    (lambda p: p["n"].sum(bounds=(-4, 8), epsilon=0.5), 1.5),
    (lambda p: p.groupby("g", keys=X_Y)["n"].sum(bounds=(0, 8), epsilon=0.5), 2),
    (lambda p: p[["n", "b"]].sum(bounds=(0, 8), epsilon=0.5), 1),
    (lambda p: p[["n", "b"]].sum(bounds=(0, 8), norm=8, epsilon=0.5), 2),
    (lambda p: p["n"].mean(bounds=(0, 8), epsilon=0.5), 2),
    (lambda p: p["n"].median(bounds=(0, 8), epsilon=0.5), 2),
    (lambda p: p["g"].mode(keys=X_Y, epsilon=0.5), 2),
])  # fmt: skip
def test_the_epsilon_of_a_change(rows: Any, few_a_unit: Any, ask: Any, times: float) -> None:
    """The same for units of several rows: all of them may change."""
    for people in (rows, few_a_unit):
        loss = cost(ask(people))
        assert math.isclose(loss.epsilon, 0.5 * times, rel_tol=1e-6)
        assert (loss.delta, loss.rho) == (0, 0)


def test_the_loss_of_a_change_where_rho_or_delta_is_counted() -> None:
    dp.session(rho=100, delta=1e-6, delta_releases=1e-6)
    people = dp.protect(FRAME.copy(), "changed, of ρ")
    assert cost(people.count(rho=0.5)) == dp.record(people.count(rho=0.5)).loss
    table = people["g"].value_counts(keys=X_Y, rho=0.5)
    assert cost(table).rho == 2 * dp.record(table).loss.rho  # from (1, 0) to (0, 1)
    assert cost(people["n"].median(bounds=(0, 8), rho=0.5)).rho == 4 * 0.5
    found = people["g"].value_counts(epsilon=0.5, delta=1e-7)
    refusal(lambda: cost(found), "ρ and δ", RecordError)
    assert "rows change" not in str(dp.record(found))
    dp.reset()
    dp.session(epsilon=100, delta=1e-3)
    people = dp.protect(FRAME.copy(), "changed, of δ")
    count = people.count(epsilon=0.5, delta=1e-6, mechanism="gaussian")
    assert cost(count) == dp.record(count).loss
    found = cost(people["g"].value_counts(epsilon=0.5, delta=1e-6))
    assert found.epsilon == 1
    assert math.isclose(found.delta, 1e-6 * (1 + math.exp(0.5)))


def test_losses_of_changes_add_up_and_records_tell_them(rows: Any) -> None:
    count = rows.count(epsilon=0.5)
    assert cost(count.refine(epsilon=1)).epsilon == 1.5
    both = rows["n"].agg(["min", "mean"], bounds=(0, 8), epsilon=1)
    assert cost(both).epsilon == 2
    assert "if a unit's rows change in place: ε = 0.5" in str(dp.record(count))
    table = rows["g"].value_counts(keys=X_Y, epsilon=0.25)
    shown = unescape(dp.record(table)._repr_html_()).replace("\N{NO-BREAK SPACE}", " ")
    assert "if a unit's rows change in place: ε = 0.5" in shown
