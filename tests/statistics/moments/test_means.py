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
