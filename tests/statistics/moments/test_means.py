"""Means: how several intervals share their risk, and widths before and after a release."""

from fractions import Fraction

import pandas as pd
import pytest

import dppandas as dp
from dppandas.privacy.mechanisms.noise import DiscreteLaplace

LAW = DiscreteLaplace(Fraction(2**30))


def test_means_of_groups_hold_together() -> None:
    dp.session(epsilon=1)
    df = pd.DataFrame({"k": [0, 1, 2, 3], "x": 1.0, "y": 2.0}).dp
    bounds = {"bounds": {"x": (0, 8), "y": (0, 8)}}
    one = df["x"].mean(bounds=(0, 8))._statistic
    many = df.groupby("k", keys=range(4))[["x", "y"]].mean(**bounds)._statistic
    above, below = 30 * 2**30, 90 * 2**30
    ends = many.errors.intervals_at([above] * 8 + [below] * 8, LAW, 0.95)
    (alone,) = one.errors.intervals_at([above, below], LAW, 1 - 0.05 / 8)
    assert ends == [pytest.approx(alone, rel=1e-9)] * 8
    (narrower,) = one.errors.intervals_at([above, below], LAW, 0.95)
    assert alone[0] < narrower[0] < 2 < narrower[1] < alone[1]


def test_a_mean_of_few_noises_that_count_is_told_of_all_of_them() -> None:
    """At ε = 3.7 one noise is 0 with 95.2 %, and one of two is not with 9.4 %."""
    dp.session(epsilon=9)
    statistic = (pd.DataFrame({"x": [1.0]}).dp["x"] > 0).mean()._statistic
    law = DiscreteLaplace(Fraction(10, 37))
    assert law.half_width(0.95) == 0
    assert statistic.errors.error_before(law, 0.95, 3000) == 1 / 3000


def test_ends_are_rounded_outwards(exact: None) -> None:
    dp.session(epsilon=99)
    df = pd.DataFrame({"x": [0.0] * 2000 + [1.0] * 1000})
    for answer in ((df.dp["x"] > 0.5).mean(epsilon=20), df.dp["x"].mean(bounds=(0, 3), epsilon=20)):
        low, high = map(Fraction, answer.interval(0.01))
        assert low <= Fraction(1, 3) <= high
    shares = df.dp["x"].value_counts(keys=[0.0, 1.0], normalize=True, epsilon=20)
    low, high = map(Fraction, dp.record(shares).intervals(0.01).loc[1.0])
    assert low <= Fraction(1, 3) <= high


@pytest.mark.parametrize("confidence", [0.5, 1 - 1e-9, 1 - 1e-16])
def test_any_confidence_has_an_interval(confidence: float) -> None:
    for terms in ({"epsilon": 9}, {"rho": 1, "delta": "1e-6"}):
        dp.reset()
        dp.session(**terms)
        loss = {"epsilon": 1} if "epsilon" in terms else {"rho": "0.1"}
        x = pd.DataFrame({"x": [1.0, 2.0, 4.0] * 100}).dp["x"]
        for answer in (
            x.mean(bounds=(0, 8), **loss), x.var(bounds=(0, 8), **loss), (x > 1).mean(**loss),
        ):  # fmt: skip
            low, high = answer.interval(confidence)
            assert low <= answer <= high


@pytest.mark.parametrize("share", [0.001, 0.2, 0.5, 0.9])
def test_a_mean_is_no_further_off_than_is_told_before(share: float) -> None:
    """What is told before is the worst, at an end of the bounds: to first order."""
    dp.session(epsilon=1)
    statistic = pd.DataFrame({"x": [1.0]}).dp["x"].mean(bounds=(0, 8))._statistic
    sums = [round(each * 10**5 * 2**30) for each in (share, 1 - share)]
    (after,) = statistic.errors.errors_at(sums, LAW, 0.95)
    before = statistic.errors.error_before(LAW, 0.95, 10**5)
    assert 0.68 * before < after < 1.002 * before
    assert after == pytest.approx(before, rel=0.002) or share > 0.001
