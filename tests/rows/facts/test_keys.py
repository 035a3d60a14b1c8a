"""Keys of one type are checked all at once, and mean what they mean one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dppandas.errors import QueryError
from dppandas.rows.facts import keys
from dppandas.rows.facts.keys import Keys

ONE = st.one_of(
    st.integers(-(2**70), 2**70), st.text(max_size=3), st.floats(), st.booleans(), st.none(),
    st.datetimes().map(pd.Timestamp), st.timedeltas(),
    st.datetimes(timezones=st.timezones()).map(pd.Timestamp),
)  # fmt: skip
EACH: tuple[Any, ...] = (
    st.integers(-5, 5), st.integers(2**63 - 2, 2**63 + 1), st.text("ab", max_size=2), st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 2.0**53]), st.datetimes().map(pd.Timestamp), ONE,
    st.sampled_from([pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01").as_unit("s")]),
    st.sampled_from([pd.Timestamp("2500-01-01").as_unit("s"), pd.NaT]),
)  # fmt: skip
LISTS = st.one_of([st.lists(each, max_size=6) for each in EACH])
PAIRS = st.one_of([
    st.lists(st.tuples(one, other), max_size=5) for one, other in pairwise(EACH)
])  # fmt: skip


def found(labels: Any, width: int) -> Any:
    """The labels, with their types; or the refusal."""
    try:
        parsed = Keys.parse(labels, ["k", "l"][:width])
    except QueryError as refused:
        return str(refused)
    return [(repr(label), type(label)) for label in parsed.labels]


def slowly(labels: Any, width: int) -> Any:
    """The same, checked one by one."""
    with mock.patch.object(keys, "_mean_themselves", return_value=False):
        return found(labels, width)


@given(LISTS)
@example([float("nan")])
@example([float("inf")])
@example([2**63])
@example([pd.Timestamp("2024-01-01", tz="UTC")])
@example([pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01", tz="UTC")])
def test_all_at_once_is_one_by_one(labels: list[Any]) -> None:
    assert found(labels, 1) == slowly(labels, 1)


@given(PAIRS)
@example([(1, 2), (1,)])
@example([(1, 2), [1, 2]])
def test_pairs_at_once_are_pairs_one_by_one(labels: list[Any]) -> None:
    assert found(labels, 2) == slowly(labels, 2)


@pytest.mark.parametrize("array", [
    np.arange(3), np.arange(3.0), np.array([True, False]), np.array(["a", "b"]), pd.Index([1, 2]),
    np.arange(3, dtype="u1"), np.float32([1.5, 2.5]), pd.Index(["a", "b"]), np.array(3),
    pd.date_range("2024", periods=2), pd.array([1, 2]), np.array([[1, 2]]), np.longdouble([1, 2]),
])  # fmt: skip
def test_arrays_are_lists(array: Any) -> None:
    assert found(array, 1) == slowly(array, 1)


@pytest.mark.parametrize("labels", [
    range(99), [f"k{i}" for i in range(99)], [i + 0.5 for i in range(99)], np.arange(99.0),
    list(pd.date_range("2024", periods=99)), pd.date_range("2024", periods=99),
])  # fmt: skip
def test_labels_of_one_type_are_not_looked_at_one_by_one(labels: Any) -> None:
    with mock.patch.object(keys, "_checked_parts", side_effect=AssertionError):
        assert len(Keys.parse(labels, ["k"])) == 99
        pairs = list(zip(labels, labels, strict=True))
        if isinstance(labels, range | list):
            assert len(Keys.parse(pairs, ["k", "l"])) == 99
