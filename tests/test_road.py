"""How long the road of one release is: functions of ours that one mean runs, and how deep. Their
calls are counted by test_work.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

import dppandas as dp
from dppandas.ledger import cells, marimo
from dppandas.privacy.accounting import losses

HOUSE = str(Path(dp.__file__).parent)
#: Functions inlined by newer versions of Python: they are no stations.
INLINED = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}
#: Drawing, writing down what a key is made of, and bounding noise are roads of their own. Methods
#: of data classes are compiled once, when they are first called.
LEFT_OUT = (
    "dataclasses.py",
    "privacy/sampling/", "ledger/canonical.py", "release/query.py Query.key", "privacy/accuracy/",
)  # fmt: skip
FUNCTIONS, DEPTH = 243, 18


@pytest.fixture
def age(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    # as in no notebook, which would add a call
    monkeypatch.setattr(cells, "_current_cell", None)
    monkeypatch.delitem(sys.modules, marimo.RUNTIME, raising=False)
    dp.reset()
    dp.session(epsilon=100)
    df = pd.DataFrame({"age": [20.0, 30.0, 40.0] * 10, "sex": ["f", "m", "f"] * 10})
    yield dp.protect(df, name="road")
    dp.reset()


def road(people: Any, epsilon: str) -> list[tuple[str, str, int]]:
    """Module, function and depth of each call."""
    found: list[tuple[str, str, int]] = []
    stack: list[tuple[bool, bool]] = []  # whether it is a station, and whether it is left out

    def note(frame: FrameType, event: str, arg: Any) -> None:
        if event == "return" and stack:
            stack.pop()
        elif event == "call":
            code = frame.f_code
            is_ours = code.co_filename.startswith(HOUSE) and code.co_name not in INLINED
            path = code.co_filename.removeprefix(HOUSE).lstrip("/")
            name = f"{path} {code.co_qualname}"
            is_left_out = bool(stack and stack[-1][1]) or name.startswith(LEFT_OUT)
            stack.append((is_ours, is_left_out))
            if is_ours and not is_left_out:
                found.append((path, code.co_qualname, sum(ours for ours, _ in stack)))

    losses._of_text.cache_clear()  # an ε that another test has asked for is read as any other
    sys.setprofile(note)
    try:
        people["age"].mean(bounds=(0, 100), epsilon=epsilon)
    finally:
        sys.setprofile(None)
    return found


def test_the_road_of_one_mean_is_short_and_the_same_each_time(age: Any) -> None:
    # what is computed once for a grid or a law is computed, and what compares two is compiled
    road(age, "0.05"), road(age, "0.1")
    first, second = road(age, "0.2"), road(age, "0.3")
    assert [call[:2] for call in first] == [call[:2] for call in second]
    assert len({call[:2] for call in first}) <= FUNCTIONS
    assert max(depth for _, _, depth in first) <= DEPTH
    assert first[-1][0].startswith("release/")


def test_it_passes_each_station_once_and_in_order(age: Any) -> None:
    stations = [
        "Ways.read", "Request.__post_init__", "_planned", "Ledger._charge", "RowPass.__call__",
        "AdditiveNoise.release", "Ledger._settle", "record_of",
    ]  # fmt: skip
    names = [name for _, name, _ in road(age, "0.1")]
    assert [name for name in names if name in stations] == stations
