"""Covariances and correlations: shares by hand, pandas without noise, boxes, accuracy, refusals."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notes import noted
from operations import integers, statuses
from refusals import refusal

import dppandas as dp
from dppandas.privacy.accuracy.combined import CombinedNoise
from dppandas.privacy.accuracy.weighted_sums import Within, half_widths_of_weighted
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace
from dppandas.release.answers import results
from dppandas.rows.expressions import Column
from dppandas.rows.facts.bounds import Bounds
from dppandas.statistics import Cells, Covariance, Layout, SecondMoments, Variance
from dppandas.statistics.moments import covariance_tables, fieller
from dppandas.statistics.moments.covariance import _design, _split, _triples, cover
from dppandas.statistics.moments.covariance_tables import STEP, WHOLE

GOLDEN = Path(__file__).parents[2] / "golden"
SHARES = st.lists(st.integers(0, WHOLE), min_size=3, max_size=3).map(sorted)


def _parts(cuts: list[int]) -> list[np.ndarray[Any, Any]]:
    return [np.array([b - a]) for a, b in itertools.pairwise([0, *cuts, WHOLE])]


@given(st.integers(0, WHOLE), SHARES)
def test_a_part_is_shared_out_without_rest(part: int, cuts: list[int]) -> None:
    pieces = _split(np.array([[part]]), np.array(cuts)[:, None])[:, 0].tolist()
    assert sum(pieces) == part
    assert min(pieces) >= 0
    for piece, share in zip(pieces, _parts(cuts), strict=True):
        assert abs(piece - Fraction(part * int(share[0]), WHOLE)) <= 1


@pytest.mark.parametrize("columns", range(1, 13))
def test_each_two_columns_meet_in_a_block(columns: int) -> None:
    blocks = cover(columns)
    met = {pair for block in blocks for pair in itertools.combinations(block, 2)}
    assert met == set(itertools.combinations(range(columns), 2))
    assert len({len(block) for block in blocks}) == 1
    assert len(blocks) * 2 ** len(blocks[0]) <= max(1, columns * (columns - 1) // 2) * 4


@pytest.mark.parametrize("columns", [3, 8, 20])
def test_triples_are_chosen_one_after_the_other(columns: int) -> None:
    """One that takes three pairs which are in no block, while there is any; then two; then one."""
    left = set(itertools.combinations(range(columns), 2))
    chosen = []
    for worth in (3, 2, 1):
        for triple in itertools.combinations(range(columns), 3):
            pairs = set(itertools.combinations(triple, 2))
            if len(left & pairs) >= worth:
                chosen.append(triple)
                left -= pairs
    assert _triples(columns) == tuple(chosen)


VALUES = [-1e9, 0.0, 7.0, 29.99, 60.0, np.inf, np.nan]


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_one_row_moves_the_sums_by_at_most_the_sensitivity(columns: int) -> None:
    rng = np.random.default_rng(columns)
    for _ in range(60):
        row = rng.choice(VALUES, columns)
        frame = pd.DataFrame([row], columns=list("abcde")[:columns])
        for asked in (frame.dp.cov(bounds=(0, 60)), frame.dp.corr(bounds=(0, 60))):
            found = integers(asked, asked._table.engine)
            assert min(found) >= 0
            assert sum(found) <= asked._statistic.l1
            assert max(found) <= asked._statistic.linf
            if not np.isnan(row).any():
                assert sum(found) == asked._statistic.l1
            if np.isnan(row).all():
                assert not any(found)


def _by_hand(row: list[float], of: Covariance) -> list[int]:
    """What a row adds, by the formulas of the proof, in Python's integers."""
    shares = []
    for value, bounds in zip(row, of.bounds, strict=True):
        grid, missing = bounds.grid, np.isnan(value)
        t = 0 if missing else int(grid.integers(np.array([value]))[0])
        t = (t * WHOLE + grid.high // 2) // (grid.high or 1)
        ends = (WHOLE - t, t)
        low, high = ends if of.nodes == 2 else ((x * x + WHOLE // 2) // WHOLE for x in ends)
        each = [low, high] if of.nodes == 2 else [low, WHOLE - low - high, high]
        gap = [WHOLE * missing] * of.gaps
        shares.append([0 if missing else share for share in each] + gap)
    if not of.gaps and np.isnan(row).any():
        return [0] * of.states_of_all
    found = []
    for block in of.blocks:
        parts = [WHOLE]
        for column in block:
            cuts = list(itertools.accumulate(shares[column], initial=0))
            ends_of = ([(p * c + WHOLE // 2) // WHOLE for c in cuts] for p in parts)
            parts = [b - a for ends in ends_of for a, b in itertools.pairwise(ends)]
        found += [*parts[:-1], 0] if of.gaps else parts
    return found


CELL = st.sampled_from([*VALUES, 0.3, 20.0, 59.999999]) | st.floats(-1, 61)


@given(st.data(), st.integers(1, 6), st.booleans(), st.booleans(), st.sampled_from([1, 3, 2**13]))
def test_the_integers_are_those_that_are_found_by_hand(
    data: Any, columns: int, dropna: bool, correlation: bool, size: int
) -> None:
    """To the last one: of rows with and without gaps, filtered, by group, in slices of any size."""
    rows = data.draw(st.lists(st.lists(CELL, min_size=columns, max_size=columns), max_size=7))
    beside = st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))
    frame = pd.DataFrame(rows, columns=list("abcdef")[:columns], dtype=float)
    frame["kept"], frame["group"] = data.draw(beside), data.draw(beside)
    names = list(frame)[:columns]
    method = "corr" if correlation else "cov"
    all_rows, kept = frame.dp, frame.dp[frame.dp["kept"] > 0]
    said: dict[str, Any] = {"bounds": (0, 60), "dropna": dropna}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covariance_tables, "ROWS", size)
        for by in (False, True)[: 1 + (columns > 1)]:
            for given in (all_rows, kept):
                of = given.groupby("group", keys=[0, 2])[names] if by else given[names]
                one = getattr(of, method)(**said)
                groups = [frame["group"] == key for key in (0, 2)] if by else [frame["group"] >= 0]
                wanted = []
                for group in groups:
                    here = frame[group & ((frame["kept"] > 0) | (given is all_rows))]
                    each = [_by_hand(row, one._statistic) for row in here[names].values.tolist()]
                    none = [0] * one._statistic.states_of_all
                    wanted += [sum(column) for column in zip(none, *each, strict=True)]
                assert integers(one, one._table.engine) == wanted


def test_the_largest_integers_are_added_up_exactly() -> None:
    """All of 2^30 in one place, in many rows; halves, of which products are rounded."""
    frame = pd.DataFrame({name: np.repeat([60.0, 30.0], [300_000, 5]) for name in "abc"})
    asked = frame.dp.corr(bounds=(0, 60))
    one = [_by_hand([value] * 3, asked._statistic) for value in (60.0, 30.0)]
    wanted = [300_000 * a + 5 * b for a, b in zip(*one, strict=True)]
    assert integers(asked, asked._table.engine) == wanted
    made = asked._statistic
    vector = SecondMoments(made.cells, made.layout, made.operands, made.bounds)
    x = [WHOLE, WHOLE, WHOLE, WHOLE]
    middle = [WHOLE, 0, 0, 0]
    pairs = [itertools.combinations_with_replacement(each, 2) for each in (x, middle)]
    sums = zip(*([a * b // WHOLE for a, b in each] for each in pairs), strict=True)
    assert _exact(asked, vector) == [300_000 * a + 5 * b for a, b in sums]


def survey(rows: int = 600, missing: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    base = rng.random((rows, 5))
    base[:, 1] = 0.6 * base[:, 0] + 0.4 * base[:, 1]
    base[:, 3] = 1 - 0.5 * base[:, 2] - 0.3 * base[:, 3]
    frame = pd.DataFrame(base * [1, 2, 60, 1, 5], columns=list("abcde"))
    return frame.mask(rng.random(frame.shape) < missing)


LIMITS = {"a": (0, 1), "b": (0, 2), "c": (0, 60), "d": (0, 1), "e": (0, 5)}


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ddof", [0, 1, 3])
def test_without_noise_it_is_what_pandas_says(columns: int, ddof: int, exact: None) -> None:
    # pandas takes ddof for 1 where a value is missing
    frame = survey(missing=0.1 if ddof == 1 else 0.0)[list("abcde")[:columns]]
    asked = frame.dp[list(frame)]
    found = asked.cov(ddof=ddof, bounds=LIMITS, epsilon=1)
    pd.testing.assert_frame_equal(found, frame.cov(ddof=ddof), rtol=1e-6, atol=1e-7)
    found = asked.corr(bounds=LIMITS, epsilon=1)
    pd.testing.assert_frame_equal(found, frame.corr(), rtol=1e-6, atol=1e-7)


def test_two_columns_give_a_number(exact: None) -> None:
    frame = survey()
    c = frame.dp
    a, e = c["a"], c["e"]
    assert a.cov(e, bounds=LIMITS, epsilon=1) == pytest.approx(frame["a"].cov(frame["e"]), abs=1e-7)
    found = a.corr(c["b"], bounds=LIMITS, epsilon=1)
    assert found == pytest.approx(frame["a"].corr(frame["b"]), rel=1e-6)
    assert type(found) is results.ReleasedFloat
    low, high = found.interval()
    assert low <= found <= high


def test_of_nothing_and_of_one_row_there_are_numbers(exact: None) -> None:
    for rows in ([], [(1.0, 2.0)], [(np.nan, 2.0)], [(3.0, 3.0)] * 4):
        frame = pd.DataFrame(rows, columns=["a", "b"], dtype="float64")
        found = frame.dp.cov(bounds=(0, 4), epsilon=1)
        assert np.isfinite(found.to_numpy()).all()
        assert found.loc["a", "b"] == 0
        assert (np.diag(frame.dp.corr(bounds=(0, 4), epsilon=1)) == 1).all()
        assert np.isfinite(dp.record(found).intervals().to_numpy()).all()
    same = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]}).dp
    assert same.cov(bounds={"a": (1, 1), "b": (0, 4)}, epsilon=1).loc["a"].tolist() == [0, 0]


# intervals

MASSES = st.lists(st.integers(0, 8), min_size=9, max_size=9)
NOISES = st.lists(st.integers(-3, 3), min_size=9, max_size=9)


def of_masses(masses: list[int]) -> fieller.NoisySums:
    """At three nodes of either column, one integer each."""
    return fieller.NoisySums(tuple(masses), _design(3, 2), 1, 1)


def seen(*sums: fieller.NoisySums, law: Any, risk: float = 1.0) -> fieller.Seen:
    return fieller.Seen(fieller.PairSums(sums), law, risk)


def _of(masses: list[int]) -> tuple[Fraction, Fraction, Fraction]:
    """Variances and covariance by hand, of which the nodes' u² are shares of the last."""
    n, at = sum(masses), list(itertools.product(range(3), repeat=2))

    def mean(f: Any) -> Fraction:
        return sum((f(a, b) * m for (a, b), m in zip(at, masses, strict=True)), Fraction(0)) / n

    u, v = (mean(lambda a, b, k=k: Fraction((a, b)[k], 2)) for k in (0, 1))
    uu, vv = (mean(lambda a, b, k=k: Fraction((a, b)[k] == 2)) for k in (0, 1))
    return uu - u * u, vv - v * v, mean(lambda a, b: Fraction(a * b, 4)) - u * v


@given(MASSES, NOISES, st.sampled_from([0, 1, 2]))
def test_what_noise_allows_lies_in_the_interval(masses: Any, noises: list[int], ddof: int) -> None:
    """Where no noise is beyond ±w all that is claimed follows by algebra, whatever the rows are."""
    n = sum(masses)
    if n <= ddof:
        return
    s, t, c = _of(masses)
    noisy = of_masses([m + z for m, z in zip(masses, noises, strict=True)])
    law, freed = Within(max(map(abs, noises))), Fraction(n, n - ddof)
    low, high = seen(noisy, law=law).covariance(ddof)
    assert low <= c * freed <= high
    if s >= 0 <= t:  # of real rows, for u² is no less than the square of the mean
        low, high = seen(noisy, law=law).variance(ddof)
        assert low <= s * freed <= high
        swapped = [fieller.NoisySums(noisy.found, _swapped(k), 1, 1) for k in (0, 1)]
        sides = [seen(sums, law=law).side(fieller.U) for sums in swapped]
        low, high = seen(noisy, law=law).covariance(ddof, sides)
        assert low <= c * freed <= high
    if s > 0 < t and c * c <= s * t:
        for known in ([], sides):
            low, high = seen(noisy, law=law).correlation(known)
            assert low <= float(c) / float(s * t) ** 0.5 <= high


@given(MASSES, NOISES, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_products_of_errors_and_weights_lie_between_their_ends(
    masses: Any, noises: Any, low: Any, high: Any, at: Any
) -> None:
    """What noise does to both means, and what a mean anywhere in a range makes of the weights."""
    noisy = of_masses([m + z for m, z in zip(masses, noises, strict=True)])
    exact, law = of_masses(masses), Within(max(map(abs, noises)))
    if exact.rows > 0 < noisy.rows:
        p, q = exact.mean(), exact.mean(fieller.V)
        off = float((noisy.mean() - p) * (noisy.mean(fieller.V) - q))
        known = [(np.array([float(x)]),) * 2 for x in (p, q)]
        ends = seen(noisy, law=law).errors(*known)
        assert ends[0] - 1e-9 <= off <= ends[1] + 1e-9
    region = fieller.Region(fieller.PairSums([exact]), Within(1), 1.0)
    ends = np.array([min(low, high)]), np.array([max(low, high)])
    inside = ends[0] + at * (ends[1] - ends[0])
    squared = partial(fieller._squared, region.design, fieller.U)
    widest = region.noise(squared(*fieller._triangle(ends)))
    assert region.noise(squared(inside, inside**2)[:, None]) <= widest + 1e-9


def _masses(rows: list[tuple[int, int]]) -> list[int]:
    """What rows with values in quarters share out, 256 times, rounded to whole numbers of rows."""
    shares = [[(4 - k) ** 2, 2 * k * (4 - k), k**2] for k in range(5)]
    at = itertools.product(range(3), repeat=2)
    return [round(sum(shares[u][a] * shares[v][b] for u, v in rows) / 256) for a, b in at]


def _swapped(which: int) -> Any:
    """The design of a pair, looked at from its first or its second column."""
    order = [0, 2, 1, 5, 4, 3] if which else range(6)
    return tuple(tuple(row[k] for k in order) for row in _design(3, 2))


def law_of(law: Any, weights: list[int]) -> dict[int, float]:
    """The exact law of a weighted sum of noises, cut where they are all but impossible."""
    at, is_laplace = range(-40, 41), isinstance(law, DiscreteLaplace)
    over = float(law.scale) if is_laplace else 2 * float(law.sigma2)
    one = {z: float(np.exp(-(abs(z) if is_laplace else z * z) / over)) for z in at}
    whole, found = sum(one.values()), {0: 1.0}
    for weight in weights:
        after: dict[int, float] = {}
        for (x, p), (z, q) in itertools.product(found.items(), one.items()):
            after[x + weight * z] = after.get(x + weight * z, 0.0) + p * q / whole
        found = after
    return found


SMALL = [DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(1, 2)),
         DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(1, 4))]  # fmt: skip


@pytest.mark.parametrize("law", SMALL, ids=str)
@pytest.mark.parametrize("terms", [1, 3])
def test_weighted_sums_of_noises_are_within_their_bound_by_exact_laws(law: Any, terms: int) -> None:
    """For each of some weights, and for those between two corners: by exact laws, so that there is
    no false alarm."""
    for corners in ([[1]], [[3, -1]], [[1, 2], [3, -2]], [[0, 4], [2, 2]]):
        for risk in (0.3, 0.05, 1e-4):
            w = half_widths_of_weighted(law, np.array([corners], dtype=float), terms, risk)[0]
            middle = (np.array(corners[0]) + np.array(corners[-1])) // 2
            for weights in [*corners, middle.tolist()]:
                exact = law_of(law, weights * terms)
                assert sum(p for x, p in exact.items() if abs(x) > w + 1e-9) <= risk


def test_bounds_of_wide_noise_are_near_the_least() -> None:
    """0.1 % above that of the normal law, and for Laplace noise no more than 4 % above it where
    there are many terms."""
    normal = 1.959963985 * 10**9 * 5
    corners = np.array([[[3.0, 4.0]]])
    gaussian = DiscreteGaussian(Fraction(10**18))
    assert normal <= half_widths_of_weighted(gaussian, corners, 1, 0.05)[0] <= 1.001 * normal
    alone = CombinedNoise.of([gaussian], False, 1)
    assert half_widths_of_weighted(alone, corners, 1, 0.05) >= normal
    laplace = DiscreteLaplace(Fraction(10**9))
    sure = half_widths_of_weighted(laplace, corners, 200, 0.05)[0]
    assert normal * 20 <= sure <= 1.15 * normal * 20
    both = CombinedNoise.of([laplace, gaussian], False, 1)
    joined = half_widths_of_weighted(both, corners, 1, 0.05)[0]
    assert joined < half_widths_of_weighted(laplace, corners, 1, 0.05)[0] < 3 * normal


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("dropna", [False, True])
@pytest.mark.parametrize("what", ["cov", "corr"])
def test_each_sum_has_as_many_noises_as_it_says(columns: int, dropna: bool, what: str) -> None:
    asked = getattr(survey().dp[list("abcde")[:columns]], what)(bounds=LIMITS, dropna=dropna)
    block = asked._statistic
    said = block.operands, block.bounds, block.ddof, block.correlation
    for statistic in (block, SecondMoments(block.cells, block.layout, *said)):
        for i, j in itertools.combinations_with_replacement(range(columns), 2):
            zeros = statistic.sums([0] * statistic.size, i, j)
            each: list[list[int]] = [[] for _ in zeros.found]
            for place in range(statistic.size):  # what each integer adds
                one = statistic.sums([int(k == place) for k in range(statistic.size)], i, j)
                hit = [k for k, x in enumerate(one.found) if x]
                assert len(hit) <= 1, "sums have no noise in common"
                for k in hit:
                    each[k].append(one.found[k])
            assert each == [[1] * zeros.terms] * len(each)


@pytest.mark.statistical
@pytest.mark.parametrize(("columns", "rows", "gaussian", "dropna"), [
    (2, 1000, False, False), (4, 1000, False, False), (8, 10_000, False, True),
    (4, 1000, True, False), (8, 1000, True, True),
])  # fmt: skip
def test_intervals_of_a_table_are_as_wide_as_its_errors_ask_for(
    columns: int, rows: int, gaussian: bool, dropna: bool
) -> None:
    """Half-widths of at most 3 × 1.96 root mean squares; over all entries they were measured as
    1.4 to 2.1 × (docs/proofs/covariances.md), with 60 draws off by some 2 %."""
    frame = pd.DataFrame(np.random.default_rng(1).random((rows, columns)))
    asked = frame.dp.cov(bounds=(0, 1), dropna=dropna)
    loss = {"rho": 0.5} if gaussian else {"epsilon": 1}
    if gaussian:
        dp.session(rho=99, delta=1e-6)
    record = dp.record(asked.release(**loss))
    statistic, law = record._statistic, record._law
    exact = _exact(asked, statistic)
    truth = np.array(statistic.estimate(exact))
    answers = [np.array(statistic.estimate(law.release(exact))) for _ in range(60)]
    off = np.sqrt(np.mean([(each - truth) ** 2 for each in answers]))
    widths = np.subtract(*np.array(statistic.errors.intervals_at(record._noisy, law, 0.95)).T[::-1])
    assert 0.8 < widths.mean() / 2 / (1.96 * off) < 3


def _exact(asked: Any, statistic: Any) -> list[int]:
    """The integers that the noise of a release was added to."""
    again = type(asked)(replace(asked._request, statistic=statistic))
    return [int(x) for x in integers(again, again._table.engine)]


ENDS = [(0, 1), (-5, 10), (0.1, 0.3), (0, 2.0**200), (17, 45)]


def test_intervals_are_hardly_ever_wider_than_before_ratios_were_inverted() -> None:
    """Of integers with noise of all kinds and sizes, with the same answers, as the version before
    ADR 55 bounded them: by a fifth at most, where there are few rows, so that what is put aside
    counts, and half of those of Laplace noise or combined are narrower. Where all noises are
    within a width, by a thirtieth at most, as one search is for all means."""
    shorter = []
    for case in json.loads((GOLDEN / "covariances.json").read_text()):
        kind = {"Covariance": Covariance, "SecondMoments": SecondMoments}[case["class"]]
        bounds = tuple(Bounds(*ends) for ends in ENDS[: case["columns"]])
        operands = tuple(Column(name) for name in "abcde"[: case["columns"]])
        asked = kind(Cells(), Layout(integer=False), operands, bounds, **case["options"])
        noisy, scale = case["noisy"], Fraction(case["scale"])
        one, other = DiscreteLaplace(scale), DiscreteGaussian(scale**2)
        three = [one, other, DiscreteLaplace(2 * scale)]
        both = CombinedNoise.of(three, False, 1)
        law = {"laplace": one, "gaussian": other, "both": both}[case["noise"]]
        with noted(case):
            assert asked.estimate(noisy) == case["answers"]
            found = np.array(asked.errors.intervals_at(noisy, law, case["confidence"]))
            within = np.array(asked.errors.intervals(noisy, case["scale"] - 1))
            known, known_within = np.array(case["intervals"]), np.array(case["within"])
            widths = [np.subtract(*each.T) for each in (found, known, within, known_within)]
            assert (np.abs(widths[0]) <= 1.2 * np.abs(widths[1])).all()
            assert (np.abs(widths[2]) <= 1.03 * np.abs(widths[3])).all()
            is_told = (widths[1] != 0) & (known[:, 1] - found[:, 0] > 0)
            if case["noise"] != "gaussian":
                shorter += (widths[0] / np.where(is_told, widths[1], 1))[is_told].tolist()
    assert np.median(shorter) < 0.999


WHOLE_NUMBERS = st.integers(-(2**80), 2**80) | st.integers(-50, 50) | st.just(0)
WIDE = DiscreteLaplace(Fraction(WHOLE))
EVERY_LAW = [
    WIDE, DiscreteGaussian(Fraction(WHOLE) ** 2), DiscreteLaplace(Fraction(1, 3)), Within(9),
    DiscreteLaplace(Fraction(0)), CombinedNoise.of([WIDE, DiscreteGaussian(WIDE.scale)], False, 1),
]  # fmt: skip


@given(
    st.sampled_from([1, 2, 3]), st.booleans(), st.booleans(), st.data(),
    st.sampled_from(EVERY_LAW), st.sampled_from([0.5, 0.95, 1 - 1e-12]), st.sampled_from([0, 1, 9]),
)  # fmt: skip
def test_any_integers_have_intervals_within_what_is_possible(
    columns: int, correlation: bool, is_vector: bool, data: Any, law: Any, sure: float, ddof: int
) -> None:
    said = tuple(map(Column, "abc"[:columns])), (Bounds(0, 1),) * columns
    kind = SecondMoments if is_vector else Covariance
    asked = kind(Cells(), Layout(integer=False), *said, ddof, correlation)
    noisy = data.draw(st.lists(WHOLE_NUMBERS, min_size=asked.size, max_size=asked.size))
    most = 1.0 if correlation else 0.25 * (ddof + 1)
    with np.errstate(all="raise", under="ignore"):
        found = asked.errors.intervals_at(noisy, law, sure)
    each = zip(found, asked.estimate(noisy), asked._entries(), strict=True)
    for (low, high), answer, (i, j) in each:
        least = (1.0 if correlation else 0.0) if i == j else -most
        # an answer without negative eigenvalues may lie beyond, and is in its interval
        assert min(least, answer) <= low <= high <= max(most, answer) + 1e-9


def test_noise_that_leaves_no_covariance_shows_what_it_may_hide() -> None:
    """Masses whose covariance is far beyond what is possible."""
    masses = [500, 0, 0, 0, -400, 0, 0, 0, 500]
    for low, high in zip(*seen(of_masses(masses), law=Within(9)).covariance(0), strict=True):
        assert 0.01 < high - low < 0.25


def test_ends_of_a_table_are_rounded_outwards(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Covariance(Cells(), Layout(integer=False), (Column("a"),), (Bounds(0, 1),))
    ends, step = (0.1, 0.1 + 1e-5), float(STEP)
    monkeypatch.setattr(fieller.Seen, "variance", lambda *_: tuple(map(np.atleast_1d, ends)))
    ((low, high),) = asked.errors.intervals_at([100 * WHOLE, 0, 0], WIDE, 0.95)
    assert (low, high) == (0.0, ends[1] // step * step + step)
    ((low, high),) = asked.errors.intervals_at([100 * WHOLE, 0, 100 * WHOLE], WIDE, 0.95)
    assert low == ends[0] // step * step


@pytest.mark.parametrize("law", EVERY_LAW[:3], ids=str)
def test_a_variance_in_a_table_has_the_interval_of_a_variance(law: Any) -> None:
    """Of the same three sums."""
    said = Cells(), Layout(integer=False), (Column("a"),), (Bounds(0, 1),)
    one, other = Covariance(*said), Variance(*said)
    for rows in (3, 100, 10_000):
        noisy = [rows * WHOLE // 3 + k * WHOLE for k in (0, 2, -1)]
        pair = [each.errors.intervals_at(noisy, law, 0.95)[0] for each in (one, other)]
        (low, high), (least, most) = pair
        assert high - low <= most - least + 2.0**-22


def test_all_cells_are_bounded_at_once_as_each_is_alone() -> None:
    frame = survey().assign(g=[1, 2, 3] * 200)
    groups = frame.dp.groupby("g", keys=[1, 2, 3])[["a", "b", "c"]].corr(bounds=LIMITS)
    asked, law = groups._statistic, DiscreteLaplace(Fraction(WHOLE))
    exact = integers(groups, groups._table.engine)
    noisy = [int(x) + (k % 7 - 3) * WHOLE for k, x in enumerate(exact)]
    alone = replace(asked, cells=Cells())
    found, size = asked.errors.intervals_at(noisy, law, 0.95), alone.size
    for k in range(3):
        own = alone.errors.intervals_at(noisy[k * size : (k + 1) * size], law, 1 - 0.05 / 3)
        np.testing.assert_allclose(found[9 * k : 9 * k + 9], own, rtol=0, atol=1e-9)


@pytest.mark.nightly
@pytest.mark.statistical
@pytest.mark.parametrize("law", [
    DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(64)),
    DiscreteGaussian(Fraction(4)), DiscreteGaussian(Fraction(64**2)),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("what", ["cov", "corr"])
def test_intervals_hold_in_two_thousand_draws(what: str, law: Any) -> None:
    """At 90 % each, with few rows, so that products of errors matter; of a pair's nine integers,
    of noise on rows and of noise that is continuous. Below 1,733 of 2,000 the alarm is false with a
    probability of 1e-6 at most. Of a covariance with noise that is continuous no more than 1,940
    hold: it isn't much wider than it must be."""
    unit = 64 if law.scale >= 32 else 1
    masses = _masses([(0, 0), (0, 1), (1, 4), (2, 1), (3, 3), (4, 2), (4, 4), (4, 4)] * 15)
    s, t, c = _of(masses)
    true = {"cov": float(c), "corr": float(c) / float(s * t) ** 0.5}[what]
    noises = np.array(law.release([0] * 18_000)).reshape(-1, 9) + np.array(masses) * unit
    pairs = [fieller.NoisySums(tuple(each), _design(3, 2), 1, unit) for each in noises.tolist()]
    known = seen(*pairs, law=law, risk=0.1)
    low, high = known.correlation() if what == "corr" else known.covariance(0)
    held = int(((low <= true) & (true <= high)).sum())
    assert held >= 1733
    if what == "cov" and unit > 1:
        assert held <= 1940


# complete rows

VALUES_OF_ONE = [0.0, 0.25, 0.5, 1 / 3, 0.9, 1.0, 7.0, -np.inf, np.nan]


def _second_moments(columns: int) -> tuple[Any, SecondMoments]:
    """Of a frame with one row the question, and what Gaussian noise is added to."""
    asked = pd.DataFrame([[0.0] * columns]).dp.cov(bounds=(0, 1), dropna=True)
    made = asked._statistic
    return asked, SecondMoments(made.cells, made.layout, made.operands, made.bounds)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_row_of_a_small_domain_is_within_the_sensitivity_of_a_vector(columns: int) -> None:
    """By brute force, after rounding; a row at the ends moves by all of it."""
    _, statistic = _second_moments(columns)
    most = (columns + 1) * (columns + 2) // 2
    rows = np.array(list(itertools.product(VALUES_OF_ONE, repeat=columns)))
    reached = set()
    for row in rows:
        found = _exact(pd.DataFrame([row]).dp.cov(bounds=(0, 1), dropna=True), statistic)
        squared = sum(x * x for x in found)
        assert squared <= statistic.l2_squared_sensitivity(1) == most * WHOLE**2
        assert max(map(abs, found)) <= statistic.linf
        assert sum(map(abs, found)) <= statistic.l1
        assert bool(any(found)) == (not np.isnan(row).any()), "a row counts if it is complete"
        x = [1.0, *(2 * np.clip(row, 0, 1) - 1)]
        if not np.isnan(row).any():
            products = [a * b for a, b in itertools.combinations_with_replacement(x, 2)]
            assert np.abs(np.divide(found, WHOLE) - products).max() < 2.0**-26
        reached.add(squared)
    assert max(reached) == most * WHOLE**2


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("columns", [2, 3, 5])
def test_complete_rows_are_those_that_pandas_keeps(noise: str, columns: int, frozen: Any) -> None:
    frozen(0)
    frame = survey()[list("abcde")[:columns]]
    dp.session(epsilon=9, delta=1e-3)
    said: dict[str, Any] = {"bounds": LIMITS, "epsilon": 1, "dropna": True}
    if noise == "gaussian":
        said |= {"delta": 1e-6, "mechanism": "gaussian"}
    found = frame.dp.cov(**said)
    low = dp.record(found).intervals()
    if noise == "laplace":  # without noise at all
        pd.testing.assert_frame_equal(found, frame.dropna().cov(), rtol=1e-6, atol=1e-7)
        found = frame.dp.corr(**said)
        pd.testing.assert_frame_equal(found, frame.dropna().corr(), rtol=1e-6, atol=1e-7)
    else:
        statistic = dp.record(found)._statistic
        assert isinstance(statistic, SecondMoments if columns > 2 else Covariance)
        exact = statistic.estimate(_exact(frame.dp.cov(bounds=LIMITS, dropna=True), statistic))
        wanted = frame.dropna().cov().to_numpy().reshape(-1)
        np.testing.assert_allclose(exact, wanted, rtol=1e-6, atol=1e-7)
    assert np.isfinite(low.to_numpy()).all()


def test_which_integers_are_read_follows_from_public_arguments_alone() -> None:
    """Never from whether a value is missing: the vector is for Gaussian noise, complete rows as the
    caller asked, and three columns or more."""
    dp.session(rho=9, delta=1e-6)
    kinds: set[Any] = set()
    for frame in (survey(missing=0.0), survey(missing=0.3)):
        losses = {"rho": 0.1}, {"epsilon": 0.1}
        for dropna, columns, loss in itertools.product((False, True), (2, 3), losses):
            asked = frame.dp[list("abc")[:columns]].cov(bounds=LIMITS, dropna=dropna)
            kinds.add((dropna, columns, *loss, type(dp.record(asked.release(**loss))._statistic)))
    vector = (True, 3, "rho", SecondMoments)
    assert {each for each in kinds if each[-1] is SecondMoments} == {vector}
    assert len(kinds) == 8, "the same for both frames"


@pytest.mark.nightly
@pytest.mark.statistical
def test_one_vector_halves_the_noise_of_blocks() -> None:
    """At ρ = 0.5 and four columns: the ratio of root mean squares was measured as 0.47 with a
    standard deviation of 0.02."""
    dp.session(rho=99, delta=1e-6)
    frame = pd.DataFrame(np.random.default_rng(2).random((2000, 4)))
    truth, off = frame.cov().to_numpy(), []
    for dropna in (True, False):
        asked = frame.dp.cov(bounds=(0, 1), dropna=dropna)
        answers = [asked.release(rho=0.5, fresh=True).to_numpy() for _ in range(60)]
        off.append(np.sqrt(np.mean([(each - truth) ** 2 for each in answers])))
    assert off[0] < 0.65 * off[1]


def test_an_old_covariance_is_not_read_by_a_new_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was read by boxes of masses has another key."""
    pair = dp.protect(survey(), "survey")[["a", "b"]]
    with monkeypatch.context() as before:
        before.setattr("dppandas.statistics.Covariance.reading", 1, raising=False)
        pair.cov(bounds=LIMITS, epsilon=1)
    for _ in range(2):
        pair.cov(bounds=LIMITS, epsilon=1)
    assert statuses() == ["released", "released", "replayed"]


def test_means_are_in_the_integers_of_covariances(exact: None) -> None:
    frame = survey()
    for columns in ("a", "ab", "abc", "abcde"):
        asked = frame.dp[list(columns)].cov(bounds=LIMITS, dropna=True)
        block = asked._statistic
        said = block.operands, block.bounds, block.ddof, block.correlation
        held = frame[list(columns)].dropna()
        wanted = [held[c].mean() / LIMITS[c][1] for c in columns]
        for statistic in (block, SecondMoments(block.cells, block.layout, *said)):
            np.testing.assert_allclose(statistic.means(_exact(asked, statistic)), wanted, atol=1e-7)
            assert statistic.means([0] * statistic.size) == [0.5] * len(columns)


@pytest.mark.deep
def test_a_noisy_table_has_no_negative_eigenvalue() -> None:
    frame = survey(30)
    for _ in range(40):
        for ask in (frame.dp.cov, frame.dp.corr):
            values = ask(bounds=LIMITS, epsilon=1).to_numpy()
            assert (values == values.T).all()
            assert np.linalg.eigvalsh(values).min() > -1e-7 * max(1.0, np.abs(values).max())
        assert (np.diag(values) == 1).all()
        assert (np.abs(values) <= 1 + 1e-9).all()


@pytest.mark.nightly
@pytest.mark.statistical
def test_a_pair_beats_sums_noised_one_by_one() -> None:
    """500 releases: the ratio of root mean squares was measured as 0.106 with a standard deviation
    of 0.006 (bootstrap), so 0.2 is 16 of these away."""
    frame = survey(400, 0.0)[["a", "b"]]
    u, v = frame["a"].to_numpy(), frame["b"].to_numpy() / 2
    truth, errors = frame["a"].cov(frame["b"], ddof=0), []
    private = frame.dp
    for _ in range(500):
        errors.append(private["a"].cov(private["b"], ddof=0, bounds=LIMITS, epsilon=1) - truth)
    law = DiscreteLaplace.calibrate(1000, Fraction(1, 4))  # in thousandths, a quarter for each
    noise = np.array(law.release([0] * 2000)).reshape(4, -1) / 1000
    n, x, y, xy = (s + z for s, z in zip((len(u), u.sum(), v.sum(), u @ v), noise, strict=True))
    apart = 2 * (xy / n - x * y / n**2) - truth
    assert np.sqrt(np.mean(np.square(errors))) < 0.2 * np.sqrt(np.mean(apart**2))


@pytest.mark.parametrize("ask", [
    lambda p: p["a"].cov([1, 2], bounds=(0, 1), epsilon=1),
    lambda p: p["a"].corr(p["b"], method="spearman", bounds=(0, 1), epsilon=1),
    lambda p: p.corr("kendall", bounds=(0, 1), epsilon=1),
    lambda p: p.cov(ddof=-1, bounds=(0, 1), epsilon=1),
    lambda p: p[["a", "b"]].cov(epsilon=1),
    lambda p: p[["a", "b"]].cov(bounds={"a": (0, 1)}, epsilon=1),
    lambda p: p["a"].cov(survey().dp["b"], bounds=(0, 1), epsilon=1),
    lambda p: p["a"].cov(p.query("a > 0")["b"], bounds=(0, 1), epsilon=1),
    lambda p: p.cov(bounds=(0, 2.0**501), epsilon=1),
    lambda p: p.cov(bounds=(0, 1), dropna="yes", epsilon=1),
    lambda p: p.corr(bounds=(0, 1), dropna=None, epsilon=1),
])  # fmt: skip
def test_wrong_arguments_are_refused_and_cost_nothing(ask: Any) -> None:
    refusal(lambda: ask(survey().dp), error=dp.DPError)


def test_whatever_the_noise_is_no_variance_is_beyond_what_is_possible() -> None:
    """Of values in [0, 1] it is a quarter at most, times n/(n - 1), which is 2 at most. To make a
    table semidefinite adds no more than 18 %: (1 + √5)/4 times (1 + 2/√5)/2 in place of 1/2."""
    dp.session(epsilon=100)
    empty = dp.protect(pd.DataFrame({"x": [np.nan], "y": [np.nan]}), name="nobody",
                       domain={"x": (0, 1), "y": (0, 1)})  # fmt: skip
    for _ in range(60):
        table = empty.cov(epsilon="0.05", fresh=True)
        assert (np.abs(table.to_numpy()) <= 0.5 * 1.18).all()
        assert (np.diag(table) >= 0).all()
