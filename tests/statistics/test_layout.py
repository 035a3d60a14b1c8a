"""The order in which a sorted answer shows its numbers, against a sort one by one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dppandas.rows.facts.keys import Keys
from dppandas.statistics import Layout

#: Whole numbers that floats can't tell apart, ties, both zeros, and numbers that aren't known.
NUMBERS = st.sampled_from([0, -0.0, 1, 1.5, -3, 2**53, 2**53 + 1, 2**63 - 1, math.nan, math.inf])


def one_by_one(values: Sequence[float], sign: float, block: int) -> list[int]:
    """By block, then unknown numbers last, then by size; ties in declared order."""

    def rank(i: int) -> tuple[int, bool, float]:
        unknown = values[i] != values[i]
        return i // block if block else 0, unknown, 0.0 if unknown else sign * values[i]

    return sorted(range(len(values)), key=rank)


@given(st.lists(NUMBERS, max_size=12), st.sampled_from(["ascending", "descending"]), st.data())
def test_places_are_those_of_a_sort_one_by_one(values: Any, order: str, data: Any) -> None:
    block = data.draw(st.integers(0, 5))
    found = Layout(True, order=order, block=block).places(values)
    assert found is not None
    assert found.tolist() == one_by_one(values, 1.0 if order == "ascending" else -1.0, block)


@given(
    st.lists(st.sampled_from([0, 1, -3, 7, 2**16, 2**31, 2**32, 2**53, 2**53 + 1]), max_size=12),
    st.sampled_from(["ascending", "descending"]), st.integers(0, 5),
)  # fmt: skip
@example([2**53 + 1, 2**53], "ascending", 0)
@example([2**32, 0, 2**32, 0], "descending", 0)
def test_places_of_whole_numbers_are_those_of_floats(values: Any, order: str, block: int) -> None:
    found = Layout(True, order=order, block=block).places(np.array(values, dtype=np.int64))
    assert found is not None
    assert found.tolist() == one_by_one(values, 1.0 if order == "ascending" else -1.0, block)


@pytest.mark.parametrize("labels", [
    [3, 1, 2], [True, 2], [True, False], [2**63, 1], [-(2**63), 2**63 - 1], [1, 2.5], ["b", "a"],
    ["a", 1], [pd.Timestamp("2020-01-01")],
])  # fmt: skip
def test_an_index_of_keys_is_what_pandas_makes_of_a_list(labels: list[Any]) -> None:
    found = Keys(tuple(labels)).index(["k"])
    pd.testing.assert_index_equal(found, pd.Index(labels, name="k"), exact=True)
