"""Whole numbers with given sums: errors don't add up, and sums that can be had are found."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.findings.whole_numbers import near

GRID = 2.0**20


def division(shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """The sum that each cell belongs to, over the other axes."""
    own = np.arange(math.prod(shape[a] for a in axes))
    wide = own.reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
    return np.broadcast_to(wide, shape).reshape(-1)


def sums_of(cells: Any, codes: Any) -> list[Any]:
    return [np.bincount(each, weights=cells, minlength=each.max() + 1) for each in codes]


def rounded(cells: Any, codes: Any) -> tuple[Any, list[float]]:
    """Whole cells, and how far each division's sums are from those of the given ones at most."""
    wanted = sums_of(cells, codes)
    found = near(cells, codes, wanted)
    assert (found >= 0).all()
    assert (found % 1 == 0).all()
    each = zip(sums_of(found, codes), wanted, strict=True)
    return found, [float(np.abs(new - old).max()) for new, old in each]


@pytest.mark.parametrize("shape", [(10_000,), (100, 100), (5000, 2), (2, 5000), (25, 20, 20)])
@pytest.mark.parametrize("value", [0.3, 0.5, 0.01])
def test_errors_dont_add_up(shape: tuple[int, ...], value: float) -> None:
    """10,000 cells of which each alone would be rounded to 0, or every second one in a row."""
    axes = list(dict.fromkeys([tuple(range(len(shape))), (), *((a,) for a in range(len(shape)))]))
    cells = np.full(10_000, np.rint(value * GRID) / GRID)
    _, far = rounded(cells, [division(shape, each) for each in axes])
    assert far[0] < 1
    assert max(far) <= 1


@given(
    shape=st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple),
    data=st.data(),
)
def test_sums_of_random_cells_are_near(shape: tuple[int, ...], data: Any) -> None:
    size = math.prod(shape)
    values = st.integers(0, 5 * 2**10).map(lambda n: n / 2**10)
    cells = np.array(data.draw(st.lists(values, min_size=size, max_size=size)))
    every = [
        axes for k in range(len(shape) + 1)
        for axes in itertools.combinations(range(len(shape)), k)
    ]  # fmt: skip
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    _, far = rounded(cells, [division(shape, axes) for axes in [*chosen, ()]])
    assert max(far) < 3


@given(
    cells=st.lists(st.integers(0, 9), min_size=24, max_size=24),
    off=st.lists(st.integers(-2, 2), min_size=24, max_size=24),
)
def test_sums_that_can_be_had_are_found(cells: list[int], off: list[int]) -> None:
    """From other numbers than those that have them; whatever divisions are nested or in a row."""
    shape = (4, 3, 2)
    start = np.maximum(np.array(cells) + np.array(off), 0).astype(float)
    for axes in ([(0, 1, 2)], [(0,), (1,), (2,)], [(0, 1), (1, 2)], [(0, 1), (2,)]):
        codes = [division(shape, each) for each in axes]
        wanted = sums_of(np.array(cells, dtype=float), codes)
        found = sums_of(near(start, codes, wanted), codes)
        assert all(map(np.array_equal, found, wanted))


def test_cells_outside_of_all_sums_stay() -> None:
    codes = [np.array([0, 2, 1, 2]), np.array([0, 2, 0, 2])]
    found = near(np.array([0.5, 0.0, 0.5, 3.0]), codes, [np.array([1.0, 0.0]), np.array([1.0, 0])])
    assert found.tolist() == [1, 0, 0, 3]
