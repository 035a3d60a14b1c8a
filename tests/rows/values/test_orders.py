"""Which rows of each group have the least hashes, beside a sort of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dppandas.rows.values import orders

Array = npt.NDArray[Any]
GREATEST = 2**64 - 1


def sorted_by_all(groups: Array, arrays: list[Array], most: int) -> set[int]:
    """The first rows of each group by each of the arrays in turn, one row after the other."""
    by = sorted(range(len(groups)), key=lambda i: [int(array[i]) for array in (groups, *arrays)])
    seen: dict[int, int] = {}
    found = set()
    for row in by:
        seen[groups[row]] = seen.get(groups[row], 0) + 1
        if seen[groups[row]] <= most:
            found.add(row)
    return found


def hashes_of(kind: str, size: int, rng: np.random.Generator) -> Array:
    """Hashes of 64 bits; or few of them; or such as differ only in their last bits."""
    if kind == "all bits":
        return rng.integers(0, GREATEST, size, dtype=np.uint64, endpoint=True)
    few = rng.integers(0, 5, size).astype(np.uint64)
    return few if kind == "last bits" else few * np.uint64(GREATEST // 4)


@pytest.mark.parametrize("kind", ["all bits", "last bits", "few"])
@pytest.mark.parametrize("number", [1, 7, 150, 4000])
@pytest.mark.parametrize("most", [1, 2, 5, 300])
def test_least_is_what_a_sort_of_all_rows_keeps(kind: str, number: int, most: int) -> None:
    rng = np.random.default_rng([number, most])
    groups = (number * rng.random(4000) ** 3).astype(np.intp)  # some large, many small
    hashes, second, rows = hashes_of(kind, 4000, rng), rng.integers(0, 3, 4000), np.arange(4000)
    found = orders.least(groups, hashes, most, [second.take, rows.take])
    assert len(found) == len(set(found))
    assert set(found.tolist()) == sorted_by_all(groups, [hashes, second, rows], most)


def test_only_rows_at_the_limit_are_decided() -> None:
    """The second array is made of rows that share their hash with the last that is kept."""
    asked: list[int] = []

    def decide(rows: Array) -> Array:
        asked.extend(rows.tolist())
        return -rows

    groups = np.array([0, 0, 0, 0, 1, 1, 1])
    hashes = np.array([5, 5, 9, 9, 1, 1, 2], dtype=np.uint64) << np.uint64(50)
    found = orders.least(groups, hashes, 3, [decide])
    assert set(found.tolist()) == {0, 1, 3, 4, 5, 6}
    assert set(asked) == {2, 3}


@pytest.mark.parametrize("size", [0, 1])
def test_no_rows_or_one(size: int) -> None:
    groups, hashes = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.uint64)
    assert orders.least(groups, hashes, 1, []).tolist() == list(range(size))


def test_a_group_of_other_rows_does_not_change_what_is_kept() -> None:
    """What is kept of a group depends on its own rows: those of others only share the words."""
    rng = np.random.default_rng(4)
    groups, hashes = rng.integers(0, 40, 3000), hashes_of("all bits", 3000, rng)
    hashes[::3] >>= np.uint64(50)
    whole = set(orders.least(groups, hashes, 4, [np.negative]).tolist())
    for group in range(40):
        alone = np.flatnonzero(groups == group)
        kept = alone[orders.least(np.zeros(len(alone), dtype=np.intp), hashes[alone], 4,
                                  [lambda at, of=alone: -of[at]])]  # fmt: skip
        assert set(kept.tolist()) == whole & set(alone.tolist())


def test_rows_of_large_groups() -> None:
    assert orders.in_large(np.array([-1, -1, -1, 0, 1, 1, 2, 1]), 2).tolist() == [4, 5, 7]
    assert orders.in_large(np.empty(0, dtype=np.intp), 2).tolist() == []
