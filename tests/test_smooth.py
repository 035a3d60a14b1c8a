"""Quantiles and trimmed means by smooth sensitivity: smooth on every tiny database, and of the law
that is proven."""

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
from dppandas.ranks import Ranks
from dppandas.smoothing import AtRank, PolyPlace, Target, Trimmed

TOP = 7
VALUES = (0, 2, 3, 7)


def ranks(rows: tuple[int, ...]) -> Ranks:
    values, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
    return Ranks(values, counts.astype(np.int64))


def law(epsilon: str, rows: int, target: Target) -> PolyPlace:
    return PolyPlace.calibrate(Asked(epsilon=Epsilon(epsilon)), rows, target, TOP)


def by_hand(by: PolyPlace, rows: tuple[int, ...]) -> tuple[float, float]:
    """Value and smooth sensitivity, by lists."""
    n, k, gamma, ordered = len(rows), by.rows, float(by.epsilon) / 5, sorted(rows)

    def x(i: int) -> int:
        return 0 if i < 1 else TOP if i > n else ordered[i - 1]

    def moved(i: int) -> float:
        """What one row moves a trimmed mean after i rows were changed."""
        left = n - 2 * cut - i
        return (x(n - cut + 1 + i) - x(cut - i)) / left if left >= 2 else TOP

    steps = range(3 * n + 3)
    if isinstance(by.target, AtRank):
        m = max(1, math.ceil(by.target.share * n))
        value, moves = x(m), [x(m + k * (j + 1)) - x(m - k * (j + 1)) for j in steps]
    else:
        assert isinstance(by.target, Trimmed)
        cut = by.target.trim
        kept = ordered[cut : n - cut]
        value = sum(kept) / len(kept) if kept else TOP / 2
        moves = [min(TOP, sum(moved(k * j + i) for i in range(k))) for j in steps]
    return value, max(math.exp(-gamma * j) * moves[j] for j in steps)


def log_density(z: Any, value: float, smooth: float, epsilon: float) -> Any:
    s = 5 / epsilon * smooth
    return math.log(1.5 / s) - 4 * np.log1p(abs(z - value) / s)


def databases(most: int) -> list[tuple[int, ...]]:
    return [
        rows for n in range(most + 1) for rows in itertools.combinations_with_replacement(VALUES, n)
    ]


#: What is asked, and of how many rows at most.
TARGETS: list[tuple[Target, int]] = [
    *((AtRank(Fraction(q)), 4) for q in ("0", "1/2", "2/3", "1")),
    *((Trimmed(m), 2 * m + 4) for m in (0, 1, 2)),
    (Trimmed(5), 4),
]


@pytest.mark.parametrize(("target", "most"), TARGETS, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "8"])
def test_no_neighbours_of_a_tiny_domain_lose_more_than_epsilon(
    target: Target, most: int, rows: int, epsilon: str
) -> None:
    """All databases of up to four to eight rows of four values, with up to `rows` rows more: the
    sensitivity covers the change, is smooth, and no density is more than e^ε times the other, at
    points from within the bounds to 10^6 times as far."""
    by, e = law(epsilon, rows, target), float(Fraction(epsilon))
    points = np.array([*range(-1, TOP + 2), *(s * 10.0**k for k in range(1, 8) for s in (1, -1))])
    found: dict[tuple[int, ...], Any] = {}
    for one in databases(most + rows):
        f, s = by.smooth(ranks(one))
        assert (f, s) == pytest.approx(by_hand(by, one))
        found[one] = f, s, log_density(points, f, s, e)
    pairs = 0
    for one in databases(most):
        for more in range(1, rows + 1):
            for added in itertools.combinations_with_replacement(VALUES, more):
                (f, s, here), (g, t, there) = found[one], found[tuple(sorted(one + added))]
                assert abs(f - g) <= min(s, t) + 1e-9
                assert abs(math.log(s / t)) <= e / 5 + 1e-9
                assert np.abs(here - there).max() <= e + 1e-9
                pairs += 1
    assert pairs >= 200


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 60, 4000])
def test_a_trimmed_mean_is_that_of_lists_at_every_size(rows: int, n: int) -> None:
    """Also where far rows are left out, for what they add is 0 in floats."""
    rng = np.random.default_rng([rows, n])
    for trim in (0, 1, 20, 10**9):
        for values in (rng.integers(0, TOP + 1, n), np.full(n, 3)):
            by, data = law("4", rows, Trimmed(trim)), tuple(values.tolist())
            assert by.smooth(ranks(data)) == pytest.approx(by_hand(by, data), 1e-9, 1e-300)


def test_no_sum_wraps_around_and_no_unit_is_too_large() -> None:
    """10^11 rows of 2^30; units of 2^31 rows take no memory of that size."""
    many = Ranks(np.array([0, 2**30]), np.array([10**11, 10**11]))
    by = PolyPlace.calibrate(Asked(epsilon=Epsilon(64)), 1, Trimmed(1), 2**30)
    assert by.smooth(many)[0] == 2**29
    by = law("1", 2**31, Trimmed(1))
    assert by.smooth(ranks((1, 2, 2, 2, 3))) == (2, TOP)


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


TRIMMED: dict[str, Any] = {"trim": 2, "bounds": (0, 64), "epsilon": 1}


def test_without_noise_a_trimmed_mean_is_that_of_the_middle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen(monkeypatch, 1, 1.0)
    dp.allow_experimental()
    series = pd.Series([1, 2, 3, None, 10, 20, math.inf, "text", -7], dtype=object)
    for found in (
        series.dp.trimmed_mean(**TRIMMED),
        series.rename("x").to_frame().dp["x"].trimmed_mean(**TRIMMED),
        dp.protect(pd.DataFrame({"x": series}), "d")["x"].trimmed_mean(**TRIMMED),
    ):
        assert found == (2 + 3 + 10) / 3  # of 0 1 2 3 10 20 64
        assert isinstance(found, float)
        assert "trimmed mean (2 rows at each end) of" in str(dp.record(found))
        with pytest.raises(dp.RecordError, match="depends on the rows"):
            found.error()
    for n in (0, 1, 4):
        assert pd.Series([3.0] * n).dp.trimmed_mean(**TRIMMED) == 32
    assert pd.Series([3.0] * 5).dp.trimmed_mean(**{**TRIMMED, "trim": np.int8(2)}) == 3
    assert pd.Series([9]).dp.trimmed_mean(**{**TRIMMED, "bounds": (5, 5)}) == 5
    (entry,) = {(e.mechanism, e.scale) for e in dp.ledger().entries()}
    assert entry == ("smooth sensitivity (experimental)", "5")


def test_what_error_it_will_have_is_not_told() -> None:
    dp.allow_experimental()
    column = pd.Series([1, 2]).dp
    for asked in (
        column.trimmed_mean(trim=2, bounds=(0, 64)),
        column.median(bounds=(0, 64), method="smooth"),
    ):
        with pytest.raises(dp.QueryError, match="depends on the rows"):
            asked.expected_error(epsilon=1)


@pytest.mark.parametrize("rows", [1, 4])
def test_noise_of_a_trimmed_mean_covers_all_rows_of_a_unit(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of noise 1 the answer tells the smooth sensitivity, times 5."""
    frozen(monkeypatch, 1, 0.125)
    dp.allow_experimental()
    frame = pd.DataFrame({"x": np.arange(100.0), "owner": np.arange(100)})
    people = dp.protect(frame, "d", unit="owner", max_rows=rows)
    found = people["x"].trimmed_mean(trim=20, bounds=(0, 1000), epsilon=1)
    by = PolyPlace(Fraction(1), rows, Trimmed(20), 1000)
    value, smooth = by.smooth(ranks(tuple(range(100))))
    assert found == pytest.approx(value + 5 * smooth, abs=1e-4)


WRONG_TRIMS: dict[str, Any] = {
    "none": None, "truth value": True, "share": 0.1, "whole float": 2.0, "negative": -1,
    "text": "2", "too many": 2**31 + 1, "list": [1], "missing": math.nan,
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_TRIMS)
def test_a_trim_that_is_no_number_of_rows_is_refused(name: str) -> None:
    dp.session(epsilon=5)
    dp.allow_experimental()
    column = pd.Series([1, 2]).dp
    with pytest.raises(dp.QueryError, match=r"trim=.*Nothing was computed or charged"):
        column.trimmed_mean(trim=WRONG_TRIMS[name], bounds=(0, 5), epsilon=1)
    assert dp.ledger().entries() == []


@pytest.mark.parametrize(
    "more", [{"bounds": None}, {"mechanism": "gaussian"}, {"rho": 1}, {"epsilon": 9}, {"q": 0.5}]
)
def test_a_trimmed_mean_is_refused_before_anything_is_charged(more: dict[str, Any]) -> None:
    dp.session(epsilon=5, delta=1e-3)
    dp.allow_experimental()
    with pytest.raises(dp.DPError):
        pd.Series([1, 2]).dp.trimmed_mean(**{**TRIMMED, **more})
    assert dp.ledger().entries() == []


def test_frames_and_groups_have_no_trimmed_mean() -> None:
    frame = pd.DataFrame({"x": [1.0], "g": ["a"]})
    for private in (frame.dp, frame.dp[["x"]], frame.dp.groupby("g", keys=["a"])["x"]):
        with pytest.raises(dp.UnsupportedVerb, match="one column at a time"):
            private.trimmed_mean(**TRIMMED)
    assert dp.ledger().entries() == []


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
    with pytest.raises(dp.QueryError, match=r"floats.*allow_experimental"):
        pd.Series([1, 2]).dp.trimmed_mean(**TRIMMED)
    assert dp.ledger().entries() == []
