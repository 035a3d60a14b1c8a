"""Quantiles by smooth sensitivity: smooth on every tiny database, and of the law that is proven."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dppandas as dp
from dppandas import sampling, smoothing
from dppandas.accounting import Asked
from dppandas.budget import Epsilon
from dppandas.selection import Ranks
from dppandas.smoothing import PolyPlace

TOP = 7
VALUES = (0, 2, 3, 7)


def ranks(rows: tuple[int, ...]) -> Ranks:
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Ranks(values, counts.astype(np.int64))


def law(epsilon: str, rows: int = 1, share: Fraction = Fraction(1, 2)) -> PolyPlace:
    return PolyPlace.calibrate(Asked(epsilon=Epsilon(epsilon)), rows, share, TOP)


def by_hand(by: PolyPlace, rows: tuple[int, ...]) -> tuple[int, float]:
    """Value and smooth sensitivity, by lists."""
    n = len(rows)
    m = max(1, math.ceil(by.share * n))

    def x(i: int) -> int:
        return 0 if i < 1 else TOP if i > n else sorted(rows)[i - 1]

    gamma = float(by.epsilon) / 5
    reaches = ((j, by.rows * (j + 1)) for j in range(3 * n + 3))
    return x(m), max(math.exp(-gamma * j) * (x(m + r) - x(m - r)) for j, r in reaches)


def log_density(z: float, value: int, smooth: float, epsilon: float) -> float:
    s = 5 / epsilon * smooth
    return math.log(1.5 / s) - 4 * math.log1p(abs(z - value) / s)


DATABASES = [rows for n in range(5) for rows in itertools.combinations_with_replacement(VALUES, n)]


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "8"])
def test_no_neighbours_of_a_tiny_domain_lose_more_than_epsilon(
    share: Fraction, rows: int, epsilon: str
) -> None:
    """All databases of up to four rows of four values, with up to `rows` rows more: the sensitivity
    covers the change, is smooth, and no density is more than e^ε times the other, at points from
    within the bounds to 10^6 times as far."""
    by, e = law(epsilon, rows, share), float(Fraction(epsilon))
    points = [*range(-1, TOP + 2), *(s * 10.0**k for k in range(1, 8) for s in (1, -1))]
    found = {}
    for more in range(rows + 1):
        for one in DATABASES:
            for added in itertools.combinations_with_replacement(VALUES, more):
                other = tuple(sorted(one + added))
                for each in (one, other):
                    if each not in found:
                        found[each] = by.smooth(ranks(each))
                        assert found[each] == pytest.approx(by_hand(by, each))
                (f, s), (g, t) = found[one], found[other]
                assert abs(f - g) <= min(s, t) + 1e-9
                assert abs(math.log(s / t)) <= e / 5 + 1e-9
                for z in points:
                    assert abs(log_density(z, f, s, e) - log_density(z, g, t, e)) <= e + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 5, 60])
def test_the_exponent_is_four_and_with_five_the_worst_loss_would_be_more(epsilon: float) -> None:
    """Sensitivities e^γ apart and values one sensitivity apart, which smoothness allows: at the
    value itself the loss is γ + α ln(1 + γ e^-γ), at most γ + αγ."""
    gamma = epsilon / 5
    assert gamma + 4 * math.log1p(gamma * math.exp(-gamma)) <= epsilon
    if epsilon <= 0.5:
        assert gamma + 5 * math.log1p(gamma * math.exp(-gamma)) > 1.06 * epsilon


@pytest.mark.statistical
def test_noise_has_its_law() -> None:
    """20,000 draws: for each of eight thresholds the share beyond it, and of positive ones, within
    5.5 standard deviations: false alarms 4e-8 each, 4e-7 in all. Power: an exponent of 3 in the
    place of 4 moves P[|Z| > 1] from 1/8 to 1/4, 50 standard deviations."""
    draws = np.array([smoothing.noise() for _ in range(20_000)])
    cases = [(np.abs(draws) > t, (1 + t) ** -3) for t in (0.01, 0.1, 0.3, 1, 2, 4, 8)]
    for hits, p in [*cases, (draws > 0, 0.5)]:
        assert abs(hits.sum() - 20_000 * p) < 5.5 * math.sqrt(20_000 * p * (1 - p))


def frozen(monkeypatch: pytest.MonkeyPatch, sign: int, share: float) -> None:
    monkeypatch.setattr(sampling, "signed_share", lambda: (sign, share))


def test_without_noise_it_is_the_value_of_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen(monkeypatch, 1, 1.0)
    dp.allow_experimental()
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 100):
        series = pd.Series(rng.integers(0, 64, n))
        for q in (0.25, 0.5, 0.9):
            found = series.dp.quantile(q, bounds=(0, 64), method="smooth", epsilon=1)
            assert found == sorted(series)[max(1, math.ceil(Fraction(str(q)) * n)) - 1]
            assert isinstance(found, float)
    empty = pd.Series([], dtype=float).dp.median(bounds=(0, 64), method="smooth", epsilon=1)
    assert empty == 64
    assert pd.Series([9]).dp.median(bounds=(5, 5), method="smooth", epsilon=1) == 5


@pytest.mark.parametrize(("sign", "end"), [(1, 64), (-1, 0)])
def test_answers_stay_within_the_bounds(
    monkeypatch: pytest.MonkeyPatch, sign: int, end: int
) -> None:
    frozen(monkeypatch, sign, 2.0**-201)
    dp.allow_experimental()
    series = pd.Series([1, 2, 3, 50, None, math.inf])
    found = series.dp.median(bounds=(0, 64), method="smooth", epsilon=1)
    assert found == end
    for ask in (found.error, found.interval):
        with pytest.raises(dp.RecordError, match="depends on the rows"):
            ask()
    assert "smooth median" in str(dp.record(found))
    (entry,) = dp.ledger().entries()
    assert (entry.mechanism, entry.scale) == ("smooth sensitivity (experimental)", "5")


REFUSED: dict[str, dict[str, Any]] = {
    "several": {"q": [0.5], "method": "smooth"},
    "another method": {"method": "laplace"},
    "no method": {"method": None},
    "no bounds": {"method": "smooth", "bounds": None},
    "Gaussian": {"method": "smooth", "mechanism": "gaussian"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_before_anything_is_charged(name: str) -> None:
    dp.session(epsilon=5, delta=1e-3)
    dp.allow_experimental()
    with pytest.raises(dp.QueryError):
        pd.Series([1, 2]).dp.quantile(**{"bounds": (0, 5), "epsilon": 1, **REFUSED[name]})
    assert dp.ledger().entries() == []


def test_it_must_be_allowed() -> None:
    with pytest.raises(dp.QueryError, match=r"floats.*allow_experimental"):
        pd.Series([1, 2]).dp.median(bounds=(0, 5), method="smooth", epsilon=1)
    assert dp.ledger().entries() == []
