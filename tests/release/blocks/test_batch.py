"""Batches: what they cost against exact convolutions, all or none, and one place."""

import contextlib
import itertools
import math
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import MissingArgument, QueryError, SessionError
from dppandas.privacy.accounting.losses import Delta
from dppandas.release.blocks import batch

pytest.importorskip("dp_accounting")


def people(name: str = "people", **terms: Any) -> Any:
    df = pd.DataFrame({"x": range(100), "g": list("abcd") * 25, "u": [i // 4 for i in range(100)]})
    return dp.protect(df, name=name, domain={"g": ["a", "b", "c", "d"], "x": (0, 100)}, **terms)


@pytest.fixture(autouse=True)
def budget() -> None:
    dp.session(epsilon=20, delta="1e-3")


def exact_delta(scales: list[Fraction], epsilon: float) -> float:
    """δ(ε) of counts with discrete Laplace noises of these scales, one row more in all: by hand."""
    points = np.arange(-3000, 3001)
    losses: Any = {0.0: 1.0}
    for scale in scales:
        a = math.exp(-1 / float(scale))
        p = (1 - a) / (1 + a) * a ** np.abs(points)
        q = (1 - a) / (1 + a) * a ** np.abs(points - 1)
        own, both = Counter[float](), Counter[float]()
        for one, other in zip(p, q, strict=True):
            if one > 0 and other > 0:
                own[round(math.log(one / other), 9)] += one
        for (x, m), (y, n) in itertools.product(losses.items(), own.items()):
            both[round(x + y, 9)] += m * n
        losses = both
    return sum(m * -math.expm1(epsilon - x) for x, m in losses.items() if x > epsilon)


@pytest.mark.parametrize("number", [1, 2, 8, 20])
def test_what_a_batch_costs_is_the_exact_loss_and_hardly_more(number: int) -> None:
    delta = Delta("1e-3")
    p = people()
    asked = dp.session()._terms.asked("0.1")
    queries = [p.query(f"x > {i}").count()._request.query(asked) for i in range(number)]
    pairs = [(query, query.mechanism()) for query in queries]
    loss = batch.composed(pairs, delta)
    scales = [mechanism.scale for _, mechanism in pairs]
    if loss.delta:
        assert exact_delta(scales, float(loss.epsilon)) <= delta
        # not much more: the grid of losses, and a step
        slack = number * batch.GRID + 2 * float(batch.STEP)
        assert exact_delta(scales, float(loss.epsilon) - slack) > delta * Fraction(99, 100)
    else:
        assert loss.epsilon == Fraction(number, 10)
    assert loss.epsilon <= Fraction(number, 10)


def ask(*added: tuple[Any, Any], **terms: Any) -> list[batch.PendingRelease]:
    """A batch of unreleased answers, each with its ε or None."""
    with dp.batch(**({"epsilon": 1, "delta": "1e-6"} | terms)) as asked:
        return [asked.add(answer, epsilon=epsilon) for answer, epsilon in added]


def test_the_exact_loss_of_one_noise_is_its_epsilon() -> None:
    assert exact_delta([Fraction(10)], 0.1 - 1e-6) > 0
    assert exact_delta([Fraction(10)], 0.1) < 1e-9


def test_many_get_more_than_an_even_share_and_are_charged_no_more_than_the_batch() -> None:
    p = people()
    with dp.batch(epsilon=1, delta="1e-6") as asked:
        answers = [asked.add(p.query(f"x > {i}").count()) for i in range(50)]
    assert (1 / dp.record(answers[0].result()).scale) > 1.5 / 50
    assert dp.ledger().spent <= 1
    assert dp.ledger().loss.delta == Fraction(1, 10**6)
    assert {e.status for e in dp.ledger()._entries()} == {"released"}
    assert dp.ledger()._entries()[0].mechanism == "discrete Laplace, in a batch"


def test_few_are_added_up_and_cost_no_delta() -> None:
    p = people()
    with dp.batch(epsilon=1, delta="1e-6") as asked:
        count = asked.add(p.count(), epsilon="0.25")
        mean = asked.add(p["x"].mean(), epsilon="0.5")
    assert dp.ledger().spent == Fraction(3, 4)
    assert dp.ledger().loss.delta == 0
    assert isinstance(count.result(), int)
    assert isinstance(mean.result(), float)
    assert dp.record(count.result()).scale == 4


def test_each_kind_of_answer_is_as_its_release_gives_it() -> None:
    p = people()
    with dp.batch(epsilon=10, delta="1e-6") as asked:
        sizes = asked.add(p["g"].value_counts(), epsilon=1)
        mode = asked.add(p["g"].mode(), epsilon=1)
        median = asked.add(p["x"].median(), epsilon=1)
        normal = asked.add(p.count(), epsilon="0.5", delta="1e-7", mechanism="gaussian")
        groups = asked.add(p.groupby("g")["x"].mean(), epsilon=1)
    assert sizes.result().name == "count"
    assert mode.result().tolist()[0] in "abcd"
    assert 0 <= median.result() <= 100
    assert isinstance(normal.result(), int)
    assert groups.result().index.tolist() == ["a", "b", "c", "d"]
    assert dp.ledger().loss.within(dp.session()._terms.limit)  # type: ignore[arg-type]


def test_a_preview_tells_the_price_of_the_batch() -> None:
    p = people()
    with dp.preview() as plan:
        ask(*((p.query(f"x > {i}").count(), None) for i in range(50)))
    assert dp.ledger()._entries() == []
    assert plan.total <= 1
    ask(*((p.query(f"x > {i}").count(), None) for i in range(50)))
    assert dp.ledger().spent == plan.total


def test_run_again_it_costs_nothing() -> None:
    for _ in range(2):
        with dp.batch(epsilon=1, delta="1e-6") as asked:
            answers = [asked.add(people().query(f"x > {i}").count()) for i in range(30)]
        told = [answer.result() for answer in answers]
        spent = dp.ledger().loss
    assert [e.status for e in dp.ledger()._entries()] == ["released"] * 30 + ["replayed"] * 30
    assert told == [answer.result() for answer in answers]
    assert dp.ledger().loss == spent


def test_what_it_cannot_pay_is_refused_whole() -> None:
    p = people()
    with pytest.raises(QueryError, match=r"cost ε = 1.5 together, and the batch has ε = 1"):
        ask((p.count(), "0.5"), (p.size(), 1))
    assert dp.ledger()._entries() == []
    anew(epsilon="0.5", delta="1e-3")
    p = people()
    refusal(lambda: ask((p.count(), None)), error=dp.BudgetExceeded)
    assert dp.ledger()._entries() == []


def test_a_block_that_raises_asks_nothing() -> None:
    asked = dp.batch(epsilon=1, delta="1e-6")
    with contextlib.suppress(ZeroDivisionError), asked:
        answer = asked.add(people().count())
        1 / 0  # noqa: B018
    refusal(lambda: answer.result(), "If the block raised, nothing was asked", SessionError)
    assert dp.ledger()._entries() == []


def test_an_empty_block_is_nothing() -> None:
    with dp.batch(epsilon=1, delta="1e-6"):
        pass
    assert dp.ledger()._entries() == []


def test_one_source_only() -> None:
    with pytest.raises(QueryError, match="asks one source"):
        ask((people().count(), "0.1"), (people("others").count(), "0.1"))
    parts = people().partition("g", keys=["a", "b"])
    refusal(lambda: ask((parts["a"].count(), "0.1"), (parts["b"].count(), "0.1")), "in one part")
    refusal(lambda: ask((parts["a"].count(), "0.1"), (people().count(), "0.1")), "in one part")
    assert dp.ledger()._entries() == []


def test_all_or_none_say_their_epsilon() -> None:
    with pytest.raises(MissingArgument, match="or none of them"):
        ask((people().count(), "0.1"), (people().size(), None))
    assert dp.ledger()._entries() == []


@pytest.mark.parametrize(("terms", "said"), [
    ({"epsilon": 1}, r"takes epsilon= and delta="),
    ({"delta": 1e-6}, r"takes epsilon= and delta="),
    ({"epsilon": 0, "delta": 1e-6}, r"greater than 0"),
    ({"epsilon": float("nan"), "delta": 1e-6}, r"finite"),
    ({"epsilon": 1, "delta": 1e-11}, r"must be 1e-10 or more"),
    ({"epsilon": 1, "delta": 0.5}, r"above 0.01"),
])  # fmt: skip
def test_bad_terms_are_refused(terms: Any, said: str) -> None:
    refusal(lambda: dp.batch(**terms), said)


@pytest.mark.parametrize("terms", [{"epsilon": 1}, {"rho": 0.1, "delta": 1e-6}])
def test_other_measures_are_refused(terms: Any) -> None:
    anew(**terms)
    refusal(lambda: dp.batch(epsilon=1, delta=1e-6), "a session that counts ε and δ")


def test_bad_queries_are_refused_where_they_are_added() -> None:
    with dp.batch(epsilon=1, delta="1e-6") as asked:
        for bad in (3, people()):
            refusal(lambda bad=bad: asked.add(bad), "not released yet")
        refusal(lambda: asked.add(people().count(), epsilon=-1), "greater than 0")
        refusal(lambda: asked.add(people().count(), mechanizm="gaussian"), "mechanizm")
    refusal(lambda: asked.add(people().count()), "has ended", SessionError)
    assert dp.ledger()._entries() == []


def test_without_dp_accounting_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("dp_accounting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    refusal(lambda: dp.batch(epsilon=1, delta=1e-6), r"pip install \"dppandas\[batches\]\"")


def test_a_batch_is_not_started_in_a_split() -> None:
    with dp.split(epsilon=1, into=2), pytest.raises(QueryError, match="outside of the split"):
        dp.batch(epsilon=1, delta=1e-6)


def test_an_answer_that_tells_nothing_has_no_share() -> None:
    p = people()
    nothing, count = ask((p["x"].sum(bounds=(0, 0)), "0.1"), (p.count(), "0.1"))
    assert nothing.result() == 0
    assert isinstance(count.result(), int)
    assert dp.ledger().spent == Fraction(1, 10)
