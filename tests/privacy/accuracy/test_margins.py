"""Half-widths of cells and margins by the law of all noises of a table."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dppandas.privacy.accuracy import margins
from dppandas.privacy.accuracy.combined import CombinedNoise, NoiseAtLook
from dppandas.privacy.accuracy.margins import Widths, half_widths, sum_width
from dppandas.privacy.mechanisms.noise import DiscreteGaussian, DiscreteLaplace

Floats = npt.NDArray[np.float64]
SMALL = [
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteLaplace(Fraction(1)),
    DiscreteGaussian(Fraction(1, 2)),
]
LAWS = [*SMALL, DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(100))]
SHAPES = [(1, 1), (1, 4), (4, 1), (2, 2), (4, 3), (12, 7)]


def law_of(law: Any, wide: int) -> Floats:
    """Exact probabilities from -wide to wide, beyond which there is next to nothing."""
    z, is_laplace = np.arange(-wide, wide + 1), isinstance(law, DiscreteLaplace)
    over = float(law.scale if is_laplace else 2 * law.sigma2)
    found = np.exp(-(np.abs(z) if is_laplace else z * z) / over)
    return np.asarray(found / found.sum(), dtype=float)


def before(law: Any, rows: int, columns: int, confidence: float) -> Widths:
    """What was told before: half of the risk for the sums, by Chernoff's bound."""
    risk = (1 - confidence) / 2
    one, each = law.half_width(1 - risk, rows * columns), risk / (rows + columns + 1)
    sums = [columns, rows, rows * columns]
    return Widths(
        one, *(min(n * one, law.half_width_of_sum(each, n)) if n > 1 else one for n in sums)
    )


def as_tuple(widths: Widths) -> tuple[int, ...]:
    return widths.cell, widths.row, widths.column, widths.all


@pytest.mark.parametrize("law", SMALL, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (2, 2), (3, 1), (2, 3)])
def test_how_often_a_table_fails_is_bounded_by_brute_force(
    law: Any, rows: int, columns: int
) -> None:
    """Over all noises of a small table, by their exact law: no less, and hardly more."""
    reached = 4 if rows * columns > 4 else 9
    one = law_of(law, 60)[60 - reached : 61 + reached]
    noises = np.array(list(itertools.product(range(-reached, reached + 1), repeat=rows * columns)))
    chances = np.prod(one[noises + reached], axis=1)
    table, beyond = noises.reshape(-1, rows, columns), 1 - one.sum() ** (rows * columns)
    for confidence in (0.5, 0.8, 0.95):
        found = half_widths(law, rows, columns, confidence)
        for widths in (found, Widths(2, 3, 2, 4), Widths(2, 5, 3, 3)):
            fails = (
                (np.abs(table) > widths.cell).any(axis=(1, 2))
                | (np.abs(table.sum(axis=2)) > widths.row).any(axis=1)
                | (np.abs(table.sum(axis=1)) > widths.column).any(axis=1)
                | (np.abs(table.sum(axis=(1, 2))) > widths.all)
            )
            exact = float(chances[fails].sum())
            told = margins._Table(law, rows, columns, widths).fails()
            assert exact <= told + 1e-9
            assert told <= 1.35 * (exact + beyond) + 1e-9
            if widths is found:
                assert exact <= 1 - confidence


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("terms", [1, 2, 7])
def test_the_width_of_a_sum_is_the_least(law: Any, terms: int) -> None:
    one = law_of(law, 400)
    exact = one
    for _ in range(terms - 1):
        exact = np.convolve(exact, one)
    middle = len(exact) // 2
    for risk in (0.3, 0.01, 1e-5):
        w = sum_width(law, risk, terms)
        assert 1 - exact[middle - w : middle + w + 1].sum() <= risk * (1 + 1e-9)
        assert w == 0 or 1 - exact[middle - w + 1 : middle + w].sum() > risk * (1 - 1e-3)


@pytest.mark.parametrize("law", [
    *LAWS, DiscreteLaplace(Fraction(10**9)), DiscreteGaussian(Fraction(10**12)),
    CombinedNoise.of([DiscreteLaplace(Fraction(9)), DiscreteLaplace(Fraction(5))], True, 1),
    NoiseAtLook.after([DiscreteLaplace(Fraction(90))] * 2, True, 1, 3),
], ids=str)  # fmt: skip
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_nothing_is_wider_than_by_the_union_bound(law: Any, rows: int, columns: int) -> None:
    for confidence in (0.5, 0.95, 0.999, 1 - 1e-8):
        found, known = (
            half_widths(law, rows, columns, confidence),
            before(law, rows, columns, confidence),
        )
        pairs = list(zip(as_tuple(found), as_tuple(known), strict=True))
        assert all(0 <= w <= most for w, most in pairs)
        if rows > 1 < columns and law in LAWS[3:] and confidence == 0.95:
            assert pairs[1][0] < 0.9 * pairs[1][1]


def test_no_noise_and_any_confidence() -> None:
    for law in (DiscreteLaplace(Fraction(0)), DiscreteGaussian(Fraction(0))):
        assert as_tuple(half_widths(law, 3, 4, 0.95)) == (0, 0, 0, 0)
    widths = [half_widths(LAWS[3], 3, 4, c).all for c in (1e-9, 0.5, 1 - 1e-9, 1 - 2.0**-53)]
    assert widths == sorted(widths)
    assert widths[-1] < 2500


def drawn(law: Any, draws: int, rows: int, columns: int) -> Any:
    """Of a test: nothing seeds the sampler of releases."""
    return np.array(law.release([0] * (draws * rows * columns))).reshape(draws, rows, columns)


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 4), (4, 3), (12, 7)])
def test_all_numbers_of_a_table_hold_simultaneously(law: Any, rows: int, columns: int) -> None:
    """Of 4,000 draws at 95 % no fewer than 3,733 (false alarms: 1e-6); where noise is fine, no more
    than 3,880: with the union bound and Chernoff's 3,900 do."""
    noise, widths = drawn(law, 4000, rows, columns), half_widths(law, rows, columns, 0.95)
    held = (
        (np.abs(noise) <= widths.cell).all(axis=(1, 2))
        & (np.abs(noise.sum(axis=2)) <= widths.row).all(axis=1)
        & (np.abs(noise.sum(axis=1)) <= widths.column).all(axis=1)
        & (np.abs(noise.sum(axis=(1, 2))) <= widths.all)
    ).sum()
    assert held >= 3733
    if math.sqrt(law.sigma2 if isinstance(law, DiscreteGaussian) else law.scale) > 3:
        assert held <= 3880
