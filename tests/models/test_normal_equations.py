"""Where the least squares of rows may be, by noisy sums: against any noise, every coefficient that
isn't excluded, and many draws."""

import itertools
from fractions import Fraction
from math import comb
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew

import dppandas as dp
from dppandas.models.least_squares.normal_equations import ROUNDED, NormalEquations, moments_of
from dppandas.privacy.accuracy.weighted_sums import (
    half_widths_of_norms,
    half_widths_of_weighted,
)
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.release.context import watching

LOSSES: dict[str, dict[str, Any]] = {"epsilon": {"epsilon": 1}, "rho": {"rho": "0.5"}}
each_loss = pytest.mark.parametrize("kind", LOSSES)
#: A test fails where what is seen has less probability than this.
ALARM = 1e-6


class Released:
    """What equations read of a record, with other noise than was drawn."""

    def __init__(self, record: Any, exact: Any) -> None:
        self._statistic, self._law = record._statistic, record._law
        self.exact, self._noisy = np.array(exact, dtype=float), np.array(exact, dtype=float)

    def noisy(self, noise: Any) -> Any:
        self._noisy = self.exact + noise
        return self


def released(rows: Any, kind: str) -> Released:
    """The table of covariances of columns in [-1, 1]."""
    anew(**LOSSES[kind], **({"delta": 1e-6} if kind == "rho" else {}))
    people = dp.protect(pd.DataFrame(rows, columns=[f"c{i}" for i in range(rows.shape[1])]), "r")
    exact: list[Any] = []

    def watch(query: Any, _: Any, integers: Any) -> Any:
        exact.append([int(each) for each in integers])
        return [0] * query.statistic.size

    with watching(watch):
        table = people.cov(dropna=True, bounds=(-1, 1), **LOSSES[kind])
    return Released(dp.record(table), exact[0])


def equations(record: Any) -> NormalEquations:
    """Of the last column, by a constant and the others."""
    every = np.eye(len(record._statistic.operands) + 1)
    return NormalEquations.of(record, every[:-1], every[-1])


def line(n: int, width: int, rng: Any) -> Any:
    """Rows on both sides of a line."""
    x = rng.uniform(-1, 1, (n, width))
    y = 0.1 + x @ np.linspace(0.2, -0.2, width) + rng.normal(0, 0.1, n)
    return np.column_stack([x, y.clip(-1, 1)])


def least_squares(rows: Any) -> Any:
    x = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
    return np.linalg.lstsq(x, rows[:, -1], rcond=None)[0]


@each_loss
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_weights_make_sums_of_products_of_the_integers(kind: str, width: int) -> None:
    """Of single rows, at the ends of the bounds and anywhere: rounding moves none by more than is
    allowed for."""
    rng, worst = np.random.default_rng(width), 0.0
    rows = [rng.choice([-1.0, 1.0, 0.0], width) for _ in range(3)]
    rows += [rng.uniform(-1, 1, width) for _ in range(5)]
    for row in rows:
        record = released(row[None], kind)
        whole = np.append(1.0, row)
        found = moments_of(record._statistic) @ record.exact
        worst = max(worst, float(np.abs(found - np.outer(whole, whole)).max()))
    assert worst < ROUNDED
    assert worst > 0 or width == 1, "some of them are rounded"


@each_loss
def test_whatever_the_noise_if_scores_lie_within_widths_so_do_coefficients(kind: str) -> None:
    """No chance is left: where |Σ xⱼ(y - x·θ)| by the noisy sums is at most what `_widths` allows
    at the sample's θ, all of its coefficients lie within what `score_widths` makes of them."""
    rng, seen = np.random.default_rng(1), {True: 0, False: 0}
    for n, width in itertools.product((150, 600, 3000), (1, 2, 3)):
        rows = line(n, width, rng)
        record, theta = released(rows, kind), least_squares(rows)
        scale = float(record._law.scale)
        for size in (0.2, 1, 1, 2):
            noise = rng.laplace(0, size * scale, len(record.exact))
            found = equations(record.noisy(noise))
            widths = found.score_widths(0.05)
            scores = np.abs(found.right - found.gram @ theta)
            off = np.abs(found.solution - theta)
            if (scores <= found._widths(off, 0.05)).all():
                if widths is None:
                    seen[False] += 1
                    continue
                seen[True] += 1
                assert (scores <= widths).all()
                far = np.abs(found.inverse) @ widths
                assert (off <= far).all()
                again = np.abs(found.inverse) @ found._widths(far, 0.05)
                assert (again <= far * (1 + 1e-6)).all(), "what is found bounds itself"
    assert seen[True] > 20


def test_widths_hold_for_all_coefficients_that_are_no_further_off() -> None:
    """At corners of a box around the solution, by the law's own width: that of Gaussian noise."""
    rng, risk = np.random.default_rng(7), 0.05
    for n, width in ((300, 2), (300, 4)):
        record = released(line(n, width, rng), "rho")
        sigma = float(record._law.scale)
        found = equations(record.noisy(rng.normal(0, sigma, len(record.exact))))
        far = rng.uniform(0.5, 2, width + 1)
        z = -NormalDist().inv_cdf(risk / (width + 2) / 2)
        for is_fast in (False, True):
            widths = found._widths(far, risk, is_fast)
            for signs in itertools.product((-1, 1), repeat=width + 1):
                theta = found.solution + far * signs
                weights = found.by_target - np.einsum("i,jiz->jz", theta, found.by_each)
                least = z * sigma * np.sqrt(np.square(weights).sum(axis=1))
                assert (least <= widths).all()
                assert (widths < 4 * least).any()


def test_every_coefficient_that_isnt_excluded_is_within_the_interval() -> None:
    """By brute force along many directions, with the law's own width at each point: Gaussian noise,
    for which that is known."""
    rng = np.random.default_rng(2)
    for n, width in ((300, 2), (500, 3), (100, 1)):
        rows = line(n, width, rng)
        record = released(rows, "rho")
        sigma = float(record._law.scale)
        found = equations(record.noisy(rng.normal(0, sigma, len(record.exact))))
        widths = found.score_widths(0.05)
        assert widths is not None
        far, z = np.abs(found.inverse) @ widths, 2.0  # below that of the risk of each
        furthest = np.zeros(len(far))
        for direction in rng.normal(size=(400, len(far))):
            steps = np.linspace(0, 4, 200)[:, None] * direction / np.abs(direction / far).max()
            theta = found.solution + steps
            scores = np.abs(found.right - theta @ found.gram)
            weights = found.by_target - np.einsum("ti,jiz->tjz", theta, found.by_each)
            is_left = (scores <= z * sigma * np.sqrt(np.square(weights).sum(axis=2))).all(axis=1)
            furthest = np.maximum(furthest, (np.abs(steps) * is_left[:, None]).max(axis=0))
        assert (furthest <= far).all()
        assert (furthest > 0.2 * far).all(), "the intervals aren't far too wide"


def test_collinear_regressors_are_left_open() -> None:
    rng = np.random.default_rng(3)
    rows = line(1000, 2, rng)
    rows[:, 1] = rows[:, 0]
    for kind in LOSSES:
        record = released(rows, kind)
        found = equations(record.noisy(rng.laplace(0, 1.0, len(record.exact)) * 2.0**28))
        assert found.score_widths(0.05) is None
        assert found.is_open
        assert np.isfinite(found.estimate).all()
        assert np.isinf(found.covariances(found.gram)).all()


def test_no_rows_leave_everything_open() -> None:
    record = released(np.full((3, 2), np.nan), "epsilon")
    found = equations(record.noisy(0.0))
    assert found.inverse is None
    assert (found.estimate == 0).all()
    assert found.is_open
    assert found.residual == 0


def test_rounding_is_allowed_for() -> None:
    """With next to no noise rounding decides: intervals hold the least squares of the rows, not
    only of what they are rounded to."""
    rng = np.random.default_rng(4)
    outside = 0
    for _ in range(20):
        rows = line(3000, 1, rng)
        record = released(rows, "epsilon")
        record._law = DiscreteLaplace(Fraction(1, 100))
        found = equations(record.noisy(0.0))
        widths = found.score_widths(0.05)
        assert widths is not None
        off = np.abs(found.solution - least_squares(rows))
        assert (off <= np.abs(found.inverse) @ widths).all()
        outside += bool((off > 1e-13).any())
    assert outside, "rounding moves some"


@pytest.mark.statistical
@each_loss
def test_all_intervals_hold_together(kind: str) -> None:
    """400 draws of the noise at 5 %: false alarms below 1e-6. Intervals of half the width fail."""
    draws, missed, missed_half = 400, 0, 0
    rows = line(2000, 2, np.random.default_rng(5))
    record, theta, rng = released(rows, kind), least_squares(rows), np.random.default_rng()
    scale = float(record._law.scale)
    draw = rng.laplace if kind == "epsilon" else rng.normal
    for _ in range(draws):
        found = equations(record.noisy(draw(0, scale, len(record.exact))))
        widths = found.score_widths(0.05)
        assert widths is not None
        off, wide = np.abs(found.solution - theta), np.abs(found.inverse) @ widths
        missed += bool((off > wide).any())
        missed_half += bool((off > wide / 2).any())
    tail = sum(comb(draws, k) * 0.05**k * 0.95 ** (draws - k) for k in range(missed, draws + 1))
    assert tail > ALARM
    tail = sum(comb(draws, k) * 0.05**k * 0.95 ** (draws - k) for k in range(missed_half, draws))
    assert tail < ALARM, "power"


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(Fraction(1000)), DiscreteGaussian(Fraction(10**6))]
)
def test_a_width_by_norms_holds_for_all_weights_of_these_norms(law: Any) -> None:
    """It is no narrower than one by the weights themselves. Of 400,000 draws, at a risk of .01,
    more than .0109 are beyond in one of six cases with a probability below 10^-7."""
    rng = np.random.default_rng(6)
    draw = rng.laplace if isinstance(law, DiscreteLaplace) else rng.normal
    noise = draw(0, 1000, (400_000, 6))
    for weights in ([1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0], [1, 0.9, 0.5, 0.3, 0.2, 0.1]):
        a = np.array(weights, dtype=float)
        norm, most = np.array([np.sqrt(np.square(a).sum())]), np.array([a.max()])
        (found,) = half_widths_of_norms(law, norm, most, 6, 0.01)
        assert (np.abs(noise @ a) > found).mean() < 0.0109
        (tight,) = half_widths_of_weighted(law, a[None, None], 1, 0.01)
        assert tight <= found * (1 + 1e-6) <= 1.7 * tight
