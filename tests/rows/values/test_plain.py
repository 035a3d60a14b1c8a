"""Labels that mean themselves are found at once, and no others are taken for them."""

from typing import Any

import numpy as np
import pytest
from notes import noted

from dppandas.rows.facts.keys import Keys
from dppandas.rows.values import are_simple, interned, whole_numbers
from dppandas.rows.values.families import MOST_CHARACTERS


class Subclass(int):
    """Which may print as anything."""


NOT_WHOLE: list[list[Any]] = [
    [], [1, True], [True, False], [1, 2.0], [1, "1"], [1, None], [2**63], [1, -(2**63) - 1],
    [np.int64(1)], [1, Subclass(2)], ["a"],
]  # fmt: skip


def test_whole_numbers_are_ints_of_64_bits_and_nothing_else() -> None:
    for values in ([1], [0, -1, 5], [2**63 - 1, -(2**63)], [*range(1000)]):
        for each in (values, tuple(values)):
            found = whole_numbers(each)
            assert found is not None
            assert found.tolist() == values
            assert are_simple(each)
    for values in NOT_WHOLE:
        with noted(repr(values)):
            assert whole_numbers(values) is None
            assert whole_numbers(tuple(values)) is None
            assert are_simple(values) == (values == ["a"])
    assert not are_simple(["a", 1])
    assert not are_simple(["a", "b" * (MOST_CHARACTERS + 1)])


def test_equal_labels_of_other_types_are_not_those_met_before() -> None:
    """Python takes 1 for True and for 1.0, and keys don't."""
    for values in ((1, 0), (True, False), (1.0, 0.0), (1, False), (1, 0)):
        found = interned(values)
        assert list(map(type, found)) == list(map(type, values))
        assert list(map(type, Keys.parse(list(values), ["k"]).labels)) == list(map(type, values))
    assert type(interned((Subclass(1), 0))[0]) is Subclass
    assert interned((1, 0)) is interned(tuple(range(1, -1, -1)))
    assert interned(("a", "b")) is interned(tuple("ab"))


def test_what_is_kept_of_labels_cant_be_written_to() -> None:
    """An index shares no memory with it: pandas 2 lets users write to its values."""
    keys = Keys.parse([3, 1, 2], ["k"])
    whole = whole_numbers(keys.labels)
    assert whole is not None
    with pytest.raises(ValueError, match="read-only"):
        whole[0] = 7
    index = keys.index(["k"])
    assert not np.shares_memory(index.to_numpy(), whole)
