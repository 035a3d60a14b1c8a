"""Plans: power, rows, losses and effects, beside statsmodels' without noise, and beside the tests
themselves with it."""

import itertools
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from notes import noted
from refusals import refusal
from scipy import stats
from statsmodels.stats import power as theirs
from statsmodels.stats.proportion import proportion_effectsize

import dppandas as dp
from dppandas.findings.populations import _Part, _sum
from dppandas.privacy.accuracy.binomial_tests import of_share
from dppandas.privacy.mechanisms.noise import DiscreteLaplace
from dppandas.release.session import running
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics.moments.covariance import _design
from dppandas.statistics.samples import Moments
from dppandas.statistics.samples_of_spreads import SampleMeanOfThree
from dppandas.stats.means import TESTS
from dppandas.stats.plans.designs_of_counts import Binomial, OneShare, TwoShares
from dppandas.stats.plans.designs_of_means import OneMean, TwoMeans, means_of
from dppandas.stats.plans.designs_of_pairs import DESIGN
from dppandas.stats.plans.draws import FINE, Draws, Loss, critical

power = dp.stats.power
#: Of 20,000 draws a share is off by .017 once in a million.
CHANCE = 0.017


# --- without noise --------------------------------------------------------------------------------


def free(test: str, n: int, effect: float, **given: Any) -> float:
    found = power(test, n=n, effect=effect, epsilon=1, **given).without_noise
    assert found is not None
    return found


def ncx2(n: int, w: float, freedom: int) -> float:
    return float(stats.ncx2.sf(stats.chi2.isf(0.05, freedom), freedom, n * w * w))


def test_without_noise_power_is_that_of_statsmodels() -> None:
    """Half a point is for χ² and F, whose power statsmodels approximates, too."""
    two, one, f = theirs.TTestIndPower(), theirs.TTestPower(), theirs.FTestAnovaPower()
    normal = theirs.NormalIndPower()
    h = proportion_effectsize(0.4, 0.3)
    greater = stats.binom.sf(np.arange(101), 100, 0.63)[
        int(stats.binom.isf(0.05, 100, 0.5))
    ]  # the exact test's
    for name, ours, known in [
        ("ttest_ind", free("ttest_ind", 500, 0.25), two.power(0.25, 250, 0.05)),
        ("few", free("ttest_ind", 24, 0.9), two.power(0.9, 12, 0.05)),
        (
            "unequal", free("ttest_ind", 400, 0.3, ratio=3.0),
            two.power(0.3, 100, 0.05, ratio=3),
        ),
        (
            "one side", free("ttest_ind", 300, 0.25, alternative="greater"),
            two.power(0.25, 150, 0.05, alternative="larger"),
        ),
        (
            "less", free("ttest_1samp", 80, -0.3, alternative="less", alpha=0.01),
            one.power(-0.3, 80, 0.01, alternative="smaller"),
        ),
        ("ttest_1samp", free("ttest_1samp", 100, 0.3), one.power(0.3, 100, 0.05)),
        ("f_oneway", free("f_oneway", 240, 0.2, groups=4), f.power(0.2, 240, 0.05, k_groups=4)),
        ("two shares", free("proportions_ztest", 800, 0.1, p=0.3), normal.power(h, 400, 0.05)),
        ("chisquare", free("chisquare", 300, 0.2, cells=5), ncx2(300, 0.2, 4)),
        ("table", free("chi2_contingency", 300, 0.2, cells=(3, 4)), ncx2(300, 0.2, 6)),
        (
            "margins", free("chi2_contingency", 500, 0.15, cells=([0.7, 0.3], [0.5, 0.3, 0.2])),
            ncx2(500, 0.15, 2),
        ),
        ("binomtest", free("binomtest", 100, 0.13, alternative="greater"), greater),
        (
            "pearsonr", free("pearsonr", 200, 0.2),
            stats.norm.sf(1.96 - math.atanh(0.2) * math.sqrt(197)),
        ),
    ]:  # fmt: skip
        with noted(name):
            assert abs(ours - known) < CHANCE + 0.005


def test_noise_costs_power_and_less_where_there_is_less_of_it() -> None:
    for test, effect in [
        ("ttest_ind", 0.2), ("ttest_1samp", 0.1), ("f_oneway", 0.1), ("proportions_ztest", 0.1),
        ("binomtest", 0.05), ("chi2_contingency", 0.1), ("chisquare", 0.1), ("pearsonr", 0.1),
    ]:  # fmt: skip
        with noted(test):
            found = [power(test, n=1000, effect=effect, epsilon=e).power for e in (0.05, 0.5, 64)]
            free_of_noise = power(test, n=1000, effect=effect, epsilon=1).without_noise
            assert found[0] < found[1] - 0.02
            assert found[1] < found[2] + CHANCE
            assert abs(found[2] - free_of_noise) < 0.03


# --- the plan's test is the test ------------------------------------------------------------------


def drawn(rows: int, epsilon: Fraction, p: float = 0.3) -> tuple[Any, list[SampleMeanOfThree]]:
    """What a plan sees in noisy sums, and what a released mean says of them."""
    rng = np.random.default_rng(7)
    law = DiscreteLaplace(Fraction(FINE) / epsilon)
    noise = rng.laplace(0, float(law.scale) / FINE, (3, 200))
    u = rng.beta(4 * p, 4 - 4 * p, (rows, 200))
    sums = np.array([(1 - u) ** 2, 2 * u * (1 - u), u**2]).sum(axis=1) + noise
    known = [
        SampleMeanOfThree(
            frozenset([place]), tuple(int(x * FINE) for x in column), FINE, Bounds(0, 1), law
        )
        for place, column in enumerate(sums.T)
    ]
    return sums, known


@pytest.mark.parametrize(("rows", "epsilon"), [(500, 1), (40, 1), (40, 8), (2000, "1/20")])
def test_means_are_read_as_a_released_mean_reads_them(rows: int, epsilon: Any) -> None:
    sums, known = drawn(rows, Fraction(epsilon))
    seen = means_of(sums, Loss(epsilon=Fraction(epsilon)).law(FINE), FINE)
    for place, each in enumerate(known):
        moments = each.moments(TESTS)
        if each.rows > 2:
            assert moments is not None
            assert seen.mean[place] == pytest.approx(moments.value, abs=1e-8)
            assert seen.error.variance[place] == pytest.approx(moments.error.variance, rel=1e-6)
            assert seen.error.freedom[place] == pytest.approx(moments.error.freedom)


def test_two_means_are_compared_as_ttest_ind_does() -> None:
    """Of each simulated release the plan's verdict is that of the formula of `ttest_ind`."""
    design = TwoMeans(0.05, "two-sided", ratio=2.0)
    loss, n, effect = Loss(epsilon=Fraction(1, 2)), 120, 0.7
    seen = design.seen(n, effect, Draws(loss))
    draws, half = Draws(loss), effect / 2
    groups = [design.group(size, shift, draws)
              for size, shift in zip(design.sizes(n), (half, -half), strict=True)]  # fmt: skip
    for place in range(400):
        parts = []
        for cell, (weight, group) in enumerate(zip((1, -1), groups, strict=True)):
            error = group.error
            size = math.sqrt(error.noise[place] / error.typical.noise)
            law = error.typical.times(size).with_sample(error.sampled[place], error.freedom[place])
            found = Moments(group.mean[place], law, 99, frozenset([cell]))
            parts.append(_Part(weight, found, "one release"))
        both = _sum(parts, 0.0)
        less, more = (both.error.is_beyond(abs(both.value), risk) for risk in (0.0497, 0.0503))
        assert less <= seen.rejects[place] <= more


def test_critical_values_are_those_of_student() -> None:
    freedom = np.array([1.0, 1.7, 3, 8.4, 30, 250, 10**6])
    for risk in (0.1, 0.05, 0.01):
        assert critical(risk, freedom) == pytest.approx(stats.t.isf(risk / 2, freedom), rel=0.002)


@pytest.mark.parametrize(("n", "p", "side", "epsilon"), [
    (30, 0.5, "greater", 1), (60, 0.3, "less", 1), (200, 0.3, "two-sided", "1/2"),
])  # fmt: skip
def test_a_binomial_plan_rejects_what_binomtest_rejects(
    n: int, p: float, side: str, epsilon: Any
) -> None:
    loss = Loss(epsilon=Fraction(epsilon))
    design, effect = Binomial(0.05, side, p), -0.15 if side == "less" else 0.15
    seen = design.seen(n, effect, Draws(loss))
    group = design.group(n, p + effect, Draws(loss))
    known: dict[tuple[int, int], bool] = {}
    for part, rest in {(int(a), int(b)) for a, b in zip(*(x[:500] for x in group), strict=True)}:
        known[part, rest] = of_share(part, rest, loss.law(), p, side) <= 0.05
    pairs = [(int(a), int(b)) for a, b in zip(*(x[:500] for x in group), strict=True)]
    unlike = sum(known[pair] != seen.rejects[i] for i, pair in enumerate(pairs))
    assert unlike <= 10


# --- beside the tests on real releases ------------------------------------------------------------


#: So many draws are released together.
TOGETHER = 20


def released(samples: list[np.ndarray], **how: Any) -> list[pd.Series]:
    """The answers for each draw: an array for each arm, with a line for each draw."""
    draws = len(samples[0])
    if draws > TOGETHER:
        parts = range(0, draws, TOGETHER)
        each = (released([x[i : i + TOGETHER] for x in samples], **how) for i in parts)
        return list(itertools.chain(*each))
    parts = [
        pd.DataFrame(
            {"draw": np.arange(draws).repeat(each.shape[1]), "arm": arm, "y": each.ravel()}
        )
        for arm, each in enumerate(samples)
    ]
    keys = {"draw": range(draws), "arm": range(len(samples))}
    answer = pd.concat(parts).dp.groupby(["draw", "arm"], keys=keys)["y"].mean(**how)
    return [answer.iloc[len(samples) * i : len(samples) * (i + 1)] for i in range(draws)]


@pytest.mark.nightly
@pytest.mark.statistical
def test_power_and_intervals_are_those_of_tests_on_real_releases() -> None:
    """600 releases for each plan. A plan that is right fails by chance once in 10^6 runs; one whose
    power is off by .15 is noticed with a probability above .98. benchmarks/inference_plan.py
    measures to .03."""
    dp.session(epsilon=10**4)
    rng, draws = np.random.default_rng(), 600

    def normal(size: int, shift: float = 0.0) -> Any:
        return rng.normal(shift, 1, (draws, size))

    def true(size: int, share: float) -> Any:
        return rng.random((draws, size)) < share

    inference: dict[str, Any] = {"bounds": (-4, 4), "inference": True, "epsilon": 1}
    ztest, binomtest = dp.stats.proportions_ztest, dp.stats.binomtest
    for name, plan, answers, test in [
        (
            "ttest_ind", power("ttest_ind", n=600, effect=0.25, epsilon=1),
            released([normal(300, 0.125), normal(300, -0.125)], **inference), dp.stats.ttest_ind,
        ),
        (
            "ttest_1samp", power("ttest_1samp", n=150, effect=0.3, epsilon=1),
            released([normal(150, 0.3)], **inference), lambda a: dp.stats.ttest_1samp(a, 0),
        ),
        (
            "ztest", power("proportions_ztest", n=500, effect=0.1, epsilon=0.5, p=0.3),
            released([true(250, 0.4), true(250, 0.3)], epsilon=0.5), ztest,
        ),
        (
            "one share", power("proportions_ztest", n=200, effect=0.1, epsilon=1, p=0.3, groups=1),
            released([true(200, 0.4)], epsilon=1), lambda a: ztest(a, value=0.3),
        ),
        (
            "binomtest", power("binomtest", n=150, effect=0.12, epsilon=1),
            released([true(150, 0.62)], epsilon=1), lambda a: binomtest(a, p=0.5),
        ),
    ]:  # fmt: skip
        with noted(name):
            found = [test(answer) for answer in answers]
            rate = np.mean([each.pvalue <= 0.05 for each in found])
            chance = 4.9 * math.sqrt(plan.power * (1 - plan.power) / draws)
            assert abs(rate - plan.power) < chance + 0.02
            ends = [each.confidence_interval() for each in found[:60]]
            assert plan.within == pytest.approx(
                np.median([high - low for low, high in ends]) / 2, rel=0.1
            )


# --- solving --------------------------------------------------------------------------------------

#: An effect of a usual size, for each test.
EFFECTS: dict[str, float] = {
    "ttest_ind": 0.3, "ttest_1samp": 0.2, "f_oneway": 0.15, "pearsonr": 0.2,
    "proportions_ztest": 0.08, "binomtest": 0.06, "chi2_contingency": 0.15, "chisquare": 0.15,
}  # fmt: skip


@pytest.mark.parametrize("test", EFFECTS)
def test_what_is_solved_for_is_enough_and_nothing_less_is(test: str) -> None:
    effect = EFFECTS[test]
    rows = power(test, effect=effect, epsilon=1, power=0.8)
    assert rows.solved == "n"
    assert float(rows) == rows.n
    assert rows.power > 0.8 - CHANCE / 2
    assert power(test, n=round(rows.n * 0.93), effect=effect, epsilon=1).power < 0.8
    loss = power(test, n=2 * rows.n, effect=effect, power=0.8)
    assert loss.solved == "epsilon"
    assert 0 < loss.epsilon < 1
    assert loss.power > 0.8 - CHANCE / 2
    less = float(loss.epsilon) * 0.85
    assert power(test, n=2 * rows.n, effect=effect, epsilon=less).power < 0.8
    least = power(test, n=rows.n, epsilon=1, power=0.8)
    assert least.solved == "effect"
    assert least.effect == pytest.approx(effect, rel=0.05)
    assert least.power > 0.8 - CHANCE / 2


def test_effects_of_one_side_have_its_sign() -> None:
    down = power("ttest_ind", n=500, epsilon=1, power=0.8, alternative="less")
    up = power("ttest_ind", n=500, epsilon=1, power=0.8, alternative="greater")
    assert up.effect == pytest.approx(-down.effect, rel=0.05)
    assert down.effect < 0
    assert power("binomtest", n=500, epsilon=1, effect=0.1, alternative="less").power < 0.01
    skewed = power("proportions_ztest", n=400, epsilon=1, effect=-0.08, p=0.95)
    assert skewed.power > 0.5


def test_losses_are_round_and_those_that_the_session_counts() -> None:
    loss = power("ttest_ind", n=1000, effect=0.2, power=0.8).epsilon
    assert str(loss) == f"{float(loss):.3g}"
    dp.session(rho=1, delta=1e-6)
    plan = power("ttest_ind", n=1000, effect=0.2, power=0.8)
    assert (plan.solved, plan.epsilon) == ("rho", None)
    # of a single sum Gaussian noise of ρ has the variance of Laplace noise of ε = 2√ρ
    assert float(plan.rho) == pytest.approx(float(loss) ** 2 / 4, rel=0.12)
    same = power("ttest_ind", n=1000, effect=0.2, rho=plan.rho)
    assert same.power == pytest.approx(plan.power)
    assert dp.ledger().spent == 0


def test_within_plans_an_interval() -> None:
    for test, wide, given in [
        ("ttest_ind", 2.0, {"bounds": (0, 100), "sd": 12}), ("ttest_1samp", 0.1, {}),
        ("proportions_ztest", 0.04, {"p": 0.2}), ("binomtest", 0.03, {"p": 0.2}),
        ("pearsonr", 0.1, {}),
    ]:  # fmt: skip
        with noted(test):
            plan = power(test, within=wide, epsilon=1, **given)
            assert plan.within == pytest.approx(wide, rel=0.02)
            assert (plan.power, plan.effect, plan.without_noise) == (None, None, None)
            loss = power(test, within=wide, n=2 * plan.n, **given)
            assert loss.within == pytest.approx(wide, rel=0.02)
            assert loss.epsilon < 1
    told = power("ttest_ind", within=2, epsilon=1, effect=0.3, bounds=(0, 100), sd=12)
    assert 0 < told.power < 1
    few = power("ttest_ind", within=2, epsilon=1, bounds=(0, 100), sd=12)
    many = power("ttest_ind", within=2, epsilon=1, bounds=(0, 1000), sd=12)
    assert many.n > 2 * few.n


# --- what is shown, and what is refused -----------------------------------------------------------


def test_a_plan_says_what_it_is() -> None:
    plan = power(dp.stats.ttest_ind, n=1000, effect=0.2, epsilon=1, ratio=3.0)
    assert plan.sizes == (250, 750)
    first, *more = repr(plan).splitlines()
    assert first.startswith("ttest_ind: 1,000 rows in groups of 250 and 750, ε = 1, effect 0.2")
    assert "solved for power" in first
    assert "Without noise its power would be" in more[0]
    assert "Values between -4 and 4" in more[-1]
    assert f">{more[-1]}</div>" in plan._repr_html_()
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert power("ttest_ind", n=1000, effect=0.2, epsilon=1, ratio=3.0) == plan  # no chance in it


def test_nothing_is_read_charged_or_begun() -> None:
    power("ttest_ind", n=1000, effect=0.2, epsilon=1)
    assert running() is None


def test_bad_arguments_are_refused_with_what_to_write() -> None:
    usual: dict[str, Any] = {"n": 100, "effect": 0.3, "epsilon": 1}
    for name, test, given, said in [
        ("unknown", "ttest", usual, "must be one of ttest_ind"),
        ("function", len, usual, "must be one of ttest_ind"),
        ("fisher", "fisher_exact", usual, r"chi2_contingency.*cells=\(2, 2\)"),
        ("blocks", "blockwise", usual, "that of its block test"),
        ("all given", "ttest_ind", {**usual, "power": 0.8}, "none is missing"),
        ("two missing", "ttest_ind", {"n": 100, "epsilon": 1}, "effect, power are missing"),
        ("both losses", "ttest_ind", {**usual, "rho": 1}, "either epsilon= or rho="),
        ("both targets", "ttest_ind", {"n": 9, "power": 0.8, "within": 1}, "power= or within="),
        ("within alone", "ttest_ind", {"within": 1}, "one of n= and epsilon="),
        ("no interval", "chisquare", {"within": 1, "n": 100}, "has no interval"),
        ("no effect", "ttest_ind", {"effect": 0, "epsilon": 1, "power": 0.8}, "by chance alone"),
        ("n", "ttest_ind", {**usual, "n": 2.5}, "must be a whole number"),
        ("few", "ttest_ind", {**usual, "n": 2}, "from 4 to"),
        ("epsilon", "ttest_ind", {**usual, "epsilon": -1}, "greater than 0"),
        ("alpha", "ttest_ind", {**usual, "alpha": 1}, "above 0 and below 0.5"),
        ("low power", "ttest_ind", {"n": 100, "epsilon": 1, "power": 0.04}, "above 0.05"),
        ("side", "ttest_ind", {**usual, "alternative": "up"}, "must be"),
        ("no sides", "chisquare", {**usual, "alternative": "less"}, "has no sides"),
        ("other guess", "ttest_ind", {**usual, "p": 0.3}, "takes no p="),
        ("sd", "ttest_ind", {**usual, "bounds": (0, 1), "sd": 0.7}, "is more than values"),
        ("bounds", "ttest_ind", {**usual, "bounds": (1, 0)}, "the lower first"),
        ("far", "ttest_ind", {**usual, "effect": 50}, "more than there can be"),
        ("share", "proportions_ztest", {**usual, "p": 1.2}, "p=1.2 must be a number"),
        ("out", "proportions_ztest", {**usual, "p": 0.8, "effect": 0.9}, "more than there can be"),
        ("cells", "chisquare", {**usual, "cells": [0.5, 0.6]}, "add up to 1"),
        ("table", "chi2_contingency", {**usual, "cells": 4}, "rows and columns"),
        ("negative", "chisquare", {**usual, "effect": -0.1}, "must not be negative"),
        (
            "hopeless", "ttest_ind", {"n": 100, "effect": 0.1, "power": 0.8},
            "wouldn't do without noise either",
        ),
        ("too rare", "ttest_1samp", {"n": 10, "epsilon": 0.01, "power": 0.9}, "no effect is large"),
    ]:  # fmt: skip
        with noted(name):
            refusal(lambda test=test, given=given: power(test, **given), said)


def test_designs_are_told_apart() -> None:
    of_release = zip(*_design(3, 2), strict=True)  # in quarters
    assert tuple(tuple(x / 4 for x in row) for row in of_release) == DESIGN
    assert OneMean(0.05, "two-sided").largest() == 4
    assert TwoShares(0.05, "two-sided", p=0.9).largest() == pytest.approx(0.9)
    assert OneShare(0.05, "greater", p=0.9).largest() == pytest.approx(0.1)
    assert len(OneMean(0.05, "two-sided").group(50, 0.5, Draws(Loss(), 10)).mean) == 10
