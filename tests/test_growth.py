"""The benchmark of growth: all its curves can be measured, and slopes are those of what grows. How
fast anything is, only the benchmark asks."""

import sys
from pathlib import Path

import pytest
from notes import noted

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import growth


@pytest.mark.filterwarnings("ignore:.*isn't declared")
def test_each_curve_can_be_measured() -> None:
    for name in growth.CURVES:
        with noted(name):
            assert len(growth.measured(name, [5, 20], turns=1).times) == 2


def test_slopes_are_those_beyond_the_smallest_size() -> None:
    def slopes(*times: float) -> list[float | None]:
        return growth.Grown("", [0, 10, 100, 1000], list(times)).slopes

    assert slopes(5, 15, 105, 1005) == pytest.approx([1, 1])
    assert slopes(5, 15, 1005, 100_005) == pytest.approx([2, 2])
    assert slopes(5, 5.1, 105, 1005) == [None, pytest.approx(1)]  # hidden by the fixed cost


def test_what_is_steep_is_named_but_not_a_sort() -> None:
    sizes = [0, 10, 100]
    bent = [growth.Grown(name, sizes, [1, 11, 1001]) for name in growth.CURVES]
    assert {each.name for each in bent if growth.steep(each)} == {
        name for name, curve in growth.CURVES.items() if not curve.sorts
    }
    assert not growth.steep(growth.Grown("mean, over rows", sizes, [1, 11, 101]))
