"""What a caller's function says of exact rows is heard by nobody."""

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import dppandas as dp

SECRET = "4711.25"


def told(rows: pd.DataFrame) -> None:
    """Says the largest number in every usual way."""
    largest = str(rows["x"].astype(float).max()) if len(rows) else "none"
    print(largest)
    print(largest, file=sys.stderr)
    logging.getLogger("somebody").critical(largest)
    warnings.warn(largest, stacklevel=1)


def value(rows: pd.DataFrame) -> float:
    told(rows)
    return 1.0


def score(rows: pd.DataFrame, candidate: Any) -> int:
    told(rows)
    return len(rows)


ASKS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "sample_and_aggregate": lambda df: dp.models.sample_and_aggregate(
        df, value, bounds=(0, 2), blocks=4, epsilon=1
    ),
    "blockwise": lambda df: dp.stats.blockwise(value, df, "x", blocks=8, epsilon=1),
    "distance_to_property": lambda df: dp.distance_to_property(
        df, lambda rows: score(rows, None), epsilon=1
    ),
    "select": lambda df: dp.select(df, [1, 2], score=score, sensitivity=1, epsilon=1),
}


@pytest.mark.parametrize("name", ASKS)
def test_nothing_is_heard(
    name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    df = pd.DataFrame({"x": [float(SECRET)] * 40})
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            ASKS[name](df)
    finally:
        logging.getLogger().removeHandler(handler)
    heard = capfd.readouterr()
    assert SECRET not in heard.out + heard.err + caplog.text
    assert not any(SECRET in str(each.message) for each in warned)
    assert logging.root.manager.disable == 0


def test_a_score_that_exits_fails_as_one_that_raises() -> None:
    def leave(rows: pd.DataFrame, candidate: Any) -> int:
        if len(rows):
            sys.exit(3)
        return 0

    with pytest.raises(dp.errors.ReleaseFailed):
        dp.select(pd.DataFrame({"x": [1.0] * 9}), [1, 2], score=leave, sensitivity=1, epsilon=1)
