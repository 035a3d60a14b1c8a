"""Functions of the caller's own: when they see rows, and what is told where they fail."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ledgers import anew
from refusals import refusal

import dppandas as dp
from dppandas.errors import LineageError, ReleaseFailed

FRAME = pd.DataFrame({"age": [20, 30, 30, 40, 50]})
Function = Callable[[pd.DataFrame], Any]

#: Each way to hand over a function of rows, which is called at least once with them.
WAYS: dict[str, Callable[[Any, Function], Any]] = {
    "score": lambda p, f: dp.select(p, [1, 2], score=lambda rows, _: f(rows), sensitivity=1),
    "distance": lambda p, f: dp.distance_to_property(p, f),
    "value": lambda p, f: dp.propose_test_release(p, f, len, delta=1e-6),
    "distance of a value": lambda p, f: dp.propose_test_release(p, len, f, delta=1e-6),
}
each = pytest.mark.parametrize("ask", WAYS.values(), ids=list(WAYS))


@pytest.fixture(autouse=True)
def budget() -> None:
    dp.session(epsilon=10, delta=1e-3)


@each
def test_verified_frames_and_strict_sessions_show_no_rows(ask: Any) -> None:
    def never(rows: pd.DataFrame) -> int:
        assert not len(rows)
        return 0

    people = dp.protect(FRAME.copy(), "own")
    refusal(lambda: ask(people, never).release(epsilon=1), "never shows", LineageError)
    anew(epsilon=10, delta=1e-3, strict=True)
    refusal(lambda: ask(FRAME, never).release(epsilon=1), "strict", LineageError)


@each
def test_the_rows_are_read_after_the_charge_alone(ask: Any) -> None:
    charged: list[tuple[int, int]] = []

    def seen(rows: pd.DataFrame) -> int:
        charged.append((len(rows), len(dp.ledger()._entries())))
        rows["age"] = 1  # its own copy
        return 0

    asked = ask(FRAME, seen)
    tried = len(charged)
    assert "nothing computed" in repr(asked)
    asked.release(epsilon=1)
    assert charged == [(0, 0)] * tried + [(5, 1)] * tried
    assert tried
    assert FRAME["age"].tolist() == [20, 30, 30, 40, 50]


@each
@pytest.mark.parametrize("fails", ["raises", "list", "none", "truth"])
def test_what_fails_on_the_data_stays_charged_and_quotes_none(ask: Any, fails: str) -> None:
    def function(rows: pd.DataFrame) -> Any:
        if not len(rows):
            return 0
        if fails == "raises":
            raise ValueError(f"secret {rows['age'].max()}")
        return {"list": [1.0], "none": None, "truth": np.True_}[fails]

    with pytest.raises(ReleaseFailed, match=r"must return an? (whole number|int)") as failed:
        ask(FRAME, function).release(epsilon=1)
    assert "secret" not in str(failed.value)
    assert failed.value.__cause__ is failed.value.__context__ is None
    (entry,) = dp.ledger()._entries()
    assert (entry.status, entry.loss.epsilon) == ("failed", 1)


@pytest.mark.parametrize("which", ["score", "distance", "distance of a value"])
def test_a_float_is_no_whole_number(which: str) -> None:
    asked = WAYS[which](FRAME, lambda rows: 1.0 if len(rows) else 0)
    with pytest.raises(ReleaseFailed, match=r"must return an? (whole number|int)"):
        asked.release(epsilon=1)
