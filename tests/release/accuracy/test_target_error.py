"""Asked by error: the least loss of three digits that keeps it, found from public facts alone."""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import operations as ops
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import anew
from refusals import refusal
from scipy import stats
from sizes import third

import dppandas as dp
from dppandas.engines.pandas import PandasEngine
from dppandas.errors import QueryError
from dppandas.privacy.accounting.losses import LARGEST, SMALLEST, Epsilon, Loss
from dppandas.release import release
from dppandas.release.accuracy import expected, target_error
from dppandas.release.query import Query

N = 300
EVERY = [*ops.OPERATIONS, *ops.OF_UNITS, *ops.SELECTIONS, *ops.UNKNOWN]

SESSIONS = {
    "pure": {"epsilon": 1000},
    "approximate": {"epsilon": 1000, "delta": "1e-3"},
    "zCDP": {"rho": 10**6, "delta": "1e-6", "delta_releases": "1e-3"},
}


def asking(name: str, p: Any, **said: Any) -> Any:
    """An operation, or a selection, asked by its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if name not in ops.SELECTIONS:
            return {**ops.OPERATIONS, **ops.OF_UNITS, **ops.UNKNOWN}[name](p).release(**said)
        if name.startswith(("worst fit", "posterior")):
            return ops.SELECTIONS[name](p, None).release(**said)
        return SELECTED[name](p)(**said)


#: Selections, which are asked in one call.
SELECTED: dict[str, Callable[[Any], Any]] = {
    "idxmax of columns": lambda p: p[["yes", "no"]].idxmax,
    "idxmax of sums": lambda p: partial(p[["number", "code"]].idxmax, bounds=ops.BOUNDS),
    "idxmax of few": lambda p: p["group"].value_counts(keys=ops.GROUPS, max_rows_per_key=1).idxmax,
    "idxmax of counts": lambda p: p["group"].value_counts(keys=ops.GROUPS).idxmax,
    "nlargest columns": lambda p: partial(
        p.assign(high="number > 1")[["yes", "no", "high"]].sum().nlargest, 2
    ),
    "nlargest counts": lambda p: partial(p["code"].value_counts(keys=ops.CODES).nlargest, 2),
    "mode": lambda p: partial(p["group"].mode, keys=ops.GROUPS),
    "small database": lambda p: ops.small(p, 2).release,
    "small database of a query": lambda p: ops.small(p.query("code > 1"), 3).release,
}


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[Query]:
    """What is released, query by query."""
    seen: list[Query] = []
    planned = release._planned

    def spy(running: Any, query: Query, *rest: Any) -> Any:
        seen.append(query)
        return planned(running, query, *rest)

    monkeypatch.setattr(release, "_planned", spy)
    return seen


def lower(loss: Fraction) -> Fraction:
    """The next lower decimal of three digits: by another way than the code's."""
    value = Decimal(loss.numerator) / Decimal(loss.denominator)
    unit = Decimal(1).scaleb(value.adjusted() - 2)
    assert value % unit == 0  # of three digits itself
    below = value - unit
    return Fraction(below if below.adjusted() == value.adjusted() else value - unit / 10)


def error_at(query: Query, loss: Fraction, confidence: float, rows: float | None) -> float:
    way = "epsilon" if query.asked.rho is None else "rho"
    asked = replace(query.asked, **{way: type(getattr(query.asked, way))(loss)})
    return expected.error_before(replace(query, asked=asked), confidence, rows)


@pytest.mark.parametrize("measure", SESSIONS)
@pytest.mark.sized
@pytest.mark.parametrize("name", third(EVERY, 2))
def test_the_least_loss_is_found_or_refused(name: str, measure: str, queries: list[Query]) -> None:
    if name in ops.UNKNOWN and measure == "pure":
        pytest.skip("needs a δ")
    dp.session(**SESSIONS[measure])
    people = dp.protect(ops.sixty(N), "people", unit="owner", max_rows=1)
    goal, confidence = 40, 0.9
    said = {"within": goal, "confidence": confidence, "expected_rows": 1000}
    if name in ops.REFUSED_WITHIN:
        caught = refusal(lambda: asking(name, people, **said), ops.REFUSED_WITHIN[name])
        assert "Nothing was computed or charged" in caught
        assert caught.startswith("within= can't be promised for ")
        assert dp.ledger()._entries() == []
        return
    result = asking(name, people, **said)
    (query,) = queries
    asked = query.asked
    loss = asked.epsilon if asked.rho is None else asked.rho
    assert loss is not None
    assert error_at(query, loss, confidence, 1000) <= goal
    assert error_at(query, lower(loss), confidence, 1000) > goal
    (entry,) = dp.ledger()._entries()
    assert entry.loss == asked.charged(query.loss(query.mechanism()))
    if isinstance(result, pd.Index):
        return  # carries no record
    if query.statistic.errors.per_row(1) is None:  # of a ratio: to first order
        assert np.all(np.asarray(dp.record(result).errors(confidence)) <= goal)


# --- the least ------------------------------------------------------------------------------------


def least_for_a_count(most: int, confidence: Decimal) -> Decimal:
    """The least ε of three digits with 2a^(w+1)/(1+a) ≤ β, by decimals and by bisection of ε."""

    def tail(epsilon: Decimal) -> Decimal:
        a = (-epsilon).exp()
        return 2 * a ** (most + 1) / (1 + a)

    low, high = Decimal("1e-7"), Decimal(64)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= 1 - confidence else (middle, high)
    return high.quantize(Decimal(1).scaleb(high.adjusted() - 2), ROUND_CEILING)


@given(st.integers(1, 10**5), st.sampled_from(["0.5", "0.8", "0.95", "0.99", "0.999999"]))
def test_a_count_costs_what_its_law_says(most: int, confidence: str) -> None:
    dp.reset()
    n = ops.sixty(N).dp.count(within=most + 0.5, confidence=float(confidence))
    expected = least_for_a_count(most, Decimal(confidence))
    assert dp.record(n).epsilon == max(Fraction(expected), Fraction("9.54e-7"))


@given(st.integers(0, len(target_error._PLACES) - 2))
def test_short_decimals_are_in_order_and_have_three_digits(place: int) -> None:
    here, after = target_error._decimal(place), target_error._decimal(place + 1)
    assert lower(after) == here
    value = Decimal(here.numerator) / Decimal(here.denominator)
    assert len(value.normalize().as_tuple().digits) <= 3
    assert 1 < after / here <= Fraction(101, 100)


@settings(max_examples=40)
@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9), st.floats(0.5, 0.999))
def test_less_error_never_costs_less(one: float, other: float, confidence: float) -> None:
    dp.reset()
    p, costs = ops.sixty(N).dp, []
    for goal in sorted((one, other)):
        try:
            with dp.preview() as plan:
                p["number"].sum(bounds=(0, 9), within=goal, confidence=confidence)
        except QueryError:
            costs.append(LARGEST + 1)
        else:
            costs.append(plan.total)
    assert costs[0] >= costs[1]


def test_where_any_loss_keeps_it_the_least_is_charged() -> None:
    n = ops.sixty(N).dp.count(within=10**9)
    assert SMALLEST <= dp.record(n).epsilon <= SMALLEST * Fraction(101, 100)
    assert str(dp.record(n).epsilon) == "0.000000954"


def test_the_answer_is_the_one_of_that_epsilon_and_is_given_again() -> None:
    dp.session(epsilon=1)
    people = dp.protect(ops.sixty(N), "people")
    first = people.count(within=20, confidence=0.95)
    assert dp.record(first).loss == Loss(dp.record(first).epsilon)
    assert str(dp.record(first).epsilon) == "0.147"  # 2a^21/(1+a) ≤ 0.05
    assert first.error() == 20
    again = people.count(epsilon="0.147"), people.size(within=20), people.count(within="20.9")
    assert [*again] == [first] * 3
    assert [e.status for e in dp.ledger()._entries()] == ["released", *["replayed"] * 3]
    other = people.count(within=20, fresh=True)
    assert (dp.record(other).draw, dp.ledger().spent) == (2, Fraction("0.294"))


def test_rho_is_for_gaussian_noise_and_epsilon_for_laplace_noise() -> None:
    dp.session(rho=1, delta=1e-6)
    p = ops.sixty(N).dp
    gaussian, laplace = p.count(within=20), p.count(within=20, mechanism="laplace")
    same = p.count(within=20, mechanism="gaussian")
    kinds = [dp.record(n).mechanism.split()[1] for n in (gaussian, laplace, same)]
    assert kinds == ["Gaussian", "Laplace", "Gaussian"]
    assert dp.record(gaussian).loss.rho == dp.record(same).loss.rho
    assert dp.record(gaussian).loss.rho < dp.record(laplace).loss.rho / 2
    assert dp.record(laplace).loss.rho < Fraction("0.147") ** 2 / 2  # its own, tight
    assert gaussian.error() == laplace.error() == 20


def test_gaussian_noise_by_a_delta() -> None:
    dp.session(epsilon=1, delta=1e-6)
    n = ops.sixty(N).dp.count(within=20, mechanism="gaussian", delta=1e-7)
    assert (n.error(), str(dp.record(n).loss)) == (20, "ε = 0.427, δ = 1e-07")


# --- what it keeps --------------------------------------------------------------------------------


@pytest.mark.deep
def test_what_is_promised_is_observed() -> None:
    # FAR 1e-6 (one-sided, exact binomial). Power: noise 1.3 times as wide would hold 0.74 and not
    # 0.81 of 4000 answers, which is seen with a probability above 1 - 1e-9.
    p, n, goal = ops.sixty(N).dp, 4000, 3
    answers = [p.count(within=goal, confidence=0.8) for _ in range(n)]
    assert stats.binom.cdf(sum(abs(answer - N) <= goal for answer in answers), n, 0.8) > 1e-6
    a = math.exp(-1 / (dp.record(answers[0]).scale * 1.3))
    wide = 1 - 2 * a ** (goal + 1) / (1 + a)
    assert stats.binom.sf(stats.binom.ppf(1e-6, n, 0.8), n, wide) < 1e-3


@pytest.mark.deep
def test_what_is_promised_of_several_is_observed_of_all_together() -> None:
    # FAR 1e-6. Were it promised of each of ten alone, all would hold in about 0.8^10 = 0.11.
    p, n, goal, held = ops.sixty(N).dp["number"], 1500, 5, 0
    for _ in range(n):
        counts = p.value_counts(keys=list(range(10)), sort=False, within=goal, confidence=0.8)
        held += int((counts - N // 10).abs().max() <= goal)
    assert stats.binom.cdf(held, n, 0.8) > 1e-6


# --- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "words"), [
    (lambda p: p.count(within=0), "must be greater than 0"),
    (lambda p: p.count(within=-3), "must be greater than 0"),
    (lambda p: p.count(within=float("nan")), "must be finite"),
    (lambda p: p.count(within=float("inf")), "must be finite"),
    (lambda p: p.count(within=True), "truth value"),
    (lambda p: p.count(within="much"), "can't be read"),
    (lambda p: p.count(within=3, epsilon=1), "leave epsilon= and rho= out"),
    (lambda p: p.count(within=3, rho=1), "leave epsilon= and rho= out"),
    (lambda p: p.count(within=3, confidence=1), "between 0 and 1"),
    (lambda p: p.count(within=3, confidence="high"), "must be a number"),
    (lambda p: p.count(within=3, expected_rows=0), "above 0"),
    (lambda p: p.count(within=3, expected_rows=True), "above 0"),
    (lambda p: p.count(within=3, mechanism="dice"), "'laplace' or 'gaussian'"),
    (lambda p: p.count(epsilon=1, confidence=0.9), "confidence= goes with within="),
    (lambda p: p.count(epsilon=1, expected_rows=9), "expected_rows= goes with within="),
    (lambda p: p.count(epsilon=1, at_most=9), "at_most= goes with within="),
    (lambda p: p.count().expected_error(epsilon=1, at_most=9), "at_most="),
    (lambda p: p.count(within=3, at_most=0), "must be greater than 0"),
    (lambda p: p.count(within=3, at_most="a bit"), "at_most='a bit' can't be read"),
    (lambda p: p.count(within="5%"), "expected_rows= is needed: about how many rows"),
    (lambda p: p.count(within="%", expected_rows=9), "can't be read as a number"),
    (lambda p: p.count(within="5%%", expected_rows=9), "can't be read as a number"),
    (lambda p: p.count(within="0%", expected_rows=9), "must be greater than 0"),
    (lambda p: p.count(within="-5%", expected_rows=9), "must be greater than 0"),
    (lambda p: p.count(within="5%", expected_rows=0), "above 0"),
    (lambda p: p["number"].mean(bounds=(0, 9), within=1), "expected_rows= is needed"),
    (lambda p: p["number"].agg(["count"], within=1), "for a single answer"),
    (lambda p: p.describe(bounds=(0, 9), within=1), "for a single answer"),
    (lambda p: p.count().expected_error(epsilon=1, within=1), "for a single answer"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_and_costs_nothing(call: Any, words: str) -> None:
    dp.session(epsilon=1)
    refusal(lambda: call(ops.sixty(N).dp[["number", "code"]]), words)


@pytest.mark.parametrize("terms", [{"epsilon": 100}, {"rho": 10**6, "delta": 1e-6}])
def test_less_than_any_loss_allows_names_the_least_error(terms: dict[str, Any]) -> None:
    dp.session(**terms)
    p = ops.sixty(N).dp["number"]
    caught = refusal(lambda: p.sum(bounds=(0, 9), within=1e-9), "is less than any")
    assert dp.ledger()._entries() == []
    least = caught.split(" is ")[2].split()[0]
    most = p.sum(bounds=(0, 9), within=least)
    assert 0.99 * float(least) < most.error() <= float(least)  # which is rounded up
    loss = dp.record(most).loss
    assert loss.epsilon > 63 or loss.rho > 2000
    refusal(lambda: p.sum(bounds=(0, 9), within=most.error() * 0.97), "is less than any")


def test_a_budget_that_cant_pay_names_the_cost_and_what_it_can() -> None:
    dp.session(epsilon="0.1234")
    people = dp.protect(ops.sixty(N), "people")
    with pytest.raises(dp.BudgetExceeded, match=r"costs ε = 0\.147, and ε = 0\.1234 is") as caught:
        people.count(within=20)
    assert (caught.value.requested, caught.value.remaining) == (Epsilon("0.147"), Epsilon("0.1234"))
    assert "What is left is enough for within=24." in str(caught.value)
    assert dp.ledger()._entries() == []
    people.count(within=24)
    assert dp.ledger().remaining < Fraction("0.01")
    refusal(lambda: people.size(within=23), "costs ε = ", dp.BudgetExceeded)
    assert people.count(within=24).error() == 24  # replayed: free


def test_the_loss_depends_on_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Any] = []
    monkeypatch.setattr(PandasEngine, "_rows", lambda self: reads.append(self))
    dp.session(epsilon="0.001")
    p = ops.sixty(N).dp["number"]
    refusal(lambda: p.median(bounds=(0, 9), within=1), error=dp.BudgetExceeded)
    assert reads == []


def test_labels_found_are_kept_by_each_label() -> None:
    dp.session(epsilon=10, delta=1e-3)
    found = ops.sixty(N).dp["group"].value_counts(delta=1e-6, within=20)
    # T = 17 and a^4 > 0.025: no label told is off by more than 17 - 1 + 4; at 0.841 T is 18
    assert dp.record(found).epsilon == Fraction("0.842")
    assert dp.record(found).expected == "each at most ± 20"
    assert max(dp.record(found).errors()) <= 20
    groups = ops.sixty(N).dp.groupby("group", delta=1e-6)["number"]
    sums = groups.sum(bounds=(0, 9), within=50)
    assert dp.record(sums).errors().tolist() == pytest.approx([50] * len(sums), rel=0.02)
    means = groups.mean(bounds=(0, 9), within=1, expected_rows=100)
    assert dp.record(means).expected.startswith("each ≈ ")


def test_a_choice_by_its_gap() -> None:
    df = ops.sixty(N)

    def balance(rows: pd.DataFrame, code: int) -> int:
        return -abs(int((rows["code"] < code).sum()) - int((rows["code"] > code).sum()))

    assert dp.select(df, [1, 2, 3], score=balance, sensitivity=1, within=10).error() == 10


# --- what hardly anybody means --------------------------------------------------------------------

#: Of counts an error below 1, and whether what is counted are rows.
COUNTS: dict[str, tuple[Callable[..., Any], bool]] = {
    "count": (lambda p, **said: p.count(**said), True),
    "count of columns": (lambda p, **said: p[["number", "code"]].count(**said), True),
    "size": (lambda p, **said: p.size(**said), True),
    "size of groups": (lambda p, **said: p.groupby("group", keys=ops.GROUPS).size(**said), True),
    "value_counts": (lambda p, **said: p["group"].value_counts(keys=ops.GROUPS, **said), True),
    "crosstab": (
        lambda p, **said: p.crosstab("group", "code", keys=ops.BOTH, margins=True, **said), True),
    "hist": (lambda p, **said: p["number"].hist(bins=[0, 5, 10], **said), True),
    "idxmax": (lambda p, **said: p["group"].value_counts(keys=ops.GROUPS).idxmax(**said), True),
    "mode": (lambda p, **said: p["group"].mode(keys=ops.GROUPS, **said), True),
    "unattributed_histogram": (
        lambda p, **said: p["group"].unattributed_histogram(keys=ops.GROUPS, **said), True),
    "sums of True": (lambda p, **said: p[["yes", "no"]].sum().release(**said), True),
    "a sum of a bool column": (lambda p, **said: p["yes"].sum(bounds=(0, 1), **said), True),
    "a sum of True": (lambda p, **said: (p["number"] > 3).sum(**said), True),
    "sums of True of groups": (
        lambda p, **said: (
            p.assign(high="number > 3").groupby("group", keys=ops.GROUPS)["high"].sum(**said)),
        True),
    "nunique": (lambda p, **said: p["group"].nunique(keys=ops.GROUPS, **said), False),
    "units": (lambda p, **said: p["owner"].nunique(**said), False),
    "sizes of keys found": (lambda p, **said: p.groupby("group", delta=1e-6).size(**said), True),
    "counts of keys found": (
        lambda p, **said: p.groupby("group", delta=1e-6)["number"].count(**said), True),
    "keys found": (lambda p, **said: p["group"].value_counts(delta=1e-6, **said), True),
}  # fmt: skip


@pytest.fixture
def people() -> Any:
    dp.session(epsilon=1000, delta=1e-3)
    return dp.protect(ops.sixty(N), "people", unit="owner", max_rows=1, version="1")


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_within_less_than_one_is_refused(name: str, people: Any) -> None:
    ask, are_rows = COUNTS[name]
    for little in (0.05, "0.999", Fraction(1, 20)):
        with pytest.raises(QueryError, match=r"is less than (one|any).*If you mean"):
            ask(people, within=little)
        with dp.preview(), pytest.raises(QueryError, match="If you mean"):
            ask(people, within=little)
    assert dp.ledger()._entries() == []
    caught = refusal(lambda: ask(people, within=0.05))
    assert ('write within="5%" with expected_rows=' in caught) == are_rows
    assert ("give that many" in caught) != are_rows
    ask(people, within=1)
    ask(people, within=1.5)


def test_what_is_not_counted_by_ones_may_be_within_less_than_one(people: Any) -> None:
    people["number"].sum(bounds=(0, 0.5), within=0.5)
    people["number"].sum(bounds=(0, 9), within=0.5)
    (people["number"] > 3).sum(bounds=(0, 0.5), within=0.5)
    (people["number"] > 3).mean(within=0.05, expected_rows=N)
    people[["yes", "no"]].sum(bounds=(0, 1), norm=1, within=0.5)
    people["number"].mean(bounds=(0, 9), within=0.05, expected_rows=N)


def test_five_persons_rows_are_no_reason_to_pay_thirty(people: Any) -> None:
    anew(epsilon=1000)
    many = dp.protect(ops.sixty(N), "many", unit="owner", max_rows=5)
    with pytest.raises(QueryError, match=r"would cost ε = \d\d"):
        many["number"].value_counts(keys=range(10), within=0.05)
    assert dp.ledger().spent == 0


@pytest.mark.parametrize(("share", "rows", "most"), [("5%", 1000, 50), (" 2.5 % ", 400.0, 10)])
def test_a_share_is_of_the_expected_rows(share: str, rows: float, most: int, people: Any) -> None:
    for name, (ask, are_rows) in COUNTS.items():
        if not are_rows:
            with pytest.raises(QueryError, match="is a share of expected_rows=, for counts of"):
                ask(people, within=share, expected_rows=rows)
            continue
        ask(people, within=most)
        paid = dp.ledger().spent
        ask(people, within=share, expected_rows=rows)
        assert dp.ledger().spent == paid > 0, name  # the same query: free
    assert people["number"].median(bounds=(0, 9), within=share, expected_rows=rows).error() <= most


@pytest.mark.parametrize("ask", [
    lambda p, **said: p["number"].sum(bounds=(0, 9), **said),
    lambda p, **said: p["number"].mean(bounds=(0, 9), **said),
    lambda p, **said: p["number"].std(bounds=(0, 9), **said),
    lambda p, **said: p["group"].value_counts(keys=ops.GROUPS, normalize=True, **said),
    lambda p, **said: p[["number", "code"]].cov(bounds=(0, 9), **said),
    lambda p, **said: p["when"].mean(bounds=("2020", "2021"), **said),
])  # fmt: skip
def test_a_share_of_what_is_no_number_of_rows_is_refused(ask: Any, people: Any) -> None:
    with pytest.raises(QueryError, match="is a share of expected_rows=, for counts of rows"):
        ask(people, within="5%", expected_rows=1000)
    assert dp.ledger()._entries() == []


def test_a_share_of_few_rows_can_be_less_than_one(people: Any) -> None:
    with pytest.raises(QueryError, match=r"within=0\.5 of count .* It is 5% of 10 rows\."):
        people.count(within="5%", expected_rows=10)
    assert dp.ledger()._entries() == []


def test_at_most_refuses_what_costs_more_and_changes_nothing_else(people: Any) -> None:
    with pytest.raises(QueryError, match=r"costs ε = 0\.147, more than at_most=0\.1\. Allow"):
        people.count(within=20, at_most=0.1)
    with dp.preview() as plan, pytest.raises(QueryError, match="more than at_most"):
        people.count(within=20, at_most=0.1)
    assert (dp.ledger()._entries(), plan.total) == ([], 0)
    n = people.count(within=20, at_most="0.147")
    assert people.count(within=20) == n == people.count(epsilon="0.147")
    assert dp.ledger().spent == Fraction("0.147")


def test_at_most_is_a_rho_where_rho_is_counted() -> None:
    dp.session(rho=1, delta=1e-6)
    p = dp.protect(ops.sixty(N), "people")
    refusal(lambda: p.count(within=20, at_most=0.001), r"costs ρ = .*, more than at_most=0\.001")
    paid = dp.record(p.count(within=20, at_most=0.1)).loss.rho
    assert dp.ledger().spent == paid <= Fraction(1, 10)
    laplace = {"within": 20, "mechanism": "laplace"}
    refusal(lambda: p.count(**laplace, at_most=0.005), "more than at_most")
    assert dp.record(p.count(**laplace, at_most=0.02)).loss.rho <= Fraction(1, 50)


def test_what_was_answered_is_answered_again_whatever_is_allowed_now(people: Any) -> None:
    """A notebook that ran before these refusals, or with another at_most=, goes on."""
    for name in [n for n in COUNTS if n not in ("size", "size of groups", "mode")]:  # once each
        ask, said = COUNTS[name][0], {"within": 0.05}
        with pytest.raises(QueryError) as caught:
            ask(people, **said)
        if "less than any" in str(caught.value):
            continue  # no loss has ever bought that
        loss = str(caught.value).split("would cost ε = ")[1].split(". ")[0].split(", δ")[0]
        old = ask(people, epsilon=loss)  # as it was bought by within=0.05
        spent = dp.ledger().spent
        again = ask(people, **said, at_most=1e-3)
        assert again.equals(old) if hasattr(old, "equals") else again == old
        assert dp.ledger().spent == spent
        with dp.preview() as plan:
            ask(people, **said, at_most=1e-3)
        assert plan.total == 0
        with pytest.raises(QueryError, match="less than one"):
            ask(people, **said, fresh=True)  # a new charge
        assert dp.ledger().spent == spent


def test_at_most_of_a_sum_says_how_many_true_of_a_row_count(people: Any) -> None:
    likes = people.assign(high="number > 3")[["yes", "no", "high"]]
    refusal(lambda: likes.sum(at_most=1, within=20), r"two things here.*sum\(at_most=3\)")
    one = likes.sum(at_most=1).release(within=20, at_most=0.5)
    assert dp.record(one).epsilon < Fraction("0.3")  # ℓ1 is 1, and not 3
    with dp.split(epsilon=1, into=1):
        assert dp.record(likes.sum(at_most=2)).scale == 2
