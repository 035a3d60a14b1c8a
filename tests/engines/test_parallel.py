"""Long work says how far it is, in shares only, and stops when it is interrupted."""

import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from refusals import raising, refusal

from dppandas.engines import parallel

Told = list[tuple[str, float | None]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    heard: Told = []
    parallel.report_to(lambda label, share: heard.append((label, share)))
    monkeypatch.setattr(parallel, "PATIENCE", 0.1)
    yield heard
    parallel.report_to(None)


def slow(tell: Callable[[float], None]) -> int:
    for step in range(1, 11):
        time.sleep(0.1)
        tell(step / 10)
    return 7


def test_long_work_tells_growing_shares_and_then_that_it_is_over(told: Told) -> None:
    assert parallel.run([slow, slow], "mean of x") == [7, 7]
    shares = [share for _, share in told[:-1]]
    assert len(shares) >= 2
    assert shares == sorted(shares)  # type: ignore[type-var]
    assert all(0 <= share <= 1 for share in shares)  # type: ignore[operator]
    assert told[-1] == ("mean of x", None)


def test_short_work_tells_nothing(told: Told) -> None:
    assert parallel.run([lambda tell: 1], "count") == [1]
    assert told == []


def test_one_failing_part_stops_the_others() -> None:
    started, fails = time.monotonic(), raising(ZeroDivisionError)
    refusal(lambda: parallel.run([fails, slow], "count"), error=ZeroDivisionError)
    assert time.monotonic() - started < 0.9


def test_an_interrupt_of_the_one_who_waits_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_watch", raising(KeyboardInterrupt))
    started = time.monotonic()
    refusal(lambda: parallel.run([slow], "count"), error=KeyboardInterrupt)
    assert time.monotonic() - started < 0.9


def test_a_large_frame_is_counted_in_parts_and_the_same(told: Told, exact: None) -> None:
    frame = pd.DataFrame({"x": np.arange(1_000_000)})
    assert frame.dp.query("x % 3 == 0").count(epsilon=1) == 333_334
