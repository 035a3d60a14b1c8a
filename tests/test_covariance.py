"""Covariances and correlations: shares by hand, pandas without noise, boxes, accuracy, refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations import integers

import dppandas as dp
from dppandas.mechanisms import DiscreteLaplace
from dppandas.statistics.covariance import (
    WHOLE,
    _covariance,
    _covariances,
    _extremes,
    _split,
    _variance,
    _variances,
    cover,
)

SHARES = st.lists(st.integers(0, WHOLE), min_size=3, max_size=3).map(sorted)


def _parts(cuts: list[int]) -> list[np.ndarray[Any, Any]]:
    edges = [0, *cuts, WHOLE]
    return [np.array([b - a]) for a, b in itertools.pairwise(edges)]


@given(st.integers(0, WHOLE), SHARES)
def test_a_part_is_shared_out_without_rest(part: int, cuts: list[int]) -> None:
    pieces = [int(x[0]) for x in _split(np.array([part]), _parts(cuts))]
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
    pairs = max(1, columns * (columns - 1) // 2)
    assert len(blocks) * 2 ** len(blocks[0]) <= pairs * 4


VALUES = [-1e9, 0.0, 7.0, 29.99, 60.0, np.inf, np.nan]


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_one_row_moves_the_sums_by_the_sensitivity_at_most_and_by_it_where_complete(
    columns: int,
) -> None:
    rng = np.random.default_rng(columns)
    for _ in range(60):
        row = rng.choice(VALUES, columns)
        frame = pd.DataFrame([row], columns=list("abcde")[:columns])
        for asked in (frame.dp.cov(bounds=(0, 60)), frame.dp.corr(bounds=(0, 60))):
            found = integers(asked, asked._root.engine)
            assert min(found) >= 0
            assert sum(found) <= asked._statistic.l1
            assert max(found) <= asked._statistic.linf
            if not np.isnan(row).any():
                assert sum(found) == asked._statistic.l1
            if np.isnan(row).all():
                assert not any(found)


def survey(rows: int = 600, missing: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    base = rng.random((rows, 5))
    base[:, 1] = 0.6 * base[:, 0] + 0.4 * base[:, 1]
    base[:, 3] = 1 - 0.5 * base[:, 2] - 0.3 * base[:, 3]
    frame = pd.DataFrame(base * [1, 2, 60, 1, 5], columns=list("abcde"))
    return frame.mask(rng.random(frame.shape) < missing)


LIMITS = {"a": (0, 1), "b": (0, 2), "c": (0, 60), "d": (0, 1), "e": (0, 5)}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ddof", [0, 1, 3])
def test_without_noise_it_is_what_pandas_says(columns: int, ddof: int) -> None:
    # pandas takes ddof for 1 where a value is missing
    frame = survey(missing=0.1 if ddof == 1 else 0.0)[list("abcde")[:columns]]
    asked = frame.dp[list(frame)]
    found = asked.cov(ddof=ddof, bounds=LIMITS, epsilon=1)
    pd.testing.assert_frame_equal(found, frame.cov(ddof=ddof), rtol=1e-6, atol=1e-7)
    found = asked.corr(bounds=LIMITS, epsilon=1)
    pd.testing.assert_frame_equal(found, frame.corr(), rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("exact")
def test_two_columns_give_a_number() -> None:
    frame = survey()
    c = frame.dp
    a, e = c["a"], c["e"]
    assert a.cov(e, bounds=LIMITS, epsilon=1) == pytest.approx(frame["a"].cov(frame["e"]), abs=1e-7)
    found = a.corr(c["b"], bounds=LIMITS, epsilon=1)
    assert found == pytest.approx(frame["a"].corr(frame["b"]), rel=1e-6)
    assert type(found) is dp.results.ReleasedFloat
    low, high = found.interval()
    assert low <= found <= high


@pytest.mark.usefixtures("exact")
def test_of_nothing_and_of_one_row_there_are_numbers() -> None:
    for rows in ([], [(1.0, 2.0)], [(np.nan, 2.0)], [(3.0, 3.0)] * 4):
        frame = pd.DataFrame(rows, columns=["a", "b"], dtype="float64")
        found = frame.dp.cov(bounds=(0, 4), epsilon=1)
        assert np.isfinite(found.to_numpy()).all()
        assert found.loc["a", "b"] == 0
        assert (np.diag(frame.dp.corr(bounds=(0, 4), epsilon=1)) == 1).all()
        assert np.isfinite(dp.record(found).interval().to_numpy()).all()
    same = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]}).dp
    assert same.cov(bounds={"a": (1, 1), "b": (0, 4)}, epsilon=1).loc["a"].tolist() == [0, 0]


NODES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=9, max_size=9)


@given(NODES, st.lists(st.floats(0, 1), min_size=9, max_size=9))
def test_the_box_of_sums_holds_every_covariance_and_variance(
    ends: list[tuple[int, int]], at: list[float]
) -> None:
    box = tuple([Fraction(f(each)) for each in ends] for f in (min, max))
    inside = [low + Fraction(x) * (high - low) for low, high, x in zip(*box, at, strict=True)]
    guess = [(low + high) / 2 for low, high in zip(*box, strict=True)]
    if not sum(inside):
        return
    low, high = _covariances(box, guess, 3)  # type: ignore[arg-type]
    assert low <= _covariance(inside, 3) <= high
    side = (box[0][:3], box[1][:3])
    if sum(inside[:3]):
        low, high = _variances(side, guess[:3])
        assert low <= max(_variance(inside[:3]), 0) <= high
        weights = [Fraction(-1), Fraction(1, 3), Fraction(2)]
        low, high = _extremes(weights, side)
        ratio = sum(w * m for w, m in zip(weights, inside[:3], strict=True)) / sum(inside[:3])
        assert low <= ratio <= high


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("what", ["cov", "corr"])
def test_the_box_of_a_table_is_as_wide_as_the_sums_of_noise_that_it_takes(
    columns: int, what: str
) -> None:
    asked = getattr(survey().dp[list("abcde")[:columns]], what)(bounds=LIMITS)
    statistic, law = asked._statistic, DiscreteLaplace(Fraction(WHOLE))
    found = statistic._summed([0] * statistic.size, law, 0.05)
    weights: dict[tuple[Any, int], list[Fraction]] = {}
    for place in range(statistic.size):  # what each integer adds to each entry
        one = statistic._boxes([i == place for i in range(statistic.size)], 0)
        for who in found:
            for entry, value in enumerate(one[who][0]):
                weights.setdefault((who, entry), []).extend([value] * bool(value))
    looked_at = {who for who, _ in weights}
    alone = [] if what == "corr" else [(i,) for i in range(columns)]
    assert looked_at == {*itertools.combinations(range(columns), 2), *alone}
    for (who, entry), each in weights.items():
        assert len(set(each)) == 1
        risk = 0.05 / len(weights)
        width = (
            law.half_width_of_sum(risk, len(each)) if len(each) > 1 else law.half_width(1 - risk)
        )
        assert found[who][1][entry] == width * each[0]
        assert found[who][0][entry] == 0


@pytest.mark.statistical
def test_intervals_of_a_table_are_far_narrower_than_those_of_all_integers() -> None:
    """Measured: 0.415 of the width, with a standard deviation of 0.005."""
    asked = survey(1000).dp[["a", "b", "d"]].cov(bounds={**LIMITS, "b": (0, 1)})
    record = dp.record(asked.release(epsilon=1))
    width = record._law.half_width(0.95, len(record._noisy))
    narrow, wide = (
        sum(high - low for low, high in ends)
        for ends in (record._intervals(0.95), record.statistic.intervals(record._noisy, width))
    )
    assert narrow < 0.6 * wide


def test_a_noisy_table_has_no_negative_eigenvalue() -> None:
    frame = survey(30)
    for _ in range(40):
        for found in (
            frame.dp.cov(bounds=LIMITS, epsilon=1),
            frame.dp.corr(bounds=LIMITS, epsilon=1),
        ):
            values = found.to_numpy()
            assert (values == values.T).all()
            assert np.linalg.eigvalsh(values).min() > -1e-7 * max(1.0, np.abs(values).max())
        assert (np.diag(values) == 1).all()
        assert (np.abs(values) <= 1 + 1e-9).all()


@pytest.mark.statistical
def test_a_pair_beats_sums_noised_one_by_one() -> None:
    """500 releases: the ratio of root mean squares was measured as 0.106 with a standard deviation
    of 0.006 (bootstrap), so 0.2 is 16 of these away."""
    frame = survey(400, 0.0)[["a", "b"]]
    u, v = frame["a"].to_numpy(), frame["b"].to_numpy() / 2
    truth, errors = frame["a"].cov(frame["b"], ddof=0), []
    private = frame.dp
    for _ in range(500):
        one = private["a"].cov(private["b"], ddof=0, bounds=LIMITS, epsilon=1)
        errors.append(one - truth)
    law = DiscreteLaplace.calibrate(1000, Fraction(1, 4))  # in thousandths, a quarter for each
    noise = np.array(law.release([0] * 2000)).reshape(4, -1) / 1000
    n, x, y, xy = (s + z for s, z in zip((len(u), u.sum(), v.sum(), u @ v), noise, strict=True))
    apart = 2 * (xy / n - x * y / n**2) - truth
    assert np.sqrt(np.mean(np.square(errors))) < 0.2 * np.sqrt(np.mean(apart**2))


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: p["a"].cov([1, 2], bounds=(0, 1), epsilon=1),
        lambda p: p["a"].corr(p["b"], method="spearman", bounds=(0, 1), epsilon=1),
        lambda p: p.corr("kendall", bounds=(0, 1), epsilon=1),
        lambda p: p.cov(ddof=-1, bounds=(0, 1), epsilon=1),
        lambda p: p[["a", "b"]].cov(epsilon=1),
        lambda p: p[["a", "b"]].cov(bounds={"a": (0, 1)}, epsilon=1),
        lambda p: p["a"].cov(survey().dp["b"], bounds=(0, 1), epsilon=1),
        lambda p: p["a"].cov(p.query("a > 0")["b"], bounds=(0, 1), epsilon=1),
        lambda p: p.cov(bounds=(0, 2.0**501), epsilon=1),
    ],
)
def test_wrong_arguments_are_refused_and_cost_nothing(ask: Any) -> None:
    with pytest.raises(dp.DPError):
        ask(survey().dp)
    assert dp.ledger().entries() == []
