"""The exponential mechanism of a caller's choice: its law with a prior, and an auction by it."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from notes import noted
from refusals import refusal

import dppandas as dp
from dppandas.models import priors
from dppandas.privacy.mechanisms.selection import (
    MOST_UNEVEN,
    Exponential,
    ExponentialWithPrior,
    selection_weights,
)
from dppandas.privacy.sampling import samplers

FRAME = pd.DataFrame({"age": [20, 30, 30, 40, 50]})
AGES = [15, 25, 35]


@pytest.fixture(autouse=True)
def budget() -> None:
    dp.session(epsilon=1000)


def above(rows: pd.DataFrame, age: int) -> int:
    return int((rows["age"] > age).sum())


def choose(**said: Any) -> Any:
    return dp.select(FRAME, AGES, score=above, sensitivity=1, **said)


def law(mechanism: Any, scores: Any, monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The chance of each candidate: what its weight is of all whole weights."""
    seen: list[list[int]] = []

    def keep(weights: Any) -> int:
        seen.append(list(weights))
        return 0

    with monkeypatch.context() as patch:
        patch.setattr(samplers, "weighted_choice", keep)
        mechanism.release(scores)
    (weights,) = seen
    return [Fraction(weight, sum(weights)) for weight in weights]


# --- what is said ---------------------------------------------------------------------------------


def test_the_record_says_which_mechanism_it_was() -> None:
    said = {
        "permute-and-flip": {}, "exponential": {"mechanism": "exponential"},
        "exponential, with a prior": {"prior": [1, 2, 3]},
    }  # fmt: skip
    for name, given in said.items():
        with noted(name):
            assert dp.record(choose(epsilon=1, **given)).mechanism == name
    assert (
        dp.record(choose(epsilon=1, mechanism="permute_and_flip")).mechanism == "permute-and-flip"
    )
    later = choose().release(epsilon=1, mechanism="exponential")
    assert dp.record(later).mechanism == "exponential"
    assert "prior 0.167, 0.333, 0.5" in choose(prior=[1, 2, 3])._request.what.whole
    assert "prior" not in choose()._request.what.whole
    # elsewhere a name only says what happens
    counts = FRAME["age"].dp.value_counts(keys=[20, 30])
    refusal(lambda: counts.idxmax(epsilon=1, mechanism="exponential"), "isn't what happens")
    refusal(
        lambda: choose(prior=[1, 2, 3], epsilon=1, mechanism="permute_and_flip"), "with a prior"
    )
    refusal(lambda: choose(epsilon=1, mechanism="laplace"))


def test_a_prior_is_read_exactly_in_any_form() -> None:
    for given in (
        [1, 2, 7], (0.1, 0.2, 0.7), np.array([0.1, 0.2, 0.7]), [0.5, 1, 3.5],
        [Fraction(1, 3), Fraction(2, 3), Fraction(7, 3)], [Decimal("0.1"), 0.2, Fraction(7, 10)],
        {15: 1, 35: 7, 25: 2}, pd.Series({35: 0.7, 15: 0.1, 25: 0.2}),
        [np.float32(1), np.int64(2), 7],
    ):  # fmt: skip
        with noted(given):
            assert priors.whole(priors.parse(given, AGES)) == (1, 2, 7)
    assert priors.whole(priors.parse(None, AGES)) == ()


@pytest.mark.parametrize("prior", [
    [1, 2], [1, 2, 3, 4], [1, 2, 0], [1, 2, -1], [1, 2, math.nan], [1, 2, math.inf], [1, 2, "3"],
    [1, 2, None], [1, 2, True], [1, 2, 3j], {15: 1, 25: 2}, {15: 1, 25: 2, 36: 3}, 3, "abc",
    pd.Series([1, 2, 3]), [1, 1, 10.1e20], [1, 2, 10**500], lambda age: 1,
    {15: 1, 25: 2, 35: 3, 45: 4},
])  # fmt: skip
def test_a_broken_prior_is_refused_free_of_charge(prior: Any) -> None:
    refusal(lambda: choose(prior=prior, epsilon=1))


def test_a_prior_of_other_candidates_says_which() -> None:
    refusal(lambda: choose(prior={15: 1, 25: 2}, epsilon=1), "35 is missing")
    more = {15: 1, 25: 2, 35: 3, 45: 4}
    refusal(lambda: choose(prior=more, epsilon=1), "45 is no candidate")


# --- the law --------------------------------------------------------------------------------------


def test_the_law_is_that_of_the_prior_and_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one candidate's prior is the most that is allowed, and its score is far below."""
    for rate, prior, scores in (
        (Fraction(1, 2), (1, 2, 7), (3, 0, 1)), (Fraction(1, 10), (5, 1), (0, 100)),
        (Fraction(1), (MOST_UNEVEN, 1), (0, 46)), (Fraction(1), (1, MOST_UNEVEN), (60, 0)),
    ):  # fmt: skip
        with noted(prior, scores):
            weights = [p * math.exp(rate * (s - max(scores)))
                       for p, s in zip(prior, scores, strict=True)]  # fmt: skip
            wanted = [each / sum(weights) for each in weights]
            found = law(ExponentialWithPrior(rate, prior=prior), scores, monkeypatch)
            assert [*map(float, found)] == pytest.approx(wanted, rel=1e-9)
    alike = ExponentialWithPrior(Fraction(1, 2), prior=(1, 1, 1))
    plain = Exponential(Fraction(1, 2))
    assert law(alike, (3, 0, 1), monkeypatch) == law(plain, (3, 0, 1), monkeypatch)
    # scores beyond the cap weigh alike, but for their prior; the cap grows with how uneven it is
    far = law(ExponentialWithPrior(Fraction(1), prior=(MOST_UNEVEN, 1)), (0, 10**9), monkeypatch)
    assert 0 < far[0] < math.exp(-79)
    assert selection_weights([0, 10**9], Fraction(1), 10)[0] < selection_weights([0, 200], 1)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("monotone", [False, True])
def test_it_is_private_on_all_neighbours_whatever_the_prior_is(
    monotone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All scores from 0 to 3 of three candidates, and all that one unit may make of them: the exact
    law, whose largest log-ratio is at most ε and not far below."""
    epsilon = Fraction(1)
    changes = (0, 1) if monotone else (-1, 0, 1)
    rate = Exponential.calibrate(1, epsilon, monotone).rate
    for prior in ((1, 1, 1), (1, 5, 100), (10**20, 1, 3)):
        mechanism, worst = ExponentialWithPrior(rate, prior=prior), 0.0
        known: dict[tuple[int, ...], list[Fraction]] = {}
        for scores in itertools.product(range(4), repeat=3):
            for change in itertools.product(changes, repeat=3):
                moved = tuple(map(sum, zip(scores, change, strict=True)))
                for each in (scores, moved):
                    if each not in known:
                        known[each] = law(mechanism, each, monkeypatch)
                pairs = zip(known[scores], known[moved], strict=True)
                worst = max(worst, *(abs(math.log(p / q)) for p, q in pairs))
        assert 0.5 < worst <= 1, prior


def test_the_gap_holds_whichever_candidate_is_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = ExponentialWithPrior(Fraction(1, 3), prior=(1, 20, 5))
    gap = mechanism.utility_gap(0.95, 3)
    assert gap == math.floor(3 * (math.log(26) + math.log(20)))
    for scores in itertools.product(range(0, 40, 3), repeat=3):
        chances = law(mechanism, scores, monkeypatch)
        held = sum(p for p, s in zip(chances, scores, strict=True) if s >= max(scores) - gap)
        assert held >= 0.95, scores
    # one that a prior favours is chosen more often than a gap without it would allow
    assert mechanism.utility_gap(0.95, 3) > Exponential(Fraction(1, 3)).utility_gap(0.95, 3)
    chances = law(ExponentialWithPrior(Fraction(1, 3), prior=(1, 20)), (20, 0), monkeypatch)
    assert float(chances[1]) > 1 - 0.98


def test_it_is_charged_as_without_a_prior() -> None:
    anew(rho=1, delta=1e-6)
    plain, weighed = choose(rho="1/100"), choose(rho="1/100", prior=[1, 2, 3])
    one, other = dp.record(plain), dp.record(weighed)
    assert (one.loss, one.scale) == (other.loss, other.scale)
    assert (one.mechanism, other.mechanism) == ("exponential", "exponential, with a prior")


@pytest.mark.statistical
def test_draws_have_the_law_of_the_prior() -> None:
    """6,000 draws of each: χ² with 2 degrees of freedom above 27.6 fails falsely with 1e-6. Power:
    without the prior it would be above 1,000."""
    mechanism, scores = ExponentialWithPrior(Fraction(1, 2), prior=(1, 2, 7)), [3, 0, 1]
    weights = np.array([1, 2, 7]) * np.exp(np.array(scores) / 2)
    expected = weights / weights.sum() * 6000
    seen = np.bincount([mechanism.release(scores)[0] for _ in range(6000)], minlength=3)
    assert ((seen - expected) ** 2 / expected).sum() < 27.6


# --- an auction -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1)])
def test_lying_gains_at_most_what_is_said(
    epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lies of each of up to three bidders, by the exact law of prices from 1 to 4."""
    prices = range(1, 5)
    mechanism = Exponential.calibrate(4, epsilon, monotone=True)
    bound, most = (math.exp(epsilon) - 1) * 4, 0.0
    for others in itertools.combinations_with_replacement(prices, 2):
        chances = {}
        for own in prices:
            bids = (*others, own)
            incomes = [price * sum(bid >= price for bid in bids) for price in prices]
            chances[own] = [*map(float, law(mechanism, incomes, monkeypatch))]
        for value in prices:
            gain = {
                own: sum(
                    chance * (value - price)
                    for chance, price in zip(chances[own], prices, strict=True) if price <= own
                )
                for own in prices
            }  # fmt: skip
            most = max(most, max(gain.values()) - gain[value])
    assert 0 < most <= bound
    ratio = most / bound
    assert ratio < 0.5  # the bound is far from reached, but a lie does gain something


def test_a_bid_more_raises_incomes_alone_and_by_no_more_than_the_largest_price() -> None:
    bids = pd.DataFrame({"bid": [1, 2, 5, 10]})

    def income(rows: pd.DataFrame, price: int) -> int:
        return price * int((rows["bid"] >= price).sum())

    for more in range(12):
        larger = pd.concat([bids, pd.DataFrame({"bid": [more]})])
        moves = [income(larger, price) - income(bids, price) for price in range(1, 11)]
        assert min(moves) >= 0
        assert max(moves) <= 10
    found = dp.select(
        bids, range(1, 11), score=income, sensitivity=10, monotone=True, epsilon=1,
        mechanism="exponential",
    )  # fmt: skip
    assert found in range(1, 11)
