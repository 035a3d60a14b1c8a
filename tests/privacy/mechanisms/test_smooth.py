"""Quantiles and trimmed means by smooth sensitivity: smooth on every tiny database, and of the law
that is proven."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal
from test_quantiles import ranks

import dppandas as dp
from dppandas.errors import QueryError, RecordError, UnsupportedVerb
from dppandas.privacy.accounting.losses import Epsilon
from dppandas.privacy.accounting.measures import LossRequest
from dppandas.privacy.mechanisms import smooth as smoothing
from dppandas.privacy.mechanisms.ranks import Ranks
from dppandas.privacy.mechanisms.smooth import AtRank, PolyPlace, Target, Trimmed
from dppandas.privacy.sampling import samplers

TOP = 7
VALUES = (0, 2, 3, 7)


def law(epsilon: str, rows: int, target: Target) -> PolyPlace:
    return PolyPlace.calibrate(LossRequest(epsilon=Epsilon(epsilon)), rows, target, TOP)


@cache
def away(a: int, b: int, share: Fraction) -> int:
    """How many rows must change until the target is on the other side of a gap, by looking."""

    def below(a: int, b: int) -> bool:
        return max(1, math.ceil(share * (a + b))) <= a

    around = (
        (far, (a + d, b + side * (far - abs(d))))
        for far in itertools.count(1)
        for d in range(-far, far + 1)
        for side in (-1, 1)
    )
    return next(far for far, at in around if min(at) >= 0 and below(*at) != below(a, b))


def by_hand(by: PolyPlace, rows: tuple[int, ...]) -> tuple[float, float]:
    """Value and smooth sensitivity, by lists."""
    gamma, ordered = float(by.epsilon) / 5, sorted(rows)
    value, moves = (_of_rank if isinstance(by.target, AtRank) else _of_middle)(by, ordered)
    return value, max(math.exp(-gamma * j) * move for j, move in enumerate(moves))


def _of_rank(by: PolyPlace, ordered: list[int]) -> tuple[float, list[float]]:
    assert isinstance(by.target, AtRank)
    x, n, k = _padded(ordered), len(ordered), by.rows
    m = max(1, math.ceil(by.target.share * n))
    gaps = [
        (x(v) - x(u), v - u, v - u + away(u, n - v + 1, by.target.share))
        for u in range(n + 1)
        for v in range(u + 1, n + 2)
    ]
    near = [
        max((w for w, s, all_ in gaps if s <= k * j and all_ <= k * (j + 1)), default=0)
        for j in range(1, smoothing.NEAR // k + 1)[: 3 * n + 3]
    ]
    far = [x(m + k * (j + 2)) - x(m - k * (j + 2)) for j in range(len(near), 3 * n + 4)]
    return x(m), [*near, *far]


def _of_middle(by: PolyPlace, ordered: list[int]) -> tuple[float, list[float]]:
    assert isinstance(by.target, Trimmed)
    x, n, k, cut = _padded(ordered), len(ordered), by.rows, by.target.trim
    kept, left = ordered[cut : n - cut], n - 2 * cut
    shifts = range(max(min(left, smoothing.NEAR), 0))
    sides = ((n - cut + 1, 1), (cut, -1))
    tops, ends = (np.array([x(at + s * t) for t in shifts]) for at, s in sides)
    widths = np.array([(tops[: a + 1] - ends[a::-1]).max() for a in shifts])

    def moved(i: int) -> float:
        """What one row moves a trimmed mean after i rows were changed."""
        if left - i < 2:
            return TOP / 2
        if i >= smoothing.NEAR:
            return (x(n - cut + 1 + i) - x(cut - i)) / (left - i)
        return float((widths[: i + 1] / (left - i + 2 * np.arange(i + 1))).max())

    value = sum(kept) / len(kept) if kept else TOP / 2
    if left < 0:
        return value, [0.0] * min(-left // k, 10**6) + [min(TOP, k * TOP / 2)]
    steps = range(min(n + 2, 2000))
    return value, [min(TOP, sum(moved(k * j + i) for i in range(k))) for j in steps]


def _padded(ordered: list[int]) -> Callable[[int], int]:
    n = len(ordered)
    return lambda i: 0 if i < 1 else TOP if i > n else ordered[i - 1]


def log_density(z: Any, value: float, smooth: float, epsilon: float) -> Any:
    s = 5 / epsilon * smooth
    return math.log(1.5 / s) - 4 * np.log1p(abs(z - value) / s)


def databases(most: int) -> list[tuple[int, ...]]:
    multisets = itertools.combinations_with_replacement
    return [rows for n in range(most + 1) for rows in multisets(VALUES, n)]


#: What is asked, and of how many rows at most.
TARGETS: list[tuple[Target, int]] = [
    *((AtRank(Fraction(q)), 4) for q in ("0", "1/2", "2/3", "1")),
    *((Trimmed(m), 2 * m + 4) for m in (0, 1, 2)),
    (Trimmed(5), 4),
]


@pytest.mark.parametrize(("target", "most"), TARGETS, ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "8"])
def test_neighbours_lose_at_most_epsilon(target: Any, most: int, rows: int, epsilon: str) -> None:
    """All databases of up to four to eight rows of four values, with up to `rows` rows more: the
    sensitivity covers the change, is smooth, and no density is more than e^ε times the other, at
    points from within the bounds to 10^6 times as far."""
    none_lose_more(target, most, rows, epsilon)


@pytest.mark.parametrize("target", [AtRank(Fraction(1, 2)), AtRank(Fraction(2, 3)), Trimmed(1)])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("near", [0, 1, 3])
def test_nor_do_they_where_wider_bounds_begin_earlier(
    target: Any, rows: int, near: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(smoothing, "NEAR", near)
    none_lose_more(target, 4, rows, "1")


def none_lose_more(target: Target, most: int, rows: int, epsilon: str) -> None:
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


def true_smooth(target: Target, gamma: float, most: int) -> dict[tuple[int, ...], float]:
    """Of all databases of up to `most` rows of three values, the smooth sensitivity where a unit is
    one row: how far each neighbour's answer is, and what neighbours have falls off by e^-γ."""
    rows = [c for c in itertools.product(range(most + 1), repeat=3) if sum(c) <= most]
    data = {
        c: tuple(v for v, k in zip((0, 3, TOP), c, strict=True) for _ in range(k)) for c in rows
    }
    values = {c: law("1", 1, target).smooth(ranks(data[c]))[0] for c in rows}
    beside = {
        c: [d for i in range(3) for s in (1, -1)
            if (d := (*c[:i], c[i] + s, *c[i + 1 :])) in values]
        for c in rows
    }  # fmt: skip
    found = {c: max(abs(values[c] - values[d]) for d in beside[c]) for c in rows}
    for _ in range(2 * most):
        found = {c: max(found[c], *(found[d] * math.exp(-gamma) for d in beside[c])) for c in rows}
    return {data[c]: found[c] for c in rows}


@pytest.mark.parametrize("share", ["0", "1/5", "1/2", "2/3", "1"])
def test_of_a_quantile_it_is_the_smooth_sensitivity_itself(share: str) -> None:
    """Not a bound of it: brute force over all databases, of up to 14 rows to judge those of 7."""
    by = law("2", 1, AtRank(Fraction(share)))
    for data, true in true_smooth(by.target, 0.4, 14).items():
        if len(data) <= 7:
            assert by.smooth(ranks(data))[1] == pytest.approx(true)


@pytest.mark.parametrize(("trim", "most"), [(0, 1.2), (1, 1.2), (2, 1.25)])
def test_of_a_trimmed_mean_it_is_not_far_above_it(trim: int, most: float) -> None:
    """By the mean over all databases of up to 7 rows. It was two to three times as large."""
    by = law("1", 1, Trimmed(trim))
    ratios = [
        by.smooth(ranks(data))[1] / true
        for data, true in true_smooth(by.target, 0.2, 13).items()
        if len(data) <= 7
    ]
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) < most


def test_quantiles_with_large_denominators_have_exact_places() -> None:
    """A third in 16 digits: numbers beyond 64 bits, for the same sensitivity."""
    data = ranks(tuple(range(8)) * 40)
    near, exact = (law("1", 1, AtRank(Fraction(q))) for q in ("0.3333333333333333", "1/3"))
    assert near.smooth(data) == pytest.approx(exact.smooth(data))


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 60, 1500])
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
    by = PolyPlace.calibrate(LossRequest(epsilon=Epsilon(64)), 1, Trimmed(1), 2**30)
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
    monkeypatch.setattr(samplers, "signed_share", lambda: (sign, share))


def test_without_noise_it_is_the_value_of_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen(monkeypatch, 1, 1.0)
    dp.session(experimental=True)
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 100):
        series = pd.Series(rng.integers(0, 64, n))
        for q in (0.25, 0.5, 0.9):
            found = series.dp.quantile(q, bounds=(0, 64), method="smooth", epsilon=1)
            assert found == sorted(series)[max(1, math.ceil(Fraction(str(q)) * n)) - 1]
            assert isinstance(found, float)
    assert pd.Series([], dtype=float).dp.median(bounds=(0, 64), method="smooth", epsilon=1) == 64
    assert pd.Series([9]).dp.median(bounds=(5, 5), method="smooth", epsilon=1) == 5


@pytest.mark.parametrize(("sign", "end"), [(1, 64), (-1, 0)])
def test_answers_stay_within_the_bounds(monkeypatch: Any, sign: int, end: int) -> None:
    frozen(monkeypatch, sign, 2.0**-201)
    dp.session(experimental=True)
    series = pd.Series([1, 2, 3, 50, None, math.inf])
    found = series.dp.median(bounds=(0, 64), method="smooth", epsilon=1)
    assert found == end
    for ask in (found.error, found.interval):
        refusal(ask, "depends on the rows", RecordError)
    assert "smooth median" in str(dp.record(found))
    (entry,) = dp.ledger()._entries()
    assert (entry.mechanism, entry.scale) == ("smooth sensitivity (experimental)", "5")


TRIMMED: dict[str, Any] = {"trim": 2, "bounds": (0, 64), "epsilon": 1}


def test_without_noise_a_trimmed_mean_is_that_of_the_middle(monkeypatch: Any) -> None:
    frozen(monkeypatch, 1, 1.0)
    dp.session(experimental=True)
    series = pd.Series([1, 2, 3, None, 10, 20, math.inf, "text", -7], dtype=object)
    by_cell = {"x": "unknown"}
    for found in (
        dp.private(series, kinds="unknown").trimmed_mean(**TRIMMED),
        dp.private(series.rename("x").to_frame(), kinds=by_cell)["x"].trimmed_mean(**TRIMMED),
        dp.protect(pd.DataFrame({"x": series}), "d", kinds=by_cell)["x"].trimmed_mean(**TRIMMED),
    ):
        assert found == (2 + 3 + 10) / 3  # of 0 1 2 3 10 20 64
        assert isinstance(found, float)
        assert "trimmed mean (2 rows at each end) of" in str(dp.record(found))
        with pytest.raises(RecordError, match="depends on the rows"):
            found.error()
    for n in (0, 1, 4):
        assert pd.Series([3.0] * n, dtype=float).dp.trimmed_mean(**TRIMMED) == 32
    assert pd.Series([3.0] * 5).dp.trimmed_mean(**{**TRIMMED, "trim": np.int8(2)}) == 3
    assert pd.Series([9]).dp.trimmed_mean(**{**TRIMMED, "bounds": (5, 5)}) == 5
    (entry,) = {(e.mechanism, e.scale) for e in dp.ledger()._entries()}
    assert entry == ("smooth sensitivity (experimental)", "5")


def test_what_error_it_will_have_is_not_told() -> None:
    dp.session(experimental=True)
    column = pd.Series([1, 2]).dp
    for asked in (
        column.trimmed_mean(trim=2, bounds=(0, 64)),
        column.median(bounds=(0, 64), method="smooth"),
    ):
        with pytest.raises(QueryError, match="depends on the rows"):
            asked.expected_error(epsilon=1)


@pytest.mark.parametrize("rows", [1, 4])
def test_noise_of_a_trimmed_mean_covers_all_rows_of_a_unit(rows: int, monkeypatch: Any) -> None:
    """Of noise 1 the answer tells the smooth sensitivity, times 5."""
    frozen(monkeypatch, 1, 0.125)
    dp.session(experimental=True)
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
    dp.session(experimental=True)
    column = pd.Series([1, 2]).dp
    with pytest.raises(QueryError, match=r"trim=.*Nothing was computed or charged"):
        column.trimmed_mean(trim=WRONG_TRIMS[name], bounds=(0, 5), epsilon=1)
    assert dp.ledger()._entries() == []


@pytest.mark.parametrize(
    "more", [{"bounds": None}, {"mechanism": "gaussian"}, {"rho": 1}, {"epsilon": 9}, {"q": 0.5}]
)
def test_a_trimmed_mean_is_refused_before_anything_is_charged(more: dict[str, Any]) -> None:
    dp.session(epsilon=5, delta=1e-3)
    dp.session(experimental=True)
    refusal(lambda: pd.Series([1, 2]).dp.trimmed_mean(**{**TRIMMED, **more}), error=dp.DPError)


def test_frames_and_groups_have_no_trimmed_mean() -> None:
    frame = pd.DataFrame({"x": [1.0], "g": ["a"]})
    for private in (frame.dp, frame.dp[["x"]], frame.dp.groupby("g", keys=["a"])["x"]):
        with pytest.raises(UnsupportedVerb, match="one column at a time"):
            private.trimmed_mean(**TRIMMED)
    assert dp.ledger()._entries() == []


REFUSED: dict[str, dict[str, Any]] = {
    "several": {"q": [0.5], "method": "smooth"}, "another method": {"method": "laplace"},
    "no method": {"method": None}, "no bounds": {"method": "smooth", "bounds": None},
    "Gaussian": {"method": "smooth", "mechanism": "gaussian"},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_before_anything_is_charged(name: str) -> None:
    dp.session(epsilon=5, delta=1e-3)
    dp.session(experimental=True)
    with pytest.raises(QueryError):
        pd.Series([1, 2]).dp.quantile(**{"bounds": (0, 5), "epsilon": 1, **REFUSED[name]})
    assert dp.ledger()._entries() == []


@pytest.mark.parametrize(("name", "bound"), [("max", "upper"), ("min", "lower")])
def test_an_extreme_is_refused_with_the_reason(name: str, bound: str) -> None:
    """All tables of up to four numbers of 0 to 4: adding a row moves the largest by 4 less it."""
    dp.session(epsilon=1, experimental=True)
    column = pd.Series([1.0, 2.0]).dp
    refusal(
        lambda: getattr(column, name)(bounds=(0, 4), method="smooth", epsilon=1),
        f"one row at the {bound} bound moves it there.*quantile",
    )
    for rows in range(1, 5):
        for table in itertools.combinations_with_replacement(range(5), rows):
            local = max(abs(max(*table, more) - max(table)) for more in range(5))
            assert local >= 4 - max(table)


def test_it_must_be_allowed() -> None:
    with pytest.raises(QueryError, match=r"floats.*experimental=True"):
        pd.Series([1, 2]).dp.median(bounds=(0, 5), method="smooth", epsilon=1)
    refusal(lambda: pd.Series([1, 2]).dp.trimmed_mean(**TRIMMED), r"floats.*experimental=True")
    assert dp.ledger()._entries() == []
