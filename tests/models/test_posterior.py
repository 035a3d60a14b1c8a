"""What counts say of a chance by Bayes' rule, against sums over all counts that may be behind them,
and how often the chance lies in its intervals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal
from scipy import integrate, special, stats

import dppandas as dp
from dppandas.errors import BudgetExceeded, RecordError
from dppandas.models import posterior
from dppandas.models.posterior import of_two
from dppandas.privacy.accuracy.laws import noise_of
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.privacy.mechanisms.selection import (
    Exponential,
    ExponentialWithPrior,
    selection_weights,
)
from dppandas.types import Posterior

#: So much loss that no noise is seen: of two counts, one is moved with a chance below 4 e^-64.
ALL = 64
NOISES = {
    "one": DiscreteLaplace(Fraction(1)),
    "hardly any": DiscreteLaplace(Fraction(1, 5)),
    "much": DiscreteLaplace(Fraction(10)),
    "Gaussian": DiscreteGaussian(Fraction(144)),
}
GRID = np.array([0.03, 0.1, 0.3, 0.5, 0.8])


def rows(hits: int, rest: int) -> pd.DataFrame:
    return pd.DataFrame({"smokes": [True] * hits + [False] * rest, "age": range(hits + rest)})


def of_all_counts(
    y1: int, y0: int, law: Any, a: float, b: float, most: int
) -> tuple[float, float, Any, Any]:
    """Mean, deviation, densities and chances at `GRID`, by a sum over all pairs of counts."""
    n1, n0 = (x.astype(float) for x in np.meshgrid(range(most), range(most), indexing="ij"))
    logs = law.log_density(y1 - n1) + law.log_density(y0 - n0)
    logs += special.gammaln(n1 + n0 + 1) - special.gammaln(n1 + 1) - special.gammaln(n0 + 1)
    logs += special.betaln(n1 + a, n0 + b)
    kept = logs > logs.max() - 40
    weights, one, zero = np.exp(logs[kept] - logs.max()), n1[kept] + a, n0[kept] + b
    weights /= weights.sum()
    middles = one / (one + zero)
    mean = float(weights @ middles)
    within = middles * (1 - middles) / (one + zero + 1)
    deviation = math.sqrt(weights @ (within + (middles - mean) ** 2))
    densities = [weights @ stats.beta.pdf(x, one, zero) for x in GRID]
    chances = [weights @ special.betainc(one, zero, x) for x in GRID]
    return mean, deviation, np.array(densities), np.array(chances)


@pytest.mark.parametrize("prior", [(1, 1), (0.5, 0.5), (20, 3)], ids=str)
@pytest.mark.parametrize("noisy", [(3, 9), (-4, 2), (0, 0), (30, 50), (-70, 40)], ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_it_is_the_sum_over_all_counts(
    noise: str, noisy: tuple[int, int], prior: tuple[float, float]
) -> None:
    law = noise_of(NOISES[noise])
    found = of_two(*noisy, law, *prior)  # type: ignore[arg-type]
    mean, std, densities, chances = of_all_counts(*noisy, law, *prior, most=420)
    assert abs(found.mean - mean) < 1e-4
    assert abs(found.std / std - 1) < 1e-3
    assert np.allclose(found.density(GRID), densities, rtol=2e-3, atol=1e-3)
    assert np.allclose(found.cumulated(GRID), chances, atol=3e-4)
    assert np.allclose(found.cumulated(found.quantiles(chances)), chances, atol=1e-9)


def test_the_chance_lies_in_its_intervals_as_often_as_they_say() -> None:
    """500 chances that the prior draws, with numbers of rows alike up to 150. Of 90 % intervals,
    between 82.8 and 96 % hold, or a right program fails with a probability below 10^-6."""
    random, law = np.random.default_rng(5), DiscreteLaplace(Fraction(3))
    held = 0
    for _ in range(500):
        chance, n = random.random(), int(random.integers(0, 150))
        hits = int(random.binomial(n, chance))
        found = of_two(*law.release([hits, n - hits]), noise_of(law), 1, 1)  # type: ignore
        low, high = found.quantiles(np.array([0.05, 0.95])).tolist()
        held += low <= chance <= high
    false_alarm = stats.binom.cdf(413, 500, 0.9) + stats.binom.sf(480, 500, 0.9)
    assert false_alarm < 1e-6
    assert 413 < held <= 480


def test_counts_taken_for_exact_would_be_too_sure() -> None:
    """With 20 rows and noise of scale 5, the posterior of exact counts is far too narrow."""
    law = DiscreteLaplace(Fraction(5))
    found = of_two(5, 15, noise_of(law), 1, 1)  # type: ignore[arg-type]
    assert found.std > 1.5 * stats.beta(6, 16).std()


def test_without_noise_it_is_the_law_of_textbooks() -> None:
    anew(epsilon=2 * ALL)
    found = posterior(rows(30, 70).dp["smokes"], "bernoulli", epsilon=ALL, prior=(2, 3))
    exact = stats.beta(32, 73)
    assert isinstance(found, Posterior)
    assert found.mean == pytest.approx(exact.mean())
    assert found.std == pytest.approx(exact.std())
    assert found.interval(0.9) == pytest.approx(exact.interval(0.9), abs=1e-4)
    assert found.pdf(GRID) == pytest.approx(exact.pdf(GRID), rel=1e-6, abs=1e-9)
    assert found.cdf(0.3) == pytest.approx(exact.cdf(0.3), abs=1e-4)
    assert [found.pdf(x) for x in (-1, 0, 1, 2)] == [0] * 4
    assert [found.cdf(x) for x in (-1, 0, 1, 2)] == [0, 0, 1, 1]
    drawn = found.sample(20_000)  # five standard errors: below 10^-6
    assert abs(drawn.mean() - exact.mean()) < 5 * exact.std() / math.sqrt(20_000)
    assert not np.array_equal(drawn[:9], found.sample(9))
    assert "mean 0.3" in repr(found)
    assert "ε = 64" in repr(found)


def test_a_density_has_an_area_of_one() -> None:
    found = of_two(7, 2, noise_of(NOISES["one"]), 1, 1)  # type: ignore[arg-type]
    area = integrate.quad(lambda x: found.density(np.array([x]))[0], 0, 1)[0]
    assert area == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("loss", [{"epsilon": "1/3"}, {"rho": "1/50"}], ids=str)
def test_it_costs_what_was_given(loss: dict[str, Any]) -> None:
    anew(**loss | ({"delta": 1e-6} if "rho" in loss else {}))
    people = dp.protect(rows(300, 700), name="smokers")
    found = posterior(people["smokes"], **loss)
    ((name, whole),) = loss.items()
    assert getattr(found.loss, name) == Fraction(whole)
    assert len(found.releases_) == 1
    low, high = found.interval(1 - 1e-7)
    assert low < 0.3 < high
    again = posterior(people["smokes"], **loss, prior=(5, 5))  # of the same answer, and free
    assert again.releases_[0].number == found.releases_[0].number
    with pytest.raises(BudgetExceeded):
        posterior(people["age"] > 5, **loss)


def test_rows_without_a_value_do_not_count() -> None:
    anew(epsilon=2 * ALL)
    made = pd.DataFrame({"yes": pd.array([True, False, None, None] * 10, dtype="boolean")})
    assert posterior(made.dp["yes"], epsilon=ALL).mean == pytest.approx(0.5)


def test_a_mask_is_as_good_as_a_column() -> None:
    anew(epsilon=2 * ALL)
    found = posterior(rows(5, 5).dp["age"] < 2, epsilon=ALL)
    assert found.mean == pytest.approx(3 / 12)


@pytest.mark.parametrize(
    ("column", "how", "told"),
    [
        ("age", {}, "is of True and False"),
        ("digit", {}, "is of True and False"),
        ("smokes", {"family": "cauchy"}, 'must be "bernoulli"'),
        ("smokes", {"family": []}, 'must be "bernoulli"'),
        ("smokes", {"prior": (0, 1)}, "Beta law"),
        ("smokes", {"prior": (1, math.nan)}, "Beta law"),
        ("smokes", {"prior": (1, 1e7)}, "Beta law"),
        ("smokes", {"prior": (1, True)}, "Beta law"),
        ("smokes", {"prior": 1}, "Beta law"),
        ("smokes", {"method": "exact"}, "must be 'noise-aware' or 'squashed'"),
        ("smokes", {"method": "squashed", "clip": 0}, "from 0.1 to 20"),
        ("smokes", {"method": "squashed", "clip": math.nan}, "from 0.1 to 20"),
        ("smokes", {"method": "squashed", "clip": "3"}, "from 0.1 to 20"),
        ("age", {"method": "squashed"}, "is of True and False"),
        ("smokes", {"epsilon": None}, "needs the loss"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_refused_free_of_charge(
    column: str, how: dict[str, Any], told: str
) -> None:
    session = anew(epsilon=1)
    people = dp.protect(rows(5, 5).assign(digit=1), name="p", domain={"digit": [0, 1]})
    assert told in refusal(lambda: posterior(people[column], **{"epsilon": 1} | how))
    assert "private column" in refusal(lambda: posterior([True], epsilon=1))
    assert str(session.remaining) == "1"


def test_its_own_intervals_are_pointed_to() -> None:
    anew(epsilon=1)
    found = posterior(rows(5, 5).dp["smokes"], epsilon=1)
    for ask in (dp.intervals, dp.plot, dp.record):
        refusal(lambda f=ask: f(found), ".interval()", RecordError)
    assert "both say" in refusal(lambda: posterior(rows(5, 5).dp["smokes"], epsilon=1, rho=1))


def test_a_preview_shows_its_question_and_no_answer() -> None:
    session = anew(epsilon=1)
    people = dp.protect(rows(5, 5), name="p")
    with dp.preview() as preview:
        found = posterior(people["smokes"], epsilon=1)
        assert "made up" in repr(found)
    assert "value_counts of smokes" in repr(preview)
    assert "preview" in refusal(lambda: found.mean)
    assert str(session.remaining) == "1"


# --- a draw from the squashed posterior -----------------------------------------------------------


def draw(**how: Any) -> Any:
    """The question of a draw, and its exact law for counts of False and True."""
    question = posterior(rows(5, 5).dp["smokes"], method="squashed", **how)
    return question._request.statistic


def law_of(statistic: Any, counts: tuple[int, int], epsilon: Fraction) -> Any:
    """How likely each candidate is, from the whole weights that are drawn from."""
    mechanism = Exponential.calibrate(statistic.linf, epsilon, monotone=True)
    scores = (np.array(counts) @ np.array(statistic.scores)).tolist()
    weights = selection_weights(scores, mechanism.rate, 60)
    found = np.array([p * w for p, w in zip(statistic.prior, weights, strict=True)], dtype=object)
    return (found / found.sum()).astype(float)


@pytest.mark.parametrize("prior", [(1, 1), (3, 0.5)], ids=str)
def test_its_law_is_the_prior_times_the_clipped_likelihood(prior: tuple[float, float]) -> None:
    statistic, chances = draw(prior=prior, clip=2), np.arange(1, 200) / 200
    logs = stats.beta.logpdf(chances, *prior)
    for count, each in ((4, 1 - chances), (7, chances)):
        logs = logs + count * np.maximum(np.log(each), -2) / 2
    exact = np.exp(logs - special.logsumexp(logs))
    assert np.allclose(law_of(statistic, (4, 7), Fraction(1)), exact, rtol=0.02)


def test_no_row_changes_a_chance_by_more_than_it_may() -> None:
    """For all counts up to 9, and nearly as much for some: the loss isn't paid in vain."""
    statistic, worst = draw(clip=3), 0.0
    for zero in range(10):
        for one in range(10):
            law = np.log(law_of(statistic, (zero, one), Fraction(1)))
            for more in ((zero + 1, one), (zero, one + 1)):
                moved = np.log(law_of(statistic, more, Fraction(1))) - law
                worst = max(worst, float(np.abs(moved).max()))
    assert 0.7 < worst <= 1


def test_a_draw_is_drawn_by_the_exponential_mechanism() -> None:
    """At ε = 3 it is a draw from the posterior of the rows, with a deviation of 0.015."""
    anew(epsilon=10**6)
    people = rows(300, 700).dp
    drawn = [float(posterior(people["smokes"], method="squashed", epsilon=3)) for _ in range(20)]
    assert all(0.1 < each < 0.5 for each in drawn)
    assert len({*drawn}) > 1, "20 alike have a chance below 10^-9"
    record = dp.record(posterior(people["smokes"], method="squashed", epsilon=3))
    assert isinstance(record._law, ExponentialWithPrior)
    assert record.loss.epsilon == 3
    assert record.error() > 0


@pytest.mark.parametrize("loss", [{"rho": "1/2"}, {"epsilon": 2}], ids=str)
def test_a_draw_costs_what_was_given_where_rho_is_counted(loss: dict[str, Any]) -> None:
    session = anew(rho="1/2", delta=1e-6)
    posterior(rows(3, 7).dp["smokes"], method="squashed", **loss)
    assert abs(float(session.ledger.spent) - 0.5) < 1e-6  # ε²/8, and ε = 2


def test_the_prior_of_a_draw_has_a_say() -> None:
    """Of nobody it is the prior: 12 draws that lie above 0.9 have a chance below 10^-9 without."""
    anew(epsilon=10**6)
    nobody, prior = rows(1, 1).query("age > 9").dp["smokes"], (200, 2)
    drawn = [posterior(nobody, method="squashed", prior=prior, epsilon=1) for _ in range(12)]
    assert min(map(float, drawn)) > 0.9
