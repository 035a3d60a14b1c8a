"""The local model: exact laws by enumeration, unbiased estimates, intervals that hold.

Three tests draw real noise; each says how rarely it would fail by chance. All others enumerate.
"""

import itertools
import math
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from effort import calls
from exact import Script, exp, law
from hypothesis import given, settings
from hypothesis import strategies as st
from ledgers import anew
from refusals import raising, refusal

import dppandas as dp
from dppandas import local
from dppandas.errors import MissingArgument, PrivateValueError, QueryError
from dppandas.local import designs, estimates, lost, tails
from dppandas.local.designs import Design
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.sampling import entropy, samplers
from dppandas.types import Responses

NEAR = 1e-12
KEYS = tuple("abcdefgh")


def design_of(name: str, keys: int = 2, epsilon: object = 1) -> Design:
    return designs.of(name, None if name == "two coins" else epsilon, KEYS[:keys])


NAMED = {
    "one coin": design_of("one coin"), "two coins": design_of("two coins"),
    "biased coins": designs.of(local.two_coins("1/3", "1/4"), None, None),
    "coins that say yes": designs.of(local.two_coins(yes="4/5"), None, None),
    "one coin of 0.9": designs.of(local.one_coin("0.9"), None, None),
    "k-ary, 3 keys": design_of("k-ary", 3), "k-ary, 5 keys": design_of("k-ary", 5, "1/3"),
    "OUE, 2 keys": design_of("OUE", 2), "OUE, 4 keys": design_of("OUE", 4, 2),
}  # fmt: skip
DESIGNS = [pytest.param(design, id=name) for name, design in NAMED.items()]


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "_NOTED", [])


# --- exact laws, by enumeration -------------------------------------------------------------------


def exact_law(design: Design, answer: int) -> dict[Any, float]:
    """P[response] by formula, written down apart from the code under test; len(keys): no answer."""
    k, e = len(design.keys), math.exp(design.epsilon)
    if answer == k and not isinstance(design, designs.Coins):
        laws = [exact_law(design, x) for x in range(k)]
        return {r: sum(law[r] for law in laws) / k for r in laws[0]}
    if isinstance(design, designs.Coins):
        says = [float(1 - design.yes), float(design.yes)]
        t = float(design.truth) if answer < 2 else 0.0
        return {r: t * (r == answer) + (1 - t) * says[r] for r in range(2)}
    if isinstance(design, designs.KAry):
        return {r: (e if r == answer else 1) / (e + k - 1) for r in range(k)}
    yes = [1 / 2 if key == answer else 1 / (e + 1) for key in range(k)]
    return {
        bits: math.prod(p if bit else 1 - p for p, bit in zip(yes, bits, strict=True))
        for bits in itertools.product((False, True), repeat=k)
    }


def decided(design: Design, monkeypatch: Any) -> Callable[[int], tuple[dict[Any, Any], Any]]:
    """The law of one response, over all outcomes of coins and uniform keys, which are exact by the
    tests below."""

    def coins(around: Any, n: int, bits: Script, word: int = 64) -> Any:
        low, high = around(60)
        assert high - low < 1e-50
        p = Fraction(low)
        return np.array([bits.choose([p, 1 - p]) == 0 for _ in range(n)])

    def uniform(k: int, n: int, bits: Script, word: int = 64) -> Any:
        return np.array([bits.choose([Fraction(1, k)] * k) for _ in range(n)])

    monkeypatch.setattr(samplers, "coins", coins)
    monkeypatch.setattr(samplers, "uniform_vector", uniform)

    return lambda answer: law(responding(design, answer), runs=100_000)


def responding(design: Design, answer: int, **word: int) -> Callable[[Script], Any]:
    def one(bits: Script) -> Any:
        said = design.respond(np.array([answer]), bits, **word)[0]  # type: ignore[arg-type]
        return tuple(said.tolist()) if design.is_bits else int(said)

    return one


@pytest.mark.parametrize("design", DESIGNS)
def test_each_response_has_the_law_of_its_design(design: Design, monkeypatch: Any) -> None:
    respond = decided(design, monkeypatch)
    for answer in range(len(design.keys) + 1):
        found, undecided = respond(answer)
        expected = exact_law(design, answer)
        assert undecided == 0
        assert set(found) == set(expected)
        assert all(abs(float(found[r]) - p) < NEAR for r, p in expected.items())


@pytest.mark.parametrize("design", DESIGNS)
def test_the_largest_ratio_of_answers_is_exactly_epsilon(design: Design, monkeypatch: Any) -> None:
    respond = decided(design, monkeypatch)
    k = len(design.keys)
    laws = [respond(answer)[0] for answer in range(k + 1)]  # the last: no answer

    def loss(one: Any, other: Any) -> float:
        return max(math.log(one[r] / other[r]) for r in one)

    epsilon = float(design.epsilon)
    assert abs(max(itertools.starmap(loss, itertools.permutations(laws[:k], 2))) - epsilon) < 1e-13
    assert max(itertools.starmap(loss, itertools.permutations(laws, 2))) <= epsilon + 1e-13


@pytest.mark.parametrize("design", [p for p in DESIGNS if "4" not in p.id and "5" not in p.id])
def test_the_same_law_from_real_words(design: Design) -> None:
    """Words of 2 to 4 bits, through look-ups, rejections and undecided prefixes."""
    word = 2 if design.is_bits else 4
    found, undecided = law(responding(design, 1, word=word), runs=2500, word=word)
    assert undecided < (0.2 if design.is_bits else 0.04)
    for response, p in exact_law(design, 1).items():
        assert -NEAR <= p - float(found.get(response, 0)) <= float(undecided) + NEAR


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 4), Fraction(1, 3), Fraction(1, 1000)])
def test_a_coin_is_exact(p: Fraction) -> None:
    around = designs._around(lambda digits: designs.Enclosure.of(p, digits))
    found, undecided = law(lambda bits: bool(samplers.coins(around, 1, bits, 4)[0]), 600, word=4)
    assert undecided < Fraction(1, 10**6)
    assert found[True] <= p <= found[True] + undecided


@pytest.mark.parametrize("k", [1, 2, 3, 7, 16])
def test_a_uniform_number_is_exact(k: int) -> None:
    found, undecided = law(lambda bits: int(samplers.uniform_vector(k, 1, bits, 4)[0]), 600, 4)
    assert set(found) == set(range(k))
    # none likelier than another, whatever was rejected, but for runs that were cut off
    assert max(found.values()) - min(found.values()) <= undecided
    assert undecided < Fraction(1, 1000)


def test_the_truth_is_told_with_the_exact_probability() -> None:
    """To 60 digits, for the smallest and the largest ε too, against exponentials by fractions."""
    for epsilon, k in ((Fraction(1), 2), (Fraction(1, 2**20), 7), (Fraction(64), 3)):
        design = designs.KAry(KEYS[:k], Epsilon(epsilon))
        a = exp(epsilon)
        found = design._truth(100)
        truth = (1 - a) / (1 + (k - 1) * a)
        assert Fraction(found.low) - Fraction(1, 10**95) <= truth
        assert truth <= Fraction(found.high) + Fraction(1, 10**95)
        assert found.high - found.low < 1e-90


def test_one_response_uses_the_system_s_entropy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy.os, "urandom", lambda n: b"\0" * n)  # below every cut: the truth
    for seed in (0, 1):
        np.random.seed(seed)
        said = local.randomized_response([True, False, True] * 50, epsilon=1)
        assert said.responses.tolist() == [True, False, True] * 50


# --- real draws -----------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("design", DESIGNS)
def test_real_responses_have_these_frequencies(design: Design) -> None:
    """χ² of 60,000 responses to each answer, and to none; fails by chance less than once in 10^8
    runs a design. A probability that is off by 0.02 is found nearly always."""
    n, k = 60_000, len(design.keys)
    for answer in range(k + 1):
        said = design.respond(np.full(n, answer))
        codes = said @ (1 << np.arange(k)) if design.is_bits else said
        expected = exact_law(design, answer)
        code = (lambda r: sum(b << i for i, b in enumerate(r))) if design.is_bits else int
        at = {code(r): p for r, p in expected.items()}
        counts = np.bincount(codes, minlength=max(at) + 1)
        p = np.array([at.get(i, 0.0) for i in range(len(counts))])
        chi2, degrees = float(((counts - n * p) ** 2 / (n * p)).sum()), len(p) - 1
        # Laurent and Massart (2000), Lemma 1: P[χ² ≥ d + 2√(dx) + 2x] ≤ e^-x; here e^-23 = 1e-10
        assert chi2 < degrees + 2 * math.sqrt(degrees * 23) + 2 * 23


@pytest.mark.statistical
def test_respondents_are_independent_of_each_other() -> None:
    """Two lies in a row as often as chance has them; 6.2 standard deviations: below 10^-9."""
    n = 200_000
    lies = local.randomized_response(np.zeros(n, dtype=bool), epsilon=1).responses.to_numpy()
    q = 1 / (1 + math.e)
    pairs = (lies[1:] & lies[:-1]).mean()
    sd = math.sqrt(q**2 * (1 - q**2) * 3 / n)  # neighbouring pairs share one: less than thrice
    assert abs(pairs - q**2) < 6.2 * sd


def test_a_hundred_thousand_responses_are_no_loop() -> None:
    answers = pd.Series(np.arange(100_000) % 3 == 0)
    assert calls(lambda: local.randomized_response(answers, epsilon=1)) < 10_000  # 700


# --- estimates ------------------------------------------------------------------------------------


def surveys(design: Design, answers: tuple[int, ...]) -> Iterator[tuple[float, Any]]:
    """Every outcome of a survey with its probability, as collected responses."""
    labels = design.labels
    for told in itertools.product(*(exact_law(design, a).items() for a in answers)):
        chance = math.prod(p for _, p in told)
        if design.is_bits:
            yield chance, pd.DataFrame([r for r, _ in told], columns=labels)
        else:
            yield chance, pd.Series(labels.take([r for r, _ in told]))


@pytest.mark.parametrize("design", DESIGNS)
def test_estimates_are_unbiased_and_their_variance_is_exact(design: Design) -> None:
    k = len(design.keys)
    answers = (0, k - 1) if k > 3 else (0, 1, 1, k - 1)
    n = len(answers)
    mean, squares, total = np.zeros(k), np.zeros(k), 0.0
    for chance, responses in surveys(design, answers):
        counts = Responses(responses, design).value_counts().to_numpy()
        mean, squares, total = mean + chance * counts, squares + chance * counts**2, total + chance
    held = np.bincount(answers, minlength=k)
    assert abs(total - 1) < 1e-9
    assert np.allclose(mean, held, atol=1e-9)
    variances = [estimates_variance(design, key, held[key] / n) / n for key in range(k)]
    assert np.allclose(squares / n**2 - (held / n) ** 2, variances, rtol=1e-7, atol=0)
    assert design.variance(n) >= max(variances)


def estimates_variance(design: Design, key: int, share: float) -> float:
    """n times the variance, from a respondent's own law."""
    p, q = (
        sum(p for r, p in exact_law(design, a).items() if (r[key] if design.is_bits else r == key))
        for a in (key, (key + 1) % len(design.keys))
    )
    return (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2


@pytest.mark.parametrize("design", DESIGNS)
def test_who_has_no_answer_counts_as_one_chosen_by_chance(design: Design) -> None:
    k = len(design.keys)
    mean = np.zeros(k)
    for chance, responses in surveys(design, (k,)):
        mean += chance * Responses(responses, design).value_counts().to_numpy()
    says = [1 - design.yes, design.yes] if isinstance(design, designs.Coins) else [1 / k] * k
    assert np.allclose(mean, np.array(says, dtype=float), atol=1e-9)


def test_the_estimator_of_lecture_004_estimates_one_minus_the_mean() -> None:
    design = designs.of("one coin", 1, None)
    p = design.rates[1].q  # of a flip, as the lecture defines it
    bits = (1, 0, 0, 1, 0, 0, 0)
    ours = printed = 0.0
    for chance, responses in surveys(design, bits):
        average = responses.mean()
        printed += chance * (average - (1 - p)) / (2 * p - 1)
        ours += chance * float(Responses(responses, design).mean())
    assert abs(ours - 2 / 7) < 1e-9
    assert abs(printed - 5 / 7) < 1e-9


@pytest.mark.parametrize("design", DESIGNS)
def test_a_posterior_is_bayes_rule_for_each_response(design: Design) -> None:
    """Against the laws that are written down here, and within what ε allows."""
    k = len(design.keys)
    prior = np.arange(1, k + 1) / sum(range(1, k + 1))
    laws = [exact_law(design, answer) for answer in range(k)]
    responses = list(laws[0])
    told: Any = pd.DataFrame(responses) if design.is_bits else [design.keys[r] for r in responses]
    found = design.posterior(prior, told).to_numpy()
    for response, row in zip(responses, found, strict=True):
        joint = prior * np.array([each[response] for each in laws])
        assert np.allclose(row, joint / joint.sum(), atol=NEAR)
        odds = row / (1 - row) / (prior / (1 - prior))
        assert (np.abs(np.log(odds)) <= float(design.epsilon) + 1e-9).all()
    if not design.is_bits:
        table = design.posterior(dict(zip(design.keys, prior, strict=True)))
        assert table.index.tolist() == table.columns.tolist() == list(design.keys)
        assert np.allclose(table.to_numpy()[responses], found)
        assert np.allclose(design.posterior(pd.Series(prior, design.keys)), table)


def test_a_posterior_needs_a_prior_and_responses_that_fit() -> None:
    coin, bits = NAMED["one coin of 0.9"], NAMED["OUE, 4 keys"]
    assert coin.posterior(0.2).loc[True, True] == pytest.approx(0.18 / (0.18 + 0.08))
    for wrong in (1.5, -0.1, [0.5, 0.6], [1], "half", None, {True: 1}, math.nan, {"a": 1, "b": 0}):
        refusal(lambda wrong=wrong: coin.posterior(wrong), "prior=")
    refusal(lambda: coin.posterior(0.5, [True, None]), "must be keys")
    refusal(lambda: bits.posterior([0.25] * 4), r"2\^4 possible responses", MissingArgument)
    refusal(lambda: bits.posterior([0.25] * 4, np.ones((2, 3), bool)), "a yes or no to each key")


def test_coins_that_lie_or_say_nothing_can_be_looked_at() -> None:
    """A coin of p is one of 1 - p with its responses swapped (lecture 004, after Example 1)."""
    for honest in (Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        coin, other = local.one_coin(honest), local.one_coin(1 - honest)
        table = coin.probabilities().to_numpy()
        true, false = float(honest), float(1 - honest)
        assert table.tolist() == [[true, false], [false, true]]
        assert np.array_equal(table, other.probabilities().to_numpy()[:, ::-1])
        assert coin.epsilon == other.epsilon
        assert np.array_equal(coin.posterior(0.3), other.posterior(0.3)[::-1])
    silent, open_ = local.one_coin("1/2"), local.one_coin(1)
    assert (silent.epsilon, open_.epsilon) == (0, math.inf)
    assert np.allclose(silent.posterior(0.32), [[0.68, 0.32]] * 2)
    assert open_.posterior(0.32).to_numpy().tolist() == [[1, 0], [0, 1]]
    assert open_.posterior(1).isna().loc[False].all()  # nobody says no
    assert local.one_coin(0.9).probabilities().equals(NAMED["one coin of 0.9"].probabilities())
    coins = local.two_coins("1/3", "1/4")
    assert coins.posterior(0.2).equals(NAMED["biased coins"].posterior(0.2))


@pytest.mark.parametrize("design", ["one coin", "k-ary", "OUE"])
def test_so_many_respondents_keep_an_error(design: str) -> None:
    """At every number of answers, by the law of the yeses; and an eighth fewer wouldn't do."""
    keys = [False, True] if design == "one coin" else list("abcd")
    n = local.respondents(within=0.1, epsilon=1, design=design, keys=keys)
    asked = designs.of(design, 1, keys)
    rate, risk = asked.rates[0], 0.05 / (1 if design == "one coin" else 4)

    def beyond(n: int, m: int) -> float:
        mean, far = n * rate.q + m * rate.gain, n * rate.gain * 0.1 + 1e-9
        above = tails.at_least(n, m, math.floor(mean + far) + 1, rate)
        return above + tails.at_most(n, m, math.ceil(mean - far) - 1, rate)

    assert max(beyond(n, m) for m in range(0, n + 1, max(1, n // 199))) <= risk
    fewer = n - n // 8 - 1
    assert max(beyond(fewer, m) for m in range(fewer + 1)[:: max(1, fewer // 199)]) > risk
    one = local.respondents(within=0.1, epsilon=1, design=design, keys=keys, share=0.25)
    assert one <= n
    sure = local.respondents(within=0.1, epsilon=1, design=design, keys=keys, confidence=0.99)
    assert sure > n


@pytest.mark.statistical
def test_surveys_of_so_many_respondents_keep_the_error() -> None:
    """500 surveys: more than 54 larger errors are rarer than 1 in 10⁶ at 5 %."""
    n = local.respondents(within=0.05, epsilon=1)
    answers = [True] * (n // 3) + [False] * (n - n // 3)
    share, far = (n // 3) / n, 0
    for _ in range(500):
        said = local.randomized_response(answers, epsilon=1)
        far += abs(said.mean() - share) > 0.05
    assert far <= 54
    assert said.mean().error() == pytest.approx(0.05, rel=0.05)


def test_known_figures() -> None:
    """ln 3; and at ε = 1 for 20,000 respondents Chebyshev, Hoeffding and the normal law."""
    assert 0 <= float(local.two_coins().epsilon) - math.log(3) < 1e-14
    assert local.one_coin(0.75).epsilon == local.two_coins().epsilon
    design = designs.of(None, 1, None)
    [_, rate] = design.rates
    assert round(estimates.HALF_WIDTHS["chebyshev"](20_000, rate, 0.05), 4) == 0.0342
    assert round(estimates.HALF_WIDTHS["hoeffding"](20_000, rate, 0.05), 4) == 0.0208
    sd = math.sqrt(design.variance(20_000))
    assert round(1.959964 * sd, 4) == 0.0133
    assert math.isclose(sd, 1 / (2 * math.sqrt(20_000) * math.sinh(0.5)))
    for yeses in (5_379, 7_500, 8_100, 10_000):
        said = estimates.Estimated(design, 20_000, (20_000 - yeses, yeses))
        error = estimates.mean_of(said).error()
        assert abs(error - 1.959964 * sd) < 2e-4
        assert error < 0.65 * 0.0208


@pytest.mark.parametrize(("epsilon", "turn"), [(Fraction(1, 2), 7), (1, 11), (2, 25), (3, 63)])
def test_the_design_is_chosen_by_the_smaller_variance(epsilon: Any, turn: int) -> None:
    assert turn == math.ceil(3 * math.exp(epsilon) + 2)
    for k in (2, 3, turn - 1, turn, turn + 1):
        chosen = designs.of(None, epsilon, range(k))
        k_ary, oue = (designs.of(word, epsilon, range(k)) for word in ("k-ary", "OUE"))
        assert chosen.is_bits == (oue.variance(1, 0.0) < k_ary.variance(1, 0.0))
        assert chosen.is_bits == (k >= turn)


# --- intervals ------------------------------------------------------------------------------------


def binomial(n: int, p: float) -> Any:
    return np.array([math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)])


@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[2], DESIGNS[4], DESIGNS[7]])
@pytest.mark.parametrize("method", estimates.METHODS)
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_cover_at_least_as_often_as_they_say(
    design: Design, method: str, confidence: float
) -> None:
    """For every n up to 12 and every number who hold the last key, over all numbers of yeses."""
    key, k = len(design.keys) - 1, len(design.keys)
    rate, widest = design.rates[key], 0.0
    risk = 1 - confidence
    for n in range(1, 13):
        ends = []
        for c in range(n + 1):
            yeses = (n - c, c) if k == 2 else (*[0] * key, c)
            ends.append(one_key(estimates.Estimated(design, n, yeses), key, risk, method))
        for m in range(n + 1):
            law = np.convolve(binomial(m, rate.p), binomial(n - m, rate.q))
            covered = law[[low - 1e-9 <= m <= high + 1e-9 for low, high in ends]].sum()
            assert covered >= confidence - 1e-12
            widest = max(widest, 1 - covered)
    if method == "exact" and confidence == 0.5:
        assert widest > 0.1  # it doesn't hold by being as wide as can be


def one_key(said: estimates.Estimated, key: int, risk: float, method: str) -> tuple[float, float]:
    """The interval of one key at its own risk: that of all at so many times the risk."""
    confidence = 1 - risk * said.design.events
    if confidence > 0:
        low, high = said.ends(confidence, method)
        return low[key], high[key]
    if method == "exact":
        return tails.held(said.respondents, said.yeses[key], said.design.rates[key], risk)
    n, rate = said.respondents, said.design.rates[key]
    half = n * estimates.HALF_WIDTHS[method](n, rate, risk)
    return max(0.0, said.counts()[key] - half), min(float(n), said.counts()[key] + half)


@pytest.mark.parametrize(
    ("name", "keys", "events"), [("one coin", 2, 1), ("OUE", 2, 2), ("k-ary", 5, 5)]
)
def test_intervals_of_several_keys_share_the_risk(name: str, keys: int, events: int) -> None:
    design = design_of(name, keys)
    low, high = estimates.Estimated(design, 1000, (400,) * keys).ends(0.75, "exact")
    one = tails.held(1000, 400, design.rates[0], 0.25 / events)
    assert one == (low[0], high[0])
    assert one != tails.held(1000, 400, design.rates[0], 0.5 / events)


@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[2]])
def test_both_intervals_of_two_keys_miss_together(design: Design) -> None:
    for n, c in itertools.product((1, 5, 40), range(2)):
        yeses = n * c // 2
        low, high = estimates.Estimated(design, n, (n - yeses, yeses)).ends(0.9, "exact")
        assert abs(low[0] - (n - high[1])) <= 1e-9
        assert abs(high[0] - (n - low[1])) <= 1e-9


@given(
    st.integers(0, 60), st.floats(0, 1), st.floats(0, 1),
    st.sampled_from(["1/1000", "1/2", "1", "4", "64"]), st.sampled_from([2, 3, 50]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_tails_are_bounded_from_above_and_hardly_wider(
    n: int, share: float, at: float, epsilon: str, k: int
) -> None:
    """Against sums of fractions, of the floats' own odds."""
    m, c = round(share * n), round(at * n)
    rate = designs.of("k-ary", epsilon, range(k)).rates[0]
    p, q = (Fraction(o) / (1 + Fraction(o)) for o in (rate.p_odds, rate.q_odds))

    x, y = binomial(m, p), binomial(n - m, q)
    below = sum((a * sum(y[: max(0, c - i + 1)]) for i, a in enumerate(x)), Fraction(0))
    above = sum((a * sum(y[max(0, c - i) :]) for i, a in enumerate(x)), Fraction(0))
    for told, exact in ((tails.at_most, below), (tails.at_least, above)):
        bound = told(n, m, c, rate)
        assert min(1, exact * (1 + Fraction(1, 2**47))) <= Fraction(bound)
        assert bound <= float(exact) * (1 + 1e-10) + 1e-28


def test_tails_of_a_million_agree_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rate = designs.of(None, 1, None).rates[1]
    n = 1_000_000
    for c in (int(n * rate.q) - 1500, int(n * rate.q) + 1000):
        below, above = stats.binom.cdf(c, n, rate.q), stats.binom.sf(c - 1, n, rate.q)
        assert math.isclose(tails.at_most(n, 0, c, rate), below, rel_tol=1e-6)
        assert math.isclose(tails.at_least(n, 0, c, rate), above, rel_tol=1e-6)


def test_an_interval_keeps_the_law_of_its_estimate() -> None:
    said = local.randomized_response(["a", "b", "c"] * 400, epsilon=2, keys=["a", "b", "c"])
    counts, shares = said.value_counts(), said.value_counts(normalize=True)
    assert np.allclose(counts / 1200, shares)
    assert np.allclose(counts.interval() / 1200, shares.interval())
    ends = counts.interval()
    assert (ends["lower"] <= ends["upper"]).all()
    assert np.allclose(counts.error(), np.maximum(counts - ends["lower"], ends["upper"] - counts))
    assert (counts.interval(0.99).diff(axis=1)["upper"] > ends.diff(axis=1)["upper"]).all()
    assert (counts.error(method="hoeffding") > counts.error()).all()
    assert type(counts * 2) is pd.Series
    assert isinstance(counts, pd.Series)
    assert pickle.loads(pickle.dumps(counts)).interval().equals(ends)


# --- the interface --------------------------------------------------------------------------------

HOSTILE = [
    [None, float("nan"), pd.NaT, pd.NA], [[1, 2], {"a": 1}, object(), lambda: 0],
    ["yes", "no", "", "True"], [10**400, Fraction(1, 3), complex(1, 1), -0.0], [],
]  # fmt: skip


@pytest.mark.parametrize("answers", HOSTILE, ids=range(5))
@pytest.mark.parametrize("design", ["one coin", "k-ary", "OUE"])
def test_types_and_labels_follow_from_the_keys_alone(answers: list[Any], design: str) -> None:
    keys = [False, True] if design == "one coin" else ["a", "b", "c"]
    plain = local.randomized_response([keys[0]] * len(answers), epsilon=1, keys=keys, design=design)
    for odd in (answers, pd.Series(answers, dtype=object, index=list("wxyz")[: len(answers)])):
        said = local.randomized_response(odd, epsilon=1, keys=keys, design=design)
        assert type(said.responses) is type(plain.responses)
        assert said.responses.index.equals(pd.RangeIndex(len(answers)))
        if design == "OUE":
            assert said.responses.dtypes.equals(plain.responses.dtypes)  # by column
        else:
            assert said.responses.dtype == plain.responses.dtype
            assert said.responses.isin(keys).all()


@pytest.mark.parametrize("answers", [
    pd.Series([True, False], dtype="boolean"), pd.Series([1, 0]), pd.Series([1.0, 0.0]),
    pd.Series([True, False]).astype("category"), np.array([True, False]), (True, False),
], ids=lambda a: str(getattr(a, "dtype", type(a).__name__)))  # fmt: skip
def test_answers_are_understood_whatever_holds_them(answers: Any) -> None:
    """At ε = 64 a lie has probability 1.6e-28."""
    said = local.randomized_response(answers, epsilon=64, keys=[False, True])
    assert said.responses.tolist() == [True, False]
    assert said.responses.dtype == bool


def test_responses_collected_elsewhere_give_the_same_estimates() -> None:
    answers = pd.Series(list("abcc") * 100, name="likes")
    for design in ("k-ary", "OUE"):
        said = local.randomized_response(answers, epsilon=1, keys=list("abc"), design=design)
        saved = said.responses.set_axis(range(5, 405))
        back = local.collected(saved, epsilon=1, keys=list("abc"), design=design)
        assert back.value_counts().equals(said.value_counts())
        assert len(lost._NOTED) == ("k-ary", "OUE").index(design) + 1  # nothing for the second


def test_losses_add_up_by_group_and_stay_out_of_the_ledger() -> None:
    session = anew(epsilon=1)
    for epsilon, group in ((0.1, "a"), (0.1, "a"), (0.1, "a"), (2, None), ("1/3", "b"), (1, None)):
        local.randomized_response(pd.Series([True], name="q"), epsilon=epsilon, group=group)
    local.randomized_response([False] * 5, design="two coins", group="b")
    told = local.losses()
    assert told["total"].tolist()[:6] == [0.1, 0.2, 0.3, 2.0, 1 / 3, 3.0]
    assert told["total"].iloc[6] == pytest.approx(1 / 3 + math.log(3))
    assert told["respondents"].tolist() == [1] * 6 + [5]
    assert told["what"].tolist() == ["q"] * 6 + [""]
    assert session.spent == 0
    dp.reset()
    assert len(local.losses()) == 7
    assert local.losses().dtypes.astype(str).tolist()[3:6] == ["float64", "int64", "float64"]


def test_a_loss_is_noted_before_answers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dppandas.local.designs.Design.places", raising(RuntimeError))
    refusal(lambda: local.randomized_response([True], epsilon=1), error=RuntimeError)
    assert len(local.losses()) == 1


FRAME = pd.DataFrame({"x": [True, False]})
asked, told, shared = local.randomized_response, local.collected, local.simulate_shared_sum


@pytest.mark.parametrize(("call", "kind", "says"), [
    (lambda: asked(FRAME.x), MissingArgument, "epsilon="),
    (lambda: asked(FRAME.x, epsilon=0), QueryError, "greater than 0"),
    (lambda: asked(FRAME.x, epsilon=1, keys=["a"]), QueryError, "two"),
    (lambda: asked(FRAME.x * 3, epsilon=1), MissingArgument, "dtype int64.*False and True"),
    (lambda: asked(np.array([0.5, 1]), epsilon=1), MissingArgument, "keys="),
    (lambda: asked(pd.Series(["a"], dtype="string"), epsilon=1), MissingArgument, "keys="),
    (
        lambda: asked(pd.Series([1, 2]).astype("category"), epsilon=1, design="two coins"),
        QueryError, "keys=|1.0986"),
    (lambda: asked(FRAME.x, epsilon=1, keys="ab"), QueryError, "list"),
    (lambda: asked(FRAME.x, epsilon=1, design="rr"), QueryError, "one of"),
    (lambda: asked(FRAME.x, epsilon=1, design=FRAME), QueryError, "one of"),
    (lambda: asked(FRAME.x, epsilon=1, design="OUE"), MissingArgument, "keys="),
    (
        lambda: asked(FRAME.x, epsilon=1, keys=[1, 2, 3], design="one coin"), QueryError,
        "two keys"),
    (lambda: asked(FRAME.x, epsilon=1, design="two coins"), QueryError, "1.0986"),
    (lambda: asked(FRAME, epsilon=1), QueryError, "one question"),
    (lambda: asked("yes", epsilon=1), QueryError, "Series, list or array"),
    (lambda: asked(7, epsilon=1), QueryError, "Series, list or array"),
    (lambda: asked(np.ones((2, 2)), epsilon=1), QueryError, "Series, list"),
    (lambda: asked(FRAME.x, epsilon=1, group=3), QueryError, "group="),
    (lambda: asked(FRAME.x, 1), QueryError, "takes"),
    (lambda: local.one_coin(1.01), QueryError, "between 0 and 1"),
    (lambda: local.one_coin(-0.1), QueryError, "greater than 0"),
    (lambda: local.one_coin(True), QueryError, "truth="),
    (lambda: asked(FRAME.x, design=local.one_coin(0.5)), QueryError, "says nothing"),
    (lambda: asked(FRAME.x, design=local.one_coin(0.2)), QueryError, r"one_coin\(4/5\)"),
    (lambda: asked(FRAME.x, design=local.one_coin(1)), QueryError, "hides nothing"),
    (lambda: asked(FRAME.x, design=local.one_coin(0)), QueryError, "hides nothing"),
    (lambda: asked(FRAME.x, design=local.one_coin("0.5000001")), QueryError, "2\\^-20"),
    (lambda: told(FRAME.x, design=local.one_coin(0.5)), QueryError, "says nothing"),
    (lambda: local.two_coins(yes=0), QueryError, "greater than 0"),
    (lambda: local.two_coins(truth="1e-9"), QueryError, "2\\^-20"),
    (lambda: told([True, None], epsilon=1), QueryError, "1 of the responses is no key"),
    (lambda: told(FRAME, epsilon=1), QueryError, "one column"),
    (lambda: told(FRAME, epsilon=1, keys=list("ab"), design="OUE"), QueryError, "2 keys"),
    (lambda: told(FRAME * 1, epsilon=1, keys=["x", "y"], design="OUE"), QueryError, "keys"),
    (lambda: told([], epsilon=1).mean(), QueryError, "no responses"),
    (lambda: told(["a"], epsilon=1, keys=["a", "b"]).mean(), QueryError, "False and True"),
    (lambda: told([True], epsilon=1).value_counts(7), QueryError, "normalize="),
    (lambda: told([True], epsilon=1).mean().interval(1), QueryError, "confidence="),
    (lambda: told([True], epsilon=1).mean().error(0.9, "normal"), QueryError, "method="),
    (lambda: local.simulate_shared_sum([1], epsilon=1), MissingArgument, "bounds="),
    (lambda: shared([1], epsilon=1, bounds=(0, 1), parties=1), QueryError, "parties="),
    (lambda: local.compare(epsilon=1), QueryError, "respondents="),
    (lambda: local.respondents(epsilon=1), MissingArgument, "within="),
    (lambda: local.respondents(within=0, epsilon=1), QueryError, "within="),
    (lambda: local.respondents(within=1, epsilon=1), QueryError, "between 0 and 1"),
    (lambda: local.respondents(within=0.1), MissingArgument, "epsilon="),
    (lambda: local.respondents(within=0.1, epsilon=1, share=2), QueryError, "share="),
    (lambda: local.respondents(within=0.1, epsilon=1, confidence=1), QueryError, "confidence="),
    (lambda: local.respondents(within="1e-5", epsilon=0.01), QueryError, "more than 2,147"),
    (
        lambda: local.respondents(within=0.1, design=local.one_coin("1/2")), QueryError,
        "says nothing"),
    (lambda: local.compare(epsilon=1, respondents=5, share=2), QueryError, "share="),
])  # fmt: skip
def test_refusals(call: Callable[[], Any], kind: type[Exception], says: str) -> None:
    refusal(call, says, kind)
    assert len(local.losses()) == 0


@pytest.mark.parametrize("ask", [asked, told, shared])
def test_private_data_are_refused_with_the_reason(ask: Callable[..., Any]) -> None:
    session = anew(epsilon=1)
    frame = FRAME.copy()
    people = dp.protect(frame, name="people of the local model")
    carrying = FRAME.x.copy()
    carrying.attrs = dict(frame.attrs)
    for data in (people, people["x"], people.groupby("x", keys=[True]), people.count(), carrying):
        with pytest.raises(PrivateValueError, match="Nothing was computed or charged"):
            ask(data, epsilon=1)
    assert session.spent == 0
    assert len(local.losses()) == 0


def test_what_a_mean_and_a_survey_look_like() -> None:
    said = local.randomized_response([True] * 30, epsilon=1)
    assert repr(said) == "<30 randomised responses: one coin, 2 keys, ε = 1 of each respondent>"
    assert "True" not in repr(said)
    mean = said.mean()
    assert isinstance(mean, float)
    assert pickle.loads(pickle.dumps(mean)).interval() == mean.interval()
    assert said.value_counts().index.tolist() == [False, True]
    assert said.design.probabilities().to_numpy().sum(axis=1).tolist() == pytest.approx([1, 1])


# --- reducing trust -------------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 5) | st.none(), max_size=20), st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_shares_add_up_and_fewer_say_nothing(answers: list[float | None], parties: int) -> None:
    from dppandas.local import sharing
    from dppandas.rows.facts.bounds import Bounds, Grid

    grid = Grid.centred(Bounds(-2.0, 3.0))
    exact = sharing._integers(pd.Series(answers, dtype=object), grid)
    shares = sharing._split(exact, parties)
    assert len(shares) == parties
    assert (sum(shares, np.zeros(len(answers), dtype=np.uint64)) == exact).all()
    clipped = sum(min(max(x, -2), 3) for x in answers if x is not None)
    assert abs(int(exact.view(np.int64).sum()) * grid.step - clipped) < 1e-6


def test_any_but_all_shares_are_uniform_whatever_the_answer() -> None:
    """Modulo 4 in the place of 2^64: words and answers of 2 bits."""
    for hidden, answer in itertools.product(range(3), range(4)):  # one of three doesn't tell
        seen = set()
        for first, second in itertools.product(range(4), repeat=2):
            shares = [first, second, (answer - first - second) % 4]
            seen.add(tuple(s for i, s in enumerate(shares) if i != hidden))
        assert len(seen) == 16  # every pair, once


def test_every_party_adds_all_the_noise_that_the_sum_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noise(scale: Fraction, n: int) -> Any:
        asked.append((scale, n))
        return np.full(n, -(2**40))

    monkeypatch.setattr(samplers, "discrete_laplace_vector", noise)
    total = local.simulate_shared_sum([1, 2, None, "x"], epsilon="1/2", bounds=(-1, 4), parties=5)
    reach = 4 * 2**28
    assert asked == [(Fraction(reach) * 2, 1)] * 5
    assert total.value == 3 - 5 * 2**40 / 2**28
    assert int(sum(map(int, total.parties))) % 2**64 == 3 * 2**28 - 5 * 2**40 + 2**64


@pytest.mark.nightly
@pytest.mark.statistical
def test_the_error_of_a_simulated_sum_holds() -> None:
    """At 90 %, of 2,000. Below 1,733 the alarm is false with a probability of 1e-6 at most."""
    answers = [0.5] * 20
    sums = [local.simulate_shared_sum(answers, epsilon=1, bounds=(0, 1)) for _ in range(2000)]
    error = sums[0].error(0.9)
    assert all(each.error(0.9) == error for each in sums[:5])
    assert sum(abs(each.value - 10) <= error for each in sums) >= 1733
    assert len({each.value for each in sums}) > 40
    assert all("SIMULATION, not secure" in repr(each) for each in sums)
    assert "NOT SECURE" in (local.simulate_shared_sum.__doc__ or "")
    assert len(local.losses()) == 0


def test_the_comparison_follows_the_exact_laws() -> None:
    for epsilon, n in ((0.1, 1000), (1, 20_000), (4, 50)):
        table = local.compare(epsilon=epsilon, respondents=n, parties=4)
        a = math.exp(-epsilon)
        variance = sum((1 - a) / (1 + a) * a ** abs(z) * z * z for z in range(-5000, 5001))
        assert math.isclose(table["count"]["central"], math.sqrt(variance), rel_tol=1e-9)
        assert math.isclose(table["count"]["shared by 4"], 2 * math.sqrt(variance), rel_tol=1e-9)
        assert math.isclose(table["to_central"]["one coin"], math.sqrt(n / 2), rel_tol=1e-9)
        design = designs.of("one coin", epsilon, None)
        own = n * math.sqrt(estimates_variance(design, 1, 0.3) / n)
        assert math.isclose(table["count"]["one coin"], own, rel_tol=1e-9)
        assert np.allclose(table["proportion"] * n, table["count"])
    many = local.compare(epsilon=1, respondents=10_000, keys=20, share=0.1)
    for word in ("k-ary", "OUE"):
        design = designs.of(word, 1, range(20))
        p, q = design.rates[0][:2]
        f = (q * (1 - q) + 0.1 * (p - q) * (1 - p - q)) / (p - q) ** 2
        assert math.isclose(many["count"][word], math.sqrt(10_000 * f), rel_tol=1e-9)
    assert many["count"]["OUE"] < many["count"]["k-ary"]
