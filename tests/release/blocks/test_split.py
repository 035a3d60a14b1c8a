"""One loss, shared exactly over the releases of a block."""

import asyncio
import contextvars
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import anew, elsewhere, threads
from operations import BOUNDS, GROUPS, OF_UNITS, OPERATIONS, sixty
from refusals import raising, refusal

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import QueryError, ReleaseFailed, SessionError
from dppandas.privacy.accounting.losses import Delta, Epsilon, Loss, Rho


def people(**terms: Any) -> Any:
    return dp.protect(sixty(), "people", **terms)


def losses() -> list[Loss]:
    return [e.loss for e in dp.ledger()._entries()]


def test_each_release_takes_the_next_share_and_all_are_the_whole() -> None:
    dp.session(epsilon=1)
    p = people()
    with dp.split(epsilon=1, into=3) as shares:
        n = p.count()
        assert shares.left == 2
        mean = p["number"].mean(bounds=(0, 9))
        counts = p["group"].value_counts(keys=GROUPS)
    assert isinstance(n, int)
    assert isinstance(mean, float)
    assert isinstance(counts, pd.Series)
    assert losses() == [Loss(Epsilon(1, 3))] * 3
    assert dp.ledger().remaining == 0
    assert shares.shares == (Loss(Epsilon(1, 3)),) * 3


def test_weights_in_order() -> None:
    p = people()
    with dp.split(epsilon="0.4", shares=[2, "0.5", Decimal("1.5")]):
        p.count()
        p.count(fresh=True)
        p.size(fresh=True)
    assert losses() == [Loss(Epsilon(e)) for e in ("0.2", "0.05", "0.15")]


@given(st.fractions("0.01", 5), st.lists(st.fractions("0.1", 9), min_size=1, max_size=12))
def test_shares_add_up_to_the_whole_exactly(whole: Fraction, weights: list[Fraction]) -> None:
    dp.reset()
    shares = dp.split(epsilon=whole, shares=weights).shares
    assert sum(shares, Loss()) == Loss(Epsilon(whole))
    assert [s.epsilon / shares[0].epsilon for s in shares] == [w / weights[0] for w in weights]


@pytest.mark.parametrize("name", [*OPERATIONS, *OF_UNITS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_whatever_waits_for_a_loss_is_answered(name: str) -> None:
    operation = {**OPERATIONS, **OF_UNITS}[name]
    p = people(unit="owner", max_rows=1)
    if "moments" in name or name == "every figure":
        pytest.skip("a part of describe or agg, which nobody calls")
    with dp.split(epsilon=1, into=1) as shares:
        answer = operation(p)
    assert not isinstance(answer, dp.types.Unreleased)
    assert shares.left == 0
    assert losses() == [Loss(Epsilon(1))]
    assert dp.record(answer).epsilon == 1


def test_selections_take_the_label_and_not_the_numbers() -> None:
    p = people()
    counts = p["group"].value_counts(keys=GROUPS)
    with dp.split(epsilon=1, into=5):
        column = p[["yes", "no"]].idxmax()
        names = [p["group"].mode(keys=GROUPS)[0], counts.idxmax(fresh=True)]  # of one query
        names += [counts.nlargest(2).index[0]]
        dp.select(sixty(), [1, 2], score=lambda rows, c: 0, sensitivity=1)
    mechanisms = [e.mechanism for e in dp.ledger()._entries()]
    assert [m == "permute-and-flip" for m in mechanisms] == [True, True, True, False, True]
    assert column in ("yes", "no")
    assert set(names) <= set(GROUPS)
    assert losses() == [Loss(Epsilon(1, 5))] * 5


def test_functions_of_the_callers_own_are_answered_too() -> None:
    with dp.split(epsilon=1, into=1):
        lead = dp.distance_to_property(sixty(), len)
    assert dp.record(lead).epsilon == 1
    anew(epsilon=1, delta=1e-5)
    with dp.split(epsilon=1, into=2, delta=1e-6):
        told = dp.propose_test_release(sixty(), lambda rows: 1, lambda rows: 10**6)
        p, keys = people(), {"group": GROUPS, "yes": [True]}
        crossed = dp.crosstab(p["group"], p["yes"], keys=keys)
    assert told.value == 1
    assert losses() == [Loss(Epsilon(1, 2), Delta("5e-7")), Loss(Epsilon(1, 2))]
    assert crossed.shape == (3, 1)


def test_agg_and_describe_take_one_share() -> None:
    p = people()
    with dp.split(epsilon=1, into=2) as shares:
        both = p["number"].agg(["count", "median"], bounds=(0, 9))
        described = p["number"].describe(bounds=(0, 9))
        assert shares.left == 0
    assert sum(losses(), Loss()) == Loss(Epsilon(1))
    assert [r.epsilon for r in dp.record(both).components.values()] == [Fraction(1, 4)] * 2
    assert described.shape == (8,)


def test_looking_at_what_is_public_takes_none() -> None:
    p = people()
    with dp.split(epsilon=1, into=1) as shares:
        repr(p), p._repr_html_(), p.columns, p.query("number > 3"), p.groupby("group", keys=GROUPS)
        asked = p.assign(more=lambda f: f["number"] + 1)[["more"]]
        assert shares.left == 1
        assert repr(asked)
        repr(dp.ledger())
    assert losses() == []  # and what nobody takes isn't charged


# --- refused --------------------------------------------------------------------------------------


def test_more_releases_than_shares() -> None:
    dp.session(epsilon=2)
    p = people()
    with dp.split(epsilon=1, into=1):
        p.count()
        refusal(lambda: p.size(fresh=True), r"has 1 share, and all are taken.*into=2")
    assert losses() == [Loss(Epsilon(1))]
    assert isinstance(p.size(), dp.types.Unreleased)  # after the block as ever


@pytest.mark.parametrize(
    "said", [{"epsilon": 1}, {"rho": 1}, {"within": 20}], ids=lambda said: next(iter(said))
)
def test_a_loss_of_its_own_is_refused(said: dict[str, Any]) -> None:
    p = people()
    with dp.split(epsilon=1, into=2) as shares:
        for call in (
            p.count, p[["yes"]].idxmax,
            partial(p["number"].agg, ["count", "mean"], bounds=BOUNDS),
            partial(dp.select, sixty(), [1], score=lambda r, c: 0, sensitivity=1),
        ):  # fmt: skip
            refusal(partial(call, **said), "a release in a split can't set its own loss")
        assert shares.left == 2
    assert losses() == []


def test_what_is_refused_takes_no_share_and_what_fails_does(monkeypatch: Any) -> None:
    dp.session(epsilon=1)
    p = people()
    with dp.split(epsilon=3, shares=[1, 2, 5, 1]) as shares:
        for refused in (
            p["number"].mean, lambda: p["nothing"].count(), partial(p.count, delta=1e-6),
            partial(p.count, mechanism="gaussian"),
        ):  # fmt: skip
            refusal(refused, error=dp.DPError)
        assert shares.left == 4
        p.count()
        assert losses() == [Loss(Epsilon(1, 3))]
        with monkeypatch.context() as broken:
            broken.setattr(PandasEngine, "accumulate_rows", lambda *a: 1 / 0)
            with pytest.raises(ReleaseFailed):
                p.size(fresh=True)
        assert shares.left == 2
        refusal(lambda: p["number"].count(), error=dp.BudgetExceeded)
        assert shares.left == 2
    assert losses() == [Loss(Epsilon(1, 3)), Loss(Epsilon(2, 3))]


@pytest.mark.parametrize(("call", "words"), [
    (lambda: dp.split(epsilon=1), "into= is needed"),
    (lambda: dp.split(into=2), "epsilon= or rho="),
    (lambda: dp.split(epsilon=1, rho=1, into=2), "epsilon= or rho="),
    (lambda: dp.split(epsilon=1, into=2, shares=[1, 1]), "Leave into= out"),
    (lambda: dp.split(epsilon=0, into=2), "greater than 0"),
    (lambda: dp.split(epsilon=float("nan"), into=2), "finite"),
    (lambda: dp.split(epsilon=1, into=0), "whole number from 1"),
    (lambda: dp.split(epsilon=1, into=True), "whole number from 1"),
    (lambda: dp.split(epsilon=1, into=2.0), "whole number from 1"),
    (lambda: dp.split(epsilon=1, into=10**9), "whole number from 1"),
    (lambda: dp.split(epsilon=1, shares=[]), "a list of numbers"),
    (lambda: dp.split(epsilon=1, shares={"a": 1}), "a list of numbers"),
    (lambda: dp.split(epsilon=1, shares=[1, -1]), "greater than 0"),
    (lambda: dp.split(epsilon=1, shares=[1, "x"]), "can't be read"),
    (lambda: dp.split(epsilon=1, shares=[1, 10**9]), r"outside \[2\^-20, 64\]"),
    (lambda: dp.split(epsilon=500, into=2), r"outside \[2\^-20, 64\]"),
    (lambda: dp.split(epsilon=1, into=2, delta=1e-6), "no δ to spend"),
    (lambda: dp.split(rho=1, into=2), "counts ε"),
])  # fmt: skip
def test_splits_that_make_no_sense(call: Callable[[], Any], words: str) -> None:
    dp.session(epsilon=100)
    refusal(call, words)


def test_one_block_each_and_none_within_another() -> None:
    shares = dp.split(epsilon=1, into=1)
    with shares:
        refusal(lambda: dp.split(epsilon=1, into=2).__enter__(), "a split is running", SessionError)
    with pytest.raises(SessionError, match="for one block"), shares:
        pass
    assert isinstance(people().count(), dp.types.Unreleased)


def test_an_exception_ends_the_block() -> None:
    with pytest.raises(ZeroDivisionError), dp.split(epsilon=1, into=1):
        1 / 0  # noqa: B018
    assert isinstance(people().count(), dp.types.Unreleased)


# --- other measures -------------------------------------------------------------------------------


def test_a_delta_is_shared_and_a_smaller_one_may_be_said() -> None:
    dp.session(epsilon=2, delta=1e-5)
    p = people()
    with dp.split(epsilon=1, into=4, delta="4e-6") as shares:
        p.count(mechanism="gaussian")
        p["group"].value_counts(delta="1e-7")
        p.count()
        refusal(lambda: p["code"].value_counts(delta="1e-5"), "more than the 1e-06 of its share")
        p.groupby("code", delta="1e-8").size()
        assert shares.left == 0
    assert [loss.delta for loss in losses()] == [Delta("1e-6"), Delta("1e-7"), 0, Delta("1e-8")]
    with dp.split(epsilon="0.1", into=1):
        p.count(mechanism="gaussian", delta="1e-7")  # its own, where none is shared
    assert losses()[-1] == Loss(Epsilon("0.1"), Delta("1e-7"))


def test_rho_is_shared() -> None:
    dp.session(rho=1, delta=1e-6)
    p = people()
    with dp.split(rho="0.3", into=3):
        p.count()
        p["number"].median(bounds=BOUNDS)
        p[["yes", "no"]].idxmax()
    first = dp.ledger()._entries()[0]
    assert (first.mechanism, first.loss) == ("discrete Gaussian", Loss(rho=Rho("0.1")))
    assert dp.ledger().loss.within(Loss(rho=Rho("0.3")))


# --- again, and elsewhere -------------------------------------------------------------------------


def test_a_block_run_again_is_free_even_when_the_budget_is_gone() -> None:
    dp.session(epsilon=1)

    def block() -> list[Any]:
        p = people()
        with dp.split(epsilon=1, shares=[1, 2]):
            return [p.count(), p["number"].sum(bounds=(0, 9))]

    first = block()
    assert dp.ledger().remaining == 0
    assert block() == first
    assert [e.status for e in dp.ledger()._entries()] == ["released"] * 2 + ["replayed"] * 2


def test_agg_asked_afresh_is_drawn_anew() -> None:
    p = people()
    said = {"bounds": (0, 9), "epsilon": 1}
    for _ in range(2):
        p["number"].agg(["count", "median"], fresh=True, **said)
    assert [e.status for e in dp.ledger()._entries()] == ["released"] * 4


def test_threads_started_in_the_block_dont_share() -> None:
    p = people()
    with dp.split(epsilon=1, into=1) as shares:
        found = elsewhere(p.count)
        assert shares.left == 1
    assert isinstance(found, dp.types.Unreleased)


def test_workers_with_the_blocks_context_never_take_one_share_twice() -> None:
    p = people()
    with dp.split(epsilon=1, into=16) as shares:
        contexts = [contextvars.copy_context() for _ in range(20)]
        with threads([partial(context.run, p.count, fresh=True) for context in contexts]) as got:
            pass
        assert shares.left == 0
    assert sum(isinstance(each, QueryError) for each in got) == 4
    assert sum(isinstance(each, int) for each in got) == 16
    assert sum(losses(), Loss()) == Loss(Epsilon(1))
    assert isinstance(contexts[0].run(p.count), dp.types.Unreleased)  # the block has ended


def test_a_task_that_outlives_the_block_asks_as_ever() -> None:
    p = people()

    async def late(go: asyncio.Event) -> Any:
        await go.wait()
        return p.count()

    async def main() -> Any:
        go = asyncio.Event()
        with dp.split(epsilon=1, into=1):
            task = asyncio.create_task(late(go))
            await asyncio.sleep(0)
        go.set()
        return await task

    assert isinstance(asyncio.run(main()), dp.types.Unreleased)
    assert losses() == []


def test_what_is_left_can_be_one_share() -> None:
    session = dp.session(epsilon=200)
    people = dp.protect(pd.DataFrame({"x": [1, 2, 3]}), name="three")
    with dp.split(epsilon=1, shares=[1, 2, 3, 4]) as shares:
        people.count()
        joined = shares._join()
        rest = people.count()
        assert joined == dp.record(rest).loss
        assert (shares.left, dp.record(rest).loss.epsilon) == (0, Fraction(9, 10))
        assert shares._join() == Loss()  # of nothing
    assert session.spent == 1
    with dp.split(epsilon=90, shares=[1, 1, 1]) as shares:
        assert shares._join().epsilon == 30  # more than a release may cost
        assert dp.record(people.count()).loss.epsilon == 30


def test_what_is_left_can_be_divided_anew() -> None:
    session = dp.session(epsilon=1)
    people = dp.protect(pd.DataFrame({"x": [1, 2, 3]}), name="three")
    with dp.split(epsilon=1, shares=[1, 2, 3, 4]) as shares:
        people.count()
        shares._divide(["0.1", "0.2"])
        assert [each.epsilon for each in shares.shares] == [Fraction(1, 10), *thirds("0.9")]
        asked = [dp.record(people["x"].sum(bounds=(0, i + 1))).loss for i in range(2)]
        assert asked == [*shares.shares[1:]]
        refusal(people.count, "2 shares|3 shares")
    assert session.spent == 1


def thirds(whole: str) -> list[Fraction]:
    return [Fraction(whole) / 3, Fraction(whole) * 2 / 3]


def test_where_rho_is_counted_what_is_left_is_less_than_its_sum() -> None:
    """Of ε; and ρ add up."""
    session = dp.session(rho=20, delta=1e-6)
    people = dp.protect(pd.DataFrame({"x": [1, 2, 3]}), name="three")
    with dp.preview() as plan, dp.split(epsilon=4, shares=[1, 2, 3]):
        for i in range(3):
            people["x"].sum(bounds=(0, 2.5 + i))
    with dp.split(epsilon=4, shares=[1, 2, 3]) as shares:
        joined = shares._join()
        people["x"].sum(bounds=(0, 2.5))
    assert 2 < joined.epsilon < 4
    assert plan.total * (1 - 1e-4) <= session.spent <= plan.total
    with dp.split(epsilon=4, into=1) as shares:
        assert shares._join().epsilon == 4  # exactly
    with dp.split(rho=4, shares=[1, 2, 3]) as shares:
        people.count()
        assert shares._join().rho == Fraction(10, 3)


def test_a_bug_behind_a_charge_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not as arguments that don't fit, for which nothing would have been charged."""
    session, p = dp.session(epsilon=1), people()
    broken = raising(TypeError("shaping failed"))
    monkeypatch.setattr("dppandas.release.answers.results.released_value", broken)
    with dp.split(epsilon=1, into=1), pytest.raises(TypeError, match="shaping failed"):
        p.count()
    assert session.spent == 1
