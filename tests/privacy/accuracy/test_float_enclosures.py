"""Floats around real numbers: by fractions, at the ends of what floats can be, and where nothing is
known."""

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dppandas.privacy.accuracy.float_enclosures import FloatEnclosures

FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, -1.0, 1e300, 2.0**1023]),
)
ENDS = st.tuples(FLOATS, FLOATS).map(sorted)


def enclosing(ends: list[float]) -> FloatEnclosures:
    return FloatEnclosures(np.array(ends[:1]), np.array(ends[1:]))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@given(one=ENDS, other=ENDS)
def test_results_are_enclosed_and_near(operation: Any, one: Any, other: Any) -> None:
    """For any two numbers in both pairs, of which these are the ends."""
    found = operation(enclosing(one), enclosing(other))
    if operation is operator.truediv and other[0] <= 0:
        assert (found.low, found.high) == (-math.inf, math.inf)
        return
    exact = [operation(Fraction(x), Fraction(y)) for x in one for y in other]
    assert found.low < min(exact)
    assert max(exact) < found.high
    for end, value in ((found.low, min(exact)), (found.high, max(exact))):
        if math.isfinite(end[0]) and abs(value) < 2**1023:
            assert abs(Fraction(end[0]) - value) <= 2 * Fraction(math.ulp(float(value)))


@given(FLOATS.map(abs))
def test_roots_are_enclosed(value: float) -> None:
    found = enclosing([value, value]).sqrt()
    assert found.low[0] < 0 or Fraction(found.low[0]) ** 2 < value
    assert value < Fraction(found.high[0]) ** 2
    assert found.high[0] - found.low[0] <= 4 * math.ulp(found.high[0])


@given(st.lists(st.one_of(
    st.integers(-(2**53) - 9, 2**53 + 9), st.integers(-(10**400), 10**400),
    st.fractions(), st.integers(2**53 - 9, 2**60),
)))  # fmt: skip
def test_exact_numbers_are_enclosed(values: list[Any]) -> None:
    found = FloatEnclosures.of(values)
    for value, low, high in zip(values, found.low.tolist(), found.high.tolist(), strict=True):
        assert low <= value <= high
        if isinstance(value, int) and abs(value) < 2**53:
            assert low == value == high


def test_nothing_is_known_where_floats_end() -> None:
    most = FloatEnclosures.of([10**309])
    assert (most.low, most.high) == (np.finfo(float).max, math.inf)
    nothing = most - most
    assert (nothing.low, nothing.high) == (-math.inf, math.inf)
    held = nothing.clip(FloatEnclosures.of([0]), FloatEnclosures.of([1]))
    assert (held.low, held.high) == (0, 1)
