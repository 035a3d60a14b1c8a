"""What is written in pandas by reflex gives what pandas gives, noise aside."""

from collections.abc import Callable
from typing import Any

import pytest
from habits import FRAMES, agree

LINES: dict[str, Callable[[Any], Any]] = {
    "filter a column by a mask": lambda f: f["age"][f["member"]],
    "query, then count by key": lambda f: f.query("income > 30")["sex"].value_counts(),
    "sum of a column": lambda f: f["income"].sum(),
    "assign and select": lambda f: f.assign(x=lambda f: f["income"] * 2)[["x", "sex"]],
}


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("line", LINES)
def test_as_pandas(line: str, frame: str) -> None:
    agree(LINES[line], FRAMES[frame]())
